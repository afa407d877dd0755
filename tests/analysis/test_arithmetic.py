"""Index arithmetic of any width: a kernel's region holds each element that the kernel touches."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

import islpy as isl
import pytest

import opar
from opar.analysis.accesses import AccessAnalysis
from opar.dialects import gpu

THREADS, SIZE = 40, 64

KERNEL = """
module attributes {{gpu.container_module}} {{
gpu.module @m {{
  gpu.func @k(%a: memref<{size}xf32>) kernel {{
    %x = arith.constant 1.0 : f32
    {body}
    gpu.return
  }}
}}
func.func @f(%a: memref<{size}xf32>) {{
  %c1 = arith.constant 1 : index
  %n = arith.constant {threads} : index
  gpu.launch_func @m::@k blocks in (%c1, %c1, %c1) threads in (%n, %c1, %c1)
    args(%a : memref<{size}xf32>)
  return
}}
}}
"""


def region(body: str) -> set[int] | None:
    """The elements that a kernel may write, as the analysis says; None for any."""
    module = opar.parse_module(KERNEL.format(size=SIZE, threads=THREADS, body=body))
    (launch,) = (op for op in module.walk() if isinstance(op, gpu.LaunchFuncOp))
    found: set[int] = set()
    for access in AccessAnalysis().accesses(launch):
        if access.region.is_whole:
            return None
        points: list[isl.Point] = []
        access.region.integer_set.foreach_point(points.append)
        found |= {
            int(p.get_coordinate_val(isl.dim_type.set, 0).to_python())  # pyright: ignore
            for p in points
        }
    return found


class Undefined(Exception):
    """The result is poison, or a sum overflows, which the analysis takes not to happen."""


def signed(value: int, width: int) -> int:
    limit = 1 << (width - 1)
    return (value + limit) % (2 * limit) - limit


def quotient(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


SIGNED: dict[str, Callable[[int, int], int]] = {
    "addi": lambda a, b: a + b,
    "subi": lambda a, b: a - b,
    "muli": lambda a, b: a * b,
    "shli": lambda a, b: a << b,
    "shrsi": lambda a, b: a >> b,
    "divsi": quotient,
    "remsi": lambda a, b: a - b * quotient(a, b),
    "floordivsi": lambda a, b: a // b,
    "ceildivsi": lambda a, b: -(-a // b),
    "minsi": min,
    "maxsi": max,
    "andi": lambda a, b: a & b,
    "xori": lambda a, b: a ^ b,
}
UNSIGNED: dict[str, Callable[[int, int], int]] = {
    "shrui": lambda a, b: a >> b,
    "divui": lambda a, b: a // b,
    "remui": lambda a, b: a % b,
    "ceildivui": lambda a, b: -(-a // b),
    "minui": min,
    "maxui": max,
}
COMPARED: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b,
    "slt": lambda a, b: a < b,
    "sge": lambda a, b: a >= b,
    "ult": lambda a, b: a < b,
    "uge": lambda a, b: a >= b,
}


@dataclass
class Value:
    """A value of a kernel: its name, type, and number in each thread."""

    name: str
    type: str
    numbers: list[int]

    @property
    def width(self) -> int:
        return 64 if self.type == "index" else int(self.type[1:])


@dataclass
class Kernel:
    """Random arithmetic on the thread's id."""

    generator: random.Random
    lines: list[str] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)

    def add(self, text: str, type: str, numbers: list[int]) -> Value:
        value = Value(f"%v{len(self.values)}", type, numbers)
        self.lines.append(f"{value.name} = {text}")
        self.values.append(value)
        return value

    def constant(self, number: int, type: str) -> Value:
        return self.add(f"arith.constant {number} : {type}", type, [number] * THREADS)

    def grow(self) -> None:
        a = self.generator.choice(self.values)
        kind = self.generator.random()
        if kind < 0.3:
            self.cast(a)
        elif kind < 0.4:
            self.select(a)
        else:
            self.binary(a)

    def binary(self, a: Value) -> None:
        name = self.generator.choice([*SIGNED, *UNSIGNED])
        number = self.generator.choice((1, 2, 3, 5, 7, 8, 15, 31, 100, -1, -3))
        b = self.constant(signed(number, a.width), a.type)
        if self.generator.random() < 0.2:
            b = self.generator.choice([v for v in self.values if v.type == a.type])
        numbers = [apply(name, x, y, a.width) for x, y in zip(a.numbers, b.numbers, strict=True)]
        self.add(f"arith.{name} {a.name}, {b.name} : {a.type}", a.type, numbers)

    def cast(self, a: Value) -> None:
        target = self.generator.choice([t for t in ("i8", "i16", "i32", "i64") if t != a.type])
        if a.type == "index" or self.generator.random() < 0.4:
            target = target if a.type == "index" else "index"
            name = self.generator.choice(("index_cast", "index_castui"))
            keeps_sign = name == "index_cast"
        elif int(target[1:]) < a.width:
            name, keeps_sign = "trunci", True
        else:
            name = self.generator.choice(("extsi", "extui"))
            keeps_sign = name == "extsi"
        width = 64 if target == "index" else int(target[1:])
        sources = a.numbers if keeps_sign else [n % (1 << a.width) for n in a.numbers]
        numbers = [signed(n, width) for n in sources]
        self.add(f"arith.{name} {a.name} : {a.type} to {target}", target, numbers)

    def select(self, a: Value) -> None:
        same = [v for v in self.values if v.type == a.type]
        b, c = self.generator.choice(same), self.generator.choice(same)
        predicate = self.generator.choice(list(COMPARED))
        mask = -1 if not predicate.startswith("u") else (1 << a.width) - 1
        holds = [
            COMPARED[predicate](x & mask, y & mask)
            for x, y in zip(a.numbers, b.numbers, strict=True)
        ]
        condition = f"%c{len(self.lines)}"
        self.lines.append(f"{condition} = arith.cmpi {predicate}, {a.name}, {b.name} : {a.type}")
        chosen = zip(holds, a.numbers, c.numbers, strict=True)
        numbers = [x if h else y for h, x, y in chosen]
        self.add(f"arith.select {condition}, {a.name}, {c.name} : {a.type}", a.type, numbers)


def apply(name: str, a: int, b: int, width: int) -> int:
    if name in UNSIGNED:
        a, b = a % (1 << width), b % (1 << width)
    if name in ("shli", "shrsi", "shrui") and not 0 <= b < width:
        raise Undefined
    if ("div" in name or "rem" in name) and b == 0:
        raise Undefined
    exact = (UNSIGNED | SIGNED)[name](a, b)
    found = signed(exact, width)
    if found != exact and name in ("addi", "subi", "divsi", "floordivsi"):
        raise Undefined
    if found != exact and width == 64 and name in SIGNED:
        raise Undefined  # indices are taken not to overflow
    return found


def program(generator: random.Random) -> tuple[str, set[int]]:
    """The body of a kernel that writes at a computed index, and the elements it writes."""
    kernel = Kernel(generator)
    kernel.add("gpu.thread_id x", "index", list(range(THREADS)))
    for _ in range(generator.randint(1, 7)):
        kernel.grow()
    index = kernel.values[-1]
    if index.type != "index":
        numbers = list(index.numbers)
        index = kernel.add(
            f"arith.index_cast {index.name} : {index.type} to index", "index", numbers
        )
    lines = [
        *kernel.lines,
        f"%zero = arith.constant 0 : index\n%size = arith.constant {SIZE} : index",
        f"%low = arith.cmpi sge, {index.name}, %zero : index",
        f"%high = arith.cmpi slt, {index.name}, %size : index",
        "%inside = arith.andi %low, %high : i1",
        f"scf.if %inside {{ memref.store %x, %a[{index.name}] : memref<{SIZE}xf32> }}",
    ]
    return "\n".join(lines), {n for n in index.numbers if 0 <= n < SIZE}


def test_no_element_is_missed() -> None:
    seed = random.randrange(1 << 30)
    print(f"seed {seed}")
    generator = random.Random(seed)
    checked = 0
    while checked < 400:
        try:
            body, written = program(generator)
        except Undefined:
            continue
        checked += 1
        found = region(body)
        assert found is None or written <= found, f"{body}\nmissing {sorted(written - found)}"


@pytest.mark.parametrize(
    ("body", "written"),
    [
        # A product that does not fit 32 bits wraps around.
        (
            """%t = gpu.thread_id x
            %i = arith.index_cast %t : index to i32
            %c = arith.constant 1664525 : i32
            %p = arith.muli %i, %c : i32
            %m = arith.constant 7 : i32
            %r = arith.andi %p, %m : i32
            %j = arith.index_cast %r : i32 to index
            memref.store %x, %a[%j] : memref<64xf32>""",
            {i * 1664525 & 7 for i in range(THREADS)},
        ),
        # 40 threads in four bits.
        (
            """%t = gpu.thread_id x
            %i = arith.index_cast %t : index to i4
            %j = arith.index_castui %i : i4 to index
            memref.store %x, %a[%j] : memref<64xf32>""",
            set(range(16)),
        ),
        # -1 : i8 is 255, a fourth of it 63.
        (
            """%c = arith.constant -1 : i8
            %w = arith.extui %c : i8 to i32
            %d = arith.constant 4 : i32
            %q = arith.divui %w, %d : i32
            %j = arith.index_cast %q : i32 to index
            memref.store %x, %a[%j] : memref<64xf32>""",
            {63},
        ),
        # From 100 to 200 as unsigned numbers: -56 is the end.
        (
            """%l = arith.constant 100 : i8
            %u = arith.constant -56 : i8
            %s = arith.constant 50 : i8
            scf.for unsigned %i = %l to %u step %s : i8 {
              %o = arith.subi %i, %l : i8
              %j = arith.index_castui %o : i8 to index
              memref.store %x, %a[%j] : memref<64xf32>
            }""",
            {0, 50},
        ),
        # i1 is 0 or -1.
        (
            """%true = arith.constant true
            %w = arith.extsi %true : i1 to i32
            %three = arith.constant 3 : i32
            %q = arith.addi %w, %three : i32
            %j = arith.index_cast %q : i32 to index
            memref.store %x, %a[%j] : memref<64xf32>""",
            {2},
        ),
    ],
    ids=["product", "narrow", "extended", "unsigned loop", "true"],
)
def test_numbers_of_few_bits(body: str, written: set[int]) -> None:
    found = region(body)
    assert found is None or written <= found


def test_masks_are_remainders() -> None:
    body = """%t = gpu.thread_id x
        %m = arith.constant 15 : index
        %j = arith.andi %t, %m : index
        memref.store %x, %a[%j] : memref<64xf32>"""
    assert region(body) == set(range(16))
