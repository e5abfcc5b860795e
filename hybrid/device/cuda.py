"""GPUs, by CuPy (https://docs.cupy.dev, 13 or newer), which is imported when somebody asks for one.

Nothing here has run on a GPU yet; what it is made of has, on the mock device: see docs/gpu.md."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..core.error import OutOfMemory
from .array import DeviceError, LeavesDevice
from .base import COMPUTE, COPY, Captured, Device


class _Late:
    """CuPy, imported when something of it is asked for."""

    def __getattr__(self, name: str) -> Any:
        import cupy  # pyright: ignore[reportMissingImports]

        return getattr(cupy, name)


cupy: Any = _Late()
OPTIONS = ("--std=c++17", "--fmad=false")
"""For NVRTC. Nothing that trades accuracy for speed; where products are added up kernels say fmaf."""


def count() -> int:
    """Number of GPUs. Raises what CUDA says where there is no driver that fits."""
    return int(cupy.cuda.runtime.getDeviceCount())


class _Graph(Captured):
    """A CUDA graph, and the pool that has its memory."""

    def __init__(self, device: Cuda, graph: Any, pool: Any):
        self._device, self._graph, self._pool = device, graph, pool

    def replay(self) -> None:
        self._device.counters.replays += 1
        with self._device.entered(COMPUTE):
            self._graph.launch(self._device.streams[COMPUTE])


class Cuda(Device):
    """GPU number so much."""

    kind = "cuda"

    def __init__(self, number: int):
        super().__init__(number)
        self._device = cupy.cuda.Device(number)
        with self._device:
            self.streams = {name: cupy.cuda.Stream(non_blocking=True) for name in (COMPUTE, COPY)}
            self._pool = cupy.cuda.MemoryPool()
        self._pinned = cupy.cuda.PinnedMemoryPool()

    @contextmanager
    def entered(self, stream: str) -> Iterator[None]:
        """The device and one of its streams as CuPy's current ones; CUDA's errors as ours."""
        try:
            with self._device, cupy.cuda.using_allocator(self._pool.malloc), self.streams[stream]:
                yield
        except cupy.cuda.memory.OutOfMemoryError as error:
            free, total = self.memory_info()
            raise OutOfMemory(
                f"{self}: out of memory: {error}; {free} of {total} bytes are free; give smaller inputs, or drop arrays"
            ) from error
        except cupy.cuda.runtime.CUDARuntimeError as error:
            raise DeviceError(f"Check failed: e == cudaSuccess: CUDA: {error} ({self})") from error

    # -- memory ---------------------------------------------------------------------------------------------------------

    def _allocate(self, shape: tuple[int, ...], dtype: np.dtype, stream: str) -> Any:
        with self.entered(stream):
            return self._counted(cupy.empty(shape, dtype))

    def _counted(self, memory: Any) -> Any:
        counters = self.counters
        counters.allocations += 1
        counters.live_bytes = int(self._pool.used_bytes())
        counters.peak_bytes = max(counters.peak_bytes, counters.live_bytes)
        return memory

    def _write(self, memory: Any, host: np.ndarray, stream: str) -> None:
        with self.entered(stream):
            if stream == COMPUTE:  # small: CUDA has taken its own copy of pageable memory when this returns
                memory.data.copy_from_host_async(host.ctypes.data, host.nbytes, self.streams[stream])
                return
            pinned = self._pinned.malloc(host.nbytes)
            np.frombuffer(pinned, np.uint8, host.nbytes)[...] = host.reshape(-1).view(np.uint8)
            memory.data.copy_from_host_async(pinned.ptr, host.nbytes, self.streams[stream])
            event = self.streams[stream].record()
            self._staging.append((event, pinned))  # held until it has been read

    def _read(self, memory: Any) -> np.ndarray:
        with self.entered(COMPUTE):
            found = np.empty(memory.shape, memory.dtype)
            if found.nbytes:
                memory.data.copy_to_host_async(found.ctypes.data, found.nbytes, self.streams[COMPUTE])
            return found  # filled when the stream has been waited for

    def _move(self, target: Any, source: Any) -> None:
        with self.entered(COMPUTE):
            cupy.copyto(target, source)

    def _record(self, stream: str) -> Any:
        with self.entered(stream):
            return self.streams[stream].record()

    def _wait(self, stream: str, event: Any) -> None:
        with self.entered(stream):
            self.streams[stream].wait_event(event)

    def _happened(self, event: Any, wait: bool) -> bool:
        with self.entered(COMPUTE):
            if wait:
                event.synchronize()
            return bool(event.done)

    def _finish(self) -> None:
        for name, stream in self.streams.items():
            with self.entered(name):
                stream.synchronize()

    def _owner(self, memory: Any) -> tuple[int, int]:
        whole = memory.data.mem
        root = memory
        while root.base is not None:
            root = root.base
        return int(whole.ptr), int(root.nbytes)

    def _address(self, memory: Any) -> int:
        return int(memory.data.ptr)

    def _is_memory(self, value: Any) -> bool:
        return type(value) is cupy.ndarray

    def memory_info(self) -> tuple[int, int]:
        with self._device:
            free, total = cupy.cuda.runtime.memGetInfo()
        return int(free), int(total)

    def release_memory(self) -> int:
        super().release_memory()
        self.synchronize()
        before = int(self._pool.total_bytes())
        self._pool.free_all_blocks()
        self._pinned.free_all_blocks()
        return before - int(self._pool.total_bytes())

    def dlpack(self, array: Any, stream: Any = None) -> Any:
        self.synchronize()
        return array.memory.__dlpack__()

    # -- NumPy ----------------------------------------------------------------------------------------------------------

    def _call(self, name: str, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        own = _function(name)
        with self.entered(COMPUTE):
            try:
                return own(*args, **kwargs)
            except (TypeError, NotImplementedError, AttributeError) as error:
                raise LeavesDevice(f"CuPy's {name}: {error}") from error

    # -- kernels and graphs ---------------------------------------------------------------------------------------------

    @property
    def has_kernels(self) -> bool:
        return True

    def kernel(self, source: str, name: str) -> Callable[..., None]:
        function = _module(source).get_function(name)

        def run(grid: tuple[int, ...], block: tuple[int, ...], arguments: Sequence[Any], shared_bytes: int = 0) -> None:
            self.counters.launches += 1
            with self.entered(COMPUTE):
                function(grid, block, tuple(self._inside(a) for a in arguments), shared_mem=shared_bytes)

        return run

    def _capture(self, run: Callable[[], Any]) -> tuple[Any, Captured]:
        outer, self._pool = self._pool, cupy.cuda.MemoryPool()  # whose memory is the graph's as long as there is one
        try:
            stream = self.streams[COMPUTE]
            with self.entered(COMPUTE):
                stream.begin_capture()  # relaxed, so that the pool may ask for memory
                try:
                    made = run()
                finally:
                    graph = stream.end_capture()
            return made, _Graph(self, graph, self._pool)
        finally:
            self._pool = outer


@functools.cache
def _function(name: str) -> Callable[..., Any]:
    """CuPy's own function of a name such as "exp", "add.reduce", "linalg.svd" or "ndarray.sum". Raises LeavesDevice for none."""
    found: Any = cupy
    try:
        for part in name.split("."):
            found = getattr(found, part)
    except AttributeError as error:
        raise LeavesDevice(f"CuPy has no {name}") from error
    return found


@functools.cache
def _module(source: str) -> Any:
    return cupy.RawModule(code=source, options=OPTIONS)
