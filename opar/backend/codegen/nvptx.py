"""NVIDIA GPUs, as the emitters see them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from llvmlite import ir
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, Operation

from opar.backend.codegen.context import Context
from opar.backend.codegen.kernels import is_noalias
from opar.backend.codegen.layout import is_global, is_private, is_workgroup
from opar.backend.codegen.memref_value import element_type, rebuild
from opar.backend.codegen.target import Limits, TargetRecord
from opar.backend.codegen.types import F16, F32, I32, I64, byte_size
from opar.dialects import gpu
from opar.errors import UnsupportedError

SHARED = 3
"""LLVM's address space of workgroup memory on NVPTX."""

_WARP = 32

_REGISTERS = {
    "thread_id": "tid",
    "block_id": "ctaid",
    "block_dim": "ntid",
    "grid_dim": "nctaid",
}

_SELECTED = {
    "f16": frozenset(("fma", "fabs", "copysign", "ceil", "floor", "trunc", "roundeven")),
}


class NVPTXRecord(TargetRecord):
    """
    The record of one architecture (`sm_90`). Math functions are libdevice's: `needs_libdevice`
    names the first operation that calls one, None where none does.
    """

    native_bfloat = True
    native_half_from_double = True
    limits = Limits(1024, (1024, 1024, 64), 48 << 10)

    def __init__(self, arch: str):
        self.name = arch
        self.needs_libdevice: Operation | None = None

    def address_space(self, space: Attribute) -> int:
        if is_workgroup(space):
            return SHARED
        if is_global(space) or is_private(space):
            return 0
        raise UnsupportedError(f"memory space {space} is not supported in a kernel")

    def hardware_id(self, ctx: Context, kind: str, dim: int) -> ir.Value:
        register = f"{_REGISTERS[kind]}.{'xyz'[dim]}"
        return ctx.b.zext(_special(ctx, register), I64)

    def subgroup_property(self, ctx: Context, name: str) -> ir.Value:
        b = ctx.b
        if name == "subgroup_size":
            return ir.Constant(I64, _WARP)
        if name == "lane_id":
            return b.zext(_special(ctx, "laneid"), I64)
        x, y, z = (ctx.hardware_id("block_dim", d) for d in range(3))
        if name == "num_subgroups":
            threads = b.mul(b.mul(x, y), z)
            return b.udiv(b.add(threads, ir.Constant(I64, _WARP - 1)), ir.Constant(I64, _WARP))
        tx, ty, tz = (ctx.hardware_id("thread_id", d) for d in range(3))
        linear = b.add(tx, b.mul(x, b.add(ty, b.mul(y, tz))))
        return b.udiv(linear, ir.Constant(I64, _WARP))

    def barrier(self, ctx: Context, op: Operation) -> None:
        name = "llvm.nvvm.barrier.cta.sync.aligned.all"
        ctx.b.call(ctx.declare(name, ir.VoidType(), [I32]), [ir.Constant(I32, 0)])

    def workgroup_memory(self, ctx: Context, type: MemRefType) -> ir.Value:
        element = element_type(type)
        array = ir.ArrayType(element, math.prod(type.get_shape()))
        name = ctx.module.get_unique_name("workgroup")
        memory = ir.GlobalVariable(ctx.module, array, name, addrspace=SHARED)
        memory.linkage = "internal"
        memory.initializer = ir.Constant(array, ir.Undefined)  # pyright: ignore
        memory.align = max(16, byte_size(element))
        return memory

    def math_call(
        self, ctx: Context, op: Operation, name: str, operands: Sequence[ir.Value], fast: bool
    ) -> ir.Value:
        if self.needs_libdevice is None:
            self.needs_libdevice = op
        type = operands[0].type
        symbol = f"__nv_{name}{'f' if type == F32 else ''}"
        callee = ctx.declare(symbol, type, [v.type for v in operands])
        return ctx.b.call(callee, operands)

    def selects(self, intrinsic: str, element: ir.Type, fast: bool) -> bool:
        if element == F16:
            return intrinsic in _SELECTED["f16"]
        return element == F32 and fast and intrinsic in ("sin", "cos")

    def emit_kernel(self, module: ir.Module, op: gpu.FuncOp, name: str) -> None:
        types: list[ir.Type] = []
        counts: list[int] = []
        probe = Context(ir.Function(ir.Module(), ir.FunctionType(ir.VoidType(), []), "probe"), self)
        for type in op.function_type.inputs:
            parts = probe.component_types([type])
            types += parts
            counts.append(len(parts))
        function = ir.Function(module, ir.FunctionType(ir.VoidType(), types), name)
        function.calling_convention = "ptx_kernel"
        ctx = Context(function, self)
        position = 0
        for index, (argument, count) in enumerate(zip(op.parameters, counts, strict=True)):
            own = function.args[position : position + count]
            if isinstance(argument.type, MemRefType) and is_noalias(op, index):
                own[0].add_attribute("noalias")
            ctx.bind([argument], own)
            position += count
        for argument in op.workgroup_attributions:
            assert isinstance(argument.type, MemRefType)
            memory = self.workgroup_memory(ctx, argument.type)
            ctx.set(argument, rebuild(ctx.b, argument.type, [memory]))
        bind_private(ctx, op)
        ctx.emit_blocks(op.body, lambda terminator: ctx.b.ret_void())


def bind_private(ctx: Context, op: gpu.FuncOp) -> None:
    """Stack memory for the private attributions of a kernel."""
    for argument in op.private_attributions:
        type = argument.type
        assert isinstance(type, MemRefType)
        element = element_type(type)
        slot = ctx.alloca(ir.ArrayType(element, math.prod(type.get_shape())), byte_size(element))
        ctx.set(argument, rebuild(ctx.b, type, [slot]))


def _special(ctx: Context, register: str) -> ir.Value:
    name = f"llvm.nvvm.read.ptx.sreg.{register}"
    return ctx.b.call(ctx.declare(name, I32, []), [])
