"""Operators that select what the numbers themselves decide: Compress, NonZero, NonMaxSuppression."""

import math

import numpy as np

from ...core.op import Domain, lookup, op
from ...core.shapes import UNKNOWN
from ..adjoint import linear
from ..common import axis_of
from .base import INT64, Standard
from .types import STORED, TENSORS


@linear(0)
@op("_onnx_Compress")
class Compress(Standard):
    """The slices of input along axis (or the numbers of input flattened) for which condition holds; those after its
    end are left out.

    Source: ONNX Compress (opset 9 to newest)."""

    axis: int | None = None

    exception = "values decide how much it gives"

    static_form = "take"
    inputs = ("input", "condition")
    types = {"input": STORED, "condition": {"bool"}}
    data_dependent_shape = True
    needs = ("values",)

    def shape(self, data, condition, values=(None, None)):
        axis = None if self.axis is None else axis_of(self, self.axis, len(data))
        size = math.prod(data) if axis is None else data[axis]
        count = UNKNOWN
        if values[1] is not None and size is not UNKNOWN:
            where = np.flatnonzero(values[1])
            if not where.size or where[-1] < size:  # else a run says what is wrong
                count = len(where)
        return (count,) if axis is None else (*data[:axis], count, *data[axis + 1 :])

    def chosen(self, data, condition):
        """Positions of what is selected."""
        where = np.flatnonzero(condition)
        size = data.size if self.axis is None else data.shape[axis_of(self, self.axis, data.ndim)]
        if where.size and where[-1] >= size:
            raise self.error(f"got a condition that holds at {where[-1]}, wanted positions below {size}")
        return where

    def meaning(self, data, condition):
        return data.take(self.chosen(data, condition), self.axis)

    def adjoint(self, of, dy, data, condition):
        out = np.zeros(data.shape, dy.dtype)
        chosen = self.chosen(data, condition)
        wanted = (
            (len(chosen),)
            if self.axis is None
            else (*data.shape[: self.axis % data.ndim], len(chosen), *data.shape[self.axis % data.ndim + 1 :])
        )
        if dy.shape != wanted:
            raise self.error(f"got dy of shape {dy.shape}, wanted {wanted}, which is that of the output")
        if self.axis is None:
            out.reshape(-1)[chosen] = dy
        else:
            np.moveaxis(out, self.axis, 0)[chosen] = np.moveaxis(dy, self.axis, 0)
        return out

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 4), make.array([1, 0, 1], "bool"), axis=0)
        yield make(make.uniform(2, 3), make.array([0, 1, 1, 0, 1], "bool"))


@op("_onnx_NonZero")
class NonZero(Standard):
    """The coordinates of all elements of X other than 0, in C order: (rank, how many), int64.

    An X of no dimension counts as one of no rows: (0, 0 or 1), as NumPy had it. Source: ONNX NonZero (opset 9 to
    newest)."""

    exception = "values decide how much it gives"

    inputs = ("X",)
    types = {"X": TENSORS}
    data_dependent_shape = True

    def shape(self, x):
        return (len(x), UNKNOWN)

    def dtype(self, x):
        return INT64

    def meaning(self, x):
        if not x.ndim:
            return np.zeros((0, int(bool(x))), INT64)
        return np.stack(np.nonzero(x)).astype(INT64)

    def with_room(self):
        return lookup("_fused_nonzero").bind()

    def within(self, found):
        return np.ascontiguousarray(found.T)

    def gradient(self, F, dy, x, y):
        return None

    @classmethod
    def examples(cls, make):
        yield make(make.array([[1, 0, 2], [0, 0, -1]]))


@op("_onnx_NonMaxSuppression")
class NonMaxSuppression(Standard):
    """Of boxes that overlap those with the greatest scores: rows (batch, class, box), int64, by batch and class and
    then by score.

    Shapes: boxes (batch, n, 4): corners (y1, x1, y2, x2) in any order, or with center_point_box (x, y, width, height)
    of the middle; scores (batch, classes, n). Only scores above score_threshold count; a box goes when its
    intersection over union with one that was chosen exceeds iou_threshold (default 0). At most
    max_output_boxes_per_class are chosen of a class (default 0: none); of equal scores the first comes first. Source:
    ONNX NonMaxSuppression (opset 11 to newest)."""

    center_point_box: bool = False

    exception = "values decide how much it gives"

    inputs = ("boxes", "scores", "max_output_boxes_per_class", "iou_threshold", "score_threshold")
    types = {
        "boxes": {"float32"},
        "scores": {"float32"},
        "max_output_boxes_per_class": {"int64"},
        "iou_threshold": {"float32"},
        "score_threshold": {"float32"},
    }
    optional = ("max_output_boxes_per_class", "iou_threshold", "score_threshold")
    numbers = optional
    named_axes = {"boxes": "N M 4", "scores": "N C M"}
    is_ordering = True
    data_dependent_shape = True

    def shape(self, boxes, scores, *limits):
        return (UNKNOWN, 3)

    def dtype(self, *dtypes):
        return INT64

    def domain(self, name, shapes):
        return Domain(0, 1) if name == "iou_threshold" else None

    def corners(self, boxes):
        """The boxes as (y1, x1, y2, x2), the smaller ones first."""
        if self.center_point_box:
            x, y, width, height = np.moveaxis(boxes, -1, 0)
            return np.stack([y - height / 2, x - width / 2, y + height / 2, x + width / 2], -1)
        one, two = boxes[..., :2], boxes[..., 2:]
        return np.concatenate([np.minimum(one, two), np.maximum(one, two)], -1)

    def meaning(self, boxes, scores, most, overlap, least):
        most = 0 if most is None else int(most.item())
        overlap = np.float32(0) if overlap is None else overlap.reshape(())
        found = [np.zeros((0, 3), INT64)]
        for batch, (places, classes) in enumerate(zip(self.corners(boxes), scores)):
            for number, score in enumerate(classes):
                order = np.argsort(-score, kind="stable")
                if least is not None:
                    order = order[score[order] > least.reshape(())]
                chosen = self.suppress(places, order, most, overlap)
                rows = np.empty((len(chosen), 3), INT64)
                rows[:, 0], rows[:, 1], rows[:, 2] = batch, number, chosen
                found.append(rows)
        return np.concatenate(found)

    def with_room(self):
        return lookup("_fused_suppression").bind(center_point_box=self.center_point_box, given=self.given)

    @staticmethod
    def suppress(places, order, most, overlap):
        """Of boxes in order of their scores, those that none before them suppresses, ``most`` at most."""
        areas = (places[:, 2] - places[:, 0]) * (places[:, 3] - places[:, 1])
        chosen = []
        while len(order) and len(chosen) < most:
            best, order = order[0], order[1:]
            chosen.append(best)
            low, high = np.maximum(places[best, :2], places[order, :2]), np.minimum(places[best, 2:], places[order, 2:])
            both = np.prod(np.maximum(high - low, 0), axis=-1)
            union = areas[best] + areas[order] - both
            order = order[~((both > 0) & (union > 0) & (both / union > overlap))]
        return chosen

    def gradient(self, F, dy, *arrays):
        return [None] * len(self.input_names())

    @classmethod
    def examples(cls, make):
        corners = make.uniform(1, 6, 2, low=0, high=3)
        boxes = np.concatenate([corners, corners + make.uniform(1, 6, 2, low=1, high=3)], -1)
        scores, limits = make.uniform(1, 2, 6, low=0), (make.array([3], "int64"), make.array([0.3]), make.array([0.1]))
        yield make(boxes, scores, *limits, given=cls.optional)
        yield make(boxes, scores, limits[0], center_point_box=True, given=cls.optional[:1])
