"""`vector` on the CPU against numpy, and through the PTX assembler."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from opar.errors import UnsupportedError
from tests.backend.kernel_tools import HostKernel, assemble, from_bf16, kernel, ptx, to_bf16

ZERO = "%c0 = arith.constant 0 : index\n"


def vector_program(shape: str, body: str, result: str, memref: str = "4x8", type: str = "f32"):
    """A kernel that reads `%v`, a vector of `shape`, from the start of `%a` and stores `%r`."""
    return kernel(
        f"%a: memref<{memref}x{type}>, %o: memref<{result}x{type}>, %n: index",
        ZERO
        + f"""%v = vector.load %a[{", ".join(["%c0"] * memref.count("x") + ["%c0"])}]
          : memref<{memref}x{type}>, vector<{shape}x{type}>
        {body}
        vector.store %r, %o[{", ".join(["%c0"] * (result.count("x") + 1))}]
          : memref<{result}x{type}>, vector<{result}x{type}>""",
    )


A = np.arange(32, dtype=np.float32).reshape(4, 8)

CASES = {
    "rows": ("2x4", "%r = arith.addf %v, %v : vector<2x4xf32>", A[:2, :4] * 2),
    "broadcast a scalar": (
        "2x4",
        "%s = vector.extract %v[1, 2] : f32 from vector<2x4xf32>\n"
        "%r = vector.broadcast %s : f32 to vector<2x3xf32>",
        np.full((2, 3), A[1, 2]),
    ),
    "broadcast rows": (
        "2x4",
        "%s = vector.extract %v[1] : vector<4xf32> from vector<2x4xf32>\n"
        "%r = vector.broadcast %s : vector<4xf32> to vector<3x4xf32>",
        np.broadcast_to(A[1, :4], (3, 4)),
    ),
    "broadcast a column": (
        "2x1",
        "%r = vector.broadcast %v : vector<2x1xf32> to vector<3x2x4xf32>",
        np.broadcast_to(A[:2, :1], (3, 2, 4)),
    ),
    "insert an element": (
        "2x4",
        "%s = vector.extract %v[0, 3] : f32 from vector<2x4xf32>\n"
        "%r = vector.insert %s, %v[1, %n] : f32 into vector<2x4xf32>",
        np.array([[0, 1, 2, 3], [8, 9, 3, 11]]),
    ),
    "insert a row": (
        "2x4",
        "%s = vector.extract %v[1] : vector<4xf32> from vector<2x4xf32>\n"
        "%r = vector.insert %s, %v[0] : vector<4xf32> into vector<2x4xf32>",
        np.broadcast_to(A[1, :4], (2, 4)),
    ),
    "extract a row by index": (
        "4x4",
        "%r = vector.extract %v[%n] : vector<4xf32> from vector<4x4xf32>",
        A[2, :4],
    ),
    "shuffle": (
        "4x2",
        "%s = vector.extract %v[3] : vector<2xf32> from vector<4x2xf32>\n"
        "%t = vector.extract %v[0] : vector<2xf32> from vector<4x2xf32>\n"
        "%r = vector.shuffle %s, %t [3, 0, 0, 1] : vector<2xf32>, vector<2xf32>",
        np.array([1, 24, 24, 25]),
    ),
    "shuffle rows of different counts": (
        "3x2",
        "%s = vector.extract %v[2] : vector<2xf32> from vector<3x2xf32>\n"
        "%t = vector.broadcast %s : vector<2xf32> to vector<1x2xf32>\n"
        "%r = vector.shuffle %v, %t [3, 0] : vector<3x2xf32>, vector<1x2xf32>",
        A[[2, 0], :2],
    ),
    "fma": ("2x4", "%r = vector.fma %v, %v, %v : vector<2x4xf32>", A[:2, :4] ** 2 + A[:2, :4]),
    "math": ("2x4", "%r = math.sqrt %v : vector<2x4xf32>", np.sqrt(A[:2, :4])),
    "bitcast": (
        "2x4",
        "%s = vector.bitcast %v : vector<2x4xf32> to vector<2x4xi32>\n"
        "%r = vector.bitcast %s : vector<2x4xi32> to vector<2x4xf32>",
        A[:2, :4],
    ),
    "dense constant": (
        "2x2",
        "%s = arith.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : vector<2x2xf32>\n"
        "%r = arith.mulf %v, %s : vector<2x2xf32>",
        A[:2, :2] * [[1, 2], [3, 4]],
    ),
    "splat constant": (
        "2x2",
        "%s = arith.constant dense<3.0> : vector<2x2xf32>\n"
        "%r = arith.mulf %v, %s : vector<2x2xf32>",
        A[:2, :2] * 3,
    ),
    "read in bounds": (
        "2x2",
        "%p = arith.constant 9.0 : f32\n"
        "%r = vector.transfer_read %a[%n, %n], %p {in_bounds = [true, true]}"
        " : memref<4x8xf32>, vector<2x3xf32>",
        A[2:4, 2:5],
    ),
    "read past the end": (
        "2x2",
        "%p = arith.constant 9.0 : f32\n"
        "%r = vector.transfer_read %a[%n, %n], %p : memref<4x8xf32>, vector<3x4xf32>",
        np.vstack([A[2:4, 2:6], np.full((1, 4), 9)]),
    ),
    "read transposed": (
        "2x2",
        "%p = arith.constant 9.0 : f32\n"
        "%r = vector.transfer_read %a[%n, %c0], %p {in_bounds = [true, true],"
        " permutation_map = affine_map<(i, j) -> (j, i)>} : memref<4x8xf32>, vector<5x2xf32>",
        A[2:4, :5].T,
    ),
    "read broadcast": (
        "2x2",
        "%p = arith.constant 9.0 : f32\n"
        "%r = vector.transfer_read %a[%n, %c0], %p {in_bounds = [true, true],"
        " permutation_map = affine_map<(i, j) -> (0, j)>} : memref<4x8xf32>, vector<2x8xf32>",
        np.broadcast_to(A[2], (2, 8)),
    ),
    "masked load": (
        "2x2",
        "%m = vector.create_mask %n : vector<4xi1>\n"
        "%q = arith.constant dense<7.0> : vector<4xf32>\n"
        "%r = vector.maskedload %a[%n, %c0], %m, %q"
        " : memref<4x8xf32>, vector<4xi1>, vector<4xf32> into vector<4xf32>",
        np.array([16, 17, 7, 7]),
    ),
    "masked transfer": (
        "2x2",
        "%c1 = arith.constant 1 : index\n"
        "%m = vector.create_mask %c1, %n : vector<2x3xi1>\n"
        "%p = arith.constant 9.0 : f32\n"
        "%r = vector.transfer_read %a[%c0, %c0], %p, %m {in_bounds = [true, true]}"
        " : memref<4x8xf32>, vector<2x3xf32>",
        np.array([[0, 1, 9], [9, 9, 9]]),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_vector(case: str, ptxas: Path, tmp_path: Path) -> None:
    shape, body, expected = CASES[case]
    text = vector_program(shape, body, "x".join(map(str, expected.shape)))
    out = np.zeros(expected.shape, np.float32)
    HostKernel(text)(A.copy(), out, 2)
    np.testing.assert_allclose(out, expected, rtol=1e-6)
    assemble(ptxas, ptx(text, "sm_75").text, "sm_75", tmp_path)


WRITES = {
    "plain": ("vector.transfer_write %v, %o[%n, %n] {in_bounds = [true, true]}", [[0, 1], [8, 9]]),
    "past the end": ("vector.transfer_write %v, %o[%e, %n]", [[0, 1]]),
    "masked": ("vector.transfer_write %v, %o[%n, %n], %m {in_bounds = [true, true]}", [[0, 1]]),
    "transposed": (
        "vector.transfer_write %v, %o[%n, %n] {in_bounds = [true, true],"
        " permutation_map = affine_map<(i, j) -> (j, i)>}",
        [[0, 8], [1, 9]],
    ),
}


@pytest.mark.parametrize("case", WRITES)
def test_transfer_write(case: str) -> None:
    write, expected = WRITES[case]
    text = kernel(
        "%a: memref<4x8xf32>, %o: memref<4x8xf32>, %n: index, %e: index",
        ZERO
        + f"""%c1 = arith.constant 1 : index
        %m = vector.create_mask %c1, %n : vector<2x2xi1>
        %v = vector.load %a[%c0, %c0] : memref<4x8xf32>, vector<2x2xf32>
        {write} : vector<2x2xf32>, memref<4x8xf32>""",
    )
    out = np.full((4, 8), -1, np.float32)
    HostKernel(text)(A.copy(), out, 2, 3)
    row = 3 if case == "past the end" else 2
    wanted = np.full((4, 8), -1, np.float32)
    wanted[row : row + len(expected), 2:4] = expected
    np.testing.assert_array_equal(out, wanted)


REDUCTIONS = {
    "f32": ["add", "mul", "minnumf", "maxnumf", "minimumf", "maximumf"],
    "i32": ["add", "mul", "minsi", "maxsi", "minui", "maxui", "and", "or", "xor"],
}
REDUCTIONS |= {"f64": REDUCTIONS["f32"], "f16": REDUCTIONS["f32"], "bf16": REDUCTIONS["f32"],
               "i8": REDUCTIONS["i32"], "i64": REDUCTIONS["i32"]}  # fmt: skip
REDUCE = {
    "add": np.add, "mul": np.multiply, "minnumf": np.fmin, "maxnumf": np.fmax,
    "minimumf": np.minimum, "maximumf": np.maximum, "minsi": np.minimum, "maxsi": np.maximum,
    "minui": np.minimum, "maxui": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}  # fmt: skip


@pytest.mark.parametrize("start", [False, True])
@pytest.mark.parametrize("kind,type", [(k, t) for t, ks in REDUCTIONS.items() for k in ks])
def test_reduction(kind: str, type: str, start: bool, ptxas: Path, tmp_path: Path) -> None:
    if type == "bf16":
        x = to_bf16(np.array([3, -5, 2, 1.5], np.float32))
    else:
        dtype = np.dtype(type[0] + str(int(type[1:]) // 8))
        x = np.array([3, -5, 2, 1], dtype)
    acc = ", %b" if start else ""
    text = kernel(
        f"%x: memref<4x{type}>, %o: memref<1x{type}>",
        ZERO
        + f"""%v = vector.load %x[%c0] : memref<4x{type}>, vector<4x{type}>
        %b = memref.load %o[%c0] : memref<1x{type}>
        %r = vector.reduction <{kind}>, %v{acc} : vector<4x{type}> into {type}
        memref.store %r, %o[%c0] : memref<1x{type}>""",
    )
    out = np.array([to_bf16(np.float32(4)) if type == "bf16" else 4], x.dtype)
    HostKernel(text)(x, out)
    values = from_bf16(x) if type == "bf16" else x
    values = values.view(f"u{x.itemsize}") if kind in ("minui", "maxui") else values
    values = np.append(values, np.array([4], values.dtype)) if start else values
    with np.errstate(over="ignore"):
        expected = REDUCE[kind].reduce(values)
    found = from_bf16(out) if type == "bf16" else out.view(values.dtype)
    assert found[0] == expected
    assemble(ptxas, ptx(text, "sm_75").text, "sm_75", tmp_path)


def test_booleans_in_memory() -> None:
    x, out = np.array([True, False, True, True]), np.zeros(4, bool)
    text = kernel(
        "%x: memref<4xi1>, %o: memref<4xi1>",
        ZERO
        + """%v = vector.load %x[%c0] : memref<4xi1>, vector<4xi1>
        %t = arith.constant dense<true> : vector<4xi1>
        %r = arith.xori %v, %t : vector<4xi1>
        vector.store %r, %o[%c0] : memref<4xi1>, vector<4xi1>""",
    )
    HostKernel(text)(x, out)
    np.testing.assert_array_equal(out, ~x)


def test_affine_vector_access_and_alignment() -> None:
    out = np.zeros((4, 8), np.float32)
    text = kernel(
        "%a: memref<4x8xf32>, %o: memref<4x8xf32>, %n: index",
        """%b = memref.assume_alignment %a, 16 : memref<4x8xf32>
        affine.for %i = 0 to 4 {
          %v = affine.vector_load %b[%i, 4] : memref<4x8xf32>, vector<4xf32>
          affine.vector_store %v, %o[%i, symbol(%n) * 2] : memref<4x8xf32>, vector<4xf32>
        }""",
    )
    a = np.zeros(32 + 16, np.float32)
    first = -a.ctypes.data // 4 % 4
    a = a[first : first + 32].reshape(4, 8)
    a[:] = A
    HostKernel(text)(a, out, 2)
    np.testing.assert_array_equal(out[:, 4:], A[:, 4:])
    assert "ld.global.v4" in ptx(text).text


def test_vectors_across_a_stride_are_refused() -> None:
    text = kernel(
        "%a: memref<4xf32, strided<[2]>>",
        ZERO + "%v = vector.load %a[%c0] : memref<4xf32, strided<[2]>>, vector<2xf32>",
    )
    with pytest.raises(UnsupportedError, match=r"kernel\.mlir:5:1: 'vector.load': .*contiguous"):
        ptx(text)
