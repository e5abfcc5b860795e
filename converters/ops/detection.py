"""Detection heads. Suppression is ONNX's NonMaxSuppression, fed so that its rules become MXNet's (see surviving)."""

import numpy as np

from ..error import Unsupported
from ..registry import exports

_END = np.iinfo(np.int64).max


@exports("_contrib_MultiBoxPrior")
def export_contrib_multi_box_prior(b, op, data):
    height, width = b.size(data, 2), b.size(data, 3)
    if isinstance(height, int) and isinstance(width, int):
        return b.const(op.anchors(height, width))
    sizes = [b.cast(b.const([n]) if isinstance(n, int) else n, np.float32) for n in (height, width)]
    centres = []
    for size, offset, step in zip(sizes, op.offsets, op.steps):
        ticks = b.Range(b.const(0, np.float32), b.squeeze(size, [0]), b.const(1, np.float32))
        # onnxruntime 1.31 loses the tensor when it removes an addition of 0 here
        moved = b.Add(ticks, b.const(offset, np.float32)) if offset else ticks
        centres.append(b.Mul(moved, step if step > 0 else b.Div(b.const(1, np.float32), size)))
    y, x = b.unsqueeze(centres[0], [1, 2]), b.unsqueeze(centres[1], [0, 2])
    size, root = op.half_sizes()
    two = np.float32(2)
    half_w = b.Div(b.Mul(b.Div(b.Mul(b.const(size), sizes[0]), sizes[1]), root), two)
    half_h = b.const(size / root / two)
    grid = b.dims(height, width, len(size))  # H, W, A
    edges = [b.Sub(x, half_w), b.Sub(y, half_h), b.Add(x, half_w), b.Add(y, half_h)]
    boxes = b.Concat(*(b.unsqueeze(b.Expand(e, grid), [3]) for e in edges), axis=3)
    boxes = b.reshape(boxes, [1, -1, 4])
    return b.Clip(boxes, 0, 1) if op.clip else boxes


def split_coordinates(b, boxes):
    """The first two and the last two numbers of boxes."""
    return b.slice(boxes, [0], [2], [-1]), b.slice(boxes, [2], [4], [-1])


def to_centres(b, boxes):
    """Centres and sizes of corners."""
    low, high = split_coordinates(b, boxes)
    return b.Div(b.Add(low, high), 2), b.Sub(high, low)


def _decode(b, offsets, anchors, scales, form, clip=-1.0):
    """As hybrid.ops.detection.decode, in the same order of operations."""
    centres, sides = to_centres(b, anchors) if form == "corner" else split_coordinates(b, anchors)
    moves, growth = split_coordinates(b, offsets)
    growth = b.Mul(growth, b.like(scales[2:], offsets))
    if clip > 0:
        growth = b.Min(growth, b.like(clip, offsets))
    half = b.Div(b.Mul(b.Exp(growth), sides), 2)
    centre = b.Add(b.Mul(b.Mul(moves, b.like(scales[:2], offsets)), sides), centres)
    return b.Concat(b.Sub(centre, half), b.Add(centre, half), axis=-1)


def limit_size(b, size, limit):
    """A size (number or 1-D Value), and no more than limit if that is positive, as a 1-D int64 Value."""
    if isinstance(size, int):
        return b.const([min(size, limit) if limit > 0 else size])
    return b.Min(size, b.const([limit])) if limit > 0 else size


def take_rows(b, rows, order):
    """Rows (N, A, k) in another order (N, K) of each batch: (N, K, k)."""
    return b.GatherND(rows, b.unsqueeze(order, [2]), batch_dims=1)


def chosen_first(b, chosen, size):
    """Positions (N, size) of what is chosen (N, K), in order, and after it of what is not, in order; bool (N, size), True for those
    chosen. The keys are distinct: which of equals comes first is settled by ONNX, and not by OpenVINO or MNN."""
    count = b.shape_of(chosen, 1)
    down = b.cast(b.Range(b.squeeze(count, [0]), 0, -1), np.float32)
    key = b.Where(chosen, down, b.Sub(down, b.cast(b.Add(count, 1), np.float32)))
    found, order = b.TopK(key, size, axis=1, outputs=2)
    return order, b.Greater(found, 0)


def greedy_nms(b, boxes, alive, same, threshold, *, inclusive=False, form="corner"):
    """True for those of boxes (N, K, 4), in order of precedence, that survive greedy suppression: bool (N, K).

    same: None, or bool (N, C, K), for every class which boxes belong to it. NonMaxSuppression picks by score, so the scores
    are the positions counted from the end; the boxes of other classes, and those not alive, have none. It suppresses above
    the threshold, so MXNet's "at" is the float just below. It swaps corners that are the wrong way round, where MXNet sees
    an empty box: such a box becomes a point, which overlaps with nothing."""
    if threshold < 0:
        raise Unsupported(f"overlap threshold {threshold}: a negative one suppresses all but the best; use 0 or more")
    limit = np.float32(threshold)
    if inclusive:
        limit = np.nextafter(limit, np.float32(-1))
    if limit > 1:
        return alive
    boxes = b.cast(boxes, np.float32)
    low, high = split_coordinates(b, boxes)
    proper = b.GreaterOrEqual(high, low if form == "corner" else 0)
    proper = b.Equal(b.reduce("Min", b.cast(proper, np.int32), [-1], keepdims=True), 1)
    boxes = b.Where(proper, boxes, 0)
    count = b.shape_of(boxes, 1)
    ranks = b.cast(b.Range(b.squeeze(count, [0]), 0, -1), np.float32)
    member = b.unsqueeze(alive, [1])
    scores = b.Where(member if same is None else b.And(member, same), ranks, 0)
    # (M, 3): batch, class, box
    center = {"center_point_box": 1} if form == "center" else {}
    picked = b.NonMaxSuppression(
        boxes, scores, count, b.const([limit], np.float32), b.const([0.5], np.float32), **center
    )
    marks = b.Expand(b.const([1], np.int32), b.shape_of(picked, 0))
    none = b.Expand(b.const([[0]], np.int32), b.Shape(alive))
    return b.cast(b.ScatterND(none, b.Gather(picked, [0, 2], axis=1), marks), np.bool_)


@exports("_contrib_MultiBoxDetection")
def export_contrib_multi_box_detection(b, op, scores, offsets, anchor):
    classes = scores.dim(1) - 1
    if classes < 1:
        raise Unsupported("cls_prob holds the background only: nothing can be detected")
    count, least = b.size(scores, 2), b.like(-1, scores)
    scores = b.slice(scores, [1], [_END], [1])
    scores = b.Where(b.IsNaN(scores), least, scores)
    score, best = b.reduce("Max", scores, [1], keepdims=False), b.ArgMax(scores, axis=1, keepdims=0)
    valid = b.GreaterOrEqual(score, op.threshold)
    if op.threshold <= -1:
        valid = b.And(valid, b.Greater(score, least))
    boxes = _decode(b, b.reshape(offsets, [0, -1, 4]), anchor, op.variances, "corner")
    if op.clip:
        boxes = b.Clip(boxes, 0, 1)
    rest = b.Concat(b.unsqueeze(score, [2]), boxes, axis=2)
    ids = b.unsqueeze(b.cast(best, scores.dtype), [2])
    whole = limit_size(b, count, -1)

    def in_order_of_anchors():
        order, shown = chosen_first(b, valid, whole)
        return b.unsqueeze(shown, [2]), order

    if not 0 < op.nms_threshold <= 1:
        shown, order = in_order_of_anchors()
        return b.Where(shown, take_rows(b, b.Concat(ids, rest, axis=2), order), least)
    size = limit_size(b, count, op.nms_topk)
    key = b.cast(
        b.Where(valid, score, b.like(-np.inf, score)), np.float32 if score.dtype.itemsize == 2 else score.dtype
    )
    found, order = b.TopK(key, size, axis=1, outputs=2)
    alive = b.Greater(found, -np.inf)
    ids, kept = take_rows(b, ids, order), take_rows(b, rest, order)
    same = None
    if not op.force_suppress:
        same = b.Equal(b.transpose(ids, [0, 2, 1]), b.like(np.arange(classes)[:, None], ids))
    stays = greedy_nms(b, b.slice(kept, [1], [5], [2]), alive, same, op.nms_threshold, inclusive=True)
    ids = b.Where(b.unsqueeze(stays, [2]), ids, least)
    out = b.Where(b.unsqueeze(alive, [2]), b.Concat(ids, kept, axis=2), least)
    if op.nms_topk <= 0 or (isinstance(count, int) and count <= op.nms_topk):
        return out
    # rows past the topk best are what compacting left there, without a class
    shown, order = in_order_of_anchors()
    past = b.Where(shown, take_rows(b, rest, order), least)
    past = b.Pad(past, [0, 0, 1, 0, 0, 0], least)
    return b.Concat(out, b.slice(past, size, [_END], [1]), axis=1)


@exports("_contrib_box_nms")
def export_contrib_box_nms(b, op, data):
    if op.topk == 0 or any(isinstance(n, int) and n == 0 for n in data.shape or ()):
        return b.Identity(data)
    rows, count, width = data, b.size(data, data.rank - 2), data.dim(-1)
    if data.rank != 3:
        rows = b.reshape(data, b.dims(-1, count, width))
    least = b.like(-1, data)
    score = b.Gather(rows, op.score_index, axis=2)
    valid = b.Greater(score, op.valid_thresh)
    if op.id_index >= 0:
        kind = b.Gather(rows, op.id_index, axis=2)
        valid = b.And(valid, b.Not(b.Equal(kind, b.like(op.background_id, kind))))
    key = b.Where(valid, score, b.like(-np.inf, score))
    size = limit_size(b, count, op.topk)
    found, order = b.TopK(b.wide(key), size, axis=1, outputs=2)
    alive, rows = b.Greater(found, -np.inf), take_rows(b, rows, order)
    same = None
    if op.id_index >= 0 and not op.force_suppress:
        kind = b.cast(b.Gather(rows, op.id_index, axis=2), np.float64 if data.dtype == np.float64 else np.float32)
        kinds = b.Unique(kind)
        same = b.Equal(b.unsqueeze(kind, [1]), b.unsqueeze(kinds, [1]))
    first = op.coord_start
    boxes = b.slice(rows, [first], [first + 4], [2])
    stays = greedy_nms(b, boxes, alive, same, op.overlap_thresh, form=op.in_format)
    if op.in_format != op.out_format:
        if op.out_format == "center":
            reformed = b.Concat(*to_centres(b, boxes), axis=2)
        else:
            centre, sides = split_coordinates(b, boxes)
            half = b.Div(sides, 2)
            reformed = b.Concat(b.Sub(centre, half), b.Add(centre, half), axis=2)
        boxes = b.Where(b.Less(b.slice(boxes, [0], [1], [2]), 0), boxes, reformed)
        parts = [b.slice(rows, [0], [first], [2])] if first else []
        parts.append(boxes)
        if first + 4 < width:
            parts.append(b.slice(rows, [first + 4], [_END], [2]))
        rows = b.Concat(*parts, axis=2) if len(parts) > 1 else boxes
    order, shown = chosen_first(b, stays, size)
    out = b.Where(b.unsqueeze(shown, [2]), take_rows(b, rows, order), least)
    if op.topk > 0 and not (isinstance(count, int) and count <= op.topk):
        missing = b.Sub(b.const([count]) if isinstance(count, int) else count, size)
        out = b.Pad(out, b.dims(0, 0, 0, 0, missing, 0), least)
    return out if data.rank == 3 else b.reshape(out, b.Shape(data))


def box_iou(b, lhs, rhs, form="corner"):
    """Intersection over union of boxes lhs (..., 4) with rhs (..., 4), broadcast; 0 where both are empty."""

    def edges(boxes):
        if form == "corner":
            return split_coordinates(b, boxes)
        centre, sides = split_coordinates(b, boxes)
        half = b.Div(sides, 2)
        return b.Sub(centre, half), b.Add(centre, half)

    def columns(sides):
        return b.Gather(sides, 0, axis=-1), b.Gather(sides, 1, axis=-1)

    def area(boxes):
        low, high = split_coordinates(b, boxes)
        sides = b.Sub(high, low) if form == "corner" else high
        wide, high = columns(sides)
        empty = b.Or(b.Less(wide, 0), b.Less(high, 0))
        return b.Where(empty, b.like(0, lhs), b.Mul(wide, high))

    (low_a, high_a), (low_b, high_b) = edges(lhs), edges(rhs)
    inner = b.Mul(*columns(b.Max(b.Sub(b.Min(high_a, high_b), b.Max(low_a, low_b)), b.like(0, lhs))))
    iou = b.Div(inner, b.Sub(b.Add(area(lhs), area(rhs)), inner))
    return b.Where(b.IsNaN(iou), b.like(0, lhs), iou)


@exports("_contrib_box_iou")
def export_contrib_box_iou(b, op, lhs, rhs):
    rows = b.unsqueeze(lhs, [1]) if lhs.rank == 2 else b.reshape(lhs, [-1, 1, 4])  # -1 cannot stand for 0
    columns = b.unsqueeze(rhs, [0]) if rhs.rank == 2 else b.reshape(rhs, [1, -1, 4])
    iou = box_iou(b, rows, columns, op.format)
    sizes = [b.size(x, a) for x in (lhs, rhs) for a in range(x.rank - 1)]
    return iou if lhs.rank == rhs.rank == 2 else b.reshape(iou, b.dims(*sizes))


@exports("_contrib_box_decode")
def export_contrib_box_decode(b, op, data, anchors):
    return _decode(b, data, anchors, op.stds, op.format, op.clip)
