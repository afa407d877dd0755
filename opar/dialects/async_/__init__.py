"""
The `async` dialect: regions that run concurrently with what comes after them, and the tokens,
values and groups that stand for their completion. Syntax and checks are those of MLIR 22.

Not modelled: `async.coro.*` and `async.runtime.*`, which exist only after lowering.
"""

from xdsl.ir import Dialect

from opar.dialects.async_.execute import (
    AddToGroupOp,
    AwaitAllOp,
    AwaitOp,
    CreateGroupOp,
    ExecuteOp,
    YieldOp,
)
from opar.dialects.async_.functions import CallOp, FuncOp, ReturnOp
from opar.dialects.async_.types import COMPLETION, Completion, GroupType, TokenType, ValueType

Async = Dialect(
    "async",
    [
        AddToGroupOp,
        AwaitAllOp,
        AwaitOp,
        CallOp,
        CreateGroupOp,
        ExecuteOp,
        FuncOp,
        ReturnOp,
        YieldOp,
    ],
    [GroupType, TokenType, ValueType],
)

__all__ = [
    "COMPLETION",
    "AddToGroupOp",
    "Async",
    "AwaitAllOp",
    "AwaitOp",
    "CallOp",
    "Completion",
    "CreateGroupOp",
    "ExecuteOp",
    "FuncOp",
    "GroupType",
    "ReturnOp",
    "TokenType",
    "ValueType",
    "YieldOp",
]
