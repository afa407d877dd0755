"""Views, stack memory, copies and atomic updates on the CPU against numpy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.backend.kernel_tools import HostKernel, assemble, kernel, ptx

ZERO = "%c0 = arith.constant 0 : index\n"


def test_memrefs_through_branches_and_loops() -> None:
    a, b = np.arange(4, dtype=np.float32), np.arange(4, 8, dtype=np.float32)
    text = kernel(
        "%a: memref<?xf32>, %b: memref<?xf32>, %n: index, %c: i1",
        ZERO
        + """%c1 = arith.constant 1 : index
        %s = arith.select %c, %a, %b : memref<?xf32>
        %t:2 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a, %y = %b)
            -> (memref<?xf32>, memref<?xf32>) {
          scf.yield %y, %x : memref<?xf32>, memref<?xf32>
        }
        %v = memref.load %t#0[%c1] : memref<?xf32>
        memref.store %v, %s[%c0] : memref<?xf32>""",
    )
    HostKernel(text)(a, b, 3, True)
    assert a.tolist() == [5, 1, 2, 3]


def test_views() -> None:
    a = np.arange(48, dtype=np.float32).reshape(6, 8)
    out = np.zeros(8, np.float32)
    stores = "".join(
        f"""%k{i} = arith.constant {i} : index
        memref.store %v{i}, %o[%k{i}] : memref<8xf32>
        """
        for i in range(6)
    )
    text = kernel(
        "%a: memref<6x8xf32>, %o: memref<8xf32>, %n: index",
        ZERO
        + """%c1 = arith.constant 1 : index
        %c2 = arith.constant 2 : index
        %s = memref.subview %a[%n, 2] [2, 3] [2, 1]
          : memref<6x8xf32> to memref<2x3xf32, strided<[16, 1], offset: ?>>
        %v0 = memref.load %s[%c1, %c2] : memref<2x3xf32, strided<[16, 1], offset: ?>>
        %w = memref.subview %a[1, %n] [1, %n] [1, 2]
          : memref<6x8xf32> to memref<?xf32, strided<[2], offset: ?>>
        %v1 = memref.load %w[%c1] : memref<?xf32, strided<[2], offset: ?>>
        %f = memref.collapse_shape %a [[0, 1]] : memref<6x8xf32> into memref<48xf32>
        %v2 = memref.load %f[%n] : memref<48xf32>
        %e = memref.expand_shape %a [[0, 1], [2]] output_shape [2, 3, 8]
          : memref<6x8xf32> into memref<2x3x8xf32>
        %v3 = memref.load %e[%c1, %c2, %n] : memref<2x3x8xf32>
        %r = memref.reinterpret_cast %a to offset: [9], sizes: [2, 2], strides: [1, 8]
          : memref<6x8xf32> to memref<2x2xf32, strided<[1, 8], offset: 9>>
        %v4 = memref.load %r[%c1, %c1] : memref<2x2xf32, strided<[1, 8], offset: 9>>
        %g = memref.cast %a : memref<6x8xf32> to memref<?x?xf32>
        %v5 = memref.load %g[%c1, %c2] : memref<?x?xf32>
        """
        + stores
        + """%d = memref.dim %w, %c0 : memref<?xf32, strided<[2], offset: ?>>
        %di = arith.index_cast %d : index to i32
        %df = arith.sitofp %di : i32 to f32
        %k6 = arith.constant 6 : index
        memref.store %df, %o[%k6] : memref<8xf32>""",
    )
    HostKernel(text)(a, out, 3)
    expected = [a[5, 4], a[1, 5], a.flat[3], a[5, 3], a.flat[18], a[1, 2], 3, 0]
    assert out.tolist() == [float(v) for v in expected]


def test_strided_argument_and_stack_memory() -> None:
    base = np.arange(40, dtype=np.int64).reshape(5, 8)
    view = base[1:4, 1::2]
    out = np.zeros(12, np.int64)
    type = "memref<?x?xi64, strided<[?, ?], offset: ?>>"
    text = kernel(
        f"%a: {type}, %o: memref<12xi64>",
        ZERO
        + f"""%c1 = arith.constant 1 : index
        %c4 = arith.constant 4 : index
        %h = memref.dim %a, %c0 : {type}
        %w = memref.dim %a, %c1 : {type}
        %s = memref.alloca() : memref<3x4xi64>
        scf.for %i = %c0 to %h step %c1 {{
          scf.for %j = %c0 to %w step %c1 {{
            %v = memref.load %a[%i, %j] : {type}
            memref.store %v, %s[%i, %j] : memref<3x4xi64>
          }}
        }}
        scf.for %i = %c0 to %h step %c1 {{
          scf.for %j = %c0 to %w step %c1 {{
            %v = memref.load %s[%i, %j] : memref<3x4xi64>
            %p = affine.apply affine_map<(d0, d1) -> (d0 * 4 + d1)>(%i, %j)
            memref.store %v, %o[%p] : memref<12xi64>
          }}
        }}""",
    )
    HostKernel(text)(view, out)
    np.testing.assert_array_equal(out, view.ravel())


def test_copy_and_view_of_bytes() -> None:
    a, out = np.arange(6, dtype=np.float32).reshape(2, 3), np.zeros((3, 2), np.float32)
    text = kernel(
        "%a: memref<2x3xf32>, %o: memref<3x2xf32>",
        """%s = memref.alloca() : memref<32xi8>
        %c8 = arith.constant 8 : index
        %v = memref.view %s[%c8][] : memref<32xi8> to memref<2x3xf32>
        "memref.copy"(%a, %v) : (memref<2x3xf32>, memref<2x3xf32>) -> ()
        %t = memref.reinterpret_cast %v to offset: [0], sizes: [3, 2], strides: [1, 3]
          : memref<2x3xf32> to memref<3x2xf32, strided<[1, 3]>>
        "memref.copy"(%t, %o) : (memref<3x2xf32, strided<[1, 3]>>, memref<3x2xf32>) -> ()""",
    )
    HostKernel(text)(a, out)
    np.testing.assert_array_equal(out, a.T)


ATOMICS = ["addf", "mulf", "maximumf", "minimumf", "maxnumf", "minnumf", "assign"]
INTEGER_ATOMICS = [
    "addi", "muli", "maxs", "maxu", "mins", "minu", "andi", "ori", "xori", "assign"
]  # fmt: skip


@pytest.mark.parametrize(
    "kind,type",
    [*((k, t) for k in ATOMICS for t in ("f16", "f32", "f64")),
     *((k, t) for k in INTEGER_ATOMICS for t in ("i8", "i32", "i64"))],
)  # fmt: skip
def test_atomic_update(kind: str, type: str, ptxas: Path, tmp_path: Path) -> None:
    dtype = np.dtype({"f": "f", "i": "i"}[type[0]] + str(int(type[1:]) // 8))
    x = np.array([3, -5, 7, 2], dtype)
    out, old = np.array([4], dtype), np.zeros(4, dtype)
    text = kernel(
        f"%x: memref<4x{type}>, %o: memref<1x{type}>, %old: memref<4x{type}>",
        ZERO
        + f"""%i = gpu.thread_id x
        %v = memref.load %x[%i] : memref<4x{type}>
        %r = memref.atomic_rmw {kind} %v, %o[%c0] : ({type}, memref<1x{type}>) -> {type}
        memref.store %r, %old[%i] : memref<4x{type}>""",
    )
    HostKernel(text)(x, out, old, block=(4, 1, 1))
    with np.errstate(over="ignore"):
        merge = {
            "addf": np.add, "addi": np.add, "mulf": np.multiply, "muli": np.multiply,
            "maximumf": np.maximum, "maxnumf": np.fmax, "maxs": np.maximum,
            "minimumf": np.minimum, "minnumf": np.fmin, "mins": np.minimum,
            "andi": np.bitwise_and, "ori": np.bitwise_or, "xori": np.bitwise_xor,
            "assign": lambda a, b: b,
            "maxu": lambda a, b: b if b < 0 else a, "minu": lambda a, b: a if b < 0 else min(a, b),
        }[kind]  # fmt: skip
        state = np.array(4, dtype)
        for value, before in zip(x, old, strict=True):
            assert before == state
            state = np.asarray(merge(state, value)).astype(dtype)
            if kind in ("maxu", "minu") and before < 0:
                state = before if kind == "maxu" else value
    if kind not in ("maxu", "minu"):
        assert out[0] == state
    assemble(ptxas, ptx(text, "sm_75").text, "sm_75", tmp_path)


def test_private_attributions_and_memory_spaces(ptxas: Path, tmp_path: Path) -> None:
    private = "memref<4xi1, #gpu.address_space<private>>"
    body = f"""%c0 = arith.constant 0 : index
      %x = memref.load %a[%c0] : memref<4xi1>
      memref.store %x, %p[%c0] : {private}
      %y = memref.load %p[%c0] : {private}
      %g = memref.memory_space_cast %o : memref<4xi1> to memref<4xi1, 1>
      memref.store %y, %g[%c0] : memref<4xi1, 1>"""
    text = kernel("%a: memref<4xi1>, %o: memref<4xi1>", body)
    text = text.replace(") kernel", f") private(%p : {private}) kernel")
    a, out = np.array([True, False, False, False]), np.zeros(4, bool)
    HostKernel(text)(a, out)
    assert out.tolist() == [True, False, False, False]
    assemble(ptxas, ptx(text).text, "sm_80", tmp_path)
