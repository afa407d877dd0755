"""
The accesses of one root that a later access can still conflict with, found by place.

Boxes are kept in the cells of a grid, so that among many tiles of a buffer only the neighbours are
looked at. The first box fixes the size of a cell; a box of many cells, and a region without a box,
is looked at for every place.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from itertools import product

from opar.analysis.access import Access
from opar.analysis.region import Region

_MOST_CELLS = 64

Cell = tuple[int, ...]


class State(Enum):
    """
    Whether a later access has to look at an entry: LIVE; COVERED, a later write has taken its place
    (or another branch runs), but it may come back; GONE for good.
    """

    LIVE = "live"
    COVERED = "covered"
    GONE = "gone"


@dataclass(eq=False)
class Entry:
    """Node `number` made `access`."""

    number: int
    access: Access
    state: State = State.LIVE


@dataclass
class LiveAccesses:
    """Live accesses of one root."""

    _all: list[Entry] = field(default_factory=list)
    _everywhere: list[Entry] = field(default_factory=list)
    _cells: dict[Cell, list[Entry]] = field(default_factory=dict)
    _cell_size: tuple[int, ...] | None = None

    def add(self, entry: Entry) -> None:
        """Remember an access."""
        self._all.append(entry)
        if self._cell_size is None:
            self._cell_size = _extents(entry.access.region)
        cells = self._cells_of(entry.access.region)
        if cells is None:
            self._everywhere.append(entry)
        else:
            for cell in cells:
                self._cells.setdefault(cell, []).append(entry)

    def __iter__(self) -> Iterator[Entry]:
        """Each live access."""
        return _live(self._all)

    def near(self, region: Region) -> Iterator[Entry]:
        """Each live access whose region may meet `region`, once."""
        cells = self._cells_of(region)
        if cells is None:
            self._all = _present(self._all)
            yield from _live(self._all)
            return
        self._everywhere = _present(self._everywhere)
        yield from _live(self._everywhere)
        seen: set[Entry] = set()
        for cell in cells:
            entries = self._cells.get(cell)
            if not entries:
                continue
            self._cells[cell] = entries = _present(entries)
            for entry in _live(entries):
                if entry not in seen:
                    seen.add(entry)
                    yield entry

    def _cells_of(self, region: Region) -> list[Cell] | None:
        """The cells that a box lies in; None for no box or too many cells."""
        size = self._cell_size
        if size is None or region.box is None or len(region.box) != len(size):
            return None
        ranges: list[range] = []
        count = 1
        for (low, high), step in zip(region.box, size, strict=True):
            if low is None or high is None:
                return None
            ranges.append(range(low // step, high // step + 1))
            count *= len(ranges[-1])
        return list(product(*ranges)) if count <= _MOST_CELLS else None


def _present(entries: list[Entry]) -> list[Entry]:
    return [e for e in entries if e.state is not State.GONE]


def _live(entries: list[Entry]) -> Iterator[Entry]:
    return (e for e in entries if e.state is State.LIVE)


def _extents(region: Region) -> tuple[int, ...] | None:
    """How far a box reaches in each dimension; None where that is not known."""
    if region.box is None:
        return None
    found = [high - low + 1 for low, high in region.box if low is not None and high is not None]
    return tuple(found) if len(found) == len(region.box) else None
