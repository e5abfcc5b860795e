"""Blocks: MXNet's module of that name."""

from .base_block import Block
from .base_parameter import DeferredInitializationError, Parameter
from .hybrid_block import HybridBlock
from .naming import _BlockScope
from .nested import _flatten, _regroup
from .parameter_dict import ParameterDict
from .symbol_block import SymbolBlock
from .utils import HookHandle

__all__ = [
    "Block",
    "DeferredInitializationError",
    "HookHandle",
    "HybridBlock",
    "Parameter",
    "ParameterDict",
    "SymbolBlock",
    "_BlockScope",
    "_flatten",
    "_regroup",
]
