"""
Places for the boxes, labels and edges of a graph drawn in layers, from top to bottom.

Sugiyama, Tagawa and Toda, "Methods for visual understanding of hierarchical system structures"
(1981): layers by longest path, places in a layer by barycentres, and a dummy in each layer that an
edge passes. A label is a dummy with a size, in a layer of its own, so nothing lies on it. Across a
layer, each vertex gets as near to its neighbours as the order lets it (weighted isotonic
regression; the weights of Gansner and others, "A technique for drawing directed graphs", 1993).
The numbers of the nodes are taken as their order: an edge to a smaller number runs upwards.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

Size = tuple[float, float]
Point = tuple[float, float]
Edge = tuple[int, int]

MAX_VERTICES = 40_000
"""The most boxes, labels and passages through layers that are placed."""

_SWEEPS = 12
_GAP_NODES = 24.0
_GAP_DUMMIES = 12.0
_GAP_LAYERS = 16.0
_SLOPE = 0.08
_MOST_ROOM = 50.0
_LOOP = 22.0
_ROW = 900.0
"""The least width of a row of nodes without edges."""


@dataclass(frozen=True)
class Box:
    """A rectangle: its centre and its size."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Layout:
    """
    Boxes of nodes and, where there is one, of the label of each edge; for each edge the points it
    goes through, from box to box: curves between layers, straight lines through one.
    """

    width: float
    height: float
    boxes: list[Box]
    labels: list[Box | None]
    routes: list[list[Point]]


@dataclass
class _Vertex:
    """A node, a label, or the passage of an edge through a layer."""

    width: float
    height: float
    rank: int
    is_node: bool = False
    above: list[int] = field(default_factory=list)
    below: list[int] = field(default_factory=list)
    place: int = 0
    x: float = 0.0


def vertices_needed(count: int, edges: Sequence[Edge]) -> int:
    """How many places a graph of `count` nodes takes, to compare with `MAX_VERTICES`."""
    ranks = _ranks(count, edges)
    return count + sum(max(0, abs(ranks[a] - ranks[b]) - 1) for a, b in edges)


def layered_layout(
    sizes: Sequence[Size], edges: Sequence[Edge], labels: Sequence[Size | None]
) -> Layout:
    """Place nodes of `sizes`, and the labels of `edges`, of sizes too; the same for the same."""
    return _Layers(sizes, edges, labels).layout()


def _ranks(count: int, edges: Sequence[Edge]) -> list[int]:
    """Twice the longest path to each node; what nothing is above comes down to what is below."""
    above: list[list[int]] = [[] for _ in range(count)]
    below: list[list[int]] = [[] for _ in range(count)]
    for a, b in edges:
        if a != b:
            above[max(a, b)].append(min(a, b))
            below[min(a, b)].append(max(a, b))
    ranks: list[int] = []
    for node in range(count):
        ranks.append(max((ranks[a] + 2 for a in above[node]), default=0))
    for node in reversed(range(count)):
        if below[node] and not above[node]:
            ranks[node] = min(ranks[b] for b in below[node]) - 2
    return ranks


class _Layers:
    def __init__(self, sizes: Sequence[Size], edges: Sequence[Edge], labels: Sequence[Size | None]):
        self.sizes, self.edges, self.label_sizes = sizes, edges, labels
        self.ranks = _ranks(len(sizes), edges)
        self.joined = {n for edge in edges for n in edge}
        self.vertices = [
            _Vertex(w, h, rank, True) for (w, h), rank in zip(sizes, self.ranks, strict=True)
        ]
        for (a, b), label in zip(edges, labels, strict=True):
            if a == b:  # a loop is drawn on the right, and keeps its room on both sides
                room = 2 * (_LOOP + (label[0] if label else 0.0))
                self.vertices[a].width = max(self.vertices[a].width, sizes[a][0] + room)
                self.vertices[a].height = max(sizes[a][1], label[1] if label else 0.0)
        self.label_vertices: list[int | None] = []
        self.chains = [self._chain(e, s) for e, s in zip(edges, labels, strict=True)]
        count = 1 + max((self.vertices[n].rank for n in self.joined), default=-1)
        self.layers: list[list[int]] = [[] for _ in range(count)]
        for number, vertex in enumerate(self.vertices):
            if not vertex.is_node or number in self.joined:
                vertex.place = len(self.layers[vertex.rank])
                self.layers[vertex.rank].append(number)

    def _chain(self, edge: Edge, label: Size | None) -> list[int]:
        """The vertices of an edge from top to bottom; its label is right above its head."""
        a, b = min(edge), max(edge)
        found = [a]
        labelled = None
        if a != b:
            ranks = range(self.ranks[a] + 1, self.ranks[b])
            at_head = ranks[-1] if edge == (a, b) else ranks[0]
            for rank in ranks:
                size = (0.0, 0.0)
                if rank == at_head and label is not None:
                    size, labelled = label, len(self.vertices)
                self.vertices.append(_Vertex(*size, rank))
                found.append(len(self.vertices) - 1)
            found.append(b)
            for upper, lower in pairwise(found):
                self.vertices[upper].below.append(lower)
                self.vertices[lower].above.append(upper)
        self.label_vertices.append(labelled)
        return found

    def layout(self) -> Layout:
        self._order()
        self._place_across()
        last = max(self.joined, default=len(self.sizes))
        alone = [n for n in range(len(self.sizes)) if n not in self.joined]
        row, top = self._rows([n for n in alone if n < last], 0.0)
        tops, heights, bottom = self._place_down(top + 2 * _GAP_LAYERS if row else top)
        after, end = self._rows([n for n in alone if n > last], bottom + 2 * _GAP_LAYERS)
        row |= after
        bottom = end if after else max(top, bottom)
        reach = [self.vertices[n] for layer in self.layers for n in layer]
        left = min((v.x - v.width / 2 for v in reach), default=0.0)
        width = max((v.x + v.width / 2 - left for v in reach), default=0.0)
        total = max(width, max((b.x + b.width / 2 for b in row.values()), default=0.0))
        for vertex in reach:
            vertex.x += (total - width) / 2 - left

        def middle(number: int) -> Point:
            vertex = self.vertices[number]
            return vertex.x, tops[vertex.rank] + heights[vertex.rank] / 2

        boxes = [
            row[n] if n in row else Box(*middle(n), *size) for n, size in enumerate(self.sizes)
        ]
        routes: list[list[Point]] = []
        labels: list[Box | None] = []
        for edge, chain, label, size in zip(
            self.edges, self.chains, self.label_vertices, self.label_sizes, strict=True
        ):
            if edge[0] == edge[1]:
                route, box = _loop(boxes[edge[0]], size)
            else:
                route = self._route(chain, boxes, tops, heights)
                box = Box(*middle(label), *size) if label is not None and size else None
            routes.append(route if edge[0] <= edge[1] else route[::-1])
            labels.append(box)
        return Layout(total, bottom, boxes, labels, routes)

    # Order in a layer

    def _order(self) -> None:
        """Sweep down and up, and keep the order with the fewest crossings."""
        best = [list(layer) for layer in self.layers]
        fewest = self._crossings()
        for sweep in range(_SWEEPS):
            if not fewest:
                break
            down = sweep % 2 == 0
            for layer in self.layers if down else self.layers[::-1]:
                keys = {n: self._barycentre(n, down) for n in layer}
                layer.sort(key=keys.__getitem__)
                self._number(layer)
            crossings = self._crossings()
            if crossings < fewest:
                fewest, best = crossings, [list(layer) for layer in self.layers]
        self.layers = best
        for layer in best:
            self._number(layer)

    def _number(self, layer: Sequence[int]) -> None:
        for place, number in enumerate(layer):
            self.vertices[number].place = place

    def _barycentre(self, number: int, down: bool) -> float:
        vertex = self.vertices[number]
        near = vertex.above if down else vertex.below
        if not near:
            return vertex.place
        return sum(self.vertices[n].place for n in near) / len(near)

    def _crossings(self) -> int:
        count = 0
        for layer in self.layers:
            seen: list[int] = []
            for number in layer:
                ends = sorted(self.vertices[n].place for n in self.vertices[number].below)
                count += sum(len(seen) - bisect_right(seen, end) for end in ends)
                for end in ends:
                    insort(seen, end)
        return count

    # Places

    def _place_across(self) -> None:
        for layer in self.layers:
            x = 0.0
            for left, right in zip([None, *layer], layer, strict=False):
                x += self._distance(left, right) if left is not None else 0.0
                self.vertices[right].x = x
        for sweep in range(_SWEEPS + 1):
            for layer in self.layers if sweep % 2 == 0 else self.layers[::-1]:
                ways = (True, False) if sweep == _SWEEPS else (sweep % 2 == 0,)
                self._settle(layer, [self._wish(n, ways) for n in layer])

    def _wish(self, number: int, ways: Sequence[bool]) -> float:
        """Where a vertex is best: near what is above (true) or below it, dummies in a line."""
        vertex = self.vertices[number]
        near = [n for up in ways for n in (vertex.above if up else vertex.below)]
        if not near:
            return vertex.x
        others = [self.vertices[n] for n in near]
        weights = [(1, 2, 8)[(not vertex.is_node) + (not o.is_node)] for o in others]
        return sum(w * o.x for w, o in zip(weights, others, strict=True)) / sum(weights)

    def _settle(self, layer: Sequence[int], wishes: Sequence[float]) -> None:
        """The places nearest to the wishes (least squares) that keep the order and distances."""
        shift = 0.0
        shifts: list[float] = []
        blocks: list[tuple[float, int]] = []  # mean and length
        for i, (number, wish) in enumerate(zip(layer, wishes, strict=True)):
            shift += self._distance(layer[i - 1], number) if i else 0.0
            shifts.append(shift)
            mean, length = wish - shift, 1
            while blocks and blocks[-1][0] > mean:
                other, more = blocks.pop()
                mean = (mean * length + other * more) / (length + more)
                length += more
            blocks.append((mean, length))
        places = [mean for mean, length in blocks for _ in range(length)]
        for number, place, offset in zip(layer, places, shifts, strict=True):
            self.vertices[number].x = place + offset

    def _distance(self, left: int, right: int) -> float:
        a, b = self.vertices[left], self.vertices[right]
        gap = _GAP_NODES if a.is_node and b.is_node else _GAP_DUMMIES
        return (a.width + b.width) / 2 + gap

    def _place_down(self, top: float) -> tuple[list[float], list[float], float]:
        """The top and the height of each layer, and where the last one ends."""
        heights = [max(self.vertices[n].height for n in layer) for layer in self.layers]
        tops: list[float] = []
        for layer, height in zip(self.layers, heights, strict=True):
            tops.append(top)
            vertices = [self.vertices[n] for n in layer]
            across = [abs(v.x - self.vertices[n].x) for v in vertices for n in v.below]
            top += height
            if any(v.below for v in vertices):  # wide curves get more room
                top += _GAP_LAYERS + min(_MOST_ROOM, _SLOPE * max(across))
        return tops, heights, top

    def _rows(self, nodes: Sequence[int], y: float) -> tuple[dict[int, Box], float]:
        """Nodes without edges in rows from `y` down, and where the last row ends."""
        found: dict[int, Box] = {}
        widths = [sum(self.vertices[n].width + _GAP_NODES for n in layer) for layer in self.layers]
        most = max([_ROW, *widths])
        x = tallest = 0.0
        for number in nodes:
            width, height = self.sizes[number]
            if x and x + width > most:
                x, y, tallest = 0.0, y + tallest + _GAP_LAYERS, 0.0
            found[number] = Box(x + width / 2, y + height / 2, width, height)
            x += width + _GAP_NODES
            tallest = max(tallest, height)
        return found, y + tallest

    def _route(
        self,
        chain: Sequence[int],
        boxes: Sequence[Box],
        tops: Sequence[float],
        heights: Sequence[float],
    ) -> list[Point]:
        first, last = boxes[chain[0]], boxes[chain[-1]]
        upper, lower = (self.vertices[n].rank for n in (chain[0], chain[-1]))
        route = [(first.x, first.y + first.height / 2), (first.x, tops[upper] + heights[upper])]
        for number in chain[1:-1]:
            vertex = self.vertices[number]
            top = tops[vertex.rank]
            route += [(vertex.x, top), (vertex.x, top + heights[vertex.rank])]
        return [*route, (last.x, tops[lower]), (last.x, last.y - last.height / 2)]


def _loop(box: Box, label: Size | None) -> tuple[list[Point], Box | None]:
    """An edge from a box to itself, on its right, and the place of its label."""
    right = box.x + box.width / 2
    low, high = box.y + box.height / 4, box.y - box.height / 4
    out = right + _LOOP - 6
    route = [(right, low), (out, low), (out, high), (right, high)]
    if label is None:
        return route, None
    return route, Box(right + _LOOP + label[0] / 2, box.y, *label)
