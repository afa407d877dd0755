"""
A schedule checked against the data: every two steps that conflict are ordered by streams, events or
host waits.

Nothing of what the passes decided is used but the schedule itself: its order is worked out again,
and all pairs of steps are compared, so a token that was lost on the way shows. The time grows with
the square of the steps.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation

from opar.analysis.access import CONTENTS, Access
from opar.analysis.accesses import AccessAnalysis
from opar.analysis.aliasing import AliasAnalysis
from opar.analysis.dependence import hazard
from opar.backend.schedule import Alloc, Free, Schedule, Wait
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
    if schedule.has_jumps:
        return
    before = completed_before(schedule)
    touched = [[a for a in accesses.accesses(o) if a.kind in CONTENTS] for o in origins]
    for after, step in enumerate(schedule.operations):
        if isinstance(step, Alloc | Free | Wait):
            continue
        for earlier in range(after):
            if before[after] >> earlier & 1 or isinstance(
                schedule.operations[earlier], Alloc | Free | Wait
            ):
                continue
            found = _conflict(accesses.aliases, touched[earlier], touched[after])
            if found is not None:
                raise ScheduleError(_message(schedule, earlier, after, *found))


def completed_before(schedule: Schedule) -> list[int]:
    """For each step, the steps that are complete when it starts, as a bit mask."""
    found: list[int] = []
    complete = 0  # when the host gets to a step
    tails: dict[int, int] = {}
    for number, step in enumerate(schedule.operations):
        before = complete
        for dependency in step.dependencies:
            before |= found[dependency] | 1 << dependency
        queued = step.stream is not None and not isinstance(step, Alloc | Free)
        if queued and step.stream is not None:
            tail = tails.get(step.stream)
            if tail is not None:
                before |= found[tail] | 1 << tail
            tails[step.stream] = number
        found.append(before)
        if isinstance(step, Wait):
            complete |= before
        elif not queued or step.blocking:
            complete |= before | 1 << number
    return found


def _conflict(
    aliases: AliasAnalysis, earlier: Sequence[Access], later: Sequence[Access]
) -> tuple[Access, Access] | None:
    """The first conflict."""
    for a in earlier:
        for b in later:
            if aliases.roots_may_alias(a.root, b.root) and hazard(a, b) is not None:
                return a, b
    return None


def _message(schedule: Schedule, earlier: int, after: int, a: Access, b: Access) -> str:
    first, second = schedule.operations[earlier], schedule.operations[after]
    element = a.region.element_in_both(b.region)
    where = f"element {list(element)} of {a.root}" if element is not None else str(a.root)
    return (
        f"{second.location}: step {after} ({schedule.detail(second)}) and step {earlier} "
        f"({schedule.detail(first)}, {first.location}) both touch {where}, the first to "
        f"{a.kind.value} and the second to {b.kind.value} it, and nothing orders them"
    )
