"""Symbols against expected outputs and gradients, against finite differences, and against themselves elsewhere."""

from __future__ import annotations

import time
import traceback
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .. import autograd, initializer, symbol
from .. import random as mx_random
from ..context import Context
from ..ndarray import NDArray, array, waitall, zeros
from ..symbol import Symbol
from .generate import create_sparse_array, rand_ndarray
from .surroundings import default_context
from .tolerance import (
    Tolerance,
    assert_almost_equal,
    compare_ndarray_tuple,
    default_dtype,
    default_numeric_eps,
    get_tolerance,
    get_tols,
)

_FLOATS = (np.float16, np.float32, np.float64)


def simple_forward(sym: Symbol, ctx: Context | None = None, is_train: bool = False, **inputs: Any) -> Any:
    """The outputs of a symbol for NumPy arrays by name, as NumPy arrays: a list, or one when there is one.

    Examples
    --------
    >>> from gluonnx import mx
    >>> import numpy as np
    >>> mx.test_utils.simple_forward(mx.sym.var("x") * 2, x=np.array([1, 2]))
    array([2., 4.], dtype=float32)
    """
    ctx = ctx or default_context()
    executor = sym.bind(ctx, args={k: array(v, ctx=ctx) for k, v in inputs.items()})
    executor.forward(is_train=is_train)
    outputs = [y.asnumpy() for y in executor.outputs]
    return outputs[0] if len(outputs) == 1 else outputs


def _check_dtype(dtype: Any, *others: str) -> None:
    if dtype not in (*_FLOATS, *others):
        raise AssertionError(f"got dtype {dtype}, wanted float16, float32 or float64")


def _array(value: Any, ctx: Context, dtype: Any) -> Any:
    """An NDArray of a NumPy array, of the dtype or for "asnumpy" of its own."""
    return array(value, ctx=ctx, dtype=value.dtype if isinstance(dtype, str) else dtype)


def _by_name(given: Any, names: Sequence[str], what: str) -> dict[str, Any]:
    if not isinstance(given, Mapping | list | tuple):
        raise AssertionError(f"got {what} as {type(given).__name__}, wanted a list in order or a dict by name")
    if not isinstance(given, Mapping):
        return dict(zip(names, given))
    if set(given) != set(names):
        raise ValueError(
            f"Symbol {what} and keys of the given ones do not match: symbol {sorted(names)}, given {sorted(given)}"
        )
    return dict(given)


def _arguments(sym: Symbol, location: Any, ctx: Context, dtype: Any) -> dict[str, NDArray]:
    named = _by_name(location, sym.list_arguments(), "arguments")
    return {k: _array(v, ctx, dtype) if isinstance(v, np.ndarray) else v for k, v in sorted(named.items())}


def _states(sym: Symbol, aux_states: Any, ctx: Context, dtype: Any) -> dict[str, NDArray] | None:
    if aux_states is None:
        return None
    named = _by_name(aux_states, sym.list_auxiliary_states(), "auxiliary states")
    return {k: _array(v, ctx, dtype) for k, v in named.items()}


# -- gradients by finite differences ----------------------------------------------------------------------------------------


def numeric_grad(
    executor: Any,
    location: dict[str, np.ndarray],
    aux_states: Mapping[str, Any] | None = None,
    eps: float = 1e-4,
    use_forward_train: bool = True,
    dtype: Any = default_dtype(),  # noqa: B008  a constant
) -> dict[str, np.ndarray]:
    """The gradients of the sum of an executor's first output by central differences of width eps, for all float arguments.

    location: argument name -> value. aux_states are set to their values again before each run.

    Examples
    --------
    >>> from gluonnx import mx
    >>> import numpy as np
    >>> executor = mx.sym.square(mx.sym.var("x")).bind(mx.cpu(), {"x": mx.nd.array([1, 3])})
    >>> mx.test_utils.numeric_grad(executor, {"x": np.float32([1, 3])}, eps=0.01)["x"].round(1)
    array([2., 6.], dtype=float32)
    """
    _check_dtype(dtype)
    values = {k: np.array(v, order="C") for k, v in location.items()}
    for name, value in values.items():
        executor.arg_dict[name][:] = array(value, dtype=dtype)

    def total(name: str, value: np.ndarray) -> Any:
        executor.arg_dict[name][:] = array(value, dtype=dtype)
        for state, kept in (aux_states or {}).items():
            executor.aux_dict[state][:] = kept
        executor.forward(is_train=use_forward_train)
        return executor.outputs[0].asnumpy()

    gradients = {k: np.zeros(v.shape, dtype) for k, v in values.items()}
    for name, value in values.items():
        if value.dtype.kind != "f":
            continue
        flat, out = value.reshape(-1), gradients[name].reshape(-1)
        for i, kept in enumerate(flat.copy()):
            flat[i] = kept + eps / 2.0
            above = total(name, value)
            flat[i] = kept - eps / 2.0
            out[i] = (above - total(name, value)).sum() / eps
            flat[i] = kept
        executor.arg_dict[name][:] = array(value, dtype=dtype)
    return gradients


def check_numeric_gradient(
    sym: Symbol,
    location: Any,
    aux_states: Any = None,
    numeric_eps: Tolerance = None,
    rtol: Tolerance = None,
    atol: Tolerance = None,
    grad_nodes: Any = None,
    use_forward_train: bool = True,
    ctx: Context | None = None,
    grad_stype_dict: Mapping[str, str] | None = None,
    dtype: Any = default_dtype(),  # noqa: B008  a constant
) -> None:
    """Raises AssertionError unless the gradients of a symbol with one output are those of finite differences.

    location: the arguments, a list in order or a dict by name. The output is weighted with random numbers and summed.
    grad_nodes: names of the arguments to check (all), or name -> grad_req. The step is numeric_eps or the dtype's default.

    Examples
    --------
    >>> from gluonnx import mx
    >>> import numpy as np
    >>> mx.test_utils.check_numeric_gradient(mx.sym.square(mx.sym.var("x")), [np.array([1.0, 3.0])])
    """
    _check_dtype(dtype)
    ctx = ctx or default_context()
    arguments = _arguments(sym, location, ctx, dtype)
    states = _states(sym, aux_states, ctx, dtype)
    if grad_nodes is None:
        grad_nodes = sym.list_arguments()
    requests = dict(grad_nodes) if isinstance(grad_nodes, Mapping) else dict.fromkeys(grad_nodes, "write")

    weights = "__random_proj"
    _, shapes, _ = sym.infer_shape(**{k: v.shape for k, v in arguments.items()})
    # none of the weights is small, since an error in what they scale down would not show
    arguments[weights] = array(np.random.rand(*shapes[0]) + 0.1, ctx=ctx, dtype=dtype)
    before = {k: np.random.normal(0, 0.01, size=arguments[k].shape) for k in (*requests, weights)}
    gradients = {k: array(v, ctx=ctx, dtype=dtype) for k, v in before.items()}
    for name, stype in (grad_stype_dict or {}).items():
        if name in gradients and stype != "default":
            gradients[name] = zeros(gradients[name].shape, ctx, dtype, stype)
    executor = symbol.make_loss(symbol.elemwise_mul(sym, symbol.Variable(weights))).bind(
        ctx, grad_req=requests, args=arguments, args_grad=gradients, aux_states=states
    )
    executor.forward(is_train=True)
    eps = get_tolerance(executor.outputs[0], numeric_eps, default_numeric_eps())
    if dtype != np.float64 and eps < 1e-5:
        raise AssertionError(f"numeric_eps={eps} is too small for differences in {np.dtype(dtype)}")
    executor.backward()
    wanted = numeric_grad(
        executor,
        {k: v.asnumpy() for k, v in arguments.items()},
        None if states is None else {k: v.asnumpy() for k, v in states.items()},
        eps=eps,
        use_forward_train=use_forward_train,
        dtype=dtype,
    )
    for name, request in requests.items():
        _check_gradient(name, request, wanted[name], gradients[name], before[name], "NUMERICAL", rtol, atol)


def _check_gradient(
    name: str,
    request: str,
    wanted: Any,
    got: NDArray,
    before: np.ndarray,
    label: str,
    rtol: Tolerance,
    atol: Tolerance,
    equal_nan: bool = False,
) -> None:
    """Check a gradient array, which held ``before``, against what grad_req says must have become of it."""
    if request == "add":
        pair: tuple[Any, Any] = (wanted, got.asnumpy() - before)
    elif request == "null":
        pair = (before, got)
    else:
        pair = (wanted, got)
    assert_almost_equal(*pair, rtol, atol, (f"{label}_{name}", f"BACKWARD_{name}"), equal_nan=equal_nan)


# -- expected values --------------------------------------------------------------------------------------------------------


def check_symbolic_forward(
    sym: Symbol,
    location: Any,
    expected: Any,
    rtol: Tolerance = None,
    atol: Tolerance = None,
    aux_states: Any = None,
    ctx: Context | None = None,
    equal_nan: bool = False,
    dtype: Any = default_dtype(),  # noqa: B008  a constant
) -> list[NDArray]:
    """The outputs of a symbol. Raises AssertionError unless they are the expected ones (a list, or a dict by output name).

    Examples
    --------
    >>> from gluonnx import mx
    >>> import numpy as np
    >>> x = np.array([1.0, 3.0])
    >>> outputs = mx.test_utils.check_symbolic_forward(mx.sym.square(mx.sym.var("x")), [x], [x * x])
    >>> outputs[0].asnumpy()
    array([1., 9.], dtype=float32)
    """
    _check_dtype(dtype, "asnumpy")
    ctx = ctx or default_context()
    names = sym.list_outputs()
    if isinstance(expected, Mapping):
        expected = [expected[k] for k in names]
    executor = sym.bind(
        ctx, args=_arguments(sym, location, ctx, dtype), aux_states=_states(sym, aux_states, ctx, dtype)
    )
    executor.forward(is_train=False)
    for name, wanted, got in zip(names, expected, executor.outputs):
        assert_almost_equal(wanted, got, rtol, atol, (f"EXPECTED_{name}", f"FORWARD_{name}"), equal_nan=equal_nan)
    return executor.outputs


def check_symbolic_backward(
    sym: Symbol,
    location: Any,
    out_grads: Any,
    expected: Any,
    rtol: Tolerance = None,
    atol: Tolerance = None,
    aux_states: Any = None,
    grad_req: Any = "write",
    ctx: Context | None = None,
    grad_stypes: Mapping[str, str | None] | None = None,
    equal_nan: bool = False,
    dtype: Any = default_dtype(),  # noqa: B008  a constant
) -> dict[str, NDArray]:
    """The gradients of a symbol's arguments, given those of its outputs. Raises AssertionError unless they are as expected
    (a list in the order of the arguments, or a dict by name of some of them).

    Examples
    --------
    >>> from gluonnx import mx
    >>> import numpy as np
    >>> x, ones = np.array([1.0, 3.0]), np.array([1.0, 1.0])
    >>> found = mx.test_utils.check_symbolic_backward(mx.sym.square(mx.sym.var("x")), [x], [ones], [2 * x])
    >>> found["x"].asnumpy()
    array([2., 6.], dtype=float32)
    """
    _check_dtype(dtype, "asnumpy")
    ctx = ctx or default_context()
    names = sym.list_arguments()
    expected = dict(expected) if isinstance(expected, Mapping) else dict(zip(names, expected))
    before = {k: np.random.normal(size=v.shape) for k, v in sorted(expected.items())}
    gradients: dict[str, Any] = {}
    for name, dirt in before.items():
        stype = (grad_stypes or {}).get(name)
        if stype in (None, "default"):
            gradients[name] = array(dirt, ctx=ctx, dtype=expected[name].dtype if isinstance(dtype, str) else dtype)
        else:
            gradients[name] = create_sparse_array(dirt.shape, stype, density=0.0)
    if isinstance(grad_req, str):
        grad_req = dict.fromkeys(names, grad_req)
    elif not isinstance(grad_req, Mapping):
        grad_req = dict(zip(names, grad_req))
    executor = sym.bind(
        ctx,
        args=_arguments(sym, location, ctx, dtype),
        args_grad=gradients,
        aux_states=_states(sym, aux_states, ctx, dtype),
        grad_req=grad_req,
    )
    executor.forward(is_train=True)
    if isinstance(out_grads, Mapping):
        out_grads = {k: _array(v, ctx, dtype) if isinstance(v, np.ndarray) else v for k, v in out_grads.items()}
    elif out_grads is not None:
        out_grads = [_array(v, ctx, dtype) if isinstance(v, np.ndarray) else v for v in out_grads]
    executor.backward(out_grads)
    for name, wanted in expected.items():
        _check_gradient(name, grad_req[name], wanted, gradients[name], before[name], "EXPECTED", rtol, atol, equal_nan)
    return gradients


# -- the same thing twice ---------------------------------------------------------------------------------------------------


def check_speed(
    sym: Symbol,
    location: Mapping[str, np.ndarray] | None = None,
    ctx: Context | None = None,
    N: int = 20,  # noqa: N803  MXNet's name
    grad_req: Any = None,
    typ: str = "whole",
    **kwargs: Any,
) -> float:
    """Seconds that one of N runs takes: forward and backward with typ="whole", else with "forward".

    location: values by name; without it, keywords are shapes, and values are normal random numbers. Raises ValueError for another
    typ.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.test_utils.check_speed(mx.sym.square(mx.sym.var("x")), N=2, x=(2, 3)) > 0
    True
    """
    if typ not in ("whole", "forward"):
        raise ValueError('typ can only be "whole" or "forward".')
    shapes: dict[str, Any] = kwargs if location is None else {k: v.shape for k, v in location.items()}
    executor = sym.simple_bind(ctx=ctx or default_context(), grad_req=grad_req or "write", **shapes)
    if location is None:
        location = {k: np.random.normal(size=v.shape) for k, v in executor.arg_dict.items()}
    for name, value in location.items():
        executor.arg_dict[name][:] = value

    def run() -> None:
        executor.forward(is_train=typ == "whole")
        if typ == "whole":
            executor.backward(out_grads=executor.outputs)

    run()
    waitall()
    start = time.perf_counter()
    for _ in range(N):
        run()
    waitall()
    return (time.perf_counter() - start) / N


def check_consistency(
    sym: Symbol | Sequence[Symbol],
    ctx_list: Sequence[Mapping[str, Any]],
    scale: float = 1.0,
    grad_req: Any = "write",
    arg_params: dict[str, Any] | None = None,
    aux_params: dict[str, Any] | None = None,
    rtol: Tolerance = None,
    atol: Tolerance = None,
    raise_on_err: bool = True,
    ground_truth: dict[str, Any] | None = None,
    equal_nan: bool = False,
    use_uniform: bool = False,
    rand_type: Any = np.float64,
) -> dict[str, Any]:
    """Bind a symbol (or one each) in several ways, with the same arguments; outputs and gradients must be those of the first
    way with the most precise output, or ground_truth. Gives what was compared with.

    ctx_list: keywords of simple_bind, for example ``{"ctx": mx.cpu(), "data": (2, 3), "type_dict": {"data": np.float16}}``.
    Raises AssertionError where they are not, or the ways do not go together; without raise_on_err differences are printed.

    Examples
    --------
    >>> from gluonnx import mx
    >>> import numpy as np
    >>> ways = [{"ctx": mx.cpu(), "x": (2, 3), "type_dict": {"x": dtype}} for dtype in (np.float32, np.float64)]
    >>> sorted(mx.test_utils.check_consistency(mx.sym.square(mx.sym.var("x"), name="y"), ways))
    ['x', 'y_output']
    """
    if len(ctx_list) < 2:
        raise AssertionError("check_consistency: got fewer than two ways to bind")
    symbols = [sym] * len(ctx_list) if isinstance(sym, Symbol) else list(sym)
    outputs, names = symbols[0].list_outputs(), symbols[0].list_arguments()
    if len(symbols) != len(ctx_list) or any(
        (s.list_outputs(), s.list_arguments()) != (outputs, names) for s in symbols
    ):
        raise AssertionError("check_consistency: wanted one symbol for each way to bind, all with the same names")
    executors = [s.simple_bind(grad_req=grad_req, **way) for s, way in zip(symbols, ctx_list)]
    arguments, states = dict(arg_params or {}), dict(aux_params or {})
    for name, held in sorted(executors[0].arg_dict.items()):
        if name not in arguments:
            random = (
                np.random.uniform(-0.92 * scale, 0.92 * scale, held.shape)
                if use_uniform
                else np.random.normal(size=held.shape, scale=scale)
            )
            arguments[name] = np.asarray(random, rand_type)
    for executor in executors:
        for name, held in executor.arg_dict.items():
            held[:] = arguments[name]
        for name, held in executor.aux_dict.items():
            held[:] = states.get(name, 0)

    dtypes = [np.dtype(e.outputs[0].dtype) for e in executors]
    best = max(range(len(dtypes)), key=lambda i: dtypes[i].itemsize)

    def compare(training: bool) -> dict[str, Any]:
        truth = ground_truth
        if truth is None:
            truth = executors[best].output_dict | (executors[best].grad_dict if training else {})
        for i, executor in enumerate(executors):
            held = executor.output_dict | (executor.grad_dict if training else {})
            for name, got in held.items() if i != best else ():
                if got is None or truth.get(name) is None:
                    continue
                # where the outputs are half floats, gradients are no better although their dtype may be
                pair = [
                    x if np.dtype(x.dtype).itemsize <= d.itemsize else np.zeros((), d)
                    for x, d in ((got, dtypes[i]), (truth[name], dtypes[best]))
                ]
                rt, at = get_tols(pair[0], pair[1], rtol, atol) if training else (rtol, atol)
                try:
                    assert_almost_equal(got, truth[name], rt, at, equal_nan=equal_nan)
                except AssertionError:
                    print(f"{'Train' if training else 'Predict'} Err: ctx {i} vs ctx {best} at {name}")
                    if raise_on_err:
                        raise
                    traceback.print_exc()
        return truth

    for executor in executors:
        executor.forward(is_train=False)
    found = compare(training=False)
    if grad_req == "null":
        return found
    for executor in executors:
        executor.forward(is_train=True)
    least = min(dtypes, key=lambda d: d.itemsize)
    heads = [y.asnumpy().astype(least) if y.asnumpy().dtype.kind == "f" else y.asnumpy() for y in executors[0].outputs]
    for executor in executors:
        executor.backward([array(h, dtype=y.dtype) for h, y in zip(heads, executor.outputs)])
    return compare(training=True)


def check_gluon_hybridize_consistency(
    net_builder: Any,
    data_l: Sequence[NDArray],
    numpy_func: Any = None,
    test_grad: bool = True,
    rtol: Tolerance = 1e-4,
    atol: Tolerance = 1e-4,
) -> None:
    """Raises AssertionError unless a block gives the same outputs, and gradients of its inputs, hybridized and not, recording
    and not. net_builder(prefix=...) makes it; numpy_func of the inputs as NumPy arrays is what it should give.

    Examples
    --------
    >>> from gluonnx import mx
    >>> def build(prefix):
    ...     return mx.gluon.nn.Dense(2, in_units=3, prefix=prefix)
    >>> mx.test_utils.check_gluon_hybridize_consistency(build, [mx.nd.ones((4, 3))])
    """
    values: dict[str, np.ndarray] = {}
    wanted: np.ndarray | None = None
    wanted_gradients: list[np.ndarray] | None = None
    for hybrid in (False, True):
        for recording in (False, True) if test_grad else (False,):
            net = net_builder(prefix="net_")
            net.initialize(_Values(values) if values else initializer.Uniform())
            if hybrid:
                net.hybridize()
            inputs = [x.copy() for x in data_l]
            if recording:
                for x in inputs:
                    x.attach_grad()
                with autograd.record():
                    out = net(*inputs)
                out.backward(out)
            else:
                out = net(*inputs)
            if not values:
                values.update({k: p.data().asnumpy() for k, p in net.collect_params().items()})
            if wanted is None:
                wanted = out.asnumpy()
            assert_almost_equal(out, wanted, rtol=rtol, atol=atol)
            if recording:
                gradients = [x.grad.asnumpy() for x in inputs]  # type: ignore[union-attr]
                wanted_gradients = wanted_gradients or gradients
                for got, other in zip(gradients, wanted_gradients):
                    assert_almost_equal(got, other, rtol=rtol, atol=atol)
    if numpy_func is not None:
        assert_almost_equal(wanted, numpy_func(*(x.asnumpy() for x in data_l)), rtol=rtol, atol=atol)


class _Values(initializer.Initializer):
    """Gives parameters the values of another network's, by name."""

    def __init__(self, values: Mapping[str, np.ndarray]):
        super().__init__()
        self._values = values

    def __call__(self, desc: Any, arr: NDArray) -> None:
        arr[:] = self._values[str(desc)]


def compare_optimizer(
    opt1: Any,
    opt2: Any,
    shape: Any,
    dtype: Any,
    w_stype: str = "default",
    g_stype: str = "default",
    rtol: Tolerance = 1e-4,
    atol: Tolerance = 1e-5,
    compare_states: bool = True,
    ntensors: int = 1,
) -> None:
    """Raises AssertionError unless two optimizers change random weights (and states) in the same way.

    shape: of one weight; or a list, of which the second optimizer gets ntensors at once and the first one at a time.

    Examples
    --------
    >>> from gluonnx import mx
    >>> one, other = mx.optimizer.SGD(learning_rate=0.1), mx.optimizer.create("sgd", learning_rate=0.1)
    >>> mx.test_utils.compare_optimizer(one, other, (2, 3), "float32")
    """
    if isinstance(shape, list):
        weights = [[mx_random.uniform(shape=s, dtype=dtype) for s in shape] for _ in range(2)]
        for first, second in zip(*weights):
            second[:] = first
        gradients = [mx_random.uniform(shape=s, dtype=dtype) for s in shape]
        states = [opt2.create_state_multi_precision(i, weights[1][i]) for i in range(ntensors)]
        opt2.update_multi_precision(list(range(ntensors)), weights[1], gradients, states)
        for i in range(ntensors):
            state = opt1.create_state_multi_precision(i, weights[0][i])
            opt1.update_multi_precision(i, weights[0][i], gradients[i], state)
            if compare_states:
                compare_ndarray_tuple(state, states[i], rtol, atol)
            assert_almost_equal(weights[0][i], weights[1][i], rtol=rtol, atol=atol)
        return
    if ntensors != 1:
        raise AssertionError(f"compare_optimizer: got ntensors={ntensors} for one shape, wanted a list of shapes")

    def pair(stype: str, density: float | None) -> tuple[NDArray, NDArray]:
        if stype == "default":
            made = mx_random.uniform(shape=shape, dtype=dtype)
            return made, made.copy()
        made = rand_ndarray(shape, stype, density=density, dtype=dtype)
        return made.tostype("default"), made

    first, second = pair(w_stype, 1.0)
    one, other = pair(g_stype, None)
    state1, state2 = opt1.create_state_multi_precision(0, first), opt2.create_state_multi_precision(0, second)
    if compare_states:
        compare_ndarray_tuple(state1, state2)
    opt1.update_multi_precision(0, first, one, state1)
    opt2.update_multi_precision(0, second, other, state2)
    if compare_states:
        compare_ndarray_tuple(state1, state2, rtol=rtol, atol=atol)
    assert_almost_equal(first, second, rtol=rtol, atol=atol)


def same_symbol_structure(sym1: Symbol, sym2: Symbol) -> bool:
    """True when two symbols have the same operators in the same order.

    Examples
    --------
    >>> from gluonnx import mx
    >>> x = mx.sym.var("x")
    >>> mx.test_utils.same_symbol_structure(x + 1, x + 2), mx.test_utils.same_symbol_structure(x + 1, x * 2)
    (True, False)
    """
    operators = [[n.op for n in s.graph.nodes] for s in (sym1, sym2)]
    return [o and o.name for o in operators[0]] == [o and o.name for o in operators[1]]
