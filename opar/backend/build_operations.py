"""Steps of a schedule for `gpu` operations."""

from __future__ import annotations

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    IntegerAttr,
    MemRefType,
    NoneAttr,
)
from xdsl.ir import Attribute, Operation, SSAValue

from opar.analysis.access import AccessKind
from opar.analysis.aliasing import ARGUMENT_ATTRIBUTE, RESULT_ATTRIBUTE
from opar.backend.build_state import Builder, Held
from opar.backend.codegen.abi import flatten
from opar.backend.schedule import Alloc, Buffer, Copy, Fill, Free, Launch, View, Wait
from opar.dialects import gpu, memref
from opar.errors import UnsupportedError, at


def add(builder: Builder, op: Operation) -> bool:
    """Add the steps of a `gpu` operation; false for any other."""
    match op:
        case gpu.WaitOp():
            _add_wait(builder, op)
        case gpu.AllocOp():
            allocate(builder, op)
        case gpu.DeallocOp():
            builder.step(op, Free, name="dealloc", buffer=builder.view(op.memref).buffer)
        case gpu.MemcpyOp():
            add_copy(builder, op, "memcpy", op.src, op.dst)
        case gpu.MemsetOp():
            target, value = builder.view(op.dst), builder.place(op.value)
            builder.touch(target, writes=True)
            builder.step(op, Fill, name="memset", target=target, value=value)
        case gpu.LaunchFuncOp():
            _add_launch(builder, op)
        case gpu.AsyncOp():
            raise UnsupportedError(at(op, "run gpu-kernel-outlining before compiling"))
        case _:
            return False
    return True


def _add_wait(builder: Builder, op: gpu.WaitOp) -> None:
    if op.async_token is None:
        builder.step(op, Wait, name="wait")
    else:
        builder.give(op.async_token, builder.taken(op))


def add_copy(
    builder: Builder, op: Operation, name: str, source: SSAValue, target: SSAValue
) -> None:
    """Add the step of a copy."""
    from_, to = builder.view(source), builder.view(target)
    # Copies to a GPU only stage arguments: the steps that use what they copy are noted.
    if not (isinstance(op, gpu.MemcpyOp) and builder.buffers[to.buffer].on_device):
        builder.touch(from_, writes=False)
        builder.touch(to, writes=True)
    builder.step(op, Copy, name=name, source=from_, target=to)


def allocate(builder: Builder, op: gpu.AllocOp | memref.AllocOp | memref.AllocaOp) -> None:
    """Add the step of an allocation."""
    type = op.memref.type
    assert isinstance(type, MemRefType)
    if not isinstance(type.layout, NoneAttr):
        raise UnsupportedError(at(op, f"allocating {type}: only the identity layout can be"))
    dynamic = iter(op.dynamic_sizes)
    sizes = tuple(
        builder.place(next(dynamic)) if s == DYNAMIC_INDEX else builder.numbers.constant(s)
        for s in type.get_shape()
    )
    stages, result = (
        _number(op.attributes.get(name)) for name in (ARGUMENT_ATTRIBUTE, RESULT_ATTRIBUTE)
    )
    name = builder.unique_name(op.memref.name_hint or "buffer")
    on_device = isinstance(op, gpu.AllocOp)
    dtype = str(type.element_type)
    view = builder.new_buffer(Buffer(name, dtype, sizes, on_device, None, stages, result))
    builder.give(op.memref, Held(view=view))
    builder.step(op, Alloc, name="alloc", buffer=view.buffer)


def _number(attribute: Attribute | None) -> int | None:
    return attribute.value.data if isinstance(attribute, IntegerAttr) else None


def _add_launch(builder: Builder, op: gpu.LaunchFuncOp) -> None:
    symbol = "::".join(
        (op.kernel.root_reference.data, *(s.data for s in op.kernel.nested_references))
    )
    kernel = op.lookup_kernel()
    if symbol not in builder.kernels or kernel is None:
        raise UnsupportedError(at(op, f"kernel @{symbol} has no body to compile"))
    if op.async_object is not None:
        raise UnsupportedError(at(op, "an explicit stream cannot be run; use async tokens"))
    if op.cluster_size is not None:
        raise UnsupportedError(at(op, "thread block clusters are not supported"))
    for touched in builder.accesses.kernel_accesses(kernel):
        if touched.root is None:
            view = builder.view(op.kernel_operands[touched.index])
            builder.touch(view, touched.kind is not AccessKind.READ)
    shared = op.dynamic_shared_memory_size
    builder.step(
        op,
        Launch,
        name=op.kernel.nested_references.data[-1].data,
        kernel=builder.kernels[symbol],
        grid=tuple(builder.place(v) for v in op.grid_size),
        block=tuple(builder.place(v) for v in op.block_size),
        shared=None if shared is None else builder.place(shared),
        arguments=tuple(a for v in op.kernel_operands for a in _flatten(builder, v)),
    )


def _flatten(builder: Builder, value: SSAValue) -> list[View | int]:
    """`value` in the order of the kernel parameters that it becomes."""
    held = builder.get(value)
    if held.view is None:
        return [builder.place(value)]
    found: list[View | int] = []
    for parameter in flatten(value.type):
        match parameter.kind:
            case "pointer":
                found.append(held.view)
            case "size":
                found.append(held.view.sizes[parameter.dim or 0])
            case "stride":
                found.append(held.view.strides[parameter.dim or 0])
    return found
