"""What SSA values are, and where they are computed."""

from __future__ import annotations

from xdsl.dialects.builtin import MemRefType, UnrankedMemRefType
from xdsl.ir import Operation, SSAValue

from opar.dialects import gpu


def is_memref(value: SSAValue) -> bool:
    """Whether `value` is a memref, ranked or not."""
    return isinstance(value.type, MemRefType | UnrankedMemRefType)


def is_token(value: SSAValue) -> bool:
    """Whether `value` is a token of the GPU."""
    return isinstance(value.type, gpu.AsyncTokenType)


def is_within(value: SSAValue, op: Operation) -> bool:
    """Whether `value` is computed within `op`."""
    owner = value.owner
    parent = owner if isinstance(owner, Operation) else owner.parent_op()
    return parent is not None and op.is_ancestor(parent)
