"""ONNX's types: what they say of shapes and dtypes, and as text, ``seq(tensor(float))``, in which symbols carry those of what is no
tensor (``__kind__`` of a variable)."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx import TensorProto, TypeProto

from hybrid.core.attrs import HALVES
from hybrid.core.attrs import dtype as named_dtype
from hybrid.core.op import Spec
from hybrid.core.shapes import UNKNOWN, MaybeShape
from hybrid.ops.onnx.base import OBJECT

from .error import ConversionError, Unsupported


class ElementType(NamedTuple):
    """Storage of a data type: the dtype of its array, bits an element, and the field beside raw_data."""

    dtype: str
    bits: int
    field: str


# By TensorProto.DataType, in numbers because an old onnx package lacks the newer names; 27 and 28 have no dtype in the engine.
ELEMENT_TYPES = {
    1: ElementType("float32", 32, "float_data"),
    2: ElementType("uint8", 8, "int32_data"),
    3: ElementType("int8", 8, "int32_data"),
    4: ElementType("uint16", 16, "int32_data"),
    5: ElementType("int16", 16, "int32_data"),
    6: ElementType("int32", 32, "int32_data"),
    7: ElementType("int64", 64, "int64_data"),
    8: ElementType("object", 64, "string_data"),
    9: ElementType("bool", 8, "int32_data"),
    10: ElementType("float16", 16, "int32_data"),
    11: ElementType("float64", 64, "double_data"),
    12: ElementType("uint32", 32, "uint64_data"),
    13: ElementType("uint64", 64, "uint64_data"),
    14: ElementType("complex64", 64, "float_data"),
    15: ElementType("complex128", 128, "double_data"),
    16: ElementType("bfloat16", 16, "int32_data"),
    17: ElementType("float8_e4m3fn", 8, "int32_data"),
    18: ElementType("float8_e4m3fnuz", 8, "int32_data"),
    19: ElementType("float8_e5m2", 8, "int32_data"),
    20: ElementType("float8_e5m2fnuz", 8, "int32_data"),
    21: ElementType("uint4", 4, "int32_data"),
    22: ElementType("int4", 4, "int32_data"),
    23: ElementType("float4_e2m1fn", 4, "int32_data"),
    24: ElementType("float8_e8m0fnu", 8, "int32_data"),
    25: ElementType("uint2", 2, "int32_data"),
    26: ElementType("int2", 2, "int32_data"),
}
CODES = {kind.dtype: code for code, kind in ELEMENT_TYPES.items()}
HALF_CODES = frozenset(CODES[name] for name in HALVES)
"""The data types of half precision."""
KEY = "__kind__"
"""The hidden attribute of a variable that says its type."""


def text_of(kind: TypeProto) -> str:
    """A type as ONNX writes it, and after tensors their sizes where they are declared: tensor(float)[2, n, ?]. Empty for none.

    Raises Unsupported for an element type that is not known."""
    which = kind.WhichOneof("value")
    if which == "tensor_type":
        shape = declared_spec(kind).shape
        dims = "" if shape is None else f"[{','.join(map(str, shape))}]"
        return f"tensor({_element(kind.tensor_type.elem_type)}){dims}"
    if which == "sequence_type":
        return f"seq({text_of(kind.sequence_type.elem_type)})"
    if which == "optional_type":
        return f"optional({text_of(kind.optional_type.elem_type)})"
    if which == "map_type":
        return f"map({_element(kind.map_type.key_type)},{text_of(kind.map_type.value_type)})"
    return ""


def _element(code: int) -> str:
    if code not in TensorProto.DataType.values():
        raise Unsupported(f"element type {code} is not known to onnx {onnx.__version__}")
    return TensorProto.DataType.Name(code).lower() if code else ""


def kind_of(text: str) -> TypeProto:
    """The type of a text. Raises ConversionError for what is none."""
    found = re.fullmatch(r"(\w+)\((.*)\)(?:\[([^\[\]]*)\])?", text)
    head, inner, rest = found.groups() if found else ("", "", None)
    try:
        if head == "tensor":
            dims = (
                None
                if rest is None
                else [int(d) if d.isdigit() else d.strip("?") or None for d in rest.split(",") if d]
            )
            return onnx.helper.make_tensor_type_proto(_code(inner), dims)
        if head == "seq":
            return onnx.helper.make_sequence_type_proto(kind_of(inner))
        if head == "optional":
            return onnx.helper.make_optional_type_proto(kind_of(inner))
        if head == "map":
            key, _, value = inner.partition(",")
            return onnx.helper.make_map_type_proto(_code(key), kind_of(value))
        raise ValueError(head)
    except ValueError as error:
        raise ConversionError(f"got the type {text!r}, wanted one such as seq(tensor(float)): {error}") from None


def _code(name: str) -> int:
    return TensorProto.DataType.Value(name.upper()) if name else 0


def element_type(kind: TypeProto | None) -> TypeProto | None:
    """The type of what a sequence or optional contains; None where it is neither."""
    which = None if kind is None else kind.WhichOneof("value")
    return getattr(kind, which).elem_type if which in ("sequence_type", "optional_type") else None


def element_dtype(kind: TypeProto | None) -> np.dtype | None:
    """The dtype of the tensors that a sequence or optional contains; None where that is not known."""
    inside = element_type(kind)
    return None if inside is None else declared_spec(inside).dtype


def tensor_of(dtype: np.dtype | None) -> TypeProto | None:
    """The type of a tensor of a dtype and any shape; None for None."""
    if dtype is None:
        return None
    return onnx.helper.make_tensor_type_proto(code_of(dtype), None)


def code_of(dtype: np.dtype) -> int:
    """The ONNX element type of a dtype; objects are strings. Raises Unsupported for one that ONNX has not.

    From our own table: onnx before 1.19 takes bfloat16 and the narrow types for float32."""
    code = CODES.get(np.dtype(dtype).name)
    if code is None:
        raise Unsupported(f"got dtype {dtype}, for which ONNX has no element type")
    return code


def sequence_of(kind: TypeProto | None) -> TypeProto | None:
    """The type of sequences of a type; None for None."""
    return None if kind is None else onnx.helper.make_sequence_type_proto(kind)


def optional_of(kind: TypeProto | None) -> TypeProto | None:
    """The type of optionals of a type; None for None."""
    return None if kind is None else onnx.helper.make_optional_type_proto(kind)


def dtype_of(code: int) -> np.dtype:
    """The dtype of an ONNX element type; strings are objects. Raises Unsupported for one that is not known."""
    if code not in ELEMENT_TYPES:
        raise Unsupported(f"element type {code} is not known")
    try:
        return named_dtype(ELEMENT_TYPES[code].dtype)
    except ValueError as error:
        raise Unsupported(str(error)) from None


def declared_dims(shape: onnx.TensorShapeProto) -> tuple[int | str, ...]:
    """Sizes and names of axes that a model declares; ``?`` where there is neither, or a negative size, as some exporters write what
    is open and onnxruntime reads it."""
    return tuple(d.dim_value if d.HasField("dim_value") and d.dim_value >= 0 else d.dim_param or "?" for d in shape.dim)


def declared_spec(kind: onnx.TypeProto) -> Spec:
    """Shape and dtype of a declared tensor; dims without a value are strings (their name or ``?``). What is no tensor is an
    object of no dimension."""
    which = kind.WhichOneof("value")
    if which == "optional_type" and kind.optional_type.elem_type.WhichOneof("value") == "tensor_type":
        return Spec()
    if which != "tensor_type":
        return Spec() if which is None else Spec((), np.dtype(object))
    tensor = kind.tensor_type
    dims = declared_dims(tensor.shape)
    dtype = dtype_of(tensor.elem_type) if tensor.elem_type else None
    return Spec(dims if tensor.HasField("shape") else None, dtype)


def known_dims(shape: MaybeShape) -> MaybeShape:
    """The shape with UNKNOWN for dims that only have a name."""
    return None if shape is None else tuple(d if isinstance(d, int) and d >= 0 else UNKNOWN for d in shape)


def holds_numbers(value: Any) -> bool:
    """True where a value is known to hold numbers: no words, and no sequence, map or optional."""
    return value.dtype is not None and value.dtype != OBJECT
