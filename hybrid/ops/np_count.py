"""NumPy's functions that count numbers and find those at some place in their order. Sources: the operators of that name in MXNet
1.9.1 (mx.np)."""

import math
from typing import Literal

import numpy as np

from ..core.attrs import Count, Floats
from ..core.op import Domain, Op, op
from ..core.shapes import UNKNOWN, merge, show
from .adjoint import linear
from .common import np_axes_of, widen
from .np_select import INT64
from .reduce import Axes


@linear(1)
@op("_npi_bincount")
class BinCount(Op):
    """Count each integer from 0 on in data, or sum the weights of its places (numpy.bincount).

    Shapes: data (n,), weights (n,) -> (max(largest + 1, minlength),), in the dtype of weights, or else of data."""

    minlength: int = 0
    has_weights: bool = False

    exception = "values decide how much it gives"

    inputs = ("data", "weights")
    data_dependent_shape = True

    def input_names(self):
        return self.inputs[: 1 + self.has_weights]

    def check(self):
        if not 0 <= self.minlength < 2**40:
            return f"minlength={self.minlength} wants 0 or more, and what an array can hold"
        return None

    def infer_shape(self, data, *weights):
        if len(data) != 1:
            raise self.error(f"got data of shape {show(data)}, wanted 1 dimension")
        if weights:
            merge(weights[0], data)
        return (UNKNOWN,)

    def infer_type(self, data, *weights):
        if data.kind not in "iu":
            raise self.error(f"got data of dtype {data}, wanted integers")
        return weights[0] if weights else data

    def infer_input_types(self, dtypes, outputs):
        return [*dtypes[:-1], dtypes[-1] or outputs[0]]

    def domain(self, name, shapes):
        return Domain(0, 7, integer=True) if name == "data" else None

    def count(self, data: np.ndarray) -> int:
        """Number of sums. Raises OpError for negative numbers."""
        if data.size and data.min() < 0:
            raise self.error(f"got {data.min()}, wanted no negative numbers")
        return max(self.minlength, int(data.max()) + 1 if data.size else 0)

    def compute(self, data, *weights):
        count = self.count(data)
        if not weights:
            return np.bincount(data.astype(np.int64), minlength=self.minlength).astype(data.dtype)
        wide = widen(weights[0])
        sums = np.zeros(count, wide.dtype)
        np.add.at(sums, data, wide)
        return sums.astype(weights[0].dtype, copy=False)

    def adjoint(self, of, dy, data, weights):
        if len(dy) != self.count(data):
            raise self.error(f"got dy of {len(dy)} elements, wanted {self.count(data)}, one for each sum")
        return dy[data]

    @classmethod
    def examples(cls, make):
        yield make(make.integers(6, high=5, dtype="int32"), minlength=7)
        yield make(make.integers(6, high=5, dtype="int32"), make.uniform(6), has_weights=True)


@op("_histogram", "_npi_histogram")
class Histogram(Op):
    """Count the numbers of data that lie in each bin, the last bin with its upper edge; gives the counts and the edges of
    the bins.

    bin_cnt bins of one width over range (which reaches 0.5 to either side of one number that is given twice), or the bins between
    the numbers of the array bins. Numbers outside count nowhere. Bins of whole numbers have edges that are cut off, several of them
    the same; a number counts in the bin where it lies before that, or in the next one on the side where it lies after it.
    Shapes: data any, bins (n + 1,) -> (n,) int64, (n + 1,) in the dtype of data."""

    bin_cnt: Count | None = None
    range: Floats | None = None

    exception = "counts or sorts by values"

    inputs = ("data", "bins")

    def input_names(self):
        return self.inputs[: 1 if self.bin_cnt is not None else 2]

    def output_names(self):
        return ("output0", "output1")

    def check(self):
        if (self.bin_cnt is None) != (self.range is None):
            return "wants bin_cnt and range, or neither"
        if self.range is not None and (len(self.range) != 2 or self.range[0] > self.range[1]):
            return f"range={self.range} wants two numbers, the larger one last"
        if self.range is not None and not all(map(math.isfinite, self.range)):
            return f"range={self.range} wants finite numbers"
        return None

    def infer_shape(self, data, *bins):
        if not bins:
            return [(self.bin_cnt,), (self.bin_cnt + 1,)]  # type: ignore[operator]  # check saw to that
        if len(bins[0]) != 1:
            raise self.error(f"got bins of shape {show(bins[0])}, wanted 1 dimension")
        if bins[0][0] is not UNKNOWN and bins[0][0] < 2:
            raise self.error(f"got {bins[0][0]} bounds of bins, wanted 2 at least")
        return [(bins[0][0] - 1,), bins[0]]

    def infer_type(self, data, *bins):
        return [INT64, data]

    def limits(self) -> tuple[float, float]:
        """Beginning and end of bins of one width."""
        assert self.range is not None
        low, high = self.range
        return (low - 0.5, high + 0.5) if low == high else (low, high)

    def edges(self, dtype: np.dtype) -> np.ndarray:
        """The edges of bins of one width, in that dtype."""
        assert self.bin_cnt is not None
        low, high = self.limits()
        return (low + np.arange(self.bin_cnt + 1) * (high - low) / self.bin_cnt).astype(dtype)

    def bounds(self, dtype: np.dtype) -> np.ndarray:
        """Between which numbers of the dtype, both included, numbers count."""
        low, high = self.limits()
        if dtype.kind not in "iu":
            return np.array([low, high]).astype(dtype)
        least, most = max(math.ceil(low), int(np.iinfo(dtype).min)), min(math.floor(high), int(np.iinfo(dtype).max))
        return np.array([least, most] if least <= most else [1, 0]).astype(dtype)

    def compute(self, data, *bins):
        edges = bins[0] if bins else self.edges(data.dtype)
        low, high = edges[[0, -1]] if bins else self.bounds(data.dtype)
        inside = data[(data >= low) & (data <= high)]
        last = len(edges) - 2
        if bins or data.dtype.kind not in "iu":
            place = np.minimum(np.searchsorted(edges, inside, "right") - 1, last)
        else:
            low, high = self.limits()
            place = np.minimum(((inside - low) * (last + 1) / (high - low)).astype(np.int64), last)
            place -= inside < edges[place]
            place += (place < last) & (inside >= edges[np.minimum(place, last) + 1])
            place = place[place >= 0]  # edges of unsigned numbers wrap round
        return np.bincount(place.ravel(), minlength=last + 1).astype(np.int64), edges.copy()

    def gradient(self, F, dy, *arrays):
        return None

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 4), bin_cnt=4, range=(-0.5, 1))
        yield make(make.uniform(3, 4), np.array([-1, 0, 0.25, 1], np.float32))


_NEIGHBOUR = {
    "lower": np.floor,
    "higher": np.ceil,
    "nearest": lambda place: np.where(
        place - np.floor(place) < np.ceil(place) - place, np.floor(place), np.ceil(place)
    ),
}


@op("_npi_percentile")
class Percentile(Op):
    """The numbers below which q percent of the numbers along axes lie, between neighbours by interpolation (numpy.percentile).

    Shapes: a, q () or (k,) -> what is left of a, for an array q with its k as first axis. float64 of float64, else float32."""

    meanings = {"axis": "Axes that are reduced, negative ones counted from the last; empty or None: all."}

    axis: Axes = None
    interpolation: Literal["linear", "lower", "higher", "midpoint", "nearest"] = "linear"
    keepdims: bool = False
    q_scalar: float | None = None

    exception = "counts or sorts by values"

    def check(self):
        if self.q_scalar is not None and not 0 <= self.q_scalar <= 100:
            return f"got q={self.q_scalar}, wanted 0 to 100"
        return None

    inputs = ("a", "q")
    epsilon = float(np.finfo(np.float32).eps)

    def input_names(self):
        return self.inputs[: 1 + (self.q_scalar is None)]

    def infer_shape(self, a, *q):
        if not a:
            raise self.error("got a scalar, wanted at least 1 dimension")
        if q and len(q[0]) > 1:
            raise self.error(f"got q of shape {show(q[0])}, wanted at most 1 dimension")
        axes = np_axes_of(self, self.axis, len(a))
        if any(a[i] is not UNKNOWN and a[i] == 0 for i in axes):
            raise self.error(f"got {show(a)}, wanted an element along each axis that goes")
        left = tuple(1 if i in axes else d for i, d in enumerate(a) if self.keepdims or i not in axes)
        return (*(q[0] if q else ()), *left)

    def infer_type(self, a, *q):
        if a.kind == "b":
            raise self.error("got bools, wanted numbers; cast them")
        return a if a == np.float64 else np.dtype(np.float32)

    def infer_input_types(self, dtypes, outputs):
        return dtypes

    def domain(self, name, shapes):
        return Domain(0, 100) if name == "q" else None

    def at(self, q: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of count numbers in order the places before and after each q, and how far it is from the former to the latter."""
        place = q.astype(np.float64) * (count - 1) / 100
        if self.interpolation in ("lower", "higher", "nearest"):
            where = _NEIGHBOUR[self.interpolation](place).astype(np.int64)
            return where, where, np.zeros(place.shape)
        if self.interpolation == "midpoint":
            place = (np.floor(place) + np.ceil(place)) / 2
        before = np.floor(place)
        return before.astype(np.int64), np.minimum(before + 1, count - 1).astype(np.int64), place - before

    def compute(self, a, *q):
        axes, dtype = np_axes_of(self, self.axis, a.ndim), self.infer_type(a.dtype)
        asked = np.asarray(self.q_scalar if not q else q[0])
        if np.any((asked < 0) | (asked > 100)):
            raise self.error(f"got q={asked}, wanted 0 to 100")
        kept = [i for i in range(a.ndim) if i not in axes]
        rows = a.transpose(*kept, *axes).reshape((*(a.shape[i] for i in kept), math.prod(a.shape[i] for i in axes)))
        rows = np.sort(rows, axis=-1)
        before, after, way = self.at(asked, rows.shape[-1])
        low, high = (np.moveaxis(rows[..., w], range(-asked.ndim, 0), range(asked.ndim)) for w in (before, after))
        low, high = low.astype(dtype), high.astype(dtype)
        way = way.astype(dtype).reshape((*asked.shape, *(1,) * len(kept)))
        one = dtype.type(1)  # a number of Python's makes float64 of single numbers in NumPy 1
        between = low if before is after else low * (one - way) + high * way
        return between.reshape(self.infer_shape(a.shape, *(x.shape for x in q)))

    def gradient(self, F, dy, *arrays):
        return None

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 5), q_scalar=37.5, axis=1)
        yield make(make.uniform(2, 3, 4), np.array([10, 50, 80], np.float32), axis=(0, 2), interpolation="midpoint")
