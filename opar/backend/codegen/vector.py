"""Emits `vector`: contiguous accesses, broadcasts, elements, shuffles, masks and reductions."""

from __future__ import annotations

from llvmlite import ir
from xdsl.dialects import vector
from xdsl.dialects.builtin import DYNAMIC_INDEX, VectorType
from xdsl.ir import SSAValue

from opar.backend.codegen import indexing, transfers
from opar.backend.codegen.access import vector_load, vector_store
from opar.backend.codegen.context import Context
from opar.backend.codegen.float_ops import intrinsic_emitter
from opar.backend.codegen.floats import compute, fastmath_flags, truncate
from opar.backend.codegen.indexing import Index
from opar.backend.codegen.reductions import (
    FLOAT_INTRINSICS,
    INTEGER_INTRINSICS,
    combine,
    identity,
)
from opar.backend.codegen.table import Table
from opar.backend.codegen.types import BF16, I1, I64, element_of, is_float, llvm_type
from opar.backend.codegen.vectors import (
    broadcast_lanes,
    count_of,
    from_elements,
    lane,
    positions,
    shuffle,
    splat,
)
from opar.errors import UnsupportedError

TABLE = Table(transfers.TABLE)
TABLE.op(vector.FMAOp)(intrinsic_emitter("fma"))


def _shape(value: SSAValue) -> tuple[int, ...]:
    assert isinstance(value.type, VectorType)
    return value.type.get_shape()


@TABLE.op(vector.BroadcastOp)
def emit_broadcast(ctx: Context, op: vector.BroadcastOp) -> None:
    source = ctx.value(op.source)
    if isinstance(op.source.type, VectorType):
        lanes = broadcast_lanes(_shape(op.source), _shape(op.vector))
        ctx.set(op.vector, shuffle(ctx.b, source, lanes))
    else:
        ctx.set(op.vector, splat(ctx.b, source, count_of(_shape(op.vector))))


@TABLE.op(vector.LoadOp)
def emit_load(ctx: Context, op: vector.LoadOp) -> None:
    indices = [indexing.known(ctx.value(v)) for v in op.indices]
    ctx.set(op.result, vector_load(ctx, op.base, indices, op.result.type, op))


@TABLE.op(vector.StoreOp)
def emit_store(ctx: Context, op: vector.StoreOp) -> None:
    indices = [indexing.known(ctx.value(v)) for v in op.indices]
    vector_store(ctx, ctx.value(op.vector), op.base, indices, op.vector.type, op)


def _first_lane(
    ctx: Context, op: vector.ExtractOp | vector.InsertOp, shape: tuple[int, ...]
) -> tuple[Index, int]:
    """The lane where the position of `op` in a vector of `shape` starts, and how many follow."""
    dynamic = iter(op.dynamic_position)
    place: Index = 0
    static = list(op.static_position.get_values())
    for position, size in zip(static, shape, strict=False):
        index = ctx.value(next(dynamic)) if position == DYNAMIC_INDEX else int(position)
        place = indexing.add(ctx.b, indexing.mul(ctx.b, place, size), index)
    inner = count_of(shape[len(static) :])
    return indexing.mul(ctx.b, place, inner), inner


@TABLE.op(vector.ExtractOp)
def emit_extract(ctx: Context, op: vector.ExtractOp) -> None:
    b, source = ctx.b, ctx.value(op.vector)
    first, count = _first_lane(ctx, op, _shape(op.vector))
    if not isinstance(op.result.type, VectorType):
        ctx.set(op.result, b.extract_element(source, indexing.value(first)))
    elif isinstance(first, int):
        ctx.set(op.result, shuffle(b, source, range(first, first + count)))
    else:
        lanes = [indexing.value(indexing.add(b, first, i)) for i in range(count)]
        ctx.set(op.result, from_elements(b, [b.extract_element(source, i) for i in lanes]))


@TABLE.op(vector.InsertOp)
def emit_insert(ctx: Context, op: vector.InsertOp) -> None:
    b, source, result = ctx.b, ctx.value(op.source), ctx.value(op.dest)
    first, count = _first_lane(ctx, op, _shape(op.dest))
    if not isinstance(op.source.type, VectorType):
        ctx.set(op.result, b.insert_element(result, source, indexing.value(first)))
        return
    for i in range(count):
        element = b.extract_element(source, lane(i))
        place = indexing.value(indexing.add(b, first, i))
        result = b.insert_element(result, element, place)
    ctx.set(op.result, result)


@TABLE.op(vector.ShuffleOp)
def emit_shuffle(ctx: Context, op: vector.ShuffleOp) -> None:
    b = ctx.b
    shape = _shape(op.v1)
    inner = count_of(shape[1:])
    elements = [ctx.value(op.v1), ctx.value(op.v2)]
    sizes = [element.type.count for element in elements]
    lanes = [max(int(entry), 0) * inner + i for entry in op.mask.get_values() for i in range(inner)]
    if sizes[0] == sizes[1]:
        mask = ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), [lane(i) for i in lanes])
        ctx.set(op.result, b.shuffle_vector(elements[0], elements[1], mask))
        return
    picked = [
        b.extract_element(elements[i >= sizes[0]], lane(i - sizes[0] if i >= sizes[0] else i))
        for i in lanes
    ]
    ctx.set(op.result, from_elements(b, picked))


@TABLE.op(vector.BitcastOp)
def emit_bitcast(ctx: Context, op: vector.BitcastOp) -> None:
    ctx.set(op.result, ctx.b.bitcast(ctx.value(op.source), llvm_type(op.result.type)))


@TABLE.op(vector.CreateMaskOp)
def emit_create_mask(ctx: Context, op: vector.CreateMaskOp) -> None:
    b, shape = ctx.b, _shape(op.mask_vector)
    count = count_of(shape)
    mask: ir.Value = ir.Constant(ir.VectorType(I1, count), [ir.Constant(I1, 1)] * count)
    for d, size in enumerate(op.mask_dim_sizes):
        along = [ir.Constant(I64, position[d]) for position in positions(shape)]
        indices = ir.Constant(ir.VectorType(I64, count), along)
        limit = splat(b, ctx.value(size), count)
        mask = b.and_(mask, b.icmp_signed("<", indices, limit))
    ctx.set(op.mask_vector, mask)


@TABLE.op(vector.ReductionOp)
def emit_reduction(ctx: Context, op: vector.ReductionOp) -> None:
    kind = op.kind.data.value
    flags = fastmath_flags(op)
    source = ctx.value(op.vector)
    start = None if op.acc is None else ctx.value(op.acc)
    element = element_of(source.type)
    narrow = element == BF16
    if narrow:
        source = compute(ctx, source)
        start = None if start is None else compute(ctx, start)
    wide = element_of(source.type)
    if is_float(wide) and kind in ("add", "mul"):
        # In order, from the start value: floats are not reassociated unless a flag allows it.
        first = identity(kind, wide) if start is None else start
        name = f"llvm.vector.reduce.f{kind}"
        overloads = [source.type]
        found = ctx.intrinsic(
            name, [first, source], result=wide, overloads=overloads, fastmath=flags
        )
    else:
        name = f"llvm.vector.reduce.{_reduction_name(kind, wide)}"
        found = ctx.intrinsic(name, [source], result=wide, fastmath=flags)
        if start is not None:
            found = combine(ctx, kind, found, start, flags)
    ctx.set(op.dest, truncate(ctx, found, BF16) if narrow else found)


def _reduction_name(kind: str, element: ir.Type) -> str:
    if is_float(element):
        if kind in FLOAT_INTRINSICS:
            return f"f{FLOAT_INTRINSICS[kind].removesuffix('num')}"
    elif kind in INTEGER_INTRINSICS:
        return INTEGER_INTRINSICS[kind]
    elif kind in ("add", "mul", "and", "or", "xor"):
        return kind
    raise UnsupportedError(f"reduction '{kind}' does not apply to these elements")
