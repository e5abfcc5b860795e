"""Functions of onnx's own evaluator in place of its own: it rounds the error function, the points of a grid and the weights of
cubic interpolation to float32 whatever it is given, samples element by element, picks of 64 elements along an axis at most, and
normalizes as many channels as there are samples."""

from __future__ import annotations

import functools
import itertools
import math
from typing import Any

import numpy as np


@functools.cache
def wide_functions() -> list[type]:
    """Implementations for ``ReferenceEvaluator``, made once: its modules take a while to import.

    Gelu too, which is a function of ONNX in others, and whose body takes no implementations from outside."""
    from onnx.reference.op_run import OpRun
    from onnx.reference.ops.op_resize import Resize as FoundResize

    class Erf(OpRun):
        op_domain = ""

        def _run(self, x: np.ndarray) -> tuple[np.ndarray]:
            return (_each(math.erf, x),)

    class Gelu(OpRun):
        op_domain = ""

        def _run(self, x: np.ndarray, approximate: Any = None) -> tuple[np.ndarray]:
            if approximate == "tanh":
                return (x * 0.5 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))).astype(x.dtype),)
            return (x * _each(lambda v: 0.5 * math.erfc(-v / math.sqrt(2)), x),)

    class GatherElements(OpRun):
        op_domain = ""

        def _run(self, data: np.ndarray, indices: np.ndarray, axis: int = 0) -> tuple[np.ndarray]:
            along = axis % data.ndim
            reached = tuple(slice(None if i == along else n) for i, n in enumerate(indices.shape))
            return (np.take_along_axis(data[reached], indices, along),)

    class GridSample(OpRun):
        op_domain = ""

        def _run(
            self, x: np.ndarray, grid: np.ndarray, mode: Any = None, padding_mode: Any = None, align_corners: Any = None
        ) -> tuple[np.ndarray]:
            mode = {"bilinear": "linear", "bicubic": "cubic", None: "linear"}.get(mode, mode)
            return (_sampled(x, grid, mode, padding_mode or "zeros", bool(align_corners)),)

    class LRN(OpRun):
        op_domain = ""

        def _run(
            self, x: np.ndarray, alpha: float = 1e-4, beta: float = 0.75, bias: float = 1.0, size: int = 1
        ) -> tuple[np.ndarray]:
            squares, channels = x * x, x.shape[1]
            before, behind = (size - 1) // 2, size - (size - 1) // 2
            sums = [squares[:, max(c - before, 0) : c + behind].sum(axis=1) for c in range(channels)]
            return ((x / (bias + float(alpha) / size * np.stack(sums, axis=1)) ** beta).astype(x.dtype),)

    class Resize(FoundResize):
        op_domain = ""

        def _run(self, *inputs: Any, cubic_coeff_a: float = -0.75, **attributes: Any) -> tuple[np.ndarray]:
            """A number of float32 would make all that is computed of it and Python's floats float32."""
            return super()._run(*inputs, cubic_coeff_a=float(cubic_coeff_a), **attributes)

    return [Erf, Gelu, GatherElements, GridSample, LRN, Resize]


def _sampled(x: np.ndarray, grid: np.ndarray, mode: str, padding: str, aligned: bool) -> np.ndarray:
    """x (N, C, *sides) at the points of a grid (N, *points, axes), whose coordinates are those of the last axis first."""
    sides = x.shape[2:]
    taps = [
        _taps(grid[..., len(sides) - 1 - i].astype(np.float64), n, mode, padding, aligned) for i, n in enumerate(sides)
    ]
    batch = np.arange(len(x)).reshape(-1, *(1,) * (grid.ndim - 2))
    last = np.moveaxis(x, 1, -1)
    out = np.zeros((*grid.shape[:-1], x.shape[1]))
    for chosen in itertools.product(*taps):
        weight = functools.reduce(np.multiply, (w for _, w in chosen))
        inside = functools.reduce(np.logical_and, ((at >= 0) & (at < n) for (at, _), n in zip(chosen, sides)))
        places = tuple(np.clip(at, 0, n - 1) for (at, _), n in zip(chosen, sides))
        out += np.where(inside[..., None], last[(batch, *places)] * weight[..., None], 0)
    return np.moveaxis(out, -1, 1).astype(x.dtype)


def _taps(points: np.ndarray, size: int, mode: str, padding: str, aligned: bool) -> list[tuple[np.ndarray, np.ndarray]]:
    """By tap along an axis its place, which lies outside where zeros are read, and its weight. Of pictures that go on, the place
    between elements is moved inside before it is read at; of the cubic curve, which reaches further, each tap is."""
    low, high = (0.0, size - 1.0) if aligned else (-0.5, size - 0.5)
    at = low + (points + 1) / 2 * (high - low)

    def moved(at: np.ndarray) -> np.ndarray:
        if padding == "reflection":
            around = (at - low) % (2 * (high - low)) if high > low else np.zeros_like(at)
            at = low + np.minimum(around, 2 * (high - low) - around)
        return at if padding == "zeros" else np.clip(at, 0, size - 1)

    if mode == "nearest":
        return [(moved(np.rint(moved(at))).astype(np.int64), np.ones_like(at))]
    if mode == "linear":
        at = moved(at)
        first = np.floor(at)
        return [(first.astype(np.int64), first + 1 - at), (first.astype(np.int64) + 1, at - first)]
    first = np.floor(at)
    return [(moved(first + i).astype(np.int64), _cubic(at - first - i)) for i in (-1, 0, 1, 2)]


def _cubic(away: np.ndarray, a: float = -0.75) -> np.ndarray:
    """The weight of an element so far away, by the cubic curve of ONNX and torch."""
    d = np.abs(away)
    near, far = ((a + 2) * d - (a + 3)) * d * d + 1, ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return np.where(d <= 1, near, np.where(d < 2, far, 0))


def _each(function: Any, x: np.ndarray) -> np.ndarray:
    """The function of each element, in the dtype of x."""
    return np.array([function(float(v)) for v in x.flat]).reshape(x.shape).astype(x.dtype)
