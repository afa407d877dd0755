"""Why one operation of a program waits for another, or why it does not."""

from __future__ import annotations

from xdsl.ir import Operation

from opar.analysis.access import CONTENTS
from opar.analysis.accesses import COMMUTING_ATOMICS, AccessAnalysis
from opar.analysis.aliasing import AliasAnalysis
from opar.analysis.dependence import hazards_between
from opar.backend.artifact import Artifact
from opar.backend.build_schedule import build_schedule
from opar.backend.compiler import choose_entry
from opar.backend.schedule import Schedule, Wait
from opar.backend.step_order import step_order
from opar.dialects.parsing import parse_module
from opar.errors import OptionError


def explain(artifact: Artifact, earlier: int, later: int, assume_noalias: bool = True) -> str:
    """
    In words, how step `later` of the schedule is ordered behind step `earlier`, with the buffer,
    the elements and the hazard of each conflict between them.

    Raises `OptionError` for numbers that are no two steps in this order.
    """
    count = len(artifact.schedule.operations)
    if not 0 <= earlier < later < count:
        raise OptionError(f"steps {earlier} and {later} are no two steps in order, of {count}")
    schedule, origins, accesses = _rebuilt(artifact, assume_noalias)
    first, second = (
        f"step {n} ({schedule.detail(schedule.operations[n])})" for n in (earlier, later)
    )
    hazards = hazards_between(origins[earlier], origins[later], accesses)
    ordered = step_order(schedule).is_complete(earlier, later)
    reasons = "; ".join(dict.fromkeys(map(str, hazards)))
    if hazards:
        how = "directly" if earlier in schedule.tokens[later] else "through others"
        return f"{second} waits for {first}, {how}: {reasons}"
    why = _no_conflict(origins[earlier], origins[later], accesses)
    if ordered:
        return f"{second} runs after {first} only because others are between them: {why}"
    return f"{second} does not wait for {first}: {why}"


def edge_reasons(
    artifact: Artifact, assume_noalias: bool = True
) -> dict[tuple[int, int], tuple[str, ...]]:
    """
    For each edge (before, after) of the token graph, the hazards that it keeps, in words: `RAW on
    %p ([0..31])`. What waits with no hazard of its own says whose wait it is.
    """
    schedule, origins, accesses = _rebuilt(artifact, assume_noalias)
    found: dict[tuple[int, int], tuple[str, ...]] = {}
    for after, befores in enumerate(schedule.tokens):
        for before in befores:
            hazards = hazards_between(origins[before], origins[after], accesses)
            reasons = list(map(str, hazards))
            if not reasons:
                waits = isinstance(schedule.operations[after], Wait)
                reasons = ["host wait" if waits else "token"]
            found[before, after] = tuple(dict.fromkeys(reasons))
    return found


def _rebuilt(
    artifact: Artifact, assume_noalias: bool
) -> tuple[Schedule, list[Operation], AccessAnalysis]:
    """The schedule again, with the operations of the IR that its steps come from."""
    module = parse_module(artifact.module_text)
    accesses = AccessAnalysis(AliasAnalysis(assume_noalias), COMMUTING_ATOMICS in module.attributes)
    function = choose_entry(module, artifact.schedule.entry)
    schedule, origins = build_schedule(function, artifact.kernels, accesses)
    return schedule, origins, accesses


def _no_conflict(first: Operation, second: Operation, accesses: AccessAnalysis) -> str:
    found: list[str] = []
    for a in accesses.accesses(first):
        for b in accesses.accesses(second):
            if a.kind in CONTENTS and b.kind in CONTENTS and a.root == b.root:
                if not (a.writes or b.writes):
                    found.append(f"both only read {a.root}")
                elif a.operator is not None and a.operator == b.operator:
                    found.append(f"both only update {a.root} by {a.operator}")
                else:
                    found.append(f"{a.root}: {a.region} and {b.region} do not meet")
    return "; ".join(dict.fromkeys(found)) or "they touch no buffer in common"
