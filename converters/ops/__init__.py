"""The translations, one file per operator family (the same names as in hybrid/ops). Importing it fills the registry."""

import importlib
import pkgutil

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")

from ..compositions import register_compositions  # noqa: E402  once all others are there

register_compositions()
