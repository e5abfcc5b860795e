"""Modules and executors of what is declared row_sparse: arrays and gradients of few rows, and updates of these alone.

The numbers are those of MXNet 1.9.1 for the same data."""

from pathlib import Path

import numpy as np
import pytest

import hybrid as mx
from hybrid import sym

ROWS, WIDTH = 40, 4


def var(name: str, stype: str | None = None, **settings: object) -> mx.Symbol:
    return sym.var(name, stype=stype, **settings)


def looked_up(weight: mx.Symbol, name: str = "i", sparse_grad: bool = True) -> mx.Symbol:
    return sym.Embedding(var(name), weight, input_dim=5, output_dim=2, sparse_grad=sparse_grad)


@pytest.mark.parametrize(
    "made, shapes, want",
    [
        (lambda c, r: sym.dot(c, var("d")), {"c": (3, 5), "d": (5, 2)}, {"d": "row_sparse"}),
        (lambda c, r: sym.dot(c, r), {"c": (3, 5), "r": (5, 2)}, {"r": "row_sparse"}),
        (lambda c, r: sym.dot(c, r, transpose_a=True), {"c": (5, 3), "r": (5, 2)}, {}),
        (lambda c, r: sym.dot(c, r, transpose_b=True), {"c": (3, 5), "r": (2, 5)}, {}),
        (lambda c, r: sym.dot(var("d"), r), {"d": (3, 5), "r": (5, 2)}, {}),
        (lambda c, r: sym.dot(sym.square(c), sym._square_sum(r, axis=1, keepdims=True))
         + sym.sum(sym.dot(c, r), axis=1, keepdims=True),
         {"c": (3, 5), "r": (5, 2)}, {"r": "row_sparse"}),
        (lambda c, r: looked_up(r), {"i": (3,)}, {"r": "row_sparse"}),
        (lambda c, r: looked_up(var("d")), {"i": (3,)}, {"d": "row_sparse"}),
        (lambda c, r: looked_up(r, sparse_grad=False), {"i": (3,)}, {}),
        (lambda c, r: looked_up(r) + looked_up(r, "j"), {"i": (3,), "j": (3,)}, {"r": "row_sparse"}),
        (lambda c, r: sym.sum(looked_up(r)) + sym.sum(r), {"i": (3,)}, {}),
        (lambda c, r: sym.relu(-r * 2), {"r": (5, 2)}, {"r": "row_sparse"}),
        (lambda c, r: sym.elemwise_mul(r, var("d")), {"r": (5, 2)}, {}),
    ],
)  # fmt: skip
def test_what_simple_bind_makes(made: object, shapes: dict[str, tuple[int, ...]], want: dict[str, str]) -> None:
    executor = made(var("c", "csr"), var("r", "row_sparse")).simple_bind(mx.cpu(), **shapes)
    gradients = {n: g.stype for n, g in executor.grad_dict.items() if g.stype != "default"}
    assert gradients == want
    kinds = {"r": "row_sparse", "c": "csr"}
    assert all(a.stype == kinds.get(n, "default") for n, a in executor.arg_dict.items())
    told = made(var("c"), var("r")).simple_bind(mx.cpu(), stype_dict={"c": "csr", "r": "row_sparse"}, **shapes)
    assert {n: g.stype for n, g in told.grad_dict.items() if g.stype != "default"} == want


def test_a_csr_argument_is_one_whatever_is_written_to_it() -> None:
    """As in MXNet, which reshapes none and makes csr arrays of three axes."""
    executor = sym.dot(var("c", "csr"), var("d")).simple_bind(mx.cpu(), c=(3, 4), d=(4, 2), grad_req="null")
    executor.arg_dict["d"][:] = 1
    dense = np.float32([[0, 2, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1]])
    for given in (mx.nd.array(dense).tostype("csr"), mx.nd.array(2 * dense)):
        (y,) = executor.forward(c=given)
        np.testing.assert_array_equal(y.asnumpy(), given.asnumpy() @ np.ones((4, 2)))
        assert executor.arg_dict["c"].stype == "csr"
        np.testing.assert_array_equal(executor.arg_dict["c"].asnumpy(), given.asnumpy())
    other = executor.reshape(c=(2, 4))
    assert (
        other.arg_dict["c"].stype == "csr" and other.forward(c=mx.nd.ones((2, 4)))[0].asnumpy().tolist() == [[4, 4]] * 2
    )
    assert sym.relu(var("c", "csr")).simple_bind(mx.cpu(), c=(2, 3, 4)).arg_dict["c"].stype == "default"


def test_gradients_have_the_rows_that_were_read() -> None:
    executor = looked_up(var("r", "row_sparse")).simple_bind(mx.cpu(), i=(3,), grad_req={"r": "write", "i": "null"})
    executor.arg_dict["r"][:] = mx.nd.arange(10).reshape((5, 2))
    for read, rows, values in (([1, 4, 1], [1, 4], [[2, 2], [1, 1]]), ([0, 0, 0], [0], [[3, 3]])):
        out = executor.forward(is_train=True, i=mx.nd.array(read))[0]
        assert out.asnumpy().tolist() == [[2 * i, 2 * i + 1] for i in read]
        executor.backward(mx.nd.ones((3, 2)))
        found = executor.grad_dict["r"]
        assert found.indices.asnumpy().tolist() == rows and found.data.asnumpy().tolist() == values


def machine() -> mx.Symbol:
    """A factorization machine."""
    x, v = var("data", "csr"), var("v", "row_sparse", shape=(ROWS, WIDTH))
    linear = sym.broadcast_add(sym.dot(x, var("w", "row_sparse", shape=(ROWS, 1))), var("b", shape=(1,)))
    own = sym.dot(sym.square(x), sym._square_sum(v, axis=1, keepdims=True))
    pairs = sym.sum(0.5 * sym.square(sym.dot(x, v)), axis=1, keepdims=True)
    terms = sym.sum(sym.concat(linear, pairs, sym.negative(0.5 * own), dim=1), axis=1, keepdims=True)
    return sym.LogisticRegressionOutput(terms, var("softmax_label"))


def data() -> tuple[np.ndarray, np.ndarray]:
    """Rows of which each half lacks some columns, and all of them six."""
    r = np.random.RandomState(0)
    x = (r.rand(120, ROWS) * (r.rand(120, ROWS) > 0.8)).astype("float32")
    x[:60, 20:] = x[60:, 5:25] = x[:, 39] = 0
    return x, (x.sum(1) > np.median(x.sum(1))).astype("float32")


def trained(
    optimizer: str, sparse: bool, contexts: object, epochs: int = 3
) -> tuple[mx.mod.Module, float, mx.io.DataIter]:
    x, y = data()
    batches = mx.io.NDArrayIter(mx.nd.sparse.csr_matrix(x) if sparse else x, y, 20, last_batch_handle="discard")
    module = mx.mod.Module(machine(), context=contexts)
    module.bind(batches.provide_data, batches.provide_label)
    r = np.random.RandomState(1)
    weights = {n: mx.nd.array(r.normal(0, 0.3, s)) for n, s in (("w", (ROWS, 1)), ("b", (1,)), ("v", (ROWS, WIDTH)))}
    module.init_params(arg_params=weights)
    extra = {"momentum": 0.9} if optimizer == "sgd" else {}
    module.init_optimizer(optimizer=optimizer, optimizer_params={"learning_rate": 0.1, **extra})
    metric = mx.metric.create("mse")
    for _ in range(epochs):
        batches.reset()
        for batch in batches:
            module.forward(batch, is_train=True)
            module.update_metric(metric, batch.label)
            module.backward()
            module.update()
    batches.reset()
    return module, metric.get()[1], batches


@pytest.mark.parametrize(
    "optimizer, loss, sums",
    [
        ("sgd", 0.2547, (9.517, 1.98)),
        ("nag", 0.26062, (7.926, -0.304)),
        ("adam", 0.18925, (55.271, 10.474)),
        ("adagrad", 0.20425, (37.229, 5.093)),
        ("ftrl", 0.2494, (1.304, 1.458)),
        ("rmsprop", 0.14626, (66.457, 4.519)),
        ("adadelta", 0.25482, (10.676, 0.734)),
    ],
)
def test_a_module_updates_the_rows_of_its_batches(optimizer: str, loss: float, sums: tuple[float, float]) -> None:
    for sparse in (True, False):
        module, found, _ = trained(optimizer, sparse, mx.cpu())
        np.testing.assert_allclose(found, loss, atol=1e-4)
        weights, _ = module.get_params()
        assert {n: w.stype for n, w in weights.items()} == {"v": "row_sparse", "w": "row_sparse", "b": "default"}
        np.testing.assert_allclose([weights[n].asnumpy().sum() for n in "vw"], sums, rtol=1e-3, atol=2e-3)


def test_a_row_that_no_batch_reads_stays() -> None:
    x, _ = data()
    before = trained("adam", True, mx.cpu(), epochs=0)[0].get_params()[0]
    after = trained("adam", True, mx.cpu(), epochs=1)[0].get_params()[0]
    unread = ~x.any(0)
    assert unread.sum() == 6
    for name in "vw":
        np.testing.assert_array_equal(before[name].asnumpy()[unread], after[name].asnumpy()[unread])


def test_files(tmp_path: Path) -> None:
    module, _, batches = trained("adam", True, mx.cpu())
    want = module.predict(batches).asnumpy()
    module.save_checkpoint(str(tmp_path / "m"), 1, save_optimizer_states=True)
    stored = mx.nd.load(str(tmp_path / "m-0001.params"))
    assert {n: a.stype for n, a in stored.items()} == {"arg:v": "row_sparse", "arg:w": "row_sparse", "arg:b": "default"}
    again = mx.mod.Module.load(str(tmp_path / "m"), 1, load_optimizer_states=True)
    again.bind(batches.provide_data, batches.provide_label)
    again.init_optimizer(optimizer="adam", optimizer_params={"learning_rate": 0.1})
    np.testing.assert_array_equal(again.predict(batches).asnumpy(), want)
    other = mx.mod.Module(machine(), context=mx.cpu())
    other.bind(batches.provide_data, batches.provide_label, for_training=False, shared_module=module)
    np.testing.assert_array_equal(other.predict(batches).asnumpy(), want)


def test_initializers_fill_what_has_rows() -> None:
    net = looked_up(var("r", "row_sparse", init=mx.init.Constant(3)))
    module = mx.mod.Module(net, data_names=["i"], label_names=None)
    module.bind([("i", (3,))])
    module.init_params()
    assert module.get_params()[0]["r"].stype == "row_sparse"
    assert module.get_params()[0]["r"].asnumpy().tolist() == [[3, 3]] * 5
    module.forward(mx.io.DataBatch([mx.nd.array([0, 1, 4])]), is_train=False)
    assert module.get_outputs()[0].asnumpy().tolist() == [[3, 3]] * 3


class Rows(mx.io.DataIter):
    """Four batches of four rows, of twelve columns each of which reads two."""

    r = np.random.RandomState(0)
    x = np.zeros((16, 12), "float32")
    for row in x:
        row[r.choice(12, 2, replace=False)] = r.uniform(0.5, 1, 2)
    y = r.randint(0, 3, 16).astype("float32")
    start = r.uniform(-1, 1, (12, 3)).astype("float32")
    provide_data = (mx.io.DataDesc("data", (4, 12)),)
    provide_label = (mx.io.DataDesc("softmax_label", (4,)),)

    def __init__(self):
        super().__init__(4)
        self.at = 0

    def reset(self) -> None:
        self.at = 0

    def next(self) -> mx.io.DataBatch:
        if self.at == 16:
            raise StopIteration
        part = slice(self.at, self.at + 4)
        self.at += 4
        return mx.io.DataBatch([mx.nd.sparse.csr_matrix(self.x[part])], [mx.nd.array(self.y[part])], pad=0)


def by_a_store(contexts: object, optimizer: str, read: object) -> tuple[mx.mod.Module, float]:
    """A classifier whose weights a store updates; read: gives the rows that a batch reads."""
    product = sym.dot(var("data", "csr"), var("w", "row_sparse", shape=(12, 3)))
    net = sym.SoftmaxOutput(sym.broadcast_add(product, var("b", shape=(3,))), name="softmax")
    module, batches = mx.mod.Module(net, context=contexts), Rows()
    module.bind(batches.provide_data, batches.provide_label)
    module.init_params(arg_params={"w": mx.nd.array(Rows.start).tostype("row_sparse"), "b": mx.nd.zeros(3)})
    settings = {"learning_rate": 0.3, "rescale_grad": 0.25, **({"momentum": 0.9} if optimizer == "sgd" else {})}
    module.init_optimizer(mx.kv.create("local"), optimizer, settings)
    for _ in range(2):
        batches.reset()
        for batch in batches:
            module.prepare(batch, read)
            module.forward_backward(batch)
            module.update()
    return module, module.score(batches, "ce", sparse_row_id_fn=read)[0][1]


def summed(array: mx.nd.NDArray) -> list[float]:
    values = array.asnumpy().ravel()
    return [abs(values).sum(), (values * np.cos(np.arange(len(values)))).sum()]


@pytest.mark.filterwarnings("ignore:pull leaves out w")
@pytest.mark.parametrize("contexts", [mx.cpu(), [mx.cpu(0), mx.cpu(1)]])
@pytest.mark.parametrize(
    "optimizer, prepared, loss, sums",
    [
        ("sgd", True, 0.99267, (18.19511, 2.8513)),
        ("adam", True, 0.69538, (22.65215, 1.54938)),
        ("sgd", False, 1.26377, (18.36394, 2.86171)),
    ],
)
def test_a_store_has_the_weights_and_prepare_fetches_rows(
    contexts: object, optimizer: str, prepared: bool, loss: float, sums: tuple[float, float], tmp_path: Path
) -> None:
    """Without prepare the contexts go on with the weights that they had, in MXNet too."""
    read = (lambda batch: {"w": batch.data[0].indices}) if prepared else None
    module, found = by_a_store(contexts, optimizer, read)
    np.testing.assert_allclose(found, loss, atol=1e-4)
    weight = module.get_params()[0]["w"]
    assert weight.stype == "row_sparse"
    np.testing.assert_allclose(summed(weight), sums, rtol=1e-4)
    module.save_checkpoint(str(tmp_path / "m"), 1)
    np.testing.assert_allclose(summed(mx.nd.load(str(tmp_path / "m-0001.params"))["arg:w"]), sums, rtol=1e-4)
    held = module._exec_group.param_arrays[module._exec_group.param_names.index("w")]
    rows = {len(array.tostype("row_sparse").indices) for array in held}
    assert rows == {7 if prepared else 12}  # those of the last batch, or all


def test_what_prepare_says() -> None:
    with pytest.warns(UserWarning, match="pull leaves out w, which is row_sparse"):
        module, _ = by_a_store(mx.cpu(), "sgd", None)
    with pytest.warns(UserWarning, match="b.stype is not 'row_sparse'"):
        module.prepare(Rows().next(), lambda batch: {"b": mx.nd.array([0])})
    with pytest.raises(AssertionError, match="Expected dict"):
        module.prepare(Rows().next(), lambda batch: [mx.nd.array([0])])
