"""Operators of no family: a sparsity penalty, a comparison, and remnants of MXNet's first interfaces."""

import numpy as np

from ..core.attrs import MXNET_DTYPES
from ..core.attrs import dtype as named_dtype
from ..core.op import Op, op
from ..core.shapes import UNKNOWN, is_known, merge
from .backward import Once
from .common import mean_over, narrow, part_of, want_rank, widen
from .composing import definite, known, of_floats, widely
from .creation import FLOAT32, Filled
from .elementwise import Identity


@op("IdentityAttachKLSparseReg")
class IdentityAttachKLSparseReg(Op):
    """data as it is; its gradient draws the mean activation of every unit (axis 1) to sparseness_target.

    Added to the gradient is penalty times the derivative of the divergence of the target from ``moving_avg`` (C,), the running
    mean of data, which moves in the backward pass. Meant for sigmoids: means of 0 or 1 give infinity. Source: MXNet
    IdentityAttachKLSparseReg (which has a gradient for matrices only); Hinton, A practical guide to training RBMs, 2010."""

    meanings = {"momentum": "Part of the running mean that stays at each step, 0 to 1."}

    sparseness_target: float = 0.100000001
    penalty: float = 0.00100000005
    momentum: float = 0.899999976

    exception = "its gradient alone says something, and moves a state"

    inputs = ("data", "moving_avg")
    mutates = ("moving_avg",)
    parameters = frozenset({"moving_avg"})
    view = True
    only_moves_data = True

    def check(self):
        for name in ("sparseness_target", "momentum"):
            if not 0 <= getattr(self, name) < 1:
                return f"got {name} {getattr(self, name)}, wanted 0 to 1"
        return None

    def infer_input_shapes(self, shapes, outputs):
        data = merge(shapes[0], outputs[0])
        if data is not None and len(data) < 2:
            raise self.error(f"got data of {len(data)} dimensions, wanted at least 2")
        return [data, merge(shapes[1], (UNKNOWN,) if data is None else data[1:2])]

    def infer_shape(self, data, moving_avg):
        return data

    def compute(self, data, moving_avg):
        return data

    def gradient(self, F, dy, data, moving_avg, y):
        return F._backward_IdentityAttachKLSparseReg(dy, data, moving_avg, **self.dump()), None

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(4, 3, low=0.1, high=0.9), make.uniform(3, low=0.2, high=0.8))
        yield make(make.uniform(2, 3, 2, 2, low=0.1, high=0.9), make.uniform(3, low=0.2, high=0.8), penalty=0.5)


@op("_backward_IdentityAttachKLSparseReg")
@part_of("IdentityAttachKLSparseReg")
class BackwardKLSparseReg(Once, IdentityAttachKLSparseReg):
    """Gradient by data: (dy, data, moving_avg) -> as data. Updates moving_avg."""

    inputs = ("dy", "data", "moving_avg")
    always_mutates = True
    view = only_moves_data = False

    def infer_input_shapes(self, shapes, outputs):
        return shapes

    def infer_shape(self, dy, data, moving_avg):
        return data

    def compute(self, dy, data, moving_avg):
        wide = widen(data)
        axes = tuple(a for a in range(data.ndim) if a != 1)
        kind = wide.dtype.type
        keep = kind(self.momentum)
        moving_avg[...] = keep * moving_avg + (1 - keep) * mean_over(wide, axes)
        mean = widen(moving_avg).reshape([-1 if a == 1 else 1 for a in range(data.ndim)])
        target = kind(self.sparseness_target)
        with np.errstate(divide="ignore"):
            pull = kind(self.penalty) * ((1 - target) / (1 - mean) - target / mean)
        return narrow(widen(dy) + pull, data.dtype)


@op("_contrib_allclose")
class AllClose(Op):
    """Test that all numbers of a are near those of b: |a - b| <= atol + rtol * |b|; equal infinities are, of any sign, and
    NaN is to NaN with equal_nan. Shapes: any, the same -> () uint8. Source: MXNet allclose."""

    rtol: float = 9.99999975e-06
    atol: float = 9.99999994e-09
    equal_nan: bool = True

    inputs = ("a", "b")

    def infer_input_shapes(self, shapes, outputs):
        both = merge(*shapes)
        return [both, both]

    def infer_shape(self, a, b):
        return ()

    def infer_type(self, a, b):
        return np.dtype(np.uint8)

    def composition(self, F, a, b):
        if not known(a, b) or not of_floats(a, b) or a.dtype != b.dtype:
            return None
        x, y = widely(F, a.dtype, a, b)
        bound = F.abs(y) * float(np.float32(self.rtol)) + float(np.float32(self.atol))
        near = F._logical_or(F._lesser_equal(F.abs(x - y), bound), F._equal(x, y))
        if self.equal_nan:
            near = F._logical_or(near, F._logical_and(F._not_equal(x, x), F._not_equal(y, y)))
        return F.Cast(F._np_all(near), dtype="uint8")

    def compute(self, a, b):
        kind = widen(a).dtype if a.dtype.kind == "f" else FLOAT32
        x, y = a.astype(kind, copy=False), b.astype(kind, copy=False)
        with np.errstate(invalid="ignore"):
            near = abs(x - y) <= kind.type(self.atol) + kind.type(self.rtol) * abs(y)
        near |= x == y
        if self.equal_nan:
            near |= np.isnan(x) & np.isnan(y)
        return np.asarray(near.all(), np.uint8)

    @classmethod
    def examples(cls, make):
        a = make.uniform(3, 4)
        yield make(a, a + np.float32(1e-9))
        yield make(a, make.uniform(3, 4))


@op("_CrossDeviceCopy")
class CrossDeviceCopy(Identity):
    """data, as MXNet's graphs copy it from one device to another."""


@op("_onehot_encode")
class OneHotEncode(Op):
    """In each row a one at the index given for the row, and zeros elsewhere; an index outside gives zeros.

    Shapes: lhs (N,), rhs (N, classes), whose values do not matter -> as rhs. Source: MXNet onehot_encode, which writes them
    into rhs; the operator ``one_hot`` has the number of classes as an attribute."""

    inputs = ("lhs", "rhs")

    def infer_input_shapes(self, shapes, outputs):
        lhs, rhs = shapes[0], merge(shapes[1], outputs[0])
        rows = merge((UNKNOWN,) if rhs is None else rhs[:1], lhs)
        return [rows, rhs]

    def infer_shape(self, lhs, rhs):
        want_rank(self, rhs, 2, what="rhs")
        return rhs

    def infer_type(self, lhs, rhs):
        return rhs

    def infer_input_types(self, dtypes, outputs):
        return dtypes

    def composition(self, F, lhs, rhs):
        if rhs.dtype is None or rhs.shape is None:
            return None
        return F.one_hot(lhs, depth=definite(rhs.shape)[1], dtype=rhs.dtype)

    def compute(self, lhs, rhs):
        return (np.arange(rhs.shape[1]) == lhs.astype(np.int64)[:, None]).astype(rhs.dtype)

    @classmethod
    def examples(cls, make):
        yield make(make.array([0, 5, 2, -1]), make.uniform(4, 3))


@op("_zeros_without_dtype")
class ZerosWithoutDtype(Filled):
    """Zeros of a shape, of a dtype given by its number; -1 is float32 (MXNet lets the readers decide)."""

    keeps = True

    dtype: int = -1  # type: ignore[assignment]

    fill = 0

    def check(self):
        return None if -1 <= self.dtype < len(MXNET_DTYPES) else f"got dtype {self.dtype}, wanted the number of one"

    def infer_type(self):
        return named_dtype(MXNET_DTYPES[max(self.dtype, 0)])

    def compute(self, shape):
        if not is_known(shape):
            raise self.error(f"got shape {self.shape}, in which 0 means a size that the readers decide, and none did")
        return np.zeros(shape, self.infer_type())

    @classmethod
    def examples(cls, make):
        yield make(shape=(2, 3))
        yield make(shape=(2, 3), dtype=4)
