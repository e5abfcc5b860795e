"""Networks that round to whole numbers inside are held against onnxruntime node by node."""

from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest

import bridge
from bridge.engines import NativeEngine, OnnxEngine, opened_natively
from bridge.result import Case
from bridge.stepwise import node_by_node, rounds
from hybrid.core.op import OPS
from tests.models.onnx_networks import FOLDER, OnnxNetwork

NETWORK = OnnxNetwork("ort_qdq_int16_cnn", FOLDER / "ort_qdq_int16_cnn")


def compared() -> dict[str, bool]:
    """Tensors of the network, and whether they are the same from the same inputs."""
    ours, theirs = opened_natively(bridge.open_model(NETWORK.model)), bridge.open_model(NETWORK.model)
    case = Case(NETWORK.runs()[0][0])
    return {
        n: d.equal for n, d in node_by_node(NativeEngine(ours), OnnxEngine(theirs, plain=True), case).compared.items()
    }


def test_every_node_is_compared() -> None:
    found = compared()
    made = {o for n in onnx.load(NETWORK.model).graph.node for o in n.output}
    assert all(found.values())
    assert len(found) > 0.8 * len(made)


def test_only_the_wrong_node_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    right = OPS["_onnx_QuantizeLinear"].compute
    monkeypatch.setattr(OPS["_onnx_QuantizeLinear"], "compute", lambda op, *a, **k: right(op, *a, **k) + np.uint16(1))
    graph = onnx.load(NETWORK.model).graph
    wrong = {n.output[0] for n in graph.node if n.op_type == "QuantizeLinear"}
    assert {n for n, equal in compared().items() if not equal} == wrong


def test_the_import_says_what_was_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    feeds = NETWORK.runs()[1][0]
    found = bridge.import_onnx(NETWORK.model, inputs=feeds)
    assert found.verified
    assert found.verification is not None
    assert found.verification.inner > 50  # nodes that were given the same values on both sides
    right = OPS["_onnx_QuantizeLinear"].compute
    monkeypatch.setattr(OPS["_onnx_QuantizeLinear"], "compute", lambda op, *a, **k: right(op, *a, **k) + np.uint16(1))
    with pytest.raises(bridge.NotEquivalent):
        bridge.import_onnx(NETWORK.model, inputs=feeds)


def test_other_networks_are_compared_as_a_whole(tmp_path: Path) -> None:
    text = '<ir_version: 8, opset_import: ["": 17]> net (float[2] x) => (float[2] y) { y = Round (x) }'
    assert not rounds(onnx.parser.parse_model(text))
    assert rounds(onnx.load(NETWORK.model, load_external_data=False))


def test_what_onnxruntime_fuses_is_told_from_what_differs(tmp_path: Path) -> None:
    feeds = NETWORK.runs()[0][0]
    bridge.import_onnx(NETWORK.model, output=tmp_path / "out", inputs=feeds)
    converted = bridge.convert(tmp_path / "out", inputs=feeds, output=tmp_path / "back.onnx")
    assert converted.verified
    assert bridge.verify(tmp_path / "out", tmp_path / "back.onnx", inputs=feeds).equivalent
    broken = onnx.load(tmp_path / "back.onnx")
    scale = next(n.input[1] for n in broken.graph.node if n.op_type == "DequantizeLinear")
    stored = next(i for i in broken.graph.initializer if i.name == scale)
    stored.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(stored) * np.float32(1.5), scale))
    onnx.save(broken, tmp_path / "broken.onnx")
    assert not bridge.verify(tmp_path / "out", tmp_path / "broken.onnx", inputs=feeds).equivalent
