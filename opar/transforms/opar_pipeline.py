"""The pass `opar-pipeline`: all passes from parallel loops to scheduled launches."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import builtin
from xdsl.passes import ModulePass, PassPipeline

from opar.errors import OptionError
from opar.transforms.affine_parallelize import AffineParallelizePass
from opar.transforms.convert_affine_parallel_to_gpu import ConvertAffineParallelToGpuPass
from opar.transforms.gpu_assign_streams import GpuAssignStreamsPass
from opar.transforms.gpu_async_dataflow import GpuAsyncDataflowPass
from opar.transforms.gpu_infer_noalias import GpuInferNoaliasPass
from opar.transforms.gpu_kernel_outlining import GpuKernelOutliningPass
from opar.transforms.gpu_manage_buffers import GpuManageBuffersPass
from opar.transforms.unroll_host_loops import UnrollHostLoopsPass

TARGETS = ("cuda", "cpu")


@dataclass(frozen=True)
class OparPipelinePass(ModulePass):
    """
    Lower a module of parallel loops to kernels and launches with tokens and streams. It stands for
    (`gpu-manage-buffers` only for `cuda`: the memory of the CPU device is that of the host)::

        affine-parallelize, convert-affine-parallel-to-gpu{target=T}, gpu-kernel-outlining,
        unroll-host-loops, gpu-infer-noalias, gpu-manage-buffers, gpu-async-dataflow,
        gpu-assign-streams

    Options: `target` (`cuda` or `cpu`); `assume-noalias-args` and `commuting-atomics` as for
    `gpu-async-dataflow`; `vector-bits` as for `convert-affine-parallel-to-gpu`; `manage-buffers`
    runs `gpu-manage-buffers` for the CPU too, whose memory then stands for that of a GPU.
    """

    name = "opar-pipeline"

    target: str = "cuda"
    assume_noalias_args: bool = False
    vector_bits: int = 512
    commuting_atomics: bool = False
    manage_buffers: bool = False

    def passes(self) -> tuple[ModulePass, ...]:
        """The passes that this one runs, in order."""
        if self.target not in TARGETS:
            raise OptionError(
                f"opar-pipeline: target '{self.target}' is none of {', '.join(TARGETS)}"
            )
        noalias = self.assume_noalias_args
        is_managed = self.manage_buffers or self.target == "cuda"
        return (
            AffineParallelizePass(assume_noalias_args=noalias),
            ConvertAffineParallelToGpuPass(target=self.target, vector_bits=self.vector_bits),
            GpuKernelOutliningPass(),
            UnrollHostLoopsPass(),
            GpuInferNoaliasPass(assume_noalias_args=noalias),
            *([GpuManageBuffersPass(assume_noalias_args=noalias)] if is_managed else []),
            GpuAsyncDataflowPass(
                assume_noalias_args=noalias, commuting_atomics=self.commuting_atomics
            ),
            GpuAssignStreamsPass(),
        )

    def apply(self, ctx: Context, op: builtin.ModuleOp) -> None:
        PassPipeline(self.passes()).apply(ctx, op)
