"""Multi-dimensional parallel loops with static or dynamic bounds."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DenseArrayBase,
    IndexType,
    IntegerType,
    i64,
)
from xdsl.dialects.utils import split_dynamic_index_list
from xdsl.ir import Attribute, Block, BlockArgument, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    lazy_traits_def,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import HasParent, IsTerminator, NoTerminator, RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from opar.dialects.scf.regions import (
    Body,
    ensure_terminator,
    parse_assignment,
    parse_optional_arrow_types,
    print_arrow_types,
    print_assignments,
    print_body,
    print_values,
    verify_types,
)

Bounds = Sequence[SSAValue | int]


def _parse_bounds(parser: Parser) -> Bounds:
    def bound() -> SSAValue | int:
        value = parser.parse_optional_operand(IndexType())
        return parser.parse_integer(allow_boolean=False) if value is None else value

    return parser.parse_comma_separated_list(parser.Delimiter.PAREN, bound)


def _print_bounds(printer: Printer, bounds: Bounds) -> None:
    def bound(value: SSAValue | int) -> None:
        if isinstance(value, int):
            printer.print_string(str(value))
        else:
            printer.print_ssa_value(value)

    with printer.in_parens():
        printer.print_list(bounds, bound)


def _merge(static: DenseArrayBase[IntegerType], dynamic: Sequence[SSAValue]) -> Bounds:
    remaining = iter(dynamic)
    return [next(remaining) if v == DYNAMIC_INDEX else int(v) for v in static.get_values()]


@irdl_op_definition
class ForallOp(IRDLOperation):
    """
    A nest of loops whose iterations are independent: `scf.forall (%i, %j) in (%n, 4) { ... }`, or
    `scf.forall (%i) = (0) to (%n) step (2) { ... } {mapping = [#gpu.thread<x>]}`.

    `shared_outs(%o = %t) -> (tensor<8xf32>)` are tensors that the iterations fill in together
    within `scf.forall.in_parallel`:
    https://mlir.llvm.org/docs/Dialects/SCFDialect/#scfforall-scfforallop.
    """

    name = "scf.forall"

    dynamic_lower_bound = var_operand_def(IndexType())
    dynamic_upper_bound = var_operand_def(IndexType())
    dynamic_step = var_operand_def(IndexType())
    outputs = var_operand_def()
    res = var_result_def()
    static_lower_bound = prop_def(DenseArrayBase.constr(i64), prop_name="staticLowerBound")
    static_upper_bound = prop_def(DenseArrayBase.constr(i64), prop_name="staticUpperBound")
    static_step = prop_def(DenseArrayBase.constr(i64), prop_name="staticStep")
    mapping = opt_prop_def(ArrayAttr)
    body = region_def("single_block")

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(RecursiveMemoryEffect())

    def __init__(
        self,
        lower_bounds: Bounds,
        upper_bounds: Bounds,
        steps: Bounds,
        body: Body,
        outputs: Sequence[SSAValue] = (),
        mapping: Attribute | None = None,
    ):
        operands: list[Sequence[SSAValue]] = []
        properties: dict[str, Attribute | None] = {"mapping": mapping}
        for name, bounds in (
            ("staticLowerBound", lower_bounds),
            ("staticUpperBound", upper_bounds),
            ("staticStep", steps),
        ):
            static, dynamic = split_dynamic_index_list(bounds, DYNAMIC_INDEX)
            operands.append(dynamic)
            properties[name] = DenseArrayBase.from_list(i64, static)
        super().__init__(
            operands=[*operands, outputs],
            result_types=[[v.type for v in outputs]],
            properties=properties,
            regions=[body],
        )
        if not outputs:
            ensure_terminator(self.body, InParallelOp)

    @property
    def num_dims(self) -> int:
        """The number of loops."""
        return len(self.static_upper_bound)

    @property
    def induction_variables(self) -> Sequence[BlockArgument]:
        """The loop variables, outermost first."""
        return self.body.block.args[: self.num_dims]

    @property
    def lower_bounds(self) -> Bounds:
        """Where each loop starts."""
        return _merge(self.static_lower_bound, self.dynamic_lower_bound)

    @property
    def upper_bounds(self) -> Bounds:
        """Where each loop ends, exclusive."""
        return _merge(self.static_upper_bound, self.dynamic_upper_bound)

    @property
    def steps(self) -> Bounds:
        """The step of each loop."""
        return _merge(self.static_step, self.dynamic_step)

    def verify_(self) -> None:
        for static, dynamic in (
            (self.static_lower_bound, self.dynamic_lower_bound),
            (self.static_upper_bound, self.dynamic_upper_bound),
            (self.static_step, self.dynamic_step),
        ):
            if len(static) != self.num_dims:
                raise VerifyException("expected as many lower bounds and steps as upper bounds")
            if static.get_values().count(DYNAMIC_INDEX) != len(dynamic):
                raise VerifyException("expected an operand for each dynamic bound")
        if any(isinstance(s, int) and s <= 0 for s in self.steps):
            raise VerifyException("the steps must be positive")
        if self.mapping is not None and len(self.mapping) != self.num_dims:
            raise VerifyException("the mapping must have an entry for each loop")
        types = [v.type for v in self.outputs]
        if types != list(self.result_types):
            raise VerifyException("the types of the outputs and of the results differ")
        block = self.body.block
        indices: list[Attribute] = [IndexType()] * self.num_dims
        verify_types("the arguments of the body", block.args, [*indices, *types])
        if not isinstance(block.last_op, InParallelOp):
            raise VerifyException("the body must end in scf.forall.in_parallel")

    @classmethod
    def parse(cls, parser: Parser) -> ForallOp:
        variables = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, lambda: parser.parse_argument(expect_type=False)
        )
        if parser.parse_optional_keyword("in") is not None:
            upper = _parse_bounds(parser)
            lower: Bounds = [0] * len(upper)
            steps: Bounds = [1] * len(upper)
        else:
            parser.parse_punctuation("=")
            lower = _parse_bounds(parser)
            parser.parse_keyword("to")
            upper = _parse_bounds(parser)
            parser.parse_keyword("step")
            steps = _parse_bounds(parser)
        pairs = []
        types: Sequence[Attribute] = ()
        position = parser.pos
        if parser.parse_optional_keyword("shared_outs") is not None:
            pairs = parser.parse_comma_separated_list(
                parser.Delimiter.PAREN, lambda: parse_assignment(parser)
            )
            types = parse_optional_arrow_types(parser)
        outputs = parser.resolve_operands([operand for _, operand in pairs], types, position)
        arguments = [a.resolve(type) for (a, _), type in zip(pairs, types, strict=True)]
        body = parser.parse_region([*(v.resolve(IndexType()) for v in variables), *arguments])
        attributes = parser.parse_optional_attr_dict()
        op = cls(lower, upper, steps, body, outputs, attributes.pop("mapping", None))
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        print_values(printer, self.induction_variables)
        lower, steps = self.lower_bounds, self.steps
        if all(isinstance(b, int) and b == 0 for b in lower) and all(
            isinstance(s, int) and s == 1 for s in steps
        ):
            printer.print_string(" in ")
            _print_bounds(printer, self.upper_bounds)
        else:
            for word, bounds in ((" = ", lower), (" to ", self.upper_bounds), (" step ", steps)):
                printer.print_string(word)
                _print_bounds(printer, bounds)
        if self.outputs:
            printer.print_string(" shared_outs")
            print_assignments(printer, self.body.block.args[self.num_dims :], self.outputs)
            print_arrow_types(printer, self.result_types)
        print_body(printer, self.body, with_terminator=bool(self.res))
        mapping = {} if self.mapping is None else {"mapping": self.mapping}
        printer.print_op_attributes(self.attributes | mapping)


@irdl_op_definition
class InParallelOp(IRDLOperation):
    """
    How the iterations of `scf.forall` fill in its outputs: `scf.forall.in_parallel { ... }`; left
    out where there are none.

    https://mlir.llvm.org/docs/Dialects/SCFDialect/#scfforallin_parallel-scfinparallelop
    """

    name = "scf.forall.in_parallel"

    region = region_def("single_block")

    traits = lazy_traits_def(
        lambda: (IsTerminator(), NoTerminator(), HasParent(ForallOp), RecursiveMemoryEffect())
    )

    def __init__(self, region: Region | None = None):
        super().__init__(regions=[Region(Block()) if region is None else region])
        if not self.region.blocks:
            self.region.add_block(Block())

    @classmethod
    def parse(cls, parser: Parser) -> InParallelOp:
        op = cls(parser.parse_region())
        op.attributes |= parser.parse_optional_attr_dict()
        return op

    def print(self, printer: Printer) -> None:
        print_body(printer, self.region, with_terminator=True)
        printer.print_op_attributes(self.attributes)
