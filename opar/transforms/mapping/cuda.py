"""
The mapping for a GPU: one thread an iteration.

Each dimension of the nest becomes an axis of the grid. The dimension with stride 1 goes to x, so
that neighbouring threads touch neighbouring addresses; of the others the innermost goes to y, and
the rest, linearised, to z. An axis whose extent may exceed what a grid allows is walked in strides
of the whole grid, so that any extent is right.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.ir import Block, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from opar.dialects import affine, gpu
from opar.transforms.mapping.axes import Axis, set_variables
from opar.transforms.mapping.emit import Emitter, Size, below
from opar.transforms.mapping.nest import Nest
from opar.transforms.mapping.sequential import make_sequential
from opar.transforms.mapping.strides import contiguous_dimension

MAX_GRID = (2**31 - 1, 65535, 65535)
MAX_BLOCK = (1024, 1024, 64)
MAX_THREADS = 1024

_WARP = 32
_THREADS = 256
_MIN_BLOCKS = 256
"""Blocks below which smaller blocks are taken, so that a small problem uses many processors."""


def map_nest(nest: Nest, block_size: tuple[int, ...] = ()) -> None:
    """
    Replace `nest` by a `gpu.launch` with one thread for each iteration. `block_size` overrides the
    choice of threads along x, y, z.
    """
    if nest.is_empty:
        nest.erase()
        return
    nest.flatten()
    loop = nest.outermost
    assert loop.parent is not None
    host = Emitter(loop.parent, loop, loop)
    lowers = [host.bound(d.lower, is_lower=True) for d in nest.dimensions]
    trips = [host.trips(d, lower) for d, lower in zip(nest.dimensions, lowers, strict=True)]
    axes = _axes(nest, trips, host)
    for axis, threads in zip(axes, _block_shape(axes, block_size), strict=True):
        axis.block = threads
    grid = [host.value(_blocks(axis, MAX_GRID[i], host)) for i, axis in enumerate(axes)]
    block = [host.constant(axis.block) for axis in axes]
    launch = gpu.LaunchOp(grid, block)
    host.add(launch)
    _fill_body(nest, launch, axes, lowers)
    nest.erase()
    make_sequential(launch)


def _axes(nest: Nest, trips: Sequence[Size], host: Emitter) -> list[Axis]:
    order = list(range(len(trips)))
    groups: list[list[int]] = [[], [], []]
    if order:
        x = contiguous_dimension(nest)
        rest = [d for d in order if d != x]
        groups = [[x], rest[-1:], rest[:-1]]
    axes = []
    for group in groups:
        extents = [trips[d] for d in group]
        axes.append(Axis(group, extents, host.product(extents), 1))
    return axes


def _block_shape(axes: Sequence[Axis], override: tuple[int, ...]) -> list[int]:
    """Threads along x, y, z: one along an axis without loops."""
    if override:
        sizes = (*override, 1, 1, 1)
        return [n if axis.dimensions else 1 for n, axis in zip(sizes, axes, strict=False)]
    if not axes[0].dimensions:
        return [1, 1, 1]
    x, y, _ = (axis.extent for axis in axes)
    if not axes[1].dimensions:
        threads = _THREADS
        if isinstance(x, int):
            while threads > _WARP and -(-x // threads) < _MIN_BLOCKS:
                threads //= 2
        return [threads, 1, 1]
    along_x = _WARP
    if isinstance(x, int) and x < _WARP:
        along_x = 1 << max(0, x - 1).bit_length()
    along_y = _THREADS // along_x
    if isinstance(y, int):
        along_y = min(along_y, 1 << max(0, y - 1).bit_length())
        if isinstance(x, int):
            others = axes[2].extent if isinstance(axes[2].extent, int) else 1
            while (
                along_x * along_y > 2 * _WARP
                and -(-x // along_x) * -(-y // along_y) * others < _MIN_BLOCKS
            ):
                along_y //= 2
    return [along_x, max(1, along_y), 1]


def _blocks(axis: Axis, most: int, host: Emitter) -> Size:
    """The number of blocks along an axis: at least one, at most what a grid allows."""
    if isinstance(axis.extent, int):
        return min(max(1, -(-axis.extent // axis.block)), most)
    d0 = AffineExpr.dimension(0)
    needed: Size = axis.extent
    if axis.block > 1:
        needed = host.apply(d0.ceil_div(axis.block), [axis.extent], 1)
    at_least_one = host.value(host.at_least(needed, 1))
    return host.add(arith.MinSIOp(at_least_one, host.constant(most))).results[0]


def _fill_body(
    nest: Nest, launch: gpu.LaunchOp, axes: Sequence[Axis], lowers: Sequence[Size]
) -> None:
    """Compute the loop variables from the ids, guard, and move the body of the nest inside."""
    entry = launch.body.block
    inside = Emitter(entry, None, nest.outermost)
    guards: list[tuple[SSAValue, int]] = []
    strided: list[int] = []
    counts: list[SSAValue] = []
    d0, d1 = AffineExpr.dimension(0), AffineExpr.dimension(1)
    for i, axis in enumerate(axes):
        block_id, thread_id = launch.block_ids[i], launch.thread_ids[i]
        linear: SSAValue = block_id
        if axis.block > 1:
            linear = inside.apply(d0 * axis.block + d1, [block_id, thread_id], 2)
        counts.append(linear)
        if not isinstance(axis.extent, int) or axis.extent > MAX_GRID[i] * axis.block:
            strided.append(i)
        elif axis.extent % axis.block:
            guards.append((linear, axis.extent))
    if guards:
        condition, operands = below(guards)
        then = Block()
        inside.add(affine.IfOp(condition, operands, Region(then)))
        inside = Emitter(then, then.last_op, nest.outermost)
    for i in strided:
        start = AffineMap(1, 0, (d0,)), [counts[i]]
        counts[i], inside = inside.loop(start, axes[i].extent, MAX_GRID[i] * axes[i].block)
    for axis, count in zip(axes, counts, strict=True):
        set_variables(nest, axis, count, lowers, inside)
    for op in list(nest.body.ops)[:-1]:
        op.detach()
        inside.move(op)
    end = gpu.TerminatorOp()
    end.location = nest.outermost.location
    entry.add_op(end)
