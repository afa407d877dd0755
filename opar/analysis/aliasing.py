"""
Which memref values may name the same memory.

A memref value is traced to its **roots**, the places its memory can come from:

- ALLOCATION  `memref.alloc`, `memref.alloca`, `gpu.alloc`: overlaps no other allocation, and
              nothing that existed before it (arguments, globals);
- ARGUMENT    an argument of the function: may overlap other arguments and globals, unless it
              carries `llvm.noalias` or the analysis was told that arguments do not overlap.
              A `gpu.alloc {opar.argument = i}` stages argument i and counts as that argument;
- GLOBAL      `memref.get_global`, one root a symbol;
- PARAMETER   a parameter of a kernel: stands for the operand of each launch, and may overlap the
              other parameters; attributions of a kernel are allocations;
- OUTPUT      no memory, but the order in which things are printed;
- UNKNOWN     anything else (results of calls, casts from pointers, ...): may overlap everything.

Views (`memref.subview`, `cast`, `reinterpret_cast`, `view`, `collapse_shape`, `expand_shape`,
`memory_space_cast`, `transpose`, ...) have the roots of their source; `arith.select` and the
results and arguments of structured control flow have those of every value that can reach them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import IntegerAttr, SymbolRefAttr, UnitAttr
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue
from xdsl.traits import IsTerminator, SymbolTable

from opar.dialects import gpu

ARGUMENT_ATTRIBUTE = "opar.argument"
"""On a `gpu.alloc`: the number of the function argument whose contents it stages."""

RESULT_ATTRIBUTE = "opar.result"
"""On a `gpu.alloc`: the number of the function result whose contents it holds."""

_VIEWS = {
    "memref.assume_alignment",
    "memref.cast",
    "memref.collapse_shape",
    "memref.expand_shape",
    "memref.memory_space_cast",
    "memref.reinterpret_cast",
    "memref.subview",
    "memref.transpose",
    "memref.view",
}

_ALLOCATIONS = {"memref.alloc", "memref.alloca", "gpu.alloc"}
_COUNTED_LOOPS = {"affine.for", "scf.for"}


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
    return op.name in _VIEWS


def view_source(value: SSAValue) -> SSAValue:
    """`value` without the views around it."""
    while isinstance(value, OpResult) and is_view(value.op):
        value = value.op.operands[0]
    return value


@dataclass
class AliasAnalysis:
    """
    Roots of memref values, computed on demand and kept.

    `assume_noalias_arguments`: no two arguments of a function overlap. The caller promises it;
    the runtime checks the address ranges of each call before it uses a program compiled so.
    """

    assume_noalias_arguments: bool = False
    _roots: dict[SSAValue, frozenset[Root]] = field(default_factory=dict)

    def roots(self, value: SSAValue) -> frozenset[Root]:
        """Every root that `value` can have: those its sources reach, loops included."""
        found = self._roots.get(value)
        if found is None:
            roots: set[Root] = set()
            seen = {value}
            work = [value]
            while work:
                source = _source(work.pop())
                if isinstance(source, Root):
                    roots.add(source)
                    continue
                work += (new := [v for v in source if v not in seen])
                seen.update(new)
            found = self._roots[value] = frozenset(roots)
        return found

    def is_root(self, value: SSAValue) -> bool:
        """Whether `value` is a root itself: the memory that an argument or allocation names."""
        source = _source(value)
        return isinstance(source, Root) and source.kind is not RootKind.UNKNOWN

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
            return True
        if RootKind.ALLOCATION in kinds or kinds == {RootKind.GLOBAL}:
            return False
        if RootKind.PARAMETER in kinds:
            return True
        if kinds == {RootKind.ARGUMENT}:
            return not (self._is_noalias(a) or self._is_noalias(b))
        return not any(self._is_noalias(r) for r in (a, b) if r.kind is RootKind.ARGUMENT)

    def _is_noalias(self, root: Root) -> bool:
        if self.assume_noalias_arguments:
            return True
        assert isinstance(root.key, BlockArgument)
        function = root.key.block.parent_op()
        return (
            isinstance(function, func.FuncOp)
            and function.arg_attrs is not None
            and isinstance(
                function.arg_attrs.data[root.key.index].data.get("llvm.noalias"), UnitAttr
            )
        )


def _source(value: SSAValue) -> Root | list[SSAValue]:
    """The root that `value` is, or the values that it can be."""
    unknown = Root(RootKind.UNKNOWN, None, value)
    if isinstance(value, BlockArgument):
        parent = value.block.parent_op()
        if isinstance(parent, func.FuncOp) and parent.body.blocks.first is value.block:
            return Root(RootKind.ARGUMENT, value, value)
        if parent is not None and parent.name in _COUNTED_LOOPS and value.index > 0:
            return [_init(parent, value.index - 1), *_yielded(parent, value.index - 1)]
        if isinstance(parent, gpu.FuncOp):
            is_parameter = value.index < len(parent.function_type.inputs)
            kind = RootKind.PARAMETER if is_parameter else RootKind.ALLOCATION
            return Root(kind, value, value)
        if isinstance(parent, gpu.LaunchOp):
            return Root(RootKind.ALLOCATION, value, value)
        return unknown
    assert isinstance(value, OpResult)
    op = value.op
    if is_view(op):
        return [op.operands[0]]
    if op.name in _ALLOCATIONS:
        return _allocation_root(op, value)
    if op.name == "memref.get_global":
        symbol = op.properties.get("name", op.attributes.get("name"))
        assert isinstance(symbol, SymbolRefAttr)
        # Modules within a module have globals of their own.
        return Root(RootKind.GLOBAL, SymbolTable.lookup_symbol(op, symbol) or symbol, value)
    if isinstance(op, arith.SelectOp):
        return [op.lhs, op.rhs]
    if op.name in ("scf.if", "affine.if", "scf.execute_region"):
        return _yielded(op, value.index) or unknown
    if op.name in _COUNTED_LOOPS:
        return [_init(op, value.index), *_yielded(op, value.index)]
    return unknown


def _init(loop: Operation, index: int) -> SSAValue:
    """The initial value of iteration argument `index` of a loop: inits are the last operands."""
    return loop.operands[len(loop.operands) - len(loop.results) + index]


def _yielded(op: Operation, index: int) -> list[SSAValue]:
    """What the terminators of the regions of `op` yield for its result `index`."""
    return [
        last.operands[index]
        for region in op.regions
        for block in region.blocks
        if (last := block.last_op) is not None
        and last.has_trait(IsTerminator)
        and index < len(last.operands)
    ]


def _allocation_root(op: Operation, value: SSAValue) -> Root:
    staged = op.attributes.get(ARGUMENT_ATTRIBUTE)
    function = op.parent_op()
    while function is not None and not isinstance(function, func.FuncOp):
        function = function.parent_op()
    if isinstance(staged, IntegerAttr) and isinstance(function, func.FuncOp):
        return Root(RootKind.ARGUMENT, function.body.blocks[0].args[staged.value.data], value)
    return Root(RootKind.ALLOCATION, value, value)


def root(value: SSAValue) -> SSAValue:
    """The value that `value` is a view of, through any number of views."""
    return view_source(value)


def may_alias(a: SSAValue, b: SSAValue) -> bool:
    """`AliasAnalysis().may_alias(a, b)`, for a single question."""
    return AliasAnalysis().may_alias(a, b)
