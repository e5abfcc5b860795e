"""Arrays that are made: of other values, of a shape, of a rule."""

from __future__ import annotations

import functools
import operator
from typing import Any

import numpy as np

from ..core.functions import NUMBER
from ..core.memory_budget import afford_array
from ..core.op import INSTANCES
from ..eager.array import NDArray
from ..eager.dispatch import array_dtype
from ..eager.np_array import ndarray
from ..execution.context import Context, resolve
from ..ops.creation import Linspace, NumpyArange
from .side import Side, function


def in_c_order(name: str, order: str) -> None:
    """Raise NotImplementedError for an order of memory other than C's."""
    if order != "C":
        raise NotImplementedError(f"{name}: only order 'C' is supported, got {order!r}")


def place(F: Side, ctx: Context | None) -> dict[str, Any]:  # noqa: N803
    """The attribute ctx: for symbols always, as MXNet writes it into graphs; for arrays where one is named."""
    return {} if F.eager and ctx is None else {"ctx": resolve(ctx) if F.eager else str(resolve(ctx))}


def sizes(shape: Any) -> tuple[int, ...]:
    """A shape as a tuple; a number is one size."""
    return (operator.index(shape),) if hasattr(shape, "__index__") else tuple(map(operator.index, shape))


def _room(shape: Any, dtype: Any) -> tuple[tuple[int, ...], np.dtype]:
    """The shape and dtype of an array that is to be made. Raises ValueError for a negative size, OutOfMemory where it takes more
    than the memory budget."""
    wanted, kind = sizes(shape), array_dtype(dtype)
    for size in wanted:
        if size < 0:
            raise ValueError(f"negative dimensions are not allowed, got the shape {wanted}")
    afford_array(wanted, kind, "an array")
    return wanted, kind


def _filled(shape: Any, dtype: Any, ctx: Context | None, value: float) -> ndarray:
    wanted, kind = _room(shape, dtype)
    made = np.empty(wanted, kind)
    with np.errstate(all="ignore"):
        made.fill(np.asarray(value).astype(kind))
    return ndarray._own(made, resolve(ctx))


def _plain(values: Any) -> Any:
    """Lists of arrays of mx.np as lists of NumPy's."""
    if isinstance(values, ndarray):
        return values._read()
    if isinstance(values, list | tuple) and values and isinstance(values[0], list | tuple | NDArray):
        return [_plain(v) for v in values]
    return values


@function("np", symbols=False)
def array(F: Side, object: Any, dtype: Any = None, ctx: Context | None = None) -> Any:  # noqa: N803
    """An array of the values of a number, a list, an array of mx.np or of NumPy.

    dtype: where none is given that of the source if it has one, else float32. Raises ValueError for an NDArray of mx.nd (which
    as_np_ndarray shows as one of mx.np), TypeError for what holds no numbers."""
    if isinstance(object, NDArray) and not isinstance(object, ndarray):
        raise ValueError("mx.np.array: got an NDArray of mx.nd; as_np_ndarray() gives the same memory as one of mx.np")
    kind = array_dtype(getattr(object, "dtype", None) if dtype is None else dtype)
    source = _plain(object)
    try:
        with np.errstate(all="ignore"):
            try:
                made = np.array(source, dtype=kind, order="C")
            except OverflowError:  # numbers that a dtype does not hold wrap around
                made = np.array(source).astype(kind)
    except Exception as error:
        raise TypeError(f"mx.np.array: {error}") from error
    return ndarray._own(made, resolve(ctx))


@function("np", symbols=False)
def empty(F: Side, shape: Any, dtype: Any = np.float32, order: str = "C", ctx: Context | None = None) -> Any:  # noqa: N803
    """An array of zeros: what "empty" memory holds should not depend on what was there."""
    in_c_order("empty", order)
    return ndarray._own(np.zeros(*_room(shape, dtype)), resolve(ctx))


@function("np")
def zeros(F: Side, shape: Any, dtype: Any = None, order: str = "C", ctx: Context | None = None) -> Any:  # noqa: N803
    """An array of zeros, float32 where no dtype is given."""
    in_c_order("zeros", order)
    if F.eager:
        return ndarray._own(np.zeros(*_room(shape, dtype)), resolve(ctx))
    return F.ops._npi_zeros(shape=sizes(shape), dtype=array_dtype(dtype), **place(F, ctx))


@function("np")
def ones(F: Side, shape: Any, dtype: Any = np.float32, order: str = "C", ctx: Context | None = None) -> Any:  # noqa: N803
    """An array of ones, float32 where no dtype is given."""
    in_c_order("ones", order)
    if F.eager:
        return ndarray._own(np.ones(*_room(shape, dtype)), resolve(ctx))
    return F.ops._npi_ones(shape=sizes(shape), dtype=array_dtype(dtype), **place(F, ctx))


@function("np")
def full(
    F: Side,  # noqa: N803
    shape: Any,
    fill_value: Any,
    dtype: Any = None,
    order: str = "C",
    ctx: Context | None = None,
    out: Any = None,
) -> Any:
    """An array of one value, or of an array's values, which are broadcast. dtype: float32 where none is given, bool for a bool,
    and an array's own."""
    in_c_order("full", order)
    if isinstance(fill_value, F.kind):
        spread = F.ops._npi_broadcast_to(fill_value, shape=sizes(shape))
        return spread if dtype is None else F.ops._npi_cast(spread, dtype=dtype)
    if isinstance(fill_value, bool):
        dtype = np.bool_ if dtype is None else dtype
    if F.eager and out is None:
        return _filled(shape, dtype, ctx, float(fill_value) if isinstance(fill_value, np.generic) else fill_value)
    kind = array_dtype(dtype)
    return F.ops._npi_full(shape=sizes(shape), value=float(fill_value), dtype=kind, out=out, **place(F, ctx))


@function("np")
def full_like(
    F: Side,  # noqa: N803
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: str = "C",
    ctx: Context | None = None,
    out: Any = None,
) -> Any:
    """An array of one value, with the shape of another, and its dtype where none is given."""
    in_c_order("full_like", order)
    kind = None if dtype is None else array_dtype(dtype)
    return F.ops._npi_full_like(a, fill_value=float(fill_value), dtype=kind, out=out, **place(F, ctx))


@function("np")
def zeros_like(
    F: Side,  # noqa: N803
    a: Any,
    dtype: Any = None,
    order: str = "C",
    ctx: Context | None = None,
    out: Any = None,
) -> Any:
    """An array of zeros with the shape of another, and its dtype where none is given."""
    return full_like(F, a, 0, dtype, order, ctx, out)


@function("np")
def ones_like(
    F: Side,  # noqa: N803
    a: Any,
    dtype: Any = None,
    order: str = "C",
    ctx: Context | None = None,
    out: Any = None,
) -> Any:
    """An array of ones with the shape of another, and its dtype where none is given."""
    return full_like(F, a, 1, dtype, order, ctx, out)


@function("np")
def empty_like(
    F: Side,  # noqa: N803
    prototype: Any,
    dtype: Any = None,
    order: str = "C",
    subok: bool = False,
    shape: Any = None,
) -> Any:
    """An array of zeros with the shape of another, and its dtype where none is given; see empty.

    Raises NotImplementedError for subclasses, another shape, and dtypes that arrays do not have."""
    if order != "C" or subok or shape is not None:
        raise NotImplementedError(
            f"empty_like: only order 'C' without subok and shape is supported, got {order!r}, {subok} and {shape}"
        )
    try:
        kind = None if dtype is None else array_dtype(dtype)
    except TypeError as error:
        raise NotImplementedError(f"empty_like: {error}") from error
    return F.ops._npi_full_like(prototype, fill_value=0.0, dtype=kind)


@functools.lru_cache(maxsize=INSTANCES)
def _range(start: Any, stop: Any, step: Any, kind: np.dtype) -> tuple[NumpyArange, tuple[Any, ...]]:
    """The operator of a range, and its shape. Remembered, as -0.0 means here what 0.0 does."""
    op = NumpyArange.bind(start=start, stop=stop, step=step, dtype=kind)
    return op, op.infer_shape()  # type: ignore[return-value]


_PLAIN = (int, float)


@function("np")
def arange(
    F: Side,  # noqa: N803
    start: float | None,
    stop: float | None = None,
    step: float | None = 1,
    dtype: Any = None,
    ctx: Context | None = None,
) -> Any:
    """start, start + step, ... up to but not including stop; arange(n) counts from 0. float32 where no dtype is given.

    Raises ZeroDivisionError for a step of 0."""
    if stop is None:
        start, stop = 0, start
    step = 1 if step is None else step
    if not step:
        raise ZeroDivisionError("arange: got a step of 0, wanted another")
    if start is None:
        raise ValueError("arange: neither start nor stop is given")
    kind = array_dtype(dtype)
    if F.eager:
        plain = type(start) in _PLAIN and type(stop) in _PLAIN and type(step) in _PLAIN
        op, shape = (_range if plain else _range.__wrapped__)(start, stop, step, kind)
        afford_array(shape, kind, "an array")
        return ndarray._own(op.compute(shape), resolve(ctx))
    return F.ops._npi_arange(start=start, stop=stop, step=step, dtype=kind, **place(F, ctx))


def _line(name: str, start: Any, stop: Any, axis: int) -> None:
    for given in (start, stop):
        if not isinstance(given, NUMBER):
            raise NotImplementedError(f"{name}: start and stop must be numbers, got {type(given).__name__}")
    if axis:
        raise NotImplementedError(f"{name}: only axis 0 is supported, got {axis}")


@function("np")
def linspace(
    F: Side,  # noqa: N803
    start: float,
    stop: float,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    ctx: Context | None = None,
) -> Any:
    """num numbers from start to stop, evenly spaced; stop is the last of them with endpoint.

    retstep: give their distance too, that with endpoint. Raises NotImplementedError for arrays as ends."""
    _line("linspace", start, stop, axis)
    step = (stop - start) / (num - 1) if retstep else None
    kind = array_dtype(dtype)
    if F.eager:
        op = Linspace.bind(start=start, stop=stop, num=num, endpoint=endpoint, dtype=kind)
        afford_array(op.infer_shape(), kind, "an array")
        made = ndarray._own(op.compute(), resolve(ctx))
    else:
        made = F.ops._npi_linspace(start=start, stop=stop, num=num, endpoint=endpoint, dtype=kind, **place(F, ctx))
    return (made, step) if retstep else made


@function("np")
def logspace(
    F: Side,  # noqa: N803
    start: float,
    stop: float,
    num: int = 50,
    endpoint: bool = True,
    base: float = 10.0,
    dtype: Any = None,
    axis: int = 0,
    ctx: Context | None = None,
) -> Any:
    """num numbers from base ** start to base ** stop, their logarithms evenly spaced.

    Raises NotImplementedError for arrays as ends."""
    _line("logspace", start, stop, axis)
    kind = array_dtype(dtype)
    return F.ops._npi_logspace(
        start=start, stop=stop, num=num, endpoint=endpoint, base=base, dtype=kind, **place(F, ctx)
    )


@function("np")
def eye(F: Side, N: int, M: int | None = None, k: int = 0, dtype: Any = np.float32, **kwargs: Any) -> Any:  # noqa: N803
    """N rows of M numbers, ones on the k-th diagonal, zeros elsewhere. Raises NotImplementedError for an order."""
    if "order" in kwargs:
        raise NotImplementedError("eye: the parameter order is not supported")
    return F.ops._npi_eye(N=N, M=M, k=k, dtype=array_dtype(dtype), **place(F, kwargs.pop("ctx", None)))


@function("np")
def identity(F: Side, n: int, dtype: Any = None, ctx: Context | None = None) -> Any:  # noqa: N803
    """The identity matrix of n rows. Raises TypeError where n is no integer, ValueError where it is negative."""
    if not isinstance(n, int):
        raise TypeError(f"identity: n must be an integer, got {type(n).__name__}")
    if n < 0:
        raise ValueError(f"identity: n cannot be negative, got {n}")
    return F.ops._npi_identity(shape=(n, n), dtype=array_dtype(dtype), **place(F, ctx))


@function("np")
def indices(F: Side, dimensions: Any, dtype: Any = np.int32, ctx: Context | None = None) -> Any:  # noqa: N803
    """The indices of all elements of a grid, stacked by axis. Raises ValueError where dimensions are no sequence."""
    if not isinstance(dimensions, tuple | list):
        raise ValueError(f"indices: dimensions must be a tuple or list of ints, got {type(dimensions).__name__}")
    return F.ops._npi_indices(dimensions=tuple(dimensions), dtype=array_dtype(dtype), **place(F, ctx))


def _define_window(name: str) -> None:
    def window(F: Side, M: int, dtype: Any = np.float32, ctx: Context | None = None) -> Any:  # noqa: N803
        return getattr(F.ops, f"_npi_{name}")(M=M, dtype=array_dtype(dtype), **place(F, ctx))

    window.__doc__ = f"The {name.capitalize()} window of M points."
    function("np", name=name)(window)


for _window in ("hanning", "hamming", "blackman"):
    _define_window(_window)


@function("np", symbols=False)
def meshgrid(F: Side, *xi: Any, **kwargs: Any) -> list[Any]:  # noqa: N803
    """Coordinates of a grid, of those along its axes: one array for each of xi, broadcast to the grid's shape.

    indexing: 'xy' (the default), where the first two axes change places, or 'ij'. Raises NotImplementedError for sparse=True and
    copy=False, ValueError for another indexing."""
    for keyword, default in (("copy", True), ("sparse", False)):
        if bool(kwargs.pop(keyword, default)) != default:
            raise NotImplementedError(f"meshgrid: only {keyword}={default} is supported")
    indexing = kwargs.pop("indexing", "xy")
    if kwargs:
        raise TypeError(f"meshgrid() got an unexpected keyword argument {next(iter(kwargs))!r}")
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: indexing must be 'xy' or 'ij', got {indexing!r}")
    count = len(xi)
    axes = list(range(count))
    if indexing == "xy" and count > 1:
        axes[:2] = 1, 0
    shape = [0] * count
    for axis, x in zip(axes, xi):
        shape[axis] = x.size
    return [
        F.ops._npi_broadcast_to(
            F.ops._np_reshape(x, newshape=tuple(x.size if i == axis else 1 for i in range(count))), shape=tuple(shape)
        )
        for axis, x in zip(axes, xi)
    ]


@function("np")
def tril(F: Side, m: Any, k: int = 0) -> Any:  # noqa: N803
    """The matrices of an array with zeros above their k-th diagonal."""
    return F.ops._npi_tril(m, k=k)


@function("np", symbols=False)
def genfromtxt(F: Side, *args: Any, **kwargs: Any) -> Any:  # noqa: N803
    """An array of what NumPy's genfromtxt reads of a text, on ctx."""
    ctx = kwargs.pop("ctx", None)
    return array(F, np.genfromtxt(*args, **kwargs), ctx=ctx)


@function("np", symbols=False)
def set_printoptions(F: Side, precision: int | None = None, threshold: int | None = None, **kwarg: Any) -> None:  # noqa: N803
    """Set how many digits are shown, and of how many elements on an array is shortened: NumPy's settings, which hold here too.

    Raises NotImplementedError for NumPy's other options."""
    if kwarg:
        raise NotImplementedError(
            f"set_printoptions: only precision and threshold are supported, got {', '.join(kwarg)}"
        )
    np.set_printoptions(precision=precision, threshold=threshold)


def _define_sharing(name: str) -> None:
    def sharing(F: Side, a: Any, b: Any, max_work: Any = None) -> Any:  # noqa: N803
        if F.eager:
            return np.may_share_memory(a._storage(), b._storage())
        return F.ops._npi_share_memory(a, b)

    sharing.__doc__ = "True where two arrays have memory in common."
    function("np", name=name)(sharing)


for _sharing in ("shares_memory", "may_share_memory"):
    _define_sharing(_sharing)
