"""The check of a schedule finds what nothing orders, and names it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

import opar
from opar.analysis.accesses import AccessAnalysis
from opar.analysis.aliasing import AliasAnalysis
from opar.backend.build_schedule import build_schedule
from opar.backend.compiler import choose_entry
from opar.backend.verify_schedule import verify_schedule
from opar.dialects import gpu
from opar.errors import ScheduleError
from tests.programs import seed

LATCH = Path(__file__).parent.parent / "data" / "latch.mlir"


def test_a_program_that_races_is_refused() -> None:
    with pytest.raises(ScheduleError, match="nothing orders them") as caught:
        opar.compile(LATCH, "concurrent", "cpu", pipeline="gpu-assign-streams")
    message = str(caught.value)
    assert "latch.mlir:34:5: step 1 (meet<1x1x1, 1x1x1>(b, a, met_b" in message
    assert re.search(r"element \[0\] of %[ab]", message)


@pytest.mark.parametrize("target", ["cuda", "cpu"])
def test_every_lost_dependency_shows(target: str) -> None:
    """Each edge between streams, and each host wait, is one that the check misses."""
    module = opar.parse_module(seed(8, 8, 8))
    opar.run_passes(module, f"opar-pipeline{{target={target} assume-noalias-args=true}}")
    accesses = AccessAnalysis(AliasAnalysis(True))
    kernels = {
        f"{m.sym_name.data}::{f.sym_name.data}": "k"
        for m in module.walk()
        if isinstance(m, gpu.ModuleOp)
        for f in m.body.ops
        if isinstance(f, gpu.FuncOp)
    }
    schedule, origins = build_schedule(choose_entry(module, "seed"), kernels, accesses)
    verify_schedule(schedule, origins, accesses)
    lost = 0
    for number, step in enumerate(schedule.operations):
        for dependency in step.dependencies:
            if step.stream is None:
                continue
            kept = tuple(d for d in step.dependencies if d != dependency)
            steps = list(schedule.operations)
            steps[number] = replace(step, dependencies=kept)
            with pytest.raises(ScheduleError):
                verify_schedule(replace(schedule, operations=tuple(steps)), origins, accesses)
            lost += 1
    assert lost >= 1
