"""
What `opar-opt -t` prints of the kernels of a module: LLVM IR or PTX, so that it can be checked.

    opar-opt program.mlir -p opar-pipeline -t 'ptx{arch=sm_90}'
    opar-opt program.mlir -p 'opar-pipeline{target=cpu}' -t 'llvm{arch=host optimize=true}'
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.target import Target

from opar.dialects import gpu


def _kernel_modules(module: ModuleOp) -> Iterator[gpu.ModuleOp]:
    return (op for op in module.walk() if isinstance(op, gpu.ModuleOp))


@dataclass(frozen=True)
class LLVMTarget(Target):
    """
    Prints the LLVM IR of each gpu.module of a module.

    `arch` is a GPU architecture (`sm_90`), or `host` for the CPU of this process; `optimize`
    prints what LLVM's O3 makes of it, otherwise it is as emitted.
    """

    name: ClassVar[str] = "llvm"

    arch: str = "sm_80"
    optimize: bool = False

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        for kernels in _kernel_modules(module):
            output.write(self._text(kernels).rstrip() + "\n")

    def _text(self, module: gpu.ModuleOp) -> str:
        if self.arch == "host":
            from opar.backend.host_object import host_ir, optimized_host

            return str(optimized_host(module)[0]) if self.optimize else host_ir(module)
        from opar.backend.ptx import nvptx_ir, optimized_nvptx

        if self.optimize:
            return str(optimized_nvptx(module, self.arch)[0])
        return nvptx_ir(module, self.arch)


@dataclass(frozen=True)
class PTXTarget(Target):
    """Prints the PTX of each gpu.module of a module, for the GPU architecture `arch`."""

    name: ClassVar[str] = "ptx"

    arch: str = "sm_80"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        from opar.backend.ptx import compile_ptx

        for kernels in _kernel_modules(module):
            output.write(compile_ptx(kernels, self.arch).text.rstrip() + "\n")
