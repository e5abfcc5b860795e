"""Reads an ONNX model as a graph of MXNet operators (node_importer.py), with its parameters, inputs and outputs."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import onnx

from hybrid.core.attrs import is_float
from hybrid.core.op import FAMILY, Spec, lookup
from hybrid.core.shapes import UNKNOWN
from hybrid.ir.declared import declare
from hybrid.ir.differentiate import without_gradient
from hybrid.ir.graph import Entry, Graph, Node
from hybrid.ops.creation import ShapeArray

from . import legacy_fixes, ops, symbolic_shapes  # noqa: F401  ops fills the registry
from .error import ConversionError, Problem, Unsupported, UnsupportedModel
from .held import DOUBTFUL, HELD
from .import_state import INLINE, Imported, ImportedValue, ImportState, dtype_attribute
from .names import keep_name
from .node_importer import Importer
from .onnx_types import KEY as KIND
from .onnx_types import declared_spec, known_dims, text_of
from .reader import OnnxFile, read_model

_ROUNDS = re.compile("Quantize|QLinear|QGemm|Integer|round|rint|floor|ceil|sign|trunc|fix", re.IGNORECASE)
"""Operators whose derivative is zero, of which networks are made that would train; looking for what they keep gradients from
takes a rule for each operator of the network."""


_QUANTISED = re.compile("quantize|QLinear|QGemm|Integer", re.IGNORECASE)


def from_onnx(model: Any, *, folder: Any = None) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """An ONNX model as ``(symbol, arg_params, aux_params)``, as mx.model.load_checkpoint gives them.

    model: a path, bytes, a ModelProto, or what import_model has made of one. folder: where external data lies, for a
    model that is no path.
    Raises UnsupportedModel listing every node that cannot be read, ConversionError or hybrid's FormatError for a broken model."""
    from hybrid.context import cpu
    from hybrid.ndarray import NDArray
    from hybrid.symbol import Symbol

    found = model if isinstance(model, Imported) else import_model(model, folder=folder)
    auxiliary = {n.name for n in found.graph.auxiliary_states()}
    arrays = {name: NDArray._own(np.array(array, order="C"), cpu()) for name, array in found.params.items()}
    return (
        Symbol(list(found.graph.outputs)),
        {n: a for n, a in arrays.items() if n not in auxiliary},
        {n: a for n, a in arrays.items() if n in auxiliary},
    )


def import_model(model: Any, *, folder: Any = None) -> Imported:
    """As from_onnx, but the weights stay where they are, and everything else that is known of the model."""
    file = model if isinstance(model, OnnxFile) else read_model(model, folder=folder)
    return _Import(file).run()


class _Import(Importer):
    """One import."""

    def __init__(self, file: OnnxFile):
        shared = ImportState(file)
        super().__init__(shared, shared.opsets)
        self._defaults: set[str] = set()
        """Parameters that are inputs with a value, which a call may give others."""

    def run(self) -> Imported:
        proto = self.shared.file.proto.graph
        self.initializers(proto)
        inputs: dict[str, Spec] = {}
        kinds = {}
        for info in proto.input:
            if info.name in self.scope:
                self._defaults.add(info.name)
                continue  # before IR 4 initializers are inputs too, with that value for a default
            inputs[info.name] = self._take(info)
            kinds[info.name] = info.type
        self.walk(proto.node)
        outputs = []
        for info in proto.output:
            kinds.setdefault(info.name, info.type)
            declared, text = self._read_declaration(info, "output")
            value = self.find(info.name)
            if value is None:
                self.shared.problems.append(Problem(info.name, "output", "no node makes it"))
                continue
            outputs.append(value)
            wrong = legacy_fixes.shape_contradiction(self, declared.shape, value)
            if wrong:
                self.shared.problems.append(Problem(info.name, "output", wrong))
            entry = value.entry
            if entry is not None and entry.node.op is not None and not entry.index and value.shape is None and text:
                entry.node.attrs[KIND] = text  # only the file says it: kept for who writes it again
        if self.shared.problems:
            raise UnsupportedModel(self.shared.problems, "cannot be imported")
        if not outputs:
            raise ConversionError("the model has no outputs, wanted one at least")
        graph = self._with_sizes_inside(Graph(self._result(v) for v in outputs))
        for entry, info in zip(graph.outputs, proto.output):
            keep_name(entry, info.name)
        used = {n.name for n in graph.variables()}
        tensors = {name: v.entry for name, v in self.scope.items() if v.entry is not None}
        return Imported(
            graph,
            {n: a for n, a in self.shared.params.items() if n in used},
            inputs,
            tuple(i.name for i in proto.output),
            tensors,
            tuple(dict.fromkeys(self.shared.repairs)),
            self.opset,
            kinds,
            tuple(dict.fromkeys(self.shared.doubts)),
            self.shared.changes_numerics,
            self._to_know(graph),
        )

    def _to_know(self, graph: Graph) -> dict[str, tuple[str, ...]]:
        """Facts to know before the network is trained; of parameters those that are left."""
        found, variables = {}, graph.variables()
        used, states = {n.name for n in variables}, {n.name for n in graph.auxiliary_states()}
        own = [n.name for n in variables if n.name in self.shared.params and n.attrs.get("__grad_req__") != "null"]
        trained = {n for n in own if is_float(self.shared.params[n].dtype)} - states
        rounds = any(n.op is not None and _ROUNDS.search(n.op.name) for n in graph.nodes)
        for name, stops in without_gradient(graph).items() if rounds else ():
            if name in trained:
                # who reads integers has none to pass on, since they were made so
                made = dict.fromkeys(s.removeprefix(FAMILY).replace("Dequantize", "Quantize") for s in stops)
                what = f"without a gradient, of which {' and '.join(made)} passes none on"
                self.shared.training.setdefault(what, []).append(name)
        for node in graph.nodes:
            if node.op is not None and _QUANTISED.search(node.op.name):
                for name in (e.node.name for e in node.inputs if e.node.is_variable):
                    array = self.shared.params.get(name)
                    if array is not None and array.ndim > 1 and not is_float(array.dtype):
                        self.shared.training.setdefault("weights of whole numbers, which are not trained", []).append(
                            name
                        )
        for what, names in self.shared.training.items():
            left = tuple(n for n in dict.fromkeys(names) if what not in (HELD, DOUBTFUL) or n in used)
            if left:
                found[what] = left
        return found

    def _with_sizes_inside(self, graph: Graph) -> Graph:
        """The graph with constants in the place of small whole parameters that shapes are computed from: shapes have to be known
        before a run, and parameters may be others then. Graphs of MXNet's operators alone have no such."""
        reading = [n for n in graph.nodes if n.op is not None and "values" in n.op.needs]
        ahead = [e.node for n in reading for e in n.inputs[1:]]
        seen: set[int] = set()
        found: list[Node] = []
        while ahead:
            node = ahead.pop()
            if id(node) in seen:
                continue
            seen.add(id(node))
            array = self.shared.params.get(node.name) if node.is_variable else None
            if (
                array is not None
                and array.size <= INLINE
                and array.dtype.kind in "iub"
                and node.name not in self._defaults
            ):
                found.append(node)
            ahead += [e.node for e in node.inputs if e.node.is_variable or not e.node.means(ShapeArray)]
        for node in found:
            node.op = lookup(f"{FAMILY}Constant").bind(value=self.shared.params.pop(node.name))
            node.attrs = node.op.dump()
        return Graph(graph.outputs) if found else graph

    def _take(self, info: onnx.ValueInfoProto) -> Spec:
        """Make the variable of an input; gives what the model declares of it."""
        spec, text = self._read_declaration(info, "input")
        attrs = dtype_attribute(spec.dtype)
        if info.type.WhichOneof("value") not in (None, "tensor_type"):
            attrs[KIND] = text
        else:
            attrs |= declare(spec.shape)
        shape = known_dims(spec.shape)
        if shape and 0 not in (d for d in shape if d is not UNKNOWN):
            attrs["__shape__"] = str(tuple(0 if d is UNKNOWN else d for d in shape))
        entry = Entry(Node(None, info.name, (), attrs))
        value = self.scope[info.name] = ImportedValue(info.name, shape, spec.dtype, None, entry, kind=info.type)
        value.dims = symbolic_shapes.declared_dims(info.name, spec.shape)
        for axis, size in enumerate(value.dims or ()):
            if isinstance(size, symbolic_shapes.Count):
                self.shared.sizes.setdefault(size, []).append((value, axis))
        return spec

    def _read_declaration(self, info: onnx.ValueInfoProto, what: str) -> tuple[Spec, str]:
        """Declared spec of an input or output, and as text; a type that there is not is one of the model's problems."""
        try:
            return declared_spec(info.type), text_of(info.type)
        except Unsupported as error:
            self.shared.problems.append(Problem(info.name, what, str(error)))
            return Spec(), ""
