"""Small helpers: environment variables, GPUs (there are none), and the NumPy mode.

With np_shape on, in the thread that switches it, 0 is a size in a shape, -1 an unknown one and () a single number. With np_array
on, Gluon's arrays are those of mx.np."""

from __future__ import annotations

import functools
import inspect
import os
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from .base import py_str
from .core import np_mode

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
    """The value of an environment variable, None when it is not set. No variable changes what this engine does.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.util.setenv("OF_MINE", "1")
    >>> mx.util.getenv("OF_MINE")
    '1'
    >>> mx.util.setenv("OF_MINE", None)
    """
    return os.environ.get(name)


def setenv(name: str, value: str | None) -> None:
    """Set an environment variable, or remove it with None, for this process and those it starts.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.util.setenv("OF_MINE", "1")
    >>> mx.util.setenv("OF_MINE", None)
    >>> mx.util.getenv("OF_MINE") is None
    True
    """
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value


def makedirs(d: Any) -> None:
    """Make a folder and those above it; one that is there already is left alone. ``~`` is the home folder."""
    os.makedirs(os.path.expanduser(d), exist_ok=True)


def set_module(module: str | None) -> Callable[[F], F]:
    """Decorator that makes ``__module__`` of a function or class say another module.

    Examples
    --------
    >>> from gluonnx import mx
    >>> @mx.util.set_module("elsewhere")
    ... def function():
    ...     pass
    >>> function.__module__
    'elsewhere'
    """

    def decorate(func: F) -> F:
        if module is not None:
            func.__module__ = module
        return func

    return decorate


def get_gpu_count() -> int:
    """Number of GPUs, as ``mx.num_gpus`` gives it.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.util.get_gpu_count() == mx.num_gpus()
    True
    """
    from .context import num_gpus

    return num_gpus()


def get_gpu_memory(gpu_dev_id: int) -> tuple[int, int]:
    """Bytes of a GPU's memory that are free, and that there are. Raises MXNetError where there is no GPU of that number.

    Examples
    --------
    >>> from gluonnx import mx
    >>> try:
    ...     mx.util.get_gpu_memory(64)
    ... except mx.MXNetError:
    ...     print("no such GPU")
    no such GPU
    """
    from .context import gpu_memory_info

    return gpu_memory_info(gpu_dev_id)


def get_cuda_compute_capability(ctx: Any) -> int:
    """Raises ValueError, whatever ctx is: of no GPU it is asked which instructions of CUDA it has.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.util.get_cuda_compute_capability(mx.cpu())
    Traceback (most recent call last):
        ...
    ValueError: Expecting a gpu context to get cuda compute capability, while received ctx cpu(0)
    """
    raise ValueError(f"Expecting a gpu context to get cuda compute capability, while received ctx {ctx}")


# -- the NumPy mode ---------------------------------------------------------------------------------------------------------


def is_np_shape() -> bool:
    """True where this thread reads a 0 in a shape as a size, and () as the shape of a single number.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.util.is_np_shape()
    False
    """
    return np_mode.is_np_shape()


def is_np_array() -> bool:
    """True where Gluon makes and takes arrays of mx.np in this thread.

    Examples
    --------
    >>> from gluonnx import mx
    >>> with mx.util.np_array():
    ...     print(mx.util.is_np_array())
    True
    """
    return np_mode.is_np_array()


def set_np_shape(active: bool) -> bool:
    """Switch this thread's reading of shapes, and return what it was. Raises ValueError for switching it off below arrays of mx.np.

    Source: MXNet 1.9.1, mx.util.set_np_shape.

    Examples
    --------
    >>> from gluonnx import mx
    >>> before = mx.util.set_np_shape(True)
    >>> before, mx.util.set_np_shape(before)
    (False, True)
    """
    return np_mode.set_np_shape(active)


def np_shape(active: bool = True) -> AbstractContextManager[None]:
    """``with np_shape():`` switches this thread's reading of shapes, and back. None leaves it as it is.

    Examples
    --------
    >>> from gluonnx import mx
    >>> with mx.util.np_shape():
    ...     print(mx.nd.ones((0, 3)).shape)
    (0, 3)
    """
    return np_mode.np_shape(active)


def np_array(active: bool = True) -> AbstractContextManager[None]:
    """``with np_array():`` has Gluon make arrays of mx.np in this thread, or of mx.nd, and back. None leaves it as it is.

    Examples
    --------
    >>> from gluonnx import mx
    >>> with mx.util.np_shape(), mx.util.np_array():
    ...     layer = mx.gluon.nn.Dense(2)
    ...     layer.initialize()
    ...     print(type(layer(mx.np.ones((1, 3)))).__module__)
    hybrid.numpy
    """
    return np_mode.np_array(active)


def set_np(shape: bool = True, array: bool = True) -> None:
    """Switch this thread to NumPy's reading of shapes, and to arrays of mx.np. Raises ValueError for the second without the first.

    Source: MXNet 1.9.1, mx.util.set_np.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.npx.set_np()
    >>> mx.util.is_np_shape(), mx.util.is_np_array()
    (True, True)
    >>> mx.npx.reset_np()
    """
    if array and not shape:
        raise ValueError("NumPy Shape semantics is required in using NumPy array semantics.")
    np_mode.set_np_array(array)
    np_mode.set_np_shape(shape)


def reset_np() -> None:
    """Switch the mode off.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.npx.reset_np()
    >>> mx.util.is_np_shape(), mx.util.is_np_array()
    (False, False)
    """
    set_np(shape=False, array=False)


def use_np_shape(func: F) -> F:
    """Decorator of a function, or of all methods and properties of a class: they run with np_shape on.

    Raises TypeError for anything else.

    Examples
    --------
    >>> from gluonnx import mx
    >>> @mx.util.use_np_shape
    ... def inside():
    ...     return mx.util.is_np_shape(), mx.util.is_np_array()
    >>> inside()
    (True, False)
    """
    return _scoped(func, np_shape, "use_np_shape")


def use_np_array(func: F) -> F:
    """Decorator of a function, or of all methods and properties of a class: they run with np_array on.

    Raises TypeError for anything else.

    Examples
    --------
    >>> from gluonnx import mx
    >>> @mx.util.use_np_array
    ... def inside():
    ...     return mx.util.is_np_shape(), mx.util.is_np_array()
    >>> inside()
    (False, True)
    """
    return _scoped(func, np_array, "use_np_array")


def use_np(func: F) -> F:
    """Decorator of a function, or of all methods and properties of a class: they run with np_shape and np_array on.

    Raises TypeError for anything else.

    Examples
    --------
    >>> from gluonnx import mx
    >>> @mx.util.use_np
    ... def inside():
    ...     return mx.util.is_np_shape(), mx.util.is_np_array()
    >>> inside()
    (True, True)
    """
    return use_np_shape(use_np_array(func))


def _scoped(func: Any, scope: Callable[[], AbstractContextManager[Any]], decorator: str) -> Any:
    """The function within a scope; the class, of which all that runs is."""
    if inspect.isclass(func):
        for name, member in inspect.getmembers(
            func, lambda m: inspect.isfunction(m) or inspect.ismethod(m) or isinstance(m, property)
        ):
            if isinstance(member, property):
                get, put, delete = (
                    None if p is None else _scoped(p, scope, decorator) for p in (member.fget, member.fset, member.fdel)
                )
                setattr(func, name, property(get, put, delete, member.__doc__))
            else:
                held = inspect.getattr_static(func, name)
                kind = type(held) if isinstance(held, staticmethod | classmethod) else None
                made = _scoped(held.__func__ if kind else member, scope, decorator)  # type: ignore[union-attr]
                setattr(func, name, kind(made) if kind else made)
        return func
    if not callable(func):
        raise TypeError(f"{decorator} can only decorate classes and callable objects, while received a {type(func)}")

    @functools.wraps(func)
    def within(*args: Any, **kwargs: Any) -> Any:
        with scope():
            return func(*args, **kwargs)

    return within


class _NumpyShapeScope:
    """The scope that np_shape is in MXNet, where programs look for whether it is on."""

    _current = threading.local()

    def __new__(cls, active: bool) -> Any:
        return np_shape(active)


class _NumpyArrayScope:
    """The scope that np_array is in MXNet, where programs look for whether it is on."""

    _current = threading.local()

    def __new__(cls, active: bool) -> Any:
        return np_array(active)
