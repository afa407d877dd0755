"""The blocks of a region and the jumps between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import rustworkx as rx
from xdsl.dialects import cf
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.irdl.dominance import DominanceInfo


def successors(block: Block) -> Sequence[Block]:
    """The blocks that the end of `block` can jump to."""
    return block.last_op.successors if block.last_op is not None else ()


def reachable_blocks(first: Block) -> list[Block]:
    """The blocks that can be reached, in reverse post-order: dominators first, loops together."""
    found: list[Block] = []
    seen = {first}
    work = [(first, list(successors(first)))]
    while work:
        block, left = work[-1]
        if not left:
            found.append(block)
            work.pop()
        elif (following := left.pop()) not in seen:
            seen.add(following)
            work.append((following, list(successors(following))))
    return found[::-1]


@dataclass
class BlockGraph:
    """The blocks of `region` that can run. It does not follow changes."""

    region: Region
    blocks: tuple[Block, ...] = field(init=False)
    """In reverse post-order."""
    predecessors: dict[Block, list[Block]] = field(init=False)
    """For each block, those that jump to it, each once."""
    cycle: dict[Block, frozenset[Block]] = field(init=False)
    """For each block, the blocks that it can reach and be reached from; it is one if it repeats."""

    def __post_init__(self) -> None:
        self.blocks = tuple(reachable_blocks(self.region.blocks[0]))
        self.predecessors = {block: [] for block in self.blocks}
        for block in self.blocks:
            for following in dict.fromkeys(successors(block)):
                self.predecessors[following].append(block)
        self._dominance = DominanceInfo(self.region)
        graph: rx.PyDiGraph[Block, None] = rx.PyDiGraph()
        graph.add_nodes_from(self.blocks)
        number = {block: i for i, block in enumerate(self.blocks)}
        graph.add_edges_from_no_data(
            [(number[p], number[b]) for b, before in self.predecessors.items() for p in before]
        )
        self.cycle = {}
        for component in rx.strongly_connected_components(graph):
            blocks = frozenset(self.blocks[i] for i in component)
            (first, *others) = blocks
            if not others and first not in self.predecessors[first]:
                blocks = frozenset[Block]()
            self.cycle |= {self.blocks[i]: blocks for i in component}

    def block_of(self, op: Operation) -> Block | None:
        """The block that `op` lies in, itself or in an operation in it."""
        while (block := op.parent) is not None:
            if block.parent is self.region:
                return block
            parent = block.parent_op()
            if parent is None:
                return None
            op = parent
        return None

    def repeats(self, block: Block) -> bool:
        """Whether `block` can run more than once."""
        return bool(self.cycle.get(block, True))

    def recomputes(self, value: SSAValue) -> bool:
        """Whether `value` is computed in a block that can run again, or outside of the region."""
        owner = value.owner
        block = self.block_of(owner) if isinstance(owner, Operation) else owner
        if isinstance(block, Block) and block.parent is not self.region:
            parent = block.parent_op()
            block = self.block_of(parent) if parent is not None else None
        return block is None or self.repeats(block)

    def strictly_dominates(self, before: Block, block: Block) -> bool:
        """Whether every way to `block` goes through `before`, another block."""
        return self._dominance.strictly_dominates(before, block)

    @property
    def is_understood(self) -> bool:
        """Whether each jump is one of `cf`, whose operands are known to be block arguments."""
        known = (cf.BranchOp, cf.ConditionalBranchOp, cf.SwitchOp)
        return all(isinstance(b.last_op, known) or not successors(b) for b in self.region.blocks)


def arguments_to(block: Block, target: Block, index: int) -> list[SSAValue]:
    """What `block` passes for an argument of `target`: a value for each of its jumps there."""
    return [operands[index] for following, operands in jumps(block) if following is target]


def jumps(block: Block) -> list[tuple[Block, Sequence[SSAValue]]]:
    """The jumps at the end of `block`, each with what it passes."""
    match end := block.last_op:
        case cf.BranchOp():
            return [(end.successor, end.arguments)]
        case cf.ConditionalBranchOp():
            return [(end.then_block, end.then_arguments), (end.else_block, end.else_arguments)]
        case cf.SwitchOp():
            cases = zip(end.case_blocks, end.case_operand, strict=True)
            return [(end.default_block, end.default_operands), *cases]
        case _:
            return []
