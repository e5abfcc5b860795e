"""Selections in compiled graphs, with room for the most: of operators of which values decide how much they give."""

import math

import numpy as np

from ..core.op import op
from .onnx.base import INT64
from .onnx.selection import NonMaxSuppression, NonZero


def _with_number(found: np.ndarray, room: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows in memory for so many, and how many there are; beyond them lie zeros."""
    rows = np.zeros((room, *found.shape[1:]), found.dtype)
    rows[: len(found)] = found
    return rows, np.array([len(found)], INT64)


@op("_fused_nonzero")
class NonZeroWithRoom(NonZero):
    """The coordinates of all elements of X other than 0, in C order, and how many there are.

    Shapes: X (...) -> (elements of X, rank), (1,), int64."""

    data_dependent_shape = False
    rooms = True

    def output_names(self):
        return ("rows", "count")

    def shape(self, x):
        return [(math.prod(x), len(x)), (1,)]

    def dtype(self, x):
        return [INT64, INT64]

    def meaning(self, x):
        return _with_number(super().meaning(x).T, x.size)

    def gradient(self, F, *arrays):
        return None

    def with_room(self):
        return None


@op("_fused_suppression")
class NonMaxSuppressionWithRoom(NonMaxSuppression):
    """As NonMaxSuppression: its rows, and how many there are.

    Shapes: boxes (batch, n, 4), scores (batch, classes, n) -> (batch classes n, 3), (1,), int64."""

    data_dependent_shape = False
    rooms = True

    def output_names(self):
        return ("rows", "count")

    def shape(self, boxes, scores, *limits):
        return [(math.prod(scores), 3), (1,)]

    def dtype(self, *dtypes):
        return [INT64, INT64]

    def meaning(self, boxes, scores, most, overlap, least):
        return _with_number(super().meaning(boxes, scores, most, overlap, least), scores.size)

    def with_room(self):
        return None
