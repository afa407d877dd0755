"""
The dialects that opar reads and prints.

opar models `affine`, `gpu` and `async` itself and completes `memref` and `scf`; the others are
xDSL's. All load lazily: importing every dialect of xDSL costs 1.5 s, those of one program 0.3 s.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from xdsl.context import Context
from xdsl.ir import Dialect

_DIALECTS: dict[str, tuple[str, str]] = {
    "affine": ("opar.dialects.affine", "Affine"),
    "async": ("opar.dialects.async_", "Async"),
    "gpu": ("opar.dialects.gpu", "GPU"),
    "memref": ("opar.dialects.memref", "MemRef"),
    "scf": ("opar.dialects.scf", "Scf"),
    "arith": ("opar.dialects.arith", "Arith"),
    "builtin": ("xdsl.dialects.builtin", "Builtin"),
    "cf": ("xdsl.dialects.cf", "Cf"),
    "func": ("xdsl.dialects.func", "Func"),
    "linalg": ("xdsl.dialects.linalg", "Linalg"),
    "llvm": ("xdsl.dialects.llvm", "LLVM"),
    "math": ("xdsl.dialects.math", "Math"),
    "nvvm": ("opar.dialects.nvvm", "NVVM"),
    "tensor": ("xdsl.dialects.tensor", "Tensor"),
    "test": ("xdsl.dialects.test", "Test"),
    "ub": ("xdsl.dialects.ub", "UB"),
    "vector": ("xdsl.dialects.vector", "Vector"),
}


def _factory(module: str, attribute: str) -> Callable[[], Dialect]:
    def load() -> Dialect:
        return getattr(import_module(module), attribute)

    return load


def dialect_factories() -> dict[str, Callable[[], Dialect]]:
    """Dialect name -> function that imports and returns it."""
    return {name: _factory(*where) for name, where in _DIALECTS.items()}


def register_dialects(ctx: Context) -> Context:
    """Register every dialect of opar in `ctx`, without importing any of them; returns `ctx`."""
    for name, factory in dialect_factories().items():
        ctx.register_dialect(name, factory)
    return ctx
