"""Emits what the threads of a subgroup or a block compute together: `gpu` shuffles, reductions."""

from __future__ import annotations

import math
from collections.abc import Callable

from llvmlite import ir
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation

from opar.backend.codegen import indexing
from opar.backend.codegen.access import load_from, store_to
from opar.backend.codegen.context import Context
from opar.backend.codegen.loops import branch
from opar.backend.codegen.memref_value import MemRefValue
from opar.backend.codegen.reductions import combine
from opar.backend.codegen.table import Table
from opar.backend.codegen.types import I32, I64, element_of, float_bits
from opar.dialects import gpu
from opar.errors import UnsupportedError

TABLE = Table()

MOST_THREADS = 1024
"""Threads of a block whose size is not known."""


@TABLE.op(gpu.ShuffleOp)
def emit_shuffle(ctx: Context, op: gpu.ShuffleOp) -> None:
    mode = op.mode.data.value
    offset, width = ctx.value(op.offset), ctx.value(op.width)
    result, valid = _exchange(ctx, mode, ctx.value(op.value), offset, width)
    ctx.set(op.shuffle_result, result)
    ctx.set(op.valid, valid)


@TABLE.op(gpu.RotateOp)
def emit_rotate(ctx: Context, op: gpu.RotateOp) -> None:
    b = ctx.b
    width = op.width.value.data
    own = b.trunc(ctx.target.subgroup_property(ctx, "lane_id"), I32)
    moved = b.add(own, ir.Constant(I32, op.offset.value.data))
    lane = b.and_(moved, ir.Constant(I32, width - 1))
    result, _ = _exchange(ctx, "idx", ctx.value(op.value), lane, ir.Constant(I32, width))
    size = b.trunc(ctx.target.subgroup_property(ctx, "subgroup_size"), I32)
    ctx.set(op.rotate_result, result)
    ctx.set(op.valid, b.icmp_unsigned("<=", ir.Constant(I32, width), size))


@TABLE.op(gpu.SubgroupReduceOp)
def emit_subgroup_reduce(ctx: Context, op: gpu.SubgroupReduceOp) -> None:
    size = indexing.known(ctx.target.subgroup_property(ctx, "subgroup_size"))
    assert isinstance(size, int)
    count = size if op.cluster_size is None else op.cluster_size.value.data
    stride = 1 if op.cluster_stride is None else op.cluster_stride.value.data
    if count * stride > size:
        raise UnsupportedError(
            f"clusters of {count} lanes with stride {stride} do not fit a subgroup of {size} lanes "
            f"on {ctx.target.name}"
        )
    value = ctx.value(op.value)
    while count > 1:
        count //= 2
        offset = ir.Constant(I32, count * stride)
        other, _ = _exchange(ctx, "xor", value, offset, ir.Constant(I32, size))
        value = combine(ctx, op.op.data.value, value, other)
    ctx.set(op.result, value)


def _exchange(
    ctx: Context, mode: str, value: ir.Value, offset: ir.Value, width: ir.Value
) -> tuple[ir.Value, ir.Value]:
    """A value of any scalar or vector type of another lane, 32 bits at a time."""
    b = ctx.b
    element = element_of(value.type)
    width_of = element.width if isinstance(element, ir.IntType) else float_bits(element)
    bits = width_of * (value.type.count if isinstance(value.type, ir.VectorType) else 1)
    words = -(-bits // 32)
    plain = b.bitcast(value, ir.IntType(bits))
    whole = b.zext(plain, ir.IntType(32 * words))
    pieces: list[ir.Value] = []
    valid: ir.Value | None = None
    for word in range(words):
        piece = b.trunc(b.lshr(whole, ir.Constant(whole.type, 32 * word)), I32)
        other, valid = ctx.target.exchange(ctx, mode, piece, offset, width)
        pieces.append(b.shl(b.zext(other, whole.type), ir.Constant(whole.type, 32 * word)))
    result = pieces[0]
    for piece in pieces[1:]:
        result = b.or_(result, piece)
    assert valid is not None
    return b.bitcast(b.trunc(result, plain.type), value.type), valid


def threads_at_most(known_block_size: tuple[int, int, int] | None) -> int:
    """The most threads that a block has."""
    return MOST_THREADS if known_block_size is None else math.prod(known_block_size)


@TABLE.op(gpu.AllReduceOp)
def emit_all_reduce(ctx: Context, op: gpu.AllReduceOp) -> None:
    """A tree over a buffer in workgroup memory with one element a thread."""
    value = ctx.value(op.value)
    most = threads_at_most(ctx.known_block_size)
    if most == 1:
        ctx.set(op.result, value)
        return
    b = ctx.b
    x, y, z = (ctx.hardware_id("block_dim", d) for d in range(3))
    tx, ty, tz = (ctx.hardware_id("thread_id", d) for d in range(3))
    own = b.add(tx, b.mul(x, b.add(ty, b.mul(y, tz))))
    count = b.mul(x, b.mul(y, z))
    ctx.target.barrier(ctx, op)  # of an earlier use of the same buffer, too
    memory = ctx.target.workgroup_memory(ctx, MemRefType(op.value.type, [most]))
    buffer = MemRefValue(memory, value.type, (most,), (1,))
    own_place = buffer.address(b, [own])
    store_to(ctx, value, own_place)
    ctx.target.barrier(ctx, op)
    merge = _combiner(ctx, op)
    step = 1 << (most - 1).bit_length() >> 1
    while step:
        partner = b.add(own, ir.Constant(I64, step))
        first = b.icmp_unsigned("<", own, ir.Constant(I64, step))
        takes = b.and_(first, b.icmp_unsigned("<", partner, count))
        place = buffer.address(b, [partner])

        def take(place: ir.Value = place) -> list[ir.Value]:
            lhs, rhs = (load_from(ctx, p, value.type) for p in (own_place, place))
            store_to(ctx, merge(lhs, rhs), own_place)
            return []

        branch(ctx, takes, take, None)
        ctx.target.barrier(ctx, op)
        step >>= 1
    ctx.set(op.result, load_from(ctx, memory, value.type))


def _combiner(ctx: Context, op: gpu.AllReduceOp) -> Callable[[ir.Value, ir.Value], ir.Value]:
    if op.op is not None:
        kind = op.op.data.value
        return lambda lhs, rhs: combine(ctx, kind, lhs, rhs)
    if len(op.body.blocks) != 1:
        raise UnsupportedError("a reduction by a region of several blocks is not supported")

    def merge(lhs: ir.Value, rhs: ir.Value) -> ir.Value:
        end: Operation = ctx.emit_single_block(op.body, [lhs, rhs])
        return ctx.value(end.operands[0])

    return merge
