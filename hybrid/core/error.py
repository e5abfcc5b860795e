"""The errors that gluonnx raises on purpose. Each is also the built-in error that a careless caller would expect."""

from __future__ import annotations

from typing import TypeVar


class MXNetError(RuntimeError):
    """Base of every error that gluonnx raises on purpose; the name that scripts written for MXNet catch.

    Examples
    --------
    >>> from gluonnx import mx
    >>> try:
    ...     mx.nd.dot(mx.nd.ones((2, 3)), mx.nd.ones((2, 3)))
    ... except mx.MXNetError as error:
    ...     print(type(error).__name__)
    OpError
    """

    node: str = ""
    """Name of the node that an error happened at; empty where it is about none."""
    operator: str = ""
    """Name of the operator that refuses something; empty where none does."""
    reason: str = ""
    """The words of an operator, without where that was and what it was given; empty where no operator says it."""


class FormatError(MXNetError, ValueError):
    """A file that cannot be read as what it was given for, or content that the file format cannot say."""


class MissingFile(MXNetError, FileNotFoundError):
    """A file that was to be read and is not there."""


class UnreadableFile(MXNetError, OSError):
    """A file that was to be read and cannot be opened: a folder, or one that may not be read."""


class OutOfMemory(MXNetError, MemoryError):
    """Something would take more memory than the budget (memory_budget.py), or than there is."""


class MixedFiles(UserWarning):
    """Two files that belong together were not written together."""


class OpError(MXNetError, ValueError):
    """An operator was given attributes or inputs that it cannot take."""


class NotImplementedForSymbol(MXNetError, NotImplementedError):
    """Something that only arrays can do was asked of a symbol.

    Examples
    --------
    >>> from gluonnx import mx
    >>> try:
    ...     mx.sym.var("x").asscalar()
    ... except mx.base.NotImplementedForSymbol as error:
    ...     print(type(error).__name__)
    NotImplementedForSymbol
    """


class NotSupportedForSparseNDArray(MXNetError, NotImplementedError):
    """Something that only dense arrays can do was asked of a sparse one.

    Examples
    --------
    >>> from gluonnx import mx
    >>> try:
    ...     mx.nd.sparse.zeros("csr", (2, 3)).reshape((3, 2))
    ... except mx.base.NotSupportedForSparseNDArray as error:
    ...     print(type(error).__name__)
    NotSupportedForSparseNDArray
    """


class InternalError(MXNetError):
    """A bug of the engine itself, not of the program that uses it.

    Examples
    --------
    >>> from gluonnx import mx
    >>> issubclass(mx.error.InternalError, mx.MXNetError)
    True
    """


class NativeArgumentError(InternalError, ValueError):
    """The compiled part was called with what does not fit the program it runs."""


class OperandError(MXNetError, TypeError, AssertionError):
    """A function of nd was given something that is no NDArray, or one of sym something that is no Symbol."""


E = TypeVar("E", bound=MXNetError)


def of_operator(kind: type[E], operator: str, reason: str) -> E:
    """The error of an operator for something that it does not take; whoever has a node of it says where that was, by at_node."""
    error = kind(f"{operator}: {reason}")
    error.operator, error.reason = operator, reason
    return error


def at_node(kind: type[E], node: str, operator: str, reason: str, given: str = "") -> E:
    """An error that happened at a node of a graph. given: what the node was given, in words."""
    error = kind(f"{_where(node, operator)} {reason}{given and f' ({given})'}")
    error.node, error.operator, error.reason = node, operator, reason
    return error


def _where(node: str, operator: str) -> str:
    return f"Error in operator {node}: [{operator}]"


def without_given(error: MXNetError) -> str:
    """The words of an error, without what the node was given that it happened at."""
    return f"{_where(error.node, error.operator)} {error.reason}" if error.node else str(error)


def reason_of(error: Exception, operator: str) -> str:
    """The words of an error, without the operator's name where it is this one's own."""
    if isinstance(error, MXNetError) and error.operator == operator and not error.node:
        return error.reason
    return str(error)
