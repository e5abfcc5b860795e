"""Nodes of a user's domain that are functions of the model: read by what the user registered, else by what the function says."""

import json
from collections.abc import Iterator

import numpy as np
import onnx
import onnx.parser
import pytest

import bridge
import hybrid as mx
from converters import from_onnx
from converters.registry import IMPORT, imports

FILE = """<ir_version: 8, opset_import: ["" : 17, "org.example.read" : 1]>
net (float[2, 3] x) => (float[2, 3] y) { y = org.example.read.Twice <by = FACTOR> (x) }
<domain: "org.example.read", opset_import: ["" : 17]>
Twice <by: float> (x) => (y) { b = Constant <value_float: float = @by> () y = Mul (x, b) }"""


@pytest.fixture
def model() -> onnx.ModelProto:
    return onnx.parser.parse_model(FILE.replace("FACTOR", "2.5"))


@pytest.fixture
def registered() -> Iterator[None]:
    @imports("Twice", domain="org.example.read")
    def twice(g, x, *, by=1.0):
        return g._div_scalar(x, scalar=1 / by)

    yield
    del IMPORT[("org.example.read", "Twice")]


def operators(model: onnx.ModelProto) -> set[str]:
    symbol, _, _ = from_onnx(model)
    return {n["op"] for n in json.loads(symbol.tojson())["nodes"]}


def test_without_a_reading_the_function_counts(model: onnx.ModelProto) -> None:
    assert "_mul_scalar" in operators(model)


@pytest.mark.usefixtures("registered")
def test_a_reading_goes_before_the_function(model: onnx.ModelProto) -> None:
    assert "_div_scalar" in operators(model)
    result = bridge.import_onnx(model)
    assert result.verified  # against onnxruntime, which runs the function


@pytest.mark.usefixtures("registered")
def test_a_reading_that_says_something_else_is_noticed(model: onnx.ModelProto) -> None:
    IMPORT[("org.example.read", "Twice")].clear()

    @imports("Twice", domain="org.example.read")
    def wrong(g, x, *, by=1.0):
        return g._mul_scalar(x, scalar=by + 0.001)

    with pytest.raises(bridge.NotEquivalent):
        bridge.import_onnx(model)


def test_functions_of_standard_domains_stay_the_models_own() -> None:
    text = FILE.replace("org.example.read", "com.microsoft").replace("Twice", "Gelu").replace("FACTOR", "2.5")
    symbol, _, _ = from_onnx(onnx.parser.parse_model(text))
    x = np.float32([[1, -2, 3], [0, 5, -6]])
    assert np.array_equal(symbol.eval(x=mx.nd.array(x))[0].asnumpy(), 2.5 * x)
