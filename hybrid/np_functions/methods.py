"""Python's operators and the methods of arrays and symbols of mx.np, which are functions of mx.np."""

from __future__ import annotations

from typing import Any

from ..core.functions import add_operators
from ..eager.np_array import ndarray
from ..frontend.np_symbol import _Symbol
from .elementwise import BINARY, binary, unary
from .side import ARRAYS, SYMBOLS, Side


def _operators(side: Side) -> None:
    """Give a side's class Python's operators."""

    def prefix(name: str) -> Any:
        return lambda self: unary(side, name, self)

    add_operators(side.kind, lambda row, a, b: binary(side, row, a, b), BINARY.values())
    for dunder, name in (("neg", "negative"), ("abs", "absolute"), ("invert", "invert")):
        setattr(side.kind, f"__{dunder}__", prefix(name))


_operators(ARRAYS)
_operators(SYMBOLS)
_Symbol.__hash__ = None  # type: ignore[assignment]


def _in_place(name: str) -> Any:
    def assign(self: ndarray, other: Any) -> ndarray:
        return binary(ARRAYS, BINARY[name], self, other, self)

    return assign


_NOT_IN_PLACE = ("eq", "ne", "gt", "ge", "lt", "le", "pow")  # MXNet has no __ipow__
for _row in BINARY.values():
    if _row.dunder is not None and _row.dunder not in _NOT_IN_PLACE:
        setattr(ndarray, f"__i{_row.dunder}__", _in_place(_row.name))
