"""Float operations of any dialect: in f32 for f16 and bf16, lane by lane for libraries."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from llvmlite import ir
from xdsl.ir import Operation

from opar.backend.codegen.context import Context
from opar.backend.codegen.floats import convert, fastmath_flags
from opar.backend.codegen.table import Emit
from opar.backend.codegen.types import BF16, F16, F32, F64, element_of


def float_math(
    ctx: Context,
    op: Operation,
    build: Callable[[list[ir.Value]], ir.Value],
    wide: ir.Type = F32,
) -> None:
    """Set the result to `build` on the operands, in `wide` where they are f16 or bf16."""
    operands = [ctx.value(operand) for operand in op.operands]
    element = element_of(operands[0].type)
    if element in (F16, BF16):
        operands = [convert(ctx, operand, wide) for operand in operands]
    ctx.set(op.results[0], convert(ctx, build(operands), element))


def intrinsic_emitter(name: str) -> Emit:
    """Emits the LLVM intrinsic `name`, one that every target selects, on the operands."""

    def emit(ctx: Context, op: Operation) -> None:
        flags = fastmath_flags(op)
        element = element_of(ctx.value(op.operands[0]).type)
        if element == F16 and ctx.target.selects(name, F16, False):
            operands = [ctx.value(operand) for operand in op.operands]
            ctx.set(op.results[0], ctx.intrinsic(f"llvm.{name}", operands, fastmath=flags))
            return
        # The sum of a product of two f16 and an f16 may need more bits than f32 has.
        wide = F64 if name == "fma" and element == F16 else F32
        float_math(ctx, op, lambda xs: ctx.intrinsic(f"llvm.{name}", xs, fastmath=flags), wide)

    return emit


def elementwise(
    ctx: Context, operands: Sequence[ir.Value], build: Callable[[list[ir.Value]], ir.Value]
) -> ir.Value:
    """`build` on scalars, for each element of vectors."""
    type = operands[0].type
    if not isinstance(type, ir.VectorType):
        return build(list(operands))
    b = ctx.b
    result: ir.Value = ir.Constant(type, ir.Undefined)
    for position in range(type.count):
        lane = ir.Constant(ir.IntType(32), position)
        scalar = build([b.extract_element(operand, lane) for operand in operands])
        result = b.insert_element(result, scalar, lane)
    return result
