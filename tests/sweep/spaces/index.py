"""Operators that find, pick, order and multiply: take, topk, where, dot."""

import numpy as np

from fixtures.make.cases import distinct, ints, ramp, uniform

from ..space import opt, space

BOOL = opt(True, False)
FEW = ["float32", "float64", "int32"]
SHAPES = {1: (5,), 2: (3, 4), 3: (2, 3, 4)}


def rank(a):
    return SHAPES[a.rank]


space(
    "take",
    lambda a: [
        ramp(*rank(a), dtype=a.dtype),
        ints(*a.at, low=-6 if a.mode != "raise" else 0, high=7 if a.mode != "raise" else 2, dtype=a.index),
    ],
    {"axis": opt(0, 1, 2, -1, -2), "mode": opt("clip", "wrap", "raise")},
    {
        "rank": [1, 2, 3],
        "dtype": ["float32", "int32", "float16"],
        "at": [(3,), (2, 2), (1,)],
        "index": ["float32", "int32", "int64"],
    },
    where=lambda a: -a.rank <= (a.axis or 0) < a.rank,
)
space(
    "batch_take",
    lambda a: [ramp(4, 3, dtype=a.dtype), ints(4, high=3, dtype="int32")],
    {},
    {"dtype": ["float32", "float64", "int32"]},
)
space(
    "pick",
    lambda a: [
        ramp(*rank(a), dtype=a.dtype),
        ints(
            *(rank(a)[: x % a.rank] + ((1,) if a.kept else ()) + rank(a)[x % a.rank + 1 :]),
            low=-3,
            high=6,
            dtype=a.index,
        )
        if (x := -1 if a.axis is None else a.axis) != "None"
        else ints(*((1,) * a.rank if a.kept else (1,)), high=4, dtype=a.index),
    ],
    {"axis": opt(-1, 0, 1, 2, -2), "keepdims": BOOL, "mode": opt("clip", "wrap")},
    {"rank": [1, 2, 3], "dtype": ["float32", "int32"], "index": ["float32", "int32"], "kept": [False, True]},
    where=lambda a: -a.rank <= (-1 if a.axis is None else a.axis) < a.rank,
)
space(
    "topk",
    lambda a: [distinct(*rank(a), dtype=a.dtype)],
    {
        "axis": opt("None", -1, 0, 1, 2, -2),
        "k": opt(0, 1, 2, 3, -1),
        "ret_typ": opt("indices", "value", "both", "mask"),
        "is_ascend": BOOL,
        "dtype": opt("float32", "float64", "float16", "int32", "int64", "uint8"),
    },
    {"rank": [1, 2, 3], "kind": FEW},
    where=lambda a: (
        (a.axis == "None" or -a.rank <= (-1 if a.axis is None else a.axis) < a.rank)
        and not (a.axis != "None" and (a.k or 1) > rank(a)[-1 if a.axis is None else a.axis])
    ),
)
space(
    "argsort",
    lambda a: [distinct(*rank(a), dtype=a.dtype_)],
    {
        "axis": opt("None", -1, 0, 1, 2, -2),
        "is_ascend": BOOL,
        "dtype": opt("float32", "float64", "float16", "int32", "int64", "uint8"),
    },
    {"rank": [1, 2, 3], "dtype_": FEW},
    where=lambda a: a.axis == "None" or -a.rank <= (-1 if a.axis is None else a.axis) < a.rank,
)
space(
    "sort",
    lambda a: [distinct(*rank(a), dtype=a.dtype)],
    {"axis": opt("None", -1, 0, 1, 2, -2), "is_ascend": BOOL},
    {"rank": [1, 2, 3], "dtype": FEW},
    where=lambda a: a.axis == "None" or -a.rank <= (-1 if a.axis is None else a.axis) < a.rank,
)
space(
    "argmax argmin",
    lambda a: [(distinct if a.apart else lambda *s, dtype: ints(*s, high=2, dtype=dtype))(*rank(a), dtype=a.dtype)],
    {"axis": opt("None", 0, 1, 2, -1, -2), "keepdims": BOOL},
    {"rank": [1, 2, 3], "dtype": ["float32", "float64", "int32"], "apart": [True, False]},
    where=lambda a: a.axis in (None, "None") or -a.rank <= a.axis < a.rank,
)
space("argmax_channel", lambda a: [distinct(*a.shape, dtype=a.dtype)], {}, {"shape": [(3, 4), (2, 5)], "dtype": FEW})
space(
    "one_hot",
    lambda a: [ints(*a.shape, low=-1, high=5, dtype=a.index)],
    {
        "depth": [1, 3, 4],
        "on_value": opt(1, 2.5, -1),
        "off_value": opt(0, 0.5, -1),
        "dtype": opt("float32", "float16", "float64", "int32", "int64", "int8", "uint8"),
    },
    {"shape": [(4,), (2, 3), (1, 2, 2)], "index": ["float32", "int32", "int64", "float64"]},
    where=lambda a: not (a.dtype == "uint8" and ((a.on_value or 0) < 0 or (a.off_value or 0) < 0)),
)
space(
    "gather_nd",
    lambda a: [ramp(*a.pair[0], dtype=a.dtype), ints(*a.pair[1], low=-2, high=2, dtype=a.index)],
    {},
    {
        "pair": [
            ((3, 4), (2, 3)),
            ((3, 4), (1, 3)),
            ((2, 3, 4), (2, 2)),
            ((2, 3, 4), (3, 2, 2)),
            ((5,), (1, 4)),
            ((2, 3, 4), (1, 2)),
            ((2, 2), (2,)),
        ],
        "dtype": ["float32", "int32", "float16", "int64"],
        "index": ["float32", "int32", "int64"],
    },
)
space(
    "scatter_nd",
    lambda a: [uniform(*a.pair[0], dtype=a.dtype), distinct(*a.pair[1], dtype=a.index)],
    {"shape": [lambda a: a.pair[2]]},
    {
        "pair": [((3,), (1, 3), (4,)), ((3, 2), (1, 3), (5, 2)), ((2,), (2, 2), (4, 4))],
        "dtype": ["float32", "int32", "float64"],
        "index": ["float32", "int32", "int64"],
    },
)
space(
    "where",
    lambda a: [
        ints(*a.shapes[0], high=2, dtype=a.test),
        uniform(*a.shapes[1], low=-9, high=9, dtype=a.dtype),
        uniform(*a.shapes[1], low=-9, high=9, dtype=a.dtype),
    ],
    {},
    {
        "shapes": [((5,), (5,)), ((3, 4), (3, 4)), ((2, 3, 4), (2, 3, 4)), ((3,), (3, 4)), ((2,), (2, 3, 4))],
        "test": ["float32", "int32", "uint8", "int64", "float64"],
        "dtype": ["float32", "int32", "float16", "int8", "float64"],
    },
)
space(
    "dot",
    lambda a: [uniform(*a.pair[0], dtype=a.dtype), uniform(*a.pair[1], dtype=a.dtype)],
    {"transpose_a": BOOL, "transpose_b": BOOL, "forward_stype": opt("None", "default")},
    {
        "pair": [
            ((3, 4), (4, 5)),
            ((4, 3), (4, 5)),
            ((3, 4), (5, 4)),
            ((4, 3), (5, 4)),
            ((4,), (4,)),
            ((3, 4), (4,)),
            ((4,), (4, 3)),
            ((2, 3, 4), (4, 5)),
            ((2, 3, 4), (4,)),
            ((4, 2, 3), (4, 5)),
            ((2, 3), (4, 5, 3)),
            ((2, 3, 4), (4, 5, 2)),
            ((3, 3), (3, 3)),
        ],
        "dtype": ["float32", "float64"],
    },
)
space(
    "batch_dot",
    lambda a: [
        uniform(2, *((3, 4)[:: -1 if a.transpose_a is True else 1]), dtype=a.dtype),
        uniform(2, *((4, 5)[:: -1 if a.transpose_b is True else 1]), dtype=a.dtype),
    ],
    {"transpose_a": BOOL, "transpose_b": BOOL, "forward_stype": opt("None", "default")},
    {"dtype": ["float32", "float64", "float16"]},
)
space(
    "batch_dot",
    lambda a: [uniform(2, 2, 3, 3, dtype=a.dtype), uniform(2, 2, 3, 3, dtype=a.dtype)],
    {"transpose_a": BOOL, "transpose_b": BOOL},
    {"rank": [4], "dtype": ["float32", "float64"]},
)
space(
    "khatri_rao",
    lambda a: [uniform(n, 3, dtype=a.dtype) for n in a.rows],
    {"num_args": [lambda a: len(a.rows)]},
    {"rows": [(2,), (2, 4), (2, 3, 2)], "dtype": ["float32", "float64"]},
)
space(
    "_contrib_index_copy",
    lambda a: [
        ramp(5, 3, dtype=a.dtype),
        ints(2, high=5, dtype="int64") if a.same else distinct(2, dtype=a.index),
        uniform(2, 3, low=-9, high=9, dtype=a.dtype),
    ],
    {},
    {"dtype": ["float32", "float64", "int32"], "index": ["int32", "int64"], "same": [False]},
)
space(
    "_contrib_boolean_mask",
    lambda a: [ramp(*rank(a), dtype=a.dtype), (lambda rng: np.resize([1, 0], rank(a)[0]).astype(a.mask))],
    {"axis": opt(0)},
    {"rank": [1, 2, 3], "dtype": ["float32", "int32"], "mask": ["float32", "int32", "uint8", "int64"]},
)
space(
    "_contrib_index_array",
    lambda a: [uniform(*rank(a))],
    {"axes": opt("None", (0,), (1, 0), (-1,), (0, 2))},
    {"rank": [1, 2, 3]},
)
space(
    "_ravel_multi_index _unravel_index",
    lambda a: [ints(2, 4, high=3, dtype=a.dtype) if a.ravel else ints(4, high=12, dtype=a.dtype)],
    {"shape": [(3, 4), (4, 3), (9, 5)]},
    {"dtype": ["float32", "int32", "int64", "float64"], "ravel": [True, False]},
)
space(
    "fill_element_0index",
    lambda a: [ramp(3, 4, dtype=a.dtype), uniform(3, dtype=a.dtype), ints(3, high=4, dtype=a.dtype)],
    {},
    {"dtype": ["float32", "float64"]},
)
