"""The base of name managers, attribute scopes and contexts: a ``with`` block makes an object the current one."""

from __future__ import annotations

import threading
from typing import Any, TypeVar

T = TypeVar("T", bound="Scope")


class _Current:
    """``Class.current``: the object whose ``with`` block this thread is in, or the class's default."""

    def __get__(self, instance: Any, owner: type[Any]) -> Any:
        stack = owner._stack()
        return stack[-1] if stack else owner._default()


class Scope:
    """Base class. Each direct subclass has a stack of its own in each thread; what derives further shares it."""

    current = _Current()
    _threads: threading.local
    _base: type[Any]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if Scope in cls.__bases__:
            cls._threads = threading.local()
            cls._base = cls

    @classmethod
    def _stack(cls) -> list[Any]:
        return cls._threads.__dict__.setdefault("stack", [])

    @classmethod
    def _default(cls) -> Any:
        """Return the object that is current outside of any block: one a thread."""
        store = cls._threads.__dict__
        if "default" not in store:
            store["default"] = cls._base()
        return store["default"]

    @classmethod
    def _set_current(cls, value: Any) -> None:
        """Make an object current to the end of the ``with`` block, or outside of any the default of this thread."""
        stack = cls._stack()
        if stack:
            stack[-1] = value
        else:
            cls._threads.__dict__["default"] = value

    def __enter__(self: T) -> T:
        self._stack().append(self)
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack().pop()
