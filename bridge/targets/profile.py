"""Profiles of targets, read from profiles/*.toml: one file for a family of releases or kin.

A file has a table [common], of which all its targets have a copy, and one table [target."NAME"] for each. Keys are the fields of
Profile; what a target says itself counts, and ``also_lacks``, ``also_accepts``, ``also_quirks`` add to what it inherits."""

from __future__ import annotations

import dataclasses
import difflib
import functools
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from converters.forms import USUAL, Forms

from ..paths import BadInput, names_in

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FOLDER = Path(__file__).parent / "profiles"
PLACES = {"input": "as an input", "stored": "as a constant", "inside": "inside", "output": "as an output"}
"""Places of a tensor: fed, stored, computed, computed and given; each with words."""
ADDED = ("also_accepts", "also_lacks", "also_quirks")
"""Keys whose entries follow those of the field that they are called after."""


@dataclass(frozen=True)
class Profile:
    """A target: what it takes, how it is run, and from where this is known."""

    name: str
    description: str
    opsets: tuple[int, int]
    """The oldest and the newest opset that it reads."""
    ir: int
    """The newest IR version that it reads."""
    sources: tuple[str, ...]
    """Sources of the facts: titles of documents, or what was measured, with the date."""
    opset: int | None = None
    """The opset that files for it are written in; None for the oldest that loses nothing."""
    releases: tuple[str, str] = ("", "")
    """The first release that this holds for, and the first that it does not; empty for no bound."""
    accepts: tuple[str, ...] | None = None
    """The ONNX operators that it has; None where only those that it lacks are known."""
    lacks: tuple[str, ...] = ()
    """Operators that it has not, or gets wrong."""
    forms: Mapping[str, Any] = field(default_factory=dict)
    """Forms that files for it are written in: fields of converters.forms.Forms."""
    dtypes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By place of a tensor (PLACES) the dtypes that it cannot have there; a list is of all places. With own_types a Cast at an end
    may."""
    types: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By operator the dtypes that its first output cannot have."""
    static: bool = False
    """True where every size has to be a number."""
    batch: int | None = None
    """The size that the first axis of inputs has to have; None for any."""
    constant: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """By operator the inputs (places) that have to be constants."""
    computed: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """By operator the inputs (places) that may not be constants."""
    attributes: Mapping[str, Mapping[str, tuple[Any, ...]]] = field(default_factory=dict)
    """By operator and attribute the values that it takes; an attribute that is absent is as ONNX's default."""
    ranks: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """By operator the least and greatest number of dimensions of its first input."""
    wrong: Mapping[str, str] = field(default_factory=dict)
    """By operator in words in which form its numbers are wrong or it stops, as rules.py knows it by name."""
    symmetric: bool = False
    """True where 8-bit integers are int8 with zero points of 0 alone, and biases floats: --quantize then writes these."""
    quirks: tuple[str, ...] = ()
    """Peculiarities in words, with what is done about them."""
    rounding: float | None = None
    """The error, times the scale of an output, that its arithmetic may have beyond that of float32 (Winograd, tables)."""
    adapter: str = ""
    """The way it is run, as bridge/scripts/run_on_target.py knows it; empty where it is not run."""
    packages: tuple[str, ...] = ()
    """Packages of Python that have it, the first of which is to be installed."""
    needs: tuple[str, ...] = ()
    """Further packages without which it does not run."""
    install: str = ""
    """A command that installs it; empty where it is not run here."""
    not_run: str = ""
    """The reason why it is not run here, and a way to try it; empty for what is run."""
    own_types: bool = False
    """True where outputs have dtypes and ranks of its own: they are compared in those of the file."""

    @property
    def runs(self) -> bool:
        """True for what can be installed and run here."""
        return bool(self.adapter)

    def as_forms(self, given: Forms = USUAL) -> Forms:
        """The forms that a file for it is written in, beside those that are asked for."""
        return dataclasses.replace(given, **self.forms)

    def covers(self, version: str) -> bool:
        """True for a release that this profile is about."""
        first, beyond = map(_numbers, self.releases)
        return (not first or _numbers(version) >= first) and (not beyond or _numbers(version) < beyond)

    def refuses(self, dtype: str, place: str) -> str:
        """Words for a dtype that tensors at a place cannot have; empty for one that they can."""
        if dtype not in self.dtypes.get(place, ()):
            return ""
        taken = [words for other, words in PLACES.items() if dtype not in self.dtypes.get(other, ())]
        where = " or ".join([", ".join(taken[:-1]), *taken[-1:]] if taken[1:] else taken)
        return f"{self.name} has {where} alone" if where else f"{self.name} has not"

    def operator(self, name: str) -> bool:
        """True for an operator that it has."""
        return name not in self.lacks and (self.accepts is None or name in self.accepts)


def _numbers(version: str) -> tuple[int, ...]:
    """The release of a version: 4.6.0.66 and 4.6.0rc1 are (4, 6, 0, ...)."""
    found = []
    for part in version.split("."):
        digits = part[: next((i for i, c in enumerate(part) if not c.isdigit()), len(part))]
        if not digits:
            break
        found.append(int(digits))
        if digits != part:
            break
    return tuple(found)


@functools.cache
def profiles() -> Mapping[str, Profile]:
    """All targets by name, families in the order of their files."""
    found: dict[str, Profile] = {}
    for path in sorted(FOLDER.glob("*.toml")):
        with open(path, "rb") as file:
            told = tomllib.load(file)
        for name, own in told["target"].items():
            found[name] = _profile(name, told.get("common", {}), own)
    return found


def _profile(name: str, common: Mapping[str, Any], own: Mapping[str, Any]) -> Profile:
    told = {**common, **{k: v for k, v in own.items() if k not in ADDED}}
    for key in ADDED:
        field = key.removeprefix("also_")
        told[field] = [*(told.get(field) or ()), *common.get(key, ()), *own.get(key, ())] or told.get(field)
    if isinstance(refused := told.get("dtypes"), list):
        told["dtypes"] = dict.fromkeys(PLACES, refused)
    return Profile(name=name, **{k: _frozen(v) for k, v in told.items() if v is not None})


def _frozen(value: Any) -> Any:
    """Lists as tuples, in tables too."""
    if isinstance(value, list):
        return tuple(map(_frozen, value))
    return {k: _frozen(v) for k, v in value.items()} if isinstance(value, dict) else value


def _is_release(name: str, engine: str) -> bool:
    """True for the name of an engine with the numbers of a release behind it."""
    return name.startswith(f"{engine}-") and name.removeprefix(f"{engine}-").replace(".", "").isdigit()


def newest_releases() -> dict[str, str]:
    """Names of engines of which there are releases alone (tensorrt), each with that of its newest."""
    known = profiles()
    found: dict[str, str] = {}
    for engine in dict.fromkeys(n.rpartition("-")[0] for n in known):
        releases = {
            tuple(map(int, n.removeprefix(f"{engine}-").split("."))): n for n in known if _is_release(n, engine)
        }
        if engine and engine not in known and releases:
            found[engine] = releases[max(releases)]
    return found


def profile_of(name: str) -> Profile:
    """The profile of that name; of one that stands for several releases (tensorrt) the newest. Raises BadInput for names that there
    are not."""
    known = profiles()
    name = newest_releases().get(name, name)
    if name not in known:
        names = [*newest_releases(), *known]
        close = difflib.get_close_matches(name, names, 1)
        meant = f", did you mean {close[0]}?" if close else ""
        raise BadInput(f"got target {name!r}{meant or ','} wanted one of {', '.join(names)}")
    return known[name]


def profiles_of(names: Sequence[str]) -> list[Profile]:
    """The profiles of those names, or of all for "all". Raises BadInput with every name that there is not."""
    wrong, found = [], {}
    for name in names_in(names):
        try:
            found |= dict(profiles()) if name == "all" else {name: profile_of(name)}
        except BadInput as error:
            wrong += error.problems
    if wrong:
        raise BadInput(*wrong)
    return list(found.values())
