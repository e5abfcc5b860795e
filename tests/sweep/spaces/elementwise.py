"""One operand, element by element."""

from fixtures.make.cases import ints, uniform

from ..space import opt, space

FLOATS = ["float32", "float64", "float16"]
DTYPES = [*FLOATS, "int32", "int64", "int8", "uint8"]
SHAPES = [(5,), (3, 4), (2, 1, 3, 2)]


def between(a):
    """Fractions for floats, whole numbers of the range for the rest."""
    low, high = a.range
    if a.dtype.startswith("float"):
        return [uniform(*a.shape, low=low, high=high, dtype=a.dtype)]
    return [ints(*a.shape, low=int(low), high=int(high) + 1, dtype=a.dtype)]


def whole(a):
    """True for floats, and where the range of other dtypes is one of whole numbers."""
    return a.dtype.startswith("float") or all(isinstance(n, int) for n in a.range)


def over(*ranges, dtypes=tuple(DTYPES)):
    return {
        "range": ranges,
        "shape": SHAPES,
        "dtype": dtypes,
    }


space(
    "abs sign ceil floor round rint fix trunc negative square exp expm1 sin cos tan sinh cosh arctan arcsinh degrees radians"
    " relu softsign logical_not cbrt",
    between,
    {},
    over((0, 4), (-4, 4)),
    where=lambda a: a.dtype != "uint8" or a.range[0] == 0,
)
space(
    "tanh sigmoid erf",
    between,
    {},
    over((0, 4), (-4, 4), (4, 40)),
    where=lambda a: a.dtype != "uint8" or a.range[0] >= 0,
)
space("log1p", between, {}, over((0, 4)))
space("sqrt rsqrt rcbrt log log2 log10 reciprocal gammaln", between, {}, over((1, 6), (0.1, 3)), where=whole)
space("gamma", between, {}, over((1, 6), (0.1, 3), dtypes=FLOATS))
space("arctanh erfinv", between, {}, over((-0.9, 0.9), dtypes=FLOATS))
space("arcsin arccos", between, {}, over((-0.9, 0.9), (0, 1)), where=whole)
space("arccosh", between, {}, over((1, 5)))
space("hard_sigmoid", between, {"alpha": opt(0.5, 1), "beta": opt(0.1, 0)}, over((-4, 4), dtypes=FLOATS))
space(
    "_contrib_quadratic",
    between,
    {"a": opt(2, -0.5), "b": opt(1), "c": opt(3)},
    over((-2, 2), dtypes=FLOATS),
)
space("_contrib_div_sqrt_dim", between, {}, over((-2, 2), dtypes=FLOATS))
