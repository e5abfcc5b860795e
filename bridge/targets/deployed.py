"""Verdicts on a file where it is deployed: by each target one, from its profile alone or from running it there."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import onnx

from converters.error import ConversionError, Problem
from converters.onnx_types import HALF_CODES
from hybrid.core.error import MXNetError
from hybrid.core.op import Spec

from ..cases import Cases
from ..compare import Tolerance
from ..engines import Engine, EngineError, NativeEngine, OnnxEngine
from ..faces.notebook import listener
from ..inputs import Given, as_specs, loaded, sources_of
from ..job import NotEquivalent
from ..judge import check
from ..models import BadInput, Model, in_own_dtypes, onnx_spec, open_model, specs_of_onnx
from ..openings import as_example, batches_of, is_open, sized
from ..paths import SizesWanted
from ..result import Case, Progress, VerifyResult
from ..runners import OutputsOnly
from .check import lacking, problems
from .locate import first_failing
from .place import Place, how_to_install, place_of
from .process import TIME_LIMIT, Crashed, Late, TargetRunner
from .profile import Profile, profiles_of

AGREES, DIFFERS, REFUSED, CRASHED, LATE = "agrees", "differs", "refused", "crashed", "too late"
FITS, LACKS = "fits", "does not fit"
"""Verdicts of a profile alone, where the target is not run."""
RUN = (AGREES, DIFFERS, REFUSED, CRASHED, LATE)
FAILED = (DIFFERS, REFUSED, CRASHED, LATE, LACKS)
HALF = 2e-3
"""The error, times the scale, of float16 in one engine beside float16 in another: two units in the last place."""
TARGET = "target."
"""Beginning of the names of facts about targets in a file's metadata."""
SHOWN = 4
"""Operators that a reason lists."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a file on a target.

    Examples
    --------
    >>> import gluonnx
    >>> outcome = gluonnx.Outcome("openvino", "differs", release="openvino 2025.1", error=0.25)
    >>> outcome.good, outcome.words
    (False, 'openvino 2025.1: differs (off by 2.5e-01 of scale at most)')
    >>> outcome.as_dict()["verdict"]
    'differs'
    >>> gluonnx.Outcome("openvino", "agrees", release="openvino 2025.1", error=1e-6, default="float32").words
    'openvino 2025.1: agrees in float32 (off by 1.0e-06 of scale at most)'
    >>> gluonnx.Outcome("openvino", "agrees", release="openvino 2025.1", sizes={"batch": (2,)}).where_run
    'run at batch 2'
    """

    target: str
    """Its name, such as openvino."""
    verdict: str
    """"agrees", "differs", "refused", "crashed", "too late"; "fits" or "does not fit" by the profile, where it is not run."""
    release: str = ""
    """The package and its version; empty where it is not run."""
    python: str = ""
    """The interpreter that it was run in."""
    reason: str = ""
    """Words for why it does not agree, or how it can be run."""
    node: str = ""
    """The node that it fails on, found by cutting the file after more and more nodes; empty where none was found."""
    operator: str = ""
    """The node's operator."""
    error: float | None = None
    """The greatest difference of an output, of its largest number."""
    rounding: float | None = None
    """The bound that decided, times the scale, where the target's arithmetic is coarser than float32; None for the judge's rule."""
    default: str = ""
    """The precision that the engine computes in by itself on this machine ("bfloat16"), where it lets one choose; it was run in
    float32. Empty where it does not choose, or was not run."""
    seconds: float = 0.0
    """Seconds that running and comparing took."""
    sizes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """By label the sizes of open axes that it was run at; empty where no axis is open, or it was not run."""
    lacks: Mapping[str, int] = field(default_factory=dict)
    """Operators of the file that the profile refuses, and how many nodes of each."""
    verification: VerifyResult | None = field(default=None, repr=False, compare=False)
    """The comparison; None where it was not run, or did not come that far."""

    @property
    def good(self) -> bool:
        """True where it agrees, or fits by the profile."""
        return self.verdict in (AGREES, FITS)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {k: v for k, v in asdict(replace(self, verification=None)).items() if k != "verification"}

    @property
    def where_run(self) -> str:
        """Words for the sizes of open axes that it was run at; empty where there are none."""
        at = [f"{axis} {' and '.join(map(str, each))}" for axis, each in self.sizes.items()]
        return f"run at {', '.join(at)}" if at else ""

    @property
    def words(self) -> str:
        """The outcome in one line."""
        numbers = [] if self.error is None else [f"off by {self.error:.1e} of scale at most"]
        numbers += [self.where_run] if self.sizes else []
        error = f" ({'; '.join(numbers)})" if numbers else ""
        where = f"{self.release}: " if self.release else ""
        place = f" at {self.node} ({self.operator})" if self.node else ""
        reason = f": {self.reason}" if self.reason else ""
        chosen, narrower = " in float32" if self.default else "", ""
        if self.default not in ("", "float32", "float64"):
            narrower = f"; its own default on this machine is {self.default}: ask it for float32 where you run it"
        return f"{where}{self.verdict}{chosen}{place}{error}{reason}{narrower}"


@dataclass(frozen=True)
class TargetsResult:
    """A file on several targets.

    Examples
    --------
    >>> import gluonnx
    >>> _ = gluonnx.convert("model", inputs={"data": (1, 3)}, output="model.onnx")
    >>> result = gluonnx.verify_targets("model.onnx", ["onnxruntime"], inputs={"data": (1, 3)})
    >>> result.model, result.opset, result.run, result.wrong, result.failed
    ('model', 13, ('onnxruntime',), (), ())
    >>> [outcome["verdict"] for outcome in result.as_dict()["outcomes"]]
    ['agrees']
    """

    model: str
    """Its name."""
    outcomes: tuple[Outcome, ...]
    """The outcome on each target, in the order asked for."""
    opset: int
    """That of the file."""
    seconds: float = 0.0
    """Seconds that it took."""

    @property
    def wrong(self) -> tuple[str, ...]:
        """The targets that give other numbers."""
        return tuple(o.target for o in self.outcomes if o.verdict == DIFFERS)

    @property
    def run(self) -> tuple[str, ...]:
        """The targets that the file was run on; of others the profile alone speaks."""
        return tuple(o.target for o in self.outcomes if o.release)

    @property
    def failed(self) -> tuple[str, ...]:
        """The targets that do not take the file, or give other numbers."""
        return tuple(o.target for o in self.outcomes if not o.good)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "model": self.model,
            "opset": self.opset,
            "outcomes": [o.as_dict() for o in self.outcomes],
            "run": list(self.run),
            "wrong": list(self.wrong),
            "failed": list(self.failed),
            "seconds": self.seconds,
        }


class TargetFailed(EngineError):
    """A target, run on the converted file, refuses it, crashes or takes too long. ``outcomes`` has all.

    Examples
    --------
    >>> import gluonnx
    >>> outcome = gluonnx.Outcome("openvino", "refused", node="nms0", operator="NonMaxSuppression")
    >>> error = gluonnx.TargetFailed([outcome])
    >>> str(error), len(error.outcomes)
    ('openvino: refused at nms0 (NonMaxSuppression)', 1)
    """

    def __init__(self, outcomes: Sequence[Outcome]):
        self.outcomes = tuple(outcomes)
        bad = [o for o in outcomes if not o.good]
        super().__init__("; ".join(f"{o.target}: {o.words}" for o in bad))


def on_target(
    profile: Profile,
    place: Place | None,
    left: Engine,
    path: Path,
    model: onnx.ModelProto,
    found: Sequence[Problem],
    specs: Mapping[str, Spec],
    *,
    arrays: Mapping[str, Any] | None = None,
    drawn: bool = False,
    seed: int = 0,
    names: Mapping[str, str] | None = None,
    ranges: Mapping[str, tuple[float, float]] | None = None,
    files: Mapping[str, str] | None = None,
    tolerance: Tolerance | None = None,
    time_limit: float = TIME_LIMIT,
) -> Outcome:
    """The outcome of a file on one target. left: what is right, our engine as a rule. model: the file's graph. found: what the
    profile says of it. specs, arrays: of the inputs of left. drawn: on drawn inputs beside the arrays. The rest as Cases takes
    it."""
    lacks = lacking(found)
    told: dict[str, Any] = {"target": profile.name, "lacks": lacks}
    if place is None:
        install = how_to_install(profile)
        reason = f"{_brief(found)}; {install}" if found else install
        return Outcome(verdict=LACKS if found else FITS, reason=reason, **told)
    told |= {"release": f"{place.package} {place.version}", "python": place.python}
    outputs = {o.name: onnx_spec(o) for o in model.graph.output}
    start = time.perf_counter()
    with TargetRunner(profile, place, path, specs_of_onnx(model), outputs, time_limit) as runner:
        right = OutputsOnly(runner)
        cases: list[Case] = []
        try:
            told_of_draws: dict[str, Any] = {"names": names, "ranges": ranges, "files": files}
            made = Cases(left, right, specs, arrays or {}, **told_of_draws)
            cases = [made.case(seed)]
            if drawn or not arrays:
                cases.append(Cases(left, right, specs, {}, **told_of_draws).case(seed + 1))
            result, rounding = check(left, right, cases, tolerance=tolerance), None
            bound = max(profile.rounding or 0.0, HALF if _has_halves(model) else 0.0)
            if (
                result.verdict == "not equivalent"
                and tolerance is None
                and all(d.equal or (d.compared and not d.misplaced and d.max_rel <= bound) for d in result.differences)
            ):
                rounding = bound
        except EngineError as error:
            kind = CRASHED if isinstance(error, Crashed) else LATE if isinstance(error, Late) else REFUSED
            told |= {} if kind == LATE else _place_of(profile, place, path, cases, names, False)
            told["sizes"] = sizes_run(model, [case.feeds for case in cases], names)
            reason = f"{error}" + (f" (its profile says: {_brief(found)})" if found else "")
            return Outcome(verdict=kind, reason=reason, seconds=time.perf_counter() - start, **told)
    seconds = time.perf_counter() - start
    error = max((d.max_rel for d in result.differences if d.compared), default=None)
    differs = result.verdict == "not equivalent" and rounding is None
    worst = next((d for d in result.differences if not d.equal), None)
    reason = f"{worst.name}: {worst.reason}" if differs and worst is not None else ""
    if differs:
        told |= _place_of(profile, place, path, cases, names, True)
    if found and not differs:
        reason = f"though its profile says: {_brief(found)}"
    return Outcome(
        verdict=DIFFERS if differs else AGREES,
        reason=reason,
        error=None if error is None else float(error),
        rounding=rounding,
        default=runner.default,
        seconds=seconds,
        verification=result,
        sizes=sizes_run(model, [case.feeds for case in cases], names),
        **told,
    )


def sizes_run(
    model: onnx.ModelProto, feeds: Sequence[Mapping[str, Any]], names: Mapping[str, str] | None = None
) -> dict[str, tuple[int, ...]]:
    """By label the sizes that open axes of a file's inputs had in runs. names: inputs' names in the file, where feeds have
    others."""
    found: dict[str, dict[int, None]] = {}
    for each in feeds:
        fed = {(names or {}).get(n, n): a.shape for n, a in each.items()}
        for info in model.graph.input:
            for axis, (size, dim) in enumerate(zip(fed.get(info.name, ()), info.type.tensor_type.shape.dim)):
                if not dim.HasField("dim_value"):
                    found.setdefault(dim.dim_param or f"axis {axis} of {info.name}", {})[size] = None
    return {label: tuple(sizes) for label, sizes in found.items()}


def _has_halves(model: onnx.ModelProto) -> bool:
    """True where a file takes or gives numbers of 16 bits."""
    return any(v.type.tensor_type.elem_type in HALF_CODES for v in (*model.graph.input, *model.graph.output))


def _place_of(
    profile: Profile, place: Place, path: Path, cases: Sequence[Case], names: Mapping[str, str] | None, differs: bool
) -> dict[str, str]:
    """The node that a target fails on, as an outcome holds it; empty where none is found."""
    if not cases:
        return {}
    feeds = {(names or {}).get(n, n): a for n, a in cases[0].feeds.items()}
    node = first_failing(profile, place, path, feeds, differs)
    return {} if node is None else {"node": node.name or node.output[0], "operator": node.op_type}


def _brief(found: Sequence[Problem]) -> str:
    """Problems in a few words: the first of each operator."""
    first = {p.operator: p for p in reversed(found)}
    shown = [str(p) for p in reversed(first.values())][:SHOWN]
    more = len(first) - len(shown)
    return "; ".join(shown) + (f"; and {more} more operators" if more > 0 else "")


def verify_targets(
    source: Any,
    targets: Sequence[str] = ("all",),
    *,
    inputs: Given | None = None,
    seed: int = 0,
    ranges: Mapping[str, tuple[float, float]] | None = None,
    tolerance: Tolerance | None = None,
    time_limit: float = TIME_LIMIT,
    progress: Progress | None = None,
) -> TargetsResult:
    """An ONNX file on targets: where one is installed it is run beside our engine on the same drawn (or given) inputs and judged as
    verify does; where not, its profile says whether the file fits.

    source: the path of an ONNX file. targets: names, or "all". inputs: an .npz, or shapes or arrays by name; what is not given is
    drawn. seed, ranges: of draws, ranges being (low, high) by name. tolerance: in place of the usual one, and of a target's
    rounding. time_limit: seconds after which a target is too late. progress: called with a target's name whenever its turn comes.
    Raises BadInput for another model, and for targets that there are not.

    Examples
    --------
    >>> import gluonnx
    >>> _ = gluonnx.convert("model", inputs={"data": (1, 3)}, output="model.onnx")
    >>> result = gluonnx.verify_targets("model.onnx", ["onnxruntime"], inputs={"data": (1, 3)})
    >>> [(outcome.target, outcome.good) for outcome in result.outcomes]
    [('onnxruntime', True)]
    """
    chosen, model, start = profiles_of(targets), open_model(source), time.perf_counter()
    if not model.is_onnx or model.path is None:
        raise BadInput(
            f"{model.name} is no ONNX file; convert it first: gluonnx convert {model.path or 'MODEL'} --target NAME"
        )
    proto = model.proto
    assert proto is not None
    given = loaded(inputs, model)
    specs, arrays = as_specs(given)
    left, specs = _reference(model, specs)
    tell, outcomes = listener(progress), []
    told = {"seed": seed, "ranges": ranges, "files": sources_of(given), "tolerance": tolerance}
    for profile in chosen:
        tell(f"{profile.name}")
        found = problems(profile, proto)
        outcomes.append(
            on_target(
                profile, place_of(profile), left, model.path, proto, found, specs,
                arrays=arrays, time_limit=time_limit, **told,
            )
        )  # fmt: skip
    opset = next(o.version for o in proto.opset_import if o.domain in ("", "ai.onnx"))
    return TargetsResult(model.name, tuple(outcomes), opset, time.perf_counter() - start)


def _reference(model: Model, specs: Mapping[str, Spec]) -> tuple[Engine, Mapping[str, Spec]]:
    """The side that is right: our engine on the file, or onnxruntime where that does not read it; and the shapes of its inputs."""
    declared = specs_of_onnx(model.proto) if model.proto is not None else {}
    # a shape alone is of the dtype that the file says: a target may take floats for bytes without a word
    specs = in_own_dtypes(specs, declared)
    complete = {**sized(model, given=specs), **specs}
    unsaid = {n: s.shape for n, s in complete.items() if n in declared and (s.shape is None or is_open(s))}
    if unsaid:
        raise SizesWanted({n: as_example(shape, batches_of(declared)) for n, shape in unsaid.items()})
    try:
        return NativeEngine(model.native, complete), complete
    except (ConversionError, MXNetError):
        return OnnxEngine(model), complete


def raise_failed(outcomes: Sequence[Outcome]) -> None:
    """Raise NotEquivalent where a target gives other numbers, TargetFailed where one does not run the file."""
    for outcome in outcomes:
        if outcome.verdict == DIFFERS and outcome.verification is not None:
            raise NotEquivalent(outcome.verification, [f"on {outcome.target}, {outcome.release}"])
    if any(o.verdict in FAILED for o in outcomes):
        raise TargetFailed(outcomes)


def facts_of(outcomes: Sequence[Outcome]) -> dict[str, str]:
    """Facts that a file carries in its metadata, of the targets that it was written for."""
    return {
        f"{TARGET}{o.target}": f"{o.verdict}, {o.release}" if o.release else f"{o.verdict} by its profile, not run"
        for o in outcomes
    }
