"""
Runs a function of the host on concrete arguments and notes what happens: a `Trace`.

What counts as order:

- the host runs its operations one after the other; the body of an `async.execute` is a thread of
  the host of its own, which starts when the host gets there (and what it depends on is complete)
  and is complete for whoever awaits it;
- an asynchronous operation of the device starts at some time after the host came to it and after
  its tokens; a `gpu.wait async` is complete when all its tokens are;
- a `gpu.wait` and a synchronous operation of the device hold the host.

A function that is only declared reads and writes all elements of its memref arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects import arith, cf, func
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import SymbolTable

from opar.dialects import affine, async_, gpu, memref, scf
from tests.oracle.kernels import Kernel, compile_kernel, loop_bounds
from tests.oracle.memory import POISON, Memory, View, mask_of
from tests.oracle.scalars import affine_results, compiled, condition, expression
from tests.oracle.trace import Event, Run, Token, Trace
from tests.oracle.views import sizes_of, view

MOST_STEPS = 20_000


class EndlessLoop(Exception):
    """The program ran for more than `MOST_STEPS` operations."""


@dataclass
class _Thread:
    """One thread of the host; `done`: the events that are complete where it is."""

    done: int = 0


@dataclass(frozen=True)
class _Async:
    """An `!async.token` or `!async.value`: what is complete once it is awaited, and its value."""

    complete: int
    value: object = None


@dataclass
class _Group:
    complete: int = 0
    members: int = 0


@dataclass
class Kernels:
    """The kernels of a module as Python functions, made once each."""

    made: dict[gpu.FuncOp, Kernel] = field(default_factory=dict)

    def of(self, launch: gpu.LaunchFuncOp) -> Kernel:
        """The kernel that `launch` runs."""
        function = launch.lookup_kernel()
        assert function is not None
        if function not in self.made:
            self.made[function] = compile_kernel(function)
        return self.made[function]


class Interpreter:
    """Runs one function once. `arguments`: views of `memory`, numbers, or tokens."""

    def __init__(
        self, function: func.FuncOp, memory: Memory, arguments: Sequence[object], kernels: Kernels
    ):
        self.memory, self.kernels = memory, kernels
        self.trace = Trace()
        self.values: dict[SSAValue, Any] = {}
        self.globals: dict[str, View] = {}
        self.steps = 0
        self.apart = 0  # the events that the body of an `async.execute` has waited for itself
        self.function, self.arguments = function, arguments

    def run(self) -> Trace:
        """Run it. Raises `OutOfBounds`, `EndlessLoop`."""
        trace = self.trace
        before = len(self.memory.cells)
        trace.start = list(self.memory.cells)
        main = _Thread()
        trace.returned = self.call(self.function, self.arguments, main)
        handed = sum(t.complete for t in trace.returned if isinstance(t, Token))
        self.check_finished(main.done | handed)
        trace.start += [POISON - i for i in range(before, len(self.memory.cells))]
        trace.end = self.memory.cells
        return trace

    def check_finished(self, done: int) -> None:
        """Note the events of the device that may still run behind the end."""
        for event in self.trace.events:
            if event.on_device and not (done | self.apart) >> event.number & 1:
                self.trace.unfinished |= 1 << event.number

    # Control flow

    def call(self, function: func.FuncOp, arguments: Sequence[object], thread: _Thread) -> tuple:
        """The results of a function that has a body."""
        block, given = function.body.blocks[0], tuple(arguments)
        while True:
            end, results = self.block(block, given, thread)
            match end:
                case cf.BranchOp():
                    block, given = end.successor, results
                case cf.ConditionalBranchOp():
                    count = len(end.then_arguments)
                    taken = bool(results[0])
                    block = end.then_block if taken else end.else_block
                    given = results[1 : 1 + count] if taken else results[1 + count :]
                case _:
                    return results

    def block(
        self, block: Block, arguments: Sequence[object], thread: _Thread
    ) -> tuple[Operation | None, tuple]:
        """Run a block; its terminator and what that passes on."""
        for argument, value in zip(block.args, arguments, strict=True):
            self.values[argument] = value
        for op in block.ops:
            self.steps += 1
            if self.steps > MOST_STEPS:
                raise EndlessLoop(str(self.function.sym_name))
            if op.name in _TERMINATORS:
                return op, self.of(op.operands)
            self.operation(op, thread)
        return None, ()

    def of(self, values: Iterable[SSAValue]) -> tuple:
        """What values are now."""
        return tuple([self.values[v] for v in values])

    def give(self, op: Operation, *results: object) -> None:
        """Set the results of an operation."""
        for result, value in zip(op.results, results, strict=True):
            self.values[result] = value

    def operation(self, op: Operation, thread: _Thread) -> None:
        """Run one operation."""
        handler = _HANDLERS.get(op.name)
        if handler is not None:
            handler(self, op, thread)
            return
        operands = self.of(op.operands)
        if isinstance(op, arith.SelectOp):
            self.give(op, operands[1] if operands[0] else operands[2])
            return
        text = expression(op, [f"a{i}" for i in range(len(operands))])
        if text is not None:
            self.give(op, compiled(text, len(operands))(*operands))
            return
        found = view(op, operands)
        if found is None:
            raise NotImplementedError(str(op))
        self.give(op, found)

    def scf_if(self, op: Operation, thread: _Thread) -> None:
        """`scf.if` and `affine.if`."""
        operands = self.of(op.operands)
        if isinstance(op, affine.IfOp):
            text = condition(op, [f"a{i}" for i in range(len(operands))])
            taken = compiled(text, len(operands))(*operands)
        else:
            taken = operands[0]
        region = op.regions[0 if taken else 1]
        if region.blocks:
            self.give(op, *self.block(region.block, (), thread)[1])

    def scf_for(self, op: Operation, thread: _Thread) -> None:
        """`scf.for` and `affine.for`."""
        assert isinstance(op, scf.ForOp | affine.ForOp)
        operands = self.of(op.operands)
        text, _ = loop_bounds(op, [f"a{i}" for i in range(len(operands))])
        carried = operands[len(operands) - len(op.results) :]
        bounds = compiled(f"range({text})", len(operands))(*operands)
        for i in bounds:  # pyright: ignore
            carried = self.block(op.body.block, (i, *carried), thread)[1]
        self.give(op, *carried)

    def scf_while(self, op: Operation, thread: _Thread) -> None:
        assert isinstance(op, scf.WhileOp)
        carried = self.of(op.operands)
        while True:
            _, (more, *passed) = self.block(op.before_region.block, carried, thread)
            if not more:
                break
            carried = self.block(op.after_region.block, passed, thread)[1]
        self.give(op, *passed)

    def index_switch(self, op: Operation, thread: _Thread) -> None:
        assert isinstance(op, scf.IndexSwitchOp)
        cases = [int(c) for c in op.cases.get_values()]
        chosen = self.values[op.arg]
        region = op.case_regions[cases.index(chosen)] if chosen in cases else op.default_region
        self.give(op, *self.block(region.block, (), thread)[1])

    def execute_region(self, op: Operation, thread: _Thread) -> None:
        self.give(op, *self.block(op.regions[0].block, (), thread)[1])

    def func_call(self, op: Operation, thread: _Thread) -> None:
        assert isinstance(op, func.CallOp)
        function = SymbolTable.lookup_symbol(op, op.callee)
        assert isinstance(function, func.FuncOp)
        arguments = self.of(op.operands)
        if function.body.blocks:
            before = dict(self.values)
            results = self.call(function, arguments, thread)
            self.values = before
            self.give(op, *results)
            return
        cells = sorted({c for a in arguments if isinstance(a, View) for c in a.cells()})
        mask = mask_of(cells)

        def run(memory: list[int]) -> object:
            total = sum(memory[c] * (i + 3) for i, c in enumerate(cells))
            for i, c in enumerate(cells):
                memory[c] = (memory[c] * 7 + total + i) & 0xFFFF
            return total

        self.host(op, thread, mask, mask, run)
        assert not op.results, "a declared function that returns something"

    # Events

    def event(self, op: Operation, thread: _Thread, reads: int, writes: int, run: Run) -> None:
        """An operation of the device."""
        tokens = [v for v in self.of(_dependencies(op)) if isinstance(v, Token)]
        is_async = bool(op.results) and isinstance(op.results[-1].type, gpu.AsyncTokenType)
        before, direct = thread.done, 0
        for token in tokens:
            before |= token.complete
            direct |= token.direct
        event = self._add(op, is_async, reads, writes, before, thread.done, direct, run)
        complete = before | 1 << event.number
        if is_async:
            self.values[op.results[-1]] = Token(complete, 1 << event.number)
        else:
            thread.done = complete

    def host(self, op: Operation, thread: _Thread, reads: int, writes: int, run: Run) -> object:
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
    ) -> Event:
        number = len(self.trace.events)
        event = Event(number, op, on_device, reads, writes, before, at_issue, direct, run)
        self.trace.events.append(event)
        if run is not None:
            event.seen = run(self.memory.cells)
        return event

    def launch(self, op: Operation, thread: _Thread) -> None:
        assert isinstance(op, gpu.LaunchFuncOp)
        kernel = self.kernels.of(op)
        grid, block = self.of(op.grid_size), self.of(op.block_size)
        arguments = self.of(op.kernel_operands)
        scratch = list(self.memory.cells)
        touched = kernel(scratch, grid, block, arguments)  # pyright: ignore
        if touched.raced:
            self.trace.raced.append(Event(-1, op, True, 0, 0, 0, 0, 0, None))

        def run(memory: list[int]) -> object:
            kernel(memory, grid, block, arguments)  # pyright: ignore
            return None

        self.event(op, thread, touched.reads, touched.writes, run)

    def copy(self, op: Operation, thread: _Thread) -> None:
        """`gpu.memcpy` and `memref.copy`."""
        on_device = isinstance(op, gpu.MemcpyOp)
        pair = (op.src, op.dst) if isinstance(op, gpu.MemcpyOp) else op.operands
        source, target = self.of(pair)
        from_, to = source.cells(), target.cells()
        assert source.sizes == target.sizes

        def run(memory: list[int]) -> None:
            for cell, value in zip(to, [memory[c] for c in from_], strict=True):
                memory[cell] = value

        add = self.event if on_device else self.host
        add(op, thread, mask_of(from_), mask_of(to), run)

    def memset(self, op: Operation, thread: _Thread) -> None:
        assert isinstance(op, gpu.MemsetOp)
        target, value = self.of((op.dst, op.value))
        self.event(op, thread, 0, target.mask, _filler(target.cells(), lambda _: value))

    def alloc(self, op: Operation, thread: _Thread) -> None:
        """`memref.alloc`, `memref.alloca`, `gpu.alloc`."""
        type = op.results[0].type
        assert isinstance(type, MemRefType)
        operands = [v for v in self.of(op.operands) if isinstance(v, int)]
        found = self.memory.allocate(sizes_of(type, operands))
        cells = list(range(found.allocation.start, found.allocation.start + found.allocation.size))
        add = self.event if isinstance(op, gpu.AllocOp) else self.host
        add(op, thread, 0, found.allocation.mask, _filler(cells, lambda c: POISON - c))
        self.values[op.results[0]] = found

    def dealloc(self, op: Operation, thread: _Thread) -> None:
        """`memref.dealloc`, `gpu.dealloc`."""
        operand = op.memref if isinstance(op, gpu.DeallocOp) else op.operands[0]
        found = self.values[operand].allocation
        cells = list(range(found.start, found.start + found.size))
        add = self.event if isinstance(op, gpu.DeallocOp) else self.host
        add(op, thread, 0, found.mask, _filler(cells, lambda c: ~(POISON - c)))

    def load(self, op: Operation, thread: _Thread) -> None:
        """`memref.load`, `affine.load`."""
        assert isinstance(op, memref.LoadOp | affine.LoadOp)
        cell = self.values[op.memref].cell(*self._indices(op, op.indices))
        self.give(op, self.host(op, thread, 1 << cell, 0, lambda memory: memory[cell]))

    def store(self, op: Operation, thread: _Thread) -> None:
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

    def dim(self, op: Operation, thread: _Thread) -> None:
        source, index = self.of(op.operands)
        self.give(op, source.sizes[index])

    def get_global(self, op: Operation, thread: _Thread) -> None:
        """A global is there from the start; its memory is made where it is first named."""
        type = op.results[0].type
        assert isinstance(type, MemRefType)
        name = str(op.properties["name"])
        if name not in self.globals:
            self.globals[name] = self.memory.allocate(type.get_shape())
        self.give(op, self.globals[name])

    def wait(self, op: Operation, thread: _Thread) -> None:
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

    # async

    def execute(self, op: Operation, thread: _Thread) -> None:
        assert isinstance(op, async_.ExecuteOp)
        inner = _Thread(thread.done)
        for given in self.of(op.dependencies):
            inner.done |= given.complete
        values = self.of(op.body_operands)
        for given in values:
            inner.done |= given.complete
        first = len(self.trace.events)
        _, results = self.block(op.body.block, [v.value for v in values], inner)
        self.give(op, _Async(inner.done), *(_Async(inner.done, r) for r in results))
        # What its body waits for itself need not be awaited; the rest must be, somewhere.
        self.apart |= inner.done & ((1 << len(self.trace.events)) - (1 << first))

    def await_(self, op: Operation, thread: _Thread) -> None:
        (given,) = self.of(op.operands)
        thread.done |= given.complete
        if op.results:
            self.give(op, given.value)

    def create_group(self, op: Operation, thread: _Thread) -> None:
        self.give(op, _Group())

    def add_to_group(self, op: Operation, thread: _Thread) -> None:
        given, group = self.of(op.operands)
        group.complete |= given.complete
        group.members += 1
        self.give(op, group.members - 1)

    def await_all(self, op: Operation, thread: _Thread) -> None:
        (group,) = self.of(op.operands)
        thread.done |= group.complete


def _dependencies(op: Operation) -> Sequence[SSAValue]:
    return [v for v in op.operands if isinstance(v.type, gpu.AsyncTokenType)]


def _filler(cells: Sequence[int], value: Callable[[int], int]) -> Run:
    def run(memory: list[int]) -> None:
        for cell in cells:
            memory[cell] = value(cell)

    return run


_TERMINATORS = {
    "func.return",
    "cf.br",
    "cf.cond_br",
    "scf.yield",
    "scf.condition",
    "affine.yield",
    "async.yield",
}

_HANDLERS: dict[str, Callable[[Interpreter, Any, _Thread], None]] = {
    "scf.if": Interpreter.scf_if,
    "affine.if": Interpreter.scf_if,
    "scf.for": Interpreter.scf_for,
    "affine.for": Interpreter.scf_for,
    "scf.while": Interpreter.scf_while,
    "scf.index_switch": Interpreter.index_switch,
    "scf.execute_region": Interpreter.execute_region,
    "func.call": Interpreter.func_call,
    "gpu.launch_func": Interpreter.launch,
    "gpu.memcpy": Interpreter.copy,
    "memref.copy": Interpreter.copy,
    "gpu.memset": Interpreter.memset,
    "gpu.alloc": Interpreter.alloc,
    "memref.alloc": Interpreter.alloc,
    "memref.alloca": Interpreter.alloc,
    "gpu.dealloc": Interpreter.dealloc,
    "memref.dealloc": Interpreter.dealloc,
    "memref.load": Interpreter.load,
    "affine.load": Interpreter.load,
    "memref.store": Interpreter.store,
    "affine.store": Interpreter.store,
    "memref.dim": Interpreter.dim,
    "memref.get_global": Interpreter.get_global,
    "gpu.wait": Interpreter.wait,
    "async.execute": Interpreter.execute,
    "async.await": Interpreter.await_,
    "async.create_group": Interpreter.create_group,
    "async.add_to_group": Interpreter.add_to_group,
    "async.await_all": Interpreter.await_all,
}
