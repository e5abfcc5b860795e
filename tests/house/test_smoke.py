"""A few conversions of every kind: what .ci/run repeats on the oldest and newest Pythons and dependencies."""

import numpy as np
import pytest

import bridge
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


def test_params_survive(tmp_path) -> None:
    """Files written here are read again bit for bit, by whatever NumPy this is."""
    import hybrid.params

    arrays = {"arg:x": np.arange(6, dtype=np.float32).reshape(2, 3), "aux:y": np.ones((), np.int64)}
    hybrid.params.save(str(tmp_path / "x.params"), arrays)
    loaded = hybrid.params.load(str(tmp_path / "x.params"))
    assert set(loaded) == set(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(np.asarray(loaded[name]), array)
