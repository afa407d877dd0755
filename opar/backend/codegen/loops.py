"""Loops and branches that the structured dialects share."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from llvmlite import ir

from opar.backend.codegen import indexing
from opar.backend.codegen.context import Context
from opar.backend.codegen.indexing import Index

LoopBody = Callable[[ir.Value, list[ir.Value]], Sequence[ir.Value]]
"""Emits a loop body from the induction variable and carried values; returns the next ones."""


def counted_loop(
    ctx: Context,
    lower: ir.Value,
    upper: ir.Value,
    step: ir.Value,
    inits: Sequence[ir.Value],
    body: LoopBody,
    *,
    unsigned: bool = False,
) -> list[ir.Value]:
    """
    `for (i = lower; i < upper; i += step)` with carried values; returns their last ones.

    The bounds have one integer type; `step` is positive and `i + step` must not overflow.
    """
    b = ctx.b
    header, inside, after = (
        ctx.function.append_basic_block(name) for name in ("header", "body", "after")
    )
    before = b.block
    b.branch(header)
    b.position_at_end(header)
    counter = b.phi(lower.type)
    counter.add_incoming(lower, before)
    carried = [b.phi(init.type) for init in inits]
    for phi, init in zip(carried, inits, strict=True):
        phi.add_incoming(init, before)
    compare = b.icmp_unsigned if unsigned else b.icmp_signed
    b.cbranch(compare("<", counter, upper), inside, after)
    b.position_at_end(inside)
    following = body(counter, list(carried))
    advanced = b.add(counter, step, flags=["nuw" if unsigned else "nsw"])
    counter.add_incoming(advanced, b.block)
    for phi, value in zip(carried, following, strict=True):
        phi.add_incoming(value, b.block)
    b.branch(header)
    b.position_at_end(after)
    return list(carried)


def nested_loops(
    ctx: Context,
    ranges: Sequence[tuple[Index, Index, Index]],
    inits: Sequence[ir.Value],
    body: Callable[[list[ir.Value], list[ir.Value]], Sequence[ir.Value]],
) -> list[ir.Value]:
    """
    Nested loops over (lower, upper, step), the last innermost, all with the same carries; none
    where there is one iteration, known as such.
    """

    def descend(depth: int, outer: list[ir.Value], carried: Sequence[ir.Value]) -> list[ir.Value]:
        if depth == len(ranges):
            return list(body(outer, list(carried)))
        if ranges[depth] == (0, 1, 1):
            return descend(depth + 1, [*outer, indexing.value(0)], carried)
        lower, upper, step = (indexing.value(bound) for bound in ranges[depth])
        return counted_loop(
            ctx, lower, upper, step, carried, lambda i, c: descend(depth + 1, [*outer, i], c)
        )

    return descend(0, [], inits)


def branch(
    ctx: Context,
    condition: ir.Value,
    then: Callable[[], Sequence[ir.Value]],
    otherwise: Callable[[], Sequence[ir.Value]] | None,
) -> list[ir.Value]:
    """Two ways and their common values; without `otherwise` there are none."""
    b = ctx.b
    then_block = ctx.function.append_basic_block("then")
    else_block = ctx.function.append_basic_block("else") if otherwise is not None else None
    join = ctx.function.append_basic_block("join")
    b.cbranch(condition, then_block, join if else_block is None else else_block)
    b.position_at_end(then_block)
    values = list(then())
    incoming = [(values, b.block)]
    b.branch(join)
    if otherwise is not None and else_block is not None:
        b.position_at_end(else_block)
        incoming.append((list(otherwise()), b.block))
        b.branch(join)
    b.position_at_end(join)
    return merge(ctx, incoming) if otherwise is not None else []


def merge(ctx: Context, incoming: Sequence[tuple[Sequence[ir.Value], ir.Block]]) -> list[ir.Value]:
    """Phis in the current block for the values that each predecessor brings."""
    phis = [ctx.b.phi(value.type) for value in incoming[0][0]]
    for values, block in incoming:
        for phi, value in zip(phis, values, strict=True):
            phi.add_incoming(value, block)
    return list[ir.Value](phis)
