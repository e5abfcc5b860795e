"""Which public names of MXNet 1.9.1 are here, which are not, and why.

fixtures/api/mxnet-1.9.1.json holds the names. ``python -m tests.house.api > docs/api.md`` writes the table."""

from __future__ import annotations

import importlib
import inspect
import json
import re
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
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


def find(item: Public) -> Any:
    """What the name is here, or _ABSENT."""
    try:
        found: Any = importlib.import_module("hybrid" + item.module.removeprefix("mxnet"))
    except ImportError:
        found = _module(item.module)
    for part in item.name.split(".") if item.name else ():
        found = getattr(found, part, _ABSENT)
    return found


def _module(name: str) -> Any:
    """A module that is made of attributes (nd.contrib), or lies in another package (onnx)."""
    found: Any = importlib.import_module("hybrid")
    for part in name.split(".")[1:]:
        found = getattr(found, part, _ABSENT)
    return found


def reason_for(item: Public) -> str | None:
    """Why a name is missing, as the first pattern that fits says."""
    return next((reason for pattern, reason in MISSING.items() if fnmatchcase(str(item), pattern)), None)


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
    return [Parameter(n, d if eq else None) for n, eq, d in (p.partition("=") for p in parts if p not in ("", "*", "/"))]


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
    """How a signature here differs from MXNet's: parameters that it lacks, other defaults, another order, more that is
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


def differences() -> dict[str, str]:
    """Every signature that differs: its name, and how."""
    found = {str(item): difference(item) for item in public()}
    return {name: how for name, how in found.items() if how}


# -- the document -----------------------------------------------------------------------------------------------------------


def document() -> str:
    """The whole of docs/api.md."""
    gaps = missing()
    by_module: dict[str, list[Public]] = {}
    for item in public():
        by_module.setdefault(item.module, []).append(item)
    lines = [
        "# MXNet 1.9.1's public names",
        "",
        "Written by `python -m tests.house.api > docs/api.md`; `tests/house/test_api.py` fails when it is out of date. Names and",
        "signatures were read from MXNet 1.9.1 itself (`fixtures/api`). Members of classes count, too.",
        "",
        "| module | names | here | missing |",
        "|---|---:|---:|---|",
    ]
    gone = {g.module for g in gaps if not g.name}
    for module, items in by_module.items():
        absent = [g for g in gaps if g.module == module]
        count = len(items) - 1
        here = 0 if module in gone else count - sum(_size(g, items) for g in absent)
        what = "the module" if module in gone else ", ".join(f"`{g.name}`" for g in absent if not _internal(g)) or ""
        hidden = sum(_internal(g) for g in absent)
        what += f"{', ' if what else ''}{hidden} by-products" if hidden and module not in gone else ""
        lines.append(f"| {module} | {count} | {here} | {what} |")
    lines += ["", "## Why", ""]
    for pattern, reason in MISSING.items():
        names = [str(g) for g in gaps if reason_for(g) == reason and fnmatchcase(str(g), pattern)]
        lines.append(f"- `{pattern}` ({len(names)}): {reason}")
    lines += ["", "## Signatures that differ on purpose", ""]
    lines += [f"- `{pattern}`: {reason}" for pattern, reason in DIFFERENT.items()]
    return "\n".join(lines) + "\n"


def _size(gap: Public, items: list[Public]) -> int:
    """How many names go with a missing one: its members."""
    return sum(i.name == gap.name or i.name.startswith(gap.name + ".") for i in items if i.name)


def _internal(item: Public) -> bool:
    """Whether a name is one that a module shows by accident."""
    return (reason_for(item) or "").startswith("by-product")


if __name__ == "__main__":
    sys.stdout.write(document())
