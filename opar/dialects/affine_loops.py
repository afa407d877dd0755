"""The loops of the `affine` dialect: `affine.for` and `affine.parallel`."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.affine import YieldOp
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
from xdsl.ir import Attribute, Block, BlockArgument, Region, SSAValue
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

from opar.dialects.affine_syntax import (
    SSAExpressionParser,
    parse_map_and_operands,
    print_expression,
    print_map_and_operands,
)
from opar.dialects.reduction_kind import ReductionKind, verify_loop_reduction

Bound = int | tuple[AffineMap, Sequence[SSAValue]]
"""A loop bound: a constant, or a map with its operands (its greatest or least result counts)."""


def ensure_yield(region: Region) -> None:
    """Add the `affine.yield` that the printed form leaves out."""
    if not region.blocks:
        region.add_block(Block())
    block = region.block
    if not isinstance(block.last_op, YieldOp):
        block.add_op(YieldOp.get())


def verify_yield(region: Region, types: Sequence[Attribute]) -> None:
    """The region must end in an `affine.yield` of values of `types`."""
    last = region.block.last_op
    if not isinstance(last, YieldOp):
        raise VerifyException("the region must end in affine.yield")
    if tuple(v.type for v in last.arguments) != tuple(types):
        raise VerifyException("the types of the yielded values and of the results differ")


def parse_optional_arrow_types(parser: Parser) -> list[Attribute]:
    """`-> type` or `-> (types)`, or nothing."""
    if parser.parse_optional_punctuation("->") is None:
        return []
    types = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
    return [parser.parse_type()] if types is None else types


def _bound(bound: Bound) -> tuple[AffineMapAttr, Sequence[SSAValue]]:
    if isinstance(bound, int):
        return AffineMapAttr(AffineMap.constant_map(bound)), ()
    return AffineMapAttr(bound[0]), bound[1]


@irdl_op_definition
class ForOp(IRDLOperation):
    """
    A counted loop: `affine.for %i = 0 to min affine_map<(d0) -> (d0, 8)>(%n) step 2
    iter_args(%acc = %init) -> (f32) { ... }`.

    The lower bound is the greatest result of its map, the upper bound (exclusive) the least.
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
            printer.print_string(") -> (")
            printer.print_list(self.result_types, printer.print_attribute)
            printer.print_string(")")
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


@irdl_op_definition
class ParallelOp(IRDLOperation):
    """
    A nest of loops whose iterations are independent:
    `affine.parallel (%i, %j) = (0, max(%n, 3)) to (min(10, %m + 3), 20) step (2, 1)
    reduce ("addf") -> (f32) { ... affine.yield %v : f32 }`.

    The bounds of all dimensions share one map each; `lower_bounds_groups[d]` of its results belong
    to dimension d, which starts at the greatest of them (and ends before the least).
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
        lower, lower_space = _parse_bounds(parser, "max")
        parser.parse_keyword("to")
        upper, upper_space = _parse_bounds(parser, "min")
        steps = [1] * len(lower)
        if parser.parse_optional_keyword("step") is not None:
            steps = parser.parse_comma_separated_list(
                parser.Delimiter.PAREN, lambda: parser.parse_integer(allow_boolean=False)
            )
        kinds: list[ReductionKind] = []
        if parser.parse_optional_keyword("reduce") is not None:
            kinds = parser.parse_comma_separated_list(
                parser.Delimiter.PAREN, lambda: _parse_reduction(parser)
            )
        types = parse_optional_arrow_types(parser)
        body = parser.parse_region([v.resolve(IndexType()) for v in variables])
        op = cls(lower, upper, body, steps, lower_space, upper_space, kinds, types)
        op.properties["steps"] = ArrayAttr(IntegerAttr(s, i64) for s in steps)
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
            printer.print_string(f" reduce ({names}) -> (")
            printer.print_list(self.result_types, printer.print_attribute)
            printer.print_string(")")
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
    parser: Parser, keyword: str
) -> tuple[list[list[AffineExpr]], tuple[int, list[SSAValue]]]:
    expressions = SSAExpressionParser(parser)

    def dimension() -> list[AffineExpr]:
        if expressions.parse_optional_keyword(keyword) is None:
            return [expressions.expression()]
        return expressions.parse_comma_separated_list(
            parser.Delimiter.PAREN, expressions.expression
        )

    groups = parser.parse_comma_separated_list(parser.Delimiter.PAREN, dimension)
    map = expressions.map(())
    return groups, (map.num_dims, expressions.operands())


def _parse_reduction(parser: Parser) -> ReductionKind:
    position = parser.pos
    name = parser.parse_str_literal()
    if name not in ReductionKind.__members__:
        known = ", ".join(ReductionKind.__members__)
        parser.raise_error(f"unknown reduction '{name}'; expected one of {known}", position)
    return ReductionKind[name]
