"""Losses of classes."""

from typing import Any, Literal

import numpy as np

from ...core.op import op
from ...core.shapes import merge
from ..common import narrow, widen
from ..composing import definite, known, narrowly, widely
from ..softmax import log_softmax
from .base import Standard
from .types import FLOATS, INDICES


class ClassLoss(Standard):
    """Base of losses that pick out the class of each element.

    ignore_index: a class whose elements do not count; reduction: the sum of the losses, their mean weighted by the
    weights of the classes, or none. Shapes: (N, C, D1, ..., Dk), classes (N, D1, ..., Dk), weights (C,) -> (), or the
    classes' without reduction."""

    refuses_values = True

    ignore_index: int | None = None
    reduction: Literal["mean", "none", "sum"] = "mean"

    tolerance = 64.0

    def check_shapes(self, scores, labels, weights):
        """Raise OpError or ValueError unless they fit."""
        if len(scores) < 2:
            raise self.error(f"got {self.inputs[0]} of {len(scores)} dimensions, wanted at least 2")
        merge((scores[0], *scores[2:]), labels)
        if weights is not None:
            merge(scores[1:2], weights)

    def loss_shape(self, labels):
        return labels if self.reduction == "none" else ()

    def shares(
        self, labels: np.ndarray, weights: np.ndarray | None, size: int, dtype: np.dtype
    ) -> tuple[np.ndarray, np.ndarray]:
        """Of each element the class of ``size``, 0 for those that do not count, and what its loss is multiplied by (but for the
        mean)."""
        counts = np.ones(labels.shape, bool) if self.ignore_index is None else labels != self.ignore_index
        classes = np.where(counts, labels, 0)
        if ((classes < -size) | (classes >= size)).any():
            raise self.error(
                f"got class {classes.max() if (classes >= size).any() else classes.min()}, wanted 0 to {size - 1}"
            )
        share = counts.astype(dtype)
        return classes, share if weights is None else share * weights[classes]

    def total(self, share: np.ndarray) -> np.ndarray:
        """Divisor of the result."""
        return share.sum() if self.reduction == "mean" else share.dtype.type(1)

    def composed_loss(self, F: Any, log_prob: Any, labels: Any, weights: Any) -> Any:
        """loss, of symbols."""
        share, classes = F.ones_like(labels), labels
        if self.ignore_index is not None:
            share = F._not_equal_scalar(labels, scalar=self.ignore_index)
            classes = labels * share
        picked = F.pick(log_prob, classes, axis=1, mode="wrap")
        share = F._npi_multiply(F.ones_like(picked), share)
        share = share if weights is None else share * F.take(weights, classes, mode="wrap")
        each = F._npi_where(F._equal_scalar(share, scalar=0), F.zeros_like(picked), -picked * share)
        if self.reduction == "none":
            return each
        total = F._np_sum(each)
        return total if self.reduction == "sum" else F.broadcast_div(total, F._np_sum(share))

    def loss(self, log_prob: np.ndarray, labels: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        """The loss, of log probabilities in float32 or wider."""
        wide = None if weights is None else widen(weights)
        classes, share = self.shares(labels, wide, log_prob.shape[1], log_prob.dtype)
        picked = np.take_along_axis(log_prob, np.expand_dims(classes, 1), 1).squeeze(1)
        each = np.where(share == 0, share.dtype.type(0), -picked * share)
        return each if self.reduction == "none" else np.asarray(each.sum() / self.total(share))

    def slopes(self, F: Any, dy: Any, log_prob: Any, labels: Any, weights: tuple, loss: Any) -> list[Any]:
        """The gradients of log_prob and, where there are any, of the weights; dy is that of the loss."""
        mask = F._backward__onnx_classes(log_prob, labels, ignore_index=self.ignore_index)
        broadcast = [F._backward_slopes(w, log_prob) for w in weights]
        share = F.broadcast_mul(mask, broadcast[0]) if weights else mask
        each = F.expand_dims(dy, axis=1) if self.reduction == "none" else dy
        if self.reduction == "mean":
            each = F.broadcast_div(dy, F._np_sum(share))
        found = [-F.broadcast_mul(share, each)]
        if weights:
            away = F.broadcast_add(log_prob, loss) if self.reduction == "mean" else log_prob
            picked = F.broadcast_mul(F.where(mask, away, F.zeros_like(away)), each)
            found.append(-F._backward_reshape_like(F._backward_sum_like(picked, broadcast[0]), weights[0]))
        return found


@op("_backward__onnx_classes")
class Classes(Standard):
    """1 at the class of each element that counts, else 0. Shapes: (N, C, D1, ..., Dk), (N, D1, ..., Dk) -> as the first."""

    ignore_index: int | None = None

    inputs = ("scores", "labels")

    def shape(self, scores, labels):
        if len(scores) < 2:
            raise self.error(f"got scores of {len(scores)} dimensions, wanted at least 2")
        merge((scores[0], *scores[2:]), labels)
        return scores

    def meaning(self, scores, labels):
        along = np.arange(scores.shape[1]).reshape(-1, *(1,) * (scores.ndim - 2))
        places = np.expand_dims(np.where(labels < 0, labels + scores.shape[1], labels), 1) == along
        if self.ignore_index is not None:
            places &= np.expand_dims(labels != self.ignore_index, 1)
        return places.astype(scores.dtype)

    def gradient(self, F, dy, scores, labels, y):
        return None


@op("_onnx_NegativeLogLikelihoodLoss")
class NegativeLogLikelihoodLoss(ClassLoss):
    __doc__ = f"""The input at the class of each element, negated. {ClassLoss.__doc__}

    Source: ONNX NegativeLogLikelihoodLoss (opset 12 to newest)."""

    inputs = ("input", "target", "weight")
    types = {"input weight": FLOATS, "target": INDICES}
    optional = ("weight",)

    def shape(self, input, target, weight=None):
        self.check_shapes(input, target, weight)
        return self.loss_shape(target)

    def composition(self, F, input, target, weight=None):
        if not known(input, target) or 0 in definite(input.shape):
            return None
        wide, *weights = widely(F, input.dtype, input, *(() if weight is None else (weight,)))
        return narrowly(F, input.dtype, self.composed_loss(F, wide, target, weights[0] if weights else None))

    def meaning(self, input, target, weight=None):
        return narrow(self.loss(widen(input), target, weight), input.dtype)

    def gradient(self, F, dy, input, target, *weight_and_y):
        *weight, loss = weight_and_y
        slope, *weights = self.slopes(F, dy, input, target, tuple(weight), loss)
        return [slope, None, *weights]

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 5), make.integers(3, high=5, dtype="int64"))
        yield make(make.uniform(2, 5, 3), make.integers(2, 3, high=5, dtype="int64"), reduction="none", ignore_index=1)
        weight = make.uniform(5, low=0.5)
        yield make(make.uniform(4, 5), make.array([1, 2, 4, 1], "int64"), weight, given=("weight",), ignore_index=2)


@op("_onnx_SoftmaxCrossEntropyLoss")
class SoftmaxCrossEntropyLoss(ClassLoss):
    __doc__ = f"""The logarithm of softmax over axis 1 at the class of each element, negated. {ClassLoss.__doc__}

    The second output is the logarithm of softmax, as scores. Source: ONNX SoftmaxCrossEntropyLoss (opset 12 to newest)."""

    refuses_values = False  # what it is composed of does

    inputs = ("scores", "labels", "weights")
    types = {"scores weights": FLOATS, "labels": INDICES}
    optional = ("weights",)

    def output_names(self):
        return ("output", "log_prob")

    def shape(self, scores, labels, weights=None):
        self.check_shapes(scores, labels, weights)
        return [self.loss_shape(labels), scores]

    def composition(self, F, scores, labels, weights=None):
        if not known(scores, labels) or 0 in definite(scores.shape):
            return None
        wide, *given = widely(F, scores.dtype, scores, *(() if weights is None else (weights,)))
        log_prob = F.log_softmax(wide, axis=1)
        attrs = {"ignore_index": self.ignore_index, "reduction": self.reduction}
        loss = F._onnx_NegativeLogLikelihoodLoss(log_prob, labels, *given, given=("weight",) if given else (), **attrs)
        return tuple(narrowly(F, scores.dtype, y) for y in (loss, log_prob))

    def meaning(self, scores, labels, weights=None):
        log_prob = log_softmax(widen(scores), 1)
        return narrow(self.loss(log_prob, labels, weights), scores.dtype), narrow(log_prob, scores.dtype)

    def gradient(self, F, dy, scores, labels, *weights_and_ys):
        *weights, loss, log_prob = weights_and_ys
        slope, *found = self.slopes(F, dy[0], log_prob, labels, tuple(weights), loss)
        return [F._backward_log_softmax(slope + dy[1], log_prob, axis=1), None, *found]

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 5), make.integers(3, high=5, dtype="int64"))
        yield make(make.uniform(2, 5, 3), make.integers(2, 3, high=5, dtype="int64"), reduction="none", ignore_index=1)
        weights = make.uniform(5, low=0.5)
        yield make(make.uniform(4, 5), make.array([1, 2, 4, 1], "int64"), weights, given=("weights",), reduction="sum")
