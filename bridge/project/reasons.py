"""Reasons to fail that a comparison finds: of the command and of the pytest plugin alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..compare import TOLERANCES, Difference
from ..expected import RECORDED, ROUNDING, specs_of
from ..models import Model
from ..recorded import Recording
from ..result import VerifyResult
from .config import ALL_REASONS
from .contents import (
    CONTENTS,
    changed_interface,
    changed_precision,
    contents_of,
    few,
    outputs_of,
    stores_halves,
    unpacked,
)
from .standing import HELD, changed_files, hashes_of, loose

DRIFT = 100.0
"""Times that a file may be further off than it was when its baseline was written."""
LEAST = 1e-6
"""The least that it counts as to have been off: about what float32 resolves, which another machine rounds otherwise."""
ADD = "gluonnx check --update adds the facts"
TOLD = ("the recorded draw of ",)
"""Beginnings of warnings that a file which is well has beside it too: it may be so because too little was looked at."""


@dataclass(frozen=True)
class Reasons:
    """Findings of one file."""

    found: Mapping[str, tuple[str, ...]]
    """Words by reason, the worst one first."""
    notes: tuple[str, ...] = ()
    """Words for what else is to be known."""
    largest: float | None = None
    """The greatest difference from what the file is held to, over its output's scale."""
    before: float | None = None
    """The same when the baseline was written; None where nobody noted it."""
    unknown: tuple[str, ...] = ()
    """Words where nobody can see whether the file changed: the baseline has no facts about it."""
    hashed: tuple[str, ...] = ()
    """Words where only its bytes can be seen to have changed: the baseline has hashes alone."""

    def failing(self, reasons: Sequence[str]) -> tuple[str, ...]:
        """Words for those that are a reason to fail."""
        return tuple(words for reason, said in self.found.items() if reason in reasons for words in said)


@dataclass(frozen=True)
class Held:
    """A file, and what it is held to."""

    model: Model
    file: str
    """As the baseline calls it."""
    baseline: Recording | None = None
    first: Model | None = None
    """The model that it is held against as well; None for the one that is first itself."""
    names: tuple[str, str] = ("", "")
    """Names of the first file and of this one in words; empty where words are not of both."""
    outputs: tuple[str, ...] = ()
    """Those that both are cut at."""
    fresh: bool = False
    """True where the baseline was just recorded."""
    contents: dict[str, Any] = field(default_factory=dict)
    """Contents of the model, as far as they were asked for."""
    changes: list[tuple[list[str], list[str], str]] = field(default_factory=list)
    """Changes since the baseline, where they were asked for: files are read for it."""


def reasons_of(result: VerifyResult, held: Held, detail: str) -> Reasons:
    """Findings of a file, by the verification of it. detail: words for where it differs."""
    found: dict[str, list[str]] = {reason: [] for reason in ALL_REASONS}
    baseline = held.baseline
    alone = [d for d in result.differences if d.name.endswith(RECORDED["second"])] or list(result.differences)
    largest = max((d.max_rel for d in alone if d.compared), default=None)
    before = None
    if result.verdict == "not equivalent":
        found["differs"].append(detail)
    elif _says_little(result, alone):
        found["says-little"].append(_little(result))
    if result.unreached and result.verdict != "not equivalent":
        sides = f" (from {held.names[0]} to {held.names[1]})" if all(held.names) else ""
        found["unreached"].append(
            f"no input that was tried tells the models apart, and yet they differ{sides} at {'; '.join(result.unreached)}; make "
            "them agree (convert again), or give inputs that reach this"
        )
    notes = [*loose(result.differences), *(w for w in result.warnings if w.startswith(TOLD))]
    if result.verdict != "says little":  # where it differs too, what agrees may do so for nothing
        notes += [f"output {without_side(words)}: agreement there says little" for words in result.little]
    notes += _by_place(held)
    hashed: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    if baseline is not None and not held.fresh:
        before = _before(baseline, held.file)
        far = 0.0 if before is None or found["differs"] else _far(alone, held, DRIFT * max(before, LEAST))
        if far:
            found["drift"].append(
                f"{far:.1e} of scale off, and {before:.1e} when the baseline was written; gluonnx check --update accepts it"
            )
        changed, interface, precision = changes(held)
        found["interface"] += _since(interface)
        found["drift"] += [precision] if precision else []
        found["changed"] += changed
        hashed, unknown = _without_facts(held)
    said = {r: tuple(w) for r, w in found.items() if w}
    return Reasons(said, tuple(dict.fromkeys(notes)), largest, before, unknown, hashed)


def _far(alone: Sequence[Difference], held: Held, limit: float) -> float:
    """The greatest difference beyond a limit; 0 where none is. What float64 has accepted is rounding, which another machine may do
    otherwise by as much, but not where a file rounds by itself, to half precision."""
    beyond = [d for d in alone if d.compared and d.max_rel > limit]
    plain = [d for d in beyond if d.settled_by not in ("float64", ROUNDING)]
    if beyond and not plain and stores_halves(contents(held)):
        plain = beyond
    return max((d.max_rel for d in plain), default=0.0)


def with_first(found: Reasons, first: Held) -> Reasons:
    """Findings of a comparison of two models with a baseline, and those of what changed in the first of them."""
    if first.baseline is None or first.fresh:
        return found
    changed, interface, precision = changes(first)
    more = {"interface": _since(interface), "drift": [precision] if precision else [], "changed": changed}
    words = {r: tuple(dict.fromkeys((*found.found.get(r, ()), *more.get(r, ())))) for r in ALL_REASONS}
    return replace(found, found={r: w for r, w in words.items() if w})


def _since(words: Sequence[str]) -> list[str]:
    return [f"{each}, since the baseline" for each in words]


def changes(held: Held) -> tuple[list[str], list[str], str]:
    """Words for what changed in a file since its baseline: files, inputs and outputs, and the precision of weights."""
    if not held.changes:
        held.changes.append(_changes(held))
    return held.changes[0]


def _changes(held: Held) -> tuple[list[str], list[str], str]:
    assert held.baseline is not None
    own = hashes_of(held.model)
    known = held.baseline.facts.get(HELD)
    same = isinstance(known, Mapping) and known.get(held.file) == own
    stored = held.baseline.facts.get(CONTENTS)
    old = unpacked(stored.get(held.file)) if isinstance(stored, Mapping) else {}
    if same:
        return [], [], ""
    new = contents(held) if old else {}
    files = changed_files(held.baseline, held.file, own, held.first is None, old, new)
    return files, changed_interface(old, new) if old else _other_outputs(held), changed_precision(old, new)


def _without_facts(held: Held) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Words for what is not found of a file as its baseline has no facts about it, which is what record_with_mxnet.py and gluonnx
    record write: where there are its hashes, so that a change is seen, and where there is nothing."""
    baseline = held.baseline
    assert baseline is not None
    stored, known = (baseline.facts.get(fact) for fact in (CONTENTS, HELD))
    if any(isinstance(of, Mapping) and held.file in of for of in (stored, known)):
        return (), ()
    place = "the baseline" if baseline.path is None else baseline.path.name
    files = baseline.facts.get("files")
    add = "gluonnx check --update adds the facts, and leaves its numbers as they are" if baseline.by_mxnet else ADD
    if isinstance(files, Mapping) and set(files) & set(hashes_of(held.model)):
        return (f"{place} has only hashes of {held.file}, so that another interface is not seen; {add}",), ()
    return (), (f"{place} has no facts about {held.file}, so that a changed interface or weight is not seen; {add}",)


def contents(held: Held) -> dict[str, Any]:
    """The contents of a file's model, which are looked at once."""
    assert held.baseline is not None
    if not held.contents:
        held.contents.update(contents_of(held.model, specs_of(held.baseline)))
    return held.contents


def _other_outputs(held: Held) -> list[str]:
    """Words for outputs that are called otherwise than in a baseline that notes only numbers: of the file that these are of."""
    baseline = held.baseline
    if baseline is None or held.first is not None or held.outputs or baseline.by_mxnet or held.model.is_onnx:
        return []
    was, now = list(baseline.runs[0].outputs), outputs_of(held.model.inferring(specs_of(baseline)))
    graph = held.model.graph
    inside = set() if graph is None else {e.name for e in graph.internals().outputs} - set(now)
    if len(was) != len(now) or baseline.facts.get("outputs") or not inside.isdisjoint(was):
        return []
    return [f"output {a} is called {b}" for a, b in zip(was, now) if a != b and b not in was]


def _by_place(held: Held) -> list[str]:
    """A note of outputs of two models that have other names, so that their place says which are one."""
    if held.first is None or held.outputs:
        return []
    first, second = (outputs_of(m.inferring()) for m in (held.first, held.model))
    if set(first) == set(second) or len(first) != len(second):
        return []
    # MXNet ends every name so, and files for other tools do not: that alone is no other name
    apart = [(a, b) for a, b in zip(first, second) if a.removesuffix("_output") != b.removesuffix("_output")]
    if not apart:
        return []
    told = few([f"{a} with {b}" for a, b in apart])
    return [
        f"outputs have other names than in {held.names[0] or 'the first file'}, and were compared by their place: {told}"
    ]


def key_of(baseline: Recording, model: Model) -> str:
    """Name by which a baseline knows the file of a model, wherever that lies; the file's own where it knows none or several so."""
    if model.path is None:
        return model.name
    held = baseline.facts.get(HELD)
    name = model.path.name
    prefix = name.removesuffix("-symbol.json")
    found = [k for k in held if Path(k).name in (name, prefix)] if isinstance(held, Mapping) else []
    return found[0] if len(found) == 1 else name


def _before(baseline: Recording, file: str) -> float | None:
    measured = baseline.facts.get("measured")
    before = measured.get(file) if isinstance(measured, Mapping) else None
    return float(before) if isinstance(before, int | float) else None


def _says_little(result: VerifyResult, alone: Sequence[Difference]) -> bool:
    """True where the judge says so of everything that a file is held to: of the whole, or of every output, where a tolerance
    decides over these alone."""
    if result.verdict == "says little":
        return bool(result.little)
    if result.inner or result.verdict == "not equivalent" or not alone:
        return False
    return all(_by_itself(d) and any(w.startswith(f"{without_side(d.name)} ") for w in result.little) for d in alone)


def _by_itself(difference: Difference) -> bool:
    """True where that an output says little is not for a tolerance that accepts much: of which there is a note."""
    d = difference
    plain = d.constant or d.saturated or not d.size or d.not_finite == d.size
    return plain or d.limit <= TOLERANCES["float32"].atol * max(d.scale, 1.0)


def _little(result: VerifyResult) -> str:
    """Words for outputs that say little, and what to do."""
    scores = "; outputs = [NAME] in gluonnx.toml compares the scores before it (gluonnx inspect --nodes has names)"
    said = "; ".join(dict.fromkeys(map(without_side, result.little)))
    return said + (scores if any(d.saturated for d in result.differences) else "")


def without_side(words: str) -> str:
    """Words for an output without the side that it is of."""
    for end in RECORDED.values():
        words = words.replace(end, "")
    return words
