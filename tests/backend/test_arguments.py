"""Arguments of a call are checked, and described by where their memory is."""

import numpy as np
import pytest

from opar.backend.arguments import any_written_overlap, bind
from opar.backend.schedule import Argument, Schedule
from opar.errors import ArgumentError


def schedule(*arguments: Argument) -> Schedule:
    return Schedule("f", (), arguments, (), (), ())


MATRIX = Argument("a", "f32", (4, 5), read=True, location="a.mlir:1:1")
OUT = Argument("out", "f32", (None,), written=True)
STRIDED = Argument("s", "f32", (None, None), (None, 1))
SCALAR = Argument("n", "i32")
FLOAT = Argument("x", "f64")


def test_binds_a_contiguous_array() -> None:
    a = np.zeros((4, 5), np.float32)
    (bound,) = bind(schedule(MATRIX), [a], gpu_arrays=False)
    assert bound.memory is not None
    assert (bound.memory.address, bound.memory.nbytes) == (a.ctypes.data, 80)
    assert (bound.sizes, bound.strides) == ((4, 5), (5, 1))


def test_binds_a_strided_array_from_its_first_byte() -> None:
    a = np.zeros((6, 8), np.float32)[::2, 2:6]
    (bound,) = bind(schedule(STRIDED), [a], gpu_arrays=False)
    assert bound.strides == (16, 1)
    assert bound.memory is not None
    assert bound.memory.nbytes == (2 * 16 + 3 + 1) * 4


@pytest.mark.parametrize(
    ("argument", "value", "message"),
    [
        (MATRIX, np.zeros((4, 5)), "a.mlir:1:1: argument #0 (%a) of @f: expected dtype float32"),
        (MATRIX, np.zeros((4, 5), ">f4"), "expected dtype float32"),
        (MATRIX, np.zeros((4, 6), np.float32), "dimension 1 must be 5 (4x5xf32), got 6"),
        (MATRIX, np.zeros(20, np.float32), "expected 2 dimensions (4x5xf32), got 1"),
        (MATRIX, np.zeros((5, 4), np.float32).T, "not contiguous"),
        (MATRIX, [[1.0]], "expected a numpy array 4x5xf32, got list"),
        (STRIDED, np.zeros((4, 4), np.float32)[:, ::2], "expected strides [None, 1]"),
        (SCALAR, 1.5, "expected an integer (i32), got float 1.5"),
        (SCALAR, 1 << 40, "does not fit in i32"),
        (FLOAT, "1", "expected a float (f64), got str '1'"),
    ],
)
def test_refuses(argument: Argument, value: object, message: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        bind(schedule(argument), [value], gpu_arrays=False)
    assert message in str(caught.value)


def test_refuses_a_wrong_count() -> None:
    with pytest.raises(ArgumentError, match=r"@f takes 2 arguments \(4x5xf32, i32\), got 1"):
        bind(schedule(MATRIX, SCALAR), [1], gpu_arrays=False)


def test_refuses_read_only_only_where_written() -> None:
    a = np.zeros(3, np.float32)
    a.flags.writeable = False
    with pytest.raises(ArgumentError, match="read-only"):
        bind(schedule(OUT), [a], gpu_arrays=False)
    bind(schedule(Argument("a", "f32", (None,), read=True)), [a], gpu_arrays=False)


def test_refuses_unaligned_memory() -> None:
    raw = np.zeros(17, np.uint8)[1:].view(np.float32)
    with pytest.raises(ArgumentError, match="not aligned"):
        bind(schedule(OUT), [raw], gpu_arrays=False)


def test_refuses_gpu_arrays_on_the_cpu() -> None:
    class Fake:
        __cuda_array_interface__ = {"shape": (3,), "typestr": "<f4", "data": (4096, False)}

    with pytest.raises(ArgumentError, match="is on a GPU"):
        bind(schedule(OUT), [Fake()], gpu_arrays=False)
    (bound,) = bind(schedule(OUT), [Fake()], gpu_arrays=True)
    assert bound.on_gpu and bound.memory is not None and bound.memory.address == 4096


def test_overlap_matters_only_where_written() -> None:
    whole = np.zeros(8, np.float32)
    read = Argument("r", "f32", (None,), read=True)
    for first, second, overlap in (
        (whole[:5], whole[3:], True),
        (whole[:4], whole[4:], False),
        (whole, whole, True),
    ):
        both = schedule(read, OUT)
        assert any_written_overlap(both, bind(both, [first, second], False)) is overlap
        reads = schedule(read, read)
        assert not any_written_overlap(reads, bind(reads, [first, second], False))


def test_empty_arrays_overlap_nothing() -> None:
    empty = np.zeros(0, np.float32)
    both = schedule(OUT, OUT)
    assert not any_written_overlap(both, bind(both, [empty, empty], False))
