"""Other names for inputs and outputs of the ONNX model that a symbol becomes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import onnx

from converters.names import kept_names, name_outputs
from hybrid.ir.graph import Entry, Graph, Node

from .inputs import pairs_in
from .models import Model
from .paths import BadInput, listed


def parse_renames(texts: Iterable[str]) -> dict[str, str]:
    """``fc1_output=logits`` -> {"fc1_output": "logits"}. Raises BadInput for all that are wrong."""
    out: dict[str, str] = {}
    problems = []
    for text in pairs_in(texts):
        old, _, new = text.partition("=")
        if not old or not new:
            problems.append(f"rename {text!r}: wanted OLD=NEW, such as fc1_output=logits")
        elif old in out:
            problems.append(f"rename {text!r}: {old} is given twice")
        else:
            out[old] = new
    if problems:
        raise BadInput(*problems)
    return out


def with_new_names(model: Model, rename: Mapping[str, str]) -> tuple[Model, dict[str, str]]:
    """The model with other names for outputs, and those of inputs, by the old ones. What has the name already keeps it: an output
    scores_output that came from ONNX as scores is written as scores by itself. Raises BadInput for names that there are not, and
    for those that something else has."""
    graph = model.graph
    if not rename or graph is None:
        return model, {}
    inputs = model.variables()
    kept = kept_names(graph)
    outputs = {kept.get(e.name, e.name): e for e in graph.outputs}
    outputs |= {e.name: e for e in graph.outputs}
    unknown = [n for n in rename if n not in inputs and n not in outputs]
    problems = [
        f"rename {n}: no input or output; there are {listed((*inputs, *dict.fromkeys(outputs)), 8)}" for n in unknown
    ]
    moved = {e.name for n, e in outputs.items() if n in rename}
    others = {o for node in graph.nodes for o in node.outputs if o not in moved}
    others |= {n for o, n in kept.items() if o not in moved} | {*model.params}
    new = list(rename.values())
    problems += [
        f"rename {o}={n}: {n} is a name already; take another"
        for o, n in rename.items()
        if (n in others and not (o == n and o in inputs)) or new.count(n) > 1
    ]
    if problems:
        raise BadInput(*problems)
    named = {outputs[o]: n for o, n in rename.items() if o not in inputs}
    graph = name_outputs(graph, named)
    return replace(model, graph=graph, names=kept_names(graph)), {
        o: n for o, n in rename.items() if o in inputs and o != n
    }


def rename_inputs(graph: onnx.GraphProto, names: Mapping[str, str]) -> None:
    """Give inputs other names, in bodies that read them too."""
    for info in graph.input:
        info.name = names.get(info.name, info.name)
    _rename_reads(graph, names)


def _rename_reads(graph: onnx.GraphProto, names: Mapping[str, str]) -> None:
    for node in graph.node:
        node.input[:] = [names.get(n, n) for n in node.input]
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                own = {i.name for i in attribute.g.input} | {i.name for i in attribute.g.initializer}
                own |= {o for n in attribute.g.node for o in n.output}
                _rename_reads(attribute.g, {o: n for o, n in names.items() if o not in own})


def new_node_names(
    graph: Graph, inputs: Iterable[str], outputs: Iterable[str], params: Iterable[str], rename: Mapping[str, str]
) -> tuple[Graph, dict[str, str]]:
    """The symbol that an ONNX model was read as, with other names for inputs and outputs (by those in ONNX); and the new names of
    its nodes, by the old ones. An output ``logits`` is that of a node ``logits``, as MXNet calls it ``logits_output``, and bears
    its own name where the symbol becomes ONNX again. Raises BadInput as with_new_names does."""
    inputs, found = list(inputs), dict(zip(outputs, graph.outputs))
    unknown = [n for n in rename if n not in inputs and n not in found]
    problems = [f"rename {n}: no input or output; there are {listed((*inputs, *found), 8)}" for n in unknown]
    nodes = {o: o if o in inputs else found[o].node.name for o in rename if o not in unknown}
    new = {nodes[o]: n if o in inputs else n.removesuffix("_output") or n for o, n in rename.items() if o in nodes}
    taken = {n.name for n in graph.nodes} | {*params} | {*kept_names(graph).values()} | {*inputs, *found}
    values = list(rename.values())
    problems += [
        f"rename {o}={n}: {n} is a name already; take another"
        for o, n in rename.items()
        if o in nodes and n != o and (n in taken or new[nodes[o]] in taken - {nodes[o]} or values.count(n) > 1)
    ]
    if problems:
        raise BadInput(*problems)
    made = rename_nodes(graph, new)
    named = {e: rename[o] for o, e in zip(found, made.outputs) if o in rename}
    return name_outputs(made, named), new


def rename_nodes(graph: Graph, names: Mapping[str, str]) -> Graph:
    """The graph with other names for nodes and variables."""

    def change(node: Node, inputs: tuple[Entry, ...]) -> list[Entry] | None:
        if node.name not in names:
            return None
        new = Node(node.op, names[node.name], inputs, node.attrs, node.subgraphs)
        return [Entry(new, i) for i in range(new.num_outputs)]

    return graph.rewrite(change)
