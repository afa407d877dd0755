"""
Steps on the CPU in a chosen order: one that the tokens allow, and that a program with a missing
token does not survive. Everything runs on the calling thread, so a seed gives one order.
"""

from __future__ import annotations

import ctypes
import random
from bisect import insort
from collections.abc import Callable, Iterable, Sequence
from enum import Enum

from opar.backend.device import ORDERS, Memory
from opar.backend.host_session import HostSession
from opar.errors import DeviceError

POISON = 0xFF
"""The byte of memory that holds nothing: NaN in every float type, -1 in every integer."""

_PIECES = 4
_EAGERNESS = 0.3


class Order(Enum):
    """
    Which of the steps that may run does run next; a seed chooses by its remainder. But for RANDOM
    and EAGER, a step runs only when the host waits for it: as late as it may.
    """

    RANDOM = 0
    """Any, also between two steps of the host: every order that is allowed has some seed."""
    NEWEST = 1
    """The one queued last."""
    OLDEST = 2
    """The one queued first."""
    STARVE = 3
    """Those of one stream only when the host waits for them, all others as soon as they may."""
    EAGER = 4
    """All as soon as they are queued: the host is slow."""


class _Step:
    """`number` counts the steps of a session; `pieces` are those that have not run."""

    def __init__(self, number: int, stream: int, pieces: list[Callable[[], None]]):
        self.number = number
        self.stream = stream
        self.pieces = pieces
        self.before: list[_Step] = []
        self.after: list[_Step] = []
        self.left = 0
        """How many of the steps before are not done."""


class SeededSession(HostSession):
    """
    Queues the steps of `streams` streams and runs them in the order that `seed` chooses; the
    pieces of steps that may run together are interleaved.
    """

    def __init__(self, streams: int, seed: int):
        super().__init__(_PIECES)
        self._random = random.Random(seed)
        self._order = Order(seed % ORDERS)
        self._starved: int | None = None
        if self._order is Order.STARVE:  # often one of the first, which are always in use
            self._starved = int((streams + 1) ** self._random.random()) - 1
        self._tails: list[list[_Step]] = [[] for _ in range(streams)]
        self._ready: list[_Step] = []
        """The steps that may run, in the order of their numbers."""
        self._count = 0
        self._released: list[Memory] = []
        self._error: Exception | None = None

    def _enqueue(self, stream: int, pieces: Sequence[Callable[[], None]]) -> None:
        self._tails[stream] = [self._add(stream, pieces, self._tails[stream])]

    def _add(
        self, stream: int, pieces: Sequence[Callable[[], None]], before: Iterable[_Step]
    ) -> _Step:
        shuffled = list(pieces)
        self._random.shuffle(shuffled)
        step = _Step(self._count, stream, shuffled)
        step.before = list({s for s in before if s.pieces})
        for earlier in step.before:
            earlier.after.append(step)
        step.left = len(step.before)
        self._count += 1
        if not step.left:
            self._ready.append(step)
        self._run_early()
        return step

    def record(self, stream: int) -> list[_Step]:
        return list(self._tails[stream])

    def wait(self, stream: int, event: list[_Step]) -> None:
        self._tails[stream] = [*self._tails[stream], *event]

    def release(self, memory: Memory, after: Sequence[list[_Step]]) -> None:
        """Poison `memory` behind `after`, at any time; it stays until the session ends."""
        self._released.append(memory)
        before = [step for event in after for step in event]
        if before:
            self._add(-1, [lambda: poison(memory)], before)
        else:
            poison(memory)

    def synchronize(self, event: list[_Step]) -> None:
        wanted = _needed(event)
        while any(step.pieces for step in event):
            anything = self._order is Order.RANDOM
            self._run_one([s for s in self._ready if anything or s in wanted])
        self._run_early()
        self._raise_error()

    def finish(self) -> None:
        while self._ready:
            self._run_one(self._ready)
        self._raise_error()

    def close(self) -> None:
        self._ready.clear()
        self._released.clear()

    def _run_early(self) -> None:
        """What runs although the host does not wait for it."""
        if self._order is Order.RANDOM:
            while self._ready and self._random.random() < _EAGERNESS:
                self._run_one(self._ready)
        elif self._order in (Order.EAGER, Order.STARVE):
            while ready := [s for s in self._ready if s.stream != self._starved]:
                self._run_one(ready)

    def _run_one(self, ready: list[_Step]) -> None:
        """Run a piece of one of the steps in `ready`."""
        match self._order:
            case Order.NEWEST:
                step = ready[-1]
            case Order.OLDEST:
                step = ready[0]
            case _:
                others = [s for s in ready if s.stream != self._starved]
                step = self._random.choice(others or ready)
        try:
            step.pieces[-1]()
        except Exception as error:
            self._error = self._error or error
        except BaseException:  # Ctrl-C: what has not begun does not begin
            self._ready.clear()
            raise
        step.pieces.pop()
        if not step.pieces:
            self._done(step)

    def _done(self, step: _Step) -> None:
        self._ready.remove(step)
        step.before.clear()
        for later in step.after:
            later.left -= 1
            if not later.left:
                insort(self._ready, later, key=lambda s: s.number)

    def _raise_error(self) -> None:
        if self._error is not None:
            raise DeviceError(f"a step failed on the CPU: {self._error}") from self._error


def poison(memory: Memory) -> None:
    """Overwrite memory that holds nothing."""
    ctypes.memset(memory.address, POISON, memory.nbytes)


def _needed(event: Iterable[_Step]) -> set[_Step]:
    """The steps of `event` and all that they run after."""
    found: set[_Step] = set()
    work = list(event)
    while work:
        step = work.pop()
        if step not in found:
            found.add(step)
            work += step.before
    return found
