"""Kernels that mlir-opt outlines touch the same elements, for this analysis, as opar's own."""

from __future__ import annotations

import islpy as isl
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument

import opar
from opar.analysis.accesses import AccessAnalysis
from opar.dialects import gpu
from tests.mlir_tools import mlir_opt

OURS = "convert-affine-parallel-to-gpu{target=cuda},gpu-kernel-outlining"
MAP = "func.func(gpu-map-parallel-loops,convert-parallel-loops-to-gpu)"
TIDY = "canonicalize,cse"
THEIRS = {
    "constants passed": f"lower-affine,{MAP},{TIDY},gpu-kernel-outlining",
    "constants sunk": f"lower-affine,{MAP},{TIDY},func.func(gpu-launch-sink-index-computations),"
    "gpu-kernel-outlining",
    "tidy": f"lower-affine,{TIDY},{MAP},{TIDY},gpu-kernel-outlining,{TIDY}",
    "i32": f"lower-affine,{MAP},{TIDY},gpu-kernel-outlining,"
    "gpu.module(gpu.func(int-range-optimizations,arith-int-range-narrowing{int-bitwidths-supported=32}))",
}

TILE = """
func.func @f(%a: memref<64x64xf32>, %b: memref<64x64xf32>) {
  affine.parallel (%i, %j) = (3, 4) to (35, 44) step (4, 2) {
    %v = affine.load %a[%i + 1, %j * 1] : memref<64x64xf32>
    affine.store %v, %b[%j, %i] : memref<64x64xf32>
  }
  return
}"""
GUARD = """
func.func @f(%a: memref<64x64xf32>, %b: memref<64x64xf32>) {
  affine.parallel (%i, %j) = (0, 0) to (64, 64) {
    affine.if affine_set<(d0, d1) : (d0 - d1 >= 0, 40 - d0 >= 0)>(%i, %j) {
      %v = affine.load %a[%i, %j] : memref<64x64xf32>
      affine.store %v, %b[%i, %j] : memref<64x64xf32>
    } else {
      %v = affine.load %b[%i, %j] : memref<64x64xf32>
      affine.store %v, %a[%i, %j] : memref<64x64xf32>
    }
  }
  return
}"""
PRODUCT = """
func.func @f(%a: memref<16x32xf32>, %b: memref<32x8xf32>, %c: memref<16x8xf32>) {
  affine.parallel (%i, %j) = (0, 0) to (8, 8) {
    affine.for %k = 4 to 32 step 2 {
      %x = affine.load %a[%i + 8, %k] : memref<16x32xf32>
      %y = affine.load %b[%k, %j] : memref<32x8xf32>
      %z = affine.load %c[%i + 8, %j] : memref<16x8xf32>
      %m = arith.mulf %x, %y : f32
      %s = arith.addf %z, %m : f32
      affine.store %s, %c[%i + 8, %j] : memref<16x8xf32>
    }
  }
  return
}"""
QUOTIENTS = """
func.func @f(%a: memref<64xf32>, %b: memref<8x8xf32>, %c: memref<64xf32>) {
  affine.parallel (%i) = (8) to (40) {
    %v = affine.load %a[%i ceildiv 3] : memref<64xf32>
    affine.store %v, %b[%i floordiv 8, %i mod 8] : memref<8x8xf32>
    affine.store %v, %c[(%i - 20) floordiv 2 + 20] : memref<64xf32>
  }
  return
}"""
TRIANGLE = """
func.func @f(%a: memref<64x64xf32>) {
  affine.parallel (%i) = (0) to (64) {
    affine.for %k = 0 to affine_map<(d0) -> (d0 + 1)>(%i) {
      %z = arith.constant 0.0 : f32
      affine.store %z, %a[%i, %k] : memref<64x64xf32>
    }
  }
  return
}"""
EXTREMES = """
func.func @f(%a: memref<64xf32>) {
  affine.parallel (%i) = (0) to (64) {
    %k = affine.min affine_map<(d0) -> (d0 + 5, 40)>(%i)
    %l = affine.max affine_map<(d0) -> (d0 - 3, 8)>(%k)
    %z = arith.constant 0.0 : f32
    memref.store %z, %a[%l] : memref<64xf32>
  }
  return
}"""


def touched(module: ModuleOp) -> list[dict[tuple[int, str], isl.Set]]:
    """For each launch, what it does to each argument of the function, and to which elements."""
    accesses = AccessAnalysis()
    found: list[dict[tuple[int, str], isl.Set]] = []
    for launch in module.walk():
        if isinstance(launch, gpu.LaunchFuncOp):
            sets: dict[tuple[int, str], isl.Set] = {}
            for access in accesses.accesses(launch):
                assert isinstance(access.root.key, BlockArgument) and not access.region.is_whole
                sets[access.root.key.index, access.kind.value] = access.region.integer_set
            found.append(sets)
    return found


@pytest.mark.parametrize("pipeline", THEIRS.values(), ids=THEIRS.keys())
@pytest.mark.parametrize(
    "text",
    [TILE, GUARD, PRODUCT, QUOTIENTS, TRIANGLE, EXTREMES],
    ids=["tile", "guard", "product", "quotients", "triangle", "extremes"],
)
def test_regions_are_the_same(text: str, pipeline: str) -> None:
    module = opar.parse_module(text)
    opar.run_passes(module, OURS)
    (ours,) = touched(module)
    (theirs,) = touched(
        opar.parse_module(mlir_opt(text, f"--pass-pipeline=builtin.module({pipeline})"))
    )
    assert ours.keys() == theirs.keys()
    for way, elements in ours.items():
        assert elements.is_equal(theirs[way]), f"{way}\n{elements}\n{theirs[way]}"


HALVES = """
func.func @f(%a: memref<?xf32>, %n: index) {{
  %h = affine.apply affine_map<(d0) -> (d0 floordiv 2)>(%n)
  affine.parallel (%i) = (0) to (%h{0}) {{
    %v = affine.load %a[%i] : memref<?xf32>
    affine.store %v, %a[%i] : memref<?xf32>
  }}
  affine.parallel (%i) = (%h) to (%n) {{
    %v = affine.load %a[%i] : memref<?xf32>
    affine.store %v, %a[%i] : memref<?xf32>
  }}
  return
}}"""


@pytest.mark.parametrize(("more", "edges"), [("", 0), (" + 1", 1)], ids=["apart", "overlap"])
@pytest.mark.parametrize("pipeline", THEIRS.values(), ids=THEIRS.keys())
def test_halves_of_a_size_known_at_run_time(more: str, edges: int, pipeline: str) -> None:
    text = mlir_opt(HALVES.format(more), f"--pass-pipeline=builtin.module({pipeline})")
    module = opar.parse_module(text)
    opar.run_passes(module, "gpu-async-dataflow")
    launches = [op for op in module.walk() if isinstance(op, gpu.LaunchFuncOp)]
    assert [len(op.async_dependencies) for op in launches] == [0, edges]
