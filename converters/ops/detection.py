"""Detection heads. Suppression is ONNX's NonMaxSuppression, fed so that its rules become MXNet's (see surviving)."""

import math

import numpy as np

from hybrid.core.shapes import UNKNOWN, is_known

from ..error import Unsupported
from ..guards import may_hold_nan
from ..registry import exports
from ..value_sets import possible_values
from .ordering import in_order

_END = np.iinfo(np.int64).max
_PAIRED = 1024
"""Rows whose classes are compared in pairs, at most."""


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


def without_nan(b, x, value):
    """x with a number in the place of NaN; x itself where it holds none (``Forms.nan_guards``). Not by IsNaN, which MNN lacks, and
    which OpenVINO 2023 refuses here."""
    return b.Where(b.Equal(x, x), x, b.like(value, x)) if may_hold_nan(b, x) else x


def split_coordinates(b, boxes):
    """The first two and the last two numbers of boxes."""
    if boxes.const is not None:
        return b.const(boxes.const[..., :2]), b.const(boxes.const[..., 2:])
    return b.split(boxes, [2, 2], axis=-1)


def to_centres(b, boxes):
    """Centres and sizes of corners."""
    low, high = split_coordinates(b, boxes)
    return b.Div(b.Add(low, high), 2), b.Sub(high, low)


def to_corners(b, boxes):
    """Corners of centres and sizes, along the last axis."""
    centre, sides = split_coordinates(b, boxes)
    half = b.Div(sides, 2)
    return b.Concat(b.Sub(centre, half), b.Add(centre, half), axis=-1)


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
    """A size (number or 1-D Value), and no more than limit if that is positive, as the same."""
    if isinstance(size, int):
        return min(size, limit) if limit > 0 else size
    return b.Min(size, b.const([limit])) if limit > 0 else size


def take_rows(b, rows, order, shape=None):
    """Rows (N, A, k) in another order (N, K) of each batch: (N, K, k). shape: (N, A, k) as far as it is known, by default that of
    rows."""
    images, count, width = shape or rows.shape or (UNKNOWN,) * 3
    if isinstance(images, int) and images == 1:
        return b.Gather(rows, b.squeeze(order, [0]), axis=1)
    if isinstance(images, int) and isinstance(count, int):
        flat = b.reshape(rows, [images * count, -1])
        return b.Gather(flat, b.Add(order, b.const(np.arange(images)[:, None] * count)), axis=0)
    to = [1, 1, width] if isinstance(width, int) else b.dims(1, 1, b.shape_of(rows, 2))
    return b.GatherElements(rows, b.Expand(b.unsqueeze(order, [2]), to), axis=1)


def falling(b, count):
    """(1, count) float32: count, count - 1, ... 1."""
    if isinstance(count, int):
        return b.const(np.arange(count, 0, -1, dtype=np.float32)[None])
    return b.unsqueeze(b.cast(b.Range(b.squeeze(count, [0]), 0, -1), np.float32), [0])


def choose(b, chosen, count):
    """Keys that sort by whether something is chosen, and then by position: chosen bool (N, count) -> float32 (N, count), positive
    for those chosen, no two of a row equal: which of equals comes first OpenVINO and MNN settle otherwise than ONNX."""
    down = falling(b, count)
    return b.Where(
        chosen, down, b.Sub(down, _above(b, count)) if down.const is None else down.const - np.float32(count + 1)
    )


def _above(b, count):
    return b.cast(b.Add(count, 1), np.float32)


def chosen_first(b, key, size):
    """Positions (N, size) of what is chosen, in order, and after it of what is not; bool (N, size), True for those chosen. key: as
    ``choose`` and ``greedy_nms`` make it."""
    found, order = b.TopK(key, b.dims(size), axis=1, outputs=2)
    return order, b.Greater(found, 0)


def greedy_nms(b, boxes, alive, same, threshold, *, images, count, inclusive=False):
    """Greedy suppression of boxes (N, K, 4), corners, best first: keys (N, K) as ``choose`` makes them, positive for those that
    stay.

    images, count: N and K, numbers or 1-D Values. alive: bool (N, K), those that take part. same: None, or bool (N, C, K), for
    every class which boxes belong to it. NonMaxSuppression picks by score, so the scores are the positions counted from the end;
    the boxes of other classes, and those not alive, have none. In which order it gives what it picks, and how many there are, does
    not matter: they are marked by position. It suppresses above the threshold, so MXNet's "at" is the float just below; where it
    suppresses at the threshold too (``Forms.suppresses_at``), MXNet's "above" is the float just above. It swaps corners that are
    the wrong way round, where MXNet sees an empty box: such a box loses its extent, and overlaps with nothing."""
    if threshold < 0:
        raise Unsupported(f"overlap threshold {threshold}: a negative one suppresses all but the best; use 0 or more")
    limit = np.float32(threshold)
    if inclusive != b.forms.suppresses_at:
        limit = np.nextafter(limit, np.float32(-1 if inclusive else 2))
    if limit > 1:
        return choose(b, alive, count)
    boxes = b.cast(boxes, np.float32)
    low, high = split_coordinates(b, boxes)
    proper = b.Concat(low, b.Max(high, low), axis=2)
    if may_hold_nan(b, boxes):  # NaN overlaps with nothing either; nor does infinity, which may add up to it
        total = b.reduce("Sum", boxes, [2], keepdims=True)
        proper = b.Where(b.Equal(total, total), proper, 0)
    down = falling(b, count)
    member = b.unsqueeze(alive, [1])
    scores = b.Where(member if same is None else b.And(member, same), down, 0)
    most = b.const([count]) if isinstance(count, int) else count
    # (M, 3): batch, class, box
    picked = b.NonMaxSuppression(proper, scores, most, b.const([limit], np.float32), b.const([0.5], np.float32))
    place = b.cast(b.Gather(picked, 2, axis=1), np.float32)
    keys = b.Sub(b.const(count, np.float32) if isinstance(count, int) else b.cast(count, np.float32), place)
    if isinstance(images, int) and isinstance(count, int):
        rest = b.const(np.tile(np.arange(-1, -count - 1, -1, dtype=np.float32), (images, 1)))
    else:
        rest = b.Expand(b.Sub(down, _above(b, count) if down.const is None else np.float32(count + 1)), b.Shape(alive))
    return b.ScatterND(rest, b.Gather(picked, [0, 2], axis=1), keys)


@exports("_contrib_MultiBoxDetection")
def export_contrib_multi_box_detection(b, op, scores, offsets, anchor):
    classes = scores.dim(1) - 1
    if classes < 1:
        raise Unsupported("cls_prob holds the background only: nothing can be detected")
    images, count, least = b.size(scores, 0), b.size(scores, 2), b.like(-1, scores)
    shape = (scores.shape[0], scores.shape[2], 6)
    scores = b.slice(scores, [1], [_END], [1])
    scores = without_nan(b, scores, -1)
    score, best = b.reduce("Max", scores, [1], keepdims=False), b.ArgMax(scores, axis=1, keepdims=0)
    limit = np.nextafter(scores.dtype.type(op.threshold), scores.dtype.type(-np.inf))  # the threshold itself suffices
    valid = b.Greater(score, b.like(max(limit, -1), score))
    boxes = _decode(b, b.reshape(offsets, [0, -1, 4]), anchor, op.variances, "corner")
    if op.clip:
        boxes = b.Clip(boxes, 0, 1)
    rows = b.Concat(b.unsqueeze(b.cast(best, scores.dtype), [2]), b.unsqueeze(score, [2]), boxes, axis=2)
    in_place = choose(b, valid, count)  # without suppression rows stay in the order of anchors

    if not 0 < op.nms_threshold <= 1:
        order, shown = chosen_first(b, in_place, count)
        return b.Where(b.unsqueeze(shown, [2]), take_rows(b, rows, order, shape), least)
    size = limit_size(b, count, op.nms_topk)
    found, order = in_order(b, b.wide(b.Where(valid, score, least)), count, size)
    alive = b.Greater(found, -1)
    kept = take_rows(b, rows, order, shape)
    ids = b.slice(kept, [0], [1], [2])
    same = None
    if not op.force_suppress and classes > 1:
        same = b.Equal(b.transpose(ids, [0, 2, 1]), b.like(np.arange(classes)[:, None], ids))
    corners = b.slice(kept, [2], [6], [2])
    key = greedy_nms(b, corners, alive, same, op.nms_threshold, images=images, count=size, inclusive=True)
    ids = b.Where(b.unsqueeze(b.Greater(key, 0), [2]), ids, least)
    out = b.Where(b.unsqueeze(alive, [2]), b.Concat(ids, b.slice(kept, [1], [6], [2]), axis=2), least)
    if size is count or size == count:
        return out
    # rows past the topk best are what compacting left there, without a class
    order, shown = chosen_first(b, in_place, count)
    order, shown = (b.slice(x, b.dims(size), [_END], [1]) for x in (order, shown))
    rest = b.slice(rows, [1], [6], [2])
    past = b.Where(b.unsqueeze(shown, [2]), take_rows(b, rest, order, (*shape[:2], 5)), least)
    if is_known(shape[:2]):
        past = b.Concat(b.like(np.full((images, count - size, 1), -1), scores), past, axis=2)
    else:
        past = b.Pad(past, [0, 0, 1, 0, 0, 0], least)
    return b.Concat(out, past, axis=1)


@exports("_contrib_box_nms")
def export_contrib_box_nms(b, op, data):
    if op.topk == 0 or any(isinstance(n, int) and n == 0 for n in data.shape or ()):
        return b.Identity(data)
    rows, count, width = data, b.size(data, data.rank - 2), data.dim(-1)
    lead = data.sizes[:-2]
    images = math.prod(lead) if is_known(lead) else UNKNOWN
    if data.rank != 3:
        rows = b.reshape(data, b.dims(-1, count, width))
    shape = (images, data.sizes[-2], width)
    least = b.like(-1, data)
    score = b.Gather(rows, op.score_index, axis=2)
    valid = b.Greater(score, op.valid_thresh)
    if op.id_index >= 0:
        kind = b.Gather(rows, op.id_index, axis=2)
        valid = b.And(valid, b.Not(b.Equal(kind, b.like(op.background_id, kind))))
    floor = b.like(op.valid_thresh, score)
    size = limit_size(b, count, op.topk)
    found, order = in_order(b, b.wide(b.Where(valid, score, floor)), count, size)
    alive, rows = b.Greater(found, b.wide(floor)), take_rows(b, rows, order, shape)
    same = None
    if op.by_class:
        kind = b.cast(b.Gather(rows, op.id_index, axis=2), np.float64 if data.dtype == np.float64 else np.float32)
        same = same_class(b, kind, size, values_of_column(b, op.id_index, op.background_id))
    first = op.coord_start
    boxes = b.slice(rows, [first], [first + 4], [2])
    corners = boxes if op.in_format == "corner" else to_corners(b, boxes)
    key = greedy_nms(b, corners, alive, same, op.overlap_thresh, images=images, count=size)
    if op.in_format != op.out_format:
        reformed = b.Concat(*to_centres(b, boxes), axis=2) if op.out_format == "center" else corners
        boxes = b.Where(b.Less(b.slice(boxes, [0], [1], [2]), 0), boxes, reformed)
        parts = [b.slice(rows, [0], [first], [2])] if first else []
        parts.append(boxes)
        if first + 4 < width:
            parts.append(b.slice(rows, [first + 4], [_END], [2]))
        rows = b.Concat(*parts, axis=2) if len(parts) > 1 else boxes
    order, shown = chosen_first(b, key, size)
    out = b.Where(b.unsqueeze(shown, [2]), take_rows(b, rows, order, (images, size, width)), least)
    if isinstance(count, int) and isinstance(images, int):
        missing = b.like(np.full((images, count - size, width), -1), data)
        out = b.Concat(out, missing, axis=1) if count > size else out
    elif size is not count and size != count:
        missing = count - size if isinstance(count, int) else b.Sub(count, size)
        out = b.Pad(out, b.dims(0, 0, 0, 0, missing, 0), least)
    return out if data.rank == 3 else b.reshape(out, b.dims(*(b.size(data, a) for a in range(data.rank))))


def values_of_column(b, column, background):
    """The classes that a column of the rows to suppress may hold, without the background; None where that cannot be told."""
    node, inference = b.origin
    found = possible_values(node.inputs[0], inference, column)
    return None if found is None else found[found != background]


def same_class(b, kind, size, classes):
    """bool (N, C, K): for every class which of the rows, whose classes are kind (N, K), belong to it.

    classes: those that there are. Where they are not known each row stands for a class if none before it is of the same, as long as
    that are not too many rows; else the classes that occur are looked for."""
    row = b.unsqueeze(kind, [1])
    if classes is not None:
        return b.Equal(row, b.like(classes[:, None], kind))
    if not isinstance(size, int) or size > _PAIRED:
        return b.Equal(row, b.unsqueeze(b.Unique(kind), [1]))
    equal = b.Equal(b.unsqueeze(kind, [2]), row)  # N, K, K
    down = np.arange(size, 0, -1, dtype=np.float32)
    first = b.reduce("Max", b.Where(equal, b.const(down), 0), [2], keepdims=True)
    return b.And(equal, b.Equal(first, b.const(down[:, None])))


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
    return without_nan(b, iou, 0)  # 0/0, of two empty boxes


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
