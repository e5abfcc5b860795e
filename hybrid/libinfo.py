"""Facts about the library that is in use: its version and where it lies. ``mx.libinfo``."""

from __future__ import annotations

from pathlib import Path

from .core.error import MXNetError

__all__ = ["find_conf_path", "find_include_path", "find_lib_path"]

__version__ = "1.9.1"
"""The version of MXNet whose API this is, for programs that ask."""


def _none(what: str, wanted: str) -> MXNetError:
    return MXNetError(
        f"{what}: gluonnx has no {wanted}; it is the Python package at {Path(__file__).parent}, version {__version__}"
    )


def find_lib_path(prefix: str = "libmxnet") -> list[str]:
    """Raises MXNetError: there is no shared library of MXNet's C API here.

    Examples
    --------
    >>> from gluonnx import mx
    >>> try:
    ...     mx.libinfo.find_lib_path()
    ... except mx.MXNetError as error:
    ...     print(str(error).partition(";")[0])
    find_lib_path: gluonnx has no libmxnet.so
    """
    raise _none("find_lib_path", f"{prefix}.so")


def find_include_path() -> str:
    """Raises MXNetError: there are no C headers here.

    Examples
    --------
    >>> from gluonnx import mx
    >>> try:
    ...     mx.libinfo.find_include_path()
    ... except mx.MXNetError as error:
    ...     print(str(error).partition(";")[0])
    find_include_path: gluonnx has no C headers
    """
    raise _none("find_include_path", "C headers")


def find_conf_path(prefix: str = "tvmop") -> str:
    """Raises MXNetError: there are no TVM operators here.

    Examples
    --------
    >>> from gluonnx import mx
    >>> try:
    ...     mx.libinfo.find_conf_path()
    ... except mx.MXNetError as error:
    ...     print(str(error).partition(";")[0])
    find_conf_path: gluonnx has no tvmop.conf
    """
    raise _none("find_conf_path", f"{prefix}.conf")
