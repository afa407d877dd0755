"""Emits `arith`: integers, floats, comparisons and selection. Conversions are in `casts`."""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir
from xdsl.dialects import arith
from xdsl.dialects.builtin import MemRefType, VectorType
from xdsl.ir import Operation

from opar.backend.codegen import casts
from opar.backend.codegen.context import Context
from opar.backend.codegen.division import safe_divisor
from opar.backend.codegen.floats import compute, fastmath_flags, in_single
from opar.backend.codegen.table import Emit, Table
from opar.backend.codegen.types import (
    I1,
    attribute_constant,
    constant,
    int_width,
    llvm_type,
    with_element,
)
from opar.errors import UnsupportedError

TABLE = Table(casts.TABLE)


@TABLE.op(arith.ConstantOp)
def emit_constant(ctx: Context, op: arith.ConstantOp) -> None:
    ctx.set(op.result, attribute_constant(op.value))


# Integers


def _binary(name: str) -> Emit:
    def emit(ctx: Context, op: Operation) -> None:
        build = getattr(ctx.b, name)
        flags = _overflow_flags(op)
        lhs, rhs = (ctx.value(operand) for operand in op.operands)
        ctx.set(op.results[0], build(lhs, rhs, flags=flags))

    return emit


def _overflow_flags(op: Operation) -> list[str]:
    attr = op.properties.get("overflowFlags")
    if not isinstance(attr, arith.IntegerOverflowAttr):
        return []
    return sorted(flag.value for flag in attr.data)


for _op, _name in (
    (arith.AddiOp, "add"),
    (arith.SubiOp, "sub"),
    (arith.MuliOp, "mul"),
    (arith.AndIOp, "and_"),
    (arith.OrIOp, "or_"),
    (arith.XOrIOp, "xor"),
    (arith.ShLIOp, "shl"),
    (arith.ShRUIOp, "lshr"),
    (arith.ShRSIOp, "ashr"),
):
    TABLE.op(_op)(_binary(_name))


def _division(name: str, signed: bool) -> Emit:
    def emit(ctx: Context, op: Operation) -> None:
        lhs, rhs = (ctx.value(operand) for operand in op.operands)
        divisor = safe_divisor(ctx, lhs, rhs, signed=signed)
        ctx.set(op.results[0], getattr(ctx.b, name)(lhs, divisor))

    return emit


TABLE.op(arith.DivSIOp)(_division("sdiv", True))
TABLE.op(arith.DivUIOp)(_division("udiv", False))
TABLE.op(arith.RemSIOp)(_division("srem", True))
TABLE.op(arith.RemUIOp)(_division("urem", False))


def _intrinsic(name: str) -> Emit:
    def emit(ctx: Context, op: Operation) -> None:
        ctx.set(op.results[0], ctx.intrinsic(name, [ctx.value(o) for o in op.operands]))

    return emit


for _op, _name in (
    (arith.MinSIOp, "llvm.smin"),
    (arith.MaxSIOp, "llvm.smax"),
    (arith.MinUIOp, "llvm.umin"),
    (arith.MaxUIOp, "llvm.umax"),
):
    TABLE.op(_op)(_intrinsic(_name))


@TABLE.op(arith.FloorDivSIOp)
def emit_floordivsi(ctx: Context, op: arith.FloorDivSIOp) -> None:
    ctx.set(op.result, _rounded_division(ctx, ctx.value(op.lhs), ctx.value(op.rhs), -1))


@TABLE.op(arith.CeilDivSIOp)
def emit_ceildivsi(ctx: Context, op: arith.CeilDivSIOp) -> None:
    ctx.set(op.result, _rounded_division(ctx, ctx.value(op.lhs), ctx.value(op.rhs), 1))


def _rounded_division(ctx: Context, lhs: ir.Value, rhs: ir.Value, adjust: int) -> ir.Value:
    """The truncated quotient moved by `adjust` where that is the way of the true quotient."""
    b = ctx.b
    zero = constant(lhs.type, 0)
    rhs = safe_divisor(ctx, lhs, rhs, signed=True)
    quotient = b.sdiv(lhs, rhs)
    inexact = b.icmp_signed("!=", b.mul(quotient, rhs), lhs)
    negative = b.xor(b.icmp_signed("<", lhs, zero), b.icmp_signed("<", rhs, zero))
    wrong = b.and_(inexact, negative if adjust < 0 else b.not_(negative))
    return b.select(wrong, b.add(quotient, constant(lhs.type, adjust)), quotient)


@TABLE.op(arith.CeilDivUIOp)
def emit_ceildivui(ctx: Context, op: arith.CeilDivUIOp) -> None:
    b, lhs = ctx.b, ctx.value(op.lhs)
    rhs = safe_divisor(ctx, lhs, ctx.value(op.rhs), signed=False)
    zero, one = constant(lhs.type, 0), constant(lhs.type, 1)
    rounded = b.add(b.udiv(b.sub(lhs, one), rhs), one)
    ctx.set(op.result, b.select(b.icmp_unsigned("==", lhs, zero), zero, rounded))


@TABLE.op(arith.AddUIExtendedOp)
def emit_addui_extended(ctx: Context, op: arith.AddUIExtendedOp) -> None:
    b, lhs, rhs = ctx.b, ctx.value(op.lhs), ctx.value(op.rhs)
    total = b.add(lhs, rhs)
    ctx.set(op.sum, total)
    ctx.set(op.overflow, b.icmp_unsigned("<", total, lhs))


def _multiply_extended(signed: bool) -> Emit:
    def emit(ctx: Context, op: arith.MulSIExtendedOp | arith.MulUIExtendedOp) -> None:
        b, lhs, rhs = ctx.b, ctx.value(op.lhs), ctx.value(op.rhs)
        width = int_width(lhs.type)
        wide = with_element(lhs.type, ir.IntType(2 * width))
        extend = b.sext if signed else b.zext
        product = b.mul(extend(lhs, wide), extend(rhs, wide))
        ctx.set(op.low, b.mul(lhs, rhs))
        ctx.set(op.high, b.trunc(b.lshr(product, constant(wide, width)), lhs.type))

    return emit


TABLE.op(arith.MulSIExtendedOp)(_multiply_extended(True))
TABLE.op(arith.MulUIExtendedOp)(_multiply_extended(False))


# Floats


def _float_binary(name: str) -> Emit:
    def emit(ctx: Context, op: Operation) -> None:
        flags = fastmath_flags(op)
        build = getattr(ctx.b, name)
        ctx.set(
            op.results[0],
            in_single(ctx, op.operands, lambda lhs, rhs: build(lhs, rhs, flags=flags)),
        )

    return emit


for _op, _name in (
    (arith.AddfOp, "fadd"),
    (arith.SubfOp, "fsub"),
    (arith.MulfOp, "fmul"),
    (arith.DivfOp, "fdiv"),
):
    TABLE.op(_op)(_float_binary(_name))


def _float_extreme(name: str) -> Emit:
    def emit(ctx: Context, op: Operation) -> None:
        flags = fastmath_flags(op)
        call: Callable[..., ir.Value] = lambda lhs, rhs: ctx.intrinsic(  # noqa: E731
            name, [lhs, rhs], fastmath=flags
        )
        ctx.set(op.results[0], in_single(ctx, op.operands, call))

    return emit


# NaN: maximumf and minimumf return it, maxnumf and minnumf the other operand.
for _op, _name in (
    (arith.MaximumfOp, "llvm.maximum"),
    (arith.MinimumfOp, "llvm.minimum"),
    (arith.MaxnumfOp, "llvm.maxnum"),
    (arith.MinnumfOp, "llvm.minnum"),
):
    TABLE.op(_op)(_float_extreme(_name))


@TABLE.op(arith.NegfOp)
def emit_negf(ctx: Context, op: arith.NegfOp) -> None:
    flags = fastmath_flags(op)
    ctx.set(op.result, in_single(ctx, [op.operand], lambda x: ctx.b.fneg(x, flags=flags)))


# Comparison and selection

_INTEGER_PREDICATES = arith.CMPI_COMPARISON_OPERATIONS
_SYMBOLS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def _check_comparison(op: arith.CmpiOp | arith.CmpfOp) -> None:
    if isinstance(op.lhs.type, VectorType):
        # xDSL gives every comparison the result i1.
        raise UnsupportedError("vectors cannot be compared in a kernel; compare their elements")


@TABLE.op(arith.CmpiOp)
def emit_cmpi(ctx: Context, op: arith.CmpiOp) -> None:
    predicate = _INTEGER_PREDICATES[op.predicate.value.data]
    unsigned = predicate.startswith("u")
    compare = ctx.b.icmp_unsigned if unsigned else ctx.b.icmp_signed
    _check_comparison(op)
    symbol = _SYMBOLS[predicate[-2:]]
    ctx.set(op.result, compare(symbol, ctx.value(op.lhs), ctx.value(op.rhs)))


@TABLE.op(arith.CmpfOp)
def emit_cmpf(ctx: Context, op: arith.CmpfOp) -> None:
    predicate = arith.CMPF_COMPARISON_OPERATIONS[op.predicate.value.data]
    _check_comparison(op)
    lhs = compute(ctx, ctx.value(op.lhs))
    rhs = compute(ctx, ctx.value(op.rhs))
    if predicate in ("true", "false"):
        ctx.set(op.result, constant(with_element(lhs.type, I1), predicate == "true"))
        return
    flags = fastmath_flags(op)
    ctx.set(op.result, ctx.b.fcmp_ordered(predicate, lhs, rhs, flags=flags))


@TABLE.op(arith.SelectOp)
def emit_select(ctx: Context, op: arith.SelectOp) -> None:
    condition = ctx.value(op.cond)
    if isinstance(op.result.type, MemRefType):
        ways = zip(ctx.flat([op.lhs]), ctx.flat([op.rhs]), strict=True)
        ctx.bind([op.result], [ctx.b.select(condition, lhs, rhs) for lhs, rhs in ways])
        return
    llvm_type(op.result.type)
    ctx.set(op.result, ctx.b.select(condition, ctx.value(op.lhs), ctx.value(op.rhs)))
