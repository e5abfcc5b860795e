"""mx.autograd: what is recorded, how gradients arrive, and what is refused. What is wanted was asked of MXNet 1.9.1."""

from __future__ import annotations

import itertools
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
    several = [nd.array([i + 1.0]) for i in range(3)]
    places = [nd.array([100.0]) for _ in several]
    for wrong in (["write"], ["write"] * 4, []):
        with pytest.raises(ValueError, match=f"{len(wrong)} grad_reqs"):
            autograd.mark_variables(several, places, wrong)
    autograd.mark_variables(several, places, ("add", "null", "write"))
    with autograd.record():
        y = sum(v * v for v in several)
    y.backward()
    assert [place.asscalar() for place in places] == [102, 100, 6]


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
    with pytest.raises(AssertionError, match="called once"):
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
    with autograd.record(), mx.name.NameManager():
        names = autograd.get_symbol(nd.contrib.div_sqrt_dim(1 - x) * 2).get_internals().list_outputs()
    made = ("rminus_scalar0", "contrib_div_sqrt_dim0", "mul_scalar0")  # as functions of symbols would name them
    assert names == ["var0", *(f"{n}_output" for n in made)]
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
    with pytest.raises(mx.MXNetError, match="3-th variable because it is unreachable from the outputs"):
        autograd.grad(y, [x, x, other], retain_graph=True)
    with pytest.raises(mx.MXNetError, match="2-th variable because it does not require gradient"):
        autograd.grad(y, [x, nd.ones((2,))], retain_graph=True)


@pytest.mark.parametrize("how", ["eager", "by NumPy", "hybridized"])
def test_gradients_of_training_or_inference(how: str, request: pytest.FixtureRequest) -> None:
    """Gradients are those of inference where that was recorded, and where training was but the way back asks for them
    (train_mode=False): by moving statistics, which it leaves alone. The program's own mode stays what it was."""
    if how == "by NumPy":
        request.getfixturevalue("by_numpy")
    values, dy = np.float32([[1, 2, 4], [3, -1, 0.5], [0, 2, 1]]), np.float32([[1, 0, 2], [0, 3, 1], [4, 1, 1]])
    gamma, mean, var = np.float32([1, 2, 0.5]), np.float32([0.1, 0.2, 0.3]), np.float32([1, 2, 3])
    x = nd.array(values)
    x.attach_grad()
    still = dy * gamma / np.sqrt(var + 0.01), (dy * (values - mean) / np.sqrt(var + 0.01)).sum(0), dy.sum(0)
    for training, mode in itertools.product((False, True), repeat=2):
        net = nn.HybridSequential()
        net.add(nn.BatchNorm(epsilon=0.01), nn.Dropout(0.5 if training else 0))
        net.initialize()
        net(x)
        for parameter, value in zip(net[0].params.values(), (gamma, np.zeros(3, np.float32), mean, var)):
            parameter.set_data(nd.array(value))
        if how == "hybridized":
            net.hybridize()
        with autograd.record(train_mode=training):
            z = net(x)
            y = z * nd.array(dy)
        again = autograd.grad(y, x, retain_graph=True, train_mode=mode)[0].asnumpy()
        moved = not np.array_equal(net[0].running_mean.data().asnumpy(), mean)
        y.backward(train_mode=mode)
        assert not autograd.is_training() and not autograd.is_recording()
        np.testing.assert_allclose(x.grad.asnumpy(), again, rtol=1e-5, atol=1e-6)
        assert moved == (training and mode)
        if not moved:
            kept = (z.asnumpy() != 0) * 2 if training else 1
            np.testing.assert_allclose(again, still[0] * kept, rtol=1e-5)
            if not training:
                np.testing.assert_allclose(net[0].gamma.grad().asnumpy(), still[1], rtol=1e-4)
        else:
            assert np.abs(again.sum(axis=0)).max() < 1e-5


# -- every form of a step, against NumPy -----------------------------------------------------------------------------------------

WHOLE = np.arange(1, 121, dtype=np.float32).reshape(4, 5, 6) / 7


KEYS: list[Any] = [
    2, -1, (1, 2), (1, -2, 3), slice(1, 3), slice(None, None, 2), slice(3, 0, -1), slice(-3, None), (slice(None), 2),
    (slice(None), slice(4, 1, -2), -1), (Ellipsis, 0), (..., slice(None, None, -1)), (1, ..., slice(2, 5)), None,
    (None, 1, slice(None), None), (slice(1, 2), None, 3), (..., None), [0, 2, 2], [[0, 1], [3, -1]], ([0, 1, 1], [2, 4, 4]),
    (slice(None), [0, 0, 3]), ([1, 3], slice(1, 4)), (2, [0, 1]), (slice(None), [1, 2], [5, 5]), ([0, 1], slice(None), [2, 3]),
    ([[0], [1]], [2, 3]), (..., [5, 0]), np.array([3, 0, 3]), np.array([True, False, True]), (1, slice(2, 2)), slice(3, 3),
]  # fmt: skip


def plain_key(key: Any) -> Any:
    """The key as NumPy means it: boolean arrays are numbers."""
    return key.astype(int) if isinstance(key, np.ndarray) else key


@pytest.mark.parametrize("large", [False, True])
def test_parts_have_the_gradients_of_their_places(large: bool) -> None:
    """Places that are taken twice get both; nd.arrays as indices too; large arrays are computed by the engine."""
    values = np.tile(WHOLE, (600, 1, 1) if large else (1, 1, 1))
    for key in KEYS[:: 6 if large else 1]:
        keys = [key]
        if isinstance(key, list):
            keys += [nd.array(key, dtype="int32"), np.array(key)]
        for form in keys:
            want = np.atleast_1d(values[plain_key(key)])
            weights = np.cos(np.arange(want.size, dtype=np.float32)).reshape(want.shape)
            for request in ("write", "add"):
                x = leaf(values, grad_req=request)
                for _ in range(2):
                    with autograd.record():
                        part = x[form]
                        y = (part * nd.array(weights)) * 2
                    np.testing.assert_array_equal(part.asnumpy(), want)
                    if want.size:
                        y.backward()
                slopes = np.zeros_like(values)
                places = np.arange(values.size).reshape(values.shape)[plain_key(key)]
                np.add.at(slopes.reshape(-1), np.atleast_1d(places), 2 * weights)
                slopes *= 2 if request == "add" else 1
                np.testing.assert_allclose(x.grad.asnumpy(), slopes, rtol=1e-6, err_msg=f"{key} {request}")


def test_other_shapes_of_the_same_have_gradients_in_their_own() -> None:
    weights = np.sin(np.arange(WHOLE.size, dtype=np.float32))
    for make, shared in (
        (lambda x: x.reshape((6, 20)), True),
        (lambda x: x.reshape(-1), True),
        (lambda x: x.reshape((0, -3)), True),
        (lambda x: x.reshape(shape=(-1, 5, 3), reverse=True), True),
        (lambda x: x.expand_dims(1), False),
        (lambda x: x.expand_dims(-1, inplace=True), True),
        (lambda x: x.flatten(), False),
        (lambda x: x.flatten(inplace=True), True),
        (lambda x: x.expand_dims(0).squeeze(0), False),
        (lambda x: x.expand_dims(0, inplace=True).squeeze(axis=0, inplace=True), True),
        (lambda x: x.expand_dims(0, inplace=True).squeeze(inplace=True), True),
    ):
        x = leaf(WHOLE)
        with autograd.record():
            part = make(x)
            y = part * nd.array(weights.reshape(part.shape))
        y.backward()
        assert x.grad.shape == x.shape
        np.testing.assert_array_equal(x.grad.asnumpy().reshape(-1), weights)
        np.testing.assert_array_equal(part.asnumpy().reshape(-1), WHOLE.reshape(-1))
        part[:] = -7
        assert (x.asnumpy() == -7).all() == shared
    x = leaf(WHOLE)
    for make, order in (
        (lambda x: x.transpose(), (2, 1, 0)), (lambda x: x.T, (2, 1, 0)), (lambda x: x.transpose((1, 2, 0)), (1, 2, 0)),
        (lambda x: x.transpose(2, 0, 1), (2, 0, 1)), (lambda x: x.transpose(axes=(0, 2, 1)), (0, 2, 1)),
        (lambda x: nd.moveaxis(x, 0, 2), (1, 2, 0)), (lambda x: nd.moveaxis(x, (0, -1), (1, 0)), (2, 0, 1)),
        (lambda x: x.swapaxes(0, 2), (2, 1, 0)),
    ):  # fmt: skip
        with autograd.record():
            y = make(x)
            z = y * nd.array(weights.reshape(y.shape))
        z.backward()
        np.testing.assert_array_equal(y.asnumpy(), WHOLE.transpose(order))
        back = weights.reshape(y.shape).transpose(np.argsort(order))
        np.testing.assert_array_equal(x.grad.asnumpy(), back)


def test_one_of_several_outputs_and_every_request() -> None:
    """Outputs that nobody reads count as zero; ``write`` writes over what was there, ``add`` adds to it, ``null`` leaves it."""
    values = np.array([[1.0, -2, 3, 4], [5, 6, -7, 8]], np.float32)
    for request in ("write", "add", "null"):
        for used in ((0,), (1,), (0, 1), ()):
            x, other = leaf(values), leaf([1.0, 2.0])
            grad, more = nd.array(np.full((2, 4), 10.0)), nd.array([3.0, 4.0])
            autograd.mark_variables([x, other], [grad, more], request)
            for _ in range(2):
                with autograd.record():
                    parts = nd.split(x, num_outputs=2, axis=1)
                    heads = [parts[i] * (i + 2) for i in used] + [other * 5]
                autograd.backward(heads)
            once = np.zeros((2, 4))
            for i in used:
                once[:, 2 * i : 2 * i + 2] = i + 2
            reached = bool(used)
            want = {"write": once if reached else 10.0, "add": 10 + 2 * once, "null": 10.0}[request]
            np.testing.assert_array_equal(grad.asnumpy(), np.broadcast_to(want, (2, 4)), err_msg=f"{request} {used}")
            np.testing.assert_array_equal(more.asnumpy(), {"write": [5, 5], "add": [13, 14], "null": [3, 4]}[request])
            assert (x.grad is None) == (request == "null")
            assert x._fresh_grad == (request != "null" and reached)
    x, grad = nd.array([1.0, 2]), nd.array([7.0, 7])
    autograd.mark_variables(x, grad)
    with autograd.record():
        y = x * x
    y.backward()
    assert grad.asnumpy().tolist() == [2, 4] and x.grad is grad
    first, second = nd.array([1.0]), nd.array([1.0])
    autograd.mark_variables([first, second], [nd.array([1.0]), nd.array([1.0])], ["add", "write"])
    with autograd.record():
        y = first * 3 + second * 4
    y.backward()
    assert (first.grad.asscalar(), second.grad.asscalar()) == (4, 4)
    with pytest.raises(ValueError, match="got 2 variables, 1 gradients and 2 grad_reqs"):
        autograd.mark_variables([x, first], [grad], "write")


def test_gradients_that_meet() -> None:
    """An array that five steps read, of which one twice: the sum, in any order of heads, also of second order."""
    values = np.array([0.5, -1.5, 2.0])
    x = leaf(values)
    with autograd.record():
        a, b = x * x, x * 3
        c = a * b
        d = nd.concat(a, x, b, dim=0)
        e = d[2:7]
        heads = [c, e, a + x]
    flat = np.concatenate([values**2, values, 3 * values])
    given = [nd.array([1, 2, 3]), None, nd.array([-1, 0, 4])]
    inner = np.zeros(9)
    inner[2:7] = 1
    want = np.array([1, 2, 3]) * 9 * values**2 + np.array([-1, 0, 4]) * (2 * values + 1)
    want += inner[:3] * 2 * values + inner[3:6] + 3 * inner[6:]
    np.testing.assert_allclose(e.asnumpy(), flat[2:7], rtol=1e-6)
    for order in ((0, 1, 2), (2, 1, 0), (1, 2, 0)):
        autograd.backward([heads[i] for i in order], [given[i] for i in order], retain_graph=True)
        np.testing.assert_allclose(x.grad.asnumpy(), want, rtol=1e-6)
    with autograd.record():
        y = x * x * x + x * x + x
        (first,) = autograd.grad(y, [x], nd.array([1, 2, -3]), create_graph=True)
        z = first * first
    z.backward()
    w = np.array([1, 2, -3])
    slope = w * (3 * values**2 + 2 * values + 1)
    np.testing.assert_allclose(first.asnumpy(), slope, rtol=1e-6)
    np.testing.assert_allclose(x.grad.asnumpy(), 2 * slope * w * (6 * values + 2), rtol=1e-6)


def test_grad_of_arrays_in_between() -> None:
    x, w = leaf([1.0, 2.0]), leaf([3.0, 5.0])
    with autograd.record():
        h = x * w
        y = h * h + x
    found = autograd.grad(y, [w, h, x, h], retain_graph=True)
    plain = np.array([3.0, 10.0])
    want = [2 * plain * [1, 2], 2 * plain, 2 * plain * [3, 5] + 1, 2 * plain]
    for got, wanted in zip(found, want, strict=True):
        assert got.asnumpy().tolist() == wanted.tolist()
    assert (x.grad.asnumpy().tolist(), w.grad.asnumpy().tolist()) == ([0, 0], [0, 0])  # nothing arrives there
    (itself,) = autograd.grad(y, [y], nd.array([2.0, 4.0]), retain_graph=True)
    assert itself.asnumpy().tolist() == [2, 4]
    with pytest.raises(mx.MXNetError, match="2-th variable because it does not require gradient"):
        autograd.grad(y, [x, nd.array([1.0])])
    with pytest.raises(ValueError, match="cannot be an empty list"):
        autograd.grad(y, [])
    autograd.grad(y, x)
    with pytest.raises(mx.MXNetError, match="retain_graph"):
        autograd.grad(y, x)


class Spread(autograd.Function):
    """So many outputs, output k (k + 1) times the sum of the inputs, of which there may be more or fewer."""

    def __init__(self, outputs: int):
        super().__init__()
        self.outputs = outputs

    def forward(self, *inputs: Any) -> Any:
        self.inputs = len(inputs)
        total = sum(inputs[1:], inputs[0])
        made = [total * (k + 1) for k in range(self.outputs)]
        return made if self.outputs > 1 else made[0]

    def backward(self, *dys: Any) -> Any:
        assert len(dys) == self.outputs
        total = dys[0]
        for k, dy in enumerate(dys[1:], 2):
            total = total + dy * k
        made = [total * (i + 1) for i in range(self.inputs)]  # no two the same, as no true gradient would be
        return made if self.inputs > 1 else made[0]


@pytest.mark.parametrize("outputs", [1, 2, 3, 4])
@pytest.mark.parametrize("inputs", [1, 2, 3])
def test_functions_have_as_many_outputs_as_they_give(inputs: int, outputs: int) -> None:
    arrays = [nd.array([1.0 + i, 2.0]) for i in range(inputs)]
    for x in arrays:
        x.attach_grad()
    for used in (range(outputs), [outputs - 1], [0]):
        with autograd.record():
            ys = Spread(outputs)(*arrays)
            ys = [ys] if outputs == 1 else ys
            loss = sum((ys[k] * (k + 5) for k in used), nd.zeros((2,)))
        loss.backward()
        want = sum((k + 5) * (k + 1) for k in used)
        assert [x.grad.asnumpy().tolist() for x in arrays] == [[want * (i + 1)] * 2 for i in range(inputs)]


class Swap(autograd.Function):
    """(a, b) to (2 b, a c) for a number c."""

    def __init__(self, c: float):
        super().__init__()
        self.c = c
        self.seen: list[Any] = []

    def forward(self, a: Any, b: Any) -> Any:
        self.save_for_backward(a, b)
        assert not autograd.is_recording()
        return [b * 2, a * self.c]

    def backward(self, dy: Any, dz: Any) -> Any:
        self.seen.append((dy.asnumpy().tolist(), dz.asnumpy().tolist(), dy.dtype, dz.shape))
        assert [t.shape for t in self.saved_tensors] == [(2,), (3,)]
        return dz * self.c, dy * 2


def test_functions_of_several_outputs() -> None:
    for used, seen in ((0, ([7, 7, 7], [0, 0])), (1, ([0, 0, 0], [7, 7]))):
        a, b = leaf([1.0, 2.0]), leaf([3.0, 4.0, 5.0])
        swap = Swap(3)
        with autograd.record():
            made = swap(a, b)
            y = made[used] * 7
        assert isinstance(made, list)
        assert [m.asnumpy().tolist() for m in made] == [[6, 8, 10], [3, 6]]
        y.backward()
        assert swap.seen == [(*seen, np.float32, (2,))]
        assert a.grad.asnumpy().tolist() == [21 * used] * 2 and b.grad.asnumpy().tolist() == [14 * (1 - used)] * 3
    with pytest.raises(AssertionError, match="can only be called once"):
        swap(a, b)
    assert [m.asnumpy().tolist() for m in Swap(1)(a, b)] == [[6, 8, 10], [1, 2]]  # unrecorded
    with autograd.record():
        free = Swap(1)(nd.array([1.0, 2]), nd.array([1.0, 2, 3]))
    with pytest.raises(mx.MXNetError, match="not in a computational graph"):
        free[0].backward()


def test_copies_and_dtypes_pass_gradients_on() -> None:
    x = leaf(np.array([[1.0, 2], [3, 4]], np.float32))
    weights = nd.array([[1.0, -2], [0.5, 3]])
    for make in (
        lambda: x.copy(), lambda: x.copyto(mx.cpu(1)), lambda: x.as_in_context(mx.cpu(1)), lambda: nd.array(x, ctx=mx.cpu(1)),
        lambda: x.copyto(nd.zeros((2, 2))), lambda: x.astype("float64"), lambda: x.astype("float32", copy=False),
        lambda: nd.array(x, dtype="float64"), lambda: x.copyto(nd.zeros((2, 2), dtype="float16")),
        lambda: x.tostype("default"), lambda: x.tostype("row_sparse"), lambda: x.tostype("csr"),
        lambda: x.tostype("csr").tostype("default"),
    ):  # fmt: skip
        x.grad[:] = -1
        with autograd.record():
            y = make()
            z = y * weights.astype(y.dtype) * 2
        z.backward()
        assert x.grad.dtype is np.float32
        assert x.grad.asnumpy().tolist() == [[2, -4], [1, 6]]
        assert y.asnumpy().tolist() == [[1, 2], [3, 4]]
    assert nd.array(x, ctx=mx.cpu(1)).context == x.copyto(mx.cpu(1)).context == mx.cpu(1) != x.context
    target = nd.zeros((2, 2))
    with autograd.record():
        target[:] = x * 3
        y = target * weights
    y.backward()
    assert x.grad.asnumpy().tolist() == [[3, -6], [1.5, 9]]
    wide = nd.zeros((3, 2, 2), dtype="float64")
    with autograd.record():
        wide[:] = x * 3
        y = wide * nd.arange(3, dtype="float64").reshape((3, 1, 1))
    y.backward()
    assert x.grad.asnumpy().tolist() == [[9, 9], [9, 9]]


def test_unused_outputs_count_as_zeros_of_their_own_dtype() -> None:
    """Whichever of several outputs is read, in each dtype, eagerly and later (large arrays)."""
    for dtype, shape, used in itertools.product(
        ("float16", "float32", "float64"), ((2, 6), (200, 600)), ((0,), (1,), (2,), (0, 2))
    ):
        values = (np.arange(np.prod(shape)).reshape(shape) % 97 / 64 + 0.3).astype(dtype)
        x = nd.array(values, dtype=dtype)
        x.attach_grad()
        with autograd.record():
            parts = nd.split(x, num_outputs=3, axis=1)
            heads = [parts[i] * parts[i] for i in used]
        autograd.backward(heads)
        want = np.zeros_like(values)
        width = shape[1] // 3
        for i in used:
            want[:, i * width : (i + 1) * width] = 2 * values[:, i * width : (i + 1) * width]
        assert x.grad.dtype == values.dtype
        np.testing.assert_array_equal(x.grad.asnumpy(), want, err_msg=f"{dtype} {shape} {used}")
    for dtype in ("float16", "float64"):  # of different shapes; the second is the position, which has no gradient
        x = nd.array([[3, 1, 2], [4, 6, 5]], dtype=dtype)
        x.attach_grad()
        with autograd.record():
            best = nd.topk(x, axis=1, k=2, ret_typ="both")[0] * nd.array([[1, 2], [3, 4]], dtype=dtype)
        best.backward()
        assert x.grad.dtype == np.dtype(dtype) and x.grad.asnumpy().tolist() == [[1, 0, 2], [0, 3, 4]]
        with autograd.record():
            matrix = nd.array([[2, 1], [1, 3]], dtype="float64")
            matrix.attach_grad()
            values = nd.linalg.syevd(matrix)[1]
        values.backward(nd.array([1, 1], dtype="float64"))  # the sum of the eigenvalues is the trace
        assert matrix.grad.dtype == np.float64
        np.testing.assert_allclose(matrix.grad.asnumpy(), np.eye(2), atol=1e-12)


def test_scopes_that_leave_one_of_the_two_as_it_is() -> None:
    for training in (False, True):
        with autograd.train_mode() if training else autograd.predict_mode():
            for scope, recording in (
                (autograd.record(train_mode=None), True),
                (autograd.pause(train_mode=None), False),
            ):
                with scope:
                    assert (autograd.is_recording(), autograd.is_training()) == (recording, training)
            assert (autograd.is_recording(), autograd.is_training()) == (False, training)
    with autograd.record(train_mode=False):
        with autograd.train_mode():
            assert autograd.is_recording() and autograd.is_training()
        assert autograd.is_recording() and not autograd.is_training()


def test_a_target_with_a_gradient_is_refused_while_recording() -> None:
    """Whatever is written to it, as MXNet 1.9.1 refuses it; and one of several is as good as all."""
    target, plain = leaf([[1.0, 2]]), nd.zeros((1, 2))
    with autograd.record():
        for write in (lambda: nd.exp(nd.zeros((1, 2)), out=target), lambda: nd.split(nd.ones((2, 2)), num_outputs=2, axis=0,
                      out=[plain, target]), lambda: nd.exp(target, out=target)):  # fmt: skip
            with pytest.raises(mx.MXNetError, match="Inplace operations"):
                write()
        nd.exp(nd.zeros((1, 2)), out=plain)
        plain[:] = nd.ones((1, 2)) * 3
        plain[0, 1] = 4
    assert target.asnumpy().tolist() == [[1, 2]] and plain.asnumpy().tolist() == [[3, 4]]
    nd.exp(nd.zeros((1, 2)), out=target)
    assert target.asnumpy().tolist() == [[1, 1]]


def test_heads_and_their_gradients_in_lists_or_not() -> None:
    x = leaf([1.0, 2.0])
    g = nd.array([10, 100])
    for heads, grads, want in (
        (lambda y: y, g, [20, 200]), (lambda y: y, [g], [20, 200]), (lambda y: [y], [g], [20, 200]),
        (lambda y: [y], [None], [2, 2]),
        (lambda y: y, None, [2, 2]), (lambda y: y, [None], [2, 2]), (lambda y: (y,), (g,), [20, 200]),
        (lambda y: [y, y * 1], [g, None], [22, 202]),
    ):  # fmt: skip
        with autograd.record():
            given = heads(x * 2)
        autograd.backward(given, grads)
        assert x.grad.asnumpy().tolist() == want
    for heads, grads in ((lambda y: y, [g, g]), (lambda y: [y, y], [g]), (lambda y: y, [])):
        with autograd.record():
            given = heads(x * 2)
        with pytest.raises(ValueError, match="lists of the same length"):
            autograd.backward(given, grads)


def test_gradients_that_have_come_are_known_of_what_has_room_for_them() -> None:
    x, y = leaf([1.0]), nd.array([1])
    assert not x._fresh_grad and not y._fresh_grad
    with autograd.record():
        z = x * 2
    assert not z._fresh_grad
    z.backward()
    assert x._fresh_grad and not z._fresh_grad
    for array in (x, y, z):
        array._fresh_grad = False
        assert not array._fresh_grad
    y._fresh_grad = True
    assert not y._fresh_grad


def test_nothing_comes_back_through_what_has_no_derivative() -> None:
    """Inputs without a derivative are refused, but where zeros are all that arrives there."""
    x, places = leaf([[1.0, 2], [3, 4]]), nd.array([1, 0])
    with autograd.record():
        y = nd.fill_element_0index(x, nd.array([8, 9]), places)
        z = nd.BlockGrad(y) * nd.array([5, 6]) + x.sum()
    z.backward()
    assert x.grad.asnumpy().tolist() == [[4, 4], [4, 4]]
    with autograd.record():
        y = nd.fill_element_0index(x, nd.array([8, 9]), places) * 2
    with pytest.raises(mx.MXNetError, match="fill_element_0index"):
        y.backward()


def test_second_derivatives_of_what_has_several_outputs() -> None:
    """Of layer normalization, whose rule reads the mean and the deviation too: against finite differences."""
    rng = np.random.default_rng(4)
    a, weights, direction = (rng.uniform(-1, 2, (2, 5)) for _ in range(3))
    gamma = rng.uniform(0.5, 2, 5)

    def first(values: np.ndarray) -> np.ndarray:
        deviation = np.sqrt(values.var(1, keepdims=True) + 0.125)
        unit, dy = (values - values.mean(1, keepdims=True)) / deviation, weights * gamma
        return (dy - dy.mean(1, keepdims=True) - unit * (dy * unit).mean(1, keepdims=True)) / deviation

    x, g, b, w, d = (nd.array(v, dtype="float64") for v in (a, gamma, gamma * 3, weights, direction))
    x.attach_grad()
    with autograd.record():
        y = nd.LayerNorm(x, g, b, eps=0.125)
        (found,) = autograd.grad((y * w).sum(), [x], create_graph=True)
        head = (found * d).sum()
    head.backward()
    np.testing.assert_allclose(found.asnumpy(), first(a), rtol=1e-8)
    eps, want = 1e-5, np.empty_like(a)
    for place in np.ndindex(*a.shape):
        step = np.zeros_like(a)
        step[place] = eps
        want[place] = ((first(a + step) - first(a - step)) * direction).sum() / (2 * eps)
    np.testing.assert_allclose(x.grad.asnumpy(), want, rtol=1e-5, atol=1e-7)


def test_the_second_way_back_is_refused_unless_it_was_asked_for() -> None:
    for block in (None, nn.Dense(1, in_units=2)):
        x = leaf([[1.0, 2.0]])
        if block is not None:
            block.initialize()
            block.hybridize()
        for retain in (True, False):
            with autograd.record():
                y = x * x if block is None else block(x)
            y.backward(retain_graph=retain)
            before = x.grad.asnumpy()
            if retain:
                y.backward()
                np.testing.assert_array_equal(x.grad.asnumpy(), before)
            with pytest.raises(mx.MXNetError, match=r"retain_graph|not in a computational graph"):
                y.backward()


@pytest.mark.parametrize("hybridize", [None, False, True])
def test_what_was_gone_through_is_a_constant_afterwards(hybridize: bool | None) -> None:
    """The state of one piece of a sequence in the next, and a loss that is added up over several ways back: as in MXNet."""
    if hybridize is None:
        w = leaf([2.0])

        def step(h: nd.NDArray) -> nd.NDArray:
            return h * w + 1

    else:
        net = nn.Dense(1, in_units=1, weight_initializer=mx.init.Constant(2.0), bias_initializer=mx.init.One())
        net.initialize()
        net.hybridize(hybridize)
        w, step = net.weight.data(), net
    state, total = nd.array([[1.0]]), 0
    for _ in range(3):
        before = state.asscalar()
        with autograd.record():
            state = step(state)
            total = total + (state * state).sum()
        total.backward()
        assert state.asscalar() == 2 * before + 1
        assert w.grad.asnumpy().ravel().tolist() == [2 * state.asscalar() * before]
    assert total.asscalar() == 3**2 + 7**2 + 15**2
    with autograd.record():
        y = state * 3
    with pytest.raises(mx.MXNetError, match="not in a computational graph"):
        y.backward()
    with pytest.raises(mx.MXNetError, match="does not require gradient"):
        autograd.grad(step(w.reshape((1, 1))), [state])


def test_what_was_gone_through_in_the_same_record() -> None:
    """A constant for what is recorded afterwards; what had been recorded before has lost what it needs."""
    x = leaf([2.0, 3.0])
    with autograd.record():
        h = x * 2
        before = (h * x).sum()
        h.backward()
        after = (h * h * x).sum()
    with pytest.raises(mx.MXNetError, match="not in a computational graph"):
        before.backward()
    after.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), h.asnumpy() ** 2)


def test_what_was_gone_through_may_be_written_to() -> None:
    x = leaf([2.0, 3.0])
    with autograd.record():
        h = x * x
    h.backward()
    with autograd.record():
        h[0] = 5
        y = h * x
    y.backward()
    assert x.grad.asnumpy().tolist() == [5, 9]
    with autograd.record():
        nd.broadcast_add(x, x, out=h)
        y = h * x
    y.backward()
    assert x.grad.asnumpy().tolist() == [8, 12]
    with autograd.record(), pytest.raises(mx.MXNetError, match="Inplace operations"):
        h *= x  # the gradient would read what was there


def test_a_function_that_was_gone_through_is_a_constant() -> None:
    class Twice(autograd.Function):
        def forward(self, x: nd.NDArray) -> nd.NDArray:
            return x * 2

        def backward(self, dy: nd.NDArray) -> nd.NDArray:
            return dy * 2

    x = leaf([3.0])
    with autograd.record():
        h = Twice()(x)
    h.backward()
    with pytest.raises(mx.MXNetError, match="not in a computational graph"):
        h.backward()
    with autograd.record():
        y = Twice()(h) * x + h.as_in_context(mx.cpu(1)).as_in_context(mx.cpu())
    y.backward()
    assert x.grad.asscalar() == 12


def test_what_has_no_derivative_says_so_and_is_not_0() -> None:
    """gammaln has two derivatives here, digamma and trigamma; that of the last is not known."""
    x = nd.array([1.5, 3.0])
    x.attach_grad()
    with autograd.record():
        (first,) = autograd.grad(nd.gammaln(x), [x], create_graph=True)
        (second,) = autograd.grad(first, [x], create_graph=True)
    np.testing.assert_allclose(
        second.asnumpy(), [0.9348022, 0.3949341], rtol=1e-6
    )  # trigamma, Abramowitz and Stegun 6.4
    with pytest.raises(mx.MXNetError, match="non-differentiable: it has no gradient rule"):
        second.backward()


def test_gradients_that_mxnet_refuses_or_leaves_unwritten() -> None:
    """Those of labels and indices are zeros, and the sparse side of a product has one whatever way it is multiplied
    (docs/migration.md)."""
    x, label = leaf([[0.1, 0.7, 0.2], [0.3, 0.1, 0.4]]), leaf([1, 2])
    label.grad[:] = 7
    with autograd.record():
        loss = nd.softmax_cross_entropy(x, label)
        rows = nd.Embedding(label, x.reshape((3, 2)), input_dim=3, output_dim=2)
    autograd.backward([loss, rows])
    assert label.grad.asnumpy().tolist() == [0, 0]
    values, dense = np.float32([[0, 2, 0], [1, 0, 0]]), np.float32([[1, 2], [3, 4]])
    sparse = nd.array(values).tostype("csr")
    for storage in ("default", "csr"):
        sparse.attach_grad(stype=storage)
        for product, wanted in (
            (lambda: nd.dot(sparse, nd.array(dense), transpose_a=True), [[3, 3, 3], [7, 7, 7]]),
            (lambda: nd.dot(nd.array(dense), sparse), [[4, 4, 4], [6, 6, 6]]),
            (lambda: nd.dot(sparse, nd.array(values.T).tostype("row_sparse")), [[1, 2, 0], [1, 2, 0]]),
        ):
            with autograd.record():
                y = product()
            y.backward()
            assert sparse.grad.stype == storage and sparse.grad.asnumpy().tolist() == wanted
