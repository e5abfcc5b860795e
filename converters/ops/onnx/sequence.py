"""Sequences and optionals."""

import numpy as np
import onnx

from ...error import Unsupported
from ...registry import from_onnx, itself, to_onnx

itself("SequenceConstruct", "SequenceInsert", "SequenceErase", "SequenceLength", "SplitToSequence", since=11)
itself("OptionalHasElement", since=15)


def _contained(value):
    """The dtype of the tensors in a sequence or optional, where the model says it; None where not."""
    kind = None if value is None else value.kind
    while kind is not None and kind.WhichOneof("value") in ("sequence_type", "optional_type"):
        kind = getattr(kind, kind.WhichOneof("value")).elem_type
    return kind.tensor_type.elem_type or None if kind is not None and kind.HasField("tensor_type") else None
