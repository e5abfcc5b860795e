"""Handlers that an Estimator calls at the beginning and end of training, epochs and batches.

Handlers of smaller ``priority`` are called first: -2000 updates the parameters, -1000 metrics, infinity logs."""

from __future__ import annotations

import math
import operator
import re
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ....metric import CompositeEvalMetric, EvalMetric
from ....metric import Loss as LossMetric
from ...hybrid_block import HybridBlock
from .utils import check_metrics

__all__ = [
    "BatchBegin",
    "BatchEnd",
    "CheckpointHandler",
    "EarlyStoppingHandler",
    "EpochBegin",
    "EpochEnd",
    "GradientUpdateHandler",
    "LoggingHandler",
    "MetricHandler",
    "StoppingHandler",
    "TrainBegin",
    "TrainEnd",
    "ValidationHandler",
]


class EventHandler:
    """Base class."""


def check_event_handlers(handlers: Any) -> list[EventHandler]:
    """A list of handlers from one, several or None. Raises ValueError for anything else."""
    if isinstance(handlers, EventHandler):
        return [handlers]
    handlers = handlers or []
    if not all(isinstance(h, EventHandler) for h in handlers):
        raise ValueError(f"handlers must be an EventHandler or a list of EventHandler, got: {handlers}")
    return list(handlers)


class TrainBegin(EventHandler):
    """Is told when training begins.

    Examples
    --------
    >>> from hybrid.gluon.contrib import estimator
    >>> class Told(estimator.TrainBegin):
    ...     def train_begin(self, estimator, *args, **kwargs):
    ...         print("training begins")
    >>> Told().train_begin(None)  # the Estimator calls it, with itself
    training begins
    """

    def train_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """Called once."""


class TrainEnd(EventHandler):
    """Is told when training has ended.

    Examples
    --------
    >>> from hybrid.gluon.contrib import estimator
    >>> class Told(estimator.TrainEnd):
    ...     def train_end(self, estimator, *args, **kwargs):
    ...         print("training has ended")
    >>> Told().train_end(None)  # the Estimator calls it, with itself
    training has ended
    """

    def train_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """Called once."""


class EpochBegin(EventHandler):
    """Is told when an epoch begins.

    Examples
    --------
    >>> from hybrid.gluon.contrib import estimator
    >>> class Told(estimator.EpochBegin):
    ...     def epoch_begin(self, estimator, *args, **kwargs):
    ...         print("an epoch begins")
    >>> Told().epoch_begin(None)  # the Estimator calls it, with itself
    an epoch begins
    """

    def epoch_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """Called before the first batch."""


class EpochEnd(EventHandler):
    """Is told when an epoch has ended.

    Examples
    --------
    >>> from hybrid.gluon.contrib import estimator
    >>> class AfterTwo(estimator.EpochEnd):
    ...     epochs = 0
    ...     def epoch_end(self, estimator, *args, **kwargs):
    ...         self.epochs += 1
    ...         return self.epochs == 2  # True ends the training
    >>> handler = AfterTwo()
    >>> handler.epoch_end(None), handler.epoch_end(None)  # as the Estimator calls it, with itself
    (False, True)
    """

    def epoch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> bool | None:
        """Called after the last batch; True ends the training."""
        return False


class BatchBegin(EventHandler):
    """Is told when a batch begins.

    Examples
    --------
    >>> from gluonnx import mx
    >>> from hybrid.gluon.contrib import estimator
    >>> class Told(estimator.BatchBegin):
    ...     def batch_begin(self, estimator, *args, batch, **kwargs):
    ...         print(batch[0].shape)
    >>> Told().batch_begin(None, batch=(mx.nd.ones((4, 3)), mx.nd.zeros(4)))  # as the Estimator calls it
    (4, 3)
    """

    def batch_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """Called with ``batch=``."""


class BatchEnd(EventHandler):
    """Is told when a batch has ended.

    Examples
    --------
    >>> from gluonnx import mx
    >>> from hybrid.gluon.contrib import estimator
    >>> class WhileFinite(estimator.BatchEnd):
    ...     def batch_end(self, estimator, *args, loss, **kwargs):
    ...         return any(part.sum().asscalar() == float("inf") for part in loss)  # True ends the epoch
    >>> WhileFinite().batch_end(None, loss=[mx.nd.ones(4)])  # as the Estimator calls it, with more
    False
    """

    def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> bool | None:
        """Called with ``batch=``, ``pred=``, ``label=`` and ``loss=``; True ends the epoch."""
        return False


class StoppingHandler(TrainBegin, BatchEnd, EpochEnd):
    """Ends the training after the estimator's number of epochs or batches.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from hybrid.gluon.contrib import estimator
    >>> handler = estimator.StoppingHandler()
    >>> handler.train_begin(SimpleNamespace(max_epoch=None, max_batch=2))  # an Estimator, in use
    >>> handler.batch_end(None), handler.batch_end(None)
    (False, True)
    """

    def __init__(self, max_epoch: int | None = None, max_batch: int | None = None):
        self.max_epoch, self.max_batch = max_epoch, max_batch
        self.current_batch = self.current_epoch = 0
        self.stop_training = False

    def train_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        self.max_epoch, self.max_batch = estimator.max_epoch, estimator.max_batch
        self.current_batch = self.current_epoch = 0

    def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> bool:
        self.current_batch += 1
        self.stop_training |= self.current_batch == self.max_batch
        return self.stop_training

    def epoch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> bool:
        self.current_epoch += 1
        self.stop_training |= self.current_epoch == self.max_epoch
        return self.stop_training


class GradientUpdateHandler(BatchEnd):
    """Lets the trainer update the parameters, by gradients divided by the number of examples.

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.gluon.nn.Dense(1, use_bias=False, in_units=1)
    >>> net.initialize("ones")
    >>> trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
    >>> loader = mx.gluon.data.DataLoader(mx.gluon.data.ArrayDataset(mx.nd.ones((4, 1)), mx.nd.zeros((4, 1))), 4)
    >>> contrib = mx.gluon.contrib.estimator
    >>> estimator = contrib.Estimator(net, mx.gluon.loss.L2Loss(), trainer=trainer)
    >>> estimator.logger.setLevel("ERROR")
    >>> estimator.fit(loader, batches=1, event_handlers=contrib.GradientUpdateHandler())
    >>> net.weight.data().asnumpy()
    array([[0.5]], dtype=float32)
    """

    def __init__(self, priority: float = -2000):
        self.priority = priority

    def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        loss = kwargs["loss"]
        estimator.trainer.step(sum(part.shape[0] for part in (loss if isinstance(loss, list) else [loss])))


class MetricHandler(EpochBegin, BatchEnd):
    """Updates metrics, and starts them anew with every epoch.

    Examples
    --------
    >>> from gluonnx import mx
    >>> accuracy = mx.metric.Accuracy()
    >>> handler = mx.gluon.contrib.estimator.MetricHandler([accuracy])
    >>> handler.epoch_begin(None)
    >>> handler.batch_end(None, pred=[mx.nd.array([[0.9, 0.1], [0.2, 0.8]])], label=[mx.nd.array([0, 0])])
    >>> accuracy.get()
    ('accuracy', 0.5)
    """

    def __init__(self, metrics: Any, priority: float = -1000):
        self.metrics = check_metrics(metrics)
        self.priority = priority

    def epoch_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        for metric in self.metrics:
            metric.reset()

    def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        for metric in self.metrics:
            if isinstance(metric, LossMetric):
                metric.update(0, kwargs["loss"])
            else:
                metric.update(kwargs["label"], kwargs["pred"])


class ValidationHandler(TrainBegin, BatchEnd, EpochEnd):
    """Calls ``eval_fn(val_data=, batch_axis=, event_handlers=)`` every so many epochs and batches (None or 0: never).

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from hybrid.gluon.contrib import estimator
    >>> def evaluate(val_data, batch_axis, event_handlers):
    ...     print("evaluated on", val_data)
    >>> handler = estimator.ValidationHandler("data", evaluate, epoch_period=2)  # Estimator.evaluate, in use
    >>> handler.epoch_end(SimpleNamespace(batch_axis=0))
    >>> handler.epoch_end(SimpleNamespace(batch_axis=0))
    evaluated on data
    """

    def __init__(
        self,
        val_data: Any,
        eval_fn: Callable[..., Any],
        epoch_period: int | None = 1,
        batch_period: int | None = None,
        priority: float = -1000,
        event_handlers: Any = None,
    ):
        self.val_data, self.eval_fn = val_data, eval_fn
        self.epoch_period, self.batch_period = epoch_period, batch_period
        self.current_batch = self.current_epoch = 0
        self.priority = priority
        self.event_handlers = event_handlers

    def train_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        self.current_batch = self.current_epoch = 0

    def _evaluate(self, estimator: Any) -> None:
        self.eval_fn(val_data=self.val_data, batch_axis=estimator.batch_axis, event_handlers=self.event_handlers)

    def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        self.current_batch += 1
        if self.batch_period and self.current_batch % self.batch_period == 0:
            self._evaluate(estimator)

    def epoch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        self.current_epoch += 1
        if self.epoch_period and self.current_epoch % self.epoch_period == 0:
            self._evaluate(estimator)


class LoggingHandler(TrainBegin, TrainEnd, EpochBegin, EpochEnd, BatchBegin, BatchEnd):
    """Writes the metrics to the estimator's logger: after every epoch, and with a number every so many batches.

    Raises ValueError for a log_interval that is neither a number nor "epoch".

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.gluon.nn.Dense(1, use_bias=False, in_units=1)
    >>> net.initialize("ones")
    >>> trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
    >>> contrib = mx.gluon.contrib.estimator
    >>> estimator = contrib.Estimator(net, mx.gluon.loss.L2Loss(), trainer=trainer)
    >>> handler = contrib.LoggingHandler(metrics=estimator.train_metrics)
    >>> handler.epoch_begin(estimator)
    [Epoch 0] Begin, current learning rate: 0.5000
    """

    def __init__(self, log_interval: int | str = "epoch", metrics: Any = None, priority: float = math.inf):
        if not isinstance(log_interval, int) and log_interval != "epoch":
            raise ValueError("log_interval must be either an integer or string 'epoch'")
        self.metrics = check_metrics(metrics)
        self.priority = priority
        self.log_interval = log_interval
        self._reset()

    def _reset(self) -> None:
        self.batch_index = self.current_epoch = self.processed_samples = 0
        self.log_interval_time = 0.0
        self.train_start = self.epoch_start = self.batch_start = time.time()

    def _values(self) -> str:
        return ", ".join("{}: {:.4f}".format(*metric.get()) for metric in self.metrics)

    def train_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        trainer = estimator.trainer
        estimator.logger.info(
            "Training begin: using optimizer %s with current learning rate %.4f ",
            type(trainer.optimizer).__name__,
            trainer.learning_rate,
        )
        if estimator.max_epoch:
            estimator.logger.info("Train for %d epochs.", estimator.max_epoch)
        else:
            estimator.logger.info("Train for %d batches.", estimator.max_batch)
        self._reset()

    def train_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        seconds = time.time() - self.train_start
        text = f"Train finished using total {int(seconds)}s with {self.current_epoch} epochs. {self._values()}"
        estimator.logger.info(text.rstrip(", "))

    def epoch_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        self.epoch_start = time.time()
        if any("training" in metric.name for metric in self.metrics):
            rate = estimator.trainer.learning_rate
            estimator.logger.info("[Epoch %d] Begin, current learning rate: %.4f", self.current_epoch, rate)
        else:
            estimator.logger.info("Validation Begin")

    def epoch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        seconds = time.time() - self.epoch_start
        text = f"[Epoch {self.current_epoch}] Finished in {seconds:.3f}s, {self._values()}"
        estimator.logger.info(text.rstrip(", "))
        self.current_epoch += 1
        self.batch_index = 0

    def batch_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        self.batch_start = time.time()

    def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        if isinstance(self.log_interval, int):
            self.processed_samples += kwargs["batch"][0].shape[0]
            self.log_interval_time += time.time() - self.batch_start
            if self.batch_index % self.log_interval == 0:
                text = (
                    f"[Epoch {self.current_epoch}][Batch {self.batch_index}][Samples {self.processed_samples}] "
                    f"time/interval: {self.log_interval_time:.3f}s {self._values()}"
                )
                estimator.logger.info(text.rstrip(", "))
                self.log_interval_time = 0.0
        self.batch_index += 1


def _better(mode: str, monitor: EvalMetric) -> Callable[[float, float], bool]:
    """Comparison by which a value is better than another: greater for "max", less for "min"; for "auto" greater when the
    metric's name says accuracy or f1, else less. (MXNet documents that, too, but its "auto" always takes the greater.)"""
    name = monitor.get()[0]
    if mode not in ("auto", "min", "max"):
        warnings.warn(f"mode {mode} is unknown, fallback to auto mode", RuntimeWarning, stacklevel=3)
        mode = "auto"
    if mode == "auto":
        mode = "max" if "acc" in str(name).lower() or "f1" in str(name).lower() else "min"
        warnings.warn(
            f"`{'greater' if mode == 'max' else 'less'}` operator will be used to determine if {name} has improved. "
            "Please specify `mode='min'` or `mode='max'` to choose, and to disable this warning.",
            stacklevel=3,
        )
    return operator.gt if mode == "max" else operator.lt


def _worst(better: Callable[[float, float], bool]) -> float:
    return math.inf if better is operator.lt else -math.inf


class CheckpointHandler(TrainBegin, BatchEnd, EpochEnd):
    """Writes ``PREFIX-epochEbatchB.params`` and ``.states`` (of the trainer) to model_dir every so many epochs and batches, the
    last max_checkpoints of them, and ``PREFIX-symbol.json`` of a hybridized network.

    With save_best also ``PREFIX-best``, whenever the metric ``monitor`` has improved: mode is "min", "max" or "auto" (by its
    name). With resume_from_checkpoint training goes on from the last checkpoint in model_dir, for the epochs or batches that
    are left.

    Raises ValueError for save_best without a metric to watch.

    Examples
    --------
    >>> from gluonnx import mx
    >>> from pathlib import Path
    >>> net = mx.gluon.nn.Dense(1, in_units=1)
    >>> net.initialize()
    >>> net.hybridize()
    >>> trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
    >>> loader = mx.gluon.data.DataLoader(mx.gluon.data.ArrayDataset(mx.nd.ones((4, 1)), mx.nd.zeros((4, 1))), 2)
    >>> contrib = mx.gluon.contrib.estimator
    >>> estimator = contrib.Estimator(net, mx.gluon.loss.L2Loss(), trainer=trainer)
    >>> estimator.logger.setLevel("ERROR")
    >>> estimator.fit(loader, epochs=1, event_handlers=contrib.CheckpointHandler("kept", "net"))
    >>> sorted(path.name for path in Path("kept").iterdir())
    ['net-epoch0batch2.params', 'net-epoch0batch2.states', 'net-symbol.json']
    """

    def __init__(
        self,
        model_dir: str,
        model_prefix: str = "model",
        monitor: EvalMetric | None = None,
        verbose: int = 0,
        save_best: bool = False,
        mode: str = "auto",
        epoch_period: int | None = 1,
        batch_period: int | None = None,
        max_checkpoints: int = 5,
        resume_from_checkpoint: bool = False,
    ):
        if save_best and not isinstance(monitor, EvalMetric):
            raise ValueError(
                "To save best model only, please provide one of the metric objects from estimator.train_metrics and "
                "estimator.val_metrics as monitor."
            )
        Path(model_dir).mkdir(parents=True, exist_ok=True)
        self.model_dir, self.model_prefix = model_dir, model_prefix
        self.monitor, self.verbose, self.save_best = monitor, verbose, save_best
        self.epoch_period, self.batch_period = epoch_period, batch_period
        self.max_checkpoints = max_checkpoints
        self.resume_from_checkpoint = resume_from_checkpoint
        self.current_batch = self.current_epoch = 0
        self.trained_epoch = self.trained_batch = -1
        self.saved_checkpoints: list[str] = []
        if monitor is not None and save_best:
            self.monitor_op = _better(mode, monitor)
            self.best = _worst(self.monitor_op)

    def train_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """Called once. Raises AssertionError where training is resumed and checkpoints are not of epochs, or batches, as it is."""
        self.current_epoch = self.current_batch = 0
        if self.save_best:
            self.best = _worst(self.monitor_op)
        if self.resume_from_checkpoint:
            wanted, other = self.epoch_period, self.batch_period
            if estimator.max_batch:
                wanted, other = other, wanted
            if not wanted or other:
                raise AssertionError(
                    "To use resume from checkpoint, you must only specify the same type of period you used for training. "
                    "For example, if you are training based on number of epochs, you must save only based on epochs, and "
                    "set batch_period to None."
                )
            self._resume(estimator)

    def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        if self.current_batch == 0:
            self._save_symbol(estimator)
        if self.batch_period and (self.current_batch + 1) % self.batch_period == 0:
            self._save(estimator)
        self.current_batch += 1

    def epoch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        if self.epoch_period and (self.current_epoch + 1) % self.epoch_period == 0:
            self._save(estimator)
        self.current_epoch += 1

    def _path(self, name: str) -> str:
        return str(Path(self.model_dir, name))

    def _save_symbol(self, estimator: Any) -> None:
        path = self._path(f"{self.model_prefix}-symbol.json")
        graph = estimator.net._cached_graph if isinstance(estimator.net, HybridBlock) else ()
        if graph:
            graph[1].save(path)
        else:
            estimator.logger.info(
                "Model architecture(symbol file) is not saved, please use HybridBlock to construct your model, and call "
                "net.hybridize() before passing to Estimator in order to save model architecture as %s.",
                path,
            )

    def _save(self, estimator: Any) -> None:
        epoch, batch = self.current_epoch, self.current_batch
        if self.resume_from_checkpoint:
            epoch += self.trained_epoch + 1
            # at the end of an epoch the last batch has been counted already
            batch += self.trained_batch + (0 if estimator.max_epoch else 1)
        prefix = f"{self.model_prefix}-epoch{epoch}batch{batch}"
        self._write(estimator, prefix)
        self.saved_checkpoints.append(prefix)
        if len(self.saved_checkpoints) > self.max_checkpoints:
            oldest = self.saved_checkpoints.pop(0)
            for kind in ("params", "states"):
                Path(self.model_dir, f"{oldest}.{kind}").unlink(missing_ok=True)
        if self.verbose > 0:
            estimator.logger.info(
                "[Epoch %d] CheckpointHandler: trained total %d batches, saving model at %s with prefix: %s",
                self.current_epoch,
                self.current_batch + 1,
                self.model_dir,
                prefix,
            )
        if self.save_best:
            self._save_best(estimator)

    def _write(self, estimator: Any, prefix: str) -> None:
        estimator.net.save_parameters(self._path(f"{prefix}.params"))
        estimator.trainer.save_states(self._path(f"{prefix}.states"))

    def _save_best(self, estimator: Any) -> None:
        assert self.monitor is not None
        name, value = self.monitor.get()
        if math.isnan(value):
            warnings.warn(
                f"Skipping save best because {name} is not updated, make sure you pass one of the metric objects "
                "estimator.train_metrics and estimator.val_metrics as monitor",
                RuntimeWarning,
                stacklevel=2,
            )
            return
        before, prefix = self.best, f"{self.model_prefix}-best"
        if self.monitor_op(value, before):
            self._write(estimator, prefix)
            self.best = value
            text = f"improved from {before:.5f} to {value:.5f}, updating best model at {self.model_dir} with prefix: {prefix}"
        else:
            text = f"did not improve from {before:.5f}, skipping updating best model"
        if self.verbose > 0:
            estimator.logger.info("[Epoch %d] CheckpointHandler: %s %s", self.current_epoch, name, text)

    def _found(self) -> list[tuple[int, int]]:
        """(epoch, batch) of the checkpoints in model_dir, in order."""
        name = re.compile(re.escape(self.model_prefix) + r"-epoch(\d+)batch(\d+)\.params")
        matches = [name.fullmatch(path.name) for path in Path(self.model_dir).iterdir()]
        return sorted((int(m[1]), int(m[2])) for m in matches if m)

    def _resume(self, estimator: Any) -> None:
        found = self._found()
        unit = "epochs" if estimator.max_epoch else "batches"
        total = estimator.max_epoch or estimator.max_batch
        if not found:
            estimator.logger.info(
                "CheckpointHandler: No checkpoint found, training from scratch for %d %s", total, unit
            )
            return
        self.saved_checkpoints = [f"{self.model_prefix}-epoch{e}batch{b}" for e, b in found]
        self.trained_epoch, self.trained_batch = found[-1]
        done = (self.trained_epoch if estimator.max_epoch else self.trained_batch) + 1
        if done >= total:
            raise ValueError(
                f"Found checkpoint with maximum number of {unit} {total} reached, please specify "
                "resume_from_checkpoint=False (default value) if you want to train from scratch."
            )
        if estimator.max_epoch:
            estimator.max_epoch = total - done
        else:
            estimator.max_batch = total - done
        last = self.saved_checkpoints[-1]
        if not Path(self.model_dir, f"{last}.states").exists():
            raise AssertionError(f"Failed to load checkpoint, {self._path(last)}.states does not exist")
        estimator.net.load_parameters(self._path(f"{last}.params"), ctx=estimator.context)
        estimator.trainer.load_states(self._path(f"{last}.states"))
        estimator.logger.warning(
            "CheckpointHandler: Checkpoint resumed from epoch %d batch %d, continue to train for %d %s ",
            self.trained_epoch,
            self.trained_batch,
            total - done,
            unit,
        )


class EarlyStoppingHandler(TrainBegin, EpochEnd, TrainEnd):
    """Ends the training when the metric ``monitor`` has not improved, by more than min_delta, for ``patience`` epochs.

    mode: as for CheckpointHandler. baseline: what the first epoch has to be better than.

    Raises ValueError for a monitor that is no single metric.

    Examples
    --------
    >>> from gluonnx import mx
    >>> loss = mx.metric.Loss()
    >>> handler = mx.gluon.contrib.estimator.EarlyStoppingHandler(loss, patience=1, mode="min")
    >>> handler.train_begin(None)
    >>> for value in (3, 2, 4):
    ...     loss.reset()
    ...     loss.update(0, mx.nd.array([value]))
    ...     print(handler.epoch_end(None))
    False
    False
    True
    """

    def __init__(
        self,
        monitor: EvalMetric,
        min_delta: float = 0,
        patience: int = 0,
        mode: str = "auto",
        baseline: float | None = None,
    ):
        if not isinstance(monitor, EvalMetric):
            raise ValueError(
                "Please provide one of the metric objects from estimator.train_metrics and estimator.val_metrics as monitor."
            )
        if isinstance(monitor, CompositeEvalMetric):
            raise ValueError(
                "CompositeEvalMetric is not supported for EarlyStoppingHandler, please specify a simple metric instead."
            )
        self.monitor, self.baseline, self.patience = monitor, baseline, patience
        self.monitor_op = _better(mode, monitor)
        self.min_delta = min_delta if self.monitor_op is operator.gt else -min_delta
        self._reset()

    def _reset(self) -> None:
        self.wait = self.stopped_epoch = self.current_epoch = 0
        self.stop_training = False
        self.best = _worst(self.monitor_op) if self.baseline is None else self.baseline

    def train_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        self._reset()

    def epoch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> bool:
        name, value = self.monitor.get()
        if math.isnan(value):
            warnings.warn(
                f"{name} is not updated, make sure you pass one of the metric objects from estimator.train_metrics and "
                "estimator.val_metrics as monitor.",
                RuntimeWarning,
                stacklevel=2,
            )
        elif self.monitor_op(value - self.min_delta, self.best):
            self.best, self.wait = value, 0
        else:
            self.wait += 1
            if self.wait >= self.patience:
                self.stopped_epoch, self.stop_training = self.current_epoch, True
        self.current_epoch += 1
        return self.stop_training

    def train_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        if self.stopped_epoch > 0:
            estimator.logger.info(
                "[Epoch %d] EarlyStoppingHandler: early stopping due to %s not improving",
                self.stopped_epoch,
                self.monitor.get()[0],
            )
