"""Weights in fewer bits: what becomes of the numbers. The compiled part packs them so (native/src/kernels/gemm/reduced.h); here is
the same in NumPy, which it is held against."""

from __future__ import annotations

import math

import numpy as np

MOST = np.float32(127)
"""The largest of the whole numbers that stand for weights in int8."""


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


def loss(exact: np.ndarray, kept: np.ndarray) -> float:
    """The share of weights that is lost: the root of the mean square of the differences, by that of the weights."""
    difference = np.subtract(exact, kept, dtype=np.float64, where=np.isfinite(exact), out=np.zeros(exact.shape))
    size = math.sqrt(float(np.square(exact, dtype=np.float64).sum()))
    lost = math.sqrt(float(np.square(difference).sum()))
    return lost / size if lost else 0.0
