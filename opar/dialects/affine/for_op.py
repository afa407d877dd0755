"""The counted loop of the `affine` dialect."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import AffineMapAttr, IndexType, IntegerAttr
from xdsl.ir import BlockArgument, Region, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineExpr, AffineMap, AffineSymExpr
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import RecursivelySpeculatable, RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from opar.dialects.affine.regions import (
    ensure_yield,
    parse_optional_arrow_types,
    print_arrow_types,
    verify_yield,
)
from opar.dialects.affine.scopes import verify_dims_and_symbols
from opar.dialects.affine.syntax import parse_map_and_operands, print_map_and_operands

Bound = int | tuple[AffineMap, Sequence[SSAValue]]
"""A loop bound: a constant, or a map with its operands (its greatest or least result counts)."""


def _bound(bound: Bound) -> tuple[AffineMapAttr, Sequence[SSAValue]]:
    if isinstance(bound, int):
        return AffineMapAttr(AffineMap.constant_map(bound)), ()
    return AffineMapAttr(bound[0]), bound[1]


@irdl_op_definition
class ForOp(IRDLOperation):
    """
    A counted loop: `affine.for %i = 0 to min affine_map<(d0) -> (d0, 8)>(%n) step 2
    iter_args(%acc = %init) -> (f32) { ... }`.

    The lower bound is the greatest result of its map, the upper bound (exclusive) the least:
    https://mlir.llvm.org/docs/Dialects/Affine/#affinefor-affineaffineforop.
    """

    name = "affine.for"

    lower_bound_operands = var_operand_def(IndexType())
    upper_bound_operands = var_operand_def(IndexType())
    inits = var_operand_def()
    res = var_result_def()

    lower_bound_map = prop_def(AffineMapAttr, prop_name="lowerBoundMap")
    upper_bound_map = prop_def(AffineMapAttr, prop_name="upperBoundMap")
    step = prop_def(IntegerAttr)

    body = region_def("single_block")

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(RecursiveMemoryEffect(), RecursivelySpeculatable())

    def __init__(
        self,
        lower: Bound,
        upper: Bound,
        body: Region,
        step: int = 1,
        inits: Sequence[SSAValue] = (),
    ):
        lower_map, lower_operands = _bound(lower)
        upper_map, upper_operands = _bound(upper)
        super().__init__(
            operands=[lower_operands, upper_operands, inits],
            result_types=[[v.type for v in inits]],
            properties={
                "lowerBoundMap": lower_map,
                "upperBoundMap": upper_map,
                "step": IntegerAttr(step, IndexType()),
            },
            regions=[body],
        )
        if not inits:
            ensure_yield(body)

    @property
    def induction_variable(self) -> BlockArgument:
        """The loop variable, of index type."""
        return self.body.block.args[0]

    @property
    def constant_range(self) -> tuple[int, int, int] | None:
        """(lower, upper, step), or None where a bound is not constant."""
        found = []
        for map in (self.lower_bound_map.data, self.upper_bound_map.data):
            if len(map.results) != 1 or not isinstance(map.results[0], AffineConstantExpr):
                return None
            found.append(map.results[0].value)
        return found[0], found[1], self.step.value.data

    def verify_(self) -> None:
        for what, map, operands in (
            ("lower", self.lower_bound_map.data, self.lower_bound_operands),
            ("upper", self.upper_bound_map.data, self.upper_bound_operands),
        ):
            if not map.results:
                raise VerifyException(f"the map of the {what} bound must have a result")
            if len(operands) != map.num_dims + map.num_symbols:
                raise VerifyException(
                    f"the map of the {what} bound takes {map.num_dims + map.num_symbols} "
                    f"operands, got {len(operands)}"
                )
            verify_dims_and_symbols(self, operands, map.num_dims)
        if self.step.value.data <= 0:
            raise VerifyException("the step must be positive")
        types = tuple(v.type for v in self.inits)
        if types != tuple(self.result_types):
            raise VerifyException("the types of the initial values and of the results differ")
        if tuple(a.type for a in self.body.block.args) != (IndexType(), *types):
            raise VerifyException("the body must take the loop variable and the iteration values")
        verify_yield(self.body, types)

    @classmethod
    def parse(cls, parser: Parser) -> ForOp:
        variable = parser.parse_argument(expect_type=False)
        parser.parse_punctuation("=")
        lower = _parse_bound(parser, "max")
        parser.parse_keyword("to")
        upper = _parse_bound(parser, "min")
        step = 1
        if parser.parse_optional_keyword("step") is not None:
            position = parser.pos
            step = parser.parse_integer(allow_boolean=False)
            if step <= 0:
                parser.raise_error("the step must be positive", position)
        arguments: list[Parser.UnresolvedArgument] = []
        inits: Sequence[SSAValue] = ()
        if parser.parse_optional_keyword("iter_args") is not None:
            position = parser.pos

            def pair():
                argument = parser.parse_argument(expect_type=False)
                parser.parse_punctuation("=")
                return argument, parser.parse_unresolved_operand()

            pairs = parser.parse_comma_separated_list(parser.Delimiter.PAREN, pair)
            types = parse_optional_arrow_types(parser)
            arguments = [a for a, _ in pairs]
            inits = parser.resolve_operands([v for _, v in pairs], types, position)
        body = parser.parse_region(
            [
                variable.resolve(IndexType()),
                *(a.resolve(v.type) for a, v in zip(arguments, inits, strict=True)),
            ]
        )
        op = cls(lower, upper, body, step, inits)
        op.attributes |= parser.parse_optional_attr_dict()
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        variable, *arguments = self.body.block.args
        printer.print_ssa_value(variable)
        printer.print_string(" = ")
        _print_bound(printer, self.lower_bound_map, self.lower_bound_operands, "max")
        printer.print_string(" to ")
        _print_bound(printer, self.upper_bound_map, self.upper_bound_operands, "min")
        if (step := self.step.value.data) != 1:
            printer.print_string(f" step {step}")
        if arguments:
            printer.print_string(" iter_args(")

            def pair(values: tuple[SSAValue, SSAValue]) -> None:
                printer.print_ssa_value(values[0])
                printer.print_string(" = ")
                printer.print_ssa_value(values[1])

            printer.print_list(list(zip(arguments, self.inits, strict=True)), pair)
            printer.print_string(")")
            print_arrow_types(printer, self.result_types)
        printer.print_string(" ")
        printer.print_region(
            self.body, print_entry_block_args=False, print_block_terminators=bool(arguments)
        )
        printer.print_op_attributes(self.attributes)


def _parse_bound(parser: Parser, keyword: str) -> Bound:
    position = parser.pos
    several = parser.parse_optional_keyword(keyword) is not None
    if (operand := parser.parse_optional_operand(IndexType())) is not None:
        return AffineMap(0, 1, (AffineExpr.symbol(0),)), [operand]
    if (value := parser.parse_optional_integer(allow_boolean=False)) is not None:
        return value
    map, operands = parse_map_and_operands(parser)
    if len(map.data.results) > 1 and not several:
        parser.raise_error(f"a bound with several results needs '{keyword}' before it", position)
    return map.data, operands


def _print_bound(
    printer: Printer, map: AffineMapAttr, operands: Sequence[SSAValue], keyword: str
) -> None:
    results = map.data.results
    if len(results) == 1 and not operands and isinstance(results[0], AffineConstantExpr):
        printer.print_string(str(results[0].value))
        return
    if len(results) == 1 and len(operands) == 1 and isinstance(results[0], AffineSymExpr):
        printer.print_ssa_value(operands[0])
        return
    if len(results) > 1:
        printer.print_string(f"{keyword} ")
    print_map_and_operands(printer, map, operands)
