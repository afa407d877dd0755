"""
Which values may be dimensions and symbols of affine maps and sets:
https://mlir.llvm.org/docs/Dialects/Affine/#restrictions-on-dimensions-and-symbols.

The rules are those of MLIR's `isValidDim` and `isValidSymbol`. Values that are defined at the top
of an affine scope (a module, a function, a kernel, a launch) do not change within it, so that they
may be either. A dimension may also be a variable of an affine loop, or computed from dimensions by
`affine.apply`, `affine.delinearize_index` and `affine.linearize_index`.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    IndexType,
    IntegerAttr,
    MemRefType,
    UnrankedMemRefType,
)
from xdsl.ir import Block, Operation, OpResult, Region, SSAValue
from xdsl.traits import ConstantLike, IsolatedFromAbove, Pure
from xdsl.utils.exceptions import VerifyException

AFFINE_SCOPES = frozenset({"builtin.module", "func.func", "gpu.func", "gpu.launch"})
"""The operations with MLIR's trait `AffineScope`."""

_AFFINE_LOOPS = frozenset({"affine.for", "affine.parallel"})
_INDEX_SPLITS = frozenset({"affine.delinearize_index", "affine.linearize_index"})


def is_induction_variable(value: SSAValue) -> bool:
    """Whether the value is the variable of an `affine.for`, or one of an `affine.parallel`."""
    block = value.owner
    if not isinstance(block, Block) or (loop := block.parent_op()) is None:
        return False
    return loop.name == "affine.parallel" or (loop.name == "affine.for" and value is block.args[0])


def is_top_level(value: SSAValue) -> bool:
    """Whether the value is defined at the top of an affine scope."""
    parent = value.owner.parent_op()
    return parent is not None and parent.name in AFFINE_SCOPES


def affine_scope(op: Operation) -> Region | None:
    """The region of the innermost affine scope around the operation."""
    while (parent := op.parent_op()) is not None:
        if parent.name in AFFINE_SCOPES:
            return op.parent_region()
        op = parent
    return None


def is_valid_symbol(value: SSAValue, scope: Region | None) -> bool:
    """Whether the value may be a symbol in `scope`."""
    return _Check().symbol(value, scope)


def is_valid_dim(value: SSAValue, scope: Region | None) -> bool:
    """Whether the value may be a dimension in `scope`."""
    return _Check().dim(value, scope)


def verify_dims_and_symbols(op: Operation, operands: Sequence[SSAValue], num_dims: int) -> None:
    """
    The first `num_dims` of `operands` must be valid dimensions, the others valid symbols. Raises
    `VerifyException`. Operations outside of any affine scope are not checked.
    """
    if (scope := affine_scope(op)) is None:
        return
    check = _Check()
    for position, value in enumerate(operands):
        if position < num_dims:
            if not check.dim(value, scope):
                raise VerifyException(
                    f"operand {_describe(value)} cannot be used as a dimension id: it must be a "
                    "variable of an affine loop, an affine.apply of such, or a valid symbol"
                )
        elif not check.symbol(value, scope):
            raise VerifyException(
                f"operand {_describe(value)} cannot be used as a symbol: it must be constant, come "
                "from the top of the function, or be computed from such without effects"
            )


def _describe(value: SSAValue) -> str:
    if value.name_hint is not None:
        return f"%{value.name_hint}"
    if isinstance(value, OpResult):
        return f"from '{value.op.name}'"
    return "of the block"


class _Check:
    """One check, remembering what it found: the operands of pure operations form a graph."""

    def __init__(self) -> None:
        self._symbols: dict[tuple[SSAValue, Region | None], bool] = {}
        self._dims: dict[SSAValue, bool] = {}

    def dim(self, value: SSAValue, scope: Region | None) -> bool:
        if value not in self._dims:
            self._dims[value] = self._is_dim(value, scope)
        return self._dims[value]

    def symbol(self, value: SSAValue, scope: Region | None) -> bool:
        key = value, scope
        if key not in self._symbols:
            self._symbols[key] = self._is_symbol(value, scope)
        return self._symbols[key]

    def _is_dim(self, value: SSAValue, scope: Region | None) -> bool:
        if not isinstance(value.type, IndexType):
            return False
        if is_induction_variable(value) or self.symbol(value, scope):
            return True
        if not isinstance(value, OpResult):
            return False
        op = value.op
        if op.name == "affine.apply" or op.name in _INDEX_SPLITS:
            return all(self.dim(operand, scope) for operand in op.operands)
        return op.name == "memref.dim" and is_top_level(op.operands[0])

    def _is_symbol(self, value: SSAValue, scope: Region | None) -> bool:
        if not isinstance(value.type, IndexType):
            return False
        if scope is not None and _region_of(value) is scope:
            return True
        if isinstance(value, OpResult):
            op = value.op
            if op.has_trait(ConstantLike):
                return True
            if op.name == "memref.dim":
                return self._is_symbolic_size(op, scope)
            if op.has_trait(Pure) and all(self.symbol(operand, scope) for operand in op.operands):
                return True
        return self._symbol_outside(value, scope)

    def _symbol_outside(self, value: SSAValue, scope: Region | None) -> bool:
        """Values that dominate a scope that sees what is around it, such as a launch."""
        owner = scope.parent if scope is not None else None
        if owner is None or owner.has_trait(IsolatedFromAbove):
            return False
        outside = owner.parent_region()
        return outside is not None and self.symbol(value, outside)

    def _is_symbolic_size(self, op: Operation, scope: Region | None) -> bool:
        """A `memref.dim` of a top-level memref, or of one whose size there is a symbol."""
        if is_top_level(op.operands[0]):
            return True
        source, index = op.operands
        if not isinstance(source, OpResult) or not isinstance(index, OpResult):
            return False
        dimension = index.op.properties.get("value")
        if index.op.name != "arith.constant" or not isinstance(dimension, IntegerAttr):
            return False
        maker = source.op
        while maker.name == "memref.cast":
            source = maker.operands[0]
            if isinstance(source.type, UnrankedMemRefType) or not isinstance(source, OpResult):
                return False
            maker = source.op
        sizes = _dynamic_sizes(maker)
        type = source.type
        if sizes is None or not isinstance(type, MemRefType):
            return False
        shape, d = type.get_shape(), dimension.value.data
        if not 0 <= d < len(shape):
            return False
        if shape[d] != DYNAMIC_INDEX:
            return True
        return self.symbol(sizes[shape[:d].count(DYNAMIC_INDEX)], scope)


def _region_of(value: SSAValue) -> Region | None:
    block = value.owner if isinstance(value.owner, Block) else value.owner.parent_block()
    return None if block is None else block.parent_region()


def _dynamic_sizes(op: Operation) -> Sequence[SSAValue] | None:
    """The operands for the dynamic dimensions of the memref that `op` makes."""
    if op.name == "memref.alloc":
        return getattr(op, "dynamic_sizes")  # noqa: B009
    if op.name in ("memref.view", "memref.subview"):
        return getattr(op, "sizes")  # noqa: B009
    return None
