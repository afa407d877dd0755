"""The mapping for a CPU."""

from __future__ import annotations

from opar.transforms.mapping.nest import Nest


def map_nest(nest: Nest) -> None:
    raise NotImplementedError
