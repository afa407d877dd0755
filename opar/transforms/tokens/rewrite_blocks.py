"""Writes tokens into the blocks of a function, where slots are block arguments."""

from __future__ import annotations

from xdsl.ir import Block, SSAValue

from opar.analysis.block_graph import jumps, successors
from opar.analysis.control_flow import Structure
from opar.dialects import gpu
from opar.transforms.extend import with_arguments
from opar.transforms.tokens.rewrite import TokenRewriter


def rewrite_blocks(rewriter: TokenRewriter, scope: Structure) -> None:
    """
    Add tokens and waits to the operations of a function of several blocks. A slot is an argument of
    the blocks with several ways to them; one with a single way has what the block before it left.
    """
    graph = rewriter.flow.graph(scope.op)
    slots = rewriter.plan.slots.get(scope.op, [])
    ways = {
        b: [p for p in graph.predecessors[b] for to, _ in jumps(p) if to is b] for b in scope.blocks
    }
    added: dict[Block, list[int]] = {block: [] for block in scope.blocks}
    for block in scope.blocks:
        for i, slot in enumerate(slots):
            if block in slot.live and len(ways[block]) > 1:
                argument = block.insert_arg(gpu.AsyncTokenType(), len(block.args))
                rewriter.arguments[block, i] = argument
                added[block].append(i)
    leaving: dict[tuple[Block, int], SSAValue] = {}
    for block in scope.blocks:
        if len(ways[block]) == 1:
            for i, slot in enumerate(slots):
                if block in slot.live:
                    rewriter.arguments[block, i] = leaving[ways[block][0], i]
        rewriter.rewrite(block)
        end = block.last_op
        assert end is not None
        for i, slot in enumerate(slots):
            if any(following in slot.live for following in successors(block)):
                leaving[block, i] = rewriter.leaving(block, i, slot, end)
    for block in graph.region.blocks:
        end = block.last_op
        if end is None or not any(added.get(following) for following in successors(block)):
            continue
        none = None
        if block not in graph.blocks:  # a block that never runs has to pass something, too
            none = gpu.WaitOp([], is_async=True)
            block.insert_op_before(none, end)
        passed = {
            following: [
                none.results[0] if none is not None else leaving[block, i]
                for i in added.get(following, ())
            ]
            for following in successors(block)
        }
        more = [passed[following] for following, _ in jumps(block)]
        block.insert_op_before(with_arguments(end, more), end)
        block.erase_op(end)
