"""
Floats narrower than what the target computes with.

bf16 is computed in f32 and rounded after every operation, on both targets: LLVM has no bf16
arithmetic on most of them. On the host LLVM would call the compiler's runtime library to round
to bf16, and double to f16, which a JIT does not have; both are done in integers here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from llvmlite import ir
from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.ir import Operation, SSAValue

from opar.backend.codegen.context import Context
from opar.backend.codegen.types import (
    BF16,
    F16,
    F32,
    F64,
    I16,
    I32,
    constant,
    element_of,
    float_bits,
    with_element,
)


def fastmath_flags(op: Operation) -> list[str]:
    """LLVM's fast-math flags for the `fastmath` attribute of `op`; none where it has none."""
    attr = op.properties.get("fastmath")
    if not isinstance(attr, FastMathFlagsAttr):
        return []
    return sorted(flag.value for flag in attr.data)


def compute(ctx: Context, value: ir.Value) -> ir.Value:
    """`value` in the type that operations on it are computed in: bf16 becomes f32."""
    return extend(ctx, value, F32) if element_of(value.type) == BF16 else value


def in_single(
    ctx: Context, operands: Iterable[SSAValue], build: Callable[..., ir.Value]
) -> ir.Value:
    """`build` on the operands, in f32 and rounded back where they are bf16."""
    values = [ctx.value(operand) for operand in operands]
    element = element_of(values[0].type)
    result = build(*(compute(ctx, value) for value in values))
    return truncate(ctx, result, element) if element == BF16 else result


def extend(ctx: Context, value: ir.Value, element: ir.Type) -> ir.Value:
    """`value` in the wider float type `element`; exact."""
    return ctx.b.fpext(value, with_element(value.type, element))


def truncate(ctx: Context, value: ir.Value, element: ir.Type) -> ir.Value:
    """`value` rounded to nearest even in the narrower float type `element`."""
    source = element_of(value.type)
    if element == BF16 and not ctx.target.native_bfloat:
        single = _round_to_odd(ctx, value) if source == F64 else value
        return _round_to_bfloat(ctx, single)
    if element == F16 and source == F64 and not ctx.target.native_half_from_double:
        value = _round_to_odd(ctx, value)
    return ctx.b.fptrunc(value, with_element(value.type, element))


def convert(ctx: Context, value: ir.Value, element: ir.Type) -> ir.Value:
    """`value` in any float type `element`."""
    source = element_of(value.type)
    if source == element:
        return value
    if float_bits(element) > float_bits(source):
        return extend(ctx, value, element)
    if float_bits(element) == float_bits(source):
        return truncate(ctx, extend(ctx, value, F32), element)
    return truncate(ctx, value, element)


def _round_to_odd(ctx: Context, value: ir.Value) -> ir.Value:
    """
    double as float, rounded to odd, so that a second rounding gives what one would have.

    S. Boldo, G. Melquiond, "When double rounding is odd", 2005.
    """
    b = ctx.b
    single = b.fptrunc(value, with_element(value.type, F32))
    integer = with_element(value.type, I32)
    bits = b.bitcast(single, integer)
    back = b.fpext(single, value.type)
    inexact = b.fcmp_ordered("one", back, value)
    away = b.fcmp_ordered(">", ctx.intrinsic("llvm.fabs", [back]), _magnitude(ctx, value))
    towards_zero = b.sub(bits, b.zext(away, integer))
    odd = b.or_(towards_zero, constant(integer, 1))
    return b.bitcast(b.select(inexact, odd, bits), single.type)


def _magnitude(ctx: Context, value: ir.Value) -> ir.Value:
    return ctx.intrinsic("llvm.fabs", [value])


def _round_to_bfloat(ctx: Context, value: ir.Value) -> ir.Value:
    """float rounded to nearest even by adding half of the last kept bit; NaN stays quiet NaN."""
    b = ctx.b
    integer = with_element(value.type, I32)
    bits = b.bitcast(value, integer)
    sixteen = constant(integer, 16)
    even = b.and_(b.lshr(bits, sixteen), constant(integer, 1))
    rounded = b.add(bits, b.add(even, constant(integer, 0x7FFF)))
    quiet = b.or_(bits, constant(integer, 0x400000))
    chosen = b.select(b.fcmp_ordered("uno", value, value), quiet, rounded)
    narrow = b.trunc(b.lshr(chosen, sixteen), with_element(value.type, I16))
    return b.bitcast(narrow, with_element(value.type, BF16))
