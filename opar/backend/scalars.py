"""The arithmetic of a `Schedule`'s scalar program, on Python numbers with MLIR's semantics."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from opar.backend.schedule import Number, Scalar


def _ceildiv(a: int, b: int) -> int:
    return -(-a // b)


def _divsi(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _remsi(a: int, b: int) -> int:
    return a - _divsi(a, b) * b


def _select(condition: Number, a: Number, b: Number) -> Number:
    return a if condition else b


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
    "affine.add": operator.add,
    "affine.mul": operator.mul,
    "affine.mod": operator.mod,
    "affine.floordiv": operator.floordiv,
    "affine.ceildiv": _ceildiv,
    "affine.min": min,
    "affine.max": max,
}
"""
Operator name -> function of the operands. `cmpi.N` is `arith.cmpi` with predicate number N;
`affine.mod` has the sign of its positive divisor. Results are wrapped to the width of their type.
"""


UNSIGNED = frozenset(
    [f"arith.{name}" for name in ("divui", "remui", "ceildivui", "minui", "maxui")]
    + [f"cmpi.{predicate}" for predicate in range(6, 10)]
)
"""Operators that take their operands as unsigned numbers of the width these have."""


def wrap(value: int, width: int) -> int:
    """`value` as a signed integer of `width` bits; true, of one bit, is -1."""
    value &= (1 << width) - 1
    return value - (1 << width) if value >> (width - 1) else value


def evaluate(
    scalars: Sequence[Scalar],
    argument: Callable[[int], Number],
    size: Callable[[int, int], int],
    stride: Callable[[int, int], int],
) -> list[Number]:
    """
    The values of a scalar program. `argument(i)` is scalar argument i; `size(i, d)` and
    `stride(i, d)` describe dimension d of array argument i, in elements.

    Raises `ZeroDivisionError` where the program divides by zero.
    """
    values: list[Number] = []
    for scalar in scalars:
        match scalar.operator:
            case "constant":
                found: Any = scalar.immediate
            case "argument":
                found = argument(scalar.immediate)  # pyright: ignore[reportArgumentType]
            case "size":
                found = size(*scalar.immediate)  # pyright: ignore[reportGeneralTypeIssues]
            case "stride":
                found = stride(*scalar.immediate)  # pyright: ignore[reportGeneralTypeIssues]
            case name:
                operands = [values[i] for i in scalar.operands]
                if name in UNSIGNED:
                    widths = [scalars[i].width or 64 for i in scalar.operands]
                    operands = [
                        int(v) & ((1 << w) - 1) for v, w in zip(operands, widths, strict=True)
                    ]
                found = OPERATORS[name](*operands)
        values.append(wrap(int(found), scalar.width) if scalar.width is not None else found)
    return values
