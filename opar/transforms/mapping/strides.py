"""How the elements that a nest touches move with its loop variables."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass

from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
    AffineSymExpr,
)

from opar.dialects import affine, memref
from opar.transforms.mapping.nest import Nest


@dataclass(frozen=True)
class Dependence:
    """Which values of a nest's body change with a loop variable, the variable included."""

    variable: BlockArgument
    values: frozenset[SSAValue]

    def __contains__(self, value: SSAValue) -> bool:
        return value in self.values


def depending_on(variable: BlockArgument, body: Block) -> Dependence:
    """The values computed in `body` that depend on `variable`, through loop arguments too."""
    found: set[SSAValue] = {variable}
    size = 0
    while size != len(found):
        size = len(found)
        _spread(body.ops, found)
    return Dependence(variable, frozenset(found))


def _spread(ops: Iterable[Operation], found: set[SSAValue]) -> None:
    for op in ops:
        for region in op.regions:
            for block in region.blocks:
                _spread(block.ops, found)
        if isinstance(op, affine.ForOp):
            body = op.body.block
            bounds = (*op.lower_bound_operands, *op.upper_bound_operands)
            if any(v in found for v in bounds):
                found |= {*body.args, *op.res}
            end = body.last_op
            assert end is not None
            for init, argument, yielded, result in zip(
                op.inits, body.args[1:], end.operands, op.res, strict=True
            ):
                if init in found or yielded in found:
                    found |= {argument, result}
        elif any(v in found for inner in op.walk() for v in inner.operands):
            found |= set(op.results)
            found |= {a for region in op.regions for block in region.blocks for a in block.args}


def coefficient(
    variable: SSAValue,
    depends: Container[SSAValue],
    expr: AffineExpr,
    operands: Sequence[SSAValue],
    dims: int,
) -> int | None:
    """
    By how much `expr` grows when `variable` grows by one: 0 where it does not depend on it, None
    where that cannot be told. `operands` are dimensions, then symbols; `depends` holds all values
    that change with the variable.
    """
    match expr:
        case AffineConstantExpr():
            return 0
        case AffineDimExpr(position=position) | AffineSymExpr(position=position):
            value = operands[position + (0 if isinstance(expr, AffineDimExpr) else dims)]
            if value is variable:
                return 1
            return None if value in depends else 0
        case AffineBinaryOpExpr(kind=kind, lhs=lhs, rhs=rhs):
            a = coefficient(variable, depends, lhs, operands, dims)
            b = coefficient(variable, depends, rhs, operands, dims)
            if a is None or b is None:
                return None
            if kind is AffineBinaryOpKind.Add:
                return a + b
            if kind is AffineBinaryOpKind.Mul and isinstance(rhs, AffineConstantExpr):
                return a * rhs.value
            return 0 if a == b == 0 else None
    raise AssertionError(expr)


def subscript_coefficients(
    indices: Sequence[SSAValue], map: AffineMap, depends: Dependence
) -> list[int | None]:
    """`coefficient` of each subscript of an access with respect to a loop variable."""
    return [coefficient(depends.variable, depends, e, indices, map.num_dims) for e in map.results]


def contiguous_dimension(nest: Nest) -> int:
    """
    The dimension whose neighbouring iterations touch neighbouring addresses most often: the one
    with stride 1 in the last subscript of the most accesses; those in inner loops count more. The
    innermost wins a tie. The nest must have a dimension.
    """
    accesses = [
        (op.indices, op.map.data, _weight(op, nest))
        for op in nest.body.walk()
        if isinstance(op, affine.LoadOp | affine.StoreOp) and op.map.data.results
    ]
    plain = [
        (op.indices[-1], _weight(op, nest))
        for op in nest.body.walk()
        if isinstance(op, memref.LoadOp | memref.StoreOp) and op.indices
    ]
    best, best_score = len(nest.dimensions) - 1, -1
    for d in reversed(range(len(nest.dimensions))):
        variable = nest.dimensions[d].variable
        depends = depending_on(variable, nest.body)
        score = sum(weight for last, weight in plain if last is variable)
        for indices, map, weight in accesses:
            last = map.results[-1]
            if coefficient(variable, depends, last, indices, map.num_dims) in (1, -1):
                score += weight
        if score > best_score:
            best, best_score = d, score
    return best


def _weight(op: Operation, nest: Nest) -> int:
    """An access counts 8 times as much for each loop around it, up to four."""
    depth = 0
    parent = op.parent_op()
    while parent is not None and parent is not nest.loops[-1]:
        depth += parent.name in ("affine.for", "affine.parallel", "scf.for", "scf.while")
        parent = parent.parent_op()
    return 8 ** min(depth, 4)
