"""What the asynchronous operations of the `gpu` dialect share: tokens in, a token out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer

from opar.dialects.gpu.attributes import AsyncTokenType

if TYPE_CHECKING:
    from xdsl.irdl import OptOpResult, VarOperand

_SEGMENTS = ("operandSegmentSizes", "resultSegmentSizes")


def _values(group: SSAValue | Sequence[SSAValue] | None) -> list[SSAValue]:
    if group is None:
        return []
    return [group] if isinstance(group, SSAValue) else list(group)


class AsyncOp(IRDLOperation):
    """
    An operation that waits for tokens and, where it has a token itself, lets the host go on.

    Every subclass defines `async_dependencies` (its first operands) and `async_token` (its last
    result, absent on a synchronous operation).
    """

    if TYPE_CHECKING:
        async_dependencies: VarOperand
        async_token: OptOpResult

    def with_dependencies(self, tokens: Sequence[SSAValue], is_async: bool = True) -> Self:
        """
        A new, unattached operation like this one, but waiting for `tokens` instead of its present
        dependencies, and with a token as its last result if `is_async`.

        Attributes and location are kept; regions move to the new operation, so this one has to be
        erased. Results other than the token keep type and place.
        """
        definition = self.get_irdl_definition()
        operands = [
            list(tokens) if name == "async_dependencies" else _values(getattr(self, name))
            for name, _ in definition.operands
        ]
        result_types: list[list[Attribute]] = []
        for name, _ in definition.results:
            if name == "async_token":
                result_types.append([AsyncTokenType()] if is_async else [])
            else:
                result_types.append([value.type for value in _values(getattr(self, name))])
        new = type(self).build(
            operands=operands,
            result_types=result_types,
            properties={k: v for k, v in self.properties.items() if k not in _SEGMENTS},
            attributes=dict(self.attributes),
            regions=[self.detach_region(region) for region in list(self.regions)],
        )
        new.location = self.location
        for old_result, new_result in zip(self.results, new.results, strict=False):
            new_result.name_hint = old_result.name_hint
        return new


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
