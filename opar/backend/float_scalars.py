"""Floats of a scalar program: rounding to their type, arithmetic, conversions, functions."""

from __future__ import annotations

import ctypes
import math
import struct
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from opar.backend.numbers import bits_of, dtype_of

BITS = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}
"""Float types and how many bits they have."""


def round_to(type: str | None, value: Any) -> float:
    """A double, correctly rounded to a float type (None: not at all)."""
    number = float(value)
    if type == "f32":
        return ctypes.c_float(number).value
    if type == "f16":
        return float(np.float16(number))
    if type == "bf16":
        return _bf16(number)
    return number


def _bf16(number: float) -> float:
    """Rounded once: to a float of odd last bit first, so that the second rounding is exact."""
    if not math.isfinite(number):
        return number
    single = ctypes.c_float(number).value
    bits = struct.unpack("<I", ctypes.c_float(number))[0]
    if single != number:
        bits -= abs(single) > abs(number)
        bits |= 1
    bits = bits + 0x7FFF + (bits >> 16 & 1) & 0xFFFF0000
    return struct.unpack("<f", struct.pack("<I", bits))[0]


def round_exact(type: str | None, value: Fraction | int) -> float:
    """An exact number, correctly rounded to a float type."""
    try:
        nearest = float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    if type in (None, "f64") or Fraction(nearest) == value:
        return round_to(type, nearest)
    bits = struct.unpack("<q", struct.pack("<d", nearest))[0]
    bits -= abs(Fraction(nearest)) > abs(value)
    return round_to(type, struct.unpack("<d", struct.pack("<q", bits | 1))[0])


def to_integer(value: float) -> int:
    """Rounded towards zero; 0 where there is no such integer, which MLIR leaves open."""
    return int(value) if math.isfinite(value) else 0


def float_bits(type: str, value: float) -> int:
    """The bits of a float as a number."""
    return int.from_bytes(bits_of(type, value), "little")


def float_of_bits(type: str, bits: int) -> float:
    """The float that `bits` are."""
    if type == "bf16":
        return struct.unpack("<f", struct.pack("<I", bits << 16))[0]
    return float(np.frombuffer(bits.to_bytes(BITS[type] // 8, "little"), dtype_of(type))[0])


def fused_multiply_add(type: str | None, a: float, b: float, c: float) -> float:
    """`a * b + c`, rounded once."""
    if not all(map(math.isfinite, (a, b, c))):
        return float(np.float64(a) * np.float64(b) + np.float64(c))
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    # The sign of a zero is that of the sum of signed zeros.
    return round_exact(type, exact) if exact else a * b + c


def _maximum(a: float, b: float) -> float:
    if a == b:
        return b if math.copysign(1.0, a) < 0 else a
    return math.nan if math.isnan(a) or math.isnan(b) else max(a, b)


def _minimum(a: float, b: float) -> float:
    if a == b:
        return a if math.copysign(1.0, a) < 0 else b
    return math.nan if math.isnan(a) or math.isnan(b) else min(a, b)


def _number_of(choose: Callable[[float, float], float]) -> Callable[[float, float], float]:
    """`choose`, of the other operand where one is no number."""

    def chosen(a: float, b: float) -> float:
        if math.isnan(a):
            return b
        return a if math.isnan(b) else choose(a, b)

    return chosen


def _round(value: float) -> float:
    """To the nearest integer, halves away from zero."""
    if not math.isfinite(value) or abs(value) >= 2.0**52:
        return value
    return math.copysign(math.floor(abs(value)) + (abs(value) % 1 >= 0.5), value)


def _double(function: Any) -> Callable[..., float]:
    """A numpy function on doubles, where errors are NaN and infinity."""
    return lambda *operands: float(function(*map(np.float64, operands)))


def _powi(base: float, exponent: int) -> float:
    return float(np.float64(base) ** np.float64(exponent))


COMPARISONS: tuple[Callable[[float, float], bool], ...] = (
    lambda a, b: False,
    lambda a, b: a == b,
    lambda a, b: a > b,
    lambda a, b: a >= b,
    lambda a, b: a < b,
    lambda a, b: a <= b,
    lambda a, b: a < b or a > b,
    lambda a, b: a == a and b == b,
    lambda a, b: not (a < b or a > b),
    lambda a, b: not a <= b,
    lambda a, b: not a < b,
    lambda a, b: not a >= b,
    lambda a, b: not a > b,
    lambda a, b: a != b,
    lambda a, b: a != a or b != b,
    lambda a, b: True,
)
"""The predicates of `arith.cmpf` by number: false, oeq, ogt, oge, olt, ole, one, ord, ueq, ..."""

FLOAT_OPERATORS: dict[str, Callable[..., Any]] = {
    "arith.addf": lambda a, b: a + b,
    "arith.subf": lambda a, b: a - b,
    "arith.mulf": lambda a, b: a * b,
    "arith.divf": _double(np.divide),
    "arith.negf": lambda a: -a,
    "arith.remf": _double(np.fmod),
    "arith.maximumf": _maximum,
    "arith.minimumf": _minimum,
    "arith.maxnumf": _number_of(_maximum),
    "arith.minnumf": _number_of(_minimum),
    "arith.extf": lambda a: a,
    "arith.truncf": lambda a: a,
    "math.absf": abs,
    "math.acos": _double(np.arccos),
    "math.acosh": _double(np.arccosh),
    "math.asin": _double(np.arcsin),
    "math.asinh": _double(np.arcsinh),
    "math.atan": _double(np.arctan),
    "math.atan2": _double(np.arctan2),
    "math.atanh": _double(np.arctanh),
    "math.cbrt": _double(np.cbrt),
    "math.ceil": _double(np.ceil),
    "math.copysign": math.copysign,
    "math.cos": _double(np.cos),
    "math.cosh": _double(np.cosh),
    "math.erf": math.erf,
    "math.exp": _double(np.exp),
    "math.exp2": _double(np.exp2),
    "math.expm1": _double(np.expm1),
    "math.floor": _double(np.floor),
    "math.fpowi": _powi,
    "math.log": _double(np.log),
    "math.log10": _double(np.log10),
    "math.log1p": _double(np.log1p),
    "math.log2": _double(np.log2),
    "math.powf": _double(np.power),
    "math.round": _round,
    "math.roundeven": _double(np.rint),
    "math.rsqrt": lambda a: float(1.0 / np.sqrt(np.float64(a))),
    "math.sin": _double(np.sin),
    "math.sinh": _double(np.sinh),
    "math.sqrt": _double(np.sqrt),
    "math.tan": _double(np.tan),
    "math.tanh": _double(np.tanh),
    "math.trunc": _double(np.trunc),
}
"""Operator name -> function on doubles, whose result is rounded to the type of the operation."""
