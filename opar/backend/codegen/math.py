"""
Emits `math`: through LLVM intrinsics where the target selects them, else the target's library.

f16 and bf16 are computed in f32 and rounded once. Vectors go to a library element by element.
"""

from __future__ import annotations

from llvmlite import ir
from xdsl.dialects import math
from xdsl.ir import Operation

from opar.backend.codegen import powers
from opar.backend.codegen.context import Context
from opar.backend.codegen.float_ops import elementwise, float_math, intrinsic_emitter
from opar.backend.codegen.floats import fastmath_flags
from opar.backend.codegen.table import Emit, Table
from opar.backend.codegen.types import I1, constant, element_of

TABLE = Table(powers.TABLE)

_INTRINSICS: dict[type[Operation], str] = {
    math.AbsFOp: "fabs",
    math.CeilOp: "ceil",
    math.CopySignOp: "copysign",
    math.FloorOp: "floor",
    math.FmaOp: "fma",
    math.RoundEvenOp: "roundeven",
    math.RoundOp: "round",
    math.SqrtOp: "sqrt",
    math.TruncOp: "trunc",
}
"""Selected by every target, with no library."""

_FUNCTIONS: dict[type[Operation], str] = {
    math.AcosOp: "acos",
    math.AcoshOp: "acosh",
    math.AsinOp: "asin",
    math.AsinhOp: "asinh",
    math.AtanOp: "atan",
    math.Atan2Op: "atan2",
    math.AtanhOp: "atanh",
    math.CbrtOp: "cbrt",
    math.CosOp: "cos",
    math.CoshOp: "cosh",
    math.ErfOp: "erf",
    math.ExpOp: "exp",
    math.Exp2Op: "exp2",
    math.ExpM1Op: "expm1",
    math.LogOp: "log",
    math.Log10Op: "log10",
    math.Log1pOp: "log1p",
    math.Log2Op: "log2",
    math.PowFOp: "pow",
    math.SinOp: "sin",
    math.SinhOp: "sinh",
    math.TanOp: "tan",
    math.TanhOp: "tanh",
}
"""C's name for the function on double."""


for _op, _name in _INTRINSICS.items():
    TABLE.op(_op)(intrinsic_emitter(_name))


def _function(name: str) -> Emit:
    def emit(ctx: Context, op: Operation) -> None:
        flags = fastmath_flags(op)
        fast = "afn" in flags

        def build(operands: list[ir.Value]) -> ir.Value:
            if ctx.target.selects(name, element_of(operands[0].type), fast):
                return ctx.intrinsic(f"llvm.{name}", operands, fastmath=flags)
            return elementwise(
                ctx, operands, lambda xs: ctx.target.math_call(ctx, op, name, xs, fast)
            )

        float_math(ctx, op, build)

    return emit


for _op, _name in _FUNCTIONS.items():
    TABLE.op(_op)(_function(_name))


@TABLE.op(math.RsqrtOp)
def emit_rsqrt(ctx: Context, op: math.RsqrtOp) -> None:
    flags = fastmath_flags(op)

    def build(operands: list[ir.Value]) -> ir.Value:
        (x,) = operands
        root = ctx.intrinsic("llvm.sqrt", [x], fastmath=flags)
        return ctx.b.fdiv(constant(x.type, 1.0), root, flags=flags)

    float_math(ctx, op, build)


@TABLE.op(math.AbsIOp)
def emit_absi(ctx: Context, op: math.AbsIOp) -> None:
    x = ctx.value(op.operand)
    ctx.set(op.result, _with_flag(ctx, "llvm.abs", x))


def _with_flag(ctx: Context, name: str, value: ir.Value) -> ir.Value:
    """An intrinsic whose second operand says that no input gives poison."""
    return ctx.intrinsic(name, [value, constant(I1, 0)])


def _count_zeros(name: str) -> Emit:
    def emit(ctx: Context, op: Operation) -> None:
        ctx.set(op.results[0], _with_flag(ctx, name, ctx.value(op.operands[0])))

    return emit


TABLE.op(math.CountLeadingZerosOp)(_count_zeros("llvm.ctlz"))
TABLE.op(math.CountTrailingZerosOp)(_count_zeros("llvm.cttz"))


@TABLE.op(math.CtPopOp)
def emit_ctpop(ctx: Context, op: math.CtPopOp) -> None:
    ctx.set(op.result, ctx.intrinsic("llvm.ctpop", [ctx.value(op.operand)]))
