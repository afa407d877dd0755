"""Arithmetic on indices that are Python integers where known, i64 values where not."""

from __future__ import annotations

from llvmlite import ir

from opar.backend.codegen.types import I1, I64

Index = int | ir.Value
"""An index, size or stride: a Python integer if it is a constant, else an i64 value."""


def value(index: Index) -> ir.Value:
    """`index` as an i64 value."""
    return ir.Constant(I64, index) if isinstance(index, int) else index


def known(index: Index) -> Index:
    """`index` as a Python integer if it is a constant."""
    if isinstance(index, ir.Constant) and isinstance(index.constant, int):
        unsigned = index.constant & (1 << 64) - 1
        return unsigned - (1 << 64) if unsigned >> 63 else unsigned
    return index


def add(b: ir.IRBuilder, lhs: Index, rhs: Index) -> Index:
    """`lhs + rhs`, which must not overflow."""
    lhs, rhs = known(lhs), known(rhs)
    if isinstance(lhs, int) and isinstance(rhs, int):
        return lhs + rhs
    if lhs == 0:
        return rhs
    if rhs == 0:
        return lhs
    return b.add(value(lhs), value(rhs), flags=["nsw"])


def sub(b: ir.IRBuilder, lhs: Index, rhs: Index) -> Index:
    """`lhs - rhs`, which must not overflow."""
    lhs, rhs = known(lhs), known(rhs)
    if isinstance(lhs, int) and isinstance(rhs, int):
        return lhs - rhs
    return lhs if rhs == 0 else b.sub(value(lhs), value(rhs), flags=["nsw"])


def mul(b: ir.IRBuilder, lhs: Index, rhs: Index) -> Index:
    """`lhs * rhs`, which must not overflow."""
    lhs, rhs = known(lhs), known(rhs)
    if isinstance(lhs, int) and isinstance(rhs, int):
        return lhs * rhs
    if lhs == 0 or rhs == 0:
        return 0
    if lhs == 1:
        return rhs
    if rhs == 1:
        return lhs
    return b.mul(value(lhs), value(rhs), flags=["nsw"])


def minimum(b: ir.IRBuilder, lhs: Index, rhs: Index) -> Index:
    """The smaller of two signed indices."""
    return _extreme(b, "smin", lhs, rhs)


def maximum(b: ir.IRBuilder, lhs: Index, rhs: Index) -> Index:
    """The larger of two signed indices."""
    return _extreme(b, "smax", lhs, rhs)


def _extreme(b: ir.IRBuilder, kind: str, lhs: Index, rhs: Index) -> Index:
    lhs, rhs = known(lhs), known(rhs)
    if isinstance(lhs, int) and isinstance(rhs, int):
        return min(lhs, rhs) if kind == "smin" else max(lhs, rhs)
    function = b.module.declare_intrinsic(f"llvm.{kind}", [I64], ir.FunctionType(I64, [I64, I64]))
    return b.call(function, [value(lhs), value(rhs)])


def floor_div(b: ir.IRBuilder, lhs: Index, rhs: Index) -> Index:
    """`lhs / rhs` rounded towards minus infinity, for `rhs` > 0."""
    lhs, rhs = known(lhs), known(rhs)
    if isinstance(lhs, int) and isinstance(rhs, int) and rhs > 0:
        return lhs // rhs
    if isinstance(rhs, int) and rhs > 0 and rhs & (rhs - 1) == 0:
        return lhs if rhs == 1 else b.ashr(value(lhs), value(rhs.bit_length() - 1))
    # For negative lhs, ~(~lhs / rhs) rounds down without overflow.
    negative = b.icmp_signed("<", value(lhs), value(0))
    folded = b.select(negative, b.not_(value(lhs)), value(lhs))
    quotient = b.sdiv(folded, value(rhs))
    return b.select(negative, b.not_(quotient), quotient)


def ceil_div(b: ir.IRBuilder, lhs: Index, rhs: Index) -> Index:
    """`lhs / rhs` rounded towards plus infinity, for `rhs` > 0."""
    lhs, rhs = known(lhs), known(rhs)
    if isinstance(lhs, int) and isinstance(rhs, int) and rhs > 0:
        return -(-lhs // rhs)
    if rhs == 1:
        return lhs
    # For positive lhs, (lhs - 1) / rhs + 1; otherwise -(-lhs / rhs), which truncates upwards.
    positive = b.icmp_signed(">", value(lhs), value(0))
    folded = b.select(positive, b.sub(value(lhs), value(1)), b.neg(value(lhs)))
    quotient = b.sdiv(folded, value(rhs))
    return b.select(positive, b.add(quotient, value(1)), b.neg(quotient))


def mod(b: ir.IRBuilder, lhs: Index, rhs: Index) -> Index:
    """The remainder of `floor_div`, always in [0, `rhs`), for `rhs` > 0."""
    lhs, rhs = known(lhs), known(rhs)
    if isinstance(lhs, int) and isinstance(rhs, int) and rhs > 0:
        return lhs % rhs
    if isinstance(rhs, int) and rhs > 0 and rhs & (rhs - 1) == 0:
        return b.and_(value(lhs), value(rhs - 1))
    remainder = b.srem(value(lhs), value(rhs))
    negative = b.icmp_signed("<", remainder, value(0))
    return b.select(negative, b.add(remainder, value(rhs)), remainder)


def true() -> ir.Constant:
    """The i1 constant 1."""
    return ir.Constant(I1, 1)
