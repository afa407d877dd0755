"""Making and freeing memory."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    UnrankedMemRefType,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    base,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind
from xdsl.utils.bitwise_casts import is_power_of_two
from xdsl.utils.exceptions import VerifyException

from opar.dialects.value_effects import AllocatesMemref, FreesMemref


def _alignment(value: int | Attribute | None) -> Attribute | None:
    return IntegerAttr(value, i64) if isinstance(value, int) else value


def verify_alignment(alignment: IntegerAttr | None) -> None:
    """An alignment must be a power of two. Raises `VerifyException`."""
    if alignment is None:
        return
    value = alignment.value.data
    if value <= 0 or not is_power_of_two(value):
        raise VerifyException(f"the alignment must be a power of two, got {value}")


class _AllocationOp(IRDLOperation):
    dynamic_sizes = var_operand_def(IndexType())
    symbol_operands = var_operand_def(IndexType())
    memref = result_def(MemRefType)
    alignment = opt_prop_def(IntegerAttr)

    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    traits = traits_def(AllocatesMemref())
    assembly_format = (
        "`(` $dynamic_sizes `)` (`` `[` $symbol_operands^ `]`)? attr-dict `:` type($memref)"
    )

    def __init__(
        self,
        dynamic_sizes: Sequence[SSAValue | Operation],
        symbol_operands: Sequence[SSAValue | Operation],
        result_type: Attribute,
        alignment: int | Attribute | None = None,
    ):
        super().__init__(
            operands=[dynamic_sizes, symbol_operands],
            result_types=[result_type],
            properties={"alignment": _alignment(alignment)},
        )

    def verify_(self) -> None:
        type = self.memref.type
        assert isinstance(type, MemRefType)
        dynamic = type.get_shape().count(DYNAMIC_INDEX)
        if len(self.dynamic_sizes) != dynamic:
            raise VerifyException(
                f"the type has {dynamic} dynamic sizes, got {len(self.dynamic_sizes)} operands"
            )
        layout = type.layout
        symbols = layout.data.num_symbols if isinstance(layout, AffineMapAttr) else 0
        if len(self.symbol_operands) != symbols:
            raise VerifyException(
                f"the layout has {symbols} symbols, got {len(self.symbol_operands)} operands"
            )
        verify_alignment(self.alignment)


@irdl_op_definition
class AllocOp(_AllocationOp):
    """
    Memory that lives until it is freed: `memref.alloc(%n)[%s] {alignment = 16 : i64} :
    memref<4x?xf32, #layout>`. `dynamic_sizes` are the sizes that the type leaves open,
    `symbol_operands` the symbols of its layout.

    https://mlir.llvm.org/docs/Dialects/MemRef/#memrefalloc-memrefallocop
    """

    name = "memref.alloc"


@irdl_op_definition
class AllocaOp(_AllocationOp):
    """
    Memory on the stack, freed at the end of the scope: `memref.alloca(%n) : memref<?xf32>`.

    https://mlir.llvm.org/docs/Dialects/MemRef/#memrefalloca-memrefallocaop
    """

    name = "memref.alloca"


@irdl_op_definition
class DeallocOp(IRDLOperation):
    """
    Free what `memref.alloc` made: `memref.dealloc %m : memref<?xf32>`.

    https://mlir.llvm.org/docs/Dialects/MemRef/#memrefdealloc-memrefdeallocop
    """

    name = "memref.dealloc"

    memref = operand_def(base(MemRefType) | base(UnrankedMemRefType))

    traits = traits_def(FreesMemref())
    assembly_format = "$memref attr-dict `:` type($memref)"

    def __init__(self, memref: SSAValue | Operation):
        super().__init__(operands=[memref])

    @classmethod
    def get(cls, operand: SSAValue | Operation) -> DeallocOp:
        """The constructor under the name that xDSL gives it."""
        return cls(operand)


class Reallocates(MemoryEffect):
    """Reads and frees the source, allocates and writes the result."""

    @classmethod
    def get_effects(cls, op: Operation) -> set[EffectInstance]:
        assert isinstance(op, ReallocOp)
        return {
            EffectInstance(MemoryEffectKind.READ, op.source),
            EffectInstance(MemoryEffectKind.FREE, op.source),
            EffectInstance(MemoryEffectKind.ALLOC, op.result),
            EffectInstance(MemoryEffectKind.WRITE, op.result),
        }


@irdl_op_definition
class ReallocOp(IRDLOperation):
    """
    Change the size of a one-dimensional allocation, which frees the old one:
    `memref.realloc %m(%n) : memref<4xf32> to memref<?xf32>`.

    https://mlir.llvm.org/docs/Dialects/MemRef/#memrefrealloc-memrefreallocop
    """

    name = "memref.realloc"

    source = operand_def(MemRefType)
    dynamic_result_size = opt_operand_def(IndexType())
    result = result_def(MemRefType)
    alignment = opt_prop_def(IntegerAttr)

    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(Reallocates())
    assembly_format = (
        "$source (`(` $dynamic_result_size^ `)`)? attr-dict `:` type($source) `to` type($result)"
    )

    def __init__(
        self,
        source: SSAValue | Operation,
        result_type: Attribute,
        size: SSAValue | Operation | None = None,
        alignment: int | Attribute | None = None,
    ):
        super().__init__(
            operands=[source, [] if size is None else [size]],
            result_types=[result_type],
            properties={"alignment": _alignment(alignment)},
        )

    def verify_(self) -> None:
        source, result = self.source.type, self.result.type
        assert isinstance(source, MemRefType) and isinstance(result, MemRefType)
        if (
            source.get_num_dims() != 1
            or result.get_num_dims() != 1
            or source.element_type != result.element_type
            or source.memory_space != result.memory_space
        ):
            raise VerifyException("both must have one dimension, the same elements and space")
        if (result.get_shape()[0] == DYNAMIC_INDEX) != (self.dynamic_result_size is not None):
            raise VerifyException("a size must be given exactly where the result type has none")
        verify_alignment(self.alignment)
