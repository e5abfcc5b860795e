"""A symbol with its parameters, trained on one context or several."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from .. import optimizer as opt
from ..base import _as_list
from ..checkpoint import load_checkpoint, save_checkpoint
from ..context import Context, cpu, resolve
from ..core.error import MXNetError
from ..core.resume import tell_if_unkept
from ..eager.sparse import zeros
from ..formats.files import read, write
from ..initializer import InitDesc, Uniform
from ..io import DataDesc
from ..kvstore.base import choose
from ..ndarray import NDArray, arange
from ..symbol import Symbol
from .base_module import DEFAULT, BaseModule, Params, check_described, check_names, descriptions
from .executor_group import DataParallelExecutorGroup
from .stores import init_store, update_here, update_on_store


class Module(BaseModule):
    """A symbol, with names of the arguments that are data, labels, states that are carried over, and parameters not to train.

    context: one or a list of them, each of which computes a part of every batch, in proportion to work_load_list. group2ctxs:
    places for groups of operators; accepted, as there is but one kind of place. compression_params: of gradients sent between
    machines. Source: MXNet Module.

    Raises AssertionError unless work_load_list has an entry for each context.

    Parameters
    ----------
    data_names : list of str, default ('data',)
        Inputs that data iterators give.
    label_names : list of str, default ('softmax_label',)
        Inputs that data iterators give as labels.
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
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="top")
    >>> net = mx.sym.SoftmaxOutput(net, name="softmax")
    >>> module = mx.mod.Module(net)
    >>> module.bind([("data", (4, 3))], [("softmax_label", (4,))])
    >>> module.init_params()
    >>> module.forward(mx.io.DataBatch([mx.nd.ones((4, 3))]), is_train=False)
    >>> module.get_outputs()[0].shape
    (4, 2)
    >>> module.data_names, module.label_names, module.output_names
    (['data'], ['softmax_label'], ['softmax_output'])
    >>> sorted(module.get_params()[0])
    ['top_bias', 'top_weight']
    """

    def __init__(
        self,
        symbol: Symbol,
        data_names: Any = ("data",),
        label_names: Any = ("softmax_label",),
        logger: Any = logging,
        context: Any = cpu(),  # noqa: B008  shown in the signature, and not changed
        work_load_list: Any = None,
        fixed_param_names: Any = None,
        state_names: Any = None,
        group2ctxs: Any = None,
        compression_params: Any = None,
    ):
        super().__init__(logger=logger)
        self._context = [resolve(c) for c in ([context] if isinstance(context, Context) else context)]
        self._work_load_list = [1] * len(self._context) if work_load_list is None else list(work_load_list)
        if len(self._work_load_list) != len(self._context):
            raise AssertionError(
                f"work_load_list has {len(self._work_load_list)} entries for {len(self._context)} contexts"
            )
        self._group2ctxs = _groups(group2ctxs, len(self._context))
        self._symbol = symbol
        self._data_names = list(data_names or ())
        self._label_names = list(label_names or ())
        self._state_names = list(state_names or ())
        self._fixed_param_names = list(fixed_param_names or ())
        arguments = symbol.list_arguments()
        check_names(arguments, self._data_names, "data", True)
        check_names(arguments, self._label_names, "label", False)
        check_names(arguments, self._state_names, "state", True)
        check_names(arguments, self._fixed_param_names, "fixed_param", True)
        given = {*self._data_names, *self._label_names, *self._state_names}
        self._param_names = [n for n in arguments if n not in given]
        self._aux_names = symbol.list_auxiliary_states()
        self._output_names = symbol.list_outputs()
        self._arg_params: Params | None = None
        self._aux_params: Params | None = None
        self._params_dirty = False
        """True when the contexts have newer parameters than _arg_params and _aux_params."""
        self._compression_params = compression_params
        self._optimizer: Any = None
        self._kvstore: Any = None
        self._update_on_kvstore = False
        self._updater: Any = None
        self._preload_opt_states: str | None = None
        self._reset_bind()

    def _reset_bind(self) -> None:
        self.binded = False
        self._exec_group: Any = None
        self._data_shapes: Any = None
        self._label_shapes: Any = None
        self._known_labels: list[DataDesc] = []  # the last that were given: a batch without labels does not forget them

    # -- files --------------------------------------------------------------------------------------------------------

    @staticmethod
    def load(prefix: str, epoch: int, load_optimizer_states: bool = False, **kwargs: Any) -> Module:
        """A Module of a checkpoint, ``PREFIX-symbol.json`` and ``PREFIX-NNNN.params``; other keywords are those of Module.

        epoch: the number NNNN. load_optimizer_states: init_optimizer reads ``PREFIX-NNNN.states`` too.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="top")
        >>> module = mx.mod.Module(net, label_names=None)
        >>> module.bind([("data", (4, 3))])
        >>> module.init_params()
        >>> module.save_checkpoint("net", 1)
        >>> again = mx.mod.Module.load("net", 1, label_names=None)
        >>> again.bind([("data", (4, 3))], for_training=False)
        >>> sorted(again.get_params()[0])
        ['top_bias', 'top_weight']
        """
        symbol, arguments, states = load_checkpoint(prefix, epoch)
        made = Module(symbol=symbol, **kwargs)
        made._arg_params, made._aux_params = arguments, states
        made.params_initialized = True
        if load_optimizer_states:
            made._preload_opt_states = f"{prefix}-{epoch:04d}.states"
        return made

    def save_checkpoint(
        self, prefix: str, epoch: int, save_optimizer_states: bool = False, remove_amp_cast: bool = True
    ) -> None:
        """Write ``PREFIX-symbol.json``, ``PREFIX-NNNN.params`` and, with save_optimizer_states, ``PREFIX-NNNN.states``.

        epoch: the number NNNN. remove_amp_cast: without the casts that mixed precision put in.

        Examples
        --------
        >>> from gluonnx import mx
        >>> import pathlib
        >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="top")
        >>> module = mx.mod.Module(net, label_names=None)
        >>> module.bind([("data", (4, 3))])
        >>> module.init_params()
        >>> module.save_checkpoint("net", 7)
        >>> sorted(str(path) for path in pathlib.Path().glob("net-*"))
        ['net-0007.params', 'net-symbol.json']
        """
        save_checkpoint(prefix, epoch, self._symbol, *self.get_params(), remove_amp_cast=remove_amp_cast)
        if save_optimizer_states:
            name = f"{prefix}-{epoch:04d}.states"
            self.save_optimizer_states(name)
            logging.info('Saved optimizer state to "%s"', name)

    def save_optimizer_states(self, fname: str) -> None:
        """Write the states of the optimizer to a file, fname, which MXNet 1.9.1 reads too.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="top")
        >>> module = mx.mod.Module(net, label_names=None)
        >>> module.bind([("data", (4, 3))])
        >>> module.init_params()
        >>> module.init_optimizer(optimizer="adam")
        >>> module.save_optimizer_states("net.states")
        >>> module.load_optimizer_states("net.states")
        """
        self._want("init_optimizer")
        if self._update_on_kvstore:
            self._kvstore.save_optimizer_states(fname)
        else:
            write(fname, self._updater.get_states())

    def load_optimizer_states(self, fname: str) -> None:
        """Read the states of the optimizer from a file, fname. Raises FormatError when it holds none.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="top")
        >>> module = mx.mod.Module(net, label_names=None)
        >>> module.bind([("data", (4, 3))])
        >>> module.init_params()
        >>> module.init_optimizer(optimizer="adam")
        >>> module.save_optimizer_states("net.states")
        >>> module.load_optimizer_states("net.states")
        """
        self._want("init_optimizer")
        if self._update_on_kvstore:
            self._kvstore.load_optimizer_states(fname)
        else:
            self._updater.set_states(read(fname), fname)

    # -- what it is bound to ------------------------------------------------------------------------------------------

    @property
    def data_names(self) -> list[Any]:
        return self._data_names

    @property
    def label_names(self) -> list[Any]:
        """Names of the labels."""
        return self._label_names

    @property
    def output_names(self) -> list[str]:
        return self._output_names

    @property
    def data_shapes(self) -> list[DataDesc]:
        self._want("bind")
        return self._data_shapes

    @property
    def label_shapes(self) -> list[DataDesc] | None:
        self._want("bind")
        return self._label_shapes

    @property
    def output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        self._want("bind")
        return self._exec_group.get_output_shapes()

    # -- parameters ---------------------------------------------------------------------------------------------------

    def get_params(self) -> tuple[Params, Params]:
        self._want("bind", "init_params")
        held = self._allocate()  # set_params with allow_missing gives them to the contexts alone
        if self._params_dirty:
            self._exec_group.get_params(*held)
            if self._update_on_kvstore:  # contexts have those rows alone that were fetched for their last batch
                for name, array in held[0].items():
                    if array.stype == "row_sparse":
                        self._kvstore.row_sparse_pull(name, array, row_ids=arange(array.shape[0], dtype="int64"))
            self._params_dirty = False
        return held

    def _trained_arrays(self) -> dict[str, list[NDArray]]:
        """Arrays that training changes besides those of the optimizer, by name, each on all its contexts (hybrid/resuming)."""
        group = self._exec_group
        names = *group.param_names, *group.aux_names, *group.state_names
        return {n: list(own) for n, own in zip(names, (*group.param_arrays, *group.aux_arrays, *group.state_arrays))}

    def _arrays_were_set(self) -> None:
        """Take notice that the arrays of _trained_arrays have other values now."""
        self._params_dirty = True

    def _gradients_to_keep(self) -> dict[str, list[NDArray]]:
        """Gradients that add up over batches, by the parameter's name, each on all its contexts."""
        group = self._exec_group
        adding = {n for n in group.param_names if group.grad_req.get(n) == "add"}
        return {n: list(own) for n, own in zip(group.param_names, group.grad_arrays) if n in adding}

    def _allocate(self) -> tuple[Params, Params]:
        """Arrays for parameters on the CPU, made when there are none."""
        group = self._exec_group

        def made(names: Any, held: Any) -> Params:
            firsts = {n: arrays[0] for n, arrays in zip(names, held)}
            return {n: zeros(a.stype, a.shape, dtype=a.dtype) for n, a in firsts.items()}

        if self._arg_params is None:
            self._arg_params = made(group.param_names, group.param_arrays)
        if self._aux_params is None:
            self._aux_params = made(group.aux_names, group.aux_arrays)
        return self._arg_params, self._aux_params

    def init_params(
        self,
        initializer: Any = Uniform(0.01),  # noqa: B008  shown in the signature, and not changed
        arg_params: Params | None = None,
        aux_params: Params | None = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        if self._warn_if_initialized("init_params", force_init):
            return
        self._want("bind")
        attributes = self._symbol.attr_dict()
        for own, given in zip(self._allocate(), (arg_params, aux_params)):
            for name, array in sorted(own.items()):
                if given is not None and name in given:
                    if given[name] is not array:
                        array[:] = given[name]
                    continue
                if given is not None and not allow_missing:
                    raise RuntimeError(f"{name} is not presented")
                if initializer is not None:
                    dense = array if array.stype == "default" else array.tostype("default")
                    initializer(InitDesc(name, attributes.get(name)), dense)
                    if dense is not array:
                        array[:] = dense
        self.params_initialized = True
        self._params_dirty = False
        assert self._arg_params is not None
        assert self._aux_params is not None
        self._exec_group.set_params(self._arg_params, self._aux_params, allow_extra=allow_extra)

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
        self._exec_group.set_params(arg_params, aux_params, allow_extra=allow_extra)
        # the contexts have them now, and those that were not given as before
        self._params_dirty = True
        self.params_initialized = True

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
        """Make the executors. force_rebind: anew, with the parameters as ``get_params``, ``set_params`` or ``fit`` last left them:
        updates that nobody has asked for since are lost, as with MXNet.

        Raises AssertionError for inputs_need_grad without for_training, and for a shared_module that is not bound,
        initialized and as wide.

        Examples
        --------
        >>> from gluonnx import mx
        >>> module = mx.mod.Module(mx.sym.relu(mx.sym.var("data"), name="act"), label_names=None)
        >>> module.bind([("data", (4, 3))])
        >>> module.output_shapes
        [('act_output', (4, 3))]
        """
        if force_rebind:
            self._reset_bind()
        if self.binded:
            self.logger.warning("Already bound, ignoring bind()")
            return
        if inputs_need_grad and not for_training:
            raise AssertionError("inputs_need_grad needs for_training=True")
        data, labels = self._describe(data_shapes, label_shapes)
        shared = None
        if shared_module is not None:
            if not (isinstance(shared_module, Module) and shared_module.binded and shared_module.params_initialized):
                raise AssertionError("shared_module must be a Module that is bound and initialized")
            shared = shared_module._exec_group
            if len(shared.execs) < len(self._context):
                raise AssertionError(
                    f"shared_module is bound to {len(shared.execs)} contexts, not {len(self._context)}"
                )
        self.for_training, self.inputs_need_grad = for_training, inputs_need_grad
        self._grad_req = grad_req
        self._data_shapes, self._label_shapes = data, labels
        self._exec_group = DataParallelExecutorGroup(
            self._symbol, self._context, self._work_load_list, data, labels, self._param_names, for_training,
            inputs_need_grad, shared, self.logger, self._fixed_param_names, grad_req, self._state_names, self._group2ctxs,
        )  # fmt: skip
        self.binded = True
        if shared_module is not None:
            self.params_initialized = True
            self._arg_params, self._aux_params = shared_module._arg_params, shared_module._aux_params
            if shared_module.optimizer_initialized:
                self.borrow_optimizer(shared_module)
        elif self.params_initialized:  # loaded, or bound again
            self._exec_group.set_params(*self._allocate())

    def _describe(self, data_shapes: Any, label_shapes: Any) -> tuple[list[DataDesc], list[DataDesc] | None]:
        """DataDescs of inputs and labels. Raises ValueError (labels: warns) when their names are others than the Module's."""
        data, labels = descriptions(data_shapes) or [], descriptions(label_shapes)
        for kind, described, names in (("data", data, self._data_names), ("label", labels, self._label_names)):
            if described is None:  # labels only
                continue
            check_described(names, described, kind, kind == "data")
        self._known_labels = labels or self._known_labels
        return data, labels

    def reshape(self, data_shapes: Any, label_shapes: Any = None) -> None:
        """Go on with inputs of other shapes, and the same parameters: data_shapes and label_shapes as bind takes them.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="top")
        >>> module = mx.mod.Module(net, label_names=None)
        >>> module.bind([("data", (4, 3))])
        >>> module.reshape([("data", (1, 3))])
        >>> module.output_shapes
        [('top_output', (1, 2))]
        """
        self._want("bind")
        self._data_shapes, self._label_shapes = self._describe(data_shapes, label_shapes)
        self._exec_group.reshape(self._data_shapes, self._label_shapes)

    def init_optimizer(
        self,
        kvstore: Any = "local",
        optimizer: Any = "sgd",
        optimizer_params: Any = DEFAULT,
        force_init: bool = False,
    ) -> None:
        self._want("bind", "init_params")
        if self.optimizer_initialized and not force_init:
            self.logger.warning("optimizer already initialized, ignoring...")
            return
        arguments, _ = self.get_params()
        group = self._exec_group
        count = len(self._context)
        store, on_store = choose(kvstore, count, arguments)
        total = group.batch_size
        if store is not None and "dist" in store.type and "_sync" in store.type:
            total *= store.num_workers
        scale = 1.0 / total
        # the store knows weights by name; an updater here by a number for each weight on each context
        names = {
            i * (1 if on_store else count) + k: n
            for i, n in enumerate(group.param_names)
            for k in range(1 if on_store else count)
        }
        if isinstance(optimizer, str):
            settings = {"rescale_grad": scale, **dict(optimizer_params)}
            optimizer = opt.create(optimizer, sym=self._symbol, param_idx2name=names, **settings)
        else:
            if not isinstance(optimizer, opt.Optimizer):
                raise AssertionError(f"optimizer: got {type(optimizer).__name__}, wanted a name or an Optimizer")
            if optimizer.rescale_grad != scale:
                warnings.warn(
                    "Optimizer created manually outside Module but rescale_grad is not normalized to 1.0/batch_size/num_workers "
                    f"({optimizer.rescale_grad} vs. {scale}). Is this intended?",
                    stacklevel=2,
                )
            if not optimizer.idx2name:
                optimizer.idx2name = names
        self._optimizer, self._kvstore, self._update_on_kvstore = optimizer, store, on_store
        self._updater = None
        if store is not None:
            if self._compression_params:
                store.set_gradient_compression(self._compression_params)
            if on_store:
                store.set_optimizer(optimizer)
            init_store(store, group.param_arrays, arguments, group.param_names, on_store)
        if not on_store:
            self._updater = opt.get_updater(optimizer)
        self.optimizer_initialized = True
        if self._preload_opt_states is not None:
            self.load_optimizer_states(self._preload_opt_states)
            self._preload_opt_states = None

    def borrow_optimizer(self, shared_module: Module) -> None:
        """Use the optimizer of another Module, shared_module, states included. Raises AssertionError where it has none.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="top")
        >>> first, second = (mx.mod.Module(net, label_names=None) for _ in range(2))
        >>> first.bind([("data", (4, 3))])
        >>> first.init_params()
        >>> second.bind([("data", (1, 3))], shared_module=first)
        >>> first.init_optimizer()
        >>> second.borrow_optimizer(first)
        >>> second.optimizer_initialized
        True
        """
        if not shared_module.optimizer_initialized:
            raise AssertionError("borrow_optimizer: the other Module has no optimizer; call its init_optimizer first")
        self._optimizer = shared_module._optimizer
        self._kvstore = shared_module._kvstore
        self._update_on_kvstore = shared_module._update_on_kvstore
        self._updater = shared_module._updater
        self.optimizer_initialized = True

    # -- steps --------------------------------------------------------------------------------------------------------

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        self._want("bind", "init_params")
        self._fit_shapes(data_batch)
        self._exec_group.forward(data_batch, is_train)

    def _fit_shapes(self, data_batch: Any) -> None:
        """reshape when a batch is of other shapes than the last. A list of batches, one for each context, is one batch."""
        if isinstance(data_batch, list):
            if not data_batch:
                raise AssertionError("Encountered empty data batch")
            shapes = [tuple(a.shape for a in b.data) for b in data_batch]
            if len(set(shapes)) > 1:
                raise AssertionError(f"All data batches in a list need to have the same shape, got {shapes}")
            total = len(data_batch)

            def grown(arrays: Any, described: list[DataDesc]) -> list[tuple[int, ...]]:
                axes = [DataDesc.get_batch_axis(d.layout) for d in described]
                shapes = [tuple(a.shape) for a in arrays or ()]
                return [s if i < 0 else (*s[:i], s[i] * total, *s[i + 1 :]) for s, i in zip(shapes, axes)]

            new = grown(data_batch[0].data, self._data_shapes)
            labels = grown(data_batch[0].label, self._known_labels)
            provided = provided_label = None
        else:
            new = [tuple(a.shape) for a in data_batch.data]
            labels = [tuple(a.shape) for a in getattr(data_batch, "label", None) or ()]
            provided = getattr(data_batch, "provide_data", None)
            provided_label = getattr(data_batch, "provide_label", None)
        forgotten = labels and self._known_labels and not self._label_shapes
        if new == [tuple(d.shape) for d in self._data_shapes] and not forgotten:
            return

        def moved(old: list[DataDesc], shapes: Any) -> list[DataDesc]:
            return [DataDesc(d.name, s, d.dtype, d.layout) for d, s in zip(old, shapes)]

        label_shapes = provided_label or moved(self._known_labels, labels)
        self.reshape(provided or moved(self._data_shapes, new), label_shapes)

    def backward(self, out_grads: Any = None) -> None:
        self._want("bind", "init_params")
        self._exec_group.backward(out_grads)

    def update(self) -> None:
        tell_if_unkept()
        self._want("bind", "init_params", "init_optimizer")
        if not self.for_training:
            raise AssertionError("re-bind with for_training=True to update")
        self._params_dirty = True
        group, store = self._exec_group, self._kvstore
        arrays = group.param_arrays, group.grad_arrays
        if self._update_on_kvstore:
            update_on_store(*arrays, store, group.param_names)
        else:
            update_here(*arrays, self._updater, len(self._context), store, group.param_names)

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        self._want("bind", "init_params")
        return self._exec_group.get_outputs(merge_multi_context)

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        self._want("bind", "init_params")
        return self._exec_group.get_input_grads(merge_multi_context)

    def get_states(self, merge_multi_context: bool = True) -> list[Any]:
        self._want("bind", "init_params")
        return self._exec_group.get_states(merge_multi_context)

    def set_states(self, states: Any = None, value: Any = None) -> None:
        self._want("bind", "init_params")
        self._exec_group.set_states(states, value)

    def update_metric(self, eval_metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        self._exec_group.update_metric(eval_metric, labels, pre_sliced)

    def install_monitor(self, mon: Any) -> None:
        self._want("bind")
        self._exec_group.install_monitor(mon)

    def prepare(self, data_batch: Any, sparse_row_id_fn: Callable[[Any], Any] | None = None) -> None:
        """Fetch the rows of row_sparse weights that the batch reads from the store that updates them: ``update`` brings none.

        Raises AssertionError where sparse_row_id_fn gives no dict."""
        self._want("bind")
        if sparse_row_id_fn is None:
            return
        if self._kvstore is None or not self._update_on_kvstore:
            warnings.warn(
                "Parameters are not updated in the KVStore. No need to call sparse_row_id_fn.",
                UserWarning,
                stacklevel=2,
            )
            return
        wanted = sparse_row_id_fn(data_batch)
        if not isinstance(wanted, Mapping):
            raise AssertionError("Expected dict output from sparse_row_id_fn")
        group = self._exec_group
        for name, rows in wanted.items():
            index = group.param_names.index(name)
            arrays = group.param_arrays[index]
            if arrays[0].stype == "row_sparse":
                self._kvstore.row_sparse_pull(name, arrays, priority=-index, row_ids=rows)
            else:
                warnings.warn(
                    f"{name}.stype is not 'row_sparse'. No need to perform row_sparse_pull.", UserWarning, stacklevel=2
                )


def _groups(group2ctxs: Any, contexts: int) -> list[dict[str, Context] | None]:
    """Contexts of groups for each context of the module, from one dict for all (whose values may be lists, of one or of as many),
    or a list of dicts. Raises AssertionError for another number of them, MXNetError for what is no Context."""
    if group2ctxs is None:
        return [None] * contexts
    if isinstance(group2ctxs, Mapping):
        spread = {g: _as_list(places) for g, places in group2ctxs.items()}
        spread = {g: places * contexts if len(places) == 1 else places for g, places in spread.items()}
        if wrong := sorted(g for g, places in spread.items() if len(places) != contexts):
            raise AssertionError(
                f"group2ctxs: {', '.join(wrong)} has another number of contexts than the module's {contexts}"
            )
        groups: list[Any] = [{g: places[i] for g, places in spread.items()} for i in range(contexts)]
    else:
        groups = list(group2ctxs)
    if len(groups) != contexts:
        raise AssertionError(f"group2ctxs has {len(groups)} entries for {contexts} contexts")
    for place in (place for group in groups for place in (group or {}).values()):
        if not isinstance(place, Context):
            raise MXNetError(f"group2ctxs: got {place!r}, wanted Contexts such as mx.cpu(1)")
        resolve(place)
    return groups
