"""The dictionary: MXNet operators as ONNX, operator by operator. Needs hybrid, onnx and NumPy; never onnxruntime."""

from .error import ConversionError, Problem, Unsupported, UnsupportedModel
from .export import convert, default_opset, newest_opset, to_onnx
from .importer import from_onnx, import_model
from .registry import OLDEST, exports, imports, not_exported, one_to_one, passthrough

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
