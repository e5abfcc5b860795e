"""Drawings of graphs as SVG, by a layout of its own: what notebooks show of symbols, and ``mx.viz.plot_network`` without Graphviz.

Layers by the longest way from a source, long edges led through the layers between, the order in a layer by the middle of the
neighbours, swept down and up (Sugiyama, Tagawa and Toda 1981)."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from itertools import pairwise
from typing import NamedTuple

from ..core.error import MXNetError
from ..formats.files import write
from ..ir.graph import Graph, Node

BOX, TALL = 150.0, 44.0
"""Width and height of a box, in pixels,"""
BETWEEN, BELOW = 18.0, 34.0
"""distances of boxes beside and below each other,"""
SLIM = 12.0
"""and the width that an edge takes in a layer that it passes."""
STIFF = 4.0
"""Boxes that a bend outweighs."""
SWEEPS = 8
LAYER = "layer"
WEIGHTS = frozenset(("weight", "parameters"))
"""Inputs of operators that begin a layer."""
LONGEST = 24
"""Characters of a line of text; of longer ones the middle is left out, since names differ at their ends."""


class Box(NamedTuple):
    """A node."""

    label: str
    attributes: Mapping[str, str]


class Edge(NamedTuple):
    """An arrow from what gives a tensor to what takes it."""

    giver: str
    taker: str
    label: str


class Drawing:
    """A graph to be drawn. It has the methods of graphviz.Digraph that programs use: node, edge, source, render, save."""

    def __init__(self, name: str = "plot"):
        self.name = name
        self.boxes: dict[str, Box] = {}
        self.edges: list[Edge] = []
        self.kinds: dict[str, tuple[str, ...]] = {}
        """Kinds of boxes by their names: see kind_of. Boxes that are not here are like no other."""

    def node(self, name: str, label: str | None = None, **attributes: str) -> None:
        """Add a box. attributes: Graphviz's; shape oval and fillcolor are heeded."""
        self.boxes[name] = Box(name if label is None else label, attributes)

    def edge(self, tail_name: str, head_name: str, label: str = "", **_: str) -> None:
        """Add an arrow as MXNet draws them: the tail takes what the head gives (dir=back)."""
        for name in (head_name, tail_name):
            self.boxes.setdefault(name, Box(name, {}))
        self.edges.append(Edge(head_name, tail_name, label))

    @property
    def source(self) -> str:
        """The graph in Graphviz's language, for programs that have dot."""
        lines = [f"digraph {_quoted(self.name)} {{"]
        for name, (label, attributes) in self.boxes.items():
            told = {"label": label.replace("\n", "\\n"), **attributes}
            lines.append(f"\t{_quoted(name)} [{' '.join(f'{k}={_quoted(v)}' for k, v in told.items())}]")
        for giver, taker, label in self.edges:
            lines.append(f"\t{_quoted(taker)} -> {_quoted(giver)} [label={_quoted(label)} arrowtail=open dir=back]")
        return "\n".join([*lines, "}", ""])

    def save(self, filename: str | None = None) -> str:
        """Write ``source`` to a file, by default NAME.gv; gives its name."""
        path = filename or f"{self.name}.gv"
        write(path, self.source)
        return path

    def render(self, filename: str | None = None, format: str = "svg", **_: object) -> str:
        """Write the drawing to FILENAME.svg, by default NAME.svg; gives the file's name. Raises MXNetError for other formats, which
        Graphviz makes."""
        if format != "svg":
            raise MXNetError(f"got format {format!r}, wanted svg; other formats need Graphviz: pip install graphviz")
        path = f"{(filename or self.name).removesuffix('.svg')}.svg"
        write(path, self._repr_svg_())
        return path

    def _repr_svg_(self) -> str:
        """The drawing, for notebooks."""
        return svg(self)


def _quoted(text: str) -> str:
    return '"' + str(text).replace('"', '\\"') + '"'


def of_graph(graph: Graph) -> Drawing:
    """The operators of a graph and its inputs; parameters are left out. Names that several nodes have get a number."""
    drawing = Drawing("graph")
    stored = {
        id(entry.node)
        for node in graph.nodes
        if node.op is not None
        for name, entry in zip(node.op.input_names(), node.inputs)
        if name in node.op.parameters
    }
    keys: dict[int, str] = {}
    for node in graph.nodes:
        if node.op is None and id(node) in stored:
            continue
        keys[id(node)] = key = node.name if node.name not in drawing.boxes else f"{node.name} #{len(keys)}"
        if node.op is None:
            drawing.node(key, node.name, shape="oval", fillcolor="#8dd3c7")
        else:
            drawing.node(key, f"{node.op.name}\n{node.name}", fillcolor="#eef3fb")
            drawing.kinds[key] = kind_of(node)
        for giver in dict.fromkeys(id(e.node) for e in node.inputs):
            if giver in keys:
                drawing.edge(key, keys[giver])
    return drawing


def kind_of(node: Node) -> tuple[str, ...]:
    """Operator and attributes, which make two boxes equal whatever their names, behind LAYER where the operator has weights."""
    assert node.op is not None, node.name
    return (LAYER if WEIGHTS & {*node.op.input_names()} else "", node.op.name, str(node.attrs))


# -- the layout -----------------------------------------------------------------------------------------------------------

Place = tuple[int, int | str]
"""A box by its name (0, name), or a bend of an edge (layer, number of the edge)."""


class Layout(NamedTuple):
    """Middles of boxes and bends of edges, in pixels, and the size of the whole."""

    at: dict[str, tuple[float, float]]
    bends: list[list[tuple[float, float]]]
    width: float
    height: float


def layers_of(drawing: Drawing) -> dict[str, int]:
    """The layer of each box: one more than the greatest of what it takes from, and nearer to what takes it where that makes arrows
    no longer: an input stands above the first box that takes it, a step of an unrolled cell beside those of the same step.

    Raises MXNetError for a graph with a circle."""
    givers: dict[str, list[str]] = {name: [] for name in drawing.boxes}
    takers: dict[str, list[str]] = {name: [] for name in drawing.boxes}
    for giver, taker, _ in drawing.edges:
        givers[taker].append(giver)
        takers[giver].append(taker)
    waiting = {name: len(of) for name, of in givers.items()}
    ready = [name for name, count in waiting.items() if not count]
    found: dict[str, int] = {}  # givers before takers
    while ready:
        name = ready.pop()
        found[name] = max((found[g] + 1 for g in givers[name]), default=0)
        for taker in takers[name]:
            waiting[taker] -= 1
            if not waiting[taker]:
                ready.append(taker)
    if len(found) < len(drawing.boxes):
        raise MXNetError("got a graph with a circle (two nodes of one name?), which has no layers")
    for name in reversed(found):
        if takers[name] and len(givers[name]) <= len(takers[name]):
            found[name] = min(found[taker] for taker in takers[name]) - 1
    return found


def layout(drawing: Drawing) -> Layout:
    """Places of everything."""
    layer = layers_of(drawing)
    rows: list[list[Place]] = [[] for _ in range(max(layer.values(), default=-1) + 1)]
    for name, i in layer.items():
        rows[i].append((0, name))
    up: dict[Place, list[Place]] = {}
    down: dict[Place, list[Place]] = {}
    chains: list[list[Place]] = []
    for number, (giver, taker, _) in enumerate(drawing.edges):
        chain: list[Place] = [(0, giver), *((i, number) for i in range(layer[giver] + 1, layer[taker])), (0, taker)]
        for i, bend in enumerate(chain[1:-1], layer[giver] + 1):
            rows[i].append(bend)
        for above, below in pairwise(chain):
            down.setdefault(above, []).append(below)
            up.setdefault(below, []).append(above)
        chains.append(chain)
    x = {place: float(i) for row in rows for i, place in enumerate(row)}
    for sweep in range(SWEEPS):
        near = up if sweep % 2 == 0 else down
        for row in rows if near is up else reversed(rows):
            row.sort(key=lambda p: sum(x[n] for n in near[p]) / len(near[p]) if p in near else x[p])
            _spread(row, x, near)
    left = min((x[p] - _wide(p) / 2 for p in x), default=0.0) - BETWEEN
    at = {p: (x[p] - left, BETWEEN + i * (TALL + BELOW) + TALL / 2) for i, row in enumerate(rows) for p in row}
    width = max((at[p][0] + _wide(p) / 2 for p in at), default=0.0) + BETWEEN
    boxes = {str(name): at[0, name] for name in drawing.boxes}
    return Layout(boxes, [[at[p] for p in chain] for chain in chains], width, len(rows) * (TALL + BELOW) + BETWEEN)


def _wide(place: Place) -> float:
    return BOX if place[0] == 0 else SLIM


def _spread(row: list[Place], x: dict[Place, float], near: dict[Place, list[Place]]) -> None:
    """Put what is in a row as near to its neighbours' middles as its order and the distances allow: least squares, in which a bend
    counts more than a box, so that long edges are straight (pools of adjacent violators, Ayer et al. 1955)."""
    pools: list[tuple[float, float, int]] = []  # mean of wishes less the room on the left, weight, members
    room, rooms = 0.0, []
    for place in row:
        wish = sum(x[n] for n in near[place]) / len(near[place]) if place in near else x[place]
        room += _wide(place) / 2
        rooms.append(room)
        mean, weight, count = wish - room, 1.0 if place[0] == 0 else STIFF, 1
        while pools and pools[-1][0] >= mean:
            before, heavy, many = pools.pop()
            mean, weight, count = (before * heavy + mean * weight) / (heavy + weight), heavy + weight, many + count
        pools.append((mean, weight, count))
        room += _wide(place) / 2 + BETWEEN
    means = [mean for mean, _, count in pools for _ in range(count)]
    x.update((place, mean + left) for place, mean, left in zip(row, means, rooms))


def svg(drawing: Drawing) -> str:
    """The drawing as SVG: boxes with their labels, arrows from top to bottom."""
    found = layout(drawing)
    parts = [
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L8 4L0 8z" fill="#555"/></marker></defs>'
    ]
    for (_, _, label), bends in zip(drawing.edges, found.bends):
        (x, y), *rest = bends
        y += TALL / 2
        path = f"M{x:.0f} {y:.0f}"
        for px, py in rest:  # from layer to layer in a curve, past the boxes of a layer straight down
            top, middle = py - TALL / 2, (y + py - TALL / 2) / 2
            path += f"C{x:.0f} {middle:.0f} {px:.0f} {middle:.0f} {px:.0f} {top:.0f}"
            x, y = px, py + TALL / 2
            if (px, py) != rest[-1]:
                path += f"V{y:.0f}"
        parts.append(f'<path d="{path}" fill="none" stroke="#555" marker-end="url(#tip)"/>')
        if label:
            parts.append(_text((bends[0][0] + bends[1][0]) / 2 + 4, bends[0][1] + TALL / 2 + BELOW / 2, label, "start"))
    for name, (label, attributes) in drawing.boxes.items():
        x, y = found.at[name]
        round_ = TALL / 2 if attributes.get("shape") == "oval" else 4
        lines = [_short(t) for t in label.split("\n")[:2]]
        fill = escape(attributes.get("fillcolor", "#ffffff"), quote=True)
        dashes = ' stroke-dasharray="5 3"' if "dashed" in attributes.get("style", "") else ""
        parts.append(
            f'<g><title>{escape(label)}</title><rect x="{x - BOX / 2:.0f}" y="{y - TALL / 2:.0f}" width="{BOX:.0f}" '
            f'height="{TALL:.0f}" rx="{round_:g}" fill="{fill}" stroke="#555"{dashes}/>'
        )
        parts += [_text(x, y + 4 + (i - (len(lines) - 1) / 2) * 14, line) for i, line in enumerate(lines)]
        parts.append("</g>")
    size = f'width="{found.width:.0f}" height="{found.height:.0f}" viewBox="0 0 {found.width:.0f} {found.height:.0f}"'
    told = f"{escape(drawing.name, quote=True)}: a graph of {len(drawing.boxes)} nodes"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{told}" style="background:#fff">'
    return f"{head}{''.join(parts)}</svg>"


def _short(text: str) -> str:
    half = (LONGEST - 3) // 2
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3 - half]}...{text[-half:]}"


def _text(x: float, y: float, text: str, anchor: str = "middle") -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" font-family="sans-serif" font-size="11">{escape(text)}</text>'
