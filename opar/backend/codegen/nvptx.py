"""NVIDIA GPUs, as the emitters see them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from llvmlite import ir
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, Operation

from opar.backend.codegen.context import Context
from opar.backend.codegen.kernels import bind_arguments, parameter_types
from opar.backend.codegen.layout import is_global, is_private, is_workgroup
from opar.backend.codegen.memref_value import element_type
from opar.backend.codegen.target import Limits, TargetRecord
from opar.backend.codegen.types import F16, F32, I1, I8, I32, I64, byte_size, stored_type
from opar.dialects import gpu
from opar.errors import UnsupportedError

SHARED = 3
"""LLVM's address space of workgroup memory on NVPTX."""

DYNAMIC = "opar_dynamic_shared"
"""The symbol of the memory whose size the launch gives."""

_WARP = 32

_REGISTERS = {
    "thread_id": "tid",
    "block_id": "ctaid",
    "block_dim": "ntid",
    "grid_dim": "nctaid",
}

_HALF = frozenset(("fma", "fabs", "copysign", "ceil", "floor", "trunc", "roundeven"))
"""Intrinsics that LLVM selects on f16 directly."""

_FAST_SELECTED = frozenset(("sin", "cos"))
"""Functions on f32 that LLVM selects as an approximation, where `afn` allows it."""

_WITHOUT_TANH = frozenset(("sm_70", "sm_72", "sm_75"))
"""Where LLVM ends the process on an approximate tanh: its PTX is older than the instruction."""

_FAST = frozenset(("exp", "log", "log2", "log10", "tan", "pow"))
"""Functions on f32 of which libdevice has an approximation, `__nv_fast_expf`."""


class NVPTXRecord(TargetRecord):
    """
    The record of one architecture (`sm_90`). Math functions are libdevice's: `needs_libdevice`
    is the first operation that calls one, None where none does.
    """

    has_half = True
    native_bfloat = True
    native_half_from_double = True
    division_traps = False
    limits = Limits(
        threads_per_block=1024,
        block_dim=(1024, 1024, 64),
        static_shared_bytes=48 << 10,
        private_bytes=512 << 10,
        shared_advice=" or gpu.dynamic_shared_memory",
    )

    def __init__(self, arch: str):
        self.name = arch
        self.needs_libdevice: Operation | None = None

    def symbol(self, name: str) -> str:
        return name

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
        stored = stored_type(element)
        array = ir.ArrayType(stored, max(math.prod(type.get_shape()), 1))
        name = ctx.module.get_unique_name("opar_shared").replace(".", "_")
        memory = ir.GlobalVariable(ctx.module, array, name, addrspace=SHARED)
        memory.linkage = "internal"
        memory.initializer = ir.Constant(array, ir.Undefined)
        memory.align = max(16, byte_size(stored))
        memory.type = ir.PointerType(addrspace=SHARED)
        return memory

    def dynamic_memory(self, ctx: Context) -> tuple[ir.Value, ir.Value]:
        memory = ctx.module.globals.get(DYNAMIC)
        if memory is None:
            memory = ir.GlobalVariable(ctx.module, ir.ArrayType(I8, 0), DYNAMIC, addrspace=SHARED)
            memory.linkage = "external"
            memory.align = 16
            memory.type = ir.PointerType(addrspace=SHARED)
        size = ctx.b.asm(
            ir.FunctionType(I32, []), "mov.u32 $0, %dynamic_smem_size;", "=r", [], False
        )
        return memory, ctx.b.zext(size, I64)

    def exchange(
        self, ctx: Context, mode: str, value: ir.Value, offset: ir.Value, width: ir.Value
    ) -> tuple[ir.Value, ir.Value]:
        b = ctx.b
        # PTX: bits 8-12 of the clamp are the segment mask, bits 0-4 the last lane (0 for up).
        segment = b.shl(b.sub(ir.Constant(I32, _WARP), width), ir.Constant(I32, 8))
        last = ir.Constant(I32, 0 if mode == "up" else _WARP - 1)
        kind = {"xor": "bfly", "up": "up", "down": "down", "idx": "idx"}[mode]
        result = ir.LiteralStructType([I32, I1])
        callee = ctx.declare(f"llvm.nvvm.shfl.sync.{kind}.i32p", result, [I32] * 4)
        everyone = ir.Constant(I32, 0xFFFFFFFF)
        pair = b.call(callee, [everyone, value, offset, b.or_(segment, last)])
        return b.extract_value(pair, 0), b.extract_value(pair, 1)

    def math_call(
        self, ctx: Context, op: Operation, name: str, operands: Sequence[ir.Value], fast: bool
    ) -> ir.Value:
        if self.needs_libdevice is None:
            self.needs_libdevice = op
        type = operands[0].type
        prefix = "fast_" if fast and type == F32 and name in _FAST else ""
        symbol = f"__nv_{prefix}{name}{'f' if type == F32 else ''}"
        return ctx.b.call(ctx.declare(symbol, type, [v.type for v in operands]), operands)

    def selects(self, intrinsic: str, element: ir.Type, fast: bool) -> bool:
        if element == F16:
            return intrinsic in _HALF
        if element == F32:
            if intrinsic == "tanh":
                return fast and self.name not in _WITHOUT_TANH
            return intrinsic == "exp2" or (fast and intrinsic in _FAST_SELECTED)
        return False

    def emit_kernel(self, module: ir.Module, op: gpu.FuncOp, name: str) -> None:
        signature = ir.FunctionType(ir.VoidType(), parameter_types(op, self))
        function = ir.Function(module, signature, name)
        function.calling_convention = "ptx_kernel"
        ctx = Context(function, self)
        bind_arguments(ctx, op)
        ctx.emit_blocks(op.body, lambda terminator: ctx.b.ret_void())


def _special(ctx: Context, register: str) -> ir.Value:
    name = f"llvm.nvvm.read.ptx.sreg.{register}"
    return ctx.b.call(ctx.declare(name, I32, []), [])
