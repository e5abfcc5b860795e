"""Two operands, or one and a number."""

import numpy as np

from ..space import opt, space

DTYPES = ["float32", "float64", "float16", "int32", "int64", "int8", "uint8"]
PAIRS = [
    ((3, 4), (3, 4)),
    ((3, 4), (1, 4)),
    ((3, 1), (1, 4)),
    ((1,), (3,)),
    ((2, 3, 4), (1, 3, 1)),
    ((2, 1, 4, 1), (2, 3, 1, 2)),
    ((3, 4), (4,)),
]


def operand(shape, dtype, nonzero=False, positive=False):
    """Halves and whole numbers, many of them equal."""

    def make(rng):
        low = 0 if positive or dtype == "uint8" else -6
        x = rng.randint(low, 7, shape) / (2 if dtype.startswith("float") else 1)
        if nonzero:
            x = np.where(x == 0, 3, x)
        return x.astype(dtype)

    return make


def pair(nonzero=False, positive=False, whole=False):
    return lambda a: [
        operand(a.pair[0], a.dtype, positive=positive),
        operand(a.pair[1], "int8" if whole else a.dtype, nonzero, positive)
        if not whole
        else (lambda rng: rng.randint(0, 3, a.pair[1]).astype(a.dtype)),
    ]


WIDE = {"pair": PAIRS, "dtype": DTYPES}
SAME = {"pair": [(s, s) for s in [(5,), (3, 4), (2, 3, 4)]], "dtype": DTYPES}
space(
    "broadcast_add broadcast_sub broadcast_mul broadcast_maximum broadcast_minimum broadcast_equal broadcast_not_equal"
    " broadcast_greater broadcast_greater_equal broadcast_lesser broadcast_lesser_equal broadcast_logical_and"
    " broadcast_logical_or broadcast_logical_xor",
    pair(),
    {},
    WIDE,
)
space("broadcast_div broadcast_mod", pair(nonzero=True), {}, WIDE)
space("broadcast_power", pair(whole=True), {}, WIDE)
space("broadcast_hypot", pair(), {}, WIDE)
space(
    "elemwise_add elemwise_sub elemwise_mul _maximum _minimum _equal _not_equal _greater _greater_equal _lesser"
    " _lesser_equal _logical_and _logical_or _logical_xor _hypot _grad_add",
    pair(),
    {},
    SAME,
)
space("elemwise_div _mod", pair(nonzero=True), {}, SAME)
space("_power", pair(whole=True), {}, SAME)
space(
    "add_n",
    lambda a: [operand(s, a.dtype) for s in [a.shape] * a.num_args],
    {"num_args": [1, 2, 3, 5]},
    {"shape": [(5,), (3, 4), (2, 3, 2)], "dtype": DTYPES},
)
NUMBERS = {"scalar": opt(2, -1.5, 0.3, 3.7, 0), "is_int": opt(True, False)}
ONE = {"dtype": DTYPES}
space(
    "_plus_scalar _minus_scalar _rminus_scalar _mul_scalar _maximum_scalar _minimum_scalar _equal_scalar _not_equal_scalar"
    " _greater_scalar _greater_equal_scalar _lesser_scalar _lesser_equal_scalar _logical_and_scalar _logical_or_scalar"
    " _logical_xor_scalar _hypot_scalar",
    lambda a: [operand((3, 4), a.dtype)],
    NUMBERS,
    ONE,
)
NONZERO = {"scalar": opt(2, -1.5, 0.3, 3.7), "is_int": opt(True, False)}
space(
    "_div_scalar _mod_scalar",
    lambda a: [operand((3, 4), a.dtype)],
    NONZERO,
    ONE,
    # a scalar that is_int truncates to 0 ends the process, and 0.3 is one
    where=lambda a: a.dtype.startswith("float") or a.scalar != 0.3 or a.is_int is False,
)
space("_rdiv_scalar _rmod_scalar", lambda a: [operand((3, 4), a.dtype, nonzero=True)], NUMBERS, ONE)
space(
    "_power_scalar",
    lambda a: [operand((3, 4), a.dtype, nonzero=True, positive=True)],
    {"scalar": opt(2, 3, 0.5, -1, 0), "is_int": opt(True, False)},
    ONE,
)
space(
    "_rpower_scalar",
    lambda a: [(lambda rng: rng.randint(0, 4, (3, 4)).astype(a.dtype))],
    {"scalar": opt(2, 1.5, 3), "is_int": opt(True, False)},
    ONE,
)
space("smooth_l1", lambda a: [operand((3, 4), a.dtype)], {"scalar": opt(1, 0.5, 2, 3)}, {"dtype": DTYPES[:3]})
space(
    "clip",
    lambda a: [operand((3, 4), a.dtype)],
    {"a_min": [-1, 0.5, -9, 2], "a_max": [1, 2.5, 9, 0]},
    ONE,
    where=lambda a: a.dtype != "uint8" or a.a_min >= 0,
)
space(
    "_scatter_plus_scalar _scatter_minus_scalar",
    lambda a: [operand((3, 4), a.dtype)],
    {"scalar": opt(2, -1.5), "is_int": opt(True, False)},
    {"dtype": ["float32", "float64"]},
)
space("_scatter_elemwise_div", pair(nonzero=True), {}, {"pair": [((3, 4), (3, 4))], "dtype": ["float32", "float64"]})
space("_identity_with_attr_like_rhs", pair(), {}, SAME)
