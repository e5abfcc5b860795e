"""docs/targets.md, from profiles and from the cells that ``python -m tests.targets`` has measured."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from bridge.targets import words
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

`gluonnx convert MODEL --target NAME` writes a file that the target supports, or names the nodes
that it does not support. If the target is installed, it also runs the file there and compares the
outputs. `--target` may be repeated: the file then has to work on all of them. `gluonnx targets`
lists the targets, `gluonnx targets NAME` shows one, and `gluonnx verify FILE.onnx --target all`
tries a file on all.

**OpenCV, ncnn, Core ML and TensorFlow Lite take fixed sizes only**: with them `--dynamic` is an
error. Give the batch and the sizes that you will run.

This page is written by `python -m tests.targets`.

## In which Python

By default a target has to be installed in the Python that runs gluonnx. Some need other versions of
NumPy (OpenCV 4.6 needs NumPy 1), and two releases of one package cannot be installed together. So a
target may have a Python of its own, with only that package and NumPy:

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

Each run is a separate process with one thread and a time limit, so that a crash of an engine does
not end gluonnx.

## Words

- A *profile* is what gluonnx knows of a target without running it: which operators it lacks, and
  what it gets wrong. All nodes are checked against it before a file is written. What the target
  lacks is listed (exit status 2), with a command that converts the graph up to there if there is
  one.
- *Opsets* are the versions of ONNX's operators that it reads, *IR* the newest version of ONNX's
  file format.
- The result of a run is one of these. It is stored in the file's metadata
  (`gluonnx.target.NAME`).

| verdict | meaning |
|---|---|
| agrees | run there on random (or given) inputs: the outputs equal those of gluonnx's engine by the rule of `gluonnx verify` |
| differs | other numbers: `convert` writes nothing, exit status 1 |
| refused, crashed, too late | with the target's own message; `convert` writes nothing, exit status 3 |
| fits, does not fit | not run here; the nodes were checked against the profile. If nothing ran, `verify` exits with 4 |

If rounding is in doubt, float64 decides. Where the page says that a target *agrees within* a share,
its arithmetic is less exact (Winograd, lookup tables): outputs also agree within that share of
their largest number.
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
    rows = ["## Targets", "", "| target | what it is | opsets | IR | sizes | run here |", "|---|---|---|---|---|---|"]
    for p in profiles.values():
        written = "" if p.opset is None else f", written at {p.opset}"
        run = p.install or "no"
        sizes = "fixed only" if p.static else "any"
        rows.append(
            f"| {p.name} | {p.description} | {p.opsets[0]} to {p.opsets[1]}{written} | {p.ir} | {sizes} | {run} |"
        )
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
    """Reasons of refusals and differences, the first of each network, with the networks that have it in common."""
    text = [
        "### Why not", "",
        "The first thing that a network needs and the target lacks; `convert` lists all of them. The profile says so before "
        "anything is run, unless a verdict stands behind the reason.", "",
        "| target | reason | networks |", "|---|---|---|",
    ]  # fmt: skip
    for target in shown:
        common: dict[str, list[str]] = {}
        for network in networks:
            cell = cells.get((target, network))
            if cell is None or cell["verdict"] == AGREES:
                continue
            reason = cell.get("reason", "").replace("|", "\\|").replace("`", "'")
            reason = reason if len(reason) <= SAID else reason[:SAID] + " ..."
            missing = re.fullmatch(rf"{re.escape(target)} has no (\w+)", reason)
            if missing:
                reason = f"no {missing[1]}"
            common.setdefault(reason if cell["verdict"] == BY_US else f"{reason} ({cell['verdict']})", []).append(
                network
            )
        text += [f"| {target} | {reason} | {', '.join(having)} |" for reason, having in common.items()]
    return "\n".join([*text, ""])


def _profiles(profiles: Mapping[str, Profile]) -> str:
    """Facts about each, and their sources; one that several have stands once."""
    text = ["## What is known, and from where", ""]
    by_source: dict[tuple[str, ...], list[Profile]] = {}
    for p in profiles.values():
        by_source.setdefault(p.sources, []).append(p)
    for sources, having in by_source.items():
        text += [f"**{', '.join(p.name for p in having)}**: " + "; ".join(sources) + ".", ""]
        notes = [f"{p.name}: {note}" if len(having) > 1 else note for p in having for note in _notes(p)]
        text += [*(f"- {note}" for note in notes), *([""] if notes else [])]
    return "\n".join(text)


def _notes(p: Profile) -> list[str]:
    notes = [f"not run here: {p.not_run}"] if p.not_run else []
    notes += p.quirks
    if p.wrong:
        notes.append("gets wrong, or cannot take: " + "; ".join(words.wrong(p)))
    if p.lacks:
        notes.append("lacks " + ", ".join(p.lacks))
    if p.rounding:
        notes.append(f"agrees within {p.rounding:g} of an output's scale")
    if p.forms:
        notes.append("files for it have: " + "; ".join(words.forms(p)))
    return notes
