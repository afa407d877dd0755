"""Tokens of random programs against the oracle; the long run is `make test-long`."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

import opar
from opar.dialects import gpu
from tests.mlir_tools import mlir_opt
from tests.oracle.campaign import KINDS, campaign, functions, made_small, module_of, run
from tests.oracle.checks import missing, not_minimal
from tests.oracle.recorder import Kernels

CHUNK = 120
"""Programs a test: small enough to be shared out between the cores."""


def check(kind: str, first: int, count: int) -> None:
    failure = next(campaign(kind, range(first, first + count)), None)
    assert failure is None, str(made_small(failure))


@pytest.mark.parametrize("chunk", range(8))
@pytest.mark.parametrize("kind", KINDS)
def test_fixed_seeds(kind: str, chunk: int) -> None:
    check(kind, chunk * CHUNK, CHUNK)


@pytest.mark.parametrize("kind", KINDS)
def test_fresh_seeds(kind: str) -> None:
    first = random.randrange(1 << 40)
    print("seeds from", first)
    check(kind, first, CHUNK)


def test_the_oracle_sees_each_missing_token() -> None:
    """Straight-line tokens are minimal, so that each is needed: without any one, a race."""
    seen = 0
    for seed in range(20):
        program = KINDS["straight"](random.Random(seed))
        module = module_of([program])
        opar.run_passes(module, "gpu-async-dataflow")
        (function,) = functions(module, 1)
        kernels = Kernels()
        for op in function.walk():
            if isinstance(op, gpu.AsyncOp):
                for token in list(op.async_dependencies):
                    operands = list(op.operands)
                    # A token that stands for nothing in its place.
                    nothing = gpu.WaitOp(is_async=True)
                    assert op.parent is not None and nothing.async_token is not None
                    op.parent.insert_op_before(nothing, op)
                    op.operands = [nothing.async_token if o is token else o for o in operands]
                    trace = run(function, program, seed, kernels)
                    assert list(missing(trace)), f"{op} without a token in\n{function}"
                    op.operands = operands
                    seen += 1
    assert seen > 50


def test_the_oracle_sees_a_token_too_many() -> None:
    seen = 0
    for seed in range(20):
        program = KINDS["straight"](random.Random(seed))
        module = module_of([program])
        opar.run_passes(module, "gpu-async-dataflow")
        (function,) = functions(module, 1)
        launches = [op for op in function.walk() if isinstance(op, gpu.LaunchFuncOp)]
        kernels = Kernels()
        for before, op in pairwise(launches):
            token = before.async_token
            if token is None or token in op.async_dependencies:
                continue
            wait = gpu.WaitOp([token])
            assert op.parent is not None
            op.parent.insert_op_before(wait, op)
            assert list(not_minimal(run(function, program, seed, kernels))), str(function)
            wait.detach()
            wait.erase()
            seen += 1
    assert seen > 20


@pytest.mark.parametrize("kind", KINDS)
def test_mlir_accepts_what_the_pass_makes(kind: str) -> None:
    first = random.randrange(1 << 40)
    print("seeds from", first)
    module = module_of([KINDS[kind](random.Random(first + i)) for i in range(60)])
    opar.run_passes(module, "gpu-async-dataflow")
    mlir_opt(str(module))
