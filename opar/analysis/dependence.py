"""
The one place that decides hazards.

Two operations conflict when they touch the same root (or roots that may overlap), their regions
meet, and at least one of them writes (Allen and Kennedy, "Optimizing Compilers for Modern
Architectures", 2.1):

- RAW  the later reads what the earlier wrote;
- WAR  the later overwrites what the earlier read;
- WAW  the later overwrites what the earlier wrote.

An allocation counts as the first write of its root and a deallocation as the last one. TOKEN is the
order that a token in the IR already gives. Tokens, streams, graph edges and buffer reuse all read
the answer given here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from xdsl.ir import Operation

from opar.analysis.access import Access, AccessKind
from opar.analysis.accesses import AccessAnalysis
from opar.analysis.aliasing import RootKind


class HazardKind(Enum):
    """Why an operation has to wait for an earlier one."""

    RAW = "read after write"
    WAR = "write after read"
    WAW = "write after write"
    TOKEN = "token"


@dataclass(frozen=True)
class Hazard:
    """One reason for an edge; TOKEN has no accesses."""

    kind: HazardKind
    before: Access | None = None
    after: Access | None = None

    def __str__(self) -> str:
        if self.before is None:
            return self.kind.value
        regions = str(self.before.region)
        if self.after is not None and str(self.after.region) != regions:
            regions += f" and {self.after.region}"
        return f"{self.kind.name} on {self.before.root} ({regions})"


def minimal(candidates: Iterable[int], ancestors: Sequence[int]) -> list[int]:
    """
    The candidates that no other candidate comes after, in order: the transitive reduction of the
    edges from `candidates` to an operation behind them all.

    `ancestors[i]` is a bit mask of the operations that are complete once operation i is.
    """
    kept: list[int] = []
    implied = 0
    for i in sorted(candidates, reverse=True):
        if not implied >> i & 1:
            kept.append(i)
            implied |= ancestors[i]
    return kept[::-1]


def hazards_between(before: Operation, after: Operation, accesses: AccessAnalysis) -> list[Hazard]:
    """All hazards between two operations, the first earlier in the program."""
    found: list[Hazard] = []
    for a in accesses.accesses(before):
        for b in accesses.accesses(after):
            if accesses.aliases.roots_may_alias(a.root, b.root):
                conflict = hazard(a, b)
                if conflict is not None:
                    found.append(conflict)
    return found


def hazard(before: Access, after: Access) -> Hazard | None:
    """The hazard between two accesses of roots that may overlap, the first one earlier."""
    if not (before.writes or after.writes) or _commute(before, after) or not meet(before, after):
        return None
    return Hazard(_kind(before, after), before, after)


def replaces(after: Access, before: Access) -> bool:
    """
    Whether every access that conflicts with `before` conflicts with the later `after` too, so that
    who waits for `after` need not look at `before`. An update that commutes with others replaces
    nothing: those others do not wait for it.
    """
    return (
        after.operator is None
        and hazard(before, after) is not None
        and after.writes
        and after.region.covers(before.region)
    )


def _commute(before: Access, after: Access) -> bool:
    """Whether the order of two updates shows in no result."""
    return before.operator is not None and before.operator == after.operator


def _kind(before: Access, after: Access) -> HazardKind:
    if not before.writes:
        return HazardKind.WAR
    return HazardKind.WAW if after.writes else HazardKind.RAW


_LIFETIME = (AccessKind.ALLOC, AccessKind.FREE)


def meet(a: Access, b: Access) -> bool:
    """
    Whether accesses of roots that may overlap can touch the same element. An allocation or
    deallocation concerns the users of that very buffer: a buffer that stages an argument comes and
    goes without touching the argument itself.
    """
    if a.kind in _LIFETIME or b.kind in _LIFETIME:
        same = a.root.value is None or b.root.value is None or a.root.value is b.root.value
        return same or RootKind.UNKNOWN in (a.root.kind, b.root.kind)
    # Coordinates of different roots say nothing about each other.
    return a.root != b.root or a.region.intersects(b.region)
