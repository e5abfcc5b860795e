"""Seldom uses of what bridge is made of: names that are no text, labels that one side reads, where a fault lies."""

import importlib
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
import converters
import hybrid as mx
from bridge import cli, exact, judge, locate, onnx_backend, report, timing
from bridge.bench import BenchResult, Peak, StepTime
from bridge.cases import make_case
from bridge.compare import Tolerance
from bridge.conversion import proof
from bridge.cut import widened_model
from bridge.draws import draw
from bridge.engines import NativeEngine, OnnxEngine, Tensor
from bridge.exact import Exact, epsilon, perturb
from bridge.importing import not_in_mxnet
from bridge.inputs import as_specs
from bridge.inspect import InspectResult, OperatorsResult
from bridge.models import check_sizes, newest_params, open_model
from bridge.result import Case, Divergence
from bridge.troubles import trouble_of
from converters import Problem
from converters.coverage import Row
from hybrid.core.error import FormatError
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
        "net", {"x": {"shape": [2, 3], "dtype": "float32"}}, 3, "v3", {"gluonnx": times}, 2.5, False, (NEAR, FAR),
        (StepTime("n1", "Conv", "gemm", (2, 3), 1e-6, 0.25, 1.26, 2.5, 0.504),), Peak(1.5e11, 2.25e10), ("w1",),
    )  # fmt: skip
    shown = {
        "converted": report.convert_table(hostile(CONVERTED)),
        "imported": report.import_table(hostile(IMPORTED)),
        "verified": report.verify_table(hostile(replace(FOUND, divergence=found, repro="folder"))),
        "inspected": report.inspect_table(hostile(inspected)),
        "listed": report.operators_table(hostile(OperatorsResult((row,), {"z": "first"}))),
        "benched": report.bench_table([hostile(benched)]),
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
        far = np.abs(perturb(array, 3.0, 5, "x") / array.astype(np.float64) - 1)
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
    for a, b in ((one, two), (two, one)):
        case = make_case(a, b, specs, arrays, 3)
        assert case.feeds["y"] is arrays["y"] and case.shapes == {"x": (2, 4), "y": (2,)} and case.seed is None
        drawn = make_case(a, b, specs, {"x": arrays["x"]}, 3)
        assert drawn.feeds["y"].shape == (2,) and drawn.seed == 3
    alone = make_case(one, one, specs, arrays, 3)
    assert alone.shapes == {"x": (2, 4)} and list(alone.feeds) == ["x"] and alone.seed is None
    other = open_model(mx.sym.LinearRegressionOutput(data, mx.sym.var("z")), {})
    more = {**specs, "z": specs["x"]}, {**arrays, "z": arrays["x"]}
    both = [one, NativeEngine(other)]
    for a, b in (both, both[::-1]):  # each has a label that the other does not know
        assert list(make_case(a, b, *more, 3).feeds) == ["x"]


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

    def fault(engine: NativeEngine, feeds: Any, given: Any) -> str:
        assert np.array_equal(
            next(iter(given.values())), next(iter(engine.run(feeds).values()))
        )  # which need not run again
        asked.append(id(engine.model))
        return f"fault {len(asked)}"

    monkeypatch.setattr(judge, "kernels_at_fault", fault)
    for one, two, ours in (
        (first, second, [first, second]), (first, third, [first]), (third, second, [second]), (third, third, []),
    ):  # fmt: skip
        for limits in (None, (1e-3, 1e-2)):
            asked.clear()
            found = bridge.verify(one, two, inputs=inputs, tolerance=limits)
            assert found.equivalent == (one is two) and asked == [id(m) for m in ours]
            assert [w for w in found.warnings if w.startswith("fault ")] == [f"fault {i + 1}" for i in range(len(ours))]


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


def test_the_newest_parameters_are_those_of_the_model_itself(tmp_path: Path) -> None:
    """Neighbours whose names only look alike do not count, and 10000 comes after 9999."""
    symbol = tmp_path / "a.b+c-symbol.json"
    symbol.write_text((mx.sym.var("x") * mx.sym.var("w_weight")).tojson())
    for name in (
        "axb+c-0009",
        "a.b+c2-0009",
        "a.b+c-symbol-0009",
        "x-a.b+c-0009",
        "a.bbc-0008",
        "a.b+c-best",
        "a.b+c-0009x",
    ):
        (tmp_path / f"{name}.params").touch()
    for name in ("a.b+c-0009.params.bak", "a.b+c-0009.paramsx", "xa.b+c-0009.params"):
        (tmp_path / name).touch()
    assert newest_params(symbol) is None
    (tmp_path / "a.b+c.params").touch()
    assert newest_params(symbol) == tmp_path / "a.b+c.params"
    for number in ("0000", "9999", "10000", "0012"):
        (tmp_path / f"a.b+c-{number}.params").touch()
        most = max(int(n) for n in ("0000", "9999", "10000", "0012") if (tmp_path / f"a.b+c-{n}.params").exists())
        found = newest_params(symbol)
        assert found is not None and found.name == f"a.b+c-{most:04d}.params"


def test_every_output_of_a_node_is_held_to_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = mx.sym.split_v2(mx.sym.var("x"), (1,), axis=0)
    model = open_model(mx.sym.Group([parts[0], mx.sym.mean(parts[1])]), {})
    monkeypatch.setattr("bridge.models.memory_budget", lambda: 200)
    inferred = model.infer({"x": Spec((30, 4), np.dtype(np.float32))})
    (problem,) = check_sizes(model.graph, inferred)
    assert "(_split_v2)" in problem and "(29, 4) takes 464 bytes, and the memory budget is 200 bytes" in problem


def test_bytes_that_are_no_model_are_told_as_such() -> None:
    for content in (b"garbage", b"\x08", b"PK\x03\x04", b"{}"):
        with pytest.raises(FormatError, match=r"<\d bytes>: got .* wanted an? (whole )?ONNX model"):
            open_model(content)


def test_whole_numbers_stay_when_floats_are_cast_to_what_the_graph_computes_in() -> None:
    x = mx.sym.Cast(mx.sym.var("x"), dtype="float16")
    rows = mx.sym.take(mx.sym.FullyConnected(x, num_hidden=3, no_bias=True, name="fc"), mx.sym.var("places"))
    stored = {
        "fc_weight": np.linspace(-1, 1, 12).reshape(3, 4).astype(np.float32),
        "places": np.array([1, 0, 1], np.int32),
    }
    model = open_model(rows, stored)
    assert model.cast == ("fc_weight",) and {n: a.dtype.name for n, a in model.params.items()} == {
        "fc_weight": "float16",
        "places": "int32",
    }


def test_what_makes_up_further_sizes_keeps_dtypes_and_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """Inputs of any dtype with dynamic axes; the second size has values of the arrays; further inputs of the same sizes are no
    second size, of others they are."""
    net, real, seen = mx.sym.var("x") + mx.sym.var("y"), proof.Cases, []

    class Recorded(real):
        def case(self, *given: Any, **options: Any) -> Any:
            seen.append((self.like, super().case(*given, **options)))
            return seen[-1][1]

    monkeypatch.setattr(proof, "Cases", Recorded)
    for kind in ("float16", "float64", "int32", "float32"):
        arrays = {n: (np.arange(6).reshape(2, 3) * (3 + i)).astype(kind) for i, n in enumerate("xy")}
        axes = {n: {0: "n"} for n in "xy"}
        seen.clear()
        found = bridge.convert(net, {}, inputs=arrays, dynamic=axes)
        assert {d["dtype"] for d in (*found.inputs.values(), *found.outputs.values())} == {kind}
        assert [c.shapes["x"] for _, c in seen] == [(2, 3), (3, 3)]
        assert seen[1][0] is not None and all(seen[1][0][n] is arrays[n] for n in "xy")
        assert all(set(seen[1][1].feeds[n].ravel().tolist()) <= set(arrays[n].ravel().tolist()) for n in "xy")
        for also, sizes in (
            ([arrays], [2, 2, 3]),
            ([{n: np.repeat(a, 2, axis=0) for n, a in arrays.items()}], [2, 4]),
            ([arrays] * 2, [2, 2, 2, 3]),
        ):
            seen.clear()
            bridge.convert(net, {}, inputs=arrays, dynamic=axes, also=also)
            assert [c.shapes["x"][0] for _, c in seen] == sizes


def test_strict_refuses_one_output_of_two_that_says_little(tmp_path: Path) -> None:
    x = mx.sym.var("x")
    net = mx.sym.Group([mx.sym.exp(x, name="much"), mx.sym.broadcast_greater(x * x, x * 0 - 1, name="little")])
    target = tmp_path / "m.onnx"
    for strict in (False, True):
        given = {"inputs": {"x": (2, 3)}, "output": target, "strict": strict}
        if not strict:
            found = bridge.convert(net, {}, **given)
            assert (
                found.verification is not None
                and found.verification.verdict == "equivalent"
                and found.verification.little
            )
            assert target.exists()
            target.unlink()
            continue
        with pytest.raises(bridge.NotEquivalent):
            bridge.convert(net, {}, **given)
        assert not target.exists()
    found = bridge.convert(net, {}, inputs={"x": (2, 3)}, outputs=["little", "much"])
    assert list(found.outputs) == ["little", "much"] or list(found.outputs) == ["little_output", "much_output"]


@pytest.mark.parametrize("where", ["initializer", "constant", "body"])
def test_nothing_takes_the_place_of_weights_beside_an_onnx_model(tmp_path: Path, where: str) -> None:
    """They are part of what is read, wherever in the model they stand, and by whatever name the file is called."""
    weight = onnx.numpy_helper.from_array(np.arange(2048, dtype=np.float32), "w")
    held = "w" if where == "initializer" else "c"
    make, float_ = onnx.helper, onnx.TensorProto.FLOAT
    constant = make.make_node("Constant", [], ["c"], value=weight)
    add = make.make_node("Add", ["x", held], ["y"])
    info = [make.make_tensor_value_info(n, float_, [2048]) for n in "xyz"]
    nodes = [add] if where == "initializer" else [constant, add]
    if where == "body":
        body = make.make_graph(nodes, "body", [], info[1:2])
        cond = make.make_node("Constant", [], ["q"], value=onnx.numpy_helper.from_array(np.array(True)))
        nodes = [cond, make.make_node("If", ["q"], ["z"], then_branch=body, else_branch=body)]
    graph = make.make_graph(nodes, "net", info[:1], info[2:] if where == "body" else info[1:2])
    if where == "initializer":
        graph.initializer.append(weight)
    model = make.make_model(graph, opset_imports=[make.make_opsetid("", 17)], ir_version=8)
    path, beside, arrays = tmp_path / "m.onnx", tmp_path / "net-0000.params", tmp_path / "x.npz"
    onnx.save(
        model, path, save_as_external_data=True, location=beside.name, convert_attribute=True, size_threshold=1024
    )
    np.savez(arrays, x=np.ones(2048, np.float32))
    before = beside.read_bytes()
    (tmp_path / "link.npz").symlink_to(beside)
    tried = [
        *(
            ["run", path, "--inputs", arrays, "--engine", "native", "-o", to]
            for to in (beside, tmp_path / "link.npz", path)
        ),
        ["import", path, "-o", tmp_path / "net"],
    ]
    for arguments in tried:
        found = CliRunner().invoke(cli.app, [str(a) for a in arguments])
        assert found.exit_code == 2 and "read as well" in found.stderr, (arguments, found.stderr)
        assert beside.read_bytes() == before and not (tmp_path / "net-symbol.json").exists()
    found = CliRunner().invoke(cli.app, ["run", str(path), "--inputs", str(arrays), "-o", str(tmp_path / "out.npz")])
    assert found.exit_code == 0
    (out,) = np.load(tmp_path / "out.npz").values()
    np.testing.assert_array_equal(out, np.arange(2048) + 1)


def test_no_file_of_weights_takes_the_place_of_parameters_that_are_read(tmp_path: Path) -> None:
    net = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=3, name="fc")
    (tmp_path / "m-symbol.json").write_text(net.tojson())
    weights = {
        "arg:fc_weight": mx.nd.array(np.linspace(-1, 1, 12).reshape(3, 4)),
        "arg:fc_bias": mx.nd.array([1, 2, 3]),
    }
    stored = tmp_path / "m.onnx.data"
    mx.nd.save(str(stored), weights)
    before = stored.read_bytes()
    told: list[str] = []
    with pytest.raises(bridge.BadInput, match=r"m\.onnx\.data: read as well"):
        bridge.convert(
            tmp_path / "m-symbol.json", stored, inputs={"x": (2, 4)}, output=tmp_path / "m.onnx", external_data=True,
            progress=told.append,
        )  # fmt: skip
    assert told == ["reading the model"]  # before the work is done
    arrays = tmp_path / "x.npz"
    np.savez(arrays, x=np.ones((2, 4), np.float32))
    found = CliRunner().invoke(
        cli.app, ["run", str(tmp_path / "m-symbol.json"), str(stored), "--inputs", str(arrays), "-o", str(stored)]
    )
    assert found.exit_code == 2 and "read as well" in found.stderr and stored.read_bytes() == before
    (tmp_path / "m.onnx").unlink(missing_ok=True)
    bridge.convert(tmp_path / "m-symbol.json", stored, inputs={"x": (2, 4)}, output=tmp_path / "n.onnx")
    (tmp_path / "n-0000.params").write_bytes(b"mine")
    found = CliRunner().invoke(cli.app, ["import", str(tmp_path / "n.onnx")])
    assert found.exit_code == 2 and "n-0000.params: there already" in found.stderr
    assert (tmp_path / "n-0000.params").read_bytes() == b"mine" and not (tmp_path / "n-symbol.json").exists()


def test_what_mxnet_lacks_is_looked_for_in_bodies_and_in_every_dtype() -> None:
    x = mx.sym.var("x")

    def product() -> Any:
        return mx.sym.onnx.CumProd(x, mx.sym.var("axis"))

    outside = product()
    once = mx.sym.contrib.cond(mx.sym.sum(x) > 0, lambda: outside + 1, lambda: outside + 2)
    twice = mx.sym.contrib.cond(mx.sym.sum(x) > 0, product, lambda: product() * 2)
    assert list(not_in_mxnet(once.graph, {})) == ["_onnx_CumProd"]
    assert list(not_in_mxnet(twice.graph, {})) == ["_onnx_CumProd, 2 times"]
    kinds = ("float32", "float64", "float16", "uint8", "int32", "int8", "int64", "bool")
    kinds += ("int16", "uint16", "uint32", "uint64", "complex64")
    params = {k: np.ones(2, k) for k in kinds}
    params |= {"bfloat16": np.ones(2, ml_dtypes.bfloat16), "float8": np.ones(2, ml_dtypes.float8_e5m2)}
    assert list(not_in_mxnet(x.graph, params)) == [
        "parameter complex64 is complex64",
        "parameter float8 is float8_e5m2",
    ]


def test_arrays_of_other_kinds_are_no_inputs() -> None:
    for array in (np.ones(2, np.complex64), np.array(["a"]), np.array([None]), np.ones(2, "datetime64[s]")):
        with pytest.raises(
            bridge.BadInput, match=f"input x: got an array of {array.dtype}, wanted numbers".replace("[", r"\[")
        ):
            as_specs({"x": array})


def test_half_precision_of_both_kinds_is_widened() -> None:
    for code, kind in ((10, "FLOAT16"), (16, "BFLOAT16"), (1, "FLOAT")):
        model = onnx.parser.parse_model(
            f'<ir_version: 8, opset_import: ["" : 17]> g ({kind.lower()}[2] x) => ({kind.lower()}[2] y) '
            f"{{ h = Cast <to = {code}> (x) y = Identity (h) }}"
        )
        for halved in (False, True):
            wide = widened_model(model, halved)
            want = onnx.TensorProto.DOUBLE if halved or code == 1 else code
            found = [wide.graph.input[0].type.tensor_type.elem_type, wide.graph.output[0].type.tensor_type.elem_type]
            assert [*found, wide.graph.node[0].attribute[0].i] == [want] * 3, (kind, halved)
            assert model.graph.input[0].type.tensor_type.elem_type == code


def test_operators_that_make_float32_make_float64_of_every_kind_of_dtype_argument() -> None:
    third = np.array([1 / 3, 2 / 3, 1 / 7])
    x = mx.sym.var("x")
    for net in (
        mx.sym.norm(x, out_dtype="float32"),
        mx.sym.np.sum(x.as_np_ndarray(), dtype="float32"),
        mx.sym.Cast(x, dtype="float32"),
    ):
        (op,) = [n.op for n in net.graph.nodes if n.op is not None][:1]
        field = "out_dtype" if "out_dtype" in op.fields else "dtype"
        assert (
            str(np.dtype(getattr(exact._widened_op(op, None, False), field))) == "float64"
            and str(np.dtype(getattr(op, field))) == "float32"
        )
        (got,) = Exact(net.graph, {}).run({"x": third})
        want = third if got.size == 3 else third.sum() if "sum" in op.name else np.sqrt((third**2).sum())
        np.testing.assert_allclose(got.reshape(np.shape(want)), want, rtol=1e-15)


def test_one_absent_operator_has_its_table_and_scalars_count(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    report.show(report.operators_table(OperatorsResult((), {"z": "first"})))
    assert "1 are not here" in capsys.readouterr().out
    text = "g (float[2] x) => (float[2] y) <float s = {3}, float[2, 3] w = {1, 2, 3, 4, 5, 6}> { h = Mul (x, s) y = Identity (h) }"
    found = bridge.inspect(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {text}'))
    assert (found.parameters, found.parameter_bytes) == (7, 28)
    x = mx.sym.var("x")
    net = mx.sym.contrib.cond(mx.sym.sum(x) > 0, lambda: mx.sym.exp(x), lambda: mx.sym.elemwise_add(x, x))
    fields: dict[str, Any] = dict.fromkeys(Row._fields, "")
    rows = [Row(**{**fields, "name": n}) for n in ("exp", "elemwise_add", "_cond", "sum", "sin", "_greater_scalar")]
    monkeypatch.setattr(importlib.import_module("bridge.inspect"), "rows", lambda: rows)
    listed = {row.name for row in bridge.operators(net).operators}
    assert (
        {"exp", "elemwise_add", "_cond", "sum"} <= listed and "sin" not in listed and not bridge.operators(net).absent
    )
    assert (
        onnx_backend.supports_device("CPU:0")
        and not onnx_backend.supports_device("CPUS")
        and not onnx_backend.supports_device("")
    )


def test_calls_that_are_timed_together_count_each(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]

    def call() -> None:
        now[0] += 50e-6

    monkeypatch.setattr("bridge.timing.time.perf_counter", lambda: now[0])
    times = timing.block(call, 0.0021)
    assert len(times) == 11 and np.allclose(times, 50e-6)


def test_the_node_alone_is_held_against_the_first_side(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures are shares of what the first side gives."""

    class Side:
        def __init__(self, value: list[float]):
            self.value = np.float32(value)

        def expose(self, feeds: Any, names: Any) -> Any:
            return {n: feeds[n] for n in names if n in feeds}

        def compute_alone(self, tensor: Any, given: Any) -> Any:
            assert set(given) == {"x"}
            return self.value

    tensor = Tensor("t", "n", "Op", ("x", "x"))
    case = Case({"x": np.float32([1, 2, 3]), "z": np.float32([4])})
    found = locate._explain(Side([1, 2]), Side([3, 4]), case, tensor, tensor, FAR, None, {})  # type: ignore[arg-type]
    assert found.local is not None and (found.local.max_abs, found.local.max_rel) == (2, 1) and found.accumulated is FAR
    assert found.inputs == {"x": {"shape": [3], "dtype": "float32", "min": 1, "max": 3, "mean": 2, "nan": 0, "inf": 0}}
    wide = Tolerance(0, 3)
    assert locate._explain(Side([1, 2]), Side([3, 4]), case, tensor, tensor, FAR, wide, {}).kind == "accumulated"  # type: ignore[arg-type]


def test_nodes_of_other_families_are_run_at_opsets_of_their_own() -> None:
    node = onnx.helper.make_node("Binarizer", ["x"], ["y"], domain="ai.onnx.ml", threshold=0.5)
    x = np.float32([[0.25, 0.75], [0.5, 3]])
    for opset in (1, 3):
        (found,) = onnx_backend.run_node(node, [x], opset_version=opset)
        assert found.tolist() == [[0, 1], [0, 1]]


def test_labels_need_not_be_given_on_either_engine() -> None:
    scores = mx.sym.SoftmaxOutput(
        mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=3, name="fc"), mx.sym.var("y"), name="out"
    )
    weight, bias = np.linspace(-1, 1, 12).reshape(3, 4).astype(np.float32), np.float32([0.5, -1, 2])
    x = np.linspace(0, 2, 8).reshape(2, 4).astype(np.float32)
    logits = x @ weight.T + bias
    want = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    for engine_ in ("native", "onnxruntime"):
        for more in ({}, {"y": np.float32([1, 2])}):
            (found,) = bridge.run(
                scores, {"x": x, **more}, params={"fc_weight": weight, "fc_bias": bias}, engine=engine_
            ).values()
            np.testing.assert_allclose(found, want, rtol=1e-5)


def classifier(rows: int = 1) -> tuple[mx.sym.Symbol, dict[str, np.ndarray]]:
    """A network of 4 numbers a row; of as many rows for each row of data."""
    data = mx.sym.var("data") if rows == 1 else mx.sym.Reshape(mx.sym.var("data"), shape=(-1, 4 // rows))
    net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(data, num_hidden=3, name="fc"), name="softmax")
    weights = np.random.default_rng(0).normal(size=(3, 4 // rows)).astype("f4")
    return net, {"fc_weight": weights, "fc_bias": np.zeros(3, "f4")}


def test_what_says_enough_passes_strictly(tmp_path: Path) -> None:
    net, params = classifier()
    target = tmp_path / "net.onnx"
    assert bridge.convert(net, params, inputs={"data": (5, 4)}, output=target, strict=True).verification is not None
    found = bridge.import_onnx(target, output=tmp_path / "back", strict=True)
    assert found.verification is not None and found.verification.verdict == "equivalent"


def test_arrays_of_labels_are_taken_and_read_by_nobody() -> None:
    net, params = classifier()
    arrays = {"data": np.ones((5, 4), np.float32), "softmax_label": np.zeros(5, np.float32)}
    for given in (arrays, {"data": (5, 4), "softmax_label": (5,)}):
        assert list(bridge.convert(net, params, inputs=given).inputs) == ["data"]
    model = open_model(net, params)
    assert bridge.bench(model, inputs=arrays, seconds=0.01).equivalent
    with pytest.raises(bridge.BadInput, match="got seed -1"):
        bridge.bench(model, inputs={"data": (5, 4)}, seconds=0.01, seed=-1)


def test_dynamic_axes_that_cannot_be(tmp_path: Path) -> None:
    scaled = mx.sym.broadcast_add(mx.sym.var("a"), mx.sym.var("s"))
    with pytest.raises(bridge.BadInput, match="dynamic axis 0 of s: it has 0 dimensions"):
        bridge.convert(scaled, {}, inputs={"a": (2, 3), "s": ()}, dynamic={"s": {0: "n"}})
    # labels of two rows for each row of data, which no label of an axis says
    net, params = classifier(rows=2)
    with pytest.raises(bridge.BadInput, match="does not fit the sizes made up to verify its dynamic axes"):
        bridge.convert(net, params, inputs={"data": (5, 4)}, dynamic={"data": {0: "batch"}}, training=True)


def test_open_sizes_that_weights_fix_are_named_with_the_node() -> None:
    """No sizes go together there, and so none are asked for."""
    whole = mx.sym.FullyConnected(mx.sym.relu(mx.sym.var("data")), num_hidden=3, no_bias=True, name="fc")
    params = {"fc_weight": np.ones((3, 3 * 8 * 8), np.float32)}
    told = {"inputs": {"data": (2, 3, 8, 8)}, "verify": True}
    said = r"fc \(FullyConnected\) has weights for one size alone: fc_weight \(3, 192\)\. No other size fits, so leave "
    with pytest.raises(bridge.BadInput, match=said + "data:2=height and data:3=width out") as error:
        bridge.convert(whole, params, dynamic={"data": {0: "batch", 2: "height", 3: "width"}}, **told)
    assert trouble_of(error.value).anchor == "fixed-by-weights"
    words = mx.sym.Embedding(mx.sym.var("ids"), input_dim=9, output_dim=4, name="table")
    dense = mx.sym.FullyConnected(words, num_hidden=2, no_bias=True, name="fc")
    params = {"table_weight": np.ones((9, 4), np.float32), "fc_weight": np.ones((2, 20), np.float32)}
    with pytest.raises(bridge.BadInput, match=r"fc_weight .* leave ids:1=time out"):
        bridge.convert(dense, params, inputs={"ids": (2, 5)}, dynamic={"ids": {0: "batch", 1: "time"}})


@pytest.mark.parametrize(
    ("axes", "layout", "said"),
    [
        ({1: "height", 2: "width"}, None, "axis 1 is .*; did you mean data:2=height,3=width\\?"),
        ({0: "batch", 1: "height", 2: "width"}, None, "axis 1 is .*; did you mean data:0=batch,2=height,3=width\\?"),
        ({1: "channels", 2: "height"}, None, "axis 1 is .*; did you mean data:2=height\\?"),
        ({1: "height", 2: "width", 3: "more"}, None, "axis 1 is .*; did you mean data:2=width,3=more\\?"),
        ({0: "batch", 1: "any"}, None, "axis 1 is .*; leave it out: the sides are axes 2 and 3"),
        ({2: "height", 3: "width"}, "NHWC", "axis 3 is .*; did you mean data:1=height,2=width\\?"),
        ({2: "height", 3: "width"}, None, ""),
        ({1: "height", 2: "width"}, "NHWC", ""),
    ],
)
def test_open_axes_that_are_the_channels(axes: dict[int, str], layout: str | None, said: str) -> None:
    picture = mx.sym.Convolution(mx.sym.var("data"), kernel=(3, 3), num_filter=2, no_bias=True, name="first")
    params = {"first_weight": mx.nd.array(np.ones((2, 3, 3, 3), np.float32))}
    shape = (1, 8, 8, 3) if layout else (1, 3, 8, 8)
    told = {"inputs": {"data": shape}, "dynamic": {"data": axes}, "preprocess": bridge.Preprocess(layout=layout)}
    if not said:
        assert bridge.convert(picture, params, **told).verified
        return
    with pytest.raises(bridge.BadInput, match=said) as found:
        bridge.convert(picture, params, **told)
    assert len(found.value.problems) == 1


def test_unknown_operators_say_more_than_shapes_that_are_missing(tmp_path: Path) -> None:
    text = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=3, name="fc").tojson()
    (tmp_path / "m-symbol.json").write_text(text.replace("FullyConnected", "NoSuchThing"))
    with pytest.raises(converters.UnsupportedModel, match="unknown operator 'NoSuchThing'"):
        bridge.convert(tmp_path / "m-symbol.json", {})


def test_inputs_too_large_to_be_drawn() -> None:
    specs = {n: Spec((1 << 40, 2), np.dtype(np.float32)) for n in ("x", "y")}
    with pytest.raises(bridge.BadInput, match=r"input x: .*memory budget") as found:
        draw(specs, {})
    assert len(found.value.problems) == 2


def test_outputs_that_have_no_name_and_sparse_weights_in_pieces() -> None:
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]>
        main (float[2, 1, 3] x, float[1, 8, 3] w, float[1, 8, 2] r, float[4] a) => (float[1, 1, 2] h, float[4] y) {
        , h, = LSTM <hidden_size = 2> (x, w, r) , k = Dropout (a) b = Add (a, s) c = Mul (b, t) y = Sub (c, u) }""")
    for number, name in enumerate("stu"):
        values = onnx.helper.make_tensor(name, onnx.TensorProto.FLOAT, [1], [2.0 + number])
        places = onnx.helper.make_tensor("", onnx.TensorProto.INT64, [1], [number])
        model.graph.sparse_initializer.append(onnx.helper.make_sparse_tensor(values, places, [4]))
    engine = OnnxEngine(open_model(model))
    assert [t.name for t in engine.inner_tensors()] == ["h", "k", "b", "c", "y"]
    feeds = {
        "x": np.ones((2, 1, 3), np.float32),
        "w": np.ones((1, 8, 3), np.float32),
        "r": np.ones((1, 8, 2), np.float32),
    }
    feeds["a"] = np.float32([1, 2, 3, 4])
    (got,) = engine.run_forced(frozenset({"b"}), {**feeds, "b": feeds["a"]}, ["y"]).values()
    np.testing.assert_array_equal(got, feeds["a"] * np.float32([0, 3, 0, 0]) - np.float32([0, 0, 4, 0]))


def test_options_of_the_commands_that_few_give(tmp_path: Path) -> None:
    net, params = classifier()
    net.save(str(tmp_path / "m-symbol.json"))
    mx.nd.save(str(tmp_path / "m-0000.params"), {f"arg:{n}": mx.nd.array(a) for n, a in params.items()})
    np.savez(tmp_path / "x.npz", data=np.ones((5, 4), np.float32))

    def call(*arguments: Any) -> Any:
        found = CliRunner().invoke(cli.app, [*map(str, arguments), "--json"])
        assert found.exit_code == 0, found.stderr
        return json.loads(found.stdout)

    (measured,) = call("bench", tmp_path / "m", "--inputs", tmp_path / "x.npz", "--seconds", 0.01)["models"]
    assert measured["inputs"]["data"]["shape"] == [5, 4]
    call("convert", tmp_path / "m", "--inputs", tmp_path / "x.npz", "-o", tmp_path / "m.onnx")
    back = str(tmp_path / "back")
    refused = CliRunner().invoke(cli.app, ["import", str(tmp_path / "m.onnx"), "-o", back, "--atol", "-1"])
    assert refused.exit_code == 2 and "-1" in refused.stderr
    call("import", tmp_path / "m.onnx", "-o", back, "--atol", 0.125)


def test_arguments_that_mxnet_and_onnx_name_and_nothing_needs(tmp_path: Path) -> None:
    """run_shape_inference: shapes are always inferred; outputs_info: so are those of a node."""
    net, params = classifier()
    written = []
    for more in ({}, {"run_shape_inference": True}):
        target = str(tmp_path / f"{len(written)}.onnx")
        assert mx.onnx.export_model(net, params, [(5, 4)], np.float32, target, **more) == target
        written.append(Path(target).read_bytes())
    assert written[0] == written[1]
    node = onnx.helper.make_node("Neg", ["x"], ["y"])
    x = np.float32([1, -2])
    (got,) = onnx_backend.OnnxBackend.run_node(node, [x], outputs_info=[(np.dtype(np.float32), (2,))])
    np.testing.assert_array_equal(got, -x)


def test_an_export_of_which_not_all_sizes_can_vary_leaves_numbers_alone(tmp_path: Path) -> None:
    net = mx.sym.broadcast_mul(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc"), mx.sym.var("s"))
    params = {"fc_weight": np.ones((3, 4), np.float32), "fc_bias": np.zeros(3, np.float32)}
    target = str(tmp_path / "net.onnx")
    with pytest.warns(UserWarning, match="not all sizes"):
        mx.onnx.export_model(net, params, [(5, 4), ()], np.float32, target, dynamic=True)
    sizes = [[d.dim_param or d.dim_value for d in i.type.tensor_type.shape.dim] for i in onnx.load(target).graph.input]
    assert sizes == [["batch", 4], []]
