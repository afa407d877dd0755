"""
Random straight-line programs of many small launches, against the same steps one after another in
numpy. A missing token shows as a wrong result: at once in the order that a schedule seed chooses,
sooner or later on threads; each program runs several times.
"""

from __future__ import annotations

import random

import numpy as np
import pytest

import opar

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]

SIZE = 257
MAX = 1 << 20


def make(generator: random.Random) -> tuple[str, list[tuple[int, int, int]], int, int]:
    """MLIR text, steps (target, left, right): target = left + right + 1, arguments, buffers."""
    arguments, temporaries = generator.randint(1, 4), generator.randint(1, 4)
    buffers = arguments + temporaries
    steps = [
        tuple(generator.randrange(buffers) for _ in range(3))
        for _ in range(generator.randint(1, 14))
    ]
    type = f"memref<{SIZE}xi32>"
    names = [f"%a{i}" if i < arguments else f"%t{i}" for i in range(buffers)]
    signature = ", ".join(f"{n}: {type}" for n in names[:arguments])
    lines = [f"func.func @random({signature}) -> ({', '.join([type] * temporaries)}) {{"]
    lines += ["  %one = arith.constant 1 : i32", f"  %max = arith.constant {MAX} : i32"]
    for name in names[arguments:]:
        lines += [f"  {name} = memref.alloc() : {type}"]
        lines += [f"  affine.parallel (%i) = (0) to ({SIZE}) {{"]
        lines += [f"    affine.store %one, {name}[%i] : {type}", "  }"]
    for target, left, right in steps:
        lines += [
            f"  affine.parallel (%i) = (0) to ({SIZE}) {{",
            f"    %x = affine.load {names[left]}[%i] : {type}",
            f"    %y = affine.load {names[right]}[%i] : {type}",
            "    %s = arith.addi %x, %y : i32",
            "    %p = arith.addi %s, %one : i32",
            "    %r = arith.remsi %p, %max : i32",
            f"    affine.store %r, {names[target]}[%i] : {type}",
            "  }",
        ]
    results = ", ".join(names[arguments:])
    lines += [f"  return {results} : {', '.join([type] * temporaries)}", "}"]
    return "\n".join(lines), steps, arguments, buffers


def in_order(steps: list[tuple[int, int, int]], buffers: list[np.ndarray]) -> None:
    for target, left, right in steps:
        buffers[target][:] = np.fmod(buffers[left] + buffers[right] + 1, MAX)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shared", [False, True])
def test_random_programs(device: str, shared: bool) -> None:
    start = random.randrange(1 << 30)
    for seed in range(start, start + (40 if device == "cuda" else 12)):
        generator = random.Random(seed)
        text, steps, arguments, count = make(generator)
        order = generator.randrange(1000) if device == "cpu" and seed % 3 else None
        program = opar.compile(text, device=device, use_cache=False, schedule_seed=order)
        values = np.random.default_rng(seed)
        for _ in range(3):
            given = [values.integers(0, 100, SIZE, dtype=np.int32) for _ in range(arguments)]
            if shared and arguments > 1:  # the same array for two parameters
                given[generator.randrange(1, arguments)] = given[0]
            expected = {id(a): a.copy() for a in given}
            buffers = [expected[id(a)] for a in given]
            buffers += [np.ones(SIZE, np.int32) for _ in range(count - arguments)]
            in_order(steps, buffers)
            results = program(*given)
            found = [*given, *(results if isinstance(results, tuple) else (results,))]
            for number, (a, b) in enumerate(zip(found, buffers, strict=True)):
                assert (a == b).all(), f"seed {seed}, {order}: buffer {number} of\n{text}"
