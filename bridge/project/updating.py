"""Baselines that are written anew, and what has changed by it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from ..compare import compare
from ..models import BadInput, Model, open_model
from ..paths import file_of
from ..recorded import Recording, is_recording, load_recording, record, with_facts
from ..result import Progress
from .config import Entry
from .contents import CONTENTS, packed
from .reasons import Held, changes, contents
from .results import FileResult
from .standing import HELD, hashes_of, left_out, other_inputs, unreached_bounds

NOTED = ("measured", HELD, CONTENTS)
"""Facts of a baseline that are of the files held to it, and not of the recording."""


class Checked(Protocol):
    """A check of one model, by a baseline that was recorded anew."""

    entry: Entry
    baseline: Recording | None
    opened: dict[str, Model]
    held: dict[str, Held]


def recorded_anew(entry: Entry, tell: Progress) -> tuple[Recording, list[str]]:
    """The baseline, recorded again by the first file, and what has changed, in words. The numbers that MXNet recorded
    stay, and what is noted of the files is added to them."""
    place = entry.path(entry.baseline or "")
    old = load_recording(place) if is_recording(place) else None
    if old is None and place.exists():
        raise BadInput(f"{entry.baseline}: no recording, which gluonnx check --update would replace; give another name")
    if old is not None and old.by_mxnet:
        facts = {k: v for k, v in old.facts.items() if k not in NOTED}
        stays = f"{entry.baseline} is by {old.by} and stays; remove it to record anew by {entry.files[0]}"
        return replace(old, facts=facts), [stays]
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


def kept(
    checked: Checked, results: list[FileResult], words: list[str], reasons: Sequence[str]
) -> tuple[list[FileResult], list[str]]:
    """Write a baseline that was recorded anew, unless a file of its model differs from it, or from the first file inside: then
    nobody knows which one is right, and the old one stays. Gives the results, and what to say. words: for what was recorded;
    reasons: to fail."""
    entry, baseline = checked.entry, checked.baseline
    assert baseline is not None
    place = entry.path(entry.baseline or "")
    apart = [r for r in ("differs", "unreached") if r == "differs" or r in reasons]
    wrong = [f.file for f in results if any(r in f.reasons for r in apart)]
    if wrong:
        before = "the old one stays" if place.exists() else "there is none"
        agree = f"{', '.join(wrong)} {'differs' if len(wrong) == 1 else 'differ'} from {entry.files[0]}"
        said = f"{entry.baseline} not written, {before}: {agree}; make them agree (convert again), or give a tolerance"
        model = checked.opened.get(entry.files[0]) if baseline.by_mxnet else None  # its runs are looked at all the same
        return results, [said, *words[1:], *(unreached_bounds(baseline, model) if model is not None else [])]
    old = load_recording(place) if place.exists() else None
    measured = {f.file: f.largest for f in results if f.largest is not None}
    held = {f.file: hashes_of(checked.opened[f.file]) for f in results if f.file in checked.opened}
    known = {file: packed(found) for file, each in checked.held.items() if (found := contents(each))}
    noted = {fact: {**_of_others(entry, old, fact), **own} for fact, own in zip(NOTED, (measured, held, known))}
    new = with_facts(baseline, **noted)
    model = checked.opened.get(entry.files[0])
    notes = unreached_bounds(new, model) if model is not None else []
    results = [replace(f, before=measured.get(f.file)) for f in results]
    if old is not None and dict(old.facts) == dict(new.facts) and _same(old, new):
        return results, [*words, *notes]
    new.save(place)
    if old is not None:
        words = _noted(checked, old, new, words)
    return results, [*words, *notes]


def _of_others(entry: Entry, old: Recording | None, fact: str) -> dict[str, Any]:
    """Notes of a baseline about files of other models that have it too."""
    noted = {} if old is None else old.facts.get(fact)
    return {f: v for f, v in noted.items() if f in entry.sharing} if isinstance(noted, Mapping) else {}


def _noted(checked: Checked, old: Recording, new: Recording, words: list[str]) -> list[str]:
    """Words for a baseline that was written: for its numbers (words), and for what of the files is noted anew."""
    changed = []
    for file, held in checked.held.items():
        files, interface, _ = changes(replace(held, baseline=old, contents=contents(held), changes=[]))
        told = [f.replace(" changed since the baseline: ", " ") for f in files] or interface
        changed += [f"{file}: {'; '.join(told)}"] if told else []
        before, now = (r.facts.get("measured", {}).get(file) for r in (old, new))
        if before != now and before is not None and now is not None:
            changed.append(f"{file}: {now:.1e} of scale off, {before:.1e} before")
    changed += [f"{file}: none of the files any more" for file in left_out(checked.entry, old)]
    if not _same(old, new):
        return [*words, *changed]
    baseline = checked.entry.baseline
    if new.by_mxnet:
        anew = f"remove it to record anew by {checked.entry.files[0]}"
        said = (
            f"{baseline} is by {new.by}: its numbers stay as they are ({anew}), what it notes of the files was written"
        )
        return [said, *words[1:], *changed]
    return [f"{baseline} written: its numbers are unchanged, what it notes of the files is not", *words[1:], *changed]


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
