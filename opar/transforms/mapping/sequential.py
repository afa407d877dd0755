"""Parallel loops within one thread: they become sequential ones."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    Signedness,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineMap

from opar.dialects import affine
from opar.dialects.affine import ReductionKind
from opar.errors import UnsupportedError, at

_FLOAT_NEUTRAL = {
    ReductionKind.addf: (arith.AddfOp, 0.0),
    ReductionKind.mulf: (arith.MulfOp, 1.0),
    ReductionKind.maximumf: (arith.MaximumfOp, -float("inf")),
    ReductionKind.minimumf: (arith.MinimumfOp, float("inf")),
}
_INTEGER_NEUTRAL = {
    ReductionKind.addi: (arith.AddiOp, 0),
    ReductionKind.muli: (arith.MuliOp, 1),
    ReductionKind.ori: (arith.OrIOp, 0),
    ReductionKind.andi: (arith.AndIOp, -1),
}
"""The operation of a reduction, and the value that leaves every other as it is."""


def check_reductions(loop: affine.ParallelOp) -> None:
    """Raise `UnsupportedError` for a reduction of `loop` that cannot be computed."""
    for kind, type in zip(loop.reduction_kinds, loop.result_types, strict=True):
        if isinstance(type, IntegerType) and type.signedness.data is not Signedness.SIGNLESS:
            message = f"a reduction of {type} is not supported: arith has no operation on it"
            raise UnsupportedError(at(loop, message))
        if kind not in (_FLOAT_NEUTRAL if kind.is_float else _INTEGER_NEUTRAL):
            message = (
                f"the reduction '{kind.name}' is not supported: it has no neutral element, "
                "so that an empty loop has no result"
            )
            raise UnsupportedError(at(loop, message))
        if kind.is_float and not isinstance(type, _FLOATS):
            raise UnsupportedError(at(loop, f"a reduction of {type} is not supported"))


_FLOATS = (BFloat16Type, Float16Type, Float32Type, Float64Type)


def make_sequential(op: Operation) -> None:
    """
    Replace each `affine.parallel` below `op` by `affine.for` loops, reductions included; all must
    have passed `check_reductions`.
    """
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
        combined = [
            _combine(kind, init, value, loop)
            for kind, init, value in zip(loop.reduction_kinds, inits, yielded, strict=True)
        ]
        block.insert_ops_before(combined, loop)
        return [op.results[0] for op in combined]
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


def _combine(
    kind: ReductionKind, accumulator: SSAValue, value: SSAValue, loop: affine.ParallelOp
) -> Operation:
    op_class, _ = (_FLOAT_NEUTRAL if kind.is_float else _INTEGER_NEUTRAL)[kind]
    op = op_class(accumulator, value)
    op.location = loop.location
    return op


def _neutral(kind: ReductionKind, type: Attribute, loop: affine.ParallelOp) -> Operation:
    if isinstance(type, _FLOATS):
        op = arith.ConstantOp(FloatAttr(_FLOAT_NEUTRAL[kind][1], type))
    else:
        assert isinstance(type, IntegerType)
        op = arith.ConstantOp(IntegerAttr(_INTEGER_NEUTRAL[kind][1], type))
    op.location = loop.location
    return op
