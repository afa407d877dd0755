"""Writes the statements of random programs, and knows what they have made so far."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from tests.oracle.library import TYPES, KernelSpec
from tests.oracle.statements import Statement

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
    `straight`: nothing but what `checks.not_minimal` can judge. `defined`: memory is written to as
    soon as it is there. `on_device`: all memory that launches use is allocated on the device.
    """

    random: random.Random
    straight: bool
    defined: bool = False
    on_device: bool = False
    depth: int = 0
    buffers: list[Buffer] = field(default_factory=list)
    numbers: list[Number] = field(default_factory=list)
    conditions: list[str] = field(default_factory=list)
    values: list[str] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)
    owned: list[str] = field(default_factory=list)
    """Allocations of this block that may be freed in it."""
    staged: list[tuple[str, str]] = field(default_factory=list)
    """Arguments, and the buffers of the device that hold their contents."""
    constants: dict[str, str] = field(default_factory=dict)
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
        """A constant; each is there once."""
        return self.constant(value, "index")

    def constant(self, value: int, type: str) -> str:
        """A constant of a type."""
        key = f"arith.constant {value} : {type}"
        if key not in self.constants:
            self.constants[key] = self.add(key, result="c" if type == "index" else "k")
        return self.constants[key]

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
            constants=dict(self.constants),
            statements=[],
        )

    def of_kind(self, kind: str) -> list[Buffer]:
        """The buffers of a kind."""
        return [b for b in self.buffers if b.kind == kind]


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
