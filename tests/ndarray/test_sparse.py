"""Sparse arrays beyond the recorded calls: what repeated entries, writes and gradients do."""

import itertools
import pickle

import numpy as np
import pytest

import hybrid as mx
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


# -- what is computed, and how it is stored: asked of MXNet 1.9.1 ------------------------------

A = np.array([[0, 2.5, 0, -1], [0, 0, 0, 0], [3, 0, -4.5, 0]], np.float32)
B = np.array([[0, 1.5, 2, 0], [0, 0, 0, 0], [-3, 0, 0, 0]], np.float32)
D = np.array([[1, 2, 3, 4], [5, 6, 7, 8], [-1, -2, 0, 3]], np.float32)
ROW = np.array([[2, 3, 4, 5]], np.float32)
NAMES = {
    "c": ("csr", A),
    "c2": ("csr", B),
    "r": ("row_sparse", A),
    "r2": ("row_sparse", B),
    "d": ("default", D),
    "row": ("default", ROW),
}
SIGNS = {
    "csr": "c+c2 c-c2 c*c2 c*d c/2 c*3 3*c c+0 -c abs(c) c/row c*row c>0 c<0 c!=0 c<=-1 c>1 c[0:1] c[2:3] c[1:3] c[:2] c[:] c[-2:]",
    "row_sparse": "r+r2 r-r2 r*r2 r*d r*3 r/2 -r abs(r) r>0",
    "default": "c+d d+c r+d d-r c+1 1-c r+1 c+row r*row c==0 c>=0 c<=1 r==0",
}


def arrays() -> dict[str, nd.NDArray]:
    return {n: nd.array(v).tostype(stype) for n, (stype, v) in NAMES.items()}


def same(found: nd.NDArray, want: np.ndarray, stype: str, text: str) -> None:
    assert found.stype == stype, text
    np.testing.assert_allclose(found.asnumpy(), np.asarray(want).astype(found.dtype), rtol=1e-6, err_msg=text)
    if stype != "default":  # what is stored, put where it is said to stand, is the array
        again = np.zeros(found.shape, found.dtype)
        places = found.indices.asnumpy()
        if stype == "csr":
            starts = found.indptr.asnumpy()
            assert starts[0] == 0 and starts[-1] == len(places) == found.data.size
            again[np.repeat(np.arange(len(again)), np.diff(starts)), places] = found.data.asnumpy()
        else:
            again[places] = found.data.asnumpy()
        np.testing.assert_array_equal(again, found.asnumpy(), err_msg=text)


def test_signs_and_slices() -> None:
    plain = {n: v for n, (_, v) in NAMES.items()}
    for stype, texts in SIGNS.items():
        for text in texts.split():
            same(eval(text, {}, arrays()), eval(text, {}, plain), stype, text)
    c = arrays()["c"]
    for index in (0, 1, -1):
        same(c[index], A[[index]], "csr", f"c[{index}]")
    for index in (3, -4):
        with pytest.raises(IndexError, match="out of bounds for 3 rows"):
            c[index]
    for key, said in (((0, 1), "Multi-dimension"), ([0], "Undefined"), (slice(None, None, 2), "continuous slicing")):
        with pytest.raises(ValueError, match=said):
            c[key]


def test_functions_of_sparse_arrays() -> None:
    x = arrays()
    c, c2, r, r2, d = (x[n] for n in ("c", "c2", "r", "r2", "d"))
    two, one = nd.array([2, 0]), nd.array([1])
    rows = [
        (nd.relu(c), np.maximum(A, 0), "csr"),
        (nd.square(r), A * A, "row_sparse"),
        (nd.exp(c), np.exp(A), "default"),
        (nd.cos(r), np.cos(A), "default"),
        (nd.sqrt(abs(c)), np.sqrt(np.abs(A)), "csr"),
        (nd.clip(c, -1, 2), A.clip(-1, 2), "csr"),
        (nd.clip(r, -1, 2), A.clip(-1, 2), "row_sparse"),
        (nd.clip(r, 1, 2), A.clip(1, 2), "default"),
        (nd.zeros_like(c), A * 0, "csr"),
        (nd.zeros_like(r), A * 0, "row_sparse"),
        (nd.ones_like(c), A * 0 + 1, "default"),
        (nd.dot(c, d.T), A @ D.T, "default"),
        (nd.dot(c, d[:, :3], transpose_a=True), A.T @ D[:, :3], "row_sparse"),
        (nd.dot(d.T, c), D.T @ A, "csr"),
        (nd.sum(c, axis=1), A.sum(1), "default"),
        (nd.sum(c, axis=0), A.sum(0), "default"),
        (nd.mean(c, axis=1), A.mean(1), "default"),
        (nd.concat(c, c2, dim=0), np.concatenate([A, B]), "csr"),
        (nd.concat(c, d, dim=0), np.concatenate([A, D]), "default"),
        (nd.add_n(r, r2), A + B, "row_sparse"),
        (nd.add_n(r, d), A + D, "default"),
        (nd.sparse.retain(r, two), A, "row_sparse"),
        (nd.sparse.retain(r, one), A * 0, "row_sparse"),
        (r.retain(nd.array([2])), A * [[0], [0], [1]], "row_sparse"),
        (nd.sparse.add(c, c2), A + B, "csr"),
        (nd.sparse.multiply(d, c), A * D, "csr"),
        (nd.sparse.subtract(r, r2), A - B, "row_sparse"),
        (nd.sparse.divide(c, 4), A / 4, "csr"),
        (nd.elemwise_mul(c, d), A * D, "csr"),
        (nd.elemwise_mul(d, r), A * D, "row_sparse"),
        (nd.elemwise_add(c, d), A + D, "default"),
        (nd.take(c, two), A[[2, 0]], "csr"),
        (nd.slice(c, begin=(0,), end=(2,)), A[:2], "csr"),
        (nd.cast_storage(c, "default"), A, "default"),
        (nd.cast_storage(d, "csr"), D, "csr"),
        (nd.cast_storage(d, stype="row_sparse"), D, "row_sparse"),
        (nd.sparse.cast_storage(d, "csr"), D, "csr"),
        (nd.cast_storage(d, "default"), D, "default"),
        (nd.dot(d, d.T, forward_stype="csr"), D @ D.T, "csr"),
        (nd.dot(d, d.T, forward_stype="row_sparse"), D @ D.T, "row_sparse"),
        (c.astype("float64"), A, "csr"),
        (r.astype("int32"), A.astype(int), "row_sparse"),
        (c.copy(), A, "csr"),
        (c.copyto(nd.zeros((3, 4))), A, "default"),
        (r.copyto(nd.sparse.zeros("row_sparse", (3, 4))), A, "row_sparse"),
        (c.copyto(mx.cpu(1)), A, "csr"),
        (c.tostype("default"), A, "default"),
        (r.tostype("row_sparse"), A, "row_sparse"),
        (d.tostype("csr"), D, "csr"),
        (nd.cast_storage(nd.array(A), "csr"), A, "csr"),
    ]
    for number, (found, want, stype) in enumerate(rows):
        same(found, want, stype, f"row {number}")
    assert nd.sparse.retain(r, nd.array([2])).indices.asnumpy().tolist() == [2]
    assert nd.cast_storage(nd.array(A), "csr").data.asnumpy().tolist() == [2.5, -1, 3, -4.5]
    assert nd.cast_storage(nd.array(A), "row_sparse").indices.asnumpy().tolist() == [0, 2]
    x = nd.array(A)
    x.attach_grad()
    for _ in range(2):  # the second time such a call is known
        with autograd.record():
            y = nd.cast_storage(x, "csr")
            z = y * nd.array(D)
        z.backward()
        assert y.stype == "csr" and x.grad.asnumpy().tolist() == D.tolist()


def test_products_of_all_kinds_of_arrays() -> None:
    """The kinds of MXNet 1.9.1's results, by both sides and transpose_a, transpose_b: all that it gives no kind are dense."""
    kinds = ("default", "csr", "row_sparse")
    kept = {
        ("default", "csr", False, False): "csr",
        ("default", "csr", False, True): "csr",
        ("csr", "default", True, False): "row_sparse",
        ("csr", "row_sparse", True, False): "row_sparse",
    }
    a, b = A[:, :3], (A - 2 * B)[:, 1:]
    for case in itertools.product(kinds, kinds, (False, True), (False, True)):
        one, other, first, second = case
        want = (a.T if first else a) @ (b.T if second else b)
        x, y = nd.array(a).tostype(one), nd.array(b).tostype(other)
        for _ in range(2):  # the second time such a call is known
            same(nd.dot(x, y, transpose_a=first, transpose_b=second), want, kept.get(case, "default"), str(case))
        for stype in kinds:
            if stype != "default" or kept.get(case) != "row_sparse":  # MXNet refuses one of these
                found = nd.dot(x, y, transpose_a=first, transpose_b=second, forward_stype=stype)
                same(found, want, stype, f"{case} as {stype}")


def test_sparse_arrays_that_are_made() -> None:
    parts = ([1, 2, 3], [1, 0, 3], [0, 1, 1, 3])
    lists = np.array([[0, 1, 0, 0], [0, 0, 0, 0], [2, 0, 0, 3]])
    rows = ([[1, 2], [3, 4]], [0, 2])
    csr, row_sparse = nd.sparse.csr_matrix, nd.sparse.row_sparse_array
    x = arrays()
    for found, want, stype, dtype in (
        (csr(parts, shape=(3, 4)), lists, "csr", "float32"),
        (csr(parts), lists, "csr", "float32"),
        (csr(parts, shape=(3, 5), dtype="int32"), np.pad(lists, ((0, 0), (0, 1))), "csr", "int32"),
        (csr(D), D, "csr", "float32"),
        (csr(x["c"]), A, "csr", "float32"),
        (csr(x["c"], dtype="float64"), A, "csr", "float64"),
        (csr((2, 3)), np.zeros((2, 3)), "csr", "float32"),
        (csr([[0, 1], [2, 0]]), [[0, 1], [2, 0]], "csr", "float32"),
        (csr(np.eye(2)), np.eye(2), "csr", "float64"),
        (row_sparse(rows, shape=(4, 2)), [[1, 2], [0, 0], [3, 4], [0, 0]], "row_sparse", "float32"),
        (row_sparse(rows), [[1, 2], [0, 0], [3, 4]], "row_sparse", "float32"),
        (row_sparse(D), D, "row_sparse", "float32"),
        (row_sparse(x["r"], dtype="float64"), A, "row_sparse", "float64"),
        (row_sparse((2, 3)), np.zeros((2, 3)), "row_sparse", "float32"),
        (nd.sparse.array(x["c"]), A, "csr", "float32"),
        (nd.sparse.array(x["r"], dtype="float16"), A, "row_sparse", "float16"),
        (nd.array(x["c"]), A, "csr", "float32"),
        (nd.sparse.zeros("csr", (2, 3), dtype="int32"), np.zeros((2, 3)), "csr", "int32"),
        (nd.zeros((2, 2), stype="row_sparse"), np.zeros((2, 2)), "row_sparse", "float32"),
        (nd.sparse.zeros("default", (2,)), [0, 0], "default", "float32"),
    ):
        same(found, np.asarray(want), stype, f"{stype} {dtype}")
        assert found.dtype is np.dtype(dtype).type and found.shape == np.shape(want)
    for call, error, said in (
        (lambda: csr(x["r"]), ValueError, "Unexpected input type: RowSparseNDArray"),
        (lambda: row_sparse(x["c"]), ValueError, "Unexpected input"),
        (lambda: csr(D, shape=(4, 3)), ValueError, "Shape mismatch detected"),
        (lambda: row_sparse(D, shape=(4, 3)), ValueError, "Shape mismatch"),
        (lambda: csr((1, 2, 3, 4)), ValueError, "Unexpected length of input tuple: 4"),
        (lambda: row_sparse((1,)), ValueError, "length of input tuple: 1"),
        (lambda: nd.sparse.array(nd.array(D)), TypeError, "got a dense array"),
        (lambda: nd.sparse.array(D), ValueError, "got ndarray"),
        (lambda: nd.sparse.zeros("coo", (2, 2)), ValueError, "unknown storage type 'coo'"),
        (lambda: nd.array([1.0]).tostype("csr"), ValueError, "2 Dimensional"),
        (lambda: x["c"].tostype("row_sparse"), ValueError, "from csr to row_sparse is not supported"),
        (lambda: x["r"][0], mx.MXNetError, r"only supports \[:\]"),
        (
            lambda: x["c"].copyto(nd.sparse.zeros("row_sparse", (3, 4))),
            TypeError,
            "destination NDArray stype row_sparse",
        ),
        (lambda: x["c"].copyto(3), TypeError, "does not support type"),
        (lambda: nd.sparse.retain(x["c"], nd.array([0])), mx.MXNetError, "wanted a row_sparse"),
    ):
        with pytest.raises(error, match=said):
            call()


def test_sparse_arrays_that_are_written() -> None:
    for stype in ("csr", "row_sparse"):
        x = nd.array(A).tostype(stype)
        held = x.detach()
        for value, want in ((nd.array(D), D), (nd.array(B).tostype(stype), B), (D * 2, D * 2), (0, D * 0)):
            x[:] = value
            same(x, want, stype, stype)
        assert held.asnumpy().tolist() == A.tolist()
        x[:] = nd.array(A)
        x += nd.array(B).tostype(stype)
        same(x, A + B, stype, "+=")
        x *= 2
        same(x, (A + B) * 2, stype, "*=")
        with pytest.raises(mx.MXNetError, match=r"got an array of shape \(4, 3\), wanted \(3, 4\)"):
            x[:] = nd.array(D.T)
        with pytest.raises(TypeError):
            x[:] = "a"
    rows = nd.sparse.zeros("row_sparse", (2, 2))
    rows[:] = 3
    same(rows, np.full((2, 2), 3), "row_sparse", "a number")
    with pytest.raises(ValueError, match="Assigning numeric types"):
        nd.sparse.zeros("csr", (2, 2))[:] = 3
    with pytest.raises(TypeError, match="destination NDArray stype row_sparse"):
        rows[:] = nd.sparse.zeros("csr", (2, 2))
    again = pickle.loads(pickle.dumps(nd.array(A).tostype("csr")))
    same(again, A, "csr", "pickled")
