"""
Kernels to PTX: all that the emitters accept must select (LLVM ends the process where it does not,
so those run in a process of their own) and assemble.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from opar.errors import OptionError, TargetLimitError, UnsupportedError
from tests.backend.kernel_tools import assemble, kernel, ptx
from tests.backend.test_codegen_arith import CASTS, FLOAT_OPS, INTEGER_OPS
from tests.backend.test_codegen_math import FUNCTIONS

ARCHITECTURES = ["sm_75", "sm_80", "sm_90"]

_COMPILE = """
import sys
from tests.backend.kernel_tools import ptx
sys.stdout.write(ptx(sys.stdin.read(), sys.argv[1]).text)
"""


def compile_apart(text: str, arch: str) -> str:
    """PTX from a process of its own; fails with what LLVM said when it dies."""
    result = subprocess.run(
        [sys.executable, "-c", _COMPILE, arch],
        input=text,
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def everything(type: str, lanes: int) -> str:
    """A kernel that applies every operation on `type` and stores every result."""
    wide = type if lanes == 1 else f"vector<{lanes}x{type}>"
    integer = type.startswith("i")
    lines = ["%t = gpu.thread_id x"]
    for n in ("a", "b"):
        lines.append(f"%{n} = memref.load %m{n}[%t] : memref<?x{type}>")
        if lanes > 1:
            lines[-1] = f"%{n} = vector.load %m{n}[%t] : memref<?x{type}>, {wide}"
    binary = [f"arith.{op}" for op in (INTEGER_OPS if integer else FLOAT_OPS)]
    unary = [f"math.{op}" for op in ("absi", "ctpop", "ctlz", "cttz")] if integer else []
    if not integer:
        unary = ["arith.negf", *(f"math.{op}" for op in FUNCTIONS)]
        binary += ["math.atan2", "math.copysign", "math.powf"]
    else:
        binary += ["math.ipowi"]
    expressions = [f"{op} %a, %b : {wide}" for op in binary]
    expressions += [f"{op} %a : {wide}" for op in unary]
    if not integer:
        expressions.append(f"math.fma %a, %b, %a : {wide}")
    for i, expression in enumerate(expressions):
        lines.append(f"%r{i} = {expression}")
        lines.append(f"%i{i} = arith.constant {i * lanes} : index")
        access = f"%out[%i{i}] : memref<?x{type}>"
        lines.append(
            f"memref.store %r{i}, {access}"
            if lanes == 1
            else f"vector.store %r{i}, {access}, {wide}"
        )
    return kernel(
        ", ".join(f"%{n}: memref<?x{type}>" for n in ("ma", "mb", "out")), "\n".join(lines)
    )


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("lanes", [1, 3])
@pytest.mark.parametrize("type", ["i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"])
def test_every_operation_assembles(
    type: str, lanes: int, arch: str, ptxas: Path, tmp_path: Path
) -> None:
    if lanes > 1 and arch != "sm_80":
        lanes = 2
    text = compile_apart(everything(type, lanes), arch)
    assert ".extern" not in text
    assemble(ptxas, text, arch, tmp_path)


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_every_cast_assembles(arch: str, ptxas: Path, tmp_path: Path) -> None:
    casts = [*CASTS, ("truncf", "f32", "bf16"), ("truncf", "f64", "bf16"),
             ("sitofp", "i64", "bf16"), ("extf", "bf16", "f32"), ("fptosi", "bf16", "i32"),
             ("extsi", "i1", "i32"), ("uitofp", "i1", "f32"), ("trunci", "i32", "i1"),
             ("extui", "i7", "i24"), ("sitofp", "i33", "f64")]  # fmt: skip
    types = sorted({t for _, *pair in casts for t in pair})
    lines = ["%t = gpu.thread_id x"]
    lines += [f"%v{t} = memref.load %m{t}[%t] : memref<?x{t}>" for t in types]
    for i, (op, source, target) in enumerate(casts):
        lines.append(f"%r{i} = arith.{op} %v{source} : {source} to {target}")
        lines.append(f"%i{i} = arith.constant {i} : index")
        lines.append(f"memref.store %r{i}, %m{target}[%i{i}] : memref<?x{target}>")
    arguments = ", ".join(f"%m{t}: memref<?x{t}>" for t in types)
    text = compile_apart(kernel(arguments, "\n".join(lines)), arch)
    assemble(ptxas, text, arch, tmp_path)


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


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_matmul_assembles(arch: str, ptxas: Path, tmp_path: Path) -> None:
    assemble(ptxas, ptx(matmul(noalias=True), arch).text, arch, tmp_path)


def test_noalias_loads_through_the_read_only_cache() -> None:
    loads = re.findall(r"ld\.global\S*", ptx(matmul(noalias=True)).text)
    assert loads and all(".nc" in load for load in loads)
    assert not re.search(r"ld\.global\S*\.nc", ptx(matmul()).text)


def test_floats_are_strict_unless_told() -> None:
    strict, fast = ptx(matmul()).text, ptx(matmul(flags="fastmath<contract>")).text
    assert "fma.rn.f32" not in strict and "mul.rn.f32" in strict and "add.rn.f32" in strict
    assert "fma.rn.f32" in fast


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
