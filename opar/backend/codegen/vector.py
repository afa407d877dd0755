"""Emits `vector`: contiguous accesses, broadcasts, elements and reductions."""

from __future__ import annotations

from llvmlite import ir
from xdsl.dialects import vector
from xdsl.dialects.builtin import VectorType

from opar.backend.codegen import indexing
from opar.backend.codegen.access import vector_load, vector_store
from opar.backend.codegen.context import Context
from opar.backend.codegen.floats import fastmath_flags
from opar.backend.codegen.table import Table
from opar.backend.codegen.types import I32, constant, llvm_type
from opar.errors import UnsupportedError

TABLE = Table()


@TABLE.op(vector.BroadcastOp)
def emit_broadcast(ctx: Context, op: vector.BroadcastOp) -> None:
    value = ctx.value(op.source)
    type = llvm_type(op.vector.type)
    if isinstance(op.source.type, VectorType):
        if value.type != type:
            raise UnsupportedError("broadcasting a vector to a longer one is not supported")
        ctx.set(op.vector, value)
        return
    zero = ir.Constant(I32, 0)
    one_lane = ctx.b.insert_element(ir.Constant(type, ir.Undefined), value, zero)
    mask = ir.Constant(ir.VectorType(I32, type.count), [0] * type.count)
    undefined = ir.Constant(type, ir.Undefined)
    ctx.set(op.vector, ctx.b.shuffle_vector(one_lane, undefined, mask))


@TABLE.op(vector.LoadOp)
def emit_load(ctx: Context, op: vector.LoadOp) -> None:
    indices = [indexing.known(ctx.value(v)) for v in op.indices]
    ctx.set(op.result, vector_load(ctx, op.base, indices, op.result.type))


@TABLE.op(vector.StoreOp)
def emit_store(ctx: Context, op: vector.StoreOp) -> None:
    indices = [indexing.known(ctx.value(v)) for v in op.indices]
    vector_store(ctx, ctx.value(op.vector), op.base, indices, op.vector.type)


@TABLE.op(vector.FMAOp)
def emit_fma(ctx: Context, op: vector.FMAOp) -> None:
    ctx.set(op.res, ctx.intrinsic("llvm.fma", [ctx.value(v) for v in op.operands]))


def _position(ctx: Context, op: vector.ExtractOp | vector.InsertOp, rank: int) -> ir.Value:
    static = list(op.static_position.get_values())
    if len(static) != 1 or rank != 1:
        raise UnsupportedError("only single elements of vectors of one dimension are supported")
    dynamic = list(op.dynamic_position)
    return ctx.value(dynamic[0]) if dynamic else ir.Constant(I32, static[0])


@TABLE.op(vector.ExtractOp)
def emit_extract(ctx: Context, op: vector.ExtractOp) -> None:
    assert isinstance(op.vector.type, VectorType)
    place = _position(ctx, op, op.vector.type.get_num_dims())
    ctx.set(op.result, ctx.b.extract_element(ctx.value(op.vector), place))


@TABLE.op(vector.InsertOp)
def emit_insert(ctx: Context, op: vector.InsertOp) -> None:
    assert isinstance(op.dest.type, VectorType)
    place = _position(ctx, op, op.dest.type.get_num_dims())
    ctx.set(op.result, ctx.b.insert_element(ctx.value(op.dest), ctx.value(op.source), place))


_INTEGER_REDUCTIONS = {
    "add": "add",
    "mul": "mul",
    "and": "and",
    "or": "or",
    "xor": "xor",
    "minsi": "smin",
    "maxsi": "smax",
    "minui": "umin",
    "maxui": "umax",
}
_FLOAT_REDUCTIONS = {
    "minimumf": "fminimum",
    "maximumf": "fmaximum",
    "minnumf": "fmin",
    "maxnumf": "fmax",
}


@TABLE.op(vector.ReductionOp)
def emit_reduction(ctx: Context, op: vector.ReductionOp) -> None:
    source = ctx.value(op.vector)
    kind = str(op.kind.data.value if hasattr(op.kind.data, "value") else op.kind.data)
    element = source.type.element
    start = ctx.value(op.acc) if op.acc is not None else None
    flags = fastmath_flags(op)
    if isinstance(element, ir.IntType) and kind in _INTEGER_REDUCTIONS:
        name = f"llvm.vector.reduce.{_INTEGER_REDUCTIONS[kind]}"
        found = ctx.intrinsic(name, [source], result=element)
        if start is not None:
            raise UnsupportedError("a reduction of integers with a start value is not supported")
    elif kind in ("add", "mul"):  # in order: floats are not reassociated
        neutral = constant(element, 0.0 if kind == "add" else 1.0)
        first = neutral if start is None else start
        name = f"llvm.vector.reduce.f{kind}"
        found = ctx.intrinsic(
            name, [first, source], result=element, overloads=[source.type], fastmath=flags
        )
    elif kind in _FLOAT_REDUCTIONS and start is None:
        name = f"llvm.vector.reduce.{_FLOAT_REDUCTIONS[kind]}"
        found = ctx.intrinsic(name, [source], result=element, fastmath=flags)
    else:
        raise UnsupportedError(f"the reduction '{kind}' of {element} is not supported")
    ctx.set(op.dest, found)
