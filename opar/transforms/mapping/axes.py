"""The axes of a grid, and the loop variables that they stand for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from opar.transforms.mapping.emit import Emitter, Size
from opar.transforms.mapping.nest import Nest


@dataclass
class Axis:
    """An axis of the grid: the dimensions of the nest on it, outermost first, and their extents."""

    dimensions: list[int]
    extents: list[Size]
    extent: Size
    block: int


def set_variables(
    nest: Nest, axis: Axis, count: SSAValue, lowers: Sequence[Size], inside: Emitter
) -> None:
    """Split the linear count of an axis into its dimensions, the last varying fastest."""
    if not axis.dimensions:
        return
    for d, own in zip(axis.dimensions, inside.digits(count, axis.extents), strict=True):
        dimension = nest.dimensions[d]
        dimension.variable.replace_all_uses_with(inside.variable(dimension, own, lowers[d]))
