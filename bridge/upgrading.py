"""Models of opsets 1 to 6 in the forms of opset 7, the oldest for which onnxruntime has all kernels, to have them witnessed.

Written apart from the readings (converters/ops) on purpose: a witness that shared them would repeat their errors. onnx's own
converter lacks broadcasting from an axis, Pad 1, Split 1, recurrent layers and comparisons."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import onnx
from onnx import AttributeProto, ModelProto, NodeProto, TensorProto, TypeProto, helper, numpy_helper

OLDEST = 7
"""Opset that onnxruntime runs from."""

_ELEMENTWISE = frozenset(("Add", "And", "Div", "Equal", "Greater", "Less", "Mul", "Or", "Pow", "Sub", "Xor"))
_ALIKE = frozenset(
    ("Abs", "AveragePool", "Ceil", "Clip", "Elu", "Exp", "Floor", "HardSigmoid", "InstanceNormalization", "LeakyRelu", "Log",
     "Max", "Mean", "Min", "Neg", "Reciprocal", "Relu", "Sigmoid", "Sqrt", "Sum", "Tanh")
)  # fmt: skip
"""Operators of which only the hints to plan memory went, and dtypes came."""


class CannotUpgrade(ValueError):
    """A node has a form that opset 7 lacks; the text says which."""


def upgraded(model: ModelProto) -> ModelProto:
    """A model of opsets 1 to 6, node by node in the forms of opset 7, its tensors under the same names.

    Raises CannotUpgrade naming the first node whose form has no counterpart or takes what is not known ahead."""
    return _Upgrade(model).run()


class _Upgrade:
    """One upgrade."""

    def __init__(self, model: ModelProto):
        self.model = ModelProto()
        self.model.CopyFrom(model)
        self.opset = next((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), 1)
        graph = self.model.graph
        self.types: dict[str, TypeProto] = {i.name: i.type for i in graph.input}
        self.stored: dict[str, TensorProto] = {t.name: t for t in graph.initializer}
        self.types |= {t.name: helper.make_tensor_type_proto(t.data_type, list(t.dims)) for t in graph.initializer}
        self.taken = {*self.types, *(o for n in graph.node for o in n.output)}

    def run(self) -> ModelProto:
        graph = self.model.graph
        nodes = list(graph.node)
        del graph.node[:]
        for node in nodes:
            for made in self._forms(node):
                graph.node.append(made)
                self._follow(made)
        del self.model.opset_import[:]
        self.model.opset_import.append(helper.make_opsetid("", OLDEST))
        self.model.ir_version = max(self.model.ir_version, 4)  # before, stored tensors had to be inputs too
        return self.model

    def _follow(self, node: NodeProto) -> None:
        """Note the types of what a node makes, as far as they follow."""
        if node.op_type == "Constant" and node.attribute and node.attribute[0].name == "value":
            self.stored[node.output[0]] = node.attribute[0].t
        try:
            schema = onnx.defs.get_schema(node.op_type, OLDEST)
            known = {n: self.types[n] for n in node.input if n in self.types}
            values = {n: self.stored[n] for n in node.input if n in self.stored}
            found = onnx.shape_inference.infer_node_outputs(
                schema, node, known, values, opset_imports=[helper.make_opsetid("", OLDEST)], ir_version=3
            )
        except (
            onnx.defs.SchemaError,
            onnx.shape_inference.InferenceError,
            onnx.checker.ValidationError,
            ValueError,
            KeyError,
        ):
            return  # what is not known here is missed only where a form needs it
        self.types |= found

    def _forms(self, node: NodeProto) -> Iterator[NodeProto]:
        """The node in forms of opset 7. Raises CannotUpgrade."""
        if any(a.type in (AttributeProto.GRAPH, AttributeProto.GRAPHS) for a in node.attribute):
            raise self._cannot(node, "holds subgraphs")
        old = _since(node.op_type, self.opset)
        attrs = {a.name: helper.get_attribute_value(a) for a in node.attribute if a.name != "consumed_inputs"}
        change: Callable[..., Iterator[NodeProto]] | None = None
        if node.op_type in _ELEMENTWISE:
            change = self._elementwise
        elif old is not None and old != _since(node.op_type, OLDEST) and node.op_type not in _ALIKE:
            change = getattr(self, f"_{node.op_type.lower()}", None)
            if change is None:
                raise self._cannot(node, f"has changed since opset {old}")
        yield from change(node, attrs) if change is not None else (_like(node, attrs),)

    @staticmethod
    def _cannot(node: NodeProto, why: str) -> CannotUpgrade:
        return CannotUpgrade(f"{node.op_type} {node.name or node.output[0]} {why}")

    def _unique(self, name: str) -> str:
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        return name

    def _constant(self, node: NodeProto, name: str) -> np.ndarray:
        """The value of an input that is stored. Raises CannotUpgrade."""
        if name not in self.stored:
            raise self._cannot(node, f"takes {name}, which only the run tells")
        return numpy_helper.to_array(self.stored[name])

    def _store(self, array: np.ndarray, name: str) -> str:
        """The name of a new stored tensor."""
        name = self._unique(name)
        tensor = numpy_helper.from_array(array, name)
        self.model.graph.initializer.append(tensor)
        self.stored[name] = tensor
        self.types[name] = helper.make_tensor_type_proto(tensor.data_type, list(array.shape))
        return name

    def _rank(self, node: NodeProto, name: str) -> int:
        kind = self.types.get(name)
        if kind is None or not kind.tensor_type.HasField("shape"):
            raise self._cannot(node, f"needs the rank of {name}, which is not known")
        return len(kind.tensor_type.shape.dim)

    def _from_axis(self, node: NodeProto, name: str, rank: int, axis: int) -> Iterator[NodeProto]:
        """A node that puts axes of 1 behind an input, whose first axis goes with this axis of another of that rank; the node
        itself then reads its result."""
        own = self._rank(node, name)
        more = rank - axis % rank - own
        if more > 0:
            spread = self._unique(f"{name}_from_axis_{axis}")
            yield helper.make_node("Unsqueeze", [name], [spread], axes=list(range(own, own + more)))
            node.input[1] = spread

    def _elementwise(self, node: NodeProto, attrs: dict) -> Iterator[NodeProto]:
        axis = attrs.pop("axis", None)
        broadcast = attrs.pop("broadcast", 0)
        node = _like(node, attrs)
        if broadcast and axis is not None:
            yield from self._from_axis(node, node.input[1], self._rank(node, node.input[0]), axis)
        yield node

    def _prelu(self, node: NodeProto, attrs: dict) -> Iterator[NodeProto]:
        """PRelu, whose slopes are those of channels, or one."""
        node = _like(node, attrs)
        rank = self._rank(node, node.input[0])
        if rank > 1:
            yield from self._from_axis(node, node.input[1], rank, 1)
        yield node

    def _concat(self, node: NodeProto, attrs: dict) -> Iterator[NodeProto]:
        yield _like(node, {"axis": 1, **attrs})

    def _cast(self, node: NodeProto, attrs: dict) -> Iterator[NodeProto]:
        to = attrs["to"]
        if isinstance(to, bytes):
            if to.decode() not in TensorProto.DataType.keys():  # noqa: SIM118  an enumeration of protobuf, no mapping
                raise self._cannot(node, f"casts to {to.decode()}, which is no dtype")
            to = TensorProto.DataType.Value(to.decode())
        yield _like(node, {"to": to})

    def _dropout(self, node: NodeProto, attrs: dict) -> Iterator[NodeProto]:
        attrs.pop("is_test", None)
        yield _like(node, attrs)

    def _batchnormalization(self, node: NodeProto, attrs: dict) -> Iterator[NodeProto]:
        attrs.pop("is_test", None)
        if len([o for o in node.output if o]) > 1:
            raise self._cannot(node, "gives statistics")
        yield _like(node, attrs)

    def _gemm(self, node: NodeProto, attrs: dict) -> Iterator[NodeProto]:
        attrs.pop("broadcast", None)
        yield _like(node, attrs)

    def _lstm(self, node: NodeProto, attrs: dict) -> Iterator[NodeProto]:
        attrs.pop("output_sequence", None)
        yield _like(node, attrs)

    _gru = _rnn = _lstm

    def _globallppool(self, node: NodeProto, attrs: dict) -> Iterator[NodeProto]:
        power = float(attrs.pop("p", 2.0))
        if not power.is_integer():
            raise self._cannot(node, f"has p={power:g}")
        yield _like(node, {**attrs, "p": int(power)})

    _lppool = _globallppool

    def _pad(self, node: NodeProto, attrs: dict) -> Iterator[NodeProto]:
        yield _like(node, {("pads" if k == "paddings" else k): v for k, v in attrs.items()})

    def _reshape(self, node: NodeProto, attrs: dict) -> Iterator[NodeProto]:
        shape = self._store(np.array(attrs.pop("shape", ()), np.int64), f"{node.output[0]}_shape")
        node = _like(node, attrs)
        node.input.append(shape)
        yield node

    def _selu(self, node: NodeProto, attrs: dict) -> Iterator[NodeProto]:
        """Selu, whose rounded defaults were others than today's."""
        yield _like(node, {"alpha": 1.6732, "gamma": 1.0507, **attrs})

    def _split(self, node: NodeProto, attrs: dict) -> Iterator[NodeProto]:
        """Split, whose sizes may be an input, and whose axis had no default."""
        if len(node.input) > 1 and node.input[1]:
            attrs["split"] = self._constant(node, node.input[1]).astype(np.int64).tolist()
        node = _like(node, {"axis": 0, **attrs})
        del node.input[1:]
        yield node

    def _tile(self, node: NodeProto, attrs: dict) -> Iterator[NodeProto]:
        """Tile, which repeated along one axis."""
        times, axis = (int(self._constant(node, n).item()) for n in node.input[1:3])
        repeats = np.ones(self._rank(node, node.input[0]), np.int64)
        repeats[axis] = times
        data = node.input[0]
        node = _like(node, attrs)
        del node.input[:]
        node.input.extend((data, self._store(repeats, f"{node.output[0]}_repeats")))
        yield node

    def _upsample(self, node: NodeProto, attrs: dict) -> Iterator[NodeProto]:
        high, wide = (float(attrs.pop(f"{side}_scale")) for side in ("height", "width"))
        yield _like(node, {**attrs, "scales": [1.0, 1.0, high, wide]})


def _since(op_type: str, opset: int) -> int | None:
    """The opset that an operator's definition is of; None for one that ONNX has none of, which runtimes know all the same."""
    try:
        return onnx.defs.get_schema(op_type, opset).since_version
    except onnx.defs.SchemaError:
        return None


def _like(node: NodeProto, attrs: dict) -> NodeProto:
    """The node with these attributes."""
    made = NodeProto()
    made.CopyFrom(node)
    known = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    kept = {n for n, v in attrs.items() if n in known and type(v) is type(known[n]) and v == known[n]}
    del made.attribute[:]
    made.attribute.extend(a for a in node.attribute if a.name in kept)
    made.attribute.extend(helper.make_attribute(n, v) for n, v in attrs.items() if n not in kept)
    return made
