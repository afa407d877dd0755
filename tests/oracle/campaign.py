"""Many random programs: made, given to the pass, run, checked; those that fail are made small."""

from __future__ import annotations

import gc
import math
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, UnitAttr

import opar
from opar.dialects.parsing import new_context, verify
from opar.transforms import parse_pipeline
from tests.oracle.checks import missing, not_minimal, replay
from tests.oracle.control import FUNCTIONS, blocks, structured
from tests.oracle.interpreter import EndlessLoop, Interpreter
from tests.oracle.library import LIBRARY
from tests.oracle.memory import Allocation, Memory, OutOfBounds, View
from tests.oracle.programs import straight
from tests.oracle.recorder import Kernels
from tests.oracle.shrink import shrunk
from tests.oracle.statements import Argument, Program, Undefined, build
from tests.oracle.trace import Trace

PASS = "gpu-async-dataflow"

BATCH = 60
"""The most programs in one module: the pass looks at each kernel once."""

VERIFIED = 4
"""Of so many programs one is verified after the pass; of many, that takes a sixth of the time."""

SHIFT = 8
"""How many elements an argument may be off another that it overlaps; this twice, with a third."""

CHUNK = 160
"""Programs made at once, to be shared out by their options."""


@dataclass(frozen=True)
class Failure:
    """A program that failed: how it was made, and what went wrong."""

    kind: str
    seed: int
    program: Program
    options: str
    problems: tuple[str, ...]

    def __str__(self) -> str:
        lines = [f"{self.kind} program of seed {self.seed}, gpu-async-dataflow{{{self.options}}}"]
        text = str(module_of([self.program]).body.block.last_op)
        lines += [*self.problems[:5], text]
        return "\n".join(lines)


KINDS: dict[str, Callable[[random.Random], Program]] = {
    "straight": straight,
    "structured": structured,
    "blocks": blocks,
}


@cache
def library() -> ModuleOp:
    """The kernels, and the functions that programs call."""
    module = opar.parse_module(LIBRARY + FUNCTIONS)
    module.attributes["gpu.container_module"] = UnitAttr()
    return module


def module_of(programs: Sequence[Program]) -> ModuleOp:
    """The library, and a function `f0`, `f1`, ... for each program. Raises `Undefined`."""
    module = library().clone()
    for i, program in enumerate(programs):
        module.body.block.add_op(build(program, f"f{i}"))
    return module


def functions(module: ModuleOp, count: int) -> list[func.FuncOp]:
    """The functions of the programs."""
    found = {f.sym_name.data: f for f in module.body.ops if isinstance(f, func.FuncOp)}
    return [found[f"f{i}"] for i in range(count)]


def options(generator: random.Random, program: Program) -> str:
    """Options of the pass that fit a program."""
    chosen: list[str] = []
    if generator.random() < 0.3:
        chosen.append("single-use-tokens=true")
    apart = all(len(a.values) <= 1 for a in program.arguments)
    if apart and generator.random() < 0.5:
        chosen.append("assume-noalias-args=true")
    return " ".join(chosen)


def run(function: func.FuncOp, program: Program, seed: int, kernels: Kernels) -> Trace:
    """Run a function on arguments that follow from `seed`."""
    memory = Memory()
    return Interpreter(function, memory, arguments(program, seed, memory), kernels).run()


def arguments(program: Program, seed: int, memory: Memory) -> list[object]:
    """Arguments that follow from `seed`: numbers, and views of new memory."""
    generator = random.Random(seed)
    found: list[object] = []
    for argument in program.arguments:
        found.append(_argument(argument, found, memory, generator))
    return found


def _argument(
    argument: Argument, before: Sequence[object], memory: Memory, generator: random.Random
) -> object:
    chosen = generator.choice(argument.values)
    if argument.sizes is None:
        return chosen
    if chosen < len(before):
        other = before[chosen]
        assert isinstance(other, View)
        start = other.offset + generator.choice((0, 0, generator.randint(1, SHIFT)))
        return replace(other, allocation=Allocation(start, other.allocation.size), offset=start)
    contents = [generator.randint(-99, 99) for _ in range(math.prod(argument.sizes))]
    own = memory.allocate(argument.sizes, contents)
    memory.cells += [generator.randint(-99, 99) for _ in range(2 * SHIFT)]
    return own


Happened = tuple[tuple[object, ...], ...]
"""What a run did, but for waits: names of operations, cells, what the host saw."""


def inputs(program: Program, seed: int) -> list[int]:
    """Seeds of the arguments that a program is run with."""
    generator = random.Random(seed)
    return [generator.randrange(1 << 30) for _ in range(2 if program.arguments else 1)]


def happened(trace: Trace) -> Happened:
    """What a run did."""
    return tuple((e.op.name, e.reads, e.writes, e.seen) for e in trace.events if not e.is_wait)


def problems(
    program: Program,
    function: func.FuncOp,
    before: Sequence[Happened],
    seed: int,
    kernels: Kernels,
) -> Iterator[str]:
    """What is wrong with what the pass made of a program, and what it did `before`."""
    generator = random.Random(seed)
    for one, reference in zip(inputs(program, seed), before, strict=True):
        trace = run(function, program, one, kernels)
        yield from same_events(reference, happened(trace))
        yield from missing(trace)
        if program.exact:
            yield from not_minimal(trace)
        yield from replay(trace, generator)


def same_events(reference: Happened, found: Happened) -> Iterator[str]:
    """The pass keeps what runs; only what frees memory may move, to the end."""
    if reference == found:
        return
    kept = [[e for e in events if e[0] != "memref.dealloc"] for events in (reference, found)]
    if kept[0] != kept[1] or sorted(map(str, reference)) != sorted(map(str, found)):
        yield f"what runs is not what ran before:\n  {reference}\n  {found}"


Check = Callable[[Sequence[Program], str, Sequence[int]], Iterator[tuple[int, tuple[str, ...]]]]
"""
Gives the numbers of the programs that fail with one set of options, and what is wrong. Seeds say
what else is random.
"""


def check(
    programs: Sequence[Program], options: str, seeds: Sequence[int]
) -> Iterator[tuple[int, tuple[str, ...]]]:
    """The `Check` of tokens."""
    module = module_of(programs)
    kernels = Kernels()
    before = [
        [happened(run(function, program, one, kernels)) for one in inputs(program, seed)]
        for function, program, seed in zip(
            functions(module, len(programs)), programs, seeds, strict=True
        )
    ]
    try:
        parse_pipeline(f"{PASS}{{{options}}}" if options else PASS).apply(new_context(), module)
        for function in functions(module, len(programs))[:: 1 if len(programs) == 1 else VERIFIED]:
            verify(function)
    except Exception as error:  # whatever it is, it is a bug of the pass
        for i, program in enumerate(programs if len(programs) > 1 else ()):
            yield from ((i, found) for _, found in check([program], options, [seeds[i]]))
        if len(programs) == 1:
            yield 0, (f"the pass fails: {error!r}"[:300],)
        return
    for i, (program, function) in enumerate(
        zip(programs, functions(module, len(programs)), strict=True)
    ):
        found = tuple(problems(program, function, before[i], seeds[i], kernels))
        if found:
            yield i, found


def fails(check: Check, program: Program, options: str, seed: int) -> tuple[str, ...]:
    """What is wrong with one program; nothing where it is no program."""
    try:
        return next((wrong for _, wrong in check([program], options, [seed])), ())
    except (Undefined, OutOfBounds, EndlessLoop):
        return ()


def made_small(failure: Failure, check: Check = check) -> Failure:
    """The same failure with as few statements as show one."""

    def still(program: Program) -> bool:
        return bool(fails(check, program, failure.options, failure.seed))

    small = shrunk(failure.program, still)
    problems = fails(check, small, failure.options, failure.seed)
    return replace(failure, program=small, problems=problems or failure.problems)


def campaign(kind: str, seeds: Sequence[int], check: Check = check) -> Iterator[Failure]:
    """Make and check the programs of some seeds; gives those that fail."""
    with _no_collection():
        yield from _campaign(kind, seeds, check)


@contextmanager
def _no_collection() -> Iterator[None]:
    """No garbage is looked for meanwhile, which takes a sixth of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _campaign(kind: str, seeds: Sequence[int], check: Check) -> Iterator[Failure]:
    programs = [KINDS[kind](random.Random(seed)) for seed in seeds]
    by_options: dict[str, list[int]] = {}
    for i, (seed, program) in enumerate(zip(seeds, programs, strict=True)):
        by_options.setdefault(options(random.Random(~seed), program), []).append(i)
    for chosen, members in by_options.items():
        for start in range(0, len(members), BATCH):
            batch = members[start : start + BATCH]
            some = [programs[i] for i in batch]
            for n, wrong in check(some, chosen, [seeds[i] for i in batch]):
                i = batch[n]
                yield Failure(kind, seeds[i], programs[i], chosen, wrong)


def described(task: tuple[str, Sequence[int]]) -> tuple[int, list[str]]:
    """How many programs of a kind were checked, and the failures, made small, as text."""
    kind, seeds = task
    return len(seeds), [str(made_small(f)) for f in campaign(kind, seeds)]
