"""Kernels that take and place by coordinates: every bit as NumPy has it; positions outside are NumPy's to refuse."""

import numpy as np
import pytest

from hybrid import native
from hybrid.core.error import MXNetError
from hybrid.core.op import lookup
from hybrid.execution.program import Program
from tests.table.examples import Example, graph_of

from .single import LeftToNumPy, Single, reference, using

pytestmark = pytest.mark.skipif(not native.LEVELS, reason="the compiled part is not there")

RNG = np.random.default_rng(3)
REDUCTIONS = ("none", "add", "mul", "max", "min")


def numbers(*shape, dtype="float32"):
    return RNG.integers(0 if dtype == "uint8" else -9, 9, shape).astype(dtype)


def columns(shape, *places, count=None):
    """Columns of coordinates in an array of that shape, some from behind."""
    count = len(shape) if count is None else count
    return np.stack([RNG.integers(-n, n, places) for n in shape[:count]]) if count else np.empty((0, *places), int)


def rows(shape, *places, count=None):
    return np.moveaxis(columns(shape, *places, count=count), 0, -1).astype(np.int64)


def differing(name, arrays, **attrs):
    """The difference of the kernel from NumPy's rule, told; or nothing."""
    op = lookup(name).bind(**attrs)
    wanted = specs = None
    for count in (1, 3):
        with using(count):
            single = Single(op, arrays, threads=count, specs=specs)
            specs = single.specs
            told = f"{op!r} of {[(a.dtype.name, a.shape) for a in arrays]}, {count} threads"
            if not single.there:
                return [f"{told}: no kernel"]
            wanted = reference(op, arrays, specs) if wanted is None else wanted
            try:
                for got, want in zip(single.run(arrays), wanted, strict=True):
                    np.testing.assert_array_equal(got, want)
            except (AssertionError, LeftToNumPy) as error:
                return [f"{told}: {error!r}"]
    return []


@pytest.mark.parametrize("dtype", ("float32", "float64", "float16", "int8", "uint8", "int32", "int64"))
def test_coordinates(level, dtype):
    wrong = []
    for shape in ((7,), (3, 4), (3, 4, 5), (4, 3, 200), (5, 1, 2, 3)):
        data = numbers(*shape, dtype=dtype)
        for count in range(1, len(shape) + 1):
            for places in ((), (6,), (2, 3), (0,), (700,)):
                found = columns(shape, *places, count=count)
                parts = numbers(*places, *shape[count:], dtype=dtype)
                for kind in (np.int32, np.float32):
                    wrong += differing("gather_nd", [data, found.astype(kind)])
                    wrong += differing("scatter_nd", [parts, found.astype(kind)], shape=shape)
                    wrong += differing("_scatter_set_nd", [data, parts, found.astype(kind)], shape=shape)
                found = rows(shape, *places, count=count)
                wrong += differing("_onnx_GatherND", [data, found])
                for reduction in REDUCTIONS:
                    if reduction != "mul" or found.size < 100:  # floats overflow by then
                        wrong += differing("_onnx_ScatterND", [data, found, parts], reduction=reduction)
        wrong += differing("gather_nd", [data, np.empty((0, 3))])
        wrong += differing("_contrib_index_copy", [data, RNG.permutation(shape[0])[:2], data[:2]])
        batch = rows(shape[1:], shape[0], 6, count=1) if len(shape) > 1 else None
        wrong += [] if batch is None else differing("_onnx_GatherND", [data, batch], batch_dims=1)
    where = RNG.integers(0 if dtype == "uint8" else -9, 9, 6).astype(dtype)
    wrong += differing("fill_element_0index", [numbers(6, 9, dtype=dtype), numbers(6, dtype=dtype), where])
    assert not wrong, "\n".join(wrong[:20])


@pytest.mark.parametrize("dtype", ("float32", "float64", "float16", "int8", "uint8", "int32", "int64"))
def test_elements_along_an_axis(level, dtype):
    wrong = []
    for shape, places in (
        ((5,), (9,)),
        ((3, 4), (3, 4)),
        ((3, 4), (2, 3)),
        ((3, 4, 5), (3, 4, 5)),
        ((3, 4, 5), (2, 4, 5)),
        ((4, 3, 2, 6), (4, 2, 2, 6)),
        ((2, 3, 40), (2, 3, 0)),
        ((30, 40, 5), (30, 40, 5)),
    ):
        data, updates = numbers(*shape, dtype=dtype), numbers(*places, dtype=dtype)
        for axis in range(-1, len(shape)):
            where = RNG.integers(-shape[axis], shape[axis], places)
            wrong += differing("_onnx_GatherElements", [data, where], axis=axis)
            for reduction in REDUCTIONS:
                if reduction != "mul" or data.size < 500:
                    wrong += differing(
                        "_onnx_ScatterElements", [data, where.astype(np.int32), updates], axis=axis, reduction=reduction
                    )
            if places == shape:
                order = np.argsort(data, axis).astype(np.float32)
                wrong += differing("_backward_sort", [updates, order, data], axis=axis)
                wrong += differing("_backward_taken", [data, order], axis=axis)
    assert not wrong, "\n".join(wrong[:20])


def test_nan_is_an_extreme(level):
    data = np.array([1, np.nan, 3, 4], np.float32)
    updates = np.array([np.nan, 2, 5, np.nan, 7], np.float32)
    where = np.array([0, 1, 2, 2, 2])
    wrong = []
    for reduction in ("max", "min", "add", "mul"):
        wrong += differing("_onnx_ScatterElements", [data, where, updates], reduction=reduction)
        wrong += differing("_onnx_ScatterND", [data, where[:, None], updates], reduction=reduction)
    assert not wrong, "\n".join(wrong)


OUTSIDE = [
    ("gather_nd", [numbers(3, 4), np.array([[0, 3], [1, 1]])], {}),
    ("gather_nd", [numbers(3, 4), np.array([[0, -4]])], {}),
    ("gather_nd", [numbers(3, 4), np.array([[0, np.nan]], np.float32)], {}),
    ("scatter_nd", [numbers(2), np.array([[0, 9]])], {"shape": (3,)}),
    ("_scatter_set_nd", [numbers(3), numbers(2), np.array([[0, -(2**62)]])], {"shape": (3,)}),
    ("_contrib_index_copy", [numbers(3, 2), np.array([3]), numbers(1, 2)], {}),
    ("fill_element_0index", [numbers(2, 3), numbers(2), np.array([0, 3], np.float32)], {}),
    ("take", [numbers(3, 2), np.array([0, -1])], {"mode": "raise"}),
    ("_onnx_GatherND", [numbers(3, 4), np.array([[0, 4]])], {}),
    ("_onnx_ScatterND", [numbers(3, 4), np.array([[3]]), numbers(1, 4)], {}),
    ("_onnx_GatherElements", [numbers(3, 4), np.array([[0, 3]])], {}),
    ("_onnx_ScatterElements", [numbers(3, 4), np.array([[-4]]), numbers(1, 1)], {}),
    ("_backward_taken", [numbers(3), np.array([-1])], {"axis": 0}),
    ("_backward_sort", [numbers(1), np.array([3]), numbers(3)], {"axis": 0}),
]


def test_positions_outside_are_refused_with_the_words_of_the_operator(level):
    wrong = []
    for name, arrays, attrs in OUTSIDE:
        op = lookup(name).bind(**attrs)
        graph, feeds = graph_of(Example(op, tuple(arrays)))
        with pytest.raises(MXNetError) as wanted:
            Program(graph, native=False).run(feeds)
        try:
            Program(graph).run(feeds)
        except MXNetError as error:
            wrong += [] if str(error) == str(wanted.value) else [f"{name}: {error} instead of {wanted.value}"]
        else:
            wrong.append(f"{name}: nothing is wrong")
        with pytest.raises(LeftToNumPy):
            Single(op, arrays).run(arrays)
    assert not wrong, "\n".join(wrong)
