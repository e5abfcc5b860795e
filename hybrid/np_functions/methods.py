"""Python's operators and the methods of arrays and symbols of mx.np, which are functions of mx.np."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ..core.functions import add_operators
from ..core.later import Later
from ..eager.array import NDArray
from ..eager.np_array import check_cast, ndarray
from ..frontend.np_symbol import _Symbol
from .elementwise import BINARY, binary, unary
from .side import ARRAYS, NP, SYM_NP, SYMBOLS, Side

# -- operators -----------------------------------------------------------------------------------------------------------


def _operators(side: Side, *prefixes: tuple[str, str]) -> None:
    """Give a side's class Python's operators; prefixes: those of one operand, with the functions that they are."""

    def prefix(name: str) -> Any:
        return lambda self: unary(side, name, self)

    add_operators(side.kind, lambda row, a, b: binary(side, row, a, b), BINARY.values())
    for dunder, name in (("neg", "negative"), ("abs", "absolute"), ("invert", "invert"), *prefixes):
        setattr(side.kind, f"__{dunder}__", prefix(name))


_operators(ARRAYS, ("ceil", "ceil"), ("floor", "floor"), ("trunc", "trunc"))
_operators(SYMBOLS)
_Symbol.__hash__ = None  # type: ignore[assignment]


def _in_place(name: str) -> Any:
    def assign(self: ndarray, other: Any) -> ndarray:
        return binary(ARRAYS, BINARY[name], self, other, self)

    return assign


_NOT_IN_PLACE = ("eq", "ne", "gt", "ge", "lt", "le", "pow")  # MXNet has no __ipow__
for _row in BINARY.values():
    if _row.dunder is not None and _row.dunder not in _NOT_IN_PLACE:
        setattr(ndarray, f"__i{_row.dunder}__", _in_place(_row.name))

# -- methods of both -----------------------------------------------------------------------------------------------------


def _want_order(name: str, order: Any) -> None:
    if order != "C":
        raise NotImplementedError(f"{name}: only supports C-order, while received {order}")


class Both:
    """Methods of arrays and of symbols. ``_np``: the functions for either."""

    _np: Any
    reshape: Callable[..., Any]
    transpose: Callable[..., Any]

    @property
    def T(self) -> Any:  # noqa: N802  NumPy's name
        """The array with its axes in reverse order.

        Examples
        --------
        >>> from gluonnx import mx
        >>> mx.np.ones((2, 3)).T.shape
        (3, 2)
        """
        return self.transpose()

    def argmax(self, axis: Any = None, out: Any = None) -> Any:
        return self._np.argmax(self, axis, out)

    def argmin(self, axis: Any = None, out: Any = None) -> Any:
        return self._np.argmin(self, axis, out)

    def argsort(self, axis: Any = -1, kind: Any = None, order: Any = None) -> Any:
        return self._np.argsort(self, axis, kind, order)

    def clip(self, min: Any = None, max: Any = None, out: Any = None) -> Any:
        return self._np.clip(self, min, max, out)

    def cumsum(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        return self._np.cumsum(self, axis, dtype, out)

    def dot(self, b: Any, out: Any = None) -> Any:
        return self._np.dot(self, b, out)

    def flatten(self, order: str = "C") -> Any:
        """A copy with one axis, in order C (the last axis fastest).

        Examples
        --------
        >>> from gluonnx import mx
        >>> mx.np.ones((2, 3)).flatten().shape
        (6,)
        """
        return self.reshape(-1, order=order)

    def max(self, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        return self._np.max(self, axis, keepdims, out)

    def mean(self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        return self._np.mean(self, axis, dtype, out, keepdims)

    def min(self, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        return self._np.min(self, axis, keepdims, out)

    def prod(self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        return self._np.prod(self, axis, dtype, out, keepdims)

    def repeat(self, repeats: Any, axis: Any = None) -> Any:
        return self._np.repeat(self, repeats, axis)

    def round(self, decimals: int = 0, out: Any = None, **kwargs: Any) -> Any:
        return self._np.round(self, decimals, out, **kwargs)

    def sort(self, axis: Any = -1, kind: Any = None, order: Any = None) -> Any:
        """Raises TypeError, as MXNet does: nothing is sorted in its place."""
        raise TypeError("sort: arrays of mx.np are not sorted in place; call mx.np.sort")

    def squeeze(self, axis: Any = None) -> Any:
        return self._np.squeeze(self, axis)

    def std(self, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: bool = False) -> Any:
        return self._np.std(self, axis, dtype, out, ddof, keepdims)

    def sum(self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        return self._np.sum(self, axis, dtype, keepdims, None, out)

    def swapaxes(self, axis1: int, axis2: int) -> Any:
        return self._np.swapaxes(self, axis1, axis2)

    def take(self, indices: Any, axis: Any = None, mode: str = "raise") -> Any:
        return self._np.take(self, indices, axis, mode)

    def var(self, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: bool = False) -> Any:
        return self._np.var(self, axis, dtype, out, ddof, keepdims)


def _reshape(self: Any, *args: Any, **kwargs: Any) -> Any:
    """The numbers in another shape, as a tuple or as so many numbers; keyword: order, which must be C.

    Raises TypeError without a shape or with another keyword, NotImplementedError for another order."""
    order = kwargs.pop("order", "C")
    if kwargs:
        raise TypeError(f"{', '.join(kwargs)} is an invalid keyword argument for this function")
    _want_order("reshape", order)
    if not args:
        raise TypeError("reshape() takes exactly 1 argument (0 given)")
    shape = args[0] if len(args) == 1 and isinstance(args[0], tuple | list) else args
    return self._np.reshape(self, tuple(shape))


def _transpose(self: Any, *axes: Any) -> Any:
    """The array with its axes in another order, in the reverse one by default."""
    if len(axes) == 1 and (axes[0] is None or isinstance(axes[0], tuple | list)):
        (axes,) = axes
    return self._np.transpose(self, axes or None)


_REFUSED = """
    abs arccos arccosh arcsin arcsinh arctan arctanh argmax_channel broadcast_axes broadcast_like cbrt ceil cos cosh degrees
    depth_to_space diag exp expand_dims expm1 fix flip floor log log10 log1p log2 log_softmax nanprod nansum norm one_hot ones_like
    pad pick radians rcbrt reciprocal relu reshape_like rint rsqrt shape_array sigmoid sign sin sinh size_array slice slice_axis
    slice_like softmax softmin space_to_depth split split_v2 sqrt square tan tanh tile topk trunc zeros_like
"""
"""Methods of NDArray and Symbol that arrays and symbols of mx.np do not have."""


def _refuse(cls: type, name: str, label: str) -> None:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise AttributeError(f"{label} object has no attribute {name}")

    method.__doc__ = "Raises AttributeError: there is a function in mx.np or mx.npx."
    _put(cls, name, method)


def _put(cls: type, name: str, method: Any) -> None:
    if not isinstance(method, property):
        method.__name__, method.__qualname__ = name, f"{cls.__name__}.{name}"
    setattr(cls, name, method)


def _document(name: str) -> str:
    """The docstring of a method that is a function of mx.np."""
    return f"``x.{name}(...)`` is ``np.{name}(x, ...)``.\n\n{getattr(NP, name).__doc__}"


def _give(cls: type, functions: Any, label: str) -> None:
    """Give a class the methods of both, and the refusals."""
    cls._np = functions  # type: ignore[attr-defined]
    for name, method in vars(Both).items():
        if not name.startswith("_"):
            if method.__doc__ is None:
                method.__doc__ = Later(f"``np.{name}`` of it.", partial(_document, name))
            setattr(cls, name, method)
    for name, method in (("reshape", _reshape), ("transpose", _transpose)):
        setattr(cls, name, method)
    for name in _REFUSED.split():
        _refuse(cls, name, label)


_give(ndarray, NP, "mxnet.numpy.ndarray")
_give(_Symbol, SYM_NP, "_Symbol")
for _name in ("asscalar", "tostype"):
    _refuse(ndarray, _name, "mxnet.numpy.ndarray")
_refuse(_Symbol, "broadcast_to", "_Symbol")

# -- methods of arrays ---------------------------------------------------------------------------------------------------


class Arrays:
    """Methods of arrays alone."""

    def __matmul__(self, other: Any) -> Any:
        return NP.matmul(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return NP.matmul(other, self)

    def __imatmul__(self, other: Any) -> Any:
        return NP.matmul(self, other, self)

    def __round__(self, n: int = 0) -> Any:
        return NP.round(self, n)

    def all(self, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        """``np.all`` of it.

        Examples
        --------
        >>> from gluonnx import mx
        >>> mx.np.array([[1, 0], [1, 1]]).all(axis=1)
        array([False,  True])
        """
        return NP.all(self, axis, keepdims, out)

    def any(self, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        """``np.any`` of it.

        Examples
        --------
        >>> from gluonnx import mx
        >>> mx.np.array([[1, 0], [0, 0]]).any(axis=1)
        array([ True, False])
        """
        return NP.any(self, axis, keepdims, out)

    def broadcast_to(self, shape: Any) -> Any:
        return NP.broadcast_to(self, shape)

    def nonzero(self) -> Any:
        """``np.nonzero`` of it: the indices of elements that are not 0, an array for each axis.

        Examples
        --------
        >>> from gluonnx import mx
        >>> mx.np.array([[1, 0], [0, 2]]).nonzero()
        (array([0, 1], dtype=int64), array([0, 1], dtype=int64))
        """
        return NP.nonzero(self)

    def reshape_view(self, *shape: Any, **kwargs: Any) -> Any:
        """The same memory in another shape, with the codes of mx.nd's reshape.

        Examples
        --------
        >>> from gluonnx import mx
        >>> mx.np.ones((2, 3, 4)).reshape_view((-1, 0)).shape
        (8, 3)
        """
        return NDArray.reshape(self, *shape, **kwargs)  # type: ignore[arg-type]

    def slice_assign(self, rhs: Any, begin: Any, end: Any, step: Any) -> Any:
        """Put an array into the part between begin and end."""
        return ARRAYS.ops._npi_slice_assign(self, rhs, begin=begin, end=end, step=step, out=self)

    def slice_assign_scalar(self, value: Any, begin: Any, end: Any, step: Any) -> Any:
        """Put a number into the part between begin and end."""
        return ARRAYS.ops._npi_slice_assign_scalar(self, scalar=value, begin=begin, end=end, step=step, out=self)


for _name, _method in vars(Arrays).items():
    if callable(_method):
        _put(ndarray, _name, _method)

# -- methods of symbols --------------------------------------------------------------------------------------------------

_KEPT, _GONE, _REST = -2, -3, -4
"""Codes of _npi_reshape: an axis as it is; one of size 1 that goes away; all that are left as they are."""


def _slice(self: _Symbol, key: Any) -> Any:
    """A part of what a symbol will be, by whole numbers, slices, None, and ``...`` before the end.

    Raises IndexError for anything else, ValueError for a step of 0."""
    parts = list(key) if isinstance(key, tuple) else [key]
    if parts and parts[-1] is Ellipsis:
        parts.pop()
    if not parts:
        return self
    begin, end, step = [], [], []
    shape: list[int] = []
    new: list[int] = []
    for part in parts:
        if part is None:
            new.append(sum(code != _GONE for code in shape) + len(new))
        elif isinstance(part, slice):
            if part.step == 0:
                raise ValueError("slice step cannot be zero")
            begin.append(part.start)
            end.append(part.stop)
            step.append(part.step)
            shape.append(_KEPT)
        elif hasattr(part, "__index__") and not isinstance(part, bool):
            at = part.__index__()
            begin.append(at)
            end.append(at + 1 if at >= 0 else at - 1)
            step.append(1 if at >= 0 else -1)
            shape.append(_GONE)
        else:
            raise IndexError(f"Only integer, slice, None, or tuple of these types are supported! Received key={key!r}")
    made = self
    if begin:
        made = SYMBOLS.ops._npi_slice(made, begin=tuple(begin), end=tuple(end), step=tuple(step))
        if _GONE in shape:
            made = SYMBOLS.ops._npi_reshape(made, newshape=(*shape, _REST))
    for axis in new:
        made = SYMBOLS.ops._npi_expand_dims(made, axis=axis)
    return made


def _astype(
    self: _Symbol, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True
) -> Any:
    """The values in another dtype. Raises ValueError for an order, casting or subok that there is not."""
    check_cast(order, casting, subok)
    return SYMBOLS.ops._npi_cast(self, dtype=dtype)


for _name, _method in (("_slice", _slice), ("astype", _astype)):
    _put(_Symbol, _name, _method)
