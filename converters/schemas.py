"""Checks of a node's inputs and attributes against ONNX's schemas: importers get no others, as in onnxruntime."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import onnx

from .onnx_types import ELEMENT_TYPES

_SPELT = {"float": "float32", "double": "float64", "string": "object"}
_JUDGED = frozenset(k.dtype for k in ELEMENT_TYPES.values() if k.bits >= 8 and not k.dtype.startswith("float8"))
"""Of the small dtypes each version of ONNX has more, which what moves numbers here moves all the same."""


class Formal(NamedTuple):
    """An input of a schema."""

    name: str
    variable: str
    """Inputs of one have one dtype; empty for one of its own."""
    allowed: frozenset[str]
    required: bool


def schema_of(op_type: str, opset: int, domain: str = "") -> Any:
    """The onnx.defs.OpSchema of an operator at an opset of its domain; None where ONNX has no such operator."""
    try:
        return onnx.defs.get_schema(op_type, opset, domain)
    except onnx.defs.SchemaError:
        return None


@functools.cache
def _formals(op_type: str, opset: int, domain: str) -> tuple[list[Formal], bool]:
    """The inputs at an opset, allowing what is allowed there and in the newest; and whether the last may be repeated.

    Empty where ONNX has no such operator."""
    own = schema_of(op_type, opset, domain)
    if own is None:
        return [], False
    allowed: dict[str, set[str]] = {}
    for schema in (own, onnx.defs.get_schema(op_type, domain)):
        for c in schema.type_constraints:
            allowed.setdefault(c.type_param_str, set()).update(map(_dtype, c.allowed_type_strs))
    mixed = {p.type_str for p in own.inputs if not p.is_homogeneous}
    formals = [
        Formal(
            p.name,
            "" if p.type_str in mixed else p.type_str,
            frozenset(allowed.get(p.type_str, {_dtype(p.type_str)})),
            p.option == onnx.defs.OpSchema.FormalParameterOption.Single,
        )
        for p in own.inputs
    ]
    variadic = bool(own.inputs) and own.inputs[-1].option == onnx.defs.OpSchema.FormalParameterOption.Variadic
    return formals, variadic


@functools.cache
def _forms(op_type: str, opset: int, domain: str) -> dict[str, str]:
    """The forms of an operator's attributes; empty where ONNX has no such operator."""
    schema = schema_of(op_type, opset, domain)
    if schema is None:
        return {}
    return {n: _FORMS[a.type.name] for n, a in schema.attributes.items() if a.type.name in _FORMS}


_FORMS = {
    "FLOAT": "a number", "INT": "a number", "FLOATS": "numbers", "INTS": "numbers", "STRING": "a text", "STRINGS": "texts",
    "TENSOR": "a tensor", "GRAPH": "a graph",
}  # fmt: skip
"""Forms of attributes by type, but for whether numbers are integers, which files of older exporters do not always tell."""


def _form(value: Any) -> str:
    match value:
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case np.ndarray():
            return "a tensor"
        case onnx.GraphProto():
            return "a graph"
        case [str(), *_]:
            return "texts"
        case [int() | float(), *_]:
            return "numbers"
    return ""  # none, or of a kind that is not judged


def ill_formed(op_type: str, opset: int, domain: str, attributes: Mapping[str, Any]) -> list[str]:
    """Describe what is wrong with the forms of a node's attributes."""
    forms = _forms(op_type, opset, domain)
    pairs = ((name, _form(value), forms.get(name, "")) for name, value in attributes.items())
    return [
        f"attribute {name} is {form}, wanted {wanted}"
        for name, form, wanted in pairs
        if form and wanted and form != wanted
    ]


def _dtype(text: str) -> str:
    """The name of the dtype of "tensor(float)"; that of words for what is no tensor."""
    name = text[7:-1] if text.startswith("tensor(") else "string"
    return _SPELT.get(name, name)


def left_out(op_type: str, opset: int, domain: str, inputs: Sequence[Any]) -> list[str]:
    """Names of the inputs that are None, and that the operator needs."""
    return [f.name for f, given in zip(_formals(op_type, opset, domain)[0], inputs) if f.required and given is None]


def misfit(op_type: str, opset: int, domain: str, dtypes: Sequence[np.dtype | None]) -> str | None:
    """Describe what is wrong with the dtypes of a node's inputs (None: not there, or not known); None when nothing is."""
    formals, variadic = _formals(op_type, opset, domain)
    bound: dict[str, tuple[str, str]] = {}
    for index, dtype in enumerate(dtypes):
        if dtype is None or dtype.name not in _JUDGED or not (index < len(formals) or variadic):
            continue
        name, variable, allowed, _ = formals[min(index, len(formals) - 1)]
        if dtype.name not in allowed:
            return f"got {name} of dtype {dtype.name}, wanted {' or '.join(sorted(allowed))}"
        first, known = bound.setdefault(variable, (name, dtype.name)) if variable else (name, dtype.name)
        if known != dtype.name:
            return f"got {first} of dtype {known} and {name} of dtype {dtype.name}, wanted one dtype; cast one of them"
    return None
