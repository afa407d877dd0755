"""Loads and stores of vectors at an affine place."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import AffineMapAttr, IndexType, MemRefType, VectorType
from xdsl.ir import Attribute, SSAValue
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
from opar.dialects.value_effects import ReadsMemref, WritesMemref


@irdl_op_definition
class VectorLoadOp(AccessOp):
    """
    Elements from an affine place on: `affine.vector_load %m[%i] : memref<8xf32>, vector<4xf32>`.

    The vector lies along the innermost dimensions of the memref:
    https://mlir.llvm.org/docs/Dialects/Affine/#affinevector_load-affineaffinevectorloadop.
    """

    name = "affine.vector_load"

    memref = operand_def(MemRefType)
    indices = var_operand_def(IndexType())
    result = result_def(VectorType)
    map = prop_def(AffineMapAttr)

    traits = traits_def(ReadsMemref())

    def __init__(
        self,
        memref: SSAValue,
        indices: Sequence[SSAValue],
        result_type: VectorType,
        map: AffineMapAttr | None = None,
    ):
        super().__init__(
            operands=[memref, indices],
            result_types=[result_type],
            properties={"map": map_or_identity(map, memref)},
        )

    def verify_(self) -> None:
        self.verify_access()
        _verify_vector(self.memref.type, self.result.type)

    @classmethod
    def parse(cls, parser: Parser) -> VectorLoadOp:
        memref, map, indices, attributes, _ = parse_access(parser)
        op = cls(memref, indices, _parse_vector_type(parser), map)
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        self.print_access(printer)
        printer.print_string(", ")
        printer.print_attribute(self.result.type)


@irdl_op_definition
class VectorStoreOp(AccessOp):
    """
    Write a vector from an affine place on, along the innermost dimensions of the memref:
    `affine.vector_store %v, %m[%i] : memref<8xf32>, vector<4xf32>`:
    https://mlir.llvm.org/docs/Dialects/Affine/#affinevector_store-affineaffinevectorstoreop.
    """

    name = "affine.vector_store"

    value = operand_def(VectorType)
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
        _verify_vector(self.memref.type, self.value.type)

    @classmethod
    def parse(cls, parser: Parser) -> VectorStoreOp:
        value = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        memref, map, indices, attributes, _ = parse_access(parser)
        type = _parse_vector_type(parser)
        op = cls(parser.resolve_operand(value, type), memref, indices, map)
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.value)
        printer.print_string(", ")
        self.print_access(printer)
        printer.print_string(", ")
        printer.print_attribute(self.value.type)


def _parse_vector_type(parser: Parser) -> VectorType:
    parser.parse_punctuation(",")
    position = parser.pos
    type = parser.parse_type()
    if not isinstance(type, VectorType):
        parser.raise_error("expected a vector type", position)
    return type


def _verify_vector(memref: Attribute, vector: Attribute) -> None:
    assert isinstance(memref, MemRefType) and isinstance(vector, VectorType)
    if memref.element_type != vector.element_type:
        raise VerifyException("the memref and the vector must have the same element type")
