"""The token graph as DOT and SVG: whole, labelled with hazards, nothing on top of another."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import pytest

import opar
from opar.backend.explain import edge_reasons
from opar.backend.layered_layout import Box, Layout, layered_layout
from opar.backend.token_graph import control_flow_edges, to_dot, token_edges
from opar.backend.token_graph_svg import MAX_NODES, to_svg
from opar.errors import OptionError
from tests.backend.test_schedule_seed import LOOP
from tests.programs import IN_PLACE, seed

NAMESPACE = "{http://www.w3.org/2000/svg}"
NAMES = ["seed", "in_place", "loop", "fan_of_eight", "diamond", "jacobi"]


@pytest.fixture(params=NAMES)
def program(request: pytest.FixtureRequest, examples: Path) -> opar.Program:
    texts = {"seed": seed(4, 5, 3), "in_place": IN_PLACE, "loop": LOOP}
    name = request.param
    return opar.compile(texts.get(name) or examples / f"{name}.mlir", device="cpu")


def groups(svg: str, kind: str) -> list[ElementTree.Element]:
    """The groups of a class; an `edge` is a token, a `flow` a way of the host."""
    found = ElementTree.fromstring(svg).iter(f"{NAMESPACE}g")
    return [g for g in found if kind in g.get("class", "").split()]


def title(group: ElementTree.Element) -> str:
    return group.findtext(f"{NAMESPACE}title") or ""


def texts(group: ElementTree.Element) -> list[str]:
    return [t.text or "" for t in group.iter(f"{NAMESPACE}text")]


def box(group: ElementTree.Element) -> Box:
    rect = group.find(f"{NAMESPACE}rect")
    assert rect is not None
    x, y, width, height = (float(rect.get(n, "nan")) for n in ("x", "y", "width", "height"))
    return Box(x + width / 2, y + height / 2, width, height)


def apart(a: Box, b: Box, slack: float = 0.2) -> bool:
    across, down = (a.width + b.width) / 2 - slack, (a.height + b.height) / 2 - slack
    return abs(a.x - b.x) >= across or abs(a.y - b.y) >= down


def on_border(x: float, y: float, box: Box, slack: float = 0.2) -> bool:
    across, down = abs(x - box.x) - box.width / 2, abs(y - box.y) - box.height / 2
    return max(across, down) <= slack and max(across, down) >= -slack


def test_svg_is_the_whole_graph(program: opar.Program) -> None:
    svg, schedule, graph = program.to_svg(), program.schedule, program.token_graph
    assert len(groups(svg, "node")) == graph.num_nodes() == len(schedule.operations)
    assert len(groups(svg, "edge")) == graph.num_edges()
    assert len(groups(svg, "flow")) == len(control_flow_edges(schedule))
    assert bool(groups(svg, "flow")) == schedule.has_jumps
    for number, (group, op) in enumerate(
        zip(groups(svg, "node"), schedule.operations, strict=True)
    ):
        assert title(group).startswith(f"{number}: {op.name}\n")
        assert op.location in title(group) and schedule.detail(op) in title(group)
    assert svg == to_svg(schedule, edge_reasons(program.artifact))
    assert "<script" not in svg and "href" not in svg and "@import" not in svg


def test_nothing_overlaps_and_edges_end_at_boxes(program: opar.Program) -> None:
    svg, schedule = program.to_svg(), program.schedule
    nodes = [box(g) for g in groups(svg, "node")]
    placed = nodes + [box(g) for g in groups(svg, "label")]
    assert all(apart(a, b) for a, b in combinations(placed, 2))
    edges = token_edges(schedule) + control_flow_edges(schedule)
    for (before, after), group in zip(
        edges, groups(svg, "edge") + groups(svg, "flow"), strict=True
    ):
        path, head = (group.find(f"{NAMESPACE}{n}") for n in ("path", "polygon"))
        assert path is not None and head is not None
        numbers = [float(n) for n in re.findall(r"-?[\d.]+", path.get("d", ""))]
        assert on_border(*numbers[:2], nodes[before])
        assert on_border(*numbers[-2:], nodes[after])
        tip = [float(n) for n in head.get("points", "").split()[0].split(",")]
        assert on_border(*tip, nodes[after])


def test_labels_are_the_hazards() -> None:
    program = opar.compile(IN_PLACE, device="cpu")
    svg = program.to_svg()
    found = ["; ".join(texts(g)) for g in groups(svg, "label")]
    assert found == ["RAW on %y; WAW on %y", "host wait"]  # elements of dynamic sizes are long
    first = next(title(g) for g in groups(svg, "edge"))
    assert re.match(r"\d+ waits for \d+: RAW on %y \(.*; WAW on %y \(", first)
    static = opar.compile(seed(4, 5, 3), device="cpu").to_svg()
    labels = ["; ".join(texts(g)) for g in groups(static, "label")]
    assert labels == ["RAW on %p ([0..3, 0..2])", "RAW on %q ([0..3, 0..2])", "host wait"]


def test_a_loop_shows_what_comes_round() -> None:
    program = opar.compile(LOOP, device="cpu")
    edges = token_edges(program.schedule)
    back = [e for e in edges if e[0] > e[1]]
    assert back
    reasons = program._edge_reasons[back[0]]
    assert any(r.startswith("RAW on %x") for r in reasons)
    assert any(r.startswith("WAR on %y") for r in reasons)
    assert [line for line in program.to_dot().splitlines() if "dashed" in line]


def test_names_are_escaped() -> None:
    program = opar.compile(seed(4, 5, 3), device="cpu")
    schedule = program.schedule
    wild = 'a<b>&"\\\x01\ud800'
    operations = tuple(replace(op, name=wild, location=wild) for op in schedule.operations)
    schedule = replace(schedule, entry=wild, operations=operations)
    edge = token_edges(schedule)[0]
    svg = to_svg(schedule, {edge: [wild]})
    svg.encode()
    assert title(groups(svg, "node")[0]).startswith('0: a<b>&"\\\ufffd\ufffd\n')
    assert texts(groups(svg, "label")[0]) == ['a<b>&"\\\ufffd\ufffd']
    assert '[label="a<b>&\\"\\\\' in to_dot(schedule, {edge: [wild]})


def test_what_is_too_large_is_refused() -> None:
    program = opar.compile(seed(4, 5, 3), device="cpu")
    schedule = program.schedule
    many = (MAX_NODES + 1) // len(schedule.operations) + 1
    large = replace(schedule, operations=schedule.operations * many, tokens=schedule.tokens * many)
    with pytest.raises(OptionError, match=r"too large to draw: 2002 operations.*to_dot"):
        to_svg(large, {})
    count = 1000
    chain = [(n - 1,) if n else () for n in range(count)]
    skips = tuple((*c, n - 500) if n >= 500 else c for n, c in enumerate(chain))
    long = replace(schedule, operations=schedule.operations[:1] * count, tokens=skips)
    with pytest.raises(OptionError, match="too large to draw: 1000 operations"):
        to_svg(long, {})


def test_jupyter_shows_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    program = opar.compile(seed(4, 5, 3), device="cpu")
    assert program._repr_svg_() == program.to_svg()
    monkeypatch.setattr("opar.backend.token_graph_svg.MAX_NODES", 3)
    assert program._repr_svg_() is None


# Layout


def boxes_of(layout: Layout) -> list[Box]:
    return [*layout.boxes, *(b for b in layout.labels if b is not None)]


@pytest.mark.parametrize("count", [0, 1, 2, 5, 20, 60])
def test_random_graphs_are_laid_out_apart(count: int) -> None:
    for _ in range(8):
        start = random.randrange(1 << 30)
        generator = random.Random(start)
        sizes = [(generator.uniform(10, 200), generator.uniform(10, 60)) for _ in range(count)]
        pairs = [(generator.randrange(count), generator.randrange(count)) for _ in range(count)]
        edges = sorted(set(pairs))
        labels = [
            (generator.uniform(5, 150), generator.uniform(10, 40)) if generator.random() < 0.7
            else None
            for _ in edges
        ]  # fmt: skip
        layout = layered_layout(sizes, edges, labels)
        boxes = boxes_of(layout)
        assert len(layout.boxes) == count, start
        assert [b is None for b in layout.labels] == [size is None for size in labels], start
        assert all(apart(a, b, 1e-6) for a, b in combinations(boxes, 2)), start
        for b in boxes:
            assert b.x - b.width / 2 >= -1e-6 and b.x + b.width / 2 <= layout.width + 1e-6, start
            assert b.y - b.height / 2 >= -1e-6 and b.y + b.height / 2 <= layout.height + 1e-6
        for (before, after), route in zip(edges, layout.routes, strict=True):
            assert on_border(*route[0], layout.boxes[before], 1e-6), start
            assert on_border(*route[-1], layout.boxes[after], 1e-6), start


def test_a_layout_without_need_crosses_nothing() -> None:
    """Two chains whose steps come in another order."""
    sizes = [(50.0, 20.0)] * 8
    layout = layered_layout(sizes, [(0, 3), (1, 2), (2, 4), (3, 5)], [None] * 4)
    x = [b.x for b in layout.boxes]
    assert (x[0] < x[1]) == (x[3] < x[2]) == (x[5] < x[4])
