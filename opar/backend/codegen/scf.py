"""Emits `scf`: structured loops and branches; `scf.parallel` runs its iterations in order."""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir
from xdsl.ir import Operation, Region

from opar.backend.codegen.context import Context
from opar.backend.codegen.loops import branch, counted_loop, merge, nested_loops
from opar.backend.codegen.table import Table
from opar.dialects import scf
from opar.errors import UnsupportedError

TABLE = Table()
TABLE.structural(scf.YieldOp, scf.ConditionOp, scf.ReduceOp, scf.ReduceReturnOp)


def _yielded(ctx: Context, region: Region, arguments: Sequence[ir.Value]) -> list[ir.Value]:
    return ctx.flat(ctx.emit_single_block(region, arguments).operands)


@TABLE.op(scf.ForOp)
def emit_for(ctx: Context, op: scf.ForOp) -> None:
    results = counted_loop(
        ctx,
        ctx.value(op.lb),
        ctx.value(op.ub),
        ctx.value(op.step),
        ctx.flat(op.iter_args),
        lambda i, carried: _yielded(ctx, op.body, [i, *carried]),
        unsigned="unsignedCmp" in op.properties or "unsignedCmp" in op.attributes,
    )
    ctx.bind(op.results, results)


@TABLE.op(scf.IfOp)
def emit_if(ctx: Context, op: scf.IfOp) -> None:
    otherwise = op.false_region if op.false_region.blocks else None
    results = branch(
        ctx,
        ctx.value(op.cond),
        lambda: _yielded(ctx, op.true_region, ()),
        None if otherwise is None else lambda: _yielded(ctx, otherwise, ()),
    )
    ctx.bind(op.results, results)


@TABLE.op(scf.WhileOp)
def emit_while(ctx: Context, op: scf.WhileOp) -> None:
    b = ctx.b
    before, after, end = (
        ctx.function.append_basic_block(name) for name in ("before", "after", "end")
    )
    inits = ctx.flat(op.arguments)
    origin = b.block
    b.branch(before)
    b.position_at_end(before)
    phis = merge(ctx, [(inits, origin)])
    condition = ctx.emit_single_block(op.before_region, phis)
    assert isinstance(condition, scf.ConditionOp)
    forwarded = ctx.flat(condition.args)
    b.cbranch(ctx.value(condition.condition), after, end)
    b.position_at_end(after)
    yielded = _yielded(ctx, op.after_region, forwarded)
    for phi, value in zip(phis, yielded, strict=True):
        assert isinstance(phi, ir.PhiInstr)
        phi.add_incoming(value, b.block)
    b.branch(before)
    b.position_at_end(end)
    ctx.bind(op.results, forwarded)


@TABLE.op(scf.ExecuteRegionOp)
def emit_execute_region(ctx: Context, op: scf.ExecuteRegionOp) -> None:
    end = ctx.function.append_basic_block("end")
    incoming: list[tuple[list[ir.Value], ir.Block]] = []

    def leave(terminator: Operation) -> None:
        incoming.append((ctx.flat(terminator.operands), ctx.b.block))
        ctx.b.branch(end)

    ctx.emit_blocks(op.region, leave)
    ctx.b.position_at_end(end)
    if not incoming:
        raise UnsupportedError("a region that never yields is not supported in a kernel")
    ctx.bind(op.results, merge(ctx, incoming))


@TABLE.op(scf.IndexSwitchOp)
def emit_index_switch(ctx: Context, op: scf.IndexSwitchOp) -> None:
    b = ctx.b
    default = ctx.function.append_basic_block("default")
    end = ctx.function.append_basic_block("end")
    switch = b.switch(ctx.value(op.arg), default)
    ways = [(default, op.default_region)]
    for value, region in zip(op.cases.get_values(), op.case_regions, strict=True):
        block = ctx.function.append_basic_block("case")
        switch.add_case(ir.Constant(ir.IntType(64), int(value)), block)
        ways.append((block, region))
    incoming: list[tuple[list[ir.Value], ir.Block]] = []
    for block, region in ways:
        b.position_at_end(block)
        incoming.append((_yielded(ctx, region, ()), b.block))
        b.branch(end)
    b.position_at_end(end)
    ctx.bind(op.results, merge(ctx, incoming))


@TABLE.op(scf.ParallelOp)
def emit_parallel(ctx: Context, op: scf.ParallelOp) -> None:
    ranges = [
        (ctx.value(lower), ctx.value(upper), ctx.value(step))
        for lower, upper, step in zip(op.lowerBound, op.upperBound, op.step, strict=True)
    ]

    def body(counters: list[ir.Value], carried: list[ir.Value]) -> list[ir.Value]:
        reduce = ctx.emit_single_block(op.body, counters)
        operands = [ctx.flat([operand]) for operand in reduce.operands]
        following: list[ir.Value] = []
        position = 0
        for operand, region in zip(operands, reduce.regions, strict=True):
            current = carried[position : position + len(operand)]
            position += len(operand)
            following += ctx.flat(ctx.emit_single_block(region, [*current, *operand]).operands)
        return following

    ctx.bind(op.results, nested_loops(ctx, ranges, ctx.flat(op.initVals), body))
