"""The general loop of the `scf` dialect."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from opar.dialects.scf.regions import (
    Body,
    ConditionOp,
    parse_assignment,
    print_assignments,
    verify_types,
    verify_yield,
)


@irdl_op_definition
class WhileOp(IRDLOperation):
    """
    Runs two regions in turn until the first says no:

        %r = scf.while (%a = %init) : (f32) -> i32 {
          scf.condition(%c) %x : i32
        } do {
        ^bb0(%b: i32):
          scf.yield %y : f32
        }

    The values of `scf.condition` go to the second region, and at the end to the results:
    https://mlir.llvm.org/docs/Dialects/SCFDialect/#scfwhile-scfwhileop.
    """

    name = "scf.while"

    arguments = var_operand_def()
    res = var_result_def()
    before_region = region_def("single_block")
    after_region = region_def("single_block")

    traits = traits_def(RecursiveMemoryEffect())

    def __init__(
        self,
        arguments: Sequence[SSAValue | Operation],
        result_types: Sequence[Attribute],
        before_region: Body,
        after_region: Body,
    ):
        super().__init__(
            operands=[arguments],
            result_types=[result_types],
            regions=[before_region, after_region],
        )

    def verify_(self) -> None:
        types = [v.type for v in self.arguments]
        before, after = self.before_region.block, self.after_region.block
        verify_types("the arguments of the first region", before.args, types)
        if not isinstance(before.last_op, ConditionOp):
            raise VerifyException("the first region must end in scf.condition")
        verify_types("the values of scf.condition", before.last_op.args, self.result_types)
        verify_types("the arguments of the second region", after.args, self.result_types)
        verify_yield(self.after_region, types)

    @classmethod
    def parse(cls, parser: Parser) -> WhileOp:
        pairs = (
            parser.parse_optional_comma_separated_list(
                parser.Delimiter.PAREN, lambda: parse_assignment(parser)
            )
            or []
        )
        parser.parse_punctuation(":")
        position = parser.pos
        type = parser.parse_function_type()
        inputs = type.inputs.data
        operands = parser.resolve_operands([operand for _, operand in pairs], inputs, position)
        before = parser.parse_region(
            [a.resolve(t) for (a, _), t in zip(pairs, inputs, strict=True)]
        )
        parser.parse_keyword("do")
        after = parser.parse_region()
        op = cls(operands, type.outputs.data, before, after)
        if (attributes := parser.parse_optional_attr_dict_with_keyword()) is not None:
            op.attributes |= attributes.data
        return op

    def print(self, printer: Printer) -> None:
        if self.arguments:
            printer.print_string(" ")
            print_assignments(printer, self.before_region.block.args, self.arguments)
        printer.print_string(" : ")
        printer.print_operation_type(self)
        printer.print_string(" ")
        printer.print_region(self.before_region, print_entry_block_args=False)
        printer.print_string(" do ")
        printer.print_region(self.after_region)
        printer.print_op_attributes(self.attributes, print_keyword=True)
