"""What a memref is: its number of dimensions, its address."""

from __future__ import annotations

from xdsl.dialects.builtin import IndexType, MemRefType, UnrankedMemRefType
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import IRDLOperation, base, irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure


@irdl_op_definition
class RankOp(IRDLOperation):
    """
    The number of dimensions: `memref.rank %m : memref<*xf32>`.

    https://mlir.llvm.org/docs/Dialects/MemRef/#memrefrank-memrefrankop
    """

    name = "memref.rank"

    source = operand_def(base(MemRefType) | base(UnrankedMemRefType))
    rank = result_def(IndexType())

    traits = traits_def(Pure())
    assembly_format = "$source attr-dict `:` type($source)"

    def __init__(self, source: SSAValue | Operation):
        super().__init__(operands=[source], result_types=[IndexType()])


@irdl_op_definition
class ExtractAlignedPointerAsIndexOp(IRDLOperation):
    """
    The address of the memory, without the offset of the memref:
    `memref.extract_aligned_pointer_as_index %m : memref<?xf32> -> index`.

    https://mlir.llvm.org/docs/Dialects/MemRef/
    """

    name = "memref.extract_aligned_pointer_as_index"

    source = operand_def(base(MemRefType) | base(UnrankedMemRefType))
    aligned_pointer = result_def(IndexType())

    traits = traits_def(Pure())
    assembly_format = "$source attr-dict `:` type($source) `->` type($aligned_pointer)"

    def __init__(self, source: SSAValue | Operation):
        super().__init__(operands=[source], result_types=[IndexType()])
