"""Drawings of a comparison as inline SVG; every colour is a class of page.css, so that they fit light and dark."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape

from ..compare import Difference
from ..measures import BINS, DECADES, Details
from ..result import Layer, Neighbour, VerifyResult
from . import words

LEVELS = 8
"""Colours that errors have."""
CALM = 4
"""The last of these that is no warning."""
BARS = 240
"""Bars of a strip; where there are more layers, each is for the worst of several in a row."""
POWERS = (-9.0, 1.0)
"""Powers of ten that a strip's axis covers: of a layer's error over its largest number."""
NAME = 30

Link = Callable[[int], str]


def svg(width: float, height: float, body: str, told: str, kind: str = "") -> str:
    """A drawing. told: what it shows, for who does not see it."""
    mark = f' class="{kind}"' if kind else ""
    return f'<svg viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{escape(told)}"{mark}>{body}</svg>'


def _text(x: float, y: float, text: str, anchor: str = "start", kind: str = "") -> str:
    mark = f' class="{kind}"' if kind else ""
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}"{mark}>{escape(text)}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return f'<path class="{kind}" d="M{x1:g} {y1:g}L{x2:g} {y2:g}"/>'


# -- all layers -----------------------------------------------------------------------------------------------------------


def strip(result: VerifyResult, link: Link) -> str:
    """The error of every layer on a log axis, with the tolerance; a dot where the node alone was compared. link: where a bar leads
    to."""
    width, height, left, bottom = 1000.0, 210.0, 44.0, 24.0
    top = 8.0
    low, high = POWERS
    scale = (height - bottom - top) / (high - low)

    def y(relative: float) -> float:
        power = math.log10(relative) if relative > 0 else low
        return height - bottom - (min(high, max(low, power)) - low) * scale

    parts = []
    for power in range(int(low) + 1, int(high) + 1, 2):
        at = y(10.0**power)
        parts += [_line(left, at, width, at, "axis"), _text(left - 6, at + 4, f"1e{power}", "end")]
    count = len(result.layers)
    bars = min(BARS, count)
    step = (width - left) / max(bars, 12)
    limits, first_at = [], result.first
    for i in range(bars):
        group = range(i * count // bars, (i + 1) * count // bars)
        worst = max(group, key=lambda k: _relative(result.layers[k].accumulated))
        first = first_at is not None and first_at in group
        worst = first_at if first_at is not None and first else worst
        layer, x = result.layers[worst], left + i * step
        found = layer.accumulated
        if found is not None:
            at = min(y(_relative(found)), height - bottom - 2)
            mark = " first" if first else ""
            bar = (
                f'<rect class="e{colour(layer)}{mark}" x="{x + step * 0.1:.1f}" y="{at:.1f}" '
                f'width="{step * 0.8:.1f}" height="{height - bottom - at:.1f}"/>'
            )
            told = f"{worst + 1}: {_said(layer)}"
            parts.append(f'<a href="#{link(worst)}"><title>{escape(told)}</title>{bar}</a>')
            if found.limit and found.scale:
                limits.append((x + step / 2, y(found.limit / found.scale)))
        own = layer.local
        if own is not None and own.max_rel > 0:
            parts.append(f'<circle class="alone" cx="{x + step / 2:.1f}" cy="{y(own.max_rel):.1f}" r="2.6"/>')
    if limits:
        path = "L".join(f"{a:.1f} {b:.1f}" for a, b in [(left, limits[0][1]), *limits, (width, limits[-1][1])])
        parts += [f'<path class="limit" d="M{path}"/>', _text(width - 2, limits[-1][1] - 4, "tolerance", "end", "over")]
    parts += [_text(left, height - 6, "1"), _text(left + bars * step, height - 6, str(count), "end")]
    if first_at is not None:
        at = min(width - 160, left + first_at * bars / count * step)
        parts.append(_text(max(at, left + 16), height - 6, f"{first_at + 1}: first difference", kind="changed"))
    return svg(width, height, "".join(parts), f"Errors of {count} layers")


def colour(layer: Layer) -> int | None:
    """The colour of a layer's error; no red one where a judge found that it is no fault."""
    found, level = layer.accumulated, words.level(layer, LEVELS)
    fine = found is not None and found.equal and bool(found.settled_by)
    return min(level, CALM) if fine and level is not None else level


def _relative(d: Difference | None) -> float:
    if d is None:
        return -1.0
    return d.max_rel if d.compared and not d.misplaced else 10.0 ** POWERS[1]


def _said(layer: Layer) -> str:
    found, own = layer.accumulated, layer.local
    told = [f"{words.shorten(layer.tensor, 80)} ({layer.operator})"]
    if found is not None:
        told.append(
            f"{words.small(found.max_abs)}, {words.small(found.max_rel)} of its scale" if found.compared else ""
        )
    if own is not None:
        told.append(f"alone {words.small(own.max_abs)}")
    return ", ".join(t for t in told if t)


# -- one tensor -----------------------------------------------------------------------------------------------------------


def values(details: Details) -> str:
    """Histograms of both sides over each other."""
    width, height, bottom = 240.0, 110.0, 16.0
    most = max(*details.want, *details.got, 1)
    body = _line(0, height - bottom, width, height - bottom, "axis")
    for kind, counts in (("want", details.want), ("got", details.got)):
        step = width / len(counts)
        path = f"M0 {height - bottom:g}"
        for i, count in enumerate(counts):
            at = height - bottom - (height - bottom - 4) * _root(count, most)
            path += f"L{i * step:g} {at:.1f}L{(i + 1) * step:g} {at:.1f}"
        body += f'<path class="{kind}" d="{path}L{width:g} {height - bottom:g}Z"/>'
    low, high = details.edges
    body += _text(0, height - 3, f"{low:.3g}") + _text(width, height - 3, f"{high:.3g}", "end")
    return svg(width, height, body, "Values of both sides")


def _root(count: int, most: int) -> float:
    """The height of a bar: the square root, so that few are seen beside many."""
    return math.sqrt(count / most)


def errors(details: Details) -> str:
    """Numbers of elements by how far they are apart, in powers of ten."""
    width, height, bottom = 240.0, 110.0, 16.0
    most, step = max(*details.errors, 1), width / BINS
    body = _line(0, height - bottom, width, height - bottom, "axis")
    low, high = DECADES
    for i, count in enumerate(details.errors):
        tall = (height - bottom - 4) * _root(count, most)
        if count:
            body += f'<rect class="got" x="{i * step:g}" y="{height - bottom - tall:.1f}" width="{step:g}" height="{tall:.1f}"/>'
    for power in range(int(low) + 4, int(high), 4):
        at = (power - low) / (high - low) * width
        body += _text(at, height - 3, f"1e{power}", "middle")
    return svg(width, height, body, "Errors by power of ten")


def scatter(details: Details) -> str:
    """Pairs of both sides; equal ones lie on the diagonal."""
    width, height, pad = 240.0, 110.0, 14.0
    low, high = details.edges
    span = (high - low) or 1.0

    def at(pair: tuple[float, float]) -> str:
        x, y = (min(1.0, max(0.0, (v - low) / span)) for v in pair)
        return f"M{pad + x * (width - 2 * pad):.0f} {height - pad - y * (height - 2 * pad):.0f}h0"

    body = _line(pad, height - pad, width - pad, pad, "axis")
    body += f'<path class="dots" d="{"".join(dict.fromkeys(map(at, details.sample)))}"/>'
    body += _text(width - pad, height - 2, "first", "end") + _text(pad, 10, "second")
    return svg(width, height, body, "Values of the second model over those of the first")


def channels(details: Details, count: int, equal: bool) -> str:
    """The greatest difference of each of so many channels, as a strip of colours beside the worst of them. equal: the tensor is no
    fault, so that the worst channel is not shown as one."""
    top = CALM if equal else LEVELS - 1
    width, height = 240.0, 34.0
    most = max((c for c in details.channels if math.isfinite(c)), default=0.0) or 1.0
    step = width / len(details.channels)
    body = ""
    for i, error in enumerate(details.channels):
        share = error / most if math.isfinite(error) else 1.0
        shade = 0 if share <= 0 else max(1, top + round(1.5 * math.log10(share)))
        body += (
            f'<rect class="e{shade}" x="{i * step:.2f}" y="0" width="{step:.2f}" height="18">'
            f"<title>{i * count // len(details.channels)}: {words.small(error)}</title></rect>"
            if shade or len(details.channels) <= 64
            else ""
        )
    body += _text(0, 31, "0") + _text(width, 31, str(count - 1), "end")
    return svg(width, height, body, "Error by channel")


# -- the neighbourhood ----------------------------------------------------------------------------------------------------


def neighbourhood(result: VerifyResult) -> str:
    """Nodes around the first difference, of both sides beside each other."""
    one, two = result.around
    layers = {layer.tensor: layer for layer in result.layers}
    partner = {layer.tensor: layer.second for layer in result.layers}
    colours = {n: layer for layer in result.layers for n in (layer.tensor, layer.second)}
    rows = _rows(one, two, partner)
    tall, box, width = 46.0, 250.0, 760.0
    places = {0: 70.0, 1: width - 70.0 - box}
    at = [{n.tensor: i for i, row in enumerate(rows) if (n := row[side])} for side in (0, 1)]
    first = None if result.first is None else result.layers[result.first]
    body = "".join(
        _text(places[i] + box / 2, 14, words.shorten(n, 40), "middle") for i, n in enumerate((result.a, result.b))
    )
    for side, nodes in enumerate((one, two)):
        for node in nodes:
            row = at[side][node.tensor]
            for name in node.inputs:
                if name in at[side]:
                    body += _edge(places[side], box, at[side][name], row, tall, side)
    for i, (mine, theirs) in enumerate(rows):
        y = 24 + i * tall
        if mine and theirs:
            body += _line(places[0] + box, y + 16, places[1], y + 16, "pair")
        for side, node in enumerate((mine, theirs)):
            if node is None:
                continue
            layer = colours.get(node.tensor)
            level = None if layer is None else words.level(layer, LEVELS)
            is_first = first is not None and node.tensor in (first.tensor, first.second)
            changed = [*result.causes.get(node.node, ()), *_changed(node, (theirs, mine)[side])]
            body += _box(places[side], y, box, node, level, is_first, changed)
            if mine and theirs and side == 0 and (known := layers.get(mine.tensor)) and known.accumulated is not None:
                middle = (places[0] + box + places[1]) / 2
                body += _text(
                    middle, y + 12, words.small(known.accumulated.max_rel), "middle", "changed" if is_first else ""
                )
    return svg(width, 24 + len(rows) * tall, body, "Nodes around the first difference, of both models")


def _rows(
    one: Sequence[Neighbour], two: Sequence[Neighbour], partner: dict[str, str]
) -> list[tuple[Neighbour | None, Neighbour | None]]:
    """Nodes of both sides by rows: those that belong together share one, in the order of both."""
    rows: list[tuple[Neighbour | None, Neighbour | None]] = []
    done = 0
    for node in one:
        match = next((i for i in range(done, len(two)) if two[i].tensor == partner.get(node.tensor)), None)
        if match is None:
            rows.append((node, None))
            continue
        rows += [(None, other) for other in two[done:match]]
        rows.append((node, two[match]))
        done = match + 1
    return rows + [(None, other) for other in two[done:]]


def _edge(x: float, box: float, start: int, end: int, tall: float, side: int) -> str:
    y1, y2 = 24 + start * tall + 32, 24 + end * tall
    if end == start + 1:
        return _line(x + box / 2, y1, x + box / 2, y2, "edge")
    out = min(58.0, 16.0 + 7.0 * (end - start))
    edge, away = (x, x - out) if side == 0 else (x + box, x + box + out)
    y1, y2 = y1 - 10, y2 + 10
    return f'<path class="edge" d="M{edge:g} {y1:g}C{away:g} {y1:g} {away:g} {y2:g} {edge:g} {y2:g}"/>'


def _changed(node: Neighbour, other: Neighbour | None) -> list[str]:
    """Attributes that differ between nodes of one operator, in words."""
    if other is None or node.operator != other.operator:
        return []
    names = dict.fromkeys((*node.attributes, *other.attributes))
    return [
        f"{n} {node.attributes.get(n, 'not given')}" for n in names if node.attributes.get(n) != other.attributes.get(n)
    ]


def _box(
    x: float, y: float, width: float, node: Neighbour, level: int | None, first: bool, changed: Sequence[str]
) -> str:
    told = "; ".join([f"{node.node} ({node.operator})", *(f"{k} {v}" for k, v in node.attributes.items())])
    body = f'<rect class="box{" first" if first else ""}" x="{x:g}" y="{y:g}" width="{width:g}" height="32" rx="5"/>'
    if level is not None:
        body += f'<rect class="e{level}" x="{x + 1:g}" y="{y + 1:g}" width="8" height="30" rx="3"/>'
    under = ", ".join(changed) if changed else node.operator
    body += _text(x + 16, y + 14, words.shorten(node.node, NAME), kind="ink")
    body += _text(x + 16, y + 27, words.shorten(under, 40), kind="changed" if changed else "")
    return f"<g><title>{escape(words.shorten(told, 300))}</title>{body}</g>"
