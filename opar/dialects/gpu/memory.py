"""Asynchronous operations on device memory, and the wait on their tokens."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Self

from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, MemRefType, NoneAttr, UnitAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    opt_result_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.type import get_element_type_or_self, have_compatible_shape

from opar.dialects.gpu.async_interface import (
    AsyncOp,
    parse_async,
    print_async,
    resolve_all,
    token_types,
)
from opar.dialects.gpu.attributes import AsyncTokenType
from opar.dialects.gpu.effects import HOST_ORDER


class _WaitEffect(MemoryEffect):
    """A wait with a token starts or joins a chain and is dead without users; one without blocks."""

    @classmethod
    def get_effects(cls, op: Operation) -> Set[EffectInstance]:
        assert isinstance(op, WaitOp)
        if op.async_token is not None:
            return frozenset()
        return frozenset((EffectInstance(MemoryEffectKind.WRITE, resource=HOST_ORDER),))


@irdl_op_definition
class WaitOp(AsyncOp):
    """
    `gpu.wait [%t]`: the host waits for tokens. `%r = gpu.wait async [%s, %t]`: one token for
    several, the host goes on.
    """

    name = "gpu.wait"

    async_dependencies = var_operand_def(AsyncTokenType)
    async_token = opt_result_def(AsyncTokenType)

    traits = traits_def(_WaitEffect())

    def __init__(self, async_dependencies: Sequence[SSAValue] = (), is_async: bool = False):
        super().__init__(operands=[async_dependencies], result_types=[token_types(is_async)])

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        is_async, tokens = parse_async(parser, "wait")
        op = cls(tokens, is_async)
        op.attributes |= parser.parse_optional_attr_dict()
        return op

    def print(self, printer: Printer) -> None:
        print_async(printer, self)
        printer.print_op_attributes(self.attributes)


class _AllocEffect(MemoryEffect):
    @classmethod
    def get_effects(cls, op: Operation) -> Set[EffectInstance]:
        assert isinstance(op, AllocOp)
        return frozenset((EffectInstance(MemoryEffectKind.ALLOC, op.memref),))


@irdl_op_definition
class AllocOp(AsyncOp):
    """
    `%m, %t = gpu.alloc async [%d] host_shared (%size)[%symbol] : memref<?xf32>`: allocate memory on
    the device, or, if `host_shared`, memory that host and device see.
    """

    name = "gpu.alloc"

    async_dependencies = var_operand_def(AsyncTokenType)
    dynamic_sizes = var_operand_def(IndexType)
    symbol_operands = var_operand_def(IndexType)
    host_shared = opt_prop_def(UnitAttr, prop_name="hostShared")
    memref = result_def(MemRefType)
    async_token = opt_result_def(AsyncTokenType)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(_AllocEffect())

    def __init__(
        self,
        type: MemRefType,
        dynamic_sizes: Sequence[SSAValue] = (),
        symbol_operands: Sequence[SSAValue] = (),
        *,
        host_shared: bool = False,
        async_dependencies: Sequence[SSAValue] = (),
        is_async: bool = False,
    ):
        super().__init__(
            operands=[async_dependencies, dynamic_sizes, symbol_operands],
            properties={"hostShared": UnitAttr()} if host_shared else {},
            result_types=[type, token_types(is_async)],
        )

    def verify_(self) -> None:
        type = self.memref.type
        dynamic = type.get_shape().count(DYNAMIC_INDEX)
        if len(self.dynamic_sizes) != dynamic:
            raise VerifyException(
                f"{type} has {dynamic} dynamic dimensions, but {len(self.dynamic_sizes)} sizes are"
                " given"
            )
        layout = type.layout
        symbols = 0 if isinstance(layout, NoneAttr) else layout.get_affine_map().num_symbols
        if len(self.symbol_operands) != symbols:
            raise VerifyException(
                f"the layout of {type} has {symbols} symbols, but {len(self.symbol_operands)}"
                " symbol operands are given"
            )

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        is_async, tokens = parse_async(parser, "alloc")
        host_shared = parser.parse_optional_keyword("host_shared") is not None
        sizes = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, parser.parse_unresolved_operand
        )
        symbols = parser.parse_optional_comma_separated_list(
            parser.Delimiter.SQUARE, parser.parse_unresolved_operand
        )
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        position = parser.pos
        type = parser.parse_type()
        if not isinstance(type, MemRefType):
            parser.raise_error("'gpu.alloc' returns a ranked memref", at_position=position)
        op = cls(
            type,
            resolve_all(parser, sizes, IndexType()),
            resolve_all(parser, symbols or (), IndexType()),
            host_shared=host_shared,
            async_dependencies=tokens,
            is_async=is_async,
        )
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        print_async(printer, self)
        if self.host_shared is not None:
            printer.print_string(" host_shared")
        printer.print_string(" ")
        with printer.in_parens():
            printer.print_list(self.dynamic_sizes, printer.print_operand)
        if self.symbol_operands:
            with printer.in_square_brackets():
                printer.print_list(self.symbol_operands, printer.print_operand)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.memref.type)


class _DeallocEffect(MemoryEffect):
    @classmethod
    def get_effects(cls, op: Operation) -> Set[EffectInstance]:
        assert isinstance(op, DeallocOp)
        return frozenset((EffectInstance(MemoryEffectKind.FREE, op.memref),))


@irdl_op_definition
class DeallocOp(AsyncOp):
    """`%t = gpu.dealloc async [%d] %m : memref<4xf32>`: free what `gpu.alloc` allocated."""

    name = "gpu.dealloc"

    async_dependencies = var_operand_def(AsyncTokenType)
    memref = operand_def(MemRefType)
    async_token = opt_result_def(AsyncTokenType)

    traits = traits_def(_DeallocEffect())

    def __init__(
        self,
        memref: SSAValue,
        *,
        async_dependencies: Sequence[SSAValue] = (),
        is_async: bool = False,
    ):
        super().__init__(
            operands=[async_dependencies, memref], result_types=[token_types(is_async)]
        )

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        is_async, tokens = parse_async(parser, "dealloc")
        memref = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        op = cls(
            parser.resolve_operand(memref, parser.parse_type()),
            async_dependencies=tokens,
            is_async=is_async,
        )
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        print_async(printer, self)
        printer.print_string(" ")
        printer.print_operand(self.memref)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.memref.type)


def _parse_pair(parser: Parser) -> tuple[SSAValue, SSAValue, dict[str, Attribute]]:
    """Parse `%a, %b : type-a, type-b attr-dict`."""
    first = parser.parse_unresolved_operand()
    parser.parse_punctuation(",")
    second = parser.parse_unresolved_operand()
    parser.parse_punctuation(":")
    first = parser.resolve_operand(first, parser.parse_type())
    parser.parse_punctuation(",")
    second = parser.resolve_operand(second, parser.parse_type())
    return first, second, parser.parse_optional_attr_dict()


def _print_pair(printer: Printer, op: AsyncOp, first: SSAValue, second: SSAValue) -> None:
    print_async(printer, op)
    printer.print_string(" ")
    printer.print_operand(first)
    printer.print_string(", ")
    printer.print_operand(second)
    printer.print_string(" : ")
    printer.print_attribute(first.type)
    printer.print_string(", ")
    printer.print_attribute(second.type)
    printer.print_op_attributes(op.attributes)


class _MemcpyEffect(MemoryEffect):
    @classmethod
    def get_effects(cls, op: Operation) -> Set[EffectInstance]:
        assert isinstance(op, MemcpyOp)
        return frozenset(
            (
                EffectInstance(MemoryEffectKind.READ, op.src),
                EffectInstance(MemoryEffectKind.WRITE, op.dst),
            )
        )


@irdl_op_definition
class MemcpyOp(AsyncOp):
    """`%t = gpu.memcpy async [%d] %dst, %src : ...`: copy between or within host and device."""

    name = "gpu.memcpy"

    async_dependencies = var_operand_def(AsyncTokenType)
    dst = operand_def(MemRefType)
    src = operand_def(MemRefType)
    async_token = opt_result_def(AsyncTokenType)

    traits = traits_def(_MemcpyEffect())

    def __init__(
        self,
        dst: SSAValue,
        src: SSAValue,
        *,
        async_dependencies: Sequence[SSAValue] = (),
        is_async: bool = False,
    ):
        super().__init__(
            operands=[async_dependencies, dst, src], result_types=[token_types(is_async)]
        )

    def verify_(self) -> None:
        dst, src = self.dst.type, self.src.type
        if get_element_type_or_self(dst) != get_element_type_or_self(src):
            raise VerifyException(
                f"source and destination have different element types: {src} and {dst}"
            )
        if not have_compatible_shape(dst, src):
            raise VerifyException(f"source and destination have different shapes: {src} and {dst}")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        is_async, tokens = parse_async(parser, "memcpy")
        dst, src, attributes = _parse_pair(parser)
        op = cls(dst, src, async_dependencies=tokens, is_async=is_async)
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        _print_pair(printer, self, self.dst, self.src)


class _MemsetEffect(MemoryEffect):
    @classmethod
    def get_effects(cls, op: Operation) -> Set[EffectInstance]:
        assert isinstance(op, MemsetOp)
        return frozenset((EffectInstance(MemoryEffectKind.WRITE, op.dst),))


@irdl_op_definition
class MemsetOp(AsyncOp):
    """`%t = gpu.memset async [%d] %dst, %value : memref<4xf32>, f32`: set every element."""

    name = "gpu.memset"

    async_dependencies = var_operand_def(AsyncTokenType)
    dst = operand_def(MemRefType)
    value = operand_def()
    async_token = opt_result_def(AsyncTokenType)

    traits = traits_def(_MemsetEffect())

    def __init__(
        self,
        dst: SSAValue,
        value: SSAValue,
        *,
        async_dependencies: Sequence[SSAValue] = (),
        is_async: bool = False,
    ):
        super().__init__(
            operands=[async_dependencies, dst, value], result_types=[token_types(is_async)]
        )

    def verify_(self) -> None:
        element = get_element_type_or_self(self.dst.type)
        if element != self.value.type:
            raise VerifyException(
                f"the value of type {self.value.type} is not an element of {self.dst.type}"
            )

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        is_async, tokens = parse_async(parser, "memset")
        dst, value, attributes = _parse_pair(parser)
        op = cls(dst, value, async_dependencies=tokens, is_async=is_async)
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        _print_pair(printer, self, self.dst, self.value)
