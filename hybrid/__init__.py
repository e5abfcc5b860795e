"""gluonnx: the engine. ``import hybrid as mx``.

Modules load when they are first used; importing this fills the table of operators and no more.
"""

import importlib
from typing import TYPE_CHECKING, Any

from . import ops  # fills the operator tables
from .error import MXNetError

if TYPE_CHECKING:
    from . import (
        attribute,
        autograd,
        context,
        engine,
        error,
        executor,
        gluon,
        image,
        io,
        model,
        name,
        ndarray,
        params,
        random,
        recordio,
        sparse,
        symbol,
    )
    from . import ndarray as nd
    from . import symbol as sym
    from .attribute import AttrScope
    from .context import Context, cpu, cpu_pinned, current_context, gpu, num_gpus
    from .symbol import Symbol

_MODULES = (
    "attribute",
    "autograd",
    "context",
    "engine",
    "error",
    "executor",
    "gluon",
    "image",
    "io",
    "model",
    "name",
    "ndarray",
    "params",
    "random",
    "recordio",
    "sparse",
    "symbol",
)
_SHORT = {"nd": "ndarray", "sym": "symbol"}
_FROM = {
    "AttrScope": "attribute",
    "Context": "context",
    "cpu": "context",
    "cpu_pinned": "context",
    "current_context": "context",
    "gpu": "context",
    "num_gpus": "context",
    "Symbol": "symbol",
}

__all__ = [
    "AttrScope",
    "Context",
    "MXNetError",
    "Symbol",
    "attribute",
    "autograd",
    "context",
    "cpu",
    "cpu_pinned",
    "current_context",
    "engine",
    "error",
    "executor",
    "gluon",
    "gpu",
    "image",
    "io",
    "model",
    "name",
    "nd",
    "ndarray",
    "num_gpus",
    "ops",
    "params",
    "random",
    "recordio",
    "sparse",
    "sym",
    "symbol",
]


def __getattr__(name: str) -> Any:
    if name in _FROM:
        found = getattr(importlib.import_module(f"{__name__}.{_FROM[name]}"), name)
    elif name in _SHORT or name in _MODULES:
        found = importlib.import_module(f"{__name__}.{_SHORT.get(name, name)}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
