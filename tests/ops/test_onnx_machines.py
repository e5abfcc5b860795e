"""Trees, linear models and support vector machines of ai.onnx.ml with numbers that exact arithmetic tells: scores on the borders
between classes, models without labels, offsets or nodes, rows alone, and what does not go together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hybrid.core.boxed import box, unbox
from hybrid.core.error import OpError
from hybrid.core.op import lookup
from hybrid.ops.onnx import ml_tree
from tests.grouped import each

X = np.float32
OBJECT = object


def whole(*numbers: Any) -> np.ndarray:
    return np.array(numbers, np.int64)


def words(*texts: str) -> np.ndarray:
    return np.array(texts, OBJECT)


def run(name: str, x: Any, **attrs: Any) -> Any:
    """The outputs for an array, of which shapes and dtypes are those that are inferred."""
    op = lookup(f"_onnx_ml_{name}").bind(**attrs)
    found = op.compute(x)
    several = isinstance(found, tuple)
    shapes, dtypes = op.infer_shape(x.shape), op.infer_type(x.dtype)
    for y, shape, dtype in zip(found, shapes, dtypes, strict=True) if several else [(found, shapes, dtypes)]:
        assert (y.shape, y.dtype) == (shape, dtype)
    return found


# -- linear models ---------------------------------------------------------------------------------------------------------

ROWS = X([[1, 2], [2, 1], [2, 2], [-1, 3]])  # scores of (1, -1): -1, 1, 0, -4
THREE = {"coefficients": X([1, -1, 0, 1, 2, 0])}  # of the rows: (-1 2 2) (1 1 4) (0 2 4) (-4 3 -2)
CLASSIFIED = [
    # (attributes, labels, scores), one row of coefficients first
    ({"coefficients": X([1, -1])}, whole(0, 1, 0, 0), [[-1], [1], [0], [-4]]),
    ({"coefficients": X([1, -1]), "intercepts": X([])}, whole(0, 1, 0, 0), [[-1], [1], [0], [-4]]),
    ({"coefficients": X([1, -1]), "intercepts": X([0.5])}, whole(0, 1, 1, 0), [[-0.5], [1.5], [0.5], [-3.5]]),
    ({"coefficients": X([1, -1]), "post_transform": "LOGISTIC"}, whole(0, 1, 0, 0),
     1 / (1 + np.exp([[1.0], [-1], [0], [4]]))),
    ({"coefficients": X([1, -1]), "classlabels_ints": whole(7)}, whole(0, 1, 0, 0), [[-1], [1], [0], [-4]]),
    ({"coefficients": X([1, -1]), "classlabels_strings": words("x")}, words("0", "1", "0", "0"), [[-1], [1], [0], [-4]]),
    ({"coefficients": X([1, -1]), "classlabels_ints": whole(7, 5), "intercepts": X([0])}, whole(7, 5, 7, 7),
     [[2, -1], [0, 1], [1, 0], [5, -4]]),
    ({"coefficients": X([1, -1]), "classlabels_strings": words("no", "yes"), "intercepts": X([0])}, words("no", "yes", "no", "no"),
     [[2, -1], [0, 1], [1, 0], [5, -4]]),
    (THREE | {"classlabels_ints": whole(4, 8, 6)}, whole(8, 6, 6, 8), [[-1, 2, 2], [1, 1, 4], [0, 2, 4], [-4, 3, -2]]),
    (THREE | {"intercepts": X([0, 0, 3])}, whole(2, 2, 2, 1), [[-1, 2, 5], [1, 1, 7], [0, 2, 7], [-4, 3, 1]]),
    (THREE | {"intercepts": X([0, 0, 3]), "classlabels_ints": whole()}, whole(2, 2, 2, 1), [[-1, 2, 5], [1, 1, 7],
     [0, 2, 7], [-4, 3, 1]]),
]  # fmt: skip


def test_linear_classifiers_name_what_scores_say() -> None:
    for attrs, labels, scores in CLASSIFIED:
        got = run("LinearClassifier", ROWS, **attrs)
        assert got[0].tolist() == labels.tolist(), attrs
        np.testing.assert_allclose(got[1], scores, rtol=1e-6, err_msg=str(attrs))
        alone = run("LinearClassifier", ROWS[1], **attrs)
        assert alone[0].tolist() == labels[1:2].tolist()
        np.testing.assert_array_equal(alone[1], got[1][1:2])


def test_softmax_keeps_zeros_up_to_a_ten_millionth() -> None:
    for small, zero in ((1e-7, True), (-1e-7, True), (0, True), (2e-7, False), (-2e-7, False)):
        (got,) = run(
            "LinearRegressor", X([[1, 0]]), coefficients=X([small, 0, 1, 0]), targets=2, post_transform="SOFTMAX_ZERO"
        )
        first = X(small) * np.exp(-1) if zero else np.exp(X(small) - 1.0)
        np.testing.assert_allclose(got, [first / (1 + first), 1 / (1 + first)], rtol=1e-6, atol=1e-12)
    nothing = {"coefficients": X([1, -1, 2, 2, -3, 3]), "targets": 3, "post_transform": "SOFTMAX_ZERO"}
    got = run("LinearRegressor", X([[0, 0], [1, 1]]), **nothing)  # as in onnx's evaluator; onnxruntime divides by 0
    np.testing.assert_array_equal(got, [[0.5] * 3, [0, 1, 0]])
    np.testing.assert_array_equal(run("LinearRegressor", X([4, 3]), coefficients=X([1, -1]), intercepts=X([])), [[1]])


# -- support vector machines -----------------------------------------------------------------------------------------------

VECTORS = X([[1, 0], [0, 2], [1, 1]])  # products with ROWS: (1 4 3) (2 2 3) (2 4 4) (-1 6 2)
WEIGHTS = X([1, -1, 0.5])
SUPPORTED = {"support_vectors": VECTORS.ravel(), "coefficients": WEIGHTS, "n_supports": 3}


def test_support_vector_regressors() -> None:
    linear = ROWS @ VECTORS.T @ WEIGHTS  # -1.5, 1.5, 0, -6
    near = np.square(ROWS[:, None] - VECTORS).sum(2)
    for attrs, wanted in (
        ({}, linear),
        ({"rho": X([])}, linear),
        ({"rho": X([0.5])}, linear + 0.5),
        ({"post_transform": "LOGISTIC"}, 1 / (1 + np.exp(-linear))),  # which onnxruntime ignores
        ({"one_class": True}, [-1, 1, -1, -1]),  # 0 is not inside
        ({"one_class": True, "rho": X([0.25])}, [-1, 1, 1, -1]),
        ({"kernel_type": "RBF", "kernel_params": X([0.25, 7, 7])}, np.exp(-0.25 * near) @ WEIGHTS),
        ({"kernel_type": "RBF", "kernel_params": X([0.25, 7, 7, 7])}, np.exp(-0.25 * near) @ WEIGHTS),
        ({"kernel_type": "RBF"}, [0.5] * 4),
        ({"kernel_type": "RBF", "kernel_params": X([])}, [0.5] * 4),
        ({"kernel_type": "POLY", "kernel_params": X([0.5, 1, 2])}, (ROWS @ VECTORS.T / 2 + 1) ** 2 @ WEIGHTS),
        ({"kernel_type": "POLY"}, [0.5] * 4),  # anything to the power of 0
        ({"kernel_type": "SIGMOID", "kernel_params": X([0.5, -1, 2])}, np.tanh(ROWS @ VECTORS.T / 2 - 1) @ WEIGHTS),
    ):
        np.testing.assert_allclose(
            run("SVMRegressor", ROWS, **SUPPORTED, **attrs)[:, 0], wanted, rtol=1e-5, err_msg=str(attrs)
        )
        np.testing.assert_allclose(run("SVMRegressor", ROWS[3], **SUPPORTED, **attrs)[:, 0], wanted[3:], rtol=1e-5)
    np.testing.assert_array_equal(run("SVMRegressor", ROWS, coefficients=X([1, -1]), rho=X([2]))[:, 0], [1, 3, 2, -2])
    np.testing.assert_array_equal(run("SVMRegressor", ROWS, coefficients=X([1, -1]))[:, 0], [-1, 1, 0, -4])


def test_many_distances_are_those_of_few() -> None:
    rng = np.random.default_rng(3)
    x, vectors = rng.standard_normal((1024, 64)).astype(X), rng.standard_normal((64, 64)).astype(X)
    attrs = {
        "kernel_type": "RBF",
        "kernel_params": X([0.02, 0, 0]),
        "support_vectors": vectors.ravel(),
        "n_supports": 64,
    }
    weights = rng.standard_normal(64).astype(X)
    many = run(
        "SVMRegressor", x, coefficients=weights, **attrs
    )  # just as many differences as are not computed at the same time
    few = run("SVMRegressor", x[:7], coefficients=weights, **attrs)
    wanted = np.exp(-0.02 * np.square(x[:9, None].astype(float) - vectors).sum(2)) @ weights
    np.testing.assert_allclose(many[:9, 0], wanted, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(few[:, 0], wanted[:7], rtol=1e-4, atol=1e-5)


PAIRS = {
    "vectors_per_class": whole(1, 0, 2), "classlabels_ints": whole(5, 6, 7), "support_vectors": VECTORS.ravel(),
    "coefficients": X([[1, 2, -1], [1, 0.5, -2]]).ravel(), "rho": X([0, -1, 0.5]),
}  # fmt: skip


def pairwise(products: np.ndarray) -> tuple[list[list[float]], list[int]]:
    """Scores of (5 or 6), (5 or 7), (6 or 7) and the label with most votes, the first of equal ones."""
    scores, labels = [], []
    for one, two, three in products.tolist():
        row = [1 * one + 0, 1 * one + 2 * two - three - 1, 0.5 * two - 2 * three + 0.5]
        votes = [sum((row[0] > 0, row[1] > 0)), sum((row[0] <= 0, row[2] > 0)), sum((row[1] <= 0, row[2] <= 0))]
        scores.append(row)
        labels.append((5, 6, 7)[votes.index(max(votes))])
    return scores, labels


def test_support_vector_classifiers_vote_by_pairs() -> None:
    rows = np.concatenate([ROWS, X([[0, 0], [0, 1], [0, -1], [3, 0]])])
    scores, labels = pairwise(rows @ VECTORS.T)
    assert 0 in np.array(scores)[:, 0]  # votes for the second of both
    for more in ({}, {"prob_a": X([])}, {"prob_a": X([]), "prob_b": X([])}):
        got = run("SVMClassifier", rows, **PAIRS, **more)
        assert got[0].tolist() == labels
        np.testing.assert_allclose(got[1], scores)
    curved = run("SVMClassifier", rows, **PAIRS, post_transform="LOGISTIC")
    assert curved[0].tolist() == labels
    np.testing.assert_allclose(curved[1], 1 / (1 + np.exp(-np.array(scores))), rtol=1e-6)
    two = {"vectors_per_class": whole(1, 1), "support_vectors": X([1, 0, 0, 1]), "coefficients": X([1, -1])}
    for more, numbers in (
        ({}, (-1, 1)),
        ({"rho": X([0])}, (-1, 1)),
        ({"rho": X([2]), "classlabels_ints": whole(8, 9)}, (-3, 3)),
    ):
        if "classlabels_ints" not in more:
            more = {**more, "classlabels_strings": words("a", "b")}
        names = ["a", "b"] if "classlabels_strings" in more else [8, 9]
        got = run("SVMClassifier", X([[3, 2], [1, 2]]), **two, **more)
        second = numbers[1] - 2  # of the second row
        assert got[0].tolist() == [names[0], names[0] if second > 0 else names[1]]
        np.testing.assert_allclose(got[1], [[-numbers[1], numbers[1]], [-second, second]])
        shares = run("SVMClassifier", X([[3, 2], [1, 2]]), **two, **more, post_transform="SOFTMAX")
        np.testing.assert_allclose(shares[1], [[1 - numbers[1], numbers[1]], [1 - second, second]])


def test_without_vectors_there_is_a_linear_model_for_each_class() -> None:
    kernels = ({"kernel_type": k, "kernel_params": X([0.5, 1, 2])} for k in ("RBF", "POLY", "SIGMOID"))
    for more in ({}, {"vectors_per_class": whole(0, 0, 0)}, {"prob_a": X([1]), "prob_b": X([1])}, *kernels):
        got = run(
            "SVMClassifier",
            ROWS,
            coefficients=X([1, -1, 0, 1, 2, 0]),
            classlabels_ints=whole(4, 8, 6),
            rho=X([1]),
            **more,
        )
        assert got[0].tolist() == [8, 6, 6, 8]
        np.testing.assert_array_equal(got[1], [[0, 3, 3], [2, 2, 5], [1, 3, 5], [-3, 4, -1]])
    got = run("SVMClassifier", ROWS, coefficients=X([1, -1]))
    assert got[0].tolist() == [0] * 4 and got[1].tolist() == [[-1], [1], [0], [-4]]


# -- trees -----------------------------------------------------------------------------------------------------------------


HALF = X(0.5)


def stump(
    leaf: str, weights: Any, ids: Any = (0, 0), *, value: Any = HALF, mode: int = 0, **more: Any
) -> dict[str, Any]:
    """One tree that compares the second feature with a value: what its two leaves give, and to which result."""
    return {
        "nodes_treeids": whole(0, 0, 0), "nodes_nodeids": whole(0, 1, 2), "nodes_featureids": whole(1, 0, 0),
        "nodes_modes": np.array([mode, 7, 7], np.uint8), "nodes_values": np.array([value, 0, 0], np.asarray(value).dtype),
        "nodes_truenodeids": whole(1, 0, 0), "nodes_falsenodeids": whole(2, 0, 0),
        f"{leaf}_treeids": whole(0, 0), f"{leaf}_nodeids": whole(1, 2), f"{leaf}_ids": whole(*ids), f"{leaf}_weights": X(weights),
    } | more  # fmt: skip


NONE = {
    n: np.zeros(0, np.uint8 if n == "nodes_modes" else np.int64)
    for n in (
        "nodes_treeids",
        "nodes_nodeids",
        "nodes_featureids",
        "nodes_modes",
        "nodes_truenodeids",
        "nodes_falsenodeids",
    )
} | {
    "nodes_values": X([]),
    "target_treeids": whole(),
    "target_nodeids": whole(),
    "target_ids": whole(),
    "target_weights": X([]),
}
POINTS = X([[9, 0.25], [9, 0.5], [9, 0.75], [9, np.nan]])


def test_trees_go_the_way_of_their_comparison() -> None:
    for mode, passes in enumerate(([1, 1, 0, 0], [1, 0, 0, 0], [0, 1, 1, 0], [0, 0, 1, 0], [0, 1, 0, 0], [1, 0, 1, 1])):
        for tracks in (None, whole(), whole(0, 0, 0), whole(1, 0, 0)):
            missing = {} if tracks is None else {"nodes_missing_value_tracks_true": tracks}
            wanted = [
                2 if yes or (np.isnan(x) and missing and tracks.any()) else 5 for yes, x in zip(passes, POINTS[:, 1])
            ]
            attrs = stump("target", [2, 5], mode=mode, base_values=X([]), nodes_hitrates=X([]), **missing)
            assert run("TreeEnsembleRegressor", POINTS, **attrs)[:, 0].tolist() == wanted, (mode, tracks)
            assert run("TreeEnsembleRegressor", POINTS[1], **attrs)[:, 0].tolist() == wanted[1:2]
    near = X([[9, 0.1]])  # which is a little more than 0.1
    assert run("TreeEnsembleRegressor", near, **stump("target", [2, 5], value=np.float64(0.1))).item() == 5
    assert run("TreeEnsembleRegressor", near, **stump("target", [2, 5], value=X(0.1))).item() == 2
    assert run("TreeEnsembleRegressor", near.astype(float) + 1e-12, **stump("target", [2, 5], value=X(0.1))).item() == 5


def test_trees_in_parts_of_many_rows_and_no_trees_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    attrs = stump("target", [2, 5], n_targets=2, base_values=X([1, 7]))
    monkeypatch.setattr(ml_tree, "ROOM", 3)
    rows = np.concatenate([POINTS, POINTS[::-1], POINTS[:2]])
    wanted = [[3 if x <= 0.5 else 6, 7] for x in rows[:, 1]]
    assert run("TreeEnsembleRegressor", rows, **attrs).tolist() == wanted
    monkeypatch.setattr(ml_tree, "ROOM", 0)
    assert run("TreeEnsembleRegressor", rows, **attrs).tolist() == wanted
    for aggregate in ("SUM", "AVERAGE", "MIN", "MAX"):
        for base in ({}, {"base_values": X([1, 7])}):
            got = run("TreeEnsembleRegressor", POINTS, **NONE, **base, n_targets=2, aggregate_function=aggregate)
            assert got.tolist() == [[1.0, 7.0] if base else [0.0, 0.0]] * 4


def test_trees_of_two_classes_decide_at_a_half_or_at_zero() -> None:
    """The border is 0.5 where one class alone has scores and no weight is negative; on it the first class wins."""
    for weights, ids, base, labels, scores in (
        ([0.5, 0.75], (1, 1), None, [3, 3, 8, 8], [[0, 0.5], [0, 0.5], [0, 0.75], [0, 0.75]]),
        ([0.5, 0], (1, 1), None, [3, 3, 3, 3], [[0, 0.5], [0, 0.5], [0, 0], [0, 0]]),
        ([0.25, -1], (1, 1), None, [8, 8, 3, 3], [[0, 0.25], [0, 0.25], [0, -1], [0, -1]]),
        ([0, -1], (1, 1), None, [3, 3, 3, 3], [[0, 0], [0, 0], [0, -1], [0, -1]]),
        ([0.5, 0.75], (0, 0), None, [3, 3, 8, 8], [[0.5, 0.5], [0.5, 0.5], [0.25, 0.75], [0.25, 0.75]]),
        ([0.25, 0.75], (0, 0), [0.25], [3, 3, 8, 8], [[0.5, 0.5], [0.5, 0.5], [0, 1], [0, 1]]),
        ([0.5, 0.75], (1, 1), [0.625, 0], [3, 3, 8, 8], [[0.625, 0.5], [0.625, 0.5], [0.625, 0.75], [0.625, 0.75]]),
        ([0.5, 0.75], (0, 1), None, [3, 3, 8, 8], [[0.5, 0], [0.5, 0], [0, 0.75], [0, 0.75]]),
        ([0.5, 0.75], (0, 1), [0, 1], [8, 8, 8, 8], [[0.5, 1], [0.5, 1], [0, 1.75], [0, 1.75]]),
    ):
        more = {} if base is None else {"base_values": X(base)}
        attrs = stump("class", weights, ids, classlabels_int64s=whole(3, 8), **more)
        got = run("TreeEnsembleClassifier", POINTS, **attrs)
        assert got[0].tolist() == labels, (weights, ids, base)
        np.testing.assert_array_equal(got[1], scores, err_msg=f"{weights} {ids} {base}")
    # of three classes those that no leaf speaks of lose, unless all have a base value
    three = {"classlabels_strings": words("a", "b", "c")}
    got = run("TreeEnsembleClassifier", POINTS, **stump("class", [-2, -3], (1, 2), **three))
    assert got[0].tolist() == ["b", "b", "c", "c"]
    got = run("TreeEnsembleClassifier", POINTS, **stump("class", [-2, 3], (1, 2), base_values=X([1, 2, 0]), **three))
    assert got[0].tolist() == ["a", "a", "c", "c"]
    got = run("TreeEnsembleClassifier", POINTS, **stump("class", [2, 3], (1, 1)))  # labels are numbers up to the last
    assert got[0].tolist() == [1] * 4 and got[1].shape == (4, 2)
    got = run("TreeEnsembleClassifier", POINTS[2], **stump("class", [2, 3], (0, 2)))
    assert got[0].tolist() == [2] and got[1].tolist() == [[0, 0, 3]]


def test_leaves_give_to_any_number_of_results() -> None:
    """To none, one or several of them, also nothing that is still something; inner nodes give nothing."""
    gives = {  # by leaf of the first tree (0: what is at most 0.25, then at most 0.5, then above), and of the second
        (0, 0): {0: 3.0, 2: -1.0}, (0, 1): {1: 0.0}, (0, 2): {}, (1, 0): {0: -2.0, 1: 5.0, 2: 0.0}, (1, 1): {2: 4.0},
    }  # fmt: skip
    places = {(0, 0): 3, (0, 1): 4, (0, 2): 2, (1, 0): 1, (1, 1): 2}
    entries = [(t, places[t, n], i, w) for (t, n), each in gives.items() for i, w in each.items()]
    entries.append((0, 1, 1, 100.0))  # of an inner node
    tree, node, ids, weights = (np.array(column) for column in zip(*entries[::-1]))
    attrs = {
        "nodes_treeids": whole(0, 0, 0, 0, 0, 1, 1, 1), "nodes_nodeids": whole(0, 1, 2, 3, 4, 0, 1, 2),
        "nodes_featureids": whole(1, 1, 0, 0, 0, 0, 0, 0), "nodes_modes": np.array([0, 0, 7, 7, 7, 0, 7, 7], np.uint8),
        "nodes_values": X([0.5, 0.25, 0, 0, 0, 1, 0, 0]), "nodes_truenodeids": whole(1, 3, 0, 0, 0, 1, 0, 0),
        "nodes_falsenodeids": whole(2, 4, 0, 0, 0, 2, 0, 0),
    }  # fmt: skip
    rows = X([[0, 0.25], [2, 0.25], [0, 0.5], [2, 0.5], [0, 0.75], [2, 0.75]])
    leaves = [((0, (y > 0.25) + int(y > 0.5)), (1, int(x > 1))) for x, y in rows.tolist()]
    for base in (None, [0.5, -0.25, 2.0]):
        given = [[[gives[leaf][i] for leaf in row if i in gives[leaf]] for i in range(3)] for row in leaves]
        added = base or [0, 0, 0]
        for name, of in (
            *(("SUM", sum), ("AVERAGE", lambda v: sum(v) / 2)),
            *(("MIN", lambda v: min(v, default=0)), ("MAX", lambda v: max(v, default=0))),
        ):
            wanted = [[of(v) + b for v, b in zip(row, added)] for row in given]
            named = {f"target_{k}": v for k, v in (("treeids", tree), ("nodeids", node), ("ids", ids))}
            named |= {"target_weights": X(weights), "n_targets": 3, "aggregate_function": name}
            named |= {} if base is None else {"base_values": X(base)}
            assert run("TreeEnsembleRegressor", rows, **attrs, **named).tolist() == wanted, (name, base)
        named = {f"class_{k}": v for k, v in (("treeids", tree), ("nodeids", node), ("ids", ids))}
        named |= {"class_weights": X(weights), "classlabels_strings": words("a", "b", "c")}
        named |= {} if base is None else {"base_values": X(base)}
        labels, scores = run("TreeEnsembleClassifier", rows, **attrs, **named)
        wanted = [[sum(v) + b for v, b in zip(row, added)] for row in given]
        assert scores.tolist() == wanted
        best = [
            max(range(3), key=lambda i: s[i] if row[i] or base else -np.inf) for row, s in zip(given, wanted)
        ]  # of those that a leaf speaks of
        assert labels.tolist() == ["abc"[i] for i in best]


LATER = {
    "tree_roots": whole(0), "nodes_featureids": whole(1), "nodes_modes": np.array([0], np.uint8), "nodes_splits": X([0.5]),
    "nodes_truenodeids": whole(0), "nodes_falsenodeids": whole(1), "nodes_trueleafs": whole(1), "nodes_falseleafs": whole(1),
    "leaf_targetids": whole(0, 1), "leaf_weights": X([2, 5]), "n_targets": 2,
}  # fmt: skip


def test_trees_of_leaves_with_numbers_of_their_own() -> None:
    nan = np.nan
    for more, passes in (
        ({}, [1, 1, 0, 0]),
        ({"nodes_missing_value_tracks_true": whole()}, [1, 1, 0, 0]),
        ({"nodes_missing_value_tracks_true": whole(0)}, [1, 1, 0, 0]),
        ({"nodes_missing_value_tracks_true": whole(1)}, [1, 1, 0, 1]),
        ({"nodes_hitrates": X([])}, [1, 1, 0, 0]),
        ({"nodes_hitrates": X([3])}, [1, 1, 0, 0]),
        ({"nodes_modes": np.array([6], np.uint8), "membership_values": X([0.25, 0.75, nan])}, [1, 0, 1, 0]),
        ({"nodes_modes": np.array([6], np.uint8), "membership_values": X([0.25, 0.75])}, [1, 0, 1, 0]),
        ({"nodes_modes": np.array([6], np.uint8), "membership_values": X([nan])}, [0, 0, 0, 0]),
    ):
        got = run("TreeEnsemble", POINTS, **LATER | more)
        assert got.tolist() == [[2, 0] if yes else [0, 5] for yes in passes], more


def test_what_does_not_go_together_is_refused() -> None:
    regressor, classifier = stump("target", [2, 5]), stump("class", [2, 5])
    for name, base, attrs, said in (
        ("LinearClassifier", {"coefficients": X([1, 2, 3])}, {"intercepts": X([1, 2])}, "got 3 coefficients, 2 intercepts"),
        ("LinearClassifier", {"coefficients": X([1, 2])}, {"intercepts": X([1, 2]), "classlabels_ints": whole(1, 2, 3)}, "fit"),
        ("LinearClassifier", {"coefficients": X([1, 2, 3])}, {"classlabels_ints": whole(1, 2)}, "got 3 coefficients, 0 intercepts"),
        ("LinearRegressor", {"coefficients": X([1, 2, 3])}, {"targets": 2}, "wanted some for each of 2"),
        ("LinearRegressor", {"coefficients": X([1, 2, 3, 4, 5, 6])}, {"targets": 3, "intercepts": X([1, 2])}, "and 2 intercepts"),
        ("SVMRegressor", SUPPORTED, {"n_supports": -3}, "got n_supports=-3"),
        ("SVMRegressor", SUPPORTED, {"n_supports": 4}, "got n_supports=4"),
        ("SVMRegressor", SUPPORTED, {"support_vectors": None, "coefficients": X([1])}, "and 0 numbers of vectors"),
        ("SVMRegressor", SUPPORTED, {"support_vectors": None}, "and 0 numbers of vectors"),
        ("SVMRegressor", SUPPORTED, {"support_vectors": VECTORS.ravel()[:5]}, "5 numbers of vectors"),
        ("SVMRegressor", SUPPORTED, {"kernel_params": X([1])}, "got 1 kernel_params"),
        ("SVMClassifier", {"coefficients": X([1, 2, 3, 4])}, {"classlabels_ints": whole(1, 2, 3)}, "go together"),
        ("SVMClassifier", PAIRS, {"classlabels_ints": whole(1, 2)}, "go together"),
        ("SVMClassifier", PAIRS, {"vectors_per_class": whole(1, 0, 1, 1)}, "go together"),
        ("SVMClassifier", PAIRS, {"vectors_per_class": whole(1, -1, 3)}, "go together"),
        ("SVMClassifier", PAIRS, {"support_vectors": None}, "go together"),
        ("SVMClassifier", PAIRS, {"support_vectors": X([1, 2, 3, 4])}, "go together"),
        ("SVMClassifier", PAIRS, {"coefficients": X([1, 2, 3])}, "go together"),
        ("SVMClassifier", PAIRS, {"rho": X([1, 2])}, "go together"),
        ("SVMClassifier", PAIRS, {"rho": None}, "go together"),
        ("SVMClassifier", PAIRS, {"prob_a": X([1, 2]), "prob_b": X([1, 2, 3])}, "go together"),
        ("SVMClassifier", PAIRS, {"prob_a": X([1, 2, 3]), "prob_b": X([1])}, "go together"),
        ("SVMClassifier", PAIRS, {"prob_a": X([1, 2, 3])}, "go together"),
        *(("TreeEnsembleRegressor", regressor, {n: whole(0, 1)}, "wanted equally many") for n in regressor if n.startswith("nodes_")
          and n != "nodes_modes"),
        *(("TreeEnsembleRegressor", regressor, {n: whole(0)}, "wanted equally many") for n in regressor if n.startswith("target_")),
        ("TreeEnsembleRegressor", regressor, {"nodes_hitrates": X([1])}, "wanted equally many"),
        ("TreeEnsembleRegressor", regressor, {"nodes_treeids": whole(0, 0, -1)}, "got nodes_treeids -1 to 0"),
        ("TreeEnsembleRegressor", regressor, {"target_ids": whole(0, 1)}, "got target_ids 0 to 1, wanted 0 to 0"),
        ("TreeEnsembleRegressor", regressor, {"nodes_modes": np.array([8, 7, 7], np.uint8)}, "got nodes_modes 7 to 8"),
        ("TreeEnsembleRegressor", regressor, {"base_values": X([1, 2])}, "got 2 base_values"),
        ("TreeEnsembleClassifier", classifier, {"class_nodeids": whole(1, -2)}, "got class_nodeids -2 to 1"),
        ("TreeEnsemble", LATER, {"aggregate_function": 4}, "wanted 0 to 3 and 0 to 4"),
        ("TreeEnsemble", LATER, {"aggregate_function": -1}, "wanted 0 to 3 and 0 to 4"),
        ("TreeEnsemble", LATER, {"post_transform": 5}, "wanted 0 to 3 and 0 to 4"),
        ("TreeEnsemble", LATER, {"nodes_hitrates": X([1, 2])}, "wanted equally many"),
        ("TreeEnsemble", LATER, {"nodes_missing_value_tracks_true": whole(1, 0)}, "wanted equally many"),
    ):  # fmt: skip
        with pytest.raises(OpError, match=said):
            lookup(f"_onnx_ml_{name}").bind(**base | attrs)
    for name, attrs, said in (
        ("TreeEnsembleRegressor", regressor | {"nodes_truenodeids": whole(9, 0, 0)}, "names a node that there is not"),
        ("TreeEnsembleRegressor", regressor | {"nodes_falsenodeids": whole(3, 0, 0)}, "names a node that there is not"),
        ("TreeEnsembleRegressor", regressor | {"target_nodeids": whole(1, 3)}, "names a node that there is not"),
        ("TreeEnsemble", LATER | {"tree_roots": whole(3)}, "got roots 3 to 3, wanted nodes from 0 to 2"),
        ("TreeEnsemble", LATER | {"tree_roots": whole(-1)}, "got roots -1 to -1"),
        ("TreeEnsemble", LATER | {"nodes_falsenodeids": whole(2)}, "got branches 1 to 3|got branches"),
        ("TreeEnsemble", LATER | {"nodes_truenodeids": whole(-2)}, "got branches -1 to"),
        ("TreeEnsemble", LATER | {"nodes_truenodeids": whole(0), "nodes_trueleafs": whole(0)}, "below itself"),
    ):  # fmt: skip
        with pytest.raises(OpError, match=said):
            lookup(f"_onnx_ml_{name}").bind(**attrs).compute(POINTS)


# -- features --------------------------------------------------------------------------------------------------------------

MAPS = [
    # (attributes, the map, what it becomes)
    ({"cast_to": "TO_STRING"}, {3: "c", 1: 0.5}, [["0.500000", "c"]]),
    ({"cast_to": "TO_STRING", "map_form": "SPARSE", "max_map": 4}, {3: "c", 1: 2.0}, [["", "2.000000", "", "c"]]),
    ({"cast_to": "TO_INT64", "map_form": "SPARSE", "max_map": 3}, {2: 7.9, 0: -1.5}, [[-1, 0, 7]]),
    ({"cast_to": "TO_FLOAT"}, {2: "7.5", 0: -1.5}, [[-1.5, 7.5]]),
]


@each(MAPS, lambda row: ("maps", str(row[0])))
def test_maps_become_tensors(row: Any) -> None:
    attrs, given, wanted = row
    op = lookup("_onnx_ml_CastMap").bind(**attrs)
    found = op.compute(box(given))
    assert found.tolist() == wanted
    assert found.dtype == {"TO_STRING": object, "TO_INT64": np.int64, "TO_FLOAT": X}[attrs["cast_to"]]


def test_features_that_do_not_fit_are_refused() -> None:
    x = X([[1, 2, 3], [0, 5, 0]])
    for name, attrs, given, said in (
        ("CastMap", {"map_form": "SPARSE", "max_map": 3}, box({1: 1.0, 3: 2.0}), "got keys .1, 3., wanted 0 to 2"),
        ("CastMap", {"map_form": "SPARSE", "max_map": 3}, box({-1: 1.0, 2: 2.0}), "wanted 0 to 2"),
        ("ZipMap", {"classlabels_int64s": whole(4, 5)}, x, "got 3 numbers for 2 labels"),
        ("Imputer", {"imputed_value_floats": X([])}, x, "wanted imputed_value_floats with it"),
        ("Imputer", {"imputed_value_int64s": whole(1)}, x, "wanted imputed_value_floats with it"),
        ("Imputer", {"imputed_value_floats": X([1])}, whole(1, 2), "wanted imputed_value_int64s with it"),
        ("Imputer", {"imputed_value_floats": X([1, 2])}, x, "got 2 values for X"),
        ("Imputer", {"imputed_value_floats": X([1, 2])}, X(0), "got 2 values for X"),
    ):
        with pytest.raises(OpError, match=said):
            lookup(f"_onnx_ml_{name}").bind(**attrs).compute(given)
    assert run("Imputer", x, imputed_value_floats=X([4, 6, 8]), replaced_value_float=0.0).tolist() == [
        [1, 2, 3],
        [4, 5, 8],
    ]
    assert run("Imputer", x, imputed_value_floats=X([4]), imputed_value_int64s=whole()).tolist() == [
        [1, 2, 3],
        [4, 5, 4],
    ]
    zipped = lookup("_onnx_ml_ZipMap").bind().compute(x)
    assert [unbox(row) for row in unbox(zipped)] == [{0: 1, 1: 2, 2: 3}, {0: 0, 1: 5, 2: 0}]


def test_all_categories_are_known() -> None:
    got = run("OneHotEncoder", whole(5, 1), cats_int64s=whole(1, 5, 3), zeros=False)
    np.testing.assert_array_equal(got, [[0, 1, 0], [1, 0, 0]])


def test_labels_without_words_are_numbers() -> None:
    labels, _ = run("LinearClassifier", ROWS, **THREE, classlabels_ints=whole(4, 8, 6), classlabels_strings=words())
    np.testing.assert_array_equal(labels, whole(8, 6, 6, 8))


def test_base_values_that_are_empty_are_none() -> None:
    attrs = stump("class", [0.5, 0.75], (1, 1), classlabels_int64s=whole(3, 8))
    wanted = run("TreeEnsembleClassifier", POINTS, **attrs)
    for got, want in zip(run("TreeEnsembleClassifier", POINTS, **attrs, base_values=X([])), wanted, strict=True):
        np.testing.assert_array_equal(got, want)
