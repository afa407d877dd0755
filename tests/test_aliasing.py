"""Programs whose memory overlaps, run: results are those of sequential code on random inputs."""

from __future__ import annotations

import numpy as np
import pytest

import opar
from opar.backend.compiler import Options, compile_text
from opar.backend.schedule import Wait

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]

HALF = "memref<512xf32, strided<[1], offset: 512>>"
SHIFT = f"""
func.func private @shift(%a: memref<512xf32>, %b: memref<512xf32>) {{
  affine.parallel (%i) = (0) to (511) {{
    %v = affine.load %a[%i + 1] : memref<512xf32>
    %w = arith.addf %v, %v : f32
    affine.store %w, %b[%i] : memref<512xf32>
  }}
  affine.parallel (%i) = (0) to (512) {{
    %v = affine.load %a[%i] : memref<512xf32>
    %w = arith.mulf %v, %v : f32
    affine.store %w, %a[%i] : memref<512xf32>
  }}
  return
}}
func.func @apart(%x: memref<512xf32>, %y: memref<512xf32>) {{
  call @shift(%x, %y) : (memref<512xf32>, memref<512xf32>) -> ()
  return
}}
func.func @halves(%x: memref<1024xf32>) {{
  %a = memref.subview %x[0] [512] [1] : memref<1024xf32> to memref<512xf32>
  %b = memref.subview %x[512] [512] [1] : memref<1024xf32> to {HALF}
  affine.parallel (%i) = (0) to (512) {{
    %v = affine.load %a[%i] : memref<512xf32>
    affine.store %v, %b[%i] : {HALF}
  }}
  affine.parallel (%i) = (0) to (512) {{
    %v = affine.load %x[%i + 512] : memref<1024xf32>
    %w = arith.addf %v, %v : f32
    affine.store %w, %a[%i] : memref<512xf32>
  }}
  return
}}
func.func private @pair(%a: memref<512xf32>, %b: memref<512xf32>) {{
  affine.parallel (%i) = (0) to (512) {{
    %v = affine.load %a[%i] : memref<512xf32>
    %w = arith.addf %v, %v : f32
    affine.store %w, %b[%i] : memref<512xf32>
  }}
  affine.parallel (%i) = (0) to (512) {{
    %v = affine.load %a[%i] : memref<512xf32>
    %w = arith.mulf %v, %v : f32
    affine.store %w, %a[%i] : memref<512xf32>
  }}
  return
}}
func.func @twice(%x: memref<512xf32>) {{
  call @pair(%x, %x) : (memref<512xf32>, memref<512xf32>) -> ()
  return
}}
"""

SHIFTED = """
func.func @f(%x: memref<64xf32>, %y: memref<64xf32>) {
  %two = arith.constant 2.0 : f32
  affine.parallel (%i) = (32) to (64) {
    %v = affine.load %x[%i] : memref<64xf32>
    %w = arith.addf %v, %two : f32
    affine.store %w, %x[%i] : memref<64xf32>
  }
  affine.parallel (%i) = (0) to (32) {
    %v = affine.load %y[%i] : memref<64xf32>
    %w = arith.mulf %v, %two : f32
    affine.store %w, %y[%i] : memref<64xf32>
  }
  return
}
"""


@pytest.mark.parametrize("seed", range(5))
def test_arguments_that_overlap_at_other_places(seed: int, generator: np.random.Generator) -> None:
    program = opar.compile(SHIFTED, device="cpu", schedule_seed=seed)
    memory = generator.random(96, np.float32)
    expected = memory.copy()
    expected[32:64] = (expected[32:64] + np.float32(2)) * np.float32(2)
    program(memory[:64], memory[32:])
    np.testing.assert_array_equal(memory, expected)


SUMS = """
func.func @sums(
  %x: memref<{n}xi32>, %y: memref<{n}xi32>, %bins: memref<7xi32>, %total: memref<7xi32>
) {{
  %c7 = arith.constant 7 : i32
  affine.parallel (%i) = (0) to ({n}) {{
    %v = affine.load %x[%i] : memref<{n}xi32>
    %r = arith.remui %v, %c7 : i32
    %k = arith.index_castui %r : i32 to index
    %old = memref.atomic_rmw addi %v, %bins[%k] : (i32, memref<7xi32>) -> i32
  }}
  affine.parallel (%i) = (0) to ({n}) {{
    %v = affine.load %y[%i] : memref<{n}xi32>
    %r = arith.remui %v, %c7 : i32
    %k = arith.index_castui %r : i32 to index
    %old = memref.atomic_rmw addi %v, %bins[%k] : (i32, memref<7xi32>) -> i32
  }}
  affine.parallel (%i) = (0) to (7) {{
    %v = affine.load %bins[%i] : memref<7xi32>
    affine.store %v, %total[%i] : memref<7xi32>
  }}
  return
}}
"""


@pytest.fixture
def generator() -> np.random.Generator:
    """Fresh inputs in each run; the seed is printed when a test fails."""
    entropy = np.random.SeedSequence().entropy
    print("inputs from seed", entropy)
    return np.random.default_rng(entropy)


@pytest.mark.parametrize("device", DEVICES)
def test_a_function_called_with_one_buffer_twice(
    device: str, generator: np.random.Generator
) -> None:
    """That the caller's arguments are apart says nothing about those of the call."""
    program = opar.compile(SHIFT, entry="twice", device=device, verify_schedule=True)
    x = generator.random(512, np.float32)
    expected = (x + x) * (x + x)
    program(x)
    np.testing.assert_array_equal(x, expected)


@pytest.mark.parametrize("device", DEVICES)
def test_views_of_one_argument(device: str, generator: np.random.Generator) -> None:
    program = opar.compile(SHIFT, entry="halves", device=device, verify_schedule=True)
    x = generator.random(1024, np.float32)
    x[512:] = np.nan
    half = x[:512].copy()
    program(x)
    np.testing.assert_array_equal(x, np.concatenate([half + half, half]))


@pytest.mark.parametrize("device", DEVICES)
def test_views_of_one_array_as_arguments(device: str, generator: np.random.Generator) -> None:
    """Halves of an array share no element: the program for arguments that are apart runs."""
    program = opar.compile(SHIFT, entry="apart", device=device, verify_schedule=True)
    whole = generator.random(1024, np.float32)
    whole[512:1023] = np.nan
    x = whole[:512].copy()
    last = whole[1023]
    program(whole[:512], whole[512:])
    np.testing.assert_array_equal(whole[:512], x * x)
    np.testing.assert_array_equal(whole[512:], np.append(x[1:] + x[1:], last))
    assert list(program._loaded) == [True]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("commuting", ["true", "false"])
def test_sums_by_atomic_updates(
    device: str, commuting: str, generator: np.random.Generator
) -> None:
    count = 3000
    pipeline = f"opar-pipeline{{target={device} commuting-atomics={commuting}}}"
    text = SUMS.format(n=count)
    program = opar.compile(text, device=device, pipeline=pipeline, verify_schedule=True)
    x, y = (generator.integers(0, 1 << 20, count, np.int32) for _ in range(2))
    bins = generator.integers(0, 100, 7, np.int32)
    total = np.full(7, -1, np.int32)
    expected = bins.copy()
    for values in (x, y):
        np.add.at(expected, values % 7, values)
    program(x, y, bins, total)
    np.testing.assert_array_equal(bins, expected)
    np.testing.assert_array_equal(total, expected)


STARTED = """
module attributes {gpu.container_module} {
gpu.module @k {
  gpu.func @square(%a: memref<64xf32>) kernel {
    %i = gpu.block_id x
    %v = memref.load %a[%i] : memref<64xf32>
    %w = arith.mulf %v, %v : f32
    memref.store %w, %a[%i] : memref<64xf32>
    gpu.return
  }
}
func.func private @start(%a: memref<64xf32>) -> !gpu.async.token {
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %0 = gpu.launch_func async @k::@square blocks in (%c64, %c1, %c1)
      threads in (%c1, %c1, %c1) args(%a : memref<64xf32>)
  return %0 : !gpu.async.token
}
func.func @f(%x: memref<64xf32> {llvm.noalias}, %y: memref<64xf32> {llvm.noalias}) {
  %0 = call @start(%x) : (memref<64xf32>) -> !gpu.async.token
  %1 = call @start(%y) : (memref<64xf32>) -> !gpu.async.token
  %2 = call @start(%x) : (memref<64xf32>) -> !gpu.async.token
  return
}
}
"""


def test_calls_that_return_tokens(generator: np.random.Generator) -> None:
    """Two calls on buffers of their own run at the same time, a third waits for the first."""
    pipeline = "gpu-async-dataflow,gpu-assign-streams"
    compiled = compile_text(STARTED, "f", Options("cpu", "host", "f", pipeline, False, True))
    first, second, wait, third, _ = compiled.schedule.operations
    assert first.stream != second.stream and not second.dependencies
    assert isinstance(wait, Wait) and wait.dependencies == (0,) and third.stream != second.stream
    program = opar.compile(STARTED, entry="f", device="cpu", pipeline=pipeline)
    x, y = (generator.random(64, np.float32) for _ in range(2))
    expected = (x * x) * (x * x), y * y
    program(x, y)
    np.testing.assert_array_equal(x, expected[0])
    np.testing.assert_array_equal(y, expected[1])
