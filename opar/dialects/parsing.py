"""MLIR text to IR: xDSL's parser, with the source location kept on every operation."""

from __future__ import annotations

import re
from bisect import bisect_right

from xdsl.context import Context
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, ModuleOp, StringAttr, UnknownLoc
from xdsl.ir import Operation
from xdsl.ir.affine import AffineMap, AffineSet
from xdsl.parser import Parser
from xdsl.parser.core import ForwardDeclaredValue
from xdsl.utils.exceptions import ParseError, VerifyException
from xdsl.utils.lexer import Input
from xdsl.utils.mlir_lexer import MLIRLexer

from opar.dialects import register_dialects
from opar.dialects.expression_parser import ExpressionParser
from opar.errors import SourceError, at


class _Lexer(MLIRLexer):
    """xDSL's lexer takes exponential time on a string that never ends; this one does not."""

    _unescaped_characters_regex = re.compile(r'"(?:[^"\\\n\v\f]++|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*+"')


class LocatingParser(Parser):
    """
    A parser that gives each operation without a `loc(...)` of its own the place where its text
    starts, its results included. Lines and columns count from 1.
    """

    def __init__(self, ctx: Context, text: str, name: str, line_offset: int = 0):
        super().__init__(ctx, "", name)
        self._parser_state.lexer = _Lexer(Input(text, name))
        self._parser_state.current_token = self._parser_state.lexer.lex()
        self._file = StringAttr(name)
        self._line_offset = line_offset
        self.operation_start = 0
        self._line_starts = [0] + [i + 1 for i, c in enumerate(text) if c == "\n"]

    def line_and_column(self, position: int) -> tuple[int, int]:
        """Line and column, both from 1, of a position in the text."""
        line = bisect_right(self._line_starts, position)
        return line + self._line_offset, position - self._line_starts[line - 1] + 1

    def parse_operation(self) -> Operation:
        self.operation_start = self._current_token.span.start
        start = self.operation_start
        line, column = self.line_and_column(start)
        op = super().parse_operation()
        self._check_operands(op, start)
        if isinstance(op.location, UnknownLoc):
            op.location = FileLineColLoc(self._file, IntAttr(line), IntAttr(column))
        return op

    def _check_operands(self, op: Operation, start: int) -> None:
        """Refuse operands that the operation's own regions define: xDSL leaves them undefined."""
        for operand in op.operands:
            if isinstance(operand, ForwardDeclaredValue) and not any(
                operand is value
                for references in self.forward_ssa_references.values()
                for value in references.values()
            ):
                self.raise_error(f"'{op.name}' uses a value that its own region defines", start)

    def parse_affine_map(self) -> AffineMap:
        return ExpressionParser(self._parser_state).parse_affine_map()

    def parse_affine_set(self) -> AffineSet:
        return ExpressionParser(self._parser_state).parse_affine_set()

    def _get_op_by_name(self, name: str) -> type[Operation]:
        op = self.ctx.get_optional_op(name, dialect_stack=self._parser_state.dialect_stack)
        if op is None:
            self.raise_error(f"unknown operation '{name}'", self.operation_start)
        return op


_UNCHECKED = (ValueError, TypeError, LookupError, AssertionError, NotImplementedError)
"""What xDSL's own parsers and checks raise where they take something for granted."""


def new_context(allow_unregistered: bool = False) -> Context:
    """A context that knows all of opar's dialects."""
    return register_dialects(Context(allow_unregistered=allow_unregistered))


def parse_module(
    text: str,
    name: str = "<string>",
    ctx: Context | None = None,
    *,
    implicit_module: bool = True,
    line_offset: int = 0,
) -> ModuleOp:
    """
    Parse a module from MLIR text, keeping the location of each operation, and verify nothing.

    `name` is the file name that locations and messages show; `line_offset` is added to the lines
    (for a chunk of a split file). Raises `SourceError` with file:line:col on text that is not MLIR.
    """
    try:
        parser = LocatingParser(ctx or new_context(), text, name, line_offset)
    except ParseError as error:  # the very first token
        raise SourceError(f"{name}:{1 + line_offset}:1: {error.msg}") from error
    try:
        return parser.parse_module(implicit_module)
    except ParseError as error:
        line, column = parser.line_and_column(error.span.start)
        snippet = text.splitlines()[line - line_offset - 1 :][:1]
        shown = f"\n    {snippet[0]}\n    {' ' * (column - 1)}^" if snippet else ""
        raise SourceError(f"{name}:{line}:{column}: {error.msg}{shown}") from error
    except VerifyException as error:
        # xDSL verifies attributes and some operations while it parses them.
        line, column = parser.line_and_column(parser.pos)
        raise SourceError(f"{name}:{line}:{column}: {error}") from error
    except _UNCHECKED as error:
        line, column = parser.line_and_column(parser.operation_start)
        raise SourceError(f"{name}:{line}:{column}: cannot be read: {error}") from error


def verify(module: Operation) -> None:
    """Verify `module`; raises `SourceError` naming the place and the operation that is wrong."""
    try:
        module.verify()
    except (VerifyException, *_UNCHECKED) as error:
        culprit = _first_invalid(module)
        if culprit is None:
            raise SourceError(str(error)) from error
        op, message = culprit
        raise SourceError(at(op, message)) from error


def _first_invalid(op: Operation) -> tuple[Operation, str] | None:
    """The innermost operation whose own check fails, in program order, with the message."""
    for region in op.regions:
        for block in region.blocks:
            for child in block.ops:
                if (found := _first_invalid(child)) is not None:
                    return found
    try:
        op.verify(verify_nested_ops=False)
    except (VerifyException, *_UNCHECKED) as error:
        cause = error.__cause__ if isinstance(error.__cause__, VerifyException) else error
        return op, str(cause)
    return None
