"""Whatever runs a model as a side of a verification, and all of them in one table."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import numpy_helper
from typer.testing import CliRunner

import bridge
import hybrid as mx
from bridge.cli import app
from bridge.engines import EngineError, NativeEngine, OnnxEngine, ReferenceEngine
from bridge.runners import Function, OutputsOnly, Recorded, Runner, as_side, is_runner, runner_for
from hybrid.core.op import Spec

SHAPE = (2, 3, 6, 6)
SPECS = {"data": Spec(SHAPE, np.dtype(np.float32))}


@pytest.fixture(scope="module")
def net(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A convolution, its activation and a dense layer, as symbol and as ONNX."""
    folder = tmp_path_factory.mktemp("net")
    s = mx.sym
    x = s.Convolution(s.Variable("data"), kernel=(3, 3), num_filter=4, name="conv0")
    x = s.FullyConnected(s.Activation(x, act_type="relu", name="relu0"), num_hidden=5, name="fc0")
    shapes, _, _ = x.infer_shape(data=SHAPE)
    rng = np.random.default_rng(0)
    made = {f"arg:{n}": mx.nd.array(rng.standard_normal(d)) for n, d in zip(x.list_arguments(), shapes) if n != "data"}
    x.save(str(folder / "net-symbol.json"))
    mx.nd.save(str(folder / "net-0000.params"), made)
    bridge.convert(folder / "net", inputs={"data": SHAPE}, output=folder / "net.onnx", verify=False)
    return folder / "net"


@pytest.fixture(scope="module")
def feeds() -> dict[str, np.ndarray]:
    return {"data": np.random.default_rng(1).standard_normal(SHAPE).astype(np.float32)}


def session(net: Path, factor: float = 1.0) -> Any:
    """A function from arrays by name to outputs in order."""
    opened = onnxruntime.InferenceSession(net.with_suffix(".onnx"), providers=["CPUExecutionProvider"])
    return lambda feeds: [factor * np.asarray(a) for a in opened.run(None, feeds)]


@pytest.mark.parametrize("kind", ["symbol", "onnx"])
@pytest.mark.parametrize(
    "spec",
    ["gluonnx", "gluonnx:plain", "gluonnx:float64", "onnxruntime", "onnxruntime:none", "onnxruntime:cpu", "reference"],
)
def test_every_runner_takes_symbols_and_onnx(net: Path, feeds: dict[str, np.ndarray], kind: str, spec: str) -> None:
    runner = runner_for(bridge.open_model(net if kind == "symbol" else net.with_suffix(".onnx")), spec, SPECS)
    assert isinstance(runner, Runner)
    (got,) = runner.run(feeds).values()
    (want,) = bridge.run(net, feeds).values()
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
    assert got.dtype == (np.float64 if spec.endswith("float64") else np.float32)


@pytest.mark.skipif(importlib.util.find_spec("openvino") is None, reason="openvino is not installed")
def test_openvino_is_an_engine_that_shows_what_is_inside(net: Path, feeds: dict[str, np.ndarray]) -> None:
    runner = runner_for(bridge.open_model(net.with_suffix(".onnx")), "openvino")
    (want,) = bridge.run(net, feeds).values()
    np.testing.assert_allclose(next(iter(runner.run(feeds).values())), want, rtol=1e-4, atol=1e-5)
    inner = runner.expose(feeds, ["relu0_output"])
    assert inner["relu0_output"].min() == 0
    with pytest.raises(EngineError, match="OpenVINO refused"):
        model = onnx.load(net.with_suffix(".onnx"))
        model.graph.node[0].op_type = "NoSuchOperator"
        runner_for(bridge.open_model(model), "openvino").run(feeds)


@pytest.mark.skipif(importlib.util.find_spec("openvino") is None, reason="openvino is not installed")
def test_openvino_gives_an_output_under_its_own_name_alone(
    net: Path, feeds: dict[str, np.ndarray], tmp_path: Path
) -> None:
    """Of a network in float16 with float32 outputs the last node is a cast, which OpenVINO takes out: two names for a tensor."""
    bridge.convert_in(bridge.Half(), net, output=tmp_path / "half.onnx", inputs={n: a.shape for n, a in feeds.items()})
    runner = runner_for(bridge.open_model(tmp_path / "half.onnx"), "openvino")
    assert [*runner.run(feeds)] == [o.name for o in onnx.load(tmp_path / "half.onnx").graph.output]


def test_a_package_that_is_missing_is_named(net: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openvino", None)
    with pytest.raises(bridge.BadInput, match=r"OpenVINO is not installed.*pip install openvino"):
        runner_for(bridge.open_model(net.with_suffix(".onnx")), "openvino")


@pytest.mark.parametrize("spec", ["nope", "gluonnx:fast", "reference:x", "onnxruntime:nope"])
def test_names_that_there_are_not_are_refused(net: Path, spec: str) -> None:
    with pytest.raises(bridge.BadInput, match=f"got (runner ')?{spec}"):
        runner_for(bridge.open_model(net.with_suffix(".onnx")), spec)


def test_names_mean_what_they_say(net: Path) -> None:
    symbol, model = bridge.open_model(net), bridge.open_model(net.with_suffix(".onnx"))
    plain, ours = runner_for(symbol, "gluonnx:plain"), runner_for(symbol, "gluonnx")
    assert isinstance(plain, NativeEngine)
    assert isinstance(ours, NativeEngine)
    assert (plain.program.native, ours.program.native) == (False, True)
    plain.free_memory()
    assert plain.program.native is False
    unoptimised = runner_for(model, "onnxruntime:none")
    assert isinstance(unoptimised, OnnxEngine)
    assert (unoptimised.level, unoptimised.provider) == ("none", "CPUExecutionProvider")
    assert isinstance(runner_for(model, "reference"), ReferenceEngine)


def test_a_function_is_a_side_of_a_verification(net: Path, feeds: dict[str, np.ndarray]) -> None:
    right = bridge.verify(net, session(net), inputs=feeds)
    assert right.verdict == "equivalent"
    wrong = bridge.verify(session(net, 1.01), net.with_suffix(".onnx"), inputs=feeds)
    assert wrong.verdict == "not equivalent"
    assert any("<lambda> shows nothing inside" in w for w in wrong.warnings)
    assert wrong.differences[0].max_rel == pytest.approx(0.01, rel=0.1)
    with pytest.raises(bridge.BadInput, match="cannot be cut"):
        bridge.verify(net, session(net), inputs=feeds, outputs=["conv0"])

    def broken(_: Mapping[str, np.ndarray]) -> None:
        raise RuntimeError("out of paper")

    with pytest.raises(EngineError, match="broken failed: RuntimeError: out of paper"):
        bridge.verify(net, broken, inputs=feeds)


def test_a_function_is_asked_for_what_the_other_side_takes(net: Path, feeds: dict[str, np.ndarray]) -> None:
    asked: list[set[str]] = []
    (want,) = bridge.run(net, feeds).values()

    def function(given: Mapping[str, np.ndarray]) -> dict[str, Any]:
        asked.append(set(given))
        return {"fc0_output": mx.nd.array(bridge.run(net, given)["fc0_output"])}

    assert bridge.verify(net, function, inputs=feeds).equivalent
    assert asked
    assert all(names == {"data"} for names in asked)
    one = OutputsOnly(Function(lambda _: want))
    assert list(one.run(feeds)) == ["output0"]
    assert one.inner_tensors() == []


@pytest.mark.parametrize(("large", "error", "equal"), [(1e3, 0, True), (1e3, 0.05, False), (1e7, 0, False)])
def test_float64_decides_where_a_runner_shows_nothing_inside(
    tmp_path: Path, large: float, error: float, equal: bool
) -> None:
    """Sums that cancel: float32 is 3e-5 off beside 1e3, as no other engine is, and 0.5 beside 1e7, which says nothing."""
    symbol = mx.sym._minus_scalar(mx.sym._plus_scalar(mx.sym.var("data"), scalar=large), scalar=large)
    symbol.save(str(tmp_path / "sum-symbol.json"))
    given = {"data": np.random.default_rng(0).uniform(-1, 1, (2, 5)).astype("float32")}
    result = bridge.verify(
        tmp_path / "sum-symbol.json", lambda x: next(iter(x.values())) + np.float32(error), inputs=given
    )
    assert result.equivalent is equal
    [found] = result.differences
    assert found.settled_by == ("float64" if equal else "")
    assert ("rounding alone decides" in found.reason) is (large == 1e7)
    assert ("from float64, where" in found.reason) is bool(error)


def test_what_counts_as_a_runner(net: Path) -> None:
    assert is_runner(session(net))
    assert is_runner(Function(session(net)))
    symbol = mx.sym.load(f"{net}-symbol.json")
    for model in (symbol, net, str(net), onnx.load(net.with_suffix(".onnx")), bridge.open_model(net)):
        assert not is_runner(model)
    block = mx.gluon.SymbolBlock.imports(f"{net}-symbol.json", ["data"], f"{net}-0000.params")
    assert not is_runner(block)


def test_a_recording_answers_its_own_inputs(net: Path, feeds: dict[str, np.ndarray], tmp_path: Path) -> None:
    recording = bridge.record(net, inputs=feeds, output=tmp_path / "net.npz")
    side = as_side(recording)
    np.testing.assert_array_equal(side.run(feeds)["fc0_output"], recording.runs[0].outputs["fc0_output"])
    with pytest.raises(EngineError, match="has no run on these inputs"):
        side.run({"data": feeds["data"] + 1})
    assert isinstance(side, OutputsOnly)
    assert isinstance(side.runner, Recorded)


def test_a_matrix_of_runners(net: Path, feeds: dict[str, np.ndarray], tmp_path: Path) -> None:
    bridge.record(net, inputs=feeds, output=tmp_path / "net.npz")
    runners = ["gluonnx", "gluonnx:plain", "onnxruntime:none", "reference"]
    result = bridge.matrix([net.with_suffix(".onnx"), tmp_path / "net.npz"], runners)
    assert [n.rpartition(" ")[2] for n in result.runners[:4]] == runners
    assert len(result.cells) == 5
    assert result.equal
    assert result.inputs == {"data": {"shape": list(SHAPE), "dtype": "float32"}}
    for i, row in enumerate(result.cells):
        assert [c is None for c in row] == [i == j for j in range(5)]
        assert all(c.equal and c.difference < 1e-5 and c.output for c in row if c is not None)
    assert str(result).endswith("all agree")


def test_a_matrix_of_a_shape_alone_is_in_the_files_dtype(tmp_path: Path) -> None:
    """Bytes where the file takes bytes, when nothing but their shape is given."""
    path = tmp_path / "bytes.onnx"
    value_info = onnx.helper.make_tensor_value_info
    nodes = [onnx.helper.make_node("Cast", ["x"], ["y"], to=onnx.TensorProto.FLOAT)]
    ends = [value_info("x", onnx.TensorProto.UINT8, ["b", "n"])], [value_info("y", onnx.TensorProto.FLOAT, ["b", "n"])]
    graph = onnx.helper.make_graph(nodes, "bytes", *ends)
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)]), path)
    result = bridge.matrix(path, ["gluonnx", "onnxruntime"], inputs={"x": (2, 5)})
    assert result.equal
    assert result.inputs["x"]["shape"] == [2, 5]


def test_a_matrix_shows_who_stands_alone(net: Path, feeds: dict[str, np.ndarray]) -> None:
    def refuses(_: Mapping[str, np.ndarray]) -> None:
        raise RuntimeError("not today")

    result = bridge.matrix(
        [net, Function(session(net, 1.01), label="mine"), refuses], ["gluonnx", "onnxruntime"], inputs=feeds
    )
    assert result.runners == ("net gluonnx", "net onnxruntime", "mine", "refuses")
    assert not result.equal
    verdicts = [[None if c is None else c.equal for c in row] for row in result.cells]
    assert verdicts == [[None, True, False, None], [True, None, False, None], [False, False, None, None], [None] * 4]
    cell = result.cells[0][2]
    assert cell is not None
    assert cell.difference == pytest.approx(0.01, rel=0.1)
    assert result.errors == {"refuses": "refuses failed: RuntimeError: not today"}
    text = str(result)
    assert "1.0e-02 !" in text
    assert "not all agree" in text
    assert result.as_dict()["equal"] is False


def test_one_runner_alone_is_no_matrix(net: Path) -> None:
    with pytest.raises(bridge.BadInput, match="wanted two or more"):
        bridge.matrix(net, ["gluonnx"], inputs={"data": SHAPE})


def test_other_names_of_inputs_are_paired(net: Path, feeds: dict[str, np.ndarray]) -> None:
    model = onnx.load(net.with_suffix(".onnx"))
    model.graph.input[0].name = model.graph.node[0].input[0] = "image"
    result = bridge.matrix([net, model], ["gluonnx"], inputs=feeds)
    assert result.equal, result


def test_the_command_prints_the_table(net: Path, tmp_path: Path) -> None:
    model = onnx.load(net.with_suffix(".onnx"))
    for tensor in model.graph.initializer:
        if tensor.name == "fc0_bias":
            tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor) + np.float32(0.5), tensor.name))
    onnx.save(model, tmp_path / "wrong.onnx")
    invoke = CliRunner().invoke
    same = invoke(app, ["matrix", f"{net}.onnx", "--runners", "gluonnx,onnxruntime:basic,reference"])
    assert (same.exit_code, "all agree" in same.output) == (0, True), same.output
    assert "onnxruntime:basic" in same.output
    wrong = invoke(app, ["matrix", f"{net}.onnx", str(tmp_path / "wrong.onnx"), "--runners", "onnxruntime", "--json"])
    assert wrong.exit_code == 1
    told = json.loads(wrong.output)
    assert told["equal"] is False
    assert told["runners"] == ["net.onnx onnxruntime", "wrong.onnx onnxruntime"]
    assert invoke(app, ["matrix", f"{net}.onnx", "--runners", "nope"]).exit_code == 2
