"""Files that are written for targets: the opset and forms that all of them take, what they refuse, and what they give."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx

import converters
from converters.error import Problem, UnsupportedModel
from converters.forms import LOWERINGS, USUAL, Forms
from converters.onnx_types import code_of
from converters.writer import EXTERNAL_OVER, Converted
from hybrid.core.error import MXNetError
from hybrid.core.op import Spec

from ..compare import Tolerance
from ..engines import NativeEngine
from ..models import ONNX, BadInput, Model
from ..paths import one_or_more
from ..refusing import Try, command_for, find_cut
from ..result import Progress
from .check import problems
from .deployed import Outcome, on_target, raise_failed
from .place import place_of
from .profile import Profile, profiles_of


@dataclasses.dataclass(frozen=True)
class Written:
    """The opsets and forms of a file for some targets."""

    profiles: tuple[Profile, ...]
    opsets: tuple[int | str | None, ...]
    """Opsets to try, the first that has a translation for every node counts; None for the oldest that loses nothing."""
    newest: int | None
    forms: Forms

    def __bool__(self) -> bool:
        return bool(self.profiles)


def written_for(targets: str | Sequence[str] | None, opset: int | str | None, forms: Forms = USUAL) -> Written:
    """The way a file for these targets is written. Raises BadInput for unknown targets, and where no file fits them all."""
    found = tuple(profiles_of(one_or_more(targets) or ()))
    if not found:
        return Written((), (opset,), None, forms)
    oldest, newest = max(p.opsets[0] for p in found), min(p.opsets[1] for p in found)
    wrong = []
    if oldest > newest:
        wrong.append(f"no opset is read by all: {'; '.join(f'{p.name} reads {_span(p)}' for p in found)}")
    elif isinstance(opset, int) and not oldest <= opset <= newest:
        wrong.append(f"got opset {opset}, wanted {oldest} to {newest}, which {_names(found)} can read")
    wishes: dict[str, dict[Any, list[str]]] = {}
    lowered = {n for p in found for n in p.forms.get("lowered", ())} | set(forms.lowered)  # which all engines can read
    forms = dataclasses.replace(forms, lowered=tuple(n for n in LOWERINGS if n in lowered))
    for profile in found:
        for name, value in profile.forms.items():
            if name != "lowered" and value != getattr(USUAL, name):
                wishes.setdefault(name, {}).setdefault(value, []).append(profile.name)
    for name, values in wishes.items():
        if len(values) > 1:
            said = "; ".join(f"{', '.join(who)} want{'s' * (len(who) == 1)} {value}" for value, who in values.items())
            wrong.append(f"no one file has the forms for all, {name}: {said}")
    if wrong:
        raise BadInput(*(f"--target: {w}; convert once for each" for w in wrong))
    agreed = {n: next(iter(v)) for n, v in wishes.items() if getattr(forms, n) == getattr(USUAL, n)}
    asked = min((p.opset for p in found if p.opset is not None), default=None)
    best = max(asked, oldest) if asked is not None else None
    opsets = (opset,) if opset is not None else tuple(dict.fromkeys((best, None)))
    return Written(found, opsets, newest, dataclasses.replace(forms, **agreed))


def _span(profile: Profile) -> str:
    return f"{profile.opsets[0]} to {profile.opsets[1]}"


def _names(found: Sequence[Profile]) -> str:
    return " and ".join(p.name for p in found)


def translated(how: Written, model: Model, specs: Mapping[str, Any], newest: int | None, **told: Any) -> Converted:
    """The model as ONNX, at the first of the opsets that has it all. Raises UnsupportedModel, of the last of them."""
    most = min((n for n in (newest, how.newest) if n is not None), default=None)
    last = len(how.opsets) - 1
    for number, opset in enumerate(how.opsets):
        try:
            return ONNX.translated(model, inputs=specs, opset=opset, newest=most, forms=how.forms, **told)
        except UnsupportedModel:
            if number == last:
                raise
    raise AssertionError


def check_for_targets(how: Written, converted: Converted, model: Model, specs: Mapping[str, Spec]) -> None:
    """Raise UnsupportedModel with every node that one of the targets does not take, and a command that works where there is one."""
    found = [(p, refusals(p, converted)) for p in how.profiles]
    every = list(dict.fromkeys(r for _, each in found for r in each))
    if every:
        who = " and ".join(p.name for p, each in found if each)
        raise UnsupportedModel(every, f"that {who} does not take", _advice(how, model, specs, every))


def refusals(profile: Profile, converted: Converted) -> list[Problem]:
    """Nodes of a model, yet to be written, that a profile refuses. Large weights stand in as inputs: their values matter not."""
    model, constants = onnx.ModelProto(), []
    model.CopyFrom(converted.model)
    for name, array in converted.initializers.items():
        constants.append(name)
        if array.nbytes <= EXTERNAL_OVER:
            model.graph.initializer.append(onnx.numpy_helper.from_array(np.asarray(array, order="C"), name))
        else:
            model.graph.input.append(onnx.helper.make_tensor_value_info(name, code_of(array.dtype), array.shape))
    return problems(profile, model, constants)


def _advice(how: Written, model: Model, specs: Mapping[str, Spec], every: Sequence[Problem]) -> str:
    """A command up to where the targets take the network; empty where none was found. It was tried."""
    assert model.graph is not None
    options = [w for p in how.profiles for w in ("--target", p.name)]
    for words, other in _other_forms(how):
        if _fits(dataclasses.replace(how, forms=other), model, specs):
            return f"it fits with {' '.join(words)}"

    def attempt(names: tuple[str, ...]) -> Try:
        try:
            cut = model.select(list(names))
        except BadInput:
            return Try()
        assert cut.graph is not None
        known = {n.name: specs[n.name] for n in cut.graph.variables() if n.name in specs}
        left = _refused(how, cut, known)
        if left:
            return Try(failing=_nodes_of(model, left))
        return Try() if left is None else Try(command_for(model, known, names, options))

    words = find_cut(model, _nodes_of(model, {p.node for p in every}), attempt)
    return f"up to there it fits: {words}" if words else ""


def _other_forms(how: Written) -> list[tuple[tuple[str, ...], Forms]]:
    """Forms that lose something, which may be what a target lacks, and the options that ask for them."""
    return [(("--nms", "none"), dataclasses.replace(how.forms, nms="none"))] if how.forms.nms == "onnx" else []


def _fits(how: Written, model: Model, specs: Mapping[str, Spec]) -> bool:
    return _refused(how, model, specs) == set()


def _refused(how: Written, model: Model, specs: Mapping[str, Spec]) -> set[str] | None:
    """Names of the ONNX nodes that a target refuses, or of nodes that do not translate; None where it is not known which."""
    try:
        made = translated(how, model, specs, None)
    except UnsupportedModel as error:
        return {p.node for p in error.problems}
    except (BadInput, MXNetError, converters.ConversionError):
        return None
    return {r.node for p in how.profiles for r in refusals(p, made)}


def _nodes_of(model: Model, names: set[str]) -> frozenset[str]:
    """The symbol's nodes that ONNX nodes of these names come from: those are called after them, with an ending behind a slash."""
    assert model.graph is not None
    starts = {n[:i] for n in names for i, c in enumerate(f"{n}/") if c == "/"}
    return frozenset(n.name for n in model.graph.nodes if n.op is not None and n.name in starts)


def run_on_targets(
    how: Written,
    path: Path,
    converted: Converted,
    model: Model,
    specs: Mapping[str, Spec],
    arrays: Mapping[str, Any],
    *,
    seed: int,
    names: Mapping[str, str] | None,
    ranges: Mapping[str, tuple[float, float]] | None,
    files: Mapping[str, str],
    tolerance: Tolerance | None,
    tell: Progress,
) -> tuple[Outcome, ...]:
    """The outcomes on all targets of a file that is yet to appear. Raises NotEquivalent and TargetFailed."""
    left = NativeEngine(model, specs)
    used = {n: s for n, s in specs.items() if n in left.inputs}
    given = {n: a for n, a in arrays.items() if n in left.inputs}
    out = []
    for profile in how.profiles:
        tell(f"running on {profile.name}")
        out.append(
            on_target(
                profile, place_of(profile), left, path, converted.model, (), used,
                arrays=given, seed=seed, names=names, ranges=ranges, files=files, tolerance=tolerance,
            )
        )  # fmt: skip
    raise_failed(out)
    return tuple(out)
