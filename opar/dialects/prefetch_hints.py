"""The hints that `affine.prefetch` and `memref.prefetch` share: `read, locality<3>, data`."""

from __future__ import annotations

from typing import Protocol

from xdsl.dialects.builtin import BoolAttr, IntegerAttr
from xdsl.parser import Parser


class Hinted(Protocol):
    """An operation that prefetches."""

    @property
    def is_write(self) -> BoolAttr: ...
    @property
    def locality_hint(self) -> IntegerAttr: ...
    @property
    def is_data_cache(self) -> BoolAttr: ...


def parse_prefetch_hints(parser: Parser) -> tuple[bool, int, bool]:
    """Whether it is for writing, the locality, whether it is for the data cache."""
    is_write = _parse_either(parser, "write", "read")
    parser.parse_punctuation(",")
    parser.parse_keyword("locality")
    with parser.in_angle_brackets():
        locality = parser.parse_integer(allow_boolean=False)
    parser.parse_punctuation(",")
    return is_write, locality, _parse_either(parser, "data", "instr")


def prefetch_hints(op: Hinted) -> str:
    """The hints as MLIR prints them."""
    kind = "write" if op.is_write.value.data else "read"
    cache = "data" if op.is_data_cache.value.data else "instr"
    return f"{kind}, locality<{op.locality_hint.value.data}>, {cache}"


def _parse_either(parser: Parser, yes: str, no: str) -> bool:
    if parser.parse_optional_keyword(yes) is not None:
        return True
    if parser.parse_optional_keyword(no) is not None:
        return False
    parser.raise_error(f"expected '{yes}' or '{no}'")
