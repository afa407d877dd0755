"""The part of MLIR's `nvvm` dialect that programs name before they are lowered: the target."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr
from xdsl.ir import Attribute, Dialect, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer


@irdl_attr_definition
class TargetAttr(ParametrizedAttribute):
    """
    `#nvvm.target<chip = "sm_90", O = 3>`: what a `gpu.module` is compiled for. The options are kept
    as written.
    """

    name = "nvvm.target"

    options: DictionaryAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        def entry() -> tuple[str, Attribute]:
            key = parser.parse_identifier()
            parser.parse_punctuation("=")
            return key, parser.parse_attribute()

        entries = parser.parse_optional_comma_separated_list(parser.Delimiter.ANGLE, entry)
        return [DictionaryAttr(dict(entries or ()))]

    def print_parameters(self, printer: Printer) -> None:
        if not self.options.data:
            return

        def entry(item: tuple[str, Attribute]) -> None:
            key, value = item
            printer.print_string(f"{key} = ")
            if isinstance(value, IntegerAttr):
                printer.print_string(str(value.value.data))
            else:
                printer.print_attribute(value)

        with printer.in_angle_brackets():
            printer.print_list(self.options.data.items(), entry)


NVVM = Dialect("nvvm", [], [TargetAttr])
