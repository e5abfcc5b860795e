"""Tolerances: defaults by dtype, and assertions that say where the largest difference is."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..ndarray import NDArray

Tolerance = float | Mapping[Any, float] | None
"""One for all, one for each dtype, or None: the default of the dtype."""

_DOUBLE = np.dtype("float64")
_EXACT = tuple(np.dtype(d) for d in ("bool", "int8", "uint8", "int32", "uint32", "int64", "uint64"))


def _by_dtype(half: float, single: float, double: float) -> dict[np.dtype, float]:
    floats = {np.dtype("float16"): half, np.dtype("float32"): single, np.dtype("float64"): double}
    return floats | dict.fromkeys(_EXACT, 0)


def default_dtype() -> type:
    """float32.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.test_utils.default_dtype().__name__
    'float32'
    """
    return np.float32


def default_rtols() -> dict[np.dtype, float]:
    """Relative tolerances by dtype.

    Examples
    --------
    >>> from gluonnx import mx
    >>> import numpy as np
    >>> mx.test_utils.default_rtols()[np.dtype("float32")]
    0.0001
    """
    return _by_dtype(1e-2, 1e-4, 1e-5)


def default_atols() -> dict[np.dtype, float]:
    """Absolute tolerances by dtype.

    Examples
    --------
    >>> from gluonnx import mx
    >>> import numpy as np
    >>> mx.test_utils.default_atols()[np.dtype("float32")]
    0.001
    """
    return _by_dtype(1e-1, 1e-3, 1e-20)


def default_numeric_eps() -> dict[np.dtype, float]:
    """Steps of finite differences by dtype; powers of two, so that adding them to an input drops no bits.

    Examples
    --------
    >>> from gluonnx import mx
    >>> import numpy as np
    >>> mx.test_utils.default_numeric_eps()[np.dtype("float32")]
    0.001953125
    """
    return {np.dtype("float16"): 2.0**-6, np.dtype("float32"): 2.0**-9, np.dtype("float64"): 2.0**-14}


def effective_dtype(dat: Any) -> np.dtype:
    """The dtype that decides about tolerances: that of the array.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.test_utils.effective_dtype(mx.nd.ones(2, dtype="float16"))
    dtype('float16')
    """
    return np.dtype(dat.dtype)


def get_tolerance(dat: Any, tol: Tolerance, default_tol: Mapping[Any, float]) -> float:
    """tol when it is a number, else what it has for the dtype of dat, else the default.

    Examples
    --------
    >>> from gluonnx import mx
    >>> x, usual = mx.nd.ones(2), mx.test_utils.default_rtols()
    >>> mx.test_utils.get_tolerance(x, 0.5, usual), mx.test_utils.get_tolerance(x, None, usual)
    (0.5, 0.0001)
    """
    if isinstance(tol, numbers.Number):
        return tol  # type: ignore[return-value]
    dtype = effective_dtype(dat)
    return (tol or {}).get(dtype, default_tol[dtype])  # type: ignore[union-attr]


def get_tols(x: Any, y: Any, rtol: Tolerance, atol: Tolerance) -> tuple[float, float]:
    """(rtol, atol) for comparing x with y: those of the less precise of the two.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.test_utils.get_tols(mx.nd.ones(2, dtype="float16"), mx.nd.ones(2), None, None)
    (0.01, 0.1)
    """
    pair = [v if hasattr(v, "dtype") else np.asarray(v) for v in (x, y)]
    return (
        max(get_tolerance(v, rtol, default_rtols()) for v in pair),
        max(get_tolerance(v, atol, default_atols()) for v in pair),
    )


def get_atol(atol: float | None = None, dtype: Any = _DOUBLE) -> float:
    """atol, or the dtype's default for None.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.test_utils.get_atol(0.5), mx.test_utils.get_atol(dtype="float32")
    (0.5, 0.001)
    """
    return default_atols()[np.dtype(dtype)] if atol is None else atol


def get_rtol(rtol: float | None = None, dtype: Any = _DOUBLE) -> float:
    """rtol, or the dtype's default for None.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.test_utils.get_rtol(0.5), mx.test_utils.get_rtol(dtype="float32")
    (0.5, 0.0001)
    """
    return default_rtols()[np.dtype(dtype)] if rtol is None else rtol


def get_etol(etol: float | None = None) -> float:
    """Share of all elements that may be wrong: etol, or none.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.test_utils.get_etol(0.1), mx.test_utils.get_etol()
    (0.1, 0)
    """
    return 0 if etol is None else etol


# -- comparing --------------------------------------------------------------------------------------------------------------


def _values(a: Any) -> np.ndarray:
    return a.asnumpy() if isinstance(a, NDArray) else np.asarray(a)


def same(a: Any, b: Any) -> bool:
    """True when two arrays have the same shape and elements.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.test_utils.same(mx.nd.ones(2), [1, 1]), mx.test_utils.same(mx.nd.ones(2), [1, 2])
    (True, False)
    """
    return np.array_equal(_values(a), _values(b))


def almost_equal(
    a: Any,
    b: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    use_broadcast: bool = True,
) -> bool:
    """True when |a - b| <= atol + rtol |b| everywhere; tolerances that are not given are those of float64.

    Examples
    --------
    >>> from gluonnx import mx
    >>> import numpy as np
    >>> a, b = np.array([1.0, 2.0]), np.array([1.0, 2.1])
    >>> mx.test_utils.almost_equal(a, b), mx.test_utils.almost_equal(a, b, rtol=0.1)
    (False, True)
    """
    if not use_broadcast:
        checkShapes(a, b)
    return np.allclose(_values(a), _values(b), rtol=get_rtol(rtol), atol=get_atol(atol), equal_nan=equal_nan)


def _message(a: np.ndarray, b: np.ndarray, text: str) -> str:
    with np.printoptions(threshold=4, suppress=True):
        return np.testing.build_err_msg([a, b], err_msg=text)


def checkShapes(a: Any, b: Any) -> None:  # noqa: N802  MXNet's name
    """Raises AssertionError unless the shapes are equal.

    Examples
    --------
    >>> from gluonnx import mx
    >>> import numpy as np
    >>> mx.test_utils.checkShapes(np.ones(2), mx.nd.ones(2))  # says nothing: they are equal
    """
    if a.shape != b.shape:
        raise AssertionError(
            _message(_values(a), _values(b), f"a.shape = {a.shape} and b.shape = {b.shape} are not equal")
        )


def locationError(a: Any, b: Any, index: Any, names: tuple[str, ...], maxError: bool = False) -> str:  # noqa: N802, N803
    """Describe what the arrays hold at an index.

    Examples
    --------
    >>> from gluonnx import mx
    >>> import numpy as np
    >>> mx.test_utils.locationError(np.array([1.0, 2.0]), np.array([1.0, 3.0]), (1,), ("got", "want"))
    'Location of error: (1,), got=2.00000000, want=3.00000000'
    """
    what = "maximum error" if maxError else "error"
    return f"Location of {what}: {index}, {names[0]}={a[index]:.8f}, {names[1]}={b[index]:.8f}"


def _worst(a: np.ndarray, b: np.ndarray, rtol: float, atol: float) -> tuple[tuple[int, ...], float]:
    """Position of the largest difference in tolerances, and its size."""
    with np.errstate(invalid="ignore"):
        apart = np.where(np.equal(a, b), 0, np.abs(a - b))  # infinities are equal, although their difference is nan
    errors = apart / (atol + rtol * np.abs(b) + 1e-20)
    index = tuple(int(i) for i in np.unravel_index(np.argmax(errors), errors.shape))
    return index, errors.max()


def _report(
    a: np.ndarray,
    b: np.ndarray,
    rtol: float,
    atol: float,
    names: tuple[str, ...],
    equal_nan: bool,
    mismatches: tuple[int, int],
) -> AssertionError:
    """Print up to mismatches[0] of the largest differences, counting up to mismatches[1], and give the error to raise."""
    left, right = (np.array(x) for x in np.broadcast_arrays(a, b))
    first, worst = _worst(left, right, rtol, atol)
    limits = f"rtol={rtol:e}, atol={atol:e}"
    if not left.ndim:
        return AssertionError(_message(a, b, f"Error {worst:f} exceeds tolerance {limits}.\n"))
    print(f"\n*** Maximum errors for vector of size {left.size}:  rtol={rtol}, atol={atol}\n")
    shown, listed = mismatches
    where = locationError(left, right, first, names, maxError=True)
    index, error, count = first, worst, 1
    while count <= left.size:
        if count <= shown:
            print(f"{count:3d}: Error {error:f}  {locationError(left, right, index, names)}")
        left[index] = right[index] = 0
        if np.allclose(left, right, rtol=rtol, atol=atol, equal_nan=equal_nan):
            break
        count += 1
        if 0 < listed < count:
            break
        index, error = _worst(left, right, rtol, atol)
    least = "at least " if 0 < listed < count else ""
    text = f"Error {worst:f} exceeds tolerance {limits} (mismatch {least}{100 * count / left.size:f}%).\n"
    return AssertionError(_message(a, b, text + where))


def assert_almost_equal(
    a: Any,
    b: Any,
    rtol: Tolerance = None,
    atol: Tolerance = None,
    names: tuple[str, ...] = ("a", "b"),
    equal_nan: bool = False,
    use_broadcast: bool = True,
    mismatches: tuple[int, int] = (10, 10),
) -> None:
    """Raises AssertionError, saying where and how far, unless |a - b| <= atol + rtol |b| everywhere.

    Tolerances that are not given are the defaults of the less precise dtype. The largest differences are printed:
    mismatches is how many of them, and how many are counted at most.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.test_utils.assert_almost_equal(mx.nd.array([1, 2]), mx.nd.array([1, 2.00001]))
    >>> try:
    ...     mx.test_utils.assert_almost_equal(mx.nd.array(1), mx.nd.array(2))
    ... except AssertionError as error:
    ...     print("exceeds tolerance" in str(error))
    True
    """
    if not use_broadcast:
        checkShapes(a, b)
    rtol, atol = get_tols(a, b, rtol, atol)
    a, b = _values(a), _values(b)
    if a.dtype == b.dtype == np.bool_:
        np.testing.assert_equal(a, b)
    elif not np.allclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan):
        raise _report(a, b, rtol, atol, names, equal_nan, mismatches)


def assert_allclose(a: Any, b: Any, rtol: Tolerance = 1e-07, atol: Tolerance = 0, equal_nan: bool = True) -> None:
    """assert_almost_equal with the defaults of numpy.testing.assert_allclose.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.test_utils.assert_allclose(mx.nd.array([1, 2]), [1, 2.01], rtol=0.01)
    """
    assert_almost_equal(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)


def assert_almost_equal_with_err(
    a: Any,
    b: Any,
    rtol: Tolerance = None,
    atol: Tolerance = None,
    etol: float | None = None,
    names: tuple[str, ...] = ("a", "b"),
    equal_nan: bool = False,
    mismatches: tuple[int, int] = (10, 10),
) -> None:
    """assert_almost_equal that lets the part etol of all elements be wrong.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.test_utils.assert_almost_equal_with_err(mx.nd.array([1, 2, 3, 4]), mx.nd.array([1, 2, 3, 9]), etol=0.25)
    """
    allowed = get_etol(etol)
    if allowed <= 0:
        assert_almost_equal(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)
        return
    rtol, atol = get_tols(a, b, rtol, atol)
    a, b = _values(a), _values(b)
    right = np.isclose(a, b, rtol=rtol, atol=atol)
    if 1 - np.count_nonzero(right) / right.size > allowed:
        raise _report(a, b, rtol, atol, names, equal_nan, mismatches)


def assert_almost_equal_ignore_nan(
    a: Any, b: Any, rtol: Tolerance = None, atol: Tolerance = None, names: tuple[str, ...] = ("a", "b")
) -> None:
    """assert_almost_equal where neither is nan.

    Examples
    --------
    >>> from gluonnx import mx
    >>> import numpy as np
    >>> mx.test_utils.assert_almost_equal_ignore_nan(np.array([1, np.nan]), np.array([1, 5.0]))
    """
    a, b = np.array(_values(a)), np.array(_values(b))
    unknown = np.isnan(a) | np.isnan(b)
    a[unknown] = b[unknown] = 0
    assert_almost_equal(a, b, rtol, atol, names)


def compare_ndarray_tuple(t1: Any, t2: Any, rtol: Tolerance = None, atol: Tolerance = None) -> None:
    """assert_almost_equal of arrays in nested tuples; where either is None nothing is compared.

    Examples
    --------
    >>> from gluonnx import mx
    >>> one = mx.nd.ones(2)
    >>> mx.test_utils.compare_ndarray_tuple((one, (one, one)), (one, (one, one + 1e-6)))
    """
    if t1 is None or t2 is None:
        return
    if isinstance(t1, tuple):
        for one, other in zip(t1, t2):
            compare_ndarray_tuple(one, other, rtol, atol)
    else:
        assert_almost_equal(t1, t2, rtol=rtol, atol=atol)


def same_array(array1: NDArray, array2: NDArray) -> bool:
    """True when two NDArrays share their memory: writing to one shows in the other.

    Examples
    --------
    >>> from gluonnx import mx
    >>> x = mx.nd.ones((2, 3))
    >>> mx.test_utils.same_array(x, x[:]), mx.test_utils.same_array(x, x.copy())
    (True, False)
    """
    array1[:] += 1
    shared = same(array1, array2)
    array1[:] -= 1
    return shared and same(array1, array2)


def assert_exception(f: Callable[..., Any], exception_type: Any, *args: Any, **kwargs: Any) -> None:
    """Raises AssertionError unless ``f(*args, **kwargs)`` raises exception_type.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.test_utils.assert_exception(int, ValueError, "a")  # says nothing: int("a") raises it
    """
    wanted = exception_type
    try:
        f(*args, **kwargs)
    except wanted:
        return
    raise AssertionError(f"{getattr(f, '__name__', f)} raised nothing, wanted {exception_type}")
