"""
Sets of elements of one buffer: boxes where they are, integer sets (isl) where they are not.

Coordinates are the indices of the root buffer, outermost first. Most questions are settled by the
boxes alone (interval tests); isl answers the rest, such as even against odd elements, or halves of
a size that is known only at run time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import islpy as isl

Interval = tuple[int | None, int | None]
"""First and last index, None where unbounded or known only at run time."""


@dataclass(frozen=True, eq=False)
class Region:
    """
    A set of elements. `box` holds every element, one interval a dimension; None stands for the
    whole buffer, of unknown shape. `exact`: every element of the box is in the region. `set`, an
    isl set over the symbols of the function, says which are where `exact` is false.
    """

    box: tuple[Interval, ...] | None = None
    exact: bool = False
    set: isl.Set | None = None

    @property
    def is_whole(self) -> bool:
        """Whether nothing is known: any element may be meant."""
        return self.box is None

    def intersects(self, other: Region) -> bool:
        """Whether an element may be in both, for some value of the symbols."""
        if self.box is None or other.box is None or len(self.box) != len(other.box):
            return True
        for (low, high), (other_low, other_high) in zip(self.box, other.box, strict=True):
            if high is not None and other_low is not None and high < other_low:
                return False
            if low is not None and other_high is not None and other_high < low:
                return False
        if self.exact and other.exact:
            return True
        return _meet(self, other)

    def covers(self, other: Region) -> bool:
        """Whether every element of `other` is in this region, for all values of the symbols."""
        if self.box is None:
            return True
        if other.box is None or len(self.box) != len(other.box):
            return False
        if self is other:
            return True
        if self.exact:
            return all(
                low is not None
                and high is not None
                and other_low is not None
                and other_high is not None
                and low <= other_low
                and other_high <= high
                for (low, high), (other_low, other_high) in zip(self.box, other.box, strict=True)
            )
        return _contains(self, other)

    @cached_property
    def integer_set(self) -> isl.Set:
        """The region as an isl set; only where it is not the whole of an unknown shape."""
        if self.set is not None:
            return self.set
        assert self.box is not None
        names = [f"e{d}" for d in range(len(self.box))]
        limits = [
            text
            for name, (low, high) in zip(names, self.box, strict=True)
            for text in (
                f"{low} <= {name}" if low is not None else "",
                f"{name} <= {high}" if high is not None else "",
            )
            if text
        ]
        return isl.Set(f"{{ [{', '.join(names)}] : {' and '.join(limits) or '1 = 1'} }}")

    def element_in_both(self, other: Region) -> tuple[int, ...] | None:
        """The indices of one element that may be in both regions, where one can be named."""
        if self.box is None or other.box is None:
            return None
        point = (self.integer_set & other.integer_set).sample_point()
        if point.is_void():
            return None
        return tuple(
            point.get_coordinate_val(isl.dim_type.set, d).to_python() for d in range(len(self.box))
        )

    def __str__(self) -> str:
        if self.box is None:
            return "whole buffer"
        if not self.exact and self.set is not None:
            return str(self.set.coalesce())
        shown = ", ".join(
            str(low) if low == high else f"{_show(low)}..{_show(high)}" for low, high in self.box
        )
        return f"[{shown}]"


WHOLE = Region()
"""The whole buffer, where nothing else is known."""


def _show(end: int | None) -> str:
    return "?" if end is None else str(end)


@lru_cache(maxsize=1 << 16)
def _meet(a: Region, b: Region) -> bool:
    return not (a.integer_set & b.integer_set).is_empty()


@lru_cache(maxsize=1 << 14)
def _contains(a: Region, b: Region) -> bool:
    return b.integer_set.is_subset(a.integer_set)


def box_region(intervals: Sequence[Interval]) -> Region:
    """The region of all elements in a box."""
    return Region(tuple(intervals), exact=all(None not in interval for interval in intervals))


def region_of(set: isl.Set) -> Region | None:
    """
    The region of an isl set; None where it is empty for all values of its symbols.
    """
    if set.is_empty():
        return None
    dims = set.dim(isl.dim_type.set)
    box = tuple((_bound(set.dim_min_val(d)), _bound(set.dim_max_val(d))) for d in range(dims))
    bounded = all(low is not None and high is not None for low, high in box)
    if bounded and set.dim(isl.dim_type.param) == 0:
        whole = box_region(box)
        if set.is_box() or whole.integer_set.is_subset(set):
            return whole
    return Region(box, exact=False, set=set)


def _bound(value: isl.Val) -> int | None:
    return value.to_python() if value.is_int() else None
