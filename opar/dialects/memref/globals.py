"""Memory that belongs to the module."""

from __future__ import annotations

from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    MemRefType,
    StringAttr,
    SymbolNameConstraint,
    TensorType,
    UnitAttr,
)
from xdsl.ir import Attribute
from xdsl.irdl import IRDLOperation, irdl_op_definition, opt_prop_def, prop_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from opar.dialects.memref.allocation import verify_alignment


@irdl_op_definition
class GlobalOp(IRDLOperation):
    """
    A named buffer of static shape: `memref.global "private" constant @g : memref<2xf32> =
    dense<[1.0, 2.0]> {alignment = 64 : i64}`; `= uninitialized` leaves its content open, no `=`
    declares one that is defined elsewhere.

    https://mlir.llvm.org/docs/Dialects/MemRef/#memrefglobal-memrefglobalop
    """

    name = "memref.global"

    sym_name = prop_def(SymbolNameConstraint())
    sym_visibility = opt_prop_def(StringAttr)
    type = prop_def(MemRefType)
    initial_value = opt_prop_def(UnitAttr | DenseIntOrFPElementsAttr)
    constant = opt_prop_def(UnitAttr)
    alignment = opt_prop_def(IntegerAttr)

    traits = traits_def(SymbolOpInterface())

    def __init__(
        self,
        sym_name: str,
        type: MemRefType,
        initial_value: Attribute | None = None,
        sym_visibility: str | None = None,
        *,
        constant: bool = False,
        alignment: IntegerAttr | None = None,
    ):
        """`initial_value`: elements, `UnitAttr` for uninitialized, or None for a declaration."""
        super().__init__(
            properties={
                "sym_name": StringAttr(sym_name),
                "sym_visibility": None if sym_visibility is None else StringAttr(sym_visibility),
                "type": type,
                "initial_value": initial_value,
                "constant": UnitAttr() if constant else None,
                "alignment": alignment,
            }
        )

    def verify_(self) -> None:
        if not self.type.has_static_shape():
            raise VerifyException("the type must have a static shape")
        if isinstance(self.initial_value, DenseIntOrFPElementsAttr):
            value = self.initial_value.type
            if (
                value.get_shape() != self.type.get_shape()
                or value.element_type != self.type.element_type
            ):
                raise VerifyException("the initial value must have the shape and element type")
        verify_alignment(self.alignment)

    @classmethod
    def parse(cls, parser: Parser) -> GlobalOp:
        visibility = parser.parse_optional_str_literal()
        constant = parser.parse_optional_keyword("constant") is not None
        name = parser.parse_symbol_name()
        parser.parse_punctuation(":")
        position = parser.pos
        type = parser.parse_type()
        if not isinstance(type, MemRefType) or not type.has_static_shape():
            parser.raise_error("expected a memref type of static shape", position)
        value: Attribute | None = None
        if parser.parse_optional_punctuation("=") is not None:
            if parser.parse_optional_keyword("uninitialized") is not None:
                value = UnitAttr()
            else:
                parser.parse_keyword("dense")
                value = parser.parse_dense_int_or_fp_elements_attr(
                    TensorType(type.element_type, type.get_shape())
                )
        attributes = parser.parse_optional_attr_dict()
        alignment = attributes.pop("alignment", None)
        op = cls(name.data, type, value, visibility, constant=constant)
        if alignment is not None:
            op.properties["alignment"] = alignment
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        if self.sym_visibility is not None:
            printer.print_attribute(self.sym_visibility)
            printer.print_string(" ")
        if self.constant is not None:
            printer.print_string("constant ")
        printer.print_symbol_name(self.sym_name.data)
        printer.print_string(" : ")
        printer.print_attribute(self.type)
        if isinstance(self.initial_value, DenseIntOrFPElementsAttr):
            printer.print_string(" = ")
            self.initial_value.print_without_type(printer)
        elif self.initial_value is not None:
            printer.print_string(" = uninitialized")
        alignment = {} if self.alignment is None else {"alignment": self.alignment}
        printer.print_op_attributes(self.attributes | alignment)
