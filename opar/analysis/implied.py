"""
What is complete once given nodes are: the order that tokens make, through branches and loops.

Sets of nodes (`opar.analysis.dataflow`) are bit masks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from xdsl.ir import Block, Operation

from opar.analysis.control_flow import ControlFlow, Shape, Structure
from opar.analysis.dataflow import Dependences


@dataclass
class Implied:
    """`ancestors[n]` is what is complete once node n is; `Order` fills it in."""

    found: Dependences
    flow: ControlFlow
    ancestors: list[int] = field(init=False)
    done_by: dict[Operation, int] = field(default_factory=dict)
    """For each `async.execute`: what is complete once it is awaited."""

    def __post_init__(self) -> None:
        self.ancestors = [0] * len(self.found.nodes)

    def minimal(self, candidates: Iterable[int], op: Operation) -> list[int]:
        """The candidates that no others imply where `op` is, in order: a transitive reduction."""
        return self._reduce(candidates, _blocks_around(op), 0)[0]

    def closure(self, nodes: Iterable[int], op: Operation) -> int:
        """What is complete where `op` is once all of `nodes` are."""
        return self._reduce(nodes, _blocks_around(op), 0)[1]

    def at_end(self, nodes: Iterable[int], block: Block) -> int:
        """What is complete at the end of `block` once all of `nodes`, which lie in it, are."""
        return self._reduce(nodes, (block,), 0)[1]

    def _reduce(
        self, nodes: Iterable[int], here: Collection[Block], complete: int
    ) -> tuple[list[int], int]:
        """
        At a place in the blocks `here`: those of `nodes`, in order, that neither `complete` nor
        others of them imply, and what all of them imply. Each structure is looked into once, later
        ones first, as nodes seldom imply later ones.
        """
        kept: list[int] = []
        inside: list[int] = []
        implied = twice = by_structures = 0  # what one, several, and those in structures imply
        for structure, own in groupby(
            sorted(nodes, reverse=True), lambda n: self._outermost(n, here)
        ):
            if structure is None:
                for n in own:
                    if not (implied >> n & 1 or complete >> n & 1):
                        kept.append(n)
                    mask = self.ancestors[n] | 1 << n
                    twice |= implied & mask
                    implied |= mask
            else:
                more, mask = self._reduce_structure(structure, list(own), complete | implied)
                inside += more
                by_structures |= mask
                twice |= implied & mask
                implied |= mask
        if any(twice >> n & 1 for n in kept):
            kept = self._without_later(kept[::-1], by_structures)
        return sorted(kept + inside), implied

    def _reduce_structure(
        self, structure: Structure, nodes: Sequence[int], complete: int
    ) -> tuple[list[int], int]:
        """The same for nodes in a structure, at a place behind it."""
        kept: list[int] = []
        parts: dict[Block, int] = {}
        for block in structure.blocks:
            own = [n for n in nodes if n in self.found.spans[block]]
            more, parts[block] = self._reduce(own, (block,), complete)
            kept += more
        done = self.done_by.get(structure.op, 0)
        for n in sorted(kept):
            if len(kept) > 1 and done >> n & 1:
                kept.remove(n)
        return kept, self.behind(structure, parts)

    def _without_later(self, nodes: Sequence[int], others: int) -> list[int]:
        """
        `nodes` without those that others imply, also ones before them, as earlier executions may.
        """
        masks = [self.ancestors[n] | 1 << n for n in nodes]
        behind = [others]
        for mask in reversed(masks):
            behind.append(behind[-1] | mask)
        kept: list[int] = []
        before = 0
        for i, n in enumerate(nodes):
            if not (before | behind[len(nodes) - 1 - i]) >> n & 1:
                kept.append(n)
                before |= masks[i]
        return kept

    def _outermost(self, node: int, here: Collection[Block]) -> Structure | None:
        """The outermost structure around a node that is not around a place in `here`, too."""
        if self.found.nodes[node].loop is not None:
            return None
        found: Operation | None = None
        block = self.found.nodes[node].op.parent
        while block is not None and block not in here:
            found = block.parent_op()
            block = found.parent if found is not None else None
        return self.flow.structure(found) if found is not None else None

    def behind(self, structure: Structure, parts: dict[Block, int]) -> int:
        """What holds behind a structure, given what holds at the end of its blocks."""
        whole = self.span(*structure.blocks)
        if structure.shape in (Shape.ONCE, Shape.EXECUTE):
            (found,) = parts.values()
            return found | self.done_by.get(structure.op, 0)
        if structure.shape is Shape.BRANCHES:
            found = -1 if structure.runs else whole
            for block, mask in parts.items():
                found &= mask | whole & ~self.span(block)
            return found
        if structure.shape is Shape.WHILE:
            return sum(mask & self.span(block) for block, mask in parts.items())
        (found,) = parts.values()
        outer = found & ~whole & ~self.span(structure.op)
        return found & whole | (outer if structure.runs else 0)

    def span(self, *places: Block | Operation) -> int:
        found = 0
        for place in places:
            span = self.found.spans[place]
            found |= (1 << span.stop) - (1 << span.start)
        return found


def _blocks_around(op: Operation) -> list[Block]:
    """The blocks that `op` lies in, innermost first."""
    found: list[Block] = []
    around: Operation | None = op
    while around is not None and (block := around.parent) is not None:
        found.append(block)
        around = block.parent_op()
    return found


def encloses(block: Block, op: Operation) -> bool:
    """Whether `op` lies in `block`, or in an operation in it."""
    return block.find_ancestor_op_in_block(op) is not None
