"""The arithmetic of a `Schedule`'s scalars, on Python numbers with MLIR's semantics."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from opar.backend.float_scalars import (
    COMPARISONS,
    FLOAT_OPERATORS,
    float_bits,
    float_of_bits,
    fused_multiply_add,
    round_exact,
    round_to,
    to_integer,
)
from opar.backend.schedule import Number, Scalar


class ScalarError(ArithmeticError):
    """A scalar has no value: a division by zero, a dimension that is not there."""


def _ceildiv(a: int, b: int) -> int:
    return -(-a // b)


def _divsi(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _remsi(a: int, b: int) -> int:
    return a - _divsi(a, b) * b


def _select(condition: Number, a: Number, b: Number) -> Number:
    return a if condition else b


def _pick(index: int, *values: Number) -> Number:
    if not 0 <= index < len(values):
        raise ScalarError(f"dimension {index} of a memref of rank {len(values)}")
    return values[index]


def _power(base: int, exponent: int) -> int:
    """Of a negative exponent: one divided by the power, rounded towards zero."""
    if exponent >= 0:
        return pow(base, exponent, 1 << 64)
    if base == 0:
        raise ZeroDivisionError
    return base ** (exponent & 1) if abs(base) == 1 else 0


OPERATORS: dict[str, Callable[..., Any]] = {
    "arith.addi": operator.add,
    "arith.subi": operator.sub,
    "arith.muli": operator.mul,
    "arith.divsi": _divsi,
    "arith.remsi": _remsi,
    "arith.floordivsi": operator.floordiv,
    "arith.ceildivsi": _ceildiv,
    "arith.divui": operator.floordiv,
    "arith.remui": operator.mod,
    "arith.ceildivui": _ceildiv,
    "arith.minsi": min,
    "arith.maxsi": max,
    "arith.minui": min,
    "arith.maxui": max,
    "arith.andi": operator.and_,
    "arith.ori": operator.or_,
    "arith.xori": operator.xor,
    "arith.select": _select,
    "arith.extui": operator.pos,
    "arith.index_castui": operator.pos,
    "cmpi.0": operator.eq,
    "cmpi.1": operator.ne,
    "cmpi.2": operator.lt,
    "cmpi.3": operator.le,
    "cmpi.4": operator.gt,
    "cmpi.5": operator.ge,
    "cmpi.6": operator.lt,
    "cmpi.7": operator.le,
    "cmpi.8": operator.gt,
    "cmpi.9": operator.ge,
    "cast": operator.pos,
    "pick": _pick,
    "affine.add": operator.add,
    "affine.mul": operator.mul,
    "affine.mod": operator.mod,
    "affine.floordiv": operator.floordiv,
    "affine.ceildiv": _ceildiv,
    "affine.min": min,
    "affine.max": max,
    "math.absi": abs,
    "math.ctpop": int.bit_count,
    "math.ipowi": _power,
    "arith.fptosi": to_integer,
    "arith.fptoui": to_integer,
    **{f"cmpf.{number}": function for number, function in enumerate(COMPARISONS)},
    **FLOAT_OPERATORS,
}
"""
Operator name -> function of the operands. `cmpi.N` is `arith.cmpi` with predicate number N, as is
`cmpf.N` for `arith.cmpf`; `pick` takes one of its operands, by the first; `affine.mod` has the
sign of its positive divisor. Results are wrapped to the width of their type, or rounded to their
float type.
"""


UNSIGNED = frozenset(
    [f"arith.{name}" for name in ("divui", "remui", "ceildivui", "minui", "maxui")]
    + [
        "arith.shrui",
        "arith.extui",
        "arith.index_castui",
        "arith.uitofp",
        "mului.high",
        "math.ctpop",
    ]
    + [f"cmpi.{predicate}" for predicate in range(6, 10)]
)
"""Operators that take their operands as unsigned numbers of the width these have."""

TRAPPING = frozenset(
    [f"arith.{name}{kind}" for name in ("div", "rem", "ceildiv") for kind in ("si", "ui")]
    + ["arith.floordivsi", "affine.mod", "affine.floordiv", "affine.ceildiv"]
    + ["math.ipowi", "pick"]
)
"""Operators that have no value for some operands."""


def _shift_left(width: int, a: int, b: int) -> int:
    return a << b if 0 <= b < width else 0


def _shift_right(width: int, a: int, b: int) -> int:
    return a >> b if 0 <= b < width else 0


def _leading_zeros(width: int, a: int) -> int:
    return width - (a & (1 << width) - 1).bit_length()


def _trailing_zeros(width: int, a: int) -> int:
    return (a & -a).bit_length() - 1 if a else width


def _high(width: int, a: int, b: int) -> int:
    return a * b >> width


def _carry(width: int, a: int, b: int) -> int:
    mask = (1 << width) - 1
    return (a & mask) + (b & mask) >> width


_OF_WIDTH: dict[str, Callable[..., int]] = {
    "arith.shli": _shift_left,
    "arith.shrsi": _shift_right,
    "arith.shrui": _shift_right,
    "math.ctlz": _leading_zeros,
    "math.cttz": _trailing_zeros,
    "mulsi.high": _high,
    "mului.high": _high,
    "addui.carry": _carry,
}
"""Operators that depend on the width of their first operand."""

SUPPORTED = (
    frozenset(OPERATORS)
    | frozenset(_OF_WIDTH)
    | {*("arith.sitofp", "arith.uitofp", "arith.bitcast", "math.fma")}
)
"""All operators, under the name of the operation that has them where there is one."""


def wrap(value: int, width: int) -> int:
    """`value` as a signed integer of `width` bits; true, of one bit, is -1."""
    value &= (1 << width) - 1
    return value - (1 << width) if value >> (width - 1) else value


def _bitcast(scalar: Scalar, source: Scalar, value: Number) -> Number:
    if source.float_type is not None:
        bits = float_bits(source.float_type, value)
    else:
        bits = int(value) & ((1 << (source.width or 64)) - 1)
    return bits if scalar.float_type is None else float_of_bits(scalar.float_type, bits)


def _apply(scalar: Scalar, scalars: Sequence[Scalar], values: Sequence[Number]) -> Number:
    """The value of an operator, on values that its operands have."""
    name = scalar.operator
    operands: list[Any] = [values[i] for i in scalar.operands]
    if name in UNSIGNED:
        for n, i in enumerate(scalar.operands):
            operands[n] = int(operands[n]) & ((1 << (scalars[i].width or 64)) - 1)
    function = OPERATORS.get(name)
    if function is not None:
        return function(*operands)
    first = scalars[scalar.operands[0]]
    match name:
        case "arith.sitofp" | "arith.uitofp":
            return round_exact(scalar.float_type, operands[0])
        case "arith.bitcast":
            return _bitcast(scalar, first, operands[0])
        case "math.fma":
            return fused_multiply_add(scalar.float_type, *operands)
        case _:
            return _OF_WIDTH[name](first.width or 64, *operands)


def _fit(scalar: Scalar, value: Any) -> Number:
    """`value` in the type of the scalar."""
    if scalar.width is not None:
        return wrap(int(value), scalar.width)
    return value if scalar.float_type is None else round_to(scalar.float_type, value)


def compute(scalars: Sequence[Scalar], places: Iterable[int], values: list[Number]) -> None:
    """
    Set `values` at `places`, in this order, to what their operators give.

    Raises `ZeroDivisionError` for a division by zero, `ScalarError` for a dimension out of range.
    """
    for place in places:
        scalar = scalars[place]
        values[place] = _fit(scalar, _apply(scalar, scalars, values))


def evaluate(
    scalars: Sequence[Scalar],
    argument: Callable[[int], Number],
    size: Callable[[int, int], int],
    stride: Callable[[int, int], int],
) -> list[Number]:
    """
    The values of a scalar program; those of late scalars are 0. `argument(i)` is scalar argument
    i; `size(i, d)` and `stride(i, d)` describe dimension d of array argument i, in elements.

    Raises `ZeroDivisionError` where the program divides by zero, and `ScalarError`.
    """
    values: list[Number] = []
    for scalar in scalars:
        if scalar.late:
            values.append(0)
            continue
        match scalar.operator:
            case "constant":
                found: Any = scalar.immediate
            case "argument":
                found = argument(scalar.immediate)  # pyright: ignore[reportArgumentType]
            case "size":
                found = size(*scalar.immediate)  # pyright: ignore[reportGeneralTypeIssues]
            case "stride":
                found = stride(*scalar.immediate)  # pyright: ignore[reportGeneralTypeIssues]
            case _:
                found = _apply(scalar, scalars, values)
        values.append(_fit(scalar, found))
    return values
