"""
Which operations each operation has to wait for, beyond what is complete or implied anyway.

Sets of nodes (`opar.analysis.dataflow`) are bit masks. Two things are known at each place:

- `ancestors[n]`: what is complete once node n is;
- `complete`: what is complete when the host gets there, because it waited.

"Complete" means that no execution so far still runs, so a node that has not run is complete too. A
branch or loop that may not run tells nothing about what came before it; two branches together tell
what both do. A loop is gone through twice: its first iteration knows nothing of earlier ones, what
it finds then holds for each earlier iteration.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field

from xdsl.dialects import func
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.traits import IsTerminator

from opar.analysis.block_order import BlockOrder
from opar.analysis.calls import call_tokens
from opar.analysis.control_flow import ControlFlow, Shape, Structure
from opar.analysis.dataflow import Dependences
from opar.analysis.dependence import HazardKind
from opar.analysis.implied import Implied, encloses
from opar.analysis.values import is_token
from opar.dialects import async_, gpu


@dataclass
class Order:
    """
    Walks a block; afterwards `needed[op]` are the nodes that `op` waits for, in order, none of them
    implied by the others. For the operations `ends`, behind which nothing may run any more, it is
    what runs then. `is_asynchronous` tells which operations the host need not wait for.
    """

    ends: Collection[Operation]
    found: Dependences
    flow: ControlFlow
    is_asynchronous: Callable[[Operation], bool]
    needed: dict[Operation, list[int]] = field(default_factory=dict)
    complete: int = 0

    def __post_init__(self) -> None:
        self.implied = Implied(self.found, self.flow)
        self.tokens: dict[SSAValue, int] = {}
        """For tokens that results or arguments of structures are: what they imply."""
        self.groups: dict[SSAValue, list[SSAValue]] = {}
        self.of_blocks: BlockOrder | None = None
        """What holds between the blocks of the function that is walked."""

    def scope(self, scope: Block | Structure) -> None:
        """Find the waits in a block or in BLOCKS, and in the structures in them."""
        if isinstance(scope, Block):
            self.block(scope)
            self._await_inner()
            return
        facts = self.of_blocks = BlockOrder(scope, self.found, self.flow)
        changed = True
        while changed:
            changed = [self._block_again(block, facts) for block in scope.blocks]
            changed = any(changed) and any(map(facts.graph.repeats, scope.blocks))
        self._await_inner()

    def _block_again(self, block: Block, facts: BlockOrder) -> bool:
        """Go through one block of several; whether that told anything new."""
        start = facts.enter(block)
        self.complete = start.complete
        for n, mask in start.nodes.items():
            self.implied.ancestors[n] = mask
        for token in facts.computed_in(block):
            self.tokens.pop(token, None)
        self.tokens |= start.tokens
        self.block(block)
        end = block.last_op
        assert end is not None
        tokens = {token: self._token(token, end) for token in facts.far_tokens(block)}
        return facts.leave(block, self.complete, self.implied, tokens)

    def block(self, block: Block) -> None:
        """Find the waits in `block` and in the structures in it."""
        for op in block.ops:
            inner = self.flow.structure(op)
            if inner is not None:
                self._structure(inner)
            elif op in self.ends:
                self._end(op)
            else:
                self._step(op)

    # Operations

    def _step(self, op: Operation) -> None:
        number = self.found.number[op]
        bit = 1 << number
        conflicts = self.found.conflicts[op]
        self._await(op)
        given = self._given(op)
        if isinstance(op, gpu.WaitOp):
            if op.async_token is None:
                self.complete |= given | bit
                return
            needed: list[int] = []
        else:
            conflicting = [
                n
                for n, hazards in conflicts.items()
                if not given >> n & 1 and any(h.kind is not HazardKind.TOKEN for h in hazards)
            ]
            needed = self.implied.minimal(self._running(conflicting, op), op)
        self.needed[op] = needed
        below = self.implied.closure(needed, op)
        if isinstance(op, gpu.WaitOp) or self.is_asynchronous(op):
            self.implied.ancestors[number] = given | below | self.complete
            self.complete &= ~bit
            if isinstance(op, gpu.WaitOp) and not op.async_dependencies:
                self.complete |= bit
            tokens = call_tokens(op)
            if tokens:  # the host waits before it calls; of several tokens, none stands for all
                self.complete |= below
                self.tokens |= dict.fromkeys(tokens if len(tokens) > 1 else (), 0)
        else:
            self.complete |= below | bit
        for node in needed:
            self.complete |= self._awaited(node, op)

    def _given(self, op: Operation) -> int:
        """What is complete because of the tokens that `op` takes."""
        if isinstance(op, func.CallOp):  # who knows what it does with a token
            return 0
        given = 0
        for value in op.operands:
            if is_token(value):
                given |= self._token(value, op)
                tokens = call_tokens(value.owner) if isinstance(value, OpResult) else []
                if tokens and all(t in op.operands for t in tokens):
                    given |= self.implied.closure([self.found.number[tokens[0].op]], op)
        return given

    def _end(self, op: Operation) -> None:
        """Everything is waited for but the tokens that a function hands to its caller."""
        handed = 0
        if isinstance(op, func.ReturnOp):
            for value in op.operands:
                if is_token(value):
                    handed |= self._token(value, op)
        running = self._running(self._before_end(op), op)
        running = [n for n in running if not handed >> n & 1 and not self._waits_itself(n)]
        self.needed[op] = self.implied.minimal(running, op)
        self.complete |= self.implied.closure(self.needed[op], op)

    def _before_end(self, op: Operation) -> Iterable[int]:
        """All nodes that can run before `op`, one of the ends."""
        span = range(len(self.found.nodes))
        earlier: Iterable[int] = ()
        if self.of_blocks is not None:
            block = op.parent
            assert block is not None
            span = self.found.spans[block]
            earlier = self.of_blocks.earlier.values()
        return [*earlier, *(n for n in span if self.found.nodes[n].loop is None)]

    def _running(self, candidates: Iterable[int], op: Operation) -> list[int]:
        """Those of `candidates` that may still run when the host gets to `op`."""
        at_end = op in self.ends
        return [
            n
            for n in candidates
            if not self.complete >> n & 1
            and (self.has_token(n) or (not at_end and self._apart(n, op) is not None))
        ]

    def has_token(self, node: int) -> bool:
        """Whether the host need not wait for an execution of a node's operation."""
        op = self.found.nodes[node].op
        if isinstance(op, gpu.WaitOp):
            return op.async_token is not None
        return self.is_asynchronous(op)

    # Tokens

    def _token(self, value: SSAValue, op: Operation) -> int:
        """What the completion of a token implies."""
        if value not in self.tokens and isinstance(value, OpResult):
            number = self.found.number.get(value.op)
            return self.implied.closure([number], op) if number is not None else 0
        return self.tokens.get(value, 0)

    # Structures

    def _structure(self, inner: Structure) -> None:
        before = self.complete
        if inner.is_loop:
            self._loop(inner)
        elif inner.shape is Shape.EXECUTE:
            self._execute(inner)
        else:
            after: dict[Block, int] = {}
            tokens: dict[Block, list[int]] = {}
            for block in inner.blocks:
                self.complete = before
                self.block(block)
                after[block] = self.complete
                tokens[block] = self._yielded(block)
            self.complete = self.implied.behind(inner, after)
            self.complete |= before if not inner.runs else 0
            for i, result in enumerate(inner.op.results):
                if is_token(result):
                    masks = {b: found[i] for b, found in tokens.items()}
                    self.tokens[result] = self.implied.behind(inner, masks)

    def _yielded(self, block: Block) -> list[int]:
        """What each value that a block yields implies."""
        end = block.last_op
        if end is None or not end.has_trait(IsTerminator):
            return []
        return [self._token(v, end) if is_token(v) else 0 for v in end.operands]

    def _loop(self, inner: Structure) -> None:
        earlier = self.found.earlier[inner.op]
        whole = self.implied.span(*inner.blocks) | self.implied.span(inner.op)
        before = self.complete & ~whole
        for n in earlier.values():
            self.implied.ancestors[n] = 0
        _, after = self._iteration(inner, before)
        for n, of_earlier in earlier.items():
            block = self._block_of(inner, n)
            implied = self.implied.at_end([n], block) & self.implied.span(*inner.blocks)
            self.implied.ancestors[of_earlier] = _moved(implied & ~(1 << n), earlier)
        first_end, end = self._again(inner, before | _moved(after, earlier))
        if inner.shape is Shape.WHILE:  # the second block ran before the first did, or never
            second = self.implied.span(inner.blocks[1])
            found = first_end & self.implied.span(inner.blocks[0])
            found |= sum(1 << n for n, e in earlier.items() if second >> n & first_end >> e & 1)
            self.complete = before | first_end & ~whole | found
        else:
            found = end & self.implied.span(*inner.blocks)
            self.complete = before | found | (end & ~whole if inner.runs else 0)

    def _again(self, inner: Structure, complete: int) -> tuple[int, int]:
        """
        Go through the body as an iteration that others came before. A token among the iteration
        arguments implies of earlier iterations what it implies at the end of this one.
        """
        earlier = self.found.earlier[inner.op]
        carried: dict[SSAValue, int] = {}
        if inner.shape is Shape.LOOP:
            yielded = self._yielded(inner.blocks[0])
            carried = dict(zip(inner.blocks[0].args[1:], yielded, strict=False))
        while True:
            for argument, mask in carried.items():
                self.tokens[argument] = _moved(mask, earlier)
            ends = self._iteration(inner, complete)
            now = self._yielded(inner.blocks[0])
            held = {
                argument: sum(
                    1 << n for n, e in earlier.items() if mask >> n & new >> n & new >> e & 1
                )
                for (argument, mask), new in zip(carried.items(), now, strict=False)
            }
            span = self.implied.span(*inner.blocks)
            if all(held[a] == mask & span for a, mask in carried.items()):
                break
            carried = held
        for result, mask in zip(inner.op.results, carried.values(), strict=False):
            self.tokens[result] = mask & span
        return ends

    def _iteration(self, inner: Structure, complete: int) -> tuple[int, int]:
        """Go through the body once; what is complete at the end of its first and last block."""
        self.complete = complete
        ends: list[int] = []
        for block in inner.blocks:
            self.block(block)
            ends.append(self.complete)
        return ends[0], ends[-1]

    def _block_of(self, inner: Structure, node: int) -> Block:
        return next(b for b in inner.blocks if node in self.found.spans[b])

    # async.execute

    def _execute(self, inner: Structure) -> None:
        before = self.complete
        self._await(inner.op)
        (block,) = inner.blocks
        self.block(block)
        end = block.last_op
        if end is not None and self._is_unused(inner.op):
            span = self.found.spans[block]
            running = [n for n in span if self.has_token(n) and not self.complete >> n & 1]
            running = [n for n in running if self.found.nodes[n].loop is None]
            self.needed[end] = self.implied.minimal(running, end)
            self.complete |= self.implied.closure(self.needed[end], end)
        self.implied.done_by[inner.op] = self.complete
        for result, mask in zip(inner.op.results[1:], self._yielded(block), strict=False):
            self.tokens[result] = mask
        self.complete = before

    def _is_unused(self, op: Operation) -> bool:
        """Whether nobody awaits an `async.execute`: it waits for its own work."""
        return not any(result.uses for result in op.results)

    def _waits_itself(self, node: int) -> bool:
        structures = self.flow.enclosing(self.found.nodes[node].op)
        return any(s.shape is Shape.EXECUTE and self._is_unused(s.op) for s in structures)

    def _apart(self, node: int, op: Operation) -> Operation | None:
        """The outermost `async.execute` around a node that is not around `op`."""
        found = None
        for structure in self.flow.enclosing(self.found.nodes[node].op):
            if structure.shape is Shape.EXECUTE and not structure.op.is_ancestor(op):
                found = structure.op
        return found

    def _awaited(self, node: int, op: Operation) -> int:
        """What is complete because `op`, which waits for `node`, awaits what it lies in."""
        apart = self._apart(node, op) if self.found.nodes[node].loop is None else None
        if apart is None:
            return 0
        found = self.implied.done_by.get(apart, 0)
        for around in self.flow.enclosing(apart):  # which need not have run
            if around.op.is_ancestor(op):
                break
            parts = {b: found if encloses(b, apart) else 0 for b in around.blocks}
            found = self.implied.behind(around, parts)
        return found

    def _await_inner(self) -> None:
        """
        Where the host awaits an `async.execute` for a step of the host that lies in another one in
        it, the outer one awaits the inner one.
        """
        for op, nodes in list(self.needed.items()):
            for node in (self.found.nodes[n] for n in nodes if not self.has_token(n)):
                inner: Operation | None = None
                for structure in self.flow.enclosing(node.op):
                    if structure.op.is_ancestor(op):
                        break
                    if structure.shape is not Shape.EXECUTE:
                        continue
                    end = structure.blocks[0].last_op
                    if inner is not None and end is not None:
                        found = self.needed.get(end, [])
                        self.needed[end] = list(dict.fromkeys([*found, self.found.number[node.op]]))
                    inner = structure.op

    def _await(self, op: Operation) -> None:
        """Note what `op` awaits, or starts after."""
        match op:
            case async_.AddToGroupOp():
                self.groups.setdefault(op.group, []).append(op.operand)
                return
            case async_.AwaitAllOp():
                awaited = self.groups.get(op.group, [])
            case async_.AwaitOp():
                awaited = [op.operand]
                if op.result is not None:
                    self.tokens[op.result] = self.tokens.get(op.operand, 0)
            case async_.ExecuteOp():
                awaited = list(op.operands)
            case _:
                return
        for value in awaited:
            if isinstance(value, OpResult) and self._in_one_block(value.op, op):
                self.complete |= self.implied.done_by.get(value.op, 0)

    def _in_one_block(self, before: Operation, op: Operation) -> bool:
        """Whether two operations lie in one block of the function, if that has several."""
        if self.of_blocks is None:
            return True
        graph = self.of_blocks.graph
        return graph.block_of(before) is graph.block_of(op)


def _moved(mask: int, earlier: dict[int, int]) -> int:
    """`mask` of an iteration, as the next one sees it."""
    found = 0
    for n, of_earlier in earlier.items():
        if mask >> n & 1:
            found |= 1 << of_earlier
    return found
