"""Samplers of np networks: parameters are numbers or arrays, which broadcast with one another and to ``size``.

Draws are made as in random.py. Laws that are a standard draw, moved and stretched, have gradients by their parameters, as in
MXNet; for them a second output, which no user sees, keeps the standard draw.
"""

import math
from collections.abc import Callable
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from ..core.attrs import Floats, Shape, Sizes
from ..core.op import Op, op
from ..core.shapes import broadcast, is_known, show
from .common import spread, want_some
from .random import FLOAT32

INT64 = np.dtype("int64")


class Bound(NamedTuple):
    """Limits of a parameter."""

    least: float = -np.inf
    above: bool = False
    """True when ``least`` itself is out."""
    most: float = np.inf

    def wrong(self, name: str, value: Any) -> str | None:
        """Describe what is wrong with a value or an array of them; None when nothing is."""
        array = np.asarray(value)
        fine = (array > self.least if self.above else array >= self.least) & (array <= self.most)
        if np.all(fine):
            return None
        wanted = f"{'more than' if self.above else 'at least'} {self.least:g}"
        wanted += f" and at most {self.most:g}" if np.isfinite(self.most) else ""
        return f"got {name}={array[~fine].flat[0]:g}, wanted {wanted}"


ANY, SCALE, SHAPE = Bound(), Bound(0), Bound(0, above=True)


class Distribution(NamedTuple):
    """A distribution: standard(rng, size, dtype) draws, made(draw, *parameters) is the sample."""

    name: str
    parameters: tuple[tuple[str, Bound, Any], ...]
    """Name, what it has to be, default (None: no default)."""
    standard: Callable[..., np.ndarray]
    made: Callable[..., np.ndarray]
    slopes: Callable[..., tuple[Any, ...]] | None
    """slopes(F, dy, draw, sample, *parameters): gradients in the shape of the samples, as symbols; None: all are 0.

    Parameters that are arrays are symbols in the shape of the samples, others are numbers."""
    typed: bool
    """True when there is an attribute dtype."""
    doc: str


def _uniform(rng, size, dtype):
    return rng.random(size, dtype)


def _normal(rng, size, dtype):
    return rng.standard_normal(size, dtype)


def _exponential(rng, size, dtype):
    return rng.standard_exponential(size, dtype)


def _gumbel(rng, size, dtype):
    return rng.gumbel(size=size)


def _logistic(rng, size, dtype):
    return rng.logistic(size=size)


def _rayleigh(rng, size, dtype):
    return np.sqrt(2 * rng.standard_exponential(size, dtype))


def _spread(u, low, high):
    return _shift_scale(u, low, high - low)


def _shift_scale(z, loc, scale):
    made = scale * z
    made += loc
    return made


def _scale(z, scale):
    return scale * z


def _by_both(F, dy, z, y, loc, scale):
    return dy, dy * z


def _by_scale(F, dy, z, y, scale):
    return (dy * z,)


def _weibull(z, a):
    return z ** (1 / a)


def _by_weibull(F, dy, z, y, a):  # -y log(y) / a, where y log(y) goes to 0
    return (-(dy * y * F.log(F._maximum_scalar(y, scalar=1e-37)) / a),)


def _pareto(z, a):
    return np.expm1(z / a)


def _by_pareto(F, dy, z, y, a):
    return (-(dy * (y + 1) * F.log1p(y) / a),)


def _power(u, a):
    return u ** (1 / a)


LOCATION = ("loc", ANY, None), ("scale", SCALE, None)
DISTRIBUTIONS = (
    Distribution("uniform", (("low", ANY, None), ("high", ANY, None)), _uniform, _spread, None, True,
        "Numbers from low (included) to high (excluded), all equally likely"),
    Distribution("normal", LOCATION, _normal, _shift_scale, _by_both, True,
        "Normally distributed numbers of mean loc and standard deviation scale"),
    Distribution("gumbel", LOCATION, _gumbel, _shift_scale, _by_both, False,
        "Numbers of Gumbel's distribution of mode loc and scale"),
    Distribution("logistic", LOCATION, _logistic, _shift_scale, _by_both, False,
        "Numbers of the logistic distribution of mean loc and scale"),
    Distribution("exponential", (("scale", SCALE, 1.0),), _exponential, _scale, _by_scale, False,
        "Exponentially distributed numbers of mean scale"),
    Distribution("rayleigh", (("scale", SCALE, 1.0),), _rayleigh, _scale, _by_scale, False,
        "Numbers of Rayleigh's distribution of mode scale"),
    Distribution("weibull", (("a", SHAPE, None),), _exponential, _weibull, _by_weibull, False,
        "Numbers of Weibull's distribution of shape a and scale 1"),
    Distribution("pareto", (("a", SHAPE, None),), _exponential, _pareto, _by_pareto, False,
        "Numbers of the Pareto II (Lomax) distribution of shape a, which begins at 0"),
    Distribution("powerd", (("a", SHAPE, None),), _uniform, _power, None, False,
        "Numbers in [0, 1] of density a x^(a - 1)"),
)  # fmt: skip


class Sampler(Op):
    """Base of the samplers: parameters that are None are inputs. Shapes: any that broadcast to size -> size, or what they make."""

    names: ClassVar[tuple[str, ...]]

    exception = "draws numbers in an order of its own"
    """Attributes that may be inputs instead, in order."""
    in_front: ClassVar[bool] = False
    """True when size comes in front of the shape that the parameters make."""

    size: ClassVar[Shape | None]

    inputs = ("input1", "input2")
    needs = ("rng",)

    def free(self) -> list[str]:
        """The parameters that are inputs."""
        return [n for n in self.names if getattr(self, n) is None]

    def input_names(self):
        return self.inputs[: len(self.free())]

    def merge_parameters(self, arrays: Any) -> list[Any]:
        """All parameters in order: numbers, or what ``arrays`` has for them."""
        rest = iter(arrays)
        return [next(rest) if getattr(self, n) is None else getattr(self, n) for n in self.names]

    def sample_shape(self, *shapes):
        """The shape of the samples."""
        whole = broadcast(*shapes) if shapes else ()
        if self.size is None:
            return whole
        if self.in_front:
            return (*self.size, *whole)
        if is_known(whole) and broadcast(whole, self.size) != self.size:
            raise self.error(
                f"got size={self.size} for parameters of shape {show(whole)}, which do not broadcast to it"
            )
        return self.size

    def infer_shape(self, *shapes):
        shape = self.sample_shape(*shapes)
        return shape if len(self.output_names()) == 1 else [shape] * len(self.output_names())

    def gradient(self, F, dy, *arrays):
        return None

    @classmethod
    def examples(cls, make):
        numbers = dict.fromkeys(cls.names)
        arrays = [make.uniform(2, 3, low=1 + 2 * i, high=2 + 2 * i) for i in range(len(cls.names))]
        yield make(**dict.fromkeys(cls.names, 1.0), size=(3, 4))
        yield make(*arrays, **numbers)
        if len(arrays) == 2:
            yield make(arrays[0][0], **(numbers | {cls.names[1]: 5.0}), size=(4,) if cls.in_front else (5, 3))


class Drawn(Sampler):
    """Base of those that draw from a law."""

    meanings = {"a": "Shape of the distribution, positive."}

    law: ClassVar[Distribution]

    def output_names(self):
        return ("output",) if self.law.slopes is None else ("output0", "output1")

    def num_visible_outputs(self):
        return 1

    def check(self):
        bounds = {name: bound for name, bound, _ in self.law.parameters}
        known = [n for n in self.names if getattr(self, n) is not None]
        return next(filter(None, (bounds[n].wrong(n, getattr(self, n)) for n in known)), None)

    def infer_type(self, *dtypes):
        dtype = np.dtype(getattr(self, "dtype", FLOAT32))
        return dtype if len(self.output_names()) == 1 else [dtype] * len(self.output_names())

    def infer_input_types(self, dtypes, outputs):
        return super().infer_input_types(dtypes, [])  # the dtype of samples is not that of the parameters

    def compute(self, *arrays, rng: Any = None):
        dtype = np.dtype(getattr(self, "dtype", FLOAT32))
        bounds = {name: bound for name, bound, _ in self.law.parameters}
        for name, array in zip(self.free() if arrays else (), arrays):
            problem = bounds[name].wrong(name, array)
            if problem:
                raise self.error(problem)
        size = self.sample_shape(*(a.shape for a in arrays))
        drawn = np.asarray(self.law.standard(rng, size, FLOAT32 if dtype == np.float16 else dtype))
        draw = drawn.astype(dtype, copy=False)
        parameters = self.merge_parameters([a.astype(np.float64) for a in arrays])
        exact = draw.astype(np.float64) if arrays or drawn.dtype != draw.dtype else draw
        made = np.asarray(self.law.made(exact, *parameters)).astype(dtype, copy=False)
        if self.law.name == "uniform":  # rounding may reach high, which is excluded
            low, high = (np.asarray(p).astype(dtype) for p in parameters)
            if made.size and (made.max() >= high if not high.ndim else (made >= high).any()):
                made = np.where((made >= high) & (high > low), np.nextafter(high, low), made)
        return made if self.law.slopes is None else (made, draw)

    def gradient(self, F, dy, *arrays):
        if self.law.slopes is None:
            return None
        *free, y, draw = arrays
        dy = dy[0]
        wide = self.merge_parameters(
            [
                F._backward_broadcast_like(F.Cast(p, dtype=str(np.dtype(getattr(self, "dtype", FLOAT32)))), y)
                for p in free
            ]
        )
        slopes = self.law.slopes(F, dy, draw, y, *wide)
        named = dict(zip(self.names, slopes))
        return tuple(F._backward_parameter(named[n], p) for n, p in zip(self.free(), free))


@op("_backward_parameter")
class ParameterBackward(Op):
    """The gradient of a parameter from that of the samples: summed down to its shape, in its dtype. Shapes: any, like -> like."""

    inputs = ("data", "like")

    def infer_shape(self, data, like):
        spread(self, like, data)
        return like

    def infer_type(self, data, like):
        return like

    def infer_input_types(self, dtypes, outputs):
        return dtypes

    def compute(self, data, like):
        extra = data.ndim - like.ndim
        axes = (*range(extra), *(extra + i for i, d in enumerate(like.shape) if d == 1 != data.shape[extra + i]))
        return data.sum(axes, dtype=np.float64).reshape(like.shape).astype(like.dtype)


Precision = Literal["float16", "float32", "float64"]


def sampler(law: Distribution, name: str, **values: Any) -> Any:
    """The class of operators that draw from a law."""
    kinds: dict[str, Any] = {n: float | None for n, _, _ in law.parameters} | {"size": Shape | None, "ctx": str}
    defaults: dict[str, Any] = {
        n: default for n, _, default in law.parameters if default is not None or len(law.parameters) == 1
    }
    defaults |= {"size": None, "ctx": "cpu"}
    if law.typed:
        kinds["dtype"], defaults["dtype"] = Precision, "float32"
    members = {
        "law": law,
        "names": tuple(n for n, _, _ in law.parameters),
        "__module__": __name__,
        "__annotations__": kinds,
    }
    return op(name)(type(name, (Drawn,), members | defaults | values))


for _law in DISTRIBUTIONS:
    _doc = f"{_law.doc}.\n\n    Shapes: parameters that broadcast to size -> size, or without size what they make."
    sampler(_law, f"_npi_{_law.name}", __doc__=_doc)
    if _law.name in ("uniform", "normal"):
        _doc = f"{_law.doc}.\n\n    Shapes: parameters -> size followed by what they make."
        sampler(_law, f"_npi_{_law.name}_n", __doc__=_doc, in_front=True)


@op("_npi_gamma")
class Gamma(Sampler):
    """Numbers of the gamma distribution of that shape and scale. MXNet gives no gradient to its parameters: zeros.

    Shapes: parameters that broadcast to size -> size, or without size what they make."""

    meanings = {"shape": "Shape of the distribution, positive."}

    shape: float | None
    scale: float | None
    size: Sizes | None = None
    ctx: str = "cpu"
    dtype: Precision = "float32"

    names = ("shape", "scale")

    def check(self):
        known = [n for n in self.names if getattr(self, n) is not None]
        return next(filter(None, (SHAPE.wrong(n, getattr(self, n)) for n in known)), None)

    def infer_type(self, *dtypes):
        return np.dtype(self.dtype)

    def infer_input_types(self, dtypes, outputs):
        return super().infer_input_types(dtypes, [])

    def compute(self, *arrays, rng: Any = None):
        shape, scale = self.merge_parameters([a.astype(np.float64) for a in arrays])
        for name, value in (("shape", shape), ("scale", scale)):
            problem = SHAPE.wrong(name, value)
            if problem:
                raise self.error(problem)
        size = self.sample_shape(*(a.shape for a in arrays))
        return np.asarray(scale * rng.standard_gamma(shape, size)).astype(self.dtype)


@op("_npi_bernoulli")
class Bernoulli(Sampler):
    """1 with probability prob, or 1 / (1 + exp(-logit)) with is_logit, else 0.

    Shapes: a parameter that broadcasts to size -> size, or without size as the parameter."""

    prob: float | None
    logit: float | None
    size: Sizes | None = None
    ctx: str = "cpu"
    dtype: Literal["bool", "float16", "float32", "float64", "int32", "uint8"] = "float32"
    is_logit: bool

    inputs = ("input1",)

    @property
    def names(self):  # type: ignore[override]
        """The one that is read."""
        return ("logit",) if self.is_logit else ("prob",)

    def check(self):
        known = None if self.is_logit else self.prob
        return None if known is None else Bound(0, most=1).wrong("prob", known)

    def infer_type(self, *dtypes):
        return np.dtype(self.dtype)

    def infer_input_types(self, dtypes, outputs):
        return dtypes

    def compute(self, *arrays, rng: Any = None):
        (p,) = self.merge_parameters([a.astype(np.float64) for a in arrays])
        problem = None if self.is_logit else Bound(0, most=1).wrong("prob", p)
        if problem:
            raise self.error(problem)
        likely = 1 / (1 + np.exp(-p)) if self.is_logit else p
        return np.asarray(rng.random(self.sample_shape(*(a.shape for a in arrays))) < likely).astype(self.dtype)

    @classmethod
    def examples(cls, make):
        yield make(prob=0.4, logit=None, is_logit=False, size=(4, 5), dtype="int32")
        yield make(make.uniform(30, low=0), prob=None, logit=None, is_logit=False)
        yield make(make.uniform(30), prob=None, logit=None, is_logit=True, size=(2, 30))


@op("_npi_choice")
class Choice(Op):
    """Positions below a, or, when a is None, along the first axis of an array: all equally likely, or as p says when weighted.

    Without replace none comes twice. Shapes: [array (a, ...)], [p (a,)] -> size, or () without one."""

    meanings = {
        "a": "Number of positions; None: as many as the array is long.",
        "input1": "The array (where a is None), else the probabilities.",
        "input2": "Probabilities of the positions; there with weighted.",
    }

    a: int | None
    size: Sizes | None
    ctx: str = "cpu"
    replace: bool = True
    weighted: bool = False

    exception = "draws numbers in an order of its own"

    inputs = ("input1", "input2")
    needs = ("rng",)

    def input_names(self):
        return self.inputs[: (self.a is None) + self.weighted]

    def check(self):
        return None if self.a is None or self.a > 0 else f"got a={self.a}, wanted at least 1"

    def infer_shape(self, *shapes):
        if self.weighted and len(shapes[-1]) != 1:
            raise self.error(f"got p of shape {show(shapes[-1])}, wanted one dimension")
        if self.a is None and not shapes[0]:
            raise self.error("got a single number to choose from, wanted an array")
        if self.a is None and (not self.size or math.prod(self.size)):
            want_some(self, shapes[0], 0, what="input1")
        return self.size or ()

    def infer_type(self, *dtypes):
        return INT64

    def infer_input_types(self, dtypes, outputs):
        return dtypes

    def gradient(self, F, dy, *arrays):
        return None

    def compute(self, *arrays, rng: Any = None):
        count = self.a if self.a is not None else len(arrays[0])
        p = None
        if self.weighted:
            p = arrays[-1].astype(np.float64)
            if len(p) != count or not np.all(p >= 0) or not 0 < p.sum() < np.inf:
                raise self.error(f"got p that is no {count} probabilities, wanted numbers of at least 0 that sum to 1")
            p = p / p.sum()
        wanted = int(np.prod(self.size or ()))
        if not self.replace and wanted > (count if p is None else np.count_nonzero(p)):
            raise self.error(f"got size={self.size}, wanted no more than there are to choose from, without replace")
        return np.asarray(rng.choice(count, self.size or (), self.replace, p)).astype(INT64)

    @classmethod
    def examples(cls, make):
        yield make(a=9, size=(3, 4))
        yield make(a=20, size=(3, 4), replace=False)
        yield make(make.uniform(9), make.array(np.full(9, 1 / 9)), a=None, size=(30,), weighted=True)
        yield make(make.array([0.5, 0.25, 0.25]), a=3, size=(30,), weighted=True)
        yield make(make.array(np.full(20, 0.05)), a=20, size=(8,), weighted=True, replace=False)


@op("_npi_multinomial")
class Multinomial(Op):
    """Count how often each of k outcomes came in n trials of the probabilities pvals, or of an array; the last takes what is
    left of 1.

    Shapes: [a (k,)] -> (*size, k)."""

    meanings = {"n": "Number of trials.", "a": "Probabilities of the outcomes; there where pvals is None."}

    n: int
    pvals: Floats | None = None
    size: Sizes | None = None

    exception = "draws numbers in an order of its own"

    inputs = ("a",)
    needs = ("rng",)

    def input_names(self):
        return () if self.pvals is not None else self.inputs

    def check(self):
        return None if self.n >= 0 else f"got n={self.n}, wanted at least 0"

    def infer_shape(self, *shapes):
        if shapes and len(shapes[0]) != 1:
            raise self.error(f"got probabilities of shape {show(shapes[0])}, wanted one dimension")
        return (*(self.size or ()), shapes[0][0] if shapes else len(self.pvals or ()))

    def infer_type(self, *dtypes):
        return INT64

    def infer_input_types(self, dtypes, outputs):
        return dtypes

    def gradient(self, F, dy, *arrays):
        return None

    def compute(self, *arrays, rng: Any = None):
        given = np.asarray(arrays[0] if arrays else self.pvals)
        p = given.astype(np.float64)
        head = p[:-1].sum()
        over = (
            p.size * float(np.finfo(given.dtype).eps) if given.dtype.kind == "f" else 0.0
        )  # what rounding may make of a sum of 1
        if not np.all(p[:-1] >= 0) or not head <= 1 + max(over, 1e-12):
            raise self.error("got probabilities that are below 0 or sum to more than 1")
        if not p.size:  # no outcomes: no counts
            return np.zeros((*(self.size or ()), 0), INT64)
        whole = np.append(p[:-1], max(1 - head, 0))
        return rng.multinomial(self.n, whole / max(whole.sum(), 1), self.size).astype(INT64)

    @classmethod
    def examples(cls, make):
        yield make(n=1000, pvals=(0.2, 0.3, 0.5), size=(2, 3))
        yield make(make.array([0.5, 0.25, 0.25]), n=1000, size=(2,))
