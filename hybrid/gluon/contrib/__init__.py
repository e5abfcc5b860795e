"""Parts of Gluon that MXNet had on trial."""

import importlib
from typing import Any

_MODULES = ("cnn", "data", "nn", "rnn")

__all__ = ["cnn", "data", "nn", "rnn"]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
