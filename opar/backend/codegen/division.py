"""Integer division that cannot stop the process."""

from __future__ import annotations

from llvmlite import ir

from opar.backend.codegen.context import Context
from opar.backend.codegen.types import constant, int_width


def safe_divisor(ctx: Context, lhs: ir.Value, rhs: ir.Value, *, signed: bool) -> ir.Value:
    """
    `rhs`, or 1 where dividing integers `lhs` by it is undefined: by 0, or the least one by -1.

    MLIR leaves the result open. A GPU gives some value; x86 raises a signal, which would end the
    process, so there the divisor is checked unless it is a constant.
    """
    if not ctx.target.division_traps or _is_harmless(rhs):
        return rhs
    b = ctx.b
    bad = b.icmp_unsigned("==", rhs, constant(rhs.type, 0))
    if signed:
        least = constant(lhs.type, 1 << (int_width(lhs.type) - 1))
        minus_one = b.icmp_signed("==", rhs, constant(rhs.type, -1))
        bad = b.or_(bad, b.and_(minus_one, b.icmp_signed("==", lhs, least)))
    return b.select(bad, constant(rhs.type, 1), rhs)


def _is_harmless(divisor: ir.Value) -> bool:
    if not isinstance(divisor, ir.Constant) or not isinstance(divisor.constant, int):
        return False
    all_ones = (1 << int_width(divisor.type)) - 1
    return divisor.constant & all_ones not in (0, all_ones)
