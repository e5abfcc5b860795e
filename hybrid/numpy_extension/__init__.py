"""``mx.npx``: what NumPy does not have: operators of neural networks for arrays of mx.np, the mode, and files."""

# ruff: noqa: F401  names that the module shows
from __future__ import annotations

import importlib
from typing import Any

from ..context import Context, cpu, cpu_pinned, current_context, gpu, gpu_memory_info, num_gpus
from ..ndarray import waitall
from ..np_functions.side import NPX
from ..util import get_cuda_compute_capability, is_np_array, is_np_shape, reset_np, set_np
from . import random
from .utils import load, save


def __getattr__(name: str) -> Any:
    if name == "__all__":  # asked for by "from mxnet.npx import *"
        return [n for n in __dir__() if not n.startswith("_")]
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "image":
        return importlib.import_module(f"{__name__}.image")
    try:
        found = getattr(NPX, name)
    except AttributeError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), "image", *NPX.names()})
