"""The smallest part of two models that differs: small, in ONNX's own layout, and it shows the difference by itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from typer.testing import CliRunner

import bridge
import hybrid as mx
from bridge.change.piece import Limit, Outcome
from bridge.cli import app
from converters.forms import Forms
from tests.bridge.repros import Repro

SHAPE = (4, 3, 12, 12)


@pytest.fixture(scope="module")
def net(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network of two convolutions, a branch, pooling and a dense layer, as files."""
    folder = tmp_path_factory.mktemp("net")
    s = mx.sym
    x = s.Convolution(s.Variable("data"), kernel=(3, 3), pad=(1, 1), num_filter=6, name="conv0")
    x = s.BatchNorm(x, fix_gamma=False, name="bn0")
    y = s.Convolution(s.Activation(x, act_type="relu", name="relu0"), kernel=(1, 1), num_filter=6, name="conv1")
    x = s.Pooling(s.elemwise_add(x, y, name="plus0"), kernel=(2, 2), stride=(2, 2), pool_type="max", name="pool0")
    x = s.FullyConnected(s.Activation(x, act_type="tanh", name="tanh0"), num_hidden=5, name="fc0")
    shapes, _, aux = x.infer_shape(data=SHAPE)
    rng = np.random.default_rng(0)
    names = [*x.list_arguments(), *x.list_auxiliary_states()]
    made = {n: rng.uniform(0.1, 1, shape) - 0.3 * n.endswith("weight") for n, shape in zip(names, [*shapes, *aux])}
    aux_names = x.list_auxiliary_states()
    params = {f"{'aux' if n in aux_names else 'arg'}:{n}": mx.nd.array(a) for n, a in made.items() if n != "data"}
    x.save(str(folder / "net-symbol.json"))
    mx.nd.save(str(folder / "net-0000.params"), params)
    kept = {"verify": False, "forms": Forms(keep_graph=True)}
    bridge.convert(
        folder / "net", inputs={"data": SHAPE}, dynamic={"data": {0: "n"}}, output=folder / "net.onnx", **kept
    )
    return folder / "net"


def wrong(net: Path, change: Callable[[onnx.ModelProto], None]) -> onnx.ModelProto:
    model = onnx.load(net.with_suffix(".onnx"))
    change(model)
    return model


def third_filter(model: onnx.ModelProto) -> None:
    [tensor] = [t for t in model.graph.initializer if t.name == "conv1_weight"]
    array = numpy_helper.to_array(tensor).copy()
    array[3] *= np.float32(1.05)
    tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))


def smoother(model: onnx.ModelProto) -> None:
    [node] = [n for n in model.graph.node if n.name == "bn0"]
    node.attribute.append(onnx.helper.make_attribute("epsilon", 0.5))
    del node.attribute[: len(node.attribute) - 1]


def another_activation(model: onnx.ModelProto) -> None:
    next(n for n in model.graph.node if n.name == "tanh0").op_type = "Softsign"


@pytest.mark.parametrize(
    ("change", "node", "cause", "shape"),
    [
        (
            third_filter,
            "conv1",
            "weight conv1_weight[3]: 6 of 36 elements differ, all in filter 3, ratio 1.05",
            (1, 6, 1, 1),
        ),
        (smoother, "bn0", "epsilon 0.001 -> 0.5", (1, 6, 1, 1)),
        (another_activation, "tanh0", "Tanh became Softsign", (1, 1, 1, 1)),
    ],
)
def test_one_node_on_the_smallest_sizes_is_left(
    net: Path, tmp_path: Path, change: Callable[[onnx.ModelProto], None], node: str, cause: str, shape: tuple[int, ...]
) -> None:
    result = bridge.reduce(net, wrong(net, change), tmp_path / "repro", inputs={"data": SHAPE})
    assert (result.node, result.operators) == (node, (1, 1))
    assert cause in result.causes
    found = Repro(tmp_path / "repro")
    assert [a.shape for a in found.given.values()] == [shape]
    assert [list(a.shape) for a in found.given.values()] == [s["shape"] for s in result.inputs.values()]
    assert found.script() == 1
    [want] = found.want.values()
    np.testing.assert_allclose(found.ours(), want, rtol=1e-6, atol=1e-6)
    assert np.abs(found.theirs() - want).max() > 1e-4 * np.abs(want).max()
    readme = (tmp_path / "repro" / "README.md").read_text()
    assert f"# {node} (" in readme
    assert cause in readme
    assert "onnxruntime " in readme
    assert len(readme.splitlines()) < 40


def test_the_script_ends_with_0_once_the_model_is_right(net: Path, tmp_path: Path) -> None:
    bridge.reduce(net, wrong(net, another_activation), tmp_path / "repro", inputs={"data": SHAPE})
    found = Repro(tmp_path / "repro")
    found.model.graph.node[0].op_type = "Tanh"
    onnx.save(found.model, tmp_path / "repro" / "model.onnx")
    assert found.script() == 0


def test_other_names_inside_do_not_matter(net: Path, tmp_path: Path) -> None:
    def change(model: onnx.ModelProto) -> None:
        third_filter(model)
        kept = {i.name for i in (*model.graph.input, *model.graph.output, *model.graph.initializer)}
        for i, n in enumerate(model.graph.node):
            n.name = f"node{i}"
            n.input[:] = [x if x in kept else f"{x}/new" for x in n.input]
            n.output[:] = [x if x in kept else f"{x}/new" for x in n.output]

    result = bridge.reduce(net, wrong(net, change), tmp_path / "repro", inputs={"data": SHAPE})
    assert (result.node, result.operators) == ("conv1", (1, 1))
    assert Repro(tmp_path / "repro").script() == 1


def test_onnx_against_onnx_and_symbol_against_symbol(net: Path, tmp_path: Path) -> None:
    model = wrong(net, another_activation)
    result = bridge.reduce(net.with_suffix(".onnx"), model, tmp_path / "onnx", inputs={"data": SHAPE})
    assert result.node == "tanh0"
    assert {p.name for p in (tmp_path / "onnx").iterdir()} == {
        *("model.onnx", "a.onnx", "test_data_set_0", "README.md", "repro.py")
    }
    symbol = mx.sym.load_json((net.parent / "net-symbol.json").read_text().replace('"tanh"', '"softsign"'))
    second = bridge.open_model(symbol, mx.nd.load(f"{net}-0000.params"))
    result = bridge.reduce(net, second, tmp_path / "symbols", inputs={"data": SHAPE})
    assert result.node == "tanh0"
    names = {p.name for p in (tmp_path / "symbols").iterdir()}
    assert {"a-symbol.json", "b-symbol.json", "model.onnx"} <= names
    assert all(Repro(tmp_path / f).script() == 1 for f in ("onnx", "symbols"))


def test_a_model_first_and_the_symbol_second(net: Path, tmp_path: Path) -> None:
    result = bridge.reduce(wrong(net, third_filter), net, tmp_path / "repro", inputs={"data": SHAPE})
    assert (result.node, result.operators) == ("conv1", (1, 1))
    assert Repro(tmp_path / "repro").script() == 1


def test_models_that_agree_are_refused_and_nothing_is_written(net: Path, tmp_path: Path) -> None:
    with pytest.raises(bridge.BadInput, match="give the same numbers"):
        bridge.reduce(net, net.with_suffix(".onnx"), tmp_path / "repro", inputs={"data": SHAPE})
    assert not (tmp_path / "repro").exists()


def test_other_files_are_not_written_over(net: Path, tmp_path: Path) -> None:
    model = wrong(net, another_activation)
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(bridge.BadInput, match=r"holds other files \(notes.txt\)"):
        bridge.reduce(net, model, tmp_path, inputs={"data": SHAPE})
    assert [p.name for p in tmp_path.iterdir()] == ["notes.txt"]
    with pytest.raises(bridge.BadInput, match="got a file"):
        bridge.reduce(net, model, tmp_path / "notes.txt", inputs={"data": SHAPE})
    for _ in range(2):  # its own it does write over
        bridge.reduce(net, model, tmp_path / "repro", inputs={"data": SHAPE})
    result = bridge.verify(net, model, inputs={"data": SHAPE}, repro=tmp_path)
    assert result.verdict == "not equivalent"
    assert result.repro is None
    assert any("holds other files" in w for w in result.warnings)


def test_verification_writes_the_same_layout(net: Path, tmp_path: Path) -> None:
    result = bridge.verify(net, wrong(net, third_filter), inputs={"data": SHAPE}, repro=tmp_path / "repro")
    assert result.repro == str(tmp_path / "repro")
    found = Repro(tmp_path / "repro")
    assert [n.op_type for n in found.model.graph.node] == ["Conv"]
    assert found.script() == 1


def test_the_command(net: Path, tmp_path: Path) -> None:
    onnx.save(wrong(net, third_filter), tmp_path / "wrong.onnx")
    said = CliRunner().invoke(
        app,
        [
            "reduce",
            str(net),
            str(tmp_path / "wrong.onnx"),
            "-o",
            str(tmp_path / "r"),
            "--input",
            "data:4,3,12,12",
            "--json",
        ],
    )
    assert said.exit_code == 0, said.output
    told = json.loads(said.output)
    assert (told["node"], told["operators"], told["folder"]) == ("conv1", [1, 1], str(tmp_path / "r"))
    again = CliRunner().invoke(
        app, ["reduce", str(net), f"{net}.onnx", "-o", str(tmp_path / "r"), "--input", "data:4,3,12,12"]
    )
    assert again.exit_code == 2


def test_limits_mean_what_numpy_means() -> None:
    limit = Limit(0.1, 0.0)
    want = np.array([1.0, np.nan, np.inf, 2.0])
    assert not Outcome(want, np.array([1.05, np.nan, np.inf, 2.0])).fails(limit)
    for got in (
        [1.2, np.nan, np.inf, 2.0],
        [1.0, 1.0, np.inf, 2.0],
        [1.0, np.nan, 9.0, 2.0],
        [1.0, np.nan, np.inf, np.nan],
    ):
        assert Outcome(want, np.array(got)).fails(limit)
    assert Outcome(want, want[:2]).fails(limit)
    assert Outcome(np.array([1, 2]), np.array([1, 3])).fails(limit)
