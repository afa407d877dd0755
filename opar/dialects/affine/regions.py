"""What the operations of the `affine` dialect with regions share."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.affine import YieldOp
from xdsl.ir import Attribute, Block, Region
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator
from xdsl.utils.exceptions import VerifyException


def ensure_yield(region: Region) -> None:
    """Add the `affine.yield` that the printed form leaves out."""
    if not region.blocks:
        region.add_block(Block())
    block = region.blocks.last
    assert block is not None
    if block.last_op is None or not block.last_op.has_trait(IsTerminator):
        block.add_op(YieldOp.get())


def verify_yield(region: Region, types: Sequence[Attribute]) -> None:
    """The region must end in an `affine.yield` of values of `types`."""
    last = region.block.last_op
    if not isinstance(last, YieldOp):
        raise VerifyException("the region must end in affine.yield")
    if tuple(v.type for v in last.arguments) != tuple(types):
        raise VerifyException("the types of the yielded values and of the results differ")


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
