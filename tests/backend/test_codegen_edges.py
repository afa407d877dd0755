"""Names, calls, divisions and roundings that go wrong easily."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from opar.backend.codegen.math import TABLE
from opar.backend.ptx import compile_ptx
from opar.errors import DeviceError, UnsupportedError
from tests.backend.kernel_tools import HostKernel, assemble, gpu_module, kernel, ptx
from tests.backend.test_codegen_math import FUNCTIONS


def binary(op: str, type: str, count: int) -> str:
    """A kernel `o[i] = op a[i], b[i]`, one element a block."""
    memref = f"memref<{count}x{type}>"
    return kernel(
        f"%a: {memref}, %b: {memref}, %o: {memref}",
        f"""%i = gpu.block_id x
        %x = memref.load %a[%i] : {memref}
        %y = memref.load %b[%i] : {memref}
        %r = {op} %x, %y : {type}
        memref.store %r, %o[%i] : {memref}""",
    )


@pytest.mark.parametrize("type", ["i8", "i32", "i64"])
@pytest.mark.parametrize(
    "op", ["divsi", "divui", "remsi", "remui", "floordivsi", "ceildivsi", "ceildivui"]
)
def test_undefined_division_does_not_end_the_process(op: str, type: str) -> None:
    dtype = np.dtype(f"i{int(type[1:]) // 8}")
    least = np.iinfo(dtype).min
    x = np.array([7, least, 0, least, 12, -12], dtype)
    y = np.array([0, -1, 0, 0, 5, 5], dtype)
    out = np.zeros_like(x)
    HostKernel(binary(f"arith.{op}", type, 6))(x, y, out, grid=(6, 1, 1))
    expected = {"divsi": 2, "divui": 2, "remsi": 2, "remui": 2, "floordivsi": 2}.get(op, 3)
    assert out[4] == expected


def test_division_by_a_size_does_not_end_the_process() -> None:
    out = np.zeros(2, np.int64)
    text = kernel(
        "%n: index, %d: index, %o: memref<2xindex>",
        """%c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %q:2 = affine.delinearize_index %n into (%d) : index, index
        memref.store %q#0, %o[%c0] : memref<2xindex>
        memref.store %q#1, %o[%c1] : memref<2xindex>""",
    )
    run = HostKernel(text)
    run(17, 5, out)
    assert out.tolist() == [3, 2]
    run(17, 0, out)


def test_half_fma_is_rounded_once() -> None:
    rng = np.random.default_rng(0)
    x, y, z = (rng.standard_normal(4096).astype(np.float16) for _ in range(3))
    # A tie of f16 plus what f32 drops.
    x[0], y[0], z[0] = 1 + 2.0**-10, 1 + 2.0**-10 * 512, 2.0**-24
    out = np.zeros_like(x)
    memref = "memref<4096xf16>"
    text = kernel(
        f"%a: {memref}, %b: {memref}, %c: {memref}, %o: {memref}",
        f"""%i = gpu.block_id x
        %x = memref.load %a[%i] : {memref}
        %y = memref.load %b[%i] : {memref}
        %z = memref.load %c[%i] : {memref}
        %r = math.fma %x, %y, %z : f16
        memref.store %r, %o[%i] : {memref}""",
    )
    HostKernel(text)(x, y, z, out, grid=(4096, 1, 1))
    for a, b, c, found in zip(x, y, z, out, strict=True):
        exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
        near = [
            found,
            np.nextafter(found, np.float16(np.inf)),
            np.nextafter(found, -np.float16(np.inf)),
        ]
        assert min(abs(Fraction(float(v)) - exact) for v in near) == abs(
            Fraction(float(found)) - exact
        )


RECURSIVE = """func.func @f(%n: index, %c: i1) -> index {
  cf.cond_br %c, ^again, ^end
^end:
  func.return %n : index
^again:
  %r = func.call @g(%n, %c) : (index, i1) -> index
  func.return %r : index
}
func.func @g(%n: index, %c: i1) -> index {
  %r = func.call @f(%n, %c) : (index, i1) -> index
  func.return %r : index
}"""


@pytest.mark.parametrize("compile", [HostKernel, ptx], ids=["host", "ptx"])
def test_recursion_is_refused_once(compile) -> None:
    body = "%r = func.call @f(%n, %c) : (index, i1) -> index"
    with pytest.raises(UnsupportedError) as error:
        compile(kernel("%n: index, %c: i1", body, extra=RECURSIVE))
    assert str(error.value) == (
        "kernel.mlir:11:3: 'func.call': recursion is not supported in a kernel"
    )


@pytest.mark.parametrize("compile", [HostKernel, ptx], ids=["host", "ptx"])
@pytest.mark.parametrize(
    "arguments,body,message",
    [
        ("%n: i24", "", "'gpu.func': a value of type i24"),
        ("%n: vector<4xf32>", "", "'gpu.func': a value of type vector<4xf32>"),
        (
            "%n: index",
            "scf.execute_region {\ncf.br ^a\n^a:\ncf.br ^a\n}",
            "'scf.execute_region': a region that never yields",
        ),
        (
            "%n: memref<4xf32> {llvm.align = 3 : i64}",
            "",
            "'gpu.func': the alignment must be a power of two, got 3",
        ),
        (
            "%n: memref<4xf32>, %i: index",
            "%v = vector.load %n[%i] {alignment = 3 : i64} : memref<4xf32>, vector<2xf32>",
            "'vector.load': the alignment must be a power of two, got 3",
        ),
        (
            "%n: index",
            "%m = memref.alloca() {alignment = 8589934592 : i64} : memref<4xf32>",
            "'memref.alloca': stack memory is aligned to 4096 bytes",
        ),
        (
            "%n: memref<4xf32>, %i: index",
            "%v = vector.load %n[%i] : memref<4xf32>, vector<0xf32>",
            "'vector.load': type vector<0xf32> is not supported",
        ),
        (
            "%n: memref<4xf32>, %i: index",
            "%v = vector.load %n[%i] : memref<4xf32>, vector<2xf32>\n"
            "%c = arith.cmpf olt, %v, %v : vector<2xf32>",
            "'arith.cmpf': vectors cannot be compared",
        ),
        (
            "%n: memref<4xi24>, %i: index",
            "%v = memref.load %n[%i] : memref<4xi24>\n"
            "%r = memref.atomic_rmw addi %v, %n[%i] : (i24, memref<4xi24>) -> i24",
            "'memref.atomic_rmw': atomic updates of i24",
        ),
    ],
)
def test_refused_with_the_place(compile, arguments: str, body: str, message: str) -> None:
    with pytest.raises(UnsupportedError, match=rf"kernel\.mlir:\d+:\d+: {message}"):
        compile(kernel(arguments, body))


def test_names_of_kernels_never_meet_those_of_opar(ptxas: Path, tmp_path: Path) -> None:
    names = [
        "opar_shared",
        "opar_dynamic_shared",
        "opar_pow_i32_i32",
        "pow_i32_i32",
        "k",
        "_k",
        "f",
    ]
    body = """(%a: memref<64xi32>) workgroup(%w: memref<64xi32, 3>) kernel {
      %i = gpu.thread_id x
      %x = memref.load %a[%i] : memref<64xi32>
      %p = math.ipowi %x, %x : i32
      %q = func.call @f(%p) : (i32) -> i32
      memref.store %q, %w[%i] : memref<64xi32, 3>
      %y = memref.load %w[%i] : memref<64xi32, 3>
      memref.store %y, %a[%i] : memref<64xi32>
      gpu.return
    }"""
    extra = "func.func @f(%x: i32) -> i32 { func.return %x : i32 }"
    kernels = "\n".join(f"gpu.func @{n}{body}" for n in names if n != "f")
    module = ptx(f"gpu.module @m {{\n{extra}\n{kernels}\n}}")
    assert len({info.name for info in module.kernels.values()}) == len(names) - 1
    assemble(ptxas, module.text, "sm_80", tmp_path)
    HostKernel(f"gpu.module @m {{\n{extra}\n{kernels}\n}}")


def test_what_called_functions_need_counts() -> None:
    extra = """func.func @f(%x: f32) -> f32 {
      %m = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
      %r = gpu.all_reduce add %x {} : (f32) -> f32
      func.return %r : f32
    }"""
    body = "%r = func.call @f(%x) : (f32) -> f32"
    info = ptx(kernel("%x: f32", body, extra=extra)).kernels["k"]
    assert info.uses_dynamic_shared
    assert info.static_shared_bytes == 4096


WITHOUT_LIBRARY = {
    "absf", "ceil", "copysign", "exp2", "floor", "fma", "round", "roundeven", "rsqrt", "sqrt",
    "trunc",
}  # fmt: skip


@pytest.mark.parametrize("type", ["f16", "f32", "f64"])
def test_without_libdevice(type: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("opar.backend.ptx.find_libdevice", lambda: None)
    assert {f"math.{op}" for op in FUNCTIONS} <= TABLE.keys()
    for op in FUNCTIONS:
        body = f"%r = math.{op} %x : {type}\n%i = arith.constant 0 : index\n"
        body += f"memref.store %r, %a[%i] : memref<1x{type}>"
        module = gpu_module(kernel(f"%a: memref<1x{type}>, %x: {type}", body))
        if op in WITHOUT_LIBRARY and (op, type) != ("exp2", "f64"):
            compile_ptx(module, "sm_80")
            continue
        with pytest.raises(DeviceError, match=rf"\d+:\d+: 'math.{op}': .*pip install nvidia-nvvm"):
            compile_ptx(module, "sm_80")


def test_alignment_is_used() -> None:
    text = kernel(
        "%a: memref<16xf32> {llvm.align = 16 : i64}, %i: index",
        """%c0 = arith.constant 0 : index
        %v = vector.load %a[%c0] {alignment = 16 : i64} : memref<16xf32>, vector<4xf32>
        vector.store %v, %a[%i] : memref<16xf32>, vector<4xf32>""",
    )
    assert "ld.global.v4" in ptx(text).text


@pytest.mark.parametrize("type", ["i1", "i7", "i24", "i33", "i48"])
def test_vectors_of_odd_integers_have_the_layout_of_scalars(
    type: str, ptxas: Path, tmp_path: Path
) -> None:
    width = int(type[1:])
    dtype = np.dtype(f"u{1 << max((width + 7) // 8 - 1, 0).bit_length()}")
    x = np.random.default_rng(0).integers(0, 1 << width, 4, dtype)
    out = np.zeros(4, dtype)
    text = kernel(
        f"%a: memref<4x{type}>, %o: memref<4x{type}>",
        f"""%c0 = arith.constant 0 : index
        %c2 = arith.constant 2 : index
        %v = vector.load %a[%c0] : memref<4x{type}>, vector<2x{type}>
        %w = arith.addi %v, %v : vector<2x{type}>
        vector.store %w, %o[%c2] : memref<4x{type}>, vector<2x{type}>
        %s = memref.alloca() : memref<4x{type}>
        memref.copy %a, %s : memref<4x{type}> to memref<4x{type}>
        %y = vector.load %s[%c2] : memref<4x{type}>, vector<2x{type}>
        vector.store %y, %o[%c0] : memref<4x{type}>, vector<2x{type}>""",
    )
    HostKernel(text)(x, out)
    wide = [*x[2:].tolist(), *(2 * v % (1 << width) for v in x[:2].tolist())]
    assert out.tolist() == wide
    assemble(ptxas, ptx(text).text, "sm_80", tmp_path)
