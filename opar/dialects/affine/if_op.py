"""The conditional of the `affine` dialect."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import AffineSetAttr, IndexType
from xdsl.ir import Attribute, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import RecursivelySpeculatable, RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from opar.dialects.affine.regions import (
    ensure_yield,
    parse_optional_arrow_types,
    print_arrow_types,
    verify_yield,
)
from opar.dialects.affine.scopes import verify_dims_and_symbols
from opar.dialects.affine.syntax import parse_dims_and_symbols, print_dims_and_symbols


@irdl_op_definition
class IfOp(IRDLOperation):
    """
    Runs one of two regions: `affine.if #set(%d)[%s] -> (f32) { ... } else { ... }`.

    The condition is an integer set over the operands, dimensions then symbols; the first region
    runs where all its constraints hold:
    https://mlir.llvm.org/docs/Dialects/Affine/#affineif-affineaffineifop.
    """

    name = "affine.if"

    args = var_operand_def(IndexType())
    res = var_result_def()
    condition = prop_def(AffineSetAttr)
    then_region = region_def("single_block")
    else_region = region_def()

    traits = traits_def(RecursiveMemoryEffect(), RecursivelySpeculatable())

    def __init__(
        self,
        condition: AffineSetAttr,
        args: Sequence[SSAValue],
        then_region: Region,
        else_region: Region | None = None,
        result_types: Sequence[Attribute] = (),
    ):
        super().__init__(
            operands=[args],
            result_types=[result_types],
            properties={"condition": condition},
            regions=[then_region, else_region or Region()],
        )
        if not result_types:
            ensure_yield(self.then_region)
            if self.else_region.blocks:
                ensure_yield(self.else_region)

    def verify_(self) -> None:
        condition = self.condition.data
        expected = condition.num_dims + condition.num_symbols
        if len(self.args) != expected:
            raise VerifyException(f"the set takes {expected} operands, got {len(self.args)}")
        verify_dims_and_symbols(self, self.args, condition.num_dims)
        if self.res and not self.else_region.blocks:
            raise VerifyException("an operation with results needs an else region")
        for region in self.regions:
            if region.blocks:
                verify_yield(region, self.result_types)

    @classmethod
    def parse(cls, parser: Parser) -> IfOp:
        position = parser.pos
        condition = parser.parse_attribute()
        if not isinstance(condition, AffineSetAttr):
            parser.raise_error("expected an affine set", position)
        dims, symbols = parse_dims_and_symbols(parser)
        if (len(dims), len(symbols)) != (condition.data.num_dims, condition.data.num_symbols):
            parser.raise_error("the operands do not match the dimensions and symbols", position)
        types = parse_optional_arrow_types(parser)
        then_region = parser.parse_region()
        else_region = Region()
        if parser.parse_optional_keyword("else") is not None:
            else_region = parser.parse_region()
            if not types:
                ensure_yield(else_region)
        op = cls(condition, [*dims, *symbols], then_region, else_region, types)
        op.attributes |= parser.parse_optional_attr_dict()
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.condition)
        print_dims_and_symbols(printer, self.args, self.condition.data.num_dims)
        print_arrow_types(printer, self.result_types)
        for keyword, region in ((" ", self.then_region), (" else ", self.else_region)):
            if region.blocks:
                printer.print_string(keyword)
                printer.print_region(region, print_block_terminators=bool(self.res))
        printer.print_op_attributes(self.attributes)
