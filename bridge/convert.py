"""An exported MXNet model becomes a verified ONNX file."""

from __future__ import annotations

import dataclasses
import os
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime

import converters
from converters.forms import PLAIN, USUAL, Forms, for_training
from converters.onnx_types import code_of
from converters.training import training_form
from converters.writer import EXTERNAL_OVER, Converted
from hybrid.core.attrs import is_float
from hybrid.core.error import MXNetError
from hybrid.core.op import OPS, Spec
from hybrid.formats.files import write
from hybrid.ir.graph import Entry
from hybrid.passes.strip_labels import label_names

from .batching import BATCH, dynamic_batch, fixed_batch, with_batch_size
from .cases import Cases, further_cases, samplers
from .compare import Tolerance, as_tolerance
from .detectors import without_suppression
from .draws import KINDS, Kind
from .engines import NativeEngine, OnnxEngine
from .expected import fed, renamed, with_inputs, with_recording
from .inputs import Given, Inputs, as_specs, loaded, sources_of
from .job import Clock, Verified, check_target, publish
from .judge import check
from .models import (
    ONNX,
    BadInput,
    Model,
    describe,
    onnx_spec,
    open_model,
)
from .opsets import check_opset, default_opset, newest, opens
from .paths import one_or_more
from .pipeline.labels import as_metadata
from .pipeline.postprocess import Postprocess, postprocessed
from .pipeline.preprocess import Preprocess, preprocessed
from .provenance import add_to_file, provenance
from .recorded import Recording, load_recording
from .refusing import with_cut_points
from .renaming import rename_inputs, with_new_names
from .result import Case, Progress, VerifyResult, identify, with_names
from .settle import freed, held_inputs, settle_inputs
from .targets.deployed import Outcome, facts_of
from .targets.writing import check_for_targets, run_on_targets, translated, written_for

RANKING_TRIES = 3  # sets of drawn inputs, when near ties in a ranking are all that differs
MAPPED_OVER = 64 << 20  # bytes of weights; beyond, verification maps the written file's bytes instead of loading copies


@dataclass(frozen=True, repr=False)
class ConvertResult(Verified):
    """The result of a conversion."""

    model: str
    files: tuple[str, ...]
    """Files written; empty when no output was asked for."""
    opset: int
    inputs: dict[str, dict[str, Any]]
    outputs: dict[str, dict[str, Any]]
    operators: dict[str, int]
    """ONNX operators and how often each occurs."""
    parameters: int
    bytes: int
    verified: bool
    verification: VerifyResult | None
    pruned: tuple[str, ...]
    """Inputs of the symbol that inference does not read (labels)."""
    unused: tuple[str, ...]
    """Parameters in the file that the graph does not mention."""
    warnings: tuple[str, ...]
    seconds: dict[str, float]
    left_out: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Outputs that only training needs, and the labels that feed them."""
    read: tuple[str, ...] = ()
    """Files that the model was read from."""
    targets: tuple[Outcome, ...] = ()
    """Outcomes of the file on each of the targets that it was written for."""

    def as_dict(self) -> dict[str, Any]:
        plain = dataclasses.replace(self, targets=())
        return {**Verified.as_dict(plain), "targets": [o.as_dict() for o in self.targets]}


def convert(
    symbol: Any,
    params: Any = None,
    *,
    inputs: Given | None = None,
    output: str | os.PathLike[str] | None = None,
    dynamic: Mapping[str, Mapping[int, str]] | None = None,
    opset: int | str | None = None,
    outputs: str | Sequence[str] | None = None,
    verify: bool = True,
    also: Given | Sequence[Given] = (),
    expected: str | os.PathLike[str] | Recording | None = None,
    seed: int = 0,
    ranges: Mapping[str, tuple[float, float]] | None = None,
    draws: Sequence[Kind] = KINDS,
    tolerance: Tolerance | tuple[float, float] | None = None,
    external_data: bool | None = None,
    rename: Mapping[str, str] | None = None,
    free: str | Sequence[str] | None = None,
    training: bool = False,
    keep_inputs: bool = False,
    batch: int | str | None = None,
    targets: str | Sequence[str] | None = None,
    preprocess: Preprocess | None = None,
    postprocess: Postprocess | None = None,
    forms: Forms = USUAL,
    repro: str | os.PathLike[str] | None = None,
    strict: bool = False,
    layers: bool = False,
    progress: Progress | None = None,
) -> ConvertResult:
    """Convert a symbol with parameters to ONNX and prove with onnxruntime that the numbers stayed.

    symbol: a path, prefix, Symbol or SymbolBlock.
    params: a path or dict; by default the newest ``PREFIX-NNNN.params``.
    inputs: an .npz, or a shape, array or Spec by name, for what the model does not tell by itself.
    output: the file to write; it appears only when the models are equivalent.
    dynamic: names of axes that may vary, ``{"data": {0: "batch"}}``; verified at two sizes.
    also: further inputs to verify with, in place of the second size that is otherwise made up. ranges: (low, high) of draws by
    name. draws: the kinds of them: "expected" by the network, "wide", and "edges" of what it takes.
    expected: recorded outputs (bridge.record, record_with_mxnet.py) that both the symbol and the file have to give too.
    opset: 7 to the newest that onnx defines, or "newest", the newest at which onnxruntime has all kernels; by default the oldest
        from 13 on that loses nothing for this network (docs/decisions/0029-opsets.md).
    outputs: cut the graph at these. tolerance: (atol, rtol) in place of the dtype's.
    external_data: weights beside the file (by itself past 2 GB). rename: other names for inputs and outputs in the file, by those
    that they have. free: parameters that become inputs, of the shapes that are stored.
    training: the network as MXNet trains it, with losses, labels as inputs, and moving statistics (converters/training.py); what is
    random in it is left out of what is verified. keep_inputs: inputs stay where nothing reads them, and labels that have a shape.
    forms: those of ONNX that the file is written in. batch: the size of the batch axis of every input, or "batch" to leave it open.
    preprocess: what the file does with pictures before the network gets them; inputs, also and ranges are those of the file then.
    postprocess: what it makes of scores.
    targets: where the file is deployed, such as "openvino" (bridge/targets): it has the opset and the forms that these take, and is
    run on those that are installed; nothing is written where one refuses it or gives other numbers.
    repro: a folder for a minimal reproduction when the models differ. strict: also refuse when an output agrees and says little.
    layers: measure every tensor inside also when they agree.

    Raises BadInput, converters.UnsupportedModel (listing every node), NotEquivalent, EngineError (of targets TargetFailed),
    hybrid's FormatError.
    """
    tell = progress or (lambda _text: None)
    clock = Clock()
    how = written_for(targets, opset, forms)
    forms = how.forms
    tell("reading the model")
    model = open_model(symbol, params, foreign=True).select(one_or_more(outputs))
    if model.is_onnx:
        raise BadInput(f"{model.name} is ONNX already; convert takes an MXNet symbol")
    target = Path(output) if output is not None else None
    if target is not None:
        check_target(target, *model.files())
        if external_data:
            check_target(target.with_name(f"{target.name}.data"), *model.files())
    problems = [
        f"dynamic {name}: got {axes!r}, wanted labels by axis, such as {{0: 'batch'}}"
        for name, axes in (dynamic or {}).items()
        if not isinstance(axes, Mapping)
        or not all(isinstance(a, int | np.integer) and isinstance(label, str) for a, label in axes.items())
    ]
    if problems:
        raise BadInput(*problems)
    if isinstance(batch, str) and batch != BATCH:
        raise BadInput(f"batch: got {batch!r}, wanted a size, or {BATCH!r} for one that stays open")
    recording = None if expected is None else with_inputs(load_recording(expected), inputs, model)
    if recording is not None and (training or not verify):
        raise BadInput("recorded outputs are those of inference, verified: convert without --training and --no-verify")
    if (preprocess or postprocess) and (recording is not None or training):
        raise BadInput(
            "pre- and post-processing belong to the file that is deployed: convert without --training, and compare recorded "
            "outputs with a file that holds the network alone"
        )
    given = loaded(inputs, model) if recording is None else fed(recording, model)
    specs, arrays = as_specs(given)
    if not training:
        model = model.inferring(specs)
    model, stored = freed(model, one_or_more(free) or ())
    specs, dynamic = stored | specs, dynamic or {}
    facts = as_metadata(postprocess.labels) if postprocess else {}
    if preprocess:
        prepared = preprocessed(model, preprocess, specs, dynamic, ranges or {})
        model, specs, dynamic, ranges = prepared[:4]
        facts |= prepared.facts
    given_specs = specs
    if batch is not None:
        specs = with_batch_size(model, specs, batch if isinstance(batch, int) else 1)
    specs = settle_inputs(model, specs, dynamic)
    if isinstance(batch, int):
        specs = settle_inputs(model, fixed_batch(model, specs, given_specs, dynamic, batch), dynamic)
    elif batch is not None:
        dynamic = dynamic_batch(model, specs, dynamic)
    if postprocess:
        model = postprocessed(model, postprocess, specs)
    model, new_inputs = with_new_names(model, rename or {})
    if forms.nan_guards is False:  # what lies beyond is left to the runtime
        draws = [kind for kind in draws if kind != "edges"]
    detector = None
    if forms.nms != PLAIN.nms:
        model, forms, detector = without_suppression(
            model, forms, specs, training=training, recorded=recording is not None
        )
        facts |= detector.facts
    sets = [loaded(each, model) for each in one_or_more(also)]
    warnings = _warnings(model) + ([] if detector is None else [detector.note])
    axes, twin = dynamic, None
    if training:
        model, twin, axes = _to_train(model, specs, axes)
        forms = for_training(forms)
        specs = settle_inputs(model, specs, axes)
    clock.lap("read")
    tell("converting")
    check_opset(opset)
    if verify and isinstance(opset, int) and not opens(opset):
        raise BadInput(
            f"onnxruntime {onnxruntime.__version__} opens no model of opset {opset} to verify it (the newest is {newest()}); "
            "choose an older opset, or leave verification out (--no-verify)"
        )
    shaped = {n: _with_axes(s, axes.get(n, {})) for n, s in specs.items()}
    most = newest() if verify else None
    try:
        converted = translated(
            dataclasses.replace(how, forms=forms), model, shaped, most, default=default_opset(), keep_inputs=keep_inputs
        )
    except converters.UnsupportedModel as error:
        raise with_cut_points(error, model, specs, opset) from error
    rename_inputs(converted.model.graph, new_inputs)
    saved = converted if detector is None else detector.finished(converted)
    tell("checking")
    check_model(saved)
    check_for_targets(how, saved, model, shaped)
    clock.lap("convert")

    def verified(written: list[Path]) -> VerifyResult:
        tell("preparing inputs")
        shown, made, path = model, converted, written[0]
        if saved is not converted:
            path = path.parent / "still" / "model.onnx"
            path.parent.mkdir()
            made.save(path)
        if twin is not None:
            shown, path = twin, path.parent / "still" / "model.onnx"
            made = ONNX.translated(twin, inputs=shaped, opset=converted.opset, forms=forms)
            rename_inputs(made.model.graph, new_inputs)
            path.parent.mkdir()
            made.save(path)
            warnings.append("verified without what is random: Dropout left out, slopes of rrelu at their mean")
        return _verify(
            shown,
            path,
            made,
            specs,
            arrays,
            axes,
            sets,
            seed,
            ranges,
            draws,
            sources_of(given),
            tolerance,
            repro,
            tell,
            recording,
            layers,
            new_inputs,
        )

    outcomes: tuple[Outcome, ...] = ()

    def verified_and_run(written: list[Path]) -> VerifyResult:
        nonlocal outcomes
        found = verified(written)
        if how.profiles and found.verdict != "not equivalent":
            clock.lap("verify")
            outcomes = run_on_targets(
                how, written[0], converted, model, specs, arrays, seed=seed, names=new_inputs, ranges=ranges,
                files=sources_of(given), tolerance=as_tolerance(tolerance), tell=tell,
            )  # fmt: skip
            clock.lap("targets")
        return found

    result, files = None, []
    if target is not None or verify:
        name = target.name if target is not None else "model.onnx"
        files, result = publish(
            lambda folder: saved.save(folder / name, external=external_data),
            verified_and_run if verify else None,
            target,
            model.files(),
            strict=strict,
            warnings=warnings,
            tell=tell,
            clock=clock,
            seal=lambda written, found: add_to_file(
                written[0],
                provenance(model, converted.opset, seed, found, facts_of(outcomes)) | facts,
            ),
        )
        warnings += () if result is None else result.warnings
    unused = model.extra_params()
    return ConvertResult(
        model=model.name,
        files=tuple(map(str, files)),
        opset=converted.opset,
        inputs={i.name: describe(onnx_spec(i)) for i in converted.model.graph.input},
        outputs={o.name: describe(onnx_spec(o)) for o in saved.model.graph.output},
        operators=dict(Counter(n.op_type for n in saved.model.graph.node).most_common()),
        parameters=sum(a.size for n, a in model.params.items() if n not in unused),
        bytes=sum(Path(f).stat().st_size for f in files) or converted.nbytes,
        verified=result is not None,
        verification=result,
        pruned=tuple(
            n for n in model.variables() if new_inputs.get(n, n) not in {i.name for i in converted.model.graph.input}
        ),
        unused=tuple(unused),
        warnings=tuple(dict.fromkeys(warnings)),
        seconds=clock.laps,
        left_out=dict(model.left_out),
        read=tuple(str(p) for p in (model.path, model.params_path) if p is not None),
        targets=outcomes,
    )


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
        other = _other_sizes(specs, dynamic)
        varied = model.infer(other)
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


def _with_axes(spec: Spec, axes: Mapping[int, str]) -> Spec:
    assert spec.shape is not None
    return Spec(tuple(axes.get(i, d) for i, d in enumerate(spec.shape)), spec.dtype)


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


def check_model(converted: Converted) -> None:
    """onnx.checker with shape inference. Large weights stand in as inputs: their values matter to neither. Models with control flow
    are checked without where inference fails: inside a body it takes constants of the graph around it for empty.

    Raises ConversionError."""
    unranked = [
        o.name
        for o in converted.model.graph.output
        if o.type.WhichOneof("value") == "tensor_type" and not o.type.tensor_type.HasField("shape")
    ]
    if unranked:
        raise converters.ConversionError(
            f"how many dimensions {', '.join(unranked)} has depends on sizes that are dynamic, and ONNX wants that to be known of "
            "an output; give sizes instead, or cut the network before (--outputs)"
        )
    model = onnx.ModelProto()
    model.CopyFrom(converted.listed)
    inputs = {i.name for i in model.graph.input}
    for name, array in converted.initializers.items():
        code = code_of(array.dtype)
        if array.nbytes <= EXTERNAL_OVER:
            model.graph.initializer.append(onnx.numpy_helper.from_array(np.asarray(array, order="C"), name))
        elif name not in inputs:
            model.graph.input.append(onnx.helper.make_tensor_value_info(name, code, array.shape))
    bodies = any(a.type == onnx.AttributeProto.GRAPH for n in model.graph.node for a in n.attribute)
    try:
        try:
            onnx.checker.check_model(model, full_check=True)
        except onnx.shape_inference.InferenceError:
            if not bodies:
                raise
            onnx.checker.check_model(model)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        raise converters.ConversionError(
            f"the converted model is not valid ONNX, a fault of gluonnx: {error}"
        ) from error


def _verify(
    model: Model,
    path: Path,
    converted: Converted,
    specs: Mapping[str, Spec],
    arrays: Mapping[str, np.ndarray],
    dynamic: Mapping[str, Mapping[int, str]],
    also: Sequence[Inputs],
    seed: int,
    ranges: Mapping[str, tuple[float, float]] | None,
    draws: Sequence[Kind],
    files: Mapping[str, str],
    tolerance: Tolerance | tuple[float, float] | None,
    repro: str | os.PathLike[str] | None,
    tell: Progress,
    recording: Recording | None = None,
    layers: bool = False,
    names: Mapping[str, str] | None = None,
) -> VerifyResult:
    start = time.perf_counter()
    opened = path
    if converted.nbytes > MAPPED_OVER and converted.nbytes <= path.stat().st_size:
        opened = path.with_name("mapped.onnx")
        write(opened, converted.with_external_data(path.name).SerializeToString())
    written = Model(model.name, proto=converted.model, path=opened)
    left, right = NativeEngine(model, specs), OnnxEngine(written, frugal=True, scratch=opened is not path)
    used = {n: s for n, s in specs.items() if n in left.inputs}

    def check_cases(chosen: list[Case], repro: str | os.PathLike[str] | None = None) -> VerifyResult:
        return check(left, right, chosen, tolerance=limits, repro=repro, progress=tell, layers=layers)

    def cases(seed: int) -> list[Case]:
        given, seen = {n: a for n, a in arrays.items() if n in left.inputs}, {}
        made = Cases(left, right, used, given, names=names, ranges=ranges, files=files)
        out = [made.case(seed, seen=seen)]
        for number, inputs in enumerate(also, 1):
            try:
                further, given = as_specs(inputs)
                of = {"names": names, "ranges": ranges, "files": sources_of(inputs)}
                more = Cases(left, right, {**used, **further}, given, **of)
                out.append(more.case(seed + number, seen=seen))
                left.program.inference(left.complete(out[-1].feeds))
            except (BadInput, MXNetError) as error:
                raise BadInput(f"further inputs (also), set {number} of {len(also)}: {error}") from error
        if dynamic and all(case.shapes == out[0].shapes for case in out):
            try:
                other = Cases(left, right, _other_sizes(used, dynamic), {}, like=arrays, names=names, ranges=ranges)
                out.append(other.case(seed + 1, seen=seen))
                left.program.inference(left.complete(out[-1].feeds))
            except MXNetError as error:
                raise BadInput(
                    f"the model does not fit the sizes made up to verify its dynamic axes ({error}); "
                    "make the axes that vary together dynamic under one label, or "
                    "give a second set of inputs (--also FILE.npz, or also=) of sizes that belong together"
                ) from error
        return out + further_cases(made, seed, seen, draws)

    limits = as_tolerance(tolerance)
    result = check_cases(cases(seed), repro)
    for attempt in range(1, RANKING_TRIES):
        if not _only_ties_differ(result):
            break
        at = result.divergence.node if result.divergence else ""
        tell(f"near ties at {at}: drawing other inputs")
        again = check_cases(cases(seed + 1000 * attempt))
        if again.equivalent:
            note = (
                f"with seed {seed} near ties came in another order at {at}, which is right by itself; "
                f"seed {seed + 1000 * attempt} agrees throughout"
            )
            result = dataclasses.replace(again, warnings=(note, *again.warnings))
    if recording is not None:
        told = renamed(recording, left)
        result = with_recording(result, told, left, right, tolerance=limits, progress=tell)
    read = identify(p for p in (model.path, model.params_path) if p is not None), ()
    return with_names(result, model.name, path.name, time.perf_counter() - start, read)


def _only_ties_differ(result: VerifyResult) -> bool:
    """True where all that is known to differ are near ties in a drawn input, put in another order by rounding before a node that
    ranks and that is right by itself. Another draw then tells whether everything after it is right too."""
    found = result.divergence
    if result.equivalent or found is None or found.kind != "accumulated" or found.operator not in OPS:
        return False
    return OPS[found.operator].is_ordering and any(run["seed"] is not None for run in result.runs)


def _other_sizes(specs: Mapping[str, Spec], dynamic: Mapping[str, Mapping[int, str]]) -> dict[str, Spec]:
    """The same inputs with every dynamic axis at another size: leading ones one up, others twice as long.

    Axes of one label keep one size, wherever they stand."""
    sizes: dict[str, int] = {}
    out = {}
    for name, spec in specs.items():
        assert spec.shape is not None
        axes = dynamic.get(name, {})
        for axis, label in axes.items():
            size = spec.shape[axis]
            sizes.setdefault(label, size + 1 if axis == 0 else size * 2)
        out[name] = Spec(tuple(sizes[axes[i]] if i in axes else d for i, d in enumerate(spec.shape)), spec.dtype)
    return out
