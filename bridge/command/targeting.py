"""``gluonnx targets``."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ..faces.blocks import Column, Facts, Grid, Line, Page
from ..paths import BadInput
from ..printable import clean
from ..targets import words
from ..targets.place import Place, how_to_install, place_of, python_of, variable_of, wanted
from ..targets.profile import PLACES, Profile, newest_releases, profile_of, profiles
from .options import AsJson
from .shell import errors, print_result

SHOWN = 12
"""Operators that the list of one profile begins with."""


def targets(
    name: Annotated[str | None, typer.Argument(help="The target to show in full.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the engines for --target, what each supports, and whether it is installed; or show one."""
    with errors(as_json):
        chosen = [profile_of(name)] if name else list(profiles().values())
        told = [_facts(p) for p in chosen]
        print_result({"targets": told}, as_json, lambda: _shown(chosen[0], told[0]) if name else _listed(told))


def _facts(profile: Profile) -> dict[str, Any]:
    """A profile and where it is installed, as JSON has them."""
    place, problem = _place(profile)
    return {
        "name": profile.name,
        "description": profile.description,
        "installed": place is not None,
        "version": place.version if place else None,
        "package": place.package if place else None,
        "python": place.python if place else None,
        "problem": problem,
        "releases": list(profile.releases),
        "opsets": list(profile.opsets),
        "written_opset": profile.opset,
        "ir": profile.ir,
        "accepts": None if profile.accepts is None else list(profile.accepts),
        "lacks": list(profile.lacks),
        "forms": dict(profile.forms),
        "dtypes_refused": {place: list(dtypes) for place, dtypes in profile.dtypes.items()},
        "static": profile.static,
        "batch": profile.batch,
        "constant": {k: list(v) for k, v in profile.constant.items()},
        "attributes": {k: {n: list(v) for n, v in a.items()} for k, a in profile.attributes.items()},
        "ranks": {k: list(v) for k, v in profile.ranks.items()},
        "wrong": dict(profile.wrong),
        "quirks": list(profile.quirks),
        "rounding": profile.rounding,
        "adapter": profile.adapter or None,
        "install": profile.install or None,
        "not_run": profile.not_run or None,
        "sources": list(profile.sources),
    }


def _place(profile: Profile) -> tuple[Place | None, str | None]:
    """The place where it is installed, and what is wrong with the interpreter that somebody has named for it."""
    try:
        return place_of(profile), None
    except BadInput as error:
        return None, str(error)


def _listed(told: list[dict[str, Any]]) -> Page:
    columns = [
        Column("target"),
        Column("what it is", fold=True),
        Column("opsets"),
        Column("IR", right=True),
        Column("here", fold=True),
    ]
    rows: list[list[str | Line]] = []
    for each in clean(told):
        here = Line(f"{each['package']} {each['version']}", "good") if each["installed"] else Line("no", "dim")
        if each["problem"]:
            here = Line(each["problem"], "bad")
        elif not each["adapter"]:
            here = Line("not run here", "dim")
        first, last = each["opsets"]
        rows.append([each["name"], each["description"], f"{first} to {last}", str(each["ir"]), here])
    newest = [f"{engine} is {name}, the newest" for engine, name in newest_releases().items()]
    notes = [
        Line(f"{'; '.join(newest)}.", "dim"),
        Line(
            "gluonnx convert MODEL --target NAME writes for one; gluonnx verify FILE.onnx --target all tries one file on all.",
            "dim",
        ),
        Line(
            "One that lives in another Python: GLUONNX_TARGET_PYTHON_NAME, or [targets] in gluonnx.toml (docs/targets.md).",
            "dim",
        ),
    ]
    return Page("targets", [Grid(columns, rows), *notes])


def _shown(profile: Profile, told: dict[str, Any]) -> Page:
    here = f"{told['package']} {told['version']} in {told['python']}" if told["installed"] else how_to_install(profile)
    rows = [("what it is", profile.description), ("here", told["problem"] or here)]
    if profile.runs:
        rows.append(("releases", wanted(profile)))
        rows.append(("interpreter", f"{python_of(profile)[0]} ({variable_of(profile.name)} names another)"))
    written = "the oldest from 13 on that loses nothing" if profile.opset is None else str(profile.opset)
    rows.append(("opsets", f"reads {profile.opsets[0]} to {profile.opsets[1]}; written: {written}"))
    rows.append(("IR version", f"{profile.ir} at the most"))
    if profile.accepts is not None:
        rows.append(
            ("operators", f"{len(profile.accepts)}: {', '.join(profile.accepts[:SHOWN])}, ... (--json has all)")
        )
    if profile.lacks:
        rows.append(("lacks", ", ".join(profile.lacks)))
    limits = [f"{o}: {w}" for o, w in _limits(profile)]
    if limits:
        rows.append(("limits", "; ".join(limits)))
    rows += [("gets wrong", said) for said in words.wrong(profile)]
    refused: dict[str, list[str]] = {}
    for dtype in dict.fromkeys(d for dtypes in profile.dtypes.values() for d in dtypes):
        places = [words for place, words in PLACES.items() if profile.refuses(dtype, place)]
        where = "" if len(places) == len(PLACES) else f" ({', '.join(places)})"
        refused.setdefault(where, []).append(dtype)
    if refused:
        rows.append(("dtypes it has not", "; ".join(f"{', '.join(d)}{where}" for where, d in refused.items())))
    if profile.static:
        rows.append(("sizes", "fixed ones only: no --dynamic"))
    if profile.batch is not None:
        rows.append(("batch", f"{profile.batch} alone"))
    if profile.forms:
        rows.append(("written with", "; ".join(words.forms(profile))))
    if profile.rounding:
        rows.append(
            ("agrees within", f"{profile.rounding:g} of an output's scale, where the rule for float32 is missed")
        )
    rows += [("note", q) for q in profile.quirks]
    rows += [("known from", s) for s in profile.sources]
    return Page(profile.name, [Facts(clean(rows))])


def _limits(profile: Profile) -> list[tuple[str, str]]:
    """Operators that it takes in some forms alone, in words."""
    found = [(o, f"input {', '.join(map(str, places))} constant") for o, places in profile.constant.items()]
    found += [(o, f"input {', '.join(map(str, places))} computed") for o, places in profile.computed.items()]
    found += [(o, f"{least} to {most} dimensions") for o, (least, most) in profile.ranks.items()]
    found += [
        (o, f"{n} {', '.join(map(str, values))}")
        for o, limited in profile.attributes.items()
        for n, values in limited.items()
    ]
    return found
