"""What the asynchronous operations of the `gpu` dialect share: tokens in, a token out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import BytesAttr, DenseArrayBase, i32
from xdsl.ir import Attribute, OpResult, SSAValue, SSAValues
from xdsl.irdl import IRDLOperation
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer

from opar.dialects.gpu.attributes import AsyncTokenType

if TYPE_CHECKING:
    from xdsl.irdl import OptOpResult, VarOperand


class AsyncOp(IRDLOperation):
    """
    An operation that waits for tokens and, where it has a token itself, lets the host go on.

    Every subclass defines `async_dependencies` (its first operands) and `async_token` (its last
    result, absent on a synchronous operation).
    """

    if TYPE_CHECKING:
        async_dependencies: VarOperand
        async_token: OptOpResult

    def make_asynchronous(self, tokens: Sequence[SSAValue]) -> OpResult:
        """
        Wait for `tokens` instead of the present dependencies, and have a token, the last result,
        which is returned. Everything else stays as it is.
        """
        former = self.async_dependencies
        if tokens or former:
            self.operands = [*tokens, *self.operands[len(former) :]]
            sizes = self.properties.get("operandSegmentSizes")
            if isinstance(sizes, DenseArrayBase):
                data = i32.pack([len(tokens)]) + sizes.data.data[i32.size :]
                self.properties["operandSegmentSizes"] = DenseArrayBase(i32, BytesAttr(data))
        token = self.async_token
        if token is None:
            token = OpResult(AsyncTokenType(), self, len(self.results))
            self.results = SSAValues((*self.results, token))
        return token


def token_types(is_async: bool) -> list[Attribute]:
    """The types of the token results: one if `is_async`, else none."""
    return [AsyncTokenType()] if is_async else []


def binds_results(parser: Parser, keyword: str) -> bool:
    """
    Whether the operation that is being parsed has `%name =` before its name, which ends in
    `keyword`. xDSL does not tell a custom parser, so the text before it is looked at.
    """
    text = parser.lexer.input.content
    start = text.rfind(keyword, 0, parser.pos)
    before = text[:start].rstrip()
    if before.endswith("gpu."):
        before = before[: -len("gpu.")].rstrip()
    return before.endswith("=")


def parse_async(parser: Parser, keyword: str) -> tuple[bool, list[SSAValue]]:
    """
    Parse `async`? (`[` tokens `]`)? of the operation whose name ends in `keyword`; returns whether
    it is asynchronous, and its dependencies.
    """
    position = parser.pos
    is_async = parser.parse_optional_keyword("async") is not None
    if is_async and not binds_results(parser, keyword):
        parser.raise_error(
            f"'gpu.{keyword}' marked 'async' needs a name for its token: '%token = gpu.{keyword}"
            " async ...'",
            at_position=position,
        )
    tokens: list[UnresolvedOperand] | None = parser.parse_optional_comma_separated_list(
        parser.Delimiter.SQUARE, parser.parse_unresolved_operand
    )
    return is_async, [parser.resolve_operand(token, AsyncTokenType()) for token in tokens or ()]


def print_async(printer: Printer, op: AsyncOp) -> None:
    """Print ` async [tokens]` of `op`, or as much of it as `op` has."""
    if op.async_token is not None:
        printer.print_string(" async")
    if op.async_dependencies:
        printer.print_string(" ")
        with printer.in_square_brackets():
            printer.print_list(op.async_dependencies, printer.print_operand)


def resolve_all(
    parser: Parser, operands: Sequence[UnresolvedOperand], type: Attribute
) -> list[SSAValue]:
    """The values that `operands` name, all of type `type`."""
    return [parser.resolve_operand(operand, type) for operand in operands]
