"""Atomic updates of single elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import AnyFloat, IndexType, IntegerAttr, IntegerType, MemRefType, i64
from xdsl.ir import Operation, Region, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    VarConstraint,
    irdl_op_definition,
    lazy_traits_def,
    operand_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import HasParent, IsTerminator, Pure
from xdsl.utils.exceptions import VerifyException

from opar.dialects.memref.access import element_type, verify_indices
from opar.dialects.reduction_kind import ReductionKind
from opar.dialects.value_effects import UpdatesMemref


def _parse_place(parser: Parser) -> tuple[UnresolvedOperand, Sequence[SSAValue]]:
    memref = parser.parse_unresolved_operand()
    indices = parser.parse_comma_separated_list(
        parser.Delimiter.SQUARE, lambda: parser.parse_operand(IndexType())
    )
    return memref, indices


def _print_place(printer: Printer, memref: SSAValue, indices: Sequence[SSAValue]) -> None:
    printer.print_ssa_value(memref)
    with printer.in_square_brackets():
        printer.print_list(indices, printer.print_ssa_value)


@irdl_op_definition
class AtomicRMWOp(IRDLOperation):
    """
    Combine a value into one element atomically; the result is the element before:
    `memref.atomic_rmw addf %v, %m[%i] : (f32, memref<4xf32>) -> f32`.

    https://mlir.llvm.org/docs/Dialects/MemRef/#memrefatomic_rmw-memrefatomicrmwop
    """

    name = "memref.atomic_rmw"

    T: ClassVar = VarConstraint("T", AnyAttr())

    value = operand_def(T)
    memref = operand_def(MemRefType.constr(T))
    indices = var_operand_def(IndexType())
    kind = prop_def(IntegerAttr)
    result = result_def(T)

    traits = traits_def(UpdatesMemref())

    def __init__(
        self,
        kind: ReductionKind,
        value: SSAValue | Operation,
        memref: SSAValue | Operation,
        indices: Sequence[SSAValue | Operation],
    ):
        super().__init__(
            operands=[value, memref, indices],
            properties={"kind": IntegerAttr(int(kind), i64)},
            result_types=[SSAValue.get(value).type],
        )

    @property
    def reduction_kind(self) -> ReductionKind:
        """How the value and the element are combined."""
        return ReductionKind(self.kind.value.data)

    def verify_(self) -> None:
        verify_indices(self.memref, self.indices)
        if self.kind.value.data not in list(ReductionKind):
            raise VerifyException(f"{self.kind.value.data} is not a kind of atomic operation")
        kind, type = self.reduction_kind, self.value.type
        if kind is ReductionKind.assign:
            return
        if not isinstance(type, AnyFloat if kind.is_float else IntegerType):
            wanted = "a floating-point" if kind.is_float else "an integer"
            raise VerifyException(f"'{kind.name}' takes {wanted} type, got {type}")

    @classmethod
    def parse(cls, parser: Parser) -> AtomicRMWOp:
        position = parser.pos
        kind = parser.parse_identifier()
        if kind not in ReductionKind.__members__:
            known = ", ".join(ReductionKind.__members__)
            parser.raise_error(f"unknown kind '{kind}'; expected one of {known}", position)
        value = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        memref, indices = _parse_place(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        position = parser.pos
        type = parser.parse_function_type()
        if len(type.inputs) != 2:
            parser.raise_error("expected the types of the value and of the memref", position)
        op = cls(
            ReductionKind[kind],
            parser.resolve_operand(value, type.inputs.data[0]),
            parser.resolve_operand(memref, type.inputs.data[1]),
            indices,
        )
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.reduction_kind.name} ")
        printer.print_ssa_value(self.value)
        printer.print_string(", ")
        _print_place(printer, self.memref, self.indices)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : (")
        printer.print_list([self.value.type, self.memref.type], printer.print_attribute)
        printer.print_string(") -> ")
        printer.print_attribute(self.result.type)


@irdl_op_definition
class GenericAtomicRMWOp(IRDLOperation):
    """
    Replace one element atomically by what a region computes from it; the result is the element
    before. The region may run several times, and must not have effects:

        %old = memref.generic_atomic_rmw %m[%i] : memref<4xf32> {
        ^bb0(%current: f32):
          %new = arith.addf %current, %v : f32
          memref.atomic_yield %new : f32
        }

    https://mlir.llvm.org/docs/Dialects/MemRef/#memrefgeneric_atomic_rmw-memrefgenericatomicrmwop
    """

    name = "memref.generic_atomic_rmw"

    T: ClassVar = VarConstraint("T", AnyAttr())

    memref = operand_def(MemRefType.constr(T))
    indices = var_operand_def(IndexType())
    result = result_def(T)
    atomic_body = region_def("single_block")

    traits = traits_def(UpdatesMemref())

    def __init__(
        self,
        memref: SSAValue | Operation,
        indices: Sequence[SSAValue | Operation],
        atomic_body: Region,
    ):
        super().__init__(
            operands=[memref, indices],
            result_types=[element_type(memref)],
            regions=[atomic_body],
        )

    def verify_(self) -> None:
        verify_indices(self.memref, self.indices)
        block = self.atomic_body.block
        if [a.type for a in block.args] != [self.result.type]:
            raise VerifyException("the region must take one value of the element type")
        last = block.last_op
        if not isinstance(last, AtomicYieldOp) or last.result.type != self.result.type:
            raise VerifyException("the region must end in memref.atomic_yield of the element type")

    @classmethod
    def parse(cls, parser: Parser) -> GenericAtomicRMWOp:
        memref, indices = _parse_place(parser)
        parser.parse_punctuation(":")
        resolved = parser.resolve_operand(memref, parser.parse_type())
        body = parser.parse_region()
        op = cls(resolved, indices, body)
        op.attributes |= parser.parse_optional_attr_dict()
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        _print_place(printer, self.memref, self.indices)
        printer.print_string(" : ")
        printer.print_attribute(self.memref.type)
        printer.print_string(" ")
        printer.print_region(self.atomic_body)
        printer.print_op_attributes(self.attributes)


@irdl_op_definition
class AtomicYieldOp(IRDLOperation):
    """
    The new value of the element: `memref.atomic_yield %v : f32`.

    https://mlir.llvm.org/docs/Dialects/MemRef/#memrefatomic_yield-memrefatomicyieldop
    """

    name = "memref.atomic_yield"

    result = operand_def()

    traits = lazy_traits_def(lambda: (IsTerminator(), HasParent(GenericAtomicRMWOp), Pure()))
    assembly_format = "$result attr-dict `:` type($result)"

    def __init__(self, result: SSAValue | Operation):
        super().__init__(operands=[result])
