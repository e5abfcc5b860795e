"""Networks of mx.np: trained, exported, imported again and converted, a loop among them."""

# ruff: noqa: N803
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bridge
import hybrid as mx
from hybrid import autograd, gluon
from hybrid.gluon import nn


@pytest.fixture(autouse=True)
def mode() -> Iterator[None]:
    mx.npx.random.seed(1)
    with mx.np_shape(True), mx.np_array(True):
        yield


class Encoder(gluon.HybridBlock):
    """Attention over positions, and products of all pairs."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Dense(8, flatten=False) for _ in range(3))
        self.norm, self.out = nn.LayerNorm(), nn.Dense(3)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        scores = F.npx.batch_dot(self.query(x), self.key(x), transpose_b=True) / 8**0.5
        mixed = F.np.einsum("bts,bsd->btd", F.npx.softmax(scores, axis=-1), self.value(x))
        net = self.norm(mixed + F.np.mean(mixed, axis=-1, keepdims=True))
        pairs = F.np.matmul(net, F.np.swapaxes(net, 1, 2))
        return F.npx.log_softmax(self.out(F.np.concatenate([net, pairs], axis=-1)), axis=-1)


class Loop(gluon.HybridBlock):
    """A recurrent layer, written as a loop."""

    def __init__(self) -> None:
        super().__init__()
        self.dense = nn.Dense(4, flatten=False)

    def hybrid_forward(self, F: Any, x: Any, state: Any) -> Any:
        def step(row: Any, before: Any) -> Any:
            after = F.np.tanh(self.dense(F.np.concatenate([row, before], axis=1)))
            return after * 2, after

        out, last = F.contrib.foreach(step, x, state)
        return F.np.exp(-out), last


def test_a_trained_network_goes_out_and_comes_back(tmp_path: Path) -> None:
    net = Encoder()
    net.initialize()
    net.hybridize()
    x, classes = mx.np.random.normal(size=(2, 4, 6)), mx.np.array([0, 2])
    trainer, losses = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.005}), []
    for _ in range(8):
        with autograd.record():
            loss = -mx.np.mean(mx.npx.pick(net(x), classes))
        loss.backward()
        trainer.step(1)
        losses.append(float(loss))
    assert losses[-1] < losses[0]
    net.export(str(tmp_path / "net"))
    wanted = net(x).asnumpy()
    again = gluon.SymbolBlock.imports(str(tmp_path / "net-symbol.json"), ["data"], str(tmp_path / "net-0000.params"))
    assert type(again(x)) is mx.np.ndarray and np.array_equal(again(x).asnumpy(), wanted)
    result = bridge.convert(tmp_path / "net", inputs={"data": x.asnumpy()}, output=tmp_path / "net.onnx")
    assert result.verification is not None and result.verification.equivalent
    (there,) = bridge.run(tmp_path / "net.onnx", {"data": x.asnumpy()}).values()
    np.testing.assert_allclose(there, wanted, rtol=1e-5, atol=1e-6)


def test_a_loop_is_converted(tmp_path: Path) -> None:
    net = Loop()
    net.initialize(mx.init.Xavier())
    net.hybridize()
    feeds = {"data0": mx.np.random.normal(size=(5, 2, 3)), "data1": mx.np.zeros((2, 4))}
    wanted = [y.asnumpy() for y in net(*feeds.values())]
    net.export(str(tmp_path / "loop"))
    inputs = {name: value.asnumpy() for name, value in feeds.items()}
    result = bridge.convert(tmp_path / "loop", inputs=inputs, output=tmp_path / "loop.onnx")
    assert result.verification is not None and result.verification.equivalent
    for there, ours in zip(bridge.run(tmp_path / "loop.onnx", inputs).values(), wanted, strict=True):
        np.testing.assert_allclose(there, ours, rtol=1e-5, atol=1e-6)
