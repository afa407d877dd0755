"""Operations that give another view of the same memory."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    DenseArrayBase,
    IntegerType,
    MemRefType,
    UnrankedMemRefType,
)
from xdsl.ir import Operation, SSAValue

from tests.oracle.memory import View
from tests.oracle.scalars import static_or_given

_UNCHANGED = ("memref.cast", "memref.memory_space_cast", "memref.assume_alignment")


def is_memref(value: SSAValue) -> bool:
    """Whether a value is a memref of any kind."""
    return isinstance(value.type, MemRefType | UnrankedMemRefType)


def view(op: Operation, operands: Sequence[object]) -> View | None:
    """The view that `op` makes of its first operand; None for an operation that makes none."""
    source = operands[0] if operands else None
    if not isinstance(source, View) or not op.results or not is_memref(op.results[0]):
        return None
    if op.name in _UNCHANGED:
        return source
    if op.name in _MAKERS:
        return _MAKERS[op.name](op, source, [o for o in operands[1:] if isinstance(o, int)])
    return None


def _split(op: Operation, numbers: Sequence[int]) -> tuple[list[int], list[int], list[int]]:
    """Offsets, sizes and strides of a `subview` or `reinterpret_cast`."""
    found: list[list[int]] = []
    rest = list(numbers)
    for name in ("static_offsets", "static_sizes", "static_strides"):
        static = op.properties[name]
        assert isinstance(static, DenseArrayBase)
        dynamic = sum(v == -(1 << 63) for v in static.get_values())
        found.append(static_or_given(static, rest[:dynamic]))
        rest = rest[dynamic:]
    return found[0], found[1], found[2]


def _subview(op: Operation, source: View, numbers: Sequence[int]) -> View:
    offsets, sizes, strides = _split(op, numbers)
    start = source.offset + sum(o * s for o, s in zip(offsets, source.strides, strict=True))
    if all(sizes):  # both ends are within the source
        source.cell(*offsets)
        source.cell(*(o + (n - 1) * s for o, n, s in zip(offsets, sizes, strides, strict=True)))
    found = [(n, s * t) for n, s, t in zip(sizes, strides, source.strides, strict=True)]
    type = op.results[0].type
    assert isinstance(type, MemRefType)
    surplus = len(found) - type.get_num_dims()
    kept: list[tuple[int, int]] = []
    for dim in found:
        if surplus and dim[0] == 1:
            surplus -= 1
        else:
            kept.append(dim)
    return View(source.allocation, start, tuple(n for n, _ in kept), tuple(s for _, s in kept))


def _reinterpret(op: Operation, source: View, numbers: Sequence[int]) -> View:
    (offset,), sizes, strides = _split(op, numbers)
    start = source.allocation.start + offset
    return View(source.allocation, start, tuple(sizes), tuple(strides))


def _groups(op: Operation) -> list[list[int]]:
    groups = op.properties["reassociation"]
    assert isinstance(groups, ArrayAttr)
    return [[d.value.data for d in group] for group in groups]  # pyright: ignore


def _collapse(op: Operation, source: View, numbers: Sequence[int]) -> View:
    sizes: list[int] = []
    strides: list[int] = []
    for group in _groups(op):
        size = 1
        for d in group:
            size *= source.sizes[d]
        wide = [d for d in group if source.sizes[d] != 1] or group
        sizes.append(size)
        strides.append(source.strides[wide[-1]])
    return View(source.allocation, source.offset, tuple(sizes), tuple(strides))


def _expand(op: Operation, source: View, numbers: Sequence[int]) -> View:
    sizes = static_or_given(op.properties["static_output_shape"], numbers)
    strides = [0] * len(sizes)
    for outer, group in enumerate(_groups(op)):
        stride = source.strides[outer]
        for d in reversed(group):
            strides[d] = stride
            stride *= sizes[d]
    return View(source.allocation, source.offset, tuple(sizes), tuple(strides))


def _bytes(op: Operation, source: View, numbers: Sequence[int]) -> View:
    """`memref.view`: the source is bytes, which are cells of four here."""
    shift, *dynamic = numbers
    type = op.results[0].type
    assert isinstance(type, MemRefType) and shift % 4 == 0
    rest = iter(dynamic)
    sizes = [n if n >= 0 else next(rest) for n in type.get_shape()]
    strides: list[int] = []
    count = 1
    for size in reversed(sizes):
        strides.insert(0, count)
        count *= size
    if count:
        source.cell(shift // 4 + count - 1)
    return View(source.allocation, source.offset + shift // 4, tuple(sizes), tuple(strides))


def _transpose(op: Operation, source: View, numbers: Sequence[int]) -> View:
    permutation = op.properties["permutation"]
    assert isinstance(permutation, AffineMapAttr)
    order = permutation.data.eval(list(range(len(source.sizes))), [])
    sizes, strides = source.sizes, source.strides
    return View(
        source.allocation,
        source.offset,
        tuple(sizes[d] for d in order),
        tuple(strides[d] for d in order),
    )


_MAKERS = {
    "memref.subview": _subview,
    "memref.reinterpret_cast": _reinterpret,
    "memref.collapse_shape": _collapse,
    "memref.expand_shape": _expand,
    "memref.view": _bytes,
    "memref.transpose": _transpose,
}


def sizes_of(type: MemRefType, dynamic: Sequence[int]) -> tuple[int, ...]:
    """The sizes of an allocation in elements; bytes count by four."""
    rest = iter(dynamic)
    sizes = [n if n >= 0 else next(rest) for n in type.get_shape()]
    if type.element_type == IntegerType(8):
        assert len(sizes) == 1 and sizes[0] % 4 == 0
        return (sizes[0] // 4,)
    return tuple(sizes)
