"""Random programs: straight-line code over buffers and views of them."""

from __future__ import annotations

import random

from tests.oracle.buffers import copy_back, first_buffers, memref_arguments, new_buffer, new_view
from tests.oracle.library import KERNELS, TYPES
from tests.oracle.statements import Body, Program, Statement
from tests.oracle.writer import Buffer, Maker, Writer, asynchronous, launch_of

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
    return w.constant(w.random.randint(0, 99), "i32")


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

DEFINED = 0.8
"""How many of the programs write to all memory before they read it."""

ON_DEVICE = 0.35
"""How many of the programs allocate all that launches use on the device."""

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


def writer(generator: random.Random, straight: bool, depth: int = 0) -> Writer:
    """The writer of a new program."""
    defined, on_device = generator.random() < DEFINED, generator.random() < ON_DEVICE
    return Writer(generator, straight, defined, on_device, depth)


def straight(generator: random.Random) -> Program:
    """A program that `checks.not_minimal` can judge."""
    w = writer(generator, straight=True)
    arguments = memref_arguments(w, generator.randint(0, 2), noalias=True)
    first_buffers(w)
    some(w, STRAIGHT, generator.randint(1, 22))
    copy_back(w)
    body = Body(tuple(w.statements), Statement("func.return"))
    return Program(arguments, {"entry": body}, returned(w), exact=True)


def returned(w: Writer) -> tuple[str, ...]:
    """Names of what a program returns: its own memory, some views, and what it has loaded."""
    views = [b.name for b in w.buffers if b.kind in "VD" and not w.on_device]
    return (*w.owned, *w.random.sample(views, min(1, len(views))), *w.values)
