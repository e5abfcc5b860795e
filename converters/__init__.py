"""The dictionary: MXNet operators as ONNX, operator by operator. Needs hybrid, onnx and NumPy; never onnxruntime."""

from typing import TYPE_CHECKING

from hybrid.core.showing import from_modules

if TYPE_CHECKING:
    from .error import ConversionError, Problem, Unsupported, UnsupportedModel
    from .export import convert, default_opset, newest_opset, to_onnx
    from .importer import from_onnx, import_model
    from .registry import OLDEST, exports, imports, not_exported, one_to_one, passthrough

FROM = {
    "OLDEST": "registry",
    "ConversionError": "error",
    "Problem": "error",
    "Unsupported": "error",
    "UnsupportedModel": "error",
    "convert": "export",
    "default_opset": "export",
    "exports": "registry",
    "from_onnx": "importer",
    "import_model": "importer",
    "imports": "registry",
    "newest_opset": "export",
    "not_exported": "registry",
    "one_to_one": "registry",
    "passthrough": "registry",
    "to_onnx": "export",
}
"""Modules of the names to be had here, loaded when one is first asked for: reading needs nothing of writing."""

__all__ = [
    "OLDEST",
    "ConversionError",
    "Problem",
    "Unsupported",
    "UnsupportedModel",
    "convert",
    "default_opset",
    "exports",
    "from_onnx",
    "import_model",
    "imports",
    "newest_opset",
    "not_exported",
    "one_to_one",
    "passthrough",
    "to_onnx",
]


__getattr__, __dir__ = from_modules(globals(), FROM)
