"""The CUDA device, on PyCUDA: the primary context, modules from PTX, streams and events."""

from __future__ import annotations

import atexit
import ctypes
import os
import struct
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from opar.backend.device import KernelCode, Memory
from opar.errors import DeviceError, TargetLimitError

_INSTALL = "install it with: pip install 'opar[cuda]'"

_NON_BLOCKING = 1  # CU_STREAM_NON_BLOCKING, which PyCUDA has no name for

_FORMATS = {"i1": "?", "i8": "b", "i16": "h", "i32": "i", "i64": "q", "ptr": "P"}
_FORMATS |= {"f16": "e", "bf16": "H", "f32": "f", "f64": "d"}


def _driver() -> Any:
    """PyCUDA's driver module, initialised; raises `DeviceError` saying what is missing."""
    try:
        driver = import_module("pycuda.driver")
    except ImportError as error:
        raise DeviceError(f"no CUDA device: PyCUDA is not usable ({error}); {_INSTALL}") from error
    try:
        driver.init()
        count = driver.Device.count()
    except driver.Error as error:
        raise DeviceError(f"no CUDA device: {error}; is an NVIDIA driver installed?") from error
    if count == 0:
        raise DeviceError("no CUDA device: the driver finds no GPU")
    return driver


def cuda_is_available() -> bool:
    """Whether `CudaDevice()` would find PyCUDA, a driver and a GPU."""
    try:
        _driver()
    except DeviceError:
        return False
    return True


class CudaKernel:
    """A function of a loaded module, with its parameter format."""

    def __init__(self, module: Any, name: str, parameters: tuple[str, ...], limit: int):
        self.function = module.get_function(name)
        self.name = name
        self.function.prepare("".join(_FORMATS[t] for t in parameters))
        self.shared_limit = limit
        self._module = module


class _CudaSession:
    def __init__(self, device: CudaDevice, streams: int):
        self._device = device
        self._cuda = device.driver
        device.context.push()
        self._streams = device.take_streams(streams)

    def launch(
        self,
        stream: int,
        kernel: CudaKernel,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        shared: int,
        arguments: Sequence[int | float],
    ) -> None:
        if shared > kernel.shared_limit:
            self._device.allow_shared(kernel, shared)
        try:
            kernel.function.prepared_async_call(
                grid, block, self._streams[stream], *arguments, shared_size=shared
            )
        except struct.error as error:
            message = f"kernel {kernel.name}: an argument does not fit its type: {error}"
            raise DeviceError(message) from error
        except self._cuda.Error as error:
            raise DeviceError(f"launching {kernel.name} failed: {error}") from error

    def copy(
        self, stream: int, target: Memory, source: Memory, to_device: bool, from_device: bool
    ) -> None:
        queue = self._streams[stream]
        if to_device and from_device:
            self._cuda.memcpy_dtod_async(target.address, source.address, source.nbytes, queue)
        elif to_device:
            self._cuda.memcpy_htod_async(target.address, source.owner, queue)
        elif from_device:
            self._cuda.memcpy_dtoh_async(target.owner, source.address, queue)
        else:
            queue.synchronize()
            ctypes.memmove(target.address, source.address, source.nbytes)

    def fill(self, stream: int, target: Memory, pattern: bytes) -> None:
        queue = self._streams[stream]
        if len(pattern) == 8 and pattern[:4] != pattern[4:]:
            for word in (0, 4):
                value = int.from_bytes(pattern[word : word + 4], "little")
                self._cuda.memset_d2d32_async(
                    target.address + word, 8, value, 1, target.nbytes // 8, queue
                )
            return
        pattern = pattern[:4]
        value = int.from_bytes(pattern, "little")
        memset = getattr(self._cuda, f"memset_d{8 * len(pattern)}_async")
        memset(target.address, value, target.nbytes // len(pattern), queue)

    def record(self, stream: int) -> Any:
        event = self._cuda.Event(self._cuda.event_flags.DISABLE_TIMING)
        event.record(self._streams[stream])
        return event

    def wait(self, stream: int, event: Any) -> None:
        self._streams[stream].wait_for_event(event)

    def synchronize(self, event: Any) -> None:
        try:
            event.synchronize()
        except self._cuda.Error as error:
            raise DeviceError(f"a step failed on the GPU: {error}") from error

    def finish(self) -> None:
        try:
            for stream in self._streams:
                stream.synchronize()
        except self._cuda.Error as error:
            raise DeviceError(f"a step failed on the GPU: {error}") from error

    def release(self, memory: Memory, after: Sequence[Any]) -> None:
        """Nothing: the memory is freed when the call ends."""

    def close(self) -> None:
        self._device.give_streams(self._streams)
        self._cuda.Context.pop()


class CudaDevice:
    """
    Runs schedules on one GPU, number `index`, in its primary context, which PyTorch, CuPy and the
    CUDA runtime share. Each stream of a schedule is a CUDA stream, each dependency between streams
    an event. Raises `DeviceError` where there is no PyCUDA, no driver or no GPU.
    """

    kind = "cuda"
    schedule_seed: int | None = None

    def __init__(self, index: int = 0):
        self.driver = _driver()
        count = self.driver.Device.count()
        if not 0 <= index < count:
            raise DeviceError(f"there is no CUDA device {index}: the driver finds {count}")
        self._device = self.driver.Device(index)
        self.name = self._device.name()
        major, minor = self._device.compute_capability()
        self.arch = f"sm_{major}{minor}"
        self.context = self._device.retain_primary_context()
        attribute = self.driver.device_attribute
        self._shared_opt_in = self._device.get_attribute(
            attribute.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
        )
        self._shared = self._device.get_attribute(attribute.MAX_SHARED_MEMORY_PER_BLOCK)
        self._process = os.getpid()
        self._streams: list[Any] = []
        self._pool: Any = None
        atexit.register(self._release)

    def load(self, code: KernelCode) -> dict[str, CudaKernel]:
        """Assemble PTX with the driver and load it; raises `DeviceError` with the driver's log."""
        assert isinstance(code.code, str)
        self.context.push()
        try:
            module = self.driver.module_from_buffer(code.code.encode())
            return {
                name: CudaKernel(module, name, parameters, self._shared)
                for name, parameters in code.parameters.items()
            }
        except self.driver.Error as error:
            raise DeviceError(f"the driver refused the PTX for {self.arch}: {error}") from error
        finally:
            self.driver.Context.pop()

    def allow_shared(self, kernel: CudaKernel, nbytes: int) -> None:
        """Let `kernel` use more dynamic workgroup memory than any kernel may by default."""
        if nbytes > self._shared_opt_in:
            raise TargetLimitError(
                f"kernel {kernel.name} wants {nbytes} bytes of dynamic workgroup memory; "
                f"{self.name} has {self._shared_opt_in} for a block"
            )
        attribute = self.driver.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES
        kernel.function.set_attribute(attribute, nbytes)
        kernel.shared_limit = nbytes

    def allocate(self, nbytes: int) -> Memory:
        """GPU memory from a pool that keeps what was freed; call it within a session."""
        from pycuda.tools import DeviceMemoryPool  # pyright: ignore[reportMissingImports]

        if self._pool is None:
            self._pool = DeviceMemoryPool()
        try:
            owner = self._pool.allocate(max(nbytes, 1))
        except self.driver.MemoryError as error:
            free, total = self.driver.mem_get_info()
            message = f"out of GPU memory: {nbytes} bytes wanted, {free} of {total} free"
            raise DeviceError(message) from error
        return Memory(int(owner), nbytes, owner)

    def free(self, memory: Memory) -> None:
        """Give memory back to the pool."""
        memory.owner.free()  # pyright: ignore[reportAttributeAccessIssue]

    def _release(self) -> None:
        """Give everything back to the driver while there still is a context to do it in."""
        if self._process != os.getpid():
            return
        self.context.push()
        self._streams.clear()
        if self._pool is not None:
            self._pool.stop_holding()
            self._pool = None
        self.driver.Context.pop()

    def begin(self, streams: int) -> _CudaSession:
        if self._process != os.getpid():
            message = "the GPU cannot be used in a process forked after its first use"
            raise DeviceError(f"{message}; start it with the 'spawn' method")
        return _CudaSession(self, streams)

    def take_streams(self, count: int) -> list[Any]:
        """Streams that no other session uses, made where there are too few. Non-blocking: the
        legacy default stream of others neither waits for them nor holds them up."""
        while len(self._streams) < count:
            self._streams.append(self.driver.Stream(_NON_BLOCKING))
        taken, self._streams = self._streams[:count], self._streams[count:]
        return taken

    def give_streams(self, streams: list[Any]) -> None:
        """Give streams back; nothing runs on them any more."""
        self._streams += streams
