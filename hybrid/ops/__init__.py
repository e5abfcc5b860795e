"""The operators, one file per family. Importing this package imports them all, which fills op.OPS."""

import importlib
import pkgutil

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
