"""Whole networks: our engine and the converted model against the numbers that real MXNet gave, at two sizes."""

import onnx
import pytest

import bridge
import converters
from tests import shares
from tests.models.networks import Network, agree, networks

every = pytest.mark.parametrize("network", [pytest.param(n, id=n.name) for n in networks()])


@every
def test_native_engine_gives_what_mxnet_gave(network: Network) -> None:
    for inputs, outputs in network.runs():
        agree(bridge.run(network.prefix, inputs), outputs, network.limit)


@every
def test_converted_model_gives_what_mxnet_gave(network: Network, tmp_path) -> None:
    runs = network.runs()
    target = tmp_path / "model.onnx"
    result = bridge.convert(
        network.prefix, inputs=runs[0][0], output=target, dynamic=network.dynamic(), also=[i for i, _ in runs[1:]]
    )
    assert result.verification is not None and result.verification.equivalent
    assert len(result.verification.runs) == len(runs)
    for inputs, outputs in runs:
        agree(bridge.run(target, {k: v for k, v in inputs.items() if k in result.inputs}), outputs, network.limit)


@every
@pytest.mark.models
def test_every_opset_gives_what_mxnet_gave(network: Network) -> None:
    """Each network at one of the opsets, or at all with --all-cases."""
    inputs, outputs = network.runs()[0]
    model = bridge.open_model(network.prefix)
    for opset in shares.one((13, 15, 17, 18, 20), network.name):
        proto = bridge_to_onnx(model, inputs, opset)
        onnx.checker.check_model(proto, full_check=True)
        wanted = {i.name for i in proto.graph.input}
        agree(bridge.run(proto, {k: v for k, v in inputs.items() if k in wanted}), outputs, network.limit)


def bridge_to_onnx(model: bridge.Model, inputs, opset: int) -> onnx.ModelProto:
    return converters.to_onnx(model.graph, model.params, inputs, opset)


def test_initializers_are_never_inputs(tmp_path) -> None:
    network = networks()[0]
    proto = bridge_to_onnx(bridge.open_model(network.prefix), network.runs()[0][0], 17)
    assert not {i.name for i in proto.graph.input} & {i.name for i in proto.graph.initializer}
