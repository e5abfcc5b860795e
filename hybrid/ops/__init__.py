"""The operators, one file per family. Importing this package imports them all, which fills op.OPS, but for the package
``onnx``: see op.load_family."""

import importlib
import pkgutil

from ..core.op import later

for _module in pkgutil.iter_modules(__path__):
    if not _module.ispkg:
        importlib.import_module(f"{__name__}.{_module.name}")

later.append(lambda: importlib.import_module(f"{__name__}.onnx") and None)
