"""
Named task graphs as data: tasks on the elements of one buffer, and the edges that the textbook has.

`Task(writes, reads)`: element `writes` becomes `3 * itself + the element it reads`; a pair is
`Task(i, j, both=True)`, which changes both. `edges[t]` are the tasks that task t waits for.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Task:
    """One launch. `reads` may be `writes`."""

    writes: int
    reads: int
    both: bool = False


@dataclass(frozen=True)
class Topology:
    """Tasks in program order and, for each, what it waits for."""

    tasks: tuple[Task, ...]
    edges: tuple[set[int], ...]


def _one(element: int) -> Task:
    return Task(element, element)


def _butterfly(levels: int) -> Topology:
    """Of the fast Fourier transform: level l combines elements i and i + 2**l."""
    tasks: list[Task] = []
    edges: list[set[int]] = []
    latest: dict[int, int] = {}
    for level in range(levels):
        step = 1 << level
        for i in (i for i in range(1 << levels) if not i & step):
            edges.append({latest[e] for e in (i, i + step)} if level else set())
            tasks.append(Task(i, i + step, both=True))
        first = len(tasks) - (1 << levels - 1)
        latest = {e: t for t in range(first, len(tasks)) for e in (tasks[t].writes, tasks[t].reads)}
    return Topology(tuple(tasks), tuple(edges))


def _odd_even(size: int, rounds: int) -> Topology:
    """Of odd-even transposition: round r combines neighbours 2i + r mod 2 and the next."""
    tasks: list[Task] = []
    edges: list[set[int]] = []
    at: dict[tuple[int, int], int] = {}
    for r in range(rounds):
        for i in range(r % 2, size - 1, 2):
            before = {at[r - 1, j] for j in (i - 1, i + 1) if (r - 1, j) in at}
            at[r, i] = len(tasks)
            edges.append(before)
            tasks.append(Task(i, i + 1, both=True))
    return Topology(tuple(tasks), tuple(edges))


TOPOLOGIES = {
    "empty": Topology((), ()),
    "single": Topology((_one(0),), (set(),)),
    "chain": Topology((_one(0),) * 5, (set(), {0}, {1}, {2}, {3})),
    "fan out": Topology((_one(0), Task(1, 0), Task(2, 0), Task(3, 0)), (set(), {0}, {0}, {0})),
    "fan in": Topology(
        (_one(1), _one(2), Task(1, 2, both=True), _one(3), Task(1, 3)),
        (set(), set(), {0, 1}, set(), {2, 3}),
    ),
    "diamond": Topology(
        (_one(0), Task(1, 0), Task(2, 0), Task(1, 2, both=True)), (set(), {0}, {0}, {1, 2})
    ),
    "write behind readers": Topology(
        (Task(1, 0), Task(2, 0), Task(3, 0), _one(0)), (set(), set(), set(), {0, 1, 2})
    ),
    "disconnected": Topology(
        (_one(0), _one(4), _one(0), _one(4), _one(7)), (set(), set(), {0}, {1}, set())
    ),
    "ping-pong": Topology((Task(0, 1), Task(1, 0), Task(0, 1), Task(1, 0)), (set(), {0}, {1}, {2})),
    "butterfly": _butterfly(3),
    "odd-even": _odd_even(7, 4),
}


Edges = dict[tuple[object, ...], set[tuple[object, ...]]]


def cholesky(n: int) -> Edges:
    """
    Of tiled right-looking Cholesky of n by n tiles, in program order (Buttari, Langou, Kurzak and
    Dongarra, "A class of parallel tiled linear algebra algorithms for multicore architectures").
    """
    found: Edges = {}
    for k in range(n):
        found["potrf", k] = {("syrk", k, k - 1)} if k else set()
        for i in range(k + 1, n):
            found["trsm", i, k] = {("potrf", k)} | ({("gemm", i, k, k - 1)} if k else set())
        for i in range(k + 1, n):
            found["syrk", i, k] = {("trsm", i, k)} | ({("syrk", i, k - 1)} if k else set())
            for j in range(k + 1, i):
                found["gemm", i, j, k] = {("trsm", i, k), ("trsm", j, k)}
                found["gemm", i, j, k] |= {("gemm", i, j, k - 1)} if k else set()
    return found


def lu(n: int) -> Edges:
    """Of tiled LU without pivoting (the same source), in program order."""
    found: Edges = {}
    for k in range(n):
        found["getrf", k] = {("update", k, k, k - 1)} if k else set()
        for i in range(k + 1, n):
            found["row", k, i] = {("getrf", k)} | ({("update", k, i, k - 1)} if k else set())
            found["column", i, k] = {("getrf", k)} | ({("update", i, k, k - 1)} if k else set())
        for i in range(k + 1, n):
            for j in range(k + 1, n):
                found["update", i, j, k] = {("column", i, k), ("row", k, j)}
                found["update", i, j, k] |= {("update", i, j, k - 1)} if k else set()
    return found


TILES = {
    "potrf": lambda k: [(k, k)],
    "trsm": lambda i, k: [(k, k), (i, k)],
    "syrk": lambda i, k: [(i, i), (i, k)],
    "gemm": lambda i, j, k: [(i, j), (i, k), (j, k)],
    "getrf": lambda k: [(k, k)],
    "row": lambda k, j: [(k, k), (k, j)],
    "column": lambda i, k: [(k, k), (i, k)],
    "update": lambda i, j, k: [(i, j), (i, k), (k, j)],
}
"""The tiles that a task works on, in the order of its kernel's parameters."""
