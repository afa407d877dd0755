"""
A schedule checked against the data: every two steps that conflict are ordered by streams, events or
host waits, on every way that the host can take.

Nothing of what the passes decided is used but the schedule itself: its order is worked out again
(`opar.backend.step_order`), and all pairs of steps are compared, so a token that was lost on the
way shows. The time grows with the square of the steps. Calls are inlined by now, so a conflict with
what a callee does is one like any other.

Where steps run more than once, a pair is compared for each loop around both: executions in the same
iteration, and in an earlier one. What counts as unknown, so that a correct program that relies on
it is refused (those that `gpu-async-dataflow` orders are not):

- conditions, but for whether a loop with constant bounds runs at all;
- numbers that another iteration computed, but for the counters of loops: those of earlier
  iterations are smaller, all are within the bounds;
- which of several earlier iterations: each is compared, so a token from the one before the last
  orders nothing with the last;
- which buffer, where iterations hand memory on: all that an argument can be.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation

from opar.analysis.access import Access
from opar.analysis.accesses import AccessAnalysis
from opar.analysis.aliasing import AliasAnalysis
from opar.analysis.dependence import hazard
from opar.backend.schedule import Schedule
from opar.backend.step_accesses import StepAccesses
from opar.backend.step_order import StepOrder, step_order
from opar.errors import ScheduleError

SMALL = 256
"""Steps up to which a schedule is checked without being asked to."""


def verify_schedule(
    schedule: Schedule, origins: Sequence[Operation], accesses: AccessAnalysis
) -> None:
    """
    Raise `ScheduleError` for the first two steps that conflict and may run at the same time.
    `origins[i]` is the operation of the IR that step i comes from.
    """
    order = step_order(schedule)
    touched = StepAccesses(schedule, origins, accesses)
    for after, accessed in enumerate(touched.present):
        if not accessed:
            continue
        for earlier, level in order.running(after):
            if touched.present[earlier]:
                seen = _seen_from(touched, order, earlier, level, after)
                found = _conflict(accesses.aliases, seen, accessed)
                if found is not None:
                    raise ScheduleError(_message(schedule, earlier, level, after, *found))


def _seen_from(
    touched: StepAccesses, order: StepOrder, earlier: int, level: int, after: int
) -> Sequence[Access]:
    """What the executions of a step at a level touched, as another step sees them."""
    around, common = order.loops[earlier], len(order.common_loops(earlier, after))
    if level:
        return touched.earlier_iterations(earlier, around[level - 1])
    if common < len(around):
        return touched.all_iterations(earlier, around[common])
    return touched.present[earlier]


def _conflict(
    aliases: AliasAnalysis, earlier: Sequence[Access], later: Sequence[Access]
) -> tuple[Access, Access] | None:
    for a in earlier:
        for b in later:
            if aliases.roots_may_alias(a.root, b.root) and hazard(a, b) is not None:
                return a, b
    return None


def _message(schedule: Schedule, earlier: int, level: int, after: int, a: Access, b: Access) -> str:
    first, second = schedule.operations[earlier], schedule.operations[after]
    element = a.region.element_in_both(b.region) if a.root == b.root else None
    where = f"element {list(element)} of {a.root}" if element is not None else str(a.root)
    when = " in an earlier iteration" if level else ""
    return (
        f"{second.location}: step {after} ({schedule.detail(second)}) and step {earlier} "
        f"({schedule.detail(first)}, {first.location}){when} both touch {where}, the first to "
        f"{a.kind.value} and the second to {b.kind.value} it, and nothing orders them"
    )
