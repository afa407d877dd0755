"""Elements of views as elements of the buffer that they are views of."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    IndexType,
    IntegerType,
    MemRefType,
    NoneAttr,
)
from xdsl.ir import Attribute, OpResult, SSAValue
from xdsl.ir.affine import AffineDimExpr

from opar.analysis.arithmetic import add, floor, mod, mul, number
from opar.analysis.sources import VIEWS
from opar.analysis.symbolic import Expressions
from opar.dialects import memref


def coordinates(
    value: SSAValue, indices: Sequence[str] | None, expressions: Expressions
) -> tuple[SSAValue, list[str] | None]:
    """
    The buffer that a memref is a view of, and the element `indices` of the view as an element of
    the buffer; None where the view is not one of known offsets and strides.
    """
    found = list(indices) if indices is not None else None
    while isinstance(value, OpResult):
        op = value.op
        match op:
            case memref.CastOp() | memref.MemorySpaceCastOp():
                value = op.source
            case memref.SubviewOp():
                found = _through_subview(op, found, expressions)
                value = op.source
            case memref.CollapseShapeOp():
                found = _through_collapse(op, found)
                value = op.src
            case memref.ExpandShapeOp():
                found = _through_expand(op, found)
                value = op.src
            case _ if op.name == "memref.assume_alignment":
                value = op.operands[0]
            case memref.TransposeOp():
                found, value = _through_transpose(op, found), op.source
            case memref.ReinterpretCastOp():
                value = _base(op.source)
                found = _through_reinterpret(op, value, found, expressions)
            case memref.ExtractStridedMetaDataOp() if found is None:
                value = op.source
            case memref.ViewOp():
                found, value = _through_view(op, found, expressions), op.source
            case _:
                break
    return value, found


def _through_subview(
    op: memref.SubviewOp, indices: list[str] | None, expressions: Expressions
) -> list[str] | None:
    if indices is None:
        return None
    offsets = expressions.mixed(op.static_offsets, op.offsets)
    sizes = expressions.mixed(op.static_sizes, op.sizes)
    strides = expressions.mixed(op.static_strides, op.strides)
    remaining = iter(indices)
    dropped = len(sizes) - len(indices)
    found: list[str] = []
    for offset, size, stride in zip(offsets, sizes, strides, strict=True):
        if dropped and size == "1":
            dropped -= 1
            found.append(offset)
            continue
        index = next(remaining, None)
        if index is None or number(stride) is None:
            return None
        found.append(add(offset, mul(index, stride)))
    return None if dropped else found


def _groups(op: memref.CollapseShapeOp | memref.ExpandShapeOp) -> list[list[int]]:
    return [[i.value.data for i in group] for group in op.reassociation]


def _through_collapse(op: memref.CollapseShapeOp, indices: list[str] | None) -> list[str] | None:
    """A collapsed index is taken apart by the sizes of the source."""
    assert isinstance(op.src.type, MemRefType)
    shape = op.src.type.get_shape()
    if indices is None:
        return None
    found: list[str] = []
    for index, group in zip(indices, _groups(op), strict=True):
        own: list[str] = []
        for position, d in enumerate(reversed(group)):
            if position == len(group) - 1:
                own.append(index)
            elif shape[d] == DYNAMIC_INDEX or shape[d] == 0:
                return None
            else:
                own.append(mod(index, shape[d]))
                index = floor(index, shape[d])
        found += reversed(own)
    return found


def _through_expand(op: memref.ExpandShapeOp, indices: list[str] | None) -> list[str] | None:
    """The indices of a group are put together by the sizes of the result."""
    assert isinstance(op.result.type, MemRefType)
    shape = op.result.type.get_shape()
    if indices is None:
        return None
    found: list[str] = []
    for group in _groups(op):
        total = "0"
        for d in group:
            if shape[d] == DYNAMIC_INDEX and d != group[0]:
                return None
            total = add(mul(total, str(shape[d])) if d != group[0] else "0", indices[d])
        found.append(total)
    return found


def _through_transpose(op: memref.TransposeOp, indices: list[str] | None) -> list[str] | None:
    if indices is None:
        return None
    found = list(indices)
    for index, place in zip(indices, op.permutation.data.results, strict=True):
        assert isinstance(place, AffineDimExpr)
        found[place.position] = index
    return found


def _base(value: SSAValue) -> SSAValue:
    """What has the address that the offset of a view counts from."""
    while isinstance(value, OpResult):
        op = value.op
        is_shifted = isinstance(op, memref.ViewOp)
        if not isinstance(op, memref.ExtractStridedMetaDataOp) and (
            op.name not in VIEWS or is_shifted
        ):
            break
        value = op.operands[0]
    return value


def _through_reinterpret(
    op: memref.ReinterpretCastOp,
    base: SSAValue,
    indices: list[str] | None,
    expressions: Expressions,
) -> list[str] | None:
    """Offset and strides make a place in `base`, which is taken apart by its sizes."""
    type = base.type
    if indices is None or not isinstance(type, MemRefType) or not isinstance(type.layout, NoneAttr):
        return None
    (place,) = expressions.mixed(op.static_offsets, op.offsets)
    for index, stride in zip(
        indices, expressions.mixed(op.static_strides, op.strides), strict=True
    ):
        if number(stride) is None:
            return None
        place = add(place, mul(index, stride))
    inner = type.get_shape()[1:]
    if DYNAMIC_INDEX in inner or 0 in inner:
        return None
    found: list[str] = []
    for size in reversed(inner):
        found.insert(0, mod(place, size))
        place = floor(place, size)
    return [place, *found] if type.get_shape() else []


def _through_view(
    op: memref.ViewOp, indices: list[str] | None, expressions: Expressions
) -> list[str] | None:
    """Each element is several bytes of a buffer of bytes."""
    assert isinstance(op.result.type, MemRefType)
    size = _bytes(op.result.type.element_type)
    inner = op.result.type.get_shape()[1:]
    if indices is None or size is None or DYNAMIC_INDEX in inner:
        return None
    place = "0"
    for d, index in enumerate(indices):
        place = add(place, mul(index, str(prod(inner[d:]))))
    byte = expressions.new("y")
    expressions.definitions[byte] = f"0 <= {byte} and {byte} < {size}"
    return [add(add(expressions.of(op.byte_shift), mul(place, str(size))), byte)]


def _bytes(type: Attribute) -> int | None:
    """How far apart elements of a type lie."""
    match type:
        case IndexType():
            return 8
        case _ if isinstance(type, IntegerType | AnyFloat):
            return -(-type.bitwidth // 8)
        case _:
            return None
