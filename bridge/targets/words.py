"""Knowledge of profiles in sentences: the forms of nodes that a target gets wrong, and the forms that files for it have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .profile import Profile

WRONG = {
    "activation of another": "a product with a gate of another tensor (Sigmoid, HardSigmoid, Tanh ...)",
    "C remainder": "Mod with the sign of the dividend (fmod=1), of numbers that may be negative",
    "batch of instances": "InstanceNormalization of several pictures",
    "batch of sequences": "a recurrent layer over several sequences",
    "constant output": "an output that depends on no input",
    "counted padding": "AveragePool that counts its padding (count_include_pad=1)",
    "difference behind products": "Sub with a product (MatMul, Gemm) of fewer than 16 rows that reads another product",
    "halves rounded": "Round of numbers halfway between two whole ones",
    "keyword name": "a node whose name is a word of Python, such as class",
    "negative places": "ScatterElements at stored positions that count from the end",
    "no state": "GRU without an initial state, of several sequences or directions",
    "moved integers": "QuantizeLinear and DequantizeLinear of others than int8 with zero point 0",
    "power with number": "Pow, or a number divided by a tensor, before a product with a number or a sum with 1",
    "product of rows": "Mul or Div by a constant that does not lie along the axes from the second on",
    "product with activation": "MatMul of two computed tensors before what could be its activation",
    "special truths": "IsNaN or IsInf that another node reads",
    "split into steps": "Split of the second of three axes into single steps",
    "stepped slice": "Slice with steps other than 1",
    "sum of shapes": "Add or Sub of computed tensors, unless the second lies along the axes of the first from the second on",
    "turned division": "Div of a constant, or of a tensor that is broadcast, by a computed tensor",
    "turned slice": "Slice with a negative step, of four axes or more",
    "uneven padding": "AveragePool with other padding at the end than at the beginning",
    "unsaid direction": "CumSum without the attribute reverse",
    "whole power": "Pow by a whole number, of numbers that may be negative",
    "whole numbers": "arithmetic on whole numbers and a constant, or their division",
    "whole numbers to one": "a reduction of whole numbers that names all axes",
}
"""By rule (rules.py) the form of a node that it is about, as the subject of what a profile says of it."""

LOWERED = {
    "recurrences": "LSTM, GRU and RNN as their steps",
    "grus": "GRU as its steps",
    "rnns": "RNN as its steps",
    "states": "recurrent layers whose initial states are computed as their steps",
    "lengths": "recurrent layers over sequences of computed lengths as their steps",
    "starts": "GRU with an initial state of zeros",
    "pools": "LpPool as sums of powers",
    "maxima": "MaxPool of 8-bit integers in float32",
    "powers": "whole powers as products",
    "remainders": "Mod with the dividend's sign by Sign and Abs",
    "nans": "IsNaN by other operators",
    "infinities": "IsInf by other operators",
    "rounds": "Round by Floor and Ceil",
    "batches": "GatherND without batch axes",
    "sums": "CumSum with its direction",
    "gates": "HardSigmoid with the slope of HardSwish by Mul, Add and Clip",
    "reversals": "Slice with negative steps as Gather",
    "reductions": "reductions over all axes without naming these",
    "products": "ConvInteger and MatMulInteger in float32",
    "floats": "integers, truths and other floats in float32",
    "lookups": "Gather as a product with one-hot rows",
    "layouts": "Squeeze, Unsqueeze and Flatten as Reshape, and layers over sequences as layers over pictures of one row",
    "operands": "operands of one shape, nothing broadcast",
}
"""By lowering (converters/lowering) what it writes."""

FORMS: Mapping[tuple[str, Any], str] = {
    ("nan_guards", False): "no nodes that keep MXNet's answers for NaN",
    ("counted_pads", False): "a Pad before AveragePool that counts its padding",
    ("suppresses_at", True): "thresholds of NonMaxSuppression one float32 higher",
    ("quantized", "qdq"): "8-bit networks as pairs of QuantizeLinear and DequantizeLinear",
}
"""By field and value of Forms what a file then has."""


def wrong(profile: Profile) -> list[str]:
    """Sentences, one for each form of a node that it gets wrong."""
    return [f"{WRONG[rule]}, which {said}" for rule, said in profile.wrong.items()]


def forms(profile: Profile) -> list[str]:
    """Phrases for what files that are written for it have."""
    found = [FORMS[name, value] for name, value in profile.forms.items() if name != "lowered"]
    return found + [LOWERED[name] for name in profile.forms.get("lowered", ())]
