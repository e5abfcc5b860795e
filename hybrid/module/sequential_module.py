"""Modules one after the other: the outputs of each are the inputs of the next."""

from __future__ import annotations

import logging
from typing import Any, ClassVar

from ..initializer import Uniform
from ..io import DataBatch, DataDesc
from .base_module import DEFAULT, BaseModule, Params


class SequentialModule(BaseModule):
    """``add(module, take_labels=True)`` for modules that need the labels, ``auto_wiring=True`` for those whose inputs are called
    otherwise than the outputs before. Source: MXNet SequentialModule.

    Parameters
    ----------
    logger : module or Logger, default logging
        Where progress is written to.

    Examples
    --------
    >>> from gluonnx import mx
    >>> first = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="a")
    >>> second = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="b")
    >>> module = mx.mod.SequentialModule()
    >>> _ = module.add(mx.mod.Module(first, label_names=None))
    >>> _ = module.add(mx.mod.Module(second, label_names=None), auto_wiring=True)
    >>> module.bind([("data", (4, 5))])
    >>> module.init_params()
    >>> module.forward(mx.io.DataBatch([mx.nd.ones((4, 5))]))
    >>> module.get_outputs()[0].shape
    (4, 2)
    >>> module.data_names, module.output_names, module.output_shapes
    (['data'], ['b_output'], [('b_output', (4, 2))])
    >>> sorted(module.get_params()[0])
    ['a_bias', 'a_weight', 'b_bias', 'b_weight']
    """

    META_TAKE_LABELS: ClassVar[str] = "take_labels"
    META_AUTO_WIRING: ClassVar[str] = "auto_wiring"

    def __init__(self, logger: Any = logging):
        super().__init__(logger=logger)
        self._modules: list[BaseModule] = []
        self._metas: list[dict[str, Any]] = []
        self._label_shapes: Any = None

    def add(self, module: BaseModule, **kwargs: Any) -> SequentialModule:
        """Put a module at the end. Raises AssertionError for other keywords than those of the class."""
        known = (self.META_TAKE_LABELS, self.META_AUTO_WIRING)
        for key in kwargs:
            if key not in known:
                raise AssertionError(f'Unknown meta "{key}", a typo? wanted {" or ".join(known)}')
        self._modules.append(module)
        self._metas.append(kwargs)
        # what was bound, initialized or trained was another network
        self.binded = self.params_initialized = self.optimizer_initialized = False
        return self

    def _takes_labels(self, i: int) -> bool:
        return bool(self._metas[i].get(self.META_TAKE_LABELS))

    # -- what it is bound to ------------------------------------------------------------------------------------------

    @property
    def data_names(self) -> Any:
        return self._modules[0].data_names if self._modules else []

    @property
    def output_names(self) -> Any:
        return self._modules[-1].output_names if self._modules else []

    @property
    def data_shapes(self) -> Any:
        self._want("bind")
        return self._modules[0].data_shapes

    @property
    def label_shapes(self) -> Any:
        self._want("bind")
        return self._label_shapes

    @property
    def output_shapes(self) -> Any:
        self._want("bind")
        return self._modules[-1].output_shapes

    # -- parameters ---------------------------------------------------------------------------------------------------

    def get_params(self) -> tuple[Params, Params]:
        self._want("bind", "init_params")
        arguments: Params = {}
        states: Params = {}
        for module in self._modules:
            own_arguments, own_states = module.get_params()
            arguments.update(own_arguments)
            states.update(own_states)
        return arguments, states

    def init_params(
        self,
        initializer: Any = Uniform(0.01),  # noqa: B008  shown in the signature, and not changed
        arg_params: Params | None = None,
        aux_params: Params | None = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        """As of every module. Raises AssertionError when two modules have a parameter of one name."""
        if self.params_initialized and not force_init:
            return
        self._want("bind")
        for module in self._modules:
            module.init_params(
                initializer=initializer,
                arg_params=arg_params,
                aux_params=aux_params,
                allow_missing=allow_missing,
                force_init=force_init,
                allow_extra=True if arg_params else allow_extra,  # those of the other modules
            )
        for which in (0, 1):
            found: dict[str, int] = {}
            for i, module in enumerate(self._modules):
                for name in module.get_params()[which]:
                    if name in found:
                        raise AssertionError(
                            f'Duplicated parameter names: name "{name}" in layer {i} ({type(module)}) is already used in '
                            f"layer {found[name]} ({type(self._modules[found[name]])})."
                        )
                    found[name] = i
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
        """Bind the modules one after the other, each to the output shapes of the last.

        Raises AssertionError for a shared_module, without modules, for modules that do not fit, and for
        inputs_need_grad without for_training."""
        if self.binded and not force_rebind:
            self.logger.warning("Already bound, ignoring bind()")
            return
        if inputs_need_grad and not for_training:
            raise AssertionError("inputs_need_grad needs for_training=True")
        if shared_module is not None:
            raise AssertionError("Shared module is not supported")
        if not self._modules:
            raise AssertionError("Attempting to bind an empty SequentialModule")
        self.for_training, self.inputs_need_grad = for_training, inputs_need_grad
        shapes = data_shapes
        labeled = False
        for i, module in enumerate(self._modules):
            labeled = labeled or self._takes_labels(i)
            if self._metas[i].get(self.META_AUTO_WIRING):
                if len(module.data_names) != len(shapes):
                    raise AssertionError(f"layer {i} takes {len(module.data_names)} inputs, but gets {len(shapes)}")
                shapes = [_rename(new, d) for new, d in zip(module.data_names, shapes)]
            module.bind(
                data_shapes=shapes,
                label_shapes=label_shapes if self._takes_labels(i) else None,
                for_training=for_training,
                inputs_need_grad=bool(inputs_need_grad or (for_training and i > 0)),
                force_rebind=force_rebind,
                grad_req=grad_req,
            )
            shapes = module.output_shapes
        self._label_shapes = label_shapes if labeled else None
        self.binded = True

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
        for module in self._modules:
            module.init_optimizer(kvstore, optimizer, optimizer_params, force_init=force_init)
        self.optimizer_initialized = True

    # -- steps --------------------------------------------------------------------------------------------------------

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        self._want("bind", "init_params")
        batch = data_batch
        for i, module in enumerate(self._modules):
            module.forward(batch, is_train=is_train)
            if i + 1 < len(self._modules):
                outputs = module.get_outputs()
                names = module.output_names
                batch = DataBatch(
                    outputs,
                    data_batch.label,
                    data_batch.pad,
                    data_batch.index,
                    data_batch.bucket_key,
                    [DataDesc(n, o.shape) for n, o in zip(names, outputs)],
                    data_batch.provide_label,
                )

    def backward(self, out_grads: Any = None) -> None:
        self._want("bind", "init_params")
        for i, module in reversed(list(enumerate(self._modules))):
            module.backward(out_grads=out_grads)
            if i:
                out_grads = module.get_input_grads()

    def update(self) -> None:
        self._want("bind", "init_params", "init_optimizer")
        for module in self._modules:
            module.update()

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        self._want("bind", "init_params")
        return self._modules[-1].get_outputs(merge_multi_context)

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        self._want("bind", "init_params")
        if not self.inputs_need_grad:
            raise AssertionError("bind with inputs_need_grad=True to get the gradients of inputs")
        return self._modules[0].get_input_grads(merge_multi_context)

    def update_metric(self, eval_metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        self._want("bind", "init_params")
        for i, module in enumerate(self._modules):
            if self._takes_labels(i):
                module.update_metric(eval_metric, labels, pre_sliced)

    def install_monitor(self, mon: Any) -> None:
        self._want("bind")
        for module in self._modules:
            module.install_monitor(mon)


def _rename(name: str, described: Any) -> DataDesc:
    """The same shape (dtype, layout) under another name."""
    if isinstance(described, DataDesc):
        return DataDesc(name, described.shape, described.dtype, described.layout)
    return DataDesc(name, described[1])
