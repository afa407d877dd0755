"""
opar: operation-level parallelism for MLIR programs.

`compile` turns a function of parallel loops into a `Program` whose kernels run concurrently
wherever the data allows it. Passes are in `opar.transforms`, errors in `opar.errors`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opar.backend.program import Program, compile, get_device
    from opar.dialects.parsing import parse_module
    from opar.transforms import run_passes

__all__ = ["Program", "compile", "get_device", "parse_module", "run_passes"]

_WHERE = {
    "Program": "opar.backend.program",
    "compile": "opar.backend.program",
    "get_device": "opar.backend.program",
    "parse_module": "opar.dialects.parsing",
    "run_passes": "opar.transforms",
}


def __getattr__(name: str) -> Any:
    """Import on first use: a cached program needs no xDSL, and a pass no LLVM."""
    if name in ("errors", "passes", "transforms"):
        return import_module(f"opar.{name}")
    if name in _WHERE:
        return getattr(import_module(_WHERE[name]), name)
    raise AttributeError(f"module 'opar' has no attribute '{name}'")
