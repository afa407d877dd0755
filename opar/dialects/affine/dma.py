"""Asynchronous copies between memory spaces, with affine subscripts."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import AffineMapAttr, IndexType, IntegerType, MemRefType
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import IRDLOperation, attr_def, irdl_op_definition, traits_def, var_operand_def
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind
from xdsl.utils.exceptions import VerifyException

from opar.dialects.affine.scopes import verify_dims_and_symbols
from opar.dialects.affine.syntax import parse_subscripts, print_subscripts
from opar.dialects.value_effects import AnyMemoryEffect

Place = tuple[SSAValue, AffineMapAttr, Sequence[SSAValue]]
"""A memref, the map of its subscripts, and the operands of the map."""


def _place(operands: Sequence[SSAValue], map: AffineMapAttr) -> tuple[Place, Sequence[SSAValue]]:
    """The place at the start of `operands`, and the rest of them."""
    end = 1 + map.data.num_dims + map.data.num_symbols
    if len(operands) < end:
        raise VerifyException("too few operands for the maps")
    return (operands[0], map, operands[1:end]), operands[end:]


def _verify_place(op: Operation, place: Place, what: str) -> None:
    memref, map, operands = place
    if not isinstance(memref.type, MemRefType):
        raise VerifyException(f"the {what} must be a memref")
    if len(map.data.results) != memref.type.get_num_dims():
        raise VerifyException(f"the map of the {what} must have a result for each dimension")
    if any(v.type != IndexType() for v in operands):
        raise VerifyException(f"the subscripts of the {what} must be of type index")
    verify_dims_and_symbols(op, operands, map.data.num_dims)
    if what == "tag" and not isinstance(memref.type.element_type, IntegerType):
        raise VerifyException("the elements of the tag must be integers")


def _print_place(printer: Printer, place: Place) -> None:
    memref, map, operands = place
    printer.print_ssa_value(memref)
    print_subscripts(printer, map.data, operands)


def _parse_place(parser: Parser) -> tuple[UnresolvedOperand, AffineMapAttr, list[SSAValue]]:
    memref = parser.parse_unresolved_operand()
    map, operands = parse_subscripts(parser)
    return memref, AffineMapAttr(map), operands


class StartsTransfer(MemoryEffect):
    """Reads the source, writes the destination and the tag."""

    @classmethod
    def get_effects(cls, op: Operation) -> set[EffectInstance]:
        assert isinstance(op, DmaStartOp)
        return {
            EffectInstance(MemoryEffectKind.READ, op.source[0]),
            EffectInstance(MemoryEffectKind.WRITE, op.destination[0]),
            EffectInstance(MemoryEffectKind.WRITE, op.tag[0]),
        }


@irdl_op_definition
class DmaStartOp(IRDLOperation):
    """
    Start a copy of `%n` elements; `%stride` and `%each` (elements per stride) are optional:
    `affine.dma_start %a[%i], %b[%j], %tag[%k], %n, %stride, %each :
    memref<256xf32>, memref<64xf32, 2>, memref<1xi32>`.

    https://mlir.llvm.org/docs/Dialects/Affine/#affinedma_start-affineaffinedmastartop.
    """

    name = "affine.dma_start"

    arguments = var_operand_def()
    src_map = attr_def(AffineMapAttr)
    dst_map = attr_def(AffineMapAttr)
    tag_map = attr_def(AffineMapAttr)

    traits = traits_def(StartsTransfer())

    def __init__(self, source: Place, destination: Place, tag: Place, counts: Sequence[SSAValue]):
        """`counts`: the number of elements, then maybe the stride and the elements per stride."""
        places = (source, destination, tag)
        operands = [v for memref, _, indices in places for v in (memref, *indices)]
        super().__init__(
            operands=[[*operands, *counts]],
            attributes={"src_map": source[1], "dst_map": destination[1], "tag_map": tag[1]},
        )

    def _split(self) -> tuple[Place, Place, Place, Sequence[SSAValue]]:
        source, rest = _place(self.arguments, self.src_map)
        destination, rest = _place(rest, self.dst_map)
        tag, rest = _place(rest, self.tag_map)
        return source, destination, tag, rest

    @property
    def source(self) -> Place:
        """What is read."""
        return self._split()[0]

    @property
    def destination(self) -> Place:
        """What is written."""
        return self._split()[1]

    @property
    def tag(self) -> Place:
        """The element that `affine.dma_wait` waits on."""
        return self._split()[2]

    @property
    def counts(self) -> Sequence[SSAValue]:
        """The number of elements, then the stride and the elements per stride, where given."""
        return self._split()[3]

    def verify_(self) -> None:
        *places, counts = self._split()
        for place, what in zip(places, ("source", "destination", "tag"), strict=True):
            _verify_place(self, place, what)
        if len(counts) not in (1, 3) or any(v.type != IndexType() for v in counts):
            raise VerifyException(
                "expected the number of elements, or that, a stride and the elements per stride"
            )

    @classmethod
    def parse(cls, parser: Parser) -> DmaStartOp:
        unresolved = []
        for _ in range(3):
            unresolved.append(_parse_place(parser))
            parser.parse_punctuation(",")
        counts = parser.parse_comma_separated_list(
            parser.Delimiter.NONE, lambda: parser.parse_operand(IndexType())
        )
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        position = parser.pos
        types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        if len(types) != 3:
            parser.raise_error("expected the types of source, destination and tag", position)
        source, destination, tag = (
            (parser.resolve_operand(memref, type), map, indices)
            for (memref, map, indices), type in zip(unresolved, types, strict=True)
        )
        op = cls(source, destination, tag, counts)
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        *places, counts = self._split()
        printer.print_string(" ")
        for place in places:
            _print_place(printer, place)
            printer.print_string(", ")
        printer.print_list(counts, printer.print_ssa_value)
        maps = ("src_map", "dst_map", "tag_map")
        printer.print_op_attributes(self.attributes, reserved_attr_names=maps)
        printer.print_string(" : ")
        printer.print_list([memref.type for memref, _, _ in places], printer.print_attribute)


@irdl_op_definition
class DmaWaitOp(IRDLOperation):
    """
    Wait for the copy that was started with a tag: `affine.dma_wait %tag[%k], %n : memref<1xi32>`.

    https://mlir.llvm.org/docs/Dialects/Affine/#affinedma_wait-affineaffinedmawaitop.
    """

    name = "affine.dma_wait"

    arguments = var_operand_def()
    tag_map = attr_def(AffineMapAttr)

    traits = traits_def(AnyMemoryEffect())

    def __init__(self, tag: Place, num_elements: SSAValue):
        memref, map, operands = tag
        super().__init__(operands=[[memref, *operands, num_elements]], attributes={"tag_map": map})

    @property
    def tag(self) -> Place:
        """The element that is waited on."""
        return _place(self.arguments, self.tag_map)[0]

    @property
    def num_elements(self) -> SSAValue:
        """How many elements were copied."""
        return self.arguments[-1]

    def verify_(self) -> None:
        tag, rest = _place(self.arguments, self.tag_map)
        _verify_place(self, tag, "tag")
        if len(rest) != 1 or rest[0].type != IndexType():
            raise VerifyException("expected the number of elements")

    @classmethod
    def parse(cls, parser: Parser) -> DmaWaitOp:
        tag, map, operands = _parse_place(parser)
        parser.parse_punctuation(",")
        num_elements = parser.parse_operand(IndexType())
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        op = cls((parser.resolve_operand(tag, parser.parse_type()), map, operands), num_elements)
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        _print_place(printer, self.tag)
        printer.print_string(", ")
        printer.print_ssa_value(self.num_elements)
        printer.print_op_attributes(self.attributes, reserved_attr_names=("tag_map",))
        printer.print_string(" : ")
        printer.print_attribute(self.tag[0].type)
