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
    _slice: Callable[[Any], Any]  # from np_functions/methods.py

    def as_np_ndarray(self) -> _Symbol:
        return self

    def __reduce__(self) -> Any:
        return _load, (self.tojson(remove_amp_cast=False),)

    @property
    def num_outputs(self) -> int:
        return len(self._entries)

    @property
    def name(self) -> str:
        """The node's name. Raises AttributeError where there are several outputs."""
        if len(self._entries) != 1:
            raise AttributeError(
                f"This is a Group Symbol that contains {len(self._entries)} elements and does not have a name. Use str(sym) to "
                "print the name of all the elements instead."
            )
        return self._entries[0].node.name

    def __repr__(self) -> str:
        if len(self._entries) == 1:
            return f"<_Symbol {self.name}>"
        return f"<_Symbol group [{', '.join(repr(part) for part in self)}]>"

    def __getitem__(self, index: Any) -> Any:
        """An output by number or slice where there are several, else a part of the array, by numbers, slices, None and ``...``.

        Raises IndexError for an output that there is not and for arrays as indices: the shape of what these give is not known."""
        if len(self._entries) == 1:
            return self._slice(index)
        if isinstance(index, slice):
            return type(self)(self._entries[index])
        if not hasattr(index, "__index__"):
            raise TypeError(f"indices of symbol group must be integers or slices, not {type(index)}")
        if not -len(self._entries) <= index < len(self._entries):
            raise IndexError("list index out of range")
        return type(self)([self._entries[index]])

    def __setitem__(self, index: Any, value: Any) -> None:
        raise NotImplementedError("symbols cannot be written to")

    def __len__(self) -> int:
        """Number of outputs. Raises TypeError where there is one: how long it is is not known."""
        if len(self._entries) == 1:
            raise TypeError(f"{self} is not a list and does not support len().")
        return len(self._entries)

    def __iter__(self) -> Any:
        if len(self._entries) == 1:
            raise TypeError(f"{self!r} is not iterable.")
        return Symbol.__iter__(self)


def _load(text: str) -> _Symbol:
    return _Symbol(load_json(text)._entries)


_Symbol._face = _Symbol
