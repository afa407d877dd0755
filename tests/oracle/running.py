"""
Programs run on a device: what they leave in memory and return is what sequential execution gives
of the program before any pass.

A program is left out, for a reason that is counted, where sequential execution says nothing: it
reads memory that holds nothing, or copies a view onto one that overlaps it. Launches whose threads
touch each other's elements get one thread. What opar refuses is left out too, for reasons that are
`EXPECTED`; any other is a failure.
"""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr
from xdsl.ir import Operation

import opar
from opar.analysis.accesses import AccessAnalysis
from opar.analysis.aliasing import AliasAnalysis
from opar.backend.arguments import bind
from opar.backend.build_schedule import build_schedule
from opar.backend.compile_kernels import compile_kernels
from opar.backend.device import Device, Kernel
from opar.backend.executor import execute
from opar.backend.host_device import HostDevice
from opar.backend.schedule import Schedule
from opar.backend.verify_schedule import SMALL, verify_schedule
from opar.dialects import gpu
from opar.dialects.parsing import new_context
from opar.errors import OparError
from opar.transforms import parse_pipeline
from tests.oracle.campaign import (
    PASS,
    Check,
    arguments,
    campaign,
    functions,
    inputs,
    made_small,
    module_of,
)
from tests.oracle.interpreter import Interpreter
from tests.oracle.memory import Memory, View
from tests.oracle.recorder import Kernels
from tests.oracle.separate_device import SeparateDevice
from tests.oracle.statements import Program
from tests.oracle.trace import Trace

PIPELINES = {
    "tokens": ("", f"{PASS},gpu-assign-streams"),
    "unrolled": ("", f"unroll-host-loops,{PASS},gpu-assign-streams"),
    "managed": ("gpu-manage-buffers", f"{PASS},gpu-assign-streams"),
    "unrolled and managed": (
        "unroll-host-loops,gpu-manage-buffers",
        f"{PASS},gpu-assign-streams",
    ),
}
"""By name, passes for each function by itself, which may refuse it, and those for all."""

MANAGED = [name for name in PIPELINES if "managed" in name]
"""Those for a GPU; they also run on the CPU."""

EXPECTED = {
    "@unknown has no body": "calls an unknown function",
    "cannot copy memory that is not contiguous": "sets or returns a view that is not contiguous",
}
"""Parts of the messages with which opar refuses programs, and what they say in short."""

EXPECTED_MANAGED = {
    "the GPU would hold it twice": "calls a function with arguments that may overlap",
    "only the identity layout can": "passes a called function a view",
    "cannot tell which buffer": "launches with one of several buffers",
    "the host and a launch both access": "host and launch share memory within a branch or loop",
}
"""The same for `gpu-manage-buffers`."""

RAN = "ran"


@dataclass(frozen=True)
class Reference:
    """Sequential execution on some inputs: the arguments before it, and what it gives."""

    arguments: tuple[object, ...]
    start: list[int]
    trace: Trace

    def given(self) -> list[Any]:
        """The arguments as a caller passes them: arrays overlap as the memrefs do."""
        cells = np.array(self.start, np.int32)
        return [
            cells[a.offset : a.offset + math.prod(a.sizes)].reshape(a.sizes)
            if isinstance(a, View)
            else a
            for a in self.arguments
        ]

    def differences(self, given: Sequence[Any], results: Sequence[Any]) -> Iterator[str]:
        """What is wrong with the arguments after a call, and with its results."""
        wanted = [*self.arguments, *self.trace.returned]
        for number, (one, found) in enumerate(zip(wanted, [*given, *results], strict=True)):
            count = len(self.arguments)
            name = f"argument {number}" if number < count else f"result {number - count}"
            if not isinstance(one, View):
                if one != found:
                    yield f"{name} is {found}, has to be {one}"
                continue
            values = found.view(np.int32) if found.dtype.itemsize == 1 else found
            for index in np.ndindex(one.sizes):
                cell = one.cell(*index)
                expected = self.trace.end[cell]
                if self.trace.defined >> cell & 1 and values[index] != expected:
                    yield f"{name} at {index} is {values[index]}, has to be {expected}"


class LeftOut(Exception):
    """A program that is not run, and why."""


Loaded = tuple[dict[str, str], dict[str, Kernel]]
"""Names of kernels, see `compile_kernels`, and the kernels by these names."""


@dataclass
class Runner:
    """
    Compiles programs for a device and runs them on it: `calls` times on each input, on the CPU in
    orders of random schedule seeds, now and then on threads. `verify`: whether schedules are
    checked as those of `opar.compile` are. `counts` says what became of the programs.
    """

    device: Device
    calls: int = 2
    verify: bool = True
    counts: Counter[str] = field(default_factory=Counter)
    _loaded: dict[str, Loaded] = field(default_factory=dict)

    def check(self, pipeline: str) -> Check:
        """The `Check` with one of the `PIPELINES`."""

        def check(
            programs: Sequence[Program], options: str, seeds: Sequence[int]
        ) -> Iterator[tuple[int, tuple[str, ...]]]:
            for i, found in enumerate(self._batch(programs, options, seeds, pipeline)):
                if isinstance(found, str):
                    self.counts[found] += 1
                elif found:
                    yield i, found
                else:
                    self.counts[RAN] += 1

        return check

    def _batch(
        self, programs: Sequence[Program], options: str, seeds: Sequence[int], pipeline: str
    ) -> list[str | tuple[str, ...]]:
        """For each program what is wrong with it, or why it is left out."""
        module = module_of(programs)
        kernels = Kernels()
        found: dict[int, str | tuple[str, ...]] = {}
        references: dict[int, list[Reference]] = {}
        alone, together = PIPELINES[pipeline]
        own = functions(module, len(programs))
        for function in own:
            function.detach()
        for i, (program, function) in enumerate(zip(programs, own, strict=True)):
            module.body.block.add_op(function)
            try:
                references[i] = reference(function, program, seeds[i], kernels)
                if alone:
                    _run_alone(module, function, _with_options(alone, options))
            except LeftOut as error:
                found[i] = str(error)
            except OparError as error:
                found[i] = refused(error, pipeline in MANAGED)
            if i in found:
                function.detach()
        if len(found) == len(programs):
            return [found[i] for i in range(len(programs))]
        opar.run_passes(module, _with_options(together, options))
        loaded = self.load(module)
        accesses = AccessAnalysis(AliasAnalysis("assume-noalias-args=true" in options))
        for i, function in enumerate(own):
            if i not in found:
                found[i] = self._run(function, loaded, references[i], seeds[i], accesses)
        return [found[i] for i in range(len(programs))]

    def _run(
        self,
        function: func.FuncOp,
        loaded: Loaded,
        references: Sequence[Reference],
        seed: int,
        accesses: AccessAnalysis,
    ) -> str | tuple[str, ...]:
        names, kernels = loaded
        problems: list[str] = []
        try:
            schedule, origins = build_schedule(function, names, accesses)
            if self.verify and len(schedule.operations) <= SMALL:
                verify_schedule(schedule, origins, accesses)
            for one in references:
                for device, how in self._devices(seed):
                    problems += [f"{p} ({how})" for p in call(schedule, device, kernels, one)]
        except OparError as error:
            return refused(error, False)
        except Exception as error:  # whatever it is, it is a bug
            return (f"fails: {error!r}",)
        return tuple(problems)

    def _devices(self, seed: int) -> Iterator[tuple[Device, str]]:
        if not isinstance(self.device, HostDevice):
            for n in range(self.calls):
                yield self.device, f"call {n}"
            return
        generator = random.Random(seed)
        for _ in range(self.calls):
            order = generator.randrange(1 << 20)
            if isinstance(self.device, SeparateDevice):
                yield SeparateDevice(self.device.workers, order), f"schedule seed {order}"
            elif generator.random() < 0.9:
                yield HostDevice(self.device.workers, order), f"schedule seed {order}"
            else:
                yield self.device, "on threads"

    def load(self, module: ModuleOp) -> Loaded:
        """The kernels of a module on the device; each text of kernels is compiled once."""
        text = "\n".join(str(op) for op in module.body.ops if isinstance(op, gpu.ModuleOp))
        if text not in self._loaded:
            kind = "cpu" if isinstance(self.device, HostDevice) else self.device.kind
            names, codes = compile_kernels(module, kind, getattr(self.device, "arch", "host"))
            kernels: dict[str, Kernel] = {}
            for number, code in enumerate(codes):
                for name, kernel in self.device.load(code).items():
                    kernels[f"{number}:{name}"] = kernel
            self._loaded[text] = names, kernels
        return self._loaded[text]


def call(
    schedule: Schedule, device: Device, kernels: dict[str, Kernel], reference: Reference
) -> Iterator[str]:
    """Call a program once; gives what is wrong with what it did."""
    given = reference.given()
    bound = bind(schedule, given, device.kind == "cuda")
    results = execute(schedule, device, kernels, bound)
    yield from reference.differences(given, results)


def _with_options(passes: str, options: str) -> str:
    """A pipeline with options for the passes that take them."""
    if not options:
        return passes
    noalias = [o for o in options.split() if o.startswith("assume-noalias")]
    passes = passes.replace(PASS, f"{PASS}{{{options}}}")
    if noalias:
        passes = passes.replace("gpu-manage-buffers", f"gpu-manage-buffers{{{noalias[0]}}}")
    return passes


def _run_alone(module: ModuleOp, function: func.FuncOp, passes: str) -> None:
    """Run passes on a function of a module with the others out of sight."""
    called = {str(op.callee) for op in function.walk() if isinstance(op, func.CallOp)}
    others = [
        op
        for op in module.body.ops
        if isinstance(op, func.FuncOp) and op is not function and not called
    ]
    for other in others:
        other.detach()
    try:
        parse_pipeline(passes).apply(new_context(), module)
    finally:
        for other in others:
            module.body.block.add_op(other)


def reference(
    function: func.FuncOp, program: Program, seed: int, kernels: Kernels
) -> list[Reference]:
    """
    Sequential execution of a program on some inputs; raises `LeftOut` where that says nothing.
    Launches of `function` that race get one thread.
    """
    while True:
        found: list[Reference] = []
        raced: dict[Operation, None] = {}
        for one in inputs(program, seed):
            memory = Memory()
            given = arguments(program, one, memory)
            start = list(memory.cells)
            trace = Interpreter(function, memory, given, kernels).run()
            if trace.undefined:
                raise LeftOut("reads memory that holds nothing")
            found.append(Reference(tuple(given), start, trace))
            raced |= dict.fromkeys(trace.raced)
        if not raced:
            return found
        for op in raced:
            if not isinstance(op, gpu.LaunchFuncOp):
                raise LeftOut("copies a view onto one that overlaps it")
            _give_one_thread(op)


def _give_one_thread(launch: gpu.LaunchFuncOp) -> None:
    one = launch.grid_size[2]  # see `writer.launch_of`
    count = len(launch.async_dependencies)
    for i in range(count, count + 6):
        launch.operands[i] = one
    if launch.kernel.string_value() == "k.blocks":  # knows the size of its blocks
        launch.kernel = SymbolRefAttr("k", [StringAttr("free_blocks")])


def refused(error: OparError, managed: bool) -> str | tuple[str, ...]:
    """In short why opar refuses a program; a problem where it should not."""
    text = re.sub(r"^<string>:\d+:\d+: ", "", str(error))
    for part, short in (EXPECTED | EXPECTED_MANAGED if managed else EXPECTED).items():
        if part in text:
            return f"refused: {short}"
    return (f"{type(error).__name__}: {text}",)


Task = tuple[str, Sequence[int], str, str]
"""A kind of programs, their seeds, one of `PIPELINES`, and a kind of device."""


@cache
def runner(device: str) -> Runner:
    """The runner of this process for a kind of device: `cpu`, `cuda`, or `separate`."""
    return Runner(SeparateDevice() if device == "separate" else opar.get_device(device))


def ran(task: Task) -> tuple[int, list[str], Counter[str]]:
    """
    Run the programs of a task: how many they are, the failures, made small, as text, and what
    became of all of them.
    """
    kind, seeds, pipeline, device = task
    one = runner(device)
    one.counts = Counter()
    check = one.check(pipeline)
    failures = list(campaign(kind, seeds, check))
    counts = one.counts.copy()  # not of what making small tries
    return len(seeds), [f"{pipeline}: {made_small(f, check)}" for f in failures], counts
