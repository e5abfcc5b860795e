"""An ONNX model becomes a symbol with parameters, checked against onnxruntime before the files appear."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import onnx

import converters
import hybrid.formats.params
from converters.export import NEWEST
from converters.for_mxnet import in_mxnet, lowered
from converters.importer import Imported
from converters.names import Names
from converters.onnx_types import text_of
from hybrid.core.error import MXNetError
from hybrid.core.op import Spec
from hybrid.ir import json as symbol_json
from hybrid.ir.graph import Graph

from .answers import first_that_runs
from .batches import Batches, at_sizes
from .cases import Cases, further_cases, refuse_drawing, samplers
from .compare import Tolerance, as_tolerance
from .draws import KINDS, Kind
from .engines import EngineError, NativeEngine, OnnxEngine, OutOfTime, ReferenceEngine
from .expected import fed, renamed, with_inputs, with_recording
from .faces.notebook import listener
from .inputs import Given, Inputs, as_specs, loaded, sources_of
from .job import Clock, Verified, check_target, publish
from .judge import check
from .models import SYMBOL, BadInput, Model, describe, names_of, onnx_spec, open_onnx
from .paths import one_or_more, symbol_files
from .recorded import Recording, load_recording
from .renaming import new_node_names, rename_nodes
from .resizing import asked_for, with_open_batch
from .result import Progress, VerifyResult, with_names, with_warnings
from .sharing import shared_weights
from .unsigned import unsigned_of
from .upgrading import OLDEST, CannotUpgrade, upgraded

SIZES = ((2, 8), (2, 32), (1, 64), (1, 224), (2, 1))
"""Sizes to verify axes at whose size the model leaves open: (the first axis, the others), tried in this order."""
MISDECLARED = "Shape mismatch attempting to re-use buffer"
"""Words of onnxruntime for a tensor whose declared shape is not the one that it has."""
LONG = ((1, 4096), (1, 16000))
"""Such sizes for inputs of which no more than one axis behind the first is open: sounds, of which frames are cut."""


@dataclass(frozen=True, repr=False)
class ImportResult(Verified):
    """The result of an import.

    Examples
    --------
    >>> import gluonnx
    >>> _ = gluonnx.convert("model", inputs={"data": (1, 3)}, output="model.onnx")
    >>> result = gluonnx.import_onnx("model.onnx", output="again")
    >>> result.opset, result.outputs
    (13, {'top_fwd_output': {'shape': [1, 2], 'dtype': 'float32'}})
    """

    model: str
    """Its name."""
    files: tuple[str, ...]
    """The symbol and its parameters; empty when no output was asked for."""
    opset: int
    """That of the file."""
    inputs: dict[str, dict[str, Any]]
    """Shape and dtype of each by name, as far as they are known."""
    outputs: dict[str, dict[str, Any]]
    """Shape and dtype of each by name, as far as the file says them."""
    operators: dict[str, int]
    """Operators of the symbol and how often each occurs."""
    parameters: int
    """Number of numbers in the parameters."""
    bytes: int
    """Size of the files, or of the parameters where none were written."""
    repairs: tuple[str, ...]
    """Faults of the model that have been put right."""
    mxnet: tuple[str, ...]
    """Reasons why MXNet 1.9.1 cannot load the files; empty when it does load them."""
    verified: bool
    """True where the symbol was held against the file."""
    witness: str
    """Runtime that the numbers were compared with; empty when they were not."""
    verification: VerifyResult | None
    """The result of that; None without it."""
    warnings: tuple[str, ...]
    """Remarks on the model and on the verification."""
    seconds: dict[str, float]
    """By step: read, import, write, verify."""
    shared: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Nodes that read one parameter, by the name of each that several do: to freeze it for one freezes it for all."""
    training: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Facts to know before the network is trained, each with the nodes or parameters that it is of."""


def import_onnx(
    model: Any,
    *,
    output: str | os.PathLike[str] | None = None,
    inputs: Given | None = None,
    dynamic: Mapping[str, Mapping[int, str]] | None = None,
    batch: Literal["batch"] | None = None,
    rename: Mapping[str, str] | None = None,
    for_mxnet: bool = False,
    verify: bool = True,
    expected: str | os.PathLike[str] | Recording | None = None,
    also: Given | Sequence[Given] = (),
    seed: int = 0,
    ranges: Mapping[str, tuple[float, float]] | None = None,
    draws: Sequence[Kind] = KINDS,
    tolerance: Tolerance | tuple[float, float] | None = None,
    repro: str | os.PathLike[str] | None = None,
    strict: bool = False,
    layers: bool = False,
    progress: Progress | None = None,
) -> ImportResult:
    """Read an ONNX model as a symbol with parameters and prove with onnxruntime that the numbers stayed.

    model: a path, of an archive or a folder with one too, bytes or ModelProto. output: the prefix of ``PREFIX-symbol.json`` and
    ``PREFIX-0000.params``, which appear only when both agree. inputs: an .npz, or a shape, array or Spec by name, where the
    model leaves sizes open or is to be read at others; axes that are open and not given are verified at two sizes that it runs
    with. dynamic: names of axes that are to be open, by input and axis; batch: "batch" to open the first one of all inputs that
    have the first input's size there. Constants that hold the file's own sizes are written anew (resizing.py), and samples of a
    batch compared with what the file gives for each. for_mxnet: operators and forms of
    MXNet 1.9.1 alone; sizes given for open axes are kept where those forms hold at these alone. expected: recorded outputs
    (bridge.record) that both have to give too. also: further inputs to verify with. ranges, draws: as convert takes them.
    strict: also refuse when an output agrees and says little. layers: measure every tensor inside also when they agree. A model
    that onnxruntime does not open is held against the model in newer forms, or onnx's own evaluator, and a warning says so.
    Raises BadInput, converters.UnsupportedModel listing every node that cannot be read, NotEquivalent (nothing is written),
    EngineError when neither runs it, or hybrid's errors for files that are no models.
    rename: other names for inputs and outputs, by those that they have. seed: of the numbers that are drawn. tolerance:
    (atol, rtol), where the usual one is not to be used. repro: a folder for the smallest part that differs. progress:
    called with a text whenever something else begins.

    Examples
    --------
    >>> import gluonnx
    >>> _ = gluonnx.convert("model", inputs={"data": (1, 3)}, output="model.onnx")
    >>> result = gluonnx.import_onnx("model.onnx", output="again")
    >>> [str(file).rpartition("/")[2] for file in result.files], result.verified
    (['again-symbol.json', 'again-0000.params'], True)
    """
    tell = listener(progress)
    clock = Clock()
    tell("reading")
    opened = open_onnx(model)
    if isinstance(model, bytes) and opened.proto is not None:
        opened = replace(opened, name=opened.proto.graph.name or opened.name)
    prefix = None if output is None else Path(output)
    if prefix is not None:
        for place in symbol_files(prefix):
            check_target(place, *opened.files())
    clock.lap("read")
    tell("importing")
    source = opened
    recording = None if expected is None else with_inputs(load_recording(expected), inputs, opened)
    if recording is not None and not verify:
        raise BadInput("got recorded outputs and no verification: they are compared by it (leave --no-verify out)")
    given = loaded(inputs, opened) if recording is None else fed(recording, opened)
    specs, arrays = as_specs(given)
    batches, changes = None, ()
    if batch is not None and opened.proto is not None:
        dynamic = with_open_batch(opened.proto, dynamic or {})
    sizes = {} if opened.proto is None else asked_for(opened.proto, specs, dynamic or {})
    if sizes:
        opened, batches, changes = at_sizes(source, sizes)
        specs = {n: s for n, s in specs.items() if n in arrays or n not in (dynamic or {})}
    found = opened.imported
    if for_mxnet:
        opened, found, batches = _for_mxnet(source, opened, specs, dynamic or {}, batches)
    clock.lap("import")
    sets = [loaded(each, opened) for each in one_or_more(also)]
    named = dict.fromkeys([*specs, *(n for further in sets for n in further)])
    unknown = [n for n in named if n not in found.inputs and n not in found.params]
    if unknown:
        raise BadInput(*(f"unknown input {n}: the model takes {', '.join(found.inputs) or 'none'}" for n in unknown))
    graph, new = found.graph, {}
    if rename:
        graph, new = new_node_names(found.graph, found.inputs, found.outputs, found.params, rename)
    to_write = replace(opened.native, graph=graph, params=found.params) if rename or for_mxnet else opened
    if verify:
        _refuse_objects(found)
        refuse_drawing(
            (f"{n.name} ({n.op.name})" for n in samplers(found.graph) if n.op),
            "import without verification (--no-verify)",
        )
    witnesses: list[str] = []

    def verified(written: list[Path]) -> VerifyResult:
        graph = symbol_json.loads(written[0].read_bytes(), source=str(written[0]))
        graph = rename_nodes(graph, {n: o for o, n in new.items()})  # compared under the names that the model has
        params = {k.partition(":")[2]: v for k, v in _load(written[1]).items() if isinstance(v, np.ndarray)}
        params = {n: v for n, v in params.items() if n not in arrays}  # values given in place of stored ones
        ours = Model(opened.name, graph, params, names=names_of(found))
        limits = as_tolerance(tolerance)
        result, witness = _Check(
            ours,
            opened,
            found,
            specs,
            arrays,
            sets,
            seed,
            ranges,
            draws,
            sources_of(given),
            limits,
            repro,
            tell,
            layers,
            batches,
            recording,
        ).run()
        witnesses.append(witness)
        return result

    files, result = publish(
        lambda folder: SYMBOL.translated(to_write).save(folder / (prefix.name if prefix else "model")),
        verified if verify else None,
        prefix,
        source.files(),
        strict=strict,
        warnings=(),
        tell=tell,
        clock=clock,
    )
    warnings = [*source.notes, *found.doubts, *(() if result is None else result.warnings)]
    declared = {} if opened.proto is None else {o.name: describe(onnx_spec(o)) for o in opened.proto.graph.output}
    return ImportResult(
        model=opened.name,
        files=tuple(map(str, files)),
        opset=found.opset,
        inputs={new.get(n, n): _describe(found, n) for n in found.inputs},
        outputs={(rename or {}).get(o, o): declared.get(o, describe(Spec(None))) for o in found.outputs},
        operators=dict(Counter(n.op.name for n in found.graph.nodes if n.op is not None).most_common()),
        parameters=sum(a.size for a in found.params.values()),
        bytes=sum(Path(f).stat().st_size for f in files) or sum(a.nbytes for a in found.params.values()),
        repairs=(*found.repairs, *changes),
        mxnet=tuple(not_in_mxnet(found.graph, found.params)),
        shared=shared_weights(found.graph, found.params),
        training=found.training,
        verified=result is not None,
        witness="".join(witnesses),
        verification=result,
        warnings=tuple(dict.fromkeys(warnings)),
        seconds=clock.laps,
    )


def _for_mxnet(
    source: Model,
    opened: Model,
    specs: Mapping[str, Spec],
    dynamic: Mapping[str, Mapping[int, str]],
    batches: Batches | None,
) -> tuple[Model, Imported, Batches | None]:
    """A model read in MXNet's own forms; at sizes given for open axes where only they decide the forms.

    Raises BadInput naming every node that has none, and what it lacks."""
    found = opened.imported
    made = lowered(found.graph, found.params, found.inputs)
    sizes = {} if source.proto is None else asked_for(source.proto, specs, dynamic, fixed=True)
    if made.lacking and sizes:
        opened, batches, _ = at_sizes(source, sizes)
        found = opened.imported
        made = lowered(found.graph, found.params, found.inputs)
    if made.lacking:
        open_axes = [n for n, s in found.inputs.items() if s.shape is None or any(isinstance(d, str) for d in s.shape)]
        advice = f"; give sizes to {', '.join(open_axes)} (--input), which may decide the forms" if open_axes else ""
        raise BadInput(
            f"MXNet 1.9.1 has no form of {'; '.join(made.lacking)}; without --for-mxnet they are imported as operators that "
            f"gluonnx alone runs{advice}"
        )
    return opened, found._replace(graph=made.graph, params=made.params), batches


def not_in_mxnet(graph: Graph, params: Mapping[str, np.ndarray]) -> Iterator[str]:
    """Reasons that keep MXNet 1.9.1 from loading a symbol: operators that it lacks, and arrays that its files cannot hold."""
    from hybrid.core.attrs import MXNET_DTYPES

    lacking = Counter(n.op.name for n in graph.all_nodes() if n.op is not None and not in_mxnet(n.op))
    yield from (f"{name}, {count} times" if count > 1 else name for name, count in lacking.most_common())
    for name, array in params.items():
        if array.dtype.name not in MXNET_DTYPES:
            yield f"parameter {name} is {array.dtype}"


def _load(path: Path) -> dict[str, Any]:
    loaded = hybrid.formats.params.load(path)
    return loaded if isinstance(loaded, dict) else {}  # a file without any parameter reads as a list


def rebuild(found: Imported, opset: int | None = None, specs: Mapping[str, Spec] | None = None) -> onnx.ModelProto:
    """An imported model, written as ONNX in the newest forms. specs: of inputs whose rank the model leaves open.

    Raises converters.UnsupportedModel listing every node that cannot be written."""
    read = {n.name for n in found.graph.variables()}
    known = {n: s if s.shape is not None else (specs or {}).get(n, s) for n, s in found.inputs.items() if n in read}
    taken = Names(d for s in known.values() for d in s.shape or () if isinstance(d, str))
    named = {n: _with_names(n, s, taken) for n, s in known.items()}
    return converters.convert(found.graph, found.params, named, NEWEST if opset is None else opset).proto()


def _with_names(name: str, spec: Spec, taken: Names) -> Spec:
    """The spec, with a name of its own for each axis that has none."""
    if spec.shape is None:
        return spec
    dims = (taken.unique(f"{name}_{i}") if d == "?" else d for i, d in enumerate(spec.shape))
    return Spec(tuple(dims), spec.dtype)


def _itself(model: Model) -> Model:
    return model


class _Witness(NamedTuple):
    """Somebody to compare an import with."""

    engine: type[OnnxEngine]
    model: Model
    label: str
    named: bool = True
    """True when its tensors have the names of the original's."""
    likewise: Callable[[Model], Model] = _itself
    """Makes of the file at the sizes that it declares what the model is of the original."""


@dataclass
class _Check:
    """Compares an import with its original."""

    ours: Model
    original: Model
    found: Imported
    specs: Mapping[str, Spec]
    arrays: Mapping[str, np.ndarray]
    also: Sequence[Inputs]
    seed: int
    ranges: Mapping[str, tuple[float, float]] | None
    draws: Sequence[Kind]
    files: Mapping[str, str]
    tolerance: Tolerance | None
    repro: str | os.PathLike[str] | None
    tell: Progress
    layers: bool = False
    batches: Batches | None = None
    recording: Recording | None = None

    def run(self) -> tuple[VerifyResult, str]:
        """The comparison, and what ours was compared with: onnxruntime on the file; for opsets that it lacks kernels of, on the
        model in newer forms; where a repair means other numbers than the
        file says, or the file had to be repaired and does not run as it is, onnxruntime on the model that we write; else onnx's
        own evaluator. Raises EngineError when none of them runs it."""
        start = time.perf_counter()
        notes: list[str] = []
        failures: list[EngineError] = []
        for engine, model, label, named, likewise in self._witnesses():
            try:
                witness = engine(model, plain=True)
                witness.open()
                result = self._compare(witness, self.ours if named else replace(self.ours, names={}), likewise)
            except OutOfTime:  # onnx's evaluator, which has no limit, would not end either
                raise
            except EngineError as error:
                failures.append(error)
                continue
            if label != OnnxEngine.label:
                notes.append(f"compared with {label}{f': {failures[0]}' if failures else ''}")
            result = with_names(result, self.ours.name, f"{self.original.name} in {label}", time.perf_counter() - start)
            return with_warnings(result, [*self.found.doubts, *notes]), label
        if self.specs:
            raise BadInput(
                f"{failures[0]}; the sizes or values that were given may not go together: give others (--input, --inputs), or "
                "import without verification (--no-verify)"
            )
        raise failures[0]

    def _witnesses(self) -> Iterator[_Witness]:
        found = self.found
        model, named, repaired = self.original, True, ""
        likewise = _itself
        if not found.changes_numerics:
            exact = unsigned_of(model)
            if exact is not None:
                label = f"{OnnxEngine.label} with unsigned weights (its products with signed ones saturate on this processor)"
                yield _Witness(OnnxEngine, exact, label, likewise=lambda m: unsigned_of(m) or m)
            yield _Witness(OnnxEngine, model, OnnxEngine.label)
            if model.proto is not None and model.proto.graph.value_info:
                label = f"{OnnxEngine.label} on the model without the shapes that it declares inside"
                yield _Witness(OnnxEngine, _without_shapes(model), label, likewise=_without_shapes)
            if found.opset < OLDEST and model.proto is not None:
                with suppress(CannotUpgrade):
                    likewise = _upgraded
                    model = likewise(model)
                    repaired = f" on the model in the forms of opset {OLDEST}"
                    yield _Witness(OnnxEngine, model, f"{OnnxEngine.label}{repaired}", likewise=likewise)
        if found.repairs:
            specs = {
                n: Spec(("?",) * len(s.shape), s.dtype or found.inputs[n].dtype)
                for n, s in self.specs.items()
                if s.shape
            }
            model, named = Model(self.original.name, proto=rebuild(found, specs=specs)), False
            repaired, likewise = " on the repaired model", _rebuilt
            yield _Witness(OnnxEngine, model, f"{OnnxEngine.label}{repaired}", named, likewise)
        yield _Witness(ReferenceEngine, model, f"{ReferenceEngine.label}{repaired}", named, likewise)

    def _compare(self, witness: OnnxEngine, ours: Model, likewise: Callable[[Model], Model]) -> VerifyResult:
        """Raises BadInput when no sizes that were tried go together, EngineError when the witness does not run."""
        found, specs, arrays, seed = self.found, self.specs, self.arrays, self.seed
        native = NativeEngine(ours, dict.fromkeys((*found.inputs, *arrays)))
        takes = {*native.inputs, *witness.inputs}
        named = _given_sizes(found, specs)
        open_axes = any(
            n not in arrays and any(isinstance(d, str) and d not in named for d in _shape(n, found, specs) or ())
            for n in found.inputs
        )
        shapes = [_shape(n, found, specs) or () for n in found.inputs]
        lines = all(sum(isinstance(d, str) for d in shape[1:]) < 2 for shape in shapes)
        tries = [(first, other, True) for first, other in (*SIZES, *(LONG if lines else ()))]
        if any(len(shape) == 1 and isinstance(shape[0], str) for shape in shapes):  # samples of a batch, or one sound
            tries += [(first, other, False) for first, other, _ in tries]
        failures = []

        def made(specs: Mapping[str, Spec], arrays: Mapping[str, np.ndarray], files: Mapping[str, str]) -> Cases:
            wanted = {n: s for n, s in specs.items() if n in takes}
            given = {n: a for n, a in arrays.items() if n in takes}
            told = {n: f for n, f in files.items() if n in takes}
            return Cases(native, witness, wanted, given, ranges=self.ranges, files=told)

        for first, other, samples in tries if open_axes else ((0, 0, True),):
            try:
                cases, seen, sets = [], {}, []
                for step in (0, 1) if open_axes else (0,):
                    pair = first + step, other * (1 + step)
                    sized = {n: _with_sizes(n, found, specs, *pair, samples) for n in found.inputs}
                    sets.append(made({**specs, **sized}, arrays, self.files))
                    cases.append(sets[-1].case(seed + step, seen=seen))
                for number, given in enumerate(self.also, 2):
                    further, values = as_specs(given)
                    cases.append(made({**specs, **further}, values, sources_of(given)).case(seed + number, seen=seen))
                for number, each in enumerate(cases):  # sizes that were made up may not go together
                    ran, _ = first_that_runs(witness.label, each, lambda c: witness.run(c.feeds), {})
                    if ran is not None:
                        cases[number] = ran[0]
                first_cases = cases[: len(sets)]
                cases += further_cases(sets[0], seed, seen, self.draws)
                result = check(
                    native,
                    witness,
                    cases,
                    reference=witness,
                    tolerance=self.tolerance,
                    repro=self.repro,
                    progress=self.tell,
                    layers=self.layers,
                )
                if self.recording is not None:
                    told = renamed(self.recording, native)
                    result = with_recording(result, told, native, witness, tolerance=self.tolerance, progress=self.tell)
                if self.batches is None or not result.equivalent:
                    return result
                self.tell("comparing samples of a batch with the file's own")
                single = type(witness)(likewise(self.batches.model), plain=True)
                told = self.batches.check(native, single, [c.feeds for c in first_cases], self.tolerance)
                return with_warnings(result, told)
            except (EngineError, MXNetError) as error:
                failures.append(error)
                if not open_axes or isinstance(error, OutOfTime):
                    raise
        model_at_fault = bool(self.found.repairs) or MISDECLARED in str(failures[0])
        if all(isinstance(f, EngineError) for f in failures) and model_at_fault and witness.model is self.original:
            raise failures[0]  # it is the model rather than the sizes
        raise BadInput(
            f"the model leaves sizes open, and none of those that were tried go together ({failures[0]}); give them "
            "(--input NAME:D1,D2,...), give arrays (--inputs FILE.npz), or import without verification (--no-verify)"
        )


def _without_shapes(model: Model) -> Model:
    """The model without the shapes that it declares inside, which onnxruntime believes, and an exporter may have got wrong."""
    assert model.proto is not None
    proto = onnx.ModelProto()
    proto.CopyFrom(model.proto if model.path is None else onnx.load(model.path))
    del proto.graph.value_info[:]
    return Model(model.name, proto=proto)


def _upgraded(model: Model) -> Model:
    assert model.proto is not None
    return Model(model.name, proto=upgraded(model.proto if model.path is None else onnx.load(model.path)))


def _rebuilt(model: Model) -> Model:
    return Model(model.name, proto=rebuild(model.imported))


def _holds_objects(kind: onnx.TypeProto) -> bool:
    """True where a type is that of words, or of what is no tensor."""
    if kind.WhichOneof("value") in (None, "tensor_type"):
        return kind.tensor_type.elem_type == onnx.TensorProto.STRING
    return True


def _describe(found: Imported, name: str) -> dict[str, Any]:
    out = describe(found.inputs[name])
    kind = found.kinds[name]
    return {**out, "dtype": text_of(kind).partition("[")[0]} if _holds_objects(kind) else out


def _refuse_objects(found: Imported) -> None:
    """Raise BadInput naming the inputs that no file of arrays holds."""
    read = {n.name for n in found.graph.variables()}
    objects = {n: text_of(found.kinds[n]) for n in found.inputs if n in read and _holds_objects(found.kinds[n])}
    if objects:
        raise BadInput(
            *(
                f"input {n} takes {kind}, which the verification cannot draw or read from a file"
                for n, kind in objects.items()
            ),
            "import without verification (--no-verify), and compare by bridge.onnx_backend.prepare(model).run(inputs), which takes "
            "words, lists and dicts",
        )


def _shape(name: str, found: Imported, specs: Mapping[str, Spec]) -> Any:
    given = specs.get(name, Spec()).shape
    return found.inputs[name].shape if given is None else given


def _given_sizes(found: Imported, specs: Mapping[str, Spec]) -> dict[Any, int]:
    """Sizes by the name of the axis, from the inputs whose shapes were given."""
    return {
        label: size
        for n, spec in specs.items()
        if n in found.inputs and spec.shape is not None
        for label, size in zip(found.inputs[n].shape or (), spec.shape)
        if isinstance(label, str) and label != "?" and isinstance(size, int)
    }


def _with_sizes(
    name: str, found: Imported, specs: Mapping[str, Spec], first: int, other: int, samples: bool = True
) -> Spec:
    """An input's spec with sizes for the axes that are open; the same for axes of one name, that of the first which has it.
    samples: whether the only axis of an input counts samples, as the first one of others does."""
    least = 0 if samples else 1
    leading = {
        s.shape[0] for s in found.inputs.values() if s.shape and len(s.shape) > least and isinstance(s.shape[0], str)
    } - {"?"}
    shape = _shape(name, found, specs)
    if shape is not None:
        given = _given_sizes(found, specs)
        shape = tuple(given.get(d, d) for d in shape)
    sizes = (
        None
        if shape is None
        else tuple(
            (first if d in leading or (i == 0 and d == "?" and len(shape) > least) else other)
            if isinstance(d, str)
            else d
            for i, d in enumerate(shape)
        )
    )
    return Spec(sizes, specs.get(name, Spec()).dtype or found.inputs[name].dtype)
