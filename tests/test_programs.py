"""Whole programs against numpy, on the CPU and, where there is one, on a GPU."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import opar
from tests.programs import IN_PLACE, seed

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "examples"))
import expected

SEED_FILE = Path(__file__).resolve().parents[2] / "shared" / "cases" / "seed_parallel.mlir"

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


def relative_error(found: np.ndarray, reference: np.ndarray) -> float:
    assert not np.isnan(found).any()
    return float(np.linalg.norm(found - reference) / max(np.linalg.norm(reference), 1e-300))


def random(generator: np.random.Generator, *shape: int) -> np.ndarray:
    return generator.standard_normal(shape).astype(np.float32)


@pytest.fixture
def generator() -> np.random.Generator:
    """Fresh inputs in each run; the seed is printed when a test fails."""
    entropy = np.random.SeedSequence().entropy
    print("inputs from seed", entropy)
    return np.random.default_rng(entropy)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("sizes", [(4, 5, 3), (128,) * 3, (512,) * 3, (1024,) * 3, (1, 1, 1)])
def test_seed(device: str, sizes: tuple[int, int, int], generator: np.random.Generator) -> None:
    rows, inner, cols = sizes
    program = opar.compile(seed(*sizes), device=device)
    for _ in range(2):
        a, b = random(generator, rows, inner), random(generator, inner, cols)
        reference = 2 * (a.astype(np.float64) @ b.astype(np.float64))
        assert relative_error(program(a, b), reference) < 1e-5


@pytest.mark.skipif(not SEED_FILE.exists(), reason="the case files are not here")
@pytest.mark.parametrize("device", DEVICES)
def test_seed_file_as_it_is(device: str, generator: np.random.Generator) -> None:
    program = opar.compile(SEED_FILE, device=device)
    a, b = random(generator, 4, 5), random(generator, 5, 3)
    reference = 2 * (a.astype(np.float64) @ b.astype(np.float64))
    assert relative_error(program(a, b), reference) < 1e-5
    assert program.schedule.counts()["launches"] == 3
    assert program.schedule.counts()["waits"] == 1


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", ["two_products_and_sum", "fan_of_eight", "diamond", "jacobi"])
def test_example(device: str, name: str, examples: Path, generator: np.random.Generator) -> None:
    program = opar.compile(examples / f"{name}.mlir", device=device)
    arguments = [random(generator, *a.shape) for a in program.schedule.arguments]
    (reference,) = getattr(expected, name)(*(a.astype(np.float64) for a in arguments))
    assert relative_error(program(*arguments), reference) < 1e-5


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("length", [0, 1, 31, 1000, 100_003])
def test_chain(device: str, length: int, examples: Path, generator: np.random.Generator) -> None:
    program = opar.compile(examples / "chain.mlir", device=device)
    x, y = random(generator, length), np.full(length, np.nan, np.float32)
    assert program(x, y) is None
    (reference,) = expected.chain(x.astype(np.float64), y)
    assert relative_error(y, reference) < 1e-6


@pytest.mark.parametrize("device", DEVICES)
def test_every_example_has_an_expected_result(device: str, examples: Path) -> None:
    names = {path.stem for path in examples.glob("*.mlir")}
    assert names == {n for n in names if callable(getattr(expected, n, None))}


def in_place_reference(x: np.ndarray, y: np.ndarray, scale: float) -> None:
    y[:] = np.float32(scale) * x
    y[:] = x + y


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shift", [None, 0, 1, 700])
def test_arguments_may_overlap(
    device: str, shift: int | None, generator: np.random.Generator
) -> None:
    """The same memory passed twice, or partly twice, gives what sequential code gives."""
    program = opar.compile(IN_PLACE, device=device)
    length = 1000
    buffer = random(generator, 2 * length)
    if shift in (None, 0):
        copies = [buffer.copy(), buffer.copy()]
        views = [(b[:length], b[:length] if shift == 0 else b[length:]) for b in copies]
        in_place_reference(*views[0], 3.0)
        program(*views[1], 3.0)
        np.testing.assert_array_equal(copies[1], copies[0])
        return
    # Within one launch a shifted overlap has no defined order, so only the rest is compared:
    # elements that the first launch reads must not have been written by the second.
    view = buffer[:length], buffer[shift : shift + length]
    outside = buffer[shift + length :].copy()
    program(*view, 3.0)
    np.testing.assert_array_equal(buffer[shift + length :], outside)


@pytest.mark.parametrize("device", DEVICES)
def test_overlap_takes_another_version(device: str) -> None:
    program = opar.compile(IN_PLACE, device=device)
    x = np.ones(10, np.float32)
    y = np.ones(10, np.float32)
    program(x, y, 2.0)
    assert list(program._loaded) == [True]
    program(x, x, 2.0)
    assert list(program._loaded) == [True, False]
    np.testing.assert_array_equal(y, np.full(10, 3.0, np.float32))
    np.testing.assert_array_equal(x, np.full(10, 4.0, np.float32))


@pytest.mark.gpu
def test_gpu_arrays_are_used_in_place(generator: np.random.Generator) -> None:
    from tests.test_concurrency import from_gpu, to_gpu

    program = opar.compile(IN_PLACE, device="cuda")
    host = random(generator, 5000)
    x, y = to_gpu(host), to_gpu(np.full(5000, np.nan, np.float32))
    program(x, y, 2.0)
    reference = np.empty_like(host)
    in_place_reference(host, reference, 2.0)
    np.testing.assert_array_equal(from_gpu(y), reference)
    np.testing.assert_array_equal(from_gpu(x), host)
    program(x, x, 2.0)
    in_place_reference(host, host, 2.0)
    np.testing.assert_array_equal(from_gpu(x), host)


@pytest.mark.gpu
def test_gpu_and_numpy_arrays_mix(generator: np.random.Generator) -> None:
    from tests.test_concurrency import to_gpu

    program = opar.compile(seed(40, 50, 60), device="cuda")
    a, b = random(generator, 40, 50), random(generator, 50, 60)
    reference = 2 * (a.astype(np.float64) @ b.astype(np.float64))
    assert relative_error(program(to_gpu(a), b), reference) < 1e-5


def test_results_are_new_arrays_each_call() -> None:
    program = opar.compile(seed(4, 5, 3), device="cpu")
    a, b = np.ones((4, 5), np.float32), np.ones((5, 3), np.float32)
    first = program(a, b)
    second = program(2 * a, b)
    assert (first == 10).all() and (second == 20).all()


def test_concurrent_calls_of_one_program() -> None:
    from concurrent.futures import ThreadPoolExecutor

    program = opar.compile(seed(64, 64, 64), device="cpu")
    inputs = [np.full((64, 64), i, np.float32) for i in range(40)]
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda a: program(a, np.eye(64, dtype=np.float32)), inputs))
    for i, result in enumerate(results):
        assert (result == 2 * i).all()
