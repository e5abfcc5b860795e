"""A converted graph with its floats in another dtype: float32 as float16, or float16 as float32.

It is directed by types. ONNX's schemas say of each input and output of a node whether it follows the type of another, and which
types it may have; so what a node reads and makes is retyped where its schema has the new type, stays where it does not (the scales
of Resize, the boxes of NonMaxSuppression), and an attribute that names a dtype (``to`` of Cast, ``value`` of ConstantOfShape) is
retyped with the output that it is of. Where nodes of both types meet there is a Cast, one for each tensor. Bodies of control flow
are rewritten like the graph around them. Shapes, integers and names stay."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto, TensorProto

from ..error import ConversionError
from ..onnx_types import HALF_CODES, code_of, dtype_of
from ..schemas import schema_of
from ..writer import EXTERNAL_OVER, Converted

HALVED: Mapping[int, int] = {TensorProto.FLOAT: TensorProto.FLOAT16}
WIDENED: Mapping[int, int] = dict.fromkeys(HALF_CODES, TensorProto.FLOAT)
GREATEST = float(np.finfo(np.float16).max)
"""65504, the greatest finite number of float16."""
NEVER = frozenset(
    ("QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear", "RandomNormal", "RandomUniform", "RandomNormalLike",
     "RandomUniformLike", "Multinomial", "Bernoulli", "SequenceEmpty", "MelWeightMatrix", "HannWindow", "HammingWindow",
     "BlackmanWindow")
)  # fmt: skip
"""Operators that stay: the scales of integers, and what names its dtype elsewhere."""
BODIES = frozenset(("If", "Loop", "Scan"))
MADE_BY_ATTRIBUTE = frozenset(("Cast", "ConstantOfShape", "Constant", "EyeLike"))
"""Operators whose attribute says the dtype of what they make."""
_SPELT = {"float32": "float", "float64": "double"}


@dataclass(frozen=True)
class Retyped:
    """A rewritten model, and what became of its numbers."""

    converted: Converted
    clamped: Mapping[str, float]
    """By constant its number furthest beyond what the new dtype holds, which became the greatest that it does hold."""
    casts: int
    """Number of Casts that were put in."""


def from_proto(model: onnx.ModelProto) -> Converted:
    """A model as the writer takes it: its initializers apart. The message is changed."""
    arrays = {t.name: onnx.numpy_helper.to_array(t) for t in model.graph.initializer}
    del model.graph.initializer[:]
    return Converted(model, arrays)


def tensor_types(converted: Converted) -> onnx.ModelProto:
    """The model with the types of all its tensors told (value_info), those in bodies too. Large weights stand in as inputs.

    Raises ConversionError where onnx cannot infer them."""
    model = onnx.ModelProto()
    model.CopyFrom(converted.model)
    for name, array in converted.initializers.items():
        if array.nbytes <= EXTERNAL_OVER:
            model.graph.initializer.append(onnx.numpy_helper.from_array(np.asarray(array, order="C"), name))
        else:
            model.graph.input.append(onnx.helper.make_tensor_value_info(name, code_of(array.dtype), array.shape))
    try:
        return onnx.shape_inference.infer_shapes(model)
    except onnx.shape_inference.InferenceError as error:
        raise ConversionError(f"onnx cannot tell the types of this model's tensors: {error}") from error


def retype(
    converted: Converted,
    codes: Mapping[int, int] = HALVED,
    *,
    stay: Collection[str] = (),
    turned: Collection[str] | None = (),
) -> Retyped:
    """The model with tensors of other types, by TensorProto codes.

    stay: tensors whose nodes stay as they are, and what they read. turned: inputs and outputs of the model that are retyped too;
    None for all. Finite numbers of constants that the new type does not hold become the greatest that it does."""
    typed = tensor_types(converted)
    names = {v.name for v in (*typed.graph.input, *typed.graph.output)}
    rewriting = _Rewriting(codes, frozenset(stay), names if turned is None else set(turned), converted.initializers)
    opset = {o.domain: o.version for o in converted.model.opset_import}
    scope = _Scope(rewriting, typed.graph, None, opset)
    graph = scope.rewrite_main(converted.model.graph)
    model = onnx.ModelProto()
    model.CopyFrom(converted.model)
    model.graph.CopyFrom(graph)
    return Retyped(Converted(model, rewriting.stored(model.graph)), rewriting.clamped, rewriting.casts)


@dataclass
class _Rewriting:
    """The wishes, and what is shared by all graphs of a model."""

    codes: Mapping[int, int]
    stay: frozenset[str]
    turned: Collection[str]
    initializers: Mapping[str, np.ndarray]
    clamped: dict[str, float] = field(default_factory=dict)
    casts: int = 0
    asked: dict[str, set[int]] = field(default_factory=dict)
    """By initializer the types that are read of it."""

    def cast_array(self, name: str, array: np.ndarray, code: int) -> np.ndarray:
        """The numbers in another dtype; those beyond it become its greatest."""
        dtype = dtype_of(code)
        if dtype != np.float16:
            return array.astype(dtype)
        with np.errstate(over="ignore", invalid="ignore"):
            beyond = np.isfinite(array) & (np.abs(array) > GREATEST)
            if beyond.any():
                self.clamped[name] = float(array[beyond].flat[np.abs(array[beyond]).argmax()])
                array = np.where(beyond, np.copysign(GREATEST, array), array)
            return np.ascontiguousarray(array.astype(dtype))

    def stored(self, graph: onnx.GraphProto) -> dict[str, np.ndarray]:
        """The initializers in the types that are read of them; the first keeps the name."""
        out, renamed = {}, {}
        for name, array in self.initializers.items():
            asked = self.asked.get(name)
            if not asked:
                out[name] = array
                continue
            own = code_of(array.dtype)
            for code in sorted(asked, key=lambda c: c == own):
                if code != own:
                    out[name] = self.cast_array(name, array, code)
                elif name in out:
                    out[_as(name, own)] = array
                else:
                    out[name] = array
                    renamed[_as(name, own)] = name
        _rename(graph, renamed)
        return out


def _as(name: str, code: int) -> str:
    return f"{name}/{dtype_of(code).name}"


def _rename(graph: onnx.GraphProto, names: Mapping[str, str]) -> None:
    """Let nodes, bodies included, read tensors by other names."""
    for node in graph.node:
        node.input[:] = [names.get(n, n) for n in node.input]
        for attribute in node.attribute:
            for body in (attribute.g, *attribute.graphs):
                if body.node or body.output:
                    _rename(body, names)
    for output in graph.output:
        output.name = names.get(output.name, output.name)


class _Scope:
    """One graph: the types that its tensors had, and those that they are held in now."""

    def __init__(
        self, rewriting: _Rewriting, typed: onnx.GraphProto, outer: _Scope | None, opset: Mapping[str, int]
    ) -> None:
        self.shared, self.outer, self.opset = rewriting, outer, opset
        self.types: dict[str, int] = {}
        for info in (*typed.input, *typed.output, *typed.value_info):
            if info.type.WhichOneof("value") == "tensor_type":
                self.types[info.name] = info.type.tensor_type.elem_type
        self.types |= {t.name: t.data_type for t in typed.initializer}
        self.bodies = {
            (n.output[0] if n.output else n.name, a.name): a.g
            for n in typed.node
            for a in n.attribute
            if a.type == AttributeProto.GRAPH
        }
        self.held: dict[str, int] = {}
        self.alias: dict[str, str] = {}
        self.cast_of: dict[tuple[str, int], str] = {}
        self.nodes: list[onnx.NodeProto] = []
        self.keep_all = False

    # -- tensors ----------------------------------------------------------------------------------------------------

    def type_of(self, name: str) -> int | None:
        """The type that a tensor had; None for what is none, or not known."""
        scope: _Scope | None = self
        while scope is not None:
            if name in scope.types:
                return scope.types[name]
            scope = scope.outer
        return None

    def home(self, name: str) -> _Scope | None:
        """The graph that makes a tensor; None for an initializer of the model, or what is not known."""
        scope: _Scope | None = self
        while scope is not None:
            if name in scope.held:
                return scope
            scope = scope.outer
        return None

    def holds(self, name: str) -> int | None:
        """The type that a tensor is held in; None for constants, which are there in any, and for what is not known."""
        home = self.home(name)
        return None if home is None else home.held[home.alias.get(name, name)]

    def read(self, name: str, code: int) -> str:
        """The name of a tensor in a type; a Cast makes it where it is held in another."""
        home = self.home(name)
        if home is None:
            if name not in self.shared.initializers:
                return name
            self.shared.asked.setdefault(name, set()).add(code)
            own = code_of(self.shared.initializers[name].dtype)
            return _as(name, own) if code == own else name
        name = home.alias.get(name, name)
        if home.held[name] == code:
            return name
        if (name, code) not in self.cast_of:
            made = _as(name, code)
            self.nodes.append(onnx.helper.make_node("Cast", [name], [made], f"{made}_cast", to=code))
            self.cast_of[name, code] = made
            self.shared.casts += 1
        return self.cast_of[name, code]

    # -- graphs -----------------------------------------------------------------------------------------------------

    def rewrite_main(self, graph: onnx.GraphProto) -> onnx.GraphProto:
        """The model's graph: inputs and outputs keep their names, and their types unless they are turned."""
        out = onnx.GraphProto()
        out.CopyFrom(graph)
        del out.node[:], out.value_info[:]
        codes, turned = self.shared.codes, self.shared.turned
        for info in out.input:
            self._declare(info, info.name in turned)
        for node in graph.node:
            self._visit(node)
        made = {o for n in self.nodes for o in n.output}
        renamed: dict[str, str] = {}
        for info in out.output:
            name, own = info.name, self.type_of(info.name)
            if own is None:
                continue
            code = codes.get(own, own) if name in turned else own
            info.type.tensor_type.elem_type = code
            source = self.read(name, code)
            if source == name:
                continue
            if name in made:  # what is held in the other type gets another name, as outputs keep theirs
                renamed[name] = _as(name, self.held[name])
                self.nodes = [n for n in self.nodes if source not in n.output or n.op_type != "Cast"]
                self._rename_all({name: renamed[name]})
                self._rename_all({source: name})
                self.nodes.append(onnx.helper.make_node("Cast", [renamed[name]], [name], f"{name}_cast", to=code))
            else:
                self.nodes.append(onnx.helper.make_node("Identity", [source], [name], f"{name}_identity"))
        out.node.extend(_in_order(self.nodes))
        return out

    def _rename_all(self, names: Mapping[str, str]) -> None:
        graph = onnx.GraphProto(node=self.nodes)
        _rename(graph, names)
        for node in graph.node:
            node.output[:] = [names.get(n, n) for n in node.output]
        self.nodes = list(graph.node)

    def rewrite_body(self, graph: onnx.GraphProto, turn: bool) -> onnx.GraphProto:
        """The body of a node: what goes in and out of it has the types of that node."""
        out = onnx.GraphProto()
        out.CopyFrom(graph)
        del out.node[:], out.value_info[:], out.initializer[:]
        self.keep_all = not turn
        codes = self.shared.codes
        for tensor in graph.initializer:
            self.nodes.append(onnx.helper.make_node("Constant", [], [tensor.name], value=tensor))
            self.held[tensor.name] = tensor.data_type
        for info in out.input:
            self._declare(info, turn)
        for node in graph.node:
            self._visit(node)
        for info in out.output:
            own = self.type_of(info.name)
            if own is not None:
                code = codes.get(own, own) if turn else own
                info.type.tensor_type.elem_type = code
                source = self.read(info.name, code)
                if source == info.name or any(source in n.output for n in self.nodes):
                    info.name = source
                else:  # made around it
                    made = f"{info.name}/given"
                    self.nodes.append(onnx.helper.make_node("Identity", [source], [made], f"{made}_identity"))
                    info.name = made
        out.node.extend(self.nodes)
        return out

    def _declare(self, info: onnx.ValueInfoProto, turn: bool) -> None:
        if info.type.WhichOneof("value") != "tensor_type":
            return
        own = info.type.tensor_type.elem_type or self.types.get(info.name, 0)
        code = self.shared.codes.get(own, own) if turn else own
        if info.type.tensor_type.elem_type:
            info.type.tensor_type.elem_type = code
        self.held[info.name] = code

    # -- nodes ------------------------------------------------------------------------------------------------------

    def _visit(self, node: onnx.NodeProto) -> None:
        codes = self.shared.codes
        turn = self._turns(node)
        schema = schema_of(node.op_type, self.opset.get(node.domain, 1), node.domain)
        new = onnx.NodeProto()
        new.CopyFrom(node)
        for attribute in new.attribute:
            if attribute.type == AttributeProto.GRAPH:
                key = (node.output[0] if node.output else node.name, attribute.name)
                body = _Scope(self.shared, self.bodies[key], self, self.opset)
                attribute.g.CopyFrom(body.rewrite_body(attribute.g, turn))
        for index, name in enumerate(node.input):
            own = self.type_of(name) if name else None
            if own is None or own not in codes:
                new.input[index] = self.read(name, own) if own is not None else name
                continue
            code = codes[own] if turn and _may_be(schema, "inputs", index, codes[own]) else own
            if node.op_type == "Cast":
                code = self.holds(name) or code  # as it is held, whatever that is
            new.input[index] = self.read(name, code)
        for index, name in enumerate(node.output):
            own = self.type_of(name) if name else None
            if own is None:
                continue
            changes = own in codes and turn and _may_be(schema, "outputs", index, codes[own])
            self.held[name] = codes[own] if changes else own
            if changes and node.op_type in MADE_BY_ATTRIBUTE:
                self._retype_attribute(new, name, own)
        if new.op_type == "Cast" and self._same(new):
            self.alias[new.output[0]] = new.input[0]
            self.held[new.output[0]] = self.held[new.input[0]]
            if any(new.input[0] in n.output for n in self.nodes) or new.input[0] in self.held:
                return
        self.nodes.append(new)

    def _same(self, cast: onnx.NodeProto) -> bool:
        """True for a Cast to the type that its input, of this graph, is held in already."""
        to = next(a.i for a in cast.attribute if a.name == "to")
        return self.held.get(cast.input[0]) == to and cast.input[0] not in self.alias

    def _turns(self, node: onnx.NodeProto) -> bool:
        """True where a node is to be of the new type."""
        if self.keep_all or node.domain or node.op_type in NEVER or self.shared.stay.intersection(node.output):
            return False
        if any(n and self.type_of(n) is None for n in node.output):  # sequences, and what onnx knows nothing of
            return False
        bodies = any(a.type in (AttributeProto.GRAPH, AttributeProto.GRAPHS) for a in node.attribute)
        return not bodies or node.op_type in BODIES

    def _retype_attribute(self, node: onnx.NodeProto, output: str, own: int) -> None:
        """Let the attribute that says an output's dtype say the new one."""
        code = self.shared.codes[own]
        if node.op_type in ("Cast", "EyeLike"):
            name = "to" if node.op_type == "Cast" else "dtype"
            _set(node, name, code)
            return
        given = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        value = given.get("value", given.get("value_float", given.get("value_floats")))
        is_tensor = isinstance(value, TensorProto)
        array = onnx.numpy_helper.to_array(value) if is_tensor else np.asarray(value or 0.0, np.float32)
        if node.op_type == "ConstantOfShape" and value is None:
            array = np.zeros(1, np.float32)
        made = self.shared.cast_array(output, array, code)
        del node.attribute[:]
        node.attribute.append(onnx.helper.make_attribute("value", onnx.numpy_helper.from_array(made)))


def _set(node: onnx.NodeProto, name: str, value: int) -> None:
    kept = [a for a in node.attribute if a.name != name]
    del node.attribute[:]
    node.attribute.extend([*kept, onnx.helper.make_attribute(name, value)])


def _may_be(schema: Any, which: str, index: int, code: int) -> bool:
    """True where a schema allows an input or output to be of a type."""
    if schema is None or not getattr(schema, which):
        return False
    formals = getattr(schema, which)
    variable = formals[min(index, len(formals) - 1)].type_str
    name = dtype_of(code).name
    text = f"tensor({_SPELT.get(name, name)})"
    for constraint in schema.type_constraints:
        if constraint.type_param_str == variable:
            return text in constraint.allowed_type_strs
    return variable == text


def _in_order(nodes: Iterable[onnx.NodeProto]) -> list[onnx.NodeProto]:
    from ..proto_nodes import topological_order

    return topological_order(list(nodes))
