"""Layers on 8-bit integers with ranges: see quantization.py for what these stand for."""

from typing import Any, Literal, cast

import numpy as np

from ..core.op import Op, op
from ..core.shapes import merge, merge_all
from .activation import Activation
from .binary import ElemwiseAdd, ElemwiseMul
from .common import Elementwise, axis_of, truncate
from .convolution import Convolution
from .indexing import Embedding, EmbeddingBase
from .join import Concat
from .linear import FullyConnected
from .normalization import BatchNorm
from .pooling import Pooling
from .quantization import (
    EIGHT,
    INT8,
    INT32,
    LEVELS,
    UINT8,
    Counterpart,
    Quantized,
    around_zero,
    ends,
    is_range,
    product_range,
    reach,
    rescale,
    saturate,
)
from .shape import Flatten
from .windows import convolve

RANGES = ("min_weight", "max_weight", "min_bias", "max_bias")


class _Layer(Counterpart, Quantized):
    """Base of the layers."""

    exception = "rounds and saturates integers as oneDNN does"


class _Keeping(_Layer):
    """Base of layers whose result has the range of the data."""

    def range_inputs(self):
        return (("min_data", "max_data"),)

    def range_ahead(self, dtype, given):
        return given[0]


class _Weighted(_Layer):
    """Base of layers with weights: data, weight and bias, then the range of each."""

    central = True
    accumulates = True
    eight = ("data",)
    signed = ("weight", "bias")
    parameters = Op.parameters | set(RANGES)

    no_bias: bool = False

    def input_names(self):
        return self.inputs[:2] + self.inputs[3:7] if self.no_bias else self.inputs

    @property
    def tensors(self) -> int:
        """Number of inputs that are no ranges."""
        return 2 if self.no_bias else 3

    def result(self, *dtypes):
        return INT32


@op("_contrib_quantized_conv")
class QuantizedConvolution(_Weighted, Convolution):
    """Convolution of integers, int32 sums (rounded to float32), plus bias as it stands: MXNet leaves its range out of account.

    Shapes: as Convolution, channels first; ranges (1,) -> output, (1,), (1,): the range of sums of int8 products, for uint8
    data too. Source: MXNet contrib.quantized_conv, which on a CPU takes uint8 data and one group only.
    """

    replaces = Convolution
    inputs = ("data", "weight", "bias", "min_data", "max_data", *RANGES)
    supports_out = False

    def check(self):
        if self.layout not in (None, "NCW", "NCHW", "NCDHW"):
            return f"got layout={self.layout}, wanted channels first"
        return super().check()

    def infer_input_shapes(self, shapes, outputs):
        n = self.tensors
        return [*Convolution.infer_input_shapes(self, shapes[:n], outputs), *[(1,)] * (len(shapes) - n)]

    def infer_shape(self, data, weight, *others):
        return [Convolution.infer_shape(self, data, weight), (1,), (1,)]

    def compute(self, data, weight, *others):
        arrays = data.astype(np.float64), weight.astype(np.float64)
        # oneDNN's sums pass through float32
        total = convolve(*arrays, self.strides, self.dilations, self.pads, self.num_group).astype(np.float32)
        if not self.no_bias:
            total += others[0].reshape(-1, *(1,) * len(self.kernel)).astype(np.float32)
        ranges = others[self.tensors - 2 :]
        return saturate(total, INT32), *product_range(ranges[:2], ranges[2:4], INT8)

    def gradient(self, F, dy, *arrays):
        return None

    @classmethod
    def examples(cls, make):
        weight = make.integers(4, 3, 3, 3, low=-127, high=128, dtype="int8")
        ranges = [make.array([v]) for v in (-1, 2, -0.5, 0.4)]
        attrs = {"kernel": (3, 3), "num_filter": 4}
        data = make.integers(2, 3, 5, 5, high=256, dtype="uint8")
        bias = make.integers(4, low=-127, high=128, dtype="int8"), *ranges, make.array([-0.1]), make.array([0.2])
        yield make(data, weight, *bias, **attrs, pad=(1, 1), stride=(2, 2))
        yield make(data, weight, *ranges, **attrs, no_bias=True)
        yield make(data.astype(np.int8), weight, *ranges, **attrs, no_bias=True, pad=(1, 1))


@op("_contrib_quantized_fully_connected")
class QuantizedFullyConnected(_Weighted, FullyConnected):
    """data @ weight.T of integers, int32 sums, plus bias brought to the sums' scale and cut off to whole numbers (and added in
    float32).

    Shapes: as FullyConnected; ranges (1,) -> output, (1,), (1,). Source: MXNet contrib.quantized_fully_connected.
    """

    replaces = FullyConnected
    inputs = ("data", "weight", "bias", "min_data", "max_data", *RANGES)

    def infer_input_shapes(self, shapes, outputs):
        n = self.tensors
        return [*FullyConnected.infer_input_shapes(self, shapes[:n], outputs), *[(1,)] * (len(shapes) - n)]

    def infer_shape(self, data, weight, *others):
        return [FullyConnected.infer_shape(self, data, weight), (1,), (1,)]

    @staticmethod
    def bias_scale(dtype: np.dtype, data: Any, weight: Any, bias: Any) -> np.float32:
        """Factor of an int8 bias beside data of dtype, from the reach of each range."""
        return (LEVELS[dtype] / data) * (LEVELS[INT8] / weight) * bias / LEVELS[INT8]

    def compute(self, data, weight, *others):
        x = data.reshape(len(data), weight.shape[1]) if self.flatten else data
        total = x.astype(np.float64) @ weight.T.astype(np.float64)
        ranges = others[self.tensors - 2 :]
        if self.no_bias:
            y = total.astype(np.int64).astype(INT32)
        else:  # oneDNN adds in float32
            scale = self.bias_scale(data.dtype, *(reach(*ranges[i : i + 2]) for i in (0, 2, 4)))
            y = saturate(total.astype(np.float32) + truncate(others[0] * scale, INT32).astype(np.float32), INT32)
        return y, *product_range(ranges[:2], ranges[2:4], data.dtype)

    def gradient(self, F, dy, *arrays):
        return None

    @classmethod
    def examples(cls, make):
        weight = make.integers(5, 6, low=-127, high=128, dtype="int8")
        ranges = [make.array([v]) for v in (-1, 2, -0.5, 0.4)]
        bias = make.integers(5, low=-127, high=128, dtype="int8"), *ranges, make.array([-0.1]), make.array([0.2])
        yield make(make.integers(2, 2, 3, high=256, dtype="uint8"), weight, *bias, num_hidden=5)
        yield make(make.integers(2, 6, low=-128, high=128, dtype="int8"), weight, *bias, num_hidden=5)
        data = make.integers(2, 3, 6, low=-128, high=128, dtype="int8")
        yield make(data, weight, *ranges, num_hidden=5, no_bias=True, flatten=False)


@op("_contrib_quantized_act")
class QuantizedActivation(_Keeping):
    """relu, the only act_type there is. The output is int8; uint8 data passes by its bits, as in MXNet.

    Shapes: data (...), ranges (1,) -> (...) and the ranges. Source: MXNet contrib.quantized_act.
    """

    act_type: Literal["relu", "sigmoid", "softrelu", "softsign", "tanh"]

    replaces = Activation
    inputs = ("data", "min_data", "max_data")
    eight = ("data",)
    gradient = Op.gradient

    def check(self):
        return None if self.act_type == "relu" else f"got act_type={self.act_type}, wanted relu; no other is quantised"

    def result(self, *dtypes):
        return INT8

    def compute(self, data, low, high):
        return np.maximum(data, 0).astype(INT8), *ends(low, high)

    @classmethod
    def examples(cls, make):
        data = make.integers(2, 3, low=-128, high=128, dtype="int8")
        yield make(data, make.array([-1]), make.array([2]), act_type="relu")


@op("_contrib_quantized_flatten")
class QuantizedFlatten(_Keeping):
    """All axes but the first as one. Shapes: data (N, ...), ranges (1,) -> (N, K) and the ranges.

    Source: MXNet contrib.quantized_flatten."""

    replaces = Flatten
    inputs = ("data", "min_data", "max_data")

    def infer_shape(self, data, *ranges):
        size = 1
        for dim in data[1:]:
            size = size * dim
        return [(data[0], size), (1,), (1,)]

    def compute(self, data, low, high):
        return data.reshape(self.infer_shape(data.shape)[0]).copy(), *ends(low, high)

    @classmethod
    def examples(cls, make):
        yield make(make.integers(2, 3, 2, low=-128, high=128, dtype="int8"), make.array([-1]), make.array([2]))


class WholePooling(Pooling):
    """Pooling whose means divide by the whole kernel wherever the window lies, unless padding is not counted; of integers too."""

    @staticmethod
    def least(dtype):
        return Pooling.least(dtype) if dtype.kind == "f" else int(np.iinfo(dtype).min)

    def counts(self, size, kernel, stride, pad):
        if not self.include:
            return super().counts(size, kernel, stride, pad)
        return np.full(self.steps(size, kernel, stride, pad), kernel)


@op("_contrib_quantized_pooling")
class QuantizedPooling(_Keeping, Pooling):
    """Pooling of integers, max or avg; means are rounded, halves to even, and divide by the whole kernel unless padding is not
    counted.

    Shapes: as Pooling, channels first; ranges (1,) -> output and the ranges. Source: MXNet contrib.quantized_pooling.
    """

    replaces = Pooling
    inputs = ("data", "min_data", "max_data")
    eight = ("data",)

    def check(self):
        if self.pool_type not in ("max", "avg"):
            return f"got pool_type={self.pool_type}, wanted max or avg"
        if self.channels_last:
            return f"got layout={self.layout}, wanted channels first"
        return Pooling.check(self)

    def infer_shape(self, data, *ranges):
        return [Pooling.infer_shape(self, data), (1,), (1,)]

    def kernel_matches(self, dtype):
        return True

    @property
    def plain(self) -> WholePooling:
        """The pooling of floats."""
        return cast(WholePooling, WholePooling.bind(**self.dump()))

    def compute(self, data, low, high):
        return saturate(self.plain.compute(data.astype(np.float64)), data.dtype), *ends(low, high)

    def gradient(self, F, dy, *arrays):
        return None

    @classmethod
    def examples(cls, make):
        data, ranges = make.integers(1, 2, 5, 5, low=-128, high=128, dtype="int8"), (make.array([-1]), make.array([2]))
        for pool_type in ("max", "avg"):
            yield make(data, *ranges, kernel=(2, 3), pool_type=pool_type, stride=(2, 2), pad=(1, 1))
            yield make(data.astype(np.uint8), *ranges, pool_type=pool_type, global_pool=True)
        yield make(data, *ranges, kernel=(2, 2), pool_type="avg", count_include_pad=False, pad=(1, 1))


@op("_contrib_quantized_concat")
class QuantizedConcat(_Layer, Concat):
    """Concat of integers, all brought to the widest of the ranges, 0 included. One int8 input makes the output int8.

    Inputs: num_args tensors, then the two ends of the range of each. Shapes: as Concat; ranges (1,) -> output, (1,), (1,).
    Source: MXNet contrib.quantized_concat.
    """

    replaces = Concat
    supports_out = False

    def input_names(self):
        names = [f"arg{i}" for i in range(self.num_args)]
        return (*names, *(f"{name}_{end}" for name in names for end in ("min", "max")))

    def wants(self, name):
        return super().wants(name) if is_range(name) else EIGHT

    def result(self, *dtypes):
        return INT8 if INT8 in dtypes[: self.num_args] else UINT8

    def range_inputs(self):
        return tuple((f"arg{i}_min", f"arg{i}_max") for i in range(self.num_args))

    def range_ahead(self, dtype, given):
        return None if None in given else (min(0, *(low for low, _ in given)), max(0, *(high for _, high in given)))

    def infer_input_shapes(self, shapes, outputs):
        n = self.num_args
        return [*Concat.infer_input_shapes(self, shapes[:n], outputs[:1]), *[(1,)] * 2 * n]

    def infer_shape(self, *shapes):
        return [Concat.infer_shape(self, *shapes[: self.num_args]), (1,), (1,)]

    def compute(self, *arrays):
        n = self.num_args
        data, lows, highs = arrays[:n], arrays[n::2], arrays[n + 1 :: 2]
        low, high = min(0, *(x.item() for x in lows)), max(0, *(x.item() for x in highs))
        dtype = self.result(*(x.dtype for x in data))
        scale = LEVELS[dtype] / reach(low, high)
        parts = []
        for x, *own in zip(data, lows, highs):
            given = LEVELS[x.dtype] / reach(*own)
            parts.append(x if given == scale and x.dtype == dtype else rescale(x, scale / given, dtype))
        return np.concatenate(parts, self.joined_axis(data[0].ndim)), *ends(low, high)

    def gradient(self, F, dy, *arrays):
        return None

    @classmethod
    def examples(cls, make):
        a, b = make.integers(2, 3, 2, low=-128, high=128, dtype="int8"), make.integers(2, 1, 2, high=256, dtype="uint8")
        ranges = [make.array([v]) for v in (-1, 2, 0, 3)]
        yield make(a, b, *ranges, num_args=2)
        yield make(b, b, *ranges, num_args=2, dim=2)


class _Pair(_Layer):
    """Base of element-by-element operators on two tensors, then the range of each."""

    min_calib_range: float | None = None
    max_calib_range: float | None = None

    accumulates = True
    inputs = ("lhs", "rhs", "lhs_min", "lhs_max", "rhs_min", "rhs_max")

    @property
    def calibrated(self) -> tuple[float, float] | None:
        """The range that attributes give; None unless both ends are given."""
        if self.min_calib_range is None or self.max_calib_range is None:
            return None
        return self.min_calib_range, self.max_calib_range

    def range_ahead(self, dtype, given):
        return self.calibrated

    def infer_input_shapes(self, shapes, outputs):
        both = Elementwise.infer_input_shapes(self, shapes[:2], outputs[:1])  # type: ignore[arg-type]
        return [*both, *[(1,)] * 4]

    def infer_shape(self, lhs, rhs, *ranges):
        return [merge(lhs, rhs), (1,), (1,)]


@op("_contrib_quantized_elemwise_add")
class QuantizedAdd(_Pair):
    """lhs + rhs of integers, rounded: int32 over the sum of both ranges; with a calibrated range 8 bits, uint8 where both are.

    Of an int8 and a uint8 tensor the uint8 one is rounded (and saturated) to int8 by itself first: without a calibrated range
    little is left of it. MXNet keeps it in memory that it has freed, and mostly finds it there again.
    Shapes: lhs and rhs (...), ranges (1,) -> (...), (1,), (1,).
    Source: MXNet contrib.quantized_elemwise_add.
    """

    replaces = ElemwiseAdd
    eight = ("lhs", "rhs")
    gradient = Op.gradient

    def result(self, lhs, rhs, *ranges):
        if self.calibrated is None:
            return INT32
        return UINT8 if lhs == rhs == UINT8 else INT8

    def scales(self, kinds: tuple[np.dtype, np.dtype], reaches: Any) -> tuple[Any, Any]:
        """Factors of the two tensors."""
        levels = LEVELS[self.result(*kinds)]
        if self.calibrated is not None:
            scale = levels / reach(*self.calibrated)
            return scale / (LEVELS[kinds[0]] / reaches[0]), scale / (LEVELS[kinds[1]] / reaches[1])
        both = reaches[0] + reaches[1]
        return reaches[0] * levels / (both * LEVELS[kinds[0]]), reaches[1] * levels / (both * LEVELS[kinds[1]])

    def compute(self, lhs, rhs, *ranges):
        kinds = lhs.dtype, rhs.dtype
        reaches = reach(*ranges[:2]), reach(*ranges[2:])
        parts = [
            rescale(x, scale, INT8) if kinds[0] != kinds[1] and x.dtype == UINT8 else x.astype(np.float32) * scale
            for x, scale in zip((lhs, rhs), self.scales(kinds, reaches))
        ]
        found = around_zero(reaches[0] + reaches[1]) if self.calibrated is None else ends(*self.calibrated)
        return saturate(parts[0] + parts[1].astype(np.float32), self.result(*kinds)), *found

    @classmethod
    def examples(cls, make):
        a, b = (make.integers(2, 3, low=-128, high=128, dtype="int8") for _ in range(2))
        ranges, calibrated = [make.array([v]) for v in (-1, 2, 0, 3)], {"min_calib_range": -2.0, "max_calib_range": 4.0}
        yield make(a, b, *ranges)
        yield make(a, b, *ranges, **calibrated)
        yield make(a, b.astype(np.uint8), *ranges, **calibrated)
        yield make(a.astype(np.uint8), b.astype(np.uint8), *ranges, **calibrated)


@op("_contrib_quantized_elemwise_mul")
class QuantizedMultiply(_Pair):
    """lhs * rhs of int8: int32; with a calibrated range int8, cut off to whole numbers and wrapping round, not saturated; with
    enable_float_output the numbers themselves, without a range.

    Shapes: lhs and rhs (...), ranges (1,) -> (...), (1,), (1,), or (...) alone. Source: MXNet contrib.quantized_elemwise_mul.
    """

    enable_float_output: bool = False

    replaces = ElemwiseMul
    signed = ("lhs", "rhs")

    def output_names(self):
        return ("output",) if self.enable_float_output else super().output_names()

    def result(self, *dtypes):
        return INT32 if self.calibrated is None else INT8

    def infer_type(self, *dtypes):
        return np.dtype(np.float32) if self.enable_float_output else super().infer_type(*dtypes)

    def infer_shape(self, *shapes):
        found = super().infer_shape(*shapes)
        return found[:1] if self.enable_float_output else found

    def compute(self, lhs, rhs, *ranges):
        product = lhs.astype(np.int32) * rhs
        reaches = reach(*ranges[:2]), reach(*ranges[2:])
        scales = [LEVELS[INT8] / r for r in reaches]
        if self.enable_float_output:  # the division is MXNet's in double precision
            return product.astype(np.float32) * np.float32(1 / np.float64(scales[0]) / np.float64(scales[1]))
        if self.calibrated is None:
            return product, *product_range(ranges[:2], ranges[2:], INT8)
        scale = LEVELS[INT8] / reach(*self.calibrated) / scales[0] / scales[1]
        return truncate(product.astype(np.float32) * scale, INT8), *ends(*self.calibrated)

    @classmethod
    def examples(cls, make):
        a, b = (make.integers(2, 3, low=-128, high=128, dtype="int8") for _ in range(2))
        ranges = [make.array([v]) for v in (-1, 2, 0, 3)]
        yield make(a, b, *ranges)
        yield make(a, b, *ranges, min_calib_range=-2.0, max_calib_range=4.0)
        yield make(a, b, *ranges, enable_float_output=True)


@op("_contrib_quantized_batch_norm")
class QuantizedBatchNorm(_Layer, BatchNorm):
    """BatchNorm of integers by the moving statistics, over a calibrated range; the output is int8. gamma counts as it is, with
    fix_gamma too.

    uint8 data is first rounded to int8. Shapes: data (N, C, ...), gamma, beta, moving_mean, moving_var (C,), ranges (1,) ->
    data's, (1,), (1,). Source: MXNet contrib.quantized_batch_norm, which normalizes axis 1 only.
    """

    inputs = ("data", "gamma", "beta", "moving_mean", "moving_var", "min_data", "max_data")
    eight = ("data",)
    floats = inputs[1:5]
    needs = ()
    replaces = BatchNorm

    @classmethod
    def stays_float(cls, name, per_channel):
        return name in cls.floats

    def output_names(self):
        return Quantized.output_names(self)

    def num_visible_outputs(self):
        return 3

    def result(self, *dtypes):
        return INT8

    def infer_type(self, *dtypes):
        return Quantized.infer_type(self, *dtypes)

    def infer_input_types(self, dtypes, outputs):
        return Quantized.infer_input_types(self, dtypes, outputs)

    def infer_input_shapes(self, shapes, outputs):
        data = merge(shapes[0], outputs[0])
        channels = merge_all(shapes[1:5])
        if data is not None:
            channels = merge(channels, (data[axis_of(self, self.axis, len(data))],))
        return [data, *[channels] * 4, (1,), (1,)]

    def infer_shape(self, data, *others):
        if None in (self.min_calib_range, self.max_calib_range):  # such nodes stand in graphs not calibrated yet
            raise self.error("min_calib_range and max_calib_range are required: calibrate the network")
        return [data, (1,), (1,)]

    def range_ahead(self, dtype, given):
        return self.min_calib_range, self.max_calib_range

    def factors(self, gamma, beta, mean, var, data_reach: np.float32) -> tuple[np.ndarray, np.ndarray]:
        """Factor and summand of int8 data, channel by channel."""
        rstd = (1 / np.sqrt(var.astype(np.float64) + self.eps)).astype(np.float32)
        out = reach(self.min_calib_range, self.max_calib_range)
        factor = gamma * rstd * data_reach / out
        summand = (beta - mean * gamma * rstd) * LEVELS[INT8] / out
        # oneDNN is told a variance of 1, and adds eps to it once more
        return factor / np.sqrt(np.float32(1) + np.float32(self.eps)), summand

    def compute(self, data, gamma, beta, moving_mean, moving_var, low, high):
        x = data if data.dtype == INT8 else rescale(data, LEVELS[INT8] / LEVELS[UINT8], INT8)
        dims = [1] * data.ndim
        dims[axis_of(self, self.axis, data.ndim)] = -1
        factor, summand = self.factors(gamma, beta, moving_mean, moving_var, reach(low, high))
        y = x.astype(np.float32) * factor.reshape(dims) + summand.reshape(dims)
        return saturate(y, INT8), *ends(self.min_calib_range, self.max_calib_range)

    def gradient(self, F, dy, *arrays):
        return None

    @classmethod
    def examples(cls, make):
        parameters = [make.uniform(3), make.uniform(3), make.uniform(3), make.uniform(3, low=0.5, high=1.5)]
        data, ranges = make.integers(2, 3, 2, 2, low=-128, high=128, dtype="int8"), (make.array([-1]), make.array([2]))
        for x in (data, data.astype(np.uint8)):
            yield make(x, *parameters, *ranges, min_calib_range=-3.0, max_calib_range=2.0)


@op("_contrib_quantized_embedding")
class QuantizedEmbedding(_Layer, EmbeddingBase):
    """The rows of an int8 weight at the positions data, as Embedding.

    Shapes: data (...), weight (input_dim, output_dim), ranges (1,) -> (..., output_dim) and the ranges.
    Source: MXNet contrib.quantized_embedding.
    """

    replaces = Embedding
    inputs = ("data", "weight", "min_weight", "max_weight")
    signed = ("weight",)
    parameters = Op.parameters | set(RANGES)

    @classmethod
    def stays_float(cls, name, per_channel):
        return name == "data"

    def result(self, *dtypes):
        return INT8

    def infer_input_shapes(self, shapes, outputs):
        return [shapes[0], (self.input_dim, self.output_dim), (1,), (1,)]

    def infer_shape(self, data, *others):
        return [(*data, self.output_dim), (1,), (1,)]

    def compute(self, data, weight, low, high):
        return EmbeddingBase.compute(self, data, weight), *ends(low, high)

    @classmethod
    def examples(cls, make):
        weight = make.integers(5, 4, low=-128, high=128, dtype="int8")
        yield make(make.integers(2, 3, high=5), weight, make.array([-1]), make.array([2]), input_dim=5, output_dim=4)
