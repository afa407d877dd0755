"""Temporaries share memory where the order of the steps allows it, and only there."""

from __future__ import annotations

import random
from itertools import combinations

import numpy as np
import pytest

import opar
from opar.backend import memory_plan
from opar.backend.memory_plan import place
from opar.errors import OptionError

LINE = "memref<64xf32>"
LINE_BYTES = 256


def nest(source: str, other: str, target: str, shift: int = 0) -> str:
    """target[i] = source[i] + other[i + shift], around the end."""
    return f"""
    affine.parallel (%i) = (0) to (64) {{
      %x = affine.load {source}[%i] : {LINE}
      %y = affine.load {other}[(%i + {shift}) mod 64] : {LINE}
      %z = arith.addf %x, %y : f32
      affine.store %z, {target}[%i] : {LINE}
    }}"""


def function(body: list[str]) -> str:
    return f"func.func @f(%a: {LINE}, %r: {LINE}) {{\n" + "\n".join(body) + "\nreturn\n}"


def alloc(name: str) -> str:
    return f"%{name} = memref.alloc() : {LINE}"


def dealloc(name: str) -> str:
    return f"memref.dealloc %{name} : {LINE}"


def chain(length: int) -> str:
    """t1 = a + a, t2 = t1 + t1, ...; the argument r is the last."""
    body: list[str] = []
    last = "%a"
    for i in range(length):
        body += [alloc(f"t{i}"), nest(last, last, f"%t{i}", 1)]
        if i:
            body.append(dealloc(f"t{i - 1}"))
        last = f"%t{i}"
    body += [nest(last, last, "%r"), dealloc(f"t{length - 1}")]
    return function(body)


def fan(width: int) -> str:
    """As many products that nothing orders, added up one by one."""
    body = [text for i in range(width) for text in (alloc(f"t{i}"), nest("%a", "%a", f"%t{i}", i))]
    body.append(nest("%t0", "%t1", "%r"))
    for i in range(2, width):
        body.append(nest("%r", f"%t{i}", "%r"))
    body += [dealloc(f"t{i}") for i in range(width)]
    return function(body)


def compiled(text: str, **options: object) -> opar.Program:
    return opar.compile(text, device="cpu", **options)  # pyright: ignore


def used(program: opar.Program) -> tuple[int, int, int]:
    """Planned, sequential and separate, in lines; runs the program once."""
    a = np.random.default_rng().standard_normal(64).astype(np.float32)
    program(a, np.full(64, np.nan, np.float32))
    use = program.memory_use
    assert use is not None
    return tuple(n // LINE_BYTES for n in (use.planned, use.sequential, use.separate))


def test_a_chain_needs_two_buffers() -> None:
    assert used(compiled(chain(9))) == (2, 2, 9)


def test_what_runs_at_the_same_time_shares_nothing() -> None:
    assert used(compiled(fan(6))) == (6, 6, 6)


def test_a_chain_gives_the_result_of_numpy() -> None:
    a = np.random.default_rng().integers(-3, 4, 64).astype(np.float32)
    expected = a
    for _ in range(5):
        expected = expected + np.roll(expected, -1)
    r = np.full(64, np.nan, np.float32)
    compiled(chain(5))(a, r)
    np.testing.assert_array_equal(r, expected + expected)


def two_stages(width: int) -> str:
    """Independent pairs of steps, each with a temporary that is freed behind them."""
    body: list[str] = []
    for i in range(width):
        body += [alloc(f"t{i}"), nest("%a", "%a", f"%t{i}", i)]
        body += [alloc(f"u{i}"), nest(f"%t{i}", f"%t{i}", f"%u{i}", 1), dealloc(f"t{i}")]
    body.append(nest("%u0", "%u1", "%r"))
    for i in range(2, width):
        body.append(nest("%r", f"%u{i}", "%r"))
    return function(body)


def test_less_memory_costs_streams() -> None:
    free, tight = compiled(two_stages(8)), compiled(two_stages(8), memory_allowance=0.0)
    assert used(free) == (16, 9, 16)
    planned, sequential, _ = used(tight)
    assert planned <= sequential == 9
    assert free.memory_use is not None and tight.memory_use is not None
    assert tight.memory_use.streams < free.memory_use.streams
    middle = compiled(two_stages(8), memory_allowance=0.5)
    assert 9 < used(middle)[0] <= 13


def test_a_limit_of_streams() -> None:
    program = compiled(fan(6), max_streams=2)
    assert used(program)[0] == 6
    assert program.memory_use is not None and program.memory_use.streams == 2


@pytest.mark.parametrize("option", [{"max_streams": 0}, {"memory_allowance": -0.5}])
def test_limits_that_make_no_sense(option: dict[str, float]) -> None:
    with pytest.raises(OptionError, match=next(iter(option))):
        compiled(fan(2), **option)


def test_places_do_not_overlap() -> None:
    generator = random.Random()
    for _ in range(200):
        count = generator.randint(0, 30)
        sizes = [256 * generator.randint(1, 9) for _ in range(count)]
        conflicts = np.zeros((count, count), bool)
        pairs = [p for p in combinations(range(count), 2) if generator.random() < 0.4]
        for i, j in pairs:
            conflicts[i, j] = conflicts[j, i] = True
        offsets, end = place(sizes, conflicts)
        assert end <= sum(sizes)
        for i, j in pairs:
            assert offsets[i] + sizes[i] <= offsets[j] or offsets[j] + sizes[j] <= offsets[i]


def random_program(generator: random.Random, steps: int) -> tuple[str, list[tuple[int, int, int]]]:
    """Sums of earlier values, the last into %r, and which those are; -1 is the argument."""
    body: list[str] = []
    sums: list[tuple[int, int, int]] = []
    for i in range(steps):
        x, y = (generator.randint(max(-1, i - 6), i - 1) for _ in range(2))
        shift = generator.randint(0, 5)
        names = [f"%t{n}" if n >= 0 else "%a" for n in (x, y)]
        sums.append((x, y, shift))
        if i < steps - 1:
            body.append(alloc(f"t{i}"))
        body.append(nest(*names, f"%t{i}" if i < steps - 1 else "%r", shift))
    return function(body), sums


def expected(a: np.ndarray, sums: list[tuple[int, int, int]]) -> np.ndarray:
    values = {-1: a}
    for i, (x, y, shift) in enumerate(sums):
        values[i] = values[x] + np.roll(values[y], -shift)
    return values[len(sums) - 1]


SHARING = [seed for seed in range(20) if seed // 5 % 2 == 0]


def wrong(seed: int, orders: list[int]) -> int:
    """How many orders of a random program give something else than numpy."""
    text, sums = random_program(random.Random(seed), 14)
    a = np.random.default_rng(seed).integers(-2, 3, 64).astype(np.float32)
    found = 0
    for order in orders:
        r = np.full(64, np.nan, np.float32)
        compiled(text, schedule_seed=order)(a, r)
        found += not np.array_equal(r, expected(a, sums))
    return found


def test_random_programs_in_any_order() -> None:
    for seed in (1, 2, 3, random.randrange(1 << 30)):
        assert wrong(seed, SHARING) == 0, seed


def test_a_wrong_plan_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Buffers that share although nothing orders them give wrong results with some seed."""
    monkeypatch.setattr(
        memory_plan, "_conflicts", lambda _, buffers, __: np.zeros((len(buffers),) * 2, bool)
    )
    assert wrong(1, SHARING) > 0


def test_the_pieces_of_memory_are_those_that_conflict() -> None:
    """All pairs of a chain and a fan: neighbours conflict, and whatever nothing orders."""
    program = compiled(chain(6))
    planner = memory_plan.MemoryPlanner(program.schedule, on_gpu=False)
    assert pairs(planner) == {(i, i + 1) for i in range(5)}
    planner = memory_plan.MemoryPlanner(compiled(fan(4)).schedule, on_gpu=False)
    assert pairs(planner) == set(combinations(range(4), 2))


def pairs(planner: memory_plan.MemoryPlanner) -> set[tuple[int, int]]:
    conflicts = planner._conflicts_with(8)
    return {p for p in combinations(range(len(conflicts)), 2) if conflicts[p]}
