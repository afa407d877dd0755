"""How operands, arguments and results of functions are written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType
from xdsl.ir import Attribute, BlockArgument, SSAValue
from xdsl.parser import Parser
from xdsl.printer import Printer


class Parameter(NamedTuple):
    """A parameter of a function: its name (a declaration has none), type and attributes."""

    argument: Parser.Argument | None
    type: Attribute
    attributes: dict[str, Attribute]


def parse_parameters(parser: Parser) -> list[Parameter]:
    """Parse `(%a : type {attributes} loc(...), ...)`, or types without names."""

    def parameter() -> Parameter:
        argument = parser.parse_optional_argument()
        type = argument.type if argument is not None else parser.parse_type()
        attributes = parser.parse_optional_dictionary_attr_dict()
        location = parser.parse_optional_location()
        if argument is not None:
            argument.location = location
        return Parameter(argument, type, attributes)

    position = parser.pos
    parameters = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parameter)
    if len({parameter.argument is None for parameter in parameters}) > 1:
        parser.raise_error("either all arguments have names or none", at_position=position)
    return parameters


def parameter_attributes(parameters: Sequence[Parameter]) -> ArrayAttr | None:
    """One dictionary a parameter, or nothing where all are empty."""
    if not any(parameter.attributes for parameter in parameters):
        return None
    return ArrayAttr(DictionaryAttr(parameter.attributes) for parameter in parameters)


def print_arguments(
    printer: Printer,
    arguments: Sequence[BlockArgument] | Sequence[Attribute],
    attributes: ArrayAttr | None = None,
) -> None:
    """Print `(%a: type {attributes}, ...)`, or of a declaration the types without names."""

    def argument(pair: tuple[int, BlockArgument | Attribute]) -> None:
        index, value = pair
        if isinstance(value, BlockArgument):
            printer.print_ssa_value(value)
            printer.print_string(": ")
        printer.print_attribute(value.type if isinstance(value, BlockArgument) else value)
        if attributes is not None and index < len(attributes.data):
            dictionary = attributes.data[index]
            if isinstance(dictionary, DictionaryAttr) and dictionary.data:
                printer.print_op_attributes(dictionary.data)
        if printer.print_debuginfo and isinstance(value, BlockArgument):
            printer.print_string(" ")
            printer.print_attribute(value.location)

    with printer.in_parens():
        printer.print_list(enumerate(arguments), argument)


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
