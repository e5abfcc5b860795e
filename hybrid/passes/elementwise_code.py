"""Element-wise operators as opcodes of a chain (ops/fused.py): the one table, a line or two for each kind of operator.

The opcodes are in postfix order; ``$0`` is the first input. Rules are given the dtypes of the inputs."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.op import Op
from ..ops.activation import (
    SELU_ALPHA,
    SELU_SCALE,
    Activation,
    LeakyBackward,
    LeakyReLU,
    ReluBackward,
    SigmoidBackward,
    TanhBackward,
)
from ..ops.binary import BinaryOp, BinaryScalarOp, PromotingBinaryOp, TrueDivide, common_dtype
from ..ops.casting import Cast, convert
from ..ops.composing import is_half
from ..ops.elementwise import AddN, Around, Clip, DivSqrtDim, HardSigmoid, Quadratic, Unary, UnaryPredicate
from ..ops.fused import BFLOAT16, CASTS, EXACT, OPCODES, FusedElementwise
from ..ops.unary_functions import DEGREES, RADIANS
from ..ops.where import NpWhere, Where, WhereNumberFirst, WhereNumberSecond, WhereTwoNumbers

UNARY = {
    "logical_not": "$0 not",
    "bitwise_not": "$0 invert",
    "softsign": "$0 $0 abs 1 add div",
    "log_sigmoid": "$0 negative softplus negative",
    "mish": "$0 $0 softplus tanh mul",
    "rcbrt": "$0 cbrt reciprocal",
    "degrees": f"$0 {float(DEGREES)!r} mul",
    "radians": f"$0 {float(RADIANS)!r} mul",
    "softrelu": "$0 softplus",
    "isnan": "$0 $0 ne",
    "isinf": "$0 abs inf eq",
    "isposinf": "$0 inf eq",
    "isneginf": "$0 -inf eq",
    "isfinite": "$0 abs inf lt",
}
"""Functions of one element, by the names of ops/unary_functions.py and Activation, where the opcode is not the name."""

BINARY = {
    "add": "add",
    "subtract": "sub",
    "multiply": "mul",
    "divide": "div",
    "quotient": "div",
    "mod": "mod",
    "power": "pow",
    "hypot": "hypot",
    "maximum": "max",
    "minimum": "min",
    "equal": "eq",
    "not_equal": "ne",
    "greater": "gt",
    "greater_equal": "ge",
    "less": "lt",
    "less_equal": "le",
    "logical_and": "and",
    "logical_or": "or",
    "logical_xor": "xor",
    "bitwise_and": "bitand",
    "bitwise_or": "bitor",
    "bitwise_xor": "bitxor",
    "ldexp": "ldexp",
    "arctan2": "arctan2",
    "copysign": "copysign",
}
"""Functions of two, by the names of ops/binary.py."""
_OF_TRUTH = {"add": "or", "mul": "and", "bitand": "and", "bitor": "or", "bitxor": "xor", "invert": "not"}
"""Opcodes of bools in the place of those of numbers."""

FAMILY = {
    "_onnx_HardSwish": lambda op, dtypes: _widely("$0 $0 0.16666666666666666 mul 0.5 add 0 max 1 min mul", dtypes[0]),
    "_onnx_Swish": lambda op, dtypes: _widely(f"$0 $0 {number(op.alpha, _wide(dtypes[0]))} mul sigmoid mul", dtypes[0]),
    "_onnx_Gelu": lambda op, dtypes: "$0 gelu" if op.approximate == "none" else None,
    "_onnx_Pow": lambda op, dtypes: "$0 $1 pow" if dtypes[0] == dtypes[1] and dtypes[0].kind not in "iu" else None,
    "_onnx_Sum": lambda op, dtypes: _widely(_sum(op.num_args), dtypes[0]),
    "_onnx_BitShift": lambda op, dtypes: f"$0 $1 {'shl' if op.direction == 'LEFT' else 'shr'}",
    "_onnx_Mod": lambda op, dtypes: _rest(op.fmod, dtypes[0]),
    "_onnx_Sign": lambda op, dtypes: f"$0 {'sign' if dtypes[0].kind in 'iu' else 'signum'}",
}
"""Operators that are loaded when a graph has one, by name."""

_FLOAT32, _FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)


def opcodes_of(op: Any, shape: tuple[int, ...], dtypes: Sequence[np.dtype]) -> list[str] | None:
    """The operator's opcodes on arrays of these dtypes, to give one of that shape; None when no chain can do that."""
    if not all(map(_is_computed, dtypes)) or not dtypes:
        return None
    try:
        text = _root_of_size(op, shape, dtypes) if op.means(DivSqrtDim) else _opcodes(op, dtypes)
        if text is None:
            return None
        chain = FusedElementwise.bind(num_args=len(dtypes), code=text)
        return text.split() if chain.infer_type(*dtypes) == op.infer_type(*dtypes) else None
    except ValueError:  # for these dtypes there is none
        return None


def has_opcodes(cls: Any) -> bool:
    """True where a chain can do what the operators of a class do, at least with some attributes."""
    if cls.means(BinaryOp, BinaryScalarOp):
        return cls.arithmetic.name in BINARY
    if cls.means(Unary, UnaryPredicate):
        return cls.unary_function.name in UNARY or cls.unary_function.name in OPCODES
    return cls.name in FAMILY or cls.means(DivSqrtDim) or _rule_of(cls) is not None


def is_cast(opcodes: Sequence[str]) -> bool:
    """True for opcodes that cast an input and do nothing else."""
    return len(opcodes) <= 2 and all(w in CASTS or w in ("$0", BFLOAT16) for w in opcodes)


def number(value: Any, dtype: np.dtype) -> str:
    """A number as it is in the dtype."""
    if dtype.kind in "iu":
        return str(int(value))
    with np.errstate(over="ignore"):
        return repr(float(np.asarray(value).astype(dtype)))


def _is_computed(dtype: np.dtype) -> bool:
    """True for the dtypes of chains."""
    return dtype in _DTYPES or dtype.name == BFLOAT16


_DTYPES = frozenset(CASTS.values())


def _wide(dtype: np.dtype) -> np.dtype:
    """The dtype in which rules compute what is not rounded in between."""
    return _FLOAT32 if is_half(dtype) else dtype


def _widely(code: str, dtype: np.dtype) -> str:
    """The code, of floats of two bytes in float32 and rounded once."""
    return _by_way_of(_FLOAT32, code, dtype) if is_half(dtype) else code


def _by_way_of(wide: np.dtype, code: str, dtype: np.dtype) -> str:
    """The code of inputs in a wider dtype, and its result back in that of the inputs."""
    return " ".join([*(f"{w} {wide}" if w[0] == "$" else w for w in code.split()), str(dtype)])


def _cast(value: str, have: np.dtype, wanted: np.dtype) -> str:
    """A value of one dtype in another."""
    return value if have == wanted else f"{value} {wanted}"


def _sum(count: int) -> str:
    return " ".join(["$0", *(f"${i} add" for i in range(1, count))])


def _rest(fmod: bool, dtype: np.dtype) -> str:
    """Of floats by 0 it is NaN."""
    if fmod or dtype.kind in "iu":
        return f"$0 $1 {'fmod' if fmod else 'mod'}"
    return _widely("$1 0 eq nan $0 $1 mod where", dtype)


_Rule = Callable[[Any, Sequence[np.dtype]], "str | None"]
"""The opcodes of an operator on inputs of these dtypes, separated by spaces; None where it has none."""
_RULES: dict[type[Op], _Rule] = {}


def _opcodes_rule(*classes: type[Op]) -> Callable[[_Rule], _Rule]:
    """Register the rule of operators that mean what one of the classes means."""

    def register(rule: _Rule) -> _Rule:
        _RULES.update(dict.fromkeys(classes, rule))
        return rule

    return register


def _of_floats(rule: _Rule) -> _Rule:
    """The rule, for operators that compute floats of two bytes in float32; whole numbers have none."""

    def wide(op: Any, dtypes: Sequence[np.dtype]) -> str | None:
        if any(d != dtypes[0] for d in dtypes) or dtypes[0].kind in "iub":
            return None
        text = rule(op, [_wide(d) for d in dtypes])
        return None if text is None else _widely(text, dtypes[0])

    return wide


@functools.cache
def _rule_of(cls: type[Op]) -> _Rule | None:
    return FAMILY.get(cls.name) or next((rule for known, rule in _RULES.items() if cls.means(known)), None)


def _opcodes(op: Op, dtypes: Sequence[np.dtype]) -> str | None:
    rule = _rule_of(type(op))
    return None if rule is None else rule(op, dtypes)


@_opcodes_rule(FusedElementwise)
def _fused_opcodes(op: FusedElementwise, dtypes: Sequence[np.dtype]) -> str | None:
    return op.code


@_opcodes_rule(Cast)
def _cast_opcodes(op: Cast, dtypes: Sequence[np.dtype]) -> str | None:
    return _cast("$0", dtypes[0], op.infer_type(dtypes[0]))


_NOT_AS_EXACT = {"i": ("cbrt",), "u": ("cbrt",), "f8": ("gamma",)}
"""Functions that NumPy computes more exactly: a root that is less than a whole number by a rounding would
be cut off to the next."""


@_opcodes_rule(Unary)
def _unary_opcodes(op: Unary, dtypes: Sequence[np.dtype]) -> str | None:
    function, dtype = op.unary_function, dtypes[0]
    if function.name in _NOT_AS_EXACT.get(dtype.str[1:], _NOT_AS_EXACT.get(dtype.kind, ())):
        return None
    code = UNARY.get(function.name, f"$0 {function.name}")
    if dtype.kind not in "iub":
        return _widely(code, dtype) if sum(w in OPCODES for w in code.split()) > 1 else code
    if dtype.kind == "b":
        return " ".join(_OF_TRUTH.get(w, w) for w in code.split())
    if function.predicate or EXACT.issuperset(code.split()[1:]):
        return code
    # as they are computed, and cut off; the inverse error function makes other numbers of what is none
    return None if function.ints == "direct" else _by_way_of(np.dtype(function.ints), code, dtype)


@_opcodes_rule(UnaryPredicate)
def _predicate_opcodes(op: UnaryPredicate, dtypes: Sequence[np.dtype]) -> str | None:
    code = UNARY[op.unary_function.name]
    if dtypes[0].kind in "iub" and op.unary_function.name != "logical_not":  # all are finite
        code = f"$0 $0 {'eq' if op.unary_function.name == 'isfinite' else 'ne'}"
    return _cast(code, dtypes[0], np.dtype(bool))


@_opcodes_rule(Activation)
def _activation_opcodes(op: Activation, dtypes: Sequence[np.dtype]) -> str | None:
    return _widely(UNARY.get(op.act_type, f"$0 {op.act_type}"), dtypes[0])


@_opcodes_rule(LeakyReLU)
@_of_floats
def _leaky_relu_opcodes(op: LeakyReLU, dtypes: Sequence[np.dtype]) -> str | None:
    of = functools.partial(number, dtype=dtypes[0])
    if op.act_type == "leaky":
        return f"$0 {of(op.slope)} leaky"
    if op.act_type == "prelu":
        return "$0 $1 leaky"
    if op.act_type == "gelu":
        return "$0 gelu"
    if op.act_type == "elu":
        return f"$0 0 gt $0 $0 0 min expm1 {of(op.slope)} mul where"
    if op.act_type == "selu":
        scale, both = of(SELU_SCALE), of(SELU_SCALE * SELU_ALPHA)
        return f"$0 0 gt $0 {scale} mul $0 0 min expm1 {both} mul where"
    return None


@_opcodes_rule(Clip)
def _clip_opcodes(op: Clip, dtypes: Sequence[np.dtype]) -> str | None:
    dtype = dtypes[0]
    if dtype.kind == "b":
        return None
    low, high = (number(v, dtype) for v in op.bounds(dtype))
    if dtype.kind in "iu":  # compared as floats
        below, above = number(op.a_min, _FLOAT32), number(op.a_max, _FLOAT32)
        return f"$0 float32 {above} gt {dtype} {high} $0 float32 {below} lt {dtype} {low} $0 where where"
    return f"$0 {low} max {high} min" if float(low) <= float(high) else None


@_opcodes_rule(HardSigmoid)
@_of_floats
def _hard_sigmoid_opcodes(op: HardSigmoid, dtypes: Sequence[np.dtype]) -> str | None:
    return f"$0 {number(op.alpha, _FLOAT32)} mul {number(op.beta, _FLOAT32)} add 0 max 1 min"


@_opcodes_rule(Quadratic)
def _quadratic_opcodes(op: Quadratic, dtypes: Sequence[np.dtype]) -> str | None:
    a, b, c = (number(v, _FLOAT32) for v in (op.a, op.b, op.c))
    code = f"$0 {a} mul {b} add $0 mul {c} add"
    return code if dtypes[0] == _FLOAT64 else _by_way_of(_FLOAT32, code, dtypes[0])


@_opcodes_rule(Around)
def _around_opcodes(op: Around, dtypes: Sequence[np.dtype]) -> str | None:
    (dtype,), decimals = dtypes, op.decimals
    if dtype.kind in "iu":
        step = 10 ** max(-decimals, 0)
        return f"$0 $0 {step} fmod sub" if step <= np.iinfo(dtype).max else "$0 $0 sub"
    if dtype.kind == "b" or decimals == 0:
        return None if dtype.kind == "b" else "$0 around"
    power = number(power_of_ten(abs(decimals)), dtype)
    return f"$0 {power} {'mul' if decimals > 0 else 'div'} around {power} {'div' if decimals > 0 else 'mul'}"


def power_of_ten(count: int) -> float:
    """10.0**count with the roundings of numpy.around, which multiplies one ten after the other."""
    return math.prod([10.0] * count, start=1.0)


def _root_of_size(op: DivSqrtDim, shape: tuple[int, ...], dtypes: Sequence[np.dtype]) -> str | None:
    dtype = dtypes[0]
    if dtype.kind in "iub":
        return None
    root = np.sqrt(_wide(dtype).type(shape[-1]))
    return _widely(f"$0 {number(root, _wide(dtype))} div", dtype)


def _combined(name: str, lhs: str, rhs: str, dtype: np.dtype) -> str | None:
    """The arithmetic of that name on two values of one dtype, in that dtype."""
    opcode = BINARY.get(name)
    if opcode is None:
        return None
    if dtype.kind == "b":
        return f"{lhs} {rhs} {_OF_TRUTH.get(opcode, opcode)}"
    if dtype.kind not in "iu" or (opcode in EXACT and name != "quotient"):
        return f"{lhs} {rhs} {opcode}"
    lhs, rhs = f"{lhs} float32", f"{rhs} float32"  # as binary.py applies functions of floats to integers
    if opcode == "div":
        return f"{lhs} {rhs} {opcode} {dtype}"
    return f"{lhs} float64 {rhs} float64 {opcode} float32 {dtype}"


@_opcodes_rule(BinaryOp)
def _binary_opcodes(op: BinaryOp, dtypes: Sequence[np.dtype]) -> str | None:
    lhs, rhs = dtypes
    dtype = common_dtype(lhs, rhs) if op.means(PromotingBinaryOp) else lhs
    if op.means(TrueDivide):
        dtype = op.infer_type(lhs, rhs)
    values = (_cast(f"${i}", d, dtype) for i, d in enumerate(dtypes))
    code = _combined(op.arithmetic.name, next(values), next(values), dtype)
    return None if code is None else _cast(code, dtype, op.infer_type(lhs, rhs))


@_opcodes_rule(BinaryScalarOp)
def _binary_scalar_opcodes(op: BinaryScalarOp, dtypes: Sequence[np.dtype]) -> str | None:
    dtype = op.common(dtypes[0])
    array, scalar = _cast("$0", dtypes[0], dtype), number(op.number(dtype)[()], dtype)
    pair = (scalar, array) if op.reflected else (array, scalar)
    code = _combined(op.arithmetic.name, *pair, dtype)
    return None if code is None else _cast(code, dtype, op.infer_type(dtypes[0]))


@_opcodes_rule(AddN)
def _add_n_opcodes(op: AddN, dtypes: Sequence[np.dtype]) -> str | None:
    code = _sum(op.num_args)
    return code.replace("add", "or") if dtypes[0].kind == "b" else code


def _chosen(condition: np.dtype, x: str, y: str, dtype: np.dtype) -> str:
    """x where the first input is other than 0, else y."""
    which = "$0" if condition == dtype else f"{_cast('$0', condition, np.dtype(bool))} {dtype}"
    return f"{which} {x} {y} where"


@_opcodes_rule(Where, NpWhere)
def _where_opcodes(op: Where, dtypes: Sequence[np.dtype]) -> str | None:
    condition, x, y = dtypes
    return _chosen(condition, "$1", "$2", x) if x == y else None


@_opcodes_rule(WhereNumberFirst)
def _where_number_first_opcodes(op: WhereNumberFirst, dtypes: Sequence[np.dtype]) -> str | None:
    condition, x = dtypes
    return _chosen(condition, number(_converted(op.scalar, x), x), "$1", x)


@_opcodes_rule(WhereNumberSecond)
def _where_number_second_opcodes(op: WhereNumberSecond, dtypes: Sequence[np.dtype]) -> str | None:
    condition, y = dtypes
    return _chosen(condition, "$1", number(_converted(op.scalar, y), y), y)


@_opcodes_rule(WhereTwoNumbers)
def _where_two_numbers_opcodes(op: WhereTwoNumbers, dtypes: Sequence[np.dtype]) -> str | None:
    return _chosen(dtypes[0], number(op.x, _FLOAT32), number(op.y, _FLOAT32), _FLOAT32)


def _converted(value: float, dtype: np.dtype) -> Any:
    with np.errstate(all="ignore"):
        return convert(np.asarray(value), dtype)[()]


@_opcodes_rule(ReluBackward)
def _relu_backward_opcodes(op: ReluBackward, dtypes: Sequence[np.dtype]) -> str | None:
    return f"$1 {'sign' if dtypes[0].kind in 'iu' else 'signum'} $0 mul"


@_opcodes_rule(LeakyBackward)
def _leaky_backward_opcodes(op: LeakyBackward, dtypes: Sequence[np.dtype]) -> str | None:
    return f"$1 0 le $0 {number(op.slope, dtypes[0])} mul $0 where" if dtypes[0].kind not in "iub" else None


@_opcodes_rule(SigmoidBackward)
def _sigmoid_backward_opcodes(op: SigmoidBackward, dtypes: Sequence[np.dtype]) -> str | None:
    return "1 $1 sub $1 mul $0 mul"


@_opcodes_rule(TanhBackward)
def _tanh_backward_opcodes(op: TanhBackward, dtypes: Sequence[np.dtype]) -> str | None:
    return "1 $1 $1 mul sub $0 mul"
