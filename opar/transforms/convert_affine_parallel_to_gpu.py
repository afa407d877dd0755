"""The pass `convert-affine-parallel-to-gpu`: parallel loop nests become launches."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import builtin
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from opar.dialects import affine, gpu
from opar.errors import OptionError
from opar.transforms.mapping import cpu, cuda
from opar.transforms.mapping.legality import check_sequential
from opar.transforms.mapping.nest import Nest, collect_nest
from opar.transforms.mapping.sequential import make_sequential

TARGETS = ("cuda", "cpu")


@dataclass(frozen=True)
class ConvertAffineParallelToGpuPass(ModulePass):
    """
    Make each outermost nest of `affine.parallel` loops of a function one `gpu.launch`.

    Before::

        affine.parallel (%i, %j) = (0, 0) to (64, 64) {
          %v = affine.load %a[%i, %j] : memref<64x64xf32>
          affine.store %v, %b[%i, %j] : memref<64x64xf32>
        }

    After, for `cuda`: one thread an iteration, %j along x because neighbouring %j are neighbouring
    addresses::

        gpu.launch blocks(%bx, %by, %bz) in (%gx = %c2, %gy = %c32, %gz = %c1)
            threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c2, %sz = %c1) {
          %j = affine.apply affine_map<(d0, d1) -> (d0 * 32 + d1)>(%bx, %tx)
          %i = affine.apply affine_map<(d0, d1) -> (d0 * 2 + d1)>(%by, %ty)
          %v = affine.load %a[%i, %j] : memref<64x64xf32>
          affine.store %v, %b[%i, %j] : memref<64x64xf32>
          gpu.terminator
        }

    For `cpu` a block is a chunk of the outer iterations, with one thread that walks the rest in
    vectors (see `opar.transforms.mapping.cpu`).

    Perfectly nested loops become one grid; other parallel loops inside, and those in launches and
    kernels that are there already, run one iteration after another in the thread. Nests that are
    empty whatever happens are dropped. Host loops and branches around a nest stay as they are.

    Options: `target` (`cuda` or `cpu`); `block-size` (threads along x, y, z, for `cuda`; an axis
    without loops has one); `vector-bits` (the length of vectors, for `cpu`).

    Raises `UnsupportedError` for what a kernel cannot hold, and for a nest with results.
    """

    name = "convert-affine-parallel-to-gpu"

    target: str = "cuda"
    block_size: tuple[int, ...] = ()
    vector_bits: int = 512

    def apply(self, ctx: Context, op: builtin.ModuleOp) -> None:
        if self.target not in TARGETS:
            raise OptionError(
                f"{self.name}: target '{self.target}' is none of {', '.join(TARGETS)}"
            )
        self._check_block_size()
        loops, kernels = _outermost(op)
        nests = [collect_nest(loop) for loop in loops]  # all errors before any change
        for kernel in kernels:
            check_sequential(kernel)
        for nest in nests:
            self._map(nest)
        for kernel in kernels:
            make_sequential(kernel)

    def _map(self, nest: Nest) -> None:
        if self.target == "cpu":
            cpu.map_nest(nest, self.vector_bits)
        else:
            cuda.map_nest(nest, self.block_size)

    def _check_block_size(self) -> None:
        sizes = (*self.block_size, 1, 1, 1)[:3]
        threads = sizes[0] * sizes[1] * sizes[2]
        fits = all(1 <= n <= most for n, most in zip(sizes, cuda.MAX_BLOCK, strict=True))
        if len(self.block_size) > 3 or not fits or threads > cuda.MAX_THREADS:
            raise OptionError(
                f"{self.name}: block size {self.block_size} is not up to three sizes of at most "
                f"{cuda.MAX_BLOCK} and {cuda.MAX_THREADS} threads"
            )


def _outermost(op: Operation) -> tuple[list[affine.ParallelOp], list[Operation]]:
    """Parallel loops of the host that no other holds, and what holds those of the device."""
    loops: list[affine.ParallelOp] = []
    kernels: list[Operation] = []
    for region in op.regions:
        for block in region.blocks:
            for child in block.ops:
                if isinstance(child, affine.ParallelOp):
                    loops.append(child)
                elif isinstance(child, gpu.LaunchOp | gpu.ModuleOp):
                    kernels.append(child)
                else:
                    below = _outermost(child)
                    loops += below[0]
                    kernels += below[1]
    return loops, kernels
