"""NumPy's array functions: what the recorded cases do not show."""

import numpy as np
import pytest

from hybrid import autograd, nd
from hybrid.array import invoke
from hybrid.graph.executor import Program
from hybrid.graph.graph import Entry, Graph, Node
from hybrid.op import REGISTRY


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
