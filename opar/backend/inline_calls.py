"""Calls of functions with a body, replaced by that body: a schedule is one flat list."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import SymbolTable

from opar.analysis.aliasing import ARGUMENT_ATTRIBUTE, RESULT_ATTRIBUTE
from opar.dialects import scf
from opar.errors import UnsupportedError, at
from opar.transforms.gpu_assign_streams import STREAM_ATTRIBUTE, assign_streams


def inline_calls(function: func.FuncOp) -> None:
    """
    Replace every call in `function`, and in what it calls, by the body of its callee; one of
    several blocks becomes an `scf.execute_region`. Streams are chosen anew: those of a callee know
    nothing of its caller's.

    Raises `UnsupportedError` for a callee that has no body or leads to a call of itself.
    """
    calls = _calls(function.body)
    for call in calls:
        _inline(call, (function,))
    if calls and any(STREAM_ATTRIBUTE in op.attributes for op in function.walk()):
        assign_streams(function)


def _calls(region: Region) -> list[func.CallOp]:
    return [op for op in region.walk() if isinstance(op, func.CallOp)]


def _inline(call: func.CallOp, callers: Sequence[func.FuncOp]) -> None:
    name = call.callee.string_value()
    callee = SymbolTable.lookup_symbol(call, call.callee)
    if not isinstance(callee, func.FuncOp) or callee.is_declaration:
        raise UnsupportedError(at(call, f"@{name} has no body: it cannot be run"))
    if callee in callers:
        raise UnsupportedError(at(call, f"@{name} calls itself: recursion is not supported"))
    body = callee.body.clone()
    _rename_arguments(body, call.operands, callers[0])
    calls = _calls(body)
    if len(body.blocks) == 1:
        _replace(call, body.block)
    else:
        _replace_by_region(call, body)
    for inner in calls:
        _inline(inner, (*callers, callee))


def _rename_arguments(body: Region, passed: Sequence[SSAValue], entry: func.FuncOp) -> None:
    """Buffers that stage an argument of the callee stage that of the entry, if it is one."""
    for op in body.walk():
        op.attributes.pop(RESULT_ATTRIBUTE, None)
        staged = op.attributes.pop(ARGUMENT_ATTRIBUTE, None)
        if isinstance(staged, IntegerAttr):
            value = passed[staged.value.data]
            if isinstance(value, BlockArgument) and value.block is entry.body.blocks[0]:
                op.attributes[ARGUMENT_ATTRIBUTE] = IntegerAttr(value.index, staged.type)


def _replace(call: func.CallOp, body: Block) -> None:
    end = body.last_op
    assert end is not None
    Rewriter.inline_block(body, InsertPoint.before(call), call.operands)
    Rewriter.replace_op(call, [], end.operands)
    Rewriter.erase_op(end)


def _replace_by_region(call: func.CallOp, body: Region) -> None:
    first = body.blocks[0]
    for argument, value in zip(list(first.args), call.operands, strict=True):
        argument.replace_all_uses_with(value)
        first.erase_arg(argument)
    for block in body.blocks:
        if isinstance(end := block.last_op, func.ReturnOp):
            _replace_end(end, scf.YieldOp(*end.operands))
    region = scf.ExecuteRegionOp(call.result_types, body)
    region.location = call.location
    Rewriter.replace_op(call, region)


def _replace_end(end: Operation, new: Operation) -> None:
    new.location = end.location
    Rewriter.replace_op(end, new)
