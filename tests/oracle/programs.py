"""Random programs: straight-line code over buffers and views of them."""

from __future__ import annotations

import random
from collections.abc import Sequence

from tests.oracle.buffers import memref_arguments, new_buffer, new_view, straight_buffers
from tests.oracle.library import KERNELS, TYPES, KernelSpec
from tests.oracle.statements import Body, Program, Statement
from tests.oracle.writer import Buffer, Maker, Writer

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
