"""Wishes for a file in another precision."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from converters.precision.qdq import WEIGHTS

from ..paths import BadInput

Calibration = Literal["minmax", "percentile", "entropy"]
METHODS: tuple[Calibration, ...] = ("minmax", "percentile", "entropy")
DRAWN = "drawn"
"""The word that lets numbers be drawn to calibrate on."""
ACTIVATIONS = ("uint8", "int8")

Data = str | os.PathLike[str] | Mapping[str, np.ndarray] | Sequence[Mapping[str, np.ndarray]]
"""Examples to calibrate on: a folder of pictures, an .npz, arrays by name, or sets of these."""


@dataclass(frozen=True)
class Wishes:
    """Base of what can be asked for."""

    data: Data = DRAWN
    """Examples to measure and calibrate on; the word drawn lets numbers be drawn where the inputs given leave it open."""
    labels: Any = None
    """Classes of the examples that are given, for top-1 and top-5 before and after: a file (.txt, .npz, .npy) or integers (N,)."""


@dataclass(frozen=True)
class Half(Wishes):
    """Float32 becomes float16, where that holds the numbers.

    Parameters
    ----------
    data : path, dict of numpy arrays, or list of dict, default 'drawn'
        Examples to measure on: a folder of pictures, an .npz, or arrays by name; 'drawn' lets numbers be drawn.
    labels : path or sequence of int, default None
        Classes of the examples, one each, for top-1 and top-5 before and after (--truth of the commands): a .txt, .npz or .npy.
        Names of classes are the labels of Postprocess.
    io : bool, default False
        True: inputs and outputs become float16 too.
    keep : sequence of str, default ()
        Nodes (by the symbol's names or those in the file) and operators of ONNX that stay in float32.

    Examples
    --------
    >>> import gluonnx
    >>> gluonnx.Half(io=True)
    Half(data='drawn', labels=None, io=True, keep=())
    """

    io: bool = False
    keep: Sequence[str] = ()


@dataclass(frozen=True)
class Single(Wishes):
    """Float16 and bfloat16 become float32; casts between them go.

    Examples
    --------
    >>> import gluonnx
    >>> gluonnx.Single()
    Single(data='drawn', labels=None)
    """


@dataclass(frozen=True)
class Quantized(Wishes):
    """Convolutions and products on 8-bit integers, said by QuantizeLinear and DequantizeLinear.

    Parameters
    ----------
    data : path, dict of numpy arrays, or list of dict, default 'drawn'
        Examples to calibrate and measure on: a folder of pictures, an .npz, or arrays by name; 'drawn' lets numbers be drawn.
    labels : path or sequence of int, default None
        Classes of the examples, one each, for top-1 and top-5 before and after (--truth of the commands): a .txt, .npz or .npy.
        Names of classes are the labels of Postprocess.
    method : str, default 'minmax'
        Way to a tensor's range: minmax its extremes, percentile without the furthest, entropy the one that loses least (KL).
    percentile : float, default 99.99
        Percentage of a tensor's numbers that a range found by percentile holds.
    activations : str, default 'uint8'
        uint8 with any zero point (onnxruntime); or int8 with the zero point 0 (TensorRT).
    keep : sequence of str, default ()
        Nodes and operators that stay in float32.
    least : float, default 10.0
        Signal to noise in decibels that each layer by itself, and each output, has at least; what hurts more stays in float32.
    weights : str, default ''
        int8 (TensorRT; onnxruntime where the CPU has VNNI), uint8 (the same numbers, exact in onnxruntime on any CPU), or int7
        (half as fine, exact on any CPU too). By default uint8 beside activations of uint8, and int8 beside int8.
    biases : bool, default True
        True: biases on int32, as integer kernels add them up; False: on float32 (TensorRT).

    Examples
    --------
    >>> import gluonnx
    >>> gluonnx.Quantized(method="entropy").method
    'entropy'
    """

    method: Calibration = "minmax"
    percentile: float = 99.99
    activations: str = "uint8"
    keep: Sequence[str] = ()
    least: float = 10.0
    weights: str = ""
    biases: bool = True

    def __post_init__(self) -> None:
        problems = []
        if self.method not in METHODS:
            problems.append(f"calibration: got {self.method}, wanted {', '.join(METHODS)}")
        if self.activations not in ACTIVATIONS:
            problems.append(f"activations: got {self.activations}, wanted {' or '.join(ACTIVATIONS)}")
        if not 50 < self.percentile <= 100:
            problems.append(f"percentile: got {self.percentile:g}, wanted more than 50 and at most 100")
        if math.isnan(self.least):  # which no layer is below
            problems.append("least: got nan, wanted a number of decibels")
        if self.weights not in ("", *WEIGHTS):
            problems.append(f"weights: got {self.weights}, wanted {', '.join(WEIGHTS)}")
        if problems:
            raise BadInput(*problems)
        if not self.weights:
            object.__setattr__(self, "weights", self.activations)


Precision = Half | Single | Quantized


@dataclass(frozen=True)
class Stay:
    """A node that stays in float32, and why."""

    node: str
    operator: str
    tensor: str
    reason: str


@dataclass(frozen=True)
class Beyond:
    """Numbers beyond what float16 holds."""

    tensor: str
    kind: Literal["weight", "constant", "activation"]
    value: float
    """The one that is furthest out."""
    became: str
    """Words for what was done about it."""


@dataclass(frozen=True)
class Labelled:
    """Shares of labelled examples that were classed rightly, before and after."""

    examples: int
    top1: tuple[float, float]
    top5: tuple[float, float] | None = None
