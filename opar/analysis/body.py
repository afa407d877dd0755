"""
Which elements the operations of a body touch: one integer set for each buffer and kind of access.

The body is a kernel's, or that of a loop or branch on the host. Loops bound their variable,
branches add their condition; what is not understood leaves its name free, so that a set can only
be too large. Indices are within the bounds of the memref they index, as MLIR demands.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.ir import Block, Operation, Region, SSAValue

from opar.analysis.access import AccessKind
from opar.analysis.loops import limits_of
from opar.analysis.symbolic import Expressions
from opar.analysis.views import coordinates
from opar.dialects import affine, gpu, memref, scf
from opar.dialects.reduction_kind import ReductionKind

READ, WRITE, UPDATE = AccessKind.READ, AccessKind.WRITE, AccessKind.UPDATE

_ACCESSES = {
    "memref.load": READ,
    "memref.store": WRITE,
    "vector.load": READ,
    "vector.store": WRITE,
}


@dataclass(frozen=True)
class Touch:
    """
    Operation `op` touches `buffer`, itself no view, through `view` at `indices`. `elements` are
    constraints on its coordinates e0, e1, ...; None where nothing is known.
    """

    op: Operation
    view: SSAValue
    buffer: SSAValue
    kind: AccessKind
    elements: tuple[str, ...] | None
    operator: str | None = None
    indices: tuple[str, ...] = ()


@dataclass
class Body:
    """
    Walks a body and collects what its loads, stores and atomic updates touch. `commuting`: updates
    that may change places with others of the same operator have it.
    """

    expressions: Expressions
    commuting: bool = False
    touches: list[Touch] = field(default_factory=list)
    others: list[Operation] = field(default_factory=list)
    """Operations that are no loads or stores and have no regions that are understood."""

    def walk(self, ops: Iterable[Operation], guards: tuple[str, ...] = ()) -> None:
        """Collect the accesses of `ops`, which run where all `guards` hold."""
        for op in ops:
            match op:
                case affine.ParallelOp():
                    self._loop(op.induction_variables, op.body.block, guards)
                case affine.ForOp() | scf.ForOp():
                    self._loop((op.induction_variable,), op.body.block, guards)
                case affine.IfOp():
                    self._branches(
                        op.regions,
                        [self.expressions.affine_condition(op, holds) for holds in (True, False)],
                        guards,
                    )
                case scf.IfOp():
                    conditions = [self.expressions.condition(op.cond, h) for h in (True, False)]
                    self._branches(op.regions, conditions, guards)
                case _ if not self.access(op, guards):
                    self._other(op, guards)

    def _of(self, value: SSAValue) -> str:
        return self.expressions.of(value)

    def _other(self, op: Operation, guards: tuple[str, ...]) -> None:
        if op.name.partition(".")[0] == "scf":
            for region in op.regions:
                for block in region.blocks:
                    self.walk(block.ops, guards)
        else:
            self.others.append(op)

    def _branches(
        self,
        regions: Sequence[Region],
        conditions: Sequence[str | None],
        guards: tuple[str, ...],
    ) -> None:
        for region, condition in zip(regions, conditions, strict=True):
            inside = guards if condition is None else (*guards, condition)
            for block in region.blocks:
                self.walk(block.ops, inside)

    def _loop(self, variables: Sequence[SSAValue], block: Block, guards: tuple[str, ...]) -> None:
        for variable in variables:
            name = self.expressions.known[variable] = self.expressions.new("v")
            limits = limits_of(variable, name, self.expressions)
            if limits:
                self.expressions.definitions[name] = " and ".join(limits)
        self.walk(block.ops, guards)

    def access(self, op: Operation, guards: tuple[str, ...] = ()) -> bool:
        """Record a load, store or atomic update of an element; false for anything else."""
        operator = None
        match op:
            case (
                affine.LoadOp() | affine.VectorLoadOp() | affine.StoreOp() | affine.VectorStoreOp()
            ):
                indices = self.expressions.map(op.map.data, op.indices)
                loads = isinstance(op, affine.LoadOp | affine.VectorLoadOp)
                kind, value = READ if loads else WRITE, op.memref
            case memref.AtomicRMWOp() | memref.GenericAtomicRMWOp():
                indices = [self._of(v) for v in op.indices]
                kind, value = UPDATE, op.memref
                if self.commuting and isinstance(op, memref.AtomicRMWOp):
                    operator = _commuting_operator(op)
            case _ if op.name in _ACCESSES:
                value = _memref_operand(op)
                indices = [self._of(v) for v in op.indices]  # pyright: ignore
                kind = _ACCESSES[op.name]
            case _:
                return False
        elements = self._elements(op, value, indices, guards)
        buffer, _ = coordinates(value, None, self.expressions)
        self.touches.append(Touch(op, value, buffer, kind, elements, operator, tuple(indices)))
        return True

    def _elements(
        self, op: Operation, value: SSAValue, indices: list[str], guards: tuple[str, ...]
    ) -> tuple[str, ...] | None:
        assert isinstance(value.type, MemRefType)
        shape = value.type.get_shape()
        if len(indices) != len(shape):
            return None
        limits = list(guards)
        wide = _vector_length(op)
        if wide != 1 and indices:  # a vector along the last dimension
            lane = self.expressions.new("v")
            limits.append(f"0 <= {lane} and {lane} < {wide}")
            indices = [*indices[:-1], f"({indices[-1]} + {lane})"]
        for index, size in zip(indices, shape, strict=True):
            limits.append(f"0 <= {index}")
            if size != DYNAMIC_INDEX:
                limits.append(f"{index} < {size}")
        _, found = coordinates(value, indices, self.expressions)
        if found is None:
            return None
        return (*limits, *(f"e{d} = {e}" for d, e in enumerate(found)))


def _commuting_operator(op: memref.AtomicRMWOp) -> str | None:
    """Its operator, if the order of such updates shows in nothing but the rounding of floats."""
    kind = op.reduction_kind
    return None if op.result.uses or kind is ReductionKind.assign else kind.name


def _memref_operand(op: Operation) -> SSAValue:
    return next(v for v in op.operands if isinstance(v.type, MemRefType))


def _vector_length(op: Operation) -> int:
    from xdsl.dialects.builtin import VectorType

    for value in (*op.results, *op.operands):
        if isinstance(value.type, VectorType):
            length = 1
            for size in value.type.get_shape():
                length *= size
            return length
    return 1


def ids_of(kernel: gpu.FuncOp, expressions: Expressions) -> None:
    """
    Name the ids and sizes of a kernel: sizes are symbols `sb0` (block) and `sg0` (grid), or numbers
    where the kernel knows them; ids lie below them.
    """
    sizes = {
        "block": _known(kernel.known_block_size, "sb"),
        "grid": _known(kernel.known_grid_size, "sg"),
    }
    named: dict[str, str] = {}
    for op in kernel.body.walk():
        if not isinstance(op, gpu.DimensionIdOp):
            continue
        d = "xyz".index(str(op.dimension.data))
        match op:
            case gpu.BlockDimOp():
                expressions.known[op.result] = sizes["block"][d]
            case gpu.GridDimOp():
                expressions.known[op.result] = sizes["grid"][d]
            case gpu.ThreadIdOp():
                expressions.known[op.result] = _id("t", d, sizes["block"], named, expressions)
            case gpu.BlockIdOp():
                expressions.known[op.result] = _id("b", d, sizes["grid"], named, expressions)
            case gpu.GlobalIdOp() if sizes["block"][d].isdigit():
                block = _id("b", d, sizes["grid"], named, expressions)
                thread = _id("t", d, sizes["block"], named, expressions)
                expressions.known[op.result] = f"({sizes['block'][d]} * {block} + {thread})"


def _known(sizes: object, prefix: str) -> list[str]:
    values = getattr(sizes, "get_values", None)
    if values is None:
        return [f"{prefix}{d}" for d in range(3)]
    return [str(int(n)) for n in values()]


def _id(
    kind: str, d: int, sizes: Sequence[str], named: dict[str, str], expressions: Expressions
) -> str:
    name = f"v{kind}{d}"
    if name not in named:
        named[name] = name
        expressions.definitions[name] = f"0 <= {name} and {name} < {sizes[d]}"
    return name
