"""
The `memref` dialect: https://mlir.llvm.org/docs/Dialects/MemRef/.

xDSL's operations where they read and print MLIR's syntax; defined here are those without it, and
those whose effects have to tell the memref they read from the one they write.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects import builtin
from xdsl.dialects import memref as upstream
from xdsl.dialects.builtin import (
    IndexType,
    IntegerAttr,
    MemRefType,
    UnrankedMemRefType,
    i64,
)
from xdsl.dialects.memref import *  # noqa: F403
from xdsl.ir import Attribute, Dialect, Operation, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    VarConstraint,
    base,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    EffectInstance,
    MemoryEffect,
    MemoryEffectKind,
    NoMemoryEffect,
)
from xdsl.utils.exceptions import VerifyException

from opar.dialects.reduction_kind import ReductionKind

_READ, _WRITE = MemoryEffectKind.READ, MemoryEffectKind.WRITE


class CopyEffect(MemoryEffect):
    """Reads the source, writes the destination."""

    @classmethod
    def get_effects(cls, op: Operation) -> set[EffectInstance]:
        assert isinstance(op, CopyOp)
        return {EffectInstance(_READ, op.source), EffectInstance(_WRITE, op.destination)}


class ReadModifyWriteEffect(MemoryEffect):
    """Reads and writes the memref."""

    @classmethod
    def get_effects(cls, op: Operation) -> set[EffectInstance]:
        assert isinstance(op, AtomicRMWOp)
        return {EffectInstance(_READ, op.memref), EffectInstance(_WRITE, op.memref)}


@irdl_op_definition
class CopyOp(IRDLOperation):
    """Copy all elements: `memref.copy %a, %b : memref<4xf32> to memref<4xf32>`."""

    name = "memref.copy"

    source = operand_def(base(MemRefType) | base(UnrankedMemRefType))
    destination = operand_def(base(MemRefType) | base(UnrankedMemRefType))

    traits = traits_def(CopyEffect())
    assembly_format = "$source `,` $destination attr-dict `:` type($source) `to` type($destination)"

    def __init__(self, source: SSAValue | Operation, destination: SSAValue | Operation):
        super().__init__(operands=[source, destination])

    def verify_(self) -> None:
        a, b = self.source.type, self.destination.type
        if not isinstance(a, MemRefType) or not isinstance(b, MemRefType):
            return
        if a.element_type != b.element_type:
            raise VerifyException("source and destination must have the same element type")
        if len(a.get_shape()) != len(b.get_shape()) or any(
            x != y and builtin.DYNAMIC_INDEX not in (x, y) for x, y in zip(a.get_shape(), b.get_shape(), strict=True)
        ):
            raise VerifyException("source and destination must have the same shape")


@irdl_op_definition
class AtomicRMWOp(IRDLOperation):
    """
    Combine a value into one element atomically; the result is the element before:
    `memref.atomic_rmw addf %v, %m[%i] : (f32, memref<4xf32>) -> f32`.
    """

    name = "memref.atomic_rmw"

    T: ClassVar = VarConstraint("T", AnyAttr())

    value = operand_def(T)
    memref = operand_def(MemRefType.constr(T))
    indices = var_operand_def(IndexType())
    kind = prop_def(IntegerAttr)
    result = result_def(T)

    traits = traits_def(ReadModifyWriteEffect())

    def __init__(
        self, kind: ReductionKind, value: SSAValue, memref: SSAValue, indices: list[SSAValue]
    ):
        super().__init__(
            operands=[value, memref, indices],
            properties={"kind": IntegerAttr(int(kind), i64)},
            result_types=[value.type],
        )

    def verify_(self) -> None:
        assert isinstance(self.memref.type, MemRefType)
        if len(self.indices) != self.memref.type.get_num_dims():
            raise VerifyException("expected one index for each dimension of the memref")
        if self.kind.value.data not in list(ReductionKind):
            raise VerifyException(f"{self.kind.value.data} is not a kind of atomic operation")

    @classmethod
    def parse(cls, parser: Parser) -> AtomicRMWOp:
        position = parser.pos
        kind = parser.parse_identifier()
        if kind not in ReductionKind.__members__:
            known = ", ".join(ReductionKind.__members__)
            parser.raise_error(f"unknown kind '{kind}'; expected one of {known}", position)
        value = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        memref = parser.parse_unresolved_operand()
        indices = parser.parse_comma_separated_list(
            parser.Delimiter.SQUARE, lambda: parser.parse_operand(IndexType())
        )
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
            list(indices),
        )
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {ReductionKind(self.kind.value.data).name} ")
        printer.print_ssa_value(self.value)
        printer.print_string(", ")
        printer.print_ssa_value(self.memref)
        with printer.in_square_brackets():
            printer.print_list(self.indices, printer.print_ssa_value)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : (")
        printer.print_list([self.value.type, self.memref.type], printer.print_attribute)
        printer.print_string(") -> ")
        printer.print_attribute(self.result.type)


class _CastOp(IRDLOperation):
    source = operand_def(base(MemRefType) | base(UnrankedMemRefType))
    dest = result_def(base(MemRefType) | base(UnrankedMemRefType))

    traits = traits_def(NoMemoryEffect())
    assembly_format = "$source attr-dict `:` type($source) `to` type($dest)"

    def __init__(self, source: SSAValue | Operation, dest: Attribute):
        super().__init__(operands=[source], result_types=[dest])


@irdl_op_definition
class CastOp(_CastOp):
    """The same memory with another static knowledge of its type:
    `memref.cast %m : memref<4xf32> to memref<?xf32>`."""

    name = "memref.cast"


@irdl_op_definition
class MemorySpaceCastOp(_CastOp):
    """The same memory in another memory space:
    `memref.memory_space_cast %m : memref<4xf32> to memref<4xf32, 1>`."""

    name = "memref.memory_space_cast"


@irdl_op_definition
class RankOp(IRDLOperation):
    """The number of dimensions: `memref.rank %m : memref<?x?xf32>`."""

    name = "memref.rank"

    source = operand_def(base(MemRefType) | base(UnrankedMemRefType))
    rank = result_def(IndexType())

    traits = traits_def(NoMemoryEffect())
    assembly_format = "$source attr-dict `:` type($source)"


_OURS = (AtomicRMWOp, CastOp, CopyOp, MemorySpaceCastOp, RankOp)
_REPLACED = {op.name for op in _OURS}

MemRef = Dialect(
    "memref",
    [op for op in upstream.MemRef.operations if op.name not in _REPLACED] + list(_OURS),
    list(upstream.MemRef.attributes),
)
