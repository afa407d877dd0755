"""Arithmetic on concrete numbers: one table of Python expressions for the host and for kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

from xdsl.dialects.builtin import AffineMapAttr, DenseArrayBase, IndexType, IntegerAttr, IntegerType
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

_BINARY = {
    "addi": "{0} + {1}",
    "subi": "{0} - {1}",
    "muli": "{0} * {1}",
    "andi": "{0} & {1}",
    "ori": "{0} | {1}",
    "xori": "{0} ^ {1}",
    "minsi": "min({0}, {1})",
    "maxsi": "max({0}, {1})",
    "minui": "min({0}, {1}, key=unsigned)",
    "maxui": "max({0}, {1}, key=unsigned)",
    "floordivsi": "{0} // {1}",
    "ceildivsi": "-(-{0} // {1})",
    "divsi": "divide({0}, {1})",
    "remsi": "{0} - {1} * divide({0}, {1})",
    "divui": "unsigned({0}) // unsigned({1})",
    "remui": "unsigned({0}) % unsigned({1})",
    "shli": "{0} << {1}",
    "shrsi": "{0} >> {1}",
    "shrui": "unsigned({0}) >> {1}",
}

_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=", "<", "<=", ">", ">=")
"""By the number of the predicate; the last four are unsigned."""

_SAME = {"index_cast", "extsi", "trunci", "index_castui"}

_AFFINE = {
    AffineBinaryOpKind.Add: "+",
    AffineBinaryOpKind.Mul: "*",
    AffineBinaryOpKind.Mod: "%",
    AffineBinaryOpKind.FloorDiv: "//",
}


def expression(op: Operation, operands: Sequence[str]) -> str | None:
    """The result of an operation on numbers as Python text; None for any other operation."""
    dialect, _, name = op.name.partition(".")
    if op.name == "affine.apply":
        return affine_results(op, operands)[0]
    if op.name in ("affine.min", "affine.max"):
        return f"{name}([{', '.join(affine_results(op, operands))}])"
    if dialect not in ("arith", "index"):
        return None
    if name == "constant":
        value = op.properties["value"]
        return str(value.value.data) if isinstance(value, IntegerAttr) else None
    if name == "select":
        return f"({operands[1]} if {operands[0]} else {operands[2]})"
    if name == "cmpi":
        predicate = op.properties["predicate"]
        assert isinstance(predicate, IntegerAttr)
        number = predicate.value.data
        left, right = operands if number < 6 else [f"unsigned({o})" for o in operands]
        return f"({left} {_COMPARISONS[number]} {right})"
    type = op.results[0].type if op.results else None
    if name in _SAME:
        return wrapped(operands[0], type)
    if name == "extui":
        return f"({operands[0]} & {(1 << _width(op.operands[0].type)) - 1})"
    if name in _BINARY:
        return wrapped(_BINARY[name].format(*operands), type)
    return None


def _width(type: Attribute | None) -> int:
    return type.width.data if isinstance(type, IntegerType) else 64


def wrapped(text: str, type: Attribute | None) -> str:
    """A number as the type holds it: two's complement; `i1` is 0 or 1."""
    width = _width(type)
    if isinstance(type, IndexType):
        return f"({text})"
    if width == 1:
        return f"(({text}) & 1)"
    half = 1 << width - 1
    return f"((({text}) + {half} & {(1 << width) - 1}) - {half})"


def affine_results(op: Operation, operands: Sequence[str], name: str = "map") -> list[str]:
    """The results of the map of an operation as Python text."""
    map = op.properties[name]
    assert isinstance(map, AffineMapAttr)
    return map_results(map.data, operands)


def map_results(map: AffineMap, operands: Sequence[str]) -> list[str]:
    """The results of a map as Python text."""
    dims, symbols = operands[: map.num_dims], operands[map.num_dims :]
    return [affine_text(e, dims, symbols) for e in map.results]


def affine_text(expr: AffineExpr, dims: Sequence[str], symbols: Sequence[str]) -> str:
    """An affine expression as Python text; Python rounds as MLIR does, towards minus infinity."""
    match expr:
        case AffineConstantExpr():
            return str(expr.value)
        case AffineDimExpr():
            return dims[expr.position]
        case AffineSymExpr():
            return symbols[expr.position]
        case AffineBinaryOpExpr():
            left = affine_text(expr.lhs, dims, symbols)
            right = affine_text(expr.rhs, dims, symbols)
            if expr.kind is AffineBinaryOpKind.CeilDiv:
                return f"(-(-{left} // {right}))"
            return f"({left} {_AFFINE[expr.kind]} {right})"
        case _:
            raise NotImplementedError(str(expr))


def condition(op: Operation, operands: Sequence[str]) -> str:
    """The condition of an `affine.if` as Python text."""
    set = op.properties["condition"].data  # pyright: ignore
    dims, symbols = operands[: set.num_dims], operands[set.num_dims :]
    parts = []
    for constraint in set.constraints:
        left = affine_text(constraint.lhs, dims, symbols)
        right = affine_text(constraint.rhs, dims, symbols)
        parts.append(f"{left} {constraint.kind.value} {right}")
    return " and ".join(parts) or "True"


def divide(a: int, b: int) -> int:
    """The quotient rounded towards zero."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def unsigned(a: int) -> int:
    """A negative number as one of 64 bits."""
    return a & (1 << 64) - 1


NAMES = {"divide": divide, "unsigned": unsigned}


@cache
def compiled(text: str, count: int) -> Callable[..., int]:
    """An expression over `a0`, `a1`, ... as a function."""
    names = ", ".join(f"a{i}" for i in range(count))
    return eval(f"lambda {names}: {text}", dict(NAMES))


def static_or_given(static: Attribute, given: Sequence[object]) -> list[int]:
    """The numbers of a list of which some are attributes and some are operands."""
    assert isinstance(static, DenseArrayBase)
    rest = iter(given)
    dynamic = -(1 << 63)
    found = [next(rest) if v == dynamic else v for v in static.get_values()]
    return [int(v) for v in found]  # pyright: ignore


def is_number(value: SSAValue) -> bool:
    """Whether a value is a number that the table knows."""
    return isinstance(value.type, IntegerType | IndexType)
