"""Linear models and support vector machines (ai.onnx.ml), and what classifiers have in common: labels, and what becomes of scores.

Models compute in float32 whatever the dtype of X, as onnxruntime does; what the standard leaves open (two classes of which one
has a score) is read as there too."""

import functools
from typing import Any, Literal

import numpy as np

from ...core.attrs import Count, kind_of
from ...core.op import Op, op
from ...core.shapes import UNKNOWN, Shape, show
from ..activation import sigmoid
from ..common import want_rank
from ..softmax import softmax
from .base import FLOAT32, Standard
from .types import FEATURES

Array = np.ndarray
PostTransform = Literal["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"]
POST_TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")


def _softmax_zero(x: Array) -> Array:
    """Softmax that keeps zeros at zero; 0.5 each where all are."""
    top = x.max(-1, keepdims=True, initial=-np.inf)
    y = np.where(np.abs(x) > 1e-7, np.exp(x - top), x * np.exp(-top))
    whole = y.sum(-1, keepdims=True)
    return np.where(whole == 0, 0.5, y / np.where(whole == 0, 1, whole))


def _probit(x: Array) -> Array:
    """The inverse of the normal distribution function, by Winitzki's approximation with 0.147, as onnxruntime's and that of ONNX's
    reference."""
    x = 2 * x - 1
    log = np.log((1 - x) * (1 + x))
    half = 2 / (np.pi * 0.147) + log / 2
    return np.sqrt(2.0) * np.where(x < 0, -1, 1) * np.sqrt(np.sqrt(half * half - log / 0.147) - half)


_POST_TRANSFORMS = {
    "SOFTMAX": functools.partial(softmax, axis=-1),
    "LOGISTIC": sigmoid,
    "SOFTMAX_ZERO": _softmax_zero,
    "PROBIT": _probit,
}


def transform_scores(scores: Array, kind: PostTransform) -> Array:
    """Scores (N, C) after a post_transform, in their dtype."""
    return scores if kind == "NONE" else np.asarray(_POST_TRANSFORMS[kind](scores)).astype(scores.dtype, copy=False)


def transformed(F: Any, scores: Any, kind: PostTransform) -> Any:
    """As transform_scores, of an expression; None for what has no compiled code."""
    if kind == "NONE":
        return scores
    return {"SOFTMAX": F.softmax, "LOGISTIC": F.sigmoid}[kind](scores) if kind in ("SOFTMAX", "LOGISTIC") else None


def constant(F: Any, array: Array) -> Any:
    """An expression of that array."""
    return F._onnx_Constant(value=kind_of(np.ndarray).write(array))


def two_scores(score: Array, kind: PostTransform, positive: bool) -> Array:
    """Scores of two classes, (N, 2), of that of the second (N,): with it goes its complement, which is 1 - score when all weights
    are positive, for then it is a share, else -score; and -score before the logistic curve."""
    both = np.stack([-score, score], axis=1)
    if kind == "LOGISTIC":
        return sigmoid(both)
    if kind == "PROBIT":
        return _probit(np.stack([1 - score, score], axis=1)).astype(score.dtype)
    return np.stack([1 - score, score], axis=1) if positive else both


def want_features(op: Op, x: Shape, count: int) -> None:
    """Raise OpError unless the rows of X have so many features."""
    want_rank(op, x, 1, 2, what="X")
    if x[-1] is not UNKNOWN and x[-1] != count:
        raise op.error(f"got X of shape {show(x)}, wanted {count} features")


class Classifier(Standard):
    """Base of what gives a label and scores for each row. Shapes: X (N, F) or (F,) -> labels (N,), scores (N, C), float32."""

    exception = "a model with its numbers in attributes"

    inputs = ("X",)
    types = {"X": FEATURES}

    def output_names(self):
        return ("Y", "Z")

    def labels(self) -> Array:
        """The classes, int64 or words."""
        raise NotImplementedError

    def columns(self) -> int:
        """Number of scores."""
        return len(self.labels())

    def dtype(self, x):
        return [self.labels().dtype, FLOAT32]

    def shape(self, x):
        want_rank(self, x, 1, 2, what="X")
        count = self.features()
        if count is not None:
            want_features(self, x, count)
        rows = x[0] if len(x) == 2 else 1
        return [(rows,), (rows, self.columns())]

    def features(self) -> int | None:
        """Number of features the model was made for; None where it does not say."""
        return None

    def gradient(self, F, dy, *arrays):
        raise self.error("has no gradient")


def labels_of(ints: Array | None, strings: Array | None, count: int) -> Array:
    """The labels that a classifier is given, else the numbers from 0."""
    if strings is not None and strings.size:
        return strings.reshape(-1)
    return np.arange(count) if ints is None or not ints.size else ints.reshape(-1)


def rows_of(x: Array) -> Array:
    """(N, F) in float32."""
    return (x if x.ndim == 2 else x[None]).astype(np.float32)


@op("_onnx_ml_LinearClassifier")
class LinearClassifier(Classifier):
    """coefficients X + intercepts, one row of coefficients per class, or one alone for the second of two.

    Shapes: see Classifier. Source: ONNX LinearClassifier (ai.onnx.ml 1)."""

    classlabels_ints: np.ndarray | None = None
    classlabels_strings: np.ndarray | None = None
    coefficients: np.ndarray
    intercepts: np.ndarray | None = None
    multi_class: bool = False
    post_transform: PostTransform = "NONE"

    def labels(self):
        found = labels_of(self.classlabels_ints, self.classlabels_strings, self._rows())
        if self._rows() > 1:
            return found
        if len(found) == 2:
            return found
        return np.array(["0", "1"], object) if found.dtype == object else np.arange(2)

    def _label_count(self) -> int:
        """Number of labels."""
        return max(len(a) if a is not None else 0 for a in (self.classlabels_ints, self.classlabels_strings))

    def _rows(self) -> int:
        """Number of rows of coefficients."""
        return (
            len(self.intercepts)
            if self.intercepts is not None and len(self.intercepts)
            else max(self._label_count(), 1)
        )

    def columns(self):
        return 2 if self._rows() == 1 and self._label_count() == 2 else self._rows()

    def check(self):
        given = 0 if self.intercepts is None else len(self.intercepts)
        rows = self._rows()
        if self.coefficients.size % rows or 1 < rows != len(self.labels()):
            labels = self._label_count()
            return (
                f"got {self.coefficients.size} coefficients, {given} intercepts and {labels} labels, which do not fit"
            )
        return super().check()

    def features(self):
        return self.coefficients.size // self._rows()

    def meaning(self, x):
        x, labels = rows_of(x), self.labels()
        weights = self.coefficients.astype(np.float32).reshape(self._rows(), -1)
        scores = x @ weights.T
        if self.intercepts is not None and len(self.intercepts):
            scores = scores + self.intercepts.astype(np.float32)
        if self._rows() > 1:
            return labels[scores.argmax(1)], transform_scores(scores, self.post_transform)
        chosen = labels[(scores[:, 0] > 0).astype(int)]
        if self.columns() == 1:
            return chosen, transform_scores(scores, self.post_transform)
        return chosen, two_scores(scores[:, 0], self.post_transform, True)

    @classmethod
    def examples(cls, make):
        weights = {"coefficients": make.uniform(12), "intercepts": make.uniform(3)}
        yield make(
            make.uniform(5, 4), classlabels_ints=make.array([5, 7, 1], "int64"), post_transform="SOFTMAX", **weights
        )


@op("_onnx_ml_LinearRegressor")
class LinearRegressor(Standard):
    """coefficients X + intercepts, one row of coefficients per target. Shapes: X (N, F) -> (N, targets), float32.
    Source: ONNX LinearRegressor (ai.onnx.ml 1)."""

    coefficients: np.ndarray
    intercepts: np.ndarray | None = None
    post_transform: PostTransform = "NONE"
    targets: Count = 1

    exception = "a model with its numbers in attributes"

    inputs = ("X",)
    types = {"X": FEATURES}

    def shape(self, x):
        want_features(self, x, self.coefficients.size // self.targets)
        return (x[0] if len(x) == 2 else 1, self.targets)

    def check(self):
        given = 0 if self.intercepts is None else len(self.intercepts)
        if self.coefficients.size % self.targets or given not in (0, 1, self.targets):
            return f"got {self.coefficients.size} coefficients and {given} intercepts, wanted some for each of {self.targets}"
        return super().check()

    def dtype(self, x):
        return FLOAT32

    def meaning(self, x):
        y = rows_of(x) @ self.coefficients.astype(np.float32).reshape(self.targets, -1).T
        if self.intercepts is not None and len(self.intercepts):
            y = y + self.intercepts.astype(np.float32)
        return transform_scores(y, self.post_transform)

    def gradient(self, F, dy, x, y):
        if self.post_transform != "NONE":
            raise self.error(f"has no gradient with post_transform={self.post_transform}")
        weights = self.coefficients.astype(np.float32).reshape(self.targets, -1)
        return F._backward_cast_like(F.dot(dy, constant(F, weights)), x)

    @classmethod
    def examples(cls, make):
        weights = {"coefficients": make.uniform(8), "intercepts": make.uniform(2)}
        yield make(make.uniform(5, 4), targets=2, **weights)


# -- support vector machines -----------------------------------------------------------------------------------------------

Kernel = Literal["LINEAR", "POLY", "RBF", "SIGMOID"]


class Machine(Standard):
    """Base of support vector machines. kernel_params are gamma, coef0 and degree."""

    kernel_params: np.ndarray | None = None
    kernel_type: Kernel = "LINEAR"
    rho: np.ndarray | None = None
    support_vectors: np.ndarray | None = None
    post_transform: PostTransform = "NONE"
    coefficients: np.ndarray

    exception = "a model with its numbers in attributes"

    inputs = ("X",)
    types = {"X": FEATURES}

    def check(self):
        count = 0 if self.kernel_params is None else len(self.kernel_params)
        return f"got {count} kernel_params, wanted gamma, coef0 and degree" if count in (1, 2) else super().check()

    def kernel(self, x: Array, vectors: Array) -> Array:
        """(N, V) of rows of features."""
        given = self.kernel_params
        gamma, offset, degree = (0.0, 0.0, 0.0) if given is None or not len(given) else map(float, given[:3])
        if self.kernel_type == "RBF":
            near = ((x[:, None] - vectors) ** 2).sum(2) if x.size * len(vectors) < 1 << 22 else _distances(x, vectors)
            return np.exp(-np.float32(gamma) * near)
        products = x @ vectors.T
        if self.kernel_type == "LINEAR":
            return products
        products = products * np.float32(gamma) + np.float32(offset)
        return products ** np.float32(degree) if self.kernel_type == "POLY" else np.tanh(products)

    def _offsets(self) -> Array:
        return np.zeros(1, np.float32) if self.rho is None or not len(self.rho) else self.rho.astype(np.float32)


def _distances(x: Array, vectors: Array) -> Array:
    """Squared distances of rows, without an array of all differences."""
    return np.stack([((x - v) ** 2).sum(1) for v in vectors], axis=1)


@op("_onnx_ml_SVMRegressor")
class SVMRegressor(Machine):
    """rho + sum of coefficients times the kernel of X and the support vectors; or +1 and -1 by its sign, with one_class. Without
    n_supports, a linear model. Shapes: X (N, F) -> (N, 1), float32. Source: ONNX SVMRegressor (ai.onnx.ml 1)."""

    n_supports: int = 0
    one_class: bool = False

    def check(self):
        if not self.n_supports:
            return super().check()
        vectors = 0 if self.support_vectors is None else self.support_vectors.size
        none = self.n_supports < 0 or self.support_vectors is None
        if none or vectors % self.n_supports or self.coefficients.size != self.n_supports:
            return (
                f"got n_supports={self.n_supports}, {self.coefficients.size} coefficients and {vectors} numbers of vectors, "
                "which do not fit"
            )
        return super().check()

    def shape(self, x):
        vectors = self.support_vectors.size if self.support_vectors is not None and self.n_supports else 0
        want_features(self, x, vectors // self.n_supports if self.n_supports else self.coefficients.size)
        return (x[0] if len(x) == 2 else 1, 1)

    def dtype(self, x):
        return FLOAT32

    def meaning(self, x):
        x, weights = rows_of(x), self.coefficients.astype(np.float32)
        if self.n_supports:
            assert self.support_vectors is not None
            x = self.kernel(x, self.support_vectors.astype(np.float32).reshape(self.n_supports, -1))
        y = (x @ weights)[:, None] + self._offsets()[0]
        if self.one_class:
            return np.where(y > 0, 1, -1).astype(np.float32)
        return transform_scores(y, self.post_transform)

    def gradient(self, F, dy, *arrays):
        raise self.error("has no gradient")

    @classmethod
    def examples(cls, make):
        attrs = {
            "coefficients": make.uniform(3),
            "rho": make.uniform(1),
            "support_vectors": make.uniform(12),
            "n_supports": 3,
        }
        yield make(make.uniform(5, 4), kernel_type="RBF", kernel_params=make.array([0.5, 0, 0]), **attrs)


@op("_onnx_ml_SVMClassifier")
class SVMClassifier(Classifier, Machine):
    """One machine for every pair of classes, which vote; with prob_a and prob_b probabilities of all classes from those of the
    pairs (Wu, Lin and Weng 2004, as libsvm computes them). Without vectors_per_class, a linear model per class, whatever
    the kernel.

    Shapes: X (N, F) -> labels (N,), scores (N, pairs), or (N, C) of probabilities and linear models, float32.
    Source: ONNX SVMClassifier (ai.onnx.ml 1)."""

    classlabels_ints: np.ndarray | None = None
    classlabels_strings: np.ndarray | None = None
    prob_a: np.ndarray | None = None
    prob_b: np.ndarray | None = None
    vectors_per_class: np.ndarray | None = None

    def labels(self):
        return labels_of(self.classlabels_ints, self.classlabels_strings, self._classes())

    def _classes(self) -> int:
        named = [len(a) for a in (self.classlabels_strings, self.classlabels_ints) if a is not None]
        return max(*named, 1) if named else 1

    def check(self):
        count = self._classes()
        if not self._pairwise():
            fits = self.coefficients.size % count == 0
        else:
            assert self.vectors_per_class is not None
            vectors, pairs = int(self.vectors_per_class.sum()), count * (count - 1) // 2
            given = 0 if self.support_vectors is None else self.support_vectors.size
            probable = (a is None or len(a) in (0, pairs) for a in (self.prob_a, self.prob_b))
            fits = (
                len(self.vectors_per_class) == count
                and (self.vectors_per_class >= 0).all()
                and given > 0
                and given % vectors == 0
                and self.coefficients.size == (count - 1) * vectors
                and len(self._offsets()) >= pairs
                and all(probable)
                and (not self._probable() or self.prob_b is not None)
            )
        if not fits:
            return "its classes, vectors, coefficients, rho and probabilities are not as many as go together"
        return super().check()

    def features(self):
        if not self._pairwise():
            return self.coefficients.size // self._classes()
        assert self.vectors_per_class is not None and self.support_vectors is not None
        return self.support_vectors.size // int(self.vectors_per_class.sum())

    def _pairwise(self) -> bool:
        return self.vectors_per_class is not None and int(self.vectors_per_class.sum()) > 0

    def _probable(self) -> bool:
        return self.prob_a is not None and len(self.prob_a) > 0

    def columns(self):
        count = self._classes()
        if not self._pairwise() or self._probable():
            return count
        pairs = count * (count - 1) // 2
        return 2 if pairs == 1 else pairs

    def meaning(self, x):
        x, labels = rows_of(x), self.labels()
        if not self._pairwise():
            return self._linear(x, labels)
        scores, votes = self._pairs(x)
        best = votes.argmax(1)
        if self._probable():
            scores = self._probabilities(scores)
        if scores.shape[1] == 1:
            return labels[best], two_scores(scores[:, 0], self.post_transform, self.post_transform != "NONE")
        return labels[best], transform_scores(scores, self.post_transform)

    def _linear(self, x: Array, labels: Array):
        weights = self.coefficients.astype(np.float32).reshape(self._classes(), -1)
        scores = x @ weights.T + self._offsets()[0]  # a kernel is for support vectors: kernel_type says nothing
        return labels[scores.argmax(1)], transform_scores(scores, self.post_transform)

    def _pairs(self, x: Array) -> tuple[Array, Array]:
        """(scores of the pairs, (N, pairs); votes for the classes, (N, C))."""
        assert self.vectors_per_class is not None and self.support_vectors is not None
        ends = np.cumsum(self.vectors_per_class)
        parts = [slice(e - n, e) for e, n in zip(ends, self.vectors_per_class)]
        near = self.kernel(x, self.support_vectors.astype(np.float32).reshape(int(ends[-1]), -1))
        weights = self.coefficients.astype(np.float32).reshape(-1, int(ends[-1]))
        votes, scores, offsets = np.zeros((len(x), len(ends)), np.float32), [], self._offsets()
        for i in range(len(ends)):
            for j in range(i + 1, len(ends)):
                score = (
                    near[:, parts[i]] @ weights[j - 1, parts[i]]
                    + near[:, parts[j]] @ weights[i, parts[j]]
                    + offsets[len(scores)]
                )
                votes[np.arange(len(x)), np.where(score > 0, i, j)] += 1
                scores.append(score)
        return np.stack(scores, axis=1), votes

    def _probabilities(self, pairs: Array) -> Array:
        assert self.prob_a is not None and self.prob_b is not None
        count = self._classes()
        rate = np.zeros((len(pairs), count, count))
        first, second = np.triu_indices(count, 1)
        found = 1 - sigmoid(pairs.astype(np.float64) * self.prob_a + self.prob_b)
        rate[:, first, second] = np.clip(found, 1e-7, 1 - 1e-7)
        rate[:, second, first] = 1 - rate[:, first, second]
        return _couple_pairs(rate).astype(np.float32)

    @classmethod
    def examples(cls, make):
        attrs = {
            "vectors_per_class": make.array([2, 1, 2], "int64"),
            "classlabels_ints": make.array([0, 1, 2], "int64"),
        }
        attrs |= {"coefficients": make.uniform(10), "support_vectors": make.uniform(20), "rho": make.uniform(3)}
        attrs |= {"kernel_type": "RBF", "kernel_params": make.array([0.5, 0, 0])}
        yield make(make.uniform(5, 4), **attrs)
        yield make(make.uniform(5, 4), prob_a=make.uniform(3, low=-2), prob_b=make.uniform(3), **attrs)


def _couple_pairs(rate: Array) -> Array:
    """Probabilities (N, C) of classes from those of i rather than j, (N, C, C): the fixed point iteration of Wu, Lin and Weng 2004,
    algorithm 2, to the precision that libsvm ends at."""
    count = rate.shape[1]
    between = -rate.swapaxes(1, 2) * rate
    among = np.arange(count)
    between[:, among, among] = (rate**2).sum(1)
    chance = np.full(rate.shape[:2], 1 / count)
    active = np.arange(len(rate))
    for _ in range(max(100, count)):
        q, p = between[active], chance[active]
        qp = np.einsum("nij,nj->ni", q, p)
        total = (p * qp).sum(1)
        on = np.abs(qp - total[:, None]).max(1, initial=0) >= 0.005 / count
        active, q, p, qp, total = active[on], q[on], p[on], qp[on], total[on]
        if not active.size:
            break
        for t in range(count):
            step = (total - qp[:, t]) / q[:, t, t]
            p[:, t] += step
            total = (total + step * (step * q[:, t, t] + 2 * qp[:, t])) / (1 + step) ** 2
            qp = (qp + step[:, None] * q[:, t]) / (1 + step)[:, None]
            p /= (1 + step)[:, None]
        chance[active] = p
    return chance
