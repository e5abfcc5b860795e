"""``mx.sym.np._Symbol``: the second face of symbols. The graph is Symbol's; what differs is what Python's operators, indices and
methods mean: NumPy's, not those of mx.sym.

Methods that are functions of mx.sym.np are put here by np_functions/methods.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .symbol import Symbol, load_json


class _Symbol(Symbol):
    """A symbol of mx.sym.np. Made of a Symbol by ``as_np_ndarray``, or by the functions of mx.sym.np.

    Source: MXNet mx.sym.np._Symbol."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]  == makes a symbol
    _slice: Callable[[Any, Any], Any]  # from np_functions/methods.py

    def as_np_ndarray(self) -> _Symbol:
        return self

    def __reduce__(self) -> Any:
        return _load, (self.tojson(remove_amp_cast=False),)

    def __getitem__(self, index: Any) -> Any:
        """An output by number or name where there are several, else a part of the array, by numbers, slices, None and ``...``.

        Raises MXNetError for arrays as indices: the shape of what they give is not known."""
        if len(self._entries) > 1 or isinstance(index, str):
            return Symbol.__getitem__(self, index)
        return self._slice(index)

    def __iter__(self) -> Any:
        if len(self._entries) == 1:
            raise TypeError("a symbol of mx.sym.np with one output cannot be iterated over")
        return Symbol.__iter__(self)


def _load(text: str) -> _Symbol:
    return _Symbol(load_json(text)._entries)


_Symbol._face = _Symbol
