"""gluonnx import held against recorded outputs, and against exact products where onnxruntime's saturate."""

from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx.reference import ReferenceEvaluator
from typer.testing import CliRunner

import bridge
from bridge import unsigned
from bridge.cli import app
from bridge.unsigned import with_unsigned_weights

NET = """<ir_version: 8, opset_import: ["": 17]>
net (float[n, 4] x) => (float[n, 2] y) <float[4, 2] w = {1, 2, 3, 4, 5, 6, 7, 8}> { h = MatMul (x, w)  y = Relu (h) }"""
X = np.array([[1, -2, 0.5, 3], [-4, 1, 2, 0]], np.float32)


@pytest.fixture
def net(tmp_path: Path) -> Path:
    path = tmp_path / "net.onnx"
    onnx.save(onnx.parser.parse_model(NET), path)
    return path


@pytest.fixture
def recorded(net: Path, tmp_path: Path) -> Path:
    bridge.record(net, {"x": X}, tmp_path / "out.npz")
    return tmp_path / "out.npz"


def test_recorded_outputs_are_held_against_both(net: Path, recorded: Path, tmp_path: Path) -> None:
    found = bridge.import_onnx(net, output=tmp_path / "net_as", expected=recorded)
    assert found.verification is not None
    assert {d.name for d in found.verification.differences} >= {
        "y (first model, recorded)",
        "y (second model, recorded)",
    }


def test_other_recorded_outputs_are_a_refusal(net: Path, recorded: Path, tmp_path: Path) -> None:
    """Outputs of other weights: both sides agree, and share what they read otherwise than whoever recorded it."""
    other = tmp_path / "other.onnx"
    model = onnx.load(net)
    model.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(np.ones((4, 2), np.float32), "w"))
    onnx.save(model, other)
    command = ["import", str(other), "-o", str(tmp_path / "out"), "--expected", str(recorded)]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 1, result.output
    assert "both models agree with each other and not with" in " ".join(result.output.split())
    assert not list(tmp_path.glob("out-*"))


def test_recorded_outputs_need_the_verification(net: Path, recorded: Path) -> None:
    with pytest.raises(bridge.BadInput, match="recorded outputs and no verification"):
        bridge.import_onnx(net, expected=recorded, verify=False)


LAYERS = [
    "(float[2, 8] x) => (int32[2, 3] y) { q, s, z = DynamicQuantizeLinear (x)  y = MatMulInteger (q, w, z) }",
    "(float[2, 8] x) => (int32[2, 3] y) { q, s, z = DynamicQuantizeLinear (x)  y = MatMulInteger (q, w, z, wz) }",
    """(float[2, 8] x) => (uint8[2, 3] y) { q = QuantizeLinear (x, s, z)
    y = QLinearMatMul (q, s, z, w, s, wz, t, z) }""",
]


def layer(text: str) -> onnx.ModelProto:
    """A layer of 8 bits whose weights are as large as they can be."""
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]> net {text}')
    stored = {
        "w": np.array([[127, -128, 90]] * 8, np.int8),
        "wz": np.int8([5, -3, 0]),
        "s": np.float32(0.01),
        "t": np.float32(0.2),
        "z": np.uint8(100),
    }
    used = {i for n in model.graph.node for i in n.input}
    model.graph.initializer.extend(
        onnx.numpy_helper.from_array(np.asarray(a), n) for n, a in stored.items() if n in used and n not in ("q",)
    )
    made = {o for n in model.graph.node for o in n.output}
    for tensor in [t for t in model.graph.initializer if t.name in made]:
        model.graph.initializer.remove(tensor)
    return model


@pytest.mark.parametrize("text", LAYERS, ids=["no zero point", "zero points by column", "QLinearMatMul"])
def test_unsigned_weights_mean_the_same(text: str) -> None:
    model = layer(text)
    moved = with_unsigned_weights(model)
    assert moved is not None
    onnx.checker.check_model(moved)
    x = np.random.default_rng(1).uniform(-1, 1.55, (2, 8)).astype(np.float32)
    want, got = (ReferenceEvaluator(m).run(None, {"x": x})[0] for m in (model, moved))
    np.testing.assert_array_equal(got, want)
    assert with_unsigned_weights(moved) is None, "there is none left"


def test_signed_data_stay(tmp_path: Path) -> None:
    """Products of int8 by int8 are exact everywhere, and have no form of unsigned weights."""
    text = "(int8[2, 8] x) => (int32[2, 3] y) { y = MatMulInteger (x, w) }"
    assert with_unsigned_weights(layer(text)) is None


@pytest.mark.parametrize("saturating", [False, True])
def test_a_right_import_is_not_refused_where_onnxruntime_saturates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, saturating: bool
) -> None:
    """Weights of 127 beside data of 255: whether or not this processor's kernels saturate, the verdict is right."""
    if not saturating and unsigned.saturates():
        saturating = True
    monkeypatch.setattr(unsigned, "saturates", lambda: saturating)
    path = tmp_path / "net.onnx"
    onnx.save(layer(LAYERS[0]), path)
    found = bridge.import_onnx(path, output=tmp_path / "out")
    assert found.verified
    assert ("unsigned weights" in found.witness) == saturating
    assert any("saturate on this processor" in w for w in found.warnings) == saturating
