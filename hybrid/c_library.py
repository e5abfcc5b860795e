"""Stand-ins for what MXNet's Python calls its C library with, so that programs which import it can be imported.

The types and arrays of ctypes are those that MXNet makes. There is no such library here: what would call into it raises
MXNetError, which says what was asked for."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from .core.error import MXNetError

mx_int, mx_uint, mx_int64, mx_float = ctypes.c_int, ctypes.c_uint, ctypes.c_int64, ctypes.c_float
mx_float_p = ctypes.POINTER(mx_float)
mx_real_t = np.float32
"""The dtype of arrays when none is said."""

NDArrayHandle = FunctionHandle = OpHandle = CachedOpHandle = SymbolHandle = ExecutorHandle = ctypes.c_void_p
DataIterCreatorHandle = DataIterHandle = KVStoreHandle = RecordIOHandle = RtcHandle = ctypes.c_void_p
CudaModuleHandle = CudaKernelHandle = ProfileHandle = DLPackHandle = ctypes.c_void_p


class MXCallbackList(ctypes.Structure):
    """Functions that MXNet's C library would call.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.base.MXCallbackList().num_callbacks
    0
    """

    _fields_ = (
        ("num_callbacks", ctypes.c_int),
        ("callbacks", ctypes.POINTER(ctypes.CFUNCTYPE(ctypes.c_int))),
        ("contexts", ctypes.POINTER(ctypes.c_void_p)),
    )


class _Library:
    """MXNet's C library, which there is none of: its functions can be named, and raise MXNetError when they are called."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(name)

        def function(*args: Any) -> Any:
            raise MXNetError(
                f"{name}: this engine is not MXNet's C library (libmxnet), and has no C functions to call; use the function of "
                "mx.nd, mx.sym or mx.gluon that does the same, and write operators in Python (mx.operator.CustomOp)"
            )

        function.__name__ = function.__qualname__ = name
        return function

    def __repr__(self) -> str:
        return "<no libmxnet: calling its functions raises MXNetError>"


_LIB = _Library()


def check_call(ret: int) -> None:
    """Raise MXNetError unless a C function gave 0; ret is what it gave.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.base.check_call(0)
    >>> try:
    ...     mx.base.check_call(-1)
    ... except mx.MXNetError as error:
    ...     print(str(error).partition(";")[0])
    check_call: a C function gave -1
    """
    if ret != 0:
        raise MXNetError(
            f"check_call: a C function gave {ret}; there is no libmxnet here that could say what its error was"
        )


def c_str(string: str) -> ctypes.c_char_p:
    """A text, string, as C has it: UTF-8 bytes behind a pointer.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.base.c_str("data").value
    b'data'
    """
    return ctypes.c_char_p(string.encode("utf-8"))


def c_str_array(strings: Iterable[str]) -> Any:
    """Texts, strings, as an array of C's.

    Examples
    --------
    >>> from gluonnx import mx
    >>> list(mx.base.c_str_array(["data", "label"]))
    [b'data', b'label']
    """
    encoded = [s.encode("utf-8") for s in strings]
    return (ctypes.c_char_p * len(encoded))(*encoded)


def c_array(ctype: Any, values: Sequence[Any]) -> Any:
    """A list of values as an array of a ctypes type, ctype.

    Examples
    --------
    >>> from gluonnx import mx
    >>> list(mx.base.c_array(mx.base.mx_uint, [3, 5]))
    [3, 5]
    """
    return (ctype * len(values))(*values)


def c_array_buf(ctype: Any, buf: Any) -> Any:
    """The memory of a buffer (buf, an array.array) as an array of a ctypes type, ctype, without copying.

    Examples
    --------
    >>> import array
    >>> from gluonnx import mx
    >>> numbers = array.array("i", [3, 5])
    >>> shared = mx.base.c_array_buf(mx.base.mx_int, numbers)
    >>> shared[0] = 7
    >>> numbers
    array('i', [7, 5])
    """
    return (ctype * len(buf)).from_buffer(buf)


def c_handle_array(objs: Iterable[Any]) -> Any:
    """The handles of objs as an array. Raises MXNetError for arrays and symbols, which are no objects of C here.

    Examples
    --------
    >>> import ctypes
    >>> from gluonnx import mx
    >>> class Thing:
    ...     handle = ctypes.c_void_p(7)
    >>> list(mx.base.c_handle_array([Thing()]))
    [7]
    """
    handles = []
    for thing in objs:
        if not hasattr(thing, "handle"):
            raise MXNetError(
                f"c_handle_array: a {type(thing).__name__} is no object of MXNet's C library here, and has no handle to give it"
            )
        handles.append(thing.handle)
    return (ctypes.c_void_p * len(handles))(*handles)


def ctypes2buffer(cptr: Any, length: int) -> bytearray:
    """A copy of as many bytes as length says behind a pointer to c_char, cptr. Raises TypeError for another.

    Examples
    --------
    >>> import ctypes
    >>> from gluonnx import mx
    >>> text = ctypes.create_string_buffer(b"data")
    >>> mx.base.ctypes2buffer(ctypes.cast(text, ctypes.POINTER(ctypes.c_char)), 4)
    bytearray(b'data')
    """
    if not isinstance(cptr, ctypes.POINTER(ctypes.c_char)):
        raise TypeError("expected char pointer")
    return bytearray(ctypes.string_at(cptr, length))


def ctypes2numpy_shared(cptr: Any, shape: tuple[int, ...]) -> np.ndarray:
    """The floats behind a pointer, cptr, as a NumPy array of a shape, which shares them.

    Raises RuntimeError for another pointer.

    Examples
    --------
    >>> import ctypes
    >>> from gluonnx import mx
    >>> numbers = (mx.base.mx_float * 4)(1, 2, 3, 4)
    >>> pointer = ctypes.cast(numbers, mx.base.mx_float_p)
    >>> mx.base.ctypes2numpy_shared(pointer, (2, 2))
    array([[1., 2.],
           [3., 4.]], dtype=float32)
    """
    if not isinstance(cptr, mx_float_p):
        raise RuntimeError("expected float pointer")
    count = int(np.prod(shape, dtype=np.int64))
    memory: Any = (mx_float * count).from_address(ctypes.addressof(cptr.contents))
    return np.frombuffer(memory, np.float32).reshape(shape)
