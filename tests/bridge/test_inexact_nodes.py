"""An engine that rounds badly at one node, in a network that shows it: the models are the same, and faults are faults."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest

import bridge
import hybrid as mx
from bridge import report
from bridge.conditioning import carried, explained, truth_of
from bridge.engines import NativeEngine
from bridge.faces import html, markdown
from bridge.models import Model
from bridge.nodewise import is_near
from hybrid.core.op import Spec

HIGH, WIDE = 448, 8
GIVEN = (561, 12)
"""Rows that are no simple multiple of HIGH: onnxruntime reckons in float32 between which of them a row lies, and with hundreds of
rows that is a 50,000th of their scale off."""


def layers(high: int = HIGH) -> tuple[mx.sym.Symbol, dict[str, np.ndarray]]:
    """Pictures to one size, as pixels to -1..1, and layers with many outputs, of which some nearly cancel."""
    rng = np.random.default_rng(0)
    shapes = {"conv_weight": (8, 3, 8, WIDE), "fc_weight": (64, high)}
    weights = {n: (rng.standard_normal(s) / np.sqrt(np.prod(s[1:]))).astype("float32") for n, s in shapes.items()}
    y = mx.sym.contrib.BilinearResize2D(mx.sym.var("data"), height=high, width=WIDE, name="resized")
    y = mx.sym.broadcast_sub(y, mx.sym.var("mean"), name="centred") * 0.0078125
    y = mx.sym.Convolution(y, kernel=(8, WIDE), stride=(8, WIDE), num_filter=8, no_bias=True, name="conv")
    y = mx.sym.FullyConnected(y, num_hidden=64, no_bias=True, name="fc")
    return y, weights | {"mean": np.full((1, 1, 1, 1), 127.5, "float32")}


@functools.lru_cache(maxsize=2)
def network(high: int = HIGH) -> Model:
    return bridge.open_model(*layers(high))


def pictures(rows: int = GIVEN[0], seed: int = 7) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (1, 3, rows, GIVEN[1])).astype("float32")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("inexact") / "model.onnx"
    bridge.convert(network(), output=path, inputs={"data": (1, 3, *GIVEN)}, verify=False)
    return path


def against(path: Path) -> bridge.VerifyResult:
    return bridge.verify(network(), str(path), inputs={"data": pictures()})


def test_what_an_engine_rounds_at_one_node_is_no_difference(written: Path) -> None:
    result = against(written)
    assert result.equivalent
    assert result.differences[0].settled_by == "float64" and result.differences[0].beyond
    notes = "\n".join(result.warnings)
    assert "onnxruntime is inexact at resized" in notes and "what onnxruntime rounds at resized" in notes


def test_the_order_of_the_models_does_not_matter(written: Path) -> None:
    result = bridge.verify(str(written), network(), inputs={"data": pictures()})
    assert result.equivalent and result.differences[0].beyond
    assert any("what onnxruntime rounds at resized" in w for w in result.warnings)


def test_what_is_within_a_nodes_tolerance_is_looked_at_where_outputs_are_not(tmp_path: Path) -> None:
    """With fewer rows the runtime is off by less than is noted, and outputs by more than rounding takes them."""
    path, pixels = tmp_path / "model.onnx", {"data": pictures(201, 8)}
    bridge.convert(network(160), output=path, inputs={"data": pixels["data"].shape}, verify=False)
    result = bridge.verify(network(160), str(path), inputs=pixels)
    assert result.equivalent
    (note,) = result.warnings
    assert "what onnxruntime rounds at resized" in note
    model = onnx.load(path)
    stored(model, "fc_weight", lambda a: a * np.float32(1.0002))
    onnx.save(model, path)
    result = bridge.verify(network(160), str(path), inputs=pixels)
    assert result.divergence is not None and result.divergence.node == "fc"


def stored(model: onnx.ModelProto, name: str, change: Callable[[np.ndarray], np.ndarray]) -> None:
    (tensor,) = (i for i in model.graph.initializer if i.name == name)
    array = onnx.numpy_helper.to_array(tensor)
    tensor.CopyFrom(onnx.numpy_helper.from_array(change(array).astype(array.dtype), name))


def a_heavier_weight(model: onnx.ModelProto) -> None:
    stored(model, "conv_weight", lambda a: a * 1.01)


def one_heavier_row(model: onnx.ModelProto) -> None:
    stored(model, "fc_weight", lambda a: a * np.where(np.arange(len(a)) == 5, 1.01, 1)[:, None])


def another_mean(model: onnx.ModelProto) -> None:
    stored(model, "mean", lambda a: a + 0.1)


def another_grid(model: onnx.ModelProto) -> None:
    (node,) = (n for n in model.graph.node if n.op_type == "Resize")
    (mode,) = (a for a in node.attribute if a.name == "coordinate_transformation_mode")
    mode.s = b"asymmetric" if mode.s == b"half_pixel" else b"half_pixel"


@pytest.mark.parametrize(
    ("fault", "node"),
    [(a_heavier_weight, "conv"), (one_heavier_row, "fc"), (another_mean, "centred"), (another_grid, "resized")],
)
def test_a_fault_beside_it_is_a_fault(
    fault: Callable[[onnx.ModelProto], None], node: str, written: Path, tmp_path: Path
) -> None:
    model = onnx.load(written)
    fault(model)
    wrong = tmp_path / "wrong.onnx"
    onnx.save(model, wrong)
    result = against(wrong)
    assert result.verdict == "not equivalent"
    assert result.divergence is not None and result.divergence.node == node


def test_only_as_much_as_that_rounding_gives_is_explained() -> None:
    """The rounding of a node leaves no room at the outputs for anything else."""
    feeds = {"data": pictures()}
    engine = NativeEngine(network(), {"data": Spec((1, 3, *GIVEN), np.dtype(np.float32))})
    error = np.random.default_rng(3).uniform(-5e-3, 5e-3, (1, 3, HIGH, WIDE))
    truths, off = truth_of(engine, feeds), carried(engine, feeds, {"resized_output": error})
    assert truths is not None and off is not None
    (name,) = engine.outputs
    want, exact = truths[1][0][name], truths[0][name]
    moved = off[name] - exact
    assert np.abs(moved).max() > 1e-5 * np.abs(exact).max()
    assert explained(truths, off, name, want, off[name].astype("float32"))
    assert not explained(truths, off, name, want, (exact - moved).astype("float32")), "the other way"
    assert not explained(truths, off, name, want, (exact + 3 * moved).astype("float32")), "as far again, and more"
    assert not explained(truths, off, name, off[name].astype("float32"), off[name].astype("float32")), "either side"
    assert not explained(truths, {}, name, want, want) and not explained(truths, off, name, want[:, :3], want)
    assert carried(engine, feeds, {}) is None and carried(engine, feeds, {"nobody": error}) is None


def test_what_follows_from_a_runtimes_own_numbers_is_no_difference(
    written: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A sum of many is rounded otherwise in a whole run than from the same values, and 0 / 0 comes of a number taken for 0. Not
    where outputs are off by more, nor where the numbers at the node are far off."""
    monkeypatch.setattr("bridge.judge.explained", lambda *_: False)
    for result in (against(written), bridge.verify(str(written), network(), inputs={"data": pictures()})):
        assert result.equivalent and result.differences[0].settled_by == "node by node"
        assert any(
            "rounds at resized" in w and "with its numbers there gluonnx gives the same" in w for w in result.warnings
        )
    x = mx.sym.sigmoid(mx.sym.var("x"), name="tiny")
    path, feeds = tmp_path / "ratio.onnx", {"x": np.array([[-30, -2, 0, 3, 7]], np.float32)}
    bridge.convert(x / (x + x), output=path, inputs=feeds, verify=False)
    result = bridge.verify(x / (x + x), path, inputs=feeds)
    assert result.equivalent and (result.differences[0].misplaced or not result.differences[0].settled_by)
    with monkeypatch.context() as patched:
        patched.setattr("bridge.judge.is_near", lambda *_: False)
        assert not against(written).equivalent
    monkeypatch.setattr(
        "bridge.judge._Trial._with_numbers_of", lambda *_: {n: np.zeros(1) for n in ("fc_output", "fc")}
    )
    assert not against(written).equivalent


def test_numbers_of_a_runtime_are_near_within_a_thousandth_of_their_scale() -> None:
    want = np.array([1, 200, np.nan, np.inf], np.float32)
    for got, near in (
        (want, True), (want + np.float32([0.1, -0.19, 0, 0]), True), (want + np.float32([0.3, 0, 0, 0]), False),
        (want[:3], False), (want.astype("float64"), False), (np.float32([1, 200, 0, np.inf]), False),
    ):  # fmt: skip
        assert is_near(got, want) is near
    assert not is_near(np.array([1, 2]), np.array([1, 2]))


def test_a_refused_conversion_says_which_weight_differs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The file that was just written is run without its weights in memory: they are read where words for a cause are sought."""
    convert = importlib.import_module("bridge.convert")
    real = convert.as_onnx

    def planted(*args: object) -> object:
        made = real(*args)
        heavier = {n: a * np.float32(1.01) if n == "conv_weight" else a for n, a in made.verified.initializers.items()}
        wrong = made.verified._replace(initializers=heavier)
        return type(made)(wrong, wrong)

    monkeypatch.setattr(convert, "as_onnx", planted)
    with pytest.raises(bridge.NotEquivalent) as caught:
        bridge.convert(network(160), inputs={"data": (1, 3, 201, 12)}, output=tmp_path / "model.onnx")
    causes = caught.value.result.causes
    assert list(causes) == ["conv"] and "ratio 1.01" in causes["conv"][0]


@pytest.mark.parametrize(("rows", "high", "seed"), [(GIVEN[0], HIGH, 7), (201, 160, 8)])
def test_a_refusal_names_the_inexact_node_first(
    rows: int, high: int, seed: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A runtime's rounding does not explain all that differs: beyond its own tolerance or within it, the node is the first thing
    that is said, and no node that only magnifies it."""
    monkeypatch.setattr("bridge.judge.explained", lambda *_: False)
    monkeypatch.setattr("bridge.judge.allowance", lambda *_: None)
    with pytest.raises(bridge.NotEquivalent) as caught:
        bridge.convert(network(high), inputs={"data": pictures(rows, seed)}, output=tmp_path / "model.onnx")
    found = caught.value.result
    first = found.divergence
    assert first is not None and (first.node, first.kind, found.faults) == ("resized", "inexact", ())
    assert "; the node that is inexact is resized (_contrib_BilinearResize2D): onnxruntime is " in str(caught.value)
    shown = " ".join(str(found).split())
    assert "first resized (_contrib_BilinearResize2D), tensor resized_output the models are the same here" in shown
    for face in (html.page, markdown.page):
        assert "a runtime rounds more than float32 has to" in face(report.verify_table(found), {})
    assert found.as_dict()["divergence"]["inexact"] == first.inexact != ""


def test_a_tolerance_that_is_given_names_the_inexact_node_too(written: Path) -> None:
    result = bridge.verify(network(), str(written), inputs={"data": pictures()}, tolerance=(1e-7, 0))
    assert result.verdict == "not equivalent" and result.divergence is not None
    assert (result.divergence.node, result.divergence.kind) == ("resized", "inexact")


def test_what_is_not_before_an_output_is_not_named_for_it(tmp_path: Path) -> None:
    """Another output is off, of a branch without the node: large numbers, of which one unit in the last place is much."""
    symbol, weights = layers()
    both = bridge.open_model(mx.sym.Group([symbol, mx.sym.exp(mx.sym.var("other"), name="grown")]), weights)
    feeds = {"data": pictures(), "other": np.linspace(9, 11, 4000, dtype="float32").reshape(1, -1)}
    path = tmp_path / "both.onnx"
    bridge.convert(both, output=path, inputs=feeds, verify=False)
    result = bridge.verify(both, str(path), inputs=feeds, tolerance=(1e-4, 0))
    assert [d.name for d in result.differences if not d.equal] == ["grown_output"]
    assert result.divergence is not None and result.divergence.inexact == ""
