"""Sparse arrays beyond the recorded calls: what repeated entries, writes and gradients do."""

import numpy as np
import pytest

from hybrid import autograd, nd
from hybrid.core.error import NotSupportedForSparseNDArray

DENSE = [[1, 0, 2], [0, 0, 0], [-3, 4, 0]]


def test_csr_of_coordinates_sums_what_stands_twice() -> None:
    x = nd.sparse.csr_matrix(([1, 2, 3, 4], ([2, 0, 0, 2], [0, 1, 1, 2])), shape=(3, 4))
    assert x.asnumpy().tolist() == [[0, 5, 0, 0], [0, 0, 0, 0], [1, 0, 4, 0]]
    assert (x.indptr.asnumpy().tolist(), x.indices.asnumpy().tolist()) == ([0, 1, 1, 3], [1, 0, 2])
    assert nd.sparse.csr_matrix(([1, 2], ([0, 1], [3, 2]))).shape == (2, 4)


@pytest.mark.parametrize(
    "make",
    [
        lambda: nd.sparse.csr_matrix(([1, 2], [0, 1], [0, 1]), shape=(3, 3)),
        lambda: nd.sparse.csr_matrix(([1, 2], [0, 5], [0, 1, 2]), shape=(2, 3)),
        lambda: nd.sparse.row_sparse_array(([[1, 2]], [5]), shape=(4, 2)),
        lambda: nd.sparse.row_sparse_array(([[1, 2], [3, 4]], [1, 1]), shape=(4, 2)),
    ],
)
def test_parts_that_do_not_fit_are_refused(make) -> None:
    """MXNet reads beyond its arrays then."""
    with pytest.raises(ValueError, match="wanted"):
        make()


def test_iterating_over_csr_gives_rows() -> None:
    assert [row.asnumpy().tolist() for row in nd.array(DENSE).tostype("csr")] == [[row] for row in DENSE]


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_results_written_to_sparse_arrays(stype: str) -> None:
    x, target = nd.array(DENSE).tostype(stype), nd.sparse.zeros(stype, (3, 3))
    assert nd.abs(x, out=target) is target
    assert target.asnumpy().tolist() == np.abs(DENSE).tolist()
    assert target.data.asnumpy().min() >= 0


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_gradients_of_sparse_arrays_are_sparse(stype: str) -> None:
    x = nd.array(DENSE).tostype(stype)
    x.attach_grad()
    with autograd.record():
        y = (x * x).sum()
    y.backward()
    assert x.grad.stype == stype
    assert x.grad.asnumpy().tolist() == (2 * np.array(DENSE)).tolist()


@pytest.mark.parametrize(("request_", "factor"), [("write", 1), ("add", 2)])
def test_row_sparse_gradients(request_: str, factor: int) -> None:
    weight = nd.array(DENSE)
    weight.attach_grad(request_, stype="row_sparse")
    for _ in range(2):
        with autograd.record():
            y = nd.Embedding(nd.array([2, 2]), weight, input_dim=3, output_dim=3, sparse_grad=True)
        y.backward()
    assert weight.grad.indices.asnumpy().tolist() == [2]
    assert weight.grad.data.asnumpy().tolist() == [[2 * factor] * 3]


def test_reshape_is_refused() -> None:
    with pytest.raises(NotSupportedForSparseNDArray, match="only available in NDArray"):
        nd.array(DENSE).tostype("csr").reshape((9,))
