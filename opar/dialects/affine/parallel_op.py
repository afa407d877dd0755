"""The parallel loops of the `affine` dialect."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    DenseIntElementsAttr,
    IndexType,
    IntegerAttr,
    TensorType,
    i32,
    i64,
)
from xdsl.ir import Attribute, BlockArgument, Region, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineExpr, AffineMap
from xdsl.irdl import (
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
from opar.dialects.affine.syntax import SSAExpressionParser, print_expression
from opar.dialects.reduction_kind import ReductionKind, verify_loop_reduction


@irdl_op_definition
class ParallelOp(IRDLOperation):
    """
    A nest of loops whose iterations are independent:
    `affine.parallel (%i, %j) = (0, max(%n, 3)) to (min(10, %m + 3), 20) step (2, 1)
    reduce ("addf") -> (f32) { ... affine.yield %v : f32 }`.

    The bounds of all dimensions share one map each; `lower_bounds_groups[d]` of its results belong
    to dimension d, which starts at the greatest of them (and ends before the least). Each result
    combines what the iterations yield, in any order:
    https://mlir.llvm.org/docs/Dialects/Affine/#affineparallel-affineaffineparallelop.
    """

    name = "affine.parallel"

    map_operands = var_operand_def(IndexType())
    res = var_result_def()

    reductions = prop_def(ArrayAttr[IntegerAttr])
    lower_bounds_map = prop_def(AffineMapAttr, prop_name="lowerBoundsMap")
    lower_bounds_groups = prop_def(DenseIntElementsAttr, prop_name="lowerBoundsGroups")
    upper_bounds_map = prop_def(AffineMapAttr, prop_name="upperBoundsMap")
    upper_bounds_groups = prop_def(DenseIntElementsAttr, prop_name="upperBoundsGroups")
    steps = prop_def(ArrayAttr[IntegerAttr])

    body = region_def("single_block")

    traits = traits_def(RecursiveMemoryEffect(), RecursivelySpeculatable())

    def __init__(
        self,
        lower: Sequence[Sequence[AffineExpr]],
        upper: Sequence[Sequence[AffineExpr]],
        body: Region,
        steps: Sequence[int] | None = None,
        lower_space: tuple[int, Sequence[SSAValue]] = (0, ()),
        upper_space: tuple[int, Sequence[SSAValue]] = (0, ()),
        reductions: Sequence[ReductionKind] = (),
        result_types: Sequence[Attribute] = (),
    ):
        """
        `lower[d]` and `upper[d]` are the expressions that bound dimension d, over the operands of
        `lower_space` and `upper_space`: (number of dimensions, dimensions then symbols).
        """
        super().__init__(
            operands=[[*lower_space[1], *upper_space[1]]],
            result_types=[result_types],
            properties={
                "reductions": ArrayAttr(IntegerAttr(int(k), i64) for k in reductions),
                "lowerBoundsMap": _joint_map(lower, lower_space),
                "lowerBoundsGroups": _groups([len(g) for g in lower]),
                "upperBoundsMap": _joint_map(upper, upper_space),
                "upperBoundsGroups": _groups([len(g) for g in upper]),
                "steps": ArrayAttr(IntegerAttr(s, i64) for s in steps or [1] * len(lower)),
            },
            regions=[body],
        )
        if not result_types:
            ensure_yield(body)

    @property
    def num_dims(self) -> int:
        """The number of loops."""
        return len(self.steps)

    @property
    def induction_variables(self) -> Sequence[BlockArgument]:
        """The loop variables, outermost first."""
        return self.body.block.args

    @property
    def lower_operands(self) -> Sequence[SSAValue]:
        """The operands of the lower bounds: dimensions, then symbols."""
        map = self.lower_bounds_map.data
        return self.map_operands[: map.num_dims + map.num_symbols]

    @property
    def upper_operands(self) -> Sequence[SSAValue]:
        """The operands of the upper bounds: dimensions, then symbols."""
        map = self.lower_bounds_map.data
        return self.map_operands[map.num_dims + map.num_symbols :]

    @property
    def step_values(self) -> tuple[int, ...]:
        """The step of each loop, positive."""
        return tuple(s.value.data for s in self.steps)

    @property
    def reduction_kinds(self) -> tuple[ReductionKind, ...]:
        """How each result is combined."""
        return tuple(ReductionKind(r.value.data) for r in self.reductions)

    def lower_bound(self, d: int) -> tuple[AffineExpr, ...]:
        """The expressions whose greatest value is where dimension d starts."""
        return _group(self.lower_bounds_map.data, self.lower_bounds_groups, d)

    def upper_bound(self, d: int) -> tuple[AffineExpr, ...]:
        """The expressions whose least value is where dimension d ends (exclusive)."""
        return _group(self.upper_bounds_map.data, self.upper_bounds_groups, d)

    def constant_ranges(self) -> tuple[tuple[int, int, int], ...] | None:
        """(lower, upper, step) of each dimension, or None where a bound is not constant."""
        found = []
        for d, step in enumerate(self.step_values):
            ends = []
            for expressions, choose in ((self.lower_bound(d), max), (self.upper_bound(d), min)):
                values = [e.value for e in expressions if isinstance(e, AffineConstantExpr)]
                if len(values) != len(expressions):
                    return None
                ends.append(choose(values))
            found.append((ends[0], ends[1], step))
        return tuple(found)

    def verify_(self) -> None:
        dims = self.num_dims
        if len(self.body.block.args) != dims or any(
            a.type != IndexType() for a in self.body.block.args
        ):
            raise VerifyException(f"the body must take {dims} loop variables of type index")
        spaces = 0
        for what, map, groups in (
            ("lower", self.lower_bounds_map.data, self.lower_bounds_groups),
            ("upper", self.upper_bounds_map.data, self.upper_bounds_groups),
        ):
            sizes = list(groups.get_values())
            if len(sizes) != dims:
                raise VerifyException(f"expected a group of {what} bounds for each dimension")
            if any(n < 1 for n in sizes):
                raise VerifyException(f"a dimension has no {what} bound")
            if sum(sizes) != len(map.results):
                raise VerifyException(f"the groups do not add up to the {what} bounds")
            spaces += map.num_dims + map.num_symbols
        if len(self.map_operands) != spaces:
            raise VerifyException(
                f"the bounds take {spaces} operands, got {len(self.map_operands)}"
            )
        for map, operands in (
            (self.lower_bounds_map.data, self.lower_operands),
            (self.upper_bounds_map.data, self.upper_operands),
        ):
            verify_dims_and_symbols(self, operands, map.num_dims)
        if any(s <= 0 for s in self.step_values):
            raise VerifyException("the steps must be positive")
        if len(self.reductions) != len(self.res):
            raise VerifyException("expected a reduction for each result")
        for kind, type in zip(self.reductions, self.result_types, strict=True):
            verify_loop_reduction(kind.value.data, type)
        verify_yield(self.body, self.result_types)

    @classmethod
    def parse(cls, parser: Parser) -> ParallelOp:
        variables = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, lambda: parser.parse_argument(expect_type=False)
        )
        parser.parse_punctuation("=")
        lower, lower_space = _parse_bounds(parser, "max", len(variables))
        parser.parse_keyword("to")
        upper, upper_space = _parse_bounds(parser, "min", len(variables))
        steps = [1] * len(variables)
        if parser.parse_optional_keyword("step") is not None:
            position = parser.pos
            steps = parser.parse_comma_separated_list(
                parser.Delimiter.PAREN, lambda: parser.parse_integer(allow_boolean=False)
            )
            if len(steps) != len(variables):
                parser.raise_error(f"expected {len(variables)} steps, got {len(steps)}", position)
        kinds: list[ReductionKind] = []
        if parser.parse_optional_keyword("reduce") is not None:
            kinds = parser.parse_comma_separated_list(
                parser.Delimiter.PAREN, lambda: _parse_reduction(parser)
            )
        types = parse_optional_arrow_types(parser)
        body = parser.parse_region([v.resolve(IndexType()) for v in variables])
        op = cls(lower, upper, body, steps, lower_space, upper_space, kinds, types)
        op.attributes |= parser.parse_optional_attr_dict()
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" (")
        printer.print_list(self.induction_variables, printer.print_ssa_value)
        printer.print_string(") = ")
        self._print_bounds(printer, "max")
        printer.print_string(" to ")
        self._print_bounds(printer, "min")
        if any(s != 1 for s in self.step_values):
            printer.print_string(f" step ({', '.join(map(str, self.step_values))})")
        if self.res:
            names = ", ".join(f'"{kind.name}"' for kind in self.reduction_kinds)
            printer.print_string(f" reduce ({names})")
            print_arrow_types(printer, self.result_types)
        printer.print_string(" ")
        printer.print_region(
            self.body, print_entry_block_args=False, print_block_terminators=bool(self.res)
        )
        printer.print_op_attributes(self.attributes)

    def _print_bounds(self, printer: Printer, keyword: str) -> None:
        is_lower = keyword == "max"
        bound = self.lower_bound if is_lower else self.upper_bound
        operands = self.lower_operands if is_lower else self.upper_operands
        dims = (self.lower_bounds_map if is_lower else self.upper_bounds_map).data.num_dims

        def dimension(d: int) -> None:
            expressions = bound(d)
            if len(expressions) != 1:
                printer.print_string(f"{keyword}(")
            printer.print_list(expressions, lambda e: print_expression(printer, e, operands, dims))
            if len(expressions) != 1:
                printer.print_string(")")

        with printer.in_parens():
            printer.print_list(range(self.num_dims), dimension)


def _joint_map(
    groups: Sequence[Sequence[AffineExpr]], space: tuple[int, Sequence[SSAValue]]
) -> AffineMapAttr:
    dims, operands = space
    results = tuple(e for group in groups for e in group)
    return AffineMapAttr(AffineMap(dims, len(operands) - dims, results))


def _groups(sizes: Sequence[int]) -> DenseIntElementsAttr:
    return DenseIntElementsAttr.from_list(TensorType(i32, [len(sizes)]), list(sizes))


def _group(map: AffineMap, groups: DenseIntElementsAttr, d: int) -> tuple[AffineExpr, ...]:
    sizes = list(groups.get_values())
    start = sum(sizes[:d])
    return map.results[start : start + sizes[d]]


def _parse_bounds(
    parser: Parser, keyword: str, dims: int
) -> tuple[list[list[AffineExpr]], tuple[int, list[SSAValue]]]:
    expressions = SSAExpressionParser(parser)

    def dimension() -> list[AffineExpr]:
        if expressions.parse_optional_keyword(keyword) is None:
            return [expressions.expression()]
        position = parser.pos
        bounds = parser.parse_comma_separated_list(parser.Delimiter.PAREN, expressions.expression)
        if not bounds:
            parser.raise_error(f"'{keyword}' needs at least one expression", position)
        return bounds

    position = parser.pos
    groups = parser.parse_comma_separated_list(parser.Delimiter.PAREN, dimension)
    if len(groups) != dims:
        parser.raise_error(f"expected bounds for {dims} loops, got {len(groups)}", position)
    map = expressions.map(())
    return groups, (map.num_dims, expressions.operands())


def _parse_reduction(parser: Parser) -> ReductionKind:
    position = parser.pos
    name = parser.parse_str_literal()
    if name not in ReductionKind.__members__:
        known = ", ".join(ReductionKind.__members__)
        parser.raise_error(f"unknown reduction '{name}'; expected one of {known}", position)
    return ReductionKind[name]
