"""Boxes for values that are no tensors (sequences, maps, optionals): object arrays of no dimension (docs/decisions/0011)."""

from __future__ import annotations

from typing import Any

import numpy as np


def box(value: Any) -> np.ndarray:
    """Put a value that is no tensor (a sequence as a list of arrays, an optional without value as None, a map as a dict) into
    an array of no dimension and dtype object, as the executor carries it."""
    array = np.empty((), object)
    array[()] = value
    return array


def unbox(array: np.ndarray) -> Any:
    """The value in such an array."""
    return array[()]
