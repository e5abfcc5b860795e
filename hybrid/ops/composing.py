"""Parts that compositions (``Op.composition``) share: expressions widened, reshaped, repeated, filled."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.shapes import UNKNOWN, Shape, Undecided


def of_floats(*inputs: Any) -> bool:
    """True unless one of the inputs is known to hold whole numbers, or no numbers."""
    return all(x.dtype is None or x.dtype.kind not in "iubO" for x in inputs)


def known(*inputs: Any) -> bool:
    """True where the dtype and the rank of every input are known."""
    return all(x.dtype is not None and x.shape is not None for x in inputs)


def is_half(dtype: np.dtype | None) -> bool:
    """True for floats of two bytes."""
    return dtype is not None and dtype.itemsize == 2 and dtype.kind not in "iub"


def widely(F: Any, dtype: np.dtype | None, *inputs: Any) -> list[Any]:
    """The inputs, in float32 where dtype is a float of two bytes: as common.widen has arrays."""
    return [F.Cast(x, dtype="float32") if is_half(dtype) else x for x in inputs]


def narrowly(F: Any, dtype: np.dtype | None, result: Any) -> Any:
    """A result of what widely gave, in that dtype again."""
    return F.Cast(result, dtype=dtype) if is_half(dtype) else result


def computed_widely(F: Any, x: Any, function: Callable[[Any], Any]) -> Any:
    """function of x, in float32 where x is a float of two bytes, and rounded once; None where little is known of x."""
    return narrowly(F, x.dtype, function(*widely(F, x.dtype, x))) if known(x) else None


def cast(F: Any, x: Any, have: np.dtype | None, dtype: np.dtype) -> Any:
    """x, which is of dtype have, in another."""
    return x if have is not None and have == dtype else F.Cast(x, dtype=dtype)


def sizes(shape: Shape) -> tuple[int, ...]:
    """A shape as attributes have it, -1 for a size that is not known. Raises Undecided where there are several."""
    unknown = [d is UNKNOWN for d in shape]
    if sum(unknown) > 1 or (any(unknown) and 0 in [d for d in shape if d is not UNKNOWN]):
        raise Undecided
    return tuple(-1 if u else d for d, u in zip(shape, unknown))


def reshaped(F: Any, x: Any, shape: Shape) -> Any:
    """x in that shape."""
    return F._np_reshape(x, newshape=sizes(shape))


def definite(shape: Shape) -> Shape:
    """The shape. Raises Undecided where a size is not known."""
    if any(d is UNKNOWN for d in shape):
        raise Undecided
    return shape


def repeated(F: Any, x: Any, shape: Shape) -> Any:
    """x repeated to that shape, along axes of size 1 and new ones in front."""
    return F._npi_broadcast_to(x, shape=definite(shape))


def placed_at(F: Any, vector: Any, axis: int, rank: int) -> Any:
    """A vector with axes of size 1 around it, so that it lies along an axis of arrays of that rank."""
    return F._np_reshape(vector, newshape=[-1 if a == axis else 1 for a in range(rank)])


def filled(F: Any, like: Any, value: float) -> Any:
    """A number in the shape and dtype of an expression."""
    return F._npi_full_like(like, fill_value=value)


def clipped(F: Any, where: Any, size: int) -> Any:
    """Positions moved inside an axis of that size."""
    return F._minimum_scalar(F._maximum_scalar(where, scalar=0), scalar=size - 1)


def total(F: Any, x: Any, axes: Sequence[int]) -> Any:
    """The sum along axes from the front, which stay with size 1."""
    return F.sum(x, axis=tuple(axes), keepdims=True) if len(axes) else x


def extreme(F: Any, kind: str, x: Any, axes: Sequence[int]) -> Any:
    """The max or min along axes from the front, which stay with size 1."""
    return getattr(F, kind)(x, axis=tuple(axes), keepdims=True) if len(axes) else x


def folded(function: Callable[[Any, Any], Any], parts: Sequence[Any]) -> Any:
    """The function of the first two, of that and the third, and so on."""
    first, *rest = parts
    for part in rest:
        first = function(first, part)
    return first


def composed_moments(F: Any, x: Any, axes: Sequence[int], count: int) -> tuple[Any, Any, Any]:
    """x less its mean along axes, that mean, and the variance; count is how many elements each of these is over."""
    mean = total(F, x, axes) / count
    centered = F.broadcast_sub(x, mean)
    return centered, mean, total(F, F.square(centered), axes) / count


def wide_dtype(dtype: np.dtype, other: np.dtype) -> np.dtype:
    """The dtype to compute in: float32 for a float of two bytes, and the other one where that is wider still."""
    wide = np.dtype(np.float32) if is_half(dtype) else dtype
    return other if other.itemsize > wide.itemsize else wide
