"""A seed chooses an order that the tokens allow: it repeats, reaches all, and misses no edge."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opar
from opar.backend import schedule as s
from opar.backend.arguments import bind
from opar.backend.call_memory import host_memory
from opar.backend.device import Device
from opar.backend.executor import execute
from opar.backend.host_device import HostDevice
from opar.backend.host_session import KERNEL, HostKernel
from opar.backend.program import get_device
from opar.errors import DeviceError, OptionError
from tests.programs import IN_PLACE, seed
from tests.test_programs import expected, in_place_reference

SEEDS = range(20)


def kernel(function: Callable[[], object]) -> HostKernel:
    return HostKernel(KERNEL(lambda args, geometry, begin, end: function()), ())  # pyright: ignore


def launch(session: Any, stream: int, function: Callable[[], object], blocks: int = 1) -> None:
    session.launch(stream, kernel(function), (blocks, 1, 1), (1, 1, 1), 0, ())


def order_of(seed: int, waits: bool = False) -> tuple[str, ...]:
    """What three streams do: a before b; c; d behind b and c. The host waits for b, perhaps."""
    seen: list[str] = []
    session = HostDevice(schedule_seed=seed).begin(3)
    for stream, name in ((0, "a"), (0, "b"), (1, "c")):
        launch(session, stream, lambda name=name: seen.append(name))
    session.wait(2, session.record(0))
    session.wait(2, session.record(1))
    launch(session, 2, lambda: seen.append("d"))
    if waits:
        session.synchronize(session.record(0))
        seen.append("host")
    session.finish()
    session.close()
    return tuple(seen)


def allowed(order: tuple[str, ...]) -> bool:
    ordered = [("a", "b"), ("b", "d"), ("c", "d"), ("b", "host")]
    return all(order.index(x) < order.index(y) for x, y in ordered if y in order)


@pytest.mark.parametrize("waits", [False, True])
def test_the_orders_are_those_that_are_allowed(waits: bool) -> None:
    names = ("a", "b", "c", "d", "host") if waits else ("a", "b", "c", "d")
    every = {order for order in permutations(names) if allowed(order)}
    assert {order_of(n, waits) for n in range(300)} == every


def test_a_seed_gives_one_order() -> None:
    for n in SEEDS:
        assert order_of(n, True) == order_of(n, True)


def test_the_host_waits_for_no_more_than_it_asks() -> None:
    late = {order_of(n, True) for n in (1, 2)}
    assert late == {("a", "b", "host", "c", "d")}


def test_starving_delays_one_stream() -> None:
    assert ("c", "a", "b", "d") in {order_of(n) for n in range(3, 100, 5)}


def test_blocks_of_concurrent_launches_interleave() -> None:
    def run(n: int) -> str:
        seen: list[str] = []
        session = HostDevice(schedule_seed=n).begin(2)
        for stream, name in ((0, "a"), (1, "b")):
            launch(session, stream, lambda name=name: seen.append(name), blocks=4)
        session.finish()
        return "".join(seen)

    assert any("aba" in run(n) for n in SEEDS)


@pytest.mark.parametrize("n", range(5))
def test_memory_holds_nothing_before_and_after(n: int) -> None:
    device = HostDevice(schedule_seed=n)
    memory = device.allocate(12)
    found = np.frombuffer(memory.owner, np.uint8)  # pyright: ignore[reportArgumentType]
    shift = memory.address - found.ctypes.data
    assert np.isnan(found[shift : shift + 12].view(np.float32)).all()
    session = device.begin(1)
    session.fill(0, memory, b"\0\0\0\0")
    seen: list[bool] = []
    launch(session, 0, lambda: seen.append(bool((found[shift : shift + 12] == 0).all())))
    session.release(memory, (session.record(0),))
    session.finish()
    assert seen == [True] and (found[shift : shift + 12] == 0xFF).all()


def test_a_failed_step_is_reported() -> None:
    for n in range(5):
        session = HostDevice(schedule_seed=n).begin(1)
        with pytest.raises(DeviceError, match="a step failed on the CPU"):
            session.fill(0, host_memory(8), b"\0\0\0")  # no pattern of 3 bytes
            session.finish()


# Programs


def edges(schedule: s.Schedule) -> list[tuple[int, int]]:
    """(step, dependency) between streams and of host waits, but for the one that ends the call."""
    return [(i, d) for i, op in enumerate(schedule.operations[:-1]) for d in op.dependencies]


def without(schedule: s.Schedule, step: int, dependency: int) -> s.Schedule:
    steps = list(schedule.operations)
    kept = tuple(d for d in steps[step].dependencies if d != dependency)
    steps[step] = replace(steps[step], dependencies=kept)
    return replace(schedule, operations=tuple(steps))


HOST_READS = """
func.func @host_reads(%x: memref<64xf32>) -> f32 {
  %c5 = arith.constant 5 : index
  %t = memref.alloc() : memref<64xf32>
  affine.parallel (%i) = (0) to (64) {
    %v = affine.load %x[%i] : memref<64xf32>
    %w = arith.addf %v, %v : f32
    affine.store %w, %t[%i] : memref<64xf32>
  }
  %r = memref.load %t[%c5] : memref<64xf32>
  memref.dealloc %t : memref<64xf32>
  return %r : f32
}
"""

LOOP = """
func.func @steps(%x: memref<64xi32>, %y: memref<64xi32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %k = %c0 to %n step %c1 {
    affine.parallel (%i) = (0) to (64) {
      %v = affine.load %x[%i] : memref<64xi32>
      %w = arith.addi %v, %v : i32
      affine.store %w, %y[63 - %i] : memref<64xi32>
    }
    affine.parallel (%i) = (0) to (64) {
      %v = affine.load %y[%i] : memref<64xi32>
      %w = arith.subi %v, %v : i32
      %u = affine.load %x[%i] : memref<64xi32>
      %z = arith.subi %v, %u : i32
      affine.store %z, %x[%i] : memref<64xi32>
    }
  }
  return
}
"""


def run_schedule(
    program: opar.Program, schedule: s.Schedule, device: Device, arguments: list[Any]
) -> list[np.ndarray]:
    """Copies of the results and of the arguments of one run."""
    given = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    kernels = program._version(True)[1]
    results = execute(schedule, device, kernels, bind(schedule, given, False))
    return [np.array(a) for a in (*results, *given)]


def same(left: list[np.ndarray], right: list[np.ndarray]) -> bool:
    return all(a.tobytes() == b.tobytes() for a, b in zip(left, right, strict=True))


@pytest.mark.parametrize("text", [seed(8, 8, 8), HOST_READS], ids=["seed", "host_reads"])
def test_every_lost_edge_changes_the_result(text: str) -> None:
    program = opar.compile(text, device="cpu")
    rng = np.random.default_rng()
    arguments = [
        rng.standard_normal(a.shape).astype(np.float32) for a in program.schedule.arguments
    ]
    devices = [HostDevice(schedule_seed=n) for n in range(10)]
    right = run_schedule(program, program.schedule, get_device("cpu"), arguments)
    for device in devices:
        assert same(run_schedule(program, program.schedule, device, arguments), right)
    lost = edges(program.schedule)
    assert lost
    for edge in lost:
        broken = without(program.schedule, *edge)
        found = [run_schedule(program, broken, device, arguments) for device in devices]
        assert not all(same(f, right) for f in found), edge


DEALLOC = """
module attributes {gpu.container_module} {
  gpu.module @m {
    gpu.func @double(%x: memref<8xf32>, %y: memref<8xf32>) kernel {
      %i = gpu.block_id x
      %v = memref.load %x[%i] : memref<8xf32>
      %w = arith.addf %v, %v : f32
      memref.store %w, %y[%i] : memref<8xf32>
      gpu.return
    }
  }
  func.func @f(%x: memref<8xf32>, %y: memref<8xf32>) {
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %s = gpu.wait async
    %t, %a = gpu.alloc async [%s] () : memref<8xf32>
    %p = gpu.launch_func async [%a] @m::@double blocks in (%c8, %c1, %c1)
      threads in (%c1, %c1, %c1) args(%x : memref<8xf32>, %t : memref<8xf32>)
    %q = gpu.launch_func async [%p] @m::@double blocks in (%c8, %c1, %c1)
      threads in (%c1, %c1, %c1) args(%t : memref<8xf32>, %y : memref<8xf32>)
    %d = gpu.dealloc async [%q] %t : memref<8xf32>
    gpu.wait [%d]
    return
  }
}
"""


@pytest.mark.parametrize("early", [False, True])
def test_memory_freed_too_early_is_seen(early: bool) -> None:
    text = DEALLOC.replace("gpu.dealloc async [%q]", "gpu.dealloc async [%p]") if early else DEALLOC
    x = np.arange(8, dtype=np.float32)
    wrong = 0
    for n in range(10):
        program = opar.compile(
            text, device="cpu", pipeline="gpu-assign-streams", schedule_seed=n,
            verify_schedule=False,
        )  # fmt: skip
        y = np.full(8, np.nan, np.float32)
        program(x, y)
        wrong += not np.array_equal(y, 4 * x)
    assert bool(wrong) == early


@pytest.mark.parametrize("name", ["two_products_and_sum", "fan_of_eight", "diamond", "jacobi"])
def test_examples_give_the_same_bits(name: str, examples: Path) -> None:
    program = opar.compile(examples / f"{name}.mlir", device="cpu")
    rng = np.random.default_rng()
    arguments = [
        rng.standard_normal(a.shape).astype(np.float32) for a in program.schedule.arguments
    ]
    reference = getattr(expected, name)(*(a.astype(np.float64) for a in arguments))[0]
    right = run_schedule(program, program.schedule, get_device("cpu"), list(arguments))
    np.testing.assert_allclose(right[0], reference, rtol=1e-3, atol=1e-3)
    for n in SEEDS:
        seeded = HostDevice(schedule_seed=n)
        assert same(run_schedule(program, program.schedule, seeded, list(arguments)), right), n


@pytest.mark.parametrize("shared", [False, True])
def test_arguments_that_overlap(shared: bool) -> None:
    for n in SEEDS:
        program = opar.compile(IN_PLACE, device="cpu", schedule_seed=n)
        x = np.random.default_rng().standard_normal(500).astype(np.float32)
        y = x if shared else np.full(500, np.nan, np.float32)
        x_right = x.copy()
        y_right = x_right if shared else y.copy()
        in_place_reference(x_right, y_right, 3.0)
        program(x, y, 3.0)
        assert (x == x_right).all() and (y == y_right).all()


@pytest.mark.parametrize("n", SEEDS)
def test_loops_of_the_host(n: int) -> None:
    program = opar.compile(LOOP, device="cpu", schedule_seed=n)
    assert program.schedule.has_jumps
    x = np.random.default_rng().integers(-1000, 1000, 64, dtype=np.int32)
    y = np.full(64, -1, np.int32)
    a, b = x.copy(), y.copy()
    for _ in range(7):
        b = (2 * a)[::-1].copy()
        a = b - a
    program(x, y, 7)
    assert (x == a).all() and (y == b).all()


# Choosing one


def test_a_seed_stays_with_its_program() -> None:
    first = opar.compile(IN_PLACE, device="cpu", schedule_seed=3)
    second = opar.compile(IN_PLACE, device="cpu")
    assert first.device.schedule_seed == 3 and second.device.schedule_seed is None
    assert second.from_cache and get_device("cpu") is second.device


@pytest.mark.parametrize("wrong", [-1, True, 1.5, "3"])
def test_a_seed_is_a_number(wrong: Any) -> None:
    with pytest.raises(OptionError, match=r"schedule seed .*: must be an integer of at least 0"):
        HostDevice(schedule_seed=wrong)


def test_a_gpu_takes_no_seed() -> None:
    class Gpu:
        kind = "cuda"
        name = "some GPU"
        arch = "sm_90"
        schedule_seed = None

    gpu: Any = Gpu()
    with pytest.raises(OptionError, match="orders operations on the CPU, not on cuda: some GPU"):
        opar.compile(IN_PLACE, device=gpu, schedule_seed=1)
