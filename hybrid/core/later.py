"""Texts that are put together when they are read."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


class Later(str):
    """A text that is put together when it is read; what it holds before is its beginning, which is cheap.

    ``help``, ``inspect.getdoc``, ``print`` and the methods by which docstrings are read see the whole."""

    make: Callable[[], str]

    def __new__(cls, beginning: str, make: Callable[[], str]) -> Later:
        made = super().__new__(cls, beginning)
        made.make = functools.cache(make)  # type: ignore[method-assign]
        return made

    def __str__(self) -> str:
        return self.make()

    def __repr__(self) -> str:
        return repr(self.make())

    def __format__(self, spec: str) -> str:
        return format(self.make(), spec)

    def __contains__(self, part: object) -> bool:
        return part in self.make()  # type: ignore[operator]

    def __len__(self) -> int:
        return len(self.make())

    def __reduce__(self) -> tuple[Any, ...]:
        return str, (self.make(),)


def _forwarded(name: str) -> Callable[..., Any]:
    def call(self: Later, *args: Any, **kwargs: Any) -> Any:
        return getattr(self.make(), name)(*args, **kwargs)

    call.__name__ = name
    return call


for _name in (
    "expandtabs", "split", "splitlines", "partition", "strip", "replace", "find", "startswith", "endswith", "encode"
):  # fmt: skip
    setattr(Later, _name, _forwarded(_name))
