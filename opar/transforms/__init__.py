"""The passes of opar, one a file; `pass_factories` names them all and imports none."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from xdsl.passes import ModulePass

_PASSES: dict[str, str] = {
    "affine-parallelize": "AffineParallelizePass",
    "convert-affine-parallel-to-gpu": "ConvertAffineParallelToGpuPass",
    "gpu-kernel-outlining": "GpuKernelOutliningPass",
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
