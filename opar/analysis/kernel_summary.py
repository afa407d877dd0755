"""What a kernel touches, over its parameters and launch sizes: found once, for all its launches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import islpy as isl
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import BlockArgument, Operation, SSAValue

from opar.analysis.access import Access, AccessKind
from opar.analysis.aliasing import AliasAnalysis, Root, RootKind
from opar.analysis.body import Body, ids_of
from opar.analysis.imprecision import Imprecision
from opar.analysis.integer_sets import KERNEL_SYMBOL, integer_set
from opar.analysis.symbolic import Expressions
from opar.analysis.symbolic_set import SymbolicSet
from opar.analysis.values import is_memref
from opar.dialects import gpu


@dataclass(frozen=True, eq=False)
class KernelAccess:
    """
    A kernel touches parameter `index`: the elements `set`, over symbols `sa0`, ... (its other
    parameters), `sb0`, ... (block sizes) and `sg0`, ... (grid sizes); None for all of them. Without
    a parameter it touches `root`. `operator` is that of an `Access`.
    """

    index: int
    kind: AccessKind
    set: SymbolicSet | None
    root: Root | None = None
    operator: str | None = None


@dataclass(frozen=True)
class KernelSummary:
    """What a kernel touches; more would be known if its parameters `wanted` were numbers."""

    accesses: tuple[KernelAccess, ...]
    wanted: frozenset[int]


Constants = tuple[tuple[int, int], ...]
"""Parameters of a kernel, by number, that are known, and what they are."""

_MOST_SUMMARIES = 64
"""How many summaries of one kernel are made for numbers that launches pass."""


@dataclass
class KernelSummaries:
    """Summaries of kernels, each made once; the fields are those of `summarise`."""

    aliases: AliasAnalysis
    accesses: Callable[[Operation], Iterable[Access]]
    commuting: bool
    imprecision: Imprecision
    _known: dict[gpu.FuncOp, dict[Constants, KernelSummary]] = field(default_factory=dict)

    def of(self, kernel: gpu.FuncOp, constants: Mapping[int, int] | None = None) -> KernelSummary:
        """What `kernel` does where some parameters are the numbers `constants`."""
        known = self._known.setdefault(kernel, {})
        key = tuple(sorted((constants or {}).items()))
        if key not in known:
            if len(known) == _MOST_SUMMARIES:
                return known[()]
            known[key] = summarise(
                kernel, self.aliases, self.accesses, self.commuting, self.imprecision, dict(key)
            )
        return known[key]

    def launched(self, kernel: gpu.FuncOp, constant: Callable[[int], int | None]) -> KernelSummary:
        """
        What a launch does that passes `constant(i)`, if that is known, for parameter i: where a
        parameter is a factor or step, it counts which number.
        """
        summary = self.of(kernel)
        constants: dict[int, int] = {}
        while summary.wanted:
            found = {i: constant(i) for i in summary.wanted}
            new = {i: n for i, n in found.items() if n is not None and i not in constants}
            if not new:
                break
            constants |= new
            summary = self.of(kernel, constants)
        return summary


Way = tuple[AccessKind, str | None]
"""How memory is touched: the kind and operator of an access."""


def summarise(
    kernel: gpu.FuncOp,
    aliases: AliasAnalysis,
    accesses: Callable[[Operation], Iterable[Access]],
    commuting: bool,
    imprecision: Imprecision,
    constants: Mapping[int, int],
) -> KernelSummary:
    """
    What `kernel` does to its parameters and to memory that is no parameter: loads, stores and
    atomic updates exactly, other operations by what `accesses` says; `imprecision` takes notes of
    where that is all of a buffer. `commuting`: atomic updates have operators. `constants` are the
    parameters that are known.
    """
    parameters = set(kernel.parameters)

    def name(value: SSAValue) -> str:
        if value in parameters and isinstance(value, BlockArgument):
            known = constants.get(value.index)
            return f"sa{value.index}" if known is None else str(known)
        name = expressions.new("v")
        expressions.causes[name] = value
        return name

    expressions = Expressions(name)
    ids_of(kernel, expressions)
    body = Body(expressions, commuting)
    for block in kernel.body.blocks:
        body.walk(block.ops)
    sets: dict[tuple[int, Way], isl.Set | None] = {}
    others: dict[tuple[Root, Way], None] = {}

    def add(index: int, way: Way, set: isl.Set | None) -> None:
        known = sets.get((index, way), set)
        sets[index, way] = None if known is None or set is None else known | set

    def add_root(root: Root, way: Way) -> None:
        if root.kind is RootKind.PARAMETER and isinstance(root.key, BlockArgument):
            add(root.key.index, way, None)
        elif root.kind is not RootKind.ALLOCATION:  # memory of the kernel's own is nobody else's
            others[root, way] = None

    for touch in body.touches:
        way = touch.kind, touch.operator
        type = touch.buffer.type
        if (
            touch.buffer in parameters
            and touch.elements is not None
            and isinstance(type, MemRefType)
        ):
            assert isinstance(touch.buffer, BlockArgument)
            set_ = integer_set(touch.elements, type.get_num_dims(), expressions, KERNEL_SYMBOL)
            add(touch.buffer.index, way, set_)
            imprecision.index(touch.op, touch.indices, expressions)
        else:
            roots = aliases.roots(touch.buffer)
            for root in roots:
                add_root(root, way)
            if len(roots) > 1:
                imprecision.several(touch.op, touch.view, roots)
            elif all(root.kind is not RootKind.ALLOCATION for root in roots):
                imprecision.view(touch.op, touch.view)
    for op in body.others:
        for access in accesses(op):
            add_root(access.root, (access.kind, access.operator))
            if access.root.kind in (RootKind.PARAMETER, RootKind.UNKNOWN):
                where = "memory" if access.root.kind is RootKind.UNKNOWN else str(access.root)
                imprecision.note(op, f"any element of {where} may be meant")
    known: list[SymbolicSet] = []
    found = [
        KernelAccess(
            index, kind, _shared(set_, known) if set_ is not None else None, operator=operator
        )
        for (index, (kind, operator)), set_ in sets.items()
    ]
    for root, (kind, operator) in others:
        found.append(KernelAccess(-1, kind, None, root, operator))
        if root.kind is RootKind.UNKNOWN:  # it may be any of the parameters
            for parameter in kernel.parameters:
                if is_memref(parameter):
                    found.append(KernelAccess(parameter.index, AccessKind.READ, None))
                    found.append(KernelAccess(parameter.index, AccessKind.WRITE, None))
    wanted = {
        parameter.index
        for parameter in kernel.parameters
        if isinstance(parameter, BlockArgument) and f"sa{parameter.index}" in expressions.factors
    }
    return KernelSummary(tuple(found), frozenset(wanted))


def _shared(set: isl.Set, known: list[SymbolicSet]) -> SymbolicSet:
    """One of `known` for each set: what is read is often what is written."""
    for other in known:
        if other.set.plain_is_equal(set):
            return other
    known.append(SymbolicSet(set))
    return known[-1]
