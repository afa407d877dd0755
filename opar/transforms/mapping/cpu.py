"""
The mapping for a CPU: a block is a chunk of the outer iterations, run by one thread.

The dimension with stride 1 is the vector loop. Of the others the innermost is the row loop: blocks
are chunks of its iterations, and inside, where nothing else depends on it, it is unrolled so that
values loaded for one row serve the next. Further dimensions are the other axes of the grid. Within
a block the vector loop is the outer one, so that what it loads stays in the cache for all rows.
Bodies that cannot become vectors run as plain loops, the stride-1 dimension innermost.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import AffineMapAttr
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from opar.dialects import affine, gpu
from opar.transforms.mapping.axes import Axis, set_variables
from opar.transforms.mapping.emit import Emitter, Size
from opar.transforms.mapping.expand import Expansion, vectorisable, widest_bits
from opar.transforms.mapping.nest import Dimension, Nest
from opar.transforms.mapping.sequential import make_sequential
from opar.transforms.mapping.strides import Dependence, contiguous_dimension, depending_on

_VECTORS = 2
_ROWS = 4
_MORE_ROWS, _MANY = 8, 32
"""Vectors and rows of an expansion with loops inside: 8 accumulators; 16 where vectors are as long
as those of processors that have 32 registers for them, and where there are many rows."""

_BLOCKS = 32
_MIN_WORK = 1 << 15
"""Operations below which a block is not worth the cost of handing it out."""

_CHUNK, _ROW_CHUNK = 1 << 14, 16
"""Iterations of a block where extents are not known: of a vector loop alone, of a row loop."""

_d0, _d1 = AffineExpr.dimension(0), AffineExpr.dimension(1)


def map_nest(nest: Nest, vector_bits: int) -> None:
    """Replace `nest` by a `gpu.launch` with one thread a block and vectors of `vector_bits`."""
    if nest.is_empty:
        nest.erase()
        return
    nest.flatten()
    make_sequential(nest.loops[-1])
    loop = nest.outermost
    assert loop.parent is not None
    _Mapping(nest, vector_bits, Emitter(loop.parent, loop, loop)).build()
    nest.erase()


class _Mapping:
    def __init__(self, nest: Nest, vector_bits: int, host: Emitter):
        self.nest = nest
        self.host = host
        self.lowers = [host.bound(d.lower, is_lower=True) for d in nest.dimensions]
        self.trips = [
            self._trips(d, low) for d, low in zip(nest.dimensions, self.lowers, strict=True)
        ]
        self.body = list(nest.body.ops)[:-1]
        dims = list(range(len(self.trips)))
        self.vector = contiguous_dimension(nest) if dims else None
        others = [d for d in dims if d != self.vector]
        self.row = others[-1] if others else None
        self.outer = others[:-1]
        self.on_vector: Dependence | None = None
        if self.vector is not None:
            dimension = nest.dimensions[self.vector]
            self.on_vector = vectorisable(nest, dimension.variable, dimension.step)
        self.lanes = 1
        if self.on_vector is not None:
            self.lanes = max(1, vector_bits // widest_bits(nest, self.on_vector))
        self.has_loops = any(isinstance(op, affine.ForOp) for op in self.body)
        self.on_row = self._jammed_row()
        self.rows = self._unrolled_rows(vector_bits)

    def _trips(self, dimension: Dimension, lower: Size) -> Size:
        trips = self.host.trips(dimension, lower)
        return trips if isinstance(trips, int) else self.host.at_least(trips, 0)

    def _jammed_row(self) -> Dependence | None:
        """What depends on the row loop, where unrolling it pays and is possible."""
        if self.row is None or self.on_vector is None or not self.has_loops:
            return None
        depends = depending_on(self.nest.dimensions[self.row].variable, self.nest.body)
        for op in self.nest.body.walk():
            if isinstance(op, affine.ForOp) and any(
                v in depends for v in (*op.lower_bound_operands, *op.upper_bound_operands)
            ):
                return None
        return depends

    def _unrolled_rows(self, vector_bits: int) -> int:
        if self.row is None or self.on_row is None:
            return 1
        trips = self.trips[self.row]
        many = not isinstance(trips, int) or trips >= _MANY
        return _MORE_ROWS if vector_bits >= 512 and many else _ROWS

    def build(self) -> None:
        """Make the launch and fill its body."""
        chunked = self.row if self.row is not None else self.vector
        axes = self._outer_axes()
        sizes: list[Size] = []
        chunk = 1
        if chunked is None:
            sizes.append(1)
        else:
            chunk = self._chunk(chunked, axes)
            sizes.append(self._blocks(self.trips[chunked], chunk))
        sizes += [axis.extent for axis in axes]
        one = self.host.constant(1)
        grid = [self.host.value(s) for s in sizes] + [one] * (3 - len(sizes))
        launch = gpu.LaunchOp(grid, [one] * 3)
        self.host.add(launch)
        entry = launch.body.block
        inside = Emitter(entry, None, self.nest.outermost)
        for axis, block_id in zip(axes, launch.block_ids[1:], strict=False):
            set_variables(self.nest, axis, block_id, self.lowers, inside)
        if chunked is None:
            self._plain([], inside)
        else:
            start, end = self._chunk_range(chunked, chunk, launch.block_ids[0], inside)
            if self.row is None:
                self._vector_loop(lambda e, w, n: self._emit(e, w, n, None), start, end, inside)
            else:
                self._rows(start, end, inside)
        finish = gpu.TerminatorOp()
        finish.location = self.nest.outermost.location
        entry.add_op(finish)

    # The grid

    def _outer_axes(self) -> list[Axis]:
        """Axes y and z: the last of the outer dimensions alone, the others linearised."""
        groups = [self.outer[-1:], self.outer[:-1]]
        axes = []
        for group in groups:
            extents = [self.trips[d] for d in group]
            if group:
                axes.append(Axis(group, extents, self.host.product(extents), 1))
        return axes

    def _chunk(self, chunked: int, axes: Sequence[Axis]) -> int:
        """Iterations of the chunked dimension in a block, a multiple of what is unrolled."""
        unit = self.lanes if self.row is None else self.rows
        trips = self.trips[chunked]
        known = [t for t in self.trips if isinstance(t, int)]
        if not isinstance(trips, int) or len(known) != len(self.trips):
            size = _CHUNK if self.row is None else _ROW_CHUNK
            return -(-size // unit) * unit
        work = math.prod(known) * self._work(self.body)
        blocks = max(1, min(_BLOCKS, work // _MIN_WORK))
        outer = math.prod(a.extent for a in axes if isinstance(a.extent, int))
        wanted = max(1, blocks // max(1, outer))
        return max(unit, math.ceil(math.ceil(trips / wanted) / unit) * unit)

    def _work(self, ops: Sequence[Operation]) -> int:
        """Operations that one iteration runs; loops of unknown length count 64 times."""
        total = 0
        for op in ops:
            total += 1
            if isinstance(op, affine.ForOp):
                known = op.constant_range
                count = 64 if known is None else max(0, -(-(known[1] - known[0]) // known[2]))
                total += count * self._work(list(op.body.block.ops))
        return total

    def _blocks(self, trips: Size, chunk: int) -> Size:
        if isinstance(trips, int):
            return -(-trips // chunk)
        return self.host.apply(_d0.ceil_div(chunk), [trips], 1)

    def _chunk_range(
        self, chunked: int, chunk: int, block_id: SSAValue, inside: Emitter
    ) -> tuple[SSAValue, Size]:
        """The first count of a block's chunk, and where it ends."""
        trips = self.trips[chunked]
        start = inside.apply(_d0 * chunk, [block_id], 1)
        if isinstance(trips, int) and trips % chunk == 0:
            return start, inside.apply(_d0 + chunk, [start], 1)
        if isinstance(trips, int):
            map = AffineMap(1, 0, (_d0 + chunk, AffineExpr.constant(trips)))
            operands = [start]
        else:
            map = AffineMap(1, 1, (_d0 + chunk, AffineExpr.symbol(0)))
            operands = [start, trips]
        return start, inside.add(affine.MinOp(operands, AffineMapAttr(map))).results[0]

    # Loops within a block

    def _rows(self, start: SSAValue, end: Size, inside: Emitter) -> None:
        """The vector loop around the rows of the chunk; or plain loops, rows outside."""
        assert self.row is not None and self.vector is not None
        if self.on_vector is None:
            row_loop = self._loop(start, end, 1, inside)
            vector_loop = self._loop(0, self.trips[self.vector], 1, row_loop[1])
            counts = [(self.row, row_loop[0]), (self.vector, vector_loop[0])]
            self._plain(counts, vector_loop[1])
            return
        if not self.has_loops:  # element-wise: rows outside, so that memory is walked in order
            count, body = self._loop(start, end, 1, inside)
            row = self._variable(self.row, count, body)
            upper = self.trips[self.vector]
            self._vector_loop(lambda e, w, n: self._emit(e, w, n, (row, 1)), 0, upper, body)
            return

        def all_rows(emitter: Emitter, vector: SSAValue, vectors: int | None) -> None:
            for first, last, step in self._split(start, end, self.rows, emitter):
                count, body = self._loop(first, last, step, emitter)
                assert self.row is not None
                row = self._variable(self.row, count, body)
                self._emit(body, vector, vectors, (row, step))

        self._vector_loop(all_rows, 0, self.trips[self.vector], inside)

    def _vector_loop(
        self,
        emit: Callable[[Emitter, SSAValue, int | None], None],
        start: Size,
        end: Size,
        inside: Emitter,
    ) -> None:
        """Walk the vector dimension in tiles of several vectors, then single ones, then lanes."""
        assert self.vector is not None
        if self.on_vector is None:
            count, body = self._loop(start, end, 1, inside)
            self._plain([(self.vector, count)], body)
            return
        tiles: list[int | None] = [_VECTORS] if self.has_loops else []
        for vectors in (*tiles, 1, None):
            width = 1 if vectors is None else vectors * self.lanes
            whole, rest = self._whole(start, end, width, inside)
            if whole is not None:
                count, body = self._loop(start, whole, width, inside)
                emit(body, self._variable(self.vector, count, body), vectors)
            if rest is None:
                return
            start = rest

    def _whole(
        self, start: Size, end: Size, width: int, inside: Emitter
    ) -> tuple[Size | None, Size | None]:
        """(end of the whole tiles or None for none, start of the rest or None for no rest)."""
        if width == 1:
            return end, None
        if isinstance(start, int) and isinstance(end, int):
            whole = start + (end - start) // width * width
            return (whole if whole > start else None), (whole if whole < end else None)
        if isinstance(start, SSAValue) and (known := self._static_chunk(start, end)) is not None:
            whole = inside.apply(_d0 + known // width * width, [start], 1)
            return (whole if known >= width else None), (whole if known % width else None)
        last = inside.value(end)
        if isinstance(start, int):
            length = _d0 - start if start else _d0
            whole = inside.apply(length // width * width + start, [last], 1)
        else:
            whole = inside.apply(_d0 + (_d1 - _d0) // width * width, [start, last], 2)
        return whole, whole

    def _static_chunk(self, start: SSAValue, end: Size) -> int | None:
        """end - start, where `end` was made as a constant distance from `start`."""
        owner = end.owner if isinstance(end, SSAValue) else None
        if isinstance(owner, affine.ApplyOp) and list(owner.operands) == [start]:
            expr = owner.map.data.results[0]
            return expr.eval([0], []) if expr.eval([1], []) - expr.eval([0], []) == 1 else None
        return None

    def _split(
        self, start: SSAValue, end: Size, rows: int, inside: Emitter
    ) -> list[tuple[Size, Size, int]]:
        """Ranges of rows: those that are unrolled, and the rest one by one."""
        whole, rest = self._whole(start, end, rows, inside)
        found: list[tuple[Size, Size, int]] = []
        if whole is not None:
            found.append((start, whole, rows))
        if rest is not None:
            found.append((rest, end, 1))
        return found

    def _loop(self, start: Size, end: Size, step: int, inside: Emitter) -> tuple[SSAValue, Emitter]:
        """A sequential loop; its variable, and where its body goes."""
        lower = start if isinstance(start, int) else (AffineMap(1, 0, (_d0,)), [start])
        return inside.loop(lower, end, step)

    def _variable(self, d: int, count: SSAValue, inside: Emitter) -> SSAValue:
        """The loop variable of dimension `d` at a count."""
        return inside.variable(self.nest.dimensions[d], count, self.lowers[d])

    # Bodies

    def _emit(
        self,
        out: Emitter,
        vector: SSAValue,
        vectors: int | None,
        row: tuple[SSAValue, int] | None,
    ) -> None:
        """The body for `vectors` vectors from `vector` on (None: one lane) and some rows."""
        assert self.on_vector is not None
        on_row, row_start, rows, row_step = None, None, 1, 1
        if row is not None and self.row is not None:
            variable = self.nest.dimensions[self.row].variable
            on_row = self.on_row or depending_on(variable, self.nest.body)
            row_start, rows = row
            row_step = self.nest.dimensions[self.row].step
        Expansion(
            self.on_vector,
            on_row,
            None if vectors is None else self.lanes,
            vectors or 1,
            rows,
            row_step,
            vector,
            row_start,
        ).expand(self.body, out)

    def _plain(self, counts: Sequence[tuple[int, SSAValue]], out: Emitter) -> None:
        """The body as it is, moved behind the loop variables."""
        for d, count in counts:
            value = self._variable(d, count, out)
            self.nest.dimensions[d].variable.replace_all_uses_with(value)
        for op in self.body:
            op.detach()
            out.move(op)
