"""Operations that no token orders really run at the same time: shown with a latch, not a clock."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opar

LATCH = Path(__file__).parent / "data" / "latch.mlir"

TRIES = {"cpu": 200_000_000, "cuda": 10_000_000}


def meet(entry: str, device: str, tries: int) -> tuple[int, int]:
    program = opar.compile(
        LATCH, entry, device, pipeline="gpu-assign-streams", verify_schedule=False
    )
    host = [np.zeros(1, np.int32) for _ in range(4)]
    arrays = [to_gpu(a) for a in host] if device == "cuda" else host
    program(*arrays, tries)
    first, second = (from_gpu(a) if device == "cuda" else a for a in arrays[2:])
    return int(first[0]), int(second[0])


@contextmanager
def gpu_context() -> Iterator[None]:
    device = opar.get_device("cuda")
    device.context.push()
    try:
        yield
    finally:
        device.driver.Context.pop()


def to_gpu(array: np.ndarray) -> Any:
    """A PyCUDA array with the contents of `array`."""
    from pycuda import gpuarray

    with gpu_context():
        return gpuarray.to_gpu(array)


def from_gpu(array: Any) -> np.ndarray:
    """The contents of a PyCUDA array."""
    with gpu_context():
        return array.get()


DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


@pytest.mark.parametrize("device", DEVICES)
def test_two_unordered_kernels_meet(device: str) -> None:
    assert meet("concurrent", device, TRIES[device]) == (1, 1)


@pytest.mark.parametrize("device", DEVICES)
def test_a_token_keeps_them_apart(device: str) -> None:
    first, second = meet("in_order", device, 1000)
    assert (first, second) == (0, 1)
