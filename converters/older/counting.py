"""Rounding, counting and adding up."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx

from ..value import Value
from .forms import before
from .known import both, constant, is_whole, static
from .schemas import undefined


@before(11, "Round")
def to_even(b: Any, op_type: str, x: Any) -> Any:
    """The whole number below, and one more from the middle on, in the middle itself where that one is odd."""
    below = b.node("Floor", x)
    rest = b.node("Sub", x, below)
    odd = b.node("Sub", below, b.node("Mul", b.node("Floor", b.node("Mul", below, 0.5)), 2))
    middle = b.node("And", b.node("Not", b.node("Less", rest, 0.5)), b.node("Greater", odd, 0.5))
    up = b.node("Or", b.node("Greater", rest, 0.5), middle)
    return b.node("Add", below, b.cast(up, x.dtype))


@before(9, "Sign")
def sign_of(b: Any, op_type: str, x: Any) -> Any:
    """Sign as (x > 0) - (x < 0)."""
    return b.node("Sub", b.cast(b.node("Greater", x, 0), x.dtype), b.cast(b.node("Less", x, 0), x.dtype))


@before(10, "Mod")
def remainder(b: Any, op_type: str, x: Any, y: Any, *, fmod: int = 0) -> Any:
    """Of whole numbers: what is left of the quotient that is cut off, brought to the divisor's sign."""
    x, y = both(b, x, y)
    if fmod or not is_whole(x.dtype):
        raise undefined(op_type, b.opset)
    left = b.node("Sub", x, b.node("Mul", b.node("Div", x, y), y))
    if x.dtype.kind == "u":
        return left
    low, negative = b.node("Less", left, 0), b.node("Less", y, 0)
    other = b.node("And", b.node("Xor", low, negative), b.node("Not", b.node("Equal", left, 0)))
    return b.node("Where", other, b.node("Add", left, y), left)


@before(11, "Range")
def counted(b: Any, op_type: str, start: Any, limit: Any, step: Any) -> Any:
    """Constants, or the places of as many ones."""
    known = [constant(v) for v in (start, limit, step)]
    if all(v is not None for v in known):
        first = next((v for v in (start, limit, step) if isinstance(v, Value)), None)
        dtype = np.dtype(np.int64) if first is None else first.dtype
        begin, end, by = (v.item() for v in known if v is not None)
        return b.const(np.arange(begin, end, by, dtype=dtype))
    if (
        known[0] is None
        or known[2] is None
        or known[0] != 0
        or known[2] != 1
        or b.opset < 9
        or not is_whole(limit.dtype)
    ):
        raise undefined(op_type, b.opset)
    count = b.reshape(b.cast(limit, np.int64), [1])
    ones = b.plain("ConstantOfShape", count, value=onnx.numpy_helper.from_array(np.ones(1, np.int64)), dtype=np.int64)
    return b.cast(b.plain("Squeeze", b.plain("NonZero", ones), axes=[0]), limit.dtype)


@before(8, "Expand")
def tiled(b: Any, op_type: str, x: Any, dims: Any) -> Any:
    """Expand as Tile, of what has the wanted rank."""
    wanted = constant(dims)
    if wanted is None:
        raise undefined(op_type, b.opset)
    given = static(b, op_type, x, 8)
    target = np.broadcast_shapes(given, tuple(np.ravel(wanted).tolist()))
    given = (1,) * (len(target) - len(given)) + given
    repeats = [n if own == 1 else 1 for n, own in zip(target, given)]
    return b.plain("Tile", b.reshape(x, list(given)), repeats) if target else x


@before(11, "CumSum")
def sums_so_far(b: Any, op_type: str, x: Any, axis: Any, *, exclusive: int = 0, reverse: int = 0) -> Any:
    """CumSum as a product with a triangle of ones."""
    along = constant(axis)
    if along is None:
        raise undefined(op_type, b.opset)
    sizes = static(b, op_type, x, 11)
    at = int(along.reshape(())) % len(sizes)
    ones = np.triu(np.ones((sizes[at], sizes[at])), 1 if exclusive else 0)
    perm = [*(a for a in range(len(sizes)) if a != at), at]
    summed = b.node("MatMul", b.transpose(x, perm), b.const((ones.T if reverse else ones).astype(x.dtype)))
    return b.transpose(summed, np.argsort(perm).tolist())
