"""Element-wise operators as opcodes of a chain (ops/fused.py): the one table, a line or two for each kind of operator.

The opcodes are in postfix order; ``$0`` is the first input. Only for float32: integers have rules of their own."""

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
from ..ops.binary import BinaryOp, BinaryScalarOp
from ..ops.elementwise import AddN, Clip, DivSqrtDim, HardSigmoid, Quadratic, Unary
from ..ops.fused import OPCODES, FusedElementwise
from ..ops.unary_functions import DEGREES, RADIANS
from ..ops.where import NpWhere, Where

UNARY = {
    "logical_not": "$0 not",
    "softsign": "$0 $0 abs 1 add div",
    "log_sigmoid": "$0 negative softplus negative",
    "mish": "$0 $0 softplus tanh mul",
    "degrees": f"$0 {DEGREES!s} mul",
    "radians": f"$0 {RADIANS!s} mul",
    "softrelu": "$0 softplus",
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


def opcodes_of(op: Any, shape: tuple[int, ...]) -> list[str] | None:
    """The operator's opcodes on float32 arrays, to give one of that shape; None when no chain can do that."""
    text = f"$0 {number(shape[-1] ** 0.5)} div" if op.means(DivSqrtDim) else _opcodes(op)
    if text is None:
        return None
    opcodes = text.split()
    return opcodes if all(w in OPCODES or w[0] in "$-.0123456789" or w in ("inf", "nan") for w in opcodes) else None


def has_opcodes(cls: Any) -> bool:
    """True where a chain can do what the operators of a class do, at least with some attributes."""
    known = UNARY.keys() | OPCODES.keys()
    if cls.means(BinaryOp, BinaryScalarOp):
        return cls.arithmetic.name in BINARY
    if cls.means(Unary):
        return cls.unary_function.name in known
    return cls.name in FAMILY or cls.means(DivSqrtDim) or _rule_of(cls) is not None


def number(value: float) -> str:
    """A number as it is in float32."""
    return repr(float(np.float32(value)))


def _sum(count: int) -> str:
    return " ".join(["$0", *(f"${i} add" for i in range(1, count))])


_Rule = Callable[[Any], str | None]
"""The opcodes of an operator, separated by spaces; None where it has none."""
_RULES: dict[type[Op], _Rule] = {}


def _opcodes_rule(*classes: type[Op]) -> Callable[[_Rule], _Rule]:
    """Register the rule of operators that mean what one of the classes means."""

    def register(rule: _Rule) -> _Rule:
        _RULES.update(dict.fromkeys(classes, rule))
        return rule

    return register


@functools.cache
def _rule_of(cls: type[Op]) -> _Rule | None:
    return FAMILY.get(cls.name) or next((rule for known, rule in _RULES.items() if cls.means(known)), None)


def _opcodes(op: Op) -> str | None:
    rule = _rule_of(type(op))
    return None if rule is None else rule(op)


@_opcodes_rule(FusedElementwise)
def _fused_opcodes(op: FusedElementwise) -> str | None:
    return op.code


@_opcodes_rule(Unary)
def _unary_opcodes(op: Unary) -> str | None:
    return UNARY.get(op.unary_function.name, f"$0 {op.unary_function.name}")


@_opcodes_rule(Activation)
def _activation_opcodes(op: Activation) -> str | None:
    return UNARY.get(op.act_type, f"$0 {op.act_type}")


@_opcodes_rule(LeakyReLU)
def _leaky_relu_opcodes(op: LeakyReLU) -> str | None:
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


@_opcodes_rule(Clip)
def _clip_opcodes(op: Clip) -> str | None:
    low, high = map(float, op.bounds(np.dtype(np.float32)))
    return f"$0 {number(low)} max {number(high)} min" if low <= high else None


@_opcodes_rule(HardSigmoid)
def _hard_sigmoid_opcodes(op: HardSigmoid) -> str | None:
    return f"$0 {number(op.alpha)} mul {number(op.beta)} add 0 max 1 min"


@_opcodes_rule(Quadratic)
def _quadratic_opcodes(op: Quadratic) -> str | None:
    a, b, c = map(number, (op.a, op.b, op.c))
    return f"$0 {a} mul {b} add $0 mul {c} add"


@_opcodes_rule(BinaryOp)
def _binary_opcodes(op: BinaryOp) -> str | None:
    return f"$0 $1 {BINARY[op.arithmetic.name]}" if op.arithmetic.name in BINARY else None


@_opcodes_rule(BinaryScalarOp)
def _binary_scalar_opcodes(op: BinaryScalarOp) -> str | None:
    if op.arithmetic.name not in BINARY:
        return None
    pair = f"{number(op.scalar)} $0" if op.reflected else f"$0 {number(op.scalar)}"
    return f"{pair} {BINARY[op.arithmetic.name]}"


@_opcodes_rule(AddN)
def _add_n_opcodes(op: AddN) -> str | None:
    return _sum(op.num_args)


@_opcodes_rule(Where, NpWhere)
def _where_opcodes(op: Where) -> str | None:
    return "$0 $1 $2 where"


@_opcodes_rule(ReluBackward)
def _relu_backward_opcodes(op: ReluBackward) -> str | None:
    return "$1 signum $0 mul"


@_opcodes_rule(LeakyBackward)
def _leaky_backward_opcodes(op: LeakyBackward) -> str | None:
    return f"$1 0 le $0 {number(op.slope)} mul $0 where"


@_opcodes_rule(SigmoidBackward)
def _sigmoid_backward_opcodes(op: SigmoidBackward) -> str | None:
    return "1 $1 sub $1 mul $0 mul"


@_opcodes_rule(TanhBackward)
def _tanh_backward_opcodes(op: TanhBackward) -> str | None:
    return "1 $1 $1 mul sub $0 mul"
