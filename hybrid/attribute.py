"""Attributes for every symbol made inside a ``with`` block."""

from __future__ import annotations

from collections.abc import Mapping

from .scope import Scope


class AttrScope(Scope):
    """``with AttrScope(ctx_group="stage1"):`` gives symbols the attribute; inner blocks add to and override outer ones.

    Raises ValueError for a value that is not text.
    """

    def __init__(self, **kwargs: str) -> None:
        if not all(isinstance(v, str) for v in kwargs.values()):
            raise ValueError("Attributes need to be string")
        self._own = kwargs
        self._attr = dict(kwargs)

    def get(self, attr: Mapping[str, str] | None) -> dict[str, str]:
        """The attributes in force with ``attr`` on top."""
        return {**self._attr, **(attr or {})}

    @staticmethod
    def clean() -> AttrScope:
        """A scope in which no attribute of outer blocks is in force."""
        return _Clean()

    def __enter__(self) -> AttrScope:
        self._attr = {**AttrScope.current._attr, **self._own}
        return super().__enter__()


class _Clean(AttrScope):
    def __enter__(self) -> AttrScope:
        return super(AttrScope, self).__enter__()
