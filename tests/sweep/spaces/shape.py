"""Operators that move, join, cut and repeat elements, and those that make arrays of a shape."""

from fixtures.make.cases import ramp, uniform

from ..space import ABSENT, opt, space

BOOL = opt(True, False)
DTYPES = ["float32", "float64", "float16", "int32", "int64", "int8", "uint8"]
FEW = ["float32", "int32", "float16"]
SHAPES = {1: (5,), 2: (3, 4), 3: (2, 3, 4), 4: (2, 3, 4, 2), 5: (1, 2, 3, 2, 2)}


def rank(a):
    return SHAPES[a.rank]


def data(a):
    return [ramp(*rank(a), dtype=a.dtype)]


def within(axis, a):
    return axis in (None, "None") or -a.rank <= axis < a.rank


CODES = [  # data's shape, the codes, read from the right
    ((2, 3, 4), (24,), False),
    ((2, 3, 4), (-1,), False),
    ((2, 3, 4), (4, 6), False),
    ((2, 3, 4), (0, -1), False),
    ((2, 3, 4), (0, 0, -1), False),
    ((2, 3, 4), (-1, 0), False),
    ((2, 3, 4), (4, 0, 2), False),
    ((2, 3, 4), (-2,), False),
    ((2, 3, 4), (2, -2), False),
    ((2, 3, 4), (0, -2), False),
    ((2, 3, 4), (-2, 1, 1), False),
    ((2, 3, 4), (1, -2), False),
    ((2, 3, 4), (-3, 4), False),
    ((2, 3, 4), (-3, 0), False),
    ((2, 3, 4), (0, -3), False),
    ((2, 3, 4), (-3, -2), False),
    ((2, 3, 4, 5), (-3, -3), False),
    ((2, 3, 4, 5), (-3, 0, 0), False),
    ((2, 3, 4, 5), (0, -3, -2), False),
    ((2, 3, 4), (-4, 1, 2, -2), False),
    ((2, 3, 4), (2, -4, -1, 3, -2), False),
    ((2, 3, 4), (-4, -1, 2, 0, 0), False),
    ((4, 3), (-4, 2, -1, 0), False),
    ((4, 3), (0, -4, 3, 1), False),
    ((8, 3, 5), (-4, 2, -1, -3), False),
    ((2, 3, 4), (0, 0, -4, 2, -1), False),
    ((2, 3, 4), (0, 0, 0, 1), False),
    ((6, 1, 4), (0, 4), False),
    ((10, 5, 4), (-1, 0), True),
    ((10, 5, 4), (0, -1), True),
    ((10, 5, 4), (-3, 0), True),
    ((10, 5, 4), (0, -3), True),
    ((10, 5, 4), (-1, 0, 0), True),
    ((2, 3, 4), (-2, 4), True),
    ((2, 3, 4), (1, -2), True),
    ((2, 3, 4), (0, 0, 2, 2, -4), True),
    ((6,), (2, 3), False),
    ((1,), (1, 1, 1), False),
    ((1, 1), (-1,), False),
]
space(
    "Reshape",
    lambda a: [ramp(*a.case[0], dtype=a.dtype)],
    {"shape": [lambda a: a.case[1]], "reverse": [lambda a: a.case[2] or ABSENT, lambda a: a.case[2]]},
    {"case": CODES, "dtype": ["float32", "int32"]},
)
space(
    "Reshape",
    lambda a: [ramp(2, 3, 4, dtype=a.dtype)],
    {"target_shape": [(2, 12), (2, 0), (0, 4), (4, 6), (24,)], "keep_highest": opt(False)},
    {"dtype": ["float32", "int64"]},
    where=lambda a: 0 not in a.target_shape or a.target_shape in ((2, 0), (0, 4)),
)
space(
    "reshape_like",
    lambda a: [ramp(*a.pair[0], dtype=a.dtype), uniform(*a.pair[1], dtype=a.dtype)],
    {
        "lhs_begin": [lambda a: a.pair[2][0] if len(a.pair) > 2 else ABSENT],
        "lhs_end": [lambda a: a.pair[2][1] if len(a.pair) > 2 else ABSENT],
        "rhs_begin": [lambda a: a.pair[2][2] if len(a.pair) > 2 else ABSENT],
        "rhs_end": [lambda a: a.pair[2][3] if len(a.pair) > 2 else ABSENT],
    },
    {
        "pair": [
            ((2, 3, 4), (4, 6)),
            ((24,), (2, 3, 4)),
            ((2, 3), (2, 3)),
            ((30, 7), (15, 2, 4), (0, 1, 0, 2)),
            ((30, 7), (15, 2, 4), ("None", 1, "None", 2)),
            ((5, 30, 7), (15, 2, 4), (1, 2, 0, 2)),
            ((5, 30, 7), (15, 2, 4), (-2, -1, 0, -1)),
            ((2, 12), (9, 3, 4), (1, "None", 1, "None")),
            ((2, 12), (3, 4), (1, 2, "None", "None")),
            ((6, 4), (5, 2, 3), (0, 1, 1, 3)),
            ((2, 3, 4), (6, 9), (0, 2, 0, 1)),
        ],
        "dtype": ["float32", "int32"],
    },
)
space("Flatten", data, {}, {"rank": [1, 2, 3, 4, 5], "dtype": DTYPES})
space(
    "transpose",
    data,
    {
        "axes": [
            ABSENT,
            "()",
            lambda a: tuple(range(a.rank)),
            lambda a: tuple(range(a.rank))[::-1],
            lambda a: (*range(1, a.rank), 0),
            lambda a: (a.rank - 1, *range(a.rank - 1)),
            lambda a: (*range(a.rank - 2), a.rank - 1, a.rank - 2) if a.rank > 1 else (0,),
            lambda a: tuple(range(-a.rank, 0))[::-1],
        ]
    },
    {"rank": [1, 2, 3, 4, 5], "dtype": FEW},
)
space("SwapAxis", data, {"dim1": opt(0, 1, 2, -1), "dim2": opt(0, 1, 2, -1)}, {"rank": [2, 3, 4], "dtype": FEW})
space(
    "expand_dims",
    data,
    {"axis": [0, 1, 2, 3, -1, -2, -3, -4]},
    {"rank": [1, 2, 3], "dtype": DTYPES},
)
space(
    "squeeze",
    lambda a: [ramp(*a.shape, dtype=a.dtype)],
    {"axis": opt("None", 0, 1, -1, (0,), (0, 2), (2, 0), (-1, 0), (1,))},
    {"shape": [(1, 3, 1), (1, 1), (3, 1), (1,), (1, 2, 1, 3)], "dtype": ["float32", "int32"]},
)
space(
    "slice",
    data,
    {
        "begin": [(0,), (1,), (None, 1), (-2,), (-9, 0), (2, 3), (0, -1, 1), (None,)],
        "end": [(3,), (2,), (None, 3), (-1,), (99, 4), (0, 0), (None, None, None), (None,)],
        "step": opt("()", (1,), (2,), (None, 2), (-1,), (-1, -1), (-2, 1), (1, 1, 2)),
    },
    {"rank": [1, 2, 3], "dtype": ["float32", "int32"]},
    where=lambda a: (
        len(a.begin) == len(a.end)
        and len(a.begin) <= a.rank
        and (a.step in (None, "()") or len(a.step) == len(a.begin))
    ),
)
space(
    "slice_axis",
    data,
    {
        "axis": [0, 1, 2, -1, -2],
        "begin": [0, 1, 2, -1, -2, -9],
        "end": ["None", 1, 2, 3, -1, 99],
    },
    {"rank": [1, 2, 3], "dtype": ["float32", "int32"]},
)
space(
    "slice_like",
    lambda a: [ramp(*a.pair[0], dtype=a.dtype), uniform(*a.pair[1])],
    {"axes": opt("()", (0,), (1,), (-1,), (0, 1), (0, -1), (1, 2))},
    {
        "pair": [((3, 4), (2, 3)), ((3, 4), (2, 9)), ((2, 3, 4), (1, 3, 2)), ((2, 3, 4), (1, 2)), ((5,), (3,))],
        "dtype": ["float32", "int32"],
    },
)
space(
    "SliceChannel",
    lambda a: [ramp(*a.shape, dtype=a.dtype)],
    {"num_outputs": [1, 2, 3, 6], "axis": opt(0, 1, 2, -1, -2), "squeeze_axis": BOOL},
    {"shape": [(6, 6), (2, 6, 3), (6, 2, 2, 6), (6,)], "dtype": ["float32", "int32"]},
    where=lambda a: -len(a.shape) <= (1 if a.axis is None else a.axis) < len(a.shape),
)
space(
    "_split_v2",
    lambda a: [ramp(*a.shape, dtype=a.dtype)],
    {
        "indices": ["()", (0,), (0, 2), (0, 1, 3), (0, 2, 2), (0, 1, 2, 3, 4, 5)],
        "axis": opt(0, 1, 2, -1),
        "squeeze_axis": BOOL,
        "sections": opt(0, 1, 2, 3, 6, 4),
    },
    {"shape": [(6, 6), (2, 6, 3), (6,)], "dtype": ["float32", "int32"]},
    where=lambda a: (
        -len(a.shape) <= (1 if a.axis is None else a.axis) < len(a.shape) and (a.indices == "()") == bool(a.sections)
    ),
)
space(
    "Concat",
    lambda a: [
        uniform(
            *(n + (i if j == (1 if a.dim is None else a.dim) % a.rank else 0) for j, n in enumerate(rank(a))),
            dtype=a.dtype,
        )
        for i in range(a.num_args)
    ],
    {"num_args": [1, 2, 3], "dim": opt(0, 1, 2, -1, -2)},
    {"rank": [1, 2, 3, 4], "dtype": FEW},
    where=lambda a: within(1 if a.dim is None else a.dim, a),
)
space(
    "stack",
    lambda a: [uniform(*rank(a), dtype=a.dtype) for _ in range(a.num_args)],
    {"num_args": [1, 2, 3], "axis": opt(0, 1, 2, 3, -1, -2)},
    {"rank": [1, 2, 3], "dtype": FEW},
)
space(
    "_rnn_param_concat",
    lambda a: [uniform(*s, dtype=a.dtype) for s in a.sizes],
    {"num_args": [lambda a: len(a.sizes)], "dim": [0, ABSENT]},
    {"sizes": [[(5,)], [(5,), (3,)], [(2,), (3,), (4,)]], "dtype": ["float32", "float64"]},
)
space(
    "tile",
    data,
    {"reps": [(2,), (1,), (2, 3), (1, 1, 2), (2, 1, 1, 3), (3, 1), "()", 2]},
    {"rank": [1, 2, 3], "dtype": DTYPES},
)
space(
    "repeat",
    data,
    {"repeats": [1, 2, 3, 0], "axis": opt("None", 0, 1, 2, -1, -2)},
    {"rank": [1, 2, 3], "dtype": FEW},
)
space(
    "reverse",
    data,
    {"axis": [0, 1, 2, (0,), (1,), (0, 1), (1, 0), (0, 2), (-1,)]},
    {"rank": [1, 2, 3, 4], "dtype": FEW},
)
space(
    "broadcast_to",
    lambda a: [ramp(*a.shape_, dtype=a.dtype)],
    {"shape": [(2, 3, 4), (0, 3, 0), (2, 0, 4), (2, 3), (3,), (2, 1, 4), (0, 0, 0), ABSENT]},
    {"shape_": [(1, 3, 1), (2, 1, 4), (1, 3), (1,), (1, 1, 1), (2, 3, 4)], "dtype": FEW},
)
space(
    "broadcast_axis",
    lambda a: [ramp(*a.shape, dtype=a.dtype)],
    {
        "axis": [ABSENT, "()", 0, 1, -1, (0,), (2,), (0, 2), (2, 0), (0, 1)],
        "size": [ABSENT, "()", 3, (2,), (3, 2), (1, 4)],
    },
    {"shape": [(1, 3, 1), (1, 1, 2), (1,), (1, 2)], "dtype": FEW},
)
space(
    "broadcast_like",
    lambda a: [ramp(*a.pair[0], dtype=a.dtype), uniform(*a.pair[1], dtype=a.dtype)],
    {
        "lhs_axes": [lambda a: a.pair[2][0] if len(a.pair) > 2 else ABSENT],
        "rhs_axes": [lambda a: a.pair[2][1] if len(a.pair) > 2 else ABSENT],
    },
    {
        "pair": [
            ((1, 3), (2, 3)),
            ((1, 1, 4), (2, 3, 4)),
            ((2, 3), (2, 3)),
            ((1, 3), (5, 6, 7), ((0,), (1,))),
            ((1, 2, 1), (5, 6, 7), ((0, 2), (1, -1))),
            ((1, 2, 1), (5, 6, 7), ((-1,), (0,))),
            ((1, 3), (2, 3), ("None", "None")),
            ((1, 3), (2, 3, 4)),
            ((2, 3), (4, 3)),
        ],
        "dtype": FEW,
    },
)
space(
    "depth_to_space",
    lambda a: [ramp(*a.shape, dtype=a.dtype)],
    {"block_size": [1, 2, 3, 0]},
    {"shape": [(1, 4, 2, 3), (2, 12, 1, 2), (1, 9, 2, 2), (1, 36, 1, 1), (4, 2, 2)], "dtype": DTYPES},
)
space(
    "space_to_depth",
    lambda a: [ramp(*a.shape, dtype=a.dtype)],
    {"block_size": [1, 2, 3, 0]},
    {"shape": [(1, 1, 2, 4), (2, 3, 6, 6), (1, 2, 3, 3), (4, 2, 2)], "dtype": DTYPES},
)
space(
    "shape_array size_array ones_like zeros_like _copy BlockGrad", data, {}, {"rank": [1, 2, 3, 4, 5], "dtype": DTYPES}
)
space("make_loss", data, {}, {"rank": [1, 2, 3], "dtype": DTYPES})
space(
    "Cast",
    lambda a: [uniform(3, 4, low=0 if a.source == "uint8" or a.dtype == "uint8" else -100, high=100, dtype=a.source)],
    # not bfloat16, which onnxruntime's Python has no arrays of
    {"dtype": ["float16", "float32", "float64", "uint8", "int8", "int32", "int64", "bool"]},
    {"source": [*DTYPES, "bool"]},
)
space(
    "amp_cast",
    lambda a: [uniform(3, 4, low=-100, high=100, dtype=a.source)],
    {"dtype": ["float16", "float32", "float64", "int32"]},
    {"source": ["float16", "float32", "float64", "int32", "int8"]},
)
space(
    "_zeros _ones",
    lambda a: [],
    {
        "shape": [(2,), (2, 3), (1, 2, 1), (3, 1, 2, 2), 4],
        "ctx": opt("cpu(0)"),
        "dtype": opt("float16", "float32", "float64", "uint8", "int8", "int32", "int64", "bool"),
    },
)
space(
    "_full",
    lambda a: [],
    {
        "shape": [(2,), (2, 3)],
        "value": [0, 1.5, -2, 3],
        "dtype": opt("float16", "float32", "float64", "uint8", "int8", "int32", "int64"),
    },
    where=lambda a: not (a.dtype == "uint8" and a.value < 0),
)
space(
    "_eye",
    lambda a: [],
    {"N": [1, 3], "M": opt(0, 2, 5), "k": opt(0, 1, -1, 4), "dtype": opt("float16", "float64", "int32", "int64")},
)
space(
    "_arange",
    lambda a: [],
    {
        "start": [0, 1, -2, 0.5, 6],
        "stop": opt("None", 5, 2.5, -3, 0),
        "step": opt(1, 2, 0.5, -1, 0.3),
        "repeat": opt(1, 2, 3),
        "infer_range": opt(False),
        "ctx": opt("cpu(0)"),
        "dtype": opt("float32", "float64", "int32", "int64", "float16", "uint8", "int8"),
    },
    where=lambda a: (
        (a.stop if a.stop not in (None, "None") else a.start) != 0
        and not (a.dtype in ("uint8",) and (a.start < 0 or (a.step or 1) < 0))
    ),
)
space(
    "_linspace",
    lambda a: [],
    {
        "start": [0, 1.5, -2],
        "stop": [5, 1.5, -3],
        "num": [1, 2, 5],
        "endpoint": BOOL,
        "dtype": opt("float32", "float64", "float16"),
    },
)
space(
    "_contrib_arange_like",
    lambda a: [uniform(*rank(a), dtype=a.dtype)],
    {
        "start": opt(1, 0.5, -2),
        "step": opt(2, 0.5, -1),
        "repeat": opt(1, 2),
        "ctx": opt("cpu(0)"),
        "axis": opt("None", 0, 1, -1),
    },
    {"rank": [1, 2, 3], "dtype": ["float32", "float64"]},
    where=lambda a: within(a.axis, a),
)
space(
    "Crop",
    lambda a: [ramp(1, 2, 6, 7), *([uniform(1, 3, *a.like)] if a.num_args == 2 else [])],
    {
        "num_args": [1, 2],
        "offset": opt((0, 0), (1, 2), (2, 0), (3, 3)),
        "h_w": opt((0, 0), (3, 4), (6, 7), (5, 2)),
        "center_crop": BOOL,
    },
    {"like": [(3, 4), (6, 7), (1, 5)]},
    where=lambda a: a.num_args == 2 or a.like == (3, 4),
)
space(
    "diag",
    lambda a: [ramp(*rank(a), dtype=a.dtype)],
    {"k": opt(0, 1, -1, 2), "axis1": opt(0, 1, -1), "axis2": opt(1, 2, -2)},
    {"rank": [1, 2, 3], "dtype": ["float32", "int32"]},
    where=lambda a: a.rank > 1 or (a.axis1 is None and a.axis2 is None),
)
space(
    "amp_multicast",
    lambda a: [uniform(2, 3, dtype=d) for d in a.dtypes],
    {"num_outputs": [lambda a: len(a.dtypes)], "cast_narrow": BOOL},
    {
        "dtypes": [
            ["float32", "float16"],
            ["float16", "float16"],
            ["float32", "float64"],
            ["float16", "float32", "float16"],
        ]
    },
)
