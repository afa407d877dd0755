"""The mapping for the CPU against numpy, on the CPU device: tails, rows, vectors, all types."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest

import opar
from tests.programs import product
from tests.transforms.cpu_tools import check, constant, data, of, poisoned, run, times


@pytest.fixture
def generator() -> np.random.Generator:
    """Other inputs in each run; the seed is printed when a test fails."""
    entropy = np.random.SeedSequence().entropy
    print("inputs from seed", entropy)
    return np.random.default_rng(entropy)


PRODUCTS = [
    *itertools.product(["f32"], ["carried"], ["", "a", "b", "ab"], ["ij"]),
    *itertools.product(["f32"], ["carried", "in memory"], ["", "a"], ["ji"]),
    ("f64", "carried", "", "ij"),
    ("f16", "in memory", "", "ij"),
    ("i32", "in memory", "b", "ij"),
    ("i8", "carried", "", "ij"),
]
"""(type, form of the sum, transposed operands, order of the parallel loops)"""


def test_products(generator: np.random.Generator) -> None:
    """All kinds of products, with sizes known at run time only, four shapes for each."""
    for type, form, transpose, order in PRODUCTS:
        mul, add = times(type)
        a_at = "%k, %i" if "a" in transpose else "%i, %k"
        b_at = "%j, %k" if "b" in transpose else "%k, %j"
        m = f"memref<?x?x{type}>"
        loads = f"""
          %x = affine.load %a[{a_at}] : {m}
          %y = affine.load %b[{b_at}] : {m}
          %xy = {mul} %x, %y : {type}"""
        inner = f"""
        %dot = affine.for %k = 0 to %d iter_args(%acc = %zero) -> ({type}) {{{loads}
          %next = {add} %acc, %xy : {type}
          affine.yield %next : {type}
        }}
        affine.store %dot, %c[%i, %j] : {m}"""
        if form == "in memory":
            inner = f"""
        affine.store %zero, %c[%i, %j] : {m}
        affine.for %k = 0 to %d {{{loads}
          %acc = affine.load %c[%i, %j] : {m}
          %next = {add} %acc, %xy : {type}
          affine.store %next, %c[%i, %j] : {m}
        }}"""
        first, second = order
        sizes = {"i": "%n", "j": "%m"}
        program = opar.compile(
            f"""
func.func @f(%a: {m}, %b: {m}, %c: {m}, %d: index) {{
  %zero = {constant(type)}
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %c, %c0 : {m}
  %m = memref.dim %c, %c1 : {m}
  affine.parallel (%{first}) = (0) to ({sizes[first]}) {{
    affine.parallel (%{second}) = (0) to ({sizes[second]}) {{{inner}
    }}
  }}
  return
}}""",
            device="cpu",
        )
        for rows, cols, depth in generator.integers(1, 71, (4, 3)).tolist():
            a, b = data(generator, type, rows, depth), data(generator, type, depth, cols)
            c = poisoned(type, rows, cols)
            left = np.ascontiguousarray(a.T) if "a" in transpose else a
            right = np.ascontiguousarray(b.T) if "b" in transpose else b
            program(left, right, c, depth)
            exact = np.int64 if type[0] == "i" else np.float64
            check(c, a.astype(exact) @ b.astype(exact))


@pytest.mark.parametrize("order", ["ijk", "jik", "ikj", "jki"])
def test_products_from_sequential_loops(order: str, generator: np.random.Generator) -> None:
    """`C += A * B` written as three sequential loops; with k outermost the host would loop."""
    for _ in range(2):
        sizes = dict(zip("ijk", (int(n) for n in generator.integers(1, 71, 3)), strict=True))
        a = data(generator, "f32", sizes["i"], sizes["k"])
        b = data(generator, "f32", sizes["k"], sizes["j"])
        c = data(generator, "f32", sizes["i"], sizes["j"])
        reference = c + a.astype(np.float64) @ b
        body = f"""
          %x = affine.load %a[%i, %k] : {of(a)}
          %y = affine.load %b[%k, %j] : {of(b)}
          %z = affine.load %c[%i, %j] : {of(c)}
          %xy = arith.mulf %x, %y : f32
          %s = arith.addf %z, %xy : f32
          affine.store %s, %c[%i, %j] : {of(c)}"""
        for v in reversed(order):
            body = f"affine.for %{v} = 0 to {sizes[v]} {{{body}\n}}"
        run(body, {"a": (of(a), a), "b": (of(b), b), "c": (of(c), c)})
        check(c, reference)


def test_every_tail_of_an_element_wise_loop(generator: np.random.Generator) -> None:
    program = opar.compile(
        """
func.func @f(%x: memref<?x?xf32>, %y: memref<?x?xf32>, %n: index, %m: index) {
  %two = arith.constant 2.0 : f32
  affine.parallel (%i, %j) = (0, 0) to (%n, %m) {
    %a = affine.load %x[%i, %j] : memref<?x?xf32>
    %b = arith.mulf %a, %two : f32
    %c = math.absf %b : f32
    %d = arith.cmpf olt, %b, %two : f32
    %e = arith.select %d, %b, %c : f32
    affine.store %e, %y[%i, %j] : memref<?x?xf32>
  }
  return
}""",
        device="cpu",
    )
    for n, m in [*((3, m) for m in range(1, 71)), *((n, 5) for n in range(1, 71)), (0, 4), (4, 0)]:
        x, y = data(generator, "f32", n, m), poisoned("f32", n, m)
        program(x, y, n, m)
        check(y, np.where(2 * x < 2, 2 * x, np.abs(2 * x)).astype(np.float64))


def test_batched_product_with_bias(generator: np.random.Generator) -> None:
    for batch, rows, cols, depth in [(1, 1, 1, 1), (3, 7, 33, 5), (5, 4, 70, 18)]:
        a = data(generator, "f32", batch, rows, depth)
        b = data(generator, "f32", batch, depth, cols)
        bias, c = data(generator, "f32", cols), poisoned("f32", batch, rows, cols)
        body = f"""
affine.parallel (%h, %i, %j) = (0, 0, 0) to ({batch}, {rows}, {cols}) {{
  %start = affine.load %bias[%j] : {of(bias)}
  %dot = affine.for %k = 0 to {depth} iter_args(%acc = %start) -> (f32) {{
    %x = affine.load %a[%h, %i, %k] : {of(a)}
    %y = affine.load %b[%h, %k, %j] : {of(b)}
    %xy = arith.mulf %x, %y : f32
    %next = arith.addf %acc, %xy : f32
    affine.yield %next : f32
  }}
  %relu = arith.maximumf %dot, %zero : f32
  affine.store %relu, %c[%h, %i, %j] : {of(c)}
}}"""
        arrays = {"a": (of(a), a), "b": (of(b), b), "bias": (of(bias), bias), "c": (of(c), c)}
        run(body, arrays, "%zero = arith.constant 0.0 : f32")
        check(c, np.maximum(a.astype(np.float64) @ b.astype(np.float64) + bias, 0))


def test_stencil_with_offsets(generator: np.random.Generator) -> None:
    for n, m in [(3, 3), (5, 70), (34, 19), (66, 67)]:
        x, y = data(generator, "f64", n, m), poisoned("f64", n - 2, m - 2)
        terms = "".join(
            f"%v{i} = affine.load %x[%i + {di}, %j + {dj}] : {of(x)}\n"
            for i, (di, dj) in enumerate([(0, 1), (1, 0), (1, 1), (1, 2), (2, 1)])
        )
        body = f"""
affine.parallel (%i, %j) = (0, 0) to ({n - 2}, {m - 2}) {{
  {terms}
  %s0 = arith.addf %v0, %v1 : f64
  %s1 = arith.addf %s0, %v2 : f64
  %s2 = arith.addf %s1, %v3 : f64
  %s3 = arith.addf %s2, %v4 : f64
  affine.store %s3, %y[%i, %j] : {of(y)}
}}"""
        run(body, {"x": (of(x), x), "y": (of(y), y)})
        wanted = x[:-2, 1:-1] + x[1:-1, :-2] + x[1:-1, 1:-1] + x[1:-1, 2:] + x[2:, 1:-1]
        check(y, wanted)


@pytest.mark.parametrize("type", ["f32", "i32"])
def test_convolution_reduces_over_three_loops(type: str, generator: np.random.Generator) -> None:
    mul, add = times(type)
    for channels, filters, size in [(1, 1, 3), (3, 4, 9), (2, 5, 37)]:
        x = data(generator, type, channels, size, size)
        w = data(generator, type, filters, channels, 3, 3)
        y = poisoned(type, filters, size - 2, size - 2)
        body = f"""
affine.parallel (%f, %i, %j) = (0, 0, 0) to ({filters}, {size - 2}, {size - 2}) {{
  %s = affine.for %c = 0 to {channels} iter_args(%s0 = %zero) -> ({type}) {{
    %t = affine.for %p = 0 to 3 iter_args(%t0 = %s0) -> ({type}) {{
      %u = affine.for %q = 0 to 3 iter_args(%u0 = %t0) -> ({type}) {{
        %a = affine.load %x[%c, %i + %p, %j + %q] : {of(x)}
        %b = affine.load %w[%f, %c, %p, %q] : {of(w)}
        %ab = {mul} %a, %b : {type}
        %u1 = {add} %u0, %ab : {type}
        affine.yield %u1 : {type}
      }}
      affine.yield %u : {type}
    }}
    affine.yield %t : {type}
  }}
  affine.store %s, %y[%f, %i, %j] : {of(y)}
}}"""
        arrays = {"x": (of(x), x), "w": (of(w), w), "y": (of(y), y)}
        run(body, arrays, f"%zero = {constant(type)}")
        windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), (1, 2)).astype(np.float64)
        check(y, np.einsum("cijpq,fcpq->fij", windows, w.astype(np.float64)))


def test_half_loads_extended_to_float(generator: np.random.Generator) -> None:
    for rows, cols, depth in [(1, 1, 1), (5, 35, 7), (9, 66, 20)]:
        a, b = data(generator, "f16", rows, depth), data(generator, "f16", depth, cols)
        c = poisoned("f32", rows, cols)
        body = f"""
affine.parallel (%i, %j) = (0, 0) to ({rows}, {cols}) {{
  %dot = affine.for %k = 0 to {depth} iter_args(%acc = %zero) -> (f32) {{
    %x = affine.load %a[%i, %k] : {of(a)}
    %y = affine.load %b[%k, %j] : {of(b)}
    %p = arith.extf %x : f16 to f32
    %q = arith.extf %y : f16 to f32
    %xy = arith.mulf %p, %q : f32
    %next = arith.addf %acc, %xy : f32
    affine.yield %next : f32
  }}
  affine.store %dot, %c[%i, %j] : {of(c)}
}}"""
        arrays = {"a": (of(a), a), "b": (of(b), b), "c": (of(c), c)}
        run(body, arrays, "%zero = arith.constant 0.0 : f32")
        check(c, a.astype(np.float64) @ b.astype(np.float64))


STRANGE_SUBSCRIPTS: dict[str, tuple[str, Callable[[np.ndarray, np.ndarray], np.ndarray]]] = {
    "mod": ("%j mod 3", lambda i, j: j % 3),
    "floordiv": ("%j floordiv 4", lambda i, j: j // 4),
    "ceildiv": ("%j ceildiv 4", lambda i, j: -(-j // 4)),
    "backwards": ("-%j + 63", lambda i, j: 63 - j),
    "twice": ("%j * 2", lambda i, j: 2 * j),
    "both": ("%i * 3 + %j", lambda i, j: 3 * i + j),
    "cancelled": ("%j - %j + %i", lambda i, j: i + 0 * j),
    "symbol": ("%j + symbol(%n)", lambda i, j: j + 2),
    "applied": ("%m", lambda i, j: j + 1),
}


@pytest.mark.parametrize("name", STRANGE_SUBSCRIPTS)
def test_subscripts_that_are_no_vectors(name: str, generator: np.random.Generator) -> None:
    subscript, index = STRANGE_SUBSCRIPTS[name]
    x, y = data(generator, "i32", 64), poisoned("i32", 6, 30)
    body = f"""
affine.parallel (%i, %j) = (0, 0) to (6, 30) {{
  %m = affine.apply affine_map<(d0) -> (d0 + 1)>(%j)
  %v = affine.load %x[{subscript}] : {of(x)}
  affine.store %v, %y[%i, %j] : {of(y)}
}}"""
    run(body, {"x": (of(x), x), "y": (of(y), y)}, "%n = arith.constant 2 : index")
    places = np.indices(y.shape)
    check(y, x[index(places[0], places[1])])


def test_conditions_and_inner_bounds(generator: np.random.Generator) -> None:
    """`affine.if`, and an inner loop whose bounds depend on an outer one."""
    n, m = 13, 37
    x, y = data(generator, "f32", n, m), poisoned("f32", n, m)
    body = f"""
affine.parallel (%i, %j) = (0, 0) to ({n}, {m}) {{
  %sum = affine.for %k = max affine_map<(d0) -> (0, d0 - 2)>(%i)
      to min affine_map<(d0) -> (d0 + 3, {n})>(%i) iter_args(%acc = %zero) -> (f32) {{
    %v = affine.load %x[%k, %j] : {of(x)}
    %next = arith.addf %acc, %v : f32
    affine.yield %next : f32
  }}
  affine.if affine_set<(d0, d1) : (d0 - d1 >= 0)>(%i, %j) {{
    affine.store %sum, %y[%i, %j] : {of(y)}
  }} else {{
    affine.store %zero, %y[%i, %j] : {of(y)}
  }}
}}"""
    run(body, {"x": (of(x), x), "y": (of(y), y)}, "%zero = arith.constant 0.0 : f32")
    sums = np.array([x[max(0, i - 2) : i + 3].astype(np.float64).sum(0) for i in range(n)])
    check(y, np.where(np.tri(n, m, dtype=bool), sums, 0))


def test_strided_arguments(generator: np.random.Generator) -> None:
    """The last subscript has stride 2 in one buffer, and 1 within padded rows in the other."""
    n, m = 9, 35
    wide, padded = data(generator, "f32", n, 2 * m), np.full((n, m + 5), np.nan, np.float32)
    x, y = wide[:, ::2], padded[:, :m]
    types = [
        f"memref<{n}x{m}xf32, strided<[{2 * m}, 2]>>",
        f"memref<{n}x{m}xf32, strided<[{m + 5}, 1]>>",
    ]
    body = f"""
affine.parallel (%i, %j) = (0, 0) to ({n}, {m}) {{
  %v = affine.load %x[%i, %j] : {types[0]}
  affine.store %v, %y[%i, %j] : {types[1]}
}}"""
    run(body, {"x": (types[0], x), "y": (types[1], y)})
    assert (y == x).all()
    assert np.isnan(padded[:, m:]).all()


REDUCTIONS: dict[tuple[str, str], Callable[[np.ndarray], np.ndarray]] = {
    ("addf", "f32"): lambda v: v.sum(-1),
    ("mulf", "f64"): lambda v: v.prod(-1),
    ("maximumf", "f32"): lambda v: v.max(-1, initial=-np.inf),
    ("minimumf", "f16"): lambda v: v.min(-1, initial=np.inf),
    ("addi", "i32"): lambda v: v.sum(-1),
    ("muli", "i8"): lambda v: v.prod(-1, dtype=np.int8),
    ("andi", "i32"): lambda v: np.bitwise_and.reduce(v, -1),
    ("ori", "i8"): lambda v: np.bitwise_or.reduce(v, -1),
}


@pytest.mark.parametrize(("kind", "type"), REDUCTIONS)
def test_inner_reductions(kind: str, type: str, generator: np.random.Generator) -> None:
    """Two dimensions reduced in one inner parallel loop; none where a loop is empty."""
    for depth, height in [(5, 4), (1, 1), (0, 3)]:
        x = data(generator, type, 7, 33, 1, max(depth, 1), height)
        y = poisoned(type, 7, 33)
        body = f"""
affine.parallel (%i, %j) = (0, 0) to (7, 33) {{
  %r = affine.parallel (%k, %l) = (0, 0) to ({depth}, {height}) reduce ("{kind}") -> ({type}) {{
    %v = affine.load %x[%i, %j, 0, %k, %l] : {of(x)}
    affine.yield %v : {type}
  }}
  affine.store %r, %y[%i, %j] : {of(y)}
}}"""
        run(body, {"x": (of(x), x), "y": (of(y), y)})
        wide = np.float64 if type[0] == "f" else x.dtype
        wanted = REDUCTIONS[kind, type](x[..., :depth, :].reshape(7, 33, -1).astype(wide))
        if depth:
            check(y, wanted)
        else:
            assert (y == wanted.astype(y.dtype)).all()


def test_inner_parallel_loops_without_results(generator: np.random.Generator) -> None:
    x, y = data(generator, "f32", 9, 35, 4), poisoned("f32", 9, 4, 35)
    body = f"""
affine.parallel (%i, %j) = (0, 0) to (9, 35) {{
  %v = affine.load %x[%i, %j, 0] : {of(x)}
  affine.parallel (%k) = (0) to (4) {{
    %w = affine.load %x[%i, %j, %k] : {of(x)}
    %s = arith.addf %v, %w : f32
    affine.store %s, %y[%i, %k, %j] : {of(y)}
  }}
}}"""
    run(body, {"x": (of(x), x), "y": (of(y), y)})
    check(y, (x[:, :, :1] + x).astype(np.float64).transpose(0, 2, 1))


def test_random_shapes_of_static_products(generator: np.random.Generator) -> None:
    for rows, cols, depth in generator.integers(1, 71, (6, 3)).tolist():
        a, b = data(generator, "f32", rows, depth), data(generator, "f32", depth, cols)
        c = poisoned("f32", rows, cols)
        body = product("%a", "%b", "%c", rows, depth, cols)
        arrays = {"a": (of(a), a), "b": (of(b), b), "c": (of(c), c)}
        run(body, arrays, f"%zero = {constant('f32')}")
        check(c, a.astype(np.float64) @ b)


def test_functions_called_in_a_loop(generator: np.random.Generator) -> None:
    """Their loops stay sequential, although they could be parallel."""
    x, y = data(generator, "f32", 5, 9), poisoned("f32", 5, 9)
    text = f"""
func.func @row(%x: {of(x)}, %y: {of(y)}, %i: index) {{
  affine.for %j = 0 to 9 {{
    %v = affine.load %x[%i, %j] : {of(x)}
    %w = arith.addf %v, %v : f32
    affine.store %w, %y[%i, %j] : {of(y)}
  }}
  return
}}
func.func @f(%x: {of(x)}, %y: {of(y)}) {{
  affine.parallel (%i) = (0) to (5) {{
    func.call @row(%x, %y, %i) : ({of(x)}, {of(y)}, index) -> ()
  }}
  return
}}"""
    opar.compile(text, "f", device="cpu")(x, y)
    check(y, 2 * x.astype(np.float64))
