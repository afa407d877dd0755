"""The token graph of a schedule, as a graph and as a drawing."""

from __future__ import annotations

import rustworkx

from opar.backend.schedule import Operation, Schedule


def token_graph(schedule: Schedule) -> rustworkx.PyDiGraph:
    """A node for each operation, in order; an edge from each operation to those with its token."""
    graph = rustworkx.PyDiGraph(multigraph=False)
    graph.add_nodes_from(list(schedule.operations))
    for after, befores in enumerate(schedule.tokens):
        graph.add_edges_from_no_data([(before, after) for before in befores])
    return graph


def to_dot(schedule: Schedule) -> str:
    """The token graph in DOT; each stream has a colour of its own."""
    number = {id(op): i for i, op in enumerate(schedule.operations)}

    def node(op: Operation) -> dict[str, str]:
        where = "host" if op.stream is None else f"stream {op.stream}"
        what = f"{number[id(op)]}: {type(op).__name__.lower()} {schedule.detail(op)}"
        attributes = {"label": f"{what}\\n{where}", "shape": "box"}
        if op.stream is not None:
            hue = op.stream * 0.382 % 1
            attributes |= {"style": "filled", "fillcolor": f'"{hue:.3f} 0.25 1.0"'}
        return attributes

    dot = token_graph(schedule).to_dot(node_attr=node)
    assert dot is not None
    return dot
