"""opar's tokens as one stage of an MLIR pipeline, next to MLIR's own `gpu-async-region`."""

from __future__ import annotations

import re
from collections import Counter

import pytest

import opar
from tests.mlir_tools import mlir_opt
from tests.programs import seed

LOWER = (
    "lower-affine,nvvm-attach-target{chip=sm_90},"
    "gpu.module(convert-scf-to-cf,convert-gpu-to-nvvm{use-bare-ptr-memref-call-conv=0},"
    "reconcile-unrealized-casts),convert-scf-to-cf,gpu-to-llvm"
)


def runtime_calls(text: str, passes: str) -> Counter[str]:
    """How often the lowered host code calls each function of MLIR's CUDA runtime library."""
    lowered = mlir_opt(text, f"-pass-pipeline=builtin.module({passes})")
    assert "gpu.launch_func async" not in lowered
    return Counter(re.findall(r"llvm\.call @(mgpu\w+)", lowered))


@pytest.fixture(scope="module")
def launches() -> str:
    module = opar.parse_module(seed(4, 5, 3))
    opar.run_passes(module, "convert-affine-parallel-to-gpu,gpu-kernel-outlining")
    return str(module)


def test_products_on_streams_of_their_own_and_one_host_wait(launches: str) -> None:
    module = opar.parse_module(launches)
    opar.run_passes(module, "gpu-async-dataflow{single-use-tokens=true}")
    calls = runtime_calls(str(module), LOWER)
    assert calls["mgpuStreamCreate"] >= 2
    assert calls["mgpuStreamWaitEvent"] == 2
    assert calls["mgpuStreamSynchronize"] == 1


def test_gpu_async_region_waits_on_the_host_between_the_products(launches: str) -> None:
    calls = runtime_calls(launches, f"func.func(gpu-async-region),{LOWER}")
    assert calls["mgpuStreamSynchronize"] == 2
    assert calls["mgpuStreamWaitEvent"] == 0


def test_mlir_refuses_joins_without_single_use_tokens(launches: str) -> None:
    module = opar.parse_module(launches)
    opar.run_passes(module, "gpu-async-dataflow")
    with pytest.raises(Exception, match="failed to legalize"):
        mlir_opt(str(module), f"-pass-pipeline=builtin.module({LOWER})")


@pytest.mark.parametrize("target", ["cuda", "cpu"])
def test_mlir_opt_accepts_every_stage(target: str) -> None:
    from opar.transforms.opar_pipeline import OparPipelinePass

    module = opar.parse_module(seed(40, 50, 60))
    for stage in OparPipelinePass(target).passes():
        stage.apply(None, module)  # pyright: ignore[reportArgumentType]
        module.verify()
        mlir_opt(str(module))
