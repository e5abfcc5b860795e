"""Region proposals: sorting, and NonMaxSuppression on boxes whose inclusive last pixel became an exclusive end."""

import numpy as np

from ..registry import exports
from .detection import chosen_first, greedy_nms, limit_size, split_coordinates, take_rows, without_nan
from .ordering import in_order


@exports("_contrib_Proposal", "_contrib_MultiProposal")
def export_contrib_proposal(b, op, scores, offsets, info):
    count, wanted = len(op.ratios) * len(op.scales), op.rpn_post_nms_top_n
    height, width = b.size(scores, 2), b.size(scores, 3)
    least = b.like(-1, scores)
    score = b.transpose(b.slice(scores, [count], [2 * count], [1]), [0, 2, 3, 1])  # N, H, W, A
    ticks = [_ticks(b, n) for n in (height, width)]
    for axis, tick in enumerate(ticks):
        real = b.Floor(b.Div(b.slice(info, [axis], [axis + 1], [1]), op.feature_stride))
        place = b.reshape(tick, [1, -1, 1, 1] if axis == 0 else [1, 1, -1, 1])
        score = b.Where(b.Less(place, b.reshape(real, [-1, 1, 1, 1])), score, least)
    score = b.reshape(score, [0, -1])
    deltas = b.transpose(b.reshape(offsets, [0, count, 4, -1]), [0, 3, 1, 2])
    boxes = _boxes(b, op, _anchors(b, op, height, width, ticks), b.reshape(deltas, [0, -1, 4]))
    last = b.unsqueeze(b.Sub(b.Gather(info, [1, 0, 1, 0], axis=1), 1), [1])
    boxes = b.Min(b.Max(boxes, b.like(0, boxes)), last)
    low, high = split_coordinates(b, boxes)
    limit = b.unsqueeze(b.Mul(b.slice(info, [2], [3], [1]), op.rpn_min_size), [1])  # N, 1, 1
    small = b.Less(b.reduce("Min", b.Add(b.Sub(high, low), 1), [2], keepdims=True), limit)
    boxes = b.Where(small, b.Add(boxes, b.Mul(b.like([-0.5, -0.5, 0.5, 0.5], boxes), limit)), boxes)
    score = b.Where(b.squeeze(small, [2]), least, score)
    number = height * width * count if isinstance(height, int) and isinstance(width, int) else b.shape_of(score, 1)
    size = limit_size(b, number, op.rpn_pre_nms_top_n)
    score = without_nan(b, score, -np.inf)  # sorted last, and part of nothing
    images = b.size(scores, 0)
    score, order = in_order(b, score, number, size)
    boxes = take_rows(b, boxes, order, (images, number, 4))
    ends = b.Add(boxes, b.like([0, 0, 1, 1], boxes))
    key = greedy_nms(b, ends, b.Greater(score, -np.inf), None, op.threshold, images=images, count=size)
    order, stays = chosen_first(b, key, size)
    total = b.reduce("Sum", b.cast(stays, np.int64), [1], keepdims=True)
    # when fewer stay than wanted they come round again
    place = b.GatherElements(order, b.Mod(b.const(np.arange(wanted)[None]), total), axis=1)
    boxes = take_rows(b, boxes, place, (images, size, 4))
    if isinstance(images, int):
        images = b.const(np.repeat(np.arange(images, dtype=np.float32), wanted).reshape(-1, wanted, 1))
    else:
        images = b.Expand(b.unsqueeze(b.cast(b.counting(images), boxes.dtype), [1, 2]), [1, wanted, 1])
    rows = b.reshape(b.Concat(images, boxes, axis=2), [-1, 5])
    return rows, b.reshape(b.GatherElements(score, place, axis=1), [-1, 1])


def _ticks(b, size):
    """0 to size - 1 as float32."""
    if isinstance(size, int):
        return b.const(np.arange(size, dtype=np.float32))
    return b.cast(b.counting(size), np.float32)


def _anchors(b, op, height, width, ticks):
    """(H * W * A, 4)"""
    if isinstance(height, int) and isinstance(width, int):
        return b.const(op.anchors(height, width))
    y, x = (b.Mul(t, op.feature_stride) for t in ticks)
    one = b.const([1, 0, 1, 0], np.float32)
    shift = b.Add(b.Mul(b.unsqueeze(x, [0, 2, 3]), one), b.Mul(b.unsqueeze(y, [1, 2, 3]), b.Sub(1, one)))
    return b.reshape(b.Add(shift, op.base_anchors()), [-1, 4])


def _boxes(b, op, anchors, deltas):
    """As _Proposals._boxes, before the cut to the image: (N, H * W * A, 4)."""
    if op.iou_loss:
        return b.Add(anchors, deltas)
    (low, high), (moves, growth) = split_coordinates(b, anchors), split_coordinates(b, deltas)
    sides = b.Add(b.Sub(high, low), 1)
    centres = b.Add(low, b.Mul(b.Sub(sides, 1), 0.5))
    centres = b.Add(b.Mul(moves, sides), centres)
    half = b.Mul(b.Sub(b.Mul(b.Exp(growth), sides), 1), 0.5)
    return b.Concat(b.Sub(centres, half), b.Add(centres, half), axis=2)
