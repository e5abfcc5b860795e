"""A few conversions and trainings of every kind: what .ci/run repeats on the oldest and newest Pythons and dependencies."""

import multiprocessing

import numpy as np
import pytest
from typer.testing import CliRunner

import bridge
import hybrid as mx
from bridge.cli import COMMANDS, app, command
from hybrid import autograd, gluon, nd
from tests.models.networks import Network, agree, networks

pytestmark = pytest.mark.smoke

NAMES = (
    "arcface",
    "ssd",
    "resnet_v2",
    "transformer_encoder",
    "lstm_states",
    "float16_resnet",
    "float64_resnet",
    "lenet",
)
CHOSEN = [pytest.param(n, id=n.name) for n in networks() if n.name in NAMES]


def test_all_are_there() -> None:
    assert len(CHOSEN) == len(NAMES)


@pytest.mark.parametrize("network", CHOSEN)
def test_converts_and_agrees(network: Network, tmp_path) -> None:
    target = tmp_path / "model.onnx"
    runs = network.runs()
    result = bridge.convert(network.prefix, inputs=runs[0][0], output=target, dynamic=network.dynamic())
    assert result.verification is not None and result.verification.equivalent
    for inputs, outputs in runs:
        used = {k: v for k, v in inputs.items() if k in result.inputs}
        agree(bridge.run(network.prefix, inputs), outputs, network.limit)
        agree(bridge.run(target, used), outputs, network.limit)


SHORT = {"convert": ("-o", "-v"), **dict.fromkeys(("import", "reduce", "record", "run", "compile"), ("-o",))}
"""Short options of commands."""
PLACES = {
    "convert": ["symbol", "params"],
    "import": ["model"],
    "deploy": ["model", "place", "params"],
    "verify": ["a", "b"],
    "record": ["model", "params"],
    "check": ["where", "only"],
    "diff": ["a", "b"],
    "reduce": ["a", "b"],
    "matrix": ["models"],
    "targets": ["name"],
    "inspect": ["model", "params"],
    "run": ["model", "params"],
    "compile": ["model", "params"],
    "bench": ["models"],
    "explain": ["words"],
}
"""Arguments of commands, which stand on a command line without a name, in order."""


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_line_is_as_it_is_declared(name: str) -> None:
    """Whatever this Python makes of annotations, and this typer and click of what is declared by them."""
    found = command(name).params
    told = [p for p in found if p.name not in ("help", "install_completion", "show_completion")]
    assert [p.name for p in told if p.param_type_name == "argument"] == PLACES[name]
    short = {o for p in told for o in p.opts if p.param_type_name == "option" and not o.startswith("--")}
    assert short == {*SHORT.get(name, ())}
    assert [p.name for p in told if not p.help] == []
    for option in sorted(short - {"-v"}):  # they are taken, whatever is wrong with the rest
        said = CliRunner().invoke(app, [name, "nothing.onnx", *["nothing.onnx"] * (name == "reduce"), option, "x"])
        assert said.exit_code == 2 and "nothing.onnx: no such file" in said.output, said.output


def test_params_survive(tmp_path) -> None:
    """Files written here are read again bit for bit, by whatever NumPy this is."""
    import hybrid.formats.params

    arrays = {"arg:x": np.arange(6, dtype=np.float32).reshape(2, 3), "aux:y": np.ones((), np.int64)}
    hybrid.formats.params.save(str(tmp_path / "x.params"), arrays)
    loaded = hybrid.formats.params.load(str(tmp_path / "x.params"))
    assert set(loaded) == set(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(np.asarray(loaded[name]), array)


def lines(count: int) -> tuple[np.ndarray, np.ndarray]:
    """(count, 4) numbers, and which of the first three is the greatest."""
    data = np.random.default_rng(0).uniform(-1, 1, (count, 4)).astype(np.float32)
    return data, data[:, :3].argmax(1).astype(np.float32)


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_gluon_trains(hybrid: bool, optimizer: str) -> None:
    mx.random.seed(1)
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(16, activation="relu"), gluon.nn.BatchNorm(), gluon.nn.Dropout(0.1), gluon.nn.Dense(3))
    net.initialize(mx.init.Xavier())
    net.hybridize(active=hybrid)
    trainer = gluon.Trainer(net.collect_params(), optimizer, {"learning_rate": 0.1})
    entropy = gluon.loss.SoftmaxCrossEntropyLoss()
    x, y = map(nd.array, lines(60))
    losses = []
    for _ in range(20):
        with autograd.record():
            loss = entropy(net(x), y)
        loss.backward()
        trainer.step(60)
        losses.append(loss.mean().asscalar())
    assert losses[-1] < losses[0] / 2


def test_module_fits(tmp_path) -> None:
    mx.random.seed(1)
    hidden = mx.sym.Activation(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=16), act_type="relu")
    module = mx.mod.Module(mx.sym.SoftmaxOutput(mx.sym.FullyConnected(hidden, num_hidden=3), name="softmax"))
    batches = mx.io.NDArrayIter(*lines(90), batch_size=10)
    module.fit(batches, num_epoch=10, optimizer_params={"learning_rate": 0.5}, initializer=mx.init.Xavier())
    assert dict(module.score(batches, "acc"))["accuracy"] > 0.8
    prefix = str(tmp_path / "lines")
    module.save_checkpoint(prefix, 10)
    again = mx.mod.Module.load(prefix, 10)
    again.bind(batches.provide_data, batches.provide_label, for_training=False)
    np.testing.assert_array_equal(again.predict(batches).asnumpy(), module.predict(batches).asnumpy())


class Squares(gluon.data.Dataset):
    """Computes in the worker."""

    def __len__(self) -> int:
        return 12

    def __getitem__(self, idx: int) -> tuple[nd.NDArray, int]:
        return nd.dot(nd.ones((300, 300)), nd.ones((300, 300)))[0, :2] * idx, idx


@pytest.mark.parametrize(
    "method",
    [pytest.param(m, marks=[pytest.mark.slow] * (m != "fork")) for m in multiprocessing.get_all_start_methods()],
)
def test_workers_load_data(method: str) -> None:
    """However processes are started, while the engine of this one is at work."""
    before = multiprocessing.get_start_method()
    multiprocessing.set_start_method(method, force=True)
    try:
        busy = nd.dot(nd.ones((600, 600)), nd.ones((600, 600)))
        batches = list(gluon.data.DataLoader(Squares(), batch_size=3, num_workers=2))
    finally:
        multiprocessing.set_start_method(before, force=True)
    numbers = np.concatenate([y.asnumpy() for _, y in batches])
    np.testing.assert_array_equal(numbers, np.arange(12))
    np.testing.assert_array_equal(np.concatenate([x.asnumpy() for x, _ in batches])[:, 1], numbers * 300)
    assert busy[0, 0].asscalar() == 600


def test_gradients_of_gradients() -> None:
    x = nd.array([0.3, 0.7])
    x.attach_grad()
    with autograd.record():
        (slope,) = autograd.grad(nd.sin(x), x, create_graph=True)
        total = (slope * slope).sum()
    total.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), -np.sin(2 * x.asnumpy()), rtol=1e-5)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("size", [2, 600])
def test_nan_and_infinity_are_values(size: int) -> None:
    """At once and deferred, without NumPy's warnings, whichever way this NumPy keeps them quiet."""
    x = nd.zeros((size, size))
    assert np.isnan((x / x).asnumpy()).all()
    assert np.isinf(((x + 1e38) * 1e10).asnumpy()).all()
    assert np.isnan(nd.log(x - 1).asnumpy()).all()
    nd.Cast(x / x, dtype="int32").wait_to_read()


def test_deferred_work_keeps_its_order() -> None:
    x = nd.ones((600, 600))
    y = nd.dot(x, x)
    kept, view = y.copy(), y[:2]
    y += 1
    assert view.asnumpy().min() == 601
    y[:] = 0
    assert view.asnumpy().max() == 0 and kept.asnumpy().min() == 600
