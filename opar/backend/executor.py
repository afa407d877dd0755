"""Runs a `Schedule` on a device, operation by operation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from opar.backend import schedule as s
from opar.backend.arguments import BoundArgument
from opar.backend.call_memory import CallMemory, host_memory
from opar.backend.device import ORDERS, Device, Event, Kernel, Memory, Session
from opar.backend.memory_plan import MemoryPlanner, bytes_of
from opar.backend.numbers import bits_of
from opar.backend.scalars import ScalarError, compute, evaluate
from opar.backend.streams import Streams, Token, join
from opar.errors import ArgumentError, TargetLimitError

MAX_BLOCK = (1024, 1024, 64)
MAX_THREADS = 1024
MAX_GRID = (2**31 - 1, 65535, 65535)


def execute(
    schedule: s.Schedule,
    device: Device,
    kernels: Mapping[str, Kernel],
    arguments: Sequence[BoundArgument],
    kept: dict[str, Memory] | None = None,
    planner: MemoryPlanner | None = None,
) -> list[Any]:
    """
    Run `schedule` once and return its results: numpy arrays and numbers. `kept` is the memory of
    the program's globals, by name, which lives from call to call; `planner` that of `schedule`.

    Raises `ArgumentError` for sizes and indices that make no sense, `TargetLimitError` for a
    launch that is too large, and `DeviceError` where the device fails. Nothing runs any more when
    it returns.
    """
    with np.errstate(all="ignore"):  # MLIR's floats overflow to infinity, in silence
        kept = {} if kept is None else kept
        planner = planner or MemoryPlanner(schedule, device.kind == "cuda")
        call = _Execution(schedule, device, kernels, arguments, kept, planner)
        return call.run()


class _Execution:
    def __init__(
        self,
        schedule: s.Schedule,
        device: Device,
        kernels: Mapping[str, Kernel],
        arguments: Sequence[BoundArgument],
        kept: dict[str, Memory],
        planner: MemoryPlanner,
    ):
        self.schedule = schedule
        self.device = device
        self.kernels = kernels
        self.on_gpu = device.kind == "cuda"
        with _named(f"@{schedule.entry}", "a size is divided by zero"):
            self.values = evaluate(
                schedule.scalars,
                lambda i: arguments[i].value,
                lambda i, d: arguments[i].sizes[d],
                lambda i, d: arguments[i].strides[d],
            )
        self.plan = planner.plan(lambda number: bytes_of(schedule, number, self.values))
        self.streams = self.plan.use.streams
        plan = self.plan if _shares_memory(device.schedule_seed) else None
        self.memory = CallMemory(schedule, device, arguments, self.values, kept, plan)
        self.events: dict[int, Event] = {}

    def run(self) -> list[Any]:
        """Run all operations, then build the results."""
        session = self.device.begin(self.streams)
        try:
            try:
                if self.schedule.has_jumps:
                    self._run_with_jumps(session)
                else:
                    self._run_in_order(session)
                fetched = [self._fetch(result, session) for result in self.schedule.results]
            finally:
                session.finish()
        finally:
            self.memory.free_all()
            session.close()
        pairs = zip(self.schedule.results, fetched, strict=True)
        return [self.memory.result(result, copy) for result, copy in pairs]

    def _run_in_order(self, session: Session) -> None:
        recorded = self.schedule.recorded
        last_uses = self._last_uses()
        recorded = recorded.union(*last_uses.values())
        for number, op in enumerate(self.schedule.operations):
            stream = (op.stream or 0) % self.streams
            for before in op.dependencies:
                if op.stream is None:
                    session.synchronize(self.events[before])
                else:
                    session.wait(stream, self.events[before])
            self._step(op, stream, session)
            if isinstance(op, s.Free) and number in last_uses:
                after = [self.events[i] for i in last_uses[number]]
                self.memory.release(op.buffer, session, after)
            if op.stream is not None and (number in recorded or op.blocking):
                self.events[number] = session.record(stream)
                if op.blocking:
                    session.synchronize(self.events[number])

    def _last_uses(self) -> dict[int, list[int]]:
        """For each `Free`, the steps on streams that its tokens say it runs after."""
        if self.device.schedule_seed is None:
            return {}
        operations, tokens = self.schedule.operations, self.schedule.tokens
        found: dict[int, list[int]] = {}
        for number, op in enumerate(operations):
            if isinstance(op, s.Alloc | s.Free):
                found[number] = []
                for before in tokens[number]:
                    if before in found:
                        found[number] += found[before]
                    elif operations[before].stream is not None:
                        found[number].append(before)
        return found

    def _run_with_jumps(self, session: Session) -> None:
        operations, recorded = self.schedule.operations, self.schedule.recorded
        streams = Streams(session, self.streams)
        tokens: dict[int, Token] = {}
        registers: dict[int, Token] = {}

        def stands_for(steps: Sequence[int], moved: Sequence[int]) -> Token:
            """What steps, as they ran last, and token registers stand for; not yet complete."""
            found = [*(tokens[i] for i in steps), *(registers[r] for r in moved)]
            return streams.running(join(found)) if found else {}

        number = 0
        while number < len(operations):
            op = operations[number]
            following = number + 1
            match op:
                case s.Jump():
                    following = op.target
                case s.Branch():
                    if not self.values[op.condition]:
                        following = op.target
                case s.Move():
                    self._move(op)
                    registers |= {
                        move.target: stands_for(move.steps, move.registers) for move in op.tokens
                    }
                case s.Wait():
                    streams.synchronize(stands_for(op.dependencies, op.registers))
                case s.Free() if op.stream is None:
                    self.memory.free(op.buffer, session)
                case s.Alloc() | s.Free():
                    self._step(op, 0, session)
                case _ if op.stream is None:
                    self._step(op, 0, session)
                case _:
                    stream = streams.begin(stands_for(op.dependencies, op.registers))
                    self._step(op, stream, session)
                    if number in recorded or op.blocking:
                        tokens[number] = streams.record(stream)
                        if op.blocking:
                            streams.synchronize(tokens[number])
            number = following

    def _step(self, op: s.Operation, stream: int, session: Session) -> None:
        match op:
            case s.Launch():
                self._launch(op, stream, session)
            case s.Copy():
                self._copy(op, stream, session)
            case s.Fill():
                target = self.memory.range(op.target, op)
                dtype = self.schedule.buffers[op.target.buffer].dtype
                if target.nbytes:
                    session.fill(stream, target, bits_of(dtype, self.values[op.value]))
            case s.Alloc():
                self.memory.allocate(op.buffer)
            case s.Compute():
                with _named(op.location, "an integer is divided by zero"):
                    compute(self.schedule.scalars, op.places, self.values)
            case s.Load():
                self._load(op, session)
            case s.Store():
                self._store(op, session)
            case s.Rebase():
                self.memory.rebase(op)
            case s.Assert():
                if not self.values[op.condition]:
                    raise ArgumentError(f"{op.location}: the program stopped: {op.message}")
            case _:
                pass  # the host waited above; memory is freed when this execution ends

    def _move(self, op: s.Move) -> None:
        values = [self.values[source] for _, source in op.scalars]
        for (target, _), value in zip(op.scalars, values, strict=True):
            self.values[target] = value
        self.memory.move(op.buffers)

    # Launches and copies

    def _launch(self, op: s.Launch, stream: int, session: Session) -> None:
        grid = tuple(int(self.values[i]) for i in op.grid)
        block = tuple(int(self.values[i]) for i in op.block)
        if 0 in grid or 0 in block:
            return
        if any(n < 0 for n in grid + block):
            raise ArgumentError(f"{op.location}: launch of {op.name} has a negative size")
        self._check_limits(op, grid, block)
        address = self.memory.address
        arguments = [address(a) if isinstance(a, s.View) else self.values[a] for a in op.arguments]
        shared = 0 if op.shared is None else int(self.values[op.shared])
        kernel = self.kernels[op.kernel]
        session.launch(stream, kernel, grid, block, shared, arguments)  # pyright: ignore[reportArgumentType]

    def _check_limits(self, op: s.Launch, grid: tuple[int, ...], block: tuple[int, ...]) -> None:
        threads = block[0] * block[1] * block[2]
        too_many = threads > MAX_THREADS or any(
            n > most for n, most in zip(block, MAX_BLOCK, strict=True)
        )
        if too_many and self.on_gpu:
            raise TargetLimitError(
                f"{op.location}: launch of {op.name} has blocks of {block} threads; a GPU runs at "
                f"most {MAX_THREADS} a block, {MAX_BLOCK} in each dimension"
            )
        if self.on_gpu and any(n > most for n, most in zip(grid, MAX_GRID, strict=True)):
            raise TargetLimitError(
                f"{op.location}: launch of {op.name} has a grid of {grid} blocks; a GPU runs at "
                f"most {MAX_GRID} in each dimension"
            )

    def _copy(self, op: s.Copy, stream: int, session: Session) -> None:
        memory = self.memory
        sizes = [memory.sizes(op.source), memory.sizes(op.target)]
        if sizes[0] != sizes[1]:
            message = f"copy of {list(sizes[0])} elements to {list(sizes[1])}: the sizes differ"
            raise ArgumentError(f"{op.location}: {message}")
        same_place = memory.address(op.source) == memory.address(op.target)
        if 0 in sizes[0] or (same_place and memory.strides(op.source) == memory.strides(op.target)):
            return  # the buffer was bound to the argument itself
        to_gpu, from_gpu = (memory.is_on_gpu(v.buffer) for v in (op.target, op.source))
        if op.stream is None and not (to_gpu or from_gpu):
            memory.array(op.target)[...] = memory.array(op.source)
            return
        for target, source in memory.pieces(op):
            session.copy(stream, target, source, to_gpu, from_gpu)
        if op.stream is None:  # a copy by the host is done when the host goes on
            session.synchronize(session.record(stream))

    # Single elements

    def _load(self, op: s.Load, session: Session) -> None:
        element = self.memory.element(op.source, op.indices, op)
        dtype = self.schedule.buffers[op.source.buffer].dtype
        if self.memory.is_on_gpu(op.source.buffer):
            copy = host_memory(element.nbytes)
            session.copy(0, copy, element, to_device=False, from_device=True)
            session.synchronize(session.record(0))
            element = copy
        self.values[op.place] = self.memory.read(element, dtype)

    def _store(self, op: s.Store, session: Session) -> None:
        element = self.memory.element(op.target, op.indices, op)
        dtype = self.schedule.buffers[op.target.buffer].dtype
        if not self.memory.is_on_gpu(op.target.buffer):
            self.memory.write(element, dtype, self.values[op.value])
            return
        copy = host_memory(element.nbytes)
        self.memory.write(copy, dtype, self.values[op.value])
        session.copy(0, element, copy, to_device=True, from_device=False)
        session.synchronize(session.record(0))

    # Results

    def _fetch(self, result: s.Result, session: Session) -> Memory | None:
        """Bring a result that is in GPU memory to the host."""
        view = result.view
        if view is None or not self.memory.is_on_gpu(view.buffer) or self.memory.is_argument(view):
            return None
        source = self.memory.range(view, self.schedule.operations[-1])
        target = host_memory(source.nbytes)
        for stream in range(self.streams):
            session.synchronize(session.record(stream))
        session.copy(0, target, source, to_device=False, from_device=True)
        return target


def _shares_memory(seed: int | None) -> bool:
    """Whether temporaries share memory. With half of the seeds what is free is overwritten."""
    return seed is None or seed // ORDERS % 2 == 0


@contextmanager
def _named(where: str, division: str) -> Iterator[None]:
    """Errors of scalars as errors of the call, at a place."""
    try:
        yield
    except ZeroDivisionError as error:
        raise ArgumentError(f"{where}: {division}") from error
    except ScalarError as error:
        raise ArgumentError(f"{where}: {error}") from error
