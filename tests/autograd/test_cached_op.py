"""CachedOp: a symbol as one operator, forward and backward, in one graph or two."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import hybrid as mx
from hybrid import autograd, nd, sym
from hybrid.core.error import OpError
from hybrid.eager.cached_op import CachedOp


def arrays(*shapes: tuple[int, ...]) -> list[nd.NDArray]:
    rng = np.random.default_rng(0)
    made = [nd.array(rng.normal(size=s)) for s in shapes]
    for array in made:
        array.attach_grad()
    return made


def network() -> sym.Symbol:
    x = sym.FullyConnected(sym.var("x"), sym.var("w"), sym.var("b"), num_hidden=4)
    return sym.tanh(x) * 2


def eagerly(x: nd.NDArray, w: nd.NDArray, b: nd.NDArray) -> nd.NDArray:
    return nd.tanh(nd.FullyConnected(x, w, b, num_hidden=4)) * 2


def close(one: np.ndarray, other: np.ndarray, epsilons: float) -> None:
    """Equal but for rounding: kernels and NumPy add in different orders."""
    np.testing.assert_allclose(one, other, rtol=0, atol=epsilons * np.finfo(np.float32).eps * np.abs(other).max())


def test_outputs_and_gradients() -> None:
    args = arrays((3, 5), (4, 5), (4,))
    found = []
    for function in (CachedOp(network()), eagerly):
        with autograd.record():
            y = function(*args)
            loss = (y * y).sum()
        loss.backward()
        found.append([y.asnumpy(), *(a.grad.asnumpy() for a in args)])
    for one, other in zip(*found):
        close(one, other, 8)


def test_gradients_of_gradients() -> None:
    args = arrays((3, 5), (4, 5), (4,))
    found = []
    for function in (CachedOp(network()), eagerly):
        with autograd.record():
            y = function(*args)
            (first,) = autograd.grad(y, [args[1]], create_graph=True)
            (second,) = autograd.grad((first * first).sum(), [args[0]], create_graph=True)
            loss = (second * second).sum() + first.sum()
        loss.backward()
        found.append([first.asnumpy(), second.asnumpy(), *(a.grad.asnumpy() for a in args)])
    for one, other in zip(*found):
        close(one, other, 512)  # squares of squares of values up to 1e4


def test_the_forward_part_gives_what_the_backward_part_reads() -> None:
    op = CachedOp(network())
    args = arrays((3, 5), (4, 5), (4,))
    with autograd.record():
        y = op(*args)
    y.backward()
    (split,) = op._splits.values()
    (backward,) = op._backwards.values()
    names = {n.op.name for n in backward.op.graph.nodes if n.op is not None}
    assert not names & {"FullyConnected", "tanh"}, "nothing is computed twice"
    assert len(split.residuals) == 1  # what tanh gave


@pytest.mark.parametrize("order", [1, 2])
def test_running_statistics_are_updated_by_each_pass_back(order: int) -> None:
    names = ["gamma", "beta", "mean", "var"]
    data = sym.var("x")
    op = CachedOp(sym.BatchNorm(data, *map(sym.var, names), fix_gamma=False, momentum=0.5) * data)
    x, gamma, beta = arrays((6, 3), (3,), (3,))
    mean, var = nd.zeros(3), nd.ones(3)
    with autograd.record():
        y = op(x, gamma, beta, mean, var)
        assert not mean.asnumpy().any(), "not before"
        if order == 2:
            (first,) = autograd.grad(y, [x], create_graph=True)
            y = (first * first).sum()
    y.backward()
    np.testing.assert_allclose(mean.asnumpy(), x.asnumpy().mean(0) * (1 - 0.5**order), rtol=1e-5)
    before = mean.asnumpy()
    op(x, gamma, beta, mean, var)
    np.testing.assert_array_equal(mean.asnumpy(), before)


def test_modes_and_shapes_have_plans_of_their_own() -> None:
    op = CachedOp(sym.Dropout(sym.var("x"), p=0.5))
    x = nd.ones((50, 50))
    assert (op(x).asnumpy() == 1).all()
    with autograd.train_mode():
        assert set(np.unique(op(x).asnumpy())) == {0, 2}
    assert op(nd.ones((2, 3))).shape == (2, 3)


def test_random_numbers_repeat_themselves() -> None:
    op = CachedOp(sym.Dropout(sym.var("x"), p=0.5))
    x = nd.ones((700, 900))  # large enough to be computed later
    results = []
    for _ in range(2):
        mx.random.seed(5)
        with autograd.train_mode():
            results.append([op(x).asnumpy(), op(x).asnumpy()])
    np.testing.assert_array_equal(results[0], results[1])
    assert (results[0][0] != results[0][1]).any()


def test_several_outputs_and_heads_that_are_not_used() -> None:
    x = sym.var("x")
    op = CachedOp(sym.Group([x * 2, x * x, sym.stop_gradient(x)]))
    (a,) = arrays((4,))
    with autograd.record():
        double, square, still = op(a)
    square.backward(retain_graph=True)
    np.testing.assert_allclose(a.grad.asnumpy(), 2 * a.asnumpy(), rtol=1e-6)
    double.backward(retain_graph=True)
    assert a.grad.asnumpy().tolist() == [2] * 4
    assert still.shape == (4,)
    with pytest.raises(mx.MXNetError, match="retain_graph"):
        square.backward()
        square.backward()


def test_what_has_no_derivative_says_so_when_it_is_asked() -> None:
    op = CachedOp(sym.batch_take(sym.var("x"), sym.var("i")))
    (x,) = arrays((3, 4))
    with autograd.record():
        y = op(x, nd.array([0, 1, 2], dtype="int32"))
    assert y.shape == (3,)
    with pytest.raises(OpError, match="batch_take"):
        y.backward()


def test_wrong_calls() -> None:
    op = CachedOp(network())
    with pytest.raises(ValueError, match=r"got 1 inputs, wanted 3 \(x, w, b\)"):
        op(nd.ones(1))
    with pytest.raises(OpError, match=r"FullyConnected|fullyconnected"):
        op(nd.ones((3, 5)), nd.ones((4, 7)), nd.ones(4))
    with pytest.raises(OpError, match="one name: x"):
        CachedOp(sym.var("x") + sym.var("x"))


def test_out_and_pickling() -> None:
    op = pickle.loads(pickle.dumps(CachedOp(network(), (("static_alloc", True),))))
    args = arrays((3, 5), (4, 5), (4,))
    target = nd.zeros((3, 4))
    assert op(*args, out=target) is target
    np.testing.assert_allclose(target.asnumpy(), eagerly(*args).asnumpy(), rtol=1e-6)


def test_networks_that_train_and_do_not_by_turns() -> None:
    """With gradients: what was cut in two for the one is not what the other is."""
    op = CachedOp(sym.Dropout(sym.var("x"), p=0.5))
    (x,) = arrays((40, 40))
    for training in (True, False, True):
        with autograd.record(train_mode=training):
            y = op(x)
        y.backward()
        assert bool((y.asnumpy() == 0).any()) == training
        assert bool((x.grad.asnumpy() == 0).any()) == training
