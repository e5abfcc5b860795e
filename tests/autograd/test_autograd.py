"""mx.autograd: what is recorded, how gradients arrive, and what is refused. What is wanted was asked of MXNet 1.9.1."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import hybrid as mx
from hybrid import autograd, nd
from hybrid.gluon import nn


def leaf(values, **kwargs) -> nd.NDArray:
    x = nd.array(values)
    x.attach_grad(**kwargs)
    return x


def test_state() -> None:
    assert (autograd.is_recording(), autograd.is_training()) == (False, False)
    with autograd.record():
        assert (autograd.is_recording(), autograd.is_training()) == (True, True)
        with autograd.pause():
            assert (autograd.is_recording(), autograd.is_training()) == (False, False)
        with autograd.pause(train_mode=True):
            assert (autograd.is_recording(), autograd.is_training()) == (False, True)
        with autograd.predict_mode():
            assert (autograd.is_recording(), autograd.is_training()) == (True, False)
    with autograd.record(train_mode=False):
        assert (autograd.is_recording(), autograd.is_training()) == (True, False)
        with autograd.train_mode():
            assert (autograd.is_recording(), autograd.is_training()) == (True, True)
    assert autograd.set_recording(True) is False
    assert autograd.set_training(True) is False
    assert autograd.set_recording(False) is True
    assert autograd.set_training(False) is True


def test_state_belongs_to_the_thread() -> None:
    seen = []
    with autograd.record():
        thread = threading.Thread(target=lambda: seen.append(autograd.is_recording()))
        thread.start()
        thread.join()
    assert seen == [False]


def test_backward() -> None:
    x, w = leaf([[1, 2], [3, 4]]), leaf([[1, 0], [2, -1]])
    with autograd.record():
        y = x * w + x
        z = (y * y).sum()
    z.backward()
    want_y = np.array([[1, 2], [3, 4]]) * np.array([[1, 0], [2, -1]]) + np.array([[1, 2], [3, 4]])
    np.testing.assert_allclose(x.grad.asnumpy(), 2 * want_y * (np.array([[1, 0], [2, -1]]) + 1))
    np.testing.assert_allclose(w.grad.asnumpy(), 2 * want_y * np.array([[1, 2], [3, 4]]))


def test_grad_req() -> None:
    for request, want in (("write", 3.0), ("add", 9.0), ("null", None)):
        x = leaf([2.0], grad_req=request)
        for _ in range(3):
            with autograd.record():
                y = x * 3
            if request == "null":
                y.backward()
            else:
                y.backward()
        assert (x.grad.asscalar() if want is not None else x.grad) == want
    with pytest.raises(ValueError, match="grad_req"):
        leaf([1.0], grad_req="maybe")


def test_head_gradients_and_several_heads() -> None:
    x = leaf([1.0, 2.0])
    with autograd.record():
        a, b = x * 2, x * x
    autograd.backward([a, b], [nd.array([1, 10]), None])
    assert x.grad.asnumpy().tolist() == [2 + 2, 20 + 4]
    with autograd.record():
        a = x * 2
    a.backward(nd.array([3, 4]))
    assert x.grad.asnumpy().tolist() == [6, 8]
    with autograd.record():
        a = x * 2
    with pytest.raises(mx.MXNetError, match="shape"):
        a.backward(nd.array([3, 4, 5]))
    with pytest.raises(ValueError, match="same length"):
        autograd.backward([a], [None, None])


def test_what_was_not_recorded_has_no_gradient() -> None:
    x = leaf([1.0])
    y = x * 2
    with pytest.raises(mx.MXNetError, match="not in a computational graph"):
        y.backward()
    with autograd.record():
        y = x * x
    y.backward()
    with pytest.raises(mx.MXNetError, match="retain_graph"):
        y.backward()
    with autograd.record():
        y = x * x
    y.backward(retain_graph=True)
    y.backward()


def test_grad_to_any_order() -> None:
    x = leaf([0.5, -1.5])
    value = x.asnumpy().astype(np.float64)
    with autograd.record():
        y = x * x * x * x
        (first,) = autograd.grad(y, x, create_graph=True, retain_graph=True)
        (second,) = autograd.grad(first, x, create_graph=True, retain_graph=True)
        (third,) = autograd.grad(second, x, create_graph=True, retain_graph=True)
        total = (third * third).sum()
    np.testing.assert_allclose(first.asnumpy(), 4 * value**3, rtol=1e-6)
    np.testing.assert_allclose(second.asnumpy(), 12 * value**2, rtol=1e-6)
    np.testing.assert_allclose(third.asnumpy(), 24 * value, rtol=1e-6)
    total.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), 2 * 24 * 24 * value, rtol=1e-6)


def test_grad_leaves_attached_gradients_alone() -> None:
    x, y = leaf([2.0]), leaf([3.0])
    with autograd.record():
        z = x * y
        m = x * 1
        n = m * y
    assert autograd.grad(z, [x, y])[1].asscalar() == 2
    assert x.grad.asscalar() == 0
    assert autograd.grad(n, m)[0].asscalar() == 3  # of something in between
    with pytest.raises(mx.MXNetError, match="2-th variable"):
        with autograd.record():
            z = x * y
        autograd.grad(z, [x, nd.ones(1)])
    with pytest.raises(ValueError, match="empty"):
        autograd.grad(z, [])


def test_detach_and_block_grad() -> None:
    x = leaf([3.0])
    with autograd.record():
        z = x.detach() * x + nd.BlockGrad(x * x) * x
    z.backward()
    assert x.grad.asscalar() == 3 + 9


def test_attach_grad_cuts_history() -> None:
    x = leaf([2.0])
    with autograd.record():
        u = x * x
        u.attach_grad()
        z = u * x
    z.backward()
    assert u.grad.asscalar() == 2
    assert x.grad.asscalar() == 4


def test_mark_variables() -> None:
    x, g = nd.array([1.0, 2.0]), nd.zeros(2)
    autograd.mark_variables([x], [g])
    with autograd.record():
        y = x * x
    y.backward()
    assert g.asnumpy().tolist() == [2, 4]
    assert x.grad is g
    with pytest.raises(ValueError, match="1 variables, 2 gradients"):
        autograd.mark_variables([x], [g, g])


def test_in_place_is_refused_while_recording() -> None:
    x = leaf([1.0, 2.0])
    with autograd.record():
        y = x * 2
        for change in (lambda: y.__iadd__(x), lambda: y.__setitem__(0, 1), lambda: nd.relu(x, out=y)):
            with pytest.raises(mx.MXNetError, match="Inplace operations"):
                change()
    x += 1
    x[0] = 7
    assert x.asnumpy().tolist() == [7, 3]


def test_views_are_recorded() -> None:
    x = leaf(np.arange(12).reshape(3, 4))
    with autograd.record():
        y = x[1] * 2 + x[1:, 0].sum() + x.reshape((4, 3))[0, 1] + x[nd.array([0, 2])].sum() + x[:, None, ::-2].sum()
        z = y.sum()
    z.backward()
    want = np.zeros((3, 4))
    want[1] += 2
    want[1:, 0] += 4
    want.reshape(4, 3)[0, 1] += 4
    want[[0, 2]] += 4
    want[:, ::-2] += 4
    np.testing.assert_array_equal(x.grad.asnumpy(), want)


class Sigmoid(autograd.Function):
    """The example of MXNet's documentation."""

    def forward(self, x):
        y = 1 / (1 + nd.exp(-x))
        self.save_for_backward(y)
        return y

    def backward(self, dy):
        (y,) = self.saved_tensors
        return dy * y * (1 - y)


def test_function() -> None:
    x = leaf([0.3, -2.0])
    own = Sigmoid()
    with autograd.record():
        y = own(x)
        z = (y * y).sum()
    z.backward()
    s = 1 / (1 + np.exp(-x.asnumpy()))
    np.testing.assert_allclose(x.grad.asnumpy(), 2 * s * s * (1 - s), rtol=1e-6)
    with pytest.raises(mx.MXNetError, match="called once"):
        own(x)


def test_a_function_with_the_wrong_number_of_gradients() -> None:
    class Wrong(Sigmoid):
        def backward(self, dy):
            return dy, dy

    x = leaf([1.0])
    with autograd.record():
        y = Wrong()(x)
    with pytest.raises(mx.MXNetError, match="2 gradients, wanted one for each of the 1 inputs"):
        y.backward()


def test_get_symbol() -> None:
    x, w = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    with autograd.record():
        y = nd.tanh(x * w + x)
    symbol = autograd.get_symbol(y)
    assert len(symbol.list_arguments()) == 2
    first, second = symbol.list_arguments()
    (got,) = symbol.eval(**{first: x, second: w})
    np.testing.assert_array_equal(got.asnumpy(), y.asnumpy())
    with pytest.raises(mx.MXNetError, match="not recorded"):
        autograd.get_symbol(nd.ones(1))


def test_a_fresh_gradient_is_known() -> None:
    x = leaf([1.0])
    assert x._fresh_grad is False
    with autograd.record():
        y = x * 2
    y.backward()
    assert x._fresh_grad is True
    x._fresh_grad = False
    assert x._fresh_grad is False


def test_gradients_of_large_arrays_are_those_of_small_ones() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(700, 800)), rng.normal(size=(800, 300))
    x, w = leaf(a), leaf(b)
    with autograd.record():
        y = nd.dot(x, w)
        z = (nd.tanh(y) * y).mean()
    z.backward()
    y64 = a @ b
    dy = (np.tanh(y64) + y64 * (1 - np.tanh(y64) ** 2)) / y64.size
    np.testing.assert_allclose(x.grad.asnumpy(), dy @ b.T, rtol=1e-3, atol=1e-6)
    np.testing.assert_allclose(w.grad.asnumpy(), a.T @ dy, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("request_", ["write", "add"])
@pytest.mark.parametrize(
    "function",
    [lambda x: x.argmax(axis=0), lambda x: (x * 2).floor() * 3, nd.BlockGrad, lambda x: x > 1, lambda x: nd.sort(x).sign()],
)  # fmt: skip
def test_zero_gradients_arrive(function, request_: str) -> None:
    x = nd.array([3, 1, 2])
    x.attach_grad(request_)
    with autograd.record():
        y = function(x)
    x.grad[:] = 5
    y.backward()
    assert x.grad.asnumpy().tolist() == [0 if request_ == "write" else 5] * 3


def test_loss_heads_have_gradients_whatever_comes_after() -> None:
    x = nd.array([[1, 1]])
    x.attach_grad()
    with autograd.record():
        y = nd.SoftmaxOutput(x, nd.array([0])).argmax(axis=1)
    y.backward()
    assert x.grad.asnumpy().tolist() == [[-0.5, 0.5]]


@pytest.mark.parametrize("hybridized", [False, True])
def test_it_is_the_backward_pass_that_moves_running_statistics(hybridized: bool) -> None:
    x = nd.array(np.arange(12).reshape(4, 3))

    def network(grad_req: str = "write") -> Any:
        net = nn.HybridSequential()
        net.add(nn.Dense(3, in_units=3, weight_initializer="one"), nn.BatchNorm(in_channels=3, momentum=0.5))
        net.initialize()
        net.collect_params().setattr("grad_req", grad_req)
        net.hybridize(hybridized)
        return net

    def moved(net: Any) -> float:
        return float(net[1].running_mean.data().asnumpy()[0])  # halfway to 16.5 after one pass

    net = network()
    with autograd.record():
        y = net(x).sum()
        net(x)
    assert moved(net) == 0
    y.backward()
    assert moved(net) == 8.25
    frozen = network("null")
    with autograd.record():
        frozen(x)
    assert moved(frozen) == 0
    x.attach_grad()
    with autograd.record():
        y = frozen(x).sum()
    y.backward()
    assert moved(frozen) == 8.25


def test_grad_refuses_what_no_head_depends_on() -> None:
    """As MXNet; a gradient that is zero because an operator has none is zeros."""
    x, other = nd.ones((2,)), nd.ones((2,))
    x.attach_grad()
    other.attach_grad()
    with autograd.record():
        y, between = nd.BlockGrad(x) * 3, other * 2
    np.testing.assert_array_equal(autograd.grad(y, x, retain_graph=True)[0].asnumpy(), np.zeros(2))
    for variable in (other, between):
        with pytest.raises(mx.MXNetError, match="1-th variable because it is unreachable from the outputs"):
            autograd.grad(y, variable, retain_graph=True)
