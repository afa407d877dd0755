"""
A `Schedule`: the flat list of operations that a host function stands for.

It is what a device runs. It holds no IR and imports none, so a cached program starts without xDSL.

- `scalars` is a straight-line program of integers and floats, evaluated at each call: constants,
  arguments, sizes of arguments and arithmetic on them. Everything else names a scalar by its place.
- `buffers` are the memory the operations work on; a `View` is a part of one, in elements.
- `operations` are in program order. Operations on one stream run in that order; `dependencies` are
  those of other streams (and, for a `Wait` of the host, of all streams) that must be complete
  before. They follow the tokens of the IR; joins (`gpu.wait async`) are resolved away.
"""

from __future__ import annotations

from dataclasses import dataclass, field

Number = int | float


@dataclass(frozen=True)
class Scalar:
    """
    One step of the scalar program: `operator` applied to earlier scalars.

    `operator` is `constant` (value), `argument` (number), `size` or `stride` (of dimension
    `immediate[1]` of argument `immediate[0]`), or a key of `opar.backend.scalars.OPERATORS`.
    `width` is that of an integer in bits (64 for an index), None for a float.
    """

    operator: str
    operands: tuple[int, ...] = ()
    immediate: object = None
    width: int | None = None


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
    Memory of one allocation or argument.

    `on_device` tells GPU memory from host memory. `argument` is the number of the argument that
    this is, `stages` that of the argument whose contents it holds, `result` that of the result.
    `size` are the places of the scalars whose product is its size in elements.
    """

    name: str
    dtype: str
    size: tuple[int, ...]
    on_device: bool
    argument: int | None = None
    stages: int | None = None
    result: int | None = None


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
    if `blocking` (an operation without a token). `name` and `location` are for people.
    """

    name: str
    location: str
    stream: int | None = None
    dependencies: tuple[int, ...] = ()
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

    @property
    def streams(self) -> int:
        """The number of streams."""
        return 1 + max((op.stream for op in self.operations if op.stream is not None), default=-1)

    @property
    def recorded(self) -> frozenset[int]:
        """The operations after which an event is recorded, because another stream waits."""
        return frozenset(d for op in self.operations for d in op.dependencies)

    def counts(self) -> dict[str, int]:
        """How many operations of each kind there are: `launches`, `copies`, `waits`, ..."""
        names = {Launch: "launches", Copy: "copies", Fill: "fills", Alloc: "allocations"}
        names |= {Free: "frees", Wait: "waits"}
        found = dict.fromkeys(names.values(), 0)
        for op in self.operations:
            found[names[type(op)]] += 1
        return found

    def describe(self) -> str:
        """The schedule as a table in text, one operation a line."""
        lines = [f"schedule @{self.entry}: {len(self.operations)} operations, "]
        lines[0] += f"{self.streams} stream{'s' if self.streams != 1 else ''}"
        recorded = self.recorded
        for i, op in enumerate(self.operations):
            stream = "host" if op.stream is None else f"stream {op.stream}"
            line = f"  {i:>3}  {stream:<9}  {type(op).__name__.lower():<6} {self.detail(op)}"
            if op.dependencies:
                line += f"  after {', '.join(map(str, op.dependencies))}"
            if i in recorded:
                line += "  [event]"
            lines.append(f"{line}  {op.location}".rstrip())
        return "\n".join(lines)

    def detail(self, op: Operation) -> str:
        """What `op` works on, for people: buffers with sizes, kernel with grid and block."""
        if isinstance(op, Alloc | Free):
            buffer = self.buffers[op.buffer]
            sizes = "x".join(self._show(s) for s in buffer.size)
            return f"{buffer.name}: {sizes + 'x' if sizes else ''}{buffer.dtype}"
        if isinstance(op, Copy):
            return f"{self.buffers[op.source.buffer].name} -> {self.buffers[op.target.buffer].name}"
        if isinstance(op, Fill):
            return f"{self.buffers[op.target.buffer].name} = {self._show(op.value)}"
        if isinstance(op, Launch):
            grid = "x".join(self._show(s) for s in op.grid)
            block = "x".join(self._show(s) for s in op.block)
            names = [
                self.buffers[a.buffer].name if isinstance(a, View) else self._show(a)
                for a in op.arguments
            ]
            return f"{op.name}<{grid}, {block}>({', '.join(names)})"
        return op.name

    def _show(self, place: int) -> str:
        scalar = self.scalars[place]
        if scalar.operator == "constant":
            return str(scalar.immediate)
        return f"${place}"
