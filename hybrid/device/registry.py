"""Devices that there are: the GPUs that CuPy finds, or others that were put in their place."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ..core.changes import backends_changed
from ..core.error import MXNetError
from .base import Device

_others: list[Sequence[Device]] = []


@functools.cache
def _found() -> tuple[tuple[Device, ...], str]:
    """The GPUs of this machine, and why there are none where there are none. CuPy is asked once."""
    try:
        from . import cuda

        return tuple(map(cuda.Cuda, range(cuda.count()))), "CuPy finds no GPU"
    except ImportError as error:
        return (), f"CuPy cannot be imported ({error}); GPUs need it: pip install cupy-cuda12x"
    except Exception as error:  # whatever a driver that does not fit says
        return (), f"CuPy finds no GPU that it can use ({error})"


def devices() -> Sequence[Device]:
    """The devices there are, by number."""
    return _others[-1] if _others else _found()[0]


def device(number: int) -> Device:
    """The device of that number. Raises MXNetError where there is none, with the reason."""
    there = devices()
    if 0 <= number < len(there):
        return there[number]
    if there:
        raise MXNetError(f"gpu({number}): there are {len(there)} GPUs, gpu(0) to gpu({len(there) - 1})")
    reason = "" if _others else f" ({_found()[1]})"
    raise MXNetError(
        f"gpu({number}): this engine runs on CPUs only, as there is no GPU here{reason}; use mx.cpu() (mx.context.num_gpus() is 0)"
    )


@contextmanager
def using(others: Sequence[Device]) -> Iterator[Sequence[Device]]:
    """``with using([Mock(0)]):`` gpu(0) is this device, in all threads. Arrays that were made in the block end with it."""
    _others.append(others)
    backends_changed()
    try:
        yield others
    finally:
        _others.remove(others)
        backends_changed()


def in_use() -> Sequence[Device]:
    """The devices that anybody may have used so far."""
    if _others:
        return _others[-1]
    return _found()[0] if "cupy" in sys.modules and _found.cache_info().currsize else ()


def synchronize() -> None:
    """Return when all devices have done all work. Raises DeviceError for what has failed."""
    for one in in_use():
        one.synchronize()
