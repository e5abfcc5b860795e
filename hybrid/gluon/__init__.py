"""Networks as Python objects. In this version: networks that were exported to files, for inference."""

from . import block, parameter
from .block import Block, SymbolBlock
from .parameter import DeferredInitializationError, Parameter, ParameterDict, ParameterError

__all__ = [
    "Block",
    "DeferredInitializationError",
    "Parameter",
    "ParameterDict",
    "ParameterError",
    "SymbolBlock",
    "block",
    "parameter",
]
