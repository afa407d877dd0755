"""
Where the values of memrefs come from: through views, `arith.select`, regions, blocks and `async`.

Only what is listed here carries a memref to another value of its function; memory that reaches
anything else has *escaped* (`opar.analysis.escape`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects import arith, cf, func
from xdsl.dialects.builtin import MemRefType, UnrankedMemRefType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.traits import IsTerminator

from opar.dialects import affine, async_, gpu, memref, scf

VIEWS = frozenset(
    (
        "memref.assume_alignment",
        "memref.cast",
        "memref.collapse_shape",
        "memref.expand_shape",
        "memref.memory_space_cast",
        "memref.reinterpret_cast",
        "memref.subview",
        "memref.transpose",
        "memref.view",
    )
)
"""Operations whose result is another shape of the memory of their first operand."""

STRUCTURES = (
    affine.ForOp,
    affine.IfOp,
    async_.ExecuteOp,
    func.FuncOp,
    gpu.FuncOp,
    scf.ExecuteRegionOp,
    scf.ForOp,
    scf.IfOp,
    scf.IndexSwitchOp,
    scf.WhileOp,
)
"""Operations whose terminators carry memrefs to their results or arguments, or to nobody."""

CARRIERS = (
    arith.SelectOp,
    async_.AwaitOp,
    cf.BranchOp,
    cf.ConditionalBranchOp,
    cf.SwitchOp,
    memref.DistinctObjectsOp,
    memref.ExtractStridedMetaDataOp,
    memref.ReallocOp,
    memref.ReshapeOp,
    *STRUCTURES,
)
"""Operations, beside views, that carry memrefs to their results, regions or successors."""


def holds_memref(type: Attribute) -> bool:
    """Whether values of a type are memrefs, or promise one."""
    if isinstance(type, async_.ValueType):
        return holds_memref(type.value_type)
    return isinstance(type, MemRefType | UnrankedMemRefType)


def argument_sources(value: BlockArgument) -> Sequence[SSAValue] | None:
    """
    The values that an argument of a block can be; None where it names memory itself (of a function)
    or nothing is known.
    """
    block, index = value.block, value.index
    parent = block.parent_op()
    region = block.parent
    if region is not None and region.blocks.first is not block:
        return list(_from_predecessors(block, index))
    match parent:
        case scf.ForOp() | affine.ForOp() if index > 0:
            return [_init(parent, index - 1), *yielded(parent, index - 1)]
        case scf.WhileOp():
            if region is parent.before_region:
                end = parent.after_region.block.last_op
                carried = [end.operands[index]] if end is not None else []
                return [parent.arguments[index], *carried]
            return _condition(parent, index)
        case async_.ExecuteOp():
            return [parent.body_operands[index]]
        case _:
            return None


def result_sources(value: OpResult) -> Sequence[SSAValue] | None:
    """The values that a result can be; None where the operation makes it."""
    op, index = value.op, value.index
    match op:
        case _ if op.name in VIEWS:
            return [op.operands[0]]
        case arith.SelectOp():
            return [op.lhs, op.rhs]
        case memref.ReshapeOp() | async_.AwaitOp():
            return [op.operands[0]]
        case memref.ExtractStridedMetaDataOp() if index == 0:
            return [op.source]
        case memref.DistinctObjectsOp():
            return [op.operands[index]]
        case scf.ForOp() | affine.ForOp():
            return [_init(op, index), *yielded(op, index)]
        case scf.WhileOp():
            return _condition(op, index)
        case async_.ExecuteOp() if index > 0:
            return yielded(op, index - 1)
        case scf.IfOp() | affine.IfOp() | scf.IndexSwitchOp() | scf.ExecuteRegionOp():
            return yielded(op, index) or None
        case _:
            return None


def _init(loop: Operation, index: int) -> SSAValue:
    """The initial value of iteration argument `index` of a loop: inits are the last operands."""
    return loop.operands[len(loop.operands) - len(loop.results) + index]


def yielded(op: Operation, index: int) -> list[SSAValue]:
    """What the terminators that leave the regions of `op` yield for its result `index`."""
    return [
        last.operands[index]
        for region in op.regions
        for block in region.blocks
        if (last := block.last_op) is not None
        and last.has_trait(IsTerminator)
        and not last.successors
        and index < len(last.operands)
    ]


def _condition(loop: scf.WhileOp, index: int) -> list[SSAValue]:
    end = loop.before_region.block.last_op
    return [end.operands[index + 1]] if end is not None else []


def _from_predecessors(block: Block, index: int) -> Iterator[SSAValue]:
    region = block.parent
    assert region is not None
    for other in region.blocks:
        match other.last_op:
            case cf.BranchOp(successor=target, arguments=values) if target is block:
                yield values[index]
            case cf.ConditionalBranchOp() as branch:
                if branch.then_block is block:
                    yield branch.then_arguments[index]
                if branch.else_block is block:
                    yield branch.else_arguments[index]
            case cf.SwitchOp() as switch:
                if switch.default_block is block:
                    yield switch.default_operands[index]
                first = 0
                counts = switch.case_operand_segments.get_values()
                for target, count in zip(switch.case_blocks, counts, strict=True):
                    if target is block:
                        yield switch.case_operands[first + index]
                    first += count
            case _:
                pass
