"""Host functions with branches, loops, blocks and calls give what the same Python gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opar
from opar.errors import ArgumentError, UnsupportedError

GENERATOR = np.random.default_rng()


MANAGED = "opar-pipeline{target=cpu assume-noalias-args=true manage-buffers=true}"

mode = "cpu"


@pytest.fixture(
    autouse=True,
    params=["cpu", "managed", "seeded", pytest.param("cuda", marks=pytest.mark.gpu)],
)
def set_mode(request: pytest.FixtureRequest) -> None:
    """Each test runs on the CPU, with memory of its own for launches too, and on a GPU."""
    global mode
    mode = request.param


def run(text: str, *arguments: Any, **options: Any) -> Any:
    options = {"device": "cuda" if mode == "cuda" else "cpu", "use_cache": False} | options
    if mode in ("managed", "seeded"):
        options.setdefault("pipeline", MANAGED)
    if mode == "seeded":
        options["schedule_seed"] = int(GENERATOR.integers(1000))
    return opar.compile(text, **options)(*arguments)


def scale(a: str, factor: str, size: str = "?", op: str = "mulf", dim: str = "%n") -> str:
    """A kernel: `a = a op factor`."""
    type = f"memref<{size}xf32>"
    return f"""
    affine.parallel (%p) = (0) to ({dim}) {{
      %x = affine.load {a}[%p] : {type}
      %y = arith.{op} %x, {factor} : f32
      affine.store %y, {a}[%p] : {type}
    }}"""


def random(*shape: int) -> np.ndarray:
    return GENERATOR.standard_normal(shape).astype(np.float32)


BRANCH = f"""
func.func @f(%c: i1, %a: memref<?xf32>, %n: index) -> (f32, index) {{
  %two = arith.constant 2.0 : f32
  %three = arith.constant 3.0 : f32
  %c7 = arith.constant 7 : index
  %r:2 = scf.if %c -> (f32, index) {{
    {scale("%a", "%two")}
    scf.yield %two, %n : f32, index
  }} else {{
    {scale("%a", "%three")}
    scf.yield %three, %c7 : f32, index
  }}
  {scale("%a", "%r#0")}
  return %r#0, %r#1 : f32, index
}}"""


@pytest.mark.parametrize("taken", [True, False])
def test_if_chooses_launches_and_results(taken: bool) -> None:
    a = random(13)
    expected = a * np.float32(4 if taken else 9)
    found = run(BRANCH, taken, a, 13)
    assert found == ((2.0, 13) if taken else (3.0, 7))
    np.testing.assert_allclose(a, expected, rtol=1e-6)


def test_if_without_else() -> None:
    text = f"""
    func.func @f(%a: memref<?xf32>, %n: index, %m: index) {{
      %two = arith.constant 2.0 : f32
      %c = arith.cmpi slt, %n, %m : index
      scf.if %c {{ {scale("%a", "%two")} }}
      return
    }}"""
    for m in (3, 9):
        a = random(5)
        expected = a * np.float32(2 if m > 5 else 1)
        run(text, a, 5, m)
        np.testing.assert_array_equal(a, expected)


AFFINE_IF = f"""
#set = affine_set<(d0)[s0] : (d0 - s0 >= 0, d0 mod 2 == 0)>
func.func @f(%a: memref<?xf32>, %n: index, %i: index) -> index {{
  %two = arith.constant 2.0 : f32
  %c1 = arith.constant 1 : index
  %c0 = arith.constant 0 : index
  %r = affine.if #set(%i)[%n] -> index {{
    {scale("%a", "%two")}
    affine.yield %c1 : index
  }} else {{
    affine.yield %c0 : index
  }}
  return %r : index
}}"""


@pytest.mark.parametrize("i", [2, 4, 5, 6, 7])
def test_affine_if(i: int) -> None:
    a = random(4)
    holds = i >= 4 and i % 2 == 0
    expected = a * np.float32(2 if holds else 1)
    assert run(AFFINE_IF, a, 4, i) == int(holds)
    np.testing.assert_array_equal(a, expected)


def test_a_division_in_a_branch_not_taken() -> None:
    text = """
    func.func @f(%a: i32, %b: i32) -> i32 {
      %c0 = arith.constant 0 : i32
      %c = arith.cmpi ne, %b, %c0 : i32
      %r = scf.if %c -> i32 {
        %q = arith.divsi %a, %b : i32
        scf.yield %q : i32
      } else { scf.yield %a : i32 }
      return %r : i32
    }"""
    assert run(text, 7, 2) == 3
    assert run(text, 7, 0) == 7


@pytest.mark.parametrize(("i", "expected"), [(2, 20), (5, 50), (0, -1), (-3, -1)])
def test_index_switch(i: int, expected: int) -> None:
    text = """
    func.func @f(%i: index) -> i32 {
      %r = scf.index_switch %i -> i32
      case 2 { %c = arith.constant 20 : i32
        scf.yield %c : i32 }
      case 5 { %c = arith.constant 50 : i32
        scf.yield %c : i32 }
      default { %c = arith.constant -1 : i32
        scf.yield %c : i32 }
      return %r : i32
    }"""
    assert run(text, i) == expected


LOOP = f"""
func.func @f(%a: memref<?xf32>, %n: index, %lb: index, %ub: index, %step: index) -> (index, f32) {{
  %one = arith.constant 1.0 : f32
  %two = arith.constant 2.0 : f32
  %c0 = arith.constant 0 : index
  %r:2 = scf.for %i = %lb to %ub step %step iter_args(%s = %c0, %f = %one) -> (index, f32) {{
    {scale("%a", "%f", op="addf")}
    %t = arith.addi %s, %i : index
    %g = arith.mulf %f, %two : f32
    scf.yield %t, %g : index, f32
  }}
  return %r#0, %r#1 : index, f32
}}"""


@pytest.mark.parametrize("bounds", [(0, 5, 1), (3, 3, 1), (5, 2, 1), (-4, 9, 3), (0, 1, 100)])
def test_for_with_bounds_of_the_call(bounds: tuple[int, int, int]) -> None:
    a = random(9)
    expected, total, factor = a.copy(), 0, np.float32(1)
    for i in range(*bounds):
        expected = expected + factor
        total, factor = total + i, factor * 2
    assert run(LOOP, a, 9, *bounds) == (total, factor)
    np.testing.assert_allclose(a, expected, rtol=1e-6)


def test_a_loop_without_a_positive_step_is_named() -> None:
    with pytest.raises(ArgumentError, match=r"<string>:6:.*the step of the loop is not positive"):
        run(LOOP, random(9), 9, 0, 5, 0)


INTEGER_LOOP = """
func.func @f(%lb: i8, %ub: i8, %step: i8) -> (i32, i8) {{
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %z = arith.constant 0 : i8
  %r:2 = scf.for {0} %i = %lb to %ub step %step iter_args(%s = %c0, %l = %z) -> (i32, i8) : i8 {{
    %t = arith.addi %s, %c1 : i32
    scf.yield %t, %i : i32, i8
  }}
  return %r#0, %r#1 : i32, i8
}}"""


@pytest.mark.parametrize(
    ("kind", "bounds", "trips", "last"),
    [
        ("", (0, 127, 100), 2, 100),
        ("", (-128, 127, 127), 3, 126),
        ("unsigned", (0, -1, 100), 3, -56),
        ("unsigned", (-1, 5, 1), 0, 0),
        ("", (-1, 5, 1), 6, 4),
    ],
)
def test_counters_of_narrow_integers_do_not_wrap(
    kind: str, bounds: tuple[int, int, int], trips: int, last: int
) -> None:
    assert run(INTEGER_LOOP.format(kind), *bounds) == (trips, last)


AFFINE_LOOP = f"""
func.func @f(%a: memref<?xf32>, %n: index, %m: index) -> index {{
  %two = arith.constant 2.0 : f32
  %c0 = arith.constant 0 : index
  %r = affine.for %i = max affine_map<(d0) -> (d0, 2)>(%m) to min affine_map<(d0) -> (d0, 20)>(%n)
      step 3 iter_args(%s = %c0) -> (index) {{
    {scale("%a", "%two")}
    %t = affine.apply affine_map<(d0, d1) -> (d0 + d1 floordiv 2)>(%s, %i)
    affine.yield %t : index
  }}
  return %r : index
}}"""


@pytest.mark.parametrize(("n", "m"), [(10, 0), (30, 1), (3, 5), (25, -7)])
def test_affine_for(n: int, m: int) -> None:
    a = random(n)
    trips = range(max(m, 2), min(n, 20), 3)
    expected = a * np.float32(2) ** len(trips)
    assert run(AFFINE_LOOP, a, n, m) == sum(i // 2 for i in trips)
    np.testing.assert_allclose(a, expected, rtol=1e-6)


NESTED = """
func.func @f(%a: memref<?x?xf32>, %n: index, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  scf.for %i = %c0 to %n step %c1 {
    %even = arith.remsi %i, %c2 : index
    %is = arith.cmpi eq, %even, %c0 : index
    scf.for %j = %c0 to %i step %c1 {
      %f0 = arith.index_cast %j : index to i32
      %f = arith.sitofp %f0 : i32 to f32
      scf.if %is {
        affine.parallel (%p) = (0) to (%m) {
          %x = memref.load %a[%i, %p] : memref<?x?xf32>
          %y = arith.addf %x, %f : f32
          memref.store %y, %a[%i, %p] : memref<?x?xf32>
        }
      }
    }
  }
  return
}"""


def test_nested_loops_and_branches() -> None:
    a = random(7, 5)
    expected = a.copy()
    for i in range(0, 7, 2):
        for j in range(i):
            expected[i] += np.float32(j)
    run(NESTED, a, 7, 5)
    np.testing.assert_allclose(a, expected, rtol=1e-5)


CONVERGENCE = """
func.func @f(%a: memref<?xf32>, %limit: f32, %n: index) -> i32 {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %half = arith.constant 0.5 : f32
  %count = scf.while (%i = %zero) : (i32) -> i32 {
    %x = memref.load %a[%c0] : memref<?xf32>
    %go = arith.cmpf ogt, %x, %limit : f32
    scf.condition(%go) %i : i32
  } do {
  ^bb0(%i: i32):
    affine.parallel (%p) = (0) to (%n) {
      %x = affine.load %a[%p] : memref<?xf32>
      %y = arith.mulf %x, %half : f32
      affine.store %y, %a[%p] : memref<?xf32>
    }
    %next = arith.addi %i, %one : i32
    scf.yield %next : i32
  }
  return %count : i32
}"""


def test_while_until_what_a_kernel_wrote_is_small() -> None:
    a = np.abs(random(6)) + 100
    expected, count = a.copy(), 0
    while expected[0] > 0.3:
        expected, count = expected * np.float32(0.5), count + 1
    assert run(CONVERGENCE, a, 0.3, 6) == count > 5
    np.testing.assert_allclose(a, expected)


SWAP = """
func.func @f(%a: memref<?xf32>, %b: memref<?xf32>, %n: index, %steps: index) -> memref<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f32
  %r:2 = scf.for %t = %c0 to %steps step %c1 iter_args(%x = %a, %y = %b)
      -> (memref<?xf32>, memref<?xf32>) {
    affine.parallel (%p) = (0) to (%n) {
      %v = memref.load %x[%p] : memref<?xf32>
      %w = arith.addf %v, %one : f32
      memref.store %w, %y[%p] : memref<?xf32>
    }
    scf.yield %y, %x : memref<?xf32>, memref<?xf32>
  }
  return %r#0 : memref<?xf32>
}"""


@pytest.mark.parametrize("steps", [0, 1, 2, 5])
def test_swapped_buffers(steps: int) -> None:
    a, b = random(11), random(11)
    start = a.copy()
    found = run(SWAP, a, b, 11, steps)
    assert found is (b if steps % 2 else a)
    np.testing.assert_allclose(found, start + np.float32(steps), rtol=1e-6)


def test_memory_allocated_in_a_loop_is_new_each_time() -> None:
    text = """
    func.func @f(%a: memref<?xf32>, %n: index, %steps: index) -> memref<?xf32> {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %r = scf.for %t = %c0 to %steps step %c1 iter_args(%x = %a) -> (memref<?xf32>) {
        %m = arith.addi %n, %t : index
        %y = memref.alloc(%m) : memref<?xf32>
        affine.parallel (%p) = (0) to (%n) {
          %v = memref.load %x[%p] : memref<?xf32>
          %w = arith.addf %v, %v : f32
          memref.store %w, %y[%p] : memref<?xf32>
        }
        scf.yield %y : memref<?xf32>
      }
      return %r : memref<?xf32>
    }"""
    a = random(4)
    start = a.copy()
    found = run(text, a, 4, 3)
    np.testing.assert_array_equal(a, start)
    assert found.shape == (6,)
    np.testing.assert_allclose(found[:4], start * 8)


BLOCKS = f"""
func.func @f(%a: memref<?xf32>, %n: index, %k: i32) -> (i32, index) {{
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %two = arith.constant 2.0 : f32
  %small = arith.cmpi slt, %k, %zero : i32
  cf.cond_br %small, ^early, ^head(%zero : i32)
^head(%i: i32):
  %go = arith.cmpi slt, %i, %k : i32
  cf.cond_br %go, ^body, ^exit(%i : i32)
^exit(%r: i32):
  return %r, %n : i32, index
^body:
  {scale("%a", "%two")}
  %next = arith.addi %i, %one : i32
  cf.br ^head(%next : i32)
^early:
  %c = arith.constant -1 : i32
  %m = arith.constant 99 : index
  return %c, %m : i32, index
}}"""


@pytest.mark.parametrize("k", [-2, 0, 3])
def test_blocks_loops_and_early_returns(k: int) -> None:
    a = random(6)
    expected = a * np.float32(2) ** max(k, 0)
    assert run(BLOCKS, a, 6, k) == ((k, 6) if k >= 0 else (-1, 99))
    np.testing.assert_allclose(a, expected)


@pytest.mark.parametrize(("flag", "expected"), [(3, 13), (-4, 99), (0, 5)])
def test_switch(flag: int, expected: int) -> None:
    text = """
    func.func @f(%flag: i32) -> i32 {
      %a = arith.constant 10 : i32
      %b = arith.constant 99 : i32
      %d = arith.constant 5 : i32
      %s = arith.addi %a, %flag : i32
      cf.switch %flag : i32, [
        default: ^end(%d : i32),
        3: ^end(%s : i32),
        -4: ^end(%b : i32)
      ]
    ^end(%r: i32):
      return %r : i32
    }"""
    assert run(text, flag) == expected


def test_a_select_of_memrefs() -> None:
    text = f"""
    func.func @f(%c: i1, %a: memref<?xf32>, %b: memref<?xf32>, %n: index) -> memref<?xf32> {{
      %two = arith.constant 2.0 : f32
      %s = arith.select %c, %a, %b : memref<?xf32>
      {scale("%s", "%two")}
      return %s : memref<?xf32>
    }}"""
    for chosen in (True, False):
        a, b = random(5), random(5)
        wanted, other = (a, b) if chosen else (b, a)
        expected, unchanged = wanted * 2, other.copy()
        assert run(text, chosen, a, b, 5) is wanted
        np.testing.assert_array_equal(wanted, expected)
        np.testing.assert_array_equal(other, unchanged)


CALLS = f"""
func.func private @helper(%a: memref<?xf32>, %f: f32, %k: index) -> index {{
  %c0 = arith.constant 0 : index
  %n = memref.dim %a, %c0 : memref<?xf32>
  %none = arith.cmpi eq, %k, %c0 : index
  cf.cond_br %none, ^out, ^work
^out:
  return %c0 : index
^work:
  {scale("%a", "%f")}
  %m = arith.muli %n, %k : index
  return %m : index
}}
func.func @f(%a: memref<?xf32>, %b: memref<?xf32>, %k: index) -> index {{
  %two = arith.constant 2.0 : f32
  %three = arith.constant 3.0 : f32
  %x = func.call @helper(%a, %two, %k) : (memref<?xf32>, f32, index) -> index
  %y = func.call @helper(%b, %three, %x) : (memref<?xf32>, f32, index) -> index
  %z = func.call @helper(%a, %three, %y) : (memref<?xf32>, f32, index) -> index
  %r = arith.addi %y, %z : index
  return %r : index
}}"""


@pytest.mark.parametrize("k", [0, 2])
def test_calls_of_functions_with_a_body(k: int) -> None:
    a, b = random(4), random(7)
    start = a.copy(), b.copy()
    x = 4 * k
    y = 7 * x
    z = 4 * y
    assert run(CALLS, a, b, k, entry="f") == y + z
    np.testing.assert_allclose(a, start[0] * (6 if k else 1), rtol=1e-6)
    np.testing.assert_allclose(b, start[1] * (3 if k else 1), rtol=1e-6)


RETURNS = """
func.func private @choose(%c: i1, %a: memref<4xf32>, %b: memref<4xf32>) -> memref<4xf32> {
  cf.cond_br %c, ^first, ^second
^first:
  return %a : memref<4xf32>
^second:
  return %b : memref<4xf32>
}
func.func private @itself(%a: memref<4xf32>) -> memref<4xf32> {
  return %a : memref<4xf32>
}
func.func @f(%c: i1, %a: memref<4xf32>, %b: memref<4xf32>) -> f32 {
  %c1 = arith.constant 1 : index
  %r = call @choose(%c, %a, %b) : (i1, memref<4xf32>, memref<4xf32>) -> memref<4xf32>
  %s = call @itself(%r) : (memref<4xf32>) -> memref<4xf32>
  %v = memref.load %s[%c1] : memref<4xf32>
  return %v : f32
}"""


@pytest.mark.parametrize("c", [True, False])
def test_a_call_returns_what_it_was_passed(c: bool) -> None:
    a, b = random(4), random(4)
    assert run(RETURNS, c, a, b, entry="f") == (a if c else b)[1]


STAGED = f"""
func.func private @increment(%m: memref<?xf32>, %n: index) {{
  %one = arith.constant 1.0 : f32
  {scale("%m", "%one", op="addf")}
  return
}}
func.func @f(%a: memref<?xf32>, %b: memref<?xf32>, %n: index) {{
  call @increment(%b, %n) : (memref<?xf32>, index) -> ()
  %t = memref.alloc(%n) : memref<?xf32>
  memref.copy %a, %t : memref<?xf32> to memref<?xf32>
  call @increment(%t, %n) : (memref<?xf32>, index) -> ()
  memref.copy %t, %b : memref<?xf32> to memref<?xf32>
  call @increment(%b, %n) : (memref<?xf32>, index) -> ()
  return
}}"""


@pytest.mark.parametrize("target", ["cpu", "cuda"])
def test_a_buffer_that_stages_the_argument_of_a_callee(target: str) -> None:
    """It holds what the call passes, not the argument of the same number of the entry."""
    a, b = random(9), random(9)
    kept, expected = a.copy(), a + np.float32(1) + np.float32(1)
    pipeline = f"opar-pipeline{{target={target} assume-noalias-args=true}}"
    run(STAGED, a, b, 9, entry="f", pipeline=pipeline)
    np.testing.assert_array_equal(a, kept)
    np.testing.assert_array_equal(b, expected)


def test_recursion_is_refused() -> None:
    text = """
    func.func @g(%a: index) { func.call @f(%a) : (index) -> ()
      return }
    func.func @f(%a: index) { func.call @g(%a) : (index) -> ()
      return }"""
    with pytest.raises(UnsupportedError, match="@f calls itself: recursion is not supported"):
        run(text, 1, entry="f")


def test_an_external_function_is_refused() -> None:
    text = """
    func.func private @g(index)
    func.func @f(%a: index) { func.call @g(%a) : (index) -> ()
      return }"""
    with pytest.raises(UnsupportedError, match="@g has no body"):
        run(text, 1, entry="f")


def test_a_function_that_never_ends_is_refused() -> None:
    text = "func.func @f() {\n  cf.br ^a\n^a:\n  cf.br ^a\n}"
    with pytest.raises(UnsupportedError, match="no way leads to its end"):
        run(text)


def test_assertions() -> None:
    text = """
    func.func @f(%a: i32, %b: i32) -> i32 {
      %c0 = arith.constant 0 : i32
      %c = arith.cmpi ne, %b, %c0 : i32
      cf.assert %c, "b must not be zero"
      %q = arith.divsi %a, %b : i32
      return %q : i32
    }"""
    assert run(text, 7, 2) == 3
    with pytest.raises(ArgumentError, match=r"<string>:5:7: .*b must not be zero"):
        run(text, 7, 0)


EXECUTE_REGION = f"""
func.func @f(%a: memref<?xf32>, %n: index, %c: i1) -> index {{
  %two = arith.constant 2.0 : f32
  %c5 = arith.constant 5 : index
  %r = scf.execute_region -> index {{
    cf.cond_br %c, ^x, ^y
  ^x:
    {scale("%a", "%two")}
    scf.yield %n : index
  ^y:
    scf.yield %c5 : index
  }}
  return %r : index
}}"""


@pytest.mark.parametrize("taken", [True, False])
def test_execute_region(taken: bool) -> None:
    a = random(3)
    expected = a * np.float32(2 if taken else 1)
    assert run(EXECUTE_REGION, a, 3, taken) == (3 if taken else 5)
    np.testing.assert_array_equal(a, expected)
