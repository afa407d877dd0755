"""
The host CPU, as the emitters see it.

A kernel becomes `void NAME(void** arguments, const int64_t* geometry, int64_t begin, int64_t end)`,
which runs all threads of the linear blocks begin..end-1 (x fastest): `arguments[i]` points to
flattened argument i, `geometry` is grid x, y, z and block x, y, z. It calls a function of the
arguments themselves, so that `noalias` can be said of them:

    while begin < end:                            one row of blocks after the other
        for block x in the rest of the row:       a loop that LLVM can vectorise
            for thread z, y, x in the block:      left out where blocks have one thread
                the body of the kernel
"""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, Operation

from opar.backend.codegen import indexing
from opar.backend.codegen.context import Context
from opar.backend.codegen.kernels import bind_arguments, parameter_types
from opar.backend.codegen.loops import counted_loop, nested_loops
from opar.backend.codegen.target import Limits, TargetRecord
from opar.backend.codegen.types import F32, F64, I1, I8, I32, I64
from opar.dialects import gpu
from opar.errors import UnsupportedError

_INTRINSICS = frozenset(
    (
        "acos", "asin", "atan", "atan2", "cos", "cosh", "exp", "exp2",
        "log", "log10", "log2", "pow", "sin", "sinh", "tan", "tanh",
    )
)  # fmt: skip
"""Functions that LLVM lowers to libm's: it can fold, hoist and vectorise around them."""

_ONE_THREAD = (1, 1, 1)


class HostRecord(TargetRecord):
    """The record of the CPU that runs this process; `has_half`: it converts f16 (F16C on x86)."""

    name = "the CPU"
    native_bfloat = False
    native_half_from_double = False
    division_traps = True
    limits = Limits(None, None, static_shared_bytes=1 << 20, private_bytes=1 << 20)

    def __init__(self, has_half: bool = True):
        self.has_half = has_half

    def symbol(self, name: str) -> str:
        # A kernel may be called `sinf`.
        return f"opar_{name}"

    def address_space(self, space: Attribute) -> int:
        return 0

    def hardware_id(self, ctx: Context, kind: str, dim: int) -> ir.Value:
        raise UnsupportedError(
            "on the CPU, ids are known in a kernel, not in a function that it calls; "
            "pass them as arguments"
        )

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
        if ctx.known_block_size != _ONE_THREAD:
            raise UnsupportedError(
                "barriers are not supported on the CPU, which runs the threads of a block one "
                "after the other; map the loops for the CPU (one thread a block)"
            )

    def workgroup_memory(self, ctx: Context, type: MemRefType) -> ir.Value:
        return ctx.private_memory(type, alignment=64)

    def dynamic_memory(self, ctx: Context) -> tuple[ir.Value, ir.Value]:
        raise UnsupportedError(
            "dynamic workgroup memory is not supported on the CPU; use a workgroup attribution"
        )

    def exchange(
        self, ctx: Context, mode: str, value: ir.Value, offset: ir.Value, width: ir.Value
    ) -> tuple[ir.Value, ir.Value]:
        """The only lane is lane 0: it gets its own value, in range where it asks for itself."""
        valid = ctx.b.icmp_unsigned("==", offset, ir.Constant(I32, 0))
        return value, valid

    def math_call(
        self, ctx: Context, op: Operation, name: str, operands: Sequence[ir.Value], fast: bool
    ) -> ir.Value:
        type = operands[0].type
        symbol = f"{name}{'f' if type == F32 else ''}"
        return ctx.b.call(ctx.declare(symbol, type, [v.type for v in operands]), operands)

    def selects(self, intrinsic: str, element: ir.Type, fast: bool) -> bool:
        return element in (F32, F64) and intrinsic in _INTRINSICS

    def emit_kernel(self, module: ir.Module, op: gpu.FuncOp, name: str) -> None:
        types = parameter_types(op, self)
        worker = ir.Function(
            module, ir.FunctionType(ir.VoidType(), [*types, *[I64] * 8]), f"{name}.blocks"
        )
        worker.linkage = "internal"
        worker.attributes.add("noinline")
        worker.attributes.add("nounwind")
        self._emit_worker(worker, op, len(types))
        _emit_entry(module, worker, types, name)

    def _emit_worker(self, function: ir.Function, op: gpu.FuncOp, parameters: int) -> None:
        ctx = Context(function, self)
        bind_arguments(ctx, op)
        b = ctx.b
        begin, end, *geometry = function.args[parameters:]
        for d in range(3):
            ctx.ids["grid_dim", d] = geometry[d]
            ctx.ids["block_dim", d] = geometry[3 + d]
        row, leave = (function.append_basic_block(n) for n in ("row", "leave"))
        some = function.append_basic_block("some")
        before = b.block
        b.branch(row)
        b.position_at_end(row)
        linear = b.phi(I64, "linear")
        linear.add_incoming(begin, before)
        b.cbranch(b.icmp_signed("<", linear, end), some, leave)
        b.position_at_end(some)
        first = b.urem(linear, geometry[0])
        line = b.udiv(linear, geometry[0])
        ctx.ids["block_id", 1] = b.urem(line, geometry[1])
        ctx.ids["block_id", 2] = b.udiv(line, geometry[1])
        wanted = b.add(first, b.sub(end, linear))
        last = indexing.value(indexing.minimum(b, geometry[0], wanted))
        one = ir.Constant(I64, 1)
        counted_loop(ctx, first, last, one, [], lambda x, _: self._emit_block(ctx, op, x))
        linear.add_incoming(b.add(linear, b.sub(last, first)), b.block)
        b.branch(row)
        b.position_at_end(leave)
        b.ret_void()

    def _emit_block(self, ctx: Context, op: gpu.FuncOp, x: ir.Value) -> list[ir.Value]:
        """All threads of one block, x innermost."""
        ctx.ids["block_id", 0] = x
        sizes = [indexing.known(ctx.hardware_id("block_dim", d)) for d in (2, 1, 0)]

        def thread(ids: list[ir.Value], _: list[ir.Value]) -> list[ir.Value]:
            for d, value in zip((2, 1, 0), ids, strict=True):
                ctx.ids["thread_id", d] = value
            done = ctx.function.append_basic_block("done")
            ctx.emit_blocks(op.body, lambda terminator: ctx.b.branch(done))
            ctx.b.position_at_end(done)
            return []

        return nested_loops(ctx, [(0, size, 1) for size in sizes], [], thread)


def _emit_entry(
    module: ir.Module, worker: ir.Function, types: Sequence[ir.Type], name: str
) -> None:
    pointer = ir.PointerType()
    signature = ir.FunctionType(ir.VoidType(), [pointer, pointer, I64, I64])
    entry = ir.Function(module, signature, name)
    b = ir.IRBuilder(entry.append_basic_block("entry"))
    arguments, geometry, begin, end = entry.args
    values: list[ir.Value] = []
    for position, type in enumerate(types):
        slot = b.gep(arguments, [ir.Constant(I64, position)], source_etype=pointer)
        place = b.load(slot, typ=pointer)
        if type == I1:
            values.append(b.trunc(b.load(place, typ=I8), I1))
        else:
            values.append(b.load(place, typ=type))
    sizes = [
        b.load(b.gep(geometry, [ir.Constant(I64, d)], source_etype=I64), typ=I64) for d in range(6)
    ]
    b.call(worker, [*values, begin, end, *sizes])
    b.ret_void()
