"""
What memory each operation touches: a list of accesses (root, region, kind).

The kind of each access comes from the memory effects that the operation declares; for a launch,
from the body of its kernel, so that an operand which the kernel only reads is not written. A region
is the set of elements touched. Here it is always the whole root (`WHOLE`).

An operation that declares no effects and is not known to be free of them is an access that writes
`UNKNOWN`: it conflicts with everything.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum

from xdsl.dialects.builtin import MemRefType, UnrankedMemRefType
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.traits import (
    DefaultResource,
    IsTerminator,
    MemoryEffectKind,
    SymbolTable,
    get_effects,
)

from opar.analysis.aliasing import UNKNOWN, AliasAnalysis, Root, RootKind
from opar.dialects import gpu


class AccessKind(Enum):
    """What an operation does to a region. Everything but READ orders like a write."""

    READ = "read"
    WRITE = "write"
    ALLOC = "alloc"
    FREE = "free"


@dataclass(frozen=True)
class Region:
    """
    A set of elements of one root. The only one so far is the whole root: it covers and meets
    every other.
    """

    def intersects(self, other: Region) -> bool:
        """Whether an element is in both."""
        return True

    def covers(self, other: Region) -> bool:
        """Whether every element of `other` is in this one."""
        return True

    def __str__(self) -> str:
        return "whole buffer"


WHOLE = Region()


@dataclass(frozen=True)
class Access:
    """One operation reads, writes, allocates or frees `region` of `root`."""

    root: Root
    kind: AccessKind
    region: Region = WHOLE

    @property
    def writes(self) -> bool:
        """Whether the access orders like a write."""
        return self.kind is not AccessKind.READ


_KINDS = {
    MemoryEffectKind.READ: AccessKind.READ,
    MemoryEffectKind.WRITE: AccessKind.WRITE,
    MemoryEffectKind.ALLOC: AccessKind.ALLOC,
    MemoryEffectKind.FREE: AccessKind.FREE,
}

# Operations of these dialects touch memory only through memref operands, whatever they declare.
_VALUE_DIALECTS = frozenset(("arith", "math", "index", "complex", "vector", "affine", "ub"))

# Order threads or declare things, but touch no memory of their own.
_NO_ACCESS = frozenset(("gpu.barrier", "gpu.wait", "func.func", "gpu.module", "memref.global"))

_EVERYTHING = (Access(UNKNOWN, AccessKind.WRITE),)


def _is_memref(value: SSAValue) -> bool:
    return isinstance(value.type, MemRefType | UnrankedMemRefType)


@dataclass
class AccessAnalysis:
    """Accesses of operations; kernels are summarised once a symbol and kept."""

    aliases: AliasAnalysis = field(default_factory=AliasAnalysis)
    _kernels: dict[gpu.FuncOp, tuple[tuple[int, AccessKind], ...]] = field(default_factory=dict)

    def accesses(self, op: Operation) -> tuple[Access, ...]:
        """The accesses of `op` and of all operations in its regions, without repeats."""
        if isinstance(op, gpu.LaunchFuncOp):
            found = self._launch_accesses(op)
        elif op.regions and op.name not in _NO_ACCESS:
            found = (
                access
                for region in op.regions
                for block in region.blocks
                for child in block.ops
                for access in self.accesses(child)
                if not self._is_inside(access.root, op)
            )
        else:
            found = self._own_accesses(op)
        return tuple(dict.fromkeys(found))

    def kernel_accesses(self, kernel: gpu.FuncOp) -> tuple[tuple[int, AccessKind], ...]:
        """(parameter number, kind) for each way in which `kernel` touches a parameter."""
        summary = self._kernels.get(kernel)
        if summary is None:
            summary = self._kernels[kernel] = self._summarise(kernel)
        return summary

    def _launch_accesses(self, op: gpu.LaunchFuncOp) -> Iterable[Access]:
        kernel = SymbolTable.lookup_symbol(op, op.kernel)
        if not isinstance(kernel, gpu.FuncOp):
            # A kernel that is only declared, or already a binary: it may do anything to operands.
            touched = tuple(
                (i, kind)
                for i in range(len(op.kernel_operands))
                for kind in (AccessKind.READ, AccessKind.WRITE)
            )
        else:
            touched = self.kernel_accesses(kernel)
        for index, kind in touched:
            operand = op.kernel_operands[index]
            if _is_memref(operand):
                for root in self.aliases.roots(operand):
                    yield Access(root, kind)

    def _summarise(self, kernel: gpu.FuncOp) -> tuple[tuple[int, AccessKind], ...]:
        memrefs = [
            i
            for i, argument in enumerate(kernel.body.blocks[0].args)
            if i < len(kernel.function_type.inputs) and _is_memref(argument)
        ]
        found: dict[tuple[int, AccessKind], None] = {}
        for access in self.accesses(kernel):
            root = access.root
            if root.kind is RootKind.PARAMETER and isinstance(root.key, BlockArgument):
                found[root.key.index, access.kind] = None
            elif root.kind is RootKind.UNKNOWN:
                for i in memrefs:
                    found[i, AccessKind.READ] = found[i, AccessKind.WRITE] = None
        return tuple(found)

    def _own_accesses(self, op: Operation) -> Iterable[Access]:
        if op.name in _NO_ACCESS:
            return ()
        effects = get_effects(op)
        memrefs = [v for v in (*op.operands, *op.results) if _is_memref(v)]
        if effects is None:
            if op.has_trait(IsTerminator):
                return ()
            if op.name.partition(".")[0] in _VALUE_DIALECTS and not memrefs:
                return ()
            return _EVERYTHING
        found: list[Access] = []
        for effect in sorted(effects, key=lambda e: e.kind.value):
            if not isinstance(effect.resource, DefaultResource):
                continue  # an order that is not that of memory, as the host's
            kind = _KINDS[effect.kind]
            if isinstance(effect.value, SSAValue):
                touched = [effect.value]
            elif memrefs:
                touched = memrefs  # an effect tied to no value is on the memrefs at hand
            else:
                return _EVERYTHING
            found += (Access(root, kind) for v in touched for root in self.aliases.roots(v))
        return found

    def _is_inside(self, root: Root, op: Operation) -> bool:
        """Whether the memory of `root` is allocated within `op`, so nobody outside can see it."""
        if root.kind is not RootKind.ALLOCATION or not isinstance(root.key, SSAValue):
            return False
        owner = root.key.owner
        parent = owner if isinstance(owner, Operation) else owner.parent_op()
        return parent is not None and op.is_ancestor(parent)
