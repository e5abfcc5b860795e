"""Groups of options that commands share."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar, get_type_hints

Command = TypeVar("Command", bound=Callable[..., None])


def grouped(function: Command) -> Command:
    """Make a command of a function that takes groups: a parameter whose type is a dataclass of options stands for its fields.

    Typer reads a signature, which here has all of them one by one, in order; the function gets each group as one value. Raises
    TypeError where two have an option of one name."""
    groups: dict[str, type] = {}
    options: dict[str, inspect.Parameter] = {}
    # read by the signature: of Python 3.10, get_type_hints hides what is annotated inside Optional where the default is None
    for name, own in inspect.signature(function, eval_str=True).parameters.items():
        kind = own.annotation
        if is_dataclass(kind) and isinstance(kind, type):
            groups[name] = kind
            inside = get_type_hints(kind, include_extras=True)
            found = [own.replace(name=f.name, default=f.default, annotation=inside[f.name]) for f in fields(kind)]
        else:
            found = [own]
        for option in found:
            if option.name in options:
                raise TypeError(f"{function.__name__}: two options are called {option.name}")
            options[option.name] = option.replace(kind=inspect.Parameter.KEYWORD_ONLY)

    @functools.wraps(function)
    def command(**given: Any) -> None:
        made = {n: kind(**{f.name: given.pop(f.name) for f in fields(kind)}) for n, kind in groups.items()}
        function(**given, **made)

    command.__signature__ = inspect.Signature(list(options.values()))  # type: ignore[attr-defined]  # inspect looks for it
    command.__annotations__ = {n: o.annotation for n, o in options.items()}
    return command  # type: ignore[return-value]  # it takes the same, in other words
