"""Fits a network to a DataLoader."""

from __future__ import annotations

import copy
import logging
import sys
import warnings
from typing import Any

from ....context import Context, cpu, resolve
from ....core.error import MXNetError
from ....metric import EvalMetric
from ....metric import Loss as LossMetric
from ...data import DataLoader
from ...loss import Loss
from ...trainer import Trainer
from .batch_processor import BatchProcessor
from .event_handler import (
    BatchBegin,
    BatchEnd,
    EpochBegin,
    EpochEnd,
    EventHandler,
    GradientUpdateHandler,
    LoggingHandler,
    MetricHandler,
    StoppingHandler,
    TrainBegin,
    TrainEnd,
    ValidationHandler,
    check_event_handlers,
)
from .utils import check_metrics, check_metrics_known, suggest_metric_for_loss

__all__ = ["Estimator"]


class Estimator:
    """Trains and evaluates ``net`` with a loss, metrics and a Trainer; those not given are chosen: the loss itself (and
    Accuracy for softmax cross entropy), SGD with learning rate 0.001, and for validation the same as for training.

    ``train_metrics`` and ``val_metrics`` get "training " and "validation " before their names.

    Raises ValueError for a batch_processor without fit_batch and evaluate_batch.

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.gluon.nn.Dense(2)
    >>> net.initialize()
    >>> data = mx.gluon.data.ArrayDataset(mx.nd.ones((8, 3)), mx.nd.zeros(8))
    >>> loader = mx.gluon.data.DataLoader(data, batch_size=4)
    >>> Estimator = mx.gluon.contrib.estimator.Estimator
    >>> trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    >>> loss, metric = mx.gluon.loss.SoftmaxCELoss(), mx.metric.Accuracy()
    >>> estimator = Estimator(net, loss, train_metrics=metric, trainer=trainer)
    >>> estimator.logger.setLevel("ERROR")
    >>> estimator.fit(loader, epochs=1)
    >>> estimator.train_metrics[0].get()[0]
    'training accuracy'
    >>> estimator.evaluate(loader)
    >>> [metric.get()[0] for metric in estimator.val_metrics]
    ['validation accuracy']
    """

    logger: Any = None
    """Logger of the estimator and its handlers; by default to stdout, from level INFO on."""

    def __init__(
        self,
        net: Any,
        loss: Loss,
        train_metrics: Any = None,
        val_metrics: Any = None,
        initializer: Any = None,
        trainer: Trainer | None = None,
        context: Any = None,
        val_net: Any = None,
        val_loss: Loss | None = None,
        batch_processor: Any = None,
    ):
        self.net = net
        self.loss = _loss(loss)
        self._train_metrics = check_metrics(train_metrics)
        self._val_metrics = check_metrics(val_metrics)
        self._name_metrics()
        self.val_loss = self.loss if val_loss is None else _loss(val_loss)
        self.val_net = net if val_net is None else val_net
        self.logger = logging.Logger(name="Estimator", level=logging.INFO)
        self.logger.addHandler(logging.StreamHandler(sys.stdout))
        self.context = _contexts(context)
        self._initialize(initializer)
        self.trainer = self._check_trainer(trainer)
        if batch_processor is not None and not all(
            callable(getattr(batch_processor, name, None)) for name in ("fit_batch", "evaluate_batch")
        ):
            raise ValueError("Customized Batch Processor must contain fit_batch() and evaluate_batch() methods")
        self.batch_processor = batch_processor or BatchProcessor()
        self.max_epoch: int | None = None
        self.max_batch: int | None = None
        self.batch_axis = 0

    def _name_metrics(self) -> None:
        if not self._train_metrics:
            suggested = suggest_metric_for_loss(self.loss)
            self._train_metrics = [suggested] if suggested else []
            self._train_metrics.append(LossMetric(self.loss.name.rstrip("1234567890")))
        for metric in self._train_metrics:
            metric.name = f"training {metric.name}"
        if not self._val_metrics:
            self._val_metrics = [copy.deepcopy(m) for m in self._train_metrics]
        for metric in self._val_metrics:
            if "training" in metric.name:
                metric.name = metric.name.replace("training", "validation")
            else:
                metric.name = f"validation {metric.name}"

    def _initialize(self, initializer: Any) -> None:
        if all(p._data is not None or p._deferred_init for p in self.net.collect_params().values()):
            if initializer:
                warnings.warn(
                    "Network already fully initialized, skipping initialization. You don't need to pass initializer if "
                    "you already initialized your net. You can use net.initialize(init=your_initializer, "
                    "force_reinit=True) to force re-initialize.",
                    stacklevel=3,
                )
        elif initializer:
            self.net.initialize(init=initializer, ctx=self.context)
        else:
            self.net.initialize(ctx=self.context)

    def _check_trainer(self, trainer: Trainer | None) -> Trainer:
        if not trainer:
            warnings.warn("No trainer specified, default SGD optimizer with learning rate 0.001 is used.", stacklevel=3)
            return Trainer(self.net.collect_params(), "sgd", {"learning_rate": 0.001})
        if not isinstance(trainer, Trainer):
            raise ValueError(f"Trainer must be a Gluon Trainer instance, refer to gluon.Trainer:{trainer}")
        return trainer

    @property
    def train_metrics(self) -> list[EvalMetric]:
        """Metrics of training, the loss among them."""
        return self._train_metrics

    @property
    def val_metrics(self) -> list[EvalMetric]:
        """Metrics of validation, the loss among them."""
        return self._val_metrics

    def evaluate(self, val_data: DataLoader, batch_axis: int = 0, event_handlers: Any = None) -> None:
        """Compute val_metrics on the data. A MetricHandler and a LoggingHandler are added unless there are some."""
        _check_loader(val_data)
        for metric in self.val_metrics:
            metric.reset()
        chosen = self._prepare_default_validation_handlers(event_handlers)
        _, epoch_begin, batch_begin, batch_end, epoch_end, _ = self._categorize_handlers(chosen)
        for handler in epoch_begin:
            handler.epoch_begin(self)
        for batch in val_data:
            for handler in batch_begin:
                handler.batch_begin(self, batch=batch)
            _, label, pred, loss = self.batch_processor.evaluate_batch(self, batch, batch_axis)
            for handler in batch_end:
                handler.batch_end(self, batch=batch, pred=pred, label=label, loss=loss)
        for handler in epoch_end:
            handler.epoch_end(self)

    def fit(
        self,
        train_data: DataLoader,
        val_data: DataLoader | None = None,
        epochs: int | None = None,
        event_handlers: Any = None,
        batches: int | None = None,
        batch_axis: int = 0,
    ) -> None:
        """Train for so many epochs, or so many batches; with val_data, evaluate after every epoch.

        Handlers for stopping, updating, metrics, validation and logging are added unless there are some of their kind. A
        handler that returns True at the end of a batch ends the epoch, one that does at the end of an epoch the training.

        Raises ValueError unless one of epochs and batches is given."""
        _check_loader(train_data)
        if bool(epochs) == bool(batches):
            raise ValueError(
                "Fit only support exactly one type of iteration, train by number of epochs or number of batches."
                "Please specify one and only one of: epochs or batches."
            )
        self.max_epoch, self.max_batch, self.batch_axis = epochs, batches, batch_axis
        chosen = self._prepare_default_handlers(val_data, event_handlers)
        train_begin, epoch_begin, batch_begin, batch_end, epoch_end, train_end = self._categorize_handlers(chosen)
        for handler in train_begin:
            handler.train_begin(self)
        stopped = False
        while not stopped:
            for handler in epoch_begin:
                handler.epoch_begin(self)
            for batch in train_data:
                for handler in batch_begin:
                    handler.batch_begin(self, batch=batch)
                _, label, pred, loss = self.batch_processor.fit_batch(self, batch, batch_axis)
                told = [h.batch_end(self, batch=batch, pred=pred, label=label, loss=loss) for h in batch_end]
                if any(told):
                    break
            stopped = any([h.epoch_end(self) for h in epoch_end])
        for handler in train_end:
            handler.train_end(self)

    def _prepare_default_handlers(self, val_data: DataLoader | None, event_handlers: Any) -> list[Any]:
        """The given handlers and those that training needs besides, by priority."""
        handlers = check_event_handlers(event_handlers)
        added: list[EventHandler] = [StoppingHandler(self.max_epoch, self.max_batch)]
        if not any(isinstance(h, GradientUpdateHandler) for h in handlers):
            added.append(GradientUpdateHandler())
        if not any(isinstance(h, MetricHandler) for h in handlers):
            added.append(MetricHandler(metrics=self.train_metrics))
        if val_data is not None and not any(isinstance(h, ValidationHandler) for h in handlers):
            added.append(ValidationHandler(val_data=val_data, eval_fn=self.evaluate))
        if not any(isinstance(h, LoggingHandler) for h in handlers):
            added.append(LoggingHandler(metrics=self.train_metrics))
        return _sort_handlers(handlers, added, self.train_metrics + self.val_metrics)

    def _prepare_default_validation_handlers(self, event_handlers: Any) -> list[Any]:
        """The given handlers and those that evaluation needs besides, by priority."""
        handlers = check_event_handlers(event_handlers)
        added: list[EventHandler] = []
        if not any(isinstance(h, MetricHandler) for h in handlers):
            added.append(MetricHandler(metrics=self.val_metrics))
        if not any(isinstance(h, LoggingHandler) for h in handlers):
            added.append(LoggingHandler(metrics=self.val_metrics))
        return _sort_handlers(handlers, added, self.val_metrics)

    def _categorize_handlers(self, event_handlers: list[Any]) -> tuple[list[Any], ...]:
        """Those of train_begin, epoch_begin, batch_begin, batch_end, epoch_end and train_end."""
        kinds = (TrainBegin, EpochBegin, BatchBegin, BatchEnd, EpochEnd, TrainEnd)
        return tuple([h for h in event_handlers if isinstance(h, kind)] for kind in kinds)


def _sort_handlers(handlers: list[EventHandler], added: list[EventHandler], known: list[EvalMetric]) -> list[Any]:
    """All handlers by priority. Raises ValueError when a given one watches metrics that nobody updates."""
    everything = [*handlers, *added]
    if handlers and added:
        for handler in everything:
            check_metrics_known(handler, known)
    return sorted(everything, key=lambda handler: getattr(handler, "priority", 0))


def _loss(loss: Any) -> Loss:
    if not isinstance(loss, Loss):
        raise ValueError(f"loss must be a Loss, refer to gluon.loss.Loss:{loss}")
    return loss


def _check_loader(data: Any) -> None:
    if not isinstance(data, DataLoader):
        raise ValueError(
            "Estimator only support input as Gluon DataLoader. Alternatively, you can transform your DataIter or any "
            "NDArray into Gluon DataLoader. Refer to gluon.data.DataLoader"
        )


def _contexts(context: Any) -> list[Context]:
    if not context:
        return [cpu()]
    contexts = [context] if isinstance(context, Context) else context
    if not isinstance(contexts, list) or not all(isinstance(c, Context) for c in contexts):
        raise ValueError(
            "context must be a Context or a list of Context, for example mx.cpu() or [mx.gpu(0), mx.gpu(1)], refer to "
            f"mxnet.Context:{context}"
        )
    try:
        return [resolve(c) for c in contexts]
    except MXNetError as error:
        raise AssertionError(f"{error}; please make sure your context is available") from error
