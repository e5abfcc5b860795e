"""Networks on a device: the numbers of the CPU, and few copies."""

import dataclasses
import gc
import warnings
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import hybrid as mx
from hybrid import autograd, gluon, nd
from hybrid.device.base import Counters
from hybrid.device.mock import Mock
from hybrid.execution.on_device import DeviceFallback

RNG = np.random.RandomState(0)
IMAGES, LABELS = RNG.uniform(-1, 1, (8, 3, 8, 8)).astype(np.float32), RNG.randint(0, 3, 8).astype(np.float32)


def convolutional() -> gluon.HybridBlock:
    net = gluon.nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(
            gluon.nn.Conv2D(4, 3, padding=1, use_bias=False),  # of which BatchNorm leaves no gradient but noise
            gluon.nn.BatchNorm(),
            gluon.nn.Activation("relu"),
            gluon.nn.MaxPool2D(),
            gluon.nn.Conv2D(4, 3, groups=2, strides=2),
            gluon.nn.GlobalAvgPool2D(),
            gluon.nn.Dense(3),
        )
    return net


def recurrent() -> gluon.HybridBlock:
    net = gluon.nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(
            gluon.nn.HybridLambda(lambda F, x: x.reshape((8, 8, 24))),  # noqa: N803
            gluon.rnn.LSTM(5),
            gluon.nn.LayerNorm(),
            gluon.nn.Dense(3, activation="tanh"),
        )
    return net


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeviceFallback)
        yield


def trained(
    ctx: mx.Context, make: Callable[[], gluon.HybridBlock], optimizer: str, hybridize: bool
) -> tuple[list[float], dict[str, np.ndarray]]:
    """Losses of three steps, and the parameters after them."""
    mx.random.seed(5)
    net = make()
    net.initialize(mx.init.Xavier(), ctx=ctx)
    if hybridize:
        net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), optimizer, {"learning_rate": 0.05})
    loss, losses = gluon.loss.SoftmaxCrossEntropyLoss(), []
    x, y = nd.array(IMAGES, ctx=ctx), nd.array(LABELS, ctx=ctx)
    for _ in range(3):
        with autograd.record():
            found = loss(net(x), y)
        found.backward()
        trainer.step(8)
        losses.append(found.mean().asscalar())
    assert net(x).context == ctx
    return losses, {n: p.data().asnumpy() for n, p in net.collect_params().items()}


@pytest.mark.parametrize("hybridize", [False, True])
@pytest.mark.parametrize(("make", "optimizer"), [(convolutional, "sgd"), (convolutional, "adam"), (recurrent, "adam")])
def test_gluon_trains_as_on_the_cpu(
    device: Mock, make: Callable[[], gluon.HybridBlock], optimizer: str, hybridize: bool
) -> None:
    here, there = trained(mx.cpu(), make, optimizer, hybridize), trained(mx.gpu(), make, optimizer, hybridize)
    np.testing.assert_allclose(there[0], here[0], rtol=1e-4)
    assert here[0][-1] < here[0][0]
    for (name, a), b in zip(here[1].items(), there[1].values(), strict=True):
        np.testing.assert_allclose(b, a, rtol=2e-3, atol=2e-4, err_msg=name)
    gc.collect()
    device.release_memory()
    assert device.counters.live_bytes == 0


def test_module_trains_as_on_the_cpu(device: Mock) -> None:
    def fitted(context: mx.Context) -> dict[str, np.ndarray]:
        data = mx.sym.var("data")
        net = mx.sym.Convolution(data, kernel=(3, 3), num_filter=4, name="conv")
        net = mx.sym.BatchNorm(net, name="bn", fix_gamma=False)
        net = mx.sym.Pooling(mx.sym.relu(net), kernel=(2, 2), stride=(2, 2), pool_type="max")
        net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(net, num_hidden=3, name="fc"), name="softmax")
        module = mx.mod.Module(net, context=context)
        mx.random.seed(1)
        np.random.seed(1)
        module.fit(
            mx.io.NDArrayIter(IMAGES, LABELS, 4),
            num_epoch=2,
            initializer=mx.init.Xavier(),
            optimizer_params={"learning_rate": 0.1, "momentum": 0.9},
        )
        predicted = module.predict(mx.io.NDArrayIter(IMAGES, LABELS, 4)).asnumpy()
        args, aux = module.get_params()
        return {n: a.asnumpy() for n, a in (args | aux).items()} | {"predicted": predicted}

    here, there = fitted(mx.cpu()), fitted(mx.gpu())
    for name, a in here.items():
        np.testing.assert_allclose(there[name], a, rtol=2e-3, atol=2e-4, err_msg=name)


def test_two_devices_train_as_one(devices: list[Mock]) -> None:
    def step(contexts: list[mx.Context]) -> np.ndarray:
        mx.random.seed(2)
        net = gluon.nn.Dense(3, in_units=4)
        net.initialize(mx.init.Xavier(), ctx=contexts)
        trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
        parts = gluon.utils.split_and_load(nd.array(IMAGES.reshape(8, -1)[:, :4]), contexts)
        with autograd.record():
            losses = [(net(part) ** 2).sum() for part in parts]
        autograd.backward(losses)
        trainer.step(8)
        return net.weight.data(contexts[-1]).asnumpy()

    np.testing.assert_allclose(step([mx.gpu(0), mx.gpu(1)]), step([mx.cpu()]), rtol=1e-5)
    assert devices[1].counters.launches > 0


def counted(device: Mock, work: Callable[[], object]) -> Counters:
    """Counts of some work."""
    before = dataclasses.replace(device.counters)
    work()
    return device.counters.since(before)


@pytest.mark.parametrize("static", [False, True])
def test_a_forward_pass_copies_its_input_and_what_is_read(device: Mock, static: bool) -> None:
    net = convolutional()
    net.initialize(mx.init.Xavier(), ctx=mx.gpu())
    net.hybridize(static_alloc=static, static_shape=static)
    first = counted(device, lambda: net(nd.array(IMAGES, ctx=mx.gpu())).asnumpy())
    assert first.uploads > 8, "the weights"
    for number in range(5):
        done = counted(device, lambda: net(nd.array(IMAGES, ctx=mx.gpu())).asnumpy())
        assert (done.uploads, done.uploaded_bytes) == (1, IMAGES.nbytes)
        assert (done.downloads, done.downloaded_bytes) == (1, 8 * 3 * 4)
        assert done.constants == 0
        assert done.replays == (static and number > 0), "captured when it has run twice"
        assert not done.replays or number == 1 or done.launches + done.copies <= 2, (
            "nothing but the copies into the graph and out of it"
        )


def test_a_captured_run_sees_other_inputs_and_weights(device: Mock) -> None:
    net = convolutional()
    net.initialize(mx.init.Xavier(), ctx=mx.gpu())
    net.hybridize(static_alloc=True)
    other = convolutional()
    for number in range(6):
        images = IMAGES * (number + 1)
        got = net(nd.array(images, ctx=mx.gpu()))
        other.collect_params().initialize(force_reinit=True, ctx=mx.cpu())
        other(nd.array(images))
        for a, b in zip(net.collect_params().values(), other.collect_params().values(), strict=True):
            b.set_data(a.data().as_in_context(mx.cpu()))
        np.testing.assert_allclose(got.asnumpy(), other(nd.array(images)).asnumpy(), rtol=1e-4, atol=1e-5)
        if number == 3:
            weight = next(iter(net.collect_params().values()))
            weight.set_data(weight.data() * 2)
    assert device.counters.replays >= 3


def test_an_executor_runs_there(device: Mock) -> None:
    x = mx.sym.var("x")
    y = mx.sym.exp(x) * 2
    args = {"x": nd.array([0, 1], ctx=mx.gpu())}
    bound = y.bind(mx.gpu(), args, args_grad={"x": nd.zeros(2, ctx=mx.gpu())})
    (out,) = bound.forward(is_train=True)
    assert out.context == mx.gpu()
    bound.backward(nd.ones(2, ctx=mx.gpu()))
    np.testing.assert_allclose(bound.grad_dict["x"].asnumpy(), 2 * np.exp([0, 1]), rtol=1e-6)
