"""Update operators are of training; a model to convert has none."""

from hybrid.ops.optimizer import Writer

from ..registry import for_every_operator, not_exported

REASON = "it updates weights while training, which an ONNX model does not do"

not_exported(REASON, "multi_lars")


@for_every_operator
def refuse_updates(name, cls):
    """Give the reason for what writes to weights."""
    if issubclass(cls, Writer):
        not_exported(REASON, name)
