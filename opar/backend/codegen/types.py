"""MLIR types and attributes to LLVM types and constants."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence

from llvmlite import ir
from llvmlite.ir.values import FormattedConstant
from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseIntOrFPElementsAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    VectorType,
)
from xdsl.ir import Attribute

from opar.errors import UnsupportedError


class BFloatType(ir.Type):
    """LLVM's `bfloat`, which llvmlite lacks. Equal to every other instance."""

    null = "0.0"
    intrinsic_name = "bf16"

    def _to_string(self) -> str:
        return "bfloat"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BFloatType)

    def __hash__(self) -> int:
        return hash(BFloatType)


I1, I8, I16, I32, I64 = (ir.IntType(width) for width in (1, 8, 16, 32, 64))
F16, BF16, F32, F64 = ir.HalfType(), BFloatType(), ir.FloatType(), ir.DoubleType()

_FLOATS: dict[type[Attribute], ir.Type] = {
    BFloat16Type: BF16,
    Float16Type: F16,
    Float32Type: F32,
    Float64Type: F64,
}


def scalar_type(type: Attribute) -> ir.Type | None:
    """LLVM type of a scalar MLIR type; None where there is none."""
    match type:
        case IndexType():
            return I64
        case IntegerType():
            return ir.IntType(width) if 1 <= (width := type.width.data) <= 64 else None
        case _:
            return _FLOATS.get(type.__class__)


def llvm_type(type: Attribute) -> ir.Type:
    """
    LLVM type of a scalar or vector MLIR type.

    A vector of any rank becomes one LLVM vector, its elements in row-major order; rank 0 has one
    element. Raises `UnsupportedError` for every other type.
    """
    if isinstance(type, VectorType):
        element = scalar_type(type.element_type)
        count = math.prod(type.get_shape())
        if element is not None and count and not any(map(bool, type.get_scalable_dims())):
            return ir.VectorType(element, count)
    elif (scalar := scalar_type(type)) is not None:
        return scalar
    raise UnsupportedError(
        f"type {type} is not supported in a kernel; supported are i1 to i64, index, f16, bf16, "
        "f32, f64, fixed-size vectors and memrefs of them"
    )


def element_of(type: ir.Type) -> ir.Type:
    """The element type of a vector, or the type itself."""
    return type.element if isinstance(type, ir.VectorType) else type


def with_element(type: ir.Type, element: ir.Type) -> ir.Type:
    """`type` with its element type, or the scalar itself, replaced by `element`."""
    return ir.VectorType(element, type.count) if isinstance(type, ir.VectorType) else element


def float_bits(type: ir.Type) -> int:
    """Bit width of a float type."""
    return {F16: 16, BF16: 16, F32: 32, F64: 64}[type]


def int_width(type: ir.Type) -> int:
    """Bit width of an integer type or of the elements of a vector of integers."""
    element = element_of(type)
    assert isinstance(element, ir.IntType)
    return element.width


def is_float(type: ir.Type) -> bool:
    """Whether a scalar or vector type is one of floats."""
    return element_of(type) in (F16, BF16, F32, F64)


def byte_size(type: ir.Type) -> int:
    """Bytes between neighbouring elements of a scalar type in memory."""
    if isinstance(type, ir.IntType):
        size = (type.width + 7) // 8
        return 1 << (size - 1).bit_length()
    return float_bits(type) // 8


LARGEST_ALIGNMENT = 4096
"""A page: no instruction needs more, and LLVM has a limit of its own."""


def promised_alignment(attribute: Attribute | None) -> int | None:
    """
    What an alignment attribute lets LLVM assume, in bytes; None where there is none.

    Raises `UnsupportedError` where it is not a power of two.
    """
    if not isinstance(attribute, IntegerAttr):
        return None
    alignment = attribute.value.data
    if alignment < 1 or alignment & (alignment - 1):
        raise UnsupportedError(f"the alignment must be a power of two, got {alignment}")
    return min(alignment, LARGEST_ALIGNMENT)


def stored_type(element: ir.Type) -> ir.Type:
    """
    What an element of a scalar type is in memory: an integer of whole bytes for an i1 or an i24,
    because LLVM packs vectors of those without gaps, which memrefs do not.
    """
    return ir.IntType(8 * byte_size(element)) if isinstance(element, ir.IntType) else element


def _float_literal(type: ir.Type, value: float) -> str:
    """LLVM's hexadecimal spelling, exact for every value, infinities and NaN included."""
    if type == F64:
        return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"
    if type == F16:
        try:
            packed = struct.pack("<e", value)
        except OverflowError:
            packed = struct.pack("<e", math.copysign(math.inf, value))
        return f"0xH{struct.unpack('<H', packed)[0]:04X}"
    try:
        single = struct.pack("<f", value)
    except OverflowError:
        single = struct.pack("<f", math.copysign(math.inf, value))
    if type == F32:
        widened = struct.unpack("<f", single)[0]
        return f"0x{struct.unpack('<Q', struct.pack('<d', widened))[0]:016X}"
    bits = struct.unpack("<I", single)[0]
    if math.isnan(value):
        return f"0xR{(bits >> 16) | 0x40:04X}"
    return f"0xR{(bits + 0x7FFF + ((bits >> 16) & 1)) >> 16:04X}"


def constant(type: ir.Type, value: float) -> ir.Constant:
    """The constant `value` of a scalar type, or a splat of it for a vector type."""
    element = element_of(type)
    if isinstance(element, ir.IntType):
        scalar = ir.Constant(element, int(value) & ((1 << element.width) - 1))
    else:
        scalar = FormattedConstant(element, _float_literal(element, float(value)))
    if isinstance(type, ir.VectorType):
        return ir.Constant(type, [scalar] * type.count)
    return scalar


def vector_constant(type: ir.VectorType, values: Sequence[float]) -> ir.Constant:
    """A vector constant from its elements in row-major order."""
    return ir.Constant(type, [constant(type.element, value) for value in values])


def attribute_constant(attr: Attribute) -> ir.Constant:
    """
    The constant of an integer, float or dense elements attribute.

    Raises `UnsupportedError` for other attributes and for dense tensors.
    """
    match attr:
        case IntegerAttr():
            return constant(llvm_type(attr.type), attr.value.data)
        case FloatAttr():
            return constant(llvm_type(attr.type), attr.value.data)
        case DenseIntOrFPElementsAttr() if isinstance(attr.type, VectorType):
            type = llvm_type(attr.type)
            assert isinstance(type, ir.VectorType)
            values = [value for value in attr.iter_values() if not isinstance(value, tuple)]
            return constant(type, values[0]) if attr.is_splat() else vector_constant(type, values)
        case _:
            raise UnsupportedError(f"constant {attr} is not supported in a kernel")
