"""Metrics against what MXNet 1.9.1's said after every update."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hybrid as mx

CASES = json.loads((Path(__file__).parents[1] / "fixtures" / "metric" / "values.json").read_text())["cases"]


def listed(pair: Any) -> tuple[Any, list[float]]:
    name, value = pair
    return name, value if isinstance(value, list) else [value]


@pytest.mark.parametrize("case", [pytest.param(c, id=f"{c['metric']}-{i}") for i, c in enumerate(CASES)])
def test_says_what_mxnet_said(case: dict[str, Any]) -> None:
    metric = mx.metric.create(case["metric"], **case["attrs"])
    if case["config"]:
        assert metric.get_config() == case["config"]
    for step, (label, pred, *wanted) in [*enumerate(case["updates"])] * 2:
        if step == 0:  # once more, as if there had been nothing
            metric.reset()
        if step == len(case["updates"]) - 1:
            metric.reset_local()
        metric.update([mx.nd.array(label)], [mx.nd.array(pred)])
        for got, want in zip((metric.get(), metric.get_global()), wanted):
            (got_name, got_value), (want_name, want_value) = listed(got), listed(want)
            assert got_name == want_name
            np.testing.assert_allclose(got_value, want_value, rtol=2e-6, equal_nan=True)


def test_every_metric_of_mxnet_was_asked() -> None:
    asked = {type(mx.metric.create(c["metric"], **c["attrs"])) for c in CASES}
    assert set(mx.registry.get_registry(mx.metric.EvalMetric).values()) - asked == {mx.metric.CustomMetric}


def test_nothing_yet() -> None:
    metric = mx.metric.Accuracy()
    assert math.isnan(metric.get()[1])
    assert str(mx.metric.MSE()) == "EvalMetric: {'mse': nan}"
    assert mx.metric.create(["acc", "mse"]).get_name_value()[0][0] == "accuracy"


def test_functions_are_metrics() -> None:
    metric = mx.metric.np(lambda label, pred: (float((label - pred).sum()), 2))
    metric.update([mx.nd.ones((2,))], [mx.nd.zeros((2,))])
    assert metric.get() == ("custom(<lambda>)", 1.0)
    assert mx.metric.create(lambda label, pred: 3).name == "custom(<lambda>)"
    made = mx.metric.create(lambda label, pred: 3, "own", allow_extra_outputs=True)
    made.update([mx.nd.ones((2,))], [mx.nd.ones((2,))] * 2)  # of which the second has no label
    assert made.get() == ("own", 3.0)
    assert mx.metric.create(["acc", "mae"], name="own").get()[0] == ["own", "own"]
    assert mx.metric.create("top_k_accuracy", 5, name="own").get()[0] == "own_5"
    with pytest.raises(NotImplementedError):
        metric.get_config()


def test_arrays_by_name() -> None:
    metric = mx.metric.MAE(output_names=["out"], label_names=["label"])
    metric.update_dict({"label": mx.nd.ones((2,)), "other": mx.nd.ones((3,))}, {"out": mx.nd.zeros((2,))})
    assert metric.get() == ("mae", 1.0)


def test_what_does_not_fit() -> None:
    with pytest.raises(ValueError, match="Shape of labels 2 does not match shape of predictions 1"):
        mx.metric.Accuracy().update([mx.nd.ones((2,))] * 2, [mx.nd.ones((2,))])
    with pytest.raises(AssertionError, match="not registered"):
        mx.metric.create("nonsense")
    with pytest.raises(ValueError, match="only supports binary"):
        mx.metric.F1().update([mx.nd.array([0, 1, 2])], [mx.nd.ones((3, 2))])
    with pytest.raises(AssertionError, match="Please use Accuracy"):
        mx.metric.TopKAccuracy()
    with pytest.raises(ValueError, match="out of range"):
        mx.metric.create(["acc"]).get_metric(3)


def test_metrics_of_the_program_itself() -> None:
    @mx.metric.register
    @mx.metric.alias("my_own")
    class Mine(mx.metric.EvalMetric):
        def __init__(self, scale: float = 1.0) -> None:
            super().__init__("mine", scale=scale)

    assert isinstance(mx.metric.create("Mine"), Mine)
    assert isinstance(mx.metric.create("my_own", scale=2.0), Mine)
    assert isinstance(mx.metric.create('["mine", {"scale": 2}]'), Mine)
    assert mx.metric.create({"metric": "mine"}).name == "mine"
    table = mx.registry._TABLES[mx.metric.EvalMetric]
    del table["mine"], table["my_own"]


ADDED = ("acc", "top_k_accuracy", "perplexity", "mae", "mse", "rmse", "ce", "nll_loss", "pearsonr", "pcc", "loss")
"""Metrics that add up over outputs; others are one score of all that an update is given."""


@pytest.mark.parametrize("case", [pytest.param(c, id=c["metric"]) for c in CASES if c["metric"] in ADDED])
def test_several_outputs_count_as_one_after_the_other(case: dict[str, Any]) -> None:
    together, apart = (mx.metric.create(case["metric"], **case["attrs"]) for _ in range(2))
    labels, preds = ([mx.nd.array(update[i]) for update in case["updates"]] for i in (0, 1))
    together.update(labels, preds)
    for label, pred in zip(labels, preds):
        apart.update([label], [pred])
    np.testing.assert_allclose(together.get()[1], apart.get()[1], rtol=1e-6, equal_nan=True)


def test_correlation_of_classes_in_all_and_since_the_last_reset() -> None:
    """0.7 says MXNet 1.9.1; where either side has one class alone there is none."""
    for everywhere in (True, False):
        metric = mx.metric.PCC(has_global_stats=everywhere)
        metric.update([mx.nd.array([0, 1, 1, 2])], [mx.nd.one_hot(mx.nd.array([0, 1, 0, 2]), 3)])
        assert metric.get() == metric.get_global() == ("pcc", pytest.approx(0.7))
        metric.reset_local()
        assert np.isnan(metric.get()[1]) and (metric.get_global()[1] == pytest.approx(0.7)) == everywhere
    for labels, found in (([0, 0, 0], [0, 1, 1]), ([0, 1, 1], [1, 1, 1]), ([1, 1], [1, 1]), ([0, 1], [0, 0])):
        metric = mx.metric.PCC()
        metric.update([mx.nd.array(labels)], [mx.nd.one_hot(mx.nd.array(found), 2)])
        assert np.isnan(metric.get()[1]) and np.isnan(metric.get_global()[1])


def test_a_function_may_give_an_array() -> None:
    """Of one number, which NumPy 2.4 makes no float of any more, or of one for every class, and what is shown is an array then."""
    labels, preds = [mx.nd.array([0, 1])], [mx.nd.array([[0.25], [0.75]])]
    for function, want in (
        (lambda label, pred: pred.sum(0), 1.0),
        (lambda label, pred: (mx.nd.array(pred).sum(), 2), 0.5),
        (lambda label, pred: pred[:, 0], [0.25, 0.75]),
        (lambda label, pred: (pred[:, 0], 2), [0.125, 0.375]),
    ):
        metric = mx.metric.create(function)
        for _ in range(2):
            metric.update(labels, preds)
        assert np.array_equal(metric.get()[1], want) and np.array_equal(metric.get_global()[1], want)
        assert isinstance(want, list) or f"{metric.get()[1]:.1f}" == str(want)
        metric.reset_local()
        metric.update(labels, preds)
        metric.update(labels, preds)
        assert np.array_equal(metric.get()[1], want) and np.array_equal(metric.get_global()[1], want)
        metric.reset()
        assert metric.get()[1] != metric.get()[1]  # nan
