"""Steps and jumps of a schedule for regions of several blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects import cf
from xdsl.ir import Block, Operation, Region, SSAValue

from opar.analysis.block_graph import reachable_blocks
from opar.backend.build_scalars import width_of
from opar.backend.build_state import Builder, Held, Label
from opar.errors import UnsupportedError, at


def give_all(builder: Builder, values: Sequence[SSAValue], held: Sequence[Held]) -> None:
    """Let each of `values` be what `held` says."""
    for value, one in zip(values, held, strict=True):
        builder.give(value, one)


def registers_for(builder: Builder, values: Sequence[SSAValue], op: Operation) -> list[Held]:
    """A new register for each of `values`, which is what they are from now on."""
    held = [builder.register(value, op) for value in values]
    give_all(builder, values, held)
    return held


def assign(
    builder: Builder, op: Operation, targets: Sequence[Held], sources: Sequence[SSAValue]
) -> None:
    """Move values to registers, all at the same time."""
    builder.assign(op, zip(targets, [builder.get(v) for v in sources], strict=True))


def run_region(builder: Builder, op: Operation, region: Region) -> list[Held]:
    """
    Add the blocks of a region, dominators first, and return what its ends yield. The arguments of
    its first block are known already. Raises `UnsupportedError` where no end can be reached.
    """
    blocks = reachable_blocks(region.blocks[0])
    ends = [b.last_op for b in blocks if b.last_op is not None and not b.last_op.successors]
    if not ends:
        raise UnsupportedError(at(op, "no way leads to its end"))
    run = _Region(builder, op, blocks, builder.label(), several_ends=len(ends) > 1)
    if run.several_ends:
        run.results = [builder.register(value, op) for value in ends[0].operands]
    for block in blocks[1:]:
        run.arguments[block] = registers_for(builder, block.args, op)
    for block in blocks:
        run.labels[block] = builder.label()
    run.add_block(blocks[0])
    with builder.conditional():
        for block in blocks[1:]:
            run.add_block(block)
    builder.bind(run.end, op)
    return run.results


@dataclass
class _Region:
    """A region on its way into the schedule; `blocks` are those that can be reached, in order."""

    builder: Builder
    op: Operation
    blocks: Sequence[Block]
    end: Label
    several_ends: bool
    results: list[Held] = field(default_factory=list)
    labels: dict[Block, Label] = field(default_factory=dict)
    arguments: dict[Block, list[Held]] = field(default_factory=dict)

    def add_block(self, block: Block) -> None:
        """Add the steps of a block and the jumps at its end."""
        builder = self.builder
        builder.bind(self.labels[block], self.op)
        last = block.last_op
        assert last is not None
        for op in block.ops:
            if op is not last:
                builder.add(op)
        match last:
            case cf.BranchOp():
                self._go(last, last.successor, last.arguments, block)
            case cf.ConditionalBranchOp():
                otherwise = builder.label()
                builder.branch(builder.place(last.cond), otherwise, last)
                with builder.conditional():
                    self._go(last, last.then_block, last.then_arguments, None)
                    builder.bind(otherwise, last)
                    self._go(last, last.else_block, last.else_arguments, block)
            case cf.SwitchOp():
                self._switch(last, block)
            case _ if last.successors:
                raise UnsupportedError(at(last, "this jump is not supported on the host"))
            case _:
                self._leave(last, block)

    def _go(
        self, op: Operation, target: Block, values: Sequence[SSAValue], block: Block | None
    ) -> None:
        """Go on at `target`; behind the last step of `block` it may just follow."""
        assign(self.builder, op, self.arguments.get(target, []), values)
        if block is None or not self._follows(block, target):
            self.builder.jump(self.labels[target], op)

    def _follows(self, block: Block, target: Block) -> bool:
        number = self.blocks.index(block)
        return number + 1 < len(self.blocks) and self.blocks[number + 1] is target

    def _switch(self, op: cf.SwitchOp, block: Block) -> None:
        numbers = self.builder.numbers
        flag, width = self.builder.place(op.flag), width_of(op.flag.type)
        values = op.case_values.get_values() if op.case_values is not None else ()
        for value, target, operands in zip(values, op.case_blocks, op.case_operand, strict=True):
            case = numbers.constant(int(value), width)
            following = self.builder.label()
            holds = numbers.scalar("cmpi.0", (flag, case), width=1)
            self.builder.branch(holds, following, op)
            self._go(op, target, operands, None)
            self.builder.bind(following, op)
        self._go(op, op.default_block, op.default_operands, block)

    def _leave(self, op: Operation, block: Block) -> None:
        if self.several_ends:
            assign(self.builder, op, self.results, op.operands)
        else:
            self.results = [self.builder.get(v) for v in op.operands]
        if block is not self.blocks[-1]:
            self.builder.jump(self.end, op)
