"""Training of networks before Module; ``mx.model.DataParallelExecutorManager``, for programs of that time."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from .context import Context
from .io import DataDesc
from .module.base_module import Params, descriptions
from .module.executor_group import DataParallelExecutorGroup
from .module.executor_group import parts as _split_input_slice  # the name that programs use
from .symbol import Symbol

__all__ = ["DataParallelExecutorManager", "_split_input_slice"]


class DataParallelExecutorManager:
    """Executors of a symbol on several contexts; with sym_gen of one symbol for each ``bucket_key`` of train_data's batches.

    Source: MXNet DataParallelExecutorManager.

    Raises AssertionError unless work_load_list has an entry for each context.

    Parameters
    ----------
    symbol : Symbol
        Network, with its labels.
    ctx : list of Context
        Devices that share each batch.
    train_data : DataIter
        Iterator, of which only the descriptions are read.
    arg_names : list of str or None, default None
        Arguments of the symbol; None: all.
    param_names : list of str or None, default None
        Arguments that are parameters; None: those that are neither data nor label.
    aux_names : list of str or None, default None
        Auxiliary states; None: all.
    work_load_list : list of float or None, default None
        Share of each device in a batch; None: even.
    logger : Logger or None, default None
        Where progress is written to; None: the module logging.
    sym_gen : callable or None, default None
        Gives the symbol of a bucket_key.

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, no_bias=True, name="top")
    >>> net = mx.sym.LinearRegressionOutput(net, name="out")
    >>> x, y = mx.nd.array([[1], [2], [3], [4]]), mx.nd.array([2, 4, 6, 8])
    >>> data = mx.io.NDArrayIter(x, y, batch_size=4, label_name="out_label")
    >>> manager = mx.model.DataParallelExecutorManager(net, [mx.cpu(0), mx.cpu(1)], data)
    >>> manager.set_params({"top_weight": mx.nd.array([[1]])}, {})
    >>> batch = data.next()
    >>> manager.load_data_batch(batch)
    >>> manager.forward(is_train=True)
    >>> manager.backward()
    >>> metric = mx.metric.MAE()
    >>> manager.update_metric(metric, batch.label)
    >>> metric.get()
    ('mae', 2.5)
    >>> [[part.asnumpy().tolist() for part in parts] for parts in manager.grad_arrays]
    [[[[-5.0]], [[-25.0]]]]
    >>> len(manager.param_arrays[0]), manager.aux_arrays
    (2, [])
    >>> means = {"top_weight": mx.nd.zeros((1, 1))}
    >>> manager.copy_to(means, {})
    >>> means["top_weight"].asnumpy()
    array([[1.]], dtype=float32)
    """

    def __init__(
        self,
        symbol: Symbol,
        ctx: Sequence[Context],
        train_data: Any,
        arg_names: Sequence[str] | None = None,
        param_names: Sequence[str] | None = None,
        aux_names: Sequence[str] | None = None,
        work_load_list: Sequence[float] | None = None,
        logger: Any = None,
        sym_gen: Callable[[Any], Symbol] | None = None,
    ):
        self.ctx, self.symbol, self.sym_gen, self.logger = list(ctx), symbol, sym_gen, logger or logging
        self.work_load_list = [1] * len(self.ctx) if work_load_list is None else list(work_load_list)
        if len(self.work_load_list) != len(self.ctx):
            raise AssertionError(f"work_load_list has {len(self.work_load_list)} entries for {len(self.ctx)} contexts")
        data, labels = (descriptions(d) or [] for d in (train_data.provide_data, train_data.provide_label))
        self.arg_names = symbol.list_arguments() if arg_names is None else list(arg_names)
        self.aux_names = symbol.list_auxiliary_states() if aux_names is None else list(aux_names)
        given = {d.name for d in (*data, *labels)}
        self.param_names = [n for n in self.arg_names if n not in given] if param_names is None else list(param_names)
        self.execgrp = self.curr_execgrp = self._group(symbol, data, labels, None)
        self.execgrp_bucket = {getattr(train_data, "default_bucket_key", None): self.execgrp}

    def _group(
        self, symbol: Symbol, data: list[DataDesc], labels: list[DataDesc], shared: Any
    ) -> DataParallelExecutorGroup:
        return DataParallelExecutorGroup(
            symbol, self.ctx, self.work_load_list, data, labels, self.param_names, True, False, shared, self.logger
        )

    def install_monitor(self, monitor: Any) -> None:
        """Have a Monitor watch everything. Raises NotImplementedError with sym_gen.

        Examples
        --------
        >>> from gluonnx import mx
        >>> data = mx.io.NDArrayIter(mx.nd.array([-1, 2]), batch_size=2)
        >>> net = mx.sym.relu(mx.sym.var("data"), name="act")
        >>> manager = mx.model.DataParallelExecutorManager(net, [mx.cpu()], data)
        >>> monitor = mx.mon.Monitor(interval=1, stat_func=lambda array: array.max(), pattern="act")
        >>> manager.install_monitor(monitor)
        >>> monitor.tic()
        >>> manager.load_data_batch(data.next())
        >>> manager.forward()
        >>> [(number, name) for number, name, text in monitor.toc()]
        [(1, 'act_output')]
        """
        if self.sym_gen is not None:
            raise NotImplementedError("Monitoring is not implemented for bucketing")
        self.execgrp.install_monitor(monitor)

    def set_params(self, arg_params: Params, aux_params: Params) -> None:
        """Copy parameters to all contexts.

        arg_params, aux_params: arrays by name, as in Module.set_params."""
        self.execgrp.set_params(arg_params, aux_params)

    def copy_to(self, arg_params: Params, aux_params: Params) -> None:
        """Copy the means of the parameters over contexts to the arrays given, arg_params and aux_params by name."""
        self.execgrp.get_params(arg_params, aux_params)

    @property
    def param_arrays(self) -> list[Any]:
        """For each parameter a list over contexts."""
        return self.execgrp.param_arrays

    @property
    def grad_arrays(self) -> Any:
        """For the gradient of each parameter a list over contexts."""
        return self.execgrp.grad_arrays

    @property
    def aux_arrays(self) -> list[Any]:
        """For each auxiliary state a list over contexts."""
        return self.execgrp.aux_arrays

    def load_data_batch(self, data_batch: Any) -> None:
        """Copy a batch, data_batch, where it is computed with, in the executors of its bucket."""
        if self.sym_gen is not None:
            key = data_batch.bucket_key
            if key not in self.execgrp_bucket:
                data, labels = (descriptions(d) or [] for d in (data_batch.provide_data, data_batch.provide_label))
                self.execgrp_bucket[key] = self._group(self.sym_gen(key), data, labels, self.execgrp)
            self.curr_execgrp = self.execgrp_bucket[key]
        self.curr_execgrp.load(data_batch)

    def forward(self, is_train: bool = False) -> None:
        """Compute the outputs for the batch that was loaded; is_train: in training mode."""
        for executor in self.curr_execgrp.execs:
            executor.forward(is_train=is_train)

    def backward(self) -> None:
        """Compute the gradients."""
        self.curr_execgrp.backward()

    def update_metric(self, metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        """Tell a metric the labels and outputs. pre_sliced: labels are a list for each context."""
        self.curr_execgrp.update_metric(metric, labels, pre_sliced)
