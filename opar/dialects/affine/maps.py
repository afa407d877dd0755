"""Values of affine maps: `affine.apply`, `affine.min`, `affine.max`."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import AffineMapAttr, IndexType
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from opar.dialects.affine.scopes import is_induction_variable
from opar.dialects.affine.syntax import (
    parse_map_and_operands,
    print_map_and_operands,
    verify_operand_count,
)


@irdl_op_definition
class ApplyOp(IRDLOperation):
    """
    The result of a map: `affine.apply affine_map<(d0)[s0] -> (d0 * 2 + s0)>(%i)[%n]`.

    The operands are the dimensions of the map, then its symbols:
    https://mlir.llvm.org/docs/Dialects/Affine/#affineapply-affineaffineapplyop.
    """

    name = "affine.apply"

    mapOperands = var_operand_def(IndexType())
    result = result_def(IndexType())
    map = prop_def(AffineMapAttr)

    traits = traits_def(Pure())

    def __init__(self, map_operands: Sequence[SSAValue | Operation], affine_map: AffineMapAttr):
        super().__init__(
            operands=[map_operands],
            properties={"map": affine_map},
            result_types=[IndexType()],
        )

    def verify_(self) -> None:
        verify_operand_count(self.map, self.mapOperands)
        if len(self.map.data.results) != 1:
            raise VerifyException("the map must have one result")
        if any(is_induction_variable(v) for v in self.mapOperands[self.map.data.num_dims :]):
            raise VerifyException("a loop variable cannot be used as a symbol")

    @classmethod
    def parse(cls, parser: Parser) -> ApplyOp:
        map, operands = parse_map_and_operands(parser)
        op = cls(operands, map)
        op.attributes |= parser.parse_optional_attr_dict()
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        print_map_and_operands(printer, self.map, self.mapOperands)
        printer.print_op_attributes(self.attributes)


class _MinMaxOp(IRDLOperation):
    arguments = var_operand_def(IndexType())
    result = result_def(IndexType())
    map = prop_def(AffineMapAttr)

    traits = traits_def(Pure())

    def __init__(self, map_operands: Sequence[SSAValue | Operation], affine_map: AffineMapAttr):
        super().__init__(
            operands=[map_operands],
            properties={"map": affine_map},
            result_types=[IndexType()],
        )

    def verify_(self) -> None:
        verify_operand_count(self.map, self.arguments)
        if not self.map.data.results:
            raise VerifyException("the map must have at least one result")

    @classmethod
    def parse(cls, parser: Parser):
        map, operands = parse_map_and_operands(parser)
        op = cls(operands, map)
        op.attributes |= parser.parse_optional_attr_dict()
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        print_map_and_operands(printer, self.map, self.arguments)
        printer.print_op_attributes(self.attributes)


@irdl_op_definition
class MinOp(_MinMaxOp):
    """
    The least of the results of a map: `affine.min affine_map<(d0) -> (d0, 8)>(%i)`:
    https://mlir.llvm.org/docs/Dialects/Affine/#affinemin-affineaffineminop.
    """

    name = "affine.min"


@irdl_op_definition
class MaxOp(_MinMaxOp):
    """
    The greatest of the results of a map: `affine.max affine_map<(d0) -> (d0, 8)>(%i)`:
    https://mlir.llvm.org/docs/Dialects/Affine/#affinemax-affineaffinemaxop.
    """

    name = "affine.max"
