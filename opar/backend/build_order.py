"""Which steps and events a step of a schedule waits for, and what flows through registers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from opar.analysis.dependence import minimal
from opar.backend.build_state import Tokens
from opar.backend.schedule import Alloc, Free, Wait
from opar.backend.schedule import Operation as Step


def is_queued(step: Step) -> bool:
    """Whether a step goes to a stream; allocations and the host's own steps happen at once."""
    return step.stream is not None and not isinstance(step, Alloc | Free)


def order_by_streams(steps: Sequence[Step], before: Sequence[Tokens]) -> list[Step]:
    """
    Steps without jumps, each with the dependencies that neither its stream nor a host wait nor
    another dependency implies. `before` is what the tokens of each say.
    """
    ordered_steps: list[Step] = []
    ancestors: list[int] = []
    tails: dict[int, int] = {}
    complete = 0  # when the host gets to a step
    for number, step in enumerate(steps):
        queued = is_queued(step)
        ordered = complete
        if queued and step.stream is not None and (tail := tails.get(step.stream)) is not None:
            ordered |= ancestors[tail] | 1 << tail
        taken = before[number].steps
        needed = [i for i in minimal(taken, ancestors) if not ordered >> i & 1]
        waits = queued or step.stream is None
        ordered_steps.append(replace(step, dependencies=tuple(needed)) if waits else step)
        below = ordered
        for i in taken:
            below |= ancestors[i] | 1 << i
        ancestors.append(below)
        if isinstance(step, Wait):
            complete |= below
        if queued and step.stream is not None:
            tails[step.stream] = number
            if step.blocking:
                complete |= below | 1 << number
    return ordered_steps


def order_by_tokens(steps: Sequence[Step], before: Sequence[Tokens]) -> list[Step]:
    """Steps with jumps, each with all dependencies that no other of them implies."""
    ordered_steps: list[Step] = []
    ancestors: list[int] = []
    for number, step in enumerate(steps):
        taken = before[number]
        below = 0
        for i in taken.steps:
            below |= ancestors[i] | 1 << i
        ancestors.append(below)
        if is_queued(step) or step.stream is None:
            needed = tuple(minimal(taken.steps, ancestors))
            step = replace(step, dependencies=needed, registers=tuple(sorted(taken.registers)))
        ordered_steps.append(step)
    return ordered_steps


def steps_of(tokens: Tokens, flows: Sequence[Tokens]) -> tuple[int, ...]:
    """All steps that tokens can stand for; `flows` is what is moved to each token register."""
    found = set(tokens.steps)
    seen = set(tokens.registers)
    work = list(tokens.registers)
    while work:
        moved = flows[work.pop()]
        found |= moved.steps
        work += moved.registers - seen
        seen |= moved.registers
    return tuple(sorted(found))
