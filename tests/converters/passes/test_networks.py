"""Every network as it is written, beside itself with nothing folded: the same numbers in onnxruntime, inputs and outputs."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

import bridge
import converters
from converters.error import UnsupportedModel
from converters.forms import USUAL, Forms
from tests.models.networks import Network, networks
from tests.table.goldens import run_onnx

UNITS = 8  # epsilons of an output's scale that the folded weights may move it
LAYERS = ("Conv", "ConvTranspose", "Gemm")


@pytest.mark.slow
@pytest.mark.parametrize("opset", [11, 17])
@pytest.mark.parametrize("network", [pytest.param(n, id=n.name) for n in networks()])
def test_clean_graphs_give_what_kept_ones_give(network: Network, opset: int) -> None:
    model = bridge.open_model(network.prefix)
    inputs, _ = network.runs()[0]
    try:
        kept = converters.to_onnx(model.graph, model.params, inputs, opset, forms=Forms(keep_graph=True))
    except UnsupportedModel:
        if opset >= 17:
            raise
        return  # opset 11 lacks something that it needs
    clean = converters.to_onnx(model.graph, model.params, inputs, opset, forms=USUAL)
    assert len(clean.graph.node) <= len(kept.graph.node)
    for mine, theirs in ((clean.graph.input, kept.graph.input), (clean.graph.output, kept.graph.output)):
        assert [(i.name, i.type) for i in mine] == [(i.name, i.type) for i in theirs]
    folded = _count(clean, "BatchNormalization") < _count(kept, "BatchNormalization")
    for got, want in zip(run_onnx(clean, inputs), run_onnx(kept, inputs), strict=True):
        if folded and want.dtype == np.float32 and want.size:
            scale = max(float(np.abs(want[np.isfinite(want)]).max(initial=0)), 1e-30)
            np.testing.assert_allclose(got, want, rtol=0, atol=UNITS * np.finfo(np.float32).eps * scale)
        else:
            np.testing.assert_array_equal(got, want)
    assert not list(_norms_behind_layers(clean))


def _count(model: onnx.ModelProto, operator: str) -> int:
    return sum(n.op_type == operator for n in model.graph.node)


def _norms_behind_layers(model: onnx.ModelProto):
    """Normalizations that a layer's weights could hold."""
    makers = {o: n for n in model.graph.node for o in n.output}
    reads = [n for node in model.graph.node for n in node.input] + [o.name for o in model.graph.output]
    floats = {i.name for i in model.graph.initializer if i.data_type == onnx.TensorProto.FLOAT}
    for node in model.graph.node:
        layer = makers.get(node.input[0]) if node.op_type == "BatchNormalization" else None
        if layer is None or layer.op_type not in LAYERS or reads.count(node.input[0]) > 1:
            continue
        if layer.input[1] in floats and reads.count(layer.input[1]) == 1:
            yield node
