"""Functions of mx.np that make, reduce, multiply, sort, count and choose: over shapes (a single number and none of them too), axes
and dtypes; what falls back to NumPy; NumPy's own functions upon arrays of mx.np. Left out: gradients of
std and var, which are 0 in MXNet, and of where with a number, which it gives to the other branch."""

from __future__ import annotations

import numpy as onp

from .questions import ask, cell, numbers, numpy_mode

SHAPES = ((), (3,), (2, 3), (2, 1, 3), (0, 2))


def array(mx, *shape, dtype="float32", seed=0):
    """An array of the shape, whole numbers where the dtype is."""
    values = numbers(*shape, seed=seed, low=-3.0, high=3.0)
    values = onp.round(values) if onp.dtype(dtype).kind == "i" else values > 0 if dtype == "bool" else values
    return mx.np.array(onp.asarray(values, dtype), dtype=dtype)


def axes_of(shape, several):
    """Axes to reduce: none, each from either end (a single number has those too), pairs."""
    single = [*range(len(shape) or 1), -1]
    return [None, *single, *([tuple(range(len(shape)))[:2]] if several and len(shape) > 1 else [])]


def each(calls):
    """Cells of calls by name."""
    return {name: cell(call) for name, call in calls.items()}


@ask
def reductions(mx, folder):
    """Answers over shapes and axes, then over dtypes."""
    calls = {}
    with numpy_mode(mx) as np:
        for name in ("sum", "prod", "mean", "std", "var", "max", "min", "all", "any", "argmax", "argmin", "cumsum"):
            several = name[:3] not in ("arg", "cum")
            function = getattr(np, name)
            for shape in SHAPES:
                if 0 in shape and name not in ("sum", "prod", "cumsum"):
                    continue
                for axis in axes_of(shape, several):
                    calls[f"{name} {shape} {axis}"] = lambda f=function, s=shape, a=axis: f(array(mx, *s), axis=a)
            for dtype in ("bool", "int32", "int64", "float16", "float64"):
                if name not in ("std", "var", "cumsum") or dtype == "float64":
                    calls[f"{name} {dtype}"] = lambda f=function, d=dtype: f(array(mx, 2, 3, dtype=d), axis=1)
            if several:
                calls[f"{name} kept"] = lambda f=function: f(array(mx, 2, 3), axis=0, keepdims=True)
                calls[f"{name} all kept"] = lambda f=function: f(array(mx, 2, 3), keepdims=True)
            if name in ("sum", "prod", "mean", "std", "var", "cumsum"):
                calls[f"{name} as float64"] = lambda f=function: f(array(mx, 2, 3), axis=0, dtype="float64")
                calls[f"{name} of integers as float32"] = lambda f=function: f(
                    array(mx, 2, 3, dtype="int32"), axis=0, dtype="float32"
                )
        a = array(mx, 2, 3)
        calls |= {
            "initial": lambda: np.sum(a, axis=0, initial=2.5),
            "product's": lambda: np.prod(a, axis=0, initial=2.0),
            "ddof": lambda: [np.std(a, axis=1, ddof=1), np.var(a, ddof=2)],
            "no axis": lambda: np.sum(a, axis=()),
            "average": lambda: [np.average(a), np.average(a, axis=1)],
            "weights": lambda: np.average(a, axis=1, weights=np.array([1.0, 2.0, 3.0])),
            "all weights": lambda: np.average(a, weights=np.ones((2, 3))),
            "returned": lambda: np.average(a, axis=0, weights=np.array([1.0, 2.0]), returned=True),
            "out": lambda: (lambda out: (np.sum(a, axis=0, out=out), out)[1])(np.zeros((3,))),
            "old names": lambda: [np.product(a, axis=0), np.sometrue(a, axis=0), np.amax(a, axis=0), np.amin(a)],
            "trace": lambda: [np.trace(a), np.trace(a, 1), np.trace(array(mx, 2, 3, 2), axis1=0, axis2=2)],
        }
        return each(calls)


@ask
def arrays_that_are_made(mx, folder):
    """Answers of what makes arrays."""
    calls = {}
    with numpy_mode(mx) as np:
        whole = array(mx, 2, dtype="int32")
        for name in ("zeros", "ones"):
            function, like = getattr(np, name), getattr(np, f"{name}_like")
            for shape in (3, (), (2, 1), (0, 2), [2]):
                calls[f"{name} {shape}"] = lambda f=function, s=shape: f(s)
            for dtype in ("int32", int, bool, "float64", None):
                calls[f"{name} {dtype}"] = lambda f=function, d=dtype: f((2,), dtype=d)
            calls[f"{name} like"] = lambda f=like: [f(whole), f(whole, dtype="float64")]
        for value in (2, 2.5, True):
            calls[f"full {value!r}"] = lambda v=value: [
                np.full((2,), v),
                np.full((2,), v, dtype="int32"),
                np.full_like(whole, v),
            ]
        for text, source in {
            "number": 3, "float": 2.5, "list": [1, 2], "bools": [True, False], "none": [], "nested": [[1], [2]],
            "tuple": (1, 2), "range": range(3), "onp": onp.arange(3), "onp f2": onp.ones(2, "float16"),
            "onp scalar": onp.float64(2), "onp bool": onp.array([True]), "ragged": [1, [2]], "text": "a", "complex": 1j,
            "arrays in lists": [onp.ones(2), onp.zeros(2)],
        }.items():  # fmt: skip
            calls[f"array {text}"] = lambda s=source: np.array(s)
            calls[f"array {text} as int32"] = lambda s=source: np.array(s, dtype="int32")
        calls |= {
            "array of its own": lambda: [np.array(whole), np.array(whole, dtype="float64")],
            "array of numbers in arrays": lambda: np.array([np.array(1.0), np.array(2.0)]),
            "array of arrays": lambda: np.array([whole, whole]),
            "array of nd": lambda: np.array(mx.nd.ones((2,))),
            "full of an array": lambda: [np.full((2, 2), whole), np.full((2, 2), whole, dtype="float32")],
            "arange": lambda: [np.arange(3), np.arange(1, 3), np.arange(3, 0, -1), np.arange(0, 1, 0.25), np.arange(0)],
            "arange as int64": lambda: [np.arange(3, dtype="int64"), np.arange(1, 7, 2, dtype=int)],
            "arange of no step": lambda: np.arange(3, step=0),
            "linspace": lambda: [np.linspace(0, 1, 5), np.linspace(2, 3, 1)],
            "linspace without end": lambda: np.linspace(0, 1, 4, endpoint=False),
            "none": lambda: np.linspace(0, 1, 0),
            "linspace and step": lambda: list(np.linspace(0, 1, 3, retstep=True)),
            "linspace whole": lambda: np.linspace(0, 10, 5, dtype="int32"),
            "arrays": lambda: np.linspace([0], 1, 3),
            "logspace": lambda: [np.logspace(0, 2, 3), np.logspace(0, 1, 3, base=2.0, endpoint=False)],
            "eye": lambda: [np.eye(2), np.eye(2, 3), np.eye(3, k=-1), np.eye(2, 3, 1, dtype="int32")],
            "identity": lambda: [np.identity(2), np.identity(2, dtype="int32"), np.identity(0)],
            "identity of no integer": lambda: np.identity(2.0),
            "indices": lambda: [np.indices((2, 3)), np.indices((2,), dtype="float32")],
            "indices of a number": lambda: np.indices(2),
            "order": lambda: np.ones((2,), order="F"),
            "windows": lambda: [getattr(np, w)(m) for w in ("hanning", "hamming", "blackman") for m in (0, 1, 2, 5)],
            "grid": lambda: np.meshgrid(whole, array(mx, 3)),
            "grid ij": lambda: np.meshgrid(whole, array(mx, 3), indexing="ij"),
            "grid of three": lambda: [g.shape for g in np.meshgrid(np.ones(2), np.ones(3), np.ones(4))],
            "grid of one": lambda: np.meshgrid(whole),
            "sparse": lambda: np.meshgrid(whole, whole, sparse=True),
            "tril": lambda: [np.tril(np.ones((2, 3)), k) for k in (-1, 0, 1)],
            "empty": lambda: np.empty((2, 0)),
            "empty like": lambda: np.empty_like(np.ones((0, 2)), dtype="int32"),
            "text": lambda: np.genfromtxt(["1 2", "3 4"]),
            "shared": lambda: [np.shares_memory(whole, whole[:1]), np.may_share_memory(whole, whole.copy())],
        }
        return each(calls)


@ask
def products(mx, folder):
    """Answers over shapes."""
    calls = {}
    pairs = {
        "dot": "(3,)(3,) (2,3)(3,) (2,3)(3,2) (2,1,3)(3,2) (2,3)(2,3,2) ()(2,3) (2,3)() (0,2)(2,3) (2,0)(0,3)",
        "matmul": "(3,)(3,) (2,3)(3,) (3,)(3,2) (2,3)(3,2) (4,2,3)(3,2) (2,3)(4,3,2) (4,1,2,3)(5,3,2) (2,0)(0,3)",
        "inner": "(3,)(3,) (2,3)(3,) (2,3)(4,3) (2,2,3)(2,3)",
        "outer": "(3,)(2,) (2,2)(3,) (0,)(2,)",
        "vdot": "(3,)(3,) (2,3)(2,3) (2,3)(3,2)",
        "tensordot": "(2,3)(2,3) (4,2,3)(2,3,5)",
    }
    with numpy_mode(mx) as np:
        for name, of in pairs.items():
            function = getattr(np, name)
            for pair in of.split():
                left, right = (tuple(int(n) for n in side.split(",") if n) for side in pair[1:-1].split(")("))
                calls[f"{name} {pair}"] = lambda f=function, s=left, t=right: f(array(mx, *s), array(mx, *t, seed=1))
        a, b, c = array(mx, 2, 3), array(mx, 3, 4, seed=1), array(mx, 2, 3, 4)
        for axes in (0, 1, ([1], [0]), ([0, 1], [0, 1]), (1, 0), (-1, 0), ([1], [0, 1])):
            calls[f"tensordot {axes}"] = lambda axes=axes: np.tensordot(a, b if axes != ([0, 1], [0, 1]) else c, axes)
        for text, operands in {
            "ij,jk": (a, b), "ij,jk->ki": (a, b), "ij->ji": (a,), "ij->": (a,), "ij->i": (a,), "ij,ij->ij": (a, a),
            "ijk,jk->i": (c, b), "i...->...": (a,), "ij,jk,ijk->k": (a, b, c), "i,j->ij": (a[0], b[0]), "ii": (b[:, :3],),
            "ii->i": (b[:, :3],), "...ij,...jk->...ik": (c, b.T),
        }.items():  # fmt: skip
            calls[f"einsum {text}"] = lambda text=text, o=operands: np.einsum(text, *o)
            calls[f"einsum {text} in order"] = lambda text=text, o=operands: np.einsum(text, *o, optimize=True)
        p = np.array([1.0, -2.0, 3.0])
        calls |= {
            "polynomial": lambda: [np.polyval(p, a), np.polyval(p, np.array(2.0))],
            "numbers": lambda: np.polyval([1, 2], 3),
            "polynomial of a list": lambda: np.polyval([1, 2], a),
            "operator": lambda: np.matmul(a, b),
            "doubles": lambda: np.dot(array(mx, 2, dtype="float64"), array(mx, 2, dtype="float64")),
        }
        return each(calls)


@ask
def sorting_and_counting(mx, folder):
    """Answers over shapes, axes and dtypes."""
    calls = {}
    with numpy_mode(mx) as np:
        for name in ("sort", "argsort", "diff"):
            function = getattr(np, name)
            for shape in ((3,), (2, 3), (2, 2, 3)):
                for axis in (*(() if name == "diff" else (None,)), *range(len(shape)), -1):
                    calls[f"{name} {shape} {axis}"] = lambda f=function, s=shape, a=axis: f(array(mx, *s), axis=a)
            calls[f"{name} of integers"] = lambda f=function: f(array(mx, 4, dtype="int32"))
            calls[f"{name} of doubles"] = lambda f=function: f(array(mx, 4, dtype="float64"))
        for n in (0, 1, 2, 3):
            calls[f"diff {n}"] = lambda n=n: np.diff(array(mx, 4), n=n)
        repeated = np.array([[3, 1, 3], [3, 1, 3], [2, 0, 2]], dtype="int32")
        for given in ((), (True,), (False, True), (False, False, True), (True, True, True)):
            calls[f"unique {given}"] = lambda g=given: np.unique(repeated, *g)
        for axis in (0, 1):
            calls[f"unique along {axis}"] = lambda axis=axis: np.unique(repeated, True, True, True, axis=axis)
        whole, a = np.array([0, 3, 1, 1], dtype="int32"), array(mx, 2, 3)
        for q in (0, 30, 50, 100):
            for how in ("linear", "lower", "higher", "midpoint", "nearest"):
                calls[f"percentile {q} {how}"] = lambda q=q, how=how: np.percentile(array(mx, 6), q, interpolation=how)
        calls |= {
            "percentiles": lambda: np.percentile(a, np.array([20, 50]), axis=1),
            "kept": lambda: np.percentile(a, 50, axis=0, keepdims=True),
            "quantile": lambda: [
                np.quantile(a, 0.3),
                np.quantile(a, np.array([0.2, 0.5]), axis=0),
                np.quantile(a, 0.5, axis=(0, 1)),
            ],
            "percentile of integers": lambda: np.percentile(whole, 40),
            "nonzero": lambda: [np.nonzero(a > 0), np.nonzero(whole)],
            "bincount": lambda: [
                np.bincount(whole),
                np.bincount(whole, minlength=6),
                np.bincount(whole, weights=np.array([1.0, 2.0, 3.0, 4.0])),
            ],
            "bincount of floats": lambda: np.bincount(a[0]),
            "of a list": lambda: np.bincount([1, 2]),
            "below": lambda: np.bincount(whole, minlength=-1),
            "histogram": lambda: np.histogram(a, bins=4, range=(-3.0, 3.0)),
            "edges": lambda: np.histogram(a, bins=np.array([-3.0, 0.0, 3.0])),
            "no range": lambda: np.histogram(a, bins=4),
            "ediff1d": lambda: [np.ediff1d(whole), np.ediff1d(a), np.ediff1d(a, to_end=1.5, to_begin=2.5)],
            "ends": lambda: np.ediff1d(a, to_end=np.array([9.0]), to_begin=np.array([7.0, 8.0])),
            "an end": lambda: [
                np.ediff1d(a, to_end=np.array([9.0])),
                np.ediff1d(a, to_begin=np.array([9.0]), to_end=1.0),
            ],
            "order": lambda: np.sort(a, order="x"),
            "prepend": lambda: np.diff(a, prepend=1),
        }
        return each(calls)


@ask
def rounding_and_choosing(mx, folder):
    """Answers for arrays, numbers and dtypes."""
    calls = {}
    with numpy_mode(mx) as np:
        values = np.array([0.5, 1.5, -2.567, 123.45])
        for decimals in (-1, 0, 2):
            calls[f"around {decimals}"] = lambda d=decimals: [
                np.around(values, d),
                np.round(values, d),
                np.round_(values, d),
            ]
            calls[f"around {decimals} of a number"] = lambda d=decimals: np.around(2.567, d)
        calls["around of integers"] = lambda: np.around(array(mx, 3, dtype="int32"), 1)
        for low, high in ((-1, 1), (None, 1), (0, None), (None, None), (1, -1)):
            calls[f"clip {low} {high}"] = lambda low=low, high=high: np.clip(values, low, high)
            calls[f"clip {low} {high} of integers"] = lambda low=low, high=high: np.clip(
                array(mx, 3, dtype="int32"), low, high
            )
        odd = np.array([np.nan, np.inf, -np.inf, 1.0])
        for given in ({}, {"nan": 2.0}, {"posinf": 5.0}, {"neginf": -5.0, "copy": False}):
            calls[f"nan_to_num {given}"] = lambda g=given: np.nan_to_num(odd.copy(), **g)
        calls["nan_to_num float16"] = lambda: np.nan_to_num(odd.astype("float16"))
        calls["nan_to_num of integers"] = lambda: np.nan_to_num(array(mx, 3, dtype="int32"))
        calls["tests"] = lambda: [getattr(np, n)(odd) for n in ("isnan", "isinf", "isposinf", "isneginf", "isfinite")]
        for kind in ("float32", "int32", "bool"):
            condition = array(mx, 2, 3, dtype=kind)
            for text, (x, y) in {
                "arrays": (array(mx, 2, 3), array(mx, 2, 3, seed=1)), "spread": (array(mx, 3), array(mx, 2, 1)),
                "integers": (array(mx, 3, dtype="int32"), array(mx, 3, dtype="int32", seed=1)),
                "array, number": (array(mx, 3), 7), "number, array": (7.5, array(mx, 3)), "numbers": (1, 2.5),
                "integers, number": (array(mx, 3, dtype="int32"), 2.5), "booleans": (array(mx, 3, dtype="bool"),) * 2,
                "mixed": (array(mx, 3), array(mx, 3, dtype="int32")), "text": ("a", array(mx, 3)),
            }.items():  # fmt: skip
                calls[f"where {kind} {text}"] = lambda c=condition, x=x, y=y: np.where(c, x, y)
            calls[f"where {kind}"] = lambda c=condition: list(np.where(c))
        calls["where of a number"] = lambda: [np.where(1, values, 2), np.where(0, values, 2)]
        return each(calls)


@ask
def functions_of_numpy(mx, folder):
    """Answers of what falls back to NumPy, and of NumPy's own functions upon arrays of mx.np."""
    with numpy_mode(mx) as np:
        a, whole = array(mx, 2, 3), np.array([1, 2, 3], dtype="int32")
        calls = {
            "allclose": lambda: [np.allclose(a, a), np.allclose(a, a + 1)],
            "argwhere": lambda: np.argwhere(whole),
            "array_equal": lambda: np.array_equal(a, a),
            "isclose": lambda: np.isclose(whole, 2),
            "count_nonzero": lambda: int(np.count_nonzero(a)),
            "searchsorted": lambda: np.searchsorted(whole, np.array([2])),
            "interp": lambda: [
                np.interp(2.5, whole, whole),
                np.interp(whole, whole, whole),
                np.interp(2.5, [1, 3], [1, 3]),
            ],
            "cov": lambda: [np.cov(a), np.corrcoef(a)],
            "in1d": lambda: [np.in1d(whole, np.array([2])), np.isin(whole, whole)],
            "msort": lambda: np.msort(a),
            "trapz": lambda: [np.trapz(whole), np.trapz(a, dx=0.5, axis=0)],
            "alltrue": lambda: bool(np.alltrue(whole)),
            "divmod": lambda: np.divmod(whole, 2),
            "modf": lambda: np.modf(a),
            "signbit": lambda: np.signbit(a),
            "select": lambda: np.select([whole > 1], [whole]),
            "sets": lambda: [np.union1d(whole, whole), np.setdiff1d(whole, np.array([2]))],
            "nan": lambda: [np.nanmax(a, axis=0), np.nancumsum(a), np.nanprod(a, axis=1)],
            "nan quantiles": lambda: [
                np.nanpercentile(a, 40, interpolation="lower"),
                np.nanquantile(a, 0.3, axis=0, interpolation="higher"),
            ],
            "polynomials": lambda: np.polyadd(whole, whole),
            "axes": lambda: [
                np.rollaxis(array(mx, 2, 1, 3), 2).shape,
                np.take_along_axis(whole, np.array([0], dtype="int64"), 0),
            ],
            "mirr": lambda: np.mirr([1], 1, 1),
            "linalg": lambda: [np.linalg.matrix_power(np.eye(2), 2), np.linalg.multi_dot([a, a.T])],
            "ix_": lambda: [i.shape for i in np.ix_(whole, whole)],
            "vander": lambda: np.vander(whole),
            "ptp": lambda: np.ptp(a, axis=0),
            "ours": lambda: [
                onp.mean(a),
                onp.sum(a, axis=0),
                onp.argmax(a),
                onp.cumsum(a, axis=1),
                onp.sort(a),
                onp.std(a, ddof=1),
            ],
            "where": lambda: [
                onp.where(a > 0, a, a),
                onp.clip(a, 0, 1),
                onp.ones_like(whole),
                onp.dot(a, a.T),
                onp.einsum("ij->j", a),
            ],
            "ufuncs": lambda: [
                onp.add(a, a),
                onp.multiply(a, 2),
                onp.sin(a),
                onp.maximum(whole, 2),
                onp.equal(whole, 2),
                onp.negative(a),
            ],
            "out": lambda: (lambda out: (onp.add(a, a, out=out), out)[1])(np.zeros((2, 3))),
            "theirs": lambda: [
                onp.exp2(a),
                onp.gcd(whole, 2),
                onp.median(a, axis=0),
                onp.nanmean(a, axis=1),
                onp.flatnonzero(whole),
            ],
            "beside": lambda: onp.add(a, onp.ones(3)),
            "operand": lambda: a + onp.ones(3),
            "reflected": lambda: onp.ones(3) + a,
            "number": lambda: [onp.float32(2) * a, a - onp.int64(2)],
            "reduce": lambda: onp.add.reduce(a),
        }
        found = each(calls)
        a.attach_grad()
        with mx.autograd.record():
            found["recorded"] = each(
                {
                    "ours": lambda: onp.sin(a),
                    "theirs": lambda: onp.exp2(a),
                    "fallback": lambda: np.allclose(a, a),
                    "median": lambda: onp.median(a),
                    "without arrays": lambda: np.interp(2.5, [1, 3], [1, 3]),
                }
            )
        return found


GRADIENTS = {
    "sum": lambda np, x: np.sum(x, axis=0),
    "mean": lambda np, x: np.mean(x, axis=(0, 1)),
    "max": lambda np, x: np.max(x, axis=1),
    "min": lambda np, x: np.min(x),
    "prod": lambda np, x: np.prod(x, axis=0),
    "cumsum": lambda np, x: np.cumsum(x, axis=1),
    "trace": lambda np, x: np.trace(x),
    "average": lambda np, x: np.average(x, axis=1, weights=np.array([1.0, 2.0, 3.0])),
    "where": lambda np, x: np.where(np.greater(x, 0), x * 2, x),
    "clip": lambda np, x: np.clip(x, -1, 1),
    "dot": lambda np, x: np.dot(x, np.ones((3, 2))),
    "tril": lambda np, x: np.tril(x),
    "inner": lambda np, x: np.inner(x, x),
    "outer": lambda np, x: np.outer(x, x),
    "vdot": lambda np, x: np.vdot(x, x),
    "tensordot": lambda np, x: np.tensordot(x, x, ([0], [0])),
    "einsum": lambda np, x: np.einsum("ij,ij->i", x, x),
    "diff": lambda np, x: np.diff(x),
    "ediff1d": lambda np, x: np.ediff1d(x, 1.0),
    "polyval": lambda np, x: np.polyval(x[0], x),
    "nan_to_num": lambda np, x: np.nan_to_num(x),
    "around": lambda np, x: np.around(x, 1),
    "power": lambda np, x: np.power(x * x, 1.5),
    "matmul": lambda np, x: np.matmul(x, np.ones((3, 2))),
    "divide": lambda np, x: (1 / x) / 3,
    "arctan2": lambda np, x: np.arctan2(x, 2.0),
    "hypot": lambda np, x: np.hypot(x, x * 2),
    "copysign": lambda np, x: np.copysign(x, -1.0),
    "mod": lambda np, x: np.mod(x, 2.0),
    "maximum": lambda np, x: np.maximum(x, 0.5),
    "absolute": lambda np, x: np.absolute(x),
    "log": lambda np, x: np.log(x * x),
    "sqrt": lambda np, x: np.sqrt(np.square(x)),
    "spread": lambda np, x: x * np.sum(x, axis=1, keepdims=True),
    "sort": lambda np, x: np.sort(x),
}


@ask
def gradients(mx, folder):
    """Gradients of a weighted sum of what functions give."""
    found = {}
    with numpy_mode(mx) as np:
        for name, function in GRADIENTS.items():

            def gradient(function=function):
                x = array(mx, 2, 3)
                x.attach_grad()
                with mx.autograd.record():
                    y = function(np, x)
                y.backward(array(mx, *y.shape, seed=2))
                return [y, x.grad]

            found[name] = cell(gradient)
    return found


@ask
def symbols(mx, folder):
    """Answers of the same functions of mx.sym.np, bound, with their gradients."""
    found = {}
    left_out = ("polyval", "average")  # which need a constant or an element
    with numpy_mode(mx):
        for name, function in GRADIENTS.items():
            if name in left_out:
                continue

            def answer(function=function):
                y = function(mx.sym.np, mx.sym.var("x").as_np_ndarray())
                x, place = array(mx, 2, 3), mx.np.zeros((2, 3))
                bound = y.bind(mx.cpu(), {"x": x}, args_grad={"x": place})
                (out,) = bound.forward(is_train=True)
                bound.backward([array(mx, *out.shape, seed=2)])
                return [out, place]

            found[name] = cell(answer)
        made = mx.sym.np
        for name, y in {
            "zeros": made.zeros((2,)), "ones": made.ones((2,), dtype="int32"), "full": made.full((2,), 3), "eye": made.eye(2),
            "arange": made.arange(3), "linspace": made.linspace(0, 1, 3), "indices": made.indices((2,)), "window": made.hamming(3),
        }.items():  # fmt: skip
            found[name] = cell(lambda y=y: y.bind(mx.cpu(), {}).forward()[0])
    return found
