"""Random programs: straight-line code over buffers, views of them, and offsets."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from tests.oracle.library import KERNELS, TYPES, KernelSpec, T, V, W
from tests.oracle.statements import Argument, Body, Program, Statement

Maker = Callable[["Writer"], None]


@dataclass(frozen=True)
class Buffer:
    """A memref that a program has: its kind (see `library`), and the allocation it is of."""

    name: str
    kind: str
    sizes: tuple[int, ...]
    root: str


@dataclass(frozen=True)
class Number:
    """An `index`, the least and most it can be, and whether an affine map may take it."""

    name: str
    least: int
    most: int
    affine: bool = False


@dataclass
class Writer:
    """
    Writes the statements of one block. `depth`: how many more levels of blocks may be in it.
    `straight`: nothing but what `checks.not_minimal` can judge.
    """

    random: random.Random
    straight: bool
    depth: int = 0
    buffers: list[Buffer] = field(default_factory=list)
    numbers: list[Number] = field(default_factory=list)
    conditions: list[str] = field(default_factory=list)
    values: list[str] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)
    owned: list[str] = field(default_factory=list)
    """Allocations of this block that may be freed in it."""
    statements: list[Statement] = field(default_factory=list)
    count: list[int] = field(default_factory=lambda: [0])

    def name(self, prefix: str) -> str:
        """A name that the program does not have yet."""
        self.count[0] += 1
        return f"{prefix}{self.count[0]}"

    def add(self, text: str, *operands: str, result: str = "") -> str:
        """Write an operation; gives the name of its result, which starts with `result`."""
        name = self.name(result) if result else ""
        if result:
            text = f"%r = {text}"
        self.statements.append(Statement(text, operands, (name,) if result else ()))
        return name

    def number(self, value: int) -> str:
        """A constant."""
        return self.add(f"arith.constant {value} : index", result="c")

    def within(self, least: int, most: int) -> str:
        """A number that is surely in a range."""
        r = self.random
        fitting = [n for n in self.numbers if n.most - n.least <= most - least]
        if not fitting or r.random() < 0.25:
            return self.number(r.randint(least, most))
        chosen = r.choice(fitting)
        scale = 1
        while (scale + 1) * (chosen.most - chosen.least) <= most - least and r.random() < 0.5:
            scale += 1
        low, high = scale * chosen.least, scale * chosen.most
        shift = r.randint(least - low, most - high)
        name = chosen.name
        if scale != 1:
            name = self.add("arith.muli {0}, {1} : index", name, self.number(scale), result="n")
        if shift:
            name = self.add("arith.addi {0}, {1} : index", name, self.number(shift), result="n")
        return name

    def inner(self) -> Writer:
        """The writer of a block within this one."""
        return replace(
            self,
            depth=self.depth - 1,
            buffers=list(self.buffers),
            numbers=list(self.numbers),
            conditions=list(self.conditions),
            values=list(self.values),
            tokens=list(self.tokens),
            owned=[],
            statements=[],
        )

    def of_kind(self, kind: str) -> list[Buffer]:
        """The buffers of a kind."""
        return [b for b in self.buffers if b.kind == kind]


# Buffers and views


def new_buffer(w: Writer) -> None:
    """An allocation, whole and as a view of unknown layout."""
    r = w.random
    kind = r.choice("WWTSB" if r.random() < 0.9 else "G")
    alloc = "gpu.alloc" if r.random() < 0.3 else "memref.alloc"
    if kind in "WG":
        whole(w, w.add(f"{'gpu.alloc' if kind == 'G' else alloc}() : {W}", result="b"), "W")
    elif kind == "T":
        whole(w, w.add(f"{alloc}() : {T}", result="b"), "T")
    elif kind == "S":
        size = r.randint(8, 16)
        name = w.add(f"{alloc}({{0}}) : memref<?xi32>", w.number(size), result="b")
        w.owned.append(name)
        cast_line(w, name, "memref<?xi32>", size, name)
    else:
        name = w.add("memref.alloc() : memref<64xi8>", result="b")
        w.owned.append(name)
        for _ in range(r.randint(1, 2)):
            size = r.choice((8, 10, 16))
            start = w.number(4 * r.randint(0, 16 - size))
            part = w.add(
                f"memref.view {{0}}[{{1}}][] : memref<64xi8> to memref<{size}xi32>",
                name,
                start,
                result="p",
            )
            cast_line(w, part, f"memref<{size}xi32>", size, name)


def whole(w: Writer, name: str, kind: str, owned: bool = True) -> None:
    """A buffer of 16, or of 6 by 6, and views of all of it."""
    if owned:
        w.owned.append(name)
    if kind == "W":
        w.buffers.append(Buffer(name, "W", (16,), name))
        cast_line(w, name, W, 16, name)
    else:
        w.buffers.append(Buffer(name, "T", (6, 6), name))
        if w.random.random() < 0.5:
            cast_tile(w, name, T, (6, 6), name)
        if w.random.random() < 0.5:
            line = w.add(f"memref.collapse_shape {{0}} [[0, 1]] : {T} into memref<36xi32>", name,
                         result="l")  # fmt: skip
            cast_line(w, line, "memref<36xi32>", 36, name)


def cast_line(w: Writer, name: str, type: str, size: int, root: str) -> None:
    """A 1-D view as one of unknown layout."""
    found = w.add(f"memref.cast {{0}} : {type} to {V}", name, result="v")
    w.buffers.append(Buffer(found, "V", (size,), root))


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


# Operations of the device


def launch(w: Writer) -> None:
    """A launch of a kernel of the library."""
    r = w.random
    for _ in range(10):
        spec = r.choice(KERNELS)
        if w.straight and not spec.exact:
            continue
        given = [w.of_kind(k) for k in spec.memrefs]
        if all(given):
            chosen = [r.choice(g) for g in given]
            shape = spec.shape(r, [b.sizes for b in chosen])
            if shape is not None:
                sizes = [w.number(n) for n in (*shape.grid, *shape.block)]
                numbers = [w.within(*n) for n in shape.numbers]
                launch_of(w, spec, sizes, [b.name for b in chosen], numbers)
                return


def launch_of(
    w: Writer,
    spec: KernelSpec,
    sizes: Sequence[str],
    memrefs: Sequence[str],
    numbers: Sequence[str],
) -> None:
    """Write a launch; `sizes` are those of the grid and of the block, x and y each."""
    types = [*(TYPES[k] for k in spec.memrefs), *(["index"] * len(numbers))]
    one = w.number(1)
    arguments = ", ".join(f"{{{i + 5}}} : {t}" for i, t in enumerate(types))
    text = (
        f"@k::@{spec.name} blocks in ({{0}}, {{1}}, {{4}}) threads in ({{2}}, {{3}}, {{4}}) "
        f"args({arguments})"
    )
    asynchronous(w, "gpu.launch_func", text, [*sizes, one, *memrefs, *numbers])


def asynchronous(w: Writer, name: str, rest: str, operands: Sequence[str]) -> None:
    """An operation of the device; by chance with a token of its own, or behind some."""
    if w.straight or w.random.random() < 0.8:
        w.add(f"{name} {rest}", *operands)
        return
    given = w.random.sample(w.tokens, min(len(w.tokens), w.random.randint(0, 2)))
    tokens = ", ".join(f"{{{len(operands) + i}}}" for i in range(len(given)))
    behind = f" [{tokens}]" if given else ""
    w.tokens.append(w.add(f"{name} async{behind} {rest}", *operands, *given, result="t"))


def memcpy(w: Writer) -> None:
    """A copy by the device, or by the host."""
    r = w.random
    source = r.choice(w.buffers)
    targets = [b for b in w.buffers if (b.kind, b.sizes) == (source.kind, source.sizes)]
    target = r.choice(targets)
    type = TYPES[source.kind]
    if r.random() < 0.3:
        w.add(f"memref.copy {{0}}, {{1}} : {type} to {type}", source.name, target.name)
    else:
        asynchronous(w, "gpu.memcpy", f"{{0}}, {{1}} : {type}, {type}", (target.name, source.name))


def memset(w: Writer) -> None:
    """A buffer set to one value."""
    target = w.random.choice(w.buffers)
    value = some_value(w)
    asynchronous(w, "gpu.memset", f"{{0}}, {{1}} : {TYPES[target.kind]}, i32", (target.name, value))


# Operations of the host


def some_value(w: Writer) -> str:
    """An `i32`: a constant, or something that was loaded."""
    if w.values and w.random.random() < 0.5:
        return w.random.choice(w.values)
    return w.add(f"arith.constant {w.random.randint(0, 99)} : i32", result="k")


def _element(w: Writer) -> tuple[Buffer, list[str]] | None:
    chosen = w.random.choice(w.buffers)
    if not all(chosen.sizes):
        return None
    return chosen, [w.within(0, n - 1) for n in chosen.sizes]


def load(w: Writer) -> None:
    """A load by the host; what it sees may decide something later."""
    found = _element(w)
    if found is not None:
        buffer, indices = found
        places = ", ".join(f"{{{i + 1}}}" for i in range(len(indices)))
        value = w.add(f"memref.load {{0}}[{places}] : {TYPES[buffer.kind]}", buffer.name, *indices,
                      result="x")  # fmt: skip
        w.values.append(value)


def store(w: Writer) -> None:
    """A store by the host."""
    found = _element(w)
    if found is not None:
        buffer, indices = found
        places = ", ".join(f"{{{i + 2}}}" for i in range(len(indices)))
        type = TYPES[buffer.kind]
        w.add(f"memref.store {{0}}, {{1}}[{places}] : {type}", some_value(w), buffer.name, *indices)


def free(w: Writer) -> None:
    """Free an allocation of this block; nothing uses it afterwards."""
    if w.owned:
        root = w.random.choice(w.owned)
        made = next(s for s in w.statements if root in s.results)
        dialect = "gpu" if "gpu.alloc" in made.text else "memref"
        type = made.text.split(" : ", 1)[1]
        if dialect == "gpu":
            asynchronous(w, "gpu.dealloc", f"{{0}} : {type}", (root,))
        else:
            w.add(f"memref.dealloc {{0}} : {type}", root)
        w.owned.remove(root)
        w.buffers = [b for b in w.buffers if b.root != root]


# Programs

STRAIGHT: dict[Maker, float] = {
    launch: 12,
    new_view: 2,
    memcpy: 1.5,
    memset: 1,
    load: 0.7,
    store: 0.7,
    new_buffer: 0.4,
    free: 0.4,
}


def some(w: Writer, makers: dict[Maker, float], count: int) -> None:
    """Write `count` random statements."""
    for make in w.random.choices(list(makers), list(makers.values()), k=count):
        if w.buffers or make is new_buffer:
            make(w)


def straight(generator: random.Random) -> Program:
    """A program that `checks.not_minimal` can judge."""
    w = Writer(generator, straight=True)
    arguments = memref_arguments(w, generator.randint(0, 2), noalias=True)
    straight_buffers(w)
    some(w, STRAIGHT, generator.randint(1, 22))
    body = Body(tuple(w.statements), Statement("func.return"))
    return Program(arguments, {"entry": body}, exact=True)


def straight_buffers(w: Writer) -> None:
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
        whole(w, name, kind, owned=False)
    return tuple(found)
