"""The Trainer: gradients of parameters, added up over devices, change them by an optimizer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import optimizer as opt
from ..core.resume import tell_if_unkept
from ..formats.files import read, write
from ..kvstore import KVStore, create
from ..kvstore.base import choose
from ..ndarray import NDArray
from .parameter import Parameter, ParameterDict

__all__ = ["Trainer"]


class Trainer:
    """``step(batch_size)`` after each ``backward``: every parameter a step further along its gradient.

    Parameters
    ----------
    params : ParameterDict, dict or list of Parameter
        Parameters to train; those whose grad_req is "null" stay as they are.
    optimizer : str or Optimizer
        The rule, or its name: "sgd", "adam", ...
    optimizer_params : dict or None
        Arguments of the rule where it is named, such as {"learning_rate": 0.1, "wd": 1e-4}.
    kvstore : KVStore, str or None
        A store or its name, used with several contexts, or with several processes (``dist_sync``: docs/distributed.md).
    compression_params : dict or None
        How gradients are compressed on their way to the store: {"type": "2bit", "threshold": 0.5}; None: not.
    update_on_kvstore : bool or None
        Update the weights in the store; None: where that is of use.

    Raises
    ------
    ValueError
        For params that are no Parameters, and for an optimizer with optimizer_params besides.

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.gluon.nn.Dense(1, in_units=2)
    >>> net.initialize()
    >>> trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    >>> with mx.autograd.record():
    ...     loss = (net(mx.nd.ones((4, 2))) - 1) ** 2
    >>> loss.backward()
    >>> trainer.step(batch_size=4)

    Source: MXNet gluon.Trainer."""

    def __init__(
        self,
        params: Any,
        optimizer: Any,
        optimizer_params: dict[str, Any] | None = None,
        kvstore: Any = "device",
        compression_params: dict[str, Any] | None = None,
        update_on_kvstore: bool | None = None,
    ) -> None:
        if isinstance(params, Mapping | ParameterDict):
            params = [params[key] for key in sorted(params.keys())]
        if not isinstance(params, list | tuple):
            raise ValueError(f"First argument must be a list or dict of Parameters, got {type(params)}.")
        self._params: list[Parameter] = []
        self._param2idx: dict[str, int] = {}
        for i, param in enumerate(params):
            if not isinstance(param, Parameter):
                raise ValueError(f"First argument must be a list or dict of Parameters, got list of {type(param)}.")
            self._param2idx[param.name] = i
            self._params.append(param)
            param._set_trainer(self)
        self._contains_sparse_weight = any(p.stype != "default" for p in self._params)
        self._contains_sparse_grad = any(p.grad_stype != "default" for p in self._params)
        self._compression_params = compression_params
        self._contexts = self._check_contexts()
        self._init_optimizer(optimizer, optimizer_params or {})
        self._scale = self._optimizer.rescale_grad
        self._kvstore_params = {"kvstore": kvstore, "update_on_kvstore": update_on_kvstore}
        self._reset_kvstore()

    def _check_contexts(self) -> Any:
        contexts = None
        for param in self._params:
            own = param.list_ctx()
            if contexts is not None and contexts != own:
                raise AssertionError(
                    "All Parameters must be initialized on the same set of contexts, but Parameter "
                    f"{param.name} is initialized on {own} while previous Parameters are initialized on {contexts}."
                )
            contexts = own
        return contexts or []

    def _init_optimizer(self, optimizer: Any, optimizer_params: dict[str, Any]) -> None:
        by_index = dict(enumerate(self._params))
        if isinstance(optimizer, opt.Optimizer):
            if optimizer_params:
                raise AssertionError(
                    "optimizer_params must be None if optimizer is an instance of Optimizer instead of str"
                )
            self._optimizer = optimizer
            optimizer.param_dict = by_index
        else:
            self._optimizer = opt.create(optimizer, param_dict=by_index, **optimizer_params)
        self._updaters = [opt.get_updater(self._optimizer) for _ in self._contexts]

    # -- the store ------------------------------------------------------------------------------------------------------

    def _reset_kvstore(self) -> None:
        """Make a store anew at the next step. Raises RuntimeError for one that joins several processes."""
        if getattr(self, "_distributed", False):
            raise RuntimeError("Cannot reset distributed KVStore.")
        self._kv_initialized = False
        self._kvstore: Any = None
        self._distributed: bool | None = None
        self._update_on_kvstore: bool | None = None
        self._params_to_init = list(self._params)

    def _init_kvstore(self) -> None:
        wanted, on_store = self._kvstore_params["kvstore"], self._kvstore_params["update_on_kvstore"]
        if self._contains_sparse_weight:
            if on_store is False:
                raise ValueError("Cannot set update_on_kvstore=False when sparse weights are present.")
            store: Any = wanted if isinstance(wanted, KVStore) else create(wanted)
            update = True
        else:
            arrays = {p.name: p.data(self._contexts[0]) for p in self._params}
            store, update = choose(wanted, len(self._contexts), arrays)
            kind = "" if store is None else store.type
            distributed = "dist" in kind
            if self._contains_sparse_grad:
                if store is not None and not isinstance(store, KVStore):
                    raise ValueError(f"Cannot use {type(store)} for multi-device training with sparse gradients")
                if distributed and on_store is False:
                    raise ValueError(
                        "Cannot set update_on_kvstore=False on dist kvstore when sparse gradients are present."
                    )
                update = distributed
            elif distributed and "async" in kind and on_store is False:
                raise ValueError("Please set update_on_kvstore=True when training in async mode.")
            update = update if on_store is None else on_store
            if store is not None and update and not store.is_capable("optimizer"):
                raise ValueError(f"Please set update_on_kvstore=False when training with {type(store)}")
        self._kvstore = store
        self._distributed = store is not None and "dist" in store.type
        self._update_on_kvstore = update if store is not None else None
        if store is not None:
            if self._compression_params:
                store.set_gradient_compression(self._compression_params)
            if update:
                store.set_optimizer(self._optimizer)
        self._kv_initialized = True

    def _init_params(self) -> None:
        """Put the values of parameters that have come to have some into the store."""
        waiting = self._params_to_init
        self._params_to_init = []
        if self._kvstore is None:
            return
        for param in waiting:
            if param._deferred_init:
                self._params_to_init.append(param)
            else:
                arrays = _values(param)
                self._kvstore.broadcast(self._param2idx[param.name], arrays[0], arrays)

    def _prepare(self) -> None:
        if not self._kv_initialized:
            self._init_kvstore()
        if self._params_to_init:
            self._init_params()

    def _only_here(self, call: str) -> None:
        if self._update_on_kvstore:
            raise AssertionError(
                f"{call}() when parameters are updated on kvstore is not supported. Try setting `update_on_kvstore` to "
                "False when creating trainer."
            )

    # -- rates ----------------------------------------------------------------------------------------------------------

    @property
    def learning_rate(self) -> float:
        """The learning rate now.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.gluon.nn.Dense(1, in_units=2)
        >>> net.initialize()
        >>> mx.gluon.Trainer(net.collect_params(), "adam").learning_rate
        0.001
        """
        return self._optimizer.learning_rate

    @property
    def optimizer(self) -> opt.Optimizer:
        """The optimizer.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.gluon.nn.Dense(1, in_units=2)
        >>> net.initialize()
        >>> mx.gluon.Trainer(net.collect_params(), "adam").optimizer.beta1
        0.9
        """
        return self._optimizer

    def set_learning_rate(self, lr: float) -> None:
        """Set the learning rate to lr. Raises UserWarning when a scheduler decides it.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.gluon.nn.Dense(1, in_units=2)
        >>> net.initialize()
        >>> trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
        >>> trainer.set_learning_rate(0.01)
        >>> trainer.learning_rate
        0.01
        """
        self._optimizer.set_learning_rate(lr)

    # -- training ---------------------------------------------------------------------------------------------------------

    def step(self, batch_size: float, ignore_stale_grad: bool = False) -> None:
        """Add up gradients over devices, divide them by batch_size, and update.

        Raises UserWarning for a parameter whose gradient has not come since the last step; with ignore_stale_grad it
        is left alone.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.gluon.nn.Dense(1, in_units=1, use_bias=False)
        >>> net.initialize(mx.init.One())
        >>> trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
        >>> with mx.autograd.record():
        ...     loss = net(mx.nd.array([[1], [3]]))
        >>> loss.backward()
        >>> trainer.step(batch_size=2)  # weight 1 - 0.5 * (1 + 3) / 2
        >>> net.weight.data().asnumpy()
        array([[0.]], dtype=float32)
        """
        tell_if_unkept(self)
        self._check_and_rescale_grad(self._scale / batch_size)
        self._prepare()
        self._allreduce_grads()
        self._update(ignore_stale_grad)

    def allreduce_grads(self) -> None:
        """Add up gradients over devices only; ``update`` does the rest of a step.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.gluon.nn.Dense(1, in_units=1, use_bias=False)
        >>> net.initialize(mx.init.One())
        >>> options = {"learning_rate": 1}
        >>> trainer = mx.gluon.Trainer(net.collect_params(), "sgd", options, update_on_kvstore=False)
        >>> with mx.autograd.record():
        ...     loss = net(mx.nd.array([[30]]))
        >>> loss.backward()
        >>> trainer.allreduce_grads()
        >>> norm = mx.gluon.utils.clip_global_norm([net.weight.grad()], max_norm=3)
        >>> trainer.update(batch_size=1)
        >>> round(net.weight.data().asscalar().item(), 3)  # 1 - 3, not 1 - 30
        -2.0
        """
        self._prepare()
        self._only_here("allreduce_grads")
        self._allreduce_grads()

    def update(self, batch_size: float, ignore_stale_grad: bool = False) -> None:
        """Update by gradients that allreduce_grads added up; batch_size and ignore_stale_grad as in step.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.gluon.nn.Dense(1, in_units=1, use_bias=False)
        >>> net.initialize(mx.init.One())
        >>> options = {"learning_rate": 1}
        >>> trainer = mx.gluon.Trainer(net.collect_params(), "sgd", options, update_on_kvstore=False)
        >>> with mx.autograd.record():
        ...     loss = net(mx.nd.array([[0.25]]))
        >>> loss.backward()
        >>> trainer.allreduce_grads()
        >>> trainer.update(batch_size=1)
        >>> net.weight.data().asscalar().item()
        0.75
        """
        tell_if_unkept(self)
        self._prepare()
        self._only_here("update")
        self._check_and_rescale_grad(self._scale / batch_size)
        self._update(ignore_stale_grad)

    def _check_and_rescale_grad(self, scale: float) -> None:
        if (
            self._distributed
            and "async" in self._kvstore.type
            and self._update_on_kvstore
            and scale != self._optimizer.rescale_grad
        ):
            raise UserWarning(
                "Possible change in the `batch_size` from previous `step` detected. Optimizer gradient normalizing factor "
                "will not change w.r.t new batch_size when update_on_kvstore=True and when distributed kvstore is used."
            )
        self._optimizer.rescale_grad = scale

    def _allreduce_grads(self) -> None:
        if self._kvstore is None:
            return
        for i, param in enumerate(self._params):
            if param.grad_req == "null":
                continue
            if self._update_on_kvstore:
                self._kvstore.push(i, param._gradients(), priority=-i)
                self._kvstore.pull(i, _values(param), priority=-i, ignore_sparse=False)
            elif param.grad_stype == "row_sparse":
                self._kvstore.push(i, param._grad, priority=-i)
                self._kvstore.pull(i, param._grad, priority=-i, ignore_sparse=False)
            else:
                self._kvstore.pushpull(i, param._grad, priority=-i)

    def _update(self, ignore_stale_grad: bool = False) -> None:
        scaler = getattr(self, "_amp_loss_scaler", None)
        if scaler is not None and scaler.has_overflow(self._params):
            return
        trained = [(i, param, _values(param)) for i, param in enumerate(self._params) if param.grad_req != "null"]
        if not ignore_stale_grad:
            for _, param, arrays in trained:
                _want_fresh(param, arrays)
        if self._update_on_kvstore:
            return
        updates: list[list[tuple[int, NDArray, NDArray]]] = [[] for _ in self._updaters]
        for i, param, arrays in trained:
            for update, array, gradient in zip(updates, arrays, param._gradients()):
                if array._fresh_grad:
                    update.append((i, gradient, array))
                    array._fresh_grad = False
        for updater, update in zip(self._updaters, updates):
            if update:
                updater(*map(list, zip(*update)))

    # -- files ------------------------------------------------------------------------------------------------------------

    def save_states(self, fname: str) -> None:
        """Write the optimizer and its states to a file, fname, which MXNet 1.9.1 reads too.

        Raises AssertionError while parameters wait for their shapes and the store updates them.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.gluon.nn.Dense(1, in_units=2)
        >>> net.initialize()
        >>> trainer = mx.gluon.Trainer(net.collect_params(), "adam")
        >>> trainer.save_states("net.states")
        >>> trainer.load_states("net.states")
        """
        self._prepare()
        if self._update_on_kvstore:
            if self._params_to_init:
                raise AssertionError(
                    "Cannot save trainer states when some parameters are not yet initialized in kvstore."
                )
            self._kvstore.save_optimizer_states(fname, dump_optimizer=True)
            return
        write(fname, self._updaters[0].get_states(dump_optimizer=True))

    def load_states(self, fname: str) -> None:
        """Read the optimizer and its states from a file of save_states, fname, written here or by MXNet.

        Nothing in it is executed. Raises FormatError when it holds no states.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.gluon.nn.Dense(1, in_units=2)
        >>> net.initialize()
        >>> trainer = mx.gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.03})
        >>> trainer.save_states("net.states")
        >>> trainer = mx.gluon.Trainer(net.collect_params(), "adam")
        >>> trainer.load_states("net.states")
        >>> trainer.learning_rate
        0.03
        """
        self._prepare()
        if self._update_on_kvstore:
            self._kvstore.load_optimizer_states(fname)
            self._adopt_optimizer(self._kvstore._updater.optimizer)
        else:
            states = read(fname)
            for updater in self._updaters:
                updater.set_states(states, fname)
            self._adopt_optimizer(self._updaters[0].optimizer)

    def _adopt_optimizer(self, optimizer: opt.Optimizer) -> None:
        """Go on with an optimizer that came with states."""
        self._optimizer = optimizer
        for updater in self._updaters:
            updater.optimizer = optimizer
        optimizer.param_dict = dict(enumerate(self._params))


def _values(param: Parameter) -> list[NDArray]:
    """A parameter's arrays on all contexts, also when it is sparse. Raises as list_data when there are none."""
    return param.list_data() if param._data is None else param._data


def _want_fresh(param: Parameter, arrays: list[NDArray]) -> None:
    """Raise UserWarning when a gradient has not come since the last step."""
    for array in arrays:
        if not array._fresh_grad:
            raise UserWarning(
                f"Gradient of Parameter `{param.name}` on context {array.context} has not been updated by backward since "
                "last `step`. This could mean a bug in your model that made it only use a subset of the Parameters (Blocks) "
                "for this iteration. If you are intentionally only using a subset, call step with ignore_stale_grad=True to "
                "suppress this warning and skip updating of Parameters with stale gradient"
            )
