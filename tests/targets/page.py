"""docs/targets.md, from profiles and from the cells that ``python -m tests.targets`` has measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bridge.targets.deployed import AGREES, CRASHED, DIFFERS, LATE, REFUSED
from bridge.targets.profile import Profile

from .rebuilt import COMMITTED

Cells = Mapping[tuple[str, str], dict[str, Any]]

BY_US = "refused by its profile"
"""The verdict of a network that --target does not write, since the target lacks what it needs."""
EARLIER = "†"
"""The mark of a cell that was measured with another file than is written today."""
SAID = 160
"""Characters of an engine's own words."""

HEAD = """# Deployment targets

`gluonnx convert MODEL --target NAME` writes a file that the target supports, lists the nodes that it does not support, and, if the
target is installed, runs the file there and compares the outputs. The result is stored in the file's metadata
(`gluonnx.target.NAME`). `--target` may be repeated: the file then has to work on all of them. `gluonnx targets` lists the targets,
`gluonnx targets NAME` shows one, and `gluonnx verify FILE.onnx --target all` tries a file on all.

This page is written by `python -m tests.targets`.

## In which Python

By default a target has to be installed in the Python that runs gluonnx. Some need other versions of NumPy (OpenCV 4.6 needs NumPy
1), and two releases of one package cannot be installed together. So a target may have a Python of its own, with only that package
and NumPy:

```
# the name in capitals, _ for all other characters
export GLUONNX_TARGET_PYTHON_OPENCV_4_6=/opt/opencv46/bin/python
```

or, in the gluonnx.toml of the current folder,

```toml
[targets]
"opencv-4.6" = "/opt/opencv46/bin/python"
openvino-2023 = "/opt/openvino2023/bin/python"
```

Each run is a separate process with one thread and a time limit, so that a crash of an engine does not end gluonnx.

## Verdicts

| verdict | meaning |
|---|---|
| agrees | run there on random (or given) inputs: the outputs equal those of gluonnx's engine by the rule of `gluonnx verify` |
| differs | other numbers: `convert` writes nothing, exit status 1 |
| refused, crashed, too late | with the target's own message; `convert` writes nothing, exit status 3 |
| fits, does not fit | not run here; the nodes were checked against the target's profile. If nothing ran, `verify` exits with 4 |

If rounding is in doubt, float64 decides. If a profile says `agrees within`, the target's arithmetic may be less exact (Winograd,
lookup tables): outputs also agree within that share of their largest number.

Before a file is written, all nodes are checked against the profiles. What a target lacks is listed by node and operator, with a
command that converts the graph up to there if there is one (exit status 2).
"""


def page(
    cells: Cells,
    profiles: Mapping[str, Profile],
    shown: Sequence[str],
    networks: Sequence[str],
    issue: Sequence[str],
    zoo: Sequence[str],
) -> str:
    """The page as text. shown: the columns. networks: the rows; issue, zoo: those of networks that are made anew."""
    parts = [
        HEAD,
        _targets(profiles),
        _matrix(cells, shown, networks),
        _rebuilt(cells, shown, issue, zoo),
        _reasons(cells, shown, [*networks, *issue, *zoo]),
        _profiles(profiles),
    ]
    return "\n".join(parts)


def _targets(profiles: Mapping[str, Profile]) -> str:
    rows = ["## Targets", "", "| target | what it is | opsets | IR | run here |", "|---|---|---|---|---|"]
    for p in profiles.values():
        written = "" if p.opset is None else f", written at {p.opset}"
        run = p.install or "no"
        rows.append(f"| {p.name} | {p.description} | {p.opsets[0]} to {p.opsets[1]}{written} | {p.ir} | {run} |")
    return "\n".join([*rows, ""])


def _mark(cell: Mapping[str, Any] | None) -> str:
    """A cell of the matrix in a few words."""
    if cell is None:
        return ""
    return _verdict(cell) + (f" {EARLIER}" if _is_earlier(cell) else "")


def _is_earlier(cell: Mapping[str, Any]) -> bool:
    """True for a cell that was measured with another file than is written today, or before cells knew their files."""
    return "now" in cell or ("file" not in cell and cell["verdict"] != BY_US)


def _verdict(cell: Mapping[str, Any]) -> str:
    match cell["verdict"]:
        case str(v) if v == AGREES:
            return "ok"
        case str(v) if v == DIFFERS:
            return "**WRONG**"
        case str(v) if v == BY_US:
            return "no: " + ", ".join(sorted(cell["operators"])[:2]) + (" ..." if len(cell["operators"]) > 2 else "")
    at = f" at {', '.join(cell['operators'])}" if cell.get("operators") else ""
    return {REFUSED: "refused", CRASHED: "crash", LATE: "too late"}[cell["verdict"]] + at


def _matrix(cells: Cells, shown: Sequence[str], networks: Sequence[str]) -> str:
    """Networks by targets."""
    releases = {t: next((c["release"] for (name, _), c in cells.items() if name == t), "not measured") for t in shown}
    text = [
        "## Committed networks on installed targets", "",
        "Each network of fixtures/models, converted with `--target`, run there on the recorded inputs and on drawn ones. "
        '"no: ..." names what the target lacks, as `convert` does before anything is run: no file is written then. '
        "ok: it agrees.", "",
        "Run with: " + "; ".join(f"{t}: {r}" for t, r in releases.items()) + ".", "",
        "| network | " + " | ".join(shown) + " |", "|---" * (len(shown) + 1) + "|",
    ]  # fmt: skip
    return "\n".join([*text, *_rows(cells, shown, networks), *_earlier(cells, shown, networks), ""])


def _rows(cells: Cells, shown: Sequence[str], networks: Sequence[str]) -> list[str]:
    """Networks by targets, and how many agree."""
    text = [f"| {n} | " + " | ".join(_mark(cells.get((t, n))) for t in shown) + " |" for n in networks]
    counts = []
    for t in shown:
        own = [c for n in networks if (c := cells.get((t, n))) is not None]
        good = sum(c["verdict"] == AGREES for c in own)
        wrong = sum(c["verdict"] == DIFFERS for c in own)
        counts.append(f"{good}/{len(own)}" + (f", {wrong} wrong" if wrong else "") if own else "")
    return [*text, "| **agree** | " + " | ".join(counts) + " |"]


def _earlier(cells: Cells, shown: Sequence[str], networks: Sequence[str]) -> list[str]:
    """Words for cells that were measured with another file than is written today."""
    count = sum(_is_earlier(c) for (t, n), c in cells.items() if t in shown and n in networks)
    said = "measured with the file that an earlier converter wrote, or not known with which (`--stale` measures them)"
    return ["", f"{EARLIER} ({count} cells): {said}."] if count else []


def _rebuilt(cells: Cells, shown: Sequence[str], issue: Sequence[str], zoo: Sequence[str]) -> str:
    """Networks that are made anew, by targets; and what OpenCV 4.6 makes of those of issue 17."""
    all_34 = [*COMMITTED, *issue]
    agree = {t: sum(cells.get((t, n), {}).get("verdict") == AGREES for n in all_34) for t in shown}
    return "\n".join([
        "## Networks that are made anew", "",
        "Twelve more networks that were asked for and are nobody's to commit, rebuilt by their architectures at small sizes, and "
        "Gluon's model zoo (`zoo_`), both with drawn weights (tests/targets/rebuilt.py). Empty: not measured.", "",
        "| network | " + " | ".join(shown) + " |", "|---" * (len(shown) + 1) + "|",
        *_rows(cells, shown, [*issue, *zoo]), *_earlier(cells, shown, [*issue, *zoo]), "",
        f"Of the {len(all_34)} networks that were asked for (22 committed, 12 of these) agree: "
        + "; ".join(f"{t} {n}" for t, n in agree.items()) + ".", "",
    ])  # fmt: skip


def _reasons(cells: Cells, shown: Sequence[str], networks: Sequence[str]) -> str:
    """Reasons of each refusal and difference."""
    text = ["### Why not", "", "| target | network | verdict | |", "|---|---|---|---|"]
    for target in shown:
        for network in networks:
            cell = cells.get((target, network))
            if cell is None or cell["verdict"] == AGREES:
                continue
            reason = cell.get("reason", "").replace("|", "\\|").replace("`", "'")
            reason = reason if len(reason) <= SAID else reason[:SAID] + " ..."
            operators = ", ".join(f"{n} {c}" for n, c in cell.get("operators", {}).items())
            text.append(
                f"| {target} | {network} | {cell['verdict']} | {operators + ': ' if operators else ''}{reason} |"
            )
    return "\n".join([*text, ""])


def _profiles(profiles: Mapping[str, Profile]) -> str:
    """Quirks and sources of each."""
    text = ["## What is known, and from where", ""]
    for p in profiles.values():
        text.append(f"**{p.name}**: " + "; ".join(p.sources) + ".")
        notes = [*p.quirks, *(f"{name}: {words}" for name, words in p.wrong.items())]
        notes = [f"not run here: {p.not_run}", *notes] if p.not_run else notes
        if p.lacks:
            notes.append("lacks " + ", ".join(p.lacks))
        if p.rounding:
            notes.append(f"agrees within {p.rounding:g} of an output's scale")
        if p.forms:
            notes.append("written with " + ", ".join(f"{n}={v}" for n, v in p.forms.items()))
        text += [f"- {note}" for note in notes]
        text.append("")
    return "\n".join(text)
