"""
The `gpu` and `async` dialects against mlir-opt: it prints what opar parses, and reads what opar
prints as the program that it printed itself.
"""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer

from opar.dialects.parsing import parse_module, verify
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


@pytest.mark.parametrize("dialect", ["gpu", "async"])
@pytest.mark.parametrize("source", ["written", "pretty", "generic"])
def test_roundtrip(dialect: str, source: str) -> None:
    written = (FILES / dialect / "ops.mlir").read_text()
    expected = mlir_opt(written)
    text = {
        "written": written,
        "pretty": expected,
        "generic": mlir_opt(written, GENERIC),
    }[source]
    module = parse(text)
    assert mlir_opt(show(module, generic=False)) == expected
    assert mlir_opt(show(module, generic=True)) == expected


PASSES = {
    # MLIR's own mapping and outlining of a parallel loop, and its tokens.
    "outlined": (
        """
        func.func @f(%a: memref<64x64xf32>, %b: memref<64x64xf32>) {
          %c1 = arith.constant 1 : index
          %n = arith.constant 64 : index
          gpu.launch blocks(%bx, %by, %bz) in (%gx = %n, %gy = %c1, %gz = %c1)
              threads(%tx, %ty, %tz) in (%sx = %n, %sy = %c1, %sz = %c1) {
            gpu.barrier
            gpu.terminator
          }
          return
        }
        """,
        ("-gpu-kernel-outlining",),
    ),
    "async region": (
        """
        func.func @f(%a: memref<64xf32>, %v: f32) {
          %c1 = arith.constant 1 : index
          %m = gpu.alloc () : memref<64xf32>
          gpu.memset %m, %v : memref<64xf32>, f32
          gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
              threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1)
              workgroup(%w : memref<32xf32, #gpu.address_space<workgroup>>)
              private(%p : memref<1xf32, #gpu.address_space<private>>) {
            %id = gpu.global_id x
            gpu.printf "%d", %id : index
            gpu.terminator
          }
          gpu.memcpy %a, %m : memref<64xf32>, memref<64xf32>
          gpu.dealloc %m : memref<64xf32>
          return
        }
        """,
        ("-gpu-kernel-outlining", "-gpu-async-region"),
    ),
    "target": (
        "gpu.module @m { gpu.func @k(%a: f32) kernel { gpu.return } }",
        ("-nvvm-attach-target=chip=sm_90 O=3 features=+ptx80",),
    ),
}


@pytest.mark.parametrize("case", PASSES)
def test_output_of_mlir_passes(case: str) -> None:
    text, passes = PASSES[case]
    expected = mlir_opt(text, *passes)
    for output in (expected, mlir_opt(text, *passes, GENERIC)):
        module = parse(output)
        assert mlir_opt(show(module, generic=False)) == expected
        assert mlir_opt(show(module, generic=True)) == expected
