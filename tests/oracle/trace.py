"""What happened in one run, and what had to happen before what."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from xdsl.ir import Operation

Cells = list[int]
Run = Callable[[Cells], object]


@dataclass(frozen=True)
class Token:
    """
    `complete`: the events that are complete once the token is. `direct`: those whose tokens it is,
    or that it joins. Events are bits, by number.
    """

    complete: int = 0
    direct: int = 0


@dataclass(eq=False)
class Event:
    """
    One execution of an operation.

    It reads and writes cells (bit masks), and starts once the events in `before` are complete.
    `direct` are those that its own tokens name, `at_issue` those complete when the host came to it.
    An event on the device completes at some time later; the host goes on at once. `run` does it
    again, on any cells, and gives what the host sees of it.
    """

    number: int
    op: Operation
    on_device: bool
    reads: int
    writes: int
    before: int
    at_issue: int
    direct: int
    run: Run | None
    seen: object = None

    @property
    def is_wait(self) -> bool:
        """Whether this is only the host waiting."""
        return self.run is None

    def conflicts(self, other: Event) -> bool:
        """Whether both touch a cell that one of them writes."""
        return bool(self.writes & (other.reads | other.writes) | self.reads & other.writes)

    def __str__(self) -> str:
        return f"event {self.number}: {self.op}".splitlines()[0]


@dataclass
class Trace:
    """
    The events in the order in which the host came to them: sequential execution. `start` are the
    cells before it and `end` behind it. `unfinished`: what may still run when its function has
    returned, and is not waited for by the body of an `async.execute` that it lies in.
    """

    events: list[Event] = field(default_factory=list)
    start: Cells = field(default_factory=list)
    end: Cells = field(default_factory=list)
    returned: tuple[object, ...] = ()
    unfinished: int = 0
    defined: int = 0
    """The cells that hold something at the end: neither new nor freed."""
    undefined: int = 0
    """The cells that were read although they held nothing, in sequential execution."""
    raced: list[Operation] = field(default_factory=list)
    """Launches whose own threads touch each other's elements, and copies of views that overlap."""
