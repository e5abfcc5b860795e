"""The frame of the functions of ``mx.np`` and ``mx.npx``: each is written once, for arrays and for symbols.

A definition is a function of a ``Side`` first, named ``F``, then of what programs call it with; ``@function(...)`` says which
modules show it. What ``mx.np`` and ``mx.sym.np`` give out is bound to its side, with the rest of the signature.

    @function("np")
    def square(F, x, out=None, **kwargs):
        return F.ops._npi_square(x, out=out)
"""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ..core.functions import Namespace
from ..core.later import Later
from ..eager.functions import np_namespace
from ..eager.np_array import ndarray
from ..frontend.np_symbol import _Symbol
from ..frontend.symbol import namespace


class Definition(NamedTuple):
    """A function of a Side and of what programs give."""

    function: Callable[..., Any]
    arrays: bool
    """True where there is one for arrays."""
    symbols: bool
    """True where there is one for symbols."""


_PACKAGE = __name__.rpartition(".")[0]
TABLE: dict[str, dict[str, Definition]] = {}
"""Definitions by the module of MXNet that shows them (np, np.random, np.linalg, npx, npx.random) and their name.

npx shows the operators ``_npx_*`` beside them, npx.image those named ``_npx__image_*``."""


class Side(NamedTuple):
    """Arrays of mx.np, or symbols of mx.sym.np, for which functions are written."""

    kind: type
    """The class of the arrays, or of the symbols."""
    ops: Namespace
    """Functions of the operators by their registered names (``F.ops._npi_add``), of arrays or symbols of that kind only."""
    where: str
    """Name of the module that shows numpy, within the package."""

    @property
    def eager(self) -> bool:
        """True for arrays."""
        return self.kind is ndarray

    def operators(self, name: str, prefix: str) -> Namespace:
        """A module of the side's functions of the operators whose names begin with prefix."""
        return np_namespace(name, prefix) if self.eager else namespace(name, prefix, face=_Symbol)


ARRAYS = Side(ndarray, np_namespace("hybrid.numpy._internal", "_"), "")
SYMBOLS = Side(_Symbol, namespace("hybrid.symbol.numpy._internal", "_", face=_Symbol), "symbol")


def function(
    *modules: str, arrays: bool = True, symbols: bool = True, name: str | None = None
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: the function is one of modules (np, np.random, np.linalg, npx, npx.random), for arrays, symbols or both."""

    def decorate(definition: Callable[..., Any]) -> Callable[..., Any]:
        for module in modules:
            TABLE.setdefault(module, {})[name or definition.__name__] = Definition(definition, arrays, symbols)
        return definition

    return decorate


@functools.cache
def definitions(module: str) -> dict[str, Definition]:
    """All definitions of a module."""
    for family in pkgutil.iter_modules(sys.modules[_PACKAGE].__path__):
        importlib.import_module(f"{_PACKAGE}.{family.name}")
    return TABLE.get(module, {})


@functools.cache
def examples() -> dict[str, str]:
    """Examples by the name of a function (``np.linalg.inv``), as sessions: examples.txt has a name, and below it, indented, its
    session."""
    text = Path(__file__).with_name("examples.txt").read_text(encoding="utf-8")
    parts = re.findall(r"^(\S+)\n((?:    .*\n)+)", text, re.MULTILINE)
    return {name: inspect.cleandoc(session) for name, session in parts}


def document(name: str, text: str, eager: bool) -> str:
    """The docstring of a function by its whole name, ``np.sum``: its text, the function of NumPy, an example of arrays."""
    parts = [inspect.cleandoc(text)]
    if name.startswith("np."):
        page = f"https://numpy.org/doc/1.26/reference/{'random/' if '.random.' in name else ''}generated/numpy"
        parts.append(f"Notes\n-----\nNumPy's function, for arrays of MXNet: {page}.{name[3:]}.html")
    if eager and name in examples():
        parts.append(f"Examples\n--------\n{examples()[name]}")
    return "\n\n".join(parts)


def bind(side: Side, of: str, name: str, definition: Callable[..., Any], module: str) -> Callable[..., Any]:
    """The function that programs call: the definition for a side, shown by a module of MXNet (of), here by another."""

    def bound(*args: Any, **kwargs: Any) -> Any:
        return definition(side, *args, **kwargs)

    own = inspect.signature(definition)
    bound.__signature__ = own.replace(parameters=list(own.parameters.values())[1:])  # type: ignore[attr-defined]
    bound.__name__ = bound.__qualname__ = name
    bound.__module__ = module
    text = definition.__doc__ or ""
    bound.__doc__ = Later(text, lambda: document(f"{of}.{name}", text, side.eager))
    return bound


class Functions:
    """A module of functions of a side, made as they are asked for: ``mx.sym.np``, ``mx.nd.npx`` and the like."""

    def __init__(self, side: Side, of: str, prefix: str | None = None, **inner: Any):
        """prefix: of the operators whose names, without it, are names of this module; inner: modules within."""
        stem = {"np": "numpy", "npx": "numpy_extension"}
        first, *rest = of.split(".")
        self.__name__ = ".".join([_PACKAGE.partition(".")[0], *filter(None, [side.where]), stem[first], *rest])
        self._side, self._of = side, of
        self._operators = None if prefix is None else side.operators(self.__name__, prefix)
        self.__dict__.update(inner)

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":
            return list(self.names())
        found = None if name.startswith("__") else definitions(self._of).get(name)
        if found is not None and (found.arrays if self._side.eager else found.symbols):
            made = bind(self._side, self._of, name, found.function, self.__name__)
        elif self._operators is not None and not name.startswith("_"):
            made = getattr(self._operators, name)
        else:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        setattr(self, name, made)
        return made

    def names(self) -> Iterator[str]:
        """Names of all functions there are."""
        for name, found in definitions(self._of).items():
            if found.arrays if self._side.eager else found.symbols:
                yield name
        if self._operators is not None:
            yield from (name for name in self._operators.names() if not name.startswith("_"))

    def __dir__(self) -> list[str]:
        return sorted({*self.__dict__, *self.names()})

    def __repr__(self) -> str:
        return f"<module {self.__name__!r}>"


def modules(side: Side) -> tuple[Functions, Functions]:
    """np and npx of a side."""
    inner: dict[str, Any] = {name: Functions(side, f"np.{name}") for name in ("random", "linalg")}
    if not side.eager:
        inner["_Symbol"] = _Symbol
    np = Functions(side, "np", **inner, _internal=side.operators(side.ops.__name__, "_npi_"))
    image = Functions(side, "npx.image", "_npx__image_")
    random = Functions(side, "npx.random")
    return np, Functions(side, "npx", "_npx_", random=random, image=image)


NP, NPX = modules(ARRAYS)
SYM_NP, SYM_NPX = modules(SYMBOLS)
