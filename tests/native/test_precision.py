"""Weights in fewer bits: kernels against NumPy with the same weights, and networks of one precision or another."""

import threading
from typing import Any

import numpy as np
import pytest

import hybrid as mx
from hybrid import autograd, native
from hybrid.core.op import lookup
from hybrid.eager.cached_op import CachedOp
from hybrid.execution.lower import attributes
from hybrid.execution.precision_report import report
from hybrid.execution.program import Program
from hybrid.execution.reduced import loss, rounded
from hybrid.gluon import nn

from ..grouped import over
from .single import Single, using

pytestmark = pytest.mark.skipif(not native.LEVELS, reason="the compiled part is not there")

EPSILON = float(np.finfo("float32").eps)
REDUCED = ("bfloat16", "int8")
EXPECTED = {"float32": 1e-6, "bfloat16": 6e-3, "int8": 3e-2}
"""Errors of outputs, by their largest number, that weights of a network here may cost;"""
LEAST = {"bfloat16": 3e-4, "int8": 1e-3}
"""and that they do cost."""


def uniform(*shape, seed=0):
    return np.random.default_rng((seed, *shape)).uniform(-1, 1, shape).astype("float32")


def reduced(op, precision):
    """Attributes of a step whose second operand is to be packed so."""
    return {**(attributes(op, False) or {}), "weights": precision}


def hold(name, arrays, precision, threads=(1,), **attrs):
    """Hold a product whose second operand is constant against float64 with the same weights: within some epsilons of the products'
    sizes, which are added up."""
    op = lookup(name).bind(**attrs)
    given = reduced(op, precision)
    weights = op.matrices(arrays[1])
    kept = rounded(weights, precision)
    assert np.isfinite(kept).all() == np.isfinite(weights).all()
    back = np.swapaxes(kept, -1, -2) if not np.array_equal(weights, arrays[1].reshape(weights.shape)) else kept
    back = back.reshape(arrays[1].shape)
    np.testing.assert_array_equal(op.matrices(back), kept)
    wide = [a.astype("float64") for a in (arrays[0], back, *arrays[2:])]
    want, sizes = op.compute(*wide), op.compute(*map(np.abs, wide))
    for count in threads:
        with using(count):
            single = Single(op, arrays, constants=(1,), threads=count, attrs=given)
            assert single.there
            assert single.program.describe()[0]["how"].startswith(precision)
            (mine,) = single.run(arrays)
        within = (4 + max(max(a.shape, default=1) for a in arrays) ** 0.5 / 2) * EPSILON
        assert (np.abs(mine.reshape(want.shape) - want) <= within * sizes + 1e-38).all()


@pytest.mark.parametrize("precision", REDUCED)
@over("rows", [1, 2, 3, 4, 5, 7, 14, 15, 40, 300])
def test_sizes(level, precision, rows):
    for columns in (1, 15, 16, 17, 33, 100):
        for k in (1, 3, 8, 37):
            arrays = uniform(rows, k), uniform(columns, k) * uniform(columns, 1, seed=1), uniform(columns)
            hold("FullyConnected", arrays, precision, num_hidden=columns)


@pytest.mark.parametrize("precision", REDUCED)
@over("rows", [1, 4, 6, 31])
def test_long_sums_on_threads(level, precision, rows):
    """K in slices, columns cut between threads."""
    for k, columns in ((1025, 70), (2100, 33), (300, 900)):
        arrays = uniform(rows, k), uniform(columns, k)
        hold("FullyConnected", arrays, precision, threads=(1, 3), num_hidden=columns, no_bias=True)


@pytest.mark.parametrize("precision", REDUCED)
def test_weights_beyond_the_caches(level, precision):
    """A row that reads several panels at once, and what they leave."""
    arrays = uniform(1, 700), uniform(1553, 700), uniform(1553)
    hold("FullyConnected", arrays, precision, threads=(1, 2), num_hidden=1553)


@pytest.mark.parametrize("precision", REDUCED)
@over("rows", [1, 3, 9])
def test_every_product(level, precision, rows):
    k, n = 37, 50
    for shape in ((rows, k), (2, rows, k)):
        hold("dot", (uniform(*shape), uniform(k, n)), precision)
        hold("dot", (uniform(*shape), uniform(n, k)), precision, transpose_b=True)
        hold("_npi_matmul", (uniform(*shape), uniform(k, n)), precision)
        hold("_np_dot", (uniform(*shape), uniform(k, n)), precision)
    hold("dot", (uniform(rows, k), uniform(k, 5, 7)), precision)
    hold("dot", (uniform(k, rows), uniform(k, n)), precision, transpose_a=True)
    hold("_npi_matmul", (uniform(rows, k), uniform(k)), precision)
    hold("_npi_matmul", (uniform(3, rows, k), uniform(3, k, n)), precision)
    hold("_npi_matmul", (uniform(2, 3, rows, k), uniform(3, k, n)), precision, threads=(1, 2))
    hold("_onnx_Gemm", (uniform(rows, k), uniform(n, k), uniform(n)), precision, given=("C",), transB=1, alpha=0.5)
    hold("_onnx_Gemm", (uniform(rows, k), uniform(k, n), uniform(rows, n)), precision, given=("C",), beta=0.25)
    for transposed in (False, True):
        weights = uniform(3, n, k) if transposed else uniform(3, k, n)
        hold("batch_dot", (uniform(3, rows, k), weights), precision, transpose_b=transposed)
        hold("_linalg_gemm2", (uniform(3, rows, k), weights), precision, transpose_b=transposed, alpha=1.5)
        added = uniform(3, rows, n)
        hold("_linalg_gemm", (uniform(3, rows, k), weights, added), precision, transpose_b=transposed, beta=0.5)


@pytest.mark.parametrize("precision", REDUCED)
def test_weights_of_all_sizes(level, precision):
    """Zeros, what is hardly a number, the largest there are, ties; and what is not finite stays as it is."""
    weights = uniform(20, 9)
    weights[0] = 0
    weights[1] *= 1e-41
    weights[2] *= 3e-38
    weights[3] = [127, 0.5, 1.5, 2.5, -0.5, -1.5, -126.5, 63.5, -127]
    weights[4] *= 1e37
    hold("FullyConnected", (uniform(2, 9), weights), precision, num_hidden=20, no_bias=True)
    for odd in (np.inf, np.nan, 3.4e38 if precision == "bfloat16" else -np.inf):
        weights[7, 3] = odd
        assert rounded(weights.T, precision).tobytes() == np.ascontiguousarray(weights.T).tobytes()
        for rows in (2, 7):
            op = lookup("FullyConnected").bind(num_hidden=20, no_bias=True)
            arrays = uniform(rows, 9) + 2, weights
            (mine,) = Single(op, arrays, constants=(1,), attrs=reduced(op, precision)).run(arrays)
            (want,) = Single(op, arrays, constants=(1,)).run(arrays)
            np.testing.assert_array_equal(mine, want)


def test_what_rounding_is():
    ties = np.array([[1 + 2**-8], [1 + 3 * 2**-8], [-1 - 2**-8]], "float32")
    assert rounded(ties, "bfloat16")[:, 0].tolist() == [1.0, 1 + 2**-6, -1.0]
    column = np.array([[127], [0.5], [1.5], [-2.5], [-63.49]], "float32")
    assert rounded(column, "int8")[:, 0].tolist() == [127.0, 0.0, 2.0, -2.0, -63.0]
    both = np.concatenate([column, column * 1000], 1)
    np.testing.assert_array_equal(rounded(both, "int8")[:, 1], rounded(column, "int8")[:, 0] * 1000)
    assert loss(np.array([3.0, 4.0]), np.array([3.0, 3.0])) == 0.2
    assert loss(np.zeros(3), np.zeros(3)) == 0.0


# -- networks -----------------------------------------------------------------------------------------------------------------


@pytest.fixture
def chosen():
    """Put the setting back."""
    before = mx.precision()
    yield mx.set_precision
    mx.set_precision(before)


def network(units=40, seed=3):
    mx.random.seed(seed)
    net = nn.HybridSequential()
    net.add(nn.Dense(90, activation="relu"), nn.Dense(units, flatten=False))
    net.initialize(mx.init.Normal(0.3))
    net(mx.nd.zeros((1, 30)))
    return net


def error(net, x, exact=None):
    """Largest error of an output beside weights as they are, by its largest number."""
    if exact is None:
        net.hybridize(False)
        exact = net(x).asnumpy()
    return np.abs(net(x).asnumpy() - exact).max() / np.abs(exact).max()


def exact_of(net, x):
    net.hybridize(False)
    return net(x).asnumpy()


@pytest.mark.parametrize("precision", REDUCED)
def test_by_network(precision):
    net, x = network(), mx.nd.array(uniform(5, 30))
    exact = exact_of(net, x)
    for name in (precision, "float32", "", precision):
        if name:
            net.hybridize(precision=name)
        else:
            net.hybridize()
        for _ in range(3):  # the third goes by a shortcut
            got = error(net, x, exact)
            assert (LEAST[precision] < got < EXPECTED[precision]) if name == precision else got < EXPECTED["float32"]


@pytest.mark.parametrize("precision", REDUCED)
def test_for_all(chosen, precision):
    net, own, x = network(), network(), mx.nd.array(uniform(5, 30))
    exact = exact_of(net, x)
    net.hybridize(static_alloc=True)
    own.hybridize(precision="float32")
    for name in ("float32", precision, "float32", precision):
        chosen(name)
        assert mx.precision() == name
        for _ in range(3):
            got = error(net, x, exact)
            assert (LEAST[precision] < got < EXPECTED[precision]) if name == precision else got < EXPECTED["float32"]
            assert error(own, x, exact) < EXPECTED["float32"]
    assert chosen("float32") == precision


def test_where_it_has_no_part(chosen):
    """Training, gradients, precise, programs that say nothing, and what is computed at once."""
    net, x = network(), mx.nd.array(uniform(5, 30))
    exact = exact_of(net, x)

    def step(train_mode):
        with autograd.record(train_mode=train_mode):
            y = net(x)
            total = (y * y).sum()
        total.backward()
        return [y.asnumpy(), *(p.grad().asnumpy() for p in net.collect_params().values())]

    net.hybridize()
    want = [step(mode) for mode in (True, False)]
    chosen("int8")
    for mode, before in zip((True, False), want):
        for a, b in zip(step(mode), before, strict=True):
            np.testing.assert_array_equal(a, b)
    assert LEAST["int8"] < error(net, x, exact) < EXPECTED["int8"]
    with autograd.train_mode():
        assert error(net, x, exact) < EXPECTED["float32"]
    net.hybridize(precise=True)
    assert error(net, x, exact) < EXPECTED["float32"]
    weight = mx.nd.array(uniform(40, 300))
    data = mx.nd.array(uniform(600, 300))
    np.testing.assert_allclose(
        mx.nd.FullyConnected(data, weight, no_bias=True, num_hidden=40).asnumpy(),
        data.asnumpy() @ weight.asnumpy().T,
        rtol=1e-4,
        atol=1e-4,
    )
    symbol = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=40, no_bias=True, name="fc")
    (got,) = Program(symbol.graph, {"fc_weight": weight.asnumpy()}).run({"data": data.asnumpy()})
    np.testing.assert_allclose(got, data.asnumpy() @ weight.asnumpy().T, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("precision", REDUCED)
def test_sizes_that_vary(precision):
    """Programs for other sizes share what is packed, whether few rows read it or many."""
    net = network()
    batches = (1, 3, 9, 2, 64, 4, 5, 1, 33)
    inputs = [mx.nd.array(uniform(b, 30)) for b in batches]
    exact = [exact_of(net, x) for x in inputs]
    net.hybridize(precision=precision)
    for _ in range(2):
        for x, want in zip(inputs, exact):
            assert LEAST[precision] < error(net, x, want) < EXPECTED[precision]


@pytest.mark.parametrize("precision", REDUCED)
def test_other_weights_are_packed_anew(precision):
    net, x = network(), mx.nd.array(uniform(5, 30))
    for scale in (1.0, 2.0, 0.5):
        for p in net.collect_params().values():
            p.set_data(mx.nd.array(scale * p.data().asnumpy()))
        exact = exact_of(net, x)
        net.hybridize(precision=precision)
        assert LEAST[precision] < error(net, x, exact) < EXPECTED[precision]
        for p in net.collect_params().values():
            p.set_data(mx.nd.array(3 * p.data().asnumpy()))
        got = net(x).asnumpy()
        assert np.abs(got - exact_of(net, x)).max() < EXPECTED[precision] * np.abs(got).max()


def test_executors(chosen):
    """They ask the setting too; what they run with gradients does not."""
    out = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=50, no_bias=True, name="fc")
    given = {"data": mx.nd.array(uniform(2, 64)), "fc_weight": mx.nd.array(uniform(50, 64))}
    exact = given["data"].asnumpy() @ given["fc_weight"].asnumpy().T
    for name in ("int8", "float32"):
        chosen(name)
        (got,) = out.bind(mx.cpu(), given).forward()
        worst = np.abs(got.asnumpy() - exact).max() / np.abs(exact).max()
        assert worst < EXPECTED[name] and (worst > LEAST["int8"]) == (name == "int8")
        grads = {"fc_weight": mx.nd.zeros((50, 64))}
        (got,) = out.bind(mx.cpu(), given, args_grad=grads).forward(is_train=True)
        assert np.abs(got.asnumpy() - exact).max() / np.abs(exact).max() < EXPECTED["float32"]


class Loop(mx.gluon.HybridBlock):
    """A product in the body of a loop, and one behind it."""

    def __init__(self):
        super().__init__()
        with self.name_scope():
            self.inside = nn.Dense(40, in_units=40, flatten=False)
            self.behind = nn.Dense(30, in_units=40, flatten=False)

    def hybrid_forward(self, F, xs, state):  # noqa: N803  MXNet's name
        out, _ = F.contrib.foreach(lambda x, s: (self.inside(x + s), self.inside(x + s)), xs, state)
        return self.behind(out)


def test_bodies_keep_their_weights():
    """The error is that of the product behind the loop alone, and all that is reduced is told."""
    net = Loop()
    net.initialize(mx.init.Normal(0.1))
    state = mx.nd.zeros((2, 40))
    for steps in (3, 3, 5):
        net.hybridize(precision="int8")
        told = net.precision_report(mx.nd.array(uniform(steps, 2, 40)), state)
        assert [r.shape for r in told.layers] == [(30, 40)]
        assert LEAST["int8"] < told.outputs[0].error < EXPECTED["int8"]
    for parameter in net.behind.collect_params().values():
        parameter.set_data(mx.nd.zeros(parameter.shape))
    assert net.precision_report(mx.nd.array(uniform(3, 2, 40)), state).outputs[0].error == 0


def test_half_precision_networks():
    net, x = network(), mx.nd.array(uniform(5, 30))
    exact = exact_of(net, x)
    net.cast("float16")
    net.hybridize(precision="int8")
    assert LEAST["int8"] < error(net, x.astype("float16"), exact) < EXPECTED["int8"]


def test_double_precision_networks_keep_their_weights():
    net = network()
    net.cast("float64")
    x = mx.nd.array(uniform(5, 30), dtype="float64")
    exact = exact_of(net, x)
    net.hybridize(precision="int8")
    assert error(net, x, exact) < 1e-13
    assert net.precision_report(x).layers == ()


def test_threads(chosen):
    """Settings that change while others run: each result is that of one precision or the other."""
    net, x = network(), mx.nd.array(uniform(5, 30))
    net.hybridize()
    want = {}
    for name in ("float32", "int8"):
        chosen(name)
        want[name] = net(x).asnumpy().tobytes()
    wrong = []

    def run():
        for _ in range(150):
            if net(x).asnumpy().tobytes() not in want.values():
                wrong.append(1)

    threads = [threading.Thread(target=run) for _ in range(3)]
    for t in threads:
        t.start()
    for i in range(40):
        chosen(("float32", "int8")[i % 2])
    for t in threads:
        t.join()
    assert not wrong


@pytest.mark.parametrize("precision", REDUCED)
def test_the_report(precision):
    net, x = network(), mx.nd.array(uniform(5, 30))
    exact = exact_of(net, x)
    net.hybridize(precision=precision)
    told = net.precision_report(x)
    assert told.precision == precision
    (output,) = told.outputs
    assert output.error == pytest.approx(error(net, x, exact), rel=1e-2)
    assert output.mean > 0
    weights = [p.data().asnumpy() for p in net.collect_params(".*weight").values()]
    assert [r.shape for r in told.layers] == [w.shape for w in weights]
    for row, w in zip(told.layers, weights):
        assert row.precision == precision
        assert row.error == loss(w.T, rounded(w.T, precision)) > 0
    assert f"{output.error:.2e}" in str(told) and all(f"{r.error:.2e}" in str(told) for r in told.layers)
    assert told.as_dict()["layers"][0]["shape"] == [90, 30]
    net.hybridize(precision="float32")
    told = net.precision_report(x)
    assert (told.outputs[0].error, told.layers) == (0.0, ())
    net.hybridize(False)
    with pytest.raises(RuntimeError, match="not hybridized"):
        net.precision_report(x)


def test_the_report_of_weights_that_are_computed():
    """Constants of a graph that follow from parameters are packed as well."""
    a, b = mx.sym.var("a"), mx.sym.var("b")
    product = mx.sym.dot(mx.sym.var("data"), mx.sym.transpose(a) * b)
    values = {"a": uniform(20, 30), "b": uniform(30, 20)}
    program = Program(product.graph, values, precision="int8")
    told = report(program, {"data": uniform(2, 30)}, ["y"], "int8")
    (row,) = told.layers
    weights = values["a"].T * values["b"]
    assert sorted(row.shape) == [20, 30] and row.error == pytest.approx(
        loss(weights, rounded(weights, "int8")), rel=1e-5
    )
    assert LEAST["int8"] < told.outputs[0].error < EXPECTED["int8"]


def test_names():
    wrongs: tuple[Any, ...] = ("int4", "", None, 8)
    for wrong in wrongs:
        with pytest.raises(ValueError, match=r"set_precision: got .*, wanted one of float32, bfloat16, int8"):
            mx.set_precision(wrong)
    assert mx.precision() == "float32"
    with pytest.raises(ValueError, match=r"hybridize.*got 'fp8', wanted one of float32"):
        network().hybridize(precision="fp8")
    with pytest.raises(ValueError, match="got precise=True with precision='int8'"):
        network().hybridize(precise=True, precision="int8")
    network().hybridize(precise=True, precision="float32")
    with pytest.raises(ValueError, match="got 'half'"):
        Program(mx.sym.var("x").graph, precision="half")
    with pytest.raises(ValueError, match="got 'half'"):
        CachedOp(mx.sym.exp(mx.sym.var("x")), {"precision": "half"}.items()).program(False)
