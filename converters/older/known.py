"""Facts about operands, as far as they are known when converting."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

from hybrid.core.shapes import UNKNOWN, MaybeShape, is_known

from ..onnx_types import code_of
from ..schemas import schema_of
from ..value import Value
from .forms import wanting


def constant(x: Any) -> np.ndarray | None:
    """The array that an operand is, where it is known; None where it is computed or left out."""
    if x is None:
        return None
    return x.const if isinstance(x, Value) else np.asarray(x)


def numbers_of(b: Any, op_type: str, x: Any, name: str, needed: int) -> list[Any] | None:
    """An operand as the attribute that it was; None where it is left out. Raises Unsupported where it is computed."""
    if x is None:
        return None
    array = constant(x)
    if array is None:
        raise wanting(b.opset, f"{op_type} with computed {name}", needed)
    return np.ravel(array).tolist()


def shape(b: Any, x: Any) -> MaybeShape:
    """The shape of a Value as far as it is known when converting: of what translations make in between, as onnx infers it."""
    if x.shape is not None:
        return x.shape
    if x.const is not None:
        return x.const.shape
    made = b.makers.get(x.name)
    if made is None:
        return None
    types: dict[str, onnx.TypeProto] = {}
    data: dict[str, TensorProto] = {}
    for name in filter(None, made.inputs):
        value = b.values[name]
        if value.dtype is None:
            return None
        dims = shape(b, value)
        known = None if dims is None else [None if d is UNKNOWN else d for d in dims]
        types[name] = helper.make_tensor_type_proto(code_of(value.dtype), known)
        if value.const is not None and value.const.size <= 64:
            data[name] = onnx.numpy_helper.from_array(value.const, name)
    schema = schema_of(made.op_type, b.opset)
    try:
        found = onnx.shape_inference.infer_node_outputs(
            schema, made.proto(), types, data, opset_imports=[helper.make_opsetid("", b.opset)]
        )
    except (onnx.shape_inference.InferenceError, onnx.checker.ValidationError, RuntimeError):
        return None
    tensor = found[x.name].tensor_type if x.name in found else None
    if tensor is None or not tensor.HasField("shape"):
        return None
    x.shape = tuple(d.dim_value if d.HasField("dim_value") else UNKNOWN for d in tensor.shape.dim)
    return x.shape


def rank_of(b: Any, op_type: str, x: Any, needed: int = 11) -> int:
    """Number of axes of an operand. Raises Unsupported where it is not known."""
    known = shape(b, x)
    if known is None:
        raise wanting(b.opset, f"{op_type} of a tensor whose rank is not known", needed)
    return len(known)


def static(b: Any, op_type: str, x: Any, needed: int) -> tuple[int, ...]:
    """The shape of an operand. Raises Unsupported where a size is only known at run time."""
    known = shape(b, x)
    if not is_known(known):
        raise wanting(b.opset, f"{op_type} of sizes that are only known at run time", needed)
    return known


def is_whole(dtype: np.dtype | None) -> bool:
    """True of integers and bools."""
    return dtype is not None and dtype.kind in "iub"


def as_value(b: Any, x: Any, sibling: Any) -> Any:
    """An operand as a Value, a number in its sibling's dtype."""
    return x if isinstance(x, Value) else b.const(x, sibling.dtype)


def both(b: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """Two operands of one dtype as Values."""
    return (as_value(b, x, y), as_value(b, y, x))
