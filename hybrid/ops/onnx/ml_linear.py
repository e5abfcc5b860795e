"""Linear models (ai.onnx.ml), and what classifiers have in common: labels, and what becomes of scores.

Models compute in float32 whatever the dtype of X, as onnxruntime does; what the standard leaves open (two classes of which one
has a score) is read as there too."""

import functools
from typing import Any, Literal

import numpy as np

from ...core.attrs import Count, kind_of
from ...core.op import Op, lookup, op
from ...core.shapes import UNKNOWN, Shape, show
from ..activation import sigmoid
from ..common import want_rank
from ..softmax import softmax
from .base import FLOAT32, OBJECT, Standard
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


def of_two(F: Any, score: Any, kind: PostTransform, positive: bool) -> Any:
    """As two_scores, of an expression (N, 1); None for what has no compiled code."""
    if kind == "PROBIT":
        return None
    logistic = kind == "LOGISTIC"
    other = F._npi_rsubtract_scalar(score, scalar=1.0) if positive and not logistic else F.negative(score)
    both = F.Concat(other, score, dim=1)
    return F.sigmoid(both) if logistic else both


def labelled(F: Any, labels: Array, places: Any, scores: Any) -> Any:
    """Labels and scores, of expressions of the places of labels and of the scores; None where there are no scores."""
    return None if scores is None else (F.take(constant(F, labels), places), scores)


def above(F: Any, score: Any, least: float) -> Any:
    """1 in the place of scores (N, 1) that are above a number, else 0, of an expression. Shapes: (N, 1) -> (N,), int64."""
    return F.Cast(F._np_reshape(F._npi_greater_scalar(score, scalar=least), newshape=(-1,)), dtype="int64")


def linear(F: Any, x: Any, weights: Array, offsets: Array | None) -> Any:
    """X weights^T + offsets, of an expression (N, F) and weights (O, F)."""
    options = {"num_hidden": len(weights), "flatten": False}
    weights = np.ascontiguousarray(weights, np.float32)
    if offsets is None:
        return F.FullyConnected(x, constant(F, weights), no_bias=True, **options)
    return F.FullyConnected(x, constant(F, weights), constant(F, offsets.astype(np.float32)), **options)


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

    def in_numbers(self):
        words, fields = self.labels(), {n: getattr(self, n) for n in self.fields}
        given = fields.get("classlabels_strings")
        if words.dtype != OBJECT or given is None:
            return None
        ints = next(n for n in fields if n.startswith("classlabels_int"))
        op: Any = type(self).bind(**fields | {"classlabels_strings": None, ints: np.arange(given.size)})
        if not np.array_equal(op.labels(), np.arange(len(words))) or op.columns() != self.columns():
            return None
        return op, (lookup("_fused_words").bind(words=words), None)

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


def fused_rows(F: Any, x: Any) -> Any:
    """As rows_of, of an expression; None where it is not known what that is."""
    if x.shape is None or x.dtype is None or x.dtype.hasobject or len(x.shape) not in (1, 2):
        return None
    y = x if x.dtype == FLOAT32 else F.Cast(x, dtype=FLOAT32)
    return y if len(x.shape) == 2 else F._np_reshape(y, newshape=(1, -1))


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

    def fused_form(self, F, x):
        rows, labels = fused_rows(F, x), self.labels()
        if rows is None or labels.dtype == object:
            return None
        offsets = None if self.intercepts is None or not len(self.intercepts) else self.intercepts
        scores = linear(F, rows, self.coefficients.reshape(self._rows(), -1), offsets)
        if self._rows() > 1:
            return labelled(F, labels, F._npi_argmax(scores, axis=1), transformed(F, scores, self.post_transform))
        alone = self.columns() == 1
        final = transformed(F, scores, self.post_transform) if alone else of_two(F, scores, self.post_transform, True)
        return labelled(F, labels, above(F, scores, 0), final)

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

    def fused_form(self, F, x):
        rows = fused_rows(F, x)
        if rows is None:
            return None
        offsets = None if self.intercepts is None or not len(self.intercepts) else self.intercepts
        whole = None if offsets is None else np.broadcast_to(offsets, self.targets)
        return transformed(F, linear(F, rows, self.coefficients.reshape(self.targets, -1), whole), self.post_transform)

    def gradient(self, F, dy, x, y):
        if self.post_transform != "NONE":
            raise self.error(f"has no gradient with post_transform={self.post_transform}")
        weights = self.coefficients.astype(np.float32).reshape(self.targets, -1)
        return F._backward_cast_like(F.dot(dy, constant(F, weights)), x)

    @classmethod
    def examples(cls, make):
        weights = {"coefficients": make.uniform(8), "intercepts": make.uniform(2)}
        yield make(make.uniform(5, 4), targets=2, **weights)
