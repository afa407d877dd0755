"""Copies between memrefs."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    IndexType,
    IntegerType,
    MemRefType,
    UnrankedMemRefType,
)
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    base,
    irdl_op_definition,
    operand_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind
from xdsl.utils.exceptions import VerifyException

from opar.dialects.memref.access import verify_indices
from opar.dialects.value_effects import AnyMemoryEffect, ReadsSource, WritesDestination


@irdl_op_definition
class CopyOp(IRDLOperation):
    """
    Copy all elements: `memref.copy %a, %b : memref<4xf32> to memref<?xf32, strided<[2]>>`.

    https://mlir.llvm.org/docs/Dialects/MemRef/#memrefcopy-memrefcopyop
    """

    name = "memref.copy"

    source = operand_def(base(MemRefType) | base(UnrankedMemRefType))
    destination = operand_def(base(MemRefType) | base(UnrankedMemRefType))

    traits = traits_def(ReadsSource(), WritesDestination())
    assembly_format = "$source `,` $destination attr-dict `:` type($source) `to` type($destination)"

    def __init__(self, source: SSAValue | Operation, destination: SSAValue | Operation):
        super().__init__(operands=[source, destination])

    def verify_(self) -> None:
        a, b = self.source.type, self.destination.type
        assert isinstance(a, MemRefType | UnrankedMemRefType)
        assert isinstance(b, MemRefType | UnrankedMemRefType)
        if a.element_type != b.element_type:
            raise VerifyException("source and destination must have the same element type")
        if isinstance(a, UnrankedMemRefType) or isinstance(b, UnrankedMemRefType):
            return
        if a.get_num_dims() != b.get_num_dims() or any(
            x != y and DYNAMIC_INDEX not in (x, y)
            for x, y in zip(a.get_shape(), b.get_shape(), strict=True)
        ):
            raise VerifyException("source and destination must have the same shape")


class StartsTransfer(MemoryEffect):
    """Reads the source, writes the destination and the tag."""

    @classmethod
    def get_effects(cls, op: Operation) -> set[EffectInstance]:
        assert isinstance(op, DmaStartOp)
        (source, _), (destination, _), (tag, _), _ = op.split()
        return {
            EffectInstance(MemoryEffectKind.READ, source),
            EffectInstance(MemoryEffectKind.WRITE, destination),
            EffectInstance(MemoryEffectKind.WRITE, tag),
        }


Place = tuple[SSAValue, Sequence[SSAValue]]
"""A memref and its indices."""


@irdl_op_definition
class DmaStartOp(IRDLOperation):
    """
    Start a copy of `%n` elements between memory spaces; `%stride` and `%each` are optional:
    `memref.dma_start %a[%i], %b[%j], %n, %tag[%k], %stride, %each :
    memref<256xf32>, memref<64xf32, 2>, memref<1xi32>`.

    https://mlir.llvm.org/docs/Dialects/MemRef/#memrefdma_start-memrefdmastartop
    """

    name = "memref.dma_start"

    arguments = var_operand_def()

    traits = traits_def(StartsTransfer())

    def __init__(
        self,
        source: Place,
        destination: Place,
        num_elements: SSAValue,
        tag: Place,
        stride: Sequence[SSAValue] = (),
    ):
        """`stride`: nothing, or the stride and the elements per stride."""
        super().__init__(
            operands=[
                [
                    source[0],
                    *source[1],
                    destination[0],
                    *destination[1],
                    num_elements,
                    tag[0],
                    *tag[1],
                    *stride,
                ]
            ]
        )

    def split(self) -> tuple[Place, Place, Place, Sequence[SSAValue]]:
        """
        Source, destination, tag; then the number of elements and maybe the stride and the elements
        per stride. Raises `VerifyException` if the operands do not make these.
        """
        rest = list(self.arguments)

        def place(what: str) -> Place:
            if not rest or not isinstance(type := rest[0].type, MemRefType):
                raise VerifyException(f"the {what} must be a memref")
            rank = type.get_num_dims()
            found = rest[0], rest[1 : rank + 1]
            del rest[: rank + 1]
            return found

        source, destination = place("source"), place("destination")
        if not rest:
            raise VerifyException("expected the number of elements")
        num_elements = rest.pop(0)
        tag = place("tag")
        return source, destination, tag, [num_elements, *rest]

    def verify_(self) -> None:
        source, destination, tag, counts = self.split()
        for memref, indices in (source, destination, tag):
            verify_indices(memref, indices)
        others = [*source[1], *destination[1], *tag[1], *counts]
        if any(v.type != IndexType() for v in others):
            raise VerifyException("the indices and counts must be of type index")
        if len(counts) not in (1, 3):
            raise VerifyException("expected both a stride and the elements per stride, or neither")
        assert isinstance(tag[0].type, MemRefType)
        if not isinstance(tag[0].type.element_type, IntegerType):
            raise VerifyException("the elements of the tag must be integers")

    @classmethod
    def parse(cls, parser: Parser) -> DmaStartOp:
        def index() -> SSAValue:
            return parser.parse_operand(IndexType())

        def place():
            memref = parser.parse_unresolved_operand()
            return memref, parser.parse_comma_separated_list(parser.Delimiter.SQUARE, index)

        source = place()
        parser.parse_punctuation(",")
        destination = place()
        parser.parse_punctuation(",")
        num_elements = index()
        parser.parse_punctuation(",")
        tag = place()
        stride: list[SSAValue] = []
        while parser.parse_optional_punctuation(",") is not None:
            stride.append(index())
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        position = parser.pos
        types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        if len(types) != 3:
            parser.raise_error("expected the types of source, destination and tag", position)
        a, b, t = (
            (parser.resolve_operand(memref, type), indices)
            for (memref, indices), type in zip((source, destination, tag), types, strict=True)
        )
        op = cls(a, b, num_elements, t, stride)
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        source, destination, tag, (num_elements, *stride) = self.split()

        def place(place: Place) -> None:
            printer.print_ssa_value(place[0])
            with printer.in_square_brackets():
                printer.print_list(place[1], printer.print_ssa_value)

        printer.print_string(" ")
        printer.print_list([source, destination], place)
        printer.print_string(", ")
        printer.print_ssa_value(num_elements)
        printer.print_string(", ")
        place(tag)
        for value in stride:
            printer.print_string(", ")
            printer.print_ssa_value(value)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_list([p[0].type for p in (source, destination, tag)], printer.print_attribute)


@irdl_op_definition
class DmaWaitOp(IRDLOperation):
    """
    Wait for the copy that was started with a tag: `memref.dma_wait %tag[%k], %n : memref<1xi32>`.

    https://mlir.llvm.org/docs/Dialects/MemRef/#memrefdma_wait-memrefdmawaitop
    """

    name = "memref.dma_wait"

    tag = operand_def(MemRefType)
    tag_indices = var_operand_def(IndexType())
    num_elements = operand_def(IndexType())

    traits = traits_def(AnyMemoryEffect())
    assembly_format = "$tag `[` $tag_indices `]` `,` $num_elements attr-dict `:` type($tag)"

    def __init__(self, tag: Place, num_elements: SSAValue):
        super().__init__(operands=[tag[0], tag[1], num_elements])

    def verify_(self) -> None:
        verify_indices(self.tag, self.tag_indices)
