"""Selections in compiled graphs, with room for the most: of operators of which values decide how much they give."""

import math

import numpy as np

from ..core.op import Domain, Op, op
from ..core.shapes import UNKNOWN, show
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


@op("_fused_first_rows")
class FirstRows(Op):
    """The first rows of what there was room for, as many as were found.

    Shapes: rows (room, ...), count () or (1,), integers -> (count, ...)."""

    exception = "values decide how much it gives"
    inputs = ("rows", "count")
    data_dependent_shape = True
    view = True
    cuts = True

    def infer_shape(self, rows, count):
        if not rows or len(count) > 1 or count not in ((), (1,), (UNKNOWN,)):
            raise self.error(
                f"got rows of shape {show(rows)} and count of shape {show(count)}, wanted rows and one number"
            )
        return (UNKNOWN, *rows[1:])

    def infer_type(self, rows, count):
        if count.kind not in "iu":
            raise self.error(f"got count of dtype {count}, wanted integers")
        return rows

    def infer_input_types(self, dtypes, outputs):
        return [dtypes[0] or outputs[0], dtypes[1]]

    def domain(self, name, shapes):
        return Domain(0, 3, integer=True) if name == "count" else None

    def compute(self, rows, count):
        number = int(count.reshape(()))
        if not 0 <= number <= len(rows):
            raise self.error(f"got count={number}, wanted 0 to {len(rows)}, the rows that there are")
        return rows[:number]

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 2), make.array([2], "int64"))
        yield make(make.uniform(4), make.array(0, "int64"))
