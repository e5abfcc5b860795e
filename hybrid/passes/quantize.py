"""What quantising does to a graph, in the steps that MXNet takes, each a new graph: nodes are fused as its oneDNN backend fuses
them (partitioned), put on integers (quantised), given the ranges that calibration found (calibrated), and fused once more, now that
ranges are known (merged).

Names follow from those of the original nodes: ``quantized_X`` and ``requantize_X`` stand for X, ``E_quantize`` quantises the output
(or variable) E. So calibration knows whose range each of them needs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

import numpy as np

from ..core.op import Op, lookup
from ..ir.graph import Entry, Graph, Node

Triple = tuple[Entry, Entry, Entry]
"""Integers and the ends of their range."""

ACTIVATIONS = {"Activation": ("relu",), "LeakyReLU": ("leaky", "gelu")}
PRODUCTS = {"_sg_mkldnn_conv", "_sg_mkldnn_fully_connected", "_sg_mkldnn_selfatt_qk", "_sg_mkldnn_selfatt_valatt"}
MERGED = {*PRODUCTS, "_contrib_quantized_elemwise_add", "_contrib_quantized_elemwise_mul"}
"""Operators that can give 8 bits or float32 themselves."""
MUST = {"Convolution", "FullyConnected", *PRODUCTS}
"""Operators that quantising is about; others are quantised where they stand between two of these, or all of them if asked."""
COUNTERPARTS = {
    "Convolution": "_contrib_quantized_conv",
    "FullyConnected": "_contrib_quantized_fully_connected",
    "Pooling": "_contrib_quantized_pooling",
    "Activation": "_contrib_quantized_act",
    "Flatten": "_contrib_quantized_flatten",
    "Concat": "_contrib_quantized_concat",
    "elemwise_add": "_contrib_quantized_elemwise_add",
    "elemwise_mul": "_contrib_quantized_elemwise_mul",
    "BatchNorm": "_contrib_quantized_batch_norm",
    "Embedding": "_contrib_quantized_embedding",
    **{name: name for name in PRODUCTS},
}
REQUANTISED = {"Convolution", "FullyConnected", "elemwise_add", "elemwise_mul", *PRODUCTS}
"""Operators whose quantised results are int32."""


def applied(
    name: str, node_name: str, inputs: Sequence[Entry], attrs: Mapping[str, str], subgraphs: Sequence[Graph] = ()
) -> Node:
    """A node of an operator with attributes as texts; what it counts of its inputs is no attribute of the node."""
    cls = lookup(name)
    counted = {"num_args": str(len(inputs))} if name.startswith("_sg_") and "num_args" in cls.fields else {}
    own = {k: v for k, v in attrs.items() if k in cls.fields}
    return Node(cls.bind(**own, **counted), node_name, inputs, dict(attrs), subgraphs)


def read_alone(graph: Graph) -> dict[int, Node]:
    """By id of the nodes of which one output is read, once and by another node: who reads it."""
    uses = graph.uses()
    heads = {id(e.node) for e in graph.outputs}
    readers: dict[int, Node] = {}
    for node in graph.nodes:
        found = [r for i in range(len(node.outputs)) for r in uses.get((id(node), i), [])]
        if len(found) == 1 and id(node) not in heads and (id(node), 0) in uses:
            readers[id(node)] = found[0][0]
    return readers


# -- fusing ------------------------------------------------------------------------------------------------------------


def is_activation(op: Op | None, *, bounded: bool, absolute: bool = False) -> bool:
    """Whether it is fused; bounded: a clip between 0 and 6 too, absolute: abs too."""
    if op is None:
        return False
    if op.name == "clip":
        return bounded and (op.a_min, op.a_max) == (0.0, 6.0)  # type: ignore[attr-defined]
    return (absolute and op.name == "abs") or getattr(op, "act_type", None) in ACTIVATIONS.get(op.name, ())


def is_norm(node: Node, first: Node) -> bool:
    """Whether it normalises the channels of first."""
    return kind_of(node) == "BatchNorm" and node.op.axis == 1 and node.inputs[0].node is first  # type: ignore[union-attr]


def chains(graph: Graph) -> Iterator[list[Node]]:
    """What is fused: a convolution or dense layer, and the nodes behind it, each the only reader of the one before."""
    readers = read_alone(graph)
    taken: set[int] = set()

    def grow(chain: list[Node], fits: Callable[[Node], bool]) -> bool:
        reader = readers.get(id(chain[-1]))
        if reader is None or id(reader) in taken or not fits(reader):
            return False
        taken.add(id(reader))
        chain.append(reader)
        return True

    for node in graph.nodes:
        kind, chain = kind_of(node), [node]
        if kind == "FullyConnected":
            grow(chain, lambda n: is_activation(n.op, bounded=True, absolute=True))
        elif kind == "Convolution" and len(node.op.kernel) >= 2 and not node.op.channels_last:  # type: ignore[union-attr]
            grow(chain, lambda n, first=node: is_norm(n, first))
            early = grow(chain, lambda n: is_activation(n.op, bounded=True))
            if not early and grow(chain, lambda n: kind_of(n) == "elemwise_add"):
                grow(chain, lambda n: is_activation(n.op, bounded=False))
        else:
            continue
        yield chain


def kind_of(node: Node) -> str:
    """The operator's name, "" for variables."""
    return "" if node.op is None else node.op.name


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
        if kind_of(node) == "elemwise_add" and inputs[0].node.is_variable:
            inputs.reverse()  # what is added is the last variable
        made[id(node)] = last = Node(node.op, node.name, inputs, node.attrs)
    return Graph([Entry(last)]), outside


def fused_node(chain: Sequence[Node], number: int) -> tuple[Node, list[Entry]]:
    """The node that stands for a chain, without inputs, and the entries that it wants."""
    names = [kind_of(n) for n in chain]
    body, outside = body_of(chain)
    if names[0] == "FullyConnected":
        tail, attrs, kind = (
            ("_eltwise" if names[1:] else ""),
            {"with_eltwise": "True"} if names[1:] else {},
            "fully_connected",
        )
    else:
        summed = "elemwise_add" in names
        parts = {
            "bn": "BatchNorm" in names,
            "add": summed,
            "act": names[-1] not in ("Convolution", "BatchNorm", "elemwise_add"),
        }
        tail, kind = "".join(f"_{p}" for p, there in parts.items() if there), "conv"
        given = {"with_bn": parts["bn"], "with_sum": summed}
        given["with_postsum_act" if summed else "with_act"] = parts["act"]
        attrs = {k: "true" for k, v in given.items() if v}
    name = f"sg_mkldnn_{kind}{tail}_{number}"
    return applied(f"_sg_mkldnn_{kind}", name, outside, attrs, [body]), outside


ATTENTION = {
    f"_contrib_interleaved_matmul_{kind}": f"sg_mkldnn_{kind}" for kind in ("selfatt_qk", "selfatt_valatt")
}  # fmt: skip


def partitioned(graph: Graph) -> Graph:
    """Convolutions and dense layers fused with what follows them, and self-attention, as operators of ops/subgraph.py."""
    last: dict[int, Sequence[Node]] = {}
    numbers: dict[str, int] = {}
    count: dict[int, int] = {}
    for chain in chains(graph):
        last[id(chain[-1])] = chain
        kind = kind_of(chain[0])
        count[id(chain[-1])] = numbers[kind] = numbers.get(kind, -1) + 1
    new: dict[tuple[int, int], Entry] = {}
    attention = 0
    for node in graph.nodes:
        if id(node) in last:
            made, outside = fused_node(last[id(node)], count[id(node)])
        elif kind_of(node) in ATTENTION:
            body, outside = body_of([node])
            kind = ATTENTION[kind_of(node)]
            made = applied(f"_{kind}", f"{kind}_{attention}", outside, node.attrs, [body])
            attention += 1
        else:
            made, outside = Node(node.op, node.name, node.inputs, node.attrs, node.subgraphs), list(node.inputs)
        made.inputs = tuple(new.get((id(e.node), e.index), e) for e in outside)
        kept = node if made.op is node.op and all(a is b for a, b in zip(made.inputs, node.inputs)) else made
        new.update({(id(node), i): Entry(kept, i) for i in range(len(node.outputs))})
    return Graph(new[id(e.node), e.index] for e in graph.outputs)


# -- quantising --------------------------------------------------------------------------------------------------------


def can_be_quantised(op: Op) -> bool:
    """Whether there is a counterpart for an operator with these attributes."""
    if op.name == "Pooling":
        return op.pool_type in ("max", "avg")  # type: ignore[attr-defined]
    if op.name == "Activation":
        return op.act_type == "relu"  # type: ignore[attr-defined]
    if op.name == "Convolution":
        return not op.channels_last  # type: ignore[attr-defined]
    return op.name in COUNTERPARTS


def chosen(graph: Graph, excluded: Collection[str], excluded_ops: Collection[str], everything: bool) -> set[int]:
    """Ids of the nodes to quantise: those that quantising is about, and of the others all, or those between two of these."""
    able = {}
    for node in graph.nodes:
        names = {node.name, *(n.name for body in node.subgraphs for n in body.nodes if n.op is not None)}
        if (
            node.op is not None
            and can_be_quantised(node.op)
            and node.op.name not in excluded_ops
            and names.isdisjoint(excluded)
        ):
            able[id(node)] = node
    must = {i for i, n in able.items() if kind_of(n) in MUST}
    if everything:
        return set(able)
    behind: set[int] = set()  # nodes that a way from one of those leads to
    for node in graph.nodes:
        if id(node) in able and any(id(e.node) in must or id(e.node) in behind for e in node.inputs):
            behind.add(id(node))
    before: set[int] = set()
    for node in reversed(graph.nodes):
        if id(node) in must or (id(node) in able and id(node) in before):
            before.update(id(e.node) for e in node.inputs)
    return must | (behind & before)


def kept_in_float(node: Node, position: int, each: bool) -> bool:
    """Whether an input of a node is not quantised; each: weights of fused dense layers are quantised by the operator."""
    assert node.op is not None
    kind, name = node.op.name, node.op.input_names()[position]
    if kind == "_sg_mkldnn_conv":
        return name not in ("data", "sum")
    if kind == "_sg_mkldnn_fully_connected" and each:
        return name != "data"
    return (kind == "BatchNorm" and position > 0) or (kind == "Embedding" and name == "data")


def quantised(
    graph: Graph, stored: Collection[str], excluded: Collection[str], excluded_ops: Collection[str],
    dtype: str, *, everything: bool, each: bool,
) -> Graph:  # fmt: skip
    """Nodes put on integers, with what quantises and dequantises between. stored: names of parameters, which are quantised once and
    for all; dtype: of other inputs; each: a scale for each channel of fused dense layers."""
    wanted = chosen(graph, excluded, excluded_ops, everything)
    floats: dict[tuple[int, int], Entry] = {}
    triples: dict[tuple[int, int], Triple] = {}

    def in_float(entry: Entry) -> Entry:
        key = id(entry.node), entry.index
        if key not in floats:
            node = applied("_contrib_dequantize", f"{entry.node.name}_dequantize", triples[key], {})
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
                triples[key] = outputs(applied("_contrib_quantize_v2", name, [in_float(entry)], {"out_type": dtype}))
        return triples[key]

    for node in graph.nodes:
        if id(node) not in wanted:
            inputs = [in_float(e) for e in node.inputs]
            same = all(a.node is b.node for a, b in zip(inputs, node.inputs))
            made = node if same else Node(node.op, node.name, inputs, node.attrs, node.subgraphs)
            floats.update({(id(node), i): Entry(made, i) for i in range(len(node.outputs))})
            continue
        assert node.op is not None
        ranged, plain = [], []
        for position, entry in enumerate(node.inputs):
            if kept_in_float(node, position, each):
                plain.append(in_float(entry))
            else:
                steps = in_steps(entry)
                plain.append(steps[0])
                ranged += steps[1:]
        attrs = {k: v for k, v in node.attrs.items() if k in node.op.fields}
        if node.op.name in PRODUCTS:
            attrs["quantized"] = "true" if node.op.name == "_sg_mkldnn_conv" else "True"
            if node.op.name == "_sg_mkldnn_fully_connected" and each:
                attrs["channel_wise_quantize"] = "True"
        name = COUNTERPARTS[node.op.name]
        triple = outputs(applied(name, f"quantized_{node.name}", [*plain, *ranged], attrs, node.subgraphs))
        if node.op.name in REQUANTISED:
            triple = outputs(applied("_contrib_requantize", f"requantize_{node.name}", triple, {"out_type": dtype}))
        triples[id(node), 0] = triple
    return Graph(in_float(e) for e in graph.outputs)


def outputs(node: Node) -> Triple:
    """What a quantised node gives: integers and the ends of their range."""
    return Entry(node, 0), Entry(node, 1), Entry(node, 2)


# -- calibrating -------------------------------------------------------------------------------------------------------


def calibration_key(node: Node) -> str | None:
    """The output or variable of the original graph whose range a node of a quantised graph can use; None for others."""
    kind = kind_of(node)
    if kind == "_contrib_quantize_v2":
        return node.name.removesuffix("_quantize")
    if kind == "_contrib_requantize":
        return f"{node.name.removeprefix('requantize_')}_output"
    return f"{node.name.removeprefix('quantized_')}_output" if kind == "_contrib_quantized_batch_norm" else None


def calibrated(graph: Graph, ranges: Mapping[str, tuple[float, float]]) -> Graph:
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
    return applied(node.op.name, node.name, inputs, {**node.attrs, **texts}, node.subgraphs)


def merged(graph: Graph) -> Graph:
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
        if node.op.name == "_contrib_requantize" and known and kind_of(source) in MERGED and alone(before, node):
            return outputs(with_range(source, source.inputs, known))
        # behind a requantize that the product has just taken in
        taken = (
            node.op.name == "_contrib_dequantize"
            and kind_of(before) == "_contrib_requantize"
            and kind_of(source) in MERGED
        )
        if taken and "enable_float_output" in source.op.fields and alone(before, node):  # type: ignore[union-attr]
            kept = {k: v for k, v in source.attrs.items() if not k.endswith("_calib_range")}
            attrs = {**kept, "enable_float_output": "True"}
            return [Entry(applied(kind_of(source), source.name, source.inputs, attrs, source.subgraphs))]
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
