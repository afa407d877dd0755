"""Which function emits which operation: one table an emitting dialect, loaded when it is used."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from xdsl.ir import Operation

if TYPE_CHECKING:
    from opar.backend.codegen.context import Context

Emit = Callable[["Context", Any], None]
"""Emits one operation: looks its operands up in the context and sets its results there."""

_DIALECTS = {
    name: f"opar.backend.codegen.{name}"
    for name in (
        "affine", "arith", "cf", "func", "gpu", "math", "memref", "scf", "ub", "vector"
    )
}  # fmt: skip


class Table(dict[str, Emit]):
    """Operation name -> the function that emits it, for the operations of one dialect."""

    def op(self, *ops: type[Operation]) -> Callable[[Emit], Emit]:
        """Decorator: the function emits operations of these classes."""

        def register(emit: Emit) -> Emit:
            for op in ops:
                self[op.name] = emit
            return emit

        return register

    def structural(self, *ops: type[Operation]) -> None:
        """These operations are emitted as part of their parent, such as `scf.yield`."""
        for op in ops:
            self[op.name] = emit_nothing


def emit_nothing(ctx: Context, op: Operation) -> None:
    """The emit function of an operation that its parent handles."""


def emitter(name: str) -> Emit | None:
    """The function that emits operations called `name`; None where they are not supported."""
    module = _DIALECTS.get(name.partition(".")[0])
    if module is None:
        return None
    return import_module(module).TABLE.get(name)
