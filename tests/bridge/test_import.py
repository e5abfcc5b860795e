"""gluonnx import: an ONNX model becomes a symbol with parameters, verified before the files appear."""

import importlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
from typer.testing import CliRunner

import bridge
import converters
import hybrid as mx
from bridge import importing, onnx_backend, opsets
from bridge.cli import app
from bridge.engines import OnnxEngine
from bridge.onnx_backend import prepare
from converters.importer import Imported, import_model
from converters.names import Names
from converters.onnx_types import kind_of
from converters.writer import Converted
from hybrid import native
from hybrid.core.op import OPS, Spec
from tests.bridge.repros import Repro

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


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Parameters of several dtypes, and an input of whole numbers."""
    text = """<ir_version: 8, opset_import: ["": 17]> net (int64[n] i) => (float[n, 2] y, int64[n] z)
    <float[3, 2] t = {1, 2, 3, 4, 5, 6}, float16[5] h = {1, 2, 3, 4, 5}, int64[1] one = {1}>
    { y = Gather (t, i)  z = Add (i, one) }"""
    path = tmp_path / "table.onnx"
    onnx.save(onnx.parser.parse_model(text), path)
    return path


def test_inspect_counts_parameters_and_their_bytes(table: Path) -> None:
    found = bridge.inspect(table)
    assert (found.parameters, found.parameter_bytes) == (6 + 5 + 1, 6 * 4 + 5 * 2 + 8)
    assert found.dtypes == {"float32": 1, "float16": 1, "int64": 1}


def test_a_shape_alone_leaves_the_dtype_that_the_model_declares(table: Path) -> None:
    model = onnx.load(table)
    del model.graph.node[0], model.graph.output[0]
    onnx.save(model, table)
    assert bridge.verify(table, table, inputs={"i": (4,)}).equivalent


def test_strict_commands_end_with_the_status_of_what_says_little(tmp_path: Path) -> None:
    """The output is 0 everywhere; what lies before it agrees, which is enough without --strict."""
    text = """<ir_version: 8, opset_import: ["": 17]> net (float[2, 3] x) => (float[2, 3] y)
    <float big = {3e38}> { h = Exp (x)  d = Sub (h, big)  y = Relu (d) }"""
    dead, found = tmp_path / "dead.onnx", tmp_path / "found"
    onnx.save(onnx.parser.parse_model(text), dead)
    for options in ((), ("--json",)):
        call("import", dead, "-o", found, "--strict", *options, code=4)
        assert not list(tmp_path.glob("found-*"))
    call("import", dead, "-o", found)
    call("convert", found, "--input", "x:2,3", "-o", tmp_path / "back.onnx", "--strict", code=4)
    assert not (tmp_path / "back.onnx").exists()


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


def made(tmp_path: Path, text: str, opset: int = 17) -> Path:
    """A model file."""
    path = tmp_path / "made.onnx"
    onnx.save(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": {opset}]>\n{text}'), path)
    return path


def files(folder: Path) -> list[str]:
    """Names of all files of symbols and parameters, hidden ones too."""
    return sorted(f.name for f in folder.iterdir() if not f.name.endswith((".onnx", ".npz", ".md")))


def test_json_for_machines(net: Path, tmp_path: Path) -> None:
    data = json.loads(call("import", net, "-o", tmp_path / "out", "--json").stdout)
    assert data["verified"]
    assert data["witness"] == "onnxruntime"
    assert data["mxnet"] == []
    assert len(data["files"]) == 2


@pytest.mark.usefixtures("by_numpy")
def test_wrong_numbers_are_never_written(net: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "out-symbol.json").write_text("mine")
    right = OPS["softmax"].compute
    monkeypatch.setattr(OPS["softmax"], "compute", lambda op, *a, **k: right(op, *a, **k) * 1.01)
    result = call("import", net, "-o", tmp_path / "out", code=1)
    assert "y (softmax), tensor y" in result.stdout
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
    onnx.save(
        onnx.parser.parse_model(
            NET.replace('"": 17', f'"": {newest + 1 - 1}').replace("ir_version: 8", "ir_version: 10")
        ),
        path,
    )
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


@pytest.mark.parametrize(
    ("declared", "text"),
    [
        ("seq(float[?]) x", "y = ConcatFromSequence <axis = 0> (x)"),
        ("string[n] x", 'y = StringNormalizer <case_change_action = "LOWER"> (x)'),
        ("optional(float[2]) x", "y = OptionalGetElement (x)"),
    ],
)
def test_words_and_sequences_are_imported_without_verification_only(declared: str, text: str, tmp_path: Path) -> None:
    kind = "string" if "string" in declared else "float"
    path = made(tmp_path, f"net ({declared}) => ({kind}[m] y) {{ {text} }}")
    error = call("import", path, code=2).stderr
    assert f"input x takes {declared.split('(')[0].split('[')[0]}" in error.replace("tensor(string)", "string")
    assert "--no-verify" in error
    assert not files(tmp_path)
    data = json.loads(call("import", path, "--no-verify", "--json").stdout)
    assert not data["verified"]
    assert data["witness"] == ""
    assert files(tmp_path) == ["made-0000.params", "made-symbol.json"]


@pytest.mark.parametrize(
    "text",
    [
        "net () => (float[2] y) { y = Constant <value = float[2] {1, 2}> () }",
        "net () => (float[2] y) <float[2] w = {1, -2}> { y = Relu (w) }",
        "net (float x) => (float y) { y = Relu (x) }",
        "net (float[0, 3] x) => (float[0, 3] y) { y = Relu (x) }",
        "net (float[2] x) => (float[2] x) { }",
        "net (float[2] x, float[3] nobody_reads_it) => (float[2] y) { y = Relu (x) }",
        "net (int64[n] i) => (float[n, 2] y) <float[3, 2] w = {1, 2, 3, 4, 5, 6}> { y = Gather (w, i) }",
    ],
    ids=["constant", "stored", "rank 0", "size 0", "input as output", "unread input", "places"],
)
def test_models_of_unusual_inputs(text: str, tmp_path: Path) -> None:
    found = bridge.import_onnx(made(tmp_path, text), output=tmp_path / "out")
    assert found.verified
    assert files(tmp_path) == ["out-0000.params", "out-symbol.json"]


def test_random_numbers_are_refused_for_verification(tmp_path: Path) -> None:
    path = made(tmp_path, "net (float[2, 3] x) => (float[2, 3] y) { n = RandomNormalLike (x)  y = Add (x, n) }")
    error = call("import", path, code=2).stderr
    assert "the model draws random numbers, at n" in error
    assert "--no-verify" in error
    assert not files(tmp_path)
    call("import", path, "--no-verify")
    assert files(tmp_path) == ["made-0000.params", "made-symbol.json"]


SIZES = "net (float[n, k] x, float[m] z) => (float[p, q] y)" + (
    " { s = Constant <value = int64[2] {-1, 7}> ()  r = Reshape (x, s)  y = Add (r, z) }"
)


def test_sizes_that_cannot_be_guessed_are_asked_for(tmp_path: Path) -> None:
    path = made(tmp_path, SIZES)
    error = call("import", path, code=2).stderr
    assert "the model leaves sizes open" in error
    assert "--input NAME:D1,D2" in error
    assert not files(tmp_path)
    call("import", path, "--input", "x:3,14", "--input", "z:7")
    np.savez(tmp_path / "a.npz", x=np.ones((2, 7), np.float32), z=np.ones(7, np.float32))
    np.savez(tmp_path / "b.npz", x=np.ones((4, 21), np.float32), z=np.ones(1, np.float32))
    data = json.loads(
        call(
            "import",
            path,
            "-o",
            path.with_name("made"),
            "--inputs",
            tmp_path / "a.npz",
            "--also",
            tmp_path / "b.npz",
            "--json",
        ).stdout
    )
    assert [run["shapes"]["x"] for run in data["verification"]["runs"]] == [[2, 7], [4, 21]]


@pytest.mark.parametrize("axis", ["batch", "samples", ""])
def test_the_only_axis_of_an_input_is_tried_as_a_length_too(axis: str, tmp_path: Path) -> None:
    declared = f"float[{axis or 'm'}] x"
    frames = "{ s = Constant <value = int64[2] {-1, 160}> ()  r = Reshape (x, s)  y = ReduceMean <axes = [1]> (r) }"
    path = made(tmp_path, f"net ({declared}) => (float[p, q] y) {frames}")
    if not axis:
        model = onnx.load(path)
        model.graph.input[0].type.tensor_type.shape.dim[0].ClearField("dim_param")
        onnx.save(model, path)
    data = json.loads(call("import", path, "-o", tmp_path / "out", "--json").stdout)
    sizes = [run["shapes"]["x"][0] for run in data["verification"]["runs"]]
    assert len({*sizes}) > 1
    assert not any(size % 160 for size in sizes)


def test_an_unknown_rank_is_asked_for(tmp_path: Path) -> None:
    path = made(tmp_path, "net (float[] x) => (float[] y) { y = Relu (x) }")
    assert "give the shape of input x" in call("import", path, code=2).stderr
    call("import", path, "--input", "x:2,3,4")


@pytest.mark.usefixtures("by_numpy")
def test_wrong_numbers_leave_a_reproduction_and_a_report(
    net: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = OPS["softmax"].compute
    monkeypatch.setattr(OPS["softmax"], "compute", lambda op, *a, **k: right(op, *a, **k) * 1.01)
    call("import", net, "-o", tmp_path / "out", "--repro", tmp_path / "repro", "--report", tmp_path / "r.md", code=1)
    assert "`y` (softmax)" in (tmp_path / "r.md").read_text()
    found = Repro(tmp_path / "repro")
    np.testing.assert_allclose(found.ours(), found.want["y"], rtol=1e-6)
    np.testing.assert_allclose(found.theirs() * 1.01, found.want["y"], rtol=1e-6)


def test_a_report_is_written(net: Path, tmp_path: Path) -> None:
    call("import", net, "--report", tmp_path / "r.md")
    assert "equivalent to onnxruntime" in (tmp_path / "r.md").read_text()


@pytest.mark.parametrize("damage", ["short", "empty", "text"])
def test_damaged_files(damage: str, net: Path, tmp_path: Path) -> None:
    whole = net.read_bytes()
    net.write_bytes({"short": whole[:-30], "empty": b"", "text": b"<html>not found</html>"}[damage])
    (tmp_path / "net-0000.params").write_bytes(b"mine")
    error = call("import", net, code=2).stderr
    assert "net.onnx" in error.replace("\n", "")
    assert files(tmp_path) == ["net-0000.params"]
    assert (tmp_path / "net-0000.params").read_bytes() == b"mine"


def test_the_folder_must_be_there(net: Path, tmp_path: Path) -> None:
    assert "no such folder" in call("import", net, "-o", tmp_path / "no" / "out", code=2).stderr


def test_weights_beside_the_file(tmp_path: Path) -> None:
    model = onnx.parser.parse_model(NET)
    for tensor in model.graph.initializer:  # only raw bytes go to another file
        tensor.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(tensor), tensor.name))
    onnx.save(model, tmp_path / "net.onnx", save_as_external_data=True, location="w.bin", size_threshold=0)
    assert bridge.import_onnx(tmp_path / "net.onnx", output=tmp_path / "out").verified
    (tmp_path / "w.bin").unlink()
    before = (tmp_path / "out-0000.params").read_bytes()
    assert "w.bin" in call("import", tmp_path / "net.onnx", "-o", tmp_path / "out", code=2).stderr
    assert (tmp_path / "out-0000.params").read_bytes() == before


def test_nothing_is_written_when_no_output_is_asked_for(net: Path, tmp_path: Path) -> None:
    found = bridge.import_onnx(net.read_bytes())
    assert found.verified
    assert found.files == ()
    assert not files(tmp_path)


def test_a_default_of_the_file_can_be_replaced(tmp_path: Path) -> None:
    path = made(tmp_path, "net (float[2] x, float[2] b) => (float[2] y) <float[2] b = {1, 2}> { y = Add (x, b) }")
    feeds = {"x": np.array([1, 1], np.float32), "b": np.array([5, 5], np.float32)}
    found = bridge.import_onnx(path, inputs=feeds)
    assert found.verified and found.verification is not None
    assert found.verification.runs[0]["shapes"] == {"x": (2,), "b": (2,)} and found.verification.runs[0]["seed"] is None
    assert prepare(onnx.load(path)).run(feeds)[0].tolist() == [6, 6]


# -- files that had to be repaired ----------------------------------------------------------------------------------------


def test_a_broken_file_is_held_against_what_is_written_anew(tmp_path: Path) -> None:
    path = made(tmp_path, "net (float[n, 4] x) => (float[n, 4] y) { y = Clip <min = -1.0, max = 1.0> (x) }", opset=13)
    found = bridge.import_onnx(path)
    assert found.witness == "onnxruntime on the repaired model"
    assert found.repairs == ("y: attribute min, max belongs to an older opset than 13: read as there",)
    assert any("compared with onnxruntime on the repaired model: onnxruntime" in w for w in found.warnings)


def test_a_repair_that_departs_from_the_file_says_what_it_was_compared_with(tmp_path: Path) -> None:
    """The first witness that is asked is another than the file, and nothing failed."""
    text = "mxnet_converted_model (float[2, 3, 4] x) => (float[2, 3, 4] y) { y = Softmax <axis = 1> (x) }"
    found = bridge.import_onnx(made(tmp_path, text, opset=8))
    assert found.verified
    assert found.witness == "onnxruntime on the repaired model"
    assert "compared with onnxruntime on the repaired model" in found.warnings
    plain = bridge.import_onnx(made(tmp_path, text.replace("mxnet_converted_model", "net"), opset=8))
    assert plain.witness == "onnxruntime"
    assert not any("compared with" in w for w in plain.warnings)


def test_of_a_broken_file_s_input_a_dtype_alone_may_be_given(tmp_path: Path) -> None:
    text = "net (float[n, 4] x, float[4] s) => (float[n, 4] y) { c = Clip <min = -1.0, max = 1.0> (x) y = Mul (c, s) }"
    given = {"x": Spec((2, 4), None), "s": Spec(None, np.dtype(np.float32))}
    found = bridge.import_onnx(made(tmp_path, text, opset=13), inputs=given)
    assert found.witness == "onnxruntime on the repaired model"


def test_harmless_repairs_keep_the_file_as_witness(tmp_path: Path) -> None:
    path = made(tmp_path, "net (float[n, 4] x) => (float[n, 4] y) { y = Relu (h)  h = Neg (x) }")
    found = bridge.import_onnx(path)
    assert found.repairs
    assert found.witness == "onnxruntime"


@pytest.mark.usefixtures("by_numpy")
def test_wrong_numbers_of_a_repaired_file_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right = OPS["softmax"].compute
    monkeypatch.setattr(OPS["softmax"], "compute", lambda op, *a, **k: right(op, *a, **k) * 1.01)
    text = "mxnet_converted_model (float[2, 3, 4] x) => (float[2, 3, 4] y) { y = Softmax <axis = 1> (x) }"
    call("import", made(tmp_path, text, opset=8), code=1)
    assert not files(tmp_path)


def test_what_an_exporter_left_out_is_said(tmp_path: Path) -> None:
    text = "mxnet_converted_model (float[2, 3, 4, 4] x) => (float[2, 3, 4, 4] y) "
    pool = "{ y = AveragePool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (x) }"
    found = bridge.import_onnx(made(tmp_path, text + pool, opset=8))
    assert found.witness == "onnxruntime on the repaired model"
    assert any("count_include_pad" in w for w in found.warnings)
    bn = "<float[3] g = {1, 2, 3}, float[3] z = {0, 0, 0}, float[3] o = {1, 1, 1}> { y = BatchNormalization (x, g, z, z, o) }"
    assert any("fix_gamma" in w for w in bridge.import_onnx(made(tmp_path, text + bn, opset=8)).warnings)
    lost = made(
        tmp_path,
        text.replace("float[2, 3, 4, 4] y", "float[2, 3, 3, 3] y") + "{ y = MaxPool <kernel_shape = [3, 3]> (x) }",
        8,
    )
    assert "pooling_convention='full'" in call("import", lost, code=2).stderr


def test_a_size_that_is_given_holds_for_axes_of_the_same_name(tmp_path: Path) -> None:
    text = """two (float[batch, n] x, float[batch, n] z, float[m] free) => (float[batch, n] y, float[m] w)
    { y = Add (x, z)  w = Neg (free) }"""
    found = bridge.import_onnx(made(tmp_path, text), inputs={"x": (3, 5)}).verification
    assert found is not None
    assert [(run["shapes"]["z"], run["shapes"]["x"]) for run in found.runs] == [((3, 5), (3, 5))] * 4
    assert len({tuple(run["shapes"]["free"]) for run in found.runs}) == 2


def test_sizes_that_do_not_go_together_are_bad_input(tmp_path: Path) -> None:
    path = made(tmp_path, "two (float[a] x, float[b] z) => (float[c] y) { y = Add (x, z) }")
    text = call("import", path, "--input", "x:3", "--input", "z:4", code=2).output
    assert "broadcast" in text
    assert not (tmp_path / "made-symbol.json").exists()


def test_further_inputs_of_other_names_are_named(net: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "other.npz", image=np.zeros(3, np.float32))
    text = call("import", net, "--also", tmp_path / "other.npz", code=2).output
    assert "unknown input image: the model takes x" in text


def test_a_report_that_cannot_be_written_stops_before_the_work(net: Path, tmp_path: Path) -> None:
    for report, said in (("gone/report.md", "no such folder"), ("report.pdf", "ends in .html, .md or .json")):
        assert said in call("import", net, "-o", tmp_path / "out", "--report", tmp_path / report, code=2).output
    assert not list(tmp_path.glob("out*"))


def test_thresholds_of_boxes_are_drawn_where_they_lie(tmp_path: Path) -> None:
    text = """nms (float[1, n, 4] boxes, float[1, 2, n] scores, int64 most, float[1] overlap) => (int64[k, 3] y)
    { y = NonMaxSuppression (boxes, scores, most, overlap) }"""
    assert bridge.import_onnx(made(tmp_path, text)).verified


def test_a_gather_from_no_rows_at_run_time_is_exported(tmp_path: Path) -> None:
    text = """gather (float[n, 4] x, bool[n] keep, int64[k] at) => (float[k, 4] y)
    { rows = Compress <axis = 0> (x, keep)  y = Gather (rows, at) }"""
    feeds = {"x": np.zeros((3, 4), np.float32), "keep": np.zeros(3, bool), "at": np.zeros(0, np.int64)}
    bridge.import_onnx(made(tmp_path, text), output=tmp_path / "out", inputs=feeds)
    assert bridge.convert(tmp_path / "out", inputs=feeds).verified


def test_without_a_prefix_nothing_is_written_over(net: Path) -> None:
    call("import", net)
    symbol, params = net.with_name("net-symbol.json"), net.with_name("net-0000.params")
    stored = params.read_bytes()
    symbol.write_text("mine")
    error = " ".join(call("import", net, code=2).stderr.split())
    assert "net-symbol.json" in error.replace(" ", "")
    assert "there already; give a prefix with -o" in error
    assert (symbol.read_text(), params.read_bytes()) == ("mine", stored)
    call("import", net, "-o", net.with_name("net"))
    assert symbol.read_text() != "mine"


# -- sizes that are made up, and what is told --------------------------------------------------------------------------------------


def imported(text: str) -> Imported:
    return import_model(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]>\n{text}'))


def test_sizes_for_axes_that_are_open() -> None:
    """The first axis, and any of the name of a first axis, has the one size; all others the other; what is given holds by name."""
    found = imported("""net (float[n, h, 3] a, float[h, n] b, int64[m] c, float[4] d)
    => (float[n] y, float[h] z, int64[m] w, float[4] v)
    { y = Identity (a)  z = Identity (b)  w = Identity (c)  v = Identity (d) }""")
    f4, i8 = np.dtype(np.float32), np.dtype(np.int64)

    def sized(specs: dict[str, Spec]) -> dict[str, Spec]:
        return {n: importing._with_sizes(n, found, specs, 2, 8) for n in found.inputs}

    assert sized({}) == {"a": Spec((2, 2, 3), f4), "b": Spec((2, 2), f4), "c": Spec((2,), i8), "d": Spec((4,), f4)}
    given = {"a": Spec((5, 7, 3)), "c": Spec((9,), np.dtype(np.int32))}
    assert importing._given_sizes(found, given) == {"n": 5, "h": 7, "m": 9}
    assert sized(given) == {
        "a": Spec((5, 7, 3), f4), "b": Spec((7, 5), f4), "c": Spec((9,), np.dtype(np.int32)), "d": Spec((4,), f4),
    }  # fmt: skip
    other = imported(
        """net (float[n, h, w] a, float[w, 3] b) => (float[n] y, float[w] z) { y = Identity (a)  z = Identity (b) }"""
    )
    assert [importing._with_sizes(n, other, {}, 2, 8).shape for n in other.inputs] == [(2, 8, 2), (2, 3)]
    assert importing._given_sizes(other, {"b": Spec((6, 3)), "unknown": Spec((1,))}) == {"w": 6}
    assert importing._with_sizes("a", other, {"b": Spec((6, 3))}, 2, 8).shape == (2, 8, 6)
    apart = imported("m (float[x_1, ?] x, float[?, x_2, ?] y) => (float[a, b] z) { z = Add (x, x)  w = Neg (y) }")
    dims = importing.rebuild(apart).graph.input[0].type.tensor_type.shape.dim
    assert len({d.dim_param for d in dims}) == 2 and dims[0].dim_param == "x_1"
    taken = Names(("x_3",))
    assert importing._with_names("x", Spec(("?", 3, "n", "?"), f4), taken) == Spec(("x_0", 3, "n", "x_3_1"), f4)
    assert importing._with_names("x", Spec(None, f4), taken) == Spec(None, f4)


def test_everything_that_an_import_tells(net: Path, tmp_path: Path) -> None:
    also = [{"x": np.full((6, 4), 0.25, np.float32)}]
    found = bridge.import_onnx(net, output=tmp_path / "out", also=also, seed=3)
    assert (found.model, found.opset, found.witness, found.verified) == ("net", 17, "onnxruntime", True)
    assert found.files == (str(tmp_path / "out-symbol.json"), str(tmp_path / "out-0000.params"))
    assert found.inputs == {"x": {"shape": ["batch", 4], "dtype": "float32"}} and found.outputs == {
        "y": {"shape": ["batch", 3], "dtype": "float32"}
    }
    symbol = mx.sym.load(tmp_path / "out-symbol.json")
    kinds = [n["op"] for n in json.loads(symbol.tojson())["nodes"] if n["op"] != "null"]
    assert found.operators == {k: kinds.count(k) for k in kinds}
    assert (found.parameters, found.bytes) == (15, sum(Path(f).stat().st_size for f in found.files))
    assert (found.repairs, found.mxnet, found.warnings) == ((), (), ())
    assert list(found.seconds) == ["read", "import", "write", "verify"]
    assert found.verification is not None
    assert [(r["seed"], r["shapes"]["x"][0]) for r in found.verification.runs] == [
        (3, 2),
        (4, 3),
        (None, 6),
        (3, 2),
        (3, 2),
    ]
    bare = bridge.import_onnx(onnx.load(net), verify=False)
    assert (bare.model, bare.files, bare.bytes, bare.verification, bare.witness) == ("net", (), 15 * 4, None, "")
    assert bare.as_dict()["verification"] is None and found.as_dict()["verification"]["equivalent"]
    given = bridge.import_onnx(net, inputs={"x": (5, 4)}, seed=1).verification
    assert given is not None and [(r["seed"], r["shapes"]["x"]) for r in given.runs] == [(1, (5, 4))] * 3


def test_what_keeps_mxnet_from_loading() -> None:
    x = mx.sym.var("x")
    plain = mx.sym.relu(x).graph
    params = {"a": np.zeros(1, np.float32), "b": np.zeros(1, np.complex64)}
    assert list(importing.not_in_mxnet(plain, params)) == ["parameter b is complex64"]
    text = """net (float[2, 2] x, uint8[2] i) => (float[2, 2] y, uint8[2] c)
    { a = Shrink (x)  b = Shrink (a)  c = BitShift <direction = "LEFT"> (i, i)  y = Celu (b) }"""
    found = imported(text)
    own = [n.op.name for n in found.graph.nodes if n.op is not None and n.op.name.startswith("_onnx_")]
    assert own
    lacking = list(importing.not_in_mxnet(found.graph, {}))
    assert sorted(lacking) == sorted({f"{n}, {own.count(n)} times" if own.count(n) > 1 else n for n in own})


# -- what is imported, and what it is held against ---------------------------------------------------------------------------------


def test_models_that_come_without_a_file(net: Path) -> None:
    proto = onnx.load(net)
    for name, want in (("net", "net"), ("", "model")):
        proto.graph.name = name
        for source in (proto, proto.SerializeToString()):
            found = bridge.import_onnx(source, also=[{"x": (5, 4)}, {"x": (6, 4)}], seed=4)
            assert (found.model, found.verified, found.witness, found.files) == (want, True, "onnxruntime", ())
            assert found.verification is not None
            runs = [(r["seed"], r["shapes"]["x"]) for r in found.verification.runs]
            assert runs == [(4, (2, 4)), (5, (3, 4)), (6, (5, 4)), (7, (6, 4)), (4, (2, 4)), (4, (2, 4))]
    # weights that are left in the bytes when these are read
    large = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17]> m (float[3, 2000] x) => (float[3, 2000] y) { y = Mul (x, w) }'
    )
    weights = np.linspace(-1, 1, 2000).astype(np.float32)
    large.graph.initializer.append(onnx.numpy_helper.from_array(weights, "w"))
    for source in (large, large.SerializeToString()):
        found = bridge.import_onnx(source)
        assert (found.verified, found.witness, found.parameters) == (True, "onnxruntime", 2000)
    with pytest.raises(bridge.BadInput) as caught:
        bridge.import_onnx(net, inputs={"p": (2,)}, also=[{"x": (5, 4), "q": (1,)}, {"r": (1,)}])
    assert caught.value.problems == tuple(f"unknown input {n}: the model takes x" for n in "pqr")


def test_states_are_told_from_arguments(tmp_path: Path) -> None:
    text = """net (float[n, 3, 4] x) => (float[n, 3, 4] y) <float[3] g = {1, 2, 3}, float[3] b = {4, 5, 6},
    float[3] m = {0.5, 1, 2}, float[3] v = {1, 4, 9}> { y = BatchNormalization (x, g, b, m, v) }"""
    bridge.import_onnx(made(tmp_path, text), output=tmp_path / "out")
    stored = {n: a.asnumpy().tolist() for n, a in mx.nd.load(str(tmp_path / "out-0000.params")).items()}
    want = {"arg:g": [1, 2, 3], "arg:b": [4, 5, 6], "aux:m": [0.5, 1, 2], "aux:v": [1, 4, 9]}
    assert stored == want


def test_a_tolerance_decides_an_import_too(net: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right = OPS["softmax"].compute
    monkeypatch.setattr(OPS["softmax"], "compute", lambda op, *a, **k: right(op, *a, **k) * 1.01)
    level = native.use(None)
    try:
        with pytest.raises(bridge.NotEquivalent):
            bridge.import_onnx(net, tolerance=(1e-3, 1e-3))
        assert bridge.import_onnx(net, tolerance=(1e-1, 1e-1)).verified
    finally:
        native.use(level)


def test_what_nobody_runs_is_refused(net: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As input that may be at fault where some was given."""

    def closed(self: object) -> None:
        raise bridge.EngineError("does not open")

    monkeypatch.setattr(OnnxEngine, "open", closed)
    with pytest.raises(bridge.EngineError, match=r"^does not open$"):
        bridge.import_onnx(net)
    with pytest.raises(
        bridge.BadInput, match=r"^does not open; the sizes or values that were given may not go together"
    ):
        bridge.import_onnx(net, inputs={"x": (2, 4)})


def test_repaired_models_whose_rank_is_given(tmp_path: Path) -> None:
    """Also beside an input that nothing reads, which the model that is written anew has no more."""
    text = "mxnet_converted_model (float[] x, float[k] unread) => (float[] y) { y = Softmax <axis = 2> (x) }"
    path = made(tmp_path, text, opset=11)
    for inputs in (
        {"x": (2, 3, 4), "unread": (5,)},
        {"x": np.ones((2, 3, 4), np.float32), "unread": np.ones(2, np.float32)},
    ):
        found = bridge.import_onnx(path, inputs=inputs)
        assert found.verified and found.witness == "onnxruntime on the repaired model"
    read = import_model(path)
    with pytest.raises(converters.ConversionError, match="cannot tell the shape of x"):
        importing.rebuild(read)
    model = importing.rebuild(read, 15, {"x": Spec(("?", 3, "?")), "unread": Spec((2,))})
    assert [(i.name, len(i.type.tensor_type.shape.dim)) for i in model.graph.input] == [("x", 3)]
    assert model.opset_import[0].version == 15
    assert importing.rebuild(imported(f"{NET.split(chr(10), 1)[1]}")).opset_import[0].version > 15


def test_sizes_of_axes_without_names_and_inputs_without_types() -> None:
    found = imported(
        "net (float[?, ?, 3] a, float[n, ?] b) => (float[?] y, float[?] z) { y = Identity (a)  z = Identity (b) }"
    )
    assert [importing._with_sizes(n, found, {}, 2, 8).shape for n in found.inputs] == [(2, 8, 3), (2, 8)]
    given = {"a": Spec((5, 6, 3)), "b": Spec(None, np.dtype(np.float32)), "c": Spec((7,))}
    assert importing._given_sizes(found, given) == {}
    assert importing._given_sizes(found, {"b": Spec((7, 8))}) == {"n": 7}
    assert importing._given_sizes(found, {"b": Spec(("m", 8))}) == {}
    assert [importing._with_sizes(n, found, given, 2, 8).shape for n in found.inputs] == [(5, 6, 3), (2, 8)]
    for kind, objects in (
        ("", False),
        ("tensor(float)", False),
        ("tensor(string)", True),
        ("seq(tensor(float))", True),
    ):
        assert importing._holds_objects(kind_of(kind) if kind else onnx.TypeProto()) == objects
    words = imported("net (float[2] x, string[2] unread) => (float[2] y) { y = Relu (x) }")
    importing._refuse_objects(words)
    assert importing._describe(words, "unread") == {"shape": [2], "dtype": "tensor(string)"}


def test_what_inspect_tells_of_models_of_every_kind(tmp_path: Path) -> None:
    text = "net (float[2, 4] x) => (float[2, 4] y) { a = Shrink (x)  y = Clip <min = -1.0, max = 1.0> (a) }"
    path = made(tmp_path, text, opset=13)
    for source in (path, onnx.load(path)):
        found = bridge.inspect(source)
        assert found.repairs == ("y: attribute min, max belongs to an older opset than 13: read as there",)
        assert [m.split(",")[0] for m in found.mxnet] == ["_onnx_Shrink"]
        assert (found.opset, found.kind, found.problems) == (13, "onnx", ())
    proto = onnx.load(path)
    for domains, opset in ((["ai.onnx.ml", ""], 13), (["ai.onnx"], 13), (["ai.onnx.ml"], None)):
        del proto.opset_import[:]
        proto.opset_import.extend(onnx.helper.make_opsetid(d, 13 if d in ("", "ai.onnx") else 3) for d in domains)
        assert (
            importlib.import_module("bridge.inspect")._inspect_onnx(bridge.models.Model("m", proto=proto), None).opset
            == opset
        )
    layer = mx.sym.FullyConnected(mx.sym.var("x"), mx.sym.var("w", shape=(2, 3)), no_bias=True, num_hidden=2, name="fc")
    assert bridge.inspect(mx.sym.relu(layer), {}, inputs={"x": (4, 3), "w": (2, 3)}).checked == "whole"
    found = bridge.inspect(mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=2, name="fc"), {}, inputs={"x": (4, 3)})
    assert (found.missing, found.checked) == (("fc_weight", "fc_bias"), "operators")


def test_what_a_trial_of_every_node_may_end_in(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, real = converters.Problem("n", "op", "why"), converters.convert
    for error, want in (
        (None, ()),
        (converters.UnsupportedModel([problem]), [problem]),
        (converters.ConversionError("broken"), [converters.Problem("net", "", "broken")]),
    ):

        def convert(*given: Any, error: Exception | None = error, **named: Any) -> Converted:
            if error is not None:
                raise error
            return real(*given, **named)

        monkeypatch.setattr(converters, "convert", convert)
        found = bridge.inspect(bridge.models.Model("net", mx.sym.sin(mx.sym.var("x")).graph), inputs={"x": (2,)})
        assert list(found.problems) == list(want) and found.checked == "whole"


def test_which_opsets_onnxruntime_opens(monkeypatch: pytest.MonkeyPatch) -> None:
    """Told by its words, when it opens none; anything else is an error."""
    for said, known in (
        ("Opset 99 is under development", True),
        ("Unsupported model IR version: 99", True),
        ("out of memory", False),
    ):

        def session(*_: object, said: str = said, **__: object) -> None:
            raise RuntimeError(said)

        monkeypatch.setattr(opsets.onnxruntime, "InferenceSession", session)
        if known:
            assert opsets.opens.__wrapped__(17) is False
        else:
            with pytest.raises(RuntimeError, match=said):
                opsets.opens.__wrapped__(17)
    monkeypatch.undo()
    monkeypatch.setattr(onnx, "IR_VERSION", 99)  # of an onnx that is newer than onnxruntime
    assert opsets.opens.__wrapped__(17) is True
    for newest in (18, 15):
        monkeypatch.setattr(opsets, "opens", lambda opset, newest=newest: opset <= newest)
        assert (opsets.newest(), opsets.default_opset()) == (newest, newest)
    monkeypatch.setattr(opsets, "opens", lambda opset: True)
    assert opsets.newest() == converters.newest_opset()
    assert opsets.default_opset() == converters.default_opset()


def test_the_backend_takes_one_array_and_leaves_outputs_out() -> None:
    x = np.float32([[1, -2, 3], [4, -5, 6]])
    one = prepare(
        onnx.parser.parse_model(
            '<ir_version: 8, opset_import: ["": 17]> m (float[2, 3] x) => (float[2, 3] y) { y = Neg (x) }'
        )
    )
    np.testing.assert_array_equal(one.run(x)[0], -x)
    np.testing.assert_array_equal(one.run((x,))[0], -x)
    node = onnx.helper.make_node("Split", ["x"], ["", "b"], axis=0)
    (got,) = onnx_backend.run_node(node, [x], opset_version=17)
    np.testing.assert_array_equal(got, x[1:])
    relu = onnx.helper.make_node("Relu", ["x"], ["y"])
    model = onnx.helper.make_model(
        onnx.helper.make_graph([relu], "g", [], [onnx.helper.make_empty_tensor_value_info("y")])
    )
    for call in (lambda d: onnx_backend.run_node(relu, [x], d), lambda d: onnx_backend.run_model(model, [x], d)):
        with pytest.raises(ValueError, match="got device 'CUDA', wanted CPU"):
            call("CUDA")
    np.testing.assert_array_equal(onnx_backend.run_node(relu, [x], "CPU:0")[0], np.maximum(x, 0))
    joined = onnx.helper.make_node("StringConcat", ["a", "b"], ["c"])
    (word,) = onnx_backend.run_node(joined, [np.array("one", object), np.array("two", object)], opset_version=20)
    assert isinstance(word, np.ndarray) and word.shape == () and word[()] == "onetwo"


def test_models_in_memory_are_written_too(net: Path, tmp_path: Path) -> None:
    for source in (onnx.load(net), net.read_bytes()):
        bridge.import_onnx(source, output=tmp_path / "out")
        assert sorted(p.name for p in tmp_path.glob("out*")) == ["out-0000.params", "out-symbol.json"]
        x = np.float32([[1, 2, 3, 4]])
        got = bridge.run(tmp_path / "out", {"x": x})
        np.testing.assert_allclose(next(iter(got.values())), bridge.run(net, {"x": x})["y"], rtol=1e-6)
