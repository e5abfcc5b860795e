"""Arrays made from nothing become constants; those that follow a shape follow it at run time when it is dynamic."""

import numpy as np

from hybrid.core.memory_budget import afford_array
from hybrid.core.shapes import UNKNOWN, is_known, show

from ..error import Unsupported
from ..import_state import FOLDED
from ..registry import exports, imports, one_to_one
from ..symbolic_shapes import Count, numbers
from .elementwise import number

one_to_one(shape_array="Shape")


@exports("_zeros", "_npi_zeros", "_zeros_without_dtype", "_ones", "_npi_ones", "_full", "_npi_identity")
def export_zeros(b, op):
    shape = b.results[0].shape
    if is_known(shape):
        return b.const(op.compute(shape))
    if shape is None or op.fill != 0:
        raise Unsupported(
            "the size is decided by readers and dynamic; give all shapes, or create the array in the model"
        )
    # Zeros whose size only the readers know are begin states: recurrent operators read an absent state as zeros, and
    # element-wise readers broadcast a size of 1.
    return b.const(np.zeros([1 if d is UNKNOWN else d for d in shape], b.results[0].dtype))


@exports("_arange", "_npi_arange")
def export_arange(b, op):
    shape = b.results[0].shape
    if not is_known(shape):
        raise Unsupported("infer_range=True with a dynamic size; give stop")
    return b.const(op.compute(shape))


@exports(
    "_linspace", "_eye", "_npi_eye", "_npi_hanning", "_npi_hamming", "_npi_blackman", "_npi_indices", "_npi_logspace"
)
def export_linspace(b, op):
    afford_array(op.infer_shape(), op.infer_type(), op.name)
    return b.const(op.compute())


@exports("zeros_like", "ones_like", "_npi_full_like")
def export_zeros_like(b, op, data):
    fill = getattr(op, "fill_value", None)
    value = b.const(np.asarray(op.fill if fill is None else fill).astype(b.results[0].dtype))
    return b.Expand(value, b.Shape(data))


@exports("_contrib_arange_like")
def export_contrib_arange_like(b, op, data):
    whole = op.axis is None
    if is_known(data.shape):
        return b.const(op.compute(np.empty(data.shape, data.dtype)))
    count = b.Size(data) if whole else b.squeeze(b.shape_of(data, op.axis % data.rank), [0])
    index = b.Range(b.const(0), count, b.const(1))
    if op.repeat != 1:
        index = b.Div(index, op.repeat)
    counting = np.int64 if data.dtype == np.float16 else data.dtype  # whole numbers in float16, see hybrid's steps
    values = b.cast(b.Add(b.Mul(b.cast(index, counting), op.step), op.start), data.dtype)
    return b.Reshape(values, b.Shape(data)) if whole else values


@exports("size_array")
def export_size_array(b, op, data):
    return b.reshape(b.Size(data), [1])


# -- reading -------------------------------------------------------------------------------------------------------------


@imports("ConstantOfShape", since=9)
def import_constant_of_shape(g, shape, *, value=None):
    fill = np.zeros(1, np.float32) if value is None else value
    dims = shape.ints() if shape.fixed else []
    if (
        fill.dtype.name in ("float32", "float64", "float16")
        and dims
        and min(dims) > 0
        and np.prod(dims, dtype=float) > FOLDED
    ):
        return g.apply("_full", shape=tuple(dims), value=float(fill.reshape(())), dtype=fill.dtype)
    return g.passthrough(shape, value=fill)


@imports("OneHot", since=9)
def import_one_hot(g, indices, depth, values, *, axis=-1):
    """Before opset 11 a negative index is nowhere, as in MXNet."""
    last = axis in (-1, len(indices.shape)) if indices.shape is not None else axis == -1
    if values.fixed and values.const.size != 2:
        raise Unsupported(f"got values of shape {show(values.shape)}, wanted two: off and on")
    off, on = (number(g.const(v)) for v in values.const.reshape(-1)) if values.fixed else (None, None)
    if last and depth.fixed and off is not None and on is not None:
        return g.one_hot(indices, depth=int(depth.item()), on_value=on, off_value=off, dtype=values.dtype)
    whole = g.Cast(indices, dtype=np.dtype(np.int64))
    nowhere = g.apply(
        "_npi_where", g.apply("_npi_less_scalar", whole, scalar=0), g.Cast(depth, dtype=np.dtype(np.int64)), whole
    )
    return g.passthrough(nowhere, depth, values, axis=axis)


@imports("Range", since=11)
def import_range_since_11(g, start, limit, delta):
    """As many whole numbers as an input of the model is long are counted along it."""
    found = numbers(limit)
    fixed = start.fixed and delta.fixed and start.dtype is not None
    if fixed and found is not None and found.size == 1 and delta.item() == 1:
        size = found.item() - start.item()
        owner = g.sized(size, start.dtype) if isinstance(size, Count) else None
        if owner is not None:
            return g.apply("_contrib_arange_like", owner[0], start=float(start.item()), axis=owner[1])
    return g.passthrough(start, limit, delta)


@imports("Range", since=27)
def import_range_since_27(g, start, limit, delta, *, stash_type=1):
    """stash_type: in what halves are computed, which the family does in float32 in any case."""
    return g.passthrough(start, limit, delta, stash_type=stash_type)
