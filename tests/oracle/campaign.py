"""Many random programs: made, given to the pass, run, checked; those that fail are made small."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, UnitAttr

import opar
from tests.oracle.checks import missing, not_minimal, replay
from tests.oracle.control import FUNCTIONS, blocks, structured
from tests.oracle.interpreter import EndlessLoop, Interpreter
from tests.oracle.library import LIBRARY
from tests.oracle.memory import Memory, OutOfBounds, View
from tests.oracle.programs import straight
from tests.oracle.recorder import Kernels
from tests.oracle.shrink import shrunk
from tests.oracle.statements import Argument, Program, Undefined, build
from tests.oracle.trace import Trace

PASS = "gpu-async-dataflow"

BATCH = 40
"""Programs in one module: the pass looks at each kernel once."""


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


def module_of(programs: Sequence[Program]) -> ModuleOp:
    """The kernels, and a function `f0`, `f1`, ... for each program. Raises `Undefined`."""
    module = opar.parse_module(LIBRARY + FUNCTIONS)
    module.attributes["gpu.container_module"] = UnitAttr()
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
    generator = random.Random(seed)
    memory = Memory()
    arguments: list[object] = []
    for argument in program.arguments:
        arguments.append(_argument(argument, arguments, memory, generator))
    return Interpreter(function, memory, arguments, kernels).run()


def _argument(
    argument: Argument, before: Sequence[object], memory: Memory, generator: random.Random
) -> object:
    chosen = generator.choice(argument.values)
    if argument.sizes is None:
        return chosen
    if chosen < len(before):
        other = before[chosen]
        assert isinstance(other, View)
        return other
    count = 1
    for size in argument.sizes:
        count *= size
    return memory.allocate(argument.sizes, [generator.randint(-99, 99) for _ in range(count)])


def problems(
    program: Program, before: func.FuncOp, after: func.FuncOp, seed: int, kernels: Kernels
) -> Iterator[str]:
    """What is wrong with what the pass made of a program."""
    generator = random.Random(seed)
    for _ in range(1 if not program.arguments else 2):
        inputs = generator.randrange(1 << 30)
        reference = run(before, program, inputs, kernels)
        trace = run(after, program, inputs, kernels)
        yield from same_events(reference, trace)
        yield from missing(trace)
        if program.exact:
            yield from not_minimal(trace)
        yield from replay(trace, generator)


def same_events(reference: Trace, trace: Trace) -> Iterator[str]:
    """The pass keeps what runs; only what frees memory may move, to the end."""
    found = [[_what(e) for e in t.events if not e.is_wait] for t in (reference, trace)]
    kept = [[e for e in events if e[0] != "memref.dealloc"] for events in found]
    if kept[0] != kept[1] or sorted(map(str, found[0])) != sorted(map(str, found[1])):
        yield f"what runs is not what ran before:\n  {found[0]}\n  {found[1]}"


def _what(event: object) -> tuple[object, ...]:
    return event.op.name, event.reads, event.writes, event.seen  # pyright: ignore


def check(
    programs: Sequence[Program], options: str, seeds: Sequence[int]
) -> Iterator[tuple[int, tuple[str, ...]]]:
    """The numbers of the programs that fail with one set of options, and what is wrong."""
    before = module_of(programs)
    after = before.clone()
    try:
        opar.run_passes(after, f"{PASS}{{{options}}}" if options else PASS)
    except Exception as error:  # whatever it is, it is a bug of the pass
        for i, program in enumerate(programs if len(programs) > 1 else ()):
            yield from ((i, found) for _, found in check([program], options, [seeds[i]]))
        if len(programs) == 1:
            yield 0, (f"the pass fails: {error!r}"[:300],)
        return
    pairs = zip(functions(before, len(programs)), functions(after, len(programs)), strict=True)
    kernels = Kernels()
    for i, (program, (old, new)) in enumerate(zip(programs, pairs, strict=True)):
        found = tuple(problems(program, old, new, seeds[i], kernels))
        if found:
            yield i, found


def fails(program: Program, options: str, seed: int) -> tuple[str, ...]:
    """What is wrong with one program; nothing where it is no program."""
    try:
        return next((wrong for _, wrong in check([program], options, [seed])), ())
    except (Undefined, OutOfBounds, EndlessLoop):
        return ()


def made_small(failure: Failure) -> Failure:
    """The same failure with as few statements as show one."""

    def still(program: Program) -> bool:
        return bool(fails(program, failure.options, failure.seed))

    small = shrunk(failure.program, still)
    problems = fails(small, failure.options, failure.seed)
    return replace(failure, program=small, problems=problems or failure.problems)


def campaign(kind: str, seeds: Sequence[int]) -> Iterator[Failure]:
    """Make and check the programs of some seeds; gives those that fail."""
    for start in range(0, len(seeds), BATCH):
        batch = seeds[start : start + BATCH]
        programs = [KINDS[kind](random.Random(seed)) for seed in batch]
        by_options: dict[str, list[int]] = {}
        for i, (seed, program) in enumerate(zip(batch, programs, strict=True)):
            by_options.setdefault(options(random.Random(~seed), program), []).append(i)
        for chosen, members in by_options.items():
            some = [programs[i] for i in members]
            for n, wrong in check(some, chosen, [batch[i] for i in members]):
                i = members[n]
                yield Failure(kind, batch[i], programs[i], chosen, wrong)


def described(task: tuple[str, Sequence[int]]) -> tuple[int, list[str]]:
    """How many programs of a kind were checked, and the failures, made small, as text."""
    kind, seeds = task
    return len(seeds), [str(made_small(f)) for f in campaign(kind, seeds)]
