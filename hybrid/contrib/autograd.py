"""Gradients as MXNet 0.9 had them: recording and training mode are one. Use ``mx.autograd`` in new programs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from .. import autograd
from ..autograd import mark_variables
from ..ndarray import NDArray, zeros_like

__all__ = [
    "TrainingStateScope",
    "backward",
    "compute_gradient",
    "grad",
    "grad_and_loss",
    "mark_variables",
    "set_is_training",
    "test_section",
    "train_section",
]


def set_is_training(is_train: bool) -> bool:
    """Switch recording and training mode on or off, giving what recording was.

    is_train: True for on.

    Examples
    --------
    >>> from gluonnx import mx
    >>> before = mx.contrib.autograd.set_is_training(True)
    >>> mx.autograd.is_training(), mx.autograd.is_recording()
    (True, True)
    >>> mx.contrib.autograd.set_is_training(before)
    True
    """
    autograd.set_training(is_train)
    return autograd.set_recording(is_train)


class TrainingStateScope:
    """``with TrainingStateScope(True):`` switches recording and training mode on (or off) for a block.

    enter_state: True for on.

    Examples
    --------
    >>> from gluonnx import mx
    >>> with mx.contrib.autograd.TrainingStateScope(True):
    ...     print(mx.autograd.is_training(), mx.autograd.is_recording())
    True True
    """

    def __init__(self, enter_state: bool):
        self._enter_state = enter_state
        self._prev: bool | None = None

    def __enter__(self) -> None:
        self._prev = set_is_training(self._enter_state)

    def __exit__(self, ptype: Any, value: Any, trace: Any) -> None:
        if self._prev is not None:
            set_is_training(self._prev)


def train_section() -> TrainingStateScope:
    """A block that is recorded, in training mode.

    Examples
    --------
    >>> from gluonnx import mx
    >>> x = mx.nd.array([3])
    >>> x.attach_grad()
    >>> with mx.contrib.autograd.train_section():
    ...     y = x * x
    >>> y.backward()
    >>> x.grad.asnumpy()
    array([6.], dtype=float32)
    """
    return TrainingStateScope(True)


def test_section() -> TrainingStateScope:
    """A block that is not recorded, in inference mode.

    Examples
    --------
    >>> from gluonnx import mx
    >>> with mx.contrib.autograd.train_section():
    ...     with mx.contrib.autograd.test_section():
    ...         print(mx.autograd.is_training(), mx.autograd.is_recording())
    False False
    """
    return TrainingStateScope(False)


def backward(outputs: Sequence[NDArray], out_grads: Any = None, retain_graph: bool = False) -> None:
    """Compute the gradients of marked variables. Raises AssertionError unless outputs are in a list.

    outputs: a list of arrays. out_grads: gradients of them, of their shapes; None: ones. retain_graph: keep what was
    recorded, to go back again.

    Examples
    --------
    >>> from gluonnx import mx
    >>> x, gradient = mx.nd.array([3]), mx.nd.zeros(1)
    >>> mx.contrib.autograd.mark_variables([x], [gradient])
    >>> with mx.contrib.autograd.train_section():
    ...     y = x * x
    >>> mx.contrib.autograd.backward([y])
    >>> gradient.asnumpy()
    array([6.], dtype=float32)
    """
    if not isinstance(outputs, list | tuple):
        raise AssertionError("outputs must be a list or tuple of NDArrays")
    autograd.backward(outputs, out_grads, retain_graph=retain_graph)


def compute_gradient(outputs: Sequence[NDArray]) -> None:
    """backward under its first name.

    outputs: a list of arrays, whose gradients are ones.

    Examples
    --------
    >>> from gluonnx import mx
    >>> x, gradient = mx.nd.array([3]), mx.nd.zeros(1)
    >>> mx.contrib.autograd.mark_variables([x], [gradient])
    >>> with mx.contrib.autograd.train_section():
    ...     y = x * x
    >>> mx.contrib.autograd.compute_gradient([y])
    >>> gradient.asnumpy()
    array([6.], dtype=float32)
    """
    backward(outputs)


def grad_and_loss(func: Callable[..., Any], argnum: Any = None) -> Callable[..., tuple[list[NDArray], Any]]:
    """A function that gives the gradients of func's arguments (those numbered argnum), and what func gives.

    Raises AssertionError for arguments that are no NDArrays.

    Examples
    --------
    >>> from gluonnx import mx
    >>> both = mx.contrib.autograd.grad_and_loss(lambda x, y: x * y, argnum=0)
    >>> gradients, product = both(mx.nd.array([3]), mx.nd.array([5]))
    >>> gradients[0].asnumpy(), product.asnumpy()
    (array([5.], dtype=float32), array([15.], dtype=float32))
    """

    @functools.wraps(func)
    def wrapped(*args: NDArray) -> tuple[list[NDArray], Any]:
        numbers = range(len(args)) if argnum is None else argnum if isinstance(argnum, list) else [argnum]
        variables = [args[i] for i in numbers]
        if not all(isinstance(x, NDArray) for x in variables):
            raise AssertionError("type of autograd input should NDArray.")
        gradients = [zeros_like(x) for x in variables]
        mark_variables(variables, gradients)
        with train_section():
            outputs = func(*args)
        backward([outputs] if isinstance(outputs, NDArray) else outputs)
        return gradients, outputs

    return wrapped


def grad(func: Callable[..., Any], argnum: Any = None) -> Callable[..., list[NDArray]]:
    """A function that gives the gradients of func's arguments (those numbered argnum).

    Examples
    --------
    >>> from gluonnx import mx
    >>> gradients = mx.contrib.autograd.grad(lambda x, y: x * y)(mx.nd.array([3]), mx.nd.array([5]))
    >>> [gradient.asnumpy().tolist() for gradient in gradients]
    [[5.0], [3.0]]
    """
    both = grad_and_loss(func, argnum)

    @functools.wraps(func)
    def wrapped(*args: NDArray) -> list[NDArray]:
        return both(*args)[0]

    return wrapped
