"""Planted faults against every way to verify; and right files, which are never refused."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from typer.testing import CliRunner

import bridge
import hybrid as mx
from bridge.cli import app
from bridge.compare import compare
from bridge.engines import NativeEngine, OnnxEngine
from bridge.judge import check
from bridge.report import convert_brief
from bridge.result import Case
from converters.forms import Forms
from tests.bridge.campaign import VARIANTS, optimized, reached_first, renamed, score
from tests.bridge.faults import FAULTS, planted
from tests.models.networks import networks

SHAPE = (2, 3, 12, 12)
FEEDS = {"data": np.random.default_rng(5).standard_normal(SHAPE).astype(np.float32)}


def classifier() -> Any:
    """Convolutions with a residual, a squeeze-and-excite gate and a softmax that scores of hundreds saturate."""
    data = mx.sym.var("data")

    def layer(x: Any, name: str, channels: int, stride: int = 1) -> Any:
        x = mx.sym.Convolution(x, num_filter=channels, kernel=(3, 3), pad=(1, 1), stride=(stride, stride), name=name)
        x = mx.sym.BatchNorm(x, fix_gamma=False, name=f"{name}_bn")
        return mx.sym.Activation(x, act_type="relu", name=f"{name}_relu")

    x = layer(data, "one", 8)
    y = layer(x, "two", 8)
    gate = mx.sym.Pooling(y, global_pool=True, pool_type="avg", kernel=(1, 1), name="squeeze")
    gate = mx.sym.Convolution(gate, num_filter=8, kernel=(1, 1), name="excite")
    y = mx.sym.broadcast_mul(y, mx.sym.Activation(gate, act_type="sigmoid", name="gate"), name="gated")
    x = mx.sym.elemwise_add(x, y, name="sum")
    x = mx.sym.Concat(layer(x, "left", 6, 2), layer(x, "right", 6, 2), name="both")
    x = mx.sym.Pooling(x, kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type="max", name="pool")
    x = mx.sym.FullyConnected(x, num_hidden=10, name="scores")
    return mx.sym.softmax(x * 300, name="shares")


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("faults")
    symbol = classifier()
    arguments, _, states = symbol.infer_shape(data=SHAPE)
    rng = np.random.default_rng(1)
    params = {}
    for kind, names, shapes in (
        ("arg", symbol.list_arguments(), arguments),
        ("aux", symbol.list_auxiliary_states(), states),
    ):
        for name, shape in zip(names, shapes):
            spread = np.sqrt(2 / np.prod(shape[1:])) if len(shape) > 1 else 0.1
            centre = 1.0 if name.endswith(("gamma", "var")) else 0.0
            if name != "data":
                value = (centre + np.clip(rng.normal(0, spread, shape), -0.4, 3)).astype(np.float32)
                params[f"{kind}:{name}"] = mx.nd.array(value)
    symbol.save(f"{folder}/net-symbol.json")
    mx.nd.save(f"{folder}/net-0000.params", params)
    return f"{folder}/net"


@pytest.fixture(scope="module")
def right(prefix: str) -> onnx.ModelProto:
    target = f"{prefix}.onnx"
    kept = Forms(keep_graph=True)  # with normalizations to plant faults in
    assert bridge.convert(prefix, inputs=FEEDS, output=target, forms=kept).verified
    return onnx.load(target)


OPTIONS: dict[str, dict[str, Any]] = {
    "given": {"inputs": FEEDS},
    "drawn": {"inputs": {"data": SHAPE}},
    "another seed": {"inputs": {"data": SHAPE}, "seed": 7},
    "three runs": {"inputs": {"data": SHAPE}, "runs": 3},
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=list(OPTIONS))
def test_the_right_file_is_equivalent_though_its_output_is_saturated(
    prefix: str, right: onnx.ModelProto, options
) -> None:
    result = bridge.verify(prefix, right, **options)
    assert result.verdict == "equivalent"
    assert result.inner > 15
    assert len([r for r in result.runs if r["kind"] in ("given", "expected")]) == options.get("runs", 1)
    assert result.little and "shares" in result.little[0]  # the scores before it are what agrees


@pytest.mark.parametrize("options", [OPTIONS["given"], OPTIONS["three runs"]], ids=["given", "three runs"])
@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_seen(prefix: str, right: onnx.ModelProto, fault: str, options) -> None:
    """Also under a saturated softmax, behind a gate and beside a residual."""
    wrong = planted(right, fault)
    if wrong is None:
        pytest.fail(f"{fault} does not apply to this network; give it what the fault changes")
    assert scored(prefix, right, wrong, **options) == "ok"


def scored(prefix: str, right: onnx.ModelProto, wrong: onnx.ModelProto, variant: str = "plain", **options: Any) -> str:
    """The score of what is said of a wrong model: "ok" where the node is named that is wrong by itself."""
    makers = {t.name: t.node for t in NativeEngine(bridge.open_model(prefix), FEEDS).inner_tensors()}
    result = bridge.verify(prefix, VARIANTS[variant](wrong), **options)
    assert result.divergence is None or result.divergence.kind == "local"
    return score(result, reached_first(right, wrong, set(makers)), makers, every=True)


@pytest.mark.parametrize("fault", ["kernels_flipped", "an_activation_left_out", "the_statistics_of_one_channel"])
def test_rarer_faults_are_seen(prefix: str, right: onnx.ModelProto, fault: str) -> None:
    wrong = planted(right, fault)
    assert wrong is not None
    assert scored(prefix, right, wrong, inputs=FEEDS) == "ok"


SLIMMED = pytest.param("slimmed", marks=pytest.mark.skipif("slimmed" not in VARIANTS, reason="without onnxslim"))


@pytest.mark.parametrize("variant", ["renamed", "shuffled", "optimized", SLIMMED])
class TestNames:
    """Files whose inner names say nothing, or the wrong thing, and files whose nodes were folded."""

    def test_a_right_file_is_right(self, prefix: str, right: onnx.ModelProto, variant: str) -> None:
        result = bridge.verify(prefix, VARIANTS[variant](right), inputs=FEEDS)
        assert result.verdict == "equivalent" and not result.faults
        assert result.inner > 15  # the scores behind the saturated output among them

    @pytest.mark.parametrize("fault", ["two_at_once", "a_weight_that_is_nan"])
    def test_the_node_is_named(self, prefix: str, right: onnx.ModelProto, variant: str, fault: str) -> None:
        wrong = planted(right, fault)
        assert wrong is not None
        assert scored(prefix, right, wrong, variant, inputs=FEEDS) == "ok"


def test_both_sides_names_of_the_place_are_said(prefix: str, right: onnx.ModelProto) -> None:
    wrong = planted(right, "one_filter_wrong_by_a_hundredth")
    assert wrong is not None
    for other in (wrong, renamed(wrong)):
        for a, b in ((prefix, other), (other, prefix)):
            found = bridge.verify(a, b, inputs=FEEDS).divergence
            assert found is not None and (found.node, found.operator) == ("left", "Convolution")
            names = {t.name: t.node for t in OnnxEngine(bridge.open_model(other)).inner_tensors()}
            assert names[found.second] == found.second_node
            assert (found.second == found.tensor) == (other is wrong)
    folded = bridge.verify(prefix, optimized(wrong), inputs=FEEDS).divergence
    assert folded is not None and "left" in {folded.node, *folded.span}


@pytest.mark.parametrize(
    "fault", ["a_layer_wrong_by_a_500th", "a_round_trip_through_half_precision", "branches_swapped"]
)
def test_faults_are_seen_from_either_side(prefix: str, right: onnx.ModelProto, fault: str) -> None:
    wrong = planted(right, fault)
    assert wrong is not None
    for a, b in ((wrong, prefix), (right, wrong), (wrong, right)):
        assert bridge.verify(a, b, inputs=FEEDS).verdict == "not equivalent"
    assert bridge.verify(right, right, inputs=FEEDS).equivalent
    assert bridge.verify(right, prefix, inputs=FEEDS).equivalent


def test_every_wrong_node_is_named(prefix: str, right: onnx.ModelProto) -> None:
    wrong = planted(planted(right, "another_activation"), "a_layer_wrong_by_a_500th")
    result = bridge.verify(prefix, wrong, inputs=FEEDS)
    assert len(result.faults) == 2
    assert result.divergence is not None and result.divergence.node == result.faults[0]


def test_a_fault_at_a_second_size_is_seen(prefix: str, right: onnx.ModelProto) -> None:
    wrong = onnx.ModelProto()
    wrong.CopyFrom(right)
    wrong.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "n"
    name = wrong.graph.output[0].name
    last = next(n for n in wrong.graph.node if name in n.output)
    last.output[0] = "inner"
    for value, told in ((2, "two"), (0, "first")):
        wrong.graph.initializer.append(numpy_helper.from_array(np.array([value], np.int64), told))
    wrong.graph.node.extend(
        [
            helper.make_node("Shape", ["data"], ["all_sizes"]),
            helper.make_node("Gather", ["all_sizes", "first"], ["sizes"]),
            helper.make_node("Greater", ["sizes", "two"], ["many"]),
            helper.make_node("Cast", ["many"], ["number"], to=TensorProto.FLOAT),
            helper.make_node("Add", ["inner", "number"], [name]),
        ]
    )
    one, two = NativeEngine(bridge.open_model(prefix)), OnnxEngine(bridge.open_model(wrong))
    cases = [Case(FEEDS), Case({"data": np.concatenate([FEEDS["data"]] * 2)})]
    assert check(one, two, cases[:1]).equivalent
    result = check(one, two, cases)
    assert result.verdict == "not equivalent"
    assert [all(d["equal"] for d in run["differences"]) for run in result.runs] == [True, False]


def test_swapped_outputs_are_seen() -> None:
    x = mx.sym.var("x")
    net = mx.sym.Group([mx.sym.exp(x, name="up"), mx.sym.negative(x, name="down")])
    feeds = {"x": np.linspace(-1, 1, 6, dtype=np.float32)}
    model = bridge.convert(net, {}, inputs=feeds)
    assert model.verified
    from converters import to_onnx

    proto = to_onnx(net, {}, feeds)
    names = [o.name for o in proto.graph.output]
    for node in proto.graph.node:  # the names stay where they are, what they hold is exchanged
        node.output[:] = [{names[0]: names[1], names[1]: names[0]}.get(o, o) for o in node.output]
    assert not bridge.verify(net, proto, inputs=feeds).equivalent


@pytest.mark.parametrize("factor", [1.0, 1.1])
def test_a_weight_that_only_meets_zeros_is_held_against_its_own(factor: float) -> None:
    """One that reads a dead unit shows in no output, and is as wrong."""
    x = mx.sym.relu(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="first"), name="alive")
    net = mx.sym.FullyConnected(x, num_hidden=2, name="second")
    rng = np.random.default_rng(3)
    params = {"first_weight": rng.uniform(0, 1, (3, 4)), "first_bias": np.array([0, -100, 0])}
    params |= {"second_weight": rng.normal(size=(2, 3)), "second_bias": np.zeros(2)}
    params = {n: a.astype(np.float32) for n, a in params.items()}
    wrong = params["second_weight"].copy()
    wrong[0, 1] *= np.float32(factor)
    from converters import to_onnx

    feeds = {"data": np.ones((5, 4), np.float32)}
    result = bridge.verify(net, to_onnx(net, {**params, "second_weight": wrong}, feeds), params=params, inputs=feeds)
    assert result.equivalent == (factor == 1.0)
    if factor != 1.0:
        assert result.divergence is not None and result.divergence.node == "second"
        assert "where no zero goes in" in result.divergence.accumulated.reason
        assert all(d.equal for d in result.differences)  # nothing else shows it


@pytest.mark.parametrize("bidirectional", [False, True])
def test_recurrent_layers_are_not_refused_for_rounding(bidirectional: bool) -> None:
    names = [mx.sym.var(n) for n in ("data", "p", "s", "c")]
    net = mx.sym.RNN(*names, state_size=32, num_layers=2, bidirectional=bidirectional, mode="lstm", state_outputs=True)
    states = (4 if bidirectional else 2, 16, 32)
    shapes = {"data": (4, 16, 32), "s": states, "c": states}
    sizes = dict(zip(net.list_arguments(), net.infer_shape(**shapes)[0]))
    weights = np.random.default_rng(1).normal(0, 0.5, sizes["p"]).astype(np.float32)
    assert bridge.convert(net, {"p": weights}, inputs=shapes).verified


def test_a_given_tolerance_decides_alone_over_the_outputs(prefix: str, right: onnx.ModelProto) -> None:
    small = planted(right, "a_weight_through_half_precision")
    cut = {"inputs": FEEDS}
    assert bridge.verify(prefix, small, **cut).verdict == "not equivalent"
    assert bridge.verify(prefix, small, tolerance=(0.5, 0.5), **cut).verdict == "equivalent"
    assert (
        bridge.verify(prefix, planted(right, "a_weight_that_is_nan"), tolerance=(0.5, 0.5), **cut).verdict
        != "equivalent"
    )


class TestPrecision:
    """Numbers have to be as exact as the precision that the reference computes in."""

    def test_half_precision_in_the_candidate_buys_nothing(self, prefix: str, right: onnx.ModelProto) -> None:
        wrong = planted(right, "a_layer_wrong_by_a_500th")
        assert wrong is not None
        wrong.graph.initializer.append(numpy_helper.from_array(np.zeros(1, np.float16), "unused_half"))
        wrong.graph.node.append(helper.make_node("Cast", ["unused_half"], ["unused"], to=TensorProto.FLOAT))
        assert bridge.verify(prefix, wrong, inputs=FEEDS).verdict == "not equivalent"

    def test_half_precision_in_the_reference_is_its_own(self) -> None:
        network = next(n for n in networks() if n.name == "float16_resnet")
        engine = NativeEngine(bridge.open_model(network.prefix))
        assert set(engine.precision(network.runs()[0][0]).values()) >= {"float16"}

    def test_only_what_follows_from_half_precision_is_coarse(self) -> None:
        x = mx.sym.var("x")
        half = mx.sym.cast(mx.sym.cast(x, dtype="float16", name="down"), dtype="float32", name="up")
        net = mx.sym.Group([mx.sym.exp(half, name="coarse"), mx.sym.exp(x, name="fine")])
        engine = NativeEngine(bridge.open_model(net))
        found = engine.precision({"x": np.ones(3, np.float32)})
        assert (found["coarse_output"], found["fine_output"]) == ("float16", "")


class TestLittle:
    """Outputs whose agreement proves nothing."""

    @staticmethod
    def pair(scale: float = 1.0) -> tuple[Any, dict[str, np.ndarray], Any]:
        """A network whose output is dead, its parameters, and its ONNX model with the inner layer scaled."""
        x = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=4, name="fc")
        net = mx.sym.relu(x - 1000.0, name="dead")
        rng = np.random.default_rng(0)
        params = {"fc_weight": rng.normal(size=(4, 3)), "fc_bias": rng.normal(size=4)}
        params = {n: a.astype(np.float32) for n, a in params.items()}
        from converters import to_onnx

        wrong = {**params, "fc_weight": params["fc_weight"] * np.float32(scale)}
        return net, params, to_onnx(net, wrong, {"data": (2, 3)})

    def test_a_dead_output_is_looked_behind(self) -> None:
        net, params, right = self.pair()
        result = bridge.verify(net, right, params=params, inputs={"data": (2, 3)})
        assert result.verdict == "equivalent"
        assert result.little == ("dead_output is one value everywhere",)
        net, params, wrong = self.pair(1.1)
        result = bridge.verify(net, wrong, params=params, inputs={"data": (2, 3)})
        assert result.verdict == "not equivalent"
        assert result.divergence is not None and result.divergence.node == "fc"

    def test_where_nothing_is_behind_it_the_verdict_says_so(self) -> None:
        net = mx.sym.zeros_like(mx.sym.var("data"), name="nothing")
        result = bridge.verify(net, bridge_proto(net), inputs={"data": (2, 3)})
        assert (result.verdict, result.equivalent) == ("says little", False)

    def test_all_nan_says_little(self) -> None:
        net = mx.sym.sqrt(mx.sym.var("data") * 0.0 - 1.0, name="root")
        result = bridge.verify(net, bridge_proto(net), inputs={"data": (2, 3)})
        assert result.little == ("root_output is NaN or infinite everywhere",)

    def test_what_agrees_before_a_weight_of_nan_proves_nothing_behind_it(self, tmp_path: Path) -> None:
        """One output is NaN, another a constant that came of it: no weight from there on is looked at."""
        random = np.random.default_rng(0)
        x = mx.sym.relu(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=4, name="first"), name="act")
        x = mx.sym.FullyConnected(x, num_hidden=1, name="second")
        scores = mx.sym.FullyConnected(x, num_hidden=3, name="third")
        params = {"first_weight": random.normal(size=(4, 3)), "second_weight": random.normal(size=(1, 4))}
        params |= {
            "third_weight": random.normal(size=(3, 1)),
            **{f"{n}_bias": np.zeros(k) for n, k in (("first", 4), ("second", 1), ("third", 3))},
        }
        params = {n: a.astype(np.float32) for n, a in params.items()}
        params["second_weight"][0, 2] = np.nan
        decision = mx.sym.broadcast_greater(scores, mx.sym.zeros_like(scores), name="decision")
        for net in (mx.sym.Group([decision, scores]), scores, decision):
            done = bridge.convert(net, params, inputs={"data": (2, 3)}, output=tmp_path / "net.onnx")
            found = done.verification
            assert found is not None and found.verdict == "says little"
            assert "act_output before it agrees" in found.warnings[-1], "which is what made it equivalent"
            result = bridge.verify(net, tmp_path / "net.onnx", params=params, inputs={"data": (2, 3)})
            assert result.verdict == "says little"
        one = bridge.convert(mx.sym.Group([decision, scores]), params, inputs={"data": (2, 3)}, output=None)
        assert any("note: output third_output is NaN" in str(block) for block in convert_brief(one).blocks), (
            "the first one"
        )
        given = {"data": random.normal(size=(2, 3)).astype(np.float32)}
        kept = bridge.record(scores, given, params=params)
        assert bridge.verify(scores, params=params, expected=kept).verdict == "says little"
        assert bridge.verify(scores, scores, params=params, inputs=given, tolerance=(1e-3, 0)).verdict == "says little"

    def test_nan_on_one_side_is_a_difference(self) -> None:
        want = np.full(3, np.nan, np.float32)
        assert compare("x", want.copy(), want).little
        assert not compare("x", np.zeros(3, np.float32), want).equal
        assert not compare("x", want, np.zeros(3, np.float32)).equal

    def test_strict_refuses_to_write(self, tmp_path: Path) -> None:
        net, params, _ = self.pair()
        target = tmp_path / "dead.onnx"
        with pytest.raises(bridge.NotEquivalent, match=r"says little: dead_output"):
            bridge.convert(net, params, inputs={"data": (2, 3)}, output=target, strict=True)
        assert not target.exists()
        assert bridge.convert(net, params, inputs={"data": (2, 3)}, output=target).verified


def bridge_proto(net: Any) -> onnx.ModelProto:
    from converters import to_onnx

    return to_onnx(net, {}, {"data": (2, 3)})


class TestCommand:
    """Exit statuses with the options that decide about them."""

    @staticmethod
    def run(*arguments: object) -> Any:
        return CliRunner().invoke(app, list(map(str, arguments)))

    def test_every_verdict_has_its_status(self, prefix: str, right: onnx.ModelProto, tmp_path: Path) -> None:
        shape = ("--input", f"data:{','.join(map(str, SHAPE))}")
        wrong = tmp_path / "wrong.onnx"
        onnx.save(planted(right, "a_weight_through_half_precision"), wrong)
        for target, options, status in (
            (f"{prefix}.onnx", (), 0),
            (f"{prefix}.onnx", ("--strict",), 4),  # saturated, though the scores agree
            (wrong, (), 1),
            (wrong, ("--strict",), 1),
            (wrong, ("--runs", 2, "--seed", 3), 1),
            (wrong, ("--json",), 1),
            (wrong, ("--atol", 0.9), 0),
        ):
            done = self.run("verify", prefix, target, *shape, *options)
            assert done.exit_code == status, (options, done.output)

    def test_one_tolerance_keeps_the_default_of_the_other(self) -> None:
        from bridge.command.options import as_limits

        assert as_limits(None, None, False) is None
        assert as_limits(1e-3, None, False) == (1e-3, bridge.TOLERANCES["float32"].rtol, False)
        assert as_limits(None, 0.0, True) == (bridge.TOLERANCES["float32"].atol, 0.0, True)

    def test_a_runtime_that_fails_and_a_fault_of_ours_have_their_own(self, prefix: str, monkeypatch) -> None:
        def fails(error: Exception) -> Any:
            def instead(*_a: Any, **_k: Any) -> Any:
                raise error

            return instead

        for error, status, said in (
            (bridge.EngineError("it fell over"), 3, "it fell over"),
            (bridge.BadInput("no such thing"), 2, "no such thing"),
            (KeyError("x"), 70, "this is a fault of gluonnx: please report it with"),
        ):
            monkeypatch.setattr(bridge, "verify", fails(error))
            done = self.run("verify", prefix, prefix)
            assert done.exit_code == status
            assert said in done.stderr
        report = Path(done.stderr.split("report it with ")[1].split(" and, if")[0])
        assert "Traceback" in report.read_text(encoding="utf-8")
        report.unlink()

    def test_names_are_printed_escaped(self, tmp_path: Path) -> None:
        name = "a\x1b[31m\u202eb\nc"
        net = mx.sym.exp(mx.sym.var("data"), name="e")
        text = json.loads(net.tojson())
        text["nodes"][-1]["name"] = name
        (tmp_path / "n-symbol.json").write_text(json.dumps(text))
        done = self.run("inspect", tmp_path / "n", "--input", "data:2")
        seen = done.stdout + done.stderr
        assert "\\x1b[31m\\u202eb\\nc" in seen
        text["nodes"][-1]["op"] = "unheard_of"
        (tmp_path / "n-symbol.json").write_text(json.dumps(text))
        for command in ("inspect", "convert"):
            done = self.run(command, tmp_path / "n", "--input", "data:2", "--report", tmp_path / "r.md")
            assert done.exit_code == 2
            seen = done.stdout + done.stderr
            assert "\\x1b[31m\\u202eb\\nc" in seen
            assert not {"\x1b", "\u202e"} & set(seen)
        assert not {"\x1b", "\u202e"} & set((tmp_path / "r.md").read_text())


def test_a_slimmed_file_and_the_file_it_was_made_of_are_the_same_but_for_form(
    right: onnx.ModelProto, tmp_path: Path
) -> None:
    """onnxslim folds normalizations and renames; what it was made of differs from it in nothing that counts, and a fault in it
    is named by its own node."""
    if "slimmed" not in VARIANTS:
        pytest.skip("without onnxslim")
    slim = VARIANTS["slimmed"](right)
    assert len(slim.graph.node) < len(right.graph.node)
    assert bridge.verify(right, slim, inputs=FEEDS).verdict == "equivalent"
    assert bridge.diff(right, slim).same

    wrong = onnx.ModelProto()
    wrong.CopyFrom(slim)
    weight = max(wrong.graph.initializer, key=lambda t: int(np.prod(t.dims)))
    array = numpy_helper.to_array(weight).copy()
    array[0] *= np.float32(1.01)
    weight.CopyFrom(numpy_helper.from_array(array, weight.name))
    readers = {n.name for n in wrong.graph.node if weight.name in n.input}
    found = bridge.diff(right, wrong)
    assert [bool({c.node, c.second} & readers) for c in found.changes] == [True]
    result = bridge.verify(right, wrong, inputs=FEEDS)
    assert result.verdict == "not equivalent" and result.divergence is not None
    assert {result.divergence.node, result.divergence.second_node} & readers
