"""Networks to look at: as a table of layers, and as a drawing. ``mx.visualization``, also ``mx.viz``."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from .core.attrs import Int, Tuple
from .core.shapes import MaybeShape, from_legacy, is_known
from .frontend.brief import briefly
from .frontend.drawing import Drawing, kind_of
from .ir.graph import Entry, Node
from .ir.infer import infer
from .ir.weights import is_input, parameters_of, weights_by_reader
from .symbol import Symbol

_SIZES = Tuple(Int())


class _Layers(NamedTuple):
    """A symbol as its JSON shows it."""

    nodes: list[dict[str, Any]]
    heads: set[int]
    """Nodes that MXNet shows though they are variables. It takes all numbers of the first head for such, of which the last is 0, so
    that the first node, which mostly is the data, is among them."""


def _layers(symbol: Any) -> _Layers:
    if not isinstance(symbol, Symbol):
        raise TypeError(f"symbol must be Symbol, got {type(symbol).__name__}")
    conf = json.loads(symbol.tojson())
    return _Layers(conf["nodes"], set(conf["heads"][0]))


def _shapes(symbol: Symbol, shape: Mapping[str, tuple[int, ...]] | None) -> dict[str, tuple[int, ...]]:
    """The shape of everything that is computed, by its name; nothing for None. Raises ValueError when shape is not enough."""
    if shape is None:
        return {}
    internals = symbol.get_internals()
    _, found, _ = internals.infer_shape(**shape)
    if found is None:
        raise ValueError("Input shape is incomplete")
    return dict(zip(internals.list_outputs(), found))


def _key(node: Mapping[str, Any]) -> str:
    """Name of the first output of a node."""
    return node["name"] if node["op"] == "null" else f"{node['name']}_output"


def _sizes(symbol: Symbol, shape: Mapping[str, tuple[int, ...]] | None) -> dict[str, int]:
    """Numbers of parameters of layers by their names, as far as the shapes of their variables are known. Layers of the kinds that
    MXNet counts are among them where the symbol itself says the shapes of their weights, and all layers of imported networks, whose
    weights may be computed, of which MXNet's count knows nothing."""
    graph, given = symbol.graph, shape or {}
    inferred = infer(graph, {n: from_legacy(s) for n, s in given.items()})
    imported = any(map(is_input, graph.variables()))
    found: dict[str, int] = dict.fromkeys((n.name for n in graph.nodes if n.op is not None), 0) if imported else {}

    def of(weight: Node) -> MaybeShape:
        # a single number has no axes, which MXNet's way of writing shapes cannot tell from a shape that is not known
        single = imported and weight.attrs.get("__shape__") == "()"
        return () if single else inferred.spec(Entry(weight)).shape

    for node, weights in weights_by_reader(graph, given):
        assert node.op is not None
        if node.op.name in _COUNTED and not all("__shape__" in w.attrs for w in weights):
            continue
        shapes = [s for w in weights if is_known(s := of(w))]
        if len(shapes) == len(weights):
            found[node.name] = sum(map(math.prod, shapes))
    return found


_COUNTED = ("Convolution", "FullyConnected", "BatchNorm", "Embedding")


def _parameters(node: Mapping[str, Any], channels: int, shapes: Mapping[str, tuple[int, ...]]) -> int:
    """Number of parameters of a layer, as MXNet counts: of four kinds of layers only."""
    attrs = node.get("attrs", {})
    bias = attrs.get("no_bias") not in ("True", "1", "true")
    if node["op"] == "Convolution":
        count = channels * int(attrs["num_filter"]) // int(attrs.get("num_group", 1))
        for size in _SIZES.parse(attrs["kernel"]):
            count *= size
        return count + (int(attrs["num_filter"]) if bias else 0)
    if node["op"] == "FullyConnected":
        return (channels + bias) * int(attrs["num_hidden"])
    if node["op"] == "BatchNorm":
        return 2 * shapes[_key(node)][1] if shapes else 0
    if node["op"] == "Embedding":
        return int(attrs["input_dim"]) * int(attrs["output_dim"])
    return 0


def print_summary(
    symbol: Symbol,
    shape: Mapping[str, tuple[int, ...]] | None = None,
    line_length: int = 120,
    positions: Sequence[float] = (0.44, 0.64, 0.74, 1.0),
) -> None:
    """Print a table of the layers of a symbol: names, shapes (if there are any, without the batch), numbers of parameters, inputs.

    shape: shapes of the inputs by name. positions: where columns end, as parts of line_length or, when the last is above 1, in
    characters. Convolutions, FullyConnected, BatchNorm and Embedding are counted as MXNet counts them, by the channels before
    them; by their weights where the symbol says the shapes of these, as that of an imported network does. So are all others,
    which MXNet counts as 0. Each parameter is counted once, at the first layer that reads it, and running means and variances,
    which are no arguments but auxiliary states, nowhere: gluonnx inspect and "Unique parameters" of Block.summary have these too.

    Examples
    --------
    >>> from gluonnx import mx
    >>> hidden = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=4, name="fc")
    >>> mx.viz.print_summary(hidden, {"data": (1, 3)}, 64, (24, 38, 47, 64))  # doctest: +NORMALIZE_WHITESPACE
    ________________________________________________________________
    Layer (type)            Output Shape  Param #  Previous Layer
    ================================================================
    data(null)              3             0
    ________________________________________________________________
    fc(FullyConnected)      4             16       data
    ================================================================
    Total params: 16
    ________________________________________________________________
    """
    nodes, heads = _layers(symbol)
    shapes, sizes = _shapes(symbol, shape), _sizes(symbol, shape)
    ends = [int(line_length * p) for p in positions] if positions[-1] <= 1 else [int(p) for p in positions]

    def row(*fields: Any) -> None:
        line = ""
        for field, end in zip(fields, ends):
            line = (line + str(field))[:end].ljust(end)
        print(line)

    print("_" * line_length)
    row("Layer (type)", "Output Shape", "Param #", "Previous Layer")
    print("=" * line_length)
    total = 0
    for i, node in enumerate(nodes):
        if node["op"] == "null" and i > 0:
            continue
        before = [(k, nodes[k]) for k, *_ in node["inputs"]]
        before = [n for k, n in before if n["op"] != "null" or k in heads]
        # a list of sizes, as Shape gives it, has no channels, and MXNet ends there with an IndexError
        channels = sum(s[1] for n in before if len(s := shapes.get(_key(n), ())) > 1)
        count = sizes[node["name"]] if node["name"] in sizes else _parameters(node, channels, shapes)
        total += count
        shown = shapes.get(_key(node), ())[1:] if node["op"] != "null" or i in heads else ()
        first, *others = [n["name"] for n in before] or [""]
        row(f"{node['name']}({node['op']})", "x".join(map(str, shown)), count, first)
        for name in others:
            row("", "", "", name)
        print(("=" if i == len(nodes) - 1 else "_") * line_length)
    print(f"Total params: {total}")
    print("_" * line_length)


_COLORS = ("#8dd3c7", "#fb8072", "#ffffb3", "#bebada", "#80b1d3", "#fdb462", "#b3de69", "#fccde5")
_OF_OPERATOR = {
    "Convolution": 1,
    "FullyConnected": 1,
    "Activation": 2,
    "LeakyReLU": 2,
    "BatchNorm": 3,
    "Pooling": 4,
    "Concat": 5,
    "Flatten": 5,
    "Reshape": 5,
    "Softmax": 6,
}
"""Colors of operators; variables have the first, other operators the last."""
_WEIGHTS = (
    "_weight", "_bias", "_beta", "_gamma", "_moving_var", "_moving_mean", "_running_var", "_running_mean",
)  # fmt: skip


def _label(node: Mapping[str, Any]) -> str:
    """Text in the box of a node: for some operators what they are, for others their name."""
    kind, attrs = node["op"], node.get("attrs", {})

    def sizes(key: str, default: str) -> str:
        return "x".join(map(str, _SIZES.parse(attrs[key]))) if key in attrs else default

    if kind == "Convolution":
        return f"{kind}\n{sizes('kernel', '')}/{sizes('stride', '1')}, {attrs['num_filter']}"
    if kind == "FullyConnected":
        return f"{kind}\n{attrs['num_hidden']}"
    if kind == "Activation":
        return f"{kind}\n{attrs['act_type']}"
    if kind == "LeakyReLU":
        return f"{kind}\n{attrs.get('act_type', 'Leaky')}"
    if kind == "Pooling":
        return f"{kind}\n{attrs.get('pool_type', 'max')}, {sizes('kernel', '[]')}/{sizes('stride', '1')}"
    return attrs["op_type"] if kind == "Custom" else node["name"]


def plot_network(
    symbol: Symbol,
    title: str = "plot",
    save_format: str = "pdf",
    shape: Mapping[str, tuple[int, ...]] | None = None,
    dtype: Mapping[str, Any] | None = None,
    node_attrs: Mapping[str, str] | None = None,
    hide_weights: bool = True,
    *,
    brief: bool = False,
) -> Any:
    """A drawing of the network: a graphviz.Digraph where that package is installed, as in MXNet, else a Drawing of our own.

    Both show themselves in notebooks and have ``render()`` and ``source``. A Digraph's ``render()`` and ``view()`` need the program
    dot; a Drawing's ``render()`` writes SVG alone, and needs nothing.

    Parameters
    ----------
    symbol : Symbol
        The network.
    title : str
        Name of the drawing, and of the files that it writes.
    save_format : str
        Format of ``render()``, of a Digraph.
    shape, dtype : dict or None
        Shapes and dtypes of the inputs by name; those of all tensors are then written at the arrows, shapes without the batch.
    node_attrs : dict or None
        Graphviz attributes of all boxes, such as {"fixedsize": "false"}.
    hide_weights : bool
        Leave variables out that are named as weights are, as MXNet does, that say that they are parameters, as those of an
        imported network do, or that operators take as parameters and as nothing else, whatever they are called.
    brief : bool
        For deep networks, and not in MXNet: a layer with what follows it in a row (BatchNorm, Activation) is one box, and of
        equal blocks in a row the first is drawn, with a box below that says how many more there are. What was joined is listed
        under the pointer. Blocks are equal where operators, attributes and what is written at the arrows are: without shape
        more of them.

    Raises
    ------
    TypeError
        For what is no Symbol.
    ValueError
        Where shape or dtype is not enough to know all.

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=10, name="fc")
    >>> drawing = mx.viz.plot_network(net, shape={"data": (1, 4)})
    >>> "fc" in drawing.source
    True
    >>> deep = mx.gluon.model_zoo.vision.resnet50_v1()(mx.sym.var("data"))
    >>> "4 above, 4 times more" in mx.viz.plot_network(deep, brief=True).source
    True

    Source: MXNet visualization.plot_network."""
    nodes, _ = _layers(symbol)
    shapes = _shapes(symbol, shape)
    types: dict[str, Any] = {}
    if dtype is not None:
        internals = symbol.get_internals()
        _, found, _ = internals.infer_type(**dtype)
        if found is None:
            raise ValueError("Input type is incomplete")
        types = dict(zip(internals.list_outputs(), found))
    names = [n["name"] for n in nodes]
    twice = sorted({n for n in names if names.count(n) > 1})
    if twice:
        warnings.warn(
            "There are multiple variables with the same name in your graph, this may result in cyclic graph. "
            f"Repeated names: {','.join(twice)}",
            RuntimeWarning,
            stacklevel=2,
        )
    box = {"shape": "box", "fixedsize": "true", "width": "1.3", "height": "0.8034", "style": "filled"}
    box.update(node_attrs or {})
    if brief:
        # so that a box without a size of its own fits its two lines
        box = {k: v for k, v in box.items() if k in (node_attrs or {}) or k not in ("fixedsize", "width", "height")}
    digraph = _digraph()
    dot: Any = Drawing(title) if brief or digraph is None else digraph(name=title, format=save_format)
    hidden, stored = set(), parameters_of(symbol.graph)
    for node in nodes:
        own = dict(box)
        if node["op"] == "null":
            if node["name"].endswith(_WEIGHTS) or (hide_weights and node["name"] in stored):
                # when they are not to be hidden, Graphviz makes a node where an arrow leads to one
                if hide_weights:
                    hidden.add(node["name"])
                continue
            own["shape"] = "oval"
        own["fillcolor"] = _COLORS[0 if node["op"] == "null" else _OF_OPERATOR.get(node["op"], 7)]
        dot.node(name=node["name"], label=_in_brief(node) if brief else _label(node), **own)
    for node in nodes:
        for place, *_ in node["inputs"]:
            source = nodes[place]
            if source["name"] in hidden:
                continue
            key = _key(source)
            if key not in shapes and key not in types and "num_outputs" in source.get("attrs", {}):
                key += str(int(source["attrs"]["num_outputs"]) - 1)  # MXNet shows the last of several
            text = "x".join(map(str, shapes[key][1:])) if key in shapes else ""
            if key in types:
                text += f"({types[key].__name__})"
            dot.edge(tail_name=node["name"], head_name=source["name"], dir="back", arrowtail="open", label=text)
    if not brief:
        return dot
    dot.kinds = {node.name: kind_of(node) for node in symbol.graph.nodes if node.op is not None}
    short = briefly(dot)
    return short if digraph is None else _as_digraph(short, digraph(name=title, format=save_format))


def _digraph() -> Any:
    """Graphviz's class of graphs; None where the package is not installed."""
    try:
        from graphviz import Digraph  # type: ignore[import-not-found]
    except ImportError:
        return None
    return Digraph


def _in_brief(node: Mapping[str, Any]) -> str:
    """Text in the box of a node whose name does not matter: operator, and what tells it from others."""
    label = _label(node)
    return label if "\n" in label or node["op"] == "null" else f"{node['op']}\n{node['name']}"


def _as_digraph(drawing: Drawing, dot: Any) -> Any:
    """A drawing in Graphviz's hands: two lines in a box, and all of what it stands for under the pointer."""
    for name, (label, attributes) in drawing.boxes.items():
        shown = "\n".join(label.split("\n")[:2])
        dot.node(name=name, label=shown, tooltip=label, **attributes)
    for giver, taker, label in drawing.edges:
        dot.edge(tail_name=taker, head_name=giver, dir="back", arrowtail="open", label=label)
    return dot
