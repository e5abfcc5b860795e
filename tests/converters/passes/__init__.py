"""Rewritings of converted graphs, each on graphs made for it, and on all networks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import onnx
from onnx import helper

from converters.builder import OnnxNode
from converters.names import Names
from converters.onnx_graph import OnnxGraph, live
from converters.onnx_types import declared_spec
from converters.writer import stored_tensor
from tests.converters.agreement import by_onnxruntime, parsed

Pass = Callable[[OnnxGraph], Any]


def graph_of(text: str, told: Iterable[str] = (), **stored: Any) -> OnnxGraph:
    """A graph from ONNX's text form. stored: initializers by name; told: tensors that the symbol is to have."""
    model = parsed(text)
    arrays = {n: np.asarray(a) for n, a in stored.items()}
    arrays |= {i.name: onnx.numpy_helper.to_array(i) for i in model.graph.initializer}
    nodes = []
    for proto in model.graph.node:
        attrs = {a.name: helper.get_attribute_value(a) for a in proto.attribute}
        attrs = {n: v.decode() if isinstance(v, bytes) else v for n, v in attrs.items()}
        nodes.append(OnnxNode(proto.op_type, tuple(proto.input), list(proto.output), attrs, [proto.name], proto.domain))
    names = Names([*arrays, *(n for node in nodes for n in (*node.inputs, *node.outputs))])
    graph = OnnxGraph(
        nodes,
        arrays,
        {i.name: declared_spec(i.type) for i in model.graph.input},
        frozenset(o.name for o in model.graph.output),
        model.opset_import[0].version,
        names.unique,
    )
    graph.infer()
    graph.told = {n: graph.specs[n] for n in told}
    graph.told |= {o.name: declared_spec(o.type) for o in model.graph.output if o.name not in graph.specs}  # of bodies
    graph.infer()
    return graph


def model_of(graph: OnnxGraph) -> onnx.ModelProto:
    """The graph as a model, that the checker accepts."""
    used = {n for node in graph.nodes for n in node.reads()}

    def info(name: str, spec: Any) -> onnx.ValueInfoProto:
        dims = [None if d == "?" else d for d in spec.shape]
        return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(spec.dtype), dims)

    made = helper.make_model(
        helper.make_graph(
            [n.proto() for n in graph.nodes],
            "graph",
            [info(n, s) for n, s in graph.inputs.items()],
            [info(n, graph.specs[n]) for n in sorted(graph.outputs)],
            [stored_tensor(n, a) for n, a in graph.initializers.items() if n in used],
        ),
        opset_imports=[helper.make_opsetid("", graph.opset)],
        ir_version=8,
    )
    onnx.checker.check_model(made, full_check=True)
    return made


def operators(graph: OnnxGraph) -> Counter[str]:
    return Counter(n.op_type for n in graph.nodes)


def rewritten(
    graph: OnnxGraph, rewrite: Pass, feeds: Mapping[str, np.ndarray], exact: bool = True
) -> tuple[OnnxGraph, bool]:
    """The graph after a pass, which has to give what it gave before in onnxruntime; and whether the pass said it changed."""
    before = by_onnxruntime(model_of(graph), feeds)
    changed = bool(rewrite(graph))
    graph.nodes[:] = live(graph.nodes, graph.outputs)
    graph.infer()
    after = by_onnxruntime(model_of(graph), feeds)
    for one, other in zip(before, after, strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        if exact:
            np.testing.assert_array_equal(other, one)
        else:
            np.testing.assert_allclose(other, one, rtol=0, atol=3e-6 * max(1.0, float(np.abs(one).max())))
    return graph, changed
