"""Decision trees compiled: random ones, grown to leaves at any depth, beside NumPy's rule."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hybrid import native
from hybrid.core.error import MXNetError, OpError
from hybrid.core.examples import Maker
from hybrid.core.op import Op, lookup
from hybrid.execution.program import Program
from hybrid.ir.graph import Entry, Graph, Node
from hybrid.ops.onnx.ml_tree import LEAF

pytestmark = pytest.mark.skipif(not native.LEVELS, reason="the compiled part is not there")

FEATURES, RESULTS = 5, 4


def grown(rng: np.random.Generator, trees: int, leaf: str, results: int) -> dict[str, Any]:
    """Attributes of random trees: every comparison, leaves that give several summands or none."""
    nodes: list[list[Any]] = []
    leaves: list[list[Any]] = []
    for tree in range(trees):
        count = 0

        def grow(depth: int, tree: int = tree) -> int:
            nonlocal count
            own, count = count, count + 1
            row: list[Any] = [tree, own, LEAF, 0, 0.0, 0, 0, 0]
            nodes.append(row)
            if depth == 0 or rng.random() < 0.25:
                for _ in range(rng.integers(0, 3)):
                    leaves.append([tree, own, int(rng.integers(results)), float(rng.normal())])
            else:
                value = float(rng.choice([-0.5, 0.0, 0.25, rng.normal()]))
                row[2:6] = [int(rng.integers(6)), int(rng.integers(FEATURES)), value, int(rng.integers(2))]
                row[6], row[7] = grow(depth - 1), grow(depth - 1)
            return own

        grow(int(rng.integers(0, 6)))
    leaves = leaves or [[0, nodes[-1][1], 0, 1.0]]
    names = (
        "treeids",
        "nodeids",
        "modes",
        "featureids",
        "values",
        "missing_value_tracks_true",
        "truenodeids",
        "falsenodeids",
    )
    columns = dict(zip(names, zip(*nodes)))
    attrs: dict[str, Any] = {f"nodes_{n}": np.array(c, np.int64) for n, c in columns.items()}
    attrs["nodes_modes"] = attrs["nodes_modes"].astype(np.uint8)
    attrs["nodes_values"] = np.array(columns["values"], np.float32)
    attrs |= {f"{leaf}_{n}": np.array(c) for n, c in zip(("treeids", "nodeids", "ids"), zip(*leaves))}
    return attrs | {f"{leaf}_weights": np.array([row[3] for row in leaves], np.float32)}


def rows_of(rng: np.random.Generator, count: int) -> np.ndarray:
    """Rows with numbers that nodes compare with, NaN and infinities among them."""
    x = rng.normal(size=(count, FEATURES)).astype(np.float32)
    odd = rng.random(x.shape) < 0.2
    x[odd] = rng.choice(np.array([-0.5, 0.0, 0.25, np.nan, np.inf, -np.inf], np.float32), odd.sum())
    return x


def both(op: Op, x: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Results by NumPy, and by the compiled part, which has a kernel for every step."""
    node = Node(op, "node", [Entry(Node(None, "x"))])
    graph = Graph([Entry(node, i) for i in range(node.num_outputs)])
    program = Program(graph)
    found = program.run({"x": x})
    assert program._specialize([x], {}).bound.fallbacks() == []
    return Program(graph, native=False).run({"x": x}), found


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("aggregate", ["SUM", "AVERAGE", "MIN", "MAX"])
def test_regressors_give_the_same_bits(aggregate: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    attrs = grown(rng, int(rng.integers(1, 9)), "target", RESULTS)
    if seed % 3 == 1:
        attrs["base_values"] = rng.normal(size=RESULTS).astype(np.float32)
    op = lookup("_onnx_ml_TreeEnsembleRegressor").bind(n_targets=RESULTS, aggregate_function=aggregate, **attrs)
    for count in (1, 7, 300):
        want, got = both(op, rows_of(rng, count))
        np.testing.assert_array_equal(got[0], want[0])


@pytest.mark.parametrize("transform", ["NONE", "SOFTMAX", "LOGISTIC"])
@pytest.mark.parametrize("labels", [2, 3])
@pytest.mark.parametrize("scored", ["all", "the first", "the second"])
def test_classifiers(scored: str, labels: int, transform: str) -> None:
    for seed in range(4):
        rng = np.random.default_rng(seed)
        attrs = grown(rng, 5, "class", labels)
        if scored != "all":
            attrs["class_ids"] = np.full_like(attrs["class_ids"], scored == "the second")
        if seed % 2:
            attrs["class_weights"] = np.abs(attrs["class_weights"])
        if seed == 2:
            attrs["base_values"] = rng.normal(size=labels if scored == "all" else 1).astype(np.float32)
        names = np.array([7, -3, 5][:labels])
        try:
            op = lookup("_onnx_ml_TreeEnsembleClassifier").bind(
                classlabels_int64s=names, post_transform=transform, **attrs
            )
        except OpError:  # a base value does not say whose it is
            assert seed == 2 and scored != "all"
            continue
        want, got = both(op, rows_of(rng, 40))
        np.testing.assert_array_equal(got[0], want[0])
        np.testing.assert_allclose(got[1], want[1], rtol=1e-5, atol=1e-6)


def test_trees_of_opset_5() -> None:
    (op, arrays), *_ = lookup("_onnx_ml_TreeEnsemble").examples(Maker(lookup("_onnx_ml_TreeEnsemble")))
    want, got = both(op, arrays[0])
    np.testing.assert_array_equal(got[0], want[0])


@pytest.mark.parametrize(
    ("name", "place", "number"),
    [("feature", 0, FEATURES), ("yes", 1, 0), ("targets", (2, 0), 9), ("roots", 0, 77), ("no", 0, -1)],
)
def test_trees_that_are_none_are_refused(name: str, place: Any, number: int) -> None:
    """The operator is in no file; a kernel that was given such trees would read what is not there."""
    cls = lookup("_fused_forest")
    op, arrays = next(iter(cls.examples(Maker(cls))))
    named = dict(zip(op.input_names(), (a.copy() for a in arrays)))
    named[name][place] = number
    node = Node(op, "node", [Entry(Node(None, n)) for n in named])
    program = Program(Graph([Entry(node, 0), Entry(node, 1)]))
    with pytest.raises(MXNetError, match=r"that there are not|wanted"):
        program.run(named)
