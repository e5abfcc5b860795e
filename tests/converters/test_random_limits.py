"""Exported samplers draw until enough is taken; for parameters of which nothing can be taken they end all the same."""

import numpy as np
import onnxruntime
import pytest

import converters
from hybrid.core.op import REGISTRY, Example, Spec, lookup
from tests.table.examples import graph_of


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "name, parameters, wanted",
    [
        ("_sample_gamma", [[-1, np.inf, np.nan, 0], [1, 1, 1, 1]], [np.nan, np.inf, np.nan, 0]),
        ("_sample_poisson", [[-1, np.inf, np.nan, 0]], [0, np.inf, np.nan, 0]),
    ],
)
def test_samplers_end_for_parameters_without_samples(name, parameters, wanted):
    graph, feeds = graph_of(Example(REGISTRY[name].bind(), tuple(np.array(p, np.float32) for p in parameters)))
    model = converters.convert(graph, {}, {n: Spec(a.shape, a.dtype) for n, a in feeds.items()}, 17).proto()
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    np.testing.assert_array_equal(session.run(None, feeds)[0], np.float32(wanted))


def test_one_number_is_drawn_for_no_dimensions():
    """An attribute that is an empty list has a type all the same."""
    graph, feeds = graph_of(Example(lookup("_onnx_RandomNormal").bind(shape="()"), ()))
    model = converters.to_onnx(graph, {}, feeds)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    assert session.run(None, {})[0].shape == ()
