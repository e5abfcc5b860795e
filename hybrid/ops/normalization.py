"""Normalization over batches, layers, instances, groups and neighbouring channels; Dropout."""

import math
from typing import Any, ClassVar, Literal

import numpy as np

from ..core.attrs import Count, ShapeOrNone
from ..core.op import WHOLE, Op, op
from ..core.shapes import UNKNOWN, merge, merge_all, show
from .common import Elementwise, axis_of, mean_over, narrow, want_rank, widen
from .composing import composed_moments, definite, folded, known, narrowly, placed_at, reshaped, widely


def _moments(x: np.ndarray, axes: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """x minus its mean, the mean, and the (biased) variance over axes, which stay as 1; two passes, since the difference of
    large squares is mostly rounding."""
    mean = mean_over(x, axes, keepdims=True)
    centered = x - mean
    return centered, mean, mean_over(np.square(centered), axes, keepdims=True)


def _wide_dtype(dtype: np.dtype | None) -> np.dtype | None:
    """The dtype of statistics beside data of a dtype: float32 for 16-bit floats."""
    return np.dtype(np.float32) if dtype is not None and dtype.itemsize == 2 else dtype


class _BatchNorm(Op):
    """Base of all batch normalizations. Subclasses give ``eps`` its default; those with an axis attribute override ``axis``."""

    exception = "computes something else in training than in inference"

    refuses = WHOLE

    eps: float
    momentum: float = 0.899999976
    fix_gamma: bool = True
    use_global_stats: bool = False
    output_mean_var: bool = False

    inputs = ("data", "gamma", "beta", "moving_mean", "moving_var")
    mutates = ("moving_mean", "moving_var")
    initializers = {"moving_mean": '["zero", {}]', "moving_var": '["one", {}]'}
    needs = ("training",)
    left_open = ("axis", "plain_variance")
    axis = 1
    plain_variance: ClassVar[bool] = False
    """True when the third output is the variance; else it is 1 / sqrt(var + eps), in spite of its name."""

    def output_names(self):
        return ("output", "mean", "var")

    def num_visible_outputs(self):
        return 3 if self.output_mean_var else 1

    def infer_input_shapes(self, shapes, outputs):
        data = merge(shapes[0], outputs[0])
        if data is None:
            return [None, *[merge_all((*shapes[1:], *outputs[1:]))] * 4]
        channels = (data[axis_of(self, self.axis, len(data))],)
        for name, shape in zip(self.inputs[1:], shapes[1:]):
            try:
                channels = merge(channels, shape)
            except ValueError:
                raise self.error(f"got {name} of shape {show(shape)}, wanted {show(channels)}") from None
        return [data, *[channels] * 4]

    def infer_shape(self, data, gamma, *rest):
        if len(data) < 2:
            raise self.error(f"got data of shape {show(data)}, wanted at least 2 dimensions")
        return [data, gamma, gamma]

    def infer_type(self, data, *rest):
        wide = _wide_dtype(data)
        for name, dtype in zip(self.inputs[1:], rest):
            if _wide_dtype(dtype) != wide:
                raise self.error(f"got {name} of dtype {dtype} for data of {data}, wanted {wide}; cast it")
        return [data, wide, wide]

    def infer_input_types(self, dtypes, outputs):
        data = outputs[0] if dtypes[0] is None else dtypes[0]
        return [data, *(_wide_dtype(data) if d is None else d for d in dtypes[1:])]

    def finish(self, y: np.ndarray) -> np.ndarray:
        """Apply what follows the normalization: nothing here."""
        return y

    def compute(self, data, gamma, beta, moving_mean, moving_var, *, training=False):
        x = widen(data)
        axis = axis_of(self, self.axis, x.ndim)
        others = tuple(a for a in range(x.ndim) if a != axis)
        dims = [-1 if a == axis else 1 for a in range(x.ndim)]
        if training and not self.use_global_stats:
            y, mean, var = _moments(x, others)
            mean, var = mean.reshape(-1), var.reshape(-1)
            if (
                data.dtype.itemsize == 2
            ):  # MXNet adds eps in data's dtype, and goes on with what is left of the variance
                var = widen(narrow(var + var.dtype.type(self.eps), data.dtype)) - np.float32(data.dtype.type(self.eps))
        else:
            mean, var = widen(moving_mean), widen(moving_var)
            y = x - mean.reshape(dims)
        scale = 1 / np.sqrt(var + var.dtype.type(self.eps))
        y *= (scale if self.fix_gamma else scale * gamma).reshape(dims)
        y += beta.reshape(dims)
        return narrow(self.finish(y), data.dtype), mean.copy(), var.copy() if self.plain_variance else scale

    def gradient(self, F, dy, data, gamma, beta, moving_mean, moving_var, y, mean, third):
        attrs = {
            "over": "batch",
            "axis": self.axis,
            "third": "var" if self.plain_variance else "rstd",
            "eps": self.eps,
            "momentum": self.momentum,
            "fixed": self.use_global_stats,
            "fix_gamma": self.fix_gamma,
        }
        dy = self.unfinish(dy[0], y)
        found = F._backward_batch_normalization(dy, data, gamma, mean, third, moving_mean, moving_var, **attrs)
        return found[0], found[1], found[2], None, None

    def unfinish(self, dy, y):
        """The gradient of what ``finish`` was given, as a symbol."""
        return dy

    @classmethod
    def examples(cls, make):
        parameters = [make.uniform(3), make.uniform(3), make.uniform(3), make.uniform(3, low=0.5, high=1.5)]
        yield make(make.uniform(2, 3, 2, 2), *parameters, fix_gamma=False)
        yield make(make.uniform(4, 3), *parameters)


@op("BatchNorm", "_npx_batch_norm", "CuDNNBatchNorm")
class BatchNorm(_BatchNorm):
    """(data - mean) / sqrt(var + eps) * gamma + beta, with one mean, var, gamma and beta for each index of axis.

    Mean and variance are those of the batch when training, else the moving ones, which the backward pass moves, as in MXNet:
    without one they stay. gamma counts as 1 with fix_gamma, whatever is stored. Further outputs: the mean, and
    1 / sqrt(var + eps).
    Shapes: data (N, C, ...) with C at axis, gamma, beta, moving_mean and moving_var (C,), float32 for float16 data.
    Source: Ioffe and Szegedy 2015.
    """

    meanings = {"axis": "Axis of the channels; negative ones count from the last."}

    eps: float = 0.0010000000474974513
    axis: int = 1
    cudnn_off: bool = False
    min_calib_range: float | None = None
    max_calib_range: float | None = None


@op("_contrib_BatchNormWithReLU")
class BatchNormWithReLU(BatchNorm):
    """BatchNorm followed by relu."""

    def finish(self, y):
        return np.maximum(y, 0, out=y)

    def unfinish(self, dy, y):
        return dy * (y > 0)


@op("BatchNorm_v1")
class BatchNormV1(_BatchNorm):
    """BatchNorm as MXNet before 0.9 had it: over axis 1, and the third output is the variance."""

    eps: float = 0.00100000005

    plain_variance = True


@op("_contrib_SyncBatchNorm")
class SyncBatchNorm(_BatchNorm):
    """BatchNorm over axis 1 whose batch may be spread over ndev devices; here there is one. The third output is the variance
    (in inference MXNet leaves the second and third unwritten; here they are the moving ones)."""

    eps: float = 0.00100000005
    ndev: int = 1
    key: str

    plain_variance = True

    @classmethod
    def examples(cls, make):
        parameters = [make.uniform(3), make.uniform(3), make.uniform(3), make.uniform(3, low=0.5, high=1.5)]
        yield make(make.uniform(2, 3, 2, 2), *parameters, key="bn", fix_gamma=False)


class _Affine(Op):
    """data normalized, times gamma, plus beta."""

    refuses = WHOLE

    inputs = ("data", "gamma", "beta")

    def _with_parameters(self, shapes, outputs, axis):
        data = merge(shapes[0], outputs[0])
        parameter = None if data is None else (data[axis_of(self, axis, len(data))],)
        return [data, parameter, parameter]


@op("LayerNorm", "_npx_layer_norm")
class LayerNorm(_Affine):
    """(data - mean) / sqrt(var + eps) * gamma + beta, mean and variance over one axis.

    Shapes: data (..., C, ...) with C at axis, gamma and beta (C,). Further outputs: the mean and sqrt(var + eps), with size 1
    at axis. Source: Ba, Kiros and Hinton 2016.
    """

    meanings = {"axis": "Axis that is normalised; negative ones count from the last."}

    axis: int = -1
    eps: float = 9.99999975e-06
    output_mean_var: bool = False

    def output_names(self):
        return ("output", "mean", "std")

    def num_visible_outputs(self):
        return 3 if self.output_mean_var else 1

    def infer_input_shapes(self, shapes, outputs):
        return self._with_parameters(shapes, outputs, self.axis)

    def infer_shape(self, data, gamma, beta):
        axis = axis_of(self, self.axis, len(data))
        reduced = (*data[:axis], 1, *data[axis + 1 :])
        return [data, reduced, reduced]

    def composition(self, F, data, gamma, beta):
        if not known(data) or 0 in definite(data.shape):
            return None
        axis, rank = axis_of(self, self.axis, len(data.shape)), len(data.shape)
        x, gamma, beta = widely(F, data.dtype, data, gamma, beta)
        y, mean, var = composed_moments(F, x, (axis,), data.shape[axis])
        std = F.sqrt(var + float(np.float32(self.eps)))
        y = F.broadcast_mul(F.broadcast_div(y, std), placed_at(F, gamma, axis, rank))
        y = F.broadcast_add(y, placed_at(F, beta, axis, rank))
        return tuple(narrowly(F, data.dtype, a) for a in (y, mean, std))

    def compute(self, data, gamma, beta):
        x = widen(data)
        axis = axis_of(self, self.axis, x.ndim)
        y, mean, var = _moments(x, (axis,))
        std = np.sqrt(var + var.dtype.type(np.float32(self.eps)))  # MXNet holds eps as float32
        dims = [-1 if a == axis else 1 for a in range(x.ndim)]
        y /= std
        y *= gamma.reshape(dims)
        y += beta.reshape(dims)
        return narrow(y, data.dtype), narrow(mean, data.dtype), narrow(std, data.dtype)

    def gradient(self, F, dy, data, gamma, beta, y, mean, std):
        found = F._backward_normalization(dy[0], data, gamma, mean, std, over="layer", axis=self.axis, third="std")
        return found[0], found[1], found[2]

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3, 4), make.uniform(4), make.uniform(4))
        yield make(make.uniform(2, 3, 4), make.uniform(3), make.uniform(3), axis=1)


@op("InstanceNorm")
class InstanceNorm(_Affine):
    """(data - mean) / sqrt(var + eps) * gamma + beta, mean and variance over all spatial axes of each channel of each image.

    Shapes: data (N, C, *spatial), gamma and beta (C,). Source: Ulyanov, Vedaldi and Lempitsky 2016.
    """

    eps: float = 0.00100000005

    def output_names(self):
        return ("output", "mean", "var")

    def num_visible_outputs(self):
        return 1

    def infer_input_shapes(self, shapes, outputs):
        return self._with_parameters(shapes, outputs, 1)

    def infer_shape(self, data, gamma, beta):
        if len(data) < 3:
            raise self.error(f"got data of shape {show(data)}, wanted at least 3 dimensions")
        return [data, data[:2], data[:2]]

    def composition(self, F, data, gamma, beta):
        if not known(data) or 0 in definite(data.shape):
            return None
        rank = len(data.shape)
        x, gamma, beta = widely(F, data.dtype, data, gamma, beta)
        y, mean, var = composed_moments(F, x, tuple(range(2, rank)), math.prod(data.shape[2:]))
        y = F.broadcast_mul(y, F.broadcast_div(placed_at(F, gamma, 1, rank), F.sqrt(var + self.eps)))
        y = F.broadcast_add(y, placed_at(F, beta, 1, rank))
        mean, var = (reshaped(F, a, data.shape[:2]) for a in (mean, var))
        return tuple(narrowly(F, data.dtype, a) for a in (y, mean, var))

    def compute(self, data, gamma, beta):
        x = widen(data)
        dims = (-1, *(1,) * (x.ndim - 2))
        y, mean, var = _moments(x, tuple(range(2, x.ndim)))
        y *= gamma.reshape(dims) / np.sqrt(var + var.dtype.type(self.eps))
        y += beta.reshape(dims)
        return tuple(narrow(a, data.dtype) for a in (y, mean.reshape(x.shape[:2]), var.reshape(x.shape[:2])))

    def gradient(self, F, dy, data, gamma, beta, y, mean, var):
        found = F._backward_normalization(dy[0], data, gamma, mean, var, over="instance", third="var", eps=self.eps)
        return found[0], found[1], found[2]

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3, 4, 2), make.uniform(3), make.uniform(3))


@op("GroupNorm")
class GroupNorm(_Affine):
    """(data - mean) / sqrt(var + eps) * gamma + beta, mean and variance over each group of channels of each image.

    Shapes: data (N, C, *spatial), gamma and beta (num_groups,): one for each group, not for each channel. Further outputs:
    the mean and sqrt(var + eps), (N, num_groups). Source: Wu and He 2018, but for gamma and beta.
    """

    num_groups: Count = 1
    eps: float = 9.99999975e-06
    output_mean_var: bool = False

    def output_names(self):
        return ("output", "mean", "std")

    def num_visible_outputs(self):
        return 3 if self.output_mean_var else 1

    def infer_input_shapes(self, shapes, outputs):
        return [merge(shapes[0], outputs[0]), (self.num_groups,), (self.num_groups,)]

    def infer_shape(self, data, gamma, beta):
        if len(data) < 3:
            raise self.error(f"got data of shape {show(data)}, wanted at least 3 dimensions")
        if data[1] is not UNKNOWN and data[1] % self.num_groups:
            raise self.error(f"got {data[1]} channels, wanted a multiple of num_groups={self.num_groups}")
        return [data, (data[0], self.num_groups), (data[0], self.num_groups)]

    def composition(self, F, data, gamma, beta):
        if not known(data) or 0 in definite(data.shape):
            return None
        x, gamma, beta = widely(F, data.dtype, data, gamma, beta)
        count = math.prod(data.shape[1:]) // self.num_groups
        groups = reshaped(F, x, (data.shape[0], self.num_groups, count))
        y, mean, var = composed_moments(F, groups, (2,), count)
        std = F.sqrt(var + float(np.float32(self.eps)))
        y = F.broadcast_mul(y, F.broadcast_div(placed_at(F, gamma, 1, 3), std))
        y = reshaped(F, F.broadcast_add(y, placed_at(F, beta, 1, 3)), data.shape)
        mean, std = (reshaped(F, a, (data.shape[0], self.num_groups)) for a in (mean, std))
        return tuple(narrowly(F, data.dtype, a) for a in (y, mean, std))

    def compute(self, data, gamma, beta):
        x = widen(data)
        groups = x.reshape(len(x), self.num_groups, math.prod(x.shape[1:]) // self.num_groups)
        y, mean, var = _moments(groups, (2,))
        std = np.sqrt(var + var.dtype.type(np.float32(self.eps)))  # MXNet holds eps as float32
        y *= gamma[:, None] / std
        y += beta[:, None]
        return tuple(narrow(a, data.dtype) for a in (y.reshape(x.shape), mean[..., 0], std[..., 0]))

    def gradient(self, F, dy, data, gamma, beta, y, mean, std):
        attrs = {"over": "instance", "groups": self.num_groups, "third": "std"}
        found = F._backward_normalization(dy[0], data, gamma, mean, std, **attrs)
        return found[0], found[1], found[2]

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 4, 3), make.uniform(2), make.uniform(2), num_groups=2)


@op("L2Normalization")
class L2Normalization(Op):
    """data / sqrt(sum of squares + eps); the sum is over each image (instance), over axis 1 (channel), or over the axes from
    2 on (spatial).

    Shapes: data (N, ...) -> as data; channel and spatial want at least 3 dimensions.
    """

    meanings = {
        "mode": "What a sum is over: see above.",
        "eps": "Number that is added to the sum, against division by 0.",
    }

    refuses = WHOLE

    eps: float = 1.00000001e-10
    mode: Literal["channel", "instance", "spatial"] = "instance"

    def output_names(self):
        return ("output", "norm")

    def num_visible_outputs(self):
        return 1

    def axes(self, rank: int) -> tuple[int, ...]:
        """Axes that the sum of squares is over."""
        return (1,) if self.mode == "channel" else tuple(range(2 if self.mode == "spatial" else 1, rank))

    def infer_input_shapes(self, shapes, outputs):
        return [merge(shapes[0], outputs[0])]

    def infer_shape(self, data):
        if self.mode != "instance" and len(data) < 3:
            raise self.error(f"got data of shape {show(data)}, wanted at least 3 dimensions with mode={self.mode}")
        axes = self.axes(len(data))
        return [data, tuple(d for a, d in enumerate(data) if a not in axes)]

    def composition(self, F, data):
        (x,) = widely(F, data.dtype, data)
        over = {
            "instance": {"axis": (0,), "exclude": True},
            "channel": {"axis": (1,)},
            "spatial": {"axis": (0, 1), "exclude": True},
        }[self.mode]
        eps = float(np.float32(self.eps))
        norm = F.sqrt(F.sum(F.square(x), keepdims=True, **over) + eps)
        squeezed = (
            F.reshape_like(norm, F.sum(x, **over))
            if data.shape is None
            else reshaped(F, norm, self.infer_shape(data.shape)[1])
        )
        return tuple(narrowly(F, data.dtype, y) for y in (F.broadcast_div(x, norm), squeezed))

    def compute(self, data):
        x = widen(data)
        axes = self.axes(x.ndim)
        norm = np.sqrt(np.square(x).sum(axes, keepdims=True) + x.dtype.type(np.float32(self.eps)))
        return narrow(x / norm, data.dtype), narrow(norm.squeeze(axes), data.dtype)

    def gradient(self, F, dy, data, y, norm):
        return F._backward_L2Normalization(dy[0], y, norm, mode=self.mode)

    @classmethod
    def examples(cls, make):
        for mode in ("instance", "channel", "spatial"):
            yield make(make.uniform(2, 3, 2, 2), mode=mode)


@op("LRN")
class LRN(Elementwise):
    """data / (knorm + alpha / nsize * sum of the squares of nsize neighbouring channels) ** beta.

    Shapes: data (N, C, H, W) -> as data. Source: Krizhevsky, Sutskever and Hinton 2012.
    """

    meanings = {"alpha": "Factor of the sum of squares.", "beta": "Power of the denominator."}

    refuses = WHOLE

    alpha: float = 9.99999975e-05
    beta: float = 0.75
    knorm: float = 2.0
    nsize: Count

    def output_names(self):
        return ("output", "tmp_norm")

    def num_visible_outputs(self):
        return 1

    def check(self):
        numbers = self.alpha, self.beta, self.knorm
        return None if np.isfinite(numbers).all() else f"got alpha, beta, knorm = {numbers}, wanted finite numbers"

    @property
    def reach(self) -> int:
        """Number of channels that count to either side. An even nsize reaches as far as the odd one below it, as in oneDNN
        (MXNet's own kernel refuses even ones)."""
        return (self.nsize - 1) // 2

    def infer_shape(self, data):
        want_rank(self, data, 4)
        return [data, data]

    def infer_input_shapes(self, shapes, outputs):
        return [merge_all((*shapes, *outputs))]

    def composition(self, F, data):
        if not known(data):
            return None
        (x,) = widely(F, data.dtype, data)
        channels = definite(data.shape[1:2])[0]
        before = min(self.reach, channels)
        squares = F._npi_pad(F.square(x), pad_width=((0, 0), (before, before), (0, 0), (0, 0)))
        parts = (
            [F.slice_axis(squares, axis=1, begin=i, end=i + channels) for i in range(2 * before + 1)]
            if channels
            else [x]
        )
        norm = folded(F.broadcast_add, parts) * (self.alpha / self.nsize) + self.knorm
        return tuple(narrowly(F, data.dtype, y) for y in (x * norm**-self.beta, norm))

    def compute(self, data):
        x = widen(data)
        before = min(self.reach, x.shape[1])  # there are no channels farther away
        squares = np.zeros_like(x, order="C", shape=(len(x), x.shape[1] + 2 * before, *x.shape[2:]))
        squares[:, before : before + x.shape[1]] = np.square(x)
        norm = np.zeros_like(x)
        for i in range(2 * before + 1):
            norm += squares[:, i : i + x.shape[1]]
        norm *= x.dtype.type(self.alpha / self.nsize)
        norm += x.dtype.type(self.knorm)
        return narrow(x * norm ** x.dtype.type(-self.beta), data.dtype), narrow(norm, data.dtype)

    def gradient(self, F, dy, data, y, norm):
        return F._backward_LRN(dy[0], data, norm, **self.dump())

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(1, 5, 2, 2), nsize=3, alpha=0.5)


@op("Dropout", "_npx_dropout")
class Dropout(Op):
    """Zero each element with probability p and divide the others by 1 - p; along ``axes`` all share one fate.

    In inference data passes unchanged, unless mode is always. The second output, which only the engine sees, is what data
    was multiplied by. Shapes: data -> as data. Source: Srivastava et al. 2014.
    """

    meanings = {
        "axes": "Axes along which all elements share one fate; empty: each has its own.",
        "mode": "training: only then; always: in inference too.",
    }

    exception = "computes something else in training than in inference"

    refuses = WHOLE

    p: float = 0.5
    mode: Literal["always", "training"] = "training"
    axes: ShapeOrNone = ()
    cudnn_off: bool | None = False

    needs = ("training", "rng")
    view = True

    def check(self):
        return None if 0 <= self.p <= 1 else f"got p={self.p}, wanted 0 to 1"

    def output_names(self):
        return ("output", "mask")

    def num_visible_outputs(self):
        return 1

    def infer_input_shapes(self, shapes, outputs):
        return [merge(shapes[0], outputs[0])]

    def infer_shape(self, data):
        return [data, self._mask(data)]

    def _mask(self, shape):
        axes = {axis_of(self, a, len(shape)) for a in self.axes}
        return tuple(1 if a in axes else d for a, d in enumerate(shape))

    def draws(self, training):
        return self.p != 0 and (training or self.mode == "always")

    def compute(self, data, *, training=False, rng: Any = None):
        shape = self._mask(data.shape)
        if not self.draws(training):
            return data, np.broadcast_to(np.ones((), data.dtype), shape)
        kept = rng.random(shape, np.float32) >= self.p
        mask = (kept / np.float32(1 - self.p)).astype(data.dtype)  # p=1 gives 0 / 0, in MXNet too
        return data * mask, mask

    def gradient(self, F, dy, data, y, mask):
        return F.broadcast_mul(dy[0], mask) if self.axes else dy[0] * mask

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3))
