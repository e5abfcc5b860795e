"""``mx.npx.image``: the operators upon pictures for arrays of mx.np, and what mx.image has."""

from __future__ import annotations

from typing import Any

from .. import image
from ..np_functions.side import NPX


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return __dir__()
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(image if name in image.__all__ else NPX.image, name)


def __dir__() -> list[str]:
    return sorted({*image.__all__, *NPX.image.names()})
