"""
Each pass as a plain function on a module: `opar.passes.gpu_async_dataflow(module, ...)`.

The function has the name of the pass with underscores and takes the options of the pass by name.
It changes the module in place and returns it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from opar.dialects.parsing import new_context, verify
from opar.errors import OptionError
from opar.transforms import pass_factories


def __dir__() -> list[str]:
    return [name.replace("-", "_") for name in pass_factories()]


def __getattr__(name: str) -> Callable[..., ModuleOp]:
    factory = pass_factories().get(name.replace("_", "-"))
    if factory is None:
        raise AttributeError(f"module 'opar.passes' has no attribute '{name}'")

    def run(module: ModuleOp, **options: Any) -> ModuleOp:
        pass_class = factory()
        try:
            instance = pass_class(**options)
        except TypeError as error:
            raise OptionError(f"{pass_class.name}: {error}") from error
        instance.apply(new_context(), module)
        verify(module)
        return module

    run.__name__ = run.__qualname__ = name
    run.__doc__ = factory().__doc__
    return run
