"""Files in another precision where they are deployed: run there, beside the network and beside onnxruntime with the same file."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from converters.error import UnsupportedModel
from converters.writer import Converted

from ..engines import Arrays, EngineError
from ..models import onnx_spec, specs_of_onnx
from ..result import Progress
from ..targets.deployed import AGREES, CRASHED, DIFFERS, FITS, LATE, REFUSED, Outcome, TargetFailed, sizes_run
from ..targets.place import Place, how_to_install, place_of
from ..targets.process import Crashed, Late, TargetRunner
from ..targets.profile import Profile
from ..targets.writing import refusals
from .accuracy import Sums
from .pages import decibels
from .survey import as_taken, engine_of

LOSS = 3.0
"""Decibels that a target may be further from the network than onnxruntime is with the same file."""
ALIKE = 45.0
"""Decibels between a target and onnxruntime that are usual between engines of float16."""


def check_places(profiles: Sequence[Profile], converted: Converted) -> None:
    """Raise UnsupportedModel with every node of a rewritten file that a target does not take."""
    found = {p.name: refusals(p, converted) for p in profiles}
    every = list(dict.fromkeys(r for each in found.values() for r in each))
    if every:
        who = " and ".join(n for n, each in found.items() if each)
        raise UnsupportedModel(every, f"that {who} does not take in this precision", "")


def run_in_places(
    profiles: Sequence[Profile],
    path: Path,
    before: Converted,
    after: Converted,
    feeds: Sequence[Arrays],
    tell: Progress,
) -> tuple[Outcome, ...]:
    """The outcomes of a rewritten file, yet to appear, on targets. An output agrees where it is at most LOSS further from the
    network than onnxruntime's is, or like onnxruntime's within ALIKE; one of integers where it is the network's or onnxruntime's.

    before: the network. after: what the file holds. Raises TargetFailed where a target gives other numbers, or none."""
    if not profiles:
        return ()
    want, right = ([_run(model, each) for each in feeds] for model in (before, after))
    outcomes = []
    for profile in profiles:
        tell(f"running on {profile.name}")
        place, start = place_of(profile), time.perf_counter()
        if place is None:
            outcomes.append(Outcome(profile.name, FITS, reason=how_to_install(profile)))
            continue
        found = _outcome(profile, place, path, after, feeds, want, right)
        outcomes.append(replace(found, seconds=time.perf_counter() - start))
    if not all(o.good for o in outcomes):
        raise TargetFailed(outcomes)
    return tuple(outcomes)


def _outcome(
    profile: Profile,
    place: Place,
    path: Path,
    after: Converted,
    feeds: Sequence[Arrays],
    want: Sequence[Arrays],
    right: Sequence[Arrays],
) -> Outcome:
    outputs = {o.name: onnx_spec(o) for o in after.model.graph.output}
    run = partial(Outcome, release=f"{place.package} {place.version}", python=place.python)
    try:
        with TargetRunner(profile, place, path, specs_of_onnx(after.model), outputs) as runner:
            got = [runner.run(as_taken(after, each)) for each in feeds]
    except EngineError as error:
        kind = CRASHED if isinstance(error, Crashed) else LATE if isinstance(error, Late) else REFUSED
        return run(profile.name, kind, reason=str(error))
    told, wrong, error = [], [], 0.0
    for name in outputs:
        said, good, off = compared([w[name] for w in want], [r[name] for r in right], [g[name] for g in got])
        (told if good else wrong).append(f"{name}: {said}")
        error = max(error, off)
    verdict, reason = DIFFERS if wrong else AGREES, "; ".join(wrong or told)
    sizes = sizes_run(after.model, feeds)
    return run(profile.name, verdict, reason=reason, error=error, default=runner.default, sizes=sizes)


def compared(
    want: Sequence[np.ndarray], right: Sequence[np.ndarray], got: Sequence[np.ndarray]
) -> tuple[str, bool, float]:
    """Words for one output over all examples, whether it agrees, and how far it is from onnxruntime's, of the largest number.

    want: the network's. right: onnxruntime's with the same file. got: the target's."""
    for r, g in zip(right, got):
        if r.shape != g.shape:
            return f"shape {g.shape}, wanted {r.shape}", False, np.inf
    if any(r.dtype.kind in "biu" for r in right):
        pairs = list(zip(want, right, got))
        apart = sum(
            int(((g != w) & (g != r)).sum()) if w.shape == g.shape else int((g != r).sum()) for w, r, g in pairs
        )
        return f"{apart} integers that neither the network nor onnxruntime gives", not apart, float(bool(apart))
    theirs, own, between = Sums(), Sums(), Sums()
    for w, r, g in zip(want, right, got):
        if w.shape == g.shape:
            theirs.add(w, g)
            own.add(w, r)
        between.add(r, g)
    misplaced = max(theirs.misplaced - own.misplaced, between.misplaced)
    near = theirs.signal > 0 and theirs.sqnr >= own.sqnr - LOSS
    said = f"{decibels(theirs.sqnr)} of signal to noise, where onnxruntime has {decibels(own.sqnr)} with the same file"
    if misplaced:
        said += f", and {misplaced} numbers that are NaN or infinite on one side only"
    off = between.max_abs / between.scale if between.scale else between.max_abs
    return said, not misplaced and (near or between.sqnr >= ALIKE), off


def _run(converted: Converted, feeds: Mapping[str, np.ndarray]) -> Arrays:
    return engine_of(converted, "model", frugal=True).run_unchecked(as_taken(converted, feeds))
