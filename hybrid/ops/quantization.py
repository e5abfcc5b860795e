"""Numbers as 8-bit integers with a range, as MXNet's quantised networks carry them: the conversions.

A quantised tensor comes as three: the integers, and the ends of its range, float32 of shape (1,). What an integer stands for
follows from the end that is further from 0: q * max(|low|, |high|) / levels, zero always being 0 (unsigned integers too, whatever
the range).

Which levels those are depends on the operator. MXNet 1.9.1 built with oneDNN, as all its CPU packages are, has 127.5 for int8 and
255.5 for uint8 in quantize_v2, dequantize and the sums, concatenations and normalizations; quantize, requantize and the ranges of
products have 127 and 255. MXNet's own kernels, which it uses nowhere on a CPU (MXNET_MKLDNN_ENABLED=0 does not bring them in),
round halves away from 0 and count uint8 from the low end of the range. We follow oneDNN, in float32 and in its order of
operations: halves to even, saturating at -128.
"""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np

from ..core.attrs import Count
from ..core.op import OPS, Op, op
from .common import truncate

INT8, UINT8, INT32, FLOAT = (np.dtype(name) for name in ("int8", "uint8", "int32", "float32"))
EIGHT = (INT8, UINT8)

LEVELS = {INT8: np.float32(127.5), UINT8: np.float32(255.5), INT32: np.float32(2**31)}
"""Levels on one side of 0, with half of one to spare."""
PLAIN_LEVELS = {INT8: np.float32(127), UINT8: np.float32(255), INT32: np.float32(2**31)}
"""The greatest integer of each dtype, as float32."""


def is_range(name: str) -> bool:
    """True for the name of an input or output that is an end of a range."""
    return name.startswith(("min_", "max_")) or name.endswith(("_min", "_max"))


def reach(low: Any, high: Any) -> np.float32:
    """The end of a range that is further from 0, without its sign; ends are numbers or arrays of one element."""
    ends = np.abs(np.array([low, high], FLOAT).reshape(2))
    return np.float32(ends.max())


def ends(low: Any, high: Any) -> tuple[np.ndarray, np.ndarray]:
    """A range as operators give it."""
    return np.array(low, FLOAT).reshape(1), np.array(high, FLOAT).reshape(1)


def around_zero(reach: np.float32) -> tuple[np.ndarray, np.ndarray]:
    """The range that reaches as far to both sides."""
    return ends(-reach, reach)


GREATEST = {INT8: 127, UINT8: 255, INT32: 2147483520}
"""Greatest numbers, which those beyond become: of int32 the greatest that float32 has too."""


def saturate(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Floats as integers of dtype: halves to even, what lies beyond as the nearest there is; NaN as the greatest signed one and as
    unsigned 0."""
    least, most = np.iinfo(dtype).min, GREATEST[dtype]
    whole = np.asarray(np.rint(values))
    np.clip(whole, least, most, out=whole)
    nan = np.isnan(whole)
    if nan.any():
        whole[nan] = most if least else 0
    return whole.astype(dtype)


def rescale(data: np.ndarray, scale: np.float32, dtype: np.dtype) -> np.ndarray:
    """data times scale, computed in float32, as integers of dtype."""
    return saturate(data.astype(FLOAT) * np.float32(scale), dtype)


def product_range(data: tuple[Any, Any], weight: tuple[Any, Any], dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """The range of int32 sums of products, of data of dtype with int8 weights."""
    one = (reach(*data) / PLAIN_LEVELS[dtype]) * (reach(*weight) / PLAIN_LEVELS[INT8])
    return around_zero(one * PLAIN_LEVELS[INT32])


class Counterpart(Op):
    """Base of operators that stand for one on floats in quantised networks: what there is to know when it takes its place."""

    replaces: ClassVar[type[Op] | None] = None
    """The operator on floats; None where it is this one too, by its attributes."""
    central: ClassVar[bool] = False
    """True when quantising is about it; others are quantised where they stand between two of these, or all of them if asked."""
    accumulates: ClassVar[bool] = False
    """True when results are int32, which are requantised, as long as no calibrated range makes them 8 bits."""

    @classmethod
    def stays_float(cls, name: str, per_channel: bool) -> bool:
        """True when an input of that name is not quantised; per_channel: dense layers quantise their weights, with scales by
        channel."""
        return False

    @classmethod
    def own_attributes(cls, per_channel: bool) -> dict[str, str]:
        """Attributes beside those of the operator on floats, as MXNet writes them; per_channel: as above."""
        return {}


def counterparts() -> dict[type[Op], type[Counterpart]]:
    """By operator on floats what stands for it in quantised networks."""
    return {cls.replaces or cls: cls for cls in OPS.values() if issubclass(cls, Counterpart)}


class Quantized(Op):
    """Base of operators on integers with ranges: dtypes of the inputs, shapes of the ranges, gradients of 0 as MXNet has them (of
    some it has none: these take Op's)."""

    eight: ClassVar[tuple[str, ...]] = ()

    exception = "rounds and saturates integers as oneDNN does"
    """Inputs that are int8 or uint8, unless others are not restricted at all."""
    signed: ClassVar[tuple[str, ...]] = ()
    """Inputs that are int8."""
    floats: ClassVar[tuple[str, ...]] = ()
    """Inputs that are float32; ranges are anyway."""
    whole: ClassVar[tuple[str, ...]] = ()
    """Inputs that are int32."""

    refuses = ""

    def output_names(self):
        return ("output", "min_output", "max_output")

    def wants(self, name: str) -> tuple[np.dtype, ...]:
        """The dtypes that an input may have; none when it may have any."""
        if is_range(name) or name in self.floats:
            return (FLOAT,)
        if name in self.signed:
            return (INT8,)
        return (INT32,) if name in self.whole else EIGHT if name in self.eight else ()

    def infer_input_types(self, dtypes, outputs):
        found = []
        for name, dtype in zip(self.input_names(), dtypes, strict=True):
            wanted = self.wants(name)
            if dtype is not None and wanted and dtype not in wanted:
                raise self.error(f"got {name} of dtype {dtype}, wanted {' or '.join(d.name for d in wanted)}")
            found.append(wanted[0] if dtype is None and len(wanted) == 1 else dtype)
        return found

    def infer_type(self, *dtypes):
        return [self.result(*dtypes), FLOAT, FLOAT]

    def result(self, *dtypes: np.dtype) -> np.dtype:
        """The dtype of the first output."""
        return dtypes[0]

    def range_inputs(self) -> Sequence[tuple[str, str]]:
        """Names of inputs, two by two, that hold the ranges from which alone that of the result follows."""
        return ()

    def range_ahead(self, dtype: np.dtype, given: Sequence[Any]) -> tuple[Any, Any] | None:
        """The range of a result of dtype as far as it does not depend on data; given: the ranges of range_inputs, None where they
        are not known. None when it is not known either."""
        return None

    def infer_input_shapes(self, shapes, outputs):
        return [(1,) if is_range(n) else s for n, s in zip(self.input_names(), shapes, strict=True)]

    def infer_shape(self, data, *others):
        return [data, (1,), (1,)]

    def gradient(self, F, dy, *arrays):
        return None


class _Calibrated(Quantized):
    """Base of conversions whose range may have been found by calibration."""

    min_calib_range: float | None = None
    max_calib_range: float | None = None

    @property
    def calibrated(self) -> tuple[np.float32, np.float32] | None:
        """The range that attributes give; None unless both ends are given."""
        if self.min_calib_range is None or self.max_calib_range is None:
            return None
        return np.float32(self.min_calib_range), np.float32(self.max_calib_range)

    def range_ahead(self, dtype, given):
        if self.calibrated is None:
            return None
        low, high = self.calibrated
        return (-reach(low, high), reach(low, high)) if dtype == INT8 else (low, high)

    def target(self, out_type: str) -> np.dtype:
        """The dtype that out_type stands for: "auto" is uint8 for a calibrated range without negative numbers, else int8."""
        if out_type == "auto":
            return UINT8 if self.calibrated is not None and self.calibrated[0] >= 0 else INT8
        return np.dtype(out_type)


def find_range(data: np.ndarray) -> tuple[np.float32, np.float32]:
    """The least and greatest number of float32 data, NaN apart."""
    most = np.finfo(FLOAT).max
    flat = data.reshape(-1)
    return np.fmin.reduce(flat, initial=most), np.fmax.reduce(flat, initial=-most)


@op("_contrib_quantize")
class Quantize(Quantized):
    """data as integers: data * levels / max(|min_range|, |max_range|), rounded, 127 levels for int8 and 255 for uint8.

    Shapes: data (...), min_range and max_range (1,) -> (...), (1,), (1,): the range given, for int8 the one around 0.
    Source: MXNet contrib.quantize.
    """

    out_type: Literal["int8", "uint8"] = "uint8"

    inputs = ("data", "min_range", "max_range")
    floats = ("data",)

    def output_names(self):
        return ("output0", "output1", "output2")

    def result(self, *dtypes):
        return np.dtype(self.out_type)

    def compute(self, data, low, high):
        most, dtype = reach(low, high), np.dtype(self.out_type)
        y = rescale(data, PLAIN_LEVELS[dtype] / most, dtype)
        return y, *(around_zero(most) if dtype == INT8 else ends(low, high))

    @classmethod
    def examples(cls, make):
        for out_type in ("int8", "uint8"):
            yield make(make.uniform(2, 3, low=-2), make.array([-1]), make.array([0.8]), out_type=out_type)


@op("_contrib_quantize_v2")
class QuantizeV2(_Calibrated):
    """data as integers: data * levels / max(|low|, |high|), rounded, 127.5 levels for int8 and 255.5 for uint8, the range being
    the calibrated one, else that of data. Integers pass as they are, by their bits.

    Shapes: data (...) -> (...), (1,), (1,): the range, for int8 the one around 0; of integers -127.5 to 127.5 and 0 to 255.5 unless
    it is calibrated. Source: MXNet contrib.quantize_v2.
    """

    out_type: Literal["auto", "int8", "uint8"] = "int8"

    positional_first = ("out_type",)

    def output_names(self):
        return ("output0", "output1", "output2")

    def wants(self, name):
        return (FLOAT, *EIGHT)

    def result(self, *dtypes):
        return self.target(self.out_type)

    def compute(self, data):
        dtype = self.target(self.out_type)
        if data.dtype != FLOAT:
            levels = LEVELS[data.dtype]
            return data.astype(dtype), *ends(*(self.calibrated or (-levels if data.dtype == INT8 else 0, levels)))
        low, high = self.calibrated or find_range(data)
        most = reach(low, high)
        y = rescale(data, LEVELS[dtype] / most, dtype)
        return y, *(around_zero(most) if dtype == INT8 else ends(low, high))

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3, 2))
        yield make(make.uniform(2, 3, low=-2), out_type="uint8")
        yield make(make.uniform(2, 3, low=-2), out_type="auto", min_calib_range=-1.0, max_calib_range=0.7)
        yield make(make.uniform(2, 3, low=-2), out_type="auto", min_calib_range=0.0, max_calib_range=0.7)
        yield make(make.integers(2, 3, low=-128, high=128, dtype="int8"))


@op("_contrib_quantize_asym")
class QuantizeAsym(_Calibrated):
    """data as uint8: data * scale + shift, rounded, with scale = 255 / (high - low) and shift = 255 - high * scale; the range is
    the calibrated one, else that of data.

    Shapes: data (...) -> (...), scale (1,), shift (1,). Source: MXNet contrib.quantize_asym, which refuses integers and does not
    survive data of other than 3 dimensions on a CPU.
    """

    floats = ("data",)

    def output_names(self):
        return ("output", "scale", "shift")

    def range_ahead(self, dtype, given):
        return None

    def result(self, *dtypes):
        return UINT8

    def compute(self, data):
        low, high = self.calibrated or find_range(data)
        scale = PLAIN_LEVELS[UINT8] / (high - low)
        shift = PLAIN_LEVELS[UINT8] - high * scale
        return saturate(data * scale + shift, UINT8), *ends(scale, shift)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3, 2))
        yield make(make.uniform(2, 3, 2, low=-2), min_calib_range=-1.0, max_calib_range=0.7)


@op("_contrib_dequantize")
class Dequantize(Quantized):
    """The numbers that integers stand for: data * max(|min_range|, |max_range|) / levels, 127.5 of them for int8 and 255.5 for
    uint8. Shapes: data (...), min_range and max_range (1,) -> (...). Source: MXNet contrib.dequantize."""

    out_type: Literal["float32"] = "float32"

    inputs = ("data", "min_range", "max_range")
    eight = ("data",)

    def output_names(self):
        return ("output",)

    def infer_type(self, *dtypes):
        return FLOAT

    def infer_shape(self, data, *ranges):
        return data

    def composition(self, F, data, low, high):
        if data.dtype not in LEVELS:
            return None
        reach = F.broadcast_maximum(F.abs(low), F.abs(high)) / float(LEVELS[data.dtype])
        return F.broadcast_mul(F.Cast(data, dtype="float32"), reach) if data.shape != () else None

    def compute(self, data, low, high):
        return data.astype(FLOAT) * (reach(low, high) / LEVELS[data.dtype])

    @classmethod
    def examples(cls, make):
        ranges = make.array([-1]), make.array([0.7])
        yield make(make.integers(2, 3, low=-128, high=128, dtype="int8"), *ranges)
        yield make(make.integers(2, 3, high=256, dtype="uint8"), *ranges)


@op("_contrib_requantize")
class Requantize(_Calibrated):
    """int32 sums as 8-bit integers, rounded, with 127 levels for int8 and 255 for uint8, over the calibrated range, else over that
    of data.

    Shapes: data (...), min_range and max_range (1,) -> (...), (1,), (1,): the range around 0, for uint8 from 0.
    Source: MXNet contrib.requantize (whose range of data is nonsense where data holds -2 ** 31 or more than 2 ** 31 - 65).
    """

    out_type: Literal["auto", "int8", "uint8"] = "int8"

    inputs = ("data", "min_range", "max_range")
    positional_first = ("out_type",)
    whole = ("data",)

    def output_names(self):
        return ("output0", "output1", "output2")

    def result(self, *dtypes):
        return self.target(self.out_type)

    def range_ahead(self, dtype, given):
        found = super().range_ahead(dtype, given)
        return found if found is None or dtype == INT8 else (np.float32(0), reach(*found))

    def compute(self, data, low, high):
        dtype, given = self.target(self.out_type), reach(low, high)
        if self.calibrated is not None:
            most = reach(*self.calibrated)
        else:
            most = reach(data.min(initial=2**31 - 1), data.max(initial=-(2**31))) * given / PLAIN_LEVELS[INT32]
        scale = (given / PLAIN_LEVELS[INT32]) * (PLAIN_LEVELS[dtype] / most)
        return rescale(data, scale, dtype), *(around_zero(most) if dtype == INT8 else ends(0, most))

    @classmethod
    def examples(cls, make):
        data, ranges = make.integers(2, 3, low=-(10**6), high=10**6, dtype="int32"), (make.array([-9]), make.array([9]))
        yield make(data, *ranges)
        yield make(data, *ranges, min_calib_range=-0.003, max_calib_range=0.002)
        yield make(data, *ranges, out_type="auto", min_calib_range=0.0, max_calib_range=0.002)
        yield make(data, *ranges, out_type="uint8")


@op("_contrib_calibrate_entropy")
class CalibrateEntropy(Quantized):
    """The threshold at which clipping a histogram loses least: the Kullback-Leibler divergence between the clipped histogram and
    num_quantized_bins levels of it is least.

    Shapes: hist (n,) with n odd and around 0, hist_edges (n + 1,) -> threshold (1,), divergence (1,).
    Source: MXNet contrib.calibrate_entropy; Migacz 2017, "8-bit inference with TensorRT".
    """

    num_quantized_bins: Count = 255

    inputs = ("hist", "hist_edges")
    floats = inputs
    gradient = Op.gradient

    def output_names(self):
        return ("threshold", "divergence")

    def infer_type(self, *dtypes):
        return [FLOAT, FLOAT]

    def infer_input_shapes(self, shapes, outputs):
        hist, edges = shapes
        return [hist, (hist[0] + 1,) if hist is not None and len(hist) == 1 else edges]

    def infer_shape(self, hist, edges):
        if len(hist) != 1:
            raise self.error(f"got hist of {len(hist)} dimensions, wanted 1")
        if hist[0] < self.num_quantized_bins:
            raise self.error(f"got {hist[0]} bins, wanted num_quantized_bins={self.num_quantized_bins} at least")
        return [(1,), (1,)]

    def compute(self, hist, edges):
        middle, half = len(hist) // 2, self.num_quantized_bins // 2
        widths = range(half, middle + 1)
        whole = truncate(hist, np.dtype(np.int64))
        sums = np.add.accumulate(hist, dtype=FLOAT), _before(whole), _before(whole != 0)
        divergences = np.array([self._divergence(hist, sums, middle - i, middle + i + 1) for i in widths], FLOAT)
        divergences = np.fmin(divergences, np.finfo(FLOAT).max)  # where none is finite MXNet gives the first threshold
        best = int(divergences.argmin())
        return ends(edges[middle + widths[best] + 1], divergences[best])

    def _divergence(self, hist: np.ndarray, sums: Sequence[np.ndarray], start: int, stop: int) -> np.float32:
        """That of the part from start to stop with what lies outside added to its ends; in float32, one after another.

        sums: of all numbers up to each, of the whole numbers before each, and of how many of those are not 0."""
        upto, whole, filled = sums
        p = np.concatenate([upto[start : start + 1], hist[start + 1 : stop]])
        p[-1] = _total(np.concatenate([p[-1:], hist[stop:]]))
        merged = len(p) // self.num_quantized_bins
        bounds = start + merged * np.arange(self.num_quantized_bins + 1)
        bounds[-1] = stop
        sizes = np.diff(bounds)
        bounds[0] += 1  # the first number is no count
        counts = np.diff(whole[bounds]).astype(FLOAT)
        levels = counts / np.maximum(np.diff(filled[bounds]), 1).astype(FLOAT)
        q = np.where(p != 0, np.repeat(levels, sizes), np.float32(0))
        smooth_p, smooth_q = _smooth(p), _smooth(q)
        if smooth_p is None or smooth_q is None:
            return np.float32(np.inf)
        p, q = smooth_p / _total(smooth_p), smooth_q / _total(smooth_q)
        return _total(p * np.log(p / q))

    @classmethod
    def examples(cls, make):
        edges = np.linspace(-1, 1, 42, dtype=FLOAT)
        yield make(make.integers(41, low=1, high=9), edges, num_quantized_bins=15)


def _total(x: np.ndarray) -> np.float32:
    """The sum, one number after another as C adds them up: thresholds are chosen by its last digits."""
    return np.add.accumulate(x, dtype=FLOAT)[-1]


def _before(x: np.ndarray) -> np.ndarray:
    """Sums of the whole numbers before each, and of all."""
    return np.concatenate([[0], np.cumsum(x, dtype=np.int64)])


def _smooth(p: np.ndarray) -> np.ndarray | None:
    """A histogram whose empty bins get a little of the others; None where there is too little to take."""
    empty, eps = p == 0, np.float32(1e-4)
    zeros = np.float32(np.count_nonzero(empty))
    if zeros == len(p):
        return None
    taken = eps * zeros / np.float32(len(p) - zeros)
    return None if taken >= 1 else p + np.where(empty, eps, -taken)
