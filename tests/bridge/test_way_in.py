"""The first words to somebody with a model in hand: what was read, what is missing, and what to type instead."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from typer.testing import CliRunner

import bridge
import hybrid as mx
from bridge import cli, refusing
from tests.house.docs import ROOT, block, blocks
from tests.models.networks import networks

FOLDER = ROOT / "fixtures/models"
ONNX = ROOT / "fixtures/onnx"


def call(*arguments: object, code: int = 0) -> str:
    """The output, but for the address that an error ends in."""
    result = CliRunner().invoke(cli.app, [*map(str, arguments)])
    assert result.exit_code == code, result.output
    return re.sub(r"for more: gluonnx explain \S+\n\Z", "", result.output)


def saved(symbol: mx.sym.Symbol, folder: Path, name: str = "net", **arrays: np.ndarray) -> Path:
    symbol.save(str(folder / f"{name}-symbol.json"))
    mx.nd.save(str(folder / f"{name}-0000.params"), {f"arg:{n}": mx.nd.array(a) for n, a in arrays.items()})
    return folder / name


@pytest.fixture
def net(tmp_path: Path) -> Path:
    hidden = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=4, name="fc1")
    symbol = mx.sym.Activation(hidden, act_type="relu", name="relu1")
    rng = np.random.default_rng(0)
    return saved(symbol, tmp_path, fc1_weight=rng.normal(size=(4, 3)), fc1_bias=rng.normal(size=4))


# -- results ---------------------------------------------------------------------------------------------------------------


def test_a_result_is_six_lines_at_most(net: Path) -> None:
    said = call("convert", net, "--input", "data:2,3").splitlines()
    [compared] = [line for line in said if line.startswith("compared in ")]
    assert re.fullmatch(
        r"compared in 3 runs \(standard normal, wide, edges\): (the same numbers|off by \S+ of scale at most)",
        compared,
    )
    assert said == [
        f"read {net}-symbol.json and {net}-0000.params",
        "data (2,3) -> relu1_output (2,4)",
        compared,
        f"equivalent: wrote {net}.onnx ({Path(f'{net}.onnx').stat().st_size} bytes)",
    ]
    assert "max abs" in call("convert", net, "--input", "data:2,3", "-v")
    source = ROOT / "fixtures/sagemaker/detection.tar.gz"
    said = call("convert", source, "-o", net.parent / "d", "--no-verify").splitlines()
    assert len(said) <= 5  # none was compared
    assert said[0] == f"read {source} (model_algo_1-0000.params)"
    assert said[2].startswith("left out: loc_loss_output, cls_label_output (need label)")
    assert (net.parent / "d.onnx").exists()  # a name without an ending gets one


def test_the_newest_parameters_are_named(net: Path) -> None:
    for number in (3, 12):
        (net.parent / f"net-{number:04}.params").write_bytes(Path(f"{net}-0000.params").read_bytes())
    assert f"read {net}-symbol.json and {net}-0012.params" in call("convert", net, "--input", "data:2,3", "--no-verify")


# -- what is wrong ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "example"),
    [
        ("squeezenet", "data:1,3,224,224"),
        ("alexnet", "data:1,3,80,80"),  # which its first product takes, and 224 x 224 not
        ("conv3d_video", "data:1,2,16,112,112"),
        ("variable_attributes", "data:1,4,14,14"),
        ("linear_regression", "data:1,12"),
        ("text_cnn", "data:1,16"),
    ],
)
def test_sizes_that_are_proposed_fit_the_network(name: str, example: str, tmp_path: Path) -> None:
    with pytest.raises(bridge.BadInput, match=f"cannot tell the shape of input data; .*--input {example}$"):
        bridge.convert(FOLDER / name / "model")
    if name in ("squeezenet", "alexnet"):
        assert call("convert", FOLDER / name / "model", "--input", example, "--no-verify", "-o", tmp_path / "m.onnx")


def test_sizes_that_nobody_knows_are_words(tmp_path: Path) -> None:
    """A network for pictures of 32 x 100: no square one fits, and none is proposed."""
    data = mx.sym.Convolution(mx.sym.var("data"), kernel=(3, 3), num_filter=2, name="conv")
    net = mx.sym.FullyConnected(data, num_hidden=2, name="fc")
    shapes = dict(zip(net.list_arguments(), net.infer_shape(data=(1, 1, 32, 100))[0]))
    params = {n: np.zeros(s, np.float32) for n, s in shapes.items() if n != "data"}
    with pytest.raises(bridge.BadInput, match=r"--input data:1,1,HEIGHT,WIDTH$"):
        bridge.convert(net, params)
    assert bridge.convert(net, params, inputs={"data": (1, 1, 32, 100)}, verify=False).bytes


def test_channels_last_are_recognised() -> None:
    said = call("convert", FOLDER / "alexnet/model", "--input", "data:2,64,48,3", code=2)
    assert "data (2, 64, 48, 3): 64 channels, and the first convolution (conv1) wants 3; is it NHWC?" in said
    assert said.rstrip().endswith("try --input data:2,3,64,48")
    with pytest.raises(bridge.BadInput, match=r"5 channels, .* wants 3; try --input data:2,3,80,80"):
        bridge.convert(FOLDER / "alexnet/model", inputs={"data": (2, 5, 64, 64)})


def test_of_many_problems_a_few_are_printed(net: Path, tmp_path: Path) -> None:
    lonely = tmp_path / "lonely-symbol.json"
    lonely.write_bytes((FOLDER / "alexnet/model-symbol.json").read_bytes())
    said = call("convert", lonely, code=2).splitlines()
    assert len(said) == 6
    assert said[0].startswith(f"error: no .params file was found beside {lonely}, and conv1_weight, conv1_bias,")
    assert said[-1] == "... and 12 more"
    assert len(call("convert", lonely, "-v", code=2).splitlines()) == 17
    assert len(json.loads(call("convert", lonely, "--json", code=2))["problems"]) == 17


def test_a_dynamic_axis_without_a_name(net: Path) -> None:
    assert "axis 0 has no name; give it one, such as data:0=batch" in call(
        "convert", net, "--dynamic", "data:0", "--input", "data:2,3", code=2
    )


def test_outputs_that_there_are_not(net: Path) -> None:
    said = call("convert", net, "--outputs", "relu", "--input", "data:2,3", code=2)
    assert "no output 'relu' in the graph; did you mean relu1_output? (inspect --nodes lists all)" in said
    listing = json.loads(call("inspect", net, "--nodes", "--input", "data:2,3", "--json"))
    assert [n["node"] for n in listing["nodes"]] == ["fc1", "relu1"]
    assert listing["nodes"][0]["outputs"]["fc1_output"]["shape"] == [2, 4]
    assert "fc1_output    (2,4)          16  FullyConnected  fc1" in call(
        "inspect", net, "--nodes", "--input", "data:2,3"
    )
    assert "Conv" in call("inspect", ONNX / "torch_cnn_legacy/model.onnx", "--nodes")


# -- inputs and names ------------------------------------------------------------------------------------------------------


def test_an_input_that_the_parameters_hold(net: Path) -> None:
    symbol = mx.sym.load(f"{net}-symbol.json")
    arrays = {n: a.asnumpy() for n, a in mx.nd.load(f"{net}-0000.params").items()}
    held = saved(symbol, net.parent, "held", data=np.ones((2, 3)), **{n[4:]: a for n, a in arrays.items()})
    said = call("convert", held)
    assert f"note: data: taken from {held}-0000.params, as parameters; an input instead by --free data" in said
    assert not bridge.convert(held).inputs
    assert "--free data makes it an input" in call("convert", held, "--input", "data:2,3", code=2)
    result = bridge.convert(held, free="data", dynamic={"data": {0: "n"}})
    assert result.inputs == {"data": {"shape": ["n", 3], "dtype": "float32"}}
    assert result.verification is not None and result.verification.equivalent and not result.warnings
    with pytest.raises(bridge.BadInput, match="free nothing: no parameter; there are data"):
        bridge.convert(held, free="nothing")


def test_inputs_and_outputs_get_other_names(net: Path) -> None:
    call("convert", net, "--input", "data:2,3", "--rename", "data=pixels", "--rename", "relu1_output=scores")
    model = onnx.load(f"{net}.onnx")
    assert [i.name for i in model.graph.input] == ["pixels"]
    assert [o.name for o in model.graph.output] == ["scores"]
    x = np.float32([[1, 2, 3], [-1, 0, 1]])
    (got,) = bridge.run(f"{net}.onnx", {"pixels": x}).values()
    np.testing.assert_allclose(got, bridge.run(net, {"data": x})["relu1_output"], rtol=1e-6)
    assert bridge.verify(net, f"{net}.onnx", inputs={"data": x}).equivalent


@pytest.mark.parametrize(
    ("rename", "said"),
    [
        ("nope=x", "rename nope: no input or output; there are data, relu1_output"),
        ("data=fc1_weight", "fc1_weight is a name already"),
        ("data=fc1_output", "fc1_output is a name already"),
        ("relu1_output=data", "data is a name already"),
        ("data=relu1_output", "relu1_output is a name already"),
        ("data", "wanted OLD=NEW, such as fc1_output=logits"),
    ],
)
def test_names_that_cannot_be_given(rename: str, said: str, net: Path) -> None:
    assert said in call("convert", net, "--input", "data:2,3", "--rename", rename, code=2)


@pytest.mark.parametrize("name", ["torch_cnn_legacy", "keras_cnn", "hand_functions", "hand_control_flow", "mx191_cnn"])
def test_names_survive_the_way_to_mxnet_and_back(name: str, tmp_path: Path) -> None:
    model = onnx.load(ONNX / name / "model.onnx")
    stored = {i.name for i in model.graph.initializer}
    inputs, outputs = [i.name for i in model.graph.input if i.name not in stored], [o.name for o in model.graph.output]
    source, shapes = ONNX / name / "model.onnx", {}
    for _ in range(2):
        bridge.import_onnx(source, output=tmp_path / "net", verify=False)
        declared = bridge.inspect(source).inputs
        shapes = {n: tuple(d if isinstance(d, int) else 2 for d in s["shape"] or ()) for n, s in declared.items()}
        source = tmp_path / "back.onnx"
        found = bridge.convert(tmp_path / "net", inputs=shapes, output=source, verify=False)
        assert list(found.outputs) == outputs
        assert set(found.inputs) == set(inputs)


def test_a_network_with_kept_names_is_verified(tmp_path: Path) -> None:
    bridge.import_onnx(ONNX / "torch_cnn_legacy/model.onnx", output=tmp_path / "net")
    shape = bridge.inspect(ONNX / "torch_cnn_legacy/model.onnx").inputs["image"]["shape"]
    sizes = {"image": tuple(d if isinstance(d, int) else 2 for d in shape)}
    result = bridge.convert(tmp_path / "net", inputs=sizes, output=tmp_path / "x.onnx", rename={"logits": "scores"})
    assert list(result.outputs) == ["scores", "features"]
    assert result.verification is not None and result.verification.equivalent


@pytest.mark.parametrize("rename", ["logits_output=logits", "logits=logits", "image=image"])
def test_a_name_that_is_had_already_may_be_given(rename: str, tmp_path: Path) -> None:
    """The symbol's list_outputs() shows logits_output, and the file calls it logits by itself."""
    bridge.import_onnx(ONNX / "torch_cnn_legacy/model.onnx", output=tmp_path / "net", verify=False)
    symbol = mx.sym.load(f"{tmp_path / 'net'}-symbol.json")
    old, _, new = rename.partition("=")
    old = old if old in ("image", "logits") else symbol.list_outputs()[0]
    result = bridge.convert(
        tmp_path / "net", inputs={"image": (2, 3, 32, 32)}, output=tmp_path / "x.onnx", verify=False, rename={old: new}
    )
    assert (list(result.inputs), list(result.outputs)) == (["image"], ["logits", "features"])
    with pytest.raises(bridge.BadInput, match="features is a name already; take another"):
        bridge.convert(
            tmp_path / "net", inputs={"image": (2, 3, 32, 32)}, output=tmp_path / "y.onnx", rename={old: "features"}
        )


def test_names_are_given_at_import(tmp_path: Path) -> None:
    source, prefix = ONNX / "torch_cnn_legacy/model.onnx", tmp_path / "net"
    said = call("import", source, "-o", prefix, "--rename", "image=data", "--rename", "logits=fc_output")
    assert "equivalent" in said and "input data" in said
    symbol = mx.sym.load(f"{prefix}-symbol.json")
    assert symbol.list_arguments()[0] == "data"
    assert symbol.list_outputs()[0] == "fc_output"
    result = bridge.convert(prefix, inputs={"data": (2, 3, 32, 32)}, verify=False)
    assert list(result.outputs) == ["fc_output", "features"]
    for rename, told in (
        ({"nope": "x"}, "rename nope: no input or output; there are image, logits, features"),
        ({"logits": "features"}, "features is a name already"),
        ({"logits": "x", "features": "x"}, "x is a name already"),
        ({"image": "logits"}, "logits is a name already"),
    ):
        with pytest.raises(bridge.BadInput, match=told):
            bridge.import_onnx(source, rename=rename, verify=False)
    taken = next(iter(bridge.open_model(prefix).params))
    with pytest.raises(bridge.BadInput, match="is a name already"):
        bridge.import_onnx(source, rename={"logits": taken}, verify=False)


# -- operators of users ----------------------------------------------------------------------------------------------------


def test_operators_of_users_as_documented(tmp_path: Path) -> None:
    page = ROOT / "docs/plugins.md"
    (tmp_path / "my_ops.py").write_text(next(b for b in blocks(page) if b.name == "file").text)
    (tmp_path / "run.py").write_text(RUN)
    commands = [line.split()[1:] for line in block(page, "convert").text.splitlines()]
    command = [sys.executable, "-W", "error", "run.py", json.dumps([["inspect", "net"], *commands])]
    done = subprocess.run(command, cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    without, converted, verified = json.loads(done.stdout)
    assert without[0] == 2 and "--plugin my_ops.py" in without[1]
    assert converted[0] == 0 and "equivalent: wrote net.onnx" in converted[1]
    assert verified[0] == 0 and verified[1].startswith("EQUIVALENT")


RUN = """
import json, sys
import numpy as np
from typer.testing import CliRunner
from bridge.cli import app
from gluonnx import mx
text = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=4, name="fc").tojson()
graph = json.loads(text)
graph["nodes"].append({"op": "Custom", "name": "act", "attrs": {"op_type": "swish", "beta": "1.5"}, "inputs": [[3, 0, 0]]})
graph["heads"] = [[4, 0, 0]]
graph["node_row_ptr"].append(5)
open("net-symbol.json", "w").write(json.dumps(graph))
mx.nd.save("net-0000.params", {"arg:fc_weight": mx.nd.array(np.eye(4, 3)), "arg:fc_bias": mx.nd.zeros(4)})
done = [CliRunner().invoke(app, command) for command in json.loads(sys.argv[1])]
print(json.dumps([(d.exit_code, d.output) for d in done]))
"""
"""A program that makes a network with the operator and calls commands, in a process of its own: what a plugin registers stays."""


def test_the_network_of_the_page_converts(tmp_path: Path) -> None:
    page = ROOT / "docs/plugins.md"
    (tmp_path / "my_ops.py").write_text(next(b for b in blocks(page) if b.name == "file").text)
    convert = ["-m", "gluonnx", *block(page, "convert").text.splitlines()[0].split()[1:]]
    for arguments in (["-W", "error", "-c", block(page, "network").text], convert):
        done = subprocess.run(
            [sys.executable, *arguments], cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr
    assert "equivalent: wrote net.onnx" in done.stdout


def test_plugins_that_fail(net: Path, tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text("import nothing_of_this_name")
    (tmp_path / "text.txt").write_text("x")
    for name, said in (
        (tmp_path / "wrong.py", "ModuleNotFoundError"),
        (tmp_path / "none.py", "no such file"),
        (tmp_path / "text.txt", "wanted a Python file"),
        ("no_such_module_at_all", "ModuleNotFoundError"),
    ):
        assert said in " ".join(call("inspect", net, "--plugin", name, code=2).replace("│", "").split())


# -- refusals --------------------------------------------------------------------------------------------------------------


def test_a_refusal_ends_in_a_command_that_works(net: Path) -> None:
    """Its own words, typed again, convert."""
    symbol = mx.sym.load(f"{net}-symbol.json")
    raw = json.loads((symbol * 2).tojson())
    raw["nodes"][-1] |= {"op": "an_operator_of_nobody", "attrs": {}}
    Path(f"{net}-symbol.json").write_text(json.dumps(raw), encoding="utf-8")
    said = call("convert", net, "--input", "data:2,3", code=2)
    hint = said.splitlines()[-1]
    assert hint == f"up to there it converts: gluonnx convert {net} --input data:2,3 --outputs relu1_output"
    assert "equivalent" in call(*hint.split("gluonnx ")[1].split())
    *told, kept = call("convert", net, code=2).splitlines()
    [hint] = [line for line in told if line.startswith("up to there it converts: ")]
    assert hint.endswith("--input data:1,3 --outputs relu1_output")
    assert kept == f"{net}.onnx, which was there, is as it was"


def test_outputs_that_do_not_follow_from_what_fails_are_offered(tmp_path: Path) -> None:
    """Also where the first operator is the one that fails, so that there is nothing before it."""
    data = mx.sym.var("data")
    bad, good = mx.sym.tanh(data, name="bad"), mx.sym.sigmoid(data, name="good")
    raw = json.loads(mx.sym.Group([mx.sym.exp(bad, name="after"), good]).tojson())
    next(n for n in raw["nodes"] if n["name"] == "bad").update(op="an_operator_of_nobody", attrs={})
    (tmp_path / "net-symbol.json").write_text(json.dumps(raw))
    hint = call("convert", tmp_path / "net", "--input", "data:2,3", code=2).splitlines()[-1]
    assert hint.startswith("up to there it converts: ")
    assert hint.endswith("--input data:2,3 --outputs good_output")
    assert "equivalent" in call(*hint.split("gluonnx ")[1].split())


def test_a_place_further_up_is_offered_where_the_one_before_does_not_convert(net: Path) -> None:
    """Before the operator of nobody stands one whose attributes have no translation; both branches end in it."""
    symbol = mx.sym.load(f"{net}-symbol.json")
    worse = mx.sym.Dropout(symbol, p=1, mode="always", name="worse")
    raw = json.loads((mx.sym.tanh(worse, name="one") + mx.sym.exp(symbol, name="two")).tojson())
    raw["nodes"][-1] |= {"op": "an_operator_of_nobody", "attrs": {}}
    Path(f"{net}-symbol.json").write_text(json.dumps(raw), encoding="utf-8")
    hint = call("convert", net, "--input", "data:2,3", code=2).splitlines()[-1]
    assert hint.endswith("--outputs relu1_output --outputs two_output")
    assert "equivalent" in call(*hint.split("gluonnx ")[1].split())


def _chain(length: int) -> Any:
    x = mx.sym.var("data")
    for i in range(length):
        x = mx.sym.tanh(x, name=f"n{i}")
    return bridge.open_model(x)


def test_further_up_is_found_in_few_tries_where_nobody_says_what_fails() -> None:
    tried = []

    def attempt(names: tuple[str, ...]) -> refusing.Try:
        tried.append(names)
        return refusing.Try("words" if int(names[0][1:].removesuffix("_output")) <= 37 else "")

    assert refusing.find_cut(_chain(200), {"n199"}, attempt) == "words"
    assert ("n37_output",) in tried
    assert len(set(tried)) <= 10


def test_looking_for_a_place_ends_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(0, 10**6, 4))
    monkeypatch.setattr(refusing.time, "monotonic", lambda: next(clock))
    tried = []
    assert refusing.find_cut(_chain(200), {"n199"}, lambda names: tried.append(names) or refusing.Try()) == ""
    assert len(tried) == 2


def test_networks_are_all_still_there() -> None:
    assert {"alexnet", "conv3d_video", "text_cnn"} <= {n.name for n in networks()}


# -- objects ---------------------------------------------------------------------------------------------------------------


def test_objects_show_themselves_in_few_words(net: Path) -> None:
    model = bridge.open_model(net)
    assert repr(model) == f"<Model net: symbol, 2 parameters, {net}-symbol.json>"
    result = bridge.convert(model, inputs={"data": (2, 3)})
    assert repr(result) == "<ConvertResult net: equivalent, opset 13>"
    found = bridge.import_onnx(ONNX / "torch_cnn_legacy/model.onnx", verify=False)
    assert repr(found).startswith("<ImportResult model: not verified, opset ")
    assert "<td" in mx.sym.load(f"{net}-symbol.json")._repr_html_()


def test_an_unrolled_network_with_a_loss_of_nobody(tmp_path: Path) -> None:
    """As those of MXNet's plugins end: sizes of states follow from the sequence's, labels that are cast are no place to cut at, and
    what only lacks sizes is not listed beside the operator that nobody knows."""
    data = mx.sym.SliceChannel(mx.sym.var("data"), num_outputs=2, axis=1, squeeze_axis=True, name="cut")
    h, c = mx.sym.var("init_h"), mx.sym.var("init_c")
    for step in (0, 1):
        gates = mx.sym.FullyConnected(
            data[step], mx.sym.var("i2h_weight"), num_hidden=32, no_bias=True, name=f"x{step}"
        )
        gates = gates + mx.sym.FullyConnected(h, mx.sym.var("h2h_weight"), num_hidden=32, no_bias=True, name=f"h{step}")
        i, f, g, o = mx.sym.SliceChannel(gates, num_outputs=4, name=f"gates{step}")
        c = mx.sym.sigmoid(f) * c + mx.sym.sigmoid(i) * mx.sym.tanh(g)
        h = mx.sym.sigmoid(o) * mx.sym.tanh(c)
    scores = mx.sym.FullyConnected(h, num_hidden=5, name="scores")
    label = mx.sym.cast(mx.sym.var("label"), dtype="int32", name="whole")
    raw = json.loads(mx.sym.broadcast_add(scores, label, name="loss").tojson())
    raw["nodes"][-1] |= {"op": "LossOfNobody", "attrs": {}}
    (tmp_path / "net-symbol.json").write_text(json.dumps(raw))
    rng = np.random.default_rng(0)
    sizes = {"i2h_weight": (32, 6), "h2h_weight": (32, 8), "scores_weight": (5, 8), "scores_bias": (5,)}
    mx.nd.save(
        str(tmp_path / "net-0000.params"), {f"arg:{n}": mx.nd.array(rng.normal(size=s)) for n, s in sizes.items()}
    )
    said = call("convert", tmp_path / "net", code=2)
    assert "1 node cannot be written as ONNX" in said
    hint = said.splitlines()[-1]
    assert hint.endswith("--input data:1,2,6 --input init_h:1,8 --input init_c:1,8 --outputs scores_output")
    assert "equivalent" in call(*hint.split("gluonnx ")[1].split())
    shown = call("inspect", tmp_path / "net", code=2)
    assert "does not load: it lacks LossOfNobody" in shown
