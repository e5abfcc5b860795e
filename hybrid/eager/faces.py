"""The two faces of arrays and symbols, those of mx.nd and mx.sym and those of mx.np, in whatever holds them."""

from __future__ import annotations

from typing import Any

from ..core.np_mode import is_np_array
from ..frontend.np_symbol import _Symbol
from ..frontend.symbol import Symbol
from .array import NDArray
from .np_array import ndarray


def as_nd(value: Any) -> Any:
    """Arrays and symbols of mx.np as those of mx.nd and mx.sym, in lists and tuples too; anything else as it is."""
    if isinstance(value, NDArray | Symbol):
        return value.as_nd_ndarray() if isinstance(value, _NP) else value
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return type(value)(map(as_nd, value))
    return value


def as_np(value: Any) -> Any:
    """Arrays and symbols as those of mx.np, in lists and tuples too; sparse arrays and anything else as they are."""
    if isinstance(value, NDArray):
        return value.as_np_ndarray() if value.stype == "default" else value
    if isinstance(value, Symbol):
        return value.as_np_ndarray()
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return type(value)(map(as_np, value))
    return value


def want_np(value: Any, what: str) -> None:
    """Raise TypeError where an array or symbol, in lists and tuples too, is none of mx.np; what: it is, for the error."""
    if isinstance(value, list | tuple):
        for part in value:
            want_np(part, what)
    elif isinstance(value, NDArray | Symbol) and not isinstance(value, _NP):
        raise TypeError(
            f"{what}: got {type(value).__name__} where arrays are those of mx.np; call as_np_ndarray() upon it, or leave "
            "np_array off"
        )


def dressed(value: Any) -> Any:
    """Arrays and symbols as this thread has them: of mx.np with np_array, else of mx.nd and mx.sym."""
    return as_np(value) if is_np_array() else as_nd(value)


_NP = (ndarray, _Symbol)
