"""Streams on the CPU device: order within one, events between them, errors, no lost tasks."""

from __future__ import annotations

import ctypes
import threading

import numpy as np
import pytest

from opar.backend.device import Memory
from opar.backend.host_device import HostDevice
from opar.backend.host_session import KERNEL, HostKernel
from opar.errors import DeviceError


@pytest.fixture(scope="module")
def device() -> HostDevice:
    return HostDevice(workers=4)


def python_kernel(function):
    """A kernel that is a Python function of (begin, end)."""
    return HostKernel(KERNEL(lambda args, geometry, begin, end: function(begin, end)), ())


def test_steps_of_a_stream_run_in_order(device: HostDevice) -> None:
    seen: list[int] = []
    session = device.begin(1)
    for i in range(200):
        kernel = python_kernel(lambda b, e, i=i: seen.append(i))
        session.launch(0, kernel, (1, 1, 1), (1, 1, 1), 0, ())
    session.finish()
    assert seen == list(range(200))


def test_streams_run_at_the_same_time(device: HostDevice) -> None:
    barrier = threading.Barrier(2, timeout=30)
    session = device.begin(2)
    for stream in range(2):
        session.launch(
            stream, python_kernel(lambda b, e: barrier.wait()), (1, 1, 1), (1, 1, 1), 0, ()
        )
    session.finish()
    assert not barrier.broken


def test_an_event_orders_streams(device: HostDevice) -> None:
    for _ in range(50):
        seen: list[str] = []
        first_may_end = threading.Event()
        session = device.begin(2)

        def first(b: int, e: int, gate=first_may_end, seen=seen) -> None:
            gate.wait(30)
            seen.append("first")

        session.launch(0, python_kernel(first), (1, 1, 1), (1, 1, 1), 0, ())
        session.wait(1, session.record(0))
        session.launch(
            1, python_kernel(lambda b, e, s=seen: s.append("second")), (1, 1, 1), (1, 1, 1), 0, ()
        )
        first_may_end.set()
        session.finish()
        assert seen == ["first", "second"]


def test_the_blocks_of_a_launch_are_shared_out_once_each(device: HostDevice) -> None:
    ran: list[int] = []
    session = device.begin(1)
    kernel = python_kernel(lambda b, e: ran.extend(range(b, e)))
    session.launch(0, kernel, (3, 5, 7), (1, 1, 1), 0, ())
    session.finish()
    assert sorted(ran) == list(range(105))


def test_copy_and_fill(device: HostDevice) -> None:
    source = np.arange(10, dtype=np.float64)
    target = np.full(10, np.nan)
    session = device.begin(1)
    memory = Memory(target.ctypes.data, 80, target)
    session.copy(0, memory, Memory(source.ctypes.data, 80, source), False, False)
    session.finish()
    np.testing.assert_array_equal(target, source)
    patterns = ((b"\1\2\3\4\5\6\7\x08", "u8", 0x0807060504030201), (b"\7", "u1", 7))
    for pattern, dtype, value in patterns:
        session = device.begin(1)
        session.fill(0, memory, pattern)
        session.finish()
        assert (target.view(dtype) == value).all()


def test_a_failed_step_is_reported(device: HostDevice) -> None:
    session = device.begin(1)
    session.fill(0, Memory(0, 8, None), b"\0\0\0")  # no pattern of 3 bytes
    with pytest.raises(DeviceError, match="a step failed on the CPU"):
        session.finish()


def test_memory_is_aligned(device: HostDevice) -> None:
    for nbytes in (0, 1, 1000):
        memory = device.allocate(nbytes)
        assert memory.address % 64 == 0
        ctypes.memset(memory.address, 1, nbytes)


def test_out_of_memory_is_named(device: HostDevice) -> None:
    with pytest.raises(DeviceError, match="out of host memory: 1152921504606846976 bytes"):
        device.allocate(1 << 60)
