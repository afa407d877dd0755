"""Runs a `Schedule` on a device, operation by operation: the stream mode."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from opar.backend import schedule as s
from opar.backend.arguments import BoundArgument
from opar.backend.device import Device, Event, Kernel, Memory, Session
from opar.backend.numbers import bits_of, dtype_of
from opar.backend.scalars import evaluate
from opar.errors import ArgumentError, TargetLimitError, UnsupportedError

MAX_BLOCK = (1024, 1024, 64)
MAX_THREADS = 1024
MAX_GRID = (2**31 - 1, 65535, 65535)


def execute(
    schedule: s.Schedule,
    device: Device,
    kernels: Mapping[str, Kernel],
    arguments: Sequence[BoundArgument],
) -> list[Any]:
    """
    Run `schedule` once and return its results: numpy arrays and numbers.

    Raises `ArgumentError` for sizes that make no sense, `TargetLimitError` for a launch that is
    too large, and `DeviceError` where the device fails. Nothing runs any more when it returns.
    """
    return _Execution(schedule, device, kernels, arguments).run()


class _Execution:
    def __init__(
        self,
        schedule: s.Schedule,
        device: Device,
        kernels: Mapping[str, Kernel],
        arguments: Sequence[BoundArgument],
    ):
        self.schedule = schedule
        self.device = device
        self.kernels = kernels
        self.arguments = arguments
        self.on_gpu = device.kind == "cuda"
        try:
            self.values = evaluate(
                schedule.scalars,
                lambda i: arguments[i].value,
                lambda i, d: arguments[i].sizes[d],
                lambda i, d: arguments[i].strides[d],
            )
        except ZeroDivisionError as error:
            raise ArgumentError(f"@{schedule.entry}: a size is divided by zero") from error
        self.memory: dict[int, Memory] = {}
        self.staged: dict[int, Memory] = {}
        self.allocated: list[Memory] = []
        self.events: dict[int, Event] = {}

    def run(self) -> list[Any]:
        """Run all operations, then build the results."""
        for number, buffer in enumerate(self.schedule.buffers):
            if buffer.argument is not None:
                bound = self.arguments[buffer.argument].memory
                assert bound is not None
                self.memory[number] = bound
        session = self.device.begin(max(1, self.schedule.streams))
        try:
            try:
                self._run_all(session)
                fetched = [self._fetch(result, session) for result in self.schedule.results]
            finally:
                session.finish()
        finally:
            for memory in self.allocated:
                self.device.free(memory)
            session.close()
        return [self._result(r, f) for r, f in zip(self.schedule.results, fetched, strict=True)]

    def _run_all(self, session: Session) -> None:
        recorded = self.schedule.recorded
        for number, op in enumerate(self.schedule.operations):
            for before in op.dependencies:
                if op.stream is None:
                    session.synchronize(self.events[before])
                else:
                    session.wait(op.stream, self.events[before])
            self._step(op, session)
            if op.stream is not None and (number in recorded or op.blocking):
                self.events[number] = session.record(op.stream)
                if op.blocking:
                    session.synchronize(self.events[number])

    def _step(self, op: s.Operation, session: Session) -> None:
        stream = op.stream or 0
        match op:
            case s.Launch():
                self._launch(op, stream, session)
            case s.Copy():
                self._copy(op, stream, session)
            case s.Fill():
                target = self._range(op.target, op)
                dtype = self.schedule.buffers[op.target.buffer].dtype
                if target.nbytes:
                    session.fill(stream, target, bits_of(dtype, self.values[op.value]))
            case s.Alloc():
                self.memory[op.buffer] = self._allocate(op)
            case _:
                pass  # the host waited above; memory is freed when this execution ends

    # Launches and copies

    def _launch(self, op: s.Launch, stream: int, session: Session) -> None:
        grid = tuple(int(self.values[i]) for i in op.grid)
        block = tuple(int(self.values[i]) for i in op.block)
        if 0 in grid or 0 in block:
            return
        if any(n < 0 for n in grid + block):
            raise ArgumentError(f"{op.location}: launch of {op.name} has a negative size")
        self._check_limits(op, grid, block)
        arguments = [
            self._address(a) if isinstance(a, s.View) else self.values[a] for a in op.arguments
        ]
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
        target, source = self._range(op.target, op), self._range(op.source, op)
        if target.nbytes != source.nbytes:
            message = f"copy of {source.nbytes} bytes to {target.nbytes} bytes"
            raise ArgumentError(f"{op.location}: {message}: the sizes differ")
        if target.address == source.address or not source.nbytes:
            return  # the buffer was bound to the argument itself
        to_gpu = self._is_gpu_memory(op.target.buffer)
        from_gpu = self._is_gpu_memory(op.source.buffer)
        if op.stream is None and not (to_gpu or from_gpu):
            ctypes.memmove(target.address, source.address, source.nbytes)
            return
        session.copy(stream, target, source, to_gpu, from_gpu)
        if op.stream is None:  # a copy by the host is done when the host goes on
            session.synchronize(session.record(stream))

    def _is_gpu_memory(self, number: int) -> bool:
        buffer = self.schedule.buffers[number]
        if buffer.argument is not None:
            return self.arguments[buffer.argument].on_gpu
        return buffer.on_device and self.on_gpu

    # Memory

    def _nbytes(self, number: int) -> int:
        buffer = self.schedule.buffers[number]
        count = 1
        for place in buffer.size:
            count *= int(self.values[place])
        if count < 0:
            raise ArgumentError(f"@{self.schedule.entry}: buffer {buffer.name} has a negative size")
        return count * dtype_of(buffer.dtype).itemsize

    def _allocate(self, op: s.Alloc) -> Memory:
        buffer = self.schedule.buffers[op.buffer]
        nbytes = self._nbytes(op.buffer)
        if buffer.stages is not None:
            return self._stage(buffer.stages)
        if buffer.on_device or not self.on_gpu:
            return self._new(nbytes)
        return _host_memory(nbytes)

    def _new(self, nbytes: int) -> Memory:
        memory = self.device.allocate(nbytes)
        self.allocated.append(memory)
        return memory

    def _stage(self, number: int) -> Memory:
        """Device memory for an argument: its own where the device can use it, else new memory,
        in which arguments that overlap on the host overlap in the same way."""
        argument = self.arguments[number]
        assert argument.memory is not None
        if argument.on_gpu or not self.on_gpu:
            return argument.memory
        if number not in self.staged:
            group = self._overlapping(number)
            memories = [m for i in group if (m := self.arguments[i].memory) is not None]
            first = min(m.address for m in memories)
            last = max(m.address + m.nbytes for m in memories)
            whole = self._new(last - first)
            for i, memory in zip(group, memories, strict=True):
                address = whole.address + memory.address - first
                self.staged[i] = Memory(address, memory.nbytes, whole.owner)
        return self.staged[number]

    def _overlapping(self, number: int) -> list[int]:
        """The arguments that overlap argument `number`, directly or through others."""
        group = [number]
        for i in group:
            group += [
                j
                for j, other in enumerate(self.arguments)
                if j not in group and self.arguments[i].overlaps(other)
            ]
        return group

    def _address(self, view: s.View) -> int:
        item = dtype_of(self.schedule.buffers[view.buffer].dtype).itemsize
        return self.memory[view.buffer].address + int(self.values[view.offset]) * item

    def _range(self, view: s.View, op: s.Operation) -> Memory:
        """The bytes of a view, which has to be contiguous."""
        memory = self.memory[view.buffer]
        item = dtype_of(self.schedule.buffers[view.buffer].dtype).itemsize
        count = 1
        for size, stride in zip(reversed(view.sizes), reversed(view.strides), strict=True):
            if self.values[size] > 1 and self.values[stride] != count:
                raise UnsupportedError(f"{op.location}: cannot copy memory that is not contiguous")
            count *= int(self.values[size])
        begin = int(self.values[view.offset]) * item
        if begin == 0 and count * item == memory.nbytes:
            return memory
        owner = memory.owner
        if isinstance(owner, np.ndarray):
            owner = owner.reshape(-1).view(np.uint8)[begin : begin + count * item]
        return Memory(memory.address + begin, count * item, owner)

    # Results

    def _fetch(self, result: s.Result, session: Session) -> Memory | None:
        """Bring a result that is in GPU memory to the host."""
        if result.view is None or not self._is_gpu_memory(result.view.buffer):
            return None
        buffer = self.schedule.buffers[result.view.buffer]
        if buffer.argument is not None and self.arguments[buffer.argument].on_gpu:
            return None
        source = self._range(result.view, self.schedule.operations[-1])
        target = _host_memory(source.nbytes)
        for stream in range(max(1, self.schedule.streams)):
            session.synchronize(session.record(stream))
        session.copy(0, target, source, to_device=False, from_device=True)
        return target

    def _result(self, result: s.Result, fetched: Memory | None) -> Any:
        if result.view is None:
            assert result.scalar is not None
            value = self.values[result.scalar]
            return bool(value) if result.dtype == "i1" else value
        view = result.view
        buffer = self.schedule.buffers[view.buffer]
        if buffer.argument is not None:
            bound = self.arguments[buffer.argument]
            if tuple(self.values[i] for i in view.sizes) == bound.sizes:
                return bound.array
        memory = fetched or self.memory[view.buffer]
        dtype = dtype_of(result.dtype)
        owner = memory.owner
        assert isinstance(owner, np.ndarray)
        begin = memory.address - owner.ctypes.data
        if fetched is None:
            begin += int(self.values[view.offset]) * dtype.itemsize
        return np.ndarray(
            tuple(int(self.values[i]) for i in view.sizes),
            dtype,
            owner.reshape(-1).view(np.uint8),
            begin,
            tuple(int(self.values[i]) * dtype.itemsize for i in view.strides),
        )


def _host_memory(nbytes: int) -> Memory:
    array = np.empty(nbytes, np.uint8)
    return Memory(array.ctypes.data, nbytes, array)
