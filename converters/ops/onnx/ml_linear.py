"""Linear models and support vector machines of ai.onnx.ml, and how the models of that domain are read and written."""

import numpy as np

from ...registry import from_onnx, to_onnx

ML = "ai.onnx.ml"


def array(values, dtype=np.float32):
    """A list of numbers or words; None for one that is not there, which for these operators is the same as an empty one."""
    return None if values is None or not len(values) else np.asarray(values, dtype)


def floats(values, tensor):
    """Numbers that a file has as a list, or as a tensor."""
    return tensor if tensor is not None else array(values)


def lists(op, rename=None):
    """The operator's attributes as ONNX has them: arrays are lists, float64 ones tensors by a name of their own. Those that are None
    are left out."""
    found = {}
    for name in op.fields:
        value = getattr(op, name)
        if name == "given" or value is None:
            continue
        if isinstance(value, np.ndarray):
            if value.dtype == np.float64:
                name, value = f"{name}_as_tensor", from_array(value)
            else:
                value = value.tolist()
        found[name] = int(value) if isinstance(value, bool) else value
    return found
