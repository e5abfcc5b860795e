"""gluonnx import: an ONNX model becomes a symbol with parameters, verified before the files appear."""

import json
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest
from typer.testing import CliRunner

import bridge
import hybrid as mx
from bridge.cli import app
from hybrid.op import OPS

runner = CliRunner()
NET = """<ir_version: 8, opset_import: ["": 17]>
net (float[batch, 4] x) => (float[batch, 3] y)
<float[3, 4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, float[3] b = {0.5, -0.5, 1}>
{ h = Gemm <transB = 1> (x, w, b)  r = Relu (h)  y = Softmax (r) }"""


@pytest.fixture
def net(tmp_path: Path) -> Path:
    path = tmp_path / "net.onnx"
    onnx.save(onnx.parser.parse_model(NET), path)
    return path


def call(*arguments: object, code: int = 0):
    result = runner.invoke(app, list(map(str, arguments)))
    assert result.exit_code == code, result.output
    return result


def test_the_files_appear_verified_and_run(net: Path, tmp_path: Path) -> None:
    text = call("import", net, "-o", tmp_path / "out").stdout
    assert "equivalent to onnxruntime" in text
    assert "loads" in text
    x = np.random.default_rng(0).standard_normal((5, 4)).astype(np.float32)
    block = mx.gluon.SymbolBlock.imports(str(tmp_path / "out-symbol.json"), ["x"], str(tmp_path / "out-0000.params"))
    want = bridge.run(net, {"x": x})["y"]
    np.testing.assert_allclose(block(mx.nd.array(x)).asnumpy(), want, rtol=1e-5)
    np.testing.assert_allclose(bridge.run(net, {"x": x}, engine="native")["y"], want, rtol=1e-5)


def test_open_axes_are_verified_at_two_sizes(net: Path) -> None:
    found = bridge.import_onnx(net).verification
    assert found is not None
    assert len({tuple(run["shapes"]["x"]) for run in found.runs}) == 2


def test_json_for_machines(net: Path, tmp_path: Path) -> None:
    data = json.loads(call("import", net, "-o", tmp_path / "out", "--json").stdout)
    assert data["verified"]
    assert data["witness"] == "onnxruntime"
    assert data["mxnet"] == []
    assert len(data["files"]) == 2


def test_wrong_numbers_are_never_written(net: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "out-symbol.json").write_text("mine")
    right = OPS["softmax"].compute
    monkeypatch.setattr(OPS["softmax"], "compute", lambda op, *a, **k: right(op, *a, **k) * 1.01)
    result = call("import", net, "-o", tmp_path / "out", code=1)
    assert "first difference at node y (softmax)" in result.stdout
    assert (tmp_path / "out-symbol.json").read_text() == "mine"
    assert not (tmp_path / "out-0000.params").exists()


def test_every_node_that_cannot_be_read_is_listed(tmp_path: Path) -> None:
    path = tmp_path / "x.onnx"
    text = NET.replace("r = Relu (h)", "q = Nothing (h)  s = AlsoNothing (q)  r = Relu (s)")
    onnx.save(onnx.parser.parse_model(text), path)
    data = json.loads(call("import", path, "--json", code=2).stdout)
    assert [p["operator"] for p in data["problems"]] == ["Nothing", "AlsoNothing"]
    assert not list(tmp_path.glob("*.params"))
    assert "2 do not convert" in call("inspect", path, code=2).stdout


def test_inputs_that_do_not_fit_are_all_named(net: Path) -> None:
    text = call("import", net, "--input", "z:1,2", "--input", "q:1", code=2).stderr
    assert "unknown input z" in text
    assert "unknown input q" in text
    assert "no such file" in call("import", net.with_name("absent.onnx"), code=2).stderr
    assert "symbol already" in call("import", _symbol(net), code=2).stderr


def _symbol(net: Path) -> Path:
    path = net.with_name("s-symbol.json")
    mx.sym.relu(mx.sym.var("x")).save(str(path))
    return path


def test_a_model_that_onnxruntime_refuses_is_held_against_onnx_itself(tmp_path: Path) -> None:
    newest = onnx.defs.onnx_opset_version()
    path = tmp_path / "new.onnx"
    onnx.save(onnx.parser.parse_model(NET.replace('"": 17', f'"": {newest + 1 - 1}').replace("ir_version: 8", "ir_version: 10")), path)
    found = bridge.import_onnx(path)
    assert found.verified
    if found.witness != "onnxruntime":
        assert any("compared with onnx's reference evaluator" in w for w in found.warnings)


def test_the_older_place_gives_symbol_and_block(net: Path) -> None:
    symbol, arguments, auxiliary = mx.contrib.onnx.import_model(str(net))
    assert symbol.list_arguments()
    assert sorted(arguments) == ["b", "w"]
    assert auxiliary == {}
    x = mx.nd.random.uniform(shape=(2, 4))
    got = mx.contrib.onnx.import_to_gluon(str(net), ctx=mx.cpu())(x)
    np.testing.assert_allclose(got.asnumpy(), bridge.run(net, {"x": x})["y"], rtol=1e-5)


def test_an_imported_network_learns(net: Path) -> None:
    block = mx.contrib.onnx.import_to_gluon(str(net), ctx=mx.cpu())
    trainer = mx.gluon.Trainer(block.collect_params(), "sgd", {"learning_rate": 0.05})
    x, y = mx.nd.random.uniform(shape=(8, 4)), mx.nd.array([0, 1, 2, 0, 1, 2, 0, 1])
    losses = []
    for _ in range(5):
        with mx.autograd.record():
            loss = -mx.nd.log(mx.nd.pick(block(x), y) + 1e-6)
        loss.backward()
        trainer.step(8)
        losses.append(float(loss.mean().asscalar()))
    assert losses[-1] < losses[0]
