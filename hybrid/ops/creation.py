"""Arrays made from nothing, or from the shape of another: zeros, ones, full, ranges, identity matrices, shapes."""

import math
from typing import Any, ClassVar

import numpy as np

from ..core.attrs import Count, DType, Shape, Size
from ..core.dims import array_of, has_dims
from ..core.op import DENSE, Op, Storage, op
from ..core.shapes import UNKNOWN, is_known, show
from .casting import convert
from .common import Elementwise, Sized, axis_of
from .composing import definite, folded, known, placed_at, reshaped
from .stored_places import nothing_stored

FLOAT32 = np.dtype("float32")


class Filled(Sized):
    """One value everywhere. A 0 in ``shape`` means, as in MXNet without np_shape, a dim that readers decide."""

    shape: Shape = ()
    ctx: str = ""
    dtype: DType = FLOAT32

    inputs = ()
    needs = ("shape",)

    fill: ClassVar[Any]

    def composition(self, F):
        shape = self.infer_shape()
        return (
            F._full(shape=shape, value=self.fill, dtype=self.infer_type())
            if shape and 0 not in definite(shape)
            else None
        )

    def infer_shape(self):
        return self.sizes(self.shape)

    def infer_type(self):
        return self.dtype

    def compute(self, shape):
        if not is_known(shape):
            raise self.error(f"got shape {self.shape}, in which 0 means a size that the readers decide, and none did")
        return np.full(shape, np.asarray(self.fill).astype(self.dtype), self.dtype)


def define_filled(name: str, value: float, doc: str) -> type[Op]:
    """An operator that gives one fixed value everywhere."""
    return op(name)(type(name, (Filled,), {"fill": value, "__doc__": doc, "__module__": __name__}))


Zeros = define_filled("_zeros", 0, "Zeros of a shape; a 0 in the shape is a size that readers decide.")
define_filled("_ones", 1, "Ones of a shape; a 0 in the shape is a size that readers decide.")


class FilledNumpy(Filled):
    """As Filled, under NumPy's rules: 0 is a size like any other."""

    def infer_shape(self):
        return tuple(UNKNOWN if d == -1 else d for d in self.shape)


@op("_npi_zeros")
class NumpyZeros(FilledNumpy):
    """Zeros of a shape (numpy.zeros)."""

    fill = 0


@op("_npi_ones")
class NumpyOnes(FilledNumpy):
    """Ones of a shape (numpy.ones)."""

    fill = 1


@op("_full", "_npi_full")
class Full(Filled):
    """One value everywhere (MXNet _full); the value is converted to dtype as C does."""

    value: float

    primitive = True

    @property
    def fill(self):
        return self.value


class Like(Elementwise):
    """One value everywhere, in the shape of data."""

    left_open = ("fill",)

    fill = 0

    def composition(self, F, data):
        return F._npi_full_like(data, fill_value=self.fill)

    def compute(self, data):
        return np.full(data.shape, self.fill, data.dtype)

    def gradient(self, F, dy, data, y):
        return None


@op("zeros_like", "_sparse_zeros_like", "_npi_zeros_like")
class ZerosLike(Like):
    """Zeros in the shape and dtype of data."""

    def infer_storage(self, stypes=(), shapes=(), result=()):
        return Storage(stypes[0]) if stypes else DENSE

    def compute_stored(self, data):
        return None if isinstance(data, np.ndarray) else nothing_stored(data.shape, data.data.dtype, type(data))

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3))


@op("ones_like", "_npi_ones_like")
class OnesLike(Like):
    """Ones in the shape and dtype of data."""

    fill = 1

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3))


@op("_npi_full_like")
class FullLike(Elementwise):
    """fill_value everywhere, in the shape of a, of its dtype or of the one given (numpy.full_like)."""

    fill_value: float
    ctx: str = ""
    dtype: DType | None = None

    primitive = True
    inputs = ("a",)

    def infer_type(self, a):
        return self.dtype or a

    def infer_input_types(self, dtypes, outputs):
        return dtypes if self.dtype else super().infer_input_types(dtypes, outputs)

    def compute(self, a):
        return np.full(a.shape, np.asarray(self.fill_value).astype(self.dtype or a.dtype))

    def gradient(self, F, dy, a, y):
        return None


class Range(Op):
    """start, start + step, ... below stop, each ``repeat`` times; stop alone counts from 0."""

    meanings = {"step": "Distance from one number to the next; negative: downwards."}

    start: float
    stop: float | None = None
    step: float = 1.0
    repeat: Count = 1
    infer_range: bool = False
    ctx: str = ""
    dtype: DType = FLOAT32

    inputs = ()
    needs = ("shape",)

    def check(self):
        return "got step 0, wanted another" if self.step == 0 else None

    def span(self) -> tuple[float, Any]:
        """(first value, how many different values)."""
        start, stop = (0.0, self.start) if self.stop is None else (self.start, self.stop)
        if has_dims((start, stop)) and self.step == int(self.step):
            return start, max(0, -((start - stop) // int(self.step)))
        if not math.isfinite((stop - start) / self.step):
            raise self.error(f"got {start} to {stop} by {self.step}, wanted finite numbers")
        return start, max(0, math.ceil((stop - start) / self.step))

    def infer_shape(self):
        if self.is_open():
            return (UNKNOWN,)
        return (self.span()[1] * self.repeat,)

    def infer_type(self):
        return self.dtype

    def is_open(self) -> bool:
        """True where readers decide how long it is."""
        return self.infer_range and self.stop is None

    def ends(self, count: Any) -> dict[str, Any] | None:
        """Attributes that make an open range one of so many numbers; None where none do."""
        if has_dims((count,)):
            known = self.repeat == 1 and self.step == int(self.step)
            return {"stop": self.start + int(self.step) * count, "infer_range": False} if known else None
        if count % self.repeat:
            return None
        # half a step before the next one, which rounding does not reach
        return {"stop": self.start + self.step * (count // self.repeat - 0.5), "infer_range": False}

    def kernel_matches(self, dtype):
        return not self.is_open() or not self.start  # the compiled one takes a start without a stop for a stop

    def compute(self, shape):
        if not is_known(shape):
            raise self.error("infer_range=True, but no reader decides how long the range is; give stop")
        return steps(self.start if self.is_open() else self.span()[0], self.step, self.repeat, shape[0], self.dtype)


def steps(start: float, step: float, repeat: int, count: int, dtype: np.dtype) -> np.ndarray:
    """start + step * (i // repeat) for i below count, with start and step converted first, as MXNet does.

    In float16 MXNet counts in whole numbers: start and step lose their fractions."""
    counting = np.dtype(np.int64) if dtype == np.float16 else dtype
    numbers = np.arange(count)
    values = (numbers if repeat == 1 else numbers // repeat).astype(counting, copy=False)
    if start or step != 1:
        first, by = np.asarray([start, step]).astype(counting)
        values *= by
        values += first
    return values.astype(dtype, copy=False)


@op("_arange")
class Arange(Range):
    """Evenly spaced values (MXNet arange). Shapes: -> (ceil((stop - start) / step) * repeat,)."""

    primitive = True

    def check(self):
        if self.stop is not None and (self.stop - self.start) * self.step < 0:
            return f"invalid range (start, stop, step) = ({self.start:g}, {self.stop:g}, {self.step:g})"
        return super().check()


@op("_npi_arange")
class NumpyArange(Range):
    """Evenly spaced values (numpy.arange)."""

    def composition(self, F):
        size = self.infer_shape()[0]
        if size is UNKNOWN or not size:
            return None
        return F._arange(start=self.start, stop=self.stop, step=self.step, repeat=self.repeat, dtype=self.dtype)


@op("_linspace", "_npi_linspace")
class Linspace(Op):
    """num values from start to stop, the last included with endpoint. Shapes: -> (num,)."""

    meanings = {"stop": "Last number, or with endpoint False the one after it."}

    start: float
    stop: float
    num: Size
    endpoint: bool = True
    ctx: str = ""
    dtype: DType = FLOAT32

    inputs = ()
    ignored_attributes = ("step", "repeat", "infer_range")  # listed by 1.9.1, which reads none of them

    def infer_shape(self):
        return (self.num,)

    def infer_type(self):
        return self.dtype

    def composition(self, F):
        parts = self.num - self.endpoint
        if parts < 1 or self.dtype.kind in "iub":
            return None
        places = F._arange(start=0, stop=self.num, dtype="float64")
        return F.Cast(places * ((self.stop - self.start) / parts) + self.start, dtype=self.dtype)

    def compute(self):
        return np.linspace(self.start, self.stop, self.num, endpoint=self.endpoint).astype(self.dtype)


class FromAttributes(Op):
    """Base of arrays that follow from attributes alone."""

    inputs = ()

    def infer_type(self):
        return self.dtype  # type: ignore[attr-defined]  # declared below, in MXNet's order


class Window(FromAttributes):
    """M weights that rise from the ends to the middle; none where M < 1."""

    meanings = {"M": "Number of weights."}

    M: int | None = None
    ctx: str = ""
    dtype: DType = FLOAT32

    epsilon = float(np.finfo(np.float32).eps)
    left_open = ("terms",)
    terms: ClassVar[tuple[float, ...]]
    """Of the cosines of 0, 1, ... periods over the length, with alternating signs."""

    def check(self):
        return "attribute M (int) is required" if self.M is None else None

    @property
    def size(self) -> int:
        return max(self.M or 0, 0)

    def infer_shape(self):
        return (self.size,)

    def composition(self, F):
        if self.size < 2 or self.dtype.kind in "iub":
            return None
        angle = F._arange(start=0, stop=self.size, dtype="float64") * (2 * math.pi / (self.size - 1))
        terms = np.asarray(self.terms).astype(self.dtype).astype(np.float64).tolist()
        waves = [F.cos(angle * i) * ((-1) ** i * term) for i, term in enumerate(terms)]
        return F.Cast(folded(F.broadcast_add, waves), dtype=self.dtype)

    def compute(self):
        if self.size == 1:
            return np.ones(1, self.dtype)
        angle = 2 * np.pi * np.arange(self.size) / (self.size - 1) if self.size else np.zeros(0)
        # the terms lose their fractions where dtype has none
        terms = np.asarray(self.terms).astype(self.dtype)
        total = sum((-1) ** i * terms[i].item() * np.cos(i * angle) for i in range(len(terms)))
        return convert(np.asarray(total), self.dtype)

    @classmethod
    def examples(cls, make):
        yield make(M=8)


@op("_npi_hanning")
class Hanning(Window):
    """M weights 0.5 - 0.5 cos(2 pi i / (M - 1)) (numpy.hanning). Shapes: -> (M,)."""

    terms = (0.5, 0.5)


@op("_npi_hamming")
class Hamming(Window):
    """M weights 0.54 - 0.46 cos(2 pi i / (M - 1)) (numpy.hamming). Shapes: -> (M,)."""

    terms = (0.54, 0.46)


@op("_npi_blackman")
class Blackman(Window):
    """M weights 0.42 - 0.5 cos(2 pi i / (M - 1)) + 0.08 cos(4 pi i / (M - 1)) (numpy.blackman). Shapes: -> (M,)."""

    terms = (0.42, 0.5, 0.08)


@op("_npi_indices")
class Indices(FromAttributes):
    """The coordinates of every place of a grid (numpy.indices). Shapes: -> (rank of dimensions, *dimensions)."""

    dimensions: Shape
    dtype: DType = np.dtype("int32")
    ctx: str = ""

    def check(self):
        return (
            f"dimensions={show(self.dimensions)} wants no negative ones"
            if min(self.dimensions, default=0) < 0
            else None
        )

    def infer_shape(self):
        return (len(self.dimensions), *self.dimensions)

    def composition(self, F):
        sizes, rank = self.dimensions, len(self.dimensions)
        if not rank or 0 in sizes:
            return None
        lines = [placed_at(F, F._arange(start=0, stop=n, dtype=self.dtype), a, rank) for a, n in enumerate(sizes)]
        return F.stack(*(F._npi_broadcast_to(line, shape=sizes) for line in lines), axis=0)

    def compute(self):
        return np.indices(self.dimensions).astype(self.dtype)

    @classmethod
    def examples(cls, make):
        yield make(dimensions=(2, 3))


@op("_npi_logspace")
class LogSpace(FromAttributes):
    """num powers of base, their exponents evenly spaced from start to stop (numpy.logspace). Shapes: -> (num,)."""

    meanings = {"start": "First exponent.", "stop": "Last exponent, or with endpoint False the one after it."}

    start: float
    stop: float
    num: int
    endpoint: bool = True
    base: float = 10.0
    ctx: str = ""
    dtype: DType = FLOAT32

    def check(self):
        return f"num={self.num} wants 0 or more" if self.num < 0 else None

    def infer_shape(self):
        return (self.num,)

    def composition(self, F):
        if self.num < 1 or self.dtype.kind in "iub":
            return None
        attrs = {"start": self.start, "stop": self.stop, "num": self.num, "endpoint": self.endpoint}
        return F.Cast(F._rpower_scalar(F._linspace(**attrs, dtype="float64"), scalar=self.base), dtype=self.dtype)

    def compute(self):
        with np.errstate(all="ignore"):
            return convert(np.power(self.base, np.linspace(self.start, self.stop, self.num, self.endpoint)), self.dtype)

    @classmethod
    def examples(cls, make):
        yield make(start=0, stop=2, num=5)


class Eye(Op):
    """Ones on the k-th diagonal. Shapes: -> (N, M), M being N when it is not given."""

    N: int

    inputs = ()
    left_open = ("columns",)

    @property
    def columns(self) -> int:
        raise NotImplementedError

    def infer_shape(self):
        return (self.N, self.columns)

    def infer_type(self):
        return self.dtype  # type: ignore[attr-defined]  # it and k are declared below, after M

    def composition(self, F):
        if not self.N or not self.columns:
            return None
        rows, columns = (F._arange(start=0, stop=n, dtype="int64") for n in self.infer_shape())
        k = self.k  # type: ignore[attr-defined]
        hit = F.broadcast_equal(placed_at(F, rows, 0, 2) + k, placed_at(F, columns, 1, 2))
        return F.Cast(hit, dtype=self.dtype)  # type: ignore[attr-defined]

    def compute(self):
        return np.eye(self.N, self.columns, self.k, self.dtype)  # type: ignore[attr-defined]


@op("_eye")
class LegacyEye(Eye):
    """Ones on the k-th diagonal (MXNet eye): M of 0 or less means N."""

    meanings = {"M": "Number of columns; 0 or less: as many as rows."}

    M: int = 0
    k: int = 0
    ctx: str = ""
    dtype: DType = FLOAT32

    @property
    def columns(self):
        return self.M if self.M > 0 else self.N


@op("_npi_eye")
class NumpyEye(Eye):
    """Ones on the k-th diagonal (numpy.eye): M = None means N."""

    meanings = {"M": "Number of columns; None: as many as rows."}

    M: int | None = None
    k: int = 0
    ctx: str = ""
    dtype: DType = FLOAT32

    @property
    def columns(self):
        return self.N if self.M is None else self.M


@op("_npi_identity")
class Identity(FilledNumpy):
    """The identity matrix (numpy.identity)."""

    fill = 0

    def check(self):
        fine = len(self.shape) == 2 and min(self.shape) >= 0
        return None if fine else f"got shape={self.shape}, wanted two sizes"

    def composition(self, F):
        return F._npi_eye(N=self.shape[0], M=self.shape[1], dtype=self.dtype)

    def compute(self, shape):
        return np.eye(*shape, dtype=self.dtype)

    @classmethod
    def examples(cls, make):
        yield make(shape=(3, 3))


@op("_contrib_arange_like", "_npx_arange_like")
class ArangeLike(Op):
    """start, start + step, ... in the shape of data, or as many as data is long along axis; each ``repeat`` times."""

    meanings = {"axis": "Axis of data whose size counts, negative ones counted from the last; None: its whole shape."}

    start: float = 0.0
    step: float = 1.0
    repeat: Count = 1
    ctx: str = ""
    axis: int | None = None

    def infer_shape(self, data):
        return data if self.axis is None else (data[axis_of(self, self.axis, len(data))],)

    def composition(self, F, data):
        if not known(data) or 0 in definite(data.shape):
            return None
        shape = self.infer_shape(data.shape)
        size = math.prod(shape)
        if size % self.repeat:
            return None
        attrs = {"start": 0, "stop": size // self.repeat, "repeat": self.repeat}
        counting = np.dtype(np.int64) if data.dtype == np.float16 or data.dtype.kind in "iub" else data.dtype
        first, by = (float(v) for v in np.asarray([self.start, self.step]).astype(counting))
        places = F._arange(**attrs, dtype=counting) * by + first
        return reshaped(F, F.Cast(places, dtype=data.dtype), shape)

    def compute(self, data):
        shape = self.infer_shape(data.shape)
        return steps(self.start, self.step, self.repeat, math.prod(shape), data.dtype).reshape(shape)

    def gradient(self, F, dy, data, y):
        return None

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3), axis=1)
        yield make(make.uniform(2, 4), start=1.0, step=2.0, repeat=2)


class AboutShape(Op):
    """Numbers that a shape holds; the values of data do not matter."""

    objects = True

    def infer_type(self, data):
        return np.dtype("int64")

    def infer_input_types(self, dtypes, outputs):
        return dtypes

    def gradient(self, F, dy, data, y):
        return None

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3))


@op("shape_array", "_npx_shape_array")
class ShapeArray(AboutShape):
    """The shape of data as a 1-D int64 array."""

    primitive = True

    keeps = True

    def infer_shape(self, data):
        return (len(data),)

    def infer_value(self, values, shapes):
        return array_of(shapes[0]) if is_known(shapes[0]) else None

    def compute(self, data):
        return np.array(data.shape, np.int64)


@op("size_array")
class SizeArray(AboutShape):
    """The number of elements of data as an int64 array of length 1."""

    keeps = True

    def infer_shape(self, data):
        return (1,)

    def composition(self, F, data):
        return None if not data.shape else F.prod(F.shape_array(data))

    def compute(self, data):
        return np.array([data.size], np.int64)
