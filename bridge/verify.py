"""Do two models give the same numbers? And if not, where do they part?"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from hybrid.files import replacing, write
from hybrid.graph import json as symbol_json
from hybrid.graph.graph import Entry, Graph, Node
from hybrid.graph.passes.labels import label_names
from hybrid.op import Spec
from hybrid.params import release
from hybrid.shapes import MaybeShape

from .compare import Difference, Tolerance, as_tolerance, compare, statistics, tolerance_for
from .engines import Arrays, Engine, EngineError, NativeEngine, OnnxEngine, Tensor, engine_for
from .inputs import Inputs, as_specs, domains, draw, save_arrays
from .models import BadInput, Model, open_model

EXPOSED_BYTES = 256 << 20  # of tensors held at a time while looking for the first that differs

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Divergence:
    """The first tensor that differs beyond tolerance, and whether its own node is to blame."""

    tensor: str
    node: str
    operator: str
    accumulated: Difference
    """The difference in the whole model."""
    local: Difference | None
    """The difference when both sides' node gets the same inputs; None when it cannot be run alone."""
    inputs: dict[str, dict[str, Any]]
    """Statistics of the node's inputs."""

    @property
    def kind(self) -> str:
        """ "local" when the node itself computes something else, "accumulated" when earlier rounding grew."""
        return "unknown" if self.local is None else "accumulated" if self.local.equal else "local"


@dataclass(frozen=True)
class VerifyResult:
    """What verify found. ``equivalent`` is the verdict over every output of every run."""

    a: str
    b: str
    equivalent: bool
    runs: tuple[dict[str, Any], ...]
    """Per run: input shapes, seed and differences by output."""
    differences: tuple[Difference, ...]
    """The worst of each output over the runs."""
    divergence: Divergence | None = None
    warnings: tuple[str, ...] = ()
    seconds: float = 0.0
    repro: str | None = None

    def as_dict(self) -> dict[str, Any]:
        out = asdict(self)
        if self.divergence is not None:
            out["divergence"]["kind"] = self.divergence.kind
        return out


@dataclass
class Case:
    """One run: feeds by input name, and how they were made."""

    feeds: Arrays
    seed: int | None = None
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.shapes = {k: v.shape for k, v in self.feeds.items()}


def verify(
    a: Any,
    b: Any,
    *,
    inputs: Inputs | None = None,
    params: Any = None,
    seed: int = 0,
    runs: int = 1,
    tolerance: Tolerance | tuple[float, float] | None = None,
    outputs: Sequence[str] | None = None,
    repro: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> VerifyResult:
    """Run both models on the same inputs and compare every output.

    a, b: what open_model takes (a symbol runs on our engine, an ONNX model on onnxruntime). b is held against a. inputs:
    arrays, or shapes to draw seeded numbers for, by name; what is not given comes from the models' own shapes. tolerance:
    (atol, rtol) in place of the dtype's. repro: a folder to write a minimal reproduction to when they differ.
    Raises BadInput, EngineError, or hybrid's errors.
    """
    start = time.perf_counter()
    first, second = open_model(a, params), open_model(b, params if not str(b).endswith(".onnx") else None)
    if outputs:
        first, second = (m if m.is_onnx else m.select(list(outputs)) for m in (first, second))
    specs, arrays = as_specs(inputs)
    one, two = engine_for(first, specs), engine_for(second, specs)
    cases = [make_case(first, one, second, two, specs, arrays, seed + i) for i in range(max(1, runs))]
    limits = as_tolerance(tolerance)
    result = check(one, two, cases, tolerance=limits, repro=repro, progress=progress)
    if isinstance(one, NativeEngine) and isinstance(two, OnnxEngine):
        from .stepwise import settled  # which builds on this module

        result = settled(result, one, two, cases, limits, progress or (lambda _text: None))
    return named(result, first.name, second.name, time.perf_counter() - start)


def named(result: VerifyResult, a: str, b: str, seconds: float) -> VerifyResult:
    """The result, with the names of the models and the time it took."""
    return replace(result, a=a, b=b, seconds=seconds)


def with_warnings(result: VerifyResult, notes: Sequence[str]) -> VerifyResult:
    """The result, with further warnings before its own."""
    return replace(result, warnings=(*notes, *result.warnings))


def _example(shape: MaybeShape) -> str:
    """Sizes that fit a shape, as they are written."""
    return "1,3,224,224" if shape is None else ",".join("1" if isinstance(d, str) else str(d) for d in shape)


def make_case(
    first: Model,
    one: Engine,
    second: Model,
    two: Engine,
    specs: Mapping[str, Spec],
    arrays: Mapping[str, np.ndarray],
    seed: int,
    like: Mapping[str, np.ndarray] | None = None,
) -> Case:
    """Feeds for both engines: the arrays given, and seeded ones for the rest (with values of those in ``like``).

    Labels that neither reads may be among the arrays; they are left out."""
    wanted: dict[str, Spec] = {}
    known: dict[str, Any] = {}
    labels: set[str] = set()
    for model, engine in ((first, one), (second, two)):
        if isinstance(engine, OnnxEngine):
            for name, spec in engine.specs.items():
                if name not in wanted or wanted[name].shape is None:
                    wanted[name] = spec
        else:
            ignored = set(label_names(model.graph))  # type: ignore[arg-type]
            for name in engine.inputs:
                if name not in ignored:
                    wanted.setdefault(name, Spec())
            labels |= ignored
    labels -= wanted.keys()
    specs = {n: s for n, s in specs.items() if n not in labels}
    arrays = {n: a for n, a in arrays.items() if n not in labels}
    unknown = [n for n in specs if n not in wanted]
    if unknown:
        raise BadInput(*(f"got input {n!r}, wanted some of {', '.join(wanted) or 'none'}" for n in unknown))
    for name, spec in specs.items():
        wanted[name] = Spec(spec.shape, spec.dtype or wanted[name].dtype)
    open_dims = [
        n
        for n, s in wanted.items()
        if n not in arrays and (s.shape is None or any(isinstance(d, str) for d in s.shape))
    ]
    if open_dims:
        problems = [
            f"give the shape of input {n}, for instance --input {n}:{_example(wanted[n].shape)}" for n in open_dims
        ]
        if set(one.inputs) != set(two.inputs):
            problems += [f"{m.name} takes {', '.join(e.inputs)}" for m, e in ((first, one), (second, two))]
        raise BadInput(*problems)
    shapes: dict[str, MaybeShape] = {n: s.shape for n, s in wanted.items()}
    for model in (first, second):
        if model.graph is not None:
            given = {**{k: v.shape for k, v in model.params.items()}, **shapes}
            known |= domains(model.graph, given)
    drawn = draw({n: s for n, s in wanted.items() if n not in arrays}, known, seed, like)
    return Case({**drawn, **arrays}, None if not drawn else seed)


def check(
    one: Engine,
    two: Engine,
    cases: Sequence[Case],
    *,
    tolerance: Tolerance | None = None,
    repro: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> VerifyResult:
    """Compare two engines on cases; two is held against one. Looks for the first diverging tensor when they differ."""
    tell = progress or (lambda _text: None)
    _refuse_random(one, two)
    runs, worst, warnings = [], {}, []
    failed: Case | None = None
    if tolerance is None:
        tolerance = tolerance_for({d for case in cases[:1] for e in (one, two) for d in e.dtypes(case.feeds)})
    results: list[list[Arrays]] = []
    for engine in (one, two):  # one after the other, so that only one holds the weights in memory
        results.append([])
        for case in cases:
            tell(f"running {engine.label} on {', '.join(f'{k} {v}' for k, v in case.shapes.items())}")
            results[-1].append(engine.run(case.feeds))
        if isinstance(engine, NativeEngine):
            release(engine.model.params.values())
    for case, want, got in zip(cases, *results):
        pairs = pair_outputs(list(want), list(got))
        differences = [compare(name, got[other], want[name], tolerance) for name, other in pairs]
        runs.append({"shapes": case.shapes, "seed": case.seed, "differences": [d.as_dict() for d in differences]})
        for d in differences:
            if d.name not in worst or (worst[d.name].equal, -worst[d.name].max_rel) > (d.equal, -d.max_rel):
                worst[d.name] = d
            if d.equal and not np.prod(d.shape):
                warnings.append(f"output {d.name} is empty: nothing was compared")
            elif d.not_finite:
                warnings.append(
                    f"output {d.name} holds {d.not_finite} NaN or infinite values of {int(np.prod(d.shape))}"
                )
            elif d.saturated:
                warnings.append(
                    f"output {d.name} is 0 or 1 everywhere, which hides differences of the scores; "
                    "verify at the output before it too (--outputs)"
                )
            elif d.constant:
                warnings.append(f"output {d.name} is one value everywhere: agreement there says little")
        if failed is None and not all(d.equal for d in differences):
            failed = case
    divergence = None
    if failed is not None:
        tell("looking for the first node that differs")
        divergence = first_divergence(one, two, failed, tolerance)
        for engine in (one, two):
            fault = engine.kernels_at_fault(failed.feeds, tolerance) if isinstance(engine, NativeEngine) else None
            if fault is not None:
                warnings.append(fault)
    written = None
    if divergence is not None and repro is not None and failed is not None:
        try:
            written = str(write_repro(Path(repro), one, two, divergence, failed))
        except OSError as error:  # the verdict matters more
            warnings.append(f"no reproduction was written to {os.fspath(repro)} ({error}); give another folder")
    return VerifyResult(
        one.label,
        two.label,
        failed is None,
        tuple(runs),
        tuple(worst.values()),
        divergence,
        tuple(dict.fromkeys(warnings)),
        repro=written,
    )


RANDOM = frozenset(
    ("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike")
)
"""ONNX operators that draw random numbers."""


def samplers(graph: Graph) -> Iterator[Node]:
    """Nodes that draw random numbers in inference too, those of bodies included."""
    for node in graph.everywhere():
        op = node.op
        if op is not None and "rng" in op.uses and ("training" not in op.uses or getattr(op, "mode", "") == "always"):
            yield node


def _refuse_random(*engines: Engine) -> None:
    """Raise BadInput naming the nodes that draw random numbers: two runs of such a model never agree, and if they seem to
    (because what is drawn hardly matters) that proves nothing."""
    found = [
        f"{n.name} ({n.op.name})" for e in engines if isinstance(e, NativeEngine) for n in samplers(e.graph) if n.op
    ]
    if not any(isinstance(e, NativeEngine) for e in engines):
        nodes = (n for e in engines if isinstance(e, OnnxEngine) for n in e.proto.graph.node)
        found = [f"{n.name or n.output[0]} ({n.op_type})" for n in nodes if n.op_type in RANDOM]
    if found:
        raise BadInput(
            f"the model draws random numbers, at {', '.join(dict.fromkeys(found))}: runs differ by themselves, so nothing can "
            "be said of equivalence; leave verification out (--no-verify), or convert and verify at outputs before these nodes "
            "(--outputs)"
        )


def pair_outputs(first: Sequence[str], second: Sequence[str]) -> list[tuple[str, str]]:
    """Outputs that belong together: by name where the names agree, else by position. Raises BadInput."""
    if set(first) == set(second):
        return [(n, n) for n in first]
    if len(first) != len(second):
        raise BadInput(f"got {len(first)} outputs ({', '.join(first)}) against {len(second)} ({', '.join(second)})")
    return list(zip(first, second))


def first_divergence(one: Engine, two: Engine, case: Case, tolerance: Tolerance | None = None) -> Divergence | None:
    """The first tensor, in the order in which one makes them, that both have by name and that differs."""
    theirs = {t.name: t for t in two.inside()}
    common = [t for t in one.inside() if t.name in theirs]
    for group in _groups(one, case, common):
        want = one.expose(case.feeds, [t.name for t in group])
        try:
            got = two.expose(case.feeds, [t.name for t in group])
        except EngineError:
            continue  # a runtime may refuse to show some tensors; the others still tell
        for tensor in group:
            if tensor.name not in want or tensor.name not in got:
                continue
            difference = compare(tensor.name, got[tensor.name], want[tensor.name], tolerance)
            if not difference.equal:
                return _explain(one, two, case, tensor, theirs[tensor.name], difference, tolerance)
    return None


def _groups(one: Engine, case: Case, tensors: list[Tensor]) -> Iterator[list[Tensor]]:
    """Tensors in order, in groups whose values fit EXPOSED_BYTES."""
    if isinstance(one, NativeEngine):
        sizes = {
            entry.name: 4 * math.prod(d if isinstance(d, int) else 1 for d in spec.shape or ())
            for entry, spec in one.specs(one.complete(case.feeds))
        }
    else:
        sizes = {}
    group: list[Tensor] = []
    held = 0
    for tensor in tensors:
        size = sizes.get(tensor.name, EXPOSED_BYTES // 32)
        if group and held + size > EXPOSED_BYTES:
            yield group
            group, held = [], 0
        group.append(tensor)
        held += size
    if group:
        yield group


def _explain(
    one: Engine,
    two: Engine,
    case: Case,
    mine: Tensor,
    theirs: Tensor,
    difference: Difference,
    tolerance: Tolerance | None,
) -> Divergence:
    names = list(dict.fromkeys(mine.inputs))
    given = {**one.expose(case.feeds, names), **{k: v for k, v in case.feeds.items() if k in names}}
    try:
        want, got = one.alone(mine, given), two.alone(theirs, given)
    except EngineError:
        want = got = None
    local = None if want is None or got is None else compare(mine.name, got, want, tolerance)
    stats = {name: statistics(value) for name, value in given.items()}
    return Divergence(mine.name, mine.node, mine.operator, difference, local, stats)


def write_repro(folder: Path, one: Engine, two: Engine, found: Divergence, case: Case) -> Path:
    """A folder with the node alone: its inputs, what each side gives, and the models as far as they are ours to cut."""
    folder.mkdir(parents=True, exist_ok=True)
    mine = next(t for t in one.inside() if t.name == found.tensor)
    theirs = next(t for t in two.inside() if t.name == found.tensor)
    given = {**one.expose(case.feeds, mine.inputs), **{k: v for k, v in case.feeds.items() if k in mine.inputs}}
    stored: Arrays = {}
    if isinstance(one, NativeEngine):
        node = next(n for n in one.graph.nodes if n.op is not None and n.name == found.node)
        variables = [Entry(Node(None, one.name_of(e))) for e in node.inputs]
        index = next(i for i in range(len(node.outputs)) if one.name_of(Entry(node, i)) == found.tensor)
        alone = Graph([Entry(Node(node.op, node.name, variables, node.attrs, node.subgraphs), index)])
        write(folder / "node-symbol.json", symbol_json.dumps(alone))
        params = one.model.params
        stored = {one.name_of(e): params[e.name] for e in node.inputs if e.name in params}
    if isinstance(two, OnnxEngine):
        cut = two.cut(theirs, given)
        if cut is not None:
            write(folder / "node.onnx", cut.SerializeToString())
    expected, got = (engine.expose(case.feeds, [found.tensor]) for engine in (one, two))
    for name, arrays in (("inputs", given), ("params", stored), ("expected", expected), ("got", got)):
        with replacing(folder / f"{name}.npz") as file:
            save_arrays(file, arrays)
    report = {"tensor": found.tensor, "node": found.node, "operator": found.operator, "kind": found.kind}
    report |= {"accumulated": found.accumulated.as_dict(), "local": found.local and found.local.as_dict()}
    write(folder / "report.json", json.dumps(report, indent=2))
    return folder
