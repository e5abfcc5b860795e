"""A model as operations on named tensors: the one vocabulary in which two models are compared, whatever they were opened from."""

from __future__ import annotations

import functools
import hashlib
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx import AttributeProto

from converters.error import ConversionError
from converters.forms import USUAL, Forms
from converters.names import Names, own_names
from converters.onnx_types import code_of
from converters.passes.fold_batch_norm import FOLDED_NAME
from converters.proto_nodes import attribute_of, topological_order
from converters.reader import OnnxFile, read_model
from converters.schemas import schema_of
from hybrid.core.error import MXNetError
from hybrid.core.op import Spec
from hybrid.ir.graph import Entry, Graph

from ..engines import EngineError, ReferenceEngine
from ..models import ONNX, Model, specs_of_onnx, split_inputs

FEW = 32  # elements up to which integers that are an input stand for an attribute
DATA = frozenset((
    "data", "data_0", "input", "inputs", "condition", "start", "limit", "delta", "scale", "bias", "mean", "var",
    "input_mean", "input_var", "sequence_lens", "initial_h", "initial_c", "boxes", "scores", "seqlens_k", "values",
    "updates",
))  # fmt: skip
"""Names of inputs that hold data or weights; others that are constant and small say how an operator works."""
SPATIAL = ("Conv", "ConvTranspose", "MaxPool", "AveragePool", "LpPool", "ConvInteger", "QLinearConv")
MOST = 1 << 20  # elements of what is computed from parameters here
FOLDED = frozenset((
    "Identity", "Cast", "Reshape", "Transpose", "Squeeze", "Unsqueeze", "Flatten", "Concat", "Slice", "Gather", "Split",
    "Shape", "Add", "Sub", "Mul", "Div", "Pow", "Sqrt", "Reciprocal", "Neg", "Exp", "Log", "Abs", "Min", "Max", "Clip",
    "Gemm", "MatMul",
))  # fmt: skip
"""Operators that are computed where they read parameters alone, as every optimizer does."""
GRAPHS = (AttributeProto.GRAPH, AttributeProto.GRAPHS)
FORMS = (
    USUAL,
    *(Forms(keep_graph=k, nan_guards=g) for k, g in ((True, None), (False, False), (False, True), (True, True))),
)
"""Those that a symbol is written in to be compared with a file, which does not say its own."""

Load = Callable[[], np.ndarray]


@dataclass(eq=False)
class Operation:
    """An operator applied to tensors."""

    name: str
    operator: str
    attributes: dict[str, Any]
    """With the defaults of its definition; small constant inputs that say how it works are among them."""
    inputs: list[str]
    """Tensors and parameters; empty texts for those left out."""
    slots: list[str]
    """The definition's names of the inputs."""
    outputs: list[str]
    bodies: dict[str, Network] = field(default_factory=dict)


@dataclass(eq=False)
class Network:
    """Operations in order, and what they read."""

    operations: list[Operation]
    inputs: dict[str, Spec]
    outputs: list[str]
    stored: Mapping[str, Load]
    """Parameters by name, read when they are asked for."""
    notes: dict[str, str] = field(default_factory=dict)
    """Further facts by what they are of (versions of operators, functions)."""
    computed: frozenset[str] = frozenset()
    """Parameters that the file has operations for, which read parameters alone."""

    def array(self, name: str) -> np.ndarray:
        """The parameter of that name."""
        return self.stored[name]()

    @functools.cached_property
    def makers(self) -> dict[str, Operation]:
        """Operations by the tensors that they make."""
        return {o: op for op in self.operations for o in op.outputs if o}

    @functools.cached_property
    def readers(self) -> dict[str, list[Operation]]:
        """Operations by the tensors that they read."""
        found: dict[str, list[Operation]] = {}
        for op in self.operations:
            for name in dict.fromkeys((*op.inputs, *(n for b in op.bodies.values() for n in b.reads_outside()))):
                found.setdefault(name, []).append(op)
        return found

    def reads_outside(self) -> list[str]:
        """Tensors that it reads of a network around it."""
        own = {*self.inputs, *self.makers, *self.stored, ""}
        read = [
            n
            for op in self.operations
            for n in (*op.inputs, *(m for b in op.bodies.values() for m in b.reads_outside()))
        ]
        return [n for n in dict.fromkeys((*read, *self.outputs)) if n not in own]

    @functools.cached_property
    def _digests(self) -> dict[str, bytes]:
        return {}

    def digest(self, name: str) -> bytes:
        """A fingerprint of a parameter: its dtype, shape and numbers."""
        if name not in self._digests:
            array = self.array(name)
            made = hashlib.blake2b(f"{array.dtype} {array.shape}".encode(), digest_size=16)
            made.update(
                repr(array.tolist()).encode() if array.dtype == object else np.ascontiguousarray(array).tobytes()
            )
            self._digests[name] = made.digest()
        return self._digests[name]


def network_of_graph(
    graph: Graph, params: Mapping[str, np.ndarray], name_of: Callable[[Entry], str] | None = None
) -> Network:
    """The network of a graph with parameters. name_of: names of its tensors, where they have others."""
    called = name_of or (lambda entry: entry.name)
    own, names = own_names(graph, called), Names()

    def named(entry: Entry) -> str:
        return own.get((id(entry.node), entry.index)) or called(entry)

    operations = []
    for node in graph.nodes:
        if node.op is None:
            continue
        attributes = {f: getattr(node.op, f) for f in node.op.fields} or dict(node.attrs)
        bodies = {f"body {i}": network_of_graph(b, {}) for i, b in enumerate(node.subgraphs)}
        inputs = [named(e) for e in node.inputs]
        slots = [*node.op.input_names()][: len(inputs)]
        slots += [f"input {i}" for i in range(len(slots), len(inputs))]
        outputs = [named(Entry(node, i)) for i in range(node.num_outputs)]
        operations.append(Operation(names.unique(node.name), node.op.name, attributes, inputs, slots, outputs, bodies))
    variables = [n.name for n in graph.variables()]
    inputs_of = {n: Spec() for n in variables if n not in params}
    stored = {n: functools.partial(params.__getitem__, n) for n in variables if n in params}
    return Network(operations, inputs_of, [named(e) for e in graph.outputs], stored)


def network_of_onnx(source: onnx.ModelProto | OnnxFile, weights: Mapping[str, np.ndarray] | None = None) -> Network:
    """The network of an ONNX model. weights: initializers that the message lacks."""
    file = read_model(source) if isinstance(source, onnx.ModelProto) else source
    opsets = {o.domain if o.domain != "ai.onnx" else "": o.version for o in file.proto.opset_import}
    found = _network(file.proto.graph, file, opsets, weights or {})
    found.inputs.update({n: s for n, s in specs_of_onnx(file.proto).items() if n in found.inputs})
    used = {op.operator.rpartition("::")[0] for op in everything_in(found)}
    found.notes |= {f"opset of {d or 'ai.onnx'}": str(v) for d, v in opsets.items() if d in used}
    for function in file.proto.functions:
        text = hashlib.blake2b(function.SerializeToString(deterministic=True), digest_size=8).hexdigest()
        found.notes[f"function {function.domain}::{function.name}"] = text
    return found


def network_of(model: Model) -> Network:
    """The network of a model in its own vocabulary: MXNet's operators, or ONNX's."""
    if model.graph is not None:
        return network_of_graph(model.graph, model.params)
    assert model.proto is not None
    return network_of_onnx(model.file if model.file is not None else model.proto)


def networks_of(a: Model, b: Model) -> tuple[Network, Network]:
    """The networks of two models in one vocabulary: a symbol beside ONNX is converted as gluonnx would at that opset; where that
    cannot be, the ONNX model is read as a graph."""
    if a.is_onnx == b.is_onnx:
        return network_of(a), network_of(b)
    symbol, other = (b, a) if a.is_onnx else (a, b)
    theirs = network_of(other)
    try:
        mine = _converted(symbol, other)
    except (ConversionError, MXNetError):
        native = other.native
        assert native.graph is not None and symbol.graph is not None
        names = native.names
        mine = network_of_graph(symbol.graph, symbol.params)
        theirs = network_of_graph(native.graph, native.params, lambda e: names.get(e.name, e.name))
    return (theirs, mine) if a.is_onnx else (mine, theirs)


def _converted(symbol: Model, like: Model) -> Network:
    """The network of a symbol as ONNX with the inputs' shapes and the opset of a model, in those forms that come nearest to it."""
    assert like.proto is not None
    free, _ = split_inputs(symbol, {})
    declared = specs_of_onnx(like.proto)
    rest = iter([n for n in declared if n not in free])
    counts = iter(range(1 << 30))
    inputs = {}
    for name in free:
        spec = declared[name] if name in declared else declared.get(next(rest, ""), Spec())
        if spec.shape is None:
            continue
        dims = tuple(f"open{next(counts)}" if d == "?" else d for d in spec.shape)
        inputs[name] = Spec(dims, spec.dtype)
    opset = next((o.version for o in like.proto.opset_import if o.domain in ("", "ai.onnx")), None)
    wanted, nearest, most = Counter(n.op_type for n in like.proto.graph.node), None, 0
    stored = {i.name for i in like.proto.graph.initializer}
    for forms in FORMS:
        made = ONNX.translated(symbol, inputs=inputs, opset=opset, forms=forms)
        if any(n.endswith(FOLDED_NAME) and n not in stored for n in made.initializers):
            continue  # who else has folded has rounded otherwise
        found = Counter(n.op_type for n in made.model.graph.node)
        apart = ((found - wanted) + (wanted - found)).total()
        if nearest is None or apart < most:
            nearest, most = made, apart
        if not apart:
            break
    assert nearest is not None
    return network_of_onnx(nearest.model, nearest.initializers)


Sizes = dict[str, tuple[int, tuple[int, ...]]]
"""Element types and dims of parameters."""


class Known(NamedTuple):
    """Parameters that are seen where a graph stands."""

    stored: dict[str, Load]
    sizes: Sizes
    computed: set[str]


def _network(
    graph: onnx.GraphProto,
    file: OnnxFile,
    opsets: Mapping[str, int],
    weights: Mapping[str, np.ndarray],
    outer: Known | None = None,
) -> Network:
    known = _known(graph, file, weights, outer)
    operations: list[Operation] = []
    names = Names()
    for node in topological_order(list(graph.node)):
        if (values := _values(node, file, opsets, known)) is not None:
            for name, value in zip(node.output, values):
                known.stored[name] = functools.partial(_given, value)
                known.sizes[name] = (code_of(value.dtype), value.shape)
            if node.op_type not in ("Constant", "Identity"):
                known.computed.update(node.output)
        else:
            operations.append(_operation(node, file, opsets, known, names))
    inputs = {i.name: Spec() for i in graph.input if i.name not in known.stored}
    return Network(operations, inputs, [o.name for o in graph.output], known.stored, {}, frozenset(known.computed))


def _known(graph: onnx.GraphProto, file: OnnxFile, weights: Mapping[str, np.ndarray], outer: Known | None) -> Known:
    own = {i.name for i in graph.input}
    stored = {n: load for n, load in (outer.stored if outer else {}).items() if n not in own}
    stored |= {n: functools.partial(weights.__getitem__, n) for n in weights}
    stored |= {t.name: functools.partial(file.array, t) for t in graph.initializer}
    stored |= {s.values.name: functools.partial(file.sparse, s) for s in graph.sparse_initializer}
    sizes = dict(outer.sizes if outer else {})
    sizes |= {n: (code_of(w.dtype), w.shape) for n, w in weights.items()}
    sizes |= {t.name: (t.data_type, tuple(t.dims)) for t in graph.initializer}
    return Known(stored, sizes, set(outer.computed if outer else ()))


def _values(node: onnx.NodeProto, file: OnnxFile, opsets: Mapping[str, int], known: Known) -> list[np.ndarray] | None:
    """The outputs of a node that reads nothing but parameters; None for any other, and where they would be large."""
    if node.domain not in ("", "ai.onnx"):
        return None
    if node.op_type == "Constant" and node.attribute:
        return [_constant(attribute_of(node.attribute[0], {}, file))]
    read = [n for n in node.input if n]
    if not read or node.op_type not in FOLDED or any(n not in known.stored for n in read):
        return None
    if node.op_type == "Identity":
        return [known.stored[read[0]]()]
    if any(math.prod(known.sizes.get(n, (0, (MOST + 1,)))[1]) > MOST for n in read):
        return None
    feeds = {n: known.stored[n]() for n in dict.fromkeys(read)}
    model = onnx.helper.make_model(
        onnx.helper.make_graph(
            [node],
            "constant",
            [onnx.helper.make_tensor_value_info(n, code_of(a.dtype), a.shape) for n, a in feeds.items()],
            [onnx.helper.make_empty_tensor_value_info(n) for n in node.output],
        ),
        opset_imports=[onnx.helper.make_opsetid("", opsets.get("", 1))],
    )
    try:
        with np.errstate(all="ignore"):
            found = ReferenceEngine(Model("constant", proto=model)).run_unchecked(feeds)
    except EngineError:  # then the operation stays one
        return None
    return [found[n] for n in node.output] if all(n in found for n in node.output) else None


def _given(value: np.ndarray) -> np.ndarray:
    return value


def _constant(value: Any) -> np.ndarray:
    if isinstance(value, np.ndarray):
        return value
    first = value[0] if isinstance(value, tuple) and value else value
    return np.array(value, np.float32 if isinstance(first, float) else np.int64 if isinstance(first, int) else object)


def _operation(
    node: onnx.NodeProto,
    file: OnnxFile,
    opsets: Mapping[str, int],
    known: Known,
    names: Names,
) -> Operation:
    stored, sizes = known.stored, known.sizes
    domain = "" if node.domain == "ai.onnx" else node.domain
    schema = schema_of(node.op_type, opsets.get(domain, 1), domain)
    attributes: dict[str, Any] = {}
    bodies: dict[str, Network] = {}
    for attribute in node.attribute:
        if attribute.type in GRAPHS:
            for i, body in enumerate((attribute.g,) if attribute.type == AttributeProto.GRAPH else attribute.graphs):
                name = attribute.name if attribute.type == AttributeProto.GRAPH else f"{attribute.name}[{i}]"
                bodies[name] = _network(body, file, opsets, {}, known)
        else:
            attributes[attribute.name] = attribute_of(attribute, {}, file)
    if schema is not None:
        for name, declared in schema.attributes.items():
            if name not in attributes and declared.default_value.type:
                attributes[name] = attribute_of(declared.default_value, {}, file)
    inputs, slots = list(node.input), _slots(schema, len(node.input))
    if node.op_type in SPATIAL and not domain:
        _fill_spatial(node, attributes, sizes)
    for i, (name, slot) in enumerate(zip(inputs, slots)):
        if name in stored and i and len(slot) > 1 and slot not in DATA:
            kind, dims = sizes.get(name, (0, (FEW + 1,)))
            whole = kind in (onnx.TensorProto.INT64, onnx.TensorProto.INT32, onnx.TensorProto.BOOL)
            if len(dims) <= 1 and (
                int(np.prod(dims)) <= FEW if whole else int(np.prod(dims)) == 1 and not len(dims) > 1
            ):
                value = stored[name]().tolist()
                attributes[slot], inputs[i] = tuple(value) if isinstance(value, list) and whole else _scalar(value), ""
    while inputs and not inputs[-1]:
        inputs.pop()
    operator = f"{domain}::{node.op_type}" if domain else node.op_type
    outputs = list(node.output)
    name = names.unique(node.name or next((o for o in outputs if o), node.op_type))
    return Operation(name, operator, attributes, inputs, slots, outputs, bodies)


def _scalar(value: Any) -> Any:
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _slots(schema: Any, count: int) -> list[str]:
    formals = [p.name for p in schema.inputs] if schema is not None else []
    return [formals[i] if i < len(formals) else f"input {i}" for i in range(count)]


def _fill_spatial(
    node: onnx.NodeProto, attributes: dict[str, Any], sizes: Mapping[str, tuple[int, tuple[int, ...]]]
) -> None:
    """Fill in what convolution and pooling mean where they say nothing."""
    kernel: Sequence[int] = attributes.get("kernel_shape") or ()
    if not kernel and len(node.input) > 1 and node.input[1] in sizes:
        kernel = attributes["kernel_shape"] = sizes[node.input[1]][1][2:]
    if kernel:
        usual = {"strides": 1, "dilations": 1} | (
            {"pads": 0} if attributes.get("auto_pad", "NOTSET") == "NOTSET" else {}
        )
        if node.op_type == "ConvTranspose":
            usual["output_padding"] = 0
        for name, value in usual.items():
            attributes.setdefault(name, (value,) * (len(kernel) * (2 if name == "pads" else 1)))


def everything_in(network: Network) -> Iterator[Operation]:
    """Its operations, and those of bodies."""
    for op in network.operations:
        yield op
        for body in op.bodies.values():
            yield from everything_in(body)
