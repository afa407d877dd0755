"""What a kernel can hold: asked for a whole nest before anything is rewritten."""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.dialects.builtin import UnregisteredOp
from xdsl.ir import Operation
from xdsl.traits import SymbolTable

from opar.dialects import affine, gpu, memref
from opar.errors import UnsupportedError, at
from opar.transforms.mapping.sequential import check_reductions

_ON_THE_HOST = frozenset({"memref.alloc", "memref.dealloc", "memref.realloc", "memref.copy"})


def check_nest(loop: affine.ParallelOp) -> None:
    """
    Raise `UnsupportedError` for a loop with results, and for the first operation in `loop`, or in
    a function that it calls, that a kernel cannot hold. Operations of other dialects are left to
    the code generation, which refuses those that it does not know.
    """
    if loop.res:
        message = (
            "a parallel loop with results is supported inside another one only; "
            "store what each iteration finds, and combine it in a loop of its own"
        )
        raise UnsupportedError(at(loop, message))
    _check(loop, loop, set())


def check_sequential(op: Operation) -> None:
    """Raise `UnsupportedError` for a parallel loop below `op` that cannot become sequential."""
    for inner in op.walk():
        if isinstance(inner, affine.ParallelOp):
            check_reductions(inner)


def _check(root: Operation, loop: Operation, called: set[Operation]) -> None:
    for op in root.walk():
        if isinstance(op, affine.ParallelOp):
            if root is not loop:
                message = f"{_name(root)} is called from a parallel loop, so inline it there"
                raise UnsupportedError(at(op, message))
            check_reductions(op)
        elif op.name in _ON_THE_HOST:
            message = "cannot run inside a parallel loop; move it out, or use memref.alloca"
            raise UnsupportedError(at(op, message))
        elif isinstance(op, UnregisteredOp):
            message = f"'{op.op_name.data}' is unknown, so it cannot run inside a parallel loop"
            raise UnsupportedError(at(op, message))
        elif _is_of_launches(op):
            raise UnsupportedError(at(op, "cannot run inside a parallel loop; move it out"))
        elif isinstance(op, memref.GetGlobalOp):
            name = op.name_.root_reference.data
            value = SymbolTable.lookup_symbol(op, name)
            if not isinstance(value, memref.GlobalOp) or value.constant is None:
                message = f"@{name} is no constant, so take it outside of the parallel loop"
                raise UnsupportedError(at(op, message))
        elif isinstance(op, func.CallOp):
            callee = SymbolTable.lookup_symbol(op, op.callee)
            if not isinstance(callee, func.FuncOp) or callee.is_declaration:
                message = f"{op.callee} has no body here, so a parallel loop cannot call it"
                raise UnsupportedError(at(op, message))
            if callee not in called:
                called.add(callee)
                _check(callee, loop, called)


def _is_of_launches(op: Operation) -> bool:
    """Whether `op` launches, or only has a meaning in a launch: ids, barriers, shuffles, ..."""
    dialect = op.name.partition(".")[0]
    return dialect == "async" or (dialect == "gpu" and not isinstance(op, gpu.PrintfOp))


def _name(function: Operation) -> str:
    assert isinstance(function, func.FuncOp)
    return f"@{function.sym_name.data}"
