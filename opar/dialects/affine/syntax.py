"""Parsing and printing of affine maps whose dimensions and symbols are SSA values."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext

from xdsl.dialects.builtin import AffineMapAttr, IndexType
from xdsl.ir import SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
    AffineSymExpr,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.mlir_lexer import MLIRTokenKind

from opar.dialects.expression_parser import ExpressionParser, multiply

_PRECEDENCE = {
    AffineBinaryOpKind.Add: 10,
    AffineBinaryOpKind.Mul: 20,
    AffineBinaryOpKind.Mod: 20,
    AffineBinaryOpKind.FloorDiv: 20,
    AffineBinaryOpKind.CeilDiv: 20,
}
_PRIMARY = 30


class SSAExpressionParser(ExpressionParser):
    """Parses affine expressions over SSA values; a value within `symbol(...)` is a symbol."""

    def __init__(self, parser: Parser):
        super().__init__(parser._parser_state)
        self._parser = parser
        self._dims: dict[tuple[str, int], UnresolvedOperand] = {}
        self._symbols: dict[tuple[str, int], UnresolvedOperand] = {}

    def expression(self) -> AffineExpr:
        """One expression; numbers of dimensions and symbols follow their first appearance."""
        return self._parse_affine_expr(self._leaf)

    def operands(self) -> list[SSAValue]:
        """The values seen so far: dimensions, then symbols."""
        return [
            self._parser.resolve_operand(operand, IndexType())
            for operand in (*self._dims.values(), *self._symbols.values())
        ]

    def map(self, results: Sequence[AffineExpr]) -> AffineMap:
        """The map of `results` over what was seen so far."""
        return AffineMap(len(self._dims), len(self._symbols), tuple(results))

    def _leaf(self) -> AffineExpr | None:
        if self._current_token.kind is MLIRTokenKind.PERCENT_IDENT:
            return AffineExpr.dimension(self._position(self._dims))
        if self.parse_optional_keyword("symbol") is None:
            return None
        with self.in_parens():
            return AffineExpr.symbol(self._position(self._symbols))

    def _position(self, seen: dict[tuple[str, int], UnresolvedOperand]) -> int:
        operand = self._parser.parse_unresolved_operand()
        key = operand.span.text, operand.index
        seen.setdefault(key, operand)
        return list(seen).index(key)


def parse_subscripts(parser: Parser) -> tuple[AffineMap, list[SSAValue]]:
    """`[` expr, ... `]`: a map and its operands."""
    expressions = SSAExpressionParser(parser)
    results = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, expressions.expression)
    return expressions.map(results), expressions.operands()


def parse_map_and_operands(parser: Parser) -> tuple[AffineMapAttr, list[SSAValue]]:
    """`affine_map<...>(dims)[symbols]`."""
    position = parser.pos
    map_attr = parser.parse_attribute()
    if not isinstance(map_attr, AffineMapAttr):
        parser.raise_error("expected an affine map", position)
    operands = parse_dims_and_symbols(parser)
    expected = map_attr.data.num_dims, map_attr.data.num_symbols
    if expected != (len(operands[0]), len(operands[1])):
        parser.raise_error(
            f"the map takes {expected[0]} dimensions and {expected[1]} symbols, "
            f"got {len(operands[0])} and {len(operands[1])}",
            position,
        )
    return map_attr, [*operands[0], *operands[1]]


def parse_dims_and_symbols(parser: Parser) -> tuple[list[SSAValue], list[SSAValue]]:
    """`(dims)[symbols]`, either part optional."""

    def operand() -> SSAValue:
        return parser.parse_operand(IndexType())

    dims = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, operand)
    symbols = parser.parse_optional_comma_separated_list(parser.Delimiter.SQUARE, operand)
    return dims or [], symbols or []


def verify_operand_count(map: AffineMapAttr, operands: Sequence[SSAValue]) -> None:
    """A map must have an operand for each dimension and symbol."""
    expected = map.data.num_dims + map.data.num_symbols
    if len(operands) != expected:
        raise VerifyException(f"the map takes {expected} operands, got {len(operands)}")


def print_map_and_operands(
    printer: Printer, map: AffineMapAttr, operands: Sequence[SSAValue]
) -> None:
    """`affine_map<...>(dims)[symbols]`."""
    printer.print_attribute(map)
    print_dims_and_symbols(printer, operands, map.data.num_dims)


def print_dims_and_symbols(printer: Printer, operands: Sequence[SSAValue], dims: int) -> None:
    """`(dims)[symbols]`; the symbols only where there are any."""
    with printer.in_parens():
        printer.print_list(operands[:dims], printer.print_ssa_value)
    if len(operands) > dims:
        with printer.in_square_brackets():
            printer.print_list(operands[dims:], printer.print_ssa_value)


def print_subscripts(printer: Printer, map: AffineMap, operands: Sequence[SSAValue]) -> None:
    """`[` expr, ... `]`."""
    with printer.in_square_brackets():
        printer.print_list(
            map.results, lambda e: print_expression(printer, e, operands, map.num_dims)
        )


def print_expression(
    printer: Printer, expr: AffineExpr, operands: Sequence[SSAValue], dims: int, outer: int = 0
) -> None:
    """An expression with SSA values for dimensions and `symbol(...)` for symbols, with the fewest
    parentheses."""

    def nested(e: AffineExpr, precedence: int) -> None:
        print_expression(printer, e, operands, dims, precedence)

    match expr:
        case AffineConstantExpr(value=value):
            printer.print_string(str(value))
        case AffineDimExpr(position=position):
            printer.print_ssa_value(operands[position])
        case AffineSymExpr(position=position):
            printer.print_string("symbol(")
            printer.print_ssa_value(operands[dims + position])
            printer.print_string(")")
        case AffineBinaryOpExpr(
            kind=AffineBinaryOpKind.Mul, lhs=lhs, rhs=AffineConstantExpr(value=-1)
        ):
            printer.print_string("-")
            nested(lhs, _PRIMARY)
        case AffineBinaryOpExpr(kind=kind, lhs=lhs, rhs=rhs):
            precedence = _PRECEDENCE[kind]
            with printer.in_parens() if precedence < outer else nullcontext():
                nested(lhs, precedence)
                minus = _negated(kind, rhs)
                printer.print_string(" - " if minus is not None else f" {kind.get_token()} ")
                right = precedence if kind is AffineBinaryOpKind.Add else precedence + 1
                nested(rhs if minus is None else minus, right + (minus is not None))
        case _:
            raise AssertionError(expr)


def _negated(kind: AffineBinaryOpKind, rhs: AffineExpr) -> AffineExpr | None:
    """What is subtracted where `lhs + rhs` reads better as `lhs - ...`, else None."""
    if kind is not AffineBinaryOpKind.Add:
        return None
    match rhs:
        case AffineConstantExpr(value=value) if value < 0:
            return AffineConstantExpr(-value)
        case AffineBinaryOpExpr(
            kind=AffineBinaryOpKind.Mul, lhs=lhs, rhs=AffineConstantExpr(value=value)
        ) if value < 0:
            return multiply(lhs, -value)
        case _:
            return None
