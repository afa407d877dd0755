"""
What is complete once given nodes are: the order that tokens make, through branches and loops.

Sets of nodes (`opar.analysis.dataflow`) are bit masks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

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
        kept: list[int] = []
        implied = 0
        block = op.parent
        for n in sorted(candidates, reverse=True):
            if not implied >> n & 1:
                kept.append(n)
                is_near = self.found.nodes[n].op.parent is block
                implied |= self.ancestors[n] if is_near else self.closure([n], op)
        kept.reverse()
        if any(self.found.nodes[n].op.parent is not op.parent for n in kept):
            for n in list(kept):
                others = [m for m in kept if m != n]
                if self.closure(others, op) >> n & 1:
                    kept = others
        return kept

    def closure(self, nodes: Sequence[int], op: Operation) -> int:
        """What is complete where `op` is once all of `nodes` are."""
        found = 0
        blocks: dict[Block, list[int]] = {}
        for n in nodes:
            node = self.found.nodes[n]
            block = node.op.parent
            if node.loop is not None or block is op.parent:
                found |= self.ancestors[n] | 1 << n
                continue
            while block is not None and not encloses(block, op):
                parent = block.parent_op()
                block = parent.parent if parent is not None else None
            if block is not None:
                blocks.setdefault(block, []).append(n)
        for block, inside in blocks.items():
            found |= self.at_end(inside, block)
        return found

    def at_end(self, nodes: Sequence[int], block: Block) -> int:
        """What is complete at the end of `block` once all of `nodes`, which lie in it, are."""
        found = 0
        inner: dict[Operation, list[int]] = {}
        for n in nodes:
            op = self.found.nodes[n].op
            item = block.find_ancestor_op_in_block(op)
            if item is op or item is None:
                found |= self.ancestors[n] | 1 << n
            else:
                inner.setdefault(item, []).append(n)
        for item, inside in inner.items():
            structure = self.flow.structure(item)
            assert structure is not None
            parts = {
                b: self.at_end(own, b) if own else 0
                for b in structure.blocks
                for own in [[n for n in inside if encloses(b, self.found.nodes[n].op)]]
            }
            found |= self.behind(structure, parts)
        return found

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


def encloses(block: Block, op: Operation) -> bool:
    """Whether `op` lies in `block`, or in an operation in it."""
    return block.find_ancestor_op_in_block(op) is not None
