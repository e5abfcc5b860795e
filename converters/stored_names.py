"""Names of stored tensors: those that an exporter has made up."""

from __future__ import annotations

import re

_MADE_UP = re.compile(
    r"/|.*::|\d+$"  # PyTorch's older exporter, for what a node gives, and for what it computes ahead
    r"|val_\d+$|_tensor_constant\d*$|_lifted_tensor_constant\d*$|lifted_tensor_\d+$"  # its newer one
    r"|const_fold_opt__\d+|Const__\d+|const_\w*__\d+|new_shape__\d+"  # tf2onnx
    r"|ortshared_|.*_(?:constant|const)_?\d*$"  # onnxruntime's optimizer, and constants of whoever calls them so
)


def is_made_up(name: str) -> bool:
    """True for a name that an exporter gives to what is no parameter of the network, or to one that it has changed.

    >>> is_made_up("onnx::MatMul_179"), is_made_up("val_67"), is_made_up("encoder.weight")
    (True, True, False)
    """
    return _MADE_UP.match(name) is not None
