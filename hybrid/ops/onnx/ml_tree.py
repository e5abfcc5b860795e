"""Ensembles of decision trees (ai.onnx.ml): all rows go down all trees at once, level by level.

Attributes of one number per node are arrays: ensembles have many."""

from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from ...core.attrs import Count
from ...core.error import OpError
from ...core.op import Op, op
from ...core.shapes import UNKNOWN, Shape, show
from ..common import want_rank, widen
from .base import FLOAT32, Standard
from .ml_linear import (
    POST_TRANSFORMS,
    Classifier,
    PostTransform,
    above,
    constant,
    labelled,
    labels_of,
    of_two,
    transform_scores,
    transformed,
    two_scores,
)
from .types import FEATURES, FLOATS

Array = np.ndarray
MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "BRANCH_MEMBER", "LEAF")
"""Comparisons of a node's feature with its value, each at its code."""
MEMBER, LEAF = MODES.index("BRANCH_MEMBER"), MODES.index("LEAF")
_COMPARE = (np.less_equal, np.less, np.greater_equal, np.greater, np.equal, np.not_equal)
UNUSED = ("nodes_hitrates", "nodes_missing_value_tracks_true")
"""Attributes with an entry for each node that may be left out or empty."""
MOST = 1 << 31
"""Numbers of trees, and of nodes in them, that there can be."""
ROOM = 1 << 20
"""Rows times trees that are on their way at the same time."""
Aggregate = Literal["AVERAGE", "SUM", "MIN", "MAX"]
AGGREGATES: tuple[Aggregate, ...] = ("AVERAGE", "SUM", "MIN", "MAX")


class Forest(NamedTuple):
    """Trees whose nodes are numbered through, leaves included; one entry per node."""

    feature: Array
    mode: Array
    value: Array
    missing: Array
    """True where NaN takes the branch of what is true."""
    yes: Array
    no: Array
    roots: Array
    targets: Array
    """(nodes, P): which results a leaf adds to; -1 fills up,"""
    weights: Array
    """and with how much."""
    members: dict[int, Array]
    """Of nodes that compare with several values: those."""

    def leaves(self, x: Array) -> Array:
        """The leaf that each row of x (N, F) arrives at in each tree, (N, T)."""
        at = np.broadcast_to(self.roots, (len(x), len(self.roots))).copy()
        rows, trees = np.nonzero(self.mode[at] != LEAF)
        for _ in range(len(self.mode) + 1):
            if not rows.size:
                return at
            node = at[rows, trees]
            following = np.where(self._passes(x[rows, self.feature[node]], node), self.yes[node], self.no[node])
            at[rows, trees] = following
            on = self.mode[following] != LEAF
            rows, trees = rows[on], trees[on]
        raise OpError("got a tree in which a node is below itself, wanted branches that end")

    def validated(self, op: Op) -> "Forest":
        """Itself. Raises OpError for branches, leaves and roots that there are not."""
        count = len(self.mode)
        for name, places in (("branches", self.yes), ("branches", self.no), ("roots", self.roots)):
            if places.size and not 0 <= places.min() <= places.max() < count:
                raise op.error(f"got {name} {places.min()} to {places.max()}, wanted nodes from 0 to {count - 1}")
        return self

    def ends(self) -> bool:
        """True where no node is below itself."""
        level = np.unique(self.roots)
        for _ in range(len(self.mode) + 1):
            level = level[self.mode[level] != LEAF]
            if not level.size:
                return True
            level = np.unique(np.concatenate([self.yes[level], self.no[level]]))
        return False

    def _passes(self, x: Array, node: Array) -> Array:
        modes, value = self.mode[node], self.value[node]
        passed = np.zeros(x.shape, bool)
        for mode in np.unique(modes):
            own = modes == mode
            if mode == MEMBER:
                for each in np.unique(node[own]):
                    there = node == each
                    passed[there] = np.isin(x[there], self.members[int(each)])
            else:
                passed[own] = _COMPARE[mode](x[own], value[own])
        return passed | (self.missing[node] & np.isnan(x))

    def scores(self, x: Array, count: int, aggregate: Aggregate) -> tuple[Array, Array]:
        """Sums over the leaves of all trees for each row and result, (N, count), and True where any leaf gave something."""
        found = np.zeros((len(x), count), self.weights.dtype)
        some = np.zeros(found.shape, bool)
        step = max(ROOM // max(len(self.roots), 1), 1)
        for start in range(0, len(x), step):
            part = slice(start, start + step)
            self._collect(self.leaves(x[part]), found[part], some[part], aggregate)
        if aggregate == "AVERAGE":
            found /= max(len(self.roots), 1)
        return found, some

    def _collect(self, leaves: Array, found: Array, some: Array, aggregate: Aggregate) -> None:
        rows = np.arange(len(leaves))
        for leaf in leaves.T:  # tree after tree, as a sum of floats depends on the order
            for place in range(self.targets.shape[1]):
                target, weight = self.targets[leaf, place], self.weights[leaf, place]
                there = target >= 0
                at = rows[there], target[there]
                before, added = found[at], weight[there]
                if aggregate in ("MIN", "MAX"):
                    added = np.where(some[at], (np.minimum if aggregate == "MIN" else np.maximum)(before, added), added)
                else:
                    added = before + added
                found[at], some[at] = added, True


def _payload(nodes: Array, targets: Array, weights: Array, count: int) -> tuple[Array, Array]:
    """Summands of the leaves, as Forest has them, of entries (node, target, weight)."""
    order = np.argsort(nodes, kind="stable")
    nodes, targets, weights = nodes[order], targets[order], weights[order]
    place = np.arange(len(nodes)) - np.searchsorted(nodes, nodes)
    width = int(place.max(initial=-1)) + 1
    by_target, by_weight = np.full((count, width), -1), np.zeros((count, width), weights.dtype)
    by_target[nodes, place], by_weight[nodes, place] = targets, weights
    return by_target, by_weight


def _in_rows(x: Array, dtype: np.dtype) -> Array:
    """X as (N, F), in floats that hold it and what it is compared with."""
    x = x if x.ndim == 2 else x[None]
    return (
        x if x.dtype == dtype else x.astype(np.float64 if x.dtype.itemsize == 8 or dtype.itemsize == 8 else np.float32)
    )


def _want_features(op: Op, x: Shape, features: Array) -> None:
    """Raise OpError unless rows of X have the features that nodes ask for."""
    if features.size and x[-1] is not UNKNOWN and not 0 <= features.min() <= features.max() < x[-1]:
        raise op.error(f"got X of shape {show(x)} for trees that ask for features {features.min()} to {features.max()}")


def _wrong_numbers(name: str, numbers: Array, count: int) -> str | None:
    """Describe what is wrong with numbers that are places among so many; None when nothing is."""
    if not numbers.size or 0 <= numbers.min() <= numbers.max() < count:
        return None
    return f"got {name} {numbers.min()} to {numbers.max()}, wanted 0 to {count - 1}"


def fused_scores(F: Any, x: Any, forest: Forest, count: int, aggregate: Aggregate) -> Any:
    """The sums of all trees and which results they gave, as the operator ForestScores has them (hybrid/ops/forest.py); None for
    trees or rows that it does not take."""
    floats = x.dtype == FLOAT32 and forest.value.dtype == forest.weights.dtype == FLOAT32
    if not floats or x.shape is None or len(x.shape) != 2 or MEMBER in forest.mode or not forest.ends():
        return None
    parts = (constant(F, a) for a in forest[:-1])
    return F._fused_forest(x, *parts, count=count, aggregate=aggregate)


class Trees(Standard):
    """Base of the older operators. A node is number nodes_nodeids of tree nodes_treeids; leaves say so too what they add.
    nodes_modes are codes (MODES). Numbers that a file has as tensors are of their dtype, others float32."""

    base_values: np.ndarray | None = None
    nodes_falsenodeids: np.ndarray
    nodes_featureids: np.ndarray
    nodes_hitrates: np.ndarray | None = None
    nodes_missing_value_tracks_true: np.ndarray | None = None
    nodes_modes: np.ndarray
    nodes_nodeids: np.ndarray
    nodes_treeids: np.ndarray
    nodes_truenodeids: np.ndarray
    nodes_values: np.ndarray
    post_transform: PostTransform = "NONE"

    exception = "walks trees that attributes hold"

    inputs = ("X",)
    types = {"X": FEATURES}
    leaf: ClassVar[str]
    """Prefix of the names of what leaves add: class or target."""

    def check(self):
        lengths = {
            n: len(getattr(self, n)) for n in self.fields if n.startswith("nodes_") and getattr(self, n) is not None
        }
        lengths = {n: c for n, c in lengths.items() if c or n not in UNUSED}
        leaves = {n: len(getattr(self, n)) for n in self._leaves()}
        wrong = next((found for found in (lengths, leaves) if len(set(found.values())) > 1), None)
        if wrong:
            return f"got {wrong}, wanted equally many"
        bases = 0 if self.base_values is None else len(self.base_values)
        if bases not in (0, 1, self.results()):
            return f"got {bases} base_values, wanted one for each of {self.results()} results"
        tree, node, ids, _ = self._leaves()
        bounds = {"nodes_treeids": MOST, "nodes_nodeids": MOST, tree: MOST, node: MOST, ids: self.results()}
        bounds["nodes_modes"] = len(MODES)
        problems = (_wrong_numbers(n, getattr(self, n), count) for n, count in bounds.items())
        return next((p for p in problems if p), None) or super().check()

    def results(self) -> int:
        """Number of results for a row."""
        raise NotImplementedError

    def _leaves(self) -> tuple[str, ...]:
        """Names of the attributes that say what leaves add."""
        return tuple(f"{self.leaf}_{what}" for what in ("treeids", "nodeids", "ids", "weights"))

    def _entries(self) -> tuple[Array, ...]:
        """(tree, node, target, weight) of what leaves add."""
        return tuple(getattr(self, n) for n in self._leaves())

    def want_features(self, x: Shape) -> None:
        """Raise OpError unless rows of X have the features that nodes ask for."""
        _want_features(self, x, self.nodes_featureids[self.nodes_modes != LEAF])

    def forest(self) -> Forest:
        """The trees, built once."""
        if "forest" not in self.memo:
            self.memo["forest"] = self._forest()
        return self.memo["forest"]

    def _forest(self) -> Forest:
        count = len(self.nodes_nodeids)
        keys = np.stack([self.nodes_treeids, self.nodes_nodeids]).astype(np.int64)
        order = np.lexsort(keys[::-1])
        base = int(keys[1].max(initial=0)) + 1
        ranks = keys[0] * base + keys[1]
        ranked = ranks[order]

        def find(trees: Array, nodes: Array) -> Array:
            wanted = trees.astype(np.int64) * base + nodes
            at = np.searchsorted(ranked, wanted).clip(max=max(count - 1, 0))
            if not np.array_equal(ranked[at], wanted):
                raise self.error("names a node that there is not")
            return order[at]

        inner = self.nodes_modes != LEAF
        places = np.arange(count)
        yes, no = places.copy(), places.copy()
        yes[inner] = find(self.nodes_treeids[inner], self.nodes_truenodeids[inner])
        no[inner] = find(self.nodes_treeids[inner], self.nodes_falsenodeids[inner])
        roots = np.setdiff1d(places, np.concatenate([yes[inner], no[inner]]))
        trees, nodes, targets, weights = self._entries()
        at = find(trees, nodes)
        useful = self.nodes_modes[at] == LEAF
        dtype = self.nodes_values.dtype
        payload = _payload(at[useful], targets[useful], weights[useful].astype(dtype), count)
        tracks = self.nodes_missing_value_tracks_true
        missing = np.zeros(count, bool) if tracks is None or not len(tracks) else tracks.astype(bool)
        forest = Forest(
            self.nodes_featureids, self.nodes_modes, self.nodes_values, missing, yes, no, roots, *payload, {}
        )
        return forest.validated(self)

    def _bases(self) -> Array | None:
        given = self.base_values
        return None if given is None or not len(given) else given.astype(self.nodes_values.dtype)

    def gradient(self, F, dy, *arrays):
        return None


def _example_trees(make: Any, leaf: str) -> dict[str, Any]:
    """Two trees of two and one levels."""
    whole = {
        "nodes_treeids": [0, 0, 0, 0, 0, 1, 1, 1],
        "nodes_nodeids": [0, 1, 2, 3, 4, 0, 1, 2],
        "nodes_featureids": [0, 2, 0, 0, 0, 1, 0, 0],
        "nodes_truenodeids": [1, 3, 0, 0, 0, 1, 0, 0],
        "nodes_falsenodeids": [2, 4, 0, 0, 0, 2, 0, 0],
        f"{leaf}_treeids": [0, 0, 0, 1, 1],
        f"{leaf}_nodeids": [2, 3, 4, 1, 2],
        f"{leaf}_ids": [0, 1, 2, 2, 1],
    }
    found = {n: make.array(v, "int64") for n, v in whole.items()}
    codes = [MODES.index("BRANCH_LEQ") if t else LEAF for t in whole["nodes_truenodeids"]]
    found |= {
        "nodes_modes": make.array(codes, "uint8"),
        "nodes_values": make.uniform(8),
        f"{leaf}_weights": make.uniform(5),
    }
    return found


@op("_onnx_ml_TreeEnsembleRegressor")
class TreeEnsembleRegressor(Trees):
    """Trees whose leaves add to targets. Shapes: X (N, F) -> (N, n_targets), float32.
    Source: ONNX TreeEnsembleRegressor (ai.onnx.ml 1 to 4)."""

    aggregate_function: Aggregate = "SUM"
    n_targets: Count = 1
    target_ids: np.ndarray
    target_nodeids: np.ndarray
    target_treeids: np.ndarray
    target_weights: np.ndarray

    leaf = "target"

    def results(self):
        return self.n_targets

    def shape(self, x):
        want_rank(self, x, 1, 2, what="X")
        self.want_features(x)
        return (x[0] if len(x) == 2 else 1, self.n_targets)

    def dtype(self, x):
        return FLOAT32

    def meaning(self, x):
        forest = self.forest()
        scores, _ = forest.scores(_in_rows(x, forest.value.dtype), self.n_targets, self.aggregate_function)
        base = self._bases()
        if base is not None:
            scores = scores + base
        return transform_scores(scores, self.post_transform).astype(np.float32)

    def fused_form(self, F, x):
        found = fused_scores(F, x, self.forest(), self.n_targets, self.aggregate_function)
        if found is None:
            return None
        base = self._bases()
        scores = found[0] if base is None else F._npi_add(found[0], constant(F, base))
        return transformed(F, scores, self.post_transform)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(6, 3), n_targets=3, aggregate_function="MAX", **_example_trees(make, "target"))


@op("_onnx_ml_TreeEnsembleClassifier")
class TreeEnsembleClassifier(Trees, Classifier):
    """Trees whose leaves add to the scores of classes, of which the greatest wins. Where only one of two classes has scores, the
    second wins when they are above 0.5 (all weights positive) or 0, and those of the first class are taken for the second's:
    onnxruntime's reading of what the standard leaves open.

    Shapes: X (N, F) -> labels (N,), scores (N, C), float32. Source: ONNX TreeEnsembleClassifier (ai.onnx.ml 1 to 4)."""

    class_ids: np.ndarray
    class_nodeids: np.ndarray
    class_treeids: np.ndarray
    class_weights: np.ndarray
    classlabels_int64s: np.ndarray | None = None
    classlabels_strings: np.ndarray | None = None

    leaf = "class"

    def results(self):
        return len(self.labels())

    def labels(self):
        return labels_of(self.classlabels_int64s, self.classlabels_strings, int(self.class_ids.max(initial=0)) + 1)

    def shape(self, x):
        want_rank(self, x, 1, 2, what="X")
        self.want_features(x)
        return super().shape(x)

    def _alone(self) -> int | None:
        """The one of two classes that alone has scores."""
        ids, base = np.unique(self.class_ids), self.base_values
        return int(ids[0]) if len(self.labels()) == 2 and len(ids) == 1 and (base is None or len(base) < 2) else None

    def check(self):
        if self._alone() == 1 and self.base_values is not None and len(self.base_values):
            return "got scores for the second of two classes alone and one base value, which does not say whose it is"
        return super().check()

    def meaning(self, x):
        forest, labels = self.forest(), self.labels()
        scores, some = forest.scores(_in_rows(x, forest.value.dtype), len(labels), "SUM")
        base, alone = self._bases(), self._alone()
        if alone is not None:
            score = scores[:, alone] if base is None else scores[:, alone] + base[0]
            positive = bool((self.class_weights >= 0).all())
            chosen = (score > (0.5 if positive else 0)).astype(int)
            found = (
                transform_scores(scores, self.post_transform)
                if alone
                else two_scores(score, self.post_transform, positive)
            )
        else:
            if base is not None:
                scores, some = scores + base, np.ones_like(some)
            chosen = np.where(some | (len(labels) == 2), scores, -np.inf).argmax(1)
            found = transform_scores(scores, self.post_transform)
        return labels[chosen], found.astype(np.float32)

    def fused_form(self, F, x):
        labels = self.labels()
        found = None if labels.dtype == object else fused_scores(F, x, self.forest(), len(labels), "SUM")
        if found is None:
            return None
        scores, given = found
        base, alone = self._bases(), self._alone()
        if alone is not None:
            score = F.slice_axis(scores, axis=1, begin=alone, end=alone + 1)
            score = score if base is None else F._npi_add(score, constant(F, base[:1]))
            positive = bool((self.class_weights >= 0).all())
            kind = self.post_transform
            final = transformed(F, scores, kind) if alone else of_two(F, score, kind, positive)
            return labelled(F, labels, above(F, score, 0.5 if positive else 0), final)
        if base is not None:
            compared = scores = F._npi_add(scores, constant(F, base))
        else:
            least = constant(F, np.array(-np.inf, np.float32))
            compared = scores if len(labels) == 2 else F._npi_where(given, scores, least)
        final = transformed(F, scores, self.post_transform)
        return labelled(F, labels, F._npi_argmax(compared, axis=1), final)

    @classmethod
    def examples(cls, make):
        labels = make.array([3, 1, 7], "int64")
        yield make(
            make.uniform(6, 3), classlabels_int64s=labels, post_transform="SOFTMAX", **_example_trees(make, "class")
        )


@op("_onnx_ml_TreeEnsemble")
class TreeEnsemble(Standard):
    """Trees whose branches and leaves are numbered through on their own; a node may ask whether a feature is one of several values.

    Shapes: X (N, F) -> (N, n_targets), in the dtype of X. aggregate_function: AVERAGE, SUM, MIN, MAX by number; post_transform too.
    Source: ONNX TreeEnsemble (ai.onnx.ml 5)."""

    aggregate_function: int = 1
    leaf_targetids: np.ndarray
    leaf_weights: np.ndarray
    membership_values: np.ndarray | None = None
    n_targets: Count = 1
    nodes_falseleafs: np.ndarray
    nodes_falsenodeids: np.ndarray
    nodes_featureids: np.ndarray
    nodes_hitrates: np.ndarray | None = None
    nodes_missing_value_tracks_true: np.ndarray | None = None
    nodes_modes: np.ndarray
    nodes_splits: np.ndarray
    nodes_trueleafs: np.ndarray
    nodes_truenodeids: np.ndarray
    post_transform: int = 0
    tree_roots: np.ndarray

    exception = "walks trees that attributes hold"

    inputs = ("X",)
    types = {"X": FLOATS - {"bfloat16"}}

    def check(self):
        if self.aggregate_function not in range(4) or self.post_transform not in range(5):
            got = f"got aggregate_function={self.aggregate_function} and post_transform={self.post_transform}"
            return f"{got}, wanted 0 to 3 and 0 to 4"
        for name in self.fields:
            value = getattr(self, name)
            if isinstance(value, np.ndarray) and value.ndim != 1:
                return f"got {name} of {value.ndim} dimensions, wanted 1"
        for group in (
            [n for n in self.fields if n.startswith("nodes_") and (n not in UNUSED or self._is_filled(n))],
            [n for n in self.fields if n.startswith("leaf_")],
        ):
            lengths = {n: len(getattr(self, n)) for n in group}
            if len(set(lengths.values())) > 1:
                return f"got {lengths}, wanted equally many"
        asked, given = int((self.nodes_modes == MEMBER).sum()), len(self._sets())
        if asked > given:
            return f"got {asked} nodes that ask for members of {given} sets in membership_values, wanted a set for each"
        wrong = _wrong_numbers("nodes_modes", self.nodes_modes, LEAF)
        return wrong or _wrong_numbers("leaf_targetids", self.leaf_targetids, self.n_targets) or super().check()

    def shape(self, x):
        want_rank(self, x, 2, what="X")
        _want_features(self, x, self.nodes_featureids)
        return (x[0], self.n_targets)

    def _is_filled(self, name: str) -> bool:
        given = getattr(self, name)
        return given is not None and len(given) > 0

    def forest(self) -> Forest:
        """The trees, built once."""
        if "forest" not in self.memo:
            self.memo["forest"] = self._forest()
        return self.memo["forest"]

    def _forest(self) -> Forest:
        inner, leaves = len(self.nodes_modes), len(self.leaf_weights)
        yes = self.nodes_truenodeids + np.where(self.nodes_trueleafs, inner, 0)
        no = self.nodes_falsenodeids + np.where(self.nodes_falseleafs, inner, 0)
        own = inner + np.arange(leaves)
        tracks = self.nodes_missing_value_tracks_true
        missing = np.zeros(inner, bool) if tracks is None or not len(tracks) else tracks.astype(bool)

        def with_leaves(array: Array, fill: Any) -> Array:
            return np.concatenate([array, np.full(leaves, fill, array.dtype)])

        return Forest(
            with_leaves(self.nodes_featureids, 0),
            with_leaves(self.nodes_modes.astype(np.uint8), LEAF),
            with_leaves(self.nodes_splits, 0),
            with_leaves(missing, False),
            np.concatenate([yes, own]),
            np.concatenate([no, own]),
            self.tree_roots,
            *_payload(own, self.leaf_targetids, widen(self.leaf_weights), inner + leaves),
            self._members(),
        ).validated(self)

    def _members(self) -> dict[int, Array]:
        return {int(n): part for n, part in zip(np.flatnonzero(self.nodes_modes == MEMBER), self._sets())}

    def _sets(self) -> list[Array]:
        """The sets that membership_values holds, each ended by NaN."""
        values = np.zeros(0) if self.membership_values is None else self.membership_values
        parts = np.split(values, np.flatnonzero(np.isnan(values)) + 1)
        return [part[~np.isnan(part)] for part in (parts if parts[-1].size else parts[:-1])]

    def meaning(self, x):
        scores, _ = self.forest().scores(x, self.n_targets, AGGREGATES[self.aggregate_function])
        return transform_scores(scores, POST_TRANSFORMS[self.post_transform]).astype(x.dtype)

    def fused_form(self, F, x):
        found = fused_scores(F, x, self.forest(), self.n_targets, AGGREGATES[self.aggregate_function])
        return None if found is None else transformed(F, found[0], POST_TRANSFORMS[self.post_transform])

    def gradient(self, F, dy, *arrays):
        return None

    @classmethod
    def examples(cls, make):
        ids = {
            "tree_roots": [0, 2],
            "nodes_featureids": [0, 2, 1],
            "nodes_truenodeids": [1, 1, 3],
            "nodes_falsenodeids": [0, 2, 4],
            "nodes_trueleafs": [0, 1, 1],
            "nodes_falseleafs": [1, 1, 1],
            "leaf_targetids": [0, 1, 1, 0, 1],
        }
        attrs = {n: make.array(v, "int64") for n, v in ids.items()}
        attrs |= {
            "nodes_splits": make.uniform(3),
            "leaf_weights": make.uniform(5),
            "nodes_modes": make.array([0, 3, 1], "uint8"),
        }
        yield make(make.uniform(6, 3), n_targets=2, **attrs)
