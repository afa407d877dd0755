"""Memory effects that operations of the `gpu` dialect share."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

from xdsl.ir import Operation
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind, Resource


@dataclass(frozen=True)
class HostOrder(Resource):
    """
    The order of what the host sees: waiting, launching and printing write it, so that none of them
    is removed or swapped, but they touch no buffer through it.
    """

    def name(self) -> str:
        return "gpu.host_order"


HOST_ORDER = HostOrder()


class AnyMemoryEffect(MemoryEffect):
    """Reads and writes memory that no operand names, as a barrier does."""

    @classmethod
    def get_effects(cls, op: Operation) -> Set[EffectInstance]:
        return frozenset(
            (EffectInstance(MemoryEffectKind.READ), EffectInstance(MemoryEffectKind.WRITE))
        )


class HostOrderEffect(MemoryEffect):
    """Writes `HOST_ORDER` and nothing else."""

    @classmethod
    def get_effects(cls, op: Operation) -> Set[EffectInstance]:
        return frozenset((EffectInstance(MemoryEffectKind.WRITE, resource=HOST_ORDER),))
