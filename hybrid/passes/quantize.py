"""Quantise a graph, in the steps that MXNet takes, each a new graph: nodes are fused as its oneDNN backend fuses them
(partition), put on integers (quantise), given the ranges that calibration found (calibrate), and fused once more, now
that ranges are known (merge).

Names follow from those of the original nodes: ``quantized_X`` and ``requantize_X`` stand for X, ``E_quantize`` quantises the output
(or variable) E. So calibration knows whose range each of them needs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np

from ..core.error import OpError
from ..core.op import Op
from ..ir.graph import Entry, Graph, Node
from ..ops.binary import ElemwiseAdd
from ..ops.quantization import Counterpart, Dequantize, QuantizeV2, Requantize, counterparts
from ..ops.quantization_layers import QuantizedBatchNorm
from ..ops.subgraph import (
    Fused,
    FusedAttention,
    FusedConvolution,
    FusedFullyConnected,
    FusedSelfAttentionScores,
    FusedSelfAttentionValues,
)

Triple = tuple[Entry, Entry, Entry]
"""Integers and the ends of their range."""

FUSED: dict[type, type[Fused]] = {cls.fuses: cls for cls in (FusedConvolution, FusedFullyConnected)}
ATTENTION: dict[type, type[FusedAttention]] = {
    cls.fuses: cls for cls in (FusedSelfAttentionScores, FusedSelfAttentionValues)
}


def apply_operator(
    cls: type[Op], name: str, inputs: Sequence[Entry], attrs: Mapping[str, str], subgraphs: Sequence[Graph] = ()
) -> Node:
    """A node of an operator with attributes as texts; what it counts of its inputs is no attribute of the node."""
    counted = {cls.count: str(len(inputs))} if cls.count in cls.ignored_attributes else {}
    own = {k: v for k, v in attrs.items() if k in cls.fields}
    return Node(cls.bind(**own, **counted), name, inputs, dict(attrs), subgraphs)


def sole_readers(graph: Graph) -> dict[int, Node]:
    """By id of the nodes of which one output is read, once and by another node: who reads it."""
    uses = graph.uses()
    heads = {id(e.node) for e in graph.outputs}
    readers: dict[int, Node] = {}
    for node in graph.nodes:
        found = [r for i in range(node.num_outputs) for r in uses.get((id(node), i), [])]
        if len(found) == 1 and id(node) not in heads and (id(node), 0) in uses:
            readers[id(node)] = found[0][0]
    return readers


# -- fusing ------------------------------------------------------------------------------------------------------------


def chains(graph: Graph) -> Iterator[tuple[type[Fused], list[Node]]]:
    """Find the chains to fuse: a convolution or dense layer, and the nodes behind it, each the only reader of the one
    before. Yields each with the operator that it becomes."""
    readers = sole_readers(graph)
    taken: set[int] = set()

    def next_of(fused: type[Fused], chain: Sequence[Node]) -> Node | None:
        last = chain[-1]
        reader = readers.get(id(last))
        if reader is None or reader.op is None or id(reader) in taken:
            return None
        fits = reader.inputs[0].node is last or reader.means(ElemwiseAdd)  # sums have it on either side
        return reader if fits and fused.extends(operators(chain), reader.op) else None

    for node in graph.nodes:
        fused = FUSED.get(type(node.op))
        if fused is not None and fused.starts(node.op):
            chain = [node]
            while (reader := next_of(fused, chain)) is not None:
                taken.add(id(reader))
                chain.append(reader)
            yield fused, chain


def operators(chain: Sequence[Node]) -> list[Op]:
    """The operators that the nodes of a chain apply."""
    return [n.op for n in chain if n.op is not None]


def body_of(chain: Sequence[Node]) -> tuple[Graph, list[Entry]]:
    """A chain as a graph of its own, and what its variables stand for: inputs of the first node, then of those behind it."""
    made: dict[int, Node] = {}
    outside: list[Entry] = []
    counts: dict[str, int] = {}

    def variable(entry: Entry) -> Entry:
        outside.append(entry)
        number = counts[entry.name] = counts.get(entry.name, -1) + 1
        return Entry(Node(None, f"{entry.name}{number}"))

    last = chain[0]
    for node in chain:
        inputs = [Entry(made[id(e.node)], e.index) if id(e.node) in made else variable(e) for e in node.inputs]
        if node.means(ElemwiseAdd) and inputs[0].node.is_variable:
            inputs.reverse()  # what is added is the last variable
        made[id(node)] = last = Node(node.op, node.name, inputs, node.attrs)
    return Graph([Entry(last)]), outside


def fused_node(fused: type[Fused], chain: Sequence[Node], number: int) -> tuple[Node, list[Entry]]:
    """The node that stands for a chain, without inputs, and the entries that it wants."""
    body, outside = body_of(chain)
    suffix, attrs = fused.describe_fusion(operators(chain))
    return apply_operator(fused, f"{fused.name[1:]}{suffix}_{number}", outside, attrs, [body]), outside


def partition(graph: Graph) -> Graph:
    """Convolutions and dense layers fused with what follows them, and self-attention, as operators of ops/subgraph.py."""
    last: dict[int, tuple[type[Fused], Sequence[Node], int]] = {}
    numbers: dict[type[Fused], int] = {}
    for fused, chain in chains(graph):
        numbers[fused] = numbers.get(fused, -1) + 1
        last[id(chain[-1])] = fused, chain, numbers[fused]
    new: dict[tuple[int, int], Entry] = {}
    attention = 0
    for node in graph.nodes:
        if id(node) in last:
            made, outside = fused_node(*last[id(node)])
        elif type(node.op) in ATTENTION:
            body, outside = body_of([node])
            cls = ATTENTION[type(node.op)]
            made = apply_operator(cls, f"{cls.name[1:]}_{attention}", outside, node.attrs, [body])
            attention += 1
        else:
            made, outside = Node(node.op, node.name, node.inputs, node.attrs, node.subgraphs), list(node.inputs)
        made.inputs = tuple(new.get((id(e.node), e.index), e) for e in outside)
        kept = node if made.op is node.op and made.inputs == node.inputs else made
        new.update({(id(node), i): Entry(kept, i) for i in range(node.num_outputs)})
    return Graph(new[id(e.node), e.index] for e in graph.outputs)


# -- quantising --------------------------------------------------------------------------------------------------------


def can_stand_for(counterpart: type[Counterpart], op: Op) -> bool:
    """True when it can stand for an operator with these attributes."""
    try:
        counterpart.bind(**{k: v for k, v in op.dump().items() if k in counterpart.fields})
    except OpError:
        return False
    return True


def choose_counterparts(
    graph: Graph, excluded: Collection[str], excluded_ops: Collection[str], everything: bool
) -> dict[int, type[Counterpart]]:
    """By id of the nodes to quantise what stands for them: those that quantising is about, and of the others all, or those between
    two of these."""
    found: dict[int, type[Counterpart]] = {}
    known = counterparts()
    for node in graph.nodes:
        names = {node.name, *(n.name for body in node.subgraphs for n in body.nodes if n.op is not None)}
        if node.op is None or node.op.name in excluded_ops or not names.isdisjoint(excluded):
            continue
        by = known.get(type(node.op))
        if by is not None and can_stand_for(by, node.op):
            found[id(node)] = by
    if everything:
        return found
    must = {i for i, by in found.items() if by.central}
    behind: set[int] = set()  # nodes that a way from one of those leads to
    for node in graph.nodes:
        if id(node) in found and any(id(e.node) in must or id(e.node) in behind for e in node.inputs):
            behind.add(id(node))
    before: set[int] = set()
    for node in reversed(graph.nodes):
        if id(node) in must or (id(node) in found and id(node) in before):
            before.update(id(e.node) for e in node.inputs)
    kept = must | (behind & before)
    return {i: by for i, by in found.items() if i in kept}


def quantise(
    graph: Graph, stored: Collection[str], excluded: Collection[str], excluded_ops: Collection[str],
    dtype: str, *, everything: bool, per_channel: bool,
) -> Graph:  # fmt: skip
    """Nodes put on integers, with what quantises and dequantises between. stored: names of parameters, which are quantised once and
    for all; dtype: of other inputs; per_channel: a scale for each channel of fused dense layers."""
    wanted = choose_counterparts(graph, excluded, excluded_ops, everything)
    floats: dict[tuple[int, int], Entry] = {}
    triples: dict[tuple[int, int], Triple] = {}

    def in_float(entry: Entry) -> Entry:
        key = id(entry.node), entry.index
        if key not in floats:
            node = apply_operator(Dequantize, f"{entry.node.name}_dequantize", triples[key], {})
            floats[key] = Entry(node)
        return floats[key]

    def in_steps(entry: Entry) -> Triple:
        key = id(entry.node), entry.index
        if key not in triples:
            name = f"{entry.name}_quantize"
            if entry.node.is_variable and entry.node.name in stored:
                variables = [Entry(Node(None, f"{name}{end}")) for end in ("", "_min", "_max")]
                triples[key] = variables[0], variables[1], variables[2]
            else:
                triples[key] = outputs(apply_operator(QuantizeV2, name, [in_float(entry)], {"out_type": dtype}))
        return triples[key]

    for node in graph.nodes:
        by = wanted.get(id(node))
        if by is None:
            inputs = [in_float(e) for e in node.inputs]
            same = all(a.node is b.node for a, b in zip(inputs, node.inputs))
            made = node if same else Node(node.op, node.name, inputs, node.attrs, node.subgraphs)
            floats.update({(id(node), i): Entry(made, i) for i in range(node.num_outputs)})
            continue
        assert node.op is not None
        names = node.op.input_names()
        ranged, plain = [], []
        for position, entry in enumerate(node.inputs):
            if by.stays_float(names[position], per_channel):
                plain.append(in_float(entry))
            else:
                steps = in_steps(entry)
                plain.append(steps[0])
                ranged += steps[1:]
        attrs = {k: v for k, v in node.attrs.items() if k in node.op.fields} | by.own_attributes(per_channel)
        triple = outputs(apply_operator(by, f"quantized_{node.name}", [*plain, *ranged], attrs, node.subgraphs))
        if by.accumulates:
            triple = outputs(apply_operator(Requantize, f"requantize_{node.name}", triple, {"out_type": dtype}))
        triples[id(node), 0] = triple
    return Graph(in_float(e) for e in graph.outputs)


def outputs(node: Node) -> Triple:
    """The outputs of a quantised node: integers and the ends of their range."""
    return Entry(node, 0), Entry(node, 1), Entry(node, 2)


# -- calibrating -------------------------------------------------------------------------------------------------------


def calibration_key(node: Node) -> str | None:
    """The output or variable of the original graph whose range a node of a quantised graph can use; None for others."""
    if node.means(QuantizeV2):
        return node.name.removesuffix("_quantize")
    if node.means(Requantize):
        return f"{node.name.removeprefix('requantize_')}_output"
    return f"{node.name.removeprefix('quantized_')}_output" if node.means(QuantizedBatchNorm) else None


def calibrate(graph: Graph, ranges: Mapping[str, tuple[float, float]]) -> Graph:
    """The graph with the ranges that calibration found, by what calibration_key says."""

    def change(node: Node, inputs: tuple[Entry, ...]) -> Sequence[Entry] | None:
        key = calibration_key(node)
        if key is None or key not in ranges:
            return None
        return outputs(with_range(node, inputs, ranges[key]))

    return graph.rewrite(change)


def with_range(node: Node, inputs: Sequence[Entry], ends: tuple[float, float]) -> Node:
    """A node with a calibrated range, to all digits of float32."""
    assert node.op is not None
    texts = dict(zip(("min_calib_range", "max_calib_range"), (str(np.float32(v)) for v in ends)))
    return apply_operator(type(node.op), node.name, inputs, {**node.attrs, **texts}, node.subgraphs)


def can_requantize_itself(op: Op | None) -> bool:
    """True for operators that give int32, or 8 bits by themselves when they have a calibrated range."""
    return isinstance(op, Counterpart) and op.accumulates and "min_calib_range" in op.fields


def merge(graph: Graph) -> Graph:
    """Products and sums that give 8 bits themselves, where a calibrated requantize followed them, and dense layers and attention
    that give float32, where only a dequantize does."""
    readers = all_readers(graph)

    def alone(node: Node, reader: Node) -> bool:
        return readers[id(node)] == {id(reader)}

    def change(node: Node, inputs: tuple[Entry, ...]) -> Sequence[Entry] | None:
        if not inputs or node.op is None:
            return None
        before, source = node.inputs[0].node, inputs[0].node
        known = getattr(node.op, "calibrated", None)
        if node.means(Requantize) and known and can_requantize_itself(source.op) and alone(before, node):
            return outputs(with_range(source, source.inputs, known))
        # behind a requantize that the product has just taken in
        taken = node.means(Dequantize) and before.means(Requantize) and can_requantize_itself(source.op)
        if taken and source.op is not None and "enable_float_output" in source.op.fields and alone(before, node):
            kept = {k: v for k, v in source.attrs.items() if not k.endswith("_calib_range")}
            attrs = {**kept, "enable_float_output": "True"}
            return [Entry(apply_operator(type(source.op), source.name, source.inputs, attrs, source.subgraphs))]
        return None

    return graph.rewrite(change)


def all_readers(graph: Graph) -> dict[int, set[int]]:
    """By id of each node, the ids of the nodes that read any of its outputs; 0 where the graph's outputs do."""
    readers: dict[int, set[int]] = {id(n): set() for n in graph.nodes}
    for node in graph.nodes:
        for entry in node.inputs:
            readers[id(entry.node)].add(id(node))
    for entry in graph.outputs:
        readers[id(entry.node)].add(0)
    return readers
