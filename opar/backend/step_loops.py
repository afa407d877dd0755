"""
The ways that the host can take through the steps of a schedule, and the loops in them.

Conditions count as unknown, but for those that follow from constants right behind a `Move`: whether
a loop runs at least once.

A loop is a maximal set of steps that reach each other. Those within it are the loops of what is
left of it without the jumps to where it is entered (after Havlak, "Nesting of reducible and
irreducible loops", 1997).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import rustworkx as rx

from opar.backend.scalars import ScalarError, compute
from opar.backend.schedule import Branch, Compute, Jump, Move, Number, Scalar, Schedule


@dataclass(frozen=True, eq=False)
class StepLoop:
    """A loop of steps, which jump to its `heads` to begin an iteration; `depth` is 1 outside."""

    depth: int
    steps: frozenset[int]
    heads: frozenset[int]
    ends: frozenset[int]
    """The steps that the next iteration may follow."""


def successors(schedule: Schedule) -> list[list[int]]:
    """
    For each step, those that may follow it, none where no way leads to it; the number of steps
    stands for the end.
    """
    found: list[list[int]] = [[] for _ in schedule.operations]
    work = [0]
    while work:
        number = work.pop()
        if number < len(found) and not found[number]:
            found[number] = _successors(schedule, number)
            work += found[number]
    return found


def _successors(schedule: Schedule, number: int) -> list[int]:
    match schedule.operations[number]:
        case Jump(target=target):
            return [target]
        case Branch(target=target):
            return [number + 1, target]
        case Move() as move:
            return [_behind_move(schedule, number, move)]
        case _:
            return [number + 1]


def _behind_move(schedule: Schedule, number: int, move: Move) -> int:
    """The step behind a `Move`, beyond a branch that what it moves decides."""
    following = number + 1
    while following < len(schedule.operations):
        step = schedule.operations[following]
        if isinstance(step, Branch):
            moved = dict(move.scalars)
            holds = _constant(schedule.scalars, step.condition, moved)
            if holds is not None:
                return following + 1 if holds else step.target
        if not isinstance(step, Compute):
            break
        following += 1
    return number + 1


def _constant(scalars: Sequence[Scalar], place: int, moved: dict[int, int]) -> Number | None:
    """The value of a scalar where registers have just been set to others; None if unknown."""
    scalar = scalars[place]
    match scalar.operator:
        case "constant":
            value = scalar.immediate
            return value if isinstance(value, int | float) else None
        case "register":
            return _constant(scalars, moved[place], {}) if place in moved else None
        case "argument" | "size" | "stride":
            return None
        case _:
            values: list[Number] = [0] * len(scalars)
            for operand in scalar.operands:
                known = _constant(scalars, operand, moved)
                if known is None:
                    return None
                values[operand] = known
            try:
                compute(scalars, [place], values)
            except (ZeroDivisionError, ScalarError):
                return None
            return values[place]


def loops_of(following: Sequence[Sequence[int]]) -> list[tuple[StepLoop, ...]]:
    """The loops around each step, outermost first; `following` are the successors of each."""
    graph: rx.PyDiGraph[int, None] = rx.PyDiGraph(multigraph=False)
    graph.add_nodes_from(range(len(following) + 1))
    graph.add_edges_from_no_data([(n, t) for n, ways in enumerate(following) for t in ways])
    around: list[tuple[StepLoop, ...]] = [()] * len(following)
    left = graph.copy()
    depth = 0
    while True:
        depth += 1
        found = [loop for part in rx.strongly_connected_components(left)
                 if (loop := _loop(graph, left, part, depth)) is not None]  # fmt: skip
        if not found:
            return around
        for loop in found:
            for step in loop.steps:
                around[step] += (loop,)
            left.remove_edges_from([(a, b) for a in loop.ends for b in loop.heads
                                    if left.has_edge(a, b)])  # fmt: skip


def _loop(
    graph: rx.PyDiGraph[int, None], left: rx.PyDiGraph[int, None], part: Sequence[int], depth: int
) -> StepLoop | None:
    steps = frozenset(part)
    if len(steps) == 1 and not left.has_edge(part[0], part[0]):
        return None
    heads = frozenset(
        n for n in steps if n == 0 or any(p not in steps for p in graph.predecessor_indices(n))
    )
    ends = frozenset(p for n in heads for p in left.predecessor_indices(n) if p in steps)
    return StepLoop(depth, steps, heads, ends)
