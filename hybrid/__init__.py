"""gluonnx: the engine, and MXNet's Python API. ``from gluonnx import mx``, or ``import hybrid as mx``.

Modules load when they are first used; importing this says where the operators are and no more.
"""

import importlib
from typing import TYPE_CHECKING, Any

from . import ops  # says where the operators are
from .core.error import MXNetError
from .libinfo import __version__

# ruff: noqa: F401  what follows is for type checkers; the names load when they are asked for
if TYPE_CHECKING:
    from . import (
        attribute,
        autograd,
        base,
        callback,
        context,
        contrib,
        executor,
        executor_manager,
        gluon,
        image,
        initializer,
        io,
        kvstore,
        libinfo,
        log,
        lr_scheduler,
        metric,
        model,
        module,
        monitor,
        name,
        ndarray,
        numpy,
        numpy_extension,
        operator,
        optimizer,
        profiler,
        random,
        recordio,
        registry,
        resuming,
        rnn,
        runtime,
        symbol,
        test_utils,
        util,
        visualization,
    )
    from . import image as img
    from . import initializer as init
    from . import kvstore as kv
    from . import module as mod
    from . import monitor as mon
    from . import ndarray as nd
    from . import numpy as np
    from . import numpy_extension as npx
    from . import random as rnd
    from . import symbol as sym
    from . import visualization as viz
    from .attribute import AttrScope
    from .compat import install_as_mxnet
    from .context import Context, cpu, cpu_pinned, current_context, gpu, num_gpus
    from .core import error
    from .eager import sparse
    from .execution import scheduler
    from .formats import params
    from .runtime import (
        get_num_threads,
        memory_budget,
        memory_stats,
        precision,
        set_memory_budget,
        set_num_threads,
        set_precision,
        set_step_budget,
    )
    from .symbol import Symbol
    from .util import is_np_array, is_np_shape, np_array, np_shape, set_np_shape, use_np, use_np_array, use_np_shape

SHORT = {
    "img": "image",
    "init": "initializer",
    "kv": "kvstore",
    "mod": "module",
    "mon": "monitor",
    "nd": "ndarray",
    "np": "numpy",
    "npx": "numpy_extension",
    "rnd": "random",
    "sym": "symbol",
    "viz": "visualization",
}
"""Modules that MXNet knows by a second name."""
FROM = {
    "AttrScope": "attribute",
    "Context": "context",
    "Symbol": "symbol",
    "cpu": "context",
    "cpu_pinned": "context",
    "current_context": "context",
    "get_num_threads": "runtime",
    "gpu": "context",
    "install_as_mxnet": "compat",
    "is_np_array": "util",
    "is_np_shape": "util",
    "memory_budget": "runtime",
    "memory_stats": "runtime",
    "np_array": "util",
    "np_shape": "util",
    "num_gpus": "context",
    "precision": "runtime",
    "set_memory_budget": "runtime",
    "set_np_shape": "util",
    "set_num_threads": "runtime",
    "set_precision": "runtime",
    "set_step_budget": "runtime",
    "use_np": "util",
    "use_np_array": "util",
    "use_np_shape": "util",
}
"""Names of other modules that are to be had here."""
ELSEWHERE = {"onnx": "bridge.mxnet_onnx"}
"""Modules of MXNet that are built on this engine, in packages that know ONNX; loaded when they are asked for."""

__all__ = ["MXNetError", "ops", *SHORT, *FROM]


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in FROM:
        found = getattr(importlib.import_module(f"{__name__}.{FROM[name]}"), name)
    else:
        path = ELSEWHERE.get(name) or f"{__name__}.{SHORT.get(name, name)}"
        try:
            found = importlib.import_module(path)
        except ModuleNotFoundError as error:
            if error.name != path or name.startswith("_"):
                raise
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    import pkgutil

    modules = {m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_")}
    return sorted({*globals(), *__all__, *ELSEWHERE, *modules})
