"""
Affine expressions as MLIR builds them: https://mlir.llvm.org/docs/Dialects/Affine/#affine-expressions.

xDSL's parser rewrites sums and products while it reads them and fails with a traceback on
expressions that it cannot represent. This one keeps what was written, as MLIR does, and refuses by
name what opar has no meaning for.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineConstraintExpr,
    AffineConstraintKind,
    AffineExpr,
)
from xdsl.parser.affine_parser import AffineParser
from xdsl.utils.exceptions import ParseError
from xdsl.utils.mlir_lexer import MLIRToken, MLIRTokenKind

Leaf = Callable[[], AffineExpr | None]
"""Reads a dimension or a symbol, where there is one."""


def multiply(lhs: AffineExpr, factor: int) -> AffineExpr:
    """`lhs * factor`, folding constants only."""
    if isinstance(lhs, AffineConstantExpr):
        return AffineConstantExpr(lhs.value * factor)
    if factor == 1:
        return lhs
    if (
        isinstance(lhs, AffineBinaryOpExpr)
        and lhs.kind is AffineBinaryOpKind.Mul
        and isinstance(lhs.rhs, AffineConstantExpr)
    ):
        return multiply(lhs.lhs, lhs.rhs.value * factor)
    return AffineBinaryOpExpr(AffineBinaryOpKind.Mul, lhs, AffineConstantExpr(factor))


def subtract(lhs: AffineExpr, rhs: AffineExpr) -> AffineExpr:
    """`lhs - rhs`, folding constants only."""
    return lhs + multiply(rhs, -1)


class ExpressionParser(AffineParser):
    """
    Parses affine expressions, maps and sets. Raises `ParseError` on a product of two variables, a
    division by anything but a positive constant, and a name declared twice.
    """

    def _create_binop_expr(self, lhs: AffineExpr, rhs: AffineExpr, binop: MLIRToken) -> AffineExpr:
        match binop.text:
            case "+":
                return lhs + rhs
            case "-":
                return subtract(lhs, rhs)
            case "*":
                if isinstance(rhs, AffineConstantExpr):
                    return multiply(lhs, rhs.value)
                if isinstance(lhs, AffineConstantExpr):
                    return multiply(rhs, lhs.value)
                raise ParseError(
                    binop.span, "one factor of a product must be a constant; this is not affine"
                )
            case _:
                if not isinstance(rhs, AffineConstantExpr) or rhs.value <= 0:
                    raise ParseError(
                        binop.span, f"the right side of '{binop.text}' must be a positive constant"
                    )
                return super()._create_binop_expr(lhs, rhs, binop)

    def _parse_primary(self, parse_optional_bare_id: Leaf) -> AffineExpr:
        if self._parse_optional_token(MLIRTokenKind.MINUS) is not None:
            return multiply(self._parse_primary(parse_optional_bare_id), -1)
        return super()._parse_primary(parse_optional_bare_id)

    def _parse_affine_constraint(self, parse_optional_bare_id: Leaf) -> AffineConstraintExpr:
        """As MLIR: everything on the left of `>= 0` or `== 0`."""
        lhs = self._parse_affine_expr(parse_optional_bare_id)
        position = self._current_token.span
        kind = self._consume_token().text + self._consume_token().text
        if kind not in (">=", "<=", "=="):
            raise ParseError(position, "expected '>=', '<=' or '=='")
        rhs = self._parse_affine_expr(parse_optional_bare_id)
        if kind == "<=":
            lhs, rhs = rhs, lhs
        return AffineConstraintExpr(
            AffineConstraintKind.eq if kind == "==" else AffineConstraintKind.ge,
            subtract(lhs, rhs),
            AffineConstantExpr(0),
            canonicalize=False,
        )

    def _parse_affine_space(self) -> tuple[list[str], list[str]]:
        position = self._current_token.span
        dims, symbols = super()._parse_affine_space()
        if len({*dims, *symbols}) != len(dims) + len(symbols):
            raise ParseError(position, "a dimension or symbol is declared twice")
        return dims, symbols
