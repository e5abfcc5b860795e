"""The dictionary: MXNet operators as ONNX, operator by operator. Needs hybrid, onnx and NumPy; never onnxruntime."""

from .error import ConversionError, Problem, Unsupported, UnsupportedModel
from .export import convert, default_opset, newest_opset, to_onnx
from .importer import from_onnx, import_model
from .registry import OLDEST, itself, not_exported, one_to_one
from .registry import from_onnx as reads
from .registry import to_onnx as translates

__all__ = [
    "OLDEST",
    "ConversionError",
    "Problem",
    "Unsupported",
    "UnsupportedModel",
    "convert",
    "default_opset",
    "from_onnx",
    "import_model",
    "itself",
    "newest_opset",
    "not_exported",
    "one_to_one",
    "reads",
    "to_onnx",
    "translates",
]
