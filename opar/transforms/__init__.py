"""The passes of opar, one a file; `pass_factories` names them all and imports none."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass, PassPipeline

from opar.errors import OptionError

_PASSES: dict[str, str] = {
    "affine-parallelize": "AffineParallelizePass",
    "convert-affine-parallel-to-gpu": "ConvertAffineParallelToGpuPass",
    "gpu-kernel-outlining": "GpuKernelOutliningPass",
    "unroll-host-loops": "UnrollHostLoopsPass",
    "gpu-infer-noalias": "GpuInferNoaliasPass",
    "gpu-manage-buffers": "GpuManageBuffersPass",
    "gpu-async-dataflow": "GpuAsyncDataflowPass",
    "gpu-assign-streams": "GpuAssignStreamsPass",
    "opar-pipeline": "OparPipelinePass",
}


def _factory(name: str, class_name: str) -> Callable[[], type[ModulePass]]:
    def load() -> type[ModulePass]:
        module = import_module(f"opar.transforms.{name.replace('-', '_')}")
        return getattr(module, class_name)

    return load


def pass_factories() -> dict[str, Callable[[], type[ModulePass]]]:
    """Pass name -> function that imports and returns its class."""
    return {name: _factory(name, class_name) for name, class_name in _PASSES.items()}


def parse_pipeline(spec: str) -> PassPipeline:
    """
    The passes that `spec` names, as in `opar-opt -p`: `a,b{option=value other=value}`.

    Raises `OptionError` for text, names and options that are none.
    """
    from xdsl.utils.exceptions import ArgSpecParseError

    try:
        return PassPipeline.parse_spec(pass_factories(), spec)
    except (ValueError, TypeError, ArgSpecParseError) as error:
        raise OptionError(f"passes '{spec}': {error}; known: {', '.join(_PASSES)}") from error


def run_passes(module: ModuleOp, spec: str, ctx: Context | None = None) -> ModuleOp:
    """
    Run the passes that `spec` names on `module`, in place, and return it.

    Raises `OptionError` as `parse_pipeline` does, and what the passes raise.
    """
    from opar.dialects.parsing import new_context, verify

    parse_pipeline(spec).apply(ctx or new_context(), module)
    verify(module)
    return module
