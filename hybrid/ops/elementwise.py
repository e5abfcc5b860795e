"""Functions of one element, conversions of dtype, and the few element-wise operators with attributes of their own.

One UnaryFunction is the function; it may be several operators (``exp``, ``_npi_exp``), one line each in the tables below.
"""

import math
from typing import Any, ClassVar, Literal

import numpy as np

from ..core.attrs import Arity
from ..core.op import BOOLS, DENSE, WHOLE, Op, Storage, lookup, op
from ..formats.params import RowSparse
from .casting import convert
from .common import BOUNDED, Elementwise, divide, largest, narrow, want_rank_from, widen
from .composing import definite, folded, of_floats
from .stored_places import in_rows
from .unary_functions import UNARY_FUNCTIONS, UnaryFunction

# where the examples (and random tests) draw from, for functions that are not defined everywhere
_RANGES = {
    **dict.fromkeys(
        ("log", "log10", "log2", "sqrt", "rsqrt", "cbrt", "rcbrt", "reciprocal", "gamma", "gammaln"), (0.2, 4.0)
    ),
    **dict.fromkeys(("arcsin", "arccos", "arctanh", "erfinv", "log1p"), (-0.9, 0.9)),
    "arccosh": (1.1, 4.0),
}


class Unary(Elementwise):
    """The function is applied to every element; integers stay integers."""

    unary_function: ClassVar[UnaryFunction]
    sparse: ClassVar[bool]
    """True where MXNet implements it for sparse arrays: the result is sparse where 0 stays 0."""

    def infer_storage(self, stypes=(), shapes=(), result=()):
        if not stypes or not self.sparse:
            return DENSE
        with np.errstate(all="ignore"):
            return DENSE if self.unary_function(np.zeros(1)).any() else Storage(stypes[0], (0,))

    def infer_type(self, data):
        if data.kind in self.unary_function.refused and not self.unary_function.predicate:
            raise self.error(
                f"got data of dtype {data}, wanted {'numbers' if data.kind == 'b' else 'whole numbers'}; cast it"
            )
        return data

    def gradient(self, F, dy, x, y):
        if self.unary_function.derivative is None:
            return super().gradient(F, dy, x, y)
        return self.unary_function.derivative(F, dy, x, y)

    def composition(self, F, data):
        if self.name != self.unary_function.name:
            return getattr(F, self.unary_function.name)(data)
        return self.unary_function.composed(F, data) if of_floats(data) else None  # type: ignore[misc]

    def compute(self, data, out=None):
        if out is not None:
            return self.unary_function.function(data, out=out)
        return self.unary_function(data).astype(data.dtype, copy=False)

    @classmethod
    def examples(cls, make):
        low, high = _RANGES.get(cls.unary_function.name, (-2.0, 2.0))
        if cls.unary_function.name == "bitwise_not":
            yield make(make.integers(3, 4, dtype=np.int32))
            return
        yield make(make.uniform(3, 4, low=low, high=high))


class StraightThrough(Unary):
    """The function is applied to every element; the gradient passes as if it were not."""

    def gradient(self, F, dy, x, y):
        return dy


class UnaryPredicate(Elementwise):
    """The result is bool."""

    unary_function: ClassVar[UnaryFunction]

    def infer_input_types(self, dtypes, outputs):
        return dtypes

    def infer_type(self, data):
        return np.dtype(bool)

    def gradient(self, F, dy, x, y):
        return None

    def composition(self, F, data):
        if data.dtype is None:
            return None
        if self.unary_function.composed is None:
            return F.Cast(getattr(F, self.unary_function.name)(data), dtype="bool")
        if not of_floats(data):  # whole numbers are all finite
            return F._npi_full_like(data, fill_value=float(self.unary_function.name == "isfinite"), dtype="bool")
        return self.unary_function.composed(F, data)

    def compute(self, data):
        return self.unary_function(data)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 4))


SPARSE = "_sparse_"
"""Aliases of operators that MXNet implements for sparse arrays begin so."""


def _unary(
    function: str, *names: str, base: type = Unary, argument: str = "data", primitive: bool | None = None
) -> None:
    """The operator names[0], also called names[1:], that applies the function. primitive: by default, true where it has the
    function's name and the function is said in no others."""
    row = UNARY_FUNCTIONS[function]
    members = {
        "__module__": __name__,
        "__doc__": f"{row.text[0].upper()}{row.text[1:]}.\n\n    {base.__doc__}",
        "unary_function": row,
        "inputs": (argument,),
        "supports_out": row.supports_out and base is Unary,
        "sparse": any(n.startswith(SPARSE) for n in names),
        "bound": float(function in BOUNDED),
        "primitive": names[0] == function and row.composed is None if primitive is None else primitive,
    }
    op(*names)(type(names[0].strip("_"), (base,), members))  # type: ignore[type-var]


for _name in (
    *("abs", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "cbrt", "ceil", "cos", "cosh", "degrees"),
    *(
        "exp",
        "expm1",
        "floor",
        "log",
        "log10",
        "log1p",
        "log2",
        "negative",
        "radians",
        "relu",
        "rint",
        "round",
        "rsqrt",
    ),
    *("sigmoid", "sign", "sin", "sinh", "sqrt", "square", "tan", "tanh", "trunc"),
):
    _unary(_name, _name, f"_sparse_{_name}")
for _name in ("erf", "erfinv", "log_sigmoid", "mish"):
    _unary(_name, _name, f"_npx_{_name}")
for _name in ("gamma", "gammaln"):
    _unary(_name, _name, f"_npx_{_name}", f"_sparse_{_name}")
for _name in ("logical_not", "rcbrt", "reciprocal", "softsign"):
    _unary(_name, _name)
for _name in (
    *("arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "cbrt", "ceil", "cos", "cosh", "degrees", "exp"),
    *("expm1", "floor", "log", "log10", "log1p", "log2", "negative", "radians", "reciprocal", "rint", "sign", "sin"),
    *("sinh", "sqrt", "square", "tan", "tanh", "trunc"),
):
    _unary(_name, f"_npi_{_name}", argument="x")
for _name in ("logical_not", "isnan", "isinf", "isposinf", "isneginf", "isfinite"):
    _unary(_name, f"_npi_{_name}", base=UnaryPredicate, argument="x")
_unary("abs", "_npi_absolute", "_npi_abs", argument="x")
_unary("bitwise_not", "_npi_bitwise_not", argument="x", primitive=True)
_unary("trunc", "fix", "_sparse_fix")
_unary("trunc", "_npi_fix", argument="x")
_unary("relu", "_npx_relu")
_unary("sigmoid", "_npx_sigmoid")
_unary("round", "_contrib_round_ste", "_sparse__contrib_round_ste", base=StraightThrough)
_unary("sign", "_contrib_sign_ste", "_sparse__contrib_sign_ste", base=StraightThrough)
_unary("digamma", "_backward_digamma")
_unary("trigamma", "_backward_trigamma")

Abs, Negative, Relu = (lookup(name) for name in ("abs", "negative", "relu"))


# -- what passes its input on --------------------------------------------------------------------------------------------


class Identity(Elementwise):
    """The input as it is; operators that matter to gradients only."""

    view = True
    only_moves_data = True

    def infer_storage(self, stypes=(), shapes=(), result=()):
        return Storage(stypes[0], (0,)) if stypes else DENSE

    def composition(self, F, data):
        return F._copy(data)

    def compute(self, data):
        return data

    def gradient(self, F, dy, x, y):
        return dy

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 4))


@op("_copy", "identity")
class Copy(Identity):
    """The input as it is; operators that matter to gradients only."""

    primitive = True


@op("_copyto", "_npi_copyto")
class CopyTo(Identity):
    """The input as it is; operators that matter to gradients only."""


@op("BlockGrad", "stop_gradient", "_sparse_stop_gradient")
class BlockGrad(Identity):
    """The input as it is; no gradient passes."""

    def gradient(self, F, dy, x, y):
        return None


@op("make_loss", "_sparse_make_loss")
class MakeLossOf(Identity):
    """data as a loss: its gradient is 1, whatever follows."""

    def output_names(self):
        return ("loss",)

    def gradient(self, F, dy, x, y):
        return F.ones_like(x)


@op("_np_copy")
class NpCopy(Identity):
    """A copy."""

    inputs = ("a",)


@op("_contrib_gradientmultiplier")
class GradientMultiplier(Identity):
    """The input as it is; its gradient is multiplied by scalar."""

    meanings = {"scalar": "Factor of the gradient."}

    scalar: float = 1.0
    is_int: bool = True

    def gradient(self, F, dy, x, y):
        return dy * self.scalar


@op("cast_storage", "_sparse_cast_storage")
class CastStorage(Identity):
    """The input in another storage type; of symbols all storage is dense, so as it is."""

    stype: Literal["csr", "default", "row_sparse"]

    def infer_storage(self, stypes=(), shapes=(), result=()):
        return DENSE if self.stype == "default" else Storage(self.stype)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 4), stype="default")


@op("_identity_with_attr_like_rhs")
class IdentityLike(Elementwise):
    """lhs as it is; rhs lends its shape only."""

    inputs = ("lhs", "rhs")
    view = True
    only_moves_data = True

    def composition(self, F, lhs, rhs):
        return F._copy(lhs)

    def compute(self, lhs, rhs):
        return lhs

    def gradient(self, F, dy, lhs, rhs, y):
        return dy, None

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 4), make.uniform(3, 4))


# -- operators with attributes -------------------------------------------------------------------------------------------


@op("clip", "_npi_clip", "_sparse_clip")
class Clip(Elementwise):
    """Every element cut to a_min..a_max; NaN stays, and a_max wins where a_min is larger. The bounds are float32."""

    a_min: float
    a_max: float

    supports_out = True

    def decides(self):
        return ()

    def infer_storage(self, stypes=(), shapes=(), result=()):
        return Storage(stypes[0], (0,)) if stypes and self.a_min <= 0 <= self.a_max else DENSE

    def bounds(self, dtype):
        """The two bounds in that dtype."""
        return tuple(convert(np.asarray(v, np.float32), dtype)[()] for v in (self.a_min, self.a_max))

    def compute(self, data, out=None):
        low, high = self.bounds(data.dtype)
        if data.dtype.kind not in "iub" and low <= high:
            if data.dtype.isbuiltin != 1:  # np.clip makes float32 of bfloat16
                return np.minimum(np.maximum(data, low), high, out=out)
            return np.clip(data, low, high, out=out)
        x = data.astype(np.float32) if data.dtype.kind in "iub" else data
        # compared as floats: -5 is below every uint8, although it is 251 when cast to one
        y = np.where(x > np.float32(self.a_max), high, np.where(x < np.float32(self.a_min), low, data))
        if out is None:
            return y
        out[...] = y
        return out

    def composition(self, F, data):
        low, high = map(float, self.bounds(np.dtype(np.float32)))
        if not of_floats(data) or not low <= high:
            return None
        return F._minimum_scalar(F._maximum_scalar(data, scalar=low), scalar=high)

    def gradient(self, F, dy, x, y):
        return F._backward_clip(dy, x, a_min=self.a_min, a_max=self.a_max)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 5), a_min=-0.7, a_max=0.9)


@op("_backward_clip")
class ClipBackward(Elementwise):
    """dy where x lies in a_min..a_max, both included, else 0."""

    a_min: float
    a_max: float

    inputs = ("dy", "x")
    supports_out = True

    def compute(self, dy, x, out=None):
        wide = x.astype(np.float32) if x.dtype.kind in "iub" else x
        outside = (wide < np.float32(self.a_min)) | (wide > np.float32(self.a_max))  # which NaN is not
        return np.multiply(dy, ~outside, out=out)

    def gradient(self, F, dy, head, x, y):
        return F._backward_clip(dy, x, a_min=self.a_min, a_max=self.a_max), None


@op("smooth_l1", "_npx_smooth_l1")
class SmoothL1(Elementwise):
    """|x| - 0.5 / scalar**2, rounded off by a parabola 0.5 * (scalar * x)**2 where |x| is below 1 / scalar**2."""

    meanings = {"scalar": "Width of the parabola is 2 / scalar**2."}

    scalar: float | None = None

    @property
    def squared(self):
        """scalar**2, with 1 for no scalar."""
        return np.float64(1.0 if self.scalar is None else self.scalar) ** 2

    def compute(self, data):
        x = data.astype(np.float64) if data.dtype.kind in "iub" else widen(data)
        size = np.abs(x)
        y = np.where(size > 1 / self.squared, size - 0.5 / self.squared, 0.5 * self.squared * x * x)
        return convert(y, data.dtype)

    def composition(self, F, data):
        if not of_floats(data) or not self.squared:
            return None
        x, size = data, F.abs(data)
        near = F.square(x) * (0.5 * float(self.squared))
        return F.where(F._greater_scalar(size, scalar=1 / float(self.squared)), size - 0.5 / float(self.squared), near)

    def gradient(self, F, dy, x, y):
        return dy * F.clip(x * self.squared, a_min=-1, a_max=1)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 4, low=-2, high=2), scalar=1.5)


@op("hard_sigmoid")
class HardSigmoid(Elementwise):
    """alpha * x + beta, cut to 0..1. alpha and beta are float32."""

    meanings = {"alpha": "Slope.", "beta": "Number at 0."}

    alpha: float = 0.2
    beta: float = 0.5

    def compute(self, data):
        x = widen(data)
        y = np.clip(x * x.dtype.type(np.float32(self.alpha)) + x.dtype.type(np.float32(self.beta)), 0, 1)
        return y.astype(data.dtype, copy=False)

    def composition(self, F, data):
        y = data * float(np.float32(self.alpha)) + float(np.float32(self.beta))
        return F.clip(y, a_min=0, a_max=1) if of_floats(data) else None

    def gradient(self, F, dy, x, y):
        return dy * (y > 0) * (y < 1) * float(np.float32(self.alpha))

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 4, low=-4, high=4), alpha=0.3, beta=0.4)


@op("_contrib_quadratic")
class Quadratic(Elementwise):
    """a * x**2 + b * x + c. a, b and c are float32."""

    a: float = 0.0
    b: float = 0.0
    c: float = 0.0

    def compute(self, data):
        x = data.astype(np.float32) if data.dtype.kind in "iub" else widen(data)
        a, b, c = (x.dtype.type(np.float32(v)) for v in (self.a, self.b, self.c))
        return convert((a * x + b) * x + c, data.dtype)

    def composition(self, F, data):
        a, b, c = (float(np.float32(v)) for v in (self.a, self.b, self.c))
        return (data * a + b) * data + c if of_floats(data) else None

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 4), a=2.0, b=-1.0, c=0.5)


@op("_contrib_div_sqrt_dim")
class DivSqrtDim(Elementwise):
    """data divided by the square root of the size of its last axis; integers by the whole number in it, towards zero."""

    def infer_shape(self, data):
        want_rank_from(self, data, 1)
        return data

    def compute(self, data):
        if data.dtype.kind in "iu":
            return divide(data, data.dtype.type(math.isqrt(data.shape[-1]) or 1))
        x = widen(data)
        return (x / np.sqrt(x.dtype.type(data.shape[-1]))).astype(data.dtype, copy=False)

    def composition(self, F, data):
        if data.shape is None or not of_floats(data):
            return None
        (size,) = definite(data.shape[-1:])
        return data / math.sqrt(size) if size else data

    def gradient(self, F, dy, x, y):
        return F.contrib.div_sqrt_dim(dy)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3, 5))


@op("_npi_around")
class Around(Elementwise):
    """data rounded to so many decimals, halves to even; a negative number rounds left of the point.

    Integers are cut off there, towards zero, as MXNet does."""

    decimals: int = 0

    exception = "rounds halves to even, which no primitive does"

    inputs = ("x",)
    refuses = BOOLS

    def check(self):
        return None if abs(self.decimals) < 400 else f"got decimals={self.decimals}, wanted -399 to 399"

    def compute(self, data):
        if data.dtype.kind in "iu" and self.decimals < 0:
            step = 10**-self.decimals
            return (
                data - np.fmod(data, data.dtype.type(step)) if step <= np.iinfo(data.dtype).max else np.zeros_like(data)
            )
        return np.around(data, self.decimals)

    def gradient(self, F, dy, x, y):
        return None

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 4, low=-9, high=9), decimals=1)


@op("add_n", "ElementWiseSum", "_sparse_ElementWiseSum", "_sparse_add_n")
class AddN(Elementwise):
    """The sum of any number of arrays of one shape."""

    num_args: Arity

    inputs = ("*args",)

    def infer_storage(self, stypes=(), shapes=(), result=()):
        return Storage("row_sparse") if {*stypes} == {"row_sparse"} else DENSE

    def compute_stored(self, *arrays):
        return in_rows(self, arrays) if all(isinstance(a, RowSparse) for a in arrays) else None

    def compute(self, *arrays):
        y = arrays[0].copy()
        for x in arrays[1:]:
            y += x
        return y

    def composition(self, F, *arrays):
        return folded(F.broadcast_add, arrays)

    def gradient(self, F, dy, *arrays):
        return (dy,) * self.num_args

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 4), make.uniform(3, 4), make.uniform(3, 4), num_args=3)


@op("_npi_nan_to_num")
class NanToNum(Elementwise):
    """data with NaN, infinity and minus infinity replaced by numbers, the last two by default by the largest there are."""

    copy: bool = True
    nan: float = 0.0
    posinf: float | None = None
    neginf: float | None = None

    def replacements(self, dtype: np.dtype) -> tuple:
        """Numbers that stand for NaN, inf and -inf."""
        most = largest(dtype)
        return self.nan, most if self.posinf is None else self.posinf, -most if self.neginf is None else self.neginf

    def composition(self, F, data):
        if data.dtype is None or not of_floats(data):
            return F._copy(data) if data.dtype is not None else None
        x = data
        for found, number in zip(
            (F._npi_isnan(data), F._npi_isposinf(data), F._npi_isneginf(data)), self.replacements(data.dtype)
        ):
            x = F._npi_where_lscalar(found, x, scalar=number)
        return x

    def compute(self, data):
        if data.dtype.kind in "iub":
            return data.copy()
        nan, high, low = self.replacements(data.dtype)
        return narrow(np.nan_to_num(widen(data), copy=True, nan=nan, posinf=high, neginf=low), data.dtype)

    def gradient(self, F, dy, x, y):
        return dy * F._backward_cast_like(F._npi_isfinite(x), dy)

    @classmethod
    def examples(cls, make):
        yield make(make.array([1.5, np.nan, np.inf, -np.inf]))


def _composed_finite(F: Any, data: Any) -> Any:
    """1 in float32 when every element of a symbol is finite, else 0."""
    return F._np_reshape(F.Cast(F._np_all(F._npi_isfinite(data)), dtype="float32"), newshape=(1,))


@op("all_finite")
class AllFinite(Op):
    """1 when every element is finite, else 0. Shapes: any -> (1,), float32."""

    init_output: bool = True

    refuses = WHOLE
    inputs = ("data",)

    def infer_input_types(self, dtypes, outputs):
        return dtypes

    def infer_type(self, data):
        return np.dtype(np.float32)

    def infer_shape(self, data):
        return (1,)

    def composition(self, F, data):
        return None if data.dtype is None else _composed_finite(F, data)

    def compute(self, data):
        return np.isfinite(data).all().astype(np.float32).reshape(1)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 4))


@op("multi_all_finite")
class MultiAllFinite(Op):
    """1 when every element of every array is finite, else 0. Shapes: any -> (1,), float32."""

    num_arrays: Arity = 1
    init_output: bool = True

    refuses = WHOLE
    inputs = ("*data",)
    count = "num_arrays"

    def infer_input_types(self, dtypes, outputs):
        return dtypes

    def infer_type(self, *dtypes):
        return np.dtype(np.float32)

    def infer_shape(self, *shapes):
        return (1,)

    def composition(self, F, *arrays):
        return None if arrays[0].dtype is None else folded(F.broadcast_mul, [_composed_finite(F, x) for x in arrays])

    def compute(self, *arrays):
        return np.array([all(np.isfinite(a).all() for a in arrays)], np.float32)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 4), make.uniform(2), num_arrays=2)
