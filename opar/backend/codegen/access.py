"""Loads and stores of scalars and vectors. A boolean (i1) takes a byte in memory."""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir
from xdsl.dialects.builtin import VectorType
from xdsl.ir import Attribute, SSAValue

from opar.backend.codegen.context import Context
from opar.backend.codegen.indexing import Index
from opar.backend.codegen.types import I1, I8, byte_size, element_of, llvm_type
from opar.errors import UnsupportedError


def load(ctx: Context, memref: SSAValue, indices: Sequence[Index]) -> ir.Value:
    """One element of a memref."""
    source = ctx.memref(memref)
    pointer = source.address(ctx.b, indices)
    stored = I8 if source.element == I1 else source.element
    value = ctx.b.load(pointer, align=byte_size(stored), typ=stored)
    return ctx.b.trunc(value, I1) if source.element == I1 else value


def store(ctx: Context, value: ir.Value, memref: SSAValue, indices: Sequence[Index]) -> None:
    """Write one element of a memref."""
    target = ctx.memref(memref)
    pointer = target.address(ctx.b, indices)
    if target.element == I1:
        value = ctx.b.zext(value, I8)
    ctx.b.store(value, pointer, align=byte_size(value.type))


def vector_load(
    ctx: Context, memref: SSAValue, indices: Sequence[Index], type: Attribute
) -> ir.Value:
    """Elements from `indices` on, along the last dimension, as a vector of one dimension."""
    wide, pointer = _vector_access(ctx, memref, indices, type)
    return ctx.b.load(pointer, align=byte_size(element_of(wide)), typ=wide)


def vector_store(
    ctx: Context, value: ir.Value, memref: SSAValue, indices: Sequence[Index], type: Attribute
) -> None:
    """Write a vector from `indices` on, along the last dimension."""
    _, pointer = _vector_access(ctx, memref, indices, type)
    ctx.b.store(value, pointer, align=byte_size(element_of(value.type)))


def _vector_access(
    ctx: Context, memref: SSAValue, indices: Sequence[Index], type: Attribute
) -> tuple[ir.VectorType, ir.Value]:
    assert isinstance(type, VectorType)
    source = ctx.memref(memref)
    wide = llvm_type(type)
    assert isinstance(wide, ir.VectorType)
    if len(type.get_shape()) != 1:
        raise UnsupportedError("only vectors of one dimension can be loaded and stored")
    if source.element == I1:
        raise UnsupportedError("vectors of i1 cannot be loaded or stored")
    if source.strides and source.strides[-1] != 1:
        raise UnsupportedError("the last dimension of the memref must be contiguous")
    return wide, source.address(ctx.b, indices)
