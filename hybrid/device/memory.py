"""Answers to what arrays ask of their memory, wherever it is: an array of NumPy on the host, or one of a device (array.py).

The one place that tells the two apart for those who do not care: arrays of users hold either and look into neither."""

from __future__ import annotations

from typing import Any

import numpy as np

from .array import DeviceArray


def is_far(memory: Any) -> bool:
    """True for memory of a device, which only copies read."""
    return type(memory) is DeviceArray


def on_host(memory: Any) -> Any:
    """The values as an array of NumPy: the memory itself where it is one, else a copy."""
    return memory.device.download(memory) if type(memory) is DeviceArray else memory


def host_copy(memory: Any) -> np.ndarray:
    """A copy of the values as an array of NumPy."""
    return memory.device.download(memory) if type(memory) is DeviceArray else memory.copy()


def device_copy(memory: Any, device: Any) -> Any:
    """A copy of the values on a device, from wherever they are."""
    return device.receive(memory) if type(memory) is DeviceArray else device.upload(memory)


def compact(part: Any) -> Any:
    """A contiguous copy of part of an array, where that is."""
    return part.device.duplicate(part) if type(part) is DeviceArray else np.array(part, order="C")


def put(target: Any, index: Any, value: Any) -> None:
    """target[index] = value, broadcast and cast to the dtype of target as MXNet does; a value on another device than target's
    has to be brought there before."""
    if type(target) is DeviceArray:
        target[index] = value if type(value) is DeviceArray else np.asarray(value)
        return
    with np.errstate(all="ignore"):
        target[index] = np.asarray(value).astype(target.dtype, copy=False)


def is_whole(memory: Any) -> bool:
    """True unless the memory is part of a larger array."""
    if type(memory) is DeviceArray:
        return not memory.is_part
    return not isinstance(memory.base, np.ndarray) or memory.base.size == memory.size


def layout(memory: Any) -> tuple[int, tuple[int, ...]]:
    """Address of the first element, and the strides: which part of a larger array the memory is."""
    if type(memory) is DeviceArray:
        return memory.address, memory.strides
    return memory.__array_interface__["data"][0], memory.strides


def capsule(memory: Any, **options: Any) -> Any:
    """The memory for other libraries, by DLPack. options: as ``numpy.ndarray.__dlpack__`` takes them; a device's needs none."""
    return memory.device.dlpack(memory) if type(memory) is DeviceArray else memory.__dlpack__(**options)


def synchronize(memory: Any) -> None:
    """Return when what was started on the memory's device is done."""
    if type(memory) is DeviceArray:
        memory.device.synchronize()
