"""Models of a project held to their baselines, or to the first of their files."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from hybrid.core.error import MXNetError

from .. import exits
from ..cases import taken
from ..compare import Difference, Tolerance, compare
from ..engines import EngineError, engine_for
from ..faces.notebook import listener
from ..models import BadInput, Model, open_model
from ..paths import SizesWanted, file_of
from ..printable import message
from ..recorded import Recording, is_recording, load_recording, record, with_facts
from ..result import Progress, VerifyResult
from ..verify import told_apart_by_none, verify
from .config import NAME, REASONS, Entry, Project, Rule, Rules, load_project
from .standing import HELD, changed_files, hashes_of, loose, other_inputs, stale, unreached_bounds

Status = Literal["ok", "changed", "differs", "says-little", "missing", "bad", "failed"]
"""changed: the numbers are those of the baseline, the contents of a file are not, and that is a reason to fail; bad: what was given
cannot be used; failed: a runtime did not run it."""
WORDS: Mapping[str, str] = {
    "ok": "ok",
    "changed": "CHANGED",
    "differs": "FAIL",
    "says-little": "says little",
    "missing": "MISSING",
    "bad": "ERROR",
    "failed": "ERROR",
}
EXITS: Mapping[str, int] = {
    "differs": exits.NOT_EQUIVALENT,
    "changed": exits.NOT_EQUIVALENT,
    "bad": exits.BAD_INPUT,
    "missing": exits.BAD_INPUT,
    "failed": exits.RUNTIME,
    "says-little": exits.SAYS_LITTLE,
}


@dataclass(frozen=True)
class FileResult:
    """One file of a model, and how far it is from what it is held to.

    Examples
    --------
    >>> import gluonnx
    >>> file = gluonnx.FileResult("net", "net.onnx", "ok", largest=3e-6, before=2e-6)
    >>> file.change
    '+50 % since the baseline'
    >>> file.beside
    ()
    >>> file.as_dict()["verification"] is None
    True
    """

    model: str
    """Its name in the project."""
    file: str
    """Path of the file that is held to it."""
    status: Status
    """"ok", "changed" (the same numbers of another file, where that is a reason to fail), "differs", "says-little", "missing",
    "bad" (what was given cannot be used) or "failed" (a runtime did not run it)."""
    detail: str = ""
    """Words for what is wrong; empty where nothing is."""
    largest: float | None = None
    """The greatest difference, over its output's scale."""
    before: float | None = None
    """The same when the baseline was written; None where nobody noted it."""
    result: VerifyResult | None = None
    """The verification; None where there was none."""
    seconds: float = 0.0
    """Seconds that it took."""
    again: bool = False
    """True where an earlier run found this, and nothing that it depends on has changed."""
    changed: tuple[str, ...] = ()
    """Words for files that are others than those the baseline is of."""
    notes: tuple[str, ...] = ()
    """Words for what else is to be known of the verdict."""

    @property
    def change(self) -> str:
        """The change of the greatest difference since the baseline, in words; empty where there is none to be told."""
        if self.before is None or self.largest is None or self.before == self.largest:
            return ""
        if not self.before:
            return "0 when the baseline was written"
        return f"{(self.largest / self.before - 1) * 100:+.0f} % since the baseline"

    @property
    def beside(self) -> tuple[str, ...]:
        """Words for what is to be known beside the verdict and its detail."""
        return tuple(words for words in (*self.changed, *self.notes) if words not in self.detail)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        told = {
            k: getattr(self, k) for k in ("model", "file", "status", "detail", "largest", "before", "seconds", "again")
        }
        told |= {"changed": list(self.changed), "notes": list(self.notes)}
        return {**told, "verification": None if self.result is None else self.result.as_dict()}


@dataclass(frozen=True)
class CheckResult:
    """The check of a project.

    Examples
    --------
    >>> import gluonnx
    >>> _ = gluonnx.convert("model", inputs={"data": (1, 3)}, output="model.onnx")
    >>> result = gluonnx.check(".")
    >>> result.ok, result.exit_status, result.summary
    (True, 0, '1 of 1 ok')
    >>> [result.fails(file) for file in result.files], result.as_dict()["alone"]
    ([False], [])
    >>> result.notes
    ()
    """

    files: tuple[FileResult, ...]
    """Results of the files."""
    fail_on: tuple[str, ...] = REASONS
    """Statuses that are a reason to fail, beside bad and failed."""
    updated: tuple[str, ...] = ()
    """Words for each baseline that was, or was not, written anew."""
    alone: tuple[str, ...] = ()
    """Files of the folder that nothing was compared with."""
    seconds: float = 0.0
    """Seconds that it took."""

    def fails(self, file: FileResult) -> bool:
        """True where a file is a reason to fail."""
        return file.status in self.fail_on or file.status in ("bad", "failed")

    @property
    def exit_status(self) -> int:
        """0 where nothing is a reason to fail, else as the commands have it."""
        return exits.worst({EXITS[f.status] for f in self.files if self.fails(f)})

    @property
    def ok(self) -> bool:
        """True where nothing is a reason to fail."""
        return not self.exit_status

    @property
    def notes(self) -> tuple[str, ...]:
        """Words for what is to be known beside the verdicts: of baselines that were written, of files that have changed."""
        return (*self.updated, *(f"{f.model}: {f.file}: {words}" for f in self.files for words in f.beside))

    @property
    def summary(self) -> str:
        """One line: how many of how many are well."""
        again = sum(f.again for f in self.files)
        well = sum(f.status == "ok" for f in self.files)
        return f"{well} of {len(self.files)} ok" + (f", {again} of them from before" if again else "")

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "ok": self.ok,
            "exit": self.exit_status,
            "fail_on": list(self.fail_on),
            "files": [f.as_dict() for f in self.files],
            "updated": list(self.updated),
            "alone": list(self.alone),
            "seconds": self.seconds,
        }


def check(
    where: str | os.PathLike[str] | Project = ".",
    *,
    only: Sequence[str | os.PathLike[str]] = (),
    update: bool = False,
    fail_on: tuple[str, ...] | None = None,
    progress: Progress | None = None,
) -> CheckResult:
    """Hold every model of a project to its baseline, or to the first of its files.

    where: a gluonnx.toml, a folder with one, or a folder of models that belong together by their names. only: files of
    models, those to be checked; all without. update: write the baselines
    anew by the first file of each model, and note how far the others are from them. fail_on: in place of what the file says.
    Raises BadInput for what is wrong with the file itself; what is wrong with a model is a result.
    progress: called with a text whenever something else begins.

    Examples
    --------
    >>> import gluonnx
    >>> _ = gluonnx.convert("model", inputs={"data": (1, 3)}, output="model.onnx")
    >>> gluonnx.check(".").summary
    '1 of 1 ok'
    """
    start = time.perf_counter()
    tell = listener(progress)
    project = load_project(where, only) if not isinstance(where, Project) else where.only(only) if only else where
    files: list[FileResult] = []
    updated: list[str] = []
    for entry in project.entries:
        baseline, words = None, []
        if update and entry.baseline is not None:
            try:
                baseline, words = _updated(entry, tell)
            except (BadInput, EngineError, MXNetError, OSError) as error:
                files.append(_problem(entry, entry.files[0], error, 0.0))
                continue
        checked = _Check(entry, baseline, tell)
        results = checked.run()
        if baseline is not None and not baseline.by_mxnet:
            results, words = _kept(checked, results, words)
        elif baseline is not None and (model := checked.opened.get(entry.files[0])) is not None:
            words += unreached_bounds(baseline, model)
        if baseline is not None:
            updated += [f"{entry.name}: {w}" for w in words]
        files += results
    reasons = project.fail_on if fail_on is None else fail_on
    told = with_reasons(files, reasons)
    return CheckResult(told, reasons, tuple(updated), project.alone, time.perf_counter() - start)


def with_reasons(files: Sequence[FileResult], reasons: Sequence[str]) -> tuple[FileResult, ...]:
    """The results, those of changed files with the status that they have where that is a reason to fail, or is none."""
    status: Status = "changed" if "changed" in reasons else "ok"
    return tuple(
        replace(f, status=status, detail="; ".join(f.changed) if status == "changed" else "")
        if f.changed and f.status in ("ok", "changed")
        else f
        for f in files
    )


class _Check:
    """One model of a project."""

    def __init__(self, entry: Entry, baseline: Recording | None, tell: Progress):
        """baseline: the one to take in place of that in its file."""
        self.entry, self.tell, self.baseline = entry, tell, baseline
        self.fresh = baseline is not None
        self.opened: dict[str, Model] = {}
        self.verified: dict[tuple[str, Tolerance | None], VerifyResult] = {}

    def run(self) -> list[FileResult]:
        entry = self.entry
        if entry.baseline is None:
            return [self._file(file) for file in entry.files[1:]]
        place = entry.path(entry.baseline)
        if self.baseline is None and not place.exists():
            detail = f"no baseline {entry.baseline}; gluonnx check --update writes it, or record_with_mxnet.py"
            return [FileResult(entry.name, file, "missing", detail) for file in entry.files]
        try:
            if self.baseline is None:
                self.baseline = load_recording(place)
        except BadInput as error:
            return [_problem(entry, file, error, 0.0) for file in entry.files]
        notes, other = [], self._other_inputs()
        if other and self.baseline.by_mxnet:
            notes.append(
                f"{entry.baseline} is by {self.baseline.by}, with other inputs than {NAME} has ({other}): its own are what counts"
            )
        elif other:
            return [FileResult(entry.name, file, "bad", stale(entry, other)) for file in entry.files]
        old = not self.baseline.by_mxnet and "kinds" not in self.baseline.facts
        if old and isinstance(entry.inputs, Mapping):
            notes.append(
                f"{entry.baseline} has draws of one kind, by an older gluonnx: gluonnx check --update draws wider too"
            )
        first, *others = [self._file(file) for file in entry.files]
        return [replace(first, notes=(*notes, *first.notes)), *others]

    def _other_inputs(self) -> str:
        """Words for inputs in gluonnx.toml that the baseline was not recorded with; empty for one that was just recorded."""
        assert self.baseline is not None
        if self.fresh and not self.baseline.by_mxnet:
            return ""
        try:
            return other_inputs(self.entry, self.baseline, self._open(self.entry.files[0]))
        except (BadInput, MXNetError, OSError):
            return ""  # of a file that is told of as it is checked

    def _file(self, file: str) -> FileResult:
        start = time.perf_counter()
        absent = [
            f for f in ((file,) if self.baseline else (self.entry.files[0], file)) if not _is_there(self.entry, f)
        ]
        if absent:
            return FileResult(self.entry.name, file, "missing", f"no such file: {', '.join(absent)}")
        self.tell(f"{self.entry.name}: {file}")
        try:
            result = judged(self.entry.rules.of(file), lambda limits: self._verify(file, limits))
            if result.verdict == "not equivalent" and self.baseline is not None:
                result = self._located(file, result)
            changed = self._changed(file)
        except (BadInput, EngineError, MXNetError, OSError) as error:
            return _problem(self.entry, file, error, time.perf_counter() - start)
        before = self.baseline.facts.get("measured", {}).get(file) if self.baseline else None
        largest = max((d.max_rel for d in result.differences if d.compared), default=None)
        status: Status = (
            "differs"
            if result.verdict == "not equivalent"
            else "says-little"
            if result.verdict == "says little"
            else "ok"
        )
        seconds = time.perf_counter() - start
        detail = _detail(result)
        if (
            status == "differs" and result.divergence is None
        ):  # no file is right any more in which the node could be looked for
            detail = "; ".join((*changed, detail))
        told = (self.entry.name, file, status, detail, largest, before, result, seconds)
        notes = (*loose(result.differences), *_less_said(result))
        unknown = self.baseline is not None and file not in self.baseline.facts.get(HELD, ())
        if status == "ok" and self.baseline is not None and (changed or self.fresh or unknown):
            notes += self._not_reached(file)
        return FileResult(*told, changed=tuple(changed), notes=notes)

    def _not_reached(self, file: str) -> tuple[str, ...]:
        """The warning of what differs between a file and the model's first although the baseline's inputs tell them not apart."""
        first = self.entry.files[0]
        if file == first or not _is_there(self.entry, first):
            return ()
        try:
            return tuple(told_apart_by_none(self._open(first), self._open(file)))
        except (BadInput, MXNetError):
            return ()

    def _changed(self, file: str) -> list[str]:
        if self.baseline is None or self.fresh:
            return []
        return changed_files(self.baseline, file, hashes_of(self._open(file)), file == self.entry.files[0])

    def _open(self, file: str) -> Model:
        if file not in self.opened:
            path = file_of(self.entry.path(file))
            params = None if self.entry.params is None or path.suffix == ".onnx" else self.entry.path(self.entry.params)
            self.opened[file] = open_model(path, params)
        return self.opened[file]

    def _names(self, file: str) -> dict[str, str] | None:
        """The names that this file has for inputs, of those in the map."""
        if not self.entry.map:
            return None
        model = self._open(file)
        own = taken(engine_for(model))
        return {n: m for n, m in self.entry.map.items() if m in own and n not in own} or None

    def _verify(self, file: str, limits: Tolerance | None) -> VerifyResult:
        if (file, limits) not in self.verified:
            self.verified[file, limits] = self._verified(file, limits)
        return self.verified[file, limits]

    def _verified(self, file: str, limits: Tolerance | None) -> VerifyResult:
        entry = self.entry
        told: dict[str, Any] = {"names": self._names(file), "tolerance": limits, "outputs": list(entry.outputs) or None}
        if self.baseline is not None:
            own = any(each.inputs for each in self.baseline.runs)
            given = None if own else entry.given_inputs()
            return verify(self._open(file), expected=self.baseline, inputs=given, **told)
        given = entry.given_inputs()
        if isinstance(given, list):
            if len(given) > 1:
                raise BadInput("inputs: several files are for a baseline; between two models give one")
            given = given[0]
        first, second = self._open(entry.files[0]), self._open(file)
        return verify(first, second, inputs=given, ranges=entry.ranges, seed=entry.seed, runs=entry.runs, **told)

    def _located(self, file: str, result: VerifyResult) -> VerifyResult:
        """The result, with the node at which a file parts from another of the model's files, one that gives what was recorded."""
        assert self.baseline is not None
        wrong = [i for i, run in enumerate(result.runs) if not all(d["equal"] for d in run["differences"])]
        for other in self.entry.files:
            if other == file or not _is_there(self.entry, other):
                continue
            try:
                if self._verify(other, None).verdict == "not equivalent":
                    continue
                run = next(i for i, each in enumerate(self.baseline.runs) if not wrong or i == wrong[0])
                inputs = self.baseline.runs[run].inputs
                if not inputs:
                    return result
                both = self._open(other), self._open(file)
                # as they are: the recorded inputs went into both of them so
                found = verify(*both, inputs=inputs, names=self._names(file), steps=False)
            except (BadInput, EngineError, MXNetError, OSError):
                continue  # that they differ is known, and where they do is not
            if found.verdict == "not equivalent":
                return replace(
                    result, divergence=found.divergence, faults=found.faults, layers=found.layers, causes=found.causes
                )
        return result


TOLD = ("the recorded draw of ", "no input that was tried ")
"""Beginnings of warnings that a file which is well has beside it too: it may be so because too little was looked at."""


def _less_said(result: VerifyResult) -> list[str]:
    """Warnings by which a verdict says less than it seems to."""
    return [w for w in result.warnings if w.startswith(TOLD)]


def _is_there(entry: Entry, file: str) -> bool:
    path = entry.path(file)
    return path.exists() or path.with_name(f"{path.name}-symbol.json").exists()


def _problem(entry: Entry, file: str, error: Exception, seconds: float) -> FileResult:
    status: Status = "failed" if isinstance(error, EngineError) else "bad"
    told = message(error)
    if isinstance(error, SizesWanted):  # who reads this has a file to write it in, and no option
        sizes = ", ".join(f"{n} = [{example.replace(',', ', ')}]" for n, example in error.sizes.items())
        told = f"give the sizes of inputs in {NAME}, for instance inputs = {{ {sizes} }}"
    beside = "no .params file was found beside the symbol"
    if isinstance(error, BadInput) and error.problems[0].startswith(beside):
        prefix = entry.path(file).name.removesuffix("-symbol.json")
        said = error.problems[0].removeprefix(beside).partition(";")[0]
        told = (
            f'no {prefix}-NNNN.params beside {prefix}-symbol.json{said}; params = "PATH" in {NAME} names another file'
        )
    return FileResult(entry.name, file, status, "; ".join(told.splitlines()), seconds=seconds)


def _detail(result: VerifyResult) -> str:
    """Words for what is wrong: the first node that differs, and why, else the first output."""
    if result.verdict == "equivalent":
        return ""
    if result.verdict == "says little":
        scores = "; outputs = [NAME] in gluonnx.toml compares the scores before it (gluonnx inspect --nodes has names)"
        return "; ".join(result.little) + (scores if any(d.saturated for d in result.differences) else "")
    found = result.divergence
    wrong = next((d for d in result.differences if not d.equal), None)
    output = "" if wrong is None else f"{wrong.name}: {_reason(wrong)}"
    if found is None:
        return output
    causes = "; ".join(filter(None, (found.inexact, *result.causes.get(found.node, ()))))
    said = f"first: {found.node} ({found.operator})" + (f", {causes}" if causes else "")
    return f"{said}; {output}" if output else said


def _reason(difference: Difference) -> str:
    """Words for how far an output is off: what the report has in full, in numbers that tell something by themselves."""
    d = difference
    if not d.compared or d.misplaced or not d.beyond or " beyond " not in d.reason:
        return d.reason
    return f"{d.max_rel:.2g} of its largest number off ({d.max_abs:.2g} of {d.scale:.2g}), {d.beyond} of {d.size} numbers too far"


def judged(rules: Rules, compared: Callable[[Tolerance | None], VerifyResult]) -> VerifyResult:
    """A verification by a model's rules. compared: gives it for one tolerance, or with None as the judge has it.

    An output with a rule of its own is held to that alone. Raises BadInput for rules of outputs that there are not."""
    known: dict[Tolerance | None, VerifyResult] = {}

    def by(limits: Tolerance | None) -> VerifyResult:
        if limits not in known:
            known[limits] = compared(limits)
        return known[limits]

    base = by(None if rules.general is None else rules.general.tolerance)
    names = [d.name for d in base.differences]
    unknown = [n for n in rules.outputs if n not in names]
    if unknown:
        raise BadInput(
            *(f"tolerance for {n!r}: no such output or file; the outputs are {', '.join(names)}" for n in unknown)
        )
    ruled = {n: rule for n in names if (rule := rules.outputs.get(n, rules.general)) is not None}
    if all(rule == rules.general and rule.cosine is None for rule in ruled.values()):
        return base
    out = [_by_rule(d, ruled[d.name], by) if d.name in ruled else d for d in base.differences]
    run_of = dict(base.run_of)
    for name, rule in ruled.items():
        if rule.tolerance is not None:  # which may make another run the worst
            run_of |= {n: i for n, i in by(rule.tolerance).run_of.items() if n == name}
    explained = any(a.equal and not b.equal for a, b in zip(out, base.differences))
    verdict = base.verdict
    if not all(d.equal for d in out):
        verdict = "not equivalent"
    elif verdict == "not equivalent" and (explained or not base.faults):
        verdict = "equivalent"
    if verdict != "not equivalent":
        return replace(base, differences=tuple(out), run_of=run_of, verdict=verdict, divergence=None, faults=())
    return replace(base, differences=tuple(out), run_of=run_of, verdict=verdict)


def _by_rule(difference: Difference, rule: Rule, by: Callable[[Tolerance | None], VerifyResult]) -> Difference:
    """The difference as a rule has it."""
    found = difference
    if rule.tolerance is not None:
        found = next(d for d in by(rule.tolerance).differences if d.name == difference.name)
    if rule.cosine is None or not found.compared or found.misplaced:
        return found
    if found.cosine < rule.cosine:
        return found.refuse(f"cosine {found.cosine:.7f}, wanted {rule.cosine:g} or more")
    return found.accept("cosine") if rule.tolerance is None and not found.equal else found


# -- baselines anew ---------------------------------------------------------------------------------------------------------


def _updated(entry: Entry, tell: Progress) -> tuple[Recording, list[str]]:
    """The baseline, recorded again by the first file, and what has changed, in words. What MXNet recorded stays."""
    place = entry.path(entry.baseline or "")
    old = load_recording(place) if is_recording(place) else None
    if old is None and place.exists():
        raise BadInput(f"{entry.baseline}: no recording, which gluonnx check --update would replace; give another name")
    if old is not None and old.by_mxnet:
        return old, [f"{entry.baseline} is by {old.by} and stays; remove it to record anew by {entry.files[0]}"]
    place.parent.mkdir(parents=True, exist_ok=True)
    path = file_of(entry.path(entry.files[0]))
    params = None if entry.params is None or path.suffix == ".onnx" else entry.path(entry.params)
    tell(f"{entry.name}: recording {entry.files[0]}")
    keeps = old is not None and entry.inputs is None and not other_inputs(entry, old, open_model(path, params))
    new = record(
        path,
        old if keeps else entry.given_inputs(),
        params=params,
        outputs=list(entry.outputs) or None,
        ranges=entry.ranges,
        seed=entry.seed,
        runs=entry.runs,
    )
    if old is not None and keeps:  # its inputs are what they were
        new = with_facts(new, **{k: old.facts[k] for k in ("kinds", "ranges", "seed") if k in old.facts})
    if old is not None and _same(old, new):
        return replace(old, facts={**new.facts, **_kept_facts(old, new)}), [f"{entry.baseline} unchanged"]
    return replace(new, path=place), [f"{entry.baseline} written", *([] if old is None else _changes(old, new))]


def _kept_facts(old: Recording, new: Recording) -> dict[str, Any]:
    """Facts of a baseline that stay when it is recorded again with the same numbers: who did it first, where and when."""
    mine = {k: v for k, v in old.facts.items() if k not in ("files", "kinds", "ranges")}
    return mine | ({"kinds": old.facts["kinds"]} if "kinds" in old.facts and "given" in new.kinds else {})


def _kept(checked: _Check, results: list[FileResult], words: list[str]) -> tuple[list[FileResult], list[str]]:
    """Write a baseline that was recorded anew, unless a file of its model differs from it: then nobody knows which one is right,
    and the old one stays. Gives the results, and what to say. words: for what was recorded."""
    entry, baseline = checked.entry, checked.baseline
    assert baseline is not None
    place = entry.path(entry.baseline or "")
    wrong = [f.file for f in results if f.status == "differs"]
    if wrong:
        before = "the old one stays" if place.exists() else "there is none"
        agree = f"{', '.join(wrong)} {'differs' if len(wrong) == 1 else 'differ'} from {entry.files[0]}"
        said = f"{entry.baseline} not written, {before}: {agree}; make them agree (convert again), or give a tolerance"
        return results, [said, *words[1:]]
    measured = {f.file: f.largest for f in results if f.largest is not None}
    held = {f.file: hashes_of(checked.opened[f.file]) for f in results if f.file in checked.opened}
    model = checked.opened.get(entry.files[0])
    new = with_facts(baseline, measured=measured, **{HELD: held})
    if (
        not place.exists()
        or dict(load_recording(place).facts) != dict(new.facts)
        or not _same(load_recording(place), new)
    ):
        new.save(place)
    notes = unreached_bounds(new, model) if model is not None else []
    return [replace(f, before=measured.get(f.file)) for f in results], [*words, *notes]


def _same(old: Recording, new: Recording) -> bool:
    """True where all numbers are the same."""
    if len(old.runs) != len(new.runs):
        return False
    for before, after in zip(old.runs, new.runs):
        for a, b in zip(before, after):
            if list(a) != list(b) or not all(
                a[n].dtype == b[n].dtype and a[n].shape == b[n].shape and a[n].tobytes() == b[n].tobytes() for n in a
            ):
                return False
    return True


def _changes(old: Recording, new: Recording) -> list[str]:
    """The difference of two recordings, in words: inputs, then the worst of each output."""
    if len(old.runs) != len(new.runs):
        return [f"{len(old.runs)} run(s) before, {len(new.runs)} now"]
    words = []
    for number, (before, after) in enumerate(zip(old.runs, new.runs)):
        run = f"run {number}, " if len(old.runs) > 1 else ""
        if list(before.inputs) != list(after.inputs) or any(
            not np.array_equal(a, after.inputs[n]) for n, a in before.inputs.items()
        ):
            words.append(f"{run}other inputs")
        for name, array in after.outputs.items():
            if name not in before.outputs:
                words.append(f"{run}{name}: new")
                continue
            d = compare(name, array, before.outputs[name])
            told = f"max abs {d.max_abs:.2e}, cosine {d.cosine:.7f}" if d.compared else d.reason
            words.append(f"{run}{name}: {told}")
        words += [f"{run}{name}: gone" for name in before.outputs if name not in after.outputs]
    return words
