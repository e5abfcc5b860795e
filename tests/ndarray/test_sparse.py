"""Sparse arrays beyond the recorded calls: what repeated entries, writes and gradients do."""

import itertools
import operator
import pickle

import numpy as np
import pytest

import hybrid as mx
from hybrid import autograd, nd
from hybrid.core.error import NotSupportedForSparseNDArray
from hybrid.formats.params import CSR, RowSparse

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
        for key, error in ((slice(0, 1), ValueError), (slice(None, None, 2), ValueError), (0, TypeError), ((0, 1), TypeError),
                           ([0], AssertionError), (None, AssertionError)):  # fmt: skip
            with pytest.raises(error, match=r"wanted|only supports"):
                x[key] = nd.array(A)
        same(x, (A + B) * 2, stype, "as it was")
        x.check_format(full_check=False), x.check_format(False)
    rows = nd.sparse.zeros("row_sparse", (2, 2))
    rows[:] = 3
    same(rows, np.full((2, 2), 3), "row_sparse", "a number")
    with pytest.raises(ValueError, match="Assigning numeric types"):
        nd.sparse.zeros("csr", (2, 2))[:] = 3
    with pytest.raises(TypeError, match="destination NDArray stype row_sparse"):
        rows[:] = nd.sparse.zeros("csr", (2, 2))
    again = pickle.loads(pickle.dumps(nd.array(A).tostype("csr")))
    same(again, A, "csr", "pickled")


def test_what_is_stored_and_how() -> None:
    """(expressions, storage type, dtype, shape, numbers, entries or rows that are stored), all asked of MXNet 1.9.1, but how many a
    sum, difference or product of two csr arrays stores, of which it leaves some undefined."""
    a, b = np.array(DENSE, np.float32), np.array([[0, 5, 0], [0, 0, 0], [7, 0, 6]], np.float32)
    known = {"nd": nd, "sp": nd.sparse, "A": a, "d": nd.array([[2, 3, 4], [5, 6, 7], [8, 9, 1]]), "v": nd.array([[2, 3, 4]]),
             "col": nd.array([[2], [3], [4]]), "one": nd.array([[3]]), "row": nd.array([1, 2, 3]), "wide": nd.ones((2, 3, 3)),
             "idx": nd.array([2, 0])}  # fmt: skip
    known |= {name + number: nd.array(values).tostype(stype) for name, stype in (("c", "csr"), ("r", "row_sparse"))
              for number, values in (("", a), ("2", b))}  # fmt: skip
    known |= {name: nd.array(b[2:]).tostype(stype) for name, stype in (("cr", "csr"), ("rr", "row_sparse"))}
    wrong = []
    for texts, stype, dtype, shape, numbers, stored in (
        ("c + c2; sp.add(c, c2); nd.elemwise_add(c, c2)", "csr", "float32", (3, 3), "1 5 2 0 0 0 4 4 6", 6),
        ("c - c2; sp.subtract(c, c2); nd.elemwise_sub(c, c2)", "csr", "float32", (3, 3), "1 -5 2 0 0 0 -10 4 -6", 6),
        ("c * c2", "csr", "float32", (3, 3), "0 0 0 0 0 0 -21 0 0", 1),
        ("c / c2", "default", "float32", (3, 3), "inf 0 inf 0 0 0 -0.428571 inf 0", None),
        ("r + r2; nd.elemwise_add(r, r2)", "row_sparse", "float32", (3, 3), "1 5 2 0 0 0 4 4 6", 2),
        ("r - r2", "row_sparse", "float32", (3, 3), "1 -5 2 0 0 0 -10 4 -6", 2),
        ("r * r2; nd.elemwise_mul(r, r2)", "row_sparse", "float32", (3, 3), "0 0 0 0 0 0 -21 0 0", 2),
        ("c + r", "default", "float32", (3, 3), "2 0 4 0 0 0 -6 8 0", None),
        ("c * r; r * c; c ** 2", "default", "float32", (3, 3), "1 0 4 0 0 0 9 16 0", None),
        ("c * d; sp.multiply(d, c); sp.multiply(c, d); nd.elemwise_mul(c, d); nd.elemwise_mul(d, c); "
         "nd.broadcast_mul(c, d)",
         "csr", "float32", (3, 3), "2 0 8 0 0 0 -24 36 0", 4),
        ("d * c; d * r", "default", "float32", (3, 3), "2 0 8 0 0 0 -24 36 0", None),
        ("r * d; nd.elemwise_mul(r, d)", "row_sparse", "float32", (3, 3), "2 0 8 0 0 0 -24 36 0", 2),
        ("r / d; sp.divide(c, d); nd.elemwise_div(c, d)",
         "default", "float32", (3, 3), "0.5 0 0.5 0 0 0 -0.375 0.444444 0", None),
        ("d / c", "default", "float32", (3, 3), "2 inf 2 inf inf inf -2.666667 2.25 inf", None),
        ("c + d; d + r; sp.add(c, d); nd.add_n(c, d)", "default", "float32", (3, 3), "3 3 6 5 6 7 5 13 1", None),
        ("c * v; nd.broadcast_mul(c, v)", "csr", "float32", (3, 3), "2 0 8 0 0 0 -6 12 0", 4),
        ("c * col", "csr", "float32", (3, 3), "2 0 4 0 0 0 -12 16 0", 4),
        ("c / v", "csr", "float32", (3, 3), "0.5 0 0.5 0 0 0 -1.5 1.333333 0", 4),
        ("c / col; nd.broadcast_div(c, col)", "csr", "float32", (3, 3), "0.5 0 1 0 0 0 -0.75 1 0", 4),
        ("c * one; c * 3; 3 * c; sp.multiply(c, 3); sp.multiply(3, c)",
         "csr", "float32", (3, 3), "3 0 6 0 0 0 -9 12 0", 4),
        ("v * c; r * v", "default", "float32", (3, 3), "2 0 8 0 0 0 -6 12 0", None),
        ("c + v; nd.broadcast_add(c, v)", "default", "float32", (3, 3), "3 3 6 2 3 4 -1 7 4", None),
        ("c + 0; c[:]; c.astype('float32', copy=False); sp.array(c); sp.csr_matrix(A); "
         "sp.csr_matrix(A.tolist(), shape=(3, 3)); c.copy()",
         "csr", "float32", (3, 3), "1 0 2 0 0 0 -3 4 0", 4),
        ("c + 1", "default", "float32", (3, 3), "2 1 3 1 1 1 -2 5 1", None),
        ("1 - c", "default", "float32", (3, 3), "0 1 -1 1 1 1 4 -3 1", None),
        ("c / 2", "csr", "float32", (3, 3), "0.5 0 1 0 0 0 -1.5 2 0", 4),
        ("2 / c", "default", "float32", (3, 3), "2 inf 1 inf inf inf -0.666667 0.5 inf", None),
        ("r * 3", "row_sparse", "float32", (3, 3), "3 0 6 0 0 0 -9 12 0", 2),
        ("r + 0; sp.array(r)", "row_sparse", "float32", (3, 3), "1 0 2 0 0 0 -3 4 0", 2),
        ("r / 4", "row_sparse", "float32", (3, 3), "0.25 0 0.5 0 0 0 -0.75 1 0", 2),
        ("nd.take(c, idx)", "csr", "float32", (2, 3), "-3 4 0 1 0 2", 4),
        ("nd.take(c, idx, axis=1)", "default", "float32", (3, 2), "2 1 0 0 0 -3", None),
        ("nd.concat(c, c2, dim=0)", "csr", "float32", (6, 3), "1 0 2 0 0 0 -3 4 0 0 5 0 0 0 0 7 0 6", 7),
        ("nd.concat(c, c2, dim=1)", "default", "float32", (3, 6), "1 0 2 0 5 0 0 0 0 0 0 0 -3 4 0 7 0 6", None),
        ("nd.concat(r, r2, dim=0)", "default", "float32", (6, 3), "1 0 2 0 0 0 -3 4 0 0 5 0 0 0 0 7 0 6", None),
        ("nd.add_n(r, r2, r)", "row_sparse", "float32", (3, 3), "2 5 4 0 0 0 1 8 6", 2),
        ("nd.add_n(c, c2)", "default", "float32", (3, 3), "1 5 2 0 0 0 4 4 6", None),
        ("nd.slice(c, begin=(1, ), end=(3, )); c[1:3]", "csr", "float32", (2, 3), "0 0 0 -3 4 0", 2),
        ("nd.slice(c, begin=(0, 1), end=(3, 3))", "csr", "float32", (3, 2), "0 2 0 0 4 0", 2),
        ("nd.slice(r, begin=(1, ), end=(3, ))", "default", "float32", (2, 3), "0 0 0 -3 4 0", None),
        ("c[-1]", "csr", "float32", (1, 3), "-3 4 0", 2),
        ("nd._internal._square_sum(r, axis=1, keepdims=True)", "row_sparse", "float32", (3, 1), "5 0 25", 2),
        ("nd._internal._square_sum(r, axis=1)", "default", "float32", (3,), "5 0 25", None),
        ("nd._internal._square_sum(r, axis=0)", "default", "float32", (3,), "10 16 4", None),
        ("nd._internal._square_sum(r, axis=0, keepdims=True)", "default", "float32", (1, 3), "10 16 4", None),
        ("nd.zeros_like(c)", "csr", "float32", (3, 3), "0 0 0 0 0 0 0 0 0", 0),
        ("nd.zeros_like(r)", "row_sparse", "float32", (3, 3), "0 0 0 0 0 0 0 0 0", 0),
        ("nd.ones_like(c)", "default", "float32", (3, 3), "1 1 1 1 1 1 1 1 1", None),
        ("nd.clip(c, -1, 2)", "csr", "float32", (3, 3), "1 0 2 0 0 0 -1 2 0", 4),
        ("nd.clip(r, 0, 2)", "row_sparse", "float32", (3, 3), "1 0 2 0 0 0 0 2 0", 2),
        ("nd.sum(c, axis=0)", "default", "float32", (3,), "-2 4 2", None),
        ("nd.sum(c, axis=1)", "default", "float32", (3,), "3 0 1", None),
        ("nd.square(c)", "csr", "float32", (3, 3), "1 0 4 0 0 0 9 16 0", 4),
        ("nd.cast_storage(c, stype='default'); c.tostype('default')",
         "default", "float32", (3, 3), "1 0 2 0 0 0 -3 4 0", None),
        ("nd.cast_storage(d, stype='csr')", "csr", "float32", (3, 3), "2 3 4 5 6 7 8 9 1", 9),
        ("nd.cast_storage(d, stype='row_sparse')", "row_sparse", "float32", (3, 3), "2 3 4 5 6 7 8 9 1", 3),
        ("nd.dot(c, d)", "default", "float32", (3, 3), "18 21 6 0 0 0 14 15 16", None),
        ("nd.dot(c, d, transpose_a=True)", "row_sparse", "float32", (3, 3), "-22 -24 1 32 36 4 4 6 8", 3),
        ("nd.dot(d, c)", "csr", "float32", (3, 3), "-10 16 4 -16 28 10 5 4 16", 9),
        ("nd.dot(c, r2)", "default", "float32", (3, 3), "14 5 12 0 0 0 0 -15 0", None),
        ("nd.dot(c, r2, transpose_a=True)", "row_sparse", "float32", (3, 3), "-21 5 -18 28 0 24 0 10 0", 3),
        ("c.astype('float64'); sp.array(c, dtype='float64'); sp.csr_matrix(c, dtype='float64')",
         "csr", "float64", (3, 3), "1 0 2 0 0 0 -3 4 0", 4),
        ("r.astype('int32')", "row_sparse", "int32", (3, 3), "1 0 2 0 0 0 -3 4 0", 2),
        ("sp.retain(r, nd.array([2, 1]))", "row_sparse", "float32", (3, 3), "0 0 0 0 0 0 -3 4 0", 2),
        ("sp.retain(r, nd.array([0]))", "row_sparse", "float32", (3, 3), "1 0 2 0 0 0 0 0 0", 1),
        ("sp.array(r, dtype='float16')", "row_sparse", "float16", (3, 3), "1 0 2 0 0 0 -3 4 0", 2),
        ("sp.csr_matrix((2, 3), dtype='int32')", "csr", "int32", (2, 3), "0 0 0 0 0 0", 0),
        ("sp.row_sparse_array((2, 3), dtype='int32')", "row_sparse", "int32", (2, 3), "0 0 0 0 0 0", 0),
        ("sp.row_sparse_array((2, 3, 4))",
         "row_sparse", "float32", (2, 3, 4), "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0", 0),
        ("sp.zeros('csr', (2, 3), dtype='float64')", "csr", "float64", (2, 3), "0 0 0 0 0 0", 0),
        ("sp.zeros('default', (2, 3), dtype='int32')", "default", "int32", (2, 3), "0 0 0 0 0 0", None),
        ("sp.zeros('row_sparse', (2, 3))", "row_sparse", "float32", (2, 3), "0 0 0 0 0 0", 0),
        ("c == 0", "default", "float32", (3, 3), "0 1 0 1 1 1 0 0 1", None),
        ("c != 0", "csr", "float32", (3, 3), "1 0 1 0 0 0 1 1 0", 4),
        ("c > 0", "csr", "float32", (3, 3), "1 0 1 0 0 0 0 1 0", 4),
        ("c >= 0", "default", "float32", (3, 3), "1 1 1 1 1 1 0 1 1", None),
        ("c < 0", "csr", "float32", (3, 3), "0 0 0 0 0 0 1 0 0", 4),
        ("c <= 1", "default", "float32", (3, 3), "1 1 0 1 1 1 1 0 1", None),
        ("c == c2", "default", "float32", (3, 3), "0 0 0 1 1 1 0 0 0", None),
        ("wide * r", "default", "float32", (2, 3, 3), "1 0 2 0 0 0 -3 4 0 1 0 2 0 0 0 -3 4 0", None),
        ("row * c", "default", "float32", (3, 3), "1 0 6 0 0 0 -3 8 0", None),
        ("c + row", "default", "float32", (3, 3), "2 2 5 1 2 3 -2 6 3", None),
        ("r - row", "default", "float32", (3, 3), "0 -2 -1 -1 -2 -3 -4 2 -3", None),
        ("nd.maximum(c, 0)", "default", "float32", (3, 3), "1 0 2 0 0 0 0 4 0", None),
        ("nd.sqrt(nd.abs(c))", "csr", "float32", (3, 3), "1 0 1.414214 0 0 0 1.732051 2 0", 4),
        ("-c", "csr", "float32", (3, 3), "-1 0 -2 0 0 0 3 -4 0", 4),
        ("abs(r)", "row_sparse", "float32", (3, 3), "1 0 2 0 0 0 3 4 0", 2),
        ("c.sum()", "default", "float32", (1,), "4", None),
        ("nd.norm(c)", "default", "float32", (1,), "5.477226", None),
        ("cr * c; c * cr", "default", "float32", (3, 3), "7 0 12 0 0 0 -21 0 0", None),
        ("rr + r", "default", "float32", (3, 3), "8 0 8 7 0 6 4 4 6", None),
        ("nd.elemwise_mul(c, r); nd.elemwise_mul(r, c)", "default", "float32", (3, 3), "1 0 4 0 0 0 9 16 0", None),
        ("sp.csr_matrix((nd.array([1, 2]), nd.array([0, 2]), nd.array([0, 1, 2])), shape=(2, 3))",
         "csr", "float32", (2, 3), "1 0 0 0 0 2", 2),
        ("sp.row_sparse_array((nd.array([[1, 2]]), nd.array([1])), shape=(3, 2))",
         "row_sparse", "float32", (3, 2), "0 0 1 2 0 0", 1),
        ("sp.row_sparse_array(([[1, 2]], [1]), shape=(3, 2), dtype='float64')", "row_sparse", "float64", (3, 2), "0 0 1 2 0 0", 1),
        ("nd.take(r, idx)", "default", "float32", (2, 3), "-3 4 0 1 0 2", None),
        ("nd.concat(c, d, dim=0)", "default", "float32", (6, 3), "1 0 2 0 0 0 -3 4 0 2 3 4 5 6 7 8 9 1", None),
        ("nd.add_n(r, d)", "default", "float32", (3, 3), "3 3 6 5 6 7 5 13 1", None),
        ("nd.clip(c, 0, 0)", "csr", "float32", (3, 3), "0 0 0 0 0 0 0 0 0", 4),
        ("nd.clip(r, -1, 0)", "row_sparse", "float32", (3, 3), "0 0 0 0 0 0 -1 0 0", 2),
        ("sp.subtract(d, c)", "default", "float32", (3, 3), "1 3 2 5 6 7 11 5 1", None),
        ("sp.add(c, 2)", "default", "float32", (3, 3), "3 2 4 2 2 2 -1 6 2", None),
        # which MXNet refuses, or ends the process at, or takes the wrong way round
        ("cr * d; nd.broadcast_mul(cr, d)", "default", "float32", (3, 3), "14 0 24 35 0 42 56 0 6", None),
        ("cr / d", "default", "float32", (3, 3), "3.5 0 1.5 1.4 0 0.857143 0.875 0 6", None),
        ("c * wide; nd.broadcast_mul(c, wide)", "default", "float32", (2, 3, 3), "1 0 2 0 0 0 -3 4 0 " * 2, None),
        ("wide * c; wide * r; nd.broadcast_mul(wide, r)",
         "default", "float32", (2, 3, 3), "1 0 2 0 0 0 -3 4 0 " * 2, None),
        ("sp.csr_matrix((nd.array([1, 2]), (nd.array([0, 1]), nd.array([2, 0]))), shape=(2, 3))",
         "csr", "float32", (2, 3), "0 0 1 2 0 0", 2),
        ("nd.take(c, nd.array([[0, 2]]))", "default", "float32", (1, 2, 3), "1 0 2 -3 4 0", None),
        ("c[0:3:1]; c[::1]", "csr", "float32", (3, 3), "1 0 2 0 0 0 -3 4 0", 4),
        ("c[2:1]", "csr", "float32", (0, 3), "", 0),
        ("sp.subtract(2, c)", "default", "float32", (3, 3), "1 2 0 2 2 2 5 -2 2", None),
    ):  # fmt: skip
        for text in texts.split("; "):
            got = eval(text, dict(known))
            values = np.nan_to_num(got.asnumpy().astype(np.float64).ravel(), posinf=np.inf, neginf=-np.inf)
            same = np.allclose(values, [float(n) for n in numbers.split()], rtol=1e-5, atol=1e-6)
            kept = None if got.stype == "default" else len(got.data)
            if not same or (got.stype, np.dtype(got.dtype).name, got.shape, kept) != (stype, dtype, shape, stored):
                wrong.append((text, got.stype, np.dtype(got.dtype).name, got.shape, kept, values.tolist()))
            for name, values in (("c", a), ("r", a), ("c2", b), ("r2", b)):
                assert (known[name].asnumpy() == values).all(), text
    assert not wrong
    for text, said in (
        ("sp.csr_matrix(A, shape=(3, 4))", "Shape mismatch"), ("sp.row_sparse_array(A, shape=(3, 4))", "Shape mismatch"),
        ("sp.csr_matrix((2, 3), shape=(2, 4))", "Shape mismatch"), ("sp.row_sparse_array((2, 3), shape=(2, 4))", "Shape mismatch"),
        ("sp.csr_matrix(c, shape=(3, 4))", "Shape mismatch"), ("sp.csr_matrix(r)", "Unexpected input type"),
        ("sp.row_sparse_array(c)", "Unexpected input type"), ("sp.csr_matrix((1, 2, 3, 4))", "Unexpected length"),
        ("c.tostype('row_sparse')", "not supported"), ("r.tostype('csr')", "not supported"), ("c[::2]", "continuous slicing"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=said):
            eval(text, dict(known))
    for text in ("c + 'x'", "'x' * r", "c * None", "sp.add(c, [1])", "sp.multiply('x', c)"):
        with pytest.raises(TypeError, match="not supported"):
            eval(text, dict(known))


def test_sparse_arrays_elsewhere_and_of_others() -> None:
    """On another device, as another dtype, of SciPy's matrices and of parts of what stands twice."""
    a = np.array(DENSE, np.float32)
    csr, rows = nd.array(a).tostype("csr"), nd.array(a).tostype("row_sparse")

    class Foreign:
        """As SciPy has a matrix of coordinates."""

        def tocsr(self):
            parts = {"data": np.array([1.5, 2, 3]), "indices": np.array([2, 0, 1]), "indptr": np.array([0, 1, 1, 3])}
            return type("Rows", (), {**parts, "shape": (3, 4)})()

    there = mx.cpu(2)
    for made in (
        nd.sparse.csr_matrix(csr, ctx=there), nd.sparse.row_sparse_array(rows, ctx=there), nd.sparse.array(csr, ctx=there),
        nd.sparse.array(rows, ctx=there), nd.sparse.zeros("csr", (2, 3), ctx=there), nd.sparse.csr_matrix((2, 3), ctx=there),
        nd.sparse.row_sparse_array((2, 3), ctx=there), nd.sparse.zeros("default", (2,), ctx=there),
        nd.sparse.csr_matrix(a, ctx=there),
        nd.sparse.row_sparse_array(a, ctx=there), nd.sparse.array(Foreign(), ctx=there), nd.sparse.csr_matrix(Foreign(), ctx=there),
        nd.sparse.csr_matrix(nd.sparse.csr_matrix(csr, ctx=there)), nd.sparse.array(nd.sparse.array(rows, ctx=there)),
    ):  # fmt: skip
        assert made.context == there
        assert made.copy().context == made.tostype("default").context == (made * 2).context == there
    found = nd.sparse.csr_matrix(Foreign(), dtype="float64")
    assert found.shape == (3, 4) and found.dtype is np.float64
    assert found.asnumpy().tolist() == [[0, 0, 1.5, 0], [0, 0, 0, 0], [2, 3, 0, 0]]
    assert nd.sparse.csr_matrix(Foreign(), shape=(3, 5)).shape == (3, 5)
    assert csr.astype("float32", copy=False) is csr and csr.astype("float32") is not csr
    assert rows.astype("float64", copy=False).dtype is np.float64
    for wrong in (nd.array(a), a.tolist(), a):
        with pytest.raises((ValueError, TypeError), match=r"sparse\.array: got"):
            nd.sparse.array(wrong)
    with pytest.raises(mx.MXNetError, match="retain: got a csr array"):
        nd.sparse.retain(csr, nd.array([0]))


def test_arrays_of_fewer_axes_have_gradients_beside_sparse_ones() -> None:
    sparse, dense = np.array(DENSE, np.float32), nd.array([2, 3, 4])
    dense.attach_grad()
    for stype, turned in itertools.product(("csr", "row_sparse"), (False, True)):
        other = nd.array(sparse).tostype(stype)
        with autograd.record():
            (dense * other if turned else other * dense).backward()
        np.testing.assert_array_equal(dense.grad.asnumpy(), sparse.sum(0))
        dense.grad[:] = 0


def test_rows_that_are_retained_pass_gradients_on() -> None:
    x = nd.array(DENSE).tostype("row_sparse")
    x.attach_grad()
    with autograd.record():
        y = nd.sparse.retain(x, nd.array([2, 1])) * 3
        z = y * y
    z.backward()
    assert x.grad.asnumpy().tolist() == [[0, 0, 0], [0, 0, 0], [-54, 72, 0]]


def test_several_sparse_targets_and_states() -> None:
    """Each target gets its result; a state that is sparse holds what an update has left in it."""
    x = nd.array([[1, 0, 2, 0], [0, 0, 0, 3]])
    targets = [nd.sparse.zeros("csr", (2, 2)), nd.sparse.zeros("row_sparse", (2, 2))]
    assert nd.split(x, num_outputs=2, axis=1, out=targets) == targets
    assert [t.asnumpy().tolist() for t in targets] == [[[1, 0], [0, 0]], [[2, 0], [0, 3]]]
    mixed = [nd.zeros((2, 2)), nd.sparse.zeros("csr", (2, 2))]
    nd.split(x, num_outputs=2, axis=1, out=tuple(mixed))
    assert [t.asnumpy().tolist() for t in mixed] == [[[1, 0], [0, 0]], [[2, 0], [0, 3]]]
    weight, grad = nd.array([[1.0, 2], [3, 4]]), nd.array([[10.0, 0], [0, 0]])
    state = nd.sparse.zeros("row_sparse", (2, 2))
    nd.sgd_mom_update(weight, grad, state, lr=0.5, momentum=0.5, out=weight)
    nd.sgd_mom_update(weight, grad, state, lr=0.5, momentum=0.5, out=weight)
    assert weight.asnumpy().tolist() == [[1 - 5 - 7.5, 2], [3, 4]]
    assert state.stype == "row_sparse" and state.asnumpy().tolist() == [[-7.5, 0], [0, 0]]


def test_what_a_sparse_array_says_of_its_parts_and_room_for_gradients() -> None:
    for stype, count in (("csr", 2), ("row_sparse", 1)):
        x = nd.array(DENSE).tostype(stype)
        assert (x._num_aux, x._aux_types, x._aux_type(count - 1)) == (count, [np.int64] * count, np.int64)
        assert x._data().asnumpy().tolist() == x.data.asnumpy().tolist()
        for request_, asked, want in (
            ("write", None, 3),
            ("add", None, 6),
            ("null", None, None),
            ("write", "default", 3),
        ):
            x.attach_grad(request_, *([] if asked is None else [asked]))
            for _ in range(2):
                with autograd.record():
                    y = (x * 3).sum()
                y.backward()
            if want is None:
                assert x.grad is None
            else:
                assert x.grad.stype == (asked or stype) and x.grad.asnumpy().tolist() == [[want] * 3] * 3


def test_arithmetic_of_all_kinds_of_arrays() -> None:
    """The kinds of MXNet 1.9.1's results by function, both sides and whether shapes are the same; all others are dense."""
    same, alone = (
        ("csr", "row_sparse"),
        (("csr", "default"), ("row_sparse", "default"), ("default", "csr"), ("default", "row_sparse")),
    )
    kept = {
        (way, name, k, k, True): k
        for way in ("sparse", "operator")
        for name in ("add", "subtract", "multiply")
        for k in same
    }
    kept |= {("sparse", "multiply", one, other, True): one if other == "default" else other for one, other in alone}
    kept |= {("operator", "multiply", one, other, True): one for one, other in alone[:2]}
    for way in ("nd", "sparse", "operator"):
        kept |= {(way, name, "csr", "default", False): "csr" for name in ("multiply", "divide")}
    kept["nd", "multiply", "csr", "default", True] = "csr"
    a, b = A[:, :3], (A - 2 * B)[:, 1:]
    ways = {
        "nd": lambda name: getattr(nd, name), "sparse": lambda name: getattr(nd.sparse, name),
        "operator": lambda name: getattr(operator, "truediv" if name == "divide" else name[:3]),
    }  # fmt: skip
    for (way, find), name in itertools.product(ways.items(), ("add", "subtract", "multiply", "divide")):
        for one, other, shape in itertools.product(
            ("default", *same), ("default", *same), (b.shape, (1, 3), (len(b), 1))
        ):
            right = b[: shape[0], : shape[1]]
            with np.errstate(all="ignore"):
                wanted = getattr(np, name)(a, right)
            found = find(name)(nd.array(a).tostype(one), nd.array(right).tostype(other))
            case = way, name, one, other, shape == b.shape
            assert found.stype == kept.get(case, "default"), case
            zeros = (found.stype != "default") & (a == 0)  # a quotient 0 / 0 that is not stored
            np.testing.assert_allclose(
                np.where(zeros, 0, found.asnumpy()), np.where(zeros, 0, wanted), 1e-6, err_msg=str(case)
            )


def test_sides_of_other_ranks_are_spread_over_the_last_axes() -> None:
    cube = np.zeros((3, 2, 4), np.float32)
    cube[1] = np.arange(8).reshape(2, 4) - 3
    sparse, row = nd.array(cube).tostype("row_sparse"), np.array([10, 0, -1, 2], np.float32)
    for function, of in ((nd.sparse.add, np.add), (nd.sparse.multiply, np.multiply), (nd.sparse.subtract, np.subtract)):
        for other in (row, row[None]):
            np.testing.assert_array_equal(function(sparse, nd.array(other)).asnumpy(), of(cube, other))
            np.testing.assert_array_equal(function(nd.array(other), sparse).asnumpy(), of(other, cube))
    kept = nd.sparse.retain(sparse, nd.array([1, 2]))
    assert kept.asnumpy().tolist() == cube.tolist() and kept.indices.asnumpy().tolist() == [1, 2]
    with pytest.raises(mx.MXNetError):
        nd.array(cube).sum().reshape(()).tostype("row_sparse")


def test_results_of_dense_arrays_are_written_to_sparse_ones() -> None:
    """As MXNet 1.9.1 does, which calls it a fallback; whatever the operator makes of zeros."""
    a = np.array(DENSE, np.float32)
    x, calls = nd.array(a), {
        "identity": (nd.identity, a), "abs": (nd.abs, abs(a)), "square": (nd.square, a * a), "exp": (nd.exp, np.exp(a)),
        "zeros_like": (nd.zeros_like, 0 * a), "clip": (lambda x, out: nd.clip(x, -1, 2, out=out), a.clip(-1, 2)),
        "_plus_scalar": (lambda x, out: nd._internal._plus_scalar(x, scalar=0, out=out), a),
        "slice": (lambda x, out: nd.slice(x, begin=(0, 0), end=(3, 3), out=out), a),
        "Concat": (lambda x, out: nd.concat(x, dim=0, out=out), a),
        "add_n": (lambda x, out: nd.add_n(x, x, out=out), 2 * a),
        "_square_sum": (lambda x, out: nd._internal._square_sum(x, axis=1, keepdims=True, out=out),
                        (a * a).sum(1, keepdims=True)),
        "elemwise_mul": (lambda x, out: nd.elemwise_mul(x, x + 1, out=out), a * (a + 1)),
        "elemwise_add": (lambda x, out: nd.elemwise_add(x, x, out=out), 2 * a),
        "broadcast_mul": (lambda x, out: nd.broadcast_mul(x, x[:1], out=out), a * a[:1]),
        "dot": (lambda x, out: nd.dot(x, x, out=out), a @ a),
    }  # fmt: skip
    for name, (call, want) in calls.items():
        for stype in ("csr", "row_sparse"):
            out = nd.sparse.zeros(stype, want.shape)
            assert call(x, out=out) is out
            assert out.stype == stype
            np.testing.assert_allclose(out.asnumpy(), want, rtol=1e-6, err_msg=f"{name} {stype}")


def test_numbers_that_float32_does_not_hold_are_kept() -> None:
    """However they come into a sparse array of their dtype, and out of it."""
    for dtype, number in ((np.float64, 1 + 2.0**-40), (np.int64, 2**53 + 1), (np.int32, 2**31 - 1)):
        want = np.zeros((3, 4), dtype)
        want[0, 1], want[2, 0] = number, -number
        dense, name = nd.array(want, dtype=dtype), np.dtype(dtype).name
        values, places = np.array([number, -number], dtype), ([0, 2], [1, 0])
        csr, rows = dense.tostype("csr"), dense.tostype("row_sparse")
        made = {
            "tostype": (csr, rows),
            "of an array": (nd.sparse.csr_matrix(want), nd.sparse.row_sparse_array(want)),
            "of lists": (
                nd.sparse.csr_matrix(want.tolist(), dtype=dtype),
                nd.sparse.row_sparse_array(want.tolist(), dtype=name),
            ),
            "of parts": (
                nd.sparse.csr_matrix((values, [1, 0], [0, 1, 1, 2]), shape=(3, 4)),
                nd.sparse.row_sparse_array((want[[0, 2]], [0, 2]), shape=(3, 4)),
            ),
            "of places": (nd.sparse.csr_matrix((values, places), shape=(3, 4)), rows.copy()),
            "again": (nd.sparse.array(csr), nd.sparse.array(rows)),
            "cast": (csr.astype(name), rows.astype(dtype)),
            "pickled": tuple(pickle.loads(pickle.dumps(x)) for x in (csr, rows)),
        }
        for way, write in {
            "= NumPy": lambda x, want=want: x.__setitem__(slice(None), want),
            "= dense": lambda x, dense=dense: x.__setitem__(slice(None), dense),
            "copyto": lambda x, dense=dense: dense.copyto(x),
            "out": lambda x, dense=dense: nd.identity(dense, out=x),
        }.items():
            made[way] = tuple(nd.sparse.zeros(stype, (3, 4), dtype=dtype) for stype in ("csr", "row_sparse"))
            for x in made[way]:
                write(x)
        for way, pair in made.items():
            for x, stype in zip(pair, ("csr", "row_sparse"), strict=True):
                same(x, want, stype, f"{way} {name}")
                same(x.tostype("default"), want, "default", f"{way} {name} dense")
                assert x.dtype is dtype and x.data.dtype is dtype, f"{way} {name}"
        filled = nd.sparse.zeros("row_sparse", (2, 3), dtype=dtype)
        filled[:] = number
        same(filled, np.full((2, 3), number, dtype), "row_sparse", f"a number {name}")


def test_straight_through_and_identities_keep_what_is_stored():
    """As MXNet 1.9.1 stores them; MakeLoss it makes dense."""
    dense = nd.array([[0, 1.4], [0, 0]])
    for stype in ("csr", "row_sparse"):
        x = dense.tostype(stype)
        c = nd.contrib
        for y in (c.round_ste(x), c.sign_ste(x), c.gradientmultiplier(x, scalar=3.0), nd.make_loss(x), nd.identity(x)):
            assert y.stype == stype and np.count_nonzero(y.asnumpy()) == 1
        assert nd.MakeLoss(x).stype == nd.softsign(x).stype == nd.exp(x).stype == "default"
        assert nd.sign(x).indices.asnumpy().tolist() == x.indices.asnumpy().tolist()


def test_what_stays_sparse(monkeypatch) -> None:
    """No dense array is made of a sparse one by what MXNet computes in the stored places, nor by its gradients and updates."""

    def refuse(parts: object) -> None:
        raise AssertionError(f"{type(parts).__name__} was made dense")

    rng = np.random.default_rng(3)
    values = np.where(rng.uniform(size=(6, 5)) < 0.4, rng.uniform(1, 2, (6, 5)), 0).astype("float32")
    other = np.where(rng.uniform(size=(6, 5)) < 0.4, rng.uniform(1, 2, (6, 5)), 0).astype("float32")
    values[2] = other[4] = 0
    wide, tall = rng.uniform(-1, 1, (5, 3)).astype("float32"), rng.uniform(-1, 1, (6, 3)).astype("float32")
    a, b = (nd.array(v).tostype("csr") for v in (values, other))
    r, s = (nd.array(v).tostype("row_sparse") for v in (values, other))
    rows = nd.array(wide * (wide[:, :1] > 0)).tostype("row_sparse")
    some = nd.array(tall * (tall[:, :1] > 0)).tostype("row_sparse")
    places = nd.array([1, 4], dtype="int64")
    kept = np.zeros_like(values)
    kept[[1, 4]] = values[[1, 4]]
    embedded = nd.array([1, 3, 3, 0])
    expected = {
        "csr times dense": (lambda: nd.sparse.dot(a, nd.array(wide)), values @ wide),
        "csr times dense into an array": (
            lambda: nd.sparse.dot(a, nd.array(wide), out=nd.zeros((6, 3))),
            values @ wide,
        ),
        "csr times a vector": (lambda: nd.sparse.dot(a, nd.array(wide[:, 0])), values @ wide[:, 0]),
        "csr times rows": (lambda: nd.sparse.dot(a, rows), values @ (wide * (wide[:, :1] > 0))),
        "transposed": (lambda: nd.sparse.dot(a, nd.array(tall), transpose_a=True), values.T @ tall),
        "transposed times rows": (
            lambda: nd.sparse.dot(a, some, transpose_a=True),
            values.T @ (tall * (tall[:, :1] > 0)),
        ),
        "dense times csr": (lambda: nd.sparse.dot(nd.array(tall.T), a), tall.T @ values),
        "csr plus csr": (lambda: a + b, values + other),
        "csr minus csr": (lambda: a - b, values - other),
        "csr by csr": (lambda: a * b, values * other),
        "csr by dense": (lambda: nd.sparse.multiply(a, nd.array(other + 1)), values * (other + 1)),
        "csr by number": (lambda: a * 3, values * 3),
        "rows plus rows": (lambda: r + s, values + other),
        "rows by rows": (lambda: r * s, values * other),
        "rows by number": (lambda: r / 2, values / 2),
        "sum": (lambda: nd.add_n(r, s, r), 2 * values + other),
        "zeros": (lambda: nd.zeros_like(r), 0 * values),
        "roots": (lambda: nd.sparse.sqrt(r), np.sqrt(values)),
        "part": (lambda: a[1:4], values[1:4]),
        "retained": (lambda: r.retain(places), kept),
        "rows of a table": (lambda: nd.Embedding(embedded, r, input_dim=6, output_dim=5), values[[1, 3, 3, 0]]),
    }
    found = {}
    with monkeypatch.context() as patch:
        patch.setattr(CSR, "todense", refuse)
        dense = nd.sparse.dot(a, nd.array(tall), transpose_a=True, forward_stype="default")
        patch.setattr(RowSparse, "todense", refuse)
        for name, (run, _) in expected.items():
            found[name] = run()
        w = nd.array(wide)
        w.attach_grad(stype="row_sparse")
        with mx.autograd.record():
            y = nd.sparse.dot(a, w)
        y.backward(nd.array(tall))
        table = nd.array(values)
        table.attach_grad(stype="row_sparse")
        with mx.autograd.record():
            y = nd.Embedding(embedded, table, input_dim=6, output_dim=5, sparse_grad=True)
            y = y + nd.Embedding(embedded, table, input_dim=6, output_dim=5, sparse_grad=True)
        y.backward()
        updated = {}
        for name in ("sgd", "adam", "ftrl", "adagrad"):
            weight = r.copy() if name in ("ftrl", "adagrad") else nd.array(values)
            optimizer = mx.optimizer.create(name, learning_rate=0.1)
            optimizer.update(0, weight, table.grad, optimizer.create_state(0, weight))
            updated[name] = weight
        store, pulled = mx.kv.create("local"), nd.sparse.zeros("row_sparse", r.shape)
        store.init("r", r)
        store.row_sparse_pull("r", out=pulled, row_ids=places)
    wrong = [
        n
        for n, (_, wanted) in expected.items()
        if not np.allclose(found[n].asnumpy(), wanted, 1e-6, 1e-6)
        or found[n].stype
        != (
            "default"
            if n.startswith(("csr times", "rows of"))
            else "csr"
            if "csr" in n or n == "part"
            else "row_sparse"
        )
    ]
    assert not wrong
    assert dense.stype == "default" and np.allclose(dense.asnumpy(), values.T @ tall, 1e-6, 1e-6)
    assert w.grad.stype == table.grad.stype == "row_sparse"
    assert np.allclose(w.grad.asnumpy(), values.T @ tall, 1e-6, 1e-6)
    assert table.grad.indices.asnumpy().tolist() == [0, 1, 3]
    assert table.grad.asnumpy()[:, 0].tolist() == [2, 2, 0, 4, 0, 0]
    assert np.array_equal(pulled.asnumpy(), kept)
    for name, weight in updated.items():
        changed = (weight.asnumpy() != values).any(1)
        assert changed.tolist() == [True, True, False, True, False, False], name


def test_rows_that_are_kept_twice_or_are_not_there() -> None:
    rows = nd.sparse.row_sparse_array(([[1, 2], [3, 4.0]], [0, 5]), shape=(7, 2))
    kept = nd.sparse.retain(rows, nd.array([5, 0, 5]))
    assert kept.indices.asnumpy().tolist() == [5, 0] and kept.data.asnumpy().tolist() == [[3, 4], [1, 2]]
    with pytest.raises(mx.MXNetError, match=r"retain.*got rows 8 to 8 of 7"):
        nd.sparse.retain(rows, nd.array([8]))
    for parts in (([1.0, 2], [0, 2, 1], [0, 1, 2, 3]), ([1.0, 2, 3], [0, 5, 1], [0, 1, 2, 3])):
        with pytest.raises(mx.MXNetError):
            nd.sparse.csr_matrix(parts, shape=(3, 3))
