"""Tests of many rows, one test a group: a test costs pytest more than most rows cost us.

Every row of a group is tried, and all that fail are told at once. ``pytest -k clip --row rank2`` tries the rows of the group
"clip" whose names hold "rank2"."""

from __future__ import annotations

import contextlib
import functools
import inspect
import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import pytest

from tests import shares

T = TypeVar("T")
Check = Callable[..., None]
LONG = 2000
"""Characters of one row's message that are shown."""


def each(
    rows: Iterable[T],
    label: Callable[[T], tuple[str, str]],
    together: Callable[[Sequence[T]], None] | None = None,
    share: int = 1,
) -> Callable[[Check], Check]:
    """A decorator: the test, whose first argument is a row, becomes one test for each group of rows.

    ``label`` gives a row's group and its name in it. Other arguments of the test (fixtures, parameters) stay what they are.
    ``together`` says the same of all rows of a group at once, in less time: rows are tried one by one when it fails. Of each group
    one row in ``share`` is tried (tests/shares.py)."""
    groups: dict[str, list[tuple[str, T]]] = {}
    for row in rows:
        group, name = label(row)
        groups.setdefault(group, []).append((name, row))
    if share > 1:
        groups = {g: list(shares.some(found, functools.partial(_full_name, g), share)) for g, found in groups.items()}

    def decorate(check: Check) -> Check:
        @functools.wraps(check)
        def test(request: pytest.FixtureRequest, group: str, **others: Any) -> None:
            wanted = request.config.getoption("--row", "")
            if together is not None and not wanted:
                with contextlib.suppress(Exception):  # rows say what is wrong
                    together([row for _, row in groups[group]])
                    return
            run([(name, row) for name, row in groups[group] if wanted in name], functools.partial(check, **others))

        first, *rest = inspect.signature(check).parameters.values()
        own = [first.replace(name=name, annotation=inspect.Parameter.empty) for name in ("request", "group")]
        del test.__wrapped__  # pytest would ask it for its arguments
        test.__signature__ = inspect.Signature([*own, *rest])  # type: ignore[attr-defined]
        return pytest.mark.parametrize("group", [pytest.param(g, id=g) for g in groups])(test)

    return decorate


def over(names: str, values: Iterable[Any]) -> Callable[[Check], Check]:
    """A decorator: as ``pytest.mark.parametrize``, with all values in one test. Above one another they give every combination."""
    wanted = [n.strip() for n in names.split(",")]
    rows = [(_name(v), dict(zip(wanted, v if len(wanted) > 1 else (v,), strict=True))) for v in values]

    def decorate(check: Check) -> Check:
        inner, loops = getattr(check, "loops", (check, []))
        loops = [rows, *loops]

        @functools.wraps(check)
        def test(request: pytest.FixtureRequest, **others: Any) -> None:
            part = request.config.getoption("--row", "")
            combined = (
                ("-".join(name for name, _ in several), {k: v for _, given in several for k, v in given.items()})
                for several in itertools.product(*loops)
            )
            run((row for row in combined if part in row[0]), lambda given: inner(**given, **others))

        test.loops = inner, loops  # type: ignore[attr-defined]
        asked = inspect.signature(inner).parameters
        own = [p for n, p in asked.items() if not any(n in given for several in loops for _, given in several[:1])]
        first = inspect.Parameter("request", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        del test.__wrapped__  # pytest would ask it for its arguments
        test.__signature__ = inspect.Signature([first, *own])  # type: ignore[attr-defined]
        return test

    return decorate


def _full_name(group: str, row: tuple[str, Any]) -> str:
    return f"{group} {row[0]}"


def _name(value: Any) -> str:
    """Name of a row of this value."""
    return "-".join(map(_name, value)) if isinstance(value, tuple) and len(value) < 4 else f"{value!s:.80}"


def run(rows: Iterable[tuple[str, T]], check: Callable[[T], None]) -> None:
    """Check every row. Raises AssertionError that names all rows that fail, from what the first of them raised."""
    failed: dict[str, Exception] = {}
    count = 0
    for name, row in rows:
        count += 1
        try:
            check(row)
        except Exception as error:
            failed[name] = error
    if failed:
        told = "\n".join(f"[{name}] {type(e).__name__}: {str(e)[:LONG]}" for name, e in failed.items())
        raise AssertionError(f"{len(failed)} of {count} rows fail:\n{told}") from next(iter(failed.values()))
