"""Conditionals of the `scf` dialect, and a region that runs once."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DenseArrayBase, IndexType, UnitAttr, i1, i64
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_region_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import RecursivelySpeculatable, RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from opar.dialects.scf.regions import (
    Body,
    YieldOp,
    ensure_yield,
    parse_optional_arrow_types,
    print_arrow_types,
    print_body,
    verify_types,
    verify_yield,
)


@irdl_op_definition
class IfOp(IRDLOperation):
    """
    Runs one of two regions: `scf.if %c -> (f32) { ... } else { ... }`.

    https://mlir.llvm.org/docs/Dialects/SCFDialect/#scfif-scfifop
    """

    name = "scf.if"

    cond = operand_def(i1)
    output = var_result_def()
    true_region = region_def("single_block")
    false_region = region_def()

    traits = traits_def(RecursiveMemoryEffect(), RecursivelySpeculatable())

    def __init__(
        self,
        cond: SSAValue | Operation,
        return_types: Sequence[Attribute],
        true_region: Body,
        false_region: Body | None = None,
    ):
        super().__init__(
            operands=[cond],
            result_types=[return_types],
            regions=[true_region, Region() if false_region is None else false_region],
        )
        if not return_types:
            ensure_yield(self.true_region)
            if self.false_region.blocks:
                ensure_yield(self.false_region)

    def verify_(self) -> None:
        verify_yield(self.true_region, self.result_types)
        if len(self.false_region.blocks) > 1:
            raise VerifyException("the else region must have one block")
        if self.false_region.blocks:
            verify_yield(self.false_region, self.result_types)
        elif self.output:
            raise VerifyException("an operation with results needs an else region")

    @classmethod
    def parse(cls, parser: Parser) -> IfOp:
        cond = parser.parse_operand(i1)
        types = parse_optional_arrow_types(parser)
        true_region = parser.parse_region()
        false_region = Region()
        if parser.parse_optional_keyword("else") is not None:
            false_region = parser.parse_region()
            if not types:
                ensure_yield(false_region)
        op = cls(cond, types, true_region, false_region)
        op.attributes |= parser.parse_optional_attr_dict()
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.cond)
        print_arrow_types(printer, self.result_types)
        print_body(printer, self.true_region, with_terminator=bool(self.output))
        if self.false_region.blocks:
            printer.print_string(" else")
            print_body(printer, self.false_region, with_terminator=bool(self.output))
        printer.print_op_attributes(self.attributes)


@irdl_op_definition
class ExecuteRegionOp(IRDLOperation):
    """
    Runs a region of any number of blocks once: `scf.execute_region -> f32 no_inline { ... }`.

    https://mlir.llvm.org/docs/Dialects/SCFDialect/#scfexecute_region-scfexecuteregionop
    """

    name = "scf.execute_region"

    outs = var_result_def()
    no_inline = opt_prop_def(UnitAttr)
    region = region_def()

    traits = traits_def(RecursiveMemoryEffect())

    def __init__(self, result_types: Sequence[Attribute], region: Body, *, no_inline: bool = False):
        super().__init__(
            result_types=[result_types],
            properties={"no_inline": UnitAttr() if no_inline else None},
            regions=[region],
        )

    def verify_(self) -> None:
        if not self.region.blocks:
            raise VerifyException("the region must have a block")
        if self.region.blocks[0].args:
            raise VerifyException("the region must take no values")
        for block in self.region.blocks:
            if isinstance(block.last_op, YieldOp):
                verify_types("the yielded values", block.last_op.arguments, self.result_types)

    @classmethod
    def parse(cls, parser: Parser) -> ExecuteRegionOp:
        types = parse_optional_arrow_types(parser)
        no_inline = parser.parse_optional_keyword("no_inline") is not None
        op = cls(types, parser.parse_region(), no_inline=no_inline)
        op.attributes |= parser.parse_optional_attr_dict()
        return op

    def print(self, printer: Printer) -> None:
        print_arrow_types(printer, self.result_types)
        if self.no_inline is not None:
            printer.print_string(" no_inline")
        print_body(printer, self.region, with_terminator=True)
        printer.print_op_attributes(self.attributes)


@irdl_op_definition
class IndexSwitchOp(IRDLOperation):
    """
    Runs the region of the case that an index is, else the default:
    `scf.index_switch %i -> f32 case 2 { ... } case 5 { ... } default { ... }`.

    https://mlir.llvm.org/docs/Dialects/SCFDialect/#scfindex_switch-scfindexswitchop
    """

    name = "scf.index_switch"

    arg = operand_def(IndexType())
    cases = prop_def(DenseArrayBase.constr(i64))
    output = var_result_def()
    default_region = region_def("single_block")
    case_regions = var_region_def("single_block")

    traits = traits_def(RecursiveMemoryEffect())

    def __init__(
        self,
        arg: SSAValue | Operation,
        cases: Sequence[int],
        default_region: Region,
        case_regions: Sequence[Region],
        result_types: Sequence[Attribute],
    ):
        super().__init__(
            operands=[arg],
            properties={"cases": DenseArrayBase.from_list(i64, cases)},
            regions=[default_region, case_regions],
            result_types=[result_types],
        )
        if not result_types:
            for region in self.regions:
                ensure_yield(region)

    def verify_(self) -> None:
        values = self.cases.get_values()
        if len(values) != len(self.case_regions):
            raise VerifyException(f"{len(values)} cases, but {len(self.case_regions)} regions")
        if len(set(values)) != len(values):
            raise VerifyException("a case is there twice")
        for region in self.regions:
            verify_yield(region, self.result_types)

    @classmethod
    def parse(cls, parser: Parser) -> IndexSwitchOp:
        arg = parser.parse_operand(IndexType())
        attributes = parser.parse_optional_attr_dict()
        types: Sequence[Attribute] = []
        if parser.parse_optional_punctuation("->") is not None:
            types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        cases: list[int] = []
        regions: list[Region] = []
        while parser.parse_optional_keyword("case") is not None:
            cases.append(parser.parse_integer(allow_boolean=False))
            regions.append(parser.parse_region())
        parser.parse_keyword("default")
        op = cls(arg, cases, parser.parse_region(), regions, types)
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.arg)
        printer.print_op_attributes(self.attributes)
        if self.output:
            printer.print_string(" -> ")
            printer.print_list(self.result_types, printer.print_attribute)
        for value, region in zip(self.cases.get_values(), self.case_regions, strict=True):
            printer.print_string(f" case {value}")
            print_body(printer, region, with_terminator=True)
        printer.print_string(" default")
        print_body(printer, self.default_region, with_terminator=True)
