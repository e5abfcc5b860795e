"""Coverage of onnxruntime's CPU kernels, from ort_kernels.json (made by fixtures/make/kernels.py from onnxruntime itself)."""

from __future__ import annotations

import functools
import json
from pathlib import Path

import numpy as np

from .schemas import schema_of

DEFAULT_OPSET = 21
"""The newest opset at which no operator loses its kernel in the onnxruntime that the table was made from."""
WELCOME = 17
"""The newest opset that is taken for the sake of a shorter form or fewer casts (docs/decisions/0029-opsets.md)."""

_NAMES = {"float32": "float", "float64": "double"}

# To what an operand is cast when there is no kernel for its dtype: the first that has one. All but the last resort keep
# every value; float64 falls to float32, which is what onnxruntime computes such operators in at best.
_WIDER = {
    "bool": ("uint8", "int32", "int64", "float32"),
    "int8": ("int32", "int64", "float32"),
    "uint8": ("int32", "int64", "float32"),
    "int16": ("int32", "int64", "float32"),
    "uint16": ("int32", "int64", "float32"),
    "int32": ("int64", "float64", "float32"),
    "uint32": ("int64", "float64", "float32"),
    "int64": ("float64", "int32", "float32"),
    "float64": ("float32",),
    "bfloat16": ("float32",),
}


@functools.lru_cache(maxsize=1)
def _table() -> dict:
    return json.loads(Path(__file__).with_name("ort_kernels.json").read_text())


def is_lost(onnx_op: str, opset: int) -> bool:
    """True when onnxruntime has no way to run the operator at this opset although ONNX defines it."""
    return opset in _table()["lost"].get(onnx_op, ())


@functools.cache
def runs_on(onnx_op: str, version: int, variable: str) -> frozenset[str] | None:
    """dtypes for which there is a kernel of the operator's version, for one type variable; None when it is not known
    (the operator is expanded as a function) or is not constrained. float16 counts as running: onnxruntime casts it."""
    for first, last, constraints in _table()["types"].get(onnx_op, ()):
        if first == version or (last is not None and first < version <= last):
            names = constraints.get(variable)
            return None if names is None else frozenset({*names, "float16"})
    return None


@functools.cache
def substitute(onnx_op: str, version: int, variable: str, dtype: np.dtype) -> np.dtype | None:
    """The dtype to cast an operand to so that onnxruntime has a kernel; None when it has one as it is (or none at all)."""
    names = runs_on(onnx_op, version, variable)
    if names is None or _NAMES.get(dtype.name, dtype.name) in names:
        return None
    for wider in _WIDER.get(dtype.name, ()):
        if _NAMES.get(wider, wider) in names:
            return np.dtype(wider)
    return None


def _holds(wider: np.dtype, dtype: np.dtype) -> bool:
    """True where every value of a dtype is one of the other."""
    return np.can_cast(dtype, wider, "safe") and not (dtype.itemsize == 8 and dtype.kind in "iu" and wider.kind == "f")


@functools.cache
def gaining(onnx_op: str, opset: int, variable: str, dtype: np.dtype, other: np.dtype) -> int | None:
    """The first opset after one at which operands of a dtype need not be cast to ``other``: up to WELCOME, or up to the newest at
    which nothing is lost where the cast loses digits. None where there is none, or no later schema."""
    for later in range(opset + 1, (WELCOME if _holds(other, dtype) else DEFAULT_OPSET) + 1):
        schema = schema_of(onnx_op, later)
        if schema is None or schema.since_version <= opset:
            continue
        names = runs_on(onnx_op, schema.since_version, variable)
        if names is not None and _NAMES.get(dtype.name, dtype.name) in names:
            return later
    return None
