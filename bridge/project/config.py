"""gluonnx.toml: which models there are, and what they are held to."""

from __future__ import annotations

import difflib
import math
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from ..compare import TOLERANCES, Tolerance
from ..models import BadInput
from ..paths import files_of, listed
from ..printable import printable
from ..recorded import is_recording

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

NAME = "gluonnx.toml"
REASONS = ("differs", "interface", "drift", "unreached", "says-little", "missing")
"""Reasons to fail, where nobody says which. interface: inputs or outputs have other names, dtypes or shapes than when the baseline
was written; drift: a file is far more off than it was then, or stores its weights in another dtype; unreached: files differ where
no input tells them apart; missing: a file or the baseline is not there, or a file that this was written with is not listed."""
ALL_REASONS = (*REASONS, "changed", "unlisted")
"""Those that there are. changed: a file holds something else than the one that the baseline is of, though its numbers agree;
unlisted: a model lies below the gluonnx.toml that this does not name."""
SECTIONS = ("check", "model", "targets")
OF_CHECK = ("fail-on", "ignore")
OF_MODEL = ("files", "params", "baseline", "inputs", "ranges", "map", "outputs", "seed", "runs", "tolerance")
OF_RULE = ("atol", "rtol", "scaled", "cosine")
WANTED = {
    "files": "a list of paths, the first of which is right where there is no baseline",
    "params": "the path of a .params file",
    "baseline": "the path of a recording (.npz)",
    "inputs": "the path of an .npz, a list of these, or sizes such as { data = [1, 3, 224, 224] }",
    "ranges": "{ data = [0, 255] }: the lowest and the highest number that is drawn",
    "map": '{ data = "input" }: the name of an input here and in the files that have another',
    "outputs": 'a list of names, such as ["fc1_output"]',
    "seed": "a whole number of 0 or more",
    "runs": "a whole number of 1 or more",
    "tolerance": "{ atol = 1e-5, rtol = 1e-4, scaled = true, cosine = 0.9999 }, and the same by the name of an output or a file",
}
"""Words for each key of a model."""


class Rule(NamedTuple):
    """A rule that outputs are held to; nothing of it given is the judge's own."""

    atol: float | None = None
    rtol: float | None = None
    scaled: bool = False
    cosine: float | None = None
    """The least cosine of the angle between both, where that is what counts."""

    @property
    def tolerance(self) -> Tolerance | None:
        """The limits for each element; None where there are none."""
        if self.atol is None and self.rtol is None:
            return None
        usual = TOLERANCES["float32"]
        return Tolerance(
            usual.atol if self.atol is None else self.atol, usual.rtol if self.rtol is None else self.rtol, self.scaled
        )


@dataclass(frozen=True)
class Rules:
    """Rules of a model: of all outputs, of some by their names, and both of single files."""

    general: Rule | None = None
    outputs: Mapping[str, Rule] = field(default_factory=dict)
    files: Mapping[str, Rules] = field(default_factory=dict)

    def of(self, file: str) -> Rules:
        """The rules for one file."""
        own = self.files.get(file)
        return self if own is None else Rules(own.general or self.general, {**self.outputs, **own.outputs})


@dataclass(frozen=True)
class Entry:
    """A model of a project: its files, and what they are held to."""

    name: str
    files: tuple[str, ...]
    """As they are written; the first is right where there is no baseline."""
    folder: Path
    """The folder where paths begin."""
    params: str | None = None
    baseline: str | None = None
    inputs: Any = None
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    map: Mapping[str, str] = field(default_factory=dict)
    outputs: tuple[str, ...] = ()
    seed: int = 0
    runs: int = 1
    rules: Rules = field(default_factory=Rules)
    sharing: tuple[str, ...] = ()
    """Files of other models that have the same baseline."""

    def path(self, written: str) -> Path:
        """The place of a path that is written in the file: from the file's folder."""
        return Path(os.path.normpath(self.folder / written))

    def places(self) -> list[Path]:
        """Places of everything that is named."""
        named = [*self.files, *(n for n in (self.params, self.baseline) if n)]
        named += (
            [self.inputs] if isinstance(self.inputs, str) else self.inputs if isinstance(self.inputs, tuple) else []
        )
        return [Path(os.path.abspath(self.path(n))) for n in named]

    def owns(self, path: Path, places: Sequence[Path] | None = None) -> bool:
        """True for a file of this model: those that are named, what lies in a folder that is, and the symbol and the parameters
        that a prefix means, or the prefix of a symbol. places: these, where they are known."""
        for place in self.places() if places is None else places:
            prefix = place.name.removesuffix("-symbol.json")
            beside = path.parent == place.parent and re.fullmatch(
                rf"{re.escape(prefix)}(-symbol\.json|(-\d+)?\.params)", path.name
            )
            if path in (place, place.with_name(prefix)) or beside or (place in path.parents and place.is_dir()):
                return True
        return False

    def given_inputs(self) -> Any:
        """Inputs as record takes them."""
        if isinstance(self.inputs, str):
            return self.path(self.inputs)
        if isinstance(self.inputs, tuple):
            return [self.path(each) for each in self.inputs]
        return self.inputs


@dataclass(frozen=True)
class Project:
    """All models of a folder or a file."""

    entries: tuple[Entry, ...]
    folder: Path
    fail_on: tuple[str, ...] = REASONS
    alone: tuple[str, ...] = ()
    """Files of a folder that nothing belongs to."""
    by_name: bool = False
    """True where there is no gluonnx.toml, and names say what belongs together."""
    ignore: tuple[str, ...] = ()
    """Patterns of paths, from the folder, of models that need not be listed."""
    some: bool = False
    """True where some of its models were asked for alone."""
    passed: tuple[str, ...] = ()
    """Files that were asked for and that are no model's, of those that are no models themselves."""

    @property
    def remarks(self) -> tuple[str, ...]:
        """Words for what is to be known of the whole: where a gluonnx.toml is gone, nothing is held to its baseline."""
        passed = tuple(f"{file} {self._none_of(Path(file))}" for file in self.passed)
        if not self.by_name:
            return passed
        recorded = [e.name for e in self.entries if e.baseline is not None]
        told = f"but for {', '.join(recorded)} no baseline was used" if recorded else "no baseline was used"
        return (f"no {NAME} here: models were found by their names and compared with each other, and {told}", *passed)

    def only(self, files: Sequence[str | os.PathLike[str]]) -> Project:
        """The project with those models alone that one of these files belongs to; with all of them where its own is among these.
        Raises BadInput for what is none of its models and is ignored nowhere. A hook gives all files that changed: where those are
        arrays or parameters, which may be anybody's, it is only said."""
        paths = {f: Path(os.path.abspath(f)) for f in (os.fspath(each) for each in files)}
        if any(p.name == NAME for p in paths.values()):
            return self
        entries = tuple(e for e in self.entries if any(map(e.owns, paths.values())))
        strange = [f for f, path in paths.items() if not any(e.owns(path) for e in entries)]
        passed = tuple(f for f in strange if self._may_pass(paths[f]))
        problems = [f for f in strange if f not in passed]
        if problems:
            known = f"; its models are {listed(e.name for e in self.entries)}" if self.entries else ""
            raise BadInput(*(f"{f}: {self._none_of(paths[f])}{known}" for f in problems))
        return replace(self, entries=entries, alone=(), some=True, passed=passed)

    def _may_pass(self, path: Path) -> bool:
        """True for a file that a hook may give though it is no model's."""
        if not path.is_file():
            return False
        here = Path(os.path.abspath(self.folder))
        written = path.relative_to(here).as_posix() if path.is_relative_to(here) else ""
        ignored = bool(written) and is_ignored(written, self.ignore)
        return self.by_name or path.suffix in (".npz", ".npy", ".params") or ignored

    def _none_of(self, path: Path) -> str:
        """Words for a path that is none of the models'."""
        absent = "" if path.exists() or path.with_name(f"{path.name}-symbol.json").exists() else "no such file, and "
        return f"{absent}belongs to no model of {self.folder if self.by_name else NAME}"


def load_project(where: str | os.PathLike[str] = ".", only: Sequence[str | os.PathLike[str]] = ()) -> Project:
    """The project in a gluonnx.toml, or in the folder that has one; of a folder without one, what lies in it. only: files; the
    models that these belong to, where there are any. Raises BadInput with everything that is wrong."""
    path = Path(where)
    if path.is_dir():
        path = path / NAME if (path / NAME).exists() else path
    found = found_in(path, only) if path.is_dir() else _read(_told(path), path)
    return found.only(only) if only else found


def _told(path: Path) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            return tomllib.load(file)
    except FileNotFoundError:
        raise BadInput(f"{path}: no such file; wanted a {NAME}, or a folder with one or with models") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"{path}: not TOML: {error}") from None


def _read(told: Mapping[str, Any], path: Path) -> Project:
    problems = list(_unknown(told, SECTIONS, "at the top"))
    settings, models = told.get("check", {}), told.get("model", {})
    problems += _pythons(told)[1]
    for name, value in (("check", settings), ("model", models)):
        if not isinstance(value, Mapping):
            problems.append(
                f"{name}: got {value!r}, wanted a table, such as [{name}{'.resnet' if name == 'model' else ''}]"
            )
    fail_on, ignore = REASONS, []
    if isinstance(settings, Mapping):
        problems += _unknown(settings, OF_CHECK, "in [check]")
        try:
            fail_on = as_reasons(settings.get("fail-on", REASONS))
        except BadInput as error:
            problems += (f"[check] {p}" for p in error.problems)
        ignore = settings.get("ignore", [])
        if not _texts(ignore):
            problems.append(
                f'[check] ignore: got {ignore!r}, wanted a list of paths or patterns, such as ["samples", "*.old.onnx"]'
            )
    entries = []
    if isinstance(models, Mapping):
        if not models:
            problems.append("no models; wanted one or more tables [model.NAME] with files")
        for name, value in models.items():
            if not isinstance(value, Mapping):
                problems.append(f"model.{name}: got {value!r}, wanted a table [model.{name}] with files")
                continue
            entry, wrong = _entry(name, value, path.parent)
            problems += (f"[model.{name}] {p}" for p in wrong)
            entries.append(entry)
    if problems:
        error = BadInput(*(f"{path}: {printable(p)}" for p in problems))
        error.args = ("\n".join(error.problems),)  # all of them: whoever writes such a file corrects them in one go
        raise error
    return Project(tuple(_with_sharing(entries)), path.parent, fail_on, ignore=tuple(ignore))


def _with_sharing(entries: Sequence[Entry]) -> Iterator[Entry]:
    """The models, each with the files of those that have the same baseline."""
    for entry in entries:
        own = None if entry.baseline is None else entry.path(entry.baseline)
        same = [e for e in entries if e is not entry and e.baseline is not None and e.path(e.baseline) == own]
        yield replace(entry, sharing=tuple(f for e in same for f in e.files))


def target_pythons(path: Path) -> dict[str, str]:
    """The table [targets] of a gluonnx.toml: interpreters by the target that they have. Empty without the file. Raises BadInput."""
    if not path.is_file():
        return {}
    try:
        with open(path, "rb") as file:
            found, problems = _pythons(tomllib.load(file))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"{path}: not TOML: {error}") from None
    if problems:
        raise BadInput(*(f"{path}: {p}" for p in problems))
    return {n: os.path.join(path.parent, python) for n, python in found.items()}


def _pythons(told: Mapping[str, Any]) -> tuple[dict[str, str], list[str]]:
    """The table [targets], and what is wrong with it."""
    found = told.get("targets", {})
    named = dict(_by_name(found)) if isinstance(found, Mapping) else {}
    if isinstance(found, Mapping) and all(isinstance(v, str) and v for v in named.values()):
        return named, []
    return {}, [f'targets: got {found!r}, wanted a table, such as [targets] with openvino = "/path/to/python"']


def _by_name(table: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Entries by their whole names: opencv-4.6 without quotes is a table opencv-4 of 6 to TOML."""
    for key, value in table.items():
        if isinstance(value, Mapping) and value:
            yield from _by_name(value, f"{before}{key}.")
        else:
            yield f"{before}{key}", value


def _unknown(told: Mapping[str, Any], known: Iterable[str], where: str) -> Iterator[str]:
    """A problem for every key that there is not."""
    known = list(known)
    for key in told:
        if key not in known:
            close = difflib.get_close_matches(key, known, 1)
            yield f"unknown key {key!r} {where}{f', did you mean {close[0]}?' if close else ';'} There is {', '.join(known)}"


def as_reasons(told: Any) -> tuple[str, ...]:
    """Reasons to fail, from a list or a text with commas. Raises BadInput."""
    names = told.split(",") if isinstance(told, str) else told
    if not isinstance(names, list | tuple) or not all(isinstance(n, str) for n in names):
        raise BadInput(f"fail-on: got {told!r}, wanted some of {', '.join(ALL_REASONS)}")
    names = [n.strip() for n in names if n.strip()]
    wrong = [n for n in names if n not in ALL_REASONS]
    if wrong:
        raise BadInput(f"fail-on: got {', '.join(map(repr, wrong))}, wanted some of {', '.join(ALL_REASONS)}")
    return tuple(names)


def _entry(name: str, told: Mapping[str, Any], folder: Path) -> tuple[Entry, list[str]]:
    """A model's entry, and what is wrong with it."""
    problems = list(_unknown(told, OF_MODEL, "here"))
    good = {}
    for key, value in told.items():
        if key not in OF_MODEL:
            continue
        if _fits(key, value):
            good[key] = value
        else:
            problems.append(f"{key}: got {value!r}, wanted {WANTED[key]}")
    files = tuple(good.get("files", ()))
    if not told.get("files"):
        problems.append(f"no files; wanted {WANTED['files']}")
    elif len(files) == 1 and "baseline" not in told:
        problems.append(
            'one file and no baseline: nothing to compare it with; give another file, or baseline = "NAME.npz"'
        )
    rules = _rules(good.get("tolerance", {}), files, problems)
    inputs = good.get("inputs")
    if isinstance(inputs, Mapping):
        inputs = {n: tuple(sizes) for n, sizes in inputs.items()}
    entry = Entry(
        name,
        files,
        folder,
        params=good.get("params"),
        baseline=good.get("baseline"),
        inputs=tuple(inputs) if isinstance(inputs, list) else inputs,
        ranges={n: (float(low), float(high)) for n, (low, high) in good.get("ranges", {}).items()},
        map=good.get("map", {}),
        outputs=tuple(good.get("outputs", ())),
        seed=good.get("seed", 0),
        runs=good.get("runs", 1),
        rules=rules,
    )
    return entry, problems


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(v, str) and v for v in value)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _whole(value: Any, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _fits(key: str, value: Any) -> bool:
    """True where a value is of the kind that its key takes."""
    match key:
        case "files" | "outputs":
            return _texts(value)
        case "params" | "baseline":
            return isinstance(value, str) and bool(value)
        case "inputs":
            sizes = isinstance(value, Mapping) and all(
                isinstance(s, list) and all(_whole(d, 1) for d in s) for s in value.values()
            )
            return sizes or (_texts(value) and bool(value)) or (isinstance(value, str) and bool(value))
        case "ranges":
            return isinstance(value, Mapping) and all(
                isinstance(v, list) and len(v) == 2 and all(map(_number, v)) and v[0] <= v[1] for v in value.values()
            )
        case "map":
            return isinstance(value, Mapping) and all(isinstance(v, str) and v for v in value.values())
        case "seed":
            return _whole(value, 0)
        case "runs":
            return _whole(value, 1)
    return isinstance(value, Mapping)  # tolerance


def as_rules(told: Mapping[str, Any], files: tuple[str, ...] = ()) -> Rules:
    """Rules as the tolerance of a model with these files has them. Raises BadInput."""
    problems: list[str] = []
    rules = _rules(told, files, problems)
    if problems:
        raise BadInput(*problems)
    return rules


def _rules(told: Mapping[str, Any], files: tuple[str, ...], problems: list[str], where: str = "tolerance") -> Rules:
    """Rules, and what is wrong with them at the end of problems."""
    tables = {n: v for n, v in told.items() if isinstance(v, Mapping)}
    of_files = {n: _rules(v, (), problems, f"{where}.{n!r}") for n, v in tables.items() if n in files}
    outputs = {}
    for name, value in tables.items():
        if name not in files:
            rule = _rule(value, problems, f"{where}.{name!r}")
            if rule is not None:
                outputs[name] = rule
    return Rules(_rule({n: v for n, v in told.items() if n not in tables}, problems, where), outputs, of_files)


def _rule(told: Mapping[str, Any], problems: list[str], where: str) -> Rule | None:
    problems += _unknown(told, OF_RULE, f"in {where}")
    good: dict[str, Any] = {}
    for key in OF_RULE:
        if key not in told:
            continue
        value = told[key]
        fits = isinstance(value, bool) if key == "scaled" else _number(value) and value >= 0
        if not fits or (key == "cosine" and value > 1):
            wanted = {"scaled": "true or false", "cosine": "a number from 0 to 1"}.get(key, "a number of 0 or more")
            problems.append(f"{where}: {key}: got {value!r}, wanted {wanted}")
        else:
            good[key] = value
    return Rule(**good) if good else None


def is_ignored(written: str, patterns: Sequence[str]) -> bool:
    """True for a path that one of the patterns means, or a folder that it is in. Both from the project's folder."""
    path = PurePosixPath(written)
    names = [str(p) for p in (path, *path.parents) if p.name]
    return any(fnmatchcase(name, pattern.removeprefix("./").rstrip("/")) for name in names for pattern in patterns)


# -- a folder without a file ------------------------------------------------------------------------------------------------


def found_in(folder: Path, only: Sequence[str | os.PathLike[str]] = ()) -> Project:
    """The project of a folder that has no gluonnx.toml: what belongs together by its name. x-symbol.json and x.onnx are one model,
    as are x.onnx and x_fp16.onnx, x-opt.onnx or x.int8.onnx; x.npz is its baseline when it is a recording. only: files; those that
    lie beside none of them are not looked at, where that will do. Raises BadInput when there is nothing."""
    ends = ("*-symbol.json", "*.onnx")
    beside = {Path(os.path.abspath(f)).parent for f in only}
    here = Path(os.path.abspath(folder))
    inside = [folder / place.relative_to(here) for place in beside if place.is_relative_to(here)]
    some = bool(only) and len(inside) == len(beside) and NAME not in {os.path.basename(f) for f in only}
    if some:
        symbol_files, onnx_files = ([p for place in inside for p in files_of(place, end)] for end in ends)
    else:
        symbol_files, onnx_files = (files_of(folder, end, deep=True) for end in ends)
    symbols = {p.with_name(p.name.removesuffix("-symbol.json")): p for p in symbol_files}
    onnx = {p.with_suffix(""): p for p in onnx_files}
    groups: dict[Path, list[Path]] = {}
    for stem in sorted({*symbols, *onnx}, key=lambda p: (len(p.name), p)):
        files = [known[stem] for known in (symbols, onnx) if stem in known]
        groups.setdefault(next((g for g in _heads(stem) if g in groups), stem), []).extend(files)
    entries, alone = [], []
    for stem, paths in sorted(groups.items()):
        recorded = stem.with_name(f"{stem.name}.npz")
        baseline = recorded if is_recording(recorded) else None
        written = [p.relative_to(folder).as_posix() for p in (*paths, *([baseline] if baseline else []))]
        if len(written) == 1:
            alone += written
            continue
        name = stem.relative_to(folder).as_posix()
        files = tuple(written[: len(paths)])
        entries.append(Entry(name, files, folder, baseline=written[-1] if baseline else None))
    if some and not entries:
        return found_in(folder)
    if not entries:
        said = f"; {', '.join(alone)} has nothing to be compared with" if alone else ""
        raise BadInput(
            f"{folder}: no {NAME}, and no models that belong together by name (x-symbol.json and x.onnx, x.onnx and x_fp16.onnx, "
            f"x.onnx and a recording x.npz){said}"
        )
    return Project(tuple(entries), folder, alone=tuple(alone), by_name=True)


def _heads(stem: Path) -> Iterator[Path]:
    """The names of which another may be a form, the shortest first: a.b_c is one of a, of a.b, and itself."""
    for i in range(1, len(stem.name)):
        if stem.name[i] in "-_.":
            yield stem.with_name(stem.name[:i])
    yield stem
