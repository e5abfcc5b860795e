"""Differences between two models at the nodes that compute something else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from ..models import Model
from .diff import FORM, Change, Comparison, compare_networks
from .network import Network, Operation, networks_of

TOLD = 5  # words for one node


def causes(
    left: Model, right: Model, nodes: Iterable[str], also: Mapping[str, Sequence[str]] | None = None
) -> dict[str, tuple[str, ...]]:
    """By node what differs there between the models, in words, what is least likely to be a mere form first.

    nodes: names in either model, those of a symbol too where that is compared as ONNX. also: by node further names, as that of its
    partner and of those that could only be compared together with it, which are looked at where it has no difference itself. Where
    none of all these differs, what does elsewhere is told with the first. Nodes for which nothing is found are left out. Raises
    hybrid's and converters' errors."""
    found = _compared(left, right)
    if found is None:
        return {}
    words: dict[str, list[str]] = {}
    changes = sorted(found.changes, key=_form)
    for change in changes:
        for name in {change.node, change.second, *found.ends.get(change, ())} - {""}:
            words.setdefault(name, []).append(_words(change))
    out: dict[str, tuple[str, ...]] = {}
    made: dict[str, set[str]] = {}
    times = Counter(n.name for m in (left, right) if m.graph is not None for n in m.graph.nodes)
    for entry in (e for m in (left, right) if m.graph is not None for e in m.graph.internals().outputs):
        made.setdefault(entry.node.name, set()).add(entry.name)
    listed = list(dict.fromkeys(nodes))

    def told_of(node: str) -> list[str]:
        same = [node, *(f"{node}_{i}" for i in range(1, times[node]))]  # several may be called so, and get numbers
        own = list(dict.fromkeys(op for name in same for op in _of_node(found, name, made)))
        names = {op.name for op in own}
        told = [t for name, texts in words.items() if name in names for t in texts]
        return told or [t for name in _beside(found, own) for t in words.get(name, ())]

    for node in listed:
        each = (told_of(name) for name in (node, *(also or {}).get(node, ())))
        if told := next(filter(None, each), None):
            out[node] = tuple(dict.fromkeys(told))[:TOLD]
    if not out and listed and changes:
        places = [f"at {c.node} ({c.operator}): " if c.node and "added" != c.kind != "removed" else "" for c in changes]
        out[listed[0]] = tuple(dict.fromkeys(f"{p}{_words(c)}" for p, c in zip(places, changes)))[:TOLD]
    return out


def unreached(left: Model, right: Model) -> list[str]:
    """Attributes and parameters that differ between models of the same operations, in words, for models whose outputs agree: no
    input has reached a bound, or an epsilon is below rounding.

    Empty where operations differ too: forms are others then, and what differs need not mean anything. Raises hybrid's and
    converters' errors."""
    found = _compared(left, right)
    changes = [] if found is None else [c for c in found.changes if c.kind not in ("input", "output", "version")]
    if any(c.kind not in ("attribute", "parameter") for c in changes):
        return []
    told = [f"{c.node} ({c.operator}): {c.text}" for c in changes]
    return told[:TOLD] + [f"and {len(told) - TOLD} more"] * (len(told) > TOLD)


def _compared(left: Model, right: Model) -> Comparison | None:
    """Both models beside each other; None for a runner, which shows nothing inside."""
    if any(m.graph is None and m.proto is None for m in (left, right)):
        return None
    return compare_networks(*networks_of(left, right))


def _words(change: Change) -> str:
    if change.kind not in ("added", "removed"):
        return change.text
    return f"{change.operator} {change.node} is {change.text}"


def _form(change: Change) -> int:
    """A rank: how likely a difference is a mere form."""
    if change.kind in ("operator", "attribute", "parameter"):
        return 0
    if change.kind in ("added", "removed"):
        return 3 if change.operator in FORM else 2
    return 1 if change.kind in ("wiring", "output") else 4


def _of_node(found: Comparison, node: str, made: Mapping[str, set[str]]) -> list[Operation]:
    """Operations that a node is in either network: of its name, or what a converter made of it. made: tensors by the nodes of a
    symbol, which begin and end what each became (a fused one becomes several, under the names of what was fused)."""
    matching = found.matching
    networks = matching.a, matching.b
    own = [op for n in networks for op in n.operations if op.name == node or op.name.startswith(f"{node}/")]
    wanted, ends = made.get(node, {node}), {name for names in made.values() for name in names}
    own = own or [op for n in networks for op in n.operations if wanted.intersection(op.outputs)]
    for network in networks if ends else ():
        inside = set(network.operations)
        stack = [op for op in own if op in inside]
        while stack:
            for name in stack.pop().inputs:
                maker = network.makers.get(name)
                if maker is not None and name not in ends and maker not in own:
                    own.append(maker)
                    stack.append(maker)
    partners = [matching.theirs.get(op) or matching.mine.get(op) for op in own]
    return list(dict.fromkeys([*own, *(op for op in partners if op is not None)]))


def _beside(found: Comparison, own: list[Operation]) -> list[str]:
    """Operations without a partner that stand before or behind these with nothing that has one between."""
    matching = found.matching
    out: dict[str, None] = {}
    for network, partner in ((matching.a, matching.theirs), (matching.b, matching.mine)):
        inside = set(network.operations)
        stack = [op for op in own if op in inside]
        while stack:
            op = stack.pop()
            for other in _neighbours(network, op):
                if other not in partner and other.name not in out:
                    out[other.name] = None
                    stack.append(other)
    return list(out)


def _neighbours(network: Network, op: Operation) -> list[Operation]:
    before = [network.makers[n] for n in op.inputs if n in network.makers]
    return before + [r for o in op.outputs for r in network.readers.get(o, ())]
