"""Sizes, strides and offset of memref types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, NoneAttr, StridedLayoutAttr
from xdsl.utils.exceptions import VerifyException

Size = int | None
"""A number of elements that the type gives, or None where it is known at run time only."""


def times(a: Size, b: Size) -> Size:
    """The product, where both are known."""
    return None if a is None or b is None else a * b


@dataclass(frozen=True)
class Strided:
    """Element `i` of a memref lies at `offset + sum(i[d] * strides[d])`, in elements."""

    sizes: tuple[Size, ...]
    strides: tuple[Size, ...]
    offset: Size

    def __str__(self) -> str:
        def one(value: Size) -> str:
            return "?" if value is None else str(value)

        def several(values: Sequence[Size]) -> str:
            return f"[{', '.join(map(one, values))}]"

        sizes, strides = several(self.sizes), several(self.strides)
        return f"sizes {sizes}, strides {strides}, offset {one(self.offset)}"


def strided(type: MemRefType) -> Strided | None:
    """
    Sizes, strides and offset of a type; None where its layout is an affine map. Raises
    `VerifyException` where there is not one stride for each size.
    """
    sizes = tuple(None if s == DYNAMIC_INDEX else s for s in type.get_shape())
    if isinstance(type.layout, StridedLayoutAttr):
        strides = tuple(type.layout.get_strides())
        if len(strides) != len(sizes):
            raise VerifyException(f"{type} must have {len(sizes)} strides, not {len(strides)}")
        return Strided(sizes, strides, type.layout.get_offset())
    if not isinstance(type.layout, NoneAttr):
        return None
    steps: list[Size] = []
    step: Size = 1
    for size in reversed(sizes):
        steps.insert(0, step)
        step = times(step, size)
    return Strided(sizes, tuple(steps), 0)


def verify_same_elements(source: MemRefType, result: MemRefType) -> None:
    """Both must hold the same elements in the same memory space. Raises `VerifyException`."""
    if source.element_type != result.element_type or source.memory_space != result.memory_space:
        raise VerifyException("source and result must have the same element type and memory space")
