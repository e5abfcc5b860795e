"""Forms of nodes that some targets get wrong, by the name that profiles have for them."""

from __future__ import annotations

import keyword
from collections.abc import Callable

import numpy as np
import onnx

from converters.lowering.gates import CLOSE, SLOPE
from converters.lowering.operands import APART

from .known import Known

ROWS = 16
"""Rows from which on OpenVINO computes products of products by other code."""
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
    """Add or Sub of two computed tensors of different shapes, of which the second is no row of the first: the sizes of some axes
    from the second on, ones elsewhere."""
    shapes = _both_shapes(known, node, ("Add", "Sub"))
    if not shapes or any(i in known.constants for i in node.input):
        return ""
    first, second = shapes
    if first == second or any(second == (1, *first[1:e], *(1,) * (len(first) - e)) for e in range(2, len(first) + 1)):
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


def _product_of_rows(known: Known, node: onnx.NodeProto) -> str:
    """Mul or Div by a constant of several numbers that are no row of the other: the sizes of some axes from the second on."""
    shapes = _both_shapes(known, node, ("Mul", "Div"))
    stored = [i in known.constants for i in node.input]
    if not shapes or all(stored) or not any(stored):
        return ""
    other, array = shapes if stored[1] else shapes[::-1]
    own = (1,) * (len(other) - len(array)) + tuple(array)
    rows = (own == (1, *other[1:e], *(1,) * (len(other) - e)) for e in range(2, len(other) + 1))
    if all(d == 1 for d in array) or any(rows):
        return ""
    return f"a tensor of shape {list(other)} and a constant of shape {list(array)}"


def _product_with_activation(known: Known, node: onnx.NodeProto) -> str:
    """MatMul of two computed tensors, with one reader that could be taken for its activation."""
    if node.op_type != "MatMul" or any(i in known.constants for i in node.input):
        return ""
    readers = [n.op_type for n in known.nodes if node.output[0] in n.input]
    return (
        f"a product of computed tensors, read by {readers[0]}" if len(readers) == 1 and readers[0] not in APART else ""
    )


def _power_with_number(known: Known, node: onnx.NodeProto) -> str:
    """Pow, or a number divided by a tensor, with one reader that multiplies by a number or adds one."""
    turned = node.op_type == "Div" and node.input[0] in known.constants
    readers = [n for n in known.nodes if node.output[0] in n.input] if node.op_type == "Pow" or turned else []
    if len(readers) != 1 or readers[0].op_type not in ("Mul", "Div", "Add", "Sub", "Neg"):
        return ""
    others = [i for i in readers[0].input if i != node.output[0]]
    numbers = all(i in known.constants and all(d == 1 for d in known.shape(i) or ()) for i in others)
    return f"a power, and {readers[0].op_type} with a number behind it" if numbers else ""


def _split_into_steps(known: Known, node: onnx.NodeProto) -> str:
    """Split of the second of three axes into parts whose axis is squeezed away."""
    if node.op_type != "Split" or known.attributes(node).get("axis") != 1 or len(known.shape(node.input[0]) or ()) != 3:
        return ""
    squeezed = any(n.op_type == "Squeeze" and n.input[0] in node.output for n in known.nodes)
    return f"{len(node.output)} steps, each squeezed" if squeezed else ""


def _whole_numbers(known: Known, node: onnx.NodeProto) -> str:
    """Arithmetic on whole numbers, of which one is a constant, or division of them."""
    if node.op_type not in ("Add", "Sub", "Mul", "Div", "Pow", "Sum"):
        return ""
    whole = any(map(known.is_whole, node.input))
    return "whole numbers" if whole and (node.op_type == "Div" or any(i in known.constants for i in node.input)) else ""


def _whole_numbers_to_one(known: Known, node: onnx.NodeProto) -> str:
    """A reduction of whole numbers that names all of its axes."""
    shape = known.shape(node.input[0]) if node.op_type.startswith("Reduce") else None
    if not shape or not known.is_whole(node.input[0]):
        return ""
    axes = known.attributes(node).get("axes")
    if axes is None and len(node.input) > 1:
        axes = known.numbers(node.input[1])
    return f"axes={[int(a) for a in axes]} of whole numbers" if axes is not None and len(axes) == len(shape) else ""


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


def _negative_places(known: Known, node: onnx.NodeProto) -> str:
    """ScatterElements at stored places that count from the end."""
    places = known.numbers(node.input[1]) if node.op_type == "ScatterElements" else None
    return "places that count from the end" if places is not None and bool((places < 0).any()) else ""


def _no_state(known: Known, node: onnx.NodeProto) -> str:
    """GRU without a state, of several sequences or directions."""
    shape = known.shape(node.input[0]) if node.op_type == "GRU" and not any(node.input[5:6]) else None
    ways = 2 if known.attributes(node).get("direction") == "bidirectional" else 1
    if not shape or len(shape) != 3 or (shape[1], ways) == (1, 1):
        return ""
    return f"no state of {shape[1]} sequences in {ways} direction{'s' * (ways > 1)}"


def _special_truths(known: Known, node: onnx.NodeProto) -> str:
    """IsNaN or IsInf that another node reads."""
    if node.op_type not in ("IsNaN", "IsInf"):
        return ""
    readers = [n.op_type for n in known.nodes if node.output[0] in n.input]
    return f"truths for {readers[0]}" if readers else ""


def _halves_rounded(known: Known, node: onnx.NodeProto) -> str:
    """Round of numbers, which may lie halfway between two whole ones."""
    return "numbers that may lie halfway" if node.op_type == "Round" and not known.is_whole(node.input[0]) else ""


def _constant_output(known: Known, node: onnx.NodeProto) -> str:
    """A node of constants alone that makes an output of the file."""
    made = [o for o in node.output if o in known.ends]
    return f"{made[0]} is a constant" if made and all(i in known.constants for i in node.input if i) else ""


def _c_remainder(known: Known, node: onnx.NodeProto) -> str:
    """Mod with the sign of the dividend, of numbers that may be negative."""
    if node.op_type != "Mod" or not known.attributes(node).get("fmod"):
        return ""
    maker = known.makers.get(node.input[0])
    return "" if maker is not None and maker.op_type == "Abs" else "fmod=1"


def _whole_power(known: Known, node: onnx.NodeProto) -> str:
    """Pow by a whole number, of numbers that may be negative."""
    maker = known.makers.get(node.input[0]) if node.op_type == "Pow" else None
    if node.op_type != "Pow" or (maker is not None and maker.op_type in ("Abs", "Exp", "Sigmoid", "Relu", "Softplus")):
        return ""
    array = known.numbers(node.input[1])
    return "a power by a whole number" if array is not None and bool((array == np.floor(array)).any()) else ""


def _stepped_slice(known: Known, node: onnx.NodeProto) -> str:
    """Slice with steps that are not 1."""
    steps = known.numbers(node.input[4]) if node.op_type == "Slice" and len(node.input) > 4 else None
    return f"steps of {steps.ravel().tolist()}" if steps is not None and bool((steps != 1).any()) else ""


def _unsaid_direction(_known: Known, node: onnx.NodeProto) -> str:
    """CumSum without the attribute reverse."""
    unsaid = node.op_type == "CumSum" and not any(a.name == "reverse" for a in node.attribute)
    return "no reverse, which is 0," if unsaid else ""


def _turned_slice(known: Known, node: onnx.NodeProto) -> str:
    """Slice with a negative step, of four dimensions or more."""
    if node.op_type != "Slice" or len(node.input) < 5 or len(known.shape(node.input[0]) or ()) < 4:
        return ""
    steps = known.numbers(node.input[4])
    return "a negative step" if steps is not None and (steps < 0).any() else ""


def _uneven_padding(known: Known, node: onnx.NodeProto) -> str:
    """AveragePool with other padding at the end than at the beginning."""
    pads = known.attributes(node).get("pads") if node.op_type == "AveragePool" else None
    half = len(pads or ()) // 2
    return f"pads={pads}" if pads and pads[:half] != pads[half:] else ""


def _keyword_name(_known: Known, node: onnx.NodeProto) -> str:
    """A node whose name is a word of Python."""
    return f"the name {node.name}" if keyword.iskeyword(node.name) else ""


def _activation_of_another(known: Known, node: onnx.NodeProto) -> str:
    """A product or quotient that looks like an activation or a norm, whose factor is another tensor than the one inside: a
    times Tanh(Softplus(b)), times Erf of b plus a number, times HardSigmoid of b with HardSwish's slope, or divided by ReduceL2
    of b."""
    if node.op_type not in ("Mul", "Div") or len(node.input) != 2:
        return ""
    pairs = [(node.input[0], node.input[1])] + ([] if node.op_type == "Div" else [(node.input[1], node.input[0])])
    for factor, gate in pairs:
        read = known.makers.get(gate)
        if read is None or factor in known.constants:
            continue
        inside = _inside_gate(known, read) if node.op_type == "Mul" else _inside_norm(read)
        if inside is not None and _source(known, inside) != _source(known, factor):
            return (
                f"{factor} {'divided' if node.op_type == 'Div' else 'multiplied'} by {read.op_type} of another tensor"
            )
    return ""


def _source(known: Known, name: str) -> tuple[str, ...]:
    """The tensor, or the one that it is by numbers; of integers that several nodes read back as floats the integers, and how."""
    maker = known.makers.get(name)
    while maker is not None and maker.op_type in ("Mul", "Div") and any(i in known.constants for i in maker.input):
        name = next((i for i in maker.input if i not in known.constants), "")
        maker = known.makers.get(name)
    return (name,) if maker is None or maker.op_type != "DequantizeLinear" else tuple(maker.input)


def _inside_norm(read: onnx.NodeProto) -> str | None:
    """The tensor that a norm is made of; None for no norm."""
    return read.input[0] if read.op_type == "ReduceL2" else None


def _inside_gate(known: Known, read: onnx.NodeProto) -> str | None:
    """The tensor that a gate is made of; None for no gate."""
    maker = known.makers.get(read.input[0]) if read.input else None
    if read.op_type == "HardSigmoid":
        return read.input[0] if abs(known.attributes(read)["alpha"] - SLOPE) <= CLOSE else None
    if read.op_type == "Tanh" and maker is not None and maker.op_type == "Softplus":
        return maker.input[0]
    if read.op_type == "Add" and maker is not None and maker.op_type == "Erf":
        scaled = known.makers.get(maker.input[0])
        return scaled.input[0] if scaled is not None and scaled.op_type in ("Div", "Mul") else maker.input[0]
    return None


def _difference_behind_products(known: Known, node: onnx.NodeProto) -> str:
    """Sub, of a product of fewer than 16 rows of a product, and another computed tensor."""
    if node.op_type != "Sub" or any(i in known.constants for i in node.input):
        return ""
    made = node.input[0]
    shape = known.shape(made)
    if shape is None or len(shape) != 2 or not isinstance(shape[0], int) or shape[0] >= ROWS:
        return ""
    behind = _is_product(known, made) and _behind_product(known, known.makers[made].input[0])
    return f"{made}, a product of {shape[0]} rows behind a product" if behind else ""


def _is_product(known: Known, name: str) -> bool:
    maker = known.makers.get(name)
    return maker is not None and maker.op_type in ("Gemm", "MatMul") and maker.input[1] in known.constants


def _behind_product(known: Known, name: str) -> bool:
    """True for a product, and for what one operation on each element makes of one."""
    maker = known.makers.get(name)
    if maker is None:
        return False
    return _is_product(known, name) or (len(maker.input) == 1 and _is_product(known, maker.input[0]))


def _moved_integers(known: Known, node: onnx.NodeProto) -> str:
    """QuantizeLinear or DequantizeLinear of other integers than int8, or with a zero point that is not 0."""
    if node.op_type not in ("QuantizeLinear", "DequantizeLinear"):
        return ""
    name = node.output[0] if node.op_type == "QuantizeLinear" else node.input[0]
    dtype = known.dtype(name)
    if dtype not in ("int8", "undefined"):
        return f"integers of {dtype}"
    zero = known.numbers(node.input[2]) if len(node.input) > 2 and node.input[2] else None
    return "" if zero is None or not zero.any() else f"a zero point of {zero.ravel()[0]}"


RULES: dict[str, Rule] = {
    "activation of another": _activation_of_another,
    "C remainder": _c_remainder,
    "batch of instances": _batch_of_instances,
    "batch of sequences": _batch_of_sequences,
    "constant output": _constant_output,
    "counted padding": _counted_padding,
    "difference behind products": _difference_behind_products,
    "halves rounded": _halves_rounded,
    "keyword name": _keyword_name,
    "negative places": _negative_places,
    "no state": _no_state,
    "moved integers": _moved_integers,
    "power with number": _power_with_number,
    "product of rows": _product_of_rows,
    "product with activation": _product_with_activation,
    "special truths": _special_truths,
    "split into steps": _split_into_steps,
    "stepped slice": _stepped_slice,
    "sum of shapes": _sum_of_shapes,
    "turned division": _turned_division,
    "turned slice": _turned_slice,
    "uneven padding": _uneven_padding,
    "unsaid direction": _unsaid_direction,
    "whole power": _whole_power,
    "whole numbers": _whole_numbers,
    "whole numbers to one": _whole_numbers_to_one,
}
