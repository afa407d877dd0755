"""What threads compute together: on the CPU with one thread, and through the PTX assembler."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from opar.errors import UnsupportedError
from tests.backend.kernel_tools import HostKernel, assemble, kernel, ptx

ONE = "attributes {known_block_size = array<i32: 1, 1, 1>}"

SHUFFLE = """%i = gpu.thread_id x
%v = memref.load %a[%i] : memref<64xTYPE>
%o = arith.constant OFFSET : i32
%w = arith.constant 32 : i32
%r, %valid = gpu.shuffle MODE %v, %o, %w : TYPE
memref.store %r, %a[%i] : memref<64xTYPE>"""


@pytest.mark.parametrize("mode", ["xor", "up", "down", "idx"])
@pytest.mark.parametrize("type", ["i8", "i32", "i64", "f16", "bf16", "f32", "f64"])
def test_shuffle(mode: str, type: str, ptxas: Path, tmp_path: Path) -> None:
    body = SHUFFLE.replace("MODE", mode).replace("TYPE", type).replace("OFFSET", "3")
    text = ptx(kernel(f"%a: memref<64x{type}>", body), "sm_75").text
    kind = {"xor": "bfly"}.get(mode, mode)
    assert text.count(f"shfl.sync.{kind}.b32") == (2 if type.endswith("64") else 1)
    assemble(ptxas, text, "sm_75", tmp_path)


KINDS = {"i32": ["add", "mul", "minui", "minsi", "maxui", "maxsi", "and", "or", "xor"],
         "f32": ["add", "mul", "minnumf", "maxnumf", "minimumf", "maximumf"]}  # fmt: skip


@pytest.mark.parametrize("type,kind", [(t, k) for t, kinds in KINDS.items() for k in kinds])
def test_reductions(type: str, kind: str, ptxas: Path, tmp_path: Path) -> None:
    body = f"""%i = gpu.thread_id x
    %v = memref.load %a[%i] : memref<64x{type}>
    %s = gpu.subgroup_reduce {kind} %v : ({type}) -> {type}
    %t = gpu.all_reduce {kind} %s {{}} : ({type}) -> {type}
    memref.store %t, %a[%i] : memref<64x{type}>"""
    module = ptx(kernel(f"%a: memref<64x{type}>", body), "sm_75")
    assert module.text.count("shfl.sync.bfly") == 5
    assert module.kernels["k"].static_shared_bytes == 4096
    assemble(ptxas, module.text, "sm_75", tmp_path)
    x = np.array([7], np.int32 if type == "i32" else np.float32)
    HostKernel(kernel(f"%a: memref<64x{type}>", body, ONE))(x)
    assert x[0] == 7


def test_reduction_by_a_region_and_clusters(ptxas: Path, tmp_path: Path) -> None:
    body = """%i = gpu.thread_id x
    %v = memref.load %a[%i] : memref<64xf32>
    %s = gpu.subgroup_reduce add %v cluster(size = 4, stride = 2) : (f32) -> f32
    %t = gpu.all_reduce %s {
    ^bb0(%x: f32, %y: f32):
      %z = arith.maximumf %x, %y : f32
      gpu.yield %z : f32
    } : (f32) -> f32
    %q, %valid = gpu.rotate %t, 3, 16 : f32
    memref.store %q, %a[%i] : memref<64xf32>"""
    known = "attributes {known_block_size = array<i32: 48, 1, 1>}"
    module = ptx(kernel("%a: memref<64xf32>", body, known))
    assert module.kernels["k"].static_shared_bytes == 192
    assert module.text.count("shfl.sync.bfly") == 2
    assemble(ptxas, module.text, "sm_80", tmp_path)
    with pytest.raises(UnsupportedError, match="clusters of 4 lanes"):
        HostKernel(kernel("%a: memref<64xf32>", body, ONE))


def test_subgroup_properties(ptxas: Path, tmp_path: Path) -> None:
    body = "%i = gpu.thread_id x\n"
    for n, op in enumerate(("lane_id", "subgroup_id : index", "num_subgroups : index",
                            "subgroup_size : index")):  # fmt: skip
        body += f"""%v{n} = gpu.{op}
        %c{n} = arith.constant {n} : index
        memref.store %v{n}, %a[%c{n}] : memref<4xindex>
        """
    out = np.zeros(4, np.int64)
    HostKernel(kernel("%a: memref<4xindex>", body))(out, block=(2, 1, 3))
    assert out.tolist() == [0, 5, 6, 1]
    assemble(ptxas, ptx(kernel("%a: memref<4xindex>", body)).text, "sm_80", tmp_path)


def test_dynamic_workgroup_memory(ptxas: Path, tmp_path: Path) -> None:
    body = """%w = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
    %c256 = arith.constant 256 : index
    %f = memref.view %w[%c256][] : memref<?xi8, #gpu.address_space<workgroup>>
      to memref<64xf32, #gpu.address_space<workgroup>>
    %i = gpu.thread_id x
    %v = memref.load %a[%i] : memref<64xf32>
    memref.store %v, %f[%i] : memref<64xf32, #gpu.address_space<workgroup>>
    gpu.barrier
    %c0 = arith.constant 0 : index
    %u = memref.load %f[%c0] : memref<64xf32, #gpu.address_space<workgroup>>
    memref.store %u, %a[%i] : memref<64xf32>"""
    module = ptx(kernel("%a: memref<64xf32>", body))
    assert module.kernels["k"].uses_dynamic_shared
    assert ".extern .shared" in module.text
    assemble(ptxas, module.text, "sm_80", tmp_path)
    with pytest.raises(UnsupportedError, match="dynamic workgroup memory"):
        HostKernel(kernel("%a: memref<64xf32>", body))


def test_only_the_dialects_of_a_kernel_are_loaded() -> None:
    program = """
import sys
from tests.backend.kernel_tools import HostKernel, kernel
HostKernel(kernel("%a: memref<4xf32>", '''%i = gpu.thread_id x
%v = memref.load %a[%i] : memref<4xf32>
%w = arith.addf %v, %v : f32
memref.store %w, %a[%i] : memref<4xf32>'''))
print(*(m for m in sys.modules if m.startswith(("xdsl.dialects.", "opar.dialects."))))
"""
    result = subprocess.run(
        [sys.executable, "-c", program],
        cwd=Path(__file__).parents[2], capture_output=True, text=True, check=True,
    )  # fmt: skip
    loaded = {name.split(".")[2] for name in result.stdout.split()}
    assert not loaded & {"scf", "affine", "vector", "math", "linalg", "llvm", "tensor", "cf"}
