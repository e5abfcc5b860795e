"""Operators of mx.np, where 0 is a size and there are arrays without axes. Not those whose output shapes data decide, which MXNet's
bound executors show empty: fixtures/ops has them."""

import functools

import numpy as np

from fixtures.make.cases import distinct, ints, ramp, uniform, values

from ..space import opt
from ..space import space as declare
from .binary import NONZERO, NUMBERS, ONE, PAIRS, operand, pair
from .elementwise import FLOATS, between, over
from .index import BOOL
from .reduce import SHAPES, fits, numbers

space = functools.partial(declare, most=64)  # they share their rules with the operators of mx.nd
DTYPES = ["float32", "float64", "float16", "int32", "int64", "int8", "uint8"]
TWO = ["float32", "float64"]
AXES = opt("None", 0, 1, -1, (0,), (0, 1), (-2, 0), (0, 1, 2))
REDUCED = {"rank": [1, 2, 3], "dtype": ["float32", "float64", "int32", "int64", "int8"]}


def rank(a):
    return SHAPES[a.rank]


def data(a):
    return [ramp(*rank(a), dtype=a.dtype)]


space(
    "_np_sum _np_prod _npi_mean",
    lambda a: [numbers(a)],
    {"axis": AXES, "keepdims": BOOL, "initial": opt("None")},
    REDUCED,
    where=fits,
)
space(
    "_np_max _np_min",
    lambda a: [numbers(a)],
    {"axis": AXES, "keepdims": BOOL, "initial": opt("None")},
    REDUCED,
    where=fits,
)
space(
    "_npi_var _npi_std",
    lambda a: [numbers(a)],
    {"axis": AXES, "ddof": opt(0, 1), "keepdims": BOOL},
    REDUCED | {"dtype": TWO},
    where=fits,
)
space(
    "_np_any _np_all",
    lambda a: [ints(*rank(a), high=2, dtype=a.dtype)],
    {"axis": opt("None", 0, 1, -1, (0,), (0, 1)), "keepdims": BOOL},
    {"rank": [1, 2, 3], "dtype": ["float32", "int32", "bool", "uint8"]},
    where=fits,
)
space(
    "_npi_argmax _npi_argmin",
    lambda a: [distinct(*rank(a), dtype=a.dtype)],
    {"axis": opt("None", 0, 1, -1), "keepdims": BOOL},
    {"rank": [1, 2, 3], "dtype": ["float32", "float64", "int32"]},
    where=fits,
)
space(
    "_npi_add _npi_subtract _npi_multiply _npi_equal _npi_not_equal _npi_greater _npi_greater_equal _npi_less _npi_less_equal",
    pair(),
    {},
    {"pair": [*PAIRS, ((), (3,)), ((0, 3), (1, 3))], "dtype": DTYPES},
)
space("_npi_mod _npi_true_divide", pair(nonzero=True), {}, {"pair": [*PAIRS, ((), (3,))], "dtype": DTYPES})
space("_npi_power", pair(whole=True), {}, {"pair": PAIRS, "dtype": DTYPES})
space(
    "_npi_arctan2 _npi_hypot _npi_copysign",
    pair(nonzero=True),
    {},
    {"pair": PAIRS, "dtype": ["float32", "float64", "float16"]},
)
space("_npi_ldexp", pair(whole=True), {}, {"pair": PAIRS, "dtype": TWO})
space(
    "_npi_bitwise_and _npi_bitwise_or _npi_bitwise_xor _npi_lcm",
    pair(),
    {},
    {"pair": PAIRS, "dtype": ["int32", "int64", "int8", "uint8"]},
)
space(
    "_npi_add_scalar _npi_subtract_scalar _npi_rsubtract_scalar _npi_multiply_scalar _npi_equal_scalar _npi_not_equal_scalar"
    " _npi_greater_scalar _npi_greater_equal_scalar _npi_less_scalar _npi_less_equal_scalar",
    lambda a: [operand((3, 4), a.dtype)],
    NUMBERS,
    ONE,
)
space(
    "_npi_true_divide_scalar _npi_mod_scalar",
    lambda a: [operand((3, 4), a.dtype)],
    NONZERO,
    ONE,
    where=lambda a: a.dtype.startswith("float") or a.scalar != 0.3 or a.is_int is False,
)
space("_npi_rtrue_divide_scalar _npi_rmod_scalar", lambda a: [operand((3, 4), a.dtype, nonzero=True)], NUMBERS, ONE)
space(
    "_npi_power_scalar",
    lambda a: [operand((3, 4), a.dtype, nonzero=True, positive=True)],
    {"scalar": opt(2, 3, 0.5), "is_int": BOOL},
    ONE,
)
space("_npi_rpower_scalar", lambda a: [ints(3, 4, high=4, dtype=a.dtype)], {"scalar": opt(2, 1.5), "is_int": BOOL}, ONE)
space(
    "_npi_arctan2_scalar _npi_rarctan2_scalar _npi_copysign_scalar _npi_rcopysign_scalar _npi_ldexp_scalar _npi_rldexp_scalar",
    lambda a: [operand((3, 4), a.dtype, nonzero=True)],
    {"scalar": opt(2, -1.5), "is_int": BOOL},
    {"dtype": TWO},
)
space(
    "_npi_bitwise_and_scalar _npi_bitwise_or_scalar _npi_bitwise_xor_scalar _npi_lcm_scalar",
    lambda a: [operand((3, 4), a.dtype)],
    {"scalar": opt(2, 3), "is_int": opt(True)},
    {"dtype": ["int32", "int64", "int8", "uint8"]},
)
space(
    "_npi_arctan _npi_arcsinh _npi_cbrt _npi_ceil _npi_cos _npi_cosh _npi_degrees _npi_exp _npi_expm1 _npi_floor _npi_negative"
    " _npi_radians _npi_rint _npi_sign _npi_sin _npi_sinh _npi_square _npi_tan _npi_tanh _npi_trunc _npi_logical_not _npi_absolute"
    " _npi_fix",
    between,
    {},
    over((0, 4), (-4, 4)),
    where=lambda a: a.dtype != "uint8" or a.range[0] == 0,
)
space("_npi_log _npi_log10 _npi_log2 _npi_log1p _npi_reciprocal _npi_sqrt _npi_arccosh", between, {}, over((1, 6)))
space("_npi_arcsin _npi_arccos _npi_arctanh", between, {}, over((-0.9, 0.9), dtypes=FLOATS))
space("_npi_arcsin _npi_arccos", between, {}, over((0, 1)))
space(
    "_npi_isnan _npi_isinf _npi_isposinf _npi_isneginf _npi_isfinite",
    lambda a: [values([[np.nan, 1, np.inf], [-np.inf, 0, -2]], a.dtype)],
    {},
    {"dtype": FLOATS},
)
space("_npi_bitwise_not", between, {}, over((0, 4), dtypes=["int32", "int64", "int8", "uint8"]))
space(
    "_npi_around",
    lambda a: [uniform(3, 4, low=-30, high=30, dtype=a.dtype)],
    {"decimals": opt(0, 1, 2, -1)},
    {"dtype": [*TWO, "int32"]},
)
space(
    "_npi_nan_to_num",
    lambda a: [values([[np.nan, 1, np.inf], [-np.inf, 0, -2]], a.dtype)],
    {"copy": BOOL, "nan": opt(0, 1.5), "posinf": opt("None", 7), "neginf": opt("None", -7)},
    {"dtype": TWO},
)
space(
    "_npi_zeros _npi_ones",
    lambda a: [],
    {"shape": [(2, 3), "()", (0, 2), 3], "ctx": opt("cpu(0)"), "dtype": opt(*DTYPES, "bool")},
)
space("_npi_identity", lambda a: [], {"shape": [(3, 3), (1, 1)], "dtype": opt(*DTYPES)})
space(
    "_npi_eye",
    lambda a: [],
    {"N": [1, 3], "M": opt("None", 2, 5), "k": opt(0, 1, -1), "dtype": opt("float64", "int32")},
)
space(
    "_npi_arange",
    lambda a: [],
    {"start": [0, 1.5, 7], "stop": opt("None", 9), "step": opt(1, 2, 0.5), "dtype": opt("float64", "int32")},
    where=lambda a: a.start < 9 and not (a.start == 0 and a.stop in (None, "None")),
)
space(
    "_npi_indices", lambda a: [], {"dimensions": [(2, 3), (4,), (1, 2, 3)], "dtype": opt("int32", "int64", "float32")}
)
space(
    "_npi_logspace",
    lambda a: [],
    {"start": [0, 1], "stop": [2, 0.5], "num": [1, 5], "endpoint": BOOL, "base": opt(10, 2), "dtype": opt("float64")},
)
space("_npi_hanning _npi_hamming _npi_blackman", lambda a: [], {"M": [1, 3, 5, 8], "dtype": opt("float32", "float64")})
MOVED = {"rank": [1, 2, 3], "dtype": ["float32", "int32"]}
space("_np_copy", data, {}, MOVED)
space(
    "_np_reshape",
    data,
    {"newshape": [(-1,), lambda a: (*rank(a), 1), lambda a: (1, -1), lambda a: rank(a)[::-1]], "order": opt("C")},
    MOVED,
)
space(
    "_npx_reshape",
    data,
    {"newshape": [(-1,), (-2, -1), (-4,), (-5, -4), (-2, 1, -4), (-1, 1)], "reverse": BOOL, "order": opt("C")},
    MOVED,
)
space(
    "_np_squeeze",
    lambda a: [ramp(*a.shape)],
    {"axis": opt("None", 0, (0,), -1, (0, 2))},
    {"shape": [(1, 3, 1), (1,), (1, 1)]},
)
space(
    "_np_transpose",
    data,
    {"axes": opt("None", lambda a: tuple(range(a.rank))[::-1], lambda a: (*range(1, a.rank), 0))},
    MOVED,
)
space(
    "_np_moveaxis",
    data,
    {"source": [(0,), (-1,), (0, 1)], "destination": [(0,), (-1,), (1, 0)]},
    MOVED,
    where=lambda a: len(a.source) == len(a.destination) <= a.rank,
)
space("_np_roll", data, {"shift": [1, -2, (1,), (1, 2)], "axis": opt("None", 0, -1, (0,), (0, 1))}, MOVED)
space(
    "_npi_rot90",
    data,
    {"k": opt(0, 1, 2, 3, -1), "axes": [(0, 1), (1, 0), (-1, 0)]},
    {"rank": [2, 3], "dtype": ["float32"]},
)
space("_npi_flip", data, {"axis": [0, -1, (0,), (0, 1)]}, MOVED)
space(
    "_npi_broadcast_to",
    lambda a: [ramp(*a.of)],
    {"shape": [(2, 3, 4), (3, 4), (2, 3, 1)]},
    {"of": [(1, 3, 1), (3, 1), (4,), ()]},
)
space(
    "_npi_pad",
    data,
    {
        "pad_width": [lambda a: ((1, 2),) * a.rank, lambda a: ((0, 1),) * a.rank],
        "mode": opt("constant", "edge", "reflect", "symmetric", "maximum", "minimum"),
        "constant_value": opt(0, 2.5),
        "reflect_type": opt("even"),
    },
    MOVED,
)
space(
    "_npi_concatenate",
    lambda a: [uniform(2, 3, dtype=a.dtype) for _ in range(a.num_args)],
    {"num_args": [1, 2, 3], "axis": opt(0, 1, -1, "None")},
    {"dtype": ["float32", "int32"]},
)
space(
    "_npi_stack",
    lambda a: [uniform(2, 3, dtype=a.dtype) for _ in range(a.num_args)],
    {"num_args": [1, 2, 3], "axis": opt(0, 1, 2, -1)},
    {"dtype": ["float32", "int32"]},
)
space(
    "_npi_vstack _npi_hstack _npi_dstack _npi_column_stack _np_atleast_1d _np_atleast_2d _np_atleast_3d",
    lambda a: [uniform(*a.of, dtype=a.dtype) for _ in range(a.num_args)],
    {"num_args": [1, 2, 3]},
    {"of": [(3,), (2, 3), (2, 3, 2)], "dtype": ["float32", "int32"]},
)
space(
    "_npi_hsplit",
    lambda a: [ramp(4, 4, 4)],
    {"indices": ["()", (0, 1, 3)], "squeeze_axis": opt(False), "sections": opt(2, 4)},
    where=lambda a: (a.indices == "()") == bool(a.sections),
)
space(
    "_npi_dsplit",
    lambda a: [ramp(4, 4, 4)],
    {"indices": ["()", (0, 1, 3)], "axis": [2], "squeeze_axis": opt(False), "sections": opt(2, 4)},
    where=lambda a: (a.indices == "()") == bool(a.sections),
)
space("_np_diag", data, {"k": opt(0, 1, -1)}, {"rank": [1, 2], "dtype": ["float32", "int32"]})
space("_npi_tril", data, {"k": opt(0, 1, -1)}, {"rank": [1, 2, 3], "dtype": ["float32", "int32"]})
space("_np_diagflat", data, {"k": opt(0, 1, -1)}, {"rank": [1, 2], "dtype": ["float32"]})
space(
    "_np_diagonal _np_trace",
    data,
    {"offset": opt(0, 1, -1), "axis1": opt(0, 1), "axis2": opt(1, 2, -1)},
    {"rank": [2, 3], "dtype": ["float32", "int32"]},
    where=lambda a: (a.axis1 or 0) % a.rank != (1 if a.axis2 is None else a.axis2) % a.rank,
)
space("_npi_diag_indices_from", lambda a: [ramp(3, 3)], {})
MATS = {
    "pair": [
        ((3, 4), (4, 5)),
        ((4,), (4,)),
        ((2, 3, 4), (4, 5)),
        ((3, 4), (4,)),
        ((4,), (4, 2)),
        ((2, 3, 4), (2, 4, 3)),
        ((2, 1, 3, 4), (2, 4, 3)),
    ],
    "dtype": TWO,
}


def factors(a):
    return [uniform(*s, dtype=a.dtype) for s in a.pair]


space("_npi_matmul _np_dot", factors, {}, MATS)
space(
    "_npi_tensordot",
    factors,
    {"a_axes_summed": [lambda a: a.axes[0]], "b_axes_summed": [lambda a: a.axes[1]]},
    {
        "pair": [((2, 3, 4), (4, 3, 2))],
        "axes": [((2,), (0,)), ((1, 2), (1, 0)), ((0, 1), (2, 1)), ((-1,), (0,))],
        "dtype": TWO,
    },
)
space(
    "_npi_tensordot_int_axes",
    factors,
    {"axes": [0, 1, 2]},
    {"pair": [((2, 3, 4), (3, 4, 2)), ((3, 4), (4, 3))], "dtype": TWO},
)
space(
    "_npi_einsum",
    lambda a: [uniform(*s) for s in a.case[1]],
    {"num_args": [lambda a: len(a.case[1])], "subscripts": [lambda a: a.case[0]], "optimize": opt(0, 1)},
    {
        "case": [
            ("ij,jk->ik", [(2, 3), (3, 4)]),
            ("ii->i", [(3, 3)]),
            ("ij->ji", [(2, 3)]),
            ("bij,bjk->bik", [(2, 2, 3), (2, 3, 2)]),
            ("ij->", [(2, 3)]),
            ("i,j->ij", [(2,), (3,)]),
            ("...ij,...jk->...ik", [(2, 2, 3), (2, 3, 2)]),
        ]
    },
)
space(
    "_np_cumsum",
    lambda a: [numbers(a)],
    {"axis": opt("None", 0, -1, 1)},
    {"rank": [1, 2, 3], "dtype": ["float32", "int32"]},
    where=fits,
)
space("_npi_diff", data, {"n": opt(0, 1, 2), "axis": opt(-1, 0)}, MOVED)
space(
    "_npi_polyval",
    lambda a: [uniform(3, dtype=a.dtype), uniform(*a.of, dtype=a.dtype)],
    {},
    {"of": [(4,), (2, 3)], "dtype": TWO},
)
space(
    "_npi_average",
    lambda a: [
        uniform(3, 4, dtype=a.dtype),
        *([uniform(3, 4, low=0.1, dtype=a.dtype)] if a.weighted is not False else []),
    ],
    {"axis": opt("None", 0, 1, -1), "returned": BOOL, "weighted": BOOL},
    {"dtype": TWO},
)
space(
    "_npi_where",
    lambda a: [
        ints(3, 4, high=2, dtype=a.test),
        uniform(*a.of, low=-9, high=9, dtype=a.dtype),
        uniform(3, 4, low=-9, high=9, dtype=a.dtype),
    ],
    {},
    {"of": [(3, 4), (1, 4), (4,)], "test": ["bool", "float32", "int32"], "dtype": ["float32", "int32", "float64"]},
)
space(
    "_npi_where_lscalar _npi_where_rscalar",
    lambda a: [ints(3, 4, high=2, dtype=a.test), uniform(3, 4, dtype=a.dtype)],
    {"scalar": opt(2, 0.5)},
    {"test": ["bool", "float32"], "dtype": TWO},
)
space(
    "_npi_where_scalar2",
    lambda a: [ints(3, 4, high=2, dtype=a.test)],
    {"x": opt(1.5, 2), "y": opt(-1)},
    {"test": ["bool", "float32", "int32"]},
)
space(
    "_npi_boolean_mask_assign_scalar",
    lambda a: [uniform(3, 4, dtype=a.dtype), ints(3, 4, high=2, dtype="bool")],
    {"value": [0, 2.5], "start_axis": [0]},
    {"dtype": TWO},
)
space(
    "_npi_percentile",
    lambda a: [uniform(3, 4, dtype=a.dtype)],
    {
        "axis": opt("None", 0, 1),
        "interpolation": opt("linear", "lower", "higher", "midpoint", "nearest"),
        "keepdims": BOOL,
        "q_scalar": [30, 50.0, 100],
    },
    {"dtype": TWO},
)
space("_npi_cholesky", lambda a: [values([[4, 1, 0.5], [1, 3, 0.2], [0.5, 0.2, 2]], a.dtype)], {}, {"dtype": TWO})
space(
    "_npi_solve",
    lambda a: [values([[4, 1, 0.5], [1, 3, 0.2], [0.5, 0.2, 2]], a.dtype), uniform(3, 2, dtype=a.dtype)],
    {},
    {"dtype": TWO},
)
space(
    "_npi_ediff1d",
    lambda a: [uniform(5, dtype=a.dtype)],
    {"to_begin_scalar": opt("None", 1.5), "to_end_scalar": opt("None", -2)},
    {"dtype": TWO},
)
space("_npx_relu _npx_sigmoid", between, {}, over((-4, 4), dtypes=FLOATS))
