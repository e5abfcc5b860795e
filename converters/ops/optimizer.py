"""Update operators are of training; a model to convert has none."""

from hybrid.core.op import OPS
from hybrid.ops.optimizer import Writer

from ..registry import not_exported

UPDATES = [name for name, cls in OPS.items() if issubclass(cls, Writer)]

not_exported("it updates weights while training, which an ONNX model does not do", *UPDATES, "multi_lars")
