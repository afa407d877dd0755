"""From a `gpu.module` to an LLVM module: checks first, then every kernel in it."""

from __future__ import annotations

import math

from llvmlite import ir
from xdsl.dialects.builtin import DenseArrayBase, MemRefType

from opar.backend.codegen.abi import KernelInfo, flatten, mangle
from opar.backend.codegen.memref_value import element_type
from opar.backend.codegen.table import emitter
from opar.backend.codegen.target import TargetRecord
from opar.backend.codegen.types import byte_size
from opar.dialects import gpu
from opar.errors import TargetLimitError, UnsupportedError, at


def emit_kernels(
    module: gpu.ModuleOp, target: TargetRecord
) -> tuple[ir.Module, dict[str, KernelInfo]]:
    """
    LLVM IR for all kernels of `module`, and for each, by its MLIR name, how to launch it.

    Raises `UnsupportedError` and `TargetLimitError` with the place, before anything is emitted
    where an operation has no emitter.
    """
    kernels = [op for op in module.body.block.ops if isinstance(op, gpu.FuncOp) and op.is_kernel]
    for kernel in kernels:
        _check(kernel, target)
    llvm = ir.Module(name=module.sym_name.data)
    infos: dict[str, KernelInfo] = {}
    for kernel in kernels:
        info = _info(kernel)
        infos[kernel.sym_name.data] = info
        target.emit_kernel(llvm, kernel, info.name)
    return llvm, infos


def _check(kernel: gpu.FuncOp, target: TargetRecord) -> None:
    for op in kernel.body.walk():
        if emitter(op.name) is None:
            raise UnsupportedError(at(op, f"not supported in a kernel for {target.name}"))
    shared = _static_shared(kernel)
    if shared > target.limits.static_shared_bytes:
        message = f"needs {shared} bytes of workgroup memory; {target.name} has"
        raise TargetLimitError(at(kernel, f"{message} {target.limits.static_shared_bytes}"))
    block = _sizes(kernel.known_block_size)
    if block is None:
        return
    threads, most = math.prod(block), target.limits.threads_per_block
    dims = target.limits.block_dim
    if (most is not None and threads > most) or (
        dims is not None and any(n > d for n, d in zip(block, dims, strict=True))
    ):
        message = f"has blocks of {'x'.join(map(str, block))} threads; {target.name} runs at most"
        raise TargetLimitError(at(kernel, f"{message} {most}, {dims} in each dimension"))


def _info(kernel: gpu.FuncOp) -> KernelInfo:
    try:
        params = tuple(flatten(type) for type in kernel.function_type.inputs)
    except UnsupportedError as error:
        raise UnsupportedError(at(kernel, str(error))) from error
    return KernelInfo(
        mangle(kernel.sym_name.data),
        params,
        _static_shared(kernel),
        _sizes(kernel.known_block_size),
        any(isinstance(op, gpu.DynamicSharedMemoryOp) for op in kernel.body.walk()),
    )


def _static_shared(kernel: gpu.FuncOp) -> int:
    total = 0
    for argument in kernel.workgroup_attributions:
        type = argument.type
        assert isinstance(type, MemRefType)
        total += math.prod(type.get_shape()) * byte_size(element_type(type))
    return total


def _sizes(attribute: DenseArrayBase | None) -> tuple[int, int, int] | None:
    if attribute is None:
        return None
    x, y, z = (int(n) for n in attribute.get_values())
    return x, y, z


def is_noalias(kernel: gpu.FuncOp, index: int) -> bool:
    """Whether parameter `index` overlaps no other."""
    return kernel.argument_attribute(index, "llvm.noalias") is not None
