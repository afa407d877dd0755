"""
Runs a function of the host on concrete arguments and notes what happens: a `Trace`.

`Recorder` runs what touches memory and says what counts as order; the control flow is here. The
body of an `async.execute` is a thread of the host of its own, which starts when the host gets there
(and what it depends on is complete) and is complete for whoever awaits it. A function that is only
declared reads and writes all elements of its memref arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects import arith, cf, func
from xdsl.ir import Block, Operation
from xdsl.traits import SymbolTable

from opar.dialects import affine, async_, scf
from tests.oracle.kernels import loop_bounds
from tests.oracle.memory import POISON, Memory, View, mask_of
from tests.oracle.recorder import Kernels, Recorder, Thread
from tests.oracle.scalars import compiled, condition
from tests.oracle.trace import Token, Trace
from tests.oracle.views import view

MOST_STEPS = 20_000


class EndlessLoop(Exception):
    """The program ran for more than `MOST_STEPS` operations."""


@dataclass(frozen=True)
class _Async:
    """An `!async.token` or `!async.value`: what is complete once it is awaited, and its value."""

    complete: int
    value: object = None


@dataclass
class _Group:
    complete: int = 0
    members: int = 0


class Interpreter(Recorder):
    """Runs one function once. `arguments`: views of `memory`, numbers, or tokens."""

    def __init__(
        self, function: func.FuncOp, memory: Memory, arguments: Sequence[object], kernels: Kernels
    ):
        super().__init__(memory, kernels)
        self.steps = 0
        self.apart = 0  # the events that the body of an `async.execute` has waited for itself
        self.function, self.arguments = function, arguments

    def run(self) -> Trace:
        """Run it. Raises `OutOfBounds`, `EndlessLoop`."""
        trace = self.trace
        before = len(self.memory.cells)
        trace.start = list(self.memory.cells)
        main = Thread()
        trace.returned = self.call(self.function, self.arguments, main)
        handed = sum(t.complete for t in trace.returned if isinstance(t, Token))
        self.check_finished(main.done | handed)
        trace.start += [POISON - i for i in range(before, len(self.memory.cells))]
        trace.end, trace.defined = self.memory.cells, self.defined
        return trace

    def check_finished(self, done: int) -> None:
        """Note the events of the device that may still run behind the end."""
        for event in self.trace.events:
            if event.on_device and not (done | self.apart) >> event.number & 1:
                self.trace.unfinished |= 1 << event.number

    # Control flow

    def call(self, function: func.FuncOp, arguments: Sequence[object], thread: Thread) -> tuple:
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
        self, block: Block, arguments: Sequence[object], thread: Thread
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

    def operation(self, op: Operation, thread: Thread) -> None:
        """Run one operation."""
        handler = _HANDLERS.get(op.name)
        if handler is not None:
            handler(self, op, thread)
            return
        operands = self.of(op.operands)
        if isinstance(op, arith.SelectOp):
            self.give(op, operands[1] if operands[0] else operands[2])
            return
        scalar = self.kernels.scalar(op)
        if scalar is not None:
            self.give(op, scalar(*operands))
            return
        found = view(op, operands)
        if found is None:
            raise NotImplementedError(str(op))
        self.give(op, found)

    def scf_if(self, op: Operation, thread: Thread) -> None:
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

    def scf_for(self, op: Operation, thread: Thread) -> None:
        """`scf.for` and `affine.for`."""
        assert isinstance(op, scf.ForOp | affine.ForOp)
        operands = self.of(op.operands)
        text, _ = loop_bounds(op, [f"a{i}" for i in range(len(operands))])
        carried = operands[len(operands) - len(op.results) :]
        bounds = compiled(f"range({text})", len(operands))(*operands)
        for i in bounds:  # pyright: ignore
            carried = self.block(op.body.block, (i, *carried), thread)[1]
        self.give(op, *carried)

    def scf_while(self, op: Operation, thread: Thread) -> None:
        assert isinstance(op, scf.WhileOp)
        carried = self.of(op.operands)
        while True:
            _, (more, *passed) = self.block(op.before_region.block, carried, thread)
            if not more:
                break
            carried = self.block(op.after_region.block, passed, thread)[1]
        self.give(op, *passed)

    def index_switch(self, op: Operation, thread: Thread) -> None:
        assert isinstance(op, scf.IndexSwitchOp)
        cases = [int(c) for c in op.cases.get_values()]
        chosen = self.values[op.arg]
        region = op.case_regions[cases.index(chosen)] if chosen in cases else op.default_region
        self.give(op, *self.block(region.block, (), thread)[1])

    def execute_region(self, op: Operation, thread: Thread) -> None:
        self.give(op, *self.block(op.regions[0].block, (), thread)[1])

    def func_call(self, op: Operation, thread: Thread) -> None:
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

    # async

    def execute(self, op: Operation, thread: Thread) -> None:
        assert isinstance(op, async_.ExecuteOp)
        inner = Thread(thread.done)
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

    def await_(self, op: Operation, thread: Thread) -> None:
        (given,) = self.of(op.operands)
        thread.done |= given.complete
        if op.results:
            self.give(op, given.value)

    def create_group(self, op: Operation, thread: Thread) -> None:
        self.give(op, _Group())

    def add_to_group(self, op: Operation, thread: Thread) -> None:
        given, group = self.of(op.operands)
        group.complete |= given.complete
        group.members += 1
        self.give(op, group.members - 1)

    def await_all(self, op: Operation, thread: Thread) -> None:
        (group,) = self.of(op.operands)
        thread.done |= group.complete


_TERMINATORS = {
    "func.return",
    "cf.br",
    "cf.cond_br",
    "scf.yield",
    "scf.condition",
    "affine.yield",
    "async.yield",
}

_HANDLERS: dict[str, Callable[[Interpreter, Any, Thread], None]] = {
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
