"""Fold what follows from shapes alone into constants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.dims import has_dims
from ..core.op import Op, lookup
from ..core.shapes import is_known
from ..ir.graph import Entry, Graph, Node
from ..ops.creation import Filled, Range
from ..ops.fused import NumbersOfSizes
from .rewriter import Rewriter


def set_inferred_shapes(graph: Graph, rewriter: Rewriter) -> Graph:
    """Write shapes that readers gave into the nodes themselves, so that the readers may become others.

    Before: ``zeros(shape=(0, 4))`` added to y (2, 4). After: ``zeros(shape=(2, 4))``.
    Before: ``arange(3, infer_range=True)`` added to y (2,). After: ``arange(3, 5)``.
    """

    def change(node: Node, now: Callable[[Entry], Entry]) -> Entry | None:
        op: Any = node.op
        shape = rewriter.shape(Entry(node))
        if not node.means(Filled, Range) or not is_known(shape) or 0 in shape or is_known(op.infer_shape()):
            return None
        given = {"shape": shape} if node.means(Filled) else op.ends(shape[0])
        if not given:
            return None
        return rewriter.make(type(op).bind(**{n: getattr(op, n) for n in op.fields} | given), node.name)

    return rewriter.rewrite(graph, change)


def fold_shapes(graph: Graph, rewriter: Rewriter) -> Graph:
    """Nodes whose values follow from the shapes of their inputs become constants.

    Before: ``shape_array(x)`` for x (2, 3). After: ``constant(2, 3)``.
    """

    def change(node: Node, now: Callable[[Entry], Entry]) -> Entry | None:
        op, entry = node.op, Entry(node)
        assert op is not None
        value = rewriter.values.get((id(node), 0))
        own_rule = type(op).infer_value is not Op.infer_value
        if not node.inputs or (value is None and not own_rule) or rewriter.is_constant(entry):
            return None
        if value is None:
            value = op.infer_value([None] * len(node.inputs), [rewriter.shape(e) for e in node.inputs])
        if value is None or (value.dtype != rewriter.dtype(entry) and not has_dims(value)):
            return None
        if has_dims(value):
            sizes = NumbersOfSizes.bind(sizes=tuple(value.flat), shape=value.shape, dtype=rewriter.dtype(entry))
            made = rewriter.make(sizes, node.name)
        else:
            made = rewriter.make(lookup("_onnx_Constant").bind(value=value), node.name)
        rewriter.values[id(made.node), 0] = value  # for passes that decide by it
        return made

    return rewriter.rewrite(graph, change)
