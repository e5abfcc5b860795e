"""Functions of ``nd.contrib`` that are more than one operator: control flow on arrays, tests for infinities and NaN, ...

Control flow on arrays is Python's own: loops and branches, whose steps autograd records one by one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..context import Context
from ..core.functions import Namespace
from ..eager.array import NDArray, zeros
from ..eager.functions import INTERNAL, NP_OPERATORS, OPERATORS
from ..eager.np_array import with_face
from .nest import flatten, regroup

__all__ = [
    "adamw_update",
    "cond",
    "foreach",
    "isfinite",
    "isinf",
    "isnan",
    "mp_adamw_update",
    "multi_adamw_update",
    "multi_lamb_update",
    "multi_mp_adamw_update",
    "multi_mp_lamb_update",
    "rand_zipfian",
    "while_loop",
]


def foreach(body: Callable[..., Any], data: Any, init_states: Any) -> tuple[Any, Any]:
    """``body(slice, states)`` for each slice of data along axis 0; gives (outputs, states).

    data: an array, or a list of arrays of one length (then the body gets a list of slices). The body returns the outputs
    of a step and the new states, each an array or nested lists; the outputs of all steps are stacked, (T, ...).
    Source: MXNet contrib.foreach.

    Raises ValueError without data.

    Examples
    --------
    >>> from gluonnx import mx
    >>> outputs, total = mx.nd.contrib.foreach(
    ...     lambda x, state: (x + state, x + state), mx.nd.array([[1], [2], [3]]), mx.nd.zeros(1))
    >>> outputs.asnumpy().ravel(), total.asnumpy()
    (array([1., 3., 6.], dtype=float32), array([6.], dtype=float32))
    """
    arrays, _ = flatten(NDArray, data, "foreach input")
    flatten(NDArray, init_states, "foreach states")
    if not arrays:
        raise ValueError("foreach: got no data, wanted at least one array to go through")
    single = isinstance(data, NDArray)
    states, form = init_states, []
    steps: list[list[Any]] = []
    for i in range(arrays[0].shape[0]):
        outs, states = body(data[i] if single else [d[i] for d in data], states)
        flat, form = flatten(NDArray, outs, "foreach output")
        steps.append(flat)
    stacked = [_operators(column[0]).stack(*column) for column in zip(*steps)]
    return regroup(stacked, form), states


def while_loop(
    cond: Callable[..., Any], func: Callable[..., Any], loop_vars: Any, max_iterations: Any = None
) -> tuple[Any, Any]:
    """``func(*loop_vars)`` while ``cond(*loop_vars)`` holds, max_iterations times at most; gives (outputs, loop_vars).

    The function returns the outputs of a step (or None) and the new loop variables. The outputs of all steps are stacked
    and filled up with zeros to (max_iterations, ...); without a step there are none. Source: MXNet contrib.while_loop.

    Raises ValueError without max_iterations or loop variables, and when their number or that of the outputs changes.

    Examples
    --------
    >>> from gluonnx import mx
    >>> outputs, variables = mx.nd.contrib.while_loop(
    ...     lambda i: i < 3, lambda i: (i * 10, [i + 1]), [mx.nd.array([0])], max_iterations=5)
    >>> variables[0].asnumpy(), outputs[:3].asnumpy().ravel()
    (array([3.], dtype=float32), array([ 0., 10., 20.], dtype=float32))
    """
    if max_iterations is None:
        raise ValueError("max_iterations should be specified")
    limit = _plain(max_iterations, int, "max_iteration")
    if len(loop_vars) == 0:
        raise ValueError("loop_vars should contain at least one element")
    single = isinstance(loop_vars, NDArray)
    now: list[Any] = [loop_vars] if single else list(loop_vars)
    steps: list[list[Any]] = []
    form: Any = []
    while len(steps) < limit and _plain(cond(*now), bool, "Return value of cond"):
        outs, new = func(*now)
        flat, form = flatten(NDArray, [] if outs is None else outs, "while output")
        new = [] if new is None else [new] if isinstance(new, NDArray) else list(new)
        if len(new) != len(now):
            raise ValueError("The length of loop_vars should be consistent during the loop")
        if steps and len(flat) != len(steps[0]):
            raise ValueError("Number of elements in step_output should be the same in each step")
        steps.append(flat)
        now = new
    stacked = []
    for number, column in enumerate(zip(*steps), 1):
        if len({x.shape for x in column}) > 1:
            lines = "".join(f"\n  Step {i}, shape is {x.shape}" for i, x in enumerate(column))
            raise ValueError(f"Shapes of {number}-th elements in step_outputs are inconsistent, which are:{lines}")
        operators = _operators(column[0])
        rows = [operators.expand_dims(x, axis=0) for x in column]
        if len(steps) < limit:
            rest = zeros((limit - len(steps), *column[0].shape), column[0].context, column[0].dtype)
            rows.append(with_face(rest, column[0]._face))
        stacked.append(operators.Concat(*rows, dim=0))
    return regroup(stacked, form), now[0] if single else now


def cond(pred: Any, then_func: Callable[[], Any], else_func: Callable[[], Any]) -> Any:
    """Call ``then_func()`` if pred, of one element, is not zero, else ``else_func()``.

    Source: MXNet contrib.cond.

    Examples
    --------
    >>> from gluonnx import mx
    >>> x = mx.nd.array([3])
    >>> mx.nd.contrib.cond(x > 2, lambda: x * 10, lambda: x).asnumpy()
    array([30.], dtype=float32)
    """
    return then_func() if _plain(pred, bool, "pred") else else_func()


def _operators(array: NDArray) -> Namespace:
    """The operators for arrays of its face."""
    return OPERATORS if array._face is NDArray else NP_OPERATORS


def _plain(value: Any, kind: type, what: str) -> Any:
    """A number, array or the like as a Python value of that type."""
    if isinstance(value, NDArray):
        value = value.as_nd_ndarray().asscalar()
    try:
        return kind(value)
    except (TypeError, ValueError):
        raise ValueError(f"Cannot convert {what} to python {kind.__name__}") from None


def isinf(data: Any) -> NDArray:
    """1 where an element is infinite, else 0.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.nd.contrib.isinf(mx.nd.array([1, float("inf")])).asnumpy()
    array([0., 1.], dtype=float32)
    """
    return data.abs() == np.inf


def isfinite(data: Any) -> NDArray:
    """1 where an element is neither infinite nor NaN, else 0.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.nd.contrib.isfinite(mx.nd.array([1, float("inf")])).asnumpy()
    array([1., 0.], dtype=float32)
    """
    return (data.abs() != np.inf) * (data == data)


def isnan(data: Any) -> NDArray:
    """1 where an element is NaN, else 0.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.nd.contrib.isnan(mx.nd.array([1, float("nan")])).asnumpy()
    array([0., 1.], dtype=float32)
    """
    return data != data


def rand_zipfian(
    true_classes: NDArray, num_sampled: int, range_max: int, ctx: Context | None = None
) -> tuple[NDArray, NDArray, NDArray]:
    """num_sampled classes below range_max, drawn log-uniformly (class k with (log(k + 2) - log(k + 1)) / log(range_max + 1)).

    Gives them, int64, then how often each of the true classes and each of the sampled ones is expected among them, float64.
    Source: MXNet contrib.rand_zipfian.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.random.seed(0)
    >>> sampled, of_true, of_sampled = mx.nd.contrib.rand_zipfian(mx.nd.array([3]), num_sampled=4, range_max=10)
    >>> sampled.shape, of_sampled.shape, of_true.asnumpy().round(3)
    ((4,), (4,), array([0.372]))
    """
    scale = math.log(range_max + 1)
    ctx = true_classes.context if ctx is None else ctx
    drawn = INTERNAL._random_uniform(low=0, high=scale, shape=(num_sampled,), dtype="float64", ctx=ctx)
    sampled = (drawn.exp() - 1).astype("int64") % range_max

    def expected(classes: Any) -> NDArray:
        k = classes.astype("float64")
        return ((k + 2.0) / (k + 1.0)).log() / scale * num_sampled

    return sampled, expected(true_classes.as_in_context(ctx)), expected(sampled)


_ADAMW = ("rescale_grad", "lr", "eta", "beta1", "beta2", "epsilon", "wd", "clip_gradient")


def _adamw(name: str, *arrays: str) -> Callable[..., NDArray]:
    names = (*arrays, *_ADAMW)

    def function(*args: Any, **kwargs: Any) -> NDArray:
        given = {**dict(zip(names, args, strict=False)), **kwargs}
        if not isinstance(given["rescale_grad"], NDArray):
            given["rescale_grad"] = zeros((1,), given["weight"].context) + given["rescale_grad"]
        return getattr(INTERNAL, f"_{name}")(**given)

    function.__name__ = function.__qualname__ = name
    halves = ', dtype="float16"' if "weight32" in arrays else ""
    stored = ", mx.nd.ones(2)" if halves else ""
    function.__doc__ = f"""``_{name}``, whose rescale_grad, an array, may be a number here.

Examples
--------
>>> from gluonnx import mx
>>> weight, grad = mx.nd.ones(2{halves}), mx.nd.ones(2{halves})
>>> state = mx.nd.zeros(2), mx.nd.zeros(2){stored}
>>> _ = mx.nd.contrib.{name}(weight, grad, *state, rescale_grad=1, lr=0.1, eta=1, out=weight)
>>> weight.asnumpy().round(2)
array([0.68, 0.68], dtype=float{16 if halves else 32})
"""
    return function


adamw_update = _adamw("adamw_update", "weight", "grad", "mean", "var")
mp_adamw_update = _adamw("mp_adamw_update", "weight", "grad", "mean", "var", "weight32")


def _multi(name: str, arrays: tuple[str, ...], numbers: dict[str, str], counter: str) -> Callable[..., Any]:
    """The operator ``_name`` over lists of arrays. numbers: the arguments after them, and what the operator calls those."""

    def function(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        given = {**dict(zip((*arrays, *numbers), args, strict=False)), **kwargs}
        lists = [given.pop(array) for array in arrays]
        inputs = [array for block in zip(*lists, strict=True) for array in block]
        if "rescale_grad" in numbers:
            scale = given.pop("rescale_grad")
            dtype = "float32" if "weights32" in arrays else inputs[0].dtype
            inputs.append(scale if isinstance(scale, NDArray) else zeros((1,), inputs[0].context, dtype) + scale)
        given = {numbers.get(key, key): value for key, value in given.items()}
        given[counter] = given.get(counter) or len(lists[0])
        return getattr(INTERNAL, f"_{name}")(*inputs, out=out, **given)

    function.__name__ = function.__qualname__ = name
    halves = ', dtype="float16"' if "weights32" in arrays else ""
    stored = ", [mx.nd.ones(2)]" if halves else ""
    adam = "rescale_grad" in numbers
    rest = "rescale_grad=1, lrs=[0.1], wds=[0], etas=[1]" if adam else "step_count=[1], lrs=[0.1], wds=[0]"
    function.__doc__ = f"""``_{name}`` of lists: {", ".join((*arrays, *numbers))}.

Examples
--------
>>> from gluonnx import mx
>>> weights, grads = [mx.nd.ones(2{halves})], [mx.nd.ones(2{halves})]
>>> states = [mx.nd.zeros(2)], [mx.nd.zeros(2)]{stored}
>>> _ = mx.nd.contrib.{name}(weights, grads, *states, {rest}, out=weights)
>>> weights[0].asnumpy().round(2)
array([{"0.68, 0.68" if adam else "0.9, 0.9"}], dtype=float{16 if halves else 32})
"""
    return function


_MEANS = ("weights", "grads", "mean", "var")
_FOR_ADAMW = {"rescale_grad": "rescale_grad", "lrs": "lrs", "wds": "wds", "etas": "etas", "size": "num_weights"}
_FOR_LAMB = {"step_count": "step_count", "lrs": "learning_rates", "wds": "wds"}

multi_adamw_update = _multi("multi_adamw_update", _MEANS, _FOR_ADAMW, "num_weights")
multi_mp_adamw_update = _multi("multi_mp_adamw_update", (*_MEANS, "weights32"), _FOR_ADAMW, "num_weights")
multi_lamb_update = _multi("multi_lamb_update", _MEANS, _FOR_LAMB, "num_tensors")
multi_mp_lamb_update = _multi("multi_mp_lamb_update", (*_MEANS, "weights32"), _FOR_LAMB, "num_tensors")
