"""
What must hold of a trace.

- `missing`: every two events that conflict are ordered, nothing runs behind the end. For any
  program, whatever its control flow.
- `not_minimal`: the tokens of each event are exactly the transitive reduction of its conflicts with
  what may still run; the host waits for exactly that, right before the event that needs it. For
  programs whose events are known from the text alone: straight-line, with constant affine regions,
  no tokens in the input, and distinct arguments that may not overlap. Not checked: which of several
  joins a token passes through.
- `replay`: the events in any order that they allow give the memory, and show the host the values,
  of sequential execution.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from tests.oracle.memory import bits
from tests.oracle.trace import Event, Trace


def missing(trace: Trace) -> Iterator[str]:
    """Conflicts that nothing orders, and what nobody waits for."""
    events = trace.events
    touching: dict[int, int] = {}  # cell -> events that touched it
    for event in events:
        candidates = 0
        cells = event.reads | event.writes
        for cell in bits(cells):
            candidates |= touching.get(cell, 0)
            touching[cell] = touching.get(cell, 0) | 1 << event.number
        for number in bits(candidates & ~event.before):
            if events[number].conflicts(event):
                yield f"nothing orders\n  {events[number]}\nbefore\n  {event}"
    for number in bits(trace.unfinished):
        yield f"nobody waits for\n  {events[number]}"


def not_minimal(trace: Trace) -> Iterator[str]:
    """Tokens and waits that are not those of the transitive reduction."""
    complete = 0  # when the host gets to an event
    ancestors: dict[int, int] = {}
    running = 0
    waited: list[Event] = []
    for event in trace.events:
        if event.is_wait:
            waited.append(event)
            continue
        needed = 0
        for number in bits(running & ~complete):
            if trace.events[number].conflicts(event):
                needed |= 1 << number
        if event.op.name == "memref.dealloc":  # the pass moves them to the end
            needed = running & ~complete
        needed = _reduced(needed, ancestors)
        below = needed
        for number in bits(needed):
            below |= ancestors[number]
        if event.on_device:
            yield from _compare(event, event.direct, needed)
            yield from (f"a wait that is not needed before\n  {event}" for _ in waited)
            ancestors[event.number] = below | complete
            running |= 1 << event.number
        else:
            yield from _compare(event, _waits(waited), needed)
            complete |= below
        waited = []
    yield from _compare(None, _waits(waited), _reduced(running & ~complete, ancestors))


def _waits(waits: list[Event]) -> int:
    found = 0
    for wait in waits:
        found |= wait.direct
    return found


def _reduced(candidates: int, ancestors: dict[int, int]) -> int:
    """The candidates that no other of them comes after."""
    implied = 0
    for number in bits(candidates):
        implied |= ancestors[number]
    return candidates & ~implied


def _compare(event: Event | None, found: int, expected: int) -> Iterator[str]:
    if found != expected:
        where = event if event is not None else "the end"
        yield f"{where}\n  waits for {list(bits(found))}, has to for {list(bits(expected))}"


def replay(trace: Trace, generator: random.Random) -> Iterator[str]:
    """
    Run the events in an order that they allow. By chance one that delays the device as long as it
    can, one that delays the host, or any.
    """
    cells = list(trace.start)
    left = list(trace.events)
    weight = generator.choice((None, 0, 1))
    done = 0
    while left:
        ready = [e for e in left if not e.before & ~done]
        preferred = [e for e in ready if weight is None or e.on_device == bool(weight)]
        event = generator.choice(preferred or ready)
        left.remove(event)
        done |= 1 << event.number
        if event.run is not None and event.run(cells) != event.seen:
            yield f"the host sees another value in\n  {event}"
    if cells != trace.end:
        wrong = [i for i, (a, b) in enumerate(zip(cells, trace.end, strict=True)) if a != b]
        yield f"another order gives other cells: {wrong}"
