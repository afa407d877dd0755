"""From arithmetic in the IR to the scalars of a `Schedule`."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import AnyFloat, FloatAttr, IndexType, IntegerAttr, IntegerType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineConstraintKind,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
    AffineSymExpr,
)

from opar.backend.scalars import SUPPORTED, TRAPPING
from opar.backend.schedule import Scalar
from opar.dialects import affine
from opar.errors import UnsupportedError, at, format_location

_AFFINE_OPERATORS = {
    AffineBinaryOpKind.Add: "affine.add",
    AffineBinaryOpKind.Mul: "affine.mul",
    AffineBinaryOpKind.Mod: "affine.mod",
    AffineBinaryOpKind.FloorDiv: "affine.floordiv",
    AffineBinaryOpKind.CeilDiv: "affine.ceildiv",
}

_RELATIONS = {
    AffineConstraintKind.eq: "cmpi.0",
    AffineConstraintKind.le: "cmpi.3",
    AffineConstraintKind.ge: "cmpi.5",
}

_CASTS = frozenset(("arith.index_cast", "arith.extsi", "arith.trunci"))

_PAIRS = {
    "arith.addui_extended": ("arith.addi", "addui.carry"),
    "arith.mulsi_extended": ("arith.muli", "mulsi.high"),
    "arith.mului_extended": ("arith.muli", "mului.high"),
}
"""Operations with two results, and an operator for each."""


def width_of(type: Attribute) -> int | None:
    """The bits of an integer or index type; None for any other."""
    if isinstance(type, IntegerType):
        return type.width.data
    return 64 if isinstance(type, IndexType) else None


def is_number(type: Attribute) -> bool:
    """Whether values of a type are scalars: an integer, index or float."""
    return isinstance(type, IntegerType | IndexType | AnyFloat)


class ScalarBuilder:
    """
    Collects scalars; `places` tells where the number that an SSA value holds is.

    A scalar is late if it depends on a register, or could fail where it may not run
    (`conditional`); the late ones since the last `take_pending` are in `pending`.
    """

    def __init__(self) -> None:
        self.scalars: list[Scalar] = []
        self.places: dict[SSAValue, int] = {}
        self.conditional = False
        self.pending: list[int] = []
        self.pending_location = ""
        self._constants: dict[object, int] = {}

    def add(self, op: Operation) -> bool:
        """Add the numbers that `op` computes; false where it is not arithmetic on numbers."""
        if isinstance(op, arith.ConstantOp):
            self._add_constant(op)
            return True
        if not all(v in self.places for v in op.operands):
            return False
        operator = self._operator(op)
        before = len(self.pending)
        if operator is not None and is_number(op.results[0].type):
            self._add_operator(op, 0, operator)
        elif op.name in _PAIRS:
            for i, operator in enumerate(_PAIRS[op.name]):
                self._add_operator(op, i, operator)
        elif isinstance(op, affine.ApplyOp):
            (self.places[op.result],) = self.map_results(op.map.data, op.mapOperands)
        elif isinstance(op, affine.MinOp | affine.MaxOp):
            values = self.map_results(op.map.data, op.arguments)
            self.places[op.result] = self.extreme(op.name, values)
        elif op.name == "ub.poison" and is_number(op.results[0].type):
            self.places[op.results[0]] = self.constant_of(0, op.results[0].type)
        else:
            return False
        if any(self.scalars[p].operator in TRAPPING for p in self.pending[before:]):
            self.pending_location = self.pending_location or format_location(op.location)
        return True

    def _operator(self, op: Operation) -> str | None:
        if isinstance(op, arith.CmpiOp):
            return f"cmpi.{op.predicate.value.data}"
        if isinstance(op, arith.CmpfOp):
            return f"cmpf.{op.predicate.value.data}"
        if op.name in _CASTS:
            return "cast"
        if isinstance(op, math.IPowIOp | math.FPowIOp):
            return op.name
        known = op.name in SUPPORTED and not op.name.startswith("affine.")
        return op.name if known and len(op.results) == 1 else None

    def _add_operator(self, op: Operation, result: int, operator: str) -> None:
        operands = [self.places[v] for v in op.operands]
        value = op.results[result]
        self.places[value] = self.typed(operator, operands, value.type)

    def _add_constant(self, op: arith.ConstantOp) -> None:
        match op.value:
            case IntegerAttr(value=value) | FloatAttr(value=value):
                self.places[op.result] = self.constant_of(value.data, op.result.type)
            case _:
                raise UnsupportedError(at(op, "only number constants are supported on the host"))

    def typed(
        self,
        operator: str,
        operands: Sequence[int],
        type: Attribute,
        immediate: object = None,
    ) -> int:
        """Append a scalar of an MLIR number type; its place."""
        name = str(type) if isinstance(type, AnyFloat) else None
        return self.scalar(operator, operands, immediate, width_of(type), name)

    def scalar(
        self,
        operator: str,
        operands: Sequence[int] = (),
        immediate: object = None,
        width: int | None = None,
        float_type: str | None = None,
    ) -> int:
        """Append a scalar; its place."""
        late = operator == "register" or any(self.scalars[i].late for i in operands)
        late = late or (self.conditional and self._may_fail(operator, operands))
        place = len(self.scalars)
        self.scalars.append(
            Scalar(operator, tuple(operands), immediate, width, float_type, late=late)
        )
        if late and operator != "register":
            self.pending.append(place)
        return place

    def _may_fail(self, operator: str, operands: Sequence[int]) -> bool:
        return operator in TRAPPING and not (operator != "pick" and self.constant_at(operands[1]))

    def take_pending(self) -> tuple[tuple[int, ...], str]:
        """The late scalars to evaluate before the next step, and where they come from."""
        taken = tuple(self.pending), self.pending_location
        self.pending, self.pending_location = [], ""
        return taken

    def constant_of(self, value: int | float, type: Attribute) -> int:
        """The place of a constant of a type, made once."""
        name = str(type) if isinstance(type, AnyFloat) else None
        return self.constant(value, width_of(type), name)

    def constant(
        self, value: int | float, width: int | None = 64, float_type: str | None = None
    ) -> int:
        """The place of a constant, made once."""
        key = repr(value), width, float_type
        if key not in self._constants:
            self._constants[key] = self.scalar("constant", (), value, width, float_type)
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

    def extreme(self, operator: str, values: Sequence[int]) -> int:
        """`affine.min` or `affine.max` of indices."""
        return values[0] if len(values) == 1 else self.scalar(operator, values, width=64)

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

    def affine_condition(self, op: affine.IfOp) -> int:
        """The place of whether the condition of an `affine.if` holds."""
        places = [self.places[v] for v in op.args]
        condition = op.condition.data
        found = self.constant(-1, 1)
        for constraint in condition.constraints:
            left, right = (
                self.expression(e, places, condition.num_dims)
                for e in (constraint.lhs, constraint.rhs)
            )
            holds = self.scalar(_RELATIONS[constraint.kind], (left, right), width=1)
            found = self.scalar("arith.andi", (found, holds), width=1)
        return found

    def contiguous(self, sizes: Sequence[int]) -> tuple[int, ...]:
        strides: list[int] = []
        step = self.constant(1)
        for size in reversed(sizes):
            strides.insert(0, step)
            step = self.binary("affine.mul", step, size)
        return tuple(strides)
