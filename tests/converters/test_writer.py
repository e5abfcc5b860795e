"""Stored arrays of elements smaller than a byte, which ONNX packs."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

from converters.writer import Converted
from tests.versions import old_runtime

ml_dtypes = pytest.importorskip("ml_dtypes")

VALUES = np.arange(15).reshape(3, 5)  # an odd number: the last byte is half empty


def model(kind: Any, shape: tuple[int, ...]) -> Converted:
    """w, given as it is."""
    node = onnx.helper.make_node("Identity", ["w"], ["y"])
    output = onnx.helper.make_tensor_value_info("y", kind, shape)
    graph = onnx.helper.make_graph([node], "stored", [], [output])
    proto = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 21)], ir_version=10)
    dtype = np.dtype(getattr(ml_dtypes, {onnx.TensorProto.INT4: "int4", onnx.TensorProto.UINT4: "uint4"}[kind]))
    low = -8 if kind == onnx.TensorProto.INT4 else 0
    return Converted(proto, {"w": np.resize(VALUES + low, shape).astype(dtype)})


@pytest.mark.parametrize("kind", [onnx.TensorProto.INT4, onnx.TensorProto.UINT4], ids=["int4", "uint4"])
@pytest.mark.parametrize("shape", [(3, 5), (1,), (0, 4), (70, 71)], ids=str)
@pytest.mark.parametrize("external", [None, True], ids=["inside", "beside"])
def test_halves_of_bytes(kind: int, shape: tuple[int, ...], external: bool | None, tmp_path: Path) -> None:
    converted = model(kind, shape)
    want = converted.initializers["w"]
    assert converted.nbytes == (want.size + 1) // 2
    protos = [converted.proto(), onnx.load(converted.save(tmp_path / "m.onnx", external=external)[0])]
    for proto in protos:
        (tensor,) = proto.graph.initializer
        stored = onnx.numpy_helper.to_array(tensor)
        assert stored.shape == want.shape
        assert stored.astype(int).tolist() == want.astype(int).tolist()


@old_runtime("has no integers of 4 bits")
def test_onnxruntime_reads_them(tmp_path: Path) -> None:
    converted = model(onnx.TensorProto.INT4, (3, 5))
    nodes = converted.model.graph.node
    nodes.append(onnx.helper.make_node("Cast", ["w"], ["z"], to=onnx.TensorProto.FLOAT))
    del converted.model.graph.output[:]
    converted.model.graph.output.append(onnx.helper.make_tensor_value_info("z", onnx.TensorProto.FLOAT, (3, 5)))
    session = onnxruntime.InferenceSession(converted.proto().SerializeToString(), providers=["CPUExecutionProvider"])
    assert np.asarray(session.run(None, {})[0]).astype(int).tolist() == (VALUES - 8).tolist()
