"""Products of 8-bit matrices against NumPy: they are exact."""

import numpy as np
import pytest

from hybrid import native
from hybrid.op import lookup

from .single import Single, reference

pytestmark = pytest.mark.skipif(not native.LEVELS, reason="the compiled part is not there")


def whole(*shape, dtype, seed=0):
    """Numbers from all of the dtype's range, its ends among them."""
    info = np.iinfo(dtype)
    values = np.random.default_rng((seed, *shape)).integers(info.min, info.max + 1, shape).astype(dtype)
    values.reshape(-1)[:1] = info.min
    values.reshape(-1)[-1:] = info.max
    return values


def equal(op, arrays, constants, there=True):
    for threads in (1, 2):
        native.set_num_threads(threads)
        for fixed in ((), constants):
            single = Single(op, arrays, constants=fixed, threads=threads)
            assert single.there == there
            if there:
                np.testing.assert_array_equal(single.run(arrays)[0], reference(op, arrays, single.specs)[0])


SIZES = [
    ((1, 1), 1),
    ((3, 5), 7),
    ((7, 64), 32),
    ((40, 33), 65),
    ((2, 3, 130), 200),
    ((0, 4), 3),
    ((3, 0), 4),
    ((3, 4), 0),
]


@pytest.mark.parametrize("left, n", SIZES)
@pytest.mark.parametrize("types", [("uint8", "int8"), ("int8", "int8"), ("uint8", "uint8"), ("int8", "uint8")])
def test_sums(level, left, n, types):
    a, b = whole(*left, dtype=types[0]), whole(left[-1], n, dtype=types[1])
    op = lookup("_onnx_MatMulInteger")
    equal(op.bind(), (a, b), (1,))
    one, rows = whole(1, dtype=types[0], seed=1)[0:1].reshape(()), whole(left[-2], dtype=types[0], seed=2)
    columns = whole(n, dtype=types[1], seed=3)
    equal(op.bind(given=("a_zero_point",)), (a, b, one), (1, 2))
    equal(op.bind(given=("b_zero_point",)), (a, b, columns), (1, 2))
    equal(op.bind(given=("a_zero_point", "b_zero_point")), (a, b, rows, columns), (1, 3))


@pytest.mark.parametrize("left, n", SIZES)
@pytest.mark.parametrize("types", [("uint8", "int8", "uint8"), ("int8", "int8", "int8"), ("uint8", "uint8", "int8")])
def test_quantised_again(level, left, n, types):
    a, b = whole(*left, dtype=types[0]), whole(left[-1], n, dtype=types[1])
    op = lookup("_onnx_QLinearMatMul").bind()
    zero = np.array(3, types[2])
    for scales in (np.array(0.02, "float32"), np.linspace(0.01, 0.05, n).astype("float32")):
        for y_scale in (0.5, 1e-3, np.nan):
            rest = np.array(7, types[0]), b, scales, np.array(-3 if types[1] == "int8" else 5, types[1])
            equal(op, (a, np.array(0.05, "float32"), *rest, np.array(y_scale, "float32"), zero), (3, 4, 5))


def test_left_to_numpy(level):
    a, b = whole(2, 3, 4, dtype="uint8"), whole(2, 4, 5, dtype="int8")
    equal(lookup("_onnx_MatMulInteger").bind(), (a, b), (1,), there=False)
