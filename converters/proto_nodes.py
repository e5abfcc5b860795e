"""The nodes of a file: order, inputs, attributes, and the functions that the standard defines them as."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import onnx
from onnx import AttributeProto

from hybrid.ir.graph import dependency_order

from .error import ConversionError, Unsupported
from .reader import OnnxFile
from .schemas import schema_of

_GRAPHS = (AttributeProto.GRAPH, AttributeProto.GRAPHS)


def function_key(proto: onnx.FunctionProto | onnx.NodeProto) -> tuple[str, str, str]:
    """The domain, name and overload of a function, or of the one that a node calls."""
    name = proto.op_type if isinstance(proto, onnx.NodeProto) else proto.name
    return proto.domain, name, getattr(proto, "overload", "")  # onnx before 1.16 has none


def reads(node: onnx.NodeProto) -> Iterator[str]:
    """Names that a node reads, and its subgraphs of the graph around them."""
    yield from (n for n in node.input if n)
    for attribute in node.attribute:
        for body in (attribute.g, *attribute.graphs) if attribute.type in _GRAPHS else ():
            own = {i.name for i in (*body.input, *body.initializer)} | {o for n in body.node for o in n.output}
            own |= {s.values.name for s in body.sparse_initializer}
            yield from (name for inner in body.node for name in reads(inner) if name not in own)
            yield from (o.name for o in body.output if o.name not in own)


def stored_tensors(graph: onnx.GraphProto) -> dict[str, onnx.TensorProto]:
    """By name the tensors that a graph holds: its initializers, and the values of Constant nodes."""
    found = {t.name: t for t in graph.initializer}
    return found | {
        n.output[0]: a.t for n in graph.node if n.op_type == "Constant" for a in n.attribute if a.name == "value"
    }


def topological_order(nodes: list[onnx.NodeProto]) -> list[onnx.NodeProto]:
    """The nodes, inputs before users; in the order they stand in when that is so already.

    Raises ConversionError for a cycle, and for a tensor that several nodes make: runtimes do not agree on which of them counts."""
    made = Counter(name for node in nodes for name in node.output if name)
    twice = [name for name, count in made.items() if count > 1]
    if twice:
        raise ConversionError(
            f"broken model: several nodes make {', '.join(twice[:10])}, wanted one each; export it again"
        )
    maker = {name: i for i, node in enumerate(nodes) for name in node.output if name}
    order, stuck = dependency_order([{maker[n] for n in reads(node) if n in maker} for node in nodes])
    if stuck:
        names = [nodes[i].name or nodes[i].output[0] for i in stuck[:10]]
        raise ConversionError(f"broken model: a cycle through {', '.join(names)}")
    return [nodes[i] for i in order]


def attribute_of(attribute: AttributeProto, references: Mapping[str, AttributeProto], file: OnnxFile) -> Any:
    """The value of an attribute: str, number, tuple, array or graph. references: the attributes of the function around it; None for
    one of these that its call leaves out. Raises Unsupported for a subgraph among them."""
    if attribute.ref_attr_name:
        referred = references.get(attribute.ref_attr_name)
        if referred is not None and referred.type in _GRAPHS:
            raise Unsupported(
                f"its subgraph {attribute.name} is an attribute of the function around it; write it in place"
            )
        return None if referred is None else attribute_of(referred, references, file)
    kind = attribute.type
    if kind == AttributeProto.STRING:
        return attribute.s.decode("utf-8", "surrogateescape")
    if kind == AttributeProto.STRINGS:
        return tuple(s.decode("utf-8", "surrogateescape") for s in attribute.strings)
    if kind == AttributeProto.TENSOR:
        return file.array(attribute.t)
    if kind == AttributeProto.SPARSE_TENSOR:
        return file.sparse(attribute.sparse_tensor)
    value = onnx.helper.get_attribute_value(attribute)
    return tuple(value) if isinstance(value, list) else value


def standard_of(
    node: onnx.NodeProto, domain: str, opset: int, types: Callable[[], Sequence[onnx.TypeProto]]
) -> onnx.FunctionProto | None:
    """The body of an operator that onnx defines by others; None when it does not. types: gives those of the inputs, which some of
    the definitions depend on."""
    schema = schema_of(node.op_type, opset, domain)
    if schema is None:
        return None
    found = onnx.FunctionProto()
    if schema.has_function:
        found.CopyFrom(schema.function_body)
    elif schema.has_context_dependent_function:
        serialized = [t.SerializeToString() for t in types()]
        found.ParseFromString(schema.get_context_dependent_function(node.SerializeToString(), serialized))
    else:
        return None
    there = {a.name for a in found.attribute_proto}
    defaults = (a.default_value for n, a in schema.attributes.items() if n not in there)
    found.attribute_proto.extend(d for d in defaults if d.type)  # the definition leaves them to the schema
    return found
