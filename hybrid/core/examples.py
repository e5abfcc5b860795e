"""Maker of operators' examples (``Op.examples``), of which tests and the table of the core are made."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

from .op import Example, Op


class Maker:
    """Argument of ``examples``: makes arrays, and called with arrays and attributes makes an Example."""

    def __init__(self, cls: type[Op]):
        self._cls = cls
        self._rng = np.random.default_rng(zlib.crc32(cls.name.encode()))

    def __call__(self, *arrays: np.ndarray, **attrs: Any) -> Example:
        cls = self._cls
        if cls.inputs[:1] and cls.inputs[0].startswith("*") and cls.count in cls.fields:
            attrs.setdefault(cls.count, len(arrays))
        return Example(cls.bind(**attrs), arrays)

    def uniform(self, *shape: int, low: float = -1, high: float = 1, dtype: Any = "float32") -> np.ndarray:
        """Numbers from low to high."""
        return self._rng.uniform(low, high, shape).astype(dtype)

    def array(self, values: Any, dtype: Any = "float32") -> np.ndarray:
        """These values."""
        return np.array(values).astype(dtype)

    def integers(self, *shape: int, low: int = 0, high: int = 5, dtype: Any = "float32") -> np.ndarray:
        """Whole numbers from low to high - 1; float32 by default, as MXNet carries indices."""
        return self._rng.integers(low, high, shape).astype(dtype)
