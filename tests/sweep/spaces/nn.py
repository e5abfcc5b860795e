"""Layers: convolution, pooling, dense, normalisation, activation, softmax, recurrent, embedding."""

import numpy as np

from fixtures.make.cases import away, ints, uniform, values

from ..space import ABSENT, each, opt, space

BOOL = opt(True, False)
FLOATS = ["float32", "float64", "float16"]
SHAPES = {1: (5,), 2: (3, 4), 3: (2, 3, 4), 4: (2, 3, 4, 5), 5: (1, 2, 3, 2, 2)}


def rank(a):
    return SHAPES[a.rank]


def layouts(first, last):
    return [ABSENT, "None", lambda a: first[a.nd - 1], lambda a: last[a.nd - 1]]


def is_last(a):
    return (a.layout or "None") in ("NWC", "NHWC", "NDHWC")


def placed(a, channels, size):
    """A shape of two pictures in the layout."""
    return (2, *size[: a.nd], channels) if is_last(a) else (2, channels, *size[: a.nd])


FIRST, LAST = ("NCW", "NCHW", "NCDHW"), ("NWC", "NHWC", "NDHWC")


def convolution(a):
    group = a.num_group or 1
    kernel = (*a.kernel, 4 // group) if is_last(a) else (4 // group, *a.kernel)
    yield uniform(*placed(a, 4, (6, 5, 4)), dtype=a.dtype)
    yield uniform(a.num_filter, *kernel, dtype=a.dtype)
    if not a.no_bias:
        yield uniform(a.num_filter, dtype=a.dtype)


CONVOLUTION = {
    "kernel": [each(3, 2, 2), each(1, 1, 1), each(2, 3, 1)],
    "stride": opt(each(1, 1, 1), each(2, 2, 2), each(1, 2, 3)),
    "dilate": opt(each(1, 1, 1), each(2, 2, 1), each(1, 2, 3)),
    "pad": opt(each(0, 0, 0), each(1, 1, 1), each(2, 0, 1)),
    "num_filter": [4, 2, 8],
    "num_group": opt(1, 2, 4),
    "no_bias": BOOL,
    "layout": layouts(FIRST, LAST),
    "workspace": opt(0),
    "cudnn_tune": opt("None", "off"),
    "cudnn_off": BOOL,
}
PICTURES = {"nd": [2, 1, 3], "dtype": ["float32", "float32", "float64"]}
space(
    "Convolution",
    lambda a: list(convolution(a)),
    CONVOLUTION,
    PICTURES,
    where=lambda a: a.num_filter % (a.num_group or 1) == 0,
)


def deconvolution(a):
    group = a.num_group or 1
    filters = a.num_filter // group
    yield uniform(*placed(a, 4, (4, 3, 2)), dtype=a.dtype)
    yield uniform(4, *((*a.kernel, filters) if is_last(a) else (filters, *a.kernel)), dtype=a.dtype)
    if a.no_bias is False:
        yield uniform(a.num_filter, dtype=a.dtype)


space(
    "Deconvolution",
    lambda a: list(deconvolution(a)),
    {
        **CONVOLUTION,
        "kernel": [each(3, 2, 2), each(1, 1, 1), each(2, 3, 1), each(4, 4, 3)],
        "adj": opt(each(0, 0, 0), each(1, 1, 1), each(1, 0, 0)),
        "target_shape": [ABSENT, ABSENT, each(0, 0, 0), each(7, 6, 4), each(8, 5, 3)],
    },
    PICTURES,
    where=lambda a: (
        a.num_filter % (a.num_group or 1) == 0
        and all(j < s for j, s in zip(a.adj or (), a.stride or (1, 1, 1)))
        and (not a.target_shape or set(a.dilate or [1]) == {1})  # no witness: oneDNN refuses, the own kernel is wrong
    ),
)

space(
    "Pooling",
    lambda a: [uniform(*placed(a, 2, (6, 5, 4)), low=-2, dtype=a.dtype)],
    {
        "kernel": [each(3, 2, 2), each(2, 2, 2), each(1, 1, 1), each(2, 3, 1), ABSENT],
        "pool_type": opt("max", "avg", "sum", "lp"),
        "global_pool": BOOL,
        "pooling_convention": opt("valid", "full", "same"),
        "stride": opt(each(1, 1, 1), each(2, 2, 2), each(1, 2, 3)),
        "pad": opt(each(0, 0, 0), each(1, 1, 1), each(1, 0, 1)),
        "p_value": opt("None", 1, 2, 3),
        "count_include_pad": opt("None", True, False),
        "layout": layouts(FIRST, LAST),
        "cudnn_off": BOOL,
    },
    {"nd": [2, 1, 3], "dtype": ["float32", "float32", "float64", "float16"]},
)
space(
    "Pooling",
    lambda a: [ints(2, 3, 5, 6, low=-50, high=50, dtype=a.dtype)],
    {"kernel": [(2, 2), (3, 2)], "pool_type": ["max", "avg", "sum"], "stride": opt((2, 2)), "pad": opt((1, 1))},
    {"dtype": ["int8", "int32", "uint8"]},
)
space(
    "FullyConnected",
    lambda a: [
        uniform(*rank(a), dtype=a.dtype),
        uniform(
            3, rank(a)[-1] if a.flatten is False else int(np.prod(rank(a)[1:] if a.rank > 1 else (1,))), dtype=a.dtype
        ),
        *([] if a.no_bias else [uniform(3, dtype=a.dtype)]),
    ],
    {"num_hidden": [3], "no_bias": BOOL, "flatten": BOOL},
    {"rank": [1, 2, 3, 4, 5], "dtype": FLOATS},
)
space(
    "Activation",
    lambda a: [away(*rank(a), high=4, dtype=a.dtype)],
    {"act_type": ["relu", "sigmoid", "softrelu", "softsign", "tanh"]},
    {"rank": [1, 2, 3, 4, 5], "dtype": FLOATS},
)
space(
    "LeakyReLU",
    lambda a: [away(*rank(a), high=3, dtype=a.dtype)],
    {
        "act_type": opt("leaky", "elu", "selu", "gelu", "rrelu"),
        "slope": opt(0.0, 0.1, -0.5, 2.0),
        "lower_bound": opt(0.2),
        "upper_bound": opt(0.6),
    },
    {"rank": [1, 2, 4], "dtype": FLOATS},
)
space(
    "LeakyReLU",
    lambda a: [
        away(*rank(a), high=3, dtype=a.dtype),
        uniform(*{"1": (1,), "C": rank(a)[1:2] or (1,)}[a.gamma], low=0.1, dtype=a.dtype),
    ],
    {"act_type": ["prelu"], "slope": opt(0.5)},
    {"rank": [1, 2, 3, 4, 5], "dtype": FLOATS, "gamma": ["1", "C"]},
)


def batch_norm(a):
    shape = rank(a)
    channels = shape[1 if a.axis is None else a.axis]
    aside = "float32" if a.dtype == "float16" else a.dtype
    yield uniform(*shape, dtype=a.dtype)
    yield uniform(channels, low=0.5, high=2, dtype=aside)
    yield uniform(channels, dtype=aside)
    yield uniform(channels, dtype=aside)
    yield uniform(channels, low=0.5, high=2, dtype=aside)


BATCH_NORM = {
    "eps": opt(1e-5, 0.1),
    "momentum": opt(0.5),
    "fix_gamma": BOOL,
    "use_global_stats": BOOL,
    "output_mean_var": BOOL,
}
space(
    "BatchNorm",
    lambda a: list(batch_norm(a)),
    {
        **BATCH_NORM,
        "axis": opt(1, -1, 0, 2, -2),
        "cudnn_off": BOOL,
        "min_calib_range": opt("None"),
        "max_calib_range": opt("None"),
    },
    {"rank": [2, 3, 4, 5], "dtype": FLOATS},
    where=lambda a: -a.rank <= (1 if a.axis is None else a.axis) < a.rank,
)
space(
    "LRN",
    lambda a: [uniform(*a.shape, low=-3, high=3, dtype=a.dtype)],
    {"nsize": [1, 3, 5, 2, 4], "alpha": opt(0.1), "beta": opt(0.5, 1.0), "knorm": opt(1.0)},
    {"shape": [(2, 4, 3, 2), (1, 7, 2, 2)], "dtype": ["float32"]},
)
space(
    "LayerNorm",
    lambda a: [
        uniform(*rank(a), dtype=a.dtype),
        uniform(rank(a)[-1 if a.axis is None else a.axis], dtype=a.dtype),
        uniform(rank(a)[-1 if a.axis is None else a.axis], dtype=a.dtype),
    ],
    {"axis": opt(-1, 0, 1, 2, -2), "eps": opt(0.1, 1e-3), "output_mean_var": BOOL},
    {"rank": [1, 2, 3, 4], "dtype": FLOATS},
    where=lambda a: -a.rank <= (-1 if a.axis is None else a.axis) < a.rank,
)
space(
    "InstanceNorm",
    lambda a: [
        uniform(*rank(a), dtype=a.dtype),
        uniform(rank(a)[1], dtype=a.dtype),
        uniform(rank(a)[1], dtype=a.dtype),
    ],
    {"eps": opt(0.1, 1e-5)},
    {"rank": [2, 3, 4, 5], "dtype": ["float32"]},
)
space(
    "L2Normalization",
    lambda a: [uniform(*rank(a), dtype=a.dtype)],
    {"eps": opt(0.1, 1e-5), "mode": opt("instance", "channel", "spatial")},
    {"rank": [2, 3, 4, 5], "dtype": FLOATS},
)
space(
    "Dropout",
    lambda a: [uniform(3, 4, dtype=a.dtype)],
    {"p": opt(0.0, 0.3, 1.0), "mode": opt("training", "always"), "axes": opt("()", (0,), (1,)), "cudnn_off": BOOL},
    {"dtype": ["float32", "float64"]},
)


def with_length(a):
    shape = rank(a)
    yield uniform(*shape, low=-3, high=3, dtype=a.kind)
    if a.use_length is True:
        axis = (-1 if a.axis is None else a.axis) % a.rank
        yield ints(*(shape[:axis] + shape[axis + 1 :]), low=1, high=shape[axis] + 1, dtype=a.length)


SOFTMAX = {
    "axis": opt(-1, 0, 1, 2, -2),
    "temperature": opt("None", 1.0, 0.5, 3.0),
    "dtype": opt("None", "float16", "float32", "float64"),
    "use_length": opt("None", False, True),
}
space(
    "softmax",
    lambda a: list(with_length(a)),
    SOFTMAX,
    {"rank": [1, 2, 3, 4], "kind": FLOATS, "length": ["int32", "int64"]},
    where=lambda a: -a.rank <= (-1 if a.axis is None else a.axis) < a.rank and (a.rank > 1 or not a.use_length),
)
space(
    "log_softmax softmin",
    lambda a: list(with_length(a)),
    {**SOFTMAX, "use_length": opt("None", False)},
    {"rank": [1, 2, 3, 4], "kind": FLOATS},
    where=lambda a: -a.rank <= (-1 if a.axis is None else a.axis) < a.rank,
)
space(
    "SoftmaxActivation",
    lambda a: [uniform(*rank(a), low=-3, high=3, dtype=a.dtype)],
    {"mode": opt("instance", "channel")},
    {"rank": [2, 3, 4, 5], "dtype": ["float32"]},
)


def labelled(a):
    shape = rank(a)
    yield uniform(*shape, low=-3, high=3, dtype=a.dtype)
    if a.multi_output:
        yield ints(shape[0], *shape[2:], high=shape[1], dtype=a.dtype)
    elif a.preserve_shape or a.rank > 2:
        yield ints(*shape[:-1], high=shape[-1], dtype=a.dtype)
    else:
        yield ints(shape[0], high=shape[-1], dtype=a.dtype)


space(
    "SoftmaxOutput",
    lambda a: list(labelled(a)),
    {
        "grad_scale": opt(2.0),
        "ignore_label": opt(1.0),
        "multi_output": BOOL,
        "use_ignore": BOOL,
        "preserve_shape": BOOL,
        "normalization": opt("null", "batch", "valid"),
        "out_grad": BOOL,
        "smooth_alpha": opt(0.1),
    },
    {"rank": [2, 3, 4], "dtype": FLOATS},
    # oneDNN takes the last axis at rank 4, and there only; MXNet's own kernel, and training, all but the first
    where=lambda a: a.rank < 4 or bool(a.multi_output or a.preserve_shape),
)
space(
    "LogisticRegressionOutput LinearRegressionOutput MAERegressionOutput",
    lambda a: [uniform(*rank(a), low=-3, high=3, dtype=a.dtype), uniform(*rank(a), dtype=a.dtype)],
    {"grad_scale": opt(0.5)},
    {"rank": [1, 2, 3], "dtype": FLOATS},
)
space(
    "MakeLoss",
    lambda a: [uniform(*rank(a), dtype=a.dtype)],
    {"grad_scale": opt(0.5), "valid_thresh": opt(0.3), "normalization": opt("null", "batch", "valid")},
    {"rank": [1, 2], "dtype": FLOATS},
)
space(
    "SVMOutput",
    lambda a: [uniform(3, 4, dtype=a.dtype), ints(3, high=4, dtype=a.dtype)],
    {"margin": opt(0.5), "regularization_coefficient": opt(0.3), "use_linear": BOOL},
    {"dtype": FLOATS},
)
space(
    "UpSampling",
    lambda a: [uniform(1, 2 + i * (a.multi_input_mode != "sum"), *s, dtype=a.dtype) for i, s in enumerate(a.sizes)],
    {
        "scale": [1, 2, 3, 4],
        "sample_type": ["nearest"],
        "multi_input_mode": opt("concat", "sum"),
        "num_filter": opt(2),
        "num_args": [lambda a: len(a.sizes)],
        "workspace": opt(0),
    },
    {
        "sizes": [[(2, 3)], [(2, 3), (2, 3)], [(4, 2), (2, 1)], [(4, 4), (2, 2), (1, 1)]],
        "dtype": ["float32", "float64"],
    },
)
space(
    "UpSampling",
    lambda a: [
        uniform(2, 2, *a.size, dtype=a.dtype),
        uniform(2, 1, *(2 * [2 * a.scale - a.scale % 2]), dtype=a.dtype),
    ],
    {"scale": [1, 2, 3, 4], "sample_type": ["bilinear"], "num_filter": [2], "num_args": [2], "workspace": opt(0)},
    {"size": [(2, 3), (4, 4)], "dtype": ["float32", "float64"]},
)
space(
    "Pad",
    lambda a: [uniform(2, 3, *(4, 3, 5)[-a.nd :], dtype=a.dtype)],
    {
        "mode": ["constant", "edge", "reflect"],
        "pad_width": [
            lambda a: (0,) * 4 + (1, 2, 1, 0, 2, 1)[: 2 * a.nd],
            lambda a: (0,) * 4 + (0, 0, 2, 1, 1, 2)[: 2 * a.nd],
            lambda a: (0,) * (4 + 2 * a.nd),
            lambda a: (1, 1, 0, 0) + (1, 1) * a.nd,
            lambda a: (0, 0, 1, 1) + (1, 1) * a.nd,
        ],
        "constant_value": opt(0, 1.5, -2),
    },
    {"nd": [1, 2, 3], "dtype": FLOATS},
)
space(
    "Embedding",
    lambda a: [
        ints(*a.shape, low=-1 if a.out else 0, high=6 if a.out else 4, dtype=a.index),
        uniform(4, 3, dtype=a.weight),
    ],
    {"input_dim": [4], "output_dim": [3], "dtype": opt("float32", "float64", "float16"), "sparse_grad": BOOL},
    {
        "shape": [(5,), (2, 3), (1, 2, 2), (1,)],
        "index": ["float32", "int32", "int64", "float64", "uint8"],
        "weight": ["float32", lambda a: a.dtype or "float32"],
        "out": [False, True],
    },
    where=lambda a: not (a.out and a.index == "uint8"),
    most=160,
)


def recurrent(a):
    gates = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}[a.mode]
    ways = 2 if a.bidirectional else 1
    hidden, projected = a.state_size, a.projection_size if isinstance(a.projection_size, int) else None
    out = projected or hidden
    size = 0
    for layer in range(a.num_layers):
        below = 3 if layer == 0 else ways * out
        size += ways * (gates * hidden * (below + out + 2) + (projected * hidden if projected else 0))
    yield uniform(4, 2, 3, dtype=a.dtype)
    yield uniform(size, low=-0.7, high=0.7, dtype=a.dtype)
    yield uniform(a.num_layers * ways, 2, out, dtype=a.dtype)
    if a.mode == "lstm":
        yield uniform(a.num_layers * ways, 2, hidden, dtype=a.dtype)
    if a.use_sequence_length:
        yield values([4, 2], a.length)


space(
    "RNN",
    lambda a: list(recurrent(a)),
    {
        "state_size": [2, 3],
        "num_layers": [1, 2, 3],
        "bidirectional": BOOL,
        "mode": ["lstm", "gru", "rnn_tanh", "rnn_relu"],
        "p": opt(0.0, 0.4),
        "state_outputs": BOOL,
        "projection_size": [ABSENT, ABSENT, "None", lambda a: 2 if a.mode == "lstm" else "None"],
        "lstm_state_clip_min": [ABSENT, ABSENT, "None", lambda a: -0.2 if a.mode == "lstm" else "None"],
        "lstm_state_clip_max": [lambda a: 0.3 if a.lstm_state_clip_min == -0.2 else a.get("lstm_state_clip_min")],
        "lstm_state_clip_nan": opt(False, lambda a: a.lstm_state_clip_min == -0.2),
        "use_sequence_length": opt(False, False, True),
    },
    {"dtype": ["float32", "float64"], "length": ["int32", "float32"]},
)
