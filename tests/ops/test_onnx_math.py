"""Arithmetic, non-linearities, reductions, losses and samplers of the family ``_onnx_``, against numbers worked out by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hybrid import autograd, nd
from hybrid.core.error import MXNetError
from hybrid.core.op import Spec, lookup
from hybrid.execution.apply import apply


def run(name: str, *arrays: Any, **attrs: Any) -> Any:
    """The outputs of an operator of the family (the thing itself when there is one)."""
    op = lookup(f"_onnx_{name}").bind(**attrs)
    found = apply(op, [np.asarray(a) for a in arrays], [Spec()] * len(op.output_names()), name="node")
    return found[0] if len(found) == 1 else found


def gradients(name: str, *arrays: Any, **attrs: Any) -> list[np.ndarray]:
    """The gradients of all inputs when the first output has the gradient 1 everywhere."""
    inputs = [nd.array(np.asarray(a, np.float64), dtype="float64") for a in arrays]
    for x in inputs:
        x.attach_grad()
    with autograd.record():
        y = getattr(nd._internal, f"_onnx_{name}")(*inputs, **attrs)
    (y[0] if isinstance(y, list | tuple) else y).backward()
    return [x.grad.asnumpy() for x in inputs]


def test_bits_move_out_of_the_number() -> None:
    x = np.array([-8, 7, 1], np.int8)
    for places, left, right in ((1, [-16, 14, 2], [-4, 3, 0]), (8, [0, 0, 0], [-1, 0, 0]), (-1, [0, 0, 0], [-1, 0, 0])):
        y = np.array([places], np.int8)
        np.testing.assert_array_equal(run("BitShift", x, y, direction="LEFT"), left)
        np.testing.assert_array_equal(run("BitShift", x, y, direction="RIGHT"), right)
    unsigned = np.array([200, 1], np.uint8)
    np.testing.assert_array_equal(run("BitShift", unsigned, np.array([8], np.uint8), direction="RIGHT"), [0, 0])
    np.testing.assert_array_equal(run("BitShift", unsigned, np.array([1], np.uint8), direction="LEFT"), [144, 2])


def test_remainders_have_the_sign_that_is_asked_for() -> None:
    a, b = np.array([5.5, -5.5, 5.5, -5.5, np.inf, 1, 3]), np.array([2, 2, -2, -2, 2, 0, np.inf])
    np.testing.assert_array_equal(run("Mod", a, b), [1.5, 0.5, -0.5, -1.5, np.nan, np.nan, 3])
    np.testing.assert_array_equal(run("Mod", a, b, fmod=True), [1.5, -1.5, 1.5, -1.5, np.nan, np.nan, 3])
    np.testing.assert_array_equal(run("Mod", np.array([-7, 7]), np.array([3, -3])), [2, -2])


def test_powers_of_whole_numbers_wrap_round_and_are_cut_off() -> None:
    np.testing.assert_array_equal(
        run("Pow", np.array([3, -3, 10]), np.array([41, 3, 19])), [3**41 - 2**65, -27, 10**19 - 2**64]
    )
    np.testing.assert_array_equal(run("Pow", np.array([2, -1, 1, 0]), np.array([-1, -3, -5, -1])), [0, -1, 1, 0])
    np.testing.assert_array_equal(run("Pow", np.array([9, 10], np.int32), np.array([0.5], np.float32)), [3, 3])
    half = run("Pow", np.array([3], np.float16), np.array([2]))
    assert (half.dtype, half[0]) == (np.float16, 9)


def test_clip_cuts_infinity_to_what_there_is() -> None:
    for dtype in (np.float16, np.float32, np.float64):
        x = np.array([np.inf, -np.inf, np.nan, 2], dtype)
        largest = np.finfo(dtype).max
        np.testing.assert_array_equal(run("Clip", x), np.array([largest, -largest, np.nan, 2], dtype))
    np.testing.assert_array_equal(
        run("Clip", np.array([-9, 0, 9]), np.array(5), np.array(-5), given=("min", "max")), [-5, -5, -5]
    )


def test_clip_gives_bounds_their_gradient() -> None:
    found = gradients("Clip", [-2.0, -1, 0, 1, 2], -0.5, 1.5, given=("min", "max"))
    np.testing.assert_array_equal(found[0], [0, 0, 1, 1, 0])
    assert [float(g) for g in found[1:]] == [2, 1]
    found = gradients("Clip", [-2.0, -0.5, 1.5], -0.5, 1.5, given=("min", "max"))  # at a bound nothing is cut off
    np.testing.assert_array_equal(found[0], [0, 1, 1])
    assert [float(g) for g in found[1:]] == [1, 0]


def test_shrink_of_whole_numbers_is_exact() -> None:
    x = np.array([-(2**62) - 1, -1, 0, 1, 2**62 + 1])
    np.testing.assert_array_equal(run("Shrink", x, lambd=1.0, bias=1.0), [-(2**62), 0, 0, 0, 2**62])
    np.testing.assert_array_equal(run("Shrink", np.array([-3, 3]), lambd=1.0, bias=0.5), [-2, 2])


def test_half_precision_is_rounded_once() -> None:
    x = np.array([[0.1, 0.3, 300, -0.7]], np.float16)
    wide = x.astype(np.float64)
    for name, want in (
        ("ReduceL2", np.sqrt(np.square(wide).sum(1, keepdims=True))),
        ("ReduceLogSumExp", np.log(np.exp(wide - 300).sum(1, keepdims=True)) + 300),
        ("LpNormalization", wide / np.sqrt(np.square(wide).sum(1, keepdims=True))),
        ("HardSwish", wide * np.clip(wide / 6 + 0.5, 0, 1)),
    ):
        attrs = {"given": ("axes",)} if name.startswith("Reduce") else {}
        got = run(name, x, *([np.array([1])] if attrs else []), **attrs)
        assert got.dtype == np.float16
        np.testing.assert_allclose(got.astype(np.float64), want, rtol=5e-4)  # half a unit in the last place


def test_normalisation_of_zeros_is_zero() -> None:
    x = np.array([[3.0, -4], [0, 0]])
    np.testing.assert_allclose(run("LpNormalization", x), [[0.6, -0.8], [0, 0]])
    np.testing.assert_allclose(run("LpNormalization", x, p=1), [[3 / 7, -4 / 7], [0, 0]])


def test_running_products() -> None:
    x = np.array([[1.0, 2, 3]])
    for attrs, want in (
        ({}, [1, 2, 6]),
        ({"exclusive": True}, [1, 1, 2]),
        ({"reverse": True}, [6, 6, 3]),
        ({"exclusive": True, "reverse": True}, [6, 3, 1]),
    ):
        np.testing.assert_array_equal(run("CumProd", x, np.array(1), **attrs), [want])
    assert run("CumSum", np.zeros((2, 0)), np.array(1), exclusive=True).shape == (2, 0)


def test_the_gradient_of_a_singular_determinant() -> None:
    (found,) = gradients("Det", [[1.0, 2, 3], [2, 4, 6], [1, 0, 1]])
    np.testing.assert_allclose(found, [[4, 4, -4], [-2, -2, 2], [0, 0, 0]], atol=1e-12)


def test_losses_ignore_what_they_are_told_to() -> None:
    scores = np.log([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8], [0.6, 0.3, 0.1]])
    labels, weights = np.array([2, 9, 0]), np.array([1.0, 1, 3])
    each = np.array([-3 * np.log(0.5), 0, -np.log(0.6)])
    for reduction, want in (("none", each), ("sum", each.sum()), ("mean", each.sum() / 4)):
        attrs = {"reduction": reduction, "ignore_index": 9}
        got = run("NegativeLogLikelihoodLoss", scores, labels, weights, given=("weight",), **attrs)
        np.testing.assert_allclose(got, want)
        loss, log_prob = run("SoftmaxCrossEntropyLoss", scores + 5, labels, weights, given=("weights",), **attrs)
        np.testing.assert_allclose(loss, want)
        np.testing.assert_allclose(log_prob, scores)
    with pytest.raises(MXNetError, match="got class 9, wanted 0 to 2"):
        run("NegativeLogLikelihoodLoss", scores, labels)


def test_seeds_give_the_numbers_of_onnx_own_evaluator() -> None:
    want = np.random.RandomState(3)
    np.testing.assert_array_equal(run("RandomUniform", shape=(4,), seed=3.0, dtype="float64"), want.rand(4))
    want = np.random.RandomState(3)
    np.testing.assert_array_equal(
        run("RandomNormal", shape=(4,), seed=3.0, dtype="float64", scale=2.0), want.randn(4) * 2
    )
    data = np.ones((50, 50))
    given = ("ratio", "training_mode")
    y, mask = run("Dropout", data, np.array(0.25), np.array(True), given=given, seed=7)
    np.testing.assert_array_equal(mask, np.random.RandomState(7).uniform(size=(50, 50)) >= 0.25)
    np.testing.assert_allclose(y, mask / 0.75)


def test_dropout_passes_gradients_where_it_passed_data() -> None:
    data = nd.ones((20, 20))
    data.attach_grad()
    with autograd.record():
        y, mask = nd._internal._onnx_Dropout(
            data, nd.array(0.25), nd.array(True, dtype="bool"), given=("ratio", "training_mode"), seed=1
        )
    y.backward()
    assert data.grad is not None
    np.testing.assert_allclose(data.grad.asnumpy(), mask.asnumpy() / 0.75, rtol=1e-6)


def test_totals_of_half_precision_are_rounded_once() -> None:
    x, y = np.array([1], np.float16), np.array([0.00048], np.float16)
    assert run("Sum", x, y, y, num_args=3)[0] == np.float16(1.00096)
    assert run("Mean", np.full(1, 60000, np.float16), np.full(1, 60000, np.float16), num_args=2)[0] == 60000


def test_arrays_of_sizes_that_arrive() -> None:
    np.testing.assert_array_equal(run("Range", np.float16(0), np.float16(1), np.float16(0.25)), [0, 0.25, 0.5, 0.75])
    assert run("Range", np.int16(5), np.int16(0), np.int16(-2)).tolist() == [5, 3, 1]
    assert run("ConstantOfShape", np.zeros(0, np.int64)).shape == ()
    with pytest.raises(MXNetError, match="no negative size"):
        run("ConstantOfShape", np.array([2, -1]))
    words = run("OneHot", np.array([1, -1]), np.array(2), np.array(["off", "on"], object))
    assert words.tolist() == [["off", "on"], ["off", "on"]]
