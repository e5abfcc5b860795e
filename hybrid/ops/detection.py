"""Detection heads: anchors and detections of SSD, non-maximum suppression, overlaps of boxes."""

import math
from typing import Literal

import numpy as np

from ..core.op import WHOLE, Domain, Op, op
from ..core.shapes import UNKNOWN, merge, show
from .common import as_many, want_rank, want_rank_from, widen
from .composing import definite, known, narrowly, widely

VARIANCES = (0.1, 0.1, 0.2, 0.2)


@op("_contrib_MultiBoxPrior", "_npx_multibox_prior")
class MultiBoxPrior(Op):
    """Anchors, as corners relative to the image, around the centre of every cell of a feature map.

    Shapes: data (N, C, H, W) -> (1, H*W*A, 4) with A = len(sizes) + len(ratios) - 1: every size with the first ratio, then
    the first size with every further ratio. Only the shape of data counts. Source: MXNet MultiBoxPrior."""

    sizes: tuple[float, ...] = (1.0,)
    ratios: tuple[float, ...] = (1.0,)
    clip: bool = False
    steps: tuple[float, ...] = (-1.0, -1.0)

    exception = "chooses among boxes, or makes them, in steps of its own"
    """Distance of centres in y and x, relative to the image; negative for 1/H and 1/W."""
    offsets: tuple[float, ...] = (0.5, 0.5)

    def check(self):
        if not self.sizes or not self.ratios:
            return "needs at least one size and one ratio"
        if len(self.steps) != 2 or len(self.offsets) != 2:
            return f"got steps {self.steps} and offsets {self.offsets}, wanted two numbers each (y, x)"
        return "steps must be given for both y and x" if (self.steps[0] > 0) != (self.steps[1] > 0) else None

    def infer_shape(self, data):
        want_rank(self, data, 4)
        return (1, data[2] * data[3] * (len(self.sizes) + len(self.ratios) - 1), 4)

    def infer_type(self, data):
        if data != np.float32:
            raise self.error(f"got data of dtype {data}, wanted float32")
        return data

    def half_sizes(self) -> tuple[np.ndarray, np.ndarray]:
        """(size, square root of ratio) of every anchor of a cell, float32."""
        sizes, ratios = np.array(self.sizes, np.float32), np.sqrt(np.array(self.ratios, np.float32))
        rest = len(ratios) - 1
        return (
            np.concatenate([sizes, np.repeat(sizes[:1], rest)]),
            np.concatenate([np.repeat(ratios[:1], len(sizes)), ratios[1:]]),
        )

    def anchors(self, height: int, width: int) -> np.ndarray:
        """The anchors of a feature map of that size, computed in float32 in MXNet's order of operations."""
        one = np.float32(1)
        steps = [np.float32(s) if s > 0 else one / np.float32(n) for s, n in zip(self.steps, (height, width))]
        y, x = (
            (np.arange(n, dtype=np.float32) + np.float32(o)) * s
            for n, o, s in zip((height, width), self.offsets, steps)
        )
        size, root = self.half_sizes()
        half_w = size * np.float32(height) / np.float32(width) * root / np.float32(2)
        half_h = size / root / np.float32(2)
        x, y = x[None, :, None], y[:, None, None]
        boxes = np.broadcast_arrays(x - half_w, y - half_h, x + half_w, y + half_h)
        out = np.stack(boxes, axis=-1).reshape(1, -1, 4)
        return np.clip(out, 0, 1) if self.clip else out

    def compute(self, data):
        return self.anchors(*data.shape[2:])

    def gradient(self, F, dy, *arrays):
        return None  # in MXNet too

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(1, 2, 3, 4), sizes=(0.3, 0.4), ratios=(1, 2, 0.5), clip=True)


def overlaps(a: np.ndarray, b: np.ndarray, form: str) -> np.ndarray:
    """Intersection over union of boxes a (..., 4) with b (..., 4), broadcast; 0/0, of two empty boxes, is NaN."""
    inner = np.ones((), a.dtype)
    for axis in (0, 1):
        low = np.maximum(_edge(a, axis, form, -1), _edge(b, axis, form, -1))
        high = np.minimum(_edge(a, axis, form, 1), _edge(b, axis, form, 1))
        inner = inner * np.maximum(high - low, 0)
    return inner / (area(a, form) + area(b, form) - inner)


def _edge(boxes, axis, form, side):
    if form == "corner":
        return boxes[..., axis if side < 0 else axis + 2]
    return boxes[..., axis] + side * boxes[..., axis + 2] / 2


def area(boxes: np.ndarray, form: str) -> np.ndarray:
    """Areas of boxes (..., 4); 0 for those whose corners are swapped or whose size is negative."""
    sides = boxes[..., 2:] - boxes[..., :2] if form == "corner" else boxes[..., 2:]
    return np.where((sides < 0).any(-1), 0, sides[..., 0] * sides[..., 1]).astype(boxes.dtype, copy=False)


def suppress(boxes: np.ndarray, ids: np.ndarray | None, threshold: float, form: str, *, inclusive: bool) -> np.ndarray:
    """Greedy non-maximum suppression of boxes (n, 4) in order of precedence: which of them stay, bool (n,).

    A box that stays removes the later ones of its id (of any id when ids is None) whose overlap with it is above the
    threshold, or with inclusive at it."""
    stays = np.ones(len(boxes), bool)
    if ids is not None:
        for one in np.unique(ids):
            members = np.flatnonzero(ids == one)
            stays[members] = suppress(boxes[members], None, threshold, form, inclusive=inclusive)
        return stays
    limit = boxes.dtype.type(threshold)
    for i in range(len(boxes) - 1):
        if stays[i]:
            iou = overlaps(boxes[i], boxes[i + 1 :], form)
            stays[i + 1 :] &= ~(iou >= limit if inclusive else iou > limit)
    return stays


@op("_contrib_MultiBoxDetection", "_npx_multibox_detection")
class MultiBoxDetection(Op):
    """Detections of an SSD, rows of class (-1: none), score, left, top, right, bottom: the best class of every anchor, and its box.

    Shapes: cls_prob (N, classes + 1, A), loc_pred (N, A*4), anchor (1, A, 4) -> (N, A, 6). Classes are counted from 0, without
    the background; sides are in the unit of the anchors, which MultiBoxPrior makes as fractions of the picture's width and height.
    Anchors whose best class other than the first (the background) has a score below threshold are dropped: their rows are
    -1 and come last. The others are sorted by score, ties by anchor, and suppressed ones get class -1. With nms_topk only
    that many are sorted and compared; rows past them stay what they were before sorting, with class -1. Without an
    nms_threshold in (0, 1] rows stay in the order of anchors. background_id is read and not used.
    Source: MXNet MultiBoxDetection."""

    exception = "chooses among boxes, or makes them, in steps of its own"

    refuses = WHOLE

    is_ordering = True

    clip: bool = True
    threshold: float = 0.01
    background_id: int = 0
    nms_threshold: float = 0.5
    force_suppress: bool = False
    variances: tuple[float, ...] = VARIANCES
    nms_topk: int = -1

    inputs = ("cls_prob", "loc_pred", "anchor")

    def check(self):
        return None if len(self.variances) == 4 else f"got variances {self.variances}, wanted four numbers"

    def infer_input_shapes(self, shapes, outputs):
        scores, offsets, anchor = shapes
        if scores is None:
            return shapes
        want_rank(self, scores, 3, what="cls_prob")
        return [scores, merge(offsets, (scores[0], scores[2] * 4)), merge(anchor, (1, scores[2], 4))]

    def infer_shape(self, scores, offsets, anchor):
        want_rank(self, scores, 3, what="cls_prob")
        return (scores[0], scores[2], 6)

    def domain(self, name, shapes):
        return None if name == "loc_pred" else Domain(0, 1)

    def compute(self, scores, offsets, anchor):
        dtype = scores.dtype
        batch, _, count = scores.shape
        best, score = np.zeros((batch, count), np.int64), np.full((batch, count), -1, dtype)
        for index in range(1, scores.shape[1]):
            better = scores[:, index] > score
            best[better] = index
            score = np.where(better, scores[:, index], score)
        valid = (best > 0) & ~(score < dtype.type(self.threshold))
        boxes = decode(offsets.reshape(batch, count, 4), anchor, self.variances, form="corner")
        if self.clip:
            boxes = np.clip(boxes, 0, 1)
        rows = np.concatenate([(best - 1)[..., None].astype(dtype), score[..., None], boxes], axis=2)
        out = np.full((batch, count, 6), -1, dtype)
        for result, row, chosen in zip(out, rows, valid):
            found = row[chosen]
            result[: len(found)] = found
            if len(found) and 0 < self.nms_threshold <= 1:
                # NaN scores are never chosen; stable, so that ties stay in the order of anchors
                order = np.argsort(-found[:, 1], kind="stable")[: self.nms_topk if self.nms_topk > 0 else None]
                kept = found[order]
                ids = None if self.force_suppress else kept[:, 0]
                stays = suppress(kept[:, 2:], ids, self.nms_threshold, "corner", inclusive=True)
                kept[~stays, 0] = -1
                result[: len(kept)] = kept
                result[len(kept) :, 0] = -1
        return out

    def gradient(self, F, dy, *arrays):
        return None  # in MXNet too

    @classmethod
    def examples(cls, make):
        anchor = MultiBoxPrior.bind(sizes=(0.5, 0.4)).compute(np.zeros((1, 1, 2, 2), np.float32))
        yield make(make.uniform(2, 3, 8), make.uniform(2, 32), anchor)
        yield make(make.uniform(2, 3, 8), make.uniform(2, 32), anchor, nms_topk=3, force_suppress=True)
        halves = make.array(
            [[[0, 0, 1, 1], [0, 0, 1, 0.5], [0, 0.5, 1, 1], [0, 0, 0.5, 0.5]]]
        )  # overlaps at the threshold
        yield make(make.uniform(1, 2, 4, low=0.1, high=1), make.array(np.zeros((1, 16))), halves, nms_threshold=0.5)


def decode(offsets: np.ndarray, anchors: np.ndarray, scales, form: str, clip: float = -1) -> np.ndarray:
    """Boxes as corners from offsets (..., 4) to anchors (..., 4) of that form: centres move by offset * scale * size, sizes
    grow by exp(offset * scale), whose argument clip (when positive) bounds from above."""
    scales = [offsets.dtype.type(s) for s in scales]
    sides = anchors[..., 2:] - anchors[..., :2] if form == "corner" else anchors[..., 2:]
    centres = (anchors[..., :2] + anchors[..., 2:]) / 2 if form == "corner" else anchors[..., :2]
    low, high = [], []
    for axis in (0, 1):
        growth = offsets[..., axis + 2] * scales[axis + 2]
        if clip > 0:
            growth = np.minimum(growth, offsets.dtype.type(clip))
        half = np.exp(growth) * sides[..., axis] / 2
        centre = offsets[..., axis] * scales[axis] * sides[..., axis] + centres[..., axis]
        low.append(centre - half)
        high.append(centre + half)
    return np.stack(low + high, axis=-1)


@op("_contrib_box_nms", "_contrib_box_non_maximum_suppression")
class BoxNms(Op):
    """Non-maximum suppression of rows that hold a score, four coordinates and perhaps a class.

    Shapes: data (..., n, k) -> (..., n, k). Rows with a score above valid_thresh, and not of class background_id, are
    sorted by score (ties by position), cut to topk, and suppressed where they overlap a better one of their class (any
    class with force_suppress or without id_index) by more than overlap_thresh. Those that stay come first, all other rows
    are -1. Rows whose first coordinate is negative (MXNet's mark of a removed row) keep in_format. With a topk of 0 data is
    returned as it is. Source: MXNet box_nms."""

    exception = "chooses among boxes, or makes them, in steps of its own"

    refuses = WHOLE

    is_ordering = True

    overlap_thresh: float = 0.5
    valid_thresh: float = 0.0
    topk: int = -1
    coord_start: int = 2
    score_index: int = 1
    id_index: int = -1
    background_id: int = -1
    force_suppress: bool = False
    in_format: Literal["corner", "center"] = "corner"
    out_format: Literal["corner", "center"] = "corner"

    def output_names(self):
        return ("output0", "output1")

    def num_visible_outputs(self):
        return 1

    def infer_shape(self, data):
        if len(data) < 2:
            raise self.error(f"got data of {len(data)} dimensions, wanted at least 2")
        width = data[-1]
        for name, index, last in (
            ("coord_start", self.coord_start, self.coord_start + 3),
            ("score_index", self.score_index, self.score_index),
            ("id_index", max(self.id_index, 0), self.id_index),
        ):
            if index < 0 or last >= width:
                raise self.error(f"{name} {index} lies outside rows of {width} values")
        return [data, (*data[:-1], 1)]

    def domain(self, name, shapes):
        return Domain(0, 1)

    def infer_input_shapes(self, shapes, outputs):
        return [merge(shapes[0], outputs[0])]

    @property
    def by_class(self) -> bool:
        return self.id_index >= 0 and not self.force_suppress

    def compute(self, data):
        rows = data.reshape(math.prod(data.shape[:-2]), *data.shape[-2:])
        if self.topk == 0:
            return data.copy(), np.arange(rows[..., 0].size, dtype=data.dtype).reshape(*data.shape[:-1], 1)
        out, place = np.full_like(rows, -1), np.full((*rows.shape[:2], 1), -1, data.dtype)
        coords = slice(self.coord_start, self.coord_start + 4)
        for index, (result, source) in enumerate(zip(out, rows)):
            score = source[:, self.score_index]
            valid = score > data.dtype.type(self.valid_thresh)
            if self.id_index >= 0:
                valid &= source[:, self.id_index] != self.background_id
            chosen = np.flatnonzero(valid)
            order = chosen[np.argsort(-score[chosen], kind="stable")][: self.topk if self.topk > 0 else None]
            kept = source[order]
            ids = kept[:, self.id_index] if self.by_class else None
            stays = suppress(kept[:, coords], ids, self.overlap_thresh, self.in_format, inclusive=False)
            kept = kept[stays]
            boxes = kept[:, coords]
            kept[:, coords] = np.where(boxes[:, :1] < 0, boxes, reform(boxes, self.in_format, self.out_format))
            result[: len(kept)] = kept
            place[index, : len(kept), 0] = index * rows.shape[1] + order[stays]
        return out.reshape(data.shape), place.reshape(*data.shape[:-1], 1)

    def gradient(self, F, dy, data, y, place):
        return F._backward_box_nms(dy[0], place)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 6, 6), overlap_thresh=0.2, id_index=0)
        yield make(make.uniform(6, 5), coord_start=1, score_index=0, topk=3)
        halves = make.array(
            [[0.9, 0, 0, 2, 2], [0.8, 0, 0, 2, 1], [0.7, 0, 1, 2, 2], [0.6, 0, 0, 1, 1]]
        )  # at the threshold
        yield make(halves, coord_start=1, score_index=0, overlap_thresh=0.5)


@op("_backward_box_nms")
class BackwardBoxNms(Op):
    """Gradient of box_nms by data: (dy, place) -> as dy. Rows go back to where they came from, whatever became of their
    coordinates; place is the second output, -1 for rows that come from nowhere."""

    inputs = ("dy", "place")

    def infer_shape(self, dy, place):
        want_rank_from(self, dy, 1, what="dy")
        as_many(self, "place", place, dy[:-1])
        return dy

    def compute(self, dy, place):
        rows, place = dy.reshape(place.size, dy.shape[-1]), place.reshape(-1).astype(np.int64)
        dx = np.zeros_like(rows)
        dx[place[place >= 0]] = rows[place >= 0]
        return dx.reshape(dy.shape)


def reform(boxes: np.ndarray, source: str, target: str) -> np.ndarray:
    """Boxes (..., 4) in another form: corners, or centre and size."""
    if source == target:
        return boxes
    a, b = boxes[..., :2], boxes[..., 2:]
    if target == "center":
        return np.concatenate([(a + b) / 2, b - a], axis=-1)
    return np.concatenate([a - b / 2, a + b / 2], axis=-1)


@op("_contrib_box_iou")
class BoxIou(Op):
    """Overlap (intersection over union) of every box of lhs with every box of rhs; 0 where both are empty.

    Shapes: lhs (..., 4), rhs (..., 4) -> lhs.shape[:-1] + rhs.shape[:-1]. Source: MXNet box_iou."""

    refuses = WHOLE

    format: Literal["corner", "center"] = "corner"

    inputs = ("lhs", "rhs")

    def infer_shape(self, lhs, rhs):
        for name, shape in (("lhs", lhs), ("rhs", rhs)):
            want_rank_from(self, shape, 2, what=name)
            if shape[-1] is not UNKNOWN and shape[-1] != 4:
                raise self.error(f"got {name} of shape {show(shape)}, wanted boxes of 4 numbers along the last axis")
        return (*lhs[:-1], *rhs[:-1])

    def domain(self, name, shapes):
        return Domain(0, 1)

    def composition(self, F, lhs, rhs):
        if not known(lhs, rhs):
            return None
        sizes = [math.prod(definite(x.shape)[:-1]) for x in (lhs, rhs)]
        if 0 in sizes:
            return None
        columns, areas = [], []
        for x, shape in zip(widely(F, lhs.dtype, lhs, rhs), ((sizes[0], 1), (1, sizes[1]))):
            rows = F._np_reshape(x, newshape=(-1, 4))
            own = [F._np_reshape(F.slice_axis(rows, axis=1, begin=i, end=i + 1), newshape=shape) for i in range(4)]
            if self.format == "center":
                sides = own[2:]
                own = [own[0] - sides[0] / 2, own[1] - sides[1] / 2, own[0] + sides[0] / 2, own[1] + sides[1] / 2]
            else:
                sides = [own[2] - own[0], own[3] - own[1]]
            empty = F._logical_or(F._lesser_scalar(sides[0], scalar=0), F._lesser_scalar(sides[1], scalar=0))
            columns.append(own)
            areas.append(F._npi_where(empty, F.zeros_like(sides[0]), sides[0] * sides[1]))
        a, b = columns
        spans = [
            F._maximum_scalar(
                F.broadcast_sub(F.broadcast_minimum(a[i + 2], b[i + 2]), F.broadcast_maximum(a[i], b[i])), scalar=0
            )
            for i in (0, 1)
        ]
        inner = spans[0] * spans[1]
        y = inner / (F.broadcast_add(*areas) - inner)
        y = F._npi_where(F._npi_isnan(y), F.zeros_like(y), y)
        return F._np_reshape(narrowly(F, lhs.dtype, y), newshape=(*lhs.shape[:-1], *rhs.shape[:-1]))

    def compute(self, lhs, rhs):
        a, b = widen(lhs).reshape(-1, 1, 4), widen(rhs).reshape(1, -1, 4)
        out = overlaps(a, b, self.format)
        return np.where(np.isnan(out), 0, out).astype(lhs.dtype).reshape(*lhs.shape[:-1], *rhs.shape[:-1])

    def gradient(self, F, dy, *arrays):
        return None  # in MXNet too

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3, 4), make.uniform(5, 4))
        yield make(make.uniform(2, 4), make.uniform(5, 4), format="center")


@op("_contrib_box_decode")
class BoxDecode(Op):
    """Boxes as corners from offsets to anchors.

    Shapes: data (N, A, 4), anchors (1, A, 4), corners or (with format center) centre and size -> (N, A, 4). A positive
    clip bounds the logarithm of the growth. Source: MXNet box_decode."""

    meanings = {"clip": "Greatest logarithm of the growth; not positive: no bound."}

    refuses = WHOLE

    std0: float = 1.0
    std1: float = 1.0
    std2: float = 1.0
    std3: float = 1.0
    clip: float = -1.0
    format: Literal["corner", "center"] = "center"

    inputs = ("data", "anchors")

    @property
    def stds(self) -> tuple[float, float, float, float]:
        return self.std0, self.std1, self.std2, self.std3

    def infer_input_shapes(self, shapes, outputs):
        data, anchors = merge(shapes[0], outputs[0]), shapes[1]
        return [data, anchors if data is None else merge(anchors, (1, *data[1:]))]

    def infer_shape(self, data, anchors):
        want_rank(self, data, 3)
        return merge(data, (UNKNOWN, UNKNOWN, 4))

    def composition(self, F, data, anchors):
        if not known(data):
            return None
        wide = widely(F, data.dtype, data, anchors)
        offsets, own = ([F.slice_axis(x, axis=2, begin=i, end=i + 1) for i in range(4)] for x in wide)
        corner, low, high = self.format == "corner", [], []
        for axis in (0, 1):
            side = own[axis + 2] - own[axis] if corner else own[axis + 2]
            centre = (own[axis] + own[axis + 2]) / 2 if corner else own[axis]
            growth = offsets[axis + 2] * self.stds[axis + 2]
            growth = F._minimum_scalar(growth, scalar=self.clip) if self.clip > 0 else growth
            half = F.broadcast_mul(F.exp(growth), side) / 2
            centre = F.broadcast_add(F.broadcast_mul(offsets[axis] * self.stds[axis], side), centre)
            low.append(centre - half)
            high.append(centre + half)
        return narrowly(F, data.dtype, F.Concat(*low, *high, dim=2))

    def compute(self, data, anchors):
        out = decode(widen(data), widen(anchors), self.stds, self.format, self.clip)
        return out.astype(data.dtype, copy=False)

    def gradient(self, F, dy, *arrays):
        return None  # in MXNet too

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3, 4), make.uniform(1, 3, 4), std0=0.1, std1=0.1, std2=0.2, std3=0.2)
        yield make(make.uniform(2, 3, 4), make.uniform(1, 3, 4), format="corner", clip=0.5)
