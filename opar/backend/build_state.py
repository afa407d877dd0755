"""What is known while a `Schedule` is built: values, steps, registers and labels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import IntegerAttr, IntegerType, MemRefType, NoneAttr, Signedness
from xdsl.ir import Attribute, Operation, SSAValue

from opar.analysis.accesses import AccessAnalysis
from opar.backend.build_scalars import ScalarBuilder, is_number
from opar.backend.schedule import (
    Alloc,
    Branch,
    Buffer,
    Compute,
    Free,
    Jump,
    Move,
    TokenMove,
    View,
    Wait,
)
from opar.backend.schedule import Operation as Step
from opar.dialects import gpu
from opar.dialects.async_.types import GroupType, TokenType, ValueType
from opar.dialects.memref.layouts import strided
from opar.errors import UnsupportedError, at, format_location
from opar.transforms.gpu_assign_streams import STREAM_ATTRIBUTE


@dataclass(frozen=True)
class Tokens:
    """What a token stands for: steps and token registers."""

    steps: frozenset[int] = frozenset()
    registers: frozenset[int] = frozenset()

    def __or__(self, other: Tokens) -> Tokens:
        return Tokens(self.steps | other.steps, self.registers | other.registers)


NOTHING = Tokens()


@dataclass(frozen=True)
class Held:
    """
    What an SSA value is: the place of a scalar, a view, or a token. `done` is what is complete
    once a token is, `nodes` the operations whose token it is, allocations too.
    """

    place: int | None = None
    view: View | None = None
    done: Tokens = NOTHING
    nodes: Tokens = NOTHING


@dataclass
class Label:
    """A place to jump to: number `number` of them, and the step it stands for once bound."""

    number: int
    target: int = -1


def check_number(type: Attribute, op: Operation) -> None:
    """Raise `UnsupportedError` for a type that Python and kernels cannot exchange."""
    if is_number(type) and not isinstance(type, IntegerType):
        return
    if (
        isinstance(type, IntegerType)
        and type.width.data in (1, 8, 16, 32, 64)
        and type.signedness.data is Signedness.SIGNLESS
    ):
        return
    raise UnsupportedError(at(op, f"values of type {type} cannot be passed from Python"))


class Builder:
    """
    Collects the steps of a schedule. `handlers` are tried in turn for each operation; each says
    whether the operation was one of its own.
    """

    def __init__(
        self,
        kernels: Mapping[str, str],
        accesses: AccessAnalysis,
        handlers: Sequence[Callable[[Builder, Operation], bool]],
    ):
        self.kernels = kernels
        self.accesses = accesses
        self.handlers = handlers
        self.numbers = ScalarBuilder()
        self.views: dict[SSAValue, View] = {}
        self.tokens: dict[SSAValue, Held] = {}
        self.buffers: list[Buffer] = []
        self.steps: list[Step] = []
        self.origins: list[Operation] = []
        """For each step, the operation of the IR that it comes from."""
        self.before: list[Tokens] = []
        """For each step, what its tokens say must be complete before."""
        self.nodes: list[Tokens] = []
        """For each step, the operations whose tokens it takes."""
        self.node_flows: list[Tokens] = []
        """For each token register, the operations whose tokens are moved there."""
        self.buffer_flows: dict[int, set[int]] = {}
        """For each buffer register, the buffers that are moved there."""
        self.touched: set[tuple[int, bool]] = set()
        """Buffers that steps read or (true) write."""
        self._labels: list[Label] = []

    # Values

    def get(self, value: SSAValue) -> Held:
        """What `value` is."""
        if value in self.tokens:
            return self.tokens[value]
        return Held(self.numbers.places.get(value), self.views.get(value))

    def give(self, value: SSAValue, held: Held) -> None:
        """Let `value` be what `held` says."""
        if held.place is not None:
            self.numbers.places[value] = held.place
        elif held.view is not None:
            self.views[value] = held.view
        else:
            self.tokens[value] = held

    def place(self, value: SSAValue) -> int:
        """The place of a scalar."""
        return self.numbers.places[value]

    def view(self, value: SSAValue) -> View:
        """What part of which buffer a memref is."""
        return self.views[value]

    def taken(self, op: Operation) -> Held:
        """The join of the tokens that `op` takes."""
        held = [self.get(v) for v in op.operands if isinstance(v.type, gpu.AsyncTokenType)]
        joined = Held()
        for one in held:
            joined = Held(done=joined.done | one.done, nodes=joined.nodes | one.nodes)
        return joined

    def unique_name(self, hint: str) -> str:
        """A name for a buffer that no other has."""
        names = {buffer.name for buffer in self.buffers}
        number = 1
        name = hint
        while name in names:
            name = f"{hint}_{number}"
            number += 1
        return name

    # Steps

    def add_all(self, ops: Iterable[Operation]) -> None:
        """Add the steps of operations, in order."""
        for op in ops:
            self.add(op)

    def add(self, op: Operation) -> None:
        """Add the steps of one operation; raises `UnsupportedError` where no handler knows it."""
        if not self.numbers.add(op) and not any(handle(self, op) for handle in self.handlers):
            message = "on the host, between kernels, this operation is not supported"
            raise UnsupportedError(at(op, message))

    def step(self, op: Operation, kind: type[Step], **fields: object) -> None:
        """Append a step with the tokens and the stream of `op`."""
        self.flush(op)
        number = len(self.steps)
        taken = self.taken(op)
        token = op.async_token if isinstance(op, gpu.AsyncOp) else None
        attribute = op.attributes.get(STREAM_ATTRIBUTE)
        stream = attribute.value.data if isinstance(attribute, IntegerAttr) else 0
        on_host = kind is Wait or not isinstance(op, gpu.AsyncOp)
        queued = kind not in (Alloc, Free) and not on_host
        self._append(
            op,
            kind,
            taken,
            stream=None if on_host else stream,
            blocking=not on_host and token is None,
            **fields,
        )
        if token is not None:
            # The host allocates at once, and frees after the last step: neither is waited for.
            own = Tokens(frozenset((number,)))
            self.give(token, Held(done=own if queued else taken.done, nodes=own))

    def host_step(self, op: Operation, kind: type[Step], **fields: object) -> None:
        """Append a step of the host that takes no tokens."""
        self.flush(op)
        self._append(op, kind, Held(), **fields)

    def _append(self, op: Operation, kind: type[Step], taken: Held, **fields: object) -> None:
        fields = {"name": op.name, "location": format_location(op.location)} | fields
        self.steps.append(kind(**fields))  # pyright: ignore[reportArgumentType]
        self.origins.append(op)
        self.before.append(taken.done)
        self.nodes.append(taken.nodes)

    def flush(self, op: Operation) -> None:
        """Have the late scalars so far computed here."""
        places, location = self.numbers.take_pending()
        if places:
            location = location or format_location(op.location)
            self._append(op, Compute, Held(), name="compute", location=location, places=places)

    # Jumps

    def label(self) -> Label:
        """A new label, to be bound later."""
        self._labels.append(Label(len(self._labels)))
        return self._labels[-1]

    def bind(self, label: Label, op: Operation) -> None:
        """The next step is where `label` stands."""
        self.flush(op)
        label.target = len(self.steps)

    def jump(self, label: Label, op: Operation) -> None:
        """Go on at `label`."""
        self.host_step(op, Jump, name="jump", target=label.number)

    def branch(self, condition: int, label: Label, op: Operation) -> None:
        """Go on at `label` if the scalar at `condition` is false."""
        self.host_step(op, Branch, name="branch", condition=condition, target=label.number)

    def resolve_labels(self) -> None:
        """Make the targets of jumps numbers of steps."""
        for number, step in enumerate(self.steps):
            if isinstance(step, Jump | Branch):
                self.steps[number] = replace(step, target=self._labels[step.target].target)

    @contextmanager
    def conditional(self):
        """Within, operations may run any number of times, or not at all."""
        before, self.numbers.conditional = self.numbers.conditional, True
        try:
            yield
        finally:
            self.numbers.conditional = before

    # Registers

    def buffer_register(self, type: MemRefType, hint: str) -> int:
        """A new buffer register for memrefs of a type; its number."""
        name = self.unique_name(hint)
        on_device = not isinstance(type.memory_space, NoneAttr)
        self.buffers.append(Buffer(name, str(type.element_type), (), on_device, is_register=True))
        number = len(self.buffers) - 1
        self.buffer_flows[number] = set()
        return number

    def register(self, value: SSAValue, op: Operation) -> Held:
        """
        A register for values like `value`. Raises `UnsupportedError` for types that none can hold.
        """
        type = value.type
        while isinstance(type, ValueType):
            type = type.value_type
        if is_number(type):
            return Held(place=self.numbers.typed("register", (), type))
        if isinstance(type, MemRefType):
            return Held(view=self._view_register(type, value.name_hint or "view", op))
        if isinstance(type, gpu.AsyncTokenType):
            number = len(self.node_flows)
            self.node_flows.append(NOTHING)
            token = Tokens(registers=frozenset((number,)))
            return Held(done=token, nodes=token)
        if isinstance(type, TokenType | GroupType):
            return Held()
        message = f"a value of type {type} cannot go through control flow on the host"
        raise UnsupportedError(at(op, message))

    def _view_register(self, type: MemRefType, hint: str, op: Operation) -> View:
        layout = strided(type)
        if layout is None:
            message = f"the layout of {type} is not supported; use strided<...>"
            raise UnsupportedError(at(op, message))

        def places(known: Sequence[int | None]) -> tuple[int, ...]:
            return tuple(
                self.numbers.scalar("register", width=64) if n is None else self.numbers.constant(n)
                for n in known
            )

        buffer = self.buffer_register(type, hint)
        (offset,) = places([None])
        return View(buffer, offset, places(layout.sizes), places(layout.strides))

    def assign(self, op: Operation, pairs: Iterable[tuple[Held, Held]]) -> None:
        """Move values to registers, all at the same time: pairs (register, value)."""
        scalars: dict[int, int] = {}
        buffers: dict[int, int] = {}
        tokens: list[TokenMove] = []
        for target, source in pairs:
            if target.place is not None and source.place is not None:
                scalars[target.place] = source.place
            elif target.view is not None and source.view is not None:
                buffers[target.view.buffer] = source.view.buffer
                self.buffer_flows[target.view.buffer].add(source.view.buffer)
                scalars |= self._view_moves(target.view, source.view)
            for register in target.done.registers:
                self.node_flows[register] |= source.nodes
                steps, registers = sorted(source.done.steps), sorted(source.done.registers)
                tokens.append(TokenMove(register, tuple(steps), tuple(registers)))
        moved = tuple((t, s) for t, s in scalars.items() if t != s)
        if moved or buffers or tokens:
            self.host_step(
                op,
                Move,
                name="move",
                scalars=moved,
                buffers=tuple((t, s) for t, s in buffers.items() if t != s),
                tokens=tuple(tokens),
            )

    def _view_moves(self, target: View, source: View) -> dict[int, int]:
        pairs = zip(
            (target.offset, *target.sizes, *target.strides),
            (source.offset, *source.sizes, *source.strides),
            strict=True,
        )
        return {t: s for t, s in pairs if self.numbers.scalars[t].operator == "register"}

    # Memory

    def new_buffer(self, buffer: Buffer) -> View:
        """Add a buffer; all of it, from its first element on."""
        self.buffers.append(buffer)
        return self.whole(len(self.buffers) - 1)

    def whole(self, number: int) -> View:
        """All of a buffer."""
        sizes = self.buffers[number].size
        return View(number, self.numbers.constant(0), sizes, self.numbers.contiguous(sizes))

    def touch(self, view: View, writes: bool) -> None:
        """Note that a step reads or writes the memory of `view`."""
        self.touched.add((view.buffer, writes))

    def sources(self, buffer: int) -> set[int]:
        """The buffers, none of them a register, whose memory `buffer` can be."""
        seen = {buffer}
        work = [buffer]
        while work:
            new = self.buffer_flows.get(work.pop(), set()) - seen
            seen |= new
            work += new
        return {number for number in seen if not self.buffers[number].is_register}
