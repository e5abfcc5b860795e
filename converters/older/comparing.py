"""Comparisons, and what chooses by them."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

from hybrid.core.shapes import is_known

from ..value import Value
from .forms import before, wanting
from .known import as_value, both, is_whole, shape
from .schemas import undefined


def _no_nan(b: Any, *values: Any) -> Iterator[Any]:
    """Truths that none of the values is NaN, of those that can be; none where NaN is not answered for."""
    for x in values:
        if b.forms.nan_guards is not False and not is_whole(x.dtype) and (x.const is None or np.isnan(x.const).any()):
            yield b.node("Not", b.node("IsNaN", x))


@before(9, "IsNaN")
def neither_above_nor_below(b: Any, op_type: str, x: Any) -> Any:
    """A number is less than 1 or greater than 0."""
    return b.node("Not", b.node("Or", b.node("Less", x, 1), b.node("Greater", x, 0)))


@before(10, "IsInf")
def beyond_the_last(b: Any, op_type: str, x: Any, *, detect_negative: int = 1, detect_positive: int = 1) -> Any:
    """Beyond the largest number there is."""
    x = b.wide(x)
    last = float(np.finfo(x.dtype).max)
    high, low = b.node("Greater", x, last), b.node("Less", x, -last)
    if detect_negative and detect_positive:
        return b.node("Or", high, low)
    return low if detect_negative else high


@before(11, "Equal")
def neither_less_nor_greater(b: Any, op_type: str, x: Any, y: Any) -> Any:
    """Equal is of bools, int32 and int64 before opset 11."""
    x, y = both(b, x, y)
    if x.dtype is None or x.dtype.kind != "f":
        return b.plain(op_type, x, y)
    same = b.node("Not", b.node("Or", b.node("Less", x, y), b.node("Greater", x, y)))
    return functools.reduce(lambda a, c: b.node("And", a, c), _no_nan(b, x, y), same)


@before(12, "GreaterOrEqual", "LessOrEqual")
def or_equal(b: Any, op_type: str, x: Any, y: Any) -> Any:
    """Not the contrary, where both are numbers."""
    x, y = both(b, x, y)
    contrary = b.node("Less" if op_type == "GreaterOrEqual" else "Greater", x, y)
    return functools.reduce(lambda a, c: b.node("And", a, c), _no_nan(b, x, y), b.node("Not", contrary))


@before(9, "Where")
def choose(b: Any, op_type: str, condition: Any, x: Any, y: Any) -> Any:
    """Bools by logic and whole numbers by products; floats may be infinite, and infinity times 0 is NaN."""
    x, y = both(b, x, y)
    if x.dtype == np.bool_:
        return b.node("Or", b.node("And", condition, x), b.node("And", b.node("Not", condition), y))
    if not is_whole(x.dtype):
        raise undefined(op_type, b.opset)
    taken = b.cast(condition, x.dtype)
    left = b.cast(b.node("Not", condition), x.dtype)
    return b.node("Add", b.node("Mul", taken, x), b.node("Mul", left, y))


@before(12, "Max", "Min")
def greater_of_two(b: Any, op_type: str, *inputs: Any) -> Any:
    """Of floats alone before opset 12, and of one shape before 8."""
    first = next(x for x in inputs if isinstance(x, Value))
    values = [as_value(b, x, first) for x in inputs]
    whole = is_whole(first.dtype)
    if b.opset >= 8 and not whole:
        return b.plain(op_type, *values)
    if b.opset < 8 and not whole:
        sizes = {shape(b, x) for x in values if x.const is None or x.const.size != 1}
        known = next(iter(sizes), None)
        if len(sizes) != 1 or not is_known(known):
            if (
                len(values) == 2
                and values[1].const is not None
                and values[1].const.size == 1
                and first.dtype != np.float64
            ):
                bound = "min" if op_type == "Max" else "max"
                return b.plain("Clip", values[0], **{bound: float(values[1].const.reshape(()))})
            raise wanting(b.opset, f"{op_type} of tensors that broadcast", 8)
        return b.plain(
            op_type, *(x if shape(b, x) == known else b.const(np.broadcast_to(x.const, known)) for x in values)
        )
    compared = "Less" if op_type == "Max" else "Greater"
    return functools.reduce(lambda x, y: b.node("Where", b.node(compared, x, y), y, x), values)


@before(8, "Sum")
def add_up(b: Any, op_type: str, *inputs: Any) -> Any:
    """Sum does not broadcast before opset 8."""
    return functools.reduce(lambda x, y: b.node("Add", x, y), inputs)
