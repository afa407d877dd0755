"""Which functions are called from where, and which of them can be looked into."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from xdsl.dialects import func
from xdsl.ir import Operation, OpResult
from xdsl.traits import SymbolTable

from opar.dialects import gpu


@dataclass
class CallGraph:
    """Callees and call sites, each found once."""

    _callees: dict[func.CallOp, func.FuncOp | None] = field(default_factory=dict)
    _recursive: dict[func.FuncOp, bool] = field(default_factory=dict)
    _sites: dict[Operation, dict[func.FuncOp, list[func.CallOp]]] = field(default_factory=dict)

    def callee(self, call: func.CallOp) -> func.FuncOp | None:
        """The function that `call` runs, if it has a body and does not call itself."""
        if call not in self._callees:
            found = SymbolTable.lookup_symbol(call, call.callee)
            if (
                not isinstance(found, func.FuncOp)
                or found.is_declaration
                or self._is_recursive(found)
            ):
                found = None
            self._callees[call] = found
        return self._callees[call]

    def sites(self, function: func.FuncOp) -> list[func.CallOp]:
        """The calls of `function`."""
        top = _outermost(function)
        if top not in self._sites:
            found = self._sites[top] = {}
            for call in top.walk():
                if isinstance(call, func.CallOp):
                    callee = SymbolTable.lookup_symbol(call, call.callee)
                    if isinstance(callee, func.FuncOp):
                        found.setdefault(callee, []).append(call)
        return self._sites[top].get(function, [])

    def _is_recursive(self, function: func.FuncOp) -> bool:
        """Whether a call of `function` can lead to another one."""
        if function not in self._recursive:
            seen: set[func.FuncOp] = set()
            work = list(_called(function))
            while work:
                callee = work.pop()
                if callee not in seen:
                    seen.add(callee)
                    work += _called(callee)
            self._recursive[function] = function in seen
        return self._recursive[function]


def call_tokens(op: Operation) -> list[OpResult]:
    """The tokens that a call returns: together they stand for all that still runs behind it."""
    if not isinstance(op, func.CallOp):
        return []
    return [r for r in op.results if isinstance(r.type, gpu.AsyncTokenType)]


def _called(function: func.FuncOp) -> Iterator[func.FuncOp]:
    for op in function.body.walk():
        if isinstance(op, func.CallOp):
            callee = SymbolTable.lookup_symbol(op, op.callee)
            if isinstance(callee, func.FuncOp):
                yield callee


def _outermost(op: Operation) -> Operation:
    while (parent := op.parent_op()) is not None:
        op = parent
    return op


def enclosing_function(op: Operation | None) -> func.FuncOp | gpu.FuncOp | None:
    """The function or kernel that `op` is or lies in."""
    while op is not None and not isinstance(op, func.FuncOp | gpu.FuncOp):
        op = op.parent_op()
    return op
