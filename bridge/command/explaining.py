"""``gluonnx explain``."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from hybrid.core.version import REPOSITORY

from ..faces.blocks import Facts, Line, Page
from ..paths import BadInput
from ..troubles import TROUBLES, Trouble
from .options import AsJson
from .shell import errors, print_result

LINK = re.compile(r"\[([^]]+)\]\(([^)]+)\)")


def explain(
    words: Annotated[
        list[str] | None,
        typer.Argument(help="The name at the end of an error, or words of its message; without it all are listed."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say what an error means and what to do about it."""
    with errors(as_json):
        found = _found(" ".join(words or ()))
        told = [{"name": t.anchor, **t._asdict()} for t in found]
        for each in told:
            del each["anchor"], each["says"]
        print_result({"entries": told}, as_json, lambda: _shown(found[0]) if len(found) == 1 else _listed(found))


def _found(asked: str) -> list[Trouble]:
    """The entry of that name, else those with all of the words, or that the words are a message of; raises BadInput where there
    is none."""
    words = asked.casefold().split()
    found = [t for t in TROUBLES if t.anchor == asked]
    found = found or [t for t in TROUBLES if all(w in " ".join(map(str, t)).casefold() for w in words)]
    found = found or [t for t in TROUBLES if t.says and re.search(t.says, asked)]
    if not found:
        raise BadInput(f"got {asked}, wanted the name that an error ends in, or words of it; gluonnx explain lists all")
    return found


def _listed(found: list[Trouble]) -> Page:
    return Page("errors", [Facts([(t.anchor, t.title) for t in found]), Line("gluonnx explain NAME shows one.", "dim")])


def _shown(trouble: Trouble) -> Page:
    steps = [("-", _plain(step)) for step in trouble.do]
    parts = [
        Line(trouble.title, "strong"),
        Line(trouble.example, "dim"),
        Line(""),
        Line(_plain(trouble.means)),
        Facts(steps),
    ]
    more = f"docs/troubleshooting.md#{trouble.anchor}; docs/ is a folder of {REPOSITORY}"
    return Page(trouble.anchor, [*parts, Line(""), Line(more, "dim")])


def _plain(text: str) -> str:
    """The text with the places of its links behind their words: a wheel has no docs/."""
    return LINK.sub(lambda link: f"{link[1]} (docs/{link[2]})", text)
