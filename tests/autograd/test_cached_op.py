"""CachedOp: a symbol as one operator, forward and backward, in one graph or two."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import hybrid as mx
from hybrid import autograd, native, nd, sym
from hybrid.core import changes
from hybrid.core.changes import LAST
from hybrid.core.error import OpError
from hybrid.core.op import lookup
from hybrid.eager.cached_op import CachedOp
from hybrid.ir.graph import Entry, Node


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
    op = CachedOp(sym.fill_element_0index(sym.var("x"), sym.var("v"), sym.var("i")))
    (x,) = arrays((3, 4))
    with autograd.record():
        y = op(x, nd.zeros(3), nd.array([0, 1, 2]))
    assert y.shape == (3, 4)
    with pytest.raises(OpError, match="fill_element_0index"):
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


def test_calls_that_differ_in_everything_give_what_numpy_gives() -> None:
    """Other shapes, other dtypes, recorded or not, gradients written, added or none, one head or two, inputs written between."""
    x, w, c = sym.var("x"), sym.var("w"), sym.var("c")
    both = sym.Group([sym.broadcast_sub(sym.broadcast_mul(x, w), c), sym.sum(x * x, axis=1), x])
    rng = np.random.default_rng(4)
    for flags in ((), (("static_alloc", True),), (("static_alloc", True), ("static_shape", True))):
        op = CachedOp(both, flags)
        state = nd.array([[2.0, -1, 3]])
        kept = []
        for step, (rows, dtype) in enumerate(
            (
                (2, "float32"),
                (5, "float32"),
                (2, "float64"),
                (2, "float32"),
                (1, "float32"),
                (5, "float32"),
                (2, "float32"),
            )
        ):
            a, b = rng.normal(size=(rows, 3)).astype(dtype), rng.normal(size=(1, 3)).astype(dtype)
            state[:] = state * 0.5 + step  # the same array with other values
            held = state.astype(dtype, copy=False)
            plain = held.asnumpy()
            request = ("write", "add", "null")[step % 3]
            one, two = nd.array(a, dtype=dtype), nd.array(b, dtype=dtype)
            one.attach_grad(request)
            two.attach_grad("add")
            wanted = [a * b - plain, (a * a).sum(1), a]
            for _ in range(2):
                made = op(one, two, held)
                for got, want in zip(made, wanted, strict=True):
                    np.testing.assert_allclose(got.asnumpy(), want, rtol=1e-5, atol=1e-6)
                    assert got.dtype is np.dtype(dtype).type
                kept += list(zip(made, wanted))
            heads = rng.normal(size=(rows, 3)).astype(dtype), rng.normal(size=rows).astype(dtype)
            for _ in range(2):
                with autograd.record():
                    made = op(one, two, held)
                autograd.backward(list(made[:2]), [nd.array(h, dtype=dtype) for h in heads])
            slope = heads[0] * b + 2 * a * heads[1][:, None]
            if request == "null":
                assert one.grad is None
            else:
                times = 2 if request == "add" else 1
                np.testing.assert_allclose(one.grad.asnumpy(), times * slope, rtol=1e-4, atol=1e-5)
            np.testing.assert_allclose(
                two.grad.asnumpy(), 2 * (heads[0] * a).sum(0, keepdims=True), rtol=1e-4, atol=1e-5
            )
        for got, want in kept:  # no later call has written over what an earlier one gave
            np.testing.assert_allclose(got.asnumpy(), want, rtol=1e-5, atol=1e-6)


def test_one_array_for_two_inputs_and_results_that_are_inputs() -> None:
    y = sym.var("y")
    op = CachedOp(sym.Group([sym.var("x") * y, y]))
    x = nd.array([1.0, -2, 3])
    x.attach_grad()
    with autograd.record():
        product, same = op(x, x)
        total = product * nd.array([1.0, 2, 3]) + same * 5
    total.backward()
    assert x.grad.asnumpy().tolist() == [1 * 2 * 1 + 5, 2 * 2 * -2 + 5, 3 * 2 * 3 + 5]
    product, same = op(x, x)
    same[:] = 0
    assert x.asnumpy().tolist() == [1, -2, 3] and product.asnumpy().tolist() == [1, 4, 9]
    assert [y.asnumpy().tolist() for y in op(product, x)] == [[1, -8, 27], [1, -2, 3]]
    out = [nd.zeros(3), nd.zeros(3)]
    made = op(x, product, out=out)
    assert made is out or list(made) == out
    assert [y.asnumpy().tolist() for y in out] == [[1, -8, 27], [1, 4, 9]]


def test_what_calls_are_refused_for_by_name() -> None:
    x, y, z = (sym.var(n) for n in "xyz")
    with pytest.raises(OpError, match=r"^variables of one name: x, y; give each its own$"):
        CachedOp(y + x + z + sym.var("x") * sym.var("y"))


def test_variables_may_be_called_as_residuals_are() -> None:
    """Names of its own stay apart from those of the graph, whichever of them a graph has."""
    for names in (
        ("_residual0", "_head0", "__head1"), ("_head0", "a", "b"), ("a", "_residual0", "b"), ("a", "b", "_head0"),
        ("_head0", "__head0", "___residual0"), ("_residual0_quantized", "a", "_heads"),
    ):  # fmt: skip
        graph = sym.tanh(sym.var(names[0]) * sym.var(names[1])) * sym.var(names[2])
        args = arrays((2, 3), (2, 3), (2, 3))
        with autograd.record():
            y = CachedOp(graph)(*args)
        y.backward()
        a, b, c = (v.asnumpy() for v in args)
        slope = (1 - np.tanh(a * b) ** 2) * c
        for array, want in zip(args, (slope * b, slope * a, np.tanh(a * b))):
            np.testing.assert_allclose(array.grad.asnumpy(), want, rtol=2e-5, atol=1e-6, err_msg=str(names))


def test_outputs_whose_size_the_data_decides_are_used_or_not() -> None:
    """Beside one whose size is known, each alone and both, with masks that take other rows from call to call."""
    x, mask = sym.var("x"), sym.var("mask")
    cached = CachedOp(sym.Group([sym.contrib.boolean_mask(x * 2, mask), x * x]))
    data = nd.array([[1, 2], [3, 4], [5, 6]])
    data.attach_grad()
    for rows in ([1, 0, 1], [0, 1, 0], [1, 1, 1]):
        chosen = np.repeat(np.array(rows)[:, None], 2, 1)
        for used in ((0,), (1,), (0, 1)):
            with autograd.record():
                outs = cached(data, nd.array(rows))
                total = nd.add_n(*(outs[i].sum() for i in used))
            total.backward()
            want = (2 * chosen if 0 in used else 0) + (2 * data.asnumpy() if 1 in used else 0)
            np.testing.assert_array_equal(data.grad.asnumpy(), want)
            assert outs[0].shape == (sum(rows), 2)


def test_states_that_have_a_gradient_are_no_inputs_of_it() -> None:
    """Moving statistics, attached or not: gradients are those of the other inputs, and the statistics move."""
    graph = sym.BatchNorm(*(sym.var(n) for n in ("x", "g", "b", "m", "v")), fix_gamma=False, momentum=0.5, eps=0)
    rng = np.random.default_rng(3)
    x, g, b, m, v = (nd.array(rng.uniform(0.5, 2, s)) for s in ((4, 2), (2,), (2,), (2,), (2,)))
    found = []
    for attached in ((x, g, b), (x, g, b, m, v)):
        for array in attached:
            array.attach_grad()
        means = m.asnumpy()
        with autograd.record():
            y = CachedOp(graph)(x, g, b, m, v)
            loss = (y * nd.array([[1, 2], [3, 5], [7, 11], [13, 17]])).sum()
        loss.backward()
        np.testing.assert_allclose(m.asnumpy(), means * 0.5 + x.asnumpy().mean(0) * 0.5, rtol=1e-5)
        found.append([a.grad.asnumpy() for a in (x, g, b)])
    for one, other in zip(*found):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_allclose(found[0][2], [24, 35], rtol=1e-6)
    assert not m.grad.asnumpy().any() and not v.grad.asnumpy().any()


@pytest.mark.skipif(native.level() is None, reason="the compiled part is not there")
def test_fast_calls_answer_for_the_parameters_that_the_compiled_part_holds() -> None:
    x, v, w = (Entry(Node(None, n)) for n in "xvw")
    first = Entry(Node(lookup("FullyConnected").bind(num_hidden=4, no_bias=True), "first", (x, v)))
    last = Entry(Node(lookup("FullyConnected").bind(num_hidden=2, no_bias=True), "last", (first, w)))
    run = CachedOp(sym.Symbol((last,)), {"param_indices": (1, 2)}.items())
    data, one, other, three = (nd.array(np.arange(12).reshape(s) % 5) for s in ((3, 4), (4, 3), (4, 3), (2, 6)))
    data, one, other = data.reshape((4, 3)), one, other + 1
    three = three[:, :4]

    class Holder:
        def __init__(self, *arrays: nd.NDArray):
            self._data: list[nd.NDArray] | None = list(arrays)

    def want(a: nd.NDArray, b: nd.NDArray) -> np.ndarray:
        return a.asnumpy() @ b.asnumpy().T @ three.asnumpy().T

    holder, rest, written = Holder(other, one), Holder(three), nd.zeros((1,))
    written._shared_var()
    for weights in (one, other):
        np.testing.assert_allclose(run(data, weights, three).asnumpy(), want(data, weights))
    assert (
        run.fast_call([data, one, three], {0: 0}, [holder, rest], LAST.structure) is None
    )  # what is held is of the other
    fast = run.fast_call([data, other, three], {0: 0}, [holder, rest], LAST.structure)
    assert fast is not None
    np.testing.assert_allclose(fast(data).asnumpy(), want(data, other))  # type: ignore[union-attr]
    np.testing.assert_allclose(fast(data * 2).asnumpy(), want(data * 2, other))  # type: ignore[union-attr]
    assert fast(data[:2]) is None and fast(data.astype("float64")) is None
    run(data, one, three)
    assert fast(data) is None  # the compiled part holds what follows from one
    run(data, other, three)
    fast = run.fast_call([data, other, three], {0: 0}, [holder, rest], LAST.structure)
    assert fast is not None and fast(data) is not None
    for changed in ([one], [], None, [one, other + 0]):
        holder._data = changed
        changes.changed()  # as a parameter says that it holds others
        assert fast(data) is None, changed
    holder._data = [one, other]
    assert fast(data) is not None
    written[:] = 1
    assert fast(data) is not None
    rest._data = [other]
    changes.changed()
    assert fast(data) is None
    rest._data = [three]
    for tell in (changes.structure_changed, changes.backends_changed):
        changes.changed()
        fast = run.fast_call([data, other, three], {0: 0}, [holder, rest], LAST.structure)
        changes.changed()
        assert fast(data) is not None, tell  # type: ignore[misc]
        tell()
        assert fast(data) is None, tell  # type: ignore[misc]
        run(data, other, three)
    other[0] = 9
    assert fast(data) is None
    np.testing.assert_allclose(run(data, other, three).asnumpy(), want(data, other))
