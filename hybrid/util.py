"""Small helpers: environment variables, GPUs (there are none), and the NumPy mode, which this engine does not have.

``is_np_shape()`` and ``is_np_array()`` are False, always; what would switch the mode on raises MXNetError, and switching it off
changes nothing."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar

from .base import py_str
from .core.error import MXNetError

__all__ = [
    "get_cuda_compute_capability",
    "get_gpu_count",
    "get_gpu_memory",
    "getenv",
    "is_np_array",
    "is_np_shape",
    "makedirs",
    "np_array",
    "np_shape",
    "py_str",
    "reset_np",
    "set_module",
    "set_np",
    "set_np_shape",
    "setenv",
    "use_np",
    "use_np_array",
    "use_np_shape",
]

F = TypeVar("F", bound=Callable[..., Any])


def getenv(name: str) -> str | None:
    """The value of an environment variable, None when it is not set. No variable changes what this engine does."""
    return os.environ.get(name)


def setenv(name: str, value: str | None) -> None:
    """Set an environment variable, or remove it with None, for this process and those it starts."""
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value


def makedirs(d: Any) -> None:
    """Make a folder and those above it; one that is there already is left alone. ``~`` is the home folder."""
    os.makedirs(os.path.expanduser(d), exist_ok=True)


def set_module(module: str | None) -> Callable[[F], F]:
    """Decorator that makes ``__module__`` of a function or class say another module."""

    def decorate(func: F) -> F:
        if module is not None:
            func.__module__ = module
        return func

    return decorate


def get_gpu_count() -> int:
    """None, always."""
    return 0


def get_gpu_memory(gpu_dev_id: int) -> tuple[int, int]:
    """Raises MXNetError: there is no GPU here."""
    from .context import gpu_memory_info

    return gpu_memory_info(gpu_dev_id)


def get_cuda_compute_capability(ctx: Any) -> int:
    """Raises ValueError: no context is a GPU that can be used."""
    raise ValueError(f"Expecting a gpu context to get cuda compute capability, while received ctx {ctx}")


# -- the NumPy mode ---------------------------------------------------------------------------------------------------------


def is_np_shape() -> bool:
    """False: a dimension of 0 in a shape means that it is unknown."""
    return False


def is_np_array() -> bool:
    """False: Gluon works on NDArrays, there is no mx.np."""
    return False


def _refuse(function: str) -> MXNetError:
    return MXNetError(
        f"{function}: this engine has no NumPy mode (mx.np, mx.npx); write for mx.nd and hybrid_forward(self, F, ...) instead. "
        "Models that were exported in that mode can still be loaded and converted"
    )


def set_np_shape(active: bool) -> bool:
    """Leave the mode off, giving what it was: False. Raises MXNetError for True."""
    if active:
        raise _refuse("set_np_shape")
    return False


def set_np(shape: bool = True, array: bool = True) -> None:
    """Leave the mode off with ``set_np(False, False)``. Raises MXNetError otherwise, ValueError for arrays without shapes."""
    if array and not shape:
        raise ValueError("NumPy Shape semantics is required in using NumPy array semantics.")
    if shape:
        raise _refuse("set_np")


def reset_np() -> None:
    """Switch the mode off, which it is."""


def np_shape(active: bool = True) -> AbstractContextManager[None]:
    """``with np_shape(False):`` changes nothing. Raises MXNetError for True."""
    if active:
        raise _refuse("np_shape")
    return nullcontext()


def np_array(active: bool = True) -> AbstractContextManager[None]:
    """``with np_array(False):`` changes nothing. Raises MXNetError for True."""
    if active:
        raise _refuse("np_array")
    return nullcontext()


def use_np_shape(func: F) -> F:
    """Decorator of functions and classes for the mode. Raises MXNetError."""
    raise _refuse(f"use_np_shape ({getattr(func, '__name__', func)})")


def use_np_array(func: F) -> F:
    """Decorator of functions and classes for the mode. Raises MXNetError."""
    raise _refuse(f"use_np_array ({getattr(func, '__name__', func)})")


def use_np(func: F) -> F:
    """Decorator of functions and classes for the mode. Raises MXNetError."""
    raise _refuse(f"use_np ({getattr(func, '__name__', func)})")
