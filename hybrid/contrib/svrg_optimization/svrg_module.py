"""Stochastic variance reduced gradients: Johnson and Zhang, 2013."""

from __future__ import annotations

import logging
from typing import Any

from ...context import cpu
from ...kvstore.base import choose
from ...module import Module
from ...module.base_module import DEFAULT
from ...ndarray import NDArray, zeros
from ...symbol import Symbol
from .svrg_optimizer import _FULL, _SVRGOptimizer

__all__ = ["SVRGModule"]


class SVRGModule(Module):
    """A Module whose gradients lose the part that is chance: of every batch, that of the same batch with the weights of some epochs
    ago is taken off, and the mean one of all data with those weights, the full gradient, put in its place.

    update_freq: after so many epochs ``fit`` takes the weights anew, and the full gradient. Raises TypeError, or ValueError, for
    one that is no positive whole number. The sums are MXNet's: a full gradient starts from the one before it, and with a
    KVStore that updates weights those of the first batch are zeros. Source: MXNet SVRGModule."""

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
        update_freq: Any = None,
    ):
        settings = (
            symbol, data_names, label_names, logger, context, work_load_list, fixed_param_names, state_names, group2ctxs,
            compression_params,
        )  # fmt: skip
        if not isinstance(update_freq, int):
            raise TypeError(
                "update_freq in SVRGModule must be an integer to represent the frequency for calculating full gradients"
            )
        if update_freq <= 0:
            raise ValueError(
                "update_freq in SVRGModule must be a positive integer to represent the frequency for calculating full gradients"
            )
        self._mod_aux = Module(*settings)
        """The same network with the weights of the last full gradient."""
        super().__init__(*settings)
        self.update_freq = update_freq
        self._param_dict: list[dict[str, NDArray]] = []
        """The full gradient on each context, by the parameter's name."""

    # -- set-up -------------------------------------------------------------------------------------------------------

    def _reset_bind(self) -> None:
        super()._reset_bind()
        self._mod_aux._reset_bind()

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
        """As Module.bind, and for training the other network too."""
        given = data_shapes, label_shapes, for_training, inputs_need_grad, force_rebind, shared_module, grad_req
        super().bind(*given)
        if for_training:
            self._mod_aux.bind(*given)

    def reshape(self, data_shapes: Any, label_shapes: Any = None) -> None:
        super().reshape(data_shapes, label_shapes)
        if self._mod_aux.binded:
            self._mod_aux.reshape(data_shapes, label_shapes)

    def init_optimizer(
        self,
        kvstore: Any = "local",
        optimizer: Any = "sgd",
        optimizer_params: Any = DEFAULT,
        force_init: bool = False,
    ) -> None:
        """As Module.init_optimizer; a KVStore keeps the full gradients too."""
        self._want("bind", "init_params")
        arguments, _ = self.get_params()
        group, count = self._exec_group, len(self._context)
        self._param_dict = [
            {n: zeros(a.shape, ctx, a.dtype) for n, a in arguments.items() if n not in self._fixed_param_names}
            for ctx in self._context
        ]
        _, on_store = choose(kvstore, count, arguments)
        each = 1 if on_store else count
        names = {i * each + k: n for i, n in enumerate(group.param_names) for k in range(each)}
        names.update(enumerate((n + _FULL for n in self._param_dict[0]), max(names, default=-1) + 1))
        settings = {"rescale_grad": 1.0 / group.batch_size, **dict(optimizer_params)}
        wrapped = _SVRGOptimizer(optimizer, param_idx2name=names, **settings)
        super().init_optimizer(kvstore, wrapped, optimizer_params, force_init)
        if self._kvstore is None:
            return
        for index, (name, arrays) in enumerate(zip(group.param_names, group.param_arrays)):
            if name not in self._param_dict[0]:
                continue
            self._kvstore.init(name + _FULL, zeros(arguments[name].shape, dtype=arguments[name].dtype))
            if self._update_on_kvstore:  # over the weights on the contexts, as MXNet does
                self._kvstore.pull(name + _FULL, arrays, priority=-index)

    def _trained_arrays(self) -> dict[str, list[NDArray]]:
        """As Module's, with the older weights and the full gradients."""
        older = self._mod_aux._trained_arrays() if self._mod_aux.binded else {}
        full = {n: [own[n] for own in self._param_dict] for n in (self._param_dict or [{}])[0]}
        return {
            **super()._trained_arrays(),
            **{f"{name} of the full gradient": own for name, own in older.items()},
            **{f"{name}{_FULL}": own for name, own in full.items()},
        }

    def _arrays_were_set(self) -> None:
        super()._arrays_were_set()
        self._mod_aux._params_dirty = self._mod_aux.params_initialized = True

    # -- steps --------------------------------------------------------------------------------------------------------

    def _begin_epoch(self, epoch: int, train_data: Any) -> None:
        if epoch % self.update_freq == 0:
            self.update_full_grads(train_data)
        train_data.reset()

    def prepare(self, data_batch: Any, sparse_row_id_fn: Any = None) -> None:
        super().prepare(data_batch, sparse_row_id_fn)
        if self._mod_aux.binded:
            self._mod_aux.prepare(data_batch, sparse_row_id_fn)

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        super().forward(data_batch, is_train)
        if is_train:
            self._mod_aux.forward(data_batch, is_train)

    def backward(self, out_grads: Any = None) -> None:
        super().backward(out_grads)
        if self._mod_aux.binded:
            self._mod_aux.backward(out_grads)

    def update(self) -> None:
        """Change the weights by the gradients of the last batch, with their variance reduced."""
        self._want("bind", "init_params", "init_optimizer")
        for own, old, full in self._gradients():
            own -= old
            own += full
        super().update()

    def _gradients(self) -> list[tuple[NDArray, NDArray, NDArray]]:
        """Gradients of the last batch by the weights and by the older ones, and the full ones, of all parameters and contexts."""
        group, older = self._exec_group, self._mod_aux._exec_group
        return [
            (own, old, full[name])
            for name, here, there in zip(group.param_names, group.grad_arrays, older.grad_arrays)
            for own, old, full in zip(here, there, self._param_dict)
            if name in full
        ]

    def update_full_grads(self, train_data: Any) -> None:
        """Take over the weights as they are, and compute the mean gradient of all batches with them."""
        self._mod_aux.set_params(*self.get_params())
        train_data.reset()
        batches, padding = 0, 0
        for batch in train_data:
            self._mod_aux.forward(batch, is_train=True)
            self._mod_aux.backward()
            for _, gradient, full in self._gradients():
                full += gradient
            batches += 1
            padding = batch.pad or 0
        count = batches - padding / train_data.batch_size
        for name in self._param_dict[0]:
            parts = [full[name] for full in self._param_dict]
            for part in parts:
                part /= count
            if self._kvstore is not None:
                self._kvstore.push(name + _FULL, parts)
                self._kvstore.pull(name + _FULL, parts)
                for part in parts:
                    part /= len(parts)
