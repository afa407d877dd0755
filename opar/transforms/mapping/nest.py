"""A nest of parallel loops: its dimensions, and whether it can become a launch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, func
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineExpr, AffineMap
from xdsl.traits import is_side_effect_free

from opar.dialects import affine, gpu
from opar.errors import UnsupportedError, at

Operands = tuple[SSAValue, ...]


@dataclass(frozen=True)
class Bound:
    """Expressions over operands, dimensions first: the greatest (lower) or least (upper) counts."""

    dims: int
    operands: Operands
    expressions: tuple[AffineExpr, ...]

    @property
    def constant(self) -> int | None:
        """The only expression, where it is a constant."""
        first = self.expressions[0]
        known = len(self.expressions) == 1 and isinstance(first, AffineConstantExpr)
        return first.value if known and isinstance(first, AffineConstantExpr) else None

    @property
    def map(self) -> AffineMap:
        """The expressions as a map over the operands."""
        return AffineMap(self.dims, len(self.operands) - self.dims, self.expressions)


@dataclass(frozen=True)
class Dimension:
    """One parallel loop: `variable` takes `lower`, `lower + step`, ... below `upper`."""

    variable: BlockArgument
    lower: Bound
    upper: Bound
    step: int

    @property
    def trips(self) -> int | None:
        """The number of iterations, where it is constant."""
        lower, upper = self.lower.constant, self.upper.constant
        if lower is None or upper is None:
            return None
        return max(0, -(-(upper - lower) // self.step))


@dataclass
class Nest:
    """
    Perfectly nested `affine.parallel` loops, outermost first. `body` is the innermost block;
    `between` are operations without effects that stood between the levels.
    """

    loops: list[affine.ParallelOp]
    dimensions: list[Dimension]
    between: list[Operation]

    @property
    def outermost(self) -> affine.ParallelOp:
        """The loop that holds all others."""
        return self.loops[0]

    @property
    def body(self) -> Block:
        """The innermost block."""
        return self.loops[-1].body.block


def _constant_bounds(bound: Bound, is_lower: bool) -> Bound:
    """Several constant expressions as the one that counts."""
    values = [e.value for e in bound.expressions if isinstance(e, AffineConstantExpr)]
    if len(values) != len(bound.expressions):
        return bound
    chosen = max(values) if is_lower else min(values)
    return Bound(0, (), (AffineConstantExpr(chosen),))


def _dimensions(loop: affine.ParallelOp) -> list[Dimension]:
    lower_dims = loop.lower_bounds_map.data.num_dims
    upper_dims = loop.upper_bounds_map.data.num_dims
    lower_operands, upper_operands = tuple(loop.lower_operands), tuple(loop.upper_operands)
    return [
        Dimension(
            variable,
            _constant_bounds(Bound(lower_dims, lower_operands, loop.lower_bound(d)), True),
            _constant_bounds(Bound(upper_dims, upper_operands, loop.upper_bound(d)), False),
            loop.step_values[d],
        )
        for d, variable in enumerate(loop.induction_variables)
    ]


def collect_nest(loop: affine.ParallelOp) -> Nest:
    """
    The largest nest from `loop` down whose iterations form a box: each inner loop stands alone in
    the outer one, next to operations without effects before it, and its bounds come from outside.

    Raises `UnsupportedError` for what a kernel cannot hold.
    """
    check_body(loop)
    nest = Nest([loop], _dimensions(loop), [])
    while True:
        *before, last = list(nest.body.ops)[:-1] or [None]
        if not isinstance(last, affine.ParallelOp) or last.res:
            return nest
        if not all(op.regions == [] and is_side_effect_free(op) for op in before if op):
            return nest
        if any(_is_inside(v, nest.outermost) for v in last.map_operands):
            return nest
        nest.between += [op for op in before if op is not None]
        nest.loops.append(last)
        nest.dimensions += _dimensions(last)


def _is_inside(value: SSAValue, loop: Operation) -> bool:
    owner = value.op if isinstance(value, OpResult) else value.owner.parent_op()  # pyright: ignore
    return owner is not None and loop.is_ancestor(owner)


_NOT_IN_A_KERNEL = ("memref.alloc", "memref.dealloc", "memref.realloc", "memref.copy")


def check_body(loop: affine.ParallelOp) -> None:
    """Raise `UnsupportedError` for the first operation in `loop` that a kernel cannot hold."""
    if loop.res:
        message = "a parallel loop with results is not supported on the host, only inside another"
        raise UnsupportedError(at(loop, message))
    for op in loop.walk():
        if op.name in _NOT_IN_A_KERNEL:
            raise UnsupportedError(
                at(op, "cannot run inside a parallel loop; move it out, or use memref.alloca")
            )
        if isinstance(op, gpu.AsyncOp) or op.name.startswith("async."):
            raise UnsupportedError(at(op, "cannot run inside a parallel loop; move it out"))
        if isinstance(op, func.ReturnOp):
            raise UnsupportedError(at(op, "cannot return from a parallel loop"))


def accesses_of(nest: Nest) -> list[tuple[Operation, Sequence[SSAValue], AffineMap | None]]:
    """Loads and stores in the nest: (operation, index operands, map or None for plain indices)."""
    found = []
    for op in nest.outermost.walk():
        if isinstance(op, affine.LoadOp | affine.StoreOp):
            found.append((op, op.indices, op.map.data))
        elif op.name in ("memref.load", "memref.store"):
            found.append((op, op.indices, None))  # pyright: ignore[reportAttributeAccessIssue]
    return found


def coefficient(
    value: BlockArgument, indices: Sequence[SSAValue], map: AffineMap | None, position: int
) -> int | None:
    """
    By how much the index at `position` grows when `value` grows by one: 0 where it does not depend
    on it, None where that cannot be told.
    """
    if map is None:
        if indices[position] is value:
            return 1
        return 0 if not _depends(indices[position], value) else None
    moved = [1 if v is value else 0 for v in indices]
    for v in indices:
        if v is not value and _depends(v, value):
            return None
    results = []
    for values in ([0] * len(indices), moved, [2 * m for m in moved]):
        dims, symbols = values[: map.num_dims], values[map.num_dims :]
        results.append(map.results[position].eval(dims, symbols))
    first, second = results[1] - results[0], results[2] - results[1]
    return first if first == second else None


def _depends(value: SSAValue, on: SSAValue) -> bool:
    if value is on:
        return True
    if isinstance(value, OpResult) and not value.op.regions:
        return any(_depends(v, on) for v in value.op.operands)
    return isinstance(value, OpResult) and not isinstance(value.op, arith.ConstantOp)


def contiguous_dimension(nest: Nest) -> int:
    """
    The dimension whose neighbouring iterations touch neighbouring addresses most often: the one
    with stride 1 in the last index of the most accesses; those in inner loops count more. The
    innermost wins a tie.
    """
    accesses = accesses_of(nest)
    best, best_score = len(nest.dimensions) - 1, -1
    for d in reversed(range(len(nest.dimensions))):
        variable = nest.dimensions[d].variable
        score = 0
        for op, indices, map in accesses:
            rank = len(indices) if map is None else len(map.results)
            if rank == 0:
                continue
            weight = 8 ** min(_sequential_depth(op, nest), 4)
            if abs(coefficient(variable, indices, map, rank - 1) or 0) == 1:
                score += weight
        if score > best_score:
            best, best_score = d, score
    return best


def _sequential_depth(op: Operation, nest: Nest) -> int:
    depth = 0
    parent = op.parent_op()
    while parent is not None and parent not in nest.loops:
        depth += isinstance(parent, affine.ForOp) or parent.name in ("scf.for", "scf.while")
        parent = parent.parent_op()
    return depth
