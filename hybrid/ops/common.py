"""What operator families share: bases for regular shape rules, axis arithmetic, and compute in a wider dtype."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..op import Op
from ..shapes import MaybeShape, Shape, merge_all, show


class Elementwise(Op):
    """All inputs and the output have one shape; what is known of any fills the others."""

    def infer_shape(self, *shapes):
        return merge_all(shapes)

    def infer_input_shapes(self, shapes: Sequence[MaybeShape], outputs: Sequence[MaybeShape]) -> Sequence[MaybeShape]:
        return [merge_all((*shapes, *outputs))] * len(shapes)


def axis_of(op: Op, axis: int, rank: int) -> int:
    """axis counted from the front; raises OpError when it lies outside the rank."""
    if not -rank <= axis < rank:
        raise op.fail(f"got axis {axis} for {rank} dimensions, wanted {-rank} to {rank - 1}")
    return axis % rank


def axes_of(op: Op, axes: Sequence[int] | None, rank: int, *, exclude: bool = False) -> tuple[int, ...]:
    """Reduction axes counted from the front, in order; None and () mean all (exclude or not), else exclude inverts."""
    if not axes:
        return tuple(range(rank))
    chosen = {axis_of(op, a, rank) for a in axes}
    if len(chosen) < len(axes):
        raise op.fail(f"got axes {tuple(axes)}, wanted each once")
    return tuple(a for a in range(rank) if (a in chosen) != exclude)


def np_axes_of(op: Op, axes: Sequence[int] | None, rank: int) -> tuple[int, ...]:
    """Axes counted from the front as operators of mx.np have them: None means all, () none."""
    return () if axes == () else axes_of(op, axes, rank)


def want_rank(op: Op, shape: Shape, *ranks: int, what: str = "data") -> None:
    """Raise OpError unless the shape has one of the ranks."""
    if len(shape) not in ranks:
        wanted = " or ".join(map(str, ranks))
        raise op.fail(f"got {what} of shape {show(shape)}, wanted {wanted} dimensions")


def widen(array: np.ndarray) -> np.ndarray:
    """float16 and bfloat16 arrays as float32 (NumPy has no BLAS for them, and sums would round at every step)."""
    return array.astype(np.float32) if array.dtype.itemsize == 2 and array.dtype.kind not in "iub" else array


def narrow(array: np.ndarray, dtype: np.dtype, out: np.ndarray | None = None) -> np.ndarray:
    """The inverse of widen: array in dtype, in ``out`` when that is given (no copy where it is there already)."""
    if out is None:
        return array.astype(dtype, copy=False)
    if array is not out:
        out[...] = array
    return out


def lowest(dtype: np.dtype) -> Any:
    """What no number of the dtype is less than: where a maximum begins."""
    return False if dtype.kind == "b" else np.iinfo(dtype).min if dtype.kind in "iu" else -np.inf


def highest(dtype: np.dtype) -> Any:
    """What no number of the dtype is greater than: where a minimum begins."""
    return True if dtype.kind == "b" else np.iinfo(dtype).max if dtype.kind in "iu" else np.inf


def largest(dtype: np.dtype) -> float:
    """The greatest finite number of a dtype of floats, bfloat16 included."""
    if dtype.isbuiltin == 1:
        return float(np.finfo(dtype).max)
    import ml_dtypes

    return float(ml_dtypes.finfo(dtype).max)


def truncate(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Floats as integers of dtype the way C compiled for x86 casts them, on any machine.

    Fractions are cut off; NaN and what an int32 (int64 for 8-byte types and uint32) cannot hold becomes its smallest
    value; what that holds and dtype does not wraps round."""
    wide = np.dtype(np.int64 if dtype.itemsize == 8 or dtype == np.uint32 else np.int32)
    array = np.asarray(array)
    if array.dtype.kind == "f" and array.dtype.itemsize > 2 and (np.abs(array) < 2.0 ** (8 * wide.itemsize - 1)).all():
        return array.astype(wide).astype(dtype, copy=False)  # nothing is out of bounds
    array = np.asarray(array, np.float64)
    smallest = float(np.iinfo(wide).min)
    inside = (array > smallest - 1) & (array < -smallest)
    return np.where(inside, array, smallest).astype(wide).astype(dtype)
