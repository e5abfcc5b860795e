"""Patterns of what was planted, as a report has to tell it, that the causes of a verdict are held against."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import numpy as np
import onnx
from onnx import numpy_helper

FOLDED = ("optimized", "slimmed")
"""Variants in which weights are others than those that a fault was planted into: folded, transposed, merged."""
SWAPPED = r"^output \d+: .* instead of"
"""A pattern of outputs in each other's place."""
SILENT = ("Identity",)
"""Operators that a report may tell as what they stand for being left out."""


def patterns(right: onnx.ModelProto, wrong: onnx.ModelProto, variant: str = "plain") -> list[str]:
    """A regular expression for each thing that differs between two files of the same names: a word of the causes has to match it.

    variant: the form that the wrong file is given in; where names are others, they are not asked for."""
    before = {tuple(n.output): n for n in right.graph.node}
    same = {(n.op_type, tuple(n.input)) for n in right.graph.node}
    inner = [n for n in wrong.graph.node if tuple(n.output) not in before]
    moved = {
        tuple(n.output) for n in inner if (n.op_type, tuple(n.input)) in same
    }  # called otherwise, to put nodes behind
    made = {o for outputs in before for o in outputs}
    stored = [{i.name: i for i in m.graph.initializer} for m in (right, wrong)]
    found: dict[str, None] = {}
    for node in wrong.graph.node:
        old = before.get(tuple(node.output))
        if old is None:
            if not made.issuperset(node.output) and tuple(node.output) not in moved:
                found[rf"\b{node.op_type} .*is added"] = None
            continue
        if moved and old.op_type != node.op_type:  # what was put in between has the name now
            found[rf"\b{node.op_type} .*is added"] = None
            continue
        if old.op_type != node.op_type:
            left_out = rf"|{old.op_type} .*is (removed|left out)" if node.op_type in SILENT else ""
            found[f"{old.op_type} became {node.op_type}{left_out}"] = None
        else:
            found |= dict.fromkeys(_attributes(old, node))
        for one, other in zip(old.input, node.input):
            a, b = stored[0].get(one), stored[1].get(other)
            if a is not None and b is not None:
                if a.SerializeToString() != b.SerializeToString():
                    found[_array(numpy_helper.to_array(a), numpy_helper.to_array(b), one, other, variant)] = None
            elif one != other and old.op_type == node.op_type:
                other_kind = "is (stored|computed) in the first|" if (a is None) != (b is None) else ""
                found[f"{other_kind}reads .* (instead of|in another order)|is (added|removed)"] = None
    return list(found)


def _attributes(old: onnx.NodeProto, new: onnx.NodeProto) -> Iterable[str]:
    before, after = ({a.name: a for a in n.attribute} for n in (old, new))
    for name in dict.fromkeys((*before, *after)):
        a, b = before.get(name), after.get(name)
        if a == b:
            continue
        if (a or b).type == onnx.AttributeProto.GRAPH:  # type: ignore[union-attr]
            yield f"in {name}"
        elif b is None or b.type not in (onnx.AttributeProto.FLOAT, onnx.AttributeProto.INT):
            yield f"{name} .*->"
        else:
            yield f"{name} .*-> {re.escape(f'{onnx.helper.get_attribute_value(b):.7g}')}$"


def _array(want: np.ndarray, got: np.ndarray, one: str, other: str, variant: str) -> str:
    """A pattern for a parameter: its name where it has that, how many elements are others, and by what factor where it is one."""
    name = re.escape(one) if variant == "plain" else ""
    if want.shape != got.shape or variant in FOLDED:
        return rf"{name if one == other else ''}.*(differ|->|removed|added|left out)"
    differs = (got != want) & ~(np.isnan(got) & np.isnan(want)) if got.dtype.kind == "f" else got != want
    if want.size == 1:
        return rf"{name if one == other else ''}.*->"
    count = (
        f"{int(differs.sum()):,}"  # where a normalization is folded in, some of the smallest round to what they were
    )
    return rf"{name if one == other else ''}.*({count}|folded in\): [\d,]+) of {want.size:,} elements differ"


def cause(causes: Mapping[str, Iterable[str]], wanted: Iterable[str], every: bool) -> bool:
    """True where the causes tell what was planted: every one of the patterns, or one of them."""
    texts = [t for each in causes.values() for t in each]
    met = [any(re.search(p, t) for t in texts) for p in wanted]
    return bool(met) and (all(met) if every else any(met))
