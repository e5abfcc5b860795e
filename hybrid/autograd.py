"""Automatic differentiation of what is computed step by step: ``mx.autograd``.

Inside ``record()`` operations on arrays with ``attach_grad`` (and on what is made of them) leave records on a tape; ``backward``
goes through them from the last to the first. The gradient of an operator is its rule (``Op.gradient``), run as operators are,
so that it can be recorded too: with ``create_graph`` gradients have gradients, to any order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .core.error import MXNetError
from .eager.array import NDArray, with_face, zeros
from .eager.backward import accumulate, heads_of
from .eager.backward import backward as backward
from .eager.tape import STATE, Leaf, Origin, StateScope, TapeRecord, living
from .symbol import Symbol


def set_recording(is_recording: bool) -> bool:
    """Record operations from now on (is_recording), or no more; gives what it was.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.autograd.set_recording(True)
    False
    >>> mx.autograd.set_recording(False)
    True
    """
    before, STATE.recording = STATE.recording, bool(is_recording)
    return before


def set_training(train_mode: bool) -> bool:
    """Let operators behave as in training from now on (train_mode), or as in prediction; gives what it was.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.autograd.set_training(True)
    False
    >>> mx.autograd.set_training(False)
    True
    """
    before, STATE.training = STATE.training, bool(train_mode)
    return before


def is_recording() -> bool:
    """True when operations are recorded in this thread.

    Examples
    --------
    >>> from gluonnx import mx
    >>> with mx.autograd.record():
    ...     print(mx.autograd.is_recording())
    True
    """
    return STATE.recording


def is_training() -> bool:
    """True when operators behave as in training in this thread.

    Examples
    --------
    >>> from gluonnx import mx
    >>> with mx.autograd.record(train_mode=False):
    ...     print(mx.autograd.is_training())
    False
    """
    return STATE.training


def record(train_mode: bool = True) -> StateScope:
    """``with record():`` records operations, which behave as in training unless train_mode is False.

    Examples
    --------
    >>> from gluonnx import mx
    >>> x = mx.nd.array([1, 2])
    >>> x.attach_grad()
    >>> with mx.autograd.record():
    ...     y = x * x
    >>> y.backward()
    >>> x.grad.asnumpy()
    array([2., 4.], dtype=float32)
    """
    return StateScope(True, train_mode)


def pause(train_mode: bool = False) -> StateScope:
    """``with pause():`` does not record, whatever is around it. train_mode: operators behave as in training.

    Examples
    --------
    >>> from gluonnx import mx
    >>> x = mx.nd.array([1, 2])
    >>> x.attach_grad()
    >>> with mx.autograd.record():
    ...     y = x * x
    ...     with mx.autograd.pause():
    ...         print("mean so far", x.mean().asscalar().item())
    mean so far 1.5
    >>> y.backward()
    >>> x.grad.asnumpy()
    array([2., 4.], dtype=float32)
    """
    return StateScope(False, train_mode)


def train_mode() -> StateScope:
    """``with train_mode():`` lets operators behave as in training.

    Examples
    --------
    >>> from gluonnx import mx
    >>> with mx.autograd.train_mode():
    ...     print(mx.nd.Dropout(mx.nd.ones(1000), p=0.5).max().asscalar().item())
    2.0
    """
    return StateScope(None, True)


def predict_mode() -> StateScope:
    """``with predict_mode():`` lets operators behave as in prediction.

    Examples
    --------
    >>> from gluonnx import mx
    >>> with mx.autograd.record(), mx.autograd.predict_mode():
    ...     print(mx.nd.Dropout(mx.nd.ones(3), p=0.5).asnumpy())
    [1. 1. 1.]
    """
    return StateScope(None, False)


def mark_variables(variables: Any, gradients: Any, grad_reqs: Any = "write") -> None:
    """Let the gradients of arrays arrive in the given arrays, as attach_grad does with new ones.

    Raises ValueError when there are not as many gradients (or grad_reqs) as variables.

    Examples
    --------
    >>> from gluonnx import mx
    >>> x, gradient = mx.nd.array([1, 2]), mx.nd.zeros(2)
    >>> mx.autograd.mark_variables([x], [gradient])
    >>> with mx.autograd.record():
    ...     y = x * x
    >>> y.backward()
    >>> gradient.asnumpy()
    array([2., 4.], dtype=float32)
    """
    if isinstance(variables, NDArray):
        variables, gradients = [variables], [gradients]
    requests = [grad_reqs] * len(variables) if isinstance(grad_reqs, str) else list(grad_reqs)
    if not len(variables) == len(gradients) == len(requests):
        raise ValueError(
            f"mark_variables: got {len(variables)} variables, {len(gradients)} gradients and {len(requests)} grad_reqs"
        )
    for variable, gradient, request in zip(variables, gradients, requests):
        variable._origin = Leaf(gradient, request)


def grad(
    heads: Any,
    variables: Any,
    head_grads: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    train_mode: bool = True,
) -> Any:
    """The gradients of heads with respect to variables, as a list of new arrays, also when variables is one array.

    Raises ValueError without variables.

    Parameters
    ----------
    heads : NDArray or list of NDArray
        What was computed while recording.
    variables : NDArray or list of NDArray
        Arrays that it depends on, of any shape; gradients have theirs, and their dtypes.
    head_grads : NDArray, list or None
        Gradients that come from above, each of its head's shape; None: ones.
    retain_graph : bool or None
        Keep what was recorded, so that it can be gone through again; None: as create_graph.
    create_graph : bool
        Record the computation of the gradients, so that they can be differentiated in turn.
    train_mode : bool
        Compute them as in training.

    Raises
    ------
    MXNetError
        For a head that was not recorded, or a variable that no head depends on.

    Examples
    --------
    >>> from gluonnx import mx
    >>> x = mx.nd.array([3.0])
    >>> x.attach_grad()
    >>> with mx.autograd.record():
    ...     y = x * x * x
    ...     (first,) = mx.autograd.grad(y, [x], create_graph=True)
    >>> first.backward()
    >>> first.asscalar().item(), x.grad.asscalar().item()
    (27.0, 18.0)

    Source: MXNet autograd.grad."""
    arrays, grads = heads_of(heads, head_grads)
    wanted = [variables] if isinstance(variables, NDArray) else list(variables)
    if not wanted:
        raise ValueError("variables cannot be an empty list.")
    for i, variable in enumerate(wanted):
        if living(variable._origin) is None:
            raise MXNetError(
                f"Cannot differentiate with respect to the {i + 1}-th variable because it does not require gradient."
            )
    retain = create_graph if retain_graph is None else retain_graph
    with StateScope(create_graph, train_mode):
        _, found = accumulate(arrays, grads, [v._origin for v in wanted], retain or create_graph, create_graph)
        made = [zeros(v.shape, dtype=v.dtype) if g is None else g for v, g in zip(wanted, found)]
        return [g if g.stype != "default" else with_face(g, v._face) for v, g in zip(wanted, made)]


def get_symbol(x: NDArray) -> Symbol:
    """The recorded computation of an array x as a Symbol; arrays that it started from become variables.

    Raises MXNetError for an array that was not recorded, or through a record that is no operator.

    Examples
    --------
    >>> from gluonnx import mx
    >>> x = mx.nd.array([1, 2])
    >>> x.attach_grad()
    >>> with mx.autograd.record():
    ...     y = mx.nd.relu(x)
    >>> [node.op.name for node in mx.autograd.get_symbol(y).graph.nodes if not node.is_variable]
    ['relu']
    """
    from .name import NameManager
    from .symbol import from_tape

    with NameManager():
        return from_tape(x._origin)


class Function:
    """A function with a gradient of your own: ``forward`` and ``backward`` take and give arrays, unrecorded.

    ``save_for_backward`` keeps arrays, which ``saved_tensors`` gives back.

    Examples
    --------
    >>> from gluonnx import mx
    >>> class Clipped(mx.autograd.Function):  # x, with gradients cut to -1..1
    ...     def forward(self, x):
    ...         return x
    ...     def backward(self, dy):
    ...         return dy.clip(-1, 1)
    >>> x = mx.nd.array([1, 2])
    >>> x.attach_grad()
    >>> with mx.autograd.record():
    ...     y = Clipped()(x) * mx.nd.array([0.5, 30])
    >>> y.backward()
    >>> x.grad.asnumpy()
    array([0.5, 1. ], dtype=float32)
    """

    def __init__(self) -> None:
        self._used = False
        self.saved_tensors: tuple[NDArray, ...] = ()

    def save_for_backward(self, *args: NDArray) -> None:
        """Keep arrays for backward.

        Examples
        --------
        >>> from gluonnx import mx
        >>> class Exp(mx.autograd.Function):
        ...     def forward(self, x):
        ...         y = x.exp()
        ...         self.save_for_backward(y)
        ...         return y
        ...     def backward(self, dy):
        ...         (y,) = self.saved_tensors
        ...         return dy * y
        >>> x = mx.nd.zeros(2)
        >>> x.attach_grad()
        >>> with mx.autograd.record():
        ...     y = Exp()(x)
        >>> y.backward()
        >>> x.grad.asnumpy()
        array([1., 1.], dtype=float32)
        """
        self.saved_tensors = args

    def __call__(self, *inputs: NDArray) -> Any:
        if self._used:
            raise AssertionError("Each Function instance can only be called once. Please create another instance.")
        self._used = True
        with pause(STATE.training):  # unrecorded, in whichever mode it is called
            outputs = self.forward(*inputs)
        if not is_recording():
            return outputs
        single = isinstance(outputs, NDArray)
        made = [outputs] if single else list(outputs)
        made = [y.detach() if any(y is x for x in inputs) else y for y in made]
        parents = [living(x._origin) for x in inputs]
        if any(p is not None for p in parents):
            made_by = _FunctionRecord(parents, len(made), self.backward, [(y.shape, y.dtype, y._face) for y in made])
            for i, y in enumerate(made):
                y._origin = (made_by, i)
        return made[0] if single else type(outputs)(made)

    def forward(self, *inputs: NDArray) -> Any:
        """Compute the outputs; for subclasses to define."""
        raise NotImplementedError

    def backward(self, *output_grads: NDArray) -> Any:
        """The gradients of the inputs from those of the outputs."""
        raise NotImplementedError


class _FunctionRecord(TapeRecord):
    __slots__ = ("function", "specs")

    def __init__(self, parents: Sequence[Origin], outputs: int, function: Callable[..., Any], specs: Any):
        super().__init__(parents, outputs)
        self.function, self.specs = function, specs

    def backward(self, dys: Sequence[NDArray | None]) -> Sequence[NDArray | None]:
        given = [
            with_face(zeros(shape, dtype=dtype), face)
            if dy is None
            else with_face(dy, face)
            if dy.stype == "default"
            else dy
            for dy, (shape, dtype, face) in zip(dys, self.specs)
        ]
        with pause(STATE.training):
            found = self.function(*given)
        gradients = [found] if isinstance(found, NDArray) else list(found)
        if len(gradients) != len(self.parents):
            raise MXNetError(
                f"{getattr(self.function, '__qualname__', self.function)} gave {len(gradients)} gradients, "
                f"wanted one for each of the {len(self.parents)} inputs"
            )
        return gradients
