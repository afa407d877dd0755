"""
What memory each operation touches: a list of accesses (root, region, kind).

The kind of each access comes from the memory effects that the operation declares, for a launch from
the body of its kernel, so that an operand which the kernel only reads is not written. The region is
found from the indices (`opar.analysis.body`); it is the whole root where they say nothing.

A call touches what the function does, in terms of what it passes. One of an unknown function (only
declared, or recursive), like any operation that declares no effects and is not known to be free of
them, writes `UNKNOWN` and prints: it conflicts with all memory that escaped, globals, and arguments
that may overlap what is not seen here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace

import islpy as isl
from xdsl.dialects import func
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.traits import (
    DefaultResource,
    EffectInstance,
    IsTerminator,
    MemoryEffect,
    RecursiveMemoryEffect,
    get_effects,
)

from opar.analysis.access import CONTENTS, OF_EFFECT, Access, AccessKind
from opar.analysis.aliasing import OUTPUT, UNKNOWN, AliasAnalysis, Root, RootKind
from opar.analysis.body import Body
from opar.analysis.imprecision import Imprecision
from opar.analysis.integer_sets import HOST_SYMBOL, integer_map, integer_set, symbols_of
from opar.analysis.iterations import without
from opar.analysis.kernel_summary import KernelAccess, KernelSummaries
from opar.analysis.region import WHOLE, Region, box_region, region_of
from opar.analysis.sizes import known_sizes
from opar.analysis.sources import holds_memref
from opar.analysis.symbolic import HostExpressions, number
from opar.analysis.symbolic_set import SymbolicSet
from opar.analysis.values import is_memref, is_within
from opar.analysis.views import coordinates
from opar.dialects import gpu, memref

# Operations of these dialects touch memory only through memref operands, whatever they declare.
_VALUE_DIALECTS = frozenset(("arith", "math", "index", "complex", "vector", "affine", "ub"))

# Order threads or declare things, but touch no memory of their own.
_NO_ACCESS = frozenset(("gpu.barrier", "gpu.wait", "func.func", "gpu.module", "memref.global"))

# Hold operations and touch nothing themselves, though they declare no effects.
_CONTAINERS = frozenset(("builtin.module", "gpu.func", "scf.execute_region", "memref.alloca_scope"))

# The body of an atomic update has no effects.
_ATOMIC = (memref.AtomicRMWOp, memref.GenericAtomicRMWOp)

_PRINTS = frozenset(("gpu.printf", "vector.print"))

_PRINTED = Access(OUTPUT, AccessKind.WRITE)
_EVERYTHING = (Access(UNKNOWN, AccessKind.WRITE), _PRINTED)


COMMUTING_ATOMICS = "opar.commuting_atomics"
"""On a module: its tokens let atomic updates of one operator change places."""


@dataclass
class AccessAnalysis:
    """
    Accesses of operations; kernels are summarised once, regions kept by what they depend on.
    `commuting_atomics`: atomic updates of one operator whose results are unused may change places.
    """

    aliases: AliasAnalysis = field(default_factory=AliasAnalysis)
    commuting_atomics: bool = False
    imprecision: Imprecision = field(default_factory=Imprecision)
    _functions: dict[func.FuncOp, tuple[Access, ...]] = field(default_factory=dict)
    _regions: dict[object, Region | None] = field(default_factory=dict)
    host: HostExpressions = field(default_factory=HostExpressions)

    def __post_init__(self) -> None:
        self.kernels = KernelSummaries(
            self.aliases, self.accesses, self.commuting_atomics, self.imprecision
        )

    def accesses(self, op: Operation) -> tuple[Access, ...]:
        """The accesses of `op` and of all operations in its regions, without repeats."""
        if isinstance(op, gpu.LaunchFuncOp):
            found = self._launch_accesses(op)
        elif isinstance(op, func.CallOp):
            found = self._call_accesses(op)
        elif op.regions and op.name not in _NO_ACCESS and not isinstance(op, _ATOMIC):
            found = (*self._effects_beside_regions(op), *self._nested_accesses(op))
        else:
            found = self._own_accesses(op)
        return tuple(dict.fromkeys(found))

    def kernel_accesses(self, kernel: gpu.FuncOp) -> tuple[KernelAccess, ...]:
        """What `kernel` does to its parameters."""
        return self.kernels.of(kernel).accesses

    # Launches

    def _launch_accesses(self, op: gpu.LaunchFuncOp) -> Iterator[Access]:
        kernel = op.lookup_kernel()
        if kernel is None or not kernel.body.blocks:
            # A kernel that is only declared, or already a binary: it may do anything to operands.
            for operand in op.kernel_operands:
                if is_memref(operand):
                    for root in self.aliases.roots(operand):
                        yield Access(root, AccessKind.READ)
                        yield Access(root, AccessKind.WRITE)
            return
        operands = tuple(op.kernel_operands)
        summary = self.kernels.launched(kernel, lambda i: self.host.constant(operands[i]))
        for touched in summary.accesses:
            if touched.root is not None:
                yield Access(touched.root, touched.kind, operator=touched.operator)
                continue
            operand = operands[touched.index]
            roots = self.aliases.roots(operand)
            if len(roots) == 1:
                region = self._launched_region(op, touched.set, operand, operands)
                if region is WHOLE and not self.aliases.is_root(operand):
                    self.imprecision.view(op, operand)
            else:
                region = WHOLE
                self.imprecision.several(op, operand, roots)
            if region is not None:
                for root in roots:
                    yield Access(root, touched.kind, region, touched.operator)

    def _launched_region(
        self,
        op: gpu.LaunchFuncOp,
        set: SymbolicSet | None,
        operand: SSAValue,
        operands: Sequence[SSAValue],
    ) -> Region | None:
        """The elements of the root that one launch touches; None for no element at all."""
        if set is None:
            return self._view_region(operand)
        numbers = tuple(self._launch_number(op, name, operands) for name in set.symbols)
        # Operands that are no views share a region: its coordinates are those of any root.
        view = None if self.aliases.is_root(operand) else operand
        key = set, numbers, view
        if key not in self._regions:
            known = [n for text in numbers if (n := number(text)) is not None]
            if view is None and set.is_box and len(known) == len(numbers):
                self._regions[key] = set.at(known)
            else:
                named = dict(zip(set.symbols, numbers, strict=True))
                self._regions[key] = self._through_views(
                    self._instantiated(set.set, named), operand
                )
        return self._regions[key]

    def _launch_number(
        self, op: gpu.LaunchFuncOp, symbol: str, operands: Sequence[SSAValue]
    ) -> str:
        """The expression of the launch for a symbol of a kernel's set."""
        match symbol[:2]:
            case "sa":
                values = operands
            case "sb":
                values = op.block_size
            case _:
                values = op.grid_size
        return self.host.of(values[int(symbol[2:])])

    def _instantiated(self, set: isl.Set, numbers: Mapping[str, str]) -> isl.Set:
        """A set with numbers for its symbols."""
        for name, text in numbers.items():
            position = set.find_dim_by_name(isl.dim_type.param, name)
            if (value := number(text)) is not None:
                set = set.fix_val(isl.dim_type.param, position, isl.Val(value))
            else:
                equation = integer_set([f"{name} = {text}"], 0, self.host, HOST_SYMBOL)
                set = set.intersect_params(equation.params())
                position = set.find_dim_by_name(isl.dim_type.param, name)
            set = set.project_out(isl.dim_type.param, position, 1)
        return set

    def _through_views(self, set: isl.Set, view: SSAValue) -> Region | None:
        """Elements of a view as a region of its root."""
        names = [f"x{d}" for d in range(set.dim(isl.dim_type.set))]
        source, found = coordinates(view, names, self.host)
        if not self.aliases.is_root(source):
            return WHOLE
        if found is None:
            return self._view_region(source)
        if found == names:
            return region_of(set)
        return region_of(set.apply(integer_map(names, found, self.host)))

    def _view_region(self, view: SSAValue) -> Region:
        """All elements of a view, as a region of its root."""
        if view not in self._regions:
            self._regions[view] = self._elements_of_view(view)
        return self._regions[view] or WHOLE

    def _elements_of_view(self, view: SSAValue) -> Region | None:
        if not isinstance(view.type, MemRefType):
            return WHOLE
        shape = known_sizes(view)
        names = [f"x{d}" for d in range(len(shape))]
        source, found = coordinates(view, names, self.host)
        if found is None or not self.aliases.is_root(source):
            return WHOLE
        if source is view:
            known = DYNAMIC_INDEX not in shape and 0 not in shape
            return box_region([(0, n - 1) for n in shape]) if known else WHOLE
        limits = [f"0 <= {n}" for n in names]
        limits += [f"{n} < {s}" for n, s in zip(names, shape, strict=True) if s != DYNAMIC_INDEX]
        elements = [*limits, *(f"e{d} = {e}" for d, e in enumerate(found))]
        return region_of(integer_set(elements, len(found), self.host, HOST_SYMBOL))

    # Calls

    def _call_accesses(self, op: func.CallOp) -> Iterator[Access]:
        callee = self.aliases.calls.callee(op)
        if callee is None:  # it may do anything to what it can reach
            for operand in op.operands:
                if holds_memref(operand.type):
                    yield from (Access(r, AccessKind.WRITE) for r in self.aliases.roots(operand))
            yield from _EVERYTHING
            return
        for access in self._function_accesses(callee):
            argument = access.root.key
            if not isinstance(argument, BlockArgument):
                yield access
                continue
            operand = op.operands[argument.index]
            roots = self.aliases.roots(operand)
            if len(roots) == 1:
                region = self._passed_region(op, access.region, operand)
            else:
                region = WHOLE
                self.imprecision.several(op, operand, roots)
            if region is not None:
                yield from (replace(access, root=root, region=region) for root in roots)

    def _function_accesses(self, function: func.FuncOp) -> tuple[Access, ...]:
        """What a function touches that was there before, in terms of its arguments."""
        found = self._functions.get(function)
        if found is None:
            inside = self._nested_accesses(function, kept=function.body.blocks[0].args)
            found = self._functions[function] = tuple(
                dict.fromkeys(
                    access
                    for access in inside
                    # A buffer that stages an argument comes and goes.
                    if access.kind in CONTENTS or isinstance(access.root.value, BlockArgument)
                )
            )
        return found

    def _passed_region(self, op: func.CallOp, region: Region, operand: SSAValue) -> Region | None:
        """A region of an argument as one of the root of what a call passes for it."""
        if region.is_whole:
            return self._view_region(operand)
        set = region.integer_set
        numbers: dict[str, str] = {}
        callee = self.aliases.calls.callee(op)
        for name in symbols_of(set):
            value = self.host.named(name)
            if isinstance(value, BlockArgument) and value.block.parent_op() is callee:
                numbers[name] = self.host.of(op.operands[value.index])
        return self._through_views(self._instantiated(set, numbers), operand)

    # Operations of the host

    def _own_accesses(self, op: Operation) -> Iterable[Access]:
        if op.name in _NO_ACCESS:
            return ()
        if op.name in _PRINTS:
            return (_PRINTED,)
        element = self._element_accesses(op)
        if element is not None:
            return element
        effects = get_effects(op)
        if effects is None:
            if op.has_trait(IsTerminator):
                return ()
            memrefs = any(is_memref(v) for v in (*op.operands, *op.results))
            if op.name.partition(".")[0] in _VALUE_DIALECTS and not memrefs:
                return ()
            return _EVERYTHING
        return self._accesses_of_effects(op, effects)

    def _accesses_of_effects(
        self, op: Operation, effects: AbstractSet[EffectInstance]
    ) -> Iterable[Access]:
        memrefs = [v for v in (*op.operands, *op.results) if is_memref(v)]
        found: list[Access] = []
        for effect in sorted(effects, key=lambda e: e.kind.value):
            if not isinstance(effect.resource, DefaultResource):
                continue  # an order that is not that of memory, as the host's
            kind = OF_EFFECT[effect.kind]
            if isinstance(effect.value, SSAValue):
                touched = [effect.value]
            elif memrefs:
                touched = memrefs  # an effect tied to no value is on the memrefs at hand
            else:
                return _EVERYTHING
            for value in touched:
                roots = self.aliases.roots(value)
                region = WHOLE
                if kind in (AccessKind.READ, AccessKind.WRITE) and len(roots) == 1:
                    region = self._view_region(value)
                found += (Access(root, kind, region) for root in roots)
        return found

    def _element_accesses(self, op: Operation) -> list[Access] | None:
        """What a load, store or atomic update of one element does; None for anything else."""
        body = Body(self.host, self.commuting_atomics)
        if not body.access(op):
            return None
        (touch,) = body.touches
        roots = self.aliases.roots(touch.buffer)
        rank = _rank(touch.buffer)
        region = WHOLE
        if touch.elements is not None and rank is not None and self.aliases.is_root(touch.buffer):
            found = integer_set(touch.elements, rank, self.host, HOST_SYMBOL)
            region = region_of(found) or WHOLE
        elif len(roots) > 1:
            self.imprecision.several(op, touch.view, roots)
        else:
            self.imprecision.view(op, touch.view)
        return [Access(root, touch.kind, region, touch.operator) for root in roots]

    def _effects_beside_regions(self, op: Operation) -> Iterable[Access]:
        """What an operation with regions touches itself, its regions left out."""
        traits = op.get_traits_of_type(MemoryEffect)
        if not traits:
            return () if op.name in _CONTAINERS else _EVERYTHING
        own = [t for t in traits if not isinstance(t, RecursiveMemoryEffect)]
        return self._accesses_of_effects(op, {e for t in own for e in t.get_effects(op) or ()})

    def _nested_accesses(self, op: Operation, kept: Sequence[SSAValue] = ()) -> Iterator[Access]:
        """What the operations in `op` touch, for all numbers in it but those `kept`."""

        def is_open(value: SSAValue | None) -> bool:
            return value is None or (value not in kept and is_within(value, op))

        for region in op.regions:
            for block in region.blocks:
                for child in block.ops:
                    for access in self.accesses(child):
                        if not self._is_inside(access.root, op):
                            yield replace(access, region=without(access.region, self.host, is_open))

    def _is_inside(self, root: Root, op: Operation) -> bool:
        """Whether the memory of `root` is allocated within `op`, so nobody outside can see it."""
        if root.kind is not RootKind.ALLOCATION or not isinstance(root.key, SSAValue):
            return False
        return is_within(root.key, op)


def _rank(value: SSAValue) -> int | None:
    return value.type.get_num_dims() if isinstance(value.type, MemRefType) else None
