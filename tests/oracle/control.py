"""Random programs with branches, loops, blocks, `async.execute`, tokens of their own, and calls."""

from __future__ import annotations

import random
from collections.abc import Sequence

from xdsl.dialects import cf
from xdsl.ir import Operation, Region, SSAValue

from opar.dialects import affine, async_, scf
from tests.oracle.buffers import copy_back, first_buffers, memref_arguments
from tests.oracle.library import V
from tests.oracle.programs import STRAIGHT, returned, some, writer
from tests.oracle.statements import Argument, Body, Program, Statement, stamped
from tests.oracle.writer import Buffer, Maker, Number, Writer


def condition(w: Writer) -> str:
    """An `i1`: an argument, or whether something loaded is odd."""
    if w.values and w.random.random() < 0.4:
        value = w.random.choice(w.values)
        return w.add("arith.trunci {0} : i32 to i1", value, result="q")
    return w.random.choice(w.conditions)


def _lines(w: Writer, count: int) -> list[Buffer]:
    """Some 1-D views of the same size, not necessarily different."""
    first = [b for b in w.of_kind("V") if b.sizes[0] >= 4]
    if not first:
        return []
    chosen = w.random.choice(first)
    same = [b for b in first if b.sizes == chosen.sizes]
    return [chosen, *w.random.choices(same, k=count - 1)]


def _inside(w: Writer, count: int) -> None:
    some(w, CONTROL if w.depth > 0 else LEAF, w.random.randint(1, count))


def _with_results(w: Writer, make: object, bodies: Sequence[Body], operands: Sequence[str],
                  views: Sequence[Buffer], names: Sequence[str]) -> None:  # fmt: skip
    """Write an operation whose results are views like `views`."""
    w.statements.append(Statement("", tuple(operands), tuple(names), tuple(bodies), make))  # pyright: ignore
    w.buffers += [Buffer(n, "V", b.sizes, n) for n, b in zip(names, views, strict=True)]


def _yield(names: Sequence[str], name: str = "scf.yield") -> Statement:
    values = ", ".join(f"{{{i}}}" for i in range(len(names)))
    types = ", ".join([V] * len(names))
    return Statement(f"{name} {values} : {types}" if names else name, tuple(names))


def branch(w: Writer) -> None:
    """`scf.if`, by chance with a view as its result, or `affine.if` on a number."""
    numbers = [n.name for n in w.numbers if n.affine]
    is_affine = bool(numbers) and w.random.random() < 0.3
    views = _lines(w, 1) if w.random.random() < 0.3 else []
    word = "affine.yield" if is_affine else "scf.yield"
    bodies: list[Body] = []
    both = bool(views) or w.random.random() < 0.6
    for _ in range(2 if both else 1):
        inner = w.inner()
        _inside(inner, 4)
        same = [b for b in w.of_kind("V") if views and b.sizes == views[0].sizes]
        chosen = [w.random.choice(same).name] if views else []
        bodies.append(Body(tuple(inner.statements), _yield(chosen, word)))
    names = [w.name("r") for _ in views]
    if is_affine:
        text = "affine.if affine_set<(d0) : (d0 mod 2 == 0)>({0}) {\n}"
        number = w.random.choice(numbers)

        def make_affine(v: Sequence[SSAValue], r: Sequence[Region], _: object) -> Operation:
            like = stamped(text, v)
            assert isinstance(like, affine.IfOp)
            types = [x.type for x in r[0].block.last_op.operands]  # pyright: ignore
            return affine.IfOp(like.condition, v, r[0], r[1] if len(r) > 1 else None, types)

        _with_results(w, make_affine, bodies, (number,), views, names)
        return

    def make(v: Sequence[SSAValue], r: Sequence[Region], _: object) -> Operation:
        types = [x.type for x in r[0].block.last_op.operands]  # pyright: ignore
        return scf.IfOp(v[0], types, r[0], r[1] if len(r) > 1 else None)

    _with_results(w, make, bodies, (condition(w),), views, names)


def loop(w: Writer) -> None:
    """`scf.for` or `affine.for`, by chance with views that change places in each iteration."""
    r = w.random
    views = _lines(w, 2) if r.random() < 0.4 else []
    inner = w.inner()
    variable = w.name("i")
    arguments = [w.name("z") for _ in views]
    inner.buffers += [Buffer(n, "V", b.sizes, n) for n, b in zip(arguments, views, strict=True)]
    is_affine, first, count = r.random() < 0.4, r.randint(0, 2), r.randint(0, 3)
    inner.numbers.append(Number(variable, first, first + max(count, 1) - 1, is_affine))
    _inside(inner, 4)
    word = "affine.yield" if is_affine else "scf.yield"
    order = arguments[::-1] if r.random() < 0.7 else arguments
    head = ((variable, "index"), *((n, V) for n in arguments))
    body = Body(tuple(inner.statements), _yield(order, word), head)
    names = [w.name("r") for _ in views]
    given = [b.name for b in views]
    if is_affine:

        def make_affine(v: Sequence[SSAValue], g: Sequence[Region], _: object) -> Operation:
            return affine.ForOp(first, first + count, g[0], 1, v)

        _with_results(w, make_affine, [body], given, views, names)
        return
    low = w.number(first)
    high = w.number(first + count)
    fitting = [n for n in w.numbers if first <= n.least and n.most <= first + count]
    if fitting and r.random() < 0.5:
        high = r.choice(fitting).name
    one = w.number(1)

    def make(v: Sequence[SSAValue], g: Sequence[Region], _: object) -> Operation:
        return scf.ForOp(v[0], v[1], v[2], v[3:], g[0])

    _with_results(w, make, [body], [low, high, one, *given], views, names)


def while_loop(w: Writer) -> None:
    """`scf.while` that counts, with work in both of its blocks."""
    limit = w.number(w.random.randint(0, 2))
    zero, one = w.number(0), w.number(1)
    first, second = w.inner(), w.inner()
    i, j = w.name("i"), w.name("i")
    first.numbers.append(Number(i, 0, 3))
    second.numbers.append(Number(j, 0, 3))
    _inside(first, 3)
    more = first.add("arith.cmpi slt, {0}, {1} : index", i, limit, result="q")

    def pass_on(v: Sequence[SSAValue], _: object, __: object) -> Operation:
        return scf.ConditionOp(v[0], v[1])

    before = Body(tuple(first.statements), Statement("", (more, i), make=pass_on), ((i, "index"),))
    _inside(second, 3)
    n = second.add("arith.addi {0}, {1} : index", j, one, result="n")
    end = Statement("scf.yield {0} : index", (n,))
    after = Body(tuple(second.statements), end, ((j, "index"),))

    def make(v: Sequence[SSAValue], g: Sequence[Region], _: object) -> Operation:
        return scf.WhileOp(v, [v[0].type], g[0], g[1])

    result = w.name("n")
    w.statements.append(Statement("", (zero,), (result,), (before, after), make))


def execute(w: Writer) -> None:
    """`async.execute`, by chance awaited some time later."""
    inner = w.inner()
    inner.tokens = []
    _inside(inner, 3)
    body = Body(tuple(inner.statements), Statement("async.yield"))

    def make(v: Sequence[SSAValue], g: Sequence[Region], _: object) -> Operation:
        return async_.ExecuteOp(g[0], v)

    name = w.name("e")
    w.statements.append(Statement("", (), (name,), (body,), make))
    if w.random.random() < 0.6:
        some(w, LEAF, w.random.randint(0, 2))
        w.add("async.await {0} : !async.token", name)


def wait(w: Writer) -> None:
    """A wait of the program's own: of the host, or a join."""
    given = w.random.sample(w.tokens, min(len(w.tokens), w.random.randint(0, 3)))
    tokens = f" [{', '.join(f'{{{i}}}' for i in range(len(given)))}]" if given else ""
    if w.random.random() < 0.5:
        w.tokens.append(w.add(f"gpu.wait async{tokens}", *given, result="t"))
    elif given:
        w.add(f"gpu.wait{tokens}", *given)


def call(w: Writer) -> None:
    """A call of a function that launches, of one that loads and stores, or of an unknown one."""
    views = _lines(w, 2)
    if views:
        name = w.random.choice(("twice", "touch", "unknown"))
        w.add(f"func.call @{name}({{0}}, {{1}}) : ({V}, {V}) -> ()", views[0].name, views[1].name)


def select(w: Writer) -> None:
    """One of two views."""
    views = _lines(w, 2)
    if views:
        given = condition(w), views[0].name, views[1].name
        name = w.add(f"arith.select {{0}}, {{1}}, {{2}} : {V}", *given, result="v")
        w.buffers.append(Buffer(name, "V", views[0].sizes, name))


LEAF: dict[Maker, float] = {**STRAIGHT, wait: 0.5, call: 0.5, select: 0.4}
del LEAF[next(m for m in LEAF if m.__name__ == "free")]  # a view may have come out of its branch

CONTROL: dict[Maker, float] = {**LEAF, branch: 2, loop: 2.5, while_loop: 0.8, execute: 1}

FUNCTIONS = f"""
func.func private @unknown(%a: {V}, %b: {V})
func.func private @twice(%a: {V}, %b: {V}) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  gpu.launch_func @k::@update blocks in (%c1, %c1, %c1) threads in (%c3, %c1, %c1)
      args(%a : {V}, %c0 : index)
  gpu.launch_func @k::@copy blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
      args(%a : {V}, %b : {V}, %c0 : index, %c1 : index)
  return
}}
func.func private @touch(%a: {V}, %b: {V}) {{
  %c2 = arith.constant 2 : index
  %v = memref.load %a[%c2] : {V}
  memref.store %v, %b[%c2] : {V}
  return
}}
"""


def _start(generator: random.Random, depth: int) -> tuple[Writer, list[Argument]]:
    w = writer(generator, straight=False, depth=depth)
    arguments = list(memref_arguments(w, generator.randint(0, 3), noalias=False))
    for i in range(2):
        arguments.append(Argument(f"c{i}_", "i1", None, (0, 1)))
        w.conditions.append(f"c{i}_")
    arguments.append(Argument("n_", "index", None, (0, 1, 2, 3)))
    w.numbers.append(Number("n_", 0, 3, affine=True))
    first_buffers(w)
    return w, arguments


def structured(generator: random.Random) -> Program:
    """A program with structured control flow."""
    w, arguments = _start(generator, 2)
    some(w, CONTROL, generator.randint(1, 9))
    copy_back(w)
    body = Body(tuple(w.statements), Statement("func.return"))
    return Program(tuple(arguments), {"entry": body}, returned(w))


def blocks(generator: random.Random) -> Program:
    """A program of several blocks that branch forwards, by chance with a counted loop back."""
    w, arguments = _start(generator, 1)
    count = generator.randint(2, 4)
    some(w, LEAF, generator.randint(1, 4))
    first, results = w.statements, returned(w)
    bodies: dict[str, Body] = {}
    zero, one = w.number(0), w.number(1)
    limit = w.number(generator.randint(0, 2))
    back = generator.randint(1, count) if generator.random() < 0.6 else 0
    for number in range(1, count + 1):
        inner = w.inner()
        i = w.name("i")
        inner.numbers.append(Number(i, 0, 3))
        some(inner, CONTROL if generator.random() < 0.3 else LEAF, generator.randint(0, 4))
        end = _end(inner, number, count, back, i, one, limit)
        if number == count:
            copy_back(inner)
        bodies[f"b{number}"] = Body(tuple(inner.statements), end, ((i, "index"),))
    start = _branch(generator, w.conditions, ("b1", f"b{min(2, count)}"), zero)
    return Program(tuple(arguments), {"entry": Body(tuple(first), start), **bodies}, results)


def _end(w: Writer, number: int, count: int, back: int, i: str, one: str, limit: str) -> Statement:
    if number == back:
        next = w.add("arith.addi {0}, {1} : index", i, one, result="n")
        more = w.add("arith.cmpi slt, {0}, {1} : index", i, limit, result="q")
        target = f"b{w.random.randint(1, number)}"
        if number == count:
            return Statement("func.return")
        return _conditional(more, (target, f"b{number + 1}"), next)
    if number == count:
        return Statement("func.return")
    targets = f"b{number + 1}", f"b{w.random.randint(number + 1, count)}"
    return _branch(w.random, w.conditions, targets, i)


def _branch(
    generator: random.Random, conditions: Sequence[str], targets: tuple[str, str], value: str
) -> Statement:
    if targets[0] == targets[1]:

        def make(v: Sequence[SSAValue], _: object, b: Sequence[object]) -> Operation:
            return cf.BranchOp(b[0], v[0])  # pyright: ignore

        return Statement("", (value,), make=make, targets=targets[:1])
    return _conditional(generator.choice(conditions), targets, value)


def _conditional(condition: str, targets: tuple[str, str], value: str) -> Statement:
    def make(v: Sequence[SSAValue], _: object, b: Sequence[object]) -> Operation:
        return cf.ConditionalBranchOp(v[0], b[0], [v[1]], b[1], [v[1]])  # pyright: ignore

    return Statement("", (condition, value), make=make, targets=targets)
