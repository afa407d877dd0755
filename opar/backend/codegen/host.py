"""
The host CPU, as the emitters see it.

A kernel becomes two functions: the body, of the flattened arguments and the ids of one thread, and
the entry that launches call, `void NAME(void** arguments, const int64_t* geometry, int64_t begin,
int64_t end)`, which runs all threads of the linear blocks begin..end-1 (x fastest). `arguments[i]`
points to flattened argument i; `geometry` is grid x, y, z and block x, y, z.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from llvmlite import ir
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, Operation

from opar.backend.codegen.context import Context
from opar.backend.codegen.kernels import is_noalias
from opar.backend.codegen.loops import counted_loop
from opar.backend.codegen.memref_value import element_type, rebuild
from opar.backend.codegen.nvptx import bind_private
from opar.backend.codegen.target import Limits, TargetRecord
from opar.backend.codegen.types import F32, I64, byte_size
from opar.dialects import gpu
from opar.errors import UnsupportedError, at

_IDS = [(kind, d) for kind in ("block_id", "thread_id", "grid_dim", "block_dim") for d in range(3)]


class HostRecord(TargetRecord):
    """The record of the CPU that runs this process."""

    name = "the CPU"
    native_bfloat = False
    native_half_from_double = False
    limits = Limits(None, None, 1 << 20)

    def address_space(self, space: Attribute) -> int:
        return 0

    def hardware_id(self, ctx: Context, kind: str, dim: int) -> ir.Value:
        raise UnsupportedError("ids are known only in the kernel itself, not in what it calls")

    def subgroup_property(self, ctx: Context, name: str) -> ir.Value:
        """A subgroup on the CPU is one thread."""
        one, zero = ir.Constant(I64, 1), ir.Constant(I64, 0)
        if name == "subgroup_size":
            return one
        if name == "lane_id":
            return zero
        b = ctx.b
        x, y, z = (ctx.hardware_id("block_dim", d) for d in range(3))
        if name == "num_subgroups":
            return b.mul(b.mul(x, y), z)
        tx, ty, tz = (ctx.hardware_id("thread_id", d) for d in range(3))
        return b.add(tx, b.mul(x, b.add(ty, b.mul(y, tz))))

    def barrier(self, ctx: Context, op: Operation) -> None:
        message = "barriers are not supported on the CPU, which runs the threads of a block in turn"
        raise UnsupportedError(at(op, message))

    def workgroup_memory(self, ctx: Context, type: MemRefType) -> ir.Value:
        element = element_type(type)
        return ctx.alloca(ir.ArrayType(element, math.prod(type.get_shape())), byte_size(element))

    def math_call(
        self, ctx: Context, op: Operation, name: str, operands: Sequence[ir.Value], fast: bool
    ) -> ir.Value:
        type = operands[0].type
        symbol = f"{name}{'f' if type == F32 else ''}"
        return ctx.b.call(ctx.declare(symbol, type, [v.type for v in operands]), operands)

    def selects(self, intrinsic: str, element: ir.Type, fast: bool) -> bool:
        return False

    def emit_kernel(self, module: ir.Module, op: gpu.FuncOp, name: str) -> None:
        body, types = self._emit_body(module, op, f"{name}.body")
        pointer = ir.PointerType()
        signature = ir.FunctionType(ir.VoidType(), [pointer, pointer, I64, I64])
        entry = ir.Function(module, signature, name)
        ctx = Context(entry, self)
        b = ctx.b
        arguments, geometry, begin, end = entry.args
        values = []
        for i, type in enumerate(types):
            slot = b.gep(arguments, [ir.Constant(I64, i)], source_etype=pointer)
            values.append(b.load(b.load(slot, typ=pointer), typ=type))
        sizes = [
            b.load(b.gep(geometry, [ir.Constant(I64, i)], source_etype=I64), typ=I64)
            for i in range(6)
        ]
        grid, block = sizes[:3], sizes[3:]
        one, zero = ir.Constant(I64, 1), ir.Constant(I64, 0)

        def run_block(linear: ir.Value, _: list[ir.Value]) -> list[ir.Value]:
            x = b.urem(linear, grid[0])
            rest = b.udiv(linear, grid[0])
            block_ids = [x, b.urem(rest, grid[1]), b.udiv(rest, grid[1])]

            def threads(d: int, ids: list[ir.Value]) -> list[ir.Value]:
                if d < 0:
                    b.call(body, [*values, *block_ids, *ids, *grid, *block])
                    return []
                counted_loop(ctx, zero, block[d], one, [], lambda i, _: threads(d - 1, [i, *ids]))
                return []

            return threads(2, [])

        counted_loop(ctx, begin, end, one, [], run_block)
        b.ret_void()

    def _emit_body(
        self, module: ir.Module, op: gpu.FuncOp, name: str
    ) -> tuple[ir.Function, list[ir.Type]]:
        probe = Context(ir.Function(ir.Module(), ir.FunctionType(ir.VoidType(), []), "probe"), self)
        parts = [probe.component_types([type]) for type in op.function_type.inputs]
        types = [t for group in parts for t in group]
        signature = ir.FunctionType(ir.VoidType(), [*types, *[I64] * len(_IDS)])
        function = ir.Function(module, signature, name)
        function.linkage = "internal"
        ctx = Context(function, self)
        position = 0
        for index, (argument, group) in enumerate(zip(op.parameters, parts, strict=True)):
            own = function.args[position : position + len(group)]
            if isinstance(argument.type, MemRefType) and is_noalias(op, index):
                own[0].add_attribute("noalias")
            ctx.bind([argument], own)
            position += len(group)
        ctx.ids = dict(zip(_IDS, function.args[position:], strict=True))
        for argument in op.workgroup_attributions:
            assert isinstance(argument.type, MemRefType)
            memory = self.workgroup_memory(ctx, argument.type)
            ctx.set(argument, rebuild(ctx.b, argument.type, [memory]))
        bind_private(ctx, op)
        ctx.emit_blocks(op.body, lambda terminator: ctx.b.ret_void())
        return function, types
