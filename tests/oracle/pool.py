"""Random programs on several processes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from multiprocessing import get_context

from tests.oracle.campaign import CHUNK, KINDS, described
from tests.oracle.running import MANAGED, PIPELINES, Task, ran

Done = tuple[int, list[str], Counter[str]]
"""How many programs, the failures as text, and what became of those that were to run."""


def tasks(first: int, programs: int, device: str, size: int = CHUNK) -> Iterator[Task]:
    """Programs of all kinds, of the seeds from `first` on, with all pipelines that fit a device."""
    pipelines = list(PIPELINES if device in ("", "cpu") else MANAGED)
    for number, start in enumerate(range(first, first + programs, size)):
        pipeline = pipelines[number // len(KINDS) % len(pipelines)]
        seeds = range(start, min(start + size, first + programs))
        yield list(KINDS)[number % len(KINDS)], seeds, pipeline, device


def all_of(tasks: Iterator[Task], processes: int | None, tokens: bool) -> Iterator[Done]:
    """
    Do tasks, in any order; `tokens`: look at the tokens. A task without a device runs nothing.
    """
    # New processes: a fork would share what isl holds, and no GPU survives one.
    with get_context("spawn").Pool(processes, maxtasksperchild=20) as pool:
        yield from pool.imap_unordered(_with_tokens if tokens else ran, tasks)


def _with_tokens(task: Task) -> Done:
    kind, seeds, _, device = task
    count, failures = described((kind, seeds))
    if not device:
        return count, failures, Counter()
    _, more, counts = ran(task)
    return count, failures + more, counts
