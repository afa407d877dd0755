"""The pass `affine-parallelize`: loops whose iterations are independent become parallel."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import builtin, func
from xdsl.ir import Block, Operation, Region
from xdsl.passes import ModulePass
from xdsl.traits import SymbolTable

from opar.analysis.affine_dependence import is_parallel
from opar.analysis.aliasing import AliasAnalysis
from opar.dialects import affine, gpu


@dataclass(frozen=True)
class AffineParallelizePass(ModulePass):
    """
    Turn each `affine.for` of a host function whose iterations are independent into an
    `affine.parallel`.

    Before::

        affine.for %i = 0 to 64 {
          %v = affine.load %a[%i] : memref<64xf32>
          affine.store %v, %b[%i] : memref<64xf32>
        }

    After, where %a and %b cannot overlap::

        affine.parallel (%i) = (0) to (64) {
          %v = affine.load %a[%i] : memref<64xf32>
          affine.store %v, %b[%i] : memref<64xf32>
        }

    Independence is proved (`opar.analysis.affine_dependence`); loops with values carried from one
    iteration to the next stay, and so do all others where the proof fails. Loops inside a parallel
    loop stay, unless they stand alone in it, and so do those of kernels, and of functions that
    parallel loops or launches call.

    Option `assume-noalias-args`: as for `gpu-async-dataflow`.
    """

    name = "affine-parallelize"

    assume_noalias_args: bool = False

    def apply(self, ctx: Context, op: builtin.ModuleOp) -> None:
        aliases = AliasAnalysis(self.assume_noalias_args)
        in_kernels = _called_in_kernels(op)
        for function in op.walk():
            if isinstance(function, func.FuncOp) and function not in in_kernels:
                for region in function.regions:
                    for block in region.blocks:
                        _convert(list(block.ops), aliases)


def _called_in_kernels(module: builtin.ModuleOp) -> set[Operation]:
    """The functions that run in kernels: those there, and those called from parallel code."""
    found: set[Operation] = set()
    work: list[Operation] = [
        op
        for op in module.walk()
        if isinstance(op, affine.ParallelOp | gpu.LaunchOp | gpu.ModuleOp)
    ]
    while work:
        for op in work.pop().walk():
            called = SymbolTable.lookup_symbol(op, op.callee) if isinstance(op, func.CallOp) else op
            if isinstance(called, func.FuncOp) and called not in found:
                found.add(called)
                work.append(called)
    return found


def _convert(ops: Iterable[Operation], aliases: AliasAnalysis) -> None:
    for op in ops:
        if isinstance(op, affine.ForOp):
            inner = list(op.body.block.ops)
            if is_parallel(op, aliases):
                _make_parallel(op)
                inner = inner if len(inner) == 2 else []  # alone, next to the end of the block
            _convert(inner, aliases)
        elif not isinstance(op, affine.ParallelOp | gpu.LaunchOp | gpu.ModuleOp):
            for region in op.regions:
                for block in region.blocks:
                    _convert(list(block.ops), aliases)


def _make_parallel(loop: affine.ForOp) -> None:
    lower, upper = loop.lower_bound_map.data, loop.upper_bound_map.data
    body = Block(arg_types=[loop.induction_variable.type])
    body.args[0].name_hint = loop.induction_variable.name_hint
    loop.induction_variable.replace_all_uses_with(body.args[0])
    for op in list(loop.body.block.ops):
        op.detach()
        body.add_op(op)
    new = affine.ParallelOp(
        [lower.results],
        [upper.results],
        Region(body),
        [loop.step.value.data],
        (lower.num_dims, list(loop.lower_bound_operands)),
        (upper.num_dims, list(loop.upper_bound_operands)),
    )
    new.attributes |= loop.attributes
    new.location = loop.location
    block = loop.parent
    assert block is not None
    block.insert_op_before(new, loop)
    block.erase_op(loop)
