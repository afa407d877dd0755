"""Splitting an index over a basis and joining it again."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    IntegerType,
    UnitAttr,
    i64,
)
from xdsl.dialects.utils import split_dynamic_index_list
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    base,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

Basis = Sequence[SSAValue | int]


def _parse_basis(parser: Parser, delimiter: Parser.Delimiter) -> Basis:
    def element() -> SSAValue | int:
        value = parser.parse_optional_operand(IndexType())
        return parser.parse_integer(allow_boolean=False) if value is None else value

    return parser.parse_comma_separated_list(delimiter, element)


def _parse_index_types(parser: Parser) -> Sequence[Attribute]:
    position = parser.pos
    types = parser.parse_optional_undelimited_comma_separated_list(
        parser.parse_optional_type, parser.parse_type
    )
    if any(t != IndexType() for t in types or ()):
        parser.raise_error("expected results of type index", position)
    return types or []


def _verify_basis(
    static: DenseArrayBase[IntegerType], dynamic: Sequence[SSAValue], needed: int
) -> None:
    values = static.get_values()
    if values.count(DYNAMIC_INDEX) != len(dynamic):
        raise VerifyException("expected an operand for each dynamic element of the basis")
    if len(values) not in (needed, needed - 1):
        raise VerifyException(
            f"the basis must have {needed} or {needed - 1} elements, got {len(values)}"
        )
    if any(v != DYNAMIC_INDEX and v <= 0 for v in values):
        raise VerifyException("the elements of the basis must be positive")


def _basis(
    static: DenseArrayBase[IntegerType], dynamic: Sequence[SSAValue]
) -> list[SSAValue | int]:
    remaining = iter(dynamic)
    return [next(remaining) if v == DYNAMIC_INDEX else int(v) for v in static.get_values()]


def _print_basis(printer: Printer, basis: Basis) -> None:
    def element(value: SSAValue | int) -> None:
        if isinstance(value, int):
            printer.print_string(str(value))
        else:
            printer.print_ssa_value(value)

    with printer.in_parens():
        printer.print_list(basis, element)


@irdl_op_definition
class DelinearizeIndexOp(IRDLOperation):
    """
    The digits of an index in a mixed basis, most significant first:
    `%d:3 = affine.delinearize_index %i into (%n, 4, 8) : index, index, index`.

    The first element of the basis bounds the first digit, and may be left out:
    https://mlir.llvm.org/docs/Dialects/Affine/#affinedelinearize_index-affineaffinedelinearizeindexop.
    """

    name = "affine.delinearize_index"

    linear_index = operand_def(IndexType())
    dynamic_basis = var_operand_def(IndexType())
    multi_index = var_result_def(IndexType())
    static_basis = prop_def(DenseArrayBase.constr(i64))

    traits = traits_def(Pure())

    def __init__(self, linear_index: SSAValue, basis: Basis, num_results: int | None = None):
        static, dynamic = split_dynamic_index_list(basis, DYNAMIC_INDEX)
        super().__init__(
            operands=[linear_index, dynamic],
            result_types=[[IndexType()] * (len(basis) if num_results is None else num_results)],
            properties={"static_basis": DenseArrayBase.from_list(i64, static)},
        )

    @property
    def basis(self) -> list[SSAValue | int]:
        """The basis, values and constants in order."""
        return _basis(self.static_basis, self.dynamic_basis)

    def verify_(self) -> None:
        if not self.multi_index:
            raise VerifyException("expected at least one result")
        _verify_basis(self.static_basis, self.dynamic_basis, len(self.multi_index))

    @classmethod
    def parse(cls, parser: Parser) -> DelinearizeIndexOp:
        index = parser.parse_operand(IndexType())
        parser.parse_keyword("into")
        basis = _parse_basis(parser, parser.Delimiter.PAREN)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        op = cls(index, basis, len(_parse_index_types(parser)))
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.linear_index)
        printer.print_string(" into ")
        _print_basis(printer, self.basis)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_list(self.result_types, printer.print_attribute)


@irdl_op_definition
class LinearizeIndexOp(IRDLOperation):
    """
    The index that digits in a mixed basis make:
    `affine.linearize_index disjoint [%i, %j] by (8, %n) : index`.

    The first element of the basis bounds the first digit, and may be left out; `disjoint` promises
    that each digit is within its basis:
    https://mlir.llvm.org/docs/Dialects/Affine/#affinelinearize_index-affineaffinelinearizeindexop.
    """

    name = "affine.linearize_index"

    multi_index = var_operand_def(IndexType())
    dynamic_basis = var_operand_def(IndexType())
    linear_index = result_def(IndexType())
    static_basis = prop_def(DenseArrayBase.constr(i64))
    disjoint = opt_prop_def(base(UnitAttr) | base(IntegerAttr))

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(Pure())

    def __init__(self, multi_index: Sequence[SSAValue], basis: Basis, disjoint: bool = False):
        static, dynamic = split_dynamic_index_list(basis, DYNAMIC_INDEX)
        super().__init__(
            operands=[multi_index, dynamic],
            result_types=[IndexType()],
            properties={
                "static_basis": DenseArrayBase.from_list(i64, static),
                "disjoint": UnitAttr() if disjoint else None,
            },
        )

    @property
    def is_disjoint(self) -> bool:
        """Whether each digit is promised to be within its basis."""
        # MLIR's generic form writes the absent unit attribute as `disjoint = false`.
        if isinstance(self.disjoint, IntegerAttr):
            return bool(self.disjoint.value.data)
        return self.disjoint is not None

    @property
    def basis(self) -> list[SSAValue | int]:
        """The basis, values and constants in order."""
        return _basis(self.static_basis, self.dynamic_basis)

    def verify_(self) -> None:
        _verify_basis(self.static_basis, self.dynamic_basis, len(self.multi_index))

    @classmethod
    def parse(cls, parser: Parser) -> LinearizeIndexOp:
        disjoint = parser.parse_optional_keyword("disjoint") is not None
        digits = parser.parse_comma_separated_list(
            parser.Delimiter.SQUARE, lambda: parser.parse_operand(IndexType())
        )
        parser.parse_keyword("by")
        basis = _parse_basis(parser, parser.Delimiter.PAREN)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        _parse_index_types(parser)
        op = cls(digits, basis, disjoint)
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" disjoint [" if self.is_disjoint else " [")
        printer.print_list(self.multi_index, printer.print_ssa_value)
        printer.print_string("] by ")
        _print_basis(printer, self.basis)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.linear_index.type)
