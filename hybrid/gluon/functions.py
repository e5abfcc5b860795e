"""``F`` of hybrid_forward where arrays are those of mx.np: ``F.np`` and ``F.npx``, and beside them all that mx.nd (or mx.sym) has,
for such arrays. Layers are so written once, and what a program has of its own from mx.nd goes on as it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import ndarray, symbol
from ..core.functions import SUBMODULES, Namespace
from ..eager.faces import as_nd, as_np
from ..eager.functions import np_namespace
from ..frontend.np_symbol import _Symbol
from ..frontend.symbol import namespace


class Functions:
    """A module of functions, or one of its inner ones, for arrays (or symbols) of mx.np."""

    def __init__(self, module: Any, operators: Callable[[str], Namespace], prefix: str = ""):
        self.__name__ = module.__name__
        self._module, self._operators, self._prefix = module, operators, prefix
        self._own, self._inner = operators(prefix), operators("_")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = self._find(name)
        setattr(self, name, found)
        return found

    def _find(self, name: str) -> Any:
        held = getattr(self._module, name)  # raises for what there is not
        if name in ("np", "npx"):
            return held
        if not self._prefix and name in SUBMODULES:
            return Functions(held, self._operators, SUBMODULES[name])
        if not self._prefix and name in ("contrib", "random"):
            return Functions(held, self._operators, f"_{name}_")
        if name in ("op", "_internal"):
            return self._own if name == "op" else self._inner
        if not callable(held) or isinstance(held, type) or (self._prefix == "_contrib_" and name in _CONTROL):
            return held
        try:
            own = self._inner if name.startswith("_") else self._own
            return getattr(own, name) if name not in vars(self._module) else _through(held)
        except AttributeError:
            return _through(held)


_CONTROL = ("cond", "foreach", "while_loop")
"""Functions of contrib whose bodies get arrays as they are given."""


def _through(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of mx.nd that is no operator, for arrays of mx.np."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return as_np(function(*map(as_nd, args), **{k: as_nd(v) for k, v in kwargs.items()}))

    call.__name__, call.__doc__ = getattr(function, "__name__", "call"), function.__doc__
    return call


def named(functions: Any, name: str) -> Any:
    """A function by name: NumPy's, that of npx, or that of mx.nd (mx.sym). Raises AttributeError where there is none."""
    if functions in (ARRAYS, SYMBOLS):
        for module in (functions.np, functions.npx):
            if hasattr(module, name):
                return getattr(module, name)
    return getattr(functions, name)


ARRAYS = Functions(ndarray, lambda prefix: np_namespace("hybrid.ndarray.np", prefix))
SYMBOLS = Functions(symbol, lambda prefix: namespace("hybrid.symbol.np", prefix, face=_Symbol))
EAGER = (ndarray, ARRAYS)
"""Values of F where hybrid_forward computes with arrays."""
