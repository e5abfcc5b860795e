"""``mx.error``: the errors that are raised on purpose."""

# ruff: noqa: F401
from .core.error import (
    FormatError,
    InternalError,
    MissingFile,
    MixedFiles,
    MXNetError,
    NativeArgumentError,
    NotImplementedForSymbol,
    NotSupportedForSparseNDArray,
    OperandError,
    OpError,
    OutOfMemory,
    UnreadableFile,
)
