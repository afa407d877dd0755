"""
A set of elements that depends on numbers, of which each launch passes some.

Most are boxes whose ends depend linearly on the numbers. Of those the constraints are kept beside
the isl set, so that the box for given numbers takes no isl.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import islpy as isl

from opar.analysis.integer_sets import symbols_of
from opar.analysis.region import Region, box_region


@dataclass(frozen=True)
class _Linear:
    """`constant` + the sum of numbers, given by their places, times their factors."""

    constant: int
    factors: tuple[tuple[int, int], ...]

    def at(self, numbers: Sequence[int]) -> int:
        return self.constant + sum(factor * numbers[place] for place, factor in self.factors)

    def __neg__(self) -> _Linear:
        return _Linear(-self.constant, tuple((place, -factor) for place, factor in self.factors))


_Ends = list[tuple[_Linear, int]]
"""One end of an interval: the quotients of an expression and a positive divisor."""


class SymbolicSet:
    """The elements `set`, over symbols whose names are `symbols`."""

    def __init__(self, set: isl.Set):
        self.set = set
        self.symbols = tuple(symbols_of(set))
        dims = range(set.dim(isl.dim_type.set))
        self._lowers: list[_Ends] = [[] for _ in dims]
        self._uppers: list[_Ends] = [[] for _ in dims]
        self._conditions: list[_Linear] = []
        """What must not be negative, or there is no element."""
        self.is_box = self._find_ends() and all(map(all, (self._lowers, self._uppers)))
        """Whether `at` can tell the elements, for any numbers."""

    def at(self, numbers: Sequence[int]) -> Region | None:
        """The elements for numbers, one a symbol; None for no element at all."""
        if any(condition.at(numbers) < 0 for condition in self._conditions):
            return None
        box = [
            (
                max(-(end.at(numbers) // divisor) for end, divisor in lowers),
                min(end.at(numbers) // divisor for end, divisor in uppers),
            )
            for lowers, uppers in zip(self._lowers, self._uppers, strict=True)
        ]
        return None if any(low > high for low, high in box) else box_region(box)

    def _find_ends(self) -> bool:
        """Take the constraints apart; false where one does not limit a single coordinate."""
        pieces = self.set.compute_divs().coalesce().get_basic_sets()
        if len(pieces) != 1 or pieces[0].dim(isl.dim_type.div) > 0:
            return False
        for constraint in pieces[0].get_constraints():
            constant = constraint.get_constant_val().to_python()
            elements = _coefficients(constraint, isl.dim_type.set, len(self._lowers))
            factors = _coefficients(constraint, isl.dim_type.param, len(self.symbols))
            dim, coefficient = elements[0] if elements else (0, 0)
            # Equations with other coefficients hold for some numbers only.
            if len(elements) > 1 or (constraint.is_equality() and abs(coefficient) > 1):
                return False
            limit = _Linear(constant, factors)
            self._limit(dim, coefficient, limit)
            if constraint.is_equality():
                self._limit(dim, -coefficient, -limit)
        return True

    def _limit(self, dim: int, coefficient: int, rest: _Linear) -> None:
        """Add the constraint `coefficient * e + rest >= 0` on coordinate e of a dimension."""
        if coefficient > 0:
            self._lowers[dim].append((rest, coefficient))
        elif coefficient < 0:
            self._uppers[dim].append((rest, -coefficient))
        else:
            self._conditions.append(rest)


def _coefficients(
    constraint: isl.Constraint, type: isl.dim_type, count: int
) -> tuple[tuple[int, int], ...]:
    """The places and values of the coefficients that are not zero."""
    values = [constraint.get_coefficient_val(type, place).to_python() for place in range(count)]
    return tuple((place, value) for place, value in enumerate(values) if value)
