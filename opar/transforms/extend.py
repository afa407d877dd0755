"""Structures with more results than they had, and jumps that pass more."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import cf
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import IRDLOperation

from opar.dialects import affine, scf

_SEGMENTS = ("operandSegmentSizes", "resultSegmentSizes")

_INITIAL_VALUES = {"scf.for": "iter_args", "affine.for": "inits", "scf.while": "arguments"}
"""The operands of a loop that each have a result."""


def extended(
    op: Operation, operands: Sequence[SSAValue], results: Sequence[Attribute]
) -> Operation:
    """
    A new operation like `op` in its place, with `operands` behind the initial values of a loop and
    `results` behind its results. Takes over the regions, and `op` is erased.
    """
    assert isinstance(op, IRDLOperation)
    definition = op.get_irdl_definition()
    values = [
        [*_group(op, name), *(operands if _INITIAL_VALUES.get(op.name) == name else ())]
        for name, _ in definition.operands
    ]
    types: list[list[Attribute]] = [
        [value.type for value in _group(op, name)] for name, _ in definition.results
    ]
    types[-1] += results
    groups = [getattr(op, name) for name, _ in definition.regions]
    regions = [
        [op.detach_region(r) for r in ([group] if isinstance(group, Region) else group)]
        for group in groups
    ]
    new = type(op).build(
        operands=values,
        result_types=types,
        properties={k: v for k, v in op.properties.items() if k not in _SEGMENTS},
        attributes=dict(op.attributes),
        regions=regions,
    )
    new.location = op.location
    block = op.parent
    assert block is not None
    block.insert_op_before(new, op)
    for old_result, new_result in zip(op.results, new.results, strict=False):
        new_result.name_hint = old_result.name_hint
        old_result.replace_all_uses_with(new_result)
    block.erase_op(op)
    return new


def else_block(op: scf.IfOp | affine.IfOp) -> Block:
    """The second block of a conditional, made where there is none."""
    region = op.false_region if isinstance(op, scf.IfOp) else op.else_region
    if not region.blocks:
        end = scf.YieldOp() if isinstance(op, scf.IfOp) else affine.YieldOp.get()
        end.location = op.location
        region.add_block(Block([end]))
    return region.block


def with_arguments(op: Operation, more: Sequence[Sequence[SSAValue]]) -> Operation:
    """A jump like `op` that also passes `more`, one sequence for each of its `jumps`, in order."""
    match op:
        case cf.BranchOp():
            new = cf.BranchOp(op.successor, *op.arguments, *more[0])
        case cf.ConditionalBranchOp():
            new = cf.ConditionalBranchOp(
                op.cond,
                op.then_block,
                [*op.then_arguments, *more[0]],
                op.else_block,
                [*op.else_arguments, *more[1]],
            )
        case cf.SwitchOp():
            cases = zip(op.case_operand, more[1:], strict=True)
            new = cf.SwitchOp(
                op.flag,
                op.default_block,
                [*op.default_operands, *more[0]],
                op.case_values,
                op.case_blocks,
                [[*operands, *added] for operands, added in cases],
            )
        case _:
            raise AssertionError(f"{op.name} is no jump")
    new.attributes |= op.attributes
    new.location = op.location
    return new


def _group(op: Operation, name: str) -> list[SSAValue]:
    found = getattr(op, name)
    if found is None:
        return []
    return [found] if isinstance(found, SSAValue) else list(found)
