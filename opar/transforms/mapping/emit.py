"""Small pieces of IR that the mappings share."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import AffineMapAttr, AffineSetAttr, IndexType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import (
    AffineConstraintExpr,
    AffineConstraintKind,
    AffineExpr,
    AffineMap,
    AffineSet,
)

from opar.dialects import affine
from opar.transforms.mapping.nest import Bound, Dimension

Size = int | SSAValue
"""A number known now, or the index value that holds it at run time."""


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
        if isinstance(expr, type(AffineExpr.dimension(0))):
            return operands[expr.position]
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

    def product(self, extents: Sequence[Size]) -> Size:
        """The product of extents, none of them counted negative: two empty ones make no full
        one. The extent itself where there is only one."""
        if len(extents) == 1:
            return extents[0]
        total: Size = 1
        for extent in extents:
            if isinstance(extent, int) and isinstance(total, int):
                total *= extent
                continue
            value = self.value(extent)
            if not isinstance(extent, int):
                value = self.add(arith.MaxSIOp(value, self.constant(0))).results[0]
            if total == 1:
                total = value
            else:
                total = self.add(arith.MuliOp(self.value(total), value)).results[0]
        return total

    def trips(self, dimension: Dimension, lower: Size) -> Size:
        """How often a loop runs; at run time it may come out negative for an empty one."""
        if dimension.trips is not None:
            return dimension.trips
        upper = self.bound(dimension.upper, is_lower=False)
        d0, d1 = AffineExpr.dimension(0), AffineExpr.dimension(1)
        low = lower if isinstance(lower, int) else None
        if low is not None and isinstance(upper, SSAValue):
            if low == 0 and dimension.step == 1:
                return upper
            return self.apply((d0 - low).ceil_div(dimension.step), [upper], 1)
        operands = [self.value(upper), self.value(lower)]
        return self.apply((d0 - d1).ceil_div(dimension.step), operands, 2)

    def induction(self, count: SSAValue, lower: Size, step: int) -> SSAValue:
        """The loop variable of iteration `count`: lower + count * step."""
        d0, d1 = AffineExpr.dimension(0), AffineExpr.dimension(1)
        scaled = d0 * step if step != 1 else d0
        if isinstance(lower, int):
            return self.apply(scaled + lower if lower else scaled, [count], 1)
        return self.apply(scaled + d1, [count, lower], 2)


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
