"""Shapes and dtypes of every tensor of a graph, from those of some, to a fixed point.

Forward through each operator's infer_shape and infer_type; where something is still open, backward through
infer_input_shapes and infer_input_types, until nothing new is learnt. What stays unknown stays marked so.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..attrs import dtype as read_dtype
from ..attrs import kind_of
from ..error import OpError
from ..op import Spec
from ..shapes import MaybeShape, Undecided, from_legacy, identical, is_known, merge, show
from .graph import Entry, Graph, Node

Key = tuple[int, int]  # id of node, output index


class Inference:
    """The result: ``spec(entry)`` for every output of every node of the graph."""

    def __init__(self, graph: Graph):
        self.graph = graph
        self.shapes: dict[Key, MaybeShape] = {}
        self.dtypes: dict[Key, np.dtype | None] = {}

    def spec(self, entry: Entry) -> Spec:
        key = (id(entry.node), entry.index)
        return Spec(self.shapes.get(key), self.dtypes.get(key))

    def unknown(self) -> list[str]:
        """Names of variables whose shape or dtype is not fully known."""
        specs = ((n, self.spec(Entry(n))) for n in self.graph.variables())
        return [n.name for n, s in specs if not is_known(s.shape) or s.dtype is None]


def infer(
    graph: Graph,
    shapes: Mapping[str, MaybeShape] | None = None,
    dtypes: Mapping[str, Any] | None = None,
    *,
    default_dtype: Any = None,
) -> Inference:
    """Infer from shapes and dtypes of variables by name; a variable's own ``__shape__`` and ``__dtype__`` count too.

    With default_dtype, variables whose dtype nothing decides get it, as MXNet's binding does with float32.
    Raises OpError, with the node's name, where the graph contradicts itself.
    """
    result = Inference(graph)
    _infer_dtypes(result, dtypes or {}, default_dtype)
    _infer_shapes(result, shapes or {})
    return result


def _infer_shapes(result: Inference, given: Mapping[str, MaybeShape]) -> None:
    known = result.shapes
    for node in result.graph.nodes:
        for i in range(len(node.outputs)):
            known[id(node), i] = None
        if node.is_variable:
            hint = node.attrs.get("__shape__")
            try:
                declared = from_legacy(kind_of(tuple[int, ...]).read(hint)) if hint else None
            except ValueError:
                raise OpError(f"variable {node.name}: __shape__={hint!r} is not a shape") from None
            try:
                known[id(node), 0] = merge(given.get(node.name), declared)
            except ValueError:
                # what is given wins over what was declared when the model was written (another batch size)
                known[id(node), 0] = given[node.name]
    _settle(result.graph.nodes, known, identical, is_known, _shapes_of_node)


def _infer_dtypes(result: Inference, given: Mapping[str, Any], default: Any) -> None:
    known = result.dtypes
    variables = []
    for node in result.graph.nodes:
        for i in range(len(node.outputs)):
            known[id(node), i] = None
        if node.is_variable:
            chosen = given.get(node.name, _declared_dtype(node))
            try:
                known[id(node), 0] = None if chosen is None else read_dtype(chosen)
            except ValueError as error:
                raise OpError(f"variable {node.name}: {error}") from None
            variables.append(node)

    def settle() -> None:
        _settle(result.graph.nodes, known, _same_dtype, lambda d: d is not None, _dtypes_of_node)

    settle()
    if default is not None:
        for node in variables:  # one at a time: what one default decides may decide others
            if known[id(node), 0] is None:
                known[id(node), 0] = read_dtype(default)
                settle()


# the codes under which `__dtype__` is written on variables (mshadow's type flags)
_FLAGS = dict(
    enumerate(("float32", "float64", "float16", "uint8", "int32", "int8", "int64", "bool", "int16", "uint16", "uint32"))
) | {11: "uint64", 12: "bfloat16"}


def dtype_flag(dtype: Any) -> int:
    """The code of a dtype. Raises ValueError for one that MXNet has no code for."""
    name = read_dtype(dtype).name
    for flag, known in _FLAGS.items():
        if known == name:
            return flag
    raise ValueError(f"dtype {name} has no code in MXNet; it has {', '.join(_FLAGS.values())}")


def _declared_dtype(node: Node) -> str | None:
    text = node.attrs.get("__dtype__")
    if text is None or text == "-1":
        return None
    return _FLAGS.get(int(text)) if text.isdigit() else text


def _settle(nodes: Sequence[Node], known: dict[Key, Any], same: Any, complete: Any, step: Any) -> None:
    """Sweep forward, then backward and forward again, for as long as a sweep learns something."""

    def sweep(order: Sequence[Node]) -> bool:
        learnt = False
        for node in order:
            if node.op is None:
                continue
            ins = [(id(e.node), e.index) for e in node.inputs]
            outs = [(id(node), i) for i in range(len(node.outputs))]
            if all(complete(known[k]) for k in outs) and all(complete(known[k]) for k in ins):
                # still check the node once, on the sweep that completes it: see `checked`
                if id(node) in checked:
                    continue
                checked.add(id(node))
            new = step(node, [known[k] for k in ins], [known[k] for k in outs])
            for key, value in zip((*ins, *outs), new):
                if not same(known[key], value):
                    known[key] = value
                    learnt = True
        return learnt

    checked: set[int] = set()
    sweep(nodes)
    while not all(complete(v) for v in known.values()):
        learnt = sweep(nodes[::-1])
        if not (sweep(nodes) or learnt):
            break


def _shapes_of_node(node: Node, ins: list[MaybeShape], outs: list[MaybeShape]) -> list[MaybeShape]:
    op = node.op
    assert op is not None
    try:
        options = _with_bodies(node, _shapes_through)
        try:
            filled = op.infer_input_shapes(tuple(ins), tuple(outs), **options)
            ins = [merge(a, b) for a, b in zip(ins, filled, strict=True)]
        except Undecided:
            pass
        if all(s is not None for s in ins):
            try:
                got = op.infer_shape(*ins, **options)
                got = got if isinstance(got, list) else [got]
                outs = [merge(a, b) for a, b in zip(outs, got, strict=True)]
            except Undecided:
                pass
    except ValueError as error:
        raise _at(node, error, "input shapes", [show(s) for s in ins]) from error
    return ins + outs


def _dtypes_of_node(node: Node, ins: list[Any], outs: list[Any]) -> list[Any]:
    op = node.op
    assert op is not None
    try:
        options = _with_bodies(node, _dtypes_through)
        filled = op.infer_input_types(tuple(ins), tuple(outs), **options)
        ins = [_agree(a, b) for a, b in zip(ins, filled, strict=True)]
        if all(d is not None for d in ins):
            got = op.infer_type(*ins, **options)
            got = got if isinstance(got, list) else [got]
            assert len(got) == len(outs)
            outs = got  # forward decides; what a reader of the output assumed was a default
    except ValueError as error:
        raise _at(node, error, "input dtypes", [str(d) for d in ins]) from error
    return ins + outs


def _with_bodies(node: Node, through: Callable[[Graph, Sequence[Any]], Any]) -> dict[str, Any]:
    """The keyword argument for operators with subgraphs: what inference through each says."""
    assert node.op is not None
    if "bodies" not in node.op.uses:
        return {}
    return {"bodies": tuple(functools.partial(through, graph) for graph in node.subgraphs)}


def _shapes_through(graph: Graph, given: Sequence[MaybeShape]) -> tuple[list[MaybeShape], list[MaybeShape]]:
    """Shapes of a subgraph's variables and outputs, from what is known of the former."""
    result = Inference(graph)
    _infer_shapes(result, graph.feeds(given))
    return [result.spec(Entry(n)).shape for n in graph.variables()], [result.spec(e).shape for e in graph.outputs]


def _dtypes_through(graph: Graph, given: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """As _shapes_through, for dtypes."""
    result = Inference(graph)
    _infer_dtypes(result, {name: d for name, d in graph.feeds(given).items() if d is not None}, None)
    return [result.spec(Entry(n)).dtype for n in graph.variables()], [result.spec(e).dtype for e in graph.outputs]


def _same_dtype(a: np.dtype | None, b: np.dtype | None) -> bool:
    return a is b or (a is not None and b is not None and a == b)  # dtype("float64") == None is True in NumPy


def _agree(a: np.dtype | None, b: np.dtype | None) -> np.dtype | None:
    if a is not None and b is not None and a != b:
        raise ValueError(f"dtypes {a} and {b} differ")
    return a if b is None else b


def _at(node: Node, error: ValueError, what: str, values: list[str]) -> OpError:
    """The error, with the node it happened at and what the node was given."""
    assert node.op is not None
    text = str(error).removeprefix(f"{node.op.name}: ")
    names = (*node.op.takes(), *("extra",) * len(values))
    given = ", ".join(f"{name} {value}" for name, value in zip(names, values))
    return OpError(f"Error in operator {node.name}: [{node.op.name}] {text} ({what}: {given})")
