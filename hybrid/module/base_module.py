"""The base of all modules: train, predict and score over iterators, by the few steps that each kind defines."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .. import metric, ndarray
from ..base import _as_list
from ..callback import BatchEndParam
from ..core.resume import Settings
from ..formats import params
from ..initializer import Uniform
from ..io import DataBatch, DataDesc, DataIter
from ..ndarray import NDArray

Params = dict[str, NDArray]
DEFAULT = (("learning_rate", 0.01),)
"""Parameters of the optimizer when none are given."""


def call(callbacks: Any, *args: Any) -> None:
    """Call a callback, or each of a list of them; None is no callback."""
    for callback in _as_list(callbacks) if callbacks is not None else ():
        callback(*args)


def check_names(arguments: Sequence[str], names: Sequence[str], kind: str, required: bool) -> None:
    """Raise ValueError, or warn when not required, for a name that no argument of the symbol has."""
    parameters = ("_weight", "_bias", "_gamma", "_beta")
    for name in names:
        if name in arguments:
            continue
        inputs = [a for a in arguments if not a.endswith(parameters)]
        text = (
            f"\033[91mYou created Module with Module(..., {kind}_names={names}) but input with name '{name}' is not found in "
            "symbol.list_arguments(). Did you mean one of:\n\t" + "\n\t".join(inputs) + "\033[0m"
        )
        if required:
            raise ValueError(text)
        warnings.warn(text, stacklevel=4)


def check_described(names: Sequence[str], described: Sequence[Any], kind: str, required: bool) -> None:
    """Raise ValueError, or warn when not required, when what is described has other names."""
    if sorted(d[0] for d in described) == sorted(names):
        return
    text = f"Data provided by {kind}_shapes don't match names specified by {kind}_names ({described} vs. {names})"
    if required:
        raise ValueError(text)
    warnings.warn(text, stacklevel=5)


def _check_input_names(symbol: Any, names: Sequence[str], typename: str, throw: bool) -> None:
    """check_names as programs call it that make modules of their own."""
    check_names(symbol.list_arguments(), names, typename, throw)


def _parse_data_desc(
    data_names: Sequence[str], label_names: Sequence[str], data_shapes: Any, label_shapes: Any
) -> tuple[list[DataDesc], list[DataDesc] | None]:
    """DataDescs of inputs and labels, whose names are checked, as programs call it that make modules of their own."""
    data, labels = (descriptions(shapes) or [] for shapes in (data_shapes, label_shapes))
    check_described(data_names, data, "data", True)
    check_described(label_names, labels, "label", False)
    return data, None if label_shapes is None else labels


_check_names_match = check_described


def descriptions(shapes: Any) -> list[DataDesc] | None:
    """DataDescs of them, or of (name, shape) pairs; None for nothing."""
    if not shapes:
        return None
    return [d if isinstance(d, DataDesc) else DataDesc(*d) for d in shapes]


class BaseModule:
    """Base class. Bind it to shapes, initialize parameters and optimizer, then step by step: forward, backward, update.

    ``fit``, ``score`` and ``predict`` do these steps over iterators.

    Parameters
    ----------
    logger : module or Logger, default logging
        Where progress is written to.

    Examples
    --------
    >>> from gluonnx import mx
    >>> x, y = mx.nd.array([[1], [2], [3], [4]]), mx.nd.array([2, 4, 6, 8])
    >>> data = mx.io.NDArrayIter(x, y, batch_size=4, label_name="out_label")
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, no_bias=True, name="top")
    >>> net = mx.sym.LinearRegressionOutput(net, name="out")
    >>> module = mx.mod.Module(net, label_names=["out_label"])
    >>> module.bind(data.provide_data, data.provide_label)
    >>> module.init_params(mx.init.Zero())
    >>> module.init_optimizer(optimizer_params={"learning_rate": 0.05})
    >>> for epoch in range(20):
    ...     data.reset()
    ...     for batch in data:
    ...         module.forward_backward(batch)
    ...         module.update()
    >>> module.predict(data).asnumpy().round(2).ravel()
    array([2., 4., 6., 8.], dtype=float32)
    >>> dict(module.score(data, "mse"))["mse"] < 1e-3
    True
    """

    def __init__(self, logger: Any = logging):
        self.logger = logger
        self.binded = False
        self.for_training = False
        self.inputs_need_grad = False
        self.params_initialized = False
        self.optimizer_initialized = False
        self._symbol: Any = None

    def _want(self, *steps: str) -> None:
        """Raise AssertionError unless these steps (bind, init_params, init_optimizer) were done."""
        done = {
            "bind": self.binded,
            "init_params": self.params_initialized,
            "init_optimizer": self.optimizer_initialized,
        }
        missing = [s for s in steps if not done[s]]
        if missing:
            raise AssertionError(f"{type(self).__name__}: call {', '.join(missing)} first")

    def _warn_if_initialized(self, call: str, force_init: bool) -> bool:
        """True, with a warning, when parameters have been initialized, so that a call must not change them."""
        if force_init or not self.params_initialized:
            return False
        warnings.warn(f"Parameters already initialized and force_init=False. {call} call ignored.", stacklevel=3)
        return True

    # -- over iterators -----------------------------------------------------------------------------------------------

    def forward_backward(self, data_batch: Any) -> None:
        """forward of a data_batch in training mode, then backward."""
        self.forward(data_batch, is_train=True)
        self.backward()

    def _run(self, eval_data: Any, num_batch: int | None, reset: bool, sparse_row_id_fn: Any) -> Iterator[Any]:
        """(number, batch) of every batch, once forward has run on it."""
        self._want("bind", "init_params")
        if reset:
            eval_data.reset()
        for nbatch, eval_batch in enumerate(eval_data):
            if nbatch == num_batch:
                break
            self.prepare(eval_batch, sparse_row_id_fn=sparse_row_id_fn)
            self.forward(eval_batch, is_train=False)
            yield nbatch, eval_batch

    def _measure(self, eval_metric: Any, batch: Any) -> None:
        """update_metric with the labels of a batch, or of a list of batches, one for each context."""
        if isinstance(batch, list):
            self.update_metric(eval_metric, [b.label for b in batch], pre_sliced=True)
        else:
            self.update_metric(eval_metric, batch.label)

    def score(
        self,
        eval_data: Any,
        eval_metric: Any,
        num_batch: int | None = None,
        batch_end_callback: Any = None,
        score_end_callback: Any = None,
        reset: bool = True,
        epoch: int = 0,
        sparse_row_id_fn: Any = None,
    ) -> list[tuple[str, float]]:
        """The metric over an iterator (its first num_batch batches), as (name, value) pairs.

        eval_data: the iterator; reset: reset it first. eval_metric: an EvalMetric, or what metric.create takes. batch_end_callback,
        score_end_callback: called with a BatchEndParam after each batch and after the last, in which epoch stands.
        sparse_row_id_fn: as in prepare."""
        self._want("bind", "init_params")
        if not isinstance(eval_metric, metric.EvalMetric):
            eval_metric = metric.create(eval_metric)
        eval_metric.reset()
        actual_num_batch = 0
        for nbatch, eval_batch in self._run(eval_data, num_batch, reset, sparse_row_id_fn):
            self._measure(eval_metric, eval_batch)
            call(batch_end_callback, BatchEndParam(epoch, nbatch, eval_metric, locals()))
            actual_num_batch += 1
        call(score_end_callback, BatchEndParam(epoch, actual_num_batch, eval_metric, locals()))
        return eval_metric.get_name_value()

    def _strip_padding(self, batch: Any) -> list[NDArray]:
        return [out[0 : out.shape[0] - (batch.pad or 0)] for out in self.get_outputs()]

    def iter_predict(
        self, eval_data: Any, num_batch: int | None = None, reset: bool = True, sparse_row_id_fn: Any = None
    ) -> Iterator[tuple[list[NDArray], int, Any]]:
        """(outputs, number, batch) of every batch of eval_data, or the first num_batch; outputs without those of padding.

        reset: reset the iterator first. sparse_row_id_fn: as in prepare.

        Examples
        --------
        >>> from gluonnx import mx
        >>> module = mx.mod.Module(mx.sym.relu(mx.sym.var("data"), name="act"), label_names=None)
        >>> data = mx.io.NDArrayIter(mx.nd.array([-1, 2, 3]), batch_size=2)
        >>> module.bind(data.provide_data, for_training=False)
        >>> module.init_params()
        >>> for outputs, number, batch in module.iter_predict(data):
        ...     print(number, outputs[0].asnumpy(), batch.pad)
        0 [0. 2.] 0
        1 [3.] 1
        """
        for nbatch, eval_batch in self._run(eval_data, num_batch, reset, sparse_row_id_fn):
            yield self._strip_padding(eval_batch), nbatch, eval_batch

    def predict(
        self,
        eval_data: Any,
        num_batch: int | None = None,
        merge_batches: bool = True,
        reset: bool = True,
        always_output_list: bool = False,
        sparse_row_id_fn: Any = None,
    ) -> Any:
        """Outputs for an iterator (its first num_batch batches), or for an array: eval_data.

        reset: reset the iterator first. sparse_row_id_fn: as in prepare. All batches joined, and the array alone when there is
        one output only (but with always_output_list); a list for each batch without merge_batches. Raises AssertionError when
        batches have different numbers of outputs and cannot be joined.

        Raises ValueError for data of another kind."""
        self._want("bind", "init_params")
        if isinstance(eval_data, NDArray | np.ndarray):
            array = eval_data if isinstance(eval_data, NDArray) else ndarray.array(eval_data)
            self.forward(DataBatch([array]))
            return self.get_outputs()[0]
        if not isinstance(eval_data, DataIter):
            raise ValueError("eval_data must be of type NDArray or DataIter")
        batches = [
            [out.copy() for out in self._strip_padding(batch)]
            for _, batch in self._run(eval_data, num_batch, reset, sparse_row_id_fn)
        ]
        if not batches or not merge_batches:
            return batches
        if len({len(outputs) for outputs in batches}) > 1:
            raise AssertionError(
                "Cannot merge batches, as num of outputs is not the same in mini-batches. Maybe bucketing is used?"
            )
        joined = [ndarray.concat(*column, dim=0) for column in zip(*batches)]
        return joined[0] if len(joined) == 1 and not always_output_list else joined

    def fit(
        self,
        train_data: Any,
        eval_data: Any = None,
        eval_metric: Any = "acc",
        epoch_end_callback: Any = None,
        batch_end_callback: Any = None,
        kvstore: Any = "local",
        optimizer: Any = "sgd",
        optimizer_params: Any = DEFAULT,
        eval_end_callback: Any = None,
        eval_batch_end_callback: Any = None,
        initializer: Any = Uniform(0.01),  # noqa: B008  shown in the signature, and not changed
        arg_params: Params | None = None,
        aux_params: Params | None = None,
        allow_missing: bool = False,
        force_rebind: bool = False,
        force_init: bool = False,
        begin_epoch: int = 0,
        num_epoch: int | None = None,
        validation_metric: Any = None,
        monitor: Any = None,
        sparse_row_id_fn: Any = None,
    ) -> None:
        """Bind, initialize, and train for epochs begin_epoch to num_epoch - 1, logging metrics and times.

        Parameters
        ----------
        train_data : DataIter
            Examples to train on.
        eval_data : DataIter or None, default None
            Examples that are measured after each epoch.
        eval_metric : EvalMetric or what metric.create takes, default 'acc'
            Metric of training.
        epoch_end_callback : callable or list, default None
            Called after each epoch with (epoch, symbol, arguments, auxiliary states).
        batch_end_callback : callable or list, default None
            Called after each batch with a BatchEndParam.
        kvstore : KVStore, str or None, default 'local'
            Store that adds up gradients; as init_optimizer takes it.
        optimizer : Optimizer or str, default 'sgd'
            Optimizer, or its name.
        optimizer_params : dict or pairs, default (('learning_rate', 0.01),)
            Arguments of an optimizer that is named.
        eval_end_callback : callable or list, default None
            Called with a BatchEndParam once eval_data was measured.
        eval_batch_end_callback : callable or list, default None
            Called with a BatchEndParam after each batch of eval_data.
        initializer : Initializer, default Uniform(0.01)
            Of parameters that are not given.
        arg_params : dict or None, default None
            Arguments by name to begin with.
        aux_params : dict or None, default None
            Auxiliary states by name to begin with.
        allow_missing : bool, default False
            The initializer makes what arg_params and aux_params lack; else that raises RuntimeError.
        force_rebind : bool, default False
            Bind again where that was done.
        force_init : bool, default False
            Initialize again where that was done.
        begin_epoch : int, default 0
            Number of the first epoch.
        num_epoch : int
            Number behind the last epoch, which has to be given.
        validation_metric : EvalMetric or what metric.create takes, default None
            Metric of eval_data; None: eval_metric.
        monitor : Monitor or None, default None
            Watches what is computed.
        sparse_row_id_fn : callable or None, default None
            As in prepare.

        Raises AssertionError without num_epoch.

        Examples
        --------
        >>> from gluonnx import mx
        >>> x, y = mx.nd.array([[1], [2], [3], [4]]), mx.nd.array([2, 4, 6, 8])
        >>> data = mx.io.NDArrayIter(x, y, batch_size=4, label_name="out_label")
        >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, no_bias=True, name="top")
        >>> net = mx.sym.LinearRegressionOutput(net, name="out")
        >>> module = mx.mod.Module(net, label_names=["out_label"])
        >>> options = {"learning_rate": 0.05}
        >>> module.fit(data, eval_metric="mse", optimizer_params=options, num_epoch=20)
        >>> module.get_params()[0]["top_weight"].asnumpy().round(2)
        array([[2.]], dtype=float32)
        """
        if num_epoch is None:
            raise AssertionError("please specify number of epochs")
        self.bind(train_data.provide_data, train_data.provide_label, for_training=True, force_rebind=force_rebind)
        if monitor is not None:
            self.install_monitor(monitor)
        self.init_params(
            initializer=initializer,
            arg_params=arg_params,
            aux_params=aux_params,
            allow_missing=allow_missing,
            force_init=force_init,
        )
        self.init_optimizer(kvstore=kvstore, optimizer=optimizer, optimizer_params=optimizer_params)
        if validation_metric is None:
            validation_metric = eval_metric
        if not isinstance(eval_metric, metric.EvalMetric):
            eval_metric = metric.create(eval_metric)

        called = {
            "batch_end_callback": batch_end_callback,
            "epoch_end_callback": epoch_end_callback,
            "eval_end_callback": eval_end_callback,
            "eval_batch_end_callback": eval_batch_end_callback,
            "validation_metric": validation_metric,
            "monitor": monitor,
            "sparse_row_id_fn": sparse_row_id_fn,
        }
        run = self._resumable(eval_metric, called)
        for epoch in range(begin_epoch, num_epoch) if run is None else run.epochs(num_epoch, begin_epoch):
            started = time.time()
            self._begin_epoch(epoch, train_data)
            eval_metric.reset()
            values: list[tuple[str, float]] = []
            nbatch = 0
            data_iter = iter(train_data if run is None else run.batches(train_data))
            next_data_batch = next(data_iter)
            if run is not None:
                nbatch = run.done
            while next_data_batch is not None:
                data_batch = next_data_batch
                if monitor is not None:
                    monitor.tic()
                self.forward_backward(data_batch)
                self.update()
                self._measure(eval_metric, data_batch)
                # asked for only now: iterators may reuse the arrays of the batch before
                next_data_batch = next(data_iter, None)
                if next_data_batch is not None:
                    self.prepare(next_data_batch, sparse_row_id_fn=sparse_row_id_fn)
                if monitor is not None:
                    monitor.toc_print()
                if next_data_batch is None:  # before callbacks, which may reset the metric
                    values = eval_metric.get_global_name_value()
                call(batch_end_callback, BatchEndParam(epoch, nbatch, eval_metric, locals()))
                if run is not None:
                    run._write_due()
                nbatch += 1
            for name, value in values:
                self.logger.info("Epoch[%d] Train-%s=%f", epoch, name, value)
            self.logger.info("Epoch[%d] Time cost=%.3f", epoch, time.time() - started)
            # auxiliary states may differ between contexts: all get the mean
            arg_params, aux_params = self.get_params()
            self.set_params(arg_params, aux_params)
            call(epoch_end_callback, epoch, self.symbol, arg_params, aux_params)
            if eval_data is not None:
                found = self.score(
                    eval_data,
                    validation_metric,
                    score_end_callback=eval_end_callback,
                    batch_end_callback=eval_batch_end_callback,
                    epoch=epoch,
                )
                for name, value in found:
                    self.logger.info("Epoch[%d] Validation-%s=%f", epoch, name, value)
            train_data.reset()

    def _resumable(self, eval_metric: metric.EvalMetric, called: dict[str, Any]) -> Any:
        """The keeper of this training's state, where ``--resume`` asks for one; else None. called: what fit calls besides."""
        if Settings.folder is None:
            return None
        from .. import resuming  # it stands on the stores, which most programs do without

        run = resuming.Training(module=self)
        run._is_of_fit({"eval_metric": eval_metric, **called}, (self, getattr(self, "_optimizer", None)))
        return run

    def _begin_epoch(self, epoch: int, train_data: Any) -> None:
        """Do what comes before the batches of an epoch: nothing, but for modules that say otherwise."""

    # -- what it is bound to ------------------------------------------------------------------------------------------

    @property
    def symbol(self) -> Any:
        """The symbol that it runs, None for modules without one.

        Examples
        --------
        >>> from gluonnx import mx
        >>> module = mx.mod.Module(mx.sym.relu(mx.sym.var("data"), name="act"), label_names=None)
        >>> module.symbol.list_outputs()
        ['act_output']
        """
        return self._symbol

    @property
    def data_names(self) -> Any:
        """Names of the inputs.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.sym.var("left") + mx.sym.var("right")
        >>> mx.mod.Module(net, data_names=["left", "right"], label_names=None).data_names
        ['left', 'right']
        """
        raise NotImplementedError

    @property
    def output_names(self) -> Any:
        """Names of the outputs.

        Examples
        --------
        >>> from gluonnx import mx
        >>> x = mx.sym.var("data")
        >>> net = mx.sym.Group([mx.sym.relu(x, name="act"), mx.sym.exp(x, name="power")])
        >>> mx.mod.Module(net, label_names=None).output_names
        ['act_output', 'power_output']
        """
        raise NotImplementedError

    @property
    def data_shapes(self) -> Any:
        """Names and shapes of the inputs.

        Examples
        --------
        >>> from gluonnx import mx
        >>> module = mx.mod.Module(mx.sym.relu(mx.sym.var("data"), name="act"), label_names=None)
        >>> module.bind([("data", (4, 3))])
        >>> [(desc.name, desc.shape) for desc in module.data_shapes]
        [('data', (4, 3))]
        """
        raise NotImplementedError

    @property
    def label_shapes(self) -> Any:
        """Names and shapes of the labels; nothing without them.

        Examples
        --------
        >>> from gluonnx import mx
        >>> module = mx.mod.Module(mx.sym.SoftmaxOutput(mx.sym.var("data"), name="softmax"))
        >>> module.bind([("data", (4, 3))], [("softmax_label", (4,))])
        >>> [(desc.name, desc.shape) for desc in module.label_shapes]
        [('softmax_label', (4,))]
        """
        raise NotImplementedError

    @property
    def output_shapes(self) -> Any:
        """Names and shapes of the outputs.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="top")
        >>> module = mx.mod.Module(net, label_names=None)
        >>> module.bind([("data", (4, 3))])
        >>> module.output_shapes
        [('top_output', (4, 2))]
        """
        raise NotImplementedError

    # -- parameters ---------------------------------------------------------------------------------------------------

    def get_params(self) -> tuple[Params, Params]:
        """(arguments, auxiliary states) by name.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.sym.BatchNorm(mx.sym.var("data"), name="norm")
        >>> module = mx.mod.Module(net, label_names=None)
        >>> module.bind([("data", (4, 3))])
        >>> module.init_params()
        >>> arguments, states = module.get_params()
        >>> sorted(arguments), sorted(states)
        (['norm_beta', 'norm_gamma'], ['norm_moving_mean', 'norm_moving_var'])
        """
        raise NotImplementedError

    def init_params(
        self,
        initializer: Any = Uniform(0.01),  # noqa: B008  shown in the signature, and not changed
        arg_params: Params | None = None,
        aux_params: Params | None = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        """Give parameters their values: those of arg_params and aux_params, with allow_missing the initializer's for others.

        Without either all come from the initializer. force_init: also where they were initialized, which else warns and does
        nothing. allow_extra: pass over names that the network has not.

        Raises AssertionError before bind, and RuntimeError for a parameter that is not given, without allow_missing."""
        raise NotImplementedError

    def set_params(
        self,
        arg_params: Params,
        aux_params: Params,
        allow_missing: bool = False,
        force_init: bool = True,
        allow_extra: bool = False,
    ) -> None:
        """Assign parameters, arg_params and aux_params; with allow_missing those that are not given keep their values.

        force_init, allow_extra: as in init_params.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, no_bias=True, name="top")
        >>> module = mx.mod.Module(net, label_names=None)
        >>> module.bind([("data", (1, 2))])
        >>> module.set_params({"top_weight": mx.nd.array([[1, 2]])}, {})
        >>> module.forward(mx.io.DataBatch([mx.nd.array([[10, 1]])]))
        >>> module.get_outputs()[0].asnumpy()
        array([[12.]], dtype=float32)
        """
        self.init_params(
            initializer=None,
            arg_params=arg_params,
            aux_params=aux_params,
            allow_missing=allow_missing,
            force_init=force_init,
            allow_extra=allow_extra,
        )

    def save_params(self, fname: str) -> None:
        """Write all parameters to a .params file, fname.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="top")
        >>> module = mx.mod.Module(net, label_names=None)
        >>> module.bind([("data", (4, 3))])
        >>> module.init_params()
        >>> module.save_params("net.params")
        >>> sorted(mx.nd.load("net.params"))
        ['arg:top_bias', 'arg:top_weight']
        """
        arguments, states = self.get_params()
        named = {f"arg:{k}": v for k, v in arguments.items()} | {f"aux:{k}": v for k, v in states.items()}
        ndarray.save(fname, named)

    def load_params(self, fname: str) -> None:
        """Assign the parameters of a .params file, fname. Raises ValueError for a name that is neither ``arg:`` nor ``aux:``.

        Examples
        --------
        >>> from gluonnx import mx
        >>> mx.nd.save("net.params", {"arg:top_weight": mx.nd.array([[1, 2]])})
        >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, no_bias=True, name="top")
        >>> module = mx.mod.Module(net, label_names=None)
        >>> module.bind([("data", (4, 2))])
        >>> module.load_params("net.params")
        >>> module.get_params()[0]["top_weight"].asnumpy()
        array([[1., 2.]], dtype=float32)
        """
        loaded = params.load(fname)
        kinds: dict[str, Params] = {"arg": {}, "aux": {}}
        if not isinstance(loaded, dict):
            raise ValueError(f"Invalid param file {fname}: its arrays have no names")
        for key, value in ndarray.wrap(loaded).items():
            kind, _, name = key.partition(":")
            if kind not in kinds or not name:
                raise ValueError(f"Invalid param file {fname}: {key!r} is neither arg:NAME nor aux:NAME")
            kinds[kind][name] = value
        self.set_params(kinds["arg"], kinds["aux"])

    def get_states(self, merge_multi_context: bool = True) -> list[Any]:
        """The states that are carried over batches, for modules that have some; merge_multi_context as in get_outputs.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.sym.var("data") + mx.sym.var("state")
        >>> module = mx.mod.Module(net, label_names=None, state_names=["state"])
        >>> module.bind([("data", (2, 3))], for_training=False)
        >>> module.init_params()
        >>> [state.shape for state in module.get_states()]
        [(2, 3)]
        """
        self._want("bind", "init_params")
        return []

    def set_states(self, states: Any = None, value: Any = None) -> None:
        """Set the states that are carried over batches: all to a value, or each to an array.

        Raises AssertionError for states that the module has not, and unless either states or value is given.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.sym.var("data") + mx.sym.var("state")
        >>> module = mx.mod.Module(net, label_names=None, state_names=["state"])
        >>> module.bind([("data", (1, 2))], for_training=False)
        >>> module.init_params()
        >>> module.set_states(value=10)
        >>> module.forward(mx.io.DataBatch([mx.nd.array([[1, 2]])]))
        >>> module.get_outputs()[0].asnumpy()
        array([[11., 12.]], dtype=float32)
        >>> module.set_states(states=module.get_outputs())  # for the next batch
        """
        self._want("bind", "init_params")
        if states or value:
            raise AssertionError(f"{type(self).__name__} has no states")

    def install_monitor(self, mon: Any) -> None:
        """Have a Monitor, mon, watch everything that is computed.

        Examples
        --------
        >>> from gluonnx import mx
        >>> module = mx.mod.Module(mx.sym.relu(mx.sym.var("data"), name="act"), label_names=None)
        >>> module.bind([("data", (2,))])
        >>> module.init_params()
        >>> monitor = mx.mon.Monitor(interval=1, stat_func=lambda array: array.max(), pattern="act")
        >>> module.install_monitor(monitor)
        >>> monitor.tic()
        >>> module.forward(mx.io.DataBatch([mx.nd.array([-1, 2])]))
        >>> [(number, name) for number, name, text in monitor.toc()]
        [(1, 'act_output')]
        """
        raise NotImplementedError

    # -- steps --------------------------------------------------------------------------------------------------------

    def prepare(self, data_batch: Any, sparse_row_id_fn: Callable[[Any], Any] | None = None) -> None:
        """Get ready for a data_batch that comes next. sparse_row_id_fn: gives of a batch the rows of sparse parameters that it
        reads.

        Examples
        --------
        >>> from gluonnx import mx
        >>> module = mx.mod.Module(mx.sym.relu(mx.sym.var("data"), name="act"), label_names=None)
        >>> module.bind([("data", (2,))])
        >>> module.init_params()
        >>> batch = mx.io.DataBatch([mx.nd.array([-1, 2])])
        >>> module.prepare(batch)
        >>> module.forward(batch)
        """

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        """Compute outputs for a data_batch; is_train None means for_training, as it was bound."""
        raise NotImplementedError

    def backward(self, out_grads: Any = None) -> None:
        """Compute gradients; out_grads are those of outputs that are no losses, arrays of the outputs' shapes.

        Raises AssertionError for a module that was not bound for_training.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, no_bias=True, name="top")
        >>> module = mx.mod.Module(net, label_names=None)
        >>> module.bind([("data", (1, 2))], inputs_need_grad=True)
        >>> module.init_params(mx.init.Constant(3))
        >>> module.forward(mx.io.DataBatch([mx.nd.array([[1, 2]])]), is_train=True)
        >>> module.backward([mx.nd.array([[10]])])
        >>> module.get_input_grads()[0].asnumpy()
        array([[30., 30.]], dtype=float32)
        """
        raise NotImplementedError

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        """The outputs of the last forward; for each a list over contexts without merge_multi_context.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.sym.relu(mx.sym.var("data"), name="act")
        >>> module = mx.mod.Module(net, label_names=None, context=[mx.cpu(0), mx.cpu(1)])
        >>> module.bind([("data", (4,))])
        >>> module.init_params()
        >>> module.forward(mx.io.DataBatch([mx.nd.array([-1, 2, -3, 4])]))
        >>> module.get_outputs()[0].asnumpy()
        array([0., 2., 0., 4.], dtype=float32)
        >>> [[part.shape for part in parts] for parts in module.get_outputs(merge_multi_context=False)]
        [[(2,), (2,)]]
        """
        raise NotImplementedError

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        """The gradients of the inputs after backward; for each a list over contexts without merge_multi_context.

        Raises AssertionError for a module that was bound without inputs_need_grad, and a PythonLossModule, whose
        gradients are in one place, without merge_multi_context.

        Examples
        --------
        >>> from gluonnx import mx
        >>> module = mx.mod.Module(mx.sym.square(mx.sym.var("data"), name="sq"), label_names=None)
        >>> module.bind([("data", (2,))], inputs_need_grad=True)
        >>> module.init_params()
        >>> module.forward(mx.io.DataBatch([mx.nd.array([1, 3])]), is_train=True)
        >>> module.backward([mx.nd.ones(2)])
        >>> module.get_input_grads()[0].asnumpy()
        array([2., 6.], dtype=float32)
        """
        raise NotImplementedError

    def update(self) -> None:
        """Change parameters by their gradients, as the optimizer says.

        Raises AssertionError before init_optimizer, and for a module that was not bound for_training."""
        raise NotImplementedError

    def update_metric(self, eval_metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        """Tell a metric, eval_metric, the labels and the outputs. pre_sliced: labels are a list for each context.

        Examples
        --------
        >>> from gluonnx import mx
        >>> module = mx.mod.Module(mx.sym.SoftmaxOutput(mx.sym.var("data"), name="softmax"))
        >>> module.bind([("data", (2, 2))], [("softmax_label", (2,))])
        >>> module.init_params()
        >>> labels = [mx.nd.array([1, 0])]
        >>> module.forward(mx.io.DataBatch([mx.nd.array([[0, 5], [0, 5]])], labels))
        >>> metric = mx.metric.Accuracy()
        >>> module.update_metric(metric, labels)
        >>> metric.get()
        ('accuracy', 0.5)
        """
        raise NotImplementedError

    # -- set-up -------------------------------------------------------------------------------------------------------

    def bind(
        self,
        data_shapes: Any,
        label_shapes: Any = None,
        for_training: bool = True,
        inputs_need_grad: bool = False,
        force_rebind: bool = False,
        shared_module: Any = None,
        grad_req: Any = "write",
    ) -> None:
        """Make arrays for such inputs and labels, and what computes with them.

        data_shapes, label_shapes: DataDescs or (name, shape) pairs. for_training: backward will be called. inputs_need_grad:
        compute gradients of inputs too, for get_input_grads. force_rebind: anew where it was bound. shared_module: a bound
        module whose parameters it shares. grad_req: "write", "add" or "null", for all or in a list or dict."""
        raise NotImplementedError

    def init_optimizer(
        self,
        kvstore: Any = "local",
        optimizer: Any = "sgd",
        optimizer_params: Any = DEFAULT,
        force_init: bool = False,
    ) -> None:
        """Choose how update changes parameters: an Optimizer, or the name of one with its parameters.

        kvstore: the store that adds up gradients, or its name; None, or one context, needs none. optimizer_params: arguments of an
        optimizer that is named; its gradients are divided by the size of a batch unless they say otherwise (rescale_grad).
        force_init: anew where that was done, which else warns and does nothing.

        Raises AssertionError before init_params, and for an optimizer that is neither a name nor an Optimizer."""
        raise NotImplementedError
