"""
Emits the accesses of `vector` that may leave elements out: transfers and masked accesses.

A transfer that is in bounds, unmasked and along the last dimensions is a plain vector access; any
other is done element by element, each behind its condition.
"""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir
from xdsl.dialects import vector
from xdsl.dialects.builtin import MemRefType, VectorType
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineDimExpr

from opar.backend.codegen import indexing
from opar.backend.codegen.access import load_from, store_to, vector_load, vector_store
from opar.backend.codegen.context import Context
from opar.backend.codegen.indexing import Index
from opar.backend.codegen.loops import branch
from opar.backend.codegen.table import Table
from opar.backend.codegen.types import llvm_type
from opar.backend.codegen.vectors import from_elements, lane, positions
from opar.errors import UnsupportedError

TABLE = Table()

Transfer = vector.TransferReadOp | vector.TransferWriteOp


@TABLE.op(vector.TransferReadOp)
def emit_transfer_read(ctx: Context, op: vector.TransferReadOp) -> None:
    type = op.result.type
    _check_memref(op)
    indices = _indices(ctx, op.indices)
    if _is_plain(ctx, op, type):
        ctx.set(op.result, vector_load(ctx, op.source, indices, type, op))
        return
    padding = ctx.value(op.padding)
    element = ctx.memref(op.source).element
    elements: list[ir.Value] = []
    for condition, pointer in _elements(ctx, op, indices, type):
        if condition is None:
            elements.append(load_from(ctx, pointer(), element))
            continue
        (found,) = branch(
            ctx,
            condition,
            lambda pointer=pointer: [load_from(ctx, pointer(), element)],
            lambda: [padding],
        )
        elements.append(found)
    ctx.set(op.result, from_elements(ctx.b, elements))


@TABLE.op(vector.TransferWriteOp)
def emit_transfer_write(ctx: Context, op: vector.TransferWriteOp) -> None:
    type = op.vector.type
    assert isinstance(type, VectorType)
    _check_memref(op)
    indices = _indices(ctx, op.indices)
    value = ctx.value(op.vector)
    if _is_plain(ctx, op, type):
        vector_store(ctx, value, op.source, indices, type, op)
        return
    for position, (condition, pointer) in enumerate(_elements(ctx, op, indices, type)):
        _store_if(ctx, condition, ctx.b.extract_element(value, lane(position)), pointer)


def _check_memref(op: Transfer) -> None:
    if not isinstance(op.source.type, MemRefType):
        raise UnsupportedError("only memrefs can be transferred in a kernel; bufferize tensors")


def _indices(ctx: Context, operands: Sequence[SSAValue]) -> list[Index]:
    return [indexing.known(ctx.value(v)) for v in operands]


def _is_plain(ctx: Context, op: Transfer, type: VectorType) -> bool:
    shape = type.get_shape()
    return (
        op.mask is None
        and len(shape) > 0
        and op.permutation_map.data.is_minor_identity()
        and all(bool(flag) for flag in op.in_bounds)
        and indexing.known(ctx.memref(op.source).strides[-1]) == 1
    )


def _elements(ctx: Context, op: Transfer, indices: Sequence[Index], type: VectorType):
    """For each element of the vector, its condition (None: always) and how to get its address."""
    b = ctx.b
    source = ctx.memref(op.source)
    shape = type.get_shape()
    in_bounds = [bool(flag) for flag in op.in_bounds]
    dims = [
        expr.position if isinstance(expr, AffineDimExpr) else None
        for expr in op.permutation_map.data.results
    ]
    # The mask has the order of the memref's dimensions.
    order = sorted(d for d in dims if d is not None)
    for position in positions(shape):
        moved = list(indices)
        condition: ir.Value | None = None
        for index, d, safe in zip(position, dims, in_bounds, strict=False):
            if d is None:
                continue
            moved[d] = indexing.add(b, moved[d], index)
            if not safe:
                size = indexing.value(source.sizes[d])
                condition = _both(
                    ctx, condition, b.icmp_signed("<", indexing.value(moved[d]), size)
                )
        if op.mask is not None:
            by_dim = {d: (i, n) for i, n, d in zip(position, shape, dims, strict=False)}
            place = 0
            for d in order:
                i, n = by_dim[d]
                place = place * n + i
            flag = b.extract_element(ctx.value(op.mask), lane(place))
            condition = _both(ctx, condition, flag)
        yield condition, lambda moved=moved: source.address(ctx.b, moved)


def _both(ctx: Context, lhs: ir.Value | None, rhs: ir.Value) -> ir.Value:
    return rhs if lhs is None else ctx.b.and_(lhs, rhs)


def _store_if(ctx: Context, condition: ir.Value | None, value: ir.Value, pointer) -> None:
    if condition is None:
        store_to(ctx, value, pointer())
        return

    def write() -> list[ir.Value]:
        store_to(ctx, value, pointer())
        return []

    branch(ctx, condition, write, None)


def _lane_pointers(ctx: Context, base: SSAValue, indices: Sequence[Index], count: int):
    source = ctx.memref(base)
    for position in range(count):
        moved = [*indices[:-1], indexing.add(ctx.b, indices[-1], position)]
        yield lambda moved=moved: source.address(ctx.b, moved)


@TABLE.op(vector.MaskedLoadOp)
def emit_masked_load(ctx: Context, op: vector.MaskedLoadOp) -> None:
    mask, otherwise = ctx.value(op.mask), ctx.value(op.pass_thru)
    type = llvm_type(op.result.type)
    assert isinstance(type, ir.VectorType)
    elements: list[ir.Value] = []
    pointers = _lane_pointers(ctx, op.base, _indices(ctx, op.indices), type.count)
    for position, pointer in enumerate(pointers):
        place = lane(position)
        kept = ctx.b.extract_element(otherwise, place)
        (found,) = branch(
            ctx,
            ctx.b.extract_element(mask, place),
            lambda pointer=pointer: [load_from(ctx, pointer(), type.element)],
            lambda kept=kept: [kept],
        )
        elements.append(found)
    ctx.set(op.result, from_elements(ctx.b, elements))


@TABLE.op(vector.MaskedStoreOp)
def emit_masked_store(ctx: Context, op: vector.MaskedStoreOp) -> None:
    mask, value = ctx.value(op.mask), ctx.value(op.value_to_store)
    pointers = _lane_pointers(ctx, op.base, _indices(ctx, op.indices), value.type.count)
    for position, pointer in enumerate(pointers):
        element = ctx.b.extract_element(value, lane(position))
        _store_if(ctx, ctx.b.extract_element(mask, lane(position)), element, pointer)
