"""Gluon with arrays of mx.np is held against Gluon with those of mx.nd: the same numbers, of the other class."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import hybrid as mx
from hybrid import autograd, gluon
from hybrid.gluon import contrib, nn, rnn


@pytest.fixture
def numpy_mode() -> Iterator[None]:
    """The whole mode, in a test."""
    with mx.np_shape(True), mx.np_array(True):
        yield


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    """Numbers that differ everywhere."""
    return np.random.RandomState(seed + len(shape)).uniform(-1, 1, shape).astype("float32")


def fill(block: gluon.Block) -> None:
    """Give parameters numbers that follow from their order."""
    for i, parameter in enumerate(block.collect_params().values()):
        low = 0.5 if parameter.name.endswith("running_var") else -0.5
        parameter.set_data(np.random.RandomState(i).uniform(low, 1.0, parameter.shape).astype("float32"))


def flat(value: Any) -> list[Any]:
    """The arrays in lists of lists."""
    return [inner for v in value for inner in flat(v)] if isinstance(value, list | tuple) else [value]


def run(
    make: Callable[[], Any], inputs: list[np.ndarray], call: Callable[..., Any], hybridize: bool, mode: bool
) -> Any:
    """Return what a block gives, and the gradients of its input and parameters."""
    with mx.np_shape(mode), mx.np_array(mode):
        kind = mx.np.ndarray if mode else mx.nd.NDArray
        block = make()
        block.initialize()
        block.hybridize(hybridize)
        arrays = [mx.nd.array(x, dtype=x.dtype) for x in inputs]
        arrays = [a.as_np_ndarray() for a in arrays] if mode else arrays
        call(block, *arrays)
        fill(block)
        arrays[0].attach_grad()
        with autograd.record():
            out = flat(call(block, *arrays))
        autograd.backward(out)
        found = [*out, *(p.grad() for p in block.collect_params().values() if p.grad_req != "null"), arrays[0].grad]
        assert {type(a) for a in found} == {kind}
        return [a.asnumpy() for a in found]


def plain(block: Any, *arrays: Any) -> Any:
    """A call."""
    return block(*arrays)


def steps(block: Any, *arrays: Any) -> Any:
    """A cell over time."""
    return block.unroll(3, arrays[0], layout="NTC", merge_outputs=True)


CLASSES = np.array([1.0, 0.0, 3.0], "float32")
ROWS: dict[str, tuple[Callable[[], Any], list[np.ndarray], Callable[..., Any]]] = {
    "embedding": (lambda: nn.Sequential(), [numbers(3, 4)], lambda b, x: x * 2),
    "instance norm": (lambda: nn.InstanceNorm(), [numbers(2, 3, 4)], plain),
    "group norm": (lambda: nn.GroupNorm(2), [numbers(2, 4, 3)], plain),
    "selu": (lambda: nn.SELU(), [numbers(3, 4)], plain),
    "reflection": (lambda: nn.ReflectionPad2D(1), [numbers(1, 2, 4, 4)], plain),
    "three dims": (lambda: nn.Conv3D(2, 2), [numbers(1, 2, 3, 3, 3)], plain),
    "pooling": (lambda: nn.MaxPool1D(2), [numbers(1, 2, 6)], plain),
    "concurrent": (lambda: _concurrent(), [numbers(2, 3)], plain),
    "pixels": (lambda: contrib.nn.PixelShuffle2D(2), [numbers(1, 4, 2, 2)], plain),
    "rnn cell": (lambda: rnn.RNNCell(3), [numbers(2, 3, 4)], steps),
    "lstm cell": (lambda: rnn.LSTMCell(3), [numbers(2, 3, 4)], steps),
    "gru cell": (lambda: rnn.GRUCell(3), [numbers(2, 3, 4)], steps),
    "cells": (lambda: _cells(), [numbers(2, 3, 4)], steps),
    "both ways": (lambda: rnn.BidirectionalCell(rnn.LSTMCell(2), rnn.LSTMCell(2)), [numbers(2, 3, 4)], steps),
    "layers": (lambda: rnn.LSTM(3, 2, layout="NTC", bidirectional=True), [numbers(2, 3, 4)], plain),
    "divergence": (lambda: gluon.loss.KLDivLoss(False), [numbers(3, 4), np.abs(numbers(3, 4, seed=1))], plain),
    "huber": (lambda: gluon.loss.HuberLoss(0.3), [numbers(3, 4), numbers(3, 4, seed=1)], plain),
    "hinge": (lambda: gluon.loss.HingeLoss(), [numbers(3, 4), np.sign(numbers(3, 4, seed=1))], plain),
    "squared hinge": (lambda: gluon.loss.SquaredHingeLoss(), [numbers(3, 4), np.sign(numbers(3, 4, seed=1))], plain),
    "logistic": (lambda: gluon.loss.LogisticLoss(), [numbers(3, 4), np.sign(numbers(3, 4, seed=1))], plain),
    "triplet": (lambda: gluon.loss.TripletLoss(), [numbers(3, 4), numbers(3, 4, seed=1), numbers(3, 4, seed=2)], plain),
    "poisson": (lambda: gluon.loss.PoissonNLLLoss(), [numbers(3, 4), np.abs(numbers(3, 4, seed=1))], plain),
    "cosine": (
        lambda: gluon.loss.CosineEmbeddingLoss(),
        [numbers(3, 4), numbers(3, 4, seed=1), np.array([1, -1, 1], "float32")],
        plain,
    ),
    "temporal": (lambda: gluon.loss.CTCLoss(), [numbers(2, 6, 4), np.array([[1, 2], [2, 2]], "float32")], plain),
    "softmax": (lambda: gluon.loss.SoftmaxCELoss(), [numbers(3, 4), CLASSES], plain),
}


def _concurrent() -> Any:
    net = contrib.nn.HybridConcurrent(axis=1)
    net.add(nn.Dense(2), contrib.nn.Identity())
    return net


def _cells() -> Any:
    net = rnn.SequentialRNNCell()
    net.add(rnn.LSTMCell(3))
    net.add(rnn.DropoutCell(0.0))
    net.add(rnn.ResidualCell(rnn.GRUCell(3)))
    return net


@pytest.mark.parametrize("name", ROWS)
def test_blocks_give_the_same_numbers_in_both_modes(name: str) -> None:
    make, inputs, call = ROWS[name]
    for hybridize in (False, True):
        wanted = run(make, inputs, call, hybridize, False)
        got = run(make, inputs, call, hybridize, True)
        assert len(got) == len(wanted)
        for a, b in zip(got, wanted):
            np.testing.assert_allclose(a, b.reshape(a.shape), rtol=1e-6, atol=1e-6, err_msg=f"{name} {hybridize}")


def test_what_a_program_defines_gets_arrays_of_the_mode(numpy_mode: None) -> None:
    """Initializers, optimizers, metrics, functions with gradients of their own."""
    seen = []

    class Own(mx.init.Initializer):
        def _init_weight(self, name: Any, arr: Any) -> None:
            seen.append(type(arr))
            arr[:] = 2.0

    class Down(mx.optimizer.Optimizer):
        def create_state(self, index: Any, weight: Any) -> Any:
            seen.append(type(weight))
            return weight * 0

        def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
            seen.append(type(grad))
            weight[:] = weight - 0.5 * grad

    class Twice(autograd.Function):
        def forward(self, x: Any) -> Any:
            seen.append(type(x))
            return x * 2

        def backward(self, dy: Any) -> Any:
            seen.append(type(dy))
            return dy * 3

    net = nn.Dense(1, in_units=2, use_bias=False)
    net.initialize(Own())
    trainer = gluon.Trainer(net.collect_params(), Down())
    x = mx.nd.array([[1.0, 2.0]]).as_np_ndarray()
    with autograd.record():
        y = Twice()(net(x))
    y.backward()
    trainer.step(1)
    np.testing.assert_array_equal(net.weight.data().asnumpy(), [[2 - 1.5, 2 - 3.0]])
    assert seen == [mx.np.ndarray] * len(seen) and len(seen) == 5
    custom = mx.metric.np(lambda label, pred: float((label == pred).mean()))
    custom.update([x], [x])
    assert custom.get()[1] == 1.0
    accuracy = mx.metric.Accuracy()
    accuracy.update([mx.nd.array([1.0]).as_np_ndarray()], [x])
    assert accuracy.get()[1] == 1.0
    (gradient,) = autograd_of(x)
    assert type(gradient) is mx.np.ndarray


def autograd_of(x: Any) -> Any:
    """The gradient of a square as a new array."""
    x.attach_grad()
    with autograd.record():
        y = x * x
    return autograd.grad([y], [x])


@pytest.mark.parametrize("options", [{}, {"num_workers": 2}, {"num_workers": 2, "thread_pool": True}])
def test_loaders_give_arrays_of_the_mode_from_wherever_they_are_made(options: dict[str, Any], numpy_mode: None) -> None:
    def seen(x: Any) -> Any:
        assert mx.is_np_array() and mx.is_np_shape()
        return x

    data = gluon.data.ArrayDataset(mx.nd.array(numbers(6, 2)).as_np_ndarray(), numbers(6)).transform_first(seen)
    for x, y in gluon.data.DataLoader(data, 3, **options):
        assert type(x) is type(y) is mx.np.ndarray and x.shape == (3, 2)


def test_short_calls_of_graphs_give_arrays_of_what_they_get(numpy_mode: None) -> None:
    net = nn.HybridSequential()
    net.add(nn.Dense(3, in_units=2, activation="relu"), nn.Dense(2, in_units=3))
    net.initialize()
    net.hybridize()
    x = mx.nd.array(numbers(4, 2)).as_np_ndarray()
    wanted = net(x).asnumpy()
    for _ in range(4):
        found = net(x)
        assert type(found) is mx.np.ndarray
        np.testing.assert_array_equal(found.asnumpy(), wanted)
    net[0].weight.set_data(net[0].weight.data() * 0)
    np.testing.assert_allclose(net(x).asnumpy(), np.broadcast_to(net[1].bias.data().asnumpy(), (4, 2)), atol=1e-6)


def test_the_two_faces_share_memory_history_and_gradients() -> None:
    x = mx.nd.array(numbers(2, 3))
    twin = x.as_np_ndarray()
    twin[0, 0] = 5.0
    x += 1
    assert twin.asnumpy()[0, 0] == 6 and twin.as_np_ndarray() is twin and x.as_nd_ndarray() is x
    twin.attach_grad()
    with autograd.record():
        y = (twin * twin).as_nd_ndarray()
        z = mx.nd.sum(y)
    z.backward()
    np.testing.assert_allclose(twin.grad.asnumpy(), 2 * twin.asnumpy(), rtol=1e-6)
    assert type(twin.grad) is mx.np.ndarray and type(twin.as_nd_ndarray().grad) is mx.nd.NDArray
    with pytest.raises(TypeError, match="a csr array"):
        x.tostype("csr").as_np_ndarray()


def test_the_two_faces_are_not_mixed() -> None:
    x = mx.nd.array(numbers(2, 3))
    twin = x.as_np_ndarray()
    for call in (
        lambda: mx.nd.exp(twin),
        lambda: mx.nd.broadcast_add(x, twin),
        lambda: mx.np.exp(x),
        lambda: mx.np.add(twin, x),
        lambda: mx.nd.exp(x, out=twin),
        lambda: mx.sym.exp(mx.sym.var("x").as_np_ndarray()),
        lambda: mx.sym.np.exp(mx.sym.var("x")),
        lambda: twin.__setitem__(0, x[0]),
    ):
        with pytest.raises(TypeError, match=r"np|numpy"):
            call()
