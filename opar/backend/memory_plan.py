"""
Where the temporaries of a call lie: two that are never in use at the same time share memory.

Two buffers share only if every step that uses one is complete before each that uses the other
starts, whatever the times steps take: the order is that of tokens, streams and host waits. Offsets
are chosen by size, the largest first, each in the smallest gap that the placed ones leave (Greedy
by Size for Offset Calculation: Pisarchyk, Lee, Efficient Memory Management for Deep Neural Net
Inference, 2020).

Fewer streams mean more order, so less memory: with an allowance the most streams are used whose
temporaries need no more than it grants beyond what sequential execution needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate

import numpy as np

from opar.backend import schedule as s
from opar.backend.numbers import dtype_of
from opar.backend.step_order import step_order

ALIGNMENT = 256
"""Of each buffer, in bytes: what `cuMemAlloc` gives, and more than a cache line."""

MOST = 4096
"""The most buffers that share memory: the time to find out which may grows with their square."""


@dataclass(frozen=True)
class MemoryUse:
    """Bytes of the temporaries of a call, and the streams it ran on."""

    planned: int
    """What they take."""
    sequential: int
    """The most that are in use at the same time if the steps run one after the other."""
    separate: int
    """What they would take without sharing."""
    streams: int


@dataclass(frozen=True)
class MemoryPlan:
    """The offset of each temporary within one piece of memory, in bytes."""

    offsets: dict[int, int]
    use: MemoryUse


@dataclass
class MemoryPlanner:
    """
    Plans for one schedule, kept by the sizes of its buffers. `max_streams` limits the streams,
    `allowance` the memory beyond sequential execution's, as a fraction of it (0.5: half as much
    again); None is no limit.
    """

    schedule: s.Schedule
    on_gpu: bool
    max_streams: int | None = None
    allowance: float | None = None
    last: MemoryUse | None = None
    """That of the plan asked for last."""
    _conflicts: dict[int, np.ndarray] = field(default_factory=dict)
    _plans: dict[tuple[int, ...], MemoryPlan] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.buffers = (
            [] if self.schedule.has_jumps else list(_temporaries(self.schedule, self.on_gpu))
        )

    def plan(self, size_of: Callable[[int], int]) -> MemoryPlan:
        """Where the buffers lie, whose sizes in bytes are `size_of`."""
        sizes = tuple(_aligned(size_of(number)) for number in self.buffers)
        if sizes not in self._plans:
            self._plans[sizes] = self._plan(sizes)
        self.last = self._plans[sizes].use
        return self._plans[sizes]

    def _plan(self, sizes: Sequence[int]) -> MemoryPlan:
        streams = max(1, self.schedule.streams)
        if self.max_streams is not None:
            streams = min(streams, self.max_streams)
        sequential = _sequential(self.schedule, dict(zip(self.buffers, sizes, strict=True)))
        while True:
            offsets, end = place(sizes, self._conflicts_with(streams))
            allowed = self.allowance is None or end <= sequential * (1 + self.allowance)
            if allowed or streams == 1:
                break
            streams //= 2
        use = MemoryUse(end, sequential, sum(sizes), streams)
        return MemoryPlan(dict(zip(self.buffers, offsets, strict=True)), use)

    def _conflicts_with(self, streams: int) -> np.ndarray:
        """Whether any two buffers may be in use at the same time on so many streams."""
        if streams not in self._conflicts:
            self._conflicts[streams] = _conflicts(self.schedule, self.buffers, streams)
        return self._conflicts[streams]


def place(sizes: Sequence[int], conflicts: np.ndarray) -> tuple[list[int], int]:
    """
    Offsets at which no two buffers overlap that conflict (a symmetric matrix of bool), and where
    the last one ends.
    """
    found = np.zeros(len(sizes), np.int64)
    length = np.asarray(sizes, np.int64)
    placed = np.zeros(0, np.int64)  # by offset
    for i in np.argsort(-length, kind="stable"):
        near = placed[conflicts[i, placed]]
        begins, ends = found[near], np.maximum.accumulate(found[near] + length[near])
        starts = np.concatenate(([0], ends))
        gaps = begins - starts[:-1]
        fitting = np.flatnonzero(gaps >= length[i])
        best = fitting[np.argmin(gaps[fitting])] if len(fitting) else -1
        found[i] = starts[best]
        placed = np.insert(placed, np.searchsorted(found[placed], found[i]), i)
    return found.tolist(), int((found + length).max(initial=0))


def on_streams(schedule: s.Schedule, streams: int) -> s.Schedule:
    """The same steps on no more than so many streams."""
    if streams >= schedule.streams:
        return schedule
    operations = [
        op if op.stream is None else replace(op, stream=op.stream % streams)
        for op in schedule.operations
    ]
    return replace(schedule, operations=tuple(operations))


def _conflicts(schedule: s.Schedule, buffers: Sequence[int], streams: int) -> np.ndarray:
    """
    Whether any two buffers may be in use at the same time: a symmetric matrix.
    """
    order = step_order(on_streams(schedule, streams))
    before = [found & (1 << step) - 1 for step, found in enumerate(order.before)]
    users: dict[int, list[int]] = {number: [] for number in buffers}
    for step, op in enumerate(schedule.operations):
        for number in used_by(op):
            if number in users:
                users[number].append(step)
    last = [_not_before_others(users[number], before) or [0] for number in buffers]
    flat = np.array([step for steps in last for step in steps], np.int64)
    starts = np.cumsum([0, *(len(steps) for steps in last)])[:-1]
    nbytes = len(before) // 8 + 1
    everything = (1 << len(before)) - 1
    apart = np.zeros((len(buffers), len(buffers)), bool)
    for j, number in enumerate(buffers):
        always = everything  # complete before any user of the buffer
        for step in users[number]:
            always &= before[step]
        bits = np.frombuffer(always.to_bytes(nbytes, "little"), np.uint8)
        complete = np.unpackbits(bits, bitorder="little").view(bool)
        apart[j] = np.logical_and.reduceat(complete[flat], starts)
    apart |= apart.T
    return ~apart


def _not_before_others(users: Sequence[int], before: Sequence[int]) -> list[int]:
    """The users of a buffer that no other user is known to come after."""
    implied = 0
    for step in users:
        implied |= before[step]
    return [step for step in users if not implied >> step & 1]


def used_by(op: s.Operation) -> Iterator[int]:
    """The buffers that a step reads or writes."""
    match op:
        case s.Launch():
            yield from (a.buffer for a in op.arguments if isinstance(a, s.View))
        case s.Copy():
            yield from (op.source.buffer, op.target.buffer)
        case s.Fill() | s.Store():
            yield op.target.buffer
        case s.Load() | s.Rebase():
            yield op.source.buffer
        case _:
            pass


def _temporaries(schedule: s.Schedule, on_gpu: bool) -> Iterator[int]:
    """The buffers that a call allocates for itself, whose size is known at its start."""
    kept = {r.view.buffer for r in schedule.results if r.view is not None}
    for op in schedule.operations:
        if isinstance(op, s.Rebase):
            kept.add(op.source.buffer)
    for op in schedule.operations:
        if isinstance(op, s.Alloc):
            buffer = schedule.buffers[op.buffer]
            is_kept = op.buffer in kept or buffer.stages is not None or buffer.result is not None
            is_late = any(schedule.scalars[place].late for place in buffer.size)
            if not is_kept and not is_late and (buffer.on_device or not on_gpu):
                kept.add(op.buffer)
                yield op.buffer


def _sequential(schedule: s.Schedule, sizes: dict[int, int]) -> int:
    """The most bytes in use at the same time, from first to last use, in program order."""
    span: dict[int, tuple[int, int]] = {}
    for step, op in enumerate(schedule.operations):
        for number in used_by(op):
            if number in sizes:
                span[number] = span.get(number, (step, step))[0], step
    change = [0] * (len(schedule.operations) + 1)
    for number, (first, last) in span.items():
        change[first] += sizes[number]
        change[last + 1] -= sizes[number]
    return max(accumulate(change))


def bytes_of(schedule: s.Schedule, number: int, values: Sequence[s.Number]) -> int:
    """The size of a buffer in bytes, for the values of scalars; not negative."""
    buffer = schedule.buffers[number]
    count = 1
    for place in buffer.size:
        count *= int(values[place])
    return max(0, count) * dtype_of(buffer.dtype).itemsize


def _aligned(nbytes: int) -> int:
    return -(-max(nbytes, 1) // ALIGNMENT) * ALIGNMENT
