"""Files of opsets 1 to 6, for whose operators onnxruntime has no kernels: witnessed in the forms of opset 7."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

import bridge
from bridge.onnx_backend import prepare
from bridge.upgrading import CannotUpgrade, upgraded
from hybrid.core.op import OPS

RNG = np.random.default_rng(5)
UPGRADED = "onnxruntime on the model in the forms of opset 7"


def floats(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def model(opset: int, nodes: list[onnx.NodeProto], x: np.ndarray, stored: dict[str, np.ndarray], *free: str) -> Any:
    """A model of an old opset, whose stored tensors are inputs too. free: stored ones that are inputs alone."""
    given = {"x": x, **stored}
    graph = helper.make_graph(
        nodes,
        "old",
        [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in given.items()],
        [helper.make_empty_tensor_value_info(o) for o in nodes[-1].output],
        [numpy_helper.from_array(a, n) for n, a in stored.items() if n not in free],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=3)


def node(op: str, inputs: str, output: str, **attrs: Any) -> onnx.NodeProto:
    return helper.make_node(op, inputs.split(), output.split(), **attrs)


def network(opset: int) -> onnx.ModelProto:
    """A classifier as exporters of 2017 wrote it."""
    hints = {"consumed_inputs": [0]} if opset < 6 else {}
    more = {"consumed_inputs": [0, 0, 0, 1, 1]} if hints else {}
    pads = {"paddings" if opset == 1 else "pads": [0, 0, 0, 0, 0, 0, 1, 1]}
    shape = {"shape": [0, -1], **hints} if opset < 5 else {}
    stored = {
        "w": floats(4, 3, 3, 3), "scale": floats(4), "bias": floats(4), "mean": floats(4), "var": abs(floats(4)) + 0.5,
        "shift": floats(4), "slope": floats(4), "dense": floats(64, 5), "five": floats(5),
    }  # fmt: skip
    if opset >= 5:
        stored["flat"] = np.array([0, -1])
    nodes = [
        node("Conv", "x w", "c", kernel_shape=[3, 3]),
        node("BatchNormalization", "c scale bias mean var", "b", is_test=1, **more),
        node("Add", "b shift", "s", broadcast=1, axis=1),
        node("PRelu", "s slope", "p"),
        node("Pad", "p", "d", mode="constant", value=0.5, **pads),
        node("Concat", "d d", "two", **({} if opset < 4 else {"axis": 1})),
        node("Slice", "two", "one", axes=[1], starts=[2], ends=[6]),
        node("MaxPool", "one", "m", kernel_shape=[2, 2], strides=[2, 2]),
        node("Upsample", "m", "u", height_scale=2.0, width_scale=2.0, mode="nearest"),
        node("Reshape", "u" if opset < 5 else "u flat", "f", **shape),
        node("Dropout", "f", "_f", is_test=1),
        node("Gemm", "_f dense five", "g", broadcast=1),
        node("Selu", "g", "e", **hints),
        node("Softmax", "e", "y"),
    ]  # fmt: skip
    return model(opset, nodes, floats(2, 3, 5, 5), stored)


def imported(proto: onnx.ModelProto, folder: Path) -> bridge.ImportResult:
    path = folder / "old.onnx"
    onnx.save(proto, path)
    return bridge.import_onnx(path, output=folder / "out")


@pytest.mark.parametrize("opset", range(1, 7))
def test_a_network_of_an_old_opset_is_verified(opset: int, tmp_path: Path) -> None:
    found = imported(network(opset), tmp_path)
    assert (found.verified, found.witness) == (True, UPGRADED)
    assert "Could not find an implementation" in " ".join(found.warnings), "of why it was not the file itself"
    assert found.mxnet == (("_onnx_Selu",) if opset < 6 else ()), "whose numbers were rounded further then"


def test_wrong_numbers_of_an_old_opset_are_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_numpy: None
) -> None:
    right = OPS["softmax"].compute
    monkeypatch.setattr(OPS["softmax"], "compute", lambda op, *a, **k: right(op, *a, **k) * 1.01)
    with pytest.raises(bridge.NotEquivalent):
        imported(network(6), tmp_path)


X, CHANNELS, PIXELS = floats(2, 3, 4, 4), floats(3), floats(4, 4)
FORMS: list[tuple[int, str, list[np.ndarray], dict[str, Any]]] = [
    *((o, op, [X, CHANNELS], {"broadcast": 1, "axis": 1}) for op in ("Sub", "Mul", "Div") for o in (1, 6)),
    (1, "Add", [X, PIXELS], {"broadcast": 1}),
    (1, "Pow", [abs(X), np.float32([2, 3, 1])], {"broadcast": 1, "axis": -3}),
    (1, "Less", [X, CHANNELS], {"broadcast": 1, "axis": 1}),
    (1, "And", [X > 0, CHANNELS > 0], {"broadcast": 1, "axis": 1}),
    (1, "Cast", [X * 9], {"to": "INT32"}),
    (6, "Cast", [X * 9], {"to": TensorProto.INT32}),
    (1, "Clip", [X], {"min": -0.5, "max": 0.25, "consumed_inputs": [0]}),
    (1, "Selu", [X], {}),
    (6, "Selu", [X], {}),
    (1, "Split", [X, np.array([1, 2], np.float32)], {"axis": 1}),
    (1, "Tile", [X, np.float32(2), np.float32(1)], {}),
    (1, "Gemm", [floats(2, 3), floats(5, 3), floats(5)], {"broadcast": 1, "transB": 1}),
    (1, "LpPool", [X], {"kernel_shape": [2, 2], "p": 2.0}),
    (1, "GlobalLpPool", [X], {"p": 1.0}),
    (1, "AveragePool", [X], {"kernel_shape": [2, 2], "pads": [1, 1, 1, 1]}),
    (1, "LSTM", [floats(3, 2, 4), floats(1, 12, 4), floats(1, 12, 3)], {"hidden_size": 3, "output_sequence": 1}),
    (1, "GRU", [floats(3, 2, 4), floats(1, 9, 4), floats(1, 9, 3)], {"hidden_size": 3, "output_sequence": 1}),
    (3, "GRU", [floats(3, 2, 4), floats(1, 9, 4), floats(1, 9, 3)], {"hidden_size": 3, "linear_before_reset": 1}),
]


@pytest.mark.parametrize(("opset", "op", "arrays", "attrs"), FORMS, ids=[f"{f[1]}-{f[0]}" for f in FORMS])
def test_a_form_reads_as_what_it_is_upgraded_to(opset: int, op: str, arrays: list[Any], attrs: dict[str, Any]) -> None:
    """The reading and onnxruntime on the upgraded form give the same."""
    names = ["x", *(f"x{i}" for i in range(1, len(arrays)))]
    outputs = "y z" if op == "Split" else "y"
    proto = model(opset, [node(op, " ".join(names), outputs, **attrs)], arrays[0], dict(zip(names[1:], arrays[1:])))
    options = ort.SessionOptions()
    options.log_severity_level = 4
    session = ort.InferenceSession(upgraded(proto).SerializeToString(), options, providers=["CPUExecutionProvider"])
    want = session.run(None, {"x": arrays[0]})
    got = prepare(proto).run([arrays[0]])
    for mine, theirs in zip(got, want, strict=True):
        assert np.shape(mine) == np.shape(theirs)
        np.testing.assert_allclose(np.asarray(mine), theirs, rtol=2e-6, atol=1e-6)


def test_what_only_the_run_tells_is_not_upgraded() -> None:
    proto = model(1, [node("Tile", "x times axis", "y")], X, {"times": np.float32(2), "axis": np.float32(1)}, "times")
    with pytest.raises(CannotUpgrade, match="Tile y takes times, which only the run tells"):
        upgraded(proto)


def test_statistics_of_training_are_not_upgraded() -> None:
    stored = {n: abs(CHANNELS) for n in ("s", "b", "m", "v")}
    nodes = [node("BatchNormalization", "x s b m v", "y mean var")]
    with pytest.raises(CannotUpgrade, match="BatchNormalization y gives statistics"):
        upgraded(model(6, nodes, X, stored))
