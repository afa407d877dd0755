"""A nest of parallel loops: its dimensions, and how far down it goes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineExpr, AffineMap
from xdsl.traits import is_side_effect_free

from opar.dialects import affine
from opar.transforms.mapping.legality import check_nest

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
        first, *others = self.expressions
        return first.value if isinstance(first, AffineConstantExpr) and not others else None

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
    `between` are operations without effects that stood between the levels, `invariant` those of
    them that no loop variable changes and that are safe to run when the loops are not.
    """

    loops: list[affine.ParallelOp]
    dimensions: list[Dimension]
    between: list[Operation]
    invariant: list[Operation]

    @property
    def outermost(self) -> affine.ParallelOp:
        """The loop that holds all others."""
        return self.loops[0]

    @property
    def body(self) -> Block:
        """The innermost block."""
        return self.loops[-1].body.block

    @property
    def is_empty(self) -> bool:
        """Whether some loop never runs, whatever the values at run time."""
        return any(d.trips == 0 for d in self.dimensions)

    def flatten(self) -> None:
        """Move what stood between the levels: before the nest, or to the start of `body`."""
        block = self.outermost.parent
        first = self.body.first_op
        assert block is not None and first is not None
        for op in (*self.invariant, *self.between):
            op.detach()
        block.insert_ops_before(self.invariant, self.outermost)
        self.body.insert_ops_before(self.between, first)

    def erase(self) -> None:
        """Remove what is left of the nest."""
        self.outermost.detach()
        self.outermost.erase()


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


_HOISTED = (arith.ConstantOp, affine.ApplyOp, affine.MinOp, affine.MaxOp)


def collect_nest(loop: affine.ParallelOp) -> Nest:
    """
    The largest nest from `loop` down whose iterations form a box: each inner loop stands alone in
    the outer one, next to operations without effects before it, and no loop variable changes its
    bounds.

    Raises `UnsupportedError` for what a kernel cannot hold.
    """
    check_nest(loop)
    nest = Nest([loop], _dimensions(loop), [], [])
    while True:
        *before, last = list(nest.body.ops)[:-1] or [None]
        if not isinstance(last, affine.ParallelOp) or last.res:
            return nest
        between, invariant = list(nest.between), list(nest.invariant)
        for op in before:
            assert op is not None
            if op.regions or not is_side_effect_free(op):
                return nest
            if isinstance(op, _HOISTED) and _is_known(op.operands, loop, invariant):
                invariant.append(op)
            else:
                between.append(op)
        if not _is_known(last.map_operands, loop, invariant):
            return nest
        nest.between, nest.invariant = between, invariant
        nest.loops.append(last)
        nest.dimensions += _dimensions(last)


def _is_known(values: Sequence[SSAValue], loop: Operation, invariant: list[Operation]) -> bool:
    """Whether all values come from outside `loop`, or from operations that can move there."""
    for value in values:
        owner = value.owner
        around = owner.parent_op() if isinstance(owner, Block) else owner
        if around is not None and loop.is_ancestor(around) and owner not in invariant:
            return False
    return True
