"""Region proposals of Faster R-CNN."""

import numpy as np

from ..core.attrs import Count
from ..core.op import Domain, Op, op
from ..core.shapes import UNKNOWN, merge
from .common import want_rank, want_some


class _Proposals(Op):
    """Boxes that may hold objects, from scores and offsets of anchors on a feature map.

    Shapes: cls_prob (N, 2*A, H, W) (background, then foreground, per anchor), bbox_pred (N, 4*A, H, W), im_info (N, 3) of
    [height, width, scale] -> (N * rpn_post_nms_top_n, 5) of [image, corners], and with output_score (..., 1) scores; A is
    len(ratios) * len(scales). Boxes are cut to the image; those smaller than rpn_min_size times the scale, and cells outside
    the image, have score -1. The best rpn_pre_nms_top_n (all when not positive) are suppressed above threshold; when fewer
    than wanted stay they are repeated in order. Corners are inclusive pixels. Source: MXNet Proposal, MultiProposal; Ren et
    al., Faster R-CNN, arXiv:1506.01497."""

    meanings = {
        "threshold": "Overlap above which the worse of two boxes is dropped.",
        "ratios": "Heights of anchors over their widths.",
    }

    exception = "chooses among boxes, or makes them, in steps of its own"

    is_ordering = True

    rpn_pre_nms_top_n: int = 6000
    rpn_post_nms_top_n: int = 300
    threshold: float = 0.7
    rpn_min_size: int = 16
    scales: tuple[float, ...] = (4.0, 8.0, 16.0, 32.0)
    ratios: tuple[float, ...] = (0.5, 1.0, 2.0)
    feature_stride: Count = 16
    output_score: bool = False
    iou_loss: bool = False

    inputs = ("cls_prob", "bbox_pred", "im_info")

    def check(self):
        if not self.scales or not self.ratios or self.rpn_post_nms_top_n < 1:
            return "needs scales, ratios and a positive rpn_post_nms_top_n"
        return None

    def output_names(self):
        return ("output", "score")

    def num_visible_outputs(self):
        return 2 if self.output_score else 1

    def infer_input_shapes(self, shapes, outputs):
        scores, offsets, info = shapes
        if scores is None:
            return shapes
        want_rank(self, scores, 4, what="cls_prob")
        want_some(self, scores, *range(4), what="cls_prob")
        count = len(self.scales) * len(self.ratios)
        batch, _, *cells = scores
        scores = merge(scores, (UNKNOWN, 2 * count, UNKNOWN, UNKNOWN))
        return [scores, merge(offsets, (batch, 4 * count, *cells)), merge(info, (batch, 3))]

    def infer_type(self, *dtypes):
        if dtypes[0] != np.float32:
            raise self.error(f"got cls_prob of dtype {dtypes[0]}, wanted float32; cast it")
        return [dtypes[0], dtypes[0]]

    def domain(self, name, shapes):
        scores = shapes[0]
        if name != "im_info" or scores is None or any(d is UNKNOWN for d in scores[2:]):
            return None
        return Domain(1, min(scores[2:]) * self.feature_stride)

    def infer_shape(self, scores, offsets, info):
        rows = scores[0] * self.rpn_post_nms_top_n
        return [(rows, 5), (rows, 1)]

    def base_anchors(self) -> np.ndarray:
        """The anchors of the first cell, (A, 4) float32."""
        side = np.float32(self.feature_stride)
        middle = np.float32(0.5) * (side - 1)
        out = []
        for ratio in map(np.float32, self.ratios):
            base = np.floor(np.sqrt(np.floor(side * side / ratio)) + np.float32(0.5))
            for scale in map(np.float32, self.scales):
                width = base * scale
                height = np.floor(base * ratio + np.float32(0.5)) * scale
                half = np.float32(0.5) * (np.array([width, height], np.float32) - 1)
                out.append(np.concatenate([middle - half, middle + half]))
        return np.array(out, np.float32)

    def anchors(self, height: int, width: int) -> np.ndarray:
        """All anchors, (H * W * A, 4) float32."""
        y, x = np.float32(self.feature_stride) * np.mgrid[:height, :width].astype(np.float32)
        shift = np.stack([x, y, x, y], axis=-1)[:, :, None]
        return (shift + self.base_anchors()).reshape(-1, 4)

    def compute(self, scores, offsets, info):
        _, double, height, width = scores.shape
        count = double // 2
        anchors = self.anchors(height, width)
        rows, kept_scores = [], []
        for index, (one, deltas, (high, wide, scale)) in enumerate(zip(scores, offsets, info)):
            real = int(high / self.feature_stride), int(wide / self.feature_stride)
            if real[0] > height or real[1] > width:
                raise self.error(f"got a map of {(height, width)} cells for an image of {real}; wanted no fewer")
            score = one[count:].transpose(1, 2, 0).copy()
            score[real[0] :] = -1
            score[:, real[1] :] = -1
            score = score.reshape(-1)
            deltas = deltas.reshape(count, 4, height, width).transpose(2, 3, 0, 1).reshape(-1, 4)
            boxes = self._boxes(anchors, deltas, np.array([wide, high, wide, high]) - np.float32(1))
            least = np.float32(self.rpn_min_size) * scale
            small = (boxes[:, 2:] - boxes[:, :2] + 1 < least).any(axis=1)
            boxes[small] += np.array([-0.5, -0.5, 0.5, 0.5], np.float32) * least
            score[small] = -1
            limit = self.rpn_pre_nms_top_n if self.rpn_pre_nms_top_n > 0 else None
            order = np.argsort(-score, kind="stable")[:limit]
            boxes, score = boxes[order], score[order]
            stays = self._stays(boxes)
            chosen = stays[np.arange(self.rpn_post_nms_top_n) % len(stays)]
            rows.append(np.concatenate([np.full((len(chosen), 1), index, boxes.dtype), boxes[chosen]], axis=1))
            kept_scores.append(score[chosen, None])
        return np.concatenate(rows), np.concatenate(kept_scores)

    def _boxes(self, anchors, deltas, last):
        """Anchors moved by deltas, (x1, y1, x2, y2) each, and cut to pixels 0 to last."""
        if self.iou_loss:
            boxes = anchors + deltas
        else:
            sides = anchors[:, 2:] - anchors[:, :2] + 1
            centres = anchors[:, :2] + np.float32(0.5) * (sides - 1)
            centres = deltas[:, :2] * sides + centres
            half = np.float32(0.5) * (np.exp(deltas[:, 2:]) * sides - 1)
            boxes = np.concatenate([centres - half, centres + half], axis=1)
        return np.clip(boxes, 0, last)

    def _stays(self, boxes):
        """Positions of the boxes that survive suppression, at most rpn_post_nms_top_n."""
        sides = boxes[:, 2:] - boxes[:, :2] + 1
        areas = sides[:, 0] * sides[:, 1]
        alive, found = np.ones(len(boxes), bool), []
        for i in range(len(boxes)):
            if not alive[i]:
                continue
            found.append(i)
            if len(found) == self.rpn_post_nms_top_n:
                break
            low, high = np.maximum(boxes[i, :2], boxes[i + 1 :, :2]), np.minimum(boxes[i, 2:], boxes[i + 1 :, 2:])
            shared = np.maximum(high - low + 1, 0).prod(axis=1)
            alive[i + 1 :] &= ~(shared / (areas[i] + areas[i + 1 :] - shared) > np.float32(self.threshold))
        return np.array(found)

    def gradient(self, F, dy, *arrays):
        return None  # in MXNet too

    @classmethod
    def examples(cls, make):
        small = {"scales": (1, 2), "ratios": (0.5, 1), "rpn_post_nms_top_n": 4, "rpn_min_size": 4}
        yield make(make.uniform(1, 8, 3, 4), make.uniform(1, 16, 3, 4), np.array([[48, 64, 1]], np.float32), **small)


@op("_contrib_Proposal")
class Proposal(_Proposals):
    __doc__ = _Proposals.__doc__

    def infer_shape(self, scores, offsets, info):
        if scores[0] is not UNKNOWN and scores[0] != 1:
            raise self.error(f"got a batch of {scores[0]}, wanted one image; _contrib_MultiProposal takes several")
        return super().infer_shape(scores, offsets, info)


@op("_contrib_MultiProposal")
class MultiProposal(_Proposals):
    __doc__ = _Proposals.__doc__
