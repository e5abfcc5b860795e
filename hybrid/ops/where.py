"""Choosing element by element between two arrays or numbers."""

import numpy as np

from ..core.op import Op, op
from ..core.shapes import broadcast, merge, merge_all
from .casting import convert
from .composing import of_floats, placed_at


@op("where", "_sparse_where")
class Where(Op):
    """x where condition is other than 0 (NaN is), else y. Shapes: all equal, or condition (N,) choosing rows."""

    meanings = {"x": "Numbers where condition holds."}

    objects = True

    inputs = ("condition", "x", "y")

    def infer_shape(self, condition, x, y):
        merge(x[:1] if len(condition) == 1 else x, condition)
        return merge_all((x, y))

    def infer_input_shapes(self, shapes, outputs):
        both = merge_all((*shapes[1:], *outputs))
        return [shapes[0], both, both]

    def infer_input_types(self, dtypes, outputs):
        return [dtypes[0], *super().infer_input_types(dtypes[1:], outputs)]

    def infer_type(self, condition, x, y):
        return x

    def composition(self, F, condition, x, y):
        if condition.shape is None or x.shape is None:
            return None
        if len(condition.shape) == 1 and len(x.shape) > 1:
            return F._npi_where(placed_at(F, condition, 0, len(x.shape)), x, y)
        return F._npi_where(condition, x, y)

    def compute(self, condition, x, y):
        rows = condition.ndim == 1 and x.ndim > 1
        return np.where(condition.reshape(-1, *(1,) * (x.ndim - 1)) if rows else condition, x, y)

    def gradient(self, F, dy, condition, x, y, output):
        zeros = F.zeros_like(dy)
        return None, F.where(condition, dy, zeros), F.where(condition, zeros, dy)

    @classmethod
    def examples(cls, make):
        yield make(make.integers(3, 4, high=2), make.uniform(3, 4), make.uniform(3, 4))
        yield make(make.integers(3, high=2), make.uniform(3, 4), make.uniform(3, 4))


@op("_npi_where")
class NpWhere(Where):
    """x where condition is other than 0, else y. Shapes broadcast: a condition (N,) chooses columns here."""

    primitive = True

    def infer_shape(self, condition, x, y):
        return broadcast(condition, x, y)

    def infer_input_shapes(self, shapes, outputs):
        return shapes

    def compute(self, condition, x, y):
        return np.where(condition, x, y)

    def gradient(self, F, dy, condition, x, y, output):
        taken, other = F._npi_where_rscalar(condition, dy), F._npi_where_lscalar(condition, dy)
        return None, F._backward_sum_like(taken, x), F._backward_sum_like(other, y)

    @classmethod
    def examples(cls, make):
        yield make(make.integers(3, 1, high=2), make.uniform(3, 4), make.uniform(4))


class WhereNumbers(Op):
    """Numbers take the place of arrays."""

    def infer_input_types(self, dtypes, outputs):
        return [dtypes[0], *(d or outputs[0] for d in dtypes[1:])]

    def infer_shape(self, *shapes):
        return broadcast(*shapes)

    def infer_input_shapes(self, shapes, outputs):
        return shapes


@op("_npi_where_lscalar")
class WhereNumberFirst(WhereNumbers):
    """scalar where condition is other than 0, else x. Shapes broadcast."""

    meanings = {"x": "Numbers where condition does not hold.", "scalar": "Number where it holds."}

    scalar: float = 0.0

    inputs = ("condition", "x")

    def infer_type(self, condition, x):
        return x

    def composition(self, F, condition, x):
        return F._npi_where(condition, F._npi_full_like(x, fill_value=self.scalar), x) if of_floats(x) else None

    def compute(self, condition, x):
        return np.where(condition, convert(np.asarray(self.scalar), x.dtype), x)

    @classmethod
    def examples(cls, make):
        yield make(make.integers(3, 4, high=2), make.uniform(4), scalar=2.5)


@op("_npi_where_rscalar")
class WhereNumberSecond(WhereNumbers):
    """y where condition is other than 0, else scalar. Shapes broadcast."""

    meanings = {"y": "Numbers where condition holds.", "scalar": "Number where it does not."}

    scalar: float = 0.0

    inputs = ("condition", "y")

    def infer_type(self, condition, y):
        return y

    def composition(self, F, condition, y):
        return F._npi_where(condition, y, F._npi_full_like(y, fill_value=self.scalar)) if of_floats(y) else None

    def compute(self, condition, y):
        return np.where(condition, y, convert(np.asarray(self.scalar), y.dtype))

    @classmethod
    def examples(cls, make):
        yield make(make.integers(3, 4, high=2), make.uniform(4), scalar=2.5)


@op("_npi_where_scalar2")
class WhereTwoNumbers(WhereNumbers):
    """x where condition is other than 0, else y, as float32."""

    x: float = 0.0
    y: float = 0.0

    inputs = ("condition",)

    def infer_type(self, condition):
        return np.dtype(np.float32)

    def composition(self, F, condition):
        x, y = (F._npi_full_like(condition, fill_value=v, dtype="float32") for v in (self.x, self.y))
        return F._npi_where(condition, x, y)

    def compute(self, condition):
        return np.where(condition, np.float32(self.x), np.float32(self.y))

    @classmethod
    def examples(cls, make):
        yield make(make.integers(3, 4, high=2), x=1.5, y=-2.0)
