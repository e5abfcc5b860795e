"""A file on 8-bit integers beside the network that it was made of: signal to noise decides, layer by layer and of outputs, as it
does where the file is written."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import onnx

from converters.forms import USUAL
from converters.precision.retype import from_proto
from converters.proto_nodes import stored_tensors
from converters.writer import Converted
from hybrid.core.op import Spec

from ..compare import SIGNAL, Difference, compare
from ..engines import Arrays
from ..half import PRECISION
from ..models import ONNX, BadInput, Model
from ..paths import plural
from ..provenance import read_facts
from ..renaming import rename_inputs
from ..result import Case, Divergence, Progress, VerifyResult
from ..scripts.plain_draws import NORMAL
from .accuracy import BEFORE, EXACT, Accuracy, AccuracyReport, chosen, judged, measure
from .pages import decibels
from .survey import as_taken, engine_of
from .wishes import Quantized

INT8 = "int8"
DRAWS = 8
"""Sets of inputs that are drawn, as many as where a file is quantised with nothing to calibrate on."""


OUTSIDE = 0.01
"""The share of drawn numbers that may lie beyond what the first quantisation holds."""
DROP = 10.0
"""Decibels that a layer at fault loses of those that its inputs have."""
SLACK = 3.0
"""Decibels that a layer may have less than is wanted of one by itself, since what it reads has noise too."""


@dataclass(frozen=True)
class QuantizedResult(VerifyResult):
    """The result of verify where one side is on 8-bit integers."""

    accuracy: AccuracyReport | None = None


def quantized_side(first: Model, second: Model) -> int | None:
    """The place of the one side that is on 8-bit integers, an ONNX file, where the other is not; else None."""
    kinds = [_is_quantized(m) for m in (first, second)]
    if kinds[0] == kinds[1]:
        return None
    place = kinds.index(True)
    return place if (first, second)[place].is_onnx else None


def _is_quantized(model: Model) -> bool:
    if model.proto is not None:
        told = next((p.value for p in model.proto.metadata_props if p.key == PRECISION), "")
        return told == INT8 or any(n.op_type == "DequantizeLinear" for n in model.proto.graph.node)
    nodes = model.graph.all_nodes() if model.graph is not None else ()
    return any(n.op is not None and ("quantize" in n.op.name or getattr(n.op, "quantized", False)) for n in nodes)


def ranges_held(
    model: Model, cases: Sequence[Case], given: Mapping[str, tuple[float, float]]
) -> dict[str, tuple[float, float]]:
    """The ranges, by input, that a file's quantisation of it holds, where nothing else is known of what the network expects, and
    what was drawn lies outside, or fills less than half. given: ranges that were asked for, which stay."""
    found = {}
    for name, (low, high) in _calibrated(model).items():
        own = next((n for n, other in cases[0].names.items() if other == name), name)
        drawn = [c.feeds[own] for c in cases if c.origins.get(own, "").endswith(NORMAL)]
        if own in given or name in given or not drawn:
            continue
        values = np.concatenate([np.asarray(a, np.float64).ravel() for a in drawn])
        outside = float(np.mean((values < low) | (values > high)))
        if outside > OUTSIDE or np.ptp(values) < (high - low) / 2:
            found[own] = (low, high)
    return found


def _calibrated(model: Model) -> dict[str, tuple[float, float]]:
    """The ranges of inputs of a file that QuantizeLinear reads."""
    assert model.proto is not None
    graph = model.proto.graph
    stored = stored_tensors(graph)
    inputs, found = {i.name for i in graph.input}, {}
    for node in graph.node:
        if node.op_type != "QuantizeLinear" or node.input[0] not in inputs or node.input[1] not in stored:
            continue
        scale = onnx.numpy_helper.to_array(stored[node.input[1]])
        has_zero = len(node.input) > 2 and node.input[2] in stored
        zero = onnx.numpy_helper.to_array(stored[node.input[2]]) if has_zero else np.zeros((), np.uint8)
        if scale.size == zero.size == 1 and zero.dtype.kind in "iu":
            limits, step, at = np.iinfo(zero.dtype), float(scale.reshape(())), int(zero.reshape(()))
            found[node.input[0]] = ((int(limits.min) - at) * step, (int(limits.max) - at) * step)
    return found


def hold_beside(
    first: Model,
    second: Model,
    place: int,
    cases: Sequence[Case],
    held: Mapping[str, tuple[float, float]],
    tell: Progress,
) -> QuantizedResult:
    """The comparison of a file on 8-bit integers with its network. place: of the file among the two. cases: by the first one's
    names of inputs, all of one size. held: the ranges by input, of ranges_held, that were drawn from.

    Raises BadInput where the network has other outputs than the file."""
    names = dict(cases[0].names)
    feeds = [{names.get(n, n): c.feeds[n] for n in c.shapes} for c in cases]
    tell("writing the network as ONNX")
    sides = [_converted(m, names if m is first else {}, feeds[0]) for m in (first, second)]
    before, after = sides[1 - place], sides[place]
    outputs = [[o.name for o in side.model.graph.output] for side in (before, after)]
    if set(outputs[0]) != set(outputs[1]):
        raise BadInput(
            f"a file on 8-bit integers is held against the network that it was made of: outputs are {', '.join(outputs[0])} and "
            f"{', '.join(outputs[1])}; --atol and --rtol compare them by place"
        )
    taken = [as_taken(before, f) for f in feeds]
    own = as_taken(after, feeds[0])
    fed = {n: a.dtype for n, a in own.items() if n in taken[0] and a.dtype != taken[0][n].dtype}
    tell("measuring layers")
    layers = measure(before, after, taken, fed=fed)
    fused = measure(before, after, taken, fed=fed, inside=False, plain=False)
    report = AccuracyReport(
        precision=INT8,
        bytes=(
            _bytes_before((first, second)[1 - place], (first, second)[place], before),
            _bytes((first, second)[place]),
        ),
        examples=len(cases),
        data=_told(cases),
        outputs=tuple(a for a in layers if a.tensor in outputs[0]),
        layers=layers,
        judged=judged(before),
        least=Quantized().least,
        quantized=tuple(dict.fromkeys(a.node for a in layers if a.reduced)),
        calibration={"method": "the file's own"},
        runtime={a.tensor: a.sqnr for a in fused},
        chosen=chosen(before),
    )
    runs, worst, run_of = [], {}, {}
    measured = {a.tensor: a for a in (*report.layers, *report.outputs)}
    for case, given in zip(cases, feeds):
        found = list(_differences(before, after, given, measured, report))
        run = {"shapes": case.shapes, "seed": case.seed, "kind": case.kind, "inputs": case.described()}
        runs.append({**run, "differences": [d.as_dict() for d in found]})
        for d in found:
            if d.name not in worst or (d.equal, -d.max_rel) < (worst[d.name].equal, -worst[d.name].max_rel):
                worst[d.name], run_of[d.name] = d, len(runs) - 1
    faults = [*_faults(before, report)]
    if faults:  # an output may be near enough for all that: its row is not to read as the verdict
        worst = {
            n: replace(d, settled_by=f"{d.settled_by}, and a layer inside is off") if d.equal and d.settled_by else d
            for n, d in worst.items()
        }
    good = not faults and not report.failing and all(d.equal for d in worst.values())
    name = (first, second)[place].name
    note = f"{name} is on 8-bit integers: signal to noise decides, {report.least:g} dB or more of outputs and what chooses them"
    notes = [note, *dict.fromkeys(remark for case in cases for remark in case.remarks())]
    if held:
        drawn = ", ".join(f"{n} {low:.4g} to {high:.4g}" for n, (low, high) in held.items())
        notes.append(
            f"inputs were drawn from the range that the file was calibrated on ({drawn}), which is not to say that the network "
            "expects it; --image, --inputs and --range say better"
        )
    if not good and any(c.seed is not None for c in cases):
        notes.append(
            "integers hold what they were calibrated on, and inputs were drawn: give some of that kind (--image, --inputs, --range)"
        )
    return QuantizedResult(
        first.name,
        second.name,
        "equivalent" if good else "not equivalent",
        tuple(runs),
        tuple(worst.values()),
        run_of=run_of,
        divergence=None if good else _first(faults or report.failing),
        faults=tuple(a.node for a in faults),
        inner=len(layers),
        warnings=tuple(notes),
        accuracy=report,
    )


def _bytes(model: Model) -> int:
    return sum(f.stat().st_size for f in model.files())


def _bytes_before(network: Model, file: Model, before: Converted) -> int:
    """The size of the network as an ONNX file: its own where it is one; or that which the file was made of, as it says; or what
    it takes to write it, nearly."""
    if network.proto is not None and network.path is not None:
        return _bytes(network)
    told = read_facts(file.proto).get(BEFORE, "") if file.proto is not None else ""
    if told.isdecimal():
        return int(told)
    with tempfile.TemporaryDirectory() as folder:
        return sum(f.stat().st_size for f in before.save(Path(folder) / "model.onnx"))


def _converted(model: Model, names: Mapping[str, str], feeds: Mapping[str, np.ndarray]) -> Converted:
    """A side as ONNX, whose inputs have the second side's names."""
    back = {new: old for old, new in names.items()}
    if model.proto is not None:
        made = from_proto(onnx.load(model.path) if model.path is not None else model.proto)
    else:
        specs = {back.get(n, n): Spec(a.shape, a.dtype) for n, a in feeds.items()}
        own = {n.name for n in model.graph.variables()} if model.graph is not None else set()
        made = ONNX.translated(model, inputs={n: s for n, s in specs.items() if n in own}, forms=USUAL)
    rename_inputs(made.model.graph, {old: new for old, new in names.items() if old != new})
    return made


def _differences(
    before: Converted, after: Converted, feeds: Arrays, measured: Mapping[str, Accuracy], report: AccuracyReport
) -> Iterator[Difference]:
    """The differences of outputs; floats are judged by signal to noise over all cases, other numbers by what they are chosen by."""
    want, got = (engine_of(side, "model", plain=True).run_unchecked(as_taken(side, feeds)) for side in (before, after))
    for name, array in want.items():
        found = compare(name, got[name], array)
        if not found.compared:
            yield found
            continue
        accuracy = measured.get(name)
        rule = f"signal to noise {report.least:g} dB"
        if accuracy is None:
            yield replace(found.accept("what it is chosen by"), tolerance=rule)
            continue
        said = f"{decibels(accuracy.sqnr)} {SIGNAL}"
        bad = accuracy.sqnr < report.least or accuracy.misplaced
        reason = f"{said}, wanted {report.least:g} dB"
        yield replace(
            found.refuse(reason) if bad else found.accept("" if accuracy.sqnr >= EXACT else said), tolerance=rule
        )


def _faults(before: Converted, report: AccuracyReport) -> Iterator[Accuracy]:
    """Layers on integers that lose the signal by themselves, in order: what they read has it, and what they make has less than any
    layer keeps that is left on integers where a file is written."""
    measured = {a.tensor: a for a in report.layers}
    nodes = {o: n for n in before.model.graph.node for o in n.output}
    for layer in report.layers:
        read = min((measured[n].sqnr for n in nodes[layer.tensor].input if n in measured), default=EXACT)
        if layer.reduced and (layer.misplaced or layer.sqnr < min(report.least - SLACK, read - DROP)):
            yield layer


def _first(layers: Sequence[Accuracy]) -> Divergence | None:
    """The first of the layers that are further off than is allowed."""
    for layer in layers:
        said = f"{decibels(layer.sqnr)} of signal to noise"
        off = Difference(
            layer.tensor, "float32", (), False, said, layer.max_abs, layer.max_rel, layer.cosine, scale=layer.scale
        )
        return Divergence(layer.tensor, layer.node, layer.operator, off, None, {})
    return None


def _told(cases: Sequence[Case]) -> str:
    """The source of the inputs in words."""
    seeds = [c.seed for c in cases if c.seed is not None]
    return f"{plural(len(cases), 'set')} drawn, seed {seeds[0]}" if seeds else "the inputs given"
