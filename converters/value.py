"""A tensor of the ONNX graph being built, as translations hold it."""

from __future__ import annotations

from typing import Any

import numpy as np

from hybrid.core.shapes import UNKNOWN, MaybeShape

from .error import Unsupported


class Value:
    """A tensor of the graph being built.

    shape: dims with UNKNOWN for those only known at run time; None where nobody needed it (results inside a translation).
    const: the array, when the value is a parameter or constant.
    """

    __slots__ = ("const", "dtype", "name", "shape")

    def __init__(self, name: str, shape: MaybeShape, dtype: np.dtype | None, const: np.ndarray | None = None):
        self.name, self.shape, self.dtype, self.const = name, shape, dtype, const

    @property
    def sizes(self) -> tuple[Any, ...]:
        """The shape, UNKNOWN where only the run tells a size. Raises Unsupported when not even the rank is known."""
        if self.shape is None:
            raise Unsupported(f"the rank of {self.name} is not known; give the shapes of all inputs")
        return self.shape

    @property
    def rank(self) -> int:
        return len(self.sizes)

    def dim(self, axis: int) -> Any:
        """A size that has to be known when converting. Raises Unsupported when it is dynamic."""
        size = UNKNOWN if self.shape is None else self.shape[axis]
        if size is UNKNOWN:
            raise Unsupported(f"needs the size of axis {axis} of {self.name}, which is dynamic")
        return size

    @property
    def static(self) -> tuple[int, ...]:
        """The shape, all of which has to be known when converting. Raises Unsupported otherwise."""
        return tuple(self.dim(a) for a in range(self.rank))

    def __repr__(self) -> str:
        return f"Value({self.name}, {self.shape}, {self.dtype})"
