"""Conversions of dtype."""

import numpy as np

from ..core.attrs import Arity, DType
from ..core.dims import has_dims
from ..core.op import Op, op
from ..core.shapes import merge
from .common import Elementwise, truncate


def convert(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The array in another dtype; floats become integers as a C cast makes them."""
    if dtype.kind in "iu" and array.dtype.kind not in "iub":
        return truncate(array, dtype)
    return array.astype(dtype, copy=False)


@op("Cast", "cast", "_npi_cast", "_npx_cast")
class Cast(Elementwise):
    """data in another dtype. Fractions are cut off; integers that do not fit wrap round."""

    dtype: DType

    primitive = True
    view = True
    only_moves_data = True

    def infer_input_types(self, dtypes, outputs):
        return dtypes

    def infer_type(self, data):
        if data.hasobject and not self.dtype.hasobject:
            raise self.error("got words or sequences, wanted numbers")
        return self.dtype

    def infer_value(self, values, shapes):
        if not has_dims(values[0]):
            return super().infer_value(values, shapes)
        return values[0] if self.dtype.kind in "iu" and self.dtype.itemsize >= 4 else None

    def compute(self, data):
        return convert(data, self.dtype)

    def gradient(self, F, dy, data, y):
        return F._backward_cast_like(dy, data)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 4, low=-9, high=9), dtype="int32")
        yield make(make.uniform(3, 4), dtype="float16")


def is_short(dtype: np.dtype) -> bool:
    """True for dtypes that mixed precision casts: the floats of up to four bytes."""
    return dtype.kind not in "iub" and dtype.itemsize <= 4


@op("amp_cast")
class AmpCast(Cast):
    """float16, bfloat16 or float32 data in another floating dtype; other data stays as it is."""

    keeps = True

    def infer_type(self, data):
        return self.dtype if is_short(data) else data

    def composition(self, F, data):
        return None if data.dtype is None else F.Cast(data, dtype=self.infer_type(data.dtype))

    def compute(self, data):
        return convert(data, self.infer_type(data.dtype))

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 4), dtype="float16")


@op("amp_multicast")
class AmpMulticast(Op):
    """float16 and float32 arrays in the wider of their dtypes, or the narrower with cast_narrow; others stay.

    Where the first array is of other floats and none is float32, the others become what it is, as in MXNet, which would cut them
    to whole numbers if it is of these; here they stay.
    Shapes: each output has the shape of its input."""

    meanings = {"num_outputs": "Number of arrays."}

    num_outputs: Arity
    cast_narrow: bool = False

    inputs = ("*data",)
    count = "num_outputs"

    def output_names(self):
        return tuple(f"output{i}" for i in range(self.num_outputs)) if self.num_outputs > 1 else ("output",)

    def infer_shape(self, *shapes):
        return list(shapes)

    def infer_input_shapes(self, shapes, outputs):
        return [merge(a, b) for a, b in zip(shapes, outputs)]

    def infer_input_types(self, dtypes, outputs):
        return dtypes

    def infer_type(self, *dtypes):
        pick = min if self.cast_narrow else max
        chosen = pick(filter(is_short, dtypes), key=lambda d: d.itemsize, default=None)
        if not self.cast_narrow and not is_short(dtypes[0]) and dtypes[0].kind == "f" and chosen != np.float32:
            chosen = dtypes[0]
        return [chosen if is_short(d) else d for d in dtypes]

    def compute(self, *arrays):
        wanted = self.infer_type(*(a.dtype for a in arrays))
        return tuple(a.copy() if a.dtype == d else convert(a, d) for a, d in zip(arrays, wanted))  # type: ignore[arg-type]

    def composition(self, F, *arrays):
        dtypes = [x.dtype for x in arrays]
        if any(d is None for d in dtypes):
            return None
        return tuple(F.Cast(x, dtype=d) for x, d in zip(arrays, self.infer_type(*dtypes)))

    def gradient(self, F, dy, *arrays):
        heads = dy if isinstance(dy, tuple) else (dy,)
        return tuple(F._backward_cast_like(head, array) for head, array in zip(heads, arrays))

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3), make.uniform(2, dtype=np.float16), num_outputs=2)
