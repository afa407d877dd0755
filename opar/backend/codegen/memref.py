"""Emits `memref`: accesses, views, sizes, stack memory and atomic updates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from llvmlite import ir
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.ir import SSAValue

from opar.backend.codegen import indexing, memref_value
from opar.backend.codegen.access import load, load_from, store, store_to
from opar.backend.codegen.atomics import update
from opar.backend.codegen.context import Context
from opar.backend.codegen.indexing import Index
from opar.backend.codegen.layout import is_workgroup
from opar.backend.codegen.loops import nested_loops
from opar.backend.codegen.memref_value import MemRefValue, element_type
from opar.backend.codegen.reductions import common_name
from opar.backend.codegen.table import Table
from opar.backend.codegen.types import LARGEST_ALIGNMENT, promised_alignment
from opar.dialects import memref
from opar.dialects.reduction_kind import ReductionKind
from opar.errors import UnsupportedError

TABLE = Table()
TABLE.structural(memref.AllocaScopeReturnOp)


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
    if isinstance(dim, int):
        if not 0 <= dim < len(sizes):
            raise UnsupportedError(f"dimension {dim} of a memref of rank {len(sizes)}")
        ctx.set(op.result, indexing.value(sizes[dim]))
        return
    chosen = indexing.value(sizes[0]) if sizes else indexing.value(0)
    for d, size in enumerate(sizes[1:], 1):
        here = ctx.b.icmp_signed("==", dim, indexing.value(d))
        chosen = ctx.b.select(here, indexing.value(size), chosen)
    ctx.set(op.result, chosen)


@TABLE.op(memref.RankOp)
def emit_rank(ctx: Context, op: memref.RankOp) -> None:
    ctx.set(op.rank, indexing.value(len(ctx.memref(op.source).sizes)))


@TABLE.op(memref.AllocaOp)
def emit_alloca(ctx: Context, op: memref.AllocaOp) -> None:
    type = op.memref.type
    assert isinstance(type, MemRefType)
    if not type.has_static_shape():
        raise UnsupportedError("stack memory must have a constant size in a kernel")
    if is_workgroup(type.memory_space):
        raise UnsupportedError("workgroup memory is a workgroup attribution of the kernel")
    if op.alignment is not None and op.alignment.value.data > LARGEST_ALIGNMENT:
        raise UnsupportedError(f"stack memory is aligned to {LARGEST_ALIGNMENT} bytes at most")
    alignment = promised_alignment(op.alignment) or 1
    slot = ctx.private_memory(type, alignment)
    ctx.set(op.memref, memref_value.rebuild(ctx.b, type, [slot]))


@TABLE.op(memref.AllocaScopeOp)
def emit_alloca_scope(ctx: Context, op: memref.AllocaScopeOp) -> None:
    # Stack memory lives as long as the function anyway.
    ctx.bind(op.results, ctx.flat(ctx.emit_single_block(op.scope, []).operands))


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


@TABLE.op(memref.MemorySpaceCastOp)
def emit_memory_space_cast(ctx: Context, op: memref.MemorySpaceCastOp) -> None:
    if not isinstance(op.dest.type, MemRefType):
        raise UnsupportedError("unranked memrefs are not supported in a kernel")
    source = ctx.memref(op.source)
    space = ctx.target.address_space(op.dest.type.memory_space)
    pointer = ctx.b.addrspacecast(source.pointer, ir.PointerType(addrspace=space))
    ctx.set(op.dest, replace(source, pointer=pointer))


@TABLE.op(memref.ViewOp)
def emit_view(ctx: Context, op: memref.ViewOp) -> None:
    type = op.result.type
    assert isinstance(type, MemRefType)
    source = ctx.memref(op.source)
    pointer = source.address(ctx.b, [indexing.known(ctx.value(op.byte_shift))])
    sizes = _mixed(ctx, type.get_shape(), op.sizes)
    ctx.set(
        op.result,
        MemRefValue(
            pointer, element_type(type), tuple(sizes), memref_value.row_major(ctx.b, sizes), 0
        ),
    )


@TABLE.op(memref.CopyOp)
def emit_copy(ctx: Context, op: memref.CopyOp) -> None:
    """Element by element, by the thread that gets here."""
    if not isinstance(op.source.type, MemRefType):
        raise UnsupportedError("unranked memrefs are not supported in a kernel")
    source, target = ctx.memref(op.source), ctx.memref(op.destination)

    def body(indices: list[ir.Value], _: list[ir.Value]) -> list[ir.Value]:
        value = load_from(ctx, source.address(ctx.b, indices), source.element)
        store_to(ctx, value, target.address(ctx.b, indices))
        return []

    nested_loops(ctx, [(0, indexing.known(size), 1) for size in source.sizes], [], body)


@TABLE.op(memref.AssumeAlignmentOp)
def emit_assume_alignment(ctx: Context, op: memref.AssumeAlignmentOp) -> None:
    """Tells LLVM, which then uses wider accesses."""
    source = ctx.memref(op.memref)
    alignment = promised_alignment(op.alignment)
    assert alignment is not None
    ctx.assume_aligned(source.pointer, alignment)
    ctx.set(op.result, source)


@TABLE.op(memref.AtomicRMWOp)
def emit_atomic_rmw(ctx: Context, op: memref.AtomicRMWOp) -> None:
    kind = common_name(ReductionKind(op.kind.value.data))
    pointer = ctx.memref(op.memref).address(ctx.b, _indices(ctx, op.indices))
    ctx.set(op.result, update(ctx, kind, pointer, ctx.value(op.value)))
