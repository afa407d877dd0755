"""What the operations of the `affine` dialect that touch a memref share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import AffineMapAttr, MemRefType
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.irdl import IRDLOperation
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from opar.dialects.affine.scopes import verify_dims_and_symbols
from opar.dialects.affine.syntax import (
    parse_subscripts,
    print_subscripts,
    verify_operand_count,
)


class AccessOp(IRDLOperation):
    """Common to loads and stores: `indices` are the operands of `map`, dimensions then symbols."""

    if TYPE_CHECKING:
        memref: SSAValue
        indices: Sequence[SSAValue]
        map: AffineMapAttr

    def verify_access(self) -> None:
        """The map must fit the memref and its operands. Raises `VerifyException`."""
        assert isinstance(self.memref.type, MemRefType)
        rank = self.memref.type.get_num_dims()
        if len(self.map.data.results) != rank:
            raise VerifyException(
                f"the map has {len(self.map.data.results)} results, the memref {rank} dimensions"
            )
        verify_operand_count(self.map, self.indices)
        verify_dims_and_symbols(self, self.indices, self.map.data.num_dims)

    def print_access(self, printer: Printer, hints: str = "") -> None:
        """`%m[subscripts]`, `hints`, the attributes and ` : type`."""
        printer.print_ssa_value(self.memref)
        print_subscripts(printer, self.map.data, self.indices)
        printer.print_string(hints)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.memref.type)


def parse_access(
    parser: Parser, parse_hints: Callable[[], None] = lambda: None
) -> tuple[SSAValue, AffineMapAttr, list[SSAValue], dict[str, Attribute], MemRefType]:
    """
    `%m[subscripts]`, what `parse_hints` reads, the attributes and `: type`; returns the memref, the
    map, its operands, the attributes and the type.
    """
    unresolved = parser.parse_unresolved_operand()
    map, indices = parse_subscripts(parser)
    parse_hints()
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    position = parser.pos
    type = parser.parse_type()
    if not isinstance(type, MemRefType):
        parser.raise_error("expected a memref type", position)
    memref = parser.resolve_operand(unresolved, type)
    return memref, AffineMapAttr(map), indices, attributes, type


def map_or_identity(map: AffineMapAttr | None, memref: SSAValue) -> AffineMapAttr:
    """The map, or where there is none the identity over the dimensions of the memref."""
    if map is not None:
        return map
    assert isinstance(memref.type, MemRefType)
    return AffineMapAttr(AffineMap.identity(memref.type.get_num_dims()))
