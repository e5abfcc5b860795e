"""Quantised layers as compiled graphs hold them: parameters that were quantised beforehand, and products of them with what follows.

The pass prepare_quantized writes these in the place of MXNet's fused operators (subgraph.py), whose arithmetic they share: what
follows from parameters alone is computed once, and the rest has kernels.
"""

from typing import Any, Literal

import numpy as np

from ..core.attrs import Count, Counts, DType, Sizes
from ..core.op import Op, op
from ..core.shapes import UNKNOWN, MaybeShape, merge
from .activation import Activation, LeakyReLU
from .convolution import Convolution
from .elementwise import Abs, Clip
from .linear import FullyConnected
from .quantization import EIGHT, FLOAT, INT8, INT32, is_range, reach, saturate
from .subgraph import Weights, fit_bias, fold_norm, plain, quantise_weights, results, scale_of, steps_to, whole_results

ActKind = Literal["", "abs", "clip", "gelu", "leaky", "relu"]


class _Typed(Op):
    """Base of operators whose inputs have the dtypes that ``wants`` says, and no others."""

    def wants(self, name: str) -> tuple[np.dtype, ...]:
        """The dtypes that an input may have, that which it has where nothing is known of it first."""
        return (FLOAT,)

    def infer_input_types(self, dtypes, outputs):
        found = []
        for name, dtype in zip(self.input_names(), dtypes, strict=True):
            wanted = self.wants(name)
            if dtype is not None and dtype not in wanted:
                raise self.error(f"got {name} of dtype {dtype}, wanted {' or '.join(d.name for d in wanted)}")
            found.append(wanted[0] if dtype is None and len(wanted) == 1 else dtype)
        return found

    def fitting(self, name: str, shape: MaybeShape, *wanted: MaybeShape) -> None:
        """Raise OpError where an input's shape is none of those wanted."""
        problems = []
        for want in wanted:
            try:
                merge(shape, want)
                return
            except ValueError as problem:
                problems.append(str(problem))
        raise self.error(f"{name}: {', '.join(problems)}")


class _Parameters(_Typed):
    """Base of quantised parameters: int8 weights, a bias if there is one, steps per unit, and the greatest magnitude."""

    exception = "rounds and saturates integers as oneDNN does"

    bias: bool = False

    def output_names(self):
        return ("weight", *(("bias",) if self.bias else ()), "scale", "reach")

    def numbers(self, weight) -> tuple[Any, ...]:
        """The shape of scales."""
        return (1,)

    def infer_shape(self, weight, *others):
        if not weight:
            raise self.error("got a weight of no dimensions, wanted (O, ...)")
        for name, shape in zip(self.input_names()[1:], others, strict=True):
            self.fitting(name, shape, (1,) if is_range(name) else weight[:1])
        return [weight, *((weight[:1],) if self.bias else ()), self.numbers(weight), (1,)]

    def bias_type(self) -> np.dtype:
        """The dtype of the bias."""
        return INT32

    def infer_type(self, *dtypes):
        return [INT8, *((self.bias_type(),) if self.bias else ()), FLOAT, FLOAT]

    def outputs(self, weights: Weights) -> list[np.ndarray]:
        """Parameters as the operator gives them."""
        scale, most = (np.asarray(v, FLOAT).reshape(-1) for v in (weights.scale, weights.reach))
        return [weights.steps, *((weights.bias,) if self.bias else ()), scale, most]


@op("_fused_quantized_weights")
class QuantizedWeights(_Parameters):
    """Parameters of a product, quantised; normed: with a batch norm in them.

    data_scale: steps per unit of the data; None when it is not known beforehand, and the bias then stays float32. each: a scale for
    each filter. Inputs: weight, bias if there is one, the batch norm's four. Shapes: weight (O, ...), the others (O,) -> as weight,
    (O,) if there is a bias or a batch norm, (O,) or (1,), (1,)."""

    given: bool = False
    normed: bool = False
    eps: float = 1e-3
    fix_gamma: bool = True
    each: bool = False
    data_scale: float | None = None

    inputs = ("weight", "given_bias", "gamma", "beta", "moving_mean", "moving_var")

    def input_names(self):
        return (self.inputs[0], *self.inputs[1 : 1 + self.given], *(self.inputs[2:] if self.normed else ()))

    def check(self):
        if self.bias != (self.given or self.normed):
            return f"got bias={self.bias}, wanted one where a bias or a batch norm is given, and only there"
        return "got each=True without data_scale" if self.each and self.data_scale is None else super().check()

    def numbers(self, weight):
        return weight[:1] if self.each else (1,)

    def bias_type(self):
        return FLOAT if self.data_scale is None else INT32

    def compute(self, weight, *others):
        bias = others[0] if self.given else None
        with np.errstate(all="ignore"):  # zeros alone have an infinite scale at first
            if self.normed:
                weight, bias = fold_norm(weight, bias, others[-4:], self.eps, self.fix_gamma)
            known = self.data_scale is not None
            found = quantise_weights(weight, bias if known else None, np.float32(self.data_scale or 0), each=self.each)
        return self.outputs(found if known else found._replace(bias=None if bias is None else bias.astype(FLOAT)))

    @classmethod
    def examples(cls, make):
        weight, bias = make.uniform(4, 3, 2, 2), make.uniform(4)
        norm = make.uniform(4), make.uniform(4), make.uniform(4), make.uniform(4, low=0.5, high=1.5)
        yield make(weight)
        yield make(weight, bias, given=True, bias=True)
        yield make(weight, bias, *norm, given=True, normed=True, bias=True, each=True, data_scale=20.0, fix_gamma=False)


@op("_fused_fitted_weights")
class FittedWeights(_Parameters):
    """int8 weights, and an int8 bias as int32 beside them, for data of data_scale steps per unit.

    Inputs: weight (O, K), the bias (O,) if there is one, minimum and maximum (1,) of each -> (O, K), (O,), (1,), (1,)."""

    data_scale: float | None = None

    inputs = ("weight", "given_bias", "min_weight", "max_weight", "min_bias", "max_bias")

    def wants(self, name):
        return (FLOAT,) if is_range(name) else (INT8,)

    def input_names(self):
        return self.inputs if self.bias else ("weight", "min_weight", "max_weight")

    def check(self):
        return "got a bias without data_scale" if self.bias and self.data_scale is None else super().check()

    def compute(self, weight, *others):
        with np.errstate(all="ignore"):
            if not self.bias:
                most = reach(*others)
                return self.outputs(Weights(weight, None, steps_to(INT8, most), most))
            bias, *ranges = others
            found = fit_bias(weight, reach(*ranges[:2]), bias, reach(*ranges[2:]), np.float32(self.data_scale))
        return self.outputs(found)

    @classmethod
    def examples(cls, make):
        weight, bias = (make.integers(*s, low=-127, high=128, dtype="int8") for s in ((5, 6), (5,)))
        ranges = [make.array([v]) for v in (-0.5, 0.4, -0.1, 0.2)]
        yield make(weight, bias, *ranges, bias=True, data_scale=60.0)
        yield make(weight, bias, *ranges[:2], *(1e9 * r for r in ranges[2:]), bias=True, data_scale=60.0)
        yield make(weight, *ranges[:2])


class _Product(_Typed):
    """Base of products of 8-bit numbers with what is fused behind them; see subgraph.Fused for the numbers.

    Inputs: data, int8 weight, its steps per unit, (O,) or (1,), bias (O,) if there is one, int32, or float32 which is quantised
    here, the range of data, with residual the other operand of a sum and its range, for int32 results the greatest weight. The
    result comes with its range unless it is float32."""

    out_type: DType
    min_calib_range: float | None = None
    max_calib_range: float | None = None
    bias: bool = False
    residual: bool = False
    whole: bool = False
    """Sums are the result as they are."""
    act: ActKind = ""
    slope: float = 0.25
    low: float = 0.0
    high: float = 0.0
    late: Literal["", "abs", "gelu", "leaky", "relu"] = ""
    late_slope: float = 0.25

    exception = "rounds and saturates integers as oneDNN does"

    def check(self):
        if self.whole and self.out_type != INT32:
            return f"got whole=True with out_type={self.out_type}, wanted int32"
        return super().check()

    inputs = ("data", "weight", "scale", "bias", "min_data", "max_data", "residual", "min_sum", "max_sum", "reach")

    def input_names(self):
        there = {"bias": self.bias, "reach": self.out_type == INT32, **dict.fromkeys(self.inputs[6:9], self.residual)}
        return tuple(n for n in self.inputs if there.get(n, True))

    def output_names(self):
        return ("output",) if self.out_type == FLOAT else ("output", "min_output", "max_output")

    @property
    def plain(self) -> Any:
        """The product of floats, without a bias."""
        raise NotImplementedError

    def along(self, scale, rank: int):
        """See subgraph.Fused.along_channels."""
        return scale

    def wants(self, name):
        eight = {"data": EIGHT, "residual": EIGHT, "weight": (INT8,), "bias": (INT32, FLOAT)}
        return eight.get(name, (FLOAT,))

    def infer_shape(self, data, weight, *others):
        self.fitting("weight", weight, self.plain.infer_input_shapes([data, None], [None])[1])
        shape = self.plain.infer_shape(data, weight)
        for name, given in zip(self.input_names()[2:], others, strict=True):
            if name == "residual":
                self.fitting(name, given, shape)
            else:
                self.fitting(name, given, *{"scale": (weight[:1], (1,)), "bias": (weight[:1],)}.get(name, ((1,),)))
        return [shape, *((1,) for _ in self.output_names()[1:])]

    def infer_type(self, *dtypes):
        return [self.out_type, *(FLOAT for _ in self.output_names()[1:])]

    def compute(self, *arrays):
        given = dict(zip(self.input_names(), arrays))
        data, weight, scale, bias = given["data"], given["weight"], given["scale"], given.get("bias")
        data_range, most = (given["min_data"], given["max_data"]), given.get("reach")
        y = self.plain.compute(data.astype(np.float64), weight.astype(np.float64))
        with np.errstate(all="ignore"):
            if self.whole:
                return whole_results(y, data.dtype, data_range, most)
            if bias is not None and bias.dtype == FLOAT:
                bias = saturate(bias * (scale_of(data.dtype, *data_range) * scale), INT32)
            steps = scale if scale.size > 1 else scale[0]
            acts = _activation(self.act, self.slope, self.low, self.high), _activation(self.late, self.late_slope)
            calibrated = self.min_calib_range, self.max_calib_range
            other = tuple(given[n] for n in self.inputs[6:9]) if self.residual else None
            return results(
                y, data.dtype, data_range, Weights(weight, bias, steps, most), acts, self.out_type, calibrated, self.along, other,
            )  # fmt: skip


def _activation(kind: str, slope: float, low: float = 0.0, high: float = 0.0) -> Op | None:
    """The operator that is meant; see activation_of."""
    if kind == "relu":
        return Activation.bind(act_type="relu")
    if kind == "clip":
        return Clip.bind(a_min=low, a_max=high)
    return Abs.bind() if kind == "abs" else LeakyReLU.bind(act_type=kind, slope=slope) if kind else None


def activation_of(act: Any) -> dict[str, Any]:
    """Attributes of a product for an operator that is fused behind it, by the names of what comes first."""
    if act is None:
        return {}
    if act.means(Clip):
        return {"act": "clip", "low": act.a_min, "high": act.a_max}
    if act.means(LeakyReLU):
        return {"act": act.act_type, "slope": act.slope}
    return {"act": "abs" if act.means(Abs) else act.act_type}


@op("_fused_quantized_conv")
class QuantizedProductConv(_Product):
    """Convolution of 8-bit numbers, channels first, with what follows it. Shapes: as Convolution's."""

    kernel: Counts
    stride: Counts
    dilate: Counts
    pad: Sizes
    num_filter: Count
    num_group: Count = 1

    @property
    def plain(self):
        return plain(
            Convolution.bind(
                kernel=self.kernel, stride=self.stride, dilate=self.dilate, pad=self.pad, num_filter=self.num_filter,
                num_group=self.num_group,
            )
        )  # fmt: skip

    def along(self, scale, rank):
        return scale.reshape(-1, *(1,) * (rank - 2))

    @classmethod
    def examples(cls, make):
        data, weight = (
            make.integers(2, 3, 5, 5, high=256, dtype="uint8"),
            make.integers(4, 3, 3, 3, low=-127, high=128, dtype="int8"),
        )
        attrs = {"kernel": (3, 3), "stride": (1, 1), "dilate": (1, 1), "pad": (1, 1), "num_filter": 4}
        scale, bias, ends = (
            make.uniform(4, low=90, high=300),
            make.integers(4, low=-9999, high=9999, dtype="int32"),
            _ends(make),
        )
        other = make.integers(2, 4, 5, 5, low=-128, high=128, dtype="int8"), make.array([-2]), make.array([1.5])
        calibrated = {"min_calib_range": -3.0, "max_calib_range": 2.5}
        acts = {"out_type": "uint8", "act": "leaky", "late": "relu"}
        yield make(data, weight, scale, bias, *ends, *other, **attrs, **calibrated, **acts, bias=True, residual=True)
        yield make(
            data.astype(np.int8), weight, scale, *ends, **attrs, **calibrated, out_type="int8", act="clip", high=6.0
        )
        yield make(
            data, weight, scale[:1], make.uniform(4), *ends, make.array([0.4]), **attrs, out_type="int32", bias=True
        )


def _ends(make):
    return make.array([0]), make.array([4])


@op("_fused_quantized_dense")
class QuantizedProductDense(_Product):
    """FullyConnected of 8-bit numbers with what follows it. Shapes: as FullyConnected's."""

    num_hidden: Count
    flatten: bool = True

    @property
    def plain(self):
        return FullyConnected.bind(num_hidden=self.num_hidden, flatten=self.flatten, no_bias=True)

    @classmethod
    def examples(cls, make):
        data, weight = (
            make.integers(3, 2, 4, high=256, dtype="uint8"),
            make.integers(5, 8, low=-127, high=128, dtype="int8"),
        )
        scale, bias, ends = (
            make.uniform(5, low=90, high=300),
            make.integers(5, low=-9999, high=9999, dtype="int32"),
            _ends(make),
        )
        yield make(data, weight, scale, bias, *ends, num_hidden=5, out_type="float32", bias=True, act="abs")
        yield make(data, weight, scale[:1], *ends, make.array([0.4]), num_hidden=5, out_type="int32", whole=True)
        yield make(
            data.astype(np.int8), weight[:, :4], scale, *ends, num_hidden=5, flatten=False, out_type="int8", act="leaky",
            slope=0.1, min_calib_range=-3.0, max_calib_range=2.5,
        )  # fmt: skip


@op("_fused_quantized_bias")
class QuantizedBias(_Typed):
    """A float32 bias in steps of a product of integers, whose scale is x_scale * w_scale: the nearest int32.

    Shapes: bias (O,), x_scale one number, w_scale one or (O,) -> (O,)."""

    exception = "rounds to integers"

    inputs = ("bias", "x_scale", "w_scale")

    def infer_shape(self, bias, x_scale, w_scale):
        self.fitting("bias", bias, (UNKNOWN,))
        self.fitting("x_scale", x_scale, (), (1,))
        self.fitting("w_scale", w_scale, (), (1,), bias)
        return bias

    def infer_type(self, *dtypes):
        return INT32

    def compute(self, bias, x_scale, w_scale):
        with np.errstate(all="ignore"):
            return saturate(bias / (x_scale.reshape(-1) * w_scale.reshape(-1)), INT32)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(4), make.array(0.1), make.uniform(4, low=0.001, high=0.01))


@op("_fused_lookup")
class Lookup(_Typed):
    """The number that a table has for each of data, int8 or uint8, counted from the least.

    Shapes: data (...), table (256,) -> (...)."""

    exception = "reads what was rounded to integers beforehand"

    inputs = ("data", "table")

    def wants(self, name):
        return EIGHT

    def infer_shape(self, data, table):
        self.fitting("table", table, (256,))
        return data

    def infer_type(self, data, table):
        return table

    def compute(self, data, table):
        return table[data.astype(np.int16) - np.iinfo(data.dtype).min]

    @classmethod
    def examples(cls, make):
        for dtype, low in (("int8", -128), ("uint8", 0)):
            data = make.integers(2, 3, low=low, high=low + 256, dtype=dtype)
            yield make(data, make.integers(256, low=-128, high=128, dtype="int8"))
