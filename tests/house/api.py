"""Public names of MXNet 1.9.1: those that are here, those that are not, and why.

fixtures/api/mxnet-1.9.1.json holds the names. ``python -m tests.house.api > docs/api.md`` writes the table."""

from __future__ import annotations

import functools
import importlib
import inspect
import json
import re
import sys
import warnings
from collections.abc import Iterable, Iterator
from fnmatch import translate
from pathlib import Path
from typing import Any, NamedTuple

from tests.house.api_gaps import DIFFERENT, MISSING

ROOT = Path(__file__).parents[2]
FIXTURE = ROOT / "fixtures/api/mxnet-1.9.1.json"
_ABSENT = object()


class Public(NamedTuple):
    """One name: a module, or what ``module.name`` or ``module.Class.name`` is."""

    module: str
    name: str
    kind: str
    signature: str | None

    def __str__(self) -> str:
        return f"{self.module}.{self.name}" if self.name else self.module


def public() -> Iterator[Public]:
    """All public names, as recorded. A class that several modules show has its members listed once."""
    for module, names in json.loads(FIXTURE.read_text())["modules"].items():
        yield Public(module, "", "module", None)
        for name, (kind, signature, members) in names.items():
            yield Public(module, name, kind, signature)
            for member, what in (members or {}).items():
                kind = "method" if what.startswith("(") else what
                yield Public(module, f"{name}.{member}", kind, what if kind == "method" else None)


@functools.cache
def find(item: Public) -> Any:
    """Object of that name here, or _ABSENT."""
    found = _module(item.module)
    *owner, name = item.name.split(".")
    for part in owner:
        found = getattr(found, part, _ABSENT)
    if item.name and owner == ["Symbol"] and not hasattr(found, name):
        found = importlib.import_module("hybrid.symbol").var(
            "x"
        )  # what symbols refuse is refused when it is asked of one
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of what MXNet calls deprecated too
            return getattr(found, name, _ABSENT) if item.name else found
    except NotImplementedError:
        return NotImplementedError


@functools.cache
def _module(name: str) -> Any:
    """The module of that name: a file, or made of attributes (nd.contrib), or in another package (onnx)."""
    try:
        return importlib.import_module("hybrid" + name.removeprefix("mxnet"))
    except ImportError:
        found: Any = importlib.import_module("hybrid")
        for part in name.split(".")[1:]:
            found = getattr(found, part, _ABSENT)
        return found


def _compiled(patterns: Iterable[str]) -> dict[str, re.Pattern[str]]:
    return {p: re.compile(translate(p)) for p in patterns}


_MISSING, _DIFFERENT = _compiled(MISSING), _compiled(DIFFERENT)


@functools.cache
def pattern_for(item: Public) -> str | None:
    """The first pattern of MISSING that fits a name."""
    return next((p for p, compiled in _MISSING.items() if compiled.match(str(item))), None)


@functools.cache
def missing() -> list[Public]:
    """All names that are not here; of a missing module or class only itself."""
    out: list[Public] = []
    gone: set[str] = set()
    for item in public():
        owner = item.module if "." not in item.name else f"{item.module}.{item.name.rpartition('.')[0]}"
        if item.name and (item.module in gone or owner in gone):
            continue
        if find(item) is _ABSENT:
            out.append(item)
            gone.add(str(item))
    return out


# -- signatures -------------------------------------------------------------------------------------------------------------


class Parameter(NamedTuple):
    """One parameter: its name (with stars), and the text of its default."""

    name: str
    default: str | None


def parse(signature: str) -> list[Parameter]:
    """The parameters of a signature in text form."""
    parts, depth, start = [], 0, 1
    text = signature[:-1] + ","
    for i, character in enumerate(text[1:], 1):
        depth += (character in "([{<") - (character in ")]}>")
        if character == "," and not depth:
            parts.append(text[start:i].strip())
            start = i + 1
    return [
        Parameter(n, d if eq else None) for n, eq, d in (p.partition("=") for p in parts if p not in ("", "*", "/"))
    ]


def parameters(function: Any) -> list[Parameter] | None:
    """The parameters of a function here; None where Python cannot say."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return None
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    return [
        Parameter(stars.get(p.kind, "") + p.name, None if p.default is p.empty else repr(p.default))
        for p in signature.parameters.values()
    ]


def difference(item: Public) -> str | None:
    """Difference of a signature here from MXNet's: parameters that it lacks, other defaults, another order, more that is
    required. Further parameters are fine, and so are defaults where MXNet has none."""
    found = find(item)
    if item.signature is None or found is _ABSENT or item.kind in ("property", "value") or _backward(item):
        return None
    special = re.fullmatch(r".*\.__(?!init__|call__)\w+__", item.name)
    ours, theirs = parameters(found), parse(item.signature)
    if ours is None or special or [p.name for p in theirs if p.name != "self"] == ["*args", "**kwargs"]:
        return None
    if theirs[:1] == [Parameter("self", None)]:
        theirs = theirs[1:]
        ours = ours[1:] if inspect.isfunction(found) or ours[:1] == [Parameter("self", None)] else ours
    operator = any(p.default == "_Null" or p.name == "out" for p in theirs) and theirs[-1].name == "**kwargs"
    theirs = [p for p in theirs if not p.name.startswith("*") and not (operator and p.name in ("out", "name"))]
    have = {p.name: p.default for p in ours}
    open_ended = any(n.startswith("*") for n in have)
    problems = []
    for name, default in theirs:
        if name not in have:
            problems += [] if open_ended else [f"no parameter {name}"]
        elif not operator and default is not None and _plain(have[name]) != _plain(default):
            problems.append(f"{name}={_plain(have[name])}, not {_plain(default)}")
    common = [p.name for p in theirs if p.name in have]
    if common != (order := [n for n in have if n in common]):
        problems.append(f"order {', '.join(order)}, not {', '.join(common)}")
    known = {p.name for p in theirs}
    if not operator:
        problems += [f"requires {n}" for n, d in have.items() if d is None and n not in known and n[0] != "*"]
    return "; ".join(problems) or None


def _backward(item: Public) -> bool:
    return item.name.startswith("_backward_")


def _plain(default: str | None) -> str | None:
    """The text of a default without what differs between runs, machines, Pythons and NumPys."""
    if default is None:
        return None
    text = re.sub(r" object at 0x\w+| at 0x\w+| from '[^']*'|mxnet\.|hybrid\.", "", default.replace('"', "'"))
    text = re.sub(r"'(~|/[^']*)/\.mxnet[^']*'", "'~/.mxnet'", text)
    text = re.sub(r"<module '?(\w+)'?>", r"<module \1>", text)
    return re.sub(r"^(-?\d+)\.0$", r"\1", text)


@functools.cache
def differences() -> dict[str, str]:
    """Every signature that differs: its name, and how."""
    found = {str(item): difference(item) for item in public()}
    return {name: how for name, how in found.items() if how}


# -- the document -----------------------------------------------------------------------------------------------------------


def unexplained() -> list[str]:
    """Names that are missing, and signatures that differ, without a reason."""
    gaps = [str(g) for g in missing() if pattern_for(g) is None]
    return gaps + [
        f"{n}: {how}" for n, how in differences().items() if not any(p.match(n) for p in _DIFFERENT.values())
    ]


def outdated() -> list[str]:
    """Reasons for what is there after all."""
    used = {pattern_for(g) for g in missing()}
    differ = differences()
    return [p for p in MISSING if p not in used] + [
        p for p, compiled in _DIFFERENT.items() if not any(compiled.match(n) for n in differ)
    ]


def document() -> str:
    """The whole of docs/api.md."""
    gaps = missing()
    by_module: dict[str, list[Public]] = {}
    for item in public():
        by_module.setdefault(item.module, []).append(item)
    lines = [
        "# MXNet 1.9.1's public names",
        "",
        "How many of each module's public names are here. Names and signatures were read from MXNet 1.9.1 itself",
        "(`fixtures/api`); members of classes count as names. What is missing, and why, stands below.",
        "",
        "Written by `python -m tests.house.api > docs/api.md`; `tests/house/test_api.py` fails when it is out of date.",
        "",
        "| module | names | here | missing |",
        "|---|---:|---:|---:|",
    ]
    gone = {g.module for g in gaps if not g.name}
    total = [0, 0]
    for module, items in by_module.items():
        count = len(items) - 1
        absent = count if module in gone else sum(_size(g, items) for g in gaps if g.module == module)
        lines.append(f"| {module} | {count} | {count - absent} | {absent or ''} |")
        total = [total[0] + count, total[1] + absent]
    lines += [f"| all | {total[0]} | {total[0] - total[1]} | {total[1]} |", "", "## What is missing, and why", ""]
    reasons: dict[str, list[str]] = {}
    for gap in sorted(gaps, key=lambda g: list(MISSING).index(pattern_for(g) or "")):
        reasons.setdefault(MISSING[pattern_for(gap) or ""], []).append(str(gap).removeprefix("mxnet."))
    for reason, names in reasons.items():
        lines.append(f"- {reason}: {_listed(sorted(set(names)))}")
    lines += ["", "## Signatures that differ on purpose", ""]
    lines += [f"- `{pattern}`: {reason}" for pattern, reason in DIFFERENT.items()]
    return "\n".join(lines) + "\n"


def _size(gap: Public, items: list[Public]) -> int:
    """Number of names that go with a missing one: its members."""
    return sum(i.name == gap.name or i.name.startswith(gap.name + ".") for i in items if i.name)


def _listed(names: list[str]) -> str:
    """The names, those of one module together."""
    parts: dict[str, list[str]] = {}
    for name in names:
        module, _, last = name.rpartition(".")
        parts.setdefault(module, []).append(f"`{last}`")
    return "; ".join(f"{module + ': ' if module else ''}{', '.join(shown)}" for module, shown in parts.items())


if __name__ == "__main__":
    sys.stdout.write(document())
