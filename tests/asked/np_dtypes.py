"""Element-wise functions of mx.np: dtypes and numbers that they give, for every dtype beside every other and beside numbers. Left
out: arrays of integers beside fractions, which MXNet cuts to integers (and does not in graphs)."""

from __future__ import annotations

import operator

import numpy as np

from .questions import ask, cell, numpy_mode

VALUES = {
    **dict.fromkeys(("int8", "int32", "int64"), (3, -2)), "bool": (True, False), "uint8": (3, 2),
    **dict.fromkeys(("float16", "float32", "float64"), (1.5, -2.0)),
}  # fmt: skip
BINARY = tuple(
    name
    for row in (
        "add subtract multiply true_divide mod power maximum minimum arctan2 copysign hypot ldexp lcm bitwise_and bitwise_or",
        "bitwise_xor equal not_equal less less_equal greater greater_equal",
    )
    for name in row.split()
)
UNARY = tuple(
    name
    for row in (
        "abs absolute arccos arccosh arcsin arcsinh arctan arctanh bitwise_not cbrt ceil cos cosh deg2rad degrees exp expm1",
        "fabs fix floor invert isfinite isinf isnan isneginf isposinf log log10 log1p log2 logical_not negative rad2deg radians",
        "reciprocal rint sign sin sinh sqrt square tan tanh trunc",
    )
    for name in row.split()
)
NUMBERS = {"2": 2, "2.5": 2.5, "True": True, "-1": -1, "f4": np.float32(2.5), "i4": np.int32(2), "?": np.bool_(True)}
WHOLLY = ("add", "true_divide", "arctan2", "equal", "bitwise_and")
"""Functions that are asked for every dtype beside every other; the rest for SOME."""
SOME = ("bool", "int8", "int32", "float16", "float32")
SINGULAR = ("mod", "power", "true_divide")
"""Functions of which integers have no answer at 0 or below it, where C's is chance."""


def made(mx, dtype, first=0):
    """An array of the dtype."""
    values = VALUES[dtype] if first == 0 else VALUES[dtype][::-1]
    return mx.np.array(values, dtype=dtype)


def whole(*dtypes):
    """True where all are of whole numbers."""
    return all(np.dtype(d).kind in "biu" for d in dtypes)


def _beside(mx, name, dtype):
    function = getattr(mx.np, name)
    cells = {}
    for other in VALUES if name in WHOLLY else SOME:
        if not (name in SINGULAR and whole(dtype, other)) and not (name == "mod" and "b" in np.dtype(dtype).kind):
            cells[other] = cell(lambda other=other: function(made(mx, dtype), made(mx, other)))
    for text, number in NUMBERS.items():
        if whole(dtype) and (not float(number).is_integer() or (name in SINGULAR and text == "-1")):
            continue
        cells[f"{text} right"] = cell(lambda number=number: function(made(mx, dtype), number))
        if not (name in SINGULAR and whole(dtype)) and (name, np.dtype(dtype).kind) != ("mod", "f"):
            cells[f"{text} left"] = cell(lambda number=number: function(number, made(mx, dtype)))
    return cells


@ask
def functions_of_two(mx, folder):
    """Answers for every dtype beside every dtype, and beside numbers on either side."""
    with numpy_mode(mx):
        return {n: {d: _beside(mx, n, d) for d in (VALUES if n in WHOLLY else SOME)} for n in BINARY}


@ask
def functions_of_one(mx, folder):
    """Answers for dtypes of each kind."""
    with numpy_mode(mx):
        return {n: {d: cell(lambda n=n, d=d: getattr(mx.np, n)(made(mx, d))) for d in SOME} for n in UNARY}


@ask
def operators_in_place(mx, folder):
    """Arrays after Python's operators in place, by dtype of what is beside them."""
    found = {}
    with numpy_mode(mx):
        for name in ("iadd", "isub", "imul", "itruediv", "ipow", "iand", "ior"):
            for dtype in VALUES:
                for other in (*VALUES, 2, 2.5):
                    if name == "ipow" and (whole(dtype) or other in VALUES):
                        continue
                    if whole(dtype) and (name == "itruediv" or other == 2.5):
                        continue
                    beside = made(mx, other, 1) if other in VALUES else other
                    of, array = getattr(operator, name), made(mx, dtype)
                    found[f"{name} {dtype} {other}"] = cell(lambda o=of, a=array, b=beside: o(a, b))
    return found


@ask
def results_written_elsewhere(mx, folder):
    """Values of out, by its dtype."""
    found = {}
    with numpy_mode(mx):
        for name in ("add", "multiply", "sin", "equal", "isnan", "maximum", "sqrt"):
            for dtype in ("int32", "float32", "float64", "bool"):
                for other in ("int32", "float32", "float64", "bool"):
                    function, out = getattr(mx.np, name), made(mx, other)
                    inputs = [made(mx, dtype)] * (2 if name in BINARY else 1)
                    found[f"{name} {dtype} {other}"] = cell(
                        lambda f=function, i=inputs, out=out: (f(*i, out=out), out)[1]
                    )
    return found


@ask
def symbols_beside_symbols_and_numbers(mx, folder):
    """Answers of mx.sym.np, bound, by dtype."""
    found = {}
    with numpy_mode(mx):
        for name in ("add", "subtract", "multiply", "true_divide", "maximum", "equal", "power"):
            function = getattr(mx.sym.np, name)
            for dtype in ("int32", "float32", "float64", "bool"):
                for other in ("int32", "float32", "float64", 2, 2.5):
                    if (name == "power" and whole(dtype)) or (name == "true_divide" and dtype == "bool"):
                        continue

                    def answer(function=function, dtype=dtype, other=other):
                        a = mx.sym.var("a").as_np_ndarray()
                        if other in VALUES:
                            y, feeds = function(a, mx.sym.var("b").as_np_ndarray()), {"b": made(mx, other)}
                        else:
                            y, feeds = function(a, other), {}
                        return y.bind(mx.cpu(), {"a": made(mx, dtype), **feeds}).forward()[0]

                    found[f"{name} {dtype} {other}"] = cell(answer)
    return found


@ask
def keywords_of_numpy(mx, folder):
    """Answers to keywords that NumPy's functions have."""
    with numpy_mode(mx) as np:
        a = np.ones((2,))
        return {
            f"{name} {given}": cell(
                lambda name=name, given=given: getattr(np, name)(*[a] * (1 + (name != "sin")), **given)
            )
            for name in ("add", "sin", "matmul")
            for given in ({"where": True}, {"casting": "same_kind"}, {"order": "K"}, {"subok": True}, {"dtype": None})
        }
