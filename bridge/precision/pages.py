"""The cost of a file in another precision, as blocks of a page."""

from __future__ import annotations

from collections.abc import Sequence

from ..faces.blocks import Block, Column, Grid, Line
from ..paths import bytes_text, listed, plural
from .accuracy import EXACT, Accuracy, AccuracyReport


def brief(report: AccuracyReport) -> list[Block]:
    """In a few lines."""
    before, after = report.bytes
    lines = [f"{report.precision}: {_share(after, before)} of the size as ONNX before ({bytes_text(before)})"]
    if report.quantized:
        how = ", ".join(f"{v}" if k == "method" else f"{k} {v}" for k, v in report.calibration.items())
        lines[0] += f"; {plural(len(report.quantized), 'node')} on integers ({how})"
    if report.stays:
        names = listed(dict.fromkeys(s.node for s in report.stays), 3)
        lines[0] += f"; {len(report.stays)} {'stays' if len(report.stays) == 1 else 'stay'} in float32: {names}"
    worst = report.worst
    if worst is not None:
        lines.append(
            f"{report.precision}: {report.apart}; signal to noise {decibels(worst.sqnr)} or more, at {worst.tensor} "
            f"(cosine {worst.cosine:.6f}, "
            f"max {worst.max_abs:.2g} of {worst.scale:.3g}), on {report.data}"
        )
    if report.chosen:
        names = listed([f"{name} ({operator})" for name, operator in report.chosen.items()], 3)
        one = len(report.chosen) == 1
        lines.append(
            f"{report.precision}: {names} {'chooses' if one else 'choose'} between numbers, and may come out otherwise on other "
            f"inputs, by whole steps, where two of them are near each other"
        )
    if report.labelled is not None:
        found = report.labelled
        top5 = "" if found.top5 is None else f", top-5 {found.top5[0]:.2%} -> {found.top5[1]:.2%}"
        lines.append(f"top-1 {found.top1[0]:.2%} -> {found.top1[1]:.2%}{top5}, of {plural(found.examples, 'example')}")
    return [*map(Line, lines), *(Line(f"note: {note}", "warn") for note in report.notes)]


def full(report: AccuracyReport) -> list[Block]:
    """With every layer, and why nodes stay."""
    parts = brief(report)
    columns = [Column("tensor", fold=True), Column("operator"), Column("max abs", True), Column("of scale", True)]
    columns += [Column("cosine", True), Column("SQNR", True), Column("in")]
    parts.append(Grid(columns, [_row(a, report) for a in report.layers], title="accuracy by layer"))
    if report.stays:
        rows = [(s.node, s.operator, s.reason) for s in report.stays]
        parts.append(
            Grid([Column("stays in float32", fold=True), Column("operator"), Column("because", fold=True)], rows)
        )
    return parts


def _row(a: Accuracy, report: AccuracyReport) -> Sequence[str]:
    kind = report.precision if a.reduced else "float32"
    return (a.tensor, a.operator, f"{a.max_abs:.2e}", f"{a.max_rel:.2e}", f"{a.cosine:.6f}", decibels(a.sqnr), kind)


def decibels(sqnr: float) -> str:
    """Signal to noise in words."""
    return "exact" if sqnr >= EXACT else f"{sqnr:.1f} dB"


def _share(after: int, before: int) -> str:
    return f"{after / before:.0%}" if before else "none"
