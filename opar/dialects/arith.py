"""xDSL's `arith` dialect, and an operation of MLIR's that it lacks."""

from __future__ import annotations

from xdsl.dialects.arith import Arith as XdslArith
from xdsl.dialects.builtin import IndexType, IntegerType
from xdsl.ir import Attribute, Dialect, Operation, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException


@irdl_op_definition
class IndexCastUIOp(IRDLOperation):
    """
    The same number as another integer type, filled up with zeros where that is wider:
    `arith.index_castui %i : i32 to index`.

    https://mlir.llvm.org/docs/Dialects/ArithOps/#arithindex_castui-arithindexcastuiop
    """

    name = "arith.index_castui"

    input = operand_def(IntegerType | IndexType)
    result = result_def(IntegerType | IndexType)

    traits = traits_def(Pure())
    assembly_format = "$input attr-dict `:` type($input) `to` type($result)"

    def __init__(self, input: SSAValue | Operation, type: Attribute):
        super().__init__(operands=[input], result_types=[type])

    def verify_(self) -> None:
        if isinstance(self.input.type, IndexType) == isinstance(self.result.type, IndexType):
            raise VerifyException("one of the operand and the result must be an index")


Arith = Dialect(
    "arith",
    [*XdslArith.operations, IndexCastUIOp],
    [*XdslArith.attributes],
)
