"""LLVM IR text to an optimised module for a target machine."""

from __future__ import annotations

import llvmlite.binding as llvm


def initialize() -> None:
    """Register LLVM's targets; cheap when done before."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()


def parse(text: str, context: llvm.ContextRef | None = None) -> llvm.ModuleRef:
    """
    A verified module from LLVM IR text: LLVM's passes end the process on an invalid one. It has a
    context of its own unless one is given; the global one keeps the types of every module for ever.
    """
    module = llvm.parse_assembly(text, context=context or llvm.create_context())
    module.verify()
    return module


def optimize(module: llvm.ModuleRef, machine: llvm.TargetMachine) -> None:
    """Run LLVM's O3 pipeline, loop and SLP vectorisers included, on `module`."""
    tuning = llvm.create_pipeline_tuning_options(speed_level=3)
    tuning.loop_vectorization = True
    tuning.slp_vectorization = True
    tuning.loop_unrolling = True
    builder = llvm.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(module, builder)
