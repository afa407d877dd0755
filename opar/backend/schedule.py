"""
A `Schedule`: the flat list of operations that a host function stands for.

It is what a device runs. It holds no IR and imports none, so a cached program starts without xDSL.

- `scalars` are integers and floats: constants, arguments, sizes of arguments and arithmetic on
  them. Everything else names a scalar by its place. Most are evaluated at the start of a call;
  those that are `late` get their value where a `Compute`, `Load` or `Move` stands.
- `buffers` are the memory the operations work on; a `View` is a part of one, in elements.
- `operations` are in program order, unless a `Jump` or `Branch` says where to go on.
- Without jumps, operations on one stream run in order, and `dependencies` are those of other
  streams (and, for a `Wait` of the host, of all streams) that must be complete before.
- With jumps, streams are chosen as the operations run, and `dependencies` are all that the tokens
  say: of a step that ran more than once, the last time. Tokens that go through results, iteration
  arguments or block arguments are in token registers, which a `Move` assigns.

Dependencies follow the tokens of the IR; joins (`gpu.wait async`) are resolved away.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

Number = int | float

MAX_STREAMS = 16
"""The most streams that a call uses where they are chosen as it runs."""


@dataclass(frozen=True)
class Scalar:
    """
    One step of the scalar program: `operator` applied to earlier scalars.

    `operator` is `constant` (value), `argument` (number), `size` or `stride` (of dimension
    `immediate[1]` of argument `immediate[0]`), `register` (assigned by a `Move` or `Load`), or a
    key of `opar.backend.scalars.OPERATORS`. `width` is that of an integer in bits (64 for an
    index), None for a float, whose type is `float_type` (`f32`, ...). A `late` scalar is not
    evaluated at the start of a call.
    """

    operator: str
    operands: tuple[int, ...] = ()
    immediate: object = None
    width: int | None = None
    float_type: str | None = None
    late: bool = False


@dataclass(frozen=True)
class Argument:
    """
    One parameter of the entry function.

    `shape` is None for a scalar, else has None for each dynamic size. `strides` is None for a
    contiguous (C order) array, else in elements, None for each dynamic one. `written` and
    `read` say what the operations do to it.
    """

    name: str
    dtype: str
    shape: tuple[int | None, ...] | None = None
    strides: tuple[int | None, ...] | None = None
    read: bool = False
    written: bool = False
    noalias: bool = False
    location: str = ""


@dataclass(frozen=True)
class Buffer:
    """
    Memory of one allocation, argument or global, or a register: whatever was moved there last.

    `on_device` tells GPU memory from host memory. `argument` is the number of the argument that
    this is, `stages` that of the argument whose contents it holds, `result` that of the result.
    `size` are the places of the scalars whose product is its size in elements. A global has the
    name `symbol` and lives as long as the program; `content` are its first bytes, None where they
    are not initialised.
    """

    name: str
    dtype: str
    size: tuple[int, ...]
    on_device: bool
    argument: int | None = None
    stages: int | None = None
    result: int | None = None
    is_register: bool = False
    symbol: str | None = None
    content: bytes | None = None


@dataclass(frozen=True)
class View:
    """Elements of a buffer; offset, sizes and strides (in elements) are places of scalars."""

    buffer: int
    offset: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Operation:
    """
    One step. `stream` is None for a step of the host itself. The host waits for the step itself
    if `blocking` (an operation without a token). `registers` are the token registers whose steps
    must be complete before, like `dependencies`. `name` and `location` are for people.
    """

    name: str
    location: str
    stream: int | None = None
    dependencies: tuple[int, ...] = ()
    registers: tuple[int, ...] = ()
    blocking: bool = False


@dataclass(frozen=True, kw_only=True)
class Alloc(Operation):
    """Allocate a buffer."""

    buffer: int


@dataclass(frozen=True, kw_only=True)
class Free(Operation):
    """Give a buffer back; nothing uses it after the dependencies."""

    buffer: int


@dataclass(frozen=True, kw_only=True)
class Copy(Operation):
    """Copy all elements of `source` to `target`, of the same sizes."""

    target: View
    source: View


@dataclass(frozen=True, kw_only=True)
class Fill(Operation):
    """Set all elements of `target` to a scalar."""

    target: View
    value: int


@dataclass(frozen=True, kw_only=True)
class Launch(Operation):
    """
    Run a kernel. `grid`, `block` and `shared` (dynamic workgroup memory in bytes, or None) are
    places of scalars. `arguments` are in the order of the flattened kernel parameters: a `View`
    for a pointer, the place of a scalar for everything else.
    """

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared: int | None
    arguments: tuple[View | int, ...]


@dataclass(frozen=True, kw_only=True)
class Wait(Operation):
    """The host waits for the dependencies."""


@dataclass(frozen=True, kw_only=True)
class Compute(Operation):
    """The host evaluates the scalars at `places`, in this order."""

    places: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Load(Operation):
    """The host reads one element, at the indices in `indices`, into the scalar at `place`."""

    source: View
    indices: tuple[int, ...]
    place: int


@dataclass(frozen=True, kw_only=True)
class Store(Operation):
    """The host writes the scalar at `value` to one element."""

    target: View
    indices: tuple[int, ...]
    value: int


@dataclass(frozen=True, kw_only=True)
class Rebase(Operation):
    """Buffer register `target` becomes the memory from byte `shift` of `source` on."""

    target: int
    source: View
    shift: int


@dataclass(frozen=True)
class TokenMove:
    """Token register `target` becomes the join of steps and token registers; all may be none."""

    target: int
    steps: tuple[int, ...]
    registers: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Move(Operation):
    """Assign registers, all at the same time: pairs (target, source) of scalars and buffers."""

    scalars: tuple[tuple[int, int], ...] = ()
    buffers: tuple[tuple[int, int], ...] = ()
    tokens: tuple[TokenMove, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Jump(Operation):
    """Go on at step `target`; the number of steps is the end."""

    target: int


@dataclass(frozen=True, kw_only=True)
class Branch(Operation):
    """Go on at step `target` if the scalar at `condition` is false, else with the next step."""

    condition: int
    target: int


@dataclass(frozen=True, kw_only=True)
class Assert(Operation):
    """End the call with an error that says `message` if the scalar at `condition` is false."""

    condition: int
    message: str


@dataclass(frozen=True)
class Result:
    """One result of the entry function: a view, or a scalar with its dtype."""

    dtype: str
    view: View | None = None
    scalar: int | None = None


@dataclass(frozen=True)
class Schedule:
    """See the module."""

    entry: str
    scalars: tuple[Scalar, ...]
    arguments: tuple[Argument, ...]
    buffers: tuple[Buffer, ...]
    operations: tuple[Operation, ...]
    results: tuple[Result, ...]
    tokens: tuple[tuple[int, ...], ...] = field(default=())
    """For each operation, those whose tokens it takes: the edges of the token graph."""

    @cached_property
    def has_jumps(self) -> bool:
        """Whether steps may run more than once, or not at all."""
        return any(isinstance(op, Jump | Branch) for op in self.operations)

    @property
    def streams(self) -> int:
        """The number of streams; with jumps, the most that a call uses."""
        found = 1 + max((op.stream for op in self.operations if op.stream is not None), default=-1)
        return MAX_STREAMS if self.has_jumps and found else found

    @property
    def recorded(self) -> frozenset[int]:
        """The operations after which an event is recorded, because another stream waits."""
        found = {d for op in self.operations for d in op.dependencies}
        for op in self.operations:
            if isinstance(op, Move):
                found.update(d for move in op.tokens for d in move.steps)
        return frozenset(found)

    def counts(self) -> dict[str, int]:
        """How many operations of each kind there are: `launches`, `copies`, `waits`, ..."""
        found = dict.fromkeys(_COUNTED.values(), 0)
        for op in self.operations:
            found[_COUNTED[type(op)]] += 1
        return found

    def describe(self) -> str:
        """The schedule as a table in text, one operation a line."""
        from opar.backend.describe import describe

        return describe(self)

    def detail(self, op: Operation) -> str:
        """What `op` works on, for people: buffers with sizes, kernel with grid and block."""
        from opar.backend.describe import detail

        return detail(self, op)


_COUNTED: dict[type[Operation], str] = {
    Launch: "launches",
    Copy: "copies",
    Fill: "fills",
    Alloc: "allocations",
    Free: "frees",
    Wait: "waits",
    Load: "loads",
    Store: "stores",
    Compute: "computations",
    Move: "moves",
    Rebase: "views",
    Jump: "jumps",
    Branch: "branches",
    Assert: "assertions",
}
