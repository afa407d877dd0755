"""The token graph of a schedule, as a graph and in Graphviz' DOT language."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import rustworkx

from opar.backend.schedule import Branch, Jump, Operation, Schedule

Edge = tuple[int, int]
Reasons = Mapping[Edge, Sequence[str]]
"""Why there is an edge: hazards, with buffer and elements."""


def token_graph(schedule: Schedule) -> rustworkx.PyDiGraph:
    """A node for each operation, in order; an edge from each operation to those with its token."""
    graph = rustworkx.PyDiGraph(multigraph=False)
    graph.add_nodes_from(list(schedule.operations))
    for after, befores in enumerate(schedule.tokens):
        graph.add_edges_from_no_data([(before, after) for before in befores])
    return graph


def token_edges(schedule: Schedule) -> list[Edge]:
    """The edges of the token graph: from the operation to the one that waits, by the latter."""
    return [(b, a) for a, befores in enumerate(schedule.tokens) for b in befores]


def control_flow_edges(schedule: Schedule) -> list[Edge]:
    """
    The way of the host through a schedule with jumps: from each of its steps to those that may be
    its next, and to what it puts on streams in between, unless a token between says where that is.
    The end, which is no operation, is left out. None without jumps.
    """
    operations = schedule.operations
    found: set[Edge] = set()
    for number, op in enumerate(operations):
        if op.stream is not None or not schedule.has_jumps:
            continue
        starts = [op.target] if isinstance(op, Jump | Branch) else []
        if not isinstance(op, Jump):
            starts.append(number + 1)
        for start in starts:
            step = start
            while step < len(operations) and operations[step].stream is not None:
                if not any(start <= before < step for before in schedule.tokens[step]):
                    found.add((number, step))
                step += 1
            found.add((number, step))
    return sorted((a, b) for a, b in found if b < len(operations))


def where(schedule: Schedule, op: Operation) -> str:
    """`host` or `stream 3`; with jumps a stream is chosen as the program runs."""
    if op.stream is None:
        return "host"
    return "some stream" if schedule.has_jumps else f"stream {op.stream}"


def hue(stream: int) -> float:
    """The hue, from 0 to 1, of a stream: neighbours are far apart."""
    return stream * 0.382 % 1


def to_dot(schedule: Schedule, reasons: Reasons) -> str:
    """The token graph in DOT; each stream has a colour of its own, control flow is dashed."""
    lines = ["digraph {", "node [shape=box];"]
    for number, op in enumerate(schedule.operations):
        what = f"{number}: {type(op).__name__.lower()} {schedule.detail(op)}".rstrip()
        attributes = f"label={_quoted([what, where(schedule, op)])}"
        if op.stream is not None:
            attributes += f', style=filled, fillcolor="{hue(op.stream):.3f} 0.25 1.0"'
        lines.append(f"{number} [{attributes}];")
    for before, after in token_edges(schedule):
        label = _quoted(reasons.get((before, after), ()))
        lines.append(f"{before} -> {after} [label={label}];")
    for before, after in control_flow_edges(schedule):
        lines.append(f"{before} -> {after} [style=dashed];")
    return "\n".join([*lines, "}"])


def _quoted(parts: Sequence[str]) -> str:
    escaped = (p.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") for p in parts)
    return '"' + "\\n".join(escaped) + '"'
