"""Element-wise operators as words of a chain (ops/fused.py): the one table, a line or two for each kind of operator.

A meaning is words in postfix order; ``$0`` is the first input. Only for float32: integers have rules of their own."""

from __future__ import annotations

import functools
from collections.abc import Callable
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
from ..ops.binary import Pair, Scalar
from ..ops.elementwise import AddN, Clip, DivSqrtDim, HardSigmoid, Quadratic, Unary
from ..ops.fused import CODE, Chain
from ..ops.unary_functions import DEGREES, RADIANS
from ..ops.where import NpWhere, Where

CURVES = {
    "logical_not": "$0 not",
    "softsign": "$0 $0 abs 1 add div",
    "log_sigmoid": "$0 negative softplus negative",
    "mish": "$0 $0 softplus tanh mul",
    "degrees": f"$0 {DEGREES!s} mul",
    "radians": f"$0 {RADIANS!s} mul",
    "softrelu": "$0 softplus",
}
"""Functions of one element, by the names of ops/unary_functions.py and Activation, where the word is not the name."""

ARITHMETIC = {
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
    "arctan2": "arctan2",
    "copysign": "copysign",
}
"""Functions of two, by the names of ops/binary.py."""

FAMILY = {
    "_onnx_HardSwish": lambda op: "$0 $0 0.16666666666666666 mul 0.5 add 0 max 1 min mul",
    "_onnx_Swish": lambda op: f"$0 $0 {number(op.alpha)} mul sigmoid mul",
    "_onnx_Gelu": lambda op: "$0 gelu" if op.approximate == "none" else None,
    "_onnx_Pow": lambda op: "$0 $1 pow",
    "_onnx_Sum": lambda op: _sum(op.num_args),
}
"""Operators that are loaded when a graph has one, by name."""


def meaning(op: Any, shape: tuple[int, ...]) -> list[str] | None:
    """The program of the operator on each element of float32 arrays, to give one of that shape; None when no chain can do that."""
    text = f"$0 {number(shape[-1] ** 0.5)} div" if op.means(DivSqrtDim) else _words(op)
    if text is None:
        return None
    words = text.split()
    return words if all(w in CODE or w[0] in "$-.0123456789" or w in ("inf", "nan") for w in words) else None


def possible(cls: Any) -> bool:
    """True where a chain can do what the operators of a class do, at least with some attributes."""
    known = CURVES.keys() | CODE.keys()
    if cls.means(Pair, Scalar):
        return cls.arithmetic.name in ARITHMETIC
    if cls.means(Unary):
        return cls.curve.name in known
    return cls.name in FAMILY or cls.means(DivSqrtDim) or _rule_of(cls) is not None


def number(value: float) -> str:
    """A number as it is in float32."""
    return repr(float(np.float32(value)))


def _sum(count: int) -> str:
    return " ".join(["$0", *(f"${i} add" for i in range(1, count))])


_RULES: dict[type[Op], Callable[[Any], str | None]] = {}


def _of(*classes: type[Op]) -> Callable[[Callable[[Any], str | None]], Any]:
    """Note what operators do to each element that mean what one of the classes means."""

    def note(words: Callable[[Any], str | None]) -> None:
        _RULES.update(dict.fromkeys(classes, words))

    return note


@functools.cache
def _rule_of(cls: type[Op]) -> Callable[[Any], str | None] | None:
    return FAMILY.get(cls.name) or next((words for known, words in _RULES.items() if cls.means(known)), None)


def _words(op: Op) -> str | None:
    words = _rule_of(type(op))
    return None if words is None else words(op)


@_of(Chain)
def _(op: Chain) -> str | None:
    return op.code


@_of(Unary)
def _(op: Unary) -> str | None:
    return CURVES.get(op.curve.name, f"$0 {op.curve.name}")


@_of(Activation)
def _(op: Activation) -> str | None:
    return CURVES.get(op.act_type, f"$0 {op.act_type}")


@_of(LeakyReLU)
def _(op: LeakyReLU) -> str | None:
    if op.act_type == "leaky":
        return f"$0 {number(op.slope)} leaky"
    if op.act_type == "prelu":
        return "$0 $1 leaky"
    if op.act_type == "gelu":
        return "$0 gelu"
    if op.act_type == "elu":
        return f"$0 0 gt $0 $0 0 min expm1 {number(op.slope)} mul where"
    if op.act_type == "selu":
        scale, both = number(SELU_SCALE), number(SELU_SCALE * SELU_ALPHA)
        return f"$0 0 gt $0 {scale} mul $0 0 min expm1 {both} mul where"
    return None


@_of(Clip)
def _(op: Clip) -> str | None:
    low, high = map(float, op.bounds(np.dtype(np.float32)))
    return f"$0 {number(low)} max {number(high)} min" if low <= high else None


@_of(HardSigmoid)
def _(op: HardSigmoid) -> str | None:
    return f"$0 {number(op.alpha)} mul {number(op.beta)} add 0 max 1 min"


@_of(Quadratic)
def _(op: Quadratic) -> str | None:
    a, b, c = map(number, (op.a, op.b, op.c))
    return f"$0 {a} mul {b} add $0 mul {c} add"


@_of(Pair)
def _(op: Pair) -> str | None:
    return f"$0 $1 {ARITHMETIC[op.arithmetic.name]}" if op.arithmetic.name in ARITHMETIC else None


@_of(Scalar)
def _(op: Scalar) -> str | None:
    if op.arithmetic.name not in ARITHMETIC:
        return None
    pair = f"{number(op.scalar)} $0" if op.reflected else f"$0 {number(op.scalar)}"
    return f"{pair} {ARITHMETIC[op.arithmetic.name]}"


@_of(AddN)
def _(op: AddN) -> str | None:
    return _sum(op.num_args)


@_of(Where, NpWhere)
def _(op: Where) -> str | None:
    return "$0 $1 $2 where"


@_of(ReluBackward)
def _(op: ReluBackward) -> str | None:
    return "$1 signum $0 mul"


@_of(LeakyBackward)
def _(op: LeakyBackward) -> str | None:
    return f"$1 0 le $0 {number(op.slope)} mul $0 where"


@_of(SigmoidBackward)
def _(op: SigmoidBackward) -> str | None:
    return "1 $1 sub $1 mul $0 mul"


@_of(TanhBackward)
def _(op: TanhBackward) -> str | None:
    return "1 $1 $1 mul sub $0 mul"
