"""Measuring: what is measured and how it is told. No test asserts how long anything takes."""

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import pytest
from typer.testing import CliRunner

import bridge
import hybrid as mx
from bridge.cli import app
from bridge.timing import LEAST, block, in_turns, summary
from hybrid import native
from hybrid.core.op import Spec
from tests.house.docs import ROOT
from tests.models.networks import networks

NETWORK = next(n for n in networks() if n.name == "lenet")
MODEL = NETWORK.folder / "model"
SHAPE = NETWORK.runs()[0][0]["data"].shape
ONNX = ROOT / "fixtures" / "onnx" / "torch_cnn_legacy" / "model.onnx"
QUICK = {"seconds": 0.01, "rounds": 2}
bench = importlib.import_module("bridge.bench")


def test_sides_take_turns() -> None:
    seen: list[str] = []

    def side(name: str, times: Sequence[float]):
        def run(seconds: float) -> Sequence[float]:
            assert seconds == 0.5
            seen.append(name)
            return times

        return run

    rounds: list[int] = []
    found = in_turns({"a": side("a", [3.0, 1.0]), "b": side("b", [5.0])}, 1.0, 2, lambda: rounds.append(len(seen)))
    assert seen == ["a", "b", "a", "b"]
    assert rounds == [2, 4]
    assert found["a"].median == 2.0
    assert found["a"].samples == 4
    assert found["b"] == (5.0, 5.0, 5.0, 5.0, 2)


def test_medians_and_tenths() -> None:
    assert summary(range(101)) == (50, 10, 90, 0, 101)
    assert summary([2.0]) == (2.0, 2.0, 2.0, 2.0, 1)


def test_a_block_has_samples_even_when_its_time_is_over() -> None:
    calls: list[None] = []
    times = block(lambda: calls.append(None), 0.0)
    assert len(times) == LEAST
    assert min(times) > 0
    assert len(calls) > LEAST, "short calls are timed several at a time"


def shapes(result: bridge.BenchResult) -> dict[str, tuple[int, ...]]:
    """Shapes of what a model was measured on."""
    return {n: tuple(s["shape"]) for n, s in result.inputs.items()}


@pytest.mark.parametrize(("model", "inputs"), [(MODEL, {"data": SHAPE}), (ONNX, None)], ids=["symbol", "onnx"])
def test_both_engines_are_measured_and_compared(model: Path, inputs: dict[str, tuple[int, ...]] | None) -> None:
    before = native.threads()
    result = bridge.bench(model, inputs=inputs, threads=1, **QUICK)
    assert result.equivalent
    assert result.threads == 1
    assert native.threads() == before
    assert set(result.seconds) == {"gluonnx", "onnxruntime"}
    ours, theirs = result.seconds["gluonnx"], result.seconds["onnxruntime"]
    assert result.ratio == pytest.approx(theirs["median"] / ours["median"], rel=1e-4)
    for times in (ours, theirs):
        assert 0 < times["best"] <= times["low"] <= times["median"] <= times["high"]
    json.dumps(result.as_dict())


def test_the_batch_is_the_first_size_of_every_input() -> None:
    result = bridge.bench(MODEL, inputs={"data": SHAPE}, batch=3, **QUICK)
    assert shapes(result) == {"data": (3, *SHAPE[1:])}
    assert result.differences[0].shape[0] == 3
    # what the symbol itself says of its inputs is resized too, and what follows from that
    x, layer = (
        mx.sym.var("x", shape=(2, 3)),
        mx.sym.FullyConnected(mx.sym.var("x", shape=(0, 3)), num_hidden=2, name="fc"),
    )
    params = {"fc_weight": np.ones((2, 3), np.float32), "fc_bias": np.ones(2, np.float32)}
    for symbol, inputs, batch, want in (
        (mx.sym.relu(x), {}, 4, {"x": (4, 3)}),
        (mx.sym.relu(x), {}, None, {"x": (2, 3)}),
        (mx.sym.relu(x) + mx.sym.var("y"), {}, 4, {"x": (4, 3), "y": (4, 3)}),
        (mx.sym.relu(x) + mx.sym.var("y"), {"x": (1, 3)}, 5, {"x": (5, 3), "y": (5, 3)}),
        (mx.sym.relu(x) + mx.sym.var("y"), {"x": Spec(None, np.dtype(np.float16))}, 5, {"x": (5, 3), "y": (5, 3)}),
        (layer, {}, 4, {"x": (4, 3)}),
    ):
        assert shapes(bridge.bench(symbol, params, inputs=inputs, batch=batch, seconds=0.001, rounds=1)) == want


def test_a_batch_that_an_onnx_model_leaves_open_is_one(tmp_path: Path) -> None:
    target = tmp_path / "x.onnx"
    bridge.convert(MODEL, inputs={"data": SHAPE}, output=target, dynamic={"data": {0: "batch"}})
    assert shapes(bridge.bench(target, **QUICK)) == {"data": (1, *SHAPE[1:])}
    assert shapes(bridge.bench(target, batch=2, **QUICK)) == {"data": (2, *SHAPE[1:])}
    data = np.zeros((4, *SHAPE[1:]), np.float32)
    assert shapes(bridge.bench(target, inputs={"data": data}, **QUICK)) == {"data": data.shape}


def test_a_profile_has_every_step_or_says_why_there_is_none() -> None:
    result = bridge.bench(MODEL, inputs={"data": SHAPE}, profile=True, **QUICK)
    if native.level() is None:
        assert not result.steps
        assert "no profile" in result.warnings[0]
        return
    assert result.peak is not None
    assert result.steps
    assert sum(s.share for s in result.steps) == pytest.approx(1)
    assert all(s.seconds > 0 and s.kernel for s in result.steps)
    json.dumps(result.as_dict())


@pytest.mark.skipif(native.level() is None, reason="no compiled kernels")
def test_a_step_tells_what_it_reckons_and_moves_by_the_second(tmp_path: Path) -> None:
    """In units of 10**9: a product has two operations for each pair of numbers; it reads both matrices and writes a third."""
    path = tmp_path / "product.onnx"
    text = "product (float[64, 96] a, float[96, 160] b) => (float[64, 160] y) { y = MatMul (a, b) }"
    onnx.save(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {text}'), path)
    result = bridge.bench(path, profile=True, **QUICK)
    (step,) = result.steps
    assert step.shape == (64, 160)
    assert step.share == 1
    assert step.gflops * 1e9 * step.seconds == pytest.approx(2 * 64 * 96 * 160)
    assert step.gbytes * 1e9 * step.seconds == pytest.approx(4 * (64 * 96 + 96 * 160 + 64 * 160))
    assert result.peak is not None
    assert step.of_peak == pytest.approx(step.gflops * 1e9 / result.peak.flops)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threads": 0}, "got threads 0, wanted 1 or more"),
        ({"batch": 0}, "got batch 0, wanted 1 or more"),
        ({"seconds": 0.0}, "got seconds 0.0, wanted more than 0"),
        ({"inputs": {"picture": (1, 3)}}, "unknown input picture"),
    ],
)
@pytest.mark.parametrize("model", [MODEL, ONNX], ids=["symbol", "onnx"])
def test_bad_input(model: Path, options: dict[str, object], message: str) -> None:
    with pytest.raises(bridge.BadInput, match=message):
        bridge.bench(model, **{**QUICK, **options})  # type: ignore[arg-type]


def call(*arguments: object, code: int = 0) -> str:
    result = CliRunner().invoke(app, ["bench", *map(str, arguments), "--seconds", "0.01"])
    assert result.exit_code == code, result.output
    return result.stdout if code < 2 else result.output


def test_the_command(tmp_path: Path) -> None:
    given = ("--input", f"data:{','.join(map(str, SHAPE))}")
    text = call(MODEL, *given, "--profile", "--threads", 1, "--report", tmp_path / "report.md")
    assert "ratio" in text
    assert "equal" in text
    assert "onnxruntime ms" in (tmp_path / "report.md").read_text()
    found = json.loads(call(ONNX, ONNX, "--json"))["models"]
    assert [m["model"] for m in found] == ["model", "model"]
    assert found[0]["ratio"] > 0
    assert "cannot tell the shape of input data" in call(MODEL, code=2).replace("\n", " ")
    assert "differs" in call(MODEL, *given, "--atol", 0, "--rtol", 0, code=1)


def test_a_model_that_differs_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Speed of wrong numbers is of no interest."""
    from bridge import engines

    honest = engines.OnnxEngine.run_unchecked
    monkeypatch.setattr(
        engines.OnnxEngine, "run_unchecked", lambda self, feeds: {n: a * 1.01 for n, a in honest(self, feeds).items()}
    )
    assert not bridge.bench(MODEL, inputs={"data": SHAPE}, **QUICK).equivalent


def script(*arguments: object, code: int = 0) -> list[dict]:
    """Rows that benchmarks/engine.py prints; with this process's packages."""
    command = [
        sys.executable,
        ROOT / "benchmarks" / "engine.py",
        "--json",
        "--seconds",
        "0.02",
        "--repeats",
        "1",
        *arguments,
    ]
    path = os.pathsep.join(p for p in (str(Path(bridge.__file__).parents[1]), os.environ.get("PYTHONPATH")) if p)
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": path}
    )
    assert done.returncode == code, done.stdout + done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.slow
def test_the_script_measures_a_network(tmp_path: Path) -> None:
    rows = script("--networks", "mlp", "--batch", 1, 2, "--threads", 1, "--cache", tmp_path)
    assert [r["section"] for r in rows] == ["machine", *["networks"] * 4]
    one = rows[1]
    assert (one["name"], one["batch"], one["threads"]) == ("mlp", 1, 1)
    assert one["ratio"]["onnxruntime"] > 0
    assert one["target"]["onnxruntime"] == 3.0
    assert one["error"]["onnxruntime"] < 1e-4
    assert [r["name"] for r in rows[3:]] == ["geometric mean"] * 2
    # the exported model is clean: its weights are constants, so that onnxruntime can fold and pack them
    made = onnx.load(tmp_path / "mlp-1.onnx")
    assert [i.name for i in made.graph.input] == ["data"]


@pytest.mark.slow
def test_the_script_fails_when_engines_differ_or_fail(tmp_path: Path) -> None:
    wanted = ("--networks", "mlp", "--threads", 1, "--batch", 1, 2, "--cache", tmp_path)
    script(*wanted)
    other = onnx.load(tmp_path / "mlp-1.onnx")
    bias = next(i for i in other.graph.initializer if len(i.dims) == 1)
    bias.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(bias) + 1, bias.name))
    onnx.save(other, tmp_path / "mlp-1.onnx")
    (tmp_path / "mlp-2.onnx").write_bytes(b"nothing")
    _, wrong, broken, mean = script(*wanted, code=1)
    assert wrong["error"]["onnxruntime"] > 1e-4
    assert "onnxruntime" in broken["failed"] or "mlp-2" in broken["failed"]
    assert mean["batch"] == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sections", "only"),
    [
        (("cold", "memory", "scaling", "hybridize", "busy"), ""),
        (("operators",), "elemwise_add"),
        (("training",), "lenet"),
    ],
    ids=lambda v: v[0] if isinstance(v, tuple) else "",
)
def test_the_script_measures_the_rest(sections: tuple[str, ...], only: str, tmp_path: Path) -> None:
    wanted = ["--networks", "mlp", "--threads", 1, "--fresh", 1, "--only", only, "--cache", tmp_path]
    rows = script(*(f"--{s}" for s in sections), *wanted, "--mxnet", tmp_path / "none")
    assert {r["section"] for r in rows} == {"machine", *sections}
    for row in rows:
        assert "failed" not in row, row


def test_one_wrong_output_of_two_is_told_and_every_input_counts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    text = """two (float[n, 3] x, float[n, 2] z) => (float[n, 3] a, float[n, 2] b) <float[2] w = {2, 3}> {
        a = Neg (x) b = Mul (z, w)
    }"""
    path = tmp_path / "two.onnx"
    onnx.save(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {text}'), path)
    result = bridge.bench(path, batch=4, **QUICK)
    assert shapes(result) == {"x": (4, 3), "z": (4, 2)}
    assert result.equivalent and [d.name for d in result.differences] == ["a", "b"]
    fed = bridge.bench(path, inputs={"x": np.ones((5, 3), np.float32), "z": (5, 2)}, **QUICK)
    assert shapes(fed) == {"x": (5, 3), "z": (5, 2)}
    with pytest.raises(bridge.BadInput) as caught:
        bridge.bench(path, inputs={"p": (1,), "q": (1,)}, **QUICK)
    assert caught.value.problems == tuple(f"unknown input {n}: the model takes x, z" for n in "pq")
    real = bench._run_block
    for place in (0, 1):

        def ran(*given: object, place: int = place) -> list:
            outputs = real(*given)
            return [y * 1.5 if i == place else y for i, y in enumerate(outputs)]

        monkeypatch.setattr(bench, "_run_block", ran)
        found = bridge.bench(path, batch=2, **QUICK)
        assert not found.equivalent and [d.equal for d in found.differences] == [place != 0, place != 1]


def test_labels_and_parameters_that_nothing_reads_do_not_matter() -> None:
    x = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=2, name="fc")
    net = mx.sym.SoftmaxOutput(x, name="softmax")
    params = {"fc_weight": np.ones((2, 3), np.float32), "fc_bias": np.float32([1, 2]), "more": np.ones(4, np.float32)}
    data = np.arange(6, dtype=np.float32).reshape(2, 3)
    result = bridge.bench(net, params, inputs={"x": data}, **QUICK)
    assert result.equivalent and shapes(result) == {"x": (2, 3)}
    assert bench._with_batch(Spec(("n", 3)), None, Spec(("n", 3), np.dtype(np.float32))) == Spec(
        (1, 3), np.dtype(np.float32)
    )
    double = np.dtype(np.float64)
    for shape, batch, want in (
        ((2, 3), None, (2, 3)),
        ((2, "n"), None, (2, "n")),
        ((), 5, ()),
        (None, 5, None),
        ((2, 3), 5, (5, 3)),
    ):
        assert bench._with_batch(Spec(shape, double), batch, Spec(None, np.dtype(np.float32))) == Spec(want, double)


@pytest.mark.usefixtures("by_numpy")
def test_why_there_is_no_profile() -> None:
    net = mx.sym.relu(mx.sym.var("x"))
    result = bridge.bench(net, inputs={"x": (2, 3)}, profile=True, **QUICK)
    assert result.warnings == ("no profile: NumPy computes this model (no kernels are in use)",)
    assert (result.steps, result.peak) == ((), None)


@pytest.mark.skipif(native.level() is None, reason="no compiled kernels")
def test_a_model_without_kernels_has_no_profile() -> None:
    net = mx.sym.contrib.boolean_mask(mx.sym.var("x"), mx.sym.var("keep"))
    keep = np.float32([1, 0, 1])
    result = bridge.bench(net, inputs={"x": np.ones((3, 2), np.float32), "keep": keep}, profile=True, **QUICK)
    assert result.warnings == (
        "no profile: NumPy computes this model (no step has a kernel, or data decide about shapes)",
    )


def test_steps_of_numpy_are_named(tmp_path: Path) -> None:
    """By bench with a profile, and by inspect where the sizes are known; as JSON too."""
    x = mx.sym.Variable("x")
    net = mx.sym.linalg.syevd(mx.sym.dot(x, x))[0] + mx.sym.linalg.syevd(x)[0]
    net.save(str(tmp_path / "net-symbol.json"))
    square = 2 * np.eye(3, dtype=np.float32)
    found = bridge.inspect(tmp_path / "net", inputs={"x": (3, 3)}).as_dict()["fallbacks"]
    why = "it has no kernel" if native.LEVELS else "no kernels are in use"
    assert {"operator": "_linalg_syevd", "count": 2, "why": why} in json.loads(json.dumps(found))
    assert len(found) == 1 or not native.LEVELS
    assert bridge.inspect(tmp_path / "net").fallbacks is None
    result = bridge.bench(tmp_path / "net", inputs={"x": square}, profile=True, **QUICK)
    assert ("_linalg_syevd", 2, why) in result.fallbacks
    assert result.as_dict()["fallbacks"] == found
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]>
        net (float[N,3,3] x) => (float[N,3,3] y) { y = Bernoulli (x) }""")
    onnx.save(model, tmp_path / "net.onnx")
    assert bridge.inspect(tmp_path / "net.onnx").fallbacks is None
    told = bridge.inspect(tmp_path / "net.onnx", inputs={"x": (2, 3, 3)}).fallbacks
    assert told is not None
    assert [f[:2] for f in told] == [("_onnx_Bernoulli", 1)]
