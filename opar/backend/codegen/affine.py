"""Emits `affine`: maps by the floor semantics of MLIR, loops in order, accesses by address."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from llvmlite import ir
from xdsl.dialects.builtin import AffineMapAttr
from xdsl.ir import Region, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineConstraintKind,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
    AffineSymExpr,
)

from opar.backend.codegen import indexing
from opar.backend.codegen.access import load, store, vector_load, vector_store
from opar.backend.codegen.context import Context
from opar.backend.codegen.division import safe_divisor
from opar.backend.codegen.indexing import Index
from opar.backend.codegen.loops import branch, counted_loop, nested_loops
from opar.backend.codegen.reductions import combine, common_name, identity
from opar.backend.codegen.table import Table
from opar.backend.codegen.types import llvm_type
from opar.dialects import affine
from opar.errors import UnsupportedError

TABLE = Table()
TABLE.structural(affine.YieldOp, affine.PrefetchOp)  # a prefetch is only a hint

_OPERATIONS: dict[AffineBinaryOpKind, Callable[[ir.IRBuilder, Index, Index], Index]] = {
    AffineBinaryOpKind.Add: indexing.add,
    AffineBinaryOpKind.Mul: indexing.mul,
    AffineBinaryOpKind.Mod: indexing.mod,
    AffineBinaryOpKind.FloorDiv: indexing.floor_div,
    AffineBinaryOpKind.CeilDiv: indexing.ceil_div,
}


def expression(ctx: Context, expr: AffineExpr, operands: Sequence[SSAValue], dims: int) -> Index:
    """The value of an affine expression; operands are dimensions, then symbols."""
    match expr:
        case AffineConstantExpr(value=value):
            return value
        case AffineDimExpr(position=position):
            return ctx.value(operands[position])
        case AffineSymExpr(position=position):
            return ctx.value(operands[dims + position])
        case AffineBinaryOpExpr(kind=kind, lhs=lhs, rhs=rhs):
            a = expression(ctx, lhs, operands, dims)
            b = expression(ctx, rhs, operands, dims)
            divides = kind not in (AffineBinaryOpKind.Add, AffineBinaryOpKind.Mul)
            known = indexing.known(b)
            if divides and not (isinstance(known, int) and known > 0):
                message = "dividing by a symbol (semi-affine) is not supported in a kernel"
                raise UnsupportedError(message)
            return _OPERATIONS[kind](ctx.b, a, b)
    raise AssertionError(expr)


def results(ctx: Context, map: AffineMap, operands: Sequence[SSAValue]) -> list[Index]:
    """The values of all results of a map."""
    return [expression(ctx, e, operands, map.num_dims) for e in map.results]


def _extreme(
    ctx: Context, values: Sequence[Index], choose: Callable[[ir.IRBuilder, Index, Index], Index]
) -> Index:
    chosen = values[0]
    for value in values[1:]:
        chosen = choose(ctx.b, chosen, value)
    return chosen


@TABLE.op(affine.ApplyOp)
def emit_apply(ctx: Context, op: affine.ApplyOp) -> None:
    (result,) = results(ctx, op.map.data, op.mapOperands)
    ctx.set(op.result, indexing.value(result))


@TABLE.op(affine.MinOp)
def emit_min(ctx: Context, op: affine.MinOp) -> None:
    values = results(ctx, op.map.data, op.arguments)
    ctx.set(op.result, indexing.value(_extreme(ctx, values, indexing.minimum)))


@TABLE.op(affine.MaxOp)
def emit_max(ctx: Context, op: affine.MaxOp) -> None:
    values = results(ctx, op.map.data, op.arguments)
    ctx.set(op.result, indexing.value(_extreme(ctx, values, indexing.maximum)))


@TABLE.op(affine.LoadOp)
def emit_load(ctx: Context, op: affine.LoadOp) -> None:
    ctx.set(op.result, load(ctx, op.memref, results(ctx, op.map.data, op.indices)))


@TABLE.op(affine.StoreOp)
def emit_store(ctx: Context, op: affine.StoreOp) -> None:
    store(ctx, ctx.value(op.value), op.memref, results(ctx, op.map.data, op.indices))


@TABLE.op(affine.VectorLoadOp)
def emit_vector_load(ctx: Context, op: affine.VectorLoadOp) -> None:
    indices = results(ctx, op.map.data, op.indices)
    ctx.set(op.result, vector_load(ctx, op.memref, indices, op.result.type, op))


@TABLE.op(affine.VectorStoreOp)
def emit_vector_store(ctx: Context, op: affine.VectorStoreOp) -> None:
    indices = results(ctx, op.map.data, op.indices)
    vector_store(ctx, ctx.value(op.value), op.memref, indices, op.value.type, op)


def _yielded(ctx: Context, region: Region, arguments: Sequence[ir.Value]) -> list[ir.Value]:
    return ctx.flat(ctx.emit_single_block(region, arguments).operands)


@TABLE.op(affine.ForOp)
def emit_for(ctx: Context, op: affine.ForOp) -> None:
    lower = results(ctx, op.lower_bound_map.data, op.lower_bound_operands)
    upper = results(ctx, op.upper_bound_map.data, op.upper_bound_operands)
    final = counted_loop(
        ctx,
        indexing.value(_extreme(ctx, lower, indexing.maximum)),
        indexing.value(_extreme(ctx, upper, indexing.minimum)),
        indexing.value(op.step.value.data),
        ctx.flat(op.inits),
        lambda i, carried: _yielded(ctx, op.body, [i, *carried]),
    )
    ctx.bind(op.results, final)


@TABLE.op(affine.IfOp)
def emit_if(ctx: Context, op: affine.IfOp) -> None:
    condition: ir.Value = indexing.true()
    set_ = op.condition.data
    for constraint in set_.constraints:
        lhs = indexing.value(expression(ctx, constraint.lhs, op.args, set_.num_dims))
        rhs = indexing.value(expression(ctx, constraint.rhs, op.args, set_.num_dims))
        symbol = {
            AffineConstraintKind.ge: ">=",
            AffineConstraintKind.le: "<=",
            AffineConstraintKind.eq: "==",
        }[constraint.kind]
        condition = ctx.b.and_(condition, ctx.b.icmp_signed(symbol, lhs, rhs))
    otherwise = op.else_region if op.else_region.blocks else None
    found = branch(
        ctx,
        condition,
        lambda: _yielded(ctx, op.then_region, ()),
        None if otherwise is None else lambda: _yielded(ctx, otherwise, ()),
    )
    ctx.bind(op.results, found)


@TABLE.op(affine.ParallelOp)
def emit_parallel(ctx: Context, op: affine.ParallelOp) -> None:
    """The iterations in order; each result starts from the neutral value of its reduction."""
    ranges = [
        (
            _extreme(ctx, _bounds(ctx, op.lower_bound(d), op.lower_operands, op.lower_bounds_map),
                     indexing.maximum),
            _extreme(ctx, _bounds(ctx, op.upper_bound(d), op.upper_operands, op.upper_bounds_map),
                     indexing.minimum),
            op.step_values[d],
        )
        for d in range(op.num_dims)
    ]  # fmt: skip
    kinds = [common_name(kind) for kind in op.reduction_kinds]
    starts = [
        identity(kind, llvm_type(result.type)) for kind, result in zip(kinds, op.res, strict=True)
    ]

    def body(counters: list[ir.Value], carried: list[ir.Value]) -> list[ir.Value]:
        values = _yielded(ctx, op.body, counters)
        return [combine(ctx, *found) for found in zip(kinds, carried, values, strict=True)]

    ctx.bind(op.res, nested_loops(ctx, ranges, starts, body))


def _bounds(
    ctx: Context, exprs: Sequence[AffineExpr], operands: Sequence[SSAValue], map: AffineMapAttr
) -> list[Index]:
    return [expression(ctx, expr, operands, map.data.num_dims) for expr in exprs]


@TABLE.op(affine.LinearizeIndexOp)
def emit_linearize_index(ctx: Context, op: affine.LinearizeIndexOp) -> None:
    total: Index = 0
    sizes = _basis(ctx, op.basis)
    indices = [indexing.known(ctx.value(index)) for index in op.multi_index]
    sizes = [1] * (len(indices) - len(sizes)) + sizes  # an outer bound may be left out
    for index, size in zip(indices, sizes, strict=True):
        total = indexing.add(ctx.b, indexing.mul(ctx.b, total, size), index)
    ctx.set(op.linear_index, indexing.value(total))


@TABLE.op(affine.DelinearizeIndexOp)
def emit_delinearize_index(ctx: Context, op: affine.DelinearizeIndexOp) -> None:
    rest: Index = ctx.value(op.linear_index)
    results_left = list(op.multi_index)
    sizes = _basis(ctx, op.basis)
    inner = sizes if len(sizes) < len(results_left) else sizes[1:]
    for size in reversed(inner):
        if isinstance(size, ir.Value):
            size = safe_divisor(ctx, indexing.value(rest), size, signed=True)
        ctx.set(results_left.pop(), indexing.value(indexing.mod(ctx.b, rest, size)))
        rest = indexing.floor_div(ctx.b, rest, size)
    (outer,) = results_left
    ctx.set(outer, indexing.value(rest))


def _basis(ctx: Context, basis: Sequence[SSAValue | int]) -> list[Index]:
    return [size if isinstance(size, int) else indexing.known(ctx.value(size)) for size in basis]
