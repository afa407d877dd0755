"""Emits `memref`: accesses, views, sizes, stack memory and atomic updates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from llvmlite import ir
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.ir import SSAValue

from opar.backend.codegen import indexing, memref_value
from opar.backend.codegen.access import load, store
from opar.backend.codegen.context import Context
from opar.backend.codegen.indexing import Index
from opar.backend.codegen.memref_value import MemRefValue, element_type
from opar.backend.codegen.table import Table
from opar.backend.codegen.types import BF16, F16, I1, byte_size, is_float
from opar.dialects import memref
from opar.dialects.affine import ReductionKind
from opar.errors import UnsupportedError

TABLE = Table()


def _indices(ctx: Context, operands: Sequence[SSAValue]) -> list[Index]:
    return [indexing.known(ctx.value(v)) for v in operands]


@TABLE.op(memref.LoadOp)
def emit_load(ctx: Context, op: memref.LoadOp) -> None:
    ctx.set(op.res, load(ctx, op.memref, _indices(ctx, op.indices)))


@TABLE.op(memref.StoreOp)
def emit_store(ctx: Context, op: memref.StoreOp) -> None:
    store(ctx, ctx.value(op.value), op.memref, _indices(ctx, op.indices))


@TABLE.op(memref.DimOp)
def emit_dim(ctx: Context, op: memref.DimOp) -> None:
    dim = indexing.known(ctx.value(op.index))
    sizes = ctx.memref(op.source).sizes
    if not isinstance(dim, int) or not 0 <= dim < len(sizes):
        raise UnsupportedError("the dimension must be a constant within the rank")
    ctx.set(op.result, indexing.value(sizes[dim]))


@TABLE.op(memref.AllocaOp)
def emit_alloca(ctx: Context, op: memref.AllocaOp) -> None:
    type = op.memref.type
    assert isinstance(type, MemRefType)
    count = 1
    for size in type.get_shape():
        if size == DYNAMIC_INDEX:
            raise UnsupportedError("stack memory must have a constant size in a kernel")
        count *= size
    element = element_type(type)
    stored = ir.IntType(8) if element == I1 else element
    align = byte_size(stored)
    if op.alignment is not None:
        align = max(align, op.alignment.value.data)
    slot = ctx.alloca(ir.ArrayType(stored, max(count, 1)), align)
    ctx.set(op.memref, memref_value.rebuild(ctx.b, type, [slot]))


@TABLE.op(memref.CastOp)
def emit_cast(ctx: Context, op: memref.CastOp) -> None:
    if not isinstance(op.dest.type, MemRefType):
        raise UnsupportedError("unranked memrefs are not supported in a kernel")
    ctx.set(op.dest, ctx.memref(op.source))


def _mixed(ctx: Context, static: Sequence[int], dynamic: Sequence[SSAValue]) -> list[Index]:
    """Static values, with the operands in the places that are dynamic."""
    remaining = iter(dynamic)
    return [indexing.known(ctx.value(next(remaining))) if s == DYNAMIC_INDEX else s for s in static]


@TABLE.op(memref.SubviewOp)
def emit_subview(ctx: Context, op: memref.SubviewOp) -> None:
    source = ctx.memref(op.source)
    type = op.result.type
    assert isinstance(type, MemRefType)
    offsets = _mixed(ctx, op.static_offsets.get_values(), op.offsets)
    sizes = _mixed(ctx, op.static_sizes.get_values(), op.sizes)
    steps = _mixed(ctx, op.static_strides.get_values(), op.strides)
    strides = [indexing.mul(ctx.b, a, b) for a, b in zip(source.strides, steps, strict=True)]
    kept = _kept_dimensions(sizes, type)
    ctx.set(
        op.result,
        MemRefValue(
            source.address(ctx.b, offsets),
            source.element,
            tuple(sizes[d] for d in kept),
            tuple(strides[d] for d in kept),
            None,
        ),
    )


def _kept_dimensions(sizes: Sequence[Index], type: MemRefType) -> list[int]:
    """Which dimensions a view keeps: of those of size 1, the ones that its type lacks go."""
    shape = type.get_shape()
    kept: list[int] = []
    for d, size in enumerate(sizes):
        wanted = shape[len(kept)] if len(kept) < len(shape) else None
        if (
            len(sizes) == len(shape)
            or wanted == size
            or (wanted == DYNAMIC_INDEX and not isinstance(size, int))
        ):
            kept.append(d)
        elif size != 1:
            raise UnsupportedError("the dimensions that the view drops must have size 1")
    return kept


@TABLE.op(memref.ReinterpretCastOp)
def emit_reinterpret_cast(ctx: Context, op: memref.ReinterpretCastOp) -> None:
    source = ctx.memref(op.source)
    if source.offset is None:
        raise UnsupportedError("reinterpreting a view of unknown offset is not supported")
    (offset,) = _mixed(ctx, op.static_offsets.get_values(), op.offsets)
    start = indexing.sub(ctx.b, offset, source.offset)
    ctx.set(
        op.result,
        MemRefValue(
            source.advanced(ctx.b, start),
            source.element,
            tuple(_mixed(ctx, op.static_sizes.get_values(), op.sizes)),
            tuple(_mixed(ctx, op.static_strides.get_values(), op.strides)),
            offset,
        ),
    )


@TABLE.op(memref.CollapseShapeOp)
def emit_collapse_shape(ctx: Context, op: memref.CollapseShapeOp) -> None:
    source = ctx.memref(op.src)
    sizes: list[Index] = []
    strides: list[Index] = []
    for group in op.reassociation:
        members = [i.value.data for i in group]
        size: Index = 1
        for d in members:
            size = indexing.mul(ctx.b, size, source.sizes[d])
        sizes.append(size)
        strides.append(source.strides[members[-1]] if members else 1)
    ctx.set(op.result, replace(source, sizes=tuple(sizes), strides=tuple(strides)))


@TABLE.op(memref.ExpandShapeOp)
def emit_expand_shape(ctx: Context, op: memref.ExpandShapeOp) -> None:
    source = ctx.memref(op.src)
    sizes = _mixed(ctx, op.static_output_shape.get_values(), op.output_shape)
    strides: list[Index] = [1] * len(sizes)
    for outer, group in enumerate(op.reassociation):
        stride = source.strides[outer]
        for d in reversed([i.value.data for i in group]):
            strides[d] = stride
            stride = indexing.mul(ctx.b, stride, sizes[d])
    ctx.set(op.result, replace(source, sizes=tuple(sizes), strides=tuple(strides)))


_INTEGER_UPDATES = {
    ReductionKind.addi: "add",
    ReductionKind.andi: "and",
    ReductionKind.assign: "xchg",
    ReductionKind.maxs: "max",
    ReductionKind.maxu: "umax",
    ReductionKind.mins: "min",
    ReductionKind.minu: "umin",
    ReductionKind.ori: "or",
    ReductionKind.xori: "xor",
}


@TABLE.op(memref.AtomicRMWOp)
def emit_atomic_rmw(ctx: Context, op: memref.AtomicRMWOp) -> None:
    kind = ReductionKind(op.kind.value.data)
    value = ctx.value(op.value)
    pointer = ctx.memref(op.memref).address(ctx.b, _indices(ctx, op.indices))
    if is_float(value.type):
        if kind is not ReductionKind.addf or value.type in (F16, BF16):
            raise UnsupportedError(f"atomic '{kind.name}' on {op.value.type} is not supported")
        name = "fadd"
    elif kind in _INTEGER_UPDATES and value.type in (ir.IntType(32), ir.IntType(64)):
        name = _INTEGER_UPDATES[kind]
    else:
        raise UnsupportedError(f"atomic '{kind.name}' on {op.value.type} is not supported")
    ctx.set(op.result, ctx.b.atomic_rmw(name, pointer, value, "monotonic"))


@TABLE.op(memref.AssumeAlignmentOp)
def emit_assume_alignment(ctx: Context, op: memref.AssumeAlignmentOp) -> None:
    ctx.set(op.results[0], ctx.memref(op.operands[0]))
