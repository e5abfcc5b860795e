"""A look into a model, and what of it converts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import onnx

import converters
from converters.coverage import Row, rows
from converters.export import least_opset, opsets_for, untranslatable
from converters.onnx_types import dtype_of
from converters.writer import Converted
from hybrid.core.error import MXNetError
from hybrid.core.op import Spec, find
from hybrid.core.shapes import UNKNOWN, is_known
from hybrid.execution.program import Program
from hybrid.ir.graph import Entry
from hybrid.ir.infer import Inference
from hybrid.ops.absent import ABSENT
from hybrid.passes.strip_labels import label_names

from .fallbacks import FallbackCount, fallbacks_of
from .fitting import misfits
from .importing import not_in_mxnet
from .inputs import Given, Inputs, as_specs, loaded
from .models import (
    ONNX,
    BadInput,
    Model,
    check_sizes,
    describe,
    in_own_dtypes,
    onnx_spec,
    open_model,
    specs_of_onnx,
    split_inputs,
)
from .opsets import check_opset, default_opset, newest
from .pipeline.detections import rows_of
from .pipeline.labels import labels_of
from .provenance import read_facts
from .settle import (
    Opened,
    example,
    of_one_place,
    smaller_than_a_cell,
    tells,
    with_axes,
    with_declared_axes,
    with_sizes_beside,
)
from .sharing import shared_weights


@dataclass(frozen=True)
class InspectResult:
    """A model's inside. ``problems`` lists every node that does not convert (a symbol to ONNX, an ONNX model to a symbol), with
    node, operator and reason.

    Examples
    --------
    >>> import gluonnx
    >>> result = gluonnx.inspect("model", inputs={"data": (1, 3)})
    >>> result.inputs["data"]["shape"]
    [1, 3]
    >>> result.as_dict()["parameters"]
    8
    """

    model: str
    """Its name."""
    kind: str
    """"symbol" or "onnx"."""
    inputs: dict[str, dict[str, Any]]
    """Shape and dtype of each by name, as far as they are known."""
    outputs: dict[str, dict[str, Any]]
    """Shape and dtype of each by name, as far as they are known."""
    labels: tuple[str, ...]
    """Inputs that inference does not read."""
    parameters: int
    """Number of numbers in the parameters."""
    parameter_bytes: int
    """Bytes of the parameters."""
    dtypes: dict[str, int]
    """Parameter arrays by dtype."""
    missing: tuple[str, ...]
    """Parameters that the graph wants and no file gives."""
    unused: tuple[str, ...]
    """Parameters that the graph does not mention."""
    operators: dict[str, int]
    """Operators and how often each occurs."""
    opset: int | None
    """That of an ONNX file (None where it says none), or that in which a symbol is written."""
    problems: tuple[converters.Problem, ...]
    checked: str
    """Extent to which convertibility was checked: "whole" (every node, with shapes) or "operators" (no shapes)."""
    mxnet: tuple[str, ...] = ()
    """Reasons why MXNet 1.9.1 cannot load the symbol (of an ONNX model: the one that it imports to)."""
    repairs: tuple[str, ...] = ()
    """Faults of an ONNX model that are put right when it is imported."""
    fallbacks: tuple[FallbackCount, ...] | None = None
    """Steps that NumPy computes when the model runs; None where its sizes are not known."""
    provenance: dict[str, str] = field(default_factory=dict)
    """Facts that an ONNX file of this package carries: from what it was made, and how it was verified."""

    left_out: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Outputs that only training needs, and the labels that feed them."""

    classes: tuple[str, ...] = ()
    """Names of the classes that an ONNX file carries (see pipeline/labels.py)."""

    shared: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Nodes that read one parameter, by the name of each that several do; of an ONNX model those of what it imports to."""

    detections: tuple[str, ...] = ()
    """Outputs that hold rows of detections: class (-1: none), score, left, top, right, bottom."""

    sizes_from: Mapping[str, str] = field(default_factory=dict)
    """Files beside the symbol that tell the shapes of inputs which nobody gave, by the input."""

    sizes_wanted: Mapping[str, str] = field(default_factory=dict)
    """Sizes that would do for inputs of which nobody and nothing says them, as --input takes them: what the weights tell, and usual
    ones."""

    read: tuple[str, ...] = ()
    """Files that the model was read from: the symbol (or an archive) and the parameters, or the ONNX file."""

    warnings: tuple[str, ...] = ()
    """Remarks on how it was read, and on what is beside it."""

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        fallbacks = None if self.fallbacks is None else [f._asdict() for f in self.fallbacks]
        return {**asdict(self), "problems": [p._asdict() for p in self.problems], "fallbacks": fallbacks}


@dataclass(frozen=True)
class OperatorsResult:
    """The table of operators.

    Examples
    --------
    >>> import gluonnx
    >>> result = gluonnx.operators()
    >>> rows = {row["name"]: row for row in result.as_dict()["operators"]}
    >>> rows["Convolution"]["aliases"]
    ('_npx_convolution',)
    """

    operators: tuple[Row, ...]
    """A row for each operator: its names, kernels, and the opsets in which it is written."""
    absent: dict[str, str]
    """Operators of MXNet 1.9.1 that are not here, and why."""
    model: str | None = None
    """Name of the model whose operators they are; None where they are all that there are."""

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"model": self.model, "operators": [row.as_dict() for row in self.operators], "absent": self.absent}


@dataclass(frozen=True)
class NodesResult:
    """The nodes of a model in order, with what they make."""

    model: str
    nodes: tuple[dict[str, Any], ...]
    """node, operator, and outputs: shape and dtype by name, as far as they are known; parameters: how many numbers it reads as
    parameters (those that several nodes read are the first one's), and auxiliary: how many of them training only averages (running
    means and variances)."""
    sizes_wanted: Mapping[str, str] = field(default_factory=dict)
    """As those of InspectResult."""

    @property
    def parameters(self) -> int:
        """Numbers in the parameters of these nodes."""
        return sum(n["parameters"] for n in self.nodes)

    @property
    def auxiliary(self) -> int:
        """Numbers among these that training only averages."""
        return sum(n["auxiliary"] for n in self.nodes)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


def nodes(model: Any, params: Any = None, *, inputs: Inputs | None = None, match: str | None = None) -> NodesResult:
    """The nodes of a model, whose outputs are places to cut at. match: only those with this text in the name of the node, its
    operator or an output, in capitals or not. Raises BadInput, or FormatError."""
    result = _nodes(open_model(model, params, foreign=True), inputs)
    if match is None:
        return result
    found = [
        n for n in result.nodes if any(match.lower() in t.lower() for t in (n["node"], n["operator"], *n["outputs"]))
    ]
    if not found and result.nodes:
        operators = Counter(n["operator"] for n in result.nodes)
        names = ", ".join(f"{o} {c}" for o, c in operators.most_common(8))
        raise BadInput(
            f"no node of {result.model} holds {match!r}, in its name, operator or outputs; there are {names}"
        )
    return replace(result, nodes=tuple(found))


def _nodes(opened: Model, inputs: Inputs | None) -> NodesResult:
    if opened.proto is not None:
        specs = _onnx_specs(opened.proto)
        left = {t.name: int(np.prod(t.dims)) for t in opened.proto.graph.initializer}
        found = [
            {
                "node": n.name,
                "operator": n.op_type,
                "parameters": sum(left.pop(name, 0) for name in n.input),
                "auxiliary": 0,  # ONNX does not tell them from others
                "outputs": {o: describe(specs.get(o, Spec())) for o in n.output if o},
            }
            for n in opened.proto.graph.node
        ]
        return NodesResult(opened.name, tuple(found))
    assert opened.graph is not None
    given = as_specs(inputs)[0]
    free = split_inputs(opened, given)[0]
    specs = with_sizes_beside(opened, given, free)
    try:
        inferred = opened.infer(specs)
    except MXNetError:
        inferred = None
    left = {name: array.size for name, array in opened.params.items()}
    averages = {n.name for n in opened.graph.auxiliary_states()}
    found = []
    for node in opened.graph.nodes:
        if node.op is not None:
            entries = [Entry(node, i) for i in range(node.num_visible_outputs)]
            shown = {e.name: describe(Spec() if inferred is None else inferred.spec(e)) for e in entries}
            read = {e.node.name: left.pop(e.node.name, 0) for e in node.inputs if e.node.is_variable}
            counts = {
                "parameters": sum(read.values()),
                "auxiliary": sum(n for name, n in read.items() if name in averages),
            }
            found.append({"node": node.name, "operator": node.op.name, **counts, "outputs": shown})
    return NodesResult(
        opened.name,
        tuple(found),
        {} if inferred is None else _sizes_wanted(opened, specs, free, inferred, with_declared_axes(opened, specs, {})),
    )


def _sizes_wanted(
    model: Model, specs: dict[str, Spec], free: Sequence[str], inferred: Inference, opened: Opened
) -> dict[str, str]:
    """Sizes that would do for inputs whose shapes are not known, labels aside. opened: the axes that they declare open."""
    assert model.graph is not None
    nodes = {n.name: n for n in model.graph.variables()}
    ignored = set(label_names(model.graph))
    shapes = {n: inferred.spec(Entry(nodes[n])).shape for n in free if n not in ignored}
    wanted = {n: s for n, s in shapes.items() if not is_known(s) and n not in opened.dynamic}
    return {n: example(model, n, s, specs) if tells(model, n, s) else "D1,D2,..." for n, s in wanted.items()}


def _onnx_specs(proto: onnx.ModelProto) -> dict[str, Spec]:
    """Shapes and dtypes of the tensors of an ONNX model, as far as its own shape inference tells them."""
    try:
        inferred = onnx.shape_inference.infer_shapes(proto)
    except (
        onnx.shape_inference.InferenceError,
        ValueError,
        RuntimeError,
    ):  # a broken model, or one past protobuf's limit
        inferred = proto
    told = (*inferred.graph.value_info, *inferred.graph.output)
    found = {i.name: onnx_spec(i) for i in told if i.type.WhichOneof("value") == "tensor_type"}
    return {n: s if s.shape is None else Spec(tuple(map(_known, s.shape)), s.dtype) for n, s in found.items()}


def _known(size: Any) -> Any:
    """A size without the names that ONNX's inference makes up for those it does not know."""
    return UNKNOWN if isinstance(size, str) and size.startswith("unk__") else size


def operators(model: Any = None) -> OperatorsResult:
    """A table of operators: gradient, kernel, ONNX; with a model (a symbol) of those that it has.

    Raises BadInput for an ONNX model.

    Examples
    --------
    >>> import gluonnx
    >>> rows = gluonnx.operators().operators
    >>> len(rows) > 500
    True
    """
    if model is None:
        return OperatorsResult(tuple(rows()), dict(ABSENT))
    opened = open_model(model, foreign=True)
    graph = opened.graph
    if graph is None:
        raise BadInput("the table is of MXNet's operators; this is an ONNX model")
    names = {node.op.name for node in graph.all_nodes() if node.op is not None}
    known = {found.name for name in names if (found := find(name)) is not None}
    return OperatorsResult(
        tuple(r for r in rows() if r.name in known),
        {n: ABSENT.get(n, "") for n in sorted(names - known)},
        opened.name,
    )


def inspect(
    model: Any, params: Any = None, *, inputs: Given | None = None, opset: int | str | None = None
) -> InspectResult:
    """Inputs, outputs, parameters, operators, and what keeps a model from converting.

    With shapes for its inputs (given, or stored in the model) every node is translated on trial, attributes and all;
    without, operators are looked up by name. Raises BadInput, also for inputs that the model does not have, or FormatError.
    opset: the one that nodes are asked to convert for; None: the oldest from 13 on that loses nothing.

    Examples
    --------
    >>> import gluonnx
    >>> result = gluonnx.inspect("model", inputs={"data": (1, 3)})
    >>> result.kind, result.parameters, list(result.outputs)
    ('symbol', 8, ['top_fwd_output'])
    """
    opened = open_model(model, params, foreign=True)
    inputs = loaded(inputs, opened)
    opened = opened.inferring(inputs)
    takes = list(specs_of_onnx(opened.proto)) if opened.proto is not None else split_inputs(opened, inputs or {})[0]
    unknown = [n for n in inputs or {} if n not in takes]
    if unknown:
        raise BadInput(*(f"unknown input {n}: the model takes {', '.join(takes) or 'none'}" for n in unknown))
    return _inspect_onnx(opened, inputs) if opened.is_onnx else _inspect_symbol(opened, inputs, opset)


def _fallbacks(model: Model, specs: Mapping[str, Spec]) -> tuple[FallbackCount, ...] | None:
    """Steps that NumPy computes for inputs of these shapes; None where one is not known, or nothing runs."""
    assert model.graph is not None
    known = {n: s for n, s in specs.items() if is_known(s.shape) and s.dtype is not None}
    try:
        program = Program(model.graph, model.params, facts=model.facts)
        return fallbacks_of(program, known) if {*program.inputs} <= {*known} else None
    except MXNetError:
        return None


def _inspect_onnx(model: Model, inputs: Inputs | None) -> InspectResult:
    proto = model.proto
    assert proto is not None
    weights = proto.graph.initializer
    problems: Sequence[converters.Problem] = ()
    mxnet: tuple[str, ...] = ()
    repairs: tuple[str, ...] = ()
    shared: dict[str, tuple[str, ...]] = {}
    fallbacks = None
    try:
        found = converters.import_model(model.path if model.path is not None else proto)
        mxnet, repairs = tuple(not_in_mxnet(found.graph, found.params)), found.repairs
        shared = shared_weights(found.graph, found.params)
        native = Model(model.name, found.graph, found.params)
        given, declared = as_specs(inputs)[0], specs_of_onnx(proto)
        wanted = in_own_dtypes({n: given.get(n, s) for n, s in declared.items()}, declared)
        fallbacks = _fallbacks(native, wanted)
    except converters.UnsupportedModel as error:
        problems = error.problems
    names = Counter(dtype_of(t.data_type).name for t in weights)
    return InspectResult(
        model=model.name,
        kind="onnx",
        inputs={n: describe(s) for n, s in specs_of_onnx(proto).items()},
        outputs={o.name: describe(onnx_spec(o)) for o in proto.graph.output},
        labels=(),
        parameters=sum(int(np.prod(t.dims)) for t in weights),
        parameter_bytes=sum(int(np.prod(t.dims)) * dtype_of(t.data_type).itemsize for t in weights),
        dtypes=dict(names),
        missing=(),
        unused=(),
        operators=dict(Counter(n.op_type for n in proto.graph.node).most_common()),
        opset=next((i.version for i in proto.opset_import if i.domain in ("", "ai.onnx")), None),
        problems=tuple(problems),
        checked="whole",
        mxnet=mxnet,
        shared=shared,
        repairs=repairs,
        fallbacks=fallbacks,
        provenance=read_facts(proto),
        classes=labels_of(proto),
        detections=tuple(rows_of(model)),
        read=model.read,
        warnings=tuple(model.notes),
    )


def _inspect_symbol(model: Model, inputs: Inputs | None, asked: int | str | None) -> InspectResult:
    graph = model.graph
    assert graph is not None
    check_opset(asked)
    if isinstance(asked, int):
        opset = asked
    else:
        opset = least_opset(graph, newest()) if asked is None else opsets_for(graph, default_opset(), newest())[-1]
    specs, _ = as_specs(inputs)
    free, missing = split_inputs(model, specs)
    given = set(specs)
    specs = with_sizes_beside(model, specs, free)
    open_axes = with_declared_axes(model, specs, {})
    ignored = set(label_names(graph))
    problems: Sequence[converters.Problem] = untranslatable(graph, opset)
    checked = "operators"
    seen: dict[str, Spec] = dict(specs)
    outputs: dict[str, dict[str, Any]] = {e.name: describe(Spec(None)) for e in graph.outputs}
    fallbacks, wanted = None, {}
    try:
        inferred = model.infer(specs)
    except MXNetError as error:
        if not problems:
            said = misfits(model, specs, error) or [str(error)]
            problems = [converters.Problem(model.name, "", reason) for reason in said]
    else:
        nodes = {n.name: n for n in graph.variables()}
        seen = {n: inferred.spec(Entry(nodes[n])) for n in free}
        found = {e.name: inferred.spec(e) for e in graph.outputs}
        sized, named = seen, seen
        if open_axes.vary:  # what the model's own ONNX file leaves open has names
            whole = model.infer(open_axes.specs)
            sized = {n: whole.spec(Entry(nodes[n])) for n in free}
            named = {n: with_axes(s, open_axes.dynamic.get(n, {})) for n, s in sized.items() if s.shape is not None}
            seen = seen | {n: s for n, s in named.items() if n in open_axes.dynamic}
        if not missing and all(is_known(s.shape) for n, s in sized.items() if n not in ignored):
            checked = "whole"
            problems = [converters.Problem(model.name, "", p) for p in check_sizes(graph, inferred)]
            if not problems:
                made = _try(model, {n: s for n, s in named.items() if n not in ignored}, asked)
                if isinstance(made, Converted):
                    opset = made.opset
                    found = {
                        n: _with_names(s, onnx_spec(o)) for (n, s), o in zip(found.items(), made.model.graph.output)
                    }
                else:
                    problems = made
            fallbacks = _fallbacks(model, sized)
        wanted = _sizes_wanted(model, specs, free, inferred, open_axes)
        outputs = {n: describe(s) for n, s in found.items()}
    return InspectResult(
        model=model.name,
        kind="symbol",
        inputs={n: describe(seen.get(n, Spec())) for n in free if n not in ignored},
        outputs=outputs,
        labels=tuple(n for n in free if n in ignored),
        parameters=sum(a.size for a in model.params.values()),
        parameter_bytes=sum(a.nbytes for a in model.params.values()),
        dtypes=dict(Counter(a.dtype.name for a in model.params.values())),
        missing=tuple(missing),
        unused=tuple(model.extra_params()),
        operators=dict(Counter(n.op.name for n in graph.nodes if n.op is not None).most_common()),
        opset=opset,
        problems=tuple(problems),
        checked=checked,
        mxnet=tuple(not_in_mxnet(graph, model.params)),
        shared=shared_weights(graph, model.params),
        fallbacks=fallbacks,
        left_out=dict(model.left_out),
        detections=tuple(rows_of(model)),
        sizes_wanted=wanted,
        sizes_from={n: f for n, f in model.sizes_from.items() if n in free and n not in given},
        read=model.read,
        warnings=(*model.notes, *(of_one_place(model, seen) or smaller_than_a_cell(model, seen))),
    )


def _with_names(spec: Spec, written: Spec) -> Spec:
    """The spec that is inferred of an output, with names for sizes that vary, as a file has them."""
    if spec.shape is None or written.shape is None or len(spec.shape) != len(written.shape):
        return spec
    return Spec(tuple(w if d is UNKNOWN and w != "?" else d for d, w in zip(spec.shape, written.shape)), spec.dtype)


def _try(model: Model, specs: dict[str, Spec], asked: int | str | None) -> Converted | Sequence[converters.Problem]:
    """The model in ONNX, or the problems."""
    try:
        return ONNX.translated(model, inputs=specs, opset=asked, default=default_opset(), newest=newest())
    except converters.UnsupportedModel as error:
        return error.problems
    except converters.ConversionError as error:
        return [converters.Problem(model.name, "", str(error))]
