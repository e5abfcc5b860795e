"""Dropout with a mask, as Caffe2 and CNTK wrote it (``_fc6_mask_1``): in inference everything passes, and the mask says so."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import bridge
from bridge.onnx_backend import prepare

X = np.array([[1, -2, 3], [4, 0, -6]], np.float32)


def model(tmp_path: Path, opset: int, *, mask: str, training: bool | None = None) -> Path:
    """Relu, Dropout, and a negation. mask: "unread", "output", or "inside" where a node multiplies by it."""
    inputs, stored = ["r"], []
    if training is not None:
        inputs += ["", "mode"]
        stored.append(onnx.numpy_helper.from_array(np.array(training), "mode"))
    attrs = {"ratio": 0.25} if opset < 12 else {}
    nodes = [
        helper.make_node("Relu", ["x"], ["r"]),
        helper.make_node("Dropout", inputs, ["d", "_d_mask"], **attrs),
        helper.make_node("Neg", ["d"], ["n"]),
    ]
    kind = TensorProto.BOOL if opset >= 10 else TensorProto.FLOAT
    outputs = [helper.make_tensor_value_info("n", TensorProto.FLOAT, [2, 3])]
    if mask == "output":
        outputs.append(helper.make_tensor_value_info("_d_mask", kind, [2, 3]))
    if mask == "inside":
        nodes += [
            helper.make_node("Cast", ["_d_mask"], ["m"], to=TensorProto.FLOAT),
            helper.make_node("Mul", ["n", "m"], ["y"]),
        ]
        outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 3])]
    graph = helper.make_graph(
        nodes, "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])], outputs, stored
    )
    path = tmp_path / "net.onnx"
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=7)
    onnx.checker.check_model(made)
    onnx.save(made, path)
    return path


@pytest.mark.parametrize("mask", ["unread", "output", "inside"])
@pytest.mark.parametrize(("opset", "training"), [(7, None), (10, None), (12, None), (13, None), (13, False)])
def test_a_mask_passes_everything(tmp_path: Path, opset: int, training: bool | None, mask: str) -> None:
    path = model(tmp_path, opset, mask=mask, training=training)
    found = bridge.import_onnx(path, output=tmp_path / "out")
    assert found.verified
    assert not found.mxnet, "MXNet 1.9.1 has all of it"
    assert ("Dropout" in found.operators) == (mask == "unread"), "which drops when the network is trained"
    assert bool(found.repairs) == (opset < 12 and mask != "unread"), "the numbers of that mask are nobody's word"
    got: list[Any] = list(prepare(onnx.load(path)).run([X]))
    np.testing.assert_array_equal(got[0], -X.clip(0))
    if mask == "output":
        assert got[1].dtype == (bool if opset >= 10 else np.float32)
        assert got[1].all()


def test_one_that_is_turned_on_is_refused_with_advice_that_import_takes(tmp_path: Path) -> None:
    path = model(tmp_path, 13, mask="output", training=True)
    with pytest.raises(bridge.BadInput, match=r"draws random numbers, at \S+ \(_onnx_Dropout\)") as refusal:
        bridge.import_onnx(path)
    assert "--no-verify" in str(refusal.value)
    assert "--outputs" not in str(refusal.value), "which import does not take"
    assert not bridge.import_onnx(path, verify=False).verified
