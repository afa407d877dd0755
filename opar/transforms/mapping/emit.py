"""Small pieces of IR that the mappings share."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import AffineMapAttr, AffineSetAttr, IndexType
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import (
    AffineConstraintExpr,
    AffineConstraintKind,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
    AffineSet,
    AffineSymExpr,
)

from opar.dialects import affine
from opar.transforms.mapping.nest import Bound, Dimension

Size = int | SSAValue
"""A number known now, or the index value that holds it at run time."""


LoopBound = int | tuple[AffineMap, Sequence[SSAValue]]
"""As `affine.ForOp` takes it."""


class Emitter:
    """Appends operations to a block, or puts them before one of its operations."""

    def __init__(self, block: Block, before: Operation | None, origin: Operation):
        self.block, self.before, self.origin = block, before, origin
        self._constants: dict[int, SSAValue] = {}

    def add(self, op: Operation) -> Operation:
        """Place `op` with the location of the loop that it comes from."""
        op.location = self.origin.location
        if self.before is None:
            self.block.add_op(op)
        else:
            self.block.insert_op_before(op, self.before)
        return op

    def constant(self, value: int) -> SSAValue:
        """An index constant, made once."""
        if value not in self._constants:
            op = arith.ConstantOp.from_int_and_width(value, IndexType())
            self._constants[value] = self.add(op).results[0]
        return self._constants[value]

    def value(self, size: Size) -> SSAValue:
        """A size as an SSA value."""
        return self.constant(size) if isinstance(size, int) else size

    def apply(self, expr: AffineExpr, operands: Sequence[SSAValue], dims: int) -> SSAValue:
        """`affine.apply` of one expression; nothing where it is an operand itself."""
        if isinstance(expr, AffineDimExpr):
            return operands[expr.position]
        if isinstance(expr, AffineSymExpr):
            return operands[dims + expr.position]
        map = AffineMap(dims, len(operands) - dims, (expr,))
        return self.add(affine.ApplyOp(list(operands), AffineMapAttr(map))).results[0]

    def bound(self, bound: Bound, is_lower: bool) -> Size:
        """The value of a loop bound."""
        if bound.constant is not None:
            return bound.constant
        if len(bound.expressions) == 1:
            return self.apply(bound.expressions[0], bound.operands, bound.dims)
        kind = affine.MaxOp if is_lower else affine.MinOp
        return self.add(kind(list(bound.operands), AffineMapAttr(bound.map))).results[0]

    def at_least(self, size: Size, least: int) -> Size:
        """`size`, or `least` where that is more."""
        if isinstance(size, int):
            return max(size, least)
        return self.add(arith.MaxSIOp(size, self.constant(least))).results[0]

    def product(self, extents: Sequence[Size]) -> Size:
        """The product of extents, none of them counted negative: two empty ones make no full
        one. The extent itself where there is only one."""
        if len(extents) == 1:
            return extents[0]
        known = math.prod(max(0, e) for e in extents if isinstance(e, int))
        total: Size = known
        for extent in extents:
            if not isinstance(extent, int):
                value = self.value(self.at_least(extent, 0))
                if total == 1:
                    total = value
                else:
                    total = self.add(arith.MuliOp(self.value(total), value)).results[0]
        return total

    def digits(self, count: SSAValue, extents: Sequence[Size]) -> list[SSAValue]:
        """`count` in the mixed basis of `extents`, the last varying fastest."""
        if len(extents) == 1:
            return [count]
        basis = extents[1:]
        d0 = AffineExpr.dimension(0)
        if not all(isinstance(e, int) for e in basis):
            split = self.add(affine.DelinearizeIndexOp(count, basis, len(extents)))
            # MLIR cannot read one of several results as a subscript.
            return [self.copy(v) for v in split.results]
        digits: list[SSAValue] = []
        below = 1
        for extent in reversed(basis):
            assert isinstance(extent, int)
            expr = d0 if below == 1 else d0 // below
            digits.append(self.apply(expr % extent, [count], 1))
            below *= extent
        return [self.apply(d0 if below == 1 else d0 // below, [count], 1), *reversed(digits)]

    def copy(self, value: SSAValue) -> SSAValue:
        """The same value from an `affine.apply` here."""
        map = AffineMap(1, 0, (AffineExpr.dimension(0),))
        return self.add(affine.ApplyOp([value], AffineMapAttr(map))).results[0]

    def trips(self, dimension: Dimension, lower: Size) -> Size:
        """How often a loop runs; at run time it may come out negative for an empty one."""
        if dimension.trips is not None:
            return dimension.trips
        upper = self.bound(dimension.upper, is_lower=False)
        end, start = AffineExpr.dimension(0), AffineExpr.dimension(1)
        operands = [self.value(upper)]
        if isinstance(lower, int):
            length = end - lower if lower else end
        else:
            length = end - start
            operands.append(lower)
        trips = length.ceil_div(dimension.step) if dimension.step != 1 else length
        return self.apply(trips, operands, len(operands))

    def variable(self, dimension: Dimension, count: SSAValue, lower: Size) -> SSAValue:
        """The loop variable of iteration `count`: lower + count * step."""
        d0, d1 = AffineExpr.dimension(0), AffineExpr.dimension(1)
        scaled = d0 * dimension.step if dimension.step != 1 else d0
        if isinstance(lower, int):
            value = self.apply(scaled + lower if lower else scaled, [count], 1)
        else:
            value = self.apply(scaled + d1, [count, lower], 2)
        if value.name_hint is None:
            value.name_hint = dimension.variable.name_hint
        return value

    def loop(self, lower: LoopBound, upper: Size, step: int) -> tuple[SSAValue, Emitter]:
        """A sequential loop; its variable, and an emitter for its body."""
        body = Block(arg_types=[IndexType()])
        if isinstance(upper, int):
            self.add(affine.ForOp(lower, upper, Region(body), step))
        else:
            identity = AffineMap(1, 0, (AffineExpr.dimension(0),))
            self.add(affine.ForOp(lower, (identity, [upper]), Region(body), step))
        return body.args[0], Emitter(body, body.last_op, self.origin)

    def move(self, op: Operation) -> None:
        """Place an operation that keeps its own location."""
        location = op.location
        self.add(op)
        op.location = location


def below(pairs: Sequence[tuple[SSAValue, int]]) -> tuple[AffineSetAttr, list[SSAValue]]:
    """The condition that each value is less than its constant, with its operands."""
    constraints = tuple(
        AffineConstraintExpr(
            AffineConstraintKind.ge,
            AffineExpr.dimension(i) * -1 + (limit - 1),
            AffineExpr.constant(0),
        )
        for i, (_, limit) in enumerate(pairs)
    )
    return AffineSetAttr(AffineSet(len(pairs), 0, constraints)), [v for v, _ in pairs]
