"""``mx.np.random``: NumPy's names of what draws random numbers, with parameters that are numbers or arrays of mx.np."""

from __future__ import annotations

from typing import Any

from ..np_functions.side import NP


def __getattr__(name: str) -> Any:
    if name.startswith("__") and name != "__all__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(NP.random, name)


def __dir__() -> list[str]:
    return sorted(NP.random.names())
