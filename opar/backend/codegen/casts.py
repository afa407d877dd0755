"""Emits the conversions of `arith`. Out-of-range float to integer is undefined, as in LLVM."""

from __future__ import annotations

from llvmlite import ir
from xdsl.dialects import arith
from xdsl.ir import Operation

from opar.backend.codegen.context import Context
from opar.backend.codegen.floats import compute, convert, truncate
from opar.backend.codegen.table import Emit, Table
from opar.backend.codegen.types import BF16, F64, element_of, int_width, llvm_type
from opar.dialects.arith import IndexCastUIOp
from opar.errors import UnsupportedError

TABLE = Table()


def _integer_cast(signed: bool) -> Emit:
    def emit(ctx: Context, op: Operation) -> None:
        value = ctx.value(op.operands[0])
        type = llvm_type(op.results[0].type)
        source, target = int_width(value.type), int_width(type)
        if target < source:
            result = ctx.b.trunc(value, type)
        elif signed:
            result = ctx.b.sext(value, type)
        else:
            result = ctx.b.zext(value, type)
        ctx.set(op.results[0], result)

    return emit


TABLE.op(arith.ExtUIOp, IndexCastUIOp)(_integer_cast(False))
TABLE.op(arith.ExtSIOp, arith.IndexCastOp, arith.TruncIOp)(_integer_cast(True))


@TABLE.op(arith.ExtFOp, arith.TruncFOp)
def emit_float_cast(ctx: Context, op: arith.ExtFOp | arith.TruncFOp) -> None:
    for name in ("roundingmode", "rounding_mode"):
        mode = op.properties.get(name) or op.attributes.get(name)
        if mode is not None:
            raise UnsupportedError(f"rounding mode {mode} is not supported in a kernel")
    type = llvm_type(op.results[0].type)
    ctx.set(op.results[0], convert(ctx, ctx.value(op.operands[0]), element_of(type)))


def _from_integer(signed: bool) -> Emit:
    def emit(ctx: Context, op: Operation) -> None:
        value = ctx.value(op.operands[0])
        type = llvm_type(op.results[0].type)
        build = ctx.b.sitofp if signed else ctx.b.uitofp
        if element_of(type) == BF16:
            # Through double, which holds 53 bits, so that the value is rounded once.
            wide = ir.VectorType(F64, type.count) if isinstance(type, ir.VectorType) else F64
            ctx.set(op.results[0], truncate(ctx, build(value, wide), BF16))
        else:
            ctx.set(op.results[0], build(value, type))

    return emit


TABLE.op(arith.SIToFPOp)(_from_integer(True))
TABLE.op(arith.UIToFPOp)(_from_integer(False))


def _to_integer(signed: bool) -> Emit:
    def emit(ctx: Context, op: Operation) -> None:
        value = compute(ctx, ctx.value(op.operands[0]))
        type = llvm_type(op.results[0].type)
        build = ctx.b.fptosi if signed else ctx.b.fptoui
        ctx.set(op.results[0], build(value, type))

    return emit


TABLE.op(arith.FPToSIOp)(_to_integer(True))
TABLE.op(arith.FPToUIOp)(_to_integer(False))


@TABLE.op(arith.BitcastOp)
def emit_bitcast(ctx: Context, op: arith.BitcastOp) -> None:
    ctx.set(op.result, ctx.b.bitcast(ctx.value(op.input), llvm_type(op.result.type)))
