"""A symbol becomes a verified ONNX file in another precision.

First it is converted as it is, and verified as any conversion is. That file is then rewritten, the new one is held against it, and
only then appears: what the first verification says of MXNet's network, the second carries on to the precision asked for."""

from __future__ import annotations

import dataclasses
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from converters.forms import PLAIN
from converters.precision.qdq import OLDEST
from converters.precision.retype import GREATEST, WIDENED, from_proto, retype
from converters.writer import DATA_KEY, Converted
from hybrid.core.attrs import is_half
from hybrid.core.op import Spec
from hybrid.formats.files import move, scratch

from ..cases import Cases
from ..compare import TOLERANCES, Tolerance
from ..conversion.writing import check_model
from ..convert import ConvertResult, convert
from ..engines import OnnxEngine
from ..faces.notebook import listener
from ..half import PRECISION
from ..inputs import Feeds, Given, as_specs, loaded, sources_of
from ..job import NotEquivalent, check_target
from ..models import Model, describe, onnx_spec, open_model, specs_of_onnx
from ..paths import BadInput, bytes_text, one_or_more
from ..provenance import PREFIX, add_to_file
from ..result import Progress, VerifyResult, identify
from ..targets.deployed import TARGET, Outcome, facts_of
from ..targets.writing import written_for
from ..verify import verify
from .accuracy import BEFORE, Accuracy, AccuracyReport, chosen, judged, measure, top
from .choosing import Choice, choose
from .examples import Examples, check_examples, load_examples, load_labels, notes_of_calibration, sizes_told
from .places import check_places, run_in_places
from .scales import scales_of
from .staying import EXACT, HEADROOM, Staying
from .survey import Range, as_taken, engine_of, halves, survey
from .wishes import DRAWN, Half, Labelled, Precision, Quantized, Single

DRAWS = 2
"""Sets of inputs that are drawn where no examples are given."""
ROUNDS = 8
"""Times that nodes which float16 harms go back to float32."""
RUNTIME_LOSS = 3.0
"""Decibels that fused kernels may lose beside the same nodes one by one; beyond, a warning says so."""
LEAST_HALF = 30.0
"""Decibels of signal to noise that float16 has at least: an error of 3% in the root of the mean square. Usual are 55 to 75."""


class TooInexact(BadInput):
    """The file in another precision is further from what it was made of than is allowed; nothing was written. ``report`` has the
    figures."""

    def __init__(self, report: AccuracyReport, *problems: str):
        super().__init__(*problems)
        self.report = report


@dataclass(frozen=True, repr=False)
class ReducedResult(ConvertResult):
    """The result of a conversion to another precision. ``verification`` is that of the file before it was rewritten."""

    accuracy: AccuracyReport | None = None
    against: VerifyResult | None = None
    """The new file against that one, node by node; None for 8-bit integers, of which ``accuracy`` tells all."""

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        out = {**super().as_dict(), "against": None if self.against is None else self.against.as_dict()}
        for name in ("outputs", "layers"):
            for entry, found in zip(out["accuracy"][name], getattr(self.accuracy, name)):
                entry["max_rel"] = found.max_rel
        return out


def convert_in(
    precision: Precision,
    symbol: Any,
    params: Any = None,
    *,
    inputs: Given | None = None,
    output: str | os.PathLike[str] | None = None,
    outputs: str | Sequence[str] | None = None,
    also: Given | Sequence[Given] = (),
    rename: Mapping[str, str] | None = None,
    ranges: Mapping[str, tuple[float, float]] | None = None,
    seed: int = 0,
    external_data: bool | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> ReducedResult:
    """Convert a symbol with parameters to ONNX in another precision, and measure what that costs.

    precision: Half, Single or Quantized. symbol, params, inputs, outputs, also, rename, ranges, seed, external_data, progress and
    further options are those of bridge.convert; the tolerance among them is that of the file before it is rewritten. output: the
    file to write; it appears only when all is well. The examples that numbers are measured on are those of precision.data, or else
    the inputs given and drawn. The result is a ConvertResult with ``accuracy``, what the precision costs, layer by layer.

    Raises what convert raises, NotEquivalent where a node of the new file computes something else, and TooInexact (a BadInput)
    where its outputs are too far off.

    Examples
    --------
    >>> import gluonnx
    >>> result = gluonnx.convert_in(
    ...     gluonnx.Half(), "model", inputs={"data": (1, 3)}, output="half.onnx")
    >>> type(result).__name__
    'ReducedResult'
    """
    tell = listener(progress)
    target = None if output is None else Path(output)
    profiles = written_for(options.get("targets"), None).profiles
    if isinstance(precision, Quantized) and any(p.symmetric for p in profiles):
        precision = dataclasses.replace(precision, activations="int8", weights="int8", biases=False)
    if options.get("training"):
        raise BadInput("another precision is for inference; leave out --training, or --fp16, --fp32 and --quantize")
    model = open_model(symbol, params, foreign=True)
    if target is not None:
        check_target(target, *model.files())
    if isinstance(precision, Quantized):  # those of MXNet's own too
        options["forms"] = dataclasses.replace(options.get("forms", PLAIN), quantized="qdq")
    sizes: list[str] = []
    if precision.data != DRAWN and options.get("expected") is None:
        inputs = loaded(inputs, model)
        cut = model.select(one_or_more(outputs))
        told, sizes = sizes_told(precision.data, cut, inputs, rename or {}, options.get("batch"))
        inputs = Feeds({**told, **inputs}, sources_of(inputs))
    with tempfile.TemporaryDirectory() as scratched:
        plain = Path(scratched) / (target.name if target is not None else f"{model.name}.onnx")
        result = convert(
            model,
            inputs=inputs,
            output=plain,
            outputs=outputs,
            also=also,
            rename=rename,
            ranges=ranges,
            seed=seed,
            progress=progress,
            **options,
        )
        before = from_proto(_without_digest(onnx.load(plain)))
        held = Model(model.name, proto=onnx.load(plain, load_external_data=False), path=plain)
        tell("reading examples")
        examples = _examples(precision, held, model, result, inputs, rename or {}, ranges, seed)
        made = _MADE[type(precision)](precision, held, before, examples, tell)
        check_places(profiles, made.converted)
        report = dataclasses.replace(made.report, bytes=(result.bytes, 0))
        report = _labelled(precision, report, before, made.converted, examples)
        folder = scratch(target.parent) if target is not None else tempfile.TemporaryDirectory()
        with folder as place:
            tell("writing")
            written = made.converted.save(Path(place) / plain.name, external=external_data)
            outcomes = run_in_places(profiles, written[0], before, made.converted, examples.feeds, tell)
            add_to_file(written[0], _facts(report, outcomes))
            size = sum(f.stat().st_size for f in written)
            report = _beside_half(dataclasses.replace(report, bytes=(report.bytes[0], size)), before)
            files: list[Path] = []
            if target is not None:
                files = [target.with_name(f.name) for f in written]
                for file in files:
                    check_target(file, *model.files())
                move(*zip(written, files))
    graph = made.converted.model.graph
    fields = {f.name: getattr(result, f.name) for f in dataclasses.fields(ConvertResult)}
    fields |= {
        "files": tuple(map(str, files)),
        "sha256": {f.path: f.sha256 for f in identify(files)},
        "inputs": {i.name: describe(onnx_spec(i)) for i in graph.input},
        "outputs": {o.name: describe(onnx_spec(o)) for o in graph.output},
        "operators": dict(Counter(n.op_type for n in graph.node).most_common()),
        "bytes": size,
        "opset": made.converted.opset,
        "warnings": tuple(dict.fromkeys((*sizes, *result.warnings, *made.warnings))),
        "targets": outcomes,
    }
    return ReducedResult(**fields, accuracy=report, against=made.against)


@dataclass(frozen=True)
class Made:
    """A rewritten model, measured."""

    converted: Converted
    report: AccuracyReport
    against: VerifyResult | None = None
    warnings: tuple[str, ...] = ()


def _without_digest(proto: onnx.ModelProto) -> onnx.ModelProto:
    """The model without what its metadata says of a file of weights, and of targets, which will be another's."""
    kept = [p for p in proto.metadata_props if p.key != DATA_KEY and not p.key.startswith(f"{PREFIX}{TARGET}")]
    del proto.metadata_props[:]
    proto.metadata_props.extend(kept)
    return proto


def _beside_half(report: AccuracyReport, before: Converted) -> AccuracyReport:
    """The report, with a note where float16 would be the smaller file: scales and pairs of small layers outweigh their weights."""
    after = report.bytes[1]
    half = report.bytes[0] - sum(a.nbytes // 2 for a in before.initializers.values() if a.dtype == np.float32)
    if report.precision != "int8" or after <= half:
        return report
    note = f"float16 would be smaller: about {bytes_text(half)}, where this is {bytes_text(after)}; --fp16 writes it"
    return dataclasses.replace(report, notes=(*report.notes, note))


def _facts(report: AccuracyReport, outcomes: Sequence[Outcome]) -> dict[str, str]:
    """Facts of its precision that the file carries, without anything that another run would say otherwise."""
    worst = report.worst
    found = {"precision.examples": str(report.examples), BEFORE: str(report.bytes[0])}
    if worst is not None:
        found["precision.sqnr"] = f"{worst.sqnr:.0f} dB or more"
    if report.calibration:
        found["precision.calibration"] = ", ".join(f"{k} {v}" for k, v in report.calibration.items())
    return {f"{PREFIX}{name}": value for name, value in (found | facts_of(outcomes)).items()}


# -- examples -------------------------------------------------------------------------------------------------------------


def _examples(
    precision: Precision,
    held: Model,
    model: Model,
    result: ConvertResult,
    inputs: Given | None,
    rename: Mapping[str, str],
    ranges: Mapping[str, tuple[float, float]] | None,
    seed: int,
) -> Examples:
    """The sets of inputs to measure on, by the names of the ONNX file, with their classes."""
    assert held.proto is not None
    own = specs_of_onnx(held.proto)
    specs, arrays = as_specs(loaded(inputs, model))
    specs = {rename.get(n, n): s for n, s in specs.items()}
    arrays = {rename.get(n, n): a for n, a in arrays.items() if rename.get(n, n) in own}
    known = {n: Spec(s.shape) for n, s in specs.items() if n in own}
    if result.verification is not None and result.verification.runs:
        told = result.verification.runs[0].get("inputs", {})
        known |= {
            name: Spec(tuple(d["shape"])) for n, d in told.items() if (name := d.get("second", rename.get(n, n))) in own
        }
    own_data = precision.data is not DRAWN and precision.data != DRAWN

    def cases_drawn() -> Cases:
        """The draws as they are for the comparison of the file before."""
        engine = OnnxEngine(held)
        given = {n: Spec(s.shape, own[n].dtype) for n, s in known.items()}
        fitting = {n: a.astype(own[n].dtype) for n, a in arrays.items()}
        limits = {rename.get(n, n): r for n, r in (ranges or {}).items()}
        return Cases(engine, engine, given, fitting, ranges=limits)

    if own_data:
        found = load_examples(precision.data, held, known, ranges)
        if isinstance(precision, Quantized) and result.verification is not None and result.verification.runs:
            case = cases_drawn().case(seed)
            compared = {n: (case.origins.get(n, "given").rpartition(": ")[2], a) for n, a in case.feeds.items()}
            found = dataclasses.replace(found, compared=compared)
    else:
        cases = cases_drawn()
        count = DRAWS if cases.drawn else 1
        many = 4 * count if isinstance(precision, Quantized) and cases.drawn else count
        feeds = [cases.case(seed + i).feeds for i in range(many)]
        told = "the inputs given" if not cases.drawn else f"{many} sets drawn, seed {seed}"
        found = Examples(feeds, told, drawn=bool(cases.drawn))
    check_examples(found, calibrate=isinstance(precision, Quantized))
    if precision.labels is not None:
        return dataclasses.replace(found, labels=load_labels(precision.labels, found.count))
    return found


def _labelled(
    precision: Precision, report: AccuracyReport, before: Converted, after: Converted, examples: Examples
) -> AccuracyReport:
    """The report with shares of examples that are classed rightly, where classes are known."""
    if examples.labels is None:
        return report
    outputs = []
    for converted in (before, after):
        engine = engine_of(converted, "model", frugal=True)
        runs = [engine.run_unchecked(as_taken(converted, f)) for f in examples.feeds]
        name = next(
            (
                o.name
                for o in converted.model.graph.output
                if runs[0][o.name].ndim == 2 and runs[0][o.name].shape[1] > 1
            ),
            None,
        )
        if name is None:
            shapes = ", ".join(f"{o.name} {runs[0][o.name].shape}" for o in converted.model.graph.output)
            raise BadInput(f"labels want scores of classes (N, classes); the network gives {shapes}")
        outputs.append(np.concatenate([r[name] for r in runs])[: len(examples.labels)].astype(np.float32))
    classes = outputs[0].shape[1]
    if examples.labels.max() >= classes or examples.labels.min() < 0:
        raise BadInput(
            f"labels: from {examples.labels.min()} to {examples.labels.max()}, where there are {classes} classes from 0"
        )
    top1, top5 = (tuple(top(scores, examples.labels, n) for scores in outputs) for n in (1, 5))
    found = Labelled(len(examples.labels), (top1[0], top1[1]), (top5[0], top5[1]) if classes > 5 else None)
    return dataclasses.replace(report, labelled=found)


# -- float16 and float32 --------------------------------------------------------------------------------------------------


def _half(wishes: Half, held: Model, before: Converted, examples: Examples, tell: Progress) -> Made:
    """The model in float16, without what that would harm. Raises BadInput, NotEquivalent and TooInexact."""
    tell("looking for numbers beyond float16")
    ranges = survey(before, examples.feeds)
    staying = Staying(before, ranges)
    staying.find(wishes.keep)
    turned = _turned(before, ranges, staying) if wishes.io else set()
    fed = {n: np.dtype(np.float16) for n in turned}
    judged_by = judged(before)
    for attempt in range(ROUNDS):
        made = retype(before, stay=staying.tensors, turned=turned)
        made.converted.model.metadata_props.add(key=PRECISION, value="float16")
        check_model(made.converted)
        against, faults = _against(held, made.converted, examples, tell)
        layers = measure(before, made.converted, examples.feeds, fed=fed)
        harmed = [n for n in before.model.graph.node if faults.intersection(n.output) and not staying.stays(n)]
        lost = {a.tensor for a in layers if a.misplaced}
        harmed += [n for n in before.model.graph.node if lost.intersection(n.output) and not staying.stays(n)]
        if not harmed or attempt == ROUNDS - 1:
            break
        for node in harmed:
            staying.stay(node, "float16 gives it other numbers, measured")
        staying.settle()
    report = _report(
        "float16",
        before,
        examples,
        layers,
        judged=judged_by,
        least=LEAST_HALF,
        stays=tuple(staying.found[t] for t in _in_order(before, staying.tensors)),
        beyond=tuple(staying.beyond),
        casts=made.casts,
    )
    if against.verdict == "not equivalent":
        raise NotEquivalent(
            against, ["this is the file in float16 against that in float32; --keep-float lets nodes stay"]
        )
    _refuse_inexact(report, "--keep-float NODE lets nodes stay in float32")
    return Made(made.converted, report, against, _notes(report, against))


def _report(
    precision: str, before: Converted, examples: Examples, layers: tuple[Accuracy, ...], **more: Any
) -> AccuracyReport:
    """The report on a file in another precision, whose size is known when it is written. more: further fields."""
    outputs = {o.name for o in before.model.graph.output}
    return AccuracyReport(
        precision=precision,
        bytes=(0, 0),
        examples=len(examples.feeds),
        data=examples.told,
        outputs=tuple(a for a in layers if a.tensor in outputs),
        layers=layers,
        chosen=chosen(before),
        **more,
    )


def _turned(before: Converted, ranges: Mapping[str, Range], staying: Staying) -> set[str]:
    """Inputs and outputs that become float16: not those that hold more than that can."""
    graph = before.model.graph
    wide = {n for n, r in ranges.items() if r.greatest * HEADROOM > GREATEST or (r.whole and r.greatest > EXACT)}
    reading = {i.name for i in graph.input if all(staying.stays(n) for n in staying.readers.get(i.name, ()))}
    return {v.name for v in (*graph.input, *graph.output)} - wide - reading


def _in_order(converted: Converted, names: set[str]) -> list[str]:
    return [o for n in converted.model.graph.node for o in n.output if o in names]


def _against(
    held: Model, after: Converted, examples: Examples, tell: Progress, tolerance: Tolerance | None = None
) -> tuple[VerifyResult, set[str]]:
    """The new model against the old one on the first examples, and the tensors whose nodes compute something else."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        after.save(path)
        first, *more = examples.feeds[:DRAWS]
        found = verify(
            held, path, inputs=first, also=more, draws=("expected",), layers=False, tolerance=tolerance, progress=tell
        )
    names = {n for f in found.located for n in (f.tensor, f.second) if n}
    spans = {n for f in found.located for n in f.span}
    makers = {o: n for n in after.model.graph.node for o in n.output}
    names |= {o for o, n in makers.items() if n.name in spans}
    return dataclasses.replace(found, b=f"{held.name} in float16"), names


def _refuse_inexact(report: AccuracyReport, advice: str) -> None:
    """Raise TooInexact where what a network is judged by is too far off."""
    failing = report.failing
    if not failing:
        return
    worst = [
        f"{a.tensor}: {a.sqnr:.1f} dB of signal to noise where {report.least:g} are wanted (cosine {a.cosine:.5f}, max abs "
        f"{a.max_abs:.3g} of {a.scale:.3g})"
        + (f", {a.misplaced} numbers are NaN or infinite on one side" if a.misplaced else "")
        for a in failing
    ]
    first = next((a for a in report.layers if a.sqnr < report.least + 6 and a.reduced), None)
    where = (
        f"the first layer that loses as much is {first.node} ({first.operator}), {first.sqnr:.1f} dB; " if first else ""
    )
    raise TooInexact(report, *worst, f"{where}{advice}")


def _notes(report: AccuracyReport, against: VerifyResult | None = None) -> tuple[str, ...]:
    """Notes for a user."""
    notes = [f"{b.tensor} holds {b.value:.3g}, beyond float16: {b.became}" for b in report.beyond]
    return tuple(notes)


def _single(wishes: Single, held: Model, before: Converted, examples: Examples, tell: Progress) -> Made:
    """The model in float32. Raises NotEquivalent and TooInexact, and BadInput where nothing in it is of half precision."""
    made = retype(before, WIDENED, turned=None)
    count = halves(before)
    if not count:
        raise BadInput(f"{held.name}: nothing in it is float16 or bfloat16; leave out --fp32")
    check_model(made.converted)
    wider = [as_taken(made.converted, f) for f in examples.feeds]
    limits = None if count > len(before.model.graph.node) // 2 else TOLERANCES["float16"]
    against, _ = _against(held, made.converted, dataclasses.replace(examples, feeds=wider), tell, limits)
    own = {i.name: onnx_spec(i).dtype for i in before.model.graph.input}
    fed = {n: np.dtype(np.float32) for n, d in own.items() if is_half(d)}
    layers = measure(before, made.converted, examples.feeds, fed=fed)
    report = _report(
        "float32",
        before,
        examples,
        layers,
        judged=judged(before),
        least=LEAST_HALF,
    )
    if against.verdict == "not equivalent":
        raise NotEquivalent(against, ["this is the file in float32 against that in half precision"])
    _refuse_inexact(report, "the network computes something else in float32 than in half precision")
    return Made(made.converted, report, against)


# -- 8-bit integers -------------------------------------------------------------------------------------------------------


def _quantized(wishes: Quantized, held: Model, before: Converted, examples: Examples, tell: Progress) -> Made:
    """The model on 8-bit integers. Raises BadInput and TooInexact."""
    if before.opset < OLDEST:
        raise BadInput(f"8-bit integers want opset {OLDEST} or newer, got {before.opset}; choose another with --opset")
    before, examples = _widened(before, examples)
    tell("measuring ranges")
    ranges = survey(before, examples.feeds)
    choice = Choice(before, ranges)
    if not choice.products and not choice.already:
        raise BadInput(_nothing(held, choice))
    choice.ask(wishes.keep)
    scales = scales_of(wishes, before, choice.read, ranges, examples.feeds)
    judged_by = judged(before)
    made, layers = choose(wishes, choice, scales, examples.feeds, judged_by, tell)
    made.model.metadata_props.add(key=PRECISION, value="int8")
    check_model(made)
    calibration = {"method": wishes.method, "activations": wishes.activations, "weights": wishes.weights}
    if wishes.method == "percentile":
        calibration["percentile"] = f"{wishes.percentile:g}"
    if not choice.products:
        calibration = {"method": "the network's own integers"}
    fused = measure(before, made, examples.feeds, inside=False, plain=False)
    report = _report(
        "int8",
        before,
        examples,
        layers,
        judged=judged_by,
        least=wishes.least,
        stays=tuple(choice.stays[o] for o in _in_order(before, set(choice.stays))),
        quantized=tuple(choice.node(o).name or o for o in _in_order(before, {*choice.products, *choice.already})),
        calibration=calibration,
        runtime={a.tensor: a.sqnr for a in fused},
        notes=notes_of_calibration(examples) if choice.products else (),
    )
    if not report.quantized:
        left = f"no layer is left on integers: wanted {wishes.least:g} dB of each (--least {wishes.least:g}; by default 10); "
        left += "a lower one lets more layers be integers, more examples to calibrate on may help"
        raise TooInexact(report, *(f"{s.node} ({s.operator}): {s.reason}" for s in report.stays), left)
    _refuse_inexact(
        report, "--keep-float NODE lets nodes stay in float32, --calibration percentile or entropy may fit better"
    )
    return Made(made, report, None, (*_notes(report), *_of_runtime(report)))


def _widened(before: Converted, examples: Examples) -> tuple[Converted, Examples]:
    """The model in float32 where it is of half precision, and examples for that: scales are float32."""
    if not halves(before):
        return before, examples
    wider = retype(before, WIDENED, turned=None).converted
    return wider, dataclasses.replace(examples, feeds=[as_taken(wider, f) for f in examples.feeds])


def _nothing(held: Model, choice: Choice) -> str:
    """Reasons why nothing of a network can be on integers."""
    reasons = [f"{s.node} ({s.operator}): {s.reason}" for s in choice.stays.values()]
    more = f" (and {len(reasons) - 5} more)" if len(reasons) > 5 else ""
    if not reasons:
        kinds = ", ".join(sorted({n.op_type for n in choice.graph.node})) or "none"
        reasons = [f"it has no convolution and no product with constant weights; its operators are {kinds}"]
    return f"{held.name}: nothing to quantise: {'; '.join(reasons[:5])}{more}"


def _of_runtime(report: AccuracyReport) -> tuple[str, ...]:
    """A warning where onnxruntime's fused kernels on this CPU are further off than the same file node by node."""
    plain = {a.tensor: a.sqnr for a in report.outputs if a.tensor in report.judged}
    worse = [n for n, s in plain.items() if report.runtime.get(n, s) < s - RUNTIME_LOSS]
    if not worse:
        return ()
    shown = ", ".join(f"{n} {report.runtime[n]:.1f} dB instead of {plain[n]:.1f}" for n in worse[:3])
    return (
        f"onnxruntime's integer kernels on this CPU give {shown}: without VNNI they add products up in 16 bits, which saturate; "
        "--weights uint8 or int7 avoids it",
    )


_MADE: Mapping[type, Callable[..., Made]] = {Half: _half, Single: _single, Quantized: _quantized}
