"""Attributes for every symbol made inside a ``with`` block."""

from __future__ import annotations

from collections.abc import Mapping

from .forking import lock
from .scope import Scope

_SUBGRAPHS: dict[str, int] = {}
_LOCK = lock()


class AttrScope(Scope):
    """``with AttrScope(ctx_group="stage1"):`` gives symbols the attribute; inner blocks add to and override outer ones.

    Raises ValueError for a value that is not text.

    Examples
    --------
    >>> from gluonnx import mx
    >>> with mx.AttrScope(ctx_group="stage1"):
    ...     x = mx.sym.var("x")
    >>> x.attr("ctx_group")
    'stage1'
    """

    def __init__(self, **kwargs: str) -> None:
        if not all(isinstance(v, str) for v in kwargs.values()):
            raise ValueError("Attributes need to be string")
        self._own = kwargs
        self._attr = dict(kwargs)
        self._before: list[dict[str, str]] = []
        """Attributes to restore on leaving, one entry for each block that this scope is in."""

    @staticmethod
    def subgraph_name(name: str) -> str:
        """A name for the subgraph of an operator that nobody has: with a number, behind that of the subgraph it is in.

        Examples
        --------
        >>> from gluonnx import mx
        >>> mx.AttrScope.subgraph_name("loop") != mx.AttrScope.subgraph_name("loop")
        True
        """
        outer = AttrScope.current._attr.get("__subgraph_name__")
        name = f"{outer}${name}" if outer else name
        with _LOCK:
            number = _SUBGRAPHS[name] = _SUBGRAPHS.get(name, -1) + 1
        return f"{name}{number}"

    def get(self, attr: Mapping[str, str] | None) -> dict[str, str]:
        """The attributes in force with ``attr`` on top.

        Examples
        --------
        >>> from gluonnx import mx
        >>> mx.AttrScope(a="1").get({"b": "2"})
        {'a': '1', 'b': '2'}
        """
        return {**self._attr, **(attr or {})}

    @staticmethod
    def clean() -> AttrScope:
        """A scope in which no attribute of outer blocks is in force.

        Examples
        --------
        >>> from gluonnx import mx
        >>> with mx.AttrScope(ctx_group="stage1"), mx.AttrScope.clean():
        ...     x = mx.sym.var("x")
        >>> x.attr("ctx_group") is None
        True
        """
        return _Clean()

    def __enter__(self) -> AttrScope:
        self._before.append(self._attr)
        self._attr = {**AttrScope.current._attr, **self._own}
        return super().__enter__()

    def __exit__(self, *exception: object) -> None:
        super().__exit__(*exception)
        if self._before:
            self._attr = self._before.pop()


class _Clean(AttrScope):
    def __enter__(self) -> AttrScope:
        return super(AttrScope, self).__enter__()
