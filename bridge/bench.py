"""Measures how fast a model runs on our engine and on onnxruntime: same inputs, same threads, in turns. And where our time goes."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import hybrid
from hybrid import native
from hybrid.core.error import MXNetError
from hybrid.core.op import Spec
from hybrid.core.precision import FLOAT32
from hybrid.execution.precision_report import PrecisionReport
from hybrid.gluon import SymbolBlock
from hybrid.ir.graph import Entry
from hybrid.symbol import Symbol

from .cases import make_case, pair_outputs
from .compare import TOLERANCES, Difference, Tolerance, as_tolerance, compare
from .conditioning import settle, truth_of
from .engines import NativeEngine, OnnxEngine
from .faces.notebook import listener
from .fallbacks import FallbackCount, fallbacks_of
from .inputs import Given, as_specs, loaded, sources_of
from .models import ONNX, BadInput, Model, check_named, described, hold_dtypes, open_model, specs_of_onnx
from .openings import batches_of, sized
from .opsets import default_opset, newest
from .result import Progress
from .settle import settle_inputs
from .timing import block, in_turns

OURS, THEIRS = "gluonnx", "onnxruntime"
SIDE = 384  # of the square matrices whose product shows the most: large enough, and over before somebody else gets the core
STREAM = 64 << 20  # bytes copied to see what memory gives: beyond any cache
RUNS = 20  # of a profile; the fastest time of each step counts


@dataclass(frozen=True)
class Peak:
    """Operations and bytes a second that this machine reaches with the threads used."""

    flops: float
    bytes: float


@dataclass(frozen=True)
class StepTime:
    """One step of a compiled model."""

    node: str
    operator: str
    kernel: str
    """Kernel that computes it; ``numpy`` where none does."""
    shape: tuple[int, ...]
    """Of its first output."""
    seconds: float
    share: float
    """Of all steps' time."""
    gflops: float
    gbytes: float
    """Both per second."""
    of_peak: float
    """Share of the operations that the machine reaches; more than 1 where an algorithm (Winograd's) needs fewer than counted."""


@dataclass(frozen=True)
class BenchResult:
    """Measurements of one bench.

    Examples
    --------
    >>> import gluonnx
    >>> result = gluonnx.bench("model", inputs={"data": (1, 3)}, seconds=0.01, rounds=1)
    >>> result.equivalent, result.inputs, result.ratio > 0
    (True, {'data': {'shape': [1, 3], 'dtype': 'float32'}}, True)
    >>> sorted(result.as_dict()["seconds"]["gluonnx"])
    ['best', 'high', 'low', 'median', 'samples']
    """

    model: str
    """Its name."""
    inputs: dict[str, dict[str, Any]]
    """Shape and dtype of each by name."""
    threads: int
    """Threads of both engines."""
    level: str | None
    """The CPU level whose kernels were in use; None when NumPy computed."""
    seconds: dict[str, dict[str, Any]]
    """By engine: median, the tenth that was faster and the tenth that was slower, best, and how many samples."""
    ratio: float
    """onnxruntime's median over ours: how many times as fast ours is."""
    equivalent: bool
    """True where both engines agreed, which is looked at before anything is measured."""
    differences: tuple[Difference, ...]
    """Those of each output."""
    steps: tuple[StepTime, ...] = ()
    """Times of our steps, with profile."""
    peak: Peak | None = None
    """The most that this machine reaches, with profile; None without."""
    warnings: tuple[str, ...] = ()
    """Remarks, such as why there is no profile."""
    fallbacks: tuple[FallbackCount, ...] = ()
    """Steps that NumPy computes."""
    precision: PrecisionReport | None = None
    """Costs of the precision that was asked for; the differences are those of weights as they are."""

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        told = None if self.precision is None else self.precision.as_dict()
        return {**asdict(self), "fallbacks": [f._asdict() for f in self.fallbacks], "precision": told}


def bench(
    model: Any,
    params: Any = None,
    *,
    inputs: Given | None = None,
    ranges: Mapping[str, tuple[float, float]] | None = None,
    batch: int | None = None,
    threads: int | None = None,
    seconds: float = 2.0,
    rounds: int = 10,
    profile: bool = False,
    seed: int = 0,
    tolerance: Tolerance | tuple[float, float] | None = None,
    precision: str = FLOAT32,
    progress: Progress | None = None,
) -> BenchResult:
    """Measure a model on both engines.

    model: what open_model takes; a symbol is converted for onnxruntime, an ONNX model is imported for ours. inputs: an .npz, or
    shapes or arrays by name, for what the model does not tell. batch: the first size of all inputs. threads: of both; by default as
    many as our engine uses. seconds: of each engine, in so many rounds. profile: also time every step of ours. precision: of ours'
    constant weights; what that costs is told beside the comparison, which is of weights as they are.
    Raises BadInput, converters.UnsupportedModel, EngineError or hybrid's errors.
    seed: of the numbers that are drawn. ranges: (low, high) of them, by name. tolerance: (atol, rtol), where the usual one is not
    to be used. progress: called with a text whenever something else begins.

    Examples
    --------
    >>> import gluonnx
    >>> result = gluonnx.bench("model", inputs={"data": (1, 3)}, seconds=0.1)
    >>> sorted(result.seconds)
    ['gluonnx', 'onnxruntime']
    """
    tell = listener(progress)
    for name, value in (("batch", batch), ("threads", threads), ("rounds", rounds)):
        if value is not None and value < 1:
            raise BadInput(f"got {name} {value}, wanted 1 or more")
    if not 0 < seconds < float("inf"):
        raise BadInput(f"got seconds {seconds}, wanted more than 0")
    check_named(precision)
    tell("reading the model")
    opened = open_model(model, params)
    fed = loaded(inputs, opened)
    specs, arrays = as_specs(fed)
    arrays = hold_dtypes(opened, arrays, sources_of(fed))
    specs |= {n: Spec(a.shape, a.dtype) for n, a in arrays.items()}
    count, before = threads or native.threads(), native.threads()
    with tempfile.TemporaryDirectory(prefix="gluonnx-") as folder:
        ours, theirs, specs = _models_of_both(opened, specs, batch, count, Path(folder))
        peer = OnnxEngine(theirs, threads=count)
        mine = NativeEngine(ours, specs)
        case = make_case(mine, peer, specs, {n: a for n, a in arrays.items() if n in mine.inputs}, seed, ranges=ranges)
        native.set_num_threads(count)
        try:
            block_ = _as_block(ours, mine)
            given = [hybrid.nd.array(a, dtype=a.dtype) for a in map(mine.complete(case.feeds).__getitem__, mine.inputs)]
            tell("loading in onnxruntime")
            peer.open()
            tell("comparing")
            want = peer.run_unchecked(case.feeds)
            got = dict(zip(mine.outputs, (y.asnumpy() for y in _run_block(block_, given))))
            limits = as_tolerance(tolerance)
            rounded = (peer if opened.is_onnx else mine).precision(case.feeds)  # how the user's own model computes
            pairs = pair_outputs(list(want), list(got))
            differences = tuple(
                compare(a, got[b], want[a], limits or TOLERANCES.get(rounded.get(a if opened.is_onnx else b, "")))
                for a, b in pairs
            )
            if limits is None and not all(d.equal for d in differences):
                truths = truth_of(mine, mine.complete(case.feeds))
                differences = tuple(settle(differences, pairs, want, got, truths))
            cost = None
            if precision != FLOAT32:
                tell(f"comparing {precision} weights")
                mine = NativeEngine(ours, specs, precision)
                cost = mine.precision_report(case.feeds)
                block_.hybridize(static_alloc=True, static_shape=True, precision=precision)
            tell(f"measuring, {count} thread(s)")
            peer.open_in_process()
            sides = {OURS: lambda: _run_block(block_, given), THEIRS: lambda: peer.run_unchecked(case.feeds)}
            found = in_turns(
                {name: lambda s, call=call: block(call, s) for name, call in sides.items()}, seconds, rounds
            )
            result = BenchResult(
                model=opened.name,
                inputs=described(case.feeds),
                threads=count,
                level=native.level(),
                seconds={name: t.as_dict() for name, t in found.items()},
                ratio=found[THEIRS].median / found[OURS].median,
                equivalent=all(d.equal for d in differences),
                differences=differences,
                precision=cost,
            )
            if profile:
                tell("profiling")
                result = _add_profile(result, mine, case.feeds, count)
        finally:
            native.set_num_threads(before)
    return result


def _models_of_both(
    opened: Model, specs: dict[str, Spec], batch: int | None, threads: int, folder: Path
) -> tuple[Model, Model, dict[str, Spec]]:
    """The model for our engine, the one for onnxruntime, and the inputs' specs."""
    if opened.proto is not None:
        declared = specs_of_onnx(opened.proto)
        unknown = [n for n in specs if n not in declared]
        if unknown:
            raise BadInput(*(f"unknown input {n}: the model takes {', '.join(declared)}" for n in unknown))
        # what has its batch elsewhere than in front, as a state of a recurrence, has something else there
        behind = {n for n, s in declared.items() if batches_of(declared) & {*(s.shape or ())[1:]}}
        known = {n: s if n in behind else _with_batch(s, batch, declared[n]) for n, s in specs.items()}
        told = {**sized(opened, batch or 1, known), **known}
        wanted = {n: _with_batch(told[n], None if n in behind else batch, s) for n, s in declared.items()}
        return opened.native, opened, wanted
    opened = opened.inferring(specs)
    given = _add_declared_shapes(opened, specs) if batch is not None else specs
    wanted = settle_inputs(opened, {n: _with_batch(s, batch, s) for n, s in given.items()}, {})
    made = ONNX.translated(opened, inputs=wanted, default=default_opset(), newest=newest())
    path = made.save(folder / "model.onnx")[0]
    return opened, Model(opened.name, proto=made.model, path=path), wanted


def _add_declared_shapes(model: Model, specs: dict[str, Spec]) -> dict[str, Spec]:
    """The specs, with those of inputs whose variables say their shape; what follows from these follows from other sizes too."""
    assert model.graph is not None
    free = set(model.variables())
    try:
        inferred = model.infer(specs)
    except MXNetError:
        return specs  # who settles the inputs says what is wrong
    stored = [n for n in model.graph.variables() if n.name in free and n.attrs.get("__shape__")]
    return specs | {n.name: inferred.spec(Entry(n)) for n in stored}


def _with_batch(spec: Spec, batch: int | None, declared: Spec) -> Spec:
    """The spec with the batch as its first size; 1 where the model leaves that open."""
    shape = spec.shape
    if shape and (batch is not None or isinstance(shape[0], str)):
        shape = (batch or 1, *shape[1:])
    return Spec(shape, spec.dtype or declared.dtype)


def _as_block(model: Model, engine: NativeEngine) -> SymbolBlock:
    """The model as a user has it: a hybridized block."""
    assert model.graph is not None
    out = Symbol(model.graph.outputs)
    net = SymbolBlock(out, [hybrid.sym.var(n) for n in engine.inputs])
    used = set(net.collect_params())
    stored = {n: hybrid.nd.array(a, dtype=a.dtype) for n, a in model.params.items() if n in used}
    net.collect_params().load_dict(stored, cast_dtype=True, dtype_source="saved")
    net.hybridize(static_alloc=True, static_shape=True, precision=FLOAT32)
    return net


def _run_block(net: SymbolBlock, given: Sequence[Any]) -> list[Any]:
    """The outputs, waited for."""
    out = net(*given)
    found = list(out) if isinstance(out, list | tuple) else [out]
    for y in found:
        y.wait_to_read()
    return found


# -- profile ------------------------------------------------------------------------------------------------------------------


def _add_profile(
    result: BenchResult, engine: NativeEngine, feeds: Mapping[str, np.ndarray], threads: int
) -> BenchResult:
    """The result with the time of every step, or with the reason why there is none."""
    program = engine.program
    complete = engine.complete(feeds)
    arrays = [complete[n] if n in complete else program.constants[n] for n in program.names]
    bound = program.prepare(tuple(x for a in arrays for x in (a.shape, a.dtype))).bound
    bound.run(arrays)  # once with these values before it is looked at
    found = fallbacks_of(program, {n: Spec(a.shape, a.dtype) for n, a in complete.items()})
    result = replace(result, fallbacks=found)
    if bound.profile(arrays) is None:
        why = "no kernels are in use" if native.level() is None else "no step has a kernel, or data decide about shapes"
        return replace(result, warnings=(*result.warnings, f"no profile: NumPy computes this model ({why})"))
    runs = [rows for _ in range(RUNS) if (rows := bound.profile(arrays)) is not None]
    peak = measure_peak(threads)
    rows = [(row, max(min(r[i]["seconds"] for r in runs), 1e-9)) for i, row in enumerate(runs[0])]
    total = sum(seconds for _, seconds in rows)
    steps = [
        StepTime(
            node=getattr(row["node"], "name", str(row["node"])),
            operator=row["op"],
            kernel=row["how"] or "kernel",
            shape=tuple(row["shape"]),
            seconds=seconds,
            share=seconds / total,
            gflops=row["flops"] / seconds / 1e9,
            gbytes=row["bytes"] / seconds / 1e9,
            of_peak=row["flops"] / seconds / peak.flops,
        )
        for row, seconds in rows
    ]
    return replace(result, steps=tuple(steps), peak=peak)


def measure_peak(threads: int) -> Peak:
    """The peak of so many threads here: onnxruntime's product of matrices, which is near the most, and copies of large arrays."""
    a = np.ones((SIDE, SIDE), np.float32)
    runtime = OnnxEngine(Model("product", proto=_matmul_model()), threads=threads)
    runtime.open_in_process()
    fastest = min(block(lambda: runtime.run_unchecked({"a": a}), 0.4))
    source = np.ones(STREAM // 4 // threads * threads, np.float32)
    target = np.empty_like(source)
    parts = list(zip(np.split(target, threads), np.split(source, threads)))

    def copy() -> None:
        workers = [threading.Thread(target=np.copyto, args=part) for part in parts[1:]]
        for worker in workers:
            worker.start()
        np.copyto(*parts[0])
        for worker in workers:
            worker.join()

    return Peak(2.0 * SIDE**3 / fastest, 2.0 * source.nbytes / min(block(copy, 0.1)))


def _matmul_model() -> Any:
    """An ONNX model of one product of square matrices."""
    import onnx

    weights = onnx.numpy_helper.from_array(np.ones((SIDE, SIDE), np.float32), "b")
    shape = [SIDE, SIDE]
    ends = [onnx.helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, shape) for n in ("a", "c")]
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("MatMul", ["a", "b"], ["c"])], "product", ends[:1], ends[1:], [weights]
    )
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=8)
