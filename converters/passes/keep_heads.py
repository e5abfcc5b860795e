"""Heads as an axis of their own, from the projections to what attention gives.

MXNet's attention folds the heads into the batch, (N * heads, T, S), and out of it again. Runtimes look for it with four axes:
TensorRT's fusion wants (N, heads, T, D) for queries, keys and values, between two products of matrices
(https://docs.nvidia.com/deeplearning/tensorrt/latest/inference-library/transformers-fused-attention.html, as of TensorRT 10).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..builder import OnnxNode
from ..onnx_graph import OnnxGraph

ROWWISE = ("Softmax", "LogSoftmax")
ELEMENTWISE = (
    "Abs", "Add", "And", "Cast", "Clip", "Div", "Elu", "Equal", "Erf", "Exp", "Greater", "GreaterOrEqual", "HardSigmoid",
    "Identity", "IsInf", "IsNaN", "LeakyRelu", "Less", "LessOrEqual", "Log", "Max", "Min", "Mul", "Neg", "Not", "Or", "Pow",
    "Reciprocal", "Relu", "Sigmoid", "Sign", "Softplus", "Sqrt", "Sub", "Tanh", "Where", "Xor",
)  # fmt: skip
MOVING = ("Unsqueeze", "Reshape")
"""Operators that give the same numbers in the same order."""
APART = "_apart"
"""End of the names of tensors that have an axis more than the symbol's."""


@dataclass
class _Region:
    """Nodes whose outputs are (N * heads, T, S), and what they read of that form."""

    nodes: dict[str, OnnxNode]
    """Inside, by what they make."""
    joins: dict[str, str]
    """Tensors made by folding heads into the batch, and what they are made of."""
    foreign: dict[str, OnnxNode | None]
    """Others of that form, and what makes them."""


def keep_heads(graph: OnnxGraph) -> bool:
    """Reshape to (N * heads, T, S), operators on that, Reshape to (N, heads, T, S) -> the operators with four axes, where this
    leaves fewer nodes. What a product of matrices, Softmax and element-wise operators compute is the same, bit for bit."""
    changed = False
    for heads in sorted({h for n in graph.nodes if (h := _split_heads(graph, n))}):
        for region, exits in list(_regions(graph, heads)):
            changed |= _rewrite(graph, region, exits, heads)
    return changed


def _split_heads(graph: OnnxGraph, node: OnnxNode) -> int:
    """The number of heads that a Reshape takes out of the batch; 0 for another node."""
    if node.op_type != "Reshape" or node.domain:
        return 0
    before, after = graph.shape(node.inputs[0]), graph.shape(node.outputs[0])
    if before is None or after is None or (len(before), len(after)) != (3, 4) or not _same(before[1:], after[2:]):
        return 0
    return after[1] if isinstance(after[1], int) and after[1] > 1 else 0


def _joined(graph: OnnxGraph, node: OnnxNode | None, heads: int) -> str | None:
    """The tensor whose heads a Reshape folds into the batch; None for another node."""
    if node is None or node.op_type != "Reshape" or node.domain:
        return None
    before, after = graph.shape(node.inputs[0]), graph.shape(node.outputs[0])
    if before is None or after is None or (len(before), len(after)) != (4, 3) or before[1] != heads:
        return None
    return node.inputs[0] if _same(before[2:], after[1:]) else None


def _same(a: tuple, b: tuple) -> bool:
    return a == b and all(isinstance(d, int) or d.isidentifier() for d in a)


def _regions(graph: OnnxGraph, heads: int) -> Iterator[tuple[_Region, list[OnnxNode]]]:
    """Regions that end in Reshapes to four axes, each with those, in order."""
    readers = defaultdict(list)
    for node in graph.nodes:
        for name in node.reads():
            readers[name].append(node)
    exits = [n for n in graph.nodes if _split_heads(graph, n) == heads]
    ends, outside = {id(n) for n in exits}, graph.pinned | graph.outputs
    while True:
        whole = _grow(graph, exits, heads, outside)
        inside = {id(n) for n in whole.nodes.values()} | ends
        stuck = {t for t in whole.nodes if any(id(r) not in inside for r in readers[t])}
        if not stuck:
            break
        outside = outside | stuck
    todo = dict(whole.nodes)
    while todo:
        part, waiting = {}, [next(iter(todo))]
        while waiting:
            name = waiting.pop()
            if name in todo:
                part[name] = todo.pop(name)
                waiting += [i for i in part[name].inputs if i in todo]
                waiting += [o for r in readers[name] for o in r.outputs if o in todo]
        read = {i for n in part.values() for i in n.inputs}
        yield (
            _Region(
                {o: n for n in graph.nodes for o in n.outputs if o in part},
                {t: s for t, s in whole.joins.items() if t in read},
                {t: n for t, n in whole.foreign.items() if t in read},
            ),
            [n for n in exits if n.inputs[0] in part],
        )


def _grow(graph: OnnxGraph, exits: list[OnnxNode], heads: int, outside: set[str] | frozenset[str]) -> _Region:
    """All nodes before the exits that can have heads as an axis of their own. outside: tensors that stay as they are."""
    makers = graph.makers
    found = _Region({}, {}, {})
    waiting = [n.inputs[0] for n in exits]
    while waiting:
        name = waiting.pop()
        if name in found.nodes or name in found.joins or name in found.foreign:
            continue
        node = makers.get(name)
        source = _joined(graph, node, heads)
        if source is not None:
            found.joins[name] = source
            continue
        read = None if node is None or name in outside else _batched(graph, node)
        if read is None or node is None:
            found.foreign[name] = node
        else:
            found.nodes[name] = node
            waiting += read
    return found


def _batched(graph: OnnxGraph, node: OnnxNode) -> list[str] | None:
    """Inputs whose first axis is the batch with heads in it; None for a node that cannot take them as two axes."""
    out = graph.shape(node.outputs[0])
    if node.domain or len(node.outputs) != 1 or out is None or len(out) != 3:
        return None
    if node.op_type == "Transpose":
        return list(node.inputs) if list(node.attrs.get("perm", ())) == [0, 2, 1] else None
    if node.op_type in ROWWISE:
        axis = node.attrs.get("axis", -1 if graph.opset >= 13 else 1)
        return list(node.inputs) if axis in (-1, 2) else None
    if node.op_type != "MatMul" and node.op_type not in ELEMENTWISE:
        return None
    batched = []
    for name in filter(None, node.inputs):
        shape = graph.shape(name)
        if shape is None or len(shape) > 3 or (node.op_type == "MatMul" and len(shape) < 2):
            return None
        if len(shape) == 3 and shape[0] != 1:
            batched.append(name)
    return batched


def _rewrite(graph: OnnxGraph, region: _Region, exits: list[OnnxNode], heads: int) -> bool:
    """Give a region four axes where that leaves fewer nodes; False where it does not, or may not be."""
    if not any(n.op_type in ("MatMul", *ROWWISE) for n in region.nodes.values()):
        return False
    shapes = {t: _apart(graph, t, heads) for t in region.foreign}
    names = {n.inputs[0]: n.outputs[0] for n in exits}
    if None in shapes.values() or len(names) < len(exits):
        return False
    reads, inside = graph.reads, Counter(i for n in (*region.nodes.values(), *exits) for i in n.inputs)
    gone = [t for t in region.joins if reads[t] == inside[t]]
    moved = {
        t: n.inputs[0]
        for t, n in region.foreign.items()
        if n is not None and n.op_type in MOVING and not n.domain and reads[t] == inside[t]
    }
    new = {t: OnnxNode("Reshape", (), [], {}, []) for t in shapes if t not in graph.initializers}
    if len(exits) + len(gone) + len(moved) <= len(new):
        return False
    for name in (*region.nodes, *shapes):
        if name not in names:
            names[name] = graph.unique(f"{name}{APART}")
    for name, shape in shapes.items():
        if name in graph.initializers:
            graph.initializers[names[name]] = graph.initializers[name].reshape(shape)
    leaving, nodes = {n.outputs[0] for n in exits}, []
    for node in graph.nodes:
        if node.outputs[0] in leaving:
            continue
        if node.outputs[0] in region.nodes:
            for name in dict.fromkeys(i for i in node.inputs if i in new):
                sizes, own = graph.unique(f"{names[name]}_shape"), [graph.unique(f"{names[name]}/Reshape")]
                graph.initializers[sizes] = np.array(shapes[name], np.int64)
                put = new.pop(name)._replace(inputs=(moved.get(name, name), sizes), outputs=[names[name]], owner=own)
                nodes.append(put)
            node = _apart_too(node, names | region.joins)
        nodes.append(node)
    graph.nodes[:] = nodes
    return True


def _apart(graph: OnnxGraph, name: str, heads: int) -> tuple[int, ...] | None:
    """The shape of a tensor with heads as an axis of their own; None where that is not known in numbers."""
    shape = graph.static(name)
    if shape is None or shape[0] % heads or not all(shape):
        return None
    return (shape[0] // heads, heads, *shape[1:])


def _apart_too(node: OnnxNode, names: dict[str, str]) -> OnnxNode:
    """The node with heads as an axis of their own in what it reads and makes."""
    attrs = dict(node.attrs)
    if node.op_type == "Transpose":
        attrs["perm"] = [0, 1, 3, 2]
    elif node.op_type in ROWWISE:
        attrs["axis"] = 3
    inputs = tuple(names.get(i, i) for i in node.inputs)
    return node._replace(inputs=inputs, outputs=[names[node.outputs[0]]], attrs=attrs)
