"""Reductions and running totals of every dtype: whole numbers to the bit, floats as near to float64 as NumPy's."""

import itertools

import numpy as np
import pytest

from hybrid import native
from hybrid.core.op import lookup

from .single import LeftToNumPy, Single, reference, using

pytestmark = pytest.mark.skipif(not native.LEVELS, reason="the compiled part is not there")

WHOLE = ("int8", "uint8", "int32", "int64", "bool")
FLOATS = ("float32", "float64", "float16")
SHAPES = [
    (1,),
    (5,),
    (700,),
    (3, 4),
    (2, 300),
    (300, 3),
    (4, 3, 5),
    (2, 3, 4, 5),
    (1, 7, 1),
    (3, 0),
    (2, 70_000),
    (70_000, 2),
]
RNG = np.random.default_rng(4)


def numbers(shape, dtype):
    if dtype == "int64":
        return RNG.integers(-(2**62), 2**62, shape)
    if dtype in WHOLE:
        return RNG.integers(0, 2 if dtype == "bool" else 250, shape).astype(dtype)
    return RNG.uniform(0.5, 1.5, shape).astype(dtype)


def subsets(rank):
    return [c for n in range(1, rank + 1) for c in itertools.combinations(range(rank), n)]


def differing(name, arrays, wanted=None, **attrs):
    """The difference of the kernel from NumPy's rule, or from what is wanted, told; or nothing."""
    op = lookup(name).bind(**attrs)
    specs = None
    made = []
    for count in (1, 3):
        with using(count):
            single = Single(op, arrays, threads=count, specs=specs)
            specs = single.specs
            told = f"{op!r} of {[(a.dtype.name, a.shape) for a in arrays]}, {count} threads"
            if not single.there:
                return [f"{told}: no kernel"]
            wanted = reference(op, arrays, specs) if wanted is None else wanted
            made.append(single.run(arrays))
            for got, want in zip(made[-1], wanted, strict=True):
                try:
                    if want.dtype.kind == "f":
                        eps = np.finfo(want.dtype).eps
                        np.testing.assert_allclose(got, want, rtol=8 * eps, atol=8 * eps)
                    else:
                        np.testing.assert_array_equal(got, want)
                except AssertionError as error:
                    return [f"{told}: {error}"]
    same = all(np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in zip(*made))
    return [] if same else [f"{op!r}: other results with other threads"]


@pytest.mark.parametrize("dtype", WHOLE + FLOATS)
def test_reductions(level, dtype):
    wrong = []
    for shape in SHAPES:
        x = numbers(shape, dtype)
        for axes in subsets(len(shape)):
            for name in ("sum", "mean", "prod", "max", "min"):
                empty = 0 in shape
                if (empty and (name in ("max", "min", "mean") or dtype == "bool")) or (
                    name == "prod" and x.size > 1000
                ):
                    continue
                exact = None
                if dtype == "float64" and name in ("sum", "mean"):  # where NumPy itself adds up one after the other
                    exact = [getattr(np, name)(x.astype(np.longdouble), axes, keepdims=len(axes) > 1).astype(dtype)]
                    exact = [np.atleast_1d(e) for e in exact]
                wrong += differing(name, [x], exact, axis=axes, keepdims=len(axes) > 1)
    assert not wrong, "\n".join(wrong[:20])


@pytest.mark.parametrize("dtype", ("float32", "float64", "float16", "int32", "int64"))
def test_axes_that_come_with_a_run(level, dtype):
    """Of axes of one size it takes their numbers to tell which go."""
    wrong = []
    names = [
        "Sum",
        "Mean",
        "Prod",
        "Max",
        "Min",
        *(("L1", "L2", "SumSquare", "LogSum", "LogSumExp") if dtype == "float32" else ()),
    ]
    for shape in ((4, 4), (3, 4, 4, 3), (1, 5, 1), (6,)):
        x = numbers(shape, dtype)
        for axes in subsets(len(shape)):
            for name, kept in itertools.product(names, (True, False)):
                given = np.array([a - len(shape) if a % 2 else a for a in axes])
                wrong += differing(f"_onnx_Reduce{name}", [x, given], keepdims=kept, given=("axes",))
    for noop in (True, False):
        attrs = {"given": ("axes",), "noop_with_empty_axes": noop}
        wrong += differing("_onnx_ReduceSum", [numbers((2, 3), dtype), np.empty(0, np.int64)], **attrs)
    assert not wrong, "\n".join(wrong[:20])


def test_other_axes_than_the_results(level):
    op = lookup("_onnx_ReduceSum").bind(given=("axes",), keepdims=False)
    x = numbers((3, 4), "float32")
    single = Single(op, [x, np.array([1])])
    for axes in ([0], [2], [-(2**40)]):
        with pytest.raises(LeftToNumPy):
            single.run([x, np.array(axes)])


@pytest.mark.parametrize("dtype", ("float32", "float64"))
def test_nan_and_infinities(level, dtype):
    wrong = []
    for shape, axis in (((70,), 0), ((3, 200), 1), ((200, 3), 0)):
        for value in (np.nan, np.inf, -np.inf):
            x = numbers(shape, dtype)
            x.reshape(-1)[x.size // 2] = value
            for name in ("sum", "mean", "prod", "max", "min", "_np_cumsum"):
                wrong += differing(name, [x], axis=axis)
    assert not wrong, "\n".join(wrong[:20])


def test_logarithms_of_sums_of_exponentials(level):
    wrong = []
    for shape in ((7,), (3, 300), (300, 3), (2, 70_000)):
        for low, high in ((-1, 1), (-1000, -900), (900, 1000), (-90, 90)):
            x = RNG.uniform(low, high, shape).astype(np.float32)
            for value in (None, np.nan, np.inf, -np.inf):
                x = x.copy()
                if value is not None:
                    x.reshape(-1)[x.size // 2] = value
                for axis in range(len(shape)):
                    given = {"given": ("axes",), "keepdims": False}
                    wrong += differing("_onnx_ReduceLogSumExp", [x, np.array([axis])], **given)
        x = np.full(shape, -np.inf, np.float32)
        wrong += differing("_onnx_ReduceLogSumExp", [x, np.array([0])], given=("axes",))
    assert not wrong, "\n".join(wrong[:20])


@pytest.mark.parametrize("dtype", WHOLE + FLOATS)
def test_running_totals(level, dtype):
    wrong = []
    for shape in ((1,), (9,), (3, 4), (2, 5, 3), (4, 0), (5, 300), (2, 3, 300)):
        x = numbers(shape, dtype)
        for axis in (*range(-1, len(shape)), None):
            wrong += differing("_np_cumsum", [x], axis=axis)
        if dtype in ("int32", "int64", *FLOATS):
            for axis, exclusive, reverse in itertools.product(range(-1, len(shape)), (True, False), (True, False)):
                for name in ("_onnx_CumSum", "_onnx_CumProd"):
                    if x.size < 1000:
                        given = np.array(axis, "int32" if exclusive else "int64")
                        wrong += differing(name, [x, given], exclusive=exclusive, reverse=reverse)
    wrong += differing("_np_cumsum", [numbers((3, 4), "int32")], axis=1, dtype="int64")
    wrong += differing("_np_cumsum", [numbers((3, 4), "float32")], axis=0, dtype="float64")
    assert not wrong, "\n".join(wrong[:20])
