"""Probes change nothing that a program computes, and list what its calls have not decided."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from typing import Any

import pytest

from . import probes
from .__main__ import open_labels
from .rewrite import PREFIX, Rewriter

SOURCE = '''
def scaled(x, by=2, shift=0):
    """Documented."""
    return x * by + shift

def chosen(a, b, c):
    return a or b and c

def guarded(x):
    return x is not None and x.size > 3

def bounded(x):
    if x < 5 or x in (7, 9):
        raise ValueError(x)
    return min(x, 100)

def walked(xs, d):
    found = [x for x in xs if x % 2]
    for x in found:
        xs = xs[1:]
    return sorted(found)[0], xs, d.get("k", 1), any(x > 2 for x in found), abs(found[0])

def made(**more):
    return len(more)

def making(x):
    return made(parts=x, whole=1)

def handled(x):
    try:
        return scaled(x, 2, shift=1) // 4
    except TypeError:
        return -x.real
'''


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    monkeypatch.setattr(probes, "SITES", [])
    monkeypatch.setattr(probes, "LEFT", [])
    for name, value in vars(probes).items():
        if callable(value) and not name.startswith("_"):
            monkeypatch.setattr(builtins, PREFIX + name, value, raising=False)
    tree = ast.fix_missing_locations(Rewriter("sample.py").visit(ast.parse(SOURCE)))
    names: dict[str, Any] = {}
    exec(compile(tree, "sample.py", "exec"), names)
    yield names


def left() -> dict[str, list[str]]:
    found = {}
    for site, bits in zip(probes.SITES, probes.LEFT, strict=True):
        if labels := open_labels(site, bits):
            found[f"{site.kind} {site.text}"] = labels
    return found


def test_nothing_changes(program: dict[str, Any]) -> None:
    plain: dict[str, Any] = {}
    exec(SOURCE, plain)
    for name, *arguments in (
        ("scaled", 3), ("scaled", 3, 4, 5), ("chosen", 0, 2, 3), ("chosen", 0, 2, 0), ("chosen", 1, 0, 0), ("guarded", None),
        ("bounded", 4), ("bounded", 7), ("bounded", 8), ("bounded", 1000), ("walked", [4, 3, 1, 5], {}), ("handled", 7),
        ("walked", [1, 1], {"k": 0}), ("handled", 1j), ("walked", [], {}),
    ):  # fmt: skip
        said = []
        for names in (plain, program):
            try:
                said.append(names[name](*arguments))
            except Exception as error:
                said.append((type(error), error.args))
        assert said[0] == said[1], name


def test_what_is_not_decided_is_listed(program: dict[str, Any]) -> None:
    program["scaled"](3), program["chosen"](0, 2, 3), program["guarded"](None), program["making"]([])
    found = left()
    assert found["call made(parts=x, whole=1)"] == ["parts=x"]
    assert found["arithmetic x * by + shift"] == ["right"]  # a sum with 0
    assert "arithmetic x * by" not in found and "function scaled" not in found
    assert found["function handled"] == ["run"]
    assert found["bool a or (b and c)"] == ["a"]
    assert found["bool b and c"] == ["b"]  # the value is that of c
    assert found["bool x is not None and x.size > 3"] == ["x.size > 3"]
    assert found["compare x is not None"] == ["true"] and found["compare x.size > 3"] == ["less", "equal", "greater"]


def test_what_calls_decide_is_listed_no_more(program: dict[str, Any]) -> None:
    for x in (3, 5, 7, 8):
        try:
            program["bounded"](x)
        except ValueError:
            continue
    found = left()
    assert found["in x in (7, 9)"] == ["9"] and found["min min(x, 100)"] == ["100"]
    assert not {"raise x < 5 or x in (7, 9)", "compare x < 5", "bool x < 5 or x in (7, 9)"} & {*found}
    program["walked"]([2, 3, 1, 5], {}), program["handled"](7)
    found = left()
    assert found["get d.get('k', 1)"] == ["there"] and found["abs abs(found[0])"] == ["changes"]
    assert not {"sorted sorted(found)", "any any((x > 2 for x in found))", "loop found", "filter x % 2"} & {*found}
    assert found["except TypeError"] == ["run"] and found["neg -x.real"] == ["changes"]
    assert found["call scaled(x, 2, shift=1)"] == ["2"]  # which is the default
    assert "arithmetic scaled(x, 2, shift=1) // 4" not in found
