"""Modules that a program writes in Python: no symbol, and no parameters unless it brings some."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import ndarray
from ..initializer import Uniform
from ..ndarray import NDArray
from .base_module import DEFAULT, BaseModule, Params


class PythonModule(BaseModule):
    """Base class: define forward, backward, the getters, and ``_compute_output_shapes``. Source: MXNet PythonModule.

    Parameters
    ----------
    data_names : list of str
        Inputs that data iterators give.
    label_names : list of str
        Inputs that data iterators give as labels.
    output_names : list of str
        Names of what it gives.
    logger : module or Logger, default logging
        Where progress is written to.

    Examples
    --------
    >>> from gluonnx import mx
    >>> class Halved(mx.mod.PythonModule):
    ...     def _compute_output_shapes(self):
    ...         return [("half", self.data_shapes[0][1])]
    ...     def forward(self, data_batch, is_train=None):
    ...         self.outputs = [array / 2 for array in data_batch.data]
    ...     def get_outputs(self, merge_multi_context=True):
    ...         return self.outputs
    >>> module = Halved(data_names=["data"], label_names=None, output_names=["half"])
    >>> module.bind([("data", (2,))])
    >>> module.init_params()
    >>> module.forward(mx.io.DataBatch([mx.nd.array([1, 3])]))
    >>> module.get_outputs()[0].asnumpy()
    array([0.5, 1.5], dtype=float32)
    >>> module.data_names, module.output_shapes, module.get_params()
    (['data'], [('half', (2,))], ({}, {}))
    """

    def __init__(self, data_names: Any, label_names: Any, output_names: Any, logger: Any = logging):
        super().__init__(logger=logger)
        self._data_names = list(data_names)
        self._label_names = list(label_names) if label_names is not None else None
        self._output_names = output_names
        self._data_shapes: Any = None
        self._label_shapes: Any = None
        self._output_shapes: Any = None

    @property
    def data_names(self) -> Any:
        return self._data_names

    @property
    def output_names(self) -> Any:
        return self._output_names

    @property
    def data_shapes(self) -> Any:
        return self._data_shapes

    @property
    def label_shapes(self) -> Any:
        return self._label_shapes

    @property
    def output_shapes(self) -> Any:
        return self._output_shapes

    def get_params(self) -> tuple[Params, Params]:
        """None of either."""
        return {}, {}

    def init_params(
        self,
        initializer: Any = Uniform(0.01),  # noqa: B008  shown in the signature, and not changed
        arg_params: Params | None = None,
        aux_params: Params | None = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        """There are none to initialize."""
        self.params_initialized = True

    def update(self) -> None:
        """There are no parameters to update."""

    def update_metric(self, eval_metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        """Tell a metric the labels and the outputs, if there are labels.

        Raises RuntimeError with pre_sliced."""
        if self._label_shapes is None:
            return
        if pre_sliced:
            raise RuntimeError("PythonModule does not support presliced labels")
        eval_metric.update(labels, self.get_outputs())

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
        """Take note of the shapes. Raises AssertionError for other names than those of the module."""
        if self.binded and not force_rebind:
            self.logger.warning("Already bound, ignoring bind()")
            return
        if grad_req != "write":
            raise AssertionError("Python module only support write gradient")
        for described, names in ((data_shapes, self._data_names), (label_shapes, self._label_names)):
            if described is not None and [d[0] for d in described] != (names or []):
                raise AssertionError(f"got shapes of {[d[0] for d in described]}, wanted those of {names}")
        self.for_training, self.inputs_need_grad = for_training, inputs_need_grad
        self._data_shapes, self._label_shapes = data_shapes, label_shapes
        self._output_shapes = self._compute_output_shapes()
        self.binded = True

    def _compute_output_shapes(self) -> Any:
        """(name, shape) of every output, once shapes of inputs and labels are known."""
        raise NotImplementedError

    def init_optimizer(
        self,
        kvstore: Any = "local",
        optimizer: Any = "sgd",
        optimizer_params: Any = DEFAULT,
        force_init: bool = False,
    ) -> None:
        """There is nothing to optimize."""
        self.optimizer_initialized = True


class PythonLossModule(PythonModule):
    """A loss at the end of a SequentialModule: it hands on its input, and ``grad_func(scores, labels)`` gives the gradient, as
    an NDArray or what can be made one. Source: MXNet PythonLossModule.

    Raises AssertionError unless there is one input and one label, and for a grad_func that cannot be called.

    Parameters
    ----------
    name : str, default 'pyloss'
        Name of the module.
    data_names : list of str, default ('data',)
        Inputs that data iterators give.
    label_names : list of str, default ('softmax_label',)
        Inputs that data iterators give as labels.
    logger : module or Logger, default logging
        Where progress is written to.

    Examples
    --------
    >>> from gluonnx import mx
    >>> module = mx.mod.PythonLossModule(grad_func=lambda scores, labels: scores - labels)
    >>> module.bind([("data", (2,))], [("softmax_label", (2,))])
    >>> module.forward(mx.io.DataBatch([mx.nd.array([3, 5])], [mx.nd.array([1, 1])]))
    >>> module.backward()
    >>> module.get_outputs()[0].asnumpy(), module.get_input_grads()[0].asnumpy()
    (array([3., 5.], dtype=float32), array([2., 4.], dtype=float32))
    """

    def __init__(
        self,
        name: str = "pyloss",
        data_names: Any = ("data",),
        label_names: Any = ("softmax_label",),
        logger: Any = logging,
        grad_func: Callable[[Any, Any], Any] | None = None,
    ):
        super().__init__(data_names, label_names, [f"{name}_output"], logger=logger)
        if len(self._data_names) != 1 or len(self._label_names or ()) != 1:
            raise AssertionError(f"PythonLossModule takes one input and one label, got {data_names} and {label_names}")
        if grad_func is not None and not callable(grad_func):
            raise AssertionError(f"grad_func: got {grad_func!r}, wanted a function of scores and labels")
        self._name = name
        self._scores: Any = None
        self._labels: Any = None
        self._scores_grad: Any = None
        self._grad_func = grad_func

    def _compute_output_shapes(self) -> Any:
        return [(f"{self._name}_output", self._data_shapes[0][1])]

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        self._scores = data_batch.data[0]
        if self.for_training if is_train is None else is_train:
            self._labels = data_batch.label[0]

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        """The scores as they came.

        Raises AssertionError without merge_multi_context."""
        if not merge_multi_context:
            raise AssertionError("PythonLossModule has its outputs in one place")
        return [self._scores]

    def backward(self, out_grads: Any = None) -> None:
        """The gradient of the scores. Raises AssertionError for out_grads, which a loss does not take."""
        if out_grads is not None:
            raise AssertionError("For a loss module, out_grads should be None")
        if not self.for_training:
            raise AssertionError("re-bind with for_training=True to run backward")
        self._backward_impl()

    def _backward_impl(self) -> None:
        """Compute the gradient with grad_func; to be defined where none is given."""
        if self._grad_func is None:
            raise NotImplementedError
        gradient = self._grad_func(self._scores, self._labels)
        self._scores_grad = gradient if isinstance(gradient, NDArray) else ndarray.array(np.asarray(gradient))

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        if not merge_multi_context:
            raise AssertionError("PythonLossModule has its gradients in one place")
        return [self._scores_grad]

    def install_monitor(self, mon: Any) -> None:
        """Raises NotImplementedError: there is nothing inside to watch."""
        raise NotImplementedError
