"""Networks of fixtures/onnx as blocks: what they compute, their gradients, what training does to them, and that they export."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import bridge
import hybrid as mx
from bridge.compare import compare
from tests.models.onnx_networks import FOLDER, OnnxNetwork

TRAINED = (
    "hand_control_flow",
    "hand_functions",
    "hand_opset7",
    "hand_recurrent",
    "keras_attention",
    "keras_cnn",
    "keras_lstm",
    "mx131_cnn",
    "mx151_deconvolution",
    "mx151_norms",
    "mx191_cnn",
    "tf_loop",
    "torch_attention_dynamo",
    "torch_cnn_dynamo",
    "torch_cnn_legacy",
    "torch_decoder_cache",
    "torch_encoder_dynamo",
    "torch_encoder_legacy",
    "torch_lstm_lengths",
    "torch_unet",
)
"""Networks of float32 with parameters to train, whose loops and branches included are differentiable."""
every = pytest.mark.parametrize("network", [pytest.param(OnnxNetwork(n, FOLDER / n), id=n) for n in TRAINED])


class Trainee:
    """A network as a block, with one set of recorded inputs and a loss: the mean of its outputs, each number weighted at random."""

    def __init__(self, network: OnnxNetwork, run: int = 0):
        self.block = mx.contrib.onnx.import_to_gluon(str(network.model), ctx=mx.cpu())
        for name, parameter in self.block.collect_params().items():
            if network.name == "tf_loop" and name == "const_fold_opt__66":
                parameter.grad_req = "write"  # what OneHot puts there: held, unless one says otherwise
        feeds, self.want = network.runs()[run]
        self.names = list(feeds)
        self.inputs = [mx.nd.array(v, dtype=v.dtype) for v in feeds.values()]
        self.rng = np.random.default_rng(7)
        self.weights = [self.rng.standard_normal(v.shape).astype(np.float32) for v in self.want.values()]

    def outputs(self) -> list[mx.nd.NDArray]:
        out = self.block(*self.inputs)
        return list(out) if isinstance(out, list | tuple) else [out]

    def loss(self) -> mx.nd.NDArray:
        parts = [
            (o * mx.nd.array(w)).mean()
            for o, w in zip(self.outputs(), self.weights, strict=True)
            if o.dtype == np.float32
        ]
        return mx.nd.add_n(*parts)

    def exactly(self) -> float:
        """The loss, summed in float64."""
        pairs = zip(self.outputs(), self.weights, strict=True)
        return sum(float((o.asnumpy().astype(np.float64) * w).mean()) for o, w in pairs if o.dtype == np.float32)

    def parameters(self) -> dict[str, Any]:
        """Those of the block that training changes."""
        found = self.block.collect_params().items()
        return {k: p for k, p in found if np.dtype(p.dtype) == np.float32 and p.lr_mult and p.grad_req != "null"}


@every
@pytest.mark.parametrize("hybridize", [False, True], ids=["as it is", "hybridized"])
def test_both_ways_of_calling_give_the_recorded_numbers(network: OnnxNetwork, hybridize: bool) -> None:
    for run in (0, 1):
        net = Trainee(network, run)
        if hybridize:
            net.block.hybridize(static_alloc=True)
        for _ in range(2):
            for got, (name, want) in zip(net.outputs(), net.want.items(), strict=True):
                difference = compare(name, got.asnumpy(), want)
                assert difference.equal, f"{name}: {difference.reason}"


@every
def test_gradients_are_those_of_finite_differences(network: OnnxNetwork) -> None:
    net = Trainee(network)
    with mx.autograd.record(train_mode=False):
        loss = net.loss()
    loss.backward()
    parameters, here = net.parameters(), net.exactly()
    assert parameters
    for name, parameter in parameters.items():
        gradient = parameter.grad().asnumpy().astype(np.float64)
        assert np.isfinite(gradient).all(), name
        value = parameter.data().asnumpy()
        # a direction that the gradient has a good part in: the rounding of the loss shows less
        direction = net.rng.standard_normal(value.shape)
        direction = 0.3 * direction / np.linalg.norm(direction) + gradient / max(float(np.linalg.norm(gradient)), 1e-30)
        want, tried = float((gradient * direction).sum()), []
        for step in (1e-2, 1e-3, 3e-4):
            size = step * max(1.0, float(np.linalg.norm(value)))
            sides = []
            for sign in (1, -1):
                parameter.set_data(mx.nd.array(value + sign * size * direction, dtype=value.dtype))
                sides.append(net.exactly())
            # beside a kink (relu, the place of a maximum) the slope of one side is right
            tried += [(sides[0] - sides[1]) / 2 / size, (sides[0] - here) / size, (here - sides[1]) / size]
        parameter.set_data(mx.nd.array(value, dtype=value.dtype))
        assert min(abs(t - want) for t in tried) <= 0.02 * abs(want) + 1e-5, (name, want, tried)


@pytest.mark.usefixtures("by_numpy")  # what was saved computes the same to the last digit
@every
def test_training_lowers_the_loss_and_leaves_the_structure_alone(network: OnnxNetwork, tmp_path: Path) -> None:
    net = Trainee(network)
    fixed = {k: p.data().asnumpy() for k, p in net.block.collect_params().items() if not p.lr_mult}
    before = {k: p.data().asnumpy() for k, p in net.parameters().items()}
    target = [v + 0.3 * w for v, w in zip(net.want.values(), net.weights)]
    trainer = mx.gluon.Trainer(net.block.collect_params(), "adam", {"learning_rate": 2e-3})
    losses = []
    for _ in range(6):
        with mx.autograd.record(train_mode=False):
            parts = [((o - mx.nd.array(t)) ** 2).mean() for o, t in zip(net.outputs(), target) if o.dtype == np.float32]
            loss = mx.nd.add_n(*parts)
        loss.backward()
        trainer.step(1, ignore_stale_grad=True)
        losses.append(float(loss.asscalar()))
    assert losses[-1] < losses[0]
    assert any((p.data().asnumpy() != before[k]).any() for k, p in net.parameters().items())
    for name, value in fixed.items():
        np.testing.assert_array_equal(net.block.collect_params()[name].data().asnumpy(), value)

    net.block.export(str(tmp_path / "tuned"))
    want = [o.asnumpy() for o in net.outputs()]
    again = mx.gluon.SymbolBlock.imports(
        str(tmp_path / "tuned-symbol.json"), net.names, str(tmp_path / "tuned-0000.params")
    )
    got = again(*net.inputs)
    for a, b in zip(got if isinstance(got, list | tuple) else [got], want, strict=True):
        np.testing.assert_array_equal(a.asnumpy(), b)
    feeds = dict(zip(net.names, (x.asnumpy() for x in net.inputs)))
    used = bridge.inspect(tmp_path / "tuned").inputs
    for a, b in zip(
        bridge.run(tmp_path / "tuned", {k: v for k, v in feeds.items() if k in used}).values(), want, strict=True
    ):
        np.testing.assert_array_equal(a, b)


def test_a_tuned_block_becomes_onnx_again(tmp_path: Path) -> None:
    net = Trainee(OnnxNetwork("torch_cnn_legacy", FOLDER / "torch_cnn_legacy"))
    for parameter in net.parameters().values():
        parameter.set_data(parameter.data() * 1.01)
    net.block(*net.inputs)
    net.block.export(str(tmp_path / "tuned"))
    feeds = OnnxNetwork("torch_cnn_legacy", FOLDER / "torch_cnn_legacy").runs()[0][0]
    result = bridge.convert(tmp_path / "tuned", inputs=feeds, output=tmp_path / "tuned.onnx")
    assert result.verified
    got = bridge.run(tmp_path / "tuned.onnx", feeds)
    for a, b in zip(got.values(), net.outputs(), strict=True):
        assert compare("output", a, b.asnumpy()).equal


def test_constants_stay_as_they_are_when_all_is_freed() -> None:
    """As gluon.Constant: a request for gradients is passed over with a warning; running means take none either."""
    model = """<ir_version: 8, opset_import: ["" : 17]> g (float[n, 3, 2, 2] x) => (float[n, 3, 2, 2] y)
    <float[3] scale = {1, 1, 1}, float[3] shift = {0, 0, 0}, float[3] mean = {1, 2, 3}, float[3] var = {1, 1, 1}>
    {
        half = Constant <value = float[1, 3, 1, 1] {0.5, 0.25, 2}> ()
        z = Mul (x, half)
        y = BatchNormalization (z, scale, shift, mean, var)
    }"""
    net = mx.contrib.onnx.import_to_gluon(onnx.parser.parse_model(model))
    parameters = net.collect_params()
    with pytest.warns(UserWarning, match='"half" does not support grad_req other than "null"') as told:
        parameters.setattr("grad_req", "write")
    assert len(told) == 1
    trained = {"scale", "shift"}
    assert {n for n, p in parameters.items() if p.grad_req != "null"} == trained
    before = {n: p.data().asnumpy() for n, p in parameters.items()}
    trainer = mx.gluon.Trainer(parameters, "sgd", {"learning_rate": 0.1, "wd": 0.5})
    with mx.autograd.record(train_mode=False):
        loss = (net(mx.nd.random.uniform(shape=(2, 3, 2, 2))) ** 2).mean()
    loss.backward()
    trainer.step(1)
    assert {n for n, p in parameters.items() if (p.data().asnumpy() != before[n]).any()} == trained
