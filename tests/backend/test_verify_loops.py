"""Schedules with jumps are checked on every way through branches, loops and blocks."""

from __future__ import annotations

import pytest

import opar
from opar.errors import ScheduleError

TYPE = "memref<64xi32>"
TOKEN = "!gpu.async.token"

MODULE = f"""
module attributes {{gpu.container_module}} {{
  gpu.module @k {{
    gpu.func @add(%x: {TYPE}, %o: index) kernel {{
      %b = gpu.block_id x
      %i = arith.addi %b, %o : index
      %v = memref.load %x[%i] : {TYPE}
      %w = arith.addi %v, %v : i32
      memref.store %w, %x[%i] : {TYPE}
      gpu.return
    }}
  }}
  func.func @f(%a: {TYPE}, %b: {TYPE}, %n: index, %c: i1) {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c7 = arith.constant 7 : index
    %c8 = arith.constant 8 : index
    %none = gpu.wait async
BODY
    return
  }}
}}"""


def launch(token: str, before: str, buffer: str = "%a", start: str = "%c0") -> str:
    """Eight elements from `start` on."""
    return (
        f"{token} = gpu.launch_func async [{before}] @k::@add blocks in (%c8, %c1, %c1) "
        f"threads in (%c1, %c1, %c1) args({buffer} : {TYPE}, {start} : index)\n"
    )


def check(body: str) -> None:
    opar.compile(
        MODULE.replace("BODY", body), "f", "cpu", pipeline="gpu-assign-streams", use_cache=False
    )


def refused(body: str) -> str:
    with pytest.raises(ScheduleError, match="nothing orders them") as caught:
        check(body)
    return str(caught.value)


def loop(body: str, given: str, upper: str = "%n", step: str = "%c1") -> str:
    return f"""
    %r = scf.for %i = %c0 to {upper} step {step} iter_args(%t = %none) -> ({TOKEN}) {{
      {body}
      scf.yield {given} : {TOKEN}
    }}"""


def test_a_token_from_iteration_to_iteration() -> None:
    check(loop(launch("%0", "%t"), "%0") + "gpu.wait [%r]")
    message = refused(loop(launch("%0", "%none"), "%0") + "gpu.wait [%r]")
    assert "step 3 (add<8x1x1, 1x1x1>" in message and "in an earlier iteration" in message
    assert "both touch element [0] of %a" in message
    refused(loop(launch("%0", "%t"), "%t") + "gpu.wait [%r]")


@pytest.mark.parametrize(("step", "apart"), [("%c8", True), ("%c7", False)])
def test_iterations_on_tiles(step: str, apart: bool) -> None:
    joined = launch("%0", "%none", start="%i") + "%j = gpu.wait async [%t, %0]\n"
    text = loop(joined, "%j", step=step) + launch("%1", "%r", start="%c7") + "gpu.wait [%1]"
    if apart:
        check(text)
    else:
        assert "in an earlier iteration" in refused(text)


def test_behind_a_loop_all_iterations_count() -> None:
    """The last iteration's token does not stand for those before it."""
    tiles = launch("%0", "%none", start="%i")
    text = loop(tiles, "%0", step="%c8") + launch("%1", "%r", start="%c7") + "gpu.wait [%1]"
    assert "element [7] of %a" in refused(text)


def test_a_loop_that_may_not_run() -> None:
    """What its body waits for is complete behind it only if it runs at least once."""
    inner = loop(launch("%0", "%t, %1"), "%0", "UPPER")
    text = launch("%1", "%none") + inner + launch("%2", "%r") + "gpu.wait [%2]"
    check(text.replace("UPPER", "%c2"))
    assert "step 0" in refused(text.replace("UPPER", "%n"))


def branch(first: str, second: str) -> str:
    return f"""
    %r:2 = scf.if %c -> ({TOKEN}, {TOKEN}) {{
      {first}
      scf.yield %2, %none : {TOKEN}, {TOKEN}
    }} else {{
      {second}
      scf.yield %none, %2 : {TOKEN}, {TOKEN}
    }}
    """


def test_two_tokens_of_which_a_branch_gives_one() -> None:
    """Neither says that the first launch is complete; the two together do."""
    both = branch(launch("%2", "%1"), launch("%2", "%1"))
    check(launch("%1", "%none") + both + launch("%3", "%r#0, %r#1") + "gpu.wait [%3]")
    refused(launch("%1", "%none") + both + launch("%3", "%r#0") + "gpu.wait [%3]")
    one = branch(launch("%2", "%1"), launch("%2", "%none", "%b"))
    refused(launch("%1", "%none") + one + launch("%3", "%r#0, %r#1") + "gpu.wait [%3]")


def test_nested_loops() -> None:
    """Rows follow each other, the tiles of one row do not."""
    tile = launch("%0", "%t", start="%j") + "%u = gpu.wait async [%s, %0]\n"
    row = f"""
      %q = scf.for %j = %c0 to %n step %c8 iter_args(%s = %t) -> ({TOKEN}) {{
        {tile}
        scf.yield %u : {TOKEN}
      }}"""
    check(loop(row, "%q") + "gpu.wait [%r]")
    refused(loop(row.replace("gpu.wait async [%s, %0]", "gpu.wait async [%0]"), "%q"))
    refused(loop(row.replace("async [%t]", "async [%none]"), "%q"))
    refused(loop(row, "%none"))


def test_blocks_that_run_again() -> None:
    text = f"""
    cf.br ^body(%none : {TOKEN})
  ^body(%t: {TOKEN}):
    {launch("%0", "%t")}
    %m = arith.muli %n, %c8 : index
    {launch("%1", "%t", "%b", "%m")}
    %j = gpu.wait async [%0, %1]
    cf.cond_br %c, ^body(%j : {TOKEN}), ^end
  ^end:
    gpu.wait [%j]"""
    check(text)
    assert "of %b" in refused(text.replace("^body(%j", "^body(%0"))
    assert "of %a" in refused(text.replace("^body(%j", "^body(%1"))


def test_memory_of_each_iteration() -> None:
    """What an iteration allocates is its own, unless it hands it on."""
    own = f"%m = memref.alloc() : {TYPE}\n" + launch("%0", "%none", "%m")
    check(loop(own, "%0"))
    handed = f"""
    %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a, %t = %none) -> ({TYPE}, {TOKEN}) {{
      {launch("%0", "%t", "%x")}
      %m = memref.alloc() : {TYPE}
      {launch("%1", "%0", "%m")}
      %j = gpu.wait async [%0, %1]
      scf.yield %m, %j : {TYPE}, {TOKEN}
    }}"""
    check(handed)
    refused(handed.replace("%m, %j", "%m, %0"))


HANDED_BY_WHILE = MODULE.replace("BODY", f"""
    scf.while (%x = %a) : ({TYPE}) -> () {{
      gpu.launch_func @k::@add blocks in (%c8, %c1, %c1) threads in (%c1, %c1, %c1)
          args(%x : {TYPE}, %c0 : index)
      scf.condition(%c)
    }} do {{
      %m = memref.alloc() : {TYPE}
      gpu.launch_func @k::@add blocks in (%c8, %c1, %c1) threads in (%c1, %c1, %c1)
          args(%m : {TYPE}, %c0 : index)
      scf.yield %m : {TYPE}
    }}""")  # fmt: skip


def test_the_pass_orders_memory_that_a_while_hands_on() -> None:
    pipeline = "gpu-async-dataflow,gpu-assign-streams"
    opar.compile(
        HANDED_BY_WHILE, "f", "cpu", pipeline=pipeline, use_cache=False, verify_schedule=True
    )
