"""How the attributions of kernels, buffers as long-lived as a launch, are written and checked."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, MemRefType
from xdsl.ir import BlockArgument
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from opar.dialects.gpu.attributes import AddressSpace, AddressSpaceAttr
from opar.dialects.signature import (
    Parameter,
    parameter_attributes,
    parse_parameters,
    print_arguments,
)


def parse_named_parameters(parser: Parser, operation: str) -> list[Parameter]:
    """Parse `(%a : type {attributes}, ...)`; of a kernel, every argument has a name."""
    position = parser.pos
    parameters = parse_parameters(parser)
    if any(parameter.argument is None for parameter in parameters):
        parser.raise_error(f"the arguments of '{operation}' need names", at_position=position)
    return parameters


def arguments_of(parameters: Sequence[Parameter]) -> list[Parser.Argument]:
    """The named arguments among `parameters`."""
    return [p.argument for p in parameters if p.argument is not None]


def parse_attributions(
    parser: Parser, keyword: str, operation: str
) -> tuple[list[Parser.Argument], ArrayAttr | None]:
    """Parse `workgroup(%a : memref<...> {...}, ...)`, if `keyword` is there."""
    if parser.parse_optional_keyword(keyword) is None:
        return [], None
    found = parse_named_parameters(parser, operation)
    return arguments_of(found), parameter_attributes(found)


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
