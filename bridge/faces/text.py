"""Pages as text for a terminal, of whatever width it has."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..compare import Difference
from ..printable import clean
from ..result import VerifyResult
from . import words
from .blocks import TONES, Block, Brief, Facts, Grid, Line, Page

PLAIN: dict[str, Any] = {"markup": False, "emoji": False, "highlight": False}
"""Names of nodes and files are shown as they are: ``a[0]:x:`` is neither a style nor an emoji."""
STYLES = {"": "", "good": "bold green", "warn": "yellow", "bad": "bold red", "dim": "dim", "strong": "bold"}
BARS = "▁▂▃▄▅▆▇█"
ASCII_BARS = ".:-=+*%#"
UNKNOWN = " "
WIDEST_STRIP = 120
NARROWEST_NAME = 22
SHOWN_INPUTS = 4


def render(shown: Page | Block) -> RenderableType:
    """A page or one of its pieces as Rich prints it."""
    match shown:
        case Page():
            return Group(*map(render, shown.blocks))
        case VerifyResult():
            return _Verification(clean(shown))
        case Brief():
            return _Brief(clean(shown.result))
        case Line():
            return Text(shown.text, style=STYLES[shown.tone])
        case Facts():
            return _facts(shown.rows)
        case Grid():
            return _grid(shown)
    return shown


def _facts(rows: Sequence[tuple[str, str | Text]]) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(name, Text(value) if isinstance(value, str) else value)
    return table


class _Fitting:
    """Printer of a table some of whose columns say what they need: those that matter least are left out where there is no room."""

    def __init__(self, grid: Grid):
        self.grid = grid

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        columns = list(enumerate(self.grid.columns))
        while sum(2 + max(len(c.name), c.least) for _, c in columns) - 2 > options.max_width and len(columns) > 1:
            columns.remove(max(columns, key=lambda of: of[1].spare))
        kept = [i for i, _ in columns]
        yield _table(Grid([c for _, c in columns], [[row[i] for i in kept] for row in self.grid.rows], self.grid.title))
        if left := [c.name for i, c in enumerate(self.grid.columns) if i not in kept]:
            yield Text(f"no room here for: {', '.join(left)} (--json has all)", style="dim")


def _grid(grid: Grid) -> RenderableType:
    return _Fitting(grid) if any(c.spare for c in grid.columns) else _table(grid)


def _table(grid: Grid) -> Table:
    table = Table(title=Text(grid.title) if grid.title else None, title_justify="left", box=None, pad_edge=False)
    for column in grid.columns:
        table.add_column(
            column.name,
            justify="right" if column.right else "left",
            overflow="fold" if column.fold else "ellipsis",
            min_width=column.least or None,
        )
    for row in grid.rows:
        table.add_row(*(Text(c) if isinstance(c, str) else Text(c.text, style=STYLES[c.tone]) for c in row))
    return table


def as_text(result: VerifyResult, width: int = 100) -> str:
    """A verification as a block of plain text."""
    console = Console(file=io.StringIO(), width=width, color_system=None, **PLAIN)
    with console.capture() as captured:
        console.print(render(result), crop=False)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


class _Verification:
    """Printer of a verification: the verdict first, then what it rests on."""

    def __init__(self, result: VerifyResult):
        self.result = result

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        result, width = self.result, options.max_width
        yield from self._head(width)
        facts: list[tuple[str, str | Text]] = [*self._inputs()]
        facts += [("tolerance", rule) for rule in words.rules_beside(result.differences)]
        yield _facts(facts)
        if result.differences:
            yield Text()
            yield outputs(result, width)
            if of_run := words.worst_beside(result):
                yield Text(of_run, style="dim")
        yield from self._reasons()
        yield Text()
        findings = list(self._findings())
        room = width - 2 - max(len("layers"), *(len(name) for name, _ in findings), 0)
        yield _facts([*self._strip(min(room, WIDEST_STRIP), options.ascii_only), *findings])
        for note in result.warnings:
            yield Text(f"note: {note}", style="yellow")
        command = words.next_command(result)
        if command:  # whole, so that it can be copied
            yield Text(f"next  {command}", no_wrap=True, overflow="ignore", style="bold")

    def _head(self, width: int) -> Iterator[Text]:
        result = self.result
        verdict = Text(result.verdict.upper(), style=STYLES[TONES[result.verdict]])
        sides = [words.side(name, files) for name, files in zip((result.a, result.b), result.files)]
        told = f"{len(result.runs)} run{'s' if len(result.runs) != 1 else ''}, {result.seconds:.1f} s"
        line = Text.assemble(verdict, f"  {sides[0]} against {sides[1]}, {told}")
        if line.cell_len <= width:
            yield line
            return
        yield verdict
        yield from (Text(text, overflow="fold") for text in (f"  {sides[0]}", f"  against {sides[1]}", f"  {told}"))

    def _inputs(self) -> Iterator[tuple[str, str]]:
        given = self.result.runs[0].get("inputs", {}) if self.result.runs else {}
        for name, found in list(given.items())[:SHOWN_INPUTS]:
            yield f"input {words.shorten(name, 24)}", words.given(found)
        if len(given) > SHOWN_INPUTS:
            yield "inputs", f"{len(given) - SHOWN_INPUTS} more: {', '.join(list(given)[SHOWN_INPUTS:])}"
        if more := words.further(self.result):
            yield "further", more

    def _reasons(self) -> Iterator[Text]:
        for d in self.result.differences:
            if not d.equal:
                yield Text(f"{d.name}: {d.reason}", style="red")

    def _strip(self, room: int, ascii_only: bool) -> Iterator[tuple[str, Text]]:
        result = self.result
        if not result.layers:
            return
        before, after = words.spans(result)
        before, after = f"{before} " if before else "", f" {after}" if after else ""
        bars = strip(result, max(8, room - len(before) - len(after)), ascii_only)
        yield "layers", Text.assemble(before, bars, after)

    def _findings(self) -> Iterator[tuple[str, str | Text]]:
        result, found = self.result, self.result.divergence
        if found is not None:
            at = f"{found.node} ({found.operator}), tensor {found.tensor}"
            yield "first", Text(at, style="bold red")
            yield "", words.MEANINGS[found.kind]
            yield "found", words.reason(found)
            where, what = result.place(found.node), result.causes.get(found.node, ())
            if where:
                yield "where", where
            yield from (("what" if i == 0 else "", cause) for i, cause in enumerate(what))
            given = list(found.inputs.items())
            for i, (name, known) in enumerate(given[:SHOWN_INPUTS]):
                yield "" if i else "reads", f"{words.shorten(name, 40)} {words.statistics(known)}"
        yield from (("", said) for said in words.reliefs(result))
        yield from (("also" if i == 0 else "", line) for i, line in enumerate(words.others(result)))
        if result.inner:
            yield "inside", f"{result.inner} tensors were computed by both from the same values"
        yield from (("recorded" if i == 0 else "", said) for i, said in enumerate(result.recorded))
        if result.repro:
            yield "written", f"reproduction in {result.repro}"


class _Brief:
    """Printer of the outputs alone."""

    def __init__(self, result: VerifyResult):
        self.result = result

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        yield outputs(self.result, options.max_width)
        if of_run := words.worst_beside(self.result):
            yield Text(of_run, style="dim")
        for rule in words.rules_beside(self.result.differences):
            yield Text(f"|a - b| may be {rule} of |a|", style="dim")


def outputs(result: VerifyResult, width: int) -> Table:
    """The measures of all outputs, with as many columns as fit; names are shortened last."""
    differences = result.differences
    columns = _columns(differences)
    if of_runs := words.runs_of(result):
        columns.insert(-1, ("run", of_runs, 3))
    names = [d.name for d in differences]
    while True:
        room = width - sum(2 + max(len(head), *map(len, cells)) for head, cells, _ in columns)
        if room >= min(NARROWEST_NAME, max(6, *map(len, names))) or len(columns) <= 2:
            break
        columns.remove(max(columns, key=lambda c: c[2]))
    table = Table(box=None, pad_edge=False)
    table.add_column("output", no_wrap=True)
    for head, _, _ in columns:
        table.add_column(head, justify="left" if head == "verdict" else "right", no_wrap=True)
    for i, d in enumerate(differences):
        cells = [Text(words.shorten_output(d.name, max(6, room)))]
        for head, column, _ in columns:
            style = ("green" if d.equal else "red") if head == "verdict" else ""
            cells.append(Text(column[i], style=style))
        table.add_row(*cells)
    return table


def _columns(differences: Sequence[Difference]) -> list[tuple[str, list[str], int]]:
    """Heads and cells, and which is left out first where there is no room (the highest number)."""
    measured = [d.compared for d in differences]

    def cells(tell: Any) -> list[str]:
        return [tell(d) if yes else "" for d, yes in zip(differences, measured)]

    found = [
        ("beyond", cells(lambda d: f"{d.beyond}/{d.size}" if d.beyond else "0"), 2),
        ("max abs", cells(lambda d: words.small(d.max_abs)), 1),
        ("at", cells(lambda d: words.place(d.index) if d.max_abs else ""), 6),
        ("max rel", cells(lambda d: words.small(d.relative)), 5),
        ("needs atol", cells(lambda d: words.enough(d.needs)), 3),
        ("of scale", cells(lambda d: words.small(d.max_rel)), 4),
        ("cosine", cells(lambda d: f"{d.cosine:.7f}"), 7),
        ("top-1", cells(words.top1), 8),
    ]
    return [c for c in found if c[0] != "top-1" or any(c[1])] + [("verdict", [words.told(d) for d in differences], 0)]


def strip(result: VerifyResult, width: int, ascii_only: bool = False) -> Text:
    """All layers in one line: a bar for the error of each, or for the greatest of several in a row where there is no room."""
    bars = ASCII_BARS if ascii_only else BARS
    count, first = len(result.layers), result.first
    places = min(width, count)
    line = Text(no_wrap=True)
    for i in range(places):
        low, high = i * count // places, (i + 1) * count // places
        known = [v for layer in result.layers[low:high] if (v := words.level(layer, len(bars))) is not None]
        wrong = any(x.accumulated and not x.accumulated.equal for x in result.layers[low:high])
        doubt = (
            "red" if result.verdict == "not equivalent" else "yellow"
        )  # beyond a tolerance that decides over outputs
        style = "bold red" if first is not None and low <= first < high else doubt if wrong else "green"
        line.append(bars[max(known)] if known else UNKNOWN, style=style)
    return line
