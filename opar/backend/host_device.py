"""The CPU device: streams as chains of tasks on a pool of threads."""

from __future__ import annotations

import os
import platform
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from opar.backend.device import KernelCode, Memory
from opar.backend.host_session import KERNEL, HostKernel, HostSession
from opar.backend.seeded_session import SeededSession, poison
from opar.errors import DeviceError, OptionError

_ALIGNMENT = 64
_SLICE = 0.05
"""Seconds of a wait after which signals are looked at: another thread may have got them."""


class _Task:
    """A step: starts when all tasks before it are done, done when all its pieces are."""

    def __init__(
        self,
        pieces: Sequence[Callable[[], None]],
        pool: ThreadPoolExecutor,
        cancelled: threading.Event,
    ):
        self._pieces = pieces
        self._pool = pool
        self._cancelled = cancelled
        self._lock = threading.Lock()
        self._before = 1  # one for `start`
        self._left = len(pieces)
        self._after: list[_Task] = []
        self._done = threading.Event()
        self.error: BaseException | None = None

    def start_after(self, tasks: Sequence[_Task]) -> None:
        """Let the task run once `tasks` are done."""
        for task in tasks:
            with self._lock:
                self._before += 1
            if not task.then(self):
                self._one_before_done()
        self._one_before_done()

    def then(self, task: _Task) -> bool:
        """Tell `task` when this one is done; false if it is already."""
        with self._lock:
            if self._done.is_set():
                return False
            self._after.append(task)
            return True

    def wait(self) -> None:
        """Wait on the calling thread, waking now and then so that Ctrl-C gets through."""
        while not self._done.wait(_SLICE):
            pass

    def _one_before_done(self) -> None:
        with self._lock:
            self._before -= 1
            if self._before:
                return
        for piece in self._pieces:
            try:
                self._pool.submit(self._run, piece)
            except RuntimeError as error:  # the interpreter is shutting down
                self.error = error
                self._one_piece_done()

    def _run(self, piece: Callable[[], None]) -> None:
        try:
            if not self._cancelled.is_set():
                piece()
        except BaseException as error:
            self.error = error
        self._one_piece_done()

    def _one_piece_done(self) -> None:
        with self._lock:
            self._left -= 1
            if self._left:
                return
            self._done.set()
            after = self._after
        for task in after:
            task._one_before_done()


class _PooledSession(HostSession):
    def __init__(self, pool: ThreadPoolExecutor, workers: int, streams: int):
        super().__init__(workers)
        self._pool = pool
        self._tails: list[list[_Task]] = [[] for _ in range(streams)]
        self._all: list[_Task] = []
        self._cancelled = threading.Event()

    def _enqueue(self, stream: int, pieces: Sequence[Callable[[], None]]) -> None:
        task = _Task(pieces, self._pool, self._cancelled)
        before = self._tails[stream]
        self._tails[stream] = [task]
        self._all.append(task)
        task.start_after(before)

    def record(self, stream: int) -> list[_Task]:
        return list(self._tails[stream])

    def wait(self, stream: int, event: list[_Task]) -> None:
        self._tails[stream] = [*self._tails[stream], *event]

    def synchronize(self, event: list[_Task]) -> None:
        for task in event:
            task.wait()
        self._raise_first_error()

    def finish(self) -> None:
        # Nothing may still run on memory that the caller frees next: an interrupt only keeps
        # what has not begun from beginning.
        interrupt: KeyboardInterrupt | None = None
        for task in self._all:
            while True:
                try:
                    task.wait()
                    break
                except KeyboardInterrupt as error:
                    interrupt = error
                    self._cancelled.set()
        if interrupt is not None:
            raise interrupt
        self._raise_first_error()

    def release(self, memory: Memory, after: Sequence[list[_Task]]) -> None:
        """Nothing: see `HostDevice.free`."""

    def close(self) -> None:
        self._all.clear()

    def _raise_first_error(self) -> None:
        for task in self._all:
            if task.error is not None:
                raise DeviceError(f"a step failed on the CPU: {task.error}") from task.error


class HostDevice:
    """
    Runs schedules on `workers` threads (by default one a core, at least two). Operations that no
    token orders run at the same time; the blocks of one launch are shared among the threads.

    With `schedule_seed` all runs on the calling thread, in one of the orders that the tokens allow
    (see `opar.backend.seeded_session.Order`), the same for the same seed; memory holds 0xFF bytes
    before its first write and after it was freed. A missing token then changes the result, for some
    seed. Kernels that wait for each other while they run never end so. Raises `OptionError` for a
    seed that is no integer of at least 0.
    """

    kind = "cpu"

    def __init__(self, workers: int | None = None, schedule_seed: int | None = None):
        if schedule_seed is not None:
            check_seed(schedule_seed)
        self.schedule_seed = schedule_seed
        self.workers = workers or max(2, os.cpu_count() or 2)
        self.name = platform.processor() or platform.machine()
        self._start_pool()

    def _start_pool(self) -> None:
        self._process = os.getpid()
        self._pool = ThreadPoolExecutor(self.workers, "opar")

    def load(self, code: KernelCode) -> dict[str, object]:
        """Link object code into the process; kernels stay loaded as long as the result lives."""
        from opar.backend.load_host import LoadedObject

        assert isinstance(code.code, bytes)
        loaded = LoadedObject(code.code, code.parameters)
        return {
            name: HostKernel(KERNEL(loaded.addresses[name]), parameters, loaded)
            for name, parameters in code.parameters.items()
        }

    def allocate(self, nbytes: int) -> Memory:
        """Host memory, aligned to 64 bytes, not initialised."""
        try:
            owner = np.empty(nbytes + _ALIGNMENT, np.uint8)
        except (MemoryError, ValueError) as error:
            raise DeviceError(f"out of host memory: {nbytes} bytes wanted") from error
        address = -(-owner.ctypes.data // _ALIGNMENT) * _ALIGNMENT
        memory = Memory(address, nbytes, owner)
        if self.schedule_seed is not None:
            poison(memory)
        return memory

    def free(self, memory: Memory) -> None:
        """Nothing: numpy frees memory when the last array over it, maybe a result, is gone."""

    def begin(self, streams: int) -> HostSession:
        if self.schedule_seed is not None:
            return SeededSession(streams, self.schedule_seed)
        if self._process != os.getpid():  # threads do not survive a fork
            self._start_pool()
        return _PooledSession(self._pool, self.workers, streams)


def check_seed(seed: object) -> None:
    """Raise `OptionError` for what is no seed of an order."""
    if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
        raise OptionError(f"schedule seed {seed!r}: must be an integer of at least 0")
