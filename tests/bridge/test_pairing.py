"""Inputs of two models: which belong together, what is drawn for them, and what the report says of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from typer.testing import CliRunner

import bridge
import hybrid as mx
from bridge.cases import make_case, pair_inputs
from bridge.cli import app
from bridge.domains import expected
from bridge.engines import NativeEngine
from bridge.inputs import parse_names, parse_ranges
from bridge.models import BadInput, Model
from hybrid.core.op import Spec


def gluonnx(*arguments: object) -> Any:
    """The command's result."""
    return CliRunner().invoke(app, [*map(str, arguments)])


def symbol(*names: str) -> Any:
    """a - 2 * b of inputs of these names."""
    return mx.sym.elemwise_sub(mx.sym.var(names[0]), mx.sym.var(names[1]) * 2, name="y")


def engine(net: Any, name: str = "m", **params: np.ndarray) -> NativeEngine:
    return NativeEngine(Model(name, net.graph, params))


def renamed(path: Path, target: Path, **names: str) -> str:
    """A copy of an ONNX file whose inputs have other names."""
    model = onnx.load(path)
    for node in model.graph.node:
        node.input[:] = [names.get(n, n) for n in node.input]
    for value in model.graph.input:
        value.name = names.get(value.name, value.name)
    onnx.save(model, target)
    return str(target)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """two.onnx, which takes a and b of one shape; net of a pixel network, and net.onnx."""
    folder = tmp_path_factory.mktemp("pairing")
    bridge.convert(symbol("a", "b"), {}, inputs={"a": (2, 3), "b": (2, 3)}, output=folder / "two.onnx")
    net = mx.sym.FullyConnected((mx.sym.var("data") - 127.5) / 128, num_hidden=3, name="fc")
    params = {"fc_weight": mx.nd.array(np.linspace(-1, 1, 12).reshape(3, 4)), "fc_bias": mx.nd.zeros(3)}
    mx.model.save_checkpoint(str(folder / "net"), 0, net, params, {})
    bridge.convert(folder / "net", inputs={"data": (2, 4)}, output=folder / "net.onnx")
    return folder


def test_an_input_of_another_name_is_the_same_input(files: Path, tmp_path: Path) -> None:
    other = renamed(files / "net.onnx", tmp_path / "r.onnx", data="image")
    path = tmp_path / "in.npz"
    np.savez(path, data=np.linspace(0, 255, 8, dtype=np.float32).reshape(2, 4))
    for pair in ((files / "net", other), (other, files / "net")):
        for inputs in (None, path):
            result = bridge.verify(*pair, inputs=inputs)
            assert result.equivalent
            [(name, said)] = result.runs[0]["inputs"].items()
            assert {name, said["second"]} == {"data", "image"}
            assert said["from"] == ("from in.npz" if inputs else "drawn, seed 0: evenly from 0 to 255")
    told = gluonnx("verify", files / "net", other, "--inputs", path)
    assert told.exit_code == 0 and "input data  float32 2 x 4, from in.npz; image in the second" in told.stdout


def test_inputs_pair_by_place_by_shape_or_as_told(files: Path, tmp_path: Path) -> None:
    other = renamed(files / "two.onnx", tmp_path / "r.onnx", a="p", b="q")
    right = bridge.verify(files / "two.onnx", other)
    assert right.equivalent and [s["second"] for s in right.runs[0]["inputs"].values()] == ["p", "q"]
    assert not bridge.verify(files / "two.onnx", other, names={"a": "q", "b": "p"}).equivalent
    crossed = gluonnx("verify", files / "two.onnx", other, "--map", "a=q", "--map", "b=p")
    assert crossed.exit_code == 1
    one, two = (engine(mx.sym.Group([mx.sym.relu(mx.sym.var(n)) for n in names])) for names in ("ab", "cd"))
    by_place = {"a": Spec((2, 3)), "b": Spec((4, 3)), "c": Spec((2, 3)), "d": Spec((4, 3))}
    assert pair_inputs(one, two, by_place) == {"a": "c", "b": "d"}
    by_shape = {"a": Spec((2, 3)), "b": Spec((4, 3)), "c": Spec((4, 3)), "d": Spec((2, 3))}
    assert pair_inputs(one, two, by_shape) == {"a": "d", "b": "c"}
    assert pair_inputs(one, engine(symbol("a", "d")), {}) == {"b": "d"}
    assert pair_inputs(one, engine(mx.sym.relu(mx.sym.var("a"))), {}) == {}  # it has no other


def test_what_does_not_pair_is_refused() -> None:
    one, two = engine(symbol("a", "b")), engine(symbol("c", "d"), "n")
    with pytest.raises(
        BadInput, match=r"do not pair: m takes a \(2, 3\), b \(2, 3\); n takes c \(5,\), d \(5,\).*--map a=c"
    ):
        pair_inputs(one, two, {"a": Spec((2, 3)), "b": Spec((2, 3)), "c": Spec((5,)), "d": Spec((5,))})
    with pytest.raises(BadInput, match="do not pair"):
        pair_inputs(one, engine(mx.sym.relu(mx.sym.var("z"))), {})
    with pytest.raises(BadInput, match=r"--map z=c: m has no input z; it takes a, b"):
        pair_inputs(one, two, {}, {"z": "c"})
    inside = engine(mx.sym.relu(mx.sym.var("x"), name="z"))  # its output is z_output
    with pytest.raises(BadInput, match=r"input x of m is z_output in m, and m has another tensor of the name z_output"):
        pair_inputs(inside, engine(mx.sym.relu(mx.sym.var("z_output"))), {})
    given = {"a": np.ones((2, 3), np.float32), "c": np.ones((2, 3), np.float32)}
    specs = {n: Spec(a.shape, a.dtype) for n, a in given.items()}
    with pytest.raises(BadInput, match="a and c are one input, and both are given"):
        make_case(one, engine(symbol("c", "b")), specs, given, 0)


def test_what_is_drawn_lies_where_it_is_told_or_expected(files: Path) -> None:
    one = engine(symbol("a", "b"))
    specs = {"a": Spec((500,)), "b": Spec((500,))}
    case = make_case(one, one, specs, {}, 0, ranges={"a": (10, 20)})
    assert 10 <= case.feeds["a"].min() < 11 and 19 < case.feeds["a"].max() <= 20 and case.feeds["b"].min() < 0
    assert case.origins == {"a": "drawn, seed 0: evenly from 10 to 20", "b": "drawn, seed 0: standard normal"}
    rows = mx.sym.Embedding(mx.sym.var("ids"), mx.sym.var("weight"), input_dim=9, output_dim=2)
    table = engine(rows, weight=np.ones((9, 2), "f"))
    ids = make_case(table, table, {"ids": Spec((300,))}, {}, 0, ranges={"ids": (5, 1000)}).feeds["ids"]
    assert ids.min() == 5 and ids.max() == 8  # a table of nine rows has no others
    with pytest.raises(BadInput, match="got input 'q', wanted some of a, b"):
        make_case(one, one, specs, {}, 0, ranges={"q": (0, 1)})
    shown = gluonnx("verify", files / "net", files / "net.onnx", "--range", "data:0,1")
    assert shown.exit_code == 0 and "drawn, seed 0: evenly from 0 to 1" in shown.stdout


@pytest.mark.parametrize(
    ("make", "wanted"),
    [
        (lambda x: (x - 127.5) / 128, (0, 255)), (lambda x: (x - 127.5) * 0.0078125, (0, 255)), (lambda x: x / 255, (0, 255)),
        (lambda x: mx.sym.identity(x) / 127.5 - 1, (0, 255)), (lambda x: x * 0.01, (0, 100)),
        (lambda x: (x + 20) * -0.1, (-30, -10)),
        (lambda x: x * 2, None), (lambda x: x + 3, None), (mx.sym.relu, None), (lambda x: x / 255 + x, None),
    ],
)  # fmt: skip
def test_what_first_operators_expect(make: Any, wanted: Any) -> None:
    found = expected(make(mx.sym.var("x")).graph)
    assert (tuple(map(round, found["x"][:2])) if found else None) == wanted


def test_options_that_cannot_be_read_are_refused_all_at_once() -> None:
    assert parse_ranges(["data:0:0,255"]) == {"data:0": (0, 255)} and parse_names(["a=b"]) == {"a": "b"}
    with pytest.raises(BadInput) as told:
        parse_ranges(["data", "x:1", "y:2,1", "z:0,nan", "a:0,1", "a:0,1"])
    assert len(told.value.problems) == 5
    with pytest.raises(BadInput) as told:
        parse_names(["a", "=b", "c=d", "c=e", "f=d"])
    assert len(told.value.problems) == 4


def test_outputs_are_cut_on_both_sides_by_tensor(files: Path, tmp_path: Path) -> None:
    """One tensor is compared on both sides, not one side's with the other's output."""
    x = mx.sym.var("x")
    dense = mx.sym.FullyConnected(mx.sym.relu(x, name="act"), num_hidden=3, name="fc")
    net = mx.sym.softmax(dense, name="top")
    params = {"fc_weight": np.linspace(-1, 1, 12).reshape(3, 4).astype("f"), "fc_bias": np.ones(3, "f")}
    target = tmp_path / "net.onnx"
    bridge.convert(net, params, inputs={"x": (2, 4)}, output=target)
    for outputs in (["fc"], ["fc_output"], ["act_output", "top"], ["top"]):
        result = bridge.verify(net, target, params=params, outputs=outputs)
        assert result.equivalent and len(result.differences) == len(outputs)
        assert bridge.verify(target, target, outputs=outputs).equivalent
    cut = bridge.open_model(target).select(["act"]).proto
    assert cut is not None and [n.op_type for n in cut.graph.node] == ["Relu"] and not cut.graph.initializer
    wrong = onnx.load(target)
    [weight] = (i for i in wrong.graph.initializer if i.name == "fc_weight")
    weight.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(weight) * 1.01, "fc_weight"))
    onnx.save(wrong, tmp_path / "wrong.onnx")
    assert not bridge.verify(net, tmp_path / "wrong.onnx", params=params, outputs=["fc"]).equivalent
    assert bridge.verify(net, tmp_path / "wrong.onnx", params=params, outputs=["act"]).equivalent  # before the fault
    ours = bridge.run(target, {"x": np.ones((2, 4), "f")}, outputs=["fc"])
    assert list(ours) == ["fc_output"]
    refused = gluonnx("verify", files / "net", files / "net.onnx", "--outputs", "nothing")
    assert refused.exit_code == 2 and "no output 'nothing'" in refused.output
