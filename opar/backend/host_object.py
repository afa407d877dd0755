"""Kernels to machine code for the CPU of this process."""

from __future__ import annotations

from dataclasses import dataclass

import llvmlite.binding as llvm

from opar.backend.codegen.abi import KernelInfo
from opar.backend.codegen.host import HostRecord
from opar.backend.codegen.kernels import emit_kernels
from opar.backend.optimize import initialize, optimize, parse
from opar.dialects import gpu


@dataclass(frozen=True)
class HostObject:
    """An object file, and how to launch each kernel, by its name in the MLIR."""

    object_code: bytes
    kernels: dict[str, KernelInfo]


def compile_host(module: gpu.ModuleOp) -> HostObject:
    """Compile the kernels of `module`; raises `UnsupportedError` and `TargetLimitError`."""
    optimized, kernels = optimized_host(module)
    return HostObject(_machine().emit_object(optimized), kernels)


def optimized_host(module: gpu.ModuleOp) -> tuple[llvm.ModuleRef, dict[str, KernelInfo]]:
    """The optimised LLVM module of the kernels of `module`."""
    machine = _machine()
    text, kernels = _emit(module, machine)
    parsed = parse(text)
    optimize(parsed, machine)
    return parsed, kernels


def host_ir(module: gpu.ModuleOp) -> str:
    """The LLVM IR of the kernels of `module` as it is emitted, before any optimisation."""
    return _emit(module, _machine())[0]


def _emit(module: gpu.ModuleOp, machine: llvm.TargetMachine) -> tuple[str, dict[str, KernelInfo]]:
    # Without F16C, LLVM calls a runtime library for f16 that a JIT does not have.
    is_x86 = machine.triple.startswith(("x86_64", "i686"))
    has_half = not is_x86 or llvm.get_host_cpu_features().get("f16c", False)
    emitted, kernels = emit_kernels(module, HostRecord(has_half))
    emitted.triple = machine.triple
    emitted.data_layout = str(machine.target_data)
    return str(emitted), kernels


def _machine() -> llvm.TargetMachine:
    initialize()
    target = llvm.Target.from_default_triple()
    features = llvm.get_host_cpu_features().flatten()
    return target.create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=features, opt=3, reloc="pic", codemodel="small"
    )
