"""Do two models give the same numbers? And if not, where do they part?"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from converters.error import ConversionError
from hybrid.core.error import MXNetError
from hybrid.core.op import Spec

from .cases import Cases, make_cases, taken
from .change.causes import unreached
from .compare import TOLERANCES, Tolerance, as_tolerance
from .draws import KINDS, Kind
from .engines import Engine, NativeEngine, engine_for
from .expected import cases_for_both, check_pairs, hold_against, renamed, specs_of, with_inputs, with_recording
from .faces.notebook import listener
from .fitting import misfits
from .half import HalfEngine, engines_apart, widen_half, widen_specs
from .inputs import Given, Inputs, as_specs, further, loaded, sources_of
from .judge import check
from .models import BadInput, Model, check_dtypes, holds_parameters, names_of_two, open_model
from .paths import one_or_more
from .pipeline.carried import with_steps_of
from .precision.beside import DRAWS, hold_beside, quantized_side, ranges_held
from .recorded import Recording, load_recording
from .result import Progress, VerifyResult, identify, with_names, with_warnings
from .runners import as_side, is_runner
from .settle import smaller_than_a_cell, told_by_arrays


def _opened(a: Any, b: Any, params: Any, outputs: list[str]) -> tuple[Model, Model, tuple[Model, Model] | None]:
    """The models of both sides, cut at outputs, and both as a whole where they were cut."""
    held = [params is not None and not is_runner(m) and holds_parameters(m) for m in (a, b)]
    both = all(held)  # then opening them says that there is nothing to give params to
    first, second = (
        as_side(m).model if is_runner(m) else open_model(m, None if holds and not both else params)
        for m, holds in zip((a, b), held)
    )
    if not outputs:
        return first, second, None
    if is_runner(a) or is_runner(b):
        raise BadInput("outputs cut models, and a runner cannot be cut; leave them out")
    return first.select(outputs), second.select(outputs), (first, second)


def _engines(first: tuple[Any, Model], second: tuple[Any, Model], specs: Mapping[str, Any]) -> tuple[Engine, Engine]:
    """The engines of models; of runners, which may not know what they take, with the other side's inputs."""
    found = [None if is_runner(source) else engine_for(model, specs) for source, model in (first, second)]
    known = next((tuple(taken(e)) for e in found if e is not None), tuple(specs))
    left, right = (e or as_side(source, known) for e, (source, _) in zip(found, (first, second)))
    return left, right


def verify(
    a: Any,
    b: Any = None,
    *,
    expected: str | os.PathLike[str] | Recording | None = None,
    inputs: Given | None = None,
    names: Mapping[str, str] | None = None,
    ranges: Mapping[str, tuple[float, float]] | None = None,
    files: Mapping[str, str] | None = None,
    params: Any = None,
    seed: int = 0,
    runs: int = 1,
    also: Sequence[Inputs | str | os.PathLike[str]] = (),
    draws: Sequence[Kind] = KINDS,
    tolerance: Tolerance | tuple[float, float] | None = None,
    outputs: str | Sequence[str] | None = None,
    repro: str | os.PathLike[str] | None = None,
    layers: bool = False,
    steps: bool = True,
    progress: Progress | None = None,
) -> VerifyResult:
    """Run both models on the same inputs and compare every output, and every tensor inside that both name.

    a, b: what open_model takes (a symbol runs on our engine, an ONNX model on onnxruntime), or a runner (runners.py), such as a
    function from arrays by name to outputs, of which the outputs alone are compared. b is held against a; how exact numbers have to
    be is what the symbol among them computes in, or else a. inputs: an .npz, or arrays, or shapes to draw seeded numbers
    for, by name; what is not given comes from the models' own shapes. expected: a recording (bridge.record, record_with_mxnet.py)
    whose outputs both are held against on its inputs, or a alone where there is no b; or an .npz of outputs alone, beside inputs.
    Where one side is a file on 8-bit integers (QuantizeLinear, DequantizeLinear) and the other is not, signal to noise decides, as
    it does where such a file is written (bridge/precision/beside.py); the result's ``accuracy`` has every layer.
    names: b's names of a's inputs; without it inputs pair by name, then by position and shape. ranges: (low, high) of draws by
    name. files: those that arrays come from, for the report. runs: how many draws there are of what the models expect. also:
    further inputs, a run each. draws: the kinds of draws, "expected", "wide", and "edges" of what the models take; where no array
    is given another size is tried too. tolerance: (atol, rtol) over the outputs, in place of all other measures.
    repro: a folder to write a minimal reproduction to when they differ. layers: measure every tensor inside also when they agree.
    steps: what a file says that it does with pictures before its network, and with scores behind it, is put around the network
    beside it, and inputs are those of the file; False compares both as they are.
    Raises BadInput, EngineError, or hybrid's errors.
    seed: of the numbers that are drawn. progress: called with a text whenever something else
    begins.

    Examples
    --------
    >>> import gluonnx
    >>> _ = gluonnx.convert("model", inputs={"data": (1, 3)}, output="model.onnx")
    >>> result = gluonnx.verify("model", "model.onnx", inputs={"data": (1, 3)})
    >>> result.equivalent, result.verdict
    (True, 'equivalent')
    """
    start = time.perf_counter()
    limits, names_of_outputs = as_tolerance(tolerance), one_or_more(outputs)
    if b is None:
        if expected is None:
            raise BadInput("one model; give another to compare it with, or recorded outputs (--expected FILE.npz)")
        model = open_model(a, params).select(names_of_outputs)
        recording = with_inputs(load_recording(expected), inputs, model)
        engine = engine_for(model, specs_of(recording))
        found = hold_against(recording, engine, names=names, tolerance=limits, cut=bool(outputs), progress=progress)
        sides = identify([recording.path] if recording.path is not None else []), identify(model.files())
        return with_names(found, found.a, model.name, time.perf_counter() - start, sides)
    first, second, whole = _opened(a, b, params, names_of_outputs)
    recording = None if expected is None else with_inputs(load_recording(expected), inputs, first)
    inputs = specs_of(recording) if recording is not None else loaded(inputs, second if is_runner(a) else first)
    specs, arrays = as_specs(inputs)
    sizes: list[str] = []
    if recording is None and not is_runner(a) and second.graph is not None:  # an ONNX file says its sizes
        also = [loaded(each, first) for each in also]
        told_sizes, sizes = told_by_arrays(first, specs, *further(also))
        specs |= told_sizes
    first, second = (m if is_runner(source) else m.inferring(specs) for m, source in ((first, a), (second, b)))
    carried = ""
    if steps and not (is_runner(a) or is_runner(b)) and (first.graph is None) != (second.graph is None):
        # what the file does with pictures and scores, the network beside it does too
        network, file = (first, second) if second.graph is None else (second, first)
        theirs = names if second is file else {m: n for n, m in (names or {}).items()}
        network, specs, ranges, carried = with_steps_of(
            network, file, specs, ranges, theirs, behind=not names_of_outputs
        )
        first, second = (network, file) if second is file else (file, network)
    quantized = (
        None if is_runner(a) or is_runner(b) or limits or expected is not None else quantized_side(first, second)
    )
    left, right = engines_apart(*_engines((a, first), (b, second), specs), specs)
    half = next((e for e in (left, right) if isinstance(e, HalfEngine)), None)
    if half is not None:
        specs, arrays = widen_specs(specs), widen_half(arrays)
    held: dict[str, tuple[float, float]] = {}
    if recording is not None:
        recording = renamed(recording, left)
        cases = cases_for_both(recording, left, right, names)
        check_pairs(recording, (left, None), (right, cases[0].names), cut=bool(outputs))
    else:
        told = {"names": names, "ranges": ranges}
        sources = {**sources_of(inputs), **(files or {})}
        try:
            kinds: Sequence[Kind] = draws
            count = runs
            if quantized is not None:  # integers are calibrated for the numbers that the network expects
                kinds, count = KINDS[:1], runs if arrays else max(runs, DRAWS)
            cases = make_cases(left, right, specs, arrays, seed, runs=count, kinds=kinds, files=sources, **told)
            if quantized is not None:
                held = ranges_held((first, second)[quantized], cases, ranges or {})
            if held:
                told["ranges"] = {**(ranges or {}), **held}
                cases = make_cases(left, right, specs, arrays, seed, runs=count, kinds=kinds, files=sources, **told)
            for number, given in enumerate(also, len(cases)):
                each = loaded(given, first)
                more, values = as_specs(each)
                own = Cases(left, right, {**specs, **more}, values, files=sources_of(each), **told)
                cases.append(own.case(seed + number))
        except MXNetError as error:
            own = [m for m in (first, second) if m.graph is not None]
            problems = [p for m in own for p in check_dtypes(m, specs) or misfits(m, specs, error)]
            if problems:
                raise BadInput(*problems) from error
            raise
    if quantized is not None:
        tell = listener(progress)
        found = hold_beside(first, second, quantized, [c for c in cases if c.shapes == cases[0].shapes], held, tell)
        found = with_warnings(found, [carried] if carried else [])
        identified = identify(first.files()), identify(second.files())
        return with_names(found, *names_of_two(first, second), time.perf_counter() - start, identified)
    for engine in (left, right):
        shapes = {n: Spec(a.shape, a.dtype) for n, a in cases[0].feeds.items() if n in engine.inputs}
        sizes += [note for note in smaller_than_a_cell(engine.model, shapes) if note not in sizes]
    reference = right if isinstance(right, NativeEngine) and not isinstance(left, NativeEngine) else left
    result = check(
        left,
        right,
        cases,
        reference=half or reference,
        tolerance=limits,
        repro=repro,
        progress=progress,
        layers=layers,
    )
    if recording is not None:
        result = with_recording(result, recording, left, right, cases[0].names, limits, bool(outputs), progress)
    if carried or sizes:
        result = with_warnings(result, [carried, *sizes] if carried else sizes)
    alike = half is None and result.verdict != "not equivalent" and (limits is None or _as_usual(result))
    looked = (first, second) if whole is None or carried else whole
    if alike and (found := told_apart_by_none(*looked)):
        # which inputs that do not reach it say nothing of; a tolerance and outputs that somebody chose decide alone
        verdict = "says little" if limits is None and whole is None else result.verdict
        result = with_warnings(replace(result, verdict=verdict, unreached=found), [_unreached_words(found)])
    if half is not None:
        note = f"{half.model.name} is of {half.precision_name}: compared as exactly as that allows"
        result = with_warnings(result, [note])
    identified = identify(first.files()), identify(second.files())
    return with_names(result, *names_of_two(first, second), time.perf_counter() - start, identified)


def _as_usual(result: VerifyResult) -> bool:
    """True where outputs are as near as without a tolerance, so that it is not this one by which they are equal."""
    return all(d.max_rel <= TOLERANCES["float32"].atol for d in result.differences if d.compared)


def told_apart_by_none(first: Model, second: Model) -> tuple[str, ...]:
    """Attributes and parameters that differ although all inputs that were tried give the same, in words."""
    try:
        return tuple(unreached(first, second))
    except (MXNetError, ConversionError, OSError):  # the verdict stands without them
        return ()


def _unreached_words(found: Sequence[str]) -> str:
    says = "no input that was tried tells the models apart, and yet they differ at"
    return f"{says} {'; '.join(found)}; give inputs that reach this (--inputs, --range)"
