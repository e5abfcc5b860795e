"""What of Module, Monitor, FeedForward and drawings is not seen in the recorded programs."""

import builtins
import logging
from typing import Any

import numpy as np
import pytest

import hybrid as mx
from hybrid.executor_manager import _split_input_slice

SHAPES = ([("data", (4, 3))], [("softmax_label", (4,))])


def network(**settings: Any) -> mx.Symbol:
    x = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc", **settings)
    return mx.sym.SoftmaxOutput(x, name="softmax")


def batch(size: int = 4, seed: int = 0) -> mx.io.DataBatch:
    random = np.random.RandomState(seed)
    data = random.uniform(-1, 1, (size, 3)).astype(np.float32)
    return mx.io.DataBatch([mx.nd.array(data)], [mx.nd.array((data[:, 0] > 0).astype(np.float32))])


def trained(context: Any, batches: Any, **settings: Any) -> np.ndarray:
    """A weight after two steps."""
    module = mx.mod.Module(network(), context=context, **settings)
    module.bind(*SHAPES)
    module.init_params(mx.init.One())
    module.init_optimizer(optimizer_params={"learning_rate": 1.0})
    for own in batches:
        module.forward_backward(own)
        module.update()
    return module.get_params()[0]["fc_weight"].asnumpy()


def test_contexts_together_train_as_one_does() -> None:
    alone = trained(mx.cpu(), [batch(), batch(seed=1)])
    two = [mx.cpu(0), mx.cpu(1)]
    np.testing.assert_allclose(trained(two, [batch(), batch(seed=1)]), alone, rtol=1e-6)
    np.testing.assert_allclose(
        trained(two, [batch(), batch(seed=1)], work_load_list=[1, 3]), alone, rtol=1e-6, atol=1e-7
    )
    sliced = []
    for whole in (batch(), batch(seed=1)):
        parts = [mx.io.DataBatch([whole.data[0][i : i + 2]], [whole.label[0][i : i + 2]]) for i in (0, 2)]
        sliced.append(parts)
    np.testing.assert_allclose(trained(two, sliced), alone, rtol=1e-6)


def test_a_list_of_batches_is_measured_by_context() -> None:
    module = mx.mod.Module(network(), context=[mx.cpu(0), mx.cpu(1)])
    module.bind(*SHAPES)
    module.init_params(mx.init.One())
    whole = batch()
    parts = [mx.io.DataBatch([whole.data[0][i : i + 2]], [whole.label[0][i : i + 2]]) for i in (0, 2)]
    together, apart = mx.metric.create("ce"), mx.metric.create("ce")
    module.forward(whole, is_train=False)
    module.update_metric(together, whole.label)
    module.forward(parts, is_train=False)
    module.update_metric(apart, [p.label for p in parts], pre_sliced=True)
    assert together.get() == apart.get()


def test_groups_of_operators_may_be_given_places() -> None:
    groups = {"first": mx.cpu(0), "second": [mx.cpu(1)]}
    assert trained(mx.cpu(), [batch()], group2ctxs=groups).shape == (2, 3)
    with pytest.raises(mx.MXNetError, match="CPUs only"):
        mx.mod.Module(network(), group2ctxs={"first": mx.gpu(0)})
    with pytest.raises(mx.MXNetError, match="CPUs only"):
        mx.mod.Module(network(), context=mx.gpu(0))
    with pytest.raises(AssertionError, match="2 entries for 1 contexts"):
        mx.mod.Module(network(), group2ctxs=[{}, {}])


def test_fixed_and_multiplied_parameters() -> None:
    weight = mx.sym.var("fc_weight", lr_mult=0.0)
    module = mx.mod.Module(network(weight=weight))
    module.bind(*SHAPES, grad_req={"fc_weight": "write", "fc_bias": "null"})
    module.init_params(mx.init.One())
    module.init_optimizer()
    module.forward_backward(batch())
    module.update()
    arguments, _ = module.get_params()
    assert (arguments["fc_weight"].asnumpy() == 1).all()
    assert (arguments["fc_bias"].asnumpy() == 0).all()
    assert module._exec_group.grad_arrays[1] == [None]


def test_reshape_takes_no_other_features() -> None:
    module = mx.mod.Module(network())
    module.bind(*SHAPES)
    module.init_params()
    with pytest.raises(mx.MXNetError, match="fc_weight"):
        module.reshape([("data", (4, 5))], [("softmax_label", (4,))])


def test_iterator_that_gives_arrays_of_another_shape_than_it_says() -> None:
    module = mx.mod.Module(network())
    module.bind(*SHAPES)
    module.init_params()
    with pytest.raises((ValueError, mx.MXNetError)):
        module.forward(mx.io.DataBatch([mx.nd.zeros((4, 2))], [mx.nd.zeros(4)]))


def test_monitor_refuses_statistics_that_are_no_arrays() -> None:
    module = mx.mod.Module(network())
    module.bind(*SHAPES)
    module.init_params()
    monitor = mx.mon.Monitor(1, stat_func=lambda x: 3)
    module.install_monitor(monitor)
    monitor.tic()
    module.forward(batch())
    with pytest.raises(AssertionError, match="stat_func gave int"):
        monitor.toc()
    assert mx.mon.Monitor(1).toc() == []


@pytest.mark.filterwarnings("ignore:.*FeedForward has been deprecated")
def test_feed_forward_of_arrays(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    random = np.random.RandomState(0)
    data = random.uniform(-1, 1, (64, 3)).astype(np.float32)
    labels = (data[:, 0] > 0).astype(np.float32)
    settings: dict[str, Any] = {"num_epoch": 5, "numpy_batch_size": 16, "learning_rate": 1.0}
    model = mx.model.FeedForward.create(network(), data, labels, eval_data=(data, labels), **settings)
    assert "Epoch[4] Validation-accuracy=" in caplog.text
    assert (model.predict(data).argmax(1) == labels).mean() > 0.9
    with pytest.raises(ValueError, match="y must be specified"):
        model.fit(data)
    with pytest.raises(TypeError, match="X must be DataIter"):
        model.predict([1, 2])
    with pytest.raises(ValueError, match="not equal"):
        model.fit(data, labels[1:])


def test_plot_network_says_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    original = builtins.__import__

    def refuse(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "graphviz":
            raise ImportError(name)
        return original(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(ImportError, match=r"gluonnx\[viz\]"):
        mx.viz.plot_network(network())


def test_plot_network_warns_of_names_that_are_there_twice() -> None:
    twice = mx.sym.var("x") + mx.sym.var("x")
    with pytest.warns(RuntimeWarning, match="Repeated names: x"):
        mx.viz.plot_network(twice)


def test_executor_manager_does_what_training_loops_of_old_did() -> None:
    batches = mx.io.NDArrayIter(batch(8).data[0], batch(8).label[0], 4)
    manager = mx.model.DataParallelExecutorManager(network(), [mx.cpu(0), mx.cpu(1)], batches, None, None, None)
    weights = {"fc_weight": mx.nd.ones((2, 3)), "fc_bias": mx.nd.zeros(2)}
    manager.set_params(weights, {})
    manager.load_data_batch(next(batches))
    manager.forward(is_train=True)
    manager.backward()
    found = sum(g.asnumpy() for g in manager.grad_arrays[0])
    module = mx.mod.Module(network())
    module.bind(*SHAPES)
    module.init_params(mx.init.One())
    batches.reset()
    module.forward_backward(next(batches))
    np.testing.assert_allclose(found, module._exec_group.grad_arrays[0][0].asnumpy(), rtol=1e-6)
    manager.copy_to(weights, {})
    assert (weights["fc_weight"].asnumpy() == 1).all()
    assert _split_input_slice(10, [1, 3]) == [slice(0, 2), slice(2, 10)]
