"""Emits `ub`: undefined values and code that is never reached."""

from __future__ import annotations

from llvmlite import ir
from xdsl.dialects import ub

from opar.backend.codegen.context import Context
from opar.backend.codegen.table import Table
from opar.backend.codegen.types import llvm_type

TABLE = Table()


@TABLE.op(ub.PoisonOp)
def emit_poison(ctx: Context, op: ub.PoisonOp) -> None:
    ctx.set(op.result, ir.Constant(llvm_type(op.result.type), ir.Undefined))


@TABLE.op(ub.UnreachableOp)
def emit_unreachable(ctx: Context, op: ub.UnreachableOp) -> None:
    ctx.b.unreachable()
