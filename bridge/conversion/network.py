"""The network of a conversion: opened, held against what is asked for, and with every input settled."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from converters.forms import PLAIN, Forms, for_training
from converters.training import training_form
from hybrid.core.attrs import is_float
from hybrid.core.error import MXNetError, without_given
from hybrid.core.op import Spec
from hybrid.core.shapes import is_known, show
from hybrid.ir.graph import Entry
from hybrid.passes.strip_labels import label_names

from ..batching import BATCH, dynamic_batch, fixed_batch, with_batch_size
from ..cases import another, samplers
from ..detectors import Detector, without_suppression
from ..domains import numbers_taken
from ..engines import NativeEngine
from ..expected import check_pairs, fed, hold_sizes_taken, with_inputs
from ..fitting import fits
from ..inputs import Feeds, Inputs, as_specs, further, in_old_names, loaded, sources_of
from ..job import check_target
from ..models import BadInput, Model, hold_dtypes, open_model
from ..paths import listed, names_in, one_or_more
from ..pipeline import detections
from ..pipeline.labels import as_metadata, doubles
from ..pipeline.postprocess import as_facts, note_of_labels, placed, postprocessed
from ..pipeline.preprocess import Dynamic, preprocessed
from ..recorded import RecordedRun, Recording, load_recording
from ..renaming import with_new_names
from ..result import Progress
from ..settle import (
    freed,
    held_inputs,
    of_one_place,
    open_channels,
    settle_inputs,
    smaller_than_a_cell,
    told_beside,
    told_by_arrays,
    unvarying,
    with_axes,
    with_declared_axes,
)
from ..stems import PIXELS, expected
from .asked import Proof, Wanted


@dataclass(frozen=True)
class Network:
    """A network that is ready to be translated."""

    model: Model
    specs: Mapping[str, Spec]
    """Shape and dtype of every input; of axes that are open a size to verify with."""
    axes: Dynamic
    """Names of open axes by input."""
    chosen: tuple[str, ...]
    """Names of those that nobody gave a size to verify with."""
    arrays: Mapping[str, np.ndarray]
    """Values that are given for inputs."""
    files: Mapping[str, str]
    """Names of the files that they come from."""
    also: Sequence[Inputs]
    """Further inputs to verify with."""
    recording: Recording | None
    names: Mapping[str, str]
    """Inputs' names in the file, where they are others."""
    forms: Forms
    proof: Proof
    """With ranges and kinds of draws that are those of the inputs of the file."""
    detector: Detector | None = None
    """The end of a detector that is written without its suppression."""
    twin: Model | None = None
    """The same without what is random in it, which is what can be verified; None where nothing is."""
    facts: Mapping[str, str] = field(default_factory=dict)
    """Members of the file's metadata."""
    warnings: tuple[str, ...] = ()

    def longer(self, size: int) -> Network | None:
        """The same, verified with this size of open axes that nobody gave one and that have 1 so far; None where there are none, or
        it does not fit."""
        alone = {
            label
            for name, axes in self.axes.items()
            for axis, label in axes.items()
            if label in self.chosen and name in self.specs and self.specs[name].shape[axis] == 1  # type: ignore[index]
        }
        specs = _at(self.specs, self.axes, _sizes_of(self.specs, self.axes) | dict.fromkeys(alone, size))
        return dataclasses.replace(self, specs=specs) if alone and fits(self.model, specs) else None

    @property
    def shaped(self) -> dict[str, Spec]:
        """The inputs with names in place of sizes where axes are open."""
        return {n: with_axes(s, self.axes.get(n, {})) for n, s in self.specs.items()}


def opened(
    symbol: Any, params: Any, outputs: str | Sequence[str] | None, target: Path | None, external_data: bool | None
) -> Model:
    """The model, cut at outputs. Raises BadInput, also where nothing may be written to the target."""
    model = open_model(symbol, params, foreign=True).select(one_or_more(outputs))
    if model.is_onnx:
        raise BadInput(f"{model.name} is ONNX already; convert takes an MXNet symbol")
    if target is not None:
        check_target(target, *model.files())
        if external_data:
            check_target(target.with_name(f"{target.name}.data"), *model.files())
    return model


def settled(model: Model, wanted: Wanted, proof: Proof, forms: Forms, tell: Progress) -> Network:
    """The network with a shape and a dtype for each input, and all that is put around it. tell: hears of what takes a while.

    Raises BadInput for what is missing, unknown or does not go together, converters.ConversionError where a detector has no
    suppression to leave out."""
    wanted, proof = _in_old_names(model, wanted, proof)
    recording = _recording(model, wanted, proof)
    given = loaded(wanted.inputs, model) if recording is None else fed(recording, model)
    also = [loaded(each, model) for each in one_or_more(proof.also)]
    specs, arrays = as_specs(given)
    empty = [
        f"input {n}: got shape {show(s.shape)}, wanted sizes of 1 or more"
        for n, s in specs.items()
        if 0 in (s.shape or ())
    ]
    if empty and len(empty) == len(specs):  # beside numbers one may be empty; without any the file is one of nothing
        raise BadInput(*empty)
    told, beside = told_by_arrays(model, specs, *further(also), wanted.batch if isinstance(wanted.batch, int) else None)
    specs |= told
    beside += told_beside(model, specs)
    if not wanted.training:
        model = model.inferring(specs)
    model, stored = freed(model, names_in(wanted.free, model.params))
    specs, axes, chosen = stored | specs, wanted.dynamic, ()
    if not wanted.preprocess:
        found = with_declared_axes(model, specs, axes, wanted.batch)
        specs, axes, chosen, beside = found.specs, found.dynamic, found.vary, [*beside, *found.notes]
    facts: dict[str, str] = {}
    if wanted.preprocess:
        prepared = preprocessed(model, wanted.preprocess, specs, axes, proof.ranges or {})
        model, specs, axes = prepared[:3]
        proof, facts = dataclasses.replace(proof, ranges=prepared.ranges), dict(prepared.facts)
    hold_dtypes(model, arrays, sources_of(given))
    specs, axes = _sized(model, specs, axes, wanted.batch, tell)
    if problems := of_one_place(model, specs):
        raise BadInput(*problems)
    if wanted.postprocess:
        behind = placed(model, wanted.postprocess, specs)
        beside = [*note_of_labels(model, behind, specs), *beside]
        facts = as_metadata(behind.labels) | as_facts(behind) | facts
        model = postprocessed(model, behind, specs)
    model, names = with_new_names(model, wanted.rename)
    if recording is not None:
        hold_sizes_taken(recording, specs, axes)
        check_pairs(recording, (NativeEngine(model, specs), None))
    if forms.nan_guards is False:  # what lies beyond is left to the runtime
        proof = dataclasses.replace(proof, draws=[kind for kind in proof.draws if kind != "edges"])
    detector = None
    if forms.nms != PLAIN.nms:
        model, forms, detector = without_suppression(
            model, forms, specs, training=wanted.training, recorded=recording is not None
        )
        facts |= detector.facts
    elif model.graph is not None:
        facts |= detections.as_metadata(model.graph)
    warnings = (
        *beside,
        *smaller_than_a_cell(model, specs),
        *_warnings(model),
        *(doubles(wanted.postprocess.labels) if wanted.postprocess else ()),
        *_ids_as_floats(model, specs, as_specs(given)[0]),
        *_cast_at_once(model, specs, as_specs(given)[0]),
        *(() if detector is None else (detector.note,)),
    )
    twin = None
    if wanted.training:
        model, twin, axes = _to_train(model, specs, axes)
        forms = for_training(forms)
        specs = settle_inputs(model, specs, axes)
    if twin is not None and proof.wanted:
        warnings += ("verified without what is random: Dropout left out, slopes of rrelu at their mean",)
    return Network(
        model, specs, axes, chosen, arrays, sources_of(given), also, recording, names, forms, proof, detector, twin, facts, warnings
    )  # fmt: skip


def _in_old_names(model: Model, wanted: Wanted, proof: Proof) -> tuple[Wanted, Proof]:
    """The wishes by the names that inputs have, where they are given by those that inputs are to get."""
    if not wanted.rename:
        return wanted, proof
    inputs = model.variables()

    def named(given: Any) -> Any:
        return given if given is None else in_old_names(loaded(given, model), wanted.rename, inputs)

    also = [named(each) for each in one_or_more(proof.also)]
    return (
        dataclasses.replace(wanted, inputs=named(wanted.inputs), dynamic=named(wanted.dynamic)),
        dataclasses.replace(proof, also=also, ranges=named(proof.ranges)),
    )


def _recording(model: Model, wanted: Wanted, proof: Proof) -> Recording | None:
    """The recorded outputs that are asked for. Raises BadInput for options that say nothing, or do not go together."""
    problems = [
        f"dynamic {name}: got {axes!r}, wanted labels by axis, such as {{0: 'batch'}}"
        for name, axes in wanted.dynamic.items()
        if not isinstance(axes, Mapping)
        or not all(isinstance(a, int | np.integer) and isinstance(label, str) for a, label in axes.items())
    ]
    if problems:
        raise BadInput(*problems)
    if isinstance(wanted.batch, str) and wanted.batch != BATCH:
        raise BadInput(f"batch: got {wanted.batch!r}, wanted a size, or {BATCH!r} for one that stays open")
    recording = (
        None
        if proof.expected is None
        else with_inputs(
            load_recording(proof.expected), wanted.inputs, model, lambda name, axis: _is_open(wanted, name, axis)
        )
    )
    if recording is not None and (wanted.training or not proof.wanted):
        raise BadInput("recorded outputs are those of inference, verified: convert without --training and --no-verify")
    if wanted.training and (wanted.preprocess or wanted.postprocess):
        raise BadInput("pre- and post-processing belong to the file that is deployed: convert without --training")
    if recording is None:
        return None
    before, behind = wanted.preprocess, wanted.postprocess
    if (before and not before.only_bytes) or (behind and behind.computes):
        raise BadInput(
            f"{recording.label}: recorded outputs are those of the network alone, and this file is to do more; convert twice: with "
            "--expected and without pre- and post-processing, into another file, which proves the network; then as here without "
            "--expected, which is compared with the network and what is around it"
        )
    return _in_bytes(recording, before.input) if before else recording


def _in_bytes(recording: Recording, picked: str | None) -> Recording:
    """The recording with its pictures as bytes, which are the same numbers. picked: the input that takes pictures, or else all with
    four axes. Raises BadInput for other numbers."""
    runs, problems = [], []
    for number, each in enumerate(recording.runs, 1):
        inputs = Feeds(each.inputs, sources_of(each.inputs) or dict.fromkeys(each.inputs, recording.label))
        for name, array in each.inputs.items():
            if name == picked or (picked is None and array.ndim == 4):
                with np.errstate(invalid="ignore"):
                    inputs[name] = array.astype(np.uint8)
                if not np.array_equal(inputs[name], array):
                    problems.append(
                        f"{recording.label}: {name} of run {number} holds other numbers than whole ones from 0 to 255, which "
                        "a file of bytes (--uint8) does not take; record the network with such pictures, or convert without "
                        "--uint8 first, into another file, and then with it and without --expected"
                    )
        runs.append(RecordedRun(inputs, each.outputs))
    if problems:
        raise BadInput(*problems)
    return dataclasses.replace(recording, runs=tuple(runs))


def _is_open(wanted: Wanted, name: str, axis: int) -> bool:
    """True for an axis that is left open; of a batch that is, it is taken for the first."""
    return axis in wanted.dynamic.get(name, {}) or (wanted.batch == BATCH and axis == 0)


def _sized(
    model: Model, given: dict[str, Spec], dynamic: Dynamic, batch: int | str | None, tell: Progress
) -> tuple[dict[str, Spec], Dynamic]:
    """Specs for all inputs, with the batch that is asked for, and the axes that are open."""
    specs = given
    if batch is not None:
        specs = with_batch_size(model, specs, batch if isinstance(batch, int) else 1)
    specs = settle_inputs(model, specs, dynamic, tell)
    if isinstance(batch, int):
        specs = settle_inputs(model, fixed_batch(model, specs, given, dynamic, batch), dynamic, tell)
    elif batch is not None:
        dynamic = dynamic_batch(model, specs, dynamic)
    if dynamic and all(is_known(s.shape) for s in specs.values()):
        problems = open_channels(model, specs, dynamic) or unvarying(model, other_sizes(specs, dynamic), dynamic)
        if problems:
            raise BadInput(*problems)
    return specs, dynamic


def _to_train(
    model: Model, specs: Mapping[str, Spec], dynamic: Mapping[str, Mapping[int, str]]
) -> tuple[Model, Model | None, Mapping[str, Mapping[int, str]]]:
    """The model as it trains; the same without what is random, if it has any; dynamic axes, with those of labels that follow."""
    assert model.graph is not None
    inferred = model.infer(specs)
    forms = [training_form(model.graph, inferred, still=still) for still in (False, True)]
    trained, twin = (dataclasses.replace(model, graph=form) for form in forms)
    random = len({len(list(samplers(form))) for form in forms}) > 1
    axes = {n: dict(a) for n, a in dynamic.items()}
    if dynamic:
        try:
            other = fitting_sizes(model, specs, dynamic).specs
            varied = model.infer(other)
        except MXNetError as error:
            raise without_other_sizes(model, specs, dynamic, error) from error
        sizes = {
            label: (specs[n].shape[a], other[n].shape[a])  # type: ignore[index]  # both are known by now
            for n, named in dynamic.items()
            if n in specs  # labels are not, whose axes may be named too
            for a, label in named.items()
        }
        nodes = {n.name: n for n in model.graph.variables()}
        for name in label_names(model.graph):
            pairs = [i.spec(Entry(nodes[name])).shape or () for i in (inferred, varied)]
            follows = {
                axis: next(label for label, pair in sizes.items() if pair == found)
                for axis, found in enumerate(zip(*pairs))
                if found[0] != found[1] and found in sizes.values()
            }
            if follows and name not in axes:
                axes[name] = follows
    return trained, twin if random else None, axes


def other_sizes(
    specs: Mapping[str, Spec], dynamic: Mapping[str, Mapping[int, str]], less: bool = False
) -> dict[str, Spec]:
    """The same inputs with every dynamic axis at another size: leading ones one up, others twice as long. less: sides of large
    pictures shorter.

    Axes of one label keep one size, wherever they stand."""
    sizes: dict[str, int] = {}
    out = {}
    for name, spec in specs.items():
        assert spec.shape is not None
        axes = dynamic.get(name, {})
        for axis, label in axes.items():
            sizes.setdefault(label, another(spec.shape, axis, less))
        out[name] = Spec(tuple(sizes[axes[i]] if i in axes else d for i, d in enumerate(spec.shape)), spec.dtype)
    return out


class OtherSizes(NamedTuple):
    """Sizes of open axes to verify with, besides those that are given."""

    specs: dict[str, Spec]
    notes: tuple[str, ...] = ()
    """Sentences for labels of which greater sizes fail."""


def fitting_sizes(model: Model, specs: Mapping[str, Spec], dynamic: Mapping[str, Mapping[int, str]]) -> OtherSizes:
    """The same inputs with every dynamic axis at another size, see other_sizes, one up where that makes an odd one of an even one;
    at the greatest that the model takes, or a smaller one than is given, where it does not take so much: a table of positions ends
    somewhere.

    Raises MXNetError where no sizes are found that go together."""
    smaller = _smaller(model, specs, dynamic)
    if smaller is not None:
        return smaller
    wanted = other_sizes(specs, dynamic)
    given, sizes = _sizes_of(specs, dynamic), _sizes_of(wanted, dynamic)
    leading = {axes.get(0) for axes in dynamic.values()}
    odd = {label: sizes[label] + 1 for label, size in given.items() if label not in leading and size % 2 == 0}
    if odd and not _refusal(model, specs, dynamic, sizes | odd):
        return OtherSizes(_at(specs, dynamic, sizes | odd))
    try:
        model.infer(wanted)
        return OtherSizes(wanted, _multiples(model, specs, dynamic, given, odd))
    except MXNetError as error:
        first = error
    notes = []
    for label, size in given.items():
        reason = _refusal(model, specs, dynamic, given | {label: sizes[label]})
        if not reason:
            continue
        if any(axes.get(0) == label for axes in dynamic.values()):  # no table limits a batch
            raise first
        most, fails = size, sizes[label]
        while fails - most > 1:
            middle = (most + fails) // 2
            if said := _refusal(model, specs, dynamic, given | {label: middle}):
                fails, reason = middle, said
            else:
                most = middle
        sizes[label] = most if most > size else size // 2
        # a size of 1 goes with any other, and so says nothing
        if sizes[label] < 2 or _refusal(model, specs, dynamic, given | {label: sizes[label]}):
            raise first
        notes.append(
            f"{label}: sizes above {most} fail, in the network as in the file ({reason}); compared at {size} and {sizes[label]}"
        )
    if not notes or _refusal(model, specs, dynamic, sizes):
        near = {label: size + 1 for label, size in given.items()}
        if _refusal(model, specs, dynamic, near):
            raise first
        note = (
            f"{listed(sizes)}: {listed(map(str, sizes.values()))} do not go together, in the network as in the file; "
            f"compared at {listed(map(str, given.values()))} and one more of each"
        )
        return OtherSizes(_at(specs, dynamic, near), (note,))
    return OtherSizes(_at(specs, dynamic, sizes), tuple(notes))


def _smaller(model: Model, specs: Mapping[str, Spec], dynamic: Dynamic) -> OtherSizes | None:
    """The same inputs with smaller pictures, of odd sides where the model takes such; None where there are none, or it takes none,
    or is another network on them: one that sees little but borders."""
    given = _sizes_of(specs, dynamic)
    sizes = _sizes_of(other_sizes(specs, dynamic, less=True), dynamic)
    less = [label for label, size in sizes.items() if size < given[label]]
    if not less:
        return None
    odd = {label: sizes[label] + 1 for label in less if given[label] % 2 == 0}
    for tried in (sizes | odd, sizes):
        at = _at(specs, dynamic, tried)
        if (
            not _refusal(model, specs, dynamic, tried)
            and not of_one_place(model, at)
            and not smaller_than_a_cell(model, at)
        ):
            return OtherSizes(at, () if tried != sizes else _multiples(model, specs, dynamic, given, odd))
    return None


def _sizes_of(specs: Mapping[str, Spec], dynamic: Dynamic) -> dict[str, int]:
    """Sizes of open axes by label."""
    return {label: specs[n].shape[a] for n, axes in dynamic.items() if n in specs for a, label in axes.items()}  # type: ignore[index]


def without_other_sizes(
    model: Model, specs: Mapping[str, Spec], dynamic: Dynamic, error: MXNetError | BadInput, further: str = ""
) -> BadInput:
    """The error for open axes of which no other sizes are found that the model takes. error: of those that were made up. further:
    words for what else may be done about it."""
    return BadInput(
        fixed_by_weights(model, specs, dynamic)
        or f"the model does not fit the sizes made up to verify its dynamic axes ({error}); make the axes that vary together "
        f"dynamic under one label{further}"
    )


def fixed_by_weights(model: Model, specs: Mapping[str, Spec], dynamic: Dynamic) -> str:
    """Words for open axes of which no other size fits, because a node's weights are for one alone; empty where there are none."""
    assert model.graph is not None
    nodes = {n.name: n for n in model.graph.nodes}
    given = _sizes_of(specs, dynamic)
    fixed: dict[str, list[str]] = {}
    for label, size in given.items():
        refused = [_refused(model, specs, dynamic, given | {label: s}) for s in (size + 1, size * 2, size // 2) if s]
        node = nodes.get(refused[0].node) if refused[0] is not None else None
        if None in refused or node is None or node.op is None:
            continue
        held = [
            f"{e.node.name} {show(model.params[e.node.name].shape)}" for e in node.inputs if e.node.name in model.params
        ]
        if held:
            axes = [
                f"{n}:{a}={label}" for n, named in dynamic.items() for a, given_to in named.items() if given_to == label
            ]
            fixed.setdefault(f"{node.name} ({node.op.name}) has weights for one size alone: {held[0]}", []).extend(axes)
    return "; ".join(
        f"{reason}. No other size fits, so leave {' and '.join(axes)} out of --dynamic; a network for any size pools over all "
        "places before such a layer"
        for reason, axes in fixed.items()
    )


STEPS = (2, 4, 8, 16, 32, 64, 128)
"""Numbers of which sizes may have to be multiples, where a network halves them and doubles them again."""
TRIED = 4
"""Multiples that are tried, by inference alone, before it is said that they do."""


def _multiples(
    model: Model, specs: Mapping[str, Spec], dynamic: Dynamic, given: Mapping[str, int], labels: Iterable[str]
) -> tuple[str, ...]:
    """A sentence for each step of which sizes have to be multiples, where not every size does. given: sizes by label. labels: those
    of which an odd size may fail."""
    found: dict[int, list[str]] = {}
    reasons: dict[int, str] = {}
    for label in labels:
        size = given[label]
        reason = _refusal(model, specs, dynamic, {**given, label: size + 1})
        if not reason:
            continue
        fitting = (
            step
            for step in STEPS
            if not any(
                _refusal(model, specs, dynamic, {**given, label: (-(-size // step) + i) * step}) for i in range(TRIED)
            )
        )
        step = next(fitting, 0)
        found.setdefault(step, []).append(label)
        reasons.setdefault(step, f"such as {size + 1}, fail, in the network as in the file ({reason})")
    return tuple(
        f"{listed(named)}: {f'multiples of {step} work; other sizes' if step else 'some sizes'}, {reasons[step]}"
        for step, named in found.items()
    )


def _refusal(model: Model, specs: Mapping[str, Spec], dynamic: Dynamic, sizes: Mapping[str, int]) -> str:
    """Reason why the model does not take these sizes of open axes; empty where it does."""
    error = _refused(model, specs, dynamic, sizes)
    return "" if error is None else without_given(error)


def _refused(model: Model, specs: Mapping[str, Spec], dynamic: Dynamic, sizes: Mapping[str, int]) -> MXNetError | None:
    """The error of a model that does not take these sizes of open axes; None of one that does."""
    try:
        model.infer(_at(specs, dynamic, sizes))
    except MXNetError as error:
        return error
    return None


def _at(specs: Mapping[str, Spec], dynamic: Dynamic, sizes: Mapping[str, int]) -> dict[str, Spec]:
    """The inputs at these sizes of open axes."""
    named = {n: with_axes(s, dynamic.get(n, {})) for n, s in specs.items()}
    return {n: Spec(tuple(sizes.get(d, d) for d in s.shape or ()), s.dtype) for n, s in named.items()}  # type: ignore[misc]


def _ids_as_floats(model: Model, specs: Mapping[str, Spec], given: Mapping[str, Spec]) -> list[str]:
    """Words for inputs that only pick rows of tables, and are floats because nobody said what they are."""
    try:
        taken = numbers_taken(model.infer(specs), model.params)
    except MXNetError:
        return []
    return [
        f"input {name} is taken as float32, which nothing says; it picks rows of a table, and for whole numbers in the file give "
        f"its dtype: --input {name}:{','.join(map(str, spec.shape or ()))}:int64"
        for name, spec in specs.items()
        if name in taken
        and taken[name].rows
        and spec.dtype == np.float32
        and (name not in given or given[name].dtype is None)
        and not any(n.name == name and "__dtype__" in n.attrs for n in (model.graph.variables() if model.graph else ()))
    ]


def _cast_at_once(model: Model, specs: Mapping[str, Spec], given: Mapping[str, Spec]) -> list[str]:
    """Words for inputs that are floats because nobody said what they are, and that the network makes float32 at once: of floats
    nobody would."""
    assert model.graph is not None
    readers = model.graph.uses()
    found = []
    for node in model.graph.variables():
        spec, said = specs.get(node.name, Spec()), given.get(node.name, Spec())
        if spec.dtype != np.float32 or said.dtype is not None or "__dtype__" in node.attrs:
            continue
        behind = [reader for reader, _ in readers.get((id(node), 0), ())]
        if behind and all(
            each.op is not None and each.op.name == "Cast" and getattr(each.op, "dtype", None) == np.float32
            for each in behind
        ):
            pixels = expected(model.graph, model.params).get(node.name) == PIXELS or len(spec.shape or ()) == 4
            kind = "uint8" if pixels else "int64"
            found.append(
                f"input {node.name} is taken as float32, which nothing says; {behind[0].name} makes it float32 at once, so that it "
                f"may have been {'bytes' if kind == 'uint8' else 'whole numbers'}: for a file that takes them --input "
                f"{node.name}:{','.join(map(str, spec.shape or ()))}:{kind}"
            )
    return found


def _warnings(model: Model) -> list[str]:
    out = [*model.notes, *held_inputs(model)]
    if model.cast:
        count, names = len(model.cast), ", ".join(model.cast[:3]) + (" ..." if len(model.cast) > 3 else "")
        out.append(
            f"{count} parameters were stored in another dtype than the graph computes in, and cast to it: {names}"
        )
    remarks: dict[str, list[str]] = {}
    for node in model.graph.all_nodes() if model.graph is not None else ():
        if node.op is not None and node.op.remark:
            remarks.setdefault(node.op.remark, []).append(f"{node.name} ({node.op.name})")
    out += [f"{', '.join(nodes[:3])}{' ...' if len(nodes) > 3 else ''}: {remark}" for remark, nodes in remarks.items()]
    with np.errstate(all="ignore"):
        for name, array in model.params.items():
            # the sum is not finite when an element is not: one fast pass, and a closer look only then
            if is_float(array.dtype) and not np.isfinite(array.sum()):
                count = int((~np.isfinite(array)).sum())
                if count:
                    out.append(f"parameter {name} holds {count} NaN or infinite values")
    return out
