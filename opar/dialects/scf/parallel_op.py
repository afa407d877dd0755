"""The parallel loops of the `scf` dialect and their reductions."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Attribute, BlockArgument, Operation, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    lazy_traits_def,
    operand_def,
    region_def,
    traits_def,
    var_operand_def,
    var_region_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import HasParent, IsTerminator, Pure, RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from opar.dialects.scf.regions import (
    Body,
    ensure_terminator,
    parse_optional_arrow_types,
    print_arrow_types,
    print_body,
    print_values,
    verify_types,
)


@irdl_op_definition
class ParallelOp(IRDLOperation):
    """
    A nest of loops whose iterations are independent: `scf.parallel (%i, %j) = (%a, %b) to (%c, %d)
    step (%s, %t) init (%v) -> f32 { ... scf.reduce(%x : f32) { ... } }`.

    Each result starts as its initial value and is combined, in any order, with what the iterations
    give to `scf.reduce`: https://mlir.llvm.org/docs/Dialects/SCFDialect/#scfparallel-scfparallelop.
    """

    name = "scf.parallel"

    lowerBound = var_operand_def(IndexType())
    upperBound = var_operand_def(IndexType())
    step = var_operand_def(IndexType())
    initVals = var_operand_def()
    res = var_result_def()
    body = region_def("single_block")

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(RecursiveMemoryEffect())

    def __init__(
        self,
        lower_bounds: Sequence[SSAValue | Operation],
        upper_bounds: Sequence[SSAValue | Operation],
        steps: Sequence[SSAValue | Operation],
        body: Body,
        init_vals: Sequence[SSAValue | Operation] = (),
    ):
        super().__init__(
            operands=[lower_bounds, upper_bounds, steps, init_vals],
            regions=[body],
            result_types=[[SSAValue.get(v).type for v in init_vals]],
        )
        if not init_vals:
            ensure_terminator(self.body, ReduceOp)

    @property
    def induction_variables(self) -> Sequence[BlockArgument]:
        """The loop variables, outermost first."""
        return self.body.block.args

    def verify_(self) -> None:
        dims = len(self.lowerBound)
        if dims == 0:
            raise VerifyException("expected at least one loop")
        if len(self.upperBound) != dims or len(self.step) != dims:
            raise VerifyException("expected as many upper bounds and steps as lower bounds")
        block = self.body.block
        verify_types("the arguments of the body", block.args, [IndexType()] * dims)
        if not isinstance(block.last_op, ReduceOp):
            raise VerifyException("the body must end in scf.reduce")
        types = [v.type for v in self.initVals]
        if types != list(self.result_types):
            raise VerifyException("the types of the initial values and of the results differ")
        verify_types("the reduced values", block.last_op.args, types)

    @classmethod
    def parse(cls, parser: Parser) -> ParallelOp:
        variables = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, lambda: parser.parse_argument(expect_type=False)
        )

        def values(keyword: str | None = None) -> Sequence[SSAValue]:
            if keyword is not None:
                parser.parse_keyword(keyword)
            return parser.parse_comma_separated_list(
                parser.Delimiter.PAREN, lambda: parser.parse_operand(IndexType())
            )

        parser.parse_punctuation("=")
        bounds = values(), values("to"), values("step")
        unresolved = []
        position = parser.pos
        if parser.parse_optional_keyword("init") is not None:
            unresolved = parser.parse_comma_separated_list(
                parser.Delimiter.PAREN, parser.parse_unresolved_operand
            )
        types = parse_optional_arrow_types(parser)
        inits = parser.resolve_operands(unresolved, types, position)
        body = parser.parse_region([v.resolve(IndexType()) for v in variables])
        op = cls(*bounds, body, inits)
        op.attributes |= parser.parse_optional_attr_dict()
        return op

    def print(self, printer: Printer) -> None:
        for word, values in (
            (" ", self.induction_variables),
            (" = ", self.lowerBound),
            (" to ", self.upperBound),
            (" step ", self.step),
        ):
            printer.print_string(word)
            print_values(printer, values)
        if self.initVals:
            printer.print_string(" init ")
            print_values(printer, self.initVals)
            print_arrow_types(printer, self.result_types)
        print_body(printer, self.body, with_terminator=bool(self.res))
        printer.print_op_attributes(self.attributes)


@irdl_op_definition
class ReduceOp(IRDLOperation):
    """
    The values that an iteration of `scf.parallel` adds to its results, and how:

        scf.reduce(%x : f32) {
        ^bb0(%a: f32, %b: f32):
          %c = arith.addf %a, %b : f32
          scf.reduce.return %c : f32
        }

    https://mlir.llvm.org/docs/Dialects/SCFDialect/#scfreduce-scfreduceop
    """

    name = "scf.reduce"

    args = var_operand_def()
    reductions = var_region_def("single_block")

    traits = lazy_traits_def(
        lambda: (RecursiveMemoryEffect(), HasParent(ParallelOp), IsTerminator())
    )
    assembly_format = "(`(` $args^ `:` type($args) `)`)? $reductions attr-dict"

    def __init__(self, args: Sequence[SSAValue | Operation] = (), regions: Sequence[Region] = ()):
        super().__init__(operands=[args], regions=[regions])

    def verify_(self) -> None:
        if len(self.args) != len(self.reductions):
            raise VerifyException("expected a region for each value")
        for region, value in zip(self.reductions, self.args, strict=True):
            types: list[Attribute] = [value.type, value.type]
            verify_types("the arguments of a reduction", region.block.args, types)
            last = region.block.last_op
            if not isinstance(last, ReduceReturnOp) or last.result.type != value.type:
                raise VerifyException("a reduction must end in scf.reduce.return of its type")


@irdl_op_definition
class ReduceReturnOp(IRDLOperation):
    """
    The combined value: `scf.reduce.return %c : f32`.

    https://mlir.llvm.org/docs/Dialects/SCFDialect/#scfreducereturn-scfreducereturnop
    """

    name = "scf.reduce.return"

    result = operand_def()

    traits = traits_def(HasParent(ReduceOp), IsTerminator(), Pure())
    assembly_format = "$result attr-dict `:` type($result)"

    def __init__(self, result: SSAValue | Operation):
        super().__init__(operands=[result])
