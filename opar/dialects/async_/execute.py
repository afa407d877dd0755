"""Regions that run concurrently, and waiting for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from xdsl.dialects.builtin import (
    IndexType,
)
from xdsl.ir import (
    Attribute,
    Region,
    SSAValue,
)
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    lazy_traits_def,
    operand_def,
    opt_result_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import (
    HasParent,
    IsTerminator,
    Pure,
    RecursiveMemoryEffect,
    ReturnLike,
)
from xdsl.utils.exceptions import VerifyException

from opar.dialects.async_.types import (
    CompletionEffect,
    GroupType,
    TokenType,
    ValueType,
    check_types,
    unwrap,
)
from opar.dialects.signature import (
    parse_typed_operands,
    print_typed_operands,
)


@irdl_op_definition
class YieldOp(IRDLOperation):
    """`async.yield %v : f32`: the end of an `async.execute`, with the values it returns."""

    name = "async.yield"

    values = var_operand_def()

    traits = lazy_traits_def(lambda: (HasParent(ExecuteOp), IsTerminator(), ReturnLike(), Pure()))

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


@irdl_op_definition
class ExecuteOp(IRDLOperation):
    """
    `%t, %r = async.execute [%d] (%v as %x: !async.value<f32>) -> !async.value<f32> { ... }`: run
    the body, not before `dependencies` are complete and `body_operands` there.

    The body's arguments are the operands without `async.value`; it yields what the results after
    the token hold.
    """

    name = "async.execute"

    dependencies = var_operand_def(TokenType)
    body_operands = var_operand_def(ValueType)
    token = result_def(TokenType)
    body_results = var_result_def(ValueType)
    body = region_def("single_block")

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(RecursiveMemoryEffect())

    def __init__(
        self,
        body: Region,
        dependencies: Sequence[SSAValue] = (),
        body_operands: Sequence[SSAValue] = (),
        result_types: Sequence[Attribute] = (),
    ):
        """`result_types` are those of the results after the token, `async.value` each."""
        super().__init__(
            operands=[dependencies, body_operands],
            result_types=[TokenType(), result_types],
            regions=[body],
        )

    def verify_(self) -> None:
        block = self.body.block
        check_types(
            "the body takes",
            [argument.type for argument in block.args],
            "the operands hold",
            [unwrap(value.type) for value in self.body_operands],
        )
        if not isinstance(end := block.last_op, YieldOp):
            raise VerifyException("the body does not end in 'async.yield'")
        check_types(
            "the body yields",
            [value.type for value in end.values],
            "the results hold",
            [unwrap(value.type) for value in self.body_results],
        )

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        def operand() -> tuple[UnresolvedOperand, Parser.Argument, Attribute]:
            value = parser.parse_unresolved_operand()
            parser.parse_keyword("as")
            name = parser.parse_argument(expect_type=False)
            parser.parse_punctuation(":")
            position = parser.pos
            type = parser.parse_type()
            if not isinstance(type, ValueType):
                parser.raise_error(
                    f"'async.execute' takes operands of type !async.value, not {type}",
                    at_position=position,
                )
            return value, name.resolve(type.value_type), type

        tokens = parser.parse_optional_comma_separated_list(
            parser.Delimiter.SQUARE, parser.parse_unresolved_operand
        )
        operands = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, operand) or ()
        results: Sequence[Attribute] = ()
        if parser.parse_optional_punctuation("->") is not None:
            results = parser.parse_optional_comma_separated_list(
                parser.Delimiter.PAREN, parser.parse_type
            ) or [parser.parse_type()]
        attributes = parser.parse_optional_attr_dict_with_keyword()
        op = cls(
            parser.parse_region([argument for _, argument, _ in operands]),
            [parser.resolve_operand(token, TokenType()) for token in tokens or ()],
            [parser.resolve_operand(value, type) for value, _, type in operands],
            results,
        )
        op.attributes |= attributes.data if attributes else {}
        return op

    def print(self, printer: Printer) -> None:
        def operand(pair: tuple[SSAValue, SSAValue]) -> None:
            printer.print_operand(pair[0])
            printer.print_string(" as ")
            printer.print_ssa_value(pair[1])
            printer.print_string(": ")
            printer.print_attribute(pair[0].type)

        if self.dependencies:
            printer.print_string(" ")
            with printer.in_square_brackets():
                printer.print_list(self.dependencies, printer.print_operand)
        if self.body_operands:
            printer.print_string(" ")
            with printer.in_parens():
                pairs = zip(self.body_operands, self.body.block.args, strict=True)
                printer.print_list(pairs, operand)
        if self.body_results:
            printer.print_string(" -> ")
            with printer.in_parens():
                printer.print_list(
                    [value.type for value in self.body_results], printer.print_attribute
                )
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False, print_empty_block=False)


@irdl_op_definition
class AwaitOp(IRDLOperation):
    """`%v = async.await %a : !async.value<f32>`: wait; of a value, also return it."""

    name = "async.await"

    operand = operand_def(TokenType | ValueType)
    result = opt_result_def()

    traits = traits_def(CompletionEffect())

    def __init__(self, operand: SSAValue):
        type = operand.type
        super().__init__(
            operands=[operand],
            result_types=[[type.value_type] if isinstance(type, ValueType) else []],
        )

    def verify_(self) -> None:
        type = self.operand.type
        expected = [type.value_type] if isinstance(type, ValueType) else []
        found = [result.type for result in self.results]
        check_types("awaiting returns", found, "the operand holds", expected)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        value = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        op = cls(parser.resolve_operand(value, parser.parse_type()))
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.operand)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.operand.type)


@irdl_op_definition
class CreateGroupOp(IRDLOperation):
    """`%g = async.create_group %size : !async.group`: a group that `size` things are added to."""

    name = "async.create_group"

    size = operand_def(IndexType)
    result = result_def(GroupType)

    traits = traits_def(CompletionEffect())

    assembly_format = "$size `:` type($result) attr-dict"

    def __init__(self, size: SSAValue):
        super().__init__(operands=[size], result_types=[GroupType()])


@irdl_op_definition
class AddToGroupOp(IRDLOperation):
    """`%rank = async.add_to_group %t, %g : !async.token`: add a token or value to a group."""

    name = "async.add_to_group"

    operand = operand_def(TokenType | ValueType)
    group = operand_def(GroupType)
    rank = result_def(IndexType)

    traits = traits_def(CompletionEffect())

    assembly_format = "$operand `,` $group `:` type($operand) attr-dict"

    def __init__(self, operand: SSAValue, group: SSAValue):
        super().__init__(operands=[operand, group], result_types=[IndexType()])


@irdl_op_definition
class AwaitAllOp(IRDLOperation):
    """`async.await_all %g`: wait for all that was added to a group."""

    name = "async.await_all"

    group = operand_def(GroupType)

    traits = traits_def(CompletionEffect())

    assembly_format = "$group attr-dict"

    def __init__(self, group: SSAValue):
        super().__init__(operands=[group])
