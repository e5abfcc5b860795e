"""Other names for inputs and outputs of the ONNX model that a symbol becomes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import onnx

from converters.names import kept_names, name_outputs

from .models import Model
from .paths import BadInput, listed


def parse_renames(texts: Iterable[str]) -> dict[str, str]:
    """``fc1_output=logits`` -> {"fc1_output": "logits"}. Raises BadInput for all that are wrong."""
    out: dict[str, str] = {}
    problems = []
    for text in texts:
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
    """The model with other names for outputs, and those of inputs, by the old ones. Raises BadInput for names that there are not,
    and for those that something else has."""
    graph = model.graph
    if not rename or graph is None:
        return model, {}
    inputs = model.variables()
    outputs = {kept_names(graph).get(e.name, e.name): e for e in graph.outputs}
    outputs |= {e.name: e for e in graph.outputs}
    unknown = [n for n in rename if n not in inputs and n not in outputs]
    problems = [
        f"rename {n}: no input or output; there are {listed((*inputs, *dict.fromkeys(outputs)), 8)}" for n in unknown
    ]
    moved = {e.name for n, e in outputs.items() if n in rename}
    others = {o for node in graph.nodes for o in node.outputs} | {*kept_names(graph).values()}
    others = others - moved | {*model.params}
    new = list(rename.values())
    problems += [f"rename {o}={n}: {n} is a name already" for o, n in rename.items() if n in others or new.count(n) > 1]
    if problems:
        raise BadInput(*problems)
    named = {outputs[o]: n for o, n in rename.items() if o not in inputs}
    graph = name_outputs(graph, named)
    return replace(model, graph=graph, names=kept_names(graph)), {o: n for o, n in rename.items() if o in inputs}


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
