"""Types of the `async` dialect, and the effect of waiting on them."""

from __future__ import annotations

from collections.abc import Sequence, Set

from xdsl.ir import (
    Attribute,
    Operation,
    ParametrizedAttribute,
    TypeAttribute,
)
from xdsl.irdl import (
    irdl_attr_definition,
)
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.traits import (
    EffectInstance,
    MemoryEffect,
    MemoryEffectKind,
    Resource,
)
from xdsl.utils.exceptions import VerifyException


@irdl_attr_definition
class TokenType(ParametrizedAttribute, TypeAttribute):
    """`!async.token`: stands for the completion of an `async.execute`."""

    name = "async.token"

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        return []


@irdl_attr_definition
class ValueType(ParametrizedAttribute, TypeAttribute):
    """`!async.value<f32>`: a value that will be there later."""

    name = "async.value"

    value_type: TypeAttribute

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            return [parser.parse_type()]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_attribute(self.value_type)


@irdl_attr_definition
class GroupType(ParametrizedAttribute, TypeAttribute):
    """`!async.group`: tokens and values that are awaited together."""

    name = "async.group"

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        return []


class Completion(Resource):
    """Which asynchronous regions are complete: awaiting writes it, and touches no buffer."""

    def name(self) -> str:
        return "async.completion"


COMPLETION = Completion()


class CompletionEffect(MemoryEffect):
    """The operation waits, or changes what is waited for."""

    @classmethod
    def get_effects(cls, op: Operation) -> Set[EffectInstance]:
        return frozenset((EffectInstance(MemoryEffectKind.WRITE, resource=COMPLETION),))


def unwrap(type: Attribute) -> Attribute:
    """What an `!async.value` holds; any other type itself."""
    return type.value_type if isinstance(type, ValueType) else type


def check_types(
    what: str, found: Sequence[Attribute], other: str, expected: Sequence[Attribute]
) -> None:
    """Raise `VerifyException` unless both lists of types are the same."""
    if list(found) != list(expected):
        raise VerifyException(
            f"{what} ({', '.join(map(str, found))}), but {other} ({', '.join(map(str, expected))})"
        )
