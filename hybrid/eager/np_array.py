"""``mx.np.ndarray``: the second face of arrays. Memory, history and engine are NDArray's; what differs is what Python's operators,
indices and methods mean: NumPy's, not those of mx.nd.

Methods that are functions of mx.np are put here by np_functions/methods.py.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..core.error import MXNetError
from ..execution.context import Context
from ..ops.casting import Cast
from ..ops.elementwise import Copy
from ..ops.indexing import Take
from ..ops.shape import NumpyReshape
from ..ops.slicing import Slice
from .array import DENSE, NDArray, invoke, with_face
from .dispatch import array_dtype
from .indexing import slicing
from .tape import STATE

Key = tuple[Any, ...]


def read_np_key(key: Any) -> tuple[Key, bool]:
    """A key as NumPy takes it, with an Ellipsis in it where it is basic, and whether it is: without index arrays.

    Raises IndexError for what NumPy takes for no key."""
    index: list[Any] = []
    basic = True
    for part in key if isinstance(key, tuple) else (key,):
        if part is None or part is Ellipsis or isinstance(part, slice):
            index.append(part)
        elif isinstance(part, NDArray):
            values = part._read()
            if values.dtype.kind == "f":  # MXNet's arrays are of floats unless told otherwise, indices too
                values = values.astype(np.int64)
            basic = basic and values.ndim == 0 and values.dtype.kind in "iu"
            index.append(operator.index(values.item()) if values.ndim == 0 and values.dtype.kind in "iu" else values)
        elif isinstance(part, bool | np.bool_ | list | np.ndarray | range):
            basic = False
            index.append(np.asarray(part, np.int64 if part == [] else None) if isinstance(part, list) else part)
        elif hasattr(part, "__index__"):
            index.append(operator.index(part))
        else:
            raise IndexError(
                "only integers, slices (`:`), ellipsis (`...`), None and integer or boolean arrays are valid indices, "
                f"got {type(part)}"
            )
    if basic and not any(p is Ellipsis for p in index):
        index.append(Ellipsis)
    return tuple(index), basic


class ndarray(NDArray):  # noqa: N801  NumPy's name
    """An array of mx.np. Made by ``mx.np.array`` and its kin, or of an NDArray by ``as_np_ndarray``, which shares its memory.

    Source: MXNet mx.np.ndarray; what its operators, indices and methods mean is NumPy's."""

    __slots__ = ()

    # -- the two faces --------------------------------------------------------------------------------------------------

    def as_np_ndarray(self) -> ndarray:
        return self

    def as_nd_ndarray(self) -> NDArray:
        """The same memory and history as an NDArray of mx.nd."""
        return with_face(self, NDArray)

    # -- what it is -----------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        """NumPy's text, with the dtype where it is not float32, and the device where it is not the CPU."""
        text = repr(self._read())
        dtype = self._dtype
        if "dtype=" in text and dtype == np.float32:
            text = text[: text.rindex(",")].rstrip() + ")"
        elif "dtype=" not in text and dtype == np.float64:
            text = f"{text[:-1]}, dtype=float64)"
        if self._ctx.device_type == "cpu":
            return text
        return f"{text[:-1]}, ctx={self._ctx})"

    def __str__(self) -> str:
        return str(self._read())

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if self.size == 1 and self.ndim == 0 else format(str(self), spec)

    def __bool__(self) -> bool:
        if self.size != 1 and self.size:
            raise ValueError("The truth value of an ndarray with multiple elements is ambiguous.")
        return bool(self._read().item()) if self.size else False

    def __float__(self) -> float:
        return float(self._single())

    def __int__(self) -> int:
        return int(self._single())

    def __index__(self) -> int:
        return operator.index(self._single())

    def _single(self) -> Any:
        if self.size != 1:
            raise TypeError("only size-1 arrays can be converted to Python scalars")
        return self._read().item()

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        if not self.ndim:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(len(self)))

    def __hash__(self) -> int:
        return id(self) // 16

    @property
    def T(self) -> Any:  # noqa: N802  NumPy's name
        return self.transpose()

    @property
    def dtype(self) -> np.dtype:
        return self._dtype

    def item(self, *args: Any) -> Any:
        """An element as a Python number: the only one, or that at an index (flat, or one number an axis)."""
        return self._read().item(*args)

    def asscalar(self) -> Any:
        """Raises AttributeError: arrays of mx.np have item."""
        raise AttributeError("mxnet.numpy.ndarray object has no attribute asscalar")

    def tolist(self) -> Any:
        return self._read().tolist()

    def asnumpy(self) -> np.ndarray:
        """A NumPy array with a copy of the values, which it waits for."""
        return self._read().copy()

    # -- to and fro -----------------------------------------------------------------------------------------------------

    def astype(
        self, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True
    ) -> Any:
        """The values in another dtype; without copy the array itself where it has that already.

        Raises ValueError for an order, casting or subok that there is not."""
        for name, given, wanted in (("order", order, "K"), ("casting", casting, "unsafe"), ("subok", subok, True)):
            if given != wanted and not (name == "order" and given in ("A", "C")):
                raise ValueError(f"astype: {name} must be {wanted!r}, got {given!r}")
        kind = array_dtype(dtype)
        if not copy and kind == self._dtype:
            return self
        return invoke(Cast.bind(dtype=kind), [self])

    def copy(self, order: str = "C") -> Any:
        """A copy. Raises NotImplementedError for an order other than C."""
        if order != "C":
            raise NotImplementedError(f"ndarray.copy only supports order='C', got {order!r}")
        return invoke(_COPY, [self])

    def copyto(self, other: Any) -> Any:
        """Copy the values into another array, or into a new one on a device."""
        if isinstance(other, NDArray) and type(other) is not ndarray:
            raise TypeError(f"copyto does not support type {type(other)}; wanted an mx.np.ndarray or a Context")
        if not isinstance(other, NDArray | Context):
            raise TypeError(f"copyto does not support type {type(other)}")
        return NDArray.copyto(self, other)

    # -- parts ----------------------------------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> Any:
        index, basic = read_np_key(key)
        recording = STATE.recording and self._origin is not None
        if not recording:
            memory = self._storage() if basic else self._read()
            part = memory[index]
            if basic and part.flags.c_contiguous:
                return self._view(part)
            self.wait_to_read()
            return ndarray._own(np.array(part, order="C"), self._ctx)
        if not basic:
            places = np.array(np.arange(self.size).reshape(self.shape)[index], order="C")
            return invoke(Take.bind(axis=0, mode="clip"), [self.reshape(-1), ndarray._own(places, self._ctx)])
        used = sum(p is not None and p is not Ellipsis for p in index)
        if used > self.ndim:
            raise IndexError(f"too many indices for array: array is {self.ndim}-dimensional, but {used} were indexed")
        found = slicing(index, self.shape)
        if found is None:
            return ndarray._own(self._read()[index].copy(), self._ctx)
        wanted = self._storage()[index].shape
        sliced = invoke(Slice.bind(**found[0]), [self]) if self.ndim else self
        return (
            sliced
            if sliced.shape == wanted and sliced is not self
            else sliced._alias(NumpyReshape.bind(newshape=wanted))
        )

    def __setitem__(self, key: Any, value: Any) -> None:
        index, _ = read_np_key(key)
        if isinstance(value, NDArray) and type(value) is not ndarray:
            raise TypeError(
                "mx.np.ndarray: got an NDArray of mx.nd to assign; make it one of mx.np with as_np_ndarray()"
            )
        if STATE.recording:
            if self._origin is not None:
                raise MXNetError(
                    "Assigning to NDArrays that are already in a computational graph will cause undefined behavior when "
                    "evaluating gradients. Please call backward first to clear the graph or do this out side of a record section."
                )
            if isinstance(value, NDArray) and value._origin is not None:
                raise MXNetError(
                    "Inplace operations (+=, -=, x[:]=, etc) are not supported when recording with autograd."
                )
        self._assign(index, value)


_COPY = Copy.bind()
ndarray._face = ndarray
DENSE.add(ndarray)
