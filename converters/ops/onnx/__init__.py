"""Both directions for the family ``_onnx_``, one file per file of hybrid/ops/onnx."""

import importlib
import pkgutil

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
