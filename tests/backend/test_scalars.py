"""The scalar program of a schedule follows MLIR's arithmetic."""

import pytest

from opar.backend.scalars import evaluate, wrap
from opar.backend.schedule import Scalar


def run(operator: str, *values: int, width: int | None = 64, operand_width: int = 64) -> object:
    constants = [Scalar("constant", (), v, operand_width) for v in values]
    program = [*constants, Scalar(operator, tuple(range(len(values))), None, width)]
    return evaluate(program, lambda i: 0, lambda i, d: 0, lambda i, d: 0)[-1]


@pytest.mark.parametrize(
    ("operator", "a", "b", "expected"),
    [
        ("arith.divsi", -7, 2, -3),
        ("arith.divsi", 7, -2, -3),
        ("arith.remsi", -7, 2, -1),
        ("arith.floordivsi", -7, 2, -4),
        ("arith.ceildivsi", -7, 2, -3),
        ("arith.ceildivsi", 7, 2, 4),
        ("arith.divui", -1, 2, (1 << 63) - 1),
        ("arith.minui", -1, 3, 3),
        ("arith.maxsi", -1, 3, 3),
        ("affine.mod", -7, 4, 1),
        ("affine.floordiv", -7, 4, -2),
        ("affine.ceildiv", -7, 4, -1),
        ("affine.min", -7, 4, -7),
    ],
)
def test_operators(operator: str, a: int, b: int, expected: int) -> None:
    assert run(operator, a, b) == expected


def test_comparisons_are_bits() -> None:
    assert run("cmpi.2", 1, 2, width=1) == -1  # true is the bit 1, as a signed number -1
    assert run("cmpi.6", -1, 2, width=1) == 0  # unsigned: -1 is the largest
    assert run("cmpi.2", -1, 0, width=1, operand_width=1) == -1  # true is less than false


def test_unsigned_operators_have_the_width_of_their_operands() -> None:
    assert run("arith.divui", -1, 2, width=32, operand_width=32) == 2147483647
    assert run("arith.remui", -1, 7, width=32, operand_width=32) == 3
    assert run("arith.ceildivui", -1, 2, width=8, operand_width=8) == -128


def test_arguments_are_of_their_width() -> None:
    program = [Scalar("argument", (), 0, 8)]
    assert evaluate(program, lambda i: 200, lambda i, d: 0, lambda i, d: 0) == [-56]


def test_results_wrap_to_their_width() -> None:
    assert run("arith.addi", 2**31 - 1, 1, width=32) == -(2**31)
    assert wrap(255, 8) == -1
    assert wrap(3, 1) == -1


def test_arguments_sizes_and_strides() -> None:
    program = [Scalar("argument", (), 1), Scalar("size", (), (0, 1)), Scalar("stride", (), (0, 0))]
    values = evaluate(program, lambda i: 10 + i, lambda i, d: 100 + d, lambda i, d: 200 + d)
    assert values == [11, 101, 200]
