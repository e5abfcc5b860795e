"""Limits of an opset: what its schemas have, and which later one has what they lack."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
from onnx import helper

from ..error import Unsupported
from ..schemas import schema_of
from .forms import MODERN, wanting


def first_with(op_type: str, opset: int, told: Callable[[Any], bool]) -> int | None:
    """The first opset above ``opset`` whose schema of an operator is told to do; None where there is none."""
    newest = onnx.defs.onnx_opset_version()
    found = ((v, schema_of(op_type, v)) for v in range(opset + 1, newest + 1))
    return next((v for v, schema in found if schema is not None and told(schema)), None)


def undefined(op_type: str, opset: int) -> Unsupported:
    """The refusal of an operator that came later, or that there is none of."""
    came = first_with(op_type, opset, bool)
    return Unsupported(f"ONNX defines no {op_type} at opset {opset}" + (f", needs opset {came}" if came else ""), came)


def attributes_at(
    op_type: str, opset: int, attrs: dict[str, Any], inputs: int, outputs: int, domain: str = ""
) -> dict[str, Any]:
    """The attributes that an opset's schema has; others may have their defaults alone. Raises Unsupported otherwise, and for more
    inputs or outputs than it has."""
    schema = schema_of(op_type, opset, domain)
    for count, most, what in ((inputs, "max_input", "inputs"), (outputs, "max_output", "outputs")):
        if count > getattr(schema, most):
            needed = first_with(op_type, opset, lambda s, n=count, m=most: n <= getattr(s, m))
            raise wanting(opset, f"{op_type} with {count} {what}", needed)
    beyond = [name for name in attrs if name not in schema.attributes]
    if not beyond:
        return attrs
    newest = onnx.defs.get_schema(op_type, domain)
    for name in beyond:
        known = newest.attributes.get(name)
        default = (
            helper.get_attribute_value(known.default_value) if known is not None and known.default_value.name else None
        )
        value = attrs[name].encode() if isinstance(attrs[name], str) else attrs[name]
        ones = isinstance(value, list | tuple) and all(v == 1 for v in value)
        if value != default and not (name == "dilations" and ones):
            needed = None if domain else first_with(op_type, opset, lambda s, n=name: n in s.attributes)
            shown = f" = {attrs[name]!r}" if isinstance(attrs[name], int | float | str) else ""
            raise wanting(opset, f"{op_type} with {name}{shown}", needed)
    return {k: v for k, v in attrs.items() if k not in beyond}


_SPELT = {"float": "float32", "double": "float64", "string": "object"}


@functools.cache
def allowed(op_type: str, opset: int, variable: str) -> frozenset[str] | None:
    """Names of the dtypes that an opset's schema allows for a type variable, as NumPy calls them; None where it has no such."""
    for constraint in schema_of(op_type, opset).type_constraints:
        if constraint.type_param_str == variable:
            names = (t[7:-1] for t in constraint.allowed_type_strs if t.startswith("tensor("))
            return frozenset(_SPELT.get(n) or n for n in names)
    return None


_EXACT = {
    "bool": ("uint8", "int32", "int64", "float32"),
    "uint8": ("int32", "int64", "float32"),
    "int8": ("int32", "int64", "float32"),
    "uint16": ("int32", "int64", "float32"),
    "int16": ("int32", "int64", "float32"),
    "int32": ("int64", "float64"),
    "uint32": ("int64", "float64"),
    "float16": ("float32",),
    "bfloat16": ("float32",),
}
"""Dtypes that hold every value of one."""


def fitting(op_type: str, opset: int, variable: str, dtype: np.dtype) -> np.dtype | None:
    """The dtype to cast an operand to where an opset's schema does not allow its own, and one to come does; None where it does, or
    none to come.

    Raises Unsupported where no dtype that it allows holds every value."""
    names = allowed(op_type, opset, variable)
    if names is None or dtype.name in names:
        return None
    needed = allowing(op_type, opset, variable, dtype)
    for wider in _EXACT.get(dtype.name, ()):
        if wider in names and (needed or opset < MODERN):
            return np.dtype(wider)
    if needed is None and opset >= MODERN:
        return None
    raise wanting(opset, f"{op_type} of {dtype.name}", needed)


@functools.cache
def allowing(op_type: str, opset: int, variable: str, dtype: np.dtype) -> int | None:
    """The first opset after one whose schema allows a dtype for a type variable."""
    return first_with(op_type, opset, lambda s: dtype.name in (allowed(op_type, s.since_version, variable) or ()))


@functools.cache
def allowing_later(op_type: str, opset: int, variable: str, dtype: np.dtype) -> int | None:
    """The first opset that allows a dtype for a type variable, where this one does not; None where it does, or none will."""
    names = allowed(op_type, opset, variable)
    return None if names is None or dtype.name in names else allowing(op_type, opset, variable, dtype)
