"""`gpu.barrier`, `gpu.yield`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from xdsl.ir import SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, traits_def, var_operand_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, Pure, ReturnLike

from opar.dialects.gpu.effects import AnyMemoryEffect
from opar.dialects.signature import parse_typed_operands, print_typed_operands


@irdl_op_definition
class BarrierOp(IRDLOperation):
    """`gpu.barrier`: all threads of the block get here, and see each other's writes, before one
    goes on."""

    name = "gpu.barrier"

    traits = traits_def(AnyMemoryEffect())

    def __init__(self) -> None:
        super().__init__()

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        op = cls()
        op.attributes |= parser.parse_optional_attr_dict()
        return op

    def print(self, printer: Printer) -> None:
        printer.print_op_attributes(self.attributes)


@irdl_op_definition
class YieldOp(IRDLOperation):
    """`gpu.yield %v : type`: the value of the region of a reduction."""

    name = "gpu.yield"

    values = var_operand_def()

    traits = traits_def(IsTerminator(), ReturnLike(), Pure())

    def __init__(self, values: Sequence[SSAValue] = ()):
        super().__init__(operands=[values])

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        attributes = parser.parse_optional_attr_dict()
        op = cls(parse_typed_operands(parser))
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_op_attributes(self.attributes)
        print_typed_operands(printer, self.values)
