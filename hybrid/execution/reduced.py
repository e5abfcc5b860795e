"""Weights in fewer bits: which products take them, and what becomes of the numbers. The compiled part packs them so
(native/src/kernels/gemm/reduced.h); what is here is the same in NumPy, which it is held against."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

PRODUCTS = {
    "FullyConnected": "",
    "_fused_dense": "",
    "_linalg_gemm": "transpose_b",
    "_linalg_gemm2": "transpose_b",
    "_np_dot": None,
    "_npi_matmul": None,
    "_onnx_Gemm": "transB",
    "batch_dot": "transpose_b",
    "dot": "transpose_b",
}
"""Operators whose second input may be held so when it is constant, and the attribute that says whether it is transposed: ""
where it always is, None where it never is."""
FLOATS = frozenset(("float32", "float16", "bfloat16"))
"""Dtypes of weights that are computed with in float32."""
MOST = np.float32(127)


def rounded(matrices: np.ndarray, precision: str) -> np.ndarray:
    """Matrices (..., K, N) as a product takes them: each number rounded to the nearest bfloat16, or, for int8, to the nearest of
    255 multiples of its column's scale, which is the largest size there over 127; ties to even. A matrix for which that gives
    a number that is not finite stays as it is."""
    matrices = np.ascontiguousarray(matrices, np.float32)
    with np.errstate(all="ignore"):
        if precision == "bfloat16":
            bits = matrices.view(np.uint32)
            near = (bits + np.uint32(0x7FFF) + (bits >> np.uint32(16) & np.uint32(1))) & np.uint32(0xFFFF0000)
            made = near.view(np.float32)
        elif precision == "int8":
            sizes = np.abs(matrices).max(axis=-2, keepdims=True, initial=0)
            scales = np.maximum(sizes / MOST, np.finfo(np.float32).tiny)
            made = np.rint(matrices / scales) * scales
        else:
            return matrices
        finite = np.isfinite(matrices).all(axis=(-2, -1), keepdims=True)
        finite &= np.isfinite(made).all(axis=(-2, -1), keepdims=True)
    return np.where(finite, made, matrices)


def as_matrices(operator: str, attributes: Mapping[str, Any], weights: np.ndarray) -> np.ndarray:
    """The weights of a product as matrices (..., K, N)."""
    flag = PRODUCTS[operator]
    transposed = flag == "" or (flag is not None and bool(attributes[flag]))
    if operator == "dot":
        shape = weights.shape
        sizes = (math.prod(shape[:-1]), shape[-1]) if transposed else (shape[0], math.prod(shape[1:]))
        weights = weights.reshape(sizes)
    elif weights.ndim == 1:
        weights = weights[:, None]
    return np.swapaxes(weights, -1, -2) if transposed else weights


def loss(exact: np.ndarray, kept: np.ndarray) -> float:
    """What is lost of weights: the root of the mean square of the differences, by that of the weights."""
    difference = np.subtract(exact, kept, dtype=np.float64, where=np.isfinite(exact), out=np.zeros(exact.shape))
    size = math.sqrt(float(np.square(exact, dtype=np.float64).sum()))
    lost = math.sqrt(float(np.square(difference).sum()))
    return lost / size if lost else 0.0
