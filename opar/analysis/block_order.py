"""
What is complete at the start of each block of a function: a forward data-flow problem whose facts
hold on every way to a block (Kam and Ullman, "Monotone data flow analysis frameworks", 1977).

A fact at a block is about the executions before it was entered, so it is about nodes of *earlier*
executions (`opar.analysis.dataflow`). On the way from block P to block C, an execution of an
operation in P becomes an earlier one. Blocks that repeat are gone through until nothing changes,
starting from everything being complete, which is what holds where no way has been seen yet.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from xdsl.ir import Block, BlockArgument, OpResult, SSAValue

from opar.analysis.block_graph import BlockGraph, arguments_to, jumps
from opar.analysis.control_flow import ControlFlow, Structure
from opar.analysis.dataflow import Dependences
from opar.analysis.implied import Implied
from opar.analysis.values import is_token


@dataclass
class Facts:
    """
    At one place: what is complete, what is once each earlier execution (by node) or token is.
    """

    complete: int = 0
    nodes: dict[int, int] = field(default_factory=dict)
    tokens: dict[SSAValue, int] = field(default_factory=dict)


class BlockOrder:
    """Facts of a function; `at_end[block]` holds what is complete at the end of each block."""

    def __init__(self, scope: Structure, found: Dependences, flow: ControlFlow):
        self.graph: BlockGraph = flow.graph(scope.op)
        self.blocks = scope.blocks
        self.earlier = found.earlier[scope.op]
        self.all_earlier = sum(1 << n for n in self.earlier.values())
        self.own: dict[Block, list[int]] = {
            block: [n for n in found.spans[block] if n in self.earlier] for block in self.blocks
        }
        self.at_end: dict[Block, int] = {}
        self._ends: dict[Block, Facts] = {}
        self._block_of_token = dict(self._far_tokens())

    def _far_tokens(self) -> Iterable[tuple[SSAValue, Block]]:
        """Tokens that blocks other than their own use, block arguments among them."""
        for block in self.blocks:
            tokens: list[SSAValue] = list(block.args)
            for op in block.walk():
                tokens += op.results
            for token in tokens:
                if is_token(token):
                    users = {self.graph.block_of(use.operation) for use in token.uses}
                    if users - {block} or isinstance(token, BlockArgument):
                        yield token, block

    def enter(self, block: Block) -> Facts:
        """What holds on every way to `block` that has been seen."""
        ways = [
            (before, self._ends[before])
            for before in self.graph.predecessors[block]
            if before in self._ends
        ]
        facts = Facts(self.all_earlier, dict.fromkeys(self.earlier.values(), self.all_earlier))
        for before, end in ways:
            facts.complete &= self._moved(end.complete, before, end)
            for n, mask in facts.nodes.items():
                facts.nodes[n] = mask & self._moved(end.nodes[n], before, end)
            for token, home in self._block_of_token.items():
                if isinstance(token, BlockArgument) and home is block:
                    for given in arguments_to(before, block, token.index):
                        mask = self._moved(end.tokens.get(given, 0), before, end)
                        facts.tokens[token] = facts.tokens.get(token, -1) & mask
                elif self.graph.strictly_dominates(home, block):
                    mask = self._moved(end.tokens.get(token, 0), before, end)
                    facts.tokens[token] = facts.tokens.get(token, -1) & mask
        return facts

    def leave(
        self, block: Block, complete: int, implied: Implied, tokens: dict[SSAValue, int]
    ) -> bool:
        """Note what holds at the end of `block`; whether that is new."""
        nodes = {n: implied.ancestors[n] | 1 << n for n in self.earlier.values()}
        for n in self.own[block]:
            before = self.earlier[n]
            nodes[before] |= implied.at_end([n], block)
        facts = Facts(complete, nodes, tokens)
        self.at_end[block] = complete
        changed = self._ends.get(block) != facts
        self._ends[block] = facts
        return changed

    def far_tokens(self, block: Block) -> list[SSAValue]:
        """The tokens that `block` can use and that it, or another, hands on to other blocks."""
        found = [
            token
            for token, home in self._block_of_token.items()
            if home is block or self.graph.strictly_dominates(home, block)
        ]
        found += (value for _, passed in jumps(block) for value in passed if is_token(value))
        return found

    def computed_in(self, block: Block) -> list[SSAValue]:
        """The tokens for other blocks that operations of `block` make."""
        return [
            token
            for token, home in self._block_of_token.items()
            if home is block and isinstance(token, OpResult)
        ]

    def _moved(self, mask: int, block: Block, end: Facts) -> int:
        """What holds at the end of `block`, as the next block sees it."""
        mask |= end.complete
        for n in self.own[block]:
            if not mask >> n & 1:
                mask &= ~(1 << self.earlier[n])
        return mask & self.all_earlier
