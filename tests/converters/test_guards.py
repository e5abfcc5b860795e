"""Answers for NaN and for indexes beyond their table: where the nodes that give them are written."""

from __future__ import annotations

from collections import Counter

import numpy as np
import onnx
import pytest
from typer.testing import CliRunner

import bridge
import converters
from bridge.cli import app
from converters.builder import Builder, Value
from converters.forms import PLAIN, USUAL, Forms
from converters.guards import may_hold_nan
from hybrid import nd
from hybrid import symbol as sym
from hybrid.core.op import Spec
from tests.table.goldens import run_onnx

F4 = np.dtype(np.float32)
NOWHERE = Forms(nan_guards=False)


def written(symbol, forms: Forms, params=None, **inputs) -> onnx.ModelProto:
    return converters.to_onnx(symbol, params or {}, inputs, 17, forms=forms)


def count(model: onnx.ModelProto) -> Counter[str]:
    return Counter(n.op_type for n in model.graph.node)


def test_where_nan_may_come_from() -> None:
    b = Builder(17, USUAL)
    x = Value("x", (2, 3), F4)
    assert not may_hold_nan(b, x) and not may_hold_nan(b, b.Softmax(b.Conv(x, x)))
    assert not may_hold_nan(b, b.Relu(b.Div(x, 2.0)))
    assert may_hold_nan(b, b.Relu(b.Div(x, x))) and may_hold_nan(b, b.Div(x, 0.0)) and may_hold_nan(b, b.Neg(b.Sqrt(x)))
    assert may_hold_nan(b, b.Add(x, np.array([1, np.inf], F4)))
    assert may_hold_nan(b, Value("c", (1,), F4, np.array([np.nan], F4)))
    assert may_hold_nan(b, b.node("Gelu", x, domain="com.microsoft", dtype=F4))
    for forms, always in ((PLAIN, True), (NOWHERE, False)):
        b = Builder(17, forms)
        assert may_hold_nan(b, x) is always and may_hold_nan(b, b.Sqrt(x)) is always


def test_bodies_do_not_see_what_is_around_them() -> None:
    b, found = Builder(17, USUAL), []
    x = Value("x", (2,), F4)

    def make(inner, count, going, state):
        found.append((may_hold_nan(inner, x), may_hold_nan(inner, inner.Neg(inner.const([1.0], F4)))))
        return [going, inner.Add(state, x)]

    b.body(make, Spec((), np.dtype(np.int64)), Spec((), np.dtype(np.bool_)), F4)
    assert found == [(True, False)]


X = np.array([[1, np.nan, 3], [4, 5, 6]], np.float32)


@pytest.mark.parametrize("make", [lambda x: sym.max(x, axis=1), lambda x: sym.argmax(x, axis=1), sym.sign])
def test_nan(make) -> None:
    """Guards where they are asked for, none where nothing makes NaN, and some again where something does."""
    net, made = make(sym.Variable("x")), make(sym.sqrt(sym.Variable("x")))
    everywhere, usual, root = (
        written(net, PLAIN, x=(2, 3)),
        written(net, USUAL, x=(2, 3)),
        written(made, USUAL, x=(2, 3)),
    )
    assert count(everywhere)["Equal"] == count(root)["Equal"] == 1 and not count(usual)["Equal"]
    assert len(usual.graph.node) < len(everywhere.graph.node)
    assert not count(written(made, NOWHERE, x=(2, 3)))["Equal"]
    want = bridge.run(net, {"x": X})
    np.testing.assert_array_equal(run_onnx(everywhere, {"x": X})[0], next(iter(want.values())))
    whole = np.nan_to_num(X)
    np.testing.assert_array_equal(run_onnx(usual, {"x": whole})[0], run_onnx(everywhere, {"x": whole})[0])


TABLE = {"w": np.arange(8, dtype=np.float32).reshape(4, 2)}


def embedding(data):
    return sym.Embedding(data, sym.Variable("w"), input_dim=4, output_dim=2)


def test_indexes() -> None:
    """MXNet moves them into the table; ONNX counts negative ones from the end, so that nothing but a wish leaves that out."""
    net, x = embedding(sym.Variable("x")), np.array([-1, 0, 3, 9], np.float32)
    for forms in (PLAIN, USUAL):
        model = written(net, forms, TABLE, x=(4,))
        assert count(model) == {"Cast": 1, "Clip": 1, "Gather": 1}
        np.testing.assert_array_equal(run_onnx(model, {"x": x})[0], TABLE["w"][[0, 0, 3, 3]])
    assert count(written(net, NOWHERE, TABLE, x=(4,))) == {"Cast": 1, "Gather": 1}
    whole = written(net, NOWHERE, TABLE, x=np.zeros(4, np.int64))
    assert count(whole) == {"Gather": 1}
    np.testing.assert_array_equal(run_onnx(whole, {"x": np.array([1, 0, 3, 2])})[0], TABLE["w"][[1, 0, 3, 2]])


def test_indexes_that_are_inside_anyway() -> None:
    net = embedding(sym.argmax(sym.Variable("x"), axis=1))
    assert not count(written(net, USUAL, TABLE, x=(5, 4)))["Clip"]
    assert count(written(net, USUAL, TABLE, x=(5, 7)))["Clip"] == 1  # there are four rows
    assert count(written(net, Forms(keep_graph=True), TABLE, x=(5, 4)))["Clip"] == 1


def test_in_the_command(tmp_path) -> None:
    net = sym.argmax(embedding(sym.Variable("x")), axis=1)
    net.save(str(tmp_path / "net-symbol.json"))
    nd.save(str(tmp_path / "net-0000.params"), {"arg:w": nd.array(TABLE["w"])})
    found = {}
    for option in ("", "--nan-guards", "--no-nan-guards"):
        target = tmp_path / f"out{option}.onnx"
        asked = [option] if option else []
        result = CliRunner().invoke(
            app, ["convert", str(tmp_path / "net"), "-o", str(target), "--input", "x:4", "--opset", "17", *asked]
        )
        assert result.exit_code == 0, result.output
        found[option] = count(onnx.load(target))
    assert [(c["Equal"], c["Clip"]) for c in found.values()] == [(0, 1), (1, 1), (0, 0)]


def test_a_graph_that_is_kept(tmp_path) -> None:
    data = sym.Variable("data")
    net = sym.BatchNorm(sym.Convolution(data, kernel=(1, 1), num_filter=2, name="conv"), name="bn", fix_gamma=False)
    names = ("conv_weight", "conv_bias", "bn_gamma", "bn_beta", "bn_moving_mean", "bn_moving_var")
    rng = np.random.default_rng(1)
    params = {n: rng.random((2, 3, 1, 1) if "weight" in n else 2).astype(F4) for n in names}
    for forms, operators in ((USUAL, {"Conv": 1}), (Forms(keep_graph=True), {"Conv": 1, "BatchNormalization": 1})):
        target = tmp_path / "m.onnx"
        result = bridge.convert(net, params, inputs={"data": (1, 3, 4, 4)}, output=target, forms=forms)
        model = onnx.load(target)
        assert count(model) == operators and result.verification is not None and result.verification.equivalent
        assert model.graph.output[0].name == "bn_output"
        again = bridge.import_onnx(target, output=tmp_path / "again")
        assert again.verified
    trained = bridge.convert(net, params, inputs={"data": (1, 3, 4, 4)}, training=True)
    assert trained.operators["BatchNormalization"] == 1


def test_sizes_that_vary() -> None:
    net = sym.argmax(sym.softmax(sym.Variable("x")), axis=1)
    assert count(written(net, USUAL, x=("n", 3))) == {"Softmax": 1, "ArgMax": 1, "Squeeze": 1, "Cast": 1}
