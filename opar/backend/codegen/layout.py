"""Strides and offsets of memref types, from identity, strided and linear affine layouts."""

from __future__ import annotations

from xdsl.dialects.builtin import (
    AffineMapAttr,
    MemRefType,
    NoneAttr,
    ShapedType,
    StridedLayoutAttr,
)
from xdsl.ir import Attribute
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
)

from opar.errors import UnsupportedError


def memref_strides(type: MemRefType) -> tuple[int | None, ...]:
    """
    Strides of `type` in elements, one for each dimension, None where dynamic.

    Raises `UnsupportedError` for a layout that is not strided.
    """
    return _strides_and_offset(type)[0]


def memref_offset(type: MemRefType) -> int | None:
    """Offset of the first element of `type` in elements, None where dynamic."""
    return _strides_and_offset(type)[1]


def is_workgroup(space: Attribute) -> bool:
    """Whether a memory space is workgroup memory: `#gpu.address_space<workgroup>` or `3`."""
    return _space_name(space) in ("workgroup", "3")


def is_private(space: Attribute) -> bool:
    """Whether a memory space is private memory: `#gpu.address_space<private>` or `5`."""
    return _space_name(space) in ("private", "5")


def is_global(space: Attribute) -> bool:
    """Whether a memory space is the default or global one (none, 0, 1, global)."""
    return _space_name(space) in ("", "0", "1", "global")


def _space_name(space: Attribute) -> str:
    if isinstance(space, NoneAttr):
        return ""
    data = getattr(space, "data", None)
    if data is None:
        data = getattr(getattr(space, "value", None), "data", space)
    return str(getattr(data, "value", data))


def _strides_and_offset(type: MemRefType) -> tuple[tuple[int | None, ...], int | None]:
    layout = type.layout
    rank = type.get_num_dims()
    if isinstance(layout, NoneAttr):
        return _identity_strides(type), 0
    if isinstance(layout, StridedLayoutAttr):
        return tuple(layout.get_strides()), layout.get_offset()
    if isinstance(layout, AffineMapAttr):
        map = layout.data
        if map == AffineMap.identity(rank):
            return _identity_strides(type), 0
        if len(map.results) == 1 and map.num_symbols == 0:
            coefficients = _linear(map.results[0], rank)
            if coefficients is not None:
                return tuple(coefficients[:-1]), coefficients[-1]
    raise UnsupportedError(
        f"memref layout {layout} is not strided; use strided<[...], offset: ...>"
    )


def _identity_strides(type: MemRefType) -> tuple[int | None, ...]:
    return tuple(ShapedType.strides_for_shape(type.get_shape()))


def _linear(expr: AffineExpr, rank: int) -> list[int] | None:
    """Coefficients of each dimension, then the constant; None where `expr` is not linear."""
    match expr:
        case AffineConstantExpr():
            return [0] * rank + [expr.value]
        case AffineDimExpr():
            return [int(d == expr.position) for d in range(rank)] + [0]
        case AffineBinaryOpExpr():
            lhs, rhs = _linear(expr.lhs, rank), _linear(expr.rhs, rank)
            if lhs is None or rhs is None:
                return None
            if expr.kind is AffineBinaryOpKind.Add:
                return [a + b for a, b in zip(lhs, rhs, strict=True)]
            if expr.kind is AffineBinaryOpKind.Mul:
                if any(rhs[:-1]):
                    lhs, rhs = rhs, lhs
                return None if any(rhs[:-1]) else [a * rhs[-1] for a in lhs]
    return None
