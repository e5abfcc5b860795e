"""Names of blocks: a counter per kind of block, and prefixes that nest with ``name_scope``."""

from __future__ import annotations

import threading
from typing import Any, Protocol

from ..name import NameManager, Prefix
from .parameter_dict import ParameterDict


class Named(Protocol):
    """A block as far as names are made of it: its prefix, whether that was given as "", and its own parameters."""

    _empty_prefix: bool

    @property
    def prefix(self) -> str: ...

    @property
    def params(self) -> ParameterDict: ...


class _BlockScope:
    """``with block.name_scope():`` blocks made inside are named after this one, and so are symbols.

    A block whose prefix was given as "" has no scope of its own: names are those of the scope around it."""

    _current = threading.local()

    def __init__(self, block: Named):
        self._block = block
        self._counter: dict[str, int] = {}
        self._entered: list[tuple[_BlockScope | None, Prefix]] = []

    @staticmethod
    def create(prefix: str | None, params: ParameterDict | None, hint: str) -> tuple[str, ParameterDict]:
        """The prefix of a block made now, and the dict for its parameters, sharing those of ``params``."""
        scope = _BlockScope._innermost()
        if prefix is None:
            if scope is None:
                name: str = NameManager.current.get(None, hint)
            else:
                number = scope._counter.get(hint, 0)
                scope._counter[hint] = number + 1
                name = f"{hint}{number}"
            prefix = f"{name}_"
        full = prefix if scope is None else scope._block.prefix + prefix
        if params is not None:
            return full, ParameterDict(params.prefix, params)
        if scope is None:
            return full, ParameterDict(full)
        parent = scope._block.params  # its prefix differs from the block's where the parameters are shared
        return full, ParameterDict(parent.prefix + prefix, parent._shared)

    @staticmethod
    def _innermost() -> _BlockScope | None:
        return getattr(_BlockScope._current, "value", None)

    def __enter__(self) -> _BlockScope:
        if not self._block._empty_prefix:
            names = Prefix(self._block.prefix)
            self._entered.append((self._innermost(), names))
            _BlockScope._current.value = self
            names.__enter__()
        return self

    def __exit__(self, *exception: Any) -> None:
        if not self._block._empty_prefix:
            outer, names = self._entered.pop()
            names.__exit__(*exception)
            _BlockScope._current.value = outer
