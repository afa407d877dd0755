"""The memory of one call of a `Schedule`: where each buffer is, and single elements of it."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np

from opar.backend import schedule as s
from opar.backend.arguments import BoundArgument
from opar.backend.device import Device, Event, Memory, Session
from opar.backend.float_scalars import float_of_bits
from opar.backend.memory_plan import MemoryPlan, bytes_of
from opar.backend.numbers import bits_of, dtype_of
from opar.backend.scalars import wrap
from opar.errors import ArgumentError, UnsupportedError

MAX_PIECES = 1 << 16
"""The most contiguous pieces that a copy between views is cut into."""


_BYTE = np.dtype(np.uint8)


class CallMemory:
    """
    Where the buffers of a schedule are while it runs. `values` are the values of the scalars,
    which change as it runs; `kept` is the memory of globals, by name, kept between calls;
    `plan` says where temporaries lie that share memory.
    """

    def __init__(
        self,
        schedule: s.Schedule,
        device: Device,
        arguments: Sequence[BoundArgument],
        values: Sequence[s.Number],
        kept: dict[str, Memory],
        plan: MemoryPlan | None,
    ):
        self.schedule = schedule
        self.device = device
        self.arguments = arguments
        self.values = values
        self._plan = plan
        self._shared: Memory | None = None
        self.on_gpu = device.kind == "cuda"
        self.memory: dict[int, Memory] = {}
        self.staged: dict[int, Memory] = {}
        self._items = [dtype_of(buffer.dtype).itemsize for buffer in schedule.buffers]
        self._allocated: dict[int, Memory] = {}
        self._origins: dict[int, int] = {}
        for number, buffer in enumerate(schedule.buffers):
            if buffer.argument is not None:
                bound = arguments[buffer.argument].memory
                assert bound is not None
                self.memory[number] = bound
            elif buffer.symbol is not None:
                if buffer.symbol not in kept:
                    kept[buffer.symbol] = self._new_global(number)
                self.memory[number] = kept[buffer.symbol]

    # Buffers

    def origin(self, number: int) -> int:
        """The buffer, no register, whose memory buffer `number` is now."""
        return self._origins.get(number, number)

    def is_on_gpu(self, number: int) -> bool:
        """Whether the memory of buffer `number` is that of a GPU."""
        buffer = self.schedule.buffers[self.origin(number)]
        if buffer.argument is not None:
            return self.arguments[buffer.argument].on_gpu
        return buffer.on_device and self.on_gpu

    def allocate(self, number: int) -> None:
        """Make the memory of buffer `number`; raises `ArgumentError` for a negative size."""
        buffer = self.schedule.buffers[number]
        if any(int(self.values[place]) < 0 for place in buffer.size):
            raise ArgumentError(f"@{self.schedule.entry}: buffer {buffer.name} has a negative size")
        nbytes = bytes_of(self.schedule, number, self.values)
        if buffer.stages is not None:
            self.memory[number] = self._stage(buffer.stages)
        elif self._plan is not None and number in self._plan.offsets:
            if self._shared is None:
                self._shared = self._new(self._plan.use.planned)
            self.memory[number] = _part(self._shared, self._plan.offsets[number], nbytes)
        elif buffer.on_device or not self.on_gpu:
            self.memory[number] = self._new(nbytes)
        else:
            self.memory[number] = host_memory(nbytes)

    def free(self, number: int, session: Session) -> None:
        """Give the memory of a buffer back; what used it is complete."""
        memory = self.memory[number]
        if self._allocated.pop(id(memory), None) is not None:
            session.release(memory, ())
            self.device.free(memory)

    def release(self, number: int, session: Session, after: Sequence[Event]) -> None:
        """Note that a buffer of this call is used no more behind `after`."""
        memory = self.memory[number]
        if id(memory) in self._allocated:
            session.release(memory, after)

    def free_all(self) -> None:
        """Give all memory back; nothing runs on it any more."""
        for memory in self._allocated.values():
            self.device.free(memory)
        self._allocated.clear()

    def move(self, pairs: Sequence[tuple[int, int]]) -> None:
        """Let registers be other buffers, all at the same time: pairs (register, buffer)."""
        found = [(t, self.memory[b], self.origin(b)) for t, b in pairs]
        for target, memory, origin in found:
            self.memory[target] = memory
            self._origins[target] = origin

    def rebase(self, op: s.Rebase) -> None:
        """Let a register be the memory of a view from some byte on."""
        source = op.source
        shift = int(self.values[op.shift])
        begin = int(self.values[source.offset]) * self._items[source.buffer] + shift
        memory = self.memory[source.buffer]
        if not 0 <= begin <= memory.nbytes or shift < 0:
            raise ArgumentError(f"{op.location}: a view from byte {shift} on is out of bounds")
        self._origins[op.target] = self.origin(source.buffer)
        self.memory[op.target] = _part(memory, begin, memory.nbytes - begin)

    def _new(self, nbytes: int) -> Memory:
        memory = self.device.allocate(nbytes)
        self._allocated[id(memory)] = memory
        return memory

    def _new_global(self, number: int) -> Memory:
        """Host memory for a global, with its first contents; it is never freed."""
        buffer = self.schedule.buffers[number]
        nbytes = math.prod(int(self.values[p]) for p in buffer.size) * self._items[number]
        memory = host_memory(nbytes) if self.on_gpu else self.device.allocate(nbytes)
        if buffer.content is not None:
            ctypes.memmove(memory.address, buffer.content, nbytes)
        return memory

    def _stage(self, number: int) -> Memory:
        """Device memory for an argument: its own where that is on the GPU, else new memory,
        in which arguments that overlap on the host overlap in the same way."""
        argument = self.arguments[number]
        assert argument.memory is not None
        if argument.on_gpu:
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

    # Views

    def address(self, view: s.View) -> int:
        """The address of the first element of a view."""
        offset = int(self.values[view.offset]) * self._items[view.buffer]
        return self.memory[view.buffer].address + offset

    def sizes(self, view: s.View) -> tuple[int, ...]:
        """The sizes of a view."""
        return tuple(int(self.values[p]) for p in view.sizes)

    def strides(self, view: s.View) -> tuple[int, ...]:
        """The strides of a view, in elements."""
        return tuple(int(self.values[p]) for p in view.strides)

    def range(self, view: s.View, op: s.Operation) -> Memory:
        """The bytes of a view; raises `UnsupportedError` where it is not contiguous."""
        memory = self.memory[view.buffer]
        item = self._items[view.buffer]
        count = 1
        for size, stride in zip(reversed(view.sizes), reversed(view.strides), strict=True):
            if self.values[size] > 1 and self.values[stride] != count:
                raise _not_contiguous(op)
            count *= int(self.values[size])
        begin = int(self.values[view.offset]) * item
        if begin == 0 and count * item == memory.nbytes:
            return memory
        return _part(memory, begin, count * item)

    def pieces(self, op: s.Copy) -> Iterator[tuple[Memory, Memory]]:
        """
        The contiguous parts (target, source) of a copy between views of the same sizes. Raises
        `UnsupportedError` where there are too many.
        """
        sizes = self.sizes(op.source)
        steps = self.strides(op.target), self.strides(op.source)
        count = 1
        outer = len(sizes)
        while outer and (
            sizes[outer - 1] == 1 or steps[0][outer - 1] == steps[1][outer - 1] == count
        ):
            outer -= 1
            count *= sizes[outer]
        if math.prod(sizes[:outer]) > MAX_PIECES:
            raise _not_contiguous(op)
        views = op.target, op.source
        begins = [int(self.values[v.offset]) for v in views]
        for indices in product(*map(range, sizes[:outer])):
            target, source = (
                _part(
                    self.memory[view.buffer],
                    (begin + _inner(indices, step)) * self._items[view.buffer],
                    count * self._items[view.buffer],
                )
                for view, begin, step in zip(views, begins, steps, strict=True)
            )
            yield target, source

    def array(self, view: s.View) -> np.ndarray:
        """A view of host memory as an array."""
        dtype = dtype_of(self.schedule.buffers[view.buffer].dtype)
        memory = self.memory[view.buffer]
        sizes, strides = self.sizes(view), self.strides(view)
        return np.asarray(_Array(memory.owner, self.address(view), sizes, strides, dtype))

    # Elements

    def element(self, view: s.View, indices: Sequence[int], op: s.Operation) -> Memory:
        """The bytes of one element; raises `ArgumentError` for an index out of bounds."""
        position = int(self.values[view.offset])
        for d, place in enumerate(indices):
            index, size = int(self.values[place]), int(self.values[view.sizes[d]])
            if not 0 <= index < size:
                name = self.schedule.buffers[view.buffer].name
                message = f"index {index} is out of bounds of dimension {d} of {name}, of {size}"
                raise ArgumentError(f"{op.location}: {message}")
            position += index * int(self.values[view.strides[d]])
        item = self._items[view.buffer]
        return Memory(self.memory[view.buffer].address + position * item, item, None)

    def read(self, element: Memory, dtype: str) -> s.Number:
        """The number that an element of host memory is."""
        bits = int.from_bytes(ctypes.string_at(element.address, element.nbytes), "little")
        if dtype.startswith(("f", "bf")):
            return float_of_bits(dtype, bits)
        return wrap(bits, 1 if dtype == "i1" else 8 * element.nbytes)

    def write(self, element: Memory, dtype: str, value: s.Number) -> None:
        """Set an element of host memory."""
        ctypes.memmove(element.address, bits_of(dtype, value), element.nbytes)

    # Results

    def is_argument(self, view: s.View) -> bool:
        """Whether a view is all of an argument, as it was passed."""
        number = self.schedule.buffers[self.origin(view.buffer)].argument
        if number is None:
            return False
        bound = self.arguments[number]
        return (
            self.memory[view.buffer] is bound.memory
            and self.values[view.offset] == 0
            and self.sizes(view) == bound.sizes
            and self.strides(view) == bound.strides
        )

    def result(self, result: s.Result, fetched: Memory | None) -> Any:
        """What the caller gets for a result; `fetched` is a copy of it from a GPU."""
        view = result.view
        if view is None:
            assert result.scalar is not None
            value = self.values[result.scalar]
            return bool(value) if result.dtype == "i1" else value
        if self.is_argument(view):
            number = self.schedule.buffers[self.origin(view.buffer)].argument
            assert number is not None
            return self.arguments[number].array
        memory = fetched or self.memory[view.buffer]
        address = memory.address if fetched else self.address(view)
        dtype = dtype_of(result.dtype)
        sizes, strides = self.sizes(view), self.strides(view)
        return np.asarray(_Array(memory.owner, address, sizes, strides, dtype))


class _Array:
    """Memory of `owner` in the form that numpy takes; numpy keeps it alive with the array."""

    def __init__(
        self,
        owner: object,
        address: int,
        sizes: tuple[int, ...],
        strides: tuple[int, ...],
        dtype: np.dtype,
    ):
        self.owner = owner
        read_only = isinstance(owner, np.ndarray) and not owner.flags.writeable
        self.__array_interface__ = {
            "version": 3,
            "shape": sizes,
            "typestr": dtype.str,
            "data": (address, read_only),
            "strides": tuple(n * dtype.itemsize for n in strides),
        }


def _not_contiguous(op: s.Operation) -> UnsupportedError:
    return UnsupportedError(f"{op.location}: cannot copy memory that is not contiguous")


def _inner(indices: Sequence[int], strides: Sequence[int]) -> int:
    return sum(i * n for i, n in zip(indices, strides, strict=False))


def _part(memory: Memory, begin: int, nbytes: int) -> Memory:
    """Some bytes of memory."""
    owner = memory.owner
    if isinstance(owner, np.ndarray):
        owner = np.asarray(_Array(owner, memory.address + begin, (nbytes,), (1,), _BYTE))
    return Memory(memory.address + begin, nbytes, owner)


def host_memory(nbytes: int) -> Memory:
    """Memory of the host that no kernel uses, not initialised."""
    array = np.empty(nbytes, np.uint8)
    return Memory(array.ctypes.data, nbytes, array)
