"""NumPy arrays of one element that are numbers to Python, as they were before NumPy 2.4.

MXNet has no arrays without dimensions, so every loss is of shape (1,), and programs write ``float(loss.asnumpy())`` and
``"%f" % loss.asnumpy()``. NumPy 2.4 refuses that; what ``asnumpy`` gives does not.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np


def _numpy_refuses() -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # NumPy's, before it refused
        try:
            float(np.zeros(1))
        except TypeError:
            return True
    return False


class ScalarArray(np.ndarray):
    """An array of one element that ``float``, ``int`` and formatting take. What is computed of it is an ordinary array."""

    __array_priority__ = -1.0  # type: ignore[assignment]  NumPy's stubs make it a property

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __complex__(self) -> complex:
        return complex(self.item())

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        if array is self:  # written in place
            return self
        plain = np.asarray(array)
        return plain[()] if return_scalar else plain

    def __getitem__(self, key: Any) -> Any:
        return np.asarray(self)[key]

    def __repr__(self) -> str:
        return repr(np.asarray(self))

    def __reduce__(self) -> Any:
        return np.asarray(self).__reduce__()


REFUSED = _numpy_refuses()


def as_number(array: np.ndarray) -> np.ndarray:
    """The array, as a ScalarArray where it has one element and this NumPy takes none for a number."""
    return array.view(ScalarArray) if REFUSED and array.size == 1 and array.ndim else array
