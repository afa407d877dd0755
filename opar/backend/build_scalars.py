"""From index arithmetic in the IR to the scalar program of a `Schedule`."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IndexType, IntegerAttr, IntegerType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
    AffineSymExpr,
)

from opar.backend.schedule import Scalar
from opar.dialects import affine
from opar.errors import UnsupportedError, at

_AFFINE_OPERATORS = {
    AffineBinaryOpKind.Add: "affine.add",
    AffineBinaryOpKind.Mul: "affine.mul",
    AffineBinaryOpKind.Mod: "affine.mod",
    AffineBinaryOpKind.FloorDiv: "affine.floordiv",
    AffineBinaryOpKind.CeilDiv: "affine.ceildiv",
}

_ARITHMETIC = frozenset(
    f"arith.{name}"
    for name in (
        *("addi", "subi", "muli", "divsi", "remsi", "floordivsi", "ceildivsi", "minsi", "maxsi"),
        *("divui", "remui", "ceildivui", "minui", "maxui", "andi", "ori", "xori", "select"),
    )
)

_CASTS = frozenset(("arith.index_cast", "arith.extsi", "arith.trunci"))


def width_of(type: Attribute) -> int | None:
    """The bits of an integer or index type; None for any other."""
    if isinstance(type, IntegerType):
        return type.width.data
    return 64 if isinstance(type, IndexType) else None


class ScalarBuilder:
    """Collects scalars; `places` tells where the number that an SSA value holds is."""

    def __init__(self) -> None:
        self.scalars: list[Scalar] = []
        self.places: dict[SSAValue, int] = {}
        self._constants: dict[object, int] = {}

    def add(self, op: Operation) -> bool:
        """Add the numbers that `op` computes; false where it is not arithmetic on numbers."""
        if isinstance(op, arith.ConstantOp):
            self._add_constant(op)
        elif not all(v in self.places for v in op.operands):
            return False
        elif op.name in _ARITHMETIC:
            self._add_operator(op, op.name)
        elif isinstance(op, arith.CmpiOp):
            self._add_operator(op, f"cmpi.{op.predicate.value.data}")
        elif op.name in _CASTS:
            self._add_operator(op, "cast")
        elif isinstance(op, affine.ApplyOp):
            (self.places[op.result],) = self.map_results(op.map.data, op.mapOperands)
        elif isinstance(op, affine.MinOp | affine.MaxOp):
            values = self.map_results(op.map.data, op.arguments)
            self.places[op.result] = self.scalar(op.name, values, width=64)
        else:
            return False
        return True

    def _add_operator(self, op: Operation, operator: str) -> None:
        operands = [self.places[v] for v in op.operands]
        result = op.results[0]
        self.places[result] = self.scalar(operator, operands, width=width_of(result.type))

    def _add_constant(self, op: arith.ConstantOp) -> None:
        match op.value:
            case IntegerAttr(value=value) | FloatAttr(value=value):
                width = width_of(op.result.type)
                self.places[op.result] = self.constant(value.data, width)
            case _:
                raise UnsupportedError(at(op, "only number constants are supported on the host"))

    def scalar(
        self,
        operator: str,
        operands: Sequence[int] = (),
        immediate: object = None,
        width: int | None = None,
    ) -> int:
        """Append a scalar; its place."""
        self.scalars.append(Scalar(operator, tuple(operands), immediate, width))
        return len(self.scalars) - 1

    def constant(self, value: int | float, width: int | None = 64) -> int:
        """The place of a constant, made once."""
        key = type(value), value, width
        if key not in self._constants:
            self._constants[key] = self.scalar("constant", (), value, width)
        return self._constants[key]

    def constant_at(self, place: int) -> int | None:
        scalar = self.scalars[place]
        known = scalar.operator == "constant" and isinstance(scalar.immediate, int)
        return scalar.immediate if known else None  # pyright: ignore[reportReturnType]

    def binary(self, operator: str, a: int, b: int) -> int:
        """`operator` on two indices, folded where both are known or one is neutral."""
        x, y = self.constant_at(a), self.constant_at(b)
        if x is not None and y is not None and operator in ("affine.add", "affine.mul"):
            return self.constant(x + y if operator == "affine.add" else x * y)
        neutral = 0 if operator == "affine.add" else 1
        if operator in ("affine.add", "affine.mul"):
            if x == neutral:
                return b
            if y == neutral:
                return a
        return self.scalar(operator, (a, b), width=64)

    def expression(self, expr: AffineExpr, operands: Sequence[int], dims: int) -> int:
        match expr:
            case AffineConstantExpr(value=value):
                return self.constant(value)
            case AffineDimExpr(position=position):
                return operands[position]
            case AffineSymExpr(position=position):
                return operands[dims + position]
            case AffineBinaryOpExpr(kind=kind, lhs=lhs, rhs=rhs):
                a = self.expression(lhs, operands, dims)
                b = self.expression(rhs, operands, dims)
                return self.binary(_AFFINE_OPERATORS[kind], a, b)
            case _:
                raise AssertionError(expr)

    def map_results(self, map: AffineMap, operands: Sequence[SSAValue]) -> list[int]:
        places = [self.places[v] for v in operands]
        return [self.expression(e, places, map.num_dims) for e in map.results]

    def contiguous(self, sizes: Sequence[int]) -> tuple[int, ...]:
        strides: list[int] = []
        step = self.constant(1)
        for size in reversed(sizes):
            strides.insert(0, step)
            step = self.binary("affine.mul", step, size)
        return tuple(strides)
