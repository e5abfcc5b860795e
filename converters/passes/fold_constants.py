"""Nodes that read constants alone become constants."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from onnx import helper

from ..builder import OnnxNode, domain_opset
from ..onnx_graph import OnnxGraph
from ..onnx_types import code_of, dtype_of

EXACT = frozenset((
    "Add", "And", "Cast", "Ceil", "Concat", "ConstantOfShape", "Div", "Equal", "Expand", "Flatten", "Floor", "Gather",
    "GatherElements", "Greater", "GreaterOrEqual", "Identity", "Less", "LessOrEqual", "Max", "Min", "Mul", "Neg", "Not",
    "Or", "Range", "ReduceProd", "Reshape", "ScatterElements", "ScatterND", "Slice", "Split", "Sqrt", "Squeeze", "Sub", "Tile",
    "Transpose", "Unsqueeze", "Where", "Xor",
))  # fmt: skip
"""Operators of which every runtime has to give the same numbers: they move them, count, or round as IEEE 754 says."""
BROADCAST = frozenset((
    "Add", "And", "Div", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Max", "Min", "Mul", "Or", "Sub",
    "Where", "Xor",
))  # fmt: skip
DTYPES = frozenset(
    np.dtype(t) for t in ("bool", "int8", "uint8", "int16", "uint16", "int32", "int64", "float16", "float32", "float64")
)
SMALL = 64 << 10  # bytes that a result may have whatever it is made from


class Folding:
    """Nodes of a graph whose results are known; ``finish`` writes these as initializers."""

    def __init__(self, graph: OnnxGraph):
        self.graph = graph
        self.reads = graph.reads
        self._known: dict[int, Sequence[np.ndarray]] = {}
        self.made: dict[str, np.ndarray] = {}

    def put(self, node: OnnxNode, results: Sequence[np.ndarray]) -> None:
        """Say what a node's outputs are. Nothing is folded into an output of the graph, which has to be made by a node."""
        if not self.graph.outputs.intersection(node.outputs):
            self._known[id(node)] = results
            self.made.update(zip(node.outputs, results))

    def constant(self, name: str) -> np.ndarray | None:
        return self.made.get(name, self.graph.constant(name))

    def finish(self) -> bool:
        """Rewrite the graph; True where anything changed."""
        self.graph.nodes[:] = [n for n in self.graph.nodes if id(n) not in self._known]
        self.graph.initializers.update((n, np.ascontiguousarray(a).reshape(a.shape)) for n, a in self.made.items())
        return bool(self._known)


def fold_constants(graph: OnnxGraph) -> bool:
    """f(constants) -> constant, for operators that are exact, where the result is small or no larger than what it is made from."""
    folding = Folding(graph)
    for node in graph.nodes:
        if node.op_type not in EXACT or node.domain or not node.inputs:
            continue
        read = {n: folding.constant(n) for n in node.inputs if n}
        arrays = {n: a for n, a in read.items() if a is not None and a.dtype in DTYPES}
        if any(n in graph.tied and folding.reads[n] > 1 for n in arrays):
            continue  # a weight stays one, to be trained as one
        if len(arrays) == len(read) and arrays and _is_worth(node, arrays, folding) and _is_safe(node, arrays):
            results = evaluate(node, arrays, graph.opset)
            if results is not None and sum(r.nbytes for r in results) <= _limit(arrays, folding):
                folding.put(node, results)
    return folding.finish()


def _limit(arrays: dict[str, np.ndarray], folding: Folding) -> int:
    """Bytes that a result may have: as many as leave the file with it, in place of what is read nowhere else."""
    return max(SMALL, sum(a.nbytes for n, a in arrays.items() if folding.reads[n] == 1))


def _is_worth(node: OnnxNode, arrays: dict[str, np.ndarray], folding: Folding) -> bool:
    """False where the result would be too large to be kept, or where what is read is, before anything is made."""
    limit, values = _limit(arrays, folding), [arrays[n] for n in node.inputs if n]
    if sum(v.nbytes for v in values) > max(limit, SMALL) * 2:
        return False
    first, last = values[0], values[-1]
    if node.op_type == "Range":
        start, stop, step = (float(v.item()) for v in values)
        return bool(step) and (stop - start) / step * first.itemsize <= limit
    if node.op_type in ("Expand", "Tile", "ConstantOfShape"):
        counts = math.prod(max(int(d), 1) for d in last.tolist())
        wide = first.nbytes if node.op_type == "Tile" else first.itemsize
        return counts * wide <= limit
    if node.op_type == "Cast":
        return first.size * np.dtype(dtype_of(node.attrs["to"])).itemsize <= limit
    if node.op_type in BROADCAST:
        try:
            shape = np.broadcast_shapes(*(v.shape for v in values))
        except ValueError:
            return False
        return math.prod(shape) * max(v.itemsize for v in values) <= limit
    return True


def _is_safe(node: OnnxNode, arrays: dict[str, np.ndarray]) -> bool:
    """False where runtimes are free in what they give: division of whole numbers by 0 or of signed ones, numbers cast to what
    cannot hold them."""
    if node.op_type == "Div" and (whole := [a for a in arrays.values() if a.dtype.kind in "iu"]):
        return all((a >= 0).all() for a in whole) and bool((arrays[node.inputs[1]] > 0).all())
    if node.op_type == "Cast":
        to = np.dtype(dtype_of(node.attrs["to"]))
        (array,) = arrays.values()
        if to not in DTYPES or not array.size:
            return to in DTYPES
        if to.kind in "iu" and array.dtype.kind == "f":
            info = np.iinfo(to)
            return bool(np.isfinite(array).all() and (array >= info.min).all() and (array < float(info.max)).all())
        if to.kind in "iu" and array.dtype.kind in "iu":
            info = np.iinfo(to)
            return int(array.min()) >= info.min and int(array.max()) <= info.max
        return to.kind != "f" or array.dtype.kind != "f" or to.itemsize >= array.itemsize
    if node.op_type.startswith("Reduce"):
        return all(a.dtype.kind in "iu" for a in arrays.values())
    if node.op_type in ("Min", "Max"):
        return not any(a.dtype.kind == "f" and np.isnan(a).any() for a in arrays.values())
    return True


def evaluate(node: OnnxNode, arrays: dict[str, np.ndarray], opset: int) -> list[np.ndarray] | None:
    """The results of a node, by onnx's reference evaluator; None where it refuses."""
    from onnx.reference import ReferenceEvaluator  # is only loaded where there is something to fold

    graph = helper.make_graph(
        [node.proto()],
        "constant",
        [helper.make_tensor_value_info(n, code_of(a.dtype), a.shape) for n, a in arrays.items()],
        [helper.make_empty_tensor_value_info(o) for o in node.outputs],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", domain_opset("", opset))])
    try:
        with np.errstate(all="ignore"):
            found = ReferenceEvaluator(model).run(None, dict(arrays))
    except (ArithmeticError, AttributeError, LookupError, NotImplementedError, RuntimeError, TypeError, ValueError):
        return None  # what the evaluator does not take stays a node
    results = [np.asarray(f) for f in found] if isinstance(found, list | tuple) else []
    return results if len(results) == len(node.outputs) and all(r.dtype in DTYPES for r in results) else None
