"""Kernels to PTX."""

from __future__ import annotations

import re
from dataclasses import dataclass

import llvmlite.binding as llvm

from opar.backend.codegen.abi import KernelInfo
from opar.backend.codegen.kernels import emit_kernels
from opar.backend.codegen.nvptx import NVPTXRecord
from opar.backend.libdevice import find_libdevice
from opar.backend.optimize import initialize, optimize, parse
from opar.dialects import gpu
from opar.errors import DeviceError, OptionError, at

_TRIPLE = "nvptx64-nvidia-cuda"

ARCHITECTURES = (
    "sm_70", "sm_72", "sm_75", "sm_80", "sm_86", "sm_87", "sm_88", "sm_89", "sm_90", "sm_90a",
    "sm_100", "sm_100a", "sm_100f", "sm_101", "sm_101a", "sm_103", "sm_103a", "sm_103f",
    "sm_110", "sm_110a", "sm_110f", "sm_120", "sm_120a", "sm_120f", "sm_121", "sm_121a", "sm_121f",
)  # fmt: skip
"""What LLVM 22 knows, from Volta on: the first with `shfl.sync` and independent threads."""


@dataclass(frozen=True)
class PtxModule:
    """PTX text, and how to launch each kernel, by its name in the MLIR."""

    text: str
    kernels: dict[str, KernelInfo]


def compile_ptx(module: gpu.ModuleOp, arch: str) -> PtxModule:
    """
    Compile the kernels of `module` for `arch` (`sm_75`, `sm_90a`, ...).

    Raises `UnsupportedError`, `TargetLimitError`, `OptionError` for an unknown architecture, and
    `DeviceError` where a math function needs libdevice and there is none.
    """
    optimized, kernels = optimized_nvptx(module, arch)
    return PtxModule(_machine(arch).emit_assembly(optimized), kernels)


def optimized_nvptx(
    module: gpu.ModuleOp, arch: str
) -> tuple[llvm.ModuleRef, dict[str, KernelInfo]]:
    """The optimised LLVM module of the kernels of `module`."""
    machine = _machine(arch)
    record = NVPTXRecord(arch)
    text, kernels = _emit(module, record, machine)
    context = llvm.create_context()
    parsed = parse(text, context)
    if record.needs_libdevice is not None:
        _link_libdevice(parsed, record, context)
    optimize(parsed, machine)
    return parsed, kernels


def nvptx_ir(module: gpu.ModuleOp, arch: str) -> str:
    """The LLVM IR of the kernels of `module` as it is emitted, before any optimisation."""
    return _emit(module, NVPTXRecord(arch), _machine(arch))[0]


def _emit(
    module: gpu.ModuleOp, record: NVPTXRecord, machine: llvm.TargetMachine
) -> tuple[str, dict[str, KernelInfo]]:
    emitted, kernels = emit_kernels(module, record)
    emitted.triple = _TRIPLE
    emitted.data_layout = str(machine.target_data)
    return _with_block_sizes(str(emitted), kernels), kernels


def _machine(arch: str) -> llvm.TargetMachine:
    if arch not in ARCHITECTURES:
        known = ", ".join(ARCHITECTURES)
        raise OptionError(f"'{arch}' is not a GPU architecture that opar compiles for: {known}")
    initialize()
    target = llvm.Target.from_triple(_TRIPLE)
    return target.create_target_machine(cpu=arch, opt=3, codemodel="default")


def _with_block_sizes(text: str, kernels: dict[str, KernelInfo]) -> str:
    """Add the attribute `nvvm.maxntid`, which llvmlite has no call for, to kernels that know
    their block size."""
    for info in kernels.values():
        if info.known_block_size is not None:
            sizes = ",".join(map(str, info.known_block_size))
            pattern = rf'(define ptx_kernel void @"{re.escape(info.name)}"\(.*\))'
            text, count = re.subn(pattern, rf'\1 "nvvm.maxntid"="{sizes}"', text)
            assert count == 1, info.name
    return text


def _link_libdevice(module: llvm.ModuleRef, record: NVPTXRecord, context: llvm.ContextRef) -> None:
    path = find_libdevice()
    op = record.needs_libdevice
    assert op is not None
    if path is None:
        raise DeviceError(
            at(op, "needs libdevice on a GPU, which was not found; pip install nvidia-nvvm")
        )
    library = llvm.parse_bitcode(path.read_bytes(), context=context)
    library.triple = module.triple
    library.data_layout = module.data_layout
    kept = {f.name for f in module.functions if not f.is_declaration}
    missing = {f.name for f in module.functions if f.is_declaration and "__nv_" in f.name}
    known = {f.name for f in library.functions}
    if absent := sorted(missing - known):
        raise DeviceError(at(op, f"libdevice in {path} has no {', '.join(absent)}"))
    module.link_in(library)
    for function in module.functions:
        # Everything but the kernels may go once it is inlined.
        if not function.is_declaration and function.name not in kept:
            function.linkage = llvm.Linkage.internal
