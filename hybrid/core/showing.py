"""``__getattr__`` and ``__dir__`` of modules that show names of others, taken from there when they are asked for."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

Shown = tuple[Callable[[str], Any], Callable[[], list[str]]]
"""``__getattr__`` and ``__dir__`` of a module."""


def from_modules(module: dict[str, Any], places: Mapping[str, str]) -> Shown:
    """Of a package (its ``globals()``) that shows names of its modules. places: the module of each name."""
    package = module["__name__"]

    def find(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(importlib.import_module(f"{package}.{places[name]}"), name)
        module[name] = found
        return found

    return find, lambda: sorted({*module, *module["__all__"]})


def from_functions(
    module: dict[str, Any], make: Callable[[str], Any], names: Callable[[], Iterable[str]], inner: tuple[str, ...] = ()
) -> Shown:
    """Of a module that shows beside its own names what is made when it is asked for.

    make: the object of a name, or AttributeError; names: all that there are; inner: modules within, loaded likewise."""
    label = module["__name__"]

    def find(name: str) -> Any:
        if name == "__all__":  # asked for by "from ... import *"
            return [n for n in listed() if not n.startswith("_") and n not in _HELPERS]
        if name in inner:
            return importlib.import_module(f"{label}.{name}")
        try:
            if name.startswith("__"):
                raise AttributeError(name)
            found = make(name)
        except AttributeError:
            raise AttributeError(f"module {label!r} has no attribute {name!r}") from None
        module[name] = found
        return found

    def listed() -> list[str]:
        return sorted({*module, *inner, *names()})

    return find, listed


_HELPERS = ("Any", "NP", "NPX", "annotations", "from_functions", "onp")
"""Names that such modules have for themselves."""
