"""Metrics as the Estimator and its handlers take them."""

from __future__ import annotations

from typing import Any

from ....metric import Accuracy, CompositeEvalMetric, EvalMetric
from ...loss import Loss, SoftmaxCrossEntropyLoss


def check_metrics(metrics: Any) -> list[EvalMetric]:
    """A list of metrics from one, several, a composite (its parts) or None. Raises ValueError for anything else."""
    if isinstance(metrics, CompositeEvalMetric):
        return [m for part in metrics.metrics for m in check_metrics(part)]
    if isinstance(metrics, EvalMetric):
        return [metrics]
    metrics = metrics or []
    if not all(isinstance(m, EvalMetric) for m in metrics):
        raise ValueError(f"metrics must be a Metric or a list of Metric, refer to mxnet.metric.EvalMetric: {metrics}")
    return metrics


def check_metrics_known(handler: Any, known: list[EvalMetric]) -> None:
    """Raises ValueError when a handler has a metric that the Estimator does not update."""
    for name in dir(handler):
        held = getattr(handler, name) if "metric" in name else None
        for metric in held if isinstance(held, list) else [held] if held else []:
            if not any(metric is m for m in known):
                raise ValueError(
                    f"Event handler {type(handler).__name__} refers to a metric instance {metric} outside of the known "
                    "training and validation metrics. Please use the metrics from estimator.train_metrics and "
                    "estimator.val_metrics instead."
                )


def suggest_metric_for_loss(loss: Loss) -> EvalMetric | None:
    """Accuracy for softmax cross entropy, nothing for other losses."""
    return Accuracy() if isinstance(loss, SoftmaxCrossEntropyLoss) else None
