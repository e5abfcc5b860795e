"""Pictures of docs/how-it-works.md, drawn from what the code does with one small network: ``python -m tests.site.pictures``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

import numpy as np

import hybrid as mx
from converters.coverage import _KERNEL, LISTED
from converters.export import convert
from hybrid.core.op import Spec
from hybrid.execution.program import Program
from hybrid.formats.files import write
from hybrid.ir.differentiate import rule
from hybrid.ir.graph import Graph, Node
from hybrid.ir.infer import infer
from hybrid.passes import PASSES, Rewriter
from tests.house.test_arrows import ROOMS, arrows

FOLDER = Path(__file__).parents[2] / "docs" / "pictures"
SHAPE = (1, 3, 16, 16)
LINE, LETTER, GAP = 16, 6.7, 14
INK, PAPER, BOX, MARK, SOFT = "#1c2733", "#ffffff", "#eef2fb", "#3f51b5", "#8a97a8"
COLOURS = ("#c5cae9", "#b2dfdb", "#ffe0b2", "#f8bbd0", "#d7ccc8", "#c8e6c9", "#bbdefb")


def network() -> mx.sym.Symbol:
    """The network of the pictures."""
    x = mx.sym.Convolution(mx.sym.var("data"), kernel=(3, 3), num_filter=8, name="conv")
    x = mx.sym.Activation(mx.sym.BatchNorm(x, fix_gamma=False, name="norm"), act_type="relu", name="relu")
    x = mx.sym.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="max", name="pool")
    return mx.sym.softmax(mx.sym.FullyConnected(x, num_hidden=4, name="fc"), name="scores")


class Box(NamedTuple):
    """A box of a column."""

    head: str
    lines: Sequence[str] = ()
    marked: bool = False


def columns(found: Sequence[tuple[str, Sequence[Box]]], arrows_down: bool = True) -> str:
    """Columns of boxes beside one another, with titles."""
    parts, x, height = [], GAP, 0.0
    for title, boxes in found:
        texts = [title, *(t for b in boxes for t in (b.head, *b.lines))]
        width = max(LETTER * max(map(len, texts)) + 16, 90)
        parts.append(_text(x, 24, title, bold=True))
        y = 38.0
        for number, box in enumerate(boxes):
            tall = LINE * (1 + len(box.lines)) + 10
            fill, edge = ("#dfe6ff", MARK) if box.marked else (BOX, SOFT)
            parts.append(
                f'<rect x="{x}" y="{y:g}" width="{width:g}" height="{tall}" rx="4" fill="{fill}" stroke="{edge}"/>'
            )
            parts.append(_text(x + 8, y + 17, box.head, bold=True))
            parts += [_text(x + 8, y + 17 + LINE * (i + 1), line) for i, line in enumerate(box.lines)]
            y += tall
            if arrows_down and number < len(boxes) - 1:
                middle = x + width / 2
                parts.append(f'<path d="M{middle:g} {y:g}v{GAP - 3}m-3 -4l3 4l3 -4" fill="none" stroke="{INK}"/>')
            y += GAP
        x, height = x + width + 2 * GAP, max(height, y)
    return _svg(x, height, parts)


def _text(x: float, y: float, text: str, bold: bool = False, colour: str = INK) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x:g}" y="{y:g}" fill="{colour}"{weight}>{escape(text)}</text>'


def _svg(width: float, height: float, parts: Sequence[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}" '
        'font-family="ui-monospace, monospace" font-size="11">'
    )
    return "\n".join([head, f'<rect width="{width:g}" height="{height:g}" fill="{PAPER}"/>', *parts, "</svg>"]) + "\n"


# -- the life of a model -----------------------------------------------------------------------------------------------


def _boxes(graph: Graph, before: Graph | None = None) -> list[Box]:
    """A graph's operators, in order; those that were not there before are marked."""
    known = set() if before is None else {(n.op, n.name) for n in before.nodes}
    return [_box(n, before is not None and (n.op, n.name) not in known) for n in graph.nodes if n.op is not None]


def _box(node: Node, marked: bool) -> Box:
    assert node.op is not None
    return Box(node.op.name.removeprefix("_"), [node.name], marked)


def model() -> str:
    """The symbol, what each pass that finds something makes of it, and the ONNX nodes that are written."""
    symbol = network()
    sizes = {"data": SHAPE}
    shapes, _, states = symbol.infer_shape(data=SHAPE)
    names = (*symbol.list_arguments(), *symbol.list_auxiliary_states())
    sizes |= {n: tuple(s) for n, s in zip(names, (*shapes, *states))}
    parameters = {n: np.ones(s, "float32") for n, s in sizes.items() if n != "data"}
    kernels = {name for _, name, _ in _KERNEL.findall(LISTED.read_text())}
    graph = symbol.graph
    rewriter = Rewriter(infer(graph, sizes, default_dtype=np.float32), constants=parameters.keys(), native=kernels)
    found = [("the symbol", _boxes(graph))]
    for name, run in PASSES.items():
        after = run(graph, rewriter)
        if [n.op for n in after.nodes] != [n.op for n in graph.nodes]:
            found.append((name, _boxes(after, graph)))
        graph = after
    written = convert(symbol.graph, parameters, {"data": Spec(SHAPE, np.dtype("float32"))}, 13).model.graph.node
    found.append(("as ONNX", [Box(n.op_type, [n.name]) for n in written]))
    return columns(found)


# -- the life of an array -----------------------------------------------------------------------------------------------


def array() -> str:
    """The arena of NumPy's plan: which bytes hold what from which step to which."""
    symbol = network()
    shapes, _, states = symbol.infer_shape(data=SHAPE)
    names = (*symbol.list_arguments(), *symbol.list_auxiliary_states())
    feeds = {n: np.ones(s, "float32") for n, s in zip(names, (*shapes, *states))}
    plan = Program(symbol.graph).plan(feeds)
    wide, tall, left, top = 112, 300, 70, 44
    scale = tall / max(plan.arena, 1)
    parts = [_text(GAP, 22, f"the arena of a plan: {plan.arena:,} bytes", bold=True)]
    for number, step in enumerate(plan.steps):
        x = left + number * wide
        parts.append(_text(x + 4, top + tall + 18, step.op.name, bold=True))
        parts.append(_text(x + 4, top + tall + 18 + LINE, step.node.name, colour=SOFT))
        parts.append(f'<path d="M{x} {top}v{tall}" stroke="#d8dee8"/>')
        if step.buffer is None:
            parts.append(_text(x + 4, top + tall + 18 + 2 * LINE, "its own memory", colour=SOFT))
            continue
        buffer = plan.buffers[step.buffer]
        dies = next((i for i, s in enumerate(plan.steps) if set(step.outputs[:1]) & set(s.dying)), len(plan.steps) - 1)
        size = int(np.prod(buffer.shape)) * buffer.dtype.itemsize
        y, high = top + buffer.offset * scale, max(size * scale, 3)
        colour = COLOURS[number % len(COLOURS)]
        parts.append(
            f'<rect x="{x + 3}" y="{y:.1f}" width="{(dies - number + 1) * wide - 6}" height="{high:.1f}" rx="3" fill="{colour}"/>'
        )
        said = f"{step.node.name} {'x'.join(map(str, buffer.shape))}"
        parts.append(_text(x + 8, y + max(high / 2 + 4, 12), said))
    parts += [_text(GAP, top + 10, "0", colour=SOFT), _text(GAP, top + tall, f"{plan.arena:,}", colour=SOFT)]
    return _svg(left + len(plan.steps) * wide + GAP, top + tall + 70, parts)


# -- the life of a gradient ---------------------------------------------------------------------------------------------


def gradient() -> str:
    """The records of a run, and behind them, latest first, the rules of their operators, each traced once."""
    nodes = [n for n in network().graph.nodes if n.op is not None]
    forward = [
        Box(n.op.name, [f"{n.name} = {n.op.name}({', '.join(e.node.name for e in n.inputs)})"]) for n in nodes if n.op
    ]
    backward = [Box(f"backward of {n.name}", _statements(n)) for n in reversed(nodes)]
    return columns([("recorded while it runs", forward), ("backward goes through the records", backward)])


def _statements(node: Node) -> list[str]:
    """A gradient rule as a program, a line for each operator."""
    assert node.op is not None
    graph = rule(node.op).graph
    names: dict[int, str] = {}
    lines = []
    for number, inner in enumerate(n for n in graph.nodes if n.op is not None):
        names[id(inner)] = f"t{number}"
        given = ", ".join(
            names.get(id(e.node), e.node.name) + (f"[{e.index}]" if e.index else "") for e in inner.inputs
        )
        lines.append(f"t{number} = {inner.op.name if inner.op else ''}({given})")
    ends = ", ".join(names.get(id(e.node), e.node.name) + (f"[{e.index}]" if e.index else "") for e in graph.outputs)
    return [*lines, f"gives {ends}"]


# -- rooms -----------------------------------------------------------------------------------------------------------------


def rooms() -> str:
    """The packages and the rooms of the engine from the top down, and which of those below each imports."""
    places = ["gluonnx", "bridge", "converters", "hybrid", *(f"hybrid.{room}" for room in reversed(ROOMS))]
    uses: dict[str, set[str]] = {place: set() for place in places}
    for source, targets in arrows().items():
        uses[_room(source)] |= {_room(t) for t in targets}
    parts = [_text(GAP, 22, "imports run down", bold=True)]
    tall, left, step = 30, GAP + 150, 34
    for row, place in enumerate(places):
        y = 36 + row * tall
        name = place.removeprefix("hybrid.") if place != "hybrid" else "hybrid: MXNet's API"
        parts.append(f'<rect x="{GAP}" y="{y}" width="150" height="22" rx="4" fill="{BOX}" stroke="{SOFT}"/>')
        parts.append(_text(GAP + 8, y + 15, name, bold=True))
        below = sorted(places.index(t) for t in uses[place] if places.index(t) > row)
        if not below:
            continue
        x, last = left + 14 + (len(places) - row) * step / 2, 36 + max(below) * tall + 11
        parts.append(f'<path d="M{left} {y + 11}H{x:g}V{last}" fill="none" stroke="{MARK}" opacity="0.6"/>')
        parts += [
            f'<path d="M{x:g} {36 + t * tall + 11}H{left + 4}m4 -3l-4 3l4 3" fill="none" stroke="{MARK}" opacity="0.6"/>'
            for t in below
        ]
    return _svg(left + 40 + len(places) * step / 2, 36 + len(places) * tall + GAP, parts)


def _room(module: str) -> str:
    package, _, rest = module.partition(".")
    room = rest.split(".")[0]
    return f"hybrid.{room}" if package == "hybrid" and room in ROOMS else package


PICTURES: dict[str, Callable[[], str]] = {f"life-of-{f.__name__}.svg": f for f in (model, array, gradient)}
PICTURES["rooms.svg"] = rooms

if __name__ == "__main__":
    for file, draw in PICTURES.items():
        write(FOLDER / file, draw())
