"""What the operations of the `scf` dialect share: terminators and how regions end."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, Pure
from xdsl.utils.exceptions import VerifyException

Body = Region | Sequence[Operation] | Sequence[Block]
"""A region, or what to put in one."""

_YIELDING = frozenset({"scf.execute_region", "scf.for", "scf.if", "scf.index_switch", "scf.while"})


def _verify_parent(op: Operation, allowed: frozenset[str]) -> None:
    parent = op.parent_op()
    if parent is not None and parent.name not in allowed:
        raise VerifyException(f"must be within {' or '.join(sorted(allowed))}")


@irdl_op_definition
class YieldOp(IRDLOperation):
    """
    The results of a region: `scf.yield %a, %b : f32, index`; left out where there are none.

    https://mlir.llvm.org/docs/Dialects/SCFDialect/#scfyield-scfyieldop
    """

    name = "scf.yield"

    arguments = var_operand_def()

    traits = traits_def(IsTerminator(), Pure())
    assembly_format = "attr-dict ($arguments^ `:` type($arguments))?"

    def __init__(self, *arguments: SSAValue | Operation):
        super().__init__(operands=[arguments])

    def verify_(self) -> None:
        _verify_parent(self, _YIELDING)


@irdl_op_definition
class ConditionOp(IRDLOperation):
    """
    Whether `scf.while` goes on, and the values for its next region or its results:
    `scf.condition(%c) %a : f32`.

    https://mlir.llvm.org/docs/Dialects/SCFDialect/#scfcondition-scfconditionop
    """

    name = "scf.condition"

    condition = operand_def(i1)
    args = var_operand_def()

    traits = traits_def(IsTerminator(), Pure())
    assembly_format = "`(` $condition `)` attr-dict ($args^ `:` type($args))?"

    def __init__(self, condition: SSAValue | Operation, *args: SSAValue | Operation):
        super().__init__(operands=[condition, args])

    def verify_(self) -> None:
        _verify_parent(self, frozenset({"scf.while"}))


def ensure_yield(region: Region) -> None:
    """Add the `scf.yield` that the printed form leaves out."""
    ensure_terminator(region, YieldOp)


def ensure_terminator(region: Region, make: Callable[[], Operation]) -> None:
    """Add the terminator that the printed form leaves out, unless there is one."""
    if not region.blocks:
        region.add_block(Block())
    block = region.blocks.last
    assert block is not None
    if block.last_op is None or not block.last_op.has_trait(IsTerminator):
        block.add_op(make())


def verify_yield(region: Region, types: Sequence[Attribute]) -> None:
    """The region must end in an `scf.yield` of values of `types`."""
    last = region.block.last_op
    if not isinstance(last, YieldOp):
        raise VerifyException("the region must end in scf.yield")
    if tuple(v.type for v in last.arguments) != tuple(types):
        raise VerifyException("the types of the yielded values and of the results differ")


def verify_types(what: str, found: Sequence[SSAValue], types: Sequence[Attribute]) -> None:
    """The values `what` must have `types`. Raises `VerifyException`."""
    if tuple(v.type for v in found) != tuple(types):
        shown = ", ".join(map(str, types))
        raise VerifyException(f"{what} must have the types ({shown})")


def parse_optional_arrow_types(parser: Parser) -> Sequence[Attribute]:
    """`-> type` or `-> (types)`, or nothing."""
    if parser.parse_optional_punctuation("->") is None:
        return []
    types = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
    return [parser.parse_type()] if types is None else types


def print_arrow_types(printer: Printer, types: Sequence[Attribute]) -> None:
    """` -> (types)`, where there are any."""
    if types:
        printer.print_string(" -> (")
        printer.print_list(types, printer.print_attribute)
        printer.print_string(")")


def parse_assignment(parser: Parser):
    """`%argument = %operand`, neither resolved."""
    argument = parser.parse_argument(expect_type=False)
    parser.parse_punctuation("=")
    return argument, parser.parse_unresolved_operand()


def print_assignments(
    printer: Printer, arguments: Sequence[SSAValue], operands: Sequence[SSAValue]
) -> None:
    """`(%argument = %operand, ...)`."""

    def pair(values: tuple[SSAValue, SSAValue]) -> None:
        printer.print_ssa_value(values[0])
        printer.print_string(" = ")
        printer.print_ssa_value(values[1])

    with printer.in_parens():
        printer.print_list(list(zip(arguments, operands, strict=True)), pair)


def print_values(printer: Printer, values: Sequence[SSAValue]) -> None:
    """`(%a, %b)`."""
    with printer.in_parens():
        printer.print_list(values, printer.print_ssa_value)


def print_body(printer: Printer, region: Region, with_terminator: bool) -> None:
    """` {...}` without the arguments of its first block."""
    printer.print_string(" ")
    printer.print_region(
        region, print_entry_block_args=False, print_block_terminators=with_terminator
    )
