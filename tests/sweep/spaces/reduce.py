"""Reductions over axes."""

from fixtures.make.cases import away, ints, uniform

from ..space import opt, space

BOOL = opt(True, False)
SHAPES = {1: (5,), 2: (3, 4), 3: (2, 3, 4), 4: (2, 3, 2, 3)}
AXES = opt("None", "()", 0, 1, -1, (0,), (1,), (-1,), (0, 1), (1, 2), (-2, 0), (0, 1, 2))


def rank(a):
    return SHAPES[a.rank]


def numbers(a):
    """Few halves, so that sums are exact and equal ones occur; whole numbers where the dtype has no others."""
    if a.dtype.startswith("float"):
        return lambda rng: (rng.randint(-4, 5, rank(a)) / 2).astype(a.dtype)
    return ints(*rank(a), low=0 if a.dtype == "uint8" else -3, high=4, dtype=a.dtype)


def fits(a):
    axes = a.axis if isinstance(a.axis, tuple) else (a.axis,) if isinstance(a.axis, int) else ()
    return all(-a.rank <= n < a.rank for n in axes)


space(
    "sum mean max min prod nansum nanprod",
    lambda a: [numbers(a)],
    {"axis": AXES, "keepdims": BOOL, "exclude": BOOL},
    {"rank": [1, 2, 3, 4], "dtype": ["float32", "float64", "float16", "int32", "int64", "int8", "uint8"]},
    where=fits,
)
space(
    "norm",
    lambda a: [away(*rank(a), dtype=a.dtype, high=3)],
    {
        "ord": opt(1, 2),
        "axis": opt("None", 0, 1, -1, (0,), (0, 1), (-2, -1), (1, 2)),
        "out_dtype": opt("None", "float16", "float32", "float64"),
        "keepdims": BOOL,
    },
    {"rank": [1, 2, 3], "dtype": ["float32", "float64", "float16"]},
    where=fits,
)
space(
    "moments",
    lambda a: [uniform(*rank(a), dtype=a.dtype)],
    {"axes": opt("None", (0,), (1,), (0, 1), (-1,)), "keepdims": BOOL},
    {"rank": [1, 2, 3], "dtype": ["float32", "float64"]},
)
space(
    "softmax_cross_entropy",
    lambda a: [uniform(3, 4, low=-2, high=2, dtype=a.dtype), ints(3, high=4, dtype=a.dtype)],
    {},
    {"dtype": ["float32", "float64"]},
)
