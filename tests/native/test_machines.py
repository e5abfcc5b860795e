"""Linear models, support vector machines and tables of ai.onnx.ml compiled, beside NumPy's rules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hybrid as mx
from hybrid import native
from hybrid.core.error import MXNetError
from hybrid.core.examples import Maker
from hybrid.core.op import Op, lookup
from hybrid.execution.program import Program
from hybrid.ir.graph import Entry, Graph, Node

pytestmark = pytest.mark.skipif(not native.LEVELS, reason="the compiled part is not there")

FEATURES = 5
KERNELS = ("LINEAR", "POLY", "RBF", "SIGMOID")
DTYPES = ("float32", "float64", "int32", "int64")


def graph_of(op: Op, count: int = 1) -> Graph:
    node = Node(op, "node", [Entry(Node(None, f"x{i}")) for i in range(count)])
    return Graph([Entry(node, i) for i in range(node.num_outputs)])


def both(op: Op, *arrays: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Results by NumPy, and by the compiled part, which has a kernel for every step."""
    graph = graph_of(op, len(arrays))
    feeds = {f"x{i}": a for i, a in enumerate(arrays)}
    program = Program(graph)
    found = program.run(feeds)
    assert program._specialize(list(arrays), {}).bound.fallbacks() == []
    want = Program(graph, native=False).run(feeds)
    assert [(a.shape, a.dtype) for a in found] == [(a.shape, a.dtype) for a in want]
    return want, found


def same_model(op: Op, x: np.ndarray) -> None:
    """Labels are the same, scores nearly so."""
    for want, got in zip(*both(op, x)):
        if want.dtype == np.int64:
            np.testing.assert_array_equal(got, want)
        else:
            np.testing.assert_allclose(got, want, rtol=3e-5, atol=3e-6)


def floats(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.normal(size=shape).astype(np.float32)


def machines(rng: np.random.Generator, per: list[int], kernel: str) -> dict[str, Any]:
    """Attributes of machines for every pair of classes with so many vectors."""
    count, total = len(per), sum(per)
    return {
        "vectors_per_class": np.array(per, np.int64),
        "classlabels_ints": np.array([7, -3, 5, 0][:count]),
        "coefficients": floats(rng, (count - 1) * total),
        "support_vectors": floats(rng, total * FEATURES),
        "rho": floats(rng, count * (count - 1) // 2),
        "kernel_type": kernel,
        "kernel_params": np.array([0.3, 0.25, 3], np.float32),
    }


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("per", [[3, 2], [20, 13, 9], [4, 0, 1, 17]])
def test_support_vector_classifiers(per: list[int], kernel: str) -> None:
    pairs = len(per) * (len(per) - 1) // 2
    for seed in range(2):
        rng = np.random.default_rng(seed)
        attrs = machines(rng, per, kernel)
        for transform in ("NONE", "SOFTMAX", "LOGISTIC"):
            bound = lookup("_onnx_ml_SVMClassifier").bind(post_transform=transform, **attrs)
            same_model(bound, floats(rng, (1, 7, 300)[seed], FEATURES))
        rates = {"prob_a": -np.abs(floats(rng, pairs)), "prob_b": floats(rng, pairs)}
        same_model(lookup("_onnx_ml_SVMClassifier").bind(**attrs, **rates), floats(rng, 40, FEATURES))


@pytest.mark.parametrize("kernel", KERNELS)
def test_support_vector_regressors(kernel: str) -> None:
    rng = np.random.default_rng(4)
    for count in (1, 16, 37):
        attrs: dict[str, Any] = {"n_supports": count, "coefficients": floats(rng, count), "rho": floats(rng, 1)}
        attrs |= {"kernel_type": kernel, "kernel_params": np.array([0.3, 0.25, 2], np.float32)}
        attrs |= {"support_vectors": floats(rng, count * FEATURES)}
        for one_class in (False, True):
            op = lookup("_onnx_ml_SVMRegressor").bind(one_class=one_class, **attrs)
            same_model(op, floats(rng, 30, FEATURES))
            same_model(op, floats(rng, FEATURES))


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_of_other_dtypes_count_in_float32(dtype: str) -> None:
    rng = np.random.default_rng(5)
    x = rng.integers(-3, 4, (9, FEATURES)).astype(dtype)
    x = x + rng.uniform(size=x.shape) if dtype == "float64" else x
    same_model(lookup("_onnx_ml_SVMClassifier").bind(**machines(rng, [3, 4, 2], "RBF")), x)
    same_model(lookup("_onnx_ml_LinearRegressor").bind(coefficients=floats(rng, FEATURES)), x)


def test_machines_without_vectors_are_linear() -> None:
    rng = np.random.default_rng(6)
    weights = floats(rng, 3 * FEATURES)
    op = lookup("_onnx_ml_SVMClassifier")
    same_model(
        op.bind(classlabels_ints=np.array([4, 2, 9]), coefficients=weights, rho=floats(rng, 1)), floats(rng, 8, 5)
    )
    same_model(
        lookup("_onnx_ml_SVMRegressor").bind(coefficients=weights[:5], rho=floats(rng, 1)), floats(rng, 8, FEATURES)
    )


@pytest.mark.parametrize("transform", ["NONE", "SOFTMAX", "LOGISTIC"])
@pytest.mark.parametrize(("rows", "labels"), [(3, 3), (2, 2), (1, 2), (1, 1)])
def test_linear_models(rows: int, labels: int, transform: str) -> None:
    rng = np.random.default_rng(rows)
    attrs: dict[str, Any] = {"coefficients": floats(rng, rows * FEATURES), "post_transform": transform}
    names = np.array([7, -3, 5][:labels])
    for offsets in ({}, {"intercepts": floats(rng, rows)}):
        if offsets or rows == 1 == labels or rows > 1:
            op = lookup("_onnx_ml_LinearClassifier").bind(classlabels_ints=names, **attrs, **offsets)
            same_model(op, floats(rng, 50, FEATURES))
        same_model(lookup("_onnx_ml_LinearRegressor").bind(targets=rows, **attrs, **offsets), floats(rng, 50, FEATURES))


def test_what_is_no_number_stays_so() -> None:
    """NaN and infinities of one row reach its scores and no others."""
    rng = np.random.default_rng(8)
    x = floats(rng, 6, FEATURES)
    x[1, 2], x[3, 0] = np.nan, np.inf
    rates = {"prob_a": -np.abs(floats(rng, 3)), "prob_b": floats(rng, 3)}
    for kernel in ("RBF", "LINEAR"):
        attrs = machines(rng, [4, 3, 2], kernel)
        for more in ({}, rates):
            same_model(lookup("_onnx_ml_SVMClassifier").bind(**attrs, **more), x)


@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 16, 7), (40, 17, 1), (5, 33, 19)])
def test_distances(shape: tuple[int, int, int]) -> None:
    rows, vectors, features = shape
    rng = np.random.default_rng(9)
    x, v = floats(rng, rows, features), floats(rng, vectors, features)
    (want,), (got,) = both(lookup("_fused_distances").bind(), x, v)
    exact = ((x[:, None].astype(np.float64) - v) ** 2).sum(2)
    np.testing.assert_allclose(got, exact, rtol=3e-6)
    np.testing.assert_allclose(got, want, rtol=3e-6)


@pytest.mark.parametrize(
    ("name", "place", "number"), [("starts", 0, -1), ("starts", 1, 3), ("starts", 3, 14), ("starts", 2, 1)]
)
def test_classes_whose_vectors_there_are_not_are_refused(name: str, place: int, number: int) -> None:
    """The operator is in no file; a kernel that was given such classes would read what is not there."""
    op, arrays = next(iter(lookup("_fused_pairs").examples(Maker(lookup("_fused_pairs")))))
    named = dict(zip(op.input_names(), (a.copy() for a in arrays)))
    named[name][place] = number
    node = Node(op, "node", [Entry(Node(None, n)) for n in named])
    graph = Graph([Entry(node, 0), Entry(node, 1)])
    for constants in ({}, {name: named[name]}):
        program = Program(graph, constants)
        with pytest.raises(MXNetError, match=r"that there are not|wanted"):
            program.run({n: a for n, a in named.items() if n not in constants})


@pytest.mark.parametrize("dtype", DTYPES)
def test_places(dtype: str) -> None:
    """The last of equal keys counts, and none beside them; NaN is one, the zeros of both signs are the same."""
    keys = np.array([3, 0, 7, 3, -2, 0, 11], dtype)
    x = np.array([[0, 3, 4, -2], [7, 11, 12, -3]], dtype)
    if np.dtype(dtype).kind == "f":
        keys, x = (
            np.append(keys, np.array([np.nan, 0.5], dtype)),
            np.append(x, np.array([np.nan, -0.0, 0.5, np.inf], dtype)),
        )
    (want,), (got,) = both(lookup("_fused_places").bind(), x, keys)
    np.testing.assert_array_equal(got, want)
    assert got.reshape(-1)[:4].tolist() == [5, 3, -1, 4]
    (want,), (got,) = both(lookup("_fused_places").bind(), x[:0], keys)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("other", DTYPES)
def test_tables(other: str, dtype: str) -> None:
    rng = np.random.default_rng(10)
    x = rng.integers(0, 6, (7, 3)).astype(dtype)
    keys, values = np.array([1, 5, 3, 1], dtype), np.array([10, 20, 30, 40], other)
    op = lookup("_onnx_ml_LabelEncoder").bind(
        keys_tensor=keys, values_tensor=values, default_tensor=np.array([-1], other)
    )
    (want,), (got,) = both(op, x)
    np.testing.assert_array_equal(got, want)
    assert (got == -1).any() and (got == 40).any() and not (got == 10).any()
    op = lookup("_onnx_ml_OneHotEncoder").bind(cats_int64s=np.array([4, 0, 2]))
    for given in (x, x[0], x + np.array(0.75).astype(dtype)):
        (want,), (got,) = both(op, given)
        np.testing.assert_array_equal(got, want)


def test_what_is_missing_is_imputed() -> None:
    rng = np.random.default_rng(11)
    x = rng.integers(0, 3, (6, 4)).astype(np.float32)
    x[rng.random(x.shape) < 0.3] = np.nan
    imputer = lookup("_onnx_ml_Imputer")
    for old in (np.nan, 1.0):
        for values in (np.array([5, 6, 7, 8], np.float32), np.array([9], np.float32)):
            for dtype in ("float32", "float64"):
                op = imputer.bind(imputed_value_floats=values, replaced_value_float=old)
                (want,), (got,) = both(op, x.astype(dtype))
                np.testing.assert_array_equal(got, want)
                assert np.isnan(got).any() == (old == 1)
    whole = np.arange(12).reshape(3, 4)
    for dtype in ("int32", "int64"):
        op = imputer.bind(imputed_value_int64s=np.array([-1, -2, -3, -4]), replaced_value_int64=6)
        (want,), (got,) = both(op, whole.astype(dtype))
        np.testing.assert_array_equal(got, want)
        assert got[1, 2] == -3


def test_features_side_by_side() -> None:
    rng = np.random.default_rng(12)
    a, b = floats(rng, 3, 2), rng.integers(0, 9, (3, 4))
    for widths in ((2, 4), (1, 3), ()):
        (want,), (got,) = both(lookup("_onnx_ml_FeatureVectorizer").bind(inputdimensions=widths, num_args=2), a, b)
        np.testing.assert_array_equal(got, want)


def test_a_block_refuses_values_however_often_it_was_called() -> None:
    """Calls take a short way after the first, which leaves values that a kernel refuses to the long one."""
    x, places = mx.sym.var("x"), mx.sym.var("places")
    net = mx.gluon.SymbolBlock(mx.sym.relu(mx.sym._onnx_ml_ArrayFeatureExtractor(x, places)), [x, places])
    net.hybridize()
    data, right, wrong = mx.nd.array([[1, -2, 3]]), mx.nd.array([2, 1], dtype="int64"), mx.nd.array([3], dtype="int64")
    for _ in range(4):
        assert net(data, right).asnumpy().tolist() == [[3, 0]]
        with pytest.raises(MXNetError, match="of 3 features"):
            net(data, mx.nd.array([0, 3], dtype="int64")).asnumpy()
        with pytest.raises(MXNetError, match="of 3 features"):
            net(data, wrong).asnumpy()
    assert any(net._express.values())
