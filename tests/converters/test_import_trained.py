"""Imported networks in training: the modes of layers, parameters that are one or several, constants that stay."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import bridge
from converters.error import ConversionError
from converters.held import DOUBTFUL, HELD, SINGLE
from converters.importer import Imported, from_onnx, import_model
from hybrid import autograd, cpu, gluon, nd, sym

from .test_import_layers import uniform


def model(
    nodes: Sequence[onnx.NodeProto],
    stored: dict[str, np.ndarray],
    *,
    x: tuple[Any, ...] = (6, 4, 3, 3),
    outputs: Sequence[str] = ("y",),
    opset: int = 17,
    producer: str = "",
) -> onnx.ModelProto:
    """A model of x."""
    graph = helper.make_graph(
        list(nodes),
        "graph",
        [helper.make_tensor_value_info("x", 1, x)],
        [helper.make_empty_tensor_value_info(n) for n in outputs],
        [numpy_helper.from_array(a, n) for n, a in stored.items()],
    )
    opsets = [helper.make_opsetid("", opset)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8, producer_name=producer)


def block(found: Imported) -> gluon.SymbolBlock:
    """The network, with its parameters."""
    out, arguments, states = from_onnx(found)
    made = gluon.SymbolBlock(out, [sym.var("x")])
    made.collect_params().load_dict({**arguments, **states}, cpu(), cast_dtype=True, dtype_source="saved")
    made.hybridize()
    return made


def trained(net: gluon.SymbolBlock, x: np.ndarray) -> Any:
    """Outputs in training, of whose squares the gradients are made."""
    with autograd.record():
        y = net(nd.array(x))
        loss = (y * y).sum()
    loss.backward()
    return y.asnumpy()


def gradients(net: gluon.SymbolBlock) -> dict[str, np.ndarray]:
    """By parameter, of those that are trained."""
    return {n: p.grad().asnumpy() for n, p in net.collect_params().items() if p.grad_req != "null"}


X = uniform(0, 6, 4, 3, 3)
NORM = {n: uniform(i, 4, low=0.5, high=1.5) for i, n in enumerate(("scale", "b", "mean", "var"), 1)}


def normalized(x: np.ndarray, of_batch: bool) -> np.ndarray:
    mean, var = (x.mean((0, 2, 3)), x.var((0, 2, 3))) if of_batch else (NORM["mean"], NORM["var"])
    scale, b, mean, var = (v[:, None, None] for v in (NORM["scale"], NORM["b"], mean, var))
    return (x - mean) / np.sqrt(var + 1e-5) * scale + b


def two_norms(opset: int, second: bool) -> onnx.ModelProto:
    """One that is not in training mode, behind which another one may be."""
    more = (["m", "v", "a", "c"] if opset < 14 else ["m", "v"]) if second else []
    mode = {"training_mode": 1} if second and opset >= 14 else {}
    stored = {f"{k}{n}": v for n in (1, 2) for k, v in NORM.items()}
    nodes = [
        helper.make_node("BatchNormalization", ["x", *(f"{k}1" for k in NORM)], ["h"]),
        helper.make_node("BatchNormalization", ["h", *(f"{k}2" for k in NORM)], ["y", *more], **mode),
    ]
    return model(nodes, stored, opset=opset)


@pytest.mark.parametrize("opset", [9, 13, 14, 17])
def test_norms_that_are_not_in_training_mode_beside_one_that_is_stay_so(opset: int) -> None:
    found = import_model(two_norms(opset, True))
    got = trained(block(found), X)
    np.testing.assert_allclose(got, normalized(normalized(X, False), True), rtol=1e-4, atol=1e-5)
    said = {names: what for what, names in found.training.items()}
    assert "not in training mode" in said["h",]
    assert said["y",].startswith("in training mode")


@pytest.mark.parametrize("opset", [9, 13, 14, 17])
def test_norms_of_a_file_for_inference_normalize_by_the_batch_in_training(opset: int) -> None:
    found = import_model(two_norms(opset, False))
    net = block(found)
    got = trained(net, X)
    np.testing.assert_allclose(got, normalized(normalized(X, True), True), rtol=1e-4, atol=1e-5)
    assert not any("mode" in what or "statistics" in what for what in found.training)
    moved = net.collect_params()["mean1"].data().asnumpy()
    np.testing.assert_allclose(moved, 0.9 * NORM["mean"] + 0.1 * X.mean((0, 2, 3)), rtol=1e-5, atol=1e-6)


def test_a_dropout_that_is_not_in_training_mode_beside_one_that_is_drops_nothing() -> None:
    stored = {"rate": np.float32(0.5), "off": np.array(False), "on": np.array(True)}
    nodes = [
        helper.make_node("Dropout", ["x", "rate", "off"], ["h"]),
        helper.make_node("Dropout", ["x", "rate"], ["i"]),
        helper.make_node("Dropout", ["h", "rate", "on"], ["y"]),
    ]
    found = import_model(model(nodes, stored, outputs=("h", "i", "y")))
    with autograd.record():
        one, two, three = block(found)(nd.array(X))
    assert np.array_equal(one.asnumpy(), X)
    assert np.array_equal(two.asnumpy(), X), "training_mode is false where it is left out"
    assert 0.3 < (three.asnumpy() == 0).mean() < 0.7
    assert [names for what, names in found.training.items() if "dropping nothing" in what] == [("h", "i")]
    alone = import_model(model(nodes[:1], stored, outputs=("h",)))
    with autograd.record():
        y = block(alone)(nd.array(X))
    assert 0.3 < (y.asnumpy() == 0).mean() < 0.7
    assert not alone.training


def test_norms_are_held_beside_a_dropout_in_training_mode() -> None:
    stored = {**NORM, "rate": np.float32(0), "on": np.array(True)}
    nodes = [
        helper.make_node("BatchNormalization", ["x", *NORM], ["h"]),
        helper.make_node("Dropout", ["h", "rate", "on"], ["y"]),
    ]
    got = trained(block(import_model(model(nodes, stored))), X)
    np.testing.assert_allclose(got, normalized(X, False), rtol=1e-4, atol=1e-5)


def test_no_optimizer_changes_statistics_of_norms_that_mxnet_does_not_have() -> None:
    half = {k: v.astype(np.float16) for k, v in NORM.items()}
    nodes = [
        helper.make_node("Cast", ["x"], ["h"], to=10),
        helper.make_node("BatchNormalization", ["h", *half], ["i"]),
        helper.make_node("Cast", ["i"], ["y"], to=1),
    ]
    found = import_model(model(nodes, half))
    net = block(found)
    trained(net, X)
    assert set(gradients(net)) == {"scale", "b"}
    assert [names for what, names in found.training.items() if "stored statistics" in what] == [("i",)]


def merged(second: str) -> onnx.ModelProto:
    """Two norms whose scales and variances are one stored tensor, as whoever wrote the file found that they are equal."""
    ones, zeros = np.ones(4, np.float32), np.zeros(4, np.float32)
    nodes = [
        helper.make_node("Identity", ["n.weight"], [second]),
        helper.make_node("BatchNormalization", ["x", "n.weight", "n.bias", "n.bias", "n.weight"], ["h"]),
        helper.make_node("Relu", ["h"], ["r"]),
        helper.make_node("BatchNormalization", ["r", second, "n.bias", "n.bias", "n.weight"], ["y"]),
    ]
    return model(nodes, {"n.weight": ones, "n.bias": zeros}, producer="pytorch")


def test_equal_tensors_that_are_stored_once_are_states_of_their_own() -> None:
    net = block(import_model(merged("m.weight")))
    trained(net, X)
    names = set(net.collect_params())
    assert {"n.weight", "m.weight", "n.bias"} <= names, "PyTorch has two scales"
    states = {n for n in names if "moving" in n}
    assert len(states) == 4
    values = [net.collect_params()[n].data().asnumpy() for n in sorted(states) if n.endswith("mean")]
    assert not np.allclose(*values), "each is moved by its own layer"


def test_an_identity_of_what_is_no_parameter_by_its_name_is_the_same_parameter() -> None:
    names = set(block(import_model(merged("onnx::Mul_3"))).collect_params())
    assert "n.weight" in names
    assert "onnx::Mul_3" not in names


def test_a_norm_that_is_called_twice_has_its_states_once() -> None:
    nodes = [
        helper.make_node("BatchNormalization", ["x", *NORM], ["h"]),
        helper.make_node("BatchNormalization", ["h", *NORM], ["y"]),
    ]
    net = block(import_model(model(nodes, NORM)))
    assert set(net.collect_params()) == set(NORM)
    got = trained(net, X)
    np.testing.assert_allclose(got, normalized(normalized(X, True), True), rtol=1e-4, atol=1e-5)


IDS = np.array([[1, 5, 2], [3, 3, 0]], np.float32)
TABLE = uniform(20, 9, 5)


def embedding(second: str, name: str, producer: str = "pytorch") -> tuple[onnx.ModelProto, np.ndarray]:
    """A network whose last product has the embedding for its weight, and the derivative of that in its sum of squares.

    second: "Transpose" for a node that turns it, "Gemm" for an attribute that does, else it is stored once more, turned."""
    stored = {"e.weight": TABLE, "shape": np.array([6, 5])}
    nodes = [
        helper.make_node("Cast", ["x"], ["i"], to=7),
        helper.make_node("Gather", ["e.weight", "i"], ["h3"]),
        helper.make_node("Reshape", ["h3", "shape"], ["h"]),
    ]
    if second == "Gemm":
        nodes.append(helper.make_node("Gemm", ["h", "e.weight"], ["y"], transB=1))
    else:
        if second == "Transpose":
            nodes.append(helper.make_node("Transpose", ["e.weight"], [name], perm=[1, 0]))
        else:
            stored[name] = np.ascontiguousarray(TABLE.T)
        nodes.append(helper.make_node("MatMul", ["h", name], ["y"]))
    h = TABLE.astype("f8")[IDS.astype(int).reshape(-1)]
    dy = 2 * h @ TABLE.astype("f8").T
    want = dy.T @ h
    np.add.at(want, IDS.astype(int).reshape(-1), dy @ TABLE.astype("f8"))
    return model(nodes, stored, x=(2, 3), producer=producer), want


@pytest.mark.parametrize(
    ("second", "name"),
    [("Gemm", ""), ("Transpose", "t"), ("stored", "onnx::MatMul_7"), ("stored", "val_0"), ("stored", "permute_1")],
)
def test_a_tied_weight_is_one_parameter_and_one_initializer(second: str, name: str, tmp_path: Any) -> None:
    made, want = embedding(second, name)
    found = import_model(made)
    net = block(found)
    trained(net, IDS)
    (got,) = gradients(net).values()
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)
    said = [names for what, names in found.training.items() if "another layout" in what]
    assert said == ([(f"{name} of e.weight",)] if second == "stored" else [])
    net.export(str(tmp_path / "net"))
    bridge.convert(tmp_path / "net", inputs={"x": (2, 3)}, output=tmp_path / "back.onnx")
    stored = onnx.load(tmp_path / "back.onnx").graph.initializer
    assert [t.name for t in stored if t.data_type == 1] == ["e.weight"]


def test_tensors_under_names_of_their_own_stay_several_parameters() -> None:
    made, _ = embedding("stored", "d.weight")
    assert set(gradients(block(import_model(made)))) == {"e.weight", "d.weight"}
    made, _ = embedding("stored", "permute_1", producer="other")
    assert len(gradients(block(import_model(made)))) == 2, "who has written it calls nothing so"


def test_equal_tensors_under_names_of_their_own_are_noted() -> None:
    stored = {"a.weight": TABLE[:4, 0], "b.weight": TABLE[:4, 0], "c": np.ones(4, "f4"), "d": np.ones(4, "f4")}
    nodes = [helper.make_node("Add", [x, p], [y]) for x, p, y in zip("xhij", stored, "hijy")]
    found = import_model(model(nodes, stored, x=(2, 4)))
    assert [names for what, names in found.training.items() if "equal" in what] == [("a.weight and b.weight",)]
    assert len(gradients(block(found))) == 4


@pytest.mark.parametrize("op_type", ["LSTM", "GRU", "RNN"])
def test_a_recurrent_layer_that_is_called_twice_has_its_weights_once(op_type: str) -> None:
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[op_type]
    stored = {"w": uniform(1, 1, gates * 4, 4), "r": uniform(2, 1, gates * 4, 4), "b": uniform(3, 1, gates * 8)}
    stored["one"] = np.array([1])
    attrs = {"linear_before_reset": 1} if op_type == "GRU" else {}
    nodes = [
        helper.make_node(op_type, ["x", "w", "r", "b"], ["h4"], hidden_size=4, **attrs),
        helper.make_node("Squeeze", ["h4", "one"], ["h"]),
        helper.make_node(op_type, ["h", "w", "r", "b"], ["y"], hidden_size=4, **attrs),
    ]
    made = model(nodes, stored, x=(3, 2, 4))
    x, net = uniform(5, 3, 2, 4), block(import_model(made))
    trained(net, x)
    got = gradients(net)
    assert set(got) == {"w", "r", "b"}
    for name, place in (("w", (0, 1, 2)), ("r", (0, 2, 1)), ("b", (0, 3))):
        losses = []
        for by in (1e-2, -1e-2):
            moved = stored | {name: stored[name].copy()}
            moved[name][place] += by
            y = block(import_model(model(nodes, moved, x=(3, 2, 4))))(nd.array(x)).asnumpy().astype("f8")
            losses.append(float((y * y).sum()))
        assert got[name][place] == pytest.approx((losses[0] - losses[1]) / 2e-2, rel=2e-3, abs=2e-4)


def test_a_bias_that_a_recurrent_layer_does_not_have_is_not_trained(tmp_path: Any) -> None:
    stored = {"w": uniform(1, 1, 16, 4), "r": uniform(2, 1, 16, 4)}
    node = helper.make_node("LSTM", ["x", "w", "r"], ["y"], hidden_size=4)
    found = import_model(model([node], stored, x=(3, 2, 4)))
    net = block(found)
    trained(net, uniform(5, 3, 2, 4))
    (got,) = gradients(net).values()
    assert got.size == 2 * 16 * 4, "the weights alone"
    net.export(str(tmp_path / "net"))
    bridge.convert(tmp_path / "net", inputs={"x": (3, 2, 4)}, output=tmp_path / "back.onnx")
    (back,) = (n for n in onnx.load(tmp_path / "back.onnx").graph.node if n.op_type == "LSTM")
    assert len(back.input) == 4, "with zeros for a bias"


def summed(name: str, array: np.ndarray, op_type: str = "Add", producer: str = "pytorch") -> Imported:
    """A network that multiplies x by a weight and adds one stored tensor (or multiplies by it, ...)."""
    stored = {"l.weight": uniform(1, 4, 4), name: array}
    nodes = [
        helper.make_node("MatMul", ["x", "l.weight"], ["h"]),
        helper.make_node(op_type, ["h", name], ["y"]),
    ]
    return import_model(model(nodes, stored, x=(2, 6, 4), producer=producer))


POSITIONS = np.arange(6)[:, None] / 10.0 ** np.arange(2)
SINES = np.concatenate([np.sin(POSITIONS), np.cos(POSITIONS)], 1).astype(np.float32)
CAUSAL = np.triu(np.full((6, 4), -np.inf, np.float32), 1)
LEARNED = uniform(9, 6, 4)
SCALES = np.float32([0.1, 0.2, 0.3, 0.5])


@pytest.mark.parametrize(
    ("name", "array", "op_type", "producer"),
    [
        ("onnx::Add_3", np.float32([1e-5]), "Add", "pytorch"),
        ("val_3", np.float32([[[8.0]]]), "Div", "pytorch"),
        ("Constant_3", np.float32([1e-5]), "Add", "tf2onnx"),
        ("pe", SINES, "Add", "pytorch"),
        ("pe", SINES, "Mul", ""),
        ("attn_bias", CAUSAL, "Add", ""),
        ("bias", np.where(CAUSAL < 0, np.float32(-1e9), 0), "Add", ""),
        ("keep", np.float32([1, 0, 0, 1]), "Mul", ""),
        ("_tensor_constant0", uniform(3, 4), "Mul", "pytorch"),
        ("attn.inv_freq", uniform(3, 4), "Mul", "pytorch"),
        ("zeros_2", np.zeros(4, np.float32), "Add", "pytorch"),
        ("freq", np.float32([1, 2, 4, 8]), "Mul", "pytorch"),
        ("view_3", np.float32([0.5, 1.5, 2.5, 3.5]), "Add", "pytorch"),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_constants_are_held_until_somebody_says_otherwise(
    name: str, array: np.ndarray, op_type: str, producer: str, tmp_path: Any
) -> None:
    found = summed(name, array, op_type, producer)
    assert found.training == {HELD: (name,)}
    net = block(found)
    x = uniform(4, 2, 6, 4)
    trained(net, x)
    assert set(gradients(net)) == {"l.weight"}
    net.export(str(tmp_path / "net"))
    again = gluon.SymbolBlock.imports(str(tmp_path / "net-symbol.json"), ["x"], str(tmp_path / "net-0000.params"))
    assert again.collect_params()[name].grad_req == "null"
    if np.isfinite(array).all():
        held = again.collect_params()[name]
        held.grad_req = "write"
        before = held.data().asnumpy()
        trainer = gluon.Trainer(again.collect_params(), "sgd", {"learning_rate": 0.1})
        trained(again, x)
        trainer.step(1)
        assert not np.array_equal(held.data().asnumpy(), before)


@pytest.mark.parametrize(
    ("name", "array", "op_type", "producer"),
    [
        ("onnx::Add_3", LEARNED, "Add", "pytorch"),
        ("pos", LEARNED, "Add", "pytorch"),
        ("slope", np.float32([0.25]), "Mul", "pytorch"),
        ("view_3", np.float32([0.5, 1.5, 2.5, 3.5]), "Add", "other"),
        ("w", np.float32([1, 2, 3, 4]), "Add", ""),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_what_nothing_tells_of_is_trained_and_named(name: str, array: np.ndarray, op_type: str, producer: str) -> None:
    found = summed(name, array, op_type, producer)
    assert found.training == {DOUBTFUL: (name,)}
    net = block(found)
    trained(net, uniform(4, 2, 6, 4))
    assert set(gradients(net)) == {"l.weight", name}


@pytest.mark.parametrize(
    ("name", "array", "op_type"),
    [
        ("onnx::MatMul_3", np.zeros((4, 4), np.float32), "MatMul"),
        ("onnx::MatMul_3", np.eye(4, dtype=np.float32), "MatMul"),
        ("onnx::MatMul_3", np.float32([[0.5, 1, 2, 4]]).T, "MatMul"),
        ("onnx::PRelu_3", np.float32([0.25]), "PRelu"),
        ("n.gamma", np.ones(4, np.float32), "Mul"),
    ],
)
def test_weights_of_layers_are_trained_whatever_they_hold(name: str, array: np.ndarray, op_type: str) -> None:
    found = summed(name, array, op_type)
    assert not found.training
    net = block(found)
    trained(net, uniform(4, 2, 6, 4))
    assert set(gradients(net)) == {"l.weight", name}


def test_scales_means_and_first_states_are_held() -> None:
    scales, zeros = np.float32([0.1, 0.2, 0.3, 0.4]), np.zeros(4, np.int8)
    channels = uniform(1, 1, 4, 1, 1)
    first = np.zeros((1, 2, 3), np.float32)
    stored = {
        "s": scales,
        "z": zeros,
        "mean": channels,
        "val_1": channels + 1,
        "val_2": first,
        "h0": first + LEARNED[0, 0],
    }
    stored |= {
        "c": uniform(3, 4, 4, 1, 1),
        "w": uniform(4, 1, 3, 4),
        "r": uniform(5, 1, 3, 3),
        "flat": np.array([2, 9, 4]),
    }
    nodes = [
        helper.make_node("Sub", ["x", "mean"], ["a"]),
        helper.make_node("Div", ["a", "val_1"], ["b"]),
        helper.make_node("Div", ["x", "val_1"], ["b2"]),
        helper.make_node("QuantizeLinear", ["c", "s", "z"], ["q"], axis=0),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["d"], axis=0),
        helper.make_node("Conv", ["b2", "d"], ["e"]),
        helper.make_node("Reshape", ["e", "flat"], ["f"]),
        helper.make_node("RNN", ["f", "w", "r", "", "", "val_2"], ["", "y1"], hidden_size=3),
        helper.make_node("RNN", ["f", "w", "r", "", "", "h0"], ["", "y2"], hidden_size=3),
    ]
    made = model(nodes, stored, x=(2, 4, 3, 3), outputs=("b", "y1", "y2"), producer="pytorch")
    made.graph.node[7].input[0] = "g"
    made.graph.node.insert(7, helper.make_node("Transpose", ["f"], ["g"], perm=[1, 0, 2]))
    made.graph.node[9].input[0] = "g"
    found = import_model(made)
    assert set(found.training[HELD]) == {"s", "mean", "val_1", "val_2"}
    assert set(found.training[DOUBTFUL]) == {"h0", "c"}


def fake_quantised(*, between: bool = False, again: np.ndarray | None = None) -> onnx.ModelProto:
    """y of x * w, quantised by column in steps of 0.5 and more, and back; between: the bytes are transposed on the way."""
    scales, zeros = np.float32([0.5, 1, 2, 4]), np.int8([0, 3, -100, 0])
    stored = {"w": W4, "s": scales, "z": zeros}
    if again is not None:
        stored["s2"] = again
    nodes = [
        helper.make_node("Mul", ["x", "w"], ["h"]),
        helper.make_node("QuantizeLinear", ["h", "s", "z"], ["q"], axis=1),
        helper.make_node("Identity", ["q"], ["r"]),
        helper.make_node(
            "DequantizeLinear", ["r" if between else "q", "s" if again is None else "s2", "z"], ["y"], axis=1
        ),
    ]
    return model(nodes if between else [n for n in nodes if n.op_type != "Identity"], stored, x=(3, 4))


W4 = np.float32([10, 1, -3, 200])
X4 = np.float32([[1, 2, 3, 1], [-1, 1.2, 30, 2], [20, -0.3, -40, -4]])


@pytest.mark.parametrize("hybrid", [True, False])
def test_a_quantiser_that_is_undone_passes_gradients_straight_through(hybrid: bool) -> None:
    found = import_model(fake_quantised())
    net = block(found)
    net.hybridize(hybrid)
    x = nd.array(X4)
    x.attach_grad()
    with autograd.record():
        loss = (net(x) ** 2).sum()
    loss.backward()
    scales, zeros = np.float32([0.5, 1, 2, 4]), np.float32([0, 3, -100, 0])
    whole = np.rint(X4 * W4 / scales) + zeros
    y = (whole.clip(-128, 127) - zeros) * scales
    assert set(np.argwhere((whole < -128) | (whole > 127))[:, 1]) == {0, 2, 3}, "some are out of range"
    dh = 2 * y * ((whole >= -128) & (whole <= 127))
    np.testing.assert_allclose(x.grad.asnumpy(), dh * W4)
    np.testing.assert_allclose(gradients(net)["w"], (dh * X4).sum(0))
    assert found.training == {HELD: ("s",), DOUBTFUL: ("w",)}


def test_parameters_that_get_no_gradient_are_named() -> None:
    for made in (fake_quantised(between=True), fake_quantised(again=np.float32([1, 1, 1, 1]))):
        found = import_model(made)
        (names,) = (names for what, names in found.training.items() if what.startswith("without a gradient"))
        assert names == ("w",)
        (what,) = (what for what in found.training if what.startswith("without a gradient"))
        assert "QuantizeLinear" in what
        net = block(found)
        trained(net, X4)
        assert not gradients(net)["w"].any()


RECORDED = sorted(p.parent.name for p in (Path(__file__).parents[2] / "fixtures" / "trained").glob("*/model.onnx"))


@pytest.mark.parametrize("name", RECORDED)
def test_three_steps_are_those_of_pytorch(name: str) -> None:
    """fixtures/trained: the losses, and the first gradients of the parameters that have their own names in the file."""
    folder = Path(__file__).parents[2] / "fixtures" / "trained" / name
    with np.load(folder / "trained.npz") as file:
        recorded = dict(file)
    found = import_model(folder / "model.onnx")
    net, x = block(found), nd.array(recorded["x"], dtype=recorded["x"].dtype)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01, "wd": 0})
    losses, first = [], {}
    for _ in range(3):
        with autograd.record():
            loss = (net(x) ** 2).sum()
        loss.backward()
        first = first or gradients(net)
        trainer.step(1)
        losses.append(float(loss.asscalar()))
    np.testing.assert_allclose(losses, recorded["losses"], rtol=1e-5)
    scale = max(np.abs(recorded[n]).max() for n in recorded if n.startswith("g:"))
    for parameter in (n.removeprefix("w:") for n in recorded if n.startswith("w:")):
        if parameter in first:
            want = recorded[f"g:{parameter}"]
            np.testing.assert_allclose(first[parameter], want, rtol=1e-4, atol=1e-6 * scale, err_msg=parameter)
    assert not any(n.startswith(("pe", "mean", "std", "attn_mask", "scale")) for n in first)


def test_single_numbers_are_not_trained_and_those_with_names_are_named() -> None:
    for name, said in (("logit_scale", True), ("val_3", False), ("onnx::Mul_3", False)):
        found = summed(name, np.array(2.5, np.float32), "Mul")
        assert (SINGLE in found.training) == said
        net = block(found)
        trained(net, uniform(4, 2, 6, 4))
        assert set(gradients(net)) == {"l.weight"}


def test_scalars_that_mxnets_exporter_has_stored_are_held() -> None:
    nodes = [helper.make_node("Mul", ["x", "scalar_op1"], ["h"]), helper.make_node("Add", ["h", "net_shift"], ["y"])]
    made = model(nodes, {"scalar_op1": np.float32([3]), "net_shift": np.float32([1])}, opset=9)
    made.graph.name = "mxnet_converted_model"
    assert import_model(made).training == {HELD: ("scalar_op1",), DOUBTFUL: ("net_shift",)}


def test_weights_of_whole_numbers_are_named() -> None:
    stored = {"q": np.arange(2000).astype(np.int8).reshape(500, 4), "s": SCALES, "bias": LEARNED[0]}
    nodes = [
        helper.make_node("DequantizeLinear", ["q", "s"], ["w"], axis=1),
        helper.make_node("Gemm", ["x", "w", "bias"], ["y"]),
    ]
    found = import_model(model(nodes, stored, x=(2, 500)))
    assert found.training == {DOUBTFUL: ("s",), "weights of whole numbers, which are not trained": ("q",)}
    net = block(found)
    trained(net, uniform(1, 2, 500))
    assert set(gradients(net)) == {"s", "bias"}


@pytest.mark.parametrize("producer", ["", "pytorch"])
@pytest.mark.parametrize("op_type", ["Cast", "Identity", "Sub"])
def test_a_damaged_file_whose_node_reads_nothing_is_refused(op_type: str, producer: str) -> None:
    weight = numpy_helper.from_array(np.float32([0.25, 1.5, 3, 4]), "w")
    nodes = [onnx.helper.make_node(op_type, [], ["a"]), onnx.helper.make_node("Mul", ["x", "w"], ["y"])]
    values = [onnx.helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, (4,)) for n in "xya"]
    graph = onnx.helper.make_graph(nodes, "net", values[:1], values[1:], [weight])
    model = onnx.helper.make_model(graph, producer_name=producer, opset_imports=[onnx.helper.make_opsetid("", 17)])
    with pytest.raises(ConversionError):
        import_model(model)
