"""The Estimator's work on one batch."""

from __future__ import annotations

from typing import Any

from .... import autograd
from ...utils import split_and_load

__all__ = ["BatchProcessor"]


class BatchProcessor:
    """Base class, too, of what does it otherwise. Everything is a list with a part for each context.

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.gluon.nn.Dense(1, use_bias=False, in_units=1)
    >>> net.initialize("ones")
    >>> trainer = mx.gluon.Trainer(net.collect_params(), "sgd")
    >>> contrib = mx.gluon.contrib.estimator
    >>> estimator = contrib.Estimator(net, mx.gluon.loss.L2Loss(), trainer=trainer)
    >>> batch = (mx.nd.array([[2], [4]]), mx.nd.zeros((2, 1)))
    >>> data, label, pred, loss = contrib.BatchProcessor().fit_batch(estimator, batch)
    >>> loss[0].asnumpy(), net.weight.grad().asnumpy()
    (array([2., 8.], dtype=float32), array([[20.]], dtype=float32))
    >>> contrib.BatchProcessor().evaluate_batch(estimator, batch)[2][0].shape
    (2, 1)
    """

    def _get_data_and_label(self, batch: Any, ctx: Any, batch_axis: int = 0) -> tuple[Any, Any]:
        return split_and_load(batch[0], ctx, batch_axis), split_and_load(batch[1], ctx, batch_axis)

    def evaluate_batch(self, estimator: Any, val_batch: Any, batch_axis: int = 0) -> tuple[Any, Any, Any, Any]:
        """(data, label, prediction, loss) of a batch, by the network and loss for validation."""
        data, label = self._get_data_and_label(val_batch, estimator.context, batch_axis)
        pred = [estimator.val_net(x) for x in data]
        return data, label, pred, [estimator.val_loss(p, y) for p, y in zip(pred, label)]

    def fit_batch(self, estimator: Any, train_batch: Any, batch_axis: int = 0) -> tuple[Any, Any, Any, Any]:
        """(data, label, prediction, loss) of a batch, with gradients of all parameters computed."""
        data, label = self._get_data_and_label(train_batch, estimator.context, batch_axis)
        with autograd.record():
            pred = [estimator.net(x) for x in data]
            loss = [estimator.loss(p, y) for p, y in zip(pred, label)]
        for part in loss:
            part.backward()
        return data, label, pred, loss
