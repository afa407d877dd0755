"""
Steps of a schedule for the `async` dialect: bodies run in program order, which is a legal order.

So an `!async.value<T>` is a T that is there, and awaiting does nothing. What runs on a device
within a body is waited for only where a `gpu.wait` or a GPU token says so.
"""

from __future__ import annotations

from xdsl.ir import Operation

from opar.backend.build_blocks import give_all
from opar.backend.build_state import Builder, Held
from opar.dialects import async_
from opar.errors import UnsupportedError, at


def add(builder: Builder, op: Operation) -> bool:
    """Add the steps of an operation of the `async` dialect; false for any other."""
    match op:
        case async_.ExecuteOp():
            _add_execute(builder, op)
        case async_.AwaitOp():
            give_all(builder, op.results, [builder.get(op.operand) for _ in op.results])
        case async_.CreateGroupOp() | async_.AwaitAllOp():
            give_all(builder, op.results, [Held() for _ in op.results])
        case async_.AddToGroupOp():
            if op.rank.uses:
                raise UnsupportedError(at(op, "the rank in a group is not supported on the host"))
        case _:
            return False
    return True


def _add_execute(builder: Builder, op: async_.ExecuteOp) -> None:
    block = op.body.block
    give_all(builder, block.args, [builder.get(v) for v in op.body_operands])
    last = block.last_op
    assert last is not None
    for child in block.ops:
        if child is not last:
            builder.add(child)
    give_all(builder, op.body_results, [builder.get(v) for v in last.operands])
    builder.give(op.token, Held())
