"""
Regions of many iterations of a loop.

The region that an operation in the body of a loop touches is that of one iteration: it may name
numbers that the body computes, the loop variable above all. Seen from another iteration, or from
behind the loop, it is the union over those iterations that are meant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import islpy as isl
from xdsl.ir import Operation, SSAValue

from opar.analysis.aliasing import AliasAnalysis, Root, RootKind
from opar.analysis.integer_sets import HOST_SYMBOL, integer_set, symbols_of
from opar.analysis.loops import limits_of
from opar.analysis.region import Region, region_of
from opar.analysis.symbolic import HostExpressions
from opar.analysis.values import is_memref, is_within
from opar.dialects import affine, scf

_EARLIER = "s_earlier"


def earlier_iterations(region: Region, loop: Operation, host: HostExpressions) -> Region | None:
    """
    What `region`, of an operation in the body of `loop`, was in all iterations before the present
    one; None for no element.
    """
    variable = _counter(loop)
    found = without(
        region, host, lambda v: (v is None or v is not variable) and _is_within(v, loop)
    )
    set = found.set
    if set is None or variable is None:
        return found
    name = host.of(variable)
    if name not in symbols_of(set):
        return found
    set = set.set_dim_name(
        isl.dim_type.param, set.find_dim_by_name(isl.dim_type.param, name), _EARLIER
    )
    limits = [f"{_EARLIER} < {name}", *limits_of(variable, _EARLIER, host)]
    set = set.intersect_params(_parameters(limits, host))
    return region_of(_project_out(set, (_EARLIER,)))


def all_iterations(region: Region, loop: Operation, host: HostExpressions) -> Region | None:
    """What `region` is in all iterations of `loop` together; None for no element."""
    return without(region, host, lambda value: _is_within(value, loop))


def within_loops(region: Region, host: HostExpressions) -> Region | None:
    """`region` for values that the counters of loops it names can have; None for no element."""
    set = region.set
    seen: list[str] = []
    while set is not None and (new := [n for n in symbols_of(set) if n not in seen]):
        seen += new
        values = [(host.named(name), name) for name in new]
        limits = [text for v, name in values if v is not None for text in limits_of(v, name, host)]
        # The limits may name counters of loops further out.
        if limits:
            set = set.intersect_params(_parameters(limits, host))
    return region if set is region.set or set is None else region_of(set)


def is_new_each_time(root: Root, loop: Operation, aliases: AliasAnalysis) -> bool:
    """Whether each iteration of `loop` allocates memory of its own, which no other sees."""
    value = root.key
    if root.kind is not RootKind.ALLOCATION or not isinstance(value, SSAValue):
        return False
    return is_within(value, loop) and not any(
        is_memref(argument) and root in aliases.roots(argument)
        for region in loop.regions
        for block in region.blocks
        for argument in block.args
    )


def without(
    region: Region, host: HostExpressions, is_open: Callable[[SSAValue | None], bool]
) -> Region:
    """`region` for all values that the numbers of which `is_open` holds can have."""
    if region.set is None:
        return region
    set = region.set
    while inner := [n for n in symbols_of(set) if is_open(host.named(n))]:
        limits: list[str] = []
        for name in inner:
            value = host.named(name)
            if value is not None:
                limits += limits_of(value, name, host)
        # The limits may name numbers of loops further out: those follow in the next round.
        if limits:
            set = set.intersect_params(_parameters(limits, host))
        set = _project_out(set, inner)
    return region if set is region.set else region_of(set) or region


def _is_within(value: SSAValue | None, op: Operation) -> bool:
    """Whether `value` is computed within `op`; a name that stands for no value counts as such."""
    return value is None or is_within(value, op)


def _project_out(set: isl.Set, names: Iterable[str]) -> isl.Set:
    for name in names:
        set = set.project_out(isl.dim_type.param, set.find_dim_by_name(isl.dim_type.param, name), 1)
    return set


def _parameters(limits: Iterable[str], host: HostExpressions) -> isl.Set:
    return integer_set(list(limits), 0, host, HOST_SYMBOL).params()


def _counter(loop: Operation) -> SSAValue | None:
    """The variable of a loop that counts upwards."""
    if isinstance(loop, affine.ForOp):
        return loop.induction_variable
    if isinstance(loop, scf.ForOp) and loop.unsigned_cmp is None:
        return loop.induction_variable
    return None
