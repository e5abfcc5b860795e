"""Differences between two models at the nodes that compute something else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from ..models import Model
from .diff import Comparison, compare_networks
from .network import Network, Operation, networks_of

TOLD = 5  # words for one node


def causes(left: Model, right: Model, nodes: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """By node what differs there between the models, in words. nodes: names in either model, those of a symbol too where that is
    compared as ONNX. Nodes for which nothing is found are left out. Raises hybrid's and converters' errors."""
    if any(m.graph is None and m.proto is None for m in (left, right)):  # a runner shows nothing inside
        return {}
    found = compare_networks(*networks_of(left, right))
    words: dict[str, list[str]] = {}
    for change in found.changes:
        for name in {change.node, change.second} - {""}:
            words.setdefault(name, []).append(
                change.text
                if change.kind not in ("added", "removed")
                else f"{change.operator} {change.node} is {change.text}"
            )
    out = {}
    made: dict[str, set[str]] = {}
    times = Counter(n.name for m in (left, right) if m.graph is not None for n in m.graph.nodes)
    for entry in (e for m in (left, right) if m.graph is not None for e in m.graph.internals().outputs):
        made.setdefault(entry.node.name, set()).add(entry.name)
    for node in dict.fromkeys(nodes):
        same = [node, *(f"{node}_{i}" for i in range(1, times[node]))]  # several may be called so, and get numbers
        own = list(dict.fromkeys(op for name in same for op in _of_node(found, name, made)))
        names = {op.name for op in own}
        told = [t for name, texts in words.items() if name in names for t in texts]
        if not told:
            told = [t for name in _beside(found, own) for t in words.get(name, ())]
        if told:
            out[node] = tuple(dict.fromkeys(told))[:TOLD]
    return out


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
