"""
The `affine`, `memref` and `scf` dialects against mlir-opt: it prints what opar parses, and reads
what opar prints as the program that it printed itself.
"""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer

from opar.dialects.parsing import parse_module, verify
from opar.dialects.reduction_kind import ReductionKind
from tests.mlir_tools import mlir_opt

FILES = Path(__file__).parent / "filecheck" / "dialects"
GENERIC = "-mlir-print-op-generic"


def show(module: ModuleOp, *, generic: bool) -> str:
    stream = StringIO()
    Printer(stream=stream, print_generic_format=generic).print_op(module)
    return stream.getvalue()


def parse(text: str) -> ModuleOp:
    module = parse_module(text)
    verify(module)
    return module


def check_both_ways(texts: list[str], expected: str) -> None:
    for text in texts:
        module = parse(text)
        assert mlir_opt(show(module, generic=False)) == expected
        assert mlir_opt(show(module, generic=True)) == expected


@pytest.mark.parametrize("dialect", ["affine", "memref", "scf"])
@pytest.mark.parametrize("source", ["written", "pretty", "generic"])
def test_roundtrip(dialect: str, source: str) -> None:
    written = (FILES / dialect / "ops.mlir").read_text()
    expected = mlir_opt(written)
    text = {"written": written, "pretty": expected, "generic": mlir_opt(written, GENERIC)}[source]
    check_both_ways([text], expected)


LOOPS = """
    func.func @f(%a: memref<64x64xf32>, %b: memref<64x64xf32>, %c: memref<64x64xf32>, %n: index) {
      affine.for %i = 0 to 64 {
        affine.for %j = 0 to 64 {
          affine.for %k = 0 to %n {
            %0 = affine.load %a[%i, %k] : memref<64x64xf32>
            %1 = affine.load %b[%k, %j] : memref<64x64xf32>
            %2 = arith.mulf %0, %1 : f32
            %3 = affine.load %c[%i, %j] : memref<64x64xf32>
            %4 = arith.addf %2, %3 : f32
            affine.store %4, %c[%i, %j] : memref<64x64xf32>
          }
        }
      }
      return
    }
"""


@pytest.mark.parametrize(
    "passes",
    [
        ("--pass-pipeline=builtin.module(func.func(affine-loop-tile{tile-sizes=7,16,5}))",),
        ("--pass-pipeline=builtin.module(func.func(affine-parallelize{parallel-reductions}))",),
        ("--pass-pipeline=builtin.module(func.func(affine-loop-unroll{unroll-factor=4}))",),
        ("--pass-pipeline=builtin.module(func.func(affine-loop-unroll-jam{unroll-jam-factor=3}))",),
        (
            "--pass-pipeline=builtin.module(func.func(affine-super-vectorize{virtual-vector-size=8}))",
        ),
        (
            "--pass-pipeline=builtin.module(func.func(affine-loop-tile{tile-sizes=7,16,5},"
            "affine-parallelize))",
        ),
        ("--lower-affine",),
        (
            "--pass-pipeline=builtin.module(func.func(affine-parallelize,lower-affine,"
            "canonicalize,scf-parallel-loop-tiling{parallel-loop-tile-sizes=8,8}))",
        ),
    ],
)
def test_output_of_mlir_passes(passes: tuple[str, ...]) -> None:
    expected = mlir_opt(LOOPS, *passes)
    check_both_ways([expected, mlir_opt(LOOPS, *passes, GENERIC)], expected)


@pytest.mark.parametrize("kind", ReductionKind)
def test_numbers_of_reduction_kinds(kind: ReductionKind) -> None:
    type = "f32" if kind.is_float else "i32"
    text = f"""
        func.func @f(%v: {type}, %m: memref<4x{type}>, %i: index) {{
          %r = memref.atomic_rmw {kind.name} %v, %m[%i] : ({type}, memref<4x{type}>) -> {type}
          return
        }}
    """
    assert f"kind = {int(kind)} : i64" in mlir_opt(text, GENERIC)
