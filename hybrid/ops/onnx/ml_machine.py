"""Support vector machines (ai.onnx.ml), in float32 whatever the dtype of X, as onnxruntime's."""

import itertools
from typing import Any, Literal

import numpy as np

from ...core.op import op
from ..activation import sigmoid
from .base import FLOAT32, Standard
from .ml_linear import (
    Classifier,
    PostTransform,
    constant,
    fused_rows,
    labelled,
    labels_of,
    linear,
    of_two,
    rows_of,
    transform_scores,
    transformed,
    two_scores,
    want_features,
)
from .types import FEATURES

Array = np.ndarray
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

    def _numbers(self) -> tuple[float, float, float]:
        """gamma, coef0 and degree."""
        given = self.kernel_params
        if given is None or not len(given):
            return 0.0, 0.0, 0.0
        gamma, offset, degree = map(float, given[:3].astype(np.float32))
        return gamma, offset, degree

    def kernel(self, x: Array, vectors: Array) -> Array:
        """(N, V) of rows of features."""
        gamma, offset, degree = self._numbers()
        if self.kernel_type == "RBF":
            return np.exp(-np.float32(gamma) * distances(x, vectors))
        products = x @ vectors.T
        if self.kernel_type == "LINEAR":
            return products
        products = products * np.float32(gamma) + np.float32(offset)
        return products ** np.float32(degree) if self.kernel_type == "POLY" else np.tanh(products)

    def fused_kernel(self, F: Any, x: Any, vectors: Array) -> Any:
        """As kernel, of an expression."""
        gamma, offset, degree = self._numbers()
        if self.kernel_type == "RBF":
            near = F._fused_distances(x, constant(F, np.ascontiguousarray(vectors, np.float32)))
            return F.exp(F._npi_multiply_scalar(near, scalar=-gamma))
        products = linear(F, x, vectors, None)
        if self.kernel_type == "LINEAR":
            return products
        products = F._npi_add_scalar(F._npi_multiply_scalar(products, scalar=gamma), scalar=offset)
        return F._npi_power_scalar(products, scalar=degree) if self.kernel_type == "POLY" else F.tanh(products)

    def _offsets(self) -> Array:
        return np.zeros(1, np.float32) if self.rho is None or not len(self.rho) else self.rho.astype(np.float32)


def distances(x: Array, vectors: Array) -> Array:
    """Squared distances of rows (N, V); of many without an array of all differences."""
    if x.size * len(vectors) < 1 << 22:
        return ((x[:, None] - vectors) ** 2).sum(2)
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

    def fused_form(self, F, x):
        rows = fused_rows(F, x)
        if rows is None:
            return None
        if self.n_supports:
            assert self.support_vectors is not None
            rows = self.fused_kernel(F, rows, self.support_vectors.reshape(self.n_supports, -1))
        y = linear(F, rows, self.coefficients.reshape(1, -1), self._offsets()[:1])
        if self.one_class:
            positive = F.Cast(F._npi_greater_scalar(y, scalar=0), dtype="float32")
            return F._npi_subtract_scalar(F._npi_multiply_scalar(positive, scalar=2), scalar=1)
        return transformed(F, y, self.post_transform)

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

    def fused_form(self, F, x):
        rows, labels, count = fused_rows(F, x), self.labels(), self._classes()
        if rows is None or labels.dtype == object:
            return None
        if not self._pairwise():
            offsets = np.broadcast_to(self._offsets()[:1], count)
            scores = linear(F, rows, self.coefficients.reshape(count, -1), offsets)
            return labelled(F, labels, F._npi_argmax(scores, axis=1), transformed(F, scores, self.post_transform))
        if count < 2:
            return None
        vectors, *parts = (np.ascontiguousarray(a) for a in self._parts())
        scores, best = F._fused_pairs(self.fused_kernel(F, rows, vectors), *(constant(F, a) for a in parts))
        if self._probable():
            assert self.prob_a is not None and self.prob_b is not None and len(self.prob_b)
            rates = (constant(F, a.astype(np.float32)) for a in (self.prob_a, self.prob_b))
            scores = F._fused_coupling(scores, *rates, count=count)
        elif count == 2:
            return labelled(F, labels, best, of_two(F, scores, self.post_transform, self.post_transform != "NONE"))
        return labelled(F, labels, best, transformed(F, scores, self.post_transform))

    def _parts(self) -> tuple[Array, Array, Array, Array]:
        """Vectors (V, F), and coefficients, starts and offsets as PairwiseVotes has them (hybrid/ops/machines.py)."""
        assert self.vectors_per_class is not None and self.support_vectors is not None
        starts = np.concatenate([[0], np.cumsum(self.vectors_per_class)]).astype(np.int64)
        count = len(starts) - 1
        vectors = self.support_vectors.astype(np.float32).reshape(int(starts[-1]), -1)
        coefficients = self.coefficients.astype(np.float32).reshape(-1, int(starts[-1]))
        return vectors, coefficients, starts, self._offsets()[: count * (count - 1) // 2]

    def _pairs(self, x: Array) -> tuple[Array, Array]:
        """(scores of the pairs, (N, pairs); votes for the classes, (N, C))."""
        vectors, *parts = self._parts()
        return vote(self.kernel(x, vectors), *parts)

    def _probabilities(self, pairs: Array) -> Array:
        assert self.prob_a is not None and self.prob_b is not None
        return probabilities(pairs, self.prob_a, self.prob_b, self._classes())

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


def vote(near: Array, coefficients: Array, starts: Array, offsets: Array) -> tuple[Array, Array]:
    """(scores of the machines for each pair, (N, pairs); votes for the classes, (N, C)), as PairwiseVotes says it
    (hybrid/ops/machines.py)."""
    parts = [slice(*ends) for ends in itertools.pairwise(starts)]
    votes, scores = np.zeros((len(near), len(parts)), np.float32), []
    for i in range(len(parts)):
        for j in range(i + 1, len(parts)):
            score = (
                near[:, parts[i]] @ coefficients[j - 1, parts[i]]
                + near[:, parts[j]] @ coefficients[i, parts[j]]
                + offsets[len(scores)]
            )
            votes[np.arange(len(near)), np.where(score > 0, i, j)] += 1
            scores.append(score)
    return np.stack(scores, axis=1), votes


def probabilities(pairs: Array, a: Array, b: Array, count: int) -> Array:
    """Probabilities of the classes (N, C) from the scores of the machines for their pairs, (N, pairs)."""
    rate = np.zeros((len(pairs), count, count))
    first, second = np.triu_indices(count, 1)
    found = 1 - sigmoid(pairs.astype(np.float64) * a + b)
    rate[:, first, second] = np.clip(found, 1e-7, 1 - 1e-7)
    rate[:, second, first] = 1 - rate[:, first, second]
    return _couple_pairs(rate).astype(np.float32)


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
