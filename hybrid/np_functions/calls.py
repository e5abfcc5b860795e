"""Eager calls of operators whose attributes are the same again and again: which operator they mean is remembered."""

from __future__ import annotations

from typing import Any

from ..core.op import INSTANCES, Op, lookup
from ..eager.array import invoke
from ..eager.np_array import ndarray
from .side import Side

_KNOWN: dict[tuple[Any, ...], Op] = {}


def apply(F: Side, name: str, inputs: tuple[Any, ...], out: Any = None, **attributes: Any) -> Any:  # noqa: N803
    """Apply an operator. The names and order of attributes are those of the place that calls; equal values must mean the same, so
    numbers that may be -0.0 are left to F.ops."""
    if F.eager and out is None and all(type(x) is ndarray for x in inputs):
        key = (name, len(inputs), *attributes.values())
        try:
            op = _KNOWN.get(key)
        except TypeError:  # a list among the attributes
            return getattr(F.ops, name)(*inputs, **attributes)
        if op is None:
            op = lookup(name).bind(**attributes)
            if len(op.input_names()) != len(inputs):
                return getattr(F.ops, name)(*inputs, **attributes)
            if len(_KNOWN) >= INSTANCES:
                _KNOWN.clear()
            _KNOWN[key] = op
        return invoke(op, inputs)
    return getattr(F.ops, name)(*inputs, out=out, **attributes)
