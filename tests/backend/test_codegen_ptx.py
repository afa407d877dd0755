"""Kernels to PTX: what the text holds, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from opar.errors import OptionError, TargetLimitError, UnsupportedError
from tests.backend.kernel_tools import assemble, kernel, ptx

ASSEMBLED = ["sm_75", "sm_80", "sm_90"]

MATMUL = """
  %i = gpu.global_id y
  %j = gpu.global_id x
  %z = arith.constant 0.0 : f32
  %r = affine.for %k = 0 to 64 iter_args(%acc = %z) -> (f32) {
    %x = memref.load %a[%i, %k] : memref<64x64xf32>
    %y = memref.load %b[%k, %j] : memref<64x64xf32>
    %p = arith.mulf %x, %y FLAGS : f32
    %s = arith.addf %acc, %p FLAGS : f32
    affine.yield %s : f32
  }
  memref.store %r, %c[%i, %j] : memref<64x64xf32>"""


def matmul(noalias: bool = False, flags: str = "", attributes: str = "") -> str:
    attribute = " {llvm.noalias}" if noalias else ""
    arguments = ", ".join(f"%{n}: memref<64x64xf32>{attribute}" for n in "abc")
    return kernel(arguments, MATMUL.replace("FLAGS", flags), attributes)


@pytest.mark.parametrize("arch", ASSEMBLED)
def test_matmul_assembles(arch: str, ptxas: Path, tmp_path: Path) -> None:
    assemble(ptxas, ptx(matmul(noalias=True), arch).text, arch, tmp_path)


def test_noalias_loads_through_the_read_only_cache() -> None:
    loads = re.findall(r"ld\.global\S*", ptx(matmul(noalias=True)).text)
    assert loads and all(".nc" in load for load in loads)
    assert not re.search(r"ld\.global\S*\.nc", ptx(matmul()).text)


def test_floats_are_strict_unless_told() -> None:
    strict = ptx(matmul()).text
    assert "fma.rn.f32" not in strict and "mul.rn.f32" in strict and "add.rn.f32" in strict
    for flags in ("contract", "fast"):
        assert "fma.rn.f32" in ptx(matmul(flags=f"fastmath<{flags}>")).text


def test_launch_information() -> None:
    text = """gpu.module @m {
    gpu.func @"a.b$c"(%a: memref<?x4xf32, strided<[?, 1], offset: ?>>, %n: index, %f: f16)
        workgroup(%w: memref<32xf32, #gpu.address_space<workgroup>>) kernel
        attributes {known_block_size = array<i32: 32, 4, 1>} {
      gpu.return
    }}"""
    module = ptx(text)
    info = module.kernels["a.b$c"]
    assert re.fullmatch(r"\w+", info.name) and f".entry {info.name}(" in module.text
    assert info.known_block_size == (32, 4, 1)
    assert ".maxntid 32, 4, 1" in module.text
    assert info.static_shared_bytes == 128
    assert [[(p.kind, p.type, p.dim) for p in group] for group in info.params] == [
        [("pointer", "ptr", None), ("size", "i64", 0), ("stride", "i64", 0)],
        [("scalar", "i64", None)],
        [("scalar", "f16", None)],
    ]


@pytest.mark.parametrize(
    "name", ["add", "WARP_SZ", "_", "x.y", "été", "sinf", "1", "a b", "%tid.x"]
)
def test_any_name_assembles(name: str, ptxas: Path, tmp_path: Path) -> None:
    text = f'gpu.module @m {{ gpu.func @"{name}"(%a: memref<4xf32>) kernel {{ gpu.return }} }}'
    assemble(ptxas, ptx(text).text, "sm_80", tmp_path)


TILE = """
  %t = gpu.thread_id x
  %x = memref.load %a[%t] : memref<64xf32>
  memref.store %x, %w[%t] : memref<64xf32, SPACE>
  gpu.barrier
  %c = arith.constant 63 : index
  %u = arith.subi %c, %t : index
  %y = memref.load %w[%u] : memref<64xf32, SPACE>
  memref.store %y, %a[%t] : memref<64xf32>
  gpu.return
"""


@pytest.mark.parametrize("space", ["#gpu.address_space<workgroup>", "3"])
def test_workgroup_memory(space: str, ptxas: Path, tmp_path: Path) -> None:
    head = f"%a: memref<64xf32>) workgroup(%w : memref<64xf32, {space}>) kernel"
    text = f"gpu.module @m {{ gpu.func @k({head} {{ {TILE.replace('SPACE', space)} }} }}"
    result = ptx(text).text
    assert "ld.shared" in result and "st.shared" in result and "bar.sync" in result
    assemble(ptxas, result, "sm_80", tmp_path)


REFUSED = [
    ("%a: memref<4xf32>", "gpu.printf \"x\"", UnsupportedError, "'gpu.printf': not supported"),
    ("%a: memref<4xf80>", "", UnsupportedError, "memref<4xf80>"),
    ("%a: i128", "", UnsupportedError, "i128"),
    ("%a: memref<*xf32>", "", UnsupportedError, r"memref<\*xf32>"),
    ("%a: memref<4xf32, 7>", "", UnsupportedError, "memory space 7"),
    ("%a: index", "%m = memref.alloca(%a) : memref<?xf32>", UnsupportedError, "constant size"),
    ("%a: index", "%m = memref.alloc(%a) : memref<?xf32>", UnsupportedError, "'memref.alloc'"),
    ("%a: index", "%m = memref.alloca() : memref<200000xf32>", TargetLimitError, "800000 bytes"),
]  # fmt: skip


@pytest.mark.parametrize("arguments,body,error,message", REFUSED)
def test_refused_with_the_place(
    arguments: str, body: str, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=rf"kernel\.mlir:\d+:\d+: .*{message}"):
        ptx(kernel(arguments, body))


def test_limits_of_blocks_and_workgroup_memory() -> None:
    for size, message in (("1024, 2, 1", "2048 threads"), ("1, 1, 65", "1024x1024x64")):
        attribute = f"attributes {{known_block_size = array<i32: {size}>}}"
        with pytest.raises(TargetLimitError, match=message):
            ptx(kernel("%a: index", "", attribute))
    text = kernel("%a: index", "").replace(
        "kernel", "workgroup(%w : memref<16384xf32, #gpu.address_space<workgroup>>) kernel"
    )
    with pytest.raises(TargetLimitError, match="65536 bytes of workgroup memory"):
        ptx(text)


@pytest.mark.parametrize("arch", ["sm_20", "sm_999", "gfx90a", ""])
def test_unknown_architecture(arch: str) -> None:
    with pytest.raises(OptionError, match="sm_90"):
        ptx(kernel("%a: index", ""), arch)


def test_missing_libdevice_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("opar.backend.ptx.find_libdevice", lambda: None)
    body = "%s = math.sin %x : f32\n%i = arith.constant 0 : index\n"
    body += "memref.store %s, %a[%i] : memref<1xf32>"
    with pytest.raises(Exception, match=r"kernel\.mlir:\d+:\d+: 'math.sin': .*nvidia-nvvm"):
        ptx(kernel("%a: memref<1xf32>, %x: f32", body))
    ptx(kernel("%a: memref<1xf32>, %x: f32", body.replace("sin", "sqrt")))
    ptx(kernel("%a: memref<1xf32>, %x: f32", body.replace("%x :", "%x fastmath<afn> :")))
