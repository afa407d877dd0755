"""Sizes of memrefs, also where a cast has hidden them from the type."""

from __future__ import annotations

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.ir import OpResult, SSAValue

from opar.dialects import memref

_SAME_SHAPE = ("memref.cast", "memref.memory_space_cast", "memref.assume_alignment")


def known_sizes(value: SSAValue) -> tuple[int, ...]:
    """The sizes of a ranked memref in elements; `DYNAMIC_INDEX` where one is not a constant."""
    assert isinstance(value.type, MemRefType)
    sizes = value.type.get_shape()
    if DYNAMIC_INDEX not in sizes or not isinstance(value, OpResult):
        return sizes
    op = value.op
    source = op.operands[0] if op.operands else None
    if source is None or not isinstance(source.type, MemRefType):
        return sizes
    if op.name in _SAME_SHAPE:
        more = known_sizes(source)
    elif isinstance(op, memref.TransposeOp):
        before = known_sizes(source)
        more = tuple(before[d] for d in op.permutation.data.eval(list(range(len(before))), []))
    else:
        return sizes
    return tuple(m if s == DYNAMIC_INDEX else s for s, m in zip(sizes, more, strict=True))
