"""Models held against recorded outputs: somebody else's numbers are right, and the model reproduces them or does not."""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from hybrid.core.attrs import is_float
from hybrid.core.error import MXNetError
from hybrid.core.op import Spec
from hybrid.core.shapes import show
from hybrid.ops.activation import Activation, LeakyReLU
from hybrid.ops.binary import ElemwiseAdd
from hybrid.ops.convolution import Convolution
from hybrid.ops.elementwise import Clip
from hybrid.ops.loss_heads import SoftmaxOutput
from hybrid.ops.normalization import BatchNorm
from hybrid.passes.strip_labels import label_names

from .answers import first_that_runs
from .cases import make_case, may_be_one, refuse_random, taken
from .compare import TOLERANCES, Difference, Tolerance, coarsest, compare, one_winner
from .conditioning import reaches, truth_of
from .engines import Arrays, Engine, NativeEngine, OnnxEngine, called
from .faces.notebook import listener
from .inputs import Feeds, Inputs, as_specs, sources_of
from .layers import without_rounding
from .models import BadInput, Model, as_whole, hold_dtypes, names_to_fill
from .movement import ranked_otherwise, with_movement
from .recorded import RecordedRun, Recording, feeds_of, hashes
from .result import RECORDED, Case, Divergence, Layer, Progress, Verdict, VerifyResult
from .scripts.plain_draws import MADE_UP

FUSED = (Activation, LeakyReLU, Clip, BatchNorm)
"""Operators that MXNet fuses with the convolution before them."""
ROUNDING = "rounding"
"""Settles outputs that rounding alone decides."""
VERDICTS = ("equivalent", "says little", "not equivalent")
"""Verdicts from the best to the worst."""


def with_inputs(
    recording: Recording,
    given: Inputs | str | os.PathLike[str] | Sequence[Any] | None,
    model: Model,
    is_open: Callable[[str, int], bool] = lambda _name, _axis: False,
) -> Recording:
    """The recording with the inputs of its runs. given: those of a recording that holds outputs alone; beside one that holds both,
    sizes that it has. is_open: True for an axis that may have another size. Raises BadInput."""
    recording = _told_apart(recording, model)
    own = any(each.inputs for each in recording.runs)
    if given is None or (isinstance(given, Mapping) and not given):
        if not own and taken_by(model):
            raise BadInput(
                f"{recording.label}: holds outputs alone; give the inputs that they came from (--inputs FILE.npz), or record both "
                "(gluonnx record, record_with_mxnet.py)"
            )
        return recording
    if own and isinstance(given, Mapping) and all(isinstance(v, Spec | tuple | list) for v in given.values()):
        _hold_sizes(recording, as_specs(given)[0], is_open)
        return recording
    feeds = feeds_of(given, model)
    if own:
        if [*map(_same_arrays, feeds, recording.runs)] == [True] * max(len(feeds), len(recording.runs)):
            return recording
        raise BadInput(
            f"{recording.label}: holds the inputs too; leave out --inputs, or give a recording of outputs alone"
        )
    sets = [as_specs(each) for each in feeds]
    if len(sets) != len(recording.runs):
        raise BadInput(f"{recording.label}: holds {len(recording.runs)} run(s), and inputs of {len(sets)} were given")
    drawn = [n for specs, arrays in sets for n in specs if n not in arrays]
    if drawn:
        raise BadInput(
            f"{recording.label}: wanted arrays of {', '.join(drawn)}, those that its outputs came from; got sizes"
        )
    # which of them came from which file: not from that of the outputs
    came = (Feeds(arrays, sources_of(one)) for one, (_, arrays) in zip(feeds, sets))
    runs = (RecordedRun(arrays, each.outputs) for arrays, each in zip(came, recording.runs))
    return replace(recording, runs=tuple(runs))


def _same_arrays(given: Mapping[str, Any], run: RecordedRun) -> bool:
    """True for the inputs of a run, given once more; outputs that are recorded beside them may be among these."""
    told = {n: a for n, a in given.items() if n not in run.outputs}
    return told.keys() == run.inputs.keys() and all(
        isinstance(a, np.ndarray) and np.array_equal(a, run.inputs[n]) for n, a in told.items()
    )


def _told_apart(recording: Recording, model: Model) -> Recording:
    """The recording, where it holds arrays by their names alone, with those that are named as the model's inputs for inputs: what
    ``np.savez`` makes of both. Raises BadInput where nothing else is in it."""
    if any(each.inputs for each in recording.runs):
        return recording
    names = names_to_fill(model)
    found = [n for n in recording.runs[0].outputs if n in names]
    if not found:
        return recording
    runs = [
        RecordedRun(*({n: a for n, a in each.outputs.items() if (n in found) is kind} for kind in (True, False)))
        for each in recording.runs
    ]
    if not all(each.outputs for each in runs):
        raise BadInput(
            f"{recording.label}: holds inputs alone ({', '.join(found)}), wanted outputs with them: each by its name, or as "
            "gluonnx record writes them; inputs are given by --inputs"
        )
    return replace(recording, runs=tuple(runs))


def _hold_sizes(recording: Recording, given: Mapping[str, Spec], is_open: Callable[[str, int], bool]) -> None:
    """Raise BadInput for sizes that no run of a recording has."""
    problems = []
    for name, spec in given.items():
        found = [each.inputs[name] for each in recording.runs if name in each.inputs]
        if spec.shape is None or any(_fits(name, spec, array, is_open) for array in found):
            continue
        sizes = list(dict.fromkeys(f"{a.dtype} {show(a.shape)}" for a in found))
        have = (
            f"{name} is {' and '.join(sizes)} there"
            if found
            else f"its inputs are {', '.join(recording.runs[0].inputs)}"
        )
        got = f"{name} {show(spec.shape)}{f' of {spec.dtype}' if spec.dtype else ''}"
        problems.append(f"{recording.label}: got {got}, and {have}; leave the size out, which the recording says")
    if problems:
        raise BadInput(*problems)


def _fits(name: str, spec: Spec, array: np.ndarray, is_open: Callable[[str, int], bool]) -> bool:
    """True for an array of these sizes, but for axes that are open."""
    shape = spec.shape or ()
    return (
        len(shape) == array.ndim
        and all(a == b or is_open(name, axis) for axis, (a, b) in enumerate(zip(shape, array.shape)))
        and (spec.dtype is None or spec.dtype == array.dtype)
    )


def hold_sizes_taken(recording: Recording, specs: Mapping[str, Spec], axes: Mapping[str, Mapping[int, str]]) -> None:
    """Raise BadInput where a run has sizes that a file of these inputs does not take. axes: those that are open, by input."""
    problems = []
    for number, each in enumerate(recording.runs, 1):
        for name, array in each.inputs.items():
            shape = specs[name].shape if name in specs else None
            if shape is None or len(shape) != array.ndim:
                continue
            other = [i for i, (a, b) in enumerate(zip(array.shape, shape)) if a != b and i not in axes.get(name, {})]
            if other:
                what = (
                    "--dynamic batch" if other == [0] else f"--dynamic {name}:{','.join(f'{i}=size{i}' for i in other)}"
                )
                problems.append(
                    f"{recording.label}: {name} of run {number} is {show(array.shape)}, and the file is to take {show(shape)} "
                    f"alone; leave open what varies, with {what}"
                )
    if problems:
        raise BadInput(*problems)


def check_pairs(recording: Recording, *engines: tuple[Engine, Mapping[str, str] | None], cut: bool = False) -> None:
    """Raise BadInput, before anything is run, where the recording's inputs or outputs are not those of the engines' models.
    engines: each with its names of the recording's inputs. cut: as hold_against takes it."""
    for (engine, names), within in zip(engines, _within(recording, engines)):
        if within is None or within:
            continue
        recorded_cases(recording, engine, names)
        for each in recording.runs:
            if not set(engine.outputs) <= set(each.outputs):
                _pair(recording, _heads(recording, each), dict.fromkeys(engine.outputs), engine, cut)


def taken_by(model: Model) -> list[str]:
    """Inputs that a model reads."""
    return list(taken(OnnxEngine(model) if model.is_onnx else NativeEngine(model)))


def recorded_cases(recording: Recording, engine: Engine, names: Mapping[str, str] | None = None) -> list[Case]:
    """Cases for an engine from a recording's inputs: by name, else by position where as many are left and the shapes fit. A float
    that the model takes in another precision is cast, and the case says so. names: the model's names of recorded inputs.
    Raises BadInput."""
    cases = [_case(recording, each.inputs, engine, dict(names or {})) for each in recording.runs]
    return _of_kinds(cases, recording)


def _of_kinds(cases: list[Case], recording: Recording) -> list[Case]:
    """The cases, saying how their inputs were drawn when they were recorded."""
    for case, kind in zip(cases, recording.kinds):
        case.kind, case.made_up = kind, kind in MADE_UP
    return cases


def _case(recording: Recording, inputs: Arrays, engine: Engine, names: dict[str, str]) -> Case:
    wanted = taken(engine)
    unknown = [n for n in names if n not in inputs] + [n for n in names.values() if n not in wanted]
    if unknown:
        raise BadInput(
            f"the names of inputs: {', '.join(unknown)} is neither in {recording.label} ({', '.join(inputs)}) nor in "
            f"{called(engine.model)} ({', '.join(wanted)})"
        )
    labels = set(label_names(engine.model.graph)) if engine.model.graph is not None else set()
    second = {n: names.get(n, n) for n in inputs}
    rest = [n for n, m in second.items() if m not in wanted and m not in labels]
    others = [m for m in wanted if m not in second.values()]
    if len(rest) == len(others) and all(may_be_one(inputs[n].shape, wanted[m].shape) for n, m in zip(rest, others)):
        second |= dict(zip(rest, others))
    elif others:
        to_do = "say which are one (--map RECORDED=NAME)" if rest else f"record it again, with {', '.join(others)} too"
        raise BadInput(
            f"{recording.label} has inputs {_shapes({n: inputs[n].shape for n in inputs})}, and {called(engine.model)} takes "
            f"{_shapes({m: wanted[m].shape for m in wanted})}; {to_do}"
        )
    else:  # what the model does not read (labels of a training symbol) was recorded too
        second = {n: m for n, m in second.items() if n not in rest}
    feeds, origins = Feeds(), {}
    files = _files_of(recording, inputs)
    for name, own in second.items():
        if own not in wanted:
            continue
        array, dtype = inputs[name], wanted[own].dtype
        origins[own] = f"from {files[name]}" if name in files else "given"
        origins[own] += f", {name} there" if own != name else ""
        if name in files:
            feeds.sources[own] = files[name]
        if dtype is not None and dtype != array.dtype and is_float(dtype) and is_float(array.dtype):
            origins[own] += f", cast from {array.dtype.name}"
            array = array.astype(dtype)
        elif dtype is not None and dtype.kind in "iu" and is_float(array.dtype):  # as MXNet has positions
            whole, why = as_whole(array, dtype)
            if whole is None:
                raise BadInput(f"{recording.label}: {name} is {array.dtype}, the model takes {dtype}, and {why}")
            origins[own] += f", whole numbers of {array.dtype.name} there"
            array = whole
        feeds[own] = array
    if isinstance(engine, NativeEngine):  # whose symbol may say dtypes, as one that was imported does
        for name, array in hold_dtypes(engine.model, feeds, feeds.sources).items():
            if array is not feeds[name]:
                origins[name] += f", whole numbers of {feeds[name].dtype.name} there"
                feeds[name] = array
    return Case(feeds, origins=origins)


def _files_of(recording: Recording, inputs: Arrays) -> dict[str, str]:
    """The files that the inputs of a run came from: the recording itself; where that has outputs alone, those given beside it."""
    return sources_of(inputs) if isinstance(inputs, Feeds) else dict.fromkeys(inputs, recording.label)


def _shapes(shapes: Mapping[str, Any]) -> str:
    return ", ".join(f"{n} {show(s)}" for n, s in shapes.items()) or "none"


def hold_against(
    recording: Recording,
    engine: Engine,
    names: Mapping[str, str] | None = None,
    *,
    tolerance: Tolerance | None = None,
    cut: bool = False,
    who: str = "the model",
    within: list[str] | None = None,
    progress: Progress | None = None,
) -> VerifyResult:
    """Run an engine on a recording's inputs and compare every output that was recorded; those that are inside the model by their
    names are compared there.

    cut: the outputs are others than the whole model has, so that their place tells nothing. who: the model in notes.
    within: what _recorded_within says, where that was asked already.
    Without a tolerance numbers are held to the precision that the model computes in; where that is not met, float64 says whether
    both are as near to the truth of this network as float32 comes. Raises BadInput and EngineError."""
    tell = listener(progress)
    refuse_random(engine)
    within = _recorded_within(recording, engine) if within is None else within
    if within:
        engine, cut = _cut_at(engine, within, recording), True
        names = {n: m for n, m in (names or {}).items() if m in taken(engine)}
    cases = recorded_cases(recording, engine, names)
    runs, worst, run_of, warnings = [], {}, {}, _other_files(recording, engine)
    held: list[tuple[Case, RecordedRun]] = []
    layers: list[Layer] = []
    inside = ""
    for case, each in zip(cases, recording.runs):
        tell(f"running {engine.label} on {', '.join(f'{k} {v}' for k, v in case.shapes.items())}")
        answer, why = first_that_runs(engine.label, case, lambda c: engine.run(c.feeds), {})
        if answer is None:
            warnings.append(f"the recorded draw of {case.kind} was left out: {why}")
            continue
        got = answer[1]
        heads = _heads(recording, each)
        if within:
            lacking = [n for n in heads if n not in within]
            warnings += [f"{', '.join(lacking)}: recorded, and not in {who}; not compared"] if lacking else []
            heads = {n: heads[n] for n in within if n in heads}
        if set(got) <= set(each.outputs):  # cut there, for instance
            heads = {n: each.outputs[n] for n in got}
        pairs, alone = _pair(recording, heads, got, engine, cut)
        warnings += alone
        settled = {d.name for d in worst.values() if not d.equal}
        differences = _compare(pairs, each.outputs, got, engine, case, tolerance, tell, settled)
        recorded = [n for n in each.outputs if n not in case.feeds]  # an input may have been recorded among them
        if len(heads) < len(recorded) and not layers:
            tell("comparing what is inside")
            layers = _inside(each, engine, case, {b for _, b in pairs}, tolerance)
            inner = {*each.outputs} - {n for n, _ in pairs} - {*case.feeds}
            inside = _told_inside(layers, len(inner), who) if inner else ""
        held.append((case, each))
        run = {"shapes": case.shapes, "seed": None, "kind": case.kind, "inputs": case.described()}
        runs.append({**run, "differences": [d.as_dict() for d in differences]})
        for d in differences:
            if d.name not in worst or _counts(d) > _counts(worst[d.name]):
                worst[d.name], run_of[d.name] = d, len(runs) - 1
    found = tuple(replace(d, winner=one_winner(n, runs)) for n, d in worst.items())
    if all(d.equal for d in found):
        found = tuple(_with_movement(d, held, tolerance) for d in found)
        warnings += ranked_otherwise([d.name for d in found if not d.constant], runs)
    faults = [x for x in layers if x.local is not None and not x.local.equal]
    parted = faults or [x for x in layers if x.accumulated is not None and not x.accumulated.equal]
    little = tuple(f"{d.name} {words}" for d in found if d.equal and (words := _little(d)))
    verdict: Verdict = "equivalent"
    if faults or not all(d.equal for d in found):
        verdict = "not equivalent"
    elif any(d.broken for d in found) or (len(little) == len(found) and tolerance is None and not layers):
        verdict = "says little"
    if verdict == "not equivalent":
        warnings += _computed_wrongly(recording, engine, cases[0])
    if verdict != "not equivalent":
        layers = [*without_rounding(layers, {})]
    warnings += [remark for case, _ in held for remark in case.remarks()]
    warnings += [f"output {words}: agreement there says little" for words in little]
    warnings += [
        f"output {d.name} holds {d.not_finite} NaN or infinite values of {d.size}"
        for d in found
        if d.equal and d.not_finite and not d.little
    ]
    return VerifyResult(
        recording.label,
        engine.model.name,
        verdict,
        tuple(runs),
        found,
        run_of=run_of,
        divergence=_divergence(parted[0]) if parted and verdict == "not equivalent" else None,
        faults=tuple(dict.fromkeys(x.node for x in faults)),
        recorded=(inside,) if inside else (),
        little=little,
        layers=tuple(layers),
        warnings=tuple(dict.fromkeys(warnings)),
    )


def _computed_wrongly(recording: Recording, engine: Engine, case: Case) -> list[str]:
    """Remarks on nodes that MXNet with oneDNN computes wrongly, where the recording may hold what it makes of them."""
    found = []
    fused = None if recording.by_mxnet else _fused_wrongly(engine)  # the script has that turned off
    if fused is not None:
        found.append(
            (
                f"{fused}: MXNet with oneDNN, on a CPU, takes what is behind its activation for what is before it where both an "
                "activation and an addition read it, and so gives other numbers than its own operators do",
                "MXNET_SUBGRAPH_BACKEND=NONE set (gluonnx record --script does so)",
            )
        )
    loss = _along_the_last_axis(engine, case)
    if loss is not None:
        found.append(
            (
                f"{loss}: of four axes and without multi_output MXNet with oneDNN, on a CPU, takes SoftmaxOutput over the last one "
                "when it predicts, and over all but the first elsewhere and when it trains",
                "MXNET_MKLDNN_ENABLED=0 set",
            )
        )
    return [f"{what}; if that is how {recording.label} was made, record it again with {how}" for what, how in found]


def _along_the_last_axis(engine: Engine, case: Case) -> str | None:
    """The first SoftmaxOutput that oneDNN takes over another axis than MXNet's own operator. Source: MXNet 1.9.1, by trial."""
    graph = engine.model.graph
    found = [n for n in graph.nodes if n.means(SoftmaxOutput)] if graph is not None else []
    if not found:
        return None
    try:
        inferred = engine.model.infer({n: Spec(a.shape, a.dtype) for n, a in case.feeds.items()})
    except MXNetError:
        return None
    for node in found:
        shape, op = inferred.spec(node.inputs[0]).shape or (), cast(SoftmaxOutput, node.op)
        if len(shape) == 4 and op.axis(4) is None and shape[1:3] != (1, 1):
            return node.name
    return None


def _fused_wrongly(engine: Engine) -> str | None:
    """The first node whose output MXNet's fusion confuses: a convolution, or the batch normalization behind one, that an addition
    reads, and an activation or a batch normalization too. Source: MXNet 1.9.1, by trial; MXNET_SUBGRAPH_BACKEND=NONE is right."""
    graph = engine.model.graph
    readers = graph.uses() if graph is not None else {}
    for node in graph.nodes if graph is not None else ():
        made = node.inputs[0].node if node.means(BatchNorm) else node
        if made.means(Convolution):
            behind = [reader for reader, _ in readers.get((id(node), 0), ())]
            if any(r.means(ElemwiseAdd) for r in behind) and any(r.means(*FUSED) for r in behind):
                return node.name
    return None


def _with_movement(
    difference: Difference, held: Sequence[tuple[Case, RecordedRun]], tolerance: Tolerance | None
) -> Difference:
    """The difference of a recorded output, saying whether that hardly moves."""
    known = [(case.feeds, each.outputs[difference.name]) for case, each in held if difference.name in each.outputs]
    return with_movement(difference, [f for f, _ in known], [a for _, a in known], tolerance)


def _inside(
    each: RecordedRun, engine: Engine, case: Case, heads: Container[str], tolerance: Tolerance | None
) -> list[Layer]:
    """Recorded tensors inside, in the order in which the engine makes them; where one differs, also what its node makes of the
    recorded values of what it reads."""
    known = {**each.outputs, **case.feeds}
    inner = [t for t in engine.inner_tensors() if t.name in each.outputs and t.name not in heads]
    shown = engine.expose(case.feeds, [t.name for t in inner])
    precision = engine.precision(case.feeds)
    found = []
    for tensor in inner:
        want, got = each.outputs[tensor.name], shown.get(tensor.name)
        if got is None or got.shape != want.shape:  # a name that came to stand for something else, as fusing has it
            continue
        limits = tolerance or TOLERANCES.get(coarsest([precision.get(tensor.name, ""), want.dtype.name]))
        difference, local = compare(tensor.name, got, want, limits), None
        if not difference.equal:
            alone = engine.compute_alone(tensor, known)
            local = None if alone is None else compare(tensor.name, alone, want, limits)
        found.append(Layer(tensor.name, tensor.name, tensor.node, tensor.operator, difference, local))
    return found


def _divergence(layer: Layer) -> Divergence:
    assert layer.accumulated is not None
    return Divergence(layer.tensor, layer.node, layer.operator, layer.accumulated, layer.local, {})


def _counts(difference: Difference) -> tuple[bool, bool, float]:
    """The rank of an output's difference among those of all runs: an output says little only where it does so in all of them."""
    return not difference.equal, not _little(difference), difference.max_rel


def _little(difference: Difference) -> str:
    return "depends on how sums are rounded" if difference.settled_by == ROUNDING else difference.little


def _heads(recording: Recording, run: RecordedRun) -> Arrays:
    """Outputs of a run that were asked for, without what was recorded inside the network besides."""
    return {n: run.outputs[n] for n in recording.facts.get("outputs", ()) if n in run.outputs} or run.outputs


def _has_some(recording: Recording, engine: Engine) -> bool:
    """True where a model has recorded outputs by their names, as outputs or inside."""
    known = {*engine.outputs, *(t.name for t in engine.inner_tensors())}
    return not known.isdisjoint(_heads(recording, recording.runs[0]))


def _within(recording: Recording, engines: Sequence[tuple[Engine, Mapping[str, str] | None]]) -> list[list[str] | None]:
    """Of each engine what hold_against takes as within; None for one that is not held to a recording, since it has nothing of it by
    its names, where another has recorded tensors inside and places tell nothing."""
    found = [_recorded_within(recording, engine) for engine, _ in engines]
    if not any(found):
        return [*found]
    return [inside if _has_some(recording, engine) else None for inside, (engine, _) in zip(found, engines)]


def _recorded_within(recording: Recording, engine: Engine) -> list[str]:
    """Recorded outputs that a model has by their names, where some of them are inside it; none where its outputs, or their places,
    tell which are which."""
    names = list(_heads(recording, recording.runs[0]))
    inside = {t.name for t in engine.inner_tensors()}
    if all(n in engine.outputs or n not in inside for n in names):
        return []
    return [n for n in names if n in engine.outputs or n in inside]


def _cut_at(engine: Engine, names: list[str], recording: Recording) -> Engine:
    """The engine of the same model cut at these tensors. Raises BadInput."""
    model = engine.model.select(names)
    return type(engine)(model) if isinstance(engine, OnnxEngine) else NativeEngine(model, specs_of(recording))


def _pair(
    recording: Recording, want: Arrays, got: Mapping[str, np.ndarray | None], engine: Engine, cut: bool
) -> tuple[list[tuple[str, str]], list[str]]:
    """Recorded outputs with the model's: by name; those whose names the model does not have by position, where as many are left and
    the shapes fit. Also what is to be said of it, and of those left over. got: None where it has not been run. Raises BadInput."""
    rest, others = [n for n in want if n not in got], [n for n in got if n not in want]
    same = [(n, n) for n in want if n in got]
    if not rest:
        return same, [f"{', '.join(others)}: not in {recording.label}, and not compared"] if others else []
    places = list(zip(rest, others))
    apart = [
        f"{a} {show(want[a].shape)} and {b} {show(made.shape)}"
        for a, b in places
        if (made := got[b]) is not None and want[a].shape != made.shape
    ]
    if cut or apart or len(rest) != len(others):
        shapes = f"; of other shapes in the same places are {', '.join(apart)}" if apart and not cut else ""
        raise BadInput(
            f"{recording.label} has {len(want)} output(s) ({', '.join(want)}), and {called(engine.model)} gives {len(got)} "
            f"({', '.join(got)}){shapes}; record those of this model, or cut it at the ones that were recorded (--outputs)"
        )
    placed = dict(places)
    said = ", ".join(f"{a} with {b}" for a, b in placed.items())
    return [(n, placed.get(n, n)) for n in want], [f"{said}: recorded under another name, and paired by place"]


def _told_inside(layers: Sequence[Layer], recorded: int, who: str) -> str:
    """A sentence for recorded tensors inside: how many there are, and how many agree. recorded: how many, beside the outputs."""
    if not layers:  # nothing that could disagree
        return f"of other tensors in the recording ({recorded}) {who} has none by its name: the outputs alone were compared"
    off = [x for x in layers if x.accumulated is not None and not x.accumulated.equal]
    wrong = [x for x in off if x.local is not None and not x.local.equal]
    said = f"{len(layers)} of {recorded} tensors inside that were recorded are in {who} too: {len(layers) - len(off)} agree"
    if len(off) > len(wrong):
        said += f", {len(off) - len(wrong)} are further apart than the tolerance, and their nodes alone are not"
    return said + (f", {len(wrong)} do not, nor do their nodes given what was recorded" if wrong else "")


def _compare(
    pairs: Sequence[tuple[str, str]],
    want: Arrays,
    got: Arrays,
    engine: Engine,
    case: Case,
    tolerance: Tolerance | None,
    tell: Progress,
    settled: Container[str],
) -> list[Difference]:
    """The differences of outputs. settled: those that differ in an earlier run, for which nobody need ask float64 again."""
    precision = {} if tolerance else engine.precision(case.feeds)
    differences = []
    for a, b in pairs:
        array, other = got[b], want[a]
        dtypes = (array.dtype.name, other.dtype.name)
        if dtypes[0] != dtypes[1] and is_float(array.dtype) and is_float(other.dtype):
            wide = np.promote_types(array.dtype, other.dtype)  # another precision is no other result
            array, other = array.astype(wide), other.astype(wide)
        coarse = coarsest([precision.get(b, ""), *dtypes])
        differences.append(compare(a, array, other, tolerance or TOLERANCES.get(coarse)))
    if (
        tolerance is not None
        or all(d.equal or d.name in settled for d in differences)
        or not all(d.compared for d in differences)
    ):
        return differences
    tell("asking float64")
    return _by_float64(pairs, differences, want, got, engine, case)


def _by_float64(
    pairs: Sequence[tuple[str, str]],
    differences: list[Difference],
    want: Arrays,
    got: Arrays,
    engine: Engine,
    case: Case,
) -> list[Difference]:
    """The differences; settled where both the recording and the model are as near to float64 as float32 runs of it come."""
    native = engine if isinstance(engine, NativeEngine) else getattr(engine, "native_engine", None)
    if native is None:
        return differences
    try:
        truths = truth_of(native, native.complete(case.feeds))
        if truths is None:
            return differences
        by_recorded = [{a: each[b] for a, b in pairs if b in each} for each in (truths[0], *truths[1])]
    except (BadInput, MXNetError):
        return differences
    out = []
    for d, found in reaches(differences, pairs, want, got, (by_recorded[0], by_recorded[1:])):
        if found is None:
            out.append(d)
        elif found.reached:
            out.append(d.accept(ROUNDING if found.blunt else "float64"))
        else:
            recorded, own = found.errors
            out.append(
                d.refuse(
                    f"{d.reason}; the recording is {recorded:.2e} and this model {own:.2e} from float64 as the model is read, "
                    f"where {found.usual:.2e} is usual"
                )
            )
    return out


def _other_files(recording: Recording, engine: Engine) -> list[str]:
    """A note where a file of the model has another content than the one of its name that was recorded."""
    stored = recording.facts.get("files")
    if not isinstance(stored, Mapping):
        return []
    own = hashes(engine.model.files())
    other = [name for name, digest in own.items() if stored.get(name, digest) != digest]
    return [f"{', '.join(other)}: another content than when {recording.label} was recorded"] if other else []


def renamed(recording: Recording, engine: Engine, names: Mapping[str, str] | None = None) -> Recording:
    """The recording with its inputs as a model takes and calls them."""
    cases = recorded_cases(recording, engine, names)
    return replace(recording, runs=tuple(RecordedRun(c.feeds, r.outputs) for c, r in zip(cases, recording.runs)))


def cases_for_both(
    recording: Recording, left: Engine, right: Engine, names: Mapping[str, str] | None = None
) -> list[Case]:
    """Cases for two engines from a recording whose inputs have the left one's names. names: as make_case takes them."""
    cases = []
    for each in recording.runs:
        specs, arrays = as_specs(each.inputs)
        files = _files_of(recording, each.inputs)
        cases.append(make_case(left, right, specs, arrays, 0, names=names, files=files))
    return _of_kinds(cases, recording)


def with_recording(
    pair: VerifyResult,
    recording: Recording,
    left: Engine,
    right: Engine,
    names: Mapping[str, str] | None = None,
    tolerance: Tolerance | None = None,
    cut: bool = False,
    progress: Progress | None = None,
) -> VerifyResult:
    """The comparison of two models, and that of each with a recording, as one: the worst verdict of the three, and who is right.

    recording: its inputs have the left one's names; it says which sides are held to it. names: the right one's names of these,
    where they are others. cut: as hold_against takes it."""
    told: Any = {"tolerance": tolerance, "cut": cut, "progress": progress}
    both: dict[str, tuple[Engine, Mapping[str, str] | None]] = {"first": (left, None), "second": (right, names)}
    engines = {side: both[side] for side in recording.sides}
    sides = {
        side: hold_against(recording, *engines[side], who=f"the {side} model", within=within, **told)
        for side, within in zip(engines, _within(recording, [*engines.values()]))
        if within is not None
    }
    wrong = [each.verdict == "not equivalent" for each in sides.values()]
    notes = [
        f"the {side} model has nothing of what {recording.label} holds by its name: only the other is held against it"
        for side in engines
        if side not in sides
    ]
    if len(wrong) == 2 and all(wrong) and pair.verdict != "not equivalent":
        notes.append(
            f"both models agree with each other and not with {recording.label}: they share what they read otherwise than whoever "
            "recorded it"
        )
    elif len(set(wrong)) == 2:
        right_one, other = ("second", "first") if wrong[0] else ("first", "second")
        notes.append(f"the {right_one} model gives what was recorded in {recording.label}, and the {other} does not")
    held, run_of, before = [], dict(pair.run_of), len(pair.runs)
    for side, r in sides.items():
        for d in r.differences:
            name = f"{d.name}{RECORDED[side]}"
            held.append(replace(d, name=name))
            run_of[name] = before + r.run_of[d.name]
        before += len(r.runs)
    here = next((r for r in sides.values() if r.divergence is not None), next(iter(sides.values())))
    return replace(
        pair,
        divergence=pair.divergence or here.divergence,
        faults=pair.faults or here.faults,
        layers=pair.layers or here.layers,
        between=pair.verdict,
        verdict=max((pair.verdict, *(r.verdict for r in sides.values())), key=VERDICTS.index),
        runs=(*pair.runs, *(run for r in sides.values() for run in r.runs)),
        differences=(*pair.differences, *held),
        run_of=run_of,
        recorded=tuple(words for r in sides.values() for words in r.recorded),
        recording=recording.label,
        little=tuple(dict.fromkeys((*pair.little, *(words for r in sides.values() for words in r.little)))),
        warnings=tuple(
            dict.fromkeys((*notes, *pair.warnings, *(words for r in sides.values() for words in r.warnings)))
        ),
    )


def fed(recording: Recording, model: Model) -> Feeds:
    """The first run's inputs, but for labels that the model's inference does not read."""
    labels = set(label_names(model.graph)) if model.graph is not None else set()
    arrays = {n: a for n, a in recording.runs[0].inputs.items() if n not in labels}
    return Feeds(arrays, _files_of(recording, recording.runs[0].inputs))


def specs_of(recording: Recording) -> dict[str, Spec]:
    """Shapes and dtypes of the first run's inputs."""
    return {n: Spec(a.shape, a.dtype) for n, a in recording.runs[0].inputs.items()}
