"""SVRGModule; numbers are those of MXNet 1.9.1."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hybrid as mx
from hybrid.contrib.svrg_optimization.svrg_module import SVRGModule

X = np.linspace(-1, 1, 33).reshape(11, 3).astype(np.float32) ** 2 * np.float32([1, -1.5, 1])
Y = X @ np.float32([1, -2, 0.5]) + np.float32(0.3)


def module(**settings: Any) -> SVRGModule:
    output = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, name="fc")
    loss = mx.sym.LinearRegressionOutput(output, mx.sym.var("lab"), name="lro")
    return SVRGModule(loss, data_names=["data"], label_names=["lab"], **settings)


def batches() -> mx.io.NDArrayIter:
    return mx.io.NDArrayIter(X, Y, 4, label_name="lab")


def numbers(arrays: dict[str, Any]) -> list[float]:
    return [*arrays["fc_bias"].asnumpy().ravel(), *arrays["fc_weight"].asnumpy().ravel()]


TWO = [mx.cpu(0), mx.cpu(1)]


@pytest.mark.parametrize(
    ("settings", "given", "weights", "full"),
    [
        ({}, {}, [1.02168, 1.27254, -0.58879, 1.18715], [-4.83339, -3.82515, 5.50121, -3.54756]),
        ({"update_freq": 1}, {}, [1.06656, 1.33073, -0.67232, 1.24071], None),
        (
            {},
            {"optimizer_params": {"learning_rate": 0.05, "momentum": 0.9, "wd": 0.01}},
            [1.74943, 1.84031, -1.4095, 1.69032],
            [0.60625, -0.77398, 1.0877, -0.67156],
        ),
        (
            {},
            {"optimizer": "adam", "optimizer_params": {"learning_rate": 0.05}},
            [0.44456, 0.94472, 0.05579, 0.94358],
            None,
        ),
        (
            {},
            {"optimizer": mx.optimizer.SGD(learning_rate=0.1, rescale_grad=0.25), "optimizer_params": {}},
            [1.02168, 1.27254, -0.58879, 1.18715],
            None,
        ),
        ({"context": TWO}, {}, [1.02285, 1.27547, -0.59147, 1.18782], [-2.3981, -1.9017, 2.73492, -1.7636]),
        (
            {"context": TWO},
            {"kvstore": None},
            [0.73598, 1.01431, -0.23423, 0.97041],
            [-3.62305, -2.52408, 3.55805, -2.24829],
        ),
        (
            {},
            {"kvstore": mx.kv.create("local")},
            [1.02285, 1.27547, -0.59147, 1.18782],
            [-4.7962, -3.8034, 5.46984, -3.5272],
        ),
    ],
    ids=["sgd", "each epoch", "momentum", "adam", "own optimizer", "two contexts", "no store", "store"],
)
def test_three_epochs(settings: Any, given: Any, weights: list[float], full: list[float] | None) -> None:
    trained = module(**{"update_freq": 2, **settings})
    options = {"optimizer_params": {"learning_rate": 0.1}, **given}
    trained.fit(batches(), eval_metric="mse", num_epoch=3, initializer=mx.init.Constant(0.5), **options)
    np.testing.assert_allclose(numbers(trained.get_params()[0]), weights, atol=3e-5)
    if full is not None:
        np.testing.assert_allclose(numbers(trained._param_dict[0]), full, atol=3e-5)


def test_the_full_gradient_goes_where_the_network_goes() -> None:
    trained = module(update_freq=2)
    data = batches()
    trained.bind(data.provide_data, data.provide_label)
    trained.init_params(mx.init.Constant(0.5))
    trained.init_optimizer(optimizer_params={"learning_rate": 0.1})
    assert trained._optimizer.idx2name == {0: "fc_weight", 1: "fc_bias", 2: "fc_weight_full", 3: "fc_bias_full"}
    trained.update_full_grads(data)
    data.reset()
    for batch in data:
        trained.forward_backward(batch)
        trained.update()
    np.testing.assert_allclose(numbers(trained.get_params()[0]), [0.50819, 0.8452, 0.01233, 0.80899], atol=2e-5)
    np.testing.assert_allclose(trained.score(batches(), "mse")[0][1], 1.77543, atol=1e-5)
    trained.update_full_grads(data)
    np.testing.assert_allclose(
        trained._param_dict[0]["fc_weight"].asnumpy().ravel(), [-5.17914, 7.45897, -4.82244], atol=3e-5
    )
    trained.reshape([("data", (2, 3))], [("lab", (2,))])
    trained.forward_backward(mx.io.DataBatch([mx.nd.ones((2, 3))], [mx.nd.ones((2,))]))
    trained.update()
    assert trained.get_outputs()[0].shape == (2, 1)


def test_parameters_that_are_not_trained_stay() -> None:
    for context in (mx.cpu(), TWO):
        trained = module(update_freq=1, fixed_param_names=["fc_weight"], context=context)
        trained.fit(batches(), eval_metric="mse", num_epoch=2, initializer=mx.init.Constant(0.5))
        bias, *weights = numbers(trained.get_params()[0])
        assert (weights, bias != 0, list(trained._param_dict[0])) == ([0.5] * 3, True, ["fc_bias"])


def test_without_training_there_is_one_network() -> None:
    used = module(update_freq=1)
    data = batches()
    used.bind(data.provide_data, data.provide_label, for_training=False)
    used.init_params(mx.init.Constant(0.5))
    np.testing.assert_allclose(used.predict(data).asnumpy()[:2, 0], [0.2236, 0.1445], atol=1e-4)
    assert not used._mod_aux.binded


def test_update_freq_is_a_positive_whole_number() -> None:
    for wrong in (None, 1.5, "2"):
        with pytest.raises(TypeError, match="must be an integer"):
            module(update_freq=wrong)
    for wrong in (0, -1):
        with pytest.raises(ValueError, match="must be a positive integer"):
            module(update_freq=wrong)
