"""Models of a project held to their baselines, or to the first of their files."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from hybrid.core.error import MXNetError

from ..cases import Cases, taken
from ..change.epochs import other_epoch
from ..compare import Difference, Tolerance
from ..engines import EngineError, engine_for
from ..expected import RECORDED
from ..faces.notebook import listener
from ..inputs import as_specs
from ..models import BadInput, Model, NoParams, open_model
from ..paths import SizesWanted, file_of, plural
from ..printable import message
from ..recorded import Recording, feeds_of, load_recording
from ..result import Progress, VerifyResult
from ..verify import verify
from .config import NAME, Entry, Project, Rule, Rules, load_project
from .reasons import Held, Reasons, changes, key_of, reasons_of, with_first, without_side
from .results import UNKNOWN, CheckResult, FileResult, Status, with_reasons
from .standing import left_out, other_inputs, stale, unknown_inputs
from .unlisted import told as unlisted_told
from .unlisted import unlisted
from .updating import kept, recorded_anew

SHOWN_OUTPUTS = 3
"""Outputs that differ of which the words for a file tell how far."""


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
    reasons = project.fail_on if fail_on is None else fail_on
    files: list[FileResult] = []
    updated: list[str] = []
    for entry in project.entries:
        baseline, words = None, []
        if update and entry.baseline is not None:
            try:
                baseline, words = recorded_anew(entry, tell)
            except (BadInput, EngineError, MXNetError, OSError) as error:
                files.append(_problem(entry, entry.files[0], error, 0.0))
                continue
        checked = _Check(entry, baseline, tell)
        results = checked.run()
        if baseline is not None:
            results, words = kept(checked, results, words, reasons)
            updated += [f"{entry.name}: {w}" for w in words]
        files += results
    return completed(project, files, reasons, tuple(updated), time.perf_counter() - start)


def completed(
    project: Project, files: Sequence[FileResult], reasons: tuple[str, ...], updated: tuple[str, ...], seconds: float
) -> CheckResult:
    """The check of a project whose files have these results. reasons: to fail."""
    found = unlisted(project)
    more, remarks = unlisted_told(found, reasons)
    files = (*with_reasons(files, reasons), *more)
    return CheckResult(files, reasons, updated, project.alone, seconds, (*project.remarks, *remarks), found)


class _Check:
    """One model of a project."""

    def __init__(self, entry: Entry, baseline: Recording | None, tell: Progress):
        """baseline: the one to take in place of that in its file."""
        self.entry, self.tell, self.baseline = entry, tell, baseline
        self.fresh = baseline is not None
        self.opened: dict[str, Model] = {}
        self.verified: dict[tuple[str, Tolerance | None, bool], VerifyResult] = {}
        self.sides: dict[str, tuple[str, str]] = {}
        """By file the two between which what is said of a node is: from the first of them to the second."""
        self.notes: dict[str, list[str]] = {}
        self.held: dict[str, Held] = {}

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
        if unknown := self._unknown_inputs():
            return [FileResult(entry.name, file, "bad", unknown) for file in entry.files]
        notes, other = [], self._other_inputs()
        if other and self.baseline.by_mxnet:
            notes.append(
                f"{entry.baseline} is by {self.baseline.by}, with other inputs than {NAME} has ({other}): its own are what counts"
            )
        elif other:
            detail = self._refused() or stale(entry, other)
            return [FileResult(entry.name, file, "bad", detail) for file in entry.files]
        old = not self.baseline.by_mxnet and "kinds" not in self.baseline.facts
        if old and isinstance(entry.inputs, Mapping):
            notes.append(
                f"{entry.baseline} has draws of one kind, by an older gluonnx: gluonnx check --update draws wider too"
            )
        first, *others = [self._file(file) for file in entry.files]
        return [replace(first, notes=(*notes, *first.notes)), *others, *self._left_out()]

    def _left_out(self) -> list[FileResult]:
        """Files that the baseline was written with and that nobody holds to it any more: else one fewer would pass unseen."""
        assert self.baseline is not None
        said = f"{self.entry.baseline} was written with it, and it is none of the files of this model any more"
        gone = [] if self.fresh else left_out(self.entry, self.baseline)
        return [
            FileResult(self.entry.name, file, "missing", f"{said}; gluonnx check --update accepts it") for file in gone
        ]

    def _unknown_inputs(self) -> str:
        """Words for inputs in gluonnx.toml that the first file has not."""
        assert self.baseline is not None
        try:
            return unknown_inputs(self.entry, self.baseline, self._open(self.entry.files[0]))
        except (BadInput, EngineError, MXNetError, OSError):
            return ""  # of a file that is told of as it is checked

    def _other_inputs(self) -> str:
        """Words for inputs in gluonnx.toml that the baseline was not recorded with; empty for one that was just recorded."""
        assert self.baseline is not None
        if self.fresh and not self.baseline.by_mxnet:
            return ""
        try:
            return other_inputs(self.entry, self.baseline, self._open(self.entry.files[0]))
        except (BadInput, MXNetError, OSError):
            return ""  # of a file that is told of as it is checked

    def _refused(self) -> str:
        """Words for inputs in gluonnx.toml that the first file does not take, so that no baseline can be recorded with them."""
        file = self.entry.files[0]
        try:
            model = self._open(file).select(list(self.entry.outputs))
            for given in feeds_of(self.entry.given_inputs(), model):
                specs, arrays = as_specs(given)
                engine = engine_for(model.inferring(specs), specs)
                engine.run(Cases(engine, engine, specs, arrays, ranges=self.entry.ranges).case(self.entry.seed).feeds)
        except (BadInput, EngineError, MXNetError, OSError) as error:
            said = "; ".join(message(error).splitlines())
            return f"{file} does not take the inputs that {NAME} has: {said}; correct them there"
        return ""

    def _file(self, file: str) -> FileResult:
        start = time.perf_counter()
        absent = [
            f for f in ((file,) if self.baseline else (self.entry.files[0], file)) if not _is_there(self.entry, f)
        ]
        if absent:
            return FileResult(self.entry.name, file, "missing", f"no such file: {', '.join(absent)}")
        self.tell(f"{self.entry.name}: {file}")
        held: Held | None = None
        try:
            first = None if file == self.entry.files[0] else self._first()
            told: Any = (self.baseline, first, ("", ""), self.entry.outputs, self.fresh)
            held = Held(self._open(file), file, *told)
            result = self._result(file)
            held = self.held[file] = replace(held, names=self.sides.get(file, ("", "")))
            detail = _detail(result, self.sides.get(file))
            if result.verdict == "not equivalent" and result.divergence is None and self._changed(held):
                # no file is right any more in which the node could be looked for
                detail = "; ".join((*self._changed(held), detail))
            elif held.names[0] == self.entry.files[0] and (blame := self._blame(file)):
                detail = f"{detail}; {blame}"
            if result.verdict == "not equivalent" and file in self.sides:
                detail = _with_epoch(detail, *map(self._open, self.sides[file]))
            found = reasons_of(result, held, detail)
        except (BadInput, EngineError, MXNetError, OSError) as error:
            why = [] if held is None or self.baseline is None or self.fresh else changes(held)[1]
            problem = _problem(self.entry, file, error, time.perf_counter() - start)
            said = "".join(
                f"{words}, since the baseline; " for words in why
            )  # which is why it cannot be run as it could be
            return replace(problem, detail=f"{said}{problem.detail}")
        seconds = time.perf_counter() - start
        reasons = {**found.found, **({UNKNOWN: found.unknown} if found.unknown else {})}
        said = (self.entry.name, file, "ok", "", found.largest, found.before, result, seconds)
        return FileResult(*said, reasons=reasons, notes=(*self.notes.get(file, ()), *found.notes, *found.hashed))

    def _blame(self, file: str) -> str:
        """Words for which of two files that differ, and both give what was recorded, is another than it was then."""
        both = [self.held[f] for f in (self.entry.files[0], file) if f in self.held]
        changed = [bool(self._changed(h)) for h in both]
        if len(both) < 2 or changed[0] == changed[1]:
            return ""
        one, other = both if changed[0] else both[::-1]
        return f"it is {one.file} that changed since the baseline, and not {other.file}"

    def _changed(self, held: Held) -> list[str]:
        return [] if self.baseline is None or self.fresh else changes(held)[0]

    def _first(self) -> Model | None:
        """The model's first file; None where it is not there or cannot be read, which its own line says."""
        first = self.entry.files[0]
        try:
            return self._open(first) if _is_there(self.entry, first) else None
        except (BadInput, MXNetError, OSError):
            return None

    def _result(self, file: str) -> VerifyResult:
        """The verification of a file: beside the baseline, and beside the model's first file, inside too. What is wrong with that
        one alone, by the baseline, is not told of this one."""

        def by(alone: bool) -> VerifyResult:
            return judged(self.entry.rules.of(file), lambda limits: self._verify(file, limits, alone))

        first = self.entry.files[0]
        if self.baseline is None:
            self.sides[file] = first, file
            return by(False)
        if file != first and self._first() is not None:
            try:
                found = by(False)
            except BadInput as error:
                result = by(True)  # which raises where it is the file's own
                self.notes[file] = [f"not compared with {first}: {'; '.join(message(error).splitlines())}"]
                return result
            apart = found.verdict == "not equivalent"
            recorded = [d for d in found.differences if d.name.endswith(RECORDED["second"])]
            if not (apart and all(d.equal for d in recorded) and self._is_wrong(first)):
                self.sides[file] = first, file
                return found
        found = by(True)
        return self._located(file, found) if found.verdict == "not equivalent" else found

    def _is_wrong(self, file: str) -> bool:
        """True where a file does not give what was recorded."""
        try:
            rules = self.entry.rules.of(file)
            return judged(rules, lambda limits: self._verify(file, limits, True)).verdict == "not equivalent"
        except (BadInput, EngineError, MXNetError, OSError):
            return False

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

    def _verify(self, file: str, limits: Tolerance | None, alone: bool) -> VerifyResult:
        if (file, limits, alone) not in self.verified:
            self.verified[file, limits, alone] = self._verified(file, limits, alone)
        return self.verified[file, limits, alone]

    def _verified(self, file: str, limits: Tolerance | None, alone: bool) -> VerifyResult:
        """alone: beside the baseline only."""
        entry = self.entry
        told: dict[str, Any] = {"names": self._names(file), "tolerance": limits, "outputs": list(entry.outputs) or None}
        if self.baseline is not None:
            own = any(each.inputs for each in self.baseline.runs)
            # what was recorded goes into every file as it is, whatever one says that it does with pictures
            told |= {"expected": self.baseline, "inputs": None if own else entry.given_inputs(), "steps": False}
            if alone:
                return verify(self._open(file), **told)
            told["expected"] = replace(self.baseline, sides=("second",))  # the first file is held to it by itself
            return verify(self._open(entry.files[0]), self._open(file), **told)
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
                if self._verify(other, None, True).verdict == "not equivalent":
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
                self.sides[file] = other, file
                return replace(
                    result, divergence=found.divergence, faults=found.faults, layers=found.layers, causes=found.causes
                )
        return result


def _is_there(entry: Entry, file: str) -> bool:
    path = entry.path(file)
    return path.exists() or path.with_name(f"{path.name}-symbol.json").exists()


def _with_epoch(detail: str, one: Model, other: Model) -> str:
    """The words for what is wrong between two files; before them, that the weights are those of another epoch, if they are."""
    said = other_epoch(one, other)
    return f"{said}; {detail}" if said else detail


def _problem(entry: Entry, file: str, error: Exception, seconds: float) -> FileResult:
    status: Status = "failed" if isinstance(error, EngineError) else "bad"
    told = message(error)
    if isinstance(error, SizesWanted):  # who reads this has a file to write it in, and no option
        sizes = ", ".join(f"{n} = [{example.replace(',', ', ')}]" for n, example in error.sizes.items())
        told = f"give the sizes of inputs in {NAME}, for instance inputs = {{ {sizes} }}"
    if isinstance(error, NoParams):
        found = f"no .params file was found beside {error.symbol}"
        # it may be the first file that lacks them, beside which this one was to be
        for each in entry.files:
            symbol = entry.path(each).with_name(f"{entry.path(each).name.removesuffix('-symbol.json')}-symbol.json")
            if symbol == error.symbol:
                written = each if each.endswith("-symbol.json") else f"{each}-symbol.json"
                found = f"no {symbol.name.removesuffix('-symbol.json')}-NNNN.params beside {written}"
        told = error.words(found, f'params = "PATH" in {NAME} names another file')
    return FileResult(entry.name, file, status, "; ".join(told.splitlines()), seconds=seconds)


def _detail(result: VerifyResult, sides: tuple[str, str] | None) -> str:
    """Words for what is wrong: the first node that differs, and why, then the outputs. sides: the files that the node differs
    between."""
    if result.verdict != "not equivalent":
        return ""
    found = result.divergence
    wrong = {without_side(d.name): d for d in reversed(result.differences) if not d.equal}
    told = [f"{name}: {_reason(d)}" for name, d in reversed(wrong.items())]
    more = [f"and {plural(len(told) - SHOWN_OUTPUTS, 'more output')}"] if len(told) > SHOWN_OUTPUTS else []
    output = "; ".join((*told[:SHOWN_OUTPUTS], *more))
    if found is None:
        return output
    causes = "; ".join(filter(None, (found.inexact, *result.causes.get(found.node, ()))))
    between = f" (from {sides[0]} to {sides[1]})" if causes and sides is not None else ""
    said = f"first: {found.node} ({found.operator})" + (f", {causes}{between}" if causes else "")
    return f"{said}; {output}" if output else said


def found_in(
    result: VerifyResult,
    first: Any,
    second: Any,
    baseline: str | os.PathLike[str] | Recording | None,
    outputs: Sequence[str] = (),
) -> Reasons:
    """Findings of a verification of two models, or of one beside a baseline: as a check of them has them. outputs: where they were
    cut."""
    recording = load_recording(baseline) if isinstance(baseline, str | os.PathLike | Recording) else None
    models = [m for m in (first, second) if isinstance(m, Model)]
    detail = _detail(result, None if second is None else (result.a, result.b))
    if result.verdict == "not equivalent" and len(models) == 2:
        detail = _with_epoch(detail, *models)
    helds = [Held(m, key_of(recording, m) if recording else m.name, recording, outputs=tuple(outputs)) for m in models]
    if len(models) < 2:
        return reasons_of(result, helds[-1] if helds else Held(Model(result.a), result.a), detail)
    one, other = (str(m.path or m.name) for m in models)
    held = replace(helds[1], first=models[0], names=(one, other))
    return with_first(reasons_of(result, held, detail), helds[0])


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
    names = list(dict.fromkeys(without_side(d.name) for d in base.differences))
    unknown = [n for n in rules.outputs if n not in names]
    if unknown:
        raise BadInput(
            *(f"tolerance for {n!r}: no such output or file; the outputs are {', '.join(names)}" for n in unknown)
        )
    ruled = {
        d.name: rule
        for d in base.differences
        if (rule := rules.outputs.get(without_side(d.name), rules.general)) is not None
    }
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
