"""
Which tokens go through which structure: the plan, made before the IR changes.

An operation outside a structure (a branch, a loop) that waits for one inside needs a token among
the structure's results; one that waits for earlier iterations needs one among the iteration
arguments. Each such token is a *slot*. Operations for which the same others wait share a slot.

Between the blocks of a function a slot is a block argument, in the blocks from which one that uses
it can be reached. It is not needed where the token itself can be used: behind a block that runs
once and on every way.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from xdsl.ir import Block, Operation

from opar.analysis.block_graph import BlockGraph
from opar.analysis.block_order import BlockOrder
from opar.analysis.control_flow import ControlFlow, Shape, Structure
from opar.analysis.dataflow import Dependences
from opar.analysis.implied import encloses
from opar.analysis.order import Order


@dataclass
class Slot:
    """
    A token that stands for `nodes`. At the end of each block of the structure it is the join of
    those of `sources` and, where the block `carries` it, of what the slot held before. Of the
    blocks of a function only those that are `live` have it.
    """

    nodes: list[int]
    sources: dict[Block, list[int]]
    carries: dict[Block, bool]
    live: set[Block] = field(default_factory=set)


@dataclass
class Plan:
    """The slots of each structure, and the structures around each node, innermost first."""

    found: Dependences
    graph: BlockGraph | None = None
    """The blocks, if those of a function are rewritten."""
    home: dict[int, Block] = field(default_factory=dict)
    """The block of the function that a node lies in."""
    slots: dict[Operation, list[Slot]] = field(default_factory=dict)
    around: dict[int, list[Structure]] = field(default_factory=dict)

    def seen(self, node: int, op: Operation) -> int:
        """
        The node whose token stands for `node` where `op` is: of earlier executions of an operation
        that runs once, and on every way to `op`, that is the operation itself.
        """
        graph = self.graph
        if graph is None or self.found.nodes[node].loop is not graph.region.parent:
            return node
        number = self.found.number[self.found.nodes[node].op]
        home, here = self.home[number], graph.block_of(op)
        assert here is not None
        direct = not graph.repeats(home) and graph.strictly_dominates(home, here)
        return number if direct else node

    def slot_of(self, op: Operation, node: int) -> int:
        """The number of the slot of structure `op` that stands for `node`."""
        return next(i for i, s in enumerate(self.slots[op]) if node in s.nodes)


def plan(found: Dependences, order: Order, flow: ControlFlow) -> Plan:
    """The slots that the waits of `order` need."""
    facts = order.of_blocks
    result = Plan(found)
    if facts is not None:
        result.graph = facts.graph
        result.home = {n: block for block, own in facts.own.items() for n in own}
    structures: dict[Operation, Structure] = {}
    users: dict[Operation, dict[int, dict[tuple[Operation, bool], None]]] = {}
    for op, nodes in order.needed.items():
        for n in (result.seen(n, op) for n in nodes):
            node = found.nodes[n]
            base = n if node.loop is None else found.number[node.op]
            result.around.setdefault(base, list(flow.enclosing(node.op)))
            crossed = list(_crossed(result.around[base], found, n, op))
            if not order.has_token(n):  # the token of the `async.execute` itself is awaited
                places = [i for i, s in enumerate(crossed) if s.shape is Shape.EXECUTE]
                crossed = crossed[places[0] + 1 :] if places else crossed
            for structure in crossed:
                if structure.shape is Shape.EXECUTE and not order.has_token(n):
                    continue
                structures[structure.op] = structure
                wanted = users.setdefault(structure.op, {}).setdefault(base, {})
                wanted[op, node.loop is not None] = None
    for op, wanted in users.items():
        groups: dict[frozenset[tuple[Operation, bool]], list[int]] = {}
        for n in sorted(wanted):
            groups.setdefault(frozenset(wanted[n]), []).append(n)
        structure = structures[op]
        if facts is not None and structure.shape is Shape.BLOCKS:
            result.slots[op] = [
                _slot_of_blocks(nodes, {user for user, _ in wanted}, result, order, facts)
                for wanted, nodes in groups.items()
            ]
        else:
            result.slots[op] = [_slot(structure, nodes, found, order) for nodes in groups.values()]
    return result


def crosses(structure: Structure, found: Dependences, node: int, user: Operation) -> bool:
    """Whether a token goes from one block of a loop to the other within an iteration."""
    if structure.shape is not Shape.WHILE:
        return False
    first, second = structure.blocks
    return node in found.spans[first] and encloses(second, user)


def _crossed(
    around: list[Structure], found: Dependences, node: int, user: Operation
) -> Iterator[Structure]:
    """The structures that the token of a node has to leave, or go around in, to reach `user`."""
    loop = found.nodes[node].loop
    for structure in around:
        if structure.op.is_ancestor(user):
            if loop is not None or crosses(structure, found, node, user):
                yield structure
            if loop is None or structure.op is loop:
                return
        else:
            yield structure


def _slot(structure: Structure, nodes: list[int], found: Dependences, order: Order) -> Slot:
    earlier = found.earlier.get(structure.op, {})
    sources: dict[Block, list[int]] = {}
    carries: dict[Block, bool] = {}
    before: list[int] = []  # what the slot holds at the start of a block
    if structure.is_loop:
        before = [earlier[n] for n in nodes]
    for block in structure.blocks:
        own = [n for n in nodes if n in found.spans[block]]
        end = block.last_op
        sources[block] = order.implied.minimal(own, end) if end is not None else own
        implied = order.implied.at_end(sources[block], block)
        carries[block] = any(not implied >> n & 1 for n in before)
        if structure.is_loop:
            before = [*before, *own]
    return Slot(nodes, sources, carries)


def _slot_of_blocks(
    nodes: list[int], users: set[Operation], plan: Plan, order: Order, facts: BlockOrder
) -> Slot:
    graph = facts.graph
    slot = Slot(nodes, {}, {})
    for block in graph.blocks:
        end = block.last_op
        assert end is not None
        complete = facts.at_end[block]
        own = [n for n in nodes if plan.home[n] is block and not complete >> n & 1]
        slot.sources[block] = order.implied.minimal(own, end)
        complete |= order.implied.at_end(slot.sources[block], block)
        before = [facts.earlier[n] for n in nodes if not complete >> facts.earlier[n] & 1]
        slot.sources[block] += [n for n in before if plan.seen(n, end) != n]
        slot.carries[block] = any(plan.seen(n, end) == n for n in before)
    work = [block for user in users if (block := graph.block_of(user)) is not None]
    while work:
        block = work.pop()
        if block not in slot.live:
            slot.live.add(block)
            work += [before for before in graph.predecessors[block] if slot.carries[before]]
    return slot
