"""
Operations that touch memory or wait, as events of a `Trace`.

What counts as order:

- the host runs its operations one after the other;
- an asynchronous operation of the device starts at some time after the host came to it and after
  its tokens; a `gpu.wait async` is complete when all its tokens are;
- a `gpu.wait` and a synchronous operation of the device hold the host.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation, SSAValue

from opar.dialects import affine, gpu, memref
from tests.oracle.kernels import Kernel, compile_kernel
from tests.oracle.memory import POISON, Memory, View, mask_of
from tests.oracle.scalars import affine_results, compiled, expression
from tests.oracle.trace import Event, Run, Token, Trace
from tests.oracle.views import sizes_of


@dataclass
class Thread:
    """One thread of the host; `done`: the events that are complete where it is."""

    done: int = 0


@dataclass
class Kernels:
    """The kernels of a module, and its operations on numbers, as Python functions, made once."""

    made: dict[gpu.FuncOp, Kernel] = field(default_factory=dict)
    scalars: dict[Operation, Callable[..., object] | None] = field(default_factory=dict)

    def of(self, launch: gpu.LaunchFuncOp) -> Kernel:
        """The kernel that `launch` runs."""
        function = launch.lookup_kernel()
        assert function is not None
        if function not in self.made:
            self.made[function] = compile_kernel(function)
        return self.made[function]

    def scalar(self, op: Operation) -> Callable[..., object] | None:
        """An operation on numbers as a Python function; None for others."""
        if op not in self.scalars:
            count = len(op.operands)
            text = expression(op, [f"a{i}" for i in range(count)])
            self.scalars[op] = compiled(text, count) if text is not None else None
        return self.scalars[op]


class Recorder:
    """The values and the memory of a run, and what happened to it."""

    def __init__(self, memory: Memory, kernels: Kernels):
        self.memory, self.kernels = memory, kernels
        self.trace = Trace()
        self.values: dict[SSAValue, Any] = {}
        self.globals: dict[str, View] = {}
        self.defined = (1 << len(memory.cells)) - 1  # cells that something was written to

    def of(self, values: Iterable[SSAValue]) -> tuple:
        """What values are now."""
        return tuple([self.values[v] for v in values])

    def give(self, op: Operation, *results: object) -> None:
        """Set the results of an operation."""
        for result, value in zip(op.results, results, strict=True):
            self.values[result] = value

    def event(
        self, op: Operation, thread: Thread, reads: int, writes: int, run: Run, ran: bool = False
    ) -> None:
        """An operation of the device; it is run unless it `ran` already."""
        tokens = [v for v in self.of(op.operands) if isinstance(v, Token)]
        is_async = bool(op.results) and isinstance(op.results[-1].type, gpu.AsyncTokenType)
        before, direct = thread.done, 0
        for token in tokens:
            before |= token.complete
            direct |= token.direct
        event = self._add(op, is_async, reads, writes, before, thread.done, direct, run, ran)
        complete = before | 1 << event.number
        if is_async:
            self.values[op.results[-1]] = Token(complete, 1 << event.number)
        else:
            thread.done = complete

    def host(self, op: Operation, thread: Thread, reads: int, writes: int, run: Run) -> object:
        """An operation of the host; gives what it sees."""
        done = thread.done
        event = self._add(op, False, reads, writes, done, done, 0, run)
        thread.done |= 1 << event.number
        return event.seen

    def _add(
        self,
        op: Operation,
        on_device: bool,
        reads: int,
        writes: int,
        before: int,
        at_issue: int,
        direct: int,
        run: Run | None,
        ran: bool = False,
    ) -> Event:
        self.trace.undefined |= reads & ~self.defined
        self.defined |= writes
        number = len(self.trace.events)
        event = Event(number, op, on_device, reads, writes, before, at_issue, direct, run)
        self.trace.events.append(event)
        if run is not None and not ran:
            event.seen = run(self.memory.cells)
        return event

    def launch(self, op: Operation, thread: Thread) -> None:
        assert isinstance(op, gpu.LaunchFuncOp)
        kernel = self.kernels.of(op)
        grid, block = self.of(op.grid_size), self.of(op.block_size)
        arguments = self.of(op.kernel_operands)
        touched = kernel(self.memory.cells, grid, block, arguments)  # pyright: ignore
        if touched.raced:
            self.trace.raced.append(op)

        def run(memory: list[int]) -> object:
            kernel(memory, grid, block, arguments)  # pyright: ignore
            return None

        self.event(op, thread, touched.reads, touched.writes, run, ran=True)

    def copy(self, op: Operation, thread: Thread) -> None:
        """`gpu.memcpy` and `memref.copy`."""
        on_device = isinstance(op, gpu.MemcpyOp)
        pair = (op.src, op.dst) if isinstance(op, gpu.MemcpyOp) else op.operands
        source, target = self.of(pair)
        from_, to = source.cells(), target.cells()
        assert source.sizes == target.sizes
        if from_ != to and not set(from_).isdisjoint(to):
            self.trace.raced.append(op)

        def run(memory: list[int]) -> None:
            for cell, value in zip(to, [memory[c] for c in from_], strict=True):
                memory[cell] = value

        add = self.event if on_device else self.host
        add(op, thread, mask_of(from_), mask_of(to), run)

    def memset(self, op: Operation, thread: Thread) -> None:
        assert isinstance(op, gpu.MemsetOp)
        target, value = self.of((op.dst, op.value))
        self.event(op, thread, 0, target.mask, _filler(target.cells(), lambda _: value))

    def alloc(self, op: Operation, thread: Thread) -> None:
        """`memref.alloc`, `memref.alloca`, `gpu.alloc`."""
        type = op.results[0].type
        assert isinstance(type, MemRefType)
        operands = [v for v in self.of(op.operands) if isinstance(v, int)]
        found = self.memory.allocate(sizes_of(type, operands))
        cells = list(range(found.allocation.start, found.allocation.start + found.allocation.size))
        add = self.event if isinstance(op, gpu.AllocOp) else self.host
        add(op, thread, 0, found.allocation.mask, _filler(cells, lambda c: POISON - c))
        self.defined &= ~found.allocation.mask
        self.values[op.results[0]] = found

    def dealloc(self, op: Operation, thread: Thread) -> None:
        """`memref.dealloc`, `gpu.dealloc`."""
        operand = op.memref if isinstance(op, gpu.DeallocOp) else op.operands[0]
        found = self.values[operand].allocation
        cells = list(range(found.start, found.start + found.size))
        add = self.event if isinstance(op, gpu.DeallocOp) else self.host
        add(op, thread, 0, found.mask, _filler(cells, lambda c: ~(POISON - c)))
        self.defined &= ~found.mask

    def load(self, op: Operation, thread: Thread) -> None:
        """`memref.load`, `affine.load`."""
        assert isinstance(op, memref.LoadOp | affine.LoadOp)
        cell = self.values[op.memref].cell(*self._indices(op, op.indices))
        self.give(op, self.host(op, thread, 1 << cell, 0, lambda memory: memory[cell]))

    def store(self, op: Operation, thread: Thread) -> None:
        """`memref.store`, `affine.store`."""
        assert isinstance(op, memref.StoreOp | affine.StoreOp)
        cell = self.values[op.memref].cell(*self._indices(op, op.indices))
        value = self.values[op.value]
        self.host(op, thread, 0, 1 << cell, _filler([cell], lambda _: value))

    def _indices(self, op: Operation, values: Sequence[SSAValue]) -> Sequence[int]:
        given = self.of(values)
        if op.name.startswith("memref."):
            return given
        texts = affine_results(op, [f"a{i}" for i in range(len(given))])
        return [compiled(t, len(given))(*given) for t in texts]

    def dim(self, op: Operation, thread: Thread) -> None:
        source, index = self.of(op.operands)
        self.give(op, source.sizes[index])

    def get_global(self, op: Operation, thread: Thread) -> None:
        """A global is there from the start; its memory is made where it is first named."""
        type = op.results[0].type
        assert isinstance(type, MemRefType)
        name = str(op.properties["name"])
        if name not in self.globals:
            self.globals[name] = self.memory.allocate(type.get_shape())
        self.give(op, self.globals[name])

    def wait(self, op: Operation, thread: Thread) -> None:
        assert isinstance(op, gpu.WaitOp)
        complete, direct = thread.done, 0
        for token in self.of(op.async_dependencies):
            complete |= token.complete
            direct |= token.direct
        if op.async_token is not None:
            self.give(op, Token(complete, direct))
            return
        event = self._add(op, False, 0, 0, complete, thread.done, direct, None)
        thread.done = complete | 1 << event.number


def _filler(cells: Sequence[int], value: Callable[[int], int]) -> Run:
    def run(memory: list[int]) -> None:
        for cell in cells:
            memory[cell] = value(cell)

    return run
