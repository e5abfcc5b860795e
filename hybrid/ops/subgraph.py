"""Operators that MXNet's oneDNN backend fuses: a convolution or a dense layer with what follows it, in float or quantised to
8 bits, and the two products of self-attention.

Such a node carries the fused operators as its subgraph. In float it is that subgraph. Quantised it is a rule of its own, which no
sequence of ``_contrib_quantized_*`` operators has: weights are scaled channel by channel, the batch norm is folded into them before
they are rounded, and convolution, sum and activation are rounded once, at the end. So these are operators, and are not expanded
when a graph is read. The numbers are oneDNN's: int32 sums, one multiplication in float32, ties to even.

A sum is rounded in the memory of its other operand: where that is int8 and the result uint8, the result ends at 127. Every MXNet
from 1.5 to 1.9.1 does so, and networks (GluonCV's ResNets) were calibrated and measured with it.

MXNet 1.9.1 is not followed where it goes wrong: it scales the weights of grouped (not depthwise) convolutions by other
channels' scales; where the other operand of a sum is uint8 and the result int8, it makes negative numbers 0 and those over 127
negative; it applies gelu to numbers in steps, except in dense layers with 8-bit results, and so the bounds of ``clip`` where they
stay int32, or leaves those out; and it gives int32 attention scores the range 0 to 0.
"""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..core.attrs import Several
from ..core.op import Op, op
from .activation import Activation, LeakyReLU
from .binary import ElemwiseAdd
from .common import want_rank, want_some
from .convolution import Convolution
from .elementwise import Abs, Clip
from .linear import Attention, FullyConnected, SelfAttentionScores, SelfAttentionValues
from .normalization import BatchNorm
from .quantization import (
    EIGHT,
    FLOAT,
    GREATEST,
    INT8,
    INT32,
    LEVELS,
    UINT8,
    Counterpart,
    ends,
    product_range,
    reach,
    saturate,
)

MOST_SCALE = np.float32(2**31)
"""Steps per unit where there are no ends of a range but 0."""
MOST_BIAS = np.float32(2**30)
"""The greatest quantised bias: half of int32, from which oneDNN can still count on."""
NORM = ("gamma", "beta", "moving_mean", "moving_var")
"""The parameters of a batch norm that is fused."""
SUM = "sum"
"""The other operand of a sum that is fused."""
FOLLOWING = (Activation, LeakyReLU, Clip, Abs)
"""Operators that are fused behind, whether quantised or not."""


class Parts(NamedTuple):
    """The operators of a subgraph, in order: the product, what normalises it, and what follows before and after the sum."""

    product: Op
    norm: Any
    act: Op | None
    late: Op | None


class Weights(NamedTuple):
    """Parameters of a quantised product: int8 weights, an int32 bias or None, steps per unit of the weights (one number, or one for
    each channel), and the greatest magnitude among them."""

    steps: Any
    bias: Any
    scale: Any
    reach: Any


def homogeneous(act: Op) -> bool:
    """True when act(c x) = c act(x) for c > 0, so that it does not matter in which units it is applied."""
    return act.means(Abs) or getattr(act, "act_type", None) in ("relu", "leaky")


def is_activation(op: Any, *, bounded: bool) -> bool:
    """True for activations that are fused; bounded: for a clip between 0 and 6 too."""
    if op.means(Clip):
        return bounded and (op.a_min, op.a_max) == (0.0, 6.0)
    return (op.means(Activation) and op.act_type == "relu") or (
        op.means(LeakyReLU) and op.act_type in ("leaky", "gelu")
    )


def follow(act: Op | None, y: np.ndarray, scale: Any) -> np.ndarray:
    """act of y, which counts in steps of 1 / scale."""
    if act is None:
        return y
    return act.compute(y) if homogeneous(act) else act.compute(y / scale) * scale


def scale_of(dtype: np.dtype, low, high) -> np.float32:
    """Steps per unit of a tensor quantised from a range."""
    return steps_to(dtype, reach(low, high))


def steps_to(dtype: np.dtype, most) -> np.float32:
    """Steps per unit of a tensor that reaches that far from 0; finite, for ranges that reach nowhere too."""
    with np.errstate(all="ignore"):
        scale = LEVELS[dtype] / np.float32(most)
    return MOST_SCALE if np.isinf(scale) else scale


def half_away(y: np.ndarray) -> np.ndarray:
    """y to the nearest whole number, ties away from zero."""
    return np.copysign(np.floor(np.abs(y) + np.float32(0.5)), y)


def plain(product: Op) -> Op:
    """The product without a bias."""
    return product.bind(**product.dump() | {"no_bias": True})


def quantise_weights(weight: np.ndarray, bias: np.ndarray | None, data_scale, each: bool) -> Weights:
    """float32 weights (O, ...) and bias (O,) quantised by the greatest of all weights, or of each channel, which may not make the
    bias greater than it can be."""
    tops = np.abs(weight).max(axis=tuple(range(1, weight.ndim)), initial=0)
    most = tops.max(initial=0)
    scale = LEVELS[INT8] / (tops if each else most)
    if each and bias is not None:
        scale = np.minimum(scale, MOST_BIAS / np.abs(bias) / data_scale)
    scale = np.where(np.isinf(scale), MOST_SCALE, scale)
    steps = saturate(weight * (scale.reshape(-1, *(1,) * (weight.ndim - 1)) if each else scale), INT8)
    whole = None if bias is None else saturate(bias * (data_scale * scale), INT32)
    return Weights(steps, whole, scale, most)


def fold_norm(
    weight: np.ndarray, bias: np.ndarray | None, norm: Sequence[np.ndarray], eps: float, fix_gamma: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Weight and bias with a batch norm in them; norm: its gamma, beta, mean and variance."""
    gamma, beta, mean, var = norm
    factor = ((1.0 if fix_gamma else gamma) / np.sqrt(var.astype(np.float64) + eps)).astype(np.float32)
    mean = mean if bias is None else mean - bias
    return weight * factor.reshape(-1, *(1,) * (weight.ndim - 1)), beta - factor * mean


def fit_bias(weight: np.ndarray, most: Any, bias: np.ndarray, bias_most: Any, data_scale: Any) -> Weights:
    """int8 weights and bias, each quantised from a range that reaches so far, as a product takes them."""
    scale, bias_scale = steps_to(INT8, most), steps_to(INT8, bias_most)
    factor = data_scale * scale / bias_scale
    limit = MOST_BIAS / bias_most / bias_scale
    if factor > limit:  # the bias would not fit: the weights lose digits
        less = limit * bias_scale / data_scale / scale
        weight, scale, factor = half_away(weight * less).astype(INT8), scale * less, limit
    return Weights(weight, half_away(bias * factor).astype(INT32), scale, most)


def greatest_beside(dtype: np.dtype) -> float:
    """The greatest 8-bit result of a sum whose other operand has that dtype."""
    return float(GREATEST[INT8]) if dtype == INT8 else np.inf


def results(
    y: np.ndarray,
    data: np.dtype,
    data_range: tuple[Any, Any],
    weights: Weights,
    acts: tuple[Op | None, Op | None],
    dtype: np.dtype,
    calibrated: tuple[Any, Any] | None,
    along: Callable[[Any, int], Any],
    other: tuple[np.ndarray, Any, Any] | None,
) -> list[np.ndarray]:
    """Outputs of a fused layer, from the sums of products of steps.

    data, data_range: dtype and range of the layer's data; acts: what follows before and after the sum with ``other``, an array with
    its range; dtype: of the result, float32 or, with a calibrated range, 8 bits, else int32; along: see Fused.along_channels."""
    data_scale, y = scale_of(data, *data_range), y.astype(FLOAT)
    if weights.bias is not None:
        y = y + along(weights.bias.astype(FLOAT), y.ndim)
    if dtype == INT32:
        scale = data_scale * weights.scale
    else:
        scale = np.float32(1) if dtype == FLOAT else scale_of(dtype, *calibrated)  # type: ignore[misc]
        y = y * along(scale / data_scale / weights.scale, y.ndim)
    y, most = follow(acts[0], y, scale), np.inf
    if other is not None:
        added, *added_range = other
        y = y + (scale / scale_of(added.dtype, *added_range)) * added.astype(np.float32)
        most = greatest_beside(added.dtype)
    y = follow(acts[1], y, scale)
    if dtype == FLOAT:
        return [y]
    if dtype == INT32:
        return whole_results(y, data, data_range, weights.reach)
    return [saturate(np.minimum(y, most), dtype), *ends(*calibrated)]  # type: ignore[misc]


def whole_results(y: np.ndarray, data: np.dtype, data_range: tuple[Any, Any], most: Any) -> list[np.ndarray]:
    """y as int32 with its range; see results."""
    return [saturate(y, INT32), *product_range(data_range, (most, most), data)]


class Fused(Counterpart):
    """Base of the fused product: which inputs there are, and results in float, int32 or 8 bits.

    Inputs: those of the subgraph's product, norm and sum; quantised, then ranges of those that are, minimum and maximum, (1,) each.
    Quantised it gives the result and its range, (1,) and (1,): int32 without a calibrated range, else int8 or uint8."""

    quantized: bool = False
    min_calib_range: float | None = None
    max_calib_range: float | None = None
    num_args: Several = 0

    exception = "rounds and saturates integers as oneDNN does"

    inputs = ("*data",)
    needs = ("subgraphs",)
    central = True
    accumulates = True
    ignored_attributes = ("num_args",)  # counted when a file is read, and no attribute of MXNet's
    positive: ClassVar[tuple[str, ...]] = ()
    """Names of the activations whose results are uint8."""
    fuses: ClassVar[type[Op]]
    """The operator that such a node starts with."""

    @classmethod
    def starts(cls, op: Any) -> bool:
        """True when such a node may start with this operator."""
        return type(op) is cls.fuses

    @classmethod
    def extends(cls, ops: Sequence[Op], op: Any) -> bool:
        """True when an operator that reads what these give, one after another, is fused with them."""
        raise NotImplementedError

    @classmethod
    def describe_fusion(cls, ops: Sequence[Op]) -> tuple[str, dict[str, str]]:
        """The text that MXNet appends to the name of a node that fuses these, and the node's attributes as it writes them."""
        raise NotImplementedError

    def ranges(self) -> tuple[str, ...]:
        """Names of the inputs that hold ranges."""
        raise NotImplementedError

    def counts(self) -> tuple[int, ...]:
        """Number of inputs, without a bias and with it."""
        raise NotImplementedError

    def check(self):
        if self.num_args not in self.counts():
            return f"got {self.num_args} inputs, wanted {' or '.join(map(str, self.counts()))}"
        if self.calibrated is None and (self.min_calib_range, self.max_calib_range) != (None, None):
            return "got one end of a calibrated range, wanted both"
        return None

    @property
    def has_bias(self) -> bool:
        return self.num_args == max(self.counts())

    @property
    def calibrated(self) -> tuple[np.float32, np.float32] | None:
        low, high = self.min_calib_range, self.max_calib_range
        return None if low is None or high is None else (np.float32(low), np.float32(high))

    @property
    def sums(self) -> bool:
        """True when another tensor is added."""
        return getattr(self, "with_sum", False)

    def greatest(self, given) -> float:
        """The greatest whole number that a quantised result holds, beside what its dtype holds."""
        return np.inf

    @property
    def in_float(self) -> bool:
        """True when results are float although the product is quantised."""
        return getattr(self, "enable_float_output", False)

    def range_inputs(self):
        """See Quantized.range_inputs."""
        return ()

    def range_ahead(self, dtype, given):
        """See Quantized.range_ahead."""
        return self.calibrated

    def output_names(self):
        return ("output",) if not self.quantized or self.in_float else ("output", "output_min", "output_max")

    def body(self, subgraphs):
        """The function through the subgraph."""
        if len(subgraphs) != 1:
            raise self.error(f"got {len(subgraphs)} subgraphs, wanted one, which only a node of a graph has")
        return subgraphs[0]

    def parts(self, subgraphs) -> Parts:
        """The parts of the subgraph. Raises OpError when they are not those that such a node fuses."""
        nodes = [n for n in self.body(subgraphs).graph.nodes if n.op is not None]
        chained = all(any(e.node is a for e in b.inputs) for a, b in pairwise(nodes))
        rest = [n.op for n in nodes]
        product = rest.pop(0) if chained and rest and type(rest[0]) is self.fuses else None

        def next_if(*operators: type[Op]):
            return rest.pop(0) if rest and type(rest[0]) in operators else None

        norm, act = next_if(BatchNorm), next_if(*FOLLOWING)
        late = next_if(*FOLLOWING) if next_if(ElemwiseAdd) else None
        if product is None or rest:
            got = " -> ".join(n.op.name for n in nodes) or "nothing"
            raise self.error(f"got a subgraph of {got}, wanted {self.fuses.name} and what is fused with it")
        return Parts(product, norm, act, late)

    def result_type(self, parts: Parts) -> np.dtype:
        """The dtype of quantised results."""
        if self.in_float:
            return FLOAT
        if self.calibrated is None:
            return INT32
        last = parts.late if self.sums else parts.act  # what comes before a sum does not decide
        kind = "" if last is None else getattr(last, "act_type", last.name)
        return UINT8 if kind in self.positive else INT8

    def infer_input_shapes(self, shapes, outputs, subgraphs=()):
        count = len(shapes) - len(self.ranges())
        held, _ = self.body(subgraphs)(shapes[:count])
        return [*held, *((1,) for _ in self.ranges())]

    def infer_shape(self, *shapes, subgraphs=()):
        (shape,) = self.body(subgraphs)(shapes[: len(shapes) - len(self.ranges())])[1]
        return [shape, *((1,) for _ in self.output_names()[1:])]

    def stored_dtype(self, name: str) -> np.dtype | None:
        """The dtype that an input has to have when quantised; None for those that may be int8 or uint8."""
        return None if name in ("data", "sum") else FLOAT

    def infer_input_types(self, dtypes, outputs, subgraphs=()):
        if not self.quantized:
            return self.body(subgraphs)(dtypes)[0]
        for name, dtype in zip(self.input_names(), dtypes):
            if self.stored_dtype(name) is None and dtype is not None and dtype not in EIGHT:
                raise self.error(f"got {name} of {dtype}, wanted int8 or uint8, as _contrib_quantize_v2 makes it")
        return [d if self.stored_dtype(n) is None else self.stored_dtype(n) for n, d in zip(self.input_names(), dtypes)]

    def infer_type(self, *dtypes, subgraphs=()):
        if not self.quantized:
            return self.body(subgraphs)(dtypes)[1]
        return [self.result_type(self.parts(subgraphs)), *(FLOAT for _ in self.output_names()[1:])]

    def compute(self, *arrays, subgraphs=()):
        if not self.quantized:
            return self.body(subgraphs)(arrays)[0]
        given, parts = dict(zip(self.input_names(), arrays)), self.parts(subgraphs)
        with np.errstate(all="ignore"):  # zeros alone have an infinite scale at first
            return self.compute_quantised(given, parts)

    def weights(self, given, parts: Parts, data_scale) -> Weights:
        """Quantised parameters of a node, for data of so many steps per unit."""
        raise NotImplementedError

    def in_whole(self, parts: Parts) -> bool:
        """True when int32 sums are the result as they are, not by way of float32, which holds 24 bits of them."""
        return False

    def along_channels(self, scale, rank: int):
        """A scale, or a scale for each channel, as it goes with results."""
        return scale

    def compute_quantised(self, given, parts: Parts):
        data, ends_of = given["data"], (given["min_data"], given["max_data"])
        weights = self.weights(given, parts, scale_of(data.dtype, *ends_of))
        # sums of less than 2^24 are exact in float32
        wide = np.float32 if weights.steps[0].size * (1 << 15) <= 1 << 24 else np.float64
        y = plain(parts.product).compute(data.astype(wide), weights.steps.astype(wide))
        other = (given["sum"], given["min_sum"], given["max_sum"]) if self.sums else None
        acts = parts.act, parts.late
        if self.in_whole(parts):
            return whole_results(y, data.dtype, ends_of, weights.reach)
        return results(
            y, data.dtype, ends_of, weights, acts, self.result_type(parts), self.calibrated, self.along_channels, other
        )


@op("_sg_mkldnn_conv")
class FusedConvolution(Fused):
    """Convolution, then BatchNorm (with_bn), an activation (with_act), the sum with another tensor (with_sum) and an activation of
    that (with_postsum_act).

    Inputs: data, weight, bias if there is one, BatchNorm's four, the other operand of the sum, then minimum and maximum of data and
    of that operand. Shapes: as Convolution's. Weights and bias are float32 and are quantised here, by a scale for each channel
    where the result is calibrated, else by one. Source: MXNet's subgraph backend MKLDNN_QUANTIZE."""

    with_bn: bool = False
    with_act: bool = False
    with_sum: bool = False
    with_postsum_act: bool = False

    mutates = ("moving_mean", "moving_var")
    fuses = Convolution
    positive = ("relu", "clip")

    @classmethod
    def starts(cls, op):
        return super().starts(op) and len(op.kernel) >= 2 and not op.channels_last

    @classmethod
    def extends(cls, ops, op):
        last = ops[-1]
        if last.means(Convolution) and op.means(BatchNorm):
            return op.axis == 1
        if last.means(Convolution, BatchNorm):
            return op.means(ElemwiseAdd) or is_activation(op, bounded=True)
        return last.means(ElemwiseAdd) and is_activation(op, bounded=False)

    @classmethod
    def describe_fusion(cls, ops):
        normed, summed = (any(op.means(kind) for op in ops) for kind in (BatchNorm, ElemwiseAdd))
        acts = not ops[-1].means(Convolution, BatchNorm, ElemwiseAdd)
        suffix = "".join(s for s, there in (("_bn", normed), ("_add", summed), ("_act", acts)) if there)
        given = {"with_bn": normed, "with_sum": summed, "with_postsum_act" if summed else "with_act": acts}
        return suffix, {k: "true" for k, v in given.items() if v}

    @classmethod
    def stays_float(cls, name, per_channel):
        return name not in ("data", "sum")

    @classmethod
    def own_attributes(cls, per_channel):
        return {"quantized": "true"}

    def ranges(self):
        if not self.quantized:
            return ()
        return ("min_data", "max_data", *(("min_sum", "max_sum") if self.with_sum else ()))

    def names_with(self, *bias: str) -> tuple[str, ...]:
        norm = NORM if self.with_bn else ()
        return ("data", "weight", *bias, *norm, *(("sum",) if self.with_sum else ()), *self.ranges())

    def counts(self):
        count = len(self.names_with())
        return count, count + 1

    def input_names(self):
        return self.names_with("bias") if self.has_bias else self.names_with()

    def fold_norm(self, given, parts: Parts):
        """Weight and bias with the batch norm in them."""
        weight, bias = given["weight"], given.get("bias")
        if parts.norm is None:
            return weight, bias
        return fold_norm(weight, bias, [given[name] for name in NORM], parts.norm.eps, parts.norm.fix_gamma)

    def weights(self, given, parts, data_scale):
        return quantise_weights(*self.fold_norm(given, parts), data_scale, each=self.each)

    @property
    def each(self) -> bool:
        """True when filters may have scales of their own: results in int32 have one range for all."""
        return self.calibrated is not None

    def negative(self, dtype: np.dtype, low) -> str | None:
        """Describe what is wrong with data whose range begins there; None when nothing is. MXNet refuses it too."""
        least = np.float32(low).item()
        if dtype != UINT8 or not least < 0:
            return None
        return (
            f"got uint8 data of a range from {least}, in which all negative numbers are 0: quantise with int8 or auto"
        )

    def compute_quantised(self, given, parts):
        wrong = self.negative(given["data"].dtype, given["min_data"].item())
        if wrong:
            raise self.error(wrong)
        return super().compute_quantised(given, parts)

    def along_channels(self, scale, rank):
        return scale.reshape(-1, *(1,) * (rank - 2))

    def greatest(self, given):
        return greatest_beside(given["sum"].dtype) if self.with_sum else np.inf


@op("_sg_mkldnn_fully_connected")
class FusedFullyConnected(Fused):
    """FullyConnected, then an activation (with_eltwise); enable_float_output: quantised, with float32 results and no range.

    Inputs: data, weight, bias if there is one, then minimum and maximum of each. Weight and bias are int8, or with
    channel_wise_quantize float32, quantised here, and without ranges. Shapes: as FullyConnected's.
    Source: MXNet's subgraph backend MKLDNN_QUANTIZE."""

    enable_float_output: bool = False
    with_eltwise: bool = False
    channel_wise_quantize: bool | None = None

    fuses = FullyConnected
    positive = ("relu", "clip", "leaky", "abs")

    @classmethod
    def extends(cls, ops, op):
        return len(ops) == 1 and (op.means(Abs) or is_activation(op, bounded=True))

    @classmethod
    def describe_fusion(cls, ops):
        return ("_eltwise", {"with_eltwise": "True"}) if len(ops) > 1 else ("", {})

    @classmethod
    def stays_float(cls, name, per_channel):
        return per_channel and name != "data"

    @classmethod
    def own_attributes(cls, per_channel):
        return {"quantized": "True", **({"channel_wise_quantize": "True"} if per_channel else {})}

    def output_names(self):
        return ("output",) if not self.quantized or self.in_float else ("output", "min_output", "max_output")

    def names_with(self, *bias: str) -> tuple[str, ...]:
        own = ("data", "weight", *bias)
        if not self.quantized:
            return own
        ranged = own[:1] if self.channel_wise_quantize else own
        return own + tuple(f"{end}_{name}" for name in ranged for end in ("min", "max"))

    def ranges(self):
        return tuple(n for n in self.input_names() if n.startswith(("min_", "max_")))

    def counts(self):
        return len(self.names_with()), len(self.names_with("bias"))

    def input_names(self):
        return self.names_with("bias") if self.has_bias else self.names_with()

    def stored_dtype(self, name):
        if name in ("weight", "bias") and not self.channel_wise_quantize:
            return INT8
        return super().stored_dtype(name)

    def in_whole(self, parts):
        return not (self.has_bias or self.in_float or self.calibrated or parts.act)

    @property
    def each(self) -> bool:
        """True when rows may have scales of their own: results in int32, which MXNet refuses here, have one range for all."""
        return self.in_float or self.calibrated is not None

    def weights(self, given, parts, data_scale):
        weight, bias = given["weight"], given.get("bias")
        if self.channel_wise_quantize:
            return quantise_weights(weight, bias, data_scale, each=self.each)
        most = reach(given["min_weight"], given["max_weight"])
        if bias is None:
            return Weights(weight, None, steps_to(INT8, most), most)
        return fit_bias(weight, most, bias, reach(given["min_bias"], given["max_bias"]), data_scale)


class FusedAttention(Counterpart, Attention):
    """Base of the two products of self-attention, in float or quantised.

    Quantised each input but the ranges is int8, attention uint8 as softmax's results are, and there is a range for each, minimum
    and maximum, (1,) and (1,). The result is float32 with enable_float_output, else it comes with its range: int32 without a
    calibrated one, else int8."""

    quantized: bool = False
    enable_float_output: bool = False
    min_calib_range: float | None = None
    max_calib_range: float | None = None

    gradient = Op.gradient  # MXNet has none
    central = True
    left_open = ("plain", "fuses", "product_shape", "factor", "whole")
    accumulates = True
    plain: ClassVar[tuple[str, ...]] = ()
    """Names of the inputs without ranges."""
    fuses: ClassVar[type[Op]]
    """The operator that it stands for in graphs that are put together to be quantised."""

    @classmethod
    def own_attributes(cls, per_channel):
        return {"quantized": "True"}

    def composition(self, F, *arrays):
        return None if self.quantized else getattr(F, self.fuses.name)(*arrays, heads=self.heads)

    def input_names(self):
        ranges = (f"{end}_{name}" for name in self.plain for end in ("min", "max"))
        return (*self.plain, *ranges) if self.quantized else self.plain

    def output_names(self):
        return ("output",) if not self.quantized or self.enable_float_output else ("output", "min_output", "max_output")

    def range_inputs(self):
        """See Quantized.range_inputs."""
        return ()

    def range_ahead(self, dtype, given):
        """See Quantized.range_ahead."""
        return None if dtype == INT32 else (self.min_calib_range, self.max_calib_range)

    @property
    def result_type(self) -> np.dtype:
        """The dtype of quantised results."""
        if self.enable_float_output:
            return FLOAT
        return INT32 if self.min_calib_range is None or self.max_calib_range is None else INT8

    def infer_input_shapes(self, shapes, outputs):
        return [*shapes[: len(self.plain)], *((1,) for _ in self.input_names()[len(self.plain) :])]

    def infer_shape(self, *shapes):
        return [self.product_shape(*shapes[: len(self.plain)]), *((1,) for _ in self.output_names()[1:])]

    def product_shape(self, *shapes):
        """The shape of the product of inputs of these shapes."""
        raise NotImplementedError

    def infer_input_types(self, dtypes, outputs):
        if not self.quantized:
            return super().infer_input_types(dtypes, outputs)
        wanted = [UINT8 if n == "attention" else INT8 if n in self.plain else FLOAT for n in self.input_names()]
        for name, got, want in zip(self.input_names(), dtypes, wanted):
            if got is not None and got != want:
                raise self.error(f"got {name} of {got}, wanted {want}")
        return wanted

    def infer_type(self, *dtypes):
        if not self.quantized:
            return dtypes[0]
        return [self.result_type, *(FLOAT for _ in self.output_names()[1:])]

    def compute(self, *arrays):
        if not self.quantized:
            return super().compute(*arrays)
        given, plain = dict(zip(self.input_names(), arrays)), self.plain
        ranges = [(given[f"min_{n}"], given[f"max_{n}"]) for n in (plain[0], plain[-1])]
        dtypes = [given[n].dtype for n in (plain[0], plain[-1])]
        scales = [scale_of(d, *r) for d, r in zip(dtypes, ranges)]
        product = self.whole(*(given[n].astype(np.float64) for n in plain)).astype(FLOAT)
        if self.result_type == INT32:
            return saturate(product * self.factor(arrays[0].shape), INT32), *product_range(
                ranges[1], ranges[0], dtypes[1]
            )
        low, high = self.min_calib_range, self.max_calib_range
        scale = np.float32(1) if self.enable_float_output else scale_of(INT8, low, high)
        y = product * (scale / scales[0] / scales[1] * self.factor(arrays[0].shape))
        return y if self.enable_float_output else (saturate(y, INT8), *ends(low, high))

    def whole(self, *arrays):
        """The product of floats that hold whole numbers, without a factor."""
        return self.product(*arrays)

    def factor(self, shape) -> np.float32:
        """Factor of the product of inputs of that shape."""
        return np.float32(1)


@op("_sg_mkldnn_selfatt_qk")
class FusedSelfAttentionScores(FusedAttention, SelfAttentionScores):
    """Scaled scores of self attention. Shapes: (T, N, heads * 3 * D) -> (N * heads, T, T).

    Source: MXNet's subgraph backend MKLDNN_QUANTIZE (which gives int32 results the range 0 to 0)."""

    fuses = SelfAttentionScores
    plain = ("queries_keys_values",)

    def product_shape(self, *shapes):
        if self.quantized:
            want_rank(self, shapes[0], 3, what="queries_keys_values")
            want_some(self, shapes[0], 2, what="queries_keys_values")
        return SelfAttentionScores.infer_shape(self, *shapes)

    def factor(self, shape):
        return np.float32(1 / math.sqrt(shape[2] // (3 * self.heads)))

    def whole(self, qkv):
        queries, keys, _ = self.split_parts(qkv, 3)
        return queries @ keys.transpose(0, 2, 1)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 2, 12), heads=2)
        given = make.integers(3, 2, 12, low=-128, high=128, dtype="int8"), make.array([-2]), make.array([3])
        yield make(*given, heads=2, quantized=True)
        yield make(*given, heads=2, quantized=True, enable_float_output=True)


@op("_sg_mkldnn_selfatt_valatt")
class FusedSelfAttentionValues(FusedAttention, SelfAttentionValues):
    """Values weighted by attention. Shapes: (T, N, heads * 3 * D), (N * heads, T, T) -> (T, N, heads * D).

    Source: MXNet's subgraph backend MKLDNN_QUANTIZE."""

    fuses = SelfAttentionValues
    plain = ("queries_keys_values", "attention")

    def product_shape(self, *shapes):
        return SelfAttentionValues.infer_shape(self, *shapes)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 2, 12), make.uniform(4, 3, 3), heads=2)
        integers = (
            make.integers(3, 2, 12, low=-128, high=128, dtype="int8"),
            make.integers(4, 3, 3, high=256, dtype="uint8"),
        )
        ranges = (make.array([v]) for v in (-2, 3, 0, 1))
        yield make(*integers, *ranges, heads=2, quantized=True, min_calib_range=-2.0, max_calib_range=2.5)
