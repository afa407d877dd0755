"""
Tokens of random programs whose launches touch boxes, stripes and tiles of 2-D buffers, against an
oracle that enumerates the elements: no edge missing, none beyond the transitive reduction.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import pytest

import opar
from opar.dialects import gpu

SIZE = 12


@dataclass(frozen=True)
class Stripe:
    """Indices start, start + step, ... of one dimension, `count` of them."""

    start: int
    step: int
    count: int

    @property
    def elements(self) -> set[int]:
        return {self.start + i * self.step for i in range(self.count)}

    def text(self, variable: str) -> str:
        scaled = variable if self.step == 1 else f"{variable} * {self.step}"
        return f"{scaled} + {self.start}" if self.start else scaled


@dataclass(frozen=True)
class Nest:
    """A nest that reads `source` and writes `target`, each a buffer and two stripes."""

    source: tuple[int, Stripe, Stripe]
    target: tuple[int, Stripe, Stripe]

    @property
    def reads(self) -> set[tuple[int, int, int]]:
        return elements(*self.source)

    @property
    def writes(self) -> set[tuple[int, int, int]]:
        return elements(*self.target)


def elements(buffer: int, rows: Stripe, columns: Stripe) -> set[tuple[int, int, int]]:
    return {(buffer, r, c) for r in rows.elements for c in columns.elements}


def stripe(generator: random.Random, count: int) -> Stripe:
    step = generator.choice((1, 1, 1, 2, 3))
    while (count - 1) * step >= SIZE:
        step -= 1
    return Stripe(generator.randint(0, SIZE - 1 - (count - 1) * step), step, count)


def make(generator: random.Random) -> list[Nest]:
    buffers = generator.randint(1, 3)
    nests = []
    for _ in range(generator.randint(1, 12)):
        counts = generator.randint(1, SIZE), generator.randint(1, SIZE)
        sides = [
            (generator.randrange(buffers), *(stripe(generator, n) for n in counts))
            for _ in range(2)
        ]
        nests.append(Nest(sides[0], sides[1]))
    return nests


def program(nests: list[Nest]) -> str:
    type = f"memref<{SIZE}x{SIZE}xf32>"
    buffers = sorted({n.source[0] for n in nests} | {n.target[0] for n in nests})
    lines = ["func.func @f() {"]
    lines += [f"  %b{b} = memref.alloc() : {type}" for b in buffers]
    for nest in nests:
        (source, a, b), (target, c, d) = nest.source, nest.target
        lines += [
            f"  affine.parallel (%i, %j) = (0, 0) to ({a.count}, {b.count}) {{",
            f"    %v = affine.load %b{source}[{a.text('%i')}, {b.text('%j')}] : {type}",
            f"    affine.store %v, %b{target}[{c.text('%i')}, {d.text('%j')}] : {type}",
            "  }",
        ]
    return "\n".join([*lines, "  return", "}"])


def expected_edges(nests: list[Nest]) -> list[set[int]]:
    """The transitive reduction of the conflicts, by enumeration."""
    before: list[set[int]] = []
    edges: list[set[int]] = []
    for i, nest in enumerate(nests):
        conflicts = {
            j
            for j, other in enumerate(nests[:i])
            if nest.writes & (other.writes | other.reads) or nest.reads & other.writes
        }
        implied = set().union(*(before[j] for j in conflicts))
        edges.append(conflicts - implied)
        before.append(conflicts | implied)
    return edges


def found_edges(text: str, target: str) -> list[set[int]]:
    module = opar.parse_module(text)
    opar.run_passes(
        module,
        f"convert-affine-parallel-to-gpu{{target={target}}},gpu-kernel-outlining,gpu-async-dataflow",
    )
    launches = [op for op in module.walk() if isinstance(op, gpu.LaunchFuncOp)]
    number = {op.async_token: i for i, op in enumerate(launches)}
    return [{number[t] for t in op.async_dependencies} for op in launches]


@pytest.mark.parametrize("target", ["cuda", "cpu"])
def test_edges_are_those_of_the_elements(target: str) -> None:
    start = random.randrange(1 << 30)
    for seed in range(start, start + 60):
        nests = make(random.Random(seed))
        text = program(nests)
        assert found_edges(text, target) == expected_edges(nests), f"seed {seed}\n{text}"


def launches_of(body: str, signature: str = "") -> list[set[int]]:
    return found_edges(f"func.func @f({signature}) {{\n{body}\n  return\n}}", "cuda")


def copy(buffer: str, bounds: str, source: str, target: str, type: str) -> str:
    return f"""
  affine.parallel (%i) = {bounds} {{
    %v = affine.load {buffer}[{source}] : {type}
    affine.store %v, {buffer}[{target}] : {type}
  }}"""


def test_halves_of_a_size_known_at_run_time() -> None:
    type = "memref<?xf32>"
    head = f"""
  %p = memref.alloc(%n) : {type}
  %h = affine.apply affine_map<(d0) -> (d0 floordiv 2)>(%n)"""
    low = copy("%p", "(0) to (%h)", "%i", "%i", type)
    high = copy("%p", "(%h) to (%n)", "%i", "%i", type)
    assert launches_of(head + low + high, "%n: index") == [set(), set()]
    over = copy("%p", "(0) to (%h + 1)", "%i", "%i", type)
    assert launches_of(head + over + high, "%n: index") == [set(), {0}]


def test_odd_and_even_elements() -> None:
    type = "memref<100xf32>"
    head = f"  %p = memref.alloc() : {type}"
    even = copy("%p", "(0) to (50)", "%i * 2", "%i * 2", type)
    odd = copy("%p", "(0) to (50)", "%i * 2 + 1", "%i * 2 + 1", type)
    all = copy("%p", "(0) to (100)", "%i", "%i", type)
    assert launches_of(head + even + odd + all) == [set(), set(), {0, 1}]


def test_views_are_elements_of_their_buffer() -> None:
    view = "memref<4x8xf32, strided<[8, 1], offset: {}>>"
    lines = ["  %p = memref.alloc() : memref<8x8xf32>"]
    for name, offset in (("%u", 0), ("%w", 4)):
        type = view.format(offset * 8)
        lines.append(
            f"  {name} = memref.subview %p[{offset}, 0] [4, 8] [1, 1] : memref<8x8xf32> to {type}"
        )
    for name, offset in (("%u", 0), ("%w", 4), ("%u", 0)):
        type = view.format(offset * 8)
        lines.append(f"""
  affine.parallel (%i, %j) = (0, 0) to (4, 8) {{
    %v = affine.load {name}[%i, %j] : {type}
    affine.store %v, {name}[%i, %j] : {type}
  }}""")
    assert launches_of("\n".join(lines)) == [set(), set(), {0}]


def test_a_guard_narrows() -> None:
    """The condition says which elements; the other branch gets its opposite."""
    type = "memref<64xf32>"
    branch = f"""
  affine.parallel (%i) = (0) to (64) {{
    %c = arith.constant 40 : index
    %below = arith.cmpi slt, %i, %c : index
    scf.if %below {{
      %v = memref.load %p[%i] : {type}
      memref.store %v, %p[%i] : {type}
    }}
  }}"""
    head = f"  %p = memref.alloc() : {type}"
    rest = copy("%p", "(40) to (64)", "%i", "%i", type)
    over = copy("%p", "(39) to (64)", "%i", "%i", type)
    assert launches_of(head + branch + rest) == [set(), set()]
    assert launches_of(head + branch + over) == [set(), {0}]


def test_an_index_from_memory_is_any_element() -> None:
    type = "memref<64xf32>"
    gather = f"""
  affine.parallel (%i) = (0) to (8) {{
    %k = memref.load %index[%i] : memref<64xindex>
    %v = memref.load %p[%k] : {type}
    memref.store %v, %q[%i] : {type}
  }}"""
    head = f"""
  %p = memref.alloc() : {type}
  %q = memref.alloc() : {type}
  %index = memref.alloc() : memref<64xindex>"""
    write = copy("%p", "(63) to (64)", "%i", "%i", type)
    other = copy("%q", "(8) to (16)", "%i", "%i", type)
    assert launches_of(head + write + gather + other) == [set(), {0}, set()]


def test_a_cast_does_not_hide_the_size() -> None:
    line, any_line = (
        "memref<3xf32, strided<[1], offset: {}>>",
        "memref<?xf32, strided<[?], offset: ?>>",
    )
    text = "  %p = memref.alloc() : memref<16xf32>\n  %z = arith.constant 0.0 : f32\n"
    for name, offset in (("%u", 1), ("%w", 4), ("%x", 6)):
        type = line.format(offset)
        text += f"  {name}s = memref.subview %p[{offset}] [3] [1] : memref<16xf32> to {type}\n"
        text += f"  {name} = memref.cast {name}s : {type} to {any_line}\n"
        text += f"  gpu.memset {name}, %z : {any_line}, f32\n"
    module = opar.parse_module(f"func.func @f() {{\n{text}  return\n}}")
    opar.run_passes(module, "gpu-async-dataflow")
    sets = [op for op in module.walk() if isinstance(op, gpu.MemsetOp)]
    found = [[sets.index(t.owner) for t in op.async_dependencies] for op in sets]  # pyright: ignore
    assert found == [[], [], [1]]
