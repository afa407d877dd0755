"""
Host functions whose launches have memory of their own: the host sees what they wrote, and they what
the host wrote, however memory is named.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opar
from opar.dialects import gpu
from opar.errors import UnsupportedError

GENERATOR = np.random.default_rng()
LINE = "memref<?xi32>"
MANAGED = "opar-pipeline{target=cpu assume-noalias-args=true manage-buffers=true}"
HEAD = """
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %k5 = arith.constant 5 : i32"""


def add(source: str, target: str, size: str = "?", bound: str = "%n") -> str:
    """A kernel: `target += source`."""
    type = f"memref<{size}xi32>"
    return f"""
    affine.parallel (%p) = (0) to ({bound}) {{
      %l = affine.load {source}[%p] : {type}
      %m = affine.load {target}[%p] : {type}
      %sum = arith.addi %l, %m : i32
      affine.store %sum, {target}[%p] : {type}
    }}"""


def numbers(size: int) -> np.ndarray:
    return GENERATOR.integers(-1000, 1000, size).astype(np.int32)


def run(text: str, *arguments: Any, entry: str = "f") -> Any:
    """The result of a call; one in an order of a seed gives the same."""
    copies = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    options: dict[str, Any] = {"device": "cpu", "pipeline": MANAGED, "use_cache": False}
    found = opar.compile(text, entry, **options)(*arguments)
    seed = int(GENERATOR.integers(1000))
    again = opar.compile(text, entry, schedule_seed=seed, **options)(*copies)
    for one, other in zip((*arguments, found), (*copies, again), strict=True):
        np.testing.assert_array_equal(one, other)
    return found


def test_arguments_are_copied() -> None:
    text = f"func.func @f(%a: {LINE}, %b: {LINE}, %n: index) {{ {add('%a', '%b')} return }}"
    program = opar.compile(text, device="cpu", pipeline=MANAGED, use_cache=False)
    copies = [op for op in program.module.walk() if isinstance(op, gpu.MemcpyOp)]
    assert len(copies) == 3
    a, b = numbers(9), numbers(9)
    expected = a + b
    program(a, b, 9)
    np.testing.assert_array_equal(b, expected)


def test_a_global_got_twice_is_one_memory() -> None:
    text = f"""
    memref.global "private" @g : memref<4xi32> = dense<[1, 2, 3, 4]>
    func.func @f(%a: memref<4xi32>) -> i32 {{ {HEAD}
      %g = memref.get_global @g : memref<4xi32>
      {add("%g", "%a", "4", "4")}
      %h = memref.get_global @g : memref<4xi32>
      {add("%h", "%h", "4", "4")}
      %v = memref.load %g[%c1] : memref<4xi32>
      return %v : i32
    }}"""
    a = numbers(4)
    expected = a + np.arange(1, 5, dtype=np.int32)
    assert run(text, a) == 4
    np.testing.assert_array_equal(a, expected)


@pytest.mark.parametrize("again", [True, False])
def test_memory_allocated_in_a_region_of_several_blocks(again: bool) -> None:
    text = f"""
    func.func @f(%c: i1, %a: {LINE}, %n: index) -> i32 {{ {HEAD}
      %r, %w = scf.execute_region -> ({LINE}, i32) {{
        %t = memref.alloc(%n) : {LINE}
        memref.copy %a, %t : {LINE} to {LINE}
        {add("%t", "%t")}
        %v = memref.load %t[%c0] : {LINE}
        memref.store %v, %t[%c1] : {LINE}
        cf.cond_br %c, ^again, ^end
      ^again:
        memref.store %k5, %t[%c0] : {LINE}
        cf.br ^end
      ^end:
        scf.yield %t, %v : {LINE}, i32
      }}
      {add("%r", "%a")}
      memref.dealloc %r : {LINE}
      return %w : i32
    }}"""
    a = numbers(6)
    start = a.copy()
    t = 2 * a
    t[1] = t[0]
    t[0] = 5 if again else t[0]
    assert run(text, again, a, 6) == 2 * start[0]
    np.testing.assert_array_equal(a, start + t)


@pytest.mark.parametrize("choice", [True, False])
def test_launches_and_the_host_in_a_region_of_several_blocks(choice: bool) -> None:
    text = f"""
    func.func @f(%c: i1, %a: {LINE}, %b: {LINE}, %n: index) {{ {HEAD}
      scf.execute_region {{
        cf.cond_br %c, ^one, ^two
      ^one:
        {add("%a", "%b")}
        scf.yield
      ^two:
        memref.store %k5, %a[%c0] : {LINE}
        {add("%a", "%b")}
        memref.store %k5, %b[%c1] : {LINE}
        scf.yield
      }}
      {add("%b", "%a")}
      return
    }}"""
    a, b = numbers(6), numbers(6)
    x, y = a.copy(), b.copy()
    if not choice:
        x[0] = 5
    y += x
    if not choice:
        y[1] = 5
    x += y
    run(text, choice, a, b, 6)
    np.testing.assert_array_equal(a, x)
    np.testing.assert_array_equal(b, y)


@pytest.mark.parametrize("steps", [0, 1, 3])
def test_memory_that_a_loop_of_the_host_hands_on(steps: int) -> None:
    text = f"""
    func.func @f(%a: {LINE}, %n: index, %s: index) {{ {HEAD}
      %t = memref.alloc(%n) : {LINE}
      memref.copy %a, %t : {LINE} to {LINE}
      %r = scf.for %i = %c0 to %s step %c1 iter_args(%x = %t) -> ({LINE}) {{
        %new = memref.alloc(%n) : {LINE}
        memref.copy %x, %new : {LINE} to {LINE}
        memref.store %k5, %new[%i] : {LINE}
        memref.dealloc %x : {LINE}
        scf.yield %new : {LINE}
      }}
      {add("%r", "%a")}
      memref.dealloc %r : {LINE}
      return
    }}"""
    a = numbers(6)
    expected = a + a
    expected[:steps] += 5 - a[:steps]
    run(text, a, 6, steps)
    np.testing.assert_array_equal(a, expected)


@pytest.mark.parametrize("steps", [0, 1, 2, 3])
def test_memory_that_another_block_than_its_own_hands_on(steps: int) -> None:
    text = f"""
    func.func @f(%a: {LINE}, %n: index, %s: index) {{ {HEAD}
      %first = memref.alloc(%n) : {LINE}
      memref.copy %a, %first : {LINE} to {LINE}
      cf.br ^head(%c0, %first : index, {LINE})
    ^head(%i: index, %x: {LINE}):
      %go = arith.cmpi slt, %i, %s : index
      cf.cond_br %go, ^body, ^exit
    ^body:
      %new = memref.alloc(%n) : {LINE}
      memref.copy %a, %new : {LINE} to {LINE}
      {add("%x", "%new")}
      cf.br ^next
    ^next:
      memref.store %k5, %new[%c1] : {LINE}
      %j = arith.addi %i, %c1 : index
      cf.br ^head(%j, %new : index, {LINE})
    ^exit:
      {add("%x", "%a")}
      return
    }}"""
    a = numbers(6)
    x = a.copy()
    for _ in range(steps):
        x = x + a
        x[1] = 5
    expected = a + x
    run(text, a, 6, steps)
    np.testing.assert_array_equal(a, expected)


def test_memory_allocated_and_used_by_both_in_an_operation_of_unknown_control_flow() -> None:
    text = """
    module attributes {gpu.container_module} {
    gpu.module @k {
      gpu.func @f(%a: memref<4xi32>) kernel {
        %i = gpu.thread_id x
        %v = memref.load %a[%i] : memref<4xi32>
        gpu.return
      }
    }
    func.func @f(%v: i32) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      scf.parallel (%i) = (%c0) to (%c1) step (%c1) {
        %t = memref.alloc() : memref<4xi32>
        memref.store %v, %t[%i] : memref<4xi32>
        gpu.launch_func @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
          args(%t : memref<4xi32>)
      }
      return
    }
    }"""
    module = opar.parse_module(text)
    with pytest.raises(UnsupportedError, match="the host and a launch both access %t"):
        opar.run_passes(module, "gpu-manage-buffers")
