"""What an access is: an operation reads, writes or updates a region of a root."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from xdsl.traits import MemoryEffectKind

from opar.analysis.aliasing import Root
from opar.analysis.region import WHOLE, Region


class AccessKind(Enum):
    """What an operation does to a region. Everything but READ orders like a write."""

    READ = "read"
    WRITE = "write"
    UPDATE = "update"
    """Reads and writes each element at once, atomically."""
    ALLOC = "alloc"
    FREE = "free"


CONTENTS = frozenset((AccessKind.READ, AccessKind.WRITE, AccessKind.UPDATE))
"""The kinds that concern what is in memory, not that it is there."""

OF_EFFECT = {
    MemoryEffectKind.READ: AccessKind.READ,
    MemoryEffectKind.WRITE: AccessKind.WRITE,
    MemoryEffectKind.ALLOC: AccessKind.ALLOC,
    MemoryEffectKind.FREE: AccessKind.FREE,
}


@dataclass(frozen=True)
class Access:
    """
    One operation touches `region` of `root`. `operator`: of an UPDATE that may change places with
    others of the same operator, as no one looks at what they replace.
    """

    root: Root
    kind: AccessKind
    region: Region = WHOLE
    operator: str | None = None

    @property
    def writes(self) -> bool:
        """Whether the access orders like a write."""
        return self.kind is not AccessKind.READ
