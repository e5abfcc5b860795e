"""Files of Block.save_parameters beside a symbol: their names (``features.0.weight``) are places in a block, the symbol's are not.

They are matched where only one way fits: by kind (weight, gamma, running_mean, ...), by shape, and among layers that are alike in
both by the order in which they were made, if the symbol leaves no doubt of it. Anything else is refused, for a wrong match would
give wrong numbers."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from hybrid.core.error import MXNetError
from hybrid.core.shapes import MaybeShape, is_known
from hybrid.ir.graph import Entry, Graph
from hybrid.ir.infer import infer

from .paths import BadInput, listed

KINDS = {"running_mean": "moving_mean", "running_var": "moving_var"}
"""Names of parameters in blocks that operators call otherwise."""


class Layer(NamedTuple):
    """Parameters that one place of a block, or one node of a graph, has."""

    name: str
    parameters: dict[str, str]
    """Name of each, by its kind."""
    shapes: dict[str, MaybeShape]


def is_structural(names: Sequence[str]) -> bool:
    """True for names as save_parameters gives them."""
    return bool(names) and all(re.fullmatch(r"[^.]+(\.[^.]+)+", n) and not n.endswith(".") for n in names)


def match(graph: Graph, arrays: Mapping[str, np.ndarray]) -> dict[str, str]:
    """Names of arrays by the names of the graph's parameters. Raises BadInput, naming what can be matched in several ways."""
    wanted = _layers_of_graph(graph)
    given = _layers_of_file(arrays)
    groups = sorted({tuple(sorted(layer.shapes)) for layer in (*wanted, *given)})
    pairs: list[tuple[Layer, Layer]] = []
    problems: list[str] = []
    for kinds in groups:
        mine = [layer for layer in wanted if tuple(sorted(layer.shapes)) == kinds]
        theirs = [layer for layer in given if tuple(sorted(layer.shapes)) == kinds]
        if len(mine) != len(theirs):
            problems.append(
                f"{', '.join(kinds)}: the symbol has {len(mine)} such layers ({listed((m.name for m in mine), 3)}), the file "
                f"{len(theirs)} ({listed((t.name for t in theirs), 3)})"
            )
            continue
        problems += _pair(graph, mine, theirs, pairs)
    pairs.sort(key=lambda pair: given.index(pair[1]))
    found = {m.parameters[k]: t.parameters[k] for m, t in pairs for k in m.parameters}
    problems = problems or _out_of_sequence(graph, pairs)
    if not problems:
        try:
            infer(graph, {m: arrays[t].shape for m, t in found.items()})
        except MXNetError as error:
            problems.append(f"matched in order they do not fit the symbol ({error})")
    if problems:
        raise BadInput(
            "the parameters have the names of Block.save_parameters, and it is not clear which is which in the symbol; load them "
            "into the block (load_parameters) and write both files anew (export)",
            *problems,
        )
    return found


def _layers_of_file(arrays: Mapping[str, np.ndarray]) -> list[Layer]:
    """Layers in the order of the file, which is that of the blocks."""
    out: dict[str, Layer] = {}
    for name, array in arrays.items():
        place, _, kind = name.rpartition(".")
        kind = KINDS.get(kind, kind)
        layer = out.setdefault(place, Layer(place, {}, {}))
        layer.parameters[kind] = name
        layer.shapes[kind] = array.shape
    return list(out.values())


def _layers_of_graph(graph: Graph) -> list[Layer]:
    """Layers in the order of the graph: nodes with parameters that no layer before has."""
    inferred = infer(graph, {})
    out, seen = [], set()
    for node in graph.nodes:
        if node.op is None:
            continue
        layer = Layer(node.name, {}, {})
        for role, entry in zip(node.op.input_names(), node.inputs):
            if entry.node.is_variable and role in node.op.parameters and entry.node.name not in seen:
                seen.add(entry.node.name)
                layer.parameters[role] = entry.node.name
                layer.shapes[role] = inferred.spec(Entry(entry.node)).shape
        if layer.parameters:
            out.append(layer)
    return out


def _fits(mine: Layer, theirs: Layer) -> bool:
    return all(_may_be(mine.shapes[k], theirs.shapes[k]) for k in mine.shapes)


def _may_be(open_: MaybeShape, whole: MaybeShape) -> bool:
    if open_ is None or whole is None:
        return True
    return len(open_) == len(whole) and all(not is_known((a,)) or a == b for a, b in zip(open_, whole))


def _pair(graph: Graph, mine: Sequence[Layer], theirs: Sequence[Layer], found: list[tuple[Layer, Layer]]) -> list[str]:
    """Pair the layers of one kind; gives what is in doubt."""
    problems = []
    taken: set[str] = set()
    for layer in mine:
        if layer.name in taken:
            continue
        fitting = [t for t in theirs if _fits(layer, t)]
        alike = [m for m in mine if [t for t in theirs if _fits(m, t)] == fitting]
        taken |= {m.name for m in alike}
        ordered = _in_order(graph, alike) if len(alike) > 1 else alike
        if len(alike) != len(fitting) or ordered is None:
            problems.append(
                f"{listed((m.name for m in alike), 4)}: each may be any of {listed((t.name for t in fitting), 4) or 'none'}"
            )
            continue
        found += zip(ordered, fitting)
    return problems


def _in_order(graph: Graph, layers: Sequence[Layer]) -> list[Layer] | None:
    """Layers that are alike in the order in which they were made, as save_parameters lists them; None where that is not clear.

    Blocks number what they make (``stage1_conv0``, ``stage1_conv1``); layers whose names are not one name with other numbers have
    to compute from each other's outputs."""
    kinds: dict[tuple[str, ...], list[tuple[list[int], Layer]]] = {}
    for layer in layers:
        parts = re.split(r"(\d+)", layer.name)
        kinds.setdefault(tuple(parts[::2]), []).append(([int(n) for n in parts[1::2]], layer))
    for members in kinds.values():
        members.sort(key=lambda m: m[0])
        if any(a == b for (a, _), (b, _) in itertools.pairwise(members)):
            return None
    waiting = {kind: iter(members) for kind, members in kinds.items()}
    made = [(kind, next(waiting[kind])[1]) for kind in (tuple(re.split(r"(\d+)", m.name)[::2]) for m in layers)]
    for (kind, first), (other, second) in itertools.pairwise(made):
        if kind != other and not _needs(graph, second.name, first.name):
            return None
    return [layer for _, layer in made]


def _out_of_sequence(graph: Graph, pairs: Sequence[tuple[Layer, Layer]]) -> list[str]:
    """Blocks of which some numbered children follow each other in the graph and some do not: all do in a sequential block, none in
    one whose children stand beside each other."""
    children: dict[str, list[Layer]] = {}
    for mine, theirs in pairs:
        parent, _, last = theirs.name.rpartition(".")
        if last.isdigit():
            children.setdefault(parent, []).append(mine)
    problems = []
    for parent, layers in children.items():
        follow = [_needs(graph, b.name, a.name) for a, b in itertools.pairwise(layers)]
        if any(follow) and not all(follow):
            problems.append(
                f"{parent}: matched in order its layers do not follow each other ({listed(m.name for m in layers)})"
            )
    return problems


def _needs(graph: Graph, node: str, other: str) -> bool:
    """True where a node computes from the output of another."""
    todo = [n for n in graph.nodes if n.name == node]
    seen = {id(n) for n in todo}
    while todo:
        for entry in todo.pop().inputs:
            if entry.node.name == other:
                return True
            if id(entry.node) not in seen:
                seen.add(id(entry.node))
                todo.append(entry.node)
    return False
