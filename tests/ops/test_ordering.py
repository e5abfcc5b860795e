"""Order: equal numbers, NaN, and the positions that operators take."""

import numpy as np
import pytest

from hybrid.core.error import OpError
from hybrid.core.op import REGISTRY

NAN = float("nan")


@pytest.mark.parametrize("count", [3, 17, 100])
def test_equal_numbers_keep_their_order(count):
    data = np.random.default_rng(count).integers(0, 4, (5, count)).astype(np.float32)
    up = REGISTRY["argsort"].bind(dtype="int64").compute(data)
    down = REGISTRY["argsort"].bind(dtype="int64", is_ascend=False).compute(data)
    for row, first, last in zip(data, up, down):
        assert first.tolist() == sorted(range(count), key=lambda i: (row[i], i))
        assert last.tolist() == sorted(range(count), key=lambda i: (-row[i], i))


def test_unsigned_numbers_in_falling_order():
    data = np.array([3, 0, 255, 7], np.uint8)
    assert REGISTRY["sort"].bind(is_ascend=False).compute(data)[0].tolist() == [255, 7, 3, 0]


# data, whether rising, and the order that MXNet 1.9.1 gave on a CPU
NANS = [
    ([1, NAN, 3, NAN], False, [2, 0, 1, 3]),
    ([float("inf"), float("-inf"), NAN, 0], True, [1, 0, 2, 3]),
    ([2, NAN, 3], False, [2, 0, 1]),
    ([4, NAN, 3, 0, 0], True, [3, 2, 0, 1, 4]),
    ([5, 4, NAN, 1, 2, 3], True, [3, 1, 0, 2, 4, 5]),
]


@pytest.mark.parametrize(("data", "rising", "wanted"), NANS)
def test_nan_stays_where_an_insertion_sort_leaves_it(data, rising, wanted):
    op = REGISTRY["argsort"].bind(is_ascend=rising, dtype="int32")
    assert op.compute(np.array(data, np.float32)).tolist() == wanted


def test_sequence_last_stays_inside():
    data = np.arange(12, dtype=np.float32).reshape(3, 2, 2)
    op = REGISTRY["SequenceLast"].bind(use_sequence_length=True)
    np.testing.assert_array_equal(op.compute(data, np.array([0, 9])), [data[0, 0], data[2, 1]])


def test_take_refuses_positions_outside_when_told_to():
    a = np.arange(4.0)
    op = REGISTRY["take"].bind(mode="raise")
    np.testing.assert_array_equal(op.compute(a, np.array([3.9, -0.5])), [3, 0])
    for wrong in (-1, 4):
        with pytest.raises(OpError, match="positions"):
            op.compute(a, np.array([0, wrong]))


def test_nan_as_a_position_is_clipped_to_the_first():
    weight = np.arange(6, dtype=np.float32).reshape(3, 2)
    op = REGISTRY["Embedding"].bind(input_dim=3, output_dim=2)
    np.testing.assert_array_equal(op.compute(np.array([NAN, 1e30], np.float32), weight), weight[[0, 0]])


def test_pick_from_a_vector_keeps_one_dim_as_mxnet_does():
    op = REGISTRY["pick"].bind()
    assert op.infer_shape((4,), (1,)) == (1,)
    assert op.compute(np.arange(4.0), np.array([2])).shape == (1,)
