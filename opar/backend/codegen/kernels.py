"""From a `gpu.module` to an LLVM module: checks first, then every kernel in it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import cast

from llvmlite import ir
from xdsl.dialects.builtin import (
    DenseArrayBase,
    Float16Type,
    IntegerType,
    MemRefType,
    SymbolRefAttr,
    UnregisteredOp,
    VectorType,
)
from xdsl.ir import Attribute, Operation
from xdsl.traits import SymbolTable

from opar.backend.codegen.abi import KernelInfo, flatten, mangle
from opar.backend.codegen.collectives import threads_at_most
from opar.backend.codegen.context import Context, component_types
from opar.backend.codegen.diagnostics import located
from opar.backend.codegen.layout import is_workgroup
from opar.backend.codegen.memref_value import element_type, rebuild
from opar.backend.codegen.table import emitter
from opar.backend.codegen.target import TargetRecord
from opar.backend.codegen.types import byte_size, promised_alignment, scalar_type
from opar.dialects import gpu
from opar.errors import TargetLimitError, UnsupportedError, at


def emit_kernels(
    module: gpu.ModuleOp, target: TargetRecord
) -> tuple[ir.Module, dict[str, KernelInfo]]:
    """
    LLVM IR for all kernels of `module`, and for each, by its MLIR name, how to launch it.

    Raises `UnsupportedError` and `TargetLimitError` with the place of the operation. LLVM ends
    the process on what it cannot compile, so everything it might refuse is found here: the
    operations and types in a walk before anything is emitted, the rest while emitting, which
    builds the module in Python only.
    """
    kernels = [op for op in module.body.block.ops if isinstance(op, gpu.FuncOp) and op.is_kernel]
    for op in module.body.block.ops:
        _check_operations(op, target)
    for kernel in kernels:
        _check_limits(kernel, target)
    llvm = ir.Module(name=module.sym_name.data)
    infos: dict[str, KernelInfo] = {}
    for kernel in kernels:
        with located(kernel):
            info = _info(kernel, target)
            infos[kernel.sym_name.data] = info
            target.emit_kernel(llvm, kernel, info.name)
    return llvm, infos


def _check_operations(function: Operation, target: TargetRecord) -> None:
    _check_types(function, target)
    for op in _operations(function):
        if emitter(op.name) is None:
            unknown = f"'{op.op_name.data}' is " if isinstance(op, UnregisteredOp) else ""
            message = f"{unknown}not supported in a kernel for {target.name}"
            raise UnsupportedError(at(op, message))
        _check_types(op, target)


def _check_types(op: Operation, target: TargetRecord) -> None:
    with located(op):
        component_types(_types(op), target)
        if not target.has_half and any(_is_half(type) for type in _types(op)):
            raise UnsupportedError(f"{target.name} cannot compute with f16; use f32")


def _is_half(type: Attribute) -> bool:
    element = type.element_type if isinstance(type, MemRefType | VectorType) else type
    return isinstance(element, Float16Type)


def _operations(function: Operation) -> Iterator[Operation]:
    for region in function.regions:
        yield from region.walk()


def _reached(kernel: Operation) -> Iterator[Operation]:
    """The operations of `kernel` and, once each, of the functions that it may call."""
    functions = [kernel]
    for function in functions:
        for op in _operations(function):
            yield op
            callee = op.properties.get("callee")
            if isinstance(callee, SymbolRefAttr):
                called = SymbolTable.lookup_symbol(op, callee)
                if called is not None and called not in functions:
                    functions.append(called)


def _types(op: Operation) -> Iterator[Attribute]:
    yield from op.result_types
    for region in op.regions:
        for block in region.blocks:
            yield from block.arg_types


def _check_limits(kernel: gpu.FuncOp, target: TargetRecord) -> None:
    limits = target.limits
    shared = _static_shared(kernel)
    if shared > limits.static_shared_bytes:
        raise TargetLimitError(
            at(
                kernel,
                f"needs {shared} bytes of workgroup memory; {target.name} has "
                f"{limits.static_shared_bytes} for attributions; use smaller tiles"
                + limits.shared_advice,
            )
        )
    private = sum(_bytes(a.type) for a in kernel.private_attributions)
    private += sum(_bytes(t) for op in _reached(kernel) for t in _stack_types(op))
    if private > limits.private_bytes:
        raise TargetLimitError(
            at(
                kernel,
                f"needs {private} bytes of private memory a thread; {target.name} has "
                f"{limits.private_bytes}; use a buffer in global memory",
            )
        )
    block = _sizes(kernel.known_block_size)
    if block is None:
        return
    shape = "x".join(map(str, block))
    if limits.threads_per_block is not None and math.prod(block) > limits.threads_per_block:
        raise TargetLimitError(
            at(
                kernel,
                f"has blocks of {shape} = {math.prod(block)} threads; {target.name} runs at "
                f"most {limits.threads_per_block} a block; use more blocks",
            )
        )
    if limits.block_dim is not None and any(
        size > most for size, most in zip(block, limits.block_dim, strict=True)
    ):
        most = "x".join(map(str, limits.block_dim))
        raise TargetLimitError(
            at(kernel, f"has blocks of {shape} threads; {target.name} takes at most {most}")
        )


def _stack_types(op: Operation) -> Iterator[Attribute]:
    if op.name == "memref.alloca":
        yield from (
            t for t in op.result_types if isinstance(t, MemRefType) and t.has_static_shape()
        )


def _info(kernel: gpu.FuncOp, target: TargetRecord) -> KernelInfo:
    return KernelInfo(
        target.symbol(mangle(kernel.sym_name.data)),
        tuple(flatten(type) for type in kernel.function_type.inputs),
        _static_shared(kernel),
        _sizes(kernel.known_block_size),
        any(isinstance(op, gpu.DynamicSharedMemoryOp) for op in _reached(kernel)),
    )


def _static_shared(kernel: gpu.FuncOp) -> int:
    """Bytes of workgroup memory: attributions and the buffers of reductions."""
    total = sum(_bytes(argument.type) for argument in kernel.workgroup_attributions)
    for op in _reached(kernel):
        if isinstance(op, gpu.AllReduceOp) and (type := scalar_type(op.value.type)) is not None:
            # A function does not know the block size of the kernels that call it.
            own = kernel.is_ancestor(op)
            threads = threads_at_most(_sizes(kernel.known_block_size) if own else None)
            total += threads * byte_size(type) if threads > 1 else 0
    return total


def _bytes(type: Attribute) -> int:
    assert isinstance(type, MemRefType)
    return math.prod(type.get_shape()) * byte_size(element_type(type))


def _sizes(attribute: DenseArrayBase | None) -> tuple[int, int, int] | None:
    if attribute is None:
        return None
    x, y, z = cast("DenseArrayBase[IntegerType]", attribute).get_values()
    return x, y, z


# What both targets do with a function that holds the body of a kernel.


def parameter_types(kernel: gpu.FuncOp, target: TargetRecord) -> list[ir.Type]:
    """LLVM types of the flattened parameters of `kernel`."""
    for type in kernel.function_type.inputs:
        if isinstance(type, MemRefType) and is_workgroup(type.memory_space):
            raise UnsupportedError("workgroup memory cannot be passed to a kernel by a launch")
    return component_types(kernel.function_type.inputs, target)


def bind_arguments(ctx: Context, kernel: gpu.FuncOp) -> None:
    """
    Give the parameters of `kernel` the first arguments of the function of `ctx`, and its
    attributions their memory. Pointers get the attributes `llvm.noalias`, `llvm.align`.
    """
    arguments = ctx.function.args
    position = 0
    for index, parameter in enumerate(kernel.parameters):
        own = arguments[position : position + len(ctx.component_types([parameter.type]))]
        position += len(own)
        if isinstance(parameter.type, MemRefType):
            if kernel.argument_attribute(index, "llvm.noalias") is not None:
                own[0].add_attribute("noalias")
            alignment = promised_alignment(kernel.argument_attribute(index, "llvm.align"))
            if alignment is not None:
                own[0].attributes.align = alignment
        ctx.bind([parameter], own)
    ctx.known_block_size = _sizes(kernel.known_block_size)
    for attribution in kernel.workgroup_attributions:
        type = attribution.type
        assert isinstance(type, MemRefType)
        memory = ctx.target.workgroup_memory(ctx, type)
        ctx.set(attribution, rebuild(ctx.b, type, [memory]))
    for attribution in kernel.private_attributions:
        type = attribution.type
        assert isinstance(type, MemRefType)
        ctx.set(attribution, rebuild(ctx.b, type, [ctx.private_memory(type)]))
