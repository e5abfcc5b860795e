"""Work that a comparison of models that differ does once: runs by NumPy, and layers that are proved with no zero going in."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import bridge
import hybrid as mx
from bridge import engines, judge, layers
from bridge.engines import NativeEngine, OnnxEngine
from bridge.locate import first_divergence
from bridge.result import Case
from tests.models.networks import FOLDER

NAME = "inception_bn"
FAULTS = 2


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network of MXNet's as ONNX, its batch norms folded, with some weights of two layers that are not the network's."""
    path = tmp_path_factory.mktemp("changed") / "model.onnx"
    feeds = dict(np.load(FOLDER / NAME / "inputs.npz"))
    bridge.convert(FOLDER / NAME / "model", inputs={n: a.shape for n, a in feeds.items()}, output=path, verify=False)
    model = onnx.load(path)
    kernels = [t for t in model.graph.initializer if len(t.dims) == 4]
    for tensor in (kernels[1], kernels[-2]):
        array = numpy_helper.to_array(tensor).copy()
        array[0] *= np.float32(1.01)
        tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))
    onnx.save(model, path)
    return path


@pytest.mark.parametrize("room", [layers.SHOWN_BYTES, 1 << 14])
def test_numpy_runs_once_for_each_draw_and_once_for_the_layers(
    changed: Path, room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of as many groups as the layers are measured in, and of as many nodes at fault."""
    monkeypatch.setattr(layers, "SHOWN_BYTES", room)
    runs: list[int] = []
    by_numpy, on_kernels = engines.outputs_by_numpy, NativeEngine.run
    monkeypatch.setattr(engines, "outputs_by_numpy", lambda *a, **k: (runs.append(1), by_numpy(*a, **k))[1])
    kernels: list[int] = []
    monkeypatch.setattr(NativeEngine, "run", lambda *a: (kernels.append(1), on_kernels(*a))[1])
    compiled: list[int] = []
    found = judge.kernels_at_fault
    monkeypatch.setattr(
        judge,
        "kernels_at_fault",
        lambda engine, feeds, given: (compiled.append(id(given)), found(_without_kernels(engine), feeds, given))[1],
    )
    shapes = {n: a.shape for n, a in np.load(FOLDER / NAME / "inputs.npz").items()}
    result = bridge.verify(FOLDER / NAME / "model", changed, inputs=shapes)
    suspect = sum(any(not d["equal"] for d in run["differences"]) for run in result.runs)
    assert len(result.faults) == FAULTS and suspect >= 2 and len(compiled) == 1
    assert all(layer.accumulated is not None for layer in result.layers)
    assert result.place(result.faults[0]).startswith("channel 0 of "), "it was looked at closely"
    inspected = suspect + (0 if any(not d["equal"] for d in result.runs[0]["differences"]) else 1)
    assert len(runs) == inspected + 1
    assert len(kernels) == len(result.runs)


def test_numpy_runs_once_for_the_tensors_that_have_grown_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them that is explained is given what was shown of the others."""
    data = mx.sym.var("data")
    for i in range(6):
        data = mx.sym.FullyConnected(data, num_hidden=5, no_bias=True, name=f"fc{i}")
    rng = np.random.default_rng(0)
    first = bridge.open_model(data, {f"fc{i}_weight": rng.standard_normal((5, 5)).astype("f") for i in range(6)})
    bridge.convert(data, dict(first.params), inputs={"data": (3, 5)}, output=tmp_path / "x.onnx")
    feeds = {"data": np.ones((3, 5), "f")}
    left, right = NativeEngine(first, feeds), OnnxEngine(bridge.open_model(tmp_path / "x.onnx"))
    monkeypatch.setattr(right, "expose", lambda f, names: {n: v * 2 for n, v in left.expose(f, names).items()})
    runs: list[int] = []
    by_numpy = engines.outputs_by_numpy
    monkeypatch.setattr(engines, "outputs_by_numpy", lambda *a, **k: (runs.append(1), by_numpy(*a, **k))[1])
    found = first_divergence(left, right, Case(feeds))
    assert found is not None and (found.node, found.kind) == ("fc0", "accumulated")
    assert len(runs) == 2, "one of either side"


def _without_kernels(engine: NativeEngine) -> NativeEngine:
    """The engine, whose kernels are not to be asked again."""

    def refuse(*_: Any) -> Any:
        raise AssertionError("its outputs are known")

    engine.program.run = refuse  # type: ignore[method-assign]
    return engine


def test_a_layer_is_proved_once_with_no_zero_going_in(changed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On other draws it is compared on their own numbers alone; one that was wrong would be again."""
    seen: Counter[str] = Counter()
    forced = NativeEngine.run_forced

    def count(self: NativeEngine, cut: Any, values: Any, names: Any) -> Any:
        seen.update(names)
        return forced(self, cut, values, names)

    monkeypatch.setattr(NativeEngine, "run_forced", count)
    shapes = {n: a.shape for n, a in np.load(FOLDER / NAME / "inputs.npz").items()}
    result = bridge.verify(FOLDER / NAME / "model", changed, inputs=shapes)
    assert sum(any(not d["equal"] for d in run["differences"]) for run in result.runs) >= 2
    assert seen and set(seen.values()) == {1}


def test_zeros_for_labels_are_the_same_for_the_same_sizes() -> None:
    """So that a run on them is known again."""
    scores = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=3, name="scores")
    model = bridge.open_model(
        mx.sym.SoftmaxOutput(scores, mx.sym.var("softmax_label"), name="softmax"),
        {"scores_weight": np.ones((3, 4), "f"), "scores_bias": np.zeros(3, "f")},
    )
    engine, x = NativeEngine(model), np.ones((2, 4), "f")
    first = engine.complete({"x": x})
    assert engine.complete({"x": x}).keys() == first.keys()
    assert all(engine.complete({"x": x})[n] is a for n, a in first.items())
    assert engine.run_by_numpy(first)[0] is engine.run_by_numpy(engine.complete({"x": x}))[0]


def test_dtypes_of_an_onnx_model_are_inferred_once(changed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    infer = onnx.shape_inference.infer_shapes
    engine = OnnxEngine(bridge.open_model(changed))
    monkeypatch.setattr(onnx.shape_inference, "infer_shapes", lambda *a, **k: (asked.append(1), infer(*a, **k))[1])
    first = engine.precision({})
    assert first and engine.precision({"data": np.ones(3)}) == first and len(asked) == 1
