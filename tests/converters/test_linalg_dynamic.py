"""Linear algebra as ONNX, against the engine, with dynamic sizes, and larger than the recorded cases."""

import numpy as np
import pytest

import converters
from hybrid.core.op import Spec
from hybrid.execution.program import Program
from tests.table.goldens import run_onnx

from .test_detection_dynamic import check, graph_of

SQUARE = {"A": ("n", "m", "m")}
CASES = {
    "einsum": (
        "_npi_einsum",
        {"num_args": 2, "subscripts": "...ij,...jk->...ik"},
        {"arg0": ("n", "m", 3), "arg1": ("n", 3, "k")},
    ),
    "einsum-diagonal": ("_npi_einsum", {"num_args": 1, "subscripts": "...ii->i..."}, {"arg0": ("n", "m", "m")}),
    "tensordot": (
        "_npi_tensordot",
        {"a_axes_summed": (-1, 0), "b_axes_summed": (1, 0)},
        {"a": ("m", "n", 3), "b": ("m", 3, "k")},
    ),
    "tensordot-outer": ("_npi_tensordot_int_axes", {"axes": 0}, {"a": ("m", 2), "b": ("k",)}),
    "syrk": ("_linalg_syrk", {"alpha": 0.5}, {"A": ("n", "m", "k")}),
    **{f"makediag{i}": ("_linalg_makediag", {"offset": i}, {"A": ("n", "m")}) for i in (-1, 0, 2)},
    **{f"extractdiag{i}": ("_linalg_extractdiag", {"offset": i}, SQUARE) for i in (-1, 0, 2)},
    "sumlogdiag": ("_linalg_sumlogdiag", {}, SQUARE),
    "det": ("_linalg_det", {}, SQUARE),
    "det-single": ("_linalg_det", {}, {"A": ("m", "m")}),
}


@pytest.mark.parametrize("name, attrs, axes", CASES.values(), ids=CASES)
def test_dynamic_sizes(name, attrs, axes):
    graph = graph_of(name, attrs)
    model = converters.to_onnx(graph, {}, axes)
    for seed, sizes in enumerate([{"n": 1, "m": 4, "k": 2}, {"n": 3, "m": 5, "k": 6}]):
        rng = np.random.default_rng(seed)
        feeds = {k: rng.uniform(0.1, 1.3, [sizes.get(d, d) for d in v]).astype(np.float32) for k, v in axes.items()}
        check(graph, model, feeds)


def matrices(rng, n, m, k):
    """Well conditioned ones: symmetric, square, wide, and with triangles that are."""
    basis = np.linalg.qr(rng.standard_normal((n, m, m)))[0]
    stretched = basis * np.linspace(1, 5, m)
    rows = np.linalg.qr(rng.standard_normal((n, max(m, k), max(m, k))))[0][:, :m, :k]
    return (
        stretched @ basis.swapaxes(-1, -2),
        stretched,
        stretched @ rows,
        rng.uniform(-1, 1, (n, m, m)) / m + np.eye(m),
    )


EVEN, SKEW, WIDE, RIGHT = {"A": ("n", "m", "m")}, {"A": ("n", "m", "m")}, {"A": ("n", 4, "k")}, ("n", "m", "k")
SOLVED = {
    "potrf": ("_linalg_potrf", {}, EVEN, 0),
    "potri": ("_linalg_potri", {}, EVEN, 0),
    "inverse": ("_linalg_inverse", {}, SKEW, 1),
    "slogdet": ("_linalg_slogdet", {}, SKEW, 1),
    "syevd": ("_linalg_syevd", {}, EVEN, 0),
    "gelqf": ("_linalg_gelqf", {}, WIDE, 2),
    **{
        f"trsm-{transpose}{rightside}{lower}": (
            "_linalg_trsm",
            {"transpose": transpose, "rightside": rightside, "lower": lower, "alpha": 0.5},
            {"A": ("n", "m", "m"), "B": ("n", "k", "m") if rightside else ("n", "m", "k")},
            3,
        )
        for transpose in (0, 1)
        for rightside in (0, 1)
        for lower in (0, 1)
    },
    "cholesky": ("_npi_cholesky", {}, EVEN, 0),
    "solve": ("_npi_solve", {}, {"A": ("n", "m", "m"), "B": ("n", "m", "k")}, 1),
    "solve-vectors": ("_npi_solve", {}, {"A": ("n", "m", "m"), "B": ("n", "m")}, 1),
    "eigh": ("_npi_eigh", {"UPLO": "U"}, EVEN, 0),
    "eigvalsh": ("_npi_eigvalsh", {}, EVEN, 0),
    "svd": ("_npi_svd", {}, {"A": ("n", "m", "k")}, 2),
    "pinv": ("_npi_pinv_scalar_rcond", {"rcond": 1e-6}, {"A": ("n", 4, 7)}, 2),
    "norm-nuclear": ("_npi_norm", {"axis": (1, 2), "flag": 2}, {"data": ("n", 4, 7)}, 2),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name, attrs, axes, which", SOLVED.values(), ids=SOLVED)
def test_equations_and_decompositions(name, attrs, axes, which, dtype):
    """Errors of N = 11 are below 64 epsilons of the result: conditions are at most 10."""
    graph = graph_of(name, attrs)
    model = converters.to_onnx(graph, {}, {k: Spec(v, np.dtype(dtype)) for k, v in axes.items()})
    for seed, sizes in enumerate([{"n": 1, "m": 4, "k": 5}, {"n": 3, "m": 11, "k": 12}]):
        rng = np.random.default_rng(seed)
        first, *others = axes.items()
        rows, columns = (sizes.get(d, d) for d in first[1][-2:])
        made = matrices(rng, sizes["n"], rows, columns)[which]
        feeds = {first[0]: made.astype(dtype)}
        feeds |= {k: rng.uniform(-1, 1, [sizes.get(d, d) for d in v]).astype(dtype) for k, v in others}
        for got, want in zip(run_onnx(model, feeds), Program(graph).run(feeds), strict=True):
            assert got.dtype == want.dtype
            np.testing.assert_allclose(got, want, rtol=0, atol=64 * np.finfo(dtype).eps * max(1, np.abs(want).max()))


def test_what_has_no_answer_is_no_number():
    for name, matrix in (("_linalg_potrf", -np.eye(3)), ("_linalg_inverse", np.ones((3, 3)))):
        graph = graph_of(name, {})
        feeds = {"A": matrix.astype(np.float32)}
        (got,) = run_onnx(converters.to_onnx(graph, {}, feeds), feeds)
        assert not np.all(np.isfinite(got))


def test_equal_eigenvalues_have_some_orthonormal_basis():
    graph = graph_of("_npi_eigh", {})
    basis = np.linalg.qr(np.random.default_rng(0).standard_normal((6, 6)))[0]
    even = (basis * [1, 1, 1, 2, 2, 5]) @ basis.T
    feeds = {"A": (even + even.T) / 2}
    values, vectors = run_onnx(converters.to_onnx(graph, {}, feeds), feeds)
    np.testing.assert_allclose(values, [1, 1, 1, 2, 2, 5], rtol=1e-14)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(6), atol=1e-14)
    np.testing.assert_allclose((vectors * values) @ vectors.T, even, atol=1e-14)


@pytest.mark.parametrize("scale", [1e-25, 1e25])
def test_squares_neither_overflow_nor_vanish(scale):
    rng = np.random.default_rng(0)
    for name in ("_linalg_gelqf", "_npi_svd"):
        graph = graph_of(name, {})
        feeds = {"A": (rng.uniform(-1, 1, (3, 5)) * scale).astype(np.float32)}
        for got, want in zip(run_onnx(converters.to_onnx(graph, {}, feeds), feeds), Program(graph).run(feeds)):
            np.testing.assert_allclose(got, want, rtol=0, atol=1e-5 * np.abs(want).max())


def test_sums_of_nothing_are_refused():
    """onnxruntime's Einsum divides by their size, which ends the process. A product without elements is stored."""
    graph = graph_of("_np_dot", {})
    with pytest.raises(converters.UnsupportedModel, match="a product of nothing"):
        converters.to_onnx(graph, {}, {"a": np.zeros((2, 3, 0)), "b": np.zeros((5, 0, 6))})
    feeds = {"a": np.zeros((2, 3, 4)), "b": np.zeros((5, 4, 0))}
    (got,) = run_onnx(converters.to_onnx(graph, {}, feeds), feeds)
    assert got.shape == (2, 3, 5, 0)
