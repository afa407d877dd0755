"""The token graph of a schedule as one SVG file: no scripts, no fonts or files of others."""

from __future__ import annotations

import colorsys
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from xml.sax.saxutils import escape

from opar.backend.layered_layout import (
    MAX_VERTICES,
    Box,
    Point,
    Size,
    layered_layout,
    vertices_needed,
)
from opar.backend.schedule import Launch, Schedule, Wait
from opar.backend.token_graph import Reasons, control_flow_edges, hue, token_edges, where
from opar.errors import OptionError

MAX_NODES = 2000
"""The most operations that are drawn."""

_FONT = 12.0
_SMALL = 10.0
_CHARACTER = 0.61
"""The width of a character of a monospace font, of its size."""

_LINE = 1.3
_LONGEST = 36
_LABEL_LONGEST = 44
_LABEL_LINES = 3
_MARGIN = 16.0
_ARROW = 6.0
_HEAD = 60.0
_ENTRY = 110.0

_STYLE = """
text { font-family: monospace; fill: #1a1a1a; text-anchor: middle; }
.small { font-size: 10px; }
.big { font-size: 12px; font-weight: bold; }
.left { text-anchor: start; }
.node rect, .legend rect { stroke: #555; }
.host rect { fill: #fff; stroke-dasharray: 2 2; }
.wait rect { fill: #333; stroke: #000; }
.wait text { fill: #fff; }
.edge path, .flow path { fill: none; stroke: #444; stroke-width: 1.2; }
.edge polygon, .flow polygon { fill: #444; }
.flow path { stroke: #999; stroke-dasharray: 5 4; }
.flow polygon { fill: #999; }
.label rect { fill: #fff; fill-opacity: 0.9; }
.label text { fill: #7a1f1f; }
"""

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def to_svg(schedule: Schedule, reasons: Reasons) -> str:
    """
    The token graph as SVG: a box an operation, in the colour of its stream (white and dotted for a
    step of the host, dark for a wait of the host), an arrow a token, with `reasons` as its label,
    and a dashed one a way that control takes. Boxes and arrows say all of it when pointed at.

    Raises `OptionError` for more than `MAX_NODES` operations or too many long edges.
    """
    tokens, flow = token_edges(schedule), control_flow_edges(schedule)
    edges = [*tokens, *flow]
    count = len(schedule.operations)
    if count > MAX_NODES or vertices_needed(count, edges) > MAX_VERTICES:
        raise OptionError(
            f"the token graph of @{schedule.entry} is too large to draw: {count} operations and "
            f"{len(edges)} edges, at most {MAX_NODES} operations; print it in DOT (`--emit-dot`, "
            "`Program.to_dot`) for Graphviz' sfdp"
        )
    texts = [_node_text(schedule, n) for n in range(count)]
    labels = [_label_text(reasons.get(edge, ())) for edge in tokens] + [[] for _ in flow]
    layout = layered_layout(
        [_box_size(t) for t in texts], edges, [_label_size(t) if t else None for t in labels]
    )
    legend, legend_width = _legend(schedule)
    width = max(layout.width, legend_width) + 2 * _MARGIN
    height = layout.height + _HEAD + 2 * _MARGIN
    shift = (width - layout.width) / 2, _HEAD + _MARGIN
    body: list[str] = []
    for number, (edge, route) in enumerate(zip(edges, layout.routes, strict=True)):
        is_token = number < len(tokens)
        why = "; ".join(reasons.get(edge, ())) if is_token else "control flow"
        title = f"{edge[1]} {'waits for' if is_token else 'follows'} {edge[0]}: {why}"
        kind = "edge" if is_token else "flow"
        body.append(f'<g class="{kind}">{_title(title)}{_arrow(route, edge[0] == edge[1])}</g>')
    for box, lines in zip(layout.labels, labels, strict=True):
        if box is not None:
            body.append(f'<g class="label">{_label(box, lines)}</g>')
    for number, (box, lines) in enumerate(zip(layout.boxes, texts, strict=True)):
        body.append(_node(schedule, number, box, lines))
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
            f'viewBox="0 0 {width:.0f} {height:.0f}">',
            f"<style>{_STYLE}</style>",
            f'<rect width="{width:.0f}" height="{height:.0f}" fill="#fff"/>',
            *legend,
            f'<g transform="translate({shift[0]:.1f} {shift[1]:.1f})">',
            *body,
            "</g>",
            "</svg>",
            "",
        ]
    )


def _node_text(schedule: Schedule, number: int) -> list[str]:
    op = schedule.operations[number]
    first = f"{number}: {type(op).__name__.lower()}"
    if not schedule.has_jumps or op.stream is None:
        first += f", {where(schedule, op)}"
    if isinstance(op, Wait):
        return [first]
    detail = schedule.detail(op)
    if not isinstance(op, Launch):
        return [first, _short(detail, _LONGEST)]
    kernel, _, arguments = detail.partition("<")
    arguments = "(" + arguments.partition(">(")[2]
    lines = [kernel + arguments]
    if len(lines[0]) > _LONGEST:
        lines = [kernel, arguments]
    return [first, *(_short(line, _LONGEST) for line in lines)]


def _label_text(reasons: Sequence[str]) -> list[str]:
    """The first reasons; where the elements take too much room, the title of the edge has them."""
    fitting = [r if len(r) <= _LABEL_LONGEST else r.partition(" (")[0] for r in reasons]
    lines = [_short(r, _LABEL_LONGEST) for r in fitting[:_LABEL_LINES]]
    more = len(reasons) - len(lines)
    return [*lines, f"and {more} more"] if more else lines


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _box_size(lines: Sequence[str]) -> Size:
    widths = [len(line) * (_SMALL if i else _FONT) * _CHARACTER for i, line in enumerate(lines)]
    return max(widths) + 16, 10 + _LINE * _FONT + (_SMALL * _LINE + 1) * (len(lines) - 1)


def _label_size(lines: Sequence[str]) -> Size:
    return max(map(len, lines)) * _SMALL * _CHARACTER + 6, len(lines) * _SMALL * _LINE + 4


def _node(schedule: Schedule, number: int, box: Box, lines: Sequence[str]) -> str:
    op = schedule.operations[number]
    fill, kind, corner = "", "host", 3
    if isinstance(op, Wait):
        kind, corner = "wait", 12
    elif op.stream is not None:
        fill, kind = f' fill="{_colour(op.stream)}"', "queued"
    what = f"{number}: {op.name}\n{type(op).__name__.lower()} {schedule.detail(op)}"
    title = _title("\n".join(filter(None, [what, where(schedule, op), op.location])))
    y = box.y - box.height / 2 + 6 + _FONT * 0.9
    texts = [f'<text class="big" x="{box.x:.1f}" y="{y:.1f}">{_text(lines[0])}</text>']
    for line in lines[1:]:
        y += _SMALL * _LINE + 1
        texts.append(f'<text class="small" x="{box.x:.1f}" y="{y:.1f}">{_text(line)}</text>')
    return f'<g class="node {kind}">{title}{_rect(box, corner, fill)}{"".join(texts)}</g>'


def _label(box: Box, lines: Sequence[str]) -> str:
    y = box.y - box.height / 2 + 2 + _SMALL * 0.95
    texts = [
        f'<text class="small" x="{box.x:.1f}" y="{y + i * _SMALL * _LINE:.1f}">{_text(line)}</text>'
        for i, line in enumerate(lines)
    ]
    return _rect(box, 2) + "".join(texts)


def _rect(box: Box, corner: int, more: str = "") -> str:
    return (
        f'<rect x="{box.x - box.width / 2:.1f}" y="{box.y - box.height / 2:.1f}" '
        f'width="{box.width:.1f}" height="{box.height:.1f}" rx="{corner}"{more}/>'
    )


def _arrow(route: Sequence[Point], is_loop: bool) -> str:
    """A curve through the points of a route, and a head at its end."""
    x, y = route[-1]
    if is_loop:
        d = "M" + " L".join(f"{p:.1f} {q:.1f}" for p, q in route)
        points = [(x, y), (x + _ARROW, y - 3), (x + _ARROW, y + 3)]
    else:
        d = f"M{route[0][0]:.1f} {route[0][1]:.1f}" + "".join(_pieces(route))
        step = -_ARROW if route[0][1] < y else _ARROW
        points = [(x, y), (x - 3, y + step), (x + 3, y + step)]
    corners = " ".join(f"{p:.1f},{q:.1f}" for p, q in points)
    return f'<path d="{d}"/><polygon points="{corners}"/>'


def _pieces(route: Sequence[Point]) -> Iterator[str]:
    for (x0, y0), (x1, y1) in pairwise(route):
        if x0 == x1:
            yield f" L{x1:.1f} {y1:.1f}"
        else:
            middle = (y0 + y1) / 2
            yield f" C{x0:.1f} {middle:.1f} {x1:.1f} {middle:.1f} {x1:.1f} {y1:.1f}"


def _legend(schedule: Schedule) -> tuple[list[str], float]:
    """What the colours mean, and how wide that is."""
    title = f"@{schedule.entry}: {len(schedule.operations)} operations"
    if schedule.has_jumps:
        streams = [(0, "a stream chosen by the call")] if schedule.streams else []
    else:
        used = sorted({op.stream for op in schedule.operations if op.stream is not None})
        streams = [(n, f"stream {n}") for n in used]
    entries = [(f' fill="{_colour(n)}"', "queued", text) for n, text in streams]
    entries += [("", "host", "host"), ("", "wait", "host waits")]
    found = [f'<text class="big left" x="{_MARGIN:.0f}" y="24">{_text(title)}</text>']
    x = _MARGIN
    for fill, kind, text in entries:
        swatch = _rect(Box(x + 8, 44, 16, 12), 2, fill)
        words = f'<text class="small left" x="{x + 22:.1f}" y="48">{_text(text)}</text>'
        found.append(f'<g class="legend"><g class="{kind}">{swatch}</g>{words}</g>')
        x += max(_ENTRY, len(text) * _SMALL * _CHARACTER + 40)
    return found, max(x, _MARGIN + len(title) * _FONT * _CHARACTER)


def _colour(stream: int) -> str:
    red, green, blue = colorsys.hsv_to_rgb(hue(stream), 0.25, 1.0)
    return f"#{round(red * 255):02x}{round(green * 255):02x}{round(blue * 255):02x}"


def _title(text: str) -> str:
    return f"<title>{_text(text)}</title>"


def _text(text: str) -> str:
    return escape(_NOT_XML.sub("\ufffd", text))
