"""Views of memrefs on the host: other offsets, sizes and strides of the same buffer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr

from opar.backend.build_state import Builder, Held
from opar.backend.schedule import Rebase, View
from opar.dialects import memref
from opar.dialects.memref.layouts import strided
from opar.errors import UnsupportedError, at


def add(builder: Builder, op: Operation) -> bool:
    """Find out what view the result of `op` is; false for an operation that makes none."""
    match op:
        case memref.CastOp() | memref.MemorySpaceCastOp():
            _ranked(op, op.dest)
            found = builder.view(op.source)
        case memref.AssumeAlignmentOp():
            found = builder.view(op.memref)
        case memref.SubviewOp():
            found = _subview(builder, op)
        case memref.ReinterpretCastOp():
            found = _reinterpret_cast(builder, op)
        case memref.CollapseShapeOp():
            found = _collapse(builder, op)
        case memref.ExpandShapeOp():
            found = _expand(builder, op)
        case memref.TransposeOp():
            source = builder.view(op.source)
            order = [
                e.position for e in op.permutation.data.results if isinstance(e, AffineDimExpr)
            ]
            found = replace(
                source,
                sizes=tuple(source.sizes[d] for d in order),
                strides=tuple(source.strides[d] for d in order),
            )
        case memref.ViewOp():
            found = _view(builder, op)
        case memref.DistinctObjectsOp():
            for result, source in zip(op.results, op.operands, strict=True):
                builder.give(result, builder.get(source))
            return True
        case memref.DimOp():
            _dim(builder, op)
            return True
        case memref.RankOp():
            rank = builder.numbers.constant(len(builder.view(op.source).sizes))
            builder.give(op.rank, Held(place=rank))
            return True
        case _:
            return False
    builder.give(op.results[0], Held(view=found))
    return True


def _ranked(op: Operation, value: SSAValue) -> MemRefType:
    if not isinstance(value.type, MemRefType):
        raise UnsupportedError(at(op, "memrefs of unknown rank are not supported"))
    return value.type


def _mixed(builder: Builder, static: Sequence[int], dynamic: Sequence[SSAValue]) -> list[int]:
    """Places of static values, with the operands where they are dynamic."""
    remaining = iter(dynamic)
    return [
        builder.place(next(remaining)) if s == DYNAMIC_INDEX else builder.numbers.constant(s)
        for s in static
    ]


def _subview(builder: Builder, op: memref.SubviewOp) -> View:
    source = builder.view(op.source)
    numbers = builder.numbers
    offsets = _mixed(builder, op.static_offsets.get_values(), op.offsets)
    sizes = _mixed(builder, op.static_sizes.get_values(), op.sizes)
    steps = _mixed(builder, op.static_strides.get_values(), op.strides)
    offset = source.offset
    for index, stride in zip(offsets, source.strides, strict=True):
        offset = numbers.binary("affine.add", offset, numbers.binary("affine.mul", index, stride))
    strides = [
        numbers.binary("affine.mul", s, step) for s, step in zip(source.strides, steps, strict=True)
    ]
    kept = _kept(builder, op, sizes)
    return View(
        source.buffer, offset, tuple(sizes[d] for d in kept), tuple(strides[d] for d in kept)
    )


def _kept(builder: Builder, op: memref.SubviewOp, sizes: Sequence[int]) -> list[int]:
    """The dimensions that a subview keeps: of those of size 1, the ones that its type lacks go."""
    type = _ranked(op, op.result)
    known = [builder.numbers.constant_at(size) for size in sizes]
    shape = [None if s == DYNAMIC_INDEX else s for s in type.get_shape()]
    steps, layout = op.static_strides.get_values(), strided(type)
    source = strided(_ranked(op, op.source))
    dropped = len(sizes) - len(shape)
    kept: list[int] = []
    for d, size in enumerate(known):
        place = len(kept)
        fits = place < len(shape) and shape[place] == (
            None if op.static_sizes.get_values()[d] == DYNAMIC_INDEX else size
        )
        if fits and dropped and size == 1 and layout is not None and source is not None:
            stride = source.strides[d]  # of two dimensions of size 1, the strides tell which went
            if stride is not None and steps[d] != DYNAMIC_INDEX:
                fits = layout.strides[place] in (None, stride * steps[d])
        if fits:
            kept.append(d)
        elif dropped and size == 1:
            dropped -= 1
        else:
            raise UnsupportedError(at(op, "the dimensions that the view drops must have size 1"))
    return kept


def _reinterpret_cast(builder: Builder, op: memref.ReinterpretCastOp) -> View:
    """The new offset counts from where the memory of the source starts, not from its view."""
    source_type = _ranked(op, op.source)
    source = builder.view(op.source)
    numbers = builder.numbers
    (offset,) = _mixed(builder, op.static_offsets.get_values(), op.offsets)
    layout = strided(source_type)
    if layout is not None and layout.offset is not None:
        start = numbers.binary("affine.add", source.offset, numbers.constant(-layout.offset))
        offset = numbers.binary("affine.add", start, offset)
    sizes = _mixed(builder, op.static_sizes.get_values(), op.sizes)
    strides = _mixed(builder, op.static_strides.get_values(), op.strides)
    return View(source.buffer, offset, tuple(sizes), tuple(strides))


def _groups(op: memref.CollapseShapeOp | memref.ExpandShapeOp) -> list[list[int]]:
    return [[d.value.data for d in group] for group in op.reassociation]


def _collapse(builder: Builder, op: memref.CollapseShapeOp) -> View:
    source = builder.view(op.src)
    numbers = builder.numbers
    sizes: list[int] = []
    strides: list[int] = []
    for group in _groups(op):
        size = numbers.constant(1)
        for d in group:
            size = numbers.binary("affine.mul", size, source.sizes[d])
        sizes.append(size)
        # Dimensions of size 1 have no say: their strides may be anything.
        wide = [d for d in group if numbers.constant_at(source.sizes[d]) != 1] or group
        strides.append(source.strides[wide[-1]])
    return replace(source, sizes=tuple(sizes), strides=tuple(strides))


def _expand(builder: Builder, op: memref.ExpandShapeOp) -> View:
    source = builder.view(op.src)
    numbers = builder.numbers
    sizes = _mixed(builder, op.static_output_shape.get_values(), op.output_shape)
    strides = [numbers.constant(1)] * len(sizes)
    for outer, group in enumerate(_groups(op)):
        stride = source.strides[outer]
        for d in reversed(group):
            strides[d] = stride
            stride = numbers.binary("affine.mul", stride, sizes[d])
    return replace(source, sizes=tuple(sizes), strides=tuple(strides))


def _view(builder: Builder, op: memref.ViewOp) -> View:
    """Bytes as elements of another type: a buffer of its own, in the same memory."""
    type = _ranked(op, op.result)
    source = builder.view(op.source)
    number = builder.buffer_register(type, op.result.name_hint or "view")
    builder.buffer_flows[number].add(source.buffer)
    shift = builder.place(op.byte_shift)
    builder.host_step(op, Rebase, name="view", target=number, source=source, shift=shift)
    sizes = tuple(_mixed(builder, type.get_shape(), op.sizes))
    zero = builder.numbers.constant(0)
    return View(number, zero, sizes, builder.numbers.contiguous(sizes))


def _dim(builder: Builder, op: memref.DimOp) -> None:
    numbers = builder.numbers
    _ranked(op, op.source)
    sizes = builder.view(op.source).sizes
    place = builder.place(op.index)
    dim = numbers.constant_at(place)
    if dim is None:
        found = numbers.scalar("pick", (place, *sizes), width=64)
    elif 0 <= dim < len(sizes):
        found = sizes[dim]
    else:
        raise UnsupportedError(at(op, f"dimension {dim} is out of range of the memref"))
    builder.give(op.result, Held(place=found))
