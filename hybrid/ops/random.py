"""Samplers: numbers drawn from a distribution, whose parameters are attributes or arrays.

Draws are made by the generator that the executor hands in, in float64 (float32 where NumPy draws that directly), and
converted. They come from the same distributions as MXNet's, not from the same sequence.
"""

import math
from collections.abc import Callable
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from ..core.attrs import DType, Shape, Sizes
from ..core.op import Op, op
from ..core.shapes import UNKNOWN, merge, merge_all
from .common import Elementwise, Sized, want_rank, want_some
from .composing import definite, known

FLOATS = tuple(map(np.dtype, ("float16", "float32", "float64")))
FLOAT32 = np.dtype("float32")


def wrong_float(dtype: np.dtype | None) -> str | None:
    """Describe what is wrong with the dtype of samples; None when nothing is."""
    return None if dtype is None or dtype in FLOATS else f"got dtype {dtype}, wanted float16, float32 or float64"


class Parameter(NamedTuple):
    """A parameter of a distribution."""

    name: str
    default: float
    least: float = -math.inf
    above: bool = False
    """True when ``least`` itself is out, for scalars (arrays of scales may hold 0)."""
    kind: type = float

    def wrong(self, value: Any, strict: bool) -> str | None:
        """Describe what is wrong with a value or an array of them; None when nothing is."""
        fine = np.greater(value, self.least) if strict and self.above else np.greater_equal(value, self.least)
        if np.all(fine):
            return None
        got = np.asarray(value)[~np.asarray(fine)].flat[0]
        return f"got {self.name}={got:g}, wanted {'more than' if strict and self.above else 'at least'} {self.least:g}"


class Distribution(NamedTuple):
    """A distribution."""

    name: str
    parameters: tuple[Parameter, ...]
    draw: Callable[..., np.ndarray]
    """draw(rng, size, dtype, *parameters): an array of that size, of dtype or wider."""
    doc: str


def _uniform(rng, size, dtype, low, high):
    return low + (high - low) * rng.random(size, dtype)


def _normal(rng, size, dtype, loc, scale):
    return loc + scale * rng.standard_normal(size, dtype)


def _gamma(rng, size, dtype, alpha, beta):
    return beta * rng.standard_gamma(alpha, size)


def _exponential(rng, size, dtype, lam):
    return rng.standard_exponential(size, dtype) / lam


def _poisson(rng, size, dtype, lam):
    return rng.poisson(lam, size)


def _negative_binomial(rng, size, dtype, k, p):
    p = np.minimum(p, 1.0)  # MXNet takes more than 1 as 1
    return rng.poisson(rng.gamma(k, (1 - p) / p, size))


def _generalized_negative_binomial(rng, size, dtype, mu, alpha):
    certain = np.equal(alpha, 0)  # without dispersion it is Poisson's
    alpha = np.where(certain, 1.0, alpha)
    return rng.poisson(np.where(certain, mu, rng.gamma(1 / alpha, mu * alpha, size)))


DISTRIBUTIONS = (
    Distribution(
        "uniform",
        (Parameter("low", 0.0), Parameter("high", 1.0)),
        _uniform,
        "Numbers from low (included) to high (excluded), all equally likely",
    ),
    Distribution(
        "normal",
        (Parameter("loc", 0.0), Parameter("scale", 1.0, 0, above=True)),
        _normal,
        "Normally distributed numbers of mean loc and standard deviation scale",
    ),
    Distribution(
        "gamma",
        (Parameter("alpha", 1.0, 0, above=True), Parameter("beta", 1.0, 0, above=True)),
        _gamma,
        "Numbers of the gamma distribution of shape alpha and scale beta",
    ),
    Distribution(
        "exponential",
        (Parameter("lam", 1.0, 0, above=True),),
        _exponential,
        "Exponentially distributed numbers of rate lam",
    ),
    Distribution("poisson", (Parameter("lam", 1.0, 0),), _poisson, "Counts of Poisson's distribution of mean lam"),
    Distribution(
        "negative_binomial",
        (Parameter("k", 1, 0, kind=int), Parameter("p", 1.0, 0, above=True)),
        _negative_binomial,
        "How many trials succeed before k have failed, each failing with probability p",
    ),
    Distribution(
        "generalized_negative_binomial",
        (Parameter("mu", 1.0, 0), Parameter("alpha", 1.0, 0)),
        _generalized_negative_binomial,
        "Counts of the negative binomial distribution of mean mu and dispersion alpha (1 / k for a real k)",
    ),
)


PRIMITIVE_LAWS = ("uniform", "normal", "gamma", "exponential", "poisson")
"""Laws that the other draws could be made of."""


class Sampler(Op):
    """Base of the operators that draw from a law. Samples have no derivative with regard to anything: zeros."""

    meanings = {"beta": "Scales of the gamma distributions.", "p": "Probabilities of a failure."}

    law: ClassVar[Distribution]

    exception = "draws numbers in an order of its own"
    needs = ("rng",)

    def gradient(self, F, dy, *arrays):
        return None

    def draw_samples(self, rng: Any, size: tuple, dtype: np.dtype, parameters: Any) -> np.ndarray:
        """Samples of a size and dtype."""
        working = FLOAT32 if dtype == np.float16 else dtype
        try:
            drawn = self.law.draw(rng, size, working, *parameters)
        except (ValueError, OverflowError) as error:  # of a generator, whose counts end somewhere
            raise self.error(f"{error}; give smaller parameters") from None
        samples = np.asarray(drawn).astype(dtype, copy=False)
        if self.law.draw is not _uniform:
            return samples
        low, high = (np.asarray(p).astype(dtype) for p in parameters)
        last = np.where(high > low, np.nextafter(high, low), low)  # rounding may reach high, which is excluded
        return np.minimum(samples, last, out=samples)


class Scalars(Sampler):
    """Base of samplers whose parameters are attributes."""

    meanings = {
        "alpha": "Shape of the gamma distribution; dispersion of the generalized negative binomial one.",
        "beta": "Scale of the gamma distribution.",
        "k": "Number of failures at which counting ends.",
        "p": "Probability of a failure.",
    }

    def check(self):
        values = self.values()
        problems = (p.wrong(v, True) for p, v in zip(self.law.parameters, values))
        if self.law.name == "uniform" and not values[0] <= values[1]:
            return f"got low={values[0]:g} and high={values[1]:g}, wanted low not above high"
        return next((p for p in problems if p), None)

    def values(self) -> list[float]:
        """Those of the law, in order."""
        return [getattr(self, p.name) for p in self.law.parameters]


class Free(Sized, Scalars):
    """Base of samplers that need no input. Shapes: -> shape; a dim of 0, or no shape at all, is what readers decide."""

    shape: ClassVar[Shape | None]
    dtype: ClassVar[np.dtype | None]

    inputs = ()
    needs = ("rng", "shape")

    def check(self):
        return wrong_float(self.dtype) or super().check()

    def infer_shape(self):
        return shape_spec(self, self.shape)

    def infer_type(self):
        return self.dtype or FLOAT32

    def compute(self, shape, rng: Any = None):
        return self.draw_samples(rng, require_shape(self, shape), self.infer_type(), self.values())

    @classmethod
    def examples(cls, make):
        yield make(shape=(3, 4))
        yield make(shape=(5,), dtype="float64")


def shape_spec(op: Sized, shape: Shape | None) -> tuple[Any, ...] | None:
    """A shape attribute as inference takes it: a dim of 0, or no shape at all, is what readers decide; with np_shape, () is one."""
    return op.sizes(shape) if shape or (op.zero_is_size and shape is not None) else None


def require_shape(op: Op, shape: Any) -> tuple[int, ...]:
    """The shape that inference found. Raises OpError when it found none."""
    if shape is None or any(d is UNKNOWN for d in shape):
        raise op.error("got no shape, or a 0 in it (a size that the readers decide), and none did; give shape")
    return shape


class Like(Scalars, Elementwise):
    """Base of samplers of the shape and dtype of their input, whose values do not matter. Shapes: data -> as data."""

    inputs = ("data",)

    def infer_type(self, data):
        problem = wrong_float(data)
        if problem:
            raise self.error(problem)
        return data

    def composition(self, F, data):
        if not known(data) or 0 in definite(data.shape) or not data.shape or self.law.name not in PRIMITIVE_LAWS:
            return None
        return getattr(F, f"_random_{self.law.name}")(**self.dump(), shape=data.shape, dtype=data.dtype)

    def compute(self, data, rng: Any = None):
        return self.draw_samples(rng, data.shape, data.dtype, self.values())

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3))


class Arrays(Sampler):
    """Base of samplers whose parameters are arrays: ``shape`` samples for each. Shapes: (...) each -> (..., *shape)."""

    meanings = {"shape": "Shape of the samples for each element of the parameters; empty: one."}

    shape: Sizes = ()
    dtype: DType | None = None

    def check(self):
        return wrong_float(self.dtype)

    def infer_input_shapes(self, shapes, outputs):
        whole = outputs[0]
        known = merge_all(shapes)
        if whole is not None and len(whole) >= len(self.shape):
            known = merge(known, whole[: len(whole) - len(self.shape)])
        return [known] * len(shapes)

    def infer_shape(self, *shapes):
        return (*merge_all(shapes), *self.shape)  # type: ignore[misc]  # none of them is None here

    def infer_type(self, *dtypes):
        return self.dtype or FLOAT32

    def infer_input_types(self, dtypes, outputs):
        return super().infer_input_types(dtypes, [None])  # the dtype of samples is not that of the parameters

    def compute(self, *arrays, rng: Any = None):
        for parameter, array in zip(self.law.parameters, arrays):
            problem = parameter.wrong(array, self.law.name not in ("normal", "uniform"))
            if problem:
                raise self.error(problem)
        size = (*arrays[0].shape, *self.shape)
        wide = [a.astype(np.float64).reshape(a.shape + (1,) * len(self.shape)) for a in arrays]
        return self.draw_samples(rng, size, self.dtype or FLOAT32, wide)

    @classmethod
    def examples(cls, make):
        arrays = [make.uniform(2, 3, low=0.2 + i, high=1.0 + i) for i in range(len(cls.inputs))]
        yield make(*arrays, shape=(4,))
        yield make(*arrays)


OLD_NAMES = {"uniform": ("uniform",), "normal": ("normal",)}
ARRAY_NAMES = {"normal": ("mu", "sigma")}  # 1.9.1 calls them otherwise where they are inputs


def sampler(
    name: str, base: type[Sampler], law: Distribution, doc: str, fields: dict[str, tuple[Any, Any]], **values: Any
) -> Any:
    """A class of operators that draw from a law, with fields (kind, default) in MXNet's order."""
    kinds, defaults = {k: kind for k, (kind, _) in fields.items()}, {k: default for k, (_, default) in fields.items()}
    made = {"law": law, "__doc__": doc, "__module__": __name__, "__annotations__": kinds, **defaults, **values}
    return type(name, (base,), made)


for _law in DISTRIBUTIONS:
    _scalars: dict[str, tuple[Any, Any]] = {p.name: (p.kind, p.default) for p in _law.parameters}
    _size: dict[str, tuple[Any, Any]] = {"shape": (Shape | None, None), "ctx": (str, ""), "dtype": (DType | None, None)}
    _doc, _name = f"{_law.doc}. Shapes: -> shape.", f"_random_{_law.name}"
    _own = _law.name in PRIMITIVE_LAWS
    op(_name, _name[1:], *OLD_NAMES.get(_law.name, ()))(
        sampler(_name, Free, _law, _doc, _scalars | _size, primitive=_own)
    )
    _doc, _name = f"{_law.doc}, in the shape and dtype of data. Shapes: data -> as data.", f"_random_{_law.name}_like"
    _said = {} if _own else {"composition": Op.composition}
    op(_name)(sampler(_name, Like, _law, _doc, _scalars, **_said))
    _doc = f"{_law.doc}, which are arrays: ``shape`` samples for each element. Shapes: (...) each -> (..., *shape)."
    _name, _inputs = f"_sample_{_law.name}", ARRAY_NAMES.get(_law.name, tuple(_scalars))
    op(_name, _name[1:])(sampler(_name, Arrays, _law, _doc, {}, inputs=_inputs))


@op("_random_randint", "random_randint", "_npi_random_randint")
class RandomInteger(Sized):
    """Whole numbers from low (included) to high (excluded), all equally likely. Shapes: -> shape."""

    low: int
    high: int
    shape: Sizes | None = None
    ctx: str = ""
    dtype: DType | None = None

    primitive = True

    inputs = ()
    needs = ("rng", "shape")

    def check(self):
        if self.dtype is not None and self.dtype not in (
            np.dtype("int32"),
            np.dtype("int64"),
        ):  # float64 == None is True
            return f"got dtype {self.dtype}, wanted int32 or int64"
        if self.low >= self.high:
            return f"got low={self.low} and high={self.high}, wanted low below high"
        limits = np.iinfo(self.infer_type())
        if self.low < limits.min or self.high - 1 > limits.max:
            return f"got low={self.low} and high={self.high}, which {self.infer_type()} cannot hold; give dtype='int64'"
        return None

    def infer_shape(self):
        return shape_spec(self, self.shape)

    def infer_type(self):
        return self.dtype or np.dtype("int32")

    def gradient(self, F, dy, y):
        return None

    def compute(self, shape, rng: Any = None):
        return rng.integers(self.low, self.high, require_shape(self, shape), self.infer_type())

    @classmethod
    def examples(cls, make):
        yield make(low=-3, high=5, shape=(3, 4))
        yield make(low=0, high=2**40, shape=(5,), dtype="int64")


@op("_shuffle", "shuffle", "_npi_shuffle")
class Shuffle(Elementwise):
    """data with its first axis in random order. Shapes: data -> as data."""

    exception = "draws numbers in an order of its own"

    needs = ("rng",)

    def compute(self, data, rng: Any = None):
        return rng.permutation(data, axis=0) if data.ndim else data

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(5, 2))


@op("_sample_multinomial", "sample_multinomial")
class SampleMultinomial(Op):
    """Indices drawn with the probabilities that lie along the last axis of data: shape samples from each distribution.

    Probabilities should sum to 1; here they are divided by their sum. With get_prob a second output holds the logarithms
    of the probabilities of what was drawn; its gradient is that of log(data) at those places, for policy gradients.
    Shapes: (..., k) -> (..., *shape), and (1,) where that would be empty.
    """

    meanings = {
        "data": "Probabilities, along the last axis.",
        "shape": "Shape of the samples from each distribution; empty: one.",
        "dtype": "Dtype of the indices.",
    }

    shape: Sizes = ()
    get_prob: bool = False
    dtype: Literal["float16", "float32", "float64", "int32", "uint8"] = "int32"

    exception = "draws numbers in an order of its own"

    needs = ("rng",)

    def output_names(self):
        return ("output0", "output1") if self.get_prob else ("output",)

    def infer_shape(self, data):
        want_rank(self, data, *range(1, 33))
        want_some(self, data, -1)
        shape = (*data[:-1], *self.shape) or (1,)
        return [shape, shape] if self.get_prob else shape

    def infer_type(self, data):
        problem = wrong_float(data)
        if problem:
            raise self.error(problem)
        return [np.dtype(self.dtype), data] if self.get_prob else np.dtype(self.dtype)

    def infer_input_types(self, dtypes, outputs):
        return dtypes

    def compute(self, data, rng: Any = None):
        rows = data.reshape(-1, data.shape[-1]).astype(np.float64)
        totals = rows.sum(1)
        if not (np.all(rows >= 0) and np.all((totals > 0) & np.isfinite(totals))):
            raise self.error(
                "got data that is no probabilities, wanted numbers of at least 0 that sum to 1 in the last axis"
            )
        ends = np.cumsum(rows / totals[:, None], 1)
        ends /= ends[:, -1:]
        # one search for all rows: row i lies between i and i + 1
        starts = np.arange(len(rows))[:, None]
        wanted = rng.random((len(rows), math.prod(self.shape)))
        found = np.searchsorted((ends + starts).ravel(), (wanted + starts).ravel(), "right").reshape(wanted.shape)
        chosen = np.minimum(found - starts * rows.shape[1], rows.shape[1] - 1)
        shape = (*data.shape[:-1], *self.shape) or (1,)
        drawn = chosen.reshape(shape).astype(self.dtype)
        if not self.get_prob:
            return drawn
        likely = np.log(np.take_along_axis(rows, chosen, 1))
        return drawn, likely.reshape(shape).astype(data.dtype)

    def gradient(self, F, dy, data, *drawn):
        return F._backward_sample_multinomial(dy[1], data, drawn[0]) if self.get_prob else None

    @classmethod
    def examples(cls, make):
        rows = make.uniform(2, 3, low=0.1)
        rows /= rows.sum(1, keepdims=True)
        yield make(rows, shape=(8, 4))  # so many that two draws differ
        yield make(rows[0], shape=(64,), dtype="float32")
        yield make(rows, shape=(32,), get_prob=True, dtype="uint8")


@op("_backward_sample_multinomial")
class SampleMultinomialBackward(Op):
    """The gradient of the logarithms that _sample_multinomial gives: dy / data, added up where it was drawn."""

    inputs = ("dy", "data", "drawn")

    def infer_shape(self, dy, data, drawn):
        return data

    def infer_type(self, dy, data, drawn):
        return data

    def infer_input_types(self, dtypes, outputs):
        return dtypes

    def compute(self, dy, data, drawn):
        rows = data.reshape(-1, data.shape[-1]).astype(np.float64)
        places = drawn.reshape(len(rows), -1).astype(np.int64)
        out = np.zeros_like(rows)
        shares = dy.reshape(places.shape) / np.take_along_axis(rows, places, 1)
        np.add.at(out, (np.arange(len(rows))[:, None], places), shares)
        return out.reshape(data.shape).astype(data.dtype)


@op("_sample_unique_zipfian")
class SampleUniqueZipfian(Op):
    """Distinct classes below range_max, small ones more often (about as 1 / (class + 1)), and how many draws that took.

    A draw is exp(u * log(range_max)) rounded, less 1, for u uniform in [0, 1), as MXNet does (its documentation states a
    slightly different distribution). Shapes: -> (batch, n), (batch,).
    """

    range_max: int
    shape: Sizes | None = None

    exception = "draws numbers in an order of its own"

    inputs = ()
    needs = ("rng",)

    def output_names(self):
        return ("output0", "output1")

    def check(self):
        if self.range_max < 1 or len(self.shape or ()) != 2:
            return f"got range_max={self.range_max} and shape={self.shape}, wanted at least 1 and a shape (batch, n)"
        if self.shape[1] > self.range_max:  # type: ignore[index]  # it has two dims
            return f"got {self.shape[1]} samples, wanted no more than the {self.range_max} classes"  # type: ignore[index]
        return None

    def infer_shape(self):
        return [self.shape, self.shape[:1]]  # type: ignore[index]

    def infer_type(self):
        return [np.dtype("int64")] * 2

    def gradient(self, F, dy, *outputs):
        return None

    def compute(self, rng: Any = None):
        batch, n = self.shape  # type: ignore[misc]
        classes, counts = np.zeros((batch, n), np.int64), np.zeros(batch, np.int64)
        for row in range(batch):
            classes[row], counts[row] = self._distinct(rng, n)
        return classes, counts

    def _distinct(self, rng: Any, n: int) -> tuple[np.ndarray, int]:
        """n different classes in the order drawn, and the number of draws."""
        drawn = np.zeros(0, np.int64)
        while True:
            places = np.sort(np.unique(drawn, return_index=True)[1])
            if len(places) >= n:
                return drawn[places[:n]], int(places[n - 1]) + 1 if n else 0
            u = rng.random(max(64, 2 * len(drawn)))
            drawn = np.append(drawn, np.rint(np.exp(u * math.log(self.range_max))).astype(np.int64) - 1)

    @classmethod
    def examples(cls, make):
        yield make(range_max=20, shape=(2, 5))
