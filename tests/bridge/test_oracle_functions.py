"""The error function as onnx's evaluator has it with bridge.oracle_functions: to the last digits of the dtype that is given."""

import math
from pathlib import Path

import numpy as np
import onnx.parser
import pytest

import bridge
import hybrid as mx
from bridge.engines import ReferenceEngine
from bridge.models import Model

X = np.array([[-6.5, -5.1, -4.9], [-1e-9, 0.7, 8]])


def gelu(x: float) -> float:
    return x * 0.5 * math.erfc(-x / math.sqrt(2))


def gelu_by_tanh(x: float) -> float:
    return 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize(
    ("node", "function"),
    [("Erf (x)", math.erf), ("Gelu (x)", gelu), ('Gelu <approximate = "tanh"> (x)', gelu_by_tanh)],
)
def test_error_functions_are_of_the_dtype_of_what_they_are_given(node, function, dtype) -> None:
    name = {8: "double", 4: "float", 2: "float16"}[np.dtype(dtype).itemsize]
    text = f'<ir_version: 9, opset_import: ["": 20]> net ({name}[2, 3] x) => ({name}[2, 3] y) {{ y = {node} }}'
    x = X.astype(dtype)
    found = ReferenceEngine(Model("net", proto=onnx.parser.parse_model(text))).run_unchecked({"x": x})["y"]
    wanted = np.vectorize(function, otypes=["d"])(x.astype(np.float64))
    assert found.dtype == dtype
    rtol, atol = (1e-13, 0) if dtype == np.float64 and function is not gelu_by_tanh else (0, 4 * np.finfo(dtype).eps)
    np.testing.assert_allclose(found.astype(np.float64), wanted, rtol, atol)


def test_a_network_that_is_all_in_the_tail_of_gelu_converts(tmp_path: Path) -> None:
    """onnxruntime's own rounds the error function before it adds 1; float64 says by how much, and not that the models differ."""
    network = mx.sym.LeakyReLU(mx.sym.var("data"), act_type="gelu", name="gelu")
    data = np.linspace(-5.3, 3, 64, dtype=np.float32).reshape(2, 32)
    data[0, :30] = np.linspace(-5.4, -4.9, 30)
    found = bridge.convert(network, {}, inputs={"data": data}, output=tmp_path / "m.onnx")
    assert found.verified
