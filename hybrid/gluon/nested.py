"""Nested lists of arrays or symbols, taken apart and put together again.

A format says how: an int for one thing (0 a single one, n > 0 a symbol of n outputs, -1 None), a list for a list.
"""

from __future__ import annotations

from typing import Any

from ..context import Context
from ..ndarray import NDArray
from ..symbol import Symbol

Format = Any


def _flatten(args: Any, inout_str: str) -> tuple[list[Any], Format]:
    """(everything in args in order, its format). Raises ValueError for what is neither array, symbol, None nor a list."""
    if isinstance(args, NDArray):
        return [args], 0
    if isinstance(args, Symbol):
        outputs = len(args._entries)
        return [args], outputs if outputs > 1 else 0
    if args is None:
        return [None], -1
    if not isinstance(args, list | tuple):
        raise ValueError(
            f"When hybridized, the {inout_str} of HybridBlock must be a Symbol or NDArray, or a (nested) list of them, "
            f"but got {args} of type {type(args)}"
        )
    flat: list[Any] = []
    formats = []
    for arg in args:
        parts, form = _flatten(arg, inout_str)
        flat += parts
        formats.append(form)
    return flat, formats


def _regroup(args: Any, fmt: Format) -> Any:
    """Put together what _flatten took apart, tuples as lists. Raises ValueError when something stands where there was None."""
    grouped, _ = _take(list(args), 0, fmt)
    return grouped


def _take(args: list[Any], at: int, fmt: Format) -> tuple[Any, int]:
    if isinstance(fmt, list):
        group = []
        for part in fmt:
            one, at = _take(args, at, part)
            group.append(one)
        return group, at
    if fmt > 0:
        return args[at : at + fmt], at + fmt
    if fmt == -1 and args[at] is not None:
        raise ValueError(
            f"got {args[at]} where the block was traced with None; call hybridize() again to trace it anew"
        )
    return args[at], at + 1


def kinds(args: Any) -> tuple[bool, bool, list[Context]]:
    """(whether there are symbols, whether there are arrays, the arrays' contexts in order of appearance)."""
    symbols, arrays, contexts = False, False, []
    for arg in args:
        if isinstance(arg, NDArray):
            arrays = True
            if arg._ctx not in contexts:
                contexts.append(arg._ctx)
        elif isinstance(arg, Symbol):
            symbols = True
        elif isinstance(arg, list | tuple):
            inner = kinds(arg)
            symbols, arrays = symbols or inner[0], arrays or inner[1]
            contexts += [c for c in inner[2] if c not in contexts]
    return symbols, arrays, contexts
