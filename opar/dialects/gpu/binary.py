"""`gpu.binary`: a kernel module that is already compiled."""

from __future__ import annotations

from typing import Self

from xdsl.dialects.builtin import ArrayAttr, NoneAttr, SymbolNameConstraint
from xdsl.ir import Attribute
from xdsl.irdl import IRDLOperation, irdl_op_definition, opt_prop_def, prop_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import NoMemoryEffect, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from opar.dialects.gpu.attributes import SelectObjectAttr

_DEFAULT_HANDLER = SelectObjectAttr(NoneAttr())


@irdl_op_definition
class BinaryOp(IRDLOperation):
    """`gpu.binary @name <handler> [#gpu.object<...>, ...]`: one object for each target."""

    name = "gpu.binary"

    sym_name = prop_def(SymbolNameConstraint())
    offloading_handler = opt_prop_def(Attribute, prop_name="offloadingHandler")
    objects = prop_def(ArrayAttr)

    traits = traits_def(SymbolOpInterface(), NoMemoryEffect())

    def verify_(self) -> None:
        if not self.objects.data:
            raise VerifyException("a gpu.binary holds at least one object")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        name = parser.parse_symbol_name()
        handler: Attribute = _DEFAULT_HANDLER
        if parser.parse_optional_punctuation("<") is not None:
            handler = parser.parse_attribute()
            parser.parse_punctuation(">")
        attributes = parser.parse_optional_attr_dict_with_keyword()
        objects = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_attribute)
        return cls.create(
            properties={
                "sym_name": name,
                "offloadingHandler": handler,
                "objects": ArrayAttr(objects),
            },
            attributes=dict(attributes.data) if attributes else {},
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name)
        if self.offloading_handler not in (None, _DEFAULT_HANDLER):
            printer.print_string(" ")
            with printer.in_angle_brackets():
                printer.print_attribute(self.offloading_handler or _DEFAULT_HANDLER)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_attribute(self.objects)
