"""The pass `gpu-infer-noalias`: kernel parameters that overlap no other."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import builtin
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, MemRefType, UnitAttr
from xdsl.passes import ModulePass
from xdsl.traits import SymbolTable

from opar.analysis.access import AccessKind
from opar.analysis.accesses import AccessAnalysis
from opar.analysis.aliasing import AliasAnalysis
from opar.dialects import gpu

NOALIAS = "llvm.noalias"


@dataclass(frozen=True)
class GpuInferNoaliasPass(ModulePass):
    """
    Mark kernel parameters `llvm.noalias` where every launch passes memory that no other parameter
    reaches, or that the kernel only reads through all parameters that do. LLVM may then keep what
    it loaded in registers, and on a GPU load it through the read-only cache.

    Before::

        gpu.func @product(%a: memref<4x5xf32>, %p: memref<4x3xf32>) kernel

    After::

        gpu.func @product(%a: memref<4x5xf32> {llvm.noalias}, %p: memref<4x3xf32> {llvm.noalias})
          kernel

    Option `assume-noalias-args`: as for `gpu-async-dataflow`.
    """

    name = "gpu-infer-noalias"

    assume_noalias_args: bool = False

    def apply(self, ctx: Context, op: builtin.ModuleOp) -> None:
        accesses = AccessAnalysis(AliasAnalysis(self.assume_noalias_args))
        noalias: dict[gpu.FuncOp, set[int]] = {}
        for launch in op.walk():
            if not isinstance(launch, gpu.LaunchFuncOp):
                continue
            kernel = SymbolTable.lookup_symbol(launch, launch.kernel)
            if isinstance(kernel, gpu.FuncOp):
                alone = _parameters_alone(launch, kernel, accesses)
                noalias[kernel] = noalias.get(kernel, alone) & alone
        for kernel, parameters in noalias.items():
            _mark(kernel, parameters)


def _parameters_alone(
    launch: gpu.LaunchFuncOp, kernel: gpu.FuncOp, accesses: AccessAnalysis
) -> set[int]:
    """The memref parameters that share no written memory with another in this launch."""
    written = {
        touched.index
        for touched in accesses.kernel_accesses(kernel)
        if touched.kind is not AccessKind.READ and touched.root is None
    }
    operands = launch.kernel_operands
    memrefs = [i for i, operand in enumerate(operands) if isinstance(operand.type, MemRefType)]
    return {
        i
        for i in memrefs
        if not any(
            j != i
            and (i in written or j in written)
            and accesses.aliases.may_alias(operands[i], operands[j])
            for j in memrefs
        )
    }


def _mark(kernel: gpu.FuncOp, parameters: set[int]) -> None:
    old = kernel.arg_attrs
    attributes = [
        dict(old.data[i].data) if old is not None else {}
        for i in range(len(kernel.function_type.inputs))
    ]
    for i in parameters:
        attributes[i][NOALIAS] = UnitAttr()
    if any(attributes):
        kernel.arg_attrs = ArrayAttr(DictionaryAttr(a) for a in attributes)
