"""Operations that no token orders really run at the same time: shown with a latch, not a clock."""

from pathlib import Path

import numpy as np
import pytest

import opar

LATCH = Path(__file__).parent / "data" / "latch.mlir"

TRIES = {"cpu": 200_000_000, "cuda": 10_000_000}


def meet(entry: str, device: str, tries: int) -> tuple[int, int]:
    program = opar.compile(LATCH, entry, device, pipeline="gpu-assign-streams")
    arrays = [np.zeros(1, np.int32) for _ in range(4)]
    if device == "cuda":
        arrays = [to_gpu(a) for a in arrays]
    program(*arrays, tries)
    return tuple(int(a.get()[0] if device == "cuda" else a[0]) for a in arrays[2:])


def to_gpu(array: np.ndarray):
    import pycuda.gpuarray as gpuarray

    device = opar.get_device("cuda")
    device.context.push()
    try:
        return gpuarray.to_gpu(array)
    finally:
        device.driver.Context.pop()


DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


@pytest.mark.parametrize("device", DEVICES)
def test_two_unordered_kernels_meet(device: str) -> None:
    assert meet("concurrent", device, TRIES[device]) == (1, 1)


@pytest.mark.parametrize("device", DEVICES)
def test_a_token_keeps_them_apart(device: str) -> None:
    first, second = meet("in_order", device, 1000)
    assert (first, second) == (0, 1)
