"""NumPy's array functions: what the recorded cases do not show."""

import numpy as np
import pytest

import converters
from hybrid import autograd, nd
from hybrid.core.op import REGISTRY, Example
from hybrid.eager.array import invoke
from hybrid.execution.program import Program
from hybrid.ir.graph import Entry, Graph, Node
from tests.table.examples import graph_of
from tests.table.test_goldens import run_onnx


def op(name, **attrs):
    return REGISTRY[name].bind(**attrs)


@pytest.mark.parametrize("native", [False, True])
def test_arrays_with_more_dims_stay_what_they_are_while_others_are_computed(native):
    """The second output is memory of the second input, which therefore must not be given to another step."""
    a, b = (Entry(Node(None, n)) for n in "ab")
    first, second = Entry(Node(op("negative"), "first", [a])), Entry(Node(op("square"), "second", [b]))
    both = Node(op("_np_atleast_1d", num_args=2), "both", [first, second])
    power = Entry(Node(op("square"), "power", [Entry(Node(op("square"), "squared", [Entry(both, 0)]))]))
    graph = Graph([Entry(Node(op("elemwise_add"), "sum", [Entry(both, 1), power]))])
    x = np.arange(6, dtype=np.float32)
    (found,) = Program(graph, native=native).run({"a": x, "b": x + 10})
    np.testing.assert_allclose(found, (x + 10) ** 2 + x**4)


def test_averages_over_no_axis_are_the_numbers_themselves():
    """As MXNet has it, with these gradients; None stands for all axes."""
    x = np.arange(1, 7, dtype=np.float32).reshape(2, 3)
    for weighted in (True, False):
        arrays = [nd.array(x), nd.array(x)][: 1 + weighted]
        for array in arrays:
            array.attach_grad()
        with autograd.record():
            y = invoke(op("_npi_average", axis=(), weighted=weighted), arrays)
        y.backward()
        np.testing.assert_array_equal(y.asnumpy(), x)
        np.testing.assert_allclose(arrays[0].grad.asnumpy(), np.ones_like(x))
        if weighted:
            np.testing.assert_allclose(arrays[1].grad.asnumpy(), np.zeros_like(x))


def test_percentiles_over_no_axis_are_the_numbers_themselves():
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(op("_npi_percentile", axis=(), q_scalar=30).compute(x), x)
    found = op("_npi_percentile", axis=(), keepdims=True).compute(x, np.array([10, 90], np.float32))
    np.testing.assert_array_equal(found, np.stack([x, x]))


def test_percentiles_of_no_rows():
    found = op("_npi_percentile", axis=1, q_scalar=30).compute(np.zeros((0, 3), np.float32))
    assert found.shape == (0,)


def test_a_scalar_in_einsum_has_a_gradient():
    x, scale = nd.array(np.arange(6, dtype=np.float32).reshape(2, 3)), nd.array(2.0).reshape(())
    for array in (x, scale):
        array.attach_grad()
    with autograd.record():
        y = invoke(op("_npi_einsum", num_args=2, subscripts="ij,->ij"), [x, scale])
    y.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), np.full((2, 3), 2))
    np.testing.assert_allclose(scale.grad.asnumpy(), 15)


def test_running_sums_of_bools_are_int64():
    x = np.array([[True, False, True], [True, True, True]])
    for axis in (None, 1):
        cumsum = op("_np_cumsum", axis=axis)
        assert cumsum.infer_type(x.dtype) == np.int64
        np.testing.assert_array_equal(cumsum.compute(x), np.cumsum(x, axis))


def test_the_legacy_mean_of_bools_is_whether_one_is_true():
    x = np.array([[False, False, True], [False, False, False]])
    np.testing.assert_array_equal(op("mean", axis=1).compute(x), [True, False])


def test_a_histogram_over_one_number_reaches_half_a_unit_to_either_side():
    """As MXNet has it, and NumPy."""
    x = np.array([-1, 0, 0.5, -1.5], np.float32)
    counts, edges = op("_histogram", bin_cnt=2, range=(-1, -1)).compute(x)
    np.testing.assert_array_equal(counts, [1, 1])
    np.testing.assert_array_equal(edges, np.array([-1.5, -1, -0.5], np.float32))
    counts, edges = op("_histogram", bin_cnt=4, range=(-1, -1)).compute(np.array([-1, 0, 0, 1], np.int32))
    np.testing.assert_array_equal(counts, [0, 0, 1, 0])
    np.testing.assert_array_equal(edges, [-1, -1, -1, 0, 0])


def test_weights_are_counted_by_uint8():
    found = op("_npi_bincount", has_weights=True).compute(np.array([1, 2, 2], np.uint8), np.array([0.5, 1, 2], "f"))
    np.testing.assert_array_equal(found, np.array([0, 0.5, 3], np.float32))


def test_bins_of_whole_numbers_count_as_mxnet_counts():
    """Numbers that MXNet 1.9.1 gave; edges are cut off, so that several are the same; unsigned ones wrap round."""
    numbers = [0, 1, 1, 2, 3, 4, 2]
    wrong = []
    for dtype, count, over, want in (
        ("int32", 3, (0, 4), [1, 2, 4]),
        ("int32", 5, (0.5, 3.5), [0, 2, 0, 2, 1]),
        ("int8", 5, (1, 1), [0, 0, 0, 2, 0]),
        ("int64", 7, (0, 4), [0, 1, 2, 0, 2, 0, 2]),
        ("uint8", 7, (0.9, 3.1), [0, 2, 0, 0, 2, 0, 1]),
        ("int32", 7, (-0.5, 4.5), [0, 1, 0, 2, 2, 1, 1]),
        ("uint8", 2, (-3.7, 2.2), [0, 5]),
        ("uint8", 3, (-3.7, 2.2), [1, 0, 4]),
        ("uint8", 7, (-3.7, 2.2), [0, 0, 0, 0, 0, 1, 4]),
    ):
        graph, feeds = graph_of(Example(op("_histogram", bin_cnt=count, range=over), (np.array(numbers, dtype),)))
        ours = Program(graph).run(feeds)[0].tolist()
        theirs = run_onnx(converters.to_onnx(graph, {}, feeds), feeds)[0].tolist()
        if not ours == theirs == want:
            wrong.append(f"{count} bins of {dtype} over {over}: {ours}, in onnxruntime {theirs}, wanted {want}")
    assert not wrong, "\n".join(wrong)
