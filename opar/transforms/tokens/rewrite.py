"""Writes the tokens and waits that a plan asks for into a block and the structures in it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import IsTerminator

from opar.analysis.calls import call_tokens
from opar.analysis.control_flow import ControlFlow, Shape, Structure
from opar.analysis.dataflow import Dependences
from opar.analysis.order import Order
from opar.dialects import affine, async_, gpu, scf
from opar.errors import at
from opar.transforms.extend import else_block, extended
from opar.transforms.tokens.slots import Plan, Slot, crosses

REMARKS = logging.getLogger("opar.remarks")
"""Where the pass says, at level INFO, which hazard made each edge."""


@dataclass
class TokenRewriter:
    """Rewrites one block after `order`; tokens of nodes and slots are kept as they are made."""

    found: Dependences
    order: Order
    plan: Plan
    flow: ControlFlow
    is_asynchronous: Callable[[Operation], bool]
    single_use: bool = False
    tokens: dict[int, SSAValue] = field(default_factory=dict)
    results: dict[tuple[Operation, int], SSAValue] = field(default_factory=dict)
    """The value of each slot behind its structure."""
    arguments: dict[tuple[Block, int], SSAValue] = field(default_factory=dict)
    """The value of each slot at the start of each block of its loop or function."""
    executes: dict[Operation, SSAValue] = field(default_factory=dict)
    """The token of each `async.execute` that was rewritten."""
    awaited: dict[SSAValue, list[Operation]] = field(default_factory=dict)
    used: set[SSAValue] = field(default_factory=set)
    """Tokens that an operation other than `gpu.wait` has taken (`single_use`)."""

    def rewrite(self, block: Block) -> None:
        """Add tokens and waits to the operations of `block`."""
        for op in list(block.ops):
            structure = self.flow.structure(op)
            if structure is not None:
                self._structure(structure)
                continue
            needed = self.order.needed.get(op, [])
            number = self.found.number.get(op)
            if isinstance(op, gpu.WaitOp):
                if op.async_token is not None and number is not None:
                    self.tokens[number] = op.async_token
            elif isinstance(op, gpu.AsyncOp) and self.is_asynchronous(op) and number is not None:
                self._make_asynchronous(number, op, needed)
            else:
                if needed:
                    self._host_wait(op, needed)
                tokens = call_tokens(op)
                if tokens and number in self.plan.around and op.next_op is not None:
                    several = len(tokens) > 1
                    self.tokens[number] = self._join(tokens, op.next_op) if several else tokens[0]

    # Operations

    def _make_asynchronous(self, number: int, op: gpu.AsyncOp, needed: Sequence[int]) -> None:
        given = list(op.async_dependencies)
        self._remark(op, needed)
        dependencies = list(dict.fromkeys([*given, *self._values(needed, op)]))
        if self.single_use:
            dependencies = [self._one_token(dependencies, op)]
        self.tokens[number] = op.make_asynchronous(dependencies)

    def _host_wait(self, op: Operation, needed: Sequence[int]) -> None:
        self._remark(op, needed)
        tokens = self._values(needed, op)
        if self.single_use and len(tokens) > 1:
            tokens = [self._join(tokens, op)]
        if tokens:
            _insert_wait(tokens, op, is_async=False)

    def _remark(self, op: Operation, needed: Sequence[int]) -> None:
        """Say for each edge why it is there."""
        if not REMARKS.isEnabledFor(logging.INFO):
            return
        for n in needed:
            hazards = self.found.conflicts.get(op, {}).get(n, ())
            reasons = dict.fromkeys(str(h) for h in hazards)
            why = "; ".join(reasons) or "it is still running at the end"
            earlier = at(self.found.nodes[n].op, "").rstrip(": ")
            if self.found.nodes[n].loop is not None:
                earlier += " of an earlier iteration"
            REMARKS.info(at(op, f"waits for {earlier}: {why}"))

    # Tokens

    def _values(self, nodes: Sequence[int], op: Operation) -> list[SSAValue]:
        """The tokens that stand for `nodes` where `op` is, each once."""
        values = [self._value(n, op) for n in nodes]
        return list(dict.fromkeys(v for v in values if v is not None))

    def _value(self, number: int, op: Operation) -> SSAValue | None:
        """The token of a node where `op` is; None for what is awaited before `op` instead."""
        number = self.plan.seen(number, op)
        node = self.found.nodes[number]
        if node.loop is not None:
            base = self.found.number[node.op]
            block = self._block_around(node.loop, op)
            return self.arguments[block, self.plan.slot_of(node.loop, base)]
        left: Structure | None = None
        for structure in self.plan.around[number]:
            if structure.op.is_ancestor(op):
                if crosses(structure, self.found, number, op):
                    block = self._block_around(structure.op, op)
                    return self.arguments[block, self.plan.slot_of(structure.op, number)]
                break
            left = structure
        if left is None:
            return self.tokens[number]
        if left.shape is not Shape.EXECUTE:
            return self.results[left.op, self.plan.slot_of(left.op, number)]
        if not self.order.has_token(number):
            self._await(self.executes[left.op], op)
            return None
        return self._await(self.results[left.op, self.plan.slot_of(left.op, number)], op)

    def _block_around(self, loop: Operation, op: Operation) -> Block:
        structure = self.flow.structure(loop)
        assert structure is not None
        return next(b for b in structure.blocks if b.find_ancestor_op_in_block(op) is not None)

    def _await(self, value: SSAValue, op: Operation) -> SSAValue | None:
        """Await `value` before `op`, once; what it holds."""
        for earlier in self.awaited.get(value, ()):
            block = earlier.parent
            if block is not None and block.find_ancestor_op_in_block(op) is not None:
                return earlier.results[0] if earlier.results else None
        wait = async_.AwaitOp(value)
        wait.location = op.location
        block = op.parent
        assert block is not None
        block.insert_op_before(wait, op)
        self.awaited.setdefault(value, []).append(wait)
        return wait.result

    def _one_token(self, tokens: list[SSAValue], op: Operation) -> SSAValue:
        """A token that stands for all of `tokens` and that no other operation takes."""
        if len(tokens) == 1 and tokens[0] not in self.used:
            self.used.add(tokens[0])
            return tokens[0]
        joined = self._join(tokens, op)
        self.used.add(joined)
        return joined

    def _join(self, tokens: Sequence[SSAValue], op: Operation) -> SSAValue:
        token = _insert_wait(tokens, op, is_async=True).async_token
        assert token is not None
        return token

    # Structures

    def _structure(self, structure: Structure) -> None:
        op = structure.op
        slots = self.plan.slots.get(op, [])
        initial: list[SSAValue] = []
        if slots and structure.is_loop:
            initial = [self._join([], op)] * len(slots)
            for block in structure.blocks:
                for i in range(len(slots)):
                    argument = block.insert_arg(gpu.AsyncTokenType(), len(block.args))
                    self.arguments[block, i] = argument
        blocks = structure.blocks
        if slots and isinstance(op, scf.IfOp | affine.IfOp):
            blocks = (blocks[0], else_block(op))
        for block in blocks:
            self.rewrite(block)
            self._leave(structure, block)
        if not slots:
            if structure.shape is Shape.EXECUTE:
                self.executes[op] = op.results[0]
            return
        type = gpu.AsyncTokenType()
        is_execute = structure.shape is Shape.EXECUTE
        new = extended(op, initial, [async_.ValueType(type) if is_execute else type] * len(slots))
        for i, value in enumerate(new.results[len(new.results) - len(slots) :]):
            self.results[op, i] = value
        if is_execute:
            self.executes[op] = new.results[0]

    def _leave(self, structure: Structure, block: Block) -> None:
        """Yield the slots at the end of a block."""
        end = block.last_op
        assert end is not None and end.has_trait(IsTerminator)
        yielded = [
            self.leaving(block, i, slot, end)
            for i, slot in enumerate(self.plan.slots.get(structure.op, ()))
        ]
        if yielded:
            end.operands = [*end.operands, *yielded]

    def leaving(self, block: Block, number: int, slot: Slot, end: Operation) -> SSAValue:
        """What slot `number` holds at the end of `block`."""
        tokens = self._values(slot.sources.get(block, []), end)
        if slot.carries.get(block, False):
            tokens = list(dict.fromkeys([self.arguments[block, number], *tokens]))
        return tokens[0] if len(tokens) == 1 else self._join(tokens, end)


def _insert_wait(tokens: Sequence[SSAValue], op: Operation, is_async: bool) -> gpu.WaitOp:
    wait = gpu.WaitOp(tokens, is_async=is_async)
    wait.location = op.location
    block = op.parent
    assert block is not None
    block.insert_op_before(wait, op)
    return wait
