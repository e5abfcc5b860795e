"""Targets for training detectors: matching boxes with anchors, one to one and by overlap, and encoding them."""

import math

import numpy as np

from ..core.op import WHOLE, Domain, Op, op
from ..core.shapes import UNKNOWN, merge
from .common import fit, want_rank, want_some
from .detection import VARIANCES, overlaps, reform


@op("_contrib_MultiBoxTarget", "_npx_multibox_target")
class MultiBoxTarget(Op):
    """Training targets of an SSD: which anchor stands for which object, and which anchors count as background.

    Shapes: anchor (1, A, 4), label (N, M, 5 or more) of [class, corners, ...] with class -1 past the last object, cls_pred
    (N, classes + 1, A) -> loc_target (N, A*4), loc_mask (N, A*4), cls_target (N, A), where 0 is background. Objects take
    their best free anchor, best pair first; then anchors whose best overlap is above overlap_threshold take that object.
    With negative_mining_ratio only that many times the matched anchors are background, those least sure of it among the
    ones overlapping less than negative_mining_thresh; the rest get ignore_label, as do all without any object.
    minimum_negative_samples is read and not used.
    Source: MXNet MultiBoxTarget; Liu et al., SSD, arXiv:1512.02325."""

    exception = "chooses among boxes, or makes them, in steps of its own"

    refuses = WHOLE

    overlap_threshold: float = 0.5
    ignore_label: float = -1.0
    negative_mining_ratio: float = -1.0
    negative_mining_thresh: float = 0.5
    minimum_negative_samples: int = 0
    variances: tuple[float, ...] = VARIANCES

    inputs = ("anchor", "label", "cls_pred")

    def check(self):
        return None if len(self.variances) == 4 else f"got variances {self.variances}, wanted four numbers"

    def output_names(self):
        return ("loc_target", "loc_mask", "cls_target")

    def infer_shape(self, anchor, label, scores):
        want_rank(self, anchor, 3, what="anchor")
        want_some(self, anchor, 1, what="anchor")
        want_rank(self, label, 3, what="label")
        if label[2] is not UNKNOWN and label[2] < 5:
            raise self.error(f"got label rows of {label[2]} values, wanted at least 5: class and corners")
        want_rank(self, scores, 3, what="cls_pred")
        fit(
            self,
            {"anchor": "1 A 4", "label": "N _ _", "cls_pred": "N _ A"},
            {"anchor": anchor, "label": label, "cls_pred": scores},
        )
        return [(label[0], anchor[1] * 4), (label[0], anchor[1] * 4), (label[0], anchor[1])]

    def compute(self, anchor, label, scores):
        batch, count = len(label), anchor.shape[1]
        dtype = anchor.dtype
        targets, masks = np.zeros((batch, count, 4), dtype), np.zeros((batch, count, 4), dtype)
        classes = np.full((batch, count), self.ignore_label, dtype)
        for i in range(batch):
            ends = np.flatnonzero(label[i, :, 0] == -1)
            objects = label[i, : ends[0] if len(ends) else None]
            if not len(objects):
                continue
            iou = np.nan_to_num(overlaps(anchor[0][:, None], objects[None, :, 1:5], "corner"))
            matched, best = self._match(iou)
            background = self._background(iou, matched, scores[i])
            classes[i, background] = 0
            classes[i, matched] = objects[best[matched], 0] + 1
            masks[i, matched] = 1
            targets[i, matched] = encode(anchor[0][matched], objects[best[matched], 1:5], self.variances)
        return targets.reshape(batch, count * 4), masks.reshape(batch, count * 4), classes

    def gradient(self, F, dy, *arrays):
        return None

    def _match(self, iou):
        """Match anchors with objects: True for those that stand for one, and for which."""
        matched, best = np.zeros(len(iou), bool), iou.argmax(axis=1)
        free = iou.copy()
        for _ in range(iou.shape[1]):
            at, which = np.unravel_index(free.argmax(), free.shape)
            if not free[at, which] > 1e-6:
                break
            matched[at], best[at] = True, which
            free[at], free[:, which] = -1, -1
        if self.overlap_threshold > 0:
            matched |= iou.max(axis=1) > iou.dtype.type(self.overlap_threshold)
        return matched, best

    def _background(self, iou, matched, scores):
        if not self.negative_mining_ratio > 0:  # NaN is no ratio
            return np.flatnonzero(~matched)
        wanted = int(min(matched.sum() * self.negative_mining_ratio, (~matched).sum())) if matched.any() else 0
        able = np.flatnonzero(~matched & (iou.max(axis=1) < iou.dtype.type(self.negative_mining_thresh)))
        raised = np.exp(scores - scores.max(axis=0))
        sure = (raised[0] / raised.sum(axis=0))[able]
        return able[np.argsort(sure, kind="stable")[:wanted]]

    @classmethod
    def examples(cls, make):
        anchor = np.array([[[0.1, 0.1, 0.4, 0.4], [0.5, 0.5, 0.9, 0.9], [0, 0.6, 0.3, 1]]], np.float32)
        yield make(anchor, np.array([[[0, 0.1, 0.1, 0.38, 0.42]]], np.float32), make.uniform(1, 3, 3))


def encode(anchors: np.ndarray, boxes: np.ndarray, scales) -> np.ndarray:
    """Offsets (..., 4) that turn anchors into boxes, both corners, divided by scales: the inverse of detection.decode."""
    a, b = reform(anchors, "corner", "center"), reform(boxes, "corner", "center")
    raw = np.concatenate([(b[..., :2] - a[..., :2]) / a[..., 2:], np.log(b[..., 2:] / a[..., 2:])], axis=-1)
    return raw / np.asarray(scales, raw.dtype)


@op("_contrib_box_encode")
class BoxEncode(Op):
    """Regression targets of anchors that were matched with boxes: the inverse of box_decode, and masks.

    Shapes: samples (N, A) (above 0.5 where matched), matches (N, A) indices into refs (N, M, 4), anchors (N, A, 4), both
    corners, means (4,), stds (4,) -> targets (N, A, 4) and masks (N, A, 4), both 0 where not matched.
    Source: MXNet box_encode."""

    exception = "chooses among boxes, or makes them, in steps of its own"

    refuses = WHOLE

    inputs = ("samples", "matches", "anchors", "refs", "means", "stds")

    def output_names(self):
        return ("output0", "output1")

    def infer_input_shapes(self, shapes, outputs):
        samples, matches, anchors, refs, means, stds = shapes
        pair = merge(samples, matches)
        if pair is not None and len(pair) == 2:
            anchors = merge(anchors, (*pair, 4))
            refs = merge(refs, (pair[0], UNKNOWN, 4))
        return [pair, pair, anchors, refs, merge(means, (4,)), merge(stds, (4,))]

    def infer_shape(self, samples, matches, anchors, refs, means, stds):
        want_rank(self, samples, 2, what="samples")
        want_rank(self, anchors, 3, what="anchors")
        want_rank(self, refs, 3, what="refs")
        want_some(self, refs, 1, what="refs")
        return [anchors, anchors]

    def infer_type(self, samples, *rest):
        return [samples, samples]

    def domain(self, name, shapes):
        if name == "matches" and shapes[3] is not None and shapes[3][1] is not UNKNOWN:
            return Domain(0, shapes[3][1] - 1, integer=True)
        return Domain(-1, 1, integer=True) if name == "samples" else None

    def compute(self, samples, matches, anchors, refs, means, stds):
        valid = (samples > 0.5)[..., None]
        where = np.where(valid, matches[..., None], 0).astype(
            np.int64
        )  # of those that are not matched it may be anything
        if where.size and not 0 <= where.min() <= where.max() < refs.shape[1]:
            raise self.error(f"got matches {where.min()} to {where.max()} of {refs.shape[1]} boxes")
        raw = encode(anchors, np.take_along_axis(refs, where, axis=1), (1, 1, 1, 1))
        masks = np.broadcast_to(valid, raw.shape)
        return np.where(valid, (raw - means) / stds, 0).astype(samples.dtype), masks.astype(samples.dtype)

    def gradient(self, F, dy, *arrays):
        return None

    @classmethod
    def examples(cls, make):
        boxes = np.array([[[0.1, 0.1, 0.4, 0.4], [0.5, 0.5, 0.9, 0.9]]], np.float32)
        one = np.ones((1, 2), np.float32)
        yield make(one, 0 * one, boxes, boxes[:, ::-1].copy(), np.zeros(4, np.float32), np.ones(4, np.float32))


@op("_contrib_bipartite_matching")
class BipartiteMatching(Op):
    """Greedy one-to-one matching of rows with columns, best score first (lowest with is_ascend).

    Shapes: data (..., R, C) -> rows (..., R) with the column matched to each, columns (..., C) with the row, -1 for none.
    Scores not beyond threshold do not match, and with a positive topk there are at most topk + 1 matches.
    Source: MXNet bipartite_matching."""

    meanings = {
        "topk": "Greatest number of matches, less 1; not positive: no bound.",
        "is_ascend": "The lowest score is the best; else the highest.",
        "threshold": "Scores not beyond it do not match.",
    }

    exception = "chooses among boxes, or makes them, in steps of its own"

    refuses = WHOLE

    is_ascend: bool = False
    threshold: float
    topk: int = -1

    def output_names(self):
        return ("output0", "output1")

    def infer_shape(self, data):
        if len(data) < 2:
            raise self.error(f"got data of {len(data)} dimensions, wanted at least 2")
        return [data[:-1], (*data[:-2], data[-1])]

    def compute(self, data):
        rows, columns = data.shape[-2:]
        scores = data.reshape(math.prod(data.shape[:-2]), rows * columns)
        to_column, to_row = np.full((len(scores), rows), -1), np.full((len(scores), columns), -1)
        limit = data.dtype.type(self.threshold)
        for row_match, column_match, one in zip(to_column, to_row, scores):
            count = 0
            for place in np.argsort(one if self.is_ascend else -one, kind="stable"):
                if not (one[place] < limit if self.is_ascend else one[place] > limit):
                    break
                r, c = divmod(int(place), columns)
                if row_match[r] < 0 and column_match[c] < 0:
                    row_match[r], column_match[c] = c, r
                    count += 1
                    if 0 < self.topk < count:
                        break
        shape = data.shape[:-2]
        return to_column.reshape(*shape, rows).astype(data.dtype), to_row.reshape(*shape, columns).astype(data.dtype)

    def gradient(self, F, dy, *arrays):
        return None

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3, 4), threshold=0.1)
