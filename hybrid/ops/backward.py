"""Operators that only gradient rules use and that several families need: one array brought to the form of another."""

import numpy as np

from ..core.op import Op, op
from .casting import convert
from .common import as_many, narrow, spread, widen


class Once(Op):
    """Part of a gradient rule that has no gradient itself, whatever operator it has its attributes from."""

    gradient = Op.gradient


class FormOf(Op):
    """data in a form that like lends; the values of like do not matter. The dtypes may differ."""

    inputs = ("data", "like")

    def infer_input_types(self, dtypes, outputs):
        return dtypes

    def infer_shape(self, data, like):
        return like


@op("_backward_sum_like")
class SumLike(FormOf):
    """data, whose shape like broadcasts to, summed down to the shape of like: what broadcasting has for a gradient.

    Shapes: any that NumPy broadcasts like to, like -> like. The dtype stays."""

    view = True

    def infer_shape(self, data, like):
        spread(self, like, data)
        return like

    def compute(self, data, like):
        if data.shape == like.shape:
            return data
        extra = data.ndim - like.ndim
        axes = (*range(extra), *(extra + i for i, d in enumerate(like.shape) if d == 1 != data.shape[extra + i]))
        return narrow(widen(data).sum(axes), data.dtype).reshape(like.shape)

    def gradient(self, F, dy, data, like, y):
        return F._backward_broadcast_like(dy, data), None


@op("_backward_broadcast_like")
class BroadcastLike(FormOf):
    """data repeated to the shape of like by NumPy's rules (broadcast_like wants equal ranks). The dtype stays."""

    def infer_shape(self, data, like):
        spread(self, data, like)
        return like

    def compute(self, data, like):
        return np.broadcast_to(data, like.shape).copy()

    def gradient(self, F, dy, data, like, y):
        return F._backward_sum_like(dy, data), None


@op("_backward_reshape_like")
class ReshapeLike(FormOf):
    """data in the shape of like, which has as many elements. The dtype stays."""

    view = True
    only_moves_data = True

    def infer_shape(self, data, like):
        as_many(self, "data", data, like)
        return like

    def compute(self, data, like):
        return data.reshape(like.shape)

    def gradient(self, F, dy, data, like, y):
        return F._backward_reshape_like(dy, data), None


@op("_backward_cast_like")
class CastLike(FormOf):
    """data in the dtype of like. Shapes: data, any -> data."""

    view = True
    only_moves_data = True

    def infer_shape(self, data, like):
        return data

    def infer_type(self, data, like):
        return like

    def compute(self, data, like):
        return convert(data, like.dtype)

    def gradient(self, F, dy, data, like, y):
        return F._backward_cast_like(dy, data), None


@op("_backward_widen_like")
class WidenLike(CastLike):
    """data in the wider of its own floating dtype and that of like. Shapes: data, any -> data."""

    keeps = True

    def infer_type(self, data, like):
        return max(data, like, key=lambda d: d.itemsize)

    def compute(self, data, like):
        return convert(data, self.infer_type(data.dtype, like.dtype))


class ByKind(Op):
    """data as it is where it is floats; whole numbers become something else. The shape stays."""

    view = True

    def infer_shape(self, data):
        return data


@op("_backward_as_floats")
class AsFloats(ByKind):
    """data, whole numbers as float32: in which MXNet computes their derivatives. Shapes: any."""

    only_moves_data = True

    def infer_type(self, data):
        return np.dtype(np.float32) if data.kind in "iub" else data

    def infer_input_types(self, dtypes, outputs):
        return dtypes

    def composition(self, F, data):
        if data.dtype is None:
            return None
        return F.Cast(data, dtype="float32") if data.dtype.kind in "iub" else F.identity(data)

    def compute(self, data):
        return convert(data, self.infer_type(data.dtype))

    def gradient(self, F, dy, data, y):
        return F._backward_cast_like(dy, data)


@op("_backward_of_floats")
class OfFloats(ByKind):
    """data where it is floats, zeros where it is whole numbers, which have no derivative there in MXNet. Shapes: any."""

    def composition(self, F, data):
        if data.dtype is None:
            return None
        return F.zeros_like(data) if data.dtype.kind in "iub" else F.identity(data)

    def compute(self, data):
        return np.zeros_like(data) if data.dtype.kind in "iub" else data

    def gradient(self, F, dy, data, y):
        return F._backward_of_floats(dy)
