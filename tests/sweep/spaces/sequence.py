"""Series: masks by length, attention products, connectionist losses."""

from fixtures.make.cases import ramp, uniform, values

from ..space import opt, space

BOOL = opt(True, False)
FLOATS = ["float32", "float64", "float16"]


def series(a):
    shape = (4, 3, 2)[: a.rank] if a.rank < 4 else (4, 3, 2, 2)
    axis = a.axis if a.axis in (0, 1) else 0
    shape = shape if axis == 0 else (shape[1], shape[0], *shape[2:])
    yield ramp(*shape, dtype=a.dtype)
    if a.use_sequence_length is True:
        yield values([2, 4, 1], a.length)


GIVEN = {"rank": [2, 3, 4], "dtype": [*FLOATS, "int32"], "length": ["float32", "int32", "int64"]}
space(
    "SequenceMask",
    lambda a: list(series(a)),
    {"use_sequence_length": BOOL, "value": opt(-2.5, 0, 7), "axis": opt(0, 1)},
    GIVEN,
)
space("SequenceLast", lambda a: list(series(a)), {"use_sequence_length": BOOL, "axis": opt(0, 1)}, GIVEN)
space("SequenceReverse", lambda a: list(series(a)), {"use_sequence_length": BOOL, "axis": opt(0)}, GIVEN)
HEADS = {"heads": [1, 2, 3]}
space(
    "_contrib_interleaved_matmul_selfatt_qk",
    lambda a: [uniform(*a.size, a.heads * 6, dtype=a.dtype)],
    HEADS,
    {"size": [(3, 2), (1, 1), (4, 3)], "dtype": FLOATS},
)
space(
    "_contrib_interleaved_matmul_selfatt_valatt",
    lambda a: [
        uniform(*a.size, a.heads * 6, dtype=a.dtype),
        uniform(a.size[1] * a.heads, a.size[0], a.size[0], dtype=a.dtype),
    ],
    HEADS,
    {"size": [(3, 2), (1, 1), (4, 3)], "dtype": FLOATS},
)
space(
    "_contrib_interleaved_matmul_encdec_qk",
    lambda a: [uniform(3, 2, a.heads * 2, dtype=a.dtype), uniform(a.other, 2, a.heads * 4, dtype=a.dtype)],
    HEADS,
    {"other": [1, 4], "dtype": FLOATS},
)
space(
    "_contrib_interleaved_matmul_encdec_valatt",
    lambda a: [uniform(a.other, 2, a.heads * 4, dtype=a.dtype), uniform(2 * a.heads, 3, a.other, dtype=a.dtype)],
    HEADS,
    {"other": [1, 4], "dtype": FLOATS},
)
space("_contrib_gradientmultiplier", lambda a: [uniform(2, 3)], {"scalar": opt(0.5, -1), "is_int": opt(False)})
space(
    "_contrib_round_ste _contrib_sign_ste",
    lambda a: [uniform(3, 4, low=-3, high=3, dtype=a.dtype)],
    {},
    {"dtype": FLOATS},
)


def transcribed(a):
    yield uniform(6, 2, 4, low=-2, high=2, dtype=a.dtype)
    first = a.blank_label != "last"
    yield values([[1, 2, 2], [3, 1, 0 if first else -1]] if first else [[0, 1, 1], [2, 0, -1]], a.dtype)
    if a.use_data_lengths:
        yield values([6, 5], a.dtype)
    if a.use_label_lengths:
        yield values([3, 2], a.dtype)


space(
    "CTCLoss",
    lambda a: list(transcribed(a)),
    {"use_data_lengths": BOOL, "use_label_lengths": BOOL, "blank_label": opt("first", "last")},
    {"dtype": ["float32"]},
)
space(
    "_slice_assign",
    lambda a: [ramp(3, 4), uniform(*a.case[3])],
    {"begin": [lambda a: a.case[0]], "end": [lambda a: a.case[1]], "step": [lambda a: a.case[2]]},
    {
        "case": [
            ((0, 1), (2, 3), "()", (2, 2)),
            ((None, 1), (None, 4), (1, 2), (3, 2)),
            ((1,), (3,), "()", (2, 4)),
            ((2, 3), (None, None), (-1, -1), (3, 4)),
            ((-2, -3), (-1, None), (1, 1), (1, 3)),
        ]
    },
)
space(
    "_slice_assign_scalar",
    lambda a: [ramp(3, 4, dtype=a.dtype)],
    {
        "scalar": opt(2.5, 0, -1),
        "begin": [lambda a: a.case[0]],
        "end": [lambda a: a.case[1]],
        "step": [lambda a: a.case[2]],
    },
    {
        "case": [
            ((0, 1), (2, 3), "()"),
            ((None, 1), (None, 4), (1, 2)),
            ((1,), (3,), "()"),
            ((2, 3), (None, None), (-1, -1)),
        ],
        "dtype": ["float32", "float64", "int32"],
    },
)
space(
    "_scatter_set_nd",
    lambda a: [ramp(3, 4), uniform(2), values([[0, 2], [1, 3]], a.index)],
    {"shape": [(3, 4)]},
    {"index": ["int32", "int64", "float32"]},
)
space(
    "IdentityAttachKLSparseReg",
    lambda a: [uniform(3, 4, low=0.1), uniform(4, low=0.1)],
    {"sparseness_target": opt(0.2), "penalty": opt(0.1), "momentum": opt(0.5)},
)
space("all_finite", lambda a: [uniform(3, 4, dtype=a.dtype)], {"init_output": BOOL}, {"dtype": FLOATS})
space("multi_all_finite", lambda a: [uniform(3, 4), uniform(2)], {"num_arrays": [2], "init_output": BOOL})
space("multi_sum_sq", lambda a: [uniform(3, 4)] * a.num_arrays, {"num_arrays": [1, 2, 3]})
space(
    "im2col",
    lambda a: [uniform(2, 2, *(6, 5, 4)[: a.nd])],
    {
        "kernel": [lambda a: (3, 2, 2)[: a.nd], lambda a: (1, 1, 1)[: a.nd]],
        "stride": opt(lambda a: (2, 1, 1)[: a.nd]),
        "dilate": opt(lambda a: (1, 2, 1)[: a.nd]),
        "pad": opt(lambda a: (1, 0, 1)[: a.nd]),
    },
    {"nd": [1, 2, 3]},
)
space(
    "GroupNorm",
    lambda a: [
        uniform(*a.shape, dtype=a.dtype),
        uniform(a.num_groups or 1, dtype=a.dtype),
        uniform(a.num_groups or 1, dtype=a.dtype),
    ],
    {"num_groups": opt(1, 2, 4), "eps": opt(0.1), "output_mean_var": BOOL},
    {"shape": [(2, 4, 3), (2, 4, 2, 3), (1, 8)], "dtype": FLOATS},
)
