"""Resampling, regions of interest, boxes."""

import math

import numpy as np

from fixtures.make.cases import uniform, values

from ..space import opt, space

BOOL = opt(True, False)
TWO = ["float32", "float64"]

space(
    "_contrib_AdaptiveAvgPooling2D",
    lambda a: [uniform(*a.shape, dtype=a.dtype)],
    {"output_size": opt("()", 1, 2, 3, (1,), (2, 3), (5, 4), (7, 2), (1, 1))},
    {"shape": [(2, 2, 5, 4), (1, 3, 6, 6), (1, 1, 1, 1)], "dtype": TWO},
)
space(
    "_contrib_BilinearResize2D",
    lambda a: [
        uniform(1, 2, *a.size, dtype=a.dtype),
        *([uniform(1, 1, 5, 6, dtype=a.dtype)] if a.mode == "like" else []),
    ],
    {
        "height": opt(1, 5, 3),
        "width": opt(2, 7, 1),
        "scale_height": opt("None", 2.0, 0.5, 1.7),
        "scale_width": opt("None", 1.5, 0.6),
        "mode": opt("size", "odd_scale", "like", "to_even_down", "to_even_up", "to_odd_down", "to_odd_up"),
        "align_corners": BOOL,
    },
    {"size": [(3, 4), (4, 5), (6, 6), (1, 1)], "dtype": TWO},
    where=lambda a: isinstance(a.scale_height, float) == isinstance(a.scale_width, float),
)
space(
    "GridGenerator",
    lambda a: [uniform(2, 6, dtype=a.dtype) if a.transform_type == "affine" else uniform(2, 2, 3, 4, dtype=a.dtype)],
    {"transform_type": ["affine", "warp"], "target_shape": [(3, 4), (2, 2), (1, 5), (4, 3)]},
    {"dtype": TWO},
)
space(
    "BilinearSampler",
    lambda a: [uniform(2, 2, *a.size, dtype=a.dtype), uniform(2, 2, 3, 4, low=-1.5, high=1.5, dtype=a.dtype)],
    {"cudnn_off": opt("None", True, False)},
    {"size": [(4, 5), (2, 2), (1, 3)], "dtype": TWO},
)
space(
    "SpatialTransformer",
    lambda a: [uniform(2, 2, 4, 5, dtype=a.dtype), uniform(2, 6, dtype=a.dtype)],
    {
        "target_shape": [(3, 4), (2, 2), (5, 1)],
        "transform_type": ["affine"],
        "sampler_type": ["bilinear"],
        "cudnn_off": opt("None", True),
    },
    {"dtype": TWO},
)
space(
    "Correlation",
    lambda a: [uniform(2, 2, 6, 7, dtype=a.dtype), uniform(2, 2, 6, 7, dtype=a.dtype)],
    {
        "kernel_size": opt(1, 3),
        "max_displacement": opt(1, 2),
        "stride1": opt(1, 2),
        "stride2": opt(1, 2),
        "pad_size": opt(0, 1, 3),
        "is_multiply": BOOL,
    },
    {"dtype": ["float32"]},
)


def regions(rng):
    """Regions of two images of about 8x8, some partly outside, some with halves; all have an area."""
    low = rng.randint(-4, 12, (5, 2)) / 2
    found = np.concatenate([rng.randint(0, 2, (5, 1)), low, low + 0.25 + rng.randint(0, 12, (5, 2)) / 2], 1)
    return found.astype("float32")


space(
    "ROIPooling",
    lambda a: [uniform(2, 2, 6, 7, dtype=a.dtype), (lambda rng: regions(rng).astype(a.dtype))],
    {"pooled_size": [(1, 1), (2, 3), (4, 4), (3, 2)], "spatial_scale": [1.0, 0.5, 0.25, 0.0625]},
    {"dtype": TWO},
)
space(
    "_contrib_ROIAlign",
    lambda a: [
        uniform(2, 2 * (math.prod(a.pooled_size) if a.position_sensitive else 1), 6, 7, dtype=a.dtype),
        (lambda rng: regions(rng).astype(a.dtype)),
    ],
    {
        "pooled_size": [(1, 1), (2, 2), (2, 3)],
        "spatial_scale": [1.0, 0.5, 0.25],
        "sample_ratio": opt(-1, 0, 1, 2, 3),
        "position_sensitive": BOOL,
        "aligned": BOOL,
    },
    {"dtype": TWO},
)
space(
    "_contrib_PSROIPooling",
    lambda a: [uniform(2, a.output_dim * (a.group_size or a.pooled_size) ** 2, 6, 7), regions],
    {"spatial_scale": [1.0, 0.5], "output_dim": [1, 2], "pooled_size": [1, 2, 3], "group_size": opt(0, 1, 2)},
)
space(
    "_contrib_RROIAlign",
    lambda a: [
        uniform(2, 2, 6, 7),
        values([[0, 3, 3, 4, 3, 0], [1, 2, 4, 3, 5, 30], [0, 4, 2, 6, 2, -45], [1, 3, 3, 2, 2, 90]]),
    ],
    {"pooled_size": [(1, 1), (2, 3)], "spatial_scale": [1.0, 0.5], "sampling_ratio": opt(-1, 1, 2)},
)

ANCHORS = [
    [0.1, 0.1, 0.4, 0.4],
    [0.12, 0.1, 0.42, 0.4],
    [0.5, 0.5, 0.9, 0.9],
    [0.52, 0.48, 0.9, 0.88],
    [0.0, 0.6, 0.3, 1.0],
    [0.6, 0.0, 1.0, 0.3],
]


def boxes(a):
    """Rows of class, score and box, columns in the order that the attributes say."""

    def make(rng):
        ids = rng.randint(-1, 3, (2, 9, 1))
        scores = rng.permutation(18).reshape(2, 9, 1) / 18 - 0.1
        low = rng.uniform(0, 0.5, (2, 9, 2))
        corners = np.concatenate([low, low + rng.uniform(0.2, 0.5, (2, 9, 2))], 2)
        start = 2 if a.coord_start is None else a.coord_start
        row = np.zeros((2, 9, 6))
        row[..., start : start + 4] = corners
        rest = [c for c in range(6) if not start <= c < start + 4]
        score = 1 if a.score_index is None else a.score_index
        row[..., score] = scores[..., 0]
        row[..., next(c for c in rest if c != score)] = ids[..., 0]
        return (row if a.rank == 3 else row[0] if a.rank == 2 else row.reshape(2, 1, 9, 6)).astype(a.dtype)

    return make


space(
    "_contrib_box_nms",
    lambda a: [boxes(a)],
    {
        "overlap_thresh": opt(0.3, 0.7, 0.0, 1.0),
        "valid_thresh": opt(0.2, -1, 2),
        "topk": opt(-1, 0, 1, 3, 100),
        "coord_start": opt(2, lambda a: 0 if a.score_index == 5 else 2),
        "score_index": opt(1, 5),
        "id_index": opt(-1, 0, lambda a: 4 if a.score_index == 5 else 0),
        "background_id": opt(-1, 0, 1),
        "force_suppress": BOOL,
        "in_format": opt("corner", "center"),
        "out_format": opt("corner", "center"),
    },
    {"rank": [2, 3, 4], "dtype": ["float32", "float64"]},
    where=lambda a: (
        ((a.score_index != 5) or (a.coord_start == 0 and a.id_index in (None, -1, 4)))
        and (a.score_index == 5 or a.id_index != 4)
    ),
)
space(
    "_contrib_box_iou",
    lambda a: [uniform(*a.shapes[0], 4, low=0, dtype=a.dtype), uniform(*a.shapes[1], 4, low=0, dtype=a.dtype)],
    {"format": opt("corner", "center")},
    {"shapes": [((3,), (2,)), ((2, 2), (3,)), ((), (3,)), ((2,), (2, 2))], "dtype": TWO},
)
space(
    "_contrib_box_decode",
    lambda a: [uniform(2, 6, 4, dtype=a.dtype), values([ANCHORS], a.dtype)],
    {
        "std0": opt(0.1),
        "std1": opt(0.2),
        "std2": opt(0.3),
        "std3": opt(2.0),
        "clip": opt(-1, 0.5, 0.0),
        "format": opt("corner", "center"),
    },
    {"dtype": TWO},
)
space(
    "_contrib_box_encode",
    lambda a: [
        values([[1, -1, 0, 1, 1, 0]], a.dtype),
        values([[0, 1, 0, 1, 2, 0]], a.dtype),
        values([ANCHORS], a.dtype),
        values([[[0.1, 0.1, 0.35, 0.45], [0.5, 0.5, 0.8, 0.95], [0.0, 0.5, 0.4, 1.0]]], a.dtype),
        values(a.means, a.dtype),
        values(a.stds, a.dtype),
    ],
    {},
    {"means": [(0, 0, 0, 0), (0.1, -0.1, 0.2, 0)], "stds": [(1, 1, 1, 1), (0.1, 0.1, 0.2, 0.2)], "dtype": TWO},
)
space(
    "_contrib_bipartite_matching",
    lambda a: [uniform(*a.shape, low=0, dtype=a.dtype)],
    {"is_ascend": BOOL, "threshold": [1e-12, 0.35, 0.7], "topk": opt(-1, 1, 2)},
    {"shape": [(3, 2), (2, 4, 3)], "dtype": TWO},
)
space(
    "_contrib_MultiBoxPrior",
    lambda a: [uniform(1, 2, *a.size)],
    {
        "sizes": opt((0.5,), (0.2, 0.7), (1.5, 0.3)),
        "ratios": opt((1,), (1, 2, 0.5), (2, 1)),
        "clip": BOOL,
        "steps": opt((-1, -1), (0.2, 0.3)),
        "offsets": opt((0.0, 1.0), (0.25, 0.75)),
    },
    {"size": [(3, 3), (2, 4)]},
)


def probabilities(*shape):
    def make(rng):
        raw = np.exp(rng.uniform(-2, 2, shape))
        return (raw / raw.sum(1, keepdims=True)).astype("float32")

    return make


space(
    "_contrib_MultiBoxDetection",
    lambda a: [probabilities(a.batch, 4, 6), uniform(a.batch, 24, low=-0.5, high=0.5), values([ANCHORS])],
    {
        "clip": BOOL,
        "threshold": opt(0.3, 0.0),
        "background_id": opt(0),
        "nms_threshold": opt(0.2, 0.9, -1.0),
        "force_suppress": BOOL,
        "variances": opt((0.2, 0.3, 0.1, 0.4), (1, 1, 1, 1)),
        "nms_topk": opt(-1, 2, 4, 100),
    },
    {"batch": [1, 2]},
)
space(
    "_contrib_MultiBoxTarget",
    lambda a: [
        values([ANCHORS]),
        values([[[0, 0.1, 0.1, 0.38, 0.42], [1, 0.5, 0.45, 0.9, 0.9], [-1, -1, -1, -1, -1]]]),
        uniform(1, 3, 6, low=-2, high=2),
    ],
    {
        "overlap_threshold": opt(0.3, 0.95),
        "ignore_label": opt(-5.0),
        "negative_mining_ratio": opt(-1, 3.0, 1.0),
        "negative_mining_thresh": opt(0.1),
        "minimum_negative_samples": opt(0),
        "variances": opt((0.2, 0.3, 0.1, 0.4)),
    },
)
space(
    "_contrib_Proposal _contrib_MultiProposal",
    lambda a: [
        uniform(1, 2 * len(a.scales) * len(a.ratios), 4, 5, low=0, high=1),
        uniform(1, 4 * len(a.scales) * len(a.ratios), 4, 5, low=-0.4, high=0.4),
        values([[4 * a.feature_stride, 5 * a.feature_stride, a.scale]]),
    ],
    {
        "rpn_pre_nms_top_n": [40, 5, -1],
        "rpn_post_nms_top_n": [6, 30],
        "threshold": opt(0.3),
        "rpn_min_size": [4, 16, 40],
        "scales": [(1, 2), (2,), (4, 8)],
        "ratios": [(0.5, 1), (1,), (0.5, 1, 2)],
        "feature_stride": [16, 8],
        "output_score": BOOL,
        "iou_loss": BOOL,
    },
    {"scale": [1.0, 2.0]},
)
