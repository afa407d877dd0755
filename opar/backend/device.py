"""What the executor needs of a device. `HostDevice` and `CudaDevice` provide it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

Event = Any
"""A point in a stream; only the device that made it looks inside."""

Kernel = Any
"""A loaded kernel; only the device that loaded it looks inside."""


ORDERS = 5
"""How many ways there are in which a schedule seed orders steps (`opar.backend.seeded_session`)."""


@dataclass(frozen=True)
class KernelCode:
    """
    Compiled kernels of one `gpu.module`: PTX text (CUDA) or object code (CPU).

    `parameters` gives, for the name of each kernel in the code, the types of its flattened
    parameters: `ptr`, `i1`..`i64`, `f16`, `bf16`, `f32`, `f64`.
    """

    code: str | bytes
    parameters: dict[str, tuple[str, ...]]


@dataclass(frozen=True)
class Memory:
    """`nbytes` bytes at `address`, alive as long as `owner` is."""

    address: int
    nbytes: int
    owner: object


class Session(Protocol):
    """One execution of a schedule: its streams. Everything but `synchronize` returns at once."""

    def launch(
        self,
        stream: int,
        kernel: Kernel,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        shared: int,
        arguments: Sequence[int | float],
    ) -> None:
        """Run a kernel; `arguments` are addresses and numbers in the order of its parameters."""
        ...

    def copy(
        self, stream: int, target: Memory, source: Memory, to_device: bool, from_device: bool
    ) -> None:
        """Copy `source.nbytes` bytes; the flags tell GPU memory from host memory."""
        ...

    def fill(self, stream: int, target: Memory, pattern: bytes) -> None:
        """Fill memory with repeats of a pattern of 1, 2, 4 or 8 bytes."""
        ...

    def record(self, stream: int) -> Event:
        """The point that `stream` has come to."""
        ...

    def wait(self, stream: int, event: Event) -> None:
        """What follows on `stream` starts after `event`."""
        ...

    def synchronize(self, event: Event) -> None:
        """Wait on the host until `event` has passed; raises `DeviceError` if a step failed."""
        ...

    def release(self, memory: Memory, after: Sequence[Event]) -> None:
        """The program uses `memory` no more behind `after`; it is freed after the session."""
        ...

    def finish(self) -> None:
        """Wait on the host for all streams; raises `DeviceError` if a step failed."""
        ...

    def close(self) -> None:
        """End the session, also after a failure; its memory has been freed before."""
        ...


class Device(Protocol):
    """A place that runs schedules."""

    kind: str
    """`cpu` or `cuda`."""

    name: str
    """The name of the processor, for people."""

    schedule_seed: int | None
    """What chooses the order of operations, None where it is the processor's own."""

    def load(self, code: KernelCode) -> dict[str, Kernel]:
        """Load compiled kernels by name."""
        ...

    def allocate(self, nbytes: int) -> Memory:
        """Memory that the device's kernels can use; raises `DeviceError` when there is no more."""
        ...

    def free(self, memory: Memory) -> None:
        """Give memory of `allocate` back, within a session and after its last use."""
        ...

    def begin(self, streams: int) -> Session:
        """Start an execution with so many streams."""
        ...
