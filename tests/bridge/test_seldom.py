"""Seldom uses of what bridge is made of: names that are no text, labels that one side reads, where a fault lies."""

import json
import sys
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from typer.testing import CliRunner

import bridge
import hybrid as mx
from bridge import cli, report
from bridge.bench import BenchResult, Peak, StepTime
from bridge.cases import make_case
from bridge.engines import NativeEngine, OnnxEngine
from bridge.exact import epsilon, moved
from bridge.inspect import InspectResult, OperatorsResult
from bridge.models import open_model
from bridge.result import Divergence
from converters import Problem
from converters.coverage import Row
from hybrid.core.op import Spec

from .test_report import CONVERTED, FAR, FOUND, IMPORTED, NEAR

HOSTILE = "\x1b[31m\u202e\n"
KEPT = ("verdict", "kind", "checked", "shape")


def hostile(value: Any) -> Any:
    """A result in which every text begins with what moves the cursor, but those that are one of a few words."""
    if isinstance(value, str):
        return HOSTILE + value
    if is_dataclass(value) and not isinstance(value, type):
        given = {f.name: getattr(value, f.name) for f in fields(value)}
        return replace(value, **{n: v if n in KEPT else hostile(v) for n, v in given.items()})
    if isinstance(value, dict):
        return {
            k if k in KEPT or k in ("dtype", "median", "low", "high") else HOSTILE + k: hostile(v)
            for k, v in value.items()
        }
    if isinstance(value, tuple):
        items = [hostile(v) for v in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    return value


def test_no_report_shows_a_name_that_is_no_text(capsys: pytest.CaptureFixture[str]) -> None:
    found = Divergence("t", "n", "Op", FAR, NEAR, {"x": {"shape": [2, 3], "dtype": "float32"}})
    inspected = InspectResult(
        "net", "symbol", {"x": {"shape": [2], "dtype": "float32"}}, {"y": {"shape": None, "dtype": None}}, ("label",), 3, 12,
        {"float32": 2}, ("w",), ("v",), {"Op": 1}, 13, (Problem("n", "Op", "why"),), "whole", ("_onnx_A",), ("this",),
    )  # fmt: skip
    row = Row(**{**dict.fromkeys(Row._fields, "x"), "aliases": ("a",), "opsets": (), "refused": ("r",), "read": ("X",)})
    times = {"median": 0.002, "low": 0.001, "high": 0.0035, "best": 0.0009, "samples": 5}
    benched = BenchResult(
        "net", {"x": (2, 3)}, 3, "v3", {"gluonnx": times}, 2.5, False, (NEAR, FAR),
        (StepTime("n1", "Conv", "gemm", (2, 3), 1e-6, 0.25, 1.26, 2.5, 0.504),), Peak(1.5e11, 2.25e10), ("w1",),
    )  # fmt: skip
    shown = {
        "converted": report.converted(hostile(CONVERTED)),
        "imported": report.imported(hostile(IMPORTED)),
        "verified": report.verified(hostile(replace(FOUND, divergence=found, repro="folder"))),
        "inspected": report.inspected(hostile(inspected)),
        "listed": report.listed(hostile(OperatorsResult((row,), {"z": "first"}))),
        "benched": report.benched([hostile(benched)]),
        "arrays": report.arrays({f"{HOSTILE}a": np.array([1.5, 2])}),
    }
    for name, what in shown.items():
        report.show(what)
        out = capsys.readouterr().out
        assert not set(out) & {"\x1b", "\u202e"}, name
        assert r"\x1b[31m\u202e\n" in out, name


def test_how_fine_each_dtype_is() -> None:
    kinds = {"float16": 2.0**-10, "float32": 2.0**-23, "float64": 2.0**-23, "bfloat16": 2.0**-7}
    for name, step in kinds.items():
        dtype = np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)
        assert epsilon(dtype) == step, name
        array = np.linspace(1, 2, 7).astype(dtype)
        far = np.abs(moved(array, 3.0, 5, "x") / array.astype(np.float64) - 1)
        assert 0.5 * step < far.max() <= 3 * step, name


def test_a_label_that_the_other_side_reads_is_fed_and_one_that_nobody_reads_is_not() -> None:
    """The symbol's label is an input of the other model, which computes with it."""
    data, label = mx.sym.var("x"), mx.sym.var("y")
    scores = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(data, num_hidden=3, name="fc"), label, name="out")
    params = {
        "fc_weight": np.linspace(-1, 1, 12).reshape(3, 4).astype(np.float32),
        "fc_bias": np.float32([0.1, -0.2, 0.3]),
    }
    first, second = (
        open_model(scores, params),
        open_model(mx.sym.broadcast_add(data, mx.sym.reshape(label, shape=(-1, 1))), {}),
    )
    arrays = {"x": np.linspace(0, 2, 8).reshape(2, 4).astype(np.float32), "y": np.float32([2, 1])}
    specs = {n: Spec(a.shape, a.dtype) for n, a in arrays.items()}
    one, two = NativeEngine(first), NativeEngine(second)
    for a, b in (((first, one), (second, two)), ((second, two), (first, one))):
        case = make_case(*a, *b, specs, arrays, 3)
        assert case.feeds["y"] is arrays["y"] and case.shapes == {"x": (2, 4), "y": (2,)} and case.seed is None
        drawn = make_case(*a, *b, specs, {"x": arrays["x"]}, 3)
        assert drawn.feeds["y"].shape == (2,) and drawn.seed == 3
    alone = make_case(first, one, first, one, specs, arrays, 3)
    assert alone.shapes == {"x": (2, 4)} and list(alone.feeds) == ["x"] and alone.seed is None
    other = open_model(mx.sym.LinearRegressionOutput(data, mx.sym.var("z")), {})
    more = {**specs, "z": specs["x"]}, {**arrays, "z": arrays["x"]}
    both = [(first, one), (other, NativeEngine(other))]
    for a, b in (both, both[::-1]):  # each has a label that the other does not know
        assert list(make_case(*a, *b, *more, 3).feeds) == ["x"]


def test_a_fault_of_ours_is_told_with_its_place_and_kept_with_its_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["gluonnx", "inspect", "a model"])

    def deep() -> None:
        raise ZeroDivisionError("zero\x1b" + 300 * "x")

    line = deep.__code__.co_firstlineno + 1
    monkeypatch.setattr(bridge, "inspect", lambda *_, **__: deep())
    found = CliRunner().invoke(cli.app, ["inspect", "a model", "--json"])
    said = json.loads(found.stdout)["error"]
    assert found.exit_code == 70 and f"({Path(__file__).name}, line {line})" in said
    assert said.startswith(rf"internal error: ZeroDivisionError: zero\x1b{192 * 'x'} (")
    (kept,) = tmp_path.glob("gluonnx-*.txt")
    text = kept.read_text()
    assert str(kept) in said and "gluonnx inspect 'a model'\n" in text and text.count("x" * 300) == 1
    assert f"NumPy {np.__version__}" in text.splitlines()[0] and f"line {line}, in deep" in text


def engine(text: str) -> OnnxEngine:
    return OnnxEngine(open_model(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {text}')))


def test_bfloat16_goes_in_or_comes_out_alone_in_any_order_of_memory() -> None:
    bf16 = np.dtype(ml_dtypes.bfloat16)
    x = np.linspace(-3, 2, 12).reshape(3, 4).astype(np.float32)
    out = engine("g (float[3, 4] x) => (bfloat16[3, 4] y, float[4, 3] z) { y = Cast <to = 16> (x) z = Transpose (x) }")
    inside = engine("g (bfloat16[4, 3] x, float[4, 3] w) => (float[4, 3] y) { h = Cast <to = 1> (x) y = Add (h, w) }")
    for array in (x, np.asfortranarray(x), np.linspace(-3, 2, 24).astype(np.float32).reshape(3, 8)[:, ::2]):
        found = out.run({"x": array})
        assert found["y"].dtype == bf16 and found["z"].dtype == np.float32
        np.testing.assert_array_equal(found["y"].astype(np.float32), array.astype(bf16).astype(np.float32))
        np.testing.assert_array_equal(found["z"], array.T)
        turned = array.astype(bf16).T
        np.testing.assert_array_equal(inside.run({"x": turned, "w": array.T})["y"], turned.astype(np.float32) + array.T)


def test_arrays_of_another_rank_are_refused_before_they_run() -> None:
    given = engine("g (float[2, n] x, int64 k) => (float[2, n] y) { h = Cast <to = 1> (k) y = Mul (x, h) }")
    x, k = np.ones((2, 3), np.float32), np.array(2)
    assert given.run({"x": x * 3, "k": k})["y"].tolist() == [[6.0] * 3] * 2
    for feeds, told in (
        ({"x": x[0], "k": k}, ["input x: got shape (3,), model wants (2, n)"]),
        ({"x": x[..., None], "k": k}, ["input x: got shape (2, 3, 1), model wants (2, n)"]),
        ({"x": x.T, "k": k[None]}, ["input x: got shape (3, 2), model wants (2, n)", "input k: got shape (1,), model wants ()"]),
        ({"x": x.astype(np.float64), "k": k.astype(np.int32)}, ["input x: got float64", "input k: got int32"]),
    ):  # fmt: skip
        with pytest.raises(bridge.BadInput) as caught:
            given.run(feeds)
        assert len(caught.value.problems) == len(told), caught.value.problems
        assert all(p.startswith(t.replace("model", "g")) for p, t in zip(caught.value.problems, told)), (
            caught.value.problems
        )


def test_kernels_of_either_side_that_is_ours_are_looked_into(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    x, inputs = mx.sym.var("x"), {"x": np.linspace(-1, 2, 6).reshape(2, 3).astype(np.float32)}
    (tmp_path / "onnx").mkdir()
    bridge.convert(x * 3, {}, inputs=inputs, output=tmp_path / "third.onnx")
    first, second = open_model(mx.sym.exp(x, name="out"), {}), open_model(mx.sym.sin(x, name="out"), {})
    third = open_model(tmp_path / "third.onnx")
    asked: list[int] = []

    def fault(engine: NativeEngine, feeds: Any, tolerance: Any) -> str:
        asked.append(id(engine.model))
        return f"fault {len(asked)} at {tolerance}"

    monkeypatch.setattr(NativeEngine, "kernels_at_fault", fault)
    for one, two, ours in (
        (first, second, [first, second]), (first, third, [first]), (third, second, [second]), (third, third, []),
    ):  # fmt: skip
        for limits in (None, (1e-3, 1e-2)):
            asked.clear()
            found = bridge.verify(one, two, inputs=inputs, tolerance=limits)
            assert found.equivalent == (one is two) and asked == [id(m) for m in ours]
            said = f"at {limits and f'Tolerance(atol={limits[0]}, rtol={limits[1]})'}"
            assert [w for w in found.warnings if w.startswith("fault ")] == [
                f"fault {i + 1} {said}" for i in range(len(ours))
            ]


def test_outputs_are_chosen_by_node_and_by_name_of_output() -> None:
    parts = mx.sym.SliceChannel(mx.sym.var("x"), num_outputs=3, name="cut")
    model = open_model(mx.sym.Group([parts[2] * 2, mx.sym.exp(parts[0], name="up")]), {})
    x = np.linspace(-1, 1, 12).reshape(2, 6).astype(np.float32)
    for chosen, want in (
        (["cut"], [x[:, :2]]),
        (["cut_output1"], [x[:, 2:4]]),
        (["up", "cut_output2"], [np.exp(x[:, :2]), x[:, 4:]]),
        (["cut", "x", "cut_output0"], [x[:, :2], x, x[:, :2]]),
    ):
        found = NativeEngine(model.select(chosen)).run({"x": x})
        for got, wanted in zip(found.values(), want, strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-6)
    with pytest.raises(bridge.BadInput, match=r"no output 'cut_output3' in the graph; did you mean cut_output"):
        model.select(["cut", "cut_output3"])
