"""Spaces that are tried: a module per family, loaded in this order."""

import importlib

from ..space import SPACES, Space, family

FAMILIES = (
    "nn",
    "shape",
    "index",
    "reduce",
    "binary",
    "elementwise",
    "sequence",
    "spatial",
    "linalg",
    "random",
    "numpy",
    "rest",
)


def load() -> dict[str, dict[str, list[Space]]]:
    """All spaces: {family: {operator: [Space, ...]}}."""
    for name in FAMILIES:
        if name not in SPACES:
            family(name)
            importlib.import_module(f"{__name__}.{name}")
    return SPACES
