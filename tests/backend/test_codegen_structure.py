"""Loops, branches, maps, memrefs and ids on the CPU against Python."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from opar.backend.codegen.host import HostRecord
from opar.errors import UnsupportedError
from tests.backend.kernel_tools import HostKernel, gpu_module, kernel, ptx


def evaluate(arguments: str, body: str, *inputs: int, count: int = 1, extra: str = "") -> list[int]:
    """Run a body that stores index results to `%out`, from index arguments."""
    out = np.full(count, -99, np.int64)
    names = ", ".join(f"%{name}: index" for name in arguments.split())
    signature = f"{names}, %out: memref<{count}xindex>".removeprefix(", ")
    text = kernel(signature, body, extra=extra)
    HostKernel(text)(*inputs, out)
    return out.tolist()


ZERO = "%c0 = arith.constant 0 : index\n"
STORE = "memref.store %r, %out[%c0] : memref<1xindex>"


@pytest.mark.parametrize("value", [-17, -16, -1, 0, 1, 15, 16, 17])
@pytest.mark.parametrize("divisor", [1, 2, 3, 8, 12])
def test_affine_division_has_floor_semantics(value: int, divisor: int) -> None:
    body = ZERO
    for i, expr in enumerate(("floordiv", "ceildiv", "mod")):
        body += f"""%r{i} = affine.apply affine_map<(d0) -> (d0 {expr} {divisor})>(%n)
        %i{i} = arith.constant {i} : index
        memref.store %r{i}, %out[%i{i}] : memref<3xindex>
        """
    assert evaluate("n", body, value, count=3) == [
        value // divisor, -(-value // divisor), value % divisor
    ]  # fmt: skip


def test_affine_min_max_and_symbols() -> None:
    body = (
        ZERO
        + """%a = affine.min affine_map<(d0)[s0] -> (d0 + 3, s0 * 2, 40)>(%n)[%m]
    %b = affine.max affine_map<(d0)[s0] -> (d0 + 3, s0 * 2)>(%n)[%m]
    %c1 = arith.constant 1 : index
    memref.store %a, %out[%c0] : memref<2xindex>
    memref.store %b, %out[%c1] : memref<2xindex>"""
    )
    assert evaluate("n m", body, 10, 5, count=2) == [10, 13]
    assert evaluate("n m", body, 100, 50, count=2) == [40, 103]


def test_index_digits() -> None:
    body = (
        ZERO
        + """%d:3 = affine.delinearize_index %n into (4, 3, 5) : index, index, index
    %e:3 = affine.delinearize_index %n into (3, 5) : index, index, index
    %l = affine.linearize_index [%d#0, %d#1, %d#2] by (4, 3, 5) : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    memref.store %d#0, %out[%c0] : memref<4xindex>
    memref.store %e#1, %out[%c1] : memref<4xindex>
    memref.store %d#2, %out[%c2] : memref<4xindex>
    memref.store %l, %out[%c3] : memref<4xindex>"""
    )
    assert evaluate("n", body, 2 * 15 + 1 * 5 + 4, count=4) == [2, 1, 4, 39]


LOOPS = {
    "affine": """%r = affine.for %i = %lo to %hi step 3 iter_args(%s = %c0) -> (index) {
      %t = arith.addi %s, %i : index
      affine.yield %t : index
    }""",
    "scf": """%c3 = arith.constant 3 : index
    %r = scf.for %i = %lo to %hi step %c3 iter_args(%s = %c0) -> (index) {
      %t = arith.addi %s, %i : index
      scf.yield %t : index
    }""",
    "while": """%c3 = arith.constant 3 : index
    %e, %r = scf.while (%i = %lo, %s = %c0) : (index, index) -> (index, index) {
      %in = arith.cmpi slt, %i, %hi : index
      scf.condition(%in) %i, %s : index, index
    } do {
    ^bb0(%i: index, %s: index):
      %t = arith.addi %s, %i : index
      %n = arith.addi %i, %c3 : index
      scf.yield %n, %t : index, index
    }""",
    "parallel": """%c3 = arith.constant 3 : index
    %r = scf.parallel (%i) = (%lo) to (%hi) step (%c3) init (%c0) -> index {
      scf.reduce(%i : index) {
      ^bb0(%a: index, %b: index):
        %t = arith.addi %a, %b : index
        scf.reduce.return %t : index
      }
    }""",
    "blocks": """%c3 = arith.constant 3 : index
    %r = scf.execute_region -> index {
      cf.br ^head(%lo, %c0 : index, index)
    ^head(%i: index, %s: index):
      %in = arith.cmpi slt, %i, %hi : index
      cf.cond_br %in, ^body, ^end
    ^body:
      %t = arith.addi %s, %i : index
      %n = arith.addi %i, %c3 : index
      cf.br ^head(%n, %t : index, index)
    ^end:
      scf.yield %s : index
    }""",
}


@pytest.mark.parametrize("low,high", [(0, 10), (5, 5), (7, 2), (-7, 9)])
@pytest.mark.parametrize("loop", LOOPS)
def test_loop(loop: str, low: int, high: int) -> None:
    found = evaluate("lo hi", ZERO + LOOPS[loop] + STORE, low, high)
    assert found == [sum(range(low, high, 3))]


def test_affine_for_with_min_and_max_bounds() -> None:
    body = (
        ZERO
        + """%r = affine.for %i = max affine_map<(d0) -> (d0, 2)>(%lo) to min
      affine_map<(d0)[s0] -> (d0 * 2, s0)>(%lo)[%hi] iter_args(%s = %c0) -> (index) {
      %t = arith.addi %s, %i : index
      affine.yield %t : index
    }
    """
    )
    assert evaluate("lo hi", body + STORE, 5, 8) == [5 + 6 + 7]
    assert evaluate("lo hi", body + STORE, 1, 8) == [0]


@pytest.mark.parametrize(
    "kind,type,expected",
    [("addf", "f32", 60.0), ("maximumf", "f32", 11.0), ("minimumf", "f32", -1.0),
     ("mulf", "f32", 0.0), ("addi", "i32", 60), ("muli", "i32", 0), ("ori", "i32", -1)],
)  # fmt: skip
def test_affine_parallel_reduces(kind: str, type: str, expected: float) -> None:
    out = np.zeros(1, np.float32 if type == "f32" else np.int32)
    cast = "arith.sitofp %n : i32 to f32" if type == "f32" else "arith.addi %n, %z : i32"
    text = kernel(
        f"%o: memref<1x{type}>",
        f"""{ZERO} %z = arith.constant 0 : i32
        %r = affine.parallel (%i, %j) = (0, -1) to (4, 5) step (1, 2)
            reduce ("{kind}") -> ({type}) {{
          %s = affine.apply affine_map<(d0, d1) -> (d0 * 2 + d1 + d0 floordiv 3)>(%i, %j)
          %n = arith.index_cast %s : index to i32
          %v = {cast}
          affine.yield %v : {type}
        }}
        memref.store %r, %o[%c0] : memref<1x{type}>""",
    )
    HostKernel(text)(out)
    values = [i * 2 + j + i // 3 for i in range(4) for j in range(-1, 5, 2)]
    reduced = {
        "addf": sum, "addi": sum, "maximumf": max, "minimumf": min,
        "mulf": np.prod, "muli": np.prod, "ori": np.bitwise_or.reduce,
    }[kind](values)  # fmt: skip
    assert out[0] == reduced


@pytest.mark.parametrize("n,m", [(0, 0), (3, 0), (3, 9), (-4, 9)])
def test_affine_if(n: int, m: int) -> None:
    body = (
        ZERO
        + """%c1 = arith.constant 1 : index
    %r = affine.if affine_set<(d0)[s0] : (d0 >= 0, s0 - d0 - 1 >= 0, d0 mod 3 == 0)>(%n)[%m]
        -> index {
      affine.yield %c1 : index
    } else {
      affine.yield %c0 : index
    }
    """
    )
    assert evaluate("n m", body + STORE, n, m) == [int(n >= 0 and m - n - 1 >= 0 and n % 3 == 0)]


@pytest.mark.parametrize("n", [0, 2, 5, 7])
def test_switches(n: int) -> None:
    index_switch = (
        ZERO
        + """%r = scf.index_switch %n -> index
    case 2 { %a = arith.constant 20 : index scf.yield %a : index }
    case 5 { %a = arith.constant 50 : index scf.yield %a : index }
    default { scf.yield %c0 : index }
    """
    )
    expected = [{2: 20, 5: 50}.get(n, 0)]
    assert evaluate("n", index_switch + STORE, n) == expected
    blocks = (
        ZERO
        + """%f = arith.index_cast %n : index to i32
    %a = arith.constant 20 : index
    %b = arith.constant 50 : index
    %r = scf.execute_region -> index {
      cf.switch %f : i32, [default: ^end(%c0 : index), 2: ^end(%a : index), 5: ^end(%b : index)]
    ^end(%v: index):
      scf.yield %v : index
    }
    """
    )
    assert evaluate("n", blocks + STORE, n) == expected


def test_kernel_of_several_blocks_returns_early() -> None:
    out = np.zeros(8, np.int64)
    text = """gpu.module @m { gpu.func @k(%o: memref<8xindex>) kernel {
      %i = gpu.thread_id x
      %c3 = arith.constant 3 : index
      %p = arith.cmpi slt, %i, %c3 : index
      cf.cond_br %p, ^bb1, ^bb2(%i : index)
    ^bb1:
      gpu.return
    ^bb2(%v: index):
      memref.store %v, %o[%i] : memref<8xindex>
      gpu.return
    }}"""
    HostKernel(text)(out, block=(8, 1, 1))
    assert out.tolist() == [0, 0, 0, 3, 4, 5, 6, 7]


def test_ids_and_dimensions() -> None:
    out = np.zeros((6, 8, 12), np.int64)
    text = kernel(
        "%o: memref<6x8x12xindex>",
        """%x = gpu.global_id x
        %y = gpu.global_id y
        %z = gpu.global_id z
        %bx = gpu.block_id x
        %ty = gpu.thread_id y
        %gz = gpu.grid_dim z
        %dy = gpu.block_dim y
        %v = affine.apply affine_map<(a, b, c, d) -> (a * 1000 + b * 100 + c * 10 + d)>
          (%bx, %ty, %gz, %dy)
        memref.store %v, %o[%z, %y, %x] : memref<6x8x12xindex>""",
    )
    HostKernel(text)(out, grid=(3, 4, 2), block=(4, 2, 3))
    _, y, x = np.indices(out.shape)
    np.testing.assert_array_equal(out, x // 4 * 1000 + y % 2 * 100 + 2 * 10 + 2)


@pytest.mark.parametrize("pieces", [1, 2, 5, 24])
def test_any_split_of_the_blocks_runs_each_once(pieces: int) -> None:
    out = np.zeros(24, np.int64)
    text = kernel(
        "%o: memref<24xindex>",
        """%x = gpu.block_id x
        %y = gpu.block_id y
        %z = gpu.block_id z
        %c1 = arith.constant 1 : index
        %i = affine.apply affine_map<(x, y, z) -> (x + 2 * y + 6 * z)>(%x, %y, %z)
        %v = memref.load %o[%i] : memref<24xindex>
        %w = arith.addi %v, %c1 : index
        memref.store %w, %o[%i] : memref<24xindex>""",
    )
    run = HostKernel(text)
    bounds = np.linspace(0, 24, pieces + 1).astype(int)
    for begin, end in pairwise(bounds):
        run(out, grid=(2, 3, 4), blocks=(int(begin), int(end)))
    assert out.tolist() == [1] * 24


def test_functions_of_the_module() -> None:
    extra = """func.func @twice(%a: f32, %m: memref<?xf32>) -> (f32, index) {
      %c0 = arith.constant 0 : index
      %n = memref.dim %m, %c0 : memref<?xf32>
      %r = arith.addf %a, %a : f32
      func.return %r, %n : f32, index
    }"""
    out = np.array([3, 0], np.float32)
    text = kernel(
        "%o: memref<?xf32>",
        ZERO
        + """%v = memref.load %o[%c0] : memref<?xf32>
        %r, %n = func.call @twice(%v, %o) : (f32, memref<?xf32>) -> (f32, index)
        %c1 = arith.constant 1 : index
        %l = arith.subi %n, %c1 : index
        memref.store %r, %o[%l] : memref<?xf32>""",
        extra=extra,
    )
    HostKernel(text)(out)
    assert out.tolist() == [3, 6]
    assert "call" not in ptx(text).text


def test_barriers_on_the_cpu() -> None:
    with pytest.raises(UnsupportedError, match=r"kernel\.mlir:4:1: 'gpu.barrier': .*CPU"):
        HostKernel(kernel("%o: memref<1xf32>", "gpu.barrier"))
    one = "attributes {known_block_size = array<i32: 1, 1, 1>}"
    HostKernel(kernel("%o: memref<1xf32>", "gpu.barrier", one))


def test_loops_are_vectorised_on_the_cpu() -> None:
    from opar.backend.host_object import optimized_host

    text = kernel(
        "%a: memref<1024xf32> {llvm.noalias}, %b: memref<1024xf32> {llvm.noalias}",
        """affine.for %i = 0 to 1024 {
          %x = affine.load %a[%i] : memref<1024xf32>
          %y = arith.mulf %x, %x : f32
          affine.store %y, %b[%i] : memref<1024xf32>
        }""",
    )
    assert "x float>" in str(optimized_host(gpu_module(text))[0])


def test_f16_needs_hardware(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("opar.backend.host_object.HostRecord", lambda _: HostRecord(False))
    HostKernel(kernel("%a: memref<4xf32>", ""))
    with pytest.raises(UnsupportedError, match=r"kernel\.mlir:3:1: 'gpu.func': .*f16"):
        HostKernel(kernel("%a: memref<4xf16>", ""))
