"""Gathering from places that are known as slices, and from those that are computed as products with one-hot rows."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ..builder import OnnxNode
from ..onnx_graph import OnnxGraph
from .rewriting import F32, Rewriting
from .wild import is_wild

RUNS = 64
"""Runs of neighbours that are put together, at most."""


def lookups(graph: OnnxGraph) -> None:
    """Gather(table, i) -> MatMul(one-hot(i), table), the rows exact: each is itself plus zeros, in tables of finite numbers. An
    index below 0 counts from the end, as ONNX's does; one beyond the table takes the nearest row. Gather(x, [3, 4, 7]) ->
    Concat(x[3:5], x[7:8])."""
    r = Rewriting(graph)

    def rewrite(node: OnnxNode) -> bool:
        if node.op_type != "Gather":
            return False
        table, places = (graph.constant(n) for n in node.inputs)
        sizes, chosen = r.shape(node.inputs[0]), r.shape(node.inputs[1])
        if sizes is None or chosen is None:
            return False
        axis = int(node.attrs.get("axis", 0)) % len(sizes)
        if places is not None:
            return table is None and _known(r, node, sizes, axis, places)
        if axis or 0 in sizes or graph.dtype(node.inputs[0]) != F32:
            return False
        if (table is None and is_wild(graph, node.inputs[0])) or (table is not None and not np.isfinite(table).all()):
            return False
        return _computed(r, node, table, sizes, chosen)

    r.run(rewrite)


def batches(graph: OnnxGraph) -> None:
    """GatherND(x, i, batch_dims=b) -> GatherND of places that begin with those of their batch."""
    r = Rewriting(graph)

    def rewrite(node: OnnxNode) -> bool:
        depth = int(node.attrs.get("batch_dims", 0)) if node.op_type == "GatherND" else 0
        sizes = r.shape(node.inputs[1]) if depth else None
        if sizes is None:
            return False
        own = np.moveaxis(np.indices(sizes[:-1], np.int64)[:depth], 0, -1)
        places, joined = graph.constant(node.inputs[1]), graph.unique(f"{node.outputs[0]}_places")
        if places is not None:
            joined = r.constant(np.concatenate([own, places], -1), "places")
        else:
            parts = (r.constant(own, "batch"), node.inputs[1])
            r.written.append(
                OnnxNode("Concat", parts, [joined], {"axis": len(sizes) - 1}, [graph.unique(f"{node.owner[0]}/Concat")])
            )
        attrs = {k: v for k, v in node.attrs.items() if k != "batch_dims"}
        r.keep(node._replace(inputs=(node.inputs[0], joined), attrs=attrs))
        return True

    r.run(rewrite)


def _known(r: Rewriting, node: OnnxNode, sizes: tuple[int, ...], axis: int, places: np.ndarray) -> bool:
    """Slices of known bounds, one for each run of neighbours."""
    size, data = sizes[axis], node.inputs[0]
    flat = np.where(places < 0, places + size, places).reshape(-1).astype(np.int64)
    if not flat.size or (flat < 0).any() or (flat >= size).any():
        return False
    breaks = [0, *(i + 1 for i, (a, b) in enumerate(pairwise(flat)) if b != a + 1), len(flat)]
    made = sizes[:axis] + places.shape + sizes[axis + 1 :]
    if len(breaks) > RUNS + 1:
        return False
    parts = [r.slice(data, axis, int(flat[a]), int(flat[b - 1]) + 1) for a, b in pairwise(breaks)]
    joined = [len(flat) if a == axis else d for a, d in enumerate(sizes)]
    whole = parts[0] if len(parts) == 1 else r.node("Concat", *parts, shape=joined, axis=axis)
    r.reshape(whole, made, node.outputs[0])
    return True


def _computed(
    r: Rewriting, node: OnnxNode, table: np.ndarray | None, sizes: tuple[int, ...], chosen: tuple[int, ...]
) -> bool:
    """Rows of ones and zeros: 1 where abs(i - j) is 0, at least 1 less elsewhere."""
    count, width, rows = int(np.prod(chosen)), sizes[0], sizes[1:]
    if width > 2**24 or not count:
        return False
    index, source = node.inputs[1], r.graph.dtype(node.inputs[1])
    if source != F32:
        index = r.node("Cast", index, shape=chosen, to=1)
    index = r.reshape(index, (count, 1))
    below = r.node("Relu", r.node("Sign", r.node("Neg", index, shape=(count, 1)), shape=(count, 1)), shape=(count, 1))
    index = r.node("Add", index, r.node("Mul", below, r.number(width), shape=(count, 1)), shape=(count, 1))
    index = _between(r, index, width - 1, (count, 1))
    spread = r.node("MatMul", index, r.constant(np.ones((1, width), np.float32), "ones"), shape=(count, width))
    far = r.node("Add", spread, r.constant(-np.arange(width, dtype=np.float32), "places"), shape=(count, width))
    far = r.node("Abs", far, shape=(count, width))
    hot = r.node("Relu", r.node("Add", r.node("Neg", far, shape=(count, width)), r.number(1), shape=(count, width)),
                 shape=(count, width))  # fmt: skip
    length = int(np.prod(rows))
    flat = (
        r.reshape(node.inputs[0], (width, length))
        if table is None
        else r.constant(table.reshape(width, length), "table")
    )
    made = r.node("MatMul", hot, flat, shape=(count, length))
    r.reshape(made, (*chosen, *rows), node.outputs[0])
    return True


def _between(r: Rewriting, x: str, most: int, shape: tuple[int, ...]) -> str:
    """0 to most, by Relu: max(x, 0), then most - max(most - x, 0)."""
    low = r.node("Relu", x, shape=shape)
    rest = r.node("Relu", r.node("Add", r.node("Neg", low, shape=shape), r.number(most), shape=shape), shape=shape)
    return r.node("Add", r.node("Neg", rest, shape=shape), r.number(most), shape=shape)
