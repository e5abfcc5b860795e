"""``mx.contrib``: the contributed operators under their second names, ONNX, and a DataLoader as a DataIter (``io``)."""

from __future__ import annotations

import importlib
from typing import Any

_ELSEWHERE = {"onnx": "bridge.mxnet_onnx_contrib", "quant": f"{__name__}.quantization"}
"""Modules of other names than MXNet's, loaded when they are asked for; ``onnx`` is of a package that knows ONNX."""


def __getattr__(name: str) -> Any:
    if name in ("nd", "ndarray", "sym", "symbol"):
        from .. import ndarray, symbol

        return (ndarray if name.startswith("n") else symbol).contrib
    path = _ELSEWHERE.get(name, f"{__name__}.{name}")
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError as error:
        if error.name != path:
            raise
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
