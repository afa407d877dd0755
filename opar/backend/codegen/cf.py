"""Emits `cf`: branches between the blocks of a region."""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir
from xdsl.dialects import cf
from xdsl.ir import Block, SSAValue

from opar.backend.codegen.context import Context
from opar.backend.codegen.table import Table

TABLE = Table()


@TABLE.op(cf.BranchOp)
def emit_branch(ctx: Context, op: cf.BranchOp) -> None:
    ctx.b.branch(ctx.edge(op.successor, op.arguments))


@TABLE.op(cf.ConditionalBranchOp)
def emit_conditional_branch(ctx: Context, op: cf.ConditionalBranchOp) -> None:
    condition = ctx.value(op.cond)
    origin = ctx.b.block
    then = _edge_block(ctx, op.then_block, op.then_arguments)
    otherwise = _edge_block(ctx, op.else_block, op.else_arguments)
    ctx.b.position_at_end(origin)
    ctx.b.cbranch(condition, then, otherwise)


@TABLE.op(cf.SwitchOp)
def emit_switch(ctx: Context, op: cf.SwitchOp) -> None:
    flag = ctx.value(op.flag)
    origin = ctx.b.block
    default = _edge_block(ctx, op.default_block, op.default_operands)
    cases = [
        _edge_block(ctx, block, operands)
        for block, operands in zip(op.case_blocks, op.case_operand, strict=True)
    ]
    values = () if op.case_values is None else op.case_values.get_values()
    ctx.b.position_at_end(origin)
    switch = ctx.b.switch(flag, default)
    for value, block in zip(values, cases, strict=True):
        switch.add_case(ir.Constant(flag.type, int(value)), block)


def _edge_block(ctx: Context, block: Block, operands: Sequence[SSAValue]) -> ir.Block:
    """A block of its own for one edge: two edges to one block may carry different arguments."""
    edge = ctx.function.append_basic_block("edge")
    ctx.b.position_at_end(edge)
    ctx.b.branch(ctx.edge(block, operands))
    return edge
