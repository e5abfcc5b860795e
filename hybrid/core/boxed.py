"""Boxes for values that are no tensors (sequences, maps, optionals): object arrays of no dimension (docs/decisions/0011)."""

from __future__ import annotations

from typing import Any

import numpy as np


def hold(value: Any) -> np.ndarray:
    """What is no tensor (a sequence as a list of arrays, an optional without value as None, a map as a dict), as the array of no
    dimension and dtype object in which the executor carries it."""
    array = np.empty((), object)
    array[()] = value
    return array


def held(array: np.ndarray) -> Any:
    """What such an array holds."""
    return array[()]
