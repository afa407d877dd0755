"""Parallel loops within one thread: they become sequential ones."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineMap

from opar.dialects import affine
from opar.dialects.affine import ReductionKind
from opar.errors import UnsupportedError, at


def make_sequential(op: Operation) -> None:
    """Replace each `affine.parallel` below `op` by `affine.for` loops, reductions included."""
    for block in [b for region in op.regions for b in region.blocks]:
        for child in list(block.ops):
            make_sequential(child)
            if isinstance(child, affine.ParallelOp):
                _replace(child)


def _replace(loop: affine.ParallelOp) -> None:
    block = loop.parent
    assert block is not None
    inits: list[SSAValue] = []
    for kind, type in zip(loop.reduction_kinds, loop.result_types, strict=True):
        neutral = _neutral(kind, type, loop)
        block.insert_op_before(neutral, loop)
        inits.append(neutral.results[0])
    results = _loops(loop, block, inits)
    for old, new in zip(loop.res, results, strict=True):
        old.replace_all_uses_with(new)
    block.erase_op(loop)


def _loops(loop: affine.ParallelOp, block: Block, inits: list[SSAValue]) -> list[SSAValue]:
    """Build the loops before `loop` in `block`; the innermost takes its operations."""
    lower_dims = loop.lower_bounds_map.data.num_dims
    upper_dims = loop.upper_bounds_map.data.num_dims
    lower, upper = tuple(loop.lower_operands), tuple(loop.upper_operands)
    outermost: affine.ForOp | None = None
    target, carried = block, inits
    for d, variable in enumerate(loop.induction_variables):
        body = Block(arg_types=[variable.type, *(v.type for v in carried)])
        body.args[0].name_hint = variable.name_hint
        new = affine.ForOp(
            (AffineMap(lower_dims, len(lower) - lower_dims, loop.lower_bound(d)), lower),
            (AffineMap(upper_dims, len(upper) - upper_dims, loop.upper_bound(d)), upper),
            Region(body),
            loop.step_values[d],
            carried,
        )
        new.location = loop.location
        if outermost is None:
            block.insert_op_before(new, loop)
            outermost = new
        elif carried:
            target.add_ops([new, affine.YieldOp.get(*new.res)])
        else:
            assert target.last_op is not None
            target.insert_op_before(new, target.last_op)
        variable.replace_all_uses_with(body.args[0])
        target, carried = body, list(body.args[1:])
    source = loop.body.block
    end = source.last_op
    assert isinstance(end, affine.YieldOp)
    yielded = list(end.arguments)
    source.erase_op(end)
    moved = list(source.ops)
    for op in moved:
        op.detach()
    if outermost is None:  # no dimensions: the body runs once
        block.insert_ops_before(moved, loop)
        return [_combined(loop, i, inits[i], v, block) for i, v in enumerate(yielded)]
    if not carried:
        assert target.last_op is not None
        target.insert_ops_before(moved, target.last_op)
        return []
    target.add_ops(moved)
    combined = []
    for kind, accumulator, value in zip(loop.reduction_kinds, carried, yielded, strict=True):
        op = _combine(kind, accumulator, value, loop)
        target.add_op(op)
        combined.append(op.results[0])
    target.add_op(affine.YieldOp.get(*combined))
    return list(outermost.res)


def _combined(
    loop: affine.ParallelOp, i: int, accumulator: SSAValue, value: SSAValue, block: Block
) -> SSAValue:
    op = _combine(loop.reduction_kinds[i], accumulator, value, loop)
    block.insert_op_before(op, loop)
    return op.results[0]


_COMBINE = {
    ReductionKind.addf: arith.AddfOp,
    ReductionKind.addi: arith.AddiOp,
    ReductionKind.mulf: arith.MulfOp,
    ReductionKind.muli: arith.MuliOp,
    ReductionKind.maximumf: arith.MaximumfOp,
    ReductionKind.minimumf: arith.MinimumfOp,
    ReductionKind.maxnumf: arith.MaxnumfOp,
    ReductionKind.minnumf: arith.MinnumfOp,
    ReductionKind.maxs: arith.MaxSIOp,
    ReductionKind.mins: arith.MinSIOp,
    ReductionKind.maxu: arith.MaxUIOp,
    ReductionKind.minu: arith.MinUIOp,
    ReductionKind.ori: arith.OrIOp,
    ReductionKind.andi: arith.AndIOp,
    ReductionKind.xori: arith.XOrIOp,
}


def _combine(
    kind: ReductionKind, accumulator: SSAValue, value: SSAValue, loop: affine.ParallelOp
) -> Operation:
    if kind not in _COMBINE:
        message = f"the reduction '{kind.name}' has no neutral element, so it cannot be computed"
        raise UnsupportedError(at(loop, message))
    op = _COMBINE[kind](accumulator, value)
    op.location = loop.location
    return op


def _neutral(kind: ReductionKind, type: Attribute, loop: affine.ParallelOp) -> Operation:
    """The value that the reduction leaves every other unchanged with."""
    infinite = {
        ReductionKind.maximumf: -float("inf"),
        ReductionKind.maxnumf: -float("inf"),
        ReductionKind.minimumf: float("inf"),
        ReductionKind.minnumf: float("inf"),
    }
    if isinstance(type, Float16Type | Float32Type | Float64Type):
        value = infinite.get(kind, 1.0 if kind is ReductionKind.mulf else 0.0)
        return arith.ConstantOp(FloatAttr(value, type))
    width = type.width.data if isinstance(type, IntegerType) else 64
    neutral = {
        ReductionKind.addi: 0,
        ReductionKind.muli: 1,
        ReductionKind.ori: 0,
        ReductionKind.xori: 0,
        ReductionKind.andi: -1,
        ReductionKind.maxu: 0,
        ReductionKind.minu: -1,
        ReductionKind.maxs: -(1 << (width - 1)),
        ReductionKind.mins: (1 << (width - 1)) - 1,
    }
    if kind not in neutral:
        raise UnsupportedError(at(loop, f"the reduction '{kind.name}' is not supported"))
    return arith.ConstantOp(IntegerAttr(neutral[kind], type))  # pyright: ignore
