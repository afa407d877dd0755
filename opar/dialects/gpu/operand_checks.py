"""What the values that threads combine or exchange may be."""

from __future__ import annotations

from xdsl.dialects.builtin import (
    AnyFloat,
    IntegerType,
    VectorType,
)
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException


def verify_number(type: Attribute, *, vector: bool) -> None:
    """
    Raise `VerifyException` unless `type` is an integer or float, or, if `vector`, a vector of rank
    1 of them.
    """
    element = type
    if vector and isinstance(type, VectorType):
        if type.get_num_dims() != 1 or type.get_num_scalable_dims():
            raise VerifyException(f"{type} is not a vector of rank 1 and fixed length")
        element = type.element_type
    if not isinstance(element, IntegerType | AnyFloat):
        allowed = "an integer, a float or a vector of them" if vector else "an integer or a float"
        raise VerifyException(f"works on {allowed}, not {type}")


def is_power_of_two(number: int) -> bool:
    """Whether `number` is 1, 2, 4, ..."""
    return number > 0 and number & (number - 1) == 0
