"""Arrays whose memory is a device's. NumPy's functions on them run on the device, and nothing reads them unasked."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np

from ..core.error import MXNetError


class LeavesDevice(TypeError):
    """Something wanted values of a device's memory, or a function that the device does not have. Who called has to copy first."""


class DeviceError(MXNetError):
    """A device has failed, maybe some time ago: what has run since then may not have."""


class DeviceArray(np.lib.mixins.NDArrayOperatorsMixin):
    """An array in a device's memory, made by Device.upload, Device.empty, and what is computed of such.

    Indexing with numbers and slices gives views. ``__array__`` and whatever else would read a value raises LeavesDevice:
    Device.download copies."""

    __slots__ = ("__weakref__", "device", "dtype", "memory", "shape")

    device: Any
    """The Device (base.py) that has the memory."""
    memory: Any
    """Memory as the device has it."""
    shape: tuple[int, ...]
    dtype: np.dtype

    def __init__(self, device: Any, memory: Any):
        self.device, self.memory = device, memory
        self.shape, self.dtype = tuple(memory.shape), np.dtype(memory.dtype)

    def __repr__(self) -> str:
        return f"DeviceArray({self.device}, {self.dtype}{list(self.shape)})"

    # -- what it is -----------------------------------------------------------------------------------------------------

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        return tuple(self.memory.strides)

    @property
    def flags(self) -> Any:
        """Those of the layout: c_contiguous, f_contiguous."""
        return self.memory.flags

    @property
    def address(self) -> int:
        """Address of its first element."""
        return self.device.address(self)

    @property
    def is_part(self) -> bool:
        """True where it is part of a larger array's memory."""
        return self.device.owned_bytes(self) > self.nbytes

    @property
    def T(self) -> DeviceArray:  # noqa: N802  NumPy's name
        return self.device.method("transpose", self, (), {})

    @property
    def real(self) -> DeviceArray:
        return np.real(self)

    @property
    def imag(self) -> DeviceArray:
        return np.imag(self)

    # -- NumPy ----------------------------------------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        return self.device.ufunc(ufunc, method, inputs, options)

    def __array_function__(self, function: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
        return self.device.function(function, args, kwargs)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        raise LeavesDevice(f"an array on {self.device} is not converted unasked")

    def _refuse(self, *args: Any) -> NoReturn:
        raise LeavesDevice(f"a value on {self.device} is not read unasked")

    __bool__ = __float__ = __int__ = __index__ = __complex__ = _refuse
    item = tolist = tobytes = _refuse

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self) -> Iterator[DeviceArray]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, key: Any) -> DeviceArray:
        return self.device.part(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.device.assign(self, key, value)

    def astype(
        self, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True
    ) -> Any:
        """The values in another dtype, cast as C does; without copy the array itself where it has that already."""
        if not copy and np.dtype(dtype) == self.dtype:
            return self
        return self.device.method("astype", self, (np.dtype(dtype),), {})

    def sum(self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        return np.sum(self, axis=axis, dtype=dtype, out=out, keepdims=keepdims)  # by name, as the device takes it


def _forward(name: str) -> Callable[..., Any]:
    def method(self: DeviceArray, *args: Any, **kwargs: Any) -> Any:
        return self.device.method(name, self, args, kwargs)

    method.__name__ = name
    return method


for _name in [
    "all",
    "any",
    "argmax",
    "argmin",
    "argpartition",
    "argsort",
    "clip",
    "conj",
    "copy",
    "cumprod",
    "cumsum",
    "diagonal",
    "dot",
    "fill",
    "flatten",
    "max",
    "mean",
    "min",
    "nonzero",
    "partition",
    "prod",
    "ptp",
    "put",
    "ravel",
    "repeat",
    "reshape",
    "round",
    "sort",
    "squeeze",
    "std",
    "swapaxes",
    "take",
    "trace",
    "transpose",
    "var",
    "view",
]:
    setattr(DeviceArray, _name, _forward(_name))
