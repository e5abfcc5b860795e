"""Variables that are weights, by the nodes that read them."""

from __future__ import annotations

from collections.abc import Container, Iterator

from ..core.attrs import declared_dtype, is_float
from ..core.attrs import dtype as read_dtype
from .declared import SIZES
from .graph import Graph, Node

_OF_PARAMETERS = ("__lr_mult__", "__wd_mult__")
"""Attributes that Gluon, and an import from ONNX, write at every parameter, both of them; an AttrScope writes one at all that is
made in it."""
WEIGHTS = ("weight", "gamma", "parameters")
"""Inputs of operators that have weights, whose data is none, whoever fills it."""


def is_input(node: Node) -> bool:
    """True for a variable that says itself that it is an input: a declared one of an ONNX model."""
    return SIZES in node.attrs


def is_parameter(node: Node) -> bool:
    """True for a variable that says itself that it is a parameter, whatever it is called: how it is trained."""
    return not is_input(node) and all(key in node.attrs for key in _OF_PARAMETERS)


def parameters_of(graph: Graph) -> set[str]:
    """Names of the variables that are parameters by what they say of themselves, or since operators take them as such and as
    nothing else."""
    said = {n.name for n in graph.variables() if is_parameter(n)}
    places: dict[str, list[bool]] = {}
    for node in graph.nodes:
        if node.op is not None:
            names = node.op.input_names()
            for position, entry in enumerate(node.inputs):
                if entry.node.is_variable and not is_input(entry.node):
                    stored = position < len(names) and names[position] in node.op.parameters
                    places.setdefault(entry.node.name, []).append(stored)
    return said | {n for n, stored in places.items() if all(stored)}


def weights_by_reader(
    graph: Graph, inputs: Container[str] = (), twice: bool = False
) -> Iterator[tuple[Node, list[Node]]]:
    """Nodes that read weights, with these: variables that are no inputs and no auxiliary states, and that say that they are
    parameters, or else are no labels or whole numbers, and that no layer takes as its data. Weights that several nodes
    share are those of the first, or of all (twice).

    >>> from hybrid import sym
    >>> net = sym.FullyConnected(sym.relu(sym.var("x")), num_hidden=2, name="top")
    >>> [(node.name, [w.name for w in weights]) for node, weights in weights_by_reader(net.graph, ["x"])]
    [('top', ['top_weight', 'top_bias'])]
    """
    no_weights: set[int] = set()
    for node in graph.nodes:
        if node.op is not None:
            names = node.op.input_names()
            layer = any(w in names for w in WEIGHTS)
            for name, entry in zip(names, node.inputs):
                if name in node.op.ignored or (layer and name == "data"):
                    no_weights.add(id(entry.node))
    seen: set[int] = set()
    for node in graph.nodes:
        if node.op is None:
            continue
        found = []
        for entry in node.inputs:
            one = entry.node
            if not one.is_variable or is_input(one) or one.name in inputs or graph.is_auxiliary(one):
                continue
            if (id(one) in no_weights or _is_whole(one)) and not is_parameter(one):
                continue
            if id(one) in seen or one in found:
                continue
            found.append(one)
        if not twice:
            seen.update(map(id, found))
        if found:
            yield node, found


def _is_whole(node: Node) -> bool:
    """True for a variable of which its graph says that it holds no fractions: axes and sizes, and words."""
    said = declared_dtype(node.attrs.get("__dtype__"))
    return said is not None and not is_float(read_dtype(said))
