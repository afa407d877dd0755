"""Random programs run: the result is that of sequential execution; the long run is `--run`."""

from __future__ import annotations

import random
from collections import Counter
from contextlib import suppress

import pytest

import opar
from opar.analysis.accesses import AccessAnalysis
from opar.analysis.aliasing import AliasAnalysis
from opar.backend.build_schedule import build_schedule
from opar.backend.host_device import HostDevice
from opar.dialects import gpu
from opar.errors import UnsupportedError
from tests.oracle.campaign import KINDS, PASS, functions, module_of
from tests.oracle.recorder import Kernels
from tests.oracle.running import PIPELINES, RAN, LeftOut, call, ran, reference, runner

PROGRAMS = 30


def check(kind: str, first: int, pipeline: str, programs: int = PROGRAMS) -> None:
    done, failures, counts = ran((kind, range(first, first + programs), pipeline, "cpu"))
    print(pipeline, kind, dict(counts))
    assert not failures, failures[0]
    assert counts[RAN] >= done / 15, counts


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("pipeline", PIPELINES)
def test_fixed_seeds(kind: str, pipeline: str) -> None:
    check(kind, 0, pipeline)


@pytest.mark.parametrize("kind", KINDS)
def test_fresh_seeds(kind: str) -> None:
    first = random.randrange(1 << 40)
    print("seeds from", first)
    check(kind, first, random.choice(list(PIPELINES)))


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
