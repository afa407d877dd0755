"""
Memory effects that name the memref operand or result they act on.

xDSL's own effect traits act on all of memory; dependence analysis needs to know which value.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind, Resource


class ValueEffect(MemoryEffect):
    """The effects `kinds` on each value that the fields `fields` of the operation hold."""

    kinds: tuple[MemoryEffectKind, ...]
    fields: tuple[str, ...] = ("memref",)

    @classmethod
    def get_effects(cls, op: Operation) -> set[EffectInstance]:
        found: set[EffectInstance] = set()
        for field in cls.fields:
            held: SSAValue | Sequence[SSAValue] = getattr(op, field)
            values = (held,) if isinstance(held, SSAValue) else held
            found |= {EffectInstance(kind, value) for kind in cls.kinds for value in values}
        return found


class ReadsMemref(ValueEffect):
    """Reads `memref`."""

    kinds = (MemoryEffectKind.READ,)


class WritesMemref(ValueEffect):
    """Writes `memref`."""

    kinds = (MemoryEffectKind.WRITE,)


class UpdatesMemref(ValueEffect):
    """Reads and writes `memref`."""

    kinds = (MemoryEffectKind.READ, MemoryEffectKind.WRITE)


class AllocatesMemref(ValueEffect):
    """Allocates `memref`."""

    kinds = (MemoryEffectKind.ALLOC,)


class FreesMemref(ValueEffect):
    """Frees `memref`."""

    kinds = (MemoryEffectKind.FREE,)


class ReadsSource(ValueEffect):
    """Reads `source`."""

    kinds = (MemoryEffectKind.READ,)
    fields = ("source",)


class WritesDestination(ValueEffect):
    """Writes `destination`."""

    kinds = (MemoryEffectKind.WRITE,)
    fields = ("destination",)


class AnyMemoryEffect(MemoryEffect):
    """Reads and writes memory that no operand names."""

    @classmethod
    def get_effects(cls, op: Operation) -> set[EffectInstance]:
        return {EffectInstance(MemoryEffectKind.READ), EffectInstance(MemoryEffectKind.WRITE)}


class Cache(Resource):
    """What is in the caches: a prefetch writes it, so that it is kept but orders no access."""

    def name(self) -> str:
        return "cache"


class FillsCache(MemoryEffect):
    """Writes `Cache` and nothing else."""

    @classmethod
    def get_effects(cls, op: Operation) -> set[EffectInstance]:
        return {EffectInstance(MemoryEffectKind.WRITE, resource=Cache())}
