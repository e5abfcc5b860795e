"""The budgets: how much memory a size that a file or data decides may take, and how many steps a loop. Everything that allocates
such asks ``afford`` first, loops that go on as long as a condition holds ``afford_step``.

By default the budget is what the machine has to give: the memory that is available now, within the limits of the process and of
its container. ``set_memory_budget`` sets another, for a server, say, that is given models by others.
"""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from .changes import backends_changed
from .error import MXNetError, OutOfMemory
from .shapes import MaybeShape, is_known, show

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]  # a module elsewhere

SMALL = 16 << 20
"""Bytes that need no look at the machine when nobody has set a budget."""

_chosen: int | None = None
_steps: int | None = None


@functools.cache
def _machine() -> int:
    """Bytes of memory that the machine has, or the container that this runs in."""
    limits = []
    if hasattr(os, "sysconf"):
        limits.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            text = Path(path).read_text(encoding="utf-8").strip()
        except OSError:
            continue
        if text.isdigit():
            limits.append(int(text))
    return min(limits, default=1 << 62)


def _available() -> int:
    """Bytes that can be had now without pushing others out, where the system says so."""
    try:
        with open("/proc/meminfo", "rb") as lines:
            for line in lines:
                if line.startswith(b"MemAvailable:"):
                    return int(line.split()[1]) << 10
    except (OSError, ValueError, IndexError):
        pass
    return 1 << 62


def memory_budget() -> int:
    """Bytes that a single size may take: as set_memory_budget has it, else what the machine, the container and the process's own
    limit leave at the moment.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.memory_budget() > 0
    True
    """
    if _chosen is not None:
        return _chosen
    limit = min(_machine(), _available())
    if resource is not None:
        allowed = resource.getrlimit(resource.RLIMIT_AS)[0]
        limit = limit if allowed == resource.RLIM_INFINITY else min(limit, allowed)
    return limit


def set_memory_budget(size: int | None) -> int | None:
    """Refuse, from now on, tensors, plans and files that take more bytes than this, with MXNetError instead of an attempt; None for
    what the machine has. Gives what was set before. Raises ValueError for a negative number.

    Examples
    --------
    >>> from gluonnx import mx
    >>> before = mx.set_memory_budget(2**20)
    >>> try:
    ...     mx.nd.zeros((2**20,))
    ... except mx.MXNetError as error:
    ...     print(type(error).__name__)
    OutOfMemory
    >>> _ = mx.set_memory_budget(before)
    """
    global _chosen
    if size is not None and size < 0:
        raise ValueError(f"set_memory_budget: got {size}, wanted 0 or more bytes, or None")
    before, _chosen = _chosen, None if size is None else int(size)
    return before


def set_step_budget(count: int | None) -> int | None:
    """Refuse, from now on, loops of more steps than this, which a model may go on with for ever; None for any number, as at first.
    Gives what was set before. Raises ValueError for a negative number.

    Examples
    --------
    >>> from gluonnx import mx
    >>> before = mx.set_step_budget(1000)
    >>> _ = mx.set_step_budget(before)
    """
    global _steps
    if count is not None and count < 0:
        raise ValueError(f"set_step_budget: got {count}, wanted 0 or more steps, or None")
    before, _steps = _steps, None if count is None else int(count)
    backends_changed()  # compiled loops count for themselves
    return before


def step_budget() -> int | None:
    """Steps that a loop may take, as set_step_budget has it."""
    return _steps


def afford_step(done: int, what: str) -> None:
    """Raise MXNetError where so many steps are all that a loop may take."""
    if _steps is not None and done >= _steps:
        raise MXNetError(
            f"{what}: its condition still holds after {done:,} steps, which is all that set_step_budget allows"
        )


def afford(size: int, what: str, do: str = "give smaller sizes, or allow more with set_memory_budget") -> None:
    """Raise OutOfMemory where so many bytes are more than the budget. what: who wants them, for the message."""
    if said := beyond(size, do):
        raise OutOfMemory(f"{what} {said}")


def beyond(size: int, do: str = "give smaller sizes, or allow more with set_memory_budget") -> str:
    """Words for something of so many bytes, where that is more than the budget; empty where it is not."""
    if size <= SMALL and _chosen is None:
        return ""
    budget = memory_budget()
    return f"takes {amount(size)}, and the memory budget is {amount(budget)}; {do}" if size > budget else ""


def afford_array(shape: Iterable[int], dtype: np.dtype, what: str) -> None:
    """As afford, for an array that is to be made."""
    sizes = tuple(shape)
    size = math.prod(sizes) * dtype.itemsize
    if size > SMALL or _chosen is not None:
        afford(size, f"{what} {dtype}{show(sizes)}")


def size_of(shape: MaybeShape, dtype: np.dtype | None) -> int:
    """Bytes of a tensor; 0 where its shape is not known, and as float32 where its dtype is not."""
    return math.prod(shape) * (4 if dtype is None else dtype.itemsize) if is_known(shape) else 0


def amount(size: int) -> str:
    """Bytes as people say them."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6)):
        if size >= factor:
            return f"{size / factor:,.3g} {unit}" if size < 1000 * factor else f"{size // int(factor):,} {unit}"
    return f"{size:,} bytes"
