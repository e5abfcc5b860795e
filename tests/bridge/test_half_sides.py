"""A model of half precision beside one of float32: what goes in is rounded, what comes out widened, and the tolerance is the
coarser one's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, numpy_helper
from typer.testing import CliRunner

import bridge
import hybrid as mx
from bridge.cli import app
from bridge.half import HalfEngine, half_of
from bridge.models import Model
from tests.bridge.campaign import optimized
from tests.bridge.faults import planted
from tests.models.networks import FOLDER, Network

S: Any = mx.sym
RNG = np.random.default_rng(0)
SHAPE = (2, 3, 9, 9)
CODES = {"float16": TensorProto.FLOAT16, "bfloat16": TensorProto.BFLOAT16}


def network() -> Any:
    x = S.Convolution(S.var("data"), kernel=(3, 3), num_filter=8, name="one")
    x = S.relu(S.Convolution(S.relu(x, name="act"), kernel=(3, 3), num_filter=8, name="two"))
    x = S.FullyConnected(S.Pooling(x, kernel=(3, 3), stride=(2, 2), pool_type="max"), num_hidden=5, name="dense")
    return S.softmax(x, name="scores")


def parameters(net: Any) -> dict[str, np.ndarray]:
    shapes, _, _ = net.infer_shape(data=SHAPE)
    named = zip(net.list_arguments(), shapes)
    return {n: RNG.normal(0, (2 / np.prod(s[1:])) ** 0.5, s).astype("f") for n, s in named if n != "data"}


def halved(path: Path, target: Path, name: str = "float16", keep: bool = False, **factors: float) -> Path:
    """A float32 model in half precision; with keep inputs and outputs stay. factors: of the first filters of weights."""
    model, code = onnx.load(path), CODES[name]
    dtype = np.dtype(np.float16) if name == "float16" else np.dtype(ml_dtypes.bfloat16)
    for tensor in model.graph.initializer:
        if tensor.data_type == TensorProto.FLOAT:
            array = numpy_helper.to_array(tensor).copy()
            array[0] *= factors.get(tensor.name, 1)
            tensor.CopyFrom(numpy_helper.from_array(array.astype(dtype), tensor.name))
    values = [*model.graph.input, *model.graph.output]
    if not keep:
        for value in values:
            value.type.tensor_type.elem_type = code
    else:
        cast = onnx.helper.make_node
        for node in model.graph.node:
            node.input[:] = ["half_in" if n == "data" else n for n in node.input]
            node.output[:] = ["half_out" if n == values[1].name else n for n in node.output]
        model.graph.node.insert(0, cast("Cast", ["data"], ["half_in"], to=code))
        model.graph.node.append(cast("Cast", ["half_out"], [values[1].name], to=TensorProto.FLOAT))
    del model.graph.value_info[:]
    onnx.save(model, target)
    return target


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("half")
    net = network()
    mx.model.save_checkpoint(str(folder / "net"), 0, net, {n: mx.nd.array(a) for n, a in parameters(net).items()}, {})
    bridge.convert(folder / "net", inputs={"data": SHAPE}, output=folder / "net.onnx")
    return folder


@pytest.mark.parametrize("keep", [False, True])
def test_half_precision_beside_float32(files: Path, tmp_path: Path, keep: bool) -> None:
    half = halved(files / "net.onnx", tmp_path / "half.onnx", keep=keep)
    for pair in ((files / "net", half), (half, files / "net"), (files / "net.onnx", half), (half, files / "net.onnx")):
        result = bridge.verify(*pair, inputs={"data": SHAPE})
        assert result.equivalent and result.inner > 5, pair
        assert 1e-5 < max(d.max_rel for d in result.differences) < 1e-2
        assert result.warnings[0] == "half is of float16: compared as exactly as that allows"
        assert all(d.dtype == "float32" for d in result.differences)
    given = {"data": RNG.normal(size=SHAPE).astype(np.float16)}
    for array in (given["data"], given["data"].astype("f")):
        assert bridge.verify(files / "net", half, inputs={"data": array}).equivalent


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("weight", ["one_weight", "two_weight", "dense_weight"])
def test_a_fault_under_half_precision_is_found(files: Path, tmp_path: Path, weight: str, keep: bool) -> None:
    wrong = halved(files / "net.onnx", tmp_path / "half.onnx", "float16", keep, **{weight: 1.03})
    for pair in ((files / "net", wrong), (files / "net.onnx", wrong)):
        result = bridge.verify(*pair, inputs={"data": SHAPE})
        assert result.verdict == "not equivalent"
        assert result.divergence is not None and result.divergence.node == weight.removesuffix("_weight")


def test_what_is_of_half_precision(files: Path, tmp_path: Path) -> None:
    assert half_of(Model("m", proto=onnx.load(files / "net.onnx"))) == ""
    for name in CODES:
        model = Model("m", proto=onnx.load(halved(files / "net.onnx", tmp_path / "half.onnx", name)))
        assert half_of(model) == name
        engine = HalfEngine(model)
        assert engine.specs["data"].dtype == np.float32 and engine.rounded["data"].name == name
    one = onnx.load(files / "net.onnx")  # one constant of it does not make it coarse
    [bias] = (i for i in one.graph.initializer if i.name == "dense_bias")
    bias.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(bias).astype(np.float16), bias.name))
    assert half_of(Model("m", proto=one)) == ""
    both = halved(files / "net.onnx", tmp_path / "half.onnx")  # of two that are, each is as it is
    assert bridge.verify(both, both, inputs={"data": SHAPE}).warnings == ()


def test_a_dtype_that_the_parameters_do_not_have_says_what_to_do(files: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.onnx"
    for command in (("convert", files / "net", "-o", target), ("verify", files / "net", files / "net.onnx")):
        told = CliRunner().invoke(app, [*map(str, command), "--input", "data:2,3,9,9:float16"])
        assert told.exit_code == 2 and "got float16, wanted float32" in told.output
        assert "verify compares a float16 ONNX file with this model" in " ".join(told.output.split())
    half = halved(files / "net.onnx", tmp_path / "half.onnx")
    told = CliRunner().invoke(app, ["verify", str(files / "net"), str(half), "--input", "data:2,3,9,9:float16"])
    assert told.exit_code == 0, told.output


def test_mixed_precision_is_compared_tensor_by_tensor(tmp_path: Path) -> None:
    """An AMP network and its file round at the same places: neither is of half precision as a whole, and a fault inside shows."""
    prefix = str(Path(__file__).parents[2] / "fixtures" / "models" / "amp_casts" / "model")
    bridge.convert(prefix, inputs={"data": (2, 3, 16, 16)}, output=tmp_path / "mixed.onnx", draws=["expected"])
    wrong = planted(onnx.load(tmp_path / "mixed.onnx"), "two_filters_swapped")
    assert wrong is not None
    found = bridge.verify(prefix, wrong, inputs={"data": (2, 3, 16, 16)}, draws=["expected"])
    assert found.verdict == "not equivalent" and found.divergence is not None and found.divergence.node == "conv1"


def test_casts_that_a_runtime_leaves_out_are_no_fault(tmp_path: Path) -> None:
    """onnxruntime's optimised file computes in float32 what the network rounds to float16 on the way: it is the more exact."""
    prefix = str(Path(__file__).parents[2] / "fixtures" / "models" / "amp_casts" / "model")
    bridge.convert(prefix, inputs={"data": (2, 3, 16, 16)}, output=tmp_path / "mixed.onnx", draws=["expected"])
    without = optimized(onnx.load(tmp_path / "mixed.onnx"))
    assert bridge.verify(prefix, without, inputs={"data": (2, 3, 16, 16)}, draws=["expected"]).equivalent


@pytest.mark.parametrize("name", ["cast_float16_symbol", "float16_elementwise"])
def test_who_leaves_out_casts_to_half_precision_is_right(name: str, tmp_path: Path) -> None:
    """onnxruntime takes them away where it folds, and rounds products of constants anew: nodes that only can be compared together
    are then off by what half precision rounds, and by no more. A weight of 5 % is."""
    network = Network(name, FOLDER / name, {})
    feeds: Any = network.runs()[0][0]
    bridge.convert(network.prefix, inputs=feeds, output=tmp_path / "m.onnx", verify=False)
    right = onnx.load(tmp_path / "m.onnx")
    assert bridge.verify(network.prefix, optimized(right), inputs=feeds).verdict == "equivalent"
    for tensor in right.graph.initializer:
        if tensor.name in ("conv_weight_float16", "bn_gamma"):
            array = onnx.numpy_helper.to_array(tensor)
            tensor.CopyFrom(onnx.numpy_helper.from_array((array * 1.05).astype(array.dtype), tensor.name))
    assert bridge.verify(network.prefix, optimized(right), inputs=feeds).verdict == "not equivalent"
