"""Forms of nodes that some targets get wrong, by the name that profiles have for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import onnx

if TYPE_CHECKING:
    from .check import Known

Rule = Callable[["Known", onnx.NodeProto], str]
"""From what is known of a file and a node to words for the form that it has; empty where it has not."""


def _batch_of_instances(known: Known, node: onnx.NodeProto) -> str:
    """InstanceNormalization of several pictures."""
    shape = known.shape(node.input[0]) if node.op_type == "InstanceNormalization" else None
    return f"a batch of {shape[0]}" if shape and shape[0] != 1 else ""


def _counted_padding(known: Known, node: onnx.NodeProto) -> str:
    """AveragePool that counts padding of its own."""
    if node.op_type != "AveragePool":
        return ""
    has = known.attributes(node)
    return "count_include_pad=1" if has.get("count_include_pad") and any(has.get("pads") or ()) else ""


def _broadcast(known: Known, node: onnx.NodeProto) -> str:
    """Arithmetic on two computed tensors of different shapes, of which neither has a number for each channel."""
    if node.op_type not in ("Add", "Sub", "Mul", "Div"):
        return ""
    if any(i in known.constants for i in node.input):
        return ""
    shapes = [known.shape(i) for i in node.input]
    if None in shapes or shapes[0] == shapes[1]:
        return ""
    sizes = [s[2:] for s in shapes if s is not None]
    if any(len(s) == 2 and all(d == 1 for d in s) for s in sizes):
        return ""
    return f"computed tensors of shapes {list(shapes[0] or ())} and {list(shapes[1] or ())}"


RULES: dict[str, Rule] = {
    "batch of instances": _batch_of_instances,
    "counted padding": _counted_padding,
    "broadcast": _broadcast,
}
