"""A GPU without a GPU: the CPU device with memory that is not the host's."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from opar.backend.device import Memory
from opar.backend.host_device import HostDevice
from opar.backend.host_session import HostKernel
from opar.backend.seeded_session import SeededSession


class WrongMemory(Exception):
    """What a GPU cannot do: touch memory of the host in a kernel or a fill, or a copy with flags
    that do not fit its memory. No error of opar, so that nothing takes it for a refusal."""


class SeparateDevice(HostDevice):
    """
    Runs what is scheduled for a GPU on the CPU, in the orders of schedule seeds, and raises
    `WrongMemory` where a GPU would fail. Kernels are those of the CPU.
    """

    kind = "cuda"

    def __init__(self, workers: int | None = None, schedule_seed: int = 0):
        super().__init__(workers, schedule_seed)
        self._allocated: list[tuple[int, int]] = []

    def allocate(self, nbytes: int) -> Memory:
        memory = super().allocate(max(nbytes, 1))
        index = bisect_right(self._allocated, (memory.address, 0))
        self._allocated.insert(index, (memory.address, memory.address + memory.nbytes))
        return Memory(memory.address, nbytes, memory.owner)

    def free(self, memory: Memory) -> None:
        self._allocated = [a for a in self._allocated if a[0] != memory.address]

    def holds(self, address: int) -> bool:
        """Whether an address is memory of the device, or right behind it."""
        index = bisect_right(self._allocated, (address, 1 << 64)) - 1
        return index >= 0 and address <= self._allocated[index][1]

    def begin(self, streams: int) -> SeededSession:
        assert self.schedule_seed is not None
        return _Session(self, streams, self.schedule_seed)


class _Session(SeededSession):
    def __init__(self, device: SeparateDevice, streams: int, seed: int):
        super().__init__(streams, seed)
        self._device = device

    def launch(
        self,
        stream: int,
        kernel: HostKernel,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        shared: int,
        arguments: Sequence[int | float],
    ) -> None:
        for type, argument in zip(kernel.parameters, arguments, strict=True):
            if type == "ptr" and not self._device.holds(int(argument)):
                raise WrongMemory("a launch is given memory of the host")
        super().launch(stream, kernel, grid, block, shared, arguments)

    def copy(
        self, stream: int, target: Memory, source: Memory, to_device: bool, from_device: bool
    ) -> None:
        for memory, on_device in ((target, to_device), (source, from_device)):
            if self._device.holds(memory.address) != on_device:
                raise WrongMemory(f"a copy is told that memory is on the device: {on_device}")
        super().copy(stream, target, source, to_device, from_device)

    def fill(self, stream: int, target: Memory, pattern: bytes) -> None:
        if not self._device.holds(target.address):
            raise WrongMemory("a fill is given memory of the host")
        super().fill(stream, target, pattern)
