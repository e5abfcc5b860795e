"""Losses: predictions and labels to one number for each sample of the batch."""

from __future__ import annotations

import math
from typing import Any

from ..ndarray import NDArray
from .block import HybridBlock

__all__ = [
    "CTCLoss",
    "CosineEmbeddingLoss",
    "HingeLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "L2Loss",
    "LogisticLoss",
    "Loss",
    "PoissonNLLLoss",
    "SDMLLoss",
    "SigmoidBCELoss",
    "SigmoidBinaryCrossEntropyLoss",
    "SoftmaxCELoss",
    "SoftmaxCrossEntropyLoss",
    "SquaredHingeLoss",
    "TripletLoss",
]


class Loss(HybridBlock):
    """Base class. weight scales the whole loss (None: 1), batch_axis is the axis that the mean leaves alone.

    Where a loss takes sample_weight, it is an array that broadcasts to the elementwise loss.

    Examples
    --------
    >>> from gluonnx import mx
    >>> class MaxLoss(mx.gluon.loss.Loss):
    ...     def hybrid_forward(self, F, pred, label):
    ...         return F.max(F.abs(pred - label), axis=self._batch_axis, exclude=True)
    >>> loss = MaxLoss(weight=None, batch_axis=0)
    >>> loss(mx.nd.array([[1, 2], [3, 4]]), mx.nd.array([[1, 5], [3, 3]])).asnumpy()
    array([3., 1.], dtype=float32)
    """

    def __init__(self, weight: float | None, batch_axis: int, **kwargs: Any):
        super().__init__(**kwargs)
        self._weight, self._batch_axis = weight, batch_axis

    def hybrid_forward(self, F: Any, x: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N803  MXNet's name for "nd or sym"
        """The loss of each sample. Raises NotImplementedError: a loss must define it."""
        raise NotImplementedError(f"{type(self).__name__} must define hybrid_forward")

    def _apply_weight(self, F: Any, loss: Any, sample_weight: Any) -> Any:  # noqa: N803
        return _apply_weighting(F, loss, self._weight, sample_weight)

    def _mean(self, F: Any, loss: Any) -> Any:  # noqa: N803
        return F.mean(loss, axis=self._batch_axis, exclude=True)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(batch_axis={self._batch_axis}, w={self._weight})"


def _apply_weighting(F: Any, loss: Any, weight: float | None = None, sample_weight: Any = None) -> Any:  # noqa: N803
    """loss times the weights that are given. Raises AssertionError for a weight that is no number."""
    if sample_weight is not None:
        loss = F.broadcast_mul(loss, sample_weight)
    if weight is not None:
        if not isinstance(weight, int | float):
            raise AssertionError(f"weight must be a number, got {type(weight).__name__}")
        loss = loss * weight
    return loss


def _reshape_like(F: Any, x: Any, y: Any) -> Any:  # noqa: N803
    """x in the shape of y."""
    return x.reshape(y.shape) if isinstance(x, NDArray) else F.reshape_like(x, y)


def _softrelu(F: Any, x: Any) -> Any:  # noqa: N803
    return F.Activation(x, act_type="softrelu")


class L2Loss(Loss):
    """weight / 2 (label - pred)^2, averaged. label is reshaped to pred (N, ...); gives (N,).

    Parameters
    ----------
    weight : float or None, default 1.0
        Number that the loss is multiplied by; None: 1.
    batch_axis : int, default 0
        Axis of the batch, which keeps one loss for each of its places.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.gluon.loss.L2Loss()(mx.nd.array([[1.0, 3.0]]), mx.nd.array([[1.0, 1.0]])).asnumpy().tolist()
    [1.0]"""

    def __init__(self, weight: float | None = 1.0, batch_axis: int = 0, **kwargs: Any):
        super().__init__(weight, batch_axis, **kwargs)

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:  # noqa: N803
        """The loss of each sample."""
        loss = F.square(_reshape_like(F, label, pred) - pred)
        half = None if self._weight is None else self._weight / 2
        return self._mean(F, _apply_weighting(F, loss, half, sample_weight))


class L1Loss(Loss):
    """weight |label - pred|, averaged. label is reshaped to pred (N, ...); gives (N,).

    Parameters
    ----------
    weight : float or None, default None
        Number that the loss is multiplied by; None: 1.
    batch_axis : int, default 0
        Axis of the batch, which keeps one loss for each of its places.

    Examples
    --------
    >>> from gluonnx import mx
    >>> loss = mx.gluon.loss.L1Loss()
    >>> loss(mx.nd.array([[1, 2], [3, 4]]), mx.nd.array([[1, 5], [3, 3]])).asnumpy().round(3)
    array([1.5, 0.5], dtype=float32)
    """

    def __init__(self, weight: float | None = None, batch_axis: int = 0, **kwargs: Any):
        super().__init__(weight, batch_axis, **kwargs)

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:  # noqa: N803
        """The loss of each sample."""
        loss = F.abs(_reshape_like(F, label, pred) - pred)
        return self._mean(F, self._apply_weight(F, loss, sample_weight))


class SigmoidBinaryCrossEntropyLoss(Loss):
    """-(pos_weight label log p + (1 - label) log(1 - p)), averaged, where p = sigmoid(pred), or pred with from_sigmoid.

    label is reshaped to pred (N, ...), pos_weight broadcasts to it; gives (N,).

    Parameters
    ----------
    weight : float or None, default None
        Number that the loss is multiplied by; None: 1.
    batch_axis : int, default 0
        Axis of the batch, which keeps one loss for each of its places.

    Examples
    --------
    >>> from gluonnx import mx
    >>> loss = mx.gluon.loss.SigmoidBinaryCrossEntropyLoss()
    >>> loss(mx.nd.array([[0], [2]]), mx.nd.array([[1], [0]])).asnumpy().round(3)
    array([0.693, 2.127], dtype=float32)
    """

    def __init__(self, from_sigmoid: bool = False, weight: float | None = None, batch_axis: int = 0, **kwargs: Any):
        super().__init__(weight, batch_axis, **kwargs)
        self._from_sigmoid = from_sigmoid

    def hybrid_forward(
        self,
        F: Any,  # noqa: N803
        pred: Any,
        label: Any,
        sample_weight: Any = None,
        pos_weight: Any = None,
    ) -> Any:
        """The loss of each sample."""
        label = _reshape_like(F, label, pred)
        if self._from_sigmoid:
            tiny = 1e-12
            positive = F.log(pred + tiny) * label
            if pos_weight is not None:
                positive = F.broadcast_mul(positive, pos_weight)
            loss = -(positive + F.log(1.0 - pred + tiny) * (1.0 - label))
        elif pos_weight is None:  # -log p = relu(-x) + log(1 + exp(-|x|)): no exp of a large number
            loss = F.relu(pred) - pred * label + _softrelu(F, -F.abs(pred))
        else:
            scale = 1 + F.broadcast_mul(pos_weight - 1, label)
            loss = pred - pred * label + scale * (_softrelu(F, -F.abs(pred)) + F.relu(-pred))
        return self._mean(F, self._apply_weight(F, loss, sample_weight))


SigmoidBCELoss = SigmoidBinaryCrossEntropyLoss


class SoftmaxCrossEntropyLoss(Loss):
    """-log of the probability of the label, averaged.

    pred (N, ..., C, ...) holds scores, or log-probabilities with from_logits; axis is that of the C classes. label has the
    shape of pred without that axis, or with sparse_label off is reshaped to pred and holds probabilities. Gives (N,). A label
    below 0 or above C - 1 counts as the nearest class: nothing is said of it.

    Parameters
    ----------
    axis : int, default -1
        Axis of the classes; negative ones count from the last.
    weight : float or None, default None
        Number that the loss is multiplied by; None: 1.
    batch_axis : int, default 0
        Axis of the batch, which keeps one loss for each of its places.

    Examples
    --------
    >>> from gluonnx import mx
    >>> loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    >>> loss(mx.nd.array([[2.0, 2.0], [9.0, -9.0]]), mx.nd.array([1, 0])).round().asnumpy().tolist()
    [1.0, 0.0]"""

    def __init__(
        self,
        axis: int = -1,
        sparse_label: bool = True,
        from_logits: bool = False,
        weight: float | None = None,
        batch_axis: int = 0,
        **kwargs: Any,
    ):
        super().__init__(weight, batch_axis, **kwargs)
        self._axis, self._sparse_label, self._from_logits = axis, sparse_label, from_logits

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:  # noqa: N803
        """The loss of each sample."""
        if not self._from_logits:
            pred = F.log_softmax(pred, axis=self._axis)
        if self._sparse_label:
            loss = -F.pick(pred, label, axis=self._axis, keepdims=True)
        else:
            loss = -F.sum(pred * _reshape_like(F, label, pred), axis=self._axis, keepdims=True)
        return self._mean(F, self._apply_weight(F, loss, sample_weight))


SoftmaxCELoss = SoftmaxCrossEntropyLoss


class KLDivLoss(Loss):
    """label (log label - pred), summed: the divergence from distribution label to pred, both (N, ...); gives (N,).

    pred holds log-probabilities, or with from_logits off scores along axis.

    Parameters
    ----------
    axis : int, default -1
        Axis of the classes; negative ones count from the last.
    weight : float or None, default None
        Number that the loss is multiplied by; None: 1.
    batch_axis : int, default 0
        Axis of the batch, which keeps one loss for each of its places.

    Examples
    --------
    >>> from gluonnx import mx
    >>> loss = mx.gluon.loss.KLDivLoss(from_logits=False)
    >>> loss(mx.nd.array([[0, 0]]), mx.nd.array([[0.5, 0.5]])).asnumpy().round(3) + 0
    array([0.], dtype=float32)
    """

    def __init__(
        self,
        from_logits: bool = True,
        axis: int = -1,
        weight: float | None = None,
        batch_axis: int = 0,
        **kwargs: Any,
    ):
        super().__init__(weight, batch_axis, **kwargs)
        self._from_logits, self._axis = from_logits, axis

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:  # noqa: N803
        """The loss of each sample."""
        if not self._from_logits:
            pred = F.log_softmax(pred, self._axis)
        loss = label * (F.log(label + 1e-12) - pred)
        return F.sum(self._apply_weight(F, loss, sample_weight), axis=self._batch_axis, exclude=True)


class CTCLoss(Loss):
    """Connectionist temporal classification: -log of the probability of all alignments of label with pred.

    pred (N, T, C) of scores, or (T, N, C) with layout TNC; class C - 1 is the blank. label (N, L) padded with -1, or (L, N)
    with label_layout TN. pred_lengths and label_lengths (N,). Gives (N,). Graves et al. 2006. Raises AssertionError for other
    layouts. Operator CTCLoss.

    Parameters
    ----------
    layout : str, default 'NTC'
        Order of the axes.
    weight : float or None, default None
        Number that the loss is multiplied by; None: 1.

    Examples
    --------
    >>> from gluonnx import mx
    >>> loss = mx.gluon.loss.CTCLoss()
    >>> scores = mx.nd.zeros((1, 4, 3))  # 4 steps, 2 classes and the blank
    >>> loss(scores, mx.nd.array([[0, 1, -1]])).asnumpy().round(3)
    array([1.686], dtype=float32)
    """

    def __init__(self, layout: str = "NTC", label_layout: str = "NT", weight: float | None = None, **kwargs: Any):
        if layout not in ("NTC", "TNC"):
            raise AssertionError(f"Only 'NTC' and 'TNC' layouts for pred are supported. Got: {layout}")
        if label_layout not in ("NT", "TN"):
            raise AssertionError(f"Only 'NT' and 'TN' layouts for label are supported. Got: {label_layout}")
        super().__init__(weight, label_layout.find("N"), **kwargs)
        self._layout, self._label_layout = layout, label_layout

    def hybrid_forward(
        self,
        F: Any,  # noqa: N803
        pred: Any,
        label: Any,
        pred_lengths: Any = None,
        label_lengths: Any = None,
        sample_weight: Any = None,
    ) -> Any:
        """The loss of each sample."""
        if self._layout == "NTC":
            pred = F.swapaxes(pred, dim1=0, dim2=1)
        if self._batch_axis == 1:
            label = F.swapaxes(label, dim1=0, dim2=1)
        lengths = {"data_lengths": pred_lengths, "label_lengths": label_lengths}
        loss = F.CTCLoss(
            pred,
            label,
            **{name: given for name, given in lengths.items() if given is not None},
            use_data_lengths=pred_lengths is not None,
            use_label_lengths=label_lengths is not None,
            blank_label="last",
        )
        return self._apply_weight(F, loss, sample_weight)


class HuberLoss(Loss):
    """Squares up to a distance rho, then straight lines: (label - pred)^2 / (2 rho), or |label - pred| - rho / 2; averaged.

    label is reshaped to pred (N, ...); gives (N,).

    Parameters
    ----------
    weight : float or None, default None
        Number that the loss is multiplied by; None: 1.
    batch_axis : int, default 0
        Axis of the batch, which keeps one loss for each of its places.

    Examples
    --------
    >>> from gluonnx import mx
    >>> loss = mx.gluon.loss.HuberLoss()
    >>> loss(mx.nd.array([[0.5], [3]]), mx.nd.array([[0], [0]])).asnumpy().round(3)
    array([0.125, 2.5  ], dtype=float32)
    """

    def __init__(self, rho: float = 1, weight: float | None = None, batch_axis: int = 0, **kwargs: Any):
        super().__init__(weight, batch_axis, **kwargs)
        self._rho = rho

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:  # noqa: N803
        """The loss of each sample."""
        distance = F.abs(_reshape_like(F, label, pred) - pred)
        loss = F.where(distance > self._rho, distance - 0.5 * self._rho, (0.5 / self._rho) * F.square(distance))
        return self._mean(F, self._apply_weight(F, loss, sample_weight))


class HingeLoss(Loss):
    """max(0, margin - pred label), averaged, for labels -1 and 1. label is reshaped to pred (N, ...); gives (N,).

    Parameters
    ----------
    margin : float, default 1
        Distance at which a score is far enough.
    weight : float or None, default None
        Number that the loss is multiplied by; None: 1.
    batch_axis : int, default 0
        Axis of the batch, which keeps one loss for each of its places.

    Examples
    --------
    >>> from gluonnx import mx
    >>> loss = mx.gluon.loss.HingeLoss()
    >>> loss(mx.nd.array([[0.5], [3]]), mx.nd.array([[1], [-1]])).asnumpy().round(3)
    array([0.5, 4. ], dtype=float32)
    """

    def __init__(self, margin: float = 1, weight: float | None = None, batch_axis: int = 0, **kwargs: Any):
        super().__init__(weight, batch_axis, **kwargs)
        self._margin = margin

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:  # noqa: N803
        """The loss of each sample."""
        loss = F.relu(self._margin - pred * _reshape_like(F, label, pred))
        return self._mean(F, self._apply_weight(F, loss, sample_weight))


class SquaredHingeLoss(Loss):
    """max(0, margin - pred label)^2, averaged, for labels -1 and 1. label is reshaped to pred (N, ...); gives (N,).

    Parameters
    ----------
    margin : float, default 1
        Distance at which a score is far enough.
    weight : float or None, default None
        Number that the loss is multiplied by; None: 1.
    batch_axis : int, default 0
        Axis of the batch, which keeps one loss for each of its places.

    Examples
    --------
    >>> from gluonnx import mx
    >>> loss = mx.gluon.loss.SquaredHingeLoss()
    >>> loss(mx.nd.array([[0.5], [3]]), mx.nd.array([[1], [-1]])).asnumpy().round(3)
    array([ 0.25, 16.  ], dtype=float32)
    """

    def __init__(self, margin: float = 1, weight: float | None = None, batch_axis: int = 0, **kwargs: Any):
        super().__init__(weight, batch_axis, **kwargs)
        self._margin = margin

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:  # noqa: N803
        """The loss of each sample."""
        loss = F.square(F.relu(self._margin - pred * _reshape_like(F, label, pred)))
        return self._mean(F, self._apply_weight(F, loss, sample_weight))


class LogisticLoss(Loss):
    """log(1 + exp(-pred label)), averaged, for labels -1 and 1, or 0 and 1 with label_format binary.

    label is reshaped to pred (N, ...); gives (N,). Raises ValueError for another label_format.

    Parameters
    ----------
    weight : float or None, default None
        Number that the loss is multiplied by; None: 1.
    batch_axis : int, default 0
        Axis of the batch, which keeps one loss for each of its places.

    Examples
    --------
    >>> from gluonnx import mx
    >>> loss = mx.gluon.loss.LogisticLoss()
    >>> loss(mx.nd.array([[0], [3]]), mx.nd.array([[1], [-1]])).asnumpy().round(3)
    array([0.693, 3.049], dtype=float32)
    """

    def __init__(self, weight: float | None = None, batch_axis: int = 0, label_format: str = "signed", **kwargs: Any):
        super().__init__(weight, batch_axis, **kwargs)
        self._label_format = label_format
        if label_format not in ("signed", "binary"):
            raise ValueError(f"label_format can only be signed or binary, received {label_format}.")

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:  # noqa: N803
        """The loss of each sample."""
        label = _reshape_like(F, label, pred)
        if self._label_format == "signed":
            label = (label + 1.0) / 2.0
        loss = F.relu(pred) - pred * label + _softrelu(F, -F.abs(pred))
        return self._mean(F, self._apply_weight(F, loss, sample_weight))


class TripletLoss(Loss):
    """max(0, margin + |pred - positive|^2 - |pred - negative|^2), all (N, ...); gives (N,).

    Parameters
    ----------
    margin : float, default 1
        Distance at which a score is far enough.
    weight : float or None, default None
        Number that the loss is multiplied by; None: 1.
    batch_axis : int, default 0
        Axis of the batch, which keeps one loss for each of its places.

    Examples
    --------
    >>> from gluonnx import mx
    >>> loss = mx.gluon.loss.TripletLoss()
    >>> anchor, near, far = mx.nd.array([[0, 0]]), mx.nd.array([[0, 1]]), mx.nd.array([[1, 0]])
    >>> loss(anchor, near, far).asnumpy()
    array([1.], dtype=float32)
    """

    def __init__(self, margin: float = 1, weight: float | None = None, batch_axis: int = 0, **kwargs: Any):
        super().__init__(weight, batch_axis, **kwargs)
        self._margin = margin

    def hybrid_forward(self, F: Any, pred: Any, positive: Any, negative: Any) -> Any:  # noqa: N803
        """The loss of each sample."""
        near, far = _reshape_like(F, positive, pred), _reshape_like(F, negative, pred)
        loss = F.sum(F.square(near - pred) - F.square(far - pred), axis=self._batch_axis, exclude=True)
        return self._apply_weight(F, F.relu(loss + self._margin), None)


class PoissonNLLLoss(Loss):
    """exp(pred) - target pred, or pred - target log(pred + epsilon) with from_logits off; averaged over everything.

    compute_full adds Stirling's approximation of log(target!) where target is above 1. target is reshaped to pred; gives
    one number.

    Parameters
    ----------
    weight : float or None, default None
        Number that the loss is multiplied by; None: 1.
    batch_axis : int, default 0
        Axis of the batch, which keeps one loss for each of its places.

    Examples
    --------
    >>> from gluonnx import mx
    >>> loss = mx.gluon.loss.PoissonNLLLoss()
    >>> loss(mx.nd.array([[0], [1]]), mx.nd.array([[1], [2]])).asnumpy().round(3)
    array([0.859], dtype=float32)
    """

    def __init__(
        self,
        weight: float | None = None,
        from_logits: bool = True,
        batch_axis: int = 0,
        compute_full: bool = False,
        **kwargs: Any,
    ):
        super().__init__(weight, batch_axis, **kwargs)
        self._from_logits, self._compute_full = from_logits, compute_full

    def hybrid_forward(
        self,
        F: Any,  # noqa: N803
        pred: Any,
        target: Any,
        sample_weight: Any = None,
        epsilon: float = 1e-8,
    ) -> Any:
        """The loss of the batch."""
        target = _reshape_like(F, target, pred)
        loss = F.exp(pred) - target * pred if self._from_logits else pred - target * F.log(pred + epsilon)
        if self._compute_full:
            stirling = target * F.log(target) - target + 0.5 * F.log(2 * target * math.pi)
            loss = loss + F.where(target > 1, stirling, F.zeros_like(stirling))  # of 0 it is no number
        return F.mean(self._apply_weight(F, loss, sample_weight))


class CosineEmbeddingLoss(Loss):
    """1 - cos for pairs labelled 1, max(0, cos - margin) for those labelled -1; inputs (N, D), label (N,); gives (N, 1).

    Parameters
    ----------
    weight : float or None, default None
        Number that the loss is multiplied by; None: 1.
    batch_axis : int, default 0
        Axis of the batch, which keeps one loss for each of its places.
    margin : float, default 0
        Distance at which a score is far enough.

    Examples
    --------
    >>> from gluonnx import mx
    >>> loss = mx.gluon.loss.CosineEmbeddingLoss()
    >>> x, y = mx.nd.array([[1, 0], [1, 0]]), mx.nd.array([[0, 1], [1, 0]])
    >>> loss(x, y, mx.nd.array([1, -1])).asnumpy().round(3)
    array([[1.],
           [1.]], dtype=float32)
    """

    def __init__(self, weight: float | None = None, batch_axis: int = 0, margin: float = 0, **kwargs: Any):
        super().__init__(weight, batch_axis, **kwargs)
        self._margin = margin

    def hybrid_forward(self, F: Any, input1: Any, input2: Any, label: Any, sample_weight: Any = None) -> Any:  # noqa: N803
        """The loss of each pair."""
        input1 = _reshape_like(F, input1, input2)
        label = label.reshape((-1, 1))
        cosine = self._cosine_similarity(F, input1, input2)
        alike = (1 - cosine) * (label == 1)
        other = F.broadcast_maximum(F.zeros((1, 1)), (label == -1) * (cosine - self._margin))
        loss = alike + other
        return self._apply_weight(F, loss, sample_weight)

    def _cosine_similarity(self, F: Any, x: Any, y: Any, axis: int = -1) -> Any:  # noqa: N803
        """(N, 1); 0 where either is 0."""
        first, second = F.norm(x, axis=axis).reshape((-1, 1)), F.norm(y, axis=axis).reshape((-1, 1))
        products = F.sum(x * y, axis=axis).reshape((-1, 1))
        norms = first * second
        return products / F.broadcast_maximum(norms, F.full((1, 1), 1e-12))


class SDMLLoss(Loss):
    """Smoothed deep metric learning: each row of x1 (N, D) should be nearest to the same row of x2 among all rows of x2.

    Kullback-Leibler divergence of softmax(-squared distances) from smoothed one-hot labels; gives (N,). Bonadiman et al. 2019,
    arXiv:1905.12786. Arrays only: the number of rows must be known.

    Parameters
    ----------
    smoothing_parameter : float, default 0.3
        Part of the probability that goes to all other pairs.
    weight : float or None, default 1.0
        Number that the loss is multiplied by; None: 1.
    batch_axis : int, default 0
        Axis of the batch, which keeps one loss for each of its places.

    Examples
    --------
    >>> from gluonnx import mx
    >>> loss = mx.gluon.loss.SDMLLoss()
    >>> x = mx.nd.array([[0, 1], [1, 0]])
    >>> loss(x, x).asnumpy().round(3)
    array([0.116, 0.116], dtype=float32)
    """

    def __init__(
        self, smoothing_parameter: float = 0.3, weight: float | None = 1.0, batch_axis: int = 0, **kwargs: Any
    ):
        super().__init__(weight, batch_axis, **kwargs)
        self.kl_loss = KLDivLoss(from_logits=True)
        self.smoothing_parameter = smoothing_parameter

    def _compute_distances(self, x1: Any, x2: Any) -> Any:
        """Squared distances (N, N), rows of x1 against rows of x2."""
        return ((x1.expand_dims(1) - x2.expand_dims(0)) ** 2).sum(axis=2)

    def _compute_labels(self, F: Any, batch_size: int) -> Any:  # noqa: N803
        """The distributions (N, N) wanted."""
        gold = F.eye(batch_size)
        return gold * (1 - self.smoothing_parameter) + (1 - gold) * self.smoothing_parameter / (batch_size - 1)

    def hybrid_forward(self, F: Any, x1: Any, x2: Any) -> Any:  # noqa: N803
        """The loss of each row.

        Raises AssertionError for arrays of two shapes."""
        if x1.shape != x2.shape:
            raise AssertionError(f"SDMLLoss wants two arrays of one shape, got {x1.shape} and {x2.shape}")
        labels = self._compute_labels(F, x1.shape[0])
        logs = F.log_softmax(-self._compute_distances(x1, x2), axis=1)
        return self.kl_loss(logs, labels.as_in_context(logs.context))
