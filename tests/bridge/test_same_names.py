"""Networks several of whose nodes have one name, as those that call a layer twice: tensors are told apart all the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bridge
import hybrid as mx
from bridge.engines import NativeEngine
from bridge.models import Model

DATA = mx.sym.var("data")
SHAPE = {"data": (3, 4)}


def twice(first: Any, second: Any) -> mx.sym.Symbol:
    """exp(first(x)) + exp(second(2 x)), where the first two have one name, and the next two."""
    a, b = first(DATA, name="r"), second(DATA * 2, name="r")
    return mx.sym.elemwise_add(mx.sym.exp(a, name="z"), mx.sym.exp(b, name="z"), name="y")


def merged() -> mx.sym.Symbol:
    """Two pairs of nodes that the converter makes one of, and an output of another one's name before which it leaves a node out."""
    a, b, c = mx.sym.tanh(DATA, name="r"), mx.sym.relu(DATA * 1.0, name="r"), mx.sym.tanh(DATA, name="q")
    return mx.sym.Group([mx.sym.exp(a, name="z") + mx.sym.exp(c, name="z"), b])


def stacked() -> mx.sym.Symbol:
    a = mx.sym.relu(DATA, name="r")
    return mx.sym.Group([mx.sym.relu(a, name="r"), mx.sym.relu(DATA, name="r"), mx.sym.tanh(a, name="r")])


@pytest.mark.parametrize("make", [lambda: twice(mx.sym.tanh, mx.sym.relu), merged, stacked])
def test_right_files_are_no_false_alarm(make: Callable[[], mx.sym.Symbol], tmp_path: Path) -> None:
    symbol = make()
    assert str(bridge.convert(symbol, {}, inputs=SHAPE, output=tmp_path / "m.onnx").verification).startswith(
        "EQUIVALENT"
    )
    for layers in (False, True):
        assert (
            bridge.verify(symbol, tmp_path / "m.onnx", params={}, inputs=SHAPE, layers=layers).verdict == "equivalent"
        )


def test_every_tensor_has_a_name_of_its_own() -> None:
    engine = NativeEngine(Model("m", merged().graph, {}))
    tensors = engine.inner_tensors()
    assert len({t.name for t in tensors}) == len(tensors)
    assert [n for n in engine.outputs if n not in {t.name for t in tensors}] == []
    x = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)
    shown = engine.expose({"data": x}, [t.name for t in tensors])
    assert np.array_equal(shown["r_output"], np.maximum(x, 0))
    assert np.allclose(shown["r_output (1)"], np.tanh(x))
    for tensor in tensors:
        alone = engine.compute_alone(tensor, {**shown, "data": x})  # by compiled kernels, which round otherwise
        assert alone is not None
        assert np.allclose(alone, shown[tensor.name], rtol=1e-6), tensor.name


def test_the_one_that_is_wrong_is_found(tmp_path: Path) -> None:
    for name, net in (("a", twice(mx.sym.tanh, mx.sym.relu)), ("b", twice(mx.sym.tanh, mx.sym.sigmoid))):
        mx.model.save_checkpoint(str(tmp_path / name), 0, net, {}, {})
    bridge.convert(tmp_path / "b", inputs=SHAPE, output=tmp_path / "b.onnx")
    found = bridge.verify(tmp_path / "a", tmp_path / "b.onnx", inputs=SHAPE)
    assert found.verdict == "not equivalent"
    assert found.divergence is not None
    assert (found.divergence.node, found.divergence.operator, found.divergence.kind) == ("r", "relu", "local")
    assert found.faults == ("r",)
    assert found.causes == {"r": ("Relu became Sigmoid",)}

    reduced = bridge.reduce(tmp_path / "a", tmp_path / "b.onnx", tmp_path / "repro", inputs=SHAPE)
    assert (reduced.node, reduced.operator, reduced.operators) == ("r", "relu", (1, 1))
    assert reduced.causes == ("Relu became Sigmoid",)
