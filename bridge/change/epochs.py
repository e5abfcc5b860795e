"""Weights of another epoch than the one that they are compared with: an export of the wrong file."""

from __future__ import annotations

import os

from converters.error import ConversionError
from hybrid.core.error import MXNetError

from ..models import Model, open_model
from ..paths import BadInput, numbered_params
from .diff import compare_networks
from .network import networks_of

MOST = 10
"""Files of parameters that are looked at, from the newest."""


def other_epoch(a: Model, b: Model) -> str:
    """Words where the weights of an ONNX model, which are not those of a symbol, are those of another file of parameters beside
    that; empty where they are not. a, b: one of each, in any order."""
    if a.is_onnx == b.is_onnx:
        return ""
    symbol, other = (b, a) if a.is_onnx else (a, b)
    if symbol.path is None or symbol.params_path is None or symbol.place != symbol.path or not _differ(symbol, other):
        return ""
    read = symbol.params_path
    for path in [p for p in numbered_params(symbol.path) if not os.path.samefile(p, read)][:MOST]:
        try:
            if not _differ(open_model(symbol.path, path), other):
                name = other.name if other.place is None else other.place.name
                return f"{name} has the weights of {path.name}, and not those of {symbol.params_path.name}"
        except (BadInput, ConversionError, MXNetError, OSError):
            continue  # of another network, or half a file: it is not this one
    return ""


def _differ(symbol: Model, other: Model) -> bool:
    """True where any parameter differs between the models; attributes may."""
    try:
        found = compare_networks(*networks_of(symbol, other))
    except (ConversionError, MXNetError, OSError):
        return False  # nothing can be said of them
    return any(change.kind == "parameter" for change in found.changes)
