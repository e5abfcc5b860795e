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


@functools.cache
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
def attribute_types(op_type: str, opset: int, domain: str, older: bool = True) -> dict[str, str]:
    """The types of an operator's attributes, of those too that only an older version has; empty where ONNX has no such operator.
    older: False for this version's alone."""
    schema = schema_of(op_type, opset, domain)
    if schema is None:
        return {}
    before = attribute_types(op_type, schema.since_version - 1, domain) if older and schema.since_version > 1 else {}
    return {**before, **{name: a.type.name for name, a in schema.attributes.items()}}


EMPTY = "an empty list"
_FORMS = {
    "INT": "a number", "FLOAT": "a number", "STRING": "a text", "TENSOR": "a tensor", "SPARSE_TENSOR": "a tensor",
    "GRAPH": "a graph", "TYPE_PROTO": "a type", "INTS": "numbers", "FLOATS": "numbers", "STRINGS": "texts",
}  # fmt: skip
"""The types of attributes in words."""


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
        case onnx.TypeProto():
            return "a type"
        case ():
            return EMPTY
        case [str(), *_]:
            return "texts"
        case [int() | float(), *_]:
            return "numbers"
    return f"a list of {type(value[0]).__name__}"


def well_formed(types: Mapping[str, str], attributes: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Attributes in the forms that their types want, and what is wrong with those of other forms.

    Files of older exporters have integers as floats."""
    formed, problems = dict(attributes), []
    for name, value in attributes.items():
        kind, form = types.get(name, ""), _form(value)
        wanted = _FORMS.get(kind, form)
        listed = kind.endswith("S")
        if form != wanted and not (form == EMPTY and listed):
            problems.append(f"attribute {name} is {form}, wanted {wanted}")
        elif kind in ("INT", "INTS"):
            odd = [n for n in (value if listed else [value]) if not (float(n).is_integer() and abs(n) <= 2**63)]
            problems += [f"attribute {name} is {n}, wanted a whole number" for n in odd[:1]]
            if not odd:
                formed[name] = tuple(map(int, value)) if listed else int(value)
    return formed, problems


def _dtype(text: str) -> str:
    """The name of the dtype of "tensor(float)"; that of words for what is no tensor."""
    name = text[7:-1] if text.startswith("tensor(") else "string"
    return _SPELT.get(name, name)


def missing_inputs(op_type: str, opset: int, domain: str, inputs: Sequence[Any]) -> list[str]:
    """Names of the inputs that are None, and that the operator needs; where the last is repeated, so are those before another,
    unless each may be of another kind (a Loop's states), which the reading looks after."""
    formals, variadic = _formals(op_type, opset, domain)
    missing = [f.name for f, given in zip(formals, inputs) if f.required and given is None]
    repeated = list(inputs[len(formals) - 1 :]) if variadic and formals[-1].variable else []
    while repeated and repeated[-1] is None:
        repeated.pop()
    return missing + ([formals[-1].name] if None in repeated else [])


def fewest(op_type: str, opset: int, domain: str) -> int:
    """Number of inputs that the operator needs; 0 where ONNX has no such operator."""
    return sum(f.required for f in _formals(op_type, opset, domain)[0])


def misfit(op_type: str, opset: int, domain: str, dtypes: Sequence[np.dtype | None]) -> str | None:
    """Describe what is wrong with the dtypes of a node's inputs (None: not there, or not known); None when nothing is."""
    formals, variadic = _formals(op_type, opset, domain)
    bound: dict[str, tuple[str, str]] = {}
    for index, dtype in enumerate(dtypes):
        own = "" if dtype is None else dtype.name
        if own not in _JUDGED or not (index < len(formals) or variadic):
            continue
        name, variable, allowed, _ = formals[min(index, len(formals) - 1)]
        if own not in allowed:
            return f"got {name} of dtype {own}, wanted {' or '.join(sorted(allowed))}"
        first, known = bound.setdefault(variable, (name, own)) if variable else (name, own)
        if known != own:
            return f"got {first} of dtype {known} and {name} of dtype {own}, wanted one dtype; cast one of them"
    return None
