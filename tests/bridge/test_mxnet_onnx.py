"""mx.onnx and mx.contrib.onnx as MXNet 1.9.1 has them."""

from __future__ import annotations

import inspect
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest

import hybrid as mx
from bridge import BadInput
from tests.house.docs import ROOT

FOLDER = ROOT / "fixtures" / "models" / "alexnet"
FILES = str(FOLDER / "model-symbol.json"), str(FOLDER / "model-0000.params")


def data() -> np.ndarray:
    return np.load(FOLDER / "inputs.npz")["data"]


def check(path: str, feed: np.ndarray) -> None:
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    (got,) = session.run(None, {"data": feed})
    block = mx.gluon.SymbolBlock.imports(FILES[0], ["data", "softmax_label"], FILES[1])
    want = block(mx.nd.array(feed), mx.nd.zeros(len(feed)))
    np.testing.assert_allclose(got, want.asnumpy(), rtol=1e-4, atol=1e-5)


def test_signature() -> None:
    names = " ".join(inspect.signature(mx.onnx.export_model).parameters)
    assert names == (
        "sym params in_shapes in_types onnx_file_path verbose dynamic dynamic_input_shapes run_shape_inference input_type "
        "input_shape"
    )


@pytest.mark.parametrize("loaded", [False, True])
def test_export(tmp_path: Path, loaded: bool) -> None:
    target = str(tmp_path / "a.onnx")
    sym, params = FILES
    if loaded:
        symbol, arguments, states = mx.model.load_checkpoint(str(FOLDER / "model"), 0)
        sym, params = symbol, [arguments, states]
    assert mx.onnx.export_model(sym, params, [data().shape], np.float32, target) == target
    check(target, data())
    assert mx.contrib.onnx.get_model_metadata(target)["input_tensor_data"] == [("data", data().shape)]


def test_dynamic(tmp_path: Path) -> None:
    target = str(tmp_path / "a.onnx")
    with pytest.warns(UserWarning, match="only the first does"):
        mx.onnx.export_model(*FILES, [data().shape], np.float32, target, dynamic=True)
    check(target, np.concatenate([data(), data(), data()]))
    named = [("some", None, *data().shape[2:])]
    with pytest.raises(BadInput):  # the channels cannot vary, and were asked to by name
        mx.onnx.export_model(*FILES, [data().shape], np.float32, target, dynamic=True, dynamic_input_shapes=named)
    mx.contrib.onnx.export_model(
        *FILES, [data().shape], np.float32, target, dynamic=True, dynamic_input_shapes=[("n", *data().shape[1:])]
    )
    assert onnx.load(target).graph.input[0].type.tensor_type.shape.dim[0].dim_param == "n"


def test_operator_support() -> None:
    newest, old = mx.onnx.get_operator_support(), mx.onnx.get_operator_support(13)
    assert {"Convolution", "RNN"} <= set(old) <= set(newest)
    with pytest.raises(BadInput, match="13"):
        mx.onnx.get_operator_support(9)


def test_wrong_shapes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="inputs data"):
        mx.onnx.export_model(*FILES, [(1, 3), (2, 3)], np.float32, str(tmp_path / "a.onnx"))
    assert not list(tmp_path.iterdir())
    with pytest.raises(BadInput, match="no ONNX model"):
        mx.contrib.onnx.get_model_metadata(FILES[0])
