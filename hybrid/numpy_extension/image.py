"""``mx.npx.image``: the operators upon pictures for arrays of mx.np, and what mx.image has."""

from __future__ import annotations

from .. import image
from ..core.showing import from_functions
from ..np_functions.side import NPX

__getattr__, __dir__ = from_functions(
    globals(),
    lambda name: getattr(image if name in image.__all__ else NPX.image, name),
    lambda: (*image.__all__, *NPX.image.names()),
)
