"""Kernels that order: every position as NumPy's rule has it, with ties, NaN and zeros of both signs among the numbers."""

import numpy as np
import pytest

from hybrid import native
from hybrid.core.op import lookup

from .single import Single, reference, using

pytestmark = pytest.mark.skipif(not native.LEVELS, reason="the compiled part is not there")

DTYPES = ("float32", "float64", "float16", "int8", "uint8", "int32", "int64", "bool")
SHAPES = [
    (1,),
    (16,),
    (17,),
    (70,),
    (1500,),
    (4, 1),
    (3, 40),
    (2, 5, 3),
    (2, 33, 4),
    (5, 3, 130),
    (0, 3),
    (2, 70_000),
    (140_000,),
]
"""Short and long rows, rows in parts, columns in strips, nothing at all."""


def numbers(shape, dtype, seed=0):
    """Few different numbers, so that many are equal, or numbers of all sizes, of floats with some NaN, infinities and -0."""
    rng = np.random.default_rng(seed)
    if seed % 2 and dtype != "bool":
        limits = (-(2**40), 2**40) if dtype == "int64" else (0, 200) if dtype == "uint8" else (-120, 120)
        x = rng.integers(*limits, shape).astype(dtype)
        x = x + rng.uniform(-1, 1, shape).astype(dtype) if dtype.startswith("f") else x
    else:
        x = rng.integers(0, 4, shape).astype(dtype)
    if dtype.startswith("float") and x.size and seed % 3:
        flat = x.reshape(-1)
        for value in (np.nan, np.inf, -np.inf, -0.0, 0.0):
            flat[rng.integers(0, x.size, max(1, x.size // 9) if seed % 3 == 1 else 1)] = value
    return x


def differing(name, x, *others, ulps=0, **attrs):
    """The difference of the kernel from NumPy's rule, told; or nothing. ulps: how far floats may be apart, else not a bit."""
    op = lookup(name).bind(**attrs)
    arrays = [x, *others]
    wanted = specs = None
    for count in (1, 3):
        with using(count):
            single = Single(op, arrays, threads=count, specs=specs)
            specs = single.specs
            if not single.there:
                return [f"{op!r} of {x.dtype} {x.shape}: no kernel"]
            wanted = reference(op, arrays, specs) if wanted is None else wanted
            for got, want in zip(single.run(arrays), wanted, strict=True):
                try:
                    if ulps:  # of the largest, for differences of numbers
                        bound = ulps * float(np.finfo(want.dtype).eps)
                        largest = float(np.abs(x[np.isfinite(x)].astype(np.float64)).max(initial=0))
                        np.testing.assert_allclose(got, want, rtol=bound, atol=bound * largest)
                    else:
                        np.testing.assert_array_equal(got.view(f"u{got.itemsize}"), want.view(f"u{want.itemsize}"))
                except AssertionError as error:
                    return [f"{op!r} of {x.dtype} {x.shape}, {count} threads: {error}"]
    return []


@pytest.mark.parametrize("dtype", DTYPES)
def test_places_of_extremes(level, dtype):
    wrong = []
    for seed, shape in enumerate(SHAPES * 2):
        x = numbers(shape, dtype, seed)
        axes = [a for a in range(-1, x.ndim) if x.shape[a]]
        for axis in (*axes, *([None] if x.size else [])):
            for name in ("argmax", "argmin", "_npi_argmax", "_npi_argmin"):
                wrong += differing(name, x, axis=axis)
            if dtype != "bool" and axis is not None:
                for name in ("_onnx_ArgMax", "_onnx_ArgMin"):
                    wrong += differing(name, x, axis=axis, select_last_index=True, keepdims=bool(seed % 2))
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("dtype", DTYPES)
def test_orders(level, dtype):
    wrong = []
    for seed, shape in enumerate([s for s in SHAPES if np.prod(s) < 20_000] * 2):
        x = numbers(shape, dtype, seed)
        for axis in (*range(-1, x.ndim), None):
            for ascending in (False, True):
                wrong += differing("sort", x, axis=axis, is_ascend=ascending)
                wrong += differing("argsort", x, axis=axis, is_ascend=ascending, dtype="int64")
                size = x.size if axis is None else x.shape[axis]
                for k, kind in ((1, "both"), (size // 10, "indices"), (size // 2, "mask"), (size, "value")):
                    if 0 < k <= size:
                        dtypes = {"dtype": "int32", "is_ascend": ascending}
                        wrong += differing("topk", x, axis=axis, k=k, ret_typ=kind, **dtypes)
    assert not wrong, "\n".join(wrong[:20])


def test_counts_from_tensors(level):
    wrong = []
    for largest in (True, False):
        for count in (0, 1, 3, 40):
            op = lookup("_onnx_TopK").bind(axis=1, largest=largest)
            arrays = [numbers((2, 40, 3), "float32", 7), np.array([count])]
            single = Single(op, arrays)
            for got, want in zip(single.run(arrays), reference(op, arrays, single.specs), strict=True):
                wrong += [] if np.array_equal(got, want, equal_nan=got.dtype.kind == "f") else [(largest, count)]
    assert not wrong


@pytest.mark.parametrize("dtype", ("float32", "float64", "int32", "uint8"))
def test_percentiles(level, dtype):
    wrong = []
    asked = np.array([0, 25, 50, 33.3, 99.9, 100], np.float64)
    for seed, (shape, axes) in enumerate(
        [
            ((1,), None),
            ((2,), (0,)),
            ((9,), None),
            ((3, 40), (1,)),
            ((3, 40), (0,)),
            ((4, 3, 5), (0, 2)),
            ((5000,), (0,)),
        ]
    ):
        for x in (numbers(shape, dtype, 3 * seed), numbers(shape, dtype, 3 * seed + 1)):
            for kind in ("linear", "lower", "higher", "midpoint", "nearest"):
                attrs = {"axis": axes, "interpolation": kind, "ulps": 8}
                wrong += differing("_npi_percentile", x, asked, **attrs)
                wrong += differing("_npi_percentile", x, asked[3].astype(np.float32), keepdims=True, **attrs)
                wrong += differing("_npi_percentile", x, q_scalar=75.0, **attrs)
    assert not wrong, "\n".join(wrong[:20])


@pytest.mark.parametrize("dtype", ("float32", "float64"))
def test_matching(level, dtype):
    wrong = []
    for seed, shape in enumerate([(1, 1), (3, 4), (5, 2), (2, 6, 6), (0, 3), (3, 2, 2, 9), (40, 30)]):
        for ascending in (False, True):
            for topk in (-1, 0, 1, 3):
                x = numbers(shape, dtype, seed)
                attrs = {"is_ascend": ascending, "threshold": 1.5, "topk": topk}
                wrong += differing("_contrib_bipartite_matching", x, **attrs)
    assert not wrong, "\n".join(wrong[:20])


@pytest.mark.parametrize("dtype", ("float32", "float64", "int8", "uint8", "int32", "int64"))
def test_differences(level, dtype):
    wrong = []
    for shape in ((), (1,), (2,), (7, 3), (0,), (70_000,)):
        x, more = numbers(shape, dtype, 3), numbers((2, 3), dtype, 9)
        wrong += differing("_npi_ediff1d", x)
        wrong += differing("_npi_ediff1d", x, to_begin_scalar=3.0, to_end_scalar=4.0)
        wrong += differing("_npi_ediff1d", x, more, to_begin_arr_given=True, to_end_scalar=4.0)
        wrong += differing("_npi_ediff1d", x, more, more[:1], to_begin_arr_given=True, to_end_arr_given=True)
    assert not wrong, "\n".join(wrong[:20])
