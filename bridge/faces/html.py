"""Pages as one HTML file each, without anything from a network: for a desktop and a phone, in light and dark."""

from __future__ import annotations

import base64
import functools
import io
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from importlib import resources
from typing import Any

from rich.console import Console

from ..compare import Difference
from ..measures import Details
from ..printable import clean, printable
from ..result import Layer, VerifyResult
from . import drawing, words
from .blocks import TONES, Block, Brief, Column, Facts, Grid, Line, Page
from .text import PLAIN

CARDS = 8
"""Tensors that are shown closely."""
ROWS_BYTES = 130_000
"""Of the table of all layers; where it would be longer, those with the smallest errors are left out."""
NUMBER = ' class="number"'
LONG = 110
"""Characters of a name that are shown."""


@functools.cache
def _resource(name: str) -> str:
    return resources.files("bridge.faces").joinpath(name).read_text(encoding="utf-8")


def page(shown: Page, facts: Mapping[str, Any]) -> str:
    """A page as an HTML document. facts: what an auditor asks (data.facts)."""
    verdict = printable(shown.verdict) or "gluonnx"
    title = printable(shown.title)
    body = "".join(map(_block, shown.blocks))
    if any(isinstance(block, VerifyResult | Brief) for block in shown.blocks):
        body += f"<h2>What the words mean</h2>{_facts(words.LEGEND)}"
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{_text(verdict)}: {_text(title)}</title>\n<style>{_resource('page.css')}</style>\n</head>\n"
        f'<body class="gluonnx">\n{_header(verdict, title, shown.tone)}\n<main>{body}</main>\n{_footer(facts)}\n'
        f"<script>{_resource('page.js')}</script>\n</body>\n</html>\n"
    )


def as_fragment(result: VerifyResult) -> str:
    """A verification as a piece of a page, such as a notebook shows: the verdict, the strip, and a closer look."""
    found = clean(result)
    head = _header(found.verdict, f"{found.a} against {found.b}", TONES[found.verdict])
    parts = [head, *_outputs(found), *_strip(found, _cards(found)), *_first(found), *_closely(found)]
    return f'<div class="gluonnx"><style>{_resource("page.css")}</style>{"".join(parts)}</div>'


def _text(text: str, width: int = 0) -> str:
    """Text that is nothing else in HTML, its middle left out where it is longer than width."""
    return escape(words.shorten(text, width) if width else text)


def _header(verdict: str, title: str, tone: str) -> str:
    return f'<header class="{tone}"><h1>{_text(verdict)}</h1><p>{_text(title, 300)}</p></header>'


def _footer(facts: Mapping[str, Any]) -> str:
    rows = [(name, str(version)) for name, version in facts.get("versions", {}).items()]
    machine = ", ".join(f"{k} {v}" for k, v in facts.get("machine", {}).items())
    rows += [("machine", machine), ("date", str(facts.get("date", ""))), ("schema", str(facts.get("schema", "")))]
    command = printable(str(facts.get("command", "")))
    return f"<footer><h2>To do it again</h2><pre>{_text(command)}</pre>{_facts(rows)}</footer>"


def _facts(rows: Sequence[tuple[str, str]]) -> str:
    cells = "".join(f"<dt>{_text(n, LONG)}</dt><dd>{_text(v)}</dd>" for n, v in rows)
    return f'<dl class="facts">{cells}</dl>'


def _block(block: Block) -> str:
    match block:
        case VerifyResult():
            return "".join(_verification(clean(block)))
        case Brief():
            return f"<h2>Verification</h2>{''.join(_verification(clean(block.result)))}"
        case Line(text=""):
            return ""
        case Line():
            return f'<p class="{block.tone} {"tone" if block.tone in ("good", "warn", "bad") else ""}">{_text(block.text)}</p>'
        case Facts():
            return _facts(block.rows)
        case Grid():
            return _grid(block)
    console = Console(file=io.StringIO(), width=120, color_system=None, **PLAIN)
    with console.capture() as captured:
        console.print(block)
    return f"<pre>{_text(captured.get())}</pre>"


def _grid(grid: Grid) -> str:
    def cell(content: str | Line, right: bool) -> str:
        number = NUMBER if right else ""
        if isinstance(content, Line):
            return f'<td{number}><span class="{content.tone} tone">{_text(content.text)}</span></td>'
        return f"<td{number}>{_text(content)}</td>"

    name = f"t{abs(hash((grid.title, tuple(c.name for c in grid.columns))))}"
    heads = "".join(f"<th{NUMBER if c.right else ''}>{_text(c.name)}</th>" for c in grid.columns)
    rows = "".join(f"<tr>{''.join(cell(c, h.right) for c, h in zip(row, grid.columns))}</tr>" for row in grid.rows)
    title = f"<h2>{_text(grid.title)}</h2>" if grid.title else ""
    find = f'<input type="search" hidden placeholder="find" data-for="{name}">' if len(grid.rows) > 12 else ""
    return (
        f'{title}{find}<div class="wide"><table class="sortable" id="{name}"><thead><tr>{heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


# -- a verification -------------------------------------------------------------------------------------------------------


def _verification(result: VerifyResult) -> Iterator[str]:
    cards = _cards(result)
    yield from _first(result)
    yield from (f"<p>{_text(said)}.</p>" for said in result.recorded)
    yield from _outputs(result)
    yield from _strip(result, cards)
    if any(result.around):
        yield f'<h2>Around the first difference</h2><div class="wide neighbours">{drawing.neighbourhood(result)}</div>'
    yield from _closely(result)
    yield from _inputs(result)
    if result.warnings:
        yield "<h2>Notes</h2>" + "".join(f'<p class="warn tone">{_text(w)}</p>' for w in result.warnings)
    yield from _all_layers(result)
    yield from _auditor(result)


def _first(result: VerifyResult) -> Iterator[str]:
    found = result.divergence
    if found is None:
        if result.inner:
            yield f"<p>{result.inner} tensors inside were computed by both from the same values.</p>"
        return
    rows = [("meaning", words.MEANINGS[found.kind]), ("found", words.reason(found))]
    where = result.place(found.node)
    rows += [("where", where)] if where else []
    rows += [("what", cause) for cause in result.causes.get(found.node, ())]
    rows += [("reads", f"{words.shorten(n, LONG)} {words.statistics(s)}") for n, s in list(found.inputs.items())[:4]]
    rows += [("also", line) for line in words.others(result)]
    rows += [("written", f"reproduction in {result.repro}")] if result.repro else []
    command = words.next_command(result)
    go_on = f"<pre>{_text(command)}</pre>" if command else ""
    name = f"{_text(found.node, LONG)} <span class='soft'>({_text(found.operator)})</span>"
    yield f'<div class="find"><h3>First: {name}</h3>{_facts(rows)}{go_on}</div>'


def _outputs(result: VerifyResult) -> Iterator[str]:
    heads = (
        "output",
        "verdict",
        "beyond",
        "max abs",
        "at",
        "max rel",
        "needs atol",
        "of scale",
        "rms",
        "cosine",
        "top-1",
    )
    rows = []
    for d in result.differences:
        measures = (
            f"{d.beyond:,} of {d.size:,}",
            words.small(d.max_abs),
            words.place(d.index),
            words.small(d.relative),
            words.enough(d.needs),
            words.small(d.max_rel),
            words.small(d.rms),
            f"{d.cosine:.7f}",
            words.top1(d),
        )
        verdict = Line(words.told(d), "good" if d.equal else "bad")
        rows.append((words.shorten(d.name, LONG), verdict, *(measures if d.compared else [""] * len(measures))))
    if rows:
        yield "<h2>Outputs</h2>"
        yield _grid(Grid([Column(n, right=n not in ("output", "verdict")) for n in heads], rows))
        wrong = [d for d in result.differences if not d.equal]
        yield "".join(f'<p class="bad tone">{_text(f"{d.name}: {d.reason}")}</p>' for d in wrong)
        rules = "; ".join(words.rules(result.differences))
        yield f'<p class="dim">|a - b| may be {_text(rules)} of |a|</p>' if rules else ""
        of_run = words.worst(result)
        yield f'<p class="dim">{_text(of_run)}</p>' if of_run else ""
        judged = [d for d in result.differences if d.from_float64 is not None]
        yield "".join(f'<p class="dim">{_text(_by_float64(result, d))}</p>' for d in judged)


def _by_float64(result: VerifyResult, d: Difference) -> str:
    assert d.from_float64 is not None
    one, two, usual = map(words.small, d.from_float64)
    return f"{d.name}: {result.a} is {one} from float64, {result.b} {two}; {usual} is usual for this network in float32"


def _cards(result: VerifyResult) -> dict[str, tuple[Difference, Layer | None]]:
    """Tensors that are shown closely, by name: the first difference and its neighbours, then outputs."""
    layers = {x.tensor: x for x in result.layers}
    found: dict[str, tuple[Difference, Layer | None]] = {}
    first = result.first
    near = [] if first is None else [result.layers[first]]
    near += [x for x in result.layers if x not in near]
    for layer in near:
        for d in (layer.local, layer.accumulated):
            if d is not None and d.details is not None:
                found.setdefault(layer.tensor, (d, layer))
    for d in result.differences:
        if d.details is not None:
            found.setdefault(d.name, (d, layers.get(d.name)))
    ranked = sorted(found, key=lambda n: found[n][1] is None or first is None or found[n][1] != result.layers[first])
    return {n: found[n] for n in ranked[:CARDS]}


def _strip(result: VerifyResult, cards: Mapping[str, Any]) -> Iterator[str]:
    if not result.layers:
        return
    named = list(cards)
    before, after = words.spans(result)

    def link(index: int) -> str:
        tensor = result.layers[index].tensor
        return f"card{named.index(tensor)}" if tensor in cards else f"layer{index}"

    yield (
        f'<h2>All layers</h2><p class="soft">{_text(", ".join(x for x in (before, after) if x))}. Bars: largest error in the '
        "whole model, over the tensor's largest number. Dots: the same of the node alone, both sides given the same values.</p>"
        f'<div class="wide strip">{drawing.strip(result, link)}</div>'
        + "".join(f'<p class="soft">{_text(said)}</p>' for said in words.reliefs(result))
    )


def _closely(result: VerifyResult) -> Iterator[str]:
    cards = _cards(result)
    if not cards:
        return
    first = None if result.first is None else result.layers[result.first].tensor
    yield '<h2>Closely</h2><p class="soft"><i class="key want"></i>first model <i class="key got"></i>second model</p>'
    yield '<div class="cards">'
    for i, (name, (d, layer)) in enumerate(cards.items()):
        yield _card(i, name, d, layer, name == first)
    yield "</div>"


def _card(number: int, name: str, d: Difference, layer: Layer | None, first: bool) -> str:
    details = d.details
    assert details is not None
    operator = f" <span class='soft'>({_text(layer.operator)})</span>" if layer is not None else ""
    rows = [
        ("tensor", f"{words.shape(d.shape)} {d.dtype}, {details.same:,} of {d.size:,} the same"),
        ("max abs", f"{words.small(d.max_abs)} at {words.place(d.index)}" if d.max_abs else words.small(d.max_abs)),
        ("max rel", f"{words.small(d.relative)} at {words.place(d.relative_index)}" if d.relative else ""),
        ("needs atol", words.enough(d.needs) if not d.equal else ""),
        ("where", details.where if not d.equal or first else ""),
        ("alone", layer.local.reason or words.told(layer.local) if layer is not None and layer.local else ""),
    ]
    figures = [
        (drawing.values(details), "values"),
        (drawing.errors(details) if any(details.errors) else "", "|second - first|"),
        (drawing.scatter(details) if details.sample else "", "second over first"),
        (
            drawing.channels(details, d.shape[details.axis or 0], d.equal) if details.channels else "",
            f"error by channel (axis {details.axis})",
        ),
    ]
    shown = "".join(f"<figure>{s}<figcaption>{_text(c)}</figcaption></figure>" for s, c in figures if s)
    return (
        f'<section class="card{" first" if first else ""}" id="card{number}"><h3>{_text(name, LONG)}{operator}</h3>'
        f'{_facts([r for r in rows if r[1]])}<div class="figures">{shown}</div>{_worst(details)}</section>'
    )


def _worst(details: Details) -> str:
    if not details.worst:
        return ""
    rows = "".join(
        f'<tr><td>{_text(words.place(at))}</td><td class="number">{want:.7g}</td><td class="number">{got:.7g}</td>'
        f'<td class="number">{words.small(abs(got - want))}</td></tr>'
        for at, want, got in details.worst
    )
    heads = '<th>at</th><th class="number">first</th><th class="number">second</th><th class="number">apart</th>'
    table = f'<div class="wide"><table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>'
    return f"<details><summary>the worst {len(details.worst)}</summary>{table}</details>"


def _inputs(result: VerifyResult) -> Iterator[str]:
    if not result.runs:
        return
    yield "<h2>Inputs</h2>"
    given = result.runs[0].get("inputs", {})
    rows = []
    for name, found in given.items():
        rows.append((name, words.given(found)))
    yield _facts(rows)
    for name, images in result.pictures.items():
        shown = "".join(
            f'<img alt="{_text(name, 60)}" src="data:image/png;base64,{base64.b64encode(image).decode()}">'
            for image in images
        )
        yield f'<div class="pictures">{shown}</div>'
    if len(result.runs) > 1:
        more = words.further(result)
        yield f"<p>The first of {len(result.runs)} runs is shown{_text(f'; further ones: {more}' if more else '')}.</p>"


def _all_layers(result: VerifyResult) -> Iterator[str]:
    if not result.layers:
        return
    rows = {i: _row(i, layer, result.verdict) for i, layer in enumerate(result.layers)}
    by_error = sorted(rows, key=lambda i: _rank(result.layers[i]))
    held, left_out = sum(map(len, rows.values())), 0
    for i in by_error:
        if held <= ROWS_BYTES:
            break
        held -= len(rows.pop(i))
        left_out += 1
    note = (
        f"<p>{left_out} layers with the smallest errors are left out here; a .json report has all.</p>"
        if left_out
        else ""
    )
    names = ("#", "tensor", "operator", "shape", "max abs", "of scale", "alone", "verdict")
    numbers = {"#", "max abs", "of scale", "alone"}
    heads = "".join(f"<th{NUMBER if n in numbers else ''}>{n}</th>" for n in names)
    yield (
        f"<details open><summary>Table of all {len(result.layers)} layers</summary>{note}"
        '<input type="search" hidden placeholder="find a layer" aria-label="find a layer" data-for="layers">'
        f'<div class="wide"><table class="sortable" id="layers"><thead><tr>{heads}</tr></thead>'
        f"<tbody>{''.join(rows.values())}</tbody></table></div></details>"
    )


def _rank(layer: Layer) -> tuple[bool, float]:
    found, own = layer.accumulated, layer.local
    wrong = any(d is not None and not d.equal for d in (found, own))
    return wrong, 0.0 if found is None else found.max_rel


def _row(index: int, layer: Layer, verdict: str) -> str:
    found, own = layer.accumulated, layer.local
    compared = found is not None and found.compared
    numbers = (
        words.small(found.max_abs) if found is not None and compared else "",
        words.small(found.max_rel) if found is not None and compared else "",
        words.small(own.max_abs) if own is not None and own.compared else "",
    )
    cells = "".join(f"<td class=number>{number}</td>" for number in numbers)
    said, tone = words.row(layer, verdict)
    key = "" if found is None else f"<i class='key e{drawing.colour(layer)}'></i>"
    shape = "" if found is None else words.shape(found.shape)
    cell = f"<span class='{tone} tone'>{_text(said)}</span>" if tone in ("warn", "bad") else _text(said)
    return (
        f"<tr id=layer{index}><td class=number>{index + 1}<td>{key}{_text(layer.tensor, LONG)}<td>{_text(layer.operator, 40)}"
        f"<td>{_text(shape)}{cells}<td>{cell}</tr>"
    )


def _auditor(result: VerifyResult) -> Iterator[str]:
    rows = [
        (f"{which} model", f"{file.path}, {file.bytes:,} bytes, sha256 {file.sha256}")
        for which, files in zip(("first", "second"), result.files)
        for file in files
    ]
    rows += [(f"{which} model", name) for which, name, files in _unread(result) if not files]
    seeds = sorted({str(run["seed"]) for run in result.runs if run.get("seed") is not None})
    rows.append(("seeds", ", ".join(seeds) or "none: all inputs were given"))
    rows += [("tolerance", rule) for rule in words.rules(result.differences)]
    rows.append(("time", f"{result.seconds:.2f} s"))
    yield f"<h2>For the auditor</h2>{_facts(rows)}"


def _unread(result: VerifyResult) -> list[tuple[str, str, Sequence[Any]]]:
    return [("first", result.a, result.files[0]), ("second", result.b, result.files[1])]
