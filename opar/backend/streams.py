"""Streams that are chosen while a schedule with jumps runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from opar.backend.device import Event, Session

Clock = dict[int, int]
"""For each stream, how many of its steps are complete."""


@dataclass(frozen=True)
class Point:
    """The place behind step number `position` of a stream; `clock` is complete there too."""

    position: int
    event: Event
    clock: Clock


Token = dict[int, Point]
"""
What a token stands for at run time: one point of each stream, as a stream runs in order. So the
join of any number of operations has at most one point a stream.
"""


def join(tokens: Iterable[Token]) -> Token:
    """The token of all that `tokens` stand for."""
    found: Token = {}
    for token in tokens:
        for stream, point in token.items():
            known = found.get(stream)
            if known is None or known.position < point.position:
                found[stream] = point
    return found


class Streams:
    """
    The streams of a session, up to `limit`. A step continues a stream whose last step it waits for
    anyway, else one that the host knows to be idle, else a new one, else the least recently used.
    """

    def __init__(self, session: Session, limit: int):
        self._session = session
        self._limit = limit
        self._positions: list[int] = []
        self._behind: list[Clock] = []
        """For each stream, what it has waited for."""
        self._used: list[int] = []
        self._uses = 0
        self._host: Clock = {}
        """What the host has waited for."""

    def begin(self, before: Token) -> int:
        """The stream for a step that runs after `before`, made to wait for it."""
        stream = self._choose(before)
        behind = self._behind[stream]
        for other, point in before.items():
            if other == stream or self._is_complete(other, point):
                continue
            if behind.get(other, 0) < point.position:
                self._session.wait(stream, point.event)
                _merge(behind, other, point)
        self._positions[stream] += 1
        self._uses += 1
        self._used[stream] = self._uses
        return stream

    def record(self, stream: int) -> Token:
        """The token of the last step of `stream`."""
        event = self._session.record(stream)
        return {stream: Point(self._positions[stream], event, dict(self._behind[stream]))}

    def synchronize(self, token: Token) -> None:
        """Wait on the host for what `token` stands for."""
        for stream, point in token.items():
            if not self._is_complete(stream, point):
                self._session.synchronize(point.event)
                _merge(self._host, stream, point)

    def running(self, token: Token) -> Token:
        """`token` without what the host has waited for."""
        return {s: p for s, p in token.items() if not self._is_complete(s, p)}

    def synchronize_all(self) -> None:
        """Wait on the host for all that was queued."""
        for stream in range(len(self._positions)):
            self.synchronize(self.record(stream))

    def _is_complete(self, stream: int, point: Point) -> bool:
        return self._host.get(stream, 0) >= point.position

    def _choose(self, before: Token) -> int:
        positions = self._positions
        for stream, point in before.items():
            if positions[stream] == point.position:
                return stream
        for stream, position in enumerate(positions):
            if self._host.get(stream, 0) == position:
                return stream
        if len(positions) < self._limit:
            positions.append(0)
            self._behind.append({})
            self._used.append(0)
            return len(positions) - 1
        return min(range(len(positions)), key=self._used.__getitem__)


def _merge(clock: Clock, stream: int, point: Point) -> None:
    """Note that `point` of `stream` is complete, and with it all that it was behind."""
    for other, position in (*point.clock.items(), (stream, point.position)):
        if clock.get(other, 0) < position:
            clock[other] = position
