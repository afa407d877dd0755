"""Loads and stores of scalars and vectors. Integers take whole bytes in memory, an i1 one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from llvmlite import ir
from xdsl.dialects.builtin import VectorType
from xdsl.ir import Attribute, Operation, SSAValue

from opar.backend.codegen import indexing
from opar.backend.codegen.context import Context
from opar.backend.codegen.indexing import Index
from opar.backend.codegen.memref_value import MemRefValue
from opar.backend.codegen.types import (
    byte_size,
    element_of,
    llvm_type,
    promised_alignment,
    stored_type,
    with_element,
)
from opar.backend.codegen.vectors import concatenate, linear, positions, shuffle
from opar.errors import UnsupportedError


def load(ctx: Context, memref: SSAValue, indices: Sequence[Index]) -> ir.Value:
    """One element of a memref."""
    source = ctx.memref(memref)
    return load_from(ctx, source.address(ctx.b, indices), source.element)


def store(ctx: Context, value: ir.Value, memref: SSAValue, indices: Sequence[Index]) -> None:
    """Write one element of a memref."""
    store_to(ctx, value, ctx.memref(memref).address(ctx.b, indices))


def load_from(
    ctx: Context, pointer: ir.Value, type: ir.Type, alignment: int | None = None
) -> ir.Value:
    """A scalar or vector at `pointer`, aligned as its elements are unless `alignment` is given."""
    element = element_of(type)
    stored = with_element(type, stored_type(element))
    value = ctx.b.load(pointer, align=alignment or byte_size(element), typ=stored)
    return value if stored == type else ctx.b.trunc(value, type)


def store_to(
    ctx: Context, value: ir.Value, pointer: ir.Value, alignment: int | None = None
) -> None:
    """Write a scalar or vector to `pointer`."""
    element = element_of(value.type)
    stored = with_element(value.type, stored_type(element))
    if stored != value.type:
        value = ctx.b.zext(value, stored)
    ctx.b.store(value, pointer, align=alignment or byte_size(element))


def vector_load(
    ctx: Context, memref: SSAValue, indices: Sequence[Index], type: Attribute, op: Operation
) -> ir.Value:
    """The elements from `indices` on, along the last dimensions, as a vector of `type`."""
    assert isinstance(type, VectorType)
    wide = llvm_type(type)
    row = ir.VectorType(element_of(wide), _row_length(type))
    alignment = explicit_alignment(op)
    rows = [
        load_from(ctx, pointer, row, alignment)
        for _, pointer in _rows(ctx, ctx.memref(memref), indices, type)
    ]
    return concatenate(ctx.b, rows)


def vector_store(
    ctx: Context,
    value: ir.Value,
    memref: SSAValue,
    indices: Sequence[Index],
    type: Attribute,
    op: Operation,
) -> None:
    """Write a vector from `indices` on, along the last dimensions."""
    assert isinstance(type, VectorType)
    alignment = explicit_alignment(op)
    length = _row_length(type)
    for first, pointer in _rows(ctx, ctx.memref(memref), indices, type):
        row = shuffle(ctx.b, value, range(first, first + length))
        store_to(ctx, row, pointer, alignment)


def explicit_alignment(op: Operation) -> int | None:
    """The `alignment` attribute of a vector access; rows after the first may have less."""
    attribute = op.properties.get("alignment") or op.attributes.get("alignment")
    return promised_alignment(attribute)


def _row_length(type: VectorType) -> int:
    shape = type.get_shape()
    return shape[-1] if shape else 1


def _rows(
    ctx: Context, source: MemRefValue, indices: Sequence[Index], type: VectorType
) -> Iterator[tuple[int, ir.Value]]:
    """The first element in the vector, and the address, of each row of `type`."""
    shape = type.get_shape()
    rank = len(source.strides)
    if len(shape) > rank:
        raise UnsupportedError(f"a vector of rank {len(shape)} in a memref of rank {rank}")
    if shape and indexing.known(source.strides[-1]) != 1 and shape[-1] != 1:
        raise UnsupportedError(
            "the last dimension of the memref must be contiguous (stride 1) to load or store "
            "vectors; copy it first or use scalar accesses"
        )
    outer = shape[:-1]
    lead = rank - len(shape)
    for position in positions(outer):
        moved = list(indices)
        for d, index in enumerate(position):
            moved[lead + d] = indexing.add(ctx.b, moved[lead + d], index)
        yield linear(position, outer) * _row_length(type), source.address(ctx.b, moved)
