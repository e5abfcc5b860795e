"""Functions of onnx's own evaluator in place of its own: it rounds the error function to float32 whatever it is given, picks of 64
elements along an axis at most, normalizes as many channels as there are samples, and weighs for cubic interpolation in float32."""

from __future__ import annotations

import functools
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

    return [Erf, Gelu, GatherElements, LRN, Resize]


def _each(function: Any, x: np.ndarray) -> np.ndarray:
    """The function of each element, in the dtype of x."""
    return np.array([function(float(v)) for v in x.flat]).reshape(x.shape).astype(x.dtype)
