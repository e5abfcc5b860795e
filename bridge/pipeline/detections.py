"""Rows of detections: which outputs hold them, what their numbers mean, and how many classes there are to name."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx

from converters.detector import HEADS, MULTI_BOX, SCORES, before_suppression
from converters.error import ConversionError
from converters.names import kept_names
from hybrid.core.error import MXNetError
from hybrid.core.op import Spec
from hybrid.ir.graph import Entry, Graph, Node

from ..models import Model

KEY = "gluonnx.detections"
"""The member of a file's metadata that says which outputs hold rows of detections, and what their columns are."""
COLUMNS = ("class", "score", "left", "top", "right", "bottom")
ROWS = "rows of class (-1: no detection), score, left, top, right, bottom (of the picture's width and height)"
"""Words for such an output."""
_AS_IT_IS = frozenset(("MakeLoss", "make_loss", "BlockGrad", "_copy", "Cast"))
"""Operators that give what they are given."""
SHOWN = 5


def rows_in(graph: Graph) -> list[str]:
    """Names of outputs that hold the rows of MultiBoxDetection."""
    kept = kept_names(graph)
    return [kept.get(e.name, e.name) for e in graph.outputs if is_of_rows(e)]


def is_of_rows(entry: Entry) -> bool:
    """True for the rows of MultiBoxDetection, also where something stands behind it that changes nothing."""
    node = entry.node
    while node.op is not None and node.op.name in _AS_IT_IS:
        node = node.inputs[0].node
    return node.op is not None and node.op.name == MULTI_BOX


def as_metadata(graph: Graph) -> dict[str, str]:
    """The member of a file's metadata; none where no output holds such rows."""
    found = rows_in(graph)
    return {KEY: json.dumps({"outputs": found, "columns": COLUMNS})} if found else {}


def rows_of(model: Model) -> list[str]:
    """Names of a model's outputs that hold rows of detections: by its graph, or as the file says."""
    return rows_in(model.graph) if model.graph is not None else rows_of_onnx(model.proto)


def rows_of_onnx(proto: onnx.ModelProto | None) -> list[str]:
    """The same of an ONNX file of this package; none of any other."""
    text = next((p.value for p in proto.metadata_props if p.key == KEY), "") if proto is not None else ""
    try:
        said = json.loads(text or "{}")
        return [str(name) for name in said["outputs"]] if said.get("columns") == [*COLUMNS] else []
    except (ValueError, KeyError, TypeError, AttributeError):
        return []


def detector_of(model: Model, specs: Mapping[str, Spec], output: str | None) -> tuple[Node, int | None] | None:
    """The node that chooses boxes before an output (any where none is named), and how many classes it tells apart, without the
    background; None where that is not known. None where none chooses."""
    graph = model.graph
    assert graph is not None
    kept = kept_names(graph)
    for entry in graph.outputs:
        if output in (None, entry.name, kept.get(entry.name), entry.node.name):
            head = _head(entry)
            if head is not None:
                return head, _classes(model, head, specs)
    return None


def _head(entry: Entry) -> Node | None:
    todo, seen = [entry.node], {id(entry.node)}
    while todo:
        node = todo.pop()
        if node.op is not None and node.op.name in HEADS:
            return node
        for each in node.inputs:
            if id(each.node) not in seen:
                seen.add(id(each.node))
                todo.append(each.node)
    return None


def _classes(model: Model, head: Node, specs: Mapping[str, Spec]) -> int | None:
    assert model.graph is not None and head.op is not None
    try:
        inferred = model.infer(specs)
        if head.op.name == MULTI_BOX:
            shape = inferred.spec(head.inputs[0]).shape
            count = shape[1] - 1 if shape and isinstance(shape[1], int) else None
        else:
            cut = before_suppression(model.graph, inferred).graph
            names = kept_names(cut)
            scores = next(e for e in cut.outputs if names.get(e.name) == SCORES)
            shape = Model(model.name, cut, model.params).infer(specs).spec(scores).shape
            count = shape[-1] if shape and isinstance(shape[-1], int) else None
    except (ConversionError, MXNetError, StopIteration):
        return None
    return count


def told(name: str, value: Any, labels: Sequence[str]) -> list[tuple[str, str]]:
    """Words for the detections of each picture, the likeliest first, by the output and its row."""
    array = np.asarray(value)
    if array.ndim != 3 or array.shape[2] != len(COLUMNS):
        return []
    out = []
    for number, rows in enumerate(array):
        rows = rows[rows[:, 0] >= 0]
        rows = rows[np.argsort(-rows[:, 1], kind="stable")]
        words = [_one(row, labels) for row in rows[:SHOWN]]
        words += [f"{len(rows) - SHOWN} more"] if len(rows) > SHOWN else []
        out.append((f"{name}[{number}]" if len(array) > 1 else name, "; ".join(words) or "none"))
    return out


def _one(row: np.ndarray, labels: Sequence[str]) -> str:
    kind = int(row[0])
    called = labels[kind] if kind < len(labels) else f"class {kind}"
    return f"{called} {row[1]:.4g} at {', '.join(f'{side:.3g}' for side in row[2:])}"
