"""
Each token of correct programs with control flow, and each wait of the host, left out by itself: the
check of the schedule notices all that the oracle can show to be a race.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from xdsl.dialects import func
from xdsl.ir import Operation

import opar
from opar.analysis.accesses import AccessAnalysis
from opar.analysis.aliasing import AliasAnalysis
from opar.analysis.values import is_token
from opar.backend.build_schedule import build_schedule
from opar.backend.verify_schedule import verify_schedule
from opar.dialects import gpu
from opar.errors import ScheduleError, UnsupportedError
from tests.oracle.campaign import KINDS, functions, module_of, options, run
from tests.oracle.interpreter import Kernels
from tests.oracle.statements import Program
from tests.oracle.trace import Trace

INPUTS = 8


class Checker:
    """Checks the schedules of the functions of one module."""

    def __init__(self, module: Operation, assume_noalias: bool):
        self.accesses = AccessAnalysis(AliasAnalysis(assume_noalias))
        self.kernels = {
            f"{m.sym_name.data}::{f.sym_name.data}": "k"
            for m in module.walk()
            if isinstance(m, gpu.ModuleOp)
            for f in m.body.ops
            if isinstance(f, gpu.FuncOp)
        }

    def accepts(self, function: func.FuncOp) -> bool | None:
        """Whether nothing races; None without jumps, where streams order more than tokens do."""
        copy = function.clone()
        assert function.parent is not None
        function.parent.add_op(copy)
        try:
            schedule, origins = build_schedule(copy, self.kernels, self.accesses)
            if not schedule.has_jumps:
                return None
            verify_schedule(schedule, origins, self.accesses)
        except ScheduleError:
            return False
        finally:
            copy.detach()
        return True


def mutations(function: func.FuncOp) -> list[tuple[Operation, list[int]]]:
    """Operations, and which of their operands to replace by a token that stands for nothing."""
    found: list[tuple[Operation, list[int]]] = []
    for op in function.walk():
        tokens = [
            i
            for i, value in enumerate(op.operands)
            if is_token(value)
            and not (isinstance(w := value.owner, gpu.WaitOp) and not w.async_dependencies)
        ]
        found += [(op, [i]) for i in tokens]
        if isinstance(op, gpu.WaitOp) and op.async_token is None and len(tokens) > 1:
            found.append((op, tokens))
    return found


@contextmanager
def without(op: Operation, operands: list[int]) -> Iterator[None]:
    nothing = gpu.WaitOp(is_async=True)
    assert op.parent is not None and nothing.async_token is not None
    op.parent.insert_op_before(nothing, op)
    before = list(op.operands)
    op.operands = [nothing.async_token if i in operands else v for i, v in enumerate(before)]
    yield
    op.operands = before
    nothing.detach()
    nothing.erase()


def races(trace: Trace) -> bool:
    """Whether two events conflict and nothing orders them. A schedule allocates at once."""
    events = [e for e in trace.events if not e.is_wait and "alloc" not in e.op.name]
    return any(
        not event.before >> earlier.number & 1 and earlier.conflicts(event)
        for n, event in enumerate(events)
        for earlier in events[:n]
    )


def mutated(program: Program, seed: int) -> tuple[int, list[str]]:
    """How many mutations were noticed, and those that were not though they race."""
    chosen = options(random.Random(~seed), program)
    module = module_of([program])
    opar.run_passes(module, f"gpu-async-dataflow{{{chosen}}}" if chosen else "gpu-async-dataflow")
    (function,) = functions(module, 1)
    checker = Checker(module, "assume-noalias" in chosen)
    try:
        if checker.accepts(function) is None:
            return 0, []
    except UnsupportedError:  # calls of functions without a body
        return 0, []
    assert checker.accepts(function), f"a correct program is refused:\n{function}"
    kernels, noticed, missed = Kernels(), 0, list[str]()
    for op, operands in mutations(function):
        with without(op, operands):
            if not checker.accepts(function):
                noticed += 1
            elif any(races(run(function, program, n, kernels)) for n in range(INPUTS)):
                missed.append(f"{op} without tokens {operands} in\n{function}")
    return noticed, missed


@pytest.mark.parametrize("kind", ["structured", "blocks"])
def test_each_lost_token_that_races_is_noticed(kind: str) -> None:
    first = random.randrange(1 << 40)
    print("seeds from", first)
    total = 0
    for seed in range(first, first + 12):
        noticed, missed = mutated(KINDS[kind](random.Random(seed)), seed)
        assert not missed, f"seed {seed}: {missed[0]}"
        total += noticed
    assert total > 20
