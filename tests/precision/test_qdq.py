"""Products on integers: scales, weights, biases, and what onnxruntime makes of them."""

import numpy as np
import onnx
import pytest
from onnx import helper

from bridge.precision.scales import by_entropy, by_percentile
from bridge.precision.survey import Range
from converters.error import ConversionError
from converters.precision.qdq import Product, step_of, to_qdq
from tests.precision.test_retype import FLOAT, NODE, model, run

RNG = np.random.default_rng(7)
DATA = RNG.standard_normal((2, 3, 8, 8)).astype(np.float32)
WEIGHT = (RNG.standard_normal((4, 3, 3, 3)) * np.float32([1, 10, 0.01, 0])[:, None, None, None]).astype(np.float32)
BIAS = np.float32([0.5, -3, 20, 1])


def convolution(opset: int = 17):
    return model(
        [NODE("Conv", ["x", "w", "b"], ["y"], pads=[1, 1, 1, 1])],
        {"x": (FLOAT, [2, 3, 8, 8])},
        {"y": (FLOAT, [2, 4, 8, 8])},
        {"w": WEIGHT, "b": BIAS},
        opset,
    )


def noise(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    """The error of each channel over what the weights alone make of it."""
    scale = np.abs(want - BIAS[None, :, None, None]).max(axis=(0, 2, 3)) + 1e-6
    return np.abs(got - want).max(axis=(0, 2, 3)) / scale


@pytest.mark.parametrize(("dtype", "zero"), [("uint8", 64), ("int8", 0)])
def test_ranges_become_scales(dtype: str, zero: int) -> None:
    scale = step_of(-0.25, 0.75, dtype)
    assert (scale.dtype, scale.zero) == (dtype, zero)
    assert scale.step == pytest.approx(1.0 / 255 if dtype == "uint8" else 0.75 / 127, rel=1e-6)
    assert step_of(0.5, 2, "uint8").zero == 0  # 0 is always among them: padding is exact
    assert step_of(0, 0, "uint8").step == 1.0


@pytest.mark.parametrize("weights", ["int8", "uint8"])
def test_channels_have_scales_of_their_own(weights: str) -> None:
    whole = convolution()
    made = to_qdq(whole, [Product("y", (0,), 1, 0, 2)], {"x": step_of(-4, 4, "uint8")}, weights=weights)
    arrays = made.initializers
    assert arrays["y/weight_integers"].dtype == np.dtype(weights)
    assert arrays["y/weight_scale"].shape == (4,)
    assert arrays["y/bias_int32"].dtype == np.int32
    np.testing.assert_allclose(arrays["y/bias_scale"], arrays["y/weight_scale"] * (8 / 255), rtol=1e-6)
    assert "w" not in arrays
    assert (noise(run(made, {"x": DATA})[0], run(whole, {"x": DATA})[0])[:3] < 0.03).all()


def test_a_bias_that_is_large_beside_its_weights_fits_int32() -> None:
    whole = convolution()
    tiny = dict(whole.initializers) | {"w": WEIGHT * np.float32(1e-9)}
    made = to_qdq(whole._replace(initializers=tiny), [Product("y", (0,), 1, 0, 2)], {"x": step_of(-4, 4, "uint8")})
    got = run(made, {"x": DATA})[0]
    np.testing.assert_allclose(got.mean(axis=(0, 2, 3)), BIAS, rtol=1e-6)


def test_one_scale_for_the_whole_weight_below_opset_13_and_none_below_10() -> None:
    made = to_qdq(convolution(11), [Product("y", (0,), 1, 0, 2)], {"x": step_of(-4, 4, "uint8")})
    assert made.initializers["y/weight_scale"].shape == ()
    onnx.checker.check_model(made.proto(), full_check=True)
    with pytest.raises(ConversionError, match="opset 10"):
        to_qdq(convolution(9), [], {})


def test_twins_leave_the_model_as_it_is() -> None:
    whole = convolution()
    made = to_qdq(whole, [Product("y", (0,), 1, 0, 2)], {"x": step_of(-4, 4, "uint8")}, beside="/twin")
    made.model.graph.output.append(helper.make_tensor_value_info("y/twin", FLOAT, [2, 4, 8, 8]))
    same, twin = run(made, {"x": DATA})
    np.testing.assert_array_equal(same, run(whole, {"x": DATA})[0])
    assert 0 < np.abs(twin - same).max() < 0.02 * np.abs(same).max()


def test_percentile_leaves_the_outermost_out() -> None:
    values = np.concatenate([np.linspace(0, 1, 9990), np.full(10, 100.0)])
    range = Range().with_values(values)
    counts, edges = np.histogram(values, 4001, (-100, 100))
    low, high = by_percentile(counts, edges, range, 99.5)
    assert low == 0
    assert 0.9 < high < 1.2
    assert by_percentile(counts, edges, range, 100) == (0, 100)


def test_entropy_cuts_a_long_tail() -> None:
    values = np.concatenate([RNG.standard_normal(100_000), [60.0, -50.0]]).astype(np.float32)
    range = Range().with_values(values)
    counts, edges = np.histogram(values, 2001, (-60, 60))
    low, high = by_entropy(counts, edges, range)
    assert -30 < low < -2
    assert 2 < high < 30
