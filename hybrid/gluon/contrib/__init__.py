"""Arity of Gluon that MXNet had on trial."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import cnn, data, estimator, nn, rnn

__all__ = ["cnn", "data", "estimator", "nn", "rnn"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
