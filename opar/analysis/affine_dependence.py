"""
Whether the iterations of one affine loop depend on each other.

The test is exact for affine accesses (Feautrier, "Dataflow analysis of array and scalar
references", 1991): two accesses conflict across iterations when an integer set is not empty, that
of pairs of iterations of the loop, the first before the second, in which both touch the same
element. islpy decides it. Values from outside the loop are parameters: any value, the same in both
iterations. `affine.apply` is looked through; any other value from inside may be different in each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import islpy as isl
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
    AffineSymExpr,
)
from xdsl.traits import is_side_effect_free

from opar.analysis.aliasing import AliasAnalysis
from opar.dialects import affine


@dataclass(frozen=True)
class _Access:
    op: affine.LoadOp | affine.StoreOp
    loops: tuple[affine.ForOp, ...]
    """The loops around it, from just inside the tested one."""

    @property
    def writes(self) -> bool:
        return isinstance(self.op, affine.StoreOp)


def is_parallel(loop: affine.ForOp, aliases: AliasAnalysis) -> bool:
    """
    Whether no iteration of `loop` depends on another. False where that cannot be shown: values
    carried from one iteration to the next, operations other than arithmetic, affine accesses,
    loops and conditions, or buffers that may overlap.
    """
    accesses = _accesses(loop)
    if loop.res or accesses is None:
        return False
    for n, a in enumerate(accesses):
        for b in accesses[: n + 1]:
            if not (a.writes or b.writes) or not aliases.may_alias(a.op.memref, b.op.memref):
                continue
            if a.op.memref is not b.op.memref or _is_inside(a.op.memref, loop):
                return False
            if _conflict(loop, a, b) or (a is not b and _conflict(loop, b, a)):
                return False
    return True


def _accesses(loop: affine.ForOp) -> list[_Access] | None:
    found: list[_Access] = []

    def collect(ops: Sequence[Operation], loops: tuple[affine.ForOp, ...]) -> bool:
        for op in ops:
            if isinstance(op, affine.LoadOp | affine.StoreOp):
                found.append(_Access(op, loops))
            elif isinstance(op, affine.ForOp):
                if not collect(list(op.body.block.ops), (*loops, op)):
                    return False
            elif isinstance(op, affine.IfOp):  # a condition only makes fewer accesses
                for region in op.regions:
                    if region.blocks and not collect(list(region.block.ops), loops):
                        return False
            elif not isinstance(op, affine.YieldOp) and (op.regions or not is_side_effect_free(op)):
                return False
        return True

    return found if collect(list(loop.body.block.ops), ()) else None


def _conflict(loop: affine.ForOp, first: _Access, second: _Access) -> bool:
    """Whether `first` in one iteration and `second` in a later one can touch one element."""
    names = _Names(loop)
    earlier: Values = {loop.induction_variable: names.new("i")}
    later: Values = {loop.induction_variable: names.new("i")}
    constraints: list[str] = [
        f"{earlier[loop.induction_variable]} < {later[loop.induction_variable]}"
    ]
    for access, values in ((first, earlier), (second, later)):
        for inner in access.loops:
            values[inner.induction_variable] = names.new("j")
        for around in (loop, *access.loops):
            constraints += _bounds(around, values, names)
    for a, b in zip(
        _subscripts(first, earlier, names), _subscripts(second, later, names), strict=True
    ):
        constraints.append(f"{a} = {b}")
    variables = ", ".join(dict.fromkeys((*earlier.values(), *later.values())))
    parameters = ", ".join(names.parameters.values())
    text = f"[{parameters}] -> {{ [{variables}] : {' and '.join(constraints)} }}"
    return not isl.Set(text).is_empty()


def _is_inside(value: SSAValue, loop: affine.ForOp) -> bool:
    owner = value.owner
    around = owner.parent_op() if isinstance(owner, Block) else owner
    return around is not None and loop.is_ancestor(around)


Values = dict[SSAValue, str]
"""What the values that differ from iteration to iteration are called, for one access."""


class _Names:
    """Makes the text of affine expressions for isl, and the names of variables and parameters."""

    def __init__(self, loop: affine.ForOp) -> None:
        self.loop = loop
        self.count = 0
        self.parameters: Values = {}

    def new(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def of(self, value: SSAValue, values: Values) -> str:
        if value in values:
            return values[value]
        if not _is_inside(value, self.loop):
            return self.parameters.setdefault(value, f"p{len(self.parameters)}")
        if isinstance(value, OpResult) and isinstance(value.op, affine.ApplyOp):
            return self.results(value.op.map.data, value.op.mapOperands, values)[0]
        return values.setdefault(value, self.new("u"))

    def results(self, map: AffineMap, operands: Sequence[SSAValue], values: Values) -> list[str]:
        names = [self.of(v, values) for v in operands]
        return [self._text(e, names, map.num_dims, values) for e in map.results]

    def _text(self, expr: AffineExpr, operands: Sequence[str], dims: int, values: Values) -> str:
        match expr:
            case AffineConstantExpr(value=value):
                return str(value)
            case AffineDimExpr(position=position):
                return operands[position]
            case AffineSymExpr(position=position):
                return operands[dims + position]
            case AffineBinaryOpExpr(kind=kind, lhs=lhs, rhs=rhs):
                a = self._text(lhs, operands, dims, values)
                b = self._text(rhs, operands, dims, values)
                match kind:
                    case AffineBinaryOpKind.Add:
                        return f"({a} + {b})"
                    case AffineBinaryOpKind.Mul:
                        return f"({a} * {b})"
                    case AffineBinaryOpKind.Mod:
                        return f"(({a}) mod {b})"
                    case AffineBinaryOpKind.FloorDiv:
                        return f"(floor(({a}) / {b}))"
                    case _:
                        return f"(ceil(({a}) / {b}))"
        raise AssertionError(expr)


def _bounds(loop: affine.ForOp, values: Values, names: _Names) -> list[str]:
    variable = values[loop.induction_variable]
    lowers = names.results(loop.lower_bound_map.data, loop.lower_bound_operands, values)
    uppers = names.results(loop.upper_bound_map.data, loop.upper_bound_operands, values)
    found = [f"{variable} >= {e}" for e in lowers] + [f"{variable} < {e}" for e in uppers]
    if (step := loop.step.value.data) != 1 and len(lowers) == 1:
        found.append(f"({variable} - ({lowers[0]})) mod {step} = 0")
    return found


def _subscripts(access: _Access, values: Values, names: _Names) -> list[str]:
    return names.results(access.op.map.data, access.op.indices, values)
