"""Functions for training loops to call now and then: logs, progress, checkpoints. ``mx.callback``."""

from __future__ import annotations

import logging
import math
import time
from collections import namedtuple
from collections.abc import Callable
from typing import Any

from .checkpoint import save_checkpoint

__all__ = [
    "LogValidationMetricsCallback",
    "ProgressBar",
    "Speedometer",
    "do_checkpoint",
    "log_train_metric",
    "module_checkpoint",
    "save_checkpoint",
]

BatchEndParam = namedtuple("BatchEndParams", ["epoch", "nbatch", "eval_metric", "locals"])
BatchEndParam.__doc__ = """Argument of the callbacks of training after each batch.

epoch, nbatch: numbers of the epoch and of the batch in it. eval_metric: the metric so far, or None. locals: the local
variables of the loop that calls.

Examples
--------
>>> from gluonnx import mx
>>> def show(param):
...     print(param.epoch, param.nbatch, param.eval_metric.get())
>>> metric = mx.metric.MAE()
>>> metric.update([mx.nd.array([1])], [mx.nd.array([3])])
>>> show(mx.model.BatchEndParam(epoch=0, nbatch=5, eval_metric=metric, locals=None))
0 5 ('mae', 2.0)
"""


def module_checkpoint(
    mod: Any, prefix: str, period: int = 1, save_optimizer_states: bool = False
) -> Callable[..., None]:
    """An epoch-end callback that saves a Module, mod, every ``period`` epochs, with save_optimizer_states its optimizer's too.

    Files are ``PREFIX-symbol.json``, ``PREFIX-NNNN.params`` and ``PREFIX-NNNN.states``, NNNN from 1.

    Examples
    --------
    >>> from gluonnx import mx
    >>> module = mx.mod.Module(mx.sym.relu(mx.sym.var("data")), label_names=None)
    >>> module.bind([("data", (4, 3))])
    >>> module.init_params()
    >>> mx.callback.module_checkpoint(module, "net")(0)
    >>> import os
    >>> sorted(os.listdir())
    ['net-0001.params', 'net-symbol.json']
    """
    period = int(max(1, period))

    def _callback(iter_no: int, sym: Any = None, arg: Any = None, aux: Any = None) -> None:
        if (iter_no + 1) % period == 0:
            mod.save_checkpoint(prefix, iter_no + 1, save_optimizer_states)

    return _callback


def do_checkpoint(prefix: str, period: int = 1) -> Callable[..., None]:
    """An epoch-end callback that saves symbol and parameters every ``period`` epochs; see save_checkpoint. NNNN is from 1.

    Examples
    --------
    >>> from gluonnx import mx
    >>> save = mx.callback.do_checkpoint("net", period=1)
    >>> save(0, mx.sym.var("x"), {}, {})  # what fit calls after the first epoch
    >>> import os
    >>> sorted(os.listdir())
    ['net-0001.params', 'net-symbol.json']
    """
    period = int(max(1, period))

    def _callback(iter_no: int, sym: Any, arg: Any, aux: Any) -> None:
        if (iter_no + 1) % period == 0:
            save_checkpoint(prefix, iter_no + 1, sym, arg, aux)

    return _callback


def log_train_metric(period: int, auto_reset: bool = False) -> Callable[[Any], None]:
    """A batch-end callback that logs the metric every ``period`` batches, and with auto_reset begins it anew.

    Examples
    --------
    >>> from gluonnx import mx
    >>> log = mx.callback.log_train_metric(period=10)
    >>> log(mx.model.BatchEndParam(epoch=0, nbatch=5, eval_metric=None, locals=None))
    """

    def _callback(param: Any) -> None:
        if param.nbatch % period == 0 and param.eval_metric is not None:
            for name, value in param.eval_metric.get_name_value():
                logging.info("Iter[%d] Batch[%d] Train-%s=%f", param.epoch, param.nbatch, name, value)
            if auto_reset:
                param.eval_metric.reset_local()

    return _callback


class Speedometer:
    """A batch-end callback that logs samples a second, and the metric, every ``frequent`` batches.

    batch_size: samples in a batch. auto_reset: begin the metric anew each time, so that it is that of the batches since.

    Examples
    --------
    >>> from gluonnx import mx
    >>> meter = mx.callback.Speedometer(batch_size=32, frequent=2)
    >>> for batch in range(3):
    ...     meter(mx.model.BatchEndParam(epoch=0, nbatch=batch, eval_metric=None, locals=None))
    """

    def __init__(self, batch_size: int, frequent: int = 50, auto_reset: bool = True) -> None:
        self.batch_size = batch_size
        self.frequent = frequent
        self.init = False
        self.tic = 0.0
        self.last_count = 0
        self.auto_reset = auto_reset

    def __call__(self, param: Any) -> None:
        count = param.nbatch
        if self.last_count > count:
            self.init = False
        self.last_count = count
        if not self.init:
            self.init = True
            self.tic = time.time()
            return
        if count % self.frequent:
            return
        passed = time.time() - self.tic
        speed = self.frequent * self.batch_size / passed if passed else float("inf")
        if param.eval_metric is None:
            logging.info("Iter[%d] Batch [%d]\tSpeed: %.2f samples/sec", param.epoch, count, speed)
        else:
            pairs = param.eval_metric.get_name_value()
            first = 0
            if self.auto_reset:
                param.eval_metric.reset_local()
                first = count - self.frequent
            logging.info(
                "Epoch[%d] Batch [%d-%d]\tSpeed: %.2f samples/sec" + "\t%s=%f" * len(pairs),
                param.epoch,
                first,
                count,
                speed,
                *(part for pair in pairs for part in pair),
            )
        self.tic = time.time()


class ProgressBar:
    """A batch-end callback that logs a bar of ``length`` characters, for ``total`` batches.

    Examples
    --------
    >>> from gluonnx import mx
    >>> bar = mx.callback.ProgressBar(total=10)
    >>> bar(mx.model.BatchEndParam(epoch=0, nbatch=5, eval_metric=None, locals=None))
    """

    def __init__(self, total: int, length: int = 80) -> None:
        self.bar_len = length
        self.total = total

    def __call__(self, param: Any) -> None:
        filled = round(self.bar_len * param.nbatch / float(self.total))
        percent = math.ceil(100.0 * param.nbatch / float(self.total))
        logging.info("[%s] %s%s\r", "=" * filled + "-" * (self.bar_len - filled), percent, "%")


class LogValidationMetricsCallback:
    """An evaluation-end callback that logs the metric of the validation.

    Examples
    --------
    >>> from gluonnx import mx
    >>> log = mx.callback.LogValidationMetricsCallback()
    >>> log(mx.model.BatchEndParam(epoch=0, nbatch=5, eval_metric=mx.metric.MAE(), locals=None))
    """

    def __call__(self, param: Any) -> None:
        if not param.eval_metric:
            return
        for name, value in param.eval_metric.get_name_value():
            logging.info("Epoch[%d] Validation-%s=%f", param.epoch, name, value)
