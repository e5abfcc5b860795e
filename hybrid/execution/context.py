"""Devices: CPUs, and GPUs where there are some (hybrid/device)."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from typing import Any, ClassVar

from ..core.error import MXNetError
from ..core.scope import Scope
from ..device import registry
from ..device.base import Device
from .backends import release_memory

_OLD = "Context.default_ctx has been deprecated. Please use Context.current_context() instead."


class _DefaultContext(type):
    """The class of Context: what Context.default_ctx is, and that it can be set."""

    @property
    def default_ctx(cls) -> Context:
        """The current context, by its old name; setting it lasts to the end of the ``with`` block, or of the thread."""
        warnings.warn(_OLD, DeprecationWarning, stacklevel=2)
        return Context.current

    @default_ctx.setter
    def default_ctx(cls, ctx: Context) -> None:
        warnings.warn(_OLD, DeprecationWarning, stacklevel=2)
        if not isinstance(ctx, Context):
            raise TypeError(f"Context.default_ctx: got {type(ctx).__name__} {ctx!r}, wanted a Context such as mx.cpu()")
        Context._set_current(ctx)


class Context(Scope, metaclass=_DefaultContext):
    """A device. ``with Context("cpu", 1):`` makes it the default of new arrays.

    Examples
    --------
    >>> from gluonnx import mx
    >>> with mx.Context("cpu", 1):
    ...     print(mx.nd.ones(2).context)
    cpu(1)
    >>> mx.cpu(1).device_type, mx.cpu(1).queue, mx.cpu(1).is_device
    ('cpu', (1, 1), False)
    """

    devtype2str: ClassVar[dict[int, str]] = {1: "cpu", 2: "gpu", 3: "cpu_pinned", 5: "cpu_shared"}
    devstr2type: ClassVar[dict[str, int]] = {text: number for number, text in devtype2str.items()}

    def __init__(self, device_type: str | Context = "cpu", device_id: int = 0) -> None:
        if isinstance(device_type, Context):
            device_type, device_id = device_type.device_type, device_type.device_id
        self.device_typeid = self.devstr2type[device_type]
        self.device_id = int(device_id)

    @property
    def device_type(self) -> str:
        """Kind of the device: "cpu", "gpu", "cpu_pinned" or "cpu_shared"."""
        return self.devtype2str[self.device_typeid]

    @property
    def queue(self) -> tuple[int, int]:
        """Key of the scheduler's queue that work on this device waits in."""
        return self.device_typeid, self.device_id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Context) and (self.device_typeid, self.device_id) == (
            other.device_typeid,
            other.device_id,
        )

    def __hash__(self) -> int:
        return hash((self.device_typeid, self.device_id))

    def __repr__(self) -> str:
        return f"{self.device_type}({self.device_id})"

    @property
    def is_device(self) -> bool:
        """True for a device with memory of its own."""
        return self.device_typeid == 2

    @property
    def device(self) -> Device:
        """The device of a GPU's context. Raises MXNetError where there is none.

        Examples
        --------
        >>> from gluonnx import mx
        >>> try:
        ...     mx.gpu(64).device
        ... except mx.MXNetError:
        ...     print("no such GPU")
        no such GPU
        """
        return registry.device(self.device_id)

    def empty_cache(self) -> None:
        """Give memory that is kept for the next results, and not in use, back to the system.

        Examples
        --------
        >>> from gluonnx import mx
        >>> mx.cpu().empty_cache()
        """
        if self.is_device:
            self.device.release_memory()
        else:
            release_memory()


def cpu(device_id: int = 0) -> Context:
    """The CPU as a place: work on ``cpu(0)`` and on ``cpu(1)`` waits in queues of its own and runs at the same time, with the same
    threads and in the same memory (docs/devices.md). Numbers need not be those of sockets or cores.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.cpu(), mx.nd.ones(2, ctx=mx.cpu(1)).context
    (cpu(0), cpu(1))
    """
    return Context("cpu", device_id)


def cpu_pinned(device_id: int = 0) -> Context:
    """Page-locked memory in MXNet; the CPU here.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.nd.ones(2, ctx=mx.cpu_pinned()).context
    cpu_pinned(0)
    """
    return Context("cpu_pinned", device_id)


def gpu(device_id: int = 0) -> Context:
    """A GPU, by CuPy; using one that there is not raises MXNetError.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.gpu(1)
    gpu(1)
    """
    return Context("gpu", device_id)


def num_gpus() -> int:
    """Number of GPUs: 0 without CuPy (``pip install cupy-cuda12x``) or a driver.

    Examples
    --------
    >>> from gluonnx import mx
    >>> ctx = mx.gpu() if mx.num_gpus() else mx.cpu()
    """
    return len(registry.devices())


def gpu_memory_info(device_id: int = 0) -> tuple[int, int]:
    """Bytes of a GPU's memory that are free, and that there are. Raises MXNetError where there is no such GPU.

    Examples
    --------
    >>> from gluonnx import mx
    >>> free, whole = mx.context.gpu_memory_info(0) if mx.num_gpus() else (0, 0)
    >>> free <= whole
    True
    """
    return registry.device(device_id).memory_info()


def current_context() -> Context:
    """The context that arrays are made on when none is named.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.current_context()
    cpu(0)
    """
    return Context.current


def resolve(ctx: Any) -> Context:
    """The context to use: the current one for None, texts like ``cpu(0)`` by their meaning.

    Raises TypeError for no Context, MXNetError for a GPU that there is not."""
    if ctx is None:
        return Context.current
    found = re.fullmatch(r"(\w+)\((\d+)\)", ctx) if isinstance(ctx, str) else None
    if found and found[1] in Context.devstr2type:  # as attributes of operators say it
        ctx = Context(found[1], int(found[2]))
    if not isinstance(ctx, Context):
        raise TypeError(f"Context type error: got {type(ctx).__name__} {ctx!r}, wanted a Context such as mx.cpu()")
    if ctx.is_device:
        registry.device(ctx.device_id)  # raises where there is none
    return ctx


def device_for(operator: str, contexts: Sequence[Context]) -> Device | None:
    """The device with memory of its own that arrays on these contexts are on; None for CPUs.

    Raises MXNetError, in MXNet's words, where they are not all on one."""
    if not any(c.device_typeid == 2 for c in contexts):
        return None
    first = contexts[0]
    for i, other in enumerate(contexts[1:], 2):
        if other != first:
            raise MXNetError(
                f"Operator {operator} require all inputs live on the same context. But the first argument is on {first} while the "
                f"{i}-th argument is on {other}"
            )
    return first.device
