"""A memref inside a kernel: a typed pointer to its first element, sizes and strides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from llvmlite import ir
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, NoneAttr

from opar.backend.codegen import indexing
from opar.backend.codegen.indexing import Index
from opar.backend.codegen.layout import memref_offset, memref_strides
from opar.backend.codegen.types import scalar_type
from opar.errors import UnsupportedError


@dataclass(frozen=True)
class MemRefValue:
    """
    A memref value.

    `pointer` is the address of element (0, ..., 0), the offset of the type included; `element`
    its LLVM type; `sizes` and `strides` (in elements) have one entry a dimension; `offset` is how
    far `pointer` is from the start of the buffer in elements, None where that is unknown.
    """

    pointer: ir.Value
    element: ir.Type
    sizes: tuple[Index, ...]
    strides: tuple[Index, ...]
    offset: Index | None = 0

    def address(self, b: ir.IRBuilder, indices: Sequence[Index]) -> ir.Value:
        """Pointer to the element at `indices`, one for each dimension."""
        linear: Index = 0
        for index, stride in zip(indices, self.strides, strict=True):
            linear = indexing.add(b, linear, indexing.mul(b, index, stride))
        return self.advanced(b, linear)

    def advanced(self, b: ir.IRBuilder, elements: Index) -> ir.Value:
        """`pointer` moved by a number of elements."""
        if elements == 0:
            return self.pointer
        return b.gep(
            self.pointer, [indexing.value(elements)], inbounds=True, source_etype=self.element
        )


def element_type(type: MemRefType) -> ir.Type:
    """LLVM type of the elements of a memref type; `UnsupportedError` where it is no scalar."""
    element = scalar_type(type.element_type)
    if element is None:
        raise UnsupportedError(
            f"type {type} is not supported in a kernel: its elements are not scalars"
        )
    return element


def components(value: MemRefValue, type: MemRefType) -> list[ir.Value]:
    """What `type` leaves open: pointer, dynamic sizes, dynamic strides of strided layouts."""
    parts = [value.pointer]
    parts += [
        indexing.value(size)
        for size, static in zip(value.sizes, type.get_shape(), strict=True)
        if static == DYNAMIC_INDEX
    ]
    if not isinstance(type.layout, NoneAttr):
        parts += [
            indexing.value(stride)
            for stride, static in zip(value.strides, memref_strides(type), strict=True)
            if static is None
        ]
    return parts


def component_count(type: MemRefType) -> int:
    """How many values `components` gives for `type`."""
    dynamic = sum(size == DYNAMIC_INDEX for size in type.get_shape())
    if not isinstance(type.layout, NoneAttr):
        dynamic += sum(stride is None for stride in memref_strides(type))
    return 1 + dynamic


def rebuild(b: ir.IRBuilder, type: MemRefType, parts: Sequence[ir.Value]) -> MemRefValue:
    """The memref of `type` from its `components`; may emit the products of identity strides."""
    pointer, *rest = parts
    remaining = iter(rest)
    sizes = tuple(next(remaining) if size == DYNAMIC_INDEX else size for size in type.get_shape())
    if isinstance(type.layout, NoneAttr):
        strides = row_major(b, sizes)
    else:
        strides = tuple(
            next(remaining) if stride is None else stride for stride in memref_strides(type)
        )
    return MemRefValue(pointer, element_type(type), sizes, strides, memref_offset(type))


def row_major(b: ir.IRBuilder, sizes: Sequence[Index]) -> tuple[Index, ...]:
    """Strides in elements of a contiguous row-major buffer of `sizes`."""
    strides: list[Index] = []
    stride: Index = 1
    for position, size in enumerate(reversed(sizes)):
        strides.append(stride)
        if position + 1 < len(sizes):
            stride = indexing.mul(b, stride, size)
    return tuple(reversed(strides))
