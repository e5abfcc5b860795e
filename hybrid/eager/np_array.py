"""``mx.np.ndarray``: the second face of arrays. Memory, history and engine are NDArray's; what differs is what Python's operators,
indices and methods mean: NumPy's, not those of mx.nd.

Methods that are functions of mx.np are put here by np_functions/methods.py.
"""

from __future__ import annotations

import math
import operator
import re
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..core.error import MXNetError
from ..device.memory import compact
from ..execution.context import Context
from ..ops.casting import Cast
from ..ops.elementwise import Copy
from ..ops.indexing import Take
from ..ops.shape import ExpandDims, NumpyReshape
from ..ops.slicing import Slice
from .array import DENSE, NDArray, invoke, record, with_face
from .dispatch import array_dtype, specialize
from .indexing import gather, gather_numbers, slicing
from .np_indexing import leading_places, masking, plain_key, read_mask, read_np_key
from .tape import STATE


class ndarray(NDArray):  # noqa: N801  NumPy's name
    """An array of mx.np. Made by ``mx.np.array`` and its kin, or of an NDArray by ``as_np_ndarray``, which shares its memory.

    Source: MXNet mx.np.ndarray; what its operators, indices and methods mean is NumPy's.

    Examples
    --------
    >>> from gluonnx import mx
    >>> x = mx.np.array([[1, 2], [3, 4]])
    >>> x[0] * 2, x.T.shape, x.sum()
    (array([2., 4.]), (2, 2), array(10.))
    >>> mx.nd.ones((2,)).as_np_ndarray()
    array([1., 1.])
    """

    __slots__ = ()

    # -- the two faces --------------------------------------------------------------------------------------------------

    def as_np_ndarray(self) -> ndarray:
        return self

    def as_nd_ndarray(self) -> NDArray:
        """The same memory and history as an NDArray of mx.nd."""
        return with_face(self, NDArray)

    # -- what it is -----------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        """NumPy's text, with the dtype where it is neither float32 nor bool, and the device where it is not the CPU."""
        text = repr(self._read())
        dtype = self._dtype
        if self.size:  # which newer NumPys tell of arrays that they do not show in full
            text = _SHAPE.sub("", text)
        if "dtype=" in text:
            if dtype == np.float32:
                text = text[: text.rindex(",")] + ")"
        elif dtype not in (np.float32, np.bool_):
            text = f"{text[:-1]}, dtype={dtype})"
        if self._ctx.device_type == "cpu":
            return text
        return f"{text[:-1]}, ctx={self._ctx})"

    def __str__(self) -> str:
        text = str(self._read())
        return text if self._ctx.device_type == "cpu" or not self.ndim else f"{text} @{self._ctx}"

    def __format__(self, spec: str) -> str:
        """A single number as Python formats it. Raises TypeError for a format of an array with axes."""
        if not self.ndim:
            return format(self.item(), spec)
        if spec:
            raise TypeError("Cannot format mxnet.numpy.ndarray with format_spec")
        return str(self)

    def __bool__(self) -> bool:
        if not self.size:
            warnings.warn(
                "The truth value of an empty array is ambiguous. Returning False, but in future this will result in an error.",
                DeprecationWarning,
                stacklevel=2,
            )
            return False
        if self.size != 1:
            raise ValueError("The truth value of an ndarray with multiple elements is ambiguous.")
        return bool(self._read().item())

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
    def dtype(self) -> np.dtype:
        return self._dtype

    def item(self, *args: Any) -> Any:
        """An element as a Python number: the only one, or that at an index (flat, or one number an axis)."""
        return self._read().item(*args)

    def tolist(self) -> Any:
        """The elements as nested lists of Python's numbers.

        Examples
        --------
        >>> from gluonnx import mx
        >>> mx.np.array([[1, 2], [3, 4]]).tolist()
        [[1.0, 2.0], [3.0, 4.0]]
        """
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
        check_cast(order, casting, subok)
        kind = array_dtype(dtype)
        if not copy and kind == self._dtype:
            return self
        return invoke(Cast.bind(dtype=kind), [self])

    def copy(self, order: str = "C") -> Any:
        """A copy. Raises NotImplementedError for an order other than C."""
        if order != "C":
            raise NotImplementedError(f"ndarray.copy only supports order='C', while received {order}")
        return invoke(_COPY, [self])

    def copyto(self, other: Any) -> Any:
        """Copy the values into another array, or into a new one on a device; False where the other is the array itself.

        Raises TypeError for anything but an array of mx.np or a context."""
        if not isinstance(other, ndarray | Context):
            raise TypeError(f"copyto does not support type {type(other)}")
        return NDArray.copyto(self, other) if other is not self else NDArray.copyto(self, other) is None

    def as_in_ctx(self, ctx: Context) -> Any:
        """The array on a device: itself where it is there already."""
        return self.as_in_context(ctx)

    # -- parts ----------------------------------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> Any:
        plain = plain_key(key, self.ndim)
        if plain is not None and not (STATE.recording and self._origin is not None):
            return self if key == _ALL else self._part(self._storage()[plain])
        mask = read_mask(key)
        if mask is None:
            if type(key) is tuple and not key:
                return self
            if not self.ndim:
                raise IndexError("scalar tensor can only accept `()` as index")
            if type(key) is slice and key == _ALL:
                return self
        wanted = read_np_key(key, self.shape) if mask is None else masking(mask, self.shape)
        index, basic, front = wanted
        if STATE.recording and self._origin is not None:
            found = self._index_recording(index, basic)
        elif basic:
            found = self._part(self._storage()[index])
        else:
            found = ndarray._own(compact(gather(self._settled(), index)), self._ctx)
        if front is None:
            return found
        return found._alias(ExpandDims.bind(axis=0)) if front else found._nothing((0, *found.shape))

    def _part(self, part: Any) -> ndarray:
        """Part of the memory as an array: a view where it lies in one piece, else a copy."""
        if part.flags.c_contiguous:
            return self._view(part)  # type: ignore[return-value]
        self._settled()
        return ndarray._own(compact(part), self._ctx)

    def _nothing(self, shape: tuple[int, ...]) -> ndarray:
        """An array of no elements."""
        return ndarray._own(np.empty(shape, self._dtype), self._ctx)

    def _index_recording(self, index: Any, basic: bool) -> Any:
        """self[index] by operators, so that the tape knows of it. Views share memory here, too."""
        part = self._storage()[index] if basic else None
        if part is not None:
            found = slicing(index, self.shape)
            if found is not None:
                slice_ = Slice.bind(**found[0])
                if part.flags.c_contiguous:
                    known = (self.shape, self._dtype)
                    specs = (slice_.calls.get(known) or specialize(slice_, known)).specs
                    sliced = self._view(part.reshape(specs[0].shape))  # type: ignore[arg-type]
                    record(slice_, [self], [sliced], specs)
                else:
                    sliced = invoke(slice_, [self])
                return sliced if sliced.shape == part.shape else sliced._alias(NumpyReshape.bind(newshape=part.shape))
        leading = None if basic else leading_places(index, self.shape)
        if leading is None:
            places = gather_numbers(index, self.shape) if part is None else np.empty(part.shape, np.int64)
            return invoke(Take.bind(axis=0, mode="clip"), [self._in_shape((-1,)), self._beside(places)])
        count, places = leading
        rows = self if count == 1 else self._in_shape((math.prod(self.shape[:count]), *self.shape[count:]))
        return invoke(Take.bind(axis=0, mode="clip"), [rows, self._beside(places)])

    def _in_shape(self, shape: tuple[int, ...]) -> NDArray:
        """The same memory and history in another shape."""
        if shape == (-1,):
            shape = (self.size,)
        return self._alias(NumpyReshape.bind(newshape=shape))

    def _beside(self, values: np.ndarray) -> ndarray:
        """An array of these values on the same device."""
        return ndarray._own(np.array(values, order="C"), self._ctx)

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(value, NDArray) and type(value) is not ndarray:
            raise TypeError("Cannot assign mx.nd.NDArray to mxnet.numpy.ndarray")
        plain = plain_key(key, self.ndim)
        mask = None if plain is not None else read_mask(key)
        if mask is None and not self.ndim:
            if not (type(key) is tuple and not key):
                raise IndexError("scalar tensor can only accept `()` as index")
            if isinstance(value, list | tuple):
                raise ValueError("setting an array element with a sequence.")
        if plain is not None:
            index, basic, front = plain, True, None
        else:
            index, basic, front = read_np_key(key, self.shape) if mask is None else masking(mask, self.shape)
        if front is False:
            return
        if not isinstance(value, NDArray | np.ndarray | list | tuple | int | float | np.generic):
            raise TypeError(
                f"mxnet.np.ndarray does not support assignment with non-array-like object {value} of type {type(value)}"
            )
        if STATE.recording and self._assign_recording(index, value):
            return
        if not basic and None in [part for part in index if part is None]:
            index = np.unravel_index(gather_numbers(index, self.shape), self.shape)
        try:
            self._assign(index, value)
        except ValueError as error:
            count = value.size if isinstance(value, NDArray) else np.size(value)
            if count or self._storage()[index].size:  # nothing may be put into nothing in any shape
                raise MXNetError(str(error)) from None


def check_cast(order: Any, casting: str, subok: bool) -> None:
    """Raise ValueError for what astype does not know."""
    if order is not None and order not in ("K", "C"):
        raise ValueError("order must be either 'K' or 'C'")
    if casting != "unsafe":
        raise ValueError("casting must be equal to 'unsafe'")
    if not subok:
        raise ValueError("subok must be equal to True")


_ALL = slice(None)
_SHAPE = re.compile(r",\s*shape=\([\d, ]*\)")
_COPY = Copy.bind()
ndarray._face = ndarray
DENSE.add(ndarray)
