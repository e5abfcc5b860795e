"""Forms of nodes that some targets get wrong, by the name that profiles have for them."""

from __future__ import annotations

from collections.abc import Callable

import onnx

from .known import Known

Rule = Callable[[Known, onnx.NodeProto], str]
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


def _sum_of_shapes(known: Known, node: onnx.NodeProto) -> str:
    """Add or Sub of two computed tensors of different shapes, of which the second is no plane and no channels of the first."""
    shapes = _both_shapes(known, node, ("Add", "Sub"))
    if not shapes or any(i in known.constants for i in node.input):
        return ""
    first, second = shapes
    channels = len(first) == 4 and second == (1, first[1], 1, 1)
    if first == second or second == (1, *first[1:]) or channels:
        return ""
    return f"computed tensors of shapes {list(first)} and {list(second)}"


def _turned_division(known: Known, node: onnx.NodeProto) -> str:
    """Div of which the first operand is a constant of several numbers, or is broadcast."""
    shapes = _both_shapes(known, node, ("Div",))
    if not shapes:
        return ""
    first, second = shapes
    if node.input[0] in known.constants:
        several = any(d != 1 for d in first)
        return f"a constant of shape {list(first)} divided by a tensor" if several else ""
    if node.input[1] in known.constants:
        return ""
    grows = len(first) < len(second) or any(a == 1 and b != 1 for a, b in zip(first[::-1], second[::-1]))
    return f"a tensor of shape {list(first)} divided by one of {list(second)}" if grows else ""


def _both_shapes(
    known: Known, node: onnx.NodeProto, kinds: tuple[str, ...]
) -> tuple[tuple[int | str, ...], tuple[int | str, ...]] | None:
    """The shapes of both operands of such a node; None for other nodes, and where one is not known."""
    if node.op_type not in kinds:
        return None
    first, second = (known.shape(i) for i in node.input)
    return None if first is None or second is None else (first, second)


def _batch_of_sequences(known: Known, node: onnx.NodeProto) -> str:
    """A recurrent layer on several sequences."""
    shape = known.shape(node.input[0]) if node.op_type in ("LSTM", "GRU", "RNN") else None
    return f"{shape[1]} sequences at once" if shape and len(shape) == 3 and shape[1] != 1 else ""


RULES: dict[str, Rule] = {
    "batch of instances": _batch_of_instances,
    "batch of sequences": _batch_of_sequences,
    "counted padding": _counted_padding,
    "sum of shapes": _sum_of_shapes,
    "turned division": _turned_division,
}
