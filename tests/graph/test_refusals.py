"""Refusals by operators: inference before anything runs, or compute for values, and never as an error of the operator's own."""

import json

import numpy as np
import pytest

from hybrid.core.error import InternalError, MXNetError, OpError
from hybrid.core.op import REGISTRY, Example, Spec
from hybrid.core.shapes import UNKNOWN
from hybrid.execution.apply import apply, failure
from hybrid.execution.program import Program
from hybrid.ir import json as symbol_json
from hybrid.ir.infer import infer
from tests.table.examples import graph_of

X = np.ones((2, 3), np.float32)
BN = [np.ones(3, np.float32)] * 3
RECURRENT = [np.ones((2, 1, 1), "int8"), np.ones(4, "f4"), np.ones((1, 1, 1), "f4")]


def feeds_of(name, arrays, attrs):
    return graph_of(Example(REGISTRY[name].bind(**attrs), tuple(np.asarray(a) for a in arrays)))


@pytest.mark.parametrize(
    "name, arrays, attrs",
    [
        ("SoftmaxActivation", [X > 0], {}),
        ("Activation", [X.astype(int)], {"act_type": "tanh"}),
        ("_npi_bitwise_not", [X], {}),
        ("BatchNorm", [X, *BN, np.ones(3, np.uint8)], {}),
        ("RNN", RECURRENT, {"state_size": 1, "num_layers": 1, "mode": "rnn_tanh"}),
        ("_npi_pinv", [np.ones((2, 3, 4), "f4"), np.ones(3, "f4")], {}),
        ("_npi_choice", [np.float32(3)], {"a": None, "size": (2,)}),
        ("_onnx_AffineGrid", [np.ones((2, 2, 3), "f4"), np.ones(7, int)], {}),
        ("_onnx_RoiAlign", [np.ones((2, 1, 4, 4), "f4"), np.ones((1, 3), "f4"), np.zeros(1, int)], {}),
        ("_onnx_SoftmaxCrossEntropyLoss", [X, np.ones(2, "f4")], {}),
        ("_onnx_NegativeLogLikelihoodLoss", [X, np.ones(2, "f4")], {}),
        ("_onnx_Trilu", [X, X], {"given": ("k",)}),
        ("_contrib_div_sqrt_dim", [np.float32(2)], {}),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_inference_refuses_what_numpy_would_stumble_over(name, arrays, attrs):
    graph, feeds = feeds_of(name, arrays, attrs)
    with pytest.raises(OpError):
        infer(graph, {n: a.shape for n, a in feeds.items()}, {n: a.dtype for n, a in feeds.items()})


@pytest.mark.parametrize(
    "name, arrays, attrs",
    [
        ("_onnx_GatherElements", [X, [[2, 0, 0]]], {}),
        ("_onnx_GatherElements", [X, np.zeros((1, 3), "f4")], {}),
        ("_onnx_GatherND", [X, [[0, -4]]], {}),
        ("_onnx_ScatterElements", [X, [[2]], [[1.0]]], {}),
        ("_onnx_ScatterND", [X, [[2]], X[:1]], {}),
        ("_onnx_RoiAlign", [np.ones((2, 1, 4, 4), "f4"), np.ones((1, 4), "f4"), [2]], {}),
        ("_onnx_HannWindow", [np.float32(np.nan)], {}),
        ("_onnx_ReduceMin", [X, np.array([np.nan], "f4")], {"given": ("axes",)}),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_positions_and_sizes_are_whole_numbers_within_bounds(name, arrays, attrs):
    graph, feeds = feeds_of(name, arrays, attrs)
    for native in (False, True):
        with pytest.raises(MXNetError) as caught:
            Program(graph, native=native).run(feeds)
        assert not isinstance(caught.value, InternalError), caught.value


def test_an_operator_is_not_blamed_for_arrays_that_inference_refuses_when_it_sees_them():
    op, error = REGISTRY["dot"].bind(), ValueError("shapes not aligned")
    assert isinstance(failure(op, [X, X], "node", error), OpError)
    assert isinstance(failure(op, [X, X.T], "node", error), InternalError)


def test_pictures_of_no_pixels_are_sampled_as_zeros():
    attrs = {"target_shape": (2, 2), "transform_type": "affine", "sampler_type": "bilinear"}
    graph, feeds = feeds_of("SpatialTransformer", [np.ones((1, 2, 0, 3), "f4"), np.ones((1, 6), "f4")], attrs)
    for native in (False, True):
        assert not Program(graph, native=native).run(feeds)[0].any()


def test_a_shape_that_only_readers_had_foretold_is_no_bug_of_the_operator():
    specs, arrays = [Spec((UNKNOWN,), np.dtype(np.float32))], [X, np.zeros((2, 2), np.int64)]
    with pytest.raises(MXNetError, match="do not fit the rest of the graph") as caught:
        apply(REGISTRY["take"].bind(), arrays, specs, name="node")
    assert not isinstance(caught.value, InternalError)


def test_an_absurd_output_of_an_unknown_operator_is_refused_at_once():
    nodes = [{"op": "Unheard", "name": "a", "inputs": []}]
    with pytest.raises(MXNetError, match="output"):
        symbol_json.loads(json.dumps({"nodes": nodes, "arg_nodes": [], "heads": [[0, 10**9, 0]]}), foreign=True)


@pytest.mark.parametrize("slope", [np.nan, np.inf, -np.inf])
def test_a_slope_that_is_not_finite_is_for_negative_numbers_alone(slope):
    graph, feeds = feeds_of("LeakyReLU", [np.float32([-2, -0.5, 0.5, 2])], {"act_type": "leaky", "slope": slope})
    for native in (False, True):
        (y,) = Program(graph, native=native).run(feeds)
        np.testing.assert_array_equal(y, np.float32([-2 * slope, -0.5 * slope, 0.5, 2]))
