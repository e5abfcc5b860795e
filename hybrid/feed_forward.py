"""FeedForward, which MXNet had before Module: a symbol with its parameters, trained and run by single calls."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from . import metric
from .callback import BatchEndParam, LogValidationMetricsCallback
from .checkpoint import load_checkpoint, save_checkpoint
from .context import Context, current_context
from .core.error import MXNetError
from .initializer import Uniform
from .io import DataIter, NDArrayIter
from .module import BucketingModule, Module
from .module.base_module import BaseModule, Params, call
from .ndarray import NDArray
from .symbol import Symbol


class FeedForward:
    """Deprecated; use Module. Other keywords are parameters of the optimizer. Source: MXNet FeedForward.

    Parameters
    ----------
    symbol : Symbol or callable
        Network, whose labels are arguments too; or what gives the one for a bucket_key, of which that for the iterator's
        default_bucket_key stays once fit has begun.
    ctx : Context, list of Context or None, default None
        Device, or devices that share each batch; None: the current one.
    num_epoch : int or None, default None
        Number behind the last epoch, which fit needs.
    epoch_size : int or None, default None
        Batches in an epoch; None: all that there are.
    optimizer : Optimizer or str, default 'sgd'
        Optimizer, or its name.
    initializer : Initializer, default Uniform(0.01)
        Of parameters that are not given.
    numpy_batch_size : int, default 128
        The most examples of a batch, of arrays that are given as data.
    arg_params : dict or None, default None
        Arguments by name to begin with.
    aux_params : dict or None, default None
        Auxiliary states by name to begin with.
    allow_extra_params : bool, default False
        Pass over parameters that the symbol has not; else they raise ValueError.
    begin_epoch : int, default 0
        Number of the first epoch.

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, no_bias=True, name="top")
    >>> net = mx.sym.LinearRegressionOutput(net, name="out")
    >>> x, y = mx.nd.array([[1], [2], [3], [4]]), mx.nd.array([2, 4, 6, 8])
    >>> data = mx.io.NDArrayIter(x, y, batch_size=4, label_name="out_label")
    >>> model = mx.model.FeedForward(net, num_epoch=20, learning_rate=0.05)
    >>> model.fit(data, eval_metric="mse")
    >>> model.arg_params["top_weight"].asnumpy().round(2)
    array([[2.]], dtype=float32)
    """

    def __init__(
        self,
        symbol: Symbol | Callable[[Any], Symbol],
        ctx: Any = None,
        num_epoch: int | None = None,
        epoch_size: int | None = None,
        optimizer: Any = "sgd",
        initializer: Any = Uniform(0.01),  # noqa: B008  shown in the signature, and not changed
        numpy_batch_size: int = 128,
        arg_params: Params | None = None,
        aux_params: Params | None = None,
        allow_extra_params: bool = False,
        begin_epoch: int = 0,
        **kwargs: Any,
    ):
        warnings.warn(
            "\033[91mmxnet.model.FeedForward has been deprecated. Please use mxnet.mod.Module instead.\033[0m",
            DeprecationWarning,
            stacklevel=2,
        )
        self.sym_gen = None if isinstance(symbol, Symbol) else symbol
        self.symbol: Any = symbol if isinstance(symbol, Symbol) else None
        self.ctx = [current_context()] if ctx is None else [ctx] if isinstance(ctx, Context) else list(ctx)
        self.num_epoch, self.begin_epoch, self.epoch_size = num_epoch, begin_epoch, epoch_size
        self.optimizer, self.initializer, self.kwargs = optimizer, initializer, dict(kwargs)
        self.numpy_batch_size = numpy_batch_size
        self.allow_extra_params = allow_extra_params
        self.arg_params, self.aux_params = arg_params, aux_params

    # -- data ---------------------------------------------------------------------------------------------------------

    def _iterator(self, data: Any, label: Any, is_train: bool) -> Any:
        """An iterator over arrays, or the one that is given. Raises ValueError for labels that are missing or not one number
        for each example."""
        if not isinstance(data, np.ndarray | NDArray):
            if not isinstance(data, DataIter):
                raise TypeError(f"X must be DataIter, NDArray or numpy.ndarray, got {type(data).__name__}")
            return data
        if label is None:
            if is_train:
                raise ValueError("y must be specified when X is numpy.ndarray")
            label = np.zeros(data.shape[0])
        label = label.asnumpy() if isinstance(label, NDArray) else np.asarray(label)
        if data.shape[0] != label.shape[0]:
            raise ValueError(f"The numbers of data points and labels not equal: {data.shape[0]} and {label.shape[0]}")
        if label.ndim == 2 and label.shape[1] == 1:
            label = label.ravel()
        if label.ndim != 1:
            raise ValueError(f"Label must be 1D or 2D (with 2nd dimension being 1), got shape {label.shape}")
        size = min(data.shape[0], self.numpy_batch_size)
        # what is left over of an epoch waits for the next; predictions are to be complete
        rest = "roll_over" if is_train else "pad"
        return NDArrayIter(data, label, size, shuffle=is_train, last_batch_handle=rest)

    def _bind_module(self, data: Any, is_train: bool, workload: Any = None, fresh: bool = False) -> BaseModule:
        """A Module for the data, with the parameters that there are; others are initialized when fresh."""
        names = [d[0] for d in data.provide_data]
        arguments = self.symbol.list_arguments()
        labels = [d for d in data.provide_label or () if d[0] in arguments]
        label_names = [d[0] for d in labels]
        if not fresh:  # then any other argument is a label that prediction does without
            if self.arg_params is None:
                raise MXNetError("FeedForward: there are no parameters yet; fit the model, or give arg_params")
            known = {*names, *self.arg_params}
            label_names = [a for a in arguments if a not in known]
            unknown = {*self.arg_params, *(self.aux_params or {})}.difference(self.symbol.list_inputs())
            if unknown and not self.allow_extra_params:
                raise ValueError(
                    f"parameters {sorted(unknown)} are not in the symbol; allow_extra_params=True passes over them"
                )
            labels = [d for d in labels if d[0] in label_names]
        module: BaseModule
        if fresh and self.sym_gen is not None:
            generate = self.sym_gen

            def bucket(key: Any) -> tuple[Symbol, list[str], list[str]]:
                made = generate(key)
                taken = made.list_arguments()  # a short one has not all of the inputs
                return made, [n for n in names if n in taken], [n for n in label_names if n in taken]

            module = BucketingModule(bucket, data.default_bucket_key, context=self.ctx, work_load_list=workload)
        else:
            module = Module(self.symbol, names, label_names, context=self.ctx, work_load_list=workload)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # label names that are not bound are meant
            module.bind(data.provide_data, labels, for_training=is_train)
        module.init_params(
            initializer=self.initializer if fresh else None,
            arg_params=self.arg_params,
            aux_params=self.aux_params,
            allow_missing=fresh,
        )
        return module

    def _want_labels(self, data: Any) -> None:
        """Raises ValueError where labels that the symbol does not take come before those that it takes: they are told apart by
        their place alone."""
        given = [d[0] for d in data.provide_label or ()]
        taken = [name for name in given if name in self.symbol.list_arguments()]
        if given[: len(taken)] != taken:
            raise ValueError(
                f"the iterator gives the labels {given}, of which the symbol takes {taken}; wanted these first"
            )

    # -- running ------------------------------------------------------------------------------------------------------

    def predict(self, X: Any, num_batch: int | None = None, return_data: bool = False, reset: bool = True) -> Any:  # noqa: N803
        """Outputs as NumPy arrays, the array itself when there is one; with return_data (outputs, data, labels).

        Parameters
        ----------
        X : DataIter or array
            Inputs, the examples along the first axis.
        num_batch : int or None, default None
            Batches that are looked at; None: all.
        return_data : bool, default False
            Give data and labels too.
        reset : bool, default True
            Reset the iterator first.

        Raises MXNetError before there are parameters, TypeError for other data, ValueError for parameters that the
        symbol has not, unless allow_extra_params.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, no_bias=True, name="top")
        >>> model = mx.model.FeedForward(net, arg_params={"top_weight": mx.nd.array([[1, 2]])})
        >>> model.predict(mx.nd.array([[10, 1], [0, 3]]))
        array([[12.],
               [ 6.]], dtype=float32)
        """
        data = self._iterator(X, None, is_train=False)
        if reset:
            data.reset()
        module = self._bind_module(data, is_train=False)
        parts: list[list[list[np.ndarray]]] = [[], [], []]
        for number, batch in enumerate(data):
            if number == num_batch:
                break
            module.forward(batch, is_train=False)
            for part, arrays in zip(parts, (module.get_outputs(), batch.data, batch.label or ())):
                part.append([a.asnumpy()[: a.shape[0] - (batch.pad or 0)] for a in arrays])
        joined = [[np.concatenate(column) for column in zip(*part)] for part in parts]
        outputs, inputs, labels = (arrays[0] if len(arrays) == 1 else arrays for arrays in joined)
        return (outputs, inputs, labels) if return_data else outputs

    def score(
        self,
        X: Any,  # noqa: N803
        eval_metric: Any = "acc",
        num_batch: int | None = None,
        batch_end_callback: Any = None,
        reset: bool = True,
    ) -> Any:
        """The metric over an iterator.

        Parameters
        ----------
        X : DataIter or array
            Inputs, and labels; those of an array are 0.
        eval_metric : EvalMetric or what metric.create takes, default 'acc'
            Metric.
        num_batch : int or None, default None
            Batches that are looked at; None: all.
        batch_end_callback : callable or list, default None
            Called after each batch with a BatchEndParam.
        reset : bool, default True
            Reset the iterator first.

        Raises as predict does, and ValueError where labels that the symbol does not take come before those that it
        takes.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, no_bias=True, name="top")
        >>> net = mx.sym.LinearRegressionOutput(net, name="out")
        >>> model = mx.model.FeedForward(net, arg_params={"top_weight": mx.nd.array([[2]])})
        >>> x, y = mx.nd.array([[1], [2]]), mx.nd.array([3, 5])
        >>> data = mx.io.NDArrayIter(x, y, batch_size=2, label_name="out_label")
        >>> model.score(data, eval_metric="mae")
        1.0
        """
        data = self._iterator(X, None, is_train=False)
        self._want_labels(data)
        module = self._bind_module(data, is_train=False)
        pairs = module.score(data, eval_metric, num_batch, batch_end_callback, reset=reset)
        return pairs[0][1] if len(pairs) == 1 else [value for _, value in pairs]

    def fit(
        self,
        X: Any,  # noqa: N803
        y: Any = None,
        eval_data: Any = None,
        eval_metric: Any = "acc",
        epoch_end_callback: Any = None,
        batch_end_callback: Any = None,
        kvstore: Any = "local",
        logger: Any = None,
        work_load_list: Any = None,
        monitor: Any = None,
        eval_end_callback: Any = LogValidationMetricsCallback(),  # noqa: B008  shown in the signature, and not changed
        eval_batch_end_callback: Any = None,
    ) -> None:
        """Train on an iterator, or on arrays X with labels y; eval_data may be a pair of arrays too.

        Raises AssertionError without num_epoch, TypeError for evaluation data of another kind, ValueError for data
        without batches.

        Parameters
        ----------
        X : DataIter or array
            Inputs, the examples along the first axis.
        y : array, default None
            Labels of an array X, one number for each example.
        eval_data : DataIter, pair of arrays or None, default None
            Examples that are measured after each epoch.
        eval_metric : EvalMetric or what metric.create takes, default 'acc'
            Metric of training and of eval_data.
        epoch_end_callback : callable or list, default None
            Called after each epoch with (epoch, symbol, arguments, auxiliary states).
        batch_end_callback : callable or list, default None
            Called after each batch with a BatchEndParam.
        kvstore : KVStore, str or None, default 'local'
            Store that adds up gradients; as Module.init_optimizer takes it.
        logger : Logger or None, default None
            Where progress is written to; None: the module logging.
        work_load_list : list or None, default None
            Share of each device in a batch; None: even.
        monitor : Monitor or None, default None
            Watches what is computed.
        eval_end_callback : callable or list, default LogValidationMetricsCallback()
            Called with a BatchEndParam once eval_data was measured.
        eval_batch_end_callback : callable or list, default None
            Called with a BatchEndParam after each batch of eval_data.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="top")
        >>> net = mx.sym.SoftmaxOutput(net, name="softmax")
        >>> x, y = mx.nd.array([[-1], [1], [-2], [2]]), mx.nd.array([0, 1, 0, 1])
        >>> model = mx.model.FeedForward(net, num_epoch=10, learning_rate=1)
        >>> model.fit(x, y)
        >>> model.predict(mx.nd.array([[-3], [3]])).argmax(axis=1)
        array([0, 1])
        """
        if self.num_epoch is None:
            raise AssertionError("FeedForward: give num_epoch to train")
        logger = logger or logging
        train_data = self._iterator(X, y, is_train=True)
        if self.sym_gen is not None:
            self.symbol = self.sym_gen(train_data.default_bucket_key)
        self._want_labels(train_data)
        if isinstance(eval_data, tuple | list) and len(eval_data) == 2:
            arrays = [np.array(v) if isinstance(v, list) else v for v in eval_data]
            eval_data = self._iterator(arrays[0], arrays[1], is_train=False)
        elif eval_data is not None and not isinstance(eval_data, DataIter):
            raise TypeError(f"eval_data must be DataIter, or a pair of arrays or lists, got {type(eval_data).__name__}")
        module = self._bind_module(train_data, True, work_load_list, fresh=True)
        if monitor is not None:
            module.install_monitor(monitor)
        module.init_optimizer(kvstore, self.optimizer, self.kwargs)
        eval_metric = metric.create(eval_metric)
        logger.info("Start training with %s", str(self.ctx))
        train_data.reset()
        for epoch in range(self.begin_epoch, self.num_epoch):
            started = time.time()
            eval_metric.reset()
            nbatch = 0
            while not nbatch or (self.epoch_size is not None and nbatch < self.epoch_size):
                before = nbatch
                for data_batch in train_data:
                    if monitor is not None:
                        monitor.tic()
                    module.forward_backward(data_batch)
                    module.update()
                    if monitor is not None:
                        monitor.toc_print()
                    module.update_metric(eval_metric, data_batch.label)
                    nbatch += 1
                    call(batch_end_callback, BatchEndParam(epoch, nbatch, eval_metric, locals()))
                    if nbatch == self.epoch_size:
                        break
                else:
                    logger.info("Epoch[%d] Resetting Data Iterator", epoch)
                    train_data.reset()
                if nbatch == before:
                    raise ValueError("FeedForward: the iterator gives no batches")
            logger.info("Epoch[%d] Time cost=%.3f", epoch, time.time() - started)
            self.arg_params, self.aux_params = module.get_params()
            call(epoch_end_callback, epoch, self.symbol, self.arg_params, self.aux_params)
            if eval_data is not None:
                module.score(
                    eval_data, eval_metric, None, eval_batch_end_callback, eval_end_callback, epoch=epoch
                )  # fmt: skip

    # -- files --------------------------------------------------------------------------------------------------------

    def save(self, prefix: str, epoch: int | None = None, remove_amp_cast: bool = True) -> None:
        """Write a checkpoint; of num_epoch when no epoch is given.

        Raises AssertionError without an epoch.

        Parameters
        ----------
        prefix : str
            Beginning of the names of the files, ``PREFIX-symbol.json`` and ``PREFIX-NNNN.params``.
        epoch : int or None, default None
            The number NNNN; None: num_epoch.
        remove_amp_cast : bool, default True
            Leave out the casts that mixed precision put in.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, no_bias=True, name="top")
        >>> model = mx.model.FeedForward(net, arg_params={"top_weight": mx.nd.array([[1, 2]])})
        >>> model.save("net", epoch=3)
        >>> sorted(mx.nd.load("net-0003.params"))
        ['arg:top_weight']
        """
        number = self.num_epoch if epoch is None else epoch
        if number is None:
            raise AssertionError("FeedForward: give an epoch to save")
        save_checkpoint(prefix, number, self.symbol, self.arg_params or {}, self.aux_params or {}, remove_amp_cast)

    @staticmethod
    def load(prefix: str, epoch: int, ctx: Any = None, **kwargs: Any) -> FeedForward:
        """The model of a checkpoint, to go on with at that epoch.

        Parameters
        ----------
        prefix : str
            Beginning of the names of the files, ``PREFIX-symbol.json`` and ``PREFIX-NNNN.params``.
        epoch : int
            The number NNNN.
        ctx : Context, list of Context or None, default None
            Device, or devices that share each batch; None: the current one.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, no_bias=True, name="top")
        >>> mx.model.save_checkpoint("net", 3, net, {"top_weight": mx.nd.array([[1, 2]])}, {})
        >>> model = mx.model.FeedForward.load("net", 3)
        >>> model.begin_epoch, model.predict(mx.nd.array([[10, 1]]))
        (3, array([[12.]], dtype=float32))
        """
        symbol, arguments, states = load_checkpoint(prefix, epoch)
        return FeedForward(symbol, ctx=ctx, arg_params=arguments, aux_params=states, begin_epoch=epoch, **kwargs)

    @staticmethod
    def create(
        symbol: Symbol,
        X: Any,  # noqa: N803
        y: Any = None,
        ctx: Any = None,
        num_epoch: int | None = None,
        epoch_size: int | None = None,
        optimizer: Any = "sgd",
        initializer: Any = Uniform(0.01),  # noqa: B008  shown in the signature, and not changed
        eval_data: Any = None,
        eval_metric: Any = "acc",
        epoch_end_callback: Any = None,
        batch_end_callback: Any = None,
        kvstore: Any = "local",
        logger: Any = None,
        work_load_list: Any = None,
        eval_end_callback: Any = LogValidationMetricsCallback(),  # noqa: B008  shown in the signature, and not changed
        eval_batch_end_callback: Any = None,
        **kwargs: Any,
    ) -> FeedForward:
        """A new model, trained.

        Arguments are those of FeedForward (symbol, ctx, num_epoch, epoch_size, optimizer, initializer, and parameters
        of the optimizer) and of its fit (X, y, eval_data, eval_metric, epoch_end_callback, batch_end_callback, kvstore,
        logger, work_load_list, eval_end_callback, eval_batch_end_callback); what they raise, this raises.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="top")
        >>> net = mx.sym.SoftmaxOutput(net, name="softmax")
        >>> x, y = mx.nd.array([[-1], [1], [-2], [2]]), mx.nd.array([0, 1, 0, 1])
        >>> model = mx.model.FeedForward.create(net, x, y, num_epoch=10, learning_rate=1)
        >>> model.predict(mx.nd.array([[-3], [3]])).argmax(axis=1)
        array([0, 1])
        """
        model = FeedForward(symbol, ctx, num_epoch, epoch_size, optimizer, initializer, **kwargs)
        model.fit(
            X, y, eval_data, eval_metric, epoch_end_callback, batch_end_callback, kvstore, logger, work_load_list,
            eval_end_callback=eval_end_callback, eval_batch_end_callback=eval_batch_end_callback,
        )  # fmt: skip
        return model
