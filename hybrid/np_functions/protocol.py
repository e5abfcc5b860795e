"""NumPy's dispatch protocol: NumPy's own functions upon arrays of mx.np.

What mx.np has too, computes here and records gradients; the rest falls back to NumPy, outside of autograd.record().
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..core.attrs import DTYPE_FLAGS
from ..core.functions import NUMBER
from ..eager.np_array import ndarray
from ..eager.tape import STATE
from ..execution.context import Context, resolve
from .side import NP

FUNCTIONS = tuple(
    name
    for row in (
        "all any sometrue argmin argmax around round round_ argsort sort append broadcast_arrays broadcast_to clip concatenate",
        "copy cumsum diag diagonal diagflat dot expand_dims fix flip flipud fliplr inner insert max amax mean min amin nonzero",
        "ones_like atleast_1d atleast_2d atleast_3d prod product ravel repeat reshape roll split array_split hsplit vsplit",
        "dsplit squeeze stack std sum swapaxes take tensordot tile transpose unique unravel_index diag_indices_from delete var",
        "vdot vstack column_stack hstack dstack zeros_like linalg.norm linalg.cholesky linalg.inv linalg.solve linalg.tensorinv",
        "linalg.tensorsolve linalg.pinv linalg.eigvals linalg.eig linalg.eigvalsh linalg.eigh shape trace tril meshgrid outer",
        "einsum polyval shares_memory may_share_memory quantile percentile diff ediff1d resize where full_like bincount",
        "empty_like nan_to_num isnan isfinite isposinf isneginf isinf pad",
    )
    for name in row.split()
)
"""NumPy's functions that are computed by those of mx.np of the same name."""
UFUNCS = frozenset(
    name
    for row in (
        "abs fabs add arctan2 copysign degrees hypot lcm subtract multiply true_divide negative power mod matmul absolute rint",
        "sign exp log log2 log10 expm1 sqrt square cbrt reciprocal invert bitwise_not remainder sin cos tan sinh cosh tanh",
        "arcsin arccos arctan arcsinh arccosh arctanh maximum minimum ceil trunc floor bitwise_and bitwise_xor bitwise_or",
        "logical_not equal not_equal less less_equal greater greater_equal divide",
    )
    for name in row.split()
)
"""NumPy's element-wise functions that are computed by those of mx.np of the same name (divide: NumPy's name of true_divide)."""


def _at(module: Any, name: str) -> Any:
    """The object of a dotted name, None where there is none: NumPy has dropped some of MXNet's names."""
    for part in name.split("."):
        module = getattr(module, part, None)
    return module


OURS = {_at(np, name): name for name in FUNCTIONS if _at(np, name) is not None}
"""NumPy's function: the name of ours."""


def arrays_in(values: Iterable[Any]) -> list[ndarray]:
    """The arrays of mx.np among values, and in the lists and tuples among them."""
    found: list[ndarray] = []
    for value in values:
        if isinstance(value, ndarray):
            found.append(value)
        elif isinstance(value, list | tuple):
            found += arrays_in(value)
    return found


def _to_numpy(value: Any) -> Any:
    if isinstance(value, ndarray):
        return value.asnumpy()
    if type(value) in (list, tuple):
        return type(value)(map(_to_numpy, value))
    return value


def _from_numpy(value: Any, ctx: Context) -> Any:
    """NumPy's answer as ours: its arrays, alone and in lists and tuples, become arrays of mx.np; numbers stay numbers.

    Raises TypeError for an array of a dtype that arrays cannot have."""
    if isinstance(value, np.ndarray):
        if value.dtype.name not in DTYPE_FLAGS:
            raise TypeError(f"NumPy gave an array of dtype {value.dtype}, which arrays of mx.np cannot have")
        return ndarray._own(np.array(value, order="C"), ctx)
    if isinstance(value, list | tuple):
        made = [_from_numpy(v, ctx) for v in value]
        return made if isinstance(value, list) else tuple(made)
    if value is None or isinstance(value, (*NUMBER, np.dtype, str)):
        return value
    raise TypeError(f"NumPy gave a {type(value).__name__}, which mx.np has no counterpart of")


def fall_back(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A function of NumPy upon the values of arrays of mx.np, and its answer as such arrays again.

    Raises ValueError while recording: NumPy's functions leave no gradients."""
    arrays = arrays_in((*args, *kwargs.values()))
    if STATE.recording:
        raise ValueError(
            f"{getattr(function, '__name__', function)} is NumPy's own, which autograd cannot record; call it outside of "
            "autograd.record()"
        )
    answer = function(*map(_to_numpy, args), **{key: _to_numpy(value) for key, value in kwargs.items()})
    return _from_numpy(answer, arrays[0]._ctx if arrays else resolve(None))


def __array_ufunc__(self: ndarray, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:  # noqa: N807
    """NumPy's element-wise functions: ours of the same name, or NumPy's by falling back; their methods (reduce, ...) are left out.

    Raises ValueError for more than one out."""
    if method != "__call__":
        return NotImplemented
    if "out" in kwargs:
        (kwargs["out"], *more) = kwargs["out"]
        if more:
            raise ValueError(f"{ufunc.__name__}: the parameter out must be exactly one array, got {len(more) + 1}")
    name = ufunc.__name__
    if name in UFUNCS:
        return getattr(NP, name)(*inputs, **kwargs)
    out = kwargs.pop("out", None)
    answer = fall_back(ufunc, inputs, kwargs)
    if out is None:
        return answer
    out[...] = answer
    return out


def __array_function__(  # noqa: N807
    self: ndarray, func: Callable[..., Any], types: Iterable[type], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """NumPy's other functions: ours of the same name, or NumPy's by falling back."""
    name = OURS.get(func)
    if name is None:
        return fall_back(func, args, kwargs)
    if not all(issubclass(t, ndarray) for t in types):
        return NotImplemented
    return _at(NP, name)(*args, **kwargs)


ndarray.__array_ufunc__ = __array_ufunc__  # type: ignore[assignment]
ndarray.__array_function__ = __array_function__  # type: ignore[attr-defined]
