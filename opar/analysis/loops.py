"""What is known of the variables of loops."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import BlockArgument, SSAValue

from opar.analysis.symbolic import Expressions
from opar.dialects import affine, scf


def limits_of(variable: SSAValue, name: str, expressions: Expressions) -> list[str]:
    """
    Constraints, as text of isl, that the variable of an `affine.for`, `affine.parallel` or
    `scf.for`, called `name`, fulfils; none for any other value.
    """
    loop = variable.block.parent_op() if isinstance(variable, BlockArgument) else None
    match loop:
        case affine.ForOp() if variable is loop.induction_variable:
            lowers = expressions.map(loop.lower_bound_map.data, loop.lower_bound_operands)
            uppers = expressions.map(loop.upper_bound_map.data, loop.upper_bound_operands)
            return _limits(name, lowers, uppers, loop.step.value.data)
        case affine.ParallelOp():
            d = loop.induction_variables.index(variable)
            lower_map, upper_map = loop.lower_bounds_map.data, loop.upper_bounds_map.data
            lowers = expressions.map(lower_map, loop.lower_operands)
            uppers = expressions.map(upper_map, loop.upper_operands)
            before = range(d)
            first = sum(len(loop.lower_bound(i)) for i in before)
            lowers = lowers[first : first + len(loop.lower_bound(d))]
            first = sum(len(loop.upper_bound(i)) for i in before)
            uppers = uppers[first : first + len(loop.upper_bound(d))]
            return _limits(name, lowers, uppers, loop.step_values[d])
        case scf.ForOp() if variable is loop.induction_variable:
            lower, upper, step = (expressions.of(v) for v in (loop.lb, loop.ub, loop.step))
            known = expressions.constant(loop.step)
            if known is None:
                expressions.factors.add(step)
            limits = _limits(name, [lower], [upper], known)
            if loop.unsigned_cmp is None:
                return limits
            signed = f"{lower} >= 0 and {upper} >= 0"
            return [f"(({signed} and {' and '.join(limits)}) or not ({signed}))"]
        case _:
            return []


def _limits(name: str, lowers: Sequence[str], uppers: Sequence[str], step: int | None) -> list[str]:
    limits = [f"{name} >= {e}" for e in lowers] + [f"{name} < {e}" for e in uppers]
    if step is not None and step > 1 and len(lowers) == 1:
        limits.append(f"({name} - {lowers[0]}) mod {step} = 0")
    return limits
