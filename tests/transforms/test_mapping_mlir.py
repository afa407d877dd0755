"""mlir-opt accepts what the passes make of loop nests, and lowers it, for both targets."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import opar
from tests.mlir_tools import mlir_opt
from tests.transforms.mapping_tools import NestGenerator

EXAMPLES = sorted((Path(__file__).resolve().parents[2] / "examples").glob("*.mlir"))

TO_NVVM = (
    "builtin.module(lower-affine,gpu.module(convert-scf-to-cf,"
    "convert-gpu-to-nvvm{use-bare-ptr-memref-call-conv=0},reconcile-unrealized-casts))"
)


def check(text: str, target: str) -> None:
    module = opar.parse_module(text)
    for stage in (
        "affine-parallelize",
        f"convert-affine-parallel-to-gpu{{target={target}}}",
        "gpu-kernel-outlining",
    ):
        opar.run_passes(module, stage)
        mlir_opt(str(module))
    if target == "cuda":
        lowered = mlir_opt(str(module), f"-pass-pipeline={TO_NVVM}")
        assert "nvvm.kernel" in lowered
        assert "unrealized_conversion_cast" not in lowered.partition("gpu.module")[2]


@pytest.mark.parametrize("target", ["cuda", "cpu"])
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_examples(example: Path, target: str) -> None:
    check(example.read_text(), target)


@pytest.mark.parametrize("target", ["cuda", "cpu"])
def test_random_nests(target: str) -> None:
    seed = random.SystemRandom().getrandbits(32)
    print("nests from seed", seed)
    generator = NestGenerator(seed)
    check("\n".join(generator.function(f"f{i}") for i in range(60)), target)
