"""Conflicts between steps of different calls, and of a call and its caller, by what is passed."""

from __future__ import annotations

import pytest

import opar
from opar.errors import ScheduleError

V = "memref<8xi32, strided<[1], offset: ?>>"

MODULE = f"""
module attributes {{gpu.container_module}} {{
  gpu.module @k {{
    gpu.func @add(%x: {V}, %n: i32) kernel {{
      %i = gpu.block_id x
      %v = memref.load %x[%i] : {V}
      %w = arith.addi %v, %n : i32
      memref.store %w, %x[%i] : {V}
      gpu.return
    }}
  }}
  func.func private @start(%x: {V}, %t: !gpu.async.token) -> !gpu.async.token {{
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %n = arith.constant 3 : i32
    %r = gpu.launch_func async [%t] @k::@add blocks in (%c8, %c1, %c1) threads in (%c1, %c1, %c1)
        args(%x : {V}, %n : i32)
    return %r : !gpu.async.token
  }}
  func.func @f(%a: memref<32xi32>, %b: memref<32xi32>, %o: index) {{
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %n = arith.constant 5 : i32
    %low = memref.subview %a[0] [8] [1] : memref<32xi32> to memref<8xi32, strided<[1]>>
    %high = memref.subview %a[7] [8] [1] : memref<32xi32> to memref<8xi32, strided<[1], offset: 7>>
    %far = memref.subview %a[15] [8] [1] : memref<32xi32> to memref<8xi32, strided<[1], offset: 15>>
    %x = memref.cast %low : memref<8xi32, strided<[1]>> to {V}
    %y = memref.cast %high : memref<8xi32, strided<[1], offset: 7>> to {V}
    %z = memref.cast %far : memref<8xi32, strided<[1], offset: 15>> to {V}
    %s = gpu.wait async
    %t = call @start(%x, %s) : ({V}, !gpu.async.token) -> !gpu.async.token
BODY
    return
  }}
}}"""


def call(view: str, token: str) -> str:
    return f"%u = call @start({view}, {token}) : ({V}, !gpu.async.token) -> !gpu.async.token\n"


def launch(view: str, tokens: str) -> str:
    return (
        f"%u = gpu.launch_func async [{tokens}] @k::@add blocks in (%c8, %c1, %c1) "
        f"threads in (%c1, %c1, %c1) args({view} : {V}, %n : i32)\n"
    )


def check(body: str) -> None:
    text = MODULE.replace("BODY", body + "gpu.wait [%t, %u]")
    opar.compile(text, "f", "cpu", pipeline="gpu-assign-streams", use_cache=False)


@pytest.mark.parametrize("step", [call, launch])
def test_views_that_do_not_meet_need_no_order(step: object) -> None:
    assert callable(step)
    check(step("%z", "%s"))


@pytest.mark.parametrize("step", [call, launch])
def test_order_by_a_token_that_a_call_returned(step: object) -> None:
    assert callable(step)
    check(step("%y", "%t"))


@pytest.mark.parametrize("step", [call, launch])
def test_a_race_through_what_a_call_passed(step: object) -> None:
    assert callable(step)
    with pytest.raises(ScheduleError) as caught:
        check(step("%y", "%s"))
    message = str(caught.value)
    assert "step 1 (add<8x1x1, 1x1x1>" in message and "element [7] of %a" in message
    assert "nothing orders them" in message


def test_a_callee_that_uses_a_buffer_twice() -> None:
    """Its parameters are apart in one call and the same in the other."""
    pair = f"""
  func.func private @both(%x: {V}, %y: {V}) {{
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %n = arith.constant 3 : i32
    %r = gpu.launch_func async @k::@add blocks in (%c8, %c1, %c1) threads in (%c1, %c1, %c1)
        args(%x : {V}, %n : i32)
    %s = gpu.launch_func async @k::@add blocks in (%c8, %c1, %c1) threads in (%c1, %c1, %c1)
        args(%y : {V}, %n : i32)
    gpu.wait [%r, %s]
    return
  }}
  func.func @f("""

    def check_pair(first: str, second: str) -> None:
        body = f"gpu.wait [%t]\n call @both({first}, {second}) : ({V}, {V}) -> ()"
        text = MODULE.replace("  func.func @f(", pair).replace("BODY", body)
        opar.compile(text, "f", "cpu", pipeline="gpu-assign-streams", use_cache=False)

    check_pair("%x", "%z")
    with pytest.raises(ScheduleError, match=r"element \[\d\] of %a"):
        check_pair("%x", "%x")
