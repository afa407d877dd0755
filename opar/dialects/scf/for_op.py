"""The counted loop of the `scf` dialect."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import IndexType, SignlessIntegerConstraint, UnitAttr
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    VarConstraint,
    base,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from opar.dialects.scf.regions import (
    Body,
    ensure_yield,
    parse_assignment,
    parse_optional_arrow_types,
    print_arrow_types,
    print_assignments,
    print_body,
    verify_types,
    verify_yield,
)


@irdl_op_definition
class ForOp(IRDLOperation):
    """
    A counted loop: `scf.for %i = %lb to %ub step %s iter_args(%a = %init) -> (f32) { ... }`.

    Bounds and step are `index`, or integers of one type, written ` : i32`; `scf.for unsigned`
    compares them unsigned: https://mlir.llvm.org/docs/Dialects/SCFDialect/#scffor-scfforop.
    """

    name = "scf.for"

    T: ClassVar = VarConstraint("T", base(IndexType) | SignlessIntegerConstraint)

    lb = operand_def(T)
    ub = operand_def(T)
    step = operand_def(T)
    iter_args = var_operand_def()
    res = var_result_def()
    unsigned_cmp = opt_prop_def(UnitAttr, prop_name="unsignedCmp")
    body = region_def("single_block")

    traits = traits_def(RecursiveMemoryEffect())

    def __init__(
        self,
        lb: SSAValue | Operation,
        ub: SSAValue | Operation,
        step: SSAValue | Operation,
        iter_args: Sequence[SSAValue | Operation],
        body: Body,
        *,
        unsigned: bool = False,
    ):
        super().__init__(
            operands=[lb, ub, step, iter_args],
            result_types=[[SSAValue.get(a).type for a in iter_args]],
            properties={"unsignedCmp": UnitAttr() if unsigned else None},
            regions=[body],
        )
        if not iter_args:
            ensure_yield(self.body)

    @property
    def induction_variable(self) -> BlockArgument:
        """The loop variable."""
        return self.body.block.args[0]

    def verify_(self) -> None:
        types = [v.type for v in self.iter_args]
        verify_types("the arguments of the body", self.body.block.args, [self.lb.type, *types])
        if types != list(self.result_types):
            raise VerifyException("the types of the initial values and of the results differ")
        verify_yield(self.body, types)

    @classmethod
    def parse(cls, parser: Parser) -> ForOp:
        unsigned = parser.parse_optional_keyword("unsigned") is not None
        variable = parser.parse_argument(expect_type=False)
        parser.parse_punctuation("=")
        bounds = [parser.parse_unresolved_operand()]
        for keyword in ("to", "step"):
            parser.parse_keyword(keyword)
            bounds.append(parser.parse_unresolved_operand())
        pairs = []
        types: Sequence[Attribute] = ()
        position = parser.pos
        if parser.parse_optional_keyword("iter_args") is not None:
            pairs = parser.parse_comma_separated_list(
                parser.Delimiter.PAREN, lambda: parse_assignment(parser)
            )
            types = parse_optional_arrow_types(parser)
        inits = parser.resolve_operands([operand for _, operand in pairs], types, position)
        counter: Attribute = IndexType()
        if parser.parse_optional_punctuation(":") is not None:
            counter = parser.parse_type()
        lb, ub, step = (parser.resolve_operand(bound, counter) for bound in bounds)
        arguments = [a.resolve(type) for (a, _), type in zip(pairs, types, strict=True)]
        body = parser.parse_region([variable.resolve(counter), *arguments])
        op = cls(lb, ub, step, inits, body, unsigned=unsigned)
        op.attributes |= parser.parse_optional_attr_dict()
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" unsigned " if self.unsigned_cmp is not None else " ")
        variable, *arguments = self.body.block.args
        for separator, value in (("", variable), (" = ", self.lb), (" to ", self.ub)):
            printer.print_string(separator)
            printer.print_ssa_value(value)
        printer.print_string(" step ")
        printer.print_ssa_value(self.step)
        if arguments:
            printer.print_string(" iter_args")
            print_assignments(printer, arguments, self.iter_args)
            print_arrow_types(printer, self.result_types)
        if not isinstance(variable.type, IndexType):
            printer.print_string(" : ")
            printer.print_attribute(variable.type)
        print_body(printer, self.body, with_terminator=bool(self.res))
        printer.print_op_attributes(self.attributes)
