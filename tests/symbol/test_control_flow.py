"""F.contrib.foreach, while_loop and cond: the same numbers and gradients eagerly, hybridized, and after export."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hybrid as mx
from hybrid import autograd, gluon, nd, sym


class Steps(gluon.HybridBlock):
    """A recurrent network by hand, then a loop and a choice on what it gives."""

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        with self.name_scope():
            self.i2h = gluon.nn.Dense(4, in_units=3)
            self.h2h = gluon.nn.Dense(4, in_units=4)
            self.scale = self.params.get("scale", shape=(1, 4), init="ones")

    def hybrid_forward(self, F: Any, x: Any, h: Any, scale: Any) -> Any:  # noqa: N803
        def step(d: Any, s: Any) -> Any:
            o = F.broadcast_mul(F.tanh(self.i2h(d) + self.h2h(s[0])), scale)
            return o, [o]

        out, (last,) = F.contrib.foreach(step, x, [h])
        total = out.sum(axis=0)
        rows, (count, grown) = F.contrib.while_loop(
            lambda i, a: i < 3, lambda i, a: (a * 2, [i + 1, a + total]), [F.zeros((1,)), last], max_iterations=5
        )
        chosen = F.contrib.cond(out.sum() > 0, lambda: out * 2, lambda: out * 3)
        return (
            out,
            last,
            F.slice_axis(rows, axis=0, begin=0, end=3),
            count,
            grown,
            chosen,
            F.dot(grown, scale, transpose_b=True),
        )


def network() -> Steps:
    net = Steps(prefix="s_")
    net.initialize()
    rng = np.random.default_rng(3)
    for _, p in sorted(net.collect_params().items()):
        p.set_data(nd.array(rng.uniform(-1, 1, p.shape)))
    return net


def inputs() -> tuple[nd.NDArray, nd.NDArray]:
    rng = np.random.default_rng(4)
    return nd.array(rng.uniform(-1, 1, (5, 2, 3))), nd.array(rng.uniform(-1, 1, (2, 4)))


def run(net: Steps) -> tuple[list[np.ndarray], dict[str, np.ndarray]]:
    x, h = inputs()
    x.attach_grad()
    h.attach_grad()
    with autograd.record():
        outputs = net(x, h)
        loss = sum((y**2).sum() for y in outputs)
    loss.backward()
    gradients = {n: p.grad().asnumpy() for n, p in net.collect_params().items()}
    return [y.asnumpy() for y in outputs], {**gradients, "x": x.grad.asnumpy(), "h": h.grad.asnumpy()}


def test_hybridized_blocks_give_the_same_outputs_and_gradients() -> None:
    net = network()
    outputs, gradients = run(net)
    net.hybridize()
    for again in (run(net), run(net)):
        for got, wanted in zip(again[0], outputs, strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)
        for name, wanted in gradients.items():
            np.testing.assert_allclose(again[1][name], wanted, rtol=2e-4, atol=1e-4, err_msg=name)


def test_export_and_import(tmp_path: Path) -> None:
    net = network()
    net.hybridize()
    wanted = net(*inputs())
    net.export(str(tmp_path / "m"))
    back = gluon.SymbolBlock.imports(
        str(tmp_path / "m-symbol.json"), ["data0", "data1"], str(tmp_path / "m-0000.params")
    )
    for got, y in zip(back(*inputs()), wanted, strict=True):
        np.testing.assert_allclose(got.asnumpy(), y.asnumpy(), rtol=1e-6)


def test_a_parameter_inside_and_outside_of_a_loop_is_one_input() -> None:
    net = network()
    net.hybridize()
    net(*inputs())
    names = net._cached_graph[1].list_inputs()
    assert len(names) == len(set(names)) == 7


def test_eager_loops() -> None:
    outs, states = nd.contrib.foreach(lambda d, s: (d + s[0], [s[0] * 2]), nd.arange(4), [nd.ones(1)])
    assert outs.asnumpy().tolist() == [[1], [3], [6], [11]] and states[0].asscalar() == 16
    outs, states = nd.contrib.foreach(
        lambda d, s: ([d[0] * s, [d[1]]], s), [nd.ones((2, 3)), nd.zeros((2, 1))], nd.ones(3)
    )
    assert outs[0].shape == (2, 3) and outs[1][0].shape == (2, 1) and states.shape == (3,)
    assert nd.contrib.foreach(lambda d, s: ([], s + d), nd.ones((3, 2)), nd.zeros(2))[0] == []
    outs, (i, s) = nd.contrib.while_loop(
        lambda i, s: i <= 5, lambda i, s: ([i + s], [i + 1, s + i]), (nd.array([0], dtype="int64"), nd.array([1], dtype="int64")),
        max_iterations=10,
    )  # fmt: skip
    assert outs[0].asnumpy().ravel().tolist() == [1, 2, 4, 7, 11, 16, 0, 0, 0, 0] and outs[0].dtype is np.int64
    assert (i.asscalar(), s.asscalar()) == (6, 16)
    assert nd.contrib.while_loop(lambda i: i < 0, lambda i: (i, i), nd.zeros(1), 3)[0] == []
    a, b = nd.array([1]), nd.array([2])
    assert nd.contrib.cond(a * b < 5, lambda: (a + 5) * (b + 5), lambda: (a - 5) * (b - 5)).asscalar() == 42
    assert nd.contrib.cond(a * b > 5, lambda: a, lambda: [b, a])[0] is b


def test_eager_loops_refuse_what_mxnet_refuses() -> None:
    one = nd.ones(1)
    with pytest.raises(AssertionError, match="foreach input must be"):
        nd.contrib.foreach(lambda d, s: (d, s), 3, one)
    with pytest.raises(ValueError, match="max_iterations should be specified"):
        nd.contrib.while_loop(lambda i: i, lambda i: (i, i), [one])
    with pytest.raises(ValueError, match="at least one element"):
        nd.contrib.while_loop(lambda: 1, lambda: ([], []), [], 3)
    with pytest.raises(ValueError, match="consistent during the loop"):
        nd.contrib.while_loop(lambda i: i, lambda i: (i, [i, i]), [one], 3)
    with pytest.raises(ValueError, match="not a scalar"):
        nd.contrib.while_loop(lambda i: nd.ones(2), lambda i: (i, [i]), [one], 3)
    growing = lambda i: (i, [nd.concat(i, i, dim=0)])  # noqa: E731
    with pytest.raises(ValueError, match="Step 1, shape is \\(2,\\)"):
        nd.contrib.while_loop(lambda i: nd.ones(1), growing, [one], 2)


def test_numbers_that_are_none() -> None:
    x = nd.array([1, np.nan, np.inf, -np.inf])
    assert nd.contrib.isnan(x).asnumpy().tolist() == [0, 1, 0, 0]
    assert nd.contrib.isinf(x).asnumpy().tolist() == [0, 0, 1, 1]
    assert nd.contrib.isfinite(x).asnumpy().tolist() == [1, 0, 0, 0]


@pytest.mark.parametrize("side", [nd, sym])
def test_rand_zipfian(side: Any) -> None:
    mx.random.seed(5)
    classes = nd.array([0, 3])
    if side is nd:
        drawn, true, sampled = nd.contrib.rand_zipfian(classes, 20000, 10)
    else:
        drawn, true, sampled = sym.Group(sym.contrib.rand_zipfian(sym.var("c"), 20000, 10)).eval(c=classes)
    share = (np.log(np.arange(10) + 2) - np.log(np.arange(10) + 1)) / np.log(11)
    np.testing.assert_allclose(np.bincount(drawn.asnumpy(), minlength=10) / 20000, share, atol=0.02)
    np.testing.assert_allclose(true.asnumpy(), share[[0, 3]] * 20000)
    np.testing.assert_allclose(sampled.asnumpy(), share[drawn.asnumpy()] * 20000)


def test_adamw_takes_a_number_for_rescale_grad() -> None:
    for given in (0.5, nd.array([0.5])):
        arrays = [nd.ones(2), nd.ones(2), nd.zeros(2), nd.zeros(2)]
        new = nd.contrib.adamw_update(*arrays, given, 0.1, 1.0)
        assert new.asnumpy() == pytest.approx(nd._internal._adamw_update(nd.ones(2), nd.ones(2), nd.zeros(2), nd.zeros(2),
            nd.array([0.5]), lr=0.1, eta=1.0).asnumpy())  # fmt: skip
    by_name = sym.contrib.adamw_update(*map(sym.var, "wgmv"), rescale_grad=0.5, lr=0.1, eta=1.0)
    (y,) = by_name.bind(
        mx.cpu(), {"w": nd.ones(2), "g": nd.ones(2)}, aux_states={"m": nd.zeros(2), "v": nd.zeros(2)}
    ).forward()
    np.testing.assert_allclose(y.asnumpy(), new.asnumpy())


def test_updates_of_lists_take_their_numbers_in_order() -> None:
    """As they are called by name; MXNet 1.9.1 has them in this order. How many arrays there are may be said."""
    order = {
        "multi_adamw_update": ("rescale_grad", "lrs", "wds", "etas"),
        "multi_mp_adamw_update": ("rescale_grad", "lrs", "wds", "etas"),
        "multi_lamb_update": ("step_count", "lrs", "wds"),
        "multi_mp_lamb_update": ("step_count", "lrs", "wds"),
    }
    numbers = {"rescale_grad": 0.5, "lrs": [0.1, 0.2], "wds": [0.01, 0.3], "etas": [1.0, 0.25], "step_count": [1, 3]}
    for name, names in order.items():
        counter = {"num_tensors": 2} if "lamb" in name else {"size": 2}
        made = []
        for more in ({}, counter, None):
            half = "float16" if "mp" in name else "float32"
            lists = [
                [(nd.arange(3) / 4 + i + 0.25 * j).astype("float32" if j > 1 else half) for i in range(2)]
                for j in range(5 if "mp" in name else 4)
            ]
            given = [numbers[n] for n in names]
            function = getattr(nd.contrib, name)
            if more is None:
                function(*lists, out=lists[0], **dict(zip(names, given)))
            else:
                function(*lists, *given, out=lists[0], **more)
            made.append([a.asnumpy() for arrays in lists for a in arrays])
        for other in made[:2]:
            for a, b in zip(other, made[2], strict=True):
                np.testing.assert_array_equal(a, b, name)


class Drops(gluon.HybridBlock):
    """Draws inside the bodies of control flow, beside those outside of them."""

    def __init__(self, kind: str):
        super().__init__(prefix="drops_")
        self.kind = kind

    def hybrid_forward(self, F: Any, x: Any, s: Any) -> Any:  # noqa: N803
        def drop(a: Any) -> Any:
            return F.Dropout(a, p=0.5)

        def chosen(a: Any) -> Any:
            return F.contrib.cond(F.sum(a) > 0, lambda: drop(a), lambda: a * 1)

        if self.kind == "foreach":
            return F.contrib.foreach(lambda row, t: (drop(row), t + drop(row)), x, s)[0]
        if self.kind == "state":
            return F.contrib.foreach(lambda row, t: (row, t * 1 + drop(row)), x, s)[1] - 3 * s
        if self.kind == "while":
            found = F.contrib.while_loop(
                lambda a, b: F.sum(b) < 1e9,
                lambda a, b: ([F.broadcast_add(drop(a), 0 * F.sum(x))], [a * 1, b * 1]),
                [s, s * 1],
                3,
            )
            return found[0][0]
        if self.kind == "cond":
            return F.broadcast_add(chosen(s), 0 * F.sum(x))
        return F.contrib.foreach(lambda row, t: (chosen(row), t * 1), x, s)[0]


def test_bodies_run_in_the_mode_of_the_call() -> None:
    """Training or not by turns, recorded or not, as MXNet 1.9.1 has it; what they draw is the same under the same seed."""
    x, s = nd.ones((3, 40)), nd.ones((40,))
    for kind in ("foreach", "state", "while", "cond", "nested"):
        for hybridized in (False, True):
            net = Drops(kind)
            net.hybridize(hybridized)
            drawn = []
            for training in (False, True, False) if hybridized else (True, False):
                for scope in (
                    autograd.record(train_mode=training),
                    autograd.train_mode() if training else autograd.predict_mode(),
                ):
                    mx.random.seed(7)
                    with scope:
                        y = net(x, s).asnumpy()
                        again = net(x, s).asnumpy()
                    if training:
                        drawn.append(y)
                        assert (y != again).any() and (y == 0).any() and (y == 2).any(), (kind, hybridized)
                    else:
                        np.testing.assert_array_equal(y, again, kind)
                        assert len(np.unique(y)) == 1, (kind, hybridized)
            for other in drawn[1:]:
                np.testing.assert_array_equal(other, drawn[0], kind)


def test_bodies_read_several_outputs_of_a_node_outside() -> None:
    """Each is its own."""
    x, rows = sym.var("x"), sym.var("rows")
    first, second, third = sym.SliceChannel(x, num_outputs=3, axis=0, squeeze_axis=True)
    made, state = sym.contrib.foreach(
        lambda row, s: (row * first - second, [s[0] + third * row]), rows, [sym.zeros_like(first)]
    )
    given = np.float32([[2, 3], [5, 7], [11, 13]]), np.float32([[1, -1], [4, 6]])
    found = sym.Group([made, state[0]]).eval(x=mx.nd.array(given[0]), rows=mx.nd.array(given[1]))
    want = given[1] * given[0][0] - given[0][1], (given[1].sum(0) * given[0][2])[None]
    for got, wanted in zip(found, want, strict=True):
        np.testing.assert_allclose(np.squeeze(got.asnumpy()), np.squeeze(wanted), rtol=1e-6)


def test_bodies_of_nothing_at_all() -> None:
    """MXNet raises a TypeError."""
    x = sym.var("x")
    with pytest.raises(AssertionError, match="data arrays have to be used"):
        sym.contrib.foreach(lambda row, states: ([], []), x, [])
    with pytest.raises(mx.MXNetError, match="output"):
        sym.contrib.cond(sym.sum(x) > 0, list, list)
