"""
What is complete when each step of a schedule starts, on every way that leads to it.

Without jumps, steps on one stream run in order, and events and waits of the host order the rest.

With jumps, a step may run any number of times. What holds on all ways is a data-flow problem, not a
walk of each (Kam and Ullman, "Monotone data flow analysis frameworks", 1977). Seen from a place,
the executions of a step so far are told apart by the loops that both are in, as dependences are by
the loop that carries them (Allen and Kennedy, "Optimizing Compilers for Modern Architectures",
2.2):

- level 0: those in the present iteration of all of these loops;
- level k: those in the present iteration of the loops outside the k-th of them, but an earlier one
  of the k-th.

A fact is about a place and a set of tokens: the pairs (step, level) all executions of which are
complete once the host is at the place and the tokens are; a step that has not run is. One for each
token would not do: after a branch that gives one of two tokens, the two together may say what
neither does. So the sets that steps wait for are followed backwards: a step's token becomes those
that the step waits for, a register what is moved there, and a wait of the host adds its own. Where
ways join, what all of them say holds. Into the next iteration of a loop, level 0 joins its level;
behind a loop, its level and those of the loops in it join level 0. Which stream runs a step is
decided as it runs, so that streams order nothing here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from opar.backend.build_order import is_queued
from opar.backend.schedule import Move, Schedule, Wait
from opar.backend.step_loops import StepLoop, loops_of, successors


@dataclass(frozen=True)
class StepOrder:
    """
    `before[i]`: what is complete when step i starts, bit `level * len(before) + step` for each step
    and level. `loops[i]`: the loops around step i, outermost first.
    """

    before: Sequence[int]
    loops: Sequence[tuple[StepLoop, ...]]

    def is_complete(self, earlier: int, after: int) -> bool:
        """Whether all executions so far of a step are complete when another one starts."""
        return not any(step == earlier for step, _ in self.running(after))

    def common_loops(self, a: int, b: int) -> tuple[StepLoop, ...]:
        """The loops around two steps."""
        pairs = zip(self.loops[a], self.loops[b], strict=False)
        return tuple(loop for loop, other in pairs if loop is other)

    def running(self, after: int) -> Iterator[tuple[int, int]]:
        """The steps, and the levels, that may still run when step `after` starts."""
        count = len(self.before)
        for level in range(1 + len(self.loops[after])):
            left = ~(self.before[after] >> level * count) & ((1 << count) - 1)
            while left:
                lowest = left & -left
                yield lowest.bit_length() - 1, level
                left ^= lowest


def step_order(schedule: Schedule) -> StepOrder:
    """The order of the steps of a schedule; takes time that grows with their square."""
    if not schedule.has_jumps:
        return StepOrder(_before_without_jumps(schedule), [()] * len(schedule.operations))
    following = successors(schedule)
    loops = loops_of(following)
    return StepOrder(_DataFlow(schedule, following, loops).solve(), loops)


def _before_without_jumps(schedule: Schedule) -> list[int]:
    found: list[int] = []
    count = len(schedule.operations)
    complete = 0  # when the host gets to a step
    tails: dict[int, int] = {}
    for number, step in enumerate(schedule.operations):
        before = complete
        for dependency in step.dependencies:
            before |= found[dependency] | 1 << dependency
        if is_queued(step) and step.stream is not None:
            tail = tails.get(step.stream)
            if tail is not None:
                before |= found[tail] | 1 << tail
            tails[step.stream] = number
        found.append(before)
        if isinstance(step, Wait):
            complete |= before
        elif not is_queued(step) or step.blocking:
            complete |= before | 1 << number
    # What has not run yet is no reason to wait.
    return [before | (1 << count) - (1 << i) for i, before in enumerate(found)]


# Data flow

_Tokens = frozenset[int]
"""Steps, as their numbers, and token registers, as ~ of theirs."""

_Place = tuple[int, _Tokens]
"""Right before a step, once some tokens are complete."""


class _DataFlow:
    """Facts about a schedule with jumps; `following[i]` are the steps that may follow step i."""

    def __init__(
        self,
        schedule: Schedule,
        following: Sequence[Sequence[int]],
        loops: Sequence[tuple[StepLoop, ...]],
    ):
        self.operations = schedule.operations
        self.loops = loops
        self.count = len(schedule.operations)
        self.levels = 1 + max(map(len, loops), default=0)
        self.full = (1 << self.count * self.levels) - 1
        self.members = {
            loop: sum(1 << n for n in loop.steps) for around in loops for loop in around
        }
        self.waited = [_tokens(op.dependencies, op.registers) for op in schedule.operations]
        self.before: list[list[int]] = [[] for _ in following]
        for number, ways in enumerate(following):
            for target in ways:
                if target < self.count:
                    self.before[target].append(number)

    def solve(self) -> list[int]:
        """What is complete before each step, once what it waits for is."""
        wanted: list[_Place] = list(enumerate(self.waited))
        ways: dict[_Place, list[_Place]] = {}
        work = list(wanted)
        while work:
            place = work.pop()
            if place not in ways:
                number, tokens = place
                ways[place] = [(n, self._taken_behind(n, tokens)) for n in self.before[number]]
                work += ways[place]
        facts = dict.fromkeys(ways, self.full)
        places = sorted(ways, key=lambda place: place[0])
        changed = True
        while changed:
            changed = False
            for place in places:
                number, tokens = place
                found = facts[place]
                for way in ways[place]:
                    behind = self._behind(way[0], tokens, facts[way])
                    found &= self._moved(behind, way[0], number)
                changed |= found != facts[place]
                facts[place] = found
        return [facts[place] for place in wanted]

    def _taken_behind(self, number: int, tokens: _Tokens) -> _Tokens:
        """The tokens that, before a step, stand for what `tokens` stand for behind it."""
        step = self.operations[number]
        if isinstance(step, Move):
            moved = {~move.target: _tokens(move.steps, move.registers) for move in step.tokens}
            if moved.keys().isdisjoint(tokens):
                return tokens
            return frozenset(t for token in tokens for t in moved.get(token, (token,)))
        if number in tokens or step.blocking or isinstance(step, Wait):
            return tokens - {number} | self.waited[number]
        return tokens

    def _behind(self, number: int, tokens: _Tokens, before: int) -> int:
        """What is complete behind a step, once tokens are."""
        step = self.operations[number]
        runs_on = is_queued(step) and not step.blocking and number not in tokens
        return before & ~(1 << number) if runs_on else before

    def _moved(self, fact: int, number: int, target: int) -> int:
        """What is complete behind a step, as the one that follows it sees it."""
        for loop in reversed(self.loops[number]):
            if loop not in self.loops[target]:
                fact = self._left(fact, loop)
            elif target in loop.heads and number in loop.ends:
                fact = self._repeated(fact, loop)
        return fact

    def _left(self, fact: int, loop: StepLoop) -> int:
        """Behind a loop: all its iterations are level 0."""
        members, found = self.members[loop], fact
        for level in range(loop.depth, self.levels):
            shift = level * self.count
            found = found & ~members | found & fact >> shift & members | members << shift
        return found

    def _repeated(self, fact: int, loop: StepLoop) -> int:
        """In the next iteration of a loop: the present one becomes an earlier one."""
        members, shift = self.members[loop], loop.depth * self.count
        return fact & ~(members << shift) | (members << shift & fact & fact << shift) | members


def _tokens(steps: Sequence[int], registers: Sequence[int]) -> _Tokens:
    return frozenset((*steps, *(~r for r in registers)))
