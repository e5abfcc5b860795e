"""``mx.contrib.tensorboard``: metrics of training for TensorBoard, written by mxboard."""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["LogMetricsCallback"]


class LogMetricsCallback:
    """Callback that writes the metrics as scalars to files in logging_dir, one point for each epoch, named PREFIX-NAME.

    Raises ImportError without mxboard (or tensorboardX, whose SummaryWriter is called in the same way).

    Examples
    --------
    >>> from unittest import mock
    >>> from gluonnx import mx
    >>> mxboard = mock.Mock()  # in place of the package, which writes to a folder
    >>> with mock.patch.dict("sys.modules", mxboard=mxboard):
    ...     callback = mx.contrib.tensorboard.LogMetricsCallback("logs", prefix="train")
    >>> metric = mx.metric.MAE()
    >>> metric.update([mx.nd.array([1])], [mx.nd.array([3])])
    >>> callback(mx.model.BatchEndParam(epoch=5, nbatch=0, eval_metric=metric, locals=None))
    >>> mxboard.SummaryWriter("logs").add_scalar.call_args
    call('train-mae', 2.0, global_step=5)
    """

    def __init__(self, logging_dir: Any, prefix: str | None = None):
        self.prefix = prefix
        self.summary_writer: Any = _writer()(logging_dir)

    def __call__(self, param: Any) -> None:
        """Write the metrics that a BatchEndParam has."""
        if param.eval_metric is None:
            return
        for name, value in param.eval_metric.get_name_value():
            full = name if self.prefix is None else f"{self.prefix}-{name}"
            self.summary_writer.add_scalar(full, value, global_step=param.epoch)


def _writer() -> Any:
    for name in ("mxboard", "tensorboardX"):
        try:
            return importlib.import_module(name).SummaryWriter
        except ModuleNotFoundError as error:
            if error.name != name:
                raise
    raise ImportError(
        "LogMetricsCallback writes files for TensorBoard with mxboard; pip install mxboard (or tensorboardX)"
    )
