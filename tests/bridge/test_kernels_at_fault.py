"""A compiled kernel that is wrong: verification says that it is the kernel, not the model."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import bridge
import hybrid as mx
from bridge.compare import distance
from bridge.engines import NativeEngine
from bridge.kernels import kernels_at_fault
from bridge.models import open_model
from hybrid import native
from hybrid.core.op import Spec
from hybrid.execution import lower
from tests.house.docs import ROOT

pytestmark = pytest.mark.skipif(not native.LEVELS, reason="there is no compiled part")


def test_a_wrong_kernel_is_named(monkeypatch, tmp_path):
    right = lower.CompiledProgram.run

    def wrong(self, *arguments):
        return [y + np.float32(0.25) for y in right(self, *arguments)]

    monkeypatch.setattr(lower.CompiledProgram, "run", wrong)
    with pytest.raises(bridge.NotEquivalent) as caught:
        bridge.convert(
            ROOT / "fixtures/models/arcface/model", inputs={"data": (1, 3, 32, 32)}, output=tmp_path / "m.onnx"
        )
    assert "differ from its own NumPy rules" in str(caught.value.result.warnings)
    assert not (tmp_path / "m.onnx").exists()


def ranked() -> tuple[Any, dict[str, np.ndarray]]:
    """Two boxes in the order of their scores, which are sums of the same numbers in two orders."""
    x: Any = mx.sym.var("x")
    scores = mx.sym.reshape(mx.sym.FullyConnected(x, num_hidden=2, no_bias=True, name="scores"), (0, -1, 1))
    rows = mx.sym.concat(scores, mx.sym.reshape(mx.sym.var("boxes"), (0, -1, 4)), dim=2)
    rows = mx.sym.contrib.box_nms(rows, overlap_thresh=1.0, coord_start=1, score_index=0, valid_thresh=-99, name="rows")
    weight = np.random.default_rng(0).standard_normal((1, 300)).astype(np.float32)
    other = weight[:, np.random.default_rng(1).permutation(300)]
    return mx.sym.tanh(rows, name="out"), {"scores_weight": np.concatenate([weight, other])}


def drawn() -> Iterator[tuple[NativeEngine, dict[str, np.ndarray]]]:
    """Engines, and inputs for which their kernels put the boxes in another order than NumPy and float64 do."""
    for seed in range(400):
        rng = np.random.default_rng(seed)
        feeds = {"x": np.full((1, 300), rng.uniform(0.5, 1.5)), "boxes": rng.uniform(0, 1, (1, 2, 4))}
        feeds = {n: a.astype(np.float32) for n, a in feeds.items()}
        engine = NativeEngine(open_model(*ranked()), {n: Spec(a.shape, a.dtype) for n, a in feeds.items()})
        made, (want,) = engine.program.run(feeds)[0].copy(), engine.run_by_numpy(feeds)
        truth = engine.exact(frozenset(), feeds, "out_output")
        assert truth is not None
        if distance(made, truth) > 0.01 > 1e-5 > distance(want, truth):
            yield engine, feeds


@pytest.mark.parametrize("wrong", [False, True])
def test_rows_in_another_order_of_ties_are_no_fault_of_a_kernel(wrong: bool, monkeypatch) -> None:
    """Both what is before the node that orders and what is behind it are computed from the same values: a wrong kernel is found."""
    engine, feeds = next(drawn())
    if wrong:
        right = lower.CompiledProgram.run
        monkeypatch.setattr(
            lower.CompiledProgram, "run", lambda self, *given: [y + np.float32(0.25) for y in right(self, *given)]
        )
    said = kernels_at_fault(engine, feeds)
    assert (said is not None and "this is a bug in the kernels" in said) is wrong
