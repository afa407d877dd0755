"""Named task graphs: the tokens are the textbook's edges, and the programs run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import opar
from opar.dialects import gpu
from tests.oracle.topologies import TILES, TOPOLOGIES, Edges, Topology, cholesky, lu

PIPELINE = "gpu-async-dataflow,gpu-assign-streams"
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]
LINE = "memref<16xi32>"

_TASKS = f"""
  gpu.func @one(%a: {LINE}, %i: index, %j: index) kernel {{
    %three = arith.constant 3 : i32
    %x = memref.load %a[%i] : {LINE}
    %y = memref.load %a[%j] : {LINE}
    %z = arith.muli %x, %three : i32
    %r = arith.addi %z, %y : i32
    memref.store %r, %a[%i] : {LINE}
    gpu.return
  }}
  gpu.func @both(%a: {LINE}, %i: index, %j: index) kernel {{
    %three = arith.constant 3 : i32
    %x = memref.load %a[%i] : {LINE}
    %y = memref.load %a[%j] : {LINE}
    %z = arith.muli %x, %three : i32
    %r = arith.addi %z, %y : i32
    %s = arith.subi %x, %y : i32
    memref.store %r, %a[%i] : {LINE}
    memref.store %s, %a[%j] : {LINE}
    gpu.return
  }}"""


def found_edges(text: str) -> list[set[int]]:
    module = opar.parse_module(text)
    opar.run_passes(module, "gpu-async-dataflow")
    launches = [op for op in module.walk() if isinstance(op, gpu.LaunchFuncOp)]
    number = {op.async_token: i for i, op in enumerate(launches)}
    return [{number[t] for t in op.async_dependencies} for op in launches]


def module(kernels: str, argument: str, lines: Sequence[str]) -> str:
    constants = "\n".join(f"  %c{i} = arith.constant {i} : index" for i in range(16))
    body = "\n".join(f"  {line}" for line in lines)
    return f"""module attributes {{gpu.container_module}} {{
gpu.module @k {{{kernels}
}}
func.func @f(%a: {argument}) {{
{constants}
{body}
  return
}}
}}"""


def program(topology: Topology) -> str:
    lines = [
        f"gpu.launch_func @k::@{'both' if t.both else 'one'} blocks in (%c1, %c1, %c1) threads in "
        f"(%c1, %c1, %c1) args(%a : {LINE}, %c{t.writes} : index, %c{t.reads} : index)"
        for t in topology.tasks
    ]
    return module(_TASKS, LINE, lines)


@pytest.mark.parametrize("name", TOPOLOGIES)
def test_tokens_are_the_edges(name: str) -> None:
    topology = TOPOLOGIES[name]
    assert found_edges(program(topology)) == list(topology.edges)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", TOPOLOGIES)
def test_run(name: str, device: str) -> None:
    values = np.random.default_rng().integers(-99, 99, 16, dtype=np.int32)
    pipeline = f"gpu-manage-buffers,{PIPELINE}" if device == "cuda" else PIPELINE
    expected = values.copy()
    with np.errstate(over="ignore"):
        for t in TOPOLOGIES[name].tasks:
            x, y = expected[t.writes], expected[t.reads]
            expected[t.writes] = x * np.int32(3) + y
            if t.both:
                expected[t.reads] = x - y
    opar.compile(program(TOPOLOGIES[name]), "f", device, pipeline=pipeline)(values)
    np.testing.assert_array_equal(values, expected)


SIZE = 4
TILE = "memref<4x4xf32, strided<[?, ?], offset: ?>>"


def loops(text: str) -> str:
    """
    Loops in short: `for j 0 4 {` and `}`; `sub x[i,j] y[k,l] z[m,n]` for `x -= y * z`;
    `div x[i,j] y[k,l]` for `x /= y`; `sqrt x[i,j]`.
    """
    lines: list[str] = []
    for number, line in enumerate(text.strip().splitlines()):
        word, *rest = line.split()
        n = f"%n{number}"
        if word == "for":
            name, low, high, _ = rest
            lines += [f"scf.for %{name} = {low} to {high} step %c1 {{"]
            lines += [f"%{name}p = arith.addi %{name}, %c1 : index"]
        elif word == "}":
            lines += ["}"]
        else:
            for k, place in enumerate(rest):
                lines += [f"{n}_{k} = memref.load %{place} : {TILE}"]
            if word == "sub":
                lines += [f"{n}_m = arith.mulf {n}_1, {n}_2 : f32"]
                lines += [f"{n}_r = arith.subf {n}_0, {n}_m : f32"]
            elif word == "div":
                lines += [f"{n}_r = arith.divf {n}_0, {n}_1 : f32"]
            else:
                lines += [f"{n}_r = math.sqrt {n}_0 : f32"]
            lines += [f"memref.store {n}_r, %{rest[0]} : {TILE}"]
    return "\n".join(f"    {line}" for line in lines)


def kernel(name: str, text: str) -> str:
    count = TILES[name].__code__.co_argcount  # as many tiles as numbers that name the task
    parameters = ", ".join(f"%{x}: {TILE}" for x in "abc"[:count])
    constants = "\n".join(f"    %c{n} = arith.constant {n} : index" for n in (0, 1, SIZE))
    return f"""
  gpu.func @{name}({parameters}) kernel {{
{constants}
    %x = gpu.thread_id x
    %y = gpu.thread_id y
{loops(text)}
    gpu.return
  }}"""


# name -> (threads x, threads y, body)
KERNELS = {
    "potrf": (1, 1, """
        for j %c0 %c4 {
        for p %c0 %j {
        sub a[%j,%j] a[%j,%p] a[%j,%p]
        }
        sqrt a[%j,%j]
        for i %jp %c4 {
        for p %c0 %j {
        sub a[%i,%j] a[%i,%p] a[%j,%p]
        }
        div a[%i,%j] a[%j,%j]
        }
        }"""),
    "trsm": (4, 1, """
        for j %c0 %c4 {
        for p %c0 %j {
        sub b[%x,%j] b[%x,%p] a[%j,%p]
        }
        div b[%x,%j] a[%j,%j]
        }"""),
    "syrk": (4, 4, """
        for p %c0 %c4 {
        sub a[%y,%x] b[%y,%p] b[%x,%p]
        }"""),
    "gemm": (4, 4, """
        for p %c0 %c4 {
        sub a[%y,%x] b[%y,%p] c[%x,%p]
        }"""),
    "getrf": (1, 1, """
        for k %c0 %c4 {
        for i %kp %c4 {
        div a[%i,%k] a[%k,%k]
        for j %kp %c4 {
        sub a[%i,%j] a[%i,%k] a[%k,%j]
        }
        }
        }"""),
    "row": (4, 1, """
        for i %c0 %c4 {
        for p %c0 %i {
        sub b[%i,%x] a[%i,%p] b[%p,%x]
        }
        }"""),
    "column": (4, 1, """
        for j %c0 %c4 {
        for p %c0 %j {
        sub b[%x,%j] b[%x,%p] a[%p,%j]
        }
        div b[%x,%j] a[%j,%j]
        }"""),
    "update": (4, 4, """
        for p %c0 %c4 {
        sub a[%y,%x] b[%y,%p] c[%p,%x]
        }"""),
}  # fmt: skip


def tiled(edges: Edges, n: int) -> str:
    side = SIZE * n
    matrix = f"memref<{side}x{side}xf32>"
    lines: list[str] = []
    for i in range(n):
        for j in range(n):
            offset = SIZE * (side * i + j)
            layout = f"strided<[{side}, 1]" + (f", offset: {offset}>" if offset else ">")
            part = f"memref<{SIZE}x{SIZE}xf32, {layout}>"
            lines.append(
                f"%s{i}_{j} = memref.subview %a[{SIZE * i}, {SIZE * j}] [{SIZE}, {SIZE}] [1, 1] : "
                f"{matrix} to {part}"
            )
            lines.append(f"%t{i}_{j} = memref.cast %s{i}_{j} : {part} to {TILE}")
    for name, *numbers in edges:
        x, y, _ = KERNELS[str(name)]
        tiles = ", ".join(f"%t{i}_{j} : {TILE}" for i, j in TILES[str(name)](*numbers))
        lines.append(
            f"gpu.launch_func @k::@{name} blocks in (%c1, %c1, %c1) threads in "
            f"(%c{x}, %c{y}, %c1) args({tiles})"
        )
    used = dict.fromkeys(str(name) for name, *_ in edges)
    return module("".join(kernel(name, KERNELS[name][2]) for name in used), matrix, lines)


@pytest.mark.parametrize("make", [cholesky, lu])
@pytest.mark.parametrize("n", [1, 2, 4])
def test_tiled_factorisations_have_the_edges_of_the_textbook(make, n: int) -> None:
    edges = make(n)
    order = list(edges)
    found = found_edges(tiled(edges, n))
    assert [{order[t] for t in own} for own in found] == list(edges.values())


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("make", [cholesky, lu])
def test_tiled_factorisations_factorise(make, device: str) -> None:
    n = 4
    side = SIZE * n
    r = np.random.default_rng().standard_normal((side, side))
    a = (r @ r.T + side * np.eye(side)).astype(np.float32)
    pipeline = f"gpu-manage-buffers,{PIPELINE}" if device == "cuda" else PIPELINE
    found = a.copy()
    opar.compile(tiled(make(n), n), "f", device, pipeline=pipeline)(found)
    lower = np.tril(found).astype(np.float64)
    if make is cholesky:
        product = lower @ lower.T
    else:
        np.fill_diagonal(lower, 1)
        product = lower @ np.triu(found).astype(np.float64)
    np.testing.assert_allclose(product, a, rtol=1e-4, atol=1e-4 * side)
