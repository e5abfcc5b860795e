"""Networks as Python objects: parameters, blocks and what trains them. Submodules load when they are first used."""

import importlib
from typing import TYPE_CHECKING, Any

from . import block, parameter, utils
from .block import Block, HybridBlock, SymbolBlock
from .parameter import (
    Constant,
    DeferredInitializationError,
    Parameter,
    ParameterDict,
    ParameterError,
    tensor_types,
)

if TYPE_CHECKING:
    from . import contrib, data, loss, model_zoo, nn, rnn, trainer
    from .trainer import Trainer

_LATER = ("contrib", "data", "loss", "model_zoo", "nn", "rnn", "trainer")

__all__ = [
    "Block",
    "Constant",
    "DeferredInitializationError",
    "HybridBlock",
    "Parameter",
    "ParameterDict",
    "ParameterError",
    "SymbolBlock",
    "Trainer",
    "block",
    "contrib",
    "data",
    "loss",
    "model_zoo",
    "nn",
    "parameter",
    "rnn",
    "tensor_types",
    "trainer",
    "utils",
]


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return importlib.import_module(f"{__name__}.{name}")
    if name == "Trainer":
        return importlib.import_module(f"{__name__}.trainer").Trainer
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
