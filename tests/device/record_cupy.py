"""Records what of NumPy's API an installed CuPy has: ``python -m tests.device.record_cupy`` writes hybrid/device/cupy.json.

No GPU is needed, only the package (cupy-cuda12x). The mock device refuses what is not in that file, as CuPy would."""

from __future__ import annotations

import importlib
import inspect
import json
from pathlib import Path
from typing import Any

import numpy as np

TARGET = Path(__file__).parents[2] / "hybrid" / "device" / "cupy.json"
MODULES = ("", "linalg", "fft", "lib.stride_tricks")
METHODS = ("reduce", "accumulate", "reduceat", "outer", "at")


def parameters(function: Any) -> list[str] | None:
    """Names of a function's parameters; None where nothing is known of them, or any is taken."""
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL) for p in found):
        return None
    return [p.name for p in found]


def recorded() -> dict[str, Any]:
    """The functions, ufuncs and methods of arrays that CuPy has of NumPy's."""
    cupy: Any = importlib.import_module("cupy")
    functions: dict[str, Any] = {}
    ufuncs: dict[str, list[str]] = {}
    for module in MODULES:
        theirs: Any = importlib.import_module(f"cupy.{module}".rstrip("."))
        ours: Any = importlib.import_module(f"numpy.{module}".rstrip("."))
        for name in sorted(set(dir(theirs)) & set(dir(ours))):
            own, other = getattr(ours, name), getattr(theirs, name)
            if name[0] == "_" or not callable(own) or not callable(other) or isinstance(own, type):
                continue
            if isinstance(own, np.ufunc):
                ufuncs[name] = [m for m in METHODS if hasattr(other, m)]
            else:
                functions[f"{module}.{name}".lstrip(".")] = parameters(other)
    methods = sorted(m for m in set(dir(cupy.ndarray)) & set(dir(np.ndarray)) if m[0] != "_")
    return {"version": cupy.__version__, "functions": functions, "ufuncs": ufuncs, "methods": methods}


if __name__ == "__main__":
    TARGET.write_text(json.dumps(recorded(), indent=0) + "\n")
