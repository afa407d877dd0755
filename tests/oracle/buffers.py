"""Random buffers, and random views of them."""

from __future__ import annotations

import random

from tests.oracle.library import KERNELS, TYPES, T, V, W
from tests.oracle.statements import Argument
from tests.oracle.writer import Buffer, Writer, asynchronous, launch_of

FILL = next(k for k in KERNELS if k.name == "fill")


def new_buffer(w: Writer) -> None:
    """An allocation, whole and as a view of unknown layout."""
    r = w.random
    kind = r.choice("WWTSB" if r.random() < 0.9 else "G")
    alloc = "gpu.alloc" if w.on_device or r.random() < 0.3 else "memref.alloc"
    if kind in "WG":
        name = w.add(f"{'gpu.alloc' if kind == 'G' else alloc}() : {W}", result="b")
        whole(w, name, "W", True)
    elif kind == "T":
        whole(w, w.add(f"{alloc}() : {T}", result="b"), "T", True)
    elif kind == "S":
        size = r.randint(8, 16)
        name = w.add(f"{alloc}({{0}}) : memref<?xi32>", w.number(size), result="b")
        w.owned.append(name)
        define(w, cast_line(w, name, "memref<?xi32>", size, name))
    else:
        alloc = "gpu.alloc" if w.on_device else "memref.alloc"
        name = w.add(f"{alloc}() : memref<64xi8>", result="b")
        w.owned.append(name)
        if w.defined:
            define(w, _line_of_bytes(w, name, 0, 16))
        for _ in range(r.randint(1, 2)):
            size = r.choice((8, 10, 16))
            _line_of_bytes(w, name, 4 * r.randint(0, 16 - size), size)


def define(w: Writer, line: Buffer) -> None:
    """Write to all of a new allocation, which `line` is, where a program has to."""
    if not w.defined:
        return
    if w.random.random() < 0.3:
        value = w.constant(w.random.randint(0, 99), "i32")
        asynchronous(w, "gpu.memset", f"{{0}}, {{1}} : {V}, i32", (line.name, value))
    else:
        one, count = w.number(1), w.number(line.sizes[0])
        launch_of(w, FILL, [one, one, count, one], [line.name], [w.number(0)])


def whole(w: Writer, name: str, kind: str, new: bool) -> None:
    """A buffer of 16, or of 6 by 6, and views of all of it; `new`: an allocation."""
    if new:
        w.owned.append(name)
    if kind == "W":
        w.buffers.append(Buffer(name, "W", (16,), name))
        line = cast_line(w, name, W, 16, name)
    else:
        w.buffers.append(Buffer(name, "T", (6, 6), name))
        if w.random.random() < 0.5:
            cast_tile(w, name, T, (6, 6), name)
        if w.random.random() < 0.5 and not (new and w.defined):
            return
        flat = w.add(f"memref.collapse_shape {{0}} [[0, 1]] : {T} into memref<36xi32>", name,
                     result="l")  # fmt: skip
        line = cast_line(w, flat, "memref<36xi32>", 36, name)
    if new:
        define(w, line)


def _line_of_bytes(w: Writer, name: str, start: int, size: int) -> Buffer:
    type = f"memref<{size}xi32>"
    text = f"memref.view {{0}}[{{1}}][] : memref<64xi8> to {type}"
    return cast_line(w, w.add(text, name, w.number(start), result="p"), type, size, name)


def cast_line(w: Writer, name: str, type: str, size: int, root: str) -> Buffer:
    """A 1-D view as one of unknown layout."""
    found = w.add(f"memref.cast {{0}} : {type} to {V}", name, result="v")
    w.buffers.append(Buffer(found, "V", (size,), root))
    return w.buffers[-1]


def cast_tile(w: Writer, name: str, type: str, sizes: tuple[int, int], root: str) -> None:
    """A 2-D view as one of unknown layout."""
    found = w.add(f"memref.cast {{0}} : {type} to {TYPES['D']}", name, result="d")
    w.buffers.append(Buffer(found, "D", sizes, root))


def new_view(w: Writer) -> None:
    """A view of what there is: a part, a row, a column, another shape."""
    r = w.random
    source = r.choice(w.buffers)
    if source.kind == "W":
        _part_of_line(w, source)
    elif source.kind == "V":
        size = source.sizes[0]
        if size < 2:
            return
        offset, n, stride = _stripe(r, size)
        part = w.add(
            f"memref.subview {{0}}[{offset}] [{n}] [{stride}] : {V} to "
            f"memref<{n}xi32, strided<[?], offset: ?>>",
            source.name,
            result="s",
        )
        cast_line(w, part, f"memref<{n}xi32, strided<[?], offset: ?>>", n, source.root)
    elif source.kind == "T":
        _part_of_tile(w, source)
    else:
        found = w.add(
            f"memref.transpose {{0}} (d0, d1) -> (d1, d0) : {TYPES['D']} to {TYPES['D']}",
            source.name,
            result="t",
        )
        w.buffers.append(Buffer(found, "D", source.sizes[::-1], source.root))


def _stripe(r: random.Random, size: int) -> tuple[int, int, int]:
    """Offset, number and stride of some of `size` elements."""
    stride = r.choice((1, 1, 2, 3))
    n = r.randint(1, max(1, (size - 1) // stride))
    return r.randint(0, size - 1 - (n - 1) * stride), n, stride


def _part_of_line(w: Writer, source: Buffer) -> None:
    r = w.random
    choice = r.randrange(4)
    offset, n, stride = _stripe(r, 16)
    if choice == 0:
        rows = w.add(
            f"memref.expand_shape {{0}} [[0, 1]] output_shape [4, 4] : {W} into memref<4x4xi32>",
            source.name,
            result="e",
        )
        cast_tile(w, rows, "memref<4x4xi32>", (4, 4), source.root)
        return
    type = f"memref<{n}xi32, strided<[{stride}], offset: {offset}>>"
    if choice == 1:
        text = (
            f"memref.reinterpret_cast {{0}} to offset: [{offset}], sizes: [{n}], "
            f"strides: [{stride}] : {W} to {type}"
        )
        part = w.add(text, source.name, result="s")
    elif choice == 2 and not w.straight:
        place = w.within(0, 16 - 1 - (n - 1) * stride)
        type = f"memref<{n}xi32, strided<[{stride}], offset: ?>>"
        text = f"memref.subview {{0}}[{{1}}] [{n}] [{stride}] : {W} to {type}"
        part = w.add(text, source.name, place, result="s")
    else:
        text = f"memref.subview {{0}}[{offset}] [{n}] [{stride}] : {W} to {type}"
        part = w.add(text, source.name, result="s")
    cast_line(w, part, type, n, source.root)


def _part_of_tile(w: Writer, source: Buffer) -> None:
    r = w.random
    choice, at = r.randrange(3), r.randrange(6)
    if choice == 0:
        type = (
            f"memref<6xi32, strided<[1], offset: {6 * at}>>"
            if at
            else "memref<6xi32, strided<[1]>>"
        )
        row = w.add(f"memref.subview {{0}}[{at}, 0] [1, 6] [1, 1] : {T} to {type}", source.name,
                    result="s")  # fmt: skip
        cast_line(w, row, type, 6, source.root)
    elif choice == 1:
        type = f"memref<6xi32, strided<[6], offset: {at}>>" if at else "memref<6xi32, strided<[6]>>"
        column = w.add(f"memref.subview {{0}}[0, {at}] [6, 1] [1, 1] : {T} to {type}", source.name,
                       result="s")  # fmt: skip
        cast_line(w, column, type, 6, source.root)
    else:
        (i, m, s), (j, n, t) = _stripe(r, 6), _stripe(r, 6)
        layout = f"strided<[{6 * s}, {t}], offset: {6 * i + j}>"
        layout = layout.replace(", offset: 0", "")
        type = f"memref<{m}x{n}xi32, {layout}>"
        tile = w.add(f"memref.subview {{0}}[{i}, {j}] [{m}, {n}] [{s}, {t}] : {T} to {type}",
                     source.name, result="s")  # fmt: skip
        cast_tile(w, tile, type, (m, n), source.root)


def first_buffers(w: Writer) -> None:
    """A few buffers to begin with."""
    for _ in range(w.random.randint(1, 3)):
        new_buffer(w)


def memref_arguments(w: Writer, count: int, noalias: bool) -> tuple[Argument, ...]:
    """Arguments that are buffers; without `noalias` they may be the same one."""
    found: list[Argument] = []
    for i in range(count):
        kind = w.random.choice("WWT")
        sizes = (16,) if kind == "W" else (6, 6)
        name = w.name("a")
        same = [j for j, other in enumerate(found) if other.sizes == sizes and not other.noalias]
        mine = noalias or w.random.random() < 0.3
        found.append(Argument(name, TYPES[kind], sizes, (i,) if mine else (i, *same), mine))
        if w.on_device:
            copy = w.add(f"gpu.alloc() : {TYPES[kind]}", result="b")
            asynchronous(w, "gpu.memcpy", f"{{0}}, {{1}} : {TYPES[kind]}, {TYPES[kind]}",
                         (copy, name))  # fmt: skip
            w.staged.append((name, copy))
            name = copy
        whole(w, name, kind, False)
    return tuple(found)


def copy_back(w: Writer) -> None:
    """Copy what the device holds of the arguments back to some of them."""
    for name, copy in w.staged:
        type = next(TYPES[b.kind] for b in w.buffers if b.name == copy)
        if w.random.random() < 0.7:
            asynchronous(w, "gpu.memcpy", f"{{0}}, {{1}} : {type}, {type}", (name, copy))
