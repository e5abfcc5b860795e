"""One Module for each kind of input, of symbols that share their parameters."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from ..checkpoint import load_params, save_checkpoint
from ..context import cpu
from ..core.name import NameManager
from ..initializer import Uniform
from ..ndarray import array, save
from ..symbol import Symbol
from .base_module import DEFAULT, BaseModule, Params, check_names
from .module import Module

_SETTINGS = (
    "logger", "context", "work_load_list", "fixed_param_names", "state_names", "group2ctxs", "compression_params",
)  # fmt: skip


class BucketingModule(BaseModule):
    """sym_gen(bucket_key) gives (symbol, data names, label names); batches say by bucket_key which one they are for.

    default_bucket_key: of the symbol with all parameters, and the largest inputs. Source: MXNet BucketingModule.

    Raises AssertionError without default_bucket_key.

    Parameters
    ----------
    logger : module or Logger, default logging
        Where progress is written to.
    context : Context or list of Context, default cpu(0)
        Device, or devices that share each batch.
    work_load_list : list or None, default None
        Share of each device in a batch; None: even.
    fixed_param_names : list of str or None, default None
        Parameters that are not trained.
    state_names : list of str or None, default None
        Inputs that are states, set between batches.
    group2ctxs : dict or None, default None
        Devices of attribute groups.
    compression_params : dict or None, default None
        How gradients are compressed on their way to the store; None: not.

    Examples
    --------
    >>> from gluonnx import mx
    >>> def network(length):
    ...     total = mx.sym.sum(mx.sym.var("data"), axis=1)
    ...     return mx.sym.FullyConnected(total, num_hidden=2, name="top"), ["data"], None
    >>> module = mx.mod.BucketingModule(network, default_bucket_key=8)
    >>> module.bind([("data", (4, 8, 3))], for_training=False)
    >>> module.init_params()
    >>> module.switch_bucket(5, [("data", (4, 5, 3))])
    >>> description = [mx.io.DataDesc("data", (4, 5, 3))]
    >>> batch = mx.io.DataBatch([mx.nd.ones((4, 5, 3))], bucket_key=5, provide_data=description)
    >>> module.forward(batch)
    >>> module.get_outputs()[0].shape
    (4, 2)
    """

    def __init__(
        self,
        sym_gen: Callable[[Any], tuple[Symbol, Any, Any]],
        default_bucket_key: Any = None,
        logger: Any = logging,
        context: Any = cpu(),  # noqa: B008  shown in the signature, and not changed
        work_load_list: Any = None,
        fixed_param_names: Any = None,
        state_names: Any = None,
        group2ctxs: Any = None,
        compression_params: Any = None,
    ):
        super().__init__(logger=logger)
        if default_bucket_key is None:
            raise AssertionError("BucketingModule: give a default_bucket_key")
        self._default_bucket_key = default_bucket_key
        self._sym_gen = sym_gen
        symbol, data_names, label_names = self._generate(default_bucket_key)
        arguments = symbol.list_arguments()
        check_names(arguments, list(data_names or ()), "data", True)
        check_names(arguments, list(label_names or ()), "label", False)
        check_names(arguments, list(state_names or ()), "state", True)
        check_names(arguments, list(fixed_param_names or ()), "fixed_param", True)
        values = (
            logger, context, work_load_list, fixed_param_names, state_names, group2ctxs, compression_params,
        )  # fmt: skip
        self._settings = dict(zip(_SETTINGS, values))
        self._buckets: dict[Any, Module] = {}
        self._curr_module: Any = None
        self._curr_bucket_key: Any = None
        self._params_dirty = False
        """True when the contexts have newer parameters than the modules' dicts."""
        self._monitor: Any = None
        self._loaded: tuple[Params | None, Params | None] | None = None
        """Parameters of a checkpoint, until there is a module for them."""

    def _generate(self, key: Any) -> tuple[Symbol, Any, Any]:
        """Call sym_gen. Automatic names count from 0 in every bucket, so that layers without a name share parameters."""
        with NameManager():
            return self._sym_gen(key)

    def _make_module(self, symbol: Symbol, data_names: Any, label_names: Any) -> Module:
        return Module(symbol, data_names, label_names, **self._settings)

    # -- files --------------------------------------------------------------------------------------------------------

    @staticmethod
    def load(
        prefix: str, epoch: int, sym_gen: Any = None, default_bucket_key: Any = None, **kwargs: Any
    ) -> BucketingModule:
        """A BucketingModule with the parameters of ``PREFIX-NNNN.params``; other keywords are those of BucketingModule.

        epoch: the number NNNN. sym_gen, default_bucket_key: as BucketingModule takes them; both have to be given.

        Examples
        --------
        >>> from gluonnx import mx
        >>> def network(length):
        ...     total = mx.sym.sum(mx.sym.var("data"), axis=1)
        ...     return mx.sym.FullyConnected(total, num_hidden=2, name="top"), ["data"], None
        >>> weights = {"top_weight": mx.nd.ones((2, 3)), "top_bias": mx.nd.zeros(2)}
        >>> mx.model.save_checkpoint("net", 1, None, weights, {})
        >>> module = mx.mod.BucketingModule.load("net", 1, network, default_bucket_key=8)
        >>> module.bind([("data", (4, 8, 3))], for_training=False)
        >>> sorted(module.get_params()[0])
        ['top_bias', 'top_weight']
        """
        _want_given(sym_gen=sym_gen, default_bucket_key=default_bucket_key)
        made = BucketingModule(sym_gen, default_bucket_key, **kwargs)
        made._loaded = load_params(prefix, epoch)
        made.params_initialized = True
        return made

    @staticmethod
    def load_dict(
        sym_dict: dict[Any, Symbol] | None = None,
        sym_gen: Any = None,
        default_bucket_key: Any = None,
        arg_params: Params | None = None,
        aux_params: Params | None = None,
        **kwargs: Any,
    ) -> BucketingModule:
        """A BucketingModule with these parameters, arg_params and aux_params by name.

        sym_dict: symbols by bucket, of names that sym_gen gives; may be left out. sym_gen, default_bucket_key: as BucketingModule
        takes them; both have to be given.

        Examples
        --------
        >>> from gluonnx import mx
        >>> def network(length):
        ...     total = mx.sym.sum(mx.sym.var("data"), axis=1)
        ...     return mx.sym.FullyConnected(total, num_hidden=2, name="top"), ["data"], None
        >>> weights = {"top_weight": mx.nd.ones((2, 3)), "top_bias": mx.nd.zeros(2)}
        >>> module = mx.mod.BucketingModule.load_dict(
        ...     sym_gen=network, default_bucket_key=8, arg_params=weights, aux_params={}
        ... )
        >>> module.bind([("data", (4, 8, 3))], for_training=False)
        >>> module.get_params()[0]["top_bias"].asnumpy()
        array([0., 0.], dtype=float32)
        """
        _want_given(sym_gen=sym_gen, default_bucket_key=default_bucket_key)

        def generate(key: Any) -> tuple[Any, Any, Any]:
            symbol, data_names, label_names = sym_gen(key)
            return (sym_dict or {}).get(key, symbol), data_names, label_names

        made = BucketingModule(generate, default_bucket_key, **kwargs)
        if arg_params is not None:
            made._loaded = arg_params, aux_params or {}
            made.params_initialized = True
        return made

    def save_checkpoint(self, prefix: str, epoch: int, remove_amp_cast: bool = False) -> None:
        """Write the parameters, and the symbol of every bucket that there is as ``PREFIX-KEY-symbol.json``; the keys are
        in ``PREFIX.buckets``, if they are whole numbers.

        epoch: the number in the name of the parameters, ``PREFIX-NNNN.params``. remove_amp_cast: without the casts that mixed
        precision put in.

        Examples
        --------
        >>> from gluonnx import mx
        >>> import pathlib
        >>> def network(length):
        ...     total = mx.sym.sum(mx.sym.var("data"), axis=1)
        ...     return mx.sym.FullyConnected(total, num_hidden=2, name="top"), ["data"], None
        >>> module = mx.mod.BucketingModule(network, default_bucket_key=8)
        >>> module.bind([("data", (4, 8, 3))], for_training=False)
        >>> module.init_params()
        >>> module.save_checkpoint("net", 1)
        >>> sorted(str(path) for path in pathlib.Path().glob("net*"))
        ['net-0001.params', 'net-8-symbol.json', 'net.buckets']
        """
        self._want("bind", "init_params")
        arguments, states = self.get_params()
        save_checkpoint(prefix, epoch, None, arguments, states, remove_amp_cast=remove_amp_cast)
        for key, module in self._buckets.items():  # which are made anew from sym_gen when they are loaded
            module.symbol.save(f"{prefix}-{key}-symbol.json", remove_amp_cast=remove_amp_cast)
        if all(isinstance(key, int) for key in self._buckets):  # MXNet cannot write others
            save(f"{prefix}.buckets", [array(list(self._buckets), dtype="int32")])

    # -- what it is bound to ------------------------------------------------------------------------------------------

    @property
    def symbol(self) -> Any:
        self._want("bind")
        return self._curr_module.symbol

    @property
    def data_names(self) -> Any:
        if self.binded:
            return self._curr_module.data_names
        return self._generate(self._default_bucket_key)[1]

    @property
    def output_names(self) -> Any:
        if self.binded:
            return self._curr_module.output_names
        return self._generate(self._default_bucket_key)[0].list_outputs()

    @property
    def data_shapes(self) -> Any:
        self._want("bind")
        return self._curr_module.data_shapes

    @property
    def label_shapes(self) -> Any:
        self._want("bind")
        return self._curr_module.label_shapes

    @property
    def output_shapes(self) -> Any:
        self._want("bind")
        return self._curr_module.output_shapes

    # -- parameters ---------------------------------------------------------------------------------------------------

    def get_params(self) -> tuple[Params, Params]:
        self._want("bind", "init_params")
        default = self._buckets[self._default_bucket_key]  # it has all parameters
        default._params_dirty = self._params_dirty
        self._params_dirty = False
        return default.get_params()

    def init_params(
        self,
        initializer: Any = Uniform(0.01),  # noqa: B008  shown in the signature, and not changed
        arg_params: Params | None = None,
        aux_params: Params | None = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        if self.params_initialized and not force_init:
            return
        self._want("bind")
        self._curr_module.init_params(
            initializer=initializer,
            arg_params=arg_params,
            aux_params=aux_params,
            allow_missing=allow_missing,
            force_init=force_init,
            allow_extra=allow_extra,
        )
        self._params_dirty = False
        self.params_initialized = True

    def set_params(
        self,
        arg_params: Params,
        aux_params: Params,
        allow_missing: bool = False,
        force_init: bool = True,
        allow_extra: bool = False,
    ) -> None:
        if not allow_missing:
            super().set_params(arg_params, aux_params, allow_missing, force_init, allow_extra)
            return
        if self._warn_if_initialized("set_params", force_init):
            return
        self._curr_module.set_params(
            arg_params, aux_params, allow_missing=allow_missing, force_init=force_init, allow_extra=allow_extra
        )
        self._params_dirty = True
        self.params_initialized = True

    def get_states(self, merge_multi_context: bool = True) -> list[Any]:
        self._want("bind", "init_params")
        return self._curr_module.get_states(merge_multi_context)

    def set_states(self, states: Any = None, value: Any = None) -> None:
        self._want("bind", "init_params")
        self._curr_module.set_states(states, value)

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
        """Make the module of the default bucket; the others come as they are needed.

        Raises AssertionError for a shared_module."""
        if shared_module is not None:
            raise AssertionError("shared_module for BucketingModule is not supported")
        if self.binded and not force_rebind:
            self.logger.warning("Already bound, ignoring bind()")
            return
        kept = self.get_params() if self.params_initialized and self.binded else self._loaded
        module = self._make_module(*self._generate(self._default_bucket_key))
        module.bind(data_shapes, label_shapes, for_training, inputs_need_grad, grad_req=grad_req)
        # only now: what it was bound to stays, with its parameters, where it cannot be bound to this
        self.for_training, self.inputs_need_grad = for_training, inputs_need_grad
        self._grad_req = grad_req
        self._curr_module, self._curr_bucket_key = module, self._default_bucket_key
        self._buckets = {self._default_bucket_key: module}
        self.binded = True
        if self.params_initialized:
            self.set_params(*kept)  # type: ignore[misc]

    def switch_bucket(self, bucket_key: Any, data_shapes: Any, label_shapes: Any = None) -> None:
        """Go on with another bucket, bucket_key, bound to such inputs (data_shapes, label_shapes as in bind) if it is not yet."""
        self._want("bind")
        if bucket_key not in self._buckets:
            module = self._make_module(*self._generate(bucket_key))
            module.bind(
                data_shapes,
                label_shapes,
                self._curr_module.for_training,
                self._curr_module.inputs_need_grad,
                shared_module=self._buckets[self._default_bucket_key],
                grad_req=self._grad_req,
            )
            if self._monitor is not None:
                module.install_monitor(self._monitor)
            self._buckets[bucket_key] = module
        self._curr_module, self._curr_bucket_key = self._buckets[bucket_key], bucket_key

    def init_optimizer(
        self,
        kvstore: Any = "local",
        optimizer: Any = "sgd",
        optimizer_params: Any = DEFAULT,
        force_init: bool = False,
    ) -> None:
        self._want("bind", "init_params")
        if self.optimizer_initialized and not force_init:
            self.logger.warning("optimizer already initialized, ignoring.")
            return
        default = self._buckets[self._default_bucket_key]
        default.init_optimizer(kvstore, optimizer, optimizer_params, force_init=force_init)
        for module in self._buckets.values():
            module.borrow_optimizer(default)
        self.optimizer_initialized = True

    # -- steps --------------------------------------------------------------------------------------------------------

    def prepare(self, data_batch: Any, sparse_row_id_fn: Callable[[Any], Any] | None = None) -> None:
        """Bind the bucket of a batch that comes next; the current one stays.

        Examples
        --------
        >>> from gluonnx import mx
        >>> def network(length):
        ...     total = mx.sym.sum(mx.sym.var("data"), axis=1)
        ...     return mx.sym.FullyConnected(total, num_hidden=2, name="top"), ["data"], None
        >>> module = mx.mod.BucketingModule(network, default_bucket_key=8)
        >>> module.bind([("data", (4, 8, 3))], for_training=False)
        >>> module.init_params()
        >>> desc = [mx.io.DataDesc("data", (4, 5, 3))]
        >>> module.prepare(mx.io.DataBatch([mx.nd.ones((4, 5, 3))], bucket_key=5, provide_data=desc))
        >>> module.data_shapes[0].shape
        (4, 8, 3)
        """
        self._want("bind", "init_params")
        before = self._curr_bucket_key
        self.switch_bucket(data_batch.bucket_key, data_batch.provide_data, data_batch.provide_label)
        self._curr_module.prepare(data_batch, sparse_row_id_fn=sparse_row_id_fn)
        self.switch_bucket(before, None, None)

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        self._want("bind", "init_params")
        self.switch_bucket(data_batch.bucket_key, data_batch.provide_data, data_batch.provide_label)
        self._curr_module.forward(data_batch, is_train=is_train)

    def backward(self, out_grads: Any = None) -> None:
        self._want("bind", "init_params")
        self._curr_module.backward(out_grads)

    def update(self) -> None:
        self._want("bind", "init_params", "init_optimizer")
        self._params_dirty = True
        self._curr_module.update()

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        self._want("bind", "init_params")
        return self._curr_module.get_outputs(merge_multi_context)

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        self._want("bind", "init_params")
        return self._curr_module.get_input_grads(merge_multi_context)

    def update_metric(self, eval_metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        self._want("bind", "init_params")
        self._curr_module.update_metric(eval_metric, labels, pre_sliced)

    def install_monitor(self, mon: Any) -> None:
        self._want("bind")
        self._monitor = mon
        for module in self._buckets.values():
            module.install_monitor(mon)


def _want_given(**values: Any) -> None:
    """Raise AssertionError for a value that is None."""
    for name, value in values.items():
        if value is None:
            raise AssertionError(f"{name} is required for loading BucketingModule")
