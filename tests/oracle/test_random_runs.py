"""Random programs run: the result is that of sequential execution; the long run is `--run`."""

from __future__ import annotations

import os
import random
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

import opar
from opar.analysis.accesses import AccessAnalysis
from opar.analysis.aliasing import AliasAnalysis
from opar.backend.build_schedule import build_schedule
from opar.backend.compile_kernels import compile_kernels
from opar.backend.host_device import HostDevice
from opar.dialects import gpu
from opar.errors import UnsupportedError
from tests.backend.kernel_tools import assemble
from tests.oracle.campaign import KINDS, PASS, functions, module_of
from tests.oracle.pool import all_of, tasks
from tests.oracle.recorder import Kernels
from tests.oracle.running import PIPELINES, RAN, LeftOut, call, ran, reference, runner

PROGRAMS = 30
ON_GPU = 4800

WAYS = [(p, "cpu") for p in PIPELINES]


def check(kind: str, first: int, pipeline: str, device: str) -> None:
    done, failures, counts = ran((kind, range(first, first + PROGRAMS), pipeline, device))
    print(pipeline, device, kind, dict(counts))
    assert not failures, failures[0]
    assert counts[RAN] >= done / 4, counts


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("pipeline", "device"), WAYS)
def test_fixed_seeds(kind: str, pipeline: str, device: str) -> None:
    check(kind, 0, pipeline, device)


@pytest.mark.parametrize("kind", KINDS)
def test_fresh_seeds(kind: str) -> None:
    first = random.randrange(1 << 40)
    print("seeds from", first)
    check(kind, first, *random.choice(WAYS))


@pytest.mark.gpu
def test_thousands_on_a_gpu() -> None:
    first = random.randrange(1 << 40)
    print("seeds from", first)
    counts: Counter[str] = Counter()
    processes = min(8, os.cpu_count() or 1)
    for _, failures, became in all_of(tasks(first, ON_GPU, "cuda", 100), processes, tokens=False):
        assert not failures, failures[0]
        counts += became
    print(dict(counts))
    assert counts[RAN] > ON_GPU / 2, counts


def test_ptx_of_the_kernels_assembles(ptxas: Path, tmp_path: Path) -> None:
    programs = [KINDS["structured"](random.Random(seed)) for seed in range(10)]
    _, (code,) = compile_kernels(module_of(programs), "cuda", "sm_90")
    assert isinstance(code.code, str)
    assemble(ptxas, code.code, "sm_90", tmp_path)


def test_runs_see_missing_tokens() -> None:
    """Straight-line tokens are minimal: without any one, some order gives another result."""
    seen: Counter[bool] = Counter()
    for seed in range(24):
        program = KINDS["straight"](random.Random(seed))
        module = module_of([program])
        (function,) = functions(module, 1)
        try:
            references = reference(function, program, seed, Kernels())
        except LeftOut:
            continue
        opar.run_passes(module, PASS)
        tokens = [
            (op, i)
            for op in function.walk()
            if isinstance(op, gpu.LaunchFuncOp)
            for i in range(len(op.async_dependencies))
        ]
        if not tokens:
            continue
        op, place = random.Random(seed).choice(tokens)
        nothing = gpu.WaitOp(is_async=True)
        assert op.parent is not None and nothing.async_token is not None
        op.parent.insert_op_before(nothing, op)
        op.operands[place] = nothing.async_token
        opar.run_passes(module, "gpu-assign-streams")
        names, kernels = runner("cpu").load(module)
        schedule, _ = build_schedule(function, names, AccessAnalysis(AliasAnalysis(True)))
        orders = [HostDevice(2, order) for order in range(15)]
        with suppress(UnsupportedError):
            seen[any(list(call(schedule, d, kernels, r)) for d in orders for r in references)] += 1
    assert seen[True] > 5 and seen[True] > seen[False], seen
