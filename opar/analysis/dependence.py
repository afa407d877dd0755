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

For each root the accesses that later ones can still conflict with are kept; a write that covers
them takes their place, as every later conflict with them is then implied by one with it. So the
work grows with the number of live accesses of a root, not with the square of the operations.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from xdsl.ir import Operation, OpResult

from opar.analysis.accesses import Access, AccessAnalysis, AccessKind
from opar.analysis.aliasing import UNKNOWN, Root, RootKind
from opar.analysis.live import Entry, LiveAccesses, State
from opar.dialects import gpu


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


@dataclass
class Dependences:
    """
    The conflicts of a list of operations in program order.

    `conflicts[i]` maps the number of each earlier operation that operation i conflicts with to the
    hazards between them. Conflicts that a chain of others implies may be missing.
    """

    operations: Sequence[Operation]
    conflicts: list[dict[int, list[Hazard]]]


def analyse(operations: Sequence[Operation], accesses: AccessAnalysis) -> Dependences:
    """All hazards between `operations`, which run in this order when nothing else is said."""
    number = {op: i for i, op in enumerate(operations)}
    live: dict[Root, LiveAccesses] = {}
    conflicts: list[dict[int, list[Hazard]]] = []
    for i, op in enumerate(operations):
        found: dict[int, list[Hazard]] = {}
        touched = accesses.accesses(op)
        for access in touched:
            for root in _overlapping(access.root, live, accesses):
                _collect(access, live[root], found)
        for access in touched:
            _record(i, access, live.setdefault(access.root, LiveAccesses()))
        for token in op.operands:
            if isinstance(token.type, gpu.AsyncTokenType) and isinstance(token, OpResult):
                before = number.get(token.op)
                if before is not None:
                    found.setdefault(before, []).append(Hazard(HazardKind.TOKEN))
        found.pop(i, None)
        conflicts.append(found)
    return Dependences(operations, conflicts)


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


def _overlapping(
    root: Root, live: dict[Root, LiveAccesses], accesses: AccessAnalysis
) -> list[Root]:
    """The roots with live accesses whose memory can overlap that of `root`."""
    if root.kind is RootKind.ALLOCATION:
        return [r for r in (root, UNKNOWN) if r in live]
    return [r for r in live if accesses.aliases.roots_may_alias(root, r)]


def hazards_between(before: Operation, after: Operation, accesses: AccessAnalysis) -> list[Hazard]:
    """All hazards between two operations, the first earlier in the program."""
    found: list[Hazard] = []
    for a in accesses.accesses(before):
        for b in accesses.accesses(after):
            overlap = accesses.aliases.roots_may_alias(a.root, b.root)
            if (a.writes or b.writes) and overlap and meet(a, b):
                found.append(Hazard(_kind(a, b), a, b))
    return found


def _kind(before: Access, after: Access) -> HazardKind:
    if not before.writes:
        return HazardKind.WAR
    return HazardKind.WAW if after.writes else HazardKind.RAW


def _collect(access: Access, live: LiveAccesses, found: dict[int, list[Hazard]]) -> None:
    for entry in live.near(access.region):
        before = entry.access
        if (before.writes or access.writes) and meet(access, before):
            hazard = Hazard(_kind(before, access), before, access)
            found.setdefault(entry.number, []).append(hazard)


def _record(i: int, access: Access, live: LiveAccesses) -> None:
    if access.writes:
        for entry in live.near(access.region):
            # Accesses of one operation are unordered among themselves.
            if (
                entry.number != i
                and meet(access, entry.access)
                and access.region.covers(entry.access.region)
            ):
                entry.state = State.GONE
    live.add(Entry(i, access))


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
