"""A part of a memref."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    IndexType,
    IntegerType,
    MemRefType,
    i64,
)
from xdsl.dialects.utils import DynamicIndexList, split_dynamic_index_list
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from opar.dialects.memref.layouts import Size, Strided, strided, times, verify_same_elements


def _known(values: DenseArrayBase[IntegerType]) -> list[Size]:
    return [None if v == DYNAMIC_INDEX else int(v) for v in values.iter_values()]


def _is_reduced(result: Strided, full: Strided) -> bool:
    """Whether `result` is `full` without some of its dimensions of size 1."""
    if result.offset != full.offset:
        return False
    wanted = list(zip(result.sizes, result.strides, strict=True))
    # reachable[k]: the dimensions so far can be matched with the first k of the result.
    reachable = {0}
    for size, stride in zip(full.sizes, full.strides, strict=True):
        kept = {k + 1 for k in reachable if k < len(wanted) and wanted[k] == (size, stride)}
        reachable = kept | (reachable if size == 1 else set())
    return len(wanted) in reachable


@irdl_op_definition
class SubviewOp(IRDLOperation):
    """
    A part of a memref, from offsets on, of some sizes, every so many elements:
    `memref.subview %m[%i, 0] [4, %n] [1, 2] : memref<8x16xf32> to
    memref<4x?xf32, strided<[16, 2], offset: ?>>`.

    The result type follows from the source type, but dimensions of size 1 may be left out:
    https://mlir.llvm.org/docs/Dialects/MemRef/#memrefsubview-memrefsubviewop.
    """

    name = "memref.subview"

    source = operand_def(MemRefType)
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
        "$source `` custom<DynamicIndexList>($offsets, $static_offsets)"
        "custom<DynamicIndexList>($sizes, $static_sizes)"
        "custom<DynamicIndexList>($strides, $static_strides)"
        "attr-dict `:` type($source) `to` type($result)"
    )

    def __init__(
        self,
        source: SSAValue | Operation,
        offsets: Sequence[SSAValue | int],
        sizes: Sequence[SSAValue | int],
        strides: Sequence[SSAValue | int],
        result_type: Attribute,
    ):
        operands: list[Sequence[SSAValue]] = []
        properties: dict[str, Attribute] = {}
        for name, values in (("offsets", offsets), ("sizes", sizes), ("strides", strides)):
            static, dynamic = split_dynamic_index_list(values, DYNAMIC_INDEX)
            operands.append(dynamic)
            properties[f"static_{name}"] = DenseArrayBase.from_list(i64, static)
        super().__init__(
            operands=[source, *operands], result_types=[result_type], properties=properties
        )

    def verify_(self) -> None:
        source, result = self.source.type, self.result.type
        assert isinstance(source, MemRefType) and isinstance(result, MemRefType)
        rank = source.get_num_dims()
        for what, static, dynamic in (
            ("offset", self.static_offsets, self.offsets),
            ("size", self.static_sizes, self.sizes),
            ("stride", self.static_strides, self.strides),
        ):
            if len(static) != rank:
                raise VerifyException(f"expected {rank} {what} values, got {len(static)}")
            if _known(static).count(None) != len(dynamic):
                raise VerifyException(f"expected an operand for each dynamic {what}")
        verify_same_elements(source, result)
        layout, found = strided(source), strided(result)
        if layout is None or found is None:
            return
        self._verify_bounds(layout)
        full = self._layout_of_part(layout)
        if not _is_reduced(found, full):
            raise VerifyException(f"the result must have {full}; its type has {found}")

    def _verify_bounds(self, source: Strided) -> None:
        for d, (offset, size, stride) in enumerate(
            zip(
                _known(self.static_offsets),
                _known(self.static_sizes),
                _known(self.static_strides),
                strict=True,
            )
        ):
            known = source.sizes[d]
            if offset is not None and offset < 0:
                raise VerifyException(f"the offset of dimension {d} is negative")
            if size is not None and size < 0:
                raise VerifyException(f"the size of dimension {d} is negative")
            if None in (offset, size, stride, known) or size == 0:
                continue
            assert offset is not None and size is not None and stride is not None
            last = offset + (size - 1) * stride
            if known is not None and not 0 <= last < known:
                raise VerifyException(f"dimension {d} runs out of bounds: {last} of {known}")

    def _layout_of_part(self, source: Strided) -> Strided:
        steps = zip(_known(self.static_strides), source.strides, strict=True)
        offset = source.offset
        for start, stride in zip(_known(self.static_offsets), source.strides, strict=True):
            moved = 0 if start == 0 else times(start, stride)
            offset = None if offset is None or moved is None else offset + moved
        return Strided(
            tuple(_known(self.static_sizes)), tuple(times(a, b) for a, b in steps), offset
        )
