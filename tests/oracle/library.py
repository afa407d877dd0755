"""
The kernels that random programs launch, one module of them, and what arguments each may have.

All work on `i32`. `V` is a 1-D view of unknown size and layout, `W` a buffer of 16, `T` one of 6 by
6, `D` a 2-D view. Offsets are arguments; strides are constants of the kernel where regions are to
be exact.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

V = "memref<?xi32, strided<[?], offset: ?>>"
D = "memref<?x?xi32, strided<[?, ?], offset: ?>>"
W = "memref<16xi32>"
T = "memref<6x6xi32>"
TYPES = {"V": V, "D": D, "W": W, "T": T}

Range = tuple[int, int]
Sizes = tuple[int, ...]


@dataclass(frozen=True)
class Shape:
    """Sizes of a launch, and for each number that the kernel takes the least and most it may be."""

    grid: tuple[int, int]
    block: tuple[int, int]
    numbers: tuple[Range, ...]


@dataclass(frozen=True)
class KernelSpec:
    """
    A kernel: the kinds of its memrefs, then `index` numbers. `shape` chooses a launch for memrefs
    of some sizes (None: there is none). `exact`: its regions can be told from constants.
    """

    name: str
    memrefs: str
    shape: Callable[[random.Random, Sequence[Sizes]], Shape | None]
    exact: bool = True


def _lines(*strides: int, least: Sequence[int] = ()) -> Callable[..., Shape | None]:
    """Thread t touches element `offset + stride * t` of each memref."""

    def shape(r: random.Random, sizes: Sequence[Sizes]) -> Shape | None:
        most = min((s[0] - 1) // abs(k) + 1 for s, k in zip(sizes, strides, strict=True))
        if most < 1:
            return None
        n = r.randint(1, min(most, 8))
        numbers: list[Range] = []
        for (size,), stride in zip(sizes, strides, strict=True):
            reach = (n - 1) * abs(stride)
            numbers.append((reach if stride < 0 else 0, size - 1 - (0 if stride < 0 else reach)))
        return Shape((1, 1), (n, 1), tuple(numbers))

    return shape


def _one_offset(stride: int, count: int = 1) -> Callable[..., Shape | None]:
    """Elements `offset + stride * t + (0 .. count - 1)` of all memrefs."""

    def shape(r: random.Random, sizes: Sequence[Sizes]) -> Shape | None:
        size = min(s[0] for s in sizes)
        most = (size - count) // stride + 1
        if size < count:
            return None
        n = r.randint(1, min(most, 8))
        return Shape((1, 1), (n, 1), ((0, size - count - (n - 1) * stride),))

    return shape


def _guarded(r: random.Random, sizes: Sequence[Sizes]) -> Shape | None:
    size = min(s[0] for s in sizes)
    return Shape((1, 1), (r.randint(1, 8), 1), ((0, size - 1), (0, size)))


def _blocks(r: random.Random, sizes: Sequence[Sizes]) -> Shape | None:
    size = min(s[0] for s in sizes)
    if size < 4:
        return None
    n = r.randint(1, min(size // 4, 3))
    return Shape((n, 1), (4, 1), ((0, size - 4 * n),))


def _tiles(*turned: bool) -> Callable[..., Shape | None]:
    """Tiles of the same size of 2-D memrefs, some with their sides exchanged."""

    def shape(r: random.Random, sizes: Sequence[Sizes]) -> Shape | None:
        sides = [s[::-1] if t else s for s, t in zip(sizes, turned, strict=True)]
        rows, columns = (min(s[d] for s in sides) for d in (0, 1))
        if rows < 1 or columns < 1:
            return None
        h, w = r.randint(1, min(rows, 4)), r.randint(1, min(columns, 4))
        numbers: list[Range] = []
        for size, t in zip(sizes, turned, strict=True):
            tile = (w, h) if t else (h, w)
            numbers += [(0, size[d] - tile[d]) for d in (0, 1)]
        return Shape((1, 1), (w, h), tuple(numbers))

    return shape


def _rows(r: random.Random, sizes: Sequence[Sizes]) -> Shape | None:
    if sizes[1][0] < 1:
        return None
    n = r.randint(1, min(6, sizes[1][0]))
    return Shape((1, 1), (n, 1), ((0, 6 - n), (0, 3), (0, sizes[1][0] - n)))


def _diagonal(r: random.Random, sizes: Sequence[Sizes]) -> Shape | None:
    if sizes[1][0] < 1:
        return None
    n = r.randint(1, min(6, sizes[1][0]))
    return Shape((1, 1), (n, 1), ((0, sizes[1][0] - n),))


def _gather(r: random.Random, sizes: Sequence[Sizes]) -> Shape | None:
    if sizes[1][0] < 8:
        return None
    n = r.randint(1, min(sizes[0][0], sizes[2][0], 8)) if min(sizes[0][0], sizes[2][0]) else 0
    return Shape((1, 1), (n, 1), ()) if n else None


def _strided(r: random.Random, sizes: Sequence[Sizes]) -> Shape | None:
    found = _lines(*(strides := [r.randint(1, 3) for _ in sizes]))(r, sizes)
    if found is None:
        return None
    numbers = [n for o, s in zip(found.numbers, strides, strict=True) for n in (o, (s, s))]
    return Shape(found.grid, found.block, tuple(numbers))


def _constant(r: random.Random, sizes: Sequence[Sizes]) -> Shape | None:
    return Shape((1, 1), (1, 1), ())


KERNELS = (
    KernelSpec("fill", "V", _lines(1)),
    KernelSpec("fill2", "V", _lines(2)),
    KernelSpec("fill_w", "W", _lines(1)),
    KernelSpec("update", "V", _lines(1)),
    KernelSpec("update3", "W", _lines(3)),
    KernelSpec("copy", "VV", _lines(1, 1)),
    KernelSpec("copy_w", "WW", _lines(1, 1)),
    KernelSpec("copy12", "VV", _lines(1, 2)),
    KernelSpec("copy31", "WV", _lines(3, 1)),
    KernelSpec("reverse", "VV", _lines(1, -1)),
    KernelSpec("add", "VVV", _lines(1, 1, 1)),
    KernelSpec("shift", "VV", _one_offset(2)),
    KernelSpec("halve", "VV", _one_offset(1)),
    KernelSpec("clamp", "VV", _one_offset(1)),
    KernelSpec("narrow", "WW", _one_offset(1)),
    KernelSpec("swap", "V", _one_offset(2, 2)),
    KernelSpec("guarded", "VV", _guarded),
    KernelSpec("blocks", "VV", _blocks),
    KernelSpec("free_blocks", "VV", _blocks, exact=False),
    KernelSpec("tile", "TT", _tiles(False, False)),
    KernelSpec("transpose", "TT", _tiles(False, True)),
    KernelSpec("tile_d", "DD", _tiles(False, False)),
    KernelSpec("tile_dt", "DT", _tiles(False, False)),
    KernelSpec("rows", "TV", _rows),
    KernelSpec("diagonal", "TV", _diagonal),
    KernelSpec("loop", "WT", _constant),
    KernelSpec("atomic", "V", _one_offset(1)),
    KernelSpec("gather", "VVV", _gather, exact=False),
    KernelSpec("strided", "VV", _strided, exact=False),
)


def _kernel(name: str, memrefs: str, numbers: str, body: str, more: str = "") -> str:
    parameters = [f"%{x}: {TYPES[k]}" for x, k in zip("abc", memrefs, strict=False)]
    parameters += [f"%{n}: index" for n in numbers.split()]
    ids = "\n".join(f"    %t{d} = gpu.thread_id {d}" for d in "xy")
    for x, k in zip("abc", memrefs, strict=False):
        body = body.replace(f"%{x}[", f"%{x}@[").replace(f"@{x}", TYPES[k])
    lines = "\n".join(f"    {line.strip()}" for line in body.replace("@[", "[").splitlines())
    return f"""  gpu.func @{name}({", ".join(parameters)}) kernel {more}{{
{_CONSTANTS}
{ids}
{lines}
    gpu.return
  }}"""


_CONSTANTS = "\n".join(
    [f"    %c{n} = arith.constant {n} : index" for n in (0, 1, 2, 3, 5, 8)]
    + [f"    %k{n} = arith.constant {n} : i32" for n in (1, 3, 7)]
)


def _mixed(value: str, result: str = "%r") -> str:
    """A value that tells its history: `result = 3 * value + 1 + t`."""
    return f"""%m0 = arith.muli {value}, %k3 : i32
               %m1 = arith.addi %m0, %k1 : i32
               %m2 = arith.index_cast %tx : index to i32
               {result} = arith.addi %m1, %m2 : i32"""


def _place(name: str, offset: str, stride: int) -> str:
    """`name = offset + stride * t`"""
    if stride < 0:
        return f"""%{name}s = arith.muli %tx, %c{-stride} : index
                   %{name} = arith.subi {offset}, %{name}s : index"""
    return f"""%{name}s = arith.muli %tx, %c{stride} : index
               %{name} = arith.addi %{name}s, {offset} : index"""


def _fill(stride: int) -> str:
    return f"""{_place("p", "%o", stride)}
               %v = arith.index_cast %o : index to i32
               {_mixed("%v")}
               memref.store %r, %a[%p] : @a"""


def _update(stride: int) -> str:
    return f"""{_place("p", "%o", stride)}
               %v = memref.load %a[%p] : @a
               {_mixed("%v")}
               memref.store %r, %a[%p] : @a"""


def _copy(source: str, target: str, before: str = "") -> str:
    return f"""{before}
               %v = memref.load %a[{source}] : @a
               {_mixed("%v")}
               memref.store %r, %b[{target}] : @b"""


def _line_copy(left: int, right: int) -> str:
    return _copy("%p", "%q", f"{_place('p', '%o', left)}\n{_place('q', '%u', right)}")


def _tile(turned: bool) -> str:
    target = "%y1, %x1" if turned else "%x1, %y1"
    return _copy(
        "%x0, %y0",
        target,
        f"""%x0 = arith.addi %r0, %ty : index
            %y0 = arith.addi %s0, %tx : index
            %x1 = arith.addi {"%s1" if turned else "%r1"}, %ty : index
            %y1 = arith.addi {"%r1" if turned else "%s1"}, %tx : index""",
    )


def _applied(map: str) -> str:
    return _copy(
        "%p",
        "%q",
        f"""%q = arith.addi %tx, %o : index
            %p = affine.apply affine_map<(d0) -> ({map})>(%q)""",
    )


_SWAP = f"""{_place("p", "%o", 2)}
    %q = arith.addi %p, %c1 : index
    %v = memref.load %a[%p] : @a
    %w = memref.load %a[%q] : @a
    %lo = arith.minsi %v, %w : i32
    %hi = arith.maxsi %v, %w : i32
    memref.store %lo, %a[%p] : @a
    memref.store %hi, %a[%q] : @a"""

_ADD = f"""{_place("p", "%o", 1)}
    {_place("q", "%u", 1)}
    {_place("s", "%w", 1)}
    %x = memref.load %a[%p] : @a
    %y = memref.load %b[%q] : @b
    %v = arith.addi %x, %y : i32
    {_mixed("%v")}
    memref.store %r, %c[%s] : @c"""

_ROWS = f"""%row = arith.addi %tx, %r0 : index
    %end = arith.addi %s0, %c3 : index
    %v = scf.for %k = %s0 to %end step %c1 iter_args(%sum = %k1) -> (i32) {{
    %x = memref.load %a[%row, %k] : @a
    %y = arith.addi %sum, %x : i32
    scf.yield %y : i32
    }}
    {_mixed("%v")}
    {_place("q", "%o", 1)}
    memref.store %r, %b[%q] : @b"""

_LOOP = """affine.for %i = 1 to 5 {
    %v = affine.load %a[%i * 2 + 1] : @a
    affine.for %j = 0 to 2 {
    affine.store %v, %b[%i, %j * 3 + 1] : @b
    }
    }"""

_GUARDED = f"""{_place("p", "%o", 1)}
    %below = arith.cmpi slt, %p, %n : index
    scf.if %below {{
    {_copy("%p", "%p")}
    }}"""

_BLOCKS = """%b0 = gpu.block_id x
    %b1 = gpu.block_dim x
    %b2 = arith.muli %b0, %b1 : index
    %b3 = arith.addi %b2, %tx : index
    %p = arith.addi %b3, %o : index"""

_NARROW = """%i0 = arith.index_cast %tx : index to i32
    %i1 = arith.index_cast %o : index to i32
    %i2 = arith.addi %i0, %i1 : i32
    %i3 = arith.shrsi %i2, %k1 : i32
    %q = arith.index_cast %i2 : i32 to index
    %p = arith.index_cast %i3 : i32 to index"""

_SHIFT = """%p = arith.addi %tx, %o : index
    %q0 = arith.shli %tx, %c1 : index
    %q = arith.addi %q0, %o : index"""

_GATHER = f"""%i0 = memref.load %a[%tx] : @a
    %i1 = arith.andi %i0, %k7 : i32
    %i2 = arith.index_cast %i1 : i32 to index
    %v = memref.load %b[%i2] : @b
    {_mixed("%v")}
    memref.store %r, %c[%tx] : @c"""

_STRIDED = _copy(
    "%p",
    "%q",
    """%p0 = arith.muli %tx, %s0 : index
    %p = arith.addi %p0, %o : index
    %q0 = arith.muli %tx, %s1 : index
    %q = arith.addi %q0, %u : index""",
)

_ATOMIC = """%v = arith.index_cast %tx : index to i32
    %w = memref.atomic_rmw addi %v, %a[%o] : (i32, @a) -> i32"""

_FOUR = "attributes {known_block_size = array<i32: 4, 1, 1>} "

_TEXTS = (
    _kernel("fill", "V", "o", _fill(1)),
    _kernel("fill2", "V", "o", _fill(2)),
    _kernel("fill_w", "W", "o", _fill(1)),
    _kernel("update", "V", "o", _update(1)),
    _kernel("update3", "W", "o", _update(3)),
    _kernel("copy", "VV", "o u", _line_copy(1, 1)),
    _kernel("copy_w", "WW", "o u", _line_copy(1, 1)),
    _kernel("copy12", "VV", "o u", _line_copy(1, 2)),
    _kernel("copy31", "WV", "o u", _line_copy(3, 1)),
    _kernel("reverse", "VV", "o u", _line_copy(1, -1)),
    _kernel("add", "VVV", "o u w", _ADD),
    _kernel("shift", "VV", "o", _copy("%p", "%q", _SHIFT)),
    _kernel("halve", "VV", "o", _applied("d0 floordiv 2")),
    _kernel(
        "clamp",
        "VV",
        "o",
        _copy("%p", "%q", f"{_place('q', '%o', 1)}\n%p = arith.minsi %q, %c5 : index"),
    ),
    _kernel("narrow", "WW", "o", _copy("%p", "%q", _NARROW)),
    _kernel("swap", "V", "o", _SWAP),
    _kernel("guarded", "VV", "o n", _GUARDED),
    _kernel("blocks", "VV", "o", _copy("%p", "%p", _BLOCKS), _FOUR),
    _kernel("free_blocks", "VV", "o", _copy("%p", "%p", _BLOCKS)),
    _kernel("tile", "TT", "r0 s0 r1 s1", _tile(False)),
    _kernel("transpose", "TT", "r0 s0 r1 s1", _tile(True)),
    _kernel("tile_d", "DD", "r0 s0 r1 s1", _tile(False)),
    _kernel("tile_dt", "DT", "r0 s0 r1 s1", _tile(False)),
    _kernel("rows", "TV", "r0 s0 o", _ROWS),
    _kernel("diagonal", "TV", "o", _copy("%tx, %tx", "%q", _place("q", "%o", 1))),
    _kernel("loop", "WT", "", _LOOP),
    _kernel("atomic", "V", "o", _ATOMIC),
    _kernel("gather", "VVV", "", _GATHER),
    _kernel("strided", "VV", "o s0 u s1", _STRIDED),
)

LIBRARY = "gpu.module @k {\n" + "\n".join(_TEXTS) + "\n}"
