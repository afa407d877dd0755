"""
The copies between host and GPU: random programs give the same with memory of their own on the GPU,
and no launch touches memory of the host.
"""

from __future__ import annotations

import random
from collections import Counter

import pytest
from xdsl.dialects import func

import opar
from opar.dialects import gpu
from opar.errors import UnsupportedError
from tests.oracle.campaign import KINDS, functions, module_of, run
from tests.oracle.interpreter import Kernels
from tests.oracle.memory import View
from tests.oracle.statements import Program
from tests.oracle.trace import Trace

PASS = "gpu-manage-buffers{assume-noalias-args=true}"
REFUSED = (
    "cannot tell which buffer",
    "the host and a launch both access",
    "may be the same memory, and the GPU would hold it twice",
)

NOT_SEEN = ("memref.alloc", "memref.alloca", "gpu.alloc", "memref.dealloc", "gpu.dealloc")


def defined_at_end(trace: Trace) -> int | None:
    """The cells that have been written, one bit each; None if one was read before."""
    defined = (1 << len(trace.start)) - 1
    for event in trace.events:
        if event.op.name in NOT_SEEN:
            defined &= ~event.writes
        elif event.reads & ~defined:
            return None
        else:
            defined |= event.writes
    return defined


def seen(trace: Trace) -> list[object]:
    """What the host sees, in order."""
    return [e.seen for e in trace.events if e.op.name in ("memref.load", "func.call")]


def returned(trace: Trace) -> list[list[int]]:
    """The cells of each result, none of a number."""
    return [v.cells() if isinstance(v, View) else [] for v in trace.returned]


def launches_touch_host_memory(trace: Trace) -> bool:
    on_gpu = 0
    for event in trace.events:
        if event.op.name == "gpu.alloc":
            on_gpu |= event.writes
        if isinstance(event.op, gpu.LaunchFuncOp) and (event.reads | event.writes) & ~on_gpu:
            return True
    return False


def check(program: Program, before: func.FuncOp, after: func.FuncOp, seed: int) -> bool:
    """Whether there was anything to compare."""
    if any(len(argument.values) > 1 for argument in program.arguments if argument.sizes):
        return False  # arguments that overlap do so on the GPU too, which is up to the runtime
    kernels = Kernels()
    first = run(before, program, seed, kernels)
    defined = defined_at_end(first)
    if defined is None:
        return False
    second = run(after, program, seed, kernels)
    size = 0 if not first.events else min(first_cells(first), first_cells(second))
    assert first.end[:size] == second.end[:size], after
    for cells, others in zip(returned(first), returned(second), strict=True):
        pairs = zip(cells, others, strict=True)
        assert all(first.end[c] == second.end[d] for c, d in pairs if defined >> c & 1), after
    numbers = [[v for v in trace.returned if isinstance(v, int)] for trace in (first, second)]
    assert numbers[0] == numbers[1], after
    assert seen(first) == seen(second), after
    assert not launches_touch_host_memory(second), after
    return True


def first_cells(trace: Trace) -> int:
    """How many cells belong to arguments: those before the first allocation."""
    masks = [e.writes for e in trace.events if e.op.name in NOT_SEEN[:3] and e.writes]
    return min(((m & -m).bit_length() - 1 for m in masks), default=len(trace.end))


def managed(programs: list[Program]) -> tuple[list[func.FuncOp], list[func.FuncOp | None], Counter]:
    """The functions before the pass, and behind it; None for those it refuses, with the reasons."""
    before = functions(module_of(programs), len(programs))
    after: list[func.FuncOp | None] = []
    refused: Counter[str] = Counter()
    for program in programs:
        module = module_of([program])
        try:
            opar.run_passes(module, PASS)
        except UnsupportedError as error:
            reasons = [r for r in REFUSED if r in str(error)]
            assert reasons, error
            refused.update(reasons)
            after.append(None)
        else:
            module.verify()
            after.append(functions(module, 1)[0])
    return before, after, refused


@pytest.mark.parametrize("kind", KINDS)
def test_random_programs(kind: str) -> None:
    first = random.randrange(1 << 40)
    print("seeds from", first)
    programs = [KINDS[kind](random.Random(seed)) for seed in range(first, first + 60)]
    before, after, refused = managed(programs)
    compared = 0
    for i, (program, old, new) in enumerate(zip(programs, before, after, strict=True)):
        if new is not None:
            compared += check(program, old, new, first + i)
    print(compared, refused)
    assert compared
