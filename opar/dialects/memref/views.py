"""Other views of the same memory, where xDSL's operations do not read MLIR's syntax."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    DenseArrayBase,
    IndexType,
    MemRefType,
    UnrankedMemRefType,
    i64,
)
from xdsl.dialects.utils import DynamicIndexList, split_dynamic_index_list
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    base,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

AnyMemRef = base(MemRefType) | base(UnrankedMemRefType)


class _CastOp(IRDLOperation):
    source = operand_def(AnyMemRef)
    dest = result_def(AnyMemRef)

    traits = traits_def(Pure())
    assembly_format = "$source attr-dict `:` type($source) `to` type($dest)"

    def __init__(self, source: SSAValue | Operation, dest: Attribute):
        super().__init__(operands=[source], result_types=[dest])

    def verify_(self) -> None:
        a, b = self.source.type, self.dest.type
        assert isinstance(a, MemRefType | UnrankedMemRefType)
        assert isinstance(b, MemRefType | UnrankedMemRefType)
        if a.element_type != b.element_type:
            raise VerifyException("source and result must have the same element type")
        if isinstance(a, MemRefType) and isinstance(b, MemRefType):
            self._verify_shapes(a, b)

    def _verify_shapes(self, a: MemRefType, b: MemRefType) -> None:
        if a.get_num_dims() != b.get_num_dims() or any(
            x != y and DYNAMIC_INDEX not in (x, y)
            for x, y in zip(a.get_shape(), b.get_shape(), strict=True)
        ):
            raise VerifyException("source and result must have the same shape")


@irdl_op_definition
class CastOp(_CastOp):
    """
    The same memory with another static knowledge of its type:
    `memref.cast %m : memref<4xf32> to memref<?xf32>`.

    https://mlir.llvm.org/docs/Dialects/MemRef/#memrefcast-memrefcastop
    """

    name = "memref.cast"


@irdl_op_definition
class MemorySpaceCastOp(_CastOp):
    """
    The same memory in another memory space:
    `memref.memory_space_cast %m : memref<4xf32> to memref<4xf32, 1>`.

    https://mlir.llvm.org/docs/Dialects/MemRef/#memrefmemory_space_cast-memrefmemoryspacecastop
    """

    name = "memref.memory_space_cast"


@irdl_op_definition
class ReinterpretCastOp(IRDLOperation):
    """
    The memory of a memref with another offset, sizes and strides: `memref.reinterpret_cast %m to
    offset: [0], sizes: [%n, 4], strides: [4, 1] : memref<?xf32> to memref<?x4xf32>`.

    https://mlir.llvm.org/docs/Dialects/MemRef/#memrefreinterpret_cast-memrefreinterpretcastop
    """

    name = "memref.reinterpret_cast"

    source = operand_def(AnyMemRef)
    offsets = var_operand_def(IndexType())
    sizes = var_operand_def(IndexType())
    strides = var_operand_def(IndexType())
    static_offsets = prop_def(DenseArrayBase.constr(i64))
    static_sizes = prop_def(DenseArrayBase.constr(i64))
    static_strides = prop_def(DenseArrayBase.constr(i64))
    result = result_def(MemRefType)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    custom_directives = (DynamicIndexList,)
    traits = traits_def(Pure())
    assembly_format = (
        "$source `to` `offset` `` `:` custom<DynamicIndexList>($offsets, $static_offsets)"
        "`` `,` `sizes` `` `:` custom<DynamicIndexList>($sizes, $static_sizes)"
        "`` `,` `strides` `` `:` custom<DynamicIndexList>($strides, $static_strides)"
        "attr-dict `:` type($source) `to` type($result)"
    )

    def __init__(
        self,
        source: SSAValue | Operation,
        offset: SSAValue | int,
        sizes: Sequence[SSAValue | int],
        strides: Sequence[SSAValue | int],
        result_type: Attribute,
    ):
        operands: list[Sequence[SSAValue]] = []
        properties: dict[str, Attribute] = {}
        for name, values in (("offsets", [offset]), ("sizes", sizes), ("strides", strides)):
            static, dynamic = split_dynamic_index_list(values, DYNAMIC_INDEX)
            operands.append(dynamic)
            properties[f"static_{name}"] = DenseArrayBase.from_list(i64, static)
        super().__init__(
            operands=[source, *operands], result_types=[result_type], properties=properties
        )

    def verify_(self) -> None:
        type = self.result.type
        assert isinstance(type, MemRefType)
        for what, static, dynamic, length in (
            ("offset", self.static_offsets, self.offsets, 1),
            ("size", self.static_sizes, self.sizes, type.get_num_dims()),
            ("stride", self.static_strides, self.strides, type.get_num_dims()),
        ):
            values = static.get_values()
            if len(values) != length:
                raise VerifyException(f"expected {length} {what} values, got {len(values)}")
            if values.count(DYNAMIC_INDEX) != len(dynamic):
                raise VerifyException(f"expected an operand for each dynamic {what}")
        for size, known in zip(self.static_sizes.get_values(), type.get_shape(), strict=True):
            if size != known:
                raise VerifyException("the sizes and the result type differ")


@irdl_op_definition
class TransposeOp(IRDLOperation):
    """
    The same memory with its dimensions in another order: `memref.transpose %m (i, j) -> (j, i) :
    memref<8x16xf32> to memref<16x8xf32, strided<[1, 16]>>`.

    https://mlir.llvm.org/docs/Dialects/MemRef/#memreftranspose-memreftransposeop
    """

    name = "memref.transpose"

    source = operand_def(MemRefType)
    permutation = prop_def(AffineMapAttr)
    result = result_def(MemRefType)

    traits = traits_def(Pure())

    def __init__(
        self, source: SSAValue | Operation, permutation: AffineMapAttr, result_type: Attribute
    ):
        super().__init__(
            operands=[source],
            properties={"permutation": permutation},
            result_types=[result_type],
        )

    def verify_(self) -> None:
        source, result = self.source.type, self.result.type
        assert isinstance(source, MemRefType) and isinstance(result, MemRefType)
        rank = source.get_num_dims()
        order = [e.position for e in self.permutation.data.results if isinstance(e, AffineDimExpr)]
        if sorted(order) != list(range(rank)) or len(self.permutation.data.results) != rank:
            raise VerifyException("the map must be a permutation of the dimensions")
        shape = source.get_shape()
        if tuple(shape[d] for d in order) != tuple(result.get_shape()):
            raise VerifyException("the shape of the result must be that of the source, permuted")

    @classmethod
    def parse(cls, parser: Parser) -> TransposeOp:
        source = parser.parse_unresolved_operand()
        permutation = AffineMapAttr(parser.parse_affine_map())
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        source_type = parser.parse_type()
        parser.parse_keyword("to")
        op = cls(parser.resolve_operand(source, source_type), permutation, parser.parse_type())
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.source)
        printer.print_string(f" {self.permutation.data}")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.source.type)
        printer.print_string(" to ")
        printer.print_attribute(self.result.type)


@irdl_op_definition
class DistinctObjectsOp(IRDLOperation):
    """
    The same memrefs, known not to overlap:
    `%c:2 = memref.distinct_objects %a, %b : memref<?xf32>, memref<8xf32>`.

    https://mlir.llvm.org/docs/Dialects/MemRef/#memrefdistinct_objects-memrefdistinctobjectsop
    """

    name = "memref.distinct_objects"

    arguments = var_operand_def(MemRefType)
    res = var_result_def(MemRefType)

    traits = traits_def(Pure())

    def __init__(self, arguments: Sequence[SSAValue]):
        super().__init__(operands=[arguments], result_types=[[v.type for v in arguments]])

    def verify_(self) -> None:
        if not self.arguments:
            raise VerifyException("expected at least one operand")
        if [v.type for v in self.arguments] != list(self.result_types):
            raise VerifyException("the operands and results must have the same types")

    @classmethod
    def parse(cls, parser: Parser) -> DistinctObjectsOp:
        position = parser.pos
        unresolved = parser.parse_comma_separated_list(
            parser.Delimiter.NONE, parser.parse_unresolved_operand
        )
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        op = cls(parser.resolve_operands(unresolved, types, position))
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.arguments, printer.print_ssa_value)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_list(self.result_types, printer.print_attribute)
