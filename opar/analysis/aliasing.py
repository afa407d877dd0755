"""
Which memref values may name the same memory.

A memref value is traced to its **roots**, the places its memory can come from:

- ALLOCATION  `memref.alloc`, `memref.alloca`, `gpu.alloc`, or what a called function allocates and
              returns: overlaps no other allocation, and nothing that existed before it (arguments,
              globals);
- ARGUMENT    an argument of the function: may overlap other arguments and globals, unless it
              carries `llvm.noalias`, or all calls of the function pass memory that does not, and
              those from outside the module neither: the function is private, or the analysis was
              told that such arguments do not overlap. A `gpu.alloc {opar.argument = i}` stages
              argument i and counts as that argument;
- GLOBAL      `memref.get_global`, one root a symbol;
- PARAMETER   a parameter of a kernel: stands for the operand of each launch, and may overlap the
              other parameters; attributions of a kernel are allocations;
- OUTPUT      no memory, but the order in which things are printed;
- UNKNOWN     anything else (results of unknown calls, casts from pointers, ...): may overlap
              everything but allocations, and arguments that overlap nothing, that did not escape.

Views (`memref.subview`, `cast`, `reinterpret_cast`, `view`, `collapse_shape`, `expand_shape`,
`memory_space_cast`, `transpose`, ...) have the roots of their source; what goes through selects,
control flow and `async` has those of every value that can reach it (`opar.analysis.sources`), the
result of a call those of what the function returns.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from xdsl.dialects import func
from xdsl.dialects.builtin import IntegerAttr, SymbolRefAttr, UnitAttr
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue
from xdsl.traits import SymbolTable

from opar.analysis.calls import CallGraph, enclosing_function
from opar.analysis.escape import escaping_values
from opar.analysis.sources import VIEWS, argument_sources, result_sources
from opar.dialects import gpu, memref

ARGUMENT_ATTRIBUTE = "opar.argument"
"""On a `gpu.alloc`: the number of the function argument whose contents it stages."""

RESULT_ATTRIBUTE = "opar.result"
"""On a `gpu.alloc`: the number of the function result whose contents it holds."""

_ALLOCATIONS = {"memref.alloc", "memref.alloca", "gpu.alloc"}


class RootKind(Enum):
    """Where the memory of a root comes from."""

    ALLOCATION = "allocation"
    ARGUMENT = "argument"
    GLOBAL = "global"
    PARAMETER = "parameter"
    OUTPUT = "output"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Root:
    """One place that memory comes from; `key` identifies it, `value` names it in the IR."""

    kind: RootKind
    key: object
    value: SSAValue | None = field(compare=False, default=None)

    def __str__(self) -> str:
        if self.kind is RootKind.GLOBAL:
            name = getattr(self.key, "sym_name", None)
            return f"@{name.data}" if name is not None else str(self.key)
        if self.kind is RootKind.OUTPUT:
            return "what is printed"
        if isinstance(self.value, BlockArgument):
            return f"%{self.value.name_hint or f'arg{self.value.index}'}"
        if self.value is not None and self.value.name_hint:
            return f"%{self.value.name_hint}"
        return f"an {self.kind.value}"


UNKNOWN = Root(RootKind.UNKNOWN, None)
OUTPUT = Root(RootKind.OUTPUT, None)


def is_view(op: Operation) -> bool:
    """Whether the result of `op` is another shape of the memory of its first operand."""
    return op.name in VIEWS


def view_source(value: SSAValue) -> SSAValue:
    """`value` without the views around it."""
    while isinstance(value, OpResult) and is_view(value.op):
        value = value.op.operands[0]
    return value


@dataclass
class AliasAnalysis:
    """
    Roots of memref values, computed on demand and kept.

    `assume_noalias_arguments`: no two arguments of a function called from outside the module
    overlap. The caller promises it; the runtime checks the address ranges of each call before it
    uses a program compiled so.
    """

    assume_noalias_arguments: bool = False
    calls: CallGraph = field(default_factory=CallGraph)
    _roots: dict[SSAValue, frozenset[Root]] = field(default_factory=dict)
    _escaped: dict[Operation, frozenset[Root]] = field(default_factory=dict)
    _asked: set[tuple[Root, Root]] = field(default_factory=set)

    def roots(self, value: SSAValue) -> frozenset[Root]:
        """Every root that `value` can have: those its sources reach, loops included."""
        found = self._roots.get(value)
        if found is None:
            roots: set[Root] = set()
            seen = {value}
            work = [value]
            while work:
                for source in self._sources(work.pop()):
                    if isinstance(source, Root):
                        roots.add(source)
                    elif source not in seen:
                        seen.add(source)
                        work.append(source)
            found = self._roots[value] = frozenset(roots or {UNKNOWN})
        return found

    def is_root(self, value: SSAValue) -> bool:
        """Whether `value` is a root itself: the memory that an argument or allocation names."""
        roots = self.roots(value)
        return len(roots) == 1 and all(
            root.value is value and root.kind is not RootKind.UNKNOWN for root in roots
        )

    def may_alias(self, a: SSAValue, b: SSAValue) -> bool:
        """Whether any element of `a` can be an element of `b`."""
        return any(self.roots_may_alias(x, y) for x in self.roots(a) for y in self.roots(b))

    def roots_may_alias(self, a: Root, b: Root) -> bool:
        """Whether the memory of two roots can overlap. Symmetric; true for equal roots."""
        if a == b:
            return True
        kinds = {a.kind, b.kind}
        if RootKind.OUTPUT in kinds:
            return False
        if RootKind.UNKNOWN in kinds:
            return self.is_exposed(b if a.kind is RootKind.UNKNOWN else a)
        if RootKind.ALLOCATION in kinds or kinds == {RootKind.GLOBAL}:
            return False
        if RootKind.PARAMETER in kinds:
            return True
        return self._argument_may_alias(*((a, b) if a.kind is RootKind.ARGUMENT else (b, a)))

    def is_exposed(self, root: Root) -> bool:
        """Whether operations that are not understood can reach the memory of `root`."""
        match root.kind:
            case RootKind.ALLOCATION:
                return root in self._escaped_in(_function_of(root))
            case RootKind.ARGUMENT:
                function = _function_of(root)
                is_alone = _is_noalias(root) or (
                    self.assume_noalias_arguments
                    and isinstance(function, func.FuncOp)
                    and not self.calls.sites(function)
                )
                return not is_alone or root in self._escaped_in(function)
            case RootKind.OUTPUT:
                return False
            case _:
                return True

    def _argument_may_alias(self, argument: Root, other: Root) -> bool:
        """Whether an argument can overlap another one or a global."""
        if _is_noalias(argument) or (other.kind is RootKind.ARGUMENT and _is_noalias(other)):
            return False
        function = _function_of(argument)
        is_pair = other.kind is RootKind.ARGUMENT and _function_of(other) is function
        if not isinstance(function, func.FuncOp) or (
            other.kind is RootKind.ARGUMENT and not is_pair
        ):
            return not self.assume_noalias_arguments
        sites = self.calls.sites(function)
        visibility = function.sym_visibility
        is_private = visibility is not None and visibility.data == "private"
        if not (self.assume_noalias_arguments or (is_private and sites)):
            return True
        if (argument, other) in self._asked:  # on the way round a recursion: as the other calls say
            return False
        self._asked.add((argument, other))
        found = any(self._pass_overlapping(site, argument, other) for site in sites)
        self._asked.discard((argument, other))
        return found

    def _pass_overlapping(self, site: func.CallOp, argument: Root, other: Root) -> bool:
        passed = self.roots(site.operands[_position(argument)])
        if other.kind is RootKind.ARGUMENT:
            others = self.roots(site.operands[_position(other)])
        else:
            others = frozenset((other,))
        return any(self.roots_may_alias(x, y) for x in passed for y in others)

    def _escaped_in(self, function: func.FuncOp | gpu.FuncOp | None) -> frozenset[Root]:
        """The roots whose memory escapes in a function or kernel."""
        if function is None:
            return frozenset()
        if function not in self._escaped:
            self._escaped[function] = frozenset(
                root
                for value in escaping_values(function, self._keeps)
                for root in self.roots(value)
            )
        return self._escaped[function]

    def _keeps(self, op: Operation, operand: int) -> bool | None:
        """Whether what a launch or call runs lets an operand not escape."""
        match op:
            case gpu.LaunchFuncOp():
                callee = op.lookup_kernel()
                value = op.operands[operand]
                positions = [i for i, v in enumerate(op.kernel_operands) if v is value]
            case func.CallOp():
                callee, positions = self.calls.callee(op), [operand]
            case _:
                return None
        if callee is None or not callee.body.blocks:
            return False
        escaped = self._escaped_in(callee)
        arguments = callee.body.blocks[0].args
        return not any(r in escaped for i in positions for r in self.roots(arguments[i]))

    def _sources(self, value: SSAValue) -> list[Root | SSAValue]:
        """The root that `value` is, or the values and roots that it can be."""
        if isinstance(value, BlockArgument):
            return _argument(value)
        assert isinstance(value, OpResult)
        op = value.op
        found = result_sources(value)
        if found is not None:
            return [*found]
        if op.name in _ALLOCATIONS:
            return [_allocation_root(op, value)]
        match op:
            case memref.GetGlobalOp():
                symbol = op.properties.get("name", op.attributes.get("name"))
                assert isinstance(symbol, SymbolRefAttr)
                # Modules within a module have globals of their own.
                key = SymbolTable.lookup_symbol(op, symbol) or symbol
                return [Root(RootKind.GLOBAL, key, value)]
            case gpu.DynamicSharedMemoryOp():  # all of a kernel's are the same memory
                return [Root(RootKind.ALLOCATION, enclosing_function(op), value)]
            case memref.ReallocOp():
                return [op.source, Root(RootKind.ALLOCATION, value, value)]
            case func.CallOp():
                return self._returned(op, value.index)
            case _:
                return [Root(RootKind.UNKNOWN, None, value)]

    def _returned(self, call: func.CallOp, index: int) -> list[Root | SSAValue]:
        """What result `index` of a call can be, in terms of the caller."""
        callee = self.calls.callee(call)
        if callee is None:
            return [Root(RootKind.UNKNOWN, None, call.results[index])]
        ends = [b.last_op for b in callee.body.blocks if isinstance(b.last_op, func.ReturnOp)]
        found: list[Root | SSAValue] = []
        for root in (r for end in ends for r in self.roots(end.operands[index])):
            if root.kind is RootKind.ARGUMENT and _function_of(root) is callee:
                found.append(call.operands[_position(root)])
            elif root.kind is RootKind.ALLOCATION and not self.is_exposed(root):
                first = next(
                    result
                    for n, result in enumerate(call.results)
                    if any(root in self.roots(end.operands[n]) for end in ends)
                )
                found.append(Root(RootKind.ALLOCATION, first, first))
            elif root.kind is RootKind.GLOBAL:
                found.append(root)
            else:
                found.append(Root(RootKind.UNKNOWN, None, call.results[index]))
        return found


def _argument(value: BlockArgument) -> list[Root | SSAValue]:
    parent = value.block.parent_op()
    found = argument_sources(value)
    if found is not None:
        return [*found]
    match parent:
        case func.FuncOp():
            kind = RootKind.ARGUMENT
        case gpu.FuncOp():
            is_parameter = value.index < len(parent.function_type.inputs)
            kind = RootKind.PARAMETER if is_parameter else RootKind.ALLOCATION
        case gpu.LaunchOp():
            kind = RootKind.ALLOCATION
        case _:
            return [Root(RootKind.UNKNOWN, None, value)]
    return [Root(kind, value, value)]


def _position(argument: Root) -> int:
    assert isinstance(argument.key, BlockArgument)
    return argument.key.index


def _function_of(root: Root) -> func.FuncOp | gpu.FuncOp | None:
    key = root.key
    if isinstance(key, BlockArgument):
        return enclosing_function(key.block.parent_op())
    if isinstance(key, OpResult):
        return enclosing_function(key.op)
    return enclosing_function(key) if isinstance(key, Operation) else None


def _is_noalias(root: Root) -> bool:
    """Whether an argument carries `llvm.noalias`."""
    assert isinstance(root.key, BlockArgument)
    function = _function_of(root)
    return (
        isinstance(function, func.FuncOp)
        and function.arg_attrs is not None
        and isinstance(function.arg_attrs.data[root.key.index].data.get("llvm.noalias"), UnitAttr)
    )


def _allocation_root(op: Operation, value: SSAValue) -> Root:
    staged = op.attributes.get(ARGUMENT_ATTRIBUTE)
    function = enclosing_function(op)
    if isinstance(staged, IntegerAttr) and isinstance(function, func.FuncOp):
        return Root(RootKind.ARGUMENT, function.body.blocks[0].args[staged.value.data], value)
    return Root(RootKind.ALLOCATION, value, value)


def root(value: SSAValue) -> SSAValue:
    """The value that `value` is a view of, through any number of views."""
    return view_source(value)


def may_alias(a: SSAValue, b: SSAValue) -> bool:
    """`AliasAnalysis().may_alias(a, b)`, for a single question."""
    return AliasAnalysis().may_alias(a, b)
