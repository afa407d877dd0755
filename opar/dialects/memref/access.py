"""Loads, stores and prefetches of single elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import BoolAttr, IndexType, IntegerAttr, MemRefType, i32
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    ParsePropInAttrDict,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from opar.dialects.prefetch_hints import parse_prefetch_hints, prefetch_hints
from opar.dialects.value_effects import FillsCache, ReadsMemref, WritesMemref


def verify_indices(memref: SSAValue, indices: Sequence[SSAValue]) -> None:
    """A memref must have an index for each dimension. Raises `VerifyException`."""
    assert isinstance(memref.type, MemRefType)
    rank = memref.type.get_num_dims()
    if len(indices) != rank:
        raise VerifyException(f"the memref takes {rank} indices, got {len(indices)}")


def element_type(memref: SSAValue | Operation):
    """The type of the elements of a memref."""
    return SSAValue.get(memref, type=MemRefType).type.element_type


@irdl_op_definition
class LoadOp(IRDLOperation):
    """
    One element: `memref.load %m[%i, %j] : memref<4x?xf32>`.

    https://mlir.llvm.org/docs/Dialects/MemRef/#memrefload-memrefloadop
    """

    name = "memref.load"

    T: ClassVar = VarConstraint("T", AnyAttr())

    memref = operand_def(MemRefType.constr(T))
    indices = var_operand_def(IndexType())
    res = result_def(T)
    nontemporal = opt_prop_def(BoolAttr)
    alignment = opt_prop_def(IntegerAttr)

    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(ReadsMemref())
    assembly_format = "$memref `[` $indices `]` attr-dict `:` type($memref)"

    def __init__(self, memref: SSAValue | Operation, indices: Sequence[SSAValue | Operation]):
        super().__init__(operands=[memref, indices], result_types=[element_type(memref)])

    @classmethod
    def get(cls, ref: SSAValue | Operation, indices: Sequence[SSAValue | Operation]) -> LoadOp:
        """The constructor under the name that xDSL gives it."""
        return cls(ref, indices)

    def verify_(self) -> None:
        verify_indices(self.memref, self.indices)


@irdl_op_definition
class StoreOp(IRDLOperation):
    """
    Write one element: `memref.store %v, %m[%i, %j] : memref<4x?xf32>`.

    https://mlir.llvm.org/docs/Dialects/MemRef/#memrefstore-memrefstoreop
    """

    name = "memref.store"

    T: ClassVar = VarConstraint("T", AnyAttr())

    value = operand_def(T)
    memref = operand_def(MemRefType.constr(T))
    indices = var_operand_def(IndexType())
    nontemporal = opt_prop_def(BoolAttr)
    alignment = opt_prop_def(IntegerAttr)

    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(WritesMemref())
    assembly_format = "$value `,` $memref `[` $indices `]` attr-dict `:` type($memref)"

    def __init__(
        self,
        value: SSAValue | Operation,
        memref: SSAValue | Operation,
        indices: Sequence[SSAValue | Operation],
    ):
        super().__init__(operands=[value, memref, indices])

    @classmethod
    def get(
        cls,
        value: SSAValue | Operation,
        ref: SSAValue | Operation,
        indices: Sequence[SSAValue | Operation],
    ) -> StoreOp:
        """The constructor under the name that xDSL gives it."""
        return cls(value, ref, indices)

    def verify_(self) -> None:
        verify_indices(self.memref, self.indices)


@irdl_op_definition
class PrefetchOp(IRDLOperation):
    """
    A hint that an element will be used:
    `memref.prefetch %m[%i], read, locality<3>, data : memref<64xf32>`.

    https://mlir.llvm.org/docs/Dialects/MemRef/#memrefprefetch-memrefprefetchop
    """

    name = "memref.prefetch"

    memref = operand_def(MemRefType)
    indices = var_operand_def(IndexType())
    is_write = prop_def(BoolAttr, prop_name="isWrite")
    locality_hint = prop_def(IntegerAttr, prop_name="localityHint")
    is_data_cache = prop_def(BoolAttr, prop_name="isDataCache")

    traits = traits_def(FillsCache())

    def __init__(
        self,
        memref: SSAValue | Operation,
        indices: Sequence[SSAValue | Operation],
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
            },
        )

    def verify_(self) -> None:
        verify_indices(self.memref, self.indices)
        if not 0 <= self.locality_hint.value.data <= 3:
            raise VerifyException("the locality hint must be 0, 1, 2 or 3")

    @classmethod
    def parse(cls, parser: Parser) -> PrefetchOp:
        memref = parser.parse_unresolved_operand()
        indices = parser.parse_comma_separated_list(
            parser.Delimiter.SQUARE, lambda: parser.parse_operand(IndexType())
        )
        parser.parse_punctuation(",")
        is_write, locality, is_data = parse_prefetch_hints(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        op = cls(
            parser.resolve_operand(memref, parser.parse_type()),
            indices,
            is_write=is_write,
            locality_hint=locality,
            is_data_cache=is_data,
        )
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.memref)
        with printer.in_square_brackets():
            printer.print_list(self.indices, printer.print_ssa_value)
        printer.print_string(f", {prefetch_hints(self)}")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.memref.type)
