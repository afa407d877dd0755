"""`gpu.warp_execute_on_lane_0`: code that one lane runs for its whole subgroup."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from xdsl.dialects.builtin import IndexType, IntegerAttr, VectorType, i64
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from opar.dialects.gpu.sync import YieldOp


@irdl_op_definition
class WarpExecuteOnLane0Op(IRDLOperation):
    """
    `%r = gpu.warp_execute_on_lane_0(%lane)[32] args(%v : vector<4xf32>) -> (vector<1xf32>) {...}`:
    lane 0 runs the body. Vectors are whole in the body and distributed over the lanes outside.
    """

    name = "gpu.warp_execute_on_lane_0"

    laneid = operand_def(IndexType)
    warp_size = prop_def(IntegerAttr)
    arguments = var_operand_def()
    res = var_result_def()
    body = region_def("single_block")

    traits = traits_def(RecursiveMemoryEffect())

    def __init__(
        self,
        laneid: SSAValue,
        warp_size: int,
        body: Region,
        arguments: Sequence[SSAValue] = (),
        result_types: Sequence[Attribute] = (),
    ):
        super().__init__(
            operands=[laneid, arguments],
            properties={"warp_size": IntegerAttr(warp_size, i64)},
            result_types=[result_types],
            regions=[body],
        )

    def verify_(self) -> None:
        block = self.body.block
        if len(block.args) != len(self.arguments):
            raise VerifyException(
                f"the body takes {len(block.args)} values, but {len(self.arguments)} are given"
            )
        if not isinstance(end := block.last_op, YieldOp):
            raise VerifyException("the body does not end in 'gpu.yield'")
        if len(end.values) != len(self.res):
            raise VerifyException(
                f"the body yields {len(end.values)} values, but there are {len(self.res)} results"
            )
        lanes = self.warp_size.value.data
        pairs = [
            *zip(block.args, self.arguments, strict=True),
            *zip(end.values, self.res, strict=True),
        ]
        for whole, part in pairs:
            _verify_distribution(whole.type, part.type, lanes)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        def typed() -> SSAValue:
            value = parser.parse_unresolved_operand()
            parser.parse_punctuation(":")
            return parser.resolve_operand(value, parser.parse_type())

        with parser.in_parens():
            lane = parser.resolve_operand(parser.parse_unresolved_operand(), IndexType())
        with parser.in_square_brackets():
            warp_size = parser.parse_integer()
        arguments: list[SSAValue] = []
        if parser.parse_optional_keyword("args") is not None:
            arguments = parser.parse_comma_separated_list(parser.Delimiter.PAREN, typed)
        results: Sequence[Attribute] = ()
        if parser.parse_optional_punctuation("->") is not None:
            results = parser.parse_optional_comma_separated_list(
                parser.Delimiter.PAREN, parser.parse_type
            ) or [parser.parse_type()]
        body = parser.parse_region()
        if not body.blocks:
            body.add_block(Block())
        last = body.blocks[-1].last_op
        if last is None or not last.has_trait(IsTerminator):
            body.blocks[-1].add_op(YieldOp())
        op = cls(lane, warp_size, body, arguments, results)
        op.attributes |= parser.parse_optional_attr_dict()
        return op

    def print(self, printer: Printer) -> None:
        def typed(value: SSAValue) -> None:
            printer.print_operand(value)
            printer.print_string(" : ")
            printer.print_attribute(value.type)

        with printer.in_parens():
            printer.print_operand(self.laneid)
        printer.print_string(f"[{self.warp_size.value.data}]")
        if self.arguments:
            printer.print_string(" args")
            with printer.in_parens():
                printer.print_list(self.arguments, typed)
        if self.res:
            printer.print_string(" -> ")
            with printer.in_parens():
                printer.print_list([value.type for value in self.res], printer.print_attribute)
        printer.print_string(" ")
        printer.print_region(self.body)
        printer.print_op_attributes(self.attributes)


def _verify_distribution(whole: Attribute, part: Attribute, lanes: int) -> None:
    """A value is the same inside and outside, or a vector cut into `lanes` equal parts."""
    if whole == part:
        return
    message = f"{whole} is not {lanes} times {part}"
    if not isinstance(whole, VectorType) or not isinstance(part, VectorType):
        raise VerifyException(message)
    scale = 1
    if whole.element_type != part.element_type or whole.get_num_dims() != part.get_num_dims():
        raise VerifyException(message)
    for large, small in zip(whole.get_shape(), part.get_shape(), strict=True):
        if large % small:
            raise VerifyException(message)
        scale *= large // small
    if scale != lanes:
        raise VerifyException(message)
