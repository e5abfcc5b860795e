"""Names that programs import from ``mxnet.base``: the errors, and which Python types count as what."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

# ruff: noqa: F401  programs import these from here
from .c_library import (
    _LIB,
    CachedOpHandle,
    CudaKernelHandle,
    CudaModuleHandle,
    DataIterCreatorHandle,
    DataIterHandle,
    DLPackHandle,
    ExecutorHandle,
    FunctionHandle,
    KVStoreHandle,
    MXCallbackList,
    NDArrayHandle,
    OpHandle,
    ProfileHandle,
    RecordIOHandle,
    RtcHandle,
    SymbolHandle,
    c_array,
    c_array_buf,
    c_handle_array,
    c_str,
    c_str_array,
    check_call,
    ctypes2buffer,
    ctypes2numpy_shared,
    mx_float,
    mx_float_p,
    mx_int,
    mx_int64,
    mx_real_t,
    mx_uint,
)
from .core.error import MXNetError, NotImplementedForSymbol, NotSupportedForSparseNDArray

__all__ = [
    "MXNetError",
    "NotImplementedForSymbol",
    "NotSupportedForSparseNDArray",
    "classproperty",
    "data_dir",
    "data_dir_default",
    "integer_types",
    "numeric_types",
    "py_str",
    "string_types",
    "with_metaclass",
]

numeric_types = (float, int, np.generic)
integer_types = (int, np.int32, np.int64)
string_types = (str,)


def py_str(x: bytes) -> str:
    """The text of UTF-8 bytes, x.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.base.py_str(b"caf\\xc3\\xa9")
    'café'
    """
    return x.decode("utf-8")


def data_dir_default() -> str:
    """Folder in which data sets and parameters are looked for: ``~/.mxnet``.

    Examples
    --------
    >>> import pathlib
    >>> from gluonnx import mx
    >>> pathlib.Path(mx.base.data_dir_default()).name
    '.mxnet'
    """
    return str(Path("~", ".mxnet").expanduser())


def data_dir() -> str:
    """Folder in which data sets and parameters are looked for: ``$MXNET_HOME``, or data_dir_default.

    Examples
    --------
    >>> import os
    >>> from unittest import mock
    >>> from gluonnx import mx
    >>> with mock.patch.dict(os.environ, MXNET_HOME="/data/mxnet"):
    ...     mx.base.data_dir()
    '/data/mxnet'
    """
    from .formats import downloads

    return downloads.data_dir()


class _ClassProperty:
    """A property of the class itself, which classproperty makes."""

    def __init__(self, get: Any):
        self._get = get

    def __get__(self, instance: Any, owner: type) -> Any:
        return self._get.__get__(instance, owner)()


def classproperty(func: Any) -> Any:
    """Decorator of a function of the class, func: a property that is read from the class, without an instance.

    Examples
    --------
    >>> from gluonnx import mx
    >>> class Layer:
    ...     @mx.base.classproperty
    ...     def kind(cls):
    ...         return cls.__name__.lower()
    >>> Layer.kind
    'layer'
    """
    return _ClassProperty(func if isinstance(func, classmethod | staticmethod) else classmethod(func))


def with_metaclass(meta: type, *bases: type) -> Any:
    """A base class for ``class X(with_metaclass(Meta, Base)):``, which makes X with ``meta`` from ``bases`` alone.

    Examples
    --------
    >>> from gluonnx import mx
    >>> class Named(type):
    ...     def __repr__(cls):
    ...         return f"<{cls.__name__}>"
    >>> class Layer(mx.base.with_metaclass(Named, dict)):
    ...     pass
    >>> Layer, Layer.__bases__
    (<Layer>, (<class 'dict'>,))
    """

    class Vanishing(type):
        def __new__(cls, name: str, _: Any, namespace: dict[str, Any]) -> Any:
            return meta(name, bases, namespace)

    return type.__new__(Vanishing, "vanishing", (), {})


def _as_list(obj: Any) -> list[Any]:
    """The object as a list: itself when it is one or a tuple, else a list of it."""
    return list(obj) if isinstance(obj, list | tuple) else [obj]
