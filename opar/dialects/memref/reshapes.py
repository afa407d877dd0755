"""Views of a memref in another shape."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    UnrankedMemRefType,
    i64,
)
from xdsl.dialects.utils import DynamicIndexList, split_dynamic_index_list
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    base,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind, Pure
from xdsl.utils.exceptions import VerifyException

from opar.dialects.memref.layouts import Size, Strided, strided, times, verify_same_elements

Reassociation = ArrayAttr[ArrayAttr[IntegerAttr]]


def reassociation(groups: Sequence[Sequence[int]]) -> Reassociation:
    """The attribute that says which dimensions of the larger shape belong together."""
    return ArrayAttr(ArrayAttr(IntegerAttr(d, i64) for d in group) for group in groups)


def _verify_groups(attr: Reassociation, smaller: MemRefType, larger: MemRefType) -> list[list[int]]:
    """The groups as lists, which must cover the larger shape in order."""
    groups = [[d.value.data for d in group] for group in attr]
    if len(groups) != smaller.get_num_dims():
        raise VerifyException(f"expected {smaller.get_num_dims()} groups, got {len(groups)}")
    rank = larger.get_num_dims()
    covered = [d for group in groups for d in group]
    if groups and (covered != list(range(rank)) or not all(groups)):
        raise VerifyException(f"the groups must cover the {rank} dimensions in order")
    if not groups and any(size != 1 for size in larger.get_shape()):
        raise VerifyException("only dimensions of size 1 can become a memref without dimensions")
    return groups


def _verify_layout(found: Strided | None, expected: Strided) -> None:
    if found is not None and found != expected:
        raise VerifyException(f"the result must have {expected}; its type has {found}")


def _size_of(group: Sequence[int], sizes: Sequence[Size]) -> Size:
    size: Size = 1
    for d in group:
        size = times(size, sizes[d])
    return size


@irdl_op_definition
class CollapseShapeOp(IRDLOperation):
    """
    The same memory with groups of dimensions made one:
    `memref.collapse_shape %m [[0, 1], [2]] : memref<2x4x8xf32> into memref<8x8xf32>`.

    https://mlir.llvm.org/docs/Dialects/MemRef/#memrefcollapse_shape-memrefcollapseshapeop
    """

    name = "memref.collapse_shape"

    src = operand_def(MemRefType)
    reassociation = prop_def(Reassociation)
    result = result_def(MemRefType)

    traits = traits_def(Pure())
    assembly_format = "$src $reassociation attr-dict `:` type($src) `into` type($result)"

    def __init__(
        self,
        src: SSAValue | Operation,
        groups: Sequence[Sequence[int]],
        result_type: Attribute,
    ):
        super().__init__(
            operands=[src],
            properties={"reassociation": reassociation(groups)},
            result_types=[result_type],
        )

    def verify_(self) -> None:
        source, result = self.src.type, self.result.type
        assert isinstance(source, MemRefType) and isinstance(result, MemRefType)
        verify_same_elements(source, result)
        groups = _verify_groups(self.reassociation, result, source)
        layout = strided(source)
        if layout is None:
            return
        sizes = tuple(_size_of(group, layout.sizes) for group in groups)
        strides = tuple(_collapsed_stride(group, layout) for group in groups)
        _verify_layout(strided(result), Strided(sizes, strides, layout.offset))


def _collapsed_stride(group: Sequence[int], source: Strided) -> Size:
    """The stride of a group made one dimension; the dimensions of size 1 have no say."""
    wide = [d for d in group if source.sizes[d] != 1] or [group[0]]
    for outer, inner in pairwise(wide):
        expected = times(source.strides[inner], source.sizes[inner])
        if None not in (expected, source.strides[outer]) and expected != source.strides[outer]:
            raise VerifyException(f"dimensions {outer} and {inner} do not follow each other")
    return source.strides[wide[-1]]


@irdl_op_definition
class ExpandShapeOp(IRDLOperation):
    """
    The same memory with dimensions split: `memref.expand_shape %m [[0, 1], [2]]
    output_shape [%n, 4, 8] : memref<?x8xf32> into memref<?x4x8xf32>`.

    https://mlir.llvm.org/docs/Dialects/MemRef/#memrefexpand_shape-memrefexpandshapeop
    """

    name = "memref.expand_shape"

    src = operand_def(MemRefType)
    output_shape = var_operand_def(IndexType())
    reassociation = prop_def(Reassociation)
    static_output_shape = prop_def(DenseArrayBase.constr(i64))
    result = result_def(MemRefType)

    custom_directives = (DynamicIndexList,)
    traits = traits_def(Pure())
    assembly_format = (
        "$src $reassociation `output_shape`"
        "custom<DynamicIndexList>($output_shape, $static_output_shape) attr-dict `:`"
        "type($src) `into` type($result)"
    )

    def __init__(
        self,
        src: SSAValue | Operation,
        groups: Sequence[Sequence[int]],
        output_shape: Sequence[SSAValue | int],
        result_type: Attribute,
    ):
        static, dynamic = split_dynamic_index_list(output_shape, DYNAMIC_INDEX)
        super().__init__(
            operands=[src, dynamic],
            properties={
                "reassociation": reassociation(groups),
                "static_output_shape": DenseArrayBase.from_list(i64, static),
            },
            result_types=[result_type],
        )

    def verify_(self) -> None:
        source, result = self.src.type, self.result.type
        assert isinstance(source, MemRefType) and isinstance(result, MemRefType)
        verify_same_elements(source, result)
        shape = tuple(int(v) for v in self.static_output_shape.iter_values())
        if shape != tuple(result.get_shape()):
            raise VerifyException("output_shape and the result type differ")
        if shape.count(DYNAMIC_INDEX) != len(self.output_shape):
            raise VerifyException("expected an operand for each dynamic size")
        groups = _verify_groups(self.reassociation, source, result)
        layout, found = strided(source), strided(result)
        if layout is None or found is None:
            return
        strides: list[Size] = [1] * len(shape)
        for outer, group in enumerate(groups):
            size = _size_of(group, found.sizes)
            if size != layout.sizes[outer]:
                raise VerifyException(f"the sizes of group {outer} must make that of the source")
            stride = layout.strides[outer]
            for d in reversed(group):
                strides[d] = stride
                stride = times(stride, found.sizes[d])
        _verify_layout(found, Strided(found.sizes, tuple(strides), layout.offset))


class ReadsShape(MemoryEffect):
    """Reads the memref that holds the shape."""

    @classmethod
    def get_effects(cls, op: Operation) -> set[EffectInstance]:
        assert isinstance(op, ReshapeOp)
        return {EffectInstance(MemoryEffectKind.READ, op.shape)}


@irdl_op_definition
class ReshapeOp(IRDLOperation):
    """
    The same memory in a shape that a memref holds:
    `memref.reshape %m(%shape) : (memref<8x16xf32>, memref<2xindex>) -> memref<?x?xf32>`.

    https://mlir.llvm.org/docs/Dialects/MemRef/#memrefreshape-memrefreshapeop
    """

    name = "memref.reshape"

    source = operand_def(base(MemRefType) | base(UnrankedMemRefType))
    shape = operand_def(MemRefType)
    result = result_def(base(MemRefType) | base(UnrankedMemRefType))

    traits = traits_def(ReadsShape())
    assembly_format = "$source `(` $shape `)` attr-dict `:` functional-type(operands, results)"

    def __init__(
        self, source: SSAValue | Operation, shape: SSAValue | Operation, result_type: Attribute
    ):
        super().__init__(operands=[source, shape], result_types=[result_type])

    def verify_(self) -> None:
        shape = self.shape.type
        assert isinstance(shape, MemRefType)
        integers = isinstance(shape.element_type, IntegerType | IndexType)
        if shape.get_num_dims() != 1 or not integers:
            raise VerifyException("the shape must be a one-dimensional memref of integers")
