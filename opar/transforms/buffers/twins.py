"""Twins on the GPU of memrefs that views, selects, structures and jumps make from others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects import arith
from xdsl.ir import Block, Operation, Region, SSAValue

from opar.analysis.aliasing import Root, is_view, view_source
from opar.analysis.block_graph import BlockGraph, jumps
from opar.dialects import affine, gpu, memref, scf
from opar.transforms.buffers.wanted import STRUCTURES, Wanted
from opar.transforms.extend import extended, with_arguments


@dataclass
class Twins:
    """
    Rewrites a function: what is wanted gets a twin, which launches take instead. `of` has the twins
    of the memory itself to begin with.
    """

    wanted: Wanted
    of: dict[SSAValue, SSAValue]
    freed: set[Root] = field(default_factory=set)

    def rewrite(self) -> None:
        """Make the twins, and let launches and deallocations see them."""
        self._region(self.wanted.function.body, [])

    def twin(self, value: SSAValue) -> SSAValue:
        """What is on the GPU for `value`: the memory itself where that is the GPU's."""
        return self.of.get(value, value)

    def _region(self, region: Region, results: Sequence[int]) -> None:
        """Rewrite the blocks of a region whose ends yield twins of `results` behind the rest."""
        blocks = list(region.blocks)
        targets: dict[Block, list[int]] = {}
        for block in blocks[1:]:
            targets[block] = [i for i, a in enumerate(block.args) if a in self.wanted.carried]
            for i in targets[block]:
                self._argument(block, i)
        reachable = BlockGraph(region).blocks if len(blocks) > 1 else blocks
        for block in (*reachable, *(b for b in blocks if b not in reachable)):
            self._block(block)
        for block in blocks:
            end = block.last_op
            if end is None:
                continue
            if end.successors:
                more = [[self.twin(v[i]) for i in targets.get(to, ())] for to, v in jumps(block)]
                if any(more):
                    block.insert_op_before(with_arguments(end, more), end)
                    block.erase_op(end)
            elif results:
                end.operands = [*end.operands, *(self.twin(end.operands[i]) for i in results)]

    def _argument(self, block: Block, index: int) -> None:
        """Give an argument of a block a twin behind the others."""
        argument = block.args[index]
        self.of[argument] = block.insert_arg(argument.type, len(block.args))
        _name(self.of[argument], argument)

    def _block(self, block: Block) -> None:
        for op in list(block.ops):
            if isinstance(op, gpu.LaunchFuncOp):
                for i, value in enumerate(op.operands):
                    if value in self.of and value in op.kernel_operands:
                        op.operands[i] = self.of[value]
            elif isinstance(op, memref.DeallocOp):
                self._deallocate(op)
            elif is_view(op) or isinstance(op, arith.SelectOp):
                if op.results[0] in self.wanted.carried:
                    self._repeat(op)
            elif isinstance(op, STRUCTURES):
                self._structure(op)
            else:
                for region in op.regions:
                    self._region(region, [])

    def _repeat(self, op: Operation) -> None:
        """The same view or choice of twins, behind `op`."""
        sources = op.operands[:1] if is_view(op) else op.operands[1:]
        new = op.clone({source: self.twin(source) for source in sources})
        new.location = op.location
        block = op.parent
        assert block is not None
        block.insert_op_after(new, op)
        self.of[op.results[0]] = new.results[0]
        _name(new.results[0], op.results[0])

    def _deallocate(self, op: memref.DeallocOp) -> None:
        twin = self.of.get(op.memref)
        base = view_source(op.memref)
        if twin is None and base in self.of:
            twin = self.of[base]
        if twin is not None:
            self.freed |= self.wanted.aliases.roots(op.memref)
            free = gpu.DeallocOp(view_source(twin))
            free.location = op.location
            block = op.parent
            assert block is not None
            block.insert_op_before(free, op)

    def _structure(self, op: Operation) -> None:
        carried = self.wanted.carried
        results = [i for i, result in enumerate(op.results) if result in carried]
        initial: list[SSAValue] = []
        yielded = [results] * len(op.regions)
        entry: list[list[int]] = [[]] * len(op.regions)
        match op:
            case scf.ForOp() | affine.ForOp():
                arguments = op.body.block.args
                results = [
                    i
                    for i, result in enumerate(op.results)
                    if result in carried or arguments[i + 1] in carried
                ]
                first = len(op.operands) - len(op.results)
                initial = [self.twin(op.operands[first + i]) for i in results]
                entry, yielded = [[i + 1 for i in results]], [results]
            case scf.WhileOp():
                before, after = op.before_region.block.args, op.after_region.block.args
                begins = [i for i, argument in enumerate(before) if argument in carried]
                results = [
                    i
                    for i, result in enumerate(op.results)
                    if result in carried or after[i] in carried
                ]
                initial = [self.twin(op.arguments[i]) for i in begins]
                entry, yielded = [begins, results], [[i + 1 for i in results], begins]
            case _:
                pass
        for region, indices in zip(op.regions, entry, strict=True):
            for i in indices:
                self._argument(region.blocks[0], i)
        if results or initial:
            op = extended(op, initial, [op.results[i].type for i in results])
            twins = op.results[len(op.results) - len(results) :]
            for i, twin in zip(results, twins, strict=True):
                self.of[op.results[i]] = twin
                _name(twin, op.results[i])
        for region, indices in zip(op.regions, yielded, strict=True):
            self._region(region, indices)


def _name(twin: SSAValue, value: SSAValue) -> None:
    twin.name_hint = f"{value.name_hint}_gpu" if value.name_hint else None
