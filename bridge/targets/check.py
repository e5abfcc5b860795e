"""A written file beside a profile: every node that a target does not take, and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import onnx

from converters.error import Problem

from .known import AI_ONNX, Known
from .profile import Profile
from .rules import RULES


def inferred(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with what ONNX infers of the tensors inside; itself where that fails, or it is past the 2 GB of a message."""
    try:
        return onnx.shape_inference.infer_shapes(model, data_prop=True)
    except (onnx.shape_inference.InferenceError, ValueError):
        return model


def problems(profile: Profile, model: onnx.ModelProto, constants: Iterable[str] = ()) -> list[Problem]:
    """Every node that a target does not take, by what its profile says; first what holds for the whole file. Bodies of control flow
    are looked at too. constants: as Known takes them."""
    known = Known(inferred(model), constants)
    found = list(_of_file(profile, known))
    for node in _all_nodes(known.nodes):
        reasons = [*_of_node(profile, known, node)]
        found += [Problem(node.name or node.output[0], node.op_type, r) for r in reasons[:1]]
    return found


def _all_nodes(nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.NodeProto]:
    for node in nodes:
        yield node
        for attribute in node.attribute:
            for graph in (attribute.g, *attribute.graphs):
                yield from _all_nodes(graph.node)


def _of_file(profile: Profile, known: Known) -> Iterator[Problem]:
    oldest, newest = profile.opsets
    if not oldest <= known.opset <= newest:
        yield Problem("the file", "opset", f"opset {known.opset}, and {profile.name} reads {oldest} to {newest}")
    if known.model.ir_version > profile.ir:
        yield Problem("the file", "IR", f"IR version {known.model.ir_version}, and {profile.name} reads {profile.ir}")
    if profile.batch is not None:
        for info in known.model.graph.input:
            shape = known.shape(info.name)
            if info.name in known.fed and shape and isinstance(shape[0], int) and shape[0] != profile.batch:
                yield Problem(
                    info.name,
                    "input",
                    f"a batch of {shape[0]}, and {profile.name} takes {profile.batch} (--batch {profile.batch})",
                )
    for name in known.fed:
        dtype = known.dtype(name)
        if profile.refuses(dtype, "input") and not _only_cast(profile, known, name):
            yield Problem(name, "input", f"{profile.name} takes no {dtype} inputs: {_instead(dtype)}")
    if profile.static:
        for info in known.model.graph.input:
            shape = known.shape(info.name)
            if info.name in known.fed and (shape is None or not all(isinstance(d, int) for d in shape)):
                reason = f"size {list(shape or ())} is open; {profile.name} wants numbers: convert without --dynamic"
                yield Problem(info.name, "input", reason)


def _only_cast(profile: Profile, known: Known, name: str) -> bool:
    """True for an input that nothing but Cast reads, on a target that has dtypes of its own there."""
    readers = [n.op_type for n in _all_nodes(known.nodes) if name in n.input]
    return profile.own_types and bool(readers) and set(readers) == {"Cast"}


def _instead(dtype: str) -> str:
    """Advice about an input of a dtype that is not taken."""
    if dtype == "uint8":  # bytes come from --uint8, or from a network that has them itself
        return "leave out --uint8, or give the input as float32"
    return "give the input as float32" if "float" in dtype or dtype == "double" else "give another dtype"


def _of_node(profile: Profile, known: Known, node: onnx.NodeProto) -> Iterator[str]:
    kind = node.op_type
    if node.domain not in AI_ONNX:
        if f"{node.domain}.{kind}" not in (profile.accepts or ()):
            yield f"{profile.name} has no operator of the domain {node.domain}"
        return
    if not profile.operator(kind):
        yield f"{profile.name} has no {kind}"
    for place in profile.constant.get(kind, ()):
        if place < len(node.input) and node.input[place] and node.input[place] not in known.constants:
            yield f"{profile.name} wants input {place} ({node.input[place]}) to be a constant"
    for place in profile.computed.get(kind, ()):
        if place < len(node.input) and node.input[place] in known.constants:
            yield f"{profile.name} takes no constant as input {place} ({node.input[place]})"
    limited = profile.attributes.get(kind)
    if limited:
        has = known.attributes(node)
        for name, values in limited.items():
            value = has.get(name)
            if value is not None and value not in values and not (isinstance(value, list) and tuple(value) in values):
                wanted = ", ".join(map(str, values))
                yield f"{name}={value}, and {profile.name} has {wanted} alone"
    if kind in profile.ranks and node.input:
        least, most = profile.ranks[kind]
        shape = known.shape(node.input[0])
        if shape is not None and not least <= len(shape) <= most:
            yield f"{len(shape)} dimensions, and {profile.name} takes {least} to {most}"
    if kind in profile.types:
        dtype = known.dtype(node.output[0])
        if dtype in profile.types[kind]:
            yield f"{node.output[0]} is of {dtype}, for which {profile.name} has no {kind}"
    for name in (*node.input, *node.output):
        dtype, place = known.dtype(name), known.place(name)
        refused = profile.refuses(dtype, place)
        # of an input that is said once, however many nodes read it
        if refused and place != "input" and not (profile.own_types and kind == "Cast" and name in known.ends):
            yield f"{name} is of {dtype}, which {refused}"
    for rule in profile.wrong:
        said = RULES[rule](known, node)
        if said:
            yield f"{said}, which {profile.wrong[rule]}"


def lacking(found: Iterable[Problem]) -> Mapping[str, int]:
    """The operators that problems are about, and how many nodes of each."""
    counts: dict[str, int] = {}
    for problem in found:
        counts[problem.operator] = counts.get(problem.operator, 0) + 1
    return counts
