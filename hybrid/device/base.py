"""Device: what a device has to be able to do, and what all of them do alike.

A device has two streams: COMPUTE, in which everything runs in the order of the calls, and COPY, on which data come in
meanwhile. Calls
return before the work is done; what fails then is raised by whoever waits next (``synchronize``, ``download``)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ..core.error import MXNetError, OutOfMemory
from .array import DeviceArray, LeavesDevice

COMPUTE, COPY = "compute", "copy"
STAGED = 1 << 16
"""Bytes from which what comes in goes by way of the other stream: below, two more calls cost more than they save."""
LARGEST_STAGED = 1 << 26
"""Bytes up to which it does: what is larger, weights mostly, would need its memory twice."""
IN_FLIGHT = 4
"""Copies that may be on their way in; the next one waits for the first."""
CONSTANT = 1 << 20
"""Bytes of the largest array that an operator may make of its attributes and mix with a device's."""
CONSTANTS = 256
"""Number of such arrays that stay on a device, the oldest dropped."""

_WRITING = frozenset(("copyto", "put", "place", "putmask", "put_along_axis", "fill_diagonal"))
"""Functions of NumPy that write to their first argument."""
_REDUCED = {
    "add": "sum",
    "multiply": "prod",
    "maximum": "max",
    "minimum": "min",
    "logical_and": "all",
    "logical_or": "any",
}
"""Functions that are a ufunc's reduction."""
_IGNORING_NAN = {"fmax": np.maximum, "fmin": np.minimum}
"""Ufuncs that take a number before NaN, and those that they are when there is none."""


@dataclass
class Counters:
    """Counts of a device's work. Bytes of memory are those in use now, and at most."""

    uploads: int = 0
    uploaded_bytes: int = 0
    downloads: int = 0
    downloaded_bytes: int = 0
    constants: int = 0
    """Uploads of arrays that operators made of their attributes."""
    copies: int = 0
    """From one place of the device to another, or from another device."""
    launches: int = 0
    """Functions and kernels, one by one;"""
    replays: int = 0
    """graphs of them."""
    synchronizations: int = 0
    allocations: int = 0
    live_bytes: int = 0
    peak_bytes: int = 0

    def since(self, before: Counters) -> Counters:
        """The differences to what was counted before (a copy: ``dataclasses.replace(counters)``)."""
        return Counters(**{f.name: getattr(self, f.name) - getattr(before, f.name) for f in fields(self)})


class Captured:
    """Work of a device that was recorded, to be run again on the same memory, as one call."""

    def replay(self) -> None:
        """Run it again. What it reads are the arrays that it read when it was recorded, as they are now."""
        raise NotImplementedError


class Device:
    """A device: subclasses say how. Safe for several threads as far as CuPy is: one thread at a time uses an array."""

    kind = ""
    """Word for such devices, in messages: "cuda", "mock"."""

    def __init__(self, number: int):
        self.number = number
        self.counters = Counters()
        self._staging: deque[tuple[Any, Any]] = deque()
        self._constants: dict[tuple[Any, ...], DeviceArray] = {}
        self.capturing = False
        """True while work is recorded: nothing may be copied from the host or waited for."""

    def __repr__(self) -> str:
        return f"gpu({self.number})"

    # -- what subclasses do ---------------------------------------------------------------------------------------------

    def _allocate(self, shape: tuple[int, ...], dtype: np.dtype, stream: str) -> Any:
        """Memory whose use begins on this stream. Raises OutOfMemory."""
        raise NotImplementedError

    def _write(self, memory: Any, host: np.ndarray, stream: str) -> None:
        """Copy a contiguous host array over contiguous memory; the host array may change as soon as this returns."""
        raise NotImplementedError

    def _read(self, memory: Any) -> np.ndarray:
        """A host array that has, once COMPUTE has done all work, what contiguous memory holds."""
        raise NotImplementedError

    def _move(self, target: Any, source: Any) -> None:
        """Copy memory of one shape and dtype over other memory, on COMPUTE."""
        raise NotImplementedError

    def _record(self, stream: str) -> Any:
        """An event that has happened when everything that the stream was given so far is done."""
        raise NotImplementedError

    def _wait(self, stream: str, event: Any) -> None:
        """Have a stream wait for an event."""
        raise NotImplementedError

    def _happened(self, event: Any, wait: bool) -> bool:
        """True where an event has happened; ``wait`` for it, if so."""
        raise NotImplementedError

    def _owner(self, memory: Any) -> tuple[int, int]:
        """Address and bytes of the allocation that memory is in."""
        raise NotImplementedError

    def _address(self, memory: Any) -> int:
        raise NotImplementedError

    def _is_memory(self, value: Any) -> bool:
        """True for what ``_call`` may give that is an array."""
        raise NotImplementedError

    def _call(self, name: str, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Run the device's own function of this name in the place of NumPy's, on COMPUTE, with memory for arrays. Raises
        LeavesDevice where it has none, or not with these arguments."""
        raise NotImplementedError

    def kernel(self, source: str, name: str) -> Callable[..., None]:
        """A kernel of our own: ``run(grid, block, arguments, shared_bytes)`` with DeviceArrays, and NumPy's scalars, as
        arguments."""
        raise NotImplementedError

    @property
    def has_kernels(self) -> bool:
        """True where kernels of our own run."""
        return False

    def _capture(self, run: Callable[[], Any]) -> tuple[Any, Captured]:
        raise NotImplementedError

    def _finish(self) -> None:
        """Return when all work is done. Raises DeviceError for what has failed."""
        raise NotImplementedError

    def memory_info(self) -> tuple[int, int]:
        """Bytes that are free, and that there are."""
        raise NotImplementedError

    def release_memory(self) -> int:
        """Give memory that is kept for the next arrays back to the system; gives its size in bytes."""
        self._constants.clear()
        return 0

    def dlpack(self, array: DeviceArray, stream: Any = None) -> Any:
        """A DLPack capsule of the memory. Raises BufferError where there is nothing that others could read."""
        raise BufferError(f"{self}: memory of a {self.kind} device cannot be shared")

    def synchronize(self) -> None:
        """Return when all work is done. Raises DeviceError for what has failed."""
        self.counters.synchronizations += 1
        try:
            self._finish()
        finally:
            self._staging.clear()

    # -- memory ---------------------------------------------------------------------------------------------------------

    def takes_dtype(self, dtype: np.dtype) -> bool:
        """True for what the device's memory can hold."""
        return dtype.kind in "biuf" or dtype.name == "bfloat16"

    def empty(self, shape: tuple[int, ...], dtype: Any) -> DeviceArray:
        """Memory that holds anything. Raises OutOfMemory."""
        return DeviceArray(self, self._allocate(tuple(shape), np.dtype(dtype), COMPUTE))

    def full(self, shape: tuple[int, ...], value: Any, dtype: Any) -> DeviceArray:
        """Memory that holds one number everywhere; nothing is copied to the device."""
        made = self.empty(shape, dtype)
        if made.size:
            made[...] = made.dtype.type(value)
        return made

    def upload(self, host: np.ndarray) -> DeviceArray:
        """A copy of a host array. Large ones travel while the device computes."""
        host = np.asarray(host, order="C")
        self.counters.uploads += 1
        self.counters.uploaded_bytes += host.nbytes
        return self._upload(host)

    def _upload(self, host: np.ndarray) -> DeviceArray:
        if not self.takes_dtype(host.dtype):
            raise MXNetError(f"{self}: an array of dtype {host.dtype} cannot live there; wanted numbers or bool")
        if self.capturing:
            raise LeavesDevice(f"{self}: nothing comes in while a graph is recorded")
        made = self.empty(host.shape, host.dtype)
        self._bring(made, host)
        return made

    def _bring(self, target: DeviceArray, host: np.ndarray) -> None:
        """Copy a contiguous host array over a contiguous array of its shape and dtype."""
        if not host.nbytes:
            return
        staging = None
        if STAGED <= host.nbytes <= LARGEST_STAGED:
            while self._staging and self._happened(self._staging[0][0], len(self._staging) >= IN_FLIGHT):
                self._staging.popleft()
            with suppress(OutOfMemory):
                staging = self._allocate(host.shape, host.dtype, COPY)
        if staging is None:
            self._write(target.memory, host, COMPUTE)
            return
        self._write(staging, host, COPY)
        self._wait(COMPUTE, self._record(COPY))
        self._move(target.memory, staging)
        self._staging.append((self._record(COMPUTE), staging))  # held until it has been read

    def download(self, array: DeviceArray) -> np.ndarray:
        """A host array with a copy of the values, which it waits for. Raises DeviceError for what has failed before."""
        if self.capturing:
            raise LeavesDevice(f"{self}: nothing is read while a graph is recorded")
        self.counters.downloads += 1
        self.counters.downloaded_bytes += array.nbytes
        if not array.flags.c_contiguous:
            array = self.duplicate(array)
        found = self._read(array.memory)
        self.synchronize()
        return found

    def duplicate(self, array: DeviceArray) -> DeviceArray:
        """A contiguous copy in memory of its own."""
        made = self.empty(array.shape, array.dtype)
        if made.size:
            self.counters.copies += 1
            self._move(made.memory, array.memory)
        return made

    def receive(self, array: DeviceArray) -> DeviceArray:
        """A copy of an array of another device, by way of the host."""
        return self.upload(array.device.download(array))

    def address(self, array: DeviceArray) -> int:
        return self._address(array.memory)

    def owner(self, array: DeviceArray) -> int:
        """Address of the memory that the array is part of: arrays that share memory have the same."""
        return self._owner(array.memory)[0]

    def owned_bytes(self, array: DeviceArray) -> int:
        return self._owner(array.memory)[1]

    # -- NumPy ----------------------------------------------------------------------------------------------------------

    def _inside(self, value: Any) -> Any:
        """An argument as the device's functions take it. Raises LeavesDevice for what would have to be copied unasked."""
        if isinstance(value, DeviceArray):
            if value.device is not self:
                raise MXNetError(f"got arrays on {self} and on {value.device}; copy one with as_in_context")
            return value.memory
        if isinstance(value, np.ndarray):
            return self._constant(value).memory
        if isinstance(value, tuple | list):
            return type(value)(map(self._inside, value)) if not hasattr(value, "_fields") else value
        return value

    def _constant(self, host: np.ndarray) -> DeviceArray:
        """An array that an operator has made of its attributes, on the device; nobody writes to it."""
        if host.nbytes > CONSTANT or not self.takes_dtype(host.dtype):
            raise LeavesDevice(f"mixed with an array of {host.nbytes} bytes that is not on {self}")
        key = host.shape, host.dtype, host.tobytes()
        found = self._constants.get(key)
        if found is None:
            self.counters.constants += 1
            found = self._constants[key] = self._upload(np.asarray(host, order="C"))
            if len(self._constants) > CONSTANTS:
                self._constants.pop(next(iter(self._constants)))
        return found

    def _outside(self, value: Any) -> Any:
        """Results of the device's functions, as arrays."""
        if self._is_memory(value):
            return DeviceArray(self, value)
        if isinstance(value, tuple | list):
            made = [self._outside(v) for v in value]
            return made if isinstance(value, list) else tuple(made)
        return value

    def _target(self, value: Any) -> None:
        """Raise LeavesDevice where a function would write to an array that is not on the device."""
        for part in value if isinstance(value, tuple | list) else (value,):
            if isinstance(part, np.ndarray):
                raise LeavesDevice(f"writes from {self} to an array that is not there")

    def _run(self, name: str, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        inner = [self._inside(a) for a in args]
        options = {k: self._inside(v) for k, v in kwargs.items()}
        self.counters.launches += 1
        return self._outside(self._call(name, function, inner, options))

    def ufunc(self, ufunc: np.ufunc, method: str, inputs: Sequence[Any], options: Mapping[str, Any]) -> Any:
        """A ufunc of NumPy, or one of its methods, on the device."""
        out = options.get("out")
        if isinstance(out, tuple) and len(out) == 1:
            out = out[0]
        self._target(out)
        if method == "at":
            self._target(inputs[0])
        options = {k: v for k, v in options.items() if k != "out"} | ({} if out is None else {"out": out})
        name = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
        if method == "reduce" and ufunc.__name__ in _IGNORING_NAN and options.get("initial") is not None:
            number = options["initial"]
            inputs = [np.where(np.isnan(inputs[0]), inputs[0].dtype.type(number), inputs[0])]
            ufunc = _IGNORING_NAN[ufunc.__name__]
        if method == "reduce" and ufunc.__name__ in _REDUCED and len(inputs) == 1:
            options.setdefault("axis", 0)
            return self.function(getattr(np, _REDUCED[ufunc.__name__]), inputs, options)
        result = self._run(name, ufunc, inputs, options)
        return result if out is None else out

    def function(self, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """A function of NumPy on the device."""
        name = f"{function.__module__}.{function.__name__}".removeprefix("numpy.")
        name = name.replace("lib._stride_tricks_impl", "lib.stride_tricks")
        if name.rsplit(".")[-1] in _WRITING and args:
            self._target(args[0])
        self._target(kwargs.get("out"))
        if name in ("shape", "ndim", "size") and not kwargs and len(args) == 1:
            return getattr(args[0], name)
        if name in ("max", "min") and kwargs.get("initial") is not None:
            return self._extreme(name, function, args, kwargs)
        result = self._run(name, function, args, kwargs)
        return kwargs["out"] if kwargs.get("out") is not None else result

    def _extreme(self, name: str, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """max or min with a number to begin from, which CuPy's have not."""
        rest = {k: v for k, v in kwargs.items() if k != "initial"}
        if not args[0].size:
            raise LeavesDevice(f"{name} of nothing")
        found = self._run(name, function, args, rest)
        return (np.maximum if name == "max" else np.minimum)(found, found.dtype.type(kwargs["initial"]))

    def method(self, name: str, array: DeviceArray, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """A method of arrays. Raises LeavesDevice where there is none."""
        self._target(kwargs.get("out"))
        return self._run(f"ndarray.{name}", getattr(np.ndarray, name, None), (array, *args), kwargs)

    def part(self, array: DeviceArray, key: Any) -> DeviceArray:
        """array[key]: a view for numbers and slices. Raises IndexError for what is not there."""
        self._check_places(array, key)
        return self._run("ndarray.__getitem__", np.ndarray.__getitem__, (array, key), {})

    def assign(self, array: DeviceArray, key: Any, value: Any) -> None:
        """array[key] = value, of the host, of the device, or of another one: broadcast, and cast as C does."""
        self._check_places(array, key)
        if isinstance(value, DeviceArray) and value.device is not self:
            value = self.receive(value)
        if isinstance(value, np.ndarray) and not value.ndim:
            value = value.astype(array.dtype, copy=False)[()]
        if isinstance(value, np.ndarray):
            host = np.asarray(value.astype(array.dtype, copy=False), order="C")
            if key is Ellipsis and host.shape == array.shape and array.flags.c_contiguous and not self.capturing:
                self.counters.uploads += 1
                self.counters.uploaded_bytes += host.nbytes
                self._bring(array, host)
                return
            value = self.upload(host)
        if isinstance(value, DeviceArray) and value.dtype != array.dtype:
            value = value.astype(array.dtype)
        self._run("ndarray.__setitem__", np.ndarray.__setitem__, (array, key, value), {})

    @staticmethod
    def _check_places(array: DeviceArray, key: Any) -> None:
        """Raise IndexError for indices in host arrays that are beyond an axis: a GPU would not tell."""
        parts = key if isinstance(key, tuple) else (key,)
        if any(isinstance(p, np.ndarray | list) for p in parts) and not any(isinstance(p, DeviceArray) for p in parts):
            np.broadcast_to(np.False_, array.shape)[key]

    # -- graphs ---------------------------------------------------------------------------------------------------------

    def capture(self, run: Callable[[], Any]) -> tuple[Any, Captured]:
        """Results of ``run()``, and its work on the device to be run again. It must have run before, so that nothing is new.

        Raises LeavesDevice where it copies from the host, or reads."""
        with self._recording():
            return self._capture(run)

    @contextmanager
    def _recording(self) -> Iterator[None]:
        self.capturing = True
        try:
            yield
        finally:
            self.capturing = False
