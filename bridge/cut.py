"""Pieces of ONNX models: what makes some tensors from others; and the same in float64."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np
import onnx
from onnx import AttributeProto, TensorProto

from converters.onnx_types import HALF_CODES, code_of
from converters.proto_nodes import reads

MADE = "/made"
"""Suffix of the name of a tensor that a piece of a model makes."""


def cut_out(
    whole: onnx.ModelProto, cut: Collection[str], values: Mapping[str, np.ndarray], names: Sequence[str]
) -> onnx.ModelProto:
    """The model that makes the tensors ``names``, called so with MADE, when all that reads one of ``cut`` reads an input of that
    name. values: at least of the tensors that are read, for the inputs' types. What nothing needs is left out, weights too."""
    given = set(cut)
    maker = {o: i for i, node in enumerate(whole.graph.node) for o in node.output if o}
    stored = {i.name: i for i in whole.graph.initializer}
    sparse = {i.values.name: i for i in whole.graph.sparse_initializer}
    chosen: set[int] = set()
    read: dict[str, None] = {}
    stack = [maker[n] for n in names]
    while stack:
        index = stack.pop()
        if index in chosen:
            continue
        chosen.add(index)
        for name in reads(whole.graph.node[index]):
            read[name] = None
            if name not in given and name in maker:
                stack.append(maker[name])
    nodes = []
    for index in sorted(chosen):
        node = onnx.NodeProto()
        node.CopyFrom(whole.graph.node[index])
        node.output[:] = [f"{o}{MADE}" if o in given else o for o in node.output]
        nodes.append(node)
    nodes += [
        onnx.helper.make_node("Identity", [n], [f"{n}{MADE}"]) for n in names if n not in given
    ]  # others read it too
    inputs = [n for n in read if n in given or (n not in maker and n in values)]  # a stored value may be fed another
    graph = onnx.helper.make_graph(
        nodes,
        "part",
        [onnx.helper.make_tensor_value_info(n, code_of(values[n].dtype), values[n].shape) for n in inputs],
        [onnx.helper.make_empty_tensor_value_info(f"{n}{MADE}") for n in names],
        [stored[n] for n in read if n in stored and n not in inputs],
        sparse_initializer=[sparse[n] for n in read if n in sparse and n not in inputs],
    )
    return onnx.helper.make_model(
        graph, opset_imports=whole.opset_import, ir_version=whole.ir_version, functions=whole.functions
    )


def cut_at(whole: onnx.ModelProto, names: Sequence[str]) -> onnx.ModelProto:
    """The model with the tensors ``names`` as its outputs, without the nodes, inputs and weights that nothing of that needs."""
    read = set(names)
    kept = []
    for node in reversed(whole.graph.node):
        if read.intersection(node.output):
            kept.append(node)
            read.update(reads(node))
    part = onnx.ModelProto()
    part.CopyFrom(whole)
    types = {i.name: i for i in (*whole.graph.value_info, *whole.graph.output)}
    for field, values in (
        ("node", reversed(kept)), ("input", [i for i in whole.graph.input if i.name in read]),
        ("output", [types.get(n, onnx.helper.make_empty_tensor_value_info(n)) for n in names]),
        ("initializer", [i for i in whole.graph.initializer if i.name in read]),
    ):  # fmt: skip
        part.graph.ClearField(field)
        getattr(part.graph, field).extend(values)
    return part


def nodes_inside(node: onnx.NodeProto) -> Iterator[onnx.NodeProto]:
    """The nodes of the bodies of a node, and of the bodies of those."""
    for attribute in node.attribute:
        for body in (attribute.g, *attribute.graphs):
            for inner in body.node:
                yield inner
                yield from nodes_inside(inner)


def inner_outputs(node: onnx.NodeProto) -> Iterator[str]:
    """Names of the tensors that the bodies of a node make."""
    for inner in nodes_inside(node):
        yield from inner.output


Kinds = frozenset[int]


def widened_model(model: onnx.ModelProto, halved: bool = False) -> onnx.ModelProto:
    """The model with float64 in place of float32: inputs, constants and casts. halved: of float16 and bfloat16 too."""
    wide = onnx.ModelProto()
    wide.CopyFrom(model)
    kinds = frozenset((TensorProto.FLOAT, *(HALF_CODES if halved else ())))
    _widen(wide.graph, kinds)
    for function in wide.functions:
        for node in function.node:
            _widen_node(node, kinds)
    return wide


def _widen(graph: onnx.GraphProto, kinds: Kinds) -> None:
    for tensor in graph.initializer:
        _widen_tensor(tensor, kinds)
    for info in (*graph.input, *graph.output, *graph.value_info):
        if info.type.tensor_type.elem_type in kinds:
            info.type.tensor_type.elem_type = TensorProto.DOUBLE
    del graph.value_info[:]
    for node in graph.node:
        _widen_node(node, kinds)


def _widen_node(node: onnx.NodeProto, kinds: Kinds) -> None:
    for attribute in node.attribute:
        if attribute.type == AttributeProto.TENSOR:
            _widen_tensor(attribute.t, kinds)
        elif attribute.name in ("to", "dtype") and attribute.i in kinds:
            attribute.i = TensorProto.DOUBLE
        elif node.op_type == "Constant" and attribute.name in ("value_float", "value_floats"):
            floats = attribute.f if attribute.name == "value_float" else list(attribute.floats)
            tensor = onnx.numpy_helper.from_array(np.asarray(floats, np.float64))
            attribute.CopyFrom(onnx.helper.make_attribute("value", tensor))
        for body in (attribute.g, *attribute.graphs):
            if body.node:
                _widen(body, kinds)


def _widen_tensor(tensor: TensorProto, kinds: Kinds) -> None:
    if tensor.data_type in kinds:
        array = onnx.numpy_helper.to_array(tensor).astype(np.float64)
        tensor.CopyFrom(onnx.numpy_helper.from_array(array, tensor.name))
