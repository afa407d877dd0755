"""Programs of many launches, one for each shape that a token graph can have."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

MATRIX = "memref<1024x1024xf32>"
SMALL = "memref<8x8xf32>"


def _kernel(name: str, tiles: int, type: str, stride: int = 1) -> str:
    """A kernel on `tiles` tiles of 8 x 8: the first becomes the sum of all."""
    places = [f"%r{t}: index, %s{t}: index" for t in range(tiles)]
    lines = [
        f"gpu.func @{name}({', '.join([f'%a{t}: {type}' for t in range(tiles)] + places)}) kernel",
        "    attributes {known_block_size = array<i32: 8, 8, 1>} {",
        "%x = gpu.thread_id x",
        "%y = gpu.thread_id y",
        f"%k = arith.constant {stride} : index",
        "%z = arith.muli %y, %k : index",
    ]
    for t in range(tiles):
        lines += [
            f"%i{t} = arith.addi %x, %r{t} : index",
            f"%j{t} = arith.addi %z, %s{t} : index",
            f"%v{t} = memref.load %a{t}[%i{t}, %j{t}] : {type}",
        ]
    total = "%v0"
    for t in range(1, tiles):
        lines.append(f"%t{t} = arith.addf {total}, %v{t} : f32")
        total = f"%t{t}"
    return "\n".join([*lines, f"memref.store {total}, %a0[%i0, %j0] : {type}", "gpu.return", "}"])


KERNELS = "\n".join(
    [
        "gpu.module @k {",
        *(_kernel(f"tile{n}", n, MATRIX) for n in (1, 2, 3)),
        _kernel("odd", 1, MATRIX, stride=2),
        _kernel("small", 2, SMALL),
        "}",
    ]
)


def launch(*tiles: tuple[int, int], kernel: str = "", buffers: tuple[str, ...] = ()) -> str:
    """A launch on tiles (row, column) of %a: the first becomes the sum of all."""
    type = SMALL if kernel == "small" else MATRIX
    buffers = buffers or ("%a",) * len(tiles)
    arguments = [f"{b} : {type}" for b in buffers]
    arguments += [f"%c{n} : index" for tile in tiles for n in tile]
    return (
        f"gpu.launch_func @k::@{kernel or f'tile{len(tiles)}'} blocks in (%one, %one, %one) "
        f"threads in (%eight, %eight, %one) args({', '.join(arguments)})"
    )


def _module(body: Iterator[str], arguments: str = "%p: i1, %n: index") -> str:
    lines = ["module attributes {gpu.container_module} {", KERNELS, f"func.func @f({arguments}) {{"]
    lines += [f"%c{i} = arith.constant {8 * i} : index" for i in range(128)]
    lines += ["%one = arith.constant 1 : index", "%eight = arith.constant 8 : index"]
    lines += [f"%a = memref.alloc() : {MATRIX}"]
    return "\n".join([*lines, *body, "return", "}", "}"])


def chain(n: int) -> Iterator[str]:
    """Every launch on one tile."""
    yield from (launch((0, 0)) for _ in range(n))


def fan(n: int) -> Iterator[str]:
    """One writer, n readers, one writer behind all of them, again and again."""
    wide = 1000
    for first in range(0, n, wide):
        yield launch((127, 127))
        for i in range(first, min(first + wide, n)):
            yield launch((i // 127 % 127, i % 127), (127, 127))
    yield launch((127, 127))


def grid(n: int) -> Iterator[str]:
    """Every tile in turn."""
    yield from (launch((i // 128 % 128, i % 128)) for i in range(n))


def scattered(n: int) -> Iterator[str]:
    """Tiles at random."""
    r = random.Random(n)
    yield from (launch((r.randrange(128), r.randrange(128))) for _ in range(n))


def stencil(n: int) -> Iterator[str]:
    """Sweeps over a row of 100 tiles, each with its neighbour."""
    yield from (
        launch((i // 100 % 2, i % 100), ((i // 100 + 1) % 2, i % 100 + 1)) for i in range(n)
    )


def strided(n: int) -> Iterator[str]:
    """Odd and even columns of tiles in turn."""
    for i in range(n):
        tile = f"%o{i}"
        yield f"%o{i} = arith.constant {16 * (i // 2 % 60) + i % 2} : index"
        call = launch((i // 2 % 100, 0), kernel="odd")
        yield call.replace("%c0 : index)", f"{tile} : index)")


def cholesky(n: int) -> Iterator[str]:
    """Tiled Cholesky of as many tiles as make n launches."""
    side = next(t for t in range(1, 200) if t * (t + 1) * (t + 2) // 6 >= n)
    for k in range(side):
        yield launch((k, k))
        yield from (launch((i, k), (k, k)) for i in range(k + 1, side))
        for i in range(k + 1, side):
            yield launch((i, i), (i, k))
            yield from (launch((i, j), (i, k), (j, k)) for j in range(k + 1, i))


def lu(n: int) -> Iterator[str]:
    """Tiled LU of as many tiles as make n launches."""
    side = next(t for t in range(1, 200) if t * (t + 1) * (2 * t + 1) // 6 >= n)
    for k in range(side):
        yield launch((k, k))
        for i in range(k + 1, side):
            yield launch((k, i), (k, k))
            yield launch((i, k), (k, k))
        for i in range(k + 1, side):
            yield from (launch((i, j), (i, k), (k, j)) for j in range(k + 1, side))


def buffers(n: int) -> Iterator[str]:
    """Allocated on the GPU, used twice and freed, ten buffers at a time."""
    for i in range(0, n // 4, 10):
        several = range(i, min(i + 10, n // 4))
        yield from (f"%b{j} = gpu.alloc() : {SMALL}" for j in several)
        for j in (*several, *several):
            used = (f"%b{j}", f"%b{max(i, j - 1)}")
            yield launch((0, 0), (0, 0), kernel="small", buffers=used)
        yield from (f"gpu.dealloc %b{j} : {SMALL}" for j in several)


def host(n: int) -> Iterator[str]:
    """Ten launches, then the host reads an element of one."""
    for i in range(n):
        yield launch((i // 100 % 100, i % 100))
        if i % 10 == 9:
            yield f"%h{i} = memref.load %a[%c{i // 100 % 100}, %c{i % 100}] : {MATRIX}"


def executes(n: int) -> Iterator[str]:
    """`async.execute` of ten launches each."""
    for i in range(0, n, 10):
        yield f"%x{i} = async.execute {{"
        yield from (launch((i // 100 % 100, j % 100)) for j in range(i, min(i + 10, n)))
        yield "async.yield\n}"


def branches(n: int) -> Iterator[str]:
    """Conditionals of ten launches in each of two branches."""
    for i in range(0, n, 20):
        yield "scf.if %p {"
        yield from (launch((i // 20 % 100, j)) for j in range(10))
        yield "} else {"
        yield from (launch((i // 20 % 100, j)) for j in range(5, 15))
        yield "}"


def loops(n: int) -> Iterator[str]:
    """Loops of ten launches, two deep."""
    for i in range(0, n, 10):
        yield f"scf.for %i{i} = %c0 to %n step %one {{ scf.for %j{i} = %c0 to %n step %one {{"
        yield from (launch((i // 10 % 100, j % 5)) for j in range(10))
        yield "}}"


def loop(n: int) -> Iterator[str]:
    """One loop of n launches."""
    yield "scf.for %i = %c0 to %n step %one {"
    yield from grid(n)
    yield "}"


def blocks(n: int) -> Iterator[str]:
    """Blocks of ten launches, of which every second may be left out."""
    for i in range(0, n, 10):
        last = i // 10
        yield f"cf.cond_br %p, ^run{last}, ^skip{last}" if last % 2 else f"cf.br ^run{last}"
        yield f"^run{last}:"
        yield from (launch((last % 100, j % 5)) for j in range(10))
        if last % 2:
            yield f"cf.br ^skip{last}"
            yield f"^skip{last}:"


def repeated_blocks(n: int) -> Iterator[str]:
    """The same in a loop of blocks."""
    yield "cf.br ^again\n^again:"
    yield from blocks(n)
    yield "cf.cond_br %p, ^again, ^end\n^end:"


def arguments(n: int) -> str:
    """A buffer a launch, each an argument of the function."""
    lines = [
        launch((0, 0), (0, 0), kernel="small", buffers=(f"%b{i}", f"%b{max(i - 1, 0)}"))
        for i in range(n)
    ]
    types = ", ".join(f"%b{i}: {SMALL} {{llvm.noalias}}" for i in range(n))
    return _module(iter(lines), types)


def _shape(body: Callable[[int], Iterator[str]]) -> Callable[[int], str]:
    return lambda n: _module(body(n))


SHAPES: dict[str, Callable[[int], str]] = {
    body.__name__: _shape(body)
    for body in (
        chain,
        fan,
        grid,
        scattered,
        stencil,
        strided,
        cholesky,
        lu,
        buffers,
        host,
        executes,
        branches,
        loops,
        loop,
        blocks,
        repeated_blocks,
    )
} | {"arguments": arguments}
"""The text of a module with about n launches."""
