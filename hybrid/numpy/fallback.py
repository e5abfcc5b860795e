"""Functions of mx.np that are NumPy's own. They take arrays of mx.np by NumPy's dispatch protocol (np_functions/protocol.py),
outside of autograd.record(). What NumPy has dropped since MXNet 1.9.1 is said here in what it has."""

from __future__ import annotations

from typing import Any

import numpy as _np

from ..np_functions.protocol import arrays_in, fall_back

_NUMPY = tuple(
    name
    for row in (
        "allclose apply_along_axis apply_over_axes argpartition argwhere array_equal array_equiv choose compress corrcoef",
        "correlate count_nonzero cov digitize divmod extract flatnonzero float_power frexp heaviside histogram2d",
        "histogram_bin_edges histogramdd i0 interp intersect1d isclose isin ix_ lexsort min_scalar_type modf nanargmax",
        "nanargmin nancumprod nancumsum nanmax nanmedian nanmin nanpercentile nanprod nanquantile ndim partition piecewise",
        "packbits poly polyadd polydiv polyfit polyint polymul polysub positive promote_types ptp real result_type rollaxis",
        "roots searchsorted select setdiff1d setxor1d signbit size spacing take_along_axis tril_indices_from trim_zeros",
        "triu_indices_from union1d unpackbits unwrap vander",
    )
    for name in row.split()
)
_TRAPEZOID: Any = vars(_np).get("trapezoid") or vars(_np).get("trapz")

globals().update({_name: getattr(_np, _name) for _name in _NUMPY})


def alltrue(*args: Any, **kwargs: Any) -> Any:
    """True where all elements are not 0: numpy.all by its old name.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.np.alltrue(mx.np.array([[1, 0], [1, 1]]), axis=1)
    array([False,  True])
    """
    return _call(_np.all, args, kwargs)


def in1d(ar1: Any, ar2: Any, assume_unique: bool = False, invert: bool = False) -> Any:
    """True for each element of ar1, which is taken as a vector, that is in ar2.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.np.in1d(mx.np.array([[0, 1], [2, 3]]), mx.np.array([1, 3]))
    array([False,  True, False,  True])
    """
    return _call(_in1d, (ar1, ar2, assume_unique, invert), {})


def msort(a: Any) -> Any:
    """An array sorted along its first axis.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.np.msort(mx.np.array([[3, 1], [2, 4]]))
    array([[2., 1.],
           [3., 4.]])
    """
    return _call(_np.sort, (a,), {"axis": 0})


def trapz(y: Any, x: Any = None, dx: float = 1.0, axis: int = -1) -> Any:
    """The integral along an axis by the trapezoidal rule; x: where y was taken, else dx apart.

    Examples
    --------
    >>> from gluonnx import mx
    >>> float(mx.np.trapz(mx.np.array([1, 2, 3]))), float(mx.np.trapz(mx.np.array([1, 2, 3]), dx=0.5))
    (4.0, 2.0)
    """
    return _call(_TRAPEZOID, (y, x, dx, axis), {})


def _in1d(ar1: Any, ar2: Any, assume_unique: bool, invert: bool) -> Any:
    return _np.isin(_np.ravel(ar1), ar2, assume_unique=assume_unique, invert=invert)


def _define_quantile(name: str) -> None:
    def function(*args: Any, **kwargs: Any) -> Any:
        if "interpolation" in kwargs:
            if "method" in kwargs:
                raise TypeError(f"{name}: got method and interpolation, which is its old name")
            kwargs["method"] = kwargs.pop("interpolation")
        return _call(getattr(_np, name), args, kwargs)

    function.__name__ = function.__qualname__ = name
    q = 50 if name == "nanpercentile" else 0.5
    function.__doc__ = f"""``numpy.{name}``; interpolation, which NumPy has dropped, is its method.

Raises TypeError for both.

Examples
--------
>>> from gluonnx import mx
>>> float(mx.np.{name}(mx.np.array([1, 2, float("nan")]), {q}, interpolation="lower"))
1.0
"""
    globals()[name] = function


for _name in ("nanpercentile", "nanquantile"):
    _define_quantile(_name)


def _call(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A function of NumPy, by falling back where it is given arrays of mx.np."""
    given = arrays_in((*args, *kwargs.values()))
    return fall_back(function, args, kwargs) if given else function(*args, **kwargs)


def _define_financial(name: str) -> None:
    def function(*args: Any, **kwds: Any) -> Any:
        raise RuntimeError(f"{name}: NumPy removed it in its version 1.20; the package numpy-financial has it")

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""A function of finance. Raises RuntimeError: NumPy has it no more.

Examples
--------
>>> from gluonnx import mx
>>> mx.np.{name}(0.1, [1, 2])
Traceback (most recent call last):
    ...
RuntimeError: {name}: NumPy removed it in its version 1.20; the package numpy-financial has it
"""
    globals()[name] = function


_FINANCIAL = ("mirr", "npv", "ppmt", "pv", "rate")
for _name in _FINANCIAL:
    _define_financial(_name)

__all__ = sorted((*_NUMPY, "alltrue", "in1d", "msort", "trapz", *_FINANCIAL))
