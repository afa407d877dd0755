"""
Regions of many iterations of a loop.

The region that an operation in the body of a loop touches is that of one iteration: it may name
numbers that the body computes, the loop variable above all. Seen from another iteration, or from
behind the loop, it is the union over those iterations that are meant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import islpy as isl
from xdsl.ir import BlockArgument, Operation, SSAValue

from opar.analysis.accesses import AccessAnalysis
from opar.analysis.body import HOST_SYMBOL, integer_set, symbols_of
from opar.analysis.region import Region, region_of
from opar.analysis.values import is_within
from opar.dialects import affine, scf

_EARLIER = "s_earlier"


def earlier_iterations(region: Region, loop: Operation, accesses: AccessAnalysis) -> Region | None:
    """
    What `region`, of an operation in the body of `loop`, was in all iterations before the present
    one; None for no element.
    """
    variable = _variable(loop)
    found = without(
        region, accesses, lambda v: (v is None or v is not variable) and _is_within(v, loop)
    )
    set = found.set
    if set is None or variable is None:
        return found
    name = accesses.host.of(variable)
    if name not in symbols_of(set):
        return found
    set = set.set_dim_name(
        isl.dim_type.param, set.find_dim_by_name(isl.dim_type.param, name), _EARLIER
    )
    limits = [f"{_EARLIER} < {name}", *_range(loop, _EARLIER, accesses)]
    set = set.intersect_params(_parameters(limits, accesses))
    return region_of(_project_out(set, (_EARLIER,)))


def all_iterations(region: Region, loop: Operation, accesses: AccessAnalysis) -> Region | None:
    """What `region` is in all iterations of `loop` together; None for no element."""
    return without(region, accesses, lambda value: _is_within(value, loop))


def without(
    region: Region, accesses: AccessAnalysis, is_open: Callable[[SSAValue | None], bool]
) -> Region:
    """`region` for all values that the numbers of which `is_open` holds can have."""
    if region.set is None:
        return region
    set = region.set
    while inner := [n for n in symbols_of(set) if is_open(accesses.named(n))]:
        limits: list[str] = []
        for name in inner:
            value = accesses.named(name)
            loop = value.block.parent_op() if isinstance(value, BlockArgument) else None
            if loop is not None and value is _variable(loop):
                limits += _range(loop, name, accesses)
        # The limits may name numbers of loops further out: those follow in the next round.
        if limits:
            set = set.intersect_params(_parameters(limits, accesses))
        set = _project_out(set, inner)
    return region if set is region.set else region_of(set) or region


def _is_within(value: SSAValue | None, op: Operation) -> bool:
    """Whether `value` is computed within `op`; a name that stands for no value counts as such."""
    return value is None or is_within(value, op)


def _project_out(set: isl.Set, names: Iterable[str]) -> isl.Set:
    for name in names:
        set = set.project_out(isl.dim_type.param, set.find_dim_by_name(isl.dim_type.param, name), 1)
    return set


def _parameters(limits: Iterable[str], accesses: AccessAnalysis) -> isl.Set:
    return integer_set(list(limits), 0, accesses.host, HOST_SYMBOL).params()


def _variable(loop: Operation) -> SSAValue | None:
    """The variable of a loop that counts upwards."""
    if isinstance(loop, affine.ForOp):
        return loop.induction_variable
    if isinstance(loop, scf.ForOp) and loop.unsigned_cmp is None:
        return loop.induction_variable
    return None


def _range(loop: Operation, name: str, accesses: AccessAnalysis) -> list[str]:
    """What is known of the loop variable, called `name`."""
    of = accesses.host
    if isinstance(loop, affine.ForOp):
        lowers = of.map(loop.lower_bound_map.data, loop.lower_bound_operands)
        uppers = of.map(loop.upper_bound_map.data, loop.upper_bound_operands)
        step: int | None = loop.step.value.data
    else:
        assert isinstance(loop, scf.ForOp)
        lowers, uppers = [of.of(loop.lb)], [of.of(loop.ub)]
        step = of.constant(loop.step)
    limits = [f"{name} >= {e}" for e in lowers] + [f"{name} < {e}" for e in uppers]
    if step is not None and step > 1 and len(lowers) == 1:
        limits.append(f"({name} - {lowers[0]}) mod {step} = 0")
    return limits
