"""The arguments of one call: checked against the entry function, and where their memory is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from opar.backend.device import Memory
from opar.backend.numbers import accepts, bits_of, dtype_of
from opar.backend.schedule import Argument, Number, Schedule
from opar.errors import ArgumentError


@dataclass(frozen=True)
class BoundArgument:
    """
    One argument of a call: a number, or memory with its sizes and strides in elements. `on_gpu`
    tells an array with `__cuda_array_interface__` from a numpy array; `array` is what was passed.
    """

    array: Any
    value: Number = 0
    memory: Memory | None = None
    on_gpu: bool = False
    sizes: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()

    def overlaps(self, other: BoundArgument) -> bool:
        """Whether the memory of two array arguments shares a byte."""
        a, b = self.memory, other.memory
        return (
            a is not None
            and b is not None
            and self.on_gpu == other.on_gpu
            and a.address < b.address + b.nbytes
            and b.address < a.address + a.nbytes
        )


def bind(schedule: Schedule, arguments: Sequence[Any], gpu_arrays: bool) -> list[BoundArgument]:
    """
    Check the arguments of a call of `schedule`; `gpu_arrays` tells whether the device can use
    arrays on a GPU. Raises `ArgumentError` naming the argument, what was expected and what came.
    """
    if len(arguments) != len(schedule.arguments):
        raise ArgumentError(
            f"@{schedule.entry} takes {len(schedule.arguments)} arguments "
            f"({', '.join(map(describe, schedule.arguments))}), got {len(arguments)}"
        )
    return [
        _bind_one(
            f"{_where(a)}argument #{i} (%{a.name}) of @{schedule.entry}", a, value, gpu_arrays
        )
        for i, (a, value) in enumerate(zip(schedule.arguments, arguments, strict=True))
    ]


def any_written_overlap(schedule: Schedule, bound: Sequence[BoundArgument]) -> bool:
    """Whether two arguments share memory that the program writes through one of them."""
    arrays = [(i, b) for i, b in enumerate(bound) if b.memory is not None]
    return any(
        (schedule.arguments[i].written or schedule.arguments[j].written) and a.overlaps(b)
        for n, (i, a) in enumerate(arrays)
        for j, b in arrays[:n]
    )


def describe(argument: Argument) -> str:
    """`f32` or `4x?xf32`: the type of an argument as MLIR writes it."""
    if argument.shape is None:
        return argument.dtype
    sizes = "".join(f"{'?' if s is None else s}x" for s in argument.shape)
    return sizes + argument.dtype


def _where(argument: Argument) -> str:
    return f"{argument.location}: " if argument.location else ""


def _bind_one(what: str, argument: Argument, value: Any, gpu_arrays: bool) -> BoundArgument:
    if argument.shape is None:
        return BoundArgument(value, value=_number(what, argument, value))
    interface = getattr(value, "__cuda_array_interface__", None)
    if interface is not None:
        if not gpu_arrays:
            raise ArgumentError(f"{what}: is on a GPU, but the program was compiled for the CPU")
        return _bind_gpu(what, argument, value, interface)
    if not isinstance(value, np.ndarray):
        wanted = f"expected a numpy array {describe(argument)}"
        raise ArgumentError(f"{what}: {wanted}, got {type(value).__name__}")
    dtype, item = value.dtype, value.dtype.itemsize
    _check(what, argument, dtype, value.shape)
    if argument.written and not value.flags.writeable:
        raise ArgumentError(f"{what}: the program writes it, but the array is read-only")
    if not value.flags.aligned:
        raise ArgumentError(f"{what}: the array is not aligned to its dtype; pass a copy")
    strides = _strides(what, argument, value.shape, value.strides, item)
    memory = Memory(value.ctypes.data, _extent(value.shape, strides, item), value)
    return BoundArgument(value, memory=memory, sizes=value.shape, strides=strides)


def _bind_gpu(what: str, argument: Argument, value: Any, interface: dict) -> BoundArgument:
    dtype = np.dtype(interface["typestr"])
    shape = tuple(interface["shape"])
    address, read_only = interface["data"]
    _check(what, argument, dtype, shape)
    if argument.written and read_only:
        raise ArgumentError(f"{what}: the program writes it, but the array is read-only")
    strides = interface.get("strides")
    in_elements = _strides(what, argument, shape, strides, dtype.itemsize)
    memory = Memory(address, _extent(shape, in_elements, dtype.itemsize), value)
    return BoundArgument(value, memory=memory, on_gpu=True, sizes=shape, strides=in_elements)


def _check(what: str, argument: Argument, dtype: np.dtype, shape: tuple[int, ...]) -> None:
    wanted = argument.shape or ()
    if not accepts(argument.dtype, dtype) or not dtype.isnative:
        expected = f"{dtype_of(argument.dtype).name} ({argument.dtype})"
        raise ArgumentError(f"{what}: expected dtype {expected}, got {dtype}")
    if len(shape) != len(wanted):
        message = f"expected {len(wanted)} dimensions ({describe(argument)}), got {len(shape)}"
        raise ArgumentError(f"{what}: {message}")
    for d, (size, expected) in enumerate(zip(shape, wanted, strict=True)):
        if expected is not None and size != expected:
            message = f"dimension {d} must be {expected} ({describe(argument)}), got {size}"
            raise ArgumentError(f"{what}: {message}")


def _strides(
    what: str,
    argument: Argument,
    shape: tuple[int, ...],
    strides: tuple[int, ...] | None,
    item: int,
) -> tuple[int, ...]:
    """Strides in elements, checked against those that the type demands."""
    contiguous: list[int] = []
    step = 1
    for size in reversed(shape):
        contiguous.insert(0, step)
        step *= size
    if strides is None:
        return tuple(contiguous)
    if any(s % item for s in strides):
        raise ArgumentError(f"{what}: its strides are not whole elements; pass a copy")
    found = tuple(s // item for s in strides)
    if any(s < 0 for s in found) and 0 not in shape:
        raise ArgumentError(f"{what}: its strides are negative; pass numpy.ascontiguousarray(...)")
    demanded = argument.strides if argument.strides is not None else tuple(contiguous)
    for size, have, want in zip(shape, found, demanded, strict=True):
        if want is not None and have != want and size > 1 and 0 not in shape:
            message = f"expected strides {list(demanded)} in elements, got {list(found)}"
            hint = "" if argument.strides is not None else "; pass numpy.ascontiguousarray(...)"
            raise ArgumentError(f"{what}: the array is not contiguous: {message}{hint}")
    return found


def _extent(shape: tuple[int, ...], strides: tuple[int, ...], item: int) -> int:
    """How many bytes there are from the first element of an array to the end of its last."""
    if 0 in shape:
        return 0
    return sum((n - 1) * s * item for n, s in zip(shape, strides, strict=True)) + item


def _number(what: str, argument: Argument, value: Any) -> Number:
    is_float = argument.dtype.startswith(("f", "bf"))
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        value = int(value)
    if not isinstance(value, int | float) or (isinstance(value, float) and not is_float):
        kind = "a float" if is_float else "an integer"
        message = f"expected {kind} ({argument.dtype}), got {type(value).__name__} {value!r}"
        raise ArgumentError(f"{what}: {message}")
    if is_float:
        try:
            bits_of(argument.dtype, value)
        except OverflowError as error:
            raise ArgumentError(f"{what}: {value} does not fit in {argument.dtype}") from error
    else:
        bits = 64 if argument.dtype == "index" else int(argument.dtype[1:])
        if not -(1 << (bits - 1)) <= value < 1 << bits:
            raise ArgumentError(f"{what}: {value} does not fit in {argument.dtype}")
    return value
