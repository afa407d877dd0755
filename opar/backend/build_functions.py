"""Calls of functions with a body, which become part of the schedule of the caller."""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.ir import Operation
from xdsl.traits import SymbolTable

from opar.backend.build_blocks import give_all, run_region
from opar.backend.build_state import Builder, Held, Scope
from opar.errors import UnsupportedError, at


def add(builder: Builder, op: Operation) -> bool:
    """Add the steps of a call; false for any other operation."""
    if not isinstance(op, func.CallOp):
        return False
    name = op.callee.string_value()
    callee = SymbolTable.lookup_symbol(op, op.callee)
    if not isinstance(callee, func.FuncOp) or callee.is_declaration:
        raise UnsupportedError(at(op, f"@{name} has no body: it cannot be run"))
    if callee in builder.calls:
        raise UnsupportedError(at(op, f"@{name} calls itself: recursion is not supported"))
    held = [builder.get(v) for v in op.operands]
    caller = builder.scope, builder.activation
    builder.enter(Scope())
    builder.activations += 1
    builder.activation = builder.activations
    give_all(builder, callee.body.blocks[0].args, held)
    results = add_body(builder, callee)
    scope, builder.activation = caller
    builder.enter(scope)
    give_all(builder, op.results, results)
    return True


def add_body(builder: Builder, function: func.FuncOp) -> list[Held]:
    """Add the steps of a function, whose arguments are known; returns what its results are."""
    builder.calls.append(function)
    results = run_region(builder, function, function.body)
    builder.calls.pop()
    return results
