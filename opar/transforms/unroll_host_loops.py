"""The pass `unroll-host-loops`: host loops around launches become straight-line code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, builtin, func
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.passes import ModulePass

from opar.dialects import affine, gpu, scf


@dataclass(frozen=True)
class UnrollHostLoopsPass(ModulePass):
    """
    Repeat the body of each loop of a host function that launches kernels, once an iteration, where
    the bounds are constants. Iterations that do not depend on each other can then run at the same
    time, and a schedule holds them all.

    Before::

        scf.for %t = %c0 to %c2 step %c1 {
          gpu.launch_func @k::@step ... args(%a : memref<8xf32>, %t : index)
        }

    After::

        %c0_1 = arith.constant 0 : index
        gpu.launch_func @k::@step ... args(%a : memref<8xf32>, %c0_1 : index)
        %c1_1 = arith.constant 1 : index
        gpu.launch_func @k::@step ... args(%a : memref<8xf32>, %c1_1 : index)

    Loops within are unrolled too, also where their bounds depend on the outer variable. A loop that
    would become more than `limit` operations stays, as do loops that launch nothing and loops whose
    bounds are known only at run time.
    """

    name = "unroll-host-loops"

    limit: int = 1 << 14

    def apply(self, ctx: Context, op: builtin.ModuleOp) -> None:
        for function in op.walk():
            if isinstance(function, func.FuncOp):
                self._unroll_below(function)

    def _unroll_below(self, op: Operation) -> None:
        for region in op.regions:
            for block in region.blocks:
                for child in list(block.ops):
                    if isinstance(child, gpu.LaunchOp | gpu.ModuleOp):
                        continue
                    if isinstance(child, affine.ForOp | scf.ForOp) and _launches(child):
                        self._unroll(child)
                    else:
                        self._unroll_below(child)

    def _unroll(self, loop: affine.ForOp | scf.ForOp) -> None:
        bounds = _constant_bounds(loop)
        body = list(loop.body.block.ops)[:-1]
        size = sum(1 for op in body for _ in op.walk())
        if bounds is None or _iterations(*bounds) * max(1, size) > self.limit:
            self._unroll_below(loop)
            return
        block, end = loop.parent, loop.body.block.last_op
        assert block is not None and end is not None
        inits = loop.inits if isinstance(loop, affine.ForOp) else loop.iter_args
        carried: list[SSAValue] = list(inits)
        variable, *arguments = loop.body.block.args
        for value in range(*bounds):
            constant = arith.ConstantOp(IntegerAttr(value, variable.type))  # pyright: ignore
            constant.location = loop.location
            block.insert_op_before(constant, loop)
            mapped: dict[SSAValue, SSAValue] = {variable: constant.result}
            mapped |= dict(zip(arguments, carried, strict=True))
            copies = [op.clone(mapped) for op in body]
            block.insert_ops_before(copies, loop)
            carried = [mapped.get(v, v) for v in end.operands]
            for copy in copies:
                if isinstance(copy, affine.ForOp | scf.ForOp) and _launches(copy):
                    self._unroll(copy)
                else:
                    self._unroll_below(copy)
        for result, value in zip(loop.results, carried, strict=True):
            result.replace_all_uses_with(value)
        block.erase_op(loop)


def _launches(op: Operation) -> bool:
    return any(isinstance(child, gpu.LaunchFuncOp | gpu.LaunchOp) for child in op.walk())


def _iterations(lower: int, upper: int, step: int) -> int:
    """How many iterations there are; `len(range(...))` has a limit."""
    return max(0, -(-(upper - lower) // step))


def _constant_bounds(loop: affine.ForOp | scf.ForOp) -> tuple[int, int, int] | None:
    """(lower, upper, step), where all are constants."""
    if isinstance(loop, scf.ForOp):
        found = [_number(v) for v in (loop.lb, loop.ub, loop.step)]
        if None in found or not isinstance(loop.lb.type, IndexType):
            return None
        lower, upper, step = (n for n in found if n is not None)
        if loop.unsigned_cmp is not None and min(lower, upper) < 0:
            return None
        return (lower, upper, step) if step > 0 else None
    lower = _results(loop.lower_bound_map.data, loop.lower_bound_operands)
    upper = _results(loop.upper_bound_map.data, loop.upper_bound_operands)
    if lower is None or upper is None:
        return None
    return max(lower), min(upper), loop.step.value.data


def _results(map: AffineMap, operands: Sequence[SSAValue]) -> list[int] | None:
    numbers = [_number(v) for v in operands]
    known = [n for n in numbers if n is not None]
    if len(known) != len(numbers):
        return None
    return list(map.eval(known[: map.num_dims], known[map.num_dims :]))


def _number(value: SSAValue) -> int | None:
    """The number that a value is: a constant, or an affine map of constants."""
    owner = value.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        return owner.value.value.data
    if isinstance(owner, affine.ApplyOp):
        found = _results(owner.map.data, owner.mapOperands)
        return found[0] if found is not None else None
    return None
