"""``mx.sym``: variables, symbol files, and the functions made from the operators.

Symbols themselves are in frontend/symbol.py.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from .core import functions
from .core.error import MXNetError, OpError
from .core.op import lookup
from .execution.context import Context
from .frontend.symbol import INTERNAL, Symbol, _binary, create, namespace, sym_op
from .frontend.symbol import load as load
from .frontend.symbol import load_json as load_json
from .frontend.variable import var
from .ir.graph import Entry, Node
from .name import NameManager

py_slice = slice
"""Python's, by the name that it has in MXNet beside the operator's."""
Symbol.__module__ = __name__  # which pickles name, and which brings its methods
__path__: list[str] = []  # so that "import mxnet.symbol.contrib" may look inside (compat.py)


@functions.method_of(Symbol)
def bind(
    self: Symbol,
    ctx: Context,
    args: Any,
    args_grad: Any = None,
    grad_req: Any = "write",
    aux_states: Any = None,
    group2ctx: Any = None,
    shared_exec: Any = None,
) -> Any:
    """An Executor of the graph on arrays: lists in the order of list_arguments and list_auxiliary_states, or dicts.

    args: the arguments. args_grad: arrays that ``backward`` puts gradients into, a dict may leave some out; None: none. grad_req:
    "write", "add" or "null", for all or in a list or dict. aux_states: the auxiliary states. group2ctx: contexts of the nodes that
    AttrScope(ctx_group=...) groups; without it, raises MXNetError for arrays elsewhere than ctx. shared_exec is read over.

    Examples
    --------
    >>> from gluonnx import mx
    >>> y = 2 * mx.sym.var("x")
    >>> executor = y.bind(mx.cpu(), {"x": mx.nd.array([1, 2])})
    >>> executor.forward()[0].asnumpy()
    array([2., 4.], dtype=float32)
    """
    from .executor import bind

    return bind(self, ctx, args, args_grad, grad_req, aux_states, group2ctx)


@functions.method_of(Symbol)
def simple_bind(
    self: Symbol,
    ctx: Context,
    grad_req: Any = "write",
    type_dict: Mapping[str, Any] | None = None,
    stype_dict: Any = None,
    group2ctx: Any = None,
    shared_arg_names: Any = None,
    shared_exec: Any = None,
    shared_buffer: Any = None,
    **kwargs: tuple[int, ...],
) -> Any:
    """An Executor on arrays of zeros, of shapes inferred from those given by name.

    ctx: the device of the arrays. grad_req and group2ctx: as bind has them; arguments whose gradients are wanted get room for them.
    type_dict: dtypes by name, float32 where nothing tells another. stype_dict: storage types by name, else those that variables are
    declared with; gradients' follow.

    With shared_buffer (a dict) and shared_exec, arguments of shared_arg_names and all auxiliary states are those of the other
    Executor; memory that they could share besides is not. Raises MXNetError when the shapes are not enough.

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="top")
    >>> executor = net.simple_bind(mx.cpu(), data=(4, 3))
    >>> executor.forward(data=mx.nd.ones((4, 3)))[0].shape
    (4, 2)
    """
    from .executor import simple_bind

    other = None if shared_buffer is None else shared_exec  # MXNet too shares arrays only with a buffer
    names = shared_arg_names or ()
    return simple_bind(self, ctx, grad_req, type_dict or {}, kwargs, names, other, group2ctx, stype_dict)


@functions.method_of(Symbol)
def as_np_ndarray(self: Symbol) -> Any:
    """The same outputs as a symbol of mx.sym.np.

    Examples
    --------
    >>> from gluonnx import mx
    >>> type(mx.sym.var("x").as_np_ndarray()).__name__
    '_Symbol'
    """
    from .np_functions import methods

    return self if isinstance(self, methods._Symbol) else methods._Symbol(self._entries)


def from_tape(origin: Any) -> Symbol:
    """The Symbol of a recorded computation (see eager/tape.py): its operators, and variables where it starts.

    Raises MXNetError for what was not recorded, or not as operators."""
    if origin is None:
        raise MXNetError("get_symbol: the array was not recorded; compute it inside autograd.record()")
    made: dict[int, Node] = {}

    def node_of(source: Any, name: str) -> Entry:
        if not isinstance(source, tuple):
            key = id(source) if source is not None else None
            if key is None or key not in made:
                variable = Node(None, name)
                if key is None:
                    return Entry(variable)
                made[key] = variable
            return Entry(made[key])
        step, index = source
        return Entry(made[id(step)], index)

    stack = [origin]
    while stack:
        source = stack[-1]
        if not isinstance(source, tuple) or id(source[0]) in made:
            stack.pop()
            continue
        step = source[0]
        op = getattr(step, "op", None)
        if op is None:
            raise MXNetError(
                "get_symbol: the computation went through a step that is no operator (a Function or CachedOp)"
            )
        waiting = [p for p in step.parents if isinstance(p, tuple) and id(p[0]) not in made]
        if waiting:
            stack += waiting
            continue
        stack.pop()
        name = NameManager.current.get(None, op.name.lower().lstrip("_"))
        inputs = [node_of(p, NameManager.current.get(None, "var")) for p in step.parents]
        made[id(step)] = Node(op, name, inputs, op.dump())
    return Symbol([node_of(origin, "var0")])


Variable = var


def Group(symbols: Sequence[Symbol]) -> Symbol:  # noqa: N802  MXNet's name
    """All outputs of several symbols as one symbol.

    Raises TypeError for anything but symbols, at least one.

    Examples
    --------
    >>> from gluonnx import mx
    >>> x = mx.sym.var("x")
    >>> mx.sym.Group([mx.sym.relu(x, name="a"), mx.sym.exp(x, name="b")]).list_outputs()
    ['a_output', 'b_output']
    """
    symbols = list(symbols)
    if not symbols or not all(isinstance(s, Symbol) for s in symbols):
        raise TypeError("Expected a list of symbols as input")
    return Symbol(e for s in symbols for e in s._entries)


# -- functions that are more than an operator ---------------------------------------------------------------------------------


def pow(base: Any, exp: Any) -> Any:
    """base to the power of exp; either may be a number.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.sym.pow(mx.sym.var("x"), 2).eval(x=mx.nd.array([3]))[0].asnumpy()
    array([9.], dtype=float32)
    """
    if isinstance(exp, Symbol) and not isinstance(base, Symbol):  # named otherwise than base ** exp
        return _binary(functions.BINARY["power"]._replace(reflected="_RPowerScalar"), base, exp)
    return _binary(functions.BINARY["power"], base, exp)


power = pow


def maximum(left: Any, right: Any) -> Any:
    """The larger, element by element; either may be a number.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.sym.maximum(mx.sym.var("x"), 2).eval(x=mx.nd.array([1, 3]))[0].asnumpy()
    array([2., 3.], dtype=float32)
    """
    return _binary(functions.BINARY["maximum"], left, right)


def minimum(left: Any, right: Any) -> Any:
    """The smaller, element by element; either may be a number.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.sym.minimum(mx.sym.var("x"), 2).eval(x=mx.nd.array([1, 3]))[0].asnumpy()
    array([1., 2.], dtype=float32)
    """
    return _binary(functions.BINARY["minimum"], left, right)


_HYPOT = functions.Binary("hypot", None, "", "_Hypot", "_HypotScalar", "_HypotScalar", math.hypot)


def hypot(left: Any, right: Any) -> Any:
    """The hypotenuse of a right triangle with these legs; either may be a number.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.sym.hypot(mx.sym.var("x"), 4).eval(x=mx.nd.array([3]))[0].asnumpy()
    array([5.], dtype=float32)
    """
    return _binary(_HYPOT, left, right)


def histogram(a: Symbol, bins: Any = 10, range: tuple[float, float] | None = None, **kwargs: Any) -> Symbol:
    """Count the elements in each bin; gives the counts and the edges of the bins: so many equal ones over range, or between
    edges given as a symbol. Raises ValueError for a number of bins without range, TypeError for other bins.

    Examples
    --------
    >>> from gluonnx import mx
    >>> counts, edges = mx.sym.histogram(mx.sym.var("x"), bins=2, range=(0, 4))
    >>> mx.sym.Group([counts]).eval(x=mx.nd.array([1, 3, 3.5]))[0].asnumpy()
    array([1, 2])
    """
    node_name, attr = kwargs.pop("name", None), kwargs.pop("attr", None)
    inputs: dict[str, Symbol] = {"data": a}
    if isinstance(bins, Symbol):
        inputs["bins"] = bins
    elif not isinstance(bins, int):
        raise TypeError(f"bins argument should be either an integer or an NDArray, got {type(bins).__name__}")
    elif range is None:
        raise ValueError("null range is not supported in symbol mode")
    else:
        kwargs |= {"bin_cnt": bins, "range": range}
    return create(lookup("_histogram"), "_histogram", inputs, kwargs, node_name, attr)


def _constant(name: str, given: dict[str, Any], kwargs: dict[str, Any]) -> Symbol:
    node_name, attr = kwargs.pop("name", None), kwargs.pop("attr", None)
    return create(lookup(name), name, {}, {**given, **kwargs}, node_name, attr)


def _or_float32(dtype: Any) -> Any:
    return "float32" if dtype is None else dtype


def zeros(shape: Any, dtype: Any = None, **kwargs: Any) -> Symbol:
    """Zeros, float32 when dtype is None.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.sym.zeros((2,)).eval()[0].asnumpy()
    array([0., 0.], dtype=float32)
    """
    return _constant("_zeros", {"shape": shape, "dtype": _or_float32(dtype)}, kwargs)


def ones(shape: Any, dtype: Any = None, **kwargs: Any) -> Symbol:
    """Ones, float32 when dtype is None.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.sym.ones((2,)).eval()[0].asnumpy()
    array([1., 1.], dtype=float32)
    """
    return _constant("_ones", {"shape": shape, "dtype": _or_float32(dtype)}, kwargs)


def full(shape: Any, val: float, dtype: Any = None, **kwargs: Any) -> Symbol:
    """val everywhere.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.sym.full((2,), 3).eval()[0].asnumpy()
    array([3., 3.], dtype=float32)
    """
    return _constant("_full", {"shape": shape, "value": float(val), "dtype": _or_float32(dtype)}, kwargs)


def arange(
    start: float,
    stop: float | None = None,
    step: float = 1.0,
    repeat: int = 1,
    infer_range: bool = False,
    dtype: Any = None,
    **kwargs: Any,
) -> Symbol:
    """start, start + step, ... up to but not including stop, each ``repeat`` times; see nd.arange.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.sym.arange(1, 4).eval()[0].asnumpy()
    array([1., 2., 3.], dtype=float32)
    """
    given = {"start": start, "stop": stop, "step": step, "repeat": repeat, "infer_range": infer_range}
    return _constant("_arange", {**given, "dtype": _or_float32(dtype)}, kwargs)


def linspace(start: float, stop: float, num: int, endpoint: bool = True, dtype: Any = None, **kwargs: Any) -> Symbol:
    """num numbers from start to stop, evenly spaced; stop is the last of them with endpoint.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.sym.linspace(0, 1, 5).eval()[0].asnumpy()
    array([0.  , 0.25, 0.5 , 0.75, 1.  ], dtype=float32)
    """
    given = {"start": start, "stop": stop, "num": num, "endpoint": endpoint}
    return _constant("_linspace", {**given, "dtype": _or_float32(dtype)}, kwargs)


def eye(N: int, M: int = 0, k: int = 0, dtype: Any = None, **kwargs: Any) -> Symbol:  # noqa: N803
    """(N, M) zeros, or (N, N), with ones on the k-th diagonal.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.sym.eye(2).eval()[0].asnumpy()
    array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    return _constant("_eye", {"N": N, "M": M, "k": k, "dtype": _or_float32(dtype)}, kwargs)


def split_v2(ary: Symbol, indices_or_sections: Any, axis: int = 0, squeeze_axis: bool = False) -> Symbol:
    """Parts of a symbol (ary) along an axis; operator _split_v2.

    indices_or_sections: the number of equal parts, or a tuple of the indices before which it is cut. squeeze_axis: leave out the
    axis, of parts of length 1.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.sym.split_v2(mx.sym.var("x"), (2,), axis=0).infer_shape(x=(5, 3))[1]
    [(2, 3), (3, 3)]
    """
    even = isinstance(indices_or_sections, int)
    indices = [] if even else [0, *indices_or_sections]
    given = {
        "indices": indices,
        "axis": axis,
        "squeeze_axis": squeeze_axis,
        "sections": indices_or_sections if even else 0,
    }
    return create(lookup("_split_v2"), "_split_v2", {"data": ary}, given)


Symbol.split_v2 = split_v2  # type: ignore[attr-defined]  no operator that a method could be made from


def custom(hint: str, args: Sequence[Symbol], kwargs: dict[str, Any]) -> Symbol:
    """Custom (see ops/custom.py) applied to symbols in order or by name; hint: what nodes without a name are called."""
    name, attr = kwargs.pop("name", None), kwargs.pop("attr", None)
    symbols = {k: v for k, v in kwargs.items() if isinstance(v, Symbol)}
    given = {k: v for k, v in kwargs.items() if k not in symbols}
    cls = lookup("Custom")
    wanted = cls.bind(**given).input_names()
    if len(args) > len(wanted):
        raise OpError(f"Custom: got {len(args)} inputs, wanted {len(wanted)} ({', '.join(wanted)})")
    return create(cls, hint, {**dict(zip(wanted, args)), **symbols}, given, name, attr)


def Custom(*args: Symbol, op_type: str, **kwargs: Any) -> Symbol:  # noqa: N802  MXNet's name
    """An operator registered with mx.operator.register, applied to symbols in order or by name. Other keywords are what its
    CustomOpProp is made with.

    Examples
    --------
    >>> from gluonnx import mx
    >>> class Doubled(mx.operator.CustomOp):
    ...     def forward(self, is_train, req, in_data, out_data, aux):
    ...         self.assign(out_data[0], req[0], 2 * in_data[0])
    >>> @mx.operator.register("doubled")
    ... class DoubledProp(mx.operator.CustomOpProp):
    ...     def create_operator(self, ctx, in_shapes, in_dtypes):
    ...         return Doubled()
    >>> y = mx.sym.Custom(mx.sym.var("x"), op_type="doubled")
    >>> y.eval(x=mx.nd.array([1, 2]))[0].asnumpy()
    array([2., 4.], dtype=float32)
    """
    return custom("Custom", args, {"op_type": op_type, **kwargs})


# -- functions made from the operators ----------------------------------------------------------------------------------------


SUBMODULES = {n: namespace(f"{__name__}.{n}", p) for n, p in functions.SUBMODULES.items()}
"""The submodules that hold operators."""
SUBMODULES["op"] = sym_op
SUBMODULES["_internal"] = INTERNAL


def _backward_gather_nd(data: Symbol, indices: Symbol, shape: Any, name: str | None = None, attr: Any = None) -> Symbol:
    """The sum of the parts of data that gather_nd reads from each place of an array of that shape, in float32."""
    inputs = {"dy": data, "data": zeros(shape), "indices": indices}
    return create(lookup("_backward_gather_nd"), "_backward_gather_nd", inputs, {}, name, attr)


functions.put(sym_op, Custom)  # its inputs go by names that only its CustomOpProp knows
functions.put(INTERNAL, _backward_gather_nd)
SUBMODULES["contrib"] = namespace(f"{__name__}.contrib", "_contrib_", "hybrid.contrib.symbolic")


def __getattr__(name: str) -> Any:
    if name in SUBMODULES:
        return SUBMODULES[name]
    if name == "random":
        from .sampling import SYMBOLS

        return SYMBOLS.random
    if name in ("np", "npx", "numpy", "numpy_extension"):
        from .np_functions import side

        return side.SYM_NP if name in ("np", "numpy") else side.SYM_NPX
    if name == "__all__":  # asked for by "from mxnet.symbol import *"
        return functions.starred(globals(), sym_op, "var", "Variable", "load", "load_json")
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(SUBMODULES["_internal"] if name.startswith("_") else sym_op, name)
    except AttributeError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None


def __dir__() -> list[str]:
    return sorted({*globals(), *SUBMODULES, *sym_op.names()})
