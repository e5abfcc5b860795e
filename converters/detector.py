"""Detectors that end before suppression: boxes and scores for a target's own NMS (``Forms.nms``), or for TensorRT's plugin.

A symbol that ends in box_nms or MultiBoxDetection, and in parts of what these give, becomes one that ends in ``boxes`` (B, N, 4),
corners, and ``scores`` (B, N, C). It is made of operators, so that it converts and is verified as any other. For box_nms the rows
are looked through for where they come from: GluonCV repeats each box for every class, and here it stands once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx import TensorProto, helper

from hybrid import symbol as sym
from hybrid.attribute import AttrScope
from hybrid.core.shapes import is_known, show
from hybrid.ir.graph import Entry, Graph, Node
from hybrid.ir.infer import Inference
from hybrid.name import Prefix

from .error import ConversionError, Problem, Unsupported, UnsupportedModel
from .names import name_outputs, onnx_names
from .value_sets import LIKE, MOVING, ValueSearch
from .writer import Converted

BOXES, SCORES = "boxes", "scores"
"""Names of the outputs before suppression."""
PLUGIN, PLUGIN_DOMAIN = "EfficientNMS_TRT", "TRT"
"""TensorRT's plugin; its parser finds it by the operator's name, and onnx's checker wants a domain that is not its own."""
MULTI_BOX = "_contrib_MultiBoxDetection"
HEADS = ("_contrib_box_nms", MULTI_BOX)
"""Operators that choose among boxes."""
_PARTS = MOVING | {"slice_axis", "Concat", "Cast"}
"""Operators that may stand behind suppression: they take what it gives apart, or put it together again."""
_ARITHMETIC = frozenset(
    (
        *("_plus_scalar", "_minus_scalar", "_mul_scalar", "_div_scalar"),
        *("broadcast_add", "broadcast_sub", "broadcast_mul", "elemwise_add", "elemwise_sub", "elemwise_mul"),
    )
)


@dataclass(frozen=True)
class Suppression:
    """The rules by which the symbol chooses among boxes."""

    node: str
    operator: str
    score_threshold: float
    """The least score that takes part."""
    iou_threshold: float
    """The least overlap that suppresses."""
    most: int
    """Detections that there may be, at most."""
    class_agnostic: bool
    """True where boxes of one class suppress those of others."""
    background: int = -1
    """The class of what is no detection; -1 for none."""


class Cut(NamedTuple):
    """A detector before suppression."""

    graph: Graph
    """With boxes and scores among its outputs, in the place of those that came from suppression."""
    suppression: Suppression


def before_suppression(graph: Graph, inference: Inference) -> Cut:
    """The detector without its suppression. inference: of the graph, with the sizes of an example.

    Raises ConversionError where there is no suppression, and UnsupportedModel where what was found does not end in it as a
    detector does."""
    heads = [n for n in graph.nodes if n.op is not None and n.op.name in HEADS]
    if not heads:
        others = [n for n in graph.nodes if n.op is not None and n.op.name.endswith("Proposal")]
        found = "".join(f"; {n.name} ({n.op.name}) chooses regions for layers that follow" for n in others if n.op)
        raise ConversionError(
            f"nothing to leave out of detection: wanted a network that ends in box_nms or MultiBoxDetection{found}"
        )
    problems = [Problem(n.name, n.op.name, "one of several that suppress, wanted one") for n in heads[1:] if n.op]
    head = heads[0]
    chooser: Any = head.op
    behind = {id(head)}
    for node in graph.nodes:
        if node.op is None or node is head or not any(id(e.node) in behind for e in node.inputs):
            continue
        behind.add(id(node))
        if node.op.name not in _PARTS or not all(id(e.node) in behind for e in node.inputs):
            problems.append(
                Problem(
                    node.name, node.op.name, f"computes with what {head.name} chooses, wanted parts of it as outputs"
                )
            )
    most = None
    for node in graph.nodes:
        op: Any = node.op
        if id(node) in behind and op.name == "slice_axis" and op.axis == 1:
            begin, end = op.begin, op.end
            most = end if not begin and end is not None and end > 0 else most
    if not problems:
        try:
            with Prefix(f"{head.name}_before_"), AttrScope.clean():
                boxes, scores, suppression = _FORMS[chooser.name](head, inference)
        except Unsupported as reason:
            problems.append(Problem(head.name, chooser.name, str(reason)))
    if problems:
        raise UnsupportedModel(problems, "keep the network from ending before suppression")
    taken = [n.name for n in graph.nodes if n.is_variable and {BOXES, SCORES} & {*onnx_names(n)}]
    if taken:
        raise ConversionError(
            f"{taken[0]} is called as an output is that comes before suppression ({BOXES}, {SCORES}); give it another name in the "
            "symbol's JSON, or keep the suppression"
        )
    if most is not None:
        suppression = replace(suppression, most=min(most, suppression.most))
    kept, placed = [], False
    for entry in graph.outputs:
        if id(entry.node) not in behind:
            kept.append(entry)
        elif not placed:
            placed = True
            kept += [boxes._entries[0], scores._entries[0]]
    if not placed:
        raise ConversionError(f"{head.name} ({chooser.name}) suppresses boxes, and no output is made of them")
    named = {boxes._entries[0]: BOXES, scores._entries[0]: SCORES}
    return Cut(name_outputs(Graph(kept), named), suppression)


def _multi_box(head: Node, inference: Inference) -> tuple[Any, Any, Suppression]:
    """Boxes, and for each its best class alone, which is all that MultiBoxDetection looks at: other scores are 0."""
    op: Any = head.op
    scores, offsets, anchors = (sym.Symbol([e]) for e in head.inputs)
    shape = inference.spec(head.inputs[0]).shape
    if not is_known(shape):
        raise Unsupported(f"the shape of its scores is not known: {show(shape)}")
    offsets = sym.Reshape(offsets, shape=(0, -1, 4))
    stds = {f"std{i}": v for i, v in enumerate(op.variances)}
    boxes = sym.contrib.box_decode(offsets, anchors, format="corner", **stds)
    if op.clip:
        boxes = sym.clip(boxes, a_min=0, a_max=1)
    if op.threshold <= 0:
        raise Unsupported(f"its threshold {op.threshold:g} lets boxes without a class through, wanted a positive one")
    given = sym.slice_axis(scores, axis=1, begin=1, end=None)
    kinds = sym.Reshape(sym.arange(shape[1] - 1), shape=(1, -1, 1))
    best = sym.broadcast_equal(sym.expand_dims(sym.argmax(given, axis=1), axis=1), kinds)
    scores = sym.transpose(sym.elemwise_mul(given, best), axes=(0, 2, 1))
    if not 0 < op.nms_threshold <= 1:
        raise Unsupported(f"nms_threshold is {op.nms_threshold:g}: it suppresses nothing")
    count = shape[2]
    return boxes, scores, Suppression(
        head.name, op.name, op.threshold, op.nms_threshold, op.nms_topk if 0 < op.nms_topk < count else count,
        op.force_suppress,
    )  # fmt: skip


def _above(limit: float) -> float:
    """The least float32 above a limit, which itself does not suffice."""
    return float(np.nextafter(np.float32(limit), np.float32(np.inf)))


def _box_nms(head: Node, inference: Inference) -> tuple[Any, Any, Suppression]:
    op: Any = head.op
    [data] = head.inputs
    shape = inference.spec(data).shape
    if not is_known(shape) or len(shape) != 3:
        raise Unsupported(
            f"got rows of shape {show(shape)}, wanted three known dimensions: images, rows, numbers of each"
        )
    if op.valid_thresh < 0 or op.overlap_thresh < 0 or op.topk == 0:
        raise Unsupported("got a negative threshold or a topk of 0, wanted one that chooses by score and overlap")
    count = shape[1]
    boxes, scores, rows = _rows(op, data, inference, shape)
    if op.in_format == "center":
        middle, sides = (sym.slice_axis(boxes, axis=2, begin=i, end=i + 2) for i in (0, 2))
        boxes = sym.Concat(middle - sides / 2, middle + sides / 2, dim=2)
    return boxes, scores, Suppression(
        head.name, op.name, _above(op.valid_thresh), _above(op.overlap_thresh), op.topk if 0 < op.topk < count else count,
        not op.by_class, op.background_id if op.id_index >= 0 and 0 <= op.background_id < rows else -1,
    )  # fmt: skip


_FORMS: dict[str, Callable[[Node, Inference], tuple[Any, Any, Suppression]]] = dict(
    zip(HEADS, (_box_nms, _multi_box), strict=True)
)


def _rows(op: Any, data: Entry, inference: Inference, shape: Sequence[int]) -> tuple[Any, Any, int]:
    """Boxes, scores, and how many classes there are."""
    rows = sym.Symbol([data])
    first = op.coord_start

    def plain(classes: int) -> tuple[Any, Any, int]:
        boxes = sym.slice_axis(rows, axis=2, begin=first, end=first + 4)
        scores = sym.slice_axis(rows, axis=2, begin=op.score_index, end=op.score_index + 1)
        if op.id_index >= 0:
            kind = sym.slice_axis(rows, axis=2, begin=op.id_index, end=op.id_index + 1)
            of = sym.broadcast_equal(kind, sym.Reshape(sym.arange(classes), shape=(1, 1, -1)))
            scores = sym.broadcast_mul(scores, of)
        return boxes, scores, classes

    if op.id_index < 0:
        return plain(1)
    search = ValueSearch(inference)
    values = _Followed(inference, _ARITHMETIC | {"where", "_npi_where"}, search, op.background_id)
    kinds = values.of(data)[..., op.id_index]
    told = search.values(data, op.id_index)
    told = None if told is None else told[told != op.background_id]
    if not np.isnan(kinds).any() and (kinds == kinds[:1]).all():
        made = _once_each(op, data, inference, kinds[0], values.chosen)
        if made is not None:
            return made
    if told is None or not told.size:
        raise Unsupported(
            "the graph does not tell which classes there are; wanted constants or arange beside the boxes"
        )
    if (told < 0).any() or (told != np.floor(told)).any():
        raise Unsupported(f"got classes such as {told[0]:g}, wanted whole numbers from 0 on")
    return plain(int(told.max()) + 1)


def _once_each(
    op: Any, data: Entry, inference: Inference, kinds: np.ndarray, masked: bool
) -> tuple[Any, Any, int] | None:
    """Boxes and scores of rows that repeat each box for every class, each box once; None where rows are otherwise.

    kinds: the class of each row. masked: some rows may have the background's class instead."""
    classes = len(np.unique(kinds))
    if not np.array_equal(np.unique(kinds), np.arange(classes)) or len(kinds) % classes:
        return None
    places = _Followed(inference, frozenset())
    rows = places.of(data)[0]
    coordinates, scores, ids = (
        rows[:, op.coord_start : op.coord_start + 4],
        rows[:, op.score_index],
        rows[:, op.id_index],
    )
    anchors = np.flatnonzero(kinds == 0)
    table = np.empty((len(anchors), classes), np.int64)
    by_box = {tuple(coordinates[r]): a for a, r in enumerate(anchors)}
    if len(by_box) != len(anchors) or len(kinds) != table.size:
        return None
    for row, kind in enumerate(kinds.astype(int)):
        anchor = by_box.get(tuple(coordinates[row]))
        if anchor is None:
            return None
        table[anchor, kind] = row
    if len(np.unique(table)) != table.size:
        return None
    parts = np.split(np.arange(len(anchors)), np.flatnonzero(np.diff(places.source(scores[table[:, 0]]))) + 1)
    columns: list[list[Any]] = [[], []]
    for part in parts:
        chosen = table[part]
        boxes = places.find(coordinates[chosen[:, 0]].reshape(-1), 4)
        score = places.find(scores[chosen].reshape(-1), classes)
        if boxes is None or score is None:
            return None
        if masked:
            kind = places.find(ids[chosen].reshape(-1), classes)
            if kind is None:
                return None
            score = sym.elemwise_mul(score, kind != op.background_id)
        columns[0].append(boxes)
        columns[1].append(score)
    boxes, score = (c[0] if len(c) == 1 else sym.Concat(*c, dim=1) for c in columns)
    return boxes, score, classes


class _Followed:
    """Numbers that are known of tensors of one size, found by following the operators that move numbers from where they begin.

    With a search, constants: NaN for what is not known. Without, where each number comes from: a number for each number of each
    tensor at which following ends."""

    def __init__(
        self, inference: Inference, more: frozenset[str], search: ValueSearch | None = None, background: float = -1.0
    ):
        self.inference, self.search, self.background = inference, search, background
        self.through = MOVING | {"slice_axis", "Concat"} | more
        self.chosen = False
        """True where a condition decides between a class and the background."""
        self._known: dict[tuple[int, int], np.ndarray] = {}
        self._entries: list[Entry] = []
        self._begins: list[int] = [0]

    def of(self, entry: Entry) -> np.ndarray:
        """The tensor, float64. Raises Unsupported where its shape is not known."""
        key = (id(entry.node), entry.index)
        if key not in self._known:
            self._known[key] = self._made(entry)
            self._entries.append(entry)
        return self._known[key]

    def _made(self, entry: Entry) -> np.ndarray:
        op: Any = entry.node.op
        inputs = entry.node.inputs
        shape: Any = self.inference.spec(entry).shape
        if not is_known(shape):
            raise Unsupported(f"the shape of {entry.name} is not known: {show(shape)}; give the sizes of all inputs")
        if op is not None and op.name in self.through and not op.needs:
            if (
                self.search is not None
                and op.name == "_mul_scalar"
                and op.scalar == 0
                and self.search.within_one(inputs[0])
            ):
                return np.zeros(shape)
            if op.name in ("where", "_npi_where"):
                return self._either(self.of(inputs[1]), self.of(inputs[2]))
            followed = inputs[:1] if op.name in LIKE else inputs
            others: list[Any] = [self.inference.spec(e).shape for e in inputs[len(followed) :]]
            arrays = [self.of(e) for e in followed] + [np.zeros(each) for each in others]
            made = op.compute(*arrays)
            return np.asarray(made[entry.index] if isinstance(made, tuple | list) else made, np.float64)
        if self.search is not None:
            known = self.search.values(entry, None)
            if op is not None and not inputs and known is not None:
                return np.asarray(op.compute(shape=shape), np.float64)
            return np.full(shape, known[0] if known is not None and known.size == 1 else np.nan)
        begin = self._begins[-1]
        self._begins.append(begin + int(np.prod(shape)))
        return np.arange(begin, self._begins[-1], dtype=np.float64).reshape(shape)

    def _either(self, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        """One of two, whatever the condition: the class where the other is the background."""
        self.chosen = True
        kept = np.where(one == self.background, other, np.where(other == self.background, one, np.nan))
        return np.where(one == other, one, kept)

    def source(self, places: np.ndarray) -> np.ndarray:
        """The number of the tensor that each place lies in."""
        return np.searchsorted(self._begins, places, side="right")

    def find(self, places: np.ndarray, width: int) -> Any:
        """A symbol (B, -1, width) of the tensor that holds, for the first image, these numbers in this order; None for none."""
        for entry in self._entries:
            held = self._known[id(entry.node), entry.index]
            if held.ndim < 2 or held[0].size != places.size:
                continue
            if np.array_equal(held[0].reshape(-1), places):
                return sym.Reshape(sym.Symbol([entry]), shape=(0, -1, width))
            turned = places.reshape(-1, width).T.reshape(-1)
            if np.array_equal(held[0].reshape(-1), turned):
                flat = sym.Reshape(sym.Symbol([entry]), shape=(0, width, -1))
                return sym.transpose(flat, axes=(0, 2, 1))
        return None


def with_plugin(converted: Converted, suppression: Suppression) -> Converted:
    """The model before suppression with TensorRT's EfficientNMS_TRT behind it, plugin version 1.

    Its outputs, in the place of boxes and scores: num_detections (B, 1) int32, detection_boxes (B, M, 4), detection_scores (B, M),
    detection_classes (B, M) int32, M = ``suppression.most``. Source: TensorRT's documentation of the plugin."""
    model = onnx.ModelProto()
    model.CopyFrom(converted.model)
    graph, most = model.graph, suppression.most
    found = {o.name: o for o in graph.output}
    kind, images = found[SCORES].type.tensor_type.elem_type, found[SCORES].type.tensor_type.shape.dim[0]
    batch = images.dim_param or images.dim_value
    made = [
        helper.make_tensor_value_info("num_detections", TensorProto.INT32, [batch, 1]),
        helper.make_tensor_value_info("detection_boxes", kind, [batch, most, 4]),
        helper.make_tensor_value_info("detection_scores", kind, [batch, most]),
        helper.make_tensor_value_info("detection_classes", TensorProto.INT32, [batch, most]),
    ]
    node = helper.make_node(
        PLUGIN,
        [BOXES, SCORES],
        [o.name for o in made],
        name=suppression.node,
        domain=PLUGIN_DOMAIN,
        score_threshold=suppression.score_threshold,
        iou_threshold=suppression.iou_threshold,
        max_output_boxes=most,
        background_class=suppression.background,
        score_activation=0,
        class_agnostic=int(suppression.class_agnostic),
        box_coding=0,
        plugin_version="1",
    )
    kept = [x for o in graph.output for x in (made if o.name == BOXES else [] if o.name == SCORES else [o])]
    del graph.output[:]
    graph.output.extend(kept)
    graph.node.append(node)
    model.opset_import.append(helper.make_opsetid(PLUGIN_DOMAIN, 1))
    return converted._replace(model=model)
