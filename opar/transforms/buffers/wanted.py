"""Which memrefs of the host need a twin on the GPU."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import MemRefType, NoneAttr
from xdsl.ir import BlockArgument, Operation, OpResult, Region, SSAValue
from xdsl.traits import IsTerminator

from opar.analysis.aliasing import AliasAnalysis, Root, RootKind, is_view, view_source
from opar.analysis.control_flow import ControlFlow, Shape, Structure
from opar.analysis.sources import argument_sources, result_sources
from opar.analysis.values import is_memref, is_within
from opar.dialects import affine, gpu, memref, scf
from opar.dialects.memref.layouts import strided
from opar.errors import UnsupportedError, at

STRUCTURES = (
    affine.ForOp,
    affine.IfOp,
    scf.ExecuteRegionOp,
    scf.ForOp,
    scf.IfOp,
    scf.IndexSwitchOp,
    scf.WhileOp,
)
"""Structures whose results can have twins."""

ALLOCATIONS = (memref.AllocOp, memref.AllocaOp)


class BufferFlow(ControlFlow):
    """
    Structures of the host too: regions of several blocks, scopes, and loops that make memrefs. What
    such an operation hands on has its contents somewhere at its end.
    """

    def _find(self, op: Operation) -> Structure | None:
        found = super()._find(op)
        if found is not None:
            return found
        blocks = tuple(block for region in op.regions for block in region.blocks)
        match op:
            case scf.ExecuteRegionOp() if self.graph(op).is_understood:
                return Structure(op, Shape.BLOCKS, self.graph(op).blocks, True)
            case memref.AllocaScopeOp() if len(blocks) == 1:
                return Structure(op, Shape.ONCE, blocks, True)
            case scf.ForOp() | affine.ForOp() if _makes_memrefs(op):
                return Structure(op, Shape.LOOP, blocks, False)
            case scf.WhileOp() if _makes_memrefs(op):
                return Structure(op, Shape.WHILE, blocks, True)
            case _:
                return None


def _makes_memrefs(op: Operation) -> bool:
    """Whether a loop of the host has memrefs as results, or allocates some."""
    return any(is_memref(v) for v in op.results) or any(
        isinstance(child, (*ALLOCATIONS, func.CallOp)) for child in op.walk()
    )


@dataclass
class Wanted:
    """Host memrefs that need a twin: `roots` name memory, `carried` are made from others."""

    function: func.FuncOp
    aliases: AliasAnalysis
    roots: dict[Root, SSAValue] = field(default_factory=dict)
    carried: dict[SSAValue, None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for launch in launches_in(self.function):
            for operand in self.host_operands(launch):
                self._add(operand, launch)
        if not self.roots:
            return
        flow = BufferFlow()
        steps = [op for block in self.function.body.blocks for op in flow.steps(block)]
        used = [(op, base) for op in steps for base in self._looked_at(op)]
        before = -1
        while len(self.carried) > before:
            before = len(self.carried)
            for op, base in used:
                if self.aliases.roots(base) & self.roots.keys():
                    self._add(base, op)

        self._check_overlaps()

    def _check_overlaps(self) -> None:
        """Arguments that may overlap need GPU memory that does, which only a runtime has."""
        called = bool(self.aliases.calls.sites(self.function))
        for a, b in combinations(self.roots, 2):
            layouts = [getattr(self.roots[r].type, "layout", None) for r in (a, b)]
            strange = called or not all(isinstance(layout, NoneAttr) for layout in layouts)
            if strange and self.aliases.roots_may_alias(a, b):
                message = f"{a} and {b} may be the same memory, and the GPU would hold it twice"
                advice = "mark one llvm.noalias, or inline the calls that pass it"
                raise UnsupportedError(at(self.function, f"{message}; {advice}"))

    def host_operands(self, launch: gpu.LaunchFuncOp) -> list[SSAValue]:
        """The memrefs that a launch passes and that are not the GPU's alone."""
        return [
            value
            for value in launch.kernel_operands
            if isinstance(value.type, MemRefType)
            and isinstance(value.type.memory_space, NoneAttr)
            and not all(is_gpu_alloc(root) for root in self.aliases.roots(value))
        ]

    def _looked_at(self, op: Operation) -> Iterator[SSAValue]:
        """What `op` looks at, as the host, that is not the memory that its value names."""
        if isinstance(op, gpu.LaunchFuncOp) or is_carrier(op):
            return
        for value in used_from_outside(op):
            base = view_source(value)
            if not self.aliases.is_root(base):
                yield base

    def _add(self, value: SSAValue, cause: Operation) -> None:
        work = [value]
        while work:
            value = work.pop()
            roots = self.aliases.roots(value)
            if value in self.carried:
                continue
            if self.aliases.is_root(value):
                (root,) = roots
                if not is_gpu_alloc(root) and root not in self.roots:
                    self.roots[root] = _checked(value, cause)
                continue
            sources = self._sources(value)
            if sources is None:
                message = f"cannot tell which buffer of the GPU {_named(value)} is"
                raise UnsupportedError(at(cause, f"{message}; pass an allocation or argument"))
            self.carried[value] = None
            work += reversed(sources)

    def _sources(self, value: SSAValue) -> list[SSAValue] | None:
        """What a value that is no root is made from; None where it can have no twin."""
        if isinstance(value, BlockArgument):
            parent = value.block.parent_op()
            first = (
                value.block.parent is not None and value.block.parent.blocks.first is value.block
            )
            if first and not isinstance(parent, STRUCTURES):
                return None
            found = argument_sources(value)
        else:
            assert isinstance(value, OpResult)
            op = value.op
            if not (is_view(op) or isinstance(op, (arith.SelectOp, *STRUCTURES))):
                return None
            found = result_sources(value)
        return list(found) if found is not None else None


def launches_in(function: func.FuncOp) -> Iterator[gpu.LaunchFuncOp]:
    """The launches of a function. Raises `UnsupportedError` where kernels are not outlined."""
    for child in function.walk():
        if isinstance(child, gpu.LaunchOp):
            raise UnsupportedError(
                at(child, "gpu-manage-buffers needs outlined kernels: run gpu-kernel-outlining")
            )
        if isinstance(child, gpu.LaunchFuncOp):
            yield child


def is_gpu_alloc(root: Root) -> bool:
    """Whether the memory is the GPU's already."""
    return root.value is not None and isinstance(root.value.owner, gpu.AllocOp)


def is_carrier(op: Operation) -> bool:
    """Whether an operation only passes memrefs on, or ends their life."""
    if op.has_trait(IsTerminator):
        return not isinstance(op, func.ReturnOp)
    return is_view(op) or isinstance(op, arith.SelectOp | memref.DeallocOp | memref.DimOp)


def used_from_outside(op: Operation) -> list[SSAValue]:
    """The memrefs that `op` and the operations in it use and that are made outside of it."""
    values = (v for child in op.walk() for v in child.operands if is_memref(v))
    return list(dict.fromkeys(v for v in values if not is_within(v, op)))


def handed_on(end: Operation, aliases: AliasAnalysis) -> set[Root]:
    """The allocations that the end of a block hands to another block or a result."""
    if isinstance(end, func.ReturnOp):
        return set()
    found = {r for v in end.operands if is_memref(v) for r in aliases.roots(v)}
    return {r for r in found if r.kind is RootKind.ALLOCATION}


def region_of(root: Root) -> Region | None:
    """The region whose blocks can name the memory of an allocation."""
    block = root.value.owner.parent if isinstance(root.value, OpResult) else None
    return block.parent if block is not None else None


def leaves_its_region(root: Root, aliases: AliasAnalysis) -> bool:
    """Whether the end of a block, of those that can name an allocation, hands it on."""
    region = region_of(root)
    ends = [b.last_op for b in region.blocks] if region is not None else []
    return any(end is not None and root in handed_on(end, aliases) for end in ends)


def contiguous(type: MemRefType) -> MemRefType | None:
    """The type of the same elements side by side, if `memref.cast` makes `type` of it."""
    found = MemRefType(type.element_type, type.get_shape(), memory_space=type.memory_space)
    if isinstance(type.layout, NoneAttr):
        return type
    wanted, given = strided(type), strided(found)
    if wanted is None or given is None:
        return None
    pairs = zip((wanted.offset, *wanted.strides), (given.offset, *given.strides), strict=True)
    return found if all(w is None or w == g for w, g in pairs) else None


def _checked(value: SSAValue, cause: Operation) -> SSAValue:
    if not isinstance(value.type, MemRefType) or contiguous(value.type) is None:
        message = f"a buffer of type {value.type} cannot be copied to the GPU"
        raise UnsupportedError(at(cause, f"{message}: its elements are not side by side"))
    return value


def _named(value: SSAValue) -> str:
    return f"%{value.name_hint}" if value.name_hint else "an operand"
