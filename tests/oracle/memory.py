"""The memory of one run: cells of four bytes, numbered through, and views of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product

POISON = -0x5EED5EED
"""What memory holds before anything is written to it and after it is freed, near enough."""


class OutOfBounds(Exception):
    """The program is wrong: it touches an element that a view does not have."""


@dataclass(frozen=True)
class Allocation:
    """Cells `start`, ..., `start + size - 1`."""

    start: int
    size: int

    @property
    def mask(self) -> int:
        """The cells as a bit mask."""
        return ((1 << self.size) - 1) << self.start


@dataclass(frozen=True)
class View:
    """Elements of an allocation: index (i, j, ...) is cell `offset + i * strides[0] + ...`."""

    allocation: Allocation
    offset: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]

    def cell(self, *indices: int) -> int:
        """The cell of an element."""
        found = self.offset
        for index, size, stride in zip(indices, self.sizes, self.strides, strict=True):
            if not 0 <= index < size:
                raise OutOfBounds(f"{list(indices)} of {list(self.sizes)}")
            found += index * stride
        return found

    def cells(self) -> list[int]:
        """The cells of all elements, the last index fastest."""
        return [self.cell(*index) for index in product(*map(range, self.sizes))]

    @property
    def mask(self) -> int:
        """The cells of all elements as a bit mask."""
        return mask_of(self.cells())


@dataclass
class Memory:
    """All cells; nothing is ever used again for another allocation."""

    cells: list[int] = field(default_factory=list)

    def allocate(self, sizes: Sequence[int], contents: Iterable[int] | None = None) -> View:
        """A new allocation, seen whole. One of no element still has a cell to be told apart by."""
        count = 1
        strides: list[int] = []
        for size in reversed(sizes):
            strides.insert(0, count)
            count *= size
        start = len(self.cells)
        allocation = Allocation(start, max(count, 1))
        self.cells += [POISON - start] * allocation.size if contents is None else contents
        assert len(self.cells) == start + allocation.size
        return View(allocation, start, tuple(sizes), tuple(strides))


def mask_of(cells: Iterable[int]) -> int:
    """Numbers as a bit mask."""
    found = 0
    for cell in cells:
        found |= 1 << cell
    return found


def bits(mask: int) -> Iterator[int]:
    """The numbers in a bit mask, in order."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low
