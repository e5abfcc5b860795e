"""The proof of a conversion: the written file, run beside the network on the same inputs."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import time
from collections.abc import Callable
from pathlib import Path

from converters.writer import Converted
from hybrid.core.error import MXNetError
from hybrid.core.op import OPS
from hybrid.formats.files import write

from ..cases import Cases, further_cases
from ..compare import as_tolerance
from ..engines import EngineError, NativeEngine, OnnxEngine, OutOfTime
from ..expected import renamed, with_recording
from ..inputs import as_specs, sources_of
from ..judge import check
from ..models import ONNX, BadInput, Model
from ..paths import listed
from ..renaming import rename_inputs
from ..result import Case, Progress, VerifyResult, identify, with_names, with_warnings
from .network import Network, fitting_sizes, without_other_sizes
from .writing import Made

RANKING_TRIES = 3  # sets of drawn inputs, when near ties in a ranking are all that differs
LONGER = (2, 8)  # sizes of open axes that are tried where 1 is refused
MAPPED_OVER = 64 << 20  # bytes of weights; beyond, verification maps the written file's bytes instead of loading copies


def proved(network: Network, made: Made, path: Path, tell: Progress) -> VerifyResult:
    """The comparison of a written file with its network; of what trains by chance, and of what ends in a plugin, that of the model
    without it. Raises BadInput for inputs that do not fit."""
    tell("preparing inputs")
    model, converted = network.model, made.verified
    if network.twin is not None:
        model, forms = network.twin, network.forms
        converted = ONNX.translated(model, inputs=network.shaped, opset=converted.opset, forms=forms)
        rename_inputs(converted.model.graph, network.names)
    if converted is not made.saved:
        path = path.parent / "still" / "model.onnx"
        path.parent.mkdir()
        converted.save(path)
    return compared(model, path, converted, network, tell)


def compared(model: Model, path: Path, converted: Converted, network: Network, tell: Progress) -> VerifyResult:
    """The comparison of a model with the file at a path, which holds it converted; of other inputs where near ties in a ranking are
    all that differs. Raises BadInput for inputs that do not fit."""
    start, proof = time.perf_counter(), network.proof
    opened = path
    if converted.nbytes > MAPPED_OVER and converted.nbytes <= path.stat().st_size:
        opened = path.with_name("mapped.onnx")
        write(opened, converted.with_external_data(path.name).SerializeToString())
    written = Model(model.name, proto=converted.model, path=opened)
    left = NativeEngine(model, network.specs)
    right = OnnxEngine(written, frugal=True, scratch=opened is not path)
    limits = as_tolerance(proof.tolerance)

    def judged(network: Network, seed: int, repro: str | os.PathLike[str] | None = None) -> VerifyResult:
        cases, notes = _cases(left, right, network, seed)
        result = check(left, right, cases, tolerance=limits, repro=repro, progress=tell, layers=proof.layers)
        return with_warnings(result, notes) if notes else result

    network, result = _at_some_size(network, lambda at: judged(at, proof.seed, proof.repro), tell)
    for attempt in range(1, RANKING_TRIES):
        if not _only_ties_differ(result):
            break
        at = result.divergence.node if result.divergence else ""
        tell(f"near ties at {at}: drawing other inputs")
        again = judged(network, proof.seed + 1000 * attempt)
        if again.equivalent:
            note = (
                f"with seed {proof.seed} near ties came in another order at {at}, which is right by itself; "
                f"seed {proof.seed + 1000 * attempt} agrees throughout"
            )
            result = dataclasses.replace(again, warnings=(note, *again.warnings))
    if network.recording is not None:
        told = renamed(network.recording, left)
        result = with_recording(result, told, left, right, tolerance=limits, progress=tell)
    read = identify(p for p in (model.path, model.params_path) if p is not None), ()
    return with_names(result, model.name, path.name, time.perf_counter() - start, read)


def _at_some_size(
    network: Network, judged: Callable[[Network], VerifyResult], tell: Progress
) -> tuple[Network, VerifyResult]:
    """The verdict on a network, at longer open axes where a run refuses those of size 1 that nobody asked for."""
    try:
        return network, judged(network)
    except (EngineError, MXNetError) as error:
        if isinstance(error, OutOfTime):
            raise
        for longer in filter(None, map(network.longer, LONGER)):
            tell("trying longer inputs")
            with contextlib.suppress(EngineError, MXNetError):
                result = judged(longer)
                note = _refused_alone(network, longer, error)
                return longer, dataclasses.replace(result, warnings=(note, *result.warnings))
        raise


def _refused_alone(network: Network, longer: Network, error: Exception) -> str:
    """A remark on open axes that a size of 1 is too short for."""
    changed = {
        label: longer.specs[n].shape[a]  # type: ignore[index]
        for n, axes in network.axes.items()
        for a, label in axes.items()
        if n in network.specs and network.specs[n].shape != longer.specs[n].shape and label in network.chosen
    }
    said = str(error).splitlines()[0]
    return f"{listed(changed)}: a size of 1 is refused ({said}); compared at {listed(map(str, changed.values()))} and others"


def _cases(left: NativeEngine, right: OnnxEngine, network: Network, seed: int) -> tuple[list[Case], tuple[str, ...]]:
    """The runs to compare: of inputs given or drawn, of those that are given further, of other sizes of open axes, and of draws of
    other kinds; and what is to be said of the sizes. Raises BadInput where sizes do not fit."""
    names, ranges, arrays = network.names, network.proof.ranges, network.arrays
    used, notes = {n: s for n, s in network.specs.items() if n in left.inputs}, ()
    given, seen = {n: a for n, a in arrays.items() if n in left.inputs}, {}
    made = Cases(left, right, used, given, names=names, ranges=ranges, files=network.files)
    out = [made.case(seed, seen=seen)]
    for number, inputs in enumerate(network.also, 1):
        try:
            further, given = as_specs(inputs)
            more = Cases(left, right, {**used, **further}, given, names=names, ranges=ranges, files=sources_of(inputs))
            out.append(more.case(seed + number, seen=seen))
            left.program.inference(left.complete(out[-1].feeds))
        except (BadInput, MXNetError) as error:
            raise BadInput(f"further inputs (also), set {number} of {len(network.also)}: {error}") from error
    if network.axes and all(case.shapes == out[0].shapes for case in out):
        try:
            sizes, notes = fitting_sizes(left.model, used, network.axes)
            other = Cases(left, right, sizes, {}, like=arrays, names=names, ranges=ranges)
            out.append(other.case(seed + 1, seen=seen))
            left.program.inference(left.complete(out[-1].feeds))
        except MXNetError as error:
            also = ", or give a second set of inputs (--also FILE.npz, or also=) of sizes that belong together"
            raise without_other_sizes(left.model, used, network.axes, error, also) from error
    return out + further_cases(made, seed, seen, network.proof.draws), notes


def _only_ties_differ(result: VerifyResult) -> bool:
    """True where all that is known to differ are near ties in a drawn input, put in another order by rounding before a node that
    ranks and that is right by itself. Another draw then tells whether everything after it is right too."""
    found = result.divergence
    if result.equivalent or found is None or found.kind != "accumulated" or found.operator not in OPS:
        return False
    return OPS[found.operator].is_ordering and any(run["seed"] is not None for run in result.runs)
