"""What the sessions of the CPU device share: how a launch, a copy and a fill become calls."""

from __future__ import annotations

import ctypes
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from opar.backend.device import Memory
from opar.backend.numbers import bits_of

KERNEL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
"""A kernel: places of its parameters, grid and block, first block, behind the last block."""


@dataclass(frozen=True)
class HostKernel:
    """A loaded kernel; `owner` keeps its code in memory."""

    function: Callable[..., None]
    parameters: tuple[str, ...]
    owner: object = None


class HostSession(ABC):
    """
    Cuts each launch into up to `pieces` runs of blocks; a child decides when a step runs.
    """

    def __init__(self, pieces: int):
        self._pieces = pieces

    @abstractmethod
    def _enqueue(self, stream: int, pieces: Sequence[Callable[[], None]]) -> None:
        """Run `pieces`, in any order, after the steps before on `stream`."""

    def launch(
        self,
        stream: int,
        kernel: HostKernel,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        shared: int,
        arguments: Sequence[int | float],
    ) -> None:
        function, parameters = kernel.function, kernel.parameters
        values = b"".join(
            bits_of("i64" if t == "ptr" else t, a).ljust(16, b"\0")
            for t, a in zip(parameters, arguments, strict=True)
        )
        storage = ctypes.create_string_buffer(values, len(values) + 1)
        start = ctypes.addressof(storage)
        places = (ctypes.c_void_p * max(1, len(parameters)))(
            *(start + 16 * i for i in range(len(parameters)))
        )
        geometry = (ctypes.c_int64 * 6)(*grid, *block)
        blocks = grid[0] * grid[1] * grid[2]
        count = max(1, min(blocks, self._pieces))
        bounds = [blocks * i // count for i in range(count + 1)]

        def piece(begin: int, end: int) -> Callable[[], None]:
            def run() -> None:
                _ = storage  # `places` points into it
                function(ctypes.addressof(places), ctypes.addressof(geometry), begin, end)

            return run

        self._enqueue(stream, [piece(*ends) for ends in pairwise(bounds)])

    def copy(
        self, stream: int, target: Memory, source: Memory, to_device: bool, from_device: bool
    ) -> None:
        def run() -> None:
            ctypes.memmove(target.address, source.address, source.nbytes)

        self._enqueue(stream, [run])

    def fill(self, stream: int, target: Memory, pattern: bytes) -> None:
        def run() -> None:
            items = (ctypes.c_uint8 * target.nbytes).from_address(target.address)
            words = np.ctypeslib.as_array(items).view(f"u{len(pattern)}")
            words[:] = int.from_bytes(pattern, "little")

        self._enqueue(stream, [run])

    @abstractmethod
    def record(self, stream: int) -> Any: ...

    @abstractmethod
    def wait(self, stream: int, event: Any) -> None: ...

    @abstractmethod
    def synchronize(self, event: Any) -> None: ...

    @abstractmethod
    def release(self, memory: Memory, after: Sequence[Any]) -> None: ...

    @abstractmethod
    def finish(self) -> None: ...

    @abstractmethod
    def close(self) -> None: ...
