"""Arithmetic, comparison and logic: two arrays of one shape, two that broadcast, or an array and a number.

One Arithmetic is the function; each of its forms is an operator of its own in MXNet, one line each in the tables below.
The legacy forms keep the dtype of the data throughout (comparisons give 0 and 1 in it); the forms that ``npx`` networks
use (_npi_*) mix dtypes as MXNet's NumPy interface does, and comparisons give bool.
"""

import math
import operator
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..core.dims import has_dims
from ..core.op import DENSE, Op, Storage, op
from ..core.shapes import broadcast
from ..formats.params import CSR
from .common import Elementwise, as_array, divide, truncate, widen
from .composing import cast
from .stored_places import in_entries


class Term:
    """A symbol or a number in a derivative. Arithmetic on two symbols broadcasts; on two numbers it never raises."""

    __slots__ = ("F", "value")

    def __init__(self, F, value):
        self.F, self.value = F, value

    @property
    def is_number(self) -> bool:
        return isinstance(self.value, int | float)

    def _with(self, other: Any, plain: Callable[[Any, Any], Any], both: str) -> "Term":
        other = other if isinstance(other, Term) else Term(self.F, other)
        if self.is_number and other.is_number:
            return Term(self.F, float(plain(np.float64(self.value), np.float64(other.value))))
        if self.is_number or other.is_number:
            return Term(self.F, plain(self.value, other.value))
        return Term(self.F, getattr(self.F, both)(self.value, other.value))

    def __add__(self, other):
        return self._with(other, operator.add, "broadcast_add")

    def __sub__(self, other):
        return self._with(other, operator.sub, "broadcast_sub")

    def __mul__(self, other):
        return self._with(other, operator.mul, "broadcast_mul")

    def __truediv__(self, other):
        return self._with(other, operator.truediv, "broadcast_div")

    def __pow__(self, other):
        return self._with(other, operator.pow, "broadcast_power")

    def __ge__(self, other):
        return self._with(other, operator.ge, "broadcast_greater_equal")

    def __gt__(self, other):
        return self._with(other, operator.gt, "broadcast_greater")

    def __le__(self, other):
        return self._with(other, operator.le, "broadcast_lesser_equal")

    def __lt__(self, other):
        return self._with(other, operator.lt, "broadcast_lesser")

    def __neg__(self):
        return Term(self.F, -self.value)

    def log(self):
        """The natural logarithm."""
        return Term(self.F, float(np.log(self.value)) if self.is_number else self.F.log(self.value))

    def floor(self):
        """Rounded down."""
        return Term(self.F, self.F.floor(self.value))

    def hypot(self, other):
        """The hypotenuse."""
        if other.is_number or self.is_number:
            array, number = (self, other) if other.is_number else (other, self)
            return Term(self.F, self.F._hypot_scalar(array.value, scalar=number.value))
        return Term(self.F, self.F.broadcast_hypot(self.value, other.value))

    def wide(self):
        """Whole numbers as float32."""
        return self if self.is_number else Term(self.F, self.F._backward_as_floats(self.value))

    def cut(self, like):
        """In the dtype of another: what a derivative is before dy is multiplied by it, of whole numbers cut off."""
        return Term(self.F, self.F._backward_cast_like(self.value, like.value))

    def of_floats(self):
        """Zeros for whole numbers."""
        return Term(self.F, self.F._backward_of_floats(self.value))


Derivative = Callable[[Term, Term, Term, Term], Term]
"""(dy, lhs, rhs, y) -> the gradient of lhs, or of rhs, before it is summed down to that one's shape."""


class Arithmetic(NamedTuple):
    """A function of two elements. function takes arrays of one dtype and gives that dtype (predicates: bool)."""

    name: str
    text: str
    function: Callable[..., np.ndarray]
    left: Derivative | None = None
    """Derivative by lhs,"""
    right: Derivative | None = None
    """and with rhs; None when it does not, or MXNet takes it so."""
    predicate: bool = False
    supports_out: bool = False
    """function takes ``out=``."""
    integers: bool = False
    """It means nothing to floats."""
    bools: bool = True
    """It means something to bools."""
    composed: Callable[[Any, Any, Any], Any] | None = None
    """(F, lhs, rhs) -> the same in other operators that broadcast; None for a primitive."""


def _mod(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Rest with the sign of the divisor, as Python's %; 0 where the divisor is 0 (floats too)."""
    return np.where(b == 0, np.zeros((), a.dtype), np.mod(a, b))


def _copysign(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a where the signs agree, else -a, as MXNet writes it: -0.0 counts as positive, NaN as neither."""
    return np.where(((a >= 0) & (b >= 0)) | ((a < 0) & (b < 0)), a, -a)


def _lcm(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The least common multiple, reckoned in int64 and wrapped round to the dtype."""
    return np.lcm(a.astype(np.int64), b.astype(np.int64)).astype(np.result_type(a, b))


def _ldexp(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a * 2**b, where b may have a fraction; what is infinite in between stays so."""
    return (widen(a) * np.exp2(widen(b))).astype(np.result_type(a, b), copy=False)


def _on_floats(function: Callable[..., np.ndarray]) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """The function as MXNet applies it to integers: to their float32, rounded to float32, and back by a C cast."""

    def apply(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        if a.dtype.kind not in "iub":
            return function(a, b)
        exact = function(a.astype(np.float32).astype(np.float64), b.astype(np.float32).astype(np.float64))
        return truncate(exact.astype(np.float32), np.result_type(a, b))

    return apply


def _truth(F: Any, x: Any) -> Any:
    """1 where x is other than 0, in its dtype."""
    return F.logical_not(F.logical_not(x))


def _composed_copysign(F: Any, lhs: Any, rhs: Any) -> Any:
    positive, negative = (
        [sign(x, scalar=0) for x in (lhs, rhs)] for sign in (F._greater_equal_scalar, F._lesser_scalar)
    )
    alike = F.broadcast_add(F.broadcast_mul(*positive), F.broadcast_mul(*negative))
    return F._npi_where(alike, lhs, F.negative(lhs))


# fmt: off
ARITHMETIC = {
    row.name: row
    for row in (
        Arithmetic("add", "lhs + rhs", np.add, lambda dy, a, b, y: dy, lambda dy, a, b, y: dy, supports_out=True),
        Arithmetic("subtract", "lhs - rhs", np.subtract, lambda dy, a, b, y: dy, lambda dy, a, b, y: -dy, supports_out=True,
                   bools=False),
        Arithmetic("multiply", "lhs * rhs", np.multiply, lambda dy, a, b, y: dy * b, lambda dy, a, b, y: dy * a, supports_out=True),
        Arithmetic("divide", "lhs / rhs; integers are divided towards zero", divide,
                   lambda dy, a, b, y: dy / b, lambda dy, a, b, y: -dy * (a / (b * b))),
        Arithmetic("quotient", "lhs / rhs; integers are divided as float32, then cut off", _on_floats(np.divide),
                   lambda dy, a, b, y: dy / b, lambda dy, a, b, y: -dy * (a / (b * b))),
        Arithmetic("mod", "the rest of lhs / rhs, with the sign of rhs; 0 where rhs is 0", _mod,
                   lambda dy, a, b, y: dy.of_floats(), lambda dy, a, b, y: (-dy * (a / b).floor()).of_floats(), bools=False),
        Arithmetic("power", "lhs to the power of rhs", _on_floats(np.power),
                   lambda dy, a, b, y: dy * (a ** (b - 1) * b), lambda dy, a, b, y: dy * (y.wide() * a.wide().log()).cut(b)),
        Arithmetic("hypot", "the hypotenuse sqrt(lhs**2 + rhs**2), without overflow in between", _on_floats(np.hypot),
                   lambda dy, a, b, y: dy * (a.wide() / a.wide().hypot(b.wide())).cut(a),
                   lambda dy, a, b, y: dy * (b.wide() / a.wide().hypot(b.wide())).cut(b), bools=False),
        Arithmetic("maximum", "the larger of lhs and rhs; NaN if either is", np.maximum,
                   lambda dy, a, b, y: dy * (a >= b), lambda dy, a, b, y: dy * (a < b), supports_out=True),
        Arithmetic("minimum", "the smaller of lhs and rhs; NaN if either is", np.minimum,
                   lambda dy, a, b, y: dy * (a <= b), lambda dy, a, b, y: dy * (a > b), supports_out=True),
        Arithmetic("equal", "lhs == rhs", np.equal, predicate=True),
        Arithmetic("not_equal", "lhs != rhs", np.not_equal, predicate=True,
                   composed=lambda F, a, b: F.logical_not(F.broadcast_equal(a, b))),
        Arithmetic("greater", "lhs > rhs", np.greater, predicate=True),
        Arithmetic("greater_equal", "lhs >= rhs", np.greater_equal, predicate=True,
                   composed=lambda F, a, b: F.broadcast_maximum(F.broadcast_greater(a, b), F.broadcast_equal(a, b))),
        Arithmetic("less", "lhs < rhs", np.less, predicate=True,
                   composed=lambda F, a, b: F.broadcast_greater(b, a)),
        Arithmetic("less_equal", "lhs <= rhs", np.less_equal, predicate=True,
                   composed=lambda F, a, b: F.broadcast_greater_equal(b, a)),
        Arithmetic("logical_and", "whether lhs and rhs are both other than 0", np.logical_and, predicate=True,
                   composed=lambda F, a, b: F.broadcast_mul(_truth(F, a), _truth(F, b))),
        Arithmetic("logical_or", "whether lhs or rhs is other than 0", np.logical_or, predicate=True,
                   composed=lambda F, a, b: F.broadcast_maximum(_truth(F, a), _truth(F, b))),
        Arithmetic("logical_xor", "whether exactly one of lhs and rhs is other than 0", np.logical_xor, predicate=True,
                   composed=lambda F, a, b: F.broadcast_not_equal(F.logical_not(a), F.logical_not(b))),
        Arithmetic("bitwise_and", "the bits set in both lhs and rhs", np.bitwise_and, supports_out=True, integers=True),
        Arithmetic("bitwise_or", "the bits set in lhs or rhs", np.bitwise_or, supports_out=True, integers=True),
        Arithmetic("bitwise_xor", "the bits set in one of lhs and rhs", np.bitwise_xor, supports_out=True, integers=True),
        Arithmetic("lcm", "the least common multiple of lhs and rhs, 0 where either is", _lcm, integers=True),
        Arithmetic("ldexp", "lhs * 2**rhs", _on_floats(_ldexp), lambda dy, a, b, y: dy * Term(dy.F, 2.0) ** b,
                   lambda dy, a, b, y: dy * (y.wide() * Term(dy.F, math.log(2))).cut(b), bools=False),
        Arithmetic("arctan2", "the angle of the point (rhs, lhs)", _on_floats(np.arctan2),
                   lambda dy, a, b, y: dy * (b / (a * a + b * b)), lambda dy, a, b, y: -dy * (a / (a * a + b * b)),
                   bools=False),
        Arithmetic("copysign", "lhs with the sign of rhs", _copysign,
                   lambda dy, a, b, y: dy * (((a >= 0) * (b >= 0) + (a < 0) * (b < 0)) * 2 - 1), bools=False,
                   composed=_composed_copysign),
    )
}
# fmt: on


# -- two arrays ---------------------------------------------------------------------------------------------------------


def want_fitting(op: Any, dtype: np.dtype) -> np.dtype:
    """The dtype; raises OpError where the arithmetic of op means nothing to it."""
    if op.arithmetic.integers and dtype.kind not in "iub":
        raise op.error(f"got {dtype}, wanted integers or bools")
    if not op.arithmetic.bools and dtype.kind == "b":
        raise op.error("got bools, wanted numbers; cast them")
    return dtype


def _of_sizes(arithmetic: "Arithmetic", lhs: Any, rhs: Any) -> np.ndarray | None:
    """The arithmetic of sizes that stand for others, in arrays of objects; None where that is not known to give whole numbers."""
    function = {"add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.floor_divide, "maximum": np.maximum,
                "minimum": np.minimum}.get(arithmetic.name)  # fmt: skip
    if function is None or lhs is None or rhs is None:
        return None
    if arithmetic.name == "divide" and (np.any(np.less(lhs, 0)) or np.any(np.less_equal(rhs, 0))):
        return None  # rounded towards 0
    return np.asarray(function(lhs, rhs), object)


class BinaryOp(Op):
    """Two arrays of one dtype."""

    left_open = ("fit_gradient",)

    arithmetic: ClassVar[Arithmetic]
    sparse: ClassVar[bool]
    """True where MXNet implements it for sparse arrays."""
    inputs = ("lhs", "rhs")

    def infer_type(self, *dtypes):
        return want_fitting(self, dtypes[0])

    def infer_value(self, values, shapes):
        return (
            _of_sizes(self.arithmetic, *values) if any(map(has_dims, values)) else super().infer_value(values, shapes)
        )

    def compute(self, lhs, rhs, out=None):
        if out is not None:
            return self.arithmetic.function(lhs, rhs, out=out)
        return self.arithmetic.function(lhs, rhs).astype(lhs.dtype, copy=False)

    def gradient(self, F, dy, lhs, rhs, y):
        rules, terms = (self.arithmetic.left, self.arithmetic.right), [Term(F, s) for s in (dy, lhs, rhs, y)]
        return tuple(rule and self.fit_gradient(F, rule(*terms).value, s) for rule, s in zip(rules, (lhs, rhs)))

    def fit_gradient(self, F, gradient, like):
        """A gradient in the form of an input."""
        return gradient

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 4, low=0.3, high=2), make.uniform(3, 4, low=0.3, high=2))


class ElementwiseBinaryOp(Elementwise, BinaryOp):
    """Shapes: both and the result are equal."""

    def composition(self, F, lhs, rhs):
        return broadcast_form(F, self.arithmetic, lhs, rhs)

    def infer_storage(self, stypes=(), shapes=(), result=()):
        sparse = [i for i, s in enumerate(stypes) if s != "default"]
        word = self.arithmetic.name
        if not self.sparse or not sparse:
            return DENSE
        if len(sparse) == 1:
            return Storage(stypes[sparse[0]], (sparse[0],)) if word == "multiply" else DENSE
        if stypes[0] != stypes[1] or word == "divide":
            return DENSE
        return Storage("csr") if stypes[0] == "csr" else Storage("row_sparse", (0, 1))

    def compute_stored(self, lhs, rhs):
        both = isinstance(lhs, CSR) and isinstance(rhs, CSR)
        return in_entries(self, lhs, rhs) if both and self.sparse and self.arithmetic.name != "divide" else None


class BroadcastBinaryOp(BinaryOp):
    """Shapes broadcast, aligned at the right."""

    def composition(self, F, lhs, rhs):
        own = BROADCAST[self.arithmetic.name] == self.name
        return self.arithmetic.composed(F, lhs, rhs) if own else broadcast_form(F, self.arithmetic, lhs, rhs)  # type: ignore[misc]

    def infer_storage(self, stypes=(), shapes=(), result=()):
        if not self.sparse or stypes != ("csr", "default") or result != shapes[0]:
            return DENSE
        alike = shapes[0] == shapes[1]
        kept = self.arithmetic.name == "multiply" or (self.arithmetic.name == "divide" and not alike)
        return Storage("csr", (0,)) if kept else DENSE

    def infer_shape(self, lhs, rhs):
        return broadcast(lhs, rhs)

    def fit_gradient(self, F, gradient, like):
        return F._backward_sum_like(gradient, like)

    @classmethod
    def examples(cls, make):
        if cls.arithmetic.integers:
            yield make(make.integers(3, 1, high=99, dtype=np.int32), make.integers(1, 4, high=99, dtype=np.int32))
        else:
            yield make(make.uniform(3, 1, low=0.3, high=2), make.uniform(1, 4, low=0.3, high=2))


class PromotingBinaryOp(BroadcastBinaryOp):
    """Shapes broadcast; dtypes may differ: a float wins over an integer, then the wider one."""

    keeps = True

    def composition(self, F, lhs, rhs):
        if lhs.dtype is None or rhs.dtype is None:
            return None
        dtype = common_dtype(lhs.dtype, rhs.dtype)
        y = broadcast_form(F, self.arithmetic, *(cast(F, x, x.dtype, dtype) for x in (lhs, rhs)))
        return cast(F, y, dtype, np.dtype(bool)) if self.arithmetic.predicate else y

    def gradient(self, F, dy, lhs, rhs, y):
        # derivatives are computed in the dtype of the result
        found = super().gradient(F, dy, F._backward_cast_like(lhs, y), F._backward_cast_like(rhs, y), y)
        return tuple(None if g is None else F._backward_cast_like(g, s) for g, s in zip(found, (lhs, rhs)))

    def infer_input_types(self, dtypes, outputs):
        known = next((d for d in dtypes if d is not None), None)
        if known is None and not self.arithmetic.predicate:
            known = outputs[0]
        return [known if d is None else d for d in dtypes]

    def infer_type(self, lhs, rhs):
        return np.dtype(bool) if self.arithmetic.predicate else want_fitting(self, common_dtype(lhs, rhs))

    def compute(self, lhs, rhs, out=None):
        if lhs.dtype != rhs.dtype:
            dtype = common_dtype(lhs.dtype, rhs.dtype)
            lhs, rhs = lhs.astype(dtype, copy=False), rhs.astype(dtype, copy=False)
        if out is not None:
            return self.arithmetic.function(lhs, rhs, out=out)
        return as_array(self.arithmetic.function(lhs, rhs))


class TrueDivide(PromotingBinaryOp):
    """Shapes broadcast; integers are divided as float32."""

    keeps = True

    def infer_input_types(self, dtypes, outputs):
        return dtypes

    def infer_type(self, lhs, rhs):
        return quotient_dtype(common_dtype(lhs, rhs))

    def composition(self, F, lhs, rhs):
        if lhs.dtype is None or rhs.dtype is None:
            return None
        dtype = self.infer_type(lhs.dtype, rhs.dtype)
        return F.broadcast_div(*(cast(F, x, x.dtype, dtype) for x in (lhs, rhs)))

    def compute(self, lhs, rhs):
        dtype = quotient_dtype(common_dtype(lhs.dtype, rhs.dtype))
        return as_array(np.divide(*(x if x.dtype == dtype else x.astype(dtype) for x in (lhs, rhs))))


def common_dtype(a: np.dtype, b: np.dtype) -> np.dtype:
    """The dtype in which MXNet's NumPy interface combines two: never a wider float than the widest given."""
    if a == b:
        return a
    floats = [d for d in (a, b) if d.kind not in "iub"]
    return max(floats, key=lambda d: d.itemsize) if floats else np.promote_types(a, b)


def quotient_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype of a true division of that dtype."""
    return np.dtype(np.float32) if dtype.kind in "iub" else dtype


# -- an array and a number ----------------------------------------------------------------------------------------------


class BinaryScalarOp(Elementwise):
    """The array is lhs, the number is rhs. Integers with a fractional number (is_int False) become float64."""

    scalar: float = 1.0
    is_int: bool = True

    left_open = ("common", "reflected")

    arithmetic: ClassVar[Arithmetic]
    reflected: ClassVar[bool] = False
    """The number is lhs, the array rhs."""
    sparse: ClassVar[bool]
    """True where MXNet stores results of sparse arrays as sparse when 0 stays 0."""

    def decides(self):
        return (self.is_int,)

    def infer_storage(self, stypes=(), shapes=(), result=()):
        if not self.sparse or not stypes:
            return DENSE
        kept = self.arithmetic.name in ("multiply", "divide") or not self.arithmetic.function(0.0, self.scalar)
        return Storage(stypes[0], (0,)) if kept else DENSE

    def infer_value(self, values, shapes):
        if not has_dims(values[0]) or self.scalar != int(self.scalar):
            return super().infer_value(values, shapes)
        operands = values[0], np.asarray(int(self.scalar), object)
        return _of_sizes(self.arithmetic, *(operands[::-1] if self.reflected else operands))

    def common(self, data: np.dtype) -> np.dtype:
        """The dtype in which data and the number are combined."""
        if data.kind not in "iub":
            return data
        if not self.is_int:
            return np.dtype(np.float64)
        return np.dtype(np.int64) if data.kind == "b" else data

    def number(self, dtype: np.dtype) -> np.ndarray:
        """The number in that dtype, fractions cut off for an integer one."""
        if dtype.kind == "b":
            return np.asarray(self.scalar != 0)
        return truncate(np.asarray(self.scalar), dtype) if dtype.kind in "iu" else np.asarray(self.scalar).astype(dtype)

    def infer_input_types(self, dtypes, outputs):
        return dtypes

    def infer_type(self, data):
        return want_fitting(self, self.common(data))

    def composition(self, F, data):
        if data.dtype is None or (self.arithmetic.name == "quotient" and data.dtype.kind in "iub"):
            return None
        dtype, result = self.common(data.dtype), self.infer_type(data.dtype)
        array = cast(F, data, data.dtype, dtype)
        pair = array, F._npi_full_like(array, fill_value=float(self.number(dtype)))
        return cast(F, broadcast_form(F, self.arithmetic, *(pair[::-1] if self.reflected else pair)), dtype, result)

    def compute(self, data, out=None):
        if data.dtype not in self.memo:
            dtype = self.common(data.dtype)
            self.memo[data.dtype] = dtype, self.number(dtype), self.infer_type(data.dtype)
        dtype, number, result = self.memo[data.dtype]
        array = data if data.dtype is dtype else data.astype(dtype, copy=False)
        function = self.arithmetic.function
        if out is not None:
            return function(number, array, out=out) if self.reflected else function(array, number, out=out)
        y = as_array(function(number, array) if self.reflected else function(array, number))
        return y if y.dtype is result else y.astype(result, copy=False)

    def gradient(self, F, dy, data, y):
        rule = self.arithmetic.right if self.reflected else self.arithmetic.left
        if rule is None:
            return None
        converts = not self.is_int or isinstance(self, TrueDivideScalarOp)
        array = Term(F, F._backward_cast_like(data, y) if converts else data)
        number = Term(F, self.scalar)
        with np.errstate(all="ignore"):
            found = rule(Term(F, dy), *((number, array) if self.reflected else (array, number)), Term(F, y)).value
        return F._backward_cast_like(found, data) if converts else found

    @classmethod
    def examples(cls, make):
        if not cls.arithmetic.integers:
            yield make(make.uniform(3, 4, low=0.3, high=2), scalar=1.3)
        yield make(make.integers(3, 4, low=1, high=9, dtype=np.int32), scalar=2)


class PredicateScalarOp(BinaryScalarOp):
    """The result is bool, and so is the number beside bool data."""

    def common(self, data):
        return data if data.kind == "b" else super().common(data)

    def infer_type(self, data):
        return np.dtype(bool)


class BitwiseScalarOp(BinaryScalarOp):
    """The result has the dtype of data; fractions of the number are cut off."""

    def common(self, data):
        return data


class TrueDivideScalarOp(BinaryScalarOp):
    """Integers are divided as float32."""

    def common(self, data):
        return quotient_dtype(data)


# -- the tables ---------------------------------------------------------------------------------------------------------

BROADCAST = {"quotient": "broadcast_div"}
"""The operators that broadcast, by their arithmetic. Of floats, quotients and divisions are one."""


def broadcast_form(F: Any, arithmetic: Arithmetic, lhs: Any, rhs: Any) -> Any:
    """The arithmetic of two symbols that broadcast."""
    return getattr(F, BROADCAST[arithmetic.name])(lhs, rhs)


def _register(base: type[Any], arithmetic: str, *names: str, reflected: bool = False, sparse: bool = False) -> type[Op]:
    """The operator names[0], also called names[1:], that applies the arithmetic in the form of base."""
    row = ARITHMETIC[arithmetic]
    text = row.text.replace("lhs", "scalar").replace("rhs", "data") if reflected else row.text
    if issubclass(base, BinaryScalarOp) and not reflected:
        text = text.replace("lhs", "data").replace("rhs", "scalar")
    members = {
        "__module__": __name__,
        "__doc__": f"{text[0].upper()}{text[1:]}.\n\n    {base.__doc__}",
        "arithmetic": row,
        "supports_out": row.supports_out and issubclass(base, BinaryOp | BinaryScalarOp),
        "sparse": sparse,
    }
    if reflected:
        members["reflected"] = True
    if base is BroadcastBinaryOp and arithmetic not in BROADCAST:
        BROADCAST[arithmetic] = names[0]
        members["primitive"] = row.composed is None
    return op(*names)(type(names[0].strip("_"), (base,), members))  # type: ignore[type-var]


ElemwiseAdd = _register(
    ElementwiseBinaryOp, "add", "elemwise_add", "_add", "_plus", "_Plus", "_sparse_elemwise_add", sparse=True
)
_register(
    ElementwiseBinaryOp, "subtract", "elemwise_sub", "_sub", "_minus", "_Minus", "_sparse_elemwise_sub", sparse=True
)
ElemwiseMul = _register(
    ElementwiseBinaryOp, "multiply", "elemwise_mul", "_mul", "_Mul", "_sparse_elemwise_mul", sparse=True
)
_register(ElementwiseBinaryOp, "divide", "elemwise_div", "_div", "_Div", "_sparse_elemwise_div", sparse=True)
_register(ElementwiseBinaryOp, "add", "_grad_add")
_register(ElementwiseBinaryOp, "divide", "_scatter_elemwise_div")
_register(ElementwiseBinaryOp, "mod", "_mod", "_Mod")
_register(ElementwiseBinaryOp, "power", "_power", "_Power")
_register(ElementwiseBinaryOp, "hypot", "_hypot", "_Hypot")
_register(ElementwiseBinaryOp, "maximum", "_maximum", "_Maximum")
_register(ElementwiseBinaryOp, "minimum", "_minimum", "_Minimum")
_register(ElementwiseBinaryOp, "equal", "_equal", "_Equal")
_register(ElementwiseBinaryOp, "not_equal", "_not_equal", "_Not_Equal")
_register(ElementwiseBinaryOp, "greater", "_greater", "_Greater")
_register(ElementwiseBinaryOp, "greater_equal", "_greater_equal", "_Greater_Equal")
_register(ElementwiseBinaryOp, "less", "_lesser", "_Lesser")
_register(ElementwiseBinaryOp, "less_equal", "_lesser_equal", "_Lesser_Equal")
_register(ElementwiseBinaryOp, "logical_and", "_logical_and", "_Logical_And")
_register(ElementwiseBinaryOp, "logical_or", "_logical_or", "_Logical_Or")
_register(ElementwiseBinaryOp, "logical_xor", "_logical_xor", "_Logical_Xor")

BroadcastAdd = _register(
    BroadcastBinaryOp, "add", "broadcast_add", "broadcast_plus", "_sparse_broadcast_add", "_sparse_broadcast_plus"
)
_register(
    BroadcastBinaryOp,
    "subtract",
    "broadcast_sub",
    "broadcast_minus",
    "_sparse_broadcast_sub",
    "_sparse_broadcast_minus",
)
BroadcastMul = _register(BroadcastBinaryOp, "multiply", "broadcast_mul", "_sparse_broadcast_mul", sparse=True)
_register(BroadcastBinaryOp, "divide", "broadcast_div", "_sparse_broadcast_div", sparse=True)
_register(BroadcastBinaryOp, "mod", "broadcast_mod")
_register(BroadcastBinaryOp, "power", "broadcast_power")
_register(BroadcastBinaryOp, "hypot", "broadcast_hypot")
_register(BroadcastBinaryOp, "maximum", "broadcast_maximum", "_npi_maximum")
_register(BroadcastBinaryOp, "minimum", "broadcast_minimum", "_npi_minimum")
_register(BroadcastBinaryOp, "equal", "broadcast_equal")
_register(BroadcastBinaryOp, "not_equal", "broadcast_not_equal")
_register(BroadcastBinaryOp, "greater", "broadcast_greater")
_register(BroadcastBinaryOp, "greater_equal", "broadcast_greater_equal")
_register(BroadcastBinaryOp, "less", "broadcast_lesser")
_register(BroadcastBinaryOp, "less_equal", "broadcast_lesser_equal")
_register(BroadcastBinaryOp, "logical_and", "broadcast_logical_and")
_register(BroadcastBinaryOp, "logical_or", "broadcast_logical_or")
_register(BroadcastBinaryOp, "logical_xor", "broadcast_logical_xor")
_register(BroadcastBinaryOp, "arctan2", "_npi_arctan2")
_register(BroadcastBinaryOp, "hypot", "_npi_hypot")
_register(BroadcastBinaryOp, "copysign", "_npi_copysign")
_register(BroadcastBinaryOp, "ldexp", "_npi_ldexp")

for _name in ("bitwise_and", "bitwise_or", "bitwise_xor", "lcm"):
    _register(BroadcastBinaryOp, _name, f"_npi_{_name}")
    _register(BitwiseScalarOp, _name, f"_npi_{_name}_scalar")

_register(PromotingBinaryOp, "add", "_npi_add")
_register(PromotingBinaryOp, "subtract", "_npi_subtract")
_register(PromotingBinaryOp, "multiply", "_npi_multiply")
_register(PromotingBinaryOp, "mod", "_npi_mod")
_register(PromotingBinaryOp, "power", "_npi_power")
_register(TrueDivide, "divide", "_npi_true_divide")
for _name in ("equal", "not_equal", "greater", "greater_equal", "less", "less_equal"):
    _register(PromotingBinaryOp, _name, f"_npi_{_name}")
    _register(PredicateScalarOp, _name, f"_npi_{_name}_scalar")

_register(BinaryScalarOp, "add", "_plus_scalar", "_PlusScalar", sparse=True)
_register(BinaryScalarOp, "add", "_scatter_plus_scalar")
_register(BinaryScalarOp, "add", "_npi_add_scalar")
_register(BinaryScalarOp, "subtract", "_minus_scalar", "_MinusScalar", sparse=True)
_register(BinaryScalarOp, "subtract", "_scatter_minus_scalar")
_register(BinaryScalarOp, "subtract", "_npi_subtract_scalar")
_register(BinaryScalarOp, "subtract", "_rminus_scalar", "_RMinusScalar", reflected=True)
_register(BinaryScalarOp, "subtract", "_npi_rsubtract_scalar", reflected=True)
_register(BinaryScalarOp, "multiply", "_mul_scalar", "_MulScalar", sparse=True)
_register(BinaryScalarOp, "multiply", "_npi_multiply_scalar")
DivScalar = _register(BinaryScalarOp, "divide", "_div_scalar", "_DivScalar", sparse=True)
_register(TrueDivideScalarOp, "divide", "_npi_true_divide_scalar")
_register(BinaryScalarOp, "quotient", "_rdiv_scalar", "_RDivScalar", reflected=True)
_register(TrueDivideScalarOp, "divide", "_npi_rtrue_divide_scalar", reflected=True)
_register(BinaryScalarOp, "mod", "_mod_scalar", "_ModScalar")
_register(BinaryScalarOp, "mod", "_npi_mod_scalar")
_register(BinaryScalarOp, "mod", "_rmod_scalar", "_RModScalar", reflected=True)
_register(BinaryScalarOp, "mod", "_npi_rmod_scalar", reflected=True)
_register(BinaryScalarOp, "power", "_power_scalar", "_PowerScalar")
_register(BinaryScalarOp, "power", "_npi_power_scalar")
_register(BinaryScalarOp, "power", "_rpower_scalar", "_RPowerScalar", reflected=True)
_register(BinaryScalarOp, "power", "_npi_rpower_scalar", reflected=True)
_register(BinaryScalarOp, "hypot", "_hypot_scalar", "_HypotScalar", "_npi_hypot_scalar")
MaximumScalar = _register(BinaryScalarOp, "maximum", "_maximum_scalar", "_MaximumScalar", "_npi_maximum_scalar")
_register(BinaryScalarOp, "minimum", "_minimum_scalar", "_MinimumScalar", "_npi_minimum_scalar")
_register(BinaryScalarOp, "equal", "_equal_scalar", "_EqualScalar", sparse=True)
_register(BinaryScalarOp, "not_equal", "_not_equal_scalar", "_NotEqualScalar", sparse=True)
_register(BinaryScalarOp, "greater", "_greater_scalar", "_GreaterScalar", sparse=True)
_register(BinaryScalarOp, "greater_equal", "_greater_equal_scalar", "_GreaterEqualScalar", sparse=True)
_register(BinaryScalarOp, "less", "_lesser_scalar", "_LesserScalar", sparse=True)
_register(BinaryScalarOp, "less_equal", "_lesser_equal_scalar", "_LesserEqualScalar", sparse=True)
_register(BinaryScalarOp, "logical_and", "_logical_and_scalar", "_LogicalAndScalar")
_register(BinaryScalarOp, "logical_or", "_logical_or_scalar", "_LogicalOrScalar")
_register(BinaryScalarOp, "logical_xor", "_logical_xor_scalar", "_LogicalXorScalar")
_register(BinaryScalarOp, "arctan2", "_npi_arctan2_scalar")
_register(BinaryScalarOp, "arctan2", "_npi_rarctan2_scalar", reflected=True)
_register(BinaryScalarOp, "copysign", "_npi_copysign_scalar")
_register(BinaryScalarOp, "copysign", "_npi_rcopysign_scalar", reflected=True)
_register(BinaryScalarOp, "ldexp", "_npi_ldexp_scalar")
_register(BinaryScalarOp, "ldexp", "_npi_rldexp_scalar", reflected=True)
