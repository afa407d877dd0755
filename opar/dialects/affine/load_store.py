"""Loads and stores of one element at an affine place, and prefetches."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    AffineMapAttr,
    BoolAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    i32,
)
from xdsl.ir import SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from opar.dialects.affine.access import AccessOp, map_or_identity, parse_access
from opar.dialects.prefetch_hints import parse_prefetch_hints, prefetch_hints
from opar.dialects.value_effects import FillsCache, ReadsMemref, WritesMemref


@irdl_op_definition
class LoadOp(AccessOp):
    """
    One element at an affine place: `affine.load %m[%i + 1, symbol(%n)] : memref<?x?xf32>`:
    https://mlir.llvm.org/docs/Dialects/Affine/#affineload-affineaffineloadop.
    """

    name = "affine.load"

    memref = operand_def(MemRefType)
    indices = var_operand_def(IndexType())
    result = result_def()
    map = prop_def(AffineMapAttr)

    traits = traits_def(ReadsMemref())

    def __init__(
        self, memref: SSAValue, indices: Sequence[SSAValue], map: AffineMapAttr | None = None
    ):
        assert isinstance(memref.type, MemRefType)
        super().__init__(
            operands=[memref, indices],
            result_types=[memref.type.element_type],
            properties={"map": map_or_identity(map, memref)},
        )

    def verify_(self) -> None:
        self.verify_access()
        assert isinstance(self.memref.type, MemRefType)
        if self.result.type != self.memref.type.element_type:
            raise VerifyException("the result must have the element type of the memref")

    @classmethod
    def parse(cls, parser: Parser) -> LoadOp:
        memref, map, indices, attributes, _ = parse_access(parser)
        op = cls(memref, indices, map)
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        self.print_access(printer)


@irdl_op_definition
class StoreOp(AccessOp):
    """
    Write one element at an affine place: `affine.store %v, %m[%i] : memref<4xf32>`:
    https://mlir.llvm.org/docs/Dialects/Affine/#affinestore-affineaffinestoreop.
    """

    name = "affine.store"

    value = operand_def()
    memref = operand_def(MemRefType)
    indices = var_operand_def(IndexType())
    map = prop_def(AffineMapAttr)

    traits = traits_def(WritesMemref())

    def __init__(
        self,
        value: SSAValue,
        memref: SSAValue,
        indices: Sequence[SSAValue],
        map: AffineMapAttr | None = None,
    ):
        super().__init__(
            operands=[value, memref, indices],
            properties={"map": map_or_identity(map, memref)},
        )

    def verify_(self) -> None:
        self.verify_access()
        assert isinstance(self.memref.type, MemRefType)
        if self.value.type != self.memref.type.element_type:
            raise VerifyException("the value must have the element type of the memref")

    @classmethod
    def parse(cls, parser: Parser) -> StoreOp:
        value = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        memref, map, indices, attributes, type = parse_access(parser)
        op = cls(parser.resolve_operand(value, type.element_type), memref, indices, map)
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.value)
        printer.print_string(", ")
        self.print_access(printer)


@irdl_op_definition
class PrefetchOp(AccessOp):
    """
    A hint that an element will be used:
    `affine.prefetch %m[%i + 4], read, locality<3>, data : memref<64xf32>`.

    `read` or `write`; locality 0 (none) to 3 (keep in cache); `data` or `instr` cache:
    https://mlir.llvm.org/docs/Dialects/Affine/#affineprefetch-affineaffineprefetchop.
    """

    name = "affine.prefetch"

    memref = operand_def(MemRefType)
    indices = var_operand_def(IndexType())
    is_write = prop_def(BoolAttr, prop_name="isWrite")
    locality_hint = prop_def(IntegerAttr, prop_name="localityHint")
    is_data_cache = prop_def(BoolAttr, prop_name="isDataCache")
    map = prop_def(AffineMapAttr)

    traits = traits_def(FillsCache())

    def __init__(
        self,
        memref: SSAValue,
        indices: Sequence[SSAValue],
        map: AffineMapAttr | None = None,
        *,
        is_write: bool = False,
        locality_hint: int = 3,
        is_data_cache: bool = True,
    ):
        super().__init__(
            operands=[memref, indices],
            properties={
                "isWrite": BoolAttr.from_bool(is_write),
                "localityHint": IntegerAttr(locality_hint, i32),
                "isDataCache": BoolAttr.from_bool(is_data_cache),
                "map": map_or_identity(map, memref),
            },
        )

    def verify_(self) -> None:
        self.verify_access()
        if not 0 <= self.locality_hint.value.data <= 3:
            raise VerifyException("the locality hint must be 0, 1, 2 or 3")

    @classmethod
    def parse(cls, parser: Parser) -> PrefetchOp:
        parsed: list[tuple[bool, int, bool]] = []

        def hints() -> None:
            parser.parse_punctuation(",")
            parsed.append(parse_prefetch_hints(parser))

        memref, map, indices, attributes, _ = parse_access(parser, hints)
        is_write, locality, is_data = parsed[0]
        op = cls(
            memref,
            indices,
            map,
            is_write=is_write,
            locality_hint=locality,
            is_data_cache=is_data,
        )
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        self.print_access(printer, f", {prefetch_hints(self)}")
