"""Normalization and Dropout where the recorded cases do not go: training, mismatched parameters, offsets, 16-bit floats."""

import numpy as np
import pytest

from hybrid.core.error import OpError
from hybrid.core.op import REGISTRY
from hybrid.core.shapes import UNKNOWN
from hybrid.execution.program import Program
from hybrid.ir.infer import infer
from tests.converters.test_detection_dynamic import graph_of


def test_gamma_of_another_size_is_refused():
    graph = graph_of("BatchNorm", {})
    shapes = {"data": (2, 3, 2, 2)} | dict.fromkeys(("gamma", "beta", "moving_mean", "moving_var"), (4,))
    with pytest.raises(OpError, match=r"got gamma of shape \(4,\), wanted \(3,\)"):
        infer(graph, shapes)


def test_parameters_follow_from_data():
    graph = graph_of("BatchNorm", {"axis": -1})
    result = infer(graph, {"data": (UNKNOWN, 5, 7)}, {"data": "float16"})
    specs = {v.name: result.spec(e) for v, e in zip(graph.variables(), graph.outputs[0].node.inputs)}
    assert specs["gamma"] == specs["moving_var"] == ((7,), np.dtype("float32"))


@pytest.mark.parametrize("name", ["LayerNorm", "InstanceNorm", "GroupNorm", "BatchNorm"])
def test_an_offset_costs_no_more_than_it_must(name):
    """The variance of numbers near 1e4 with deviation 1: E[x^2] - E[x]^2 would be off by about 1e8 epsilons."""
    op = REGISTRY[name].bind()
    x = np.random.default_rng(0).normal(1e4, 1, (4, 3, 500)).astype(np.float32)
    sizes = {"LayerNorm": 500, "InstanceNorm": 3, "GroupNorm": 1, "BatchNorm": 3}
    parameters = [np.ones(sizes[name], np.float32) * n for n in ((1, 0, 1, 1) if name == "BatchNorm" else (1, 0))]
    options = {"training": True} if name == "BatchNorm" else {}
    (got, *_), (want, *_) = (
        op.compute(a, *[p.astype(a.dtype) for p in parameters], **options) for a in (x, x.astype(np.float64))
    )
    np.testing.assert_allclose(got, want, atol=2e-2)


def test_dropout_drops_when_training_only():
    data = np.ones((200, 50), np.float32)
    graph = graph_of("Dropout", {"p": 0.3})
    np.testing.assert_array_equal(Program(graph).run({"data": data})[0], data)
    (got,) = Program(graph, training=True).run({"data": data})
    np.testing.assert_allclose(np.unique(got), [0, 1 / 0.7], rtol=1e-6)
    assert abs((got == 0).mean() - 0.3) < 0.03


def test_dropout_shares_its_mask_along_axes():
    graph = graph_of("Dropout", {"p": 0.5, "mode": "always", "axes": (1, -1)})
    (got,) = Program(graph).run({"data": np.ones((64, 3, 5), np.float32)})
    assert (got == got[:, :1, :1]).all()
    assert 0 < (got == 0).mean() < 1


def test_rrelu_draws_slopes_when_training():
    op = REGISTRY["LeakyReLU"].bind(act_type="rrelu", lower_bound=0.2, upper_bound=0.4)
    y, slopes = op.compute(np.full((50, 20), -1, np.float32), training=True, rng=np.random.default_rng(0))
    np.testing.assert_array_equal(y, -slopes)
    assert 0.2 <= slopes.min() < 0.25 < 0.35 < slopes.max() <= 0.4
