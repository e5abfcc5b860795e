"""Search for tensors that may hold NaN, so that nodes which answer for it as MXNet does are worth writing."""

from __future__ import annotations

import numpy as np

from .builder import Builder, OnnxNode, Value

MAKE_NAN = frozenset((
    "Acos", "Acosh", "Asin", "Atanh", "Div", "If", "Log", "Loop", "Mod", "Pow", "Scan", "SequenceMap", "Sqrt",
))  # fmt: skip
"""Operators that make NaN of numbers as they occur: of 0 / 0, of the root or logarithm of what is negative; and bodies, which are
not looked into."""
SMALL = 1024  # elements of a constant that are looked at; conversion warns of parameters that hold NaN


def may_hold_nan(b: Builder, x: Value) -> bool:
    """True where NaN is to be answered for: by ``Forms.nan_guards``, and where that leaves it open, where something that x is made
    from may make NaN of numbers. Inputs are taken to hold numbers, and what is computed not to leave float32's range."""
    if b.forms.nan_guards is not None:
        return b.forms.nan_guards
    makers = {o: node for node in b.nodes for o in node.outputs}
    seen, stack = {x.name}, [x.name]
    while stack:
        name = stack.pop()
        node = makers.get(name)
        if node is None:
            constant = b.initializers.get(name, x.const if name == x.name else None)
            if constant is None and b.in_body:  # the graph around it makes this
                return True
            looked = constant is not None and constant.dtype.kind == "f" and constant.size <= SMALL
            if looked and not np.isfinite(constant).all():
                return True
            continue
        if node.domain or (node.op_type in MAKE_NAN and not _divides_by_number(b, node)):
            return True
        new = set(node.inputs) - seen
        seen |= new
        stack += new
    return False


def is_nan(b: Builder, x: Value) -> Value:
    """Truths where x is NaN: where it differs from itself, as engines without IsNaN can say from opset 11 on."""
    return b.IsNaN(x) if b.opset < 11 else b.Not(b.Equal(x, x))


def _divides_by_number(b: Builder, node: OnnxNode) -> bool:
    divisor = b.initializers.get(node.inputs[1]) if node.op_type == "Div" else None
    return divisor is not None and bool(np.all(divisor))
