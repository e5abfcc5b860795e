"""Training targets of detectors: greedy matching is a Loop that takes the best free pair of every batch at each step."""

import numpy as np

from hybrid.core.op import Spec

from ..registry import exports
from .detection import box_iou, take_rows, to_centres, without_nan
from .ordering import in_order


def greedy_matching(b, key, rows, columns, limit=0):
    """Pair rows with columns, each at most once, highest key first, earlier pairs first among equals.

    key: (N, R, C) floats, the least finite one for pairs that may not be (of infinities OpenVINO's ReduceMax gives that one). rows,
    columns: R and C, numbers or 1-D Values. limit: how many pairs at most, if positive. Gives the column of each row (N, R) and
    the row of each column (N, C), int64, -1 for none."""

    def scalar(size):
        return b.const(size) if isinstance(size, int) else b.squeeze(size, [0])

    counts = [scalar(rows), scalar(columns)]
    spans = [b.unsqueeze(b.Range(0, n, 1), [0]) for n in counts]  # (1, R), (1, C)
    steps = b.Min(*counts, b.const(limit)) if limit > 0 else b.Min(*counts)
    images = b.shape_of(key, 0)
    none = [b.Expand(b.const([[-1]]), b.dims(images, n)) for n in (rows, columns)]
    flat, least = b.reshape(key, b.dims(images, -1)), float(np.finfo(key.dtype).min)

    def step(inner, _, going, flat, to_column, to_row):
        place = inner.ArgMax(flat, axis=1)  # (N, 1), the first of equals
        real = inner.Greater(inner.reduce("Max", flat, [1], keepdims=True), least)
        pair = [inner.Div(place, counts[1]), inner.Mod(place, counts[1])]
        row, column = (inner.And(inner.Equal(span, at), real) for span, at in zip(spans, pair))
        used = inner.reshape(inner.Or(inner.unsqueeze(row, [2]), inner.unsqueeze(column, [1])), inner.Shape(flat))
        return (
            going,
            inner.Where(used, inner.like(least, flat), flat),
            inner.Where(row, pair[1], to_column),
            inner.Where(column, pair[0], to_row),
        )

    body = b.body(step, Spec((), np.dtype(np.int64)), Spec((), np.dtype(np.bool_)), key.dtype, np.int64, np.int64)
    _, to_column, to_row = b.Loop(steps, b.const(True, np.bool_), flat, *none, outputs=3, body=body)
    return to_column, to_row


@exports("_contrib_bipartite_matching")
def export_contrib_bipartite_matching(b, op, data):
    rows, columns = (b.size(data, data.rank + i) for i in (-2, -1))
    limit = b.like(op.threshold, data)
    beyond = b.Less(data, limit) if op.is_ascend else b.Greater(data, limit)
    wide = np.float64 if data.dtype.itemsize == 8 else np.float32
    key = b.cast(data, wide)
    key = b.Where(beyond, b.Neg(key) if op.is_ascend else key, b.like(np.finfo(wide).min, key))
    key = b.reshape(key, b.dims(-1, rows, columns))
    to_column, to_row = greedy_matching(b, key, rows, columns, op.topk + 1 if op.topk > 0 else 0)
    lead = [b.size(data, axis) for axis in range(data.rank - 2)]
    return b.reshape(to_column, b.dims(*lead, rows)), b.reshape(to_row, b.dims(*lead, columns))


def _encode(b, anchors, boxes):
    """As hybrid.ops.matching.encode, not yet scaled."""
    (anchor_centres, anchor_sides), (centres, sides) = to_centres(b, anchors), to_centres(b, boxes)
    moves = b.Div(b.Sub(centres, anchor_centres), anchor_sides)
    return b.Concat(moves, b.Log(b.Div(sides, anchor_sides)), axis=-1)


@exports("_contrib_box_encode")
def export_contrib_box_encode(b, op, samples, matches, anchors, refs, means, stds):
    chosen = b.Greater(samples, 0.5)
    rows = b.cast(b.Where(chosen, matches, b.like(0, matches)), np.int64)  # of others it may be anything
    raw = _encode(b, anchors, take_rows(b, refs, rows))
    valid = b.unsqueeze(chosen, [2])
    targets = b.Where(valid, b.Div(b.Sub(raw, means), stds), 0)
    return targets, b.Expand(b.cast(valid, samples.dtype), b.Shape(raw))


@exports("_contrib_MultiBoxTarget")
def export_contrib_multi_box_target(b, op, anchor, label, scores):
    kinds = b.Gather(label, 0, axis=2)  # (N, M)
    ended = b.CumSum(b.cast(b.Equal(kinds, -1), np.int32), b.const(1))
    real = b.unsqueeze(b.Equal(ended, 0), [1])  # (N, 1, M)
    some = b.slice(b.squeeze(real, [1]), [0], [1], [1])  # (N, 1): whether there is any object
    boxes = b.slice(label, [1], [5], [2])
    iou = box_iou(b, b.unsqueeze(anchor, [2]), b.unsqueeze(boxes, [1]))  # (N, A, M)
    iou = b.Where(real, iou, b.like(-1, iou))
    able = b.Greater(iou, 1e-6)
    paired, _ = greedy_matching(
        b, b.Where(able, iou, b.like(np.finfo(iou.dtype).min, iou)), b.size(anchor, 1), b.size(label, 1)
    )
    matched = b.GreaterOrEqual(paired, 0)
    best = b.Where(matched, paired, b.ArgMax(iou, axis=2, keepdims=0))
    highest = b.reduce("Max", iou, [2], keepdims=False)
    if op.overlap_threshold > 0:
        matched = b.Or(matched, b.Greater(highest, op.overlap_threshold))
    background = b.Not(matched)
    if op.negative_mining_ratio > 0:
        able = b.And(background, b.Less(highest, op.negative_mining_thresh))
        background = _hardest_negatives(b, op, scores, able, background, matched)
    kind = b.Add(b.squeeze(take_rows(b, b.unsqueeze(kinds, [2]), best), [2]), 1)
    ignored = b.like(op.ignore_label, kind)
    classes = b.Where(matched, kind, b.Where(b.And(background, some), b.like(0, kind), ignored))
    raw = b.Div(_encode(b, anchor, take_rows(b, boxes, best)), b.like(op.variances, anchor))
    chosen = b.unsqueeze(matched, [2])
    targets = b.Where(chosen, raw, b.like(0, raw))
    masks = b.Expand(b.cast(chosen, anchor.dtype), b.Shape(raw))
    flat = b.dims(0, -1)
    return b.reshape(targets, flat), b.reshape(masks, flat), classes


def _hardest_negatives(b, op, scores, able, free, matched):
    """Of the anchors in able those (N, A) that look least like background: negative_mining_ratio for each that is matched,
    no more than there are free."""

    def count(which):
        return b.reduce("Sum", b.cast(which, np.int64), [1], keepdims=True)

    wanted = b.Mul(b.cast(count(matched), np.float64), op.negative_mining_ratio)
    wanted = b.Min(b.cast(wanted, np.int64), count(free))
    raised = b.Exp(b.Sub(scores, b.reduce("Max", scores, [1], keepdims=True)))
    sure = b.Div(b.Gather(raised, 0, axis=1), b.reduce("Sum", raised, [1], keepdims=False))
    sure = without_nan(b, sure, 2)  # last, as NumPy sorts it
    sure = b.Where(able, sure, b.like(np.inf, sure))
    size = b.size(scores, 2)
    _, order = in_order(b, b.wide(b.Neg(sure)), size, size)
    size = b.const([size]) if isinstance(size, int) else size
    place = b.unsqueeze(b.counting(size), [0])
    rank = b.ScatterElements(order, order, b.Expand(place, b.Shape(order)), axis=1)
    return b.And(able, b.Less(rank, wanted))
