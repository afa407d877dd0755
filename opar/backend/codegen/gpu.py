"""Emits what `gpu` has inside kernels: ids and dimensions, barriers, subgroup properties."""

from __future__ import annotations

from xdsl.ir import Operation

from opar.backend.codegen import collectives, indexing
from opar.backend.codegen.context import Context
from opar.backend.codegen.memref_value import MemRefValue
from opar.backend.codegen.table import Emit, Table
from opar.backend.codegen.types import I8
from opar.dialects import gpu

TABLE = Table(collectives.TABLE)
TABLE.structural(gpu.ReturnOp, gpu.YieldOp)

_DIMENSIONS = ("x", "y", "z")


def _dimension(op: gpu.ThreadIdOp | gpu.GlobalIdOp) -> int:
    return _DIMENSIONS.index(op.dimension.data.value)


def _id(kind: str) -> Emit:
    def emit(ctx: Context, op: gpu.ThreadIdOp) -> None:
        ctx.set(op.result, ctx.hardware_id(kind, _dimension(op)))

    return emit


TABLE.op(gpu.ThreadIdOp)(_id("thread_id"))
TABLE.op(gpu.BlockIdOp)(_id("block_id"))
TABLE.op(gpu.BlockDimOp)(_id("block_dim"))
TABLE.op(gpu.GridDimOp)(_id("grid_dim"))


@TABLE.op(gpu.GlobalIdOp)
def emit_global_id(ctx: Context, op: gpu.GlobalIdOp) -> None:
    dim = _dimension(op)
    block, size, thread = (
        ctx.hardware_id(kind, dim) for kind in ("block_id", "block_dim", "thread_id")
    )
    first = indexing.mul(ctx.b, block, size)
    ctx.set(op.result, indexing.value(indexing.add(ctx.b, first, thread)))


@TABLE.op(gpu.BarrierOp)
def emit_barrier(ctx: Context, op: Operation) -> None:
    ctx.target.barrier(ctx, op)


@TABLE.op(gpu.LaneIdOp, gpu.SubgroupSizeOp, gpu.SubgroupIdOp, gpu.NumSubgroupsOp)
def emit_subgroup_property(ctx: Context, op: gpu.LaneIdOp) -> None:
    ctx.set(op.result, ctx.target.subgroup_property(ctx, op.name.partition(".")[2]))


@TABLE.op(gpu.DynamicSharedMemoryOp)
def emit_dynamic_shared_memory(ctx: Context, op: gpu.DynamicSharedMemoryOp) -> None:
    pointer, size = ctx.target.dynamic_memory(ctx)
    ctx.set(op.memref, MemRefValue(pointer, I8, (size,), (1,)))
