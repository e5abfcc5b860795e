"""Devices without hardware: what a GPU refuses is refused, what it does is counted, and what would be a race is an error.

Memory of a mock device is no NumPy array, and only Device.download reads it. It has CuPy's functions, as cupy.json has them
recorded, and no others. Every stream has a clock and every piece of memory the times at which streams have used it: work
that uses memory which another stream writes, or has still to read, without having waited for that, raises DeviceError.
Errors that come late are planted: ``fail_later``.

``with hybrid.device.registry.using(mocks(2)):`` gpu(0) and gpu(1) are such devices."""

from __future__ import annotations

import functools
import itertools
import json
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..core.error import OutOfMemory
from ..core.fp_warnings import ignoring_fp_warnings
from .array import DeviceError, LeavesDevice
from .base import COMPUTE, COPY, Captured, Counters, Device

_REDUCTIONS = {
    "reduce": ("add", "multiply"),
    "accumulate": ("add", "multiply"),
    "reduceat": ("add",),
    "at": ("add", "subtract", "maximum", "minimum", "bitwise_and", "bitwise_or", "bitwise_xor"),
    "outer": None,
}
"""Methods of ufuncs, and of which ufuncs CuPy has them (all where None)."""
_UFUNC_OPTIONS = frozenset(("out", "dtype", "casting"))
_WRITERS = frozenset(("copyto", "put", "place", "putmask", "put_along_axis", "fill_diagonal"))
_WRITING_METHODS = frozenset(("__setitem__", "fill", "put", "sort", "partition"))


@functools.cache
def _cupy() -> dict[str, Any]:
    """Functions of NumPy's API that CuPy has (tests/device/record_cupy.py)."""
    return json.loads((Path(__file__).parent / "cupy.json").read_text())


class _Block:
    """An allocation: how large, and when which stream has written to it and read it last."""

    __slots__ = ("__weakref__", "address", "nbytes", "reads", "written")

    def __init__(self, address: int, nbytes: int):
        self.address, self.nbytes = address, nbytes
        self.written: tuple[str, int] | None = None
        self.reads: dict[str, int] = {}


class _Memory:
    """An array in a block. What it holds is the mock's own affair."""

    __slots__ = ("block", "held")

    def __init__(self, held: np.ndarray, block: _Block):
        self.held, self.block = held, block

    shape = property(lambda self: self.held.shape)
    dtype = property(lambda self: self.held.dtype)
    strides = property(lambda self: self.held.strides)
    flags = property(lambda self: self.held.flags)


class _Stream:
    """The work of a stream, counted; how far it has seen others; and what has gone wrong in it."""

    def __init__(self) -> None:
        self.time = 0
        self.seen: dict[str, int] = {}
        self.failed: str | None = None


class _Recording(Captured):
    """Work to be done again, in order."""

    def __init__(self, device: Mock):
        self._device = device
        self._steps: list[Callable[[], None]] = []

    def add(self, step: Callable[[], None]) -> None:
        self._steps.append(step)

    def replay(self) -> None:
        self._device.counters.replays += 1
        for step in self._steps:
            step()


class Mock(Device):
    """A device of ``memory`` bytes."""

    kind = "mock"

    def __init__(self, number: int, memory: int = 1 << 30):
        super().__init__(number)
        self.total = memory
        self._streams = {COMPUTE: _Stream(), COPY: _Stream()}
        self._addresses = itertools.count(1 << 40, 1 << 32)
        self._recording_now: _Recording | None = None
        self._planned: str | None = None

    # -- what tests ask -------------------------------------------------------------------------------------------------

    def fail_later(self, what: str = "an illegal memory access was encountered") -> None:
        """Have the next function or kernel fail, of which nothing is heard before somebody waits."""
        self._planned = what

    # -- streams --------------------------------------------------------------------------------------------------------

    def _use(self, stream: str, reads: Sequence[_Block] = (), writes: Sequence[_Block] = ()) -> None:
        """Note that a stream uses memory. Raises DeviceError for a race."""
        now = self._streams[stream]
        now.time += 1
        for block in (*reads, *writes):
            if block.written is not None:
                self._want_seen(stream, *block.written, "written")
        for block in writes:
            for other, time in block.reads.items():
                self._want_seen(stream, other, time, "read")
            block.written = stream, now.time
            block.reads = {}
        for block in reads:
            block.reads[stream] = now.time

    def _want_seen(self, stream: str, other: str, time: int, what: str) -> None:
        if other != stream and self._streams[stream].seen.get(other, 0) < time:
            raise DeviceError(
                f"{self}: a race: stream {stream} uses memory that stream {other} may not have {what} yet"
            )

    def _record(self, stream: str) -> Any:
        return stream, self._streams[stream].time

    def _wait(self, stream: str, event: Any) -> None:
        seen, (other, time) = self._streams[stream].seen, event
        seen[other] = max(seen.get(other, 0), time)

    def _happened(self, event: Any, wait: bool) -> bool:
        return wait  # no earlier than it must: whoever takes it for granted is found

    def _finish(self) -> None:
        for name, stream in self._streams.items():
            for other, theirs in self._streams.items():
                if other != name:
                    stream.seen[other] = theirs.time
        for stream in self._streams.values():
            if stream.failed is not None:
                what, stream.failed = stream.failed, None
                raise DeviceError(f"Check failed: e == cudaSuccess: CUDA: {what} ({self})")

    # -- memory ---------------------------------------------------------------------------------------------------------

    def _new_block(self, nbytes: int) -> _Block:
        counters = self.counters
        if counters.live_bytes + nbytes > self.total:
            raise OutOfMemory(
                f"{self}: out of memory: {nbytes} bytes wanted, {self.total - counters.live_bytes} of {self.total} are free; "
                "give smaller inputs, or drop arrays"
            )
        block = _Block(next(self._addresses), nbytes)
        counters.allocations += 1
        counters.live_bytes += nbytes
        counters.peak_bytes = max(counters.peak_bytes, counters.live_bytes)
        weakref.finalize(block, _freed, counters, nbytes).atexit = False
        return block

    def _allocate(self, shape: tuple[int, ...], dtype: np.dtype, stream: str) -> Any:
        held = np.empty(shape, dtype)
        _spoil(held)
        return _Memory(held, self._new_block(held.nbytes))

    def _write(self, memory: Any, host: np.ndarray, stream: str) -> None:
        self._use(stream, writes=[memory.block])
        np.copyto(memory.held, host)

    def _read(self, memory: Any) -> np.ndarray:
        self._use(COMPUTE, reads=[memory.block])
        return memory.held.copy()

    def _move(self, target: Any, source: Any) -> None:
        def move() -> None:
            self._use(COMPUTE, [source.block], [target.block])
            np.copyto(target.held, source.held)

        move()
        if self._recording_now is not None:
            self._recording_now.add(move)

    def _owner(self, memory: Any) -> tuple[int, int]:
        return memory.block.address, memory.block.nbytes

    def _address(self, memory: Any) -> int:
        root = memory.held
        while root.base is not None and isinstance(root.base, np.ndarray):
            root = root.base
        data = "__array_interface__"
        return memory.block.address + getattr(memory.held, data)["data"][0] - getattr(root, data)["data"][0]

    def _is_memory(self, value: Any) -> bool:
        return isinstance(value, _Memory)

    def memory_info(self) -> tuple[int, int]:
        return self.total - self.counters.live_bytes, self.total

    # -- NumPy ----------------------------------------------------------------------------------------------------------

    def _call(self, name: str, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        method = _check(name, function, kwargs)
        blocks = [m.block for m in _memories((args, kwargs))]
        written = kwargs.get("out")
        if method in _WRITING_METHODS or name in _WRITERS or method == "at":
            written = args[0]
        targets = [m.block for m in _memories(written)]
        run = function if not isinstance(function, np.ufunc) or not method else getattr(function, method)
        inner, options = _opened(args), _opened(kwargs)

        def do() -> Any:
            self._use(COMPUTE, blocks, targets)
            if self._planned is not None:
                self._streams[COMPUTE].failed, self._planned = self._planned, None
            return ignoring_fp_warnings(lambda: run(*inner, **options))

        found = do()
        if name == "empty_like":
            _spoil(found)
        by_address = {id(_root(m.held)): m.block for m in _memories((args, kwargs))}
        made = self._closed(found, by_address)
        if self._recording_now is not None:
            fresh = [m for m in _memories(made) if id(_root(m.held)) not in by_address]

            def again() -> None:
                results = [r for r in _arrays(do())]
                for memory, result in zip(fresh, results):
                    np.copyto(memory.held, result)

            self._recording_now.add(again)
        return made

    def _closed(self, value: Any, blocks: Mapping[int, _Block]) -> Any:
        """Results in the device's memory: in that of an argument where they are views."""
        if isinstance(value, np.generic) or type(value) is bool:  # which are arrays in CuPy
            value = np.array(value)
        if isinstance(value, np.ndarray):
            block = blocks.get(id(_root(value)))
            if block is None:
                block = self._new_block(value.nbytes)
                block.written = COMPUTE, self._streams[COMPUTE].time
            return _Memory(value, block)
        if isinstance(value, tuple | list):
            made = [self._closed(v, blocks) for v in value]
            return made if isinstance(value, list) else tuple(made)
        return value

    # -- graphs ---------------------------------------------------------------------------------------------------------

    def _capture(self, run: Callable[[], Any]) -> tuple[Any, Captured]:
        self._recording_now = recording = _Recording(self)
        try:
            return run(), recording
        finally:
            self._recording_now = None


def mocks(count: int, memory: int = 1 << 30) -> list[Mock]:
    """As many devices, each with as many bytes of memory."""
    return [Mock(i, memory) for i in range(count)]


def _spoil(held: np.ndarray) -> None:
    """Fill memory that nobody has written to: whoever reads it sees that."""
    held[...] = 85 if held.dtype.kind in "biu" else np.nan


def _freed(counters: Counters, nbytes: int) -> None:
    counters.live_bytes -= nbytes


def _root(array: np.ndarray) -> np.ndarray:
    """The array that has the memory."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def _memories(value: Any) -> list[_Memory]:
    """All memory in arguments."""
    if isinstance(value, _Memory):
        return [value]
    if isinstance(value, Mapping):
        value = tuple(value.values())
    return [m for v in value for m in _memories(v)] if isinstance(value, tuple | list) else []


def _arrays(value: Any) -> list[np.ndarray]:
    """All arrays in results, as ``_closed`` takes them."""
    if isinstance(value, np.generic | np.ndarray) or type(value) is bool:
        return [np.asarray(value)]
    return [a for v in value for a in _arrays(v)] if isinstance(value, tuple | list) else []


def _opened(value: Any) -> Any:
    """Arguments with arrays in the place of memory."""
    if isinstance(value, _Memory):
        return value.held
    if isinstance(value, Mapping):
        return {k: _opened(v) for k, v in value.items()}
    if isinstance(value, tuple | list):
        made = [_opened(v) for v in value]
        return made if isinstance(value, list) else tuple(made)
    return value


def _check(name: str, function: Any, kwargs: Mapping[str, Any]) -> str:
    """The method in the name of a call ("" for none). Raises LeavesDevice for what CuPy does not have."""
    there = _cupy()
    first, _, method = name.partition(".")
    if first == "ndarray":
        if method not in there["methods"] and method not in ("__getitem__", "__setitem__"):
            raise LeavesDevice(f"CuPy has no ndarray.{method}")
        return method
    if isinstance(function, np.ufunc):
        known = first in there["ufuncs"] and (not method or _REDUCTIONS[method] is None or first in _REDUCTIONS[method])
        if not known or (not method and not kwargs.keys() <= _UFUNC_OPTIONS):
            raise LeavesDevice(f"CuPy has no {name} with {', '.join(kwargs) or 'no options'}")
        return method
    if name not in there["functions"]:
        raise LeavesDevice(f"CuPy has no {name}")
    takes = there["functions"][name]
    if takes is not None and not kwargs.keys() <= {*takes}:
        raise LeavesDevice(f"CuPy's {name} does not take {', '.join(kwargs.keys() - {*takes})}")
    return ""
