"""``mx.np.linalg``: matrices factored, inverted and measured (np_functions/linalg.py); six functions are NumPy's own."""

from __future__ import annotations

from typing import Any

from ..np_functions.side import NP
from .fallback_linalg import cond, lstsq, matrix_power, matrix_rank, multi_dot, qr  # noqa: F401


def __getattr__(name: str) -> Any:
    try:
        found = getattr(NP.linalg, name)
    except AttributeError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *NP.linalg.names()})
