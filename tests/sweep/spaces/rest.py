"""Pictures, older forms of layers, and what belongs nowhere else."""

from fixtures.make.cases import ints, ramp, uniform, values

from ..space import ABSENT, opt, space
from .nn import BATCH_NORM, batch_norm

BOOL = opt(True, False)
TWO = ["float32", "float64"]
PICTURE = {"batch": [0, 2], "dtype": ["uint8", "float32"]}


def picture(a):
    return [ints(*((a.batch,) if a.batch else ()), 4, 5, a.channels or 3, high=256, dtype=a.dtype)]


space("_image_to_tensor", picture, {}, PICTURE | {"channels": [1, 3]})
space(
    "_image_normalize",
    lambda a: [uniform(*((a.batch,) if a.batch else ()), a.channels, 3, 4, low=0)],
    {"mean": opt(0.5, (0.1, 0.2, 0.3), (0.4,)), "std": opt(0.5, (0.2, 0.3, 0.4), (2,))},
    {"batch": [0, 2], "channels": [1, 3]},
)
space("_image_crop", picture, {"x": [0, 1], "y": [0, 2], "width": [1, 3], "height": [2, 1]}, PICTURE)
space(
    "_image_resize",
    picture,
    {"size": [6, (6, 3), (8, 10), (5, 4)], "keep_ratio": BOOL, "interp": opt(0, 1)},
    PICTURE | {"dtype": ["float32"]},
)
space("_image_flip_left_right _image_flip_top_bottom", picture, {}, PICTURE)
space(
    "_image_adjust_lighting",
    lambda a: [ints(4, 5, 3, high=256, dtype=a.dtype)],
    {"alpha": [(0.1, -0.2, 0.05), (0, 0, 0)]},
    {"dtype": ["float32"]},
)
space(
    "Pooling_v1",
    lambda a: [uniform(2, 2, 6, 5, low=-2, dtype=a.dtype)],
    {
        "kernel": [(2, 2), (3, 2)],
        "pool_type": opt("max", "avg", "sum"),
        "global_pool": BOOL,
        "pooling_convention": opt("valid", "full"),
        "stride": opt((1, 1), (2, 2)),
        "pad": opt((0, 0), (1, 1)),
    },
    {"dtype": TWO},
)
space(
    "Convolution_v1",
    lambda a: [
        uniform(2, 4, 6, 5, dtype=a.dtype),
        uniform(4, 4 // (a.num_group or 1), *a.kernel, dtype=a.dtype),
        *([] if a.no_bias else [uniform(4, dtype=a.dtype)]),
    ],
    {
        "kernel": [(3, 3), (2, 1)],
        "stride": opt((2, 1)),
        "dilate": opt((1, 2)),
        "pad": opt((1, 1)),
        "num_filter": [4],
        "num_group": opt(2),
        "no_bias": BOOL,
    },
    {"dtype": TWO},
)
space(
    "BatchNorm_v1",
    lambda a: list(batch_norm(a)),
    BATCH_NORM,
    {"rank": [2, 4], "dtype": ["float32"]},
)
space(
    "_contrib_BatchNormWithReLU",
    lambda a: list(batch_norm(a)),
    BATCH_NORM | {"axis": opt(1)},
    {"rank": [2, 4], "dtype": ["float32"]},
)
space(
    "_contrib_SyncBatchNorm",
    lambda a: list(batch_norm(a)),
    BATCH_NORM | {"key": ["k"], "ndev": opt(1)},
    {"rank": [2, 4], "dtype": ["float32"]},
)
space(
    "_contrib_SparseEmbedding",
    lambda a: [ints(*a.shape, high=4), uniform(4, 3)],
    {"input_dim": [4], "output_dim": [3], "dtype": opt("float32")},
    {"shape": [(5,), (2, 3)]},
)
space(
    "col2im",
    lambda a: [uniform(2, 8, 9)],
    {"output_size": [(4, 4)], "kernel": [(2, 2)], "stride": opt((1, 1)), "dilate": opt((1, 1)), "pad": opt((0, 0))},
)
space(
    "_contrib_allclose",
    lambda a: [uniform(3, 4), uniform(3, 4)],
    {"rtol": opt(0.1, 5), "atol": opt(0.1, 5), "equal_nan": BOOL},
)
space(
    "_contrib_fft", lambda a: [uniform(*a.shape)], {"compute_size": opt(64)}, {"shape": [(2, 4), (3, 5), (1, 2, 3, 4)]}
)
space(
    "_contrib_ifft", lambda a: [uniform(*a.shape)], {"compute_size": opt(64)}, {"shape": [(2, 4), (3, 6), (1, 2, 3, 4)]}
)
space(
    "_contrib_count_sketch",
    lambda a: [uniform(3, 5), ints(1, 5, high=4), values([[1, -1, 1, 1, -1]])],
    {"out_dim": [4, 6], "processing_batch_size": opt(2)},
)
space("_square_sum", lambda a: [uniform(3, 4)], {"axis": opt(0, 1, (1,)), "keepdims": BOOL, "exclude": opt(False)})
space("cast_storage", lambda a: [uniform(3, 4)], {"stype": ["default"]})
space("_copyto", lambda a: [uniform(3, 4)], {})
space("_onehot_encode", lambda a: [values([1, 0, 2]), uniform(3, 4)], {})
space("_zeros_without_dtype", lambda a: [], {"shape": [(2, 3)], "dtype": opt(-1, 0)})
space("_sparse_retain", lambda a: [ramp(4, 3), values([0, 2])], {})
QUANTISED = {"dtype": ["int8", "uint8"], "range": [(-1.5, 2.0), (0.0, 3.0)]}
space(
    "_contrib_quantize",
    lambda a: [uniform(3, 4, low=-2, high=3), values([a.range[0]]), values([a.range[1]])],
    {"out_type": opt("uint8", "int8")},
    {"range": [(-1.5, 2.0), (0.0, 3.0), (-4, 4)]},
)
space(
    "_contrib_quantize_v2",
    lambda a: [uniform(3, 4, low=-2, high=3)],
    {
        "out_type": opt("int8", "uint8", "auto"),
        "min_calib_range": opt("None", -1.5, 0.0),
        "max_calib_range": [lambda a: 2.5 if isinstance(a.min_calib_range, float) else a.get("min_calib_range")],
    },
)
space(
    "_contrib_dequantize",
    lambda a: [
        ints(3, 4, low=-100 if a.dtype == "int8" else 0, high=100, dtype=a.dtype),
        values([a.range[0]]),
        values([a.range[1]]),
    ],
    {"out_type": opt("float32")},
    QUANTISED,
)
space(
    "_contrib_requantize",
    lambda a: [ints(3, 4, low=-(10**8), high=10**8, dtype="int32"), values([-5.0]), values([5.0])],
    {
        "out_type": opt("int8"),
        "min_calib_range": opt("None", -0.2),
        "max_calib_range": [lambda a: 0.3 if isinstance(a.min_calib_range, float) else a.get("min_calib_range")],
    },
)
space(
    "_contrib_DeformableConvolution",
    lambda a: [
        uniform(1, 4, 5, 6),
        uniform(1, 18 * (a.num_deformable_group or 1), *a.out, low=-1.5, high=1.5),
        uniform(2, 4 // (a.num_group or 1), 3, 3),
        *([] if a.no_bias else [uniform(2)]),
    ],
    {
        "kernel": [(3, 3)],
        "stride": [lambda a: ABSENT if a.out == (5, 6) else (2, 2)],
        "pad": [(1, 1)],
        "num_filter": [2],
        "num_group": opt(2),
        "num_deformable_group": opt(2),
        "no_bias": BOOL,
    },
    {"out": [(5, 6), (3, 3)]},
)
