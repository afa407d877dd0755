"""Emits the integer powers of `math`, by repeated squaring: neither target has a function."""

from __future__ import annotations

from llvmlite import ir
from xdsl.dialects import math

from opar.backend.codegen.context import Context
from opar.backend.codegen.floats import convert
from opar.backend.codegen.table import Table
from opar.backend.codegen.types import BF16, F16, F32, I1, constant, element_of, is_float

TABLE = Table()


@TABLE.op(math.IPowIOp)
def emit_ipowi(ctx: Context, op: math.IPowIOp) -> None:
    ctx.set(op.result, _lanes(ctx, ctx.value(op.lhs), ctx.value(op.rhs)))


@TABLE.op(math.FPowIOp)
def emit_fpowi(ctx: Context, op: math.FPowIOp) -> None:
    base = ctx.value(op.lhs)
    element = element_of(base.type)
    wide = convert(ctx, base, F32) if element in (F16, BF16) else base
    ctx.set(op.result, convert(ctx, _lanes(ctx, wide, ctx.value(op.rhs)), element))


def _lanes(ctx: Context, base: ir.Value, exponent: ir.Value) -> ir.Value:
    if not isinstance(base.type, ir.VectorType):
        return ctx.b.call(_power(ctx, base.type, exponent.type), [base, exponent])
    result: ir.Value = ir.Constant(base.type, ir.Undefined)
    function = _power(ctx, base.type.element, exponent.type.element)
    for position in range(base.type.count):
        lane = ir.Constant(ir.IntType(32), position)
        operands = [ctx.b.extract_element(vector, lane) for vector in (base, exponent)]
        result = ctx.b.insert_element(result, ctx.b.call(function, operands), lane)
    return result


def _power(ctx: Context, base: ir.Type, exponent: ir.Type) -> ir.Function:
    """
    An internal function `base ** exponent` for a signed exponent.

    An integer base with a negative exponent gives 1 for 1, +-1 for -1 and 0 otherwise.
    """
    name = f"opar.pow.{base}.{exponent}"
    existing = ctx.module.globals.get(name)
    if existing is not None:
        return existing
    function = ir.Function(ctx.module, ir.FunctionType(base, [base, exponent]), name)
    function.linkage = "internal"
    entry, loop, end = (function.append_basic_block(n) for n in ("entry", "loop", "end"))
    b = ir.IRBuilder(entry)
    x, n = function.args
    zero, one = constant(exponent, 0), constant(exponent, 1)
    negative = b.icmp_signed("<", n, zero)
    magnitude = b.select(negative, b.neg(n), n)
    b.branch(loop)
    b.position_at_end(loop)
    square, rest, total = b.phi(base), b.phi(exponent), b.phi(base)
    multiply = b.fmul if is_float(base) else b.mul
    odd = b.icmp_unsigned("!=", b.and_(rest, one), zero)
    following = b.select(odd, multiply(total, square), total)
    halved = b.lshr(rest, one) if exponent != I1 else constant(I1, 0)
    squared = multiply(square, square)
    for phi, first, then in (
        (square, x, squared),
        (rest, magnitude, halved),
        (total, constant(base, 1), following),
    ):
        phi.add_incoming(first, entry)
        phi.add_incoming(then, loop)
    b.cbranch(b.icmp_unsigned("!=", halved, zero), loop, end)
    b.position_at_end(end)
    if is_float(base):
        inverse = b.fdiv(constant(base, 1), following)
    else:
        unit = b.or_(
            b.icmp_signed("==", x, constant(base, 1)), b.icmp_signed("==", x, constant(base, -1))
        )
        inverse = b.select(unit, following, constant(base, 0))
    b.ret(b.select(negative, inverse, following))
    return function
