"""How the arguments, attributions and results of kernels are written and checked."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, MemRefType
from xdsl.ir import Attribute, BlockArgument, SSAValue
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from opar.dialects.gpu.attributes import AddressSpace, AddressSpaceAttr

KernelArgument = tuple[Parser.Argument, dict[str, Attribute]]


def parse_arguments(parser: Parser, *, attributes: bool) -> list[KernelArgument]:
    """Parse `(%a : type {attributes} loc(...), ...)`."""

    def argument() -> KernelArgument:
        name = parser.parse_argument()
        found = parser.parse_optional_dictionary_attr_dict() if attributes else {}
        name.location = parser.parse_optional_location()
        return name, found

    return parser.parse_comma_separated_list(parser.Delimiter.PAREN, argument)


def parse_attributions(
    parser: Parser, keyword: str, *, attributes: bool
) -> tuple[list[Parser.Argument], ArrayAttr | None]:
    """Parse `workgroup(%a : memref<...> {...}, ...)`, if `keyword` is there."""
    if parser.parse_optional_keyword(keyword) is None:
        return [], None
    found = parse_arguments(parser, attributes=attributes)
    return [argument for argument, _ in found], argument_attributes(found)


def argument_attributes(arguments: Sequence[KernelArgument]) -> ArrayAttr | None:
    """One dictionary an argument, or nothing where all are empty."""
    if not any(attributes for _, attributes in arguments):
        return None
    return ArrayAttr(DictionaryAttr(attributes) for _, attributes in arguments)


def print_arguments(
    printer: Printer, arguments: Sequence[BlockArgument], attributes: ArrayAttr | None = None
) -> None:
    """Print `(%a : type {attributes}, ...)`."""

    def argument(pair: tuple[int, BlockArgument]) -> None:
        index, value = pair
        printer.print_ssa_value(value)
        printer.print_string(": ")
        printer.print_attribute(value.type)
        if attributes is not None and index < len(attributes.data):
            dictionary = attributes.data[index]
            if isinstance(dictionary, DictionaryAttr) and dictionary.data:
                printer.print_op_attributes(dictionary.data)
        if printer.print_debuginfo:
            printer.print_string(" ")
            printer.print_attribute(value.location)

    with printer.in_parens():
        printer.print_list(enumerate(arguments), argument)


def print_attributions(
    printer: Printer,
    keyword: str,
    arguments: Sequence[BlockArgument],
    attributes: ArrayAttr | None = None,
) -> None:
    """Print ` workgroup(%a : memref<...>)`, or nothing where there are none."""
    if arguments:
        printer.print_string(f" {keyword}")
        print_arguments(printer, arguments, attributes)


def verify_attributions(arguments: Sequence[BlockArgument], space: AddressSpace) -> None:
    """Raise `VerifyException` unless each is a memref that is, or may be, in `space`."""
    for argument in arguments:
        type = argument.type
        if not isinstance(type, MemRefType):
            raise VerifyException(f"a {space.value} attribution has type {type}, not memref")
        found = type.memory_space
        # Numbers are spaces of a target, after lowering; only named ones can be checked.
        if isinstance(found, AddressSpaceAttr) and found.data is not space:
            raise VerifyException(
                f"a {space.value} attribution is in memory space {found.data.value}: {type}"
            )


def parse_results(parser: Parser) -> tuple[list[Attribute], ArrayAttr | None]:
    """Parse ` -> type` or ` -> (type {attributes}, ...)`, or nothing."""
    if parser.parse_optional_punctuation("->") is None:
        return [], None

    def result() -> tuple[Attribute, dict[str, Attribute]]:
        return parser.parse_type(), parser.parse_optional_dictionary_attr_dict()

    results = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, result)
    if results is None:
        return [parser.parse_type()], None
    attributes = None
    if any(found for _, found in results):
        attributes = ArrayAttr(DictionaryAttr(found) for _, found in results)
    return [type for type, _ in results], attributes


def print_results(
    printer: Printer, types: Sequence[Attribute], attributes: ArrayAttr | None
) -> None:
    """Print what `parse_results` parses."""
    if not types:
        return

    def result(pair: tuple[int, Attribute]) -> None:
        index, type = pair
        printer.print_attribute(type)
        if attributes is not None and isinstance(found := attributes.data[index], DictionaryAttr):
            printer.print_op_attributes(found.data)

    printer.print_string(" -> ")
    if len(types) == 1 and attributes is None and not isinstance(types[0], FunctionType):
        printer.print_attribute(types[0])
        return
    with printer.in_parens():
        printer.print_list(enumerate(types), result)


def parse_typed_operands(parser: Parser) -> list[SSAValue]:
    """Parse `%a, %b : type, type`, or nothing."""
    position = parser.pos
    operands = parser.parse_optional_undelimited_comma_separated_list(
        parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
    )
    if not operands:
        return []
    parser.parse_punctuation(":")
    types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
    return list(parser.resolve_operands(operands, types, position))


def print_typed_operands(printer: Printer, operands: Sequence[SSAValue]) -> None:
    """Print ` %a, %b : type, type`, or nothing."""
    if operands:
        printer.print_string(" ")
        printer.print_list(operands, printer.print_operand)
        printer.print_string(" : ")
        printer.print_list([value.type for value in operands], printer.print_attribute)
